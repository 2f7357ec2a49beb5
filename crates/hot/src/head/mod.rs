//! The strict parse of a request head (RFC 9112 §2–§3, §5, §6): pure functions of bytes and limits.
//!
//! [`parse`] finds the end of the head, checks its lines and fields and settles the framing: all that a hot answer
//! needs. [`Head::check_for_engine`] judges the rest (request target, Host, method), which a hot answer does not
//! need: its head equals, in those parts, one that was judged when the answer was prepared.
//!
//! Whatever passes both, hyper accepts too and frames alike (`tests/agreement.rs`): the tokeniser is the same
//! (httparse) and each rule here is at least as strict.
//!
//! Not here: what is done with the request, and anything that reads more than one head.

mod fields;
mod host;
mod judge;
mod known;
mod lines;

pub(crate) use fields::Persistence;
pub(crate) use known::Known;

use crate::Limits;
use fields::Seen;
use samovar_reason::Reject;
use std::mem::MaybeUninit;

pub use host::valid_host;
pub use judge::judge_bytes;

/// Most field lines that are ever looked at, whatever [`Limits::fields_max`] says.
pub const FIELDS_CAP: usize = 256;

/// Room for the fields of one head, on the stack.
pub type Slots<'b> = [MaybeUninit<httparse::Header<'b>>; FIELDS_CAP];

/// Fresh [`Slots`].
pub const fn slots<'b>() -> Slots<'b> {
    [const { MaybeUninit::uninit() }; FIELDS_CAP]
}

/// Where the request ends (RFC 9112 §6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// With its head.
    None,
    /// After so many bytes of body, at least one.
    Length(u64),
    /// After the chunked body's last byte.
    Chunked,
}

/// The limits a head is parsed under.
#[derive(Clone, Copy, Debug)]
pub struct HeadLimits {
    /// See [`Limits::line_max_bytes`].
    pub line_max_bytes: usize,
    /// See [`Limits::head_max_bytes`].
    pub head_max_bytes: usize,
    /// See [`Limits::fields_max`].
    pub fields_max: usize,
    /// See [`Limits::body_max_bytes`].
    pub body_max_bytes: u64,
}

impl HeadLimits {
    /// The limits of a connection, within what hyper and this layer can hold.
    pub fn of(limits: &Limits) -> HeadLimits {
        HeadLimits {
            // No longer than the whole head: else which of the two is exceeded would depend on how the head is cut.
            line_max_bytes: limits.line_max_bytes.min(60 << 10).min(limits.head_max_bytes),
            head_max_bytes: limits.head_max_bytes.min(256 << 10),
            fields_max: limits.fields_max.min(FIELDS_CAP),
            body_max_bytes: limits.body_max_bytes.unwrap_or(u64::MAX),
        }
    }
}

/// The field lines of a head.
#[derive(Clone, Copy, Debug)]
pub enum Fields<'h, 'b> {
    /// As they were parsed.
    Parsed(&'h [httparse::Header<'b>]),
    /// As they stood in an equal block of lines.
    Known(&'h [known::Span], &'b [u8]),
}

