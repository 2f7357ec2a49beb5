//! The loop of one thread: waits for events, hands them to the desk, looks at the wheel, the timers and the arrivals.
//!
//! Not here: what happens to a client ([`super::desk`], [`super::course`], [`super::exchange`]).

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use super::client::{Client, State};
use super::desk::Desk;
use super::exchange::broken;
use super::ledger::Ledger;
use super::meter::Meter;
use super::sampling::Sampling;
use super::timers::Timers;
use super::waiter::{self, Waited, Waiter};
use super::wheel::Wheel;
use super::{Clock, Message, Outcome, Shared, Ways, refusal, socket};
use crate::check::First;
use crate::pacer::{Arrivals, Pacer, Phase};
use crate::plan::{Plan, Script, Shape};
use crate::tally::Rows;
use crate::tally::series::Slice;

/// One read buffer per thread, not per connection.
const BUFFER_BYTES: usize = 128 * 1024;
/// Events taken at once.
const EVENTS: usize = 256;
/// Reads of one socket in a row, so that a fast one does not starve the others.
const READS_IN_A_ROW: u32 = 8;

pub(super) struct Worker<'a> {
    clients: Vec<Client>,
    desk: Desk<'a>,
    waiter: Waiter,
    buffer: Vec<u8>,
    /// Where TLS puts what it made of the bytes read.
    plain: Vec<u8>,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        ways: &'a Ways,
        thread: u32,
        clock: Clock,
        shared: &'a Shared,
        out: Sender<Message>,
    ) -> io::Result<Worker<'a>> {
        let load = &plan.load;
        let clients: Vec<Client> = plan
            .clients_of(thread)
            .enumerate()
            .map(|(place, index)| {
                Client::new(index, plan.rank_of(thread, place), plan.home_of(index), load.seed)
            })
            .collect();
        let arrivals = match load.shape {
            Shape::Closed => None,
            Shape::Open { spacing, .. } => {
                Some(Arrivals::new(load.schedule.pieces(), spacing, load.seed, thread, load.threads))
            }
        };
        let per_thread = |rate: f64| (1e9 * f64::from(load.threads) / rate) as u64;
        let flat = load
            .schedule
            .pieces()
            .iter()
            .all(|piece| piece.from == piece.to && piece.from >= f64::from(load.clients));
        let rounds = match &plan.script {
            Script::Requests(_) => 0,
            Script::Rounds(rounds) => rounds.all().len(),
        };
        let desk = Desk {
            plan,
            addresses: &ways.addresses,
            tls: ways.tls.as_ref(),
            shared,
            clock,
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            wheel: Wheel::new(),
            timers: Timers::default(),
            pacer: Pacer::new(load.schedule.clone(), plan.budget_of(thread)),
            arrivals,
            ready: Vec::new(),
            unready: Vec::new(),
            // Threads begin at different points of the gap, so that together they are as even as one.
            slot_ns: load.most_per_s.map_or(0, |rate| (1e9 / rate) as u64 * u64::from(thread)),
            slot_gap_ns: load.most_per_s.map_or(0, per_thread),
            spent: false,
            everyone: flat,
            ledger: Ledger::new(out.clone()),
            rows: Rows::new(plan.rows.len()),
            rounds: Rows::new(rounds),
            first: First::default(),
            sampling: Sampling::default(),
            meter: Meter::default(),
            slice: Slice::default(),
            out,
            live: clients.len(),
            turns: (0..plan.homes.len()).map(|home| plan.first_of(thread, home)).collect(),
            preferred: vec![0; plan.origins.len()],
        };
        let waiter = Waiter::new(&desk.epoll, load.precise)?;
        Ok(Worker { clients, desk, waiter, buffer: vec![0; BUFFER_BYTES], plain: Vec::new() })
    }

    pub(super) fn run(mut self) -> io::Result<Outcome> {
        let blank = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let mut events = [blank; EVENTS];
        let schedule = &self.desk.plan.load.schedule;
        let start_ns = self.desk.clock.now_ns();
        self.desk.meter.pass(start_ns, schedule.phase_at(start_ns));
        for (id, client) in (0_u32..).zip(&mut self.clients) {
            self.desk.equip(client);
            self.desk.next(client, id, start_ns);
        }
        let mut now_ns = self.desk.clock.now_ns();
        let mut edge_ns = schedule.next_edge_ns(start_ns);
        loop {
            let tick_ns = self.desk.wheel.next_tick_ns();
            if now_ns >= tick_ns || now_ns >= edge_ns {
                let phase = schedule.phase_at(now_ns);
                self.desk.meter.pass(now_ns, phase);
                edge_ns = schedule.next_edge_ns(now_ns);
                if now_ns >= tick_ns {
                    self.tick(now_ns, phase);
                }
                if self.is_over(now_ns) {
                    break;
                }
            }
            if self.desk.live == 0 && self.desk.ledger.in_flight() == 0 {
                break;
            }
            self.due(now_ns);
            let exact_ns = self.exact_ns();
            let coarse_ns = self.desk.wheel.next_tick_ns().min(edge_ns);
            let slept_ns = self.desk.clock.now_ns();
            let Waited { count, awake, until_ns } =
                self.waiter.wait(&self.desk.epoll, &mut events, slept_ns, exact_ns, coarse_ns)?;
            let woken_ns = self.desk.clock.now_ns();
            for event in events.iter().take(count) {
                let (flags, data) = (event.flags, event.data);
                self.event(flags, data.u64());
            }
            now_ns = self.desk.clock.now_ns();
            if awake && count == 0 {
                self.desk.meter.spun(now_ns.saturating_sub(slept_ns));
            } else {
                // Who is woken after the moment that was to wake it has not waited for sockets since then: it stood still.
                self.desk.meter.turn(now_ns.saturating_sub(woken_ns.min(until_ns)));
            }
            self.desk.roll(now_ns, false);
        }
        Ok(self.close(now_ns))
    }

    fn is_over(&mut self, now_ns: u64) -> bool {
        let desk = &mut self.desk;
        let stopped = desk.shared.stop.load(Ordering::Relaxed);
        // Who holds a permit is still on the way to the server.
        let spent =
            desk.spent && desk.arrivals.is_some() && self.clients.iter().all(|one| one.permit.is_none());
        let over = desk.plan.load.schedule.phase_at(now_ns) == Phase::Over || desk.is_enough();
        stopped || ((over || spent || desk.live == 0) && desk.ledger.in_flight() == 0)
    }

    fn tick(&mut self, now_ns: u64, phase: Phase) {
        while let Some((tick, ids)) = self.desk.wheel.take(now_ns) {
            for id in ids {
                if let Some(client) = self.clients.get_mut(id as usize) {
                    self.desk.wheel_came(client, id, tick, now_ns);
                }
            }
        }
        self.desk.ledger.turn(phase);
        self.desk.roll(now_ns, false);
    }

    /// The next moment that is to be met exactly.
    fn exact_ns(&self) -> u64 {
        let timer_ns = self.desk.timers.next_ns().unwrap_or(u64::MAX);
        let desk = &self.desk;
        let can_send = !desk.ready.is_empty() || !desk.unready.is_empty();
        let arrival_ns = desk.arrivals.as_ref().filter(|_| can_send).and_then(Arrivals::peek);
        timer_ns.min(arrival_ns.unwrap_or(u64::MAX))
    }

    /// Does what is due: pauses that are over, requests that have arrived.
    fn due(&mut self, now_ns: u64) {
        while let Some((id, timer)) = self.desk.timers.take(now_ns) {
            let Some(client) = self.clients.get_mut(id as usize) else { continue };
            if client.timer == timer && client.state == State::Idle {
                self.desk.timer_came(client, id, now_ns);
            }
        }
        if self.desk.arrivals.is_none() {
            return;
        }
        self.desk.pass_over(now_ns);
        while self.desk.arrivals.as_ref().and_then(Arrivals::peek).is_some_and(|due_ns| due_ns <= now_ns) {
            let Some(id) = self.desk.ready.pop().or_else(|| self.desk.unready.pop()) else {
                return self.desk.drop_due(now_ns);
            };
            if let Some(client) =
                self.clients.get_mut(id as usize).filter(|client| client.state == State::Idle)
            {
                self.desk.next(client, id, now_ns);
            }
        }
    }

    fn event(&mut self, flags: EventFlags, token: u64) {
        if token == waiter::TOKEN {
            return;
        }
        let id = (token & u64::from(u32::MAX)) as u32;
        let Some(client) = self.clients.get_mut(id as usize) else { return };
        if u64::from(client.generation) != token >> 32 || client.socket.is_none() {
            return;
        }
        if client.state == State::Connecting {
            return self.desk.connected(client, id);
        }
        if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            let generation = client.generation;
            read(&mut self.desk, client, id, &mut self.buffer, &mut self.plain);
            if client.generation != generation || client.socket.is_none() {
                return;
            }
        }
        if flags.contains(EventFlags::OUT) {
            match client.state {
                State::Busy => self.desk.write(client, id),
                State::Shaking => {
                    let now_ns = self.desk.clock.now_ns();
                    self.desk.shake(client, id, now_ns);
                }
                _ => {}
            }
        }
    }

    fn close(mut self, now_ns: u64) -> Outcome {
        self.desk.pass_over(now_ns);
        self.desk.roll(now_ns, true);
        let Desk { ledger, meter, rows, rounds, .. } = self.desk;
        Outcome { whole: ledger.close(), rows, rounds, usage: meter.finish(now_ns), ended_ns: now_ns }
    }
}

