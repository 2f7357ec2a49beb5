//! Rules for answer fields that hold for every kind of origin. Pure.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Fields of one connection that have no constant in `http` (RFC 9110 §7.6.1).
pub(crate) static KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
/// See [`KEEP_ALIVE`].
pub(crate) static PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

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
        let bytes = one_length(value.as_bytes())?;
        if agreed.replace(bytes).is_some_and(|before| before != bytes) {
            return None;
        }
    }
    agreed
}

/// The number that one line of Content-Length holds; it may hold it more than once.
pub(crate) fn one_length(value: &[u8]) -> Option<u64> {
    let mut agreed = None;
    for element in value.split(|b| *b == b',').map(<[u8]>::trim_ascii) {
        if element.is_empty() || !element.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let bytes: u64 = std::str::from_utf8(element).ok()?.parse().ok()?;
        if agreed.replace(bytes).is_some_and(|before| before != bytes) {
            return None;
        }
    }
    agreed
}
