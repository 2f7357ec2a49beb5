//! The world: virtual time, a scheduler that interleaves everyone at every step, and the shells' protocol around the real
//! cache and the real policy, as the server's pipeline keeps it.
//!
//! Not here: what origins say (`origin`), what may be given (`oracle`), the clients' own steps (`client`).

use crate::client::{Client, Told};
use crate::counters::Counters;
use crate::dice::Dice;
use crate::fill::FillTask;
use crate::oracle::{Asker, Confirmation, LOW_KEYS, Purge, PurgeScope, Way, judge};
use crate::origin::{BLOCK, KEYS, Made, in_parts};
use crate::part::{judge as judge_part, range_value};
use http::header::RANGE;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use samovar_cache::{Ask, Cache, Entry, Scope, Settings, Step};
use samovar_policy::{
    Now, RequestFacts, ReuseDecision, VaryValues, Verdict, Wishes, combined, reuse, vary_matches, vary_values,
};
use samovar_reason::Lookup;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

const SIZE_BYTES: u64 = 60_000;
const BODY_MAX_BYTES: u64 = 12_000;
/// The smallest budget an operator sets; half of it is the largest body then.
const SMALLEST_BYTES: u64 = SIZE_BYTES / 12;
const CLIENTS_MAX: usize = 28;

/// How long a request waits for the head of a fetch it has joined, ms.
pub const JOIN_MAX_MS: u64 = 65_000;

/// Remembers that a waker was called. Who is parked is polled again only then.
pub struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Who takes turns: a client or a fill's task.
pub struct Actor {
    pub what: Option<What>,
    flag: Arc<Flag>,
    /// It also goes on at this moment, if it has one.
    pub due_ms: Option<u64>,
}

pub enum What {
    Client(Client),
    Fill(Box<FillTask>),
}

/// What a poll came to.
pub enum Turn {
    /// Go on with it whenever its turn comes.
    Again,
    /// Parked until its waker is called, or until this moment.
    Parked(Option<u64>),
    Done,
}

/// A fill as the oracle counts it.
#[derive(Clone)]
pub struct Running {
    pub key: u64,
    pub kind: &'static str,
    /// What it asks for, if not all of it.
    pub range: Option<(usize, usize)>,
    pub since_step: u64,
    /// Whether others may join it.
    pub shares: bool,
    pub decided: Rc<RefCell<bool>>,
}

pub struct World {
    pub cache: Arc<Cache>,
    pub dice: Dice,
    pub now_ms: u64,
    pub step: u64,
    pub actors: Vec<Actor>,
    pub versions: Vec<u64>,
    pub truth: Vec<Made>,
    pub confirmed: HashMap<usize, Vec<Confirmation>>,
    pub purges: Vec<Purge>,
    pub running: Vec<Running>,
    /// When fills were overtaken by a changed file.
    changes: Vec<u64>,
    pub counters: Counters,
    /// Whether whoever has its turn was woken, rather than its time come.
    pub woken: bool,
    pub clients: usize,
    pub answered: usize,
    log: VecDeque<String>,
    seed: u64,
    /// Little is purged and everything has room, so that what takes several requests comes about.
    pub calm: bool,
    /// Nothing else is asked for than what can be had in parts, and it goes often.
    parts: bool,
    clients_max: usize,
}

/// The request's fields.
pub fn fields(kind: &'static str, secret: bool, range: Option<(usize, usize)>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some((from, to)) = range {
        headers.insert(RANGE, range_value(from, to));
    }
    headers.insert("x-kind", HeaderValue::from_static(kind));
    if secret {
        headers.insert("authorization", HeaderValue::from_static("Basic x"));
    }
    headers
}

pub fn facts(headers: &HeaderMap) -> RequestFacts<'_> {
    RequestFacts {
        method: &Method::GET,
        headers,
        relevant_cookies: false,
        has_query: false,
        any_cookies: false,
    }
}

pub fn wishes() -> Wishes {
    Wishes {
        max_bytes: u64::MAX,
        stale_if_unreachable_ms: crate::oracle::UNREACHABLE_MS,
        ..Wishes::default()
    }
}

