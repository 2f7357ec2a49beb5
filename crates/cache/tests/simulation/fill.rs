//! A fill's task: it asks the origin, decides by policy, takes the body in. It belongs to the cache, not to the client
//! that began it.

use crate::client::Told;
use crate::oracle::Confirmation;
use crate::origin::{BLOCK, Made, Plan, bytes, in_parts};
use crate::part::{self, End};
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

/// What is asked for.
pub enum Wants {
    /// All of it; whether what is stored still holds, if there is something.
    Whole(Option<Base>),
    /// A range.
    Range(usize, usize),
    /// What is missing of the parts that are here.
    Rest(Arc<Entry>),
}

pub struct FillTask {
    pub key: u64,
    pub kind: &'static str,
    pub secret: bool,
    pub client: Option<usize>,
    wants: Wants,
    decided: Rc<RefCell<bool>>,
    requested: Now,
    state: State,
}

enum State {
    Nothing,
    Asks(Ticket, u64),
    Stalls(Ticket, u64),
    Takes(Box<Taking>),
}

/// A body on its way.
struct Taking {
    sink: Sink,
    serial: usize,
    /// Where the next byte lies in the representation, and where the last one is followed by nothing.
    at: usize,
    end: usize,
    piece: usize,
    /// The body ends here, though more was announced.
    cut_at: Option<usize>,
    /// How many bytes there are to be in the sink, if that was said.
    until: Option<u64>,
    due_ms: u64,
    then: End,
}

impl FillTask {
    pub fn new(
        world: &mut World,
        ticket: Ticket,
        key: u64,
        kind: &'static str,
        secret: bool,
        client: Option<usize>,
        wants: Wants,
    ) -> FillTask {
        let due_ms = world.now_ms + world.dice.roll(300);
        let decided = world.running.last().map(|fill| Rc::clone(&fill.decided)).unwrap_or_default();
        let requested = world.now();
        FillTask { key, kind, secret, client, wants, decided, requested, state: State::Asks(ticket, due_ms) }
    }

    /// Stands in an actor's place while it has its turn.
    pub fn placeholder() -> FillTask {
        FillTask {
            key: 0,
            kind: "",
            secret: false,
            client: None,
            wants: Wants::Whole(None),
            decided: Rc::default(),
            requested: Now::default(),
            state: State::Nothing,
        }
    }

    /// What has arrived, while it is still worth storing.
    pub fn holds_bytes(&self, body_max_bytes: u64) -> u64 {
        match &self.state {
            State::Takes(taking)
                if taking.sink.refused().is_none() && taking.sink.arrived_bytes() <= body_max_bytes =>
            {
                taking.sink.arrived_bytes()
            }
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
            State::Takes(taking) => self.take(world, taking, cx),
        }
    }

    fn take(&mut self, world: &mut World, mut taking: Box<Taking>, cx: &mut Context<'_>) -> Turn {
        if world.now_ms < taking.due_ms {
            let due_ms = taking.due_ms;
            self.state = State::Takes(taking);
            return Turn::Parked(Some(due_ms));
        }
        match taking.sink.poll_room(cx) {
            Poll::Pending => {
                world.counters.held_back += 1;
                self.state = State::Takes(taking);
                return Turn::Parked(None);
            }
            Poll::Ready(false) => {
                world.counters.nobody_reads += 1;
                taking.sink.fail(failure(Upstream::ClientGone));
                return Turn::Done;
            }
            Poll::Ready(true) => {}
        }
        let stop = taking.cut_at.unwrap_or(taking.end);
        let to = (taking.at + taking.piece).min(stop);
        let more = (to - taking.at.min(to)) as u64;
        let too_long = taking.until.is_some_and(|until| taking.sink.arrived_bytes() + more > until);
        let too_short =
            to == taking.end && taking.until.is_some_and(|until| taking.sink.arrived_bytes() + more < until);
        if too_long || too_short {
            let Taking { sink, then, .. } = *taking;
            then.broken(world, sink);
            return Turn::Done;
        }
        if taking.at < to {
            taking.sink.push(Bytes::from(bytes(taking.serial, taking.at, to)));
        }
        if to < stop {
            taking.at = to;
            taking.due_ms = world.now_ms + world.dice.roll(80);
            self.state = State::Takes(taking);
            return Turn::Again;
        }
        let Taking { sink, cut_at, then, .. } = *taking;
        if cut_at.is_some() {
            world.counters.cut += 1;
            sink.fail(failure(Upstream::ShortBody));
            return Turn::Done;
        }
        match then.finish(world, sink) {
            Ok(_) => world.counters.stored += 1,
            Err(Store::PurgedInFlight) => world.counters.purged_in_flight += 1,
            Err(Store::TooLarge | Store::EntryTooLarge | Store::BudgetTooSmall) => {
                world.counters.too_large += 1
            }
            Err(Store::WholeStored) => world.counters.part_refused += 1,
            Err(Store::Overtaken) => world.counters.overtaken += 1,
            Err(other) => world.fail(&format!("not stored: {other}")),
        }
        Turn::Done
    }