impl<'b> Fields<'_, 'b> {
    /// How many lines.
    pub fn len(&self) -> usize {
        match self {
            Fields::Parsed(fields) => fields.len(),
            Fields::Known(spans, _) => spans.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Name and value of a line; the value without surrounding whitespace.
    pub fn get(&self, at: usize) -> Option<(&'b [u8], &'b [u8])> {
        match self {
            Fields::Parsed(fields) => fields.get(at).map(|field| (field.name.as_bytes(), field.value)),
            Fields::Known(spans, block) => spans.get(at).and_then(|span| span.of(block)),
        }
    }

    /// All lines, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'b [u8], &'b [u8])> {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}

/// One complete head, checked.
#[derive(Debug)]
pub struct Head<'h, 'b> {
    /// The method, a token.
    pub method: &'b str,
    /// The request target as it came.
    pub target: &'b str,
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    pub minor: u8,
    /// All field lines, values without surrounding whitespace.
    pub fields: Fields<'h, 'b>,
    /// Bytes from the request line to the empty line, both included.
    pub len_bytes: usize,
    /// Where the request ends.
    pub framing: Framing,
    pub(crate) seen: Seen,
}

impl<'b> Head<'_, 'b> {
    /// The value of Host; HTTP/1.0 may lack it.
    pub fn host(&self) -> Option<&'b [u8]> {
        self.seen.host.value(&self.fields)
    }

    /// The value of the last User-Agent line.
    pub fn user_agent(&self) -> Option<&'b [u8]> {
        self.seen.user_agent.value(&self.fields)
    }

    /// The value of the last Referer line.
    pub fn referer(&self) -> Option<&'b [u8]> {
        self.seen.referer.value(&self.fields)
    }

    /// Checks what only the engine needs: method, request target, Host (RFC 9110 §7.2, RFC 9112 §3.2).
    pub fn check_for_engine(&self) -> Result<(), Reject> {
        if self.method == "CONNECT" {
            return Err(Reject::ConnectMethod);
        }
        if self.host().is_some_and(|host| !valid_host(host)) {
            return Err(Reject::BadHost);
        }
        if http::Method::from_bytes(self.method.as_bytes()).is_err() || !self.target_is_valid() {
            return Err(Reject::BadRequestLine);
        }
        Ok(())
    }

    /// Whether the request is about the server itself: an OPTIONS of `*`, or of an absolute form without path and query,
    /// which a proxy would send on as `*` (RFC 9112 §3.2.4). `http::Uri` reads that form as `/`.
    pub fn is_of_the_server(&self) -> bool {
        self.method == "OPTIONS"
            && match self.target.split_once("://") {
                None => self.target == "*",
                Some((scheme, rest)) => !scheme.contains('/') && !rest.contains(['/', '?']),
            }
    }

    /// Origin form, absolute form, or `*` for OPTIONS; no fragment. hyper reads targets with the same `Uri`.
    fn target_is_valid(&self) -> bool {
        let form = match self.target.as_bytes() {
            b"*" => self.method == "OPTIONS",
            [b'/', ..] => true,
            other => other.windows(3).any(|w| w == b"://"),
        };
        form && !self.target.contains('#') && http::Uri::try_from(self.target).is_ok()
    }
}

/// How many bytes of empty lines precede the head: they are skipped (RFC 9112 §2.2).
pub fn leading_empty_lines(buf: &[u8]) -> Result<usize, Reject> {
    let mut at = 0;
    loop {
        match buf.get(at..).unwrap_or_default() {
            [b'\r', b'\n', ..] => at += 2,
            [b'\n', ..] => return Err(Reject::BareLineFeed),
            [b'\r', _, ..] => return Err(Reject::BareLineFeed),
            _ => return Ok(at),
        }
    }
}

/// Parses the head that `buf` begins with; `None` while it is incomplete.
///
/// `scanned` is where the search for the end of the head left off; start with 0 and hand the same variable in
/// again when more bytes have come, so that a head that comes byte by byte costs no more than its length.
pub fn parse<'h, 'b>(
    buf: &'b [u8],
    scanned: &mut usize,
    slots: &'h mut Slots<'b>,
    limits: &HeadLimits,
) -> Result<Option<Head<'h, 'b>>, Reject> {
    let Some(len_bytes) = lines::end_of_head(buf, scanned, limits)? else { return Ok(None) };
    let bytes = buf.get(..len_bytes).unwrap_or_default();
    let room = slots.get_mut(..limits.fields_max).unwrap_or_default();
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(bytes, room) {
        Ok(httparse::Status::Complete(n)) if n == len_bytes => {}
        Ok(_) => return Err(Reject::BadRequestLine),
        Err(error) => return Err(lines::reason(error, bytes)),
    }
    let (Some(method), Some(target), Some(minor)) = (request.method, request.path, request.version) else {
        return Err(Reject::BadRequestLine);
    };
    let fields: &'h [httparse::Header<'b>] = request.headers;
    let seen = fields::look_over(fields, minor)?;
    let framing = seen.framing(limits.body_max_bytes)?;
    Ok(Some(Head { method, target, minor, fields: Fields::Parsed(fields), len_bytes, framing, seen }))
}

#[cfg(test)]
mod tests;
