//! What one thread counts, and how the counts of several become one.
//!
//! Pure: moments come in as nanoseconds. Each thread owns one [`Tally`]; nothing is shared while the run goes on.
//! Failures have a distribution of their own and never enter the latencies of answers.
//!
//! Not here: percentiles and rates ([`crate::stats`]), the per-second series ([`series`]).

pub mod failure;
pub mod latency;
pub mod rows;
pub mod series;
pub mod sketch;
pub mod types;

pub use failure::Failure;
pub use latency::Latency;
pub use rows::Rows;
pub use types::Types;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::wire::{Cached, Coding, Media};

/// One answer, as the sender saw it.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// What caches said.
    pub cached: Cached,
    /// The coding of the body.
    pub coding: Coding,
    /// What the body is.
    pub media: Media,
    /// From sending to the first byte.
    pub first_byte_ns: u64,
    /// From sending to the last byte.
    pub last_byte_ns: u64,
    /// From when it was meant to be sent to when it was, if the clock says when requests are sent.
    pub lag_ns: Option<u64>,
    /// Head bytes.
    pub head_bytes: u64,
    /// Body bytes, without chunk framing, still encoded.
    pub body_bytes: u64,
    /// All bytes read for this answer.
    pub wire_read_bytes: u64,
    /// All bytes written for its request.
    pub wire_written_bytes: u64,
}

macro_rules! spans {
    ($($(#[$doc:meta])* $variant:ident = $code:literal,)+) => {
        /// The distributions of times that are kept. Codes are stable: they stand in stored runs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Span { $($(#[$doc])* $variant,)+ }

        impl Span {
            /// All of them.
            pub const ALL: [Span; Self::COUNT] = [$(Span::$variant,)+];
            /// How many there are.
            pub const COUNT: usize = [$($code,)+].len();
            /// The stable code.
            pub fn code(self) -> &'static str { match self { $(Span::$variant => $code,)+ } }
        }
    };
}

spans! {
    /// Making a connection, all of the run.
    Connect = "connect",
    /// From a connection to the end of the TLS handshake, all of the run.
    Tls = "tls",
    /// First byte, from sending.
    FirstByte = "first-byte",
    /// Last byte, from sending.
    LastByte = "last-byte",
    /// Last byte, from when the request was meant to be sent.
    Response = "response",
    /// From when a request was meant to be sent to when it was.
    SendLag = "send-lag",
    /// The same of those for which a connection stood ready: the delay is the generator's own.
    OwnLag = "own-lag",
    /// First byte of hits.
    HitFirstByte = "hit-first-byte",
    /// Last byte of hits.
    HitLastByte = "hit-last-byte",
    /// First byte of misses.
    MissFirstByte = "miss-first-byte",
    /// Last byte of misses.
    MissLastByte = "miss-last-byte",
    /// First byte of stale answers.
    StaleFirstByte = "stale-first-byte",
    /// Last byte of stale answers.
    StaleLastByte = "stale-last-byte",
    /// First byte of revalidated answers.
    RevalidatedFirstByte = "revalidated-first-byte",
    /// Last byte of revalidated answers.
    RevalidatedLastByte = "revalidated-last-byte",
    /// From the first request of a round to its last answer, pauses included.
    Round = "round",
    /// From sending to failing.
    Failed = "failed",
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// Plain numbers that add up over threads.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Due in the measured window and not sent, as all clients were busy.
    unsent,
    /// Rounds that went to their end.
    rounds,
    /// Answers that a client had kept and did not ask for again.
    kept,
    /// Answers that are not what they have to be; they are failures, too.
    wrong,
    /// Answers of another content than the first of their URL.
    changed,
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
    /// Bytes read for measured answers.
    wire_read_bytes,
    /// Bytes written for measured requests that were answered.
    wire_written_bytes,
    /// Head bytes of measured answers.
    head_bytes,
    /// Body bytes of measured answers.
    body_bytes,
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
    /// Connects that were begun and not decided at once.
    connects_async,
    /// Connects undecided now; in the end, those that never were.
    connecting,
    /// The most connects undecided at once, summed over threads.
    connecting_peak,
    /// Failed connects right after another one of the same client.
    connects_failed_in_a_row,
    /// Connects given up before they were decided.
    connects_given_up,
    /// Calls that read from a socket.
    socket_reads,
    /// Calls that wrote to a socket.
    socket_writes,
}

/// Everything one thread counted; after [`Tally::merge`], everything.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tally {
    /// Plain counts.
    pub counts: Counts,
    /// Bodies by what they are.
    #[serde(default)]
    pub types: Types,
    times: Vec<Latency>,
    statuses: Vec<u64>,
    failures: Vec<u64>,
    /// The first message seen of each kind of failure.
    pub samples: BTreeMap<Failure, String>,
    /// When the last measured answer was whole or the last measured request failed.
    pub last_end_ns: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Tally {
            counts: Counts::default(),
            types: Types::default(),
            times: vec![Latency::default(); Span::COUNT],
            statuses: vec![0; 1000],
            failures: vec![0; Failure::COUNT],
            samples: BTreeMap::new(),
            last_end_ns: 0,
        }
    }
}

