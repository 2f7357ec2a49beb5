//! Cache directives of answers, read once per head: Cache-Control (RFC 9111 §5.2.2) and the targeted fields that go
//! before it (RFC 9213).
//!
//! Not here: those of requests (`asked`), what follows from them (`freshness`, `storable`).

use crate::sfv::{self, Value};
use crate::surrogate;
use crate::syntax::{Single, delta_seconds, elements, single, trim_ows, unquote};
use http::{HeaderMap, HeaderName, header};
use samovar_reason::Lifetime;

/// The targeted fields we obey, the most specific first (RFC 9213 §2.2), and the source each stands for. After them
/// comes `Surrogate-Control`, their forerunner (see `surrogate`).
const TARGETS: [(HeaderName, Lifetime); 2] = [
    (HeaderName::from_static("samovar-cache-control"), Lifetime::TargetedSamovar),
    (HeaderName::from_static("cdn-cache-control"), Lifetime::TargetedCdn),
];

/// Fields without which a stored answer would mean something else, or that the decision itself rests on: a
/// `private` or `no-cache` that names one is taken for the whole answer.
const INDISPENSABLE: [HeaderName; 11] = [
    header::AGE,
    header::CACHE_CONTROL,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    header::DATE,
    header::EXPIRES,
    header::LOCATION,
    header::TRANSFER_ENCODING,
    header::VARY,
];

/// A directive that holds a number of seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Delta {
    /// It is not there.
    #[default]
    Absent,
    /// Seconds.
    Seconds(u64),
    /// It is there but makes no sense: no digits, or two values that differ.
    Invalid,
}

impl Delta {
    /// Milliseconds; what makes no sense counts as 0, which reuses least.
    pub(crate) fn ms(self) -> Option<u64> {
        match self {
            Delta::Absent => None,
            Delta::Seconds(seconds) => Some(seconds.saturating_mul(1000)),
            Delta::Invalid => Some(0),
        }
    }

    pub(crate) fn is_present(self) -> bool {
        self != Delta::Absent
    }

    /// Adds one more occurrence. RFC 9111 §4.2.1: of several values the first is used or the answer is stale; we
    /// take stale, unless they agree.
    pub(crate) fn add(&mut self, seconds: Option<u64>) {
        let new = seconds.map_or(Delta::Invalid, Delta::Seconds);
        *self = match *self {
            Delta::Absent => new,
            same if same == new => same,
            _ => Delta::Invalid,
        };
    }
}

/// What `private` or `no-cache` is said of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    /// It is not said.
    #[default]
    None,
    /// Only of these fields (the qualified form, RFC 9111 §5.2.2.4, §5.2.2.7).
    Fields(Vec<HeaderName>),
    /// Of the whole answer.
    Whole,
}

impl Scope {
    pub(crate) fn is_whole(&self) -> bool {
        *self == Scope::Whole
    }

    /// The fields it names.
    pub(crate) fn fields(&self) -> &[HeaderName] {
        match self {
            Scope::Fields(names) => names,
            Scope::None | Scope::Whole => &[],
        }
    }

    /// Adds one more occurrence. The argument is a quoted list of field names; any other argument, an empty list, a
    /// bad name or an indispensable field makes it hold for the whole answer.
    fn add(&mut self, quoted: Option<&[u8]>) {
        let named =
            quoted.and_then(field_names).filter(|names| !names.iter().any(|n| INDISPENSABLE.contains(n)));
        match (std::mem::take(self), named) {
            (Scope::None, Some(names)) => *self = Scope::Fields(names),
            (Scope::Fields(mut names), Some(more)) => {
                names.extend(more);
                *self = if names.len() > NAMED_MAX { Scope::Whole } else { Scope::Fields(names) };
            }
            (Scope::Whole, _) | (_, None) => *self = Scope::Whole,
        }
    }
}

/// One or more field names, separated by commas; `None` if there are too many.
fn field_names(list: &[u8]) -> Option<Vec<HeaderName>> {
    let names: Option<Vec<HeaderName>> =
        elements(list).take(NAMED_MAX + 1).map(|name| HeaderName::from_bytes(name).ok()).collect();
    names.filter(|names| (1..=NAMED_MAX).contains(&names.len()))
}

