//! Which entry leaves when room is needed: S3-FIFO by bytes (a small probation queue, a main queue with second
//! chances, and a ghost list of what left probation lately). A scan passes through probation and leaves the
//! working set alone. Values in, victims out: no clock, no locks.
//!
//! The queues are lists through the rows, so that an entry that goes another way leaves no place behind.

use crate::entry::{Entry, State};
use crate::ghosts::{self, Ghosts};
use crate::rows::{self, NO_ROW, Rows};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Probation may hold one part in so many of the bytes.
const SMALL_PART: u64 = 10;

/// What an entry costs here: its row, and room for one ghost.
pub(crate) const ROW_BYTES: u64 = rows::ROW_BYTES + ghosts::ROW_BYTES;

/// The queue an entry is in, as it is written there.
const NOWHERE: u8 = 0;
const SMALL: u8 = 1;
const MAIN: u8 = 2;

#[derive(Debug, Default)]
pub(crate) struct Queues {
    rows: Rows,
    small: Queue,
    main: Queue,
    ghosts: Ghosts,
}

/// Rows, first in first out.
#[derive(Debug)]
struct Queue {
    first: u32,
    last: u32,
    len: usize,
    bytes: u64,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue { first: NO_ROW, last: NO_ROW, len: 0, bytes: 0 }
    }
}

impl Queue {
    fn push(&mut self, rows: &mut Rows, number: u32, weight: u64) {
        if let Some(row) = rows.get_mut(number) {
            (row.before, row.after) = (self.last, NO_ROW);
        }
        match rows.get_mut(self.last) {
            Some(last) => last.after = number,
            None => self.first = number,
        }
        self.last = number;
        self.len += 1;
        self.bytes += weight;
    }

    fn take_out(&mut self, rows: &mut Rows, number: u32, weight: u64) {
        let Some((before, after)) = rows.get(number).map(|row| (row.before, row.after)) else { return };
        match rows.get_mut(before) {
            Some(row) => row.after = after,
            None => self.first = after,
        }
        match rows.get_mut(after) {
            Some(row) => row.before = before,
            None => self.last = before,
        }
        self.len -= 1;
        self.bytes -= weight;
    }
}

impl Queues {
    /// A new entry under a key with this hash: it gets its row.
    pub(crate) fn insert(&mut self, entry: &Arc<Entry>, hash: u64) {
        let number = self.rows.add(entry);
        let queue = if self.ghosts.take(hash) { MAIN } else { SMALL };
        self.push(entry, number, queue);
    }

    fn push(&mut self, entry: &Entry, number: u32, queue: u8) {
        entry.queue.store(queue, Ordering::Relaxed);
        let list = if queue == MAIN { &mut self.main } else { &mut self.small };
        list.push(&mut self.rows, number, entry.weight_bytes());
    }

    /// Takes an entry out of its queue; it keeps its row.
    fn pull(&mut self, entry: &Entry) {
        let list = match entry.queue.swap(NOWHERE, Ordering::Relaxed) {
            SMALL => &mut self.small,
            MAIN => &mut self.main,
            _ => return,
        };
        list.take_out(&mut self.rows, entry.row.load(Ordering::Relaxed), entry.weight_bytes());
    }

    /// An entry leaves, whichever way: its row is another's from here on.
    pub(crate) fn remove(&mut self, entry: &Entry) {
        if entry.row.load(Ordering::Relaxed) != NO_ROW {
            self.pull(entry);
            self.rows.remove(entry);
            self.ghosts.fit(self.main.len + self.small.len);
        }
    }

