//! Whom a request is counted for, where a rate is counted by what the request says: a field, a query variable, a cookie.
//!
//! A rate by key holds only if nobody gets a fresh bucket for a key that the origin still takes for the real one. Origins
//! disagree on which of two equal names counts and on how names are spelt, so every reading is looked at: names are compared
//! decoded, without case, and as PHP and CGI fold them, and are cut wherever some origin cuts. Where the readings give more
//! than one value, the request is counted with those that say none. Not here: counting (`rate`), which variables
//! enter a key (`query`, `cookies`).

use crate::names::{may_be, readings};
use crate::rate::{RateBy, network_of};
use http::HeaderMap;
use http::header::COOKIE;
use percent_encoding::percent_decode;
use std::borrow::Cow;
use std::net::IpAddr;

impl RateBy {
    /// What a request is counted under; empty for all that say nothing, or more than one thing.
    pub fn whom(&self, client: Option<IpAddr>, query: Option<&str>, headers: &HeaderMap) -> Vec<u8> {
        match self {
            RateBy::Client => address(client),
            RateBy::All => Vec::new(),
            RateBy::Header(name) => {
                // CGI knows no difference between `X-Key` and `X_Key`.
                let folded = |name: &str| name.replace('_', "-");
                let wanted = folded(name.as_str());
                let lines = headers.iter().filter(|(found, _)| folded(found.as_str()) == wanted);
                the_only(lines.map(|(_, value)| value.as_bytes().trim_ascii().to_vec()))
            }
            RateBy::Query(name) => {
                let [_, wanted] = readings(name.as_bytes());
                let pairs = query.into_iter().flat_map(|query| query.split(['&', ';']));
                the_only(pairs.filter_map(|pair| {
                    let (found, value) = pair.split_once('=').unwrap_or((pair, ""));
                    may_be(&of_form(found), &wanted).then(|| of_form(value).trim_ascii().to_vec())
                }))
            }
            RateBy::Cookie(name) => {
                let [_, wanted] = readings(name.as_bytes());
                // RFC 2109 §4.4 let servers cut at commas, too.
                let lines = headers.get_all(COOKIE).iter();
                let pairs = lines.flat_map(|line| line.as_bytes().split(|byte| b";,".contains(byte)));
                the_only(pairs.filter_map(|pair| {
                    let mut halves = pair.splitn(2, |byte| *byte == b'=');
                    let (found, value) = (halves.next()?, halves.next().unwrap_or_default());
                    let found: Cow<'_, [u8]> = percent_decode(found).into();
                    may_be(&found, &wanted).then(|| cookie_value(value))
                }))
            }
        }
    }
}

/// A client's address, as far as it tells clients apart.
pub(crate) fn address(client: Option<IpAddr>) -> Vec<u8> {
    match client.map(|ip| ip.to_canonical()) {
        Some(IpAddr::V4(ip)) => ip.octets().to_vec(),
        Some(IpAddr::V6(ip)) => network_of(ip).octets().to_vec(),
        None => b"unix:".to_vec(),
    }
}

/// The value, if all are the same.
fn the_only(mut values: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let Some(first) = values.next() else { return Vec::new() };
    if values.all(|other| other == first) { first } else { Vec::new() }
}

/// As in forms: `+` is a space.
fn of_form(text: &str) -> Cow<'_, [u8]> {
    match text.contains('+') {
        true => percent_decode(text.replace('+', " ").as_bytes()).collect::<Vec<u8>>().into(),
        false => percent_decode(text.as_bytes()).into(),
    }
}

