//! Lines of a head: where it ends, that every line ends in CRLF, and why the tokeniser refused one.
//!
//! Not here: what the fields mean.

use super::HeadLimits;
use samovar_reason::Reject;

/// Finds the end of the head, looking at each byte once over all calls.
///
/// A line feed without a carriage return before it is refused: RFC 9112 §2.2 lets a recipient accept it, and
/// two recipients that differ about it are a way to smuggle requests.
pub(super) fn end_of_head(
    buf: &[u8],
    scanned: &mut usize,
    limits: &HeadLimits,
) -> Result<Option<usize>, Reject> {
    let first_call = *scanned == 0;
    if first_call && buf.first().is_some_and(|&b| !is_token_byte(b)) {
        return Err(Reject::BadRequestLine);
    }
    let from = *scanned;
    for lf in memchr::memchr_iter(b'\n', buf.get(from..).unwrap_or_default()) {
        let at = from + lf;
        let before = buf.get(at.saturating_sub(2)..at).unwrap_or_default();
        match before {
            [b'\n', b'\r'] => return within(buf, at + 1, limits).map(|()| Some(at + 1)),
            [.., b'\r'] => {}
            // What comes first counts, so that a head is judged alike however it is cut.
            _ => return within(buf, at + 1, limits).and(Err(Reject::BareLineFeed)),
        }
    }
    *scanned = buf.len();
    within(buf, buf.len(), limits).map(|()| None)
}

/// Checks the first `len` bytes, a whole head or the beginning of one, against the limits.
pub(super) fn within(buf: &[u8], len: usize, limits: &HeadLimits) -> Result<(), Reject> {
    if len <= limits.line_max_bytes {
        return if len <= limits.head_max_bytes { Ok(()) } else { Err(Reject::HeadTooLarge) };
    }
    let line = buf.get(..limits.line_max_bytes).unwrap_or(buf);
    if memchr::memchr(b'\n', line).is_none() {
        return Err(Reject::UriTooLong);
    }
    if len <= limits.head_max_bytes { Ok(()) } else { Err(Reject::HeadTooLarge) }
}

/// Why the tokeniser refused a head whose line feeds are all preceded by carriage returns.
#[cold]
pub(super) fn reason(error: httparse::Error, head: &[u8]) -> Reject {
    let mut returns = memchr::memchr_iter(b'\r', head);
    if returns.any(|at| head.get(at + 1) != Some(&b'\n')) {
        return Reject::BareLineFeed;
    }
    match error {
        httparse::Error::TooManyHeaders => Reject::TooManyFields,
        httparse::Error::Version if names_a_version(head) => Reject::BadVersion,
        httparse::Error::HeaderName | httparse::Error::HeaderValue if has_fold(head) => Reject::FoldedField,
        httparse::Error::HeaderName => Reject::BadFieldName,
        httparse::Error::HeaderValue => Reject::BadFieldValue,
        _ => Reject::BadRequestLine,
    }
}

/// Whether the request line ends in a well-formed version (`HTTP/d.d`), one that is not spoken here.
fn names_a_version(head: &[u8]) -> bool {
    let line = head.split(|&b| b == b'\r').next().unwrap_or_default();
    let mut words = line.split(|&b| b == b' ');
    let (_, _, version, more) = (words.next(), words.next(), words.next(), words.next());
    more.is_none()
        && matches!(version, Some([b'H', b'T', b'T', b'P', b'/', a, b'.', b]) if a.is_ascii_digit() && b.is_ascii_digit())
}

/// Whether a line continues the one before it (RFC 9112 §5.2).
fn has_fold(head: &[u8]) -> bool {
    head.windows(2).any(|w| matches!(w, [b'\n', b' ' | b'\t']))
}

/// `tchar` of RFC 9110 §5.6.2.
pub(crate) fn is_token_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)
}
