//! An upstream at the level of its connection: a closure gets each request's head and the socket, and does as it likes.
//!
//! For what [`crate::origin`] cannot say: another protocol after a 101, bytes at moments of one's own, no answer at all.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A running upstream. Its threads end with the process.
pub struct Upstream {
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    begun: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
}

impl Upstream {
    /// Each connection is the closure's, from its first request's head on; it is closed when the closure returns.
    pub fn new(serve: impl Fn(String, TcpStream) + Send + Sync + 'static) -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (begun, open) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let serve = Arc::new(serve);
        let counts = (Arc::clone(&begun), Arc::clone(&open));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (serve, begun, open) = (Arc::clone(&serve), Arc::clone(&counts.0), Arc::clone(&counts.1));
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
                begun.fetch_add(1, Ordering::SeqCst);
                open.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || {
                    let head = read_head(&mut stream);
                    if !head.is_empty() {
                        serve(head, stream);
                    }
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Upstream { url, begun, open }
    }

    /// Connections so far.
    pub fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    /// Connections whose closure has not returned.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}

/// Reads up to an empty line and not a byte more; empty if the stream ends before.
pub fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return String::new(),
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// Reads exactly so many bytes, as text.
pub fn read_exactly(stream: &mut TcpStream, bytes: usize) -> String {
    let mut all = vec![0; bytes];
    stream.read_exact(&mut all).unwrap();
    String::from_utf8_lossy(&all).into_owned()
}

/// Reads to the end, as text; what came before a break counts.
pub fn read_to_end(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let _broken = stream.read_to_end(&mut all);
    String::from_utf8_lossy(&all).into_owned()
}

/// Sends back what comes, until the end.
pub fn echo(stream: &mut TcpStream) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(bytes @ 1..) = stream.read(&mut buffer) {
        if stream.write_all(&buffer[..bytes]).is_err() {
            return;
        }
    }
}

/// A connection to a server, with a limit to how long a test waits.
pub fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}
