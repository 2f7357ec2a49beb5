//! `thirst check`: scenario files, what is wrong with them, and what they ask for; nothing is sent.
//!
//! A plan is made of them as for a run, so that what passes here is not refused there.

use super::args::CheckArgs;
use super::scenario;
use crate::job::{Job, Machine};
use crate::report::units::printable;
use crate::wcat::{gather, outline};
use std::io::{Write, stdout};

pub(super) fn check(args: &CheckArgs) -> Result<(), String> {
    let mut job = Job::default();
    let wrong = |why: String| {
        let why = why.strip_prefix("nothing was sent\n").unwrap_or(&why).trim_end().to_owned();
        format!("nothing would be sent\n{}", printable(&why))
    };
    scenario::read(&args.files, &mut job).map_err(wrong)?;
    if gather(&job.sources).map_err(wrong)?.settings.servers.is_empty() {
        // Who runs it says which.
        job.servers.push("localhost".to_owned());
    }
    let understood = scenario::understood(&job, &Machine::All).map_err(wrong)?;
    // A reader that went away (`| head`) is no error of ours.
    let _ = write!(stdout(), "{}", printable(&outline(&understood.gathered)));
    Ok(())
}
