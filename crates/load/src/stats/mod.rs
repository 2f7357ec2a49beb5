//! Distributions summed up: the percentiles people ask for, and the whole spectrum for the plot.
//!
//! Percentiles of several runs or threads are never averaged: their counts are added first ([`crate::tally`]).
//! A percentile with fewer than ten values above it is chance; [`Summary::is_thin`] says so.
//!
//! What follows from several levels of load has rooms of its own: the knee ([`ramp`]), a curve through them ([`usl`]), and
//! whether clients were as busy as they should have been ([`little`]).
//!
//! Pure. Not here: recording.

pub mod little;
pub mod ramp;
pub mod usl;

pub use ramp::{Knee, Level, knee};

use serde::{Deserialize, Serialize};

use crate::tally::Latency;

/// Values that must lie above a percentile for it to mean something.
const EXCEEDANCES: f64 = 10.0;

/// One distribution of times, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many.
    pub count: u64,
    /// The shortest, exactly.
    pub min: f64,
    /// Arithmetic mean.
    pub avg: f64,
    /// Median.
    pub p50: f64,
    /// 75th percentile.
    pub p75: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    #[serde(default)]
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// The longest, exactly.
    pub max: f64,
    /// The spectrum: share, and the time that so many do not exceed.
    pub curve: Vec<(f64, f64)>,
}

impl Summary {
    /// Sums up; `None` of nothing.
    pub fn of(latency: &Latency) -> Option<Summary> {
        if latency.count() == 0 {
            return None;
        }
        let us = |ns: f64| round(ns / 1e3);
        let at = |q: f64| round(latency.quantile_us(q));
        Some(Summary {
            count: latency.count(),
            min: us(latency.min_ns() as f64),
            avg: us(latency.mean_ns()),
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: us(latency.max_ns() as f64),
            curve: shares(latency.count()).into_iter().map(|q| (q, at(q))).collect(),
        })
    }

    /// The time that the share `q` does not exceed, as far as the spectrum tells: between two of its points the later one.
    pub fn at(&self, q: f64) -> f64 {
        let exact = [
            (0.5, self.p50),
            (0.75, self.p75),
            (0.9, self.p90),
            (0.95, self.p95),
            (0.99, self.p99),
            (0.999, self.p999),
        ];
        // Runs that were stored before there was a 95th percentile have a zero in its place.
        let known = |(share, value): &&(f64, f64)| (share - q).abs() < 1e-12 && *value > 0.0;
        if let Some((_, value)) = exact.iter().find(known) {
            return *value;
        }
        self.curve.iter().find(|(share, _)| *share >= q).map_or(self.max, |(_, value)| *value)
    }

    /// Runs that were stored before there was a 95th percentile have it in their spectrum, a little coarser.
    pub fn mend(&mut self) {
        self.p95 = self.at(0.95);
    }

    /// Whether fewer than ten values lie above the share `q`.
    pub fn is_thin(&self, q: f64) -> bool {
        self.count as f64 * (1.0 - q) < EXCEEDANCES
    }
}

/// A thousandth of a microsecond is more than any clock here gives; more digits only lengthen the file.
fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// The shares of the spectrum: tenths of each halving of the tail, as far as the count carries.
fn shares(count: u64) -> Vec<f64> {
    let mut shares = vec![0.0];
    let mut tail = 1.0_f64;
    while tail * count as f64 > 1.0 && shares.len() < 400 {
        for tenth in 1..=10 {
            let share = 1.0 - tail * (1.0 - f64::from(tenth) / 20.0);
            shares.push((share * 1e9).round() / 1e9);
        }
        tail /= 2.0;
    }
    shares.push(1.0);
    shares.dedup();
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spectrum_rises_to_the_maximum() {
        let mut latency = Latency::default();
        (1..=100_000_u64).for_each(|i| latency.record(i * 1_000));
        let summary = Summary::of(&latency).unwrap();
        assert_eq!((summary.count, summary.min, summary.max), (100_000, 1.0, 100_000.0));
        assert!((summary.p95 - 95_000.0).abs() < 100.0);
        assert!((summary.p50 - 50_000.0).abs() < 60.0 && (summary.p999 - 99_900.0).abs() < 110.0);
        assert_eq!(summary.curve.first(), Some(&(0.0, 1.0)));
        assert_eq!(summary.curve.last(), Some(&(1.0, 100_000.0)));
        assert!(summary.curve.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 <= w[1].1));
        assert!(summary.curve.len() < 250);
        assert!(!summary.is_thin(0.999));
        assert!(summary.is_thin(0.99999));
    }

    #[test]
    fn a_run_stored_without_the_95th_percentile_has_it_in_its_spectrum() {
        let mut latency = Latency::default();
        (1..=10_000_u64).for_each(|i| latency.record(i * 1_000));
        let mut stored = serde_json::to_value(Summary::of(&latency).unwrap()).unwrap();
        stored.as_object_mut().unwrap().remove("p95");
        let mut summary: Summary = serde_json::from_value(stored).unwrap();
        assert_eq!(summary.p95, 0.0);
        summary.mend();
        assert!((summary.p95 - 9_500.0).abs() < 100.0, "{}", summary.p95);
    }

    #[test]
    fn nothing_has_no_summary() {
        assert_eq!(Summary::of(&Latency::default()), None);
        let mut one = Latency::default();
        one.record(5_000);
        let summary = Summary::of(&one).unwrap();
        assert_eq!((summary.p50, summary.p999, summary.max), (5.0, 5.0, 5.0));
        assert!(summary.is_thin(0.5));
    }
}
