//! Revalidation: what is asked of the origin, and what a 304 changes in the stored answer (RFC 9111 §4.3, §3.2).
//!
//! In order: `conditional_fields` go with the request; a 304 that `confirms` is merged; the merged head is judged by
//! `storable` like a new answer; `stored_fields` of it is kept. Not here: that order (`server::pipeline`).

use crate::hop::strip_hop_by_hop;
use crate::syntax::{Single, saturating_digits, single, trim_ows};
use crate::validator::{EntityTag, entity_tag};
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// Fields of a 304 that do not replace stored ones: they describe the stored bytes, which a 304 did not bring
/// (RFC 9111 §3.2), name them (§4.3.4), or are for the client that asked alone.
const KEPT_AS_STORED: [HeaderName; 9] = [
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_RANGE,
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("repr-digest"),
    header::ETAG,
    header::SET_COOKIE,
    HeaderName::from_static("set-cookie2"),
];

/// The stored head as a 304 renews it: every field of the 304 replaces the stored ones of its name, with the exceptions
/// above and without hop-by-hop fields. The `Age` of the 304, if any, is in it, so that `storable` can count it.
pub fn merge_304(stored: &HeaderMap, fresh: &HeaderMap) -> HeaderMap {
    let mut fresh = fresh.clone();
    strip_hop_by_hop(&mut fresh);
    let mut merged = stored.clone();
    merged.remove(header::AGE);
    for name in fresh.keys().filter(|name| !KEPT_AS_STORED.contains(name)) {
        merged.remove(name);
        for value in fresh.get_all(name) {
            merged.append(name, value.clone());
        }
    }
    merged
}

/// True if a 304 speaks of the stored answer (RFC 9111 §4.3.4): a strong tag must be the stored one; a weak tag must
/// match weakly; without tags, the modification dates must agree if both have one. A 304 with no validator answers
/// the one question that was asked.
///
/// A strong tag other than the stored one is taken as confirmation in one case: the stored tag was all that we asked
/// with. Then "not modified" cannot be an answer to anything else. Servers that compress on the way do so (they
/// answer `"x"` where they had sent `"x-gzip"`); asking again each time would undo every revalidation with them. The
/// stored tag stays (see [`merge_304`]). Beside an If-Modified-Since it may be the date that did not change.
pub fn confirms(stored: &HeaderMap, fresh: &HeaderMap) -> bool {
    match (single(fresh, &header::ETAG), entity_tag(fresh), entity_tag(stored)) {
        (Single::One(_) | Single::Conflict, None, _) => false,
        (_, Some(new), Some(old)) if !new.weak => old.strongly_equals(new) || asked_by_tag_alone(stored),
        (_, Some(new), None) if !new.weak => false,
        (_, Some(new), Some(old)) => old.weakly_equals(new),
        (_, Some(_), None) | (Single::Absent, None, _) => dates_agree(stored, fresh),
        // A strong tag was judged above.
    }
}

/// What the answer to a HEAD says of a stored answer to GET (RFC 9111 §4.3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadSays {
    /// It still holds: its freshness begins anew.
    Same,
    /// It does not hold any more: stale from now on.
    Changed,
    /// Neither. RFC 9111 would renew an answer about which the HEAD holds no validator, too; then whoever asks HEAD
    /// every minute would keep a page for ever that nobody compared with anything.
    Nothing,
}

