//! `thirst compare`: the reports of two sets of runs to one comparison.
//!
//! Not here: what is compared and how ([`crate::compare`]), making runs.

use std::fs;
use std::io::{ErrorKind, Write, stderr, stdout};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::compare::{self, Comparison, Given, Wish};
use crate::report::model;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct CompareArgs {
    /// Reports written by `thirst run --json`: one of A and one of B, or all of A when those of B stand after --with
    #[arg(value_name = "RUN.json", required = true)]
    pub runs: Vec<PathBuf>,

    /// The reports of B
    #[arg(long, value_name = "RUN.json", num_args = 1..)]
    pub with: Vec<PathBuf>,

    /// Differences up to this, more or less, matter to nobody: 2%, 0.5%
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = share)]
    pub threshold: f64,

    /// Write the comparison as JSON, `-` for stdout
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    /// No table on the terminal; errors still
    #[arg(short = 'q', long)]
    pub quiet: bool,
}

const HELP: &str = "\
The run is the sample. Two single runs are described and not judged; a verdict needs several of each, made in turn:

  for i in 1 2 3 4 5 6 7 8 9 10; do
    if [ $((i % 2)) = 1 ]; then order='a b'; else order='b a'; fi
    for s in $order; do thirst run http://$s:8080/ --warmup 2s --json $s$i.json -q; done
  done
  thirst compare a?.json a10.json --with b?.json b10.json

Exit codes:
  0    the comparison was drawn, whatever it says
  1    wrong usage, a file that cannot be read or written, or a run that is INVALID";

pub(super) fn compare(args: &CompareArgs) -> Result<(), String> {
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
    let wish = Wish { threshold: args.threshold, ..Wish::default() };
    let comparison = compare::compare(&read(a)?, &read(b)?, &wish)?;
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

fn read(paths: &[PathBuf]) -> Result<Vec<Given>, String> {
    let one = |path: &PathBuf| {
        let text =
            fs::read_to_string(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
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

/// `2%` as 0.02. Without its sign a number could mean a share as well as per cent.
fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').map(str::trim).and_then(|number| number.parse::<f64>().ok());
    let fits = number.filter(|percent| (0.0..=100.0).contains(percent));
    fits.map(|percent| percent / 100.0)
        .ok_or_else(|| format!("`{text}` is not a share; write 2% or 0.5%, at most 100%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        for (text, want) in [("2%", 0.02), ("0.5 %", 0.005), ("0%", 0.0), ("100%", 1.0)] {
            assert_eq!(share(text), Ok(want), "{text}");
        }
        for text in ["2", "", "%", "-1%", "101%", "nan%", "inf%", "x%", "2%%"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
