//! Byte ranges (RFC 9110 §14): reading them and fitting them to a body, with bounds on what is honoured.
//!
//! Not here: whether a range counts at all (`select`), writing `Content-Range` or multipart bodies (`server`).

use crate::syntax::{elements, saturating_digits};

/// More ranges than this in one request are not honoured; the whole answer is sent (RFC 9110 §14.2 allows it).
const RANGES_MAX: usize = 16;

/// What the ranges of a request come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ranges {
    /// Not understood, too many or overlapping: as if there were none.
    Ignored,
    /// None of them has a byte in the body.
    Unsatisfiable,
    /// `start..end`, end exclusive, in the order asked, at least one, none overlapping.
    Satisfiable(Vec<(u64, u64)>),
}

/// The bytes `start..end` of a body of `body_bytes` that a field with one range asks for; `None` for any other field.
/// Nothing is allocated.
pub(crate) fn only_range(field: &[u8], body_bytes: u64) -> Option<(u64, u64)> {
    let mut list = elements(list_of(field)?);
    let spec = spec(list.next()?)?;
    if list.next().is_some() { None } else { fit(spec, body_bytes) }
}

/// One range as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spec {
    /// `5-` or `5-9`; the last byte is inclusive, as in the field.
    From(u64, Option<u64>),
    /// `-5`.
    Suffix(u64),
}

/// Reads a `Range` field and fits it to a body of `body_bytes`.
pub(crate) fn ranges(field: &[u8], body_bytes: u64) -> Ranges {
    let Some(specs) = specs(field) else { return Ranges::Ignored };
    // An empty body has no byte to send as a part.
    if body_bytes == 0 && specs.iter().any(|spec| matches!(spec, Spec::Suffix(n) if *n > 0)) {
        return Ranges::Ignored;
    }
    let fitting: Vec<(u64, u64)> = specs.iter().filter_map(|spec| fit(*spec, body_bytes)).collect();
    if fitting.is_empty() {
        return Ranges::Unsatisfiable;
    }
    if overlapping(&fitting) { Ranges::Ignored } else { Ranges::Satisfiable(fitting) }
}

/// `bytes=0-4, -5`; `None` if it is malformed, in another unit or too long (RFC 9110 §14.1.1, §14.1.2).
fn specs(field: &[u8]) -> Option<Vec<Spec>> {
    let mut specs = Vec::new();
    for element in elements(list_of(field)?) {
        (specs.len() < RANGES_MAX).then_some(())?;
        specs.push(spec(element)?);
    }
    (!specs.is_empty()).then_some(specs)
}

/// What follows `bytes=`.
fn list_of(field: &[u8]) -> Option<&[u8]> {
    let at = field.iter().position(|b| *b == b'=')?;
    let (unit, list) = field.split_at_checked(at)?;
    if unit.eq_ignore_ascii_case(b"bytes") { list.get(1..) } else { None }
}

fn spec(text: &[u8]) -> Option<Spec> {
    let at = text.iter().position(|b| *b == b'-')?;
    let (first, rest) = text.split_at_checked(at)?;
    let last = rest.get(1..)?;
    if first.is_empty() {
        return saturating_digits(last).map(Spec::Suffix);
    }
    let first = saturating_digits(first)?;
    if last.is_empty() {
        return Some(Spec::From(first, None));
    }
    let last = saturating_digits(last)?;
    (first <= last).then_some(Spec::From(first, Some(last)))
}

/// `None` if it has no byte in the body (RFC 9110 §14.1.2).
fn fit(spec: Spec, body_bytes: u64) -> Option<(u64, u64)> {
    let (start, end) = match spec {
        Spec::From(first, last) => {
            (first, last.map_or(body_bytes, |last| last.saturating_add(1).min(body_bytes)))
        }
        Spec::Suffix(count) => (body_bytes.saturating_sub(count), body_bytes),
    };
    (start < end).then_some((start, end))
}

