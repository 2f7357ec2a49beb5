//! Whether a rule let a request in, and what it changed on the way.

use crate::reasons;

reasons! {
    /// What a rule's address lists, rate, users and redirect said of a request, before any cache was asked.
    Gate, "gate" {
        AddressAllowed = "address-allowed", "the client's address may ask for this", "";
        AddressDenied = "address-denied", "the client's address may not ask for this", "add it to the rule's `allow`, or take it out of `deny`; behind a proxy of yours, name that in `server.trusted_proxies`";
        WithinRate = "within-rate", "the rule's `rate` left room for this request", "";
        RateLimited = "rate-limited", "more requests came than the rule's `rate` allows", "wait as long as Retry-After says; or raise `rate.requests` or `rate.burst`";
        SignedIn = "signed-in", "the credentials are those of a user in the rule's file", "";
        CredentialsMissing = "credentials-missing", "the rule wants a user's name and password, and the request carries none", "send them as Basic credentials (RFC 7617)";
        CredentialsWrong = "credentials-wrong", "no user of the rule's file has this name and password", "set the password again with `htpasswd -B`";
        UsersUnreadable = "users-unreadable", "the file with the users cannot be read, so nobody is let in", "create it with `htpasswd -B -c FILE NAME`, readable by the user that Samovar runs as";
        AuthBusy = "auth-busy", "too many passwords wait to be checked for this site or from this client, or this one waited for 10 s", "ask again; limit those who try with `rate`, and choose a bcrypt cost of 12 or less";
        Redirected = "redirected", "the rule sends the client elsewhere", "";
        ChecksAddress = "checks-address", "the rule looks at the client's address", "";
        ChecksRate = "checks-rate", "the rule counts requests", "";
        ChecksUsers = "checks-users", "the rule wants a user's name and password", "";
    }
}

reasons! {
    /// What a rule changed of a request or an answer.
    Change, "change" {
        Rewritten = "rewritten", "the origin is asked for another target than the client asked for; the key is the client's", "";
        RequestFields = "request-fields", "fields of the request were changed before the origin saw it", "";
        ResponseFields = "response-fields", "fields of the origin's answer were changed before it was stored or sent", "";
        ClientFields = "client-fields", "fields of the answer were changed for the client, after the cache", "";
        Mapped = "mapped", "what names the upstream itself was turned into what the client knows", "";
        ErrorPage = "error-page", "the body is the rule's page for this status", "";
        ErrorPageFailed = "error-page-failed", "the rule's page for this status could not be had, so the answer stayed as it was", "ask for the page itself: it must answer 200";
    }
}