/// What an answer says of its own caching.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Directives {
    pub(crate) max_age: Delta,
    pub(crate) s_maxage: Delta,
    pub(crate) stale_while_revalidate: Delta,
    pub(crate) stale_if_error: Delta,
    pub(crate) no_store: bool,
    pub(crate) no_cache: Scope,
    pub(crate) private: Scope,
    pub(crate) public: bool,
    pub(crate) must_revalidate: bool,
    pub(crate) proxy_revalidate: bool,
    pub(crate) must_understand: bool,
    /// A quoted string stays open: nothing it says of lifetimes is believed.
    pub(crate) malformed: bool,
    /// The targeted field all this comes from; `None` for Cache-Control, beside which Expires counts too.
    pub(crate) target: Option<Lifetime>,
}

impl Directives {
    /// Whether the lifetime is said in a way that cannot be read.
    pub(crate) fn lifetime_is_odd(&self) -> bool {
        let said = if self.s_maxage.is_present() { self.s_maxage } else { self.max_age };
        self.malformed || said == Delta::Invalid
    }

    /// RFC 9213 §2.2: the first targeted field that is valid and not empty decides alone; else Cache-Control does.
    pub(crate) fn of(headers: &HeaderMap) -> Directives {
        TARGETS
            .iter()
            .find_map(|(name, source)| targeted(headers, name, *source))
            .or_else(|| surrogate::directives(headers))
            .unwrap_or_else(|| Directives::of_cache_control(headers))
    }

    /// Cache-Control alone, all lines of it (RFC 9111 §5.2).
    pub(crate) fn of_cache_control(headers: &HeaderMap) -> Directives {
        let mut all = Directives::default();
        for line in headers.get_all(header::CACHE_CONTROL) {
            let mut list = elements(line.as_bytes());
            for element in list.by_ref() {
                let (name, argument) = directive(element);
                all.add(name, argument);
            }
            all.malformed |= list.broken;
        }
        all
    }

    /// Adds one directive. Unknown ones, `immutable` among them, change nothing for a shared cache (RFC 9111 §5.2.3;
    /// RFC 8246 is about a client's reload, which `Reload` settles).
    fn add(&mut self, name: &[u8], argument: Argument<'_>) {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        if is("max-age") {
            self.max_age.add(argument.seconds());
        } else if is("s-maxage") {
            self.s_maxage.add(argument.seconds());
        } else if is("stale-while-revalidate") {
            self.stale_while_revalidate.add(argument.seconds());
        } else if is("stale-if-error") {
            self.stale_if_error.add(argument.seconds());
        } else if is("no-store") {
            self.no_store = true;
        } else if is("no-cache") {
            self.no_cache.add(argument.quoted());
        } else if is("private") {
            self.private.add(argument.quoted());
        } else if is("public") {
            self.public = true;
        } else if is("must-revalidate") {
            self.must_revalidate = true;
        } else if is("proxy-revalidate") {
            self.proxy_revalidate = true;
        } else if is("must-understand") {
            self.must_understand = true;
        }
    }
}

/// The directives of responses that [`Directives::add`] knows.
const KNOWN: [&str; 11] = [
    "max-age",
    "s-maxage",
    "stale-while-revalidate",
    "stale-if-error",
    "no-store",
    "no-cache",
    "private",
    "public",
    "must-revalidate",
    "proxy-revalidate",
    "must-understand",
];

/// Most fields that `private="…"` or `no-cache="…"` may name; where more are named it holds for the whole answer.
const NAMED_MAX: usize = 64;

/// One targeted field; `None` if it is absent, empty or malformed, which is the same (RFC 9213 §2.1).
fn targeted(headers: &HeaderMap, name: &HeaderName, source: Lifetime) -> Option<Directives> {
    let lines: Vec<&[u8]> = headers.get_all(name).iter().map(|value| value.as_bytes()).collect();
    let all_lines = lines.join(&b", "[..]);
    let members = sfv::dictionary(&all_lines, &KNOWN).filter(|found| !found.is_empty)?.members;
    let mut all = Directives { target: Some(source), ..Directives::default() };
    for (key, value) in &members {
        match value {
            Value::Boolean(false) => {}
            Value::Boolean(true) => all.add(key.as_bytes(), Argument::None),
            Value::Integer(n) => all.add(key.as_bytes(), Argument::Integer(*n)),
            Value::String(text) => all.add(key.as_bytes(), Argument::Text(text.as_bytes())),
            Value::Other => all.add(key.as_bytes(), Argument::Unusable),
        }
    }
    Some(all)
}