/// Overlaps make an answer larger than the body: the old attack on servers that honour them.
fn overlapping(ranges: &[(u64, u64)]) -> bool {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    sorted.iter().zip(sorted.iter().skip(1)).any(|(earlier, later)| later.0 < earlier.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn table() {
        let ok = |list: &[(u64, u64)]| Ranges::Satisfiable(list.to_vec());
        let seventeen =
            format!("bytes={}", (0..17).map(|n| format!("{n}-{n}")).collect::<Vec<_>>().join(","));
        for (field, body, want) in [
            ("bytes=0-4", 10, ok(&[(0, 5)])),
            ("BYTES=0-4", 10, ok(&[(0, 5)])),
            ("bytes=0-", 10, ok(&[(0, 10)])),
            ("bytes=9-", 10, ok(&[(9, 10)])),
            ("bytes=10-", 10, Ranges::Unsatisfiable),
            ("bytes=4-99", 10, ok(&[(4, 10)])),
            ("bytes=4-99999999999999999999999", 10, ok(&[(4, 10)])),
            ("bytes=99999999999999999999999-", u64::MAX, Ranges::Unsatisfiable),
            ("bytes=-3", 10, ok(&[(7, 10)])),
            ("bytes=-30", 10, ok(&[(0, 10)])),
            ("bytes=-0", 10, Ranges::Unsatisfiable),
            ("bytes=-5", 0, Ranges::Ignored),
            ("bytes=0-", 0, Ranges::Unsatisfiable),
            ("bytes=0-1, 4-5 ,,-2", 10, ok(&[(0, 2), (4, 6), (8, 10)])),
            ("bytes=8-9,0-1", 10, ok(&[(8, 10), (0, 2)])),
            ("bytes=0-1,20-30", 10, ok(&[(0, 2)])),
            ("bytes=0-1,2-3", 10, ok(&[(0, 2), (2, 4)])),
            ("bytes=0-1,1-2", 10, Ranges::Ignored),
            ("bytes=0-,0-", 10, Ranges::Ignored),
            (&seventeen, 100, Ranges::Ignored),
            ("bytes=4-3", 10, Ranges::Ignored),
            ("bytes=", 10, Ranges::Ignored),
            ("bytes=-", 10, Ranges::Ignored),
            ("bytes=a-b", 10, Ranges::Ignored),
            ("bytes=0-1;2-3", 10, Ranges::Ignored),
            ("bytes 0-1", 10, Ranges::Ignored),
            ("lines=0-1", 10, Ranges::Ignored),
            ("bytes =0-1", 10, Ranges::Ignored),
            ("bytes=0--1", 10, Ranges::Ignored),
            ("bytes=1-2-3", 10, Ranges::Ignored),
        ] {
            assert_eq!(ranges(field.as_bytes(), body), want, "{field} of {body}");
        }
    }

    proptest! {
        #[test]
        fn never_more_bytes_than_the_body_and_never_outside(field in "bytes=[0-9,-]{0,30}", body in 0_u64..50) {
            if let Ranges::Satisfiable(list) = ranges(field.as_bytes(), body) {
                prop_assert!(!list.is_empty() && list.len() <= RANGES_MAX);
                prop_assert!(list.iter().all(|(start, end)| start < end && *end <= body));
                prop_assert!(list.iter().map(|(start, end)| end - start).sum::<u64>() <= body);
            }
        }

        /// Byte by byte: a byte is sent exactly if some range asks for it.
        #[test]
        fn one_range_selects_the_bytes_it_names(first in 0_u64..30, length in 0_u64..30, body in 1_u64..30) {
            let last = first + length;
            let sent = |byte: u64| match ranges(format!("bytes={first}-{last}").as_bytes(), body) {
                Ranges::Satisfiable(list) => list.iter().any(|(start, end)| (*start..*end).contains(&byte)),
                _ => false,
            };
            for byte in 0..body {
                prop_assert_eq!(sent(byte), first <= byte && byte <= last);
            }
        }

        #[test]
        fn any_bytes_are_read_without_panic(field in proptest::collection::vec(any::<u8>(), 0..40), body: u64) {
            let _ = ranges(&field, body);
        }
    }
}
