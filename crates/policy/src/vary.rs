//! Variants: by which request fields an answer varies, and whether two requests agree on them (RFC 9111 §4.1).
//!
//! Not here: which values mean the same (the rule's normalisers, handed in), where variants live (`cache`).

use crate::surrogate::CAPABILITY_FIELD;
use crate::syntax::{elements, trim_ows};
use crate::types::VaryValues;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use std::cell::RefCell;

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
    /// By more fields than are compared ([`VARY_MAX`]).
    TooMany,
}

/// Most fields that a response may vary by and be stored: each is compared for each request.
pub const VARY_MAX: usize = 64;

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
    let named = members
        .take(VARY_MAX)
        .filter(|member| *member != b"*")
        .filter_map(|member| HeaderName::from_bytes(member).ok());
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
    if !members.by_ref().take(VARY_MAX).all(is_field) {
        return VaryFields::Star;
    }
    if members.next().is_some() {
        return VaryFields::TooMany;
    }
    let names = vary_named(headers);
    if names.is_empty() { VaryFields::None } else { VaryFields::Fields(names) }
}

/// The values a request gives these fields.
pub fn vary_values(names: &[HeaderName], request: &HeaderMap, normalise: Normaliser<'_>) -> VaryValues {
    names.iter().map(|name| (name.clone(), normalise(name, request))).collect()
}

/// True if a request gives every field the value it had in the request that fetched the answer; absent matches only
/// absent (RFC 9111 §4.1). For one stored answer; for several see [`Compared`].
pub fn vary_matches(stored: &VaryValues, request: &HeaderMap, normalise: Normaliser<'_>) -> bool {
    Compared::new(request, normalise).matches(stored)
}

/// One request's fields as they are compared with those of many stored responses: each is made comparable once, however
/// many responses vary by it, and not before one does.
pub struct Compared<'a> {
    request: &'a HeaderMap,
    normalise: Normaliser<'a>,
    known: RefCell<VaryValues>,
}

impl<'a> Compared<'a> {
    /// Nothing is read yet.
    pub fn new(request: &'a HeaderMap, normalise: Normaliser<'a>) -> Compared<'a> {
        Compared { request, normalise, known: RefCell::default() }
    }

    /// See [`vary_matches`].
    pub fn matches(&self, stored: &VaryValues) -> bool {
        stored.iter().all(|(name, value)| self.with(name, |own| own == value))
    }

    /// The request's own values of the fields that these are of.
    pub fn values(&self, of: &VaryValues) -> VaryValues {
        of.iter().map(|(name, _)| (name.clone(), self.with(name, Clone::clone))).collect()
    }

    fn with<T>(&self, name: &HeaderName, then: impl FnOnce(&Option<HeaderValue>) -> T) -> T {
        let mut known = self.known.borrow_mut();
        if let Some((_, value)) = known.iter().find(|(found, _)| found == name) {
            return then(value);
        }
        let value = (self.normalise)(name, self.request);
        let result = then(&value);
        known.push((name.clone(), value));
        result
    }
}

impl std::fmt::Debug for Compared<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Compared({})", self.known.borrow().len())
    }
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
        let many = |n: usize| vec!["a"; n].join(",");
        let (most, more) = (many(VARY_MAX), many(VARY_MAX + 1));
        for (lines, want) in [
            (vec![], VaryFields::None),
            (vec![&*most], fields(&["a"])),
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
            (vec![&*more], VaryFields::TooMany),
            (vec![&*most, "*"], VaryFields::TooMany),
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

    /// However many stored responses a request is compared with, each of its fields is made comparable once.
    #[test]
    fn each_field_is_read_once() {
        let read = RefCell::new(Vec::new());
        let counting = |name: &HeaderName, map: &HeaderMap| {
            read.borrow_mut().push(name.clone());
            combined(name, map)
        };
        let (a, b) = (HeaderName::from_static("a"), HeaderName::from_static("b"));
        let request = heads(&[("a", "7"), ("b", "1")]);
        let compared = Compared::new(&request, &counting);
        assert!(read.borrow().is_empty());
        for n in 0..100 {
            let stored =
                vary_values(&[a.clone(), b.clone()], &heads(&[("a", &n.to_string()), ("b", "1")]), &combined);
            assert_eq!(compared.matches(&stored), n == 7, "{n}");
            assert_eq!(compared.values(&stored), vary_values(&[a.clone(), b.clone()], &request, &combined));
        }
        assert_eq!(*read.borrow(), [a, b]);
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
