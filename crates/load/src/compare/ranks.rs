//! Two tests that look at the order of the values only: Wilcoxon's for pairs, Mann and Whitney's for sets apart.
//!
//! One run that went wrong by a factor of ten moves a mean, and so Student's t; it moves a rank by a few places. The
//! p-values are those of the permutations themselves up to [`EXACT`] values a side, ties included (equal values
//! share the middle of their ranks, and the permutations are those of the shared ranks); beyond that the normal
//! distribution.
//!
//! Pure. Not here: what the values are.

use super::student;

/// Up to so many pairs, or values on each side, every permutation is counted.
pub(super) const EXACT: usize = 25;

/// How likely differences so one-sided are if each could as well have had the other sign. Zeros say nothing and are
/// left out.
pub(super) fn wilcoxon(differences: &[f64]) -> f64 {
    let kept: Vec<f64> = differences.iter().copied().filter(|difference| *difference != 0.0).collect();
    let sizes: Vec<f64> = kept.iter().map(|difference| difference.abs()).collect();
    let ranks = doubled_ranks(&sizes);
    let positive: usize =
        kept.iter().zip(&ranks).filter(|(value, _)| **value > 0.0).map(|(_, rank)| rank).sum();
    if kept.len() <= EXACT {
        return both_tails(&sums_of_any(&ranks), positive);
    }
    let all: usize = ranks.iter().sum();
    let squares: f64 = ranks.iter().map(|rank| (*rank as f64).powi(2)).sum();
    normal(positive as f64 - all as f64 / 2.0, squares / 4.0)
}

/// How likely the values of one set lie so far above or below those of the other if all come from one.
pub(super) fn mann_whitney(a: &[f64], b: &[f64]) -> f64 {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let ranks = doubled_ranks(&all);
    let sum: usize = ranks.iter().take(a.len()).sum();
    if a.len() <= EXACT && b.len() <= EXACT {
        return both_tails(&sums_of_some(&ranks, a.len()), sum);
    }
    let (left, right, count) = (a.len() as f64, b.len() as f64, all.len() as f64);
    let mean = count + 1.0;
    let spread: f64 = ranks.iter().map(|rank| (*rank as f64 - mean).powi(2)).sum();
    normal(sum as f64 - left * mean, spread * left * right / (count * (count - 1.0)))
}

/// Twice the rank of each value, so that the middle between two ranks is a whole number too.
fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    let below = |limit: f64| values.iter().filter(|value| **value < limit).count();
    let same = |wanted: f64| values.iter().filter(|value| **value == wanted).count();
    values.iter().map(|value| 2 * below(*value) + same(*value) + 1).collect()
}

/// In how many ways, as a share of all, each sum comes about when each rank is counted or not.
fn sums_of_any(ranks: &[usize]) -> Vec<f64> {
    let mut ways = vec![1.0];
    for rank in ranks {
        let mut next = vec![0.0; ways.len() + rank];
        for (sum, share) in ways.iter().enumerate() {
            for at in [sum, sum + rank] {
                if let Some(slot) = next.get_mut(at) {
                    *slot += share / 2.0;
                }
            }
        }
        ways = next;
    }
    ways
}

/// The same when exactly `size` of the ranks are counted.
fn sums_of_some(ranks: &[usize], size: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; size + 1];
    if let Some(slot) = ways.first_mut().and_then(|none| none.first_mut()) {
        *slot = 1.0;
    }
    for rank in ranks {
        for taken in (1..=size).rev() {
            let Some((fewer, this)) = ways.split_at_mut_checked(taken) else { continue };
            let (Some(fewer), Some(this)) = (fewer.last(), this.first_mut()) else { continue };
            for (slot, share) in this.iter_mut().skip(*rank).zip(fewer) {
                *slot += share;
            }
        }
    }
    let last = ways.pop().unwrap_or_default();
    let all: f64 = last.iter().sum();
    last.into_iter().map(|share| share / all).collect()
}

/// Twice the smaller of the chances of at most and of at least `seen`.
fn both_tails(shares: &[f64], seen: usize) -> f64 {
    let low: f64 = shares.iter().take(seen + 1).sum();
    let high: f64 = shares.iter().skip(seen).sum();
    (2.0 * low.min(high)).min(1.0)
}

