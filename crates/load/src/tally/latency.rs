//! One distribution of times: an HDR histogram in microseconds with three digits, and exact ends and sum.
//!
//! Three digits over one microsecond to one hour cost 184 KiB, however long the run; one that is only kept is packed to the
//! cells that have anything, a few KiB. Minimum, maximum and sum are
//! kept in nanoseconds beside it, so that no percentile can be above the maximum shown.
//!
//! Not here: which times are recorded where.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Longest time told apart, in microseconds: an hour. Longer ones count as this in percentiles, exactly in `max`.
const HIGHEST_US: u64 = 3_600_000_000;

/// A distribution of times. One of nothing takes no room.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Cells", from = "Cells")]
pub struct Latency {
    histogram: Option<Histogram<u64>>,
    /// Instead of the histogram: the highest value of each cell that has anything, and its count, in order.
    packed: Vec<(u64, u64)>,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
}

/// A distribution on its way from one process to another: each cell that has anything, and the exact ends.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Cells {
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
    cells: Vec<(u64, u64)>,
}

impl From<Latency> for Cells {
    fn from(latency: Latency) -> Cells {
        let mut latency = latency;
        latency.pack();
        let Latency { packed: cells, min_ns, max_ns, sum_ns, .. } = latency;
        Cells { min_ns, max_ns, sum_ns, cells }
    }
}

impl From<Cells> for Latency {
    fn from(cells: Cells) -> Latency {
        // Through a histogram, so that cells are in order and of its widths whoever wrote them.
        let histogram = histogram(&cells.cells);
        let Cells { min_ns, max_ns, sum_ns, .. } = cells;
        let mut latency = Latency { histogram, packed: Vec::new(), min_ns, max_ns, sum_ns };
        latency.pack();
        latency
    }
}

impl Default for Latency {
    fn default() -> Self {
        Latency { histogram: None, packed: Vec::new(), min_ns: u64::MAX, max_ns: 0, sum_ns: 0 }
    }
}

#[allow(
    clippy::expect_used,
    reason = "bounds 1..3.6e9 and 3 digits are constants the crate accepts; every test makes one"
)]
fn fresh() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_US, 3).expect("constant bounds")
}

fn recorded(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
    histogram.iter_recorded().map(|cell| (cell.value_iterated_to(), cell.count_at_value())).collect()
}

/// The histogram of such cells; `None` of nothing.
pub fn histogram(cells: &[(u64, u64)]) -> Option<Histogram<u64>> {
    let mut histogram = None;
    for (value, count) in cells {
        histogram.get_or_insert_with(fresh).saturating_record_n(*value, *count);
    }
    histogram
}

impl Latency {
    /// Records one time.
    pub fn record(&mut self, time_ns: u64) {
        if !self.packed.is_empty() {
            self.unpack();
        }
        self.histogram.get_or_insert_with(fresh).saturating_record(time_ns.saturating_add(500) / 1000);
        self.min_ns = self.min_ns.min(time_ns);
        self.max_ns = self.max_ns.max(time_ns);
        self.sum_ns += u128::from(time_ns);
    }

    /// The highest value of each cell that has anything, in microseconds, and its count, in order.
    pub fn cells(&self) -> Vec<(u64, u64)> {
        match &self.histogram {
            Some(histogram) => recorded(histogram),
            None => self.packed.clone(),
        }
    }

    /// Makes it small: for one that is kept and rarely added to.
    pub fn pack(&mut self) {
        if let Some(histogram) = self.histogram.take() {
            self.packed = recorded(&histogram);
        }
    }

    fn unpack(&mut self) {
        for (value, count) in std::mem::take(&mut self.packed) {
            self.histogram.get_or_insert_with(fresh).saturating_record_n(value, count);
        }
    }

    /// Adds another distribution.
    pub fn merge(&mut self, other: &Latency) {
        if other.count() == 0 {
            return;
        }
        self.unpack();
        let mine = self.histogram.get_or_insert_with(fresh);
        if let Some(theirs) = &other.histogram {
            // The bounds are the same constants, so this cannot be refused.
            let _ = mine.add(theirs);
        }
        other.packed.iter().for_each(|(value, count)| mine.saturating_record_n(*value, *count));
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
    }

    /// How many were recorded.
    pub fn count(&self) -> u64 {
        match &self.histogram {
            Some(histogram) => histogram.len(),
            None => self.packed.iter().map(|(_, count)| count).sum(),
        }
    }

