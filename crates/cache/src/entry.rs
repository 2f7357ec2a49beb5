//! One stored answer. It never changes once stored, its state and its counters apart: a 304 or a new fetch makes
//! another entry that may share the body.

use crate::body::Body;
use crate::budget::Charge;
use http::{HeaderMap, StatusCode};
use samovar_policy::{Freshness, VaryValues};
use samovar_reason::Store;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Whether an entry may be used. Every hot copy points to the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// It may.
    Live = 0,
    /// Purged softly: only after the origin confirmed it, or if the origin fails.
    Soft = 1,
    /// Purged, replaced or evicted: never again.
    Dead = 2,
}

/// What is stored beside the body.
#[derive(Clone, Debug)]
pub struct EntryHead {
    /// Status.
    pub status: StatusCode,
    /// Fields as they are sent, `Age`, `Cache-Status` and hop-by-hop ones apart.
    pub headers: HeaderMap,
    /// Freshness.
    pub freshness: Freshness,
    /// The request fields it varies by, and their values.
    pub vary: VaryValues,
    /// Tags (surrogate keys), for purge.
    pub tags: Vec<Box<str>>,
    /// Why it is stored.
    pub reason: Store,
    /// The rule that was in force.
    pub rule: Arc<str>,
    /// The configuration epoch it was stored under.
    pub epoch: u64,
}

/// One stored answer.
#[derive(Debug)]
pub struct Entry {
    /// Its key.
    pub key: Arc<str>,
    /// Its head.
    pub head: EntryHead,
    /// Its body.
    pub body: Body,
    /// See [`State`]; shared with hot copies.
    state: Arc<AtomicU8>,
    /// Use since it was last looked at by eviction, 0 to 3.
    pub(crate) uses: AtomicU8,
    /// Requests in the running window (low 24 bits) and the window's start in ms (the rest).
    meter: AtomicU64,
    /// Requests answered from it in all.
    hits: AtomicU64,
    /// Hot copies on all cores.
    hot_copies: AtomicU32,
    /// Its row in the index; `u32::MAX` while not indexed.
    pub(crate) index_id: AtomicU32,
    /// When its head came, or was confirmed, ms: what came later is newer, however long its body took.
    pub(crate) answered_ms: u64,
    /// What it costs with its head, its row in the maps and its body.
    pub(crate) weight_bytes: u64,
    _charge: Charge,
}

/// Bytes that an entry costs beside head and body: its own size, map slots, queue and index rows. Counted by
/// adding up the parts for a short key; the churn test of memory compares it with what the process really takes.
const OVERHEAD_BYTES: u64 = 640;

/// Bytes a field costs beside its name and value.
const FIELD_BYTES: u64 = 110;

impl Entry {
    pub(crate) fn new(
        key: Arc<str>,
        head: EntryHead,
        body: Body,
        mut charge: Charge,
        now_ms: u64,
        requests: u32,
        answered_ms: u64,
    ) -> Entry {
        let fields: u64 =
            head.headers.iter().map(|(n, v)| n.as_str().len() as u64 + v.len() as u64 + FIELD_BYTES).sum();
        let tags: u64 = head.tags.iter().map(|t| t.len() as u64 + 24).sum();
        let own = OVERHEAD_BYTES + key.len() as u64 * 2 + fields + tags;
        charge.resize(own);
        let body_bytes = body.held_bytes();
        Entry {
            key,
            head,
            body,
            state: Arc::new(AtomicU8::new(State::Live as u8)),
            uses: AtomicU8::new(0),
            meter: AtomicU64::new(pack(now_ms, requests)),
            hits: AtomicU64::new(0),
            hot_copies: AtomicU32::new(0),
            index_id: AtomicU32::new(u32::MAX),
            answered_ms,
            weight_bytes: own + body_bytes,
            _charge: charge,
        }
    }

    /// Its state now.
    pub fn state(&self) -> State {
        match self.state.load(Ordering::Acquire) {
            0 => State::Live,
            1 => State::Soft,
            _ => State::Dead,
        }
    }

