//! What all cores share, what each core has, and the configuration in force.

mod control;
mod core;
mod gates;
mod places;
mod snapshot;
mod targets;
mod users;

pub use self::control::{Others, Overrides, cache_settings, destination};
pub use self::core::{Core, Job};
pub use self::gates::Gates;
pub use self::places::{Place, Places};
pub use self::snapshot::Snapshot;
pub use self::targets::{FilesTarget, Scripts, Target};
pub use self::users::{Checked, PER_CLIENT, WAIT_MAX, WAITING_PER_SITE};

use crate::compress::Workers;
use crate::log::AccessLog;
use crate::metrics::CoreCounters;
use arc_swap::ArcSwap;
use samovar_cache::Cache;
use samovar_rules::{HostStanding, LearnedHosts};
use samovar_trace::{Record, Ring};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::mpsc::UnboundedSender;

/// What all cores share.
pub struct Shared {
    /// The cache.
    pub cache: Arc<Cache>,
    /// Threads that compress what is stored.
    pub compress: Workers,
    /// The configuration in force.
    current: ArcSwap<Snapshot>,
    /// Its epoch, apart, for the hot tier.
    epoch: Arc<AtomicU64>,
    /// Counters by core.
    pub counters: Vec<Arc<CoreCounters>>,
    /// Clients' connections, counted.
    pub places: Arc<Places>,
    /// Hosts that default sites have served and no site names.
    hosts: Mutex<LearnedHosts>,
    /// What rules count and remember of those who ask.
    pub gates: Gates,
    /// The last records by core.
    rings: Vec<Mutex<Ring>>,
    /// The access log.
    pub access_log: Arc<AccessLog>,
    ids: AtomicU64,
    stopping: AtomicBool,
    /// Doors to the cores, for requests that come from the admin side.
    pub doors: OnceLock<Vec<UnboundedSender<Job>>>,
    /// The configuration's text and where it came from; one edit or reload at a time.
    pub source: Mutex<Source>,
    /// What the command line said.
    pub overrides: Overrides,
    /// When the process started, ms since the Unix epoch.
    pub started_wall_ms: u64,
    /// Addresses listened on, as printed.
    pub addresses: OnceLock<Vec<String>>,
}

/// The configuration as text.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file, if there is one.
    pub path: Option<std::path::PathBuf>,
    /// The text in force.
    pub text: String,
}

impl Shared {
    /// The state of a server with `cores` cores.
    pub fn new(
        cores: usize,
        snapshot: Snapshot,
        cache: Arc<Cache>,
        access_log: Arc<AccessLog>,
        source: Source,
        overrides: Overrides,
    ) -> Arc<Shared> {
        let epoch = Arc::new(AtomicU64::new(snapshot.epoch));
        let log = &snapshot.settings.log;
        // Each core keeps its share.
        let (records, bytes) =
            ((log.traces / cores.max(1)).max(1), snapshot.settings.traces_bytes() / cores.max(1));
        let compressing = snapshot.settings.compression.workers.unwrap_or_else(|| cores.div_ceil(4));
        Arc::new(Shared {
            compress: Workers::new(compressing, &cache),
            cache,
            current: ArcSwap::from_pointee(snapshot),
            epoch,
            counters: (0..cores).map(|_| Arc::default()).collect(),
            rings: (0..cores).map(|_| Mutex::new(Ring::new(records, bytes))).collect(),
            places: Arc::default(),
            hosts: Mutex::default(),
            gates: Gates::default(),
            access_log,
            // Ids of two runs should not meet in a log: the start time leads, the count follows.
            ids: AtomicU64::new((crate::clock::wall_ms() & 0xffff_ffff) << 32),
            stopping: AtomicBool::new(false),
            doors: OnceLock::new(),
            source: Mutex::new(source),
            overrides,
            started_wall_ms: crate::clock::wall_ms(),
            addresses: OnceLock::new(),
        })
    }

    /// What is known of a host that no site names; `uses` if a client asks for it.
    pub fn host_standing(&self, host: &str, now_ms: u64, uses: bool) -> HostStanding {
        let places = self.snapshot().settings.limits.learned_hosts;
        match uses {
            true => self.learned_hosts().standing(host, places, now_ms),
            false => self.learned_hosts().foreseen(host, places, now_ms),
        }
    }

    /// Whether a host that no site names was learned.
    pub fn knows_host(&self, host: &str) -> bool {
        self.learned_hosts().knows(host)
    }

    /// Learns a host that no site names, if there is a place for it.
    pub fn learn_host(&self, host: &str, now_ms: u64) -> bool {
        let places = self.snapshot().settings.limits.learned_hosts;
        self.learned_hosts().learn(host, places, now_ms)
    }

    /// The hosts that no site names: those learned, and before them the one asked for last.
    pub fn learned_hosts(&self) -> MutexGuard<'_, LearnedHosts> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The configuration in force.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// The epoch in force.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Puts another configuration in force, whole. Hot answers of the old one fall to the engine from now on.
    pub fn replace(&self, snapshot: Snapshot) {
        let epoch = snapshot.epoch;
        self.current.store(Arc::new(snapshot));
        self.epoch.store(epoch, Ordering::Release);
    }

    /// The configuration's text in force.
    pub fn text(&self) -> String {
        lock(&self.source).text.clone()
    }

    /// The name of the configuration's file, if there is one.
    pub fn file(&self) -> Option<String> {
        lock(&self.source).path.as_ref().map(|path| path.display().to_string())
    }

    /// About how many bytes the records take.
    pub fn traces_bytes(&self) -> u64 {
        self.rings.iter().map(|ring| lock(ring).bytes() as u64).sum()
    }

    /// About how many bytes those of one core take.
    pub fn traces_bytes_of(&self, core: usize) -> u64 {
        self.rings.get(core).map_or(0, |ring| lock(ring).bytes() as u64)
    }

    /// Records held.
    pub fn traces(&self) -> u64 {
        self.rings.iter().map(|ring| lock(ring).len() as u64).sum()
    }

    /// A new request's id.
    pub fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// True once the server is stopping.
    pub fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// From now on the server is stopping.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Keeps a record.
    pub fn keep(&self, core: usize, record: Arc<Record>) {
        if let Some(ring) = self.rings.get(core) {
            let slow_us = self.current.load().settings.log.slow_us;
            let notable = record.is_notable(slow_us);
            lock(ring).push(record, notable);
        }
    }

    /// The record of a request.
    pub fn record(&self, id: u64) -> Option<Arc<Record>> {
        self.rings.iter().find_map(|ring| lock(ring).get(id))
    }

    /// Asks every core's ring; newest first over all.
    pub fn records(&self, limit: usize, ask: impl Fn(&Ring) -> Vec<Arc<Record>>) -> Vec<Arc<Record>> {
        let mut all: Vec<_> = self.rings.iter().flat_map(|ring| ask(&lock(ring))).collect();
        all.sort_by_key(|r| std::cmp::Reverse((r.at_wall_ms, r.id)));
        all.truncate(limit);
        all
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
