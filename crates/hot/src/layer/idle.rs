//! Between requests: parse what came, answer what is hot, read more.
//!
//! Not here: what happens to a request once it is cold.

use super::{Layer, State};
use crate::head::{self, Head, Persistence};
use crate::heads::LARGE_BYTES;
use crate::hub::{ConnHandle, HotHit};
use crate::limits::{Overdue, Wait};
use crate::map::HotMap;
use crate::out::{COPY_MAX_BYTES, HIGH_WATER_BYTES, Out, pieces};
use crate::prepared::Prepared;
use crate::share::Share;
use crate::wire::Wire;
use samovar_reason::{Hot, Reject};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

/// How far [`Layer::take_heads`] came.
enum Heads {
    /// All whole heads are answered; more bytes are needed.
    More,
    /// Enough answers wait to be written.
    Full,
    /// The next request is the engine's.
    Cold(State),
    /// The next head is refused.
    Rejected(Reject),
    /// The next request is the connection's last, if nothing comes behind it.
    PerhapsLast,
    /// The request just served is the connection's last, as its client wishes; the response waits to be written.
    Ended,
}

impl<S: Wire> Layer<S> {
    /// Runs until there is something else to do: `true` with another state than idle, `false` if the connection
    /// is to be closed without another word.
    pub(super) fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let polled = self.poll_idle_inner(cx);
        // A cold head stays where it is: it is copied out only if hyper cannot take it in this poll.
        if polled.is_pending() {
            self.settle_input();
        }
        polled
    }

    fn poll_idle_inner(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if let Some(over) = self.conn.0.overdue.take()
            && let Some(ended) = self.overdue_while_idle(over)
        {
            return Poll::Ready(ended);
        }
        let mut served = false;
        let mut now_ns = 0;
        loop {
            if !self.input.is_empty() {
                now_ns = self.conn.0.hub.side.now_ns();
            }
            match self.take_heads(cx, now_ns, &mut served)? {
                Heads::More => {}
                Heads::Full => {
                    ready!(self.poll_send(cx))?;
                    continue;
                }
                Heads::Cold(state) => {
                    ready!(self.poll_send(cx))?;
                    self.begin_cold(state, now_ns);
                    return Poll::Ready(Ok(true));
                }
                Heads::Rejected(reject) => {
                    self.refuse_head(reject);
                    return Poll::Ready(Ok(true));
                }
                Heads::Ended => {
                    self.close_after_last();
                    return Poll::Ready(Ok(true));
                }
                Heads::PerhapsLast => {
                    ready!(self.poll_send(cx))?;
                    let more =
                        self.input.poll_fill(&mut self.io, cx, &self.conn.0.hub.scratch_in, usize::MAX);
                    self.eof = matches!(more, Poll::Ready(Ok(0)));
                    self.conn.0.last.set(self.eof || more?.is_pending());
                    continue;
                }
            }
            ready!(self.poll_send(cx))?;
            if self.eof {
                return Poll::Ready(Ok(false));
            }
            if !self.input.is_empty() && self.conn.0.hub.heads.is_waiting() {
                // Whoever gave way has its turn first.
                cx.waker().wake_by_ref();
                self.wait_for(Wait::Head, false);
                return Poll::Pending;
            }
            match self.input.poll_fill(&mut self.io, cx, &self.conn.0.hub.scratch_in, usize::MAX) {
                Poll::Ready(filled) => self.eof = filled? == 0,
                // What has come is read first, whoever closes: a request may have been on its way.
                Poll::Pending if self.input.is_empty() && self.has_had_its_time() => {
                    return Poll::Ready(Ok(false));
                }
                Poll::Pending if !self.input.is_empty() && self.conn.0.hub.heads.is_flooded() => {
                    self.refuse_head(Reject::HeadGaveWay);
                    return Poll::Ready(Ok(true));
                }
                Poll::Pending => {
                    let wait = if self.input.is_empty() { Wait::Idle } else { Wait::Head };
                    if served {
                        // The clock was read for what was served.
                        self.conn.0.wait_for(wait, true, now_ns / 1_000_000);
                    } else {
                        self.wait_for(wait, false);
                    }
                    return Poll::Pending;
                }
            }
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.out.is_empty() && !self.unflushed {
            return Poll::Ready(Ok(()));
        }
        let sent = self.poll_drain(cx)?.is_ready() && self.poll_flushed(cx)?.is_ready();
        if sent {
            return Poll::Ready(Ok(()));
        }
        // Not the client's silence but its slowness: only the limit on sending counts.
        self.wait_for(Wait::Nothing, false);
        Poll::Pending
    }

    /// Whether an idle connection is to end now. Nothing has come that would be lost by it.
    fn has_had_its_time(&self) -> bool {
        let conn = &self.conn.0;
        if conn.hub.closes_idle() {
            return true;
        }
        // The clock is not read for each hit where nobody asked for this.
        conn.hub.allowance.get().has_lifetime() && conn.is_too_old(conn.hub.now_ms())
    }

    /// What the sweep found, if it still holds.
    fn overdue_while_idle(&mut self, over: Overdue) -> Option<io::Result<bool>> {
        let Overdue::Limit(why) = over else { return None };
        match why {
            Reject::HeadTimeout | Reject::HeadGaveWay if !self.input.is_empty() => {
                self.refuse_head(why);
                Some(Ok(true))
            }
            Reject::IdleTimeout if self.input.is_empty() => {
                self.conn.0.hub.side.on_dropped(&self.conn, why);
                Some(Ok(false))
            }
            Reject::SendTimeout if self.takes_on() => None,
            Reject::SendTimeout => {
                self.conn.0.hub.side.on_dropped(&self.conn, why);
                Some(Err(io::ErrorKind::TimedOut.into()))
            }
            _ => None,
        }
    }

    /// Whether a large head may go to the engine, which holds it until its answer is made: then it is counted there.
    fn has_room_for(&self, head_bytes: usize) -> bool {
        let conn = &self.conn.0;
        // Its own buffer is given back when the engine takes the head; until then it is no longer an unfinished one.
        conn.holds_heads(0, false);
        conn.hub.make_room_for_heads(head_bytes as u64)
    }

    fn begin_cold(&mut self, state: State, now_ns: u64) {
        let conn = &self.conn.0;
        if let State::Head { left, .. } = state
            && left > LARGE_BYTES
        {
            conn.answered_head_bytes.set(left as u64);
        }
        conn.requests.set(conn.requests.get() + 1);
        conn.arrival_ns.set(now_ns);
        conn.rejected.set(None);
        conn.answering.set(false);
        conn.body_dropped.set(false);
        conn.wait.set(Wait::Nothing);
        self.state = state;
    }

    /// Answers whole heads in the input as long as they are hot.
    fn take_heads(&mut self, cx: &mut Context<'_>, now_ns: u64, served: &mut bool) -> io::Result<Heads> {
        if self.input.is_empty() {
            return Ok(Heads::More);
        }
        let hub = Rc::clone(&self.conn.0.hub);
        let map = hub.map.borrow();
        self.out.borrow(&hub.scratch_out);
        loop {
            if self.out.len() >= HIGH_WATER_BYTES {
                return Ok(Heads::Full);
            }
            if let Some(end) = self.take_head_if_hot(cx, &map, now_ns)? {
                return Ok(end);
            }
            *served = true;
        }
    }

    /// Answers the next head if it is hot; otherwise says what it is.
    fn take_head_if_hot(
        &mut self,
        cx: &mut Context<'_>,
        map: &HotMap,
        now_ns: u64,
    ) -> io::Result<Option<Heads>> {
        if self.input.scanned == 0 {
            match head::leading_empty_lines(self.input.bytes()) {
                Ok(0) => {}
                Ok(n) => self.input.consume(n),
                Err(reject) => return Ok(Some(Heads::Rejected(reject))),
            }
        }
        // Half of an empty line is not yet the beginning of a head.
        if matches!(self.input.bytes(), b"" | b"\r") {
            return Ok(Some(Heads::More));
        }
        let Layer { io, conn, input, known, out, unflushed, .. } = self;
        let mut limits = conn.0.hub.head_limits.get();
        limits.fields_max = limits.fields_max.min(conn.0.fields_max);
        let mut scanned = input.scanned;
        let here = input.bytes();
        let mut way = Way { io, conn, out, unflushed, here_bytes: here.len(), now_ns };
        let equal =
            known.as_deref().filter(|_| scanned == 0).and_then(|known| known.recognise(here, &limits));
        let taken = match equal {
            Some(head) => way.answer(cx, map, &head)?,
            None => {
                let mut slots = head::slots();
                let parsed = match head::parse(here, &mut scanned, &mut slots, &limits) {
                    Ok(Some(parsed)) => parsed,
                    Ok(None) => {
                        input.scanned = scanned;
                        return Ok(Some(Heads::More));
                    }
                    Err(reject) => return Ok(Some(Heads::Rejected(reject))),
                };
                known.get_or_insert_default().learn(&parsed, here);
                way.answer(cx, map, &parsed)?
            }
        };
        match taken {
            Ok((len_bytes, ends)) => {
                input.consume(len_bytes);
                Ok(ends.then_some(Heads::Ended))
            }
            Err(Heads::Cold(State::Head { left, .. })) if left > LARGE_BYTES && !self.has_room_for(left) => {
                Ok(Some(Heads::Rejected(Reject::HeadsFull)))
            }
            Err(what) => Ok(Some(what)),
        }
    }
}

