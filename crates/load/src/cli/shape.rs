//! From the flags of a run to its load: phases and levels, open or closed.
//!
//! Not here: what is asked ([`super::run`]).

use std::thread;
use std::time::Duration;

use super::run_args::{LoadArgs, Pacing, RunArgs, WhenFull};
use crate::pacer::{Schedule, Spacing, Step};
use crate::plan::levels::{self, Levels};
use crate::plan::{Full, Load, Shape, size};

/// Measured when neither `-d` nor `-n` says how long.
pub(super) const DEFAULT_DURATION_S: u64 = 10;
/// Connections of a closed loop, if nobody says.
const CONNECTIONS: u32 = 10;
/// Requests in flight at most in an open loop, if nobody says.
const IN_FLIGHT: u32 = 1000;

/// The load that the flags ask for.
pub(super) fn load(args: &RunArgs) -> Result<Load, String> {
    let given = &args.load;
    let measure = measured(given)?;
    if args.request.timeout.is_zero() {
        return Err("--timeout 0 would fail every request; give a time".to_owned());
    }
    let levels = given.steps.as_ref().or(given.ramp.as_ref());
    let open = given.rate.is_some() || levels.is_some_and(|levels| levels.rates);
    refuse_odd(given, open, levels)?;
    let clients = clients(given, open, levels)?;
    let steps = match levels {
        Some(levels) => levels.levels.iter().map(|level| step(*level, levels, given.settle)).collect(),
        None => vec![Step {
            level: given.rate.unwrap_or_else(|| f64::from(clients)),
            settle_ns: 0,
            measure_ns: measure.map(size::nanos),
        }],
    };
    if steps.len() > usize::from(u16::MAX) {
        return Err("more than 65,535 steps".to_owned());
    }
    let (warmup_ns, cooldown_ns) =
        (given.warmup.map_or(0, size::nanos), given.cooldown.map_or(0, size::nanos));
    let schedule = Schedule::new(warmup_ns, steps, cooldown_ns, false);
    let cores = thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1));
    let threads = given.threads.unwrap_or_else(|| (cores / 2).max(1));
    let full = match given.when_full {
        WhenFull::Queue => Full::Queue,
        WhenFull::Drop => Full::Drop,
    };
    let spacing = if given.poisson { Spacing::Poisson } else { Spacing::Constant };
    let shape = if open { Shape::Open { spacing, full } } else { Shape::Closed };
    Ok(Load {
        shape,
        timeout_ns: size::nanos(args.request.timeout),
        think_ns: given.think.map_or((0, 0), |(low, high)| (size::nanos(low), size::nanos(high))),
        most_per_s: given.most,
        sources: args.client.source_ip.clone(),
        spread: args.client.all_addresses,
        precise: given.pacing == Pacing::Precise,
        seed: given.seed,
        ..Load::closed(clients, threads, given.requests, schedule)
    })
}

fn measured(given: &LoadArgs) -> Result<Option<Duration>, String> {
    let default = given.requests.is_none().then_some(Duration::from_secs(DEFAULT_DURATION_S));
    let measure = given.duration.or(default);
    if measure.is_some_and(|measure| measure.is_zero()) {
        return Err("-d 0 measures nothing; give a time, or -n for a count".to_owned());
    }
    if measure.is_none() && given.cooldown.is_some_and(|time| !time.is_zero()) {
        return Err("--cooldown needs -d: a counted run ends with its last request".to_owned());
    }
    Ok(measure)
}

/// What would have no effect is refused: a load that is not the one its author meant proves nothing.
pub(super) fn refuse_odd(given: &LoadArgs, open: bool, levels: Option<&Levels>) -> Result<(), String> {
    let needs_rate = [(given.poisson, "--poisson"), (given.when_full == WhenFull::Drop, "--when-full drop")];
    if let Some((_, flag)) = needs_rate.iter().find(|(is, _)| *is && !open) {
        return Err(format!("{flag} is about requests that come by the clock; say how many, with --rate"));
    }
    if open && (given.think.is_some() || given.most.is_some()) {
        return Err(
            "--think and --most are of a closed loop; requests per second come by the clock".to_owned()
        );
    }
    if given.settle.is_some() && levels.is_none() {
        return Err("--settle is of --steps and --ramp; a plain run has --warmup".to_owned());
    }
    match (given.settle, levels) {
        (Some(settle), Some(levels)) if settle >= levels.hold => {
            Err("--settle leaves nothing of a step to be measured; make it shorter, or the steps longer"
                .to_owned())
        }
        _ => Ok(()),
    }
}

fn clients(given: &LoadArgs, open: bool, levels: Option<&Levels>) -> Result<u32, String> {
    match levels {
        Some(levels) if !open => {
            if given.connections.is_some() {
                return Err(
                    "-c is what --steps and --ramp of connections say; leave one of them out".to_owned()
                );
            }
            Ok(levels.levels.iter().fold(1.0, |most: f64, level| most.max(*level)) as u32)
        }
        _ => Ok(given.connections.unwrap_or(if open { IN_FLIGHT } else { CONNECTIONS })),
    }
}

fn step(level: f64, levels: &Levels, settle: Option<Duration>) -> Step {
    let settle = settle.unwrap_or_else(|| levels::settle(levels.hold));
    Step {
        level,
        settle_ns: size::nanos(settle),
        measure_ns: Some(size::nanos(levels.hold.saturating_sub(settle))),
    }
}
