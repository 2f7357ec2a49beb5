//! What is read alike of one step and of the whole run: its window, its threads, its servers, the connections it needs.
//!
//! Not here: what follows for the report ([`super::assemble`], [`super::steps`]).

use super::{Gathered, StepSeen};
use crate::plan::Plan;
use crate::report::model::Thread;
use crate::sender::meter::Usage;
use crate::verdict::Generator;

/// Time ends the window of a step, or the last answer of a counted run, or Ctrl-C.
pub(super) fn window_s(plan: &Plan, gathered: &Gathered, step: usize) -> f64 {
    let Some(seen) = gathered.steps.get(step) else { return 0.0 };
    let (start_ns, planned_ns) = plan.load.schedule.window(step);
    let ended_ns = gathered.outcomes.iter().map(|outcome| outcome.ended_ns).max().unwrap_or(start_ns);
    let counted_out = plan.load.count.is_some_and(|count| seen.tally.counts.requests >= count);
    let end_ns = if gathered.interrupted {
        planned_ns.min(ended_ns)
    } else if counted_out || planned_ns == u64::MAX {
        planned_ns.min(seen.tally.last_end_ns)
    } else {
        // A run that was told it is enough ends before its time.
        planned_ns.min(ended_ns)
    };
    end_ns.saturating_sub(start_ns) as f64 / 1e9
}

/// In an open loop connections are made as they are needed, and pauses need none: no number is asked for.
pub(super) fn connections_asked(plan: &Plan) -> u64 {
    let waits = plan.load.think_ns.1 > 0 || plan.load.most_per_s.is_some();
    let keeps =
        plan.requests.iter().all(|request| request.close == crate::wcat::Manner::Keep && !request.is_old);
    let rounds = matches!(plan.script, crate::plan::Script::Rounds(_));
    if plan.load.is_open() || waits || rounds || !keeps {
        return 0;
    }
    plan.load.clients.into()
}

pub(super) fn generator(thread: &Thread) -> Generator {
    Generator {
        busy: thread.busy - thread.spun,
        starved: thread.starved.unwrap_or(0.0),
        mean_wait_us: thread.mean_wait_us.unwrap_or(0.0),
    }
}

/// One of our threads, over one step or several.
pub(super) fn thread(usage: &[Usage]) -> Thread {
    let wall = usage.iter().map(|usage| usage.wall_ns).sum::<u64>().max(1) as f64;
    let sum = |of: fn(&Usage) -> u64| usage.iter().map(of).sum::<u64>() as f64;
    let waited = usage.iter().try_fold((0_u64, 0_u64), |(ns, turns), usage| {
        usage.waited.map(|waited| (ns + waited.ns, turns + waited.turns))
    });
    Thread {
        busy: sum(|usage| usage.cpu_ns) / wall,
        starved: waited.map(|(ns, _)| ns as f64 / wall),
        mean_wait_us: waited.map(|(ns, turns)| ns as f64 / 1e3 / turns.max(1) as f64),
        longest_turn_us: usage.iter().map(|usage| usage.longest_turn_ns).max().unwrap_or(0) as f64 / 1e3,
        // What was spent waiting awake is never more than what was spent: the one is seen by the clock, the other by the
        // scheduler.
        spun: sum(|usage| usage.spun_ns.min(usage.cpu_ns)) / wall,
    }
}

/// CPU of the servers within a step, and their memory at its end.
pub(super) fn used(seen: &StepSeen) -> Vec<(u64, u64, u32)> {
    let pairs = seen.before.iter().flatten().zip(seen.after.iter().flatten());
    pairs
        .map(|(before, after)| (after.cpu_us.saturating_sub(before.cpu_us), after.rss_bytes, after.processes))
        .collect()
}
