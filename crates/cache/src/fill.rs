//! A fill: one fetch that many requests may share, on any core.
//!
//! The ticket is the right, and the duty, to decide the fill: dropped undecided, it fails. Those who joined hold
//! the fill itself, never an id; they are released when the head decides. Not here: fetching.

use crate::body::{Body, Growing, Verbatim};
use crate::chunks::Chunks;
use crate::core::Cache;
use crate::entry::{Entry, EntryHead, With};
use crate::own::OWN_MAX_BYTES;
use crate::parts::Parts;
use bytes::Bytes;
use samovar_policy::{VaryValues, of_the_whole};
use samovar_reason::{Store, Upstream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Why a fill failed, told to all who joined it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FillFailure {
    /// The reason.
    pub reason: Upstream,
    /// For those who may see it.
    pub detail: Arc<str>,
}

/// What a fill came to, once its head decided.
#[derive(Clone, Debug)]
pub enum Decided {
    /// It is being stored; whoever's fields it varies by match reads along.
    Stream(Arc<Entry>),
    /// A 304 renewed this whole entry.
    Refreshed(Arc<Entry>),
    /// The origin failed; this stale entry may be used.
    Stale(Arc<Entry>),
    /// It cannot be stored; everyone goes alone.
    NotStorable(Store),
    /// It failed, for everyone.
    Failed(FillFailure),
}

/// The shared state of a fill.
#[derive(Debug)]
pub(crate) struct Fill {
    pub key: Arc<str>,
    pub hash: u64,
    /// What its answer may be made of: folders, watched files. See [`crate::Scope::Made`].
    pub owners: Box<[Arc<str>]>,
    /// Others may join it: not for keys known not to be storable.
    pub joinable: bool,
    /// It fetches a part: those who want the very same may join it.
    pub part: Option<Box<str>>,
    /// A purge came since it began: nobody joins it any more and it is not stored.
    pub doomed: AtomicBool,
    /// The fields it is expected to vary by with their values, from what was stored under the key before.
    pub presumed: VaryValues,
    state: Mutex<FillState>,
}

#[derive(Debug, Default)]
struct FillState {
    decided: Option<Decided>,
    waiters: Vec<(u64, Waker)>,
    waiting: usize,
    /// The tags of what it stores, once its head says them.
    tags: Option<Vec<Box<str>>>,
    /// Tags that were purged before that.
    purged: Vec<Box<str>>,
}

/// Tags purged during one fill that are remembered apart; beyond, any of them is taken to be its own.
const PURGED_MAX: usize = 64;

impl Fill {
    pub(crate) fn new(
        key: Arc<str>,
        hash: u64,
        part: Option<&str>,
        joinable: bool,
        presumed: VaryValues,
        owners: &[Arc<str>],
    ) -> Fill {
        Fill {
            key,
            hash,
            owners: owners.into(),
            joinable,
            part: part.map(Box::from),
            doomed: AtomicBool::new(false),
            presumed,
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, FillState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A tag is purged. Before the head nobody knows whether it is the fill's; from then on whoever asks begins anew.
    pub(crate) fn purge_tag(&self, tag: &str) {
        let mut state = self.lock();
        let hit = match &state.tags {
            Some(tags) => tags.iter().any(|own| **own == *tag),
            None => {
                state.purged.push(tag.into());
                state.purged.len() > PURGED_MAX
            }
        };
        if hit {
            self.doomed.store(true, Ordering::Release);
        }
    }

    /// The head says which tags it has: a purge of one of them, earlier or later, overtakes it.
    fn settle(&self, tags: &[Box<str>]) {
        let mut state = self.lock();
        if tags.iter().any(|tag| state.purged.contains(tag)) {
            self.doomed.store(true, Ordering::Release);
        }
        state.purged.clear();
        state.tags = Some(tags.to_vec());
    }

    /// Whether a purge overtook it, or may have.
    pub(crate) fn may_be_purged(&self) -> bool {
        // Under the lock: what is no longer in the list may have become certain since.
        let state = self.lock();
        self.doomed.load(Ordering::Acquire) || !state.purged.is_empty()
    }

    /// What it came to, if it has.
    pub(crate) fn decided(&self) -> Option<Decided> {
        self.lock().decided.clone()
    }

    fn decide(&self, decided: Decided) {
        let wakers = {
            let mut state = self.lock();
            if state.decided.is_some() {
                return;
            }
            state.decided = Some(decided);
            std::mem::take(&mut state.waiters)
        };
        for (_, waker) in wakers {
            waker.wake();
        }
    }
}

/// A live handle on a fill someone else (or this request itself) began.
#[derive(Debug)]
pub struct Joined {
    fill: Arc<Fill>,
    id: u64,
}

static NEXT_WAITER: AtomicU64 = AtomicU64::new(0);

impl Joined {
    pub(crate) fn new(fill: Arc<Fill>) -> Joined {
        fill.lock().waiting += 1;
        Joined { fill, id: NEXT_WAITER.fetch_add(1, Ordering::Relaxed) }
    }

    /// Ready when the head has decided.
    pub fn poll_decided(&self, cx: &mut Context<'_>) -> Poll<Decided> {
        let mut state = self.fill.lock();
        if let Some(decided) = &state.decided {
            return Poll::Ready(decided.clone());
        }
        match state.waiters.iter_mut().find(|(id, _)| *id == self.id) {
            Some((_, waker)) => waker.clone_from(cx.waker()),
            None => state.waiters.push((self.id, cx.waker().clone())),
        }
        Poll::Pending
    }

    /// Waits until the head has decided.
    pub async fn decided(&self) -> Decided {
        std::future::poll_fn(|cx| self.poll_decided(cx)).await
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        let mut state = self.fill.lock();
        state.waiting -= 1;
        state.waiters.retain(|(id, _)| *id != self.id);
    }
}

/// The right and the duty to decide a fill.
#[derive(Debug)]
pub struct Ticket {
    cache: Arc<Cache>,
    fill: Arc<Fill>,
    /// Whether the answer may be stored although it could: below `admit_after` it may not.
    admitted: bool,
    open: bool,
}

impl Ticket {
    pub(crate) fn new(cache: Arc<Cache>, fill: Fill, admitted: bool) -> Ticket {
        Ticket { cache, fill: Arc::new(fill), admitted, open: true }
    }

    pub(crate) fn fill(&self) -> &Arc<Fill> {
        &self.fill
    }

    /// A handle to wait on this very fill.
    pub fn join(&self) -> Joined {
        Joined::new(Arc::clone(&self.fill))
    }

    /// The key it fills.
    pub fn key(&self) -> &Arc<str> {
        &self.fill.key
    }

    /// Requests waiting for it.
    pub fn waiting(&self) -> usize {
        self.fill.lock().waiting
    }

    /// Why the answer must not be stored whatever its head says, if so: too few asked for it. A purge is no reason to
    /// keep it from those who had joined by then: it is theirs, and stored is nothing.
    pub fn refuses(&self) -> Option<Store> {
        (!self.admitted).then_some(Store::AdmitAfter)
    }

    /// The head says: storable. Those who joined are released and read along while the body grows.
    pub fn store(
        mut self,
        head: EntryHead,
        announced_bytes: Option<u64>,
        max_bytes: u64,
        now_ms: u64,
    ) -> Sink {
        self.open = false;
        self.fill.settle(&head.tags);
        let budget = self.cache.budget();
        let growing = Growing::new(announced_bytes, budget);
        let entry = Arc::new(Entry::new(
            &self.fill.key,
            &head,
            With::Body(Body::Growing(Arc::clone(&growing))),
            self.cache.home(&head.rule),
            now_ms,
            1,
            now_ms,
        ));
        self.fill.decide(Decided::Stream(Arc::clone(&entry)));
        Sink {
            cache: Arc::clone(&self.cache),
            fill: Arc::clone(&self.fill),
            growing,
            entry,
            max_bytes,
            refused: None,
            open: true,
        }
    }

    /// A 304 confirmed `base`: `head` and its body make a new entry, at once. `Err` if it must not be stored;
    /// the entry may still be used by those who joined before.
    pub fn refresh(
        mut self,
        base: &Arc<Entry>,
        head: EntryHead,
        now_ms: u64,
    ) -> (Arc<Entry>, Result<(), Store>) {
        self.open = false;
        self.fill.settle(&head.tags);
        let requests = base.metered(now_ms, u64::MAX).max(1);
        let home = self.cache.home(&head.rule);
        let with = match base.body() {
            Body::Own => With::Bytes(&[base.beside(), base.behind()]),
            shared => With::Body(shared.clone()),
        };
        let entry = Arc::new(Entry::new(&self.fill.key, &head, with, home, now_ms, requests, now_ms));
        // A purge of the entry it rests on is a purge of it.
        let stored = if base.state() == crate::entry::State::Dead {
            self.cache.forget_fill(&self.fill);
            Err(Store::PurgedInFlight)
        } else {
            self.cache.commit(&self.fill, &entry)
        };
        self.fill.decide(Decided::Refreshed(Arc::clone(&entry)));
        (entry, stored)
    }

    /// The origin failed and `entry` may be used stale.
    pub fn stale(mut self, entry: Arc<Entry>) {
        self.open = false;
        self.cache.forget_fill(&self.fill);
        self.fill.decide(Decided::Stale(entry));
    }

    /// The head says: not storable. Remembered until `until_ms` so that requests for the key do not wait.
    pub fn not_storable(mut self, reason: Store, until_ms: u64) {
        self.open = false;
        self.cache.note_not_storable(&self.fill, reason, until_ms);
        self.fill.decide(Decided::NotStorable(reason));
    }

    /// The attempt failed.
    pub fn fail(mut self, failure: FillFailure) {
        self.open = false;
        self.cache.forget_fill(&self.fill);
        self.fill.decide(Decided::Failed(failure));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.open {
            self.cache.forget_fill(&self.fill);
            self.fill.decide(Decided::Failed(abandoned()));
        }
    }
}

fn abandoned() -> FillFailure {
    FillFailure { reason: Upstream::ClientGone, detail: "the fetch was given up".into() }
}

/// The way a body comes in. Dropped before `finish`, the body has failed for everyone who reads it.
#[derive(Debug)]
pub struct Sink {
    cache: Arc<Cache>,
    fill: Arc<Fill>,
    growing: Arc<Growing>,
    entry: Arc<Entry>,
    max_bytes: u64,
    refused: Option<Store>,
    open: bool,
}

impl Sink {
    /// The entry that is growing.
    pub fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// Whether a purge overtook it: it will not be stored.
    pub fn is_overtaken(&self) -> bool {
        self.fill.doomed.load(Ordering::Acquire)
    }

    /// Why it will not be stored, if that is known by now: its readers go on, and what they have read is dropped.
    pub fn refused(&self) -> Option<Store> {
        self.refused
    }

    /// Takes a piece in. Beyond the largest size stored it is still handed to its readers, and kept no longer; so it is
    /// when the budget is spent on what is arriving, and nothing that is stored could make room.
    pub fn push(&mut self, piece: Bytes) {
        self.growing.push(piece);
        let arrived = self.growing.arrived_bytes();
        let there_is_room = self.cache.make_room();
        if self.refused.is_some() {
            return;
        }
        if arrived > self.max_bytes {
            self.refuse(Store::TooLarge);
        } else if arrived > self.cache.body_max_bytes() || !there_is_room {
            self.refuse(Store::BudgetTooSmall);
        }
    }

    /// Gives up storing; readers go on.
    fn refuse(&mut self, reason: Store) {
        self.refused = Some(reason);
        self.cache.forget_fill(&self.fill);
        self.growing.overflow();
    }

    /// Ready when more may come: `false` once it will not be stored and nobody reads it.
    pub fn poll_room(&self, cx: &mut Context<'_>) -> Poll<bool> {
        self.growing.poll_room(cx)
    }

    /// Waits until more may come; `false` if the rest is of no use to anyone.
    pub async fn room(&self) -> bool {
        std::future::poll_fn(|cx| self.poll_room(cx)).await
    }

    /// Requests reading along.
    pub fn readers(&self) -> usize {
        self.growing.readers()
    }

    /// Requests that wait for it and have not begun to read yet.
    pub fn waiting(&self) -> usize {
        self.fill.lock().waiting
    }

    /// Bytes that came.
    pub fn arrived_bytes(&self) -> u64 {
        self.growing.arrived_bytes()
    }

    /// The body is whole: it is stored, unless it grew too large, stayed too small, or a purge came.
    pub fn finish(self, min_bytes: u64, now_ms: u64) -> Result<Arc<Entry>, Store> {
        self.end(min_bytes, |sink| {
            let entry = sink.whole(now_ms);
            sink.cache.commit(&sink.fill, &entry).map(|()| entry)
        })
    }

    /// The body is the answer to this `range`, good for no other.
    pub fn finish_verbatim(self, range: Box<str>, now_ms: u64) -> Result<Arc<Entry>, Store> {
        self.end(0, |sink| {
            let body = Body::Verbatim(Box::new(Verbatim { range, chunks: sink.chunks() }));
            let entry = sink.entry_with(With::Body(body), now_ms);
            sink.cache.commit(&sink.fill, &entry).map(|()| entry)
        })
    }

    /// The body is a part of `total` bytes, beginning at `start`: it is stored together with what is here of the same
    /// representation. `Err` if it reaches beyond the whole, too.
    pub fn finish_part(self, total: u64, start: u64, now_ms: u64) -> Result<Arc<Entry>, Store> {
        self.end(0, |sink| {
            let chunks = sink.chunks();
            let mut own = sink.entry.head();
            // From here on it is a part among others.
            of_the_whole(&mut own.headers);
            sink.cache.commit_part(&sink.fill, total, &own, |here| {
                let held = here.and_then(|entry| match entry.body() {
                    Body::Parts(parts) => Some(parts),
                    _ => None,
                });
                let parts = match held {
                    Some(held) => held.with(start, chunks),
                    None => Parts::new(total, start, chunks),
                };
                let body = Body::Parts(Arc::new(parts.ok_or(Store::Incomplete)?));
                let (head, answered_ms) = match here {
                    Some(here) => together(here, &own, sink.entry.answered_ms()),
                    None => (own.clone(), sink.entry.answered_ms()),
                };
                Ok(sink.entry_of(&head, body, now_ms, answered_ms))
            })
        })
    }

    /// What came, with the head it came with.
    fn entry_with(&self, with: With<'_>, now_ms: u64) -> Arc<Entry> {
        let requests = self.entry.metered(now_ms, u64::MAX).max(1);
        Arc::new(self.entry.again(with, now_ms, requests))
    }

    /// All that came, as it is stored.
    fn whole(&self, now_ms: u64) -> Arc<Entry> {
        if self.growing.arrived_bytes() > OWN_MAX_BYTES {
            return self.entry_with(With::Body(Body::Chunks(self.chunks())), now_ms);
        }
        let (pieces, _) = self.growing.pieces();
        let pieces: Vec<&[u8]> = pieces.iter().map(|piece| &piece[..]).collect();
        let entry = self.entry_with(With::Bytes(&pieces), now_ms);
        self.growing.settle(entry.whole().unwrap_or_default());
        entry
    }

    fn chunks(&self) -> Arc<Chunks> {
        self.growing.to_chunks(self.cache.budget())
    }

    fn entry_of(&self, head: &EntryHead, body: Body, now_ms: u64, answered_ms: u64) -> Arc<Entry> {
        let requests = self.entry.metered(now_ms, u64::MAX).max(1);
        let home = self.cache.home(&head.rule);
        let with = With::Body(body);
        Arc::new(Entry::new(&self.fill.key, head, with, home, now_ms, requests, answered_ms))
    }

    fn end(
        mut self,
        min_bytes: u64,
        store: impl FnOnce(&Sink) -> Result<Arc<Entry>, Store>,
    ) -> Result<Arc<Entry>, Store> {
        self.open = false;
        let result = match self.refused {
            Some(reason) => Err(reason),
            None if self.growing.arrived_bytes() < min_bytes => Err(Store::TooSmall),
            None => store(&self),
        };
        if result.is_err() {
            self.cache.forget_fill(&self.fill);
        }
        self.growing.end(Ok(()));
        self.cache.make_room();
        result
    }

    /// The body failed: nothing is stored, readers are told.
    pub fn fail(mut self, failure: FillFailure) {
        self.open = false;
        self.cache.forget_fill(&self.fill);
        self.growing.end(Err(failure));
    }
}

/// The head of what is put together: the newer one's fields (RFC 9110 §15.3.7.3), the tags of both, and when it was said.
fn together(here: &Arc<Entry>, own: &EntryHead, answered_ms: u64) -> (EntryHead, u64) {
    let mut head = if here.answered_ms() > answered_ms { here.head() } else { own.clone() };
    for tag in own.tags.iter().chain(here.tags()) {
        if !head.tags.contains(tag) {
            head.tags.push(tag.clone());
        }
    }
    (head, here.answered_ms().max(answered_ms))
}

impl Drop for Sink {
    fn drop(&mut self) {
        if self.open {
            self.cache.forget_fill(&self.fill);
            self.growing.end(Err(abandoned()));
        }
    }
}
