//! Parts of a representation: what a 206 is good for, which parts belong together, what is missing (RFC 9110 §14, §15.3.7;
//! RFC 9111 §3.3, §3.4).
//!
//! Not here: whether a 206 may be stored at all, which follows the rules of a 200 (`storable`); where parts are held
//! (`cache`).

use crate::date::date_of;
use crate::range::{Ranges, ranges};
use crate::syntax::{Single, saturating_digits, single};
use crate::validator::{EntityTag, entity_tag};
use crate::vary::vary_fields;
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// A part of a representation: `start..end` of `total` bytes, end exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// Length of the whole, bytes.
    pub total: u64,
}

/// What a 206 is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartUse {
    /// It is this part: other ranges within it may be cut from it, and it may be completed.
    Cut(Part),
    /// What it says of itself does not fit together, or several parts are in it, or its whole has no known length. It may
    /// answer the very same request again and nothing else.
    Verbatim,
}

/// Reads the head of a 206. `body_bytes` is the announced length of its body, if there is one.
pub fn part_use(headers: &HeaderMap, body_bytes: Option<u64>) -> PartUse {
    match content_range(headers) {
        Some(part) if body_bytes.is_none_or(|bytes| bytes == part.end - part.start) => PartUse::Cut(part),
        _ => PartUse::Verbatim,
    }
}

/// `Content-Range: bytes 0-4/10`; `None` for another unit, an unknown length, and whatever is invalid (RFC 9110 §14.4).
pub fn content_range(headers: &HeaderMap) -> Option<Part> {
    let Single::One(text) = single(headers, &header::CONTENT_RANGE) else { return None };
    let (unit, rest) = split_once(text, b' ')?;
    let (range, total) = split_once(rest, b'/')?;
    let (first, last) = split_once(range, b'-')?;
    let (start, last, total) = (digits(first)?, digits(last)?, digits(total)?);
    let sound = unit.eq_ignore_ascii_case(b"bytes") && start <= last && last < total;
    sound.then_some(Part { start, end: last + 1, total })
}

fn split_once(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let position = text.iter().position(|byte| *byte == at)?;
    let (before, after) = text.split_at_checked(position)?;
    Some((before, after.get(1..)?))
}

/// Digits that fit: a saturated number would be another position.
fn digits(text: &[u8]) -> Option<u64> {
    saturating_digits(text).filter(|number| *number < u64::MAX)
}

/// What a request wants of a representation of which only parts may be here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All of it.
    Whole,
    /// `start..end`, end exclusive.
    Range(u64, u64),
    /// Several ranges, or none that exists: the origin's to answer.
    Other,
}

/// Reads `Range` and `If-Range` of a GET for a representation of `total` bytes with these fields.
pub fn wanted(request: &HeaderMap, stored: &HeaderMap, total: u64) -> Wanted {
    let Single::One(field) = single(request, &header::RANGE) else { return Wanted::Whole };
    if !if_range_holds(request, stored) {
        return Wanted::Whole;
    }
    match ranges(field, total) {
        Ranges::Ignored => Wanted::Whole,
        Ranges::Unsatisfiable => Wanted::Other,
        Ranges::Satisfiable(list) => match list.as_slice() {
            [(start, end)] => Wanted::Range(*start, *end),
            _ => Wanted::Other,
        },
    }
}

/// RFC 9110 §13.1.5, by strong comparison; a date is compared with the stored text.
fn if_range_holds(request: &HeaderMap, stored: &HeaderMap) -> bool {
    let text = match single(request, &header::IF_RANGE) {
        Single::Absent => return true,
        Single::Conflict => return false,
        Single::One(text) => text,
    };
    match EntityTag::read(text) {
        Some(tag) => entity_tag(stored).is_some_and(|own| own.strongly_equals(tag)),
        None => strong_date(stored).is_some_and(|own| own.as_bytes() == text),
    }
}

/// How long before its `Date` a representation must have been modified for that moment to name it: below, two versions
/// may share it (RFC 9110 §8.8.2.2), and clocks are not that exact.
const STRONG_DATE_S: i64 = 60;

/// `Last-Modified` where it is strong.
fn strong_date(headers: &HeaderMap) -> Option<&HeaderValue> {
    let date_s = date_of(headers, &header::DATE, 0)?;
    let modified_s = date_of(headers, &header::LAST_MODIFIED, date_s)?;
    (date_s.saturating_sub(modified_s) >= STRONG_DATE_S).then(|| headers.get(header::LAST_MODIFIED))?
}

/// The strong validator to ask for more of the same representation with, as an `If-Range` (RFC 9110 §13.1.5).
pub fn if_range(stored: &HeaderMap) -> Option<HeaderValue> {
    match entity_tag(stored) {
        Some(tag) if !tag.weak => stored.get(header::ETAG).cloned(),
        Some(_) => None,
        None => strong_date(stored).cloned(),
    }
}

