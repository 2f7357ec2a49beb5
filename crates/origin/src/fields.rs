//! Rules for answer fields that hold for every kind of origin. Pure.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Fields of one connection that have no constant in `http` (RFC 9110 §7.6.1).
pub(crate) static KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
/// See [`KEEP_ALIVE`].
pub(crate) static PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// Drops `Connection`, all it names, and its relatives. Content-Length stays: it is end-to-end.
pub(crate) fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|b| *b == b','))
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        // Naming these is an error of the sender's; dropping them would change what the answer means.
        .filter(|name| *name != header::CONTENT_LENGTH && *name != header::CACHE_CONTROL)
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in [header::CONNECTION, header::TRANSFER_ENCODING, header::TE, header::UPGRADE] {
        headers.remove(name);
    }
    headers.remove(&KEEP_ALIVE);
    headers.remove(&PROXY_CONNECTION);
}

/// Settles Content-Length on one line with one number, which is returned. `Err` holds what was seen if its
/// elements are no numbers or disagree (RFC 9112 §6.3, point 5).
pub(crate) fn settle_length(headers: &mut HeaderMap) -> Result<Option<u64>, String> {
    if !headers.contains_key(header::CONTENT_LENGTH) {
        return Ok(None);
    }
    let Some(bytes) = agreed_length(headers) else {
        let seen: Vec<_> = headers.get_all(header::CONTENT_LENGTH).iter().collect();
        return Err(format!("Content-Length {seen:?}"));
    };
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
    Ok(Some(bytes))
}

fn agreed_length(headers: &HeaderMap) -> Option<u64> {
    let mut agreed = None;
    for value in headers.get_all(header::CONTENT_LENGTH) {
        for element in value.as_bytes().split(|b| *b == b',').map(<[u8]>::trim_ascii) {
            if element.is_empty() || !element.iter().all(u8::is_ascii_digit) {
                return None;
            }
            let bytes: u64 = std::str::from_utf8(element).ok()?.parse().ok()?;
            if agreed.replace(bytes).is_some_and(|before| before != bytes) {
                return None;
            }
        }
    }
    agreed
}
