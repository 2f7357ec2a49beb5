//! A fill's task: it asks the origin, decides by policy, takes the body in. It belongs to the cache, not to the client
//! that began it.

use crate::client::Told;
use crate::oracle::Confirmation;
use crate::origin::{Made, Plan, bytes};
use crate::world::{Turn, World, facts, fields, serial_of, wishes};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use samovar_cache::{Entry, EntryHead, FillFailure, Sink, State as Mark, Ticket};
use samovar_policy::{
    Exchange, Now, ReuseDecision, StoreDecision, VaryFields, VaryValues, combined, may_stand_in, merge_304,
    storable, stored_fields, vary_fields, vary_values,
};
use samovar_reason::{Store, Upstream};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

/// What is stored already, and policy's word on it.
type Base = (Arc<Entry>, ReuseDecision);

pub struct FillTask {
    key: u64,
    kind: &'static str,
    secret: bool,
    pub client: Option<usize>,
    base: Option<Base>,
    decided: Rc<RefCell<bool>>,
    requested: Now,
    state: State,
}

enum State {
    Nothing,
    Asks(Ticket, u64),
    Stalls(Ticket, u64),
    Takes {
        sink: Box<Sink>,
        serial: usize,
        len: usize,
        at: usize,
        piece: usize,
        cut_at: Option<usize>,
        due_ms: u64,
    },
}

impl FillTask {
    pub fn new(
        world: &mut World,
        ticket: Ticket,
        key: u64,
        kind: &'static str,
        secret: bool,
        client: Option<usize>,
        base: Option<Base>,
    ) -> FillTask {
        let due_ms = world.now_ms + world.dice.roll(300);
        let decided = world.running.last().map(|fill| Rc::clone(&fill.decided)).unwrap_or_default();
        let requested = world.now();
        FillTask { key, kind, secret, client, base, decided, requested, state: State::Asks(ticket, due_ms) }
    }

    /// Stands in an actor's place while it has its turn.
    pub fn placeholder() -> FillTask {
        FillTask {
            key: 0,
            kind: "",
            secret: false,
            client: None,
            base: None,
            decided: Rc::default(),
            requested: Now::default(),
            state: State::Nothing,
        }
    }

    /// What has arrived, while it is still worth storing.
    pub fn holds_bytes(&self, body_max_bytes: u64) -> u64 {
        match &self.state {
            State::Takes { sink, .. } if sink.arrived_bytes() <= body_max_bytes => sink.arrived_bytes(),
            _ => 0,
        }
    }

    /// It ends without a word.
    pub fn forget(&self, _world: &mut World) {
        *self.decided.borrow_mut() = true;
    }

    pub fn poll(&mut self, world: &mut World, cx: &mut Context<'_>) -> Turn {
        match std::mem::replace(&mut self.state, State::Nothing) {
            State::Nothing => Turn::Done,
            State::Asks(ticket, due_ms) | State::Stalls(ticket, due_ms) if world.now_ms < due_ms => {
                self.state = State::Asks(ticket, due_ms);
                Turn::Parked(Some(due_ms))
            }
            State::Stalls(ticket, _) => self.failed(world, ticket, Upstream::HeadTimeout),
            State::Asks(ticket, _) => self.head(world, ticket),
            State::Takes { mut sink, serial, len, at, piece, cut_at, due_ms } => {
                if world.now_ms < due_ms {
                    self.state = State::Takes { sink, serial, len, at, piece, cut_at, due_ms };
                    return Turn::Parked(Some(due_ms));
                }
                match sink.poll_room(cx) {
                    Poll::Pending => {
                        world.counters.held_back += 1;
                        self.state = State::Takes { sink, serial, len, at, piece, cut_at, due_ms };
                        return Turn::Parked(None);
                    }
                    Poll::Ready(false) => {
                        world.counters.nobody_reads += 1;
                        sink.fail(failure(Upstream::ClientGone));
                        return Turn::Done;
                    }
                    Poll::Ready(true) => {}
                }
                let stop = cut_at.unwrap_or(len);
                let end = (at + piece).min(stop);
                if at < end {
                    sink.push(Bytes::from(bytes(serial, at, end)));
                }
                if end < stop {
                    let due_ms = world.now_ms + world.dice.roll(80);
                    self.state = State::Takes { sink, serial, len, at: end, piece, cut_at, due_ms };
                    return Turn::Again;
                }
                if cut_at.is_some() {
                    world.counters.cut += 1;
                    sink.fail(failure(Upstream::ShortBody));
                    return Turn::Done;
                }
                match sink.finish(0, world.now_ms) {
                    Ok(_) => world.counters.stored += 1,
                    Err(Store::PurgedInFlight) => world.counters.purged_in_flight += 1,
                    Err(Store::TooLarge | Store::BudgetTooSmall) => world.counters.too_large += 1,
                    Err(other) => world.fail(&format!("not stored: {other}")),
                }
                Turn::Done
            }
        }
    }

    fn decide(&self) {
        *self.decided.borrow_mut() = true;
    }

    fn failed(&mut self, world: &mut World, ticket: Ticket, why: Upstream) -> Turn {
        self.decide();
        let now = world.now();
        let stale = self.base.take().filter(|(base, decision)| {
            may_stand_in(&base.head.freshness, decision, now, true) && base.state() != Mark::Dead
        });
        match stale {
            Some((base, ..)) => {
                ticket.stale(base);
                world.tell(self.client, Told::Shared);
            }
            None => {
                world.counters.died += 1;
                ticket.fail(failure(why));
                world.tell(self.client, Told::Failed);
            }
        }
        Turn::Done
    }

