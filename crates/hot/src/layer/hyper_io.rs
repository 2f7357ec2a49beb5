//! hyper's side of the layer: its read and write traits.
//!
//! Not here: when a request is whole; that is the layer's state.

use super::{Closing, Layer, State};
use crate::wire::Wire;
use hyper::rt::{Read, ReadBufCursor, Write};
use samovar_reason::Reject;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

impl<S: Wire> Read for Layer<S> {
    /// At most the rest of one request; nothing is put at the end of the stream.
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.conn.0.watch(cx);
        this.check_send_timeout()?;
        let max = buf.remaining();
        loop {
            match &this.state {
                // The end of the stream, as far as the engine is told.
                State::Idle if this.conn.0.shed.get() => return Poll::Ready(Ok(())),
                State::Idle => {
                    if !ready!(this.poll_idle(cx))? {
                        return Poll::Ready(Ok(()));
                    }
                }
                State::Head { .. } => {
                    this.take_head(max, &mut |bytes| buf.put_slice(bytes));
                    return Poll::Ready(Ok(()));
                }
                State::Body(_) => return this.poll_body(cx, max, &mut |bytes| buf.put_slice(bytes)),
                State::Answering => return this.poll_ahead(cx),
                State::Closing(_) => {
                    ready!(this.poll_close(cx));
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

impl<S: Wire> Layer<S> {
    fn check_send_timeout(&mut self) -> io::Result<()> {
        if !self.broken && self.has_stopped_taking() {
            self.broken = true;
            self.conn.0.rejected.set(Some(Reject::SendTimeout));
            self.conn.0.hub.side.on_dropped(&self.conn, Reject::SendTimeout);
        }
        if self.broken { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }

    /// What hyper writes goes out behind what waits here. After a refusal the answer was ours, and hyper's goes
    /// nowhere.
    fn poll_pass_on(
        &mut self,
        cx: &mut Context<'_>,
        all: usize,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if matches!(self.state, State::Closing(_)) {
            return Poll::Ready(Ok(all));
        }
        self.check_send_timeout()?;
        self.take_interim();
        ready!(self.poll_drain(cx))?;
        self.mid_write = true;
        // What hyper writes earlier is a `100 Continue` of its own.
        self.head_begun |= self.conn.0.answering.get();
        let polled = write(Pin::new(&mut self.io), cx);
        self.note_write(polled.is_pending(), false);
        if matches!(polled, Poll::Ready(Err(_))) {
            self.broken = true;
        }
        polled
    }
}

impl<S: Wire> Write for Layer<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().poll_pass_on(cx, buf.len(), |io, cx| io.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let all = bufs.iter().map(|buf| buf.len()).sum();
        self.get_mut().poll_pass_on(cx, all, |io, cx| io.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    /// hyper calls it with nothing left in its own buffer: the other half of the edge to idle.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if matches!(this.state, State::Closing(_)) {
            return Poll::Ready(Ok(()));
        }
        this.mid_write = false;
        this.take_interim();
        ready!(this.poll_drain(cx))?;
        ready!(this.poll_flushed(cx))?;
        if matches!(this.state, State::Answering) && this.conn.0.body_dropped.get() {
            this.answered(cx);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.conn.0.shed.get() && matches!(this.state, State::Idle) {
            return Poll::Ready(Ok(()));
        }
        if matches!(this.state, State::Closing(Closing::Linger { .. } | Closing::Done)) {
            return Poll::Ready(Ok(()));
        }
        this.poll_write_close(cx)
    }
}
