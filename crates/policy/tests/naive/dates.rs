//! HTTP dates (RFC 9110 §5.6.7), by words; days are counted one by one.

const MONTHS: &str = "jan feb mar apr may jun jul aug sep oct nov dec";
const DAYS: &str = "monday tuesday wednesday thursday friday saturday sunday";

fn leap(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

fn days_in(year: i64, month: usize) -> i64 {
    match month {
        1 if leap(year) => 29,
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

/// Digits, exactly so many.
fn number(text: &str, digits: usize) -> Option<i64> {
    (text.len() == digits && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn seconds(year: i64, month: &str, day: i64, clock: &str) -> Option<i64> {
    let month = MONTHS.split(' ').position(|name| name.eq_ignore_ascii_case(month))?;
    let parts: Vec<&str> = clock.split(':').collect();
    let [hour, minute, second] = parts.as_slice() else { return None };
    let (hour, minute, second) = (number(hour, 2)?, number(minute, 2)?, number(second, 2)?);
    // A leap second counts as the one before it... as the next minute's first, by adding up.
    if day < 1 || day > days_in(year, month) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut days = 0;
    if year >= 1970 {
        (1970..year).for_each(|year| days += if leap(year) { 366 } else { 365 });
    } else {
        (year..1970).for_each(|year| days -= if leap(year) { 366 } else { 365 });
    }
    (0..month).for_each(|month| days += days_in(year, month));
    Some(((days + day - 1) * 24 + hour) * 3600 + minute * 60 + second)
}

fn year_of(now_s: i64) -> i64 {
    let mut year = 1970;
    let mut left = now_s.div_euclid(86_400);
    while left >= if leap(year) { 366 } else { 365 } {
        left -= if leap(year) { 366 } else { 365 };
        year += 1;
    }
    year
}

pub fn read(text: &[u8], now_s: i64) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let short = |name: &str| DAYS.split(' ').any(|day| day[..3].eq_ignore_ascii_case(name));
    let long = |name: &str| DAYS.split(' ').any(|day| day.eq_ignore_ascii_case(name));
    let words: Vec<&str> = text.split(' ').collect();
    match words.as_slice() {
        // Sun, 06 Nov 1994 08:49:37 GMT
        [day_name, day, month, year, clock, zone] if day_name.len() == 4 => {
            let fits =
                short(day_name.strip_suffix(',')?) && zone.eq_ignore_ascii_case("GMT") && month.len() == 3;
            fits.then_some(())?;
            seconds(number(year, 4)?, month, number(day, 2)?, clock)
        }
        // Sunday, 06-Nov-94 08:49:37 GMT
        [day_name, date, clock, zone] => {
            let fits = long(day_name.strip_suffix(',')?) && zone.eq_ignore_ascii_case("GMT");
            fits.then_some(())?;
            let parts: Vec<&str> = date.split('-').collect();
            let [day, month, year] = parts.as_slice() else { return None };
            let (near, two) = (year_of(now_s), number(year, 2)?);
            let mut year = near - near % 100 + two;
            if year > near + 50 {
                year -= 100;
            }
            seconds(year, month, number(day, 2)?, clock)
        }
        // Sun Nov  6 08:49:37 1994, with one digit after two blanks or two after one
        [day_name, month, "", day, clock, year] if day.len() == 1 && short(day_name) => {
            seconds(number(year, 4)?, month, number(day, 1)?, clock)
        }
        [day_name, month, day, clock, year] if short(day_name) => {
            seconds(number(year, 4)?, month, number(day, 2)?, clock)
        }
        _ => None,
    }
}

/// Seconds from `Date` (which is `now_s`) to `Expires`; what is no date, or comes twice with two values, is past.
pub fn expires_s(lines: &[Vec<u8>], now_s: i64) -> u64 {
    let mut values: Vec<Vec<u8>> = lines.iter().map(|line| super::cache_control::blank_free(line)).collect();
    values.dedup();
    let [value] = values.as_slice() else { return 0 };
    let expires_s = read(value, now_s).unwrap_or(i64::MIN);
    u64::try_from(expires_s.saturating_sub(now_s)).unwrap_or(0).min(1 << 31)
}
