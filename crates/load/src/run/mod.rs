//! One run from plan to report: the only place that knows the order.
//!
//! Starts the threads, gathers what they tell each second, reads the servers' CPU at both ends of the measured
//! window, and puts everything into one [`Run`].
//!
//! Not here: flags, files, colours.

mod assemble;
pub mod decode;
mod progress;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::plan::Plan;
use crate::report::model::Run;
use crate::sender::{self, Address, Clock, Message, Outcome, Shared};
use crate::tally::series::Series;
use crate::usage::{self, Reading, Root, listener};

/// What the person wants besides the plan.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// A name for the run.
    pub label: Option<String>,
    /// The method, for the report.
    pub method: String,
    /// Servers to watch: name, pid.
    pub servers: Vec<(Option<String>, u32)>,
    /// Whether to show a progress line on stderr.
    pub progress: bool,
}

/// Why there is no report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// No connection could be made at all.
    Unreachable(String),
    /// The system refused something we cannot do without.
    System(String),
}

/// Everything gathered, before it is put into words.
struct Gathered {
    outcomes: Vec<Outcome>,
    series: Series,
    ratio: decode::Ratio,
    roots: Vec<Root>,
    before: Vec<Reading>,
    after: Vec<Reading>,
    notes: Vec<String>,
    same_host: bool,
    started_unix_ms: u64,
    interrupted: bool,
}

/// Runs the plan. `stop` is set by Ctrl-C.
///
/// # Errors
/// [`Trouble`] when there is nothing to report.
pub fn run(plan: &Plan, wanted: &Wanted, stop: Arc<AtomicBool>) -> Result<Run, Trouble> {
    let mut addresses = Vec::with_capacity(plan.origins.len());
    for origin in &plan.origins {
        addresses.push(sender::resolve(origin).map_err(Trouble::Unreachable)?);
    }
    raise_file_limit(u64::from(plan.connections) + 64);
    let local: Vec<&Address> =
        addresses.iter().flatten().filter(|address| listener::is_local(address)).collect();
    let holders: Vec<u32> = local.iter().flat_map(|address| listener::holders(address)).collect();
    let (roots, mut notes) = usage::roots(&wanted.servers, usage::tops(&dedup(holders)));
    if roots.is_empty() && !local.is_empty() {
        notes.push(
            "the server's process could not be seen: its CPU is not in this report (--server-pid names it)"
                .into(),
        );
    }
    let shared = Shared { stop, ..Shared::default() };
    let started_unix_ms =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let same_host = !local.is_empty();
    let mut gathered = thread::scope(|scope| {
        let clock = Clock::start();
        let (out, inbox) = mpsc::channel();
        let mut threads = Vec::new();
        for number in 0..plan.threads {
            let (addresses, shared, out) = (&addresses, &shared, out.clone());
            let work = move || sender::work(plan, addresses, number, clock, shared, out);
            let thread = thread::Builder::new().name(format!("send-{number}")).spawn_scoped(scope, work);
            match thread {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    shared.stop.store(true, Ordering::Relaxed);
                    return Err(Trouble::System(format!(
                        "cannot start thread {number}: {error}; ask for fewer with -t"
                    )));
                }
            }
        }
        drop(out);
        let watched = collect(plan, wanted, &roots, clock, &inbox, &shared);
        let mut outcomes = Vec::with_capacity(threads.len());
        for thread in threads {
            match thread.join() {
                Ok(Ok(outcome)) => outcomes.push(outcome),
                Ok(Err(error)) => return Err(Trouble::System(format!("epoll: {error}"))),
                Err(_) => {
                    return Err(Trouble::System(
                        "a sending thread ended by a defect; please report it".into(),
                    ));
                }
            }
        }
        let Watched { series, ratio, before, after } = watched;
        let interrupted = shared.stop.load(Ordering::Relaxed);
        Ok(Gathered {
            outcomes,
            series,
            ratio,
            roots,
            before,
            after,
            notes,
            same_host,
            started_unix_ms,
            interrupted,
        })
    })?;
    gathered.notes.extend(gathered.ratio.note());
    let connected = shared.connected.load(Ordering::Relaxed);
    if !connected && !gathered.interrupted {
        let why = gathered.outcomes.iter().flat_map(|outcome| outcome.tally.samples.values()).next();
        let why = why.map_or("no connection could be made", String::as_str);
        let named: Vec<&str> = plan.origins.iter().map(|origin| origin.name.as_str()).collect();
        return Err(Trouble::Unreachable(format!(
            "cannot connect to {}: {why}; is the server running, and is the port right?",
            named.join(", ")
        )));
    }
    Ok(assemble::report(plan, wanted, gathered))
}

fn dedup(mut pids: Vec<u32>) -> Vec<u32> {
    pids.sort_unstable();
    pids.dedup();
    pids
}

struct Watched {
    series: Series,
    ratio: decode::Ratio,
    before: Vec<Reading>,
    after: Vec<Reading>,
}

/// Listens to the threads until the last is done; reads the servers at both ends of the window.
fn collect(
    plan: &Plan,
    wanted: &Wanted,
    roots: &[Root],
    clock: Clock,
    inbox: &Receiver<Message>,
    shared: &Shared,
) -> Watched {
    let mut progress = progress::Progress::new(wanted.progress, plan.schedule, plan.count);
    let mut series = Series::default();
    let mut ratio = decode::Ratio::default();
    let (mut before, mut after) = (None, None);
    loop {
        let now_ns = clock.now_ns();
        if before.is_none() && now_ns >= plan.schedule.window_start_ns() {
            before = Some(usage::read(roots));
        }
        if after.is_none() && plan.schedule.window_end_ns().is_some_and(|end| now_ns >= end) {
            after = Some(usage::read(roots));
        }
        let next_ns = match (&before, &after) {
            (None, _) => plan.schedule.window_start_ns(),
            (_, None) => plan.schedule.window_end_ns().unwrap_or(u64::MAX),
            _ => u64::MAX,
        };
        let wait = Duration::from_nanos(next_ns.saturating_sub(now_ns).min(200_000_000));
        match inbox.recv_timeout(wait) {
            Ok(Message::Slice(slice)) => {
                progress.add(&slice);
                series.add(&slice);
            }
            Ok(Message::Sample(body)) => {
                ratio.add(&body);
                shared.samples_out.fetch_sub(1, Ordering::Relaxed);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        progress.show(clock.now_ns());
    }
    progress.clear();
    let read = || usage::read(roots);
    Watched { series, ratio, before: before.unwrap_or_else(read), after: after.unwrap_or_else(read) }
}

/// Each connection is a file; the soft limit is often 1024 where the hard one is far higher.
fn raise_file_limit(wanted: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let enough = limit.current.is_none_or(|current| current >= wanted);
    if !enough {
        let current = Some(limit.maximum.map_or(wanted, |maximum| maximum.min(wanted)));
        // If it is refused, connects fail with their own message.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum });
    }
}
