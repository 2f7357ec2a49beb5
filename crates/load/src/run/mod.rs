//! One run from plan to report: the only place that knows the order.
//!
//! Starts the threads, gathers what they tell each second, reads the servers' CPU at both ends of the measured
//! window, and puts everything into one [`Run`].
//!
//! Not here: flags, files, colours.

mod assemble;
pub mod decode;
mod progress;
mod steps;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::plan::Plan;
use crate::report::model::Run;
use crate::rule::Rule;
use crate::sender::{self, Address, Clock, Message, Outcome, Shared, Ways};
use crate::tally::Tally;
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
    /// Rules that end the run early.
    pub until: Vec<Rule>,
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
    steps: Vec<StepSeen>,
    series: Series,
    ratio: decode::Ratio,
    roots: Vec<Root>,
    notes: Vec<String>,
    same_host: bool,
    started_unix_ms: u64,
    interrupted: bool,
    /// The rule that ended it, in words.
    ended: Option<String>,
}

/// What was seen of one level of load.
#[derive(Default)]
struct StepSeen {
    tally: Tally,
    /// The servers when its measured window began, and when it ended.
    before: Option<Vec<Reading>>,
    after: Option<Vec<Reading>>,
}

/// Runs the plan. `stop` is set by Ctrl-C.
///
/// # Errors
/// [`Trouble`] when there is nothing to report.
pub fn run(plan: &Plan, wanted: &Wanted, stop: Arc<AtomicBool>) -> Result<Run, Trouble> {
    let ways = ways(plan)?;
    raise_file_limit(u64::from(plan.load.clients) + 64);
    let meant = plan.origins_meant();
    let local: Vec<&Address> = meant
        .iter()
        .filter_map(|origin| ways.addresses.get(*origin))
        .flatten()
        .filter(|address| listener::is_local(address))
        .collect();
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
        for number in 0..plan.load.threads {
            let (ways, shared, out) = (&ways, &shared, out.clone());
            let work = move || sender::work(plan, ways, number, clock, shared, out);
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
        let Watched { series, ratio, steps, ended } = watched;
        let interrupted = shared.stop.load(Ordering::Relaxed);
        Ok(Gathered {
            outcomes,
            steps,
            series,
            ratio,
            roots,
            notes,
            same_host,
            started_unix_ms,
            interrupted,
            ended,
        })
    })?;
    gathered.notes.extend(gathered.ratio.note());
    let connected = shared.connected.load(Ordering::Relaxed);
    if !connected && !gathered.interrupted {
        let why = gathered.outcomes.iter().flat_map(|outcome| outcome.whole.samples.values()).next();
        let why = why.map_or("no connection could be made", String::as_str);
        let named = meant.iter().filter_map(|origin| plan.origins.get(*origin)).map(|o| o.name.as_str());
        return Err(Trouble::Unreachable(format!(
            "cannot connect to {}: {why}; is the server running, and is the port right?",
            named.collect::<Vec<_>>().join(", ")
        )));
    }
    Ok(assemble::report(plan, wanted, gathered))
}

/// Finds the addresses of all servers, and what is needed for TLS.
fn ways(plan: &Plan) -> Result<Ways, Trouble> {
    let meant = plan.origins_meant();
    let mut ways = Ways::default();
    for (number, origin) in plan.origins.iter().enumerate() {
        match sender::resolve(origin) {
            Ok(addresses) => ways.addresses.push(addresses),
            Err(why) if meant.contains(&number) => return Err(Trouble::Unreachable(why)),
            // Only a redirect would lead there, and then it says so.
            Err(_) => ways.addresses.push(Vec::new()),
        }
    }
    if plan.origins.iter().any(|origin| origin.secure) {
        ways.tls = Some(sender::trust::config(&plan.manners.trust).map_err(Trouble::System)?);
    }
    Ok(ways)
}

fn dedup(mut pids: Vec<u32>) -> Vec<u32> {
    pids.sort_unstable();
    pids.dedup();
    pids
}

struct Watched {
    series: Series,
    ratio: decode::Ratio,
    steps: Vec<StepSeen>,
    ended: Option<String>,
}

/// Listens to the threads until the last is done; reads the servers at both ends of each window.
fn collect(
    plan: &Plan,
    wanted: &Wanted,
    roots: &[Root],
    clock: Clock,
    inbox: &Receiver<Message>,
    shared: &Shared,
) -> Watched {
    let schedule = &plan.load.schedule;
    let mut progress = progress::Progress::new(wanted.progress, schedule.clone(), plan.load.count);
    let mut series = Series::default();
    let mut ratio = decode::Ratio::default();
    let mut steps: Vec<StepSeen> = schedule.steps.iter().map(|_| StepSeen::default()).collect();
    let mut present: Option<usize> = None;
    let mut watch = watch::Watch::new(&wanted.until, schedule);
    let mut ended = None;
    loop {
        let now_ns = clock.now_ns();
        let phase = schedule.phase_at(now_ns).measured().map(usize::from);
        if phase != present {
            let reading = usage::read(roots);
            if let Some(step) = present.and_then(|step| steps.get_mut(step)) {
                step.after = Some(reading.clone());
            }
            if let Some(step) = phase.and_then(|step| steps.get_mut(step)) {
                step.before = Some(reading);
            }
            present = phase;
        }
        let wait =
            Duration::from_nanos(schedule.next_edge_ns(now_ns).saturating_sub(now_ns).min(200_000_000));
        match inbox.recv_timeout(wait) {
            Ok(Message::Slice(slice)) => {
                progress.add(&slice);
                series.add(&slice);
                watch.add(&slice);
            }
            Ok(Message::Step(number, tally)) => {
                if let Some(step) = steps.get_mut(usize::from(number)) {
                    step.tally.merge(&tally);
                }
            }
            Ok(Message::Sample(sample)) => {
                ratio.add(sample.coding, &sample.body);
                shared.samples_out.fetch_sub(1, Ordering::Relaxed);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Some((rule, value)) = watch.broken(clock.now_ns()).filter(|_| ended.is_none()) {
            ended = Some(format!("{rule} held: it was {}", rule.shown(value)));
            shared.enough.store(true, Ordering::Relaxed);
        }
        progress.show(clock.now_ns());
    }
    progress.clear();
    if let Some(step) = present.and_then(|step| steps.get_mut(step)) {
        step.after = Some(usage::read(roots));
    }
    Watched { series, ratio, steps, ended }
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
