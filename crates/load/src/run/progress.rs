//! The line that moves while a run goes on: time, rate, median, 99th percentile, errors.
//!
//! Only on a terminal, on stderr. Not here: the report.

use std::io::{Write, stderr};

use crate::pacer::{Phase, Schedule};
use crate::report::units;
use crate::tally::series::Slice;

/// What is shown, and when it was.
pub(crate) struct Progress {
    on: bool,
    schedule: Schedule,
    count: Option<u64>,
    current: Slice,
    last: Option<Slice>,
    answers: u64,
    failures: u64,
    shown_at_ns: u64,
}

impl Progress {
    pub(crate) fn new(on: bool, schedule: Schedule, count: Option<u64>) -> Progress {
        let current = Slice::default();
        Progress { on, schedule, count, current, last: None, answers: 0, failures: 0, shown_at_ns: 0 }
    }

    /// One second of one thread.
    pub(crate) fn add(&mut self, slice: &Slice) {
        if !self.on {
            return;
        }
        self.answers += slice.answers;
        self.failures += slice.failures;
        if slice.second > self.current.second {
            self.last = Some(std::mem::take(&mut self.current));
            self.current.second = slice.second;
        }
        if slice.second == self.current.second {
            self.current.answers += slice.answers;
            self.current.times.merge(&slice.times);
        }
    }

    /// Draws the line anew, four times a second at most.
    pub(crate) fn show(&mut self, now_ns: u64) {
        if !self.on || now_ns.saturating_sub(self.shown_at_ns) < 250_000_000 {
            return;
        }
        self.shown_at_ns = now_ns;
        let seconds = now_ns as f64 / 1e9;
        let steps = self.schedule.steps.len();
        let level = |step: u16| match self.schedule.steps.get(usize::from(step)) {
            Some(level) if steps > 1 => {
                format!(" step {} of {steps} ({})", step + 1, units::rate(level.level))
            }
            _ => String::new(),
        };
        let phase = match self.schedule.phase_at(now_ns) {
            Phase::Warmup => "warming up".to_owned(),
            Phase::Settle(step) => format!("settling{}", level(step)),
            Phase::Measure(step) => format!("measuring{}", level(step)),
            Phase::Cooldown => "cooling down".to_owned(),
            Phase::Over => "waiting for the last answers".to_owned(),
        };
        let end = self
            .schedule
            .window_end_ns()
            .map(|end| end.saturating_add(self.schedule.cooldown_ns) as f64 / 1e9);
        let of = match (self.count, end) {
            (Some(count), _) => format!("{} of {}", units::whole(self.answers), units::whole(count)),
            (None, Some(end)) => format!("{seconds:.0} of {end:.0} s"),
            (None, None) => format!("{seconds:.0} s"),
        };
        let rate = match &self.last {
            Some(last) => format!(
                "  {} req/s  p50 {}  p99 {}",
                units::whole(last.answers),
                units::time(last.times.quantile_us(0.5)),
                units::time(last.times.quantile_us(0.99))
            ),
            None => String::new(),
        };
        // A progress line that cannot be written is no reason to stop.
        let _ = write!(stderr(), "\r\x1b[2K  {phase}: {of}{rate}  errors {}", units::whole(self.failures));
        let _ = stderr().flush();
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        if self.on {
            let _ = write!(stderr(), "\r\x1b[2K");
            let _ = stderr().flush();
        }
    }
}
