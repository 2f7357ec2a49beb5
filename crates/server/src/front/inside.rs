//! A server of one core without sockets: connections are handed to it as streams, and it lives in the caller's thread.
//!
//! For tests and fuzzing, which cut what they send where no socket lets them: everything from the layer below the engine
//! to the origin is what the program runs. Not here: listening, TLS, signals, the admin side.

use super::worker::{Door, converse, hub_of, met, upkeep};
use crate::config;
use crate::log::{AccessLog, Destination};
use crate::state::{Core, Overrides, Shared, Snapshot, Source, cache_settings};
use samovar_cache::{Cache, Scope};
use samovar_hot::{Accepted, Wire};
use std::net::SocketAddr;
use std::rc::Rc;

/// Such a server. It ends with the runtime it was started in.
pub struct Inside {
    door: Door,
}

impl Inside {
    /// Starts a server with this configuration on the local runtime of the caller.
    ///
    /// # Errors
    /// In words, what is wrong with the configuration.
    pub fn start(text: &str) -> Result<Inside, String> {
        let loaded = config::parse(text, "inside.toml").map_err(|report| report.to_string())?;
        let cache = Cache::new(cache_settings(&loaded.settings));
        let log = AccessLog::start(1, Destination::Off)?;
        let source = Source { path: None, text: loaded.text };
        let snapshot = Snapshot::build(loaded.settings, 1, None, &cache)?;
        let shared = Shared::new(1, snapshot, cache, log, source, Overrides::default());
        let core = Core::new(0, shared);
        let hub = hub_of(&core);
        tokio::task::spawn_local(upkeep(Rc::clone(&core), Rc::clone(&hub)));
        Ok(Inside { door: Door { core, hub, id: 0, port: 80, tls: false } })
    }

    /// Forgets all that is stored.
    pub fn purge(&self) {
        self.door.core.shared.cache.purge(Scope::All, false);
    }

    /// Serves one connection to its end, as if it came from this machine.
    pub async fn converse<S: Wire + 'static>(&self, stream: S) {
        let peer = Some(SocketAddr::from(([127, 0, 0, 1], 1)));
        let conn = met(&self.door, peer, None);
        let layer = self.door.hub.accept(stream, Accepted { listener: conn.listener, peer });
        converse(&self.door, layer, &conn).await;
    }
}
