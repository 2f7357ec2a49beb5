//! One shard: the slots of some keys, and their notes. Held under one short lock.

use crate::body::Body;
use crate::entry::{Entry, EntryHead, State};
use crate::fill::Fill;
use crate::notes::Notes;
use samovar_policy::same_representation;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// Variants kept under one key; the oldest leaves.
const VARIANTS_MAX: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub variants: SmallVec<[Arc<Entry>; 1]>,
    pub flights: SmallVec<[Arc<Fill>; 1]>,
}

#[derive(Debug, Default)]
pub(crate) struct Shard {
    pub slots: HashMap<Arc<str>, Slot, foldhash::quality::RandomState>,
    /// Every fill of this shard, so that a purge looks at these and not at every slot.
    pub flying: Vec<Arc<Fill>>,
    pub notes: Notes,
    pub entries: usize,
}

impl Shard {
    /// Puts `entry` in; what it replaces comes back, marked.
    pub(crate) fn insert(&mut self, entry: &Arc<Entry>) -> SmallVec<[Arc<Entry>; 1]> {
        let slot = self.slots.entry(Arc::clone(&entry.key)).or_default();
        let mut out: SmallVec<[Arc<Entry>; 1]> = SmallVec::new();
        // A variant with the same fields and values is replaced; one with other fields under the same key too,
        // as the origin changed its mind about what it varies by (RFC 9111 §4.1 uses the latest).
        slot.variants.retain(|old| {
            let keep =
                same_names(old, entry) && old.head.vary != entry.head.vary && old.state() != State::Dead;
            if !keep {
                out.push(Arc::clone(old));
            }
            keep
        });
        if slot.variants.len() >= VARIANTS_MAX {
            out.push(slot.variants.remove(0));
        }
        slot.variants.push(Arc::clone(entry));
        self.entries += 1;
        self.entries -= out.len();
        for old in &out {
            old.mark(State::Dead);
        }
        out
    }

    /// Whether what is stored came after `entry` did, which took its time: putting it in would take the newer one out.
    pub(crate) fn has_newer(&self, entry: &Arc<Entry>) -> bool {
        let Some(slot) = self.slots.get(&entry.key) else { return false };
        slot.variants.iter().any(|stored| {
            // Parts of the very same are no reason to do without the rest of it.
            let part_of_it =
                stored.body.is_part() && same_representation(&stored.head.headers, &entry.head.headers);
            stored.answered_ms > entry.answered_ms
                && !part_of_it
                && stored.state() != State::Dead
                && (stored.head.vary == entry.head.vary || !same_names(stored, entry))
        })
    }

    /// The parts that are here of the representation that `head` is of, if they may be used.
    pub(crate) fn part_like(&self, key: &str, head: &EntryHead, total: u64) -> Option<Arc<Entry>> {
        let fits = |stored: &&Arc<Entry>| {
            matches!(&stored.body, Body::Parts(parts) if parts.total_bytes() == total)
                && stored.state() == State::Live
                && stored.head.vary == head.vary
                && same_representation(&stored.head.headers, &head.headers)
        };
        self.slots.get(key)?.variants.iter().find(fits).cloned()
    }

    /// Whether the whole is stored of what `entry` is a part of.
    pub(crate) fn has_whole(&self, entry: &Arc<Entry>) -> bool {
        let Some(slot) = self.slots.get(&entry.key) else { return false };
        slot.variants.iter().any(|stored| {
            !stored.body.is_part() && stored.state() == State::Live && stored.head.vary == entry.head.vary
        })
    }

    /// Takes `entry` out if it is in. The caller marks it.
    pub(crate) fn remove(&mut self, entry: &Arc<Entry>) -> bool {
        let Some(slot) = self.slots.get_mut(&entry.key) else { return false };
        let before = slot.variants.len();
        slot.variants.retain(|e| !Arc::ptr_eq(e, entry));
        let removed = slot.variants.len() < before;
        if removed {
            self.entries -= 1;
        }
        if slot.variants.is_empty() && slot.flights.is_empty() {
            self.slots.remove(&entry.key);
        }
        removed
    }

    /// Takes a fill off the list.
    pub(crate) fn remove_fill(&mut self, fill: &Arc<Fill>) {
        self.flying.retain(|f| !Arc::ptr_eq(f, fill));
        let Some(slot) = self.slots.get_mut(&fill.key) else { return };
        slot.flights.retain(|f| !Arc::ptr_eq(f, fill));
        if slot.variants.is_empty() && slot.flights.is_empty() {
            self.slots.remove(&fill.key);
        }
    }
}

/// Whether two answers vary by the same fields.
fn same_names(a: &Entry, b: &Entry) -> bool {
    let (a, b) = (&a.head.vary, &b.head.vary);
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0)
}
