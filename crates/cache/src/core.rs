//! The core: one question (`begin`) and what may follow from it, and what people ask to see. Not here: what a purge does
//! (`purge`).

mod purge;

pub use purge::{Receipt, Scope};

use crate::budget::Budget;
use crate::entry::{Entry, EntryHead, State};
use crate::evict::Queues;
use crate::fill::{Decided, Fill, Joined, Ticket};
use crate::home::{Home, Homes};
use crate::index::Index;
use crate::rows::NO_ROW;
use crate::shard::Shard;
use samovar_policy::{ReuseDecision, VaryValues, Verdict};
use samovar_reason::{Lookup, Store};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shards of the map: enough that two cores seldom meet.
const SHARDS: usize = 64;

/// So many of a key's running fills are looked at for one to join, as under one key there may be as many as requests; who
/// finds none among them fetches alone.
const FLIGHTS_MAX: usize = 64;

/// How a cache is sized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// All that is held, bytes.
    pub size_bytes: u64,
    /// Largest body stored in memory, bytes; half the budget at most.
    pub body_max_bytes: u64,
}

/// The question: may something stored answer this request?
pub struct Ask<'a> {
    /// The key.
    pub key: &'a str,
    /// Monotonic now, ms.
    pub now_ms: u64,
    /// Whether a variant's fields match the request's.
    pub matches: &'a dyn Fn(&VaryValues) -> bool,
    /// The request's values of the fields named in an earlier variant.
    pub vary_of: &'a dyn Fn(&VaryValues) -> VaryValues,
    /// Policy's word on a matching entry.
    pub judge: &'a dyn Fn(&Entry) -> ReuseDecision,
    /// Stored from the n-th request within the period on; 0 and 1 for the first.
    pub admit_after: u32,
    /// See `admit_after`, ms.
    pub admit_period_ms: u64,
    /// What the answer may be made of; a change of one of these overtakes the fill. See [`Scope::Made`].
    pub owners: &'a [Arc<str>],
    /// It wants this part: it may join a fill of the whole, but what it begins is for those who want the very same.
    pub part: Option<&'a str>,
    /// Do not join a fill: the request has been woken by one that did not fit it.
    pub alone: bool,
}

impl std::fmt::Debug for Ask<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ask({})", self.key)
    }
}

/// What to do.
#[derive(Debug)]
pub enum Step {
    /// Serve this entry.
    Serve(Arc<Entry>, ReuseDecision),
    /// Serve this stale entry; the ticket is there if this request is the one that refreshes it.
    ServeAndRefresh(Arc<Entry>, ReuseDecision, Option<Ticket>),
    /// Wait for a fill that is running.
    Join(Joined),
    /// Ask the origin. With an entry: conditionally; it may be used stale if the decision says so.
    Fetch(Ticket, Lookup, Option<(Arc<Entry>, ReuseDecision)>),
    /// Ask the origin past the cache: what is stored may not be used for this request.
    Pass(ReuseDecision),
}

/// One entry as people see it.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The entry.
    pub entry: Arc<Entry>,
}

/// Figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Entries stored.
    pub entries: u64,
    /// Bytes charged for what the cache holds.
    pub used_bytes: u64,
    /// Bytes that connections and records take beside, within the same budget.
    pub beside_bytes: u64,
    /// Of these, for the names of tags, which are nobody's own.
    pub tags_bytes: u64,
    /// Of these, for fields that many entries have in common.
    pub pairs_bytes: u64,
    /// Of these, for the heads of hot copies.
    pub hot_bytes: u64,
    /// The budget.
    pub limit_bytes: u64,
    /// Entries that left for room.
    pub evictions: u64,
    /// Answers stored so far.
    pub stored: u64,
    /// Purges so far.
    pub purges: u64,
    /// Fills running.
    pub fills: u64,
}

/// The cache.
#[derive(Debug)]
pub struct Cache {
    shards: Box<[Mutex<Shard>]>,
    hasher: foldhash::quality::RandomState,
    /// One for all shards: choosing well needs to see everything, and only what comes or goes asks it.
    known: Mutex<Known>,
    budget: Arc<Budget>,
    homes: Homes,
    body_max_bytes: AtomicU64,
    purges: AtomicU64,
    /// Purges that have begun and not returned.
    purging: AtomicU64,
    evictions: AtomicU64,
    stored: AtomicU64,
    making_room: Mutex<()>,
}

