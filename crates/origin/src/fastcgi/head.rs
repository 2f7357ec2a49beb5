//! The head of a CGI answer (RFC 3875 §6): collected from pieces, bounded, parsed strictly. Pure.
//!
//! A line that is not exactly a field is an error, never skipped or mended: a script that lets a user's text
//! into a header must not gain a second one here. A local `Location` is not followed by the server but left to
//! the client as 302, as other servers do. Not here: the body.

use crate::fields::settle_length;
use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use samovar_reason::Upstream;

/// Most fields in one head, as of an HTTP upstream's.
const FIELDS_MAX: usize = 100;

/// A parsed head.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    /// End-to-end fields.
    pub(super) headers: HeaderMap,
    /// The announced length of the body, bytes.
    pub(super) len: Option<u64>,
    /// What came after the head.
    pub(super) rest: Bytes,
}

/// Why there is no head.
pub(super) type Wrong = (Upstream, String);

/// Collects pieces until the empty line.
#[derive(Debug)]
pub(super) struct HeadReader {
    buf: BytesMut,
    /// Where the line being read began.
    line: usize,
    /// Up to where there is no line end.
    seen: usize,
    max_bytes: usize,
}

impl HeadReader {
    pub(super) fn new(max_bytes: usize) -> Self {
        HeadReader { buf: BytesMut::new(), line: 0, seen: 0, max_bytes }
    }

    /// Nothing has come yet.
    pub(super) fn is_empty(&self) -> bool {
        self.buf.is_empty()
    }

    /// Takes one more piece; `Some` once the head is whole.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<Option<Head>, Wrong> {
        self.buf.extend_from_slice(piece);
        while let Some(found) = self.buf.get(self.seen..).and_then(|new| new.iter().position(|b| *b == b'\n'))
        {
            let end = self.seen + found + 1;
            let empty = matches!(self.buf.get(self.line..end), Some(b"\n" | b"\r\n"));
            self.line = end;
            self.seen = end;
            if end > self.max_bytes {
                break;
            }
            if empty {
                let mut head = std::mem::take(&mut self.buf);
                let rest = head.split_off(end).freeze();
                return parse(&head, rest).map(Some);
            }
        }
        self.seen = self.seen.max(self.buf.len());
        if self.buf.len() > self.max_bytes {
            return Err((
                Upstream::HeadTooLarge,
                format!("no end of the head within {} bytes", self.max_bytes),
            ));
        }
        Ok(None)
    }
}

fn parse(text: &[u8], rest: Bytes) -> Result<Head, Wrong> {
    let mut headers = HeaderMap::new();
    let mut status = None;
    for line in text.split(|b| *b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)) {
        if line.is_empty() {
            continue;
        }
        let (name, value) = field(line).ok_or_else(|| bad("not a field", line))?;
        if name == "status" {
            let said = status_of(&value).ok_or_else(|| bad("not a status", line))?;
            if status.replace(said).is_some_and(|before| before != said) {
                return Err(bad("a second status", line));
            }
        } else {
            if headers.len() >= FIELDS_MAX {
                return Err((Upstream::HeadTooLarge, format!("more than {FIELDS_MAX} fields")));
            }
            headers
                .try_append(name, value)
                .map_err(|_| (Upstream::HeadTooLarge, "more fields than can be held".to_owned()))?;
        }
    }
    if headers.contains_key(header::TRANSFER_ENCODING) {
        // RFC 3875 §6.3.5: framing is the server's. A body framed twice would reach the client as rubbish.
        return Err((Upstream::BadFraming, "the script sent Transfer-Encoding".to_owned()));
    }
    if samovar_policy::names_too_many(&headers) {
        return Err((Upstream::BadHead, "Connection names more than is looked at".to_owned()));
    }
    let len = settle_length(&mut headers).map_err(|seen| (Upstream::BadFraming, seen))?;
    samovar_policy::strip_hop_by_hop(&mut headers);
    let unsaid = if headers.contains_key(header::LOCATION) { StatusCode::FOUND } else { StatusCode::OK };
    Ok(Head { status: status.unwrap_or(unsaid), headers, len, rest })
}

/// `Name: value`, without folding, white space before the colon, or control characters.
fn field(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.iter().position(|b| *b == b':')?;
    let (name, value) = line.split_at_checked(colon)?;
    let value = value.strip_prefix(b":")?.trim_ascii();
    Some((HeaderName::from_bytes(name).ok()?, HeaderValue::from_bytes(value).ok()?))
}

/// `404` or `404 Not Found`; a final status of RFC 9110 §15.
fn status_of(value: &HeaderValue) -> Option<StatusCode> {
    let digits = value.as_bytes().split(|b| *b == b' ').next()?;
    let status = StatusCode::from_bytes(digits).ok()?;
    (200..600).contains(&status.as_u16()).then_some(status)
}

fn bad(what: &str, line: &[u8]) -> Wrong {
    let shown = line.get(..80).unwrap_or(line);
    (Upstream::BadHead, format!("{what}: `{}`", shown.escape_ascii()))
}

#[cfg(test)]
#[path = "head_tests.rs"]
mod tests;
