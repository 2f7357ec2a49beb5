//! Student's t: how likely a value so far out is by chance, and how far out a share of chance reaches.
//!
//! Written out because it is all of a statistics library that is needed here: the distribution is a regularised
//! incomplete beta function, that is a continued fraction, and the quantile is its inverse by Newton's method, kept
//! inside a bracket. Any number of degrees of freedom, whole or not: Welch's test asks for broken ones.
//!
//! Pure. Not here: what is tested ([`super::sample`]).

/// So many degrees of freedom are the normal distribution to six digits.
const NORMAL: f64 = 1e6;
/// Relative precision of the continued fraction.
const PRECISION: f64 = 1e-15;
/// Nothing further out is told apart from it.
const FARTHEST: f64 = 1e150;

/// How likely a value at least as far from zero as `t` is, on either side.
pub(super) fn two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_nan() || freedom.is_nan() || freedom <= 0.0 {
        return 1.0;
    }
    let square = t * t;
    if square.is_infinite() {
        return 0.0;
    }
    incomplete_beta(freedom / (freedom + square), freedom / 2.0, 0.5)
}

/// The same of the normal distribution.
pub(super) fn two_sided_normal(z: f64) -> f64 {
    two_sided(z, NORMAL)
}

/// The value that chance exceeds on either side with the probability `two_sided_p`.
pub(super) fn quantile(two_sided_p: f64, freedom: f64) -> f64 {
    // `!(a && b)` rather than the opposites: NaN must not get past.
    if !(two_sided_p < 1.0 && freedom > 0.0) {
        return 0.0;
    }
    if two_sided_p <= 0.0 {
        return FARTHEST;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided(high, freedom) > two_sided_p && high < FARTHEST {
        low = high;
        high *= 2.0;
    }
    let mut t: f64 = (low + high) / 2.0;
    for _ in 0..200 {
        let excess = two_sided(t, freedom) - two_sided_p;
        if excess > 0.0 {
            low = t
        } else {
            high = t
        }
        let next = t + excess / (2.0 * density(t, freedom));
        let next = if next > low && next < high { next } else { (low + high) / 2.0 };
        if (next - t).abs() <= 1e-12 * t.abs() {
            return next;
        }
        t = next;
    }
    t
}

fn density(t: f64, freedom: f64) -> f64 {
    let log = ln_gamma((freedom + 1.0) / 2.0)
        - ln_gamma(freedom / 2.0)
        - 0.5 * (freedom * std::f64::consts::PI).ln()
        - (freedom + 1.0) / 2.0 * (t * t / freedom).ln_1p();
    log.exp()
}

/// The share of the beta distribution of `a` and `b` below `x`.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let log = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln();
    // The fraction converges quickly on this side of the mean only; the other side is the rest.
    let share = if x < (a + 1.0) / (a + b + 2.0) {
        log.exp() / a * fraction(x, a, b)
    } else {
        1.0 - log.exp() / b * fraction(1.0 - x, b, a)
    };
    share.clamp(0.0, 1.0)
}

/// The continued fraction of the incomplete beta function (DLMF 8.17.22), evaluated by Lentz's method.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let keep_off_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / keep_off_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for step in 1..20_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = value;
        for term in [even, odd] {
            d = 1.0 / keep_off_zero(1.0 + term * d);
            c = keep_off_zero(1.0 + term / c);
            value *= d * c;
        }
        if (value - before).abs() <= PRECISION * value.abs() {
            break;
        }
    }
    value
}

