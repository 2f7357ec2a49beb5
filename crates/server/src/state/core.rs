//! What one core has for itself.

use super::Shared;
use crate::compress::Load;
use crate::metrics::CoreCounters;
use samovar_hot::Hub;
use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;
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
        })
    }
}
