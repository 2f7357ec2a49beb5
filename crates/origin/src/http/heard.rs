//! What an upstream says: the head of an answer, and how its body is framed. Pure: bytes in, a verdict out.
//!
//! An answer that contradicts itself about its length is refused before a byte of its body is passed on (RFC 9112
//! §6.3); fields of the connection end here (RFC 9110 §7.6.1). `httparse` reads the lines, as it does for hyper, which
//! the tests hold this to. Not here: the body itself (`decode`), time, sockets.

use crate::fields::{KEEP_ALIVE, PROXY_CONNECTION, one_length};
use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use samovar_reason::Upstream;
use smallvec::SmallVec;
use std::mem::MaybeUninit;

/// Most fields in one head, as hyper's default has it.
const FIELDS_MAX: usize = 100;
/// Room for the fields of a usual head.
const FIELDS: usize = 24;

/// Of interim heads as much is read as of so many heads: whoever sends them without end is not listened to for ever.
const INTERIM_HEADS: usize = 256;

/// Why an answer is refused, and what was seen.
pub(super) type Wrong = (Upstream, String);

/// How a body is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is none.
    None,
    /// So many bytes.
    Sized(u64),
    /// Chunks.
    Chunked,
    /// Until the connection ends.
    UntilClose,
}

/// The head of the answer.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    /// End-to-end fields.
    pub(super) headers: HeaderMap,
    pub(super) framing: Framing,
    /// It lets the connection live (RFC 9112 §9.3).
    pub(super) keeps_alive: bool,
}

/// What was heard.
#[derive(Debug)]
pub(super) enum Heard {
    /// Not the answer yet (RFC 9110 §15.2); with its end-to-end fields.
    Interim(StatusCode, HeaderMap),
    /// The answer.
    Head(Head),
    /// The answer to a request for another protocol (101): what follows is not HTTP. With what it changed to, and its
    /// end-to-end fields.
    Switched(HeaderValue, HeaderMap),
}

/// Takes heads off the front of what was received.
#[derive(Debug, Default)]
pub(super) struct Listener {
    /// The protocols that were asked for.
    upgrade: Option<HeaderValue>,
    /// So many bytes are known to hold no whole head.
    seen: usize,
    /// So many there were when it was last read.
    looked: usize,
    /// Of interim heads, bytes: without a bound they would keep whoever reads them for ever.
    interim_bytes: usize,
}

impl Listener {
    /// For the answer to a request that asks for these protocols.
    pub(super) fn asking(upgrade: Option<HeaderValue>) -> Listener {
        Listener { upgrade, ..Listener::default() }
    }

    /// Whether an interim head came.
    pub(super) fn has_heard(&self) -> bool {
        self.interim_bytes > 0
    }

    /// The next head, if it is all there.
    pub(super) fn next(
        &mut self,
        read: &mut BytesMut,
        method: &Method,
        max_bytes: usize,
    ) -> Result<Option<Heard>, Wrong> {
        // Once it was begun, it is read again only when it may be whole, or is twice as long: what can never become a head
        // is noticed, and one that comes in drops is not read over and over.
        let may_be_whole = read.len() >= 2 * self.looked || ends(read, self.seen);
        let line = if may_be_whole && !read.is_empty() { line(read)? } else { None };
        let Some(line) = line else {
            if read.len() > max_bytes {
                return Err(too_large(max_bytes));
            }
            self.seen = read.len();
            if may_be_whole {
                self.looked = read.len();
            }
            return Ok(None);
        };
        (self.seen, self.looked) = (0, 0);
        if line.len > max_bytes {
            return Err(too_large(max_bytes));
        }
        if self.interim_bytes > max_bytes.saturating_mul(INTERIM_HEADS) {
            let detail = format!("waiting for the head: {} bytes of interim answers", self.interim_bytes);
            return Err((Upstream::HeadTooLarge, detail));
        }
        let bytes = read.split_to(line.len).freeze();
        let heard = heard(&bytes, &line, method, self.upgrade.as_ref())?;
        if matches!(heard, Heard::Interim(..)) {
            self.interim_bytes += line.len;
        }
        Ok(Some(heard))
    }
}

/// Whether there is an empty line of which not all was among the first `seen` bytes.
fn ends(bytes: &[u8], seen: usize) -> bool {
    let new = bytes.get(seen.saturating_sub(2)..).unwrap_or_default();
    new.windows(2).any(|pair| pair == b"\n\n") || new.windows(3).any(|three| three == b"\n\r\n")
}

