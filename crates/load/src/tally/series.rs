//! The run over time: answers, failures and a small histogram for each second, bounded for a run of any length.
//!
//! Threads send a [`Slice`] for each second; the [`Series`] adds them up. Past [`POINTS_MAX`] points neighbours are
//! merged and the interval doubles, so memory does not grow with the length of the run.
//!
//! Not here: clocks, plots.

use serde::{Deserialize, Serialize};

use super::sketch::Sketch;

/// Points kept at most; one costs about 4 KiB.
pub const POINTS_MAX: usize = 600;

/// What one thread, or all, saw in one interval.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Slice {
    /// Seconds since the start of the run.
    pub second: u64,
    /// Answers completed.
    pub answers: u64,
    /// Failures.
    pub failures: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Times to the last byte.
    pub times: Sketch,
}

impl Slice {
    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.answers == 0 && self.failures == 0 && self.read_bytes == 0
    }

    /// Adds what another thread saw in it.
    pub(crate) fn merge(&mut self, other: &Slice) {
        self.answers += other.answers;
        self.failures += other.failures;
        self.read_bytes += other.read_bytes;
        self.times.merge(&other.times);
    }
}

/// All intervals of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Series {
    interval_s: u64,
    points: Vec<Slice>,
}

impl Default for Series {
    fn default() -> Self {
        Series { interval_s: 1, points: Vec::new() }
    }
}

impl Series {
    /// Adds a slice of any thread, in any order.
    pub fn add(&mut self, slice: &Slice) {
        // A second beyond a thousand years is no second of a run; without the bound the loop below could spin long.
        let second = slice.second.min(1 << 35);
        while second / self.interval_s >= POINTS_MAX as u64 {
            self.fold();
        }
        let index = usize::try_from(second / self.interval_s).unwrap_or(POINTS_MAX - 1);
        while self.points.len() <= index {
            let second = self.points.len() as u64 * self.interval_s;
            self.points.push(Slice { second, ..Slice::default() });
        }
        if let Some(point) = self.points.get_mut(index) {
            point.merge(slice);
        }
    }

    fn fold(&mut self) {
        let mut folded: Vec<Slice> = Vec::with_capacity(self.points.len().div_ceil(2));
        for (index, point) in self.points.drain(..).enumerate() {
            match folded.last_mut() {
                Some(last) if index % 2 == 1 => last.merge(&point),
                _ => folded.push(point),
            }
        }
        self.points = folded;
        self.interval_s *= 2;
    }

    /// Seconds per point.
    pub fn interval_s(&self) -> u64 {
        self.interval_s
    }

    /// The points in order.
    pub fn points(&self) -> &[Slice] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(second: u64, time_us: u64) -> Slice {
        let mut times = Sketch::default();
        times.record(time_us);
        Slice { second, answers: 1, failures: 0, read_bytes: 10, times }
    }

    #[test]
    fn threads_add_up_and_gaps_are_empty() {
        let mut series = Series::default();
        for second in [0, 0, 3] {
            series.add(&slice(second, 100));
        }
        let answers: Vec<u64> = series.points().iter().map(|p| p.answers).collect();
        assert_eq!(answers, [2, 0, 0, 1]);
        assert_eq!(series.points()[3].second, 3);
    }

    #[test]
    fn a_long_run_stays_small_and_loses_nothing() {
        let mut series = Series::default();
        for second in 0..100_000 {
            series.add(&slice(second, 50 + second % 2));
        }
        assert!(series.points().len() <= POINTS_MAX);
        assert_eq!(series.interval_s(), 256);
        assert_eq!(series.points().iter().map(|p| p.answers).sum::<u64>(), 100_000);
        assert!(series.points().iter().enumerate().all(|(i, p)| p.second == i as u64 * 256));
        let middle = &series.points()[100];
        assert_eq!((middle.answers, middle.times.quantile_us(0.25)), (256, 50.0));
        series.add(&slice(u64::MAX, 1));
        assert!(series.points().len() <= POINTS_MAX);
    }
}
