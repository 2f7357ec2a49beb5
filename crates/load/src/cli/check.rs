//! `thirst check`: scenario files, what is wrong with them, and what they ask for; nothing is sent.

use super::args::CheckArgs;
use super::scenario_files;
use crate::wcat::outline;
use std::io::{Write, stdout};

pub(super) fn check(args: &CheckArgs) -> Result<(), String> {
    let gathered = scenario_files::read(&args.files)
        .map_err(|wrong| format!("nothing would be sent\n{}", wrong.trim_end()))?;
    // A reader that went away (`| head`) is no error of ours.
    let _ = write!(stdout(), "{}", outline(&gathered));
    Ok(())
}