/// A head that is whole: what httparse found, as places among the bytes, which are cut off only then.
struct Line {
    len: usize,
    status: Option<u16>,
    old: bool,
    fields: SmallVec<[Place; FIELDS]>,
}

/// Where a field is.
#[derive(Clone, Copy)]
struct Place {
    name: (usize, usize),
    value: (usize, usize),
}

fn line(bytes: &[u8]) -> Result<Option<Line>, Wrong> {
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS_MAX];
    let mut answer = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let len = match config.parse_response_with_uninit_headers(&mut answer, bytes, &mut fields) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            return Err((
                Upstream::HeadTooLarge,
                format!("waiting for the head: more than {FIELDS_MAX} fields"),
            ));
        }
        Err(error) => return Err((Upstream::BadHead, format!("waiting for the head: {error}"))),
    };
    let place = |part: &[u8]| {
        let from = (part.as_ptr().addr()).wrapping_sub(bytes.as_ptr().addr());
        (from, from + part.len())
    };
    let fields = answer.headers.iter();
    let fields = fields.map(|field| Place { name: place(field.name.as_bytes()), value: place(field.value) });
    let old = answer.version != Some(1);
    Ok(Some(Line { len, status: answer.code, old, fields: fields.collect() }))
}

fn too_large(max_bytes: usize) -> Wrong {
    (Upstream::HeadTooLarge, format!("waiting for the head: more than {max_bytes} bytes"))
}

/// What the fields of a head say of the connection and the body.
struct Said {
    close: bool,
    keep_alive: bool,
    /// Whether and how the body is coded.
    coding: Coding,
    len: Option<u64>,
    /// There are fields that end here.
    hops: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Coding {
    None,
    Chunked,
    Other,
}

fn heard(bytes: &Bytes, line: &Line, method: &Method, upgrade: Option<&HeaderValue>) -> Result<Heard, Wrong> {
    let status = line.status.and_then(|code| StatusCode::from_u16(code).ok());
    let Some(status) = status else {
        return Err((Upstream::BadHead, "waiting for the head: a status that is none".to_owned()));
    };
    let switches = status == StatusCode::SWITCHING_PROTOCOLS;
    if switches && upgrade.is_none() {
        let detail = "101 to a request that asked for no other protocol".to_owned();
        return Err((Upstream::BadHead, detail));
    }
    let interim = status.is_informational();
    let mut said = Said { close: false, keep_alive: false, coding: Coding::None, len: None, hops: false };
    let mut headers = HeaderMap::with_capacity(line.fields.len());
    for Place { name, value } in &line.fields {
        let name = bytes.get(name.0..name.1).unwrap_or_default();
        let bad = || {
            let name = String::from_utf8_lossy(name);
            (Upstream::BadHead, format!("waiting for the head: the field `{name}`"))
        };
        let inside = value.0 <= value.1 && value.1 <= bytes.len();
        let value = if inside { bytes.slice(value.0..value.1) } else { return Err(bad()) };
        let name = HeaderName::from_bytes(name).map_err(|_| bad())?;
        if interim && name == header::CONTENT_LENGTH || !said.take(&name, &value, &headers, interim)? {
            continue;
        }
        headers.append(name, HeaderValue::from_maybe_shared(value).map_err(|_| bad())?);
    }
    let to = upgrade.filter(|_| switches).map(|asked| samovar_policy::upgraded_to(asked, &headers));
    let to = to.transpose().map_err(|wrong| (Upstream::BadHead, format!("waiting for the head: {wrong}")))?;
    if said.hops && samovar_policy::names_too_many(&headers) {
        return Err((
            Upstream::BadHead,
            "waiting for the head: Connection names more than is looked at".to_owned(),
        ));
    }
    if said.hops {
        samovar_policy::strip_hop_by_hop(&mut headers);
    }
    if let Some(protocol) = to {
        return Ok(Heard::Switched(protocol, headers));
    }
    if interim {
        return Ok(Heard::Interim(status, headers));
    }
    if let Some(len) = said.len {
        settle(&mut headers, len);
    }
    let old = line.old;
    let framing = framing(status, method, old, &said)?;
    let tunnel = *method == Method::CONNECT && status.is_success();
    if status == StatusCode::NO_CONTENT || tunnel {
        // RFC 9110 §8.6: no Content-Length in a 204; some upstreams send one all the same.
        headers.remove(header::CONTENT_LENGTH);
    }
    // A 204 that announces a body may be followed by one (RFC 9112 §6.3 has none), which nobody should take for an answer.
    let announces = status == StatusCode::NO_CONTENT && said.len.is_some_and(|len| len > 0);
    let keeps_alive = !said.close && !tunnel && !announces && (!old || said.keep_alive);
    Ok(Heard::Head(Head { status, headers, framing, keeps_alive }))
}

impl Said {
    /// Takes note of a field. False if it is not to be kept.
    fn take(
        &mut self,
        name: &HeaderName,
        value: &[u8],
        so_far: &HeaderMap,
        interim: bool,
    ) -> Result<bool, Wrong> {
        match *name {
            header::CONNECTION => Ok(self.connection(value)),
            header::TRANSFER_ENCODING => {
                // The only coding, named once; whatever else there is would have to be undone by us.
                let chunked = value.trim_ascii().eq_ignore_ascii_case(b"chunked");
                let first = self.coding == Coding::None;
                self.coding = if chunked && first { Coding::Chunked } else { Coding::Other };
                Ok(false)
            }
            header::CONTENT_LENGTH if !interim => {
                let len = one_length(value).filter(|len| self.len.is_none_or(|before| before == *len));
                let Some(len) = len else {
                    let mut seen: Vec<_> = so_far.get_all(name).iter().map(HeaderValue::as_bytes).collect();
                    seen.push(value);
                    let seen: Vec<_> = seen.into_iter().map(String::from_utf8_lossy).collect();
                    return Err((Upstream::BadFraming, format!("Content-Length {seen:?}")));
                };
                self.len = Some(len);
                Ok(true)
            }
            header::TE | header::TRAILER | header::UPGRADE | header::PROXY_AUTHORIZATION => {
                self.hops = true;
                Ok(true)
            }
            _ => {
                self.hops |= *name == KEEP_ALIVE || *name == PROXY_CONNECTION;
                Ok(true)
            }
        }
    }

