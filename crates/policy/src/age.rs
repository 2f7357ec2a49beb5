//! How old an answer is (RFC 9111 §4.2.3).
//!
//! Not here: whether that is too old (`freshness`, `reuse`).

use crate::date::date_of;
use crate::syntax::{DELTA_MAX_S, delta_seconds, trim_ows};
use crate::types::{Exchange, Freshness, Now, OddAge};
use http::{HeaderMap, header};

/// The age given to an answer whose `Age` cannot be believed: no less than any lifetime an origin can give.
const UNKNOWN_AGE_MS: u64 = DELTA_MAX_S * 1000;

/// Current age, ms: `current_age = corrected_initial_age + resident_time`.
pub fn age_ms(f: &Freshness, now: Now) -> u64 {
    f.initial_age_ms.saturating_add(now.mono_ms.saturating_sub(f.stored_mono_ms))
}

/// `corrected_initial_age`, ms: the larger of what the `Date` and what the `Age` field imply.
pub(crate) fn initial_age_ms(headers: &HeaderMap, at: Exchange, odd: OddAge) -> u64 {
    let response_delay_ms = at.answered.mono_ms.saturating_sub(at.requested.mono_ms);
    let corrected_age_ms = age_value_ms(headers, odd).saturating_add(response_delay_ms);
    apparent_age_ms(headers, at).max(corrected_age_ms)
}

/// `apparent_age`, ms. `Date` knows whole seconds only, so the moment of receipt is cut to them too: an answer
/// made just now must not look up to a second old.
fn apparent_age_ms(headers: &HeaderMap, at: Exchange) -> u64 {
    let received_s = seconds(at.answered.wall_ms);
    let date_s = date_of(headers, &header::DATE, received_s).unwrap_or(received_s);
    u64::try_from(received_s.saturating_sub(date_s)).unwrap_or(0).saturating_mul(1000)
}

/// `age_value`, ms. RFC 9111 §5.1 would have a repeated field read by its first member and a broken one ignored, both
/// with "should". An age that cannot be read exactly is taken as unknown here: it was once too large to write, or two
/// caches disagree about it. The answer is then stale on arrival, which costs a fetch and nothing else.
///
/// A list in one line is two things. `0, 7200` is how lines are joined on the way (RFC 9110 §5.3 writes comma and
/// space), so it is a repeated field. `0,7200` is what one sender wrote, and its first member counts.
fn age_value_ms(headers: &HeaderMap, odd: OddAge) -> u64 {
    if odd == OddAge::First {
        return first_member(headers).unwrap_or(0).saturating_mul(1000);
    }
    let mut lines = headers.get_all(header::AGE).iter();
    let seconds = match (lines.next(), lines.next()) {
        (None, _) => Some(0),
        (Some(only), None) => written_by_one(trim_ows(only.as_bytes())),
        (Some(_), Some(_)) => None,
    };
    seconds.map_or(UNKNOWN_AGE_MS, |s| s.saturating_mul(1000))
}

/// Whether the `Age` field is there and says no age that is believed.
pub(crate) fn age_is_unknown(headers: &HeaderMap, odd: OddAge) -> bool {
    age_value_ms(headers, odd) >= UNKNOWN_AGE_MS
}

/// RFC 9111 §5.1: "the first member of the list", and none if that is no number.
fn first_member(headers: &HeaderMap) -> Option<u64> {
    let line = headers.get(header::AGE)?.as_bytes();
    delta_seconds(trim_ows(line.split(|byte| *byte == b',').next()?))
}

/// The first of digits separated by bare commas.
fn written_by_one(line: &[u8]) -> Option<u64> {
    let mut members = line.split(|byte| *byte == b',').map(delta_seconds);
    let first = members.next()??;
    members.all(|member| member.is_some()).then_some(first)
}

/// Whole seconds of a wall clock.
pub(crate) fn seconds(wall_ms: u64) -> i64 {
    i64::try_from(wall_ms / 1000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn ages_in_every_form() {
        const UNKNOWN: u64 = UNKNOWN_AGE_MS / 1000;
        for (lines, want_s, first_s) in [
            (&[][..], 0, 0),
            (&["0"], 0, 0),
            (&[" 7200 "], 7200, 7200),
            (&["007200"], 7200, 7200),
            (&["2147483648"], UNKNOWN, UNKNOWN),
            (&["99999999999999999999999"], UNKNOWN, UNKNOWN),
            (&["7200,0"], 7200, 7200),
            (&["0,7200"], 0, 0),
            (&["0, 7200"], UNKNOWN, 0),
            (&["0, 0"], UNKNOWN, 0),
            (&["0,"], UNKNOWN, 0),
            (&["0,x"], UNKNOWN, 0),
            (&[""], UNKNOWN, 0),
            (&["abc"], UNKNOWN, 0),
            (&["-7200"], UNKNOWN, 0),
            (&["+7200"], UNKNOWN, 0),
            (&["7200.0"], UNKNOWN, 0),
            (&["7200;foo=bar"], UNKNOWN, 0),
            (&["\"60\""], UNKNOWN, 0),
            (&["0x10"], UNKNOWN, 0),
            (&["0", "7200"], UNKNOWN, 0),
            (&["0", "0"], UNKNOWN, 0),
            (&["7200", "0"], UNKNOWN, 7200),
            (&["7200, 0"], UNKNOWN, 7200),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::AGE, HeaderValue::from_static(line));
            }
            assert_eq!(age_value_ms(&headers, OddAge::Stale), want_s * 1000, "{lines:?}");
            assert_eq!(age_value_ms(&headers, OddAge::First), first_s * 1000, "{lines:?}");
        }
    }
}