/// What is known of all entries, by row.
#[derive(Debug)]
struct Known {
    index: Index,
    queues: Queues,
}

impl Known {
    fn insert(&mut self, entry: &Arc<Entry>, hash: u64) {
        self.queues.insert(entry, hash);
        self.index.insert(entry, self.queues.rows());
    }

    fn remove(&mut self, entry: &Arc<Entry>) {
        if entry.row.load(Ordering::Relaxed) != NO_ROW {
            self.index.remove(entry, self.queues.rows());
            self.queues.remove(entry);
        }
    }

    fn with_tag(&self, tag: &str) -> Vec<Arc<Entry>> {
        let rows = self.index.with_tag(tag).into_iter().flatten();
        rows.filter_map(|row| self.queues.rows().entry(row)).cloned().collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic under the lock leaves plain data behind; serving on is better than stopping.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cache {
    /// An empty cache.
    pub fn new(settings: Settings) -> Arc<Cache> {
        let budget = Budget::new(settings.size_bytes);
        let cache = Cache {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: foldhash::quality::RandomState::default(),
            known: Mutex::new(Known { index: Index::new(&budget), queues: Queues::default() }),
            homes: Homes::new(&budget),
            budget,
            body_max_bytes: AtomicU64::new(0),
            purges: AtomicU64::new(0),
            purging: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
            stored: AtomicU64::new(0),
            making_room: Mutex::default(),
        };
        cache.resize(settings);
        Arc::new(cache)
    }

    /// Changes the sizes; what exceeds them leaves now.
    pub fn resize(&self, settings: Settings) {
        self.budget.set_limit_bytes(settings.size_bytes);
        self.body_max_bytes.store(settings.body_max_bytes.min(settings.size_bytes / 2), Ordering::Relaxed);
        self.make_room();
    }

    /// The budget, for others that hold memory on the cache's account.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// What the entries of a rule have in common.
    pub(crate) fn home(&self, rule: &Arc<str>) -> Arc<Home> {
        self.homes.of(rule)
    }

    /// The largest body stored, bytes.
    pub fn body_max_bytes(&self) -> u64 {
        self.body_max_bytes.load(Ordering::Relaxed)
    }

    /// Why a body of `bytes` could not be kept, whatever left for it.
    pub fn refuses(&self, bytes: u64) -> Option<Store> {
        let all = self.budget.limit_bytes().saturating_sub(self.budget.beside_bytes());
        if bytes > self.body_max_bytes() {
            Some(Store::EntryTooLarge)
        } else {
            (bytes >= all).then_some(Store::BudgetTooSmall)
        }
    }

    fn hash_of(&self, entry: &Entry) -> u64 {
        self.hasher.hash_one(entry.key_bytes())
    }

    fn shard_of(&self, key: &[u8]) -> (u64, &Mutex<Shard>) {
        let hash = self.hasher.hash_one(key);
        // SHARDS is a power of two and the slice has that many; the fallback cannot be reached.
        let at = (hash >> 57) as usize % SHARDS;
        let shard = self.shards.get(at).or_else(|| self.shards.first());
        match shard {
            Some(shard) => (hash, shard),
            None => unreachable!("a cache has shards"),
        }
    }

    /// The one question. Finds a variant and lets policy judge it; else joins a running fill, or begins one.
    pub fn begin(self: &Arc<Self>, ask: &Ask<'_>) -> Step {
        let (hash, shard) = self.shard_of(ask.key.as_bytes());
        let mut shard = lock(shard);
        let shard = &mut *shard;
        let mut why = Lookup::NoEntry;
        let mut revalidate = None;
        let fitting = |e: &&Arc<Entry>| usable(e) && (ask.matches)(e.vary());
        let mut others = false;
        let found = shard.variants(hash, ask.key).inspect(|_| others = true).find(fitting).cloned();
        if let Some(entry) = found {
            let decision = weigh(ask, &entry);
            match decision.verdict {
                Verdict::Serve => {
                    entry.touch();
                    return Step::Serve(entry, decision);
                }
                Verdict::Pass => return Step::Pass(decision),
                Verdict::ServeAndRefresh => {
                    entry.touch();
                    let running = shard.flights(ask.key).iter().take(FLIGHTS_MAX).any(|f| joins(f, ask));
                    let ticket = (!running).then(|| self.open(shard, ask, hash, None, true, true));
                    return Step::ServeAndRefresh(entry, decision, ticket);
                }
                // What is running will be newer; what is stored is as good as absent.
                Verdict::Refetch => why = decision.reason,
                Verdict::Revalidate { .. } | Verdict::Complete => {
                    why = decision.reason;
                    revalidate = Some((entry, decision));
                }
            }
        } else if others {
            why = Lookup::VaryMiss;
        }
        if !ask.alone
            && let Some(fill) = shard.flights(ask.key).iter().take(FLIGHTS_MAX).find(|f| joins(f, ask))
        {
            return Step::Join(Joined::new(Arc::clone(fill)));
        }
        let note = shard.notes.get(hash);
        let known = note.and_then(|n| n.not_storable).is_some_and(|(until_ms, _)| ask.now_ms < until_ms);
        let admitted = ask.admit_after <= 1
            || revalidate.is_some()
            || shard.notes.ask(hash, ask.now_ms, ask.admit_period_ms) >= ask.admit_after;
        if known && revalidate.is_none() {
            why = Lookup::KnownNotStorable;
        }
        // What must be confirmed for each request cannot be shared (RFC 9111 §4): others would wait for nothing.
        let each = revalidate
            .as_ref()
            .map(|(e, _)| e.freshness())
            .is_some_and(|freshness| freshness.always_revalidate || freshness.lifetime_ms == 0);
        // What may be confirmed is asked about as a whole, whatever is wanted of it; parts are never asked about.
        let whole = revalidate
            .as_ref()
            .is_some_and(|(e, d)| d.verdict != Verdict::Complete && e.freshness().has_validator);
        let part = ask.part.filter(|_| !whole);
        let joinable = !known && admitted && !ask.alone && !each;
        let ticket = self.open(shard, ask, hash, part, joinable, admitted);
        Step::Fetch(ticket, why, revalidate)
    }

    /// What `begin` would find, without counting, joining or beginning anything: the entry, policy's word, and
    /// whether a fill is running.
    pub fn peek(&self, ask: &Ask<'_>) -> (Option<(Arc<Entry>, ReuseDecision)>, Lookup, bool) {
        let (hash, shard) = self.shard_of(ask.key.as_bytes());
        let shard = lock(shard);
        let note = shard.notes.get(hash).and_then(|n| n.not_storable);
        let known = note.is_some_and(|(until_ms, _)| ask.now_ms < until_ms);
        let none = if known { Lookup::KnownNotStorable } else { Lookup::NoEntry };
        let flying = shard.flights(ask.key).iter().take(FLIGHTS_MAX).any(|f| joins(f, ask));
        let mut others = false;
        let mut variants = shard.variants(hash, ask.key).inspect(|_| others = true);
        match variants.find(|e| usable(e) && (ask.matches)(e.vary())).cloned() {
            Some(entry) => {
                let decision = weigh(ask, &entry);
                (Some((entry, decision)), decision.reason, flying)
            }
            None if others => (None, Lookup::VaryMiss, flying),
            None => (None, none, flying),
        }
    }

    /// Why the last answer of this key could not be stored, if that is still remembered.
    pub fn known_not_storable(&self, key: &str, now_ms: u64) -> Option<Store> {
        let (hash, shard) = self.shard_of(key.as_bytes());
        let (until_ms, reason) = lock(shard).notes.get(hash)?.not_storable?;
        (now_ms < until_ms).then_some(reason)
    }

    fn open(
        self: &Arc<Self>,
        shard: &mut Shard,
        ask: &Ask<'_>,
        hash: u64,
        part: Option<&str>,
        joinable: bool,
        admitted: bool,
    ) -> Ticket {
        let newest = shard.variants(hash, ask.key).max_by_key(|e| e.answered_ms());
        let presumed = newest.map(|e| (ask.vary_of)(e.vary())).unwrap_or_default();
        let key: Arc<str> =
            shard.flights(ask.key).first().map_or_else(|| ask.key.into(), |f| Arc::clone(&f.key));
        let fill = Fill::new(Arc::clone(&key), hash, part, joinable, presumed, ask.owners);
        let ticket = Ticket::new(Arc::clone(self), fill, admitted);
        shard.flights.entry(key).or_default().push(Arc::clone(ticket.fill()));
        ticket
    }

    /// A fill is whole: its entry is stored unless a purge came since it began.
    pub(crate) fn commit(&self, fill: &Arc<Fill>, entry: &Arc<Entry>) -> Result<(), Store> {
        self.commit_with(fill, |_| Ok(Arc::clone(entry))).map(drop)
    }

    /// A part came: it is stored together with those that are here of the same representation.
    pub(crate) fn commit_part(
        &self,
        fill: &Arc<Fill>,
        total: u64,
        head: &EntryHead,
        make: impl FnOnce(Option<&Arc<Entry>>) -> Result<Arc<Entry>, Store>,
    ) -> Result<Arc<Entry>, Store> {
        self.commit_with(fill, |shard| {
            // A purge that is under way may have found them and not marked them yet. One that begins from here on waits
            // for this shard before it looks anything up.
            let quiet = self.purging.load(Ordering::Acquire) == 0;
            let here = shard.part_like(&fill.key, fill.hash, head, total).filter(|_| quiet);
            make(here.as_ref())
        })
    }

    fn commit_with(
        &self,
        fill: &Arc<Fill>,
        make: impl FnOnce(&Shard) -> Result<Arc<Entry>, Store>,
    ) -> Result<Arc<Entry>, Store> {
        let (hash, shard) = self.shard_of(fill.key.as_bytes());
        let (entry, replaced) = {
            let mut shard = lock(shard);
            shard.remove_fill(fill);
            let made = make(&shard)?;
            let entry = &made;
            if entry.weight_bytes() > self.budget.limit_bytes().saturating_sub(self.budget.beside_bytes()) {
                entry.mark(State::Dead);
                return Err(Store::BudgetTooSmall);
            }
            if fill.doomed.load(Ordering::Acquire) {
                entry.mark(State::Dead);
                return Err(Store::PurgedInFlight);
            }
            if entry.body().is_part() && shard.has_whole(entry, hash) {
                entry.mark(State::Dead);
                return Err(Store::WholeStored);
            }
            if shard.has_newer(entry, hash) {
                entry.mark(State::Dead);
                return Err(Store::Overtaken);
            }
            shard.notes.storable(hash);
            let replaced = shard.insert(entry, hash, |entry| self.hash_of(entry));
            // Under the shard's lock, so that a purge that finds no fill here finds the entry in the index.
            let mut known = lock(&self.known);
            for old in &replaced {
                known.remove(old);
            }
            known.insert(entry, hash);
            (made, replaced)
        };
        drop(replaced);
        self.stored.fetch_add(1, Ordering::Relaxed);
        self.make_room();
        Ok(entry)
    }

    /// Takes a fill out that nobody waits for. Whoever joins does so under the shard's lock.
    pub(crate) fn give_up(&self, fill: &Arc<Fill>) -> bool {
        let (_, shard) = self.shard_of(fill.key.as_bytes());
        let mut shard = lock(shard);
        let deserted = fill.waiting() == 0;
        if deserted {
            shard.remove_fill(fill);
        }
        deserted
    }

    pub(crate) fn forget_fill(&self, fill: &Arc<Fill>) {
        let (_, shard) = self.shard_of(fill.key.as_bytes());
        lock(shard).remove_fill(fill);
    }

    pub(crate) fn note_not_storable(&self, fill: &Arc<Fill>, reason: Store, until_ms: u64) {
        let (_, shard) = self.shard_of(fill.key.as_bytes());
        let mut shard = lock(shard);
        shard.remove_fill(fill);
        let mut note = shard.notes.get(fill.hash).unwrap_or_default();
        note.not_storable = Some((until_ms, reason));
        shard.notes.set(fill.hash, note);
    }

    /// Takes a marked entry out of its shard, the index and the queues.
    fn take_out(&self, entry: &Arc<Entry>) {
        let (hash, shard) = self.shard_of(entry.key_bytes());
        let mut shard = lock(shard);
        shard.remove(entry, hash, |entry| self.hash_of(entry));
        lock(&self.known).remove(entry);
    }

    /// Evicts until the budget holds, as far as what is stored can bring it down. Bytes that readers still hold
    /// stay charged until they let go, and are not made up for by evicting everything else. `false` if nothing is left
    /// to evict and the budget does not hold.
    pub fn make_room(&self) -> bool {
        let excess = self.budget.excess_bytes();
        if excess == 0 {
            return true;
        }
        // One core at a time is enough; another that comes meanwhile goes on.
        let Ok(_guard) = self.making_room.try_lock() else { return true };
        let mut freed = 0;
        while freed < excess && self.budget.excess_bytes() > 0 {
            let victim = lock(&self.known).queues.victim(|e| self.hash_of(e));
            let Some(entry) = victim else { return false };
            entry.mark(State::Dead);
            self.take_out(&entry);
            freed += entry.weight_bytes();
            self.evictions.fetch_add(1, Ordering::Relaxed);
        }
        true
    }

    /// Up to `limit` entries whose key contains `filter`, in no particular order.
    pub fn list(&self, filter: &str, limit: usize) -> Vec<Listed> {
        let mut out = Vec::new();
        for shard in &self.shards {
            let shard = lock(shard);
            for entry in &shard.entries {
                if out.len() >= limit {
                    return out;
                }
                if entry.state() != State::Dead && entry.key().contains(filter) {
                    out.push(Listed { entry: Arc::clone(entry) });
                }
            }
        }
        out
    }

    /// Every variant of one URL.
    pub fn of_url(&self, url: &str) -> Vec<Arc<Entry>> {
        let known = lock(&self.known);
        known.index.with_url(url, known.queues.rows())
    }

    /// Figures now.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats {
            used_bytes: self.budget.used_bytes(),
            beside_bytes: self.budget.beside_bytes(),
            hot_bytes: self.budget.hot_bytes(),
            pairs_bytes: self.homes.pairs().bytes(),
            tags_bytes: lock(&self.known).index.tags_bytes(),
            limit_bytes: self.budget.limit_bytes(),
            evictions: self.evictions.load(Ordering::Relaxed),
            stored: self.stored.load(Ordering::Relaxed),
            purges: self.purges.load(Ordering::Relaxed),
            ..Stats::default()
        };
        for shard in &self.shards {
            let shard = lock(shard);
            stats.entries += shard.entries.len() as u64;
            stats.fills += shard.flying().count() as u64;
        }
        stats
    }
}

