//! `thirst report`: stored runs to one table, and to files.

use std::io::{Write, stdout};

use super::args::ReportArgs;
use super::files;
use crate::report::model::{self, Run};
use crate::report::table;

pub(super) fn report(args: &ReportArgs) -> Result<(), String> {
    if args.hlog.is_some() {
        return Err(
            "--hlog: stored runs have percentiles and no histograms; only the run itself can write it, with \
                    `thirst run URL --hlog FILE`"
                .to_owned(),
        );
    }
    let mut runs: Vec<Run> = Vec::with_capacity(args.runs.len());
    for path in &args.runs {
        let text = files::read_text(path)?;
        runs.push(model::read(&text, &path.display().to_string())?);
    }
    for file in args.files.open(runs.len())? {
        file.write(&runs)?;
    }
    if !args.quiet {
        // A reader that went away (`| head`) is no error of ours.
        let _ = stdout().write_all(format!("\n{}", table::text(&runs)).as_bytes());
    }
    Ok(())
}
