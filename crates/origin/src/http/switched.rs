//! A connection that has changed to another protocol: bytes both ways, for as long as somebody wants it.
//!
//! It counts as a busy connection of the upstream for its whole life. As that may be days, such connections have a bound
//! of their own below the one for all: they cannot use up the upstream for ordinary requests unseen. Not here: who reads
//! and writes it, time limits, what the bytes mean.

use super::connection::Connection;
use super::going::Going;
use crate::pool::Permit;
use crate::{AnswerBody, Failure, Reached};
use bytes::Buf;
use http::HeaderValue;
use samovar_reason::Upstream;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How many such connections there may be, and how many there are.
pub(super) struct Places {
    taken: Arc<AtomicUsize>,
    max: usize,
}

/// One of them, given back when it is dropped.
pub(super) struct Place(Arc<AtomicUsize>);

impl Places {
    pub(super) fn new(max: usize) -> Places {
        Places { taken: Arc::default(), max }
    }

    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// A place at once or none: nobody can say when one of those that have it will end.
    pub(super) fn take(&self) -> Result<Place, Failure> {
        let place = Place(Arc::clone(&self.taken));
        if self.taken.fetch_add(1, Ordering::Relaxed) < self.max {
            return Ok(place);
        }
        let detail = format!("{} connections have changed to another protocol", self.max);
        Err(Failure { reason: Upstream::UpgradedFull, detail, reached: Reached::NotSent })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// See the file's head. Dropped: closed, and the places freed after it.
pub struct Switched {
    connection: Connection,
    protocol: HeaderValue,
    _place: Option<Place>,
    _permit: Permit,
    /// What whoever asked for it occupies for as long.
    beside: Option<Box<dyn std::any::Any + Send>>,
}

/// The body of a 101.
pub(super) fn body(
    connection: Connection,
    going: &Going,
    protocol: HeaderValue,
    permit: Permit,
    place: Option<Place>,
) -> Result<AnswerBody, Failure> {
    if !going.is_over() {
        let detail = "101 before the request was whole".to_owned();
        return Err(Failure { reason: Upstream::BadHead, detail, reached: Reached::Answered });
    }
    let switched = Switched { connection, protocol, _place: place, _permit: permit, beside: None };
    Ok(AnswerBody::Switched(Box::new(switched)))
}

impl Switched {
    /// Keeps something for as long as the connection lasts.
    pub fn hold(&mut self, beside: impl std::any::Any + Send) {
        self.beside = Some(Box::new(beside));
    }

    /// What it changed to, as the upstream named it.
    pub fn protocol(&self) -> &HeaderValue {
        &self.protocol
    }
}

impl AsyncRead for Switched {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let connection = &mut self.get_mut().connection;
        if connection.read.is_empty() {
            return Pin::new(&mut connection.socket).poll_read(cx, buf);
        }
        // What came with the head.
        let bytes = connection.read.len().min(buf.remaining());
        buf.put_slice(connection.read.get(..bytes).unwrap_or_default());
        connection.read.advance(bytes);
        if connection.read.is_empty() {
            connection.settle();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Switched {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().connection.socket).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().connection.socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().connection.socket).poll_shutdown(cx)
    }
}
