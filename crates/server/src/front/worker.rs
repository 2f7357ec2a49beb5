//! One serving core: a thread, a current-thread runtime, its share of the connections.

use super::accept::Listener;
use super::listen::listen;
use super::side::{Side, bounds, connection, hot_listener, limits};
use super::tunnel;
use crate::clock;
use crate::compress::scheduled_us;
use crate::pipeline::{self, Connection};
use crate::state::{Core, Job, Shared};
use http::StatusCode;
use http_body_util::BodyExt;
use samovar_hot::{End, Hub, Layer, Wire};
use samovar_reason::{Explain, Reject, Upgrade};
use socket2::Socket;
use std::cell::RefCell;
use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_local};

/// How often a core looks for timeouts and changes of the configuration.
const SWEEP: Duration = Duration::from_millis(100);

/// A running server's threads.
pub struct Running {
    threads: Vec<std::thread::JoinHandle<()>>,
    stop: watch::Sender<bool>,
}

impl Running {
    /// Stops accepting, lets requests under way finish within the limit, and ends the threads.
    pub fn stop(self) {
        let _ = self.stop.send(true);
        for thread in self.threads {
            // A core that panicked has told of it already.
            let _ = thread.join();
        }
    }
}

/// Starts the cores.
///
/// # Errors
/// If a thread cannot be started.
pub fn start(shared: &Arc<Shared>, listeners: &mut [Listener], cores: usize) -> Result<Running, String> {
    let (stop, stopping) = watch::channel(false);
    let mut doors = Vec::with_capacity(cores);
    let mut threads = Vec::with_capacity(cores);
    for index in 0..cores {
        let (door, jobs) = unbounded_channel();
        doors.push(door);
        let mine: Vec<Mine> = listeners
            .iter_mut()
            .filter_map(|l| {
                Some(Mine { id: l.id, port: l.port, tls: l.tls, unix: l.path.is_some(), socket: l.take()? })
            })
            .collect();
        let (shared, stopping) = (Arc::clone(shared), stopping.clone());
        let thread = std::thread::Builder::new()
            .name(format!("core-{index}"))
            .spawn(move || run(index, shared, mine, jobs, stopping))
            .map_err(|e| format!("start a serving thread: {e}"))?;
        threads.push(thread);
    }
    let _ = shared.doors.set(doors);
    Ok(Running { threads, stop })
}

/// A listening socket of this core's.
pub(super) struct Mine {
    id: u32,
    port: u16,
    tls: bool,
    pub(super) unix: bool,
    pub(super) socket: Socket,
}

/// How often it is said that connections were turned away, in rounds of upkeep: 10 s.
const TELL_TICKS: u64 = 100;

fn run(
    index: usize,
    shared: Arc<Shared>,
    listeners: Vec<Mine>,
    jobs: UnboundedReceiver<Job>,
    stopping: watch::Receiver<bool>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build_local(Default::default());
    match runtime {
        Ok(runtime) => {
            runtime.block_on(core(index, shared, listeners, jobs, stopping));
            // A name that is still being looked up, on a thread of its own, takes as long as it likes: the stop does not wait.
            runtime.shutdown_background();
        }
        Err(error) => crate::say!("samovar: core {index} cannot start: {error}"),
    }
}

async fn core(
    index: usize,
    shared: Arc<Shared>,
    listeners: Vec<Mine>,
    jobs: UnboundedReceiver<Job>,
    mut stopping: watch::Receiver<bool>,
) {
    let core = Core::new(index, shared);
    let hub = hub_of(&core);
    let mut listening = Vec::with_capacity(listeners.len());
    for mine in listeners {
        let door = Door {
            core: Rc::clone(&core),
            hub: Rc::clone(&hub),
            id: mine.id,
            port: mine.port,
            tls: mine.tls,
        };
        listening.push(spawn_local(listen(door, mine, stopping.clone())));
    }
    spawn_local(live_jobs(Rc::clone(&core), jobs));
    let upkeep = spawn_local(upkeep(Rc::clone(&core), Rc::clone(&hub)));
    // An error means that the sender is gone, which is a stop as well.
    let _ = stopping.wait_for(|stop| *stop).await;
    drain(&core, &hub, listening).await;
    upkeep.abort();
}

