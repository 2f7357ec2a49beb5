//! How much load, as people type it: `2k`, `500/m`, `1k,2k,5k@30s`, `1..125:+5@5m`.
//!
//! Not here: phases ([`crate::pacer`]).

use std::time::Duration;

use super::size;

/// Steps at most: more are a mistake in the typing.
const STEPS_MAX: usize = 10_000;

/// Levels of load, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    /// Each level.
    pub levels: Vec<f64>,
    /// How long each is held.
    pub hold: Duration,
    /// Whether they are requests per second, and not clients.
    pub rates: bool,
}

/// Reads a number with `k` or `M`.
fn number(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is not a number; write 500, 2k or 1.5M");
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => text.strip_suffix('M').map_or((text, 1.0), |digits| (digits, 1e6)),
    };
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value: f64 = digits.parse().ok().filter(|_| plain).ok_or_else(wrong)?;
    if value * factor > 1e9 {
        Err(format!("`{text}` is more than any machine does"))
    } else {
        Ok(value * factor)
    }
}

/// Reads requests per second: `2k`, `2k/s`, `500/m`, `90/h`.
///
/// # Errors
/// A sentence for the person at the command line.
pub fn rate(text: &str) -> Result<f64, String> {
    let (digits, per_s) = match text.split_once('/') {
        None => (text, 1.0),
        Some((digits, "s")) => (digits, 1.0),
        Some((digits, "m" | "min")) => (digits, 60.0),
        Some((digits, "h")) => (digits, 3600.0),
        Some(_) => return Err(format!("`{text}` is not a rate; write 2k, 2k/s or 500/m")),
    };
    match number(digits)? / per_s {
        rate if rate > 0.0 => Ok(rate),
        _ => Err(format!("`{text}`: a rate of nothing sends nothing")),
    }
}

/// Reads steps: `1k,2k,5k@30s` are requests per second, `10c,20c,40c@1m` clients.
///
/// # Errors
/// A sentence for the person at the command line.
pub fn steps(text: &str) -> Result<Levels, String> {
    let (list, hold) = held(text, "1k,2k,5k@30s for requests per second, 10c,20c@30s for clients")?;
    let rates = !list.contains('c');
    let level = |text: &str| match (rates, text.trim().strip_suffix('c')) {
        (true, _) => rate(text.trim()),
        (false, Some(count)) => clients(count),
        (false, None) => Err(format!("`{text}`: either all steps are clients, as in 10c, or none")),
    };
    let levels = list.split(',').map(level).collect::<Result<Vec<f64>, String>>()?;
    Ok(Levels { levels, hold, rates })
}

/// Reads a ramp: `1..125:+5@5m` are clients, `100..2k/s:+100@30s` requests per second. The last step is the end of the range.
///
/// # Errors
/// A sentence for the person at the command line.
pub fn ramp(text: &str) -> Result<Levels, String> {
    const EXAMPLE: &str = "1..125:+5@5m for clients, 100..2k/s:+100@30s for requests per second";
    let wrong = || format!("`{text}` is not a ramp; write {EXAMPLE}");
    let (range, hold) = held(text, EXAMPLE)?;
    let (ends, step) = range.split_once(":+").ok_or_else(wrong)?;
    let (from, to) = ends.split_once("..").ok_or_else(wrong)?;
    let (to, rates) = to.strip_suffix("/s").map_or((to, false), |to| (to, true));
    let level = |text: &str| if rates { rate(text.trim_end_matches("/s")) } else { clients(text) };
    let (from, to, step) = (level(from)?, level(to)?, level(step)?);
    if from > to {
        return Err(format!("`{text}`: a ramp goes upwards"));
    }
    let whole = ((to - from) / step).floor();
    if whole >= STEPS_MAX as f64 {
        return Err(format!("`{text}` has more than {STEPS_MAX} steps"));
    }
    let mut levels: Vec<f64> = (0..=whole as u32).map(|at| from + f64::from(at) * step).collect();
    if levels.last().is_some_and(|last| *last < to) {
        levels.push(to);
    }
    Ok(Levels { levels, hold, rates })
}

