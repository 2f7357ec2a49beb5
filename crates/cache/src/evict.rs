//! Which entry leaves when room is needed: S3-FIFO by bytes (a small probation queue, a main queue with second
//! chances, and a ghost list of what left probation lately). A scan passes through probation and leaves the
//! working set alone. Values in, victims out: no clock, no locks.
//!
//! Queues hold weak references: an entry that was purged or replaced is freed at once and its place is skipped.

use crate::entry::{Entry, State};
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

/// Part of the bytes that probation may hold, in tenths.
const SMALL_TENTHS: u64 = 1;

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
            let from_small = !self.small.is_empty()
                && (self.main.is_empty() || self.small_bytes * 10 >= total * SMALL_TENTHS);
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
