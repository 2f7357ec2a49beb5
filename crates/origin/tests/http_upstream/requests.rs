//! What an upstream is told: target, Host, forwarding fields, body framing.

use crate::raw::*;
use bytes::Bytes;
use http::Method;
use samovar_origin::{Failure, HttpSettings, HttpUpstream, Reached, UpstreamLimits, pseudonym};
use samovar_reason::Upstream;
use std::io::Write;
use std::sync::mpsc;

/// An origin that hands over each request's head, then answers `ok`.
fn recording() -> (Origin, mpsc::Receiver<String>) {
    let (sender, receiver) = mpsc::channel();
    let origin = Origin::scripted(move |mut stream, _| {
        while let Some(head) = read_head(&mut stream) {
            let bytes = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned))
                .map_or(0, |n| n.parse().unwrap());
            let body = String::from_utf8(read_exactly(&mut stream, bytes)).unwrap();
            sender.send(head + &body).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        }
    });
    (origin, receiver)
}

fn lines(head: &str) -> Vec<&str> {
    let mut lines: Vec<_> = head.lines().take_while(|line| !line.is_empty()).collect();
    lines[1..].sort_unstable();
    lines
}

#[tokio::test]
async fn a_request_is_written_anew() {
    let (origin, heads) = recording();
    let upstream = origin.upstream(UpstreamLimits::default());
    let mut asked = with(get("/a%20b"), "accept", "*/*");
    // None of these may reach the wire, whoever let them through.
    for (name, value) in [
        ("connection", "close"),
        ("transfer-encoding", "chunked"),
        ("content-length", "5"),
        ("te", "trailers"),
        ("upgrade", "h2c"),
        ("expect", "100-continue"),
        ("host", "evil.example"),
    ] {
        asked = with(asked, name, value);
    }
    asked.query = Some("x=1&y".to_owned());
    whole(upstream.attempt(0, asked).await.unwrap()).await.unwrap();
    let via = format!("via: 1.1 {}", pseudonym());
    assert_eq!(
        lines(&heads.recv().unwrap()),
        [
            "GET /a%20b?x=1&y HTTP/1.1",
            "accept: */*",
            "forwarded: for=192.0.2.7;host=site.example;proto=http",
            "host: site.example",
            &via,
            "x-forwarded-for: 192.0.2.7",
            "x-forwarded-host: site.example",
            "x-forwarded-proto: http",
        ]
    );
}

#[tokio::test]
async fn forwarding_fields_append_to_those_that_were_kept() {
    let (origin, heads) = recording();
    let upstream = origin.upstream(UpstreamLimits::default());
    let mut asked = get("/");
    asked.host = "[2001:db8::1]:8080".to_owned();
    asked.client.remote = Some("[2001:db8::7]:99".parse().unwrap());
    asked.client.version = "HTTP/1.0";
    for (name, value) in [
        ("via", "1.1 edge"),
        ("forwarded", "for=198.51.100.1"),
        ("x-forwarded-for", "198.51.100.1"),
        ("x-forwarded-proto", "https"),
    ] {
        asked = with(asked, name, value);
    }
    whole(upstream.attempt(0, asked).await.unwrap()).await.unwrap();
    let via = format!("via: 1.1 edge, 1.0 {}", pseudonym());
    assert_eq!(
        lines(&heads.recv().unwrap()),
        [
            "GET / HTTP/1.1",
            "forwarded: for=198.51.100.1, for=\"[2001:db8::7]\";host=\"[2001:db8::1]:8080\";proto=http",
            "host: [2001:db8::1]:8080",
            &via,
            "x-forwarded-for: 198.51.100.1, 2001:db8::7",
            "x-forwarded-host: [2001:db8::1]:8080",
            "x-forwarded-proto: https",
        ]
    );
    // The pipeline took the client from a field it trusts: it is not named twice.
    let mut asked = with(get("/"), "x-forwarded-for", "203.0.113.1, 192.0.2.7");
    asked.client.remote = Some("[::ffff:192.0.2.7]:1".parse().unwrap());
    whole(upstream.attempt(0, asked).await.unwrap()).await.unwrap();
    let head = heads.recv().unwrap();
    assert!(head.contains("x-forwarded-for: 203.0.113.1, 192.0.2.7\r\n"), "{head}");
    assert!(head.contains("forwarded: for=192.0.2.7;"), "{head}");
    // A unix socket has no address.
    let mut asked = get("/");
    asked.client.remote = None;
    whole(upstream.attempt(0, asked).await.unwrap()).await.unwrap();
    let head = heads.recv().unwrap();
    assert!(head.contains("forwarded: for=unknown;") && !head.contains("x-forwarded-for"), "{head}");
}

