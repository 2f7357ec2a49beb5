//! The tables about servers behind this one: `[[upstream]]` and its members.

use crate::config::format::Format;
use crate::config::kind::{Key, Kind, Table};

/// `[[upstream]]`.
pub(crate) static UPSTREAM: Table = Table {
    title: "[[upstream]]",
    text: "Servers behind this one that share some work: HTTP servers or FastCGI applications, as `members`, or a single \
           application as `fastcgi`. Its limits hold for the whole process, whichever sites refer to it. \
           docs/upstreams.md is the guide.",
    groups: &[
        &[
            Key::new(
                "name",
                Kind::Text(Format::Name),
                "Its name; sites and handlers refer to it.",
                "\"maps\"",
            ),
            Key::new(
                "members",
                Kind::Many(&Kind::Table(&MEMBER)),
                "The servers that share the work, all of them HTTP or all of them FastCGI.",
                "[{ url = \"http://10.0.0.1:3000\" }, { url = \"http://10.0.0.2:3000\" }]",
            )
            .absent("none"),
            Key::new(
                "fastcgi",
                Kind::Text(Format::Address),
                "Where a single FastCGI application listens.",
                "\"unix:/run/php/php8.2-fpm.sock\"",
            )
            .absent("none"),
            Key::new(
                "host",
                Kind::Text(Format::Authority),
                "The Host that HTTP members are told.",
                "\"maps.internal\"",
            )
            .absent("the host of the request"),
        ],
        BALANCE,
        LIMITS,
    ],
};

static BALANCE: &[Key] = &[
    Key::new(
        "balance",
        Kind::Word(&[
            ("requests", "in turn by weight"),
            ("traffic", "the one that has carried the fewest bytes for its weight"),
            ("busyness", "the one with the fewest requests under way for its weight"),
            (
                "latency",
                "of two drawn by lot, the one with the shorter expected wait (peak EWMA of its times, by the requests under way)",
            ),
            ("two-choices", "of two drawn by lot, the one with fewer requests under way for its weight"),
            ("hash", "the one that the request's key belongs to, see `hash_by`"),
        ]),
        "Which member takes a request.",
        "\"latency\"",
    )
    .or("\"requests\""),
    Key::new(
        "hash_by",
        Kind::Text(Format::HashBy),
        "What of a request belongs to a member, for `balance = \"hash\"`. When a member leaves, only its own keys move.",
        "\"query:customer\"",
    )
    .or("\"url\""),
    Key::new(
        "slow_start",
        Kind::Duration(0),
        "For how long a member that was enabled, or is well again, gets less than its share: a tenth at first.",
        "\"30s\"",
    )
    .or("\"0s\""),
    Key::new(
        "sticky",
        Kind::Table(&STICKY),
        "How a client's session stays on its member, as with httpd's `stickysession`.",
        "{ cookie = \"ROUTEID\", set = true }",
    )
    .absent("sessions go anywhere"),
    Key::new(
        "retry",
        Kind::Table(&RETRY),
        "When a failed attempt is repeated at another member. What may have been acted upon is repeated only if its method \
         is idempotent (RFC 9110 §9.2.2), and nothing once an answer has begun.",
        "{ tries = 2, on = [\"connect\", \"reset\", \"503\"] }",
    )
    .absent("as the table's own defaults"),
    Key::new(
        "eject",
        Kind::Table(&EJECT),
        "When a member that fails is left alone for a while; then one request at a time tries it. The last one is never \
         left alone.",
        "{ after = 3, for = \"30s\" }",
    )
    .absent("as the table's own defaults"),
    Key::new(
        "probe",
        Kind::Table(&PROBE),
        "How each member is asked whether it is well. Where all seem ill, requests are sent all the same.",
        "{ path = \"/health\", interval = \"2s\" }",
    )
    .absent("members are not asked"),
    Key::new(
        "resolve_every",
        Kind::Duration(1),
        "How often names of members are looked up; connections to addresses that a name has no more are not used again.",
        "\"60s\"",
    )
    .or("\"10s\""),
];

