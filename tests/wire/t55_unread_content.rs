//! Content that an origin leaves unread: it takes it for its next request, so no other client's request may follow it on
//! that connection, and what such a request got is nobody else's.

use samovar_tests::origin::{Origin, own};
use samovar_tests::raw::{Upstream, read_exactly, read_head};
use samovar_tests::real::Real;
use samovar_tests::server::{Folder, Server, soon};
use std::io::Write;
use std::sync::{Mutex, mpsc};

/// Half a request: the fields of whoever comes next on the connection complete it.
const HALF: &str = "GET /evil.txt HTTP/1.1\r\nX: ";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("a.txt", "what was asked for");
    folder.write("evil.txt", "what the attacker chose");
    folder
}

/// What the last record says: facts and their codes.
fn last_facts(server: &Server) -> Vec<(String, String)> {
    let traces = server.json(&["trace", "--last", "1"]);
    let facts = traces[0]["facts"].as_array().unwrap_or_else(|| panic!("{traces}"));
    let text = |fact: &serde_json::Value, name: &str| fact[name].as_str().unwrap_or_default().to_owned();
    facts.iter().map(|fact| (text(fact, "fact"), text(fact, "code"))).collect()
}

#[test]
fn the_next_client_gets_what_it_asked_for_whatever_was_left_unread() {
    let folder = folder();
    let real = Real::http_server(&folder.0);
    let server = Server::before(&real.url(), &[]);
    for method in ["GET", "HEAD", "DELETE", "OPTIONS", "POST", "PUT", "PATCH", "PROPFIND"] {
        for chunked in [false, true] {
            for round in 0..20 {
                let target = format!("/evil.txt?{method}{chunked}{round}");
                let mut attacker = server.connect();
                if chunked {
                    let size = format!("{:x}", HALF.len());
                    attacker.send(format!(
                        "{method} {target} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\
                         {size}\r\n{HALF}\r\n0\r\n\r\n"
                    ));
                    attacker.answer(method);
                } else {
                    attacker.request(method, &target, &[], HALF.as_bytes());
                }
                let target = format!("/a.txt?{method}{chunked}{round}");
                let victim = server.get(&target, &[("Cookie", "session=secret")]);
                assert_eq!((victim.status, &*victim.text()), (200, "what was asked for"), "{target}");
            }
        }
    }
}

/// Responses to requests with content, in the words of the last record: why nothing was stored, why the connection ended.
#[test]
fn what_becomes_of_a_request_with_content_can_be_read_back() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60")]);
    let server = Server::before(&origin.url, &[]);
    let first = server.connect().request("GET", "/a", &[], b"content");
    assert_eq!((first.status, &*first.reason()), (200, "request-body"));
    assert_eq!(server.get("/a", &[]).text(), "answer 1", "nothing was stored");
    assert_eq!(server.get("/a", &[]).text(), "answer 1", "without content it is");
    let third = server.connect().request("GET", "/a", &[], b"content");
    assert_eq!(third.text(), "answer 2", "what is stored is not for a request with content");
    assert_eq!(server.get("/a", &[]).text(), "answer 1", "nor is it replaced");
    let record = server.connect().request("HEAD", "/b", &[], b"content");
    assert_eq!(record.reason(), "request-body");
    let facts = last_facts(&server);
    for (fact, code) in
        [("lookup", "request-body"), ("last-use", "content-undefined"), ("store", "request-body")]
    {
        assert!(facts.contains(&(fact.to_owned(), code.to_owned())), "{fact}: {facts:?}");
    }
}

/// A HEAD with content neither renews nor doubts what is stored.
#[test]
fn a_head_with_content_teaches_nothing() {
    let origin = Origin::new(|asked| {
        let tag = if asked.line.starts_with("HEAD") { "\"new\"" } else { "\"old\"" };
        let fields = [("Cache-Control", "max-age=0"), ("ETag", tag)];
        (200, own(&fields), b"body".to_vec())
    });
    let server = Server::before(&origin.url, &[]);
    for (target, body, code) in [("/with", &b"content"[..], "request-body"), ("/without", b"", "doubted")] {
        server.get(target, &[]);
        server.connect().request("HEAD", target, &[], body);
        let facts = last_facts(&server);
        assert!(facts.contains(&("store".to_owned(), code.to_owned())), "{target}: {facts:?}");
    }
}

