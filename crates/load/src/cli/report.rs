//! `thirst report`: a stored run as it was reported then, several to one table, and to files.

use std::io::{Write, stdout};

use super::args::ReportArgs;
use super::files;
use crate::report::model::{self, Run};
use crate::report::{hlog, table, text};

pub(super) fn report(args: &ReportArgs) -> Result<(), String> {
    let mut runs: Vec<Run> = Vec::with_capacity(args.runs.len());
    for path in &args.runs {
        let text = files::read_text(path)?;
        runs.push(model::read(&text, &path.display().to_string())?);
    }
    // Before anything is opened: a file that is there already is worth more than an empty one.
    if args.files.hlog.is_some()
        && let (Some(path), true) = (args.runs.first(), runs.iter().any(|run| run.histograms.is_empty()))
    {
        return Err(format!("{}: {}", path.display(), hlog::NONE));
    }
    for file in args.files.open(runs.len())? {
        file.write(&runs)?;
    }
    if !args.quiet {
        // A reader that went away (`| head`) is no error of ours.
        let text = match runs.as_slice() {
            [run] => text::report(run, args.wcat),
            runs => format!("\n{}", table::text(runs)),
        };
        let _ = stdout().write_all(text.as_bytes());
    }
    Ok(())
}
