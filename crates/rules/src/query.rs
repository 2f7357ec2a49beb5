//! The query in the key.
//!
//! Variables are told apart by their decoded names, so that `%61=1` and `a=1` are the same variable and stand in
//! the key as one; values are kept as they came. The origin always receives the query as it came, and may read more into
//! it than we do: PHP takes `+id`, `id[x]` and `a.b` for `id` and `a_b`, others part variables at `;` or compare names
//! without case. So a variable that may be taken for a listed one counts as listed where that brings it into the key, and
//! one that may be taken for another is never left out as listed. Not here: what a variable means.

use crate::names::{is_torn, readings};
use crate::path::is_unreserved;
use crate::types::QueryKey;
use crate::wild::wild_match;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};
use std::borrow::Cow;

/// All but RFC 3986's unreserved characters.
const NAME_ESCAPES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Most variables that are told apart, as PHP reads at most so many (`max_input_vars`). A query with more is not taken
/// apart: its key holds it as it came, and the request goes past the cache ([`samovar_reason::Lookup::TooManyVariables`]).
pub const VARIABLES_MAX: usize = 1_000;

/// Whether the rule takes the query apart and it has more variables than are told apart.
pub(crate) fn too_many_variables(how: &QueryKey, query: Option<&str>) -> bool {
    // Each takes a byte and a separator at least.
    let query = query.filter(|query| query.len() >= 2 * VARIABLES_MAX && takes_apart(how));
    query.is_some_and(|query| {
        query.bytes().filter(|byte| matches!(byte, b'&' | b';')).count() >= VARIABLES_MAX
    })
}

fn takes_apart(how: &QueryKey) -> bool {
    matches!(how, QueryKey::Sorted | QueryKey::Keep(_) | QueryKey::Drop(_))
}

/// One variable.
struct Variable<'q> {
    /// Decoded; `+` is a space, as in forms.
    name: Cow<'q, [u8]>,
    /// `=value` as it came, or nothing.
    rest: &'q str,
}

/// The query as it stands in the key; `None` for none, which differs from an empty one. Idempotent.
///
/// `Keep` and `Drop` leave none if no variable is left; a bare `?` stays under all but `Keep` and `Ignore`.
pub fn normalise_query<'q>(how: &QueryKey, query: Option<&'q str>) -> Option<Cow<'q, str>> {
    let query = query?;
    match how {
        _ if too_many_variables(how, Some(query)) => Some(Cow::Borrowed(query)),
        QueryKey::AsIs => Some(Cow::Borrowed(query)),
        QueryKey::Ignore => None,
        QueryKey::Sorted => {
            let mut all: Vec<Variable<'_>> = variables(query).collect();
            sort(&mut all);
            Some(Cow::Owned(written(&all)))
        }
        QueryKey::Keep(names) => {
            let spelt = Listed::of(names);
            let mut kept: Vec<Variable<'_>> = variables(query).filter(|one| spelt.may_hold(one)).collect();
            sort(&mut kept);
            (!kept.is_empty()).then(|| Cow::Owned(written(&kept)))
        }
        QueryKey::Drop(names) => {
            let mut dropped = false;
            let kept: Vec<Variable<'_>> = variables(query)
                .filter(|one| {
                    let listed = is_listed(names, one);
                    dropped |= listed;
                    !listed
                })
                .collect();
            (!kept.is_empty() || !dropped).then(|| Cow::Owned(written(&kept)))
        }
    }
}

/// The names of the variables that do not enter the key, decoded, each once.
pub(crate) fn left_out(how: &QueryKey, query: Option<&str>) -> Vec<String> {
    let spelt = match how {
        QueryKey::Keep(names) => Listed::of(names),
        _ => Listed::of(&[]),
    };
    let is_left_out = |one: &Variable<'_>| match how {
        _ if too_many_variables(how, query) => false,
        QueryKey::AsIs | QueryKey::Sorted => false,
        QueryKey::Ignore => true,
        QueryKey::Keep(_) => !spelt.may_hold(one),
        QueryKey::Drop(names) => is_listed(names, one),
    };
    let mut names: Vec<String> = variables(query.unwrap_or_default())
        .filter(is_left_out)
        .map(|one| String::from_utf8_lossy(&one.name).into_owned())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Variables by which applications let a request claim another method: PHP and Ruby frameworks and Spring, WAI.
const METHOD_VARIABLES: [&[u8]; 2] = [b"_method", b"_method_override"];

