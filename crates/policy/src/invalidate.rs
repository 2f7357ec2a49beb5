//! What an unsafe request makes invalid (RFC 9111 §4.4).
//!
//! Not here: forgetting it (`cache`), the key of a URL (`rules`). The target's own URL is the caller's to add.

use crate::syntax::{Single, single};
use http::{HeaderMap, Method, StatusCode, Uri, header};

/// True if an answer to this method means that what is stored for the URL may no longer hold: the method is not known
/// to be safe, and the answer is no error.
pub fn invalidates(method: &Method, status: StatusCode) -> bool {
    let safe = ["GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY"]
        .contains(&method.as_str());
    !safe && (status.is_success() || status.is_redirection())
}

/// The URLs that `Location` and `Content-Location` name, made absolute, if they are of the origin of `base`; others
/// must not be touched (§4.4).
pub fn invalidated(base: &Uri, headers: &HeaderMap) -> Vec<String> {
    let mut urls: Vec<String> = [header::LOCATION, header::CONTENT_LOCATION]
        .iter()
        .filter_map(|name| match single(headers, name) {
            Single::One(text) => std::str::from_utf8(text).ok(),
            Single::Absent | Single::Conflict => None,
        })
        .filter_map(|reference| resolve(base, reference))
        .collect();
    urls.dedup();
    urls
}

/// True if the answer to a POST of `base` may answer later GETs of it (RFC 9110 §9.3.3): a 200 that names the target
/// itself as what it holds. That its freshness must be explicit is judged where it is stored.
pub fn post_answers_get(method: &Method, status: StatusCode, base: &Uri, headers: &HeaderMap) -> bool {
    let Single::One(named) = single(headers, &header::CONTENT_LOCATION) else { return false };
    let named = std::str::from_utf8(named).ok().and_then(|reference| resolve(base, reference));
    method == Method::POST
        && status == StatusCode::OK
        && named.is_some()
        && named == base.path_and_query().and_then(|own| resolve(base, own.as_str()))
}

/// An absolute URL of the same origin, without fragment; `None` if it is another origin's or no URL.
fn resolve(base: &Uri, reference: &str) -> Option<String> {
    let reference = reference.split('#').next().unwrap_or_default();
    let (scheme, authority) = (base.scheme_str()?, base.authority()?.as_str());
    let same_origin = |scheme: &str, authority: &str| {
        origin(scheme, authority).is_some_and(|other| Some(other) == origin_of(base))
    };
    if let Some(rest) = reference.strip_prefix("//") {
        return foreign(scheme, rest, same_origin);
    }
    if let Some((named, rest)) = reference.split_once("://").filter(|(named, _)| is_scheme(named)) {
        return foreign(named, rest, same_origin);
    }
    let path_end = reference.find(['?', '/']).unwrap_or(reference.len());
    if reference.get(..path_end).is_some_and(|first| first.contains(':')) {
        return None; // `mailto:` and its like
    }
    let (path, query) = match reference.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (reference, None),
    };
    let (path, query) = match path {
        "" => (base.path().to_owned(), query.or(base.query())),
        absolute if absolute.starts_with('/') => (without_dots(absolute), query),
        relative => (without_dots(&beside(base.path(), relative)), query),
    };
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    Some(format!("{scheme}://{authority}{path}{query}"))
}

