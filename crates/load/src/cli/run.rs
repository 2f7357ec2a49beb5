//! `thirst run`: flags to a plan, the run, its reports.
//!
//! Not here: the plan that flags ask for ([`super::plan`]), the files reports are written to ([`super::files`]).

use std::io::{IsTerminal, Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::files::Target;
use super::plan::{What, plan, what, wish};
use super::run_args::RunArgs;
use super::{EXIT_FAILED, EXIT_INTERRUPTED, EXIT_INVALID, search};
use crate::plan::Plan;
use crate::report::model::Run;
use crate::report::{text, units};
use crate::rule::Rule;
use crate::run::{self, Counted, Trouble, Wanted};
use crate::verdict::Grade;

pub(super) fn run(args: &RunArgs) -> Result<ExitCode, String> {
    let searches = !args.look.search.is_empty();
    let (plan, method, name, windows) = match what(args)? {
        What::Urls(urls) => {
            let wish = wish(args)?;
            let plan = if searches { search::plan(args, &urls, &wish)? } else { plan(args, &urls, &wish)? };
            (plan, wish.method().to_owned(), None, Vec::new())
        }
        What::Files(_) if searches => {
            return Err("--search is of URLs; a scenario says itself how much is asked".into());
        }
        What::Files(paths) => {
            let understood = super::scenario::plan(args, &paths)?;
            let method =
                understood.plan.requests.first().map_or("GET", |request| request.method.as_str()).to_owned();
            let counters = understood.gathered.settings.counters.into_iter().map(|counter| counter.path);
            (understood.plan, method, Some(understood.label), counters.collect())
        }
    };
    if args.client.cacert.is_some() && !plan.origins.iter().any(|origin| origin.secure) {
        return Err("--cacert is of https://, and nothing here is asked for by it".to_owned());
    }
    let told = &args.report;
    let json_to_stdout = told.json.as_deref() == Some(Path::new("-"));
    let mut json = told.json.as_deref().filter(|_| !json_to_stdout).map(Target::create).transpose()?;
    let files = told.files.open(1)?;
    let stop = watch_ctrl_c()?;
    let wanted = Wanted {
        label: told.label.clone().or(name),
        method,
        servers: args.look.server_pid.clone(),
        until: args.load.until.clone(),
        counted: Counted {
            nothing: args.look.no_counters,
            pages: args.look.counters.clone(),
            picks: args.look.counter.clone(),
            windows,
        },
        progress: !told.quiet,
        calibrated_per_s: None,
    };
    if wanted.progress && stderr().is_terminal() {
        let _ = writeln!(stderr(), "  {}", announce(&plan, &wanted.method));
    }
    let bundle = super::keep::bundle(&inputs(args));
    let wanted = Wanted { calibrated_per_s: calibrated(args, &plan, &stop), ..wanted };
    let in_words = |trouble| match trouble {
        Trouble::Unreachable(text) | Trouble::System(text) => text,
    };
    let mut report = if searches {
        search::search(args, plan, &wanted, &stop).map_err(in_words)?
    } else {
        run::run(&plan, &wanted, stop).map_err(in_words)?
    };
    report.bundle = Some(bundle);
    report.asked.fail_if = args.look.fail_if.iter().map(ToString::to_string).collect();
    if let Some(file) = json.as_mut() {
        file.write(&to_json(&report)?)?;
    }
    for file in files {
        file.write(std::slice::from_ref(&report))?;
    }
    say(args, &report, json_to_stdout)?;
    Ok(outcome(&report, &args.look.fail_if))
}

/// The files that the command line names.
fn inputs(args: &RunArgs) -> Vec<PathBuf> {
    let body = args.request.body.as_deref().and_then(|body| body.strip_prefix('@')).map(PathBuf::from);
    let scenario: Vec<PathBuf> = args.what.iter().map(PathBuf::from).filter(|path| path.is_file()).collect();
    let named = super::scenario::named(&scenario);
    let more = args.urls_from.iter().chain(&args.client.cacert).cloned().chain(body);
    scenario.into_iter().chain(named).chain(more).collect()
}

/// What a script sees of a run.
pub(super) fn outcome(report: &Run, fail_if: &[Rule]) -> ExitCode {
    let nowhere = report.search.as_ref().is_some_and(|search| search.capacity_per_s.is_none());
    let failed = rules(fail_if, report) || nowhere;
    match report.verdict.grade {
        Grade::Invalid => ExitCode::from(EXIT_INVALID),
        _ if failed => ExitCode::from(EXIT_FAILED),
        _ => ExitCode::SUCCESS,
    }
}

/// The ceiling of the generator, for a run that is worth it.
pub(super) fn calibrated(args: &RunArgs, plan: &Plan, stop: &Arc<AtomicBool>) -> Option<f64> {
    let wanted = !args.load.no_calibrate && run::worth_calibrating(&plan.load);
    wanted.then(|| run::calibrate(&plan.load, Arc::clone(stop))).flatten()
}

/// Says which rules of `--fail-if` hold, or cannot be told; whether there are any.
fn rules(rules: &[Rule], report: &Run) -> bool {
    let broken: Vec<String> = rules.iter().filter_map(|rule| rule.fails(report)).collect();
    for why in &broken {
        // Nobody to tell if stderr is gone; the exit code says it too.
        let _ = writeln!(stderr(), "thirst: {why}");
    }
    !broken.is_empty()
}

pub(super) fn to_json(report: &Run) -> Result<String, String> {
    serde_json::to_string(report)
        .map(|text| text + "\n")
        .map_err(|error| format!("cannot write JSON: {error}"))
}

fn announce(plan: &Plan, method: &str) -> String {
    let servers: Vec<&str> = plan.origins.iter().map(|origin| origin.name.as_str()).collect();
    let (connections, threads) = (plan.load.clients.into(), plan.load.threads.into());
    format!(
        "{} {} with {}, {}",
        method,
        servers.join(", "),
        units::many(connections, "connection"),
        units::many(threads, "thread")
    )
}

/// The text goes to stdout, or to stderr when stdout carries JSON.
fn say(args: &RunArgs, report: &Run, json_to_stdout: bool) -> Result<(), String> {
    if json_to_stdout {
        tolerate(stdout().write_all(to_json(report)?.as_bytes()))?;
    }
    if args.report.quiet {
        return Ok(());
    }
    let text = crate::search::table(report) + &text::report(report, args.report.wcat);
    tolerate(if json_to_stdout {
        stderr().write_all(text.as_bytes())
    } else {
        stdout().write_all(text.as_bytes())
    })
}

/// A reader that went away (`| head`) is no error of ours.
fn tolerate(result: std::io::Result<()>) -> Result<(), String> {
    match result {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write the report: {error}"))
        }
        _ => Ok(()),
    }
}

/// The first Ctrl-C sets the flag, the second ends the process; SIGTERM counts as one.
pub(super) fn watch_ctrl_c() -> Result<Arc<AtomicBool>, String> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Order matters: the shutdown looks at the flag before the next line's action sets it.
        signal_hook::flag::register_conditional_shutdown(signal, EXIT_INTERRUPTED, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| format!("cannot watch for Ctrl-C: {error}"))?;
    }
    Ok(stop)
}
