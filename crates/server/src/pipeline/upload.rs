//! A request's body against the limit of its rule or site, and whether it was taken to its end.
//!
//! One that is announced as too large is refused before a byte of it is read: a client that waits for `100 Continue` never
//! sends it. One without a length is counted as it passes. Not here: the limit of the whole server, which holds before
//! anybody knows where a request goes (`samovar_hot`).

use super::arrive::RequestBody;
use super::exchange::{Exchange, Route};
use super::page::Page;
use super::respond::Ready;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use samovar_origin::{Failure, Reached};
use samovar_reason::{Explain, Reject, Upstream};
use samovar_trace::Fact;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

/// Whether a body without a length has turned out to be too long.
pub type TooLong = Arc<AtomicBool>;

/// The body within what may come here; `Err` says how many bytes that are.
pub(super) fn within(
    x: &mut Exchange,
    route: &Route,
    body: Option<RequestBody>,
    body_bytes: Option<u64>,
) -> Result<Option<RequestBody>, u64> {
    let Some(body) = body else { return Ok(None) };
    let Some(max_bytes) = route.rule_in(&x.snapshot).and_then(|rule| rule.body_max_bytes) else {
        return Ok(Some(body));
    };
    match body_bytes {
        Some(bytes) if bytes > max_bytes => Err(max_bytes),
        Some(_) => Ok(Some(body)),
        None => {
            let too_long = TooLong::default();
            x.body_too_long = Some((Arc::clone(&too_long), max_bytes));
            Ok(Some(Counted { body, left: max_bytes, too_long }.boxed()))
        }
    }
}

/// So many bytes would have been allowed, if the body has exceeded them.
pub(super) fn exceeded(x: &Exchange) -> Option<u64> {
    let (too_long, max_bytes) = x.body_too_long.as_ref()?;
    too_long.load(Ordering::Relaxed).then_some(*max_bytes)
}

/// The refusal.
pub(super) fn refuse(mut x: Box<Exchange>, route: Route, max_bytes: u64) -> Ready {
    let why = Reject::BodyTooLargeHere;
    x.note(Fact::Reject(why));
    let page = Page {
        status: samovar_hot::status(why),
        code: why.code(),
        text: why.text(),
        mend: why.mend(),
        detail: format!("{max_bytes} bytes are allowed"),
    };
    Ready::page(x, Some(route), page)
}

/// Whether the content of a request has been taken to its end.
pub(super) type Taken = Arc<AtomicBool>;

/// The same body, and whether it has been taken to its end.
pub(super) fn watched(body: RequestBody) -> (RequestBody, Taken) {
    let taken = Taken::default();
    (Watched { body, taken: Arc::clone(&taken) }.boxed(), taken)
}

/// A response before the end of the content is the connection's last (RFC 9112 §9.3), and says so. The engine would read on
/// if the rest were there by then: whether the connection went on would hang on when the bytes came and how many.
pub(super) fn end_if_unread(x: &Exchange, headers: &mut HeaderMap) {
    if x.content_taken.as_ref().is_some_and(|taken| !taken.load(Ordering::Relaxed)) {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
}

/// See [`watched`].
struct Watched {
    body: RequestBody,
    taken: Taken,
}

impl Body for Watched {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        // Not every reader asks for the end after the last piece.
        if frame.is_none() || self.body.is_end_stream() {
            self.taken.store(true, Ordering::Relaxed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body without a length, counted.
struct Counted {
    body: RequestBody,
    left: u64,
    too_long: TooLong,
}

impl Body for Counted {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let bytes = match &frame {
            Some(Ok(frame)) => frame.data_ref().map_or(0, Bytes::len) as u64,
            _ => 0,
        };
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => {
                self.too_long.store(true, Ordering::Relaxed);
                let detail = "the body exceeds the limit that holds for this path".to_owned();
                // For the upstream it is as if the client had left in the middle of it.
                let (reason, reached) = (Upstream::ClientGone, Reached::Sent);
                return Poll::Ready(Some(Err(Failure { reason, detail, reached })));
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
