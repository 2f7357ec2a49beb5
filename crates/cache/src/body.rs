//! A stored body: in its entry, chunks in memory, a body still growing, or an extent in a file.
//!
//! A growing body has one writer (the fill) and any number of readers on any core. A slow reader holds back
//! neither the writer nor the others: while the body is worth storing it is kept whole; once it turns out too
//! large to store (`overflow`), no reader may begin any more and the writer waits for the slowest.
//! Not here: sockets, and reading the file of an extent (`origin`).

use crate::budget::{Budget, Paid};
use crate::chunks::Chunks;
use crate::fill::FillFailure;
use crate::parts::Parts;
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Pieces are merged into chunks of this size as they arrive, so that many small reads of an origin do not
/// become many small buffers for every later hit.
const CHUNK_BYTES: usize = 256 * 1024;

/// How far the writer may run ahead of the slowest reader once the body will not be stored, bytes.
const WINDOW_BYTES: u64 = 256 * 1024;

/// A stored body.
#[derive(Clone, Debug)]
pub enum Body {
    /// Whole, and small: in the entry itself. See [`crate::Entry::slice`].
    Own,
    /// Whole, in memory.
    Chunks(Arc<Chunks>),
    /// Arriving.
    Growing(Arc<Growing>),
    /// Some parts of it.
    Parts(Arc<Parts>),
    /// The answer to one request with a `Range`, good for that request again and nothing else.
    Verbatim(Box<Verbatim>),
    /// An extent of a file.
    Extent(Box<Extent>),
}

/// See [`Body::Verbatim`].
#[derive(Clone, Debug)]
pub struct Verbatim {
    /// The field's value.
    pub range: Box<str>,
    /// The bytes.
    pub chunks: Arc<Chunks>,
}

/// See [`Body::Extent`].
#[derive(Clone, Debug)]
pub struct Extent {
    /// The file, as the shell opened it.
    pub file: Arc<std::fs::File>,
    /// First byte.
    pub offset: u64,
    /// Length, bytes.
    pub len: u64,
}

impl Body {
    /// See [`crate::Entry::len_bytes`]; of what is in the entry, the entry knows.
    pub(crate) fn len_bytes(&self) -> Option<u64> {
        match self {
            Body::Chunks(c) => Some(c.len_bytes()),
            Body::Growing(g) => g.len_bytes(),
            Body::Own | Body::Parts(_) | Body::Verbatim(_) => None,
            Body::Extent(extent) => Some(extent.len),
        }
    }

    /// True if it is not the whole.
    pub fn is_part(&self) -> bool {
        matches!(self, Body::Parts(_) | Body::Verbatim(_))
    }

    /// What it costs beside its bytes.
    pub(crate) fn frame_bytes(&self) -> u64 {
        match self {
            Body::Own => 0,
            Body::Chunks(chunks) => chunks.frame_bytes(),
            Body::Parts(parts) => parts.frame_bytes(),
            Body::Verbatim(body) => {
                body.chunks.frame_bytes() + (size_of::<Verbatim>() + body.range.len()) as u64
            }
            Body::Growing(_) => (size_of::<Growing>() + 2 * size_of::<usize>()) as u64,
            Body::Extent(_) => size_of::<Extent>() as u64,
        }
    }

    /// Bytes that are held in memory for it, or announced.
    pub(crate) fn held_bytes(&self) -> u64 {
        match self {
            Body::Parts(parts) => parts.memory_bytes(),
            Body::Verbatim(body) => body.chunks.len_bytes(),
            whole => whole.len_bytes().unwrap_or(0),
        }
    }
}

/// A body that is still arriving. Its pieces are charged one by one: who still reads one may be the last that holds it.
#[derive(Debug)]
pub struct Growing {
    announced_bytes: Option<u64>,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Merged and raw pieces in order; `first_byte` is the offset of the first one kept.
    parts: VecDeque<Bytes>,
    first_byte: u64,
    end_byte: u64,
    /// Raw pieces at the tail not merged yet, and their bytes.
    raw_parts: usize,
    raw_bytes: usize,
    ended: Option<Result<(), FillFailure>>,
    /// It will not be stored: parts read by all are dropped.
    overflow: bool,
    readers: Vec<ReaderSlot>,
    next_reader: u64,
    writer: Option<Waker>,
    budget: Arc<Budget>,
}