    fn base(&self) -> Option<&Base> {
        match &self.wants {
            Wants::Whole(base) => base.as_ref(),
            _ => None,
        }
    }

    fn decide(&self) {
        *self.decided.borrow_mut() = true;
    }

    fn failed(&mut self, world: &mut World, ticket: Ticket, why: Upstream) -> Turn {
        self.decide();
        let now = world.now();
        let stale = self.base().filter(|(base, decision)| {
            may_stand_in(&base.freshness(), decision, now, true) && base.state() != Mark::Dead
        });
        match stale.cloned() {
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
        let plan = match &self.wants {
            Wants::Whole(base) => {
                let tag = base.as_ref().and_then(|(base, _)| world.truth[serial_of(base)].etag.clone());
                world.answer(self, |asked| asked.holds = tag)
            }
            Wants::Range(from, to) => {
                world.counters.asked_part += 1;
                world.answer(self, |asked| asked.range = Some((*from, *to)))
            }
            Wants::Rest(held) => part::rest(world, self, held),
        };
        match plan {
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
        let request = fields(self.kind, self.secret, None);
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
            && let Some((base, decision)) = self.base()
            && may_stand_in(&base.freshness(), decision, world.now(), false)
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
        let announced = made.announced();
        let then = End::of(world, &self.wants, &mut headers, &made, announced);
        // RFC 9111 §3.3: a part is stored by the rules of the whole.
        let status = if made.status == 206 { 200 } else { made.status };
        let decision = self.judge(world, &ticket, status, &headers, announced);
        let Some(freshness) = decision.freshness else {
            world.counters.refused(decision.reason);
            world.counters.unsatisfiable += u64::from(made.status == 416);
            let of_request = matches!(decision.reason, Store::RequestAuthorization)
                || !matches!(then, End::Whole)
                || made.status == 416;
            ticket.not_storable(decision.reason, if of_request { 0 } else { world.now_ms + 10_000 });
            world.tell(self.client, Told::Alone(serial));
            return Turn::Done;
        };
        let mut head = self.entry_head(&headers, &made, freshness);
        then.complete(&mut head);
        let until = then.until(announced);
        let announced = if let End::Rest(..) = then { Some(made.total as u64) } else { until };
        let mut sink = ticket.store(head, announced, u64::MAX, world.now_ms);
        world.tell(self.client, Told::Shared);
        then.begin(&mut sink);
        let mut piece = made.len.div_ceil(pieces).max(1);
        if in_parts(self.key) {
            piece = piece.next_multiple_of(BLOCK);
        }
        // Whoever began it usually begins to read before the first byte; not always.
        let due_ms = world.now_ms + world.dice.roll(400);
        let (at, end) = (made.from, made.from + made.len);
        let cut_at = cut_at.map(|cut_at| made.from + cut_at);
        self.state =
            State::Takes(Box::new(Taking { sink, serial, at, end, piece, cut_at, until, due_ms, then }));
        Turn::Again
    }

    fn entry_head(
        &self,
        headers: &HeaderMap,
        made: &Made,
        freshness: samovar_policy::Freshness,
    ) -> EntryHead {
        let request = fields(self.kind, self.secret, None);
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
        let Some((base, ..)) = self.base().cloned() else { world.fail("a 304 to nobody") };
        let serial = serial_of(&base);
        if world.truth[serial].version != version {
            world.fail("a 304 for another version");
        }
        let mut fresh = HeaderMap::new();
        fresh.insert("cache-control", HeaderValue::from_str(&format!("max-age={lifetime_s}")).unwrap());
        let headers = merge_304(&base.headers(), &fresh);
        let decision = self.judge(world, &ticket, base.status().as_u16(), &headers, base.len_bytes());
        let (at_step, at_ms, lifetime_ms) = (world.step, world.now_ms, lifetime_s * 1000);
        let mut confirmation = Confirmation { at_step, at_ms, lifetime_ms, kept: false };
        world.counters.confirmed += 1;
        match decision.freshness {
            Some(freshness) => {
                let head = EntryHead {
                    headers: stored_fields(&headers, &wishes()),
                    freshness,
                    reason: Store::Refreshed,
                    ..base.head()
                };
                let (_, stored) = ticket.refresh(&base, head, world.now_ms);
                world.counters.purged_in_refresh += u64::from(stored.is_err());
                confirmation.kept = stored.is_ok();
                world.tell(self.client, Told::Shared);
            }
            None => {
                world.counters.purged_in_refresh += u64::from(decision.reason == Store::PurgedInFlight);
                ticket.not_storable(decision.reason, 0);
                world.tell(self.client, Told::Confirmed(serial));
            }
        }
        world.confirmed.entry(serial).or_default().push(confirmation);
        Turn::Done
    }
}

fn failure(reason: Upstream) -> FillFailure {
    FillFailure { reason, detail: "simulated".into() }
}
