//! A fill: one fetch that many requests may share, on any core.
//!
//! The ticket is the right, and the duty, to decide the fill: dropped undecided, it fails. Those who joined hold
//! the fill itself, never an id; they are released when the head decides. Not here: fetching.

use crate::body::{Body, Growing};
use crate::core::Cache;
use crate::entry::{Entry, EntryHead, With};
use crate::sink::Sink;
use samovar_policy::VaryValues;
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
    /// Who fetches, and wants to know when nobody waits any more, or somebody does again.
    fetching: Option<Waker>,
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

    /// Requests that wait for it.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting
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
        let fetching = {
            let mut state = fill.lock();
            state.waiting += 1;
            state.fetching.take()
        };
        if let Some(waker) = fetching {
            waker.wake();
        }
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
        let fetching = if state.waiting == 0 { state.fetching.take() } else { None };
        drop(state);
        if let Some(waker) = fetching {
            waker.wake();
        }
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
        self.fill.waiting()
    }

    /// Whether nobody waits for it now. Whoever asks is woken when that may have changed.
    pub fn poll_deserted(&self, cx: &mut Context<'_>) -> bool {
        let mut state = self.fill.lock();
        match &mut state.fetching {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        state.waiting == 0
    }

    /// Nobody waits for it, and from here on nobody joins it: it may be given up. `false` if somebody came at the last
    /// moment.
    pub fn give_up(&self) -> bool {
        self.cache.give_up(&self.fill)
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
        Sink::new(Arc::clone(&self.cache), Arc::clone(&self.fill), growing, entry, max_bytes)
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
        entry.share_forms(base);
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

pub(crate) fn abandoned() -> FillFailure {
    FillFailure { reason: Upstream::ClientGone, detail: "the fetch was given up".into() }
}
