//! The phases of a run and the load in each: warm-up, steps (each settles, then is measured), cool-down.
//!
//! A plain run has one step. Where load comes and goes gradually, clients join one by one in the warm-up and leave so in
//! the cool-down, as those of WCAT do.
//!
//! Not here: what the load is made of; a level is a number of clients in a closed loop, of requests a second in an open one.

/// The part of the run a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Load without measurement, before.
    Warmup,
    /// The load of this step has begun and is not measured yet.
    Settle(u16),
    /// What the report is about: the step of this number.
    Measure(u16),
    /// Load without measurement, after, so that the last measured requests see the same load as the first.
    Cooldown,
    /// No new requests.
    Over,
}

impl Phase {
    /// The step that is measured now.
    pub fn measured(self) -> Option<u16> {
        if let Phase::Measure(step) = self { Some(step) } else { None }
    }
}

/// A level of load held for some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Clients, or requests per second.
    pub level: f64,
    /// How long it is held before it is measured.
    pub settle_ns: u64,
    /// How long it is measured; `None`: until the count is reached. Only of the last step.
    pub measure_ns: Option<u64>,
}

/// A stretch of the run with one level, or one that goes evenly from one level to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Where it begins.
    pub start_ns: u64,
    /// Where it ends.
    pub end_ns: u64,
    /// The level at its start.
    pub from: f64,
    /// The level at its end.
    pub to: f64,
}

/// All phases of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Length of the warm-up.
    pub warmup_ns: u64,
    /// The steps, one at least.
    pub steps: Vec<Step>,
    /// Length of the cool-down.
    pub cooldown_ns: u64,
    pieces: Vec<Piece>,
    /// Where each phase begins.
    edges: Vec<(u64, Phase)>,
}

impl Schedule {
    /// A run of these phases. `gradual`: clients join in the warm-up and leave in the cool-down one by one.
    pub fn new(warmup_ns: u64, steps: Vec<Step>, cooldown_ns: u64, gradual: bool) -> Schedule {
        let first = steps.first().map_or(0.0, |step| step.level);
        let last = steps.last().map_or(0.0, |step| step.level);
        let mut pieces = vec![Piece {
            start_ns: 0,
            end_ns: warmup_ns,
            from: if gradual { 0.0 } else { first },
            to: first,
        }];
        let mut edges = vec![(0, Phase::Warmup)];
        let mut at_ns = warmup_ns;
        for (number, step) in (0_u16..).zip(&steps) {
            let settled_ns = at_ns.saturating_add(step.settle_ns);
            let end_ns = settled_ns.saturating_add(step.measure_ns.unwrap_or(u64::MAX));
            edges.push((at_ns, Phase::Settle(number)));
            edges.push((settled_ns, Phase::Measure(number)));
            pieces.push(Piece { start_ns: at_ns, end_ns, from: step.level, to: step.level });
            at_ns = end_ns;
        }
        let over_ns = at_ns.saturating_add(cooldown_ns);
        let to = if gradual { 0.0 } else { last };
        pieces.push(Piece { start_ns: at_ns, end_ns: over_ns, from: last, to });
        // What begins after an endless step never does.
        if at_ns < u64::MAX {
            edges.extend([(at_ns, Phase::Cooldown), (over_ns, Phase::Over)]);
        }
        pieces.retain(|piece| piece.start_ns < piece.end_ns);
        Schedule { warmup_ns, steps, cooldown_ns, pieces, edges }
    }

    /// A run of one step.
    pub fn plain(level: f64, warmup_ns: u64, measure_ns: Option<u64>, cooldown_ns: u64) -> Schedule {
        Schedule::new(warmup_ns, vec![Step { level, settle_ns: 0, measure_ns }], cooldown_ns, false)
    }

    /// When the first measured window begins.
    pub fn window_start_ns(&self) -> u64 {
        self.window(0).0
    }

    /// When the last measured window ends, if time ends it.
    pub fn window_end_ns(&self) -> Option<u64> {
        Some(self.window(self.steps.len().saturating_sub(1)).1).filter(|end| *end < u64::MAX)
    }

    /// Start and end of what is measured of a step; one without end ends at [`u64::MAX`].
    pub fn window(&self, step: usize) -> (u64, u64) {
        let before = self.steps.iter().take(step).fold(self.warmup_ns, |sum, step| {
            sum.saturating_add(step.settle_ns).saturating_add(step.measure_ns.unwrap_or(u64::MAX))
        });
        let step = self.steps.get(step);
        let start = before.saturating_add(step.map_or(0, |step| step.settle_ns));
        (start, start.saturating_add(step.and_then(|step| step.measure_ns).unwrap_or(u64::MAX)))
    }

    /// The phase at `now`.
    pub fn phase_at(&self, now_ns: u64) -> Phase {
        let passed = self.edges.partition_point(|(at, _)| *at <= now_ns);
        self.edges.get(passed.saturating_sub(1)).map_or(Phase::Over, |(_, phase)| *phase)
    }

    /// The next moment after `now` at which the phase changes.
    pub fn next_edge_ns(&self, now_ns: u64) -> u64 {
        let passed = self.edges.partition_point(|(at, _)| *at <= now_ns);
        self.edges.get(passed).map_or(u64::MAX, |(at, _)| *at)
    }

