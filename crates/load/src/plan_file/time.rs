//! Times as they stand in a plan: `"30s"`, `"500ms"`, `"1.5m"`, `"2h"`, to and from milliseconds, exactly.
//!
//! Not here: times on the command line (`plan::size`), which may be rounded.

/// In milliseconds; `None` is no time, or no whole number of them.
pub(super) fn read(text: &str) -> Option<u64> {
    u64::try_from(read_wide(text)?).ok()
}

/// In whole seconds.
pub(super) fn read_seconds(text: &str) -> Option<u64> {
    let ms = read_wide(text)?;
    ms.is_multiple_of(1_000).then(|| u64::try_from(ms / 1_000).ok()).flatten()
}

fn read_wide(text: &str) -> Option<u128> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(at);
    let factor: u128 = match unit.trim_start() {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    // More digits than a number of these has are no time that anyone means.
    if whole.is_empty() || fraction.is_empty() || whole.len() > 20 || fraction.len() > 9 {
        return None;
    }
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let parts = fraction.parse::<u128>().ok()? * factor;
    parts.is_multiple_of(scale).then_some(())?;
    (whole.parse::<u128>().ok()? * factor).checked_add(parts / scale)
}

/// With the largest unit that leaves no rest.
pub(super) fn write(ms: u64) -> String {
    match [("h", 3_600_000), ("m", 60_000), ("s", 1_000)].iter().find(|(_, unit)| ms.is_multiple_of(*unit)) {
        Some((unit, length)) if ms > 0 => format!("{}{unit}", ms / length),
        Some(_) => "0s".to_owned(),
        None => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn table() {
        for (text, ms) in [
            ("30s", Some(30_000)),
            ("500ms", Some(500)),
            ("1.5m", Some(90_000)),
            ("2 h", Some(7_200_000)),
            ("0s", Some(0)),
            ("0.001s", Some(1)),
            ("0.5ms", None),
            ("0.0001s", None),
            ("30", None),
            ("", None),
            ("s", None),
            (".5s", None),
            ("1.s", None),
            ("1.2.3s", None),
            ("-1s", None),
            ("1e3s", None),
            ("1d", None),
            ("18446744073709551615ms", Some(u64::MAX)),
            ("18446744073709551616ms", None),
            ("18446744073709551615h", None),
            ("99999999999999999999999s", None),
        ] {
            assert_eq!(read(text), ms, "{text}");
        }
        assert_eq!(read_seconds("18446744073709551615s"), Some(u64::MAX));
        assert_eq!((read_seconds("1500ms"), read_seconds("0.5m")), (None, Some(30)));
        for (ms, text) in [(0, "0s"), (500, "500ms"), (90_000, "90s"), (120_000, "2m"), (3_600_000, "1h")] {
            assert_eq!(write(ms), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(ms in prop_oneof![any::<u64>(), (0u64..100).prop_map(|n| n * 60_000)]) {
            prop_assert_eq!(read(&write(ms)), Some(ms));
        }
    }
}
