//! HTTP dates (RFC 9110 §5.6.7), read strictly in their three forms, letters in any case (RFC 9111 §4.2), and written in
//! the one that is to be used.
//!
//! Strict, since a cache is told to take other zones and odd forms as invalid, which means stale. Not here: what
//! is done with a date.

use crate::syntax::{Single, single};
use http::{HeaderMap, HeaderName};

const SECONDS_PER_DAY: i64 = 86_400;
const MONTHS: [&[u8; 3]; 12] =
    [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];
const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Seconds since the Unix epoch of an HTTP date, or `None`. `near_s` is a moment near now: RFC 850 dates have two
/// digits of the year, read as the one at most 50 years ahead of it.
pub fn parse_http_date(text: &[u8], near_s: i64) -> Option<i64> {
    let mut cursor = Cursor { rest: text };
    let day_name = cursor.take_while(|b| b.is_ascii_alphabetic());
    match (cursor.peek()?, day_name.len()) {
        (b',', 3) => imf(day_name, cursor),
        (b',', _) => rfc850(day_name, cursor, near_s),
        (b' ', 3) => asctime(day_name, cursor),
        _ => None,
    }
}

/// Length of `Sun, 06 Nov 1994 08:49:37 GMT`.
pub const HTTP_DATE_BYTES: usize = 29;

/// A moment as `Sun, 06 Nov 1994 08:49:37 GMT`. Written for each hit out of a packed head: no formatting machinery.
pub fn write_http_date(epoch_s: u32) -> [u8; HTTP_DATE_BYTES] {
    let (day, second) = (epoch_s / 86_400, epoch_s % 86_400);
    let (year, month, of_month) = civil(day);
    let [m0, m1, m2] = MONTH_NAMES.get(month as usize).copied().unwrap_or_default();
    // 1970 began on a Thursday.
    let [w0, w1, w2] = DAY_NAMES.get((day % 7) as usize).copied().unwrap_or_default();
    let two = |n: u32| TWO_DIGITS.get(n as usize).copied().unwrap_or_default();
    let ([d0, d1], [y0, y1], [y2, y3]) = (two(of_month), two(year / 100), two(year % 100));
    let ([h0, h1], [n0, n1], [s0, s1]) = (two(second / 3_600), two(second / 60 % 60), two(second % 60));
    [
        w0, w1, w2, b',', b' ', d0, d1, b' ', m0, m1, m2, b' ', y0, y1, y2, y3, b' ', h0, h1, b':', n0, n1,
        b':', s0, s1, b' ', b'G', b'M', b'T',
    ]
}

