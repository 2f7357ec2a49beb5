//! One connection: the states between the socket and hyper.
//!
//! ```text
//! Idle      parse what was read: hot → answer, go on; cold → Head; refused → Closing; partial → write out, read
//! Head      hyper takes the head's bytes, then Body or Answering
//! Body      hyper takes exactly the body's bytes, then Answering
//! Answering the request is handed over; what the client sends ahead waits here, at most 16 KiB
//!           → Idle once hyper has dropped the answer's body *and* then flushed
//! Closing   the last answer is written, the sending side closed, what still comes read and thrown away
//! ```
//!
//! Why unpatched hyper 1.12 is safe above it (its `proto/h1/{conn,dispatch}.rs`):
//! - After an answer it begins to read again only when its own flush has succeeded, so our `poll_flush` is called
//!   with its write buffer empty. The body's drop and the next flush together mean: the answer is on the wire.
//! - It keeps what it reads beyond a request. So it is never given more than one request: a surplus in its buffer
//!   would be overtaken by a later hot answer.
//! - While an answer is in flight it polls for the end of the stream, and then sleeps on that read. So the end of
//!   the answer must wake it by hand if requests are waiting here ([`Layer::answered`]).
//!
//! Mutations that the stress test (`tests/stress.rs`) was seen to catch: no wake in `answered` → a pipeline
//! hangs; idle without waiting for the body's drop → a later answer inside an earlier body; handing hyper the whole
//! buffer instead of one request → answers out of order.
//!
//! Not here: what the bytes mean (`head`; `samovar_policy::Chunked`), which answer is hot (`map`), the engine (`serve`).

mod hyper_io;
mod idle;

use crate::head::{Framing, Known};
use crate::hub::ConnHandle;
use crate::inbuf::InBuf;
use crate::limits::{Overdue, Pace, Wait};
use crate::out::Out;
use crate::reject::BodyRejected;
use crate::wire::Wire;
use bytes::Bytes;
use samovar_policy::{BadChunk, Chunked};
use samovar_reason::Reject;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// How much a client may send ahead of the answer in flight.
const AHEAD_BYTES: usize = 16 << 10;
/// How much is read and thrown away after the sending side was closed.
const LINGER_BYTES: usize = 256 << 10;

/// How the idle loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A request for the engine waits.
    Cold,
    /// The connection is done; drop the layer.
    Closed,
}

#[derive(Debug)]
enum State {
    Idle,
    Head { left: usize, framing: Framing },
    Body(Body),
    Answering,
    Closing(Closing),
}

#[derive(Debug)]
enum Body {
    Length(u64),
    Chunked(Chunked),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    Write,
    Linger { left: usize },
    Done,
}

/// One connection: hyper reads and writes it; hot requests never reach hyper.
///
/// Use it through [`crate::serve`].
pub struct Layer<S> {
    io: S,
    conn: ConnHandle,
    input: InBuf,
    /// The field lines that came last; none before the first head.
    known: Option<Box<Known>>,
    out: Out,
    state: State,
    /// How the body comes that is being read.
    pace: Pace,
    /// The client has shut down its sending side.
    eof: bool,
    /// The stream has failed: nothing more can be written.
    broken: bool,
    /// hyper has written and not flushed: nothing may come between its bytes.
    mid_write: bool,
    /// Something was written that the stream may still hold: TLS keeps what the socket did not take.
    unflushed: bool,
    /// The head of the answer in flight has begun to go out: interim answers come too late.
    head_begun: bool,
    _place: Place,
}

impl<S> Layer<S> {
    pub(crate) fn new(io: S, conn: ConnHandle) -> Layer<S> {
        Layer {
            io,
            _place: Place(conn.clone()),
            conn,
            input: InBuf::default(),
            known: None,
            out: Out::default(),
            state: State::Idle,
            pace: Pace::default(),
            eof: false,
            broken: false,
            mid_write: false,
            unflushed: false,
            head_begun: false,
        }
    }

    /// The handle its requests get.
    pub fn handle(&self) -> ConnHandle {
        self.conn.clone()
    }

    /// Whether [`ConnHandle::accept_upgrade`] was called.
    pub(crate) fn upgraded(&self) -> bool {
        // What the engine has not written by now it would lose: the head of the answer itself.
        let sent = matches!(self.state, State::Idle) && self.out.is_empty() && !self.unflushed;
        self.conn.0.upgrade.get() && sent && !self.broken
    }

