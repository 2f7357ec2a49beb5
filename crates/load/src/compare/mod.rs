//! Two sets of runs compared honestly: by how much they differ, how surely, and what could not have been seen.
//!
//! The run is the sample, never the request: the requests of one run share its machine, its minute and its luck, so
//! a test over requests finds a difference between any two runs of the same server. Runs are best made in pairs, A
//! and B in turn and in an order that is [shuffled](order): then a drift of the machine meets both alike. Sets that
//! were not interleaved are compared too, and labelled.
//!
//! What is said rests on one rule ([`judge`]): a difference in a metric is said if Student's t *and* the ranks find
//! it, with Holm's correction for looking at several metrics. How often that errs was tried out (`trials`, a test):
//! equals are called different in fewer than 5 of 100 comparisons when the noise of runs is normal, heavy-tailed,
//! skewed, lasting or drifting; in 7 of 100 when it does nothing but come round every few runs.
//!
//! Pure: runs in, a [`Comparison`] or a text out. Not here: making runs, reading files.

mod judge;
mod model;
mod order;
mod ranks;
mod runs;
mod sample;
mod student;
#[cfg(test)]
mod tests;
mod text;
#[cfg(test)]
mod trials;
mod words;

use serde::{Deserialize, Serialize};

pub use judge::{judge, judge_sets};
pub use model::{Caveat, Comparison, Conclusion, Judgement, Overall, Row, SCHEMA, Set};
pub use order::order;
pub use runs::{Given, compare};
pub use text::text;

/// One of the two that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    /// What there was.
    A,
    /// What is compared with it: ratios are B over A.
    B,
}

/// What one run gives to compare. What it does not know is absent, and so is what is not above zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Values {
    /// Whole answers per second.
    pub requests_per_s: Option<f64>,
    /// Median time to the last byte.
    pub p50_us: Option<f64>,
    /// Its 90th percentile.
    pub p90_us: Option<f64>,
    /// Its 99th percentile.
    pub p99_us: Option<f64>,
    /// CPU of the servers per answer.
    pub server_us_per_request: Option<f64>,
}

/// Two runs made one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Who went first.
    pub first: Side,
    /// The run of A.
    pub a: Values,
    /// The run of B.
    pub b: Values,
}

/// How to judge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wish {
    /// The share below which a difference matters to nobody: 0.01 is ±1 %.
    pub threshold: f64,
    /// The difference one would like to see, for "about N more pairs would show it".
    pub show: f64,
}

impl Default for Wish {
    fn default() -> Wish {
        Wish { threshold: 0.01, show: 0.02 }
    }
}

/// What is compared: a closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// [`Values::requests_per_s`].
    RequestsPerS,
    /// [`Values::p50_us`].
    P50Us,
    /// [`Values::p90_us`].
    P90Us,
    /// [`Values::p99_us`].
    P99Us,
    /// [`Values::server_us_per_request`].
    ServerUsPerRequest,
}

impl Metric {
    /// All of them, in the order of the reports.
    pub const ALL: [Metric; 5] =
        [Metric::RequestsPerS, Metric::P50Us, Metric::P90Us, Metric::P99Us, Metric::ServerUsPerRequest];

    /// Its value, if it can be compared.
    pub fn of(self, values: &Values) -> Option<f64> {
        let value = match self {
            Metric::RequestsPerS => values.requests_per_s,
            Metric::P50Us => values.p50_us,
            Metric::P90Us => values.p90_us,
            Metric::P99Us => values.p99_us,
            Metric::ServerUsPerRequest => values.server_us_per_request,
        };
        value.filter(|value| value.is_finite() && *value > 0.0)
    }

    /// What it is called in the reports.
    pub fn name(self) -> &'static str {
        match self {
            Metric::RequestsPerS => "requests/s",
            Metric::P50Us => "p50",
            Metric::P90Us => "p90",
            Metric::P99Us => "p99",
            Metric::ServerUsPerRequest => "CPU/request",
        }
    }

    /// Whether more of it is good.
    pub fn more_is_better(self) -> bool {
        self == Metric::RequestsPerS
    }

    /// The smallest share by which a value like this can differ at all: percentiles have three digits and whole
    /// microseconds, and no other value is taken for finer.
    fn resolution(self, value: f64) -> f64 {
        match self {
            Metric::P50Us | Metric::P90Us | Metric::P99Us => (1.0 / value).max(0.001),
            Metric::RequestsPerS | Metric::ServerUsPerRequest => 0.001,
        }
    }
}
