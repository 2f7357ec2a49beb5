//! A body of which only parts are here: disjoint extents of a known whole.
//!
//! Immutable, like every stored body: a further part makes another. Not here: which parts belong together (`policy`).

use crate::chunks::Chunks;
use bytes::Bytes;
use std::sync::Arc;

/// Extents held of one body; beyond, the smallest leaves, so that a client asking for single bytes gains nothing.
const EXTENTS_MAX: usize = 64;

/// Some bytes of a body of `total`.
#[derive(Clone, Debug)]
pub struct Parts {
    total: u64,
    /// Sorted, disjoint, none empty.
    extents: Vec<Extent>,
}

#[derive(Clone, Debug)]
struct Extent {
    start: u64,
    end: u64,
    chunks: Arc<Chunks>,
    /// Where `start` lies in `chunks`.
    from: u64,
}

impl Extent {
    fn len_bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Of chunks of which half or less is still of use, that half is copied out: ranges that overlap, one after the
    /// other, would else keep each of them alive for a few bytes. So no two extents share chunks.
    fn compact(self) -> Extent {
        if self.len_bytes() * 2 > self.chunks.len_bytes() {
            return self;
        }
        let pieces = self.chunks.slice(self.from, self.from + self.len_bytes());
        Extent { chunks: Arc::new(Chunks::new(pieces, self.chunks.budget())), from: 0, ..self }
    }
}

impl Parts {
    /// One part; `None` if it is empty or reaches beyond the whole.
    pub fn new(total: u64, start: u64, chunks: Arc<Chunks>) -> Option<Parts> {
        Parts { total, extents: Vec::new() }.with(start, chunks)
    }

    /// With one more part, which replaces what it overlaps.
    pub fn with(&self, start: u64, chunks: Arc<Chunks>) -> Option<Parts> {
        let end = start.checked_add(chunks.len_bytes()).filter(|end| *end <= self.total && *end > start)?;
        let mut extents = Vec::with_capacity(self.extents.len() + 2);
        for old in &self.extents {
            let before = Extent { end: old.end.min(start), ..old.clone() };
            let from = old.start.max(end);
            let after = Extent { start: from, from: old.from + (from - old.start), ..old.clone() };
            let left = [before, after].into_iter().filter(|extent| extent.start < extent.end);
            extents.extend(left.map(Extent::compact));
        }
        extents.push(Extent { start, end, chunks, from: 0 });
        while extents.len() > EXTENTS_MAX {
            let smallest = (0..extents.len()).min_by_key(|at| extents.get(*at).map(Extent::len_bytes))?;
            extents.remove(smallest);
        }
        extents.sort_by_key(|extent| extent.start);
        extents.shrink_to_fit();
        Some(Parts { total: self.total, extents })
    }

    /// Length of the whole, bytes.
    pub fn total_bytes(&self) -> u64 {
        self.total
    }

    /// The extents that are here, `start..end`, sorted and disjoint.
    pub fn held(&self) -> Vec<(u64, u64)> {
        self.extents.iter().map(|extent| (extent.start, extent.end)).collect()
    }

    /// Bytes of memory that are held for it: less than twice what is here, see [`Extent::compact`].
    pub fn memory_bytes(&self) -> u64 {
        self.extents.iter().map(|extent| extent.chunks.len_bytes()).sum()
    }

    /// What it costs beside its bytes.
    pub(crate) fn frame_bytes(&self) -> u64 {
        let chunks: u64 = self.extents.iter().map(|extent| extent.chunks.frame_bytes()).sum();
        chunks + (size_of::<Parts>() + 2 * size_of::<usize>() + size_of_val(&self.extents[..])) as u64
    }