impl Tally {
    /// A measured answer, whole at `now_ns`.
    pub fn answer(&mut self, answer: &Answer, now_ns: u64) {
        self.counts.responses += 1;
        self.bytes(answer);
        self.times(answer);
        self.last_end_ns = now_ns;
    }

    /// An answer that is not what it has to be: its status and bytes are counted, its times are not those of answers.
    pub fn wrong(&mut self, answer: &Answer) {
        self.counts.wrong += 1;
        self.bytes(answer);
    }

    fn bytes(&mut self, answer: &Answer) {
        let counts = &mut self.counts;
        counts.wire_read_bytes += answer.wire_read_bytes;
        counts.wire_written_bytes += answer.wire_written_bytes;
        counts.head_bytes += answer.head_bytes;
        counts.body_bytes += answer.body_bytes;
        self.types.body(&answer.media, answer.coding, answer.body_bytes);
        if let Some(cell) = self.statuses.get_mut(usize::from(answer.status)) {
            *cell += 1;
        }
    }

    fn times(&mut self, answer: &Answer) {
        self.record(Span::FirstByte, answer.first_byte_ns);
        self.record(Span::LastByte, answer.last_byte_ns);
        if let Some(lag_ns) = answer.lag_ns {
            self.record(Span::Response, answer.last_byte_ns.saturating_add(lag_ns));
            self.record(Span::SendLag, lag_ns);
        }
        let apart = match answer.cached {
            Cached::Hit => Some((Span::HitFirstByte, Span::HitLastByte)),
            Cached::Miss => Some((Span::MissFirstByte, Span::MissLastByte)),
            Cached::Stale => Some((Span::StaleFirstByte, Span::StaleLastByte)),
            Cached::Revalidated => Some((Span::RevalidatedFirstByte, Span::RevalidatedLastByte)),
            Cached::Unknown => None,
        };
        match apart {
            None => self.counts.unknown += 1,
            Some((first, last)) => {
                self.record(first, answer.first_byte_ns);
                self.record(last, answer.last_byte_ns);
            }
        }
        if matches!(answer.cached, Cached::Hit | Cached::Stale) {
            self.counts.hit_body_bytes += answer.body_bytes;
        }
    }

    /// Makes it small: for one that is only kept.
    pub fn pack(&mut self) {
        self.times.iter_mut().for_each(Latency::pack);
    }

    /// Records one time.
    pub fn record(&mut self, span: Span, time_ns: u64) {
        if let Some(latency) = self.times.get_mut(span as usize) {
            latency.record(time_ns);
        }
    }

    /// The distribution of these times.
    pub fn of(&self, span: Span) -> &Latency {
        static NONE: std::sync::LazyLock<Latency> = std::sync::LazyLock::new(Latency::default);
        self.times.get(span as usize).unwrap_or(&NONE)
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
            self.record(Span::Failed, after_ns);
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
        self.types.merge(&other.types);
        self.times.iter_mut().zip(&other.times).for_each(|(mine, theirs)| mine.merge(theirs));
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
            media: Media::of(b"text/html"),
            first_byte_ns: last_byte_ns / 2,
            last_byte_ns,
            lag_ns: Some(7_000),
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
        assert_eq!(tally.of(Span::LastByte).count(), 3);
        assert_eq!(tally.of(Span::LastByte).max_ns(), 9_000_000);
        assert_eq!(
            (tally.of(Span::HitLastByte).count(), tally.of(Span::MissLastByte).count(), tally.counts.unknown),
            (1, 1, 1)
        );
        assert_eq!(tally.of(Span::Failed).count(), 1);
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
            assert_eq!(one.of(Span::Response).quantile_us(q), both.of(Span::Response).quantile_us(q));
        }
        assert_eq!(one.samples, both.samples);
    }
}
