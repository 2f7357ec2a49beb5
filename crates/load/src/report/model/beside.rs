//! What was seen beside the answers: CPU of both sides, and the run over time.

use serde::{Deserialize, Serialize};

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
    /// Whole and right answers completed.
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