/// Whether two parts are of one representation: they share a strong validator (RFC 9110 §15.3.7.3). Without one they may
/// be of two versions, and nothing would show it. And they were chosen by the same fields of the request, or what was put
/// together would be for other requests than one of them is for.
pub fn same_representation(stored: &HeaderMap, new: &HeaderMap) -> bool {
    let same = match (entity_tag(stored), entity_tag(new)) {
        (Some(a), Some(b)) => a.strongly_equals(b),
        (None, None) => match (strong_date(stored), strong_date(new)) {
            (Some(a), Some(b)) => a == b,
            _ => false,
        },
        _ => false,
    };
    same && vary_fields(stored) == vary_fields(new)
}

/// The fields of the whole, once parts are put together: those of the newest part replace earlier ones (RFC 9110
/// §15.3.7.3), and what spoke of one part is gone. Cookies that came with the newest part are in it, unlike in a merged
/// 304: they are for whoever asked, and speak against storing.
pub fn combined_fields(stored: &HeaderMap, new: &HeaderMap) -> HeaderMap {
    let mut whole = crate::merge::merge_304(stored, new);
    of_the_whole(&mut whole);
    for name in [header::SET_COOKIE, HeaderName::from_static("set-cookie2")] {
        for value in new.get_all(&name) {
            whole.append(&name, value.clone());
        }
    }
    whole
}

/// Drops what describes one part's transfer.
pub fn of_the_whole(headers: &mut HeaderMap) {
    for name in [header::CONTENT_RANGE, header::CONTENT_LENGTH, HeaderName::from_static("content-digest")] {
        headers.remove(name);
    }
    headers.remove("content-md5");
}

/// The one range to ask for, so that with what is `held` (sorted, disjoint, within `total`) all is there; `None` if
/// nothing is missing, or more than one piece.
pub fn missing(held: &[(u64, u64)], total: u64) -> Option<(u64, u64)> {
    let mut gaps = Vec::new();
    let mut at = 0;
    for (start, end) in held {
        if *start > at {
            gaps.push((at, *start));
        }
        at = at.max(*end);
    }
    if at < total {
        gaps.push((at, total));
    }
    match gaps.as_slice() {
        [gap] => Some(*gap),
        _ => None,
    }
}

