//! Fetches a page of metrics: one GET over a connection of its own, bounded in time and bytes. Shell.
//!
//! Blocking, in a thread that has nothing else to do. Not here: what the page says.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fd::OwnedFd;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::prometheus::TEXT_MAX_BYTES;
use crate::plan::{Origin, Target};
use crate::sender::{self, Address};
use crate::wire::{Coding, Ending, Progress, Reader};

/// The patience of a page.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// A page of metrics, and where it is.
#[derive(Clone, Debug)]
pub struct Page {
    /// As it is shown.
    pub url: String,
    /// How long a connect may take, and then a whole answer.
    pub patience: Duration,
    addresses: Vec<Address>,
    request: Vec<u8>,
}

impl Page {
    /// Takes the URL apart and finds the addresses, once: a name server that is asked each second could take longer
    /// than one. `fields` are sent besides ours, a token for example. If the URL has no path, `/metrics` is asked
    /// for.
    ///
    /// # Errors
    /// A sentence for the person at the command line.
    pub fn new(url: &str, fields: &[(String, String)]) -> Result<Page, String> {
        let target: Target = url.parse()?;
        if target.secure {
            return Err(format!(
                "counters of `{url}`: https is not spoken here; name the page by http:// or unix:"
            ));
        }
        let origin = Origin { name: target.place.to_string(), place: target.place, secure: false };
        let addresses = sender::resolve(&origin, &[]).map_err(|why| format!("counters of `{url}`: {why}"))?;
        let path = if target.path == "/" { "/metrics" } else { &target.path };
        let mut head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nUser-Agent: thirst/{}\r\n\
             Accept: text/plain;version=0.0.4, */*;q=0.1\r\n\
             Accept-Encoding: identity\r\nConnection: close\r\n",
            target.authority,
            env!("CARGO_PKG_VERSION")
        );
        for (name, value) in fields {
            if name.is_empty() || [name, value].iter().any(|text| text.contains(['\r', '\n', '\0'])) {
                return Err(format!("counters of `{url}`: `{name}` is not a field that can be sent"));
            }
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        Ok(Page { url: target.url, patience: PATIENCE, addresses, request: head.into_bytes() })
    }

    /// Fetches it. Takes no longer than twice the patience.
    ///
    /// # Errors
    /// What came in the way, and what to do where that is known.
    pub fn fetch(&self) -> Result<String, String> {
        let patience = self.patience;
        let mut stream = self.connect(patience)?;
        let until = Instant::now() + patience;
        stream
            .set_write_timeout(patience)
            .and_then(|()| stream.write_all(&self.request))
            .map_err(|error| format!("the request could not be sent: {}", told(&error, patience)))?;
        let mut reader = Reader::default();
        let mut body = Vec::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let slow = || format!("no whole answer within {} s", patience.as_secs_f64());
            if left.is_zero() {
                return Err(slow());
            }
            let read = match stream.set_read_timeout(left).and_then(|()| stream.read(&mut buffer)) {
                Ok(read) => read,
                Err(error) if is_late(&error) => return Err(slow()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(format!("the answer broke off: {error}")),
            };
            let done = if read == 0 {
                match reader.end() {
                    Ending::Whole => true,
                    Ending::NoHead => return Err("the connection was closed without an answer".to_owned()),
                    Ending::ShortBody => return Err("the connection was closed inside the answer".to_owned()),
                }
            } else {
                let input = buffer.get(..read).unwrap_or_default();
                let progress = reader
                    .feed(input, &mut |_, piece| {
                        let room = TEXT_MAX_BYTES.saturating_add(1).saturating_sub(body.len());
                        body.extend_from_slice(piece.get(..room).unwrap_or(piece));
                    })
                    .map_err(|why| format!("the answer is no HTTP: {}", why.text()))?;
                matches!(progress, Progress::Done(_))
            };
            judge(&reader)?;
            if body.len() > TEXT_MAX_BYTES {
                return Err(format!("the answer is longer than the {TEXT_MAX_BYTES} bytes that are read"));
            }
            if done {
                return Ok(String::from_utf8(body)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()));
            }
        }
    }

    fn connect(&self, patience: Duration) -> Result<Stream, String> {
        let until = Instant::now() + patience;
        let mut wrong = "it has no address".to_owned();
        for address in &self.addresses {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let made = match address {
                Address::Tcp(address) => TcpStream::connect_timeout(address, left).map(Stream::Tcp),
                Address::Unix(path) => connect_unix(path, left).map(Stream::Unix),
            };
            match made {
                Ok(stream) => return Ok(stream),
                Err(error) => wrong = format!("cannot connect to {address}: {}", told(&error, patience)),
            }
        }
        Err(wrong)
    }
}

/// What a head that has come says against the answer.
fn judge(reader: &Reader) -> Result<(), String> {
    let Some(head) = reader.head() else { return Ok(()) };
    match (head.status, head.coding) {
        (200, Coding::Identity) => Ok(()),
        (200, _) => Err("the answer is compressed, though that was not asked for".to_owned()),
        (401 | 403, _) => {
            Err(format!("the answer is {}: it wants a token, or does not know this name", head.status))
        }
        (404, _) => {
            Err("the answer is 404: metrics are mostly at /metrics, and mostly at a port of their own"
                .to_owned())
        }
        (status, _) => Err(format!("the answer is {status}, not 200")),
    }
}

/// The standard library's connect waits without end where the listener's queue is full.
fn connect_unix(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let socket: OwnedFd =
        net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(socket))
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn told(error: &io::Error, patience: Duration) -> String {
    if is_late(error) { format!("it took more than {} s", patience.as_secs_f64()) } else { error.to_string() }
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_read_timeout(Some(timeout)),
            Stream::Unix(stream) => stream.set_read_timeout(Some(timeout)),
        }
    }

    fn set_write_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_write_timeout(Some(timeout)),
            Stream::Unix(stream) => stream.set_write_timeout(Some(timeout)),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Unix(stream) => stream.read(buffer),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.write_all(bytes),
            Stream::Unix(stream) => stream.write_all(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    use std::thread;

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(150);

    /// Reads a request to its empty line.
    fn request(mut stream: impl Read) -> String {
        let mut seen = Vec::new();
        let mut byte = [0];
        while !seen.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
            seen.push(byte[0]);
        }
        String::from_utf8(seen).unwrap()
    }

    /// Fetches from a server that answers once, as told; also what was asked.
    fn fetch(
        patience: Duration,
        fields: &[(String, String)],
        answer: impl FnOnce(&mut TcpStream) + Send,
    ) -> (Result<String, String>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let page = Page { patience, ..Page::new(&url, fields).unwrap() };
        thread::scope(|scope| {
            let server = scope.spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let asked = request(&stream);
                answer(&mut stream);
                asked
            });
            let got = page.fetch();
            (got, server.join().unwrap())
        })
    }

    fn text(answer: &str) -> Result<String, String> {
        fetch(LONG, &[], |stream| stream.write_all(answer.as_bytes()).unwrap()).0
    }

    #[test]
    fn a_page_in_any_framing() {
        assert_eq!(text("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nup 1\n"), Ok("up 1\n".into()));
        assert_eq!(text("HTTP/1.0 200 OK\r\n\r\nup 1\n"), Ok("up 1\n".into()));
        let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nup\r\n3\r\n 1\n\r\n0\r\n\r\n";
        assert_eq!(text(chunked), Ok("up 1\n".into()));
        assert_eq!(text("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), Ok(String::new()));
        let token = ("Authorization".to_owned(), "Bearer x".to_owned());
        let (_, asked) =
            fetch(LONG, &[token], |stream| stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n").unwrap());
        assert!(asked.starts_with("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:"), "{asked}");
        assert!(asked.contains("\r\nAuthorization: Bearer x\r\n"), "{asked}");
    }

    #[test]
    fn what_is_no_page_says_what_it_is() {
        for (answer, word) in [
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "/metrics"),
            ("HTTP/1.1 403 Forbidden\r\n\r\n", "token"),
            ("HTTP/1.1 302 Found\r\n\r\n", "302"),
            ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nx", "compressed"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nx", "inside"),
            ("SSH-2.0-x\r\n\r\n", "no HTTP"),
            ("", "without an answer"),
        ] {
            let why = text(answer).unwrap_err();
            assert!(why.contains(word), "{answer}: {why}");
        }
    }

    #[test]
    fn nobody_is_waited_for_without_end() {
        let (got, _) = fetch(SHORT, &[], |stream| {
            let _ = stream.read(&mut [0]);
        });
        assert!(got.unwrap_err().contains("0.15 s"));
        // One that drips is no better: each byte comes in time, sixteen million of them do not.
        let (got, _) = fetch(SHORT, &[], |stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
            while stream.write_all(b"#").is_ok() {}
        });
        assert!(got.unwrap_err().contains("no whole answer within 0.15 s"));
    }

    #[test]
    fn a_page_without_end_is_left() {
        let (got, _) = fetch(LONG, &[], |stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
            let lines = "up 1\n".repeat(10_000);
            while stream.write_all(lines.as_bytes()).is_ok() {}
        });
        assert!(got.unwrap_err().contains("longer than"));
    }

    #[test]
    fn nobody_listens() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/x", listener.local_addr().unwrap());
        drop(listener);
        assert!(Page::new(&url, &[]).unwrap().fetch().unwrap_err().contains("cannot connect"));
        assert!(Page::new("ftp://x", &[]).unwrap_err().contains("ftp"));
        let split = [("A".to_owned(), "b\r\nC: d".to_owned())];
        assert!(Page::new("http://127.0.0.1:1", &split).unwrap_err().contains("`A`"));
    }

    #[test]
    fn over_a_unix_socket_too() {
        let path = std::env::temp_dir().join(format!("thirst-scrape-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        let page = Page::new(&format!("unix:{}:/stats", path.display()), &[]).unwrap();
        let asked = thread::scope(|scope| {
            let server = scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                let asked = request(&stream);
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nup 1\n").unwrap();
                asked
            });
            assert_eq!(page.fetch(), Ok("up 1\n".into()));
            server.join().unwrap()
        });
        assert!(asked.starts_with("GET /stats HTTP/1.1\r\n"), "{asked}");
        // A queue that is full: the standard library would wait for ever here.
        net::listen(&listener, 1).unwrap();
        let mut full = Vec::new();
        while let Ok(stream) = connect_unix(&path, SHORT) {
            full.push(stream);
        }
        assert!(Page { patience: SHORT, ..page }.fetch().unwrap_err().contains("more than 0.15 s"));
        std::fs::remove_file(&path).unwrap();
    }
}
