//! `thirst run --search`: one run for each rate that is tried, until the capacity is found.
//!
//! The report is that of the last run, the confirming one if there is one; the rates tried are its steps. Not here: which rate
//! is tried next ([`crate::search`]).

use std::io::{Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::plan;
use super::run_args::RunArgs;
use super::shape::DEFAULT_DURATION_S;
use crate::pacer::Schedule;
use crate::plan::{Plan, Target, Wish, levels, size};
use crate::report::model::{Probe, Run, Search, Step};
use crate::report::units;
use crate::run::{Trouble, Wanted};
use crate::search::{self, Bounds, End, Next, Outcome, Seen, Tried};

/// Requests per second to begin with, if --rate does not say.
const START: f64 = 100.0;
/// Rates below this part of the first are of no interest.
const LEAST: f64 = 0.01;
/// Above this share of its ceiling the generator is not to be believed: the verdict's bound.
const OF_CEILING: f64 = 0.7;
/// A probe is this part of a full run …
const PROBE: u32 = 4;
/// … and has at least so many requests, of which three are above a 99th percentile.
const REQUESTS: f64 = 300.0;
/// Why a person ends a search.
const CTRL_C: &str = "Ctrl-C";

/// The plan of the flags, as an open loop.
pub(super) fn plan(args: &RunArgs, urls: &[Target], wish: &Wish) -> Result<Plan, String> {
    let mut own = args.clone();
    own.load.rate.get_or_insert(START);
    plan::plan(&own, urls, wish)
}

/// Searches; the last run with all that was tried.
pub(super) fn search(
    args: &RunArgs,
    mut plan: Plan,
    wanted: &Wanted,
    stop: &Arc<AtomicBool>,
) -> Result<Run, Trouble> {
    let start = args.load.rate.unwrap_or(START);
    let most = wanted.calibrated_per_s.map(|ceiling| ceiling * OF_CEILING);
    let bounds = Bounds { start, least: start * LEAST, most };
    let rules = &args.look.search;
    let mut search =
        Search { rules: rules.iter().map(|rule| rule.text.clone()).collect(), ..Search::default() };
    let mut history: Vec<Tried> = Vec::new();
    let mut steps: Vec<Step> = Vec::new();
    let mut last: Option<Run> = None;
    let mut began_unix_ms = None;
    let found = loop {
        let (rate, whole) = match search::next(&bounds, &history) {
            Next::Done(found) => break Ok(found),
            Next::Probe(rate) => (rate, false),
            Next::Confirm(rate) => (rate, true),
        };
        plan.load.schedule = schedule(args, rate, whole);
        let run = match crate::run::run(&plan, wanted, Arc::clone(stop)) {
            Ok(run) => run,
            // A server that is gone has shown what it can do, and what it cannot.
            Err(Trouble::Unreachable(why)) if last.is_some() => {
                break Err(format!("at {}/s: {why}", units::rate(rate)));
            }
            Err(trouble) => return Err(trouble),
        };
        if stop.load(Ordering::Relaxed) {
            // Half a probe says nothing, but without any other it is all there is.
            last.get_or_insert(run);
            break Err(CTRL_C.to_owned());
        }
        let Seen { outcome, why } = search::outcome(rules, &run);
        let began = *began_unix_ms.get_or_insert(run.started_unix_ms);
        let step = step(&run, rate, run.started_unix_ms.saturating_sub(began) as f64 / 1e3);
        let probe = Probe { rate, outcome: outcome.word().to_owned(), why };
        if !args.report.quiet {
            // Nobody to tell if stderr is gone.
            let _ = writeln!(
                stderr(),
                "  {}{}",
                search::line(&probe, &step),
                if whole { "  (in full)" } else { "" }
            );
        }
        history.push(Tried { rate, outcome, whole });
        search.probes.push(probe);
        steps.push(step);
        last = Some(run);
    };
    let mut run = last.ok_or_else(|| Trouble::System("nothing was tried".to_owned()))?;
    steps.sort_by(|a, b| a.level.total_cmp(&b.level));
    let held = history.iter().filter(|tried| tried.outcome == Outcome::Held).map(|tried| tried.rate);
    (search.capacity_per_s, search.at_least) = match &found {
        Ok(found) => (found.capacity, found.end == End::Generator),
        Err(why) => (held.reduce(f64::max), why == CTRL_C),
    };
    search.result = search::result(&search, found.as_ref().copied().map_err(String::as_str));
    run.steps = steps;
    run.search = Some(search);
    Ok(run)
}

/// How long a rate is tried, and what passes before it is measured.
fn schedule(args: &RunArgs, rate: f64, whole: bool) -> Schedule {
    let full = args.load.duration.unwrap_or(Duration::from_secs(DEFAULT_DURATION_S));
    let enough = Duration::try_from_secs_f64(REQUESTS / rate).unwrap_or(full);
    let shortest = Duration::from_secs(1).min(full);
    let measure = if whole { full } else { (full / PROBE).max(enough).clamp(shortest, full) };
    let warmup = args.load.warmup.filter(|time| !time.is_zero());
    let settle = warmup.unwrap_or_else(|| levels::settle(measure));
    let cooldown_ns = size::nanos(args.load.cooldown.unwrap_or_default());
    Schedule::plain(rate, size::nanos(settle), Some(size::nanos(measure)), cooldown_ns)
}

/// A run as a step of the curve of load.
fn step(run: &Run, rate: f64, start_s: f64) -> Step {
    let times = run.latency_us.clone();
    Step {
        level: rate,
        start_s,
        elapsed_s: run.elapsed_s,
        requests: run.requests,
        responses: run.responses,
        errors: run.errors.requests,
        unsent: run.unsent,
        requests_per_s: run.requests_per_s,
        read_bytes_per_s: run.read_bytes_per_s,
        first_byte: times.first_byte,
        last_byte: times.last_byte,
        response: times.response,
        send_lag: times.send_lag,
        server_cores: (!run.cpu.servers.is_empty()).then(|| run.cpu.servers.iter().map(|s| s.cores).sum()),
        generator_busy: run.cpu.generator.iter().map(|thread| thread.busy - thread.spun).fold(0.0, f64::max),
        verdict: run.verdict.clone(),
    }
}
