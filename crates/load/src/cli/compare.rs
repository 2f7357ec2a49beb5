//! `thirst compare`: two sets of runs to one comparison; they are stored, or made now ([`super::live`]).
//!
//! Not here: what is compared and how ([`crate::compare`]).

use std::fs;
use std::io::{ErrorKind, Write, stderr, stdout};
use std::path::{Path, PathBuf};

use super::compare_args::CompareArgs;
use super::live;
use crate::compare::{self, Comparison, Given, Wish};
use crate::report::model;

pub(super) fn compare(args: &CompareArgs) -> Result<(), String> {
    let wish = Wish { threshold: args.threshold, ..Wish::default() };
    let comparison = match args.live.as_slice() {
        [a, b] => {
            let made = live::make(args, a, b)?;
            let mut comparison = compare::compare(&made.a, &made.b, &wish)?;
            comparison.caveats.extend(made.caveats);
            comparison
        }
        _ => stored(args, &wish)?,
    };
    let to_stdout = args.json.as_deref() == Some(Path::new("-"));
    if let Some(path) = &args.json {
        let json =
            serde_json::to_string(&comparison).map_err(|error| format!("cannot write JSON: {error}"))? + "\n";
        if to_stdout {
            tolerate(stdout().write_all(json.as_bytes()))?;
        } else {
            fs::write(path, json).map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
        }
    }
    if args.quiet { Ok(()) } else { say(&comparison, to_stdout) }
}

fn stored(args: &CompareArgs, wish: &Wish) -> Result<Comparison, String> {
    let (a, b) = match (args.runs.as_slice(), args.with.as_slice()) {
        (all, with) if !with.is_empty() => (all, with),
        ([a, b], _) => (std::slice::from_ref(a), std::slice::from_ref(b)),
        (all, _) => {
            let given = all.len();
            return Err(format!(
                "{given} report{} and no --with: give one of A and one of B, or those of A, --with, and those of B",
                if given == 1 { "" } else { "s" }
            ));
        }
    };
    compare::compare(&read(a)?, &read(b)?, wish)
}

fn read(paths: &[PathBuf]) -> Result<Vec<Given>, String> {
    let one = |path: &PathBuf| {
        let text = super::files::read_text(path)?;
        let name = path.display().to_string();
        model::read(&text, &name).map(|run| Given { name, run })
    };
    paths.iter().map(one).collect()
}

/// The text goes to stdout, or to stderr when stdout carries JSON.
fn say(comparison: &Comparison, to_stderr: bool) -> Result<(), String> {
    let text = compare::text(comparison);
    tolerate(if to_stderr {
        stderr().write_all(text.as_bytes())
    } else {
        stdout().write_all(text.as_bytes())
    })
}

/// A reader that went away (`| head`) is no error of ours.
fn tolerate(result: std::io::Result<()>) -> Result<(), String> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("cannot write the comparison: {error}"))
        }
        _ => Ok(()),
    }
}
