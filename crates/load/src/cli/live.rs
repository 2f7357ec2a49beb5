//! `thirst compare --live`: the runs of a comparison, made in pairs and in turn.
//!
//! Who goes first in each pair is left to chance ([`crate::compare::order`]), so that what changes on the machine meanwhile
//! meets both alike. Not here: comparing.

use std::fs;
use std::io::{IsTerminal, Write, stderr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::compare_args::CompareArgs;
use super::run_args::{LookArgs, RunArgs, RunReportArgs};
use super::{plan, run};
use crate::compare::{Caveat, Given, Side, order};
use crate::plan::{Plan, Target};
use crate::report::model::Run;
use crate::report::units;
use crate::run::{Counted, Trouble, Wanted};
use crate::verdict::Grade;

/// The runs of whole pairs, and what speaks against them.
pub(super) struct Made {
    pub a: Vec<Given>,
    pub b: Vec<Given>,
    pub caveats: Vec<Caveat>,
}

/// How a pair came out.
enum Pair {
    /// Both runs say something.
    Whole,
    /// One of them does not; the other may not have been made.
    LeftOut,
    /// There is to be no other pair, for this reason.
    Ended(String),
}

/// A side: what is asked, of whom.
struct Subject {
    plan: Plan,
    wanted: Wanted,
}

struct Live<'a> {
    args: &'a CompareArgs,
    a: Subject,
    b: Subject,
    enough: Arc<AtomicBool>,
}

pub(super) fn make(args: &CompareArgs, a: &Target, b: &Target) -> Result<Made, String> {
    let load = &args.load;
    if load.steps.is_some() || load.ramp.is_some() || !load.until.is_empty() {
        return Err(
            "a comparison is of one level of load, as long for both: leave out --steps, --ramp and --until"
                .into(),
        );
    }
    args.save.as_deref().map(empty).transpose()?;
    let (run_a, run_b) = (run_args(args, a), run_args(args, b));
    let mut live = Live { args, a: subject(&run_a)?, b: subject(&run_b)?, enough: run::watch_ctrl_c()? };
    // Both are asked by the same threads; once is enough.
    let ceiling = run::calibrated(&run_a, &live.a.plan, &Arc::default());
    (live.a.wanted.calibrated_per_s, live.b.wanted.calibrated_per_s) = (ceiling, ceiling);
    live.say(&live.announce());
    let mut made = Made { a: Vec::new(), b: Vec::new(), caveats: Vec::new() };
    let mut left_out = 0_u64;
    let mut ended = None;
    for (number, turns) in (1_u32..).zip(order(args.pairs as usize, load.seed)) {
        let mut runs = Vec::with_capacity(2);
        let pair = live.pair(number, turns, &mut runs);
        live.save(number, &runs, matches!(pair, Pair::Whole))?;
        match pair {
            Pair::Whole => {
                for (side, run) in runs {
                    let given = Given { name: format!("{} of pair {number}", name(side)), run };
                    if side == Side::A { made.a.push(given) } else { made.b.push(given) }
                }
            }
            Pair::LeftOut => left_out += 1,
            Pair::Ended(why) => {
                ended = Some(why);
                break;
            }
        }
    }
    if made.a.is_empty() {
        let none = || "no pair of runs is left to be compared: in each a run was INVALID".to_owned();
        return Err(ended.unwrap_or_else(none));
    }
    if left_out > 0 {
        let text = format!("{} left out, as a run of each was INVALID", units::many(left_out, "pair"));
        made.caveats.push(Caveat::new("pairs-left-out", text));
    }
    if let Some(why) = ended {
        let text = format!("ended after {} of {} pairs: {why}", made.a.len(), args.pairs);
        made.caveats.push(Caveat::new("ended-early", text));
    }
    Ok(made)
}

