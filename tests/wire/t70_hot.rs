//! The hot tier: the same answers as the engine's, and never one that may not be used any more.

use samovar_tests::client::Answer;
use samovar_tests::origin::{Origin, own};
use samovar_tests::server::Server;
use std::io::{Read, Write};

fn warm(server: &Server, path: &str, fields: &[(&str, &str)]) -> Answer {
    samovar_tests::server::soon("a hot answer", || {
        let answer = server.get(path, fields);
        (answer.reason() == "fresh-hot").then_some(answer)
    })
}

/// All fields but those that may differ between tiers.
fn comparable(answer: &Answer) -> Vec<(String, String)> {
    let mut fields: Vec<_> =
        answer.fields.iter().filter(|(n, _)| n != "age" && n != "cache-status").cloned().collect();
    fields.sort();
    fields
}

#[test]
fn a_hot_answer_is_the_engines_answer() {
    let origin = Origin::new(|asked| {
        let fields = own(&[
            ("Cache-Control", "max-age=60"),
            ("Content-Type", "text/plain"),
            ("ETag", "\"x\""),
            ("Link", "</a>; rel=a"),
            ("Link", "</b>; rel=b"),
            ("Vary", "Accept-Language"),
            ("Keep-Alive", "timeout=5"),
        ]);
        let size: usize = asked.target().trim_start_matches("/s").parse().unwrap();
        (200, fields, numbered(size))
    });
    let text = "config = 1\n[hot]\nmax_bytes = \"4 MiB\"\n[[site]]\ndefault = true\norigin = \"ORIGIN\"\n";
    let (server, _file) = Server::configured(&text.replace("ORIGIN", &origin.url), &[]);
    for size in [0, 1, 1024, 8191, 8192, 8193, 100_000, 262_144, 1 << 20, (1 << 20) + 1, 4 << 20] {
        let path = format!("/s{size}");
        let hot = warm(&server, &path, &[("Accept-Language", "de")]);
        // With this option the request is the engine's, for the same entry.
        let engine = server.get(&path, &[("Accept-Language", "de"), ("Connection", "odd")]);
        assert_eq!(engine.reason(), "fresh", "{}", engine.cache_status());
        assert!(hot.body == numbered(size) && hot.body == engine.body, "size {size}");
        assert_eq!((&hot.line, comparable(&hot)), (&engine.line, comparable(&engine)), "size {size}");
        assert_eq!(hot.field("age").is_some(), engine.field("age").is_some());
    }
    // One byte more than the hot tier takes.
    for _ in 0..5 {
        assert_ne!(server.get("/s4194305", &[]).reason(), "fresh-hot");
    }
    // Large and small ones behind each other, to a client that reads only once all have been asked for: each goes out in
    // turns, and in order.
    let sizes = [4 << 20, 1, 1 << 20, 100_000, 4 << 20, 0, 8193, (1 << 20) + 1];
    let mut client = server.connect();
    for size in sizes {
        // Hot on the core that this connection is with.
        samovar_tests::server::soon("a hot answer", || {
            let answer = client.get(&format!("/s{size}"), &[("Accept-Language", "de")]);
            (answer.reason() == "fresh-hot").then_some(())
        });
    }
    for size in sizes {
        client.send(format!("GET /s{size} HTTP/1.1\r\nHost: test\r\nAccept-Language: de\r\n\r\n"));
    }
    for size in sizes {
        let answer = client.answer("GET");
        assert_eq!((answer.reason().as_str(), answer.body.len()), ("fresh-hot", size));
        assert!(answer.body == numbered(size), "size {size}");
    }
}

