//! CPU time of one attempt at an upstream, on the asking thread alone: HTTP/1.1 and FastCGI, 1 KiB and 64 KiB.
//!
//! `cargo run --release -p samovar-origin --example attempt_cost`. The upstreams are threads that answer without
//! thinking; their time does not count. Not here: the server's front, which costs as much again.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a measuring tool may stop at its first surprise"
)]

use http::{HeaderMap, Method};
use http_body_util::BodyExt;
use samovar_origin::{
    Address, Answer, AnswerBody, Asked, Client, FastCgi, FastCgiSettings, HttpSettings, HttpUpstream, Script,
    UpstreamLimits,
};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;

const REQUESTS: usize = 40_000;
const AT_ONCE: usize = 32;

fn main() {
    for bytes in [1024, 65_536] {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {bytes}\r\n\r\n");
        let address = serve([head.into_bytes(), vec![b'x'; bytes]].concat(), http_request_ends);
        let http = HttpUpstream::new(HttpSettings {
            name: "cost".to_owned(),
            address,
            host: None,
            base_path: String::new(),
            limits: UpstreamLimits::default(),
        });
        measure(&format!("HTTP/1.1, {bytes} bytes"), move || {
            let http = Arc::clone(&http);
            async move { http.attempt(0, asked()).await.unwrap() }
        });

        let address = serve(fastcgi_answer(bytes), fastcgi_request_ends);
        let settings =
            FastCgiSettings { name: "cost".to_owned(), address, limits: UpstreamLimits::default() };
        let fastcgi = FastCgi::new(settings, Arc::new(|line: &str| println!("{line}")));
        measure(&format!("FastCGI, {bytes} bytes"), move || {
            let fastcgi = Arc::clone(&fastcgi);
            let script = Script {
                script_filename: PathBuf::from("/srv/x.php"),
                script_name: "/x.php".to_owned(),
                path_info: None,
                document_root: PathBuf::from("/srv"),
                params: Arc::default(),
            };
            async move { fastcgi.attempt(0, asked(), script).await.unwrap() }
        });
    }
}

fn measure<F: Future<Output = Answer>>(what: &str, ask: impl Fn() -> F + Clone + 'static) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let round = |requests: usize| {
        let local = tokio::task::LocalSet::new();
        for _ in 0..AT_ONCE {
            let ask = ask.clone();
            local.spawn_local(async move {
                for _ in 0..requests / AT_ONCE {
                    let answer = ask().await;
                    if let AnswerBody::Stream { mut frames, .. } = answer.body {
                        while let Some(frame) = frames.frame().await {
                            frame.unwrap();
                        }
                    }
                }
            });
        }
        let before = cpu_us();
        runtime.block_on(local);
        (cpu_us() - before) / requests as f64
    };
    round(REQUESTS / 10);
    let mut rounds: Vec<f64> = (0..5).map(|_| round(REQUESTS)).collect();
    rounds.sort_by(f64::total_cmp);
    println!(
        "{what}: {:.1} µs of CPU per attempt (median of 5, {:.1}–{:.1})",
        rounds[2], rounds[0], rounds[4]
    );
}

fn cpu_us() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

fn asked() -> Asked {
    let mut headers = HeaderMap::new();
    headers.insert("accept", "text/html,application/xhtml+xml".parse().unwrap());
    headers.insert("accept-language", "de,en;q=0.7".parse().unwrap());
    headers.insert("user-agent", "attempt_cost".parse().unwrap());
    Asked {
        method: Method::GET,
        path: "/a/page".to_owned(),
        query: Some("x=1".to_owned()),
        host: "site.example".to_owned(),
        headers,
        body: None,
        body_bytes: None,
        interim: None,
        client: Client {
            remote: Some("192.0.2.7:4711".parse().unwrap()),
            local: Some("192.0.2.1:80".parse().unwrap()),
            scheme: "http",
            version: "HTTP/1.1",
        },
    }
}

/// Answers whatever `ends` takes for the end of a request.
fn serve(answer: Vec<u8>, ends: fn(&[u8]) -> bool) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer: Arc<[u8]> = answer.into();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.unwrap(), Arc::clone(&answer));
            std::thread::spawn(
                move || while request(&mut stream, ends) && stream.write_all(&answer).is_ok() {},
            );
        }
    });
    Address::Tcp("127.0.0.1".to_owned(), port)
}

fn request(stream: &mut TcpStream, ends: fn(&[u8]) -> bool) -> bool {
    stream.set_nodelay(true).unwrap();
    let (mut seen, mut buf) = (Vec::new(), [0_u8; 8192]);
    loop {
        match stream.read(&mut buf) {
            Ok(0) | Err(_) => return false,
            Ok(bytes) => seen.extend_from_slice(&buf[..bytes]),
        }
        if ends(&seen) {
            return true;
        }
    }
}

fn http_request_ends(seen: &[u8]) -> bool {
    seen.ends_with(b"\r\n\r\n")
}

/// An empty FCGI_STDIN.
fn fastcgi_request_ends(seen: &[u8]) -> bool {
    seen.ends_with(&[1, 5, 0, 1, 0, 0, 0, 0])
}

fn fastcgi_answer(bytes: usize) -> Vec<u8> {
    let text = [b"Content-Type: text/html\r\n\r\n".to_vec(), vec![b'x'; bytes]].concat();
    let mut answer = Vec::new();
    // php-fpm's buffer makes records of about this size.
    for piece in text.chunks(8192) {
        let [high, low] = u16::try_from(piece.len()).unwrap().to_be_bytes();
        answer.extend([1, 6, 0, 1, high, low, 0, 0]);
        answer.extend(piece);
    }
    answer.extend([1, 3, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    answer
}