#[derive(Debug)]
struct ReaderSlot {
    id: u64,
    at: u64,
    waker: Option<Waker>,
}

impl Growing {
    pub(crate) fn new(announced_bytes: Option<u64>, budget: &Arc<Budget>) -> Arc<Growing> {
        Arc::new(Growing {
            announced_bytes,
            inner: Mutex::new(Inner {
                parts: VecDeque::new(),
                first_byte: 0,
                end_byte: 0,
                raw_parts: 0,
                raw_bytes: 0,
                ended: None,
                overflow: false,
                readers: Vec::new(),
                next_reader: 0,
                writer: None,
                budget: Arc::clone(budget),
            }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic while the lock was held leaves plain data behind; the body stays usable.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The length the origin announced, or the true one once whole.
    pub fn len_bytes(&self) -> Option<u64> {
        if self.announced_bytes.is_some() {
            return self.announced_bytes;
        }
        let inner = self.lock();
        matches!(inner.ended, Some(Ok(()))).then_some(inner.end_byte)
    }

    /// Bytes that have arrived.
    pub fn arrived_bytes(&self) -> u64 {
        self.lock().end_byte
    }

    /// Readers at the moment.
    pub fn readers(&self) -> usize {
        self.lock().readers.len()
    }

    /// Begins to read at the first byte; `None` if the beginning is no longer kept.
    pub fn read(self: &Arc<Self>) -> Option<Reader> {
        let mut inner = self.lock();
        if inner.overflow {
            return None;
        }
        let id = inner.next_reader;
        inner.next_reader += 1;
        inner.readers.push(ReaderSlot { id, at: 0, waker: None });
        Some(Reader { body: Arc::clone(self), id })
    }

    pub(crate) fn push(&self, piece: Bytes) {
        if piece.is_empty() {
            return;
        }
        let mut inner = self.lock();
        inner.end_byte += piece.len() as u64;
        inner.raw_bytes += piece.len();
        inner.raw_parts += 1;
        let piece = Paid::shared(piece, &inner.budget);
        inner.parts.push_back(piece);
        while inner.raw_bytes >= CHUNK_BYTES {
            inner.merge();
        }
        let wakers = inner.take_wakers();
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The body will not be stored: what every reader has passed is dropped from now on.
    pub(crate) fn overflow(&self) {
        let mut inner = self.lock();
        inner.overflow = true;
        inner.drop_read();
    }

    /// Ready when the writer may push more: always, unless the body overflowed and a reader is far behind.
    /// `Ready(false)` once it overflowed and nobody reads any more.
    pub(crate) fn poll_room(&self, cx: &mut Context<'_>) -> Poll<bool> {
        let mut inner = self.lock();
        if !inner.overflow {
            return Poll::Ready(true);
        }
        let Some(slowest) = inner.readers.iter().map(|r| r.at).min() else { return Poll::Ready(false) };
        if inner.end_byte - slowest.min(inner.end_byte) < WINDOW_BYTES {
            return Poll::Ready(true);
        }
        inner.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Ends the body well or badly, and wakes everybody.
    pub(crate) fn end(&self, result: Result<(), FillFailure>) {
        let mut inner = self.lock();
        if inner.ended.is_none() {
            inner.ended = Some(result);
        }
        let wakers = inner.take_wakers();
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// All of it, in pieces as they came; merged ones first, and how many these are. For the writer, at the end.
    pub(crate) fn pieces(&self) -> (Vec<Bytes>, usize) {
        let inner = self.lock();
        (inner.parts.iter().cloned().collect(), inner.parts.len() - inner.raw_parts.min(inner.parts.len()))
    }

    /// The same bytes as they are stored, once they are, for those who read on. Before `end`.
    pub(crate) fn settle(&self, stored: Vec<Bytes>) {
        let mut inner = self.lock();
        inner.parts = stored.into();
        (inner.raw_parts, inner.raw_bytes) = (0, 0);
    }

    /// The whole body in exact-fit chunks. The writer calls it once, at the end, before `end`.
    pub(crate) fn to_chunks(&self) -> Arc<Chunks> {
        let (mut pieces, merged) = self.pieces();
        let raw = pieces.split_off(merged.min(pieces.len()));
        let budget = Arc::clone(&self.lock().budget);
        let chunks = Arc::new(Chunks::with_large(pieces, &raw, &budget));
        self.settle(chunks.parts());
        chunks
    }
}

impl Inner {
    /// Copies the beginning of the raw tail into one chunk: pieces of a network buffer keep all of it alive. Chunks are
    /// all of one size, so that the room one of them leaves is of use to any other.
    fn merge(&mut self) {
        let mut chunk = BytesMut::with_capacity(CHUNK_BYTES);
        let from = self.parts.len() - self.raw_parts.min(self.parts.len());
        let mut rest = Vec::new();
        for mut raw in self.parts.drain(from..) {
            chunk.extend_from_slice(&raw.split_to(raw.len().min(CHUNK_BYTES - chunk.len())));
            rest.extend((!raw.is_empty()).then_some(raw));
        }
        self.raw_parts = rest.len();
        self.raw_bytes -= chunk.len().min(self.raw_bytes);
        self.parts.push_back(Paid::shared(chunk.freeze(), &self.budget));
        self.parts.extend(rest);
    }

    fn take_wakers(&mut self) -> Vec<Waker> {
        self.readers.iter_mut().filter_map(|r| r.waker.take()).collect()
    }

    /// In overflow: drops the parts that every reader has passed, and wakes the writer if it may go on.
    fn drop_read(&mut self) {
        if !self.overflow {
            return;
        }
        let slowest = self.readers.iter().map(|r| r.at).min().unwrap_or(self.end_byte);
        while let Some(front) = self.parts.front() {
            let next = self.first_byte + front.len() as u64;
            if next > slowest {
                break;
            }
            self.first_byte = next;
            self.parts.pop_front();
            // The raw tail shrinks only when everything before it is gone.
            if self.parts.len() < self.raw_parts {
                self.raw_parts = self.parts.len();
                self.raw_bytes = self.parts.iter().map(Bytes::len).sum();
            }
        }
        if (self.readers.is_empty() || self.end_byte - slowest < WINDOW_BYTES)
            && let Some(writer) = self.writer.take()
        {
            writer.wake();
        }
    }

    /// The bytes from `at` to the end of the part they are in.
    fn piece_at(&self, at: u64) -> Option<Bytes> {
        let mut start = self.first_byte;
        for part in &self.parts {
            let end = start + part.len() as u64;
            if at < end {
                return Some(part.slice((at.saturating_sub(start)) as usize..));
            }
            start = end;
        }
        None
    }
}

/// One reader of a growing body; dropping it ends its claim on the bytes.
#[derive(Debug)]
pub struct Reader {
    body: Arc<Growing>,
    id: u64,
}

impl Reader {
    /// The next piece, `None` at a good end.
    ///
    /// # Errors
    /// The failure of the fill if it died before the end.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, FillFailure>>> {
        let mut inner = self.body.lock();
        let Some(slot) = inner.readers.iter().position(|r| r.id == self.id) else { return Poll::Ready(None) };
        let at = inner.readers.get(slot).map_or(0, |r| r.at);
        if let Some(piece) = inner.piece_at(at) {
            if let Some(r) = inner.readers.get_mut(slot) {
                r.at += piece.len() as u64;
            }
            inner.drop_read();
            return Poll::Ready(Some(Ok(piece)));
        }
        match &inner.ended {
            Some(Ok(())) => Poll::Ready(None),
            Some(Err(failure)) => Poll::Ready(Some(Err(failure.clone()))),
            None => {
                if let Some(r) = inner.readers.get_mut(slot) {
                    r.waker = Some(cx.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    /// The length, if known.
    pub fn len_bytes(&self) -> Option<u64> {
        self.body.len_bytes()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut inner = self.body.lock();
        inner.readers.retain(|r| r.id != self.id);
        inner.drop_read();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noop() -> Context<'static> {
        Context::from_waker(Waker::noop())
    }

    fn drain(reader: &mut Reader) -> (Vec<u8>, bool) {
        let mut all = Vec::new();
        loop {
            match reader.poll_next(&mut noop()) {
                Poll::Ready(Some(Ok(piece))) => all.extend_from_slice(&piece),
                Poll::Ready(None) => return (all, true),
                Poll::Ready(Some(Err(_))) | Poll::Pending => return (all, false),
            }
        }
    }

    #[test]
    fn every_reader_sees_every_byte_whenever_it_began() {
        let budget = Budget::new(1 << 30);
        let body = Growing::new(None, &budget);
        let mut early = body.read().unwrap();
        let mut expected = Vec::new();
        for i in 0..200u32 {
            let piece = vec![i as u8; 5000];
            expected.extend_from_slice(&piece);
            body.push(Bytes::from(piece));
            if i % 7 == 0 {
                let _ = early.poll_next(&mut noop());
            }
        }
        let mut late = body.read().unwrap();
        let chunks = body.to_chunks();
        body.end(Ok(()));
        let (late_bytes, late_whole) = drain(&mut late);
        assert!(late_whole);
        assert_eq!(late_bytes, expected);
        assert!(drain(&mut early).1);
        assert_eq!(chunks.len_bytes(), expected.len() as u64);
        assert_eq!(chunks.slice(4_990, 5_010).concat(), expected[4_990..5_010]);
        assert_eq!(budget.used_bytes(), expected.len() as u64);
        drop((chunks, body, early, late));
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn many_small_pieces_become_one_chunk_and_are_charged_as_they_come() {
        let budget = Budget::new(1 << 30);
        let body = Growing::new(Some(5_000), &budget);
        assert_eq!((body.len_bytes(), body.readers()), (Some(5_000), 0));
        let readers = [body.read().unwrap(), body.read().unwrap()];
        assert_eq!(body.readers(), 2);
        drop(readers);
        assert_eq!(body.readers(), 0);
        for n in 1..=100 {
            body.push(Bytes::from(vec![7; 50]));
            assert_eq!((budget.used_bytes(), body.arrived_bytes()), (n * 50, n * 50));
        }
        let chunks = body.to_chunks();
        assert_eq!((chunks.parts().len(), chunks.len_bytes()), (1, 5_000));
        // What is larger than a chunk is cut into chunks, as it comes.
        let body = Growing::new(None, &budget);
        assert_eq!(body.len_bytes(), None);
        for _ in 0..1_000 {
            body.push(Bytes::from(vec![7; 1_000]));
        }
        body.end(Ok(()));
        assert_eq!(body.len_bytes(), Some(1_000_000));
        let parts = body.to_chunks();
        let sizes: Vec<usize> = parts.parts().iter().map(Bytes::len).collect();
        // What is left after the powers of two in two, of sizes that take no more than they say.
        assert_eq!(sizes, [262_144, 262_144, 262_144, 131_072, 65_536, 16_384, 576]);
        assert_eq!((Body::Chunks(parts).is_part(), chunks.slice(50, 50).len()), (false, 0));
    }

    #[test]
    fn an_overflowed_body_is_bounded_by_the_slowest_reader() {
        let budget = Budget::new(1 << 30);
        let body = Growing::new(None, &budget);
        let mut slow = body.read().unwrap();
        let window = WINDOW_BYTES as usize;
        body.push(Bytes::from(vec![1; window - 1]));
        body.overflow();
        assert!(body.read().is_none(), "no one may begin after the overflow");
        assert_eq!(body.poll_room(&mut noop()), Poll::Ready(true));
        body.push(Bytes::from(vec![2; 1]));
        assert_eq!(body.poll_room(&mut noop()), Poll::Pending, "more than the window is unread");
        while let Poll::Ready(Some(Ok(_))) = slow.poll_next(&mut noop()) {}
        assert_eq!(body.poll_room(&mut noop()), Poll::Ready(true));
        assert_eq!(budget.used_bytes(), 0, "what was read is dropped");
        drop(slow);
        assert_eq!(body.poll_room(&mut noop()), Poll::Ready(false), "nobody is left");
    }
}