/// Policy's word, and that a softly purged entry is used only after the origin confirmed it.
fn weigh(ask: &Ask<'_>, entry: &Arc<Entry>) -> ReuseDecision {
    let mut decision = (ask.judge)(entry);
    let unasked = matches!(decision.verdict, Verdict::Serve | Verdict::ServeAndRefresh);
    if entry.state() == State::Soft && entry.body().is_part() && decision.verdict != Verdict::Pass {
        // Parts are not asked about; they are fetched anew.
        decision.verdict = Verdict::Refetch;
        decision.reason = Lookup::Purged;
    } else if entry.state() == State::Soft && unasked {
        decision.verdict = Verdict::Revalidate { stale_if_error: true };
        decision.reason = Lookup::Purged;
    }
    decision
}

fn usable(entry: &Arc<Entry>) -> bool {
    entry.state() != State::Dead
}

/// Whether a request may join a fill: nobody joins one that a purge overtook or that is past joining, and a
/// request whose fields differ from the expected ones begins its own.
fn joins(fill: &Arc<Fill>, ask: &Ask<'_>) -> bool {
    let of_another_part = fill.part.as_deref().is_some_and(|part| ask.part != Some(part));
    if !fill.joinable || of_another_part || fill.may_be_purged() {
        return false;
    }
    match fill.decided() {
        None => (ask.matches)(&fill.presumed),
        Some(Decided::Stream(entry)) => (ask.matches)(entry.vary()),
        Some(_) => false,
    }
}
