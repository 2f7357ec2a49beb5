//! `thirst report`: stored runs to one table and one page.

use std::fs;
use std::io::{Write, stdout};

use super::args::ReportArgs;
use crate::report::model::{self, Run};
use crate::report::{html, table};

pub(super) fn report(args: &ReportArgs) -> Result<(), String> {
    let mut runs: Vec<Run> = Vec::with_capacity(args.runs.len());
    for path in &args.runs {
        let text =
            fs::read_to_string(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
        runs.push(model::read(&text, &path.display().to_string())?);
    }
    if let Some(path) = &args.html {
        fs::write(path, html::page(&runs))
            .map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
    }
    if !args.quiet {
        // A reader that went away (`| head`) is no error of ours.
        let _ = stdout().write_all(format!("\n{}", table::text(&runs)).as_bytes());
    }
    Ok(())
}
