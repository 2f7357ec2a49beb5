//! The file of API keys, read again when it changes, without a request that ever waits for it.
//!
//! The trap: the service of the story this example follows kept the file's content in a cache, and read it again *within*
//! a request when it had changed. Under load many requests found it changed at once, each opened the file, the first of
//! them locked it by opening it, and all others failed. Here no request touches the file: one task looks at it, reads it
//! beside the requests, and exchanges the whole of it at once; requests take what is there. A file that is half written,
//! missing or wrong changes nothing but is said. Not here: what stands in it (`keys`).

use crate::keys::{Keys, parse};
use arc_swap::ArcSwap;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// Larger files are no files of keys.
const FILE_MAX_BYTES: u64 = 1024 * 1024;

/// What a file looks like from outside; another look means another content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

/// The keys of now, and the file they are from.
pub(crate) struct Keyring {
    path: PathBuf,
    now: ArcSwap<Keys>,
    loads: AtomicU64,
    first: Option<Look>,
}

impl Keyring {
    /// Reads the file for the first time; it must be right then.
    pub(crate) fn open(path: &Path) -> Result<Arc<Keyring>, String> {
        let first = look(path);
        let keys = read(path)?;
        let path = path.to_path_buf();
        Ok(Arc::new(Keyring { path, now: ArcSwap::from_pointee(keys), loads: AtomicU64::new(1), first }))
    }

    /// The keys of now.
    pub(crate) fn now(&self) -> Arc<Keys> {
        self.now.load_full()
    }

    /// Where they are from.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How often they were read.
    pub(crate) fn loads(&self) -> u64 {
        self.loads.load(Ordering::Relaxed)
    }

    /// Looks at the file for ever.
    pub(crate) async fn follow(self: Arc<Keyring>) {
        let mut known = self.first;
        let mut before = known;
        loop {
            tokio::time::sleep(LOOK).await;
            let this = Arc::clone(&self);
            let seen = tokio::task::spawn_blocking(move || look(&this.path)).await.ok().flatten();
            // Two looks alike: whoever writes it has probably done so. What comes later is seen later.
            let settled = seen == before;
            before = seen;
            if seen == known || !settled {
                continue;
            }
            known = seen;
            let this = Arc::clone(&self);
            match tokio::task::spawn_blocking(move || read(&this.path)).await {
                Ok(Ok(keys)) => {
                    // Not println!: nobody need be there to read it.
                    let _ =
                        writeln!(std::io::stdout(), "keys       {} from {}", keys.len(), self.path.display());
                    self.now.store(Arc::new(keys));
                    self.loads.fetch_add(1, Ordering::Relaxed);
                }
                Ok(Err(trouble)) => {
                    let _ = writeln!(std::io::stderr(), "slow-service: {trouble}; the keys of before hold");
                }
                Err(_) => {}
            }
        }
    }
}

fn look(path: &Path) -> Option<Look> {
    let data = std::fs::metadata(path).ok()?;
    Some(Look { inode: data.ino(), bytes: data.len(), modified: (data.mtime(), data.mtime_nsec()) })
}

fn read(path: &Path) -> Result<Keys, String> {
    let trouble =
        |what: &dyn std::fmt::Display| format!("the keys in {} cannot be used: {what}", path.display());
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| trouble(&e))?;
    file.take(FILE_MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|e| trouble(&e))?;
    if bytes.len() as u64 > FILE_MAX_BYTES {
        return Err(trouble(&"it is larger than 1 MiB"));
    }
    let text = String::from_utf8(bytes).map_err(|_| trouble(&"it is not UTF-8"))?;
    parse(&text).map_err(|e| trouble(&e))
}
