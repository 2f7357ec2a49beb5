//! Entity tags and their two comparisons (RFC 9110 §8.8.3), and what validators an answer has.
//!
//! Not here: what a comparison leads to (`select`, `merge`).

use crate::date::date_of;
use crate::syntax::{Single, elements, single};
use http::{HeaderMap, header};

/// An entity tag as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntityTag<'a> {
    pub(crate) weak: bool,
    /// Between the quotes.
    pub(crate) opaque: &'a [u8],
}

impl<'a> EntityTag<'a> {
    /// `"…"` or `W/"…"`; nothing else, since what cannot be compared exactly must not be.
    pub(crate) fn read(text: &'a [u8]) -> Option<EntityTag<'a>> {
        let (weak, quoted) = match text.strip_prefix(b"W/") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let opaque = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let allowed = |b: &u8| matches!(b, 0x21 | 0x23..=0x7e | 0x80..=0xff);
        opaque.iter().all(allowed).then_some(EntityTag { weak, opaque })
    }

    /// Both strong and equal (RFC 9110 §8.8.3.2).
    pub(crate) fn strongly_equals(self, other: EntityTag<'_>) -> bool {
        !self.weak && !other.weak && self.opaque == other.opaque
    }

    /// Equal whether weak or not (RFC 9110 §8.8.3.2).
    pub(crate) fn weakly_equals(self, other: EntityTag<'_>) -> bool {
        self.opaque == other.opaque
    }
}

/// The answer's entity tag, if it has a well-formed one.
pub(crate) fn entity_tag(headers: &HeaderMap) -> Option<EntityTag<'_>> {
    match single(headers, &header::ETAG) {
        Single::One(text) => EntityTag::read(text),
        Single::Absent | Single::Conflict => None,
    }
}

/// True if a request can be made conditional on this answer.
pub(crate) fn has_validator(headers: &HeaderMap, near_s: i64) -> bool {
    entity_tag(headers).is_some() || date_of(headers, &header::LAST_MODIFIED, near_s).is_some()
}

/// A list of entity tags, or `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tags<'a> {
    /// The field is not there.
    Absent,
    /// `*`: any representation.
    Any,
    /// Those that are well formed.
    List(Vec<EntityTag<'a>>),
}

/// Reads `If-Match` or `If-None-Match`, all lines of it. `*` counts only alone (RFC 9110 §13.1.1, §13.1.2).
pub(crate) fn tags<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Tags<'a> {
    if !headers.contains_key(name) {
        return Tags::Absent;
    }
    let lines = headers.get_all(name).iter();
    let members: Vec<&[u8]> = lines.flat_map(|line| elements(line.as_bytes())).collect();
    if members == [b"*"] {
        return Tags::Any;
    }
    Tags::List(members.into_iter().filter_map(EntityTag::read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(text: &str) -> Option<EntityTag<'_>> {
        EntityTag::read(text.as_bytes())
    }

    #[test]
    fn well_formed_or_none() {
        for (text, want) in [
            ("\"abc\"", Some((false, "abc"))),
            ("W/\"abc\"", Some((true, "abc"))),
            ("\"\"", Some((false, ""))),
            ("\"a,b\"", Some((false, "a,b"))),
            ("\"ü\"", Some((false, "ü"))),
            ("abc", None),
            ("w/\"abc\"", None),
            ("W\"abc\"", None),
            ("W\\\"abc\"", None),
            ("\"abc", None),
            ("\"", None),
            ("\"a\"b\"", None),
            ("\"a b\"", None),
            ("", None),
        ] {
            let want = want.map(|(weak, opaque): (bool, &str)| EntityTag { weak, opaque: opaque.as_bytes() });
            assert_eq!(tag(text), want, "{text}");
        }
    }

    /// The table of RFC 9110 §8.8.3.2.
    #[test]
    fn comparisons() {
        for (a, b, strong, weak) in [
            ("W/\"1\"", "W/\"1\"", false, true),
            ("W/\"1\"", "W/\"2\"", false, false),
            ("W/\"1\"", "\"1\"", false, true),
            ("\"1\"", "\"1\"", true, true),
        ] {
            let (a, b) = (tag(a).unwrap(), tag(b).unwrap());
            assert_eq!((a.strongly_equals(b), a.weakly_equals(b)), (strong, weak));
            assert_eq!((b.strongly_equals(a), b.weakly_equals(a)), (strong, weak));
        }
    }
}
