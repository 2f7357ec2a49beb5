//! What one core has for itself.

use super::Shared;
use crate::compress::Load;
use crate::metrics::CoreCounters;
use samovar_hot::Hub;
use std::cell::{Cell, OnceCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::{Notify, oneshot};

/// A request that did not come by a socket: `explain` asks a core to live through one.
pub struct Job {
    /// The method and target and fields.
    pub request: http::Request<()>,
    /// The port it is asked as if on.
    pub port: u16,
    /// As if under TLS.
    pub tls: bool,
    /// The id under which its record will be kept.
    pub id: u64,
    /// Told when it is over: status and body bytes.
    pub done: oneshot::Sender<(u16, u64)>,
}

/// One core.
pub struct Core {
    /// Its number.
    pub index: usize,
    /// What all share.
    pub shared: Arc<Shared>,
    /// Its counters.
    pub counters: Arc<CoreCounters>,
    /// How busy it is.
    pub load: Load,
    /// Its hot tier; set once the core runs.
    pub hub: OnceCell<Rc<Hub>>,
    /// Connections that have changed to another protocol.
    pub tunnels: Cell<usize>,
    /// About what they take, bytes.
    pub tunnels_bytes: Cell<u64>,
    /// Told to them when the server stops.
    pub leaving: Notify,
    /// Told to connections that have not come to their first request when idle ones are closed.
    pub idle_over: Notify,
    /// Held by each connection from its first moment to its last.
    pub present: Rc<()>,
}

impl Core {
    /// Core number `index`.
    pub fn new(index: usize, shared: Arc<Shared>) -> Rc<Core> {
        let counters = shared.counters.get(index).cloned().unwrap_or_default();
        Rc::new(Core {
            index,
            shared,
            counters,
            load: Load::default(),
            hub: OnceCell::new(),
            tunnels: Cell::new(0),
            tunnels_bytes: Cell::new(0),
            leaving: Notify::new(),
            idle_over: Notify::new(),
            present: Rc::default(),
        })
    }

    /// Connections that are there, whatever they are at: a handshake, requests, another protocol.
    pub fn connections(&self) -> usize {
        Rc::strong_count(&self.present) - 1
    }

    /// The outcome of what a connection does before its first request; `None` if idle connections are closed before.
    pub async fn unless_idle_over<T>(&self, first: impl Future<Output = T>) -> Option<T> {
        let mut first = pin!(first);
        let mut over = pin!(self.idle_over.notified());
        poll_fn(|cx| {
            if let Poll::Ready(outcome) = first.as_mut().poll(cx) {
                return Poll::Ready(Some(outcome));
            }
            let is_over = self.hub.get().is_some_and(|hub| hub.closes_idle());
            if is_over || over.as_mut().poll(cx).is_ready() { Poll::Ready(None) } else { Poll::Pending }
        })
        .await
    }
}
