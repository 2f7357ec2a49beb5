//! What a client does next: the next step of its round, a pause, another round, or nothing more.
//!
//! Not here: connections ([`super::desk`]) and exchanges ([`super::exchange`]).

use std::sync::atomic::Ordering;

use rustix::event::epoll::EventFlags;

use super::client::{Client, Pending, State};
use super::desk::Desk;
use super::socket;
use crate::pacer::Phase;
use crate::plan::script::{self, Rounds};
use crate::plan::{Full, Next, Pick, Request, Script, Shape};
use crate::tally::Span;
use crate::visitor::Ask;
use crate::wcat::Manner;

/// Requests in a row that a client's kept answers may stand for before it pauses, so that a client with everything kept
/// does not keep its thread from the others.
const KEPT_IN_A_ROW: u32 = 64;
/// How long it pauses then.
const KEPT_PAUSE_NS: u64 = 1_000_000;

/// Whether a round may begin.
enum Gate {
    /// Now; it was due then, if the clock says when.
    Open(Option<u64>),
    /// Later: a timer or an arrival will say.
    Shut,
    /// Never again.
    Gone,
}

impl Desk<'_> {
    /// Whether no more is to be sent because someone said so.
    pub(super) fn is_enough(&self) -> bool {
        self.shared.enough.load(Ordering::Relaxed)
    }

    /// Does what comes next; the client has nothing in flight.
    pub(super) fn next(&mut self, client: &mut Client, id: u32, now_ns: u64) {
        let plan = self.plan;
        for _ in 0..KEPT_IN_A_ROW {
            let (request, intended_ns) = match &plan.script {
                Script::Requests(pick) => match self.gate(client, id, now_ns) {
                    Gate::Open(intended_ns) => (self.pick(client, *pick), intended_ns),
                    Gate::Shut => return,
                    Gate::Gone => return self.leave(client, id),
                },
                Script::Rounds(rounds) => {
                    let mut intended_ns = None;
                    if client.walk.is_none() {
                        match self.gate(client, id, now_ns) {
                            Gate::Open(when) => intended_ns = when,
                            Gate::Shut => return,
                            Gate::Gone => return self.leave(client, id),
                        }
                        client.walk = Some(rounds.begin(&mut client.dice));
                        (client.round_started_ns, client.round_failed) = (None, false);
                    }
                    match self.walk(client, id, rounds, now_ns) {
                        Some(request) => (request, intended_ns),
                        None if client.walk.is_none() => continue,
                        None => return,
                    }
                }
            };
            let Some(asked) = plan.requests.get(request) else { return self.leave(client, id) };
            // Whoever has just been answered was not there when this was due; but perhaps others stood ready.
            let stood = std::mem::take(&mut client.stood_ready) || !self.ready.is_empty();
            let was_ready = client.socket.is_some() && stood;
            let pending = Pending { request, intended_ns, was_ready, hops: 0 };
            if self.is_kept(client, asked, request, now_ns) {
                continue;
            }
            if let Some(slot_ns) = self.slot(now_ns) {
                client.pending = Some(pending);
                return self.pause(client, id, slot_ns);
            }
            return self.send(client, id, pending, plan.origin_of(asked, client.home), now_ns);
        }
        self.pause(client, id, now_ns.saturating_add(KEPT_PAUSE_NS));
    }

    /// Goes on after a pause.
    pub(super) fn timer_came(&mut self, client: &mut Client, id: u32, now_ns: u64) {
        match client
            .pending
            .take()
            .and_then(|pending| Some((pending, self.plan.requests.get(pending.request)?)))
        {
            None => self.next(client, id, now_ns),
            Some((pending, asked)) => {
                self.send(client, id, pending, self.plan.origin_of(asked, client.home), now_ns);
            }
        }
    }

    /// Where there may be only so many requests a second: the moment of the next, if it is not now.
    fn slot(&mut self, now_ns: u64) -> Option<u64> {
        if self.slot_gap_ns == 0 {
            return None;
        }
        let slot_ns = self.slot_ns.max(now_ns);
        self.slot_ns = slot_ns.saturating_add(self.slot_gap_ns);
        (slot_ns > now_ns).then_some(slot_ns)
    }

    /// Goes on in the round, over what is not a request: the next request, or nothing when it pauses or the round is over.
    fn walk(&mut self, client: &mut Client, id: u32, rounds: &Rounds, now_ns: u64) -> Option<usize> {
        loop {
            let walk = client.walk.as_mut()?;
            match rounds.next(walk, &mut client.dice) {
                Next::Send(request) => return Some(request),
                Next::Pause(0) => {}
                Next::Pause(length_ns) => {
                    self.pause(client, id, now_ns.saturating_add(length_ns));
                    return None;
                }
                Next::Close(manner) => self.part(client, manner),
                Next::End => {
                    self.round_over(client, now_ns);
                    return None;
                }
            }
        }
    }

    fn round_over(&mut self, client: &mut Client, now_ns: u64) {
        let Some(walk) = client.walk.take() else { return };
        let Some(started_ns) = client.round_started_ns else { return };
        let Some(step) = self.plan.load.schedule.phase_at(now_ns).measured() else { return };
        let took_ns = now_ns.saturating_sub(started_ns);
        if let Some(row) = self.rounds.row(walk.round) {
            if client.round_failed {
                row.failures += 1;
            } else {
                row.answers += 1;
                row.times.record(took_ns / 1000);
            }
        }
        if !client.round_failed {
            let tally = self.ledger.step(step);
            tally.counts.rounds += 1;
            tally.record(Span::Round, took_ns);
        }
    }

    /// Ends the connection in a manner.
    pub(super) fn part(&mut self, client: &mut Client, manner: Manner) {
        match manner {
            Manner::Keep => {}
            Manner::Graceful => self.close(client),
            Manner::Reset => {
                if let Some(socket) = client.socket.as_ref() {
                    socket::reset(socket);
                }
                self.close(client);
            }
        }
    }

    /// Whether the client may begin a round, and if not, when it is asked again.
    fn gate(&mut self, client: &mut Client, id: u32, now_ns: u64) -> Gate {
        if self.is_enough() {
            return Gate::Gone;
        }
        match self.plan.load.shape {
            Shape::Closed => self.gate_closed(client, id, now_ns),
            Shape::Open { .. } => self.gate_open(client, id, now_ns),
        }
    }

    fn gate_closed(&mut self, client: &mut Client, id: u32, now_ns: u64) -> Gate {
        let load = &self.plan.load;
        if !self.everyone {
            match load.schedule.joins_ns(client.rank, now_ns) {
                None => return Gate::Gone,
                Some(joins_ns) if joins_ns > now_ns => {
                    self.pause(client, id, joins_ns);
                    return Gate::Shut;
                }
                Some(_) => {}
            }
        }
        let (low_ns, high_ns) = load.think_ns;
        if high_ns > 0 && !client.has_thought {
            client.has_thought = true;
            let length_ns = client.dice.between(low_ns, high_ns);
            self.pause(client, id, now_ns.saturating_add(length_ns));
            return Gate::Shut;
        }
        client.has_thought = false;
        Gate::Open(None)
    }

    fn gate_open(&mut self, client: &mut Client, id: u32, now_ns: u64) -> Gate {
        self.pass_over(now_ns);
        match self.arrivals.as_ref().and_then(|arrivals| arrivals.peek()) {
            None => Gate::Gone,
            Some(due_ns) if due_ns <= now_ns => {
                self.arrivals.as_mut().and_then(|arrivals| arrivals.take());
                Gate::Open(Some(due_ns))
            }
            Some(_) => {
                self.idle(client, id);
                client.stood_ready = client.socket.is_some();
                let list = if client.stood_ready { &mut self.ready } else { &mut self.unready };
                list.push(id);
                Gate::Shut
            }
        }
    }

    /// Passes over requests that were due in a step that is over: they would make the next one look slower than it is.
    pub(super) fn pass_over(&mut self, now_ns: u64) {
        let schedule = &self.plan.load.schedule;
        let Some(arrivals) = self.arrivals.as_mut() else { return };
        let Some(mut due_ns) = arrivals.peek().filter(|due_ns| *due_ns <= now_ns) else { return };
        let present = schedule.phase_at(now_ns);
        loop {
            let phase = schedule.phase_at(due_ns);
            if phase == present || matches!((phase, present), (Phase::Settle(a), Phase::Measure(b)) if a == b)
            {
                return;
            }
            if let Some(step) = phase.measured() {
                self.ledger.step(step).counts.unsent += 1;
            }
            arrivals.take();
            match arrivals.peek().filter(|due_ns| *due_ns <= now_ns) {
                None => return,
                Some(next_ns) => due_ns = next_ns,
            }
        }
    }

    /// Counts what is due and cannot be sent, where that is what is to be done.
    pub(super) fn drop_due(&mut self, now_ns: u64) {
        if !matches!(self.plan.load.shape, Shape::Open { full: Full::Drop, .. }) {
            return;
        }
        let schedule = &self.plan.load.schedule;
        let Some(arrivals) = self.arrivals.as_mut() else { return };
        while let Some(due_ns) = arrivals.peek().filter(|due_ns| *due_ns <= now_ns) {
            arrivals.take();
            if let Some(step) = schedule.phase_at(due_ns).measured() {
                self.ledger.step(step).counts.unsent += 1;
            }
        }
    }

    /// The next request of a client whose requests are not in rounds.
    fn pick(&mut self, client: &mut Client, pick: Pick) -> usize {
        let Some(home) = self.plan.homes.get(client.home) else { return 0 };
        let at = match pick {
            Pick::InTurn => match self.turns.get_mut(client.home) {
                None => 0,
                Some(turn) => {
                    let at = *turn;
                    *turn = if at + 1 < home.requests.len() { at + 1 } else { 0 };
                    at
                }
            },
            Pick::Each => {
                let at = client.turn;
                client.turn = if at + 1 < home.requests.len() { at + 1 } else { 0 };
                at
            }
            Pick::Random => usize::try_from(client.dice.below(home.requests.len() as u64)).unwrap_or(0),
            Pick::Zipf(_) | Pick::Weighted => script::drawn(&home.sums, &mut client.dice),
        };
        home.requests.get(at).copied().unwrap_or(0)
    }

    /// Whether the client need not ask, as it has a fresh answer.
    fn is_kept(&mut self, client: &mut Client, asked: &Request, request: usize, now_ns: u64) -> bool {
        let Some(kept) = client.visitor.as_ref().and_then(|visitor| visitor.kept.as_ref()) else {
            return false;
        };
        let origin = self.plan.origin_of(asked, client.home);
        if asked.method != "GET" || asked.form.is_some() || kept.ask(origin, request, now_ns) != Ask::NotAtAll
        {
            return false;
        }
        if let Some(step) = self.plan.load.schedule.phase_at(now_ns).measured() {
            self.ledger.step(step).counts.kept += 1;
        }
        true
    }

    /// Sends what is pending: over the connection there is, or a new one.
    pub(super) fn send(
        &mut self,
        client: &mut Client,
        id: u32,
        pending: Pending,
        origin: usize,
        now_ns: u64,
    ) {
        let at_ns = pending.intended_ns.filter(|_| self.arrivals.is_some()).unwrap_or(now_ns);
        if client.permit.is_none() {
            client.permit = self.pacer.admit(at_ns);
        }
        if client.permit.is_none() {
            self.spent = true;
            return self.leave(client, id);
        }
        client.pending = Some(pending);
        if client.socket.is_some() && client.origin == origin {
            return self.begin(client, id, now_ns);
        }
        self.close(client);
        client.origin = origin;
        client.tried = 0;
        self.open(client, id, now_ns);
    }

    /// The client does nothing until a timer says so.
    fn pause(&mut self, client: &mut Client, id: u32, until_ns: u64) {
        client.timer = client.timer.wrapping_add(1);
        self.timers.set(until_ns, id, client.timer);
        self.idle(client, id);
    }

    fn idle(&mut self, client: &mut Client, id: u32) {
        client.state = State::Idle;
        client.deadline_ns = None;
        self.set_interest(client, id, EventFlags::IN);
    }

    /// Nothing more to send; an open connection stays until the end, as it would with a browser.
    pub(super) fn leave(&mut self, client: &mut Client, id: u32) {
        self.set_interest(client, id, EventFlags::IN);
        self.retire(client);
    }
}