/// Compares validators and length of a HEAD's 200 with those stored, for an answer of `stored_bytes`.
pub fn head_says(stored: &HeaderMap, head: &HeaderMap, stored_bytes: Option<u64>) -> HeadSays {
    let length = single(head, &header::CONTENT_LENGTH);
    let other_length = match (length, stored_bytes) {
        (Single::Conflict, _) => true,
        (Single::One(text), Some(bytes)) => saturating_digits(trim_ows(text)) != Some(bytes),
        (Single::Absent, _) | (_, None) => false,
    };
    let tag = match (single(head, &header::ETAG), entity_tag(head), entity_tag(stored)) {
        (Single::Absent, ..) => None,
        (_, Some(new), Some(old)) => Some(old.weakly_equals(new)),
        _ => Some(false),
    };
    let modified = match (single(head, &header::LAST_MODIFIED), single(stored, &header::LAST_MODIFIED)) {
        (Single::Absent, _) => None,
        (Single::One(new), Single::One(old)) => Some(new == old),
        _ => Some(false),
    };
    if other_length || tag == Some(false) || modified == Some(false) {
        return HeadSays::Changed;
    }
    if tag == Some(true) || modified == Some(true) { HeadSays::Same } else { HeadSays::Nothing }
}

fn asked_by_tag_alone(stored: &HeaderMap) -> bool {
    matches!(conditional_fields(stored).as_slice(), [(name, _)] if *name == header::IF_NONE_MATCH)
}

fn dates_agree(stored: &HeaderMap, fresh: &HeaderMap) -> bool {
    match (single(stored, &header::LAST_MODIFIED), single(fresh, &header::LAST_MODIFIED)) {
        (Single::One(old), Single::One(new)) => old == new,
        (_, Single::Conflict) => false,
        (_, Single::Absent) | (Single::Absent | Single::Conflict, Single::One(_)) => true,
    }
}