    /// The rows of all entries.
    pub(crate) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The next entry to leave; the caller removes it, here and elsewhere. `None` if there is none.
    pub(crate) fn victim(&mut self, hash_of: impl Fn(&Entry) -> u64) -> Option<Arc<Entry>> {
        loop {
            let total = self.small.bytes + self.main.bytes;
            let from_small =
                self.small.len > 0 && (self.main.len == 0 || self.small.bytes * SMALL_PART >= total);
            let number = if from_small { self.small.first } else { self.main.first };
            let entry = Arc::clone(self.rows.entry(number)?);
            self.pull(&entry);
            // It is on its way out; who marked it removes it.
            if entry.state() == State::Dead {
                continue;
            }
            let uses = entry.uses.load(Ordering::Relaxed);
            if uses > 0 {
                entry.uses.store(if from_small { 0 } else { uses - 1 }, Ordering::Relaxed);
                self.push(&entry, number, MAIN);
                continue;
            }
            if from_small {
                self.ghosts.remember(hash_of(&entry), self.main.len + self.small.len);
            }
            return Some(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::entry::{EntryHead, With};
    use crate::home::Homes;
    use http::{HeaderMap, StatusCode};
    use samovar_policy::Freshness;
    use samovar_reason::{Lifetime, Store};
    use std::collections::VecDeque;

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
        let home = Homes::new(budget).of(&"".into());
        let body = vec![0; (number % 7) as usize * 100];
        Arc::new(Entry::new(&number.to_string(), &head, With::Bytes(&[&body]), home, 0, 1, 0))
    }

    fn hash(entry: &Entry) -> u64 {
        entry.key().parse().unwrap()
    }

    impl Queues {
        /// The sums are those of what is in the queues, which are whole both ways; what is gone leaves nothing.
        fn check(&self, alive: usize) {
            for (queue, name) in [(&self.small, SMALL), (&self.main, MAIN)] {
                let mut before = NO_ROW;
                let mut at = queue.first;
                let (mut len, mut bytes) = (0, 0);
                while let Some(row) = self.rows.get(at) {
                    let entry = row.entry.as_ref().unwrap();
                    assert_eq!((row.before, entry.row.load(Ordering::Relaxed)), (before, at));
                    assert_eq!(entry.queue.load(Ordering::Relaxed), name);
                    (before, at) = (at, row.after);
                    len += 1;
                    bytes += entry.weight_bytes();
                }
                assert_eq!((at, queue.last, queue.len, queue.bytes), (NO_ROW, before, len, bytes));
            }
            let places = self.small.len + self.main.len;
            assert_eq!(places, alive, "{places} places for {alive} entries");
            assert!(self.rows.places() < 2 * alive + 512, "{} rows for {alive}", self.rows.places());
            assert!(self.ghosts.room() <= 4 * places.max(64), "{} ghosts for {alive}", self.ghosts.room());
        }

        /// The next victim, out for good.
        fn evict(&mut self) -> Option<Arc<Entry>> {
            let victim = self.victim(hash)?;
            self.remove(&victim);
            Some(victim)
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
                // Purged: the entry goes, and its place with it; or it is marked and met before it goes.
                1 | 2 if number > 1_000 => {
                    let gone = held.pop_front().unwrap();
                    gone.mark(State::Dead);
                    queues.remove(&gone);
                    queues.remove(&gone);
                }
                3 if number > 500 => {
                    let victim = queues.evict().unwrap();
                    assert!(held.iter().any(|entry| Arc::ptr_eq(entry, &victim)), "one that is held");
                    held.retain(|entry| !Arc::ptr_eq(entry, &victim));
                }
                _ => {}
            }
            queues.check(held.len());
        }
        let mut left = 0;
        while queues.evict().is_some() {
            left += 1;
        }
        assert_eq!(left, held.len(), "each leaves once");
        queues.check(0);
        assert_eq!(queues.rows.places(), 0, "the rows are given back");
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
        let order: Vec<_> = std::iter::from_fn(|| queues.evict()).map(|entry| hash(&entry)).collect();
        assert_eq!(order, [0, 2, 4, 5, 1, 3], "what was used comes last, in the order of its coming");
        // What left lately and comes again was wanted: it goes past probation, and outlives what is new there.
        let (again, new) = (entry(&budget, 0), entry(&budget, 7));
        queues.insert(&again, 0);
        queues.insert(&new, 7);
        assert_eq!(queues.evict().map(|entry| hash(&entry)), Some(7));
        assert_eq!(queues.evict().map(|entry| hash(&entry)), Some(0));
        // Not for ever: as many ghosts as there are entries, and 64 at least.
        for number in 100..165 {
            let passing = entry(&budget, number);
            queues.insert(&passing, number);
            assert!(queues.evict().is_some());
        }
        let (forgotten, remembered) = (entry(&budget, 2), entry(&budget, 164));
        queues.insert(&remembered, 164);
        queues.insert(&forgotten, 2);
        assert_eq!(queues.evict().map(|entry| hash(&entry)), Some(2));
    }

    /// Probation gives way as long as it holds a tenth of the bytes; below that the main queue does.
    #[test]
    fn probation_is_a_tenth() {
        let budget = Budget::new(u64::MAX);
        let mut queues = Queues::default();
        let main: Vec<_> = (0..40).map(|number| entry(&budget, number * 7)).collect();
        // Once out and in again, they are past probation.
        main.iter().for_each(|entry| queues.insert(entry, hash(entry)));
        while queues.evict().is_some() {}
        main.iter().for_each(|entry| queues.insert(entry, hash(entry)));
        assert_eq!((queues.small.len, queues.main.len), (0, 40));
        let probation: Vec<_> = (0..5).map(|number| entry(&budget, 1_001 + number * 7)).collect();
        probation.iter().for_each(|entry| queues.insert(entry, hash(entry)));
        let weight = |entry: &Arc<Entry>| entry.weight_bytes();
        let (mut small, total): (u64, u64) =
            (probation.iter().map(weight).sum(), queues.small.bytes + queues.main.bytes);
        let mut from_probation = 0;
        let mut all = total;
        while small * 10 >= all {
            let victim = queues.evict().unwrap();
            assert!(hash(&victim) > 1_000);
            small -= victim.weight_bytes();
            all -= victim.weight_bytes();
            from_probation += 1;
        }
        assert!((1..5).contains(&from_probation), "{from_probation}");
        assert!(hash(&queues.evict().unwrap()) < 1_000, "now the main queue");
    }

    /// The place of what left otherwise is given back at once, whoever still reads it.
    #[test]
    fn no_place_is_left_behind() {
        // How many there are on probation and past it.
        for (small, main) in [(90, 10), (10, 90), (100, 100), (0, 300), (300, 0), (700, 700)] {
            let budget = Budget::new(u64::MAX);
            let mut queues = Queues::default();
            let mut held: Vec<_> = (0..small + main).map(|number| entry(&budget, number)).collect();
            for (number, entry) in held.iter().enumerate() {
                if number as u64 >= small {
                    queues.ghosts.remember(hash(entry), 0);
                }
                queues.insert(entry, hash(entry));
            }
            assert_eq!((queues.small.len as u64, queues.main.len as u64), (small, main));
            for left in 1..=small + main {
                // From both ends and the middle in turn, some of them still read by somebody.
                let gone = match left % 3 {
                    0 => held.remove(0),
                    1 => held.remove(held.len() / 2),
                    _ => held.pop().unwrap(),
                };
                gone.mark(State::Dead);
                queues.remove(&gone);
                if left % 3 == 0 {
                    std::mem::forget(gone);
                }
                queues.check(held.len());
            }
            assert_eq!(queues.rows.places(), 0);
        }
    }

    /// What is marked and not out yet is nobody's victim, and its removal finds it where it is.
    #[test]
    fn what_is_marked_is_passed_over() {
        let budget = Budget::new(u64::MAX);
        let mut queues = Queues::default();
        let all: Vec<_> = (0..4).map(|number| entry(&budget, number)).collect();
        all.iter().for_each(|entry| queues.insert(entry, hash(entry)));
        all[0].mark(State::Dead);
        assert_eq!(queues.evict().map(|entry| hash(&entry)), Some(1));
        queues.remove(&all[0]);
        queues.check(2);
    }

    /// Past probation, each use since the last round is another round.
    #[test]
    fn second_chances() {
        let budget = Budget::new(u64::MAX);
        let mut queues = Queues::default();
        let all: Vec<_> = (0..4).map(|number| entry(&budget, number)).collect();
        for entry in &all {
            queues.ghosts.remember(hash(entry), 0);
            queues.insert(entry, hash(entry));
        }
        all[0].touch();
        all[2].touch();
        all[2].touch();
        let order: Vec<_> = std::iter::from_fn(|| queues.evict()).map(|entry| hash(&entry)).collect();
        assert_eq!(order, [1, 3, 0, 2]);
    }
}
