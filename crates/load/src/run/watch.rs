//! Rules that end a run early, held against what has been seen so far.
//!
//! Of a run of several levels each is looked at when it is over; of a plain one the last [`WINDOW_S`] seconds, every second.
//! Not here: ending it.

use std::collections::VecDeque;

use crate::pacer::Schedule;
use crate::rule::{Numbers, Rule};
use crate::tally::series::Slice;
use crate::tally::sketch::Sketch;

/// Seconds that are looked at together.
const WINDOW_S: u64 = 5;

/// What has been seen.
pub(super) struct Watch<'a> {
    rules: &'a [Rule],
    schedule: &'a Schedule,
    /// One for each second, all threads together.
    seconds: VecDeque<Slice>,
    looked_at: Option<u64>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(rules: &'a [Rule], schedule: &'a Schedule) -> Watch<'a> {
        Watch { rules, schedule, seconds: VecDeque::new(), looked_at: None }
    }

    /// One second of one thread.
    pub(super) fn add(&mut self, slice: &Slice) {
        if self.rules.is_empty() {
            return;
        }
        match self.seconds.iter_mut().find(|known| known.second == slice.second) {
            Some(known) => known.merge(slice),
            None => self.seconds.push_back(slice.clone()),
        }
        let keep_s = self.longest_s();
        let newest = self.seconds.iter().map(|slice| slice.second).max().unwrap_or(0);
        self.seconds.retain(|slice| slice.second + keep_s >= newest);
    }

    fn longest_s(&self) -> u64 {
        if self.schedule.steps.len() < 2 {
            return WINDOW_S + 2;
        }
        let steps = (0..self.schedule.steps.len()).map(|step| self.schedule.window(step));
        steps.map(|(start, end)| end.saturating_sub(start) / 1_000_000_000).max().unwrap_or(0) + 4
    }

    /// The rule that holds now, and what it looked at; asked after the second before `now` has been told.
    pub(super) fn broken(&mut self, now_ns: u64) -> Option<(&'a Rule, f64)> {
        // Threads tell a second up to a tenth of one later.
        let settled_s = now_ns.saturating_sub(300_000_000) / 1_000_000_000;
        if self.rules.is_empty() || self.looked_at == Some(settled_s) {
            return None;
        }
        self.looked_at = Some(settled_s);
        let (from_s, to_s) = self.span(settled_s)?;
        let mut seen = Seen { times: Sketch::default(), answers: 0, failures: 0, seconds: to_s - from_s };
        for slice in self.seconds.iter().filter(|slice| (from_s..to_s).contains(&slice.second)) {
            seen.times.merge(&slice.times);
            seen.answers += slice.answers;
            seen.failures += slice.failures;
        }
        self.rules.iter().find(|rule| rule.holds(&seen)).map(|rule| (rule, rule.value(&seen).unwrap_or(0.0)))
    }

    /// The seconds to look at: of a step that has just ended, or the last ones.
    fn span(&self, now_s: u64) -> Option<(u64, u64)> {
        const S: u64 = 1_000_000_000;
        if self.schedule.steps.len() < 2 {
            let from_s = self.schedule.window_start_ns().div_ceil(S);
            return (now_s >= from_s + WINDOW_S).then(|| (now_s - WINDOW_S, now_s));
        }
        let mut windows = (0..self.schedule.steps.len()).map(|step| self.schedule.window(step));
        let (start, end) = windows.find(|(_, end)| *end != u64::MAX && end.div_ceil(S) == now_s)?;
        // A step shorter than its seconds are is looked at with what stands beside it.
        Some((start / S, (end / S).max(start / S + 1)))
    }
}

struct Seen {
    times: Sketch,
    answers: u64,
    failures: u64,
    seconds: u64,
}

impl Numbers for Seen {
    fn quantile_us(&self, q: f64) -> Option<f64> {
        (self.times.count() > 0).then(|| self.times.quantile_us(q))
    }

    fn mean_us(&self) -> Option<f64> {
        (self.times.count() > 0).then(|| self.times.mean_us())
    }

    fn requests(&self) -> u64 {
        self.answers + self.failures
    }

    fn errors(&self) -> u64 {
        self.failures
    }

    fn rate(&self) -> f64 {
        self.answers as f64 / self.seconds.max(1) as f64
    }

    fn hits(&self) -> Option<f64> {
        None
    }

    fn unsent(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacer::Step;

    fn slice(second: u64, time_us: u64, failures: u64) -> Slice {
        let mut times = Sketch::default();
        (0..100).for_each(|_| times.record(time_us));
        Slice { second, answers: 100, failures, read_bytes: 0, times }
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_plain_run_is_looked_at_over_its_last_seconds() {
        let schedule = Schedule::plain(1.0, 2 * S, Some(60 * S), 0);
        let rules = ["p50>20ms".parse().unwrap(), "errors>10%".parse().unwrap()];
        let mut watch = Watch::new(&rules, &schedule);
        let mut ended = None;
        for second in 0..40 {
            watch.add(&slice(second, if second < 20 { 10_000 } else { 30_000 }, 0));
            if let Some((rule, value)) = watch.broken((second + 1) * S + S / 2) {
                ended.get_or_insert((second, rule.text.clone(), value > 20_000.0));
            }
        }
        // Three of the last five seconds are slow for the first time when second 22 has passed.
        assert_eq!(ended, Some((22, "p50>20ms".to_owned(), true)));
        assert!(watch.seconds.len() <= 8);
    }

    #[test]
    fn steps_are_looked_at_when_they_are_over() {
        let step = Step { level: 1.0, settle_ns: 2 * S, measure_ns: Some(8 * S) };
        let schedule = Schedule::new(0, vec![step, step, step], 0, false);
        let rules = ["errors>10%".parse().unwrap()];
        let mut watch = Watch::new(&rules, &schedule);
        // Errors only while the second step settles, then through all of the third.
        let failing = |second: u64| (10..12).contains(&second) || second >= 20;
        let ended: Vec<u64> = (0..31)
            .filter(|&second| {
                watch.add(&slice(second, 10, if failing(second) { 50 } else { 0 }));
                watch.broken((second + 1) * S + S / 2).is_some()
            })
            .collect();
        assert_eq!(ended, [29]);
    }
}
