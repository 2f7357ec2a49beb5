//! One spelling per field value: what enters the key, and what a stored `Vary` is compared by.
//!
//! All of it is idempotent: a value that went through once comes out of a second time unchanged, so it does not
//! matter on which side of [`normalise_for_origin`] a value is looked at. Not here: how languages and codings are
//! chosen (`quality`), which cookies matter (`cookies`).

use crate::cookies;
use crate::quality::{best_encoding, best_language};
use crate::same::same_meaning;
use crate::types::{Normalise, Rule};
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::borrow::Cow;

/// Fields whose values are credentials: always exact, never rewritten, never shown.
pub(crate) const SECRET_FIELDS: [HeaderName; 3] = [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION];

/// The value of a field made comparable; `None` if the field is absent and its absence is a value of its own
/// (for languages and codings it is not: absence means the default, or `identity`). Credentials and cookies are
/// always compared exactly.
pub fn normalise_value(how: &Normalise, name: &HeaderName, headers: &HeaderMap) -> Option<HeaderValue> {
    HeaderValue::from_bytes(&normal_bytes(how, name, headers)?).ok()
}

/// The value of a field that no rule names: values that mean the same are written alike (see `same`), credentials and
/// cookies stay exact.
pub fn normalise_by_meaning(name: &HeaderName, headers: &HeaderMap) -> Option<HeaderValue> {
    let value = combined(name, headers)?;
    let value = if SECRET_FIELDS.contains(name) { value.into_owned() } else { same_meaning(name, &value) };
    HeaderValue::from_bytes(&value).ok()
}

/// See [`normalise_value`].
pub(crate) fn normal_bytes<'a>(
    how: &'a Normalise,
    name: &HeaderName,
    headers: &'a HeaderMap,
) -> Option<Cow<'a, [u8]>> {
    match how {
        // Two sessions whose credentials differ by case only are two sessions.
        _ if SECRET_FIELDS.contains(name) => combined(name, headers),
        Normalise::Exact => combined(name, headers),
        Normalise::Lower => combined(name, headers).map(|value| value.to_ascii_lowercase().into()),
        Normalise::Languages(list) => {
            best_language(list, name, headers).map(|tag| Cow::Borrowed(tag.as_bytes()))
        }
        Normalise::Encodings(list) => Some(Cow::Borrowed(best_encoding(list, name, headers).as_bytes())),
    }
}

/// RFC 9110 §5.3: the lines of a field joined by `, `, outer white space trimmed.
fn combined<'a>(name: &HeaderName, headers: &'a HeaderMap) -> Option<Cow<'a, [u8]>> {
    let mut lines = headers.get_all(name).iter().map(|line| line.as_bytes().trim_ascii());
    let mut joined = Cow::Borrowed(lines.next()?);
    for line in lines {
        let value = joined.to_mut();
        value.extend_from_slice(b", ");
        value.extend_from_slice(line);
    }
    // An empty first or last line leaves a space of ours at the edge.
    match joined {
        Cow::Borrowed(value) => Some(value.into()),
        Cow::Owned(value) => Some(value.trim_ascii().to_vec().into()),
    }
}

/// Negotiation settled: where a rule chooses the language or the coding, the origin is sent the choice that stands in
/// the key. Otherwise a request that asks for `gzip, zstd` could fill the entry that everyone who accepts only `gzip`
/// is answered from. Other fields go as they came, even if the key does not mind their case: a cookie in lower case
/// would be another session's.
pub fn normalise_for_origin(rule: &Rule, headers: &mut HeaderMap) {
    for vary in rule.vary_headers.iter().chain(&rule.compare_headers) {
        let negotiated = matches!(vary.normalise, Normalise::Languages(_) | Normalise::Encodings(_));
        if !negotiated || SECRET_FIELDS.contains(&vary.name) {
            continue;
        }
        if let Some(value) = normalise_value(&vary.normalise, &vary.name, headers) {
            headers.insert(vary.name.clone(), value);
        }
    }
    if let Some(asked) = asked_of_origin(rule, headers) {
        headers.insert(ACCEPT_ENCODING, asked);
    }
}

