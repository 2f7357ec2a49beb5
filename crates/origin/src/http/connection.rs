//! One connection to an upstream: its socket, what was read of it, and one timer for all its exchanges.
//!
//! It is polled by whoever waits for the answer; no task of its own stands between. At rest it belongs to the runtime it
//! was last used on. Not here: what the bytes mean, the shelves (`pool`).

use crate::connect::Socket;
use crate::pool::Opened;
use crate::spare;
use bytes::BytesMut;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::io::AsyncReadExt;
use tokio::time::{Sleep, sleep_until};

/// Room for the first read of an answer, bytes; doubled whenever a read fills it. Most answers come in one read, and the
/// process does not grow by buffers of many sizes.
const READ_BYTES: usize = 32 * 1024;
/// The most for one read, bytes.
const READ_MAX_BYTES: usize = 128 * 1024;

/// See the file's head. Dropped: closed.
pub(super) struct Connection {
    pub(super) socket: Socket,
    /// Received and not yet taken.
    pub(super) read: BytesMut,
    /// The core whose reactor wakes it.
    pub(super) home: usize,
    room: usize,
    timer: Timer,
    _opened: Opened,
}

impl Connection {
    pub(super) fn new(socket: Socket, home: usize, opened: Opened) -> Connection {
        let timer = Timer { sleep: None, at: None };
        let (read, room) = (BytesMut::new(), READ_BYTES);
        Connection { socket, read, home, room, timer, _opened: opened }
    }

    /// The same on another core: its own reactor wakes it from now on.
    pub(super) fn at_home(self, core: usize) -> Option<Connection> {
        if self.home == core {
            return Some(self);
        }
        let timer = Timer { sleep: None, at: None };
        let Connection { socket, read, room, _opened, .. } = self;
        Some(Connection { socket: socket.rehome().ok()?, read, home: core, room, timer, _opened })
    }

    /// Before it is laid to rest: at rest it needs no buffer.
    pub(super) fn settle(&mut self) {
        spare::give(std::mem::take(&mut self.read));
        self.room = READ_BYTES;
    }

    /// Reads once. 0 bytes: the peer has closed.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.read.capacity() == 0 {
            self.read = spare::take();
        }
        if self.read.capacity() - self.read.len() < self.room / 2 {
            self.read.reserve(self.room);
        }
        let free = self.read.capacity() - self.read.len();
        let read = pin!(self.socket.read_buf(&mut self.read)).poll(cx);
        if matches!(read, Poll::Ready(Ok(bytes)) if bytes == free) {
            self.room = (self.room * 2).min(READ_MAX_BYTES);
        }
        read
    }

    /// Ready once the deadline is over; no deadline is never over.
    pub(super) fn poll_deadline(&mut self, cx: &mut Context<'_>, deadline: Option<Instant>) -> Poll<()> {
        match deadline {
            Some(deadline) => self.timer.poll(cx, deadline),
            None => Poll::Pending,
        }
    }
}

/// A deadline that is moved far more often than it is reached: moving it later costs the runtime next to nothing, while
/// a new timer has to be sorted in and out.
struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
    at: Option<Instant>,
}

impl Timer {
    fn poll(&mut self, cx: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline.into())));
        if self.at != Some(deadline) {
            self.at = Some(deadline);
            sleep.as_mut().reset(deadline.into());
        }
        sleep.as_mut().poll(cx)
    }
}
