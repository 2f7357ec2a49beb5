//! One run with all it measured: the JSON report, version 1, and what the other reports are drawn from.
//!
//! Fields may be added; none is renamed or changes its meaning without a new version. Units stand in the names.
//!
//! Not here: how the values come about ([`crate::run`], [`crate::stats`]) or look, and reading stored ones ([`read`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bundle::Bundle;
use super::hlog::Histogram;
pub use super::stored::read;
use crate::counters::Counters;
use crate::rule::Numbers;
use crate::stats::{Level, Summary};
use crate::verdict::Verdict;

/// The value of `schema` in every report of this version.
pub const SCHEMA: &str = "thirst.run/1";

/// One load test.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Run {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of the program that measured.
    pub thirst: String,
    /// The user's name for the run, or the first URL.
    pub label: String,
    /// When it began, milliseconds since 1970.
    pub started_unix_ms: u64,
    /// What was asked for.
    pub asked: Asked,
    /// Whether the numbers can be trusted.
    pub verdict: Verdict,
    /// Requests sent in the measured window.
    pub requests: u64,
    /// Whole answers to them.
    pub responses: u64,
    /// Neither answered nor failed when the run was interrupted.
    pub unfinished: u64,
    /// Whether Ctrl-C ended it.
    pub interrupted: bool,
    /// Requests of all phases, warm-up and cool-down included.
    pub all_requests: u64,
    /// Length of the measured window.
    pub elapsed_s: f64,
    /// Whole answers per second of the measured window.
    pub requests_per_s: f64,
    /// Bytes read per second of the measured window, heads and framing included.
    pub read_bytes_per_s: f64,
    /// Answers by status code.
    pub statuses: BTreeMap<u16, u64>,
    /// Answers by class of status: `2xx` …
    pub status_classes: BTreeMap<String, u64>,
    /// Failures.
    pub errors: Errors,
    /// Distributions of times.
    pub latency_us: Latencies,
    /// Bytes.
    pub bytes: Bytes,
    /// What caches said of the answers.
    pub cache: Cache,
    /// Connections.
    pub connections: Connections,
    /// CPU and memory.
    pub cpu: Cpu,
    /// The run over time.
    pub series: Series,
    /// Each level of load by itself, if there were several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// What came of each URL, or each request of a scenario, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Row>,
    /// What came of each round (transaction) of a scenario.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Row>,
    /// Requests that were due in the measured window and not sent, as too many were in flight.
    #[serde(default)]
    pub unsent: u64,
    /// Rounds that went to their end without a failure.
    #[serde(default)]
    pub rounds_done: u64,
    /// Answers that clients had kept and did not ask for.
    #[serde(default)]
    pub kept: u64,
    /// Answers whose body was not that of the first answer of their URL, status and coding.
    #[serde(default)]
    pub changed: u64,
    /// What it takes to make this run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Bundle>,
    /// What was counted at the server and beside it, second by second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
    /// The distributions of times as they were counted, of the whole run and of each level of load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histograms: Vec<Histogram>,
    /// The rule that ended the run before its time, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Requests per second that the same threads managed against a server that does nothing, just before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibrated_per_s: Option<f64>,
    /// The search for a capacity that this run confirms; its probes are [`Run::steps`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
}

impl Numbers for Run {
    fn quantile_us(&self, q: f64) -> Option<f64> {
        self.times().map(|times| times.at(q))
    }

    fn mean_us(&self) -> Option<f64> {
        self.times().map(|times| times.avg)
    }

    fn requests(&self) -> u64 {
        self.requests
    }

    fn errors(&self) -> u64 {
        self.errors.requests
    }

    fn rate(&self) -> f64 {
        self.requests_per_s
    }

    fn hits(&self) -> Option<f64> {
        self.cache.hit_ratio
    }

    fn unsent(&self) -> u64 {
        self.unsent
    }
}

