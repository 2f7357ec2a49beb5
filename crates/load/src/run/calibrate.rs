//! What the generator manages against a server that does nothing: its ceiling on this machine, at this moment.
//!
//! The same threads, and as many connections up to a limit, put a closed loop on null servers in this process for a third of
//! a second. The servers need cores too, so this is what a fast server on the same machine would see; with one core it would
//! say nothing. The best of three looks counts, as whatever else runs can only make it less. Not here: judging it
//! ([`crate::verdict`]).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use super::{Wanted, gather, step};
use crate::null_server::{Manner, NullServer};
use crate::pacer::{Schedule, Step};
use crate::plan::{Load, Pick, Plan, Target, Wish};

/// More connections do not make it faster.
const CLIENTS_MAX: u32 = 64;
/// How long each look is.
const LOOK_NS: u64 = 100_000_000;
/// How long it runs before the first.
const SETTLE_NS: u64 = 50_000_000;
/// A run that measures less than this is a try, and not worth the wait.
const WORTH_NS: u64 = 5_000_000_000;

/// Whether a run of this load is long enough to be worth it.
pub fn worth(load: &Load) -> bool {
    let measured_ns = load.schedule.steps.iter().map(|step| step.measure_ns.unwrap_or(0)).sum::<u64>();
    load.count.is_none() && measured_ns >= WORTH_NS
}

/// Requests per second, or nothing where it cannot be told: one core, an end by Ctrl-C, a system that refuses.
pub fn calibrate(load: &Load, stop: Arc<AtomicBool>) -> Option<f64> {
    let cores = thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1));
    if cores < 2 {
        return None;
    }
    let servers = (0..load.threads.min(cores))
        .map(|_| NullServer::start(Manner::default()))
        .collect::<Result<Vec<NullServer>, _>>()
        .ok()?;
    let targets =
        servers.iter().map(|server| server.url().parse()).collect::<Result<Vec<Target>, _>>().ok()?;
    let clients = load.clients.clamp(load.threads.max(1), CLIENTS_MAX.max(load.threads));
    let look = |settle_ns| Step { level: f64::from(clients), settle_ns, measure_ns: Some(LOOK_NS) };
    let schedule = Schedule::new(0, vec![look(SETTLE_NS), look(0), look(0)], 0, false);
    let own = Load::closed(clients, load.threads, None, schedule);
    let plan = Plan::of_urls(&targets, &[], Pick::InTurn, &Wish::default(), own).ok()?;
    let gathered = gather(&plan, &Wanted::default(), stop, &mut |_| {}).ok()?;
    if gathered.interrupted {
        return None;
    }
    let rate = |(number, seen): (usize, &super::StepSeen)| {
        let window_s = step::window_s(&plan, &gathered, number);
        if window_s > 0.0 { seen.tally.counts.window_answers as f64 / window_s } else { 0.0 }
    };
    let best = gathered.steps.iter().enumerate().map(rate).fold(0.0, f64::max);
    (best > 0.0).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(clients: u32, threads: u32, schedule: Schedule) -> Load {
        Load::closed(clients, threads, None, schedule)
    }

    #[test]
    fn only_runs_of_some_length_are_worth_it() {
        let plain = |seconds: f64| Schedule::plain(1.0, 0, Some((seconds * 1e9) as u64), 0);
        assert!(worth(&load(1, 1, plain(5.0))) && !worth(&load(1, 1, plain(4.9))));
        assert!(!worth(&load(1, 1, Schedule::plain(1.0, 0, None, 0))));
        assert!(!worth(&Load { count: Some(9), ..load(1, 1, plain(10.0)) }));
        let step = Step { level: 1.0, settle_ns: 0, measure_ns: Some(2_500_000_000) };
        assert!(worth(&load(1, 1, Schedule::new(0, vec![step, step], 0, false))));
    }

    #[test]
    fn a_ceiling_is_found_and_ctrl_c_ends_it() {
        let plain = Schedule::plain(1.0, 0, Some(10_000_000_000), 0);
        // However slow this machine is, it does more than this; and no machine does more than that.
        let found = calibrate(&load(10, 2, plain.clone()), Arc::default());
        assert!(found.is_none_or(|rate| (1_000.0..1e8).contains(&rate)), "{found:?}");
        let cores = thread::available_parallelism().unwrap().get();
        assert_eq!(found.is_some(), cores > 1);
        assert_eq!(calibrate(&load(10, 2, plain), Arc::new(AtomicBool::new(true))), None);
    }
}
