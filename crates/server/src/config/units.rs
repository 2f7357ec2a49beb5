//! Durations and sizes as people write them: `250ms`, `1h30m`, `4 GiB`, `25%`. Pure.
//!
//! A duration always has a unit; a size without one is in bytes. Powers of two only have the `i` (`KiB`);
//! `KB` and `MB` are powers of ten, as on a disk's label.

/// Units of durations, largest first, in milliseconds.
const DURATIONS: &[(&str, u64)] =
    &[("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Units of sizes, in bytes.
const SIZES: &[(&str, u64)] = &[
    ("b", 1),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
];

/// A duration in milliseconds: one or more numbers with units, largest first, each unit once.
pub(crate) fn duration_ms(text: &str) -> Result<u64, String> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err("is empty".to_owned());
    }
    let mut total: u64 = 0;
    let mut below = u64::MAX;
    while !rest.is_empty() {
        let (number, after) = take_number(rest)?;
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let Some(&(_, ms)) = DURATIONS.iter().find(|(u, _)| *u == unit) else {
            return Err(if unit.is_empty() {
                "has no unit".to_owned()
            } else {
                format!("has the unknown unit `{unit}`")
            });
        };
        if ms >= below {
            return Err("names its units twice or not from large to small".to_owned());
        }
        below = ms;
        total = number.checked_mul(ms).and_then(|n| n.checked_add(total)).ok_or("is too large")?;
        rest = after.trim_start();
    }
    Ok(total)
}

/// A size in bytes.
pub fn size_bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let (number, unit) = take_number(text)?;
    let unit = unit.trim();
    if unit.is_empty() {
        return Ok(number);
    }
    let lower = unit.to_ascii_lowercase();
    if unit == "%" {
        return Err("is no share from 1% to 100%".to_owned());
    }
    let Some(&(_, bytes)) = SIZES.iter().find(|(u, _)| *u == lower) else {
        return Err(format!("has the unknown unit `{unit}`"));
    };
    number.checked_mul(bytes).ok_or_else(|| "is too large".to_owned())
}

/// A whole percentage from 1 to 100.
pub(crate) fn percent(text: &str) -> Result<u8, String> {
    let Some(number) = text.trim().strip_suffix('%') else { return Err("has no `%`".to_owned()) };
    match number.trim().parse::<u8>() {
        Ok(n) if (1..=100).contains(&n) => Ok(n),
        _ => Err("is not a whole number from 1% to 100%".to_owned()),
    }
}

fn take_number(text: &str) -> Result<(u64, &str), String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if rest.starts_with('.') || rest.starts_with(',') {
        return Err("has a fraction; write a smaller unit instead".to_owned());
    }
    if digits.is_empty() {
        return Err("does not begin with a number".to_owned());
    }
    digits.parse().map(|n| (n, rest)).map_err(|_| "is too large".to_owned())
}

/// A duration in the shortest spelling that [`duration_ms`] reads back: `1h30m`.
pub fn show_duration(ms: u64) -> String {
    if ms == 0 {
        return "0s".to_owned();
    }
    let mut left = ms;
    let mut out = String::new();
    for (unit, each) in DURATIONS {
        if left >= *each {
            out.push_str(&format!("{}{unit}", left / each));
            left %= each;
        }
    }
    out
}

/// A size that [`size_bytes`] reads back, in the largest power of two that divides it: `4 GiB`.
pub fn show_size(bytes: u64) -> String {
    for (unit, each) in [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
        if bytes >= each && bytes.is_multiple_of(each) {
            return format!("{} {unit}", bytes / each);
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations() {
        let rows = [
            ("10s", Ok(10_000)),
            ("250ms", Ok(250)),
            ("1h30m", Ok(5_400_000)),
            ("1h 30m", Ok(5_400_000)),
            ("10 s", Ok(10_000)),
            ("1d", Ok(86_400_000)),
            ("0s", Ok(0)),
            ("10", Err("has no unit")),
            ("", Err("is empty")),
            ("s", Err("does not begin with a number")),
            ("-1s", Err("does not begin with a number")),
            ("1.5s", Err("has a fraction; write a smaller unit instead")),
            ("10sec", Err("has the unknown unit `sec`")),
            ("10 sec", Err("has the unknown unit `sec`")),
            ("10 ", Err("has no unit")),
            ("10S", Err("has the unknown unit `S`")),
            ("1m1h", Err("names its units twice or not from large to small")),
            ("1m1m", Err("names its units twice or not from large to small")),
            ("99999999999999999999s", Err("is too large")),
            ("300000000000000d", Err("is too large")),
        ];
        for (text, want) in rows {
            assert_eq!(duration_ms(text), want.map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn sizes() {
        let rows = [
            ("4 GiB", Ok(4 << 30)),
            ("256KiB", Ok(256 << 10)),
            ("1 mb", Ok(1_000_000)),
            ("17", Ok(17)),
            ("17 B", Ok(17)),
            ("1.5 GiB", Err("has a fraction; write a smaller unit instead")),
            ("4 G", Err("has the unknown unit `G`")),
            ("GiB", Err("does not begin with a number")),
            ("99999999 TiB", Err("is too large")),
        ];
        for (text, want) in rows {
            assert_eq!(size_bytes(text), want.map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn percentages() {
        assert_eq!(percent("25%"), Ok(25));
        assert_eq!(percent("100 %"), Ok(100));
        for bad in ["0%", "101%", "%", "25", "2.5%", "-1%"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(n in any::<u64>()) {
            prop_assert_eq!(duration_ms(&show_duration(n)), Ok(n));
            prop_assert_eq!(size_bytes(&show_size(n)), Ok(n));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,30}") {
            let _ = (duration_ms(&text), size_bytes(&text), percent(&text));
        }
    }
}
