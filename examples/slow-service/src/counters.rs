//! The counters that the story's author looked at: requests, concurrent requests, the queue. As Prometheus reads them.
//!
//! Not here: CPU, which whoever watches the process has.

use crate::gate::Gate;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// What was answered so far.
#[derive(Default)]
pub(crate) struct Counters {
    /// Answers with 200.
    pub(crate) answered: AtomicU64,
    /// Answers with 503: no turn, no place in the queue.
    pub(crate) refused: AtomicU64,
    /// Answers with another 4xx.
    pub(crate) denied: AtomicU64,
}

impl Counters {
    /// One more of these.
    pub(crate) fn count(&self, status: u16) {
        let counter = match status {
            503 => &self.refused,
            400.. => &self.denied,
            _ => &self.answered,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The page.
    pub(crate) fn page(&self, gate: &Gate, keys_loads: u64) -> String {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let rows = [
            ("requests_total{result=\"answered\"}", "counter", of(&self.answered)),
            ("requests_total{result=\"refused\"}", "counter", of(&self.refused)),
            ("requests_total{result=\"denied\"}", "counter", of(&self.denied)),
            ("concurrent", "gauge", u64::from(gate.concurrent())),
            ("concurrent_limit", "gauge", u64::from(gate.concurrent_max)),
            ("queue", "gauge", u64::from(gate.waiting())),
            ("queue_limit", "gauge", u64::from(gate.queue_max)),
            ("keys_loads_total", "counter", keys_loads),
        ];
        let mut page = String::new();
        let mut last = "";
        for (name, kind, value) in rows {
            let bare = name.split('{').next().unwrap_or(name);
            if bare != last {
                let _ = writeln!(page, "# TYPE slow_service_{bare} {kind}");
            }
            last = bare;
            let _ = writeln!(page, "slow_service_{name} {value}");
        }
        page
    }
}
