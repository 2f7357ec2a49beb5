//! Bytes to send: heads and small bodies copied into one buffer, large bodies by reference, so that the answers
//! to a pipeline leave in one write.
//!
//! Not here: what is sent.

use bytes::Bytes;
use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

/// Bodies up to this are copied: one more memcpy is cheaper than one more slice in the write.
pub(crate) const COPY_MAX_BYTES: u64 = 8 << 10;
/// When so much waits, no further answer is prepared before some of it is sent.
pub(crate) const HIGH_WATER_BYTES: usize = 64 << 10;
/// Slices per write.
const SLICES: usize = 64;
/// Most of one write, and of what a connection writes before the core's others have their turn: large enough that a body
/// of megabytes costs few calls and wakes its reader seldom, small enough that nobody waits for half a millisecond.
const TURN_BYTES: usize = 1 << 20;

#[derive(Default)]
pub(crate) struct Out {
    pub(crate) buf: Vec<u8>,
    /// How much of `buf` is sent.
    sent: usize,
    held: VecDeque<Held>,
    held_bytes: usize,
}

/// A body that goes out after `buf[..at]`.
struct Held {
    at: usize,
    bytes: Bytes,
}

impl Out {
    pub(crate) fn is_empty(&self) -> bool {
        self.sent == self.buf.len() && self.held.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.buf.len() - self.sent + self.held_bytes
    }

    /// Memory of its own, bytes: bodies are somebody else's.
    pub(crate) fn own_bytes(&self) -> usize {
        self.buf.capacity() + self.held.capacity() * size_of::<Held>()
    }

