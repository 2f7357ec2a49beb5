//! Whether another request may be sent: until time or count run out.
//!
//! Not here: when ([`super::Arrivals`]), and by whom.

use super::{Phase, Schedule};

/// The right to send one request. It must be used ([`Pacer::start`]) or given back ([`Pacer::give_back`]).
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an unused permit must be given back, or the count is never reached"]
pub struct Permit {
    counted: bool,
}

/// One thread's share of the load.
#[derive(Debug)]
pub struct Pacer {
    schedule: Schedule,
    budget: Option<u64>,
}

/// What to do with a permit now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Send; the request belongs to this phase.
    Now(Phase),
    /// Nothing more will be sent.
    Never,
}

impl Pacer {
    /// `budget`: how many measured requests this thread may send, if counted.
    pub fn new(schedule: Schedule, budget: Option<u64>) -> Self {
        Pacer { schedule, budget }
    }

    /// The phases this pacer goes by.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Asks for the right to send one request; asked before a connection is opened for it, so that the last
    /// requests of a counted run open no connections in vain.
    pub fn admit(&mut self, now_ns: u64) -> Option<Permit> {
        match self.schedule.phase_at(now_ns) {
            Phase::Over => None,
            Phase::Measure(_) => self.draw().then_some(Permit { counted: true }),
            Phase::Warmup | Phase::Settle(_) | Phase::Cooldown => Some(Permit { counted: false }),
        }
    }

    /// Uses a permit at the moment of sending. A permit from the warm-up that is used in the measured window is
    /// counted then.
    pub fn start(&mut self, permit: Permit, now_ns: u64) -> Start {
        let phase = self.schedule.phase_at(now_ns);
        match phase {
            Phase::Over => {
                self.give_back(permit);
                Start::Never
            }
            Phase::Measure(_) if !permit.counted && !self.draw() => Start::Never,
            Phase::Settle(_) | Phase::Cooldown if permit.counted => {
                self.give_back(permit);
                Start::Now(phase)
            }
            _ => Start::Now(phase),
        }
    }

    /// Returns an unused permit.
    pub fn give_back(&mut self, permit: Permit) {
        if permit.counted {
            self.budget = self.budget.map(|left| left.saturating_add(1));
        }
    }

    fn draw(&mut self) -> bool {
        match &mut self.budget {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_warm_permit_is_counted_when_used_in_the_window() {
        let mut pacer = Pacer::new(Schedule::plain(1.0, 100, None, 0), Some(1));
        let first = pacer.admit(50).unwrap();
        let second = pacer.admit(50).unwrap();
        assert_eq!(pacer.start(first, 120), Start::Now(Phase::Measure(0)));
        assert_eq!(pacer.start(second, 121), Start::Never);
        assert_eq!(pacer.admit(122), None);
    }

    #[test]
    fn what_is_given_back_can_be_drawn_again() {
        let mut pacer = Pacer::new(Schedule::plain(1.0, 0, None, 0), Some(1));
        let permit = pacer.admit(0).unwrap();
        assert_eq!(pacer.admit(0), None);
        pacer.give_back(permit);
        assert!(pacer.admit(0).is_some());
    }

    proptest! {
        #[test]
        fn a_counted_run_sends_exactly_its_count(
            count in 0_u64..50, steps in prop::collection::vec((0_u64..200, any::<bool>()), 400)
        ) {
            let schedule = Schedule::plain(1.0, 300, None, 0);
            let mut pacer = Pacer::new(schedule, Some(count));
            let (mut now, mut measured) = (0, 0);
            for (step, fails) in steps {
                let Some(permit) = pacer.admit(now) else { continue };
                now += step;
                if fails { pacer.give_back(permit); continue; }
                if pacer.start(permit, now) == Start::Now(Phase::Measure(0)) { measured += 1; }
            }
            prop_assert!(measured <= count);
            now += 300;
            while let Some(permit) = pacer.admit(now) {
                if pacer.start(permit, now) == Start::Now(Phase::Measure(0)) { measured += 1; }
            }
            prop_assert_eq!(measured, count);
        }
    }
}
