//! What the clients of a thread share, and how their connections come and go: connect, handshake, close, give up.
//!
//! One desk per thread; it holds all but the clients themselves and the read buffer, so that both can be borrowed at once.
//! Not here: what is asked next ([`super::course`]), the exchange itself ([`super::exchange`]), waiting ([`super::worker`]).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::client::{Client, State};
use super::ledger::Ledger;
use super::meter::Meter;
use super::sampling::Sampling;
use super::timers::Timers;
use super::tls::{Broken, Session};
use super::wheel::{TICK_NS, Wheel};
use super::{Address, Clock, Message, Shared, refusal, socket};
use crate::check::First;
use crate::pacer::{Arrivals, Pacer};
use crate::plan::{Place, Plan};
use crate::tally::series::Slice;
use crate::tally::{Failure, Rows, Span};

/// Connects that must fail on each connection, with none made anywhere, before the target counts as unreachable.
const HOPELESS_AFTER: u32 = 3;

pub(super) struct Desk<'a> {
    pub plan: &'a Plan,
    pub addresses: &'a [Vec<Address>],
    pub tls: Option<&'a Arc<ClientConfig>>,
    pub shared: &'a Shared,
    pub clock: Clock,
    pub epoll: OwnedFd,
    pub wheel: Wheel,
    pub timers: Timers,
    pub pacer: Pacer,
    /// When requests of an open loop are due.
    pub arrivals: Option<Arrivals>,
    /// Clients of an open loop that have nothing to do, and a connection.
    pub ready: Vec<u32>,
    /// Those without.
    pub unready: Vec<u32>,
    /// When the next round of a throttled closed loop may begin.
    pub slot_ns: u64,
    pub slot_gap_ns: u64,
    /// Whether a request was refused because enough were counted: clients of an open loop that have nothing to do would
    /// learn it one by one, each when its next is due.
    pub spent: bool,
    /// Whether all clients take part all the time.
    pub everyone: bool,
    pub ledger: Ledger,
    /// Results of each request.
    pub rows: Rows,
    /// Results of each round.
    pub rounds: Rows,
    pub first: First,
    pub sampling: Sampling,
    pub meter: Meter,
    pub slice: Slice,
    pub out: Sender<Message>,
    /// Clients that are not done.
    pub live: usize,
    /// Per home, which of its requests is next.
    pub turns: Vec<usize>,
    /// Per origin, the address that worked last.
    pub preferred: Vec<usize>,
}

