//! What a conditional or range request gets out of a complete answer (RFC 9110 §13.2.2, §14.2; RFC 9111 §4.3.2).
//!
//! Not here: reading ranges (`range`), writing the 206, 304 or 416 (`server`).

use crate::date::{date_of, parse_http_date};
use crate::range::{Ranges, ranges};
use crate::syntax::{Single, single};
use crate::types::Selected;
use crate::validator::{EntityTag, Tags, entity_tag, tags};
use http::{HeaderMap, HeaderName, Method, StatusCode, header};

/// Where two-digit years are read from if the answer has no date of its own: 2026-01-01.
const NEAR_S: i64 = 1_767_225_600;

/// The fields of a request that select something else than the whole.
const CONDITIONS: [HeaderName; 6] = [
    header::IF_MATCH,
    header::IF_UNMODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_RANGE,
    header::RANGE,
];

/// Whether a request may be answered with 304 (RFC 9110 §15.4.5): a GET or HEAD with one of the two conditions that ask for
/// it. To any other it says nothing, and who passed it on would leave the client without content it has not got.
pub fn asks_for_304(method: &Method, request: &HeaderMap) -> bool {
    (method == Method::GET || method == Method::HEAD)
        && (request.contains_key(header::IF_NONE_MATCH) || request.contains_key(header::IF_MODIFIED_SINCE))
}

/// Decides, in the order of RFC 9110 §13.2.2.
pub fn select(
    method: &Method,
    request: &HeaderMap,
    status: StatusCode,
    answer: &HeaderMap,
    body_bytes: u64,
) -> Selected {
    // §13.2.1: conditions are for GET and HEAD here, and for answers that would be a success without them.
    if !(method == Method::GET || method == Method::HEAD) || !status.is_success() {
        return Selected::Whole;
    }
    if !request.keys().any(|name| CONDITIONS.contains(name)) {
        return Selected::Whole;
    }
    let case = Case::new(request, answer);
    // Steps 1 and 2. A cache may leave them to the origin (§13.1.1), but a stored answer that is reused stands for it,
    // and the wrong bytes under If-Match would be worse than a 412.
    if case.match_failed() || case.unmodified_failed() {
        return Selected::PreconditionFailed;
    }
    // Steps 3 and 4.
    if case.not_modified() {
        return Selected::NotModified;
    }
    // Step 5. Ranges are defined for GET alone (§14.2) and taken out of a 200.
    if method != Method::GET || status != StatusCode::OK || !case.range_holds() {
        return Selected::Whole;
    }
    range(request, body_bytes)
}

fn range(request: &HeaderMap, body_bytes: u64) -> Selected {
    let Single::One(field) = single(request, &header::RANGE) else { return Selected::Whole };
    match ranges(field, body_bytes) {
        Ranges::Ignored => Selected::Whole,
        Ranges::Unsatisfiable => Selected::Unsatisfiable,
        Ranges::Satisfiable(list) => match list.as_slice() {
            [(start, end)] => Selected::Range { start: *start, end: *end },
            _ => Selected::Ranges(list),
        },
    }
}

/// A request's conditions beside the answer they are about.
struct Case<'a> {
    request: &'a HeaderMap,
    answer: &'a HeaderMap,
    tag: Option<EntityTag<'a>>,
    date_s: Option<i64>,
    modified_s: Option<i64>,
}