    /// Whether the engine has ended only to be let go of, and the connection goes on.
    pub(crate) fn shed_engine(&mut self) -> bool {
        self.conn.0.has_engine(false);
        self.conn.0.shed.take() && matches!(self.state, State::Idle) && !self.broken
    }

    /// The stream, and what was read ahead of the new protocol.
    pub(crate) fn into_parts(self) -> (S, Bytes) {
        (self.io, Bytes::copy_from_slice(self.input.bytes()))
    }

    /// Puts waiting interim answers in line, where they can still go out before the answer.
    fn take_interim(&mut self) {
        if self.mid_write || self.head_begun || matches!(self.state, State::Idle | State::Closing(_)) {
            return;
        }
        for head in self.conn.0.take_interim() {
            self.out.push(head);
        }
    }

    fn wait_for(&self, wait: Wait, restart: bool) {
        // The clock is read only when a wait begins.
        if restart || self.conn.0.wait.get() != wait {
            self.conn.0.wait_for(wait, true, self.conn.0.hub.now_ms());
        }
    }

    /// The edge from in flight to idle.
    fn answered(&mut self, cx: &Context<'_>) {
        self.state = State::Idle;
        let conn = &self.conn.0;
        conn.answered_head_bytes.set(0);
        conn.body_dropped.set(false);
        conn.answering.set(false);
        conn.ahead.set(false);
        conn.end_interim();
        self.head_begun = false;
        self.wait_for(Wait::Idle, true);
        if !self.input.is_empty() || self.eof || conn.hub.draining() {
            // hyper sleeps on a read that returned Pending while the answer was in flight, and the bytes are
            // here already: no socket will wake it.
            cx.waker().wake_by_ref();
        }
    }
}

/// Gives the connection's place in the register up.
struct Place(ConnHandle);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.0.forget();
    }
}

impl<S: Wire> Layer<S> {
    /// Before others have their turn: gives the core's buffers back, and counts what the connection keeps.
    fn settle_input(&mut self) {
        self.input.settle(&self.conn.0.hub.scratch_in);
        self.out.settle(&self.conn.0.hub.scratch_out);
        let input = self.input.own_bytes();
        self.conn.0.holds_heads(input as u64, matches!(self.state, State::Idle) && !self.input.is_empty());
        let answered = usize::try_from(self.conn.0.answered_head_bytes.get()).unwrap_or(usize::MAX);
        let held = input.saturating_add(answered) + self.out.own_bytes() + self.io.own_bytes();
        self.conn.0.holds(held as u64);
    }

    /// Answers hot requests until one comes that is not.
    pub(crate) fn poll_until_cold(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        self.conn.0.watch(cx);
        loop {
            match &self.state {
                State::Idle => match ready!(self.poll_idle(cx)) {
                    Ok(true) => {}
                    Ok(false) => return Poll::Ready(Next::Closed),
                    Err(_) => {
                        self.broken = true;
                        return Poll::Ready(Next::Closed);
                    }
                },
                State::Closing(_) => {
                    ready!(self.poll_close(cx));
                    return Poll::Ready(Next::Closed);
                }
                _ => return Poll::Ready(Next::Cold),
            }
        }
    }

