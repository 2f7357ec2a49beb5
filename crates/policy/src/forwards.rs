//! How far a request may go: `Max-Forwards` (RFC 9110 §7.6.2), and TRACE, which goes no further than here.
//!
//! Not here: what the client is told, loops (`Via`).

use crate::syntax::trim_ows;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use samovar_reason::Lookup;

const MAX_FORWARDS: HeaderName = HeaderName::from_static("max-forwards");

/// Why a request is answered here although an origin was to be asked; `None` for nearly all.
///
/// A TRACE would show its sender what proxies added for the origin alone (RFC 9110 §9.3.8). A `Max-Forwards` that cannot
/// be read is taken for a zero, for it must be counted down before the request may go on.
pub fn ends_here(method: &Method, headers: &HeaderMap) -> Option<Lookup> {
    match *method {
        Method::TRACE => Some(Lookup::TraceMethod),
        Method::OPTIONS => match left(headers) {
            Left::Some(0) | Left::Unreadable => Some(Lookup::MaxForwards),
            Left::Some(_) | Left::Unbounded => None,
        },
        _ => None,
    }
}

/// Counts `Max-Forwards` down for the next server. On other methods than OPTIONS and TRACE it means nothing.
pub fn count_down(method: &Method, headers: &mut HeaderMap) {
    if *method == Method::OPTIONS
        && let Left::Some(left) = left(headers)
    {
        headers.insert(MAX_FORWARDS, HeaderValue::from(left.saturating_sub(1)));
    }
}

enum Left {
    /// The field is not there.
    Unbounded,
    /// So many servers more; beyond 2⁶⁴ it is as much as that.
    Some(u64),
    /// No number, or several.
    Unreadable,
}

fn left(headers: &HeaderMap) -> Left {
    let mut lines = headers.get_all(MAX_FORWARDS).iter();
    let Some(line) = lines.next() else { return Left::Unbounded };
    let digits = trim_ows(line.as_bytes());
    if lines.next().is_some() || digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Left::Unreadable;
    }
    let number = digits
        .iter()
        .fold(0u64, |n, digit| n.saturating_mul(10).saturating_add(u64::from(digit.wrapping_sub(b'0'))));
    Left::Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (MAX_FORWARDS, HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn options_is_counted_down_and_ends_at_zero() {
        for (values, ends, on) in [
            (&[][..], false, &[][..]),
            (&["1"], false, &["0"]),
            (&[" 10 "], false, &["9"]),
            (&["007"], false, &["6"]),
            (&["99999999999999999999999"], false, &["18446744073709551614"]),
            (&["0"], true, &["0"]),
            (&["000"], true, &["0"]),
            (&[""], true, &[""]),
            (&["-1"], true, &["-1"]),
            (&["+1"], true, &["+1"]),
            (&["1, 2"], true, &["1, 2"]),
            (&["x"], true, &["x"]),
            (&["2", "2"], true, &["2", "2"]),
        ] {
            let mut headers = sent(values);
            let expected = ends.then_some(Lookup::MaxForwards);
            assert_eq!(ends_here(&Method::OPTIONS, &headers), expected, "{values:?}");
            count_down(&Method::OPTIONS, &mut headers);
            let left: Vec<_> = headers.get_all(MAX_FORWARDS).iter().collect();
            assert_eq!(left, on, "{values:?}");
        }
    }

    #[test]
    fn trace_ends_here_and_other_methods_are_not_counted() {
        for values in [&[][..], &["0"], &["5"], &["x"]] {
            assert_eq!(ends_here(&Method::TRACE, &sent(values)), Some(Lookup::TraceMethod));
            for method in [Method::GET, Method::HEAD, Method::POST, Method::DELETE] {
                let mut headers = sent(values);
                assert_eq!(ends_here(&method, &headers), None, "{method}");
                count_down(&method, &mut headers);
                assert_eq!(headers, sent(values), "{method}");
            }
        }
    }
}