impl Desk<'_> {
    /// Connects for what is pending; tries the addresses of the origin in turn.
    pub(super) fn open(&mut self, client: &mut Client, id: u32, now_ns: u64) {
        if client.tried == 0 && client.failures_in_row == 0 {
            let count = self.addresses.get(client.origin).map_or(1, |all| all.len().max(1));
            client.address = match self.plan.load.spread {
                true => client.index % count,
                false => self.preferred.get(client.origin).copied().unwrap_or(0),
            };
        }
        loop {
            let Some(address) = self.addresses.get(client.origin).and_then(|all| all.get(client.address))
            else {
                return self.retire(client);
            };
            let step = self.step_at(now_ns);
            self.ledger.now(step).connect_attempts += 1;
            let sources = &self.plan.load.sources;
            let source = sources.get(client.index % sources.len().max(1)).copied();
            let error = match socket::connect(address, source).and_then(|fd| self.watch(client, id, fd)) {
                Ok(()) => {
                    client.state = State::Connecting;
                    client.connect_started_ns = now_ns;
                    self.ledger.now(step).connects_async += 1;
                    let counts = self.ledger.counts();
                    counts.connecting += 1;
                    counts.connecting_peak = counts.connecting_peak.max(counts.connecting);
                    return self.set_deadline(client, id, now_ns.saturating_add(self.plan.load.timeout_ns));
                }
                Err(error) => error,
            };
            if !self.connect_failed(client, id, socket::connect_failure(error), &socket::text(error), now_ns)
            {
                return;
            }
        }
    }

    /// The step that is measured now, if one is.
    fn step_at(&self, now_ns: u64) -> Option<u16> {
        self.plan.load.schedule.phase_at(now_ns).measured()
    }

    /// A connect is no longer in flight, if one was.
    fn decided(&mut self, client: &mut Client) {
        if client.state == State::Connecting {
            // Not twice: who comes here next finds it resting.
            client.state = State::Resting;
            let counts = self.ledger.counts();
            counts.connecting = counts.connecting.saturating_sub(1);
        }
    }

    fn watch(&mut self, client: &mut Client, id: u32, socket: OwnedFd) -> Result<(), Errno> {
        client.generation = client.generation.wrapping_add(1);
        client.interest = EventFlags::OUT;
        epoll::add(&self.epoll, &socket, token(id, client.generation), client.interest)?;
        client.socket = Some(socket);
        Ok(())
    }

    pub(super) fn set_interest(&mut self, client: &mut Client, id: u32, interest: EventFlags) {
        if let Some(socket) = client.socket.as_ref().filter(|_| client.interest != interest) {
            // Cannot fail for a socket that is watched; if it does, the request's deadline ends it.
            let _ = epoll::modify(&self.epoll, socket, token(id, client.generation), interest);
            client.interest = interest;
        }
    }

    /// Counts a failed connect, or turns to the next address; whether to try again at once.
    pub(super) fn connect_failed(
        &mut self,
        client: &mut Client,
        id: u32,
        failure: Failure,
        why: &str,
        now_ns: u64,
    ) -> bool {
        (client.socket, client.tls) = (None, None);
        client.tried += 1;
        let addresses = self.addresses.get(client.origin).map_or(0, Vec::len);
        let address = self.addresses.get(client.origin).and_then(|all| all.get(client.address));
        let named = address.map_or_else(String::new, ToString::to_string);
        client.address = (client.address + 1) % addresses.max(1);
        if client.tried < addresses {
            return true;
        }
        client.tried = 0;
        self.slice.failures += 1;
        let step = self.step_at(now_ns);
        self.ledger.tally_now(step).fail(failure, None, now_ns, || format!("{named}: {why}"));
        if client.failures_in_row == 0 {
            client.failing_since_ns = now_ns;
        } else {
            self.ledger.now(step).connects_failed_in_a_row += 1;
        }
        client.failures_in_row += 1;
        let hopeless =
            client.failures_in_row >= HOPELESS_AFTER && !self.shared.connected.load(Ordering::Relaxed);
        let endless = self.plan.load.schedule.window_end_ns().is_none()
            && now_ns.saturating_sub(client.failing_since_ns) > self.plan.load.timeout_ns;
        if hopeless || endless {
            self.retire(client);
        } else {
            client.state = State::Resting;
            let pause_ns = TICK_NS << (client.failures_in_row - 1).min(3);
            self.set_deadline(client, id, now_ns.saturating_add(pause_ns));
        }
        false
    }

    /// The connect is decided.
    pub(super) fn connected(&mut self, client: &mut Client, id: u32) {
        let now_ns = self.clock.now_ns();
        let Some(socket) = client.socket.as_ref() else { return };
        let result = socket::connect_result(socket);
        self.decided(client);
        if let Err(error) = result {
            if self.connect_failed(client, id, socket::connect_failure(error), &socket::text(error), now_ns) {
                self.open(client, id, now_ns);
            }
            return;
        }
        self.ledger.whole.record(Span::Connect, now_ns.saturating_sub(client.connect_started_ns));
        match self.session(client) {
            None => self.established(client, id, now_ns),
            Some(Err(why)) => self.shaking_failed(client, id, &why, now_ns),
            Some(Ok(session)) => {
                client.tls = Some(Box::new(session));
                client.state = State::Shaking;
                // The handshake has a time of its own, from here.
                client.connect_started_ns = now_ns;
                self.shake(client, id, now_ns);
            }
        }
    }

    /// A TLS session for the server it is connected to, if one is spoken there.
    fn session(&self, client: &Client) -> Option<Result<Session, String>> {
        let origin = self.plan.origins.get(client.origin).filter(|origin| origin.secure)?;
        let config = self.tls?;
        let name = match &origin.place {
            Place::Tcp { host, .. } => host.clone(),
            Place::Unix(_) => "localhost".to_owned(),
        };
        let named = ServerName::try_from(name).map_err(|error| format!("its name: {error}"));
        Some(named.and_then(|name| Session::begin(config, name)))
    }

    /// Goes on with the handshake.
    pub(super) fn shake(&mut self, client: &mut Client, id: u32, now_ns: u64) {
        let (Some(session), Some(socket)) = (client.tls.as_mut(), client.socket.as_ref()) else { return };
        match session.push(socket) {
            Err(broken) => {
                let why = told(broken);
                self.shaking_failed(client, id, &why, now_ns);
            }
            Ok(_) if !session.is_shaking() => {
                self.ledger.whole.record(Span::Tls, now_ns.saturating_sub(client.connect_started_ns));
                self.established(client, id, now_ns);
            }
            Ok(all) => {
                let interest = if all { EventFlags::IN } else { EventFlags::IN | EventFlags::OUT };
                self.set_interest(client, id, interest);
            }
        }
    }

    pub(super) fn shaking_failed(&mut self, client: &mut Client, id: u32, why: &str, now_ns: u64) {
        if self.connect_failed(client, id, Failure::Tls, why, now_ns) {
            self.open(client, id, now_ns);
        }
    }

    /// There is a connection to send over.
    fn established(&mut self, client: &mut Client, id: u32, now_ns: u64) {
        let step = self.step_at(now_ns);
        self.ledger.now(step).connections += 1;
        let counts = self.ledger.counts();
        counts.connections_open += 1;
        counts.connections_peak = counts.connections_peak.max(counts.connections_open);
        if let Some(preferred) = self.preferred.get_mut(client.origin) {
            *preferred = client.address;
        }
        if !self.shared.connected.load(Ordering::Relaxed) {
            self.shared.connected.store(true, Ordering::Relaxed);
        }
        (client.failures_in_row, client.tried) = (0, 0);
        self.begin(client, id, now_ns);
    }

    /// Closes an open connection.
    pub(super) fn close(&mut self, client: &mut Client) {
        client.tls = None;
        if client.socket.take().is_some() {
            let counts = self.ledger.counts();
            counts.connections_open = counts.connections_open.saturating_sub(1);
        }
        client.state = State::Idle;
        client.deadline_ns = None;
    }

    /// Nothing more to send here.
    pub(super) fn retire(&mut self, client: &mut Client) {
        self.decided(client);
        if let Some(permit) = client.permit.take() {
            self.pacer.give_back(permit);
        }
        client.pending = None;
        client.state = State::Done;
        client.deadline_ns = None;
        self.live = self.live.saturating_sub(1);
    }

    /// Sets the deadline; enters the wheel only if it would not look in time by itself.
    pub(super) fn set_deadline(&mut self, client: &mut Client, id: u32, deadline_ns: u64) {
        client.deadline_ns = Some(deadline_ns);
        if client
            .wheel_tick
            .is_none_or(|tick| tick.saturating_mul(TICK_NS) > deadline_ns.saturating_add(TICK_NS))
        {
            client.wheel_tick = Some(self.wheel.enter(id, deadline_ns));
        }
    }

    /// The wheel looked at this client at `tick`.
    pub(super) fn wheel_came(&mut self, client: &mut Client, id: u32, tick: u64, now_ns: u64) {
        if client.wheel_tick == Some(tick) {
            client.wheel_tick = None;
        }
        let Some(deadline_ns) = client.deadline_ns else { return };
        if deadline_ns > now_ns {
            return self.set_deadline(client, id, deadline_ns);
        }
        client.deadline_ns = None;
        let waited_s = self.plan.load.timeout_ns as f64 / 1e9;
        match client.state {
            State::Resting => self.go_on(client, id, now_ns),
            State::Connecting | State::Shaking => {
                let (failure, why) = match client.state {
                    State::Shaking => {
                        let why = format!("no handshake within {waited_s} s; {}", refusal::NO_HANDSHAKE);
                        (Failure::Tls, why)
                    }
                    _ => (Failure::ConnectTimeout, format!("no connection within {waited_s} s")),
                };
                let step = self.step_at(now_ns);
                self.ledger.now(step).connects_given_up += u64::from(failure == Failure::ConnectTimeout);
                self.decided(client);
                if self.connect_failed(client, id, failure, &why, now_ns) {
                    self.open(client, id, now_ns);
                }
            }
            State::Busy => {
                let read = client.exchange.read_bytes;
                let why = || format!("no whole answer within {waited_s} s, {read} bytes of it came");
                self.fail(client, id, Failure::Timeout, now_ns, why);
            }
            State::Idle | State::Done => {}
        }
    }

    /// Tries again to connect, unless the run is over meanwhile.
    fn go_on(&mut self, client: &mut Client, id: u32, now_ns: u64) {
        if self.plan.load.schedule.phase_at(now_ns) == crate::pacer::Phase::Over || self.is_enough() {
            self.retire(client);
        } else {
            self.open(client, id, now_ns);
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

/// Why a session broke, in words.
pub(super) fn told(broken: Broken) -> String {
    match broken {
        Broken::Socket(error) => socket::text(error),
        Broken::Tls(why) => why,
    }
}

/// What comes back with an event: the client, and which of its sockets.
pub(super) fn token(id: u32, generation: u32) -> EventData {
    EventData::new_u64(u64::from(generation) << 32 | u64::from(id))
}
