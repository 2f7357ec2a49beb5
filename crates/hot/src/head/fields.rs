//! The fields this layer acts on: one pass over all of them, then the framing (RFC 9112 §6).
//!
//! Not here: fields that only the engine reads.

use super::{Fields, Framing};
use httparse::Header;
use samovar_policy::CONNECTION_MAX;
use samovar_reason::Reject;

/// What the pass over the fields found.
///
/// Which lines, not what they say: so it is small, and holds for equal lines anywhere.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) host: Line,
    pub(crate) user_agent: Line,
    pub(crate) referer: Line,
    /// The last Cookie line; see `cookie_lines`.
    pub(crate) cookie: Line,
    pub(crate) cookie_lines: u8,
    /// Cache-Control and Pragma hold nothing but `no-cache` and `max-age=0`.
    pub(crate) reload: bool,
    /// Cache-Control or Pragma says something else.
    pub(crate) directives: bool,
    pub(crate) authorization: bool,
    pub(crate) range: Line,
    pub(crate) none_match: Line,
    pub(crate) modified_since: Line,
    /// A condition that is not among these, or one of these in several lines.
    pub(crate) condition: bool,
    pub(crate) expect: bool,
    pub(crate) upgrade: bool,
    /// Applications may take another method for the request's.
    pub(crate) method_override: bool,
    /// `Connection` names something beside `close` and `keep-alive`.
    pub(crate) odd_connection: bool,
    /// See there; set once all lines have been seen.
    pub(crate) persistence: Persistence,
    /// `Connection` names `close`.
    close: bool,
    /// `Connection` names `keep-alive`.
    keep_alive: bool,
    /// Members of `Connection`, but for a `keep-alive` alone.
    options: u16,
    length: Option<u64>,
    chunked: bool,
}

/// Whether the connection goes on after the response, and in which version the client speaks (RFC 9112 §9.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Persistence {
    /// HTTP/1.1: it goes on.
    #[default]
    Persistent,
    /// HTTP/1.1 with `close`.
    Close,
    /// HTTP/1.0 with `keep-alive`: it goes on.
    OldPersistent,
    /// HTTP/1.0 otherwise.
    OldClose,
}

impl Persistence {
    fn of(minor: u8, close: bool, keep_alive: bool) -> Persistence {
        match (minor, close, keep_alive) {
            (1, false, _) => Persistence::Persistent,
            (1, true, _) => Persistence::Close,
            (_, false, true) => Persistence::OldPersistent,
            _ => Persistence::OldClose,
        }
    }

    /// Rewrites the head of a response, the last thing in `out`, for this client: version and `Connection` as the engine
    /// writes them. Prepared heads are those of persistent HTTP/1.1 connections.
    pub(crate) fn adapt_head(self, out: &mut Vec<u8>, head_at: usize) {
        let option: &[u8] = match self {
            Persistence::Persistent => return,
            Persistence::Close => b"connection: close\r\n",
            Persistence::OldPersistent => b"connection: keep-alive\r\n",
            Persistence::OldClose => b"",
        };
        if self != Persistence::Close
            && let Some(minor) = out.get_mut(head_at + b"HTTP/1.".len())
        {
            *minor = b'0';
        }
        // In place of the empty line, which then comes again.
        out.truncate(out.len().saturating_sub(2));
        out.extend_from_slice(option);
        out.extend_from_slice(b"\r\n");
    }

    /// Whether the connection ends with the response.
    pub(crate) fn ends(self) -> bool {
        matches!(self, Persistence::Close | Persistence::OldClose)
    }
}

/// The number of a field line, from 1; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line(u16);

impl Line {
    /// Whether there is one.
    pub(crate) fn is_there(self) -> bool {
        self.0 != 0
    }

    /// Its value.
    pub(crate) fn value<'b>(self, fields: &Fields<'_, 'b>) -> Option<&'b [u8]> {
        fields.get(usize::from(self.0.checked_sub(1)?)).map(|(_, value)| value)
    }

    /// Takes note of a line; `true` if there was one before.
    fn is_second(&mut self, number: u16) -> bool {
        std::mem::replace(self, Line(number)).is_there()
    }
}

