//! Reads the sources of counters at whole seconds of a run's clock, each in a thread of its own: shell.
//!
//! The threads share nothing with those that send but the cores; a page that is slow makes gaps in its own series
//! only. A reading that fails, or takes longer than the interval, so that nobody knows of which second it is, is a
//! gap and said at the end. Not here: what is read ([`super::probe`], [`super::scrape`]), what becomes of it
//! ([`super::keep`]).

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::keep::{self, Keeper, Moment};
use super::probe::{self, Watch};
use super::prometheus;
use super::scrape::Page;
use super::select::{Pick, Selection};
use super::{Counters, Value};

/// Where counters are read.
#[derive(Clone, Debug)]
pub enum Source {
    /// This host, from /proc.
    Host,
    /// A server's processes and all below them, from /proc. The first of these sources is `server …`, the next
    /// `server 2 …`.
    Process(Vec<u32>),
    /// A page for Prometheus.
    Prometheus {
        /// The page.
        page: Page,
        /// What is kept of it; if nothing is expected, [`super::select`] chooses.
        wanted: Vec<Pick>,
    },
}

impl Source {
    /// A page by its URL, `http://…` or `unix:…`; without a path `/metrics`. `fields` are sent besides ours.
    ///
    /// # Errors
    /// A sentence for the person at the command line.
    pub fn prometheus(url: &str, fields: &[(String, String)], wanted: Vec<Pick>) -> Result<Source, String> {
        Ok(Source::Prometheus { page: Page::new(url, fields)?, wanted })
    }
}

/// The threads that read.
#[derive(Debug)]
pub struct Sampler {
    watchers: Vec<Watcher>,
}

#[derive(Debug)]
struct Watcher {
    name: String,
    /// A word ends it after a last reading; being dropped ends it at once.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<Kept>>,
}

type Kept = (Keeper, Vec<String>);

impl Sampler {
    /// Begins to read every so many seconds of the clock, which says the nanoseconds since the start of the run.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start<F>(sources: Vec<Source>, interval_s: u64, now_ns: F) -> Result<Sampler, String>
    where
        F: Fn() -> u64 + Clone + Send + 'static,
    {
        let interval_s = interval_s.max(1);
        Sampler::with_beat(
            sources,
            Beat { interval_s, tick_ns: interval_s.saturating_mul(1_000_000_000) },
            now_ns,
        )
    }

    fn with_beat<F>(sources: Vec<Source>, beat: Beat, now_ns: F) -> Result<Sampler, String>
    where
        F: Fn() -> u64 + Clone + Send + 'static,
    {
        let mut sampler = Sampler { watchers: Vec::new() };
        let mut servers = 0;
        for source in sources {
            servers += usize::from(matches!(source, Source::Process(_)));
            let (name, mut probe) = Probe::new(source, servers);
            let (stop, told) = mpsc::channel();
            let now_ns = now_ns.clone();
            let thread = thread::Builder::new()
                .name("counters".to_owned())
                .spawn(move || watch(&mut probe, beat, &now_ns, &told))
                .map_err(|error| format!("cannot start a thread to read counters: {error}"))?;
            sampler.watchers.push(Watcher { name, stop: Some(stop), thread: Some(thread) });
        }
        Ok(sampler)
    }

    /// Ends with a last reading, and puts together what was read. A page that does not answer delays it by no more
    /// than twice its patience.
    pub fn finish(mut self) -> Counters {
        for stop in self.watchers.iter().filter_map(|watcher| watcher.stop.as_ref()) {
            // One that has ended by a defect is told below.
            let _ = stop.send(());
        }
        let mut parts = Vec::new();
        let mut lost = Vec::new();
        for watcher in &mut self.watchers {
            match watcher.thread.take().map(JoinHandle::join) {
                Some(Ok((keeper, notes))) => {
                    let notes = notes.into_iter().map(|note| format!("{}: {note}", watcher.name)).collect();
                    parts.push((watcher.name.clone(), keeper, notes));
                }
                _ => lost.push(format!("{}: its thread ended by a defect; please report it", watcher.name)),
            }
        }
        let mut counters = keep::gather(parts);
        counters.notes.extend(lost);
        counters
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        for watcher in &mut self.watchers {
            watcher.stop = None;
        }
        for thread in self.watchers.iter_mut().filter_map(|watcher| watcher.thread.take()) {
            let _ = thread.join();
        }
    }
}

/// When readings are due. In tests seconds are shorter.
#[derive(Clone, Copy, Debug)]
struct Beat {
    interval_s: u64,
    tick_ns: u64,
}

impl Beat {
    /// The next whole tick; one that has just begun counts as it.
    fn next(self, now_ns: u64) -> u64 {
        let tick = now_ns / self.tick_ns.max(1);
        if now_ns % self.tick_ns.max(1) <= self.tick_ns / 10 { tick } else { tick + 1 }
    }

    fn wait(self, tick: u64, now_ns: u64) -> Duration {
        Duration::from_nanos(tick.saturating_mul(self.tick_ns).saturating_sub(now_ns))
    }

    fn second(self, tick: u64) -> u64 {
        tick.saturating_mul(self.interval_s)
    }

