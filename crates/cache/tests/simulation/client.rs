//! A client: it asks, joins, waits, reads, and ends exactly once.

use crate::fill::{FillTask, Wants};
use crate::oracle::{Asker, Way};
use crate::origin::{Asked, Made, Plan, answer, bytes, in_parts};
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
    /// The bytes it asks for, of what can be had in parts.
    pub part: Option<(usize, usize)>,
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
    ReadsGrowing(Reader, Reading),
    ReadsStored(Arc<Entry>, Reading),
}

/// How far it has come with whose bytes.
#[derive(Clone, Copy)]
struct Reading {
    serial: usize,
    way: Way,
    at: usize,
    end: usize,
}

impl Client {
    pub fn new(asker: Asker, range: bool, slow: bool) -> Client {
        Client { asker, told: None, range, part: None, slow, asked: 0, state: State::Asks { alone: false } }
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
            State::ReadsGrowing(reader, reading) => self.read_growing(world, reader, reading, cx),
            State::ReadsStored(entry, reading) => self.read_stored(world, entry, reading),
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
        let step = world.begin(&self.asker, self.part, alone);
        world.note(|| format!("client {client} asks {key} {kind} alone={alone}: {}", word(&step)));
        match step {
            Step::Serve(entry, _) => self.stored(world, entry, Way::Stored),
            Step::ServeAndRefresh(entry, decision, ticket) => {
                if let Some(ticket) = ticket {
                    let decision =
                        ReuseDecision { verdict: Verdict::Revalidate { stale_if_error: true }, ..decision };
                    let base = Some((Arc::clone(&entry), decision));
                    let fill = FillTask::new(world, ticket, key, kind, secret, None, Wants::Whole(base));
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
                let wants = match (base, self.part) {
                    (Some((entry, decision)), None) if decision.verdict == Verdict::Complete => {
                        Wants::Rest(entry)
                    }
                    (Some(base), Some(_))
                        if base.1.verdict != Verdict::Complete && base.0.freshness().has_validator =>
                    {
                        Wants::Whole(Some(base))
                    }
                    (_, Some((from, to))) => Wants::Range(from, to),
                    (base, None) => Wants::Whole(base),
                };
                let fill = FillTask::new(world, ticket, key, kind, secret, Some(client), wants);
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
        let part = self.part;
        let plan = world.answer_to(key, kind, client, secret, |asked| asked.range = part);
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
                let allowed = failed && may_stand_in(&entry.freshness(), &decision, world.now(), true);
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
        let (from, to) = world.extent(&entry);
        let (at, end) = match (entry.body(), self.part) {
            // What is wanted ends with the representation at the latest.
            (Body::Parts(parts), Some((from, to))) => {
                world.counters.part_hits += 1;
                (from, to.min(parts.total_bytes() as usize))
            }
            (Body::Parts(_), None) => world.fail("some parts were given for the whole"),
            (Body::Own | Body::Chunks(_), Some((from, _))) if from >= to => (to, to),
            (Body::Own | Body::Chunks(_), Some((from, until))) => (from, until.min(to)),
            _ => (self.first_byte(world, from, to), to),
        };
        self.state = State::ReadsStored(entry, Reading { serial, way, at, end });
        Turn::Again
    }

    fn grow(&mut self, world: &mut World, entry: &Arc<Entry>, way: Way) -> Turn {
        let Body::Growing(growing) = entry.body() else { world.fail("a stream that does not grow") };
        let serial = serial_of(entry);
        match growing.read() {
            Some(reader) => {
                world.give(&self.asker, way, serial);
                let (at, end) = world.extent(entry);
                self.state = State::ReadsGrowing(reader, Reading { serial, way, at, end });
                Turn::Again
            }
            None => {
                world.counters.too_late_to_read += 1;
                self.again(true)
            }
        }
    }

    fn first_byte(&self, world: &mut World, from: usize, to: usize) -> usize {
        if self.range && from < to && !in_parts(self.asker.key) {
            world.counters.ranges += 1;
            return from + world.dice.roll((to - from) as u64) as usize;
        }
        from
    }

    /// The bytes are those of the answer they are said to be, or of several that go together.
    fn check(&self, world: &World, reading: &Reading, piece: &[u8]) {
        let Reading { serial, way, at, end } = *reading;
        if at + piece.len() > end {
            world.fail(&format!("more bytes than answer {serial} has, at {at}"));
        }
        if piece == bytes(serial, at, at + piece.len()) {
            return;
        }
        if !in_parts(self.asker.key) {
            world.fail(&format!("bytes of another answer than {serial} at {at}"));
        }
        world.check_blocks(&self.asker, way, serial, at, piece);
    }

    fn read_growing(
        &mut self,
        world: &mut World,
        mut reader: Reader,
        mut reading: Reading,
        cx: &mut Context<'_>,
    ) -> Turn {
        match reader.poll_next(cx) {
            Poll::Ready(Some(Ok(piece))) => {
                self.check(world, &reading, &piece);
                let enough = self.range && world.dice.once_in(3);
                if enough {
                    world.counters.ranges += 1;
                    return self.end(world);
                }
                reading.at += piece.len();
                self.state = State::ReadsGrowing(reader, reading);
                if self.slow { Turn::Parked(Some(world.now_ms + 5_000)) } else { Turn::Again }
            }
            Poll::Ready(None) => {
                if reading.at != reading.end {
                    world.fail(&format!("answer {} ended well at {}", reading.serial, reading.at));
                }
                self.end(world)
            }
            Poll::Ready(Some(Err(_))) => {
                world.counters.broke_off += 1;
                self.end(world)
            }
            Poll::Pending => {
                self.state = State::ReadsGrowing(reader, reading);
                Turn::Parked(None)
            }
        }
    }

    fn read_stored(&mut self, world: &mut World, entry: Arc<Entry>, mut reading: Reading) -> Turn {
        let Reading { serial, at, end, .. } = reading;
        let to = (at + 704).min(end);
        let (from, until) = world.extent(&entry);
        let got = match entry.body() {
            Body::Own | Body::Chunks(_) if entry.len_bytes() == Some((until - from) as u64) => {
                entry.slice((at - from) as u64, (to - from) as u64).unwrap_or_default()
            }
            // For the very range it was stored for.
            Body::Verbatim(verbatim) => verbatim.chunks.slice((at - from) as u64, (to - from) as u64),
            Body::Parts(parts) => parts.slice(at as u64, to as u64).unwrap_or_default(),
            _ => world.fail("what is stored has another length"),
        }
        .concat();
        if got.len() != to - at {
            world.fail(&format!("{} bytes at {at} of {serial}, not {}", got.len(), to - at));
        }
        self.check(world, &reading, &got);
        if to == end {
            let gone = entry.state() == samovar_cache::State::Dead;
            world.counters.gone_while_read += u64::from(gone);
            return self.end(world);
        }
        reading.at = to;
        self.state = State::ReadsStored(entry, reading);
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
    /// What the origin does with a fill's question now.
    pub fn answer(&mut self, task: &FillTask, with: impl FnOnce(&mut Asked<'_>)) -> Plan {
        self.answer_to(task.key, task.kind, task.client.unwrap_or(usize::MAX), task.secret, with)
    }

    /// What the origin does with a request now, the question completed by `with`.
    pub fn answer_to(
        &mut self,
        key: u64,
        kind: &'static str,
        client: usize,
        secret: bool,
        with: impl FnOnce(&mut Asked<'_>),
    ) -> Plan {
        let (step, now_ms, serial) = (self.step, self.now_ms, self.truth.len());
        let mut asked = Asked {
            key,
            kind,
            client,
            secret,
            holds: None,
            range: None,
            if_range: None,
            step,
            now_ms,
            serial,
            versions: &self.versions,
            calm: self.calm,
        };
        with(&mut asked);
        answer(&mut self.dice, &asked)
    }

    /// The oracle's record of an answer; returns its serial.
    pub fn keep_truth(&mut self, made: Made) -> usize {
        let serial = made.serial;
        assert_eq!(serial, self.truth.len());
        self.truth.push(made);
        serial
    }
}