    /// After hyper is done: writes what is owed, and reads on for a while where the client may still be sending.
    pub(crate) fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.conn.0.watch(cx);
        if self.broken {
            return Poll::Ready(());
        }
        if !matches!(self.state, State::Closing(_)) {
            // After an answer that announced the end the client may have sent more before it knew.
            let announced = self.conn.0.last.get() || self.conn.0.hub.draining();
            let unread = matches!(self.state, State::Body(_)) || !self.input.is_empty() || announced;
            if !unread || self.eof {
                return Poll::Ready(());
            }
            self.state = State::Closing(Closing::Write);
        }
        self.poll_close(cx)
    }

    /// The answer in flight has no whole body: nothing more is said, and nothing that vouches for what was (TLS says
    /// `close_notify` at a good end). Where only the connection's end would say that the answer is whole, the client gets a
    /// reset (RFC 9112 §8).
    pub(crate) fn break_off(&mut self) {
        self.broken = true;
        self.io.break_off(self.conn.0.until_close.get());
    }

    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.out.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let mut progress = false;
        self.unflushed = true;
        let scratch = &self.conn.0.hub.scratch_out;
        let polled = self.out.poll_drain_and_give_back(&mut self.io, cx, &mut progress, scratch);
        self.note_write(polled.is_pending(), progress);
        polled
    }

    /// What the stream itself still holds.
    fn poll_flushed(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.io).poll_flush(cx);
        self.unflushed = flushed.is_pending();
        self.note_write(self.unflushed, false);
        flushed
    }

    fn note_write(&self, blocked: bool, progress: bool) {
        if blocked {
            self.conn.0.write_blocked(progress, || self.io.unsent_bytes());
        } else {
            self.conn.0.write_went_on();
        }
    }

    /// Whether the client has taken too little of its answer for too long.
    fn has_stopped_taking(&self) -> bool {
        matches!(self.conn.0.overdue.get(), Some(Overdue::Limit(Reject::SendTimeout))) && !self.takes_on()
    }

    /// Whether it takes enough after all, as the system sees it: then its time begins anew.
    fn takes_on(&self) -> bool {
        let on = self.conn.0.took_enough(self.io.unsent_bytes());
        if on {
            self.conn.0.overdue.set(None);
        }
        on
    }

    /// hyper takes the head.
    fn take_head(&mut self, max: usize, put: &mut dyn FnMut(&[u8])) {
        let State::Head { left, framing } = &mut self.state else { return };
        let n = max.min(*left).min(self.input.len());
        put(self.input.bytes().get(..n).unwrap_or_default());
        self.input.consume(n);
        *left -= n;
        if *left == 0 {
            self.pace = Pace::default();
            let body_max_bytes = self.conn.0.hub.head_limits.get().body_max_bytes;
            self.conn.0.ahead.set(*framing == Framing::None && !self.input.is_empty());
            self.state = match *framing {
                Framing::None => State::Answering,
                Framing::Length(n) => State::Body(Body::Length(n)),
                Framing::Chunked => State::Body(Body::Chunked(Chunked::of_request(body_max_bytes))),
            };
        }
        self.settle_input();
    }

    /// hyper takes some of the body; nothing is put at the end of the stream.
    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        max: usize,
        put: &mut dyn FnMut(&[u8]),
    ) -> Poll<io::Result<()>> {
        if let Some(Overdue::Limit(Reject::BodyTimeout)) = self.conn.0.overdue.get() {
            self.conn.0.overdue.set(None);
            return Poll::Ready(Err(self.refuse_body(Reject::BodyTimeout, cx)));
        }
        if self.input.is_empty() && !self.eof {
            // No more than hyper has room for, so that nothing is copied twice.
            let filled = self.input.poll_fill(&mut self.io, cx, &self.conn.0.hub.scratch_in, max);
            let Poll::Ready(filled) = filled else {
                self.settle_input();
                self.conn.0.wait_for_body(&self.pace);
                return Poll::Pending;
            };
            let came = filled?;
            self.conn.0.body_came(&mut self.pace, came);
            self.eof = came == 0;
        }
        self.wait_for(Wait::Nothing, false);
        let State::Body(body) = &mut self.state else { return Poll::Ready(Ok(())) };
        let here = self.input.bytes();
        let here = here.get(..max.min(here.len())).unwrap_or_default();
        let (used, done) = match body {
            Body::Length(left) => {
                let used = usize::try_from(*left).unwrap_or(usize::MAX).min(here.len());
                *left -= used as u64;
                (used, *left == 0)
            }
            Body::Chunked(chunked) => match chunked.advance(here) {
                Ok(used) => (used, chunked.is_done()),
                Err(BadChunk::Malformed) => return Poll::Ready(Err(self.refuse_body(Reject::BadChunk, cx))),
                Err(BadChunk::TooLarge) => {
                    return Poll::Ready(Err(self.refuse_body(Reject::BodyTooLarge, cx)));
                }
            },
        };
        put(here.get(..used).unwrap_or_default());
        self.input.consume(used);
        if done {
            self.conn.0.ahead.set(!self.input.is_empty());
            self.state = State::Answering;
        }
        self.settle_input();
        Poll::Ready(Ok(()))
    }

    /// Nothing for hyper: reads ahead within bounds, and tells hyper of the end of the stream.
    fn poll_ahead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.eof {
            if self.input.len() >= AHEAD_BYTES {
                // Not a lost wake-up: `answered` wakes when this answer is done.
                self.conn.0.ahead.set(true);
                self.wait_for(Wait::Nothing, false);
                return Poll::Pending;
            }
            // Where memory is short what comes ahead waits in the socket; one byte tells that something does.
            let short = self.conn.0.hub.heads.is_half_full();
            if short && !self.input.is_empty() {
                self.conn.0.ahead.set(true);
                self.wait_for(Wait::Nothing, false);
                return Poll::Pending;
            }
            let room = if short { 1 } else { AHEAD_BYTES - self.input.len() };
            let filled = self.input.poll_fill(&mut self.io, cx, &self.conn.0.hub.scratch_in, room);
            let Poll::Ready(filled) = filled else {
                self.settle_input();
                self.conn.0.ahead.set(!self.input.is_empty());
                self.wait_for(Wait::Nothing, false);
                return Poll::Pending;
            };
            self.eof = filled? == 0;
        }
        self.settle_input();
        self.conn.0.ahead.set(true);
        let over = self.conn.0.overdue.get() == Some(Overdue::HalfClosed);
        if over || self.conn.0.hub.half_close_ms() == 0 {
            return Poll::Ready(Ok(()));
        }
        self.wait_for(Wait::HalfClosed, false);
        Poll::Pending
    }

    /// Puts the answer to a refused head in line.
    fn refuse_head(&mut self, reject: Reject) {
        let head = self.input.bytes();
        let head = head.get(..head.len().min(8 << 10)).unwrap_or_default();
        let answer = self.conn.0.hub.side.on_reject(&self.conn, reject, head);
        self.close_with(reject, answer);
    }

    /// Ends a request in the middle of its body: with an answer of our own if none has begun.
    fn refuse_body(&mut self, reject: Reject, cx: &mut Context<'_>) -> io::Error {
        if self.conn.0.answering.get() {
            self.broken = true;
            self.conn.0.rejected.set(Some(reject));
            self.conn.0.hub.side.on_dropped(&self.conn, reject);
        } else {
            let answer = self.conn.0.hub.side.on_reject(&self.conn, reject, &[]);
            self.close_with(reject, answer);
            // Whatever it returns, `poll_finish` goes on with it.
            let _ = self.poll_close(cx);
        }
        io::Error::other(BodyRejected(reject))
    }

    fn close_with(&mut self, reject: Reject, answer: Bytes) {
        self.conn.0.rejected.set(Some(reject));
        self.out.push(answer);
        self.input.clear();
        self.settle_input();
        self.state = State::Closing(Closing::Write);
        self.wait_for(Wait::Nothing, false);
    }

    /// The client's last request is served: what waits is written, and what came behind the request is never processed
    /// (RFC 9112 §9.6).
    fn close_after_last(&mut self) {
        self.input.clear();
        self.settle_input();
        self.state = State::Closing(Closing::Write);
        self.wait_for(Wait::Nothing, false);
    }

    /// Writes what is owed, closes our side, reads on until the client closes its own.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.broken || self.has_stopped_taking() {
                if !self.broken {
                    self.conn.0.hub.side.on_dropped(&self.conn, Reject::SendTimeout);
                    self.broken = true;
                }
                self.state = State::Closing(Closing::Done);
            }
            match self.state {
                State::Closing(Closing::Write) => {
                    let written = ready!(self.poll_write_close(cx));
                    let linger = written.is_ok() && !self.eof;
                    self.wait_for(Wait::Linger, true);
                    self.state = State::Closing(if linger {
                        Closing::Linger { left: LINGER_BYTES }
                    } else {
                        Closing::Done
                    });
                }
                State::Closing(Closing::Linger { left }) => {
                    if self.conn.0.overdue.get() == Some(Overdue::Linger) {
                        self.state = State::Closing(Closing::Done);
                        continue;
                    }
                    self.input.clear();
                    let filled =
                        self.input.poll_fill(&mut self.io, cx, &self.conn.0.hub.scratch_in, usize::MAX);
                    self.input.clear();
                    self.settle_input();
                    let n = ready!(filled).unwrap_or(0);
                    self.state = State::Closing(match left.checked_sub(n) {
                        Some(left) if n > 0 => Closing::Linger { left },
                        _ => Closing::Done,
                    });
                }
                _ => return Poll::Ready(()),
            }
        }
    }

    fn poll_write_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        ready!(self.poll_flushed(cx))?;
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
