//! A client: it asks, joins, waits, reads, and ends exactly once.

use crate::fill::FillTask;
use crate::oracle::{Asker, Way};
use crate::origin::{Asked, Plan, answer, bytes};
use crate::world::{JOIN_MAX_MS, Turn, What, World, serial_of};
use samovar_cache::{Body, Decided, Entry, Joined, Reader, Step};
use samovar_policy::{ReuseDecision, Verdict, may_stand_in};
use samovar_reason::Lookup;
use std::sync::Arc;
use std::task::{Context, Poll};

/// What the client that began a fill is told.
pub enum Told {
    /// Look at the fill.
    Shared,
    /// The answer is for this client alone: its serial, or an entry that was confirmed but is not kept.
    Alone(usize),
    Confirmed(usize),
    Failed,
    Stopping,
}

pub struct Client {
    pub asker: Asker,
    pub told: Option<Told>,
    /// It wants some bytes out of the middle only.
    range: bool,
    /// It takes its time over every piece.
    slow: bool,
    asked: usize,
    state: State,
}

enum State {
    Asks { alone: bool },
    Joined(Joined, u64),
    Began(Joined),
    Direct { due_ms: u64 },
    ReadsGrowing(Reader, usize, usize),
    ReadsStored(Arc<Entry>, usize, usize),
}

impl Client {
    pub fn new(asker: Asker, range: bool, slow: bool) -> Client {
        Client { asker, told: None, range, slow, asked: 0, state: State::Asks { alone: false } }
    }

    /// Where it is, for the counters.
    pub fn is_waiting(&self) -> bool {
        matches!(self.state, State::Joined(..) | State::Began(_))
    }

    pub fn is_reading(&self) -> bool {
        matches!(self.state, State::ReadsGrowing(..) | State::ReadsStored(..))
    }

    pub fn poll(&mut self, world: &mut World, cx: &mut Context<'_>) -> Turn {
        match std::mem::replace(&mut self.state, State::Asks { alone: true }) {
            State::Asks { alone } => self.ask(world, alone),
            State::Joined(joined, since_ms) => match joined.poll_decided(cx) {
                Poll::Ready(_) if !world.woken => world.fail("a fill was decided and nobody told who waits"),
                Poll::Ready(decided) => {
                    drop(joined);
                    self.joined(world, decided)
                }
                Poll::Pending if world.now_ms >= since_ms + JOIN_MAX_MS => {
                    world.counters.waited_too_long += 1;
                    self.again(true)
                }
                Poll::Pending => {
                    self.state = State::Joined(joined, since_ms);
                    Turn::Parked(Some(since_ms + JOIN_MAX_MS))
                }
            },
            State::Began(joined) => match self.told.take() {
                None => {
                    self.state = State::Began(joined);
                    Turn::Parked(None)
                }
                Some(told) => self.told(world, told, &joined, cx),
            },
            State::Direct { due_ms } if world.now_ms < due_ms => {
                self.state = State::Direct { due_ms };
                Turn::Parked(Some(due_ms))
            }
            State::Direct { .. } => self.direct(world),
            State::ReadsGrowing(reader, serial, at) => self.read_growing(world, reader, serial, at, cx),
            State::ReadsStored(entry, serial, at) => self.read_stored(world, entry, serial, at),
        }
    }

    fn again(&mut self, alone: bool) -> Turn {
        self.asked += 1;
        self.state = State::Asks { alone: alone || self.asked > 3 };
        Turn::Again
    }

    fn end(&mut self, world: &mut World) -> Turn {
        world.answered += 1;
        Turn::Done
    }

