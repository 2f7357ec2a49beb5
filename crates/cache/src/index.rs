//! The indexes that purge asks: by key and prefix (a Patricia tree) and by tag (bitmaps of row ids).
//!
//! Rows are weak: the index never keeps an answer alive. Not here: marking entries and taking them out (`core`).

use crate::entry::Entry;
use patricia_tree::PatriciaMap;
use roaring::RoaringBitmap;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

type Ids = SmallVec<[u32; 2]>;

#[derive(Default)]
pub(crate) struct Index {
    rows: Vec<Option<Weak<Entry>>>,
    free: Vec<u32>,
    by_key: PatriciaMap<Ids>,
    by_tag: HashMap<Box<str>, RoaringBitmap>,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Index {{ rows: {}, keys: {}, tags: {} }}",
            self.rows.len(),
            self.by_key.len(),
            self.by_tag.len()
        )
    }
}

impl Index {
    pub(crate) fn insert(&mut self, entry: &Arc<Entry>) {
        let row = Some(Arc::downgrade(entry));
        let id = match self.free.pop() {
            Some(id) => {
                if let Some(slot) = self.rows.get_mut(id as usize) {
                    *slot = row;
                }
                id
            }
            None => {
                self.rows.push(row);
                (self.rows.len() - 1) as u32
            }
        };
        entry.index_id.store(id, Ordering::Relaxed);
        match self.by_key.get_mut(entry.key.as_bytes()) {
            Some(ids) => ids.push(id),
            None => {
                self.by_key.insert(entry.key.as_bytes(), SmallVec::from_slice(&[id]));
            }
        }
        for tag in &entry.head.tags {
            match self.by_tag.get_mut(tag) {
                Some(ids) => {
                    ids.insert(id);
                }
                None => {
                    self.by_tag.insert(tag.clone(), RoaringBitmap::from_iter([id]));
                }
            }
        }
    }

    pub(crate) fn remove(&mut self, entry: &Entry) {
        let id = entry.index_id.swap(u32::MAX, Ordering::Relaxed);
        if id == u32::MAX {
            return;
        }
        if let Some(slot) = self.rows.get_mut(id as usize) {
            *slot = None;
        }
        self.free.push(id);
        let last = self.by_key.get_mut(entry.key.as_bytes()).is_some_and(|ids| {
            ids.retain(|i| *i != id);
            ids.is_empty()
        });
        if last {
            self.by_key.remove(entry.key.as_bytes());
        }
        for tag in &entry.head.tags {
            let last = self.by_tag.get_mut(tag).is_some_and(|ids| {
                ids.remove(id);
                ids.is_empty()
            });
            if last {
                self.by_tag.remove(tag);
            }
        }
    }

    /// All variants whose key begins with `prefix`.
    pub(crate) fn with_prefix(&self, prefix: &str) -> Vec<Arc<Entry>> {
        self.by_key
            .iter_prefix(prefix.as_bytes())
            .flat_map(|(_, ids)| ids.iter().copied())
            .filter_map(|id| self.row(id))
            .collect()
    }

    /// All variants of one URL: the key is the URL, or the URL and a line of vary values.
    pub(crate) fn with_url(&self, url: &str) -> Vec<Arc<Entry>> {
        let mut found: Vec<_> = match self.by_key.get(url.as_bytes()) {
            Some(ids) => ids.iter().filter_map(|id| self.row(*id)).collect(),
            None => Vec::new(),
        };
        found.extend(self.with_prefix(&format!("{url}\n")));
        found
    }

    /// All entries with this tag.
    pub(crate) fn with_tag(&self, tag: &str) -> Vec<Arc<Entry>> {
        self.by_tag.get(tag).map(|ids| ids.iter().filter_map(|id| self.row(id)).collect()).unwrap_or_default()
    }

    /// Everything.
    pub(crate) fn all(&self) -> Vec<Arc<Entry>> {
        self.rows.iter().flatten().filter_map(Weak::upgrade).collect()
    }

    fn row(&self, id: u32) -> Option<Arc<Entry>> {
        self.rows.get(id as usize).and_then(Option::as_ref).and_then(Weak::upgrade)
    }
}
