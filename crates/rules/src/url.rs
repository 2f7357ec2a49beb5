//! A URL that a person typed, as a request: for `explain` and purges.
//!
//! More lenient than the wire: a fragment is dropped, spaces are escaped, and a bare path means the default site.
//! Not here: how it is routed from there (`route`, which sees what a client's request would have shown it).

use crate::route::route;
use crate::types::{RequestParts, Routed, Sites};
use http::{HeaderMap, Method};
use samovar_reason::Route;

/// The parts of a URL, borrowed from its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlParts {
    /// `http` or `https`.
    pub scheme: &'static str,
    /// With the port if one is written; empty for a bare path.
    pub host: String,
    /// As written; `/` if there is none.
    pub path: String,
    /// As written, spaces escaped.
    pub query: Option<String>,
}

/// Cuts `http://host:port/path?query#fragment`, or `/path?query`.
///
/// # Errors
/// A sentence that says what is missing.
pub fn parse_url(url: &str) -> Result<UrlParts, String> {
    let url = url.trim();
    let url = url.split('#').next().unwrap_or(url);
    let (scheme, host, target) = if url.starts_with('/') {
        ("http", "", url)
    } else {
        let (scheme, rest) = with_scheme(url)?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, target) = rest.split_at_checked(end).unwrap_or((rest, ""));
        if host.is_empty() {
            return Err(format!(
                "{url:?} names no host; write `http://HOST/PATH`, or a path beginning with `/`"
            ));
        }
        (scheme, host, target)
    };
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query.replace(' ', "%20"))),
        None => (target, None),
    };
    let path = if path.is_empty() { "/" } else { path };
    Ok(UrlParts { scheme, host: host.to_owned(), path: path.to_owned(), query })
}

fn with_scheme(url: &str) -> Result<(&'static str, &str), String> {
    ["http", "https"]
        .into_iter()
        .find_map(|scheme| {
            let rest = url.get(scheme.len()..)?.strip_prefix("://")?;
            url.get(..scheme.len())?.eq_ignore_ascii_case(scheme).then_some((scheme, rest))
        })
        .ok_or_else(|| format!("{url:?} is no URL; write `http://HOST/PATH`, or a path beginning with `/`"))
}

/// The key of a GET for this URL with these fields, and all that routing says of it. A bare path is one on the
/// default site. Which listener a client would have used is not known: the URL's own port is tried first, then
/// any that a site names.
///
/// # Errors
/// As [`route`].
pub fn url_key<'s>(sites: &'s Sites, url: &str, headers: &HeaderMap) -> Result<Routed<'s>, (Route, String)> {
    let parsed = parse_url(url).map_err(|message| (Route::BadTarget, message))?;
    let own = crate::normalise_host(&parsed.host, parsed.scheme).and_then(|(_, port)| port);
    let own = own.or(crate::host::default_port(parsed.scheme)).unwrap_or_default();
    let on_port = |listener_port| {
        let parts = RequestParts {
            method: &Method::GET,
            scheme: parsed.scheme,
            host: &parsed.host,
            listener_port,
            path: &parsed.path,
            query: parsed.query.as_deref(),
            headers,
        };
        route(sites, &parts)
    };
    let first = on_port(own);
    if !matches!(first, Err((Route::UnknownHost, _))) {
        return first;
    }
    let named = sites.sites.iter().flat_map(|site| &site.ports);
    named.filter_map(|port| on_port(*port).ok()).next().map_or(first, Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(url: &str) -> Result<(&'static str, String, String, Option<String>), String> {
        parse_url(url).map(|parts| (parts.scheme, parts.host, parts.path, parts.query))
    }

    #[test]
    fn table() {
        for (url, scheme, host, path, query) in [
            ("http://h", "http", "h", "/", None),
            ("HTTPS://h:8443/a?b#c", "https", "h:8443", "/a", Some("b")),
            ("http://h?q", "http", "h", "/", Some("q")),
            ("http://h/?", "http", "h", "/", Some("")),
            ("http://[::1]:80/a b?c d", "http", "[::1]:80", "/a b", Some("c%20d")),
            ("/a?b=/c?d", "http", "", "/a", Some("b=/c?d")),
            (" //a ", "http", "", "//a", None),
        ] {
            let expected = (scheme, host.to_owned(), path.to_owned(), query.map(str::to_owned));
            assert_eq!(cut(url), Ok(expected), "{url}");
        }
        for url in ["", "h/a", "ftp://h/", "http:/h", "http:///a", "http://", "ä://x"] {
            assert!(cut(url).is_err(), "{url}");
        }
    }
}
