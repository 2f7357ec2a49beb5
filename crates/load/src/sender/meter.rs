//! How busy one sending thread was inside the measured window.
//!
//! CPU from the thread's own clock, waiting for a core from the scheduler. Not here: judging it.

use std::fs;

use rustix::time::{ClockId, clock_gettime};

/// CPU of one thread inside the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Length of the window as this thread saw it.
    pub wall_ns: u64,
    /// CPU it used.
    pub cpu_ns: u64,
    /// Time it was ready to run and had no core, and in how many turns; `None` where the kernel does not say.
    pub waited: Option<Waited>,
    /// Longest time between two looks at the sockets that was not spent waiting for them.
    pub longest_turn_ns: u64,
}

/// Waiting for a core, as the scheduler counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// Time ready and without a core.
    pub ns: u64,
    /// Turns on a core; before each there was a wait, long or short.
    pub turns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    wall_ns: u64,
    cpu_ns: u64,
    waited: Option<Waited>,
}

/// Two marks: the window's start and its end.
#[derive(Debug, Default)]
pub(super) struct Meter {
    start: Option<Mark>,
    end: Option<Mark>,
    longest_turn_ns: u64,
}

impl Meter {
    /// Marks what is due at `now_ns`.
    pub(super) fn pass(&mut self, now_ns: u64, window_start_ns: u64, window_end_ns: Option<u64>) {
        if self.start.is_none() && now_ns >= window_start_ns {
            self.start = Some(mark(now_ns));
        }
        if self.end.is_none() && window_end_ns.is_some_and(|end| now_ns >= end) {
            self.end = Some(mark(now_ns));
        }
    }

    /// One turn of the loop that handled events took this long.
    pub(super) fn turn(&mut self, took_ns: u64) {
        if self.start.is_some() && self.end.is_none() {
            self.longest_turn_ns = self.longest_turn_ns.max(took_ns);
        }
    }

    /// When the next mark is due.
    pub(super) fn next_edge_ns(&self, window_start_ns: u64, window_end_ns: Option<u64>) -> u64 {
        match (self.start, self.end) {
            (None, _) => window_start_ns,
            (_, None) => window_end_ns.unwrap_or(u64::MAX),
            _ => u64::MAX,
        }
    }

    /// The sums, at the end of the run.
    pub(super) fn finish(self, now_ns: u64) -> Usage {
        let end = self.end.unwrap_or_else(|| mark(now_ns));
        let Some(start) = self.start else { return Usage::default() };
        Usage {
            wall_ns: end.wall_ns.saturating_sub(start.wall_ns),
            cpu_ns: end.cpu_ns.saturating_sub(start.cpu_ns),
            waited: end.waited.zip(start.waited).map(|(end, start)| Waited {
                ns: end.ns.saturating_sub(start.ns),
                turns: end.turns.saturating_sub(start.turns),
            }),
            longest_turn_ns: self.longest_turn_ns,
        }
    }
}

fn mark(wall_ns: u64) -> Mark {
    let cpu = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(cpu.tv_sec).unwrap_or(0);
    let cpu_ns =
        seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(cpu.tv_nsec).unwrap_or(0));
    let waited = fs::read_to_string("/proc/thread-self/schedstat").ok().and_then(|text| schedstat(&text));
    Mark { wall_ns, cpu_ns, waited }
}

/// Fields: time on a core, time waiting for one (both ns), turns (Documentation/scheduler/sched-stats).
fn schedstat(text: &str) -> Option<Waited> {
    let mut fields = text.split_ascii_whitespace().skip(1).map(|field| field.parse().ok());
    Some(Waited { ns: fields.next()??, turns: fields.next()?? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedstat_lines() {
        assert_eq!(schedstat("1000 250 7\n"), Some(Waited { ns: 250, turns: 7 }));
        for broken in ["", "1", "1 2", "a b c"] {
            assert_eq!(schedstat(broken), None, "{broken}");
        }
    }

    #[test]
    fn the_window_lies_between_the_marks() {
        let mut meter = Meter::default();
        assert_eq!(meter.next_edge_ns(100, Some(200)), 100);
        meter.pass(50, 100, Some(200));
        meter.turn(9);
        meter.pass(110, 100, Some(200));
        assert_eq!(meter.next_edge_ns(100, Some(200)), 200);
        meter.turn(7);
        meter.pass(205, 100, Some(200));
        meter.turn(8);
        let usage = meter.finish(900);
        assert_eq!((usage.wall_ns, usage.longest_turn_ns), (95, 7));
        assert_eq!(Meter::default().finish(5), Usage::default());
    }
}
