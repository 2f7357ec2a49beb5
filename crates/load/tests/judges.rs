//! The instrument judged by parties it shares no code with: the kernel's own count of what went over its connections, curl's
//! and wrk's figures for the same server, and a server in Python of exactly known answers and delays.
//!
//! Not here: what the instrument says of itself (`selftest.rs`), and what its reports are read by (`reports.rs`).

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test may stop at its first surprise"
)]

mod common;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use common::{number, run};
use serde_json::Value;

/// A thread for each connection. `/wait?a=5&b=3&n=700` answers after 5 ms and ends its 700 bytes 3 ms later. When its stdin
/// ends, it says what it counted, and what the kernel did for each connection: TCP_INFO's bytes and segments with data.
const SERVER: &str = r#"
import json, socket, struct, sys, threading, time
from urllib.parse import parse_qs, urlparse
listener = socket.create_server(("127.0.0.1", 0), backlog=128)
lock, total, threads = threading.Lock(), {"requests": 0, "kernel_requests": 0, "kernel_read": 0, "kernel_written": 0, "connections": 0}, []
def serve(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    count, held = 0, b""
    while True:
        data = connection.recv(65536)
        if not data: break
        held += data
        while b"\r\n\r\n" in held:
            head, held = held.split(b"\r\n\r\n", 1)
            count += 1
            asked = {k: int(v[0]) for k, v in parse_qs(urlparse(head.split(b" ")[1].decode()).query).items()}
            body = b"x" * asked.get("n", 100)
            if asked.get("a"): time.sleep(asked["a"] / 1000)
            answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
            if asked.get("b"):
                connection.sendall(answer + body[:1])
                time.sleep(asked["b"] / 1000)
                connection.sendall(body[1:])
            else:
                connection.sendall(answer + body)
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
    acked, received = struct.unpack_from("=QQ", info, 120)
    with_data, = struct.unpack_from("=I", info, 152)
    with lock:
        total["requests"] += count
        total["kernel_requests"] += with_data
        total["kernel_read"] += received
        total["kernel_written"] += acked
        total["connections"] += 1
    connection.close()
def accept():
    while True:
        connection, _ = listener.accept()
        thread = threading.Thread(target=serve, args=(connection,), daemon=True)
        threads.append(thread)
        thread.start()
threading.Thread(target=accept, daemon=True).start()
print(listener.getsockname()[1], flush=True)
sys.stdin.read()
for thread in threads: thread.join(10)
print(json.dumps(total), flush=True)
"#;

struct Judge {
    child: Child,
    stdin: Option<ChildStdin>,
    out: BufReader<ChildStdout>,
    port: u16,
}

impl Judge {
    fn start() -> Judge {
        let mut child = Command::new("python3")
            .args(["-c", SERVER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap_or_else(|_| panic!("no port: {line:?}"));
        Judge { child, stdin, out, port }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// What it counted, and what the kernel did.
    fn end(mut self) -> Value {
        drop(self.stdin.take());
        let mut text = String::new();
        self.out.read_to_string(&mut text).unwrap();
        self.child.wait().unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

#[test]
fn the_kernel_counts_the_same_requests_and_bytes() {
    // Small requests, answered before the next is sent: the kernel gets each in a segment of its own.
    for flags in [&["-n", "500"][..], &["-R", "400", "-d", "1s"], &["-n", "60", "--no-keepalive"]] {
        let judge = Judge::start();
        let mut args = vec![judge.url("/wait?a=1&n=700"), judge.url("/wait?n=4000")];
        args.extend(["-c", "5", "-t", "1", "--no-counters"].map(str::to_owned));
        args.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let (json, code) = run(&args.iter().map(String::as_str).collect::<Vec<_>>());
        let counted = judge.end();
        assert_eq!(code, 0, "{json}");
        let all = number(&json, "/all_requests");
        assert!(all >= 60.0 && number(&json, "/responses") == all, "{json}");
        assert_eq!(
            (number(&counted, "/requests"), number(&counted, "/kernel_requests")),
            (all, all),
            "{flags:?}"
        );
        // The end of a connection counts as a byte received.
        let connections = number(&counted, "/connections");
        let received = number(&counted, "/kernel_read") - connections;
        assert_eq!(received, number(&json, "/bytes/written"), "{flags:?}");
        assert_eq!(number(&counted, "/kernel_written"), number(&json, "/bytes/read"), "{flags:?}");
        assert_eq!(number(&json, "/connections/made"), connections, "{flags:?}");
    }
}

/// Seconds to the first and the last byte, and the bytes of head and body, as curl has them.
fn curl(url: &str, times: usize) -> Vec<[f64; 4]> {
    let form = "%{time_pretransfer} %{time_starttransfer} %{time_total} %{size_header} %{size_download}\n";
    let mut command = Command::new("curl");
    command.args(["-s", "-S", "-w", form]);
    (0..times).for_each(|_| {
        command.args(["-o", "/dev/null", url]);
    });
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers = |line: &str| line.split(' ').map(|n| n.parse::<f64>().unwrap()).collect::<Vec<f64>>();
    text.lines().map(numbers).map(|line| [line[1] - line[0], line[2] - line[0], line[3], line[4]]).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Noise can part two instruments once; one that errs does so each time.
fn agree(attempt: impl Fn(&Judge) -> Result<(), String>) {
    let judge = Judge::start();
    let tried: Vec<String> = (0..4).map_while(|_| attempt(&judge).err()).collect();
    judge.end();
    assert!(tried.len() < 4, "{}", tried.join("; "));
}

#[test]
fn curl_sees_the_same_times_and_bytes() {
    agree(|judge| {
        let url = judge.url("/wait?a=40&b=20&n=30000");
        let (json, _) = run(&[&url, "-n", "15", "-c", "1", "-t", "1", "--no-counters"]);
        let seen = curl(&url, 15);
        assert_eq!(seen.len(), 15);
        assert_eq!(number(&json, "/bytes/heads"), seen.iter().map(|s| s[2]).sum::<f64>());
        assert_eq!(number(&json, "/bytes/bodies"), seen.iter().map(|s| s[3]).sum::<f64>());
        for (name, place, known_ms, column) in [
            ("first byte", "/latency_us/first_byte/p50", 40.0, 0),
            ("last byte", "/latency_us/last_byte/p50", 60.0, 1),
        ] {
            let ours = number(&json, place) / 1e3;
            let of_curl = median(seen.iter().map(|s| s[column] * 1e3).collect());
            // Both look at the same sleeps of Python, which are late on a busy machine, never early.
            assert!(ours >= known_ms && of_curl >= known_ms, "{name}: {ours} {of_curl}");
            if (ours - of_curl).abs() > 2.0 {
                return Err(format!("{name}: we say {ours} ms, curl {of_curl} ms"));
            }
        }
        Ok(())
    });
}

/// Requests per second and the median in milliseconds, as wrk has them; nothing if it is not on this machine.
fn wrk(url: &str) -> Option<(f64, f64)> {
    let output = match Command::new("wrk").args(["-c", "8", "-t", "1", "-d", "2s", "--latency", url]).output()
    {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && std::env::var_os("CI").is_none() => {
            eprintln!("not judged by wrk: it is not on this machine (scripts/need.sh wrk)");
            return None;
        }
        Err(error) => panic!("wrk: {error}"),
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let after = |name: &str| {
        text.lines().find_map(|line| line.trim().strip_prefix(name).map(str::trim).map(str::to_owned))
    };
    let rate = after("Requests/sec:").unwrap_or_else(|| panic!("{text}")).parse().unwrap();
    let median = after("50%").unwrap();
    let ms = median.strip_suffix("ms").unwrap_or_else(|| panic!("{median}")).parse().unwrap();
    Some((rate, ms))
}

#[test]
fn wrk_sees_the_same_rate_and_median() {
    agree(|judge| {
        let url = judge.url("/wait?a=20");
        // Both at once, so that what else the machine does slows both.
        let asked = url.clone();
        let other = thread::spawn(move || wrk(&asked));
        let (json, _) = run(&[&url, "-c", "8", "-t", "1", "-d", "2s", "--no-counters"]);
        let Some((rate, median)) = other.join().unwrap() else { return Ok(()) };
        let (own_rate, own_median) =
            (number(&json, "/requests_per_s"), number(&json, "/latency_us/last_byte/p50") / 1e3);
        assert!(own_median >= 20.0, "{json}");
        if (own_rate / rate - 1.0).abs() < 0.05 && (own_median - median).abs() < 1.0 {
            return Ok(());
        }
        Err(format!("we say {own_rate:.1}/s and {own_median:.2} ms, wrk {rate:.1}/s and {median:.2} ms"))
    });
}