impl<'a> Case<'a> {
    fn new(request: &'a HeaderMap, answer: &'a HeaderMap) -> Case<'a> {
        let date_s = date_of(answer, &header::DATE, NEAR_S);
        let modified_s = date_of(answer, &header::LAST_MODIFIED, date_s.unwrap_or(NEAR_S));
        Case { request, answer, tag: entity_tag(answer), date_s, modified_s }
    }

    /// A date of the request; repeated and broken ones do not count (§13.1.3, §13.1.4).
    fn asked_date(&self, name: &header::HeaderName) -> Option<i64> {
        date_of(self.request, name, self.date_s.unwrap_or(NEAR_S))
    }

    /// If-Match, strong comparison (§13.1.1).
    fn match_failed(&self) -> bool {
        match tags(self.request, &header::IF_MATCH) {
            Tags::Absent | Tags::Any => false,
            Tags::List(list) => !self.tag.is_some_and(|own| list.iter().any(|tag| tag.strongly_equals(own))),
        }
    }

    /// If-Unmodified-Since, only without If-Match (§13.1.4).
    fn unmodified_failed(&self) -> bool {
        if self.request.contains_key(header::IF_MATCH) {
            return false;
        }
        let asked_s = self.asked_date(&header::IF_UNMODIFIED_SINCE);
        matches!((self.modified_s, asked_s), (Some(modified), Some(asked)) if modified > asked)
    }

    /// If-None-Match, weak comparison (§13.1.2); If-Modified-Since only without it (§13.1.3).
    fn not_modified(&self) -> bool {
        match tags(self.request, &header::IF_NONE_MATCH) {
            Tags::Any => true,
            Tags::List(list) => self.tag.is_some_and(|own| list.iter().any(|tag| tag.weakly_equals(own))),
            Tags::Absent => self.unmodified_since(),
        }
    }

    /// RFC 9111 §4.3.2: without Last-Modified, the Date of the stored answer counts.
    fn unmodified_since(&self) -> bool {
        let reference_s =
            if self.answer.contains_key(header::LAST_MODIFIED) { self.modified_s } else { self.date_s };
        let asked_s = self.asked_date(&header::IF_MODIFIED_SINCE);
        matches!((reference_s, asked_s), (Some(reference), Some(asked)) if reference <= asked)
    }

    /// If-Range (§13.1.5): true if it is absent, or names exactly this representation.
    fn range_holds(&self) -> bool {
        let text = match single(self.request, &header::IF_RANGE) {
            Single::Absent => return true,
            Single::Conflict => return false,
            Single::One(text) => text,
        };
        if let Some(tag) = EntityTag::read(text) {
            return self.tag.is_some_and(|own| own.strongly_equals(tag));
        }
        let asked_s = parse_http_date(text, self.date_s.unwrap_or(NEAR_S));
        match (asked_s, self.modified_s, self.date_s) {
            // §8.8.2.2: a modification date is strong if the answer was made at least a second later.
            (Some(asked), Some(modified), Some(date)) => asked == modified && date > modified,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    const EARLIER: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const MODIFIED_850: &str = "Sunday, 06-Nov-94 08:49:37 GMT";
    const LATER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";
    type Fields = &'static [(&'static str, &'static str)];

    fn heads(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(*name, HeaderValue::from_static(value));
        }
        map
    }

    fn get(request: Fields, answer: Fields) -> Selected {
        select(&Method::GET, &heads(request), StatusCode::OK, &heads(answer), 10)
    }

    const STRONG: Fields = &[("etag", "\"a\""), ("last-modified", MODIFIED), ("date", LATER)];
    const WEAK: Fields = &[("etag", "W/\"a\""), ("last-modified", MODIFIED), ("date", MODIFIED)];
    const DATED: Fields = &[("date", MODIFIED)];

    #[test]
    fn conditions() {
        use Selected::{NotModified, PreconditionFailed, Whole};
        let table: &[(Fields, Fields, Selected)] = &[
            (&[], STRONG, Whole),
            (&[("if-none-match", "\"a\"")], STRONG, NotModified),
            (&[("if-none-match", "W/\"a\"")], STRONG, NotModified),
            (&[("if-none-match", "\"a\"")], WEAK, NotModified),
            (&[("if-none-match", "\"x\", \"a\", \"y\"")], STRONG, NotModified),
            (&[("if-none-match", "\"x\""), ("if-none-match", "\"a\"")], STRONG, NotModified),
            (&[("if-none-match", "*")], &[], NotModified),
            (&[("if-none-match", "\"x\"")], STRONG, Whole),
            (&[("if-none-match", "a")], STRONG, Whole),
            (&[("if-none-match", "\"a\"")], DATED, Whole),
            (&[("if-none-match", "\"x\""), ("if-modified-since", LATER)], STRONG, Whole),
            (&[("if-none-match", "\"a\""), ("if-modified-since", EARLIER)], STRONG, NotModified),
            (&[("if-modified-since", MODIFIED)], STRONG, NotModified),
            (&[("if-modified-since", MODIFIED_850)], STRONG, NotModified),
            (&[("if-modified-since", LATER)], STRONG, NotModified),
            (&[("if-modified-since", EARLIER)], STRONG, Whole),
            (&[("if-modified-since", "yesterday")], STRONG, Whole),
            (&[("if-modified-since", LATER), ("if-modified-since", MODIFIED)], STRONG, Whole),
            (&[("if-modified-since", MODIFIED)], DATED, NotModified),
            (&[("if-modified-since", EARLIER)], DATED, Whole),
            (&[("if-modified-since", LATER)], &[], Whole),
            (&[("if-match", "\"a\"")], STRONG, Whole),
            (&[("if-match", "*")], STRONG, Whole),
            (&[("if-match", "\"a\"")], WEAK, PreconditionFailed),
            (&[("if-match", "W/\"a\"")], WEAK, PreconditionFailed),
            (&[("if-match", "\"x\"")], STRONG, PreconditionFailed),
            (&[("if-match", "\"a\""), ("if-unmodified-since", EARLIER)], STRONG, Whole),
            (&[("if-match", "\"a\""), ("if-none-match", "\"a\"")], STRONG, NotModified),
            (&[("if-unmodified-since", EARLIER)], STRONG, PreconditionFailed),
            (&[("if-unmodified-since", MODIFIED)], STRONG, Whole),
            (&[("if-unmodified-since", EARLIER)], DATED, Whole),
            (&[("if-unmodified-since", "x")], STRONG, Whole),
        ];
        for (request, answer, want) in table {
            assert_eq!(get(request, answer), *want, "{request:?} {answer:?}");
        }
    }

    #[test]
    fn ranges_and_if_range() {
        use Selected::{NotModified, Range, Ranges, Unsatisfiable, Whole};
        let part = Range { start: 0, end: 2 };
        let table: &[(Fields, Fields, Selected)] = &[
            (&[("range", "bytes=0-1")], STRONG, part.clone()),
            (&[("range", "bytes=0-1,5-")], STRONG, Ranges(vec![(0, 2), (5, 10)])),
            (&[("range", "bytes=10-")], STRONG, Unsatisfiable),
            (&[("range", "bytes=5-1")], STRONG, Whole),
            (&[("range", "bytes=0-1"), ("range", "bytes=2-3")], STRONG, Whole),
            (&[("range", "bytes=0-1"), ("if-range", "\"a\"")], STRONG, part.clone()),
            (&[("range", "bytes=0-1"), ("if-range", "\"x\"")], STRONG, Whole),
            (&[("range", "bytes=0-1"), ("if-range", "W/\"a\"")], WEAK, Whole),
            (&[("range", "bytes=0-1"), ("if-range", "\"a\"")], WEAK, Whole),
            (&[("range", "bytes=0-1"), ("if-range", MODIFIED)], STRONG, part.clone()),
            (&[("range", "bytes=0-1"), ("if-range", LATER)], STRONG, Whole),
            (&[("range", "bytes=0-1"), ("if-range", MODIFIED)], WEAK, Whole),
            (&[("range", "bytes=0-1"), ("if-range", "x")], STRONG, Whole),
            (&[("range", "bytes=10-"), ("if-range", "\"x\"")], STRONG, Whole),
            (&[("if-range", "\"x\"")], STRONG, Whole),
            (&[("range", "bytes=0-1"), ("if-none-match", "\"a\"")], STRONG, NotModified),
            (&[("range", "bytes=0-1"), ("if-none-match", "\"x\"")], STRONG, part.clone()),
        ];
        for (request, answer, want) in table {
            assert_eq!(get(request, answer), *want, "{request:?} {answer:?}");
        }
    }

    #[test]
    fn methods_and_statuses() {
        let conditional = heads(&[("if-none-match", "\"a\""), ("range", "bytes=0-1")]);
        let ranged = heads(&[("range", "bytes=0-1")]);
        let strong = heads(STRONG);
        let with = |method: &Method, request, status| select(method, request, status, &strong, 10);
        assert_eq!(with(&Method::HEAD, &conditional, StatusCode::OK), Selected::NotModified);
        assert_eq!(with(&Method::HEAD, &ranged, StatusCode::OK), Selected::Whole);
        assert_eq!(with(&Method::POST, &conditional, StatusCode::OK), Selected::Whole);
        assert_eq!(with(&Method::GET, &conditional, StatusCode::NOT_FOUND), Selected::Whole);
        assert_eq!(
            with(&Method::GET, &conditional, StatusCode::NON_AUTHORITATIVE_INFORMATION),
            Selected::NotModified
        );
        assert_eq!(with(&Method::GET, &ranged, StatusCode::NON_AUTHORITATIVE_INFORMATION), Selected::Whole);
    }

    proptest! {
        #[test]
        fn any_bytes_are_judged_without_panic(
            values in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..30), 10), body: u64
        ) {
            let names = ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range", "range",
                "etag", "last-modified", "date", "etag"];
            let mut map = HeaderMap::new();
            for (name, value) in names.iter().zip(values) {
                if let Ok(value) = HeaderValue::from_bytes(&value) {
                    map.append(*name, value);
                }
            }
            let _ = select(&Method::GET, &map, StatusCode::OK, &map, body);
        }
    }
}