/// HEAD, conditions and ranges come from the prepared bytes where they are certain, and are then what the engine says;
/// where they are not, they are the engine's.
#[test]
fn heads_conditions_and_ranges_are_the_engines_answers() {
    const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    let origin = Origin::new(|asked| {
        let mut fields = own(&[
            ("Cache-Control", "max-age=60"),
            ("Content-Type", "text/plain"),
            ("Content-Language", "de"),
            ("X-Note", "content-type: not a field"),
        ]);
        let (kind, size) = asked.target().trim_start_matches('/').split_once('-').unwrap();
        match kind {
            "tagged" => fields.extend(own(&[("ETag", "W/\"x\""), ("Last-Modified", MODIFIED)])),
            "dated" => fields.extend(own(&[("Last-Modified", MODIFIED)])),
            _ => {}
        }
        (200, fields, numbered(size.parse().unwrap()))
    });
    let server = Server::before(&origin.url, &["--workers", "1"]);
    let asked: [(&str, &[(&str, &str)]); 18] = [
        ("HEAD", &[]),
        ("GET", &[("If-None-Match", "\"x\"")]),
        ("HEAD", &[("If-None-Match", "\"x\"")]),
        ("GET", &[("If-None-Match", "\"y\", \"z\"")]),
        ("GET", &[("If-None-Match", "*")]),
        ("GET", &[("If-None-Match", "nonsense")]),
        ("GET", &[("If-Modified-Since", MODIFIED)]),
        ("GET", &[("If-Modified-Since", "Sun, 06 Nov 1994 08:49:36 GMT")]),
        ("GET", &[("If-Modified-Since", "Sat, 07 Nov 2076 08:49:36 GMT")]),
        ("GET", &[("Range", "bytes=0-0")]),
        ("GET", &[("Range", "bytes=5-")]),
        ("HEAD", &[("Range", "bytes=5-")]),
        ("GET", &[("Range", "bytes=-70000")]),
        ("GET", &[("Range", "bytes=99-66000")]),
        ("GET", &[("Range", "bytes=999999999-")]),
        ("GET", &[("Range", "bytes=0-1"), ("If-None-Match", "\"x\"")]),
        ("GET", &[("Range", "bytes=0-1"), ("If-Range", MODIFIED)]),
        ("GET", &[("Range", "bytes=0-1,7-9")]),
    ];
    let mut hot = std::collections::BTreeSet::new();
    let mut unchanged = 0;
    // Version and `Connection` of the request, and whether the connection goes on (RFC 9112 §9.3).
    let manners = [
        ("HTTP/1.1", "keep-alive", true),
        ("HTTP/1.1", "close", false),
        ("HTTP/1.0", "keep-alive", true),
        ("HTTP/1.0", "close", false),
    ];
    for path in ["/tagged-300", "/tagged-0", "/dated-100000", "/plain-9000", "/tagged-600000"] {
        warm(&server, path, &[]);
        for (method, fields) in asked {
            let lines: String = fields.iter().map(|(n, v)| format!("{n}: {v}\r\n")).collect();
            // The largest in one manner only: it is read byte by byte here.
            let ways = if path == "/tagged-600000" { &manners[..1] } else { &manners };
            for &(version, connection, goes_on) in ways {
                let get = |option: &str| {
                    let mut client = server.connect();
                    let connection = format!("Connection: {connection}{option}");
                    client.send(format!(
                        "{method} {path} {version}\r\nHost: test\r\n{connection}\r\n{lines}\r\n"
                    ));
                    let answer = client.answer(method);
                    // The request that tells whether the connection went on has no body in its answer.
                    client.send("OPTIONS * HTTP/1.1\r\nHost: test\r\n\r\n");
                    assert_eq!(client.try_answer("OPTIONS").is_some(), goes_on, "{version} {connection}");
                    answer
                };
                // With the odd option it is the engine that answers, from the same entry.
                let (first, engine) = (get(""), get(", odd"));
                let what =
                    format!("{method} {path} {version} {connection} {fields:?}: {}", first.cache_status());
                assert_eq!(engine.reason(), "fresh", "{what}");
                let plain = |answer: &Answer| {
                    let mut fields = comparable(answer);
                    // Each answer in parts has a boundary of its own.
                    fields.retain(|(_, value)| !value.starts_with("multipart/"));
                    (answer.line.clone(), fields)
                };
                assert_eq!(plain(&first), plain(&engine), "{what}");
                assert!(
                    first.body == engine.body
                        || first.field("content-type").is_some_and(|t| t.starts_with("multipart/")),
                    "{what}"
                );
                assert_eq!(first.field("age").is_some(), engine.field("age").is_some(), "{what}");
                unchanged += u32::from(first.status == 304) + u32::from(engine.status == 304);
                if first.reason() == "fresh-hot" {
                    hot.insert((version, goes_on, method, first.status));
                }
            }
        }
    }
    let mut expected = Vec::new();
    for (version, _, goes_on) in manners {
        for (method, status) in [("GET", 200), ("GET", 206), ("GET", 304), ("HEAD", 200), ("HEAD", 304)] {
            expected.push((version, goes_on, method, status));
        }
    }
    expected.sort_unstable();
    let from_hot: Vec<_> = hot.into_iter().collect();
    assert_eq!(from_hot, expected);
    let admin = server.admin.trim_start_matches("http://");
    let metrics = samovar_tests::client::Client::connect(admin).get("/metrics", &[("Host", admin)]).text();
    let counted = format!("samovar_responses_total{{class=\"3xx\"}} {unchanged}\n");
    assert!(metrics.contains(&counted), "{counted}{metrics}");
}

