//! What a run was asked for, as far as its report tells.

use serde::{Deserialize, Serialize};

/// What was asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Asked {
    /// The URLs.
    pub urls: Vec<String>,
    /// The servers asked, `host:port` or the path of a socket; absent in runs stored before they were written down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
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
