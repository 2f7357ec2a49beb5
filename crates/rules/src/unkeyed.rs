//! What reaches the origin but is not in the key: where a cache can hand one client's page to another.
//!
//! For `explain`. It names, it does not judge: an origin that answers with `Vary`, or whose pages do not depend on
//! the input, is right all the same. Not here: what policy does about cookies and credentials.

use crate::coding::AskOrigin;
use crate::cookies::ignored_cookies;
use crate::query::left_out;
use crate::types::{RequestParts, Rule};
use http::HeaderName;
use http::header::{
    ACCEPT_ENCODING, ACCEPT_RANGES, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT,
    HOST, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, PRAGMA,
    PROXY_AUTHORIZATION, RANGE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, VIA,
};
use samovar_policy::Claim;

/// Fields that a cache answers itself, that end at this hop, or that have their own words (`Cookie`, `Host`,
/// `Authorization`, which policy judges).
const NOT_INPUTS: [HeaderName; 21] = [
    ACCEPT_RANGES,
    AUTHORIZATION,
    CACHE_CONTROL,
    CONNECTION,
    CONTENT_LENGTH,
    COOKIE,
    EXPECT,
    HOST,
    IF_MATCH,
    IF_MODIFIED_SINCE,
    IF_NONE_MATCH,
    IF_RANGE,
    IF_UNMODIFIED_SINCE,
    PRAGMA,
    PROXY_AUTHORIZATION,
    RANGE,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    VIA,
];

/// The inputs of this request that reach the origin but are neither in its key nor among the fields that what is stored
/// varies by: `header user-agent`, `cookie _ga`, `query utm_source`, `path case`. Names only, never values.
pub fn unkeyed(rule: &Rule, parts: &RequestParts<'_>, varied: &[HeaderName]) -> Vec<String> {
    // What came this far of these is in the key, or keeps the request from the cache.
    let keyed = |name: &HeaderName| {
        samovar_policy::claimed(name.as_str().as_bytes())
            .is_some_and(|it| matches!(it.claim, Claim::Target | Claim::Scheme | Claim::Method))
    };
    // Then the origin is told our word, not the client's.
    let settles_codings = rule.coding.as_ref().is_some_and(|wish| wish.asks == AskOrigin::Plain);
    let mut found: Vec<String> = parts
        .headers
        .keys()
        .filter(|name| {
            !NOT_INPUTS.contains(name)
                && (!settles_codings || **name != ACCEPT_ENCODING)
                && !rule.vary_headers.iter().any(|vary| vary.name == **name)
                && !varied.contains(name)
                && !keyed(name)
        })
        .map(|name| format!("header {name}"))
        .collect();
    found.extend(ignored_cookies(rule, parts.headers).iter().map(|name| format!("cookie {name}")));
    found.extend(left_out(&rule.vary_query, parts.query).iter().map(|name| format!("query {name}")));
    if rule.ignore_case && parts.path.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        found.push("path case".to_owned());
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Normalise, QueryKey, VaryHeader};
    use http::header::{ACCEPT, ACCEPT_LANGUAGE, USER_AGENT};
    use http::{HeaderMap, HeaderValue, Method};

    #[test]
    fn names_what_is_left_out() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            (ACCEPT, "*/*"),
            (ACCEPT_LANGUAGE, "de"),
            (USER_AGENT, "secret"),
            (HOST, "h"),
            (CONNECTION, "close"),
            (COOKIE, "_ga=1; lang=de; sid=2"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let parts = RequestParts {
            method: &Method::GET,
            scheme: "http",
            host: "h",
            listener_port: 80,
            path: "/A",
            query: Some("utm_x=1&a=2"),
            headers: &headers,
        };
        let rule = Rule {
            vary_headers: vec![VaryHeader { name: ACCEPT_LANGUAGE, normalise: Normalise::Exact }],
            vary_cookies: vec!["lang".into()],
            ignore_cookies: vec!["@analytics".into(), "lang".into()],
            vary_query: QueryKey::Keep(vec!["a".into()]),
            ignore_case: true,
            ..Rule::default()
        };
        assert_eq!(
            unkeyed(&rule, &parts, &[]),
            ["cookie _ga", "header accept", "header user-agent", "path case", "query utm_x"]
        );
        assert_eq!(
            unkeyed(&rule, &parts, &[ACCEPT, USER_AGENT]),
            ["cookie _ga", "path case", "query utm_x"],
            "what is stored varies by these"
        );
    }
}