/// The conditions that ask the origin whether the stored answer still holds: both validators, where there are both
/// (RFC 9111 §4.3.1). A malformed tag is not sent.
pub fn conditional_fields(stored: &HeaderMap) -> Vec<(HeaderName, HeaderValue)> {
    let mut fields = Vec::with_capacity(2);
    let tag = stored.get(header::ETAG).filter(|value| EntityTag::read(value.as_bytes()).is_some());
    if let (Some(tag), Some(_)) = (tag, entity_tag(stored)) {
        fields.push((header::IF_NONE_MATCH, tag.clone()));
    }
    // The text is the origin's own and goes back as it came; two-digit years do not matter for that.
    if let Some(modified) = stored.get(header::LAST_MODIFIED)
        && crate::date::date_of(stored, &header::LAST_MODIFIED, 0).is_some()
    {
        fields.push((header::IF_MODIFIED_SINCE, modified.clone()));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    const LM: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const LM2: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

    fn heads(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(*name, HeaderValue::from_static(value));
        }
        map
    }

    #[test]
    fn merging() {
        let stored = heads(&[
            ("content-type", "text/plain"),
            ("content-length", "5"),
            ("content-encoding", "gzip"),
            ("etag", "\"a\""),
            ("link", "1"),
            ("link", "2"),
            ("x", "old"),
            ("kept", "yes"),
        ]);
        let fresh = heads(&[
            ("content-type", "text/plain;charset=utf-8"),
            ("content-length", "10"),
            ("content-encoding", "br"),
            ("content-md5", "x"),
            ("etag", "\"b\""),
            ("link", "3"),
            ("x", "new"),
            ("x", "newer"),
            ("age", "3"),
            ("connection", "gone"),
            ("gone", "1"),
            ("set-cookie", "s=1"),
        ]);
        let want = heads(&[
            ("content-type", "text/plain;charset=utf-8"),
            ("content-length", "5"),
            ("content-encoding", "gzip"),
            ("etag", "\"a\""),
            ("link", "3"),
            ("x", "new"),
            ("x", "newer"),
            ("kept", "yes"),
            ("age", "3"),
        ]);
        assert_eq!(merge_304(&stored, &fresh), want);
        // An age is the 304's own or nobody's.
        assert_eq!(merge_304(&heads(&[("age", "9")]), &heads(&[])), heads(&[]));
    }

    #[test]
    fn which_304_speaks_of_the_stored_answer() {
        for (stored, fresh, want) in [
            (vec![("etag", "\"a\"")], vec![("etag", "\"a\"")], true),
            (vec![("etag", "\"a\"")], vec![("etag", "\"b\"")], true),
            (vec![("etag", "\"a\""), ("last-modified", LM)], vec![("etag", "\"b\"")], false),
            (vec![("etag", "\"a\""), ("last-modified", "broken")], vec![("etag", "\"b\"")], true),
            (vec![("etag", "W/\"a\"")], vec![("etag", "\"a\"")], true),
            (vec![("etag", "W/\"a\""), ("last-modified", LM)], vec![("etag", "\"a\"")], false),
            (vec![("etag", "broken")], vec![("etag", "\"a\"")], false),
            (vec![], vec![("etag", "\"a\"")], false),
            (vec![("etag", "W/\"a\"")], vec![("etag", "W/\"a\"")], true),
            (vec![("etag", "\"a\"")], vec![("etag", "W/\"a\"")], true),
            (vec![("etag", "\"a\"")], vec![("etag", "W/\"b\"")], false),
            (vec![("etag", "\"a\"")], vec![], true),
            (vec![("etag", "\"a\"")], vec![("etag", "broken")], false),
            (vec![("last-modified", LM)], vec![("last-modified", LM)], true),
            (vec![("last-modified", LM)], vec![("last-modified", LM2)], false),
            (vec![("last-modified", LM)], vec![], true),
            (vec![("last-modified", LM)], vec![("etag", "\"a\"")], false),
            (vec![("last-modified", LM)], vec![("etag", "W/\"a\""), ("last-modified", LM)], true),
            (vec![("last-modified", LM)], vec![("etag", "W/\"a\""), ("last-modified", LM2)], false),
        ] {
            assert_eq!(confirms(&heads(&stored), &heads(&fresh)), want, "{stored:?} {fresh:?}");
        }
    }

    #[test]
    fn what_a_head_says() {
        use HeadSays::{Changed, Nothing, Same};
        let stored = [("etag", "\"a\""), ("last-modified", LM)];
        for (stored, head, want) in [
            (&stored[..], vec![], Nothing),
            (&stored, vec![("content-length", "5")], Nothing),
            (&stored, vec![("content-length", "6")], Changed),
            (&stored, vec![("content-length", "x")], Changed),
            (&stored, vec![("content-length", "5"), ("content-length", "6")], Changed),
            (&stored, vec![("etag", "\"a\"")], Same),
            (&stored, vec![("etag", "W/\"a\"")], Same),
            (&stored, vec![("etag", "\"b\"")], Changed),
            (&stored, vec![("etag", "broken")], Changed),
            (&stored, vec![("last-modified", LM)], Same),
            (&stored, vec![("last-modified", LM2)], Changed),
            (&stored, vec![("etag", "\"a\""), ("last-modified", LM2)], Changed),
            (&stored, vec![("etag", "\"a\""), ("content-length", "6")], Changed),
            (&[], vec![("etag", "\"a\"")], Changed),
            (&[], vec![("content-length", "5")], Nothing),
        ] {
            assert_eq!(head_says(&heads(stored), &heads(&head), Some(5)), want, "{stored:?} {head:?}");
        }
        assert_eq!(head_says(&heads(&[]), &heads(&[("content-length", "5")]), None), Nothing);
    }

    #[test]
    fn what_is_asked() {
        for (stored, want) in [
            (
                vec![("etag", "\"a\""), ("last-modified", LM)],
                vec![("if-none-match", "\"a\""), ("if-modified-since", LM)],
            ),
            (vec![("etag", "W/\"a\"")], vec![("if-none-match", "W/\"a\"")]),
            (vec![("etag", "a"), ("last-modified", LM)], vec![("if-modified-since", LM)]),
            (vec![("etag", "\"a\""), ("etag", "\"b\"")], vec![]),
            (vec![("last-modified", "yesterday")], vec![]),
            (vec![], vec![]),
        ] {
            let got = conditional_fields(&heads(&stored));
            let got: Vec<(&str, &str)> = got.iter().map(|(n, v)| (n.as_str(), v.to_str().unwrap())).collect();
            assert_eq!(got, want, "{stored:?}");
        }
    }
}
