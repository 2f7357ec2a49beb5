//! Sends a plan over sockets: one thread per `-t`, each with an epoll loop and connections of its own.
//!
//! Why an epoll loop of our own and no async runtime: measured, both cost the same per request (over 90 % is the
//! kernel's TCP path), but an open loop needs waits of microseconds, and runtime timers have milliseconds. Per
//! request there is one write, one read and one look at the clock; nothing is shared between threads.
//!
//! Not here: what to send ([`crate::plan`]), when ([`crate::pacer`]), what it means ([`crate::tally`]).

mod client;
mod course;
mod desk;
mod exchange;
mod ledger;
pub mod meter;
mod redirect;
mod refusal;
mod sampling;
mod socket;
mod timers;
mod tls;
pub mod trust;
mod waiter;
mod wheel;
mod worker;

pub use socket::{Address, resolve};

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::Sender;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustls::ClientConfig;
use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::tally::series::Slice;
use crate::tally::{Rows, Tally};
use crate::wire::{Coding, Media};

/// The clock of a run: nanoseconds since its start.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    start_unix_s: u64,
}

impl Clock {
    /// Starts now.
    pub fn start() -> Clock {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH);
        Clock { start: Instant::now(), start_unix_s: unix.map_or(0, |since| since.as_secs()) }
    }

    /// Nanoseconds since the start.
    pub fn now_ns(&self) -> u64 {
        let passed = self.start.elapsed();
        passed.as_secs().saturating_mul(1_000_000_000).saturating_add(u64::from(passed.subsec_nanos()))
    }

    /// A moment of the run as seconds since 1970.
    pub(crate) fn unix_s(&self, now_ns: u64) -> u64 {
        self.start_unix_s.saturating_add(now_ns / 1_000_000_000)
    }
}

/// What the threads of a run share; looked at rarely.
#[derive(Debug, Default)]
pub struct Shared {
    /// Set to end the run at once.
    pub stop: Arc<AtomicBool>,
    /// Set to send no more, and to wait for the answers that are out.
    pub enough: AtomicBool,
    /// Set by the first connection made.
    pub connected: AtomicBool,
    /// Coded bodies on their way to the decoder; bounds the memory they take.
    pub samples_out: AtomicUsize,
}

/// How servers are reached.
#[derive(Debug, Default)]
pub struct Ways {
    /// For each origin its addresses.
    pub addresses: Vec<Vec<Address>>,
    /// What TLS is spoken with, where it is.
    pub tls: Option<Arc<ClientConfig>>,
}

/// What threads tell while they run.
#[derive(Debug)]
pub enum Message {
    /// One second of one thread.
    Slice(Slice),
    /// All that one thread counted of a step.
    Step(u16, Box<Tally>),
    /// The coded body of one answer.
    Sample(Sample),
}

/// A body to be decoded.
#[derive(Debug)]
pub struct Sample {
    /// How it is coded.
    pub coding: Coding,
    /// What it is.
    pub media: Media,
    /// Its bytes.
    pub body: Vec<u8>,
}

/// What is left of a thread at the end.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// What it counted that belongs to no step.
    pub whole: Tally,
    /// Results of each request.
    pub rows: Rows,
    /// Results of each round.
    pub rounds: Rows,
    /// Its CPU in the measured window of each step.
    pub usage: Vec<meter::Usage>,
    /// When it ended.
    pub ended_ns: u64,
}

/// Runs the share of thread number `thread` to its end.
///
/// # Errors
/// Only if the epoll instance cannot be made or waited for.
pub fn work(
    plan: &Plan,
    ways: &Ways,
    thread: u32,
    clock: Clock,
    shared: &Shared,
    out: Sender<Message>,
) -> io::Result<Outcome> {
    worker::Worker::new(plan, ways, thread, clock, shared, out)?.run()
}
