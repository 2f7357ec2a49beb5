//! One metric of two sets of runs: by how much they differ, how surely, and what could have been seen.
//!
//! Everything is done on logarithms: a server is so many per cent faster, not so many requests, and times of runs are
//! skewed to the right. The mean of logarithms is the geometric mean.
//!
//! Pure. Not here: what is made of several metrics together ([`super::judge`]).

use super::{ranks, student};

/// The share of intervals that do not hold the truth, and of comparisons of equals that are called different.
pub(super) const CHANCE: f64 = 0.05;
/// The share of true differences of the smallest detectable size that are missed.
const MISSED: f64 = 0.2;
/// More runs than this nobody makes.
const RUNS_MAX: usize = 100_000;

/// What one metric shows. Differences are natural logarithms of B over A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    /// The mean difference.
    pub(super) difference: f64,
    /// Its standard error.
    pub(super) error: f64,
    /// Degrees of freedom of the error.
    pub(super) freedom: f64,
    /// How likely such a difference is between equals, by Student's or Welch's t.
    pub(super) p_t: f64,
    /// The same by the ranks.
    pub(super) p_rank: f64,
    /// Spread of a pair, or of one run on each side together; what its error shrinks from.
    spread: f64,
    /// Pairs, or runs of the smaller side.
    runs: usize,
    paired: bool,
}

impl Sample {
    /// Of pairs: the values are in the same order.
    pub(super) fn of_pairs(a: &[f64], b: &[f64]) -> Sample {
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b.ln() - a.ln()).collect();
        let (difference, variance) = moments(&differences);
        let runs = differences.len();
        let error = (variance / runs as f64).sqrt();
        let freedom = runs as f64 - 1.0;
        Sample {
            difference,
            error,
            freedom,
            p_t: p_t(difference, error, freedom),
            p_rank: ranks::wilcoxon(&differences),
            spread: variance.sqrt(),
            runs,
            paired: true,
        }
    }

    /// Of sets that are not paired, by Welch: their spreads may differ.
    pub(super) fn of_sets(a: &[f64], b: &[f64]) -> Sample {
        let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
        let ((mean_a, variance_a), (mean_b, variance_b)) = (moments(&logs(a)), moments(&logs(b)));
        let (runs_a, runs_b) = (a.len() as f64, b.len() as f64);
        let (share_a, share_b) = (variance_a / runs_a, variance_b / runs_b);
        let both = share_a + share_b;
        let freedom = both.powi(2) / (share_a.powi(2) / (runs_a - 1.0) + share_b.powi(2) / (runs_b - 1.0));
        let (difference, error) = (mean_b - mean_a, both.sqrt());
        Sample {
            difference,
            error,
            freedom,
            p_t: p_t(difference, error, freedom),
            p_rank: ranks::mann_whitney(a, b),
            spread: (variance_a + variance_b).sqrt(),
            runs: a.len().min(b.len()),
            paired: false,
        }
    }

    /// The difference is said only if both tests say it.
    pub(super) fn p(&self) -> f64 {
        self.p_t.max(self.p_rank)
    }

    /// Between which differences the true one lies, for 95 of 100 such intervals.
    pub(super) fn interval(&self) -> (f64, f64) {
        let reach = if self.error > 0.0 { student::quantile(CHANCE, self.freedom) * self.error } else { 0.0 };
        (self.difference - reach, self.difference + reach)
    }

    /// The difference that would be found four times of five.
    pub(super) fn detectable(&self, bar: Bar) -> f64 {
        bar.reach(self.error, self.freedom, self.runs)
    }

    /// So many pairs, or runs on each side, would find `difference` four times of five, if they spread like these.
    pub(super) fn runs_for(&self, difference: f64, bar: Bar) -> Option<usize> {
        let enough = |runs: usize| {
            let freedom = if self.paired { runs as f64 - 1.0 } else { 2.0 * (runs as f64 - 1.0) };
            bar.reach(self.spread / (runs as f64).sqrt(), freedom, runs) <= difference
        };
        let (mut few, mut many) = (bar.least, bar.least);
        while !enough(many) {
            (few, many) = (many, many * 2);
            if many > RUNS_MAX {
                return None;
            }
        }
        while many - few > 1 {
            let middle = few.midpoint(many);
            if enough(middle) { many = middle } else { few = middle }
        }
        Some(many)
    }
}

/// What a difference in one metric must get over to be said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bar {
    /// What this metric may be wrong: its part of [`CHANCE`].
    pub(super) chance: f64,
    /// So many pairs, or runs on each side, are the least.
    pub(super) least: usize,
}

