//! `thirst run`: flags to a plan, the run, its reports.
//!
//! Files are opened before the run: a run of an hour must not end with a path that cannot be written.

use std::fs::{self, File};
use std::io::{IsTerminal, Read, Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use super::args::RunArgs;
use super::{EXIT_INTERRUPTED, EXIT_INVALID};
use crate::pacer::Schedule;
use crate::plan::{Load, Plan, Target, Wish, size, target};
use crate::report::model::Run;
use crate::report::{html, text, units};
use crate::run::{self, Trouble, Wanted};
use crate::verdict::Grade;

/// Measured when neither `-d` nor `-n` says how long.
const DEFAULT_DURATION_S: u64 = 10;
/// Of a file of URLs: some millions of them.
const URLS_MAX_BYTES: u64 = 256 << 20;

pub(super) fn run(args: &RunArgs) -> Result<ExitCode, String> {
    let wish = wish(args)?;
    let plan = plan(args, &wish)?;
    let json_to_stdout = args.json.as_deref() == Some(Path::new("-"));
    let mut json = args.json.as_deref().filter(|_| !json_to_stdout).map(create).transpose()?;
    let mut page = args.html.as_deref().map(create).transpose()?;
    let stop = watch_ctrl_c()?;
    let wanted = Wanted {
        label: args.label.clone(),
        method: wish.method().to_owned(),
        servers: args.server_pid.clone(),
        progress: !args.quiet && stderr().is_terminal(),
    };
    if wanted.progress {
        let _ = writeln!(stderr(), "  {}", announce(&plan, &wish));
    }
    let report = run::run(&plan, &wanted, stop).map_err(|trouble| match trouble {
        Trouble::Unreachable(text) | Trouble::System(text) => text,
    })?;
    if let Some(file) = json.as_mut() {
        write(file, args.json.as_deref(), &to_json(&report)?)?;
    }
    if let Some(file) = page.as_mut() {
        write(file, args.html.as_deref(), &html::page(std::slice::from_ref(&report)))?;
    }
    say(args, &report, json_to_stdout)?;
    Ok(if report.verdict.grade == Grade::Invalid { ExitCode::from(EXIT_INVALID) } else { ExitCode::SUCCESS })
}

fn wish(args: &RunArgs) -> Result<Wish, String> {
    let body = match args.body.as_deref().map(|body| body.strip_prefix('@').ok_or(body)) {
        None => None,
        Some(Err(text)) => Some(text.as_bytes().to_vec()),
        Some(Ok(path)) => {
            Some(fs::read(path).map_err(|error| format!("cannot read the body from `{path}`: {error}"))?)
        }
    };
    Ok(Wish {
        method: args.method.clone(),
        headers: args.headers.clone(),
        body,
        keep_alive: !args.no_keepalive,
    })
}

fn plan(args: &RunArgs, wish: &Wish) -> Result<Plan, String> {
    let default = args.requests.is_none().then_some(std::time::Duration::from_secs(DEFAULT_DURATION_S));
    let measure = args.duration.or(default);
    if measure.is_some_and(|measure| measure.is_zero()) {
        return Err("-d 0 measures nothing; give a time, or -n for a count".to_owned());
    }
    if args.timeout.is_zero() {
        return Err("--timeout 0 would fail every request; give a time".to_owned());
    }
    if measure.is_none() && !args.cooldown.is_zero() {
        return Err("--cooldown needs -d: a counted run ends with its last request".to_owned());
    }
    let schedule = Schedule {
        warmup_ns: size::nanos(args.warmup),
        measure_ns: measure.map(size::nanos),
        cooldown_ns: size::nanos(args.cooldown),
    };
    let cores = thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1));
    let load = Load {
        connections: args.connections,
        threads: args.threads.unwrap_or_else(|| (cores / 2).max(1)),
        count: args.requests,
        schedule,
        timeout_ns: size::nanos(args.timeout),
    };
    Plan::new(&targets(args)?, wish, load)
}

/// What to ask: the URLs of the command line, or those of a file.
fn targets(args: &RunArgs) -> Result<Vec<Target>, String> {
    let Some(path) = &args.urls_from else { return Ok(args.urls.clone()) };
    let shown = path.display();
    let mut text = String::new();
    let file = File::open(path).map_err(|error| format!("cannot read `{shown}`: {error}"))?;
    file.take(URLS_MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| format!("cannot read `{shown}`: {error}"))?;
    if text.len() as u64 > URLS_MAX_BYTES {
        return Err(format!("`{shown}` has more than {} of URLs", units::bytes(URLS_MAX_BYTES as f64)));
    }
    // Some editors begin a text with a mark of its encoding.
    let text = text.trim_start_matches('\u{feff}');
    let base = match args.urls.as_slice() {
        [] => None,
        [base] => Some(base),
        _ => return Err("with --urls one URL says whose paths they are, not several".to_owned()),
    };
    let targets = target::lines(text, base).map_err(|message| format!("{shown}:{message}"))?;
    if targets.is_empty() {
        return Err(format!("`{shown}` names nothing to ask for"));
    }
    Ok(targets)
}

fn create(path: &Path) -> Result<File, String> {
    File::create(path).map_err(|error| format!("cannot write `{}`: {error}", path.display()))
}

fn write(file: &mut File, path: Option<&Path>, text: &str) -> Result<(), String> {
    let shown = path.unwrap_or(Path::new("?")).display();
    file.write_all(text.as_bytes()).map_err(|error| format!("cannot write `{shown}`: {error}"))
}

fn to_json(report: &Run) -> Result<String, String> {
    serde_json::to_string(report)
        .map(|text| text + "\n")
        .map_err(|error| format!("cannot write JSON: {error}"))
}

fn announce(plan: &Plan, wish: &Wish) -> String {
    let servers: Vec<&str> = plan.origins.iter().map(|origin| origin.name.as_str()).collect();
    let (connections, threads) = (plan.connections.into(), plan.threads.into());
    format!(
        "{} {} with {}, {}",
        wish.method(),
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
    if args.quiet {
        return Ok(());
    }
    let text = text::report(report);
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
fn watch_ctrl_c() -> Result<Arc<AtomicBool>, String> {
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
