//! Every framing an answer can have, and every way it can fail, against the real binary.

#![allow(clippy::unwrap_used, reason = "a test may stop at its first surprise")]

mod common;

use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use common::{After, Server, number, ok, output, run};

const GET: &str = "HTTP/1.1 200 OK\r\n";

fn good(json: &serde_json::Value, requests: f64) {
    assert_eq!(number(json, "/requests"), requests, "{json}");
    assert_eq!(number(json, "/responses"), requests, "{json}");
    assert_eq!(number(json, "/errors/requests"), 0.0, "{json}");
}

#[test]
fn framings() {
    let cases: &[(&str, String, f64)] = &[
        ("GET", ok("hello", ""), 5.0),
        (
            "GET",
            format!("{GET}Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nT: 1\r\n\r\n"),
            6.0,
        ),
        ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n".into(), 0.0),
        ("GET", "HTTP/1.1 204 No Content\r\n\r\n".into(), 0.0),
        ("HEAD", format!("{GET}Content-Length: 5\r\n\r\n"), 0.0),
        ("HEAD", format!("{GET}Transfer-Encoding: chunked\r\n\r\n"), 0.0),
        (
            "GET",
            format!("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n{}", ok("hi", "")),
            2.0,
        ),
        ("GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi".into(), 2.0),
    ];
    for (method, answer, body_bytes) in cases {
        let server = Server::canned(answer.clone());
        let (json, code) = run(&[&server.url("/"), "-n", "20", "-c", "2", "-m", method]);
        good(&json, 20.0);
        assert_eq!((code, server.seen()), (0, 20), "{answer}");
        assert_eq!(number(&json, "/bytes/bodies"), 20.0 * body_bytes, "{answer}");
        assert_eq!(number(&json, "/bytes/read"), 20.0 * answer.len() as f64, "{answer}");
        assert_eq!(number(&json, "/connections/made"), 2.0, "connections are kept: {answer}");
    }
}

#[test]
fn an_answer_that_ends_with_the_connection() {
    for head in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n"] {
        let server = Server::start(move |stream, _| {
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(b"part one, ").unwrap();
            stream.write_all(b"part two").unwrap();
            After::Close
        });
        let (json, _) = run(&[&server.url("/"), "-n", "30", "-c", "3"]);
        good(&json, 30.0);
        assert_eq!(server.seen(), 30);
        assert_eq!(number(&json, "/bytes/bodies"), 30.0 * 18.0);
        assert_eq!(number(&json, "/connections/made"), 30.0);
    }
}

#[test]
fn byte_by_byte() {
    let answer =
        format!("{GET}Transfer-Encoding: chunked\r\nCache-Status: s; hit\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    let server = Server::start(move |stream, _| {
        for byte in answer.bytes() {
            stream.write_all(&[byte]).unwrap();
            thread::yield_now();
        }
        After::Keep
    });
    let (json, _) = run(&[&server.url("/"), "-n", "10", "-c", "2"]);
    good(&json, 10.0);
    assert_eq!(number(&json, "/cache/hits"), 10.0);
    assert_eq!(number(&json, "/bytes/bodies"), 30.0);
}

/// Odd answers are broken, even ones fine: failures must be counted by kind and stay out of the latencies.
fn half_broken(
    broken: impl Fn(&mut std::net::TcpStream) + Send + Sync + 'static,
) -> (serde_json::Value, u64) {
    let server = Server::start(move |stream, seen| {
        if seen.number % 2 == 1 {
            broken(stream);
            return After::Close;
        }
        stream.write_all(ok("fine", "").as_bytes()).unwrap();
        After::Keep
    });
    let (json, code) = run(&[&server.url("/"), "-n", "40", "-c", "1"]);
    assert_eq!(code, 0, "half of the answers are there: {json}");
    (json, server.seen())
}

#[test]
fn failures_by_kind() {
    type Break = fn(&mut std::net::TcpStream);
    let cases: &[(&str, Break)] = &[
        ("short-body", |stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nonly").unwrap()
        }),
        ("short-body", |stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel").unwrap()
        }),
        ("closed", |_| {}),
        ("closed", |stream| stream.write_all(b"HTTP/1.1 200 O").unwrap()),
        ("parse", |stream| stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n\r\n").unwrap()),
        ("parse", |stream| stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n").unwrap()),
        ("parse", |stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n").unwrap()
        }),
        ("excess", |stream| stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nmore").unwrap()),
        ("reset", |stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nonly").unwrap();
            rustix::net::sockopt::set_socket_linger(&*stream, Some(Duration::ZERO)).unwrap();
        }),
    ];
    for (kind, broken) in cases {
        let (json, seen) = half_broken(*broken);
        assert_eq!(seen, 40, "{kind}");
        assert_eq!(number(&json, "/requests"), 40.0);
        assert_eq!(number(&json, "/responses"), 20.0, "{json}");
        assert_eq!(number(&json, &format!("/errors/kinds/{kind}")), 20.0, "{json}");
        assert_eq!(number(&json, "/latency_us/last_byte/count"), 20.0);
        assert_eq!(number(&json, "/latency_us/failed/count"), 20.0);
        assert_eq!(json["verdict"]["grade"], "SUSPECT");
    }
}

#[test]
fn a_server_that_never_answers_times_out() {
    let server = Server::start(|_, _| {
        thread::sleep(Duration::from_secs(2));
        After::Close
    });
    let (json, code) = run(&[&server.url("/"), "-n", "3", "-c", "3", "--timeout", "300ms"]);
    assert_eq!(code, 3, "nothing was answered");
    assert_eq!(number(&json, "/errors/kinds/timeout"), 3.0);
    assert_eq!(json["verdict"]["grade"], "INVALID");
    let waited_us = number(&json, "/latency_us/failed/min");
    assert!((300_000.0..1_900_000.0).contains(&waited_us), "{waited_us}");
}

#[test]
fn a_body_that_stalls_times_out_too() {
    let server = Server::start(|stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").unwrap();
        thread::sleep(Duration::from_secs(2));
        After::Close
    });
    let (json, _) = run(&[&server.url("/"), "-n", "1", "-c", "1", "--timeout", "300ms"]);
    assert_eq!(number(&json, "/errors/kinds/timeout"), 1.0);
}

#[test]
fn nobody_there() {
    let (_held, port) = common::refusing_port();
    for url in [format!("http://127.0.0.1:{port}/"), format!("http://localhost:{port}/")] {
        let output = output(&["run", &url, "-c", "3", "-d", "20s"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(
            stderr.contains("cannot connect")
                && stderr.contains("refused")
                && stderr.contains(&port.to_string()),
            "{stderr}"
        );
        assert!(output.stdout.is_empty());
    }
    let output = output(&["run", "unix:/nonexistent/socket", "-d", "5s"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains("No such file"), "{stderr}");
}

#[test]
fn a_server_that_dies_ends_a_counted_run() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        drop(listener);
        let mut buffer = [0; 1024];
        for _ in 0..5 {
            let _ = std::io::Read::read(&mut stream, &mut buffer).unwrap();
            stream.write_all(ok("x", "").as_bytes()).unwrap();
        }
    });
    let (json, code) = run(&[&format!("http://{address}/"), "-n", "100", "-c", "1", "--timeout", "500ms"]);
    server.join().unwrap();
    assert_eq!(code, 3, "{json}");
    assert_eq!(number(&json, "/responses"), 5.0);
    assert!(number(&json, "/errors/kinds/refused") >= 1.0);
    assert!(json["verdict"]["findings"].to_string().contains("count-missed"), "{json}");
}