/// Connections that an origin which reads everything has seen, for each kind of request.
#[test]
fn a_connection_goes_on_only_where_the_origin_had_a_reason_to_read() {
    for (setting, method, status, goes_on) in [
        ("auto", "POST", 200, true),
        ("auto", "PUT", 204, true),
        ("auto", "PATCH", 303, true),
        ("auto", "PROPFIND", 207, true),
        ("auto", "POST", 302, false),
        ("auto", "POST", 404, false),
        ("auto", "PUT", 500, false),
        ("auto", "GET", 200, false),
        ("auto", "DELETE", 204, false),
        ("auto", "MYOWN", 200, false),
        ("never", "POST", 200, false),
        ("never", "PATCH", 303, false),
    ] {
        let upstream = Upstream::new(move |first, mut stream| {
            let mut head = first;
            while !head.is_empty() {
                let bytes = head.lines().find_map(|l| l.strip_prefix("content-length: ")?.parse().ok());
                read_exactly(&mut stream, bytes.unwrap_or(0));
                let length = if status == 204 { "" } else { "Content-Length: 0\r\n" };
                let _ = stream.write_all(format!("HTTP/1.1 {status} X\r\n{length}\r\n").as_bytes());
                head = read_head(&mut stream);
            }
        });
        let text = format!(
            "config = 1\n[[site]]\nname = \"a\"\ndefault = true\nupstream = \"u\"\n[[upstream]]\nname = \"u\"\n\
             members = [{{ url = \"{}\" }}]\nreuse_after_body = \"{setting}\"\n",
            upstream.url
        );
        let (server, _file) = Server::configured(&text, &["--workers", "1"]);
        // Without content the connection stays, whatever the setting and the status.
        for _ in 0..2 {
            server.connect().request(method, "/", &[], b"");
        }
        assert_eq!(upstream.begun(), 1, "{method} {status} without content");
        for round in 1..=3 {
            server.connect().request(method, "/", &[], b"content");
            let before = if goes_on { 1 } else { round };
            assert_eq!(upstream.begun(), before, "{setting}: {method} {status}, round {round}");
        }
        let listed = server.tell(&["upstream", "list"]);
        assert_eq!(listed.contains("no connection used again after a body"), setting == "never", "{listed}");
    }
}

/// An origin that responds before it has all of the content may leave the rest for its next request.
#[test]
fn a_response_before_the_end_of_the_content_is_the_connections_last() {
    let origin = Upstream::new(|first, mut stream| {
        let mut head = first;
        while !head.is_empty() {
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n").unwrap();
            if head.starts_with("POST") {
                read_exactly(&mut stream, 10);
            }
            stream.write_all(b"0\r\n\r\n").unwrap();
            head = read_head(&mut stream);
        }
    });
    let server = Server::before(&origin.url, &["--workers", "1"]);
    server.get("/first?1", &[]);
    let mut client = server.connect();
    client.send("POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf ");
    let begun = client.until(|came| came.ends_with(b"ok\r\n"));
    client.send("there");
    client.until(|came| came.ends_with(b"0\r\n\r\n"));
    assert!(begun.starts_with(b"HTTP/1.1 200"));
    assert_eq!(server.get("/next?1", &[]).text(), "ok");
    assert_eq!(origin.begun(), 2, "the next request has a connection of its own");
}

/// A request with content shares no fetch: it neither waits for one nor lets others wait for its own.
#[test]
fn a_request_with_content_neither_joins_a_fetch_nor_begins_one() {
    for held_back in ["", "content"] {
        let (go, gone) = mpsc::channel();
        let gone = Mutex::new(gone);
        let origin = Origin::new(move |asked| {
            if asked.body == held_back.as_bytes() {
                gone.lock().unwrap().recv().unwrap();
            }
            let body = if asked.body.is_empty() { "plain" } else { "with content" };
            (200, own(&[("Cache-Control", "max-age=60")]), body.into())
        });
        let server = Server::before(&origin.url, &[]);
        let mut first = server.connect();
        let length = held_back.len();
        first.send(format!("GET /x HTTP/1.1\r\nHost: test\r\nContent-Length: {length}\r\n\r\n{held_back}"));
        soon("the first request", || {
            let busy = server.json(&["upstream", "list"])[0]["members"][0]["busy"].as_u64();
            (busy == Some(1)).then_some(())
        });
        // It would wait for the first if they shared a fetch.
        let (other, expected) =
            if held_back.is_empty() { ("content", "with content") } else { ("", "plain") };
        let second = server.connect().request("GET", "/x", &[], other.as_bytes());
        assert_eq!(second.text(), expected);
        go.send(()).unwrap();
        assert_eq!(first.answer("GET").text(), if held_back.is_empty() { "plain" } else { "with content" });
        assert_eq!(server.get("/x", &[]).text(), "plain");
    }
}

/// An application that sends the content of a response to HEAD after all, when the head has long been passed on.
#[test]
fn content_that_comes_to_a_head_after_all_begins_nobodys_response() {
    let origin = Upstream::new(|first, mut stream| {
        let mut head = first;
        while !head.is_empty() {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 42\r\n\r\n").unwrap();
            if head.starts_with("HEAD") {
                head = read_head(&mut stream);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
                continue;
            }
            stream.write_all(&[b'x'; 42]).unwrap();
            head = read_head(&mut stream);
        }
    });
    let server = Server::before(&origin.url, &["--workers", "1"]);
    for round in 0..3 {
        assert_eq!(server.connect().request("HEAD", &format!("/head?{round}"), &[], b"").status, 200);
        let facts = last_facts(&server);
        assert!(facts.contains(&("last-use".to_owned(), "content-withheld".to_owned())), "{facts:?}");
        assert_eq!(server.get(&format!("/get?{round}"), &[]).text(), "x".repeat(42));
    }
}
