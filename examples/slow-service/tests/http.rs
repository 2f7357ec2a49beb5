//! The service over real sockets: what it answers, what it refuses when full, and keys that change while it is busy.
//!
//! Speaks raw bytes; shares no code with the service. Not here: Samovar before it (tests/walks).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The running service; stopped when dropped.
struct App {
    child: Child,
    address: String,
}

impl App {
    fn start(flags: &[&str]) -> App {
        let mut child = Command::new(env!("CARGO_BIN_EXE_slow-service"))
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
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

    /// Status and all bytes of an answer on a connection of its own.
    fn get(&self, path: &str, field: &str) -> (u16, String) {
        let mut stream = self.connect();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{field}\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        (text[9..12].parse().unwrap(), text)
    }

    fn counter(&self, name: &str) -> u64 {
        let (_, page) = self.get("/counters", "");
        let line = page.lines().find_map(|l| l.strip_prefix(&format!("slow_service_{name} ")));
        line.unwrap_or_else(|| panic!("no {name} in\n{page}")).parse().unwrap()
    }

    fn until(&self, name: &str, wanted: u64) {
        let end = Instant::now() + Duration::from_secs(10);
        while self.counter(name) != wanted {
            assert!(Instant::now() < end, "{name} is {} and not {wanted}", self.counter(name));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_answer_comes_after_its_delay_and_is_xml() {
    let app = App::start(&["--delay-max", "1s"]);
    let began = Instant::now();
    let (status, text) = app.get("/catalogue?delay=300ms&items=40", "");
    assert!(began.elapsed() >= Duration::from_millis(300), "{:?}", began.elapsed());
    assert_eq!((status, text.matches("<CatalogueItem ").count()), (200, 40));
    assert!(text.contains("content-type: application/xml") && !text.contains("cache-control"), "{text:.400}");
    for (path, wanted) in [
        ("/catalogue?delay=2s", 400),
        ("/catalogue?items=x", 400),
        ("/catalogu", 404),
        ("/healthz", 200),
        ("/", 200),
    ] {
        assert_eq!(app.get(path, "").0, wanted, "{path}");
    }
    let mut stream = app.connect();
    stream.write_all(b"POST /catalogue HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head[9..], b"405");
}

#[test]
fn it_bears_what_it_was_told_to_lets_some_wait_and_refuses_the_rest() {
    let app = App::start(&["--concurrent", "3", "--queue", "2"]);
    std::thread::scope(|scope| {
        let slow: Vec<_> =
            (0..5).map(|_| scope.spawn(|| app.get("/catalogue?delay=1500ms&items=1", "").0)).collect();
        app.until("concurrent", 3);
        app.until("queue", 2);
        let began = Instant::now();
        let (status, text) = app.get("/catalogue?delay=1500ms&items=1", "");
        assert_eq!(status, 503);
        assert!(text.contains("retry-after: 1") && began.elapsed() < Duration::from_secs(1), "{text}");
        assert!(slow.into_iter().all(|t| t.join().unwrap() == 200));
    });
    assert_eq!((app.counter("concurrent"), app.counter("queue")), (0, 0));
    assert_eq!(app.counter("requests_total{result=\"refused\"}"), 1);
}

#[test]
fn who_leaves_gives_turn_and_place_back() {
    let app = App::start(&["--concurrent", "1", "--queue", "1"]);
    let ask = "GET /catalogue?delay=60s HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut first = app.connect();
    first.write_all(ask.as_bytes()).unwrap();
    app.until("concurrent", 1);
    let mut second = app.connect();
    second.write_all(ask.as_bytes()).unwrap();
    app.until("queue", 1);
    drop(second);
    app.until("queue", 0);
    drop(first);
    app.until("concurrent", 0);
}

struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn keys_change_under_load_and_no_request_fails_for_it() {
    let file = Temporary(std::env::temp_dir().join(format!("slow-service-keys-{}", std::process::id())));
    std::fs::write(&file.0, "alpha 10 The first\n").unwrap();
    let app = App::start(&["--keys", file.0.to_str().unwrap()]);
    assert_eq!(app.get("/catalogue?delay=0ms", "").0, 401);
    assert_eq!(app.get("/catalogue?delay=0ms", "X-Api-Key: beta\r\n").0, 401);
    assert_eq!(app.get("/catalogue?delay=0ms&items=11", "X-Api-Key: alpha\r\n").0, 403);

    let (stop, failed, asked) = (AtomicBool::new(false), AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let (status, text) = app.get("/catalogue?delay=0ms&items=2", "X-Api-Key: alpha\r\n");
                    asked.fetch_add(1, Ordering::Relaxed);
                    if status != 200 || !text.contains("vary: X-Api-Key") {
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        // Written in place, as the simplest editors do, and first only half of it: the keys of before hold.
        std::fs::write(&file.0, "alpha 10 The first\nbeta 5").unwrap();
        std::thread::sleep(Duration::from_millis(700));
        assert_eq!(
            (app.counter("keys_loads_total"), app.get("/catalogue", "X-Api-Key: beta\r\n").0),
            (1, 401)
        );
        // In place of the old file, as careful ones do.
        let next = file.0.with_extension("next");
        std::fs::write(&next, "alpha 10 The first\nbeta 5 The second\n").unwrap();
        std::fs::rename(&next, &file.0).unwrap();
        app.until("keys_loads_total", 2);
        assert_eq!(app.get("/catalogue?items=5", "X-Api-Key: beta\r\n").0, 200);
        // Gone altogether for a while.
        std::fs::remove_file(&file.0).unwrap();
        std::thread::sleep(Duration::from_millis(700));
        assert_eq!(app.get("/catalogue?items=5", "X-Api-Key: beta\r\n").0, 200);
        std::fs::write(&file.0, "alpha 10 The first\n").unwrap();
        app.until("keys_loads_total", 3);
        assert_eq!(app.get("/catalogue?items=5", "X-Api-Key: beta\r\n").0, 401);
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(failed.into_inner(), 0);
    assert!(asked.into_inner() > 20);
}

#[test]
fn what_stops_it_from_starting_is_told() {
    let app = App::start(&[]);
    let run = |flags: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_slow-service")).args(flags).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(run(&["--listen", &app.address]).contains("--listen"));
    assert!(run(&["--keys", "/nowhere/keys"]).contains("/nowhere/keys"));
    assert!(run(&["--delay-max", "soon"]).contains("250ms"));
}
