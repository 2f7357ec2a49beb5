//! Notices that files in a folder change, so that stored answers made of them can be purged.
//!
//! Directly on inotify, not on a library over it: a new folder must be watched *before* it is reported (else a
//! file in it could be stored, changed, and the change missed), a refused watch must be told, and links inside
//! the root must be reported under every path they give a file. Errs towards reporting too much.
//!
//! Not here: purging, and the once-a-second look at a file's version that stands in where
//! [`Watch::healthy`] says no ([`crate::Files::version`]). Not seen by inotify: writes through a memory map
//! until the file is closed, writes through a hard link outside the root, a mount laid over a folder inside it.

mod batch;
mod run;
mod tree;

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long [`Watch::new`] waits for a large folder to be watched; the rest happens behind it.
const FIRST_WALK: Duration = Duration::from_secs(2);

/// Something changed below the root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// What lies at this path, and everything beneath it, may be another now. Decoded, with a leading slash,
    /// without one at the end; what is not UTF-8 is replaced as in [`crate::Opened::rel`].
    Path(String),
    /// Anything may have changed.
    Rescan,
}

impl Change {
    /// An answer made of what lies at `path` (decoded, leading slash; folders with or without a slash at the
    /// end) may no longer hold: it was changed, lies in a folder that was, is the folder in which something
    /// changed (its index document or listing), or follows a changed script as `PATH_INFO`.
    pub fn touches(&self, path: &str) -> bool {
        let Change::Path(changed) = self else { return true };
        let asked = path.strip_suffix('/').unwrap_or(path);
        let folder = changed.rsplit_once('/').map_or("", |(folder, _)| folder);
        asked == folder || tree::covers(changed.as_bytes(), asked.as_bytes())
    }
}

/// Where changes go: called on the watch's own thread, never with an empty list.
pub type Sink = Arc<dyn Fn(Vec<Change>) + Send + Sync>;

/// Watches one folder until it is dropped.
pub struct Watch {
    shared: Arc<Shared>,
}

/// What the watch and its thread both see.
struct Shared {
    /// Wakes the thread.
    wake: OwnedFd,
    stopped: AtomicBool,
    healthy: AtomicBool,
    trouble: Mutex<Option<String>>,
}

impl Watch {
    /// Watches `root` and every folder in it, including those to come.
    ///
    /// Fails if the system gives no inotify instance. A folder that is not there is watched as soon as it is. If only some folders can be
    /// watched it succeeds and [`Watch::healthy`] says no. Within a quarter of a second of `root` naming
    /// another folder (replaced, or a link set anew) a [`Change::Rescan`] comes and the new one is watched.
    pub fn new(root: &Path, sink: Sink) -> io::Result<Watch> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared = Arc::new(Shared {
            wake,
            stopped: AtomicBool::new(false),
            healthy: AtomicBool::new(false),
            trouble: Mutex::new(Some("the folder is still being walked through".to_owned())),
        });
        let runner = run::Runner::new(root, sink, shared.clone())?;
        let (walked, first_walk) = sync_channel(1);
        let watch = Watch { shared };
        std::thread::Builder::new().name("samovar-watch".to_owned()).spawn(move || runner.run(&walked))?;
        // A large tree may take longer; then a `Rescan` follows when it is done.
        let _ = first_walk.recv_timeout(FIRST_WALK);
        Ok(watch)
    }

    /// Every change is seen. While this says no, changes that are seen are still reported, but each stored
    /// answer has to be checked against [`crate::Files::version`]. When it turns, a [`Change::Rescan`] is sent.
    pub fn healthy(&self) -> bool {
        self.shared.healthy.load(Ordering::Acquire)
    }

    /// Why it is not healthy, and what to do about it.
    pub fn trouble(&self) -> Option<String> {
        self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Watch {
    /// Stops the thread: nothing is sent after a call that is under way.
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        let _ = rustix::io::write(&self.shared.wake, &1u64.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_change_touches() {
        let change = |path: &str| Change::Path(path.to_owned());
        for (changed, asked, touched) in [
            ("/a/x.html", "/a/x.html", true),
            ("/a/x.html", "/a/x.htm", false),
            ("/a/x.html", "/a/x.html5", false),
            ("/a/x.php", "/a/x.php/extra", true),
            ("/a/index.html", "/a/", true),
            ("/a/index.html", "/a", true),
            ("/a/index.html", "/", false),
            ("/a/index.html", "/a/y", false),
            ("/index.html", "/", true),
            ("/a", "/a/deep/er", true),
            ("/a", "/ab", false),
            ("/a", "/", true),
        ] {
            assert_eq!(change(changed).touches(asked), touched, "{changed} and {asked}");
        }
        assert!(Change::Rescan.touches("/anything"));
    }
}
