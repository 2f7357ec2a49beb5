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
        // HTTP/1.0 with keep-alive is the engine's, for the same entry.
        let mut client = server.connect();
        client.send(format!("GET {path} HTTP/1.0\r\nHost: test\r\nAccept-Language: de\r\n\r\n"));
        let engine = client.answer("GET");
        assert_eq!(engine.reason(), "fresh", "{}", engine.cache_status());
        assert!(hot.body == numbered(size) && hot.body == engine.body, "size {size}");
        let without_connection = |mut fields: Vec<(String, String)>| {
            fields.retain(|(n, _)| n != "connection");
            fields
        };
        assert_eq!(
            without_connection(comparable(&hot)),
            without_connection(comparable(&engine)),
            "size {size}"
        );
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
        &[("Range", "bytes=0-1")],
        &[("If-None-Match", "\"x\"")],
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
