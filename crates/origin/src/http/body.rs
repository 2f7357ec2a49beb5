//! The two bodies of an exchange: the request's on its way out, the answer's on its way in.
//!
//! Both keep what the other side must know: how far the upload is (for the head's time limit, and because a
//! connection whose upload is not over cannot be used again), and the connection with its permit, given back
//! the moment the answer is complete and closed if its reader leaves before. Not here: framing (hyper's).

use super::{Connection, HttpUpstream, fail};
use crate::pool::Permit;
use crate::{AskedBody, Failure, Reached};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use samovar_reason::Upstream;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::time::Sleep;

/// How far the request's body is, for those who do not hold it.
pub(super) struct Upload {
    begun: Instant,
    /// When the last piece was taken, µs after `begun`.
    moved_us: AtomicU64,
    /// The client has not sent the next piece yet.
    awaits_client: AtomicBool,
    over: AtomicBool,
    failed: Mutex<Option<Failure>>,
}

impl Upload {
    pub(super) fn new() -> Self {
        Upload {
            begun: Instant::now(),
            moved_us: AtomicU64::new(0),
            awaits_client: AtomicBool::new(false),
            over: AtomicBool::new(false),
            failed: Mutex::new(None),
        }
    }

    /// Since when the upstream has owed an answer: the last movement, or now while the client is awaited.
    pub(super) fn owed_from(&self) -> Option<Instant> {
        if self.awaits_client.load(Ordering::Relaxed) && !self.is_over() {
            return Some(Instant::now());
        }
        self.begun.checked_add(Duration::from_micros(self.moved_us.load(Ordering::Relaxed)))
    }

    /// Why the client's body broke off, if it did.
    pub(super) fn failure(&self) -> Option<Failure> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn moved(&self) {
        let us = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.moved_us.store(us, Ordering::Relaxed);
        self.awaits_client.store(false, Ordering::Relaxed);
    }
}

/// The request's body as hyper takes it.
pub(super) struct Departing {
    body: Option<AskedBody>,
    /// Still to come of the announced length, bytes; `None` means chunked.
    left: Option<u64>,
    upload: Option<Arc<Upload>>,
}

impl Departing {
    pub(super) fn new(body: Option<AskedBody>, bytes: Option<u64>, upload: Option<Arc<Upload>>) -> Self {
        let left = if body.is_some() { bytes } else { Some(0) };
        let departing = Departing { body, left, upload };
        if departing.is_end_stream() {
            departing.note(|upload| upload.over.store(true, Ordering::Relaxed));
        }
        departing
    }

    fn note(&self, what: impl FnOnce(&Upload)) {
        if let Some(upload) = &self.upload {
            what(upload);
        }
    }

    fn broken(&self, failure: Failure) -> Failure {
        self.note(|upload| {
            *upload.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure.clone());
        });
        failure
    }

    fn wrong_length(&self, detail: String) -> Failure {
        self.broken(Failure { reason: Upstream::ClientGone, detail, reached: Reached::Sent })
    }

    /// Judges the next frame against the announced length.
    fn taken(
        &mut self,
        frame: Option<Result<Frame<Bytes>, Failure>>,
    ) -> Option<Result<Frame<Bytes>, Failure>> {
        match frame {
            None => {
                if let Some(left) = self.left.filter(|left| *left > 0) {
                    return Some(Err(
                        self.wrong_length(format!("the client's body ended {left} bytes early"))
                    ));
                }
                self.note(|upload| upload.over.store(true, Ordering::Relaxed));
                None
            }
            Some(Err(failure)) => Some(Err(self.broken(failure))),
            Some(Ok(frame)) => {
                let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
                if let Some(left) = self.left {
                    let Some(rest) = left.checked_sub(bytes) else {
                        let detail = "the client's body is longer than announced".to_owned();
                        return Some(Err(self.wrong_length(detail)));
                    };
                    self.left = Some(rest);
                    if rest == 0 {
                        self.note(|upload| upload.over.store(true, Ordering::Relaxed));
                    }
                }
                Some(Ok(frame))
            }
        }
    }
}

impl Body for Departing {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let this = self.get_mut();
        let Some(body) = this.body.as_mut() else { return Poll::Ready(None) };
        match Pin::new(body).poll_frame(cx) {
            Poll::Pending => {
                this.note(|upload| upload.awaits_client.store(true, Ordering::Relaxed));
                Poll::Pending
            }
            Poll::Ready(frame) => {
                this.note(Upload::moved);
                Poll::Ready(this.taken(frame))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_none() || self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// A connection in use. Dropped: closed, and the permit freed after it.
pub(super) struct Held {
    pub(super) connection: Connection,
    pub(super) permit: Permit,
    pub(super) upstream: Arc<HttpUpstream>,
    pub(super) upload: Option<Arc<Upload>>,
    /// The head promised that the connection stays.
    pub(super) reusable: bool,
}

impl Held {
    /// The answer is complete: back to the shelf, if both sides are done with the exchange.
    pub(super) fn give_back(self) {
        let Held { connection, permit, upstream, upload, reusable } = self;
        let sent = upload.is_none_or(|upload| upload.is_over());
        if reusable && sent && !connection.sender.is_closed() {
            upstream.pool.park(connection.home, Instant::now(), connection);
        }
        // Only now, so that whoever is next in the queue finds the connection on the shelf.
        drop(permit);
    }
}

/// The answer's body.
pub(super) struct Arriving {
    incoming: Incoming,
    held: Option<Held>,
    limit: Duration,
    /// Runs while a piece is owed.
    timer: Option<Pin<Box<Sleep>>>,
    got_bytes: u64,
}

impl Arriving {
    pub(super) fn new(incoming: Incoming, held: Held, limit: Duration) -> Self {
        Arriving { incoming, held: Some(held), limit, timer: None, got_bytes: 0 }
    }

    fn failed(&mut self, failure: Failure) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        self.held = None;
        Poll::Ready(Some(Err(failure)))
    }

    fn complete(&mut self) {
        if let Some(held) = self.held.take() {
            held.give_back();
        }
    }

    /// The failure to report for hyper's error: the client's, if its upload is what broke the exchange.
    fn judge(&self, error: &hyper::Error) -> Failure {
        let upload = self.held.as_ref().and_then(|held| held.upload.as_deref());
        match upload.and_then(Upload::failure) {
            Some(failure) => Failure { reached: Reached::Answered, ..failure },
            None => fail::in_body(error, self.got_bytes),
        }
    }
}

impl Body for Arriving {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let this = self.get_mut();
        if this.held.is_none() {
            return Poll::Ready(None);
        }
        match Pin::new(&mut this.incoming).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                this.timer = None;
                this.got_bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
                // The last piece frees the connection: not every reader asks for the end after it.
                if this.incoming.is_end_stream() {
                    this.complete();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                let failure = this.judge(&error);
                this.failed(failure)
            }
            Poll::Ready(None) => {
                this.complete();
                Poll::Ready(None)
            }
            Poll::Pending => {
                let limit = this.limit;
                let timer = this.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
                ready!(timer.as_mut().poll(cx));
                let detail = format!("nothing for {limit:?} after {} bytes of the body", this.got_bytes);
                this.failed(Failure { reason: Upstream::BodyTimeout, detail, reached: Reached::Answered })
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.held.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
