//! The one way hyper 1.12 was found to end an answer without coming by again: a body of a known length in exactly
//! as many chunks as its queue holds, where the flush is refused at first and taken on the second try of the same
//! poll. A request that waits behind it is then found by the sweep.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod common;

use bytes::Bytes;
use common::Side;
use common::wire::answers;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use samovar_hot::{Accepted, Hub, engine, serve};
use std::cell::RefCell;
use std::convert::Infallible;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::{LocalSet, spawn_local, yield_now};

/// As many chunks as hyper queues, and no word that the last one is the last.
struct Chunks(u32);

const CHUNKS: u32 = 16;

impl Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let left = self.0.checked_sub(1);
        self.0 = left.unwrap_or(0);
        Poll::Ready(left.map(|_| Ok(Frame::data(Bytes::from_static(b"0123456789")))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(u64::from(self.0) * 10)
    }
}

/// A stream that gives its input once and refuses the first write.
struct Script {
    input: Vec<u8>,
    refusals: u32,
    written: Rc<RefCell<Vec<u8>>>,
}

impl AsyncRead for Script {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.input.is_empty() {
            return Poll::Pending;
        }
        buf.put_slice(&std::mem::take(&mut self.input));
        Poll::Ready(Ok(()))
    }
}

impl samovar_hot::Wire for Script {}

impl AsyncWrite for Script {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.refusals > 0 {
            self.refusals -= 1;
            return Poll::Pending;
        }
        let mut written = self.written.borrow_mut();
        bufs.iter().for_each(|buf| written.extend_from_slice(buf));
        Poll::Ready(Ok(bufs.iter().map(|buf| buf.len()).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[test]
fn a_request_behind_an_answer_that_ends_silently_is_found_by_the_sweep() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let hub = Hub::new(Side::new() as _);
        let written = Rc::new(RefCell::new(Vec::new()));
        let input = b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2);
        let stream = Script { input, refusals: 1, written: Rc::clone(&written) };
        let layer = hub.accept(stream, Accepted { listener: 0, peer: None });
        let http = engine(&hub);
        spawn_local(async move {
            serve(layer, &http, |_: Request<Incoming>, _| async {
                Ok::<_, Infallible>(Response::new(Chunks(CHUNKS)))
            })
            .await
        });
        let count = || answers(&written.borrow(), &[]).len();
        for _ in 0..10 {
            yield_now().await;
        }
        assert_eq!(count(), 1, "if this is 2, hyper comes by again and the sweep's nudge can go");
        hub.sweep();
        for _ in 0..10 {
            yield_now().await;
        }
        assert_eq!(count(), 2);
    });
}
