//! Changes on their way to the sink: gathered for a moment, bounded, each named once.
//!
//! The time is handed in. Not here: what a path means.

use super::Change;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Changes that come within this time are reported together.
const COALESCE: Duration = Duration::from_millis(50);

/// More different paths than this in one batch are reported as [`Change::Rescan`].
const BATCH_MAX: usize = 4096;

/// Changes not reported yet.
#[derive(Default)]
pub(super) struct Batch {
    paths: BTreeSet<Vec<u8>>,
    rescan: bool,
    due: Option<Instant>,
}

impl Batch {
    /// When it is to be reported; never, if it is empty.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// These paths changed.
    pub(super) fn add(&mut self, paths: BTreeSet<Vec<u8>>, now: Instant) {
        self.start(now);
        if !self.rescan {
            self.paths.extend(paths);
        }
        if self.paths.len() > BATCH_MAX {
            self.everything(now);
        }
    }

    /// Anything may have changed.
    pub(super) fn everything(&mut self, now: Instant) {
        self.start(now);
        self.rescan = true;
        self.paths.clear();
    }

    /// What is to be reported.
    pub(super) fn changes(self) -> Vec<Change> {
        if self.rescan {
            return vec![Change::Rescan];
        }
        // What is not UTF-8 is replaced, as in `Opened::rel`.
        self.paths.iter().map(|path| Change::Path(String::from_utf8_lossy(path).into_owned())).collect()
    }

    /// Due a while after the first change, however many follow.
    fn start(&mut self, now: Instant) {
        self.due.get_or_insert(now + COALESCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> BTreeSet<Vec<u8>> {
        names.iter().map(|name| name.as_bytes().to_vec()).collect()
    }

    #[test]
    fn the_first_change_sets_the_time_and_each_path_is_named_once() {
        let start = Instant::now();
        let mut batch = Batch::default();
        assert_eq!(batch.due(), None);
        for ms in [0, 20, 40] {
            batch.add(paths(&["/a", "/b"]), start + Duration::from_millis(ms));
        }
        assert_eq!(batch.due(), Some(start + Duration::from_millis(50)));
        assert_eq!(batch.changes(), [Change::Path("/a".to_owned()), Change::Path("/b".to_owned())]);
    }

    #[test]
    fn too_many_paths_are_everything_and_take_no_more_room() {
        let now = Instant::now();
        let mut batch = Batch::default();
        for n in 0..10_000 {
            batch.add(paths(&[&format!("/{n}")]), now);
            assert!(batch.paths.len() <= BATCH_MAX);
        }
        assert_eq!(batch.changes(), [Change::Rescan]);
    }
}
