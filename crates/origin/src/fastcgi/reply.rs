//! From an exchange to an answer: head, length, body; and the connection's way back to its shelf.
//!
//! An answer that arrived whole with its head is handed on as bytes, and its connection is free at once.
//! Not here: records, the pool.

use super::FastCgi;
use super::codec::Ended;
use super::exchange::{Exchange, Heard};
use super::head::{Head, HeadReader};
use crate::pool::{Opened, Permit};
use crate::{Answer, AnswerBody, Failure, Reached, Timing};
use bytes::{Bytes, BytesMut};
use http::{Method, StatusCode};
use http_body::{Body, Frame, SizeHint};
use samovar_reason::Upstream;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// What a script may still say after all that matters was heard, before its connection is closed, bytes.
const DRAIN_MAX_BYTES: usize = 256 * 1024;

/// An exchange with all that belongs to it. Dropped: aborted, closed, and the permit freed after it.
pub(super) struct Live {
    pub(super) exchange: Exchange,
    pub(super) opened: Opened,
    pub(super) permit: Permit,
    pub(super) upstream: Arc<FastCgi>,
    pub(super) core: usize,
    /// The connection may carry another request (`reuse`).
    pub(super) stays: bool,
}

impl Live {
    /// The request is over: the connection goes to the shelf if it is at rest.
    fn give_back(self) {
        let Live { exchange, opened, permit, upstream, core, stays } = self;
        if let Some(socket) = exchange.into_socket().filter(|_| stays) {
            upstream.park(core, socket, opened);
        }
        // Only now, so that whoever is next in the queue finds the connection on the shelf.
        drop(permit);
    }

    /// Hears the script out in the background, within bounds, so that its connection can be used again. While
    /// its input is not over that would take the client's time: then the connection is closed.
    fn drain(mut self) {
        if !self.exchange.input_is_over() {
            return;
        }
        // Outside a runtime there is no background: the connection is closed.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let mut left = DRAIN_MAX_BYTES;
            loop {
                match poll_fn(|cx| self.exchange.poll_heard(cx)).await {
                    Ok(Heard::Piece(piece)) => match left.checked_sub(piece.len()) {
                        Some(rest) => left = rest,
                        None => return,
                    },
                    Ok(Heard::End(_)) => return self.give_back(),
                    Err(_) => return,
                }
            }
        });
    }
}

/// Waits for the head. On failure the exchange remains for the caller to judge.
pub(super) async fn head(exchange: &mut Exchange, max_bytes: usize) -> Result<Head, Failure> {
    let mut reader = HeadReader::new(max_bytes);
    loop {
        match poll_fn(|cx| exchange.poll_heard(cx)).await? {
            Heard::Piece(piece) => match reader.push(&piece) {
                Ok(None) => {}
                Ok(Some(head)) => return Ok(head),
                Err((reason, detail)) => return Err(exchange.failed(reason, detail, Reached::Answered)),
            },
            Heard::End(ended) => return Err(no_head(exchange, ended, reader.is_empty())),
        }
    }
}

fn no_head(exchange: &Exchange, ended: Ended, silent: bool) -> Failure {
    let reached = if silent { Reached::Sent } else { Reached::Answered };
    match ended {
        Ended::Overloaded => exchange.failed(Upstream::Overloaded, "FCGI_OVERLOADED".to_owned(), reached),
        Ended::CannotMultiplex => {
            exchange.failed(Upstream::NotFastCgi, "FCGI_CANT_MPX_CONN".to_owned(), reached)
        }
        Ended::UnknownRole => exchange.failed(Upstream::NotFastCgi, "FCGI_UNKNOWN_ROLE".to_owned(), reached),
        Ended::Complete => {
            let detail = if silent {
                "the script ended without an answer"
            } else {
                "the script ended before its head was whole"
            };
            exchange.failed(Upstream::BadHead, detail.to_owned(), Reached::Answered)
        }
    }
}

/// The answer to a head that came.
pub(super) fn answer(live: Live, head: Head, method: &Method, timing: Timing) -> Result<Answer, Failure> {
    let Head { status, mut headers, len, rest } = head;
    let mut reply = Reply { live: Some(live), ready: VecDeque::new(), left: len, got_bytes: 0 };
    if *method == Method::HEAD || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
        if status == StatusCode::NO_CONTENT {
            // RFC 9110 §8.6.
            headers.remove(http::header::CONTENT_LENGTH);
        }
        reply.left = None;
        // A script that is over already leaves its connection free for the next request.
        while reply.take_received().is_ok() && reply.ready.pop_front().is_some() {}
        reply.dismiss();
        return Ok(Answer { status, headers, body: AnswerBody::Empty, timing });
    }
    if !rest.is_empty() {
        reply.take(rest)?;
    }
    reply.take_received()?;
    if reply.is_enough() {
        reply.dismiss();
    }
    let body = if reply.live.is_some() {
        AnswerBody::Stream { len, frames: Box::pin(reply) }
    } else {
        reply.whole()
    };
    Ok(Answer { status, headers, body, timing })
}