static LIMITS: &[Key] = &[
    Key::new(
        "max_connections",
        Kind::Int(1, 100_000),
        "Connections at once, over all members; bodies that are still coming from clients hold half of them at most. A \
         FastCGI application must have as many processes.",
        "32",
    )
    .absent("256; 64 with FastCGI"),
    Key::new(
        "upgraded_max",
        Kind::Int(0, 100_000),
        "Of these connections, those that may have changed to another protocol (WebSocket) on each member, as they stay for \
         long. One more is answered with 503.",
        "1000",
    )
    .absent("half of `max_connections`"),
    Key::new("queue_max", Kind::Int(0, 1_000_000), "Requests that may wait for a connection.", "100").or("1024"),
    Key::new("queue_timeout", Kind::Duration(1), "How long one waits.", "\"2s\"").or("\"10s\""),
    Key::new("connect_timeout", Kind::Duration(1), "How long connecting may take.", "\"500ms\"").or("\"2s\""),
    Key::new("head_timeout", Kind::Duration(1), "How long until the answer begins.", "\"10s\"").or("\"60s\""),
    Key::new("body_timeout", Kind::Duration(1), "Longest pause between two pieces of an answer.", "\"10s\"")
        .or("\"60s\""),
    Key::new(
        "abandon_after",
        Kind::Duration(0),
        "How much longer a fetch for the cache waits for an answer to begin when no client waits for it any more. A client \
         that closes counts for five seconds more: it may only have ended its sending side.",
        "\"0s\"",
    )
    .or("\"10s\""),
    Key::new(
        "reuse_after_body",
        Kind::Word(&[
            (
                "auto",
                "only where the method gives content a meaning (POST, PUT, PATCH, some of WebDAV), all of it was sent before \
                 the response began, and the status is a 2xx or 303",
            ),
            ("never", "never: for an origin that responds without reading what it was sent"),
        ]),
        "Whether a connection carries another request after one with a body. What an origin leaves unread it takes for the \
         next request, which may be another client's. docs/upstreams.md says what is believed of an origin.",
        "\"never\"",
    )
    .or("\"auto\""),
    Key::new("idle_timeout", Kind::Duration(1), "A connection unused this long is closed.", "\"5s\"").or("\"55s\""),
    Key::new("head_max_bytes", Kind::Size(1024), "Largest head of an answer.", "\"128 KiB\"").or("\"64 KiB\""),
    Key::new(
        "fpm_status",
        Kind::Text(Format::UrlPath),
        "php-fpm's `pm.status_path`: `samovar limits` asks there how many of its children are busy.",
        "\"/fpm-status\"",
    )
    .absent("it is not asked"),
];

/// A member.
pub(crate) static MEMBER: Table = Table {
    title: "members = [{ … }]",
    text: "One of the servers of an upstream: `url` or `fastcgi`.",
    groups: &[&[
        Key::new("url", Kind::Text(Format::OriginUrl), "Where an HTTP server listens.", "\"http://127.0.0.1:3000\"")
            .absent("it speaks FastCGI"),
        Key::new(
            "fastcgi",
            Kind::Text(Format::Address),
            "Where a FastCGI application listens.",
            "\"unix:/run/php/php8.2-fpm.sock\"",
        )
        .absent("it speaks HTTP"),
        Key::new("name", Kind::Text(Format::Name), "Its name in traces and commands.", "\"ags1\"")
            .absent("its address"),
        Key::new("weight", Kind::Int(1, 1000), "Its share of the work beside the others.", "50").or("1"),
        Key::new(
            "route",
            Kind::Text(Format::CookieName),
            "What a session's cookie calls it, see `sticky`.",
            "\"w1\"",
        )
        .absent("`m1`, `m2`… by its position, where there is `sticky`"),
        Key::new(
            "set",
            Kind::Int(0, 1000),
            "Members of a higher set take work only when none of the lower ones can.",
            "1",
        )
        .or("0"),
        Key::new(
            "standby",
            Kind::Bool,
            "It takes work only when no other member of its set can.",
            "true",
        )
        .or("false"),
        Key::new(
            "state",
            Kind::Word(&[
                ("enabled", "it takes work"),
                ("drain", "it takes only the sessions that are on it already"),
                ("disabled", "it takes nothing"),
            ]),
            "Whether it takes work; `samovar upstream drain`, `disable` and `enable` change it while the server runs.",
            "\"drain\"",
        )
        .or("\"enabled\""),
        Key::new("max_connections", Kind::Int(1, 100_000), "Requests at once on this member.", "16")
            .absent("as the upstream's"),
    ]],
};

