//! Bytes read from a client and not yet taken, in the core's scratch buffer while one poll lasts and in the
//! connection's own only if some are left over.
//!
//! Not here: what the bytes mean.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// Size of the scratch buffer: what one read takes at most.
pub(crate) const SCRATCH_BYTES: usize = 16 << 10;

#[derive(Default)]
pub(crate) struct InBuf {
    data: Vec<u8>,
    start: usize,
    end: usize,
    borrowed: bool,
    /// How far the search for the end of the head has come, from `start`.
    pub(crate) scanned: usize,
}

impl InBuf {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.data.get(self.start..self.end).unwrap_or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub(crate) fn consume(&mut self, n: usize) {
        self.start = (self.start + n).min(self.end);
        self.scanned = 0;
    }

    /// Memory of its own, bytes: none while it uses the core's.
    pub(crate) fn own_bytes(&self) -> usize {
        if self.borrowed { 0 } else { self.data.capacity() }
    }

    pub(crate) fn clear(&mut self) {
        self.consume(self.len());
    }

    /// Reads once, at most `max` bytes and at most what there is room for.
    pub(crate) fn poll_fill<S: AsyncRead + Unpin>(
        &mut self,
        io: &mut S,
        cx: &mut Context<'_>,
        scratch: &Cell<Vec<u8>>,
        max: usize,
    ) -> Poll<io::Result<usize>> {
        self.make_room(scratch);
        let room = self.data.get_mut(self.end..).unwrap_or_default();
        let max = max.min(room.len());
        let mut buf = ReadBuf::new(room.get_mut(..max).unwrap_or_default());
        ready!(Pin::new(io).poll_read(cx, &mut buf))?;
        let n = buf.filled().len();
        self.end += n;
        Poll::Ready(Ok(n))
    }

    fn make_room(&mut self, scratch: &Cell<Vec<u8>>) {
        if self.is_empty() {
            if self.data.is_empty() {
                self.data = scratch.take();
                self.data.resize(SCRATCH_BYTES, 0);
                self.borrowed = true;
            }
            (self.start, self.end) = (0, 0);
        } else if self.end == self.data.len() {
            self.settle(scratch);
            if self.start > 0 {
                self.data.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.len());
            }
            self.data.resize((self.end * 2).max(1024), 0);
        }
    }

    /// Gives the scratch buffer back, keeping what is left in a buffer of its own. Call it before every return
    /// of `Pending` and whenever another connection may run.
    pub(crate) fn settle(&mut self, scratch: &Cell<Vec<u8>>) {
        if self.borrowed {
            let rest = self.bytes().to_vec();
            scratch.set(std::mem::replace(&mut self.data, rest));
            self.borrowed = false;
            (self.start, self.end) = (0, self.data.len());
        } else if self.is_empty() && !self.data.is_empty() {
            self.data = Vec::new();
            (self.start, self.end) = (0, 0);
        }
    }
}
