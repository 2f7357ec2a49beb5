//! A coarse timer wheel: deadlines to a tenth of a second, no work per request.
//!
//! A connection is entered once and looked at when its slot comes by; if its deadline has moved on by then, as it
//! has with each request, it is entered again. Pure: time comes in.
//!
//! Not here: what a deadline means.

/// Length of a tick, in nanoseconds.
pub(super) const TICK_NS: u64 = 100_000_000;
/// Slots: 51 seconds ahead; longer deadlines pass by and are entered again.
const SLOTS: u64 = 512;

/// Who is due when.
#[derive(Debug)]
pub(super) struct Wheel {
    slots: Vec<Vec<u32>>,
    /// The next tick to look at.
    next: u64,
}

impl Wheel {
    pub(super) fn new() -> Wheel {
        Wheel { slots: vec![Vec::new(); usize::try_from(SLOTS).unwrap_or(512)], next: 0 }
    }

    /// Enters `id`; returns the tick at which it will be looked at.
    pub(super) fn enter(&mut self, id: u32, deadline_ns: u64) -> u64 {
        // Rounded up: nobody is called before the time.
        let tick = deadline_ns.div_ceil(TICK_NS).clamp(self.next, self.next + SLOTS - 1);
        if let Some(slot) = self.slots.get_mut(usize::try_from(tick % SLOTS).unwrap_or(0)) {
            slot.push(id);
        }
        tick
    }

    /// When the next tick is due.
    pub(super) fn next_tick_ns(&self) -> u64 {
        self.next.saturating_mul(TICK_NS)
    }

    /// Takes the entries of the next tick that is due at `now_ns`, with its number.
    pub(super) fn take(&mut self, now_ns: u64) -> Option<(u64, Vec<u32>)> {
        let tick = self.next;
        if tick.saturating_mul(TICK_NS) > now_ns {
            return None;
        }
        self.next += 1;
        let slot = self.slots.get_mut(usize::try_from(tick % SLOTS).unwrap_or(0));
        Some((tick, slot.map(std::mem::take).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nobody_is_called_early_nor_late(
            deadlines in prop::collection::vec(0_u64..60_000_000_000, 1..50), step in 1_000_000_u64..700_000_000
        ) {
            let mut wheel = Wheel::new();
            let mut due: Vec<Option<u64>> = vec![None; deadlines.len()];
            for (id, deadline) in deadlines.iter().enumerate() {
                wheel.enter(id as u32, *deadline);
            }
            let mut now = 0;
            while now < 62_000_000_000 {
                while let Some((_, ids)) = wheel.take(now) {
                    for id in ids {
                        let deadline = deadlines[id as usize];
                        if deadline > now { wheel.enter(id, deadline); } else { due[id as usize] = Some(now); }
                    }
                }
                now += step;
            }
            for (deadline, called) in deadlines.iter().zip(&due) {
                let called = called.expect("called");
                prop_assert!(called >= *deadline && called <= deadline + TICK_NS + step, "{called} for {deadline}");
            }
        }
    }
}
