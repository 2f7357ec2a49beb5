//! Many clients at once: what an idle one costs, bursts, no file descriptors left, attackers beside normal clients.
//!
//! A program of its own, one test after the other: each wants the machine for itself. Not here: what one slow client gets,
//! and how places are counted (`wire/t72_slow_clients`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

use samovar_tests::client::Client;
use samovar_tests::origin::{Origin, own};
use samovar_tests::server::{Server, soon};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Held by the test that runs.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Addresses of this machine to connect to: to one of them there are ports for only some 28,000 connections, and those of
/// connections that are over rest for a minute.
const ADDRESSES: usize = 8;

fn before(origin: &Origin, limits: &str, workers: &str) -> Server {
    // A body goes to the origin as it comes. Those that come slowly hold half of the 256 connections there; the others wait.
    let text = format!(
        "config = 1\n[limits]\n{limits}\n[[upstream]]\nname = \"o\"\nmembers = [{{ url = \"{}\" }}]\n\
         queue_timeout = \"60s\"\n[[site]]\nname = \"a\"\ndefault = true\nupstream = \"o\"\n",
        origin.url
    );
    let folder = samovar_tests::server::Folder::new();
    let path = folder.write("samovar.toml", text);
    Server::start_with(
        &["--config", path.to_str().unwrap(), "--workers", workers, "--access-log", "off"],
        &["--listen", "0.0.0.0:0"],
    )
}

/// The `n`th of the server's addresses.
fn address(server: &Server, n: usize) -> String {
    let port = server.address.rsplit(':').next().unwrap();
    format!("127.0.0.{}:{port}", n % ADDRESSES + 1)
}

fn connect(server: &Server, n: usize) -> TcpStream {
    let stream = TcpStream::connect(address(server, n)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Reads one answer with a Content-Length: its head and body.
fn answer(stream: &mut TcpStream) -> Result<String, String> {
    let mut all = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&all);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|l| l.strip_prefix("content-length: "));
            if length.is_some_and(|l| l.parse() == Ok(body.len())) {
                return Ok(text.into_owned());
            }
        }
        match stream.read(&mut piece) {
            Ok(0) => return Err(format!("closed after {text:?}")),
            Ok(n) => all.extend_from_slice(&piece[..n]),
            Err(error) => return Err(format!("{error} after {text:?}")),
        }
    }
}

fn resident_bytes(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// What a connection costs that waits for its next request, after one by the hot tier and one by the engine.
#[test]
fn ten_thousand_idle_connections_cost_less_than_a_hundred_megabytes() {
    let _turn = turn();
    const CONNECTIONS: usize = 10_000;
    let origin = Origin::new(|_| (200, own(&[("Cache-Control", "max-age=600")]), vec![b'x'; 3_000]));
    for (fields, what) in [("", "hot"), ("Range: bytes=0-9\r\nIf-Range: \"x\"\r\n", "by the engine")] {
        let server = before(&origin, "connections_max = 12000\nidle_timeout = \"10m\"", "2");
        let request = format!("GET / HTTP/1.1\r\nHost: test\r\n{fields}\r\n");
        let ask = |n: usize| {
            let mut stream = connect(&server, n);
            stream.write_all(request.as_bytes()).unwrap();
            answer(&mut stream).unwrap();
            stream
        };
        // What all share is there before it is counted.
        (0..50).for_each(|n| drop(ask(n)));
        let at_first = resident_bytes(&server);
        let all: Vec<TcpStream> = (0..CONNECTIONS).map(ask).collect();
        // What was needed for the engine is let go of after a second.
        let grown = soon("less than 100 MB", || {
            (0..20).for_each(|n| drop(ask(n)));
            let grown = resident_bytes(&server).saturating_sub(at_first);
            (grown < 100 << 20).then_some(grown)
        });
        println!("{CONNECTIONS} idle connections, {what}: {} bytes each", grown / CONNECTIONS as u64);
        // They are there, and whole.
        for mut stream in all.into_iter().step_by(500) {
            stream.write_all(request.as_bytes()).unwrap();
            assert!(answer(&mut stream).unwrap().starts_with("HTTP/1.1 200"));
        }
    }
}

/// So many connections as fast as they can be made, by many threads that each hold some open at once: each has its answer.
fn burst(connections: usize) {
    const AT_ONCE: usize = 100;
    const THREADS: usize = 32;
    let origin = Origin::new(|_| (200, own(&[("Cache-Control", "max-age=600")]), b"here".to_vec()));
    let server = before(&origin, "connections_max = 4000", "2");
    server.get("/", &[]);
    let begun = Instant::now();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let first = next.fetch_add(AT_ONCE, Ordering::Relaxed)
                    && first < connections
                {
                    let mut all: Vec<TcpStream> =
                        (first..first + AT_ONCE).map(|n| connect(&server, n)).collect();
                    for stream in &mut all {
                        stream.write_all(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
                    }
                    for stream in &mut all {
                        let answer = answer(stream).unwrap();
                        assert!(
                            answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\nhere"),
                            "{answer}"
                        );
                    }
                }
            });
        }
    });
    println!("{connections} connections in {} ms", begun.elapsed().as_millis());
}

#[test]
fn a_burst_loses_no_connection() {
    let _turn = turn();
    burst(5_000);
}

#[test]
#[ignore = "slow: 50,000 connections; `make test-all` runs it"]
fn a_large_burst_loses_no_connection() {
    let _turn = turn();
    burst(50_000);
}

