//! Connections: one thin thread each, keep-alive and pipelining, every wait bounded.
//!
//! The threads here only read and write; images are drawn by the `studio`. Not here: parsing (`request`),
//! answers (`reply`).

use crate::reply::{Reply, answer};
use crate::request::{Head, Request, read_head};
use crate::studio::Studio;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

/// Connections served at once; more are told to come back.
const CONNECTIONS_MAX: usize = 1024;
/// How long a connection may say nothing. Longer than proxies keep idle sockets, so that they close first.
const IDLE: Duration = Duration::from_secs(75);
const SEND: Duration = Duration::from_secs(30);
/// Bodies are read and dropped up to this size.
const BODY_MAX_BYTES: u64 = 1024 * 1024;

/// Serves until the listener breaks.
pub(crate) fn serve(listener: &TcpListener, studio: &Arc<Studio>) -> std::io::Error {
    let open = Arc::new(AtomicUsize::new(0));
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(e) if lasting(e.kind()) => return e,
            Err(_) => {
                // Out of descriptors, or the client left already: the next one may do better.
                thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        let seat = Seat::take(&open);
        let studio = Arc::clone(studio);
        let spawned =
            thread::Builder::new().name("connection".into()).stack_size(256 * 1024).spawn(move || {
                let _ = match seat.number <= CONNECTIONS_MAX {
                    true => Connection::new(stream).run(&studio),
                    false => Connection::new(stream).refuse(Reply::text(503, "too many connections")),
                };
                drop(seat);
            });
        if let Err(e) = spawned {
            eprintln!("copyright-images: cannot start a thread for a connection: {e}");
        }
    }
}

fn lasting(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidInput | ErrorKind::NotConnected)
}

/// A place among the open connections, given back when dropped.
struct Seat {
    open: Arc<AtomicUsize>,
    number: usize,
}

impl Seat {
    fn take(open: &Arc<AtomicUsize>) -> Seat {
        Seat { open: Arc::clone(open), number: open.fetch_add(1, Ordering::Relaxed) + 1 }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Connection {
    stream: TcpStream,
    /// Bytes received and not yet consumed.
    received: Vec<u8>,
}

impl Connection {
    fn new(stream: TcpStream) -> Connection {
        Connection { stream, received: Vec::new() }
    }

    /// Request after request until one side has had enough.
    fn run(&mut self, studio: &Studio) -> std::io::Result<()> {
        self.stream.set_nodelay(true)?;
        self.stream.set_read_timeout(Some(IDLE))?;
        self.stream.set_write_timeout(Some(SEND))?;
        loop {
            let (request, head_bytes) = match read_head(&self.received) {
                Head::Whole(request, bytes) => (request, bytes),
                Head::Bad(status, why) => return self.refuse(Reply::text(status, why)),
                Head::Part => match self.receive() {
                    Ok(0) => return Ok(()),
                    Ok(_) => continue,
                    Err(e) if timed_out(&e) && !self.received.is_empty() => {
                        return self.refuse(Reply::text(408, "the request did not arrive in time"));
                    }
                    Err(e) => return Err(e),
                },
            };
            self.received.drain(..head_bytes);
            if request.body_bytes > BODY_MAX_BYTES {
                return self.refuse(Reply::text(413, "no bodies of this size here"));
            }
            self.drop_body(request.body_bytes)?;
            self.reply(&request, studio)?;
            if !request.keep_alive {
                return Ok(());
            }
        }
    }

    fn reply(&mut self, request: &Request, studio: &Studio) -> std::io::Result<()> {
        let now = SystemTime::now();
        let reply = answer(request, studio, now);
        let bytes = reply.into_bytes(request.method == "HEAD", request.keep_alive, now);
        self.stream.write_all(&bytes)
    }

    /// Says why and closes.
    fn refuse(&mut self, reply: Reply) -> std::io::Result<()> {
        self.stream.set_write_timeout(Some(SEND))?;
        self.stream.write_all(&reply.into_bytes(false, false, SystemTime::now()))?;
        // Closing with unread bytes would send a reset that may overtake the answer.
        self.stream.shutdown(std::net::Shutdown::Write)?;
        self.stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        let mut rest = [0u8; 4096];
        for _ in 0..64 {
            if matches!(self.stream.read(&mut rest), Ok(0) | Err(_)) {
                break;
            }
        }
        Ok(())
    }

    fn drop_body(&mut self, mut bytes: u64) -> std::io::Result<()> {
        loop {
            let here = usize::try_from(bytes).unwrap_or(usize::MAX).min(self.received.len());
            self.received.drain(..here);
            bytes -= here as u64;
            if bytes == 0 {
                return Ok(());
            }
            if self.receive()? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn receive(&mut self) -> std::io::Result<usize> {
        let mut piece = [0u8; 8192];
        let count = self.stream.read(&mut piece)?;
        self.received.extend_from_slice(piece.get(..count).unwrap_or(&[]));
        Ok(count)
    }
}

fn timed_out(e: &std::io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