impl Bar {
    /// The difference that `runs` with such an error get over it four times of five.
    fn reach(self, error: f64, freedom: f64, runs: usize) -> f64 {
        if error > 0.0 {
            let by_t = student::quantile(self.chance, freedom) + student::quantile(2.0 * MISSED, freedom);
            by_t * error * self.cost_of_ranks(runs)
        } else {
            0.0
        }
    }

    /// By how much larger a difference must be for the ranks to find it too: a twentieth, and more where the number
    /// of runs lets them hardly speak. Found by trying out, and held by the same means (`trials`).
    fn cost_of_ranks(self, runs: usize) -> f64 {
        1.05 + 0.25 / (runs.saturating_sub(self.least) as f64 + 1.0)
    }
}

/// How likely such a difference is. Without any spread there is no t: equal is equal, and the rest is for the ranks.
fn p_t(difference: f64, error: f64, freedom: f64) -> f64 {
    match (error > 0.0, difference == 0.0) {
        (true, _) => student::two_sided(difference / error, freedom),
        (false, true) => 1.0,
        (false, false) => 0.0,
    }
}

/// Mean and variance; no variance of less than two.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    if count == 0.0 {
        return (0.0, 0.0);
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, if count > 1.0 { squares / (count - 1.0) } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The textbook case of sets with very different sizes and spreads; its numbers are those of the logarithms here.
    #[test]
    fn welch_as_published() {
        let exp = |values: &[f64]| values.iter().map(|value| value.exp()).collect::<Vec<_>>();
        let a = exp(&[17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8]);
        let b = exp(&[
            21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8, 20.7, 21.7, 21.5, 22.5, 23.6, 21.5,
            22.5, 23.5, 21.5, 21.8,
        ]);
        let there = Sample::of_sets(&a, &b);
        let (t, freedom, p) = (there.difference / there.error, there.freedom, there.p_t);
        assert!(
            (t - 1.57).abs() < 0.005 && (freedom - 9.9).abs() < 0.05 && (p - 0.149).abs() < 5e-4,
            "{there:?}"
        );
        assert_eq!(there.runs, 10);
        let back = Sample::of_sets(&b, &a);
        assert!((back.difference + there.difference).abs() < 1e-9 && (back.freedom - freedom).abs() < 1e-9);
    }

    #[test]
    fn without_any_spread_the_ranks_decide() {
        let same = Sample::of_pairs(&[5.0; 10], &[5.0; 10]);
        assert_eq!((same.p(), same.interval()), (1.0, (0.0, 0.0)));
        let twice = Sample::of_pairs(&[5.0; 10], &[10.0; 10]);
        assert!(twice.p_t < 1e-100 && twice.p() == 2.0 / 1024.0, "{twice:?}");
        let bar = Bar { chance: 0.01, least: 8 };
        assert!(twice.detectable(bar) < 1e-12 && twice.runs_for(0.02, bar) == Some(8), "{twice:?}");
        let apart = Sample::of_sets(&[5.0; 5], &[10.0; 5]);
        assert!(apart.p_t < 1e-50 && (apart.p() - 2.0 / 252.0).abs() < 1e-12, "{apart:?}");
        // Sums of unequal length round differently; the ranks see that nothing differs.
        assert_eq!(Sample::of_sets(&[5.1; 5], &[5.1; 7]).p(), 1.0);
    }

    /// The promised number is the first that is enough: one fewer is not.
    #[test]
    fn so_many_runs_and_no_fewer() {
        let a: Vec<f64> = (0..12).map(|at| f64::from(at * 5 % 12).mul_add(0.01, 1.0)).collect();
        let b: Vec<f64> = (0..12).map(|at| f64::from(at * 7 % 12).mul_add(0.01, 1.0)).collect();
        let bar = Bar { chance: 0.01, least: 8 };
        for sample in [Sample::of_pairs(&a, &b), Sample::of_sets(&a, &b)] {
            let reach = |runs: usize| {
                let freedom = if sample.paired { runs as f64 - 1.0 } else { 2.0 * runs as f64 - 2.0 };
                bar.reach(sample.spread / (runs as f64).sqrt(), freedom, runs)
            };
            let size = 0.02;
            let runs = sample.runs_for(size, bar).unwrap();
            assert!(runs > 20 && reach(runs) <= size && reach(runs - 1) > size, "{runs}");
            assert_eq!(sample.runs_for(10.0, bar), Some(8));
            assert_eq!(sample.runs_for(1e-6, bar), None);
        }
    }
}
