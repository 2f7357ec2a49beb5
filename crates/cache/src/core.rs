//! The core: one question (`begin`) and what may follow from it, purge, and what people ask to see.

use crate::budget::Budget;
use crate::entry::{Entry, EntryHead, State};
use crate::evict::Queues;
use crate::fill::{Decided, Fill, Joined, Ticket};
use crate::index::Index;
use crate::shard::Shard;
use samovar_policy::{ReuseDecision, VaryValues, Verdict};
use samovar_reason::{Lookup, Store};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shards of the map: enough that two cores seldom meet.
const SHARDS: usize = 64;

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

/// What to purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Every variant of one URL.
    Url(&'a str),
    /// Every key that begins so.
    Prefix(&'a str),
    /// Every entry with this tag. Any running fill may turn out to carry it.
    Tag(&'a str),
    /// Every entry with this tag, and the running fills whose answers may be made of `owner`.
    Made {
        /// The tag.
        tag: &'a str,
        /// One of the fill's [`Ask::owners`].
        owner: &'a str,
    },
    /// Everything.
    All,
}

/// What a purge did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Its number; grows by one with each purge.
    pub sequence: u64,
    /// Entries marked.
    pub entries: u64,
    /// Their weight, bytes.
    pub bytes: u64,
    /// Running fills that will not be stored, or will not if they turn out to carry the tag.
    pub fills: u64,
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
    /// Bytes charged.
    pub used_bytes: u64,
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
    index: Mutex<Index>,
    /// One for all shards: choosing well needs to see everything, and only insertions and evictions ask it.
    queues: Mutex<Queues>,
    budget: Arc<Budget>,
    body_max_bytes: AtomicU64,
    purges: AtomicU64,
    /// Purges that have begun and not returned.
    purging: AtomicU64,
    evictions: AtomicU64,
    stored: AtomicU64,
    making_room: Mutex<()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic under the lock leaves plain data behind; serving on is better than stopping.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cache {
    /// An empty cache.
    pub fn new(settings: Settings) -> Arc<Cache> {
        let cache = Cache {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: foldhash::quality::RandomState::default(),
            index: Mutex::default(),
            queues: Mutex::default(),
            budget: Budget::new(settings.size_bytes),
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

    /// The largest body stored, bytes.
    pub fn body_max_bytes(&self) -> u64 {
        self.body_max_bytes.load(Ordering::Relaxed)
    }

    fn shard_of(&self, key: &str) -> (u64, &Mutex<Shard>) {
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
        let (hash, shard) = self.shard_of(ask.key);
        let mut shard = lock(shard);
        let shard = &mut *shard;
        let mut why = Lookup::NoEntry;
        let mut revalidate = None;
        if let Some(slot) = shard.slots.get(ask.key) {
            if let Some(entry) = slot.variants.iter().rev().find(|e| usable(e) && (ask.matches)(&e.head.vary))
            {
                let decision = weigh(ask, entry);
                match decision.verdict {
                    Verdict::Serve => {
                        entry.touch();
                        return Step::Serve(Arc::clone(entry), decision);
                    }
                    Verdict::Pass => return Step::Pass(decision),
                    Verdict::ServeAndRefresh => {
                        entry.touch();
                        let entry = Arc::clone(entry);
                        let running = slot.flights.iter().any(|f| joins(f, ask));
                        let ticket = (!running).then(|| self.open(shard, ask, hash, None, true, true));
                        return Step::ServeAndRefresh(entry, decision, ticket);
                    }
                    // What is running will be newer; what is stored is as good as absent.
                    Verdict::Refetch => why = decision.reason,
                    Verdict::Revalidate { .. } | Verdict::Complete => {
                        why = decision.reason;
                        revalidate = Some((Arc::clone(entry), decision));
                    }
                }
            } else if !slot.variants.is_empty() {
                why = Lookup::VaryMiss;
            }
            if !ask.alone
                && let Some(fill) = slot.flights.iter().find(|f| joins(f, ask))
            {
                return Step::Join(Joined::new(Arc::clone(fill)));
            }
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
            .is_some_and(|(e, _)| e.head.freshness.always_revalidate || e.head.freshness.lifetime_ms == 0);
        // What may be confirmed is asked about as a whole, whatever is wanted of it; parts are never asked about.
        let whole = revalidate
            .as_ref()
            .is_some_and(|(e, d)| d.verdict != Verdict::Complete && e.head.freshness.has_validator);
        let part = ask.part.filter(|_| !whole);
        let joinable = !known && admitted && !ask.alone && !each;
        let ticket = self.open(shard, ask, hash, part, joinable, admitted);
        Step::Fetch(ticket, why, revalidate)
    }

    /// What `begin` would find, without counting, joining or beginning anything: the entry, policy's word, and
    /// whether a fill is running.
    pub fn peek(&self, ask: &Ask<'_>) -> (Option<(Arc<Entry>, ReuseDecision)>, Lookup, bool) {
        let (hash, shard) = self.shard_of(ask.key);
        let shard = lock(shard);
        let note = shard.notes.get(hash).and_then(|n| n.not_storable);
        let known = note.is_some_and(|(until_ms, _)| ask.now_ms < until_ms);
        let none = if known { Lookup::KnownNotStorable } else { Lookup::NoEntry };
        let Some(slot) = shard.slots.get(ask.key) else { return (None, none, false) };
        let flying = slot.flights.iter().any(|f| joins(f, ask));
        match slot.variants.iter().rev().find(|e| usable(e) && (ask.matches)(&e.head.vary)) {
            Some(entry) => {
                let decision = weigh(ask, entry);
                (Some((Arc::clone(entry), decision)), decision.reason, flying)
            }
            None if slot.variants.is_empty() => (None, none, flying),
            None => (None, Lookup::VaryMiss, flying),
        }
    }

    /// Why the last answer of this key could not be stored, if that is still remembered.
    pub fn known_not_storable(&self, key: &str, now_ms: u64) -> Option<Store> {
        let (hash, shard) = self.shard_of(key);
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
        let (key, presumed) = match shard.slots.get_key_value(ask.key) {
            Some((key, slot)) => {
                let presumed = slot.variants.last().map(|e| (ask.vary_of)(&e.head.vary)).unwrap_or_default();
                (Arc::clone(key), presumed)
            }
            None => (Arc::from(ask.key), VaryValues::new()),
        };
        let fill = Fill::new(Arc::clone(&key), hash, part, joinable, presumed, ask.owners);
        let ticket = Ticket::new(Arc::clone(self), fill, admitted);
        shard.flying.push(Arc::clone(ticket.fill()));
        shard.slots.entry(key).or_default().flights.push(Arc::clone(ticket.fill()));
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
            let here = shard.part_like(&fill.key, head, total).filter(|_| quiet);
            make(here.as_ref())
        })
    }

    fn commit_with(
        &self,
        fill: &Arc<Fill>,
        make: impl FnOnce(&Shard) -> Result<Arc<Entry>, Store>,
    ) -> Result<Arc<Entry>, Store> {
        let (hash, shard) = self.shard_of(&fill.key);
        let (entry, replaced) = {
            let mut shard = lock(shard);
            shard.remove_fill(fill);
            let made = make(&shard)?;
            let entry = &made;
            if fill.doomed.load(Ordering::Acquire) {
                entry.mark(State::Dead);
                return Err(Store::PurgedInFlight);
            }
            if entry.body.is_part() && shard.has_whole(entry) {
                entry.mark(State::Dead);
                return Err(Store::WholeStored);
            }
            if shard.has_newer(entry) {
                entry.mark(State::Dead);
                return Err(Store::Overtaken);
            }
            shard.notes.storable(hash);
            let replaced = shard.insert(entry);
            // Under the shard's lock, so that a purge that finds no fill here finds the entry in the index.
            let mut index = lock(&self.index);
            for old in &replaced {
                index.remove(old);
            }
            index.insert(entry);
            (made, replaced)
        };
        {
            let mut queues = lock(&self.queues);
            replaced.iter().for_each(|_| queues.left());
            queues.insert(&entry, hash);
        }
        drop(replaced);
        self.stored.fetch_add(1, Ordering::Relaxed);
        self.make_room();
        Ok(entry)
    }

    pub(crate) fn forget_fill(&self, fill: &Arc<Fill>) {
        let (_, shard) = self.shard_of(&fill.key);
        lock(shard).remove_fill(fill);
    }

    pub(crate) fn note_not_storable(&self, fill: &Arc<Fill>, reason: Store, until_ms: u64) {
        let (_, shard) = self.shard_of(&fill.key);
        let mut shard = lock(shard);
        shard.remove_fill(fill);
        let mut note = shard.notes.get(fill.hash).unwrap_or_default();
        note.not_storable = Some((until_ms, reason));
        shard.notes.set(fill.hash, note);
    }

    /// Marks what `scope` names and returns: from now on it answers nothing, whichever core asks. Running fills that
    /// match are not stored, and nobody joins them any more; by tag, those whose tags are not known yet are not joined
    /// until they are.
    pub fn purge(&self, scope: Scope<'_>, soft: bool) -> Receipt {
        self.purging.fetch_add(1, Ordering::AcqRel);
        let receipt = self.purge_now(scope, soft);
        self.purging.fetch_sub(1, Ordering::AcqRel);
        receipt
    }

    fn purge_now(&self, scope: Scope<'_>, soft: bool) -> Receipt {
        let mut receipt = Receipt {
            sequence: self.purges.fetch_add(1, Ordering::AcqRel) + 1,
            entries: 0,
            bytes: 0,
            fills: 0,
        };
        // Fills first: one that commits before this pass is in the index by the time the index is asked.
        for shard in &self.shards {
            for fill in lock(shard).flying.iter().filter(|f| in_scope(f, scope)) {
                match scope {
                    Scope::Tag(tag) => fill.purge_tag(tag),
                    _ => fill.doomed.store(true, Ordering::Release),
                }
                receipt.fills += u64::from(fill.may_be_purged());
            }
        }
        let found = {
            let index = lock(&self.index);
            match scope {
                Scope::Url(url) => index.with_url(url),
                Scope::Prefix(prefix) => index.with_prefix(prefix),
                Scope::Tag(tag) | Scope::Made { tag, .. } => index.with_tag(tag),
                Scope::All => index.all(),
            }
        };
        for entry in &found {
            entry.mark(if soft { State::Soft } else { State::Dead });
            receipt.entries += 1;
            receipt.bytes += entry.weight_bytes();
        }
        if !soft {
            for entry in &found {
                if self.take_out(entry) {
                    lock(&self.queues).left();
                }
            }
        }
        receipt
    }

    /// The tags of all that is stored for a URL.
    pub fn tags_of(&self, url: &str) -> Vec<Box<str>> {
        let mut tags: Vec<Box<str>> =
            lock(&self.index).with_url(url).iter().flat_map(|entry| entry.head.tags.clone()).collect();
        tags.sort_unstable();
        tags.dedup();
        tags
    }

    /// Marks one entry as a soft purge would: something was learnt that speaks against it.
    pub fn doubt(&self, entry: &Entry) {
        entry.mark(State::Soft);
    }

    /// Drops one entry for good: the origin has given a newer answer that is not stored in its place.
    pub fn drop_entry(&self, entry: &Arc<Entry>) {
        entry.mark(State::Dead);
        if self.take_out(entry) {
            lock(&self.queues).left();
        }
    }

    /// Takes a marked entry out of its shard and the index.
    fn take_out(&self, entry: &Arc<Entry>) -> bool {
        let (_, shard) = self.shard_of(&entry.key);
        let mut shard = lock(shard);
        let removed = shard.remove(entry);
        lock(&self.index).remove(entry);
        removed
    }

    /// Evicts until the budget holds, as far as what is stored can bring it down. Bytes that readers still hold
    /// stay charged until they let go, and are not made up for by evicting everything else. `false` if nothing is left
    /// to evict and the budget does not hold.
    pub(crate) fn make_room(&self) -> bool {
        let excess = self.budget.excess_bytes();
        if excess == 0 {
            return true;
        }
        // One core at a time is enough; another that comes meanwhile goes on.
        let Ok(_guard) = self.making_room.try_lock() else { return true };
        let mut freed = 0;
        while freed < excess && self.budget.excess_bytes() > 0 {
            let victim = lock(&self.queues).victim(|e| self.hasher.hash_one(&*e.key));
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
            for entry in shard.slots.values().flat_map(|s| s.variants.iter()) {
                if out.len() >= limit {
                    return out;
                }
                if entry.state() != State::Dead && entry.key.contains(filter) {
                    out.push(Listed { entry: Arc::clone(entry) });
                }
            }
        }
        out
    }

    /// Every variant of one URL.
    pub fn of_url(&self, url: &str) -> Vec<Arc<Entry>> {
        lock(&self.index).with_url(url)
    }

    /// Figures now.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats {
            used_bytes: self.budget.used_bytes(),
            limit_bytes: self.budget.limit_bytes(),
            evictions: self.evictions.load(Ordering::Relaxed),
            stored: self.stored.load(Ordering::Relaxed),
            purges: self.purges.load(Ordering::Relaxed),
            ..Stats::default()
        };
        for shard in &self.shards {
            let shard = lock(shard);
            stats.entries += shard.entries as u64;
            stats.fills += shard.flying.len() as u64;
        }
        stats
    }
}

/// Policy's word, and that a softly purged entry is used only after the origin confirmed it.
fn weigh(ask: &Ask<'_>, entry: &Arc<Entry>) -> ReuseDecision {
    let mut decision = (ask.judge)(entry);
    let unasked = matches!(decision.verdict, Verdict::Serve | Verdict::ServeAndRefresh);
    if entry.state() == State::Soft && entry.body.is_part() && decision.verdict != Verdict::Pass {
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
        Some(Decided::Stream(entry)) => (ask.matches)(&entry.head.vary),
        Some(_) => false,
    }
}

fn in_scope(fill: &Fill, scope: Scope<'_>) -> bool {
    let key = &fill.key;
    match scope {
        Scope::Url(url) => {
            key.strip_prefix(url).is_some_and(|rest| rest.is_empty() || rest.starts_with('\n'))
        }
        Scope::Prefix(prefix) => key.starts_with(prefix),
        Scope::Made { owner, .. } => fill.owners.iter().any(|o| **o == *owner),
        // Its tags come with its head; until it is stored nobody can tell.
        Scope::Tag(_) | Scope::All => true,
    }
}
