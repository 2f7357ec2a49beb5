//! Variants: by which request fields an answer varies, and whether two requests agree on them (RFC 9111 §4.1).
//!
//! Not here: which values mean the same (the rule's normalisers, handed in), where variants live (`cache`).

use crate::surrogate::CAPABILITY_FIELD;
use crate::syntax::{elements, trim_ows};
use crate::types::VaryValues;
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// How a field's value is made comparable: the rule's normaliser for fields it names, else [`combined`].
type Normaliser<'a> = &'a dyn Fn(&HeaderName, &HeaderMap) -> Option<HeaderValue>;

/// By what an answer varies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VaryFields {
    /// By nothing.
    None,
    /// By more than request fields (`*`), or by something that is no field name: no other request matches.
    Star,
    /// By these fields: sorted, each once.
    Fields(Vec<HeaderName>),
}

/// Request fields that name the client and are written anew for each request on its way to the origin: what varies by
/// them varies by something that no later request shows.
const OF_THE_CLIENT: [HeaderName; 2] = [header::FORWARDED, HeaderName::from_static("x-forwarded-for")];

/// Request fields that the origin sees from us and not from the client: they are the same in every request.
const OF_OURS: [HeaderName; 6] = [
    header::CONNECTION,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
    CAPABILITY_FIELD,
];

/// The fields an answer names, whatever else it varies by: what stays of a `Vary` whose `*` an operator overrides.
pub fn vary_named(headers: &HeaderMap) -> Vec<HeaderName> {
    let members = headers.get_all(header::VARY).iter().flat_map(|line| elements(line.as_bytes()));
    let named =
        members.filter(|member| *member != b"*").filter_map(|member| HeaderName::from_bytes(member).ok());
    let mut names: Vec<_> =
        named.filter(|name| !OF_THE_CLIENT.contains(name) && !OF_OURS.contains(name)).collect();
    names.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    names.dedup();
    names
}

/// Reads `Vary`, all lines of it; a `*` anywhere counts (RFC 9110 §12.5.5).
pub fn vary_fields(headers: &HeaderMap) -> VaryFields {
    let mut members = headers.get_all(header::VARY).iter().flat_map(|line| elements(line.as_bytes()));
    let is_field = |member: &[u8]| {
        member != b"*" && HeaderName::from_bytes(member).is_ok_and(|name| !OF_THE_CLIENT.contains(&name))
    };
    if !members.all(is_field) {
        return VaryFields::Star;
    }
    let names = vary_named(headers);
    if names.is_empty() { VaryFields::None } else { VaryFields::Fields(names) }
}

/// The values a request gives these fields.
pub fn vary_values(names: &[HeaderName], request: &HeaderMap, normalise: Normaliser<'_>) -> VaryValues {
    names.iter().map(|name| (name.clone(), normalise(name, request))).collect()
}

/// True if a request gives every field the value it had in the request that fetched the answer; absent matches only
/// absent (RFC 9111 §4.1).
pub fn vary_matches(stored: &VaryValues, request: &HeaderMap, normalise: Normaliser<'_>) -> bool {
    stored.iter().all(|(name, value)| normalise(name, request) == *value)
}

/// The value of a field as one line: its lines trimmed and joined by `, ` (RFC 9110 §5.3).
pub fn combined(name: &HeaderName, headers: &HeaderMap) -> Option<HeaderValue> {
    let mut lines = headers.get_all(name).iter();
    let first = lines.next()?;
    let mut text = trim_ows(first.as_bytes()).to_vec();
    for line in lines {
        text.extend_from_slice(b", ");
        text.extend_from_slice(trim_ows(line.as_bytes()));
    }
    // What joins valid values is valid; if it were not, the first line alone is still this request's own.
    Some(HeaderValue::from_bytes(&text).unwrap_or_else(|_| first.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn heads(fields: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        map
    }

    #[test]
    fn reading_vary() {
        let fields = |names: &[&'static str]| {
            VaryFields::Fields(names.iter().map(|n| HeaderName::from_static(n)).collect())
        };
        for (lines, want) in [
            (vec![], VaryFields::None),
            (vec![""], VaryFields::None),
            (vec![" , "], VaryFields::None),
            (vec!["Accept"], fields(&["accept"])),
            (vec!["b, A", "a,c"], fields(&["a", "b", "c"])),
            (vec!["*"], VaryFields::Star),
            (vec!["*, *"], VaryFields::Star),
            (vec![", *"], VaryFields::Star),
            (vec!["", "*"], VaryFields::Star),
            (vec!["*, foo"], VaryFields::Star),
            (vec!["foo, *"], VaryFields::Star),
            (vec!["foo bar"], VaryFields::Star),
            (vec!["foo", "\"x\""], VaryFields::Star),
        ] {
            let map = heads(&lines.iter().map(|line| ("vary", *line)).collect::<Vec<_>>());
            assert_eq!(vary_fields(&map), want, "{lines:?}");
        }
    }

    #[test]
    fn matching() {
        let names = [HeaderName::from_static("a"), HeaderName::from_static("b")];
        let stored = vary_values(&names, &heads(&[("a", "1"), ("a", " 2 ")]), &combined);
        for (fields, want) in [
            (vec![("a", "1, 2")], true),
            (vec![("a", "1"), ("a", "2"), ("c", "9")], true),
            (vec![("a", "2, 1")], false),
            (vec![("a", "1")], false),
            (vec![("a", "1, 2"), ("b", "")], false),
            (vec![], false),
        ] {
            assert_eq!(vary_matches(&stored, &heads(&fields), &combined), want, "{fields:?}");
        }
    }

    #[test]
    fn the_rules_normaliser_decides() {
        let lower = |name: &HeaderName, map: &HeaderMap| {
            combined(name, map).map(|v| HeaderValue::from_str(&v.to_str().unwrap().to_lowercase()).unwrap())
        };
        let stored = vary_values(&[HeaderName::from_static("a")], &heads(&[("a", "DE")]), &lower);
        assert!(vary_matches(&stored, &heads(&[("a", "de")]), &lower));
        assert!(!vary_matches(&stored, &heads(&[("a", "en")]), &lower));
    }

    proptest! {
        #[test]
        fn a_request_matches_itself_and_nobody_with_another_value(
            a in "[ -~]{0,8}", b in "[ -~]{0,8}", names in proptest::collection::vec("[a-c]", 1..4)
        ) {
            let names: Vec<_> = names.iter().map(|n| HeaderName::from_bytes(n.as_bytes()).unwrap()).collect();
            let first = heads(&[("a", &a), ("b", &b)]);
            let stored = vary_values(&names, &first, &combined);
            prop_assert!(vary_matches(&stored, &first, &combined));
            let other = heads(&[("a", &format!("{a}x")), ("b", &b)]);
            let asks_a = names.iter().any(|n| n == "a");
            prop_assert_eq!(vary_matches(&stored, &other, &combined), !asks_a);
        }
    }
}