/// Reads what a socket has, answer by answer.
fn read(desk: &mut Desk<'_>, client: &mut Client, id: u32, buffer: &mut [u8], plain: &mut Vec<u8>) {
    for _ in 0..READS_IN_A_ROW {
        let Some(socket) = client.socket.as_ref() else { return };
        let result = socket::read(socket, buffer);
        if matches!(client.state, State::Done | State::Idle) {
            // Nothing was asked for: an end is no news, and bytes belong to no answer.
            if !matches!(result, Err(Errno::AGAIN)) {
                let state = client.state;
                desk.close(client);
                client.state = state;
            }
            return;
        }
        let now_ns = desk.clock.now_ns();
        match result {
            Ok(0) if client.state == State::Shaking => {
                let why =
                    format!("the server closed the connection in the handshake; {}", refusal::NO_HANDSHAKE);
                return desk.shaking_failed(client, id, &why, now_ns);
            }
            Ok(0) => return desk.closed(client, id, now_ns),
            Ok(count) => {
                let bytes = buffer.get(..count).unwrap_or_default();
                desk.came(bytes.len(), now_ns);
                let more = match client.tls.is_some() {
                    false => desk.take(client, id, bytes, now_ns),
                    true => through_tls(desk, client, id, bytes, plain, now_ns),
                };
                if !more || count < buffer.len() {
                    return;
                }
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return,
            Err(error) if client.state == State::Shaking => {
                let why = format!("{} in the handshake; {}", socket::text(error), refusal::NO_HANDSHAKE);
                return desk.shaking_failed(client, id, &why, now_ns);
            }
            Err(error) => {
                return desk.fail(client, id, socket::io_failure(error), now_ns, || socket::text(error));
            }
        }
    }
}

/// Hands bytes to the session, and what it makes of them to the desk; whether the exchange goes on.
fn through_tls(
    desk: &mut Desk<'_>,
    client: &mut Client,
    id: u32,
    mut bytes: &[u8],
    plain: &mut Vec<u8>,
    now_ns: u64,
) -> bool {
    plain.resize(BUFFER_BYTES, 0);
    let generation = client.generation;
    while !bytes.is_empty() {
        let Some(session) = client.tls.as_mut() else { return false };
        match session.take(bytes) {
            Ok(used) => bytes = bytes.get(used..).unwrap_or_default(),
            Err(error) => {
                let (failure, why) = broken(error);
                match client.state {
                    State::Shaking => desk.shaking_failed(client, id, &why, now_ns),
                    _ => desk.fail(client, id, failure, now_ns, || why),
                }
                return false;
            }
        }
        if client.state == State::Shaking {
            desk.shake(client, id, now_ns);
            if client.state == State::Shaking {
                continue;
            }
        }
        while let Some(session) = client.tls.as_mut() {
            let count = session.read(plain);
            if count == 0 {
                break;
            }
            if client.state != State::Busy {
                return false;
            }
            let went_on = desk.take(client, id, plain.get(..count).unwrap_or_default(), now_ns);
            if client.generation != generation {
                return false;
            }
            if !went_on && client.tls.is_none() {
                return false;
            }
        }
    }
    client.state == State::Busy
}
