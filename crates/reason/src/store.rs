//! Why an answer was, or was not, stored, and where its lifetime comes from.

use crate::reasons;

reasons! {
    /// Why an answer was, or was not, stored.
    Store, "store" {
        Stored = "stored", "the answer is stored", "";
        StoredStripped = "stored-stripped", "the answer is stored without its Set-Cookie", "";
        Refreshed = "refreshed", "a 304 renewed the stored answer", "";
        HostNotLearned = "host-not-learned", "no site names this host, and it is not learned: only a storable 2xx teaches one, while there is room", "name the host in a site's `hosts`, write a `canonical_host`, or raise `limits.learned_hosts`";
        RuleNever = "rule-never", "the rule says never", "change the rule's `never`";
        MethodNotStored = "method-not-stored", "answers to this method are not stored", "";
        StatusNotStorable = "status-not-storable", "this status is not stored without explicit freshness", "the origin can send `max-age`; a rule with a lifetime can list it in `only_status`";
        StatusNotListed = "status-not-listed", "the rule's `only_status` does not list this status", "add it to `only_status`";
        TypeNotListed = "type-not-listed", "the rule's `only_type` does not list this media type", "add it to `only_type`";
        NoStore = "no-store", "the origin forbids storing", "the origin can drop `no-store`; a rule can list it in `override`";
        Private = "private", "the origin says the answer is for one user", "the origin can drop `private`; a rule can list it in `override`";
        NoCache = "no-cache", "the origin demands revalidation on every use and gave no validator", "the origin can send an ETag; a rule can list `no-cache` in `override`";
        VaryStar = "vary-star", "the answer varies by something beyond the request's own fields (`Vary: *`, or the client's address)", "the origin can name the fields; a rule can list `vary-star` in `override`";
        TooManyVaryFields = "too-many-vary-fields", "the response varies by more fields than are compared (64)", "the origin can name fewer";
        TooManyTags = "too-many-tags", "the response has more tags (Surrogate-Key, xkey, Cache-Tag) than are kept (1,024), and a purge by one left out would miss it", "the origin can send fewer";
        SetCookie = "set-cookie", "the answer sets a cookie", "stop sending Set-Cookie where it is not needed, or set `set_cookie = \"strip\"`";
        RequestCookie = "request-cookie", "the request carried a cookie that may matter, and the lifetime is not the origin's own word", "list cookies that do not matter in `ignore_cookies`";
        RequestAuthorization = "request-authorization", "the request carried Authorization and the origin did not allow sharing (RFC 9111 §3.5)", "the origin can send `public` or `s-maxage`";
        RequestNoStore = "request-no-store", "the client forbade storing", "";
        NoExplicitFreshness = "no-explicit-freshness", "the origin gave no lifetime and none could be estimated", "the origin can send `Cache-Control: max-age=…`; a rule can set `when_silent`";
        ZeroLifetime = "zero-lifetime", "the answer is stale on arrival and cannot be revalidated", "the origin can send a longer `max-age`; a rule can set `for`";
        ArrivedStale = "arrived-stale", "the answer was older than its lifetime when it came (by its Age or Date)", "the origin's own caches, or its clock";
        OddAge = "odd-age", "the answer's Age cannot be read exactly, and `odd_age = \"stale\"` takes it to be stale", "mend the field at the origin, or leave `odd_age` out";
        OddFreshness = "odd-freshness", "what says how long the answer is fresh (Cache-Control, a targeted field, Expires) cannot be read, so it is taken to be stale", "mend the field at the origin, or set a lifetime of your own (`for`)";
        EventStream = "event-stream", "a stream of events has no end, and who joins it late must not be told the beginning", "";
        TooLarge = "too-large", "the body exceeds the largest that is stored", "raise `max_bytes`";
        EntryTooLarge = "entry-too-large", "the body exceeds the largest that one answer in memory may be: `entry_max`, and no more than half of `size`", "raise `[memory] entry_max`, or `size`, which it follows where it is not set";
        TooSmall = "too-small", "the body is smaller than the smallest that is stored", "lower `min_bytes`";
        BudgetTooSmall = "budget-too-small", "the memory budget has no room for it: connections, records and what is being read hold the rest", "raise `[memory] size`";
        Partial = "partial", "a part of a representation is not stored", "";
        PartStored = "part-stored", "a part of a representation was stored", "";
        Completed = "completed", "the rest was fetched and put together with the parts stored before", "";
        WholeStored = "whole-stored", "the whole was stored while this part arrived", "";
        MustUnderstand = "must-understand", "the origin stores only with caches that understand this status", "";
        BadFraming = "bad-framing", "the answer's head contradicts itself", "";
        Incomplete = "incomplete", "the origin stopped before the end", "";
        Doubted = "doubted", "the answer to HEAD contradicts what is stored, which is confirmed before it is used again", "";
        Overtaken = "overtaken", "a newer answer was stored while this one arrived", "";
        PurgedInFlight = "purged-in-flight", "a purge came while the answer was arriving", "";
        ConfigChanged = "config-changed", "the configuration changed while the answer was arriving", "";
        Upgraded = "upgraded", "the connection changed protocol", "";
        Protected = "protected", "the rule lets in only some (`allow`, `deny`, `basic_auth`), so its answers are not shared", "list `protected` in the rule's `override`, if whoever is let in may see the same";
        Abandoned = "abandoned", "every client left and the rest was not worth fetching", "";
        AdmitAfter = "admit-after", "fewer requests than `admit_after` have asked for it", "lower `admit_after`";
        RequestBody = "request-body", "the request carried content, which is not in the key, so its response is for this request alone", "";
        Bypassed = "bypassed", "the request did not go through the cache", "";
    }
}

reasons! {
    /// Where a stored answer's lifetime comes from.
    Lifetime, "lifetime" {
        RuleFor = "rule-for", "the rule's `for`", "";
        RuleSilent = "rule-when-silent", "the rule's `when_silent`, as the origin gave none", "";
        UntilChanged = "until-changed", "until the file changes", "";
        TargetedSamovar = "samovar-cache-control", "Samovar-Cache-Control (RFC 9213)", "";
        TargetedCdn = "cdn-cache-control", "CDN-Cache-Control (RFC 9213)", "";
        TargetedSurrogate = "surrogate-control", "Surrogate-Control (Edge Architecture)", "";
        SMaxAge = "s-maxage", "the origin's s-maxage", "";
        MaxAge = "max-age", "the origin's max-age", "";
        Expires = "expires", "the origin's Expires", "";
        Heuristic = "heuristic", "a part of the time since Last-Modified (RFC 9111 §4.2.2)", "the origin can say a lifetime; `heuristic_factor` is how large a part";
        None = "none", "no lifetime, the answer is revalidated on every use", "";
    }
}
