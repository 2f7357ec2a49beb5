//! Which entry leaves when room is needed: S3-FIFO by bytes (a small probation queue, a main queue with second
//! chances, and a ghost list of what left probation lately). A scan passes through probation and leaves the
//! working set alone. Values in, victims out: no clock, no locks.
//!
//! Queues hold weak references: an entry that was purged or replaced is freed at once and its place is skipped.

use crate::entry::{Entry, State};
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

/// Probation may hold one part in so many of the bytes.
const SMALL_PART: u64 = 10;

#[derive(Debug, Default)]
pub(crate) struct Queues {
    small: VecDeque<(Weak<Entry>, u64)>,
    main: VecDeque<(Weak<Entry>, u64)>,
    small_bytes: u64,
    main_bytes: u64,
    ghost: HashSet<u64, foldhash::fast::RandomState>,
    ghost_order: VecDeque<u64>,
    gone: usize,
}

impl Queues {
    /// A new entry under a key with this hash.
    pub(crate) fn insert(&mut self, entry: &Arc<Entry>, hash: u64) {
        let weight = entry.weight_bytes();
        if self.ghost.remove(&hash) {
            self.main.push_back((Arc::downgrade(entry), weight));
            self.main_bytes += weight;
        } else {
            self.small.push_back((Arc::downgrade(entry), weight));
            self.small_bytes += weight;
        }
    }

    /// An entry left by another way (purge, replacement): its place is skipped later, and the queues are swept
    /// when most places are empty.
    pub(crate) fn left(&mut self) {
        self.gone += 1;
        if self.gone > 64 && self.gone * 2 > self.small.len() + self.main.len() {
            for (queue, bytes) in
                [(&mut self.small, &mut self.small_bytes), (&mut self.main, &mut self.main_bytes)]
            {
                queue.retain(|(weak, weight)| {
                    let alive = weak.upgrade().is_some_and(|e| e.state() != State::Dead);
                    if !alive {
                        *bytes -= *weight;
                    }
                    alive
                });
            }
            self.gone = 0;
        }
    }

    /// The next entry to leave; the caller takes it out of the map. `None` if there is none.
    pub(crate) fn victim(&mut self, hash_of: impl Fn(&Entry) -> u64) -> Option<Arc<Entry>> {
        loop {
            let total = self.small_bytes + self.main_bytes;
            let from_small =
                !self.small.is_empty() && (self.main.is_empty() || self.small_bytes * SMALL_PART >= total);
            if from_small {
                let (weak, weight) = self.small.pop_front()?;
                self.small_bytes -= weight;
                let Some(entry) = alive(&weak) else { continue };
                if entry.uses.swap(0, Ordering::Relaxed) > 0 {
                    self.main.push_back((weak, weight));
                    self.main_bytes += weight;
                    continue;
                }
                self.remember(hash_of(&entry));
                return Some(entry);
            }
            let (weak, weight) = self.main.pop_front()?;
            let Some(entry) = alive(&weak) else {
                self.main_bytes -= weight;
                continue;
            };
            let uses = entry.uses.load(Ordering::Relaxed);
            if uses > 0 {
                entry.uses.store(uses - 1, Ordering::Relaxed);
                self.main.push_back((weak, weight));
                continue;
            }
            self.main_bytes -= weight;
            return Some(entry);
        }
    }

    fn remember(&mut self, hash: u64) {
        let ghosts_max = (self.main.len() + self.small.len()).max(64);
        if self.ghost.insert(hash) {
            self.ghost_order.push_back(hash);
        }
        while self.ghost_order.len() > ghosts_max {
            if let Some(oldest) = self.ghost_order.pop_front() {
                self.ghost.remove(&oldest);
            }
        }
    }
}