    /// The state's cell, for hot copies.
    pub fn state_cell(&self) -> Arc<AtomicU8> {
        Arc::clone(&self.state)
    }

    /// Marks it; a state never goes back.
    pub(crate) fn mark(&self, state: State) {
        self.state.fetch_max(state as u8, Ordering::AcqRel);
    }

    /// Counts a use for eviction and a hit for people.
    pub(crate) fn touch(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
        if self.uses.load(Ordering::Relaxed) < 3 {
            self.uses.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Requests answered from it.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Adds hits that were answered elsewhere (the hot tier).
    pub fn add_hits(&self, n: u64) {
        self.hits.fetch_add(n, Ordering::Relaxed);
        self.uses.store(3, Ordering::Relaxed);
    }

    /// Counts one request and returns how many came within `period_ms`, this one and the filling one included.
    pub fn meter(&self, now_ms: u64, period_ms: u64) -> u32 {
        let mut seen = 0;
        // The closure always returns Some, so the result carries nothing.
        let _ = self.meter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |packed| {
            let (ago_ms, count) = unpack(packed, now_ms);
            if ago_ms > period_ms {
                seen = 1;
                return Some(pack(now_ms, 1));
            }
            seen = count.saturating_add(1);
            Some(pack(now_ms.wrapping_sub(ago_ms), seen))
        });
        seen
    }

    /// Requests in the running window, without counting one.
    pub fn metered(&self, now_ms: u64, period_ms: u64) -> u32 {
        let (ago_ms, count) = unpack(self.meter.load(Ordering::Relaxed), now_ms);
        if ago_ms > period_ms { 0 } else { count }
    }

    /// True while some core has it prepared.
    pub fn is_hot(&self) -> bool {
        self.hot_copies.load(Ordering::Relaxed) > 0
    }

    /// A handle for a prepared copy: it keeps the body charged, pays for the copy's own head, and is counted.
    pub fn hot_copy(self: &Arc<Self>, charge: Charge) -> HotCopy {
        self.hot_copies.fetch_add(1, Ordering::Relaxed);
        HotCopy { entry: Arc::clone(self), _charge: charge }
    }

    /// What it costs, bytes.
    pub fn weight_bytes(&self) -> u64 {
        self.weight_bytes
    }
}

/// What a prepared copy holds on to; see [`Entry::hot_copy`].
#[derive(Debug)]
pub struct HotCopy {
    entry: Arc<Entry>,
    _charge: Charge,
}

impl HotCopy {
    /// The entry it was made of.
    pub fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }
}

impl Drop for HotCopy {
    fn drop(&mut self) {
        self.entry.hot_copies.fetch_sub(1, Ordering::Relaxed);
    }
}

const COUNT_BITS: u32 = 24;
const COUNT_MAX: u32 = (1 << COUNT_BITS) - 1;

/// The start keeps its low 40 bits: windows are compared modulo 34 years.
const START_MASK: u64 = u64::MAX >> COUNT_BITS;

fn pack(start_ms: u64, count: u32) -> u64 {
    (start_ms << COUNT_BITS) | u64::from(count.min(COUNT_MAX))
}

/// How long ago the window began, and the count.
fn unpack(packed: u64, now_ms: u64) -> (u64, u32) {
    let start = packed >> COUNT_BITS;
    ((now_ms.wrapping_sub(start)) & START_MASK, (packed & u64::from(COUNT_MAX)) as u32)
}

#[cfg(test)]
mod tests {
    use super::{COUNT_MAX, START_MASK, pack, unpack};

    #[test]
    fn a_window_is_read_back_at_any_moment_of_the_clock() {
        for start in [0, 1, 5_000, START_MASK - 10, START_MASK, START_MASK + 7, 1 << 41, u64::MAX / 2] {
            for count in [0, 1, 77, COUNT_MAX] {
                assert_eq!(unpack(pack(start, count), start + 123), (123, count), "start {start}");
            }
        }
        assert_eq!(unpack(pack(9, u32::MAX), 9), (0, COUNT_MAX), "the count stops, it does not wrap");
    }
}