    fn ask(&mut self, world: &mut World, alone: bool) -> Turn {
        let Asker { key, kind, secret, client, .. } = self.asker;
        self.asker.decided_ms = world.now_ms;
        let step = world.begin(key, kind, secret, alone);
        world.note(|| format!("client {client} asks {key} {kind} alone={alone}: {}", word(&step)));
        match step {
            Step::Serve(entry, _) => self.stored(world, entry, Way::Stored),
            Step::ServeAndRefresh(entry, decision, ticket) => {
                if let Some(ticket) = ticket {
                    let decision =
                        ReuseDecision { verdict: Verdict::Revalidate { stale_if_error: true }, ..decision };
                    let base = Some((Arc::clone(&entry), decision));
                    let fill = FillTask::new(world, ticket, key, kind, secret, None, base);
                    world.spawn(What::Fill(Box::new(fill)), None);
                }
                self.stored(world, entry, Way::WhileRefreshed)
            }
            Step::Join(joined) => {
                world.counters.joined += 1;
                self.state = State::Joined(joined, world.now_ms);
                Turn::Again
            }
            Step::Fetch(ticket, why, base) => {
                world.counters.fetched += 1;
                world.counters.known += u64::from(why == Lookup::KnownNotStorable);
                let joined = ticket.join();
                let fill = FillTask::new(world, ticket, key, kind, secret, Some(client), base);
                world.spawn(What::Fill(Box::new(fill)), None);
                self.state = State::Began(joined);
                Turn::Again
            }
            Step::Pass(_) => {
                world.counters.passed += 1;
                let due_ms = world.now_ms + world.dice.roll(200);
                self.state = State::Direct { due_ms };
                Turn::Parked(Some(due_ms))
            }
        }
    }

    /// Past the cache.
    fn direct(&mut self, world: &mut World) -> Turn {
        let Asker { key, kind, secret, client, .. } = self.asker;
        let plan = world.answer(key, kind, client, secret, None);
        if let Plan::Answers { made, .. } = plan {
            let serial = world.keep_truth(*made);
            world.give(&self.asker, Way::Own, serial);
        }
        self.end(world)
    }

    /// What a fill came to that it had joined; the order of the checks is the pipeline's.
    fn joined(&mut self, world: &mut World, decided: Decided) -> Turn {
        self.asker.decided_ms = world.now_ms;
        let failed = matches!(decided, Decided::Stale(_));
        match decided {
            Decided::Stream(entry) => {
                let (fits, decision) = world.judge_entry(&entry, self.asker.kind, self.asker.secret);
                if !fits {
                    world.counters.other_variant += 1;
                    return self.again(false);
                }
                if !matches!(decision.verdict, Verdict::Serve | Verdict::ServeAndRefresh) {
                    return self.again(true);
                }
                self.grow(world, &entry, Way::Shared)
            }
            Decided::Refreshed(entry) | Decided::Stale(entry) => {
                let (fits, decision) = world.judge_entry(&entry, self.asker.kind, self.asker.secret);
                let allowed = failed && may_stand_in(&entry.head.freshness, &decision, world.now(), true);
                let serves = matches!(decision.verdict, Verdict::Serve | Verdict::ServeAndRefresh);
                if !fits || !(serves || allowed) {
                    return self.again(true);
                }
                let way = if failed { Way::InPlaceOfError { unreachable: true } } else { Way::Confirmed };
                self.stored(world, entry, way)
            }
            Decided::NotStorable(_) => {
                world.counters.not_shared += 1;
                self.again(true)
            }
            Decided::Failed(_) => {
                world.counters.failed_together += 1;
                self.end(world)
            }
        }
    }

    fn told(&mut self, world: &mut World, told: Told, joined: &Joined, cx: &mut Context<'_>) -> Turn {
        match told {
            Told::Alone(serial) => {
                world.give(&self.asker, Way::Own, serial);
                self.end(world)
            }
            Told::Confirmed(serial) => {
                world.give(&self.asker, Way::Confirmed, serial);
                self.end(world)
            }
            Told::Failed | Told::Stopping => self.end(world),
            Told::Shared => match joined.poll_decided(cx) {
                Poll::Ready(Decided::Stream(entry)) => self.grow(world, &entry, Way::Own),
                Poll::Ready(Decided::Refreshed(entry)) => self.stored(world, entry, Way::Confirmed),
                Poll::Ready(Decided::Stale(entry)) => {
                    self.stored(world, entry, Way::InPlaceOfError { unreachable: true })
                }
                Poll::Ready(_) => self.end(world),
                Poll::Pending => world.fail("told that the fill is shared before it was decided"),
            },
        }
    }

