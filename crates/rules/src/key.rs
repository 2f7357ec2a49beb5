//! The key, version 1: `http://host/path?query`, then one `\n`-led line per request value it varies by.
//!
//! Two keys are equal only if all of it is: nothing is hashed, and no value can look like the end of its line,
//! since every byte beyond printable ASCII and the backslash itself are written as `\xHH`. A line is
//! `name: value`, `name` alone for an absent field, `cookie name: value` for a cookie, `@site name` where two sites
//! serve one URL; field names hold neither spaces nor colons nor `@`, so the forms cannot be confused. Not here: what is normalised (`path`, `query`, `value`).

use crate::cookies::pieces;
use crate::path::{push_hex, push_lower_case};
use crate::query::normalise_query;
use crate::types::{Key, Normalise, Rule};
use crate::value::{SECRET_FIELDS, normal_bytes};
use http::{HeaderMap, HeaderName};

/// The parts of a URL that are settled before a rule is chosen.
pub(crate) struct Place<'a> {
    pub(crate) scheme: &'a str,
    /// With the port, if it is not the scheme's own.
    pub(crate) host: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: Option<&'a str>,
    /// The site, where another serves the same URL (on another port, or under its own name).
    pub(crate) site: Option<&'a str>,
}

/// The key of a request under a rule. `claims` are fields by which a trusted proxy says what was asked for.
pub(crate) fn build(place: &Place<'_>, rule: &Rule, claims: &[&HeaderName], headers: &HeaderMap) -> Key {
    let query_bytes = place.query.map_or(0, |query| query.len() + 1);
    let lines = rule.vary_headers.len() + rule.vary_cookies.len();
    let url_bytes = place.scheme.len() + 3 + place.host.len() + place.path.len() + query_bytes;
    let mut text = String::with_capacity(url_bytes + lines * 32);
    text.push_str(place.scheme);
    text.push_str("://");
    text.push_str(place.host);
    if rule.ignore_case {
        push_lower_case(&mut text, place.path);
    } else {
        text.push_str(place.path);
    }
    if let Some(query) = normalise_query(&rule.vary_query, place.query) {
        text.push('?');
        text.push_str(&query);
    }
    if let Some(site) = place.site {
        // No field name begins so.
        text.push_str("\n@site ");
        push_escaped(&mut text, site.as_bytes(), b"\\");
    }
    push_lines(&mut text, rule, headers);
    for name in claims {
        push_field(&mut text, name, &Normalise::Exact, headers);
    }
    Key(text.into())
}

fn push_field(text: &mut String, name: &HeaderName, how: &Normalise, headers: &HeaderMap) {
    text.push('\n');
    text.push_str(name.as_str());
    if let Some(value) = normal_bytes(how, name, headers) {
        text.push_str(": ");
        push_escaped(text, &value, b"\\");
    }
}

fn push_lines(text: &mut String, rule: &Rule, headers: &HeaderMap) {
    for vary in &rule.vary_headers {
        push_field(text, &vary.name, &vary.normalise, headers);
    }
    for name in &rule.vary_cookies {
        let mut absent = true;
        for (_, value) in
            pieces(headers).filter_map(|piece| piece.pair()).filter(|(found, _)| *found == name.as_bytes())
        {
            absent = false;
            push_cookie_name(text, name);
            text.push_str(": ");
            push_escaped(text, value, b"\\");
        }
        if absent {
            push_cookie_name(text, name);
        }
    }
}

fn push_cookie_name(text: &mut String, name: &str) {
    text.push_str("\ncookie ");
    push_escaped(text, name.as_bytes(), b"\\ :");
}

/// Printable ASCII but for `special` as it is, the rest as `\xHH`. One to one.
fn push_escaped(text: &mut String, bytes: &[u8], special: &[u8]) {
    for byte in bytes {
        if (0x20..0x7f).contains(byte) && !special.contains(byte) {
            text.push(char::from(*byte));
        } else {
            text.push_str("\\x");
            push_hex(text, *byte);
        }
    }
}

impl Key {
    /// The key for people: values of cookies and credentials are left out.
    pub fn redacted(&self) -> String {
        let mut out = String::with_capacity(self.as_str().len());
        for (at, line) in self.as_str().split('\n').enumerate() {
            if at > 0 {
                out.push('\n');
            }
            match line.split_once(": ") {
                Some((name, _)) if at > 0 && is_secret(name) => {
                    out.push_str(name);
                    out.push_str(": (redacted)");
                }
                _ => out.push_str(line),
            }
        }
        out
    }
}

fn is_secret(name: &str) -> bool {
    name.starts_with("cookie ") || SECRET_FIELDS.iter().any(|field| field == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{QueryKey, VaryHeader};
    use http::HeaderValue;
    use http::header::{ACCEPT_LANGUAGE, COOKIE, USER_AGENT};

    const PLACE: Place<'_> =
        Place { scheme: "http", host: "h.example", path: "/A%2F", query: Some("b=2&a=1"), site: None };

    fn map(lines: &[(&HeaderName, &[u8])]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, line) in lines {
            headers.append(*name, HeaderValue::from_bytes(line).unwrap());
        }
        headers
    }

    fn rule() -> Rule {
        Rule {
            vary_headers: vec![
                VaryHeader {
                    name: ACCEPT_LANGUAGE,
                    normalise: Normalise::Languages(vec!["en".into(), "de".into()]),
                },
                VaryHeader { name: USER_AGENT, normalise: Normalise::Exact },
            ],
            vary_cookies: vec!["lang".into(), "od d:".into()],
            vary_query: QueryKey::Sorted,
            ..Rule::default()
        }
    }

    #[test]
    fn plain() {
        assert_eq!(
            build(&PLACE, &Rule::default(), &[], &HeaderMap::new()).as_str(),
            "http://h.example/A%2F?b=2&a=1"
        );
        let lower = Rule { ignore_case: true, ..Rule::default() };
        assert_eq!(build(&PLACE, &lower, &[], &HeaderMap::new()).as_str(), "http://h.example/a%2F?b=2&a=1");
    }

    #[test]
    fn lines() {
        let headers = map(&[
            (&ACCEPT_LANGUAGE, b"de-CH"),
            (&USER_AGENT, b"x\\n\ty: z\xff"),
            (&COOKIE, b"lang=a; sid=1"),
            (&COOKIE, b"lang = b"),
        ]);
        let key = build(&PLACE, &rule(), &[], &headers);
        let expected = "http://h.example/A%2F?a=1&b=2\naccept-language: de\nuser-agent: x\\x5Cn\\x09y: z\\xFF\
                        \ncookie lang: a\ncookie lang: b\ncookie od\\x20d\\x3A";
        assert_eq!(key.as_str(), expected);
        assert_eq!(key.url(), "http://h.example/A%2F?a=1&b=2");
        assert!(key.redacted().contains("\nuser-agent: x"));
        assert!(key.redacted().contains("\ncookie lang: (redacted)\n"));
        assert!(!key.redacted().contains("lang: a"));
    }

    #[test]
    fn absent_is_not_empty() {
        let absent = build(&PLACE, &rule(), &[], &HeaderMap::new());
        let empty = build(&PLACE, &rule(), &[], &map(&[(&USER_AGENT, b""), (&COOKIE, b"lang=")]));
        assert!(
            absent.as_str().ends_with("\naccept-language: en\nuser-agent\ncookie lang\ncookie od\\x20d\\x3A")
        );
        assert!(empty.as_str().contains("\nuser-agent: \ncookie lang: \n"));
    }
}
