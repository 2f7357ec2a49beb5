//! When a connection may send its next request. Pure: time comes in as nanoseconds since the start of the run.
//!
//! Closed loop for now: each connection sends as soon as its last answer is whole, until time or count run out.
//! An open loop adds a [`Start`] that says *not before*, with the intended moment in it; the sender already asks
//! before each request, and that is the only place where it does.
//!
//! Not here: timers, sockets, connections.

/// The part of the run a request belongs to, by the moment it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Load without measurement, before.
    Warmup,
    /// What the report is about.
    Measure,
    /// Load without measurement, after, so that the last measured requests see the same load as the first.
    Cooldown,
    /// No new requests.
    Over,
}

/// The three phases in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Length of the warm-up.
    pub warmup_ns: u64,
    /// Length of the measured window; `None`: until the count is reached.
    pub measure_ns: Option<u64>,
    /// Length of the cool-down.
    pub cooldown_ns: u64,
}

impl Schedule {
    /// When the measured window begins.
    pub fn window_start_ns(&self) -> u64 {
        self.warmup_ns
    }

    /// When the measured window ends, if time ends it.
    pub fn window_end_ns(&self) -> Option<u64> {
        self.measure_ns.map(|length| self.warmup_ns.saturating_add(length))
    }

    /// The phase at `now`.
    pub fn phase_at(&self, now_ns: u64) -> Phase {
        if now_ns < self.warmup_ns {
            return Phase::Warmup;
        }
        match self.window_end_ns() {
            None => Phase::Measure,
            Some(end) if now_ns < end => Phase::Measure,
            Some(end) if now_ns < end.saturating_add(self.cooldown_ns) => Phase::Cooldown,
            Some(_) => Phase::Over,
        }
    }
}

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
            Phase::Measure => self.draw().then_some(Permit { counted: true }),
            Phase::Warmup | Phase::Cooldown => Some(Permit { counted: false }),
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
            Phase::Measure if !permit.counted && !self.draw() => Start::Never,
            Phase::Cooldown if permit.counted => {
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

/// Shares `total` among `shares` as evenly as whole numbers allow: the share number `index`.
pub fn share(total: u64, shares: u64, index: u64) -> u64 {
    match total.checked_div(shares) {
        None => 0,
        Some(even) => even + u64::from(index < total % shares),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RUN: Schedule = Schedule { warmup_ns: 100, measure_ns: Some(1000), cooldown_ns: 50 };

    #[test]
    fn phases() {
        for (now, want) in [
            (0, Phase::Warmup),
            (99, Phase::Warmup),
            (100, Phase::Measure),
            (1099, Phase::Measure),
            (1100, Phase::Cooldown),
            (1149, Phase::Cooldown),
            (1150, Phase::Over),
            (u64::MAX, Phase::Over),
        ] {
            assert_eq!(RUN.phase_at(now), want, "{now}");
        }
        let counted = Schedule { measure_ns: None, ..RUN };
        assert_eq!(counted.phase_at(u64::MAX), Phase::Measure);
    }

    #[test]
    fn a_warm_permit_is_counted_when_used_in_the_window() {
        let mut pacer = Pacer::new(Schedule { measure_ns: None, ..RUN }, Some(1));
        let first = pacer.admit(50).unwrap();
        let second = pacer.admit(50).unwrap();
        assert_eq!(pacer.start(first, 120), Start::Now(Phase::Measure));
        assert_eq!(pacer.start(second, 121), Start::Never);
        assert_eq!(pacer.admit(122), None);
    }

    #[test]
    fn what_is_given_back_can_be_drawn_again() {
        let mut pacer = Pacer::new(Schedule { warmup_ns: 0, measure_ns: None, cooldown_ns: 0 }, Some(1));
        let permit = pacer.admit(0).unwrap();
        assert_eq!(pacer.admit(0), None);
        pacer.give_back(permit);
        assert!(pacer.admit(0).is_some());
    }

    proptest! {
        #[test]
        fn shares_add_up_and_differ_by_one_at_most(total in 0_u64..1_000_000, shares in 1_u64..200) {
            let all: Vec<u64> = (0..shares).map(|index| share(total, shares, index)).collect();
            prop_assert_eq!(all.iter().sum::<u64>(), total);
            prop_assert!(all.iter().max().unwrap() - all.iter().min().unwrap() <= 1);
        }

        #[test]
        fn a_counted_run_sends_exactly_its_count(
            count in 0_u64..50, steps in prop::collection::vec((0_u64..200, any::<bool>()), 400)
        ) {
            let schedule = Schedule { warmup_ns: 300, measure_ns: None, cooldown_ns: 0 };
            let mut pacer = Pacer::new(schedule, Some(count));
            let (mut now, mut measured) = (0, 0);
            for (step, fails) in steps {
                let Some(permit) = pacer.admit(now) else { continue };
                now += step;
                if fails { pacer.give_back(permit); continue; }
                if pacer.start(permit, now) == Start::Now(Phase::Measure) { measured += 1; }
            }
            prop_assert!(measured <= count);
            now += 300;
            while let Some(permit) = pacer.admit(now) {
                if pacer.start(permit, now) == Start::Now(Phase::Measure) { measured += 1; }
            }
            prop_assert_eq!(measured, count);
        }
    }
}
