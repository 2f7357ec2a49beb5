//! What one request gets of a prepared answer: all of it, its head, a 304, or one range.
//!
//! Only what is certain from raw bytes (`samovar_policy::certainly`); the rest is the engine's. Not here: whether the
//! answer is for this request at all (`map`).

use crate::head::Head;
use crate::prepared::Prepared;
use http::StatusCode;
use samovar_policy::{RawAsked, Selected, certainly};
use samovar_reason::Hot;

/// What is sent of a prepared answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Head and body.
    Whole,
    /// The head alone, as HEAD asks.
    Head,
    /// A 304.
    NotModified,
    /// A 206 with the bytes `start..end`.
    Range {
        /// First byte.
        start: u64,
        /// One past the last byte.
        end: u64,
    },
}

impl Share {
    /// What a GET or HEAD without other conditions than those of [`RawAsked`] gets.
    pub(crate) fn of(prepared: &Prepared, head: &Head<'_, '_>) -> Result<Share, Hot> {
        let seen = &head.seen;
        let is_head = head.method == "HEAD";
        let whole = if is_head { Share::Head } else { Share::Whole };
        if !seen.none_match.is_there() && !seen.modified_since.is_there() && !seen.range.is_there() {
            return Ok(whole);
        }
        let asked = RawAsked {
            none_match: seen.none_match.value(&head.fields),
            modified_since: seen.modified_since.value(&head.fields),
            range: seen.range.value(&head.fields).filter(|_| !is_head),
        };
        if prepared.is_coded() && asked.range.is_some() {
            // Whatever else it asks: the engine answers it with the plain one, of which ranges are.
            return Err(Hot::HasRange);
        }
        match certainly(&asked, &prepared.validators(), prepared.body_bytes()) {
            Some(Selected::Whole) if prepared.is_one_form() && asked.none_match.is_some() => {
                Err(Hot::HasCondition)
            }
            Some(Selected::Whole) => Ok(whole),
            Some(Selected::NotModified) => Ok(Share::NotModified),
            Some(Selected::Range { start, end }) => Ok(Share::Range { start, end }),
            _ if asked.range.is_some() => Err(Hot::HasRange),
            _ => Err(Hot::HasCondition),
        }
    }

    /// Its status.
    pub fn status(self) -> StatusCode {
        match self {
            Share::Whole | Share::Head => StatusCode::OK,
            Share::NotModified => StatusCode::NOT_MODIFIED,
            Share::Range { .. } => StatusCode::PARTIAL_CONTENT,
        }
    }

