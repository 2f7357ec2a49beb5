//! Moments and spans of time as text. Not here: reading a clock.

/// A moment in UTC, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: u64,
    pub(crate) month: u64,
    pub(crate) day: u64,
    pub(crate) hour: u64,
    pub(crate) minute: u64,
    pub(crate) second: u64,
    pub(crate) millisecond: u64,
}

/// From milliseconds since the Unix epoch. The calendar repeats every 400 years, 146,097 days, counted from 1600; the
/// years and months within are walked.
pub(crate) fn civil(wall_ms: u64) -> Civil {
    const DAYS_1600_TO_1970: u64 = 135_140;
    let second_of_day = wall_ms / 1000 % 86_400;
    let mut day = wall_ms / 86_400_000 + DAYS_1600_TO_1970;
    let mut year = 1600 + 400 * (day / 146_097);
    day %= 146_097;
    while day >= days_of(year) {
        day -= days_of(year);
        year += 1;
    }
    let mut month = 1;
    while day >= days_of_month(year, month) {
        day -= days_of_month(year, month);
        month += 1;
    }
    Civil {
        year,
        month,
        day: day + 1,
        hour: second_of_day / 3600,
        minute: second_of_day / 60 % 60,
        second: second_of_day % 60,
        millisecond: wall_ms % 1000,
    }
}

fn is_leap(year: u64) -> bool {
    (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400)
}

fn days_of(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl Civil {
    /// `20/Nov/2026:23:54:01 +0000`, as access logs have it.
    pub(crate) fn of_log(&self) -> String {
        const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
        let at = usize::try_from(self.month.saturating_sub(1)).unwrap_or(0) * 3;
        let month = MONTHS.get(at..at + 3).unwrap_or("???");
        let Civil { year, day, hour, minute, second, .. } = self;
        format!("{day:02}/{month}/{year:04}:{hour:02}:{minute:02}:{second:02} +0000")
    }

    /// `2026-11-20T23:54:01.123Z` (RFC 3339).
    pub(crate) fn of_machines(&self) -> String {
        let Civil { year, month, day, hour, minute, second, millisecond } = self;
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
    }
}

/// `17 µs`, `1.25 ms`, `3.4 s`.
pub(crate) fn micros(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{} ms", decimal(us, 1_000)),
        _ => millis(us / 1000),
    }
}

/// `40 ms`, `3.4 s`, `5 min`, `2 h 30 min`, `3 d`.
pub(crate) fn millis(ms: u64) -> String {
    const SECOND: u64 = 1000;
    const MINUTE: u64 = 60 * SECOND;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    match ms {
        0..SECOND => format!("{ms} ms"),
        SECOND..MINUTE => format!("{} s", decimal(ms, SECOND)),
        MINUTE..HOUR => two(ms / MINUTE, "min", ms % MINUTE / SECOND, "s"),
        HOUR..DAY => two(ms / HOUR, "h", ms % HOUR / MINUTE, "min"),
        _ => two(ms / DAY, "d", ms % DAY / HOUR, "h"),
    }
}

/// At most two decimals, none that say nothing.
fn decimal(count: u64, unit: u64) -> String {
    let text = format!("{}.{:02}", count / unit, count % unit * 100 / unit);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn two(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    if small == 0 {
        format!("{large} {large_unit}")
    } else {
        format!("{large} {large_unit} {small} {small_unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments() {
        for (ms, want, log) in [
            (0, "1970-01-01T00:00:00.000Z", "01/Jan/1970:00:00:00 +0000"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z", "28/Feb/2000:23:59:59 +0000"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z", "29/Feb/2000:00:00:00 +0000"),
            (1_795_218_841_123, "2026-11-20T23:54:01.123Z", "20/Nov/2026:23:54:01 +0000"),
            (4_102_444_800_000, "2100-01-01T00:00:00.000Z", "01/Jan/2100:00:00:00 +0000"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z", "01/Mar/2100:00:00:00 +0000"),
        ] {
            assert_eq!(civil(ms).of_machines(), want);
            assert_eq!(civil(ms).of_log(), log);
        }
    }

    #[test]
    fn spans() {
        let of = [0, 999, 1_000, 1_250, 999_999, 1_000_000, 3_400_000].map(micros);
        assert_eq!(of, ["0 µs", "999 µs", "1 ms", "1.25 ms", "999.99 ms", "1 s", "3.4 s"]);
        let of = [40, 10_000, 61_000, 3_600_000, 9_000_000, 90_000_000].map(millis);
        assert_eq!(of, ["40 ms", "10 s", "1 min 1 s", "1 h", "2 h 30 min", "1 d 1 h"]);
    }

    proptest! {
        /// One day later is the next date, and the text sorts like the time.
        #[test]
        fn days_follow_each_other(ms in 0_u64..200_000_000_000_000) {
            let (today, tomorrow) = (civil(ms), civil(ms + 86_400_000));
            prop_assert!(today.of_machines() < tomorrow.of_machines() || tomorrow.year > 9999);
            let next_in_month = tomorrow.month == today.month && tomorrow.day == today.day + 1;
            let first_of_next = tomorrow.day == 1 && today.day == days_of_month(today.year, today.month);
            prop_assert!(next_in_month || first_of_next);
        }
    }
}
