//! FastCGI records, both ways. Pure: bytes in, events out, nothing kept but a record's own head.
//!
//! Written from the FastCGI 1.0 specification. One request per connection at a time, so its id is always 1.
//! Content is handed on as it arrives, without waiting for the end of its record; so memory does not grow with
//! what an application sends. Not here: sockets, what the content means.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use std::fmt;

/// Length of a record's head, bytes (§3.3).
pub(super) const HEAD_BYTES: usize = 8;
/// The most a record carries, bytes.
pub(super) const CONTENT_MAX_BYTES: usize = 65_535;
/// The only request id we use.
const ID: u16 = 1;
/// The content of FCGI_END_REQUEST, bytes (§5.5).
const END_BYTES: usize = 8;

const VERSION: u8 = 1;
const BEGIN_REQUEST: u8 = 1;
const ABORT_REQUEST: u8 = 2;
const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
const STDERR: u8 = 7;
const RESPONDER: u16 = 1;
const KEEP_CONN: u8 = 1;

/// A stream from us to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outward {
    /// Name-value pairs.
    Params,
    /// The request's body.
    Stdin,
}

impl Outward {
    fn kind(self) -> u8 {
        match self {
            Outward::Params => PARAMS,
            Outward::Stdin => STDIN,
        }
    }
}

/// Opens a request for a responder; the connection is to stay open after it.
pub(super) fn begin(out: &mut BytesMut) {
    head(out, BEGIN_REQUEST, 8, 0);
    out.put_u16(RESPONDER);
    out.put_u8(KEEP_CONN);
    out.put_bytes(0, 5);
}

/// Appends `content` in as many records as it needs, each padded to eight bytes. Empty content writes nothing:
/// an empty record would end the stream.
pub(super) fn stream(out: &mut BytesMut, which: Outward, content: &[u8]) {
    for piece in content.chunks(CONTENT_MAX_BYTES) {
        // Lossless: a chunk is at most 65,535 bytes.
        let bytes = u16::try_from(piece.len()).unwrap_or(u16::MAX);
        let padding = (8 - bytes % 8) % 8;
        head(out, which.kind(), bytes, padding as u8);
        out.put_slice(piece);
        out.put_bytes(0, usize::from(padding));
    }
}

/// Ends a stream.
pub(super) fn end_of_stream(out: &mut BytesMut, which: Outward) {
    head(out, which.kind(), 0, 0);
}

/// The record that asks the application to give up.
pub(super) fn abort() -> [u8; HEAD_BYTES] {
    let [id_high, id_low] = ID.to_be_bytes();
    [VERSION, ABORT_REQUEST, id_high, id_low, 0, 0, 0, 0]
}

fn head(out: &mut BytesMut, kind: u8, content: u16, padding: u8) {
    out.put_u8(VERSION);
    out.put_u8(kind);
    out.put_u16(ID);
    out.put_u16(content);
    out.put_u8(padding);
    out.put_u8(0);
}

/// What an application says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A piece of the answer, never empty.
    Stdout(Bytes),
    /// A piece of its error stream, never empty.
    Stderr(Bytes),
    /// The request is over.
    End {
        /// The application's exit status.
        app_status: u32,
        /// How the request ended for the protocol.
        ended: Ended,
    },
}

/// §5.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Normally.
    Complete,
    /// Refused: one request per connection only. We never send a second.
    CannotMultiplex,
    /// Refused: out of some resource.
    Overloaded,
    /// Refused: not a responder.
    UnknownRole,
}

/// The bytes are not FastCGI, or not for us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotFastCgi {
    /// The version of a record.
    Version(u8),
    /// The type of a record.
    Kind(u8),
    /// The request id of a record.
    Id(u16),
    /// The length of FCGI_END_REQUEST.
    EndLength(u16),
    /// The protocol status in it.
    EndStatus(u8),
}