pub fn key_name(key: u64) -> String {
    if key < LOW_KEYS { format!("http://h/low/{key}") } else { format!("http://h/k/{key}") }
}

pub fn serial_of(entry: &Entry) -> usize {
    entry.headers()["x-serial"].to_str().unwrap().parse().unwrap()
}

impl World {
    pub fn new(seed: u64) -> World {
        World {
            cache: Cache::new(Settings { size_bytes: SIZE_BYTES, body_max_bytes: BODY_MAX_BYTES }),
            dice: Dice::new(seed),
            now_ms: 1_000_000,
            step: 0,
            actors: Vec::new(),
            versions: vec![0; KEYS as usize],
            truth: Vec::new(),
            confirmed: HashMap::new(),
            purges: Vec::new(),
            running: Vec::new(),
            changes: Vec::new(),
            counters: Counters::default(),
            woken: false,
            clients: 0,
            answered: 0,
            log: VecDeque::new(),
            seed,
            calm: !seed.is_multiple_of(4),
            parts: seed % 4 >= 2,
            clients_max: if seed % 4 >= 2 { CLIENTS_MAX / 4 } else { CLIENTS_MAX },
        }
    }

    pub fn now(&self) -> Now {
        Now { mono_ms: self.now_ms, wall_ms: 1_700_000_000_000 + self.now_ms }
    }

    pub fn note(&mut self, text: impl FnOnce() -> String) {
        if self.log.len() >= 40 {
            self.log.pop_front();
        }
        let line = format!("{:>8} {:>8} ms  {}", self.step, self.now_ms, text());
        self.log.push_back(line);
    }

    pub fn fail(&self, what: &str) -> ! {
        let log: Vec<&str> = self.log.iter().map(String::as_str).collect();
        panic!(
            "{what}\nreplay with SAMOVAR_SIM_SEED={}, step {}; the last events:\n{}",
            self.seed,
            self.step,
            log.join("\n")
        );
    }

    /// Asks the cache as the pipeline does.
    pub fn begin(&mut self, asker: &Asker, range: Option<(usize, usize)>, alone: bool) -> Step {
        let Asker { key, kind, secret, .. } = *asker;
        let headers = fields(kind, secret, range);
        let name = key_name(key);
        let owner: [Arc<str>; 1] = [Arc::from(if key.is_multiple_of(2) { "even" } else { "odd" })];
        let (now, wishes) = (self.now(), wishes());
        let part = range.map(|(from, to)| format!("{from}-{to}"));
        let step = self.cache.begin(&Ask {
            key: &name,
            now_ms: self.now_ms,
            matches: &|values| fits(values, &headers),
            vary_of: &|values| {
                let names: Vec<HeaderName> = values.iter().map(|(name, _)| name.clone()).collect();
                vary_values(&names, &headers, &combined)
            },
            judge: &|entry| {
                let decision = reuse(&entry.freshness(), &facts(&headers), &wishes, now);
                if entry.body().is_part() { judge_part(entry, &facts(&headers), decision) } else { decision }
            },
            admit_after: 0,
            admit_period_ms: 0,
            owners: &owner,
            part: part.as_deref(),
            alone: alone || secret,
        });
        match &step {
            Step::Fetch(_, why, base) => {
                let each = base.as_ref().is_some_and(|(entry, _)| {
                    entry.freshness().always_revalidate || entry.freshness().lifetime_ms == 0
                });
                // What may be confirmed is asked about as a whole.
                let whole = base.as_ref().is_some_and(|(entry, decision)| {
                    decision.verdict != Verdict::Complete && entry.freshness().has_validator
                });
                let range = range.filter(|_| !whole);
                let known = *why == Lookup::KnownNotStorable
                    || self.cache.known_not_storable(&name, self.now_ms).is_some();
                self.begun(key, kind, range, !alone && !secret && !each && !known);
            }
            Step::ServeAndRefresh(_, _, Some(_)) => self.begun(key, kind, None, true),
            _ => {}
        }
        step
    }

