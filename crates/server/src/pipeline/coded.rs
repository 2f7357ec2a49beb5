//! A body that is compressed while it is sent.
//!
//! In pieces that take a serving core about a tenth of a millisecond; between two of them others have their turn. What was
//! taken in is let out when the body pauses, so that a page whose origin thinks for a while is seen as far as it came. Not
//! here: whether it is compressed (`coding`).

use super::body::{Failed, Source};
use crate::compress::{Row, Stream, processor_us};
use bytes::{Buf, Bytes};
use http_body::Frame;
use samovar_cache::Charge;
use samovar_coding::Encoder;
use samovar_policy::Coding;
use samovar_reason::Upstream;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Sleep;

/// How long a body may bring nothing until what it brought is let out.
const PAUSE: Duration = Duration::from_millis(10);

/// How much is gathered before it is sent, bytes: a frame costs a write.
const FRAME_BYTES: usize = 8 << 10;

/// See the file's head.
pub struct Coded {
    inner: Source,
    encoder: Encoder,
    /// At most so much is coded at once, bytes.
    piece_bytes: usize,
    input: Bytes,
    /// Something was taken in and not let out.
    held: bool,
    pause: Option<Pin<Box<Sleep>>>,
    trailers: Option<Frame<Bytes>>,
    over: bool,
    row: Arc<Row>,
    before_bytes: u64,
    after_bytes: u64,
    _stream: Stream,
    _room: Charge,
}

/// About a tenth of a millisecond's work (`crates/coding/examples/cost.rs`), bytes.
fn piece_bytes(coding: Coding) -> usize {
    match coding {
        Coding::Gzip => 8 << 10,
        Coding::Br => 16 << 10,
        Coding::Zstd => 32 << 10,
    }
}

impl Coded {
    /// Begins.
    pub fn new(inner: Source, encoder: Encoder, row: Arc<Row>, stream: Stream, room: Charge) -> Coded {
        Coded {
            inner,
            encoder,
            piece_bytes: piece_bytes(row.coding),
            input: Bytes::new(),
            held: false,
            pause: None,
            trailers: None,
            over: false,
            row,
            before_bytes: 0,
            after_bytes: 0,
            _stream: stream,
            _room: room,
        }
    }

    /// Whether all of it is out.
    pub fn is_over(&self) -> bool {
        self.over && self.trailers.is_none()
    }

    /// The next frame.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failed>>> {
        if self.over {
            return Poll::Ready(self.trailers.take().map(Ok));
        }
        loop {
            if !self.input.is_empty() {
                self.code()?;
                if self.encoder.ready_bytes() >= FRAME_BYTES {
                    return Poll::Ready(Some(Ok(self.frame())));
                }
                // Others have their turn.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            match self.inner.poll_next(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.pause = None;
                    match frame.into_data() {
                        Ok(data) => {
                            self.before_bytes += data.len() as u64;
                            self.input = data;
                        }
                        Err(trailers) => self.trailers = Some(trailers),
                    }
                }
                Poll::Ready(Some(Err(failed))) => return Poll::Ready(Some(Err(failed))),
                Poll::Ready(None) => {
                    self.over = true;
                    let mut rest = self.encoder.take();
                    rest.append(&mut self.encoder.finish().map_err(failed)?);
                    return Poll::Ready(Some(Ok(self.sends(rest))));
                }
                Poll::Pending => {
                    ready!(self.poll_pause(cx));
                    self.held = false;
                    let begun_us = processor_us();
                    self.encoder.flush().map_err(failed)?;
                    self.spent_since(begun_us);
                    if self.encoder.ready_bytes() > 0 {
                        return Poll::Ready(Some(Ok(self.frame())));
                    }
                }
            }
        }
    }

    /// Ready when something has been held back for as long as is decent.
    fn poll_pause(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.held {
            return Poll::Pending;
        }
        let pause = self.pause.get_or_insert_with(|| Box::pin(tokio::time::sleep(PAUSE)));
        ready!(pause.as_mut().poll(cx));
        self.pause = None;
        Poll::Ready(())
    }

    fn code(&mut self) -> Result<(), Failed> {
        let begun_us = processor_us();
        let bytes = self.piece_bytes.min(self.input.len());
        let piece = self.input.get(..bytes).unwrap_or_default();
        self.encoder.write(piece).map_err(failed)?;
        self.input.advance(bytes);
        self.held = true;
        self.spent_since(begun_us);
        Ok(())
    }

    fn spent_since(&self, begun_us: u64) {
        self.row.cpu_us.add(processor_us().saturating_sub(begun_us));
    }

    fn frame(&mut self) -> Frame<Bytes> {
        let bytes = self.encoder.take();
        self.sends(bytes)
    }

    fn sends(&mut self, bytes: Vec<u8>) -> Frame<Bytes> {
        self.after_bytes += bytes.len() as u64;
        Frame::data(Bytes::from(bytes))
    }
}

impl Drop for Coded {
    fn drop(&mut self) {
        self.row.add(self.before_bytes, self.after_bytes);
    }
}

/// An encoder that writes into memory does not fail; if one did, the client would be told that the body broke off.
fn failed(error: std::io::Error) -> Failed {
    Failed { reason: Upstream::Reset, detail: format!("compress the answer: {error}").into() }
}
