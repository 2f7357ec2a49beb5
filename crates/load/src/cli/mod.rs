//! The command line: flags to a plan, a run to files, an outcome to an exit code.
//!
//! Exit codes: 0 the run is VALID or SUSPECT, or the report was drawn; 1 wrong usage, a file that cannot be read or
//! written, or no connection at all; 3 the run was made but is INVALID; 4 a rule of `--fail-if` holds, or `--search` found nothing. Ctrl-C once ends the run with its report,
//! twice ends at once with 130; 5 the selftest failed.
//!
//! Not here: anything that measures.

mod args;
mod check;
mod compare;
mod compare_args;
mod content;
mod export;
mod files;
mod import;
mod keep;
mod link;
mod live;
mod null_server;
mod plan;
mod report;
mod rerun;
mod run;
mod run_args;
mod scenario;
mod scenario_files;
mod search;
mod selftest;
mod shape;
mod swallowed;
mod wcat;

use std::io::{Write, stderr};
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

/// The run was made but its numbers say nothing.
const EXIT_INVALID: u8 = 3;
/// A rule of `--fail-if` holds.
const EXIT_FAILED: u8 = 4;
/// The selftest says that the instrument is not to be believed.
const EXIT_UNFIT: u8 = 5;
/// The second Ctrl-C.
const EXIT_INTERRUPTED: i32 = 130;

/// The whole program.
pub fn main() -> ExitCode {
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let program = words.next().unwrap_or_default();
    let called = program.rsplit('/').next().unwrap_or_default().to_owned();
    let words: Vec<String> = words.collect();
    // As a link of that name, or as a subcommand: WCAT's flags are its own, and none of ours are read.
    let wcat = match words.split_first() {
        Some((first, rest)) if wcat::name(&called).is_none() => wcat::name(first).map(|name| (name, rest)),
        _ => wcat::name(&called).map(|name| (name, words.as_slice())),
    };
    if let Some((name, words)) = wcat {
        return end(wcat::command(name, words));
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout and are no error; clap knows.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(1) } else { ExitCode::SUCCESS };
        }
    };
    let outcome = match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Report(args) => report::report(args).map(|()| ExitCode::SUCCESS),
        Command::Compare(args) => compare::compare(args).map(|()| ExitCode::SUCCESS),
        Command::Check(args) => check::check(args).map(|()| ExitCode::SUCCESS),
        // They are looked for before flags are read.
        Command::Wcctl(args) => wcat::command("wcctl", &args.words),
        Command::Wcclient(args) => wcat::command("wcclient", &args.words),
        Command::WcatWsf(args) => wcat::command("wcat.wsf", &args.words),
        Command::Rerun(args) => rerun::rerun(args),
        Command::Link(args) => link::link(args).map(|()| ExitCode::SUCCESS),
        Command::Import(args) => import::import(args).map(|()| ExitCode::SUCCESS),
        Command::Export(args) => export::export(args).map(|()| ExitCode::SUCCESS),
        Command::Content(args) => content::content(args).map(|()| ExitCode::SUCCESS),
        Command::Selftest(args) => run::watch_ctrl_c().and_then(|stop| selftest::selftest(args, &stop)),
        Command::NullServer(args) => {
            run::watch_ctrl_c().and_then(|stop| null_server::serve(args, &stop)).map(|()| ExitCode::SUCCESS)
        }
    };
    end(outcome)
}

fn end(outcome: Result<ExitCode, String>) -> ExitCode {
    outcome.unwrap_or_else(|message| {
        // Nobody to tell if stderr is gone.
        let _ = writeln!(stderr(), "thirst: {}", crate::report::units::printable(&message));
        ExitCode::from(1)
    })
}
