//! `thirst check`: scenario files, what is wrong with them, and what they ask for; nothing is sent.

use super::args::CheckArgs;
use crate::wcat::{Source, gather, outline};
use std::io::{Write, stderr, stdout};

pub(super) fn check(args: &CheckArgs) -> Result<(), String> {
    let read = |path: &std::path::PathBuf| {
        let bytes =
            std::fs::read(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
        Ok(Source::decode(&path.display().to_string(), &bytes))
    };
    let sources: Vec<Source> = args.files.iter().map(read).collect::<Result<_, String>>()?;
    let gathered =
        gather(&sources).map_err(|wrong| format!("nothing would be sent\n{}", wrong.trim_end()))?;
    for warning in &gathered.warnings {
        // Nobody to tell if stderr is gone; and a reader that went away (`| head`) is no error of ours.
        let _ = write!(stderr(), "{warning}");
    }
    let _ = write!(stdout(), "{}", outline(&gathered));
    Ok(())
}
