//! A relay between Samovar and an origin that records what left Samovar, connection by connection.
//!
//! Not here: what the bytes mean (`strict`).

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Where the origin listens.
#[derive(Clone, Debug)]
pub enum To {
    /// A port of loopback.
    Port(u16),
    /// A unix socket.
    Socket(PathBuf),
}

/// A running relay. Its threads end with the process.
pub struct Relay {
    /// The port that Samovar is given.
    pub port: u16,
    recorded: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Relay {
    /// Listens, and connects to the origin once for each connection that comes.
    pub fn new(to: To) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let recorded: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let log = Arc::clone(&recorded);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let _ = client.set_nodelay(true);
                let number = {
                    let mut all = log.lock().unwrap();
                    all.push(Vec::new());
                    all.len() - 1
                };
                let back = client.try_clone().unwrap();
                let log = Arc::clone(&log);
                let record = move |bytes: &[u8]| log.lock().unwrap()[number].extend_from_slice(bytes);
                match &to {
                    To::Port(port) => {
                        let Ok(origin) = TcpStream::connect(("127.0.0.1", *port)) else { continue };
                        let _ = origin.set_nodelay(true);
                        let from = origin.try_clone().unwrap();
                        let end = move |s: &TcpStream| drop(s.shutdown(Shutdown::Both));
                        both_ways((client, back), (origin, from), record, end);
                    }
                    To::Socket(path) => {
                        let Ok(origin) = UnixStream::connect(path) else { continue };
                        let from = origin.try_clone().unwrap();
                        let end = move |s: &UnixStream| drop(s.shutdown(Shutdown::Both));
                        both_ways((client, back), (origin, from), record, end);
                    }
                }
            }
        });
        Relay { port, recorded }
    }

    /// What was sent on each connection so far.
    pub fn recorded(&self) -> Vec<Vec<u8>> {
        self.recorded.lock().unwrap().clone()
    }

    /// How many bytes were sent so far.
    pub fn bytes(&self) -> usize {
        self.recorded.lock().unwrap().iter().map(Vec::len).sum()
    }
}

/// Moves bytes until either side ends; then both do.
fn both_ways<O: Read + Write + Send + 'static>(
    (mut client, mut back): (TcpStream, TcpStream),
    (mut origin, mut from): (O, O),
    record: impl Fn(&[u8]) + Send + 'static,
    end: impl Fn(&O) + Send + Clone + 'static,
) {
    let end_too = end.clone();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 16 << 10];
        while let Ok(bytes @ 1..) = client.read(&mut buffer) {
            record(&buffer[..bytes]);
            if origin.write_all(&buffer[..bytes]).is_err() {
                break;
            }
        }
        end(&origin);
    });
    std::thread::spawn(move || {
        let mut buffer = vec![0; 16 << 10];
        while let Ok(bytes @ 1..) = from.read(&mut buffer) {
            if back.write_all(&buffer[..bytes]).is_err() {
                break;
            }
        }
        let _ = back.shutdown(Shutdown::Both);
        end_too(&from);
    });
}