#[tokio::test]
async fn settings_name_host_and_base_path() {
    let (origin, heads) = recording();
    let settings = HttpSettings {
        host: Some("inner.example".to_owned()),
        base_path: "/app".to_owned(),
        ..origin.settings(UpstreamLimits::default())
    };
    let upstream = HttpUpstream::new(settings);
    whole(upstream.attempt(0, get("/x")).await.unwrap()).await.unwrap();
    let head = heads.recv().unwrap();
    assert!(head.starts_with("GET /app/x HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("\r\nhost: inner.example\r\n"), "{head}");
    assert!(head.contains("x-forwarded-host: site.example\r\n"), "{head}");
}

/// RFC 9110 §8.6: where a body is expected, none is said to be none.
#[tokio::test]
async fn a_post_without_a_body_says_so() {
    let (origin, heads) = recording();
    let upstream = origin.upstream(UpstreamLimits::default());
    for (method, says) in [
        (Method::POST, true),
        (Method::PUT, true),
        (Method::PATCH, true),
        (Method::GET, false),
        (Method::DELETE, false),
    ] {
        upstream.attempt(0, ask(method.clone(), "/")).await.unwrap();
        let head = heads.recv().unwrap();
        assert_eq!(head.contains("\r\ncontent-length: 0\r\n"), says, "{method}: {head}");
    }
}

#[tokio::test]
async fn a_request_that_was_here_is_a_loop() {
    let upstream = Origin::answering("", true).upstream(UpstreamLimits::default());
    for via in [format!("1.1 {}", pseudonym()), format!("1.0 a, 1.1  {} (x), 1.1 b", pseudonym())] {
        let failure = upstream.attempt(0, with(get("/"), "via", &via)).await.err().expect("a loop");
        assert_eq!((failure.reason, failure.reached), (Upstream::LoopDetected, Reached::NotSent));
    }
    // Another Samovar in the chain is no loop.
    let ok = Origin::answering("HTTP/1.1 204 No Content\r\n\r\n", false).upstream(UpstreamLimits::default());
    assert!(ok.attempt(0, with(get("/"), "via", "1.1 samovar-00000000")).await.is_ok());
}

#[tokio::test]
async fn what_cannot_be_sent_is_not_tried() {
    let origin = Origin::answering("", true);
    let upstream = origin.upstream(UpstreamLimits::default());
    let mut bad_host = get("/");
    bad_host.host = "a\r\nX: y".to_owned();
    for asked in [bad_host, get("http://evil/"), get("/a b"), get("/a\r\nX: y"), get("/#x"), get("")] {
        let path = asked.path.clone();
        let failure = upstream.attempt(0, asked).await.err().unwrap_or_else(|| panic!("{path:?} was sent"));
        assert_eq!((failure.reason, failure.reached), (Upstream::Unsendable, Reached::NotSent), "{path:?}");
    }
    assert_eq!(origin.accepted(), 0);
}

#[tokio::test]
async fn bodies_go_out_sized_or_chunked() {
    let (origin, heads) = recording();
    let upstream = origin.upstream(UpstreamLimits::default());
    let sized = with_body(ask(Method::POST, "/"), vec![Ok("hel"), Ok("lo")], Some(5));
    whole(upstream.attempt(0, sized).await.unwrap()).await.unwrap();
    let request = heads.recv().unwrap();
    assert!(request.contains("content-length: 5\r\n") && request.ends_with("\r\n\r\nhello"), "{request}");
    assert!(!request.contains("transfer-encoding"), "{request}");
    // The connection is used again after a body, too.
    whole(upstream.attempt(0, get("/")).await.unwrap()).await.unwrap();
    assert_eq!(origin.accepted(), 1);

    let (sender, received) = mpsc::channel();
    let origin = Origin::scripted(move |mut stream, _| {
        let head = read_head(&mut stream).unwrap();
        let body = read_exactly(&mut stream, "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n".len());
        sender.send((head, String::from_utf8(body).unwrap())).unwrap();
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    });
    let chunked = with_body(ask(Method::POST, "/"), vec![Ok("hel"), Ok("lo")], None);
    origin.upstream(UpstreamLimits::default()).attempt(0, chunked).await.unwrap();
    let (head, body) = received.recv().unwrap();
    assert!(head.contains("transfer-encoding: chunked\r\n") && !head.contains("content-length"), "{head}");
    assert_eq!(body, "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n");
}

#[tokio::test]
async fn a_client_that_breaks_its_word_is_named_not_the_upstream() {
    let gone = Failure {
        reason: Upstream::ClientGone,
        detail: "the client reset the connection".to_owned(),
        reached: Reached::Sent,
    };
    let table = [
        (vec![Ok("hel"), Err(gone)], Some(5), "the client reset the connection"),
        (vec![Ok("hel")], Some(5), "the client's body ended 2 bytes early"),
        (vec![Ok("hel"), Ok("loo")], Some(5), "the client's body is longer than announced"),
    ];
    for (pieces, bytes, detail) in table {
        let origin = Origin::scripted(|mut stream, _| {
            read_head(&mut stream);
            while !sees_close(&mut stream) {}
        });
        let upstream = origin.upstream(UpstreamLimits::default());
        let asked = with_body(ask(Method::POST, "/"), pieces, bytes);
        let failure = upstream.attempt(0, asked).await.err().expect(detail);
        assert_eq!((failure.reason, failure.detail.as_str()), (Upstream::ClientGone, detail));
        until("the connection's end", || upstream.stats().open == 0).await;
    }
}

#[tokio::test]
async fn both_directions_flow_at_once() {
    // Echoes each piece as it comes: an upstream that waits for the whole upload would hang here.
    let origin = Origin::scripted(|mut stream, _| {
        read_head(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n").unwrap();
        for _ in 0..10 {
            let piece = read_exactly(&mut stream, 3);
            stream.write_all(&piece).unwrap();
        }
        sees_close(&mut stream);
    });
    let upstream = origin.upstream(UpstreamLimits::default());
    let (sender, body) = channel_body();
    let mut asked = ask(Method::POST, "/");
    asked.body = Some(body);
    asked.body_bytes = Some(30);
    let mut answer = upstream.attempt(0, asked).await.unwrap();
    for _ in 0..10 {
        sender.send(Bytes::from_static(b"abc")).unwrap();
        assert_eq!(next(&mut answer).await.unwrap().unwrap().into_data().unwrap(), "abc");
    }
    assert_eq!(upstream.stats().busy, 0);
    assert_eq!(upstream.stats().idle, 0, "an origin that responds early may have left content unread");
}

#[tokio::test]
async fn an_early_answer_ends_the_upload() {
    let (sender, closed) = mpsc::channel();
    let origin = Origin::scripted(move |mut stream, _| {
        read_head(&mut stream);
        stream.write_all(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\n\r\nmuch").unwrap();
        sender.send(sees_close(&mut stream)).unwrap();
    });
    let upstream = origin.upstream(UpstreamLimits::default());
    let (_client, body) = channel_body();
    let mut asked = ask(Method::POST, "/");
    asked.body = Some(body);
    asked.body_bytes = Some(1 << 20);
    let answer = upstream.attempt(0, asked).await.unwrap();
    assert_eq!(answer.status, 413);
    assert_eq!(whole(answer).await.unwrap(), "much");
    assert_eq!(upstream.stats().idle, 0, "a connection in mid-upload was kept");
    until("the close", || closed.try_recv().is_ok_and(|closed| closed)).await;
}

#[tokio::test]
async fn an_upload_goes_on_beside_an_answer_that_nobody_reads() {
    const PIECES: usize = 256;
    let (sender, taken) = mpsc::channel();
    // More than lies between two sockets, so that somebody has to move it.
    let origin = Origin::scripted(move |mut stream, _| {
        read_head(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no").unwrap();
        sender.send(read_exactly(&mut stream, PIECES << 16).len()).unwrap();
        stream.write_all(b"k").unwrap();
    });
    let upstream = origin.upstream(UpstreamLimits::default());
    let (client, body) = channel_body();
    let mut asked = ask(Method::POST, "/");
    asked.body = Some(body);
    asked.body_bytes = Some((PIECES as u64) << 16);
    let answer = upstream.attempt(0, asked).await.unwrap();
    for _ in 0..PIECES {
        client.send(Bytes::from(vec![b'x'; 1 << 16])).unwrap();
    }
    until("the whole upload", || taken.try_recv().is_ok()).await;
    assert_eq!(whole(answer).await.unwrap(), "ok");
    until("the connection's end", || upstream.stats().open == 0).await;
}
