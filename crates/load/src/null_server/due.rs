//! When an answer is due: so long after its request, and never while the server stalls.
//!
//! Pure. As all wait equally long, answers are due in the order of their requests. Not here: waiting for the moment.

use std::collections::VecDeque;
use std::time::Duration;

/// Nothing is answered between two moments; then all that waited is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// How long after the first request it begins.
    pub after: Duration,
    /// How long it lasts.
    pub lasts: Duration,
}

/// Answers that are owed.
#[derive(Debug)]
pub(super) struct Owed {
    delay_ns: u64,
    stall: Option<Stall>,
    /// When the stall begins and ends; known with the first request.
    stalled_ns: Option<(u64, u64)>,
    queue: VecDeque<(u64, Who)>,
}

/// A connection, and which of those that had its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Who {
    pub place: usize,
    pub generation: u32,
}

impl Owed {
    pub(super) fn new(delay: Duration, stall: Option<Stall>) -> Owed {
        Owed { delay_ns: nanos(delay), stall, stalled_ns: None, queue: VecDeque::new() }
    }

    /// A request that came at `now_ns`; whether it is to be answered at once.
    pub(super) fn came(&mut self, who: Who, now_ns: u64) -> bool {
        if let Some(stall) = self.stall.take() {
            let from_ns = now_ns.saturating_add(nanos(stall.after));
            self.stalled_ns = Some((from_ns, from_ns.saturating_add(nanos(stall.lasts))));
        }
        let due_ns = now_ns.saturating_add(self.delay_ns);
        let due_ns = match self.stalled_ns {
            Some((from_ns, to_ns)) if (from_ns..to_ns).contains(&due_ns) => to_ns,
            _ => due_ns,
        };
        if due_ns <= now_ns {
            return true;
        }
        self.queue.push_back((due_ns, who));
        false
    }

    /// When the next answer is due.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.queue.front().map(|(due_ns, _)| *due_ns)
    }

    /// The next answer that is due at `now_ns`: whose, and when it was due.
    pub(super) fn take(&mut self, now_ns: u64) -> Option<(Who, u64)> {
        self.next_ns().filter(|due_ns| *due_ns <= now_ns)?;
        self.queue.pop_front().map(|(due_ns, who)| (who, due_ns))
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn who(place: usize) -> Who {
        Who { place, generation: 0 }
    }

    #[test]
    fn at_once_or_later() {
        let mut at_once = Owed::new(Duration::ZERO, None);
        assert!(at_once.came(who(0), 5) && at_once.next_ns().is_none());
        let mut later = Owed::new(Duration::from_nanos(10), None);
        assert!(!later.came(who(1), 5));
        assert_eq!((later.take(14), later.take(15), later.take(99)), (None, Some((who(1), 15)), None));
    }

    proptest! {
        /// The oracle works out each request by itself, from the words of what a stall is.
        #[test]
        fn whoever_is_due_in_the_stall_waits_for_its_end(
            gaps in prop::collection::vec(0_u64..50, 1..60), delay in 0_u64..60, after in 0_u64..500, lasts in 0_u64..300,
        ) {
            let stall = Stall { after: Duration::from_nanos(after), lasts: Duration::from_nanos(lasts) };
            let mut owed = Owed::new(Duration::from_nanos(delay), Some(stall));
            let moments: Vec<u64> = gaps.iter().scan(100, |at, gap| { *at += gap; Some(*at) }).collect();
            let begins = moments[0] + after;
            let mut seen = Vec::new();
            for (place, at) in moments.iter().enumerate() {
                while let Some((who, due)) = owed.take(*at) { seen.push((who.place, due)); }
                if owed.came(who(place), *at) { seen.push((place, *at)); }
            }
            while let Some((who, due)) = owed.take(u64::MAX) { seen.push((who.place, due)); }
            let wanted: Vec<(usize, u64)> = moments.iter().enumerate().map(|(place, at)| {
                let due = at + delay;
                (place, if due >= begins && due < begins + lasts { begins + lasts } else { due })
            }).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, wanted);
        }
    }
}
