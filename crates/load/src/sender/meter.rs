//! How busy one sending thread was inside the measured window.
//!
//! CPU from the thread's own clock, waiting for a core from the scheduler. Not here: judging it.

use std::fs;

use serde::{Deserialize, Serialize};

use crate::pacer::Phase;
use rustix::time::{ClockId, clock_gettime};

/// CPU of one thread inside the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Length of the window as this thread saw it.
    pub wall_ns: u64,
    /// CPU it used.
    pub cpu_ns: u64,
    /// Time it was ready to run and had no core, and in how many turns; `None` where the kernel does not say.
    pub waited: Option<Waited>,
    /// Longest time between two looks at the sockets that was not spent waiting for them.
    pub longest_turn_ns: u64,
    /// Of the CPU, what was spent only on being awake in time.
    pub spun_ns: u64,
}

/// Waiting for a core, as the scheduler counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// Two marks of each step: where its measured window starts, and where it ends.
#[derive(Debug, Default)]
pub(super) struct Meter {
    steps: Vec<Usage>,
    /// The step that is measured now, and since when.
    present: Option<(usize, Mark)>,
    longest_turn_ns: u64,
    spun_ns: u64,
}

impl Meter {
    /// Takes note of the phase at `now_ns`.
    pub(super) fn pass(&mut self, now_ns: u64, phase: Phase) {
        let step = phase.measured().map(usize::from);
        if step == self.present.map(|(step, _)| step) {
            return;
        }
        let here = mark(now_ns);
        if let Some((step, start)) = self.present.take() {
            self.steps.resize(self.steps.len().max(step + 1), Usage::default());
            if let Some(usage) = self.steps.get_mut(step) {
                *usage = between(start, here, self.longest_turn_ns, self.spun_ns);
            }
        }
        (self.longest_turn_ns, self.spun_ns) = (0, 0);
        self.present = step.map(|step| (step, here));
    }

    /// One turn of the loop that handled events took this long.
    pub(super) fn turn(&mut self, took_ns: u64) {
        self.longest_turn_ns = self.longest_turn_ns.max(took_ns);
    }

    /// So long the thread was awake only to be in time.
    pub(super) fn spun(&mut self, took_ns: u64) {
        self.spun_ns += took_ns;
    }

    /// The sums, at the end of the run.
    pub(super) fn finish(mut self, now_ns: u64) -> Vec<Usage> {
        self.pass(now_ns, Phase::Over);
        self.steps
    }
}

fn between(start: Mark, end: Mark, longest_turn_ns: u64, spun_ns: u64) -> Usage {
    Usage {
        wall_ns: end.wall_ns.saturating_sub(start.wall_ns),
        cpu_ns: end.cpu_ns.saturating_sub(start.cpu_ns),
        waited: end.waited.zip(start.waited).map(|(end, start)| Waited {
            ns: end.ns.saturating_sub(start.ns),
            turns: end.turns.saturating_sub(start.turns),
        }),
        longest_turn_ns,
        spun_ns,
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
    fn each_step_has_its_window() {
        let mut meter = Meter::default();
        meter.pass(50, Phase::Warmup);
        meter.turn(9);
        meter.pass(110, Phase::Measure(0));
        meter.turn(7);
        meter.spun(3);
        meter.pass(150, Phase::Measure(0));
        meter.pass(205, Phase::Settle(1));
        meter.turn(8);
        meter.pass(300, Phase::Measure(1));
        let usage = meter.finish(390);
        let seen: Vec<(u64, u64, u64)> =
            usage.iter().map(|usage| (usage.wall_ns, usage.longest_turn_ns, usage.spun_ns)).collect();
        assert_eq!(seen, [(95, 7, 3), (90, 0, 0)]);
        assert!(Meter::default().finish(5).is_empty());
    }
}
