//! Moments at which clients go on, to the nanosecond: pauses, the joining of a ramp, the slots of a throttle.
//!
//! Deadlines, of which there is one per request, are the wheel's; these are few. Pure. Not here: waiting.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Who goes on when.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(u64, u32, u32)>>,
}

impl Timers {
    /// Client `id` goes on at `due_ns`; `timer` says which of its timers this is.
    pub(super) fn set(&mut self, due_ns: u64, id: u32, timer: u32) {
        self.heap.push(Reverse((due_ns, id, timer)));
    }

    /// When the next is due.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((due_ns, ..))| *due_ns)
    }

    /// Takes the next one that is due at `now_ns`: client and timer.
    pub(super) fn take(&mut self, now_ns: u64) -> Option<(u32, u32)> {
        self.next_ns().filter(|due| *due <= now_ns)?;
        self.heap.pop().map(|Reverse((_, id, timer))| (id, timer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_order_and_not_before_their_time() {
        let mut timers = Timers::default();
        for (due, id) in [(30, 3), (10, 1), (20, 2)] {
            timers.set(due, id, 7);
        }
        assert_eq!(timers.next_ns(), Some(10));
        assert_eq!(timers.take(9), None);
        assert_eq!(timers.take(25), Some((1, 7)));
        assert_eq!(timers.take(25), Some((2, 7)));
        assert_eq!(timers.take(25), None);
        assert_eq!(timers.next_ns(), Some(30));
    }
}
