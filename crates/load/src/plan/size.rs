//! Durations as people type them: `10s`, `500ms`, `1.5m`, `2h`, a bare number of seconds.
//!
//! Not here: how a duration is used.

use std::time::Duration;

/// Reads a duration.
///
/// # Errors
/// A sentence for the person at the command line.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration; write 10s, 500ms, 2m or 1h");
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let plain = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let value: f64 = number.parse().ok().filter(|_| plain).ok_or_else(wrong)?;
    let seconds = match unit {
        "ms" => value / 1e3,
        "s" | "" => value,
        "m" | "min" => value * 60.0,
        "h" => value * 3600.0,
        _ => return Err(wrong()),
    };
    // A year is more than any run; the bound keeps later sums far from overflow.
    if seconds > 366.0 * 86_400.0 {
        return Err(format!("`{text}` is longer than a year"));
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

/// A duration as nanoseconds.
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        for (text, ms) in
            [("10s", 10_000), ("500ms", 500), ("2m", 120_000), ("1.5", 1_500), ("1h", 3_600_000), ("0", 0)]
        {
            assert_eq!(duration(text).unwrap().as_millis(), ms, "{text}");
        }
        for text in ["", "s", "10 s", "-1s", "1e3s", "10x", "nan", "inf", "1.2.3s", "99999h", "10µs"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