fn alive(weak: &Weak<Entry>) -> Option<Arc<Entry>> {
    weak.upgrade().filter(|e| e.state() != State::Dead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::{Body, Chunks};
    use crate::budget::Budget;
    use crate::entry::EntryHead;
    use bytes::Bytes;
    use http::{HeaderMap, StatusCode};
    use samovar_policy::Freshness;
    use samovar_reason::{Lifetime, Store};

    fn entry(budget: &Arc<Budget>, number: u64) -> Arc<Entry> {
        let head = EntryHead {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            freshness: Freshness {
                lifetime_ms: 0,
                source: Lifetime::None,
                initial_age_ms: 0,
                stored_mono_ms: 0,
                stale_while_revalidate_ms: 0,
                stale_if_error_ms: 0,
                stale_if_unreachable_ms: 0,
                always_revalidate: false,
                must_revalidate: false,
                shared_despite_authorization: false,
                explicit: false,
                has_validator: false,
            },
            vary: Vec::new(),
            tags: Vec::new(),
            reason: Store::Stored,
            rule: "".into(),
            epoch: 0,
        };
        let body = Bytes::from(vec![0; (number % 7) as usize * 100]);
        let body = Body::Chunks(Arc::new(Chunks::new(vec![body], budget)));
        Arc::new(Entry::new(number.to_string().into(), head, body, budget.charge(0), 0, 1, 0))
    }

    fn hash(entry: &Entry) -> u64 {
        entry.key.parse().unwrap()
    }

    impl Queues {
        /// The sums are those of what is in the queues, and what is gone does not pile up.
        fn check(&self, alive: usize) {
            let sum =
                |queue: &VecDeque<(Weak<Entry>, u64)>| queue.iter().map(|(_, weight)| weight).sum::<u64>();
            assert_eq!((self.small_bytes, self.main_bytes), (sum(&self.small), sum(&self.main)));
            let places = self.small.len() + self.main.len();
            assert!(places <= 2 * alive + 65, "{places} places for {alive} entries");
            assert!(self.ghost_order.len() <= places.max(65) && self.ghost.len() <= self.ghost_order.len());
        }
    }

    #[test]
    fn sums_and_places_stay_in_step() {
        let budget = Budget::new(u64::MAX);
        let mut queues = Queues::default();
        let mut held: VecDeque<Arc<Entry>> = VecDeque::new();
        for number in 0..4_000_u64 {
            let new = entry(&budget, number % 900);
            queues.insert(&new, hash(&new));
            held.push_back(new);
            match number % 5 {
                0 => held.iter().step_by(3).for_each(|entry| entry.touch()),
                // Purged: the entry goes, its place stays for a while.
                1 | 2 if number > 1_000 => {
                    let gone = held.pop_front().unwrap();
                    gone.mark(State::Dead);
                    drop(gone);
                    queues.left();
                }
                3 if number > 500 => {
                    let victim = queues.victim(hash).unwrap();
                    assert!(held.iter().any(|entry| Arc::ptr_eq(entry, &victim)), "one that is held");
                    held.retain(|entry| !Arc::ptr_eq(entry, &victim));
                }
                _ => {}
            }
            queues.check(held.len());
        }
        let mut left = 0;
        while queues.victim(hash).is_some() {
            left += 1;
        }
        assert_eq!(left, held.len(), "each leaves once");
        assert_eq!((queues.small_bytes, queues.main_bytes), (0, 0));
    }

    #[test]
    fn who_leaves_first() {
        let budget = Budget::new(u64::MAX);
        let mut queues = Queues::default();
        let all: Vec<_> = (0..6).map(|number| entry(&budget, number)).collect();
        all.iter().for_each(|entry| queues.insert(entry, hash(entry)));
        all[1].touch();
        all[3].touch();
        all[3].touch();
        let order: Vec<_> = std::iter::from_fn(|| queues.victim(hash)).map(|entry| hash(&entry)).collect();
        assert_eq!(order, [0, 2, 4, 5, 1, 3], "what was used comes last, in the order of its coming");
        // What left lately and comes again was wanted: it goes past probation, and outlives what is new there.
        let (again, new) = (entry(&budget, 0), entry(&budget, 7));
        queues.insert(&again, 0);
        queues.insert(&new, 7);
        assert_eq!(queues.victim(hash).map(|entry| hash(&entry)), Some(7));
        assert_eq!(queues.victim(hash).map(|entry| hash(&entry)), Some(0));
        // Not for ever: as many ghosts as there are entries, and 64 at least.
        for number in 100..165 {
            let passing = entry(&budget, number);
            queues.insert(&passing, number);
            assert!(queues.victim(hash).is_some());
        }
        let (forgotten, remembered) = (entry(&budget, 2), entry(&budget, 164));
        queues.insert(&remembered, 164);
        queues.insert(&forgotten, 2);
        assert_eq!(queues.victim(hash).map(|entry| hash(&entry)), Some(2));
    }

    /// Probation gives way as long as it holds a tenth of the bytes; below that the main queue does.
    #[test]
    fn probation_is_a_tenth() {
        let budget = Budget::new(u64::MAX);
        let mut queues = Queues::default();
        let main: Vec<_> = (0..40).map(|number| entry(&budget, number * 7)).collect();
        // Once out and in again, they are past probation.
        main.iter().for_each(|entry| queues.insert(entry, hash(entry)));
        while queues.victim(hash).is_some() {}
        main.iter().for_each(|entry| queues.insert(entry, hash(entry)));
        assert_eq!((queues.small.len(), queues.main.len()), (0, 40));
        let probation: Vec<_> = (0..5).map(|number| entry(&budget, 1_001 + number * 7)).collect();
        probation.iter().for_each(|entry| queues.insert(entry, hash(entry)));
        let weight = |entry: &Arc<Entry>| entry.weight_bytes();
        let (mut small, total): (u64, u64) =
            (probation.iter().map(weight).sum(), queues.small_bytes + queues.main_bytes);
        let mut from_probation = 0;
        let mut all = total;
        while small * 10 >= all {
            let victim = queues.victim(hash).unwrap();
            assert!(hash(&victim) > 1_000);
            small -= victim.weight_bytes();
            all -= victim.weight_bytes();
            from_probation += 1;
        }
        assert!((1..5).contains(&from_probation), "{from_probation}");
        assert!(hash(&queues.victim(hash).unwrap()) < 1_000, "now the main queue");
    }

    /// Places of what left otherwise are given back when they are more than half of all, and more than a few.
    #[test]
    fn empty_places_are_swept() {
        // How many there are on probation and past it, and with which one that leaves they are swept.
        for (small, main, swept_at) in
            [(90, 10, 65), (10, 90, 65), (100, 100, 101), (0, 300, 151), (300, 0, 151)]
        {
            let budget = Budget::new(u64::MAX);
            let mut queues = Queues::default();
            let mut held: Vec<_> = (0..small + main).map(|number| entry(&budget, number)).collect();
            for (number, entry) in held.iter().enumerate() {
                if number as u64 >= small {
                    queues.ghost.insert(hash(entry));
                }
                queues.insert(entry, hash(entry));
            }
            assert_eq!((queues.small.len() as u64, queues.main.len() as u64), (small, main));
            for left in 1..=swept_at {
                // From both ends in turn, some of them still read by somebody.
                let gone = if left % 2 == 0 { held.remove(0) } else { held.pop().unwrap() };
                gone.mark(State::Dead);
                if left % 3 == 0 {
                    std::mem::forget(gone);
                }
                queues.left();
                let places = (queues.small.len() + queues.main.len()) as u64;
                let want = if left == swept_at { held.len() as u64 } else { small + main };
                assert_eq!(places, want, "{small} and {main}, {left} have left");
            }
            let bytes: u64 = held.iter().map(|entry| entry.weight_bytes()).sum();
            assert_eq!(queues.small_bytes + queues.main_bytes, bytes);
            queues.check(held.len());
        }
    }

    /// Past probation, each use since the last round is another round.
    #[test]
    fn second_chances() {
        let budget = Budget::new(u64::MAX);
        let mut queues = Queues::default();
        let all: Vec<_> = (0..4).map(|number| entry(&budget, number)).collect();
        for entry in &all {
            queues.ghost.insert(hash(entry));
            queues.insert(entry, hash(entry));
        }
        all[0].touch();
        all[2].touch();
        all[2].touch();
        let order: Vec<_> = std::iter::from_fn(|| queues.victim(hash)).map(|entry| hash(&entry)).collect();
        assert_eq!(order, [1, 3, 0, 2]);
    }

    /// As many that left are remembered as there are places, and 64 at least.
    #[test]
    fn how_many_are_remembered() {
        for (small, main) in [(0, 0), (30, 34), (40, 50), (200, 1)] {
            let budget = Budget::new(u64::MAX);
            let mut queues = Queues::default();
            let held: Vec<_> = (0..small + main).map(|number| entry(&budget, number)).collect();
            for (number, entry) in held.iter().enumerate() {
                if number as u64 >= small {
                    queues.ghost.insert(hash(entry));
                }
                queues.insert(entry, hash(entry));
            }
            let max = (small + main).max(64);
            for left in 1..=max + 10 {
                queues.remember(1_000 + left);
                // The same again is one.
                queues.remember(1_000 + left);
                assert_eq!(queues.ghost_order.len() as u64, left.min(max), "{small} and {main}");
                assert_eq!(queues.ghost.contains(&1_001), left <= max);
            }
        }
    }
}
