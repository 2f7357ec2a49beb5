//! The flags of `thirst compare`, declared once: help and parsing come from here.
//!
//! Not here: what they lead to ([`super::compare`], [`super::live`]).

use std::path::PathBuf;

use clap::Args;

use super::run_args::{ClientArgs, LoadArgs, RequestArgs};
use crate::check::Expect;
use crate::plan::Target;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
// What a run is like has no effect on runs that are stored.
#[command(mut_group("LoadArgs", |group| group.conflicts_with("runs")))]
#[command(mut_group("RequestArgs", |group| group.conflicts_with("runs")))]
#[command(mut_group("ClientArgs", |group| group.conflicts_with("runs")))]
pub(super) struct CompareArgs {
    /// Reports written by `thirst run --json`: one of A and one of B, or all of A when those of B stand after --with
    #[arg(value_name = "RUN.json", required_unless_present = "live")]
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

    /// Make the runs now, one of each in turn and in an order left to chance, and compare them
    #[arg(long, value_names = ["URL_A", "URL_B"], num_args = 2, conflicts_with_all = ["runs", "with"])]
    pub live: Vec<Target>,

    /// With --live: so many runs of each; 8 are the least for a verdict
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "runs", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub pairs: u32,

    /// With --live: keep the reports of all runs in a new or empty directory
    #[arg(long, value_name = "DIR", conflicts_with = "runs")]
    pub save: Option<PathBuf>,

    /// With --live: what every response has to be, as in `thirst run`; a status of 400 or more is a failure if no status is named
    #[arg(long, value_name = "CHECK", conflicts_with = "runs")]
    pub expect: Vec<Expect>,

    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub request: RequestArgs,
    #[command(flatten)]
    pub client: ClientArgs,
}

const HELP: &str = "\
The run is the sample. Two single runs are described and not judged; a verdict needs several of each, made in turn:

  thirst compare --live http://a:8080/ http://b:8080/ --pairs 10 -d 3s --warmup 1s --save runs
  thirst compare runs/a*.json --with runs/b*.json

With --live, Ctrl-C once ends with the present run and compares what there is, twice ends
at once. A pair of which a run is INVALID is left out.

Exit codes:
  0    the comparison was drawn, whatever it says
  1    wrong usage, a file that cannot be read or written, a stored run that is INVALID, no pair
  130  Ctrl-C twice";

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