    /// At most one fill that others may join, per key and variant.
    fn begun(&mut self, key: u64, kind: &'static str, range: Option<(usize, usize)>, shares: bool) {
        let overtaken = |since: u64| {
            self.purges.iter().any(|purge| purge.step >= since)
                || self.changes.iter().any(|step| *step >= since)
        };
        let twice = self.running.iter().any(|fill| {
            let same = fill.key == key && fill.kind == kind && fill.range == range && fill.shares && shares;
            same && !*fill.decided.borrow() && !overtaken(fill.since_step)
        });
        if twice {
            self.fail(&format!("two fills for key {key}, kind {kind}"));
        }
        let decided = Rc::default();
        self.running.push(Running { key, kind, range, since_step: self.step, shares, decided });
    }

    pub fn judge_entry(&self, entry: &Entry, kind: &'static str, secret: bool) -> (bool, ReuseDecision) {
        let headers = fields(kind, secret, None);
        let decision = reuse(&entry.freshness(), &facts(&headers), &wishes(), self.now());
        (fits(entry.vary(), &headers), decision)
    }

    /// An answer is about to be given: the oracle's word on it.
    pub fn give(&mut self, asker: &Asker, way: Way, serial: usize) {
        let made = &self.truth[serial];
        let confirmed = self.confirmed.get(&serial).map_or(&[][..], Vec::as_slice);
        self.counters.way(way);
        if let Err(why) = judge(asker, way, made, confirmed, &self.purges) {
            let text = format!("{why}\n{asker:?} got {serial} by {way:?}, confirmed {confirmed:?}");
            self.fail(&text);
        }
    }

    pub fn spawn(&mut self, what: What, due_ms: Option<u64>) {
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        let actor = Actor { what: Some(what), flag, due_ms };
        match self.actors.iter().position(|actor| actor.what.is_none()) {
            Some(free) => self.actors[free] = actor,
            None => self.actors.push(actor),
        }
    }

    /// Tells the client that began a fill what came of it.
    pub fn tell(&mut self, client: Option<usize>, told: Told) {
        let Some(client) = client else { return };
        for actor in &mut self.actors {
            if let Some(What::Client(waiting)) = &mut actor.what
                && waiting.asker.client == client
            {
                waiting.told = Some(told);
                // Decided is decided, however late its turn comes.
                waiting.asker.decided_ms = self.now_ms;
                actor.flag.0.store(true, Ordering::SeqCst);
                return;
            }
        }
    }

    /// At any moment: what is stored and what is arriving is paid for.
    fn account(&self) {
        let stored: u64 =
            self.cache.list("", usize::MAX).iter().map(|listed| listed.entry.weight_bytes()).sum();
        let arriving: u64 = self
            .actors
            .iter()
            .map(|actor| match &actor.what {
                Some(What::Fill(fill)) => fill.holds_bytes(SMALLEST_BYTES / 2),
                _ => 0,
            })
            .sum();
        let used = self.cache.stats().used_bytes;
        if used < stored + arriving {
            self.fail(&format!("{used} bytes accounted, at least {stored} + {arriving} held"));
        }
    }

    fn active_clients(&self) -> usize {
        self.actors.iter().filter(|actor| matches!(actor.what, Some(What::Client(_)))).count()
    }

    /// One decision of the scheduler.
    pub fn step_once(&mut self, draining: bool) -> bool {
        self.step += 1;
        if self.step.is_multiple_of(256) {
            self.account();
        }
        self.now_ms += self.dice.roll(12);
        if !draining {
            match self.dice.roll(200) {
                0..=59 if self.active_clients() < self.clients_max => return self.new_client(),
                60 if self.calm && !self.parts && !self.dice.once_in(4) => {}
                60 | 61 if self.parts && !self.dice.once_in(24) => {
                    let key = *self.dice.pick(&[4, 8, 9]);
                    return self.purge_of(PurgeScope::Key(key), &key_name(key), false);
                }
                60 => return self.purge(),
                61 if !self.calm => return self.resize(),
                62 if self.calm && !self.dice.once_in(4) => {}
                62 => {
                    let key = self.dice.roll(KEYS) as usize;
                    self.versions[key] += 1;
                    return true;
                }
                63 | 64 => return self.abort_client(),
                65 if self.dice.once_in(4) => return self.kill_fill(),
                66 => self.now_ms += self.dice.roll(3_000),
                _ => {}
            }
        }
        self.someones_turn()
    }

