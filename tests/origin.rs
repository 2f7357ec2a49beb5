//! An origin that does as it is told: a closure gets each request and writes what it likes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A request as the origin got it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The request line.
    pub line: String,
    /// Fields in order, names in lower case.
    pub fields: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Which request it was, counted from 0 over all connections.
    pub number: usize,
}

impl Asked {
    /// The first field of a name.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// The target.
    pub fn target(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or("")
    }
}

/// A running origin. Its threads end with the process.
pub struct Origin {
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    /// The port.
    pub port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// What a connection does after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// It stays open.
    Keep,
    /// It closes.
    Close,
}

impl Origin {
    /// An origin whose `answer` writes bytes to the connection.
    pub fn raw(answer: impl Fn(&Asked, &mut TcpStream) -> After + Send + Sync + 'static) -> Origin {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let count = Arc::new(AtomicUsize::new(0));
        let answer = Arc::new(answer);
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, log, count) = (Arc::clone(&answer), Arc::clone(&log), Arc::clone(&count));
                std::thread::spawn(move || serve(stream, &*answer, &log, &count));
            }
        });
        Origin { url: format!("http://127.0.0.1:{port}"), port, asked }
    }

    /// An origin whose `answer` returns fields and a body; `Content-Length` is added.
    pub fn new(
        answer: impl Fn(&Asked) -> (u16, Vec<(String, String)>, Vec<u8>) + Send + Sync + 'static,
    ) -> Origin {
        Origin::raw(move |asked, stream| {
            let (status, fields, body) = answer(asked);
            let mut head = format!("HTTP/1.1 {status} X\r\n");
            for (name, value) in fields {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            if status != 304 && status != 204 {
                head.push_str(&format!("Content-Length: {}\r\n", body.len()));
            }
            head.push_str("\r\n");
            let mut all = head.into_bytes();
            if !asked.line.starts_with("HEAD ") {
                all.extend_from_slice(&body);
            }
            match stream.write_all(&all) {
                Ok(()) => After::Keep,
                Err(_) => After::Close,
            }
        })
    }

    /// An origin that always gives these fields, and a body that counts its requests.
    pub fn counting(fields: &'static [(&'static str, &'static str)]) -> Origin {
        Origin::new(move |asked| (200, own(fields), format!("answer {}", asked.number).into_bytes()))
    }

    /// All requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// How many requests so far.
    pub fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

/// Fields as [`Origin::new`] wants them.
pub fn own(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    fields.iter().map(|(n, v)| ((*n).to_string(), (*v).to_string())).collect()
}

fn serve(
    stream: TcpStream,
    answer: &(dyn Fn(&Asked, &mut TcpStream) -> After + Send + Sync),
    log: &Mutex<Vec<Asked>>,
    count: &AtomicUsize,
) {
    let mut out = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let mut fields = Vec::new();
        loop {
            let mut field = String::new();
            if reader.read_line(&mut field).unwrap_or(0) == 0 {
                return;
            }
            let field = field.trim_end();
            if field.is_empty() {
                break;
            }
            let (name, value) = field.split_once(':').unwrap();
            fields.push((name.to_ascii_lowercase(), value.trim().to_string()));
        }
        let mut asked = Asked {
            line: line.trim_end().to_string(),
            fields,
            body: Vec::new(),
            number: count.fetch_add(1, Ordering::SeqCst),
        };
        if let Some(length) = asked.field("content-length").and_then(|v| v.parse::<usize>().ok()) {
            asked.body = vec![0; length];
            if reader.read_exact(&mut asked.body).is_err() {
                return;
            }
        } else if asked.field("transfer-encoding") == Some("chunked") {
            loop {
                let mut size = String::new();
                if reader.read_line(&mut size).unwrap_or(0) == 0 {
                    return;
                }
                let size = usize::from_str_radix(size.trim(), 16).unwrap();
                let mut chunk = vec![0; size + 2];
                if reader.read_exact(&mut chunk).is_err() {
                    return;
                }
                if size == 0 {
                    break;
                }
                asked.body.extend_from_slice(&chunk[..size]);
            }
        }
        log.lock().unwrap().push(asked.clone());
        if answer(&asked, &mut out) == After::Close {
            return;
        }
    }
}