/// In quotes an octal escape could spell anything (Python reads them), so such a value is as good as none.
fn cookie_value(raw: &[u8]) -> Vec<u8> {
    let value: Vec<u8> = percent_decode(raw.trim_ascii()).collect();
    let bare = value.strip_prefix(b"\"").map(|rest| rest.strip_suffix(b"\"").unwrap_or(rest));
    match bare {
        Some(quoted) if quoted.contains(&b'\\') => Vec::new(),
        Some(quoted) => quoted.trim_ascii().to_vec(),
        None => value.trim_ascii().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    fn whom(by: &str, query: Option<&str>, fields: &[(&str, &str)]) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        let client = Some("192.0.2.1".parse().unwrap());
        String::from_utf8(RateBy::new(by).unwrap().whom(client, query, &headers)).unwrap()
    }

    /// Whatever stands beside it, a key the origin may take for `real` never gets the bucket of another.
    #[test]
    fn a_key_of_the_query_has_one_bucket_however_it_is_written() {
        for (query, want) in [
            ("key=real", "real"),
            ("a=1&key=real&b=2", "real"),
            ("key=real&key=real", "real"),
            // Another way to write it.
            ("k%65y=real", "real"),
            ("key=re%61l", "real"),
            ("key=+real%20", "real"),
            ("+key=real", "real"),
            ("%20key=real", "real"),
            ("KEY=real", "real"),
            ("key%00x=real", "real"),
            ("key[]=real", "real"),
            ("key%5Ba%5D=real", "real"),
            ("key=real;key=real", "real"),
            ("key=real;x", "real"),
            // More than one word: with those that say none.
            ("key=random&key=real", ""),
            ("key=real&key=random", ""),
            ("key=random&k%65y=real", ""),
            ("key=random&+key=real", ""),
            ("key=random&Key=real", ""),
            ("key[]=random&key=real", ""),
            ("key=random&key[]=real", ""),
            ("key=random&key%00=real", ""),
            ("key=random;key=real", ""),
            ("x=1;key=real&key=random", ""),
            ("key&key=real", ""),
            ("key=random&key=", ""),
            // None.
            ("", ""),
            ("keys=1", ""),
            ("x[key]=1", ""),
            ("key=", ""),
        ] {
            assert_eq!(whom("query:key", Some(query), &[]), want, "{query}");
        }
        for (query, want) in [("my.key=real", "real"), ("my_key=real", "real"), ("my[key=real", "real")] {
            assert_eq!(whom("query:my_key", Some(query), &[]), want, "{query}");
            assert_eq!(whom("query:my.key", Some(query), &[]), want, "{query}");
            assert_eq!(whom("query:my_key", Some(&format!("my_key=random&{query}2")), &[]), "", "{query}");
        }
        assert_eq!(whom("query:key", None, &[]), "");
    }

    #[test]
    fn a_key_of_a_field_or_a_cookie_has_one_bucket_however_it_is_written() {
        type Fields = &'static [(&'static str, &'static str)];
        let cases: &[(&str, Fields, &str)] = &[
            ("header:X-Api-Key", &[("X-Api-Key", "real")], "real"),
            ("header:X-Api-Key", &[("x_api_key", "real")], "real"),
            ("header:X-Api-Key", &[("X-Api-Key", "real"), ("X-Api-Key", "real")], "real"),
            ("header:X-Api-Key", &[("X-Api-Key", "random"), ("X-Api-Key", "real")], ""),
            ("header:X-Api-Key", &[("X-Api-Key", "random"), ("X_Api_Key", "real")], ""),
            ("header:User-Agent", &[("User-Agent", "a, b")], "a, b"),
            ("header:X-None", &[("X-Api-Key", "real")], ""),
            ("cookie:k", &[("Cookie", "a=1; k=real; b=2")], "real"),
            ("cookie:k", &[("Cookie", "k=real"), ("Cookie", "k=real")], "real"),
            ("cookie:k", &[("Cookie", "k=\"real\"")], "real"),
            ("cookie:k", &[("Cookie", "k=re%61l")], "real"),
            ("cookie:k", &[("Cookie", "%6b=real")], "real"),
            ("cookie:k", &[("Cookie", "k=real,random")], "real"),
            ("cookie:k", &[("Cookie", "k=\"re\\141l\"")], ""),
            ("cookie:k", &[("Cookie", "k=random; k=real")], ""),
            ("cookie:k", &[("Cookie", "k=random"), ("Cookie", "k=real")], ""),
            ("cookie:k", &[("Cookie", "k=random, k=real")], ""),
            ("cookie:k", &[("Cookie", "k=random; K=real")], ""),
            ("cookie:k", &[("Cookie", "k=random;k[]=real")], ""),
            ("cookie:k", &[("Cookie", "k; k=real")], ""),
            ("cookie:si", &[("Cookie", "sid=real")], ""),
        ];
        for (by, fields, want) in cases {
            assert_eq!(whom(by, None, fields), *want, "{by} {fields:?}");
        }
    }

    #[test]
    fn by_address_and_for_all() {
        let by = |by: &str, ip: &str| {
            let by = RateBy::new(by).unwrap();
            by.whom(ip.parse().ok(), Some("key=1"), &HeaderMap::new())
        };
        assert_eq!(by("client", "1.2.3.4"), [1, 2, 3, 4]);
        assert_eq!(by("client", "::ffff:1.2.3.4"), [1, 2, 3, 4]);
        assert_eq!(by("client", "no address"), b"unix:");
        assert_eq!(by("all", "1.2.3.4"), b"");
        assert_eq!(by("client", "2001:db8::1"), by("client", "2001:db8::ffff:2"));
        assert_ne!(by("client", "2001:db8::1"), by("client", "2001:db8:0:1::1"));
    }
}
