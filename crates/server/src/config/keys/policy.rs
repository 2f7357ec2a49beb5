//! What a rule wishes, and a site for all it has no rule for: lifetimes, keys, cookies, sizes, tiers.

use crate::config::format::Format;
use crate::config::kind::{Key, Kind, Table};

/// The keys that rules and sites share.
pub(crate) static POLICY: &[Key] = &[
    Key::new("respect", Kind::Bool, "HTTP decides (RFC 9111).", "true")
        .absent("for upstreams and handlers, if no other lifetime is written"),
    Key::new("when_silent", Kind::Duration(1), "A lifetime, only if the origin gives none.", "\"1h\"").absent("none"),
    Key::new("for", Kind::Duration(1), "A lifetime that replaces the origin's.", "\"10s\"").absent("none"),
    Key::new(
        "until_changed",
        Kind::Bool,
        "Stored until the file behind it changes: the file itself, the script, or what `globs` name.",
        "true",
    )
    .absent("for files, if no other lifetime is written"),
    Key::new("never", Kind::Bool, "Nothing is stored or reused.", "true").absent("not set"),
    Key::new(
        "globs",
        Kind::Many(&Kind::Text(Format::FileGlob)),
        "With `until_changed`: further files whose change ends what is stored; relative to this file. Upstreams need them.",
        "[\"/srv/data/**/*.json\"]",
    )
    .or("[]"),
    Key::new("max_lifetime", Kind::Duration(1), "Upper bound of every lifetime.", "\"1d\"").absent("none"),
    Key::new(
        "heuristic_factor",
        Kind::Number(0.0, 1.0),
        "Where nobody gives a lifetime: this part of the time since Last-Modified, without query and cookies only \
         (RFC 9111 §4.2.2). 0 turns it off. The Last-Modified of an application behind FastCGI says when some content \
         changed, not when the page will.",
        "0.2",
    )
    .absent("0.1; for responses over FastCGI 0"),
    Key::new("heuristic_max", Kind::Duration(0), "Upper bound of such a lifetime.", "\"1h\"").or("\"10m\""),
    Key::new(
        "heuristic_first",
        Kind::Bool,
        "With `when_silent`: a response with Last-Modified is fresh for its heuristic lifetime instead, and with a query in \
         the URL it is not stored. The others are fresh for `when_silent`.",
        "true",
    )
    .or("false"),
    Key::new("min_bytes", Kind::Size(0), "Smallest body that is stored.", "\"1 KiB\"").or("0"),
    Key::new("max_bytes", Kind::Size(0), "Largest body that is stored.", "\"2 MiB\"").absent("`memory.entry_max`"),
    Key::new(
        "only_type",
        Kind::Many(&Kind::Text(Format::MediaRange)),
        "Only these media types are stored. Never selects a rule.",
        "[\"image/*\", \"text/css\"]",
    )
    .absent("all"),
    Key::new("only_status", Kind::Many(&Kind::Int(200, 599)), "Only these statuses are stored. Never selects a rule.", "[200, 404]")
        .absent("those that HTTP allows"),
    Key::new(
        "drop_fields",
        Kind::Many(&Kind::Text(Format::FieldName)),
        "Fields dropped from answers before they are stored or sent.",
        "[\"X-Powered-By\"]",
    )
    .or("[]"),
    Key::new(
        "client_cache_control",
        Kind::Text(Format::FieldValue),
        "What clients are told instead of the origin's Cache-Control.",
        "\"max-age=60\"",
    )
    .absent("what the origin says"),
    Key::new(
        "reload",
        Kind::Word(&[
            ("ignore", "nothing"),
            ("revalidate", "the origin is asked whether the stored answer still holds"),
            ("bypass", "the origin is asked anew"),
        ]),
        "What a client's `Cache-Control: no-cache` does.",
        "\"revalidate\"",
    )
    .or("\"ignore\""),
    Key::new(
        "request_directives",
        Kind::Bool,
        "Honour a client's `max-age`, `min-fresh` and `max-stale` (RFC 9111 §5.2.1).",
        "true",
    )
    .or("false"),
    Key::new(
        "stale_while_revalidate",
        Kind::Duration(0),
        "How long an old answer may be sent while it is refreshed (RFC 5861), if the origin says nothing.",
        "\"30s\"",
    )
    .absent("none"),
    Key::new(
        "stale_if_error",
        Kind::Duration(0),
        "How long an old answer may be sent when the origin fails (RFC 5861), if the origin says nothing.",
        "\"10m\"",
    )
    .absent("none"),
    Key::new(
        "stale_if_unreachable",
        Kind::Duration(0),
        "How long an old answer may be sent when the origin cannot be reached at all (RFC 9111 §4.2.4); `\"0s\"` for not at all. `must-revalidate`, `proxy-revalidate`, `s-maxage` and `no-cache` forbid it.",
        "\"1d\"",
    )
    .or("\"10m\""),
    Key::new(
        "odd_age",
        Kind::Word(&[
            ("first", "the first member counts, and what is no number is passed over (RFC 9111 §5.1)"),
            ("stale", "the age is not known, so the response is stale on arrival"),
        ]),
        "What an `Age` that comes twice, or is no number, means.",
        "\"stale\"",
    )
    .or("\"first\""),
    Key::new(
        "keep",
        Kind::Duration(0),
        "How long an answer that went stale may still be confirmed by the origin or used in its place; after that it is fetched anew.",
        "\"1d\"",
    )
    .absent("as long as it is stored"),
    Key::new(
        "vary_headers",
        Kind::Many(&Kind::Either(&[Kind::Text(Format::FieldName), Kind::Table(&VARY_HEADER)])),
        "Request fields whose values get answers of their own.",
        "[{ name = \"Accept-Language\", languages = [\"en\", \"de\", \"es\"] }]",
    )
    .or("[]"),
    Key::new(
        "compare_headers",
        Kind::Many(&Kind::Table(&VARY_HEADER)),
        "How request fields that are not in the key are compared where an answer's own `Vary` names them; other fields are compared by what they mean (RFC 9111 §4.1).",
        "[{ name = \"Accept-Language\", languages = [\"de\", \"fr\"] }]",
    )
    .or("[]"),
    Key::new(
        "vary_query",
        Kind::Either(&[
            Kind::Word(&[
                ("as-is", "all of it, as it came"),
                ("sorted", "all of it, sorted by name"),
                ("ignore", "nothing of it"),
            ]),
            Kind::Table(&VARY_QUERY),
        ]),
        "What of the query gets answers of its own. The origin always receives all of it.",
        "{ keep = [\"id\", \"size\"] }",
    )
    .or("\"as-is\""),
    Key::new(
        "vary_cookies",
        Kind::Many(&Kind::Text(Format::CookieName)),
        "Cookies whose values get answers of their own.",
        "[\"theme\"]",
    )
    .or("[]"),
    Key::new(
        "ignore_cookies",
        Kind::Many(&Kind::Text(Format::CookieGlob)),
        "Cookies that do not matter; `@analytics` stands for those that scripts set for measuring. Any other keeps a request away from lifetimes that are not the origin's own word.",
        "[\"@analytics\", \"theme\"]",
    )
    .or("[]"),
    Key::new(
        "set_cookie",
        Kind::Word(&[("refuse", "it is not stored"), ("strip", "it is stored without the field")]),
        "What happens to an answer that sets a cookie.",
        "\"strip\"",
    )
    .or("\"refuse\""),
    Key::new("ignore_case", Kind::Bool, "Paths that differ in upper and lower case only share answers.", "true")
        .or("false"),
    Key::new(
        "hot",
        Kind::Either(&[Kind::Bool, Kind::Table(&RULE_HOT)]),
        "The hot tier: `true`, `false`, or other settings than `[hot]`.",
        "{ threshold = 3, max_bytes = \"1 MiB\" }",
    )
    .absent("as `[hot]`"),
    Key::new(
        "admit_after",
        Kind::Int(1, 1_000_000),
        "Stored from this request for it within `admit_period` on.",
        "2",
    )
    .or("1"),
    Key::new(
        "body_max_bytes",
        Kind::Either(&[Kind::Word(&[("unlimited", "no bound of its own")]), Kind::Size(0)]),
        "Largest request body here; `limits.body_max_bytes` holds beside it. One that is announced as larger is refused (413) \
         before it is read.",
        "\"20 MiB\"",
    )
    .absent("`limits.body_max_bytes`"),
    Key::new(
        "upgrade",
        Kind::Bool,
        "Requests for another protocol (`Upgrade`: WebSocket) are passed on to an HTTP upstream; with `false` they are \
         answered as if they had not asked.",
        "false",
    )
    .or("true"),
    Key::new("admit_period", Kind::Duration(1), "See `admit_after`.", "\"1h\"").or("\"10s\""),
    Key::new(
        "compress",
        Kind::Either(&[Kind::Bool, Kind::Table(&COMPRESS)]),
        "Answers are compressed for clients that accept it: stored ones once per coding, in the background; others while they are sent.",
        "{ codings = [\"br\", \"gzip\"], min_bytes = \"4 KiB\" }",
    )
    .or("true"),
    Key::new(
        "require_coding",
        Kind::Many(&Kind::Word(CODINGS)),
        "A client that accepts none of these is refused with 406.",
        "[\"gzip\", \"br\"]",
    )
    .or("[]"),
];