/// One connection for each request, as load testers of old ask: every one is hot, counted and logged as what it was.
#[test]
fn clients_that_close_are_served_from_the_hot_tier() {
    let origin = Origin::new(|_| (200, own(&[("Cache-Control", "max-age=60")]), numbered(200_000)));
    let folder = samovar_tests::server::Folder::new();
    let log = folder.path("access.log");
    let text = format!(
        "config = 1\n[log]\naccess = \"{}\"\n[[site]]\nname = \"a\"\ndefault = true\norigin = \"{}\"\n",
        log.display(),
        origin.url
    );
    let (server, _file) = Server::configured(&text, &["--workers", "1"]);
    let head_of = |head: &str| {
        let mut client = server.connect();
        client.send(head);
        let answer = client.answer("GET");
        assert!(answer.body == numbered(200_000), "{head:?}");
        assert!(client.is_closed());
        answer
    };
    // Without a host it is another key for the hot tier, and the same entry.
    let ways = [
        "GET /%s HTTP/1.0\r\nHost: test\r\n\r\n",
        "GET /%s HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n",
        "GET /%s HTTP/1.0\r\n\r\n",
    ];
    for way in ways {
        let way = way.replace("%s", "page");
        samovar_tests::server::soon("a hot answer", || (head_of(&way).reason() == "fresh-hot").then_some(()));
    }
    let hot = || server.json(&["status"])["requests"]["hot"].as_u64().unwrap();
    let before = hot();
    for _ in 0..20 {
        for way in ways {
            assert_eq!(head_of(&way.replace("%s", "page")).reason(), "fresh-hot", "{way:?}");
        }
    }
    assert_eq!(hot() - before, 60);
    // What comes behind a last request is read and thrown away: bytes that nobody read would reset the connection, and the
    // end of the answer with it (RFC 9112 §9.6).
    for _ in 0..10 {
        let mut client = server.connect();
        client.send("GET /page HTTP/1.0\r\nHost: test\r\n\r\n").send(vec![b'x'; 100_000]);
        let answer = client.answer("GET");
        assert_eq!(answer.reason(), "fresh-hot");
        assert!(answer.whole && answer.body == numbered(200_000));
        assert!(client.is_closed());
    }
    samovar_tests::server::soon("the lines of the log", || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let of = |version: &str| {
            let end = format!("{version}\" 200");
            text.lines().filter(|line| line.contains(&end) && line.contains("hot")).count()
        };
        (of("HTTP/1.0") >= 50 && of("HTTP/1.1") >= 20).then_some(())
    });
}