/// Sums of doubled ranks step by two: half a step is one.
fn normal(off: f64, variance: f64) -> f64 {
    if variance > 0.0 { student::two_sided_normal((off.abs() - 1.0).max(0.0) / variance.sqrt()) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;
    use proptest::prelude::*;

    /// Ranks by sorting, equal values sharing the mean of their places.
    fn ranks_by_sorting(values: &[f64]) -> Vec<f64> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let mean = |value: &f64| {
            let places: Vec<f64> =
                (0..sorted.len()).filter(|at| sorted[*at] == *value).map(|at| at as f64 + 1.0).collect();
            places.iter().sum::<f64>() / places.len() as f64
        };
        values.iter().map(mean).collect()
    }

    /// Twice the smaller tail of all sums, by looking at each.
    fn by_counting(ranks: &[f64], seen: f64, counts: impl Fn(u32) -> bool) -> f64 {
        let (mut all, mut low, mut high) = (0.0, 0.0, 0.0);
        for mask in (0..1_u32 << ranks.len()).filter(|mask| counts(*mask)) {
            let sum: f64 = (0..ranks.len()).filter(|bit| mask >> bit & 1 == 1).map(|bit| ranks[bit]).sum();
            all += 1.0;
            low += f64::from(u8::from(sum <= seen + 1e-9));
            high += f64::from(u8::from(sum >= seen - 1e-9));
        }
        (2.0 * f64::min(low, high) / all).min(1.0)
    }

    fn few(length: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<f64>> {
        // Half of them are small whole numbers, so that there are ties and zeros.
        let value = prop_oneof![(-4..5_i32).prop_map(f64::from), -100.0..100.0_f64];
        prop::collection::vec(value, length)
    }

    proptest! {
        #[test]
        fn wilcoxon_is_the_share_of_all_signs(differences in few(0..11)) {
            let kept: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
            let ranks = ranks_by_sorting(&kept.iter().map(|d| d.abs()).collect::<Vec<_>>());
            let seen = kept.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, rank)| rank).sum();
            let want = by_counting(&ranks, seen, |_| true);
            prop_assert!((wilcoxon(&differences) - want).abs() < 1e-12);
        }

        #[test]
        fn mann_whitney_is_the_share_of_all_divisions(a in few(0..7), b in few(0..7)) {
            let ranks = ranks_by_sorting(&[a.clone(), b.clone()].concat());
            let seen = ranks.iter().take(a.len()).sum();
            let want = by_counting(&ranks, seen, |mask| mask.count_ones() as usize == a.len());
            prop_assert!((mann_whitney(&a, &b) - want).abs() < 1e-9);
            prop_assert!((mann_whitney(&b, &a) - want).abs() < 1e-9);
        }
    }

    /// Critical values as printed in tables, by the p they stand for.
    #[test]
    fn published_values() {
        // Ten differences, all positive but those of the ranks in the list: the sum of the ranks is the statistic.
        let signed = |count: i32, negative: &[i32]| -> Vec<f64> {
            (1..=count).map(|rank| f64::from(if negative.contains(&rank) { -rank } else { rank })).collect()
        };
        for (count, negative, want) in [
            (5, &[][..], 0.0625),
            (6, &[], 0.03125),
            (8, &[], 0.007_812_5),
            (10, &[3], 0.009_765_625),
            (10, &[8], 0.048_828_125),
            (20, &[20, 18, 14], 0.0484),
        ] {
            let got = wilcoxon(&signed(count, negative));
            assert!((got - want).abs() < 5e-5, "{count} {negative:?}: {got}");
        }
        let apart = |a: &[f64], b: &[f64], want: f64| {
            let got = mann_whitney(a, b);
            assert!((got - want).abs() < 1e-12, "{got} for {want}");
        };
        apart(&[1., 2., 3., 4., 5.], &[6., 7., 8., 9., 10.], 2.0 / 252.0);
        apart(&[1., 2., 3., 4., 7.], &[5., 6., 8., 9., 10.], 8.0 / 252.0);
        apart(&[], &[], 1.0);
    }

    /// Where both ways could be gone they lead to the same place, ties included.
    #[test]
    fn the_normal_distribution_takes_over_where_it_is_as_good() {
        let mut dice = Dice::of(1, "ranks", 0);
        for round in 0..40 {
            let mut draw = |count: usize, lift: u64| -> Vec<f64> {
                (0..count).map(|_| (dice.next() % 40 + lift) as f64 - 25.0).collect()
            };
            let (few, many) = (draw(EXACT, 8), draw(EXACT + 1, 8));
            assert!(few.len() <= EXACT && many.len() > EXACT);
            let kept: Vec<f64> = many.iter().copied().filter(|d| *d != 0.0).collect();
            let ranks = doubled_ranks(&kept.iter().map(|d| d.abs()).collect::<Vec<_>>());
            let seen = kept.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, rank)| rank).sum();
            let exact = both_tails(&sums_of_any(&ranks), seen);
            assert!((wilcoxon(&many) - exact).abs() < 0.01, "round {round}");
            let (a, b) = (draw(EXACT + 1, 0), draw(12, 6));
            let ranks = doubled_ranks(&[a.clone(), b.clone()].concat());
            let exact = both_tails(&sums_of_some(&ranks, a.len()), ranks.iter().take(a.len()).sum());
            assert!((mann_whitney(&a, &b) - exact).abs() < 0.01, "round {round}");
        }
    }
}
