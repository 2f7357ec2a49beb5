//! The bound on an upstream's connections and on the bodies on their way to it, and the shelves of idle connections.
//!
//! The bound and the queue hold for the process: php-fpm or an old application server does not care which of
//! our cores asks. Idle connections lie on per-core shelves (last in, first out) under short locks: a core
//! looks on its own first, then on the others', and only then opens a new one. Not here: sockets, protocols.

use crate::gate::{Gate, Place};
use crate::{Failure, Reached, UpstreamLimits};
use samovar_reason::Upstream;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a pool is doing, for the admin API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Connections open now, idle ones included.
    pub open: usize,
    /// Connections open and unused.
    pub idle: usize,
    /// Requests holding a permit: connecting, waiting for the head, or receiving the body.
    pub busy: usize,
    /// Requests queued for a permit.
    pub waiting: usize,
    /// Requests refused because the queue was full or the wait too long, since the start.
    pub refused: u64,
    /// Connections opened since the start.
    pub connects: u64,
    /// Requests sent on a connection that had been used before.
    pub reuses: u64,
}

/// The right to use one connection. Given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    _held: Place,
}

/// The right to have a body on its way to the upstream. Given back when dropped; see [`Pool::upload`].
#[derive(Debug)]
pub(crate) struct UploadPermit {
    _held: Place,
}

/// Counts one open connection for as long as it lives.
#[derive(Debug)]
pub(crate) struct Opened(Arc<AtomicUsize>);

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Parked<C> {
    connection: C,
    since: Instant,
}

/// See the file's head. `C` is an idle connection of whatever protocol.
pub(crate) struct Pool<C> {
    gate: Gate,
    uploads: Gate,
    max: usize,
    idle_timeout: Duration,
    open: Arc<AtomicUsize>,
    idle: AtomicUsize,
    connects: AtomicU64,
    reuses: AtomicU64,
    shelves: Box<[Mutex<Vec<Parked<C>>>]>,
}

impl<C> Pool<C> {
    pub(crate) fn new(limits: &UpstreamLimits) -> Self {
        let max = limits.max_connections.max(1);
        let gate = |max| Gate::new(max, limits.queue_max, limits.queue_timeout);
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        Pool {
            gate: gate(max),
            uploads: gate(max.div_ceil(2)),
            max,
            idle_timeout: limits.idle_timeout,
            open: Arc::new(AtomicUsize::new(0)),
            idle: AtomicUsize::new(0),
            connects: AtomicU64::new(0),
            reuses: AtomicU64::new(0),
            shelves: (0..cores).map(|_| Mutex::new(Vec::new())).collect(),
        }
    }

    /// Waits for the right to use a connection, first come first served.
    pub(crate) async fn permit(&self) -> Result<Permit, Failure> {
        let held = self.gate.enter().await.map_err(not_sent)?;
        Ok(Permit { _held: held })
    }

    /// Waits for the right to have a body on its way, before the one to use a connection. Bodies that are still coming hold
    /// half of the connections at most: clients that send theirs a byte at a time must not keep all others from the
    /// upstream.
    pub(crate) async fn upload(&self) -> Result<UploadPermit, Failure> {
        let held = self.uploads.enter().await.map_err(not_sent)?;
        Ok(UploadPermit { _held: held })
    }

    /// An idle connection that `alive` still believes in: own core's first, the newest first.
    pub(crate) fn take(&self, core: usize, now: Instant, mut alive: impl FnMut(&mut C) -> bool) -> Option<C> {
        if self.idle.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let count = self.shelves.len();
        for shelf in (0..count).filter_map(|step| self.shelves.get(core.wrapping_add(step) % count)) {
            while let Some(mut parked) = self.pop(shelf) {
                let young = now.saturating_duration_since(parked.since) < self.idle_timeout;
                if young && alive(&mut parked.connection) {
                    self.reuses.fetch_add(1, Ordering::Relaxed);
                    return Some(parked.connection);
                }
            }
        }
        None
    }

    /// Any idle connection, to be closed.
    pub(crate) fn give_up_one(&self, core: usize) -> Option<C> {
        let count = self.shelves.len();
        (0..count)
            .filter_map(|step| self.shelves.get(core.wrapping_add(step) % count))
            .find_map(|shelf| self.pop(shelf))
            .map(|parked| parked.connection)
    }

    fn pop(&self, shelf: &Mutex<Vec<Parked<C>>>) -> Option<Parked<C>> {
        let parked = locked(shelf).pop()?;
        self.idle.fetch_sub(1, Ordering::SeqCst);
        Some(parked)
    }

    /// Puts a connection on the shelf of the core it was last used on. Call before the permit is dropped.
    pub(crate) fn park(&self, core: usize, now: Instant, connection: C) {
        // Two cores may both have found the shelves empty while one was being filled; the surplus ends here.
        if self.open.load(Ordering::Relaxed) > self.max {
            return;
        }
        if let Some(shelf) = self.shelves.get(core % self.shelves.len().max(1)) {
            // Counted first, so that a taker who sees zero may believe it.
            self.idle.fetch_add(1, Ordering::SeqCst);
            locked(shelf).push(Parked { connection, since: now });
        }
    }

    /// Closes what has been idle for too long, and what `alive` does not believe in any more.
    pub(crate) fn close_idle(&self, now: Instant, mut alive: impl FnMut(&mut C) -> bool) {
        for shelf in &self.shelves {
            let mut parked = locked(shelf);
            let old = |p: &mut Parked<C>| now.saturating_duration_since(p.since) >= self.idle_timeout;
            let closing: Vec<_> = parked.extract_if(.., |p| old(p) || !alive(&mut p.connection)).collect();
            drop(parked);
            self.idle.fetch_sub(closing.len(), Ordering::SeqCst);
        }
    }

    /// Counts a connection that was opened.
    pub(crate) fn opened(&self) -> Opened {
        self.connects.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        Opened(Arc::clone(&self.open))
    }

    pub(crate) fn stats(&self) -> PoolStats {
        let (gate, uploads) = (self.gate.stats(), self.uploads.stats());
        PoolStats {
            open: self.open.load(Ordering::Relaxed),
            idle: self.idle.load(Ordering::SeqCst),
            busy: gate.busy,
            waiting: gate.waiting + uploads.waiting,
            refused: gate.full + gate.late + uploads.full + uploads.late,
            connects: self.connects.load(Ordering::Relaxed),
            reuses: self.reuses.load(Ordering::Relaxed),
        }
    }
}

fn locked<T>(shelf: &Mutex<T>) -> MutexGuard<'_, T> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_sent((reason, detail): (Upstream, String)) -> Failure {
    Failure { reason, detail, reached: Reached::NotSent }
}