/// The codings that the origin is asked for where compression is ours, unless the rule speaks of the field itself.
fn asked_of_origin(rule: &Rule, headers: &HeaderMap) -> Option<HeaderValue> {
    let wish = rule.coding.as_ref()?;
    let mut named = rule.vary_headers.iter().chain(&rule.compare_headers);
    if named.any(|field| field.name == ACCEPT_ENCODING) {
        return None;
    }
    wish.asked_of_origin(headers)
}

impl Rule {
    /// How the fields that an answer's `Vary` names are compared: as the rule says for those it names, `Cookie`
    /// without the cookies that do not matter, all others by what they mean.
    pub fn normaliser(&self) -> impl Fn(&HeaderName, &HeaderMap) -> Option<HeaderValue> + '_ {
        |name, headers| match self.vary_headers.iter().find(|vary| vary.name == *name) {
            Some(vary) => normalise_value(&vary.normalise, name, headers),
            None if *name == COOKIE => cookies::that_matter(self, headers),
            None => match self.compare_headers.iter().find(|field| field.name == *name) {
                Some(field) => normalise_value(&field.normalise, name, headers),
                None if *name == ACCEPT_ENCODING => {
                    asked_of_origin(self, headers).or_else(|| normalise_by_meaning(name, headers))
                }
                None => normalise_by_meaning(name, headers),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::VaryHeader;
    use http::header::{ACCEPT_LANGUAGE, USER_AGENT};
    use proptest::prelude::*;

    fn map(lines: &[(&HeaderName, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, line) in lines {
            headers.append(*name, HeaderValue::from_str(line).unwrap());
        }
        headers
    }

    fn text(value: Option<HeaderValue>) -> Option<String> {
        value.map(|value| value.to_str().unwrap().to_owned())
    }

    fn how() -> Vec<Normalise> {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect();
        vec![
            Normalise::Exact,
            Normalise::Lower,
            Normalise::Languages(words("en de de-AT zh-Hant")),
            Normalise::Encodings(words("br gzip identity")),
        ]
    }

    #[test]
    fn exact_and_lower() {
        let headers = map(&[(&USER_AGENT, "  A b "), (&USER_AGENT, "C")]);
        assert_eq!(
            text(normalise_value(&Normalise::Exact, &USER_AGENT, &headers)).as_deref(),
            Some("A b, C")
        );
        assert_eq!(
            text(normalise_value(&Normalise::Lower, &USER_AGENT, &headers)).as_deref(),
            Some("a b, c")
        );
        for how in [Normalise::Exact, Normalise::Lower] {
            assert_eq!(normalise_value(&how, &ACCEPT_LANGUAGE, &headers), None);
        }
        assert_eq!(
            text(normalise_value(&Normalise::Exact, &USER_AGENT, &map(&[(&USER_AGENT, "")]))).as_deref(),
            Some("")
        );
    }

    #[test]
    fn credentials_are_always_exact() {
        for how in how() {
            let headers = map(&[(&COOKIE, " sid=A"), (&AUTHORIZATION, "Bearer A")]);
            assert_eq!(text(normalise_value(&how, &COOKIE, &headers)).as_deref(), Some("sid=A"));
            assert_eq!(text(normalise_value(&how, &AUTHORIZATION, &headers)).as_deref(), Some("Bearer A"));
        }
    }

    #[test]
    fn the_origin_sees_what_the_key_says() {
        let rule = Rule {
            vary_headers: vec![
                VaryHeader {
                    name: ACCEPT_LANGUAGE,
                    normalise: Normalise::Languages(vec!["en".into(), "de".into()]),
                },
                VaryHeader { name: ACCEPT_ENCODING, normalise: Normalise::Encodings(vec!["gzip".into()]) },
                VaryHeader { name: USER_AGENT, normalise: Normalise::Lower },
                VaryHeader { name: COOKIE, normalise: Normalise::Lower },
            ],
            ..Rule::default()
        };
        let mut headers = map(&[(&ACCEPT_ENCODING, "gzip, zstd"), (&USER_AGENT, " X "), (&COOKIE, "sid=A")]);
        normalise_for_origin(&rule, &mut headers);
        assert_eq!(
            headers,
            map(&[
                (&ACCEPT_LANGUAGE, "en"),
                (&ACCEPT_ENCODING, "gzip"),
                (&USER_AGENT, " X "),
                (&COOKIE, "sid=A")
            ])
        );
    }

    #[test]
    fn fields_compared_are_settled_for_the_origin_too() {
        let languages = Normalise::Languages(vec!["de".into(), "fr".into()]);
        let compared = |name| VaryHeader { name, normalise: languages.clone() };
        let rule =
            Rule { compare_headers: vec![compared(ACCEPT_LANGUAGE), compared(COOKIE)], ..Rule::default() };
        let mut headers = map(&[(&ACCEPT_LANGUAGE, "en, de"), (&COOKIE, "sid=A")]);
        assert_eq!(text(rule.normaliser()(&ACCEPT_LANGUAGE, &headers)).as_deref(), Some("de"));
        assert_eq!(text(rule.normaliser()(&COOKIE, &headers)).as_deref(), Some("sid=A"));
        normalise_for_origin(&rule, &mut headers);
        assert_eq!(headers, map(&[(&ACCEPT_LANGUAGE, "de"), (&COOKIE, "sid=A")]));
    }

    #[test]
    fn vary_uses_the_rules_normaliser() {
        let rule = Rule {
            vary_headers: vec![VaryHeader {
                name: ACCEPT_LANGUAGE,
                normalise: Normalise::Languages(vec!["en".into(), "de".into()]),
            }],
            ignore_cookies: vec!["_ga*".into()],
            ..Rule::default()
        };
        let headers = map(&[
            (&ACCEPT_LANGUAGE, "de-CH"),
            (&USER_AGENT, "X"),
            (&COOKIE, "_ga=1; sid=2"),
            (&COOKIE, "_gat=3"),
        ]);
        let normaliser = rule.normaliser();
        assert_eq!(text(normaliser(&ACCEPT_LANGUAGE, &headers)).as_deref(), Some("de"));
        assert_eq!(text(normaliser(&USER_AGENT, &headers)).as_deref(), Some("X"));
        assert_eq!(text(normaliser(&COOKIE, &headers)).as_deref(), Some("sid=2"));
        assert_eq!(normaliser(&COOKIE, &map(&[(&COOKIE, "_ga=1")])), None);
    }

    proptest! {
        #[test]
        fn idempotent(lines in prop::collection::vec("[ -~\t]{0,30}|((de|en|zh-Hant|gzip|br|\\*)(;q=[01](\\.[0-9])?)?,? ?){0,4}", 0..3)) {
            let mut headers = HeaderMap::new();
            for line in &lines {
                headers.append(ACCEPT_LANGUAGE, HeaderValue::from_str(line).unwrap());
            }
            for how in how() {
                let once = normalise_value(&how, &ACCEPT_LANGUAGE, &headers);
                let mut again = HeaderMap::new();
                if let Some(value) = &once {
                    again.insert(ACCEPT_LANGUAGE, value.clone());
                }
                prop_assert_eq!(normalise_value(&how, &ACCEPT_LANGUAGE, &again), once, "{:?}", how);
            }
        }

        #[test]
        fn bytes_beyond_ascii_do_no_harm(line in prop::collection::vec(0x80_u8..=0xff, 0..20)) {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_bytes(&line).unwrap());
            prop_assert_eq!(
                normalise_value(&Normalise::Exact, &ACCEPT_LANGUAGE, &headers),
                Some(HeaderValue::from_bytes(&line).unwrap())
            );
            for how in how() {
                let _ = normalise_value(&how, &ACCEPT_LANGUAGE, &headers);
            }
        }
    }
}