    /// Whether a last reading is worth it: of much less than an interval it would say little but noise.
    fn is_worth(self, last_ns: u64, now_ns: u64) -> bool {
        now_ns.saturating_sub(last_ns) >= self.tick_ns / 2
    }

    /// Whether what took so long is of no second.
    fn is_late(self, began_ns: u64, ended_ns: u64) -> bool {
        ended_ns.saturating_sub(began_ns) > self.tick_ns
    }
}

/// What is missing of one source.
#[derive(Debug, Default)]
struct Missing {
    readings: u64,
    missed: u64,
    first: Option<(u64, String)>,
}

impl Missing {
    fn add(&mut self, second: u64, why: String) {
        self.missed += 1;
        self.first.get_or_insert((second, why));
    }

    fn note(self) -> Option<String> {
        let (second, why) = self.first?;
        Some(match self.missed {
            missed if missed == self.readings => format!("no reading at all: {why}"),
            missed => format!(
                "{missed} of {} readings are missing, the first at second {second}: {why}",
                self.readings
            ),
        })
    }
}

/// One thread: reads until it is told to stop.
fn watch(probe: &mut Probe, beat: Beat, now_ns: &impl Fn() -> u64, told: &Receiver<()>) -> Kept {
    let mut keeper = Keeper::new(beat.interval_s);
    let mut missing = Missing::default();
    let mut tick = beat.next(now_ns());
    // When the last reading was, if there was one.
    let mut last_ns = None;
    loop {
        let ends = match told.recv_timeout(beat.wait(tick, now_ns())) {
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => break,
            Ok(()) => true,
        };
        let began_ns = now_ns();
        if ends && !last_ns.is_some_and(|last_ns| beat.is_worth(last_ns, began_ns)) {
            break;
        }
        if ends {
            // What stands now is of the second that is not over yet.
            tick = tick.min(began_ns / beat.tick_ns.max(1));
        }
        let read = probe.read();
        let ended_ns = now_ns();
        let second = beat.second(tick);
        missing.readings += 1;
        last_ns = match read {
            Ok(_) if beat.is_late(began_ns, ended_ns) => {
                let took_s = (ended_ns - began_ns) as f64 / 1e9;
                missing.add(
                    second,
                    format!("it took {took_s:.1} s, longer than the interval; a longer one has room for it"),
                );
                None
            }
            Ok(values) => {
                // The numbers were gathered somewhere in between.
                let at_ns = began_ns + (ended_ns - began_ns) / 2;
                keeper.take(Moment { second, at_ns }, values);
                Some(at_ns)
            }
            Err(why) => {
                missing.add(second, why);
                None
            }
        };
        if ends {
            break;
        }
        let due = beat.next(now_ns()).max(tick + 1);
        for passed in tick + 1..due {
            missing.readings += 1;
            missing.add(beat.second(passed), "the reading before it took too long".to_owned());
        }
        tick = due;
    }
    let mut notes = probe.end(&mut keeper);
    notes.extend(missing.note());
    (keeper, notes)
}

/// What reads a source, time after time.
enum Probe {
    Host,
    Process(Watch),
    Page(Box<Pages>),
}

/// A page, time after time.
struct Pages {
    page: Page,
    selection: Selection,
    /// Whether there was a text at all.
    seen: bool,
    malformed: Option<String>,
}

impl Probe {
    /// With the name of the source.
    fn new(source: Source, server: usize) -> (String, Probe) {
        match source {
            Source::Host => ("/proc".to_owned(), Probe::Host),
            Source::Process(pids) => {
                let names: Vec<String> = pids.iter().map(|pid| format!("/proc/{pid}")).collect();
                (names.join(" "), Probe::Process(Watch::new(pids, server)))
            }
            Source::Prometheus { page, wanted } => {
                let selection = Selection::new(wanted);
                let name = page.url.clone();
                (name, Probe::Page(Box::new(Pages { page, selection, seen: false, malformed: None })))
            }
        }
    }

    fn read(&mut self) -> Result<Vec<Value>, String> {
        match self {
            Probe::Host => probe::host(),
            Probe::Process(watch) => watch.read(),
            Probe::Page(pages) => pages.read(),
        }
    }

    /// Lets go of what need not be kept; what is to be said.
    fn end(&mut self, keeper: &mut Keeper) -> Vec<String> {
        let Probe::Page(pages) = self else { return Vec::new() };
        keeper.leave_out(&pages.selection.superfluous(&keeper.grown()));
        let mut notes = if pages.seen { pages.selection.notes() } else { Vec::new() };
        notes.extend(pages.malformed.take());
        notes
    }
}

impl Pages {
    fn read(&mut self) -> Result<Vec<Value>, String> {
        let page = self.page.fetch()?;
        let text = prometheus::parse(&page).map_err(|why| why.to_string())?;
        if text.samples.is_empty() {
            return Err(match text.first_malformed {
                Some((line, why)) => format!("the page is no text for Prometheus: line {line}: {why}"),
                None => "the page has no metrics".to_owned(),
            });
        }
        if let Some((line, why)) = text.first_malformed {
            let told = || {
                format!("{} lines of the page are left out, the first is line {line}: {why}", text.malformed)
            };
            self.malformed.get_or_insert_with(told);
        }
        self.seen = true;
        Ok(self.selection.values(&text))
    }
}

#[cfg(test)]
mod tests;