/// The codings that are made here.
const CODINGS: &[(&str, &str)] = &[("br", "Brotli"), ("zstd", "Zstandard"), ("gzip", "gzip")];

/// Compression of a rule.
pub(crate) static COMPRESS: Table = Table {
    title: "compress = { … }",
    text: "How answers are compressed. What is not written is as declared here.",
    groups: &[&[
        Key::new(
            "codings",
            Kind::Many(&Kind::Word(CODINGS)),
            "The codings that are made, the first where the client has no wish of its own.",
            "[\"zstd\", \"gzip\"]",
        )
        .absent("`br`, `zstd`, `gzip` for what is stored, `zstd`, `gzip`, `br` for what is compressed while it is sent"),
        Key::new(
            "types",
            Kind::Many(&Kind::Text(Format::MediaRange)),
            "Only these media types. `text/event-stream` must be named in full, and is then flushed at each pause.",
            "[\"text/*\", \"application/json\"]",
        )
        .absent("text, XML, JSON, scripts, WebAssembly, SVG, and fonts that are not compressed already"),
        Key::new("min_bytes", Kind::Size(0), "Smallest body that is compressed.", "\"256 B\"").or("\"1 KiB\""),
        Key::new(
            "from_origin",
            Kind::Word(&[
                ("plain", "`identity`: it is stored once and compressed here"),
                ("coded", "the coding that the client gets: what it compresses is stored as it comes, per coding"),
            ]),
            "How the origin is asked for what may be stored. What passes the cache by is asked for in the client's own words.",
            "\"coded\"",
        )
        .or("\"plain\""),
    ]],
};

