//! The instrument held against a server of known behaviour, on this machine, now: `thirst selftest`.
//!
//! Two questions. What does the instrument add to a time that is known, and how late does it send? And does it see a server
//! that stalls, or does it wait with it and call what it did not send no delay (coordinated omission)?
//!
//! Shell: starts servers and runs. Not here: what the numbers have to be ([`judge`]), the text ([`text`]).

mod judge;
mod text;
mod timer;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use judge::{Check, Delay, Stalled, delay, stalled};
pub use text::{of_delay, of_stall};

use crate::null_server::{Manner, NullServer, Served, Stall};
use crate::pacer::{Schedule, Spacing};
use crate::plan::{Full, Load, Pick, Plan, Shape, Wish};
use crate::report::model::Run;
use crate::run::{self, Trouble, Wanted};

/// What the server waits before it answers.
const DELAY: Duration = Duration::from_millis(2);
/// Requests per second.
const RATE: f64 = 500.0;
/// Requests in flight at most: more than come in a stall.
const IN_FLIGHT: u32 = 1000;
/// Connections of the closed loop.
const CLIENTS: u32 = 10;
/// The run, the moment at which the server stalls, and for how long.
const STALL_RUN: Duration = Duration::from_secs(4);
const STALL_AFTER: Duration = Duration::from_millis(1500);
const STALL_LASTS: Duration = Duration::from_secs(1);
/// How long the known delay is measured, and the bare timer before and after.
const DELAY_RUN: Duration = Duration::from_secs(2);
const TIMER_RUN: Duration = Duration::from_secs(1);
/// A server of ours and we ourselves have a file for each connection.
const FILES: u64 = 4096;

/// A run against a known delay.
///
/// # Errors
/// A sentence for the person at the command line.
pub fn known_delay(stop: &Arc<AtomicBool>) -> Result<Delay, String> {
    let mut spin_ns = timer::lateness_ns(RATE, TIMER_RUN);
    let (run, served) = measured(None, open(DELAY_RUN), stop)?;
    spin_ns.extend(timer::lateness_ns(RATE, TIMER_RUN));
    let mut late_ns = served.late_ns;
    let missing = || "the run measured nothing; please report it".to_owned();
    Ok(Delay {
        rate: RATE,
        delay_us: DELAY.as_secs_f64() * 1e6,
        late_us: timer::quantile_us(&mut late_ns, 0.5),
        due: (RATE * DELAY_RUN.as_secs_f64()) as u64,
        answers: run.responses,
        spin: judge::Spin {
            p50_us: timer::quantile_us(&mut spin_ns, 0.5),
            p99_us: timer::quantile_us(&mut spin_ns, 0.99),
            max_us: timer::quantile_us(&mut spin_ns, 1.0),
        },
        response: run.latency_us.response.ok_or_else(missing)?,
        lag: run.latency_us.send_lag.ok_or_else(missing)?,
    })
}

/// An open and a closed loop against a server that stalls.
///
/// # Errors
/// A sentence for the person at the command line.
pub fn stall(stop: &Arc<AtomicBool>) -> Result<Stalled, String> {
    run::raise_file_limit(FILES);
    let stall = Some(Stall { after: STALL_AFTER, lasts: STALL_LASTS });
    let (of_open, _) = measured(stall, open(STALL_RUN), stop)?;
    let (of_closed, _) = measured(stall, closed(STALL_RUN), stop)?;
    let missing = || "the run measured nothing; please report it".to_owned();
    Ok(Stalled {
        rate: RATE,
        window_s: STALL_RUN.as_secs_f64(),
        stall_s: STALL_LASTS.as_secs_f64(),
        delay_us: DELAY.as_secs_f64() * 1e6,
        open: of_open.latency_us.response.ok_or_else(missing)?,
        clients: CLIENTS,
        closed: of_closed.latency_us.last_byte.ok_or_else(missing)?,
    })
}

fn measured(stall: Option<Stall>, load: Load, stop: &Arc<AtomicBool>) -> Result<(Run, Served), String> {
    let refused = |error: io::Error| format!("cannot start a server on 127.0.0.1: {error}");
    let server = NullServer::start(Manner { body_bytes: 1000, delay: DELAY, stall }).map_err(refused)?;
    let target = server.url().parse()?;
    let plan = Plan::of_urls(&[target], &[], Pick::InTurn, &Wish::default(), load)?;
    let run = run::run(&plan, &Wanted::default(), Arc::clone(stop)).map_err(|trouble| match trouble {
        Trouble::Unreachable(text) | Trouble::System(text) => text,
    })?;
    if stop.load(Ordering::Relaxed) {
        return Err("ended by Ctrl-C".to_owned());
    }
    Ok((run, server.stop().map_err(refused)?))
}

fn open(window: Duration) -> Load {
    let shape = Shape::Open { spacing: Spacing::Constant, full: Full::Queue };
    Load { shape, ..Load::closed(IN_FLIGHT, 1, None, schedule(RATE, window)) }
}

fn closed(window: Duration) -> Load {
    Load::closed(CLIENTS, 1, None, schedule(f64::from(CLIENTS), window))
}

fn schedule(level: f64, window: Duration) -> Schedule {
    Schedule::plain(level, 0, Some(u64::try_from(window.as_nanos()).unwrap_or(u64::MAX)), 0)
}