/// Whether a variable makes some application take another method for the request's. WordPress honours `_method` in the
/// query of a GET.
pub(crate) fn overrides_method(query: &str) -> bool {
    // All of them hold the word, which few queries do.
    let holds_word = |bytes: &[u8]| bytes.windows(6).any(|window| window.eq_ignore_ascii_case(b"method"));
    let may = match query.contains('%') {
        true => holds_word(&percent_decode(query.as_bytes()).collect::<Vec<u8>>()),
        false => holds_word(query.as_bytes()),
    };
    let claims = |name: &[u8]| METHOD_VARIABLES.contains(&name) || samovar_policy::overrides_method(name);
    may && variables(query).any(|one| one.taken_for().any(|name| claims(&name)))
}

/// The variables in order; nothing for `&&`.
fn variables(query: &str) -> impl Iterator<Item = Variable<'_>> {
    query.split('&').filter(|text| !text.is_empty()).map(|text| {
        let equals = text.find('=').unwrap_or(text.len());
        let (name, rest) = text.split_at_checked(equals).unwrap_or((text, ""));
        Variable { name: decoded(name), rest }
    })
}

/// A broken escape stands for itself, as most origins read it.
fn decoded(name: &str) -> Cow<'_, [u8]> {
    if name.contains('+') {
        // A plus sign that is meant is written `%2B`, which is still an escape here.
        percent_decode(name.replace('+', " ").as_bytes()).collect::<Vec<u8>>().into()
    } else {
        percent_decode(name.as_bytes()).into()
    }
}

/// Whether it is one of these and cannot be taken for another.
fn is_listed(names: &[String], variable: &Variable<'_>) -> bool {
    !variable.has_parts() && names.iter().any(|pattern| wild_match(pattern.as_bytes(), &variable.name))
}

/// Listed names, with how applications spell them: read once, as a query may hold many variables.
struct Listed<'n> {
    names: &'n [String],
    spelt: Vec<Vec<u8>>,
}

impl<'n> Listed<'n> {
    fn of(names: &'n [String]) -> Listed<'n> {
        let mut spelt: Vec<Vec<u8>> = names.iter().flat_map(|name| readings(name.as_bytes())).collect();
        spelt.dedup();
        Listed { names, spelt }
    }

    /// Whether some application would take it, or a part of it, for one of these.
    fn may_hold(&self, variable: &Variable<'_>) -> bool {
        is_listed(self.names, variable)
            || variable.taken_for().any(|name| self.spelt.iter().any(|pattern| wild_match(pattern, &name)))
    }
}

impl<'q> Variable<'q> {
    /// Whether some applications would part it elsewhere: at `;`, or not where its `[` stands.
    fn has_parts(&self) -> bool {
        self.name.contains(&b';') || self.rest.contains(';') || is_torn(&self.name)
    }

