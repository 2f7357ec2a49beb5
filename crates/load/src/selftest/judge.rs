//! What the instrument has to show of a server whose behaviour is known.
//!
//! Pure. The numbers expected are worked out here from what the server was told to do, and from nothing the instrument says.
//! Not here: making the runs ([`super`]).

use crate::report::units::{time, whole};
use crate::stats::Summary;

/// One thing that has to be so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Whether it is.
    pub ok: bool,
    /// What was seen, and what should have been.
    pub text: String,
}

/// A run against a server of known delay.
#[derive(Clone, Debug)]
pub struct Delay {
    /// Requests per second.
    pub rate: f64,
    /// What the server was told to wait.
    pub delay_us: f64,
    /// The median of what it waited beyond that.
    pub late_us: f64,
    /// Requests that were to be sent.
    pub due: u64,
    /// Answers to them.
    pub answers: u64,
    /// What the report says people wait.
    pub response: Summary,
    /// By how much requests went out late.
    pub lag: Summary,
    /// By how much a timer of nothing but a loop was late, at the same moments.
    pub spin: Spin,
}

/// The lateness of a bare spin timer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spin {
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// The longest.
    pub max_us: f64,
}

/// An instrument may add this much to a median: the way through the kernel and back, and waking up.
const ADDED_US: f64 = 200.0;
/// The 99th percentile of its lateness may be this much that of a bare spin timer …
const LAG_OF_SPIN: f64 = 1.5;
/// … or what the verdict on a run does not mind: with nothing else to do, a bare timer is not late by a microsecond.
const LAG_FREE_US: f64 = 200.0;

/// What is asked of a run against a known delay.
pub fn delay(run: &Delay) -> Vec<Check> {
    let added_us = run.response.p50 - run.delay_us - run.late_us;
    /// A bare timer that is later than this has no core to itself.
    const DISTURBED_US: f64 = 1_000.0;
    const DISTURBED: &str =
        "; even the bare timer has to wait for a core, so little can be measured here now";
    let lag_most_us = (run.spin.p99_us * LAG_OF_SPIN).max(LAG_FREE_US);
    vec![
        Check {
            ok: run.answers == run.due,
            text: format!("{} of {} requests were sent and answered", whole(run.answers), whole(run.due)),
        },
        Check {
            ok: (0.0..=ADDED_US).contains(&added_us),
            text: format!(
                "the instrument adds {} to the median, {} at most",
                signed(added_us),
                time(ADDED_US)
            ),
        },
        Check {
            ok: run.lag.p99 <= lag_most_us,
            text: format!(
                "99 of 100 requests went out at most {} late, {} allowed: 1.5 times a bare spin timer, or {}{}",
                time(run.lag.p99),
                time(lag_most_us),
                time(LAG_FREE_US),
                if run.spin.p99_us > DISTURBED_US { DISTURBED } else { "" }
            ),
        },
    ]
}

fn signed(us: f64) -> String {
    if us < 0.0 { format!("-{}", time(-us)) } else { time(us) }
}

/// Two runs against a server that stalls.
#[derive(Clone, Debug)]
pub struct Stalled {
    /// Requests per second of the open loop.
    pub rate: f64,
    /// How long it was measured.
    pub window_s: f64,
    /// How long the server did not answer.
    pub stall_s: f64,
    /// What it waits otherwise.
    pub delay_us: f64,
    /// What the report of the open loop says people wait.
    pub open: Summary,
    /// The connections of the closed loop, and what its report says.
    pub clients: u32,
    /// See above.
    pub closed: Summary,
}

/// Requests that waited this long fell into the stall.
pub const LONG_US: f64 = 100_000.0;

/// What the open loop has to have seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Requests of the whole run.
    pub requests: f64,
    /// Requests due while the server stalled.
    pub hit: f64,
    /// Those of them that waited longer than [`LONG_US`].
    pub long: f64,
    /// What they waited for it, on average.
    pub mean_wait_s: f64,
    /// The 99th percentile.
    pub p99_us: f64,
    /// The longest.
    pub max_us: f64,
}

impl Stalled {
    /// Requests come evenly: the first of the stall waits for all of it, the last for none.
    pub fn expected(&self) -> Expected {
        let requests = self.rate * self.window_s;
        let hit = self.rate * self.stall_s;
        let stall_us = self.stall_s * 1e6;
        Expected {
            requests,
            hit,
            long: hit * (1.0 - LONG_US / stall_us),
            mean_wait_s: self.stall_s / 2.0,
            p99_us: self.delay_us + stall_us * (1.0 - 0.01 * requests / hit),
            max_us: self.delay_us + stall_us,
        }
    }

    /// What those who fell into the stall waited for it, on average, if all the waiting there was is theirs.
    pub fn mean_wait_s(&self) -> f64 {
        (self.open.avg - self.open.p50) * self.open.count as f64 / 1e6 / self.expected().hit
    }
}

