//! Which folder each inotify watch stands for, and which links lead where. Values only, no system calls.
//!
//! Paths are bytes relative to the root with a leading slash (`/a/b`); the root itself is the empty path. One
//! watch can stand for several paths: inotify watches inodes, and a bind mount shows one inode twice.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How many paths one change may stand for through links before the answer is "everything".
const THROUGH_LINKS_MAX: usize = 64;

/// The folders being watched, and the links among them.
#[derive(Debug, Default)]
pub(super) struct Tree {
    folders: BTreeMap<Vec<u8>, i32>,
    watches: HashMap<i32, Vec<Vec<u8>>>,
    /// Link to the places it leads to: its own text, and where it really ends.
    links: BTreeMap<Vec<u8>, Vec<Vec<u8>>>,
    /// The same the other way round.
    targets: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
}

/// `base` is `path`, or a folder somewhere above it.
pub(super) fn covers(base: &[u8], path: &[u8]) -> bool {
    path.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'))
}

impl Tree {
    /// The folder at `path` is watched by `watch`.
    pub(super) fn watched(&mut self, path: &[u8], watch: i32) {
        if let Some(old) = self.folders.insert(path.to_vec(), watch)
            && old != watch
        {
            self.release(old, path);
        }
        let paths = self.watches.entry(watch).or_default();
        if !paths.iter().any(|known| known == path) {
            paths.push(path.to_vec());
        }
    }

    /// The folders `watch` stands for; none if it is unknown, or was given up.
    pub(super) fn paths(&self, watch: i32) -> Vec<Vec<u8>> {
        self.watches.get(&watch).cloned().unwrap_or_default()
    }

    /// The folder at `path` is watched.
    pub(super) fn is_watched(&self, path: &[u8]) -> bool {
        self.folders.contains_key(path)
    }

    /// The kernel has dropped `watch`.
    pub(super) fn dropped(&mut self, watch: i32) {
        for path in self.watches.remove(&watch).unwrap_or_default() {
            if self.folders.get(&path) == Some(&watch) {
                self.folders.remove(&path);
            }
        }
    }

    /// Whatever was at `path` is gone, with everything beneath. Returns the watches to be given up.
    pub(super) fn gone(&mut self, path: &[u8]) -> Vec<i32> {
        for link in beneath(&self.links, path) {
            self.unlink(&link);
        }
        let mut idle = Vec::new();
        for folder in beneath(&self.folders, path) {
            if let Some(watch) = self.folders.remove(&folder)
                && self.release(watch, &folder)
            {
                idle.push(watch);
            }
        }
        idle
    }

    /// What is at `path` leads to `targets`; to none if it is no link.
    pub(super) fn linked(&mut self, path: &[u8], targets: Vec<Vec<u8>>) {
        self.unlink(path);
        for target in &targets {
            self.targets.entry(target.clone()).or_default().insert(path.to_vec());
        }
        if !targets.is_empty() {
            self.links.insert(path.to_vec(), targets);
        }
    }

    /// The paths a change at `path` may be seen under: itself, and through links; `None` if too many.
    pub(super) fn seen_as(&self, path: &[u8]) -> Option<BTreeSet<Vec<u8>>> {
        let mut seen = BTreeSet::from([path.to_vec()]);
        if self.links.is_empty() {
            return Some(seen);
        }
        let mut todo = vec![path.to_vec()];
        while let Some(path) = todo.pop() {
            for other in self.through_links(&path) {
                if seen.len() > THROUGH_LINKS_MAX {
                    return None;
                }
                if seen.insert(other.clone()) {
                    todo.push(other);
                }
            }
        }
        Some(seen)
    }

    /// One step: links to `path`, to a folder above it, or to something beneath it.
    fn through_links(&self, path: &[u8]) -> Vec<Vec<u8>> {
        let mut others = Vec::new();
        let ends = path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at);
        for end in ends.chain([path.len()]) {
            let (above, rest) = path.split_at(end);
            for link in self.targets.get(above).into_iter().flatten() {
                // A link that leads to a folder it is in repeats itself without end: its own path covers all.
                let circle = covers(above, link);
                others.push(if circle { link.clone() } else { [link.as_slice(), rest].concat() });
            }
        }
        let (from, to) = inside(path);
        others.extend(self.targets.range(from..to).flat_map(|(_, links)| links.iter().cloned()));
        others
    }

    fn unlink(&mut self, path: &[u8]) {
        for target in self.links.remove(path).unwrap_or_default() {
            if let Some(links) = self.targets.get_mut(&target) {
                links.remove(path);
                if links.is_empty() {
                    self.targets.remove(&target);
                }
            }
        }
    }

    /// `watch` no longer stands for `path`; true if it stands for nothing now.
    fn release(&mut self, watch: i32, path: &[u8]) -> bool {
        let Some(paths) = self.watches.get_mut(&watch) else { return false };
        paths.retain(|known| known != path);
        if paths.is_empty() {
            self.watches.remove(&watch);
            return true;
        }
        false
    }
}