/// 00 to 99.
#[expect(clippy::indexing_slicing, reason = "done by the compiler, which would say so")]
static TWO_DIGITS: [[u8; 2]; 100] = {
    let mut digits = [[b'0'; 2]; 100];
    let mut n = 0;
    while n < 100 {
        digits[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    digits
};

const MONTH_NAMES: [[u8; 3]; 12] = [
    *b"Jan", *b"Feb", *b"Mar", *b"Apr", *b"May", *b"Jun", *b"Jul", *b"Aug", *b"Sep", *b"Oct", *b"Nov",
    *b"Dec",
];
const DAY_NAMES: [[u8; 3]; 7] = [*b"Thu", *b"Fri", *b"Sat", *b"Sun", *b"Mon", *b"Tue", *b"Wed"];

/// Year, month from 0 and day of the month of a day since 1970-01-01; as `days_from_epoch`, years begin in March.
fn civil(day: u32) -> (u32, u32, u32) {
    let days = day + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 2 } else { from_march - 10 };
    (era * 400 + year_of_era + u32::from(month < 2), month, of_month)
}

/// The date of a field that may come once; `None` if it is absent, repeated with another value, or no date.
pub(crate) fn date_of(headers: &HeaderMap, name: &HeaderName, near_s: i64) -> Option<i64> {
    match single(headers, name) {
        Single::One(text) => parse_http_date(text, near_s),
        Single::Absent | Single::Conflict => None,
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
fn imf(day_name: &[u8], mut cursor: Cursor<'_>) -> Option<i64> {
    short_day(day_name)?;
    cursor.exact(b", ")?;
    let day = cursor.digits(2)?;
    cursor.exact(b" ")?;
    let month = cursor.month()?;
    cursor.exact(b" ")?;
    let year = cursor.digits(4)?;
    cursor.exact(b" ")?;
    let second = cursor.time()?;
    cursor.zone_and_end()?;
    seconds(year, month, day, second)
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`
fn rfc850(day_name: &[u8], mut cursor: Cursor<'_>, near_s: i64) -> Option<i64> {
    DAYS.iter().find(|name| name.as_bytes().eq_ignore_ascii_case(day_name))?;
    cursor.exact(b", ")?;
    let day = cursor.digits(2)?;
    cursor.exact(b"-")?;
    let month = cursor.month()?;
    cursor.exact(b"-")?;
    let short_year = cursor.digits(2)?;
    cursor.exact(b" ")?;
    let second = cursor.time()?;
    cursor.zone_and_end()?;
    // RFC 9110 §5.6.7: what seems more than 50 years ahead is the most recent such year in the past.
    let near_year = year_of(near_s);
    let year = near_year.div_euclid(100) * 100 + short_year;
    let year = if year > near_year + 50 { year - 100 } else { year };
    seconds(year, month, day, second)
}

/// `Sun Nov  6 08:49:37 1994`
fn asctime(day_name: &[u8], mut cursor: Cursor<'_>) -> Option<i64> {
    short_day(day_name)?;
    cursor.exact(b" ")?;
    let month = cursor.month()?;
    cursor.exact(b" ")?;
    let day = if cursor.peek()? == b' ' {
        cursor.exact(b" ")?;
        cursor.digits(1)?
    } else {
        cursor.digits(2)?
    };
    cursor.exact(b" ")?;
    let second = cursor.time()?;
    cursor.exact(b" ")?;
    let year = cursor.digits(4)?;
    cursor.rest.is_empty().then_some(())?;
    seconds(year, month, day, second)
}

fn short_day(name: &[u8]) -> Option<()> {
    DAYS.iter()
        .find(|day| day.as_bytes().get(..3).is_some_and(|short| short.eq_ignore_ascii_case(name)))
        .map(|_| ())
}

/// Reads a text from left to right.
struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn take_while(&mut self, wanted: impl Fn(&u8) -> bool) -> &'a [u8] {
        let count = self.rest.iter().take_while(|b| wanted(b)).count();
        self.take(count).unwrap_or_default()
    }

    fn exact(&mut self, text: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    fn digits(&mut self, count: usize) -> Option<i64> {
        let text = self.take(count)?;
        text.iter().try_fold(0_i64, |n, b| b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0')))
    }

    /// 1 to 12.
    fn month(&mut self) -> Option<i64> {
        let text = self.take(3)?;
        let index = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(text))?;
        i64::try_from(index).ok().map(|n| n + 1)
    }

    /// `08:49:37` as the second of the day; 60 is a leap second.
    fn time(&mut self) -> Option<i64> {
        let hour = self.digits(2)?;
        self.exact(b":")?;
        let minute = self.digits(2)?;
        self.exact(b":")?;
        let second = self.digits(2)?;
        (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
    }

    /// RFC 9111 §4.2: any other zone than GMT makes the date invalid.
    fn zone_and_end(&self) -> Option<()> {
        self.rest.eq_ignore_ascii_case(b" GMT").then_some(())
    }
}

fn seconds(year: i64, month: i64, day: i64, second_of_day: i64) -> Option<i64> {
    if day < 1 || day > days_in(year, month) {
        return None;
    }
    Some(days_from_epoch(year, month, day) * SECONDS_PER_DAY + second_of_day)
}

fn days_in(year: i64, month: i64) -> i64 {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01, proleptic Gregorian. Years are counted from March, so that the leap day comes last.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let days_before_month = (153 * ((month + 9) % 12) + 2) / 5;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + days_before_month + day - 1 - 719_468
}

/// The civil year of a moment.
fn year_of(epoch_s: i64) -> i64 {
    let days = epoch_s.div_euclid(SECONDS_PER_DAY);
    // The mean Gregorian year is 365.2425 days: at most one year off, which the correction below settles.
    let guess = 1970 + (days * 10_000).div_euclid(3_652_425);
    if days_from_epoch(guess, 1, 1) > days {
        guess - 1
    } else if days_from_epoch(guess + 1, 1, 1) <= days {
        guess + 1
    } else {
        guess
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, UNIX_EPOCH};

    const NEAR_2026_S: i64 = 1_790_000_000;

    #[test]
    fn years_begin_and_end_when_they_do() {
        for year in 1600..2800 {
            let first_s = days_from_epoch(year, 1, 1) * SECONDS_PER_DAY;
            assert_eq!((year_of(first_s), year_of(first_s - 1)), (year, year - 1));
        }
    }

    #[test]
    fn every_day_is_written() {
        for day in 0..=u32::MAX / 86_400 {
            for second in [0, 86_399.min(u32::MAX - day * 86_400)] {
                let epoch_s = day * 86_400 + second;
                let text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(u64::from(epoch_s)));
                assert_eq!(write_http_date(epoch_s)[..], *text.as_bytes());
            }
        }
    }

    #[test]
    fn the_three_forms_and_what_is_none_of_them() {
        let nov_1994 = Some(784_111_777);
        for (text, want) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", nov_1994),
            ("Sunday, 06-Nov-94 08:49:37 GMT", nov_1994),
            ("Sun Nov  6 08:49:37 1994", nov_1994),
            ("SUN, 06 nov 1994 08:49:37 gMT", nov_1994),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Wed, 31 Dec 1969 23:59:59 GMT", Some(-1)),
            ("Thu, 29 Feb 2024 00:00:60 GMT", Some(1_709_164_860)),
            ("Thursday, 18-Aug-50 02:01:18 GMT", Some(2_544_400_878)),
            ("Thu Aug 18 02:01:18 2050", Some(2_544_400_878)),
            ("", None),
            ("0", None),
            ("-1", None),
            ("Thu, 29 Feb 2023 00:00:00 GMT", None),
            ("Thu, 00 Aug 2050 02:01:18 GMT", None),
            ("Thu, 18 Aug 2050 02:01:18 UTC", None),
            ("Thu, 18 Aug 2050 02:01:18 AEST", None),
            ("Thu, 18 Aug 2050 02:01:18", None),
            ("Thu, 18 Aug 2050 02:01:18 GMT ", None),
            ("Thu, 18 Aug 50 02:01:18 GMT", None),
            ("Thu 18 Aug 2050 02:01:18 GMT", None),
            ("Thu, 18  Aug  2050 02:01:18 GMT", None),
            ("Thu, 18-Aug-2050 02:01:18 GMT", None),
            ("Thu, 18 Aug 2050 02.01.18 GMT", None),
            ("Thu, 18 Aug 2050 2:01:18 GMT", None),
            ("Thu, 18 Aug 2050 24:01:18 GMT", None),
            ("Xyz, 18 Aug 2050 02:01:18 GMT", None),
        ] {
            assert_eq!(parse_http_date(text.as_bytes(), NEAR_2026_S), want, "{text}");
        }
    }

    #[test]
    fn two_digit_years_are_at_most_fifty_ahead() {
        let year = |text: &str, near: &str| {
            let near = parse_http_date(near.as_bytes(), 0).unwrap();
            year_of(parse_http_date(text.as_bytes(), near).unwrap())
        };
        assert_eq!(year("Sunday, 06-Nov-76 08:49:37 GMT", "Sun, 06 Nov 2026 08:49:37 GMT"), 2076);
        assert_eq!(year("Sunday, 06-Nov-77 08:49:37 GMT", "Sun, 06 Nov 2026 08:49:37 GMT"), 1977);
        assert_eq!(year("Sunday, 06-Nov-99 08:49:37 GMT", "Sun, 06 Nov 1999 08:49:37 GMT"), 1999);
    }

    proptest! {
        /// The `httpdate` crate, which shares no code with this file, writes dates and reads them.
        #[test]
        fn agrees_with_httpdate(epoch_s in 0_u64..250_000_000_000) {
            let text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(epoch_s));
            prop_assert_eq!(parse_http_date(text.as_bytes(), NEAR_2026_S), i64::try_from(epoch_s).ok());
        }

        #[test]
        fn writes_as_httpdate_does(epoch_s: u32) {
            let text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(u64::from(epoch_s)));
            prop_assert_eq!(&write_http_date(epoch_s)[..], text.as_bytes());
        }

        #[test]
        fn year_holds_its_own_days(epoch_s in -70_000_000_000_i64..300_000_000_000) {
            let year = year_of(epoch_s);
            let day = epoch_s.div_euclid(SECONDS_PER_DAY);
            prop_assert!(days_from_epoch(year, 1, 1) <= day && day < days_from_epoch(year + 1, 1, 1));
        }

        #[test]
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(any::<u8>(), 0..40), near in any::<i64>()) {
            let _ = parse_http_date(&text, near);
        }
    }
}
