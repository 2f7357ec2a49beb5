//! A server of raw sockets for the end-to-end tests, and the real binary run against it.
//!
//! It shares no code with what it judges: requests are counted by their empty lines, answers are bytes.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "each test file uses its part, and a test may stop at its first surprise"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// One request as it came in.
pub struct Seen {
    /// Its number over all connections, from 0.
    pub number: u64,
    /// Head and body.
    pub bytes: Vec<u8>,
}

impl Seen {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub fn path(&self) -> String {
        self.text().split(' ').nth(1).unwrap_or_default().to_owned()
    }
}

/// What to do after an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum After {
    Keep,
    Close,
}

pub struct Server {
    pub address: SocketAddr,
    pub requests: Arc<AtomicU64>,
    pub connections: Arc<AtomicU64>,
    /// Paths asked for, in order of arrival.
    pub paths: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl Server {
    /// A thread for each connection; `answer` writes what it likes.
    pub fn start(answer: impl Fn(&mut TcpStream, &Seen) -> After + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, connections) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (paths, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let answer = Arc::new(answer);
        let acceptor = {
            let (requests, connections, paths, stop) =
                (requests.clone(), connections.clone(), paths.clone(), stop.clone());
            thread::spawn(move || {
                for stream in listener.incoming() {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    connections.fetch_add(1, Ordering::SeqCst);
                    let (requests, paths, answer) = (requests.clone(), paths.clone(), answer.clone());
                    thread::spawn(move || serve(stream.unwrap(), &requests, &paths, &*answer));
                }
            })
        };
        Server { address, requests, connections, paths, stop, acceptor: Some(acceptor) }
    }

    /// Answers everything with the same bytes.
    pub fn canned(answer: impl Into<Vec<u8>>) -> Server {
        let answer = answer.into();
        Server::start(move |stream, _| {
            stream.write_all(&answer).unwrap();
            After::Keep
        })
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn seen(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.join().unwrap();
        }
    }
}

fn serve(
    mut stream: TcpStream,
    requests: &AtomicU64,
    paths: &Mutex<Vec<String>>,
    answer: &(impl Fn(&mut TcpStream, &Seen) -> After + ?Sized),
) {
    stream.set_nodelay(true).unwrap();
    let mut buffer = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        while let Some(end) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|l| l.strip_prefix("content-length: ")?.parse().ok())
                .unwrap_or(0_usize);
            let whole = end + 4 + length;
            while buffer.len() < whole {
                match stream.read(&mut piece) {
                    Ok(0) | Err(_) => return,
                    Ok(n) => buffer.extend_from_slice(&piece[..n]),
                }
            }
            let bytes: Vec<u8> = buffer.drain(..whole).collect();
            let seen = Seen { number: requests.fetch_add(1, Ordering::SeqCst), bytes };
            paths.lock().unwrap().push(seen.path());
            if answer(&mut stream, &seen) == After::Close {
                return;
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(n) => buffer.extend_from_slice(&piece[..n]),
        }
    }
}

/// An answer with a length.
pub fn ok(body: &str, fields: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{fields}\r\n{body}", body.len())
}

/// A port that refuses, for as long as the socket is held: bound, so that nobody else gets it, and not listening.
pub fn refusing_port() -> (rustix::fd::OwnedFd, u16) {
    use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
    let held = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&held, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = SocketAddr::try_from(getsockname(&held).unwrap()).unwrap();
    (held, address.port())
}

/// The real binary.
pub fn thirst(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thirst"));
    command.args(args).stdin(Stdio::null());
    command
}

/// Runs to the end; a run that hangs is ended after a minute, with exit code 124.
pub fn output(args: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["60", env!("CARGO_BIN_EXE_thirst")]).args(args).stdin(Stdio::null());
    command.output().unwrap()
}

/// `thirst run … --json -`; the report and the exit code.
pub fn run(args: &[&str]) -> (serde_json::Value, i32) {
    let mut all = vec!["run"];
    all.extend(args);
    all.extend(["--json", "-", "--quiet"]);
    let output = output(&all);
    let text = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?} {stderr}"));
    (json, output.status.code().unwrap())
}

/// A number of the report, by its path.
pub fn number(json: &serde_json::Value, pointer: &str) -> f64 {
    json.pointer(pointer)
        .and_then(serde_json::Value::as_f64)
        .unwrap_or_else(|| panic!("no {pointer} in {json}"))
}

/// A directory of its own, removed at the end.
pub struct Scratch(pub std::path::PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        // Numbered: two tests that chose the same name must not take each other's files away.
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("thirst-{name}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    pub fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