/// The logarithm of the gamma function for positive arguments: Stirling's series, begun where it is good.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < 10.0 {
        below += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = inverse
        * (1.0 / 12.0
            - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0))));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - below
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The rows of the tables at the end of every book: degrees of freedom, and t for two-sided 10, 5, 1 and 0.1 %.
    const TABLE: [(f64, [f64; 4]); 9] = [
        (1.0, [6.314, 12.706, 63.657, 636.619]),
        (2.0, [2.920, 4.303, 9.925, 31.599]),
        (3.0, [2.353, 3.182, 5.841, 12.924]),
        (4.0, [2.132, 2.776, 4.604, 8.610]),
        (9.0, [1.833, 2.262, 3.250, 4.781]),
        (19.0, [1.729, 2.093, 2.861, 3.883]),
        (30.0, [1.697, 2.042, 2.750, 3.646]),
        (120.0, [1.658, 1.980, 2.617, 3.373]),
        (1e6, [1.645, 1.960, 2.576, 3.291]),
    ];

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, row) in TABLE {
            for (p, want) in [0.1, 0.05, 0.01, 0.001].into_iter().zip(row) {
                let got = quantile(p, freedom);
                assert!((got - want).abs() < 0.000_6 * want.max(1.0), "{freedom}, {p}: {got} for {want}");
            }
        }
    }

    #[test]
    fn the_ends() {
        assert_eq!((two_sided(0.0, 5.0), two_sided(f64::INFINITY, 5.0)), (1.0, 0.0));
        assert_eq!(
            (two_sided(f64::NAN, 5.0), two_sided(1.0, 0.0), two_sided(1.0, f64::NAN)),
            (1.0, 1.0, 1.0)
        );
        assert_eq!((quantile(1.0, 5.0), quantile(f64::NAN, 5.0), quantile(0.05, f64::NAN)), (0.0, 0.0, 0.0));
        assert!(quantile(0.0, 5.0) > 1e100 && quantile(1e-300, 1.0).is_finite());
        assert!((two_sided_normal(1.959_964) - 0.05).abs() < 1e-6);
    }

    /// The area under the bell, by Simpson's rule over the angle whose tangent is t: the oracle for broken degrees.
    fn by_area(t: f64, freedom: f64) -> f64 {
        let area = |from: f64, to: f64| {
            let height = |angle: f64| angle.cos().powf(freedom - 1.0);
            let (steps, width) = (4_000, (to - from) / 4_000.0);
            let inner: f64 = (1..steps)
                .map(|step| height(from + width * f64::from(step)) * if step % 2 == 1 { 4.0 } else { 2.0 })
                .sum();
            (height(from) + inner + height(to)) * width / 3.0
        };
        let right = std::f64::consts::FRAC_PI_2;
        area((t.abs() / freedom.sqrt()).atan(), right) / area(0.0, right)
    }

    proptest! {
        #[test]
        fn is_the_area_under_the_bell(t in -12.0..12.0_f64, freedom in 2.5..80.0_f64) {
            let (got, want) = (two_sided(t, freedom), by_area(t, freedom));
            prop_assert!((got - want).abs() < 1e-6, "{got} for {want}");
        }

        /// One and two degrees of freedom have closed forms, exact far out in the tail.
        #[test]
        fn is_exact_where_there_is_a_formula(exponent in -6.0..9.0_f64) {
            let t = 10_f64.powf(exponent);
            let right = std::f64::consts::FRAC_PI_2;
            let one = if t < 1.0 { 1.0 - t.atan() / right } else { t.recip().atan() / right };
            // 1 - t / √(2 + t²), written so that nothing cancels.
            let root = (2.0 + t * t).sqrt();
            let two = 2.0 / (root * (root + t));
            for (freedom, want) in [(1.0, one), (2.0, two)] {
                let got = two_sided(t, freedom);
                prop_assert!((got - want).abs() <= 1e-9 * want, "{freedom}: {got} for {want}");
                let back = quantile(want, freedom);
                // Near the middle p hardly tells t.
                prop_assert!(t < 1e-3 || (back - t).abs() <= 1e-6 * t, "{freedom}: {back} for {t}");
            }
        }

        #[test]
        fn quantile_and_probability_undo_each_other(p in 1e-12..0.999_f64, freedom in 0.7..5_000.0_f64) {
            let back = two_sided(quantile(p, freedom), freedom);
            prop_assert!((back - p).abs() <= 1e-7 * p, "{back} for {p}");
        }
    }
}