    /// The shortest, exactly; zero if there is none.
    pub fn min_ns(&self) -> u64 {
        if self.count() == 0 { 0 } else { self.min_ns }
    }

    /// The longest, exactly.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The arithmetic mean; zero if there is none.
    pub fn mean_ns(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum_ns as f64 / self.count() as f64 }
    }

    /// The smallest time that at least the share `q` of all does not exceed, in microseconds.
    pub fn quantile_us(&self, q: f64) -> f64 {
        let q = q.clamp(0.0, 1.0);
        if q == 0.0 {
            return self.min_ns() as f64 / 1e3;
        }
        let value = match &self.histogram {
            Some(histogram) => histogram.value_at_quantile(q),
            None => packed_quantile(&self.packed, q),
        } as f64;
        if self.count() == 0 {
            return 0.0;
        }
        value.clamp(self.min_ns as f64 / 1e3, self.max_ns as f64 / 1e3)
    }
}

/// The highest value of the cell in which the share `q` is reached, as the histogram has it.
fn packed_quantile(cells: &[(u64, u64)], q: f64) -> u64 {
    let count: u64 = cells.iter().map(|(_, count)| count).sum();
    let rank = ((q * count as f64).ceil() as u64).max(1);
    let mut seen = 0;
    let cell = cells.iter().find(|(_, count)| {
        seen += count;
        seen >= rank
    });
    cell.or(cells.last()).map_or(0, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn empty_says_zero() {
        let none = Latency::default();
        assert_eq!((none.count(), none.min_ns(), none.max_ns()), (0, 0, 0));
        assert_eq!((none.mean_ns(), none.quantile_us(0.5)), (0.0, 0.0));
    }

    #[test]
    fn longer_than_an_hour_keeps_its_maximum() {
        let mut one = Latency::default();
        one.record(7_200_000_000_000);
        assert_eq!(one.max_ns(), 7_200_000_000_000);
        assert_eq!(one.count(), 1);
    }

    #[test]
    fn it_travels_without_loss() {
        let mut latency = Latency::default();
        (0..5_000_u64).for_each(|n| latency.record(n * n * 37));
        let text = serde_json::to_string(&latency).unwrap();
        let back: Latency = serde_json::from_str(&text).unwrap();
        assert_eq!(back.cells(), latency.cells());
        assert_eq!(histogram(&back.cells()), histogram(&latency.cells()));
        assert_eq!(histogram(&back.cells()).unwrap().len(), 5_000);
        assert_eq!((back.min_ns, back.max_ns, back.sum_ns), (latency.min_ns, latency.max_ns, latency.sum_ns));
        let none: Latency =
            serde_json::from_str(&serde_json::to_string(&Latency::default()).unwrap()).unwrap();
        assert_eq!((none.count(), none.min_ns()), (0, 0));
    }

    /// The oracle: the k-th of a sorted vector, k the smallest rank that holds the share.
    fn sorted_quantile(times: &mut [u64], q: f64) -> u64 {
        times.sort_unstable();
        let rank = ((q * times.len() as f64).ceil() as usize).clamp(1, times.len());
        times[rank - 1]
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_a_sorted_vector(
            mut times in prop::collection::vec(prop_oneof![1_u64..2_000_000, 1_u64..60_000_000_000], 1..400),
            q in prop_oneof![Just(0.0), Just(0.5), Just(0.9), Just(0.99), Just(1.0), 0.0..1.0_f64],
            cut in 0_usize..400,
        ) {
            let (mut left, mut right) = (Latency::default(), Latency::default());
            for (index, time) in times.iter().enumerate() {
                if index < cut { left.record(*time) } else { right.record(*time) }
            }
            left.merge(&right);
            let want_us = sorted_quantile(&mut times, q) as f64 / 1e3;
            let got_us = left.quantile_us(q);
            // Half a microsecond of rounding, and three digits of the histogram.
            left.pack();
            prop_assert_eq!((left.quantile_us(q), left.count()), (got_us, times.len() as u64));
            prop_assert!((got_us - want_us).abs() <= 1.0 + want_us * 0.0015, "{got_us} for {want_us}");
            prop_assert!(got_us <= left.max_ns() as f64 / 1e3);
            prop_assert_eq!(left.max_ns(), *times.last().unwrap());
            prop_assert_eq!(left.min_ns(), *times.first().unwrap());
            let mean = times.iter().map(|t| *t as f64).sum::<f64>() / times.len() as f64;
            prop_assert!((left.mean_ns() - mean).abs() <= mean * 1e-9 + 1.0);
        }
    }
}