/// Looks at every field once.
pub(super) fn look_over(fields: &[Header<'_>], minor: u8) -> Result<Seen, Reject> {
    let mut seen = Seen::default();
    for (number, field) in (1..).zip(fields) {
        seen.take(number, field.name, field.value, minor)?;
    }
    if !seen.host.is_there() && minor == 1 {
        return Err(Reject::BadHost);
    }
    seen.persistence = Persistence::of(minor, seen.close, seen.keep_alive);
    Ok(seen)
}

impl Seen {
    /// The length of the name tells most fields apart, so that few are compared.
    fn take(&mut self, number: u16, name: &str, value: &[u8], minor: u8) -> Result<(), Reject> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        match name.len() {
            // Exactly one line (RFC 9112 §3.2).
            4 if is("host") && self.host.is_second(number) => return Err(Reject::BadHost),
            5 if is("range") => self.condition |= self.range.is_second(number),
            6 if is("cookie") => {
                self.cookie = Line(number);
                self.cookie_lines = self.cookie_lines.saturating_add(1);
            }
            6 if is("pragma") => self.take_directives(value),
            6 if is("expect") => return self.take_expect(value, minor),
            7 if is("referer") => self.referer = Line(number),
            7 if is("upgrade") => self.upgrade = true,
            8 if is("if-match") || is("if-range") => self.condition = true,
            10 if is("user-agent") => self.user_agent = Line(number),
            10 if is("connection") => return self.take_connection(value),
            13 if is("cache-control") => self.take_directives(value),
            13 if is("authorization") => self.authorization = true,
            13 if is("if-none-match") => self.condition |= self.none_match.is_second(number),
            14 if is("content-length") => return self.take_length(value),
            17 if is("if-modified-since") => self.condition |= self.modified_since.is_second(number),
            17 if is("transfer-encoding") => return self.take_transfer_encoding(value, minor),
            19 if is("if-unmodified-since") => self.condition = true,
            19 if is("proxy-authorization") => self.authorization = true,
            13 | 17 | 22 => self.method_override |= samovar_policy::overrides_method(name.as_bytes()),
            _ => {}
        }
        Ok(())
    }

    /// Only `100-continue` is understood (RFC 9110 §10.1.1); HTTP/1.0 knows no expectations.
    fn take_expect(&mut self, value: &[u8], minor: u8) -> Result<(), Reject> {
        self.expect = true;
        if minor == 1 && !value.eq_ignore_ascii_case(b"100-continue") {
            return Err(Reject::BadExpect);
        }
        Ok(())
    }

    fn take_connection(&mut self, value: &[u8]) -> Result<(), Reject> {
        if value.eq_ignore_ascii_case(b"keep-alive") {
            self.keep_alive = true;
            return Ok(());
        }
        for option in value.split(|&b| b == b',') {
            self.options += 1;
            if usize::from(self.options) > CONNECTION_MAX {
                return Err(Reject::TooManyOptions);
            }
            match option.trim_ascii() {
                b"" => {}
                o if o.eq_ignore_ascii_case(b"close") => self.close = true,
                o if o.eq_ignore_ascii_case(b"keep-alive") => self.keep_alive = true,
                o => {
                    self.odd_connection = true;
                    self.upgrade |= o.eq_ignore_ascii_case(b"upgrade");
                }
            }
        }
        Ok(())
    }

    /// `no-cache` and `max-age=0` are what a reload button sends.
    fn take_directives(&mut self, value: &[u8]) {
        for directive in value.split(|&b| b == b',') {
            match directive.trim_ascii() {
                b"" => {}
                d if d.eq_ignore_ascii_case(b"no-cache") || d.eq_ignore_ascii_case(b"max-age=0") => {
                    self.reload = true;
                }
                _ => self.directives = true,
            }
        }
    }

    /// Exactly one line, digits only, no list, no sign, at most 2⁶³-1 (RFC 9110 §8.6, RFC 9112 §6.3 rule 5).
    fn take_length(&mut self, value: &[u8]) -> Result<(), Reject> {
        if self.length.is_some() || value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
            return Err(Reject::BadContentLength);
        }
        let length = value
            .iter()
            .try_fold(0u64, |n, d| n.checked_mul(10)?.checked_add(u64::from(d - b'0')))
            .filter(|&n| i64::try_from(n).is_ok())
            .ok_or(Reject::BadContentLength)?;
        self.length = Some(length);
        Ok(())
    }

    /// Exactly one line that says `chunked`, never under HTTP/1.0 (RFC 9112 §6.1).
    fn take_transfer_encoding(&mut self, value: &[u8], minor: u8) -> Result<(), Reject> {
        if self.chunked || minor == 0 || !value.eq_ignore_ascii_case(b"chunked") {
            return Err(Reject::BadTransferEncoding);
        }
        self.chunked = true;
        Ok(())
    }

    /// Where the request ends. Both lengths at once are refused, as RFC 9112 §6.3 rule 3 allows.
    pub(super) fn framing(&self, body_max_bytes: u64) -> Result<Framing, Reject> {
        match (self.length, self.chunked) {
            (Some(_), true) => Err(Reject::LengthAndChunked),
            (None, true) => Ok(Framing::Chunked),
            (Some(n), false) if n > body_max_bytes => Err(Reject::BodyTooLarge),
            (None | Some(0), false) => Ok(Framing::None),
            (Some(n), false) => Ok(Framing::Length(n)),
        }
    }
}
