//! One run from plan to report: the only place that knows the order.
//!
//! Starts the threads, gathers what they tell each second, reads the servers' CPU at both ends of the measured
//! window, and puts everything into one [`Run`].
//!
//! Not here: flags, files, colours.

mod assemble;
mod bytes;
mod calibrate;
mod collect;
pub mod decode;
mod histograms;
pub(crate) mod progress;
mod step;
mod steps;
mod watch;

pub use calibrate::{calibrate, worth as worth_calibrating};

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::counters::Counters;
use crate::counters::sampler::{Sampler, Source};
use crate::counters::select::Pick;
use crate::counters::windows;
use crate::plan::Plan;
use crate::report::model::Run;
use crate::rule::Rule;
use crate::sender::{self, Address, Clock, Outcome, Shared, Ways};
use crate::tally::series::{Series, Slice};
use crate::tally::{Failure, Tally};
use crate::usage::{self, Reading, Root, link, listener};

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
    /// What is counted at the server, and beside it.
    pub counted: Counted,
    /// Whether to show progress on stderr: a line that moves on a terminal, lines every ten seconds elsewhere.
    pub progress: bool,
    /// What [`calibrate`] found, if it was asked.
    pub calibrated_per_s: Option<f64>,
}

/// What is counted at the server while it is under load, and beside it.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// Nothing is.
    pub nothing: bool,
    /// Pages of metrics, by their URL.
    pub pages: Vec<String>,
    /// What is taken from them, where it is not the usual dozen.
    pub picks: Vec<Pick>,
    /// Counters of Windows that a scenario asks for.
    pub windows: Vec<String>,
}

/// Why there is no report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// No connection could be made at all.
    Unreachable(String),
    /// The system refused something we cannot do without.
    System(String),
}

/// Everything gathered, before it is put into words; of several machines, theirs together.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Gathered {
    outcomes: Vec<Outcome>,
    steps: Vec<StepSeen>,
    series: Series,
    ratios: decode::Ratios,
    roots: Vec<Root>,
    notes: Vec<String>,
    same_host: bool,
    started_unix_ms: u64,
    interrupted: bool,
    /// The rule that ended it, in words.
    ended: Option<String>,
    /// What was counted at the server, and beside it.
    #[serde(default)]
    counters: Option<Counters>,
    /// Machines that were lost on the way, in words.
    #[serde(default)]
    lost: Vec<String>,
    /// What the interfaces carried.
    #[serde(default)]
    carried: link::Carried,
}

impl Gathered {
    /// Adds what another machine gathered.
    pub fn merge(&mut self, other: Gathered) {
        self.outcomes.extend(other.outcomes);
        if self.steps.len() < other.steps.len() {
            self.steps.resize_with(other.steps.len(), StepSeen::default);
        }
        for (mine, theirs) in self.steps.iter_mut().zip(other.steps) {
            mine.tally.merge(&theirs.tally);
            mine.before = mine.before.take().or(theirs.before);
            mine.after = mine.after.take().or(theirs.after);
        }
        other.series.points().iter().for_each(|slice| self.series.add(slice));
        self.ratios.merge(&other.ratios);
        if self.roots.is_empty() {
            self.roots = other.roots;
        }
        self.notes.extend(other.notes);
        self.notes.sort_unstable();
        self.notes.dedup();
        self.same_host |= other.same_host;
        self.started_unix_ms = match self.started_unix_ms {
            0 => other.started_unix_ms,
            mine => mine.min(other.started_unix_ms),
        };
        self.interrupted |= other.interrupted;
        self.ended = self.ended.take().or(other.ended);
        match (self.counters.as_mut(), other.counters) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (None, theirs) => self.counters = theirs,
            (Some(_), None) => {}
        }
        self.lost.extend(other.lost);
        self.carried.merge(other.carried);
    }

    /// Whether nobody counted anything.
    pub fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
    }

    /// What was lost, in words.
    pub fn losses(&self) -> &[String] {
        &self.lost
    }

    /// A machine was lost, and with it what it gathered.
    pub fn lose(&mut self, why: String) {
        self.lost.push(why);
    }
}

/// What was seen of one level of load.
#[derive(Debug, Default, Serialize, Deserialize)]
struct StepSeen {
    tally: Tally,
    /// The servers when its measured window began, and when it ended.
    before: Option<Vec<Reading>>,
    after: Option<Vec<Reading>>,
}

/// Runs the plan to its report. `stop` is set by Ctrl-C.
///
/// # Errors
/// [`Trouble`] when there is nothing to report.
pub fn run(plan: &Plan, wanted: &Wanted, stop: Arc<AtomicBool>) -> Result<Run, Trouble> {
    Ok(report(plan, wanted, gather(plan, wanted, stop, &mut |_| {})?))
}

/// Puts what was gathered into a report.
pub fn report(plan: &Plan, wanted: &Wanted, gathered: Gathered) -> Run {
    assemble::report(plan, wanted, gathered)
}

