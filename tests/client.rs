//! A client that speaks bytes.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// An answer, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Status.
    pub status: u16,
    /// The status line.
    pub line: String,
    /// Fields in order, names in lower case.
    pub fields: Vec<(String, String)>,
    /// The body, decoded from chunks.
    pub body: Vec<u8>,
    /// False if the connection closed before the announced end.
    pub whole: bool,
}

impl Answer {
    /// The first field of a name.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// All fields of a name.
    pub fn all(&self, name: &str) -> Vec<&str> {
        self.fields.iter().filter(|(n, _)| n == name).map(|(_, v)| v.as_str()).collect()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Our member of Cache-Status.
    pub fn cache_status(&self) -> String {
        self.all("cache-status").last().copied().unwrap_or("").to_string()
    }

    /// The reason code in it.
    pub fn reason(&self) -> String {
        let status = self.cache_status();
        let found = status.split(';').map(str::trim).find_map(|p| p.strip_prefix("detail="));
        crate::tiers::reason(found.unwrap_or("")).to_string()
    }

    /// True if it came from the cache.
    pub fn is_hit(&self) -> bool {
        self.cache_status().split(';').any(|p| p.trim() == "hit")
    }
}

/// A connection.
pub struct Client {
    stream: TcpStream,
    unread: VecDeque<u8>,
}

impl Client {
    /// Connects.
    pub fn connect(address: &str) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, unread: VecDeque::new() }
    }

    /// Sends bytes.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Client {
        // A server may refuse and close before everything was sent; the answer tells.
        let _ = self.stream.write_all(bytes.as_ref());
        self
    }

    /// Says that nothing more comes.
    pub fn finish(&mut self) -> &mut Client {
        let _ = self.stream.shutdown(Shutdown::Write);
        self
    }

    /// A GET and its answer.
    pub fn get(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.request("GET", path, fields, b"")
    }

    /// A request with `Host: test` (or a Host of its own) and its answer.
    pub fn request(&mut self, method: &str, path: &str, fields: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !fields.iter().any(|(n, _)| n.eq_ignore_ascii_case("host")) {
            head.push_str("Host: test\r\n");
        }
        for (name, value) in fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        self.send(head).send(body);
        self.answer(method)
    }

    /// Reads one answer.
    pub fn answer(&mut self, method: &str) -> Answer {
        self.try_answer(method).expect("the connection closed without an answer")
    }

    /// Reads one answer; `None` if the connection closes first. Interim answers are passed over.
    pub fn try_answer(&mut self, method: &str) -> Option<Answer> {
        loop {
            let answer = self.one(method)?;
            if answer.status >= 200 {
                return Some(answer);
            }
        }
    }

    /// A GET and its answer, if there is one.
    pub fn try_answer_to(&mut self, path: &str) -> Option<Answer> {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n"));
        self.try_answer("GET")
    }

    /// Reads one answer, interim ones too.
    pub fn one(&mut self, method: &str) -> Option<Answer> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.byte()?);
        }
        let text = String::from_utf8(head).unwrap();
        let mut lines = text.trim_end().split("\r\n");
        let line = lines.next().unwrap().to_string();
        let status: u16 = line.split(' ').nth(1).unwrap().parse().unwrap();
        let fields: Vec<(String, String)> = lines
            .map(|l| {
                let (name, value) = l.split_once(':').unwrap_or_else(|| panic!("no field: {l:?}"));
                (name.to_ascii_lowercase(), value.trim().to_string())
            })
            .collect();
        let mut answer = Answer { status, line, fields, body: Vec::new(), whole: true };
        if method == "HEAD" || status < 200 || status == 204 || status == 304 {
            return Some(answer);
        }
        if answer.field("transfer-encoding") == Some("chunked") {
            answer.whole = self.chunks(&mut answer.body).is_some();
        } else if let Some(length) = answer.field("content-length") {
            let length: usize = length.parse().unwrap();
            // In pieces: byte by byte a large body takes seconds where the machine is busy.
            while answer.body.len() < length {
                let Some(byte) = self.byte() else {
                    answer.whole = false;
                    break;
                };
                answer.body.push(byte);
                let here = self.unread.len().min(length - answer.body.len());
                answer.body.extend(self.unread.drain(..here));
            }
        } else {
            while let Some(byte) = self.byte() {
                answer.body.push(byte);
            }
        }
        Some(answer)
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> Option<()> {
        loop {
            let line = self.line()?;
            let size = usize::from_str_radix(line.split(';').next().unwrap().trim(), 16).ok()?;
            for _ in 0..size {
                body.push(self.byte()?);
            }
            if size == 0 {
                while !self.line()?.is_empty() {}
                return Some(());
            }
            self.line()?;
        }
    }

    fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        loop {
            match self.byte()? {
                b'\n' => break,
                b'\r' => {}
                byte => line.push(byte),
            }
        }
        Some(String::from_utf8_lossy(&line).into_owned())
    }

    fn byte(&mut self) -> Option<u8> {
        if self.unread.is_empty() {
            let mut buffer = [0; 64 * 1024];
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(n) => self.unread.extend(&buffer[..n]),
                Err(e) if e.kind() == ErrorKind::ConnectionReset => return None,
                Err(e) => panic!("read: {e}"),
            }
        }
        self.unread.pop_front()
    }

    /// All that comes until it is enough.
    pub fn until(&mut self, enough: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        while !enough(&bytes) {
            bytes.push(self.byte().expect("the connection closed too early"));
            bytes.extend(self.unread.drain(..));
        }
        bytes
    }

    /// All that comes until the server closes.
    pub fn rest(&mut self) -> Vec<u8> {
        std::iter::from_fn(|| self.byte()).collect()
    }

    /// True if the server has closed the connection, waiting for it.
    pub fn is_closed(&mut self) -> bool {
        self.byte().is_none()
    }
}