impl Run {
    /// The times a person waits: from when a request was meant to be sent, if the clock says when.
    pub fn times(&self) -> Option<&Summary> {
        self.latency_us.response.as_ref().or(self.latency_us.last_byte.as_ref())
    }

    /// Whether its numbers are those of its steps together; the steps of a search are runs of their own.
    pub fn is_stepped(&self) -> bool {
        !self.steps.is_empty() && self.search.is_none()
    }

    /// Whether the clock said when requests were sent.
    pub fn is_open(&self) -> bool {
        self.asked.open.is_some()
    }

    /// Its levels of load, as far as what follows from them together is concerned.
    pub fn levels(&self) -> Vec<Level> {
        self.steps.iter().map(Step::as_level).collect()
    }
}

/// One level of load.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Step {
    /// Clients, or requests per second.
    pub level: f64,
    /// When it began to be measured, seconds since the start of the run.
    pub start_s: f64,
    /// How long it was.
    pub elapsed_s: f64,
    /// Requests sent in it.
    pub requests: u64,
    /// Whole and right answers to them.
    pub responses: u64,
    /// Failed ones.
    pub errors: u64,
    /// Due in it and not sent.
    pub unsent: u64,
    /// Whole answers per second.
    pub requests_per_s: f64,
    /// Bytes read per second.
    pub read_bytes_per_s: f64,
    /// Time to the first byte, from sending.
    pub first_byte: Option<Summary>,
    /// Time to the last byte, from sending.
    pub last_byte: Option<Summary>,
    /// Time to the last byte, from when it was meant to be sent; of an open loop.
    pub response: Option<Summary>,
    /// From when it was meant to be sent to when it was; of an open loop.
    pub send_lag: Option<Summary>,
    /// CPU of the servers, in cores.
    pub server_cores: Option<f64>,
    /// The busiest of our threads, as share of a core, without what it was awake for only to be in time.
    pub generator_busy: f64,
    /// Whether the numbers of this step can be trusted.
    pub verdict: Verdict,
}

impl Step {
    /// The times a person waits: from when a request was meant to be sent, if the clock says when.
    pub fn times(&self) -> Option<&Summary> {
        self.response.as_ref().or(self.last_byte.as_ref())
    }

    fn as_level(&self) -> Level {
        let p99_us = self.times().map_or(0.0, |times| times.p99);
        Level { load: self.level, per_s: self.requests_per_s, answers: self.responses, p99_us }
    }
}

/// A search for the highest rate at which rules hold.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Search {
    /// The rules, as they were given.
    pub rules: Vec<String>,
    /// The rates that were tried, in the order they were.
    pub probes: Vec<Probe>,
    /// The highest rate at which all rules held, if one was found.
    pub capacity_per_s: Option<f64>,
    /// The server may do more: the generator, or the person, ended the search.
    pub at_least: bool,
    /// The result in a sentence.
    pub result: String,
}

/// One rate that was tried.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Probe {
    /// Requests per second asked for.
    pub rate: f64,
    /// `held`, `failed`, or `limited`: the generator could not tell.
    pub outcome: String,
    /// Why it is not `held`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// What came of one URL, one request or one round.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Right answers; of a round, those without a failure.
    pub answers: u64,
    /// Failures, wrong answers among them.
    pub failures: u64,
    /// Body bytes of the answers.
    pub body_bytes: u64,
    /// Median time, to 3 %.
    pub p50_us: f64,
    /// 99th percentile, to 3 %.
    pub p99_us: f64,
}

