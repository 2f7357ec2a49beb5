//! One response head: from bytes to the few facts a load test needs.
//!
//! Not here: the body, and any memory of the connection.

use std::mem::MaybeUninit;

use super::cached::Evidence;
use super::{Cached, Malformed, Media};

/// Fields looked at without asking for more stack; nearly every response fits.
const FEW_FIELDS: usize = 64;
/// Fields looked at at most.
const MANY_FIELDS: usize = 256;

/// How the end of the body is known (RFC 9112 §6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// No body can follow: HEAD, 1xx, 204, 304.
    Empty,
    /// So many bytes.
    Length(u64),
    /// Chunked transfer coding.
    Chunked,
    /// The body ends with the connection.
    UntilClose,
}

/// The content coding, as far as we can undo it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coding {
    /// None: the bytes are the content.
    #[default]
    Identity,
    /// gzip.
    Gzip,
    /// Brotli.
    Brotli,
    /// Zstandard.
    Zstd,
    /// One we do not decode: deflate, several on top of each other.
    Other,
}

impl Coding {
    /// Whether samples of it are decoded.
    pub fn is_decoded(self) -> bool {
        match self {
            Coding::Gzip | Coding::Brotli | Coding::Zstd => true,
            Coding::Identity | Coding::Other => false,
        }
    }
}

/// What one response head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status code, 100 to 999.
    pub status: u16,
    /// How the body ends.
    pub framing: Framing,
    /// Whether the connection may carry another request (RFC 9112 §9.3).
    pub keep_alive: bool,
    /// Whether that is said, and not only usual.
    pub says_keep: bool,
    /// What caches say of this answer.
    pub cached: Cached,
    /// The content coding of the body.
    pub coding: Coding,
    /// What the body is, as far as the answer says.
    pub media: Media,
}

impl Head {
    /// Whether this is an interim response, to be followed by another (RFC 9110 §15.2). 101 is final for us.
    pub fn is_interim(&self) -> bool {
        (100..200).contains(&self.status) && self.status != 101
    }
}

/// Shows every field of a whole head, name and value, in their order. Of what is no head nothing is shown.
pub fn fields(head: &[u8], show: &mut impl FnMut(&str, &[u8])) {
    let mut room = [const { MaybeUninit::uninit() }; MANY_FIELDS];
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    if config.parse_response_with_uninit_headers(&mut response, head, &mut room).is_ok() {
        response.headers.iter().for_each(|header| show(header.name, header.value));
    }
}

/// Reads a head at the start of `input`; `None` while it is not whole. `asked_head`: the request was HEAD.
///
/// # Errors
/// [`Malformed`] when no continuation could make it a head.
pub fn parse(input: &[u8], asked_head: bool) -> Result<Option<(usize, Head)>, Malformed> {
    let mut few = [const { MaybeUninit::uninit() }; FEW_FIELDS];
    match parse_into(input, asked_head, &mut few) {
        Err(httparse::Error::TooManyHeaders) => {
            let mut many = [const { MaybeUninit::uninit() }; MANY_FIELDS];
            parse_into(input, asked_head, &mut many)
        }
        other => other,
    }
    .map_err(
        |error| {
            if error == httparse::Error::TooManyHeaders { Malformed::HeadTooLong } else { Malformed::Head }
        },
    )?
    .transpose()
}

type Parsed = Option<Result<(usize, Head), Malformed>>;

fn parse_into<'b>(
    input: &'b [u8],
    asked_head: bool,
    room: &mut [MaybeUninit<httparse::Header<'b>>],
) -> Result<Parsed, httparse::Error> {
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    match config.parse_response_with_uninit_headers(&mut response, input, room)? {
        httparse::Status::Partial => Ok(None),
        httparse::Status::Complete(used) => {
            let status = response.code.unwrap_or(0);
            let modern = response.version == Some(1);
            Ok(Some(facts(status, modern, response.headers, asked_head).map(|head| (used, head))))
        }
    }
}

