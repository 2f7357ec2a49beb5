//! Counters, one set per core, summed when somebody looks.
//!
//! Each set has one writer, its core, so counting is a load and a store on a cache line nobody else writes.
//! Not here: their text for Prometheus (`admin`).

use crate::compress::Tally;
use samovar_reason::{Gate, Reject};
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter with one writer.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`. Only the counter's own core may call it.
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// Makes it `n`, for what goes down as well. Only the counter's own core may call it.
    pub fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    /// Its value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Upper bounds of the latency buckets, µs.
pub const LATENCY_BOUNDS_US: [u64; 12] =
    [50, 100, 250, 500, 1_000, 2_500, 10_000, 50_000, 250_000, 1_000_000, 5_000_000, 30_000_000];

/// What one core counts.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CoreCounters {
    /// Connections accepted.
    pub accepted: Counter,
    /// Connections closed.
    pub closed: Counter,
    /// Memory that open connections take, bytes, as last counted.
    pub connections_bytes: Counter,
    /// Of these, for heads of requests: unfinished, or large and being answered.
    pub heads_bytes: Counter,
    /// Connections that have changed to another protocol, as last counted.
    pub upgraded: Counter,
    /// Requests refused at the door, and connections turned away.
    pub rejected: Counter,
    /// The same by reason, and connections that were closed in the middle of something.
    pub by_reject: ByReject,
    /// Requests that a rule did not let in, by reason.
    pub by_gate: ByGate,
    /// Compressed answers, by media type and coding.
    pub coded: Tally,
    /// Answers that are being compressed while they are sent, as last counted.
    pub coding_streams: Counter,
    /// How busy the core was at the last look, in hundredths.
    pub busy_percent: Counter,
    /// Answers in the hot tier, as last counted.
    pub hot_entries: Counter,
    /// What their keys and heads take, bytes, as last counted.
    pub hot_heads_bytes: Counter,
    /// Answers that left the hot tier for others.
    pub hot_evictions: Counter,
    /// Answers from the hot tier.
    pub hot: Counter,
    /// Those of them that were a 304; the others are 2xx.
    pub hot_not_modified: Counter,
    /// Body bytes from the hot tier.
    pub hot_bytes: Counter,
    /// Answers from the memory tier, fresh.
    pub hit: Counter,
    /// Stale answers.
    pub stale: Counter,
    /// Answers confirmed by a 304.
    pub revalidated: Counter,
    /// Requests that shared another's fetch.
    pub joined: Counter,
    /// Requests that fetched.
    pub miss: Counter,
    /// Requests that passed the cache by.
    pub pass: Counter,
    /// Requests whose clients left before an answer began.
    pub gone: Counter,
    /// Answers of our own that are not errors.
    pub own: Counter,
    /// Errors of our own.
    pub error: Counter,
    /// Answers by class of status: 1xx to 5xx.
    pub classes: [Counter; 5],
    /// Body bytes sent by the engine.
    pub sent_bytes: Counter,
    /// Answers that broke off.
    pub cut: Counter,
    /// Time to the first byte, by bucket of [`LATENCY_BOUNDS_US`] and one beyond; hot answers are not timed.
    pub first_byte: [Counter; 13],
    /// Sum of the same, µs.
    pub first_byte_sum_us: Counter,
}

/// A counter for each reason.
#[derive(Debug)]
pub struct ByReject(Box<[Counter]>);

impl Default for ByReject {
    fn default() -> ByReject {
        ByReject(Reject::ALL.iter().map(|_| Counter::default()).collect())
    }
}

impl ByReject {
    /// Counts one.
    pub fn add(&self, why: Reject) {
        if let Some(counter) = self.counter(why) {
            counter.add(1);
        }
    }

    /// How many there were.
    pub fn get(&self, why: Reject) -> u64 {
        self.counter(why).map_or(0, Counter::get)
    }

    fn counter(&self, why: Reject) -> Option<&Counter> {
        Reject::ALL.iter().position(|known| *known == why).and_then(|at| self.0.get(at))
    }
}

/// The same for what a rule's gate says.
#[derive(Debug)]
pub struct ByGate(Box<[Counter]>);

impl Default for ByGate {
    fn default() -> ByGate {
        ByGate(Gate::ALL.iter().map(|_| Counter::default()).collect())
    }
}

impl ByGate {
    /// Counts one.
    pub fn add(&self, why: Gate) {
        if let Some(counter) = self.counter(why) {
            counter.add(1);
        }
    }

    /// How many there were.
    pub fn get(&self, why: Gate) -> u64 {
        self.counter(why).map_or(0, Counter::get)
    }

    fn counter(&self, why: Gate) -> Option<&Counter> {
        Gate::ALL.iter().position(|known| *known == why).and_then(|at| self.0.get(at))
    }
}

impl CoreCounters {
    /// Counts a request refused, or a connection turned away; `answer` is what it was told.
    pub fn reject(&self, why: Reject, answer: Option<u16>) {
        self.rejected.add(1);
        self.by_reject.add(why);
        answer.into_iter().for_each(|status| self.class(status));
    }

    fn class(&self, status: u16) {
        if let Some(class) = usize::from(status / 100).checked_sub(1).and_then(|i| self.classes.get(i)) {
            class.add(1);
        }
    }

    /// Counts one answer of the engine.
    pub fn answered(&self, word: &str, status: u16, body_bytes: u64, first_byte_us: u64) {
        match word {
            "hit" => self.hit.add(1),
            "stale" => self.stale.add(1),
            "revalidated" => self.revalidated.add(1),
            "joined" => self.joined.add(1),
            "miss" => self.miss.add(1),
            "pass" => self.pass.add(1),
            "own" => self.own.add(1),
            _ => self.error.add(1),
        }
        self.class(status);
        self.sent_bytes.add(body_bytes);
        let bucket =
            LATENCY_BOUNDS_US.iter().position(|b| first_byte_us <= *b).unwrap_or(LATENCY_BOUNDS_US.len());
        if let Some(counter) = self.first_byte.get(bucket) {
            counter.add(1);
        }
        self.first_byte_sum_us.add(first_byte_us);
    }
}
