//! A request's body on its way to an upstream, which holds the right to be so until its last byte has been taken.
//!
//! Not here: how many may be on their way (`pool`), how far it has come (`http::going`).

use crate::pool::UploadPermit;
use crate::{AskedBody, Failure};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// See the file's head.
struct OnItsWay {
    body: AskedBody,
    permit: Option<UploadPermit>,
}

/// The same body; the permit goes back at its end, or with it.
pub(crate) fn holding(body: AskedBody, permit: UploadPermit) -> AskedBody {
    OnItsWay { body, permit: Some(permit) }.boxed()
}

impl Body for OnItsWay {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        // Not every reader asks for the end after the last piece.
        if !matches!(frame, Some(Ok(_))) || self.body.is_end_stream() {
            self.permit = None;
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