    fn stored(&mut self, world: &mut World, entry: Arc<Entry>, way: Way) -> Turn {
        let serial = serial_of(&entry);
        world.give(&self.asker, way, serial);
        let at = self.first_byte(world, serial);
        self.state = State::ReadsStored(entry, serial, at);
        Turn::Again
    }

    fn grow(&mut self, world: &mut World, entry: &Arc<Entry>, way: Way) -> Turn {
        let Body::Growing(growing) = &entry.body else { world.fail("a stream that does not grow") };
        let serial = serial_of(entry);
        match growing.read() {
            Some(reader) => {
                world.give(&self.asker, way, serial);
                self.state = State::ReadsGrowing(reader, serial, 0);
                Turn::Again
            }
            None => {
                world.counters.too_late_to_read += 1;
                self.again(true)
            }
        }
    }

    fn first_byte(&self, world: &mut World, serial: usize) -> usize {
        let len = world.truth[serial].len;
        if self.range && len > 0 {
            world.counters.ranges += 1;
            return world.dice.roll(len as u64) as usize;
        }
        0
    }

    fn read_growing(
        &mut self,
        world: &mut World,
        mut reader: Reader,
        serial: usize,
        at: usize,
        cx: &mut Context<'_>,
    ) -> Turn {
        match reader.poll_next(cx) {
            Poll::Ready(Some(Ok(piece))) => {
                if at + piece.len() > world.truth[serial].len || piece != bytes(serial, at, at + piece.len())
                {
                    world.fail(&format!("bytes of another answer than {serial} at {at}"));
                }
                let enough = self.range && world.dice.once_in(3);
                if enough {
                    world.counters.ranges += 1;
                    return self.end(world);
                }
                self.state = State::ReadsGrowing(reader, serial, at + piece.len());
                if self.slow { Turn::Parked(Some(world.now_ms + 5_000)) } else { Turn::Again }
            }
            Poll::Ready(None) => {
                if at != world.truth[serial].len {
                    world.fail(&format!("answer {serial} ended well at {at}"));
                }
                self.end(world)
            }
            Poll::Ready(Some(Err(_))) => {
                world.counters.broke_off += 1;
                self.end(world)
            }
            Poll::Pending => {
                self.state = State::ReadsGrowing(reader, serial, at);
                Turn::Parked(None)
            }
        }
    }

    fn read_stored(&mut self, world: &mut World, entry: Arc<Entry>, serial: usize, at: usize) -> Turn {
        let Body::Chunks(chunks) = &entry.body else { world.fail("what is stored is not whole") };
        let len = world.truth[serial].len;
        let end = (at + 700).min(len);
        let got = chunks.slice(at as u64, end as u64).concat();
        if got != bytes(serial, at, end) || chunks.len_bytes() != len as u64 {
            world.fail(&format!("bytes of another answer than {serial} at {at}"));
        }
        if end == len {
            let gone = entry.state() == samovar_cache::State::Dead;
            world.counters.gone_while_read += u64::from(gone);
            return self.end(world);
        }
        self.state = State::ReadsStored(entry, serial, end);
        Turn::Again
    }
}

fn word(step: &Step) -> &'static str {
    match step {
        Step::Serve(..) => "serve",
        Step::ServeAndRefresh(..) => "serve and refresh",
        Step::Join(_) => "join",
        Step::Fetch(..) => "fetch",
        Step::Pass(_) => "pass",
    }
}

impl World {
    /// What the origin does with a request now.
    pub fn answer(
        &mut self,
        key: u64,
        kind: &'static str,
        client: usize,
        secret: bool,
        holds: Option<u64>,
    ) -> Plan {
        let (step, now_ms, serial) = (self.step, self.now_ms, self.truth.len());
        let asked =
            Asked { key, kind, client, secret, holds, step, now_ms, serial, versions: &self.versions };
        answer(&mut self.dice, &asked)
    }

    /// The oracle's record of an answer; returns its serial.
    pub fn keep_truth(&mut self, made: crate::origin::Made) -> usize {
        let serial = made.serial;
        assert_eq!(serial, self.truth.len());
        self.truth.push(made);
        serial
    }
}