/// What is asked of runs against a server that stalls.
pub fn stalled(runs: &Stalled) -> Vec<Check> {
    let want = runs.expected();
    let near = |seen: f64, wanted: f64| (seen / wanted - 1.0).abs() < 0.2;
    let long = waited(&runs.open, LONG_US);
    let mean_s = runs.mean_wait_s();
    vec![
        Check {
            ok: (runs.open.count as f64 - want.requests).abs() < 2.0,
            text: format!("{} requests, {:.0} expected", whole(runs.open.count), want.requests),
        },
        Check {
            ok: near(runs.open.p99, want.p99_us),
            text: format!(
                "the 99th percentile shows the stall: {}, {} expected",
                time(runs.open.p99),
                time(want.p99_us)
            ),
        },
        Check {
            ok: near(runs.open.max, want.max_us),
            text: format!("so does the longest: {}, {} expected", time(runs.open.max), time(want.max_us)),
        },
        Check {
            ok: near(long, want.long),
            text: format!("{long:.0} requests waited {} or more, {:.0} expected", time(LONG_US), want.long),
        },
        Check {
            ok: near(mean_s, want.mean_wait_s),
            text: format!(
                "the {:.0} that fell into it waited {mean_s:.2} s on average, {:.2} s expected",
                want.hit, want.mean_wait_s
            ),
        },
        Check {
            ok: waited(&runs.closed, LONG_US) <= f64::from(runs.clients) * 2.0 && runs.closed.p99 < LONG_US,
            text: format!(
                "a closed loop hides it: 99th percentile {}, {:.0} requests waited",
                time(runs.closed.p99),
                waited(&runs.closed, LONG_US)
            ),
        },
    ]
}

/// How many waited longer, as finely as the spectrum tells: between two of its points it is taken to be straight.
pub fn waited(summary: &Summary, us: f64) -> f64 {
    let (mut share, mut value) = (0.0, 0.0);
    for &(next_share, next_value) in &summary.curve {
        if next_value > us {
            share += (next_share - share) * (us - value) / (next_value - value);
            break;
        }
        (share, value) = (next_share, next_value);
    }
    summary.count as f64 * (1.0 - share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Latency;

    fn summary(times_us: impl Iterator<Item = f64>) -> Summary {
        let mut latency = Latency::default();
        times_us.for_each(|us| latency.record((us * 1e3) as u64));
        Summary::of(&latency).unwrap()
    }

    fn oks(checks: &[Check]) -> Vec<bool> {
        checks.iter().map(|check| check.ok).collect()
    }

    /// 500 a second for 4 s, no answer from 1.5 s to 2.5 s: what an honest instrument sees, request by request.
    fn honest() -> impl Iterator<Item = f64> {
        (0..2000).map(|at| {
            let due_s = f64::from(at) / 500.0;
            2_000.0 + if (1.5..2.5).contains(&due_s) { (2.5 - due_s) * 1e6 } else { 0.0 }
        })
    }

    /// Ten connections that ask when they are answered.
    fn closed() -> impl Iterator<Item = f64> {
        (0..15_000).map(|at| if at < 10 { 1_001_000.0 } else { 2_000.0 })
    }

    fn runs(open: Summary) -> Stalled {
        let closed = summary(closed());
        Stalled { rate: 500.0, window_s: 4.0, stall_s: 1.0, delay_us: 2_000.0, open, clients: 10, closed }
    }

    #[test]
    fn honest_accounts_pass() {
        let runs = runs(summary(honest()));
        assert_eq!(oks(&stalled(&runs)), [true; 6], "{:?}", stalled(&runs));
        assert!((runs.mean_wait_s() - 0.5).abs() < 0.01 && (waited(&runs.open, LONG_US) - 450.0).abs() < 3.0);
    }

    #[test]
    fn whoever_waits_with_the_server_fails() {
        // The same moments, told from when requests went out: one for each of ten connections, and the rest in time.
        let omitted = (0..2000).map(|at| if at < 10 { 1_002_000.0 } else { 2_000.0 });
        assert_eq!(oks(&stalled(&runs(summary(omitted)))), [true, false, true, false, false, true]);
        // Those that could not be sent are not made up for.
        let fewer = (0..1510).map(|at| if at < 10 { 1_002_000.0 } else { 2_000.0 });
        assert!(!stalled(&runs(summary(fewer)))[0].ok);
        // All wait for the whole stall.
        let all = (0..2000).map(|at| if at < 500 { 1_002_000.0 } else { 2_000.0 });
        assert!(!stalled(&runs(summary(all)))[4].ok);
        // Nothing is seen at all.
        let none = (0..2000).map(|_| 2_000.0);
        assert_eq!(oks(&stalled(&runs(summary(none)))), [true, false, false, false, false, true]);
    }

    #[test]
    fn known_delays() {
        let run = |added_us: f64, lag_us: f64, spin_us: f64, answers| Delay {
            rate: 500.0,
            delay_us: 2_000.0,
            late_us: 5.0,
            due: 1_000,
            answers,
            response: summary((0..1000).map(|_| 2_005.0 + added_us)),
            lag: summary((0..1000).map(|at| if at < 980 { 0.0 } else { lag_us })),
            spin: Spin { p50_us: 0.0, p99_us: spin_us, max_us: spin_us },
        };
        for (added_us, lag_us, spin_us, answers, wanted) in [
            (40.0, 60.0, 0.0, 1_000, [true, true, true]),
            (40.0, 60.0, 0.0, 999, [false, true, true]),
            (260.0, 60.0, 0.0, 1_000, [true, false, true]),
            // What takes less time than it takes was not measured.
            (-30.0, 60.0, 0.0, 1_000, [true, false, true]),
            (40.0, 240.0, 10.0, 1_000, [true, true, false]),
            (40.0, 290.0, 200.0, 1_000, [true, true, true]),
            (40.0, 310.0, 200.0, 1_000, [true, true, false]),
        ] {
            let checks = delay(&run(added_us, lag_us, spin_us, answers));
            assert_eq!(oks(&checks), wanted, "{checks:?}");
        }
    }
}
