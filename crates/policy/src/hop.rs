//! Fields that end at the next hop (RFC 9110 §7.6.1).
//!
//! Not here: which end-to-end fields are not kept with a stored answer (`stored`).

use crate::syntax::elements;
use http::{HeaderMap, HeaderName, header};

/// Fields that are about one connection, whether `Connection` names them or not.
const HOP_BY_HOP: [HeaderName; 8] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::PROXY_AUTHORIZATION,
];

/// Most members of a message's Connection fields that are looked at: what names more is refused. There is no more that
/// one message could mean by it, and each is looked for among its fields.
pub const CONNECTION_MAX: usize = 64;

/// Whether there are more than [`CONNECTION_MAX`].
pub fn names_too_many(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::CONNECTION).iter();
    lines.map(|line| line.as_bytes().split(|byte| *byte == b',').count()).sum::<usize>() > CONNECTION_MAX
}

/// Fields meant for every recipient, which `Connection` must not name (RFC 9110 §7.6.1): whoever names them wants
/// a proxy to lose what it or the origin relies on, so they stay.
const END_TO_END: [HeaderName; 28] = [
    header::AGE,
    header::AUTHORIZATION,
    header::CACHE_CONTROL,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    header::COOKIE,
    header::DATE,
    header::ETAG,
    header::EXPIRES,
    header::FORWARDED,
    header::HOST,
    header::LAST_MODIFIED,
    header::LOCATION,
    header::RANGE,
    header::SET_COOKIE,
    header::VARY,
    header::VIA,
    header::WWW_AUTHENTICATE,
    HeaderName::from_static("samovar-cache-control"),
    HeaderName::from_static("cdn-cache-control"),
    HeaderName::from_static("surrogate-control"),
    HeaderName::from_static("surrogate-key"),
    HeaderName::from_static("xkey"),
    HeaderName::from_static("cache-tag"),
    HeaderName::from_static("cache-groups"),
    HeaderName::from_static("cache-group-invalidation"),
];

/// Drops the end-to-end fields that `Connection` names, as far as they may go. What decides about the connection itself
/// stays for now.
pub fn drop_named_by_connection(headers: &mut HeaderMap) {
    if !headers.contains_key(header::CONNECTION) {
        return;
    }
    for name in connection_names(headers).iter().filter(|name| !HOP_BY_HOP.contains(name)) {
        headers.remove(name);
    }
}

/// Drops what ends here: the hop-by-hop fields and those that `Connection` names. `Proxy-Authenticate` stays, for the
/// client may be talking to a proxy behind us.
pub fn strip_hop_by_hop(headers: &mut HeaderMap) {
    // One look at the names costs less than eight lookups that find nothing.
    let here: Vec<HeaderName> = headers.keys().filter(|name| HOP_BY_HOP.contains(name)).cloned().collect();
    if here.contains(&header::CONNECTION) {
        for name in connection_names(headers) {
            headers.remove(name);
        }
    }
    for name in here {
        headers.remove(name);
    }
}

/// The fields that `Connection` names and that may go.
fn connection_names(headers: &HeaderMap) -> Vec<HeaderName> {
    headers
        .get_all(header::CONNECTION)
        .iter()
        .flat_map(|line| elements(line.as_bytes()))
        // What it names nearly always; both go anyway, or are no field.
        .filter(|name| !name.eq_ignore_ascii_case(b"keep-alive") && !name.eq_ignore_ascii_case(b"close"))
        .filter_map(|name| HeaderName::from_bytes(name).ok())
        .filter(|name| !END_TO_END.contains(name) && !name.as_str().starts_with("x-forwarded-"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn left(fields: &[(&'static str, &'static str)]) -> Vec<String> {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(*name, HeaderValue::from_static(value));
        }
        strip_hop_by_hop(&mut map);
        let mut names: Vec<String> = map.keys().map(ToString::to_string).collect();
        names.sort();
        names
    }

    #[test]
    fn what_goes_and_what_stays() {
        assert_eq!(
            left(&[
                ("connection", "a, B"),
                ("connection", "close, , bad name, keep-alive"),
                ("a", "1"),
                ("b", "2"),
                ("c", "3"),
                ("keep-alive", "5"),
                ("proxy-connection", "x"),
                ("te", "trailers"),
                ("trailer", "x"),
                ("transfer-encoding", "chunked"),
                ("upgrade", "h2c"),
                ("proxy-authorization", "x"),
                ("proxy-authenticate", "x"),
            ]),
            ["c", "proxy-authenticate"]
        );
    }

    #[test]
    fn connection_cannot_take_what_others_rely_on() {
        let fields = [
            ("connection", "cache-control, Authorization, cookie, x-forwarded-for, vary, host"),
            ("authorization", "x"),
            ("cache-control", "no-store"),
            ("cookie", "a=b"),
            ("host", "h"),
            ("vary", "*"),
            ("x-forwarded-for", "1.2.3.4"),
        ];
        assert_eq!(
            left(&fields),
            ["authorization", "cache-control", "cookie", "host", "vary", "x-forwarded-for"]
        );
    }
}