/// An answer's body.
struct Reply {
    /// `None` once the request is over.
    live: Option<Live>,
    /// Received, not yet handed on: at most what one read brought.
    ready: VecDeque<Bytes>,
    /// Still to come of the announced length, bytes.
    left: Option<u64>,
    got_bytes: u64,
}

impl Reply {
    /// Judges a piece against the announced length, and keeps it.
    fn take(&mut self, piece: Bytes) -> Result<(), Failure> {
        if let Some(left) = self.left {
            let Some(rest) = left.checked_sub(piece.len() as u64) else {
                self.live = None;
                let detail = format!("{} bytes beyond Content-Length", piece.len() as u64 - left);
                return Err(Failure { reason: Upstream::BadFraming, detail, reached: Reached::Answered });
            };
            self.left = Some(rest);
        }
        self.got_bytes += piece.len() as u64;
        self.ready.push_back(piece);
        Ok(())
    }

    fn hear(&mut self, heard: Heard) -> Result<(), Failure> {
        match heard {
            Heard::Piece(piece) => self.take(piece),
            Heard::End(_) => self.end(),
        }
    }

    fn end(&mut self) -> Result<(), Failure> {
        if let Some(live) = self.live.take() {
            live.give_back();
        }
        match self.left.filter(|left| *left > 0) {
            None => Ok(()),
            Some(left) => Err(Failure {
                reason: Upstream::ShortBody,
                detail: format!("the script ended {left} bytes short of its Content-Length"),
                reached: Reached::Answered,
            }),
        }
    }

    /// All that is here already.
    fn take_received(&mut self) -> Result<(), Failure> {
        while let Some(live) = self.live.as_mut() {
            let heard = match live.exchange.received() {
                Ok(Some(heard)) => heard,
                Ok(None) => return Ok(()),
                Err(failure) => {
                    self.live = None;
                    return Err(failure);
                }
            };
            self.hear(heard)?;
        }
        Ok(())
    }

    /// A body that is all here.
    fn whole(mut self) -> AnswerBody {
        match self.ready.len() {
            0 => AnswerBody::Empty,
            1 => self.ready.pop_front().map_or(AnswerBody::Empty, AnswerBody::Bytes),
            _ => {
                let mut joined = BytesMut::with_capacity(self.ready.iter().map(Bytes::len).sum());
                self.ready.iter().for_each(|piece| joined.extend_from_slice(piece));
                AnswerBody::Bytes(joined.freeze())
            }
        }
    }

    /// All that was announced came, before the script had its input: it will end only after that, and who asked
    /// may be waiting for this answer before sending more. Otherwise the end is waited for, as it alone proves
    /// that the script had no more to say.
    fn is_enough(&self) -> bool {
        let live = self.live.as_ref();
        self.left == Some(0) && live.is_some_and(|live| !live.exchange.input_is_over())
    }

    /// Nobody wants the rest.
    fn dismiss(&mut self) {
        if let Some(live) = self.live.take() {
            live.drain();
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Failure>> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Poll::Ready(Ok(Some(piece)));
            }
            if self.is_enough() {
                self.dismiss();
            }
            let Some(live) = self.live.as_mut() else { return Poll::Ready(Ok(None)) };
            let heard = match ready!(live.exchange.poll_heard(cx)) {
                Ok(heard) => heard,
                Err(failure) => {
                    self.live = None;
                    // All that was announced is here: how the script died after it changes nothing.
                    if self.left == Some(0) && failure.reason == Upstream::ShortBody {
                        return Poll::Ready(Ok(None));
                    }
                    let detail = format!("after {} bytes of the body: {}", self.got_bytes, failure.detail);
                    return Poll::Ready(Err(Failure { detail, ..failure }));
                }
            };
            self.hear(heard)?;
            // The end often came in the same read: then the connection is free before the reader is done.
            self.take_received()?;
        }
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        self.get_mut().poll(cx).map(|piece| piece.map(|piece| piece.map(Frame::data)).transpose())
    }

    fn is_end_stream(&self) -> bool {
        self.live.is_none() && self.ready.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let ready: u64 = self.ready.iter().map(|piece| piece.len() as u64).sum();
        self.left.map_or_else(SizeHint::default, |left| SizeHint::with_exact(left + ready))
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        // A reader who counts stops at the announced length; the script has only its end left to say.
        if self.left == Some(0) {
            self.dismiss();
        }
    }
}
