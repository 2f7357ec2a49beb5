//! What is said while a run goes on: time, rate, median, 99th percentile, errors.
//!
//! On a terminal a line that moves, four times a second at most; elsewhere a line every ten seconds, for logs of
//! builds. Both go to stderr. Not here: the report.

use std::io::{IsTerminal, Write, stderr};

use crate::pacer::{Phase, Schedule};
use crate::report::units;
use crate::tally::series::Slice;

/// How often the moving line is drawn anew at most.
const REDRAWN_NS: u64 = 250_000_000;
/// How often a line is written where none can move.
const WRITTEN_S: u64 = 10;

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Not,
    Moving,
    Lines,
}

/// What is shown, and when it was.
pub(crate) struct Progress {
    how: How,
    schedule: Schedule,
    count: Option<u64>,
    current: Slice,
    last: Option<Slice>,
    /// What was seen since the last line was written.
    since: Slice,
    answers: u64,
    failures: u64,
    shown_at_ns: u64,
    written_s: u64,
}

impl Progress {
    pub(crate) fn new(on: bool, schedule: Schedule, count: Option<u64>) -> Progress {
        let how = match (on, stderr().is_terminal()) {
            (false, _) => How::Not,
            (true, true) => How::Moving,
            (true, false) => How::Lines,
        };
        Progress {
            how,
            schedule,
            count,
            current: Slice::default(),
            last: None,
            since: Slice::default(),
            answers: 0,
            failures: 0,
            shown_at_ns: 0,
            written_s: 0,
        }
    }

    /// One second of one thread.
    pub(crate) fn add(&mut self, slice: &Slice) {
        if self.how == How::Not {
            return;
        }
        self.answers += slice.answers;
        self.failures += slice.failures;
        self.since.merge(slice);
        if slice.second > self.current.second {
            self.last = Some(std::mem::take(&mut self.current));
            self.current.second = slice.second;
        }
        if slice.second == self.current.second {
            self.current.answers += slice.answers;
            self.current.times.merge(&slice.times);
        }
    }

    /// Says what there is to say now.
    pub(crate) fn show(&mut self, now_ns: u64) {
        match self.how {
            How::Not => {}
            How::Moving => {
                if now_ns.saturating_sub(self.shown_at_ns) >= REDRAWN_NS {
                    self.shown_at_ns = now_ns;
                    // Progress that cannot be written is no reason to stop.
                    let _ = write!(stderr(), "\r\x1b[2K{}", self.moving(now_ns));
                    let _ = stderr().flush();
                }
            }
            How::Lines => {
                if let Some(line) = self.line(now_ns) {
                    let _ = writeln!(stderr(), "{line}");
                }
            }
        }
    }

    fn moving(&self, now_ns: u64) -> String {
        let seconds = now_ns as f64 / 1e9;
        let end = self
            .schedule
            .window_end_ns()
            .map(|end| end.saturating_add(self.schedule.cooldown_ns) as f64 / 1e9);
        let of = match (self.count, end) {
            (Some(count), _) => format!("{} of {}", units::whole(self.answers), units::whole(count)),
            (None, Some(end)) => format!("{seconds:.0} of {end:.0} s"),
            (None, None) => format!("{seconds:.0} s"),
        };
        let rate = self.last.as_ref().map_or_else(String::new, |last| figures(last, 1));
        format!("  {}: {of}{rate}  errors {}", self.phase(now_ns), units::whole(self.failures))
    }

    /// A line, if one is due: what was seen in the ten seconds before it.
    fn line(&mut self, now_ns: u64) -> Option<String> {
        // Threads tell a second up to a tenth of one later.
        let second = now_ns.saturating_sub(300_000_000) / 1_000_000_000;
        let due_s = second - second % WRITTEN_S;
        if due_s <= self.written_s || self.schedule.phase_at(now_ns) == Phase::Over {
            return None;
        }
        let seen = std::mem::take(&mut self.since);
        let seconds = due_s - self.written_s;
        self.written_s = due_s;
        let (phase, figures) = (self.phase(now_ns), figures(&seen, seconds));
        Some(format!("  {due_s:>4} s  {phase}{figures}  errors {}", units::whole(self.failures)))
    }

    fn phase(&self, now_ns: u64) -> String {
        let steps = self.schedule.steps.len();
        let level = |step: u16| match self.schedule.steps.get(usize::from(step)) {
            Some(level) if steps > 1 => {
                format!(" step {} of {steps} ({})", step + 1, units::level(level.level))
            }
            _ => String::new(),
        };
        match self.schedule.phase_at(now_ns) {
            Phase::Warmup => "warming up".to_owned(),
            Phase::Settle(step) => format!("settling{}", level(step)),
            Phase::Measure(step) => format!("measuring{}", level(step)),
            Phase::Cooldown => "cooling down".to_owned(),
            Phase::Over => "waiting for the last answers".to_owned(),
        }
    }

    /// Takes the moving line away.
    pub(crate) fn clear(&self) {
        if self.how == How::Moving {
            let _ = write!(stderr(), "\r\x1b[2K");
            let _ = stderr().flush();
        }
    }
}

fn figures(seen: &Slice, seconds: u64) -> String {
    let mut text = format!("  {} req/s", units::whole(seen.answers / seconds.max(1)));
    if seen.times.count() > 0 {
        let time = |q: f64| units::time(seen.times.quantile_us(q));
        text.push_str(&format!("  p50 {}  p99 {}", time(0.5), time(0.99)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacer::Step;
    use crate::tally::sketch::Sketch;

    const S: u64 = 1_000_000_000;

    fn progress(how: How, schedule: Schedule) -> Progress {
        Progress { how, ..Progress::new(false, schedule, None) }
    }

    fn slice(second: u64, answers: u64) -> Slice {
        let mut times = Sketch::default();
        (0..answers).for_each(|_| times.record(1_200));
        Slice { second, answers, failures: 1, read_bytes: 0, times }
    }

    #[test]
    fn a_line_every_ten_seconds_of_what_was_seen_since() {
        let mut progress = progress(How::Lines, Schedule::plain(1.0, 5 * S, Some(30 * S), 0));
        let mut lines = Vec::new();
        for second in 0..40 {
            // A second is told a tenth of one after its end.
            lines.extend(progress.line((second + 1) * S));
            progress.add(&slice(second, if second < 10 { 50 } else { 100 }));
            lines.extend(progress.line((second + 1) * S + S / 2));
        }
        assert_eq!(
            lines,
            [
                "    10 s  measuring  50 req/s  p50 1.20 ms  p99 1.20 ms  errors 10",
                "    20 s  measuring  100 req/s  p50 1.20 ms  p99 1.20 ms  errors 20",
                "    30 s  measuring  100 req/s  p50 1.20 ms  p99 1.20 ms  errors 30",
            ]
        );
    }

    #[test]
    fn a_short_run_says_nothing_between() {
        let mut progress = progress(How::Lines, Schedule::plain(1.0, 0, Some(10 * S), 0));
        assert!((0..130).all(|tenth| progress.line(tenth * S / 10).is_none()));
    }

    #[test]
    fn the_moving_line_shows_the_last_whole_second_and_the_step() {
        let step = Step { level: 1_500.0, settle_ns: S, measure_ns: Some(9 * S) };
        let mut progress = progress(How::Moving, Schedule::new(0, vec![step, step], 0, false));
        (0..3).for_each(|second| progress.add(&slice(second, 40 + second)));
        assert_eq!(
            progress.moving(12 * S),
            "  measuring step 2 of 2 (1,500): 12 of 20 s  41 req/s  p50 1.20 ms  p99 1.20 ms  errors 3"
        );
    }
}
