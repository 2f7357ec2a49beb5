//! What one thread counts, and how the counts of several become one.
//!
//! Pure: moments come in as nanoseconds. Each thread owns one [`Tally`]; nothing is shared while the run goes on.
//! Failures have a distribution of their own and never enter the latencies of answers.
//!
//! Not here: percentiles and rates ([`crate::stats`]), the per-second series ([`series`]).

pub mod failure;
pub mod latency;
pub mod series;
pub mod sketch;

pub use failure::Failure;
pub use latency::Latency;

use std::collections::BTreeMap;

use crate::wire::{Cached, Coding};

/// One answer, as the sender saw it.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// What caches said.
    pub cached: Cached,
    /// The coding of the body.
    pub coding: Coding,
    /// From sending to the first byte.
    pub first_byte_ns: u64,
    /// From sending to the last byte.
    pub last_byte_ns: u64,
    /// Head bytes.
    pub head_bytes: u64,
    /// Body bytes, without chunk framing, still encoded.
    pub body_bytes: u64,
    /// All bytes read for this answer.
    pub wire_read_bytes: u64,
    /// All bytes written for its request.
    pub wire_written_bytes: u64,
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// Plain numbers that add up over threads.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Counts { $($(#[$doc])* pub $name: u64,)+ }

        impl Counts {
            fn add(&mut self, other: &Counts) { $(self.$name = self.$name.saturating_add(other.$name);)+ }
        }
    };
}

counts! {
    /// Requests sent in the measured window.
    requests,
    /// Whole answers to them.
    responses,
    /// Those of them neither answered nor failed when the run was interrupted.
    unfinished,
    /// Requests sent in all phases.
    all_requests,
    /// Failures of requests outside the measured window.
    unmeasured_failures,
    /// Answers completed inside the measured window, whenever sent: what the rate is made of.
    window_answers,
    /// Bytes read inside the measured window.
    window_read_bytes,
    /// Bytes written inside the measured window.
    window_written_bytes,
    /// Bytes read for measured answers.
    wire_read_bytes,
    /// Bytes written for measured requests that were answered.
    wire_written_bytes,
    /// Head bytes of measured answers.
    head_bytes,
    /// Body bytes of measured answers.
    body_bytes,
    /// Of these, gzip-coded.
    gzip_body_bytes,
    /// Of these, in a coding we do not decode.
    opaque_body_bytes,
    /// Body bytes of answers from a cache.
    hit_body_bytes,
    /// Answers of no known cache status.
    unknown,
    /// Connects begun.
    connect_attempts,
    /// Connections made.
    connections,
    /// Connections open at the end.
    connections_open,
    /// The most connections open at once, summed over threads.
    connections_peak,
    /// Calls that read from a socket.
    socket_reads,
    /// Calls that wrote to a socket.
    socket_writes,
}

/// Everything one thread counted; after [`Tally::merge`], everything.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Plain counts.
    pub counts: Counts,
    /// Time to connect, all connections of the run.
    pub connect: Latency,
    /// First byte, all measured answers.
    pub first_byte: Latency,
    /// Last byte, all measured answers.
    pub last_byte: Latency,
    /// First byte of hits.
    pub hit_first_byte: Latency,
    /// Last byte of hits.
    pub hit_last_byte: Latency,
    /// First byte of misses.
    pub miss_first_byte: Latency,
    /// Last byte of misses.
    pub miss_last_byte: Latency,
    /// Time from sending to failing.
    pub failed: Latency,
    statuses: Vec<u64>,
    failures: [u64; Failure::COUNT],
    /// The first message seen of each kind of failure.
    pub samples: BTreeMap<Failure, String>,
    /// When the last measured answer was whole or the last measured request failed.
    pub last_end_ns: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Tally {
            counts: Counts::default(),
            connect: Latency::default(),
            first_byte: Latency::default(),
            last_byte: Latency::default(),
            hit_first_byte: Latency::default(),
            hit_last_byte: Latency::default(),
            miss_first_byte: Latency::default(),
            miss_last_byte: Latency::default(),
            failed: Latency::default(),
            statuses: vec![0; 1000],
            failures: [0; Failure::COUNT],
            samples: BTreeMap::new(),
            last_end_ns: 0,
        }
    }
}

impl Tally {
    /// A measured answer, whole at `now_ns`.
    pub fn answer(&mut self, answer: &Answer, now_ns: u64) {
        let counts = &mut self.counts;
        counts.responses += 1;
        counts.wire_read_bytes += answer.wire_read_bytes;
        counts.wire_written_bytes += answer.wire_written_bytes;
        counts.head_bytes += answer.head_bytes;
        counts.body_bytes += answer.body_bytes;
        match answer.coding {
            Coding::Identity => {}
            Coding::Gzip => counts.gzip_body_bytes += answer.body_bytes,
            Coding::Other => counts.opaque_body_bytes += answer.body_bytes,
        }
        if let Some(cell) = self.statuses.get_mut(usize::from(answer.status)) {
            *cell += 1;
        }
        self.first_byte.record(answer.first_byte_ns);
        self.last_byte.record(answer.last_byte_ns);
        match answer.cached {
            Cached::Hit => {
                counts.hit_body_bytes += answer.body_bytes;
                self.hit_first_byte.record(answer.first_byte_ns);
                self.hit_last_byte.record(answer.last_byte_ns);
            }
            Cached::Miss => {
                self.miss_first_byte.record(answer.first_byte_ns);
                self.miss_last_byte.record(answer.last_byte_ns);
            }
            Cached::Unknown => counts.unknown += 1,
        }
        self.last_end_ns = now_ns;
    }

