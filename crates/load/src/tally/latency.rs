//! One distribution of times: an HDR histogram in microseconds with three digits, and exact ends and sum.
//!
//! Three digits over one microsecond to one hour cost 184 KiB, however long the run. Minimum, maximum and sum are
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
        let recorded = latency.histogram.iter().flat_map(Histogram::iter_recorded);
        let cells = recorded.map(|cell| (cell.value_iterated_to(), cell.count_at_value())).collect();
        Cells { min_ns: latency.min_ns, max_ns: latency.max_ns, sum_ns: latency.sum_ns, cells }
    }
}

impl From<Cells> for Latency {
    fn from(cells: Cells) -> Latency {
        let mut latency = Latency { histogram: None, ..Latency::default() };
        for (value, count) in cells.cells {
            latency.histogram.get_or_insert_with(fresh).saturating_record_n(value, count);
        }
        (latency.min_ns, latency.max_ns, latency.sum_ns) = (cells.min_ns, cells.max_ns, cells.sum_ns);
        latency
    }
}

impl Default for Latency {
    fn default() -> Self {
        Latency { histogram: None, min_ns: u64::MAX, max_ns: 0, sum_ns: 0 }
    }
}

#[allow(
    clippy::expect_used,
    reason = "bounds 1..3.6e9 and 3 digits are constants the crate accepts; every test makes one"
)]
fn fresh() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_US, 3).expect("constant bounds")
}

impl Latency {
    /// Records one time.
    pub fn record(&mut self, time_ns: u64) {
        self.histogram.get_or_insert_with(fresh).saturating_record(time_ns.saturating_add(500) / 1000);
        self.min_ns = self.min_ns.min(time_ns);
        self.max_ns = self.max_ns.max(time_ns);
        self.sum_ns += u128::from(time_ns);
    }

    /// The histogram, in microseconds; `None` of nothing.
    pub fn histogram(&self) -> Option<&Histogram<u64>> {
        self.histogram.as_ref()
    }

    /// Adds another distribution.
    pub fn merge(&mut self, other: &Latency) {
        match (&mut self.histogram, &other.histogram) {
            (_, None) => return,
            // The bounds are the same constants, so this cannot be refused.
            (Some(mine), Some(theirs)) => drop(mine.add(theirs)),
            (mine, theirs) => mine.clone_from(theirs),
        }
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
    }

    /// How many were recorded.
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::len)
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
        let Some(histogram) = self.histogram.as_ref() else { return 0.0 };
        let value = histogram.value_at_quantile(q.clamp(0.0, 1.0)) as f64;
        value.clamp(self.min_ns as f64 / 1e3, self.max_ns as f64 / 1e3)
    }
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
        assert_eq!(back.histogram, latency.histogram);
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
            prop_assert!((got_us - want_us).abs() <= 1.0 + want_us * 0.0015, "{got_us} for {want_us}");
            prop_assert!(got_us <= left.max_ns() as f64 / 1e3);
            prop_assert_eq!(left.max_ns(), *times.last().unwrap());
            prop_assert_eq!(left.min_ns(), *times.first().unwrap());
            let mean = times.iter().map(|t| *t as f64).sum::<f64>() / times.len() as f64;
            prop_assert!((left.mean_ns() - mean).abs() <= mean * 1e-9 + 1.0);
        }
    }
}
