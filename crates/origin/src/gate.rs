//! So many at once, and a queue before it: first come, first served, with a bound on its length and on the wait.
//!
//! What it bounds (an upstream's connections, a site's requests) and what is counted of it are its holder's. Not here:
//! what whoever is refused is told.

use samovar_reason::Upstream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What a gate is doing, and what it has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateStats {
    /// Places.
    pub max: usize,
    /// Of them taken.
    pub busy: usize,
    /// In the queue.
    pub waiting: usize,
    /// Had to wait, since the start.
    pub queued: u64,
    /// Refused because the queue was full, since the start.
    pub full: u64,
    /// Refused because they had waited too long, since the start.
    pub late: u64,
}

/// See the file's head.
pub struct Gate {
    places: Arc<Semaphore>,
    max: usize,
    queue_max: usize,
    queue_timeout: Duration,
    waiting: AtomicUsize,
    queued: AtomicU64,
    full: AtomicU64,
    late: AtomicU64,
}

/// A place behind the gate. Given back when dropped.
#[derive(Debug)]
pub struct Place {
    _held: OwnedSemaphorePermit,
}

impl Gate {
    /// `max` at once, at least one; so many may wait, each so long.
    pub fn new(max: usize, queue_max: usize, queue_timeout: Duration) -> Gate {
        let max = max.clamp(1, Semaphore::MAX_PERMITS);
        Gate {
            places: Arc::new(Semaphore::new(max)),
            max,
            queue_max,
            queue_timeout,
            waiting: AtomicUsize::new(0),
            queued: AtomicU64::new(0),
            full: AtomicU64::new(0),
            late: AtomicU64::new(0),
        }
    }

    /// Waits for a place.
    ///
    /// # Errors
    /// The queue is full, or the wait was too long; with the figures, in words.
    pub async fn enter(&self) -> Result<Place, (Upstream, String)> {
        // Fair: the semaphore gives a freed permit to the first in its queue, never to a newcomer.
        if let Ok(held) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(Place { _held: held });
        }
        let Some(_waiting) = Waiting::take(&self.waiting, self.queue_max) else {
            self.full.fetch_add(1, Ordering::Relaxed);
            let detail = format!("{} under way and {} in the queue, which is full", self.max, self.queue_max);
            return Err((Upstream::QueueFull, detail));
        };
        self.queued.fetch_add(1, Ordering::Relaxed);
        match tokio::time::timeout(self.queue_timeout, Arc::clone(&self.places).acquire_owned()).await {
            Ok(Ok(held)) => Ok(Place { _held: held }),
            // The semaphore is never closed; if it were, nothing would ever be free.
            Ok(Err(_)) | Err(_) => {
                self.late.fetch_add(1, Ordering::Relaxed);
                let detail = format!("waited {:?} for one of {} places", self.queue_timeout, self.max);
                Err((Upstream::QueueTimeout, detail))
            }
        }
    }

    /// What it is doing.
    pub fn stats(&self) -> GateStats {
        GateStats {
            max: self.max,
            busy: self.max.saturating_sub(self.places.available_permits()),
            waiting: self.waiting.load(Ordering::Relaxed),
            queued: self.queued.load(Ordering::Relaxed),
            full: self.full.load(Ordering::Relaxed),
            late: self.late.load(Ordering::Relaxed),
        }
    }
}

/// A place in the queue, left when dropped (also when the waiting request is cancelled).
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn take(waiting: &'a AtomicUsize, max: usize) -> Option<Waiting<'a>> {
        let place = Waiting(waiting);
        if waiting.fetch_add(1, Ordering::Relaxed) < max { Some(place) } else { None }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
