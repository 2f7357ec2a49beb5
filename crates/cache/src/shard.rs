//! One shard: the entries of some keys, the fills for them, and their notes. Held under one short lock.
//!
//! Keys are not kept beside the entries: a row is a pointer, and an entry knows its key. The variants of a key are rows
//! of their own.

use crate::body::Body;
use crate::entry::{Entry, EntryHead, State};
use crate::fill::Fill;
use crate::notes::Notes;
use hashbrown::HashTable;
use samovar_policy::same_representation;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// Variants kept under one key; the oldest leaves.
const VARIANTS_MAX: usize = 64;

/// What a row costs: a pointer and a byte of its hash, in a table that is a good third full after it has grown; see
/// [`Shard::make_place`].
pub(crate) const ROW_BYTES: u64 = ((size_of::<Arc<Entry>>() + 1) as u64 * 20).div_ceil(7);

type Entries = SmallVec<[Arc<Entry>; 1]>;
pub(crate) type Fills = SmallVec<[Arc<Fill>; 1]>;

#[derive(Debug, Default)]
pub(crate) struct Shard {
    pub entries: HashTable<Arc<Entry>>,
    /// Of keys that are being filled.
    pub flights: HashMap<Arc<str>, Fills, foldhash::quality::RandomState>,
    pub notes: Notes,
}

impl Shard {
    /// The variants of a key, in no order; with different fields or values, so that one at most fits a request.
    pub(crate) fn variants<'s>(
        &'s self,
        hash: u64,
        key: &'s str,
    ) -> impl Iterator<Item = &'s Arc<Entry>> + use<'s> {
        self.entries.iter_hash(hash).filter(move |entry| entry.key_bytes() == key.as_bytes())
    }

    /// The fills that are running for a key.
    pub(crate) fn flights(&self, key: &str) -> &[Arc<Fill>] {
        // Most of the time there are none: then nothing is hashed.
        if self.flights.is_empty() { &[] } else { self.flights.get(key).map_or(&[], |fills| &fills[..]) }
    }

    /// Puts `entry` in; what it replaces comes back, marked. `hash_of` is asked when the table grows.
    pub(crate) fn insert(
        &mut self,
        entry: &Arc<Entry>,
        hash: u64,
        hash_of: impl Fn(&Entry) -> u64,
    ) -> Entries {
        // A variant with the same fields and values is replaced; one with other fields under the same key too,
        // as the origin changed its mind about what it varies by (RFC 9111 §4.1 uses the latest).
        let (kept, mut out): (Entries, Entries) =
            self.variants(hash, entry.key()).cloned().partition(|old| {
                same_names(old, entry) && old.vary() != entry.vary() && old.state() != State::Dead
            });
        if kept.len() >= VARIANTS_MAX {
            out.extend(kept.into_iter().min_by_key(|old| old.answered_ms()));
        }
        for old in &out {
            self.remove(old, hash, &hash_of);
            old.mark(State::Dead);
        }
        self.make_place(&hash_of);
        self.entries.insert_unique(hash, Arc::clone(entry), |entry| hash_of(entry));
        out
    }

    /// A table without a place left is made anew, with a quarter more. Left to itself it would be doubled where it is
    /// half full of entries and the rest are holes that others left, and its rows cost what nobody pays.
    fn make_place(&mut self, hash_of: impl Fn(&Entry) -> u64) {
        let len = self.entries.len();
        if len < self.entries.capacity() {
            return;
        }
        let mut table = HashTable::with_capacity(len + len / 4 + 1);
        for entry in self.entries.drain() {
            table.insert_unique(hash_of(&entry), entry, |entry| hash_of(entry));
        }
        self.entries = table;
    }

    /// Whether what is stored came after `entry` did, which took its time: putting it in would take the newer one out.
    pub(crate) fn has_newer(&self, entry: &Arc<Entry>, hash: u64) -> bool {
        let answered_ms = entry.answered_ms();
        self.variants(hash, entry.key()).any(|stored| {
            stored.answered_ms() > answered_ms
                && stored.state() != State::Dead
                && (stored.vary() == entry.vary() || !same_names(stored, entry))
                // Parts of the very same are no reason to do without the rest of it.
                && !(stored.body().is_part() && same_representation(&stored.headers(), &entry.headers()))
        })
    }

    /// The parts that are here of the representation that `head` is of, if they may be used.
    pub(crate) fn part_like(&self, key: &str, hash: u64, head: &EntryHead, total: u64) -> Option<Arc<Entry>> {
        let fits = |stored: &&Arc<Entry>| {
            matches!(stored.body(), Body::Parts(parts) if parts.total_bytes() == total)
                && stored.state() == State::Live
                && *stored.vary() == head.vary
                && same_representation(&stored.headers(), &head.headers)
        };
        self.variants(hash, key).find(fits).cloned()
    }

    /// Whether the whole is stored of what `entry` is a part of.
    pub(crate) fn has_whole(&self, entry: &Arc<Entry>, hash: u64) -> bool {
        self.variants(hash, entry.key()).any(|stored| {
            !stored.body().is_part() && stored.state() == State::Live && stored.vary() == entry.vary()
        })
    }

    /// Takes `entry` out if it is in. The caller marks it.
    pub(crate) fn remove(&mut self, entry: &Arc<Entry>, hash: u64, hash_of: impl Fn(&Entry) -> u64) -> bool {
        let Ok(found) = self.entries.find_entry(hash, |other| Arc::ptr_eq(other, entry)) else {
            return false;
        };
        found.remove();
        // A table that was large once is not kept so: its rows are paid for by those that are in it.
        if self.entries.len() * 4 < self.entries.capacity() {
            self.entries.shrink_to(self.entries.len() * 2, |entry| hash_of(entry));
        }
        true
    }

    /// Takes a fill off the list.
    pub(crate) fn remove_fill(&mut self, fill: &Arc<Fill>) {
        let Some(fills) = self.flights.get_mut(&fill.key) else { return };
        fills.retain(|f| !Arc::ptr_eq(f, fill));
        if fills.is_empty() {
            self.flights.remove(&fill.key);
        }
    }

    /// Every fill, so that a purge looks at these and not at every entry.
    pub(crate) fn flying(&self) -> impl Iterator<Item = &Arc<Fill>> {
        self.flights.values().flatten()
    }
}

/// Whether two answers vary by the same fields.
fn same_names(a: &Entry, b: &Entry) -> bool {
    let (a, b) = (a.vary(), b.vary());
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0)
}
