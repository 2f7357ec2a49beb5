//! What a request gets out of a complete 200 answer where that is certain from raw bytes: no date is compared, no list
//! of ranges is fitted, nothing is allocated. Whatever is said here, [`crate::select`] says too; where that would need
//! more, nothing is said.
//!
//! Not here: the whole of RFC 9110 §13 and §14 (`select`, `range`).

use crate::date::date_of;
use crate::range::only_range;
use crate::syntax::{Single, elements, single};
use crate::types::Selected;
use crate::validator::{EntityTag, entity_tag};
use http::{HeaderMap, header};

/// The fields of a GET or HEAD that select, each on its only line, and no other condition beside them.
#[derive(Clone, Copy, Debug, Default)]
pub struct RawAsked<'a> {
    /// `If-None-Match`.
    pub none_match: Option<&'a [u8]>,
    /// `If-Modified-Since`.
    pub modified_since: Option<&'a [u8]>,
    /// `Range`; it counts for GET alone (RFC 9110 §14.2).
    pub range: Option<&'a [u8]>,
}

/// What such fields are compared with: see [`raw_validators`].
#[derive(Clone, Copy, Debug, Default)]
pub struct RawValidators<'a> {
    /// The answer's entity tag as written, if it is well formed.
    pub etag: Option<&'a [u8]>,
    /// The date that `If-Modified-Since` is compared with, as written, if it is one.
    pub modified: Option<&'a [u8]>,
}

/// The validators of an answer. RFC 9111 §4.3.2: without Last-Modified, its Date counts.
pub fn raw_validators(answer: &HeaderMap) -> RawValidators<'_> {
    let text = |name| match single(answer, name) {
        Single::One(text) => Some(text),
        Single::Absent | Single::Conflict => None,
    };
    let dated = if answer.contains_key(header::LAST_MODIFIED) { header::LAST_MODIFIED } else { header::DATE };
    // How far a year of two digits reaches does not matter: a date is only ever compared with itself.
    let is_date = date_of(answer, &dated, 0).is_some();
    RawValidators {
        etag: entity_tag(answer).and_then(|_| text(&header::ETAG)),
        modified: if is_date { text(&dated) } else { None },
    }
}

/// What is selected out of a 200 with a body of `body_bytes`; `None` if only [`crate::select`] can say.
pub fn certainly(asked: &RawAsked<'_>, own: &RawValidators<'_>, body_bytes: u64) -> Option<Selected> {
    // The order of RFC 9110 §13.2.2.
    if let Some(list) = asked.none_match {
        if matches(list, own.etag)? {
            return Some(Selected::NotModified);
        }
    } else if let Some(date) = asked.modified_since {
        // The very date that was sent, as browsers do.
        return (own.modified? == date).then_some(Selected::NotModified);
    }
    match asked.range {
        None => Some(Selected::Whole),
        Some(field) => only_range(field, body_bytes).map(|(start, end)| Selected::Range { start, end }),
    }
}

/// If-None-Match, weak comparison (RFC 9110 §13.1.2).
fn matches(list: &[u8], own: Option<&[u8]>) -> Option<bool> {
    if list == b"*" {
        return Some(true);
    }
    let own = own.and_then(EntityTag::read);
    let mut found = false;
    for member in elements(list) {
        // What is no tag, `*` among others too, is left to those who read everything.
        let tag = EntityTag::read(member)?;
        found |= own.is_some_and(|own| tag.weakly_equals(own));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select;
    use http::{HeaderValue, Method, StatusCode};
    use proptest::prelude::*;

    const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    fn map(fields: &[(http::HeaderName, Option<&str>)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            if let Some(value) = value.and_then(|v| HeaderValue::from_bytes(v.as_bytes()).ok()) {
                map.insert(name.clone(), value);
            }
        }
        map
    }

    fn said(asked: &[(http::HeaderName, Option<&str>)], answer: &HeaderMap, body: u64) -> Option<Selected> {
        let asked = map(asked);
        let raw = |name| asked.get(name).map(|v: &HeaderValue| v.as_bytes());
        let asked = RawAsked {
            none_match: raw(header::IF_NONE_MATCH),
            modified_since: raw(header::IF_MODIFIED_SINCE),
            range: raw(header::RANGE),
        };
        certainly(&asked, &raw_validators(answer), body)
    }

    #[test]
    fn table() {
        let tagged = map(&[(header::ETAG, Some("W/\"a\"")), (header::LAST_MODIFIED, Some(MODIFIED))]);
        let dated = map(&[(header::DATE, Some(MODIFIED))]);
        let odd = map(&[(header::LAST_MODIFIED, Some("yesterday")), (header::DATE, Some(MODIFIED))]);
        let none = |v| [(header::IF_NONE_MATCH, Some(v))];
        let since = |v| [(header::IF_MODIFIED_SINCE, Some(v))];
        let range = |v| [(header::RANGE, Some(v))];
        let not = Some(Selected::NotModified);
        for (asked, answer, want) in [
            (none("\"a\""), &tagged, not.clone()),
            (none("\"b\", W/\"a\""), &tagged, not.clone()),
            (none("*"), &dated, not.clone()),
            (none("\"b\""), &tagged, Some(Selected::Whole)),
            (none("\"a\""), &dated, Some(Selected::Whole)),
            (none("a"), &tagged, None),
            (none("*, \"a\""), &tagged, None),
            (since(MODIFIED), &tagged, not.clone()),
            (since(MODIFIED), &dated, not),
            (since(MODIFIED), &odd, None),
            (since("Sun, 06 Nov 1994 08:49:38 GMT"), &tagged, None),
            (range("bytes=2-4"), &tagged, Some(Selected::Range { start: 2, end: 5 })),
            (range("bytes=-4"), &tagged, Some(Selected::Range { start: 6, end: 10 })),
            (range("bytes=10-"), &tagged, None),
            (range("bytes=0-1,3-4"), &tagged, None),
            (range("lines=0-1"), &tagged, None),
        ] {
            assert_eq!(said(&asked, answer, 10), want, "{asked:?}");
        }
    }

    fn tags() -> impl Strategy<Value = Option<String>> {
        prop::option::of(prop_oneof![
            "(W/)?\"[ab]\"(, ?(W/)?\"[ab]\"){0,2}",
            Just("*".to_owned()),
            "[*\"aW/, ]{0,8}",
        ])
    }

    fn dates() -> impl Strategy<Value = Option<String>> {
        prop::option::of(prop_oneof![
            Just(MODIFIED.to_owned()),
            Just("Sunday, 06-Nov-94 08:49:37 GMT".to_owned()),
            "Sun, 06 Nov 199[45] 08:49:3[678] GMT",
            "[a-z ]{0,6}",
        ])
    }

    proptest! {
        /// Whatever is certain is what the whole of RFC 9110 says.
        #[test]
        fn what_is_certain_is_what_select_says(
            none_match in tags(), since in dates(), range in prop::option::of("bytes=[0-9,-]{0,6}"),
            etag in tags(), modified in dates(), date in dates(), body in 0_u64..12,
        ) {
            let fields = [
                (header::IF_NONE_MATCH, none_match.as_deref()),
                (header::IF_MODIFIED_SINCE, since.as_deref()),
                (header::RANGE, range.as_deref()),
            ];
            let answer = map(&[
                (header::ETAG, etag.as_deref()),
                (header::LAST_MODIFIED, modified.as_deref()),
                (header::DATE, date.as_deref()),
            ]);
            if let Some(certain) = said(&fields, &answer, body) {
                prop_assert_eq!(certain, select(&Method::GET, &map(&fields), StatusCode::OK, &answer, body));
            }
        }
    }
}
