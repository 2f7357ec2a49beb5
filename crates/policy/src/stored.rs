//! Which fields are kept with a stored answer (RFC 9111 §3.1).
//!
//! Not here: whether it is stored (`storable`), how a 304 changes them (`merge`).

use crate::directives::named_fields;
use crate::hop::strip_hop_by_hop;
use crate::types::Wishes;
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// Never kept: cookies for one client; `Age`, which is in the initial age; what proves a client to a proxy, or a proxy
/// to a client (RFC 9111 §3.1).
const NEVER_KEPT: [HeaderName; 5] = [
    header::AGE,
    header::SET_COOKIE,
    HeaderName::from_static("set-cookie2"),
    header::PROXY_AUTHENTICATE,
    HeaderName::from_static("proxy-authentication-info"),
];

/// The fields of an answer that are kept: without the hop-by-hop ones, cookies, `Age`, those the rule drops and those
/// that `private="…"` or `no-cache="…"` name (RFC 9111 §5.2.2.4, §5.2.2.7).
pub fn stored_fields(headers: &HeaderMap, wishes: &Wishes) -> HeaderMap {
    let mut kept = headers.clone();
    let named = named_fields(headers);
    strip_hop_by_hop(&mut kept);
    for name in NEVER_KEPT.iter().chain(&named).chain(&wishes.drop_fields) {
        kept.remove(name);
    }
    kept
}

/// The fields of an answer that are not kept and belong to whoever it was made for: cookies, and what `private="…"` and
/// `no-cache="…"` name. Those who joined the fetch do not get them.
pub fn fields_of_one(headers: &HeaderMap) -> Vec<(HeaderName, HeaderValue)> {
    let mut names = named_fields(headers);
    names.extend([header::SET_COOKIE, HeaderName::from_static("set-cookie2")]);
    names.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    names.dedup();
    let values = names.into_iter().flat_map(|name| {
        headers.get_all(&name).iter().map(move |value| (name.clone(), value.clone())).collect::<Vec<_>>()
    });
    values.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept() {
        let mut map = HeaderMap::new();
        for (name, value) in [
            ("cache-control", "max-age=60, no-cache=\"a, b\""),
            ("cdn-cache-control", "max-age=60, private=\"c\""),
            ("connection", "d"),
            ("a", "1"),
            ("b", "1"),
            ("c", "1"),
            ("d", "1"),
            ("server", "x"),
            ("age", "5"),
            ("set-cookie", "s=1"),
            ("set-cookie2", "s=1"),
            ("proxy-authenticate", "x"),
            ("link", "1"),
            ("link", "2"),
            ("etag", "\"e\""),
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ] {
            map.append(name, HeaderValue::from_static(value));
        }
        let wishes = Wishes { drop_fields: vec![header::SERVER], ..Wishes::default() };
        let kept = stored_fields(&map, &wishes);
        let mut names: Vec<&str> = kept.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["cache-control", "cdn-cache-control", "date", "etag", "link"]);
        assert_eq!(kept.get_all("link").iter().count(), 2);
    }
}
