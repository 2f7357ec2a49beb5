//! Why a request was routed, and why its answer came from where it came from.

use crate::reasons;

reasons! {
    /// Which site and rule a request fell to, or why none.
    Route, "route" {
        SiteByHost = "site-by-host", "a site names this host", "";
        SiteByWildcard = "site-by-wildcard", "a site's wildcard covers this host", "";
        SiteByDefault = "site-by-default", "no site names this host, the default site took it", "";
        UnknownHost = "unknown-host", "no site serves this host and there is no default site", "add the host to a site's `hosts`, or set `default = true` on one site";
        BadTarget = "bad-target", "the request target cannot be normalised", "";
        AmbiguousPath = "ambiguous-path", "origins read this path in different ways, and the site guards or excludes some of its paths", "write it with plain dots and slashes, in UTF-8; `ambiguous_paths = \"pass\"` on the site is for an origin that needs it";
        TooManyReadings = "too-many-readings", "this path can be read in more ways than are held to the site's guards", "write it with fewer encoded characters, parameters and names with dots";
        RuleMatched = "rule-matched", "this is the first rule in file order that matches", "";
        RuleByReading = "rule-by-reading", "this rule guards or excludes what the path may be read as, so that holds, too", "write the path as the rule has it";
        RuleByDocument = "rule-by-document", "this is the first rule in file order that matches the folder's default document", "";
        NoRule = "no-rule", "no rule matches, the site's default policy holds", "add a rule with `samovar rule add`";
    }
}

reasons! {
    /// Why the cache served, joined, fetched or stood aside.
    Lookup, "lookup" {
        Fresh = "fresh", "a stored answer is fresh", "";
        FreshHot = "fresh-hot", "a prepared answer was sent from the hot tier", "";
        Revalidated = "revalidated", "the origin confirmed the stored answer with a 304", "";
        StaleWhileRevalidate = "stale-while-revalidate", "a stale answer was allowed while a refresh runs", "";
        StaleIfError = "stale-if-error", "the origin failed and a stale answer was allowed", "";
        Joined = "joined", "another request was already fetching this, both share one fetch", "";
        NoEntry = "no-entry", "nothing is stored under this key", "";
        VaryMiss = "vary-miss", "answers are stored under this key, none for these request fields", "normalise the field with `vary_headers` if its values mean the same";
        Expired = "expired", "the stored answer is stale", "a longer lifetime, or a stale allowance";
        MustRevalidate = "must-revalidate", "the stored answer may be used only after the origin confirms it", "";
        RuleChanged = "rule-changed", "the rule changed since the answer was stored", "";
        Purged = "purged", "the stored answer was purged", "";
        KnownNotStorable = "known-not-storable", "this key's last answer could not be stored, so requests for it do not wait for each other", "";
        MethodNotCached = "method-not-cached", "only GET and HEAD are answered from the cache", "";
        RuleNever = "rule-never", "the rule says never", "change the rule's `never`";
        NoSitePolicy = "no-site-policy", "caching is off for this site", "set `cache = true` on the site";
        RequestCookie = "request-cookie", "the request carries a cookie that may matter, and the lifetime is not the origin's own word", "list cookies that do not matter in `ignore_cookies`, or put one in the key with `vary_cookies`";
        RequestAuthorization = "request-authorization", "the request carries Authorization and the origin did not allow sharing (RFC 9111 §3.5)", "the origin can send `public` or `s-maxage`; a rule can list it in `override`";
        RequestNoCache = "request-no-cache", "the client asked for a fresh answer and the rule's `reload` honours that", "set `reload = \"ignore\"`";
        RequestNoStore = "request-no-store", "the client forbade storing", "";
        MethodOverride = "method-override", "the request asks the application to take another method for its own (`X-HTTP-Method-Override` and its like, or `_method` in the query), so it passes by the cache", "ask with that method itself, or leave the field out";
        HostNotLearned = "host-not-learned", "no site names this host, and as many such hosts are learned as may be", "name the host in a site's `hosts`, write a `canonical_host`, or raise `limits.learned_hosts`";
        RequestBody = "request-body", "the request carries a body", "";
        RequestUpgrade = "request-upgrade", "the request asks for another protocol", "";
        TooManyCookies = "too-many-cookies", "the request carries more cookies than are looked at (256), any of which may matter", "send fewer; a rule that ignores all cookies (`ignore_cookies = [\"*\"]`) does not look at them";
        TooManyVariables = "too-many-variables", "the query has more variables than are told apart (1,000)", "send fewer; a rule without `vary_query` takes the query as it is";
        RequestRange = "request-range", "a range was asked of something not stored, so the request went to the origin as it is", "";
        RequestPrecondition = "request-precondition", "the request carries If-Match or If-Unmodified-Since, which only the origin can answer", "";
        OnlyIfCached = "only-if-cached", "the client wanted a stored answer or none, and none could be used", "";
        FillDied = "fill-died", "the fetch this request had joined failed", "";
        WaitedTooLong = "waited-too-long", "the fetch this request had joined did not produce a head within 65 s, so it went alone", "find out why the origin is slow; a shorter `head_timeout` fails the fetch sooner";
        RequestFreshness = "request-freshness", "the client wants it fresher than the stored answer is, and the rule honours that", "";
        StaleUnreachable = "stale-unreachable", "the origin cannot be reached and a stale answer was allowed", "";
        PastKeep = "past-keep", "the stored answer has been stale for longer than `keep`, so it is fetched anew", "a longer `keep`";
        PartMissing = "part-missing", "parts of it are stored, but not those wanted", "";
        Protected = "protected", "the rule lets in only some (`allow`, `deny`, `basic_auth`), so nothing is shared from the cache", "list `protected` in the rule's `override`, if whoever is let in may see the same";
        CodingUnfit = "coding-unfit", "what is stored came compressed in a way that this client does not accept", "";
        MaxForwards = "max-forwards", "the request was to go no further than this server (Max-Forwards, RFC 9110 §7.6.2)", "";
        TraceMethod = "trace-method", "TRACE goes no further than this server: what came back would show fields that are meant for the origin alone", "";
        MaxStale = "max-stale", "a stale answer was sent, as the client accepts one", "";
    }
}