/// The bounds of what lies strictly beneath `path`.
fn inside(path: &[u8]) -> (Vec<u8>, Vec<u8>) {
    ([path, b"/"].concat(), [path, b"0"].concat())
}

/// `path` and what lies beneath it.
fn beneath<V>(map: &BTreeMap<Vec<u8>, V>, path: &[u8]) -> Vec<Vec<u8>> {
    let (from, to) = inside(path);
    let own = map.contains_key(path).then(|| path.to_vec());
    own.into_iter().chain(map.range(from..to).map(|(path, _)| path.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(seen: Option<BTreeSet<Vec<u8>>>) -> Vec<String> {
        seen.unwrap().into_iter().map(|path| String::from_utf8(path).unwrap()).collect()
    }

    #[test]
    fn a_moved_folder_gives_up_its_watches_and_only_those() {
        let mut tree = Tree::default();
        for (path, watch) in [("", 1), ("/a", 2), ("/a/b", 3), ("/a-b", 4), ("/ab", 5), ("/a0", 6)] {
            tree.watched(path.as_bytes(), watch);
        }
        let mut idle = tree.gone(b"/a");
        idle.sort_unstable();
        assert_eq!(idle, [2, 3]);
        assert!(!tree.is_watched(b"/a/b"));
        for path in ["", "/a-b", "/ab", "/a0"] {
            assert!(tree.is_watched(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn one_watch_for_two_paths_lives_until_both_are_gone() {
        let mut tree = Tree::default();
        tree.watched(b"/a", 7);
        tree.watched(b"/mount", 7);
        assert_eq!(tree.paths(7).len(), 2);
        assert!(tree.gone(b"/a").is_empty());
        assert_eq!(tree.paths(7), [b"/mount".to_vec()]);
        assert_eq!(tree.gone(b"/mount"), [7]);
        assert!(tree.paths(7).is_empty());
    }

    #[test]
    fn a_folder_made_anew_is_not_forgotten_by_the_old_ones_end() {
        let mut tree = Tree::default();
        tree.watched(b"/a", 7);
        tree.watched(b"/a", 8);
        tree.dropped(7);
        assert!(tree.is_watched(b"/a"));
        tree.dropped(8);
        assert!(!tree.is_watched(b"/a"));
    }

    #[test]
    fn changes_are_seen_through_links() {
        let mut tree = Tree::default();
        tree.linked(b"/l", vec![b"/d".to_vec()]);
        tree.linked(b"/d/m", vec![b"/e".to_vec()]);
        tree.linked(b"/file", vec![b"/e/x".to_vec()]);
        assert_eq!(list(tree.seen_as(b"/e/x")), ["/d/m/x", "/e/x", "/file", "/l/m/x"]);
        assert_eq!(list(tree.seen_as(b"/e")), ["/d/m", "/e", "/file", "/l/m"], "the target's folder went");
        assert_eq!(list(tree.seen_as(b"/dx")), ["/dx"]);
        tree.gone(b"/d");
        assert_eq!(list(tree.seen_as(b"/e/x")), ["/e/x", "/file"]);
    }

    #[test]
    fn a_link_in_a_circle_is_named_once_and_many_mean_everything() {
        let mut tree = Tree::default();
        tree.linked(b"/a/loop", vec![b"/a".to_vec()]);
        assert_eq!(list(tree.seen_as(b"/a/x")), ["/a/loop", "/a/x"]);
        tree.linked(b"/a/up", vec![b"".to_vec()]);
        assert_eq!(list(tree.seen_as(b"/b")), ["/a/loop", "/a/up", "/b"]);
        tree.linked(b"/p/q", vec![b"/r".to_vec()]);
        tree.linked(b"/r/s", vec![b"/p".to_vec()]);
        assert!(tree.seen_as(b"/p/x").is_none(), "two links in a circle repeat without end");
    }
}
