//! The tables about a site: `[[site]]`, its handlers, and how its rules select. Policy keys are in `policy.rs`.

use super::acts::ACTS;
use super::policy::POLICY;
use super::upstream::GATE;
use crate::config::format::Format;
use crate::config::kind::{Key, Kind, Table};

/// `[[site]]`.
pub(crate) static SITE: Table = Table {
    title: "[[site]]",
    text: "A site: the hosts it answers for and where its pages come from. Exactly one of `files`, `upstream` and \
           `origin` takes what no handler takes. Policy keys written here hold where no rule matches, and for rules \
           that do not say otherwise.",
    groups: &[
        &[
            Key::new("name", Kind::Text(Format::Name), "Its name in traces and commands.", "\"maps\"")
                .absent("the first host"),
            Key::new(
                "hosts",
                Kind::Many(&Kind::Text(Format::HostPattern)),
                "Hosts it answers for; `*.` in front takes all below. Named hosts win over wildcards.",
                "[\"maps.example\", \"*.maps.example\"]",
            )
            .absent("none; only a default site may go without"),
            Key::new("ports", Kind::Many(&Kind::Int(1, 65535)), "Only on listeners with these ports.", "[443]")
                .absent("all listeners"),
            Key::new(
                "default",
                Kind::Bool,
                "Takes hosts that no site names. Without such a site they are answered with 421.",
                "true",
            )
            .or("false"),
            Key::new(
                "canonical_host",
                Kind::Text(Format::Authority),
                "The host in keys and towards origins when a default site takes an unknown one. Without it applications are \
                 told the client's own `Host`, with its port, and it is part of the key; see `limits.learned_hosts`.",
                "\"www.example\"",
            )
            .absent("the client's own; for sites of files alone the first host without wildcard, else `localhost`"),
            Key::new(
                "certificate",
                Kind::Text(Format::Path),
                "The certificate that `https://` listeners show for these hosts, with those that lead to its root: a \
                 PEM file, read again by `samovar reload`. A client that names no site, or an unknown one, is shown a \
                 default site's, else the first.",
                "\"/etc/ssl/maps.pem\"",
            )
            .absent("none"),
            Key::new(
                "certificate_key",
                Kind::Text(Format::Path),
                "Its private key, in PEM and without a pass phrase.",
                "\"/etc/ssl/private/maps.key\"",
            )
            .absent("the file of the certificate"),
            Key::new(
                "files",
                Kind::Text(Format::Path),
                "A folder of files; relative to this file. While it is not there, requests get an error page. Never served from \
                 it: dot-files, script sources, private keys, and configurations of Samovar's or other servers.",
                "\"/srv/gallery\"",
            )
                .absent("none"),
            Key::new("upstream", Kind::Text(Format::Name), "The name of an `[[upstream]]`.", "\"maps\"").absent("none"),
            Key::new(
                "origin",
                Kind::Text(Format::OriginUrl),
                "The URL of an HTTP server: an upstream without a table of its own.",
                "\"http://127.0.0.1:3000\"",
            )
            .absent("none"),
            Key::new(
                "handlers",
                Kind::Many(&Kind::Table(&HANDLER)),
                "FastCGI applications for scripts among the files, by extension.",
                "[{ extension = \".php\", fastcgi = \"unix:/run/php/php8.2-fpm.sock\" }]",
            )
            .or("[]"),
            Key::new(
                "index",
                Kind::Many(&Kind::Text(Format::FileName)),
                "Index documents of folders, the first that exists.",
                "[\"index.php\", \"index.html\"]",
            )
            .absent("the server's `default_index`"),
            Key::new("listing", Kind::Bool, "Draw a list of the files where a folder has no index document.", "true")
                .or("false"),
            Key::new("follow_links", Kind::Bool, "Follow symbolic links inside the folder; never out of it (`samovar check` names those).", "false")
                .or("true"),
            Key::new(
                "types",
                Kind::Map(Format::Extension, Format::MediaType),
                "Media types by extension, before the built-in table.",
                "{ \".geojson\" = \"application/geo+json\" }",
            )
            .or("{}"),
            Key::new(
                "map_location",
                Kind::Bool,
                "A `Location` or `Content-Location` that names the upstream's own address, or its URL's path, is turned into \
                 the path that the client knows it by.",
                "false",
            )
            .absent("`true` for upstreams"),
            Key::new(
                "precompressed",
                Kind::Bool,
                "Send `x.css.br`, `x.css.zst` or `x.css.gz` for `x.css` to clients that accept it, if it is not older.",
                "true",
            )
            .or("false"),
            Key::new(
                "limits",
                Kind::Table(&GATE),
                "How many of its requests may ask the origin at once, and the queue before them.",
                "{ concurrent_max = 100, queue_max = 50 }",
            )
            .absent("no bound but the upstream's"),
            Key::new(
                "ambiguous_paths",
                Kind::Word(&[
                    ("refuse", "answer them with 400"),
                    ("pass", "send them on; guards hold for all that they may be read as"),
                ]),
                "What becomes of paths that origins read in different ways, where a rule lets in only some, counts, or says \
                 `never`: an encoded or backward slash, an encoded dot or a `;` in a dot segment, NUL, invalid UTF-8.",
                "\"pass\"",
            )
            .or("\"refuse\""),
            Key::new("cache", Kind::Bool, "`false` turns caching off for the whole site.", "false").or("true"),
            Key::new("cache_status", Kind::Bool, "Send `Cache-Status` (RFC 9211) with our reason on every answer.", "false")
                .or("true"),
            Key::new("rule", Kind::Tables(&RULE), "Rules; in file order, the first that matches holds.", "").absent("none"),
        ],
        POLICY,
        ACTS,
    ],
};

