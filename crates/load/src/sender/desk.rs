//! What happens to a connection: connect, send, count, begin anew, give up.
//!
//! One desk per thread; it holds all but the connections themselves and the read buffer, so that both can be
//! borrowed at once. Not here: waiting for events ([`super::worker`]).

use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::conn::{Conn, Exchange, State};
use super::meter::Meter;
use super::wheel::{TICK_NS, Wheel};
use super::{Address, Clock, Message, Shared, socket};
use crate::pacer::{Pacer, Phase, Start};
use crate::plan::Plan;
use crate::tally::series::Slice;
use crate::tally::{Answer, Failure, Tally};
use crate::wire::{Coding, Ending, Head, Progress};

/// One answer in so many of a connection has its body decoded, if it is coded; the first always.
const SAMPLE_EVERY: u64 = 1024;
/// Longest coded body that is decoded.
const SAMPLE_LIMIT_BYTES: usize = 4 * 1024 * 1024;
/// Coded bodies under way to the decoder at most, over all threads.
const SAMPLES_OUT: usize = 4;
/// Connects that must fail on each connection, with none made anywhere, before the target counts as unreachable.
const HOPELESS_AFTER: u32 = 3;

pub(super) struct Desk<'a> {
    pub plan: &'a Plan,
    pub addresses: &'a [Vec<Address>],
    pub shared: &'a Shared,
    pub clock: Clock,
    pub epoll: OwnedFd,
    pub wheel: Wheel,
    pub pacer: Pacer,
    pub tally: Tally,
    pub meter: Meter,
    pub slice: Slice,
    pub out: Sender<Message>,
    /// Connections that are not done.
    pub live: usize,
    /// Measured requests in flight.
    pub measuring: usize,
    /// Per origin, which of its requests is next.
    pub turns: Vec<usize>,
    /// Per origin, the address that worked last.
    pub preferred: Vec<usize>,
    pub window_start_ns: u64,
    pub window_end_ns: u64,
}

