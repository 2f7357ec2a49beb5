//! The tables about the whole server: `[server]`, `[limits]`, `[memory]`, `[log]`, `[hot]`.

use crate::config::format::Format;
use crate::config::kind::{Key, Kind, Table};

/// `[server]`.
pub(crate) static SERVER: Table = Table {
    title: "[server]",
    text: "Where the server listens and how it presents itself.",
    groups: &[&[
        Key::new(
            "listen",
            Kind::Many(&Kind::Text(Format::Listen)),
            "Addresses to listen on. Port 0 takes any free port and prints it.",
            "[\"0.0.0.0:80\", \"[::]:80\"]",
        )
        .or("[\"127.0.0.1:8080\"]"),
        Key::new(
            "admin",
            Kind::Either(&[Kind::Word(&[("off", "no admin interface")]), Kind::Text(Format::Listen)]),
            "Where `samovar explain`, `cache`, `rule`… reach this server. Beyond a loopback address or a unix socket it needs a token in \
             SAMOVAR_ADMIN_TOKEN.",
            "\"unix:/run/samovar/admin.sock\"",
        )
        .or("\"127.0.0.1:9900\""),
        Key::new("workers", Kind::Int(1, 1024), "Serving threads.", "4").absent("one per processor core"),
        Key::new(
            "default_index",
            Kind::Many(&Kind::Text(Format::FileName)),
            "Index documents of folders, the first that exists; a site's `index` takes precedence.",
            "[\"index.html\", \"default.htm\"]",
        )
        .absent("`[\"index.html\", \"index.htm\"]`, after `index.php` where a site has a handler for `.php`"),
        Key::new(
            "error_detail",
            Kind::Word(&[
                ("loopback", "for clients on this machine"),
                ("always", "for everybody: paths and addresses of the inside are shown"),
                ("never", "for nobody"),
            ]),
            "Who is told on an error page what went wrong; all others get a request id for `samovar trace`.",
            "\"never\"",
        )
        .or("\"loopback\""),
        Key::new(
            "trusted_proxies",
            Kind::Many(&Kind::Text(Format::Network)),
            "Peers whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed, and whose other claims of a host, scheme, path or \
             client address go on to the origin (`X-Original-URL`, `True-Client-IP`, …); from all others such fields end here. \
             `\"unix\"` means all that come over a unix socket.",
            "[\"10.0.0.0/8\", \"unix\"]",
        )
        .or("[]"),
        Key::new(
            "proxy_protocol",
            Kind::Many(&Kind::Text(Format::Network)),
            "Peers that begin each connection with a PROXY protocol head (version 1 or 2): the client is who it names. A peer \
             listed here that sends none is not served; `\"unix\"` means all that come over a unix socket.",
            "[\"10.0.0.0/8\", \"unix\"]",
        )
        .or("[]"),
    ]],
};