/// What an answer needs of a connection beside the head it is for.
struct Way<'a, S> {
    io: &'a mut S,
    conn: &'a ConnHandle,
    out: &'a mut Out,
    unflushed: &'a mut bool,
    /// How many bytes of input there are, the head's included.
    here_bytes: usize,
    now_ns: u64,
}

impl<S: Wire> Way<'_, S> {
    /// Answers a head if it is hot, and says how long it is and whether the connection ends with it; otherwise says what
    /// it is.
    fn answer(
        &mut self,
        cx: &mut Context<'_>,
        map: &HotMap,
        head: &Head<'_, '_>,
    ) -> io::Result<Result<(usize, bool), Heads>> {
        let (now_ns, conn) = (self.now_ns, &self.conn.0);
        if conn.is_used_up(now_ns / 1_000_000) {
            let alone = self.here_bytes == head.len_bytes;
            if alone && !conn.last.get() {
                return Ok(Err(Heads::PerhapsLast));
            }
            conn.last.set(alone || head.framing != head::Framing::None);
        }
        let (prepared, share) = match look(map, self.conn, head, now_ns) {
            Ok(found) => found,
            Err(why) => return Ok(Err(not_hot(self.conn, head, why))),
        };
        let mut progress = false;
        let persistence = head.seen.persistence;
        let what = (&**prepared, share, persistence);
        let body_bytes = put_answer(self.out, self.io, cx, what, now_ns, &mut progress)?;
        if progress {
            *self.unflushed = true;
            conn.write_went_on();
        }
        conn.requests.set(conn.requests.get() + 1);
        conn.hub.side.on_hot(self.conn, HotHit { prepared, share, head, body_bytes, now_ns });
        Ok(Ok((head.len_bytes, persistence.ends())))
    }
}