/// A directive's argument.
#[derive(Clone, Debug)]
pub(crate) enum Argument<'a> {
    None,
    Token(&'a [u8]),
    Quoted(std::borrow::Cow<'a, [u8]>),
    /// A structured field's integer.
    Integer(i64),
    /// A structured field's string: never a number (RFC 9213 §2.1).
    Text(&'a [u8]),
    Unusable,
}

impl<'a> Argument<'a> {
    fn read(text: &'a [u8]) -> Argument<'a> {
        match unquote(text) {
            Some(plain) => Argument::Quoted(plain),
            // Whether it is a token does not matter: what is not all digits is no number.
            None => Argument::Token(text),
        }
    }

    /// RFC 9111 §5.2: both the token and the quoted form are taken.
    pub(crate) fn seconds(&self) -> Option<u64> {
        match self {
            Argument::Token(text) => delta_seconds(text),
            Argument::Quoted(text) => delta_seconds(text),
            Argument::Integer(n) => u64::try_from(*n).ok().map(|n| n.min(crate::syntax::DELTA_MAX_S)),
            Argument::None | Argument::Text(_) | Argument::Unusable => None,
        }
    }

    /// A list of field names must be quoted; an unquoted one is not relied on.
    fn quoted(&self) -> Option<&[u8]> {
        match self {
            Argument::Quoted(text) => Some(text),
            Argument::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A directive's name and argument.
pub(crate) fn directive(element: &[u8]) -> (&[u8], Argument<'_>) {
    let (name, argument) = split(element);
    (name, argument.map_or(Argument::None, Argument::read))
}

/// `name=argument`. Blanks around `=` are not allowed, so an argument with one is unusable, but the name still
/// counts: a broken `max-age` must not be taken for silence.
fn split(element: &[u8]) -> (&[u8], Option<&[u8]>) {
    match element.iter().position(|b| *b == b'=') {
        None => (element, None),
        Some(at) => {
            let (name, rest) = element.split_at_checked(at).unwrap_or((element, &[]));
            let argument = if trim_ows(name).len() == name.len() { rest.get(1..) } else { Some(&b" "[..]) };
            (trim_ows(name), argument)
        }
    }
}

/// The fields that must not be kept although the answer is: all that `private` and `no-cache` name, in whichever of
/// the fields they stand.
pub(crate) fn named_fields(headers: &HeaderMap) -> Vec<HeaderName> {
    let chosen = Directives::of(headers);
    let general = Directives::of_cache_control(headers);
    [&chosen.private, &chosen.no_cache, &general.private, &general.no_cache]
        .into_iter()
        .flat_map(|scope| scope.fields().iter().cloned())
        .collect()
}

/// The origin's `Expires` beside its `Date`, when no targeted field decides.
pub(crate) fn expires(headers: &HeaderMap) -> Single<'_> {
    single(headers, &header::EXPIRES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    fn heads(fields: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        map
    }

    fn cc(value: &str) -> Directives {
        Directives::of(&heads(&[("cache-control", value)]))
    }

    #[test]
    fn numbers_in_every_form() {
        for (text, want) in [
            ("", Delta::Absent),
            ("max-age=60", Delta::Seconds(60)),
            ("MaX-aGe=60", Delta::Seconds(60)),
            ("max-age=\"60\"", Delta::Seconds(60)),
            ("max-age=003600", Delta::Seconds(3600)),
            ("max-age=99999999999", Delta::Seconds(1 << 31)),
            ("max-age=60, max-age=60", Delta::Seconds(60)),
            ("ext=\"max-age=3600\", max-age=1", Delta::Seconds(1)),
            ("max-age=1, ext=\"max-age=3600, x\"", Delta::Seconds(1)),
            ("max-age=60, max-age=61", Delta::Invalid),
            ("max-age", Delta::Invalid),
            ("max-age=", Delta::Invalid),
            ("max-age =60", Delta::Invalid),
            ("max-age= 60", Delta::Invalid),
            ("max-age='60'", Delta::Invalid),
            ("max-age=-60", Delta::Invalid),
            ("max-age=60.5", Delta::Invalid),
            ("max-age=a60", Delta::Invalid),
            ("max-age=60a", Delta::Invalid),
            ("max-age=60 s", Delta::Invalid),
        ] {
            assert_eq!(cc(text).max_age, want, "{text}");
        }
    }

    #[test]
    fn lines_are_one_list() {
        let all = Directives::of(&heads(&[
            ("cache-control", "max-age=60"),
            ("cache-control", "No-Store, , PUBLIC"),
        ]));
        assert_eq!((all.max_age, all.no_store, all.public), (Delta::Seconds(60), true, true));
    }

    #[test]
    fn qualified_forms() {
        let fields = |names: &[&'static str]| {
            Scope::Fields(names.iter().map(|n| HeaderName::from_static(n)).collect())
        };
        for (text, want) in [
            ("public", Scope::None),
            ("private", Scope::Whole),
            ("private=\"a\"", fields(&["a"])),
            ("private=\"A, b\"", fields(&["a", "b"])),
            ("private=\"a\", private=\"b\"", fields(&["a", "b"])),
            ("private=\"a\", private", Scope::Whole),
            ("private, private=\"a\"", Scope::Whole),
            ("private=\"\"", Scope::Whole),
            ("private=\"a b\"", Scope::Whole),
            ("private=a", Scope::Whole),
            ("private=\"content-type\"", Scope::Whole),
            ("private =\"a\"", Scope::Whole),
        ] {
            assert_eq!(cc(text).private, want, "{text}");
        }
    }

    #[test]
    fn an_open_quote_hides_nothing() {
        let all = cc("max-age=60, ext=\"open, no-store, private");
        assert!(all.malformed && all.no_store && all.private.is_whole());
    }

    #[test]
    fn targeted_fields_go_first_and_alone() {
        let both = heads(&[("cdn-cache-control", "max-age=10"), ("cache-control", "no-store")]);
        let all = Directives::of(&both);
        assert_eq!(
            (all.max_age, all.no_store, all.target),
            (Delta::Seconds(10), false, Some(Lifetime::TargetedCdn))
        );

        let ours = heads(&[("cdn-cache-control", "max-age=10"), ("samovar-cache-control", "no-store")]);
        let all = Directives::of(&ours);
        assert_eq!(
            (all.max_age, all.no_store, all.target),
            (Delta::Absent, true, Some(Lifetime::TargetedSamovar))
        );
    }

    #[test]
    fn void_targeted_fields_are_passed_over() {
        for void in ["", " ", "max-age=10, &&&&&", "max-age =10", "MAX-AGE=10", "max-age=10,"] {
            let all = Directives::of(&heads(&[("cdn-cache-control", void), ("cache-control", "no-store")]));
            assert_eq!((all.no_store, all.target), (true, None), "{void}");
        }
    }

    #[test]
    fn targeted_values_have_types() {
        for (text, want) in [
            ("max-age=10;foo", Delta::Seconds(10)),
            ("max-age=99999999999", Delta::Seconds(1 << 31)),
            ("max-age=1, max-age=10", Delta::Seconds(10)),
            ("max-age=\"10\"", Delta::Invalid),
            ("max-age=-10", Delta::Invalid),
            ("max-age=10.5", Delta::Invalid),
            ("max-age", Delta::Invalid),
            ("max-age=?0", Delta::Absent),
        ] {
            assert_eq!(Directives::of(&heads(&[("cdn-cache-control", text)])).max_age, want, "{text}");
        }
        let all = Directives::of(&heads(&[("cdn-cache-control", "private=\"a\", no-cache")]));
        assert_eq!(all.private.fields(), [HeaderName::from_static("a")]);
        assert!(all.no_cache.is_whole());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(value in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                for name in ["cache-control", "cdn-cache-control"] {
                    let mut map = HeaderMap::new();
                    map.append(name, value.clone());
                    let _ = (Directives::of(&map), named_fields(&map));
                }
            }
        }

        /// Whatever stands around it, a `no-store` of its own in the list is seen: only a quoted string that opens before
        /// and closes after it would hide it.
        #[test]
        fn no_store_is_never_lost((before, after) in prop_oneof![
            ("[a-z=, ]{0,8}(\"[a-z=, ]{0,4}\")?[a-z=, ]{0,8}", "[a-z=,\" ]{0,20}"),
            ("[a-z=,\" ]{0,20}", "[a-z=, ]{0,20}"),
        ]) {
            let all = cc(&format!("{before}, no-store, {after}"));
            prop_assert!(all.no_store);
        }
    }
}