fn clients(text: &str) -> Result<f64, String> {
    let count = number(text.trim())?;
    if count < 1.0 || count.fract() != 0.0 || count > 1e6 {
        return Err(format!("`{text}` is not a number of clients, from 1 to 1M"));
    }
    Ok(count)
}

/// What stands before the `@`, and the time behind it.
fn held<'t>(text: &'t str, example: &str) -> Result<(&'t str, Duration), String> {
    let (what, time) = text
        .rsplit_once('@')
        .ok_or_else(|| format!("`{text}` does not say how long each step is held; write {example}"))?;
    let hold = size::duration(time)?;
    if hold < Duration::from_millis(10) {
        return Err(format!("`{text}`: {time} is too short to measure anything"));
    }
    Ok((what, hold))
}

/// How long a step is held before it is measured, if nobody says: 2 seconds or a tenth, whichever is more, but never more
/// than half.
pub fn settle(hold: Duration) -> Duration {
    (hold / 10).max(Duration::from_secs(2)).min(hold / 2)
}

/// Reads a pause: `500ms`, or between two: `1s..3s`.
///
/// # Errors
/// A sentence for the person at the command line.
pub fn pause(text: &str) -> Result<(Duration, Duration), String> {
    let (low, high) = match text.split_once("..") {
        Some((low, high)) => (size::duration(low)?, size::duration(high)?),
        None => {
            let both = size::duration(text)?;
            (both, both)
        }
    };
    if low > high { Err(format!("`{text}`: the shorter pause comes first")) } else { Ok((low, high)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        for (text, want) in
            [("500", 500.0), ("2k", 2000.0), ("1.5M", 1.5e6), ("2k/s", 2000.0), ("30/m", 0.5), ("36/h", 0.01)]
        {
            assert_eq!(rate(text), Ok(want), "{text}");
        }
        for text in ["", "k", "0", "-1", "1e3", "2k/d", "x/s", "99999M", "1..2"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ramps() {
        let paper = ramp("1..125:+5@5m").unwrap();
        assert_eq!((paper.levels.len(), paper.rates, paper.hold), (26, false, Duration::from_secs(300)));
        assert_eq!(
            (paper.levels[0], paper.levels[1], paper.levels[24], paper.levels[25]),
            (1.0, 6.0, 121.0, 125.0)
        );
        assert_eq!(ramp("10..30:+10@1s").unwrap().levels, [10.0, 20.0, 30.0]);
        let open = ramp("100..250/s:+100@1s").unwrap();
        assert_eq!((open.levels, open.rates), (vec![100.0, 200.0, 250.0], true));
        for text in [
            "",
            "1..5",
            "1..5@1s",
            "1-5:+1@1s",
            "5..1:+1@1s",
            "1..5:+0@1s",
            "1..1M:+1@1s",
            "0..5:+1@1s",
            "1..5:+1@1ms",
        ] {
            assert!(ramp(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lists_of_steps() {
        let open = steps("1k, 2k,5k@30s").unwrap();
        assert_eq!((open.levels, open.rates), (vec![1000.0, 2000.0, 5000.0], true));
        let closed = steps("10c,20c@30s").unwrap();
        assert_eq!((closed.levels, closed.rates), (vec![10.0, 20.0], false));
        for text in ["1k", "1k,@3s", "10c,5@3s", "0c@3s", "1.5c@3s"] {
            assert!(steps(text).is_err(), "{text}");
        }
    }

    #[test]
    fn pauses_and_settling() {
        let s = Duration::from_secs;
        assert_eq!(pause("1s..3s"), Ok((s(1), s(3))));
        assert_eq!(pause("2s"), Ok((s(2), s(2))));
        assert!(pause("3s..1s").is_err());
        assert_eq!([3, 10, 60].map(|hold| settle(s(hold)).as_millis()), [1500, 2000, 6000]);
    }
}