impl Live<'_> {
    /// Makes two runs, and says what came of each.
    fn pair(&self, number: u32, (first, second): (Side, Side), runs: &mut Vec<(Side, Run)>) -> Pair {
        for side in [first, second] {
            if self.enough.load(Ordering::Relaxed) {
                return Pair::Ended("Ctrl-C".to_owned());
            }
            let subject = if side == Side::A { &self.a } else { &self.b };
            // Ctrl-C ends the series, not the run: half a run is no sample.
            let run = match crate::run::run(&subject.plan, &subject.wanted, Arc::default()) {
                Ok(run) => run,
                Err(Trouble::Unreachable(why) | Trouble::System(why)) => return Pair::Ended(why),
            };
            let invalid = run.verdict.grade == Grade::Invalid;
            self.say(&line(number, self.args.pairs, side, &run));
            runs.push((side, run));
            if invalid {
                return Pair::LeftOut;
            }
        }
        Pair::Whole
    }

    fn announce(&self) -> String {
        let schedule = &self.a.plan.load.schedule;
        let run_ns = schedule.window_end_ns().map(|end_ns| end_ns.saturating_add(schedule.cooldown_ns));
        let pairs = units::many(self.args.pairs.into(), "pair");
        match run_ns {
            Some(run_ns) => {
                let all_us = run_ns as f64 / 1e3 * 2.0 * f64::from(self.args.pairs);
                format!("{pairs} of runs, {} in all", units::time(all_us))
            }
            None => format!("{pairs} of runs"),
        }
    }

    fn say(&self, text: &str) {
        if !self.args.quiet {
            // Nobody to tell if stderr is gone.
            let _ = writeln!(stderr(), "  {text}");
        }
    }

    /// Keeps the reports: `a-01.json` and `b-01.json`, and those of no pair under names that `a-*.json` does not take.
    fn save(&self, number: u32, runs: &[(Side, Run)], whole: bool) -> Result<(), String> {
        let Some(directory) = &self.args.save else { return Ok(()) };
        let width = self.args.pairs.to_string().len().max(2);
        for (side, run) in runs {
            let letter = name(*side).to_ascii_lowercase();
            let prefix = if whole { "" } else { "left-out-" };
            let path = directory.join(format!("{prefix}{letter}-{number:0width$}.json"));
            fs::write(&path, run::to_json(run)?).map_err(|error| unwritable(&path, &error))?;
        }
        Ok(())
    }
}

fn name(side: Side) -> &'static str {
    if side == Side::A { "A" } else { "B" }
}

/// What came of one run, in a line.
fn line(number: u32, pairs: u32, side: Side, run: &Run) -> String {
    let width = pairs.to_string().len();
    let of = format!("pair {number:>width$} of {pairs}  {}", name(side));
    if run.verdict.grade == Grade::Invalid {
        let bad = run.verdict.findings.iter().find(|finding| finding.grade == Grade::Invalid);
        let why = bad.map_or("", |finding| finding.text.as_str());
        return format!("{of}  INVALID, and the pair left out: {why}");
    }
    let times = run.times().map_or_else(String::new, |times| {
        format!("  p50 {}  p99 {}", units::time(times.p50), units::time(times.p99))
    });
    format!("{of}  {:>9}/s{times}  {}", units::rate(run.requests_per_s), run.verdict.grade.word())
}

/// The flags as a run of this target would have them.
fn run_args(args: &CompareArgs, target: &Target) -> RunArgs {
    RunArgs {
        what: vec![target.url.clone()],
        server: Vec::new(),
        urls_from: None,
        load: args.load.clone(),
        request: args.request.clone(),
        client: args.client.clone(),
        look: LookArgs { expect: args.expect.clone(), ..LookArgs::default() },
        report: RunReportArgs { quiet: args.quiet, ..RunReportArgs::default() },
    }
}

fn subject(args: &RunArgs) -> Result<Subject, String> {
    let wish = plan::wish(args)?;
    let plan::What::Urls(urls) = plan::what(args)? else {
        return Err(
            "two URLs are compared; scenarios are by `thirst compare` of their stored runs".to_owned()
        );
    };
    let plan = plan::plan(args, &urls, &wish)?;
    let wanted = Wanted {
        method: wish.method().to_owned(),
        progress: !args.report.quiet && stderr().is_terminal(),
        // Looking at the server each second costs both alike, and shows in short runs.
        counted: Counted { nothing: true, ..Counted::default() },
        ..Wanted::default()
    };
    Ok(Subject { plan, wanted })
}

/// Runs of another time among these would be compared with them by whoever reads `a-*.json`.
fn empty(directory: &Path) -> Result<(), String> {
    fs::create_dir_all(directory).map_err(|error| unwritable(directory, &error))?;
    let mut inside = fs::read_dir(directory).map_err(|error| unwritable(directory, &error))?;
    match inside.next() {
        None => Ok(()),
        Some(_) => Err(format!("`{}` is not empty; give --save another directory", directory.display())),
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write `{}`: {error}", path.display())
}
