//! The body of an answer on its way to the engine: one type, whatever it comes from.
//!
//! It counts what it hands out and closes the request's record when it is dropped.

use super::coded::Coded;
use super::finish::Finish;
use bytes::{Buf, Bytes};
use http_body::{Body as HttpBody, Frame, SizeHint};
use samovar_cache::{Entry, FillFailure, Reader};
use samovar_origin::{Failure, Switched};
use samovar_reason::Upstream;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Why a body ended before its end. The engine closes the connection, so that the client can tell.
#[derive(Debug)]
pub struct Cut(pub String);

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the answer broke off: {}", self.0)
    }
}

impl std::error::Error for Cut {}

/// Frames of an origin's answer.
pub type Frames = Pin<Box<dyn HttpBody<Data = Bytes, Error = Failure>>>;

/// Where bytes come from.
pub enum Source {
    /// Nowhere.
    Empty,
    /// Parts in memory, and how many bytes they are.
    Parts(VecDeque<Bytes>, u64),
    /// A body that is still growing.
    Growing(Reader),
    /// Of a body that is still growing: how many bytes are passed over first, and how many are then given.
    GrowingRange(Reader, u64, u64),
    /// An origin's frames; the announced length.
    Stream(Frames, Option<u64>),
    /// Another one, compressed on the way.
    Coded(Box<Coded>),
    /// It could not be begun, for this reason.
    Failed(Box<str>),
    /// An extent of a file that nobody has begun to read.
    File {
        /// The open file.
        file: Arc<std::fs::File>,
        /// First byte.
        offset: u64,
        /// Length, bytes.
        len: u64,
    },
    /// None: after the head the connection speaks another protocol, with this upstream.
    Switched(Box<Switched>),
}

/// What follows a 101: the other side, and the request's record, which closes with it.
pub struct Switch {
    /// The upstream's connection.
    pub upstream: Box<Switched>,
    /// The record.
    pub finish: Finish,
}

impl Source {
    /// One piece.
    pub fn whole(bytes: Bytes) -> Source {
        if bytes.is_empty() {
            return Source::Empty;
        }
        let len = bytes.len() as u64;
        Source::Parts(VecDeque::from([bytes]), len)
    }

    /// The bytes `start..end` of a stored body that is whole.
    pub fn slice(entry: &Arc<Entry>, start: u64, end: u64) -> Option<Source> {
        entry.slice(start, end).map(|pieces| Source::Parts(pieces.into(), end - start))
    }

    /// Length, if known.
    pub fn len_bytes(&self) -> Option<u64> {
        match self {
            Source::Empty | Source::Switched(_) => Some(0),
            Source::Parts(_, bytes) => Some(*bytes),
            Source::Growing(reader) => reader.len_bytes(),
            Source::GrowingRange(_, _, left) => Some(*left),
            Source::Stream(_, len) => *len,
            Source::File { len, .. } => Some(*len),
            Source::Coded(_) | Source::Failed(_) => None,
        }
    }

    /// An extent that nobody has begun to read becomes frames like any other.
    pub(super) fn opened(self) -> Source {
        match self {
            Source::File { file, offset, len } => {
                Source::Stream(samovar_origin::file_stream(file, offset, len), Some(len))
            }
            source => source,
        }
    }

    /// The next frame.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failed>>> {
        let piece = match self {
            Source::Empty | Source::File { .. } | Source::Switched(_) => return Poll::Ready(None),
            Source::Parts(parts, left) => {
                let part = parts.pop_front();
                *left -= part.as_ref().map_or(0, |part| part.len() as u64);
                return Poll::Ready(part.map(|part| Ok(Frame::data(part))));
            }
            Source::Growing(reader) => std::task::ready!(reader.poll_next(cx)),
            Source::GrowingRange(reader, skip, left) => {
                std::task::ready!(next_of_range(reader, skip, left, cx))
            }
            Source::Stream(frames, _) => {
                let frame = std::task::ready!(frames.as_mut().poll_frame(cx));
                return Poll::Ready(frame.map(|frame| {
                    frame.map_err(|failure| Failed { reason: failure.reason, detail: failure.detail.into() })
                }));
            }
            Source::Coded(coded) => return coded.poll_next(cx),
            Source::Failed(why) => {
                let detail = std::mem::take(why).into();
                return Poll::Ready(Some(Err(Failed { reason: Upstream::Reset, detail })));
            }
        };
        Poll::Ready(piece.map(|piece| {
            let failed = |failure: FillFailure| Failed { reason: failure.reason, detail: failure.detail };
            piece.map(Frame::data).map_err(failed)
        }))
    }
}

