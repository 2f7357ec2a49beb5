//! How throughput grows with clients, as the Universal Scalability Law has it: contention and coherency fitted to the steps of
//! a closed loop.
//!
//! X(N) = λN / (1 + σ(N−1) + κN(N−1)). Turned over, N/X is a sum of 1, N and N(N−1) with coefficients that cannot be
//! negative: least squares without iteration. Pure. Not here: whether the steps are fit for it.

/// A fit whose rates are off by more than this, as a root of mean squares, is not shown.
const ERROR_MAX: f64 = 0.05;
/// Three numbers are fitted: fewer steps than this always fit.
const STEPS_MIN: usize = 5;

/// The law, fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    /// λ: answers per second of one client alone.
    pub alone_per_s: f64,
    /// σ: the share of the work that only one can do at a time.
    pub contention: f64,
    /// κ: what each pair costs to be kept in step.
    pub coherency: f64,
    /// How far the rates are from the curve: root of the mean square of the relative differences.
    pub error: f64,
}

impl Usl {
    /// Answers per second of so many clients.
    pub fn at(&self, clients: f64) -> f64 {
        let beside = clients - 1.0;
        self.alone_per_s * clients / (1.0 + self.contention * beside + self.coherency * clients * beside)
    }

    /// The number of clients that gets most answers, if more than that get fewer.
    pub fn peak(&self) -> Option<f64> {
        (self.coherency > 0.0).then(|| ((1.0 - self.contention) / self.coherency).sqrt())
    }
}

/// Fits the law to pairs of clients and answers per second; `None` if they do not follow it, or are too few.
pub fn fit(points: &[(f64, f64)]) -> Option<Usl> {
    let good = |(n, x): &&(f64, f64)| *n >= 1.0 && *x > 0.0 && n.is_finite() && x.is_finite();
    let points: Vec<(f64, f64)> = points.iter().filter(good).copied().collect();
    let mut loads: Vec<f64> = points.iter().map(|(n, _)| *n).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    let most = loads.last().copied().filter(|_| loads.len() >= STEPS_MIN)?;
    let best =
        subsets().filter_map(|used| solve(&points, most, used)).min_by(|a, b| a.error.total_cmp(&b.error))?;
    (best.error <= ERROR_MAX).then_some(best)
}

/// Which of the three terms take part: with the rest at zero, the best of all is the best that has no negative one.
fn subsets() -> impl Iterator<Item = [bool; 3]> {
    (1_u8..8).map(|bits| [bits & 1 > 0, bits & 2 > 0, bits & 4 > 0])
}

/// Weighted least squares over the terms in use. Each difference counts as a share of its rate, so that the rates of few
/// clients count as much as those of many.
fn solve(points: &[(f64, f64)], most: f64, used: [bool; 3]) -> Option<Usl> {
    // Scaled to 1, so that N² of thousands of clients does not drown the rest.
    let terms = |n: f64| [1.0, n / most, n * (n - 1.0) / (most * most)];
    let mut matrix = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for (n, x) in points {
        let weight = x / n;
        let row = terms(*n).map(|term| term * weight);
        for ((cells, mine), sum) in matrix.iter_mut().zip(row).zip(&mut right) {
            cells.iter_mut().zip(row).for_each(|(cell, theirs)| *cell += mine * theirs);
            *sum += mine;
        }
    }
    for (at, (cells, sum)) in matrix.iter_mut().zip(&mut right).enumerate() {
        for (other, (cell, is_used)) in cells.iter_mut().zip(used).enumerate() {
            let both = is_used && used.get(at) == Some(&true);
            *cell = if both { *cell } else { f64::from(u8::from(other == at)) };
        }
        *sum = if used.get(at) == Some(&true) { *sum } else { 0.0 };
    }
    let [a, b, c] = cramer(matrix, right)?;
    let (b, c) = (b / most, c / (most * most));
    let alone = a + b;
    if [a, b, c].iter().any(|n| !n.is_finite() || *n < 0.0) || alone <= 0.0 {
        return None;
    }
    let law = Usl { alone_per_s: 1.0 / alone, contention: b / alone, coherency: c / alone, error: 0.0 };
    let off: f64 = points.iter().map(|(n, x)| (law.at(*n) / x - 1.0).powi(2)).sum();
    Some(Usl { error: (off / points.len() as f64).sqrt(), ..law }).filter(|law| law.error.is_finite())
}