reasons! {
    /// Why an answer is, or is not, in the hot tier.
    Hot, "hot" {
        Promoted = "promoted", "the answer was prepared for the hot tier", "";
        NotHotYet = "not-hot-yet", "fewer requests than the threshold came within the period", "ask again, or lower `hot.threshold`";
        RuleOff = "hot-off", "the rule keeps it out of the hot tier", "set `hot = true`";
        TooLarge = "hot-too-large", "the body is larger than the hot tier takes", "raise `hot.max_bytes`";
        NotStored = "hot-not-stored", "nothing is stored that could be prepared", "";
        Incomplete = "hot-incomplete", "the answer is still arriving", "";
        StatusNotHot = "hot-status", "only 200 answers are prepared", "";
        NoLifetime = "hot-no-lifetime", "the answer must be revalidated on every use", "";
        TargetForm = "hot-target-form", "the request target is not in origin form", "";
        HasCookie = "hot-cookie", "the request carries a cookie that may matter", "list it in `ignore_cookies`";
        HasAuthorization = "hot-authorization", "the request carries Authorization", "";
        HasRange = "hot-range", "the request asks for a range that cannot be cut from the prepared bytes: several, one beyond the body, or malformed", "";
        HasCondition = "hot-condition", "the request carries a condition that the prepared bytes cannot settle", "";
        HasCacheControl = "hot-cache-control", "the request carries cache directives", "";
        HasExpect = "hot-expect", "the request carries Expect", "";
        HasMethodOverride = "hot-method-override", "the request asks the application to take another method for its own", "";
        HasBody = "hot-body", "the request carries a body", "";
        HasUpgrade = "hot-upgrade", "the request asks for another protocol", "";
        MethodNotHot = "hot-method", "only GET is answered from the hot tier, and HEAD where the same rule holds for both", "";
        ConnectionOptions = "hot-connection", "the request's Connection field names more than `close` and `keep-alive`", "";
        UnknownTarget = "hot-unknown-target", "no prepared answer has this target", "";
        UnknownVariant = "hot-unknown-variant", "prepared answers exist, none for these request fields", "";
        Expired = "hot-expired", "the answer is not fresh", "";
        Dead = "hot-dead", "the prepared answer was purged or replaced", "";
        OldEpoch = "hot-old-epoch", "the configuration changed since the answer was prepared", "";
        Draining = "hot-draining", "the server is stopping", "";
        LastOfConnection = "hot-last-of-connection", "the connection has had the requests or the time it may have, and ends with this answer", "raise `limits.requests_per_connection` or `limits.connection_lifetime`";
        Gated = "hot-gated", "the rule looks at each request (`allow`, `deny`, `rate`, `basic_auth`), which the hot tier cannot", "";
        ClientFields = "hot-client-fields", "the rule's `client_fields` hold what differs from request to request", "use only constant values, or none that name the client or the request";
        CodingPending = "hot-coding-pending", "the compressed form that is to be prepared is still being made", "";
        TooManyFields = "hot-too-many-fields", "the request has more fields than the hot tier looks at", "";
    }
}