    /// The names that it and its parts may be taken for.
    fn taken_for(&self) -> impl Iterator<Item = Vec<u8>> + use<'_, 'q> {
        let in_name = self.name.split(|byte| *byte == b';').flat_map(readings);
        let in_value = self.rest.split(';').skip(1);
        in_name.chain(in_value.flat_map(|part| readings(&decoded(part.split('=').next().unwrap_or(part)))))
    }
}

/// Variables that may be taken for one keep their order: `a[]=1&a[]=2` is not `a[]=2&a[]=1`. Where one may be parted
/// elsewhere all stay where they are.
fn sort(variables: &mut [Variable<'_>]) {
    if !variables.iter().any(Variable::has_parts) {
        variables.sort_by_cached_key(|one| {
            let [outside, _] = readings(&one.name);
            outside
        });
    }
}

fn written(variables: &[Variable<'_>]) -> String {
    let length = variables.iter().map(|one| one.name.len() + one.rest.len() + 1).sum();
    let mut out = String::with_capacity(length);
    for (at, variable) in variables.iter().enumerate() {
        if at > 0 {
            out.push('&');
        }
        match std::str::from_utf8(&variable.name) {
            Ok(name) if name.bytes().all(is_unreserved) => out.push_str(name),
            _ => out.extend(percent_encode(&variable.name, NAME_ESCAPES)),
        }
        out.push_str(variable.rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_claim_a_method() {
        for (query, claims) in [
            ("_method=HEAD", true),
            ("a=b&_method=DELETE", true),
            ("_METHOD=put", true),
            ("%5Fmethod=HEAD", true),
            ("%5fm%65thod=HEAD", true),
            ("+_method=HEAD", true),
            (".method=HEAD", true),
            ("_method[]=HEAD", true),
            ("a=1;_method=HEAD", true),
            ("_method_override=PUT", true),
            ("X-HTTP-Method-Override=PUT", true),
            ("_method", true),
            ("method=GetMap", false),
            ("my_method=1", false),
            ("q=_method", false),
            ("q=%5Fmethod", false),
            ("", false),
        ] {
            assert_eq!(overrides_method(query), claims, "{query}");
        }
    }
    use proptest::prelude::*;

    fn names(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn table() {
        let keep = |text| QueryKey::Keep(names(text));
        let drop = |text| QueryKey::Drop(names(text));
        for (how, query, expected) in [
            (QueryKey::AsIs, Some("b=%61&a"), Some("b=%61&a")),
            (QueryKey::AsIs, Some(""), Some("")),
            (QueryKey::AsIs, None, None),
            (QueryKey::Ignore, Some("a=1"), None),
            (QueryKey::Ignore, Some(""), None),
            (QueryKey::Sorted, None, None),
            (QueryKey::Sorted, Some(""), Some("")),
            (QueryKey::Sorted, Some("&&"), Some("")),
            (QueryKey::Sorted, Some("b=2&a=1"), Some("a=1&b=2")),
            (QueryKey::Sorted, Some("b=2&a=2&b=1&a=1"), Some("a=2&a=1&b=2&b=1")),
            (QueryKey::Sorted, Some("b&%61=%7e"), Some("a=%7e&b")),
            (QueryKey::Sorted, Some("a=&a"), Some("a=&a")),
            (QueryKey::Sorted, Some("x+y=1+2&x%20y=3"), Some("x%20y=1+2&x%20y=3")),
            (QueryKey::Sorted, Some("a%26b=1"), Some("a%26b=1")),
            (QueryKey::Sorted, Some("a%3Db=1"), Some("a%3Db=1")),
            (QueryKey::Sorted, Some("%zz=1"), Some("%25zz=1")),
            (QueryKey::Sorted, Some("a%2Bb=1"), Some("a%2Bb=1")),
            (QueryKey::Sorted, Some("=1&="), Some("=1&=")),
            (keep("a b"), Some("c=3&b=2&a=1"), Some("a=1&b=2")),
            (keep("a"), Some("%61=1&x"), Some("a=1")),
            // What PHP and others take for a listed one.
            (keep("id"), Some("+id=evil&x"), Some("%20id=evil")),
            (keep("id"), Some("id[]=1&id%00x=2&ID=3"), Some("id%5B%5D=1&id%00x=2&ID=3")),
            (
                keep("page_size"),
                Some("page.size=1&page+size=2&page_size=3"),
                Some("page.size=1&page%20size=2&page_size=3"),
            ),
            (keep("id"), Some("x=1;id=2"), Some("x=1;id=2")),
            (keep("id"), Some("x;id=2&y=;z"), Some("x%3Bid=2")),
            (keep("id a"), Some("id=1&a=1;id=2"), Some("id=1&a=1;id=2")),
            (drop("utm"), Some("utm=1;id=2&utm=3"), Some("utm=1;id=2")),
            (keep("page_size"), Some("page_size=1&page[size=2"), Some("page_size=1&page%5Bsize=2")),
            (keep("page_size"), Some("page[size=2&page_size=1"), Some("page%5Bsize=2&page_size=1")),
            // The order of what may be taken for one decides which counts.
            (QueryKey::Sorted, Some("b=0&+id=2&id=1"), Some("b=0&%20id=2&id=1")),
            (QueryKey::Sorted, Some("id=1&+id=2&b=0"), Some("b=0&id=1&%20id=2")),
            (keep("a"), Some("x=1"), None),
            (keep("a"), Some(""), None),
            (keep("Q*"), Some("Qz=1&q=2&Qa=3"), Some("q=2&Qa=3&Qz=1")),
            (keep("*"), Some("b&a"), Some("a&b")),
            (drop("utm_*"), Some("b=2&utm_x=1&a=1"), Some("b=2&a=1")),
            (drop("utm_*"), Some("%75tm_x=1"), None),
            (drop("utm_*"), Some(""), Some("")),
            (drop("utm_*"), Some("a"), Some("a")),
            (drop("*"), Some("a&b"), None),
        ] {
            assert_eq!(normalise_query(&how, query).as_deref(), expected, "{how:?} {query:?}");
        }
    }

    #[test]
    fn what_is_left_out() {
        let how = QueryKey::Drop(names("utm_*"));
        assert_eq!(left_out(&how, Some("a=1&utm_b=2&%75tm_a=3&utm_b=4")), ["utm_a", "utm_b"]);
        assert!(left_out(&QueryKey::Sorted, Some("a=1")).is_empty());
        assert_eq!(left_out(&QueryKey::Ignore, Some("a=1")), ["a"]);
    }

    #[test]
    fn as_many_variables_as_are_told_apart_and_one_more() {
        let query = |n: usize| {
            let all: Vec<String> = (0..n).rev().map(|at| format!("v%5f{at:05}={at}")).collect();
            all.join("&")
        };
        let (most, more) = (query(VARIABLES_MAX), query(VARIABLES_MAX + 1));
        let sorted = normalise_query(&QueryKey::Sorted, Some(&most)).unwrap();
        assert!(sorted.starts_with("v_00000=0&v_00001=1&"));
        assert_eq!(sorted.split('&').count(), VARIABLES_MAX);
        for how in [QueryKey::Sorted, QueryKey::Keep(names("a")), QueryKey::Drop(names("v*"))] {
            assert!(!too_many_variables(&how, Some(&most)));
            assert!(
                too_many_variables(&how, Some(&more))
                    && too_many_variables(&how, Some(&more.replace('&', ";")))
            );
            assert_eq!(
                normalise_query(&how, Some(&more)).as_deref(),
                Some(&*more),
                "the key tells all apart"
            );
            assert!(left_out(&how, Some(&more)).is_empty());
        }
        assert!(!too_many_variables(&QueryKey::AsIs, Some(&more)), "nothing is taken apart");
    }

    fn how() -> impl Strategy<Value = QueryKey> {
        let list = prop::collection::vec("[ab*%]{1,3}", 0..3);
        prop_oneof![
            Just(QueryKey::AsIs),
            Just(QueryKey::Sorted),
            Just(QueryKey::Ignore),
            list.clone().prop_map(QueryKey::Keep),
            list.prop_map(QueryKey::Drop),
        ]
    }

    /// What an origin reads: names decoded, values as they came, grouped by name.
    fn read(query: Option<&str>) -> std::collections::BTreeMap<Vec<u8>, Vec<String>> {
        let mut found: std::collections::BTreeMap<Vec<u8>, Vec<String>> = Default::default();
        for text in query.unwrap_or_default().split('&').filter(|text| !text.is_empty()) {
            let (name, value) =
                text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            let mut bytes = Vec::new();
            let raw = name.as_bytes();
            let mut at = 0;
            while at < raw.len() {
                let pair = raw.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
                match (raw[at], pair.and_then(|two| u8::from_str_radix(two, 16).ok())) {
                    (b'%', Some(byte)) if !pair.unwrap().starts_with('+') => {
                        bytes.push(byte);
                        at += 3;
                        continue;
                    }
                    (b'+', _) => bytes.push(b' '),
                    (byte, _) => bytes.push(byte),
                }
                at += 1;
            }
            found.entry(bytes).or_default().push(format!("{value:?}"));
        }
        found
    }

    proptest! {
        #[test]
        fn idempotent(how in how(), query in prop::option::of("[ab=&%2561+é]{0,16}")) {
            let once = normalise_query(&how, query.as_deref()).map(Cow::into_owned);
            let twice = normalise_query(&how, once.as_deref()).map(Cow::into_owned);
            prop_assert_eq!(once, twice);
        }

        #[test]
        fn sorting_loses_nothing(query in prop::option::of("[ab=&%2561+é]{0,16}")) {
            let sorted = normalise_query(&QueryKey::Sorted, query.as_deref());
            prop_assert_eq!(read(sorted.as_deref()), read(query.as_deref()));
        }

        #[test]
        fn equal_results_mean_equal_variables(
            how in how(),
            one in prop::option::of("[ab=&%61]{0,8}"),
            other in prop::option::of("[ab=&%61]{0,8}"),
        ) {
            if normalise_query(&how, one.as_deref()) == normalise_query(&how, other.as_deref()) {
                let left: Vec<_> = left_out(&how, one.as_deref()).into_iter().chain(left_out(&how, other.as_deref())).collect();
                let chosen = |query: Option<&str>| {
                    let mut found = read(query);
                    found.retain(|name, _| !left.contains(&String::from_utf8_lossy(name).into_owned()));
                    found
                };
                prop_assert_eq!(chosen(one.as_deref()), chosen(other.as_deref()));
            }
        }

        #[test]
        fn keep_and_drop_share_nothing(list in prop::collection::vec("[ab*]{1,3}", 0..3), query in "[ab=&%61]{0,16}") {
            let keep = read(normalise_query(&QueryKey::Keep(list.clone()), Some(&query)).as_deref());
            let drop = read(normalise_query(&QueryKey::Drop(list), Some(&query)).as_deref());
            let mut both = keep.clone();
            for (name, values) in &drop {
                prop_assert!(!keep.contains_key(name));
                both.insert(name.clone(), values.clone());
            }
            prop_assert_eq!(both, read(Some(&query)));
        }
    }
}