/// Of the connections that are there nobody is to lose a request: those that the kernel holds are accepted first, what comes
/// on the others is served with `Connection: close`, and idle ones are closed after a grace for what is on its way.
async fn drain(core: &Core, hub: &Hub, listening: Vec<JoinHandle<()>>) {
    hub.drain();
    core.leaving.notify_waiters();
    let limits = core.shared.snapshot();
    let limits = &limits.settings.limits;
    let drained = async {
        for listener in listening {
            // One that panicked has told of it, and accepts nothing more.
            let _ = listener.await;
        }
        while core.connections() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let close_idle = async {
        tokio::time::sleep(limits.stop_grace).await;
        hub.close_idle();
        core.idle_over.notify_waiters();
        std::future::pending().await
    };
    let both = async {
        tokio::select! {
            () = drained => {}
            () = close_idle => {}
        }
    };
    if tokio::time::timeout(limits.stop_timeout, both).await.is_err() {
        let (index, busy) = (core.index, core.connections());
        crate::say!("samovar: core {index}: {busy} connections were still busy and are cut");
    }
}

/// A core's hub, made and known to it.
pub(super) fn hub_of(core: &Rc<Core>) -> Rc<Hub> {
    let snapshot = core.shared.snapshot();
    let side = Rc::new(Side { core: Rc::clone(core) });
    let hub =
        Hub::with(side, limits(&snapshot.settings, core.shared.counters.len()), bounds(&snapshot.settings));
    let _ = core.hub.set(Rc::clone(&hub));
    hub
}

/// Timeouts, hot answers nobody wants, idle upstream sockets, a changed configuration's limits, and what the core takes of
/// the budget beside the cache.
pub(super) async fn upkeep(core: Rc<Core>, hub: Rc<Hub>) {
    let mut epoch = core.shared.epoch();
    let mut tick = tokio::time::interval(SWEEP);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut ticks = 0u64;
    let mut beside = core.shared.cache.budget().beside();
    let mut turned_away = TurnedAway::default();
    loop {
        tick.tick().await;
        hub.sweep();
        core.load.look(scheduled_us(), clock::mono_us());
        core.counters.busy_percent.set(core.load.busy_percent());
        core.counters.coding_streams.set(core.load.streams());
        ticks += 1;
        if core.shared.epoch() != epoch {
            let snapshot = core.shared.snapshot();
            epoch = snapshot.epoch;
            hub.set_limits(limits(&snapshot.settings, core.shared.counters.len()));
            hub.set_bounds(bounds(&snapshot.settings));
        }
        let connections = hub.connections_bytes() + core.tunnels_bytes.get();
        core.counters.upgraded.set(core.tunnels.get() as u64);
        core.counters.connections_bytes.set(connections);
        core.counters.heads_bytes.set(hub.heads_bytes());
        {
            let map = hub.map();
            core.counters.hot_entries.set(map.entries() as u64);
            core.counters.hot_heads_bytes.set(map.bytes() as u64);
            core.counters.hot_evictions.set(map.evictions());
        }
        beside.set(connections + core.shared.traces_bytes_of(core.index));
        core.shared.cache.make_room();
        if core.index == 0 {
            let snapshot = core.shared.snapshot();
            snapshot.tend();
            if ticks.is_multiple_of(10) {
                snapshot.close_idle();
            }
        }
        if core.index == 0 && ticks.is_multiple_of(TELL_TICKS) {
            turned_away.tell(&core.shared);
        }
    }
}

/// Connections that got no place: they are in no log, as nothing was asked, and there may be thousands a second. And
/// requests that got none before an upstream, as whoever meets its default must be told once what to write.
#[derive(Default)]
struct TurnedAway {
    told: [u64; 4],
    /// Of each upstream by its name.
    by_upstream: HashMap<String, u64>,
}

impl TurnedAway {
    /// Says how many there were since the last time.
    fn tell(&mut self, shared: &Shared) {
        let reasons = [
            Reject::TooManyConnections,
            Reject::TooManyFromAddress,
            Reject::NoProxyHead,
            Reject::BadProxyHead,
        ];
        for (told, why) in self.told.iter_mut().zip(reasons) {
            let all: u64 = shared.counters.iter().map(|core| core.by_reject.get(why)).sum();
            let new = all - std::mem::replace(told, all);
            if new > 0 {
                crate::say!("samovar: {new} connections turned away: {} ({})", why.text(), why.mend());
            }
        }
        let mut now = HashMap::new();
        for upstream in shared.snapshot().upstreams() {
            let (name, all) = (upstream.settings().name.clone(), upstream.stats().refused);
            // A changed upstream counts anew.
            let new = all.saturating_sub(self.by_upstream.get(&name).copied().unwrap_or(0));
            if new > 0 {
                let line = upstream.line_to_change();
                crate::say!(
                    "samovar: {new} requests found no place before the upstream {name} (503): {line}"
                );
            }
            now.insert(name, all);
        }
        self.by_upstream = now;
    }
}

async fn live_jobs(core: Rc<Core>, mut jobs: UnboundedReceiver<Job>) {
    while let Some(job) = jobs.recv().await {
        let core = Rc::clone(&core);
        spawn_local(async move {
            let peer = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
            let conn = connection(peer, None, u32::MAX, job.port, job.tls);
            let (arrived, done) = pipeline::arrive_by_door(&core, &conn, job);
            let response = pipeline::answer(arrived).await;
            let status = response.status().as_u16();
            let mut body = response.into_body();
            let mut bytes = 0u64;
            while let Some(Ok(frame)) = body.frame().await {
                bytes += frame.data_ref().map_or(0, |d| d.len() as u64);
            }
            drop(body);
            let _gone = done.send((status, bytes));
        });
    }
}

/// What a listener's connections have in common.
#[derive(Clone)]
pub(super) struct Door {
    pub(super) core: Rc<Core>,
    pub(super) hub: Rc<Hub>,
    pub(super) id: u32,
    pub(super) port: u16,
    pub(super) tls: bool,
}

/// A connection as the pipeline sees it.
pub(super) fn met(door: &Door, peer: Option<SocketAddr>, local: Option<SocketAddr>) -> Rc<Connection> {
    let snapshot = door.core.shared.snapshot();
    let trusted = snapshot.settings.server.trusted_proxies.trusts(peer.map(|p| p.ip().to_canonical()));
    connection(peer, local, hot_listener(door.id, trusted), door.port, door.tls)
}

/// All requests of a connection.
pub(super) async fn converse<S>(door: &Door, layer: Layer<S>, conn: &Rc<Connection>)
where
    S: Wire + 'static,
{
    door.core.counters.accepted.add(1);
    let http = samovar_hot::engine(&door.hub);
    let core = &door.core;
    let switch = RefCell::new(None);
    let end = samovar_hot::serve(layer, &http, |request, handle| {
        let arrived = pipeline::arrive(core, conn, request, handle);
        let switch = &switch;
        async move {
            let mut response = pipeline::answer(arrived).await;
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                // Boxed, as below: room for it is not carried by connections that never need it.
                switch.replace(response.body_mut().take_switch().map(Box::new));
            }
            Ok::<_, Infallible>(response)
        }
    })
    .await;
    match (end, switch.take()) {
        (End::Upgraded(pipe), Some(switch)) => {
            let idle = core.shared.snapshot().settings.limits.upgraded_idle_timeout;
            Box::pin(tunnel::run(core, pipe, *switch, idle)).await;
        }
        // The client was gone before it could be told.
        (_, Some(mut switch)) => switch.finish.upgraded(Upgrade::ClientBroke, 0, 0),
        (_, None) => {}
    }
    door.core.counters.closed.add(1);
}
