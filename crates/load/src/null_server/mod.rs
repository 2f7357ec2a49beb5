//! A server of exactly known behaviour, inside this process: what an instrument is held against.
//!
//! It answers every request on its connections with the same bytes: at once, after an exactly known delay, or, while it
//! stalls, not until the stall is over. One thread with an epoll loop; what it knows of HTTP is where a head ends. It is for
//! calibration, `thirst selftest` and benches, shares no code with the sender and the reader of answers, and is no server
//! for anything else: what it is asked for does not matter, and requests with bodies are not understood.
//!
//! Shell. Not here: what follows from what it did.

mod due;
mod heads;
mod serve;

pub use due::Stall;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;

/// How it behaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// How long the body of an answer is.
    pub body_bytes: usize,
    /// How long after the last byte of its request an answer goes out.
    pub delay: Duration,
    /// When it does not answer.
    pub stall: Option<Stall>,
}

/// What it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Answers.
    pub answers: u64,
    /// By how much answers went out after they were due, in nanoseconds; of those that had a delay, the first many.
    pub late_ns: Vec<u64>,
}

/// It serves until it is dropped.
#[derive(Debug)]
pub struct NullServer {
    address: SocketAddr,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<io::Result<Served>>>,
}

impl NullServer {
    /// Serves on a free port of the loopback.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn start(manner: Manner) -> io::Result<NullServer> {
        NullServer::listen(SocketAddr::from(([127, 0, 0, 1], 0)), manner)
    }

    /// Serves at this address.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn listen(address: SocketAddr, manner: Manner) -> io::Result<NullServer> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        // The library's backlog is 128; a burst of more connects would wait a second for their next try.
        rustix::net::listen(&listener, 4096)?;
        let address = listener.local_addr()?;
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let mut worker = serve::Worker::new(listener, Arc::clone(&stop), &manner)?;
        let thread = thread::Builder::new().name("null-server".to_owned()).spawn(move || worker.run())?;
        Ok(NullServer { address, stop, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What to ask for.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Ends it; what it did.
    ///
    /// # Errors
    /// What the system refused it.
    pub fn stop(mut self) -> io::Result<Served> {
        self.end().unwrap_or_else(|| Ok(Served::default()))
    }

    fn end(&mut self) -> Option<io::Result<Served>> {
        // Eight bytes into a counter of nothing always fit.
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        self.thread.take().map(|thread| thread.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        // What it did is lost with it.
        let _ = self.end();
    }
}