/// How sessions stay.
pub(crate) static STICKY: Table = Table {
    title: "sticky = { … }",
    text: "Where a request names the member that its session is on: the text behind the last `separator` of a cookie's or \
           a variable's value. The URL's word is taken before the cookie's.",
    groups: &[&[
        Key::new("cookie", Kind::Text(Format::CookieName), "The cookie.", "\"ROUTEID\"").absent("none"),
        Key::new(
            "query",
            Kind::Text(Format::CookieName),
            "The variable, in the query or in the path behind `;`.",
            "\"jsessionid\"",
        )
        .absent("none"),
        Key::new(
            "set",
            Kind::Bool,
            "The cookie is ours: it is set where a request came without, or had to move. Answers from the cache never set \
             it, and it keeps no request away from the cache.",
            "true",
        )
        .or("false"),
        Key::new("path", Kind::Text(Format::UrlPath), "The path it is set for.", "\"/app\"").or("\"/\""),
        Key::new("separator", Kind::Text(Format::Separator), "What stands before the route.", "\"!\"").or("\".\""),
    ]],
};

/// What is repeated.
pub(crate) static RETRY: Table = Table {
    title: "retry = { … }",
    text: "When a failed attempt is repeated at another member.",
    groups: &[&[
        Key::new("tries", Kind::Int(1, 100), "Attempts at one request, the first counted; each at another member.", "2")
            .or("3"),
        Key::new(
            "budget",
            Kind::Number(0.0, 1.0),
            "Attempts that put work on a member for a second time may be this part of all requests, beyond the first 200; what \
             was never sent is not counted.",
            "0.1",
        )
        .or("0.2"),
        Key::new(
            "on",
            Kind::Many(&Kind::Text(Format::RetryOn)),
            "After what: `\"connect\"` (nothing was sent), `\"reset\"` (it broke off, or what it said is no answer), \
             `\"timeout\"` (it did not answer in time), or a status. Statuses listed here also count against a member's health.",
            "[\"connect\", \"reset\", \"timeout\", \"503\"]",
        )
        .or("[\"connect\", \"reset\"]"),
    ]],
};

/// When a member is set aside.
pub(crate) static EJECT: Table = Table {
    title: "eject = { … }",
    text: "When a member that fails is left alone.",
    groups: &[&[
        Key::new("after", Kind::Int(0, 10_000), "After so many failures in a row; 0 for never.", "3").or("5"),
        Key::new(
            "for",
            Kind::Duration(1),
            "For how long; twice as long after each trial that fails, up to sixteen times.",
            "\"30s\"",
        )
        .or("\"10s\""),
        Key::new("max_part", Kind::Number(0.0, 1.0), "At most this part of the members at once.", "0.3")
            .or("0.5"),
    ]],
};

/// How members are asked.
pub(crate) static PROBE: Table = Table {
    title: "probe = { … }",
    text: "How each member is asked whether it is well, on a connection of its own.",
    groups: &[&[
        Key::new(
            "path",
            Kind::Text(Format::UrlPath),
            "What is asked for; with php-fpm its `ping.path`.",
            "\"/health\"",
        ),
        Key::new("host", Kind::Text(Format::Authority), "The Host it is asked with.", "\"maps.example\"")
            .absent("the upstream's `host`, else the member's address"),
        Key::new("interval", Kind::Duration(100), "How often.", "\"2s\"").or("\"5s\""),
        Key::new("timeout", Kind::Duration(1), "How long an answer may take.", "\"500ms\"").or("\"1s\""),
        Key::new(
            "status",
            Kind::Many(&Kind::Text(Format::Statuses)),
            "Statuses that say it is well.",
            "[\"200\", \"204\"]",
        )
        .or("[\"200-399\"]"),
        Key::new("rise", Kind::Int(1, 100), "So many good answers in a row, and it is well again.", "1")
            .or("2"),
        Key::new("fall", Kind::Int(1, 100), "So many bad ones in a row, and it takes no work.", "2").or("3"),
    ]],
};

/// Limits of a site, or a rule.
pub(crate) static GATE: Table = Table {
    title: "limits = { … }",
    text: "How many requests of a site, or a rule, may ask the origin at once, and how many may wait before them. What the \
           cache answers is not counted. Who finds no room is answered with 503 and `Retry-After`.",
    groups: &[&[
        Key::new("concurrent_max", Kind::Int(1, 1_000_000), "At once.", "100"),
        Key::new("queue_max", Kind::Int(0, 1_000_000), "Waiting.", "50").or("1024"),
        Key::new("queue_timeout", Kind::Duration(1), "How long one waits.", "\"2s\"").or("\"10s\""),
    ]],
};