/// Runs the plan; `tell` hears of each second of each thread.
///
/// # Errors
/// [`Trouble`] when there is nothing to report.
pub fn gather(
    plan: &Plan,
    wanted: &Wanted,
    stop: Arc<AtomicBool>,
    tell: &mut dyn FnMut(&Slice),
) -> Result<Gathered, Trouble> {
    let ways = ways(plan)?;
    for source in &plan.load.sources {
        // Said before any server is blamed for it.
        std::net::UdpSocket::bind((*source, 0)).map_err(|error| {
            Trouble::System(format!(
                "cannot connect from {source}: {error}; is it an address of this machine?"
            ))
        })?;
    }
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
    let mut watch = link::Watch::new(&far(&ways, &meant));
    let shared = Shared { stop, ..Shared::default() };
    let started_unix_ms =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let same_host = !local.is_empty();
    let sources = sources(&wanted.counted, &roots, same_host).map_err(Trouble::System)?;
    let mut gathered = thread::scope(|scope| {
        let clock = Clock::start();
        let sampler = match sources.is_empty() {
            true => None,
            false => Some(Sampler::start(sources, 1, move || clock.now_ns()).map_err(Trouble::System)?),
        };
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
        let watched = collect::collect(plan, wanted, &roots, clock, &inbox, &shared, &mut watch, tell);
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
        let collect::Watched { series, ratios, steps, ended } = watched;
        let interrupted = shared.stop.load(Ordering::Relaxed);
        Ok(Gathered {
            outcomes,
            steps,
            series,
            ratios,
            roots,
            notes,
            same_host,
            started_unix_ms,
            interrupted,
            ended,
            counters: sampler.map(Sampler::finish),
            lost: Vec::new(),
            carried: link::Carried::default(),
        })
    })?;
    gathered.carried = watch.carried();
    let connected = shared.connected.load(Ordering::Relaxed);
    if !connected && !gathered.interrupted {
        let mut seen = Tally::default();
        gathered.outcomes.iter().for_each(|outcome| seen.merge(&outcome.whole));
        gathered.steps.iter().for_each(|step| seen.merge(&step.tally));
        let why = seen.samples.values().next().map_or("no connection could be made", String::as_str);
        let named = meant.iter().filter_map(|origin| plan.origins.get(*origin)).map(|o| o.name.as_str());
        let met = |failure| seen.failures(failure) > 0;
        let mend = match () {
            // What is wrong with TLS says itself what to do.
            () if met(Failure::Tls) => "",
            () if met(Failure::NoPorts) => {
                "this machine has no local port left for it: wait a minute, or connect from another address with --source-ip"
            }
            () if met(Failure::NoFiles) => {
                "this machine has no file left for it: raise the limit (ulimit -n)"
            }
            () => "is the server running, and is the port right?",
        };
        let named = named.collect::<Vec<_>>().join(", ");
        // The message names the address, which is mostly the name.
        let why = why.strip_prefix(&format!("{named}: ")).unwrap_or(why);
        let mend = if mend.is_empty() { String::new() } else { format!("; {mend}") };
        return Err(Trouble::Unreachable(format!("cannot connect to {named}: {why}{mend}")));
    }
    Ok(gathered)
}

/// What is looked at each second: the pages that were named, and if the server is here, its processes and this host.
fn sources(counted: &Counted, roots: &[Root], same_host: bool) -> Result<Vec<Source>, String> {
    if counted.nothing {
        return Ok(Vec::new());
    }
    let mut sources = Vec::new();
    // Of a server that is elsewhere this host says nothing.
    if same_host {
        sources.push(Source::Host);
    }
    if !roots.is_empty() {
        sources.push(Source::Process(roots.iter().map(|root| root.pid).collect()));
    }
    let readings: Vec<windows::Reading> = counted.windows.iter().map(|path| windows::read(path)).collect();
    for page in &counted.pages {
        let mut picks = counted.picks.clone();
        picks.extend(windows::picks(&readings));
        sources.push(Source::prometheus(page, &[], picks)?);
    }
    Ok(sources)
}

/// Finds the addresses of all servers, and what is needed for TLS.
fn ways(plan: &Plan) -> Result<Ways, Trouble> {
    let meant = plan.origins_meant();
    let mut ways = Ways::default();
    for (number, origin) in plan.origins.iter().enumerate() {
        match sender::resolve(origin, &plan.manners.known) {
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

/// The hosts of servers that are not on this one.
fn far(ways: &Ways, meant: &[usize]) -> Vec<IpAddr> {
    let all = meant.iter().filter_map(|origin| ways.addresses.get(*origin)).flatten();
    all.filter(|address| !listener::is_local(address))
        .filter_map(|address| match address {
            Address::Tcp(address) => Some(address.ip()),
            Address::Unix(_) => None,
        })
        .collect()
}

fn dedup(mut pids: Vec<u32>) -> Vec<u32> {
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// Each connection is a file; the soft limit is often 1024 where the hard one is far higher.
pub(crate) fn raise_file_limit(wanted: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let enough = limit.current.is_none_or(|current| current >= wanted);
    if !enough {
        let current = Some(limit.maximum.map_or(wanted, |maximum| maximum.min(wanted)));
        // If it is refused, connects fail with their own message.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum });
    }
}
