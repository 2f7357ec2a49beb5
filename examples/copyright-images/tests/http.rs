//! The application over a real socket: what it answers, and that bad requests do it no harm.
//!
//! Speaks raw bytes and reads the JPEG's own headers; shares no code with the application. Not here: how pictures
//! look (unit tests of `picture`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test may stop at its first surprise"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The running application; stopped when dropped.
struct App {
    child: Child,
    address: String,
}

impl App {
    fn start() -> App {
        let mut child = Command::new(env!("CARGO_BIN_EXE_copyright-images"))
            .args(["--listen", "127.0.0.1:0", "--pictures", "2", "--threads", "2"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line =
            lines.map_while(Result::ok).find(|l| l.starts_with("listening")).expect("it never listened");
        let address = line.rsplit("http://").next().unwrap().to_string();
        App { child, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// One request on its own connection, everything the server sends until it closes.
    fn exchange(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Answer::split(&bytes)
    }

    fn get(&self, path: &str, field: &str) -> Answer {
        self.exchange(
            format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{field}\r\n").as_bytes(),
        )
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Answer {
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn split(bytes: &[u8]) -> Answer {
        let end = bytes.windows(4).position(|w| w == b"\r\n\r\n").map_or(bytes.len(), |p| p + 4);
        Answer { head: String::from_utf8_lossy(&bytes[..end]).into_owned(), body: bytes[end..].to_vec() }
    }

    fn status(&self) -> &str {
        self.head.get(9..12).unwrap_or("")
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|l| l.split_once(": "))
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v)
    }

    /// Width and height as the JPEG's frame header states them (ITU T.81, B.2.2).
    fn jpeg_size(&self) -> (u16, u16) {
        let sof = self.body.windows(2).position(|w| w == [0xFF, 0xC0]).expect("no frame header");
        let number = |at: usize| u16::from_be_bytes([self.body[sof + at], self.body[sof + at + 1]]);
        (number(7), number(5))
    }
}

#[test]
fn pages_and_pictures() {
    let app = App::start();

    let english = app.get("/pictures/mountains-1.jpg", "");
    assert_eq!(english.status(), "200");
    assert_eq!(english.field("content-type"), Some("image/jpeg"));
    assert_eq!(english.field("cache-control"), None);
    assert_eq!(english.field("last-modified"), english.field("date"));
    assert_eq!(english.field("content-length"), Some(english.body.len().to_string().as_str()));
    assert_eq!(english.jpeg_size(), (1280, 853));
    assert_eq!(english.body[english.body.len() - 2..], [0xFF, 0xD9], "the JPEG ends where it should");

    let german = app.get("/pictures/mountains-1.jpg", "Accept-Language: de-DE,de;q=0.9\r\n");
    let spanish = app.get("/pictures/mountains-1.jpg?size=1", "Accept-Language: es\r\n");
    let french = app.get("/pictures/mountains-1.jpg", "Accept-Language: fr\r\n");
    assert_eq!(
        (german.field("content-language"), spanish.field("content-language")),
        (Some("de"), Some("es"))
    );
    assert_ne!(german.body, english.body);
    assert_ne!(german.body, spanish.body);
    assert_eq!(french.body, english.body);

    let index = app.get("/pictures/", "");
    let page = String::from_utf8(index.body).unwrap();
    assert!(page.contains("mountains-1.jpg") && page.contains("sea-1.jpg"), "{page}");

    let account = app.get("/account", "");
    assert_eq!(account.field("cache-control"), Some("private"));
    assert!(account.field("set-cookie").is_some());

    assert_eq!(app.get("/healthz", "").body, b"ok\n");
    assert_eq!(app.get("/", "").field("location"), Some("/pictures/"));
    for unknown in ["/pictures/atlantis-1.jpg", "/nothing", "/pictures/../healthz", "/pictures/.jpg"] {
        assert_eq!(app.get(unknown, "").status(), "404", "{unknown}");
    }
}

#[test]
fn head_says_what_get_would_and_sends_no_body() {
    let app = App::start();
    let get = app.get("/pictures/sea-1.jpg", "");
    let head = app.exchange(b"HEAD /pictures/sea-1.jpg HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_eq!((head.status(), head.body.len()), ("200", 0));
    assert_eq!(head.field("content-length"), get.field("content-length"));
    let post = app
        .exchange(b"POST /account HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!((post.status(), post.field("allow")), ("405", Some("GET, HEAD")));
}

#[test]
fn a_connection_carries_many_requests_also_pipelined_ones() {
    let app = App::start();
    let mut stream = app.connect();
    let once = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    let body = "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
    let last = "GET /healthz HTTP/1.0\r\n\r\n";
    stream.write_all(format!("{once}{body}{once}{last}").as_bytes()).unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert_eq!(all.matches("HTTP/1.1 200 OK").count(), 4, "{all}");
}

#[test]
fn bad_requests_get_an_answer_and_do_no_harm() {
    let app = App::start();
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(40_000));
    let table: [(&[u8], &str); 6] = [
        (b"nonsense\r\n\r\n", "400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00\x00\x00\x00", "400"),
        (b"GET / HTTP/1.1\r\nContent-Length: 1, 2\r\n\r\n", "400"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "411"),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", "413"),
        (long.as_bytes(), "431"),
    ];
    for (bytes, wanted) in table {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(50)]);
        assert_eq!(app.exchange(bytes).status(), wanted, "{shown}");
    }
    // Clients that leave in the middle of a head, of a body, of an answer.
    for bytes in [
        &b"GET /pict"[..],
        b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc",
        b"GET /pictures/sea-1.jpg HTTP/1.1\r\n\r\n",
    ] {
        app.connect().write_all(bytes).unwrap();
    }
    assert_eq!(app.get("/healthz", "").status(), "200");
    assert_eq!(app.get("/pictures/sea-1.jpg", "").jpeg_size(), (1280, 853));
}

#[test]
fn a_taken_port_is_told_with_what_to_do() {
    let app = App::start();
    let output = Command::new(env!("CARGO_BIN_EXE_copyright-images"))
        .args(["--listen", &app.address])
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(words.contains(&app.address) && words.contains("--listen"), "{words}");
}
