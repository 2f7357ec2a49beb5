//! `thirst selftest`: the instrument held against a server of known behaviour.
//!
//! Not here: what is measured and what it has to be ([`crate::selftest`]).

use std::io::{Write, stdout};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;

use super::EXIT_UNFIT;
use crate::selftest::{self, Check};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct SelftestArgs {
    /// Does a server that stops answering for a second show in the times?
    #[arg(long)]
    pub stall: bool,
}

const HELP: &str = "\
Without --stall: what the instrument adds to a time that is known, and how late it sends beside a bare spin timer. Other
programs on the same cores disturb both; three attempts are made, and the last is shown.

Exit codes:
  0    all that is asked of the instrument was so
  1    it could not be tried
  5    a line says FAIL: do not believe what this machine measures just now";

/// Noise passes; a defect does not.
const ATTEMPTS: u32 = 3;

pub(super) fn selftest(args: &SelftestArgs, stop: &Arc<AtomicBool>) -> Result<ExitCode, String> {
    let (text, fit) = if args.stall { stall(stop)? } else { delay(stop)? };
    // A reader that went away (`| head`) is no error of ours.
    let _ = stdout().write_all(text.as_bytes());
    Ok(if fit { ExitCode::SUCCESS } else { ExitCode::from(EXIT_UNFIT) })
}

fn stall(stop: &Arc<AtomicBool>) -> Result<(String, bool), String> {
    let runs = selftest::stall(stop)?;
    let checks = selftest::stalled(&runs);
    Ok((selftest::of_stall(&runs, &checks), fit(&checks)))
}

fn delay(stop: &Arc<AtomicBool>) -> Result<(String, bool), String> {
    let mut attempt = 1;
    loop {
        let run = selftest::known_delay(stop)?;
        let checks = selftest::delay(&run);
        if fit(&checks) || attempt == ATTEMPTS {
            let mut text = selftest::of_delay(&run, &checks);
            if attempt > 1 {
                text.push_str(&format!(
                    "\n  Attempt {attempt} of {ATTEMPTS}: something else uses these cores.\n"
                ));
            }
            return Ok((text, fit(&checks)));
        }
        attempt += 1;
    }
}

fn fit(checks: &[Check]) -> bool {
    checks.iter().all(|check| check.ok)
}