/// What was asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Asked {
    /// The URLs.
    pub urls: Vec<String>,
    /// The method.
    pub method: String,
    /// `closed`: each connection sends when its last answer is whole; `open`: the clock says when requests are sent.
    pub load: String,
    /// Of an open loop, what it was like: `constant` or `poisson`, and what was done when too many were in flight, `queue`
    /// or `drop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<Open>,
    /// Counters of Windows that the scenario asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<String>,
    /// What chance depended on.
    #[serde(default)]
    pub seed: u64,
    /// What clients of a closed loop wait between two rounds, from and to, seconds; absent if they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_s: Option<(f64, f64)>,
    /// Requests per second that a closed loop does not exceed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_per_s: Option<f64>,
    /// What every answer had to be, as it was typed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<String>,
    /// The rules that were to end the run early.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub until: Vec<String>,
    /// The rules that were to fail it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fail_if: Vec<String>,
    /// Connections.
    pub connections: u32,
    /// Threads.
    pub threads: u32,
    /// Measured requests, if counted.
    pub count: Option<u64>,
    /// Length of the warm-up.
    pub warmup_s: f64,
    /// Length of the measured window, if time ends it.
    pub duration_s: Option<f64>,
    /// Length of the cool-down.
    pub cooldown_s: f64,
    /// How long a connect or an answer may take.
    pub timeout_s: f64,
    /// Whether connections carry more than one request.
    pub keep_alive: bool,
    /// Whether the server is on the same host.
    pub same_host: bool,
}

/// An open loop.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Open {
    /// Requests per second; of several levels the highest.
    pub rate: f64,
    /// `constant` or `poisson`.
    pub spacing: String,
    /// `queue` or `drop`.
    pub when_full: String,
}

/// Failures; none of them is in the latencies of answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Errors {
    /// Failures of measured requests.
    pub requests: u64,
    /// Failed connects, whole run.
    pub connects: u64,
    /// Failures of requests in warm-up and cool-down.
    pub unmeasured: u64,
    /// By kind, connects included; kinds that did not occur are left out.
    pub kinds: BTreeMap<String, u64>,
    /// The first message of each kind.
    pub samples: BTreeMap<String, String>,
}

/// Distributions of times, in microseconds. Those of an empty set are left out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Latencies {
    /// Making a connection, whole run.
    pub connect: Option<Summary>,
    /// From sending to the first byte.
    pub first_byte: Option<Summary>,
    /// From sending to the last byte.
    pub last_byte: Option<Summary>,
    /// First byte of hits.
    pub hit_first_byte: Option<Summary>,
    /// Last byte of hits.
    pub hit_last_byte: Option<Summary>,
    /// First byte of misses.
    pub miss_first_byte: Option<Summary>,
    /// Last byte of misses.
    pub miss_last_byte: Option<Summary>,
    /// From sending to failing.
    pub failed: Option<Summary>,
    /// The TLS handshake, whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Summary>,
    /// Of an open loop: from when a request was meant to be sent to the last byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Summary>,
    /// Of an open loop: from when a request was meant to be sent to when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_lag: Option<Summary>,
    /// The same of those for which a connection stood ready: the delay is the generator's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_lag: Option<Summary>,
    /// First byte of stale answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_first_byte: Option<Summary>,
    /// Last byte of stale answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_last_byte: Option<Summary>,
    /// First byte of revalidated answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revalidated_first_byte: Option<Summary>,
    /// Last byte of revalidated answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revalidated_last_byte: Option<Summary>,
    /// Rounds, from their first request to their last answer, pauses included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<Summary>,
}

/// Bytes of the measured requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Bytes {
    /// Read from the wire for answers: heads, chunk framing and bodies.
    pub read: u64,
    /// Written to the wire for answered requests.
    pub written: u64,
    /// Heads of answers.
    pub heads: u64,
    /// Bodies as they came, still encoded, without chunk framing.
    pub bodies: u64,
    /// Bodies after decoding, estimated from samples of each type; absent when a coding was met that is not decoded.
    pub decoded: Option<u64>,
    /// Of the bodies, those that came in a coding of which samples are decoded: gzip, br, zstd.
    pub gzip_bodies: u64,
    /// Of the bodies, those in a coding that is not decoded.
    pub opaque_bodies: u64,
    /// Bodies that were decoded to learn the ratio.
    pub decoded_samples: u64,
    /// Each type of content by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<TypeBytes>,
}