/// What a client did not take of its answer goes to nobody else: connections of a core share a buffer.
#[test]
fn what_a_client_left_behind_reaches_nobody() {
    let origin = Origin::new(|asked| {
        let size: usize = asked.target().trim_start_matches("/s").parse().unwrap();
        (200, own(&[("Cache-Control", "max-age=60")]), numbered(size))
    });
    let server = Server::before(&origin.url, &["--workers", "1"]);
    let (large, small) = ("/s16777216", "/s100");
    for path in [large, small] {
        warm(&server, path, &[]);
    }
    for round in 0..10 {
        let mut leaving = std::net::TcpStream::connect(server.url("").trim_start_matches("http://")).unwrap();
        leaving.write_all(format!("GET {large} HTTP/1.1\r\nHost: test\r\n\r\n").as_bytes()).unwrap();
        let mut some = vec![0; 100_000];
        leaving.read_exact(&mut some).unwrap();
        // Closed with bytes unread: a reset, which meets a write that waits for room.
        drop(leaving);
        for again in 0..3 {
            let answer = server.get(small, &[]);
            assert_eq!((answer.status, answer.reason().as_str()), (200, "fresh-hot"), "{round} {again}");
            assert!(answer.body == numbered(100), "{round} {again}");
        }
    }
}

/// So many bytes, of which one can tell what stands where.
fn numbered(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at % 251) as u8 ^ (at >> 16) as u8).collect()
}

#[test]
fn what_the_hot_tier_must_not_take() {
    let origin = Origin::new(|asked| {
        let who = asked.field("cookie").or(asked.field("authorization")).unwrap_or("nobody");
        (200, own(&[("ETag", "\"x\"")]), format!("for {who}").into_bytes())
    });
    let server = Server::before(&origin.url, &[]);
    server.tell(&["rule", "add", "path=/**", "for=60s"]);
    warm(&server, "/", &[]);
    for fields in [
        &[("Cookie", "sid=1")][..],
        &[("Authorization", "Basic x")],
        &[("Range", "bytes=0-1,3-4")],
        &[("If-None-Match", "x")],
        &[("If-Match", "\"x\"")],
        &[("If-Modified-Since", "Fri, 20 Nov 2026 12:00:00 GMT")],
        &[("Content-Length", "0"), ("Expect", "100-continue")],
    ] {
        let answer = server.get("/", fields);
        assert_ne!(answer.reason(), "fresh-hot", "{fields:?}");
        let personal = fields.iter().find(|(n, _)| *n == "Cookie" || *n == "Authorization");
        if let Some((_, who)) = personal {
            assert_eq!(answer.text(), format!("for {who}"));
        }
    }
    assert_eq!(server.get("/", &[("Range", "bytes=0-1")]).status, 206);
    assert_eq!(server.get("/", &[("If-None-Match", "\"x\"")]).status, 304);
}

#[test]
fn hot_ends_with_freshness() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=2")]);
    let server = Server::before(&origin.url, &[]);
    let first = warm(&server, "/", &[]);
    assert_eq!(first.text(), "answer 0");
    samovar_tests::server::soon("a newer answer", || {
        (server.get("/", &[]).text() != "answer 0").then_some(())
    });
    assert!(server.get("/", &[]).field("age").is_none_or(|a| a.parse::<u64>().unwrap() <= 2));
}

#[test]
fn a_rule_change_is_seen_by_every_core() {
    let origin = Origin::counting(&[]);
    let server = Server::before(&origin.url, &["--workers", "2"]);
    server.tell(&["rule", "add", "path=/**", "for=600s"]);
    for round in 0..5 {
        for _ in 0..4 {
            warm(&server, "/", &[]);
        }
        server.tell(&["rule", "set", "r1", "for=", "never=true"]);
        for _ in 0..8 {
            let answer = server.get("/", &[]);
            assert_eq!(answer.reason(), "rule-never", "round {round}: {}", answer.cache_status());
        }
        server.tell(&["rule", "set", "r1", "never=", "for=600s"]);
    }
}
