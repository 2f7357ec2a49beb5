//! The limit everything here is about: so many requests at once, so many that wait for a turn, and no more.
//!
//! Not here: what is done with a turn (`serve`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Turns, and the queue for them.
pub(crate) struct Gate {
    turns: Arc<Semaphore>,
    /// Requests worked on at once.
    pub(crate) concurrent_max: u32,
    /// Requests that may wait.
    pub(crate) queue_max: u32,
    waiting: AtomicU32,
}

/// No place to wait in either.
#[derive(Debug)]
pub(crate) struct Full;

impl Gate {
    /// A gate with nobody in it.
    pub(crate) fn new(concurrent_max: u32, queue_max: u32) -> Gate {
        Gate {
            turns: Arc::new(Semaphore::new(concurrent_max as usize)),
            concurrent_max,
            queue_max,
            waiting: AtomicU32::new(0),
        }
    }

    /// A turn, at once or after a wait; it ends when what comes back is dropped.
    pub(crate) async fn turn(&self) -> Result<OwnedSemaphorePermit, Full> {
        if let Ok(turn) = Arc::clone(&self.turns).try_acquire_owned() {
            return Ok(turn);
        }
        let place = Place(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.queue_max {
            return Err(Full);
        }
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        drop(place);
        turn.map_err(|_| Full)
    }

    /// Requests worked on now.
    pub(crate) fn concurrent(&self) -> u32 {
        self.concurrent_max.saturating_sub(u32::try_from(self.turns.available_permits()).unwrap_or(u32::MAX))
    }

    /// Requests that wait now.
    pub(crate) fn waiting(&self) -> u32 {
        self.waiting.load(Ordering::Relaxed)
    }
}

/// A place in the queue, given back also when the client leaves meanwhile.
struct Place<'a>(&'a AtomicU32);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn turns_queue_and_refusals() {
        let gate = Gate::new(1, 1);
        let mut first = pin!(gate.turn());
        let Poll::Ready(Ok(turn)) = poll(first.as_mut()) else { panic!("no turn") };
        {
            let mut leaves = pin!(gate.turn());
            assert!(poll(leaves.as_mut()).is_pending());
            assert_eq!((gate.concurrent(), gate.waiting()), (1, 1));
            let mut third = pin!(gate.turn());
            assert!(matches!(poll(third.as_mut()), Poll::Ready(Err(Full))));
            assert_eq!(gate.waiting(), 1, "who was refused does not wait");
        }
        assert_eq!(gate.waiting(), 0, "who has left does not wait");
        let mut second = pin!(gate.turn());
        assert!(poll(second.as_mut()).is_pending());
        drop(turn);
        assert!(matches!(poll(second.as_mut()), Poll::Ready(Ok(_))));
        assert_eq!((gate.concurrent(), gate.waiting()), (0, 0));
    }
}
