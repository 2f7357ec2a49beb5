//! One run with all it measured: the JSON report, version 1, and what the other reports are drawn from.
//!
//! Fields may be added; none is renamed or changes its meaning without a new version. Units stand in the names.
//!
//! Not here: what was asked ([`asked`]), what came ([`answers`]), its levels ([`steps`]) and what was seen beside it ([`beside`]); how the
//! values come about ([`crate::run`], [`crate::stats`]) or look, and reading stored ones ([`read`]).

mod answers;
mod asked;
mod beside;
mod steps;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use answers::{
    Bytes, Cache, Connections, Connects, Errors, Histogram, Latencies, Row, TypeBytes, Window,
};
pub use asked::{Asked, Open};
pub use beside::{Cpu, Point, Series, Server, Thread};
pub use steps::{Probe, Search, Step};

use super::bundle::Bundle;
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
    /// Whole answers to them that are what they have to be: of a status below 400, or as expected.
    pub responses: u64,
    /// Neither answered nor failed when the run was interrupted.
    pub unfinished: u64,
    /// Whether Ctrl-C ended it.
    pub interrupted: bool,
    /// Requests of all phases, warm-up and cool-down included.
    pub all_requests: u64,
    /// Length of the measured window.
    pub elapsed_s: f64,
    /// Whole and right answers per second of the measured window.
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

    /// So many of the measured requests, per second at the one rate of the report: what is counted holds the responses to
    /// all requests of the window, of which the last come after its end; the rate is of what was complete inside it.
    pub fn per_s(&self, count: u64) -> f64 {
        match self.responses {
            1.. if self.requests_per_s > 0.0 => count as f64 / self.responses as f64 * self.requests_per_s,
            _ => self.in_window_per_s(count),
        }
    }

    /// So many in the measured window, per second of it.
    pub fn in_window_per_s(&self, count: u64) -> f64 {
        if self.elapsed_s > 0.0 { count as f64 / self.elapsed_s } else { 0.0 }
    }

    /// Responses that came whole, those among them that are not what they have to be.
    pub fn whole_responses(&self) -> u64 {
        self.statuses.values().sum()
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
