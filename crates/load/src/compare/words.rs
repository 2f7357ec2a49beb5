//! Differences as people say them: `4.5 % more`, `31.2 times as much`.
//!
//! Not here: sentences and tables ([`super::text`]).

/// A logarithm of a ratio as per cent of one; never beyond what JSON and people can hold.
pub(super) fn percent_of(log: f64) -> f64 {
    (log.exp_m1() * 100.0).min(1e9)
}

/// A logarithm as a ratio.
pub(super) fn ratio_of(log: f64) -> f64 {
    log.exp().clamp(1e-12, 1e12)
}

/// A size in per cent: two digits, none that are zeros by nature, and a factor from the double on.
pub(super) fn percent(percent: f64) -> String {
    if percent < 0.005 {
        "0 %".to_owned()
    } else if percent < 0.095 {
        format!("{percent:.2} %")
    } else if percent < 9.95 && percent.fract() != 0.0 {
        format!("{percent:.1} %")
    } else if percent < 99.5 {
        format!("{percent:.0} %")
    } else if percent < 1e6 {
        format!("{} ×", digits(1.0 + percent / 100.0))
    } else {
        "any size".to_owned()
    }
}

/// A ratio as a change.
pub(super) fn change(ratio: f64) -> String {
    if ratio >= 2.0 || ratio <= 0.5 {
        format!("{} times as much", digits(ratio))
    } else {
        let word = if ratio >= 1.0 { "more" } else { "less" };
        format!("{} {word}", percent((ratio - 1.0).abs() * 100.0))
    }
}

/// A ratio in the table.
pub(super) fn ratio(ratio: f64) -> String {
    if (0.1..9.9995).contains(&ratio) { format!("{ratio:.3}") } else { digits(ratio) }
}

fn digits(number: f64) -> String {
    if number >= 99.95 {
        format!("{number:.0}")
    } else if number >= 9.995 {
        format!("{number:.1}")
    } else if number >= 0.01 {
        format!("{number:.2}")
    } else {
        format!("{number:.1e}")
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        let sizes = [0.0, 0.004, 0.05, 1.23, 2.0, 9.96, 99.0, 150.0, 4246.0, 1e9].map(percent);
        let want = ["0 %", "0 %", "0.05 %", "1.2 %", "2 %", "10 %", "99 %", "2.50 ×", "43.5 ×", "any size"];
        assert_eq!(sizes, want);
        let changes = [1.0, 1.045, 0.96, 1.99, 2.0, 0.5, 31.234, 12_857.0, 0.004].map(change);
        assert_eq!(
            changes,
            [
                "0 % more",
                "4.5 % more",
                "4.0 % less",
                "99 % more",
                "2.00 times as much",
                "0.50 times as much",
                "31.2 times as much",
                "12857 times as much",
                "4.0e-3 times as much"
            ]
        );
        assert_eq!([1.0, 0.98765, 12.345, 0.05].map(ratio), ["1.000", "0.988", "12.3", "0.05"]);
        let words: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
        assert_eq!([0, 1, 2, 3].map(|n| list(&words[..n])), ["", "a", "a and b", "a, b and c"]);
    }

    #[test]
    fn logarithms_stay_within_bounds() {
        assert!((percent_of(0.02_f64.ln_1p()) - 2.0).abs() < 1e-12);
        assert_eq!((percent_of(1e3), ratio_of(1e3), ratio_of(-1e3)), (1e9, 1e12, 1e-12));
    }
}
