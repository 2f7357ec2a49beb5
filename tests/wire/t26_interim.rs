//! Interim answers (1xx): passed to the client whose request made the origin speak, never stored, never out of order.

use samovar_tests::origin::{After, Origin};
use samovar_tests::server::Server;
use std::io::Write;
use std::time::{Duration, Instant};

const HINT: &str = "HTTP/1.1 103 Early Hints\r\nLink: </s.css>; rel=preload\r\nX-Hint: 1\r\nConnection: x-hop\r\nX-Hop: 1\r\n\r\n";

/// Gives `interim`, and then an answer that counts.
fn hinting(interim: &'static str) -> Origin {
    Origin::raw(move |asked, stream| {
        let body = format!("answer {}", asked.number);
        let head = format!(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(interim.as_bytes()).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        After::Keep
    })
}

#[test]
fn they_are_passed_on_and_not_stored() {
    let origin = hinting(HINT);
    let server = Server::before(&origin.url, &[]);
    let mut client = server.connect();
    client.send("GET /a HTTP/1.1\r\nHost: test\r\n\r\n");
    let hint = client.one("GET").unwrap();
    assert_eq!((hint.status, hint.field("link")), (103, Some("</s.css>; rel=preload")));
    assert_eq!((hint.field("x-hint"), hint.field("x-hop")), (Some("1"), None));
    let answer = client.one("GET").unwrap();
    assert_eq!((answer.status, answer.text().as_str()), (200, "answer 0"));
    assert_eq!(
        (answer.field("x-hint"), answer.field("link")),
        (None, None),
        "of the hint, not of the answer"
    );
    client.send("GET /a HTTP/1.1\r\nHost: test\r\n\r\n");
    let stored = client.one("GET").unwrap();
    assert!(stored.is_hit() && stored.text() == "answer 0", "{}", stored.cache_status());
    assert_eq!((stored.field("x-hint"), stored.field("link")), (None, None));
    assert!(server.json(&["trace"]).to_string().contains("\"interim\":103"), "the record tells of it");
}

#[test]
fn several_come_in_order_and_a_continue_is_not_among_them() {
    let origin = hinting(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <b>\r\n\r\n",
    );
    let server = Server::before(&origin.url, &[]);
    for method in ["GET", "DELETE"] {
        let mut client = server.connect();
        client.send(format!("{method} /{method} HTTP/1.1\r\nHost: test\r\n\r\n"));
        let seen: Vec<(u16, Option<String>)> = (0..4)
            .map(|_| client.one(method).unwrap())
            .map(|answer| (answer.status, answer.field("link").map(str::to_owned)))
            .collect();
        let link = |name: &str| Some(name.to_owned());
        assert_eq!(seen, [(102, None), (103, link("<a>")), (103, link("<b>")), (200, None)], "{method}");
    }
}

/// RFC 9110 §15.2: a client of HTTP/1.0 would take it for the answer.
#[test]
fn an_old_client_gets_none() {
    let origin = hinting(HINT);
    let server = Server::before(&origin.url, &[]);
    let mut client = server.connect();
    client.send("GET /old HTTP/1.0\r\nHost: test\r\n\r\n");
    assert_eq!(client.one("GET").unwrap().status, 200);
}

/// It must not wait for the answer it announces.
#[test]
fn they_come_before_the_origin_has_its_answer() {
    let origin = Origin::raw(|_, stream| {
        stream.write_all(HINT.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_secs(2));
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        After::Keep
    });
    let server = Server::before(&origin.url, &[]);
    for path in ["/fill", "/pass"] {
        let mut client = server.connect();
        let method = if path == "/pass" { "PUT" } else { "GET" };
        let begun = Instant::now();
        client.send(format!("{method} {path} HTTP/1.1\r\nHost: test\r\n\r\n"));
        assert_eq!(client.one(method).unwrap().status, 103);
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
        assert_eq!(client.one(method).unwrap().text(), "ok");
    }
}

/// Requests ahead in the pipe, hot and cold: each hint stands before its own answer, and only there.
#[test]
fn a_pipeline_stays_in_order() {
    let origin = hinting(HINT);
    let server = Server::before(&origin.url, &["--workers", "1"]);
    for _ in 0..4 {
        server.get("/hot", &[]);
    }
    for round in 0..20 {
        let mut client = server.connect();
        let cold = |n: u32| format!("/cold-{round}-{n}");
        let paths = ["/hot".to_owned(), cold(0), "/hot".to_owned(), "/hot".to_owned(), cold(1), cold(0)];
        let all: String = paths.iter().map(|p| format!("GET {p} HTTP/1.1\r\nHost: test\r\n\r\n")).collect();
        client.send(all);
        let mut seen = Vec::new();
        while seen.iter().filter(|status| **status == 200).count() < paths.len() {
            seen.push(client.one("GET").unwrap().status);
        }
        assert_eq!(seen, [200, 103, 200, 200, 200, 103, 200, 200], "round {round}");
    }
}

/// An upload is asked for with our own `100 Continue`, the hint follows it whole.
#[test]
fn beside_a_continue_of_our_own() {
    let origin = hinting(HINT);
    let server = Server::before(&origin.url, &[]);
    let mut client = server.connect();
    client.send("POST /up HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    assert_eq!(client.one("POST").unwrap().status, 100);
    client.send("abc");
    assert_eq!(client.one("POST").unwrap().status, 103);
    assert_eq!(client.one("POST").unwrap().status, 200);
}

/// An origin that hints without end fills nobody's memory, and its answer still arrives.
#[test]
fn a_flood_is_cut() {
    let origin = Origin::raw(|_, stream| {
        let hint = format!("HTTP/1.1 103 Early Hints\r\nX-Long: {}\r\n\r\n", "x".repeat(4000));
        for _ in 0..2_000 {
            if stream.write_all(hint.as_bytes()).is_err() {
                return After::Close;
            }
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        After::Keep
    });
    let server = Server::before(&origin.url, &[]);
    let mut client = server.connect();
    client.send("GET /flood HTTP/1.1\r\nHost: test\r\n\r\n");
    let mut hints = 0;
    loop {
        let answer = client.one("GET").unwrap();
        if answer.status != 103 {
            assert_eq!(answer.text(), "ok");
            break;
        }
        hints += 1;
    }
    assert!((1..=16).contains(&hints), "{hints} hints of 4 kB; 64 KiB are let through");
}