    fn connection(&mut self, value: &[u8]) -> bool {
        let mut more = false;
        for word in value.split(|b| *b == b',').map(<[u8]>::trim_ascii) {
            if word.eq_ignore_ascii_case(b"close") {
                self.close = true;
            } else if word.eq_ignore_ascii_case(b"keep-alive") {
                self.keep_alive = true;
            } else {
                more = true;
            }
        }
        // It names fields that end here, too.
        self.hops |= more;
        more
    }
}

/// RFC 9112 §6.3, in its order; for an answer.
fn framing(status: StatusCode, method: &Method, old: bool, said: &Said) -> Result<Framing, Wrong> {
    if said.coding != Coding::None && said.len.is_some() {
        let detail = "both Content-Length and Transfer-Encoding (RFC 9112 §6.3)".to_owned();
        return Err((Upstream::BadFraming, detail));
    }
    if said.coding == Coding::Other {
        return Err((Upstream::BadFraming, "a Transfer-Encoding that is not `chunked`".to_owned()));
    }
    let bodiless = matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
        || *method == Method::HEAD
        || (*method == Method::CONNECT && status.is_success());
    if bodiless {
        return Ok(Framing::None);
    }
    match (said.coding, said.len) {
        // RFC 9112 §6.1: HTTP/1.0 does not know it; who sends it there may mean anything.
        (Coding::Chunked, _) if old => {
            Err((Upstream::BadFraming, "Transfer-Encoding in HTTP/1.0".to_owned()))
        }
        (Coding::Chunked, _) => Ok(Framing::Chunked),
        (_, Some(len)) => Ok(Framing::Sized(len)),
        (_, None) => Ok(Framing::UntilClose),
    }
}

/// One line with one number, whatever was agreed upon.
fn settle(headers: &mut HeaderMap, len: u64) {
    let mut text = itoa::Buffer::new();
    let text = text.format(len).as_bytes();
    let mut lines = headers.get_all(header::CONTENT_LENGTH).iter();
    let plain = lines.next().is_some_and(|line| line.as_bytes() == text) && lines.next().is_none();
    if !plain {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(len));
    }
}
