//! The indexes that purge asks: by key and prefix (rows in their order) and by tag (bitmaps of row numbers).
//!
//! Rows are compared by the keys of their entries: a key is stored once, in its entry. Not here: the rows (`rows`), how
//! they are kept in order (`order`), marking entries and taking them out (`core`).

use crate::budget::{Budget, Charge};
use crate::entry::Entry;
use crate::order::Order;
use crate::rows::Rows;
use roaring::RoaringBitmap;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) use crate::order::ROW_BYTES;

/// What an entry costs in the bitmap of a tag.
pub(crate) const TAG_ID_BYTES: usize = 4;

/// What a tag costs beside its name: a row in a map less than half full, and the smallest bitmap, which
/// has room for four containers of the crate's, and for four ids in the first.
const TAG_BYTES: u64 = {
    let row = size_of::<(Box<str>, RoaringBitmap)>() + 1;
    (row * 16).div_ceil(7) as u64 + 4 * 40 + 8
};

pub(crate) struct Index {
    by_key: Order,
    by_tag: HashMap<Box<str>, RoaringBitmap>,
    /// For the rows of tags.
    charge: Charge,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Index {{ keys: {}, tags: {} }}", self.by_key.len(), self.by_tag.len())
    }
}

/// Whether the entry of a row comes before this key, or is a variant of it with a lower row.
fn before<'r>(rows: &'r Rows, key: &'r [u8], row: u32) -> impl Fn(u32) -> bool + use<'r> {
    move |other| match rows.entry(other) {
        Some(entry) => (entry.key_bytes(), other) < (key, row),
        None => false,
    }
}

impl Index {
    pub(crate) fn new(budget: &Arc<Budget>) -> Index {
        Index { by_key: Order::default(), by_tag: HashMap::new(), charge: budget.charge(0) }
    }

    /// An entry that has a row.
    pub(crate) fn insert(&mut self, entry: &Entry, rows: &Rows) {
        let row = entry.row.load(Ordering::Relaxed);
        self.by_key.insert(row, before(rows, entry.key_bytes(), row));
        for tag in entry.tags() {
            match self.by_tag.get_mut(tag) {
                Some(rows) => {
                    rows.insert(row);
                }
                None => {
                    self.charge.resize(self.charge.bytes() + TAG_BYTES + tag.len() as u64);
                    self.by_tag.insert(tag.clone(), RoaringBitmap::from_iter([row]));
                }
            }
        }
    }

    /// An entry that still has its row.
    pub(crate) fn remove(&mut self, entry: &Entry, rows: &Rows) {
        let row = entry.row.load(Ordering::Relaxed);
        self.by_key.remove(row, before(rows, entry.key_bytes(), row));
        for tag in entry.tags() {
            let last = self.by_tag.get_mut(tag).is_some_and(|rows| {
                rows.remove(row);
                rows.is_empty()
            });
            if last {
                self.by_tag.remove(tag);
                self.charge.resize(self.charge.bytes() - TAG_BYTES - tag.len() as u64);
            }
        }
        if self.by_tag.len() * 4 < self.by_tag.capacity() {
            self.by_tag.shrink_to(self.by_tag.len() * 2);
        }
    }

    /// What its tags are charged, beside what the entries are.
    pub(crate) fn tags_bytes(&self) -> u64 {
        self.charge.bytes()
    }

    /// The entries from this key on.
    fn from<'r>(&'r self, key: &'r [u8], rows: &'r Rows) -> impl Iterator<Item = &'r Arc<Entry>> {
        self.by_key.from(before(rows, key, 0)).filter_map(|row| rows.entry(row))
    }

    /// All variants whose key begins with `prefix`.
    pub(crate) fn with_prefix(&self, prefix: &str, rows: &Rows) -> Vec<Arc<Entry>> {
        self.from(prefix.as_bytes(), rows)
            .take_while(|entry| entry.key_bytes().starts_with(prefix.as_bytes()))
            .cloned()
            .collect()
    }

    /// All variants of one URL: the key is the URL, or the URL and a line of vary values.
    pub(crate) fn with_url(&self, url: &str, rows: &Rows) -> Vec<Arc<Entry>> {
        let same = self.from(url.as_bytes(), rows).take_while(|entry| entry.key_bytes() == url.as_bytes());
        let mut found: Vec<_> = same.cloned().collect();
        found.extend(self.with_prefix(&format!("{url}\n"), rows));
        found
    }

    /// The rows of all entries with this tag.
    pub(crate) fn with_tag(&self, tag: &str) -> Option<&RoaringBitmap> {
        self.by_tag.get(tag)
    }

    /// Everything.
    pub(crate) fn all(&self, rows: &Rows) -> Vec<Arc<Entry>> {
        self.from(b"", rows).cloned().collect()
    }
}
