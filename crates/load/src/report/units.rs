//! Numbers as people read them: `12,345`, `1.37 s`, `31.2 MB`.
//!
//! Not here: layout.

/// `12345678` as `12,345,678`.
pub fn whole(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 thread`, `2 threads`.
pub fn many(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", whole(number), if number == 1 { "" } else { "s" })
}

/// A text without what a terminal would obey: labels, names and messages come from files and from servers.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect()
}

/// A rate: no decimals from ten on.
pub fn rate(number: f64) -> String {
    if !number.is_finite() {
        "-".to_owned()
    } else if number >= 9.95 {
        whole(number.round() as u64)
    } else {
        format!("{number:.1}")
    }
}

/// A level of load as it was asked for: `125`, or `0.5`.
pub fn level(level: f64) -> String {
    match level {
        level if level.fract() == 0.0 => whole(level.max(0.0) as u64),
        // Levels of a search are close together; they must not look the same.
        level if (9.95..1000.0).contains(&level) => format!("{level:.1}"),
        level => rate(level),
    }
}

/// A time given in microseconds, three digits.
pub fn time(us: f64) -> String {
    if us < 999.5 {
        format!("{} µs", three(us))
    } else if us < 999_500.0 {
        format!("{} ms", three(us / 1e3))
    } else if us < 600e6 {
        format!("{} s", three(us / 1e6))
    } else {
        format!("{} min", three(us / 60e6))
    }
}

/// A number of bytes in powers of 1000.
pub fn bytes(bytes: f64) -> String {
    for (unit, size) in [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)] {
        if bytes >= size * 0.9995 {
            return format!("{} {unit}", three(bytes / size));
        }
    }
    format!("{bytes:.0} B")
}

/// A share in percent.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 99.0 && percent < 100.0 { format!("{percent:.2} %") } else { format!("{percent:.1} %") }
}

/// How many times as much: `31.2 ×`.
pub fn times(ratio: f64) -> String {
    if !ratio.is_finite() {
        "-".to_owned()
    } else if ratio >= 99.95 {
        format!("{} ×", whole(ratio.round() as u64))
    } else {
        format!("{} ×", three(ratio))
    }
}

/// Three significant digits for numbers below 1000.
fn three(number: f64) -> String {
    if number >= 99.95 || number == 0.0 {
        format!("{number:.0}")
    } else if number >= 9.995 {
        format!("{number:.1}")
    } else {
        format!("{number:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_terminals_obey_is_taken_out() {
        assert_eq!(printable("a\u{1b}[2Jb\tc\nd\re\u{9b}1m é"), "a\u{fffd}[2Jb\tc\nd\u{fffd}e\u{fffd}1m é");
    }

    #[test]
    fn table() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(whole), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.0, 9.94, 9.96, 1234.5].map(rate), ["0.0", "9.9", "10", "1,235"]);
        let times_us = [0.0, 5.0, 42.25, 999.4, 999.6, 1_371_000.0, 59_000_000.0, 7.2e9];
        let want = ["0 µs", "5.00 µs", "42.2 µs", "999 µs", "1.00 ms", "1.37 s", "59.0 s", "120 min"];
        assert_eq!(times_us.map(time), want);
        assert_eq!(
            [0.0, 999.0, 1000.0, 31_186_000.0, 5.4e9].map(bytes),
            ["0 B", "999 B", "1.00 kB", "31.2 MB", "5.40 GB"]
        );
        assert_eq!([0.5, 0.9995, 1.0].map(percent), ["50.0 %", "99.95 %", "100.0 %"]);
        assert_eq!([1.0, 31.23, 312.4, f64::INFINITY].map(times), ["1.00 ×", "31.2 ×", "312 ×", "-"]);
    }
}