/// A reference with an authority of its own: kept if it is the same origin.
fn foreign(scheme: &str, rest: &str, same_origin: impl Fn(&str, &str) -> bool) -> Option<String> {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at_checked(end)?;
    if !same_origin(scheme, authority) {
        return None;
    }
    let (path, query) = tail.split_once('?').map_or((tail, None), |(path, query)| (path, Some(query)));
    let path = if path.is_empty() { "/".to_owned() } else { without_dots(path) };
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    Some(format!("{}://{authority}{path}{query}", scheme.to_ascii_lowercase()))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Scheme, host and port, comparable (RFC 9110 §4.3.1). An authority with user information is nobody's.
fn origin(scheme: &str, authority: &str) -> Option<(String, String, u16)> {
    let scheme = scheme.to_ascii_lowercase();
    let default_port = match scheme.as_str() {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let authority: http::uri::Authority = authority.parse().ok()?;
    if authority.as_str().contains('@') {
        return None;
    }
    let port = authority.port_u16().unwrap_or(default_port);
    let host = authority.host().trim_end_matches('.').to_ascii_lowercase();
    (!host.is_empty()).then_some((scheme, host, port))
}

fn origin_of(base: &Uri) -> Option<(String, String, u16)> {
    origin(base.scheme_str()?, base.authority()?.as_str())
}

/// A relative path in the folder of the base (RFC 3986 §5.3).
fn beside(base_path: &str, relative: &str) -> String {
    let folder = base_path.rfind('/').and_then(|at| base_path.get(..=at)).unwrap_or("/");
    format!("{folder}{relative}")
}

/// RFC 3986 §5.2.4; never above the root.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            other => kept.push(other),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    fn of(name: &'static str, value: &str) -> Vec<String> {
        let base: Uri = "http://h.example/a/b?q=1".parse().unwrap();
        let mut map = HeaderMap::new();
        map.append(name, HeaderValue::from_str(value).unwrap());
        invalidated(&base, &map)
    }

    #[test]
    fn which_methods_and_statuses() {
        for (method, status, want) in [
            ("POST", 200, true),
            ("PUT", 201, true),
            ("DELETE", 204, true),
            ("M-SEARCH", 200, true),
            ("POST", 303, true),
            ("POST", 404, false),
            ("POST", 500, false),
            ("GET", 200, false),
            ("HEAD", 200, false),
            ("OPTIONS", 200, false),
            ("PROPFIND", 207, false),
        ] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            assert_eq!(
                invalidates(&method, StatusCode::from_u16(status).unwrap()),
                want,
                "{method} {status}"
            );
        }
    }

    #[test]
    fn https_has_its_own_default_port() {
        let base: Uri = "https://h.example/a".parse().unwrap();
        for (reference, want) in [
            ("https://h.example:443/x", Some("https://h.example:443/x")),
            ("https://h.example:80/x", None),
            ("http://h.example:443/x", None),
        ] {
            let mut map = HeaderMap::new();
            map.append(header::LOCATION, HeaderValue::from_static(reference));
            let want: Vec<String> = want.map(str::to_owned).into_iter().collect();
            assert_eq!(invalidated(&base, &map), want, "{reference}");
        }
    }

    #[test]
    fn a_post_answers_get_only_for_its_own_url() {
        for (method, status, reference, want) in [
            ("POST", 200, "/a/b?q=1", true),
            ("POST", 200, "", true),
            ("POST", 200, "?q=1", true),
            ("POST", 200, "b?q=1", true),
            ("POST", 200, "http://H.example:80/a/b?q=1", false), // not spelt as the target: not relied on
            ("POST", 200, "http://h.example/a/b?q=1", true),
            ("POST", 200, "https://h.example/a/b?q=1", false),
            ("POST", 200, "http://other.example/a/b?q=1", false),
            ("POST", 200, "/a/b", false),
            ("POST", 201, "/a/b?q=1", false),
            ("PUT", 200, "/a/b?q=1", false),
        ] {
            let base: Uri = "http://h.example/a/b?q=1".parse().unwrap();
            let mut map = HeaderMap::new();
            map.append(header::CONTENT_LOCATION, HeaderValue::from_str(reference).unwrap());
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(post_answers_get(&method, status, &base, &map), want, "{method} {status} {reference}");
            assert!(!post_answers_get(&method, status, &base, &HeaderMap::new()));
        }
    }

    #[test]
    fn references_are_made_absolute() {
        for (reference, want) in [
            ("/x", Some("http://h.example/x")),
            ("/x?y=1#z", Some("http://h.example/x?y=1")),
            ("x", Some("http://h.example/a/x")),
            ("../x", Some("http://h.example/x")),
            ("../../../x/./y/..", Some("http://h.example/x/")),
            ("/a//b", Some("http://h.example/a//b")),
            ("?r=2", Some("http://h.example/a/b?r=2")),
            ("", Some("http://h.example/a/b?q=1")),
            ("http://h.example/x", Some("http://h.example/x")),
            ("HTTP://H.Example:80/x", Some("http://H.Example:80/x")),
            ("http://h.example", Some("http://h.example/")),
            ("http://h.example?x", Some("http://h.example/?x")),
            ("//h.example/x", Some("http://h.example/x")),
            ("/x:y", Some("http://h.example/x:y")),
            ("https://h.example/x", None),
            ("http://h.example:81/x", None),
            ("http://other.example/x", None),
            ("//other.example/x", None),
            ("http://u@h.example/x", None),
            ("http://", None),
            ("mailto:a@b", None),
            ("c?u=x://h.example/", Some("http://h.example/a/c?u=x://h.example/")),
        ] {
            assert_eq!(
                of("location", reference),
                want.map(str::to_owned).into_iter().collect::<Vec<_>>(),
                "{reference}"
            );
            assert_eq!(of("content-location", reference).len(), usize::from(want.is_some()));
        }
    }

    proptest! {
        /// Another origin's URL never comes out, whatever goes in.
        #[test]
        fn only_the_own_origin(reference in "[ -~]{0,40}") {
            for url in of("location", &reference) {
                let authority = url.strip_prefix("http://").unwrap().split(['/', '?']).next().unwrap().to_lowercase();
                prop_assert!(["h.example", "h.example:80", "h.example."].contains(&authority.as_str()), "{}", url);
            }
        }
    }
}