    fn new_client(&mut self) -> bool {
        let client = self.clients;
        self.clients += 1;
        let kind = *self.dice.pick(&["a", "b"]);
        let secret = self.dice.once_in(12);
        let key = match self.dice.roll(6) {
            _ if self.parts => *self.dice.pick(&[4, 8, 9]),
            0 | 1 => 0,
            _ => self.dice.roll(KEYS),
        };
        let asker = Asker { client, key, kind, secret, at_step: self.step, decided_ms: self.now_ms };
        let (range, slow) = (self.dice.once_in(6), self.dice.once_in(4));
        let mut client = Client::new(asker, range, slow);
        if in_parts(key) && !self.dice.once_in(if self.parts { 2 } else { 5 }) {
            // Now and then beyond the end, or all of it by name.
            let from = BLOCK * self.dice.roll(12).saturating_sub(6) as usize;
            client.part = Some((from, from + BLOCK * (1 + self.dice.roll(6) as usize)));
        }
        self.spawn(What::Client(client), None);
        true
    }

    fn someones_turn(&mut self) -> bool {
        let ready: Vec<usize> = (0..self.actors.len())
            .filter(|at| {
                let actor = &self.actors[*at];
                actor.what.is_some()
                    && (actor.flag.0.load(Ordering::SeqCst)
                        || actor.due_ms.is_some_and(|due| due <= self.now_ms))
            })
            .collect();
        if ready.is_empty() {
            // Nobody can go on: time does.
            let next = self
                .actors
                .iter()
                .filter(|actor| actor.what.is_some())
                .filter_map(|actor| actor.due_ms)
                .min();
            return match next {
                Some(due_ms) => {
                    self.now_ms = self.now_ms.max(due_ms);
                    true
                }
                None => false,
            };
        }
        let at = *self.dice.pick(&ready);
        let mut what = self.actors[at].what.take();
        let flag = Arc::clone(&self.actors[at].flag);
        self.woken = flag.0.swap(false, Ordering::SeqCst);
        // Its place is kept while it is out: what it spawns goes elsewhere.
        let turn = {
            let waker = Waker::from(Arc::clone(&flag));
            let mut cx = std::task::Context::from_waker(&waker);
            let held = Held::new(self, at);
            match what.as_mut() {
                Some(What::Client(client)) => client.poll(held.world, &mut cx),
                Some(What::Fill(fill)) => fill.poll(held.world, &mut cx),
                None => Turn::Done,
            }
        };
        match turn {
            Turn::Again => {
                self.actors[at].what = what;
                self.actors[at].due_ms = None;
                flag.0.store(true, Ordering::SeqCst);
            }
            Turn::Parked(due_ms) => {
                self.actors[at].what = what;
                self.actors[at].due_ms = due_ms;
            }
            Turn::Done => {
                self.actors[at].what = None;
                self.actors[at].due_ms = None;
            }
        }
        true
    }

    fn purge(&mut self) -> bool {
        let soft = self.dice.once_in(3);
        let (scope, given) = match self.dice.roll(12) {
            0..=4 => {
                let key = self.dice.roll(KEYS);
                (PurgeScope::Key(key), key_name(key))
            }
            5 | 6 => (PurgeScope::Low, "http://h/low/".to_owned()),
            7..=9 => {
                let tag = *self.dice.pick(&["red", "blue"]);
                (PurgeScope::Tag(tag), tag.to_owned())
            }
            _ => (PurgeScope::All, String::new()),
        };
        self.purge_of(scope, &given, soft)
    }

