//! A request on its way out: its head as it was written, then its body in either framing.
//!
//! It moves whenever it is polled, beside the answer that comes in. It also knows what others must: whether the upstream
//! or the client is the one who is waited for, and whether all of it is out, for else its connection cannot be used
//! again. Not here: the answer, time limits.

use super::told::Told;
use crate::connect::Socket;
use crate::{AskedBody, Failure, Reached};
use bytes::{Buf, Bytes};
use http_body::Body as _;
use samovar_reason::Upstream;
use std::io::{self, IoSlice, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::io::AsyncWrite;

/// Pieces up to this many bytes are copied beside what is to be written anyway, to leave in one write; as much is
/// collected at most.
const GATHER_BYTES: usize = 16 * 1024;

/// See the file's head.
pub(super) struct Going {
    /// The head, the framing of chunks, small pieces. What is written is kept until more is added.
    out: Vec<u8>,
    /// So much of it is written.
    at: usize,
    /// A large piece of the body, which follows `out`.
    piece: Bytes,
    /// The line end of the chunk that `piece` is.
    owes_line_end: bool,
    body: Option<AskedBody>,
    /// Still to come of the announced length, bytes; `None` means chunked.
    left: Option<u64>,
    has_body: bool,
    written_bytes: u64,
    moved: Instant,
    awaits_client: bool,
    /// Why writing ended early. The answer may still come.
    broken: Option<io::Error>,
}

impl Going {
    /// A request of which nothing is sent, and who its body belongs to.
    pub(super) fn new(told: &mut Told, body: Option<AskedBody>, now: Instant) -> Going {
        let has_body = body.is_some();
        let left = if has_body { told.body_bytes } else { Some(0) };
        Going {
            out: std::mem::take(&mut told.head),
            at: 0,
            piece: Bytes::new(),
            owes_line_end: false,
            body: body.filter(|_| left != Some(0)),
            left,
            has_body,
            written_bytes: 0,
            moved: now,
            awaits_client: false,
            broken: None,
        }
    }

    /// From the beginning, on another connection. Only for a request without a body, or of which nothing was written.
    pub(super) fn again(&mut self, now: Instant) {
        self.at = 0;
        self.written_bytes = 0;
        self.moved = now;
        self.broken = None;
    }

    /// The request carries content, be it empty.
    pub(super) fn has_body(&self) -> bool {
        self.has_body
    }

    /// Bytes that left, as far as the system tells.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Why writing ended early, if it did.
    pub(super) fn broken(&self) -> Option<&io::Error> {
        self.broken.as_ref()
    }

    /// The last byte of the request was taken from the client and is out.
    pub(super) fn is_over(&self) -> bool {
        self.body.is_none() && self.at == self.out.len() && self.piece.is_empty() && self.broken.is_none()
    }

    /// Since when the upstream has owed an answer: the last movement. `None` while it is the client who is awaited.
    pub(super) fn owed_from(&self) -> Option<Instant> {
        if self.awaits_client { None } else { Some(self.moved) }
    }

    /// Sends what can be sent now. `Err`: the client's body broke off.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, socket: &mut Socket) -> Result<(), Failure> {
        while self.broken.is_none() {
            self.gather(cx)?;
            let head = self.out.get(self.at..).unwrap_or_default();
            let socket = Pin::new(&mut *socket);
            let wrote = match (head.is_empty(), self.piece.is_empty()) {
                (true, true) => return Ok(()),
                (false, true) => socket.poll_write(cx, head),
                (true, false) => socket.poll_write(cx, &self.piece),
                (false, false) => {
                    socket.poll_write_vectored(cx, &[IoSlice::new(head), IoSlice::new(&self.piece)])
                }
            };
            match wrote {
                Poll::Pending => return Ok(()),
                Poll::Ready(Ok(0)) => self.broken = Some(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(bytes)) => self.wrote(bytes),
                // An upstream may answer and close without reading on; the answer counts.
                Poll::Ready(Err(error)) => self.broken = Some(error),
            }
        }
        Ok(())
    }

    fn wrote(&mut self, bytes: usize) {
        let of_out = bytes.min(self.out.len() - self.at);
        self.at += of_out;
        self.piece.advance(bytes - of_out);
        self.written_bytes += bytes as u64;
        if self.has_body {
            self.moved = Instant::now();
        }
    }

    /// Takes what the client has sent, as far as there is room.
    fn gather(&mut self, cx: &mut Context<'_>) -> Result<(), Failure> {
        while self.body.is_some() && self.piece.is_empty() {
            if self.at == self.out.len() {
                self.out.clear();
                self.at = 0;
            }
            self.end_line();
            if self.out.len() - self.at >= GATHER_BYTES {
                return Ok(());
            }
            match self.poll_piece(cx)? {
                Poll::Pending => {
                    self.awaits_client = true;
                    return Ok(());
                }
                Poll::Ready(None) => {
                    self.body = None;
                    if self.left.is_none() {
                        self.out.extend_from_slice(b"0\r\n\r\n");
                    }
                }
                Poll::Ready(Some(piece)) => self.take(piece),
            }
        }
        Ok(())
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.owes_line_end) {
            self.out.extend_from_slice(b"\r\n");
        }
    }

    fn take(&mut self, piece: Bytes) {
        if self.left.is_none() {
            // RFC 9112 §7.1. Writing into memory does not fail.
            let _ = write!(self.out, "{:x}\r\n", piece.len());
            self.owes_line_end = true;
        }
        if piece.len() <= GATHER_BYTES {
            self.out.extend_from_slice(&piece);
            self.end_line();
        } else {
            self.piece = piece;
        }
        if self.left == Some(0) {
            self.body = None;
        }
    }

    /// The client's next piece, judged against the announced length. There are no trailers on this hop.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Result<Poll<Option<Bytes>>, Failure> {
        loop {
            let Some(body) = self.body.as_mut() else { return Ok(Poll::Ready(None)) };
            let Poll::Ready(frame) = Pin::new(body).poll_frame(cx) else { return Ok(Poll::Pending) };
            self.awaits_client = false;
            self.moved = Instant::now();
            let piece = match frame.transpose()? {
                None => match self.left {
                    None | Some(0) => return Ok(Poll::Ready(None)),
                    Some(left) => {
                        return Err(gone(format!("the client's body ended {left} bytes early")));
                    }
                },
                Some(frame) => frame.into_data().unwrap_or_default(),
            };
            if let Some(left) = self.left {
                let Some(rest) = left.checked_sub(piece.len() as u64) else {
                    return Err(gone("the client's body is longer than announced".to_owned()));
                };
                self.left = Some(rest);
            }
            // An empty chunk would end the body.
            if !piece.is_empty() {
                return Ok(Poll::Ready(Some(piece)));
            }
        }
    }
}

fn gone(detail: String) -> Failure {
    Failure { reason: Upstream::ClientGone, detail, reached: Reached::Sent }
}