/// A `Range` that asks for a gap.
pub fn range_field(gap: (u64, u64), total: u64) -> Option<HeaderValue> {
    let (start, end) = gap;
    let last = if end == total { String::new() } else { end.checked_sub(1)?.to_string() };
    HeaderValue::try_from(format!("bytes={start}-{last}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(fields: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        map
    }

    #[test]
    fn content_ranges_in_every_form() {
        for (lines, want) in [
            (&[][..], None),
            (&["bytes 0-4/10"], Some((0, 5, 10))),
            (&["BYTES 9-9/10"], Some((9, 10, 10))),
            (&["bytes 0-18446744073709551613/18446744073709551614"], Some((0, u64::MAX - 1, u64::MAX - 1))),
            (&["bytes 0-4/*"], None),
            (&["bytes */10"], None),
            (&["bytes 5-4/10"], None),
            (&["bytes 0-10/10"], None),
            (&["bytes 0-4/4"], None),
            (&["bytes 0-99999999999999999999/999999999999999999999"], None),
            (&["bytes=0-4/10"], None),
            (&["bytes  0-4/10"], None),
            (&["bytes 0 - 4/10"], None),
            (&["bytes -4/10"], None),
            (&["bytes 0-/10"], None),
            (&["bytes +0-4/10"], None),
            (&["items 0-4/10"], None),
            (&["bytes 0-4/10, bytes 5-6/10"], None),
            (&["bytes 0-4/10", "bytes 5-9/10"], None),
            (&["x"], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::CONTENT_RANGE, HeaderValue::from_static(line));
            }
            let want = want.map(|(start, end, total)| Part { start, end, total });
            assert_eq!(content_range(&headers), want, "{lines:?}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_not_cut() {
        let headers = heads(&[("content-range", "bytes 4-9/10")]);
        assert_eq!(part_use(&headers, Some(5)), PartUse::Verbatim);
        let part = Part { start: 4, end: 10, total: 10 };
        assert_eq!(part_use(&headers, Some(6)), PartUse::Cut(part));
        assert_eq!(part_use(&headers, None), PartUse::Cut(part), "found out at its end");
        assert_eq!(part_use(&heads(&[]), Some(6)), PartUse::Verbatim);
    }

    const LM: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const SOON: &str = "Sun, 06 Nov 1994 08:50:36 GMT";
    const LATER: &str = "Sun, 06 Nov 1994 08:50:37 GMT";

    #[test]
    fn one_representation() {
        let old = &[("last-modified", LM), ("date", LATER)][..];
        for (a, b, want) in [
            (&[("etag", "\"a\"")][..], &[("etag", "\"a\"")][..], true),
            (&[("etag", "\"a\"")], &[("etag", "\"b\"")], false),
            (&[("etag", "W/\"a\"")], &[("etag", "W/\"a\"")], false),
            (&[("etag", "\"a\"")], &[("etag", "W/\"a\"")], false),
            (&[("etag", "\"a\"")], &[], false),
            (&[], &[], false),
            (
                &[("etag", "\"a\""), ("vary", "A, b")],
                &[("etag", "\"a\""), ("vary", "a"), ("vary", "B")],
                true,
            ),
            (&[("etag", "\"a\""), ("vary", "a")], &[("etag", "\"a\"")], false),
            (&[("etag", "\"a\"")], &[("etag", "\"a\""), ("vary", "a")], false),
            (old, old, true),
            (old, &[("last-modified", LM), ("date", SOON)], false),
            (old, &[("last-modified", SOON), ("date", LATER)], false),
            (&[("last-modified", LM), ("date", LATER), ("etag", "\"a\"")], old, false),
        ] {
            assert_eq!(same_representation(&heads(a), &heads(b)), want, "{a:?} {b:?}");
        }
        assert_eq!(if_range(&heads(&[("etag", "\"a\"")])).unwrap(), "\"a\"");
        assert_eq!(if_range(&heads(&[("etag", "W/\"a\""), ("last-modified", LM), ("date", LATER)])), None);
        assert_eq!(if_range(&heads(old)).unwrap(), LM);
        assert_eq!(if_range(&heads(&[("last-modified", LM), ("date", SOON)])), None);
    }

    #[test]
    fn what_a_request_wants() {
        let stored = [("etag", "\"a\""), ("last-modified", LM), ("date", LATER)];
        for (request, want) in [
            (&[][..], Wanted::Whole),
            (&[("range", "bytes=2-4")], Wanted::Range(2, 5)),
            (&[("range", "bytes=-3")], Wanted::Range(7, 10)),
            (&[("range", "bytes=8-99")], Wanted::Range(8, 10)),
            (&[("range", "bytes=10-")], Wanted::Other),
            (&[("range", "bytes=0-1,4-5")], Wanted::Other),
            (&[("range", "bytes=x")], Wanted::Whole),
            (&[("range", "lines=1-2")], Wanted::Whole),
            (&[("range", "bytes=2-4"), ("if-range", "\"a\"")], Wanted::Range(2, 5)),
            (&[("range", "bytes=2-4"), ("if-range", "\"b\"")], Wanted::Whole),
            (&[("range", "bytes=2-4"), ("if-range", "W/\"a\"")], Wanted::Whole),
            (&[("range", "bytes=2-4"), ("if-range", LM)], Wanted::Range(2, 5)),
            (&[("range", "bytes=2-4"), ("if-range", SOON)], Wanted::Whole),
        ] {
            assert_eq!(wanted(&heads(request), &heads(&stored), 10), want, "{request:?}");
        }
    }

    #[test]
    fn what_is_missing() {
        for (held, want, field) in [
            (&[(0, 5)][..], Some((5, 10)), "bytes=5-"),
            (&[(5, 10)], Some((0, 5)), "bytes=0-4"),
            (&[(0, 2), (4, 10)], Some((2, 4)), "bytes=2-3"),
            (&[(0, 2), (2, 5)], Some((5, 10)), "bytes=5-"),
            (&[], Some((0, 10)), "bytes=0-"),
            (&[(2, 4)], None, ""),
            (&[(0, 10)], None, ""),
        ] {
            assert_eq!(missing(held, 10), want, "{held:?}");
            if let Some(gap) = want {
                assert_eq!(range_field(gap, 10).unwrap(), field);
            }
        }
    }

    #[test]
    fn what_speaks_of_one_part_is_not_of_the_whole() {
        let mut part = heads(&[
            ("content-range", "bytes 0-4/10"),
            ("content-length", "5"),
            ("content-digest", "x"),
            ("content-md5", "x"),
            ("repr-digest", "whole"),
        ]);
        of_the_whole(&mut part);
        assert_eq!(part, heads(&[("repr-digest", "whole")]));
    }

    #[test]
    fn the_newest_part_names_the_fields() {
        let stored = heads(&[("etag", "\"a\""), ("x", "1"), ("y", "1"), ("content-type", "a/b")]);
        let new = heads(&[
            ("etag", "\"a\""),
            ("x", "2"),
            ("set-cookie", "c=1"),
            ("set-cookie2", "c=2"),
            ("content-range", "bytes 5-9/10"),
            ("content-length", "5"),
        ]);
        let want = heads(&[
            ("etag", "\"a\""),
            ("x", "2"),
            ("y", "1"),
            ("content-type", "a/b"),
            ("set-cookie", "c=1"),
            ("set-cookie2", "c=2"),
        ]);
        assert_eq!(combined_fields(&stored, &new), want);
    }
}