/// Bodies of one type of content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeBytes {
    /// The type, without its parameters; empty for answers that do not say.
    #[serde(rename = "type")]
    pub name: String,
    /// Answers with a body.
    pub answers: u64,
    /// Bodies as they came, still encoded, without chunk framing.
    pub bodies: u64,
    /// Of these, in any coding.
    pub coded: u64,
    /// Bodies after decoding, estimated from samples of the type, or if it has none of all types; absent when a coding was
    /// met that is not decoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoded: Option<u64>,
    /// Bodies of the type that were decoded.
    pub decoded_samples: u64,
}

/// What caches said of the answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cache {
    /// Answers from a cache.
    pub hits: u64,
    /// Answers for which a cache asked the origin.
    pub misses: u64,
    /// Answers that say nothing.
    pub unknown: u64,
    /// Answers that were no longer fresh, from a cache that did not ask.
    #[serde(default)]
    pub stale: u64,
    /// Answers for which a cache asked the origin whether they were still right, and they were.
    #[serde(default)]
    pub revalidated: u64,
    /// Hits and stale answers among all that say where they came from; absent if none does.
    pub hit_ratio: Option<f64>,
    /// Body bytes of hits.
    pub hit_body_bytes: u64,
}

/// Connections of the whole run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Connections {
    /// Connects begun.
    pub attempts: u64,
    /// Connections made.
    pub made: u64,
    /// The most open at once.
    pub peak: u64,
    /// Open at the end.
    pub open_at_end: u64,
    /// Reads from sockets.
    pub socket_reads: u64,
    /// Writes to sockets.
    pub socket_writes: u64,
    /// How connections came about; absent in runs stored before this was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connects: Option<Connects>,
}

/// How connections of the whole run came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connects {
    /// Begun and left to the system to decide: all that did not fail at once.
    pub asynchronous: u64,
    /// Undecided at the end.
    pub in_flight_at_end: u64,
    /// The most undecided at once, summed over threads.
    pub in_flight_peak: u64,
    /// Failures that came right after another failure of the same client.
    pub failed_in_a_row: u64,
    /// Given up before they were decided, as they took too long.
    pub given_up: u64,
}

/// CPU and memory in the measured window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cpu {
    /// Our sending threads.
    pub generator: Vec<Thread>,
    /// Our CPU per answer.
    pub generator_us_per_request: f64,
    /// The server's processes, if any could be seen.
    pub servers: Vec<Server>,
    /// CPU of all of them per answer.
    pub server_us_per_request: Option<f64>,
}

/// One of our threads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Thread {
    /// Share of a core it used.
    pub busy: f64,
    /// Share of the window it was ready and had no core.
    pub starved: Option<f64>,
    /// How long it waited for a core each time, on average.
    #[serde(default)]
    pub mean_wait_us: Option<f64>,
    /// Longest time between two looks at the sockets, while there was something to do.
    pub longest_turn_us: f64,
    /// Of [`Thread::busy`], what was spent only on being awake in time.
    #[serde(default)]
    pub spun: f64,
}

/// One server: a process and those below it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// Processes in its tree at the end.
    pub processes: u32,
    /// Whether it was found by its port.
    pub found: bool,
    /// CPU used.
    pub cpu_us: u64,
    /// The same as a number of cores.
    pub cores: f64,
    /// The same per answer.
    pub us_per_request: f64,
    /// Resident memory at the end of the window.
    pub rss_bytes: u64,
}

/// The run over time, warm-up and cool-down included.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Series {
    /// Seconds per point.
    pub interval_s: u64,
    /// When the measured window began, seconds since the start.
    pub window_start_s: f64,
    /// When it ended.
    pub window_end_s: f64,
    /// The points.
    pub points: Vec<Point>,
}

/// One point of the series.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Point {
    /// Start of the interval, seconds since the start of the run.
    pub at_s: u64,
    /// Answers completed.
    pub responses: u64,
    /// Failures.
    pub errors: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Median time to the last byte, to 3 %.
    pub p50_us: f64,
    /// 99th percentile, to 3 %.
    pub p99_us: f64,
}
