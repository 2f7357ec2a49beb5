//! The server's counters beside a load run, aligned to its seconds: what WCAT sampled from Windows, here from /proc
//! and from any text for Prometheus.
//!
//! A sampler's thread ([`sampler`], shell; [`probe`] and [`scrape`] do its reading) takes readings at whole seconds
//! of the run's clock. What they hold is understood by [`proc`] and [`prometheus`], chosen by [`select`], made
//! rates and points by [`keep`], and kept as [`series`]. [`windows`] says which of all this answers to a counter of
//! Windows. All but the shell are pure.
//!
//! Not here: the CPU of a server over the whole window ([`crate::usage`]), our own ([`crate::sender::meter`]), plots.

mod defaults;
pub mod keep;
mod pattern;
pub mod probe;
pub mod proc;
pub mod prometheus;
pub mod sampler;
pub mod scrape;
pub mod select;
pub mod series;
pub mod windows;

pub use pattern::Pattern;
pub use series::{CounterSeries, Counters, Row};

/// The series of the host's CPU, in % of all its cores: what is drawn beneath response times.
pub const HOST_CPU: &str = "host cpu";
/// The series of the server's CPU, in cores.
pub const SERVER_CPU: &str = "server cpu";

/// What one series said at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The series.
    pub name: String,
    /// What the points of the series are in: `%`, `cores`, `B`, `B/s`, `/s`, `s` or nothing.
    pub unit: &'static str,
    /// What was read.
    pub measure: Measure,
}

/// A number that was read, and what it becomes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// How it stands: kept as it is.
    Gauge(f64),
    /// What came together since some start: becomes what is added each second.
    Total(f64),
    /// Two of these: becomes how many percent of what is added to the whole is added to the part.
    Share {
        /// The part.
        part: f64,
        /// The whole, the part included.
        whole: f64,
    },
}