impl fmt::Display for NotFastCgi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotFastCgi::Version(version) => write!(f, "a record of version {version}"),
            NotFastCgi::Kind(kind) => write!(f, "a record of unexpected type {kind}"),
            NotFastCgi::Id(id) => write!(f, "a record for request {id}, which was never made"),
            NotFastCgi::EndLength(bytes) => write!(f, "an end record of {bytes} bytes"),
            NotFastCgi::EndStatus(status) => write!(f, "an end record with status {status}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    /// Content of a stream to be handed on.
    Stream {
        stderr: bool,
        left: u16,
        padding: u8,
    },
    /// Bytes that mean nothing to us: padding, management records.
    Skip(u32),
    /// An end record's content and padding, taken in one piece: what follows it belongs to no one.
    End {
        padding: u8,
    },
}

/// Reads an application's records, however they are split.
#[derive(Debug)]
pub(super) struct Decoder(State);

impl Decoder {
    pub(super) fn new() -> Self {
        Decoder(State::Head)
    }

    /// Nothing of a record is outstanding.
    pub(super) fn is_between_records(&self) -> bool {
        self.0 == State::Head
    }

    /// The next event in `buf`, or `None` if it needs more bytes. What was understood is taken out of `buf`;
    /// at most an incomplete head or end record (263 bytes) stays.
    pub(super) fn next(&mut self, buf: &mut BytesMut) -> Result<Option<Event>, NotFastCgi> {
        loop {
            match self.0 {
                State::Head => {
                    if buf.len() < HEAD_BYTES {
                        return Ok(None);
                    }
                    self.0 = record(buf)?;
                }
                State::Stream { left: 0, padding, .. } => self.0 = skip(u32::from(padding)),
                State::Stream { stderr, left, padding } => {
                    if buf.is_empty() {
                        return Ok(None);
                    }
                    let taken = buf.len().min(usize::from(left));
                    let content = buf.split_to(taken).freeze();
                    // Lossless: `taken` is at most `left`.
                    let left = left.saturating_sub(u16::try_from(taken).unwrap_or(u16::MAX));
                    self.0 = State::Stream { stderr, left, padding };
                    return Ok(Some(if stderr { Event::Stderr(content) } else { Event::Stdout(content) }));
                }
                State::Skip(left) => {
                    let taken = buf.len().min(left as usize);
                    buf.advance(taken);
                    let left = left.saturating_sub(u32::try_from(taken).unwrap_or(u32::MAX));
                    self.0 = skip(left);
                    if left > 0 {
                        return Ok(None);
                    }
                }
                State::End { padding } => {
                    if buf.len() < END_BYTES + usize::from(padding) {
                        return Ok(None);
                    }
                    self.0 = State::Head;
                    return end(buf, padding).map(Some);
                }
            }
        }
    }
}

fn skip(bytes: u32) -> State {
    if bytes == 0 { State::Head } else { State::Skip(bytes) }
}

/// Takes a record's head, which is there in full.
fn record(buf: &mut BytesMut) -> Result<State, NotFastCgi> {
    let version = buf.get_u8();
    let kind = buf.get_u8();
    let id = buf.get_u16();
    let content = buf.get_u16();
    let padding = buf.get_u8();
    buf.advance(1);
    if version != VERSION {
        return Err(NotFastCgi::Version(version));
    }
    match (id, kind) {
        // Management records (§4) answer questions we never ask.
        (0, _) => Ok(skip(u32::from(content) + u32::from(padding))),
        (ID, STDOUT) => Ok(State::Stream { stderr: false, left: content, padding }),
        (ID, STDERR) => Ok(State::Stream { stderr: true, left: content, padding }),
        (ID, END_REQUEST) if usize::from(content) == END_BYTES => Ok(State::End { padding }),
        (ID, END_REQUEST) => Err(NotFastCgi::EndLength(content)),
        (ID, _) => Err(NotFastCgi::Kind(kind)),
        _ => Err(NotFastCgi::Id(id)),
    }
}

/// Takes an end record's content and padding, which are there in full.
fn end(buf: &mut BytesMut, padding: u8) -> Result<Event, NotFastCgi> {
    let app_status = buf.get_u32();
    let status = buf.get_u8();
    buf.advance(3 + usize::from(padding));
    let ended = match status {
        0 => Ended::Complete,
        1 => Ended::CannotMultiplex,
        2 => Ended::Overloaded,
        3 => Ended::UnknownRole,
        other => return Err(NotFastCgi::EndStatus(other)),
    };
    Ok(Event::End { app_status, ended })
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
