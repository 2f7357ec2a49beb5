//! The answer's body on its way in, and the connection's way back to its shelf.
//!
//! The connection goes back the moment the body is complete, if both sides are done with it and nothing more was said;
//! it is closed if the reader leaves before. What came whole with its head is handed on as bytes, and the connection is
//! free at once. Not here: framing (`decode`).

use super::HttpUpstream;
use super::connection::Connection;
use super::decode::Decoder;
use super::early::Early;
use super::going::Going;
use crate::pool::Permit;
use crate::{AnswerBody, Failure, Reached};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use samovar_reason::Upstream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

type Frames = Pin<Box<dyn Body<Data = Bytes, Error = Failure>>>;

/// A connection in use. Dropped: closed, and the permit freed after it.
pub(super) struct Held {
    pub(super) connection: Connection,
    pub(super) permit: Permit,
    pub(super) upstream: Arc<HttpUpstream>,
    pub(super) going: Going,
    /// The head promised that the connection stays, and the origin is believed (`reuse`).
    pub(super) keeps_alive: bool,
}

impl Held {
    /// The answer is complete.
    fn give_back(self, now: Instant) {
        let Held { mut connection, permit, upstream, going, keeps_alive } = self;
        // What was said beyond the answer would be taken for the beginning of the next.
        if keeps_alive && going.is_over() && connection.read.is_empty() {
            connection.settle();
            upstream.pool.park(connection.home, now, connection);
        }
        // Only now, so that whoever is next in the queue finds the connection on the shelf.
        drop(permit);
    }
}

/// See the file's head.
pub(super) struct Coming {
    held: Option<Held>,
    decoder: Decoder,
    /// Came with the head.
    first: Option<Bytes>,
    /// When the next piece is due, while one is awaited.
    due: Option<Instant>,
    got_bytes: u64,
}

/// The body that follows a head: what is there of it, and the rest.
pub(super) fn body(mut held: Held, mut decoder: Decoder, now: Instant) -> Result<AnswerBody, Failure> {
    let first = decoder.next(&mut held.connection.read);
    let first = first.map_err(|(reason, detail)| answered(reason, 0, &detail))?;
    let held = if decoder.is_done() {
        held.give_back(now);
        None
    } else {
        Some(held)
    };
    let Some(left) = decoder.left_bytes() else {
        // Though it may be all here, its length was not announced, and nobody should believe it was.
        return Ok(AnswerBody::Stream { len: None, frames: stream(held, decoder, first, None) });
    };
    if held.is_none() {
        return Ok(first.map_or(AnswerBody::Empty, AnswerBody::Bytes));
    }
    let len = Some(left + first.as_ref().map_or(0, Bytes::len) as u64);
    Ok(AnswerBody::Stream { len, frames: stream(held, decoder, first, len) })
}

fn stream(held: Option<Held>, decoder: Decoder, first: Option<Bytes>, len: Option<u64>) -> Frames {
    let early = held.as_ref().is_some_and(|held| !held.going.is_over());
    let coming = Coming { held, decoder, first, due: None, got_bytes: 0 };
    if early { Box::pin(Early::new(coming, len)) } else { Box::pin(coming) }
}

fn answered(reason: Upstream, got_bytes: u64, detail: &str) -> Failure {
    let detail = format!("after {got_bytes} bytes of the body: {detail}");
    Failure { reason, detail, reached: Reached::Answered }
}

impl Coming {
    /// The next piece; `None` at the end, after which the connection is not ours any more.
    pub(super) fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        let piece = match self.first.take() {
            Some(piece) => Ok(Some(piece)),
            None => ready!(self.poll_next(cx)),
        };
        if let Ok(Some(piece)) = &piece {
            self.got_bytes += piece.len() as u64;
        }
        // The last piece frees the connection: not every reader asks for the end after it.
        if self.decoder.is_done() && piece.is_ok() {
            self.complete();
        }
        Poll::Ready(match piece {
            Ok(piece) => piece.map(Ok),
            Err(failure) => {
                self.held = None;
                Some(Err(failure))
            }
        })
    }

    /// Sends on what there still is of the request. Never ready but for a client whose body broke off.
    pub(super) fn poll_going(&mut self, cx: &mut Context<'_>) -> Poll<Failure> {
        let Some(held) = self.held.as_mut() else { return Poll::Pending };
        match held.going.poll(cx, &mut held.connection.socket) {
            Ok(()) => Poll::Pending,
            Err(failure) => {
                self.held = None;
                Poll::Ready(Failure { reached: Reached::Answered, ..failure })
            }
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Failure>> {
        loop {
            if let Poll::Ready(failure) = self.poll_going(cx) {
                return Poll::Ready(Err(failure));
            }
            let Some(held) = self.held.as_mut() else { return Poll::Ready(Ok(None)) };
            let got_bytes = self.got_bytes;
            let connection = &mut held.connection;
            match self.decoder.next(&mut connection.read) {
                Ok(None) if self.decoder.is_done() => return Poll::Ready(Ok(None)),
                Ok(None) => {}
                Ok(piece) => {
                    self.due = None;
                    return Poll::Ready(Ok(piece));
                }
                Err((reason, detail)) => return Poll::Ready(Err(answered(reason, got_bytes, &detail))),
            }
            match connection.poll_read(cx) {
                Poll::Ready(Ok(0)) => {
                    let end = self.decoder.at_close();
                    // Whatever came before it, this connection is over.
                    self.held = None;
                    let short = |detail: String| answered(Upstream::ShortBody, got_bytes, &detail);
                    return Poll::Ready(end.map(|()| None).map_err(short));
                }
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => {
                    return Poll::Ready(Err(answered(Upstream::ShortBody, got_bytes, &error.to_string())));
                }
                Poll::Pending => {
                    let limit = held.upstream.settings.limits.body_timeout;
                    self.due = self.due.or_else(|| Instant::now().checked_add(limit));
                    ready!(connection.poll_deadline(cx, self.due));
                    let detail = format!("nothing for {limit:?} after {got_bytes} bytes of the body");
                    return Poll::Ready(Err(Failure {
                        reason: Upstream::BodyTimeout,
                        detail,
                        reached: Reached::Answered,
                    }));
                }
            }
        }
    }

    fn complete(&mut self) {
        if let Some(held) = self.held.take() {
            held.give_back(Instant::now());
        }
    }

    /// Whether the end was reached, or broke off.
    pub(super) fn is_over(&self) -> bool {
        self.held.is_none() && self.first.is_none()
    }
}

impl Body for Coming {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        self.get_mut().poll_piece(cx).map_ok(Frame::data)
    }

    fn is_end_stream(&self) -> bool {
        self.is_over()
    }

    fn size_hint(&self) -> SizeHint {
        let first = self.first.as_ref().map_or(0, Bytes::len) as u64;
        self.decoder.left_bytes().map_or_else(SizeHint::default, |left| SizeHint::with_exact(left + first))
    }
}