    fn head(&mut self, world: &mut World, ticket: Ticket) -> Turn {
        let holds = self.base.as_ref().and_then(|(base, ..)| {
            base.head.headers.get("etag").map(|_| world.truth[serial_of(base)].version)
        });
        let client = self.client.unwrap_or(usize::MAX);
        match world.answer(self.key, self.kind, client, self.secret, holds) {
            Plan::Dies => self.failed(world, ticket, Upstream::Reset),
            Plan::Stalls => {
                world.counters.stalled += 1;
                // Longer than anyone waits, now and then.
                let due_ms = world.now_ms + 30_000 + world.dice.roll(60_000);
                self.state = State::Stalls(ticket, due_ms);
                Turn::Parked(Some(due_ms))
            }
            Plan::Confirms { lifetime_s, version } => self.confirmed(world, ticket, lifetime_s, version),
            Plan::Answers { made, cut_at, pieces } => self.answered(world, ticket, *made, cut_at, pieces),
        }
    }

    fn judge(
        &self,
        world: &World,
        ticket: &Ticket,
        status: u16,
        headers: &HeaderMap,
        len: Option<u64>,
    ) -> StoreDecision {
        if let Some(reason) = ticket.refuses() {
            return StoreDecision { freshness: None, reason, overridden: Vec::new() };
        }
        let request = fields(self.kind, self.secret);
        let at = Exchange { requested: self.requested, answered: world.now() };
        let status = StatusCode::from_u16(status).unwrap();
        storable(&facts(&request), status, headers, &wishes(), at, len)
    }

    fn answered(
        &mut self,
        world: &mut World,
        ticket: Ticket,
        made: Made,
        cut_at: Option<usize>,
        pieces: usize,
    ) -> Turn {
        self.decide();
        let serial = world.keep_truth(made.clone());
        if made.status >= 500
            && let Some((base, decision)) = &self.base
            && may_stand_in(&base.head.freshness, decision, world.now(), false)
            && base.state() != Mark::Dead
        {
            ticket.stale(Arc::clone(base));
            world.tell(self.client, Told::Shared);
            return Turn::Done;
        }
        let mut headers = HeaderMap::new();
        headers.insert("x-serial", HeaderValue::from(serial));
        for (name, value) in &made.fields {
            headers.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        }
        let announced = Some(made.len as u64).filter(|_| !world.dice.once_in(4));
        let decision = self.judge(world, &ticket, made.status, &headers, announced);
        let Some(freshness) = decision.freshness else {
            world.counters.refused(decision.reason);
            let of_request = matches!(decision.reason, Store::RequestAuthorization | Store::PurgedInFlight);
            ticket.not_storable(decision.reason, if of_request { 0 } else { world.now_ms + 10_000 });
            world.tell(self.client, Told::Alone(serial));
            return Turn::Done;
        };
        let head = self.entry_head(&headers, &made, freshness);
        let body_max = u64::MAX;
        let sink = Box::new(ticket.store(head, announced, body_max, world.now_ms));
        world.tell(self.client, Told::Shared);
        let piece = made.len.div_ceil(pieces).max(1);
        // Whoever began it usually begins to read before the first byte; not always.
        let due_ms = world.now_ms + world.dice.roll(400);
        self.state = State::Takes { sink, serial, len: made.len, at: 0, piece, cut_at, due_ms };
        Turn::Again
    }

    fn entry_head(
        &self,
        headers: &HeaderMap,
        made: &Made,
        freshness: samovar_policy::Freshness,
    ) -> EntryHead {
        let request = fields(self.kind, self.secret);
        let vary: VaryValues = match vary_fields(headers) {
            VaryFields::Fields(names) => vary_values(&names, &request, &combined),
            _ => VaryValues::new(),
        };
        EntryHead {
            status: StatusCode::from_u16(made.status).unwrap(),
            headers: stored_fields(headers, &wishes()),
            freshness,
            vary,
            tags: made.tag.into_iter().map(Box::from).collect(),
            reason: Store::Stored,
            rule: "".into(),
            epoch: 0,
        }
    }

    fn confirmed(&mut self, world: &mut World, ticket: Ticket, lifetime_s: u64, version: u64) -> Turn {
        self.decide();
        let Some((base, ..)) = self.base.take() else { world.fail("a 304 to nobody") };
        let serial = serial_of(&base);
        if world.truth[serial].version != version {
            world.fail("a 304 for another version");
        }
        let mut fresh = HeaderMap::new();
        fresh.insert("cache-control", HeaderValue::from_str(&format!("max-age={lifetime_s}")).unwrap());
        let headers = merge_304(&base.head.headers, &fresh);
        let decision = self.judge(world, &ticket, base.head.status.as_u16(), &headers, base.body.len_bytes());
        let confirmation =
            Confirmation { at_step: world.step, at_ms: world.now_ms, lifetime_ms: lifetime_s * 1000 };
        world.confirmed.entry(serial).or_default().push(confirmation);
        world.counters.confirmed += 1;
        match decision.freshness {
            Some(freshness) => {
                let head = EntryHead {
                    headers: stored_fields(&headers, &wishes()),
                    freshness,
                    reason: Store::Refreshed,
                    ..base.head.clone()
                };
                let (_, stored) = ticket.refresh(&base, head, world.now_ms);
                world.counters.purged_in_refresh += u64::from(stored.is_err());
                world.tell(self.client, Told::Shared);
            }
            None => {
                world.counters.purged_in_refresh += u64::from(decision.reason == Store::PurgedInFlight);
                ticket.not_storable(decision.reason, 0);
                world.tell(self.client, Told::Confirmed(serial));
            }
        }
        Turn::Done
    }
}

fn failure(reason: Upstream) -> FillFailure {
    FillFailure { reason, detail: "simulated".into() }
}
