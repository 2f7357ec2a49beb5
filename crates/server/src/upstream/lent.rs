//! A request's body that can be had back, as long as nobody has taken any of it.
//!
//! An attempt that never came to send it must not cost the request its body. Not here: keeping what was taken.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use samovar_origin::{AskedBody, Failure};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

/// Where the body lies between attempts.
#[derive(Clone, Default)]
pub(super) struct Shelf(Arc<Mutex<Option<AskedBody>>>);

/// The body while it is lent.
struct Lent {
    body: Option<AskedBody>,
    taken: bool,
    shelf: Shelf,
}

impl Shelf {
    pub(super) fn put(&self, body: Option<AskedBody>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = body;
    }

    /// The body for an attempt; it comes back by itself if none of it was taken.
    pub(super) fn lend(&self) -> Option<AskedBody> {
        let body = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Lent { body: Some(body), taken: false, shelf: self.clone() }.boxed())
    }

    /// Whether it is here.
    pub(super) fn has_it(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if !self.taken {
            self.shelf.put(self.body.take());
        }
    }
}

impl Body for Lent {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let Some(body) = self.body.as_mut() else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(cx);
        // Asked, and nothing given: nothing is lost yet.
        self.taken |= frame.is_ready();
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, Body::size_hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::Full;
    use std::task::Waker;

    fn shelf() -> Shelf {
        let shelf = Shelf::default();
        shelf.put(Some(Full::new(Bytes::from_static(b"body")).map_err(|never| match never {}).boxed()));
        shelf
    }

    #[test]
    fn what_nobody_took_comes_back() {
        let shelf = shelf();
        let lent = shelf.lend().unwrap();
        assert!(!shelf.has_it());
        assert_eq!(lent.size_hint().exact(), Some(4));
        drop(lent);
        assert!(shelf.has_it());
    }

    #[test]
    fn what_was_taken_does_not() {
        let shelf = shelf();
        let mut lent = shelf.lend().unwrap();
        let frame = Pin::new(&mut lent).poll_frame(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(frame, Poll::Ready(Some(Ok(_)))));
        drop(lent);
        assert!(!shelf.has_it());
    }
}