    fn purge_of(&mut self, scope: PurgeScope, given: &str, soft: bool) -> bool {
        let receipt = match scope {
            PurgeScope::Key(_) => self.cache.purge(Scope::Url(given), soft),
            PurgeScope::Low => self.cache.purge(Scope::Prefix(given), soft),
            PurgeScope::Tag(_) if self.dice.once_in(2) => {
                let owner = *self.dice.pick(&["even", "odd"]);
                // A change of a file: only fills of its folder are overtaken, so for the oracle it is no purge of
                // what is under way elsewhere; what carries the tag is gone all the same.
                self.counters.purged_made += 1;
                self.changes.push(self.step);
                self.cache.purge(Scope::Made { tag: given, owner }, false);
                return true;
            }
            PurgeScope::Tag(_) => self.cache.purge(Scope::Tag(given), soft),
            PurgeScope::All => self.cache.purge(Scope::All, soft),
        };
        self.purges.push(Purge { step: self.step, soft, scope });
        self.counters.purged(scope, soft, receipt.fills);
        self.note(|| format!("purge {scope:?} soft={soft}: {receipt:?}"));
        true
    }

    fn resize(&mut self) -> bool {
        self.counters.resized += 1;
        let size_bytes = *self.dice.pick(&[SIZE_BYTES, SIZE_BYTES, SIZE_BYTES / 3, SMALLEST_BYTES]);
        self.cache.resize(Settings { size_bytes, body_max_bytes: BODY_MAX_BYTES });
        true
    }

    /// A client leaves, wherever it is.
    fn abort_client(&mut self) -> bool {
        let clients: Vec<usize> = (0..self.actors.len())
            .filter(|at| matches!(self.actors[*at].what, Some(What::Client(_))))
            .collect();
        if clients.is_empty() {
            return true;
        }
        let at = *self.dice.pick(&clients);
        if let Some(What::Client(client)) = self.actors[at].what.take() {
            self.counters.aborted(&client);
            self.answered += 1; // it is accounted for: it went by itself
            let id = client.asker.client;
            drop(client);
            self.note(|| format!("client {id} leaves"));
        }
        true
    }

    /// A fill's task is stopped without a word: the server ends.
    fn kill_fill(&mut self) -> bool {
        let fills: Vec<usize> = (0..self.actors.len())
            .filter(|at| matches!(self.actors[*at].what, Some(What::Fill(_))))
            .collect();
        if fills.is_empty() {
            return true;
        }
        let at = *self.dice.pick(&fills);
        if let Some(What::Fill(fill)) = self.actors[at].what.take() {
            self.counters.killed += 1;
            let client = fill.client;
            fill.forget(self);
            drop(fill);
            self.tell(client, Told::Stopping);
        }
        true
    }

    /// Everyone comes to an end; then every byte is accounted for.
    pub fn drain(&mut self) {
        let mut turns = 0_u64;
        while self.actors.iter().any(|actor| actor.what.is_some()) {
            if !self.step_once(true) {
                self.fail("someone is parked for ever: a wake-up was lost");
            }
            turns += 1;
            if turns > 200_000 {
                self.fail("no end comes");
            }
        }
        if self.answered != self.clients {
            self.fail(&format!("{} requests, {} ends", self.clients, self.answered));
        }
        self.running.clear();
        let held: u64 =
            self.cache.list("", usize::MAX).iter().map(|listed| listed.entry.weight_bytes()).sum();
        let stats = self.cache.stats();
        if stats.used_bytes != held + stats.tags_bytes + stats.pairs_bytes {
            self.fail(&format!("{} bytes accounted, {held} held: {stats:?}", stats.used_bytes));
        }
        if stats.used_bytes > stats.limit_bytes || stats.fills != 0 {
            self.fail(&format!("at rest: {stats:?}"));
        }
    }
}

/// Keeps an actor's place taken while it has its turn.
struct Held<'w> {
    world: &'w mut World,
}

impl<'w> Held<'w> {
    fn new(world: &'w mut World, at: usize) -> Held<'w> {
        world.actors[at].what = Some(What::Fill(Box::new(FillTask::placeholder())));
        Held { world }
    }
}

fn fits(values: &VaryValues, headers: &HeaderMap) -> bool {
    vary_matches(values, headers, &combined)
}