    /// Which bytes of a body of `len_bytes` are sent.
    pub(crate) fn bytes(self, len_bytes: u64) -> (u64, u64) {
        match self {
            Share::Whole => (0, len_bytes),
            Share::Head | Share::NotModified => (0, 0),
            Share::Range { start, end } => (start, end.min(len_bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Share;
    use crate::Limits;
    use crate::head::{HeadLimits, parse, slots};
    use crate::prepared::{Lifetime, Prepared};
    use bytes::Bytes;
    use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
    use samovar_reason::Hot;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU8;

    const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    fn prepared() -> Prepared {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("content-type", "text/plain"),
            ("etag", "\"a\""),
            ("content-encoding", "x"),
            ("last-modified", MODIFIED),
            ("x-note", "content-type: is only a value here"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let life = Lifetime {
            state: Arc::new(AtomicU8::new(0)),
            epoch: 0,
            age_base_ms: 0,
            fresh_until_ms: u64::MAX,
        };
        let body = vec![Bytes::from_static(b"01234"), Bytes::from_static(b"56789")];
        Prepared::new(StatusCode::OK, &headers, body, life, Some("S"), "k".into(), Arc::new(())).unwrap()
    }

    fn share(method: &str, fields: &str) -> Result<Share, Hot> {
        share_of(&prepared(), method, fields)
    }

    fn share_of(prepared: &Prepared, method: &str, fields: &str) -> Result<Share, Hot> {
        let request = format!("{method} / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        let mut room = slots();
        let limits = HeadLimits::of(&Limits::default());
        let head = parse(request.as_bytes(), &mut 0, &mut room, &limits).unwrap().unwrap();
        Share::of(prepared, &head)
    }

    #[test]
    fn what_is_certain() {
        let range = |start, end| Ok(Share::Range { start, end });
        for (fields, get, head) in [
            ("", Ok(Share::Whole), Ok(Share::Head)),
            ("If-None-Match: W/\"a\"\r\n", Ok(Share::NotModified), Ok(Share::NotModified)),
            ("If-None-Match: \"b\"\r\n", Ok(Share::Whole), Ok(Share::Head)),
            ("If-None-Match: b\r\n", Err(Hot::HasCondition), Err(Hot::HasCondition)),
            (
                "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
                Ok(Share::NotModified),
                Ok(Share::NotModified),
            ),
            (
                "If-None-Match: \"b\"\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
                Ok(Share::Whole),
                Ok(Share::Head),
            ),
            (
                "If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n",
                Err(Hot::HasCondition),
                Err(Hot::HasCondition),
            ),
            ("Range: bytes=3-6\r\n", range(3, 7), Ok(Share::Head)),
            ("Range: bytes=8-99\r\n", range(8, 10), Ok(Share::Head)),
            ("Range: bytes=10-\r\n", Err(Hot::HasRange), Ok(Share::Head)),
            ("Range: bytes=0-1,3-4\r\n", Err(Hot::HasRange), Ok(Share::Head)),
            ("Range: bytes=3-6\r\nIf-None-Match: \"a\"\r\n", Ok(Share::NotModified), Ok(Share::NotModified)),
            ("Range: bytes=3-6\r\nIf-None-Match: \"b\"\r\n", range(3, 7), Ok(Share::Head)),
        ] {
            assert_eq!(share("GET", fields), get, "GET {fields}");
            assert_eq!(share("HEAD", fields), head, "HEAD {fields}");
        }
    }

    #[test]
    fn what_is_certain_of_one_form_of_several() {
        let since = format!("If-Modified-Since: {MODIFIED}\r\n");
        let range = "Range: bytes=3-6\r\n";
        let both = format!("{since}{range}");
        let cut = Ok(Share::Range { start: 3, end: 7 });
        for (fields, coded, plain) in [
            ("", Ok(Share::Whole), Ok(Share::Whole)),
            ("If-None-Match: \"a\"\r\n", Ok(Share::NotModified), Ok(Share::NotModified)),
            // It may be the tag of another form.
            ("If-None-Match: \"b\"\r\n", Err(Hot::HasCondition), Err(Hot::HasCondition)),
            (&since, Ok(Share::NotModified), Ok(Share::NotModified)),
            (range, Err(Hot::HasRange), cut),
            (&both, Err(Hot::HasRange), Ok(Share::NotModified)),
        ] {
            let form = |coded| prepared().one_form_of_several(coded);
            assert_eq!(share_of(&form(true), "GET", fields), coded, "coded: {fields}");
            assert_eq!(share_of(&form(false), "GET", fields), plain, "plain: {fields}");
        }
    }

    #[test]
    fn heads() {
        let text = |share| {
            let mut out = Vec::new();
            prepared().write_head_of(share, 5_000, &mut out);
            String::from_utf8(out).unwrap()
        };
        let end = "age: 5\r\ncache-status: S; hit; detail=fresh-hot\r\n\r\n";
        let note = "x-note: content-type: is only a value here\r\n";
        assert_eq!(text(Share::Head), text(Share::Whole));
        assert_eq!(
            text(Share::NotModified),
            format!("HTTP/1.1 304 Not Modified\r\netag: \"a\"\r\nlast-modified: {MODIFIED}\r\n{note}{end}")
        );
        assert_eq!(
            text(Share::Range { start: 3, end: 7 }),
            format!(
                "HTTP/1.1 206 Partial Content\r\ncontent-type: text/plain\r\netag: \"a\"\r\ncontent-encoding: x\r\n\
                 last-modified: {MODIFIED}\r\n{note}content-range: bytes 3-6/10\r\ncontent-length: 4\r\n{end}"
            )
        );
    }
}
