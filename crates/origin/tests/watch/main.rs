//! The watch, against a real file system and a real kernel.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

#[path = "../files/scratch.rs"]
mod scratch;

mod limits;
mod never_stale;
mod seen;

use samovar_origin::{Change, Watch};
use scratch::Scratch;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Far beyond what is promised: a busy machine is no failure.
const PATIENCE: Duration = Duration::from_secs(20);

/// A watch and what it told.
pub(crate) struct Watched {
    pub(crate) watch: Watch,
    told: Receiver<Vec<Change>>,
}

impl Watched {
    pub(crate) fn new(s: &Scratch) -> Watched {
        let (tell, told) = channel();
        let tell = Mutex::new(tell);
        let sink = move |changes: Vec<Change>| {
            assert!(!changes.is_empty());
            let _ = tell.lock().unwrap().send(changes);
        };
        let watch = Watch::new(&s.root(), Arc::new(sink)).unwrap();
        Watched { watch, told }
    }

    /// Waits for a change that touches `path`; all that came until then.
    pub(crate) fn until(&self, path: &str) -> Vec<Change> {
        self.until_any(path, |change| change.touches(path))
    }

    pub(crate) fn until_rescan(&self) {
        self.until_any("everything", |change| *change == Change::Rescan);
    }

    fn until_any(&self, what: &str, wanted: impl Fn(&Change) -> bool) -> Vec<Change> {
        let start = Instant::now();
        let mut all = Vec::new();
        while let Some(left) = PATIENCE.checked_sub(start.elapsed()) {
            let Ok(changes) = self.told.recv_timeout(left) else { break };
            let found = changes.iter().any(&wanted);
            all.extend(changes);
            if found {
                return all;
            }
        }
        panic!("nothing told of {what}, only {all:?}");
    }

    /// Everything told of what happened before this call: a file made now comes after it.
    pub(crate) fn so_far(&self, s: &Scratch) -> Vec<Change> {
        let fence = format!("fence-{:?}", Instant::now()).replace(|c: char| !c.is_ascii_alphanumeric(), "");
        s.file(&fence, "");
        let fence = Change::Path(format!("/{fence}"));
        let mut all = self.until_any("the fence", |change| *change == fence || *change == Change::Rescan);
        all.retain(|change| *change != fence);
        all
    }
}