    pub(crate) fn push(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.held_bytes += bytes.len();
            self.held.push_back(Held { at: self.buf.len(), bytes });
        }
    }

    /// Takes the core's buffer for answers, if there is none yet.
    pub(crate) fn borrow(&mut self, scratch: &Cell<Vec<u8>>) {
        if self.buf.capacity() == 0 {
            self.buf = scratch.take();
            self.buf.clear();
        }
    }

    /// Gives a buffer back that nothing was put into.
    pub(crate) fn settle(&mut self, scratch: &Cell<Vec<u8>>) {
        if self.buf.capacity() > 0 && self.is_empty() {
            self.give_back(scratch);
        }
    }

    /// Gives the buffer to the core's other connections; empty, for what was in it was for this client alone.
    fn give_back(&mut self, scratch: &Cell<Vec<u8>>) {
        let mut buf = std::mem::take(&mut self.buf);
        buf.clear();
        self.sent = 0;
        if buf.capacity() <= 4 * HIGH_WATER_BYTES {
            scratch.set(buf);
        }
    }

    /// As [`Out::poll_drain`]; once everything is written the buffer goes back. After an error it does not: what is left
    /// in it ends with the connection.
    pub(crate) fn poll_drain_and_give_back<S: AsyncWrite + Unpin>(
        &mut self,
        io: &mut S,
        cx: &mut Context<'_>,
        progress: &mut bool,
        scratch: &Cell<Vec<u8>>,
    ) -> Poll<io::Result<()>> {
        let polled = self.poll_drain(io, cx, progress);
        if matches!(polled, Poll::Ready(Ok(()))) {
            self.give_back(scratch);
        }
        polled
    }

    /// Writes everything; the flag says whether anything was written. Pending after a turn's worth, too, with a wake-up
    /// under way.
    fn poll_drain<S: AsyncWrite + Unpin>(
        &mut self,
        io: &mut S,
        cx: &mut Context<'_>,
        progress: &mut bool,
    ) -> Poll<io::Result<()>> {
        let mut turn_bytes = 0;
        while !self.is_empty() {
            if turn_bytes >= TURN_BYTES {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let written = if self.held.is_empty() {
                ready!(Pin::new(&mut *io).poll_write(cx, self.buf.get(self.sent..).unwrap_or_default()))?
            } else {
                let mut slices = [IoSlice::new(&[]); SLICES];
                let (n, _) = self.gather(&mut slices);
                ready!(Pin::new(&mut *io).poll_write_vectored(cx, slices.get(..n).unwrap_or_default()))?
            };
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            *progress = true;
            turn_bytes += written;
            self.advance(written);
        }
        self.buf.clear();
        self.sent = 0;
        Poll::Ready(Ok(()))
    }

    /// Writes what waits and then `body`, without touching the reference counts of its chunks, which other cores
    /// share; holds on to what the socket does not take at once.
    pub(crate) fn write_through<S: AsyncWrite + Unpin>(
        &mut self,
        io: &mut S,
        cx: &mut Context<'_>,
        body: &[Bytes],
        (start, end): (u64, u64),
        progress: &mut bool,
    ) -> io::Result<()> {
        let (mut rest, mut skip) = after(body, 0, usize::try_from(start).unwrap_or(usize::MAX));
        let mut left = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
        let mut turn_bytes = 0;
        while left > 0 && !rest.is_empty() && turn_bytes < TURN_BYTES {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let own = self.len();
            let n = {
                let first = rest.first().and_then(|b| b.get(skip..)).unwrap_or_default();
                let tail = rest.get(1..).unwrap_or_default().iter().map(|b| &b[..]);
                let (mut n, room) = self.gather(&mut slices);
                let mut room = room.min(left);
                for chunk in std::iter::once(first).chain(tail) {
                    let Some(slot) = slices.get_mut(n).filter(|_| room > 0) else { break };
                    *slot = IoSlice::new(chunk.get(..room).unwrap_or(chunk));
                    room -= slot.len();
                    n += 1;
                }
                n
            };
            match Pin::new(&mut *io).poll_write_vectored(cx, slices.get(..n).unwrap_or_default()) {
                Poll::Pending => break,
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(written)) => {
                    *progress = true;
                    turn_bytes += written;
                    self.advance(written.min(own));
                    let of_body = written.saturating_sub(own);
                    (rest, skip) = after(rest, skip, of_body);
                    left = left.saturating_sub(of_body);
                }
            }
        }
        for chunk in rest {
            if left == 0 {
                break;
            }
            let from = skip.min(chunk.len());
            let to = chunk.len().min(from.saturating_add(left));
            self.push(chunk.slice(from..to));
            left -= to - from;
            skip = 0;
        }
        Ok(())
    }

    /// Fills `slices` with what waits, in order: how many, and how many bytes of a turn are left.
    fn gather<'a>(&'a self, slices: &mut [IoSlice<'a>; SLICES]) -> (usize, usize) {
        let mut n = 0;
        let mut room = TURN_BYTES;
        let mut from = self.sent;
        let mut put = |bytes: &'a [u8]| {
            if let Some(slot) = slices.get_mut(n)
                && !bytes.is_empty()
                && room > 0
            {
                *slot = IoSlice::new(bytes.get(..room).unwrap_or(bytes));
                room -= slot.len();
                n += 1;
            }
        };
        for held in &self.held {
            put(self.buf.get(from..held.at).unwrap_or_default());
            put(&held.bytes);
            from = held.at.max(from);
        }
        put(self.buf.get(from..).unwrap_or_default());
        (n, room)
    }

    fn advance(&mut self, mut n: usize) {
        while n > 0 {
            let before = self.held.front().map_or(self.buf.len(), |h| h.at).saturating_sub(self.sent);
            let own = n.min(before);
            self.sent += own;
            n -= own;
            if n == 0 {
                break;
            }
            let Some(held) = self.held.front_mut() else { break };
            let taken = n.min(held.bytes.len());
            held.bytes = held.bytes.slice(taken..);
            self.held_bytes -= taken;
            n -= taken;
            if held.bytes.is_empty() {
                self.held.pop_front();
            }
        }
    }
}

/// The bytes `start..end` of a body, in its pieces.
pub(crate) fn pieces(chunks: &[Bytes], start: u64, end: u64) -> impl Iterator<Item = &[u8]> {
    let mut at = 0u64;
    chunks.iter().filter_map(move |chunk| {
        let begins = at;
        at += chunk.len() as u64;
        let from = start.max(begins) - begins;
        let to = end.min(at).saturating_sub(begins);
        chunk.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?).filter(|piece| !piece.is_empty())
    })
}

/// What is left of `chunks`, whose first `skip` bytes are gone, after `n` more.
fn after(mut chunks: &[Bytes], mut skip: usize, mut n: usize) -> (&[Bytes], usize) {
    while let [first, tail @ ..] = chunks {
        let left = first.len() - skip;
        if n < left {
            return (chunks, skip + n);
        }
        n -= left;
        skip = 0;
        chunks = tail;
    }
    (chunks, 0)
}