#[derive(Default)]
struct Fields {
    length: Option<u64>,
    transfer: bool,
    chunked_last: bool,
    close: bool,
    keep: bool,
    coding: Coding,
    media: Media,
    evidence: Evidence,
}

fn facts(
    status: u16,
    modern: bool,
    headers: &[httparse::Header<'_>],
    asked_head: bool,
) -> Result<Head, Malformed> {
    if status < 100 {
        return Err(Malformed::Head);
    }
    let mut fields = Fields::default();
    for header in headers {
        take(&mut fields, header.name, header.value)?;
    }
    let bodyless = asked_head || (100..200).contains(&status) || status == 204 || status == 304;
    let framing = match (bodyless, fields.transfer, fields.length) {
        (true, ..) => Framing::Empty,
        (_, true, _) if fields.chunked_last => Framing::Chunked,
        (_, true, _) => Framing::UntilClose,
        (_, _, Some(length)) => Framing::Length(length),
        _ => Framing::UntilClose,
    };
    let may_stay = if modern { !fields.close } else { fields.keep && !fields.close };
    // Both framings in one head make the length a guess (RFC 9112 §6.3, item 3): never reuse such a connection.
    let doubtful = fields.transfer && fields.length.is_some();
    let keep_alive = may_stay && framing != Framing::UntilClose && !doubtful && status != 101;
    let says_keep = fields.keep && !fields.close;
    Ok(Head {
        status,
        framing,
        keep_alive,
        says_keep,
        cached: fields.evidence.judge(),
        coding: fields.coding,
        media: fields.media,
    })
}

fn take(fields: &mut Fields, name: &str, value: &[u8]) -> Result<(), Malformed> {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    match name.len() {
        3 if is("age") => fields.evidence.age(value),
        7 if is("x-cache") => fields.evidence.x_cache(value),
        10 if is("connection") => {
            for option in value.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
                fields.close |= option.eq_ignore_ascii_case(b"close");
                fields.keep |= option.eq_ignore_ascii_case(b"keep-alive");
            }
        }
        12 if is("content-type") => fields.media = Media::of(value),
        12 if is("cache-status") => fields.evidence.cache_status(value),
        14 if is("content-length") => {
            let length = read_length(value)?;
            if fields.length.is_some_and(|before| before != length) {
                return Err(Malformed::Length);
            }
            fields.length = Some(length);
        }
        14 if is("x-cache-status") => fields.evidence.x_cache(value),
        15 if is("cf-cache-status") => fields.evidence.x_cache(value),
        16 if is("content-encoding") => fields.coding = read_coding(value, fields.coding),
        17 if is("transfer-encoding") => {
            fields.transfer = true;
            let last = value.rsplit(|&b| b == b',').next().unwrap_or_default();
            fields.chunked_last = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
        }
        _ => {}
    }
    Ok(())
}

/// A list of identical numbers counts as one (RFC 9110 §8.6).
fn read_length(value: &[u8]) -> Result<u64, Malformed> {
    let mut found = None;
    for member in value.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
        if member.is_empty() {
            return Err(Malformed::Length);
        }
        let mut number = 0_u64;
        for &byte in member {
            let digit = char::from(byte).to_digit(10).ok_or(Malformed::Length)?;
            number = number
                .checked_mul(10)
                .and_then(|n| n.checked_add(u64::from(digit)))
                .ok_or(Malformed::Length)?;
        }
        if found.is_some_and(|before| before != number) {
            return Err(Malformed::Length);
        }
        found = Some(number);
    }
    found.ok_or(Malformed::Length)
}

