//! What a request asks for, read from its query.
//!
//! Pure: text in, a question or a reason to refuse out. Not here: who may ask (`keys`), answers (`serve`).

use std::time::Duration;

/// Items of a catalogue at most; some 4 MB of XML.
pub(crate) const ITEMS_MAX: u32 = 10_000;

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    /// How long the answer takes.
    pub(crate) delay: Duration,
    /// How many items it has.
    pub(crate) items: u32,
}

/// Reads `delay=20ms&items=50`; other variables are nobody's business.
pub(crate) fn ask(query: &str, delay_max: Duration) -> Result<Ask, String> {
    let mut ask = Ask { delay: Duration::from_millis(20), items: 50 };
    for (name, value) in query.split('&').filter_map(|part| part.split_once('=')) {
        match name {
            "delay" => {
                ask.delay = duration(value)?;
                if ask.delay > delay_max {
                    return Err(format!("a delay of {value} is longer than the longest, {delay_max:?}"));
                }
            }
            "items" => {
                ask.items = value
                    .parse()
                    .ok()
                    .filter(|n| (1..=ITEMS_MAX).contains(n))
                    .ok_or_else(|| format!("items is a number from 1 to {ITEMS_MAX}"))?;
            }
            _ => {}
        }
    }
    Ok(ask)
}

/// A time like `250ms` or `2s`, up to an hour.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "a time is like 250ms or 2s, an hour at most".to_string();
    let (digits, unit_ms) = match text.strip_suffix("ms") {
        Some(digits) => (digits, 1),
        None => (text.strip_suffix('s').ok_or_else(wrong)?, 1000),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let ms = number.checked_mul(unit_ms).filter(|ms| *ms <= 3_600_000).ok_or_else(wrong)?;
    Ok(Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_asked() {
        let minute = Duration::from_secs(60);
        let of = |query: &str| ask(query, minute).map(|a| (a.delay.as_millis(), a.items)).ok();
        assert_eq!(of(""), Some((20, 50)));
        assert_eq!(of("delay=2s&items=3"), Some((2000, 3)));
        assert_eq!(of("items=3&utm=x&delay=0ms"), Some((0, 3)));
        for wrong in [
            "delay=61s",
            "delay=x",
            "delay=-1ms",
            "delay=99999999999999999999s",
            "items=0",
            "items=10001",
            "items=",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_query_makes_it_panic(query in "\\PC{0,60}") {
            let _ = ask(&query, Duration::from_secs(1));
        }
    }
}