/// `[limits]`.
pub(crate) static LIMITS: Table = Table {
    title: "[limits]",
    text: "What a client may ask for and how long it may take. Each limit has its own status (4xx, 408, 431) and reason.",
    groups: &[&[
        Key::new("line_max_bytes", Kind::Size(256), "Longest request line.", "\"8 KiB\"").or("\"16 KiB\""),
        Key::new("head_max_bytes", Kind::Size(1024), "Largest request head, with all fields.", "\"32 KiB\"")
            .or("\"64 KiB\""),
        Key::new("fields_max", Kind::Int(8, 256), "Fields of a request at most.", "200").or("100"),
        Key::new(
            "body_max_bytes",
            Kind::Either(&[Kind::Word(&[("unlimited", "no bound")]), Kind::Size(0)]),
            "Largest request body; it is passed on as it comes, never kept whole.",
            "\"10 MiB\"",
        )
        .or("\"1 GiB\""),
        Key::new(
            "head_timeout",
            Kind::Duration(10),
            "How long a client may take to send a request's head.",
            "\"5s\"",
        )
        .or("\"10s\""),
        Key::new(
            "body_timeout",
            Kind::Duration(10),
            "How long a client may send less of a request's body than `rate_min` asks for.",
            "\"10s\"",
        )
        .or("\"30s\""),
        Key::new(
            "idle_timeout",
            Kind::Duration(10),
            "How long a connection may wait for its next request.",
            "\"15s\"",
        )
        .or("\"60s\""),
        Key::new(
            "send_timeout",
            Kind::Duration(10),
            "How long a client may take less of its answer than `rate_min` asks for.",
            "\"30s\"",
        )
        .or("\"60s\""),
        Key::new(
            "rate_min",
            Kind::Size(0),
            "Bytes a second that a client must send of a body and take of an answer, on the average of `body_timeout` and \
             `send_timeout`; with 0 any byte is enough.",
            "\"1 KiB\"",
        )
        .or("100"),
        Key::new(
            "learned_hosts",
            Kind::Int(0, 100_000),
            "Hosts that no site names and that a default site without `canonical_host` serves from the cache. A host is learned \
             by a storable 2xx and forgotten when nobody asked for it for ten minutes and another needs its place; beyond \
             this bound requests pass by the cache (`host-not-learned`).",
            "1000",
        )
        .or("100"),
        Key::new("connections_max", Kind::Int(1, 10_000_000), "Connections of clients at once.", "1000")
            .or("10000"),
        Key::new(
            "connections_per_address",
            Kind::Either(&[Kind::Word(&[("unlimited", "no bound")]), Kind::Int(1, 10_000_000)]),
            "Connections from one address at once (IPv6: one network of 64 bits). Trusted proxies and unix sockets are \
             not counted.",
            "100",
        )
        .or("\"unlimited\""),
        Key::new(
            "requests_per_connection",
            Kind::Either(&[Kind::Word(&[("unlimited", "no bound")]), Kind::Int(1, 1_000_000_000)]),
            "Requests on one connection; the answer to the last says so. What the client has sent ahead is still answered.",
            "10000",
        )
        .or("\"unlimited\""),
        Key::new(
            "connection_lifetime",
            Kind::Either(&[Kind::Word(&[("unlimited", "no bound")]), Kind::Duration(10)]),
            "How long a connection is kept, however busy; it ends with the next answer, or at once if it is idle. What the \
             client has sent ahead is still answered.",
            "\"1h\"",
        )
        .or("\"unlimited\""),
        Key::new(
            "upgraded_idle_timeout",
            Kind::Either(&[Kind::Word(&[("unlimited", "no bound")]), Kind::Duration(10)]),
            "How long nothing may go either way on a connection that has changed to another protocol (WebSocket).",
            "\"1h\"",
        )
        .or("\"10m\""),
        Key::new(
            "stop_timeout",
            Kind::Duration(0),
            "How long requests under way may still take when the server stops.",
            "\"5s\"",
        )
        .or("\"30s\""),
        Key::new(
            "stop_grace",
            Kind::Duration(0),
            "How long connections without a request stay open when the server stops, `stop_timeout` at most: a request that \
             is on its way is still answered.",
            "\"3s\"",
        )
        .or("\"1s\""),
    ]],
};

/// The smallest budget that can be configured, bytes.
pub(crate) const MEMORY_LEAST_BYTES: u64 = 1 << 20;

/// `[memory]`.
pub(crate) static MEMORY: Table = Table {
    title: "[memory]",
    text: "The memory tier. Its size counts answers with their heads and indexes, what arrives for them, the heads of hot \
           copies, clients' connections (some 2 KB each that waits, 12 under TLS, 20 with a request) and the records for \
           `samovar trace`. Answers leave when the sum is too large.",
    groups: &[&[
        Key::new(
            "size",
            Kind::Either(&[Kind::Percent, Kind::Size(MEMORY_LEAST_BYTES)]),
            "The budget, as a size or as a share of the machine's memory (of the container's limit where there is one).",
            "\"4 GiB\"",
        )
        .or("\"25%\""),
        Key::new("entry_max", Kind::Size(1), "Largest answer that is stored.", "\"16 MiB\"")
            .absent("an eighth of `size`"),
    ]],
};

/// `[log]`.
pub(crate) static LOG: Table = Table {
    title: "[log]",
    text: "The access log and the traces.",
    groups: &[&[
        Key::new(
            "access",
            Kind::Either(&[
                Kind::Word(&[("stderr", "to standard error"), ("off", "none")]),
                Kind::Text(Format::Path),
            ]),
            "Where the access log goes: `\"stderr\"`, `\"off\"`, or a file, which is opened again on SIGUSR1.",
            "\"/var/log/samovar/access.log\"",
        )
        .or("\"stderr\""),
        Key::new(
            "format",
            Kind::Word(&[("combined", "Apache's combined, with cache status and timings"), ("json", "one object per line")]),
            "What a line looks like.",
            "\"json\"",
        )
        .or("\"combined\""),
        Key::new("traces", Kind::Int(0, 1_000_000), "Requests remembered for `samovar trace` and `explain`. A quarter of them are kept for errors and slow requests (see `slow`) when newer ones push them out.", "10000")
            .or("2000"),
        Key::new("slow", Kind::Duration(1), "A request whose response begins later than this is remembered as long as errors are.", "\"200ms\"").or("\"1s\""),
        Key::new("traces_max_bytes", Kind::Size(0), "Memory for them at most; never more than an eighth of `memory.size`.", "\"16 MiB\"").or("\"8 MiB\""),
    ]],
};

