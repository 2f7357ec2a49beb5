//! The levels of a run, and of a search the rates that were tried.

use serde::{Deserialize, Serialize};

use crate::stats::{Level, Summary};
use crate::verdict::Verdict;

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
    /// Whole and right answers per second.
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

    pub(super) fn as_level(&self) -> Level {
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