/// Puts an answer in line, a large one straight into the socket; returns the bytes of its body.
fn put_answer<S: AsyncWrite + Unpin>(
    out: &mut Out,
    io: &mut S,
    cx: &mut Context<'_>,
    (prepared, share, persistence): (&Prepared, Share, Persistence),
    now_ns: u64,
    progress: &mut bool,
) -> io::Result<u64> {
    let head_at = out.buf.len();
    prepared.write_head_of(share, now_ns / 1_000_000, &mut out.buf);
    if persistence != Persistence::Persistent {
        persistence.adapt_head(&mut out.buf, head_at);
    }
    let (start, end) = share.bytes(prepared.body_bytes());
    let bytes = end.saturating_sub(start);
    if bytes > COPY_MAX_BYTES {
        out.write_through(io, cx, prepared.body(), (start, end), progress)?;
    } else if bytes == prepared.body_bytes() {
        prepared.body().iter().for_each(|chunk| out.buf.extend_from_slice(chunk));
    } else {
        pieces(prepared.body(), start, end).for_each(|piece| out.buf.extend_from_slice(piece));
    }
    Ok(bytes)
}

/// A request for the engine, if it is one at all.
fn not_hot(conn: &ConnHandle, head: &Head<'_, '_>, why: Hot) -> Heads {
    match head.check_for_engine() {
        Err(reject) => Heads::Rejected(reject),
        Ok(()) => {
            conn.0.refusal.set(Some(why));
            conn.0.of_the_server.set(head.is_of_the_server());
            Heads::Cold(State::Head { left: head.len_bytes, framing: head.framing })
        }
    }
}

/// Looks a request up. The epoch is loaded for each one, as the entry's state is.
fn look<'m>(
    map: &'m HotMap,
    conn: &ConnHandle,
    head: &Head<'_, '_>,
    now_ns: u64,
) -> Result<(&'m Arc<Prepared>, Share), Hot> {
    let hub = &conn.0.hub;
    if hub.draining() {
        return Err(Hot::Draining);
    }
    if conn.0.last.get() {
        return Err(Hot::LastOfConnection);
    }
    let prepared = map.look(conn.0.listener(), head, now_ns / 1_000_000, hub.side.epoch())?;
    Ok((prepared, Share::of(prepared, head)?))
}