impl Desk<'_> {
    /// Connects, if there is something to send; tries the addresses of the origin in turn.
    pub(super) fn open(&mut self, conn: &mut Conn, id: u32, now_ns: u64) {
        loop {
            if conn.permit.is_none() {
                conn.permit = self.pacer.admit(now_ns);
                if conn.permit.is_none() {
                    return self.retire(conn);
                }
                conn.address = self.preferred.get(conn.origin).copied().unwrap_or(0);
                conn.tried = 0;
            }
            let Some(address) = self.addresses.get(conn.origin).and_then(|all| all.get(conn.address)) else {
                return self.retire(conn);
            };
            self.tally.counts.connect_attempts += 1;
            let error = match socket::connect(address).and_then(|fd| self.watch(conn, id, fd)) {
                Ok(()) => {
                    conn.state = State::Connecting;
                    conn.connect_started_ns = now_ns;
                    return self.set_deadline(conn, id, now_ns.saturating_add(self.plan.timeout_ns));
                }
                Err(error) => error,
            };
            if !self.connect_failed(conn, id, socket::connect_failure(error), &socket::text(error), now_ns) {
                return;
            }
        }
    }

    fn watch(&mut self, conn: &mut Conn, id: u32, socket: OwnedFd) -> Result<(), Errno> {
        conn.generation = conn.generation.wrapping_add(1);
        conn.interest = EventFlags::OUT;
        epoll::add(&self.epoll, &socket, token(id, conn.generation), conn.interest)?;
        conn.socket = Some(socket);
        Ok(())
    }

    fn set_interest(&mut self, conn: &mut Conn, id: u32, interest: EventFlags) {
        if let Some(socket) = conn.socket.as_ref().filter(|_| conn.interest != interest) {
            // Cannot fail for a socket that is watched; if it does, the request's deadline ends it.
            let _ = epoll::modify(&self.epoll, socket, token(id, conn.generation), interest);
            conn.interest = interest;
        }
    }

    /// Counts a failed connect, or turns to the next address; whether to try again at once.
    pub(super) fn connect_failed(
        &mut self,
        conn: &mut Conn,
        id: u32,
        failure: Failure,
        why: &str,
        now_ns: u64,
    ) -> bool {
        conn.socket = None;
        conn.tried += 1;
        let addresses = self.addresses.get(conn.origin).map_or(0, Vec::len);
        let address = self.addresses.get(conn.origin).and_then(|all| all.get(conn.address));
        let named = address.map_or_else(String::new, ToString::to_string);
        conn.address = (conn.address + 1) % addresses.max(1);
        if conn.tried < addresses {
            return true;
        }
        conn.tried = 0;
        self.slice.failures += 1;
        self.tally.fail(failure, None, now_ns, || format!("{named}: {why}"));
        if conn.failures_in_row == 0 {
            conn.failing_since_ns = now_ns;
        }
        conn.failures_in_row += 1;
        let hopeless =
            conn.failures_in_row >= HOPELESS_AFTER && !self.shared.connected.load(Ordering::Relaxed);
        let endless = self.pacer.schedule().measure_ns.is_none()
            && now_ns.saturating_sub(conn.failing_since_ns) > self.plan.timeout_ns;
        if hopeless || endless {
            self.retire(conn);
        } else {
            conn.state = State::Resting;
            let pause_ns = TICK_NS << (conn.failures_in_row - 1).min(3);
            self.set_deadline(conn, id, now_ns.saturating_add(pause_ns));
        }
        false
    }

    /// The connect is decided.
    pub(super) fn connected(&mut self, conn: &mut Conn, id: u32) {
        let now_ns = self.clock.now_ns();
        let Some(socket) = conn.socket.as_ref() else { return };
        if let Err(error) = socket::connect_result(socket) {
            if self.connect_failed(conn, id, socket::connect_failure(error), &socket::text(error), now_ns) {
                self.open(conn, id, now_ns);
            }
            return;
        }
        self.tally.connect.record(now_ns.saturating_sub(conn.connect_started_ns));
        let counts = &mut self.tally.counts;
        counts.connections += 1;
        counts.connections_open += 1;
        counts.connections_peak = counts.connections_peak.max(counts.connections_open);
        if let Some(preferred) = self.preferred.get_mut(conn.origin) {
            *preferred = conn.address;
        }
        if !self.shared.connected.load(Ordering::Relaxed) {
            self.shared.connected.store(true, Ordering::Relaxed);
        }
        conn.failures_in_row = 0;
        self.begin(conn, id, now_ns);
    }

    /// Sends the next request of an open connection, if there is one.
    pub(super) fn begin(&mut self, conn: &mut Conn, id: u32, now_ns: u64) {
        let Some(permit) = conn.permit.take().or_else(|| self.pacer.admit(now_ns)) else {
            self.set_interest(conn, id, EventFlags::IN);
            return self.retire(conn);
        };
        let Start::Now(phase) = self.pacer.start(permit, now_ns) else {
            self.set_interest(conn, id, EventFlags::IN);
            return self.retire(conn);
        };
        let plan = self.plan;
        let Some(origin) = plan.origins.get(conn.origin) else { return self.retire(conn) };
        let Some(turn) = self.turns.get_mut(conn.origin) else { return self.retire(conn) };
        let index = origin.requests.get(*turn).copied().unwrap_or(0);
        let Some(request) = plan.requests.get(index) else { return self.retire(conn) };
        *turn = if *turn + 1 < origin.requests.len() { *turn + 1 } else { 0 };
        conn.reader.reset(request.is_head);
        conn.exchange = Exchange {
            request: index,
            phase,
            started_ns: now_ns,
            first_byte_ns: None,
            written: 0,
            read_bytes: 0,
            cut_off: false,
        };
        if conn.answers.is_multiple_of(SAMPLE_EVERY) {
            conn.sample = Some(Vec::new());
        }
        conn.state = State::Busy;
        self.tally.counts.all_requests += 1;
        if phase == Phase::Measure {
            self.tally.counts.requests += 1;
            self.measuring += 1;
        }
        self.set_deadline(conn, id, now_ns.saturating_add(plan.timeout_ns));
        self.write(conn, id);
    }

    /// Writes what is left of the request; waits for room only when there is none.
    pub(super) fn write(&mut self, conn: &mut Conn, id: u32) {
        let plan = self.plan;
        let bytes = plan.requests.get(conn.exchange.request).map_or(&[][..], |request| &request.bytes);
        while let Some(rest) = bytes.get(conn.exchange.written..).filter(|rest| !rest.is_empty()) {
            let Some(socket) = conn.socket.as_ref().filter(|_| !conn.exchange.cut_off) else { break };
            match socket::write(socket, rest) {
                Ok(written) => {
                    conn.exchange.written += written;
                    self.tally.counts.socket_writes += 1;
                    if conn.exchange.phase == Phase::Measure {
                        self.tally.counts.window_written_bytes += written as u64;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return self.set_interest(conn, id, EventFlags::IN | EventFlags::OUT),
                // An answer may already be here (413 and close); reading will say what happened.
                Err(_) => conn.exchange.cut_off = true,
            }
        }
        self.set_interest(conn, id, EventFlags::IN);
    }

    /// Takes bytes of the answer; whether the exchange goes on.
    pub(super) fn take(&mut self, conn: &mut Conn, id: u32, input: &[u8], now_ns: u64) -> bool {
        self.tally.counts.socket_reads += 1;
        if (self.window_start_ns..self.window_end_ns).contains(&now_ns) {
            self.tally.counts.window_read_bytes += input.len() as u64;
        }
        self.slice.read_bytes += input.len() as u64;
        conn.exchange.read_bytes += input.len() as u64;
        conn.exchange.first_byte_ns.get_or_insert(now_ns);
        let fed = match conn.sample.as_mut() {
            None => conn.reader.feed(input, &mut |_| {}),
            Some(kept) => conn.reader.feed(input, &mut |piece| {
                if kept.len() + piece.len() <= SAMPLE_LIMIT_BYTES {
                    kept.extend_from_slice(piece);
                }
            }),
        };
        match fed {
            Ok(Progress::More) => return true,
            Ok(Progress::Done(used)) if used == input.len() => self.finish(conn, id, now_ns),
            Ok(Progress::Done(used)) => {
                let more = input.len() - used;
                self.fail(conn, id, Failure::Excess, now_ns, || {
                    format!("{more} bytes after the end of the answer")
                });
            }
            Err(malformed) => {
                let start = String::from_utf8_lossy(input.get(..input.len().min(60)).unwrap_or_default())
                    .into_owned();
                self.fail(conn, id, Failure::Parse, now_ns, || format!("{}: {start:?}", malformed.text()));
            }
        }
        false
    }

    /// The server closed.
    pub(super) fn closed(&mut self, conn: &mut Conn, id: u32, now_ns: u64) {
        match conn.reader.end() {
            Ending::Whole => self.finish(conn, id, now_ns),
            Ending::NoHead => {
                let read = conn.exchange.read_bytes;
                self.fail(conn, id, Failure::Closed, now_ns, || {
                    format!("closed after {read} bytes of the answer")
                });
            }
            Ending::ShortBody => {
                let body = conn.reader.body_bytes();
                self.fail(conn, id, Failure::ShortBody, now_ns, || {
                    format!("closed after {body} bytes of the body")
                });
            }
        }
    }

    fn finish(&mut self, conn: &mut Conn, id: u32, now_ns: u64) {
        let Some(head) = conn.reader.head().copied() else { return };
        let exchange = &conn.exchange;
        let last_byte_ns = now_ns.saturating_sub(exchange.started_ns);
        if (self.window_start_ns..self.window_end_ns).contains(&now_ns) {
            self.tally.counts.window_answers += 1;
        }
        self.slice.answers += 1;
        self.slice.times.record(last_byte_ns / 1000);
        if exchange.phase == Phase::Measure {
            self.measuring -= 1;
            self.tally.answer(
                &Answer {
                    status: head.status,
                    cached: head.cached,
                    coding: head.coding,
                    first_byte_ns: exchange
                        .first_byte_ns
                        .unwrap_or(now_ns)
                        .saturating_sub(exchange.started_ns),
                    last_byte_ns,
                    head_bytes: conn.reader.head_bytes(),
                    body_bytes: conn.reader.body_bytes(),
                    wire_read_bytes: exchange.read_bytes,
                    wire_written_bytes: exchange.written as u64,
                },
                now_ns,
            );
        }
        conn.answers += 1;
        if let Some(body) = conn.sample.take() {
            self.offer_sample(conn, head, body);
        }
        let sent = self
            .plan
            .requests
            .get(conn.exchange.request)
            .is_some_and(|r| r.bytes.len() == conn.exchange.written);
        if head.keep_alive && self.plan.keep_alive && sent {
            self.begin(conn, id, now_ns);
        } else {
            self.close(conn);
            self.open(conn, id, now_ns);
        }
    }

    fn offer_sample(&mut self, conn: &Conn, head: Head, body: Vec<u8>) {
        let whole = body.len() as u64 == conn.reader.body_bytes() && !body.is_empty();
        if head.coding == Coding::Gzip
            && whole
            && self.shared.samples_out.load(Ordering::Relaxed) < SAMPLES_OUT
        {
            self.shared.samples_out.fetch_add(1, Ordering::Relaxed);
            // Nobody listens any more only when the run is being torn down.
            let _ = self.out.send(Message::Sample(body));
        }
    }

    /// The exchange failed; the connection is of no further use.
    pub(super) fn fail(
        &mut self,
        conn: &mut Conn,
        id: u32,
        failure: Failure,
        now_ns: u64,
        why: impl FnOnce() -> String,
    ) {
        self.slice.failures += 1;
        if conn.exchange.phase == Phase::Measure {
            self.measuring -= 1;
            let url =
                self.plan.requests.get(conn.exchange.request).map_or("", |request| request.url.as_str());
            let after_ns = now_ns.saturating_sub(conn.exchange.started_ns);
            self.tally.fail(failure, Some(after_ns), now_ns, || format!("{url}: {}", why()));
        } else {
            self.tally.counts.unmeasured_failures += 1;
        }
        conn.sample = None;
        self.close(conn);
        self.open(conn, id, now_ns);
    }

    /// Closes an open connection.
    pub(super) fn close(&mut self, conn: &mut Conn) {
        if conn.socket.take().is_some() {
            self.tally.counts.connections_open = self.tally.counts.connections_open.saturating_sub(1);
        }
        conn.state = State::Resting;
        conn.deadline_ns = None;
    }

    /// Nothing more to send here.
    fn retire(&mut self, conn: &mut Conn) {
        if let Some(permit) = conn.permit.take() {
            self.pacer.give_back(permit);
        }
        conn.state = State::Done;
        conn.deadline_ns = None;
        self.live -= 1;
    }

    /// Sets the deadline; enters the wheel only if it would not look in time by itself.
    fn set_deadline(&mut self, conn: &mut Conn, id: u32, deadline_ns: u64) {
        conn.deadline_ns = Some(deadline_ns);
        if conn
            .wheel_tick
            .is_none_or(|tick| tick.saturating_mul(TICK_NS) > deadline_ns.saturating_add(TICK_NS))
        {
            conn.wheel_tick = Some(self.wheel.enter(id, deadline_ns));
        }
    }

    /// The wheel looked at this connection at `tick`.
    pub(super) fn wheel_came(&mut self, conn: &mut Conn, id: u32, tick: u64, now_ns: u64) {
        if conn.wheel_tick == Some(tick) {
            conn.wheel_tick = None;
        }
        let Some(deadline_ns) = conn.deadline_ns else { return };
        if deadline_ns > now_ns {
            return self.set_deadline(conn, id, deadline_ns);
        }
        conn.deadline_ns = None;
        let waited_s = self.plan.timeout_ns as f64 / 1e9;
        match conn.state {
            State::Resting => self.open(conn, id, now_ns),
            State::Connecting => {
                let why = format!("no connection within {waited_s} s");
                if self.connect_failed(conn, id, Failure::ConnectTimeout, &why, now_ns) {
                    self.open(conn, id, now_ns);
                }
            }
            State::Busy => {
                let read = conn.exchange.read_bytes;
                let why = || format!("no whole answer within {waited_s} s, {read} bytes of it came");
                self.fail(conn, id, Failure::Timeout, now_ns, why);
            }
            State::Done => {}
        }
    }

    /// Hands in the finished second, if it is over.
    pub(super) fn roll(&mut self, now_ns: u64, at_end: bool) {
        let second = now_ns / 1_000_000_000;
        if second > self.slice.second || at_end {
            let next = Slice { second, ..Slice::default() };
            let full = std::mem::replace(&mut self.slice, next);
            if !full.is_empty() {
                // Nobody listens any more only when the run is being torn down.
                let _ = self.out.send(Message::Slice(full));
            }
        }
    }
}

/// What comes back with an event: the slot, and which of its sockets.
fn token(id: u32, generation: u32) -> EventData {
    EventData::new_u64(u64::from(generation) << 32 | u64::from(id))
}
