//! A FastCGI application scripted by hand on a raw socket. It shares no code with what it judges.

use samovar_origin::Address;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A listening application; `connections` counts those it accepted.
pub struct App {
    pub address: Address,
    pub connections: Arc<AtomicUsize>,
}

impl App {
    /// Runs `script` on a thread for each connection, with the connection's number from 0.
    pub fn scripted(script: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> App {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp("127.0.0.1".to_owned(), listener.local_addr().unwrap().port());
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        let script = Arc::new(script);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let number = counter.fetch_add(1, Ordering::SeqCst);
                stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                let script = Arc::clone(&script);
                std::thread::spawn(move || script(stream, number));
            }
        });
        App { address, connections }
    }

    /// Answers every request, its input read, with the same bytes, then closes if `close`.
    pub fn answering(bytes: Vec<u8>, close: bool) -> App {
        App::scripted(move |mut stream, _| {
            while read_request(&mut stream) {
                if stream.write_all(&bytes).is_err() || close {
                    return;
                }
            }
        })
    }

    pub fn accepted(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Type and content of the next record; `None` at the end of the stream.
pub fn read_record(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut head = [0_u8; 8];
    stream.read_exact(&mut head).ok()?;
    assert_eq!((head[0], head[2], head[3]), (1, 0, 1), "version and request id");
    let mut content = vec![0; usize::from(head[4]) << 8 | usize::from(head[5])];
    stream.read_exact(&mut content).ok()?;
    stream.read_exact(&mut vec![0; usize::from(head[6])]).ok()?;
    Some((head[1], content))
}

/// Reads up to the end of the params; the input is left.
pub fn read_params(stream: &mut TcpStream) -> bool {
    loop {
        match read_record(stream) {
            Some((4, content)) if content.is_empty() => return true,
            Some(_) => {}
            None => return false,
        }
    }
}

/// Reads a whole request with its input.
pub fn read_request(stream: &mut TcpStream) -> bool {
    loop {
        match read_record(stream) {
            Some((5, content)) if content.is_empty() => return true,
            Some(_) => {}
            None => return false,
        }
    }
}

pub fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&[1, kind, 0, 1, length[0], length[1], 3, 0], content, &[0; 3]].concat()
}

pub fn out(text: &str) -> Vec<u8> {
    record(6, text.as_bytes())
}

pub fn err(text: &str) -> Vec<u8> {
    record(7, text.as_bytes())
}

pub fn end(status: u32, protocol: u8) -> Vec<u8> {
    let status = status.to_be_bytes();
    record(3, &[status[0], status[1], status[2], status[3], protocol, 0, 0, 0])
}