/// `[hot]`.
pub(crate) static HOT: Table = Table {
    title: "[hot]",
    text: "The hot tier: complete answers kept as prepared bytes and sent below the HTTP engine. Rules may differ with `hot`.",
    groups: &[&[
        Key::new("enabled", Kind::Bool, "Answers may become hot.", "false").or("true"),
        Key::new(
            "threshold",
            Kind::Int(1, 1_000_000),
            "An answer becomes hot with this request within `period`, the one that fetched it counted.",
            "5",
        )
        .or("2"),
        Key::new("period", Kind::Duration(1), "See `threshold`.", "\"1m\"").or("\"10s\""),
        Key::new(
            "max_bytes",
            Kind::Size(0),
            "Largest body that becomes hot. A hot body is the stored one; being hot costs no second copy.",
            "\"1 MiB\"",
        )
        .or("\"64 MiB\""),
        Key::new(
            "entries_max",
            Kind::Int(0, 100_000_000),
            "Answers a core keeps prepared; those asked for least lately leave.",
            "1000000",
        )
        .or("100000"),
        Key::new(
            "heads_max",
            Kind::Size(0),
            "Memory for their keys and heads, a core; it counts towards `memory.size`.",
            "\"256 MiB\"",
        )
        .or("\"64 MiB\""),
        Key::new(
            "idle",
            Kind::Duration(1),
            "An answer nobody asked for this long is no longer hot.",
            "\"30s\"",
        )
        .or("\"120s\""),
    ]],
};

/// `[compression]`.
pub(crate) static COMPRESSION: Table = Table {
    title: "[compression]",
    text: "How hard compression tries, and when it gives way. What is compressed is said by rules and sites with `compress`.",
    groups: &[&[
        Key::new(
            "levels",
            Kind::Table(&LEVELS),
            "For stored answers, which are compressed once per coding, in the background.",
            "{ br = 9 }",
        )
        .absent("`gzip = 6`, `br = 5`, `zstd = 3`"),
        Key::new(
            "on_the_fly",
            Kind::Table(&ON_THE_FLY),
            "For answers that are compressed while they are sent.",
            "{ gzip = 4 }",
        )
        .absent("`gzip = 1`, `br = 1`, `zstd = 1`"),
        Key::new("workers", Kind::Int(1, 64), "Threads that compress stored answers.", "2")
            .absent("one for every four cores, at least one"),
        Key::new(
            "yield_at",
            Kind::Percent,
            "Answers on the fly are no longer compressed while a core is busier than this; `\"100%\"` for always.",
            "\"70%\"",
        )
        .or("\"85%\""),
        Key::new("streams_max", Kind::Int(0, 100_000), "Answers a core compresses on the fly at once.", "64").or("256"),
    ]],
};

/// Levels for what is stored.
pub(crate) static LEVELS: Table = Table {
    title: "levels = { … }",
    text: "Levels for stored answers.",
    groups: &[&[
        Key::new("gzip", Kind::Int(1, 9), "Of gzip.", "9").or("6"),
        Key::new("br", Kind::Int(1, 11), "Of Brotli; 11 takes a second for each megabyte.", "9").or("5"),
        Key::new("zstd", Kind::Int(1, 19), "Of Zstandard.", "9").or("3"),
    ]],
};

/// Levels for what is not.
pub(crate) static ON_THE_FLY: Table = Table {
    title: "on_the_fly = { … }",
    text: "Levels for answers that are compressed while they are sent.",
    groups: &[&[
        Key::new("gzip", Kind::Int(1, 9), "Of gzip.", "4").or("1"),
        Key::new("br", Kind::Int(1, 6), "Of Brotli.", "4").or("1"),
        Key::new("zstd", Kind::Int(1, 9), "Of Zstandard.", "3").or("1"),
    ]],
};