    /// The levels, one piece after the other.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The highest level.
    pub fn highest(&self) -> f64 {
        self.steps.iter().map(|step| step.level).fold(0.0, f64::max)
    }

    /// In a closed loop: the moment, `now` or later, from which client number `rank` takes part; `None`: never again.
    pub fn joins_ns(&self, rank: u32, now_ns: u64) -> Option<u64> {
        let rank = f64::from(rank);
        let ahead = self.pieces.iter().filter(|piece| piece.end_ns > now_ns);
        ahead.filter_map(|piece| piece.joins_ns(rank, now_ns)).next()
    }
}

impl Piece {
    /// Clients 0, 1, … up to the level take part: number `rank` does while `rank` is below it. Where the level moves, the
    /// first is there from the start and stays to the end.
    fn joins_ns(&self, rank: f64, now_ns: u64) -> Option<u64> {
        let now_ns = now_ns.max(self.start_ns);
        if self.from == self.to {
            return (rank < self.from.ceil()).then_some(now_ns);
        }
        if rank >= self.from.max(self.to).ceil() {
            return None;
        }
        let length_ns = (self.end_ns - self.start_ns) as f64;
        let crossed_ns = self.start_ns + ((rank - self.from) / (self.to - self.from) * length_ns) as u64;
        if self.to > self.from {
            Some(now_ns.max(crossed_ns.min(self.end_ns - 1)))
        } else {
            (now_ns <= crossed_ns).then_some(now_ns)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn phases() {
        let run = Schedule::plain(1.0, 100, Some(1000), 50);
        for (now, want) in [
            (0, Phase::Warmup),
            (99, Phase::Warmup),
            (100, Phase::Measure(0)),
            (1099, Phase::Measure(0)),
            (1100, Phase::Cooldown),
            (1149, Phase::Cooldown),
            (1150, Phase::Over),
            (u64::MAX, Phase::Over),
        ] {
            assert_eq!(run.phase_at(now), want, "{now}");
        }
        assert_eq!((run.window_start_ns(), run.window_end_ns()), (100, Some(1100)));
        assert_eq!([0, 100, 1149, 1150].map(|now| run.next_edge_ns(now)), [100, 1100, 1150, u64::MAX]);
        let counted = Schedule::plain(1.0, 100, None, 0);
        assert_eq!(counted.phase_at(u64::MAX), Phase::Measure(0));
        assert_eq!(counted.window_end_ns(), None);
    }

    #[test]
    fn steps_settle_before_they_are_measured() {
        let step = |level| Step { level, settle_ns: 10, measure_ns: Some(90) };
        let run = Schedule::new(0, vec![step(1.0), step(6.0), step(11.0)], 5, false);
        assert_eq!(run.phase_at(0), Phase::Settle(0));
        assert_eq!(run.phase_at(10), Phase::Measure(0));
        assert_eq!(run.phase_at(109), Phase::Settle(1));
        assert_eq!(run.phase_at(110), Phase::Measure(1));
        assert_eq!(run.phase_at(299), Phase::Measure(2));
        assert_eq!(run.phase_at(300), Phase::Cooldown);
        assert_eq!([0, 1, 2].map(|at| run.window(at)), [(10, 100), (110, 200), (210, 300)]);
        // Client 3 comes with the second step, client 11 never.
        assert_eq!(run.joins_ns(3, 0), Some(100));
        assert_eq!(run.joins_ns(3, 150), Some(150));
        assert_eq!(run.joins_ns(11, 0), None);
    }

    #[test]
    fn gradual_clients_come_and_go_one_by_one() {
        let run =
            Schedule::new(100, vec![Step { level: 4.0, settle_ns: 0, measure_ns: Some(50) }], 100, true);
        assert_eq!([0, 1, 2, 3].map(|rank| run.joins_ns(rank, 0)), [Some(0), Some(25), Some(50), Some(75)]);
        assert_eq!(run.joins_ns(4, 0), None);
        // In the cool-down client 3 is the first to leave.
        assert_eq!([3, 2, 0].map(|rank| run.joins_ns(rank, 190)), [None, Some(190), Some(190)]);
        assert_eq!(run.joins_ns(0, 249), Some(249));
        assert_eq!(run.joins_ns(0, 250), None);
    }

    proptest! {
        /// The oracle: look at every moment, one by one, at the level a person would draw.
        #[test]
        fn joins_when_the_level_says(
            levels in prop::collection::vec(0_u32..6, 1..4), warmup in 0_u64..20, gradual: bool, rank in 0_u32..7,
            now in 0_u64..80,
        ) {
            let steps: Vec<Step> = levels.iter()
                .map(|&level| Step { level: f64::from(level), settle_ns: 2, measure_ns: Some(8) }).collect();
            let run = Schedule::new(warmup, steps, 0, gradual);
            let is_in = |at: u64| {
                if at < warmup {
                    let most = levels[0];
                    if !gradual { return rank < most; }
                    return rank < most && at >= u64::from(rank) * warmup / u64::from(most);
                }
                let step = usize::try_from((at - warmup) / 10).unwrap();
                levels.get(step).is_some_and(|&level| rank < level)
            };
            prop_assert_eq!(run.joins_ns(rank, now), (now..100).find(|&at| is_in(at)));
        }
    }
}