/// A handler.
pub(crate) static HANDLER: Table = Table {
    title: "handlers = [{ … }]",
    text: "A FastCGI application for scripts among a site's files.",
    groups: &[&[
        Key::new(
            "extension",
            Kind::Many(&Kind::Text(Format::Extension)),
            "Extensions of scripts it runs.",
            "[\".php\", \".phtml\"]",
        ),
        Key::new(
            "fastcgi",
            Kind::Text(Format::AddressOrName),
            "Where it listens, or the name of an `[[upstream]]` with `fastcgi`.",
            "\"unix:/run/php/php8.2-fpm.sock\"",
        ),
        Key::new(
            "root",
            Kind::Text(Format::Path),
            "The folder of the scripts as the application sees it, if it sees another path than this server.",
            "\"/var/www/html\"",
        )
        .absent("the site's `files`"),
        Key::new(
            "params",
            Kind::Map(Format::Param, Format::Any),
            "More parameters for the application.",
            "{ APP_ENV = \"production\" }",
        )
        .or("{}"),
    ]],
};

/// `[[site.rule]]`.
pub(crate) static RULE: Table = Table {
    title: "[[site.rule]]",
    text: "A rule: which requests it takes (all that it names must match), and what it wishes for them.",
    groups: &[
        &[
            Key::new("id", Kind::Text(Format::RuleId), "Its name in traces and commands.", "\"thumbnails\"")
                .absent("`r1`, `r2`… by its position"),
            Key::new(
                "path",
                Kind::Text(Format::PathGlob),
                "Takes paths of this shape: `*` stands for any characters but a slash, `**` for any. A glob without \
                 slash is compared with the last part of the path.",
                "\"/admin/**\"",
            )
            .absent("any path"),
            Key::new(
                "extension",
                Kind::Many(&Kind::Text(Format::Extension)),
                "Takes paths with one of these extensions.",
                "[\".jpg\", \".png\"]",
            )
            .absent("any"),
            Key::new("method", Kind::Many(&Kind::Text(Format::Method)), "Takes these methods.", "[\"GET\", \"HEAD\"]")
                .absent("any"),
            Key::new(
                "upstream",
                Kind::Text(Format::Name),
                "The name of an `[[upstream]]` that speaks HTTP: its requests go there, not to the site's files, handlers \
                 or upstream.",
                "\"tickets\"",
            )
            .absent("as the site says"),
            Key::new(
                "override",
                Kind::Many(&Kind::Word(&[
                    ("no-store", "store although the answer says `no-store`"),
                    ("private", "store although the answer says `private`"),
                    ("no-cache", "reuse without asking although the answer says `no-cache`"),
                    ("vary-star", "store although the answer says `Vary: *`"),
                    ("authorization", "store and reuse although the request carries `Authorization`"),
                    ("set-cookie", "store although the answer sets a cookie; the field itself is dropped"),
                    ("cookie", "store and reuse although the request carries cookies"),
                    (
                        "protected",
                        "store and reuse, for all who are let in, although `allow`, `deny` or `basic_auth` let in only some",
                    ),
                ])),
                "What is stored against HTTP's word. Each is a warning in `samovar check` and a fact in every trace.",
                "[\"no-cache\"]",
            )
            .or("[]"),
            Key::new(
                "limits",
                Kind::Table(&GATE),
                "How many of its requests may ask the origin at once, and the queue before them; beside the site's own bound.",
                "{ concurrent_max = 10, queue_max = 20 }",
            )
            .absent("no bound but the site's and the upstream's"),
        ],
        POLICY,
        ACTS,
    ],
};