/// A request field in the key.
pub(crate) static VARY_HEADER: Table = Table {
    title: "vary_headers = [{ … }], compare_headers = [{ … }]",
    text: "A request field, with what makes its values comparable. At most one of `languages`, `encodings` \
           and `lower`.",
    groups: &[&[
        Key::new("name", Kind::Text(Format::FieldName), "The field.", "\"Accept-Language\""),
        Key::new(
            "languages",
            Kind::Many(&Kind::Text(Format::Language)),
            "The best of these by the client's wish (RFC 4647); the first where none fits.",
            "[\"en\", \"de\", \"es\"]",
        )
        .absent("none"),
        Key::new(
            "encodings",
            Kind::Many(&Kind::Word(&[
                ("br", "Brotli"),
                ("zstd", "Zstandard"),
                ("gzip", "gzip"),
                ("deflate", "deflate"),
                ("identity", "none"),
            ])),
            "The best of these by the client's wish; this order where it has none.",
            "[\"br\", \"gzip\"]",
        )
        .absent("none"),
        Key::new("lower", Kind::Bool, "Upper and lower case are the same.", "true").or("false"),
    ]],
};

/// The query in the key.
pub(crate) static VARY_QUERY: Table = Table {
    title: "vary_query = { … }",
    text: "The query in the key: exactly one of the two.",
    groups: &[&[
        Key::new(
            "keep",
            Kind::Many(&Kind::Text(Format::QueryGlob)),
            "Only these variables, sorted by name.",
            "[\"id\", \"size\"]",
        )
        .absent("not used"),
        Key::new(
            "drop",
            Kind::Many(&Kind::Text(Format::QueryGlob)),
            "All but these, in the order they came.",
            "[\"utm_*\", \"fbclid\"]",
        )
        .absent("not used"),
    ]],
};

/// The hot tier of a rule.
pub(crate) static RULE_HOT: Table = Table {
    title: "hot = { … }",
    text: "The hot tier of a rule; what is not written is as in `[hot]`.",
    groups: &[&[
        Key::new("enabled", Kind::Bool, "Answers may become hot.", "true").absent("`true`"),
        Key::new("threshold", Kind::Int(1, 1_000_000), "With this request within `period`.", "3")
            .absent("as `[hot]`"),
        Key::new("period", Kind::Duration(1), "See `threshold`.", "\"1m\"").absent("as `[hot]`"),
        Key::new("max_bytes", Kind::Size(0), "Largest body that becomes hot.", "\"1 MiB\"")
            .absent("as `[hot]`"),
        Key::new(
            "idle",
            Kind::Duration(1),
            "An answer nobody asked for this long is no longer hot.",
            "\"30s\"",
        )
        .absent("as `[hot]`"),
    ]],
};