fn cramer(m: [[f64; 3]; 3], right: [f64; 3]) -> Option<[f64; 3]> {
    let det = |m: [[f64; 3]; 3]| {
        let [[a, b, c], [d, e, f], [g, h, i]] = m;
        a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    };
    let whole = det(m);
    let [r0, r1, r2] = m;
    let [x, y, z] = right;
    let with = |at: usize| {
        let put = |mut row: [f64; 3], value: f64| {
            if let Some(cell) = row.get_mut(at) {
                *cell = value;
            }
            row
        };
        det([put(r0, x), put(r1, y), put(r2, z)]) / whole
    };
    (whole.abs() > 1e-12).then(|| [with(0), with(1), with(2)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The law as its author writes it, apart from the code above.
    fn law(n: f64, alone: f64, sigma: f64, kappa: f64) -> f64 {
        alone * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
    }

    const LOADS: [f64; 12] = [1.0, 6.0, 11.0, 16.0, 21.0, 31.0, 41.0, 51.0, 66.0, 81.0, 101.0, 126.0];

    #[test]
    fn table() {
        let points = |of: fn(f64) -> f64| LOADS.map(|n| (n, of(n)));
        let exact = fit(&points(|n| law(n, 995.65, 0.0267, 0.000769))).unwrap();
        assert!((exact.alone_per_s - 995.65).abs() < 0.1 && exact.error < 1e-6, "{exact:?}");
        assert!((exact.contention - 0.0267).abs() < 1e-5 && (exact.coherency - 0.000769).abs() < 1e-7);
        assert!((exact.peak().unwrap() - 35.58).abs() < 0.1, "{exact:?}");
        // As much for twice as many, for ever.
        let linear = fit(&points(|n| 50.0 * n)).unwrap();
        assert!(linear.contention < 1e-6 && (linear.alone_per_s - 50.0).abs() < 1e-3, "{linear:?}");
        assert!(linear.peak().is_none_or(|peak| peak > 1e4));
        // Neither is a shape of the law: a cliff, and a saw.
        assert_eq!(fit(&points(|n| if n < 40.0 { 100.0 * n } else { 50.0 })), None);
        assert_eq!(fit(&points(|n| if n % 2.0 == 0.0 { 100.0 } else { 200.0 })), None);
        assert_eq!(fit(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 4.0)]), None, "too few");
        assert_eq!(fit(&[(5.0, 9.0); 20]), None, "one level is no curve");
    }

    proptest! {
        #[test]
        fn what_was_put_in_comes_out_in_spite_of_noise(
            alone in 1.0..1e5_f64, sigma in 0.0..0.5_f64, kappa in 0.0..0.01_f64,
            noise in prop::collection::vec(-0.02..0.02_f64, LOADS.len()),
        ) {
            let points: Vec<(f64, f64)> =
                LOADS.iter().zip(noise).map(|(n, noise)| (*n, law(*n, alone, sigma, kappa) * (1.0 + noise))).collect();
            let found = fit(&points).unwrap();
            prop_assert!(found.error < 0.03, "{:?}", found);
            // The numbers may share the blame among them; the curve may not be elsewhere.
            for n in [1.0, 9.0, 35.0, 110.0] {
                let off = found.at(n) / law(n, alone, sigma, kappa) - 1.0;
                prop_assert!(off.abs() < 0.05, "{} off by {}: {:?}", n, off, found);
            }
            prop_assert!(found.contention >= 0.0 && found.coherency >= 0.0);
        }

        #[test]
        fn noise_alone_is_no_law(rates in prop::collection::vec(prop_oneof![1.0..2.0_f64, 50.0..99.0_f64], 12)) {
            let high = rates.iter().filter(|rate| **rate > 10.0).count();
            prop_assume!((4..=8).contains(&high));
            let mixed: Vec<(f64, f64)> = LOADS.iter().copied().zip(rates).collect();
            if let Some(found) = fit(&mixed) {
                for (n, x) in &mixed {
                    prop_assert!((found.at(*n) / x - 1.0).abs() < 0.2);
                }
            }
        }

        #[test]
        fn whatever_a_file_holds(points in prop::collection::vec((prop::num::f64::ANY, prop::num::f64::ANY), 0..20)) {
            if let Some(found) = fit(&points) {
                prop_assert!(found.error <= 0.05 && found.alone_per_s > 0.0);
            }
        }
    }
}