    /// A failure; `after_ns` is the time since sending, for those of a measured request.
    pub fn fail(
        &mut self,
        failure: Failure,
        after_ns: Option<u64>,
        now_ns: u64,
        message: impl FnOnce() -> String,
    ) {
        if let Some(cell) = self.failures.get_mut(failure as usize) {
            *cell += 1;
        }
        if let Some(after_ns) = after_ns {
            self.failed.record(after_ns);
            self.last_end_ns = now_ns;
        }
        self.samples.entry(failure).or_insert_with(message);
    }

    /// How often this kind of failure was seen.
    pub fn failures(&self, failure: Failure) -> u64 {
        self.failures.get(failure as usize).copied().unwrap_or(0)
    }

    /// Measured requests that failed.
    pub fn request_failures(&self) -> u64 {
        Failure::ALL.into_iter().filter(|f| !f.is_connect()).map(|f| self.failures(f)).sum()
    }

    /// Connects that failed.
    pub fn connect_failures(&self) -> u64 {
        Failure::ALL.into_iter().filter(|f| f.is_connect()).map(|f| self.failures(f)).sum()
    }

    /// Answers by status code, those that occurred.
    pub fn statuses(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.statuses
            .iter()
            .enumerate()
            .filter(|(_, n)| **n > 0)
            .map(|(code, n)| (u16::try_from(code).unwrap_or(0), *n))
    }

    /// Adds what another thread counted.
    pub fn merge(&mut self, other: &Tally) {
        self.counts.add(&other.counts);
        let pairs = [
            (&mut self.connect, &other.connect),
            (&mut self.first_byte, &other.first_byte),
            (&mut self.last_byte, &other.last_byte),
            (&mut self.hit_first_byte, &other.hit_first_byte),
            (&mut self.hit_last_byte, &other.hit_last_byte),
            (&mut self.miss_first_byte, &other.miss_first_byte),
            (&mut self.miss_last_byte, &other.miss_last_byte),
            (&mut self.failed, &other.failed),
        ];
        for (mine, theirs) in pairs {
            mine.merge(theirs);
        }
        self.statuses.iter_mut().zip(&other.statuses).for_each(|(mine, theirs)| *mine += theirs);
        self.failures.iter_mut().zip(&other.failures).for_each(|(mine, theirs)| *mine += theirs);
        for (failure, message) in &other.samples {
            self.samples.entry(*failure).or_insert_with(|| message.clone());
        }
        self.last_end_ns = self.last_end_ns.max(other.last_end_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, cached: Cached, last_byte_ns: u64) -> Answer {
        Answer {
            status,
            cached,
            coding: Coding::Identity,
            first_byte_ns: last_byte_ns / 2,
            last_byte_ns,
            head_bytes: 10,
            body_bytes: 100,
            wire_read_bytes: 110,
            wire_written_bytes: 20,
        }
    }

    #[test]
    fn hits_misses_and_failures_are_apart() {
        let mut tally = Tally::default();
        tally.answer(&answer(200, Cached::Hit, 1_000_000), 5);
        tally.answer(&answer(200, Cached::Miss, 9_000_000), 6);
        tally.answer(&answer(404, Cached::Unknown, 2_000_000), 7);
        tally.fail(Failure::Timeout, Some(30_000_000_000), 8, || "late".to_owned());
        tally.fail(Failure::Refused, None, 9, || "no".to_owned());
        assert_eq!(tally.last_byte.count(), 3);
        assert_eq!(tally.last_byte.max_ns(), 9_000_000);
        assert_eq!(
            (tally.hit_last_byte.count(), tally.miss_last_byte.count(), tally.counts.unknown),
            (1, 1, 1)
        );
        assert_eq!(tally.failed.count(), 1);
        assert_eq!((tally.request_failures(), tally.connect_failures()), (1, 1));
        assert_eq!(tally.statuses().collect::<Vec<_>>(), [(200, 2), (404, 1)]);
        assert_eq!((tally.counts.body_bytes, tally.counts.hit_body_bytes), (300, 100));
    }

    #[test]
    fn merging_is_counting_together() {
        let (mut one, mut two, mut both) = (Tally::default(), Tally::default(), Tally::default());
        for index in 1..200_u64 {
            let seen = answer(200 + u16::try_from(index % 3).unwrap(), Cached::Hit, index * 7_000);
            if index % 2 == 0 {
                one.answer(&seen, index)
            } else {
                two.answer(&seen, index)
            }
            both.answer(&seen, index);
        }
        two.fail(Failure::Reset, Some(5), 500, || "x".to_owned());
        both.fail(Failure::Reset, Some(5), 500, || "x".to_owned());
        one.merge(&two);
        assert_eq!(one.counts, both.counts);
        assert_eq!(one.statuses().collect::<Vec<_>>(), both.statuses().collect::<Vec<_>>());
        assert_eq!((one.last_end_ns, one.request_failures()), (500, 1));
        for q in [0.0, 0.1, 0.5, 0.9, 0.99, 1.0] {
            assert_eq!(one.last_byte.quantile_us(q), both.last_byte.quantile_us(q));
        }
        assert_eq!(one.samples, both.samples);
    }
}
