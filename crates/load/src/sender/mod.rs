//! Sends a plan over sockets: one thread per `-t`, each with an epoll loop and connections of its own.
//!
//! Why an epoll loop of our own and no async runtime: measured, both cost the same per request (over 90 % is the
//! kernel's TCP path), but an open loop needs waits of microseconds, and runtime timers have milliseconds. Per
//! request there is one write, one read and one look at the clock; nothing is shared between threads.
//!
//! Not here: what to send ([`crate::plan`]), when ([`crate::pacer`]), what it means ([`crate::tally`]).

mod conn;
mod desk;
pub mod meter;
mod socket;
mod wheel;
mod worker;

pub use socket::{Address, resolve};

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::Sender;
use std::time::Instant;

use crate::plan::Plan;
use crate::tally::Tally;
use crate::tally::series::Slice;

/// The clock of a run: nanoseconds since its start.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Starts now.
    pub fn start() -> Clock {
        Clock(Instant::now())
    }

    /// Nanoseconds since the start.
    pub fn now_ns(&self) -> u64 {
        let passed = self.0.elapsed();
        passed.as_secs().saturating_mul(1_000_000_000).saturating_add(u64::from(passed.subsec_nanos()))
    }
}

/// What the threads of a run share; looked at rarely.
#[derive(Debug, Default)]
pub struct Shared {
    /// Set to end the run at once.
    pub stop: std::sync::Arc<AtomicBool>,
    /// Set by the first connection made.
    pub connected: AtomicBool,
    /// Coded bodies on their way to the decoder; bounds the memory they take.
    pub samples_out: AtomicUsize,
}

/// What threads tell while they run.
#[derive(Debug)]
pub enum Message {
    /// One second of one thread.
    Slice(Slice),
    /// The gzip-coded body of one answer.
    Sample(Vec<u8>),
}

/// What is left of a thread at the end.
#[derive(Debug)]
pub struct Outcome {
    /// All it counted.
    pub tally: Tally,
    /// Its CPU in the measured window.
    pub usage: meter::Usage,
    /// When it ended.
    pub ended_ns: u64,
}

/// Runs the share of thread number `thread` to its end.
///
/// # Errors
/// Only if the epoll instance cannot be made or waited for.
pub fn work(
    plan: &Plan,
    addresses: &[Vec<Address>],
    thread: u32,
    clock: Clock,
    shared: &Shared,
    out: Sender<Message>,
) -> io::Result<Outcome> {
    worker::Worker::new(plan, addresses, thread, clock, shared, out)?.run()
}