/// Out of file descriptors, the server serves those it has, says so once, and takes the others when there is room.
#[test]
fn running_out_of_file_descriptors_is_survived() {
    let _turn = turn();
    let origin = Origin::new(|_| (200, own(&[("Cache-Control", "max-age=600")]), b"here".to_vec()));
    let server = before(&origin, "idle_timeout = \"10m\"", "1");
    server.get("/", &[]);
    let open = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    let most = open + 20;
    let limit = format!("--nofile={most}:{most}");
    let set = Command::new("prlimit").args(["--pid", &server.pid().to_string(), &limit]).status().unwrap();
    assert!(set.success(), "prlimit is of util-linux");
    let get = b"GET / HTTP/1.1\r\nHost: test\r\n\r\n";
    // More than there is room for: the rest waits in the system's queue.
    let mut all: Vec<TcpStream> = (0..40).map(|n| connect(&server, n)).collect();
    all.iter_mut().for_each(|stream| stream.write_all(get).unwrap());
    for stream in &mut all[..10] {
        answer(stream).unwrap();
    }
    soon("the complaint", || server.said().contains("accept: ").then_some(()));
    for round in 0..50 {
        all[0].write_all(get).unwrap();
        let answer = answer(&mut all[0]).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "round {round}: {answer}");
        // Long enough for it to have tried again, often.
        std::thread::sleep(Duration::from_millis(10));
    }
    let complaints = server.said().lines().filter(|line| line.contains("accept: ")).count();
    assert_eq!(complaints, 1, "{}", server.said());
    let waiting = all.split_off(20);
    drop(all);
    for mut stream in waiting {
        assert!(answer(&mut stream).unwrap().starts_with("HTTP/1.1 200"), "there is room again");
    }
}

/// What an attacker begins with on a connection, and what it sends of it bit by bit; of the last kind it reads nothing.
const ATTACKS: [(&str, &str); 3] = [
    ("GET / HTTP/1.1\r\nHost: test\r\n", "X: y\r\n"),
    ("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\n", "x"),
    ("GET /large HTTP/1.1\r\nHost: test\r\n\r\n", ""),
];

/// Attacks with so many connections of each kind.
fn attack(server: &Server, of_each: usize, stop: &AtomicBool, there: &AtomicUsize) {
    let _stop = StopAtEnd(stop);
    let mut all = Vec::new();
    for n in 0..ATTACKS.len() * of_each {
        let mut stream = connect(server, n);
        stream.write_all(ATTACKS[n % ATTACKS.len()].0.as_bytes()).unwrap();
        all.push(stream);
        there.fetch_add(1, Ordering::Relaxed);
    }
    while !stop.load(Ordering::Relaxed) {
        for (n, stream) in all.iter_mut().enumerate() {
            stream.write_all(ATTACKS[n % ATTACKS.len()].1.as_bytes()).expect("the attack is held");
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Within what time nine of ten came, and the slowest.
fn figures(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    (times[times.len() * 9 / 10], times[times.len() - 1])
}

#[test]
fn slow_attackers_are_not_felt() {
    let _turn = turn();
    const OF_EACH: usize = 500;
    let origin = Origin::new(|asked| {
        let body = match asked.target() {
            "/large" => vec![b'x'; 8 << 20],
            other => other.as_bytes().to_vec(),
        };
        let lifetime = if asked.target().starts_with("/miss") { "no-store" } else { "max-age=600" };
        (200, own(&[("Cache-Control", lifetime)]), body)
    });
    let server =
        before(&origin, "head_timeout = \"10m\"\nbody_timeout = \"10m\"\nsend_timeout = \"10m\"", "2");
    let mut client = Client::connect(&address(&server, 0));
    let alone = (0..200).map(|n| {
        let path = if n % 2 == 0 { "/hit" } else { "/miss" };
        let begun = Instant::now();
        assert_eq!(client.get(path, &[]).text(), path);
        begun.elapsed()
    });
    let alone: Vec<Duration> = alone.collect();
    let stop = AtomicBool::new(false);
    let there = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        // However this ends, the attackers do too.
        let _stop = StopAtEnd(&stop);
        scope.spawn(|| attack(&server, OF_EACH, &stop, &there));
        let mut beside = Vec::new();
        let mut client = Client::connect(&address(&server, 0));
        let (mut asked, mut beside_all) = (0, 0);
        // Long enough after the last attacker came; the system is busy for a while with filling what the readers leave.
        let mut until = None;
        while until.is_none_or(|until| Instant::now() < until) || beside_all < 100 {
            assert!(!stop.load(Ordering::Relaxed), "the attackers have failed");
            if there.load(Ordering::Relaxed) == 3 * OF_EACH {
                until = until.or_else(|| Some(Instant::now() + Duration::from_secs(3)));
                beside_all += 2;
            }
            for path in ["/hit", "/miss"] {
                let begun = Instant::now();
                let answer = client.get(path, &[]);
                beside.push(begun.elapsed());
                assert_eq!((answer.status, answer.text().as_str()), (200, path));
                asked += 1;
            }
            if asked % 50 == 0 {
                client = Client::connect(&address(&server, asked));
            }
        }
        let ((alone, _), (beside, slowest)) = (figures(alone), figures(beside));
        println!(
            "{asked} answers beside {} attackers: nine of ten within {beside:?}, alone {alone:?}; the slowest after {slowest:?}",
            3 * OF_EACH
        );
        // Far from what one sees, so that a machine that is busy otherwise is no failure.
        assert!(beside < 10 * alone + Duration::from_millis(20), "{beside:?} instead of {alone:?}");
        assert!(slowest < Duration::from_secs(5), "an answer took {slowest:?}");
    });
}