/// Why there is no next frame.
pub struct Failed {
    /// The reason.
    pub reason: Upstream,
    /// The particulars.
    pub detail: Arc<str>,
}

/// The next piece of a range; nothing is waited for once the range is out.
fn next_of_range(
    reader: &mut Reader,
    skip: &mut u64,
    left: &mut u64,
    cx: &mut Context<'_>,
) -> Poll<Option<Result<Bytes, FillFailure>>> {
    loop {
        if *left == 0 {
            return Poll::Ready(None);
        }
        let mut piece = match std::task::ready!(reader.poll_next(cx)) {
            Some(Ok(piece)) => piece,
            end => return Poll::Ready(end),
        };
        let passed = usize::try_from(*skip).unwrap_or(usize::MAX).min(piece.len());
        *skip -= passed as u64;
        piece.advance(passed);
        piece.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
        if !piece.is_empty() {
            *left -= piece.len() as u64;
            return Poll::Ready(Some(Ok(piece)));
        }
    }
}

/// The body that the engine reads.
pub struct Body {
    source: Source,
    finish: Option<Finish>,
    /// It has broken off, and the engine is told of it the next time it asks.
    cut: Option<Cut>,
    /// The engine was told of its end, whichever it was.
    over: bool,
    /// How long it is, if that is known: the engine does not ask for more, nor for the end.
    len_bytes: Option<u64>,
}

impl Body {
    /// A body whose request is finished when it is dropped.
    pub fn new(source: Source, finish: Finish) -> Body {
        // From here on it is read.
        let source = source.opened();
        let len_bytes = source.len_bytes();
        Body { source, finish: Some(finish), cut: None, over: false, len_bytes }
    }

    /// What follows it, if it is the body of a 101.
    pub fn take_switch(&mut self) -> Option<Switch> {
        match std::mem::replace(&mut self.source, Source::Empty) {
            Source::Switched(upstream) => self.finish.take().map(|finish| Switch { upstream, finish }),
            source => {
                self.source = source;
                None
            }
        }
    }

    fn sent(&mut self, bytes: usize) {
        if let Some(finish) = &mut self.finish {
            finish.sent(bytes as u64);
        }
    }

    fn end<T>(&mut self) -> Poll<Option<T>> {
        self.over = true;
        Poll::Ready(None)
    }

    /// It breaks off. The engine gives up what it has not written yet when it hears of that, the head among it; so it is
    /// let write first.
    fn break_off<T>(&mut self, why: Upstream, detail: &str, cx: &Context<'_>) -> Poll<T> {
        if let Some(finish) = &mut self.finish {
            finish.cut(why, detail.to_owned());
        }
        self.cut = Some(Cut(format!("{why}: {detail}")));
        self.over = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        let over = self.over || self.is_end_stream();
        let len = self.len_bytes;
        if let Some(finish) = &mut self.finish
            && !over
            && len.is_none_or(|bytes| finish.sent_bytes() < bytes)
        {
            finish.not_taken();
        }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let this = self.get_mut();
        if let Some(cut) = this.cut.take() {
            this.source = Source::Empty;
            return Poll::Ready(Some(Err(cut)));
        }
        match std::task::ready!(this.source.poll_next(cx)) {
            Some(Ok(frame)) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                this.sent(bytes);
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(failed)) => this.break_off(failed.reason, &failed.detail, cx),
            None => this.end(),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.cut.is_none()
            && match &self.source {
                Source::Empty | Source::File { .. } | Source::Switched(_) => true,
                Source::Parts(parts, _) => parts.is_empty(),
                Source::Growing(_) => false,
                Source::GrowingRange(_, _, left) => *left == 0,
                Source::Stream(frames, _) => frames.is_end_stream(),
                Source::Coded(coded) => coded.is_over(),
                Source::Failed(_) => false,
            }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Empty | Source::File { .. } | Source::Switched(_) => SizeHint::with_exact(0),
            Source::Parts(_, left) => SizeHint::with_exact(*left),
            // The length is announced by the field; claiming it here again would have to count what was read.
            Source::Growing(_) | Source::GrowingRange(..) | Source::Coded(_) | Source::Failed(_) => {
                SizeHint::default()
            }
            Source::Stream(frames, _) => frames.size_hint(),
        }
    }
}
