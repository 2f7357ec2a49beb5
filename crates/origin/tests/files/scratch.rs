//! A folder for one test, removed when the test ends.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The folder: `root` is what is served, `outside` lies beside it.
pub(crate) struct Scratch {
    base: PathBuf,
}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl Scratch {
    pub(crate) fn new(name: &str) -> Scratch {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let base = std::env::temp_dir().join(format!("samovar-{name}-{}-{count}", std::process::id()));
        let _ = fs::remove_dir_all(&base);
        fs::create_dir_all(base.join("root")).unwrap();
        fs::create_dir_all(base.join("outside")).unwrap();
        // The temporary folder may itself be a link; the oracles compare real paths.
        Scratch { base: base.canonicalize().unwrap() }
    }

    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.base.join("root")
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Writes a file in the root, and the folders it lies in.
    pub(crate) fn file(&self, path: &str, content: &str) -> PathBuf {
        let place = self.at(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, content).unwrap();
        place
    }

    pub(crate) fn folder(&self, path: &str) -> PathBuf {
        fs::create_dir_all(self.at(path)).unwrap();
        self.at(path)
    }

    pub(crate) fn link(&self, to: impl AsRef<Path>, path: &str) {
        symlink(to, self.at(path)).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}