    /// The bytes `start..end`, if all of them are here.
    pub fn slice(&self, start: u64, end: u64) -> Option<Vec<Bytes>> {
        if start >= end {
            return None;
        }
        let mut at = start;
        let mut out = Vec::new();
        for extent in self.extents.iter().filter(|extent| extent.end > start && extent.start < end) {
            if extent.start > at {
                return None;
            }
            let to = extent.end.min(end);
            let offset = extent.from + (at - extent.start);
            out.extend(extent.chunks.slice(offset, offset + (to - at)));
            at = to;
        }
        (at >= end).then_some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use proptest::prelude::*;

    proptest! {
        /// Against an array of what was put where.
        #[test]
        fn as_an_array_would(
            writes in proptest::collection::vec((0_usize..40, 1_usize..12), 1..12),
            asks in proptest::collection::vec((0_u64..41, 0_u64..41), 20),
        ) {
            let budget = Budget::new(1 << 20);
            let mut array = [None; 40];
            let mut parts = Parts { total: 40, extents: Vec::new() };
            for (serial, (start, len)) in writes.into_iter().enumerate() {
                let piece = Bytes::from(vec![serial as u8; len]);
                let chunks = Arc::new(Chunks::new(vec![piece.slice(..len / 2), piece.slice(len / 2..)], &budget));
                let with = parts.with(start as u64, chunks);
                prop_assert_eq!(with.is_some(), start + len <= 40);
                if let Some(with) = with {
                    parts = with;
                    array[start..start + len].fill(Some(serial as u8));
                }
            }
            let held: u64 = parts.held().iter().map(|(start, end)| end - start).sum();
            prop_assert!(parts.held().iter().all(|(start, end)| start < end));
            prop_assert!(parts.held().is_sorted_by(|a, b| a.1 <= b.0));
            prop_assert_eq!(held, array.iter().flatten().count() as u64);
            prop_assert_eq!(parts.memory_bytes(), budget.used_bytes());
            prop_assert!(parts.memory_bytes() < 2 * held || held == 0);
            for (start, end) in asks {
                let all: Option<Vec<u8>> = (start < end)
                    .then(|| array.get(start as usize..end as usize)?.iter().copied().collect())
                    .flatten();
                let got = parts.slice(start, end).map(|pieces| pieces.concat());
                prop_assert_eq!(got, all, "{}..{}", start, end);
            }
            drop(parts);
            prop_assert_eq!(budget.used_bytes(), 0);
        }
    }

    #[test]
    fn single_bytes_do_not_add_up() {
        let budget = Budget::new(1 << 20);
        let byte = |n: u64| Arc::new(Chunks::new(vec![Bytes::from(vec![n as u8])], &budget));
        let mut parts =
            Parts::new(1 << 20, 0, Arc::new(Chunks::new(vec![Bytes::from(vec![7; 100])], &budget))).unwrap();
        for n in 0..1_000 {
            parts = parts.with(200 + 2 * n, byte(n)).unwrap();
        }
        assert_eq!(parts.held().len(), EXTENTS_MAX);
        assert_eq!(parts.held().first(), Some(&(0, 100)), "the large part stays");
        assert!(Parts::new(10, u64::MAX, byte(1)).is_none());
        assert!(Parts::new(10, 10, byte(1)).is_none());
    }

    /// What is left of a part is copied out when that is half of it or less.
    #[test]
    fn what_overlaps_is_let_go() {
        for (overlap, memory) in [(1, 100 + 100), (49, 100 + 100), (50, 50 + 100), (99, 1 + 100), (100, 100)]
        {
            let budget = Budget::new(1 << 20);
            let part = |fill| Arc::new(Chunks::new(vec![Bytes::from(vec![fill; 100])], &budget));
            for start in [100 + overlap, 300 - overlap] {
                let parts = Parts::new(1_000, 200, part(1)).unwrap().with(start, part(2)).unwrap();
                assert_eq!((parts.memory_bytes(), budget.used_bytes()), (memory, memory), "{overlap}");
                let all = parts.slice(start.min(200), start.max(200) + 100).unwrap().concat();
                assert_eq!(all.iter().filter(|byte| **byte == 2).count(), 100);
            }
        }
        // From the middle of one, both ends; and nothing is no part.
        let budget = Budget::new(1 << 20);
        let part = |len| Arc::new(Chunks::new(vec![Bytes::from(vec![0; len])], &budget));
        let parts = Parts::new(1_000, 0, part(100)).unwrap().with(40, part(20)).unwrap();
        assert_eq!((parts.held(), parts.memory_bytes()), (vec![(0, 40), (40, 60), (60, 100)], 100));
        assert!(parts.with(50, part(0)).is_none());
    }
}