fn read_coding(value: &[u8], before: Coding) -> Coding {
    let value = value.trim_ascii();
    let is = |name: &[u8]| value.eq_ignore_ascii_case(name);
    let this = match () {
        () if is(b"gzip") || is(b"x-gzip") => Coding::Gzip,
        () if is(b"br") => Coding::Brotli,
        () if is(b"zstd") => Coding::Zstd,
        () if is(b"identity") || value.is_empty() => return before,
        () => Coding::Other,
    };
    if before == Coding::Identity { this } else { Coding::Other }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<Option<(usize, Head)>, Malformed> {
        parse(text.as_bytes(), false)
    }

    fn one(lines: &str) -> Head {
        head(&format!("HTTP/1.1 {lines}\r\n\r\n")).unwrap().unwrap().1
    }

    #[test]
    fn framing_table() {
        for (lines, framing, keep_alive) in [
            ("200 OK\r\nContent-Length: 5", Framing::Length(5), true),
            ("200 OK\r\ncontent-length: 5, 5", Framing::Length(5), true),
            ("200 OK\r\nTransfer-Encoding: chunked", Framing::Chunked, true),
            ("200 OK\r\nTransfer-Encoding: gzip, Chunked", Framing::Chunked, true),
            ("200 OK\r\nTransfer-Encoding: chunked, gzip", Framing::UntilClose, false),
            ("200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5", Framing::Chunked, false),
            ("200 OK", Framing::UntilClose, false),
            ("204 No Content", Framing::Empty, true),
            ("304 Not Modified\r\nContent-Length: 999", Framing::Empty, true),
            ("200 OK\r\nContent-Length: 5\r\nConnection: foo, Close", Framing::Length(5), false),
            ("101 Switching Protocols", Framing::Empty, false),
        ] {
            let got = one(lines);
            assert_eq!((got.framing, got.keep_alive), (framing, keep_alive), "{lines}");
        }
        let old = |lines: &str| head(&format!("HTTP/1.0 200 OK\r\n{lines}\r\n\r\n")).unwrap().unwrap().1;
        assert!(!old("Content-Length: 5").keep_alive);
        assert!(old("Content-Length: 5\r\nConnection: keep-alive").keep_alive);
        let asked = parse(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true).unwrap().unwrap().1;
        assert_eq!((asked.framing, asked.keep_alive), (Framing::Empty, true));
    }

    #[test]
    fn refusals() {
        for text in ["HTTP/1.1 200 OK\r\nbad line\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\0\0\0\0"] {
            assert_eq!(head(text), Err(Malformed::Head), "{text:?}");
        }
        assert_eq!(head("HTTP/1.1 099 Low\r\n\r\n"), Err(Malformed::Head));
        for length in ["x", "-1", "1, 2", "99999999999999999999", "", "1,", "1.0"] {
            let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
            assert_eq!(head(&text), Err(Malformed::Length), "{length}");
        }
        let two = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n";
        assert_eq!(head(two), Err(Malformed::Length));
        let field = "X-A: b\r\n";
        let enough = format!("HTTP/1.1 204 OK\r\n{}\r\n", field.repeat(200));
        assert!(head(&enough).unwrap().is_some());
        let many = format!("HTTP/1.1 204 OK\r\n{}\r\n", field.repeat(300));
        assert_eq!(head(&many), Err(Malformed::HeadTooLong));
    }

    #[test]
    fn coding_and_cache() {
        assert_eq!(one("200 OK\r\nContent-Encoding: GZIP").coding, Coding::Gzip);
        assert_eq!(one("200 OK\r\nContent-Encoding: br").coding, Coding::Brotli);
        assert_eq!(one("200 OK\r\nContent-Encoding: zstd").coding, Coding::Zstd);
        assert_eq!(one("200 OK\r\nContent-Encoding: deflate").coding, Coding::Other);
        assert_eq!(one("200 OK\r\nContent-Encoding: gzip\r\nContent-Encoding: br").coding, Coding::Other);
        assert_eq!(one("200 OK\r\nContent-Encoding: gzip, br").coding, Coding::Other);
        assert_eq!(one("200 OK\r\nCache-Status: s; hit").cached, Cached::Hit);
        assert_eq!(one("200 OK\r\nX-Cache: MISS").cached, Cached::Miss);
        assert_eq!(one("200 OK\r\nCF-Cache-Status: HIT").cached, Cached::Hit);
        assert_eq!(one("200 OK\r\nAge: 4").cached, Cached::Hit);
    }
}
