//! The indexes that purge asks: by key and prefix (a sorted tree) and by tag (bitmaps of row numbers).
//!
//! The tree is of pointers, compared by the keys of the entries: a key is stored once, in its entry. Not here: the rows
//! (`evict`), marking entries and taking them out (`core`).

use crate::budget::{Budget, Charge};
use crate::entry::Entry;
use roaring::RoaringBitmap;
use std::borrow::Borrow;
use std::cmp::Ordering as Order;
use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What an entry costs in the tree. A leaf has room for eleven and holds six where keys come in their order; one for
/// every six leaves, with twelve pointers more, lies above them.
pub(crate) const ROW_BYTES: u64 = {
    let leaf = 11 * size_of::<Arc<Entry>>() + 16;
    let above = leaf + 12 * size_of::<usize>();
    (leaf.div_ceil(6) + above.div_ceil(36)) as u64
};

/// What an entry costs in the bitmap of a tag.
pub(crate) const TAG_ID_BYTES: usize = 4;

/// What a tag costs beside its name: a row in a map less than half full, and the smallest bitmap, which
/// has room for four containers of the crate's, and for four ids in the first.
const TAG_BYTES: u64 = {
    let row = size_of::<(Box<str>, RoaringBitmap)>() + 1;
    (row * 16).div_ceil(7) as u64 + 4 * 40 + 8
};

pub(crate) struct Index {
    by_key: BTreeSet<Row>,
    by_tag: HashMap<Box<str>, RoaringBitmap>,
    /// For the rows of tags.
    charge: Charge,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Index {{ keys: {}, tags: {} }}", self.by_key.len(), self.by_tag.len())
    }
}

/// An entry in its place: by key, the variants of one key by their row.
#[derive(Debug)]
struct Row(Arc<Entry>);

/// What rows and bounds of a search have in common.
trait Place {
    fn place(&self) -> (&[u8], u32);
}

impl Place for Row {
    fn place(&self) -> (&[u8], u32) {
        (self.0.key_bytes(), self.0.row.load(Ordering::Relaxed))
    }
}

impl Place for (&[u8], u32) {
    fn place(&self) -> (&[u8], u32) {
        *self
    }
}

impl<'a> Borrow<dyn Place + 'a> for Row {
    fn borrow(&self) -> &(dyn Place + 'a) {
        self
    }
}

impl Ord for dyn Place + '_ {
    fn cmp(&self, other: &Self) -> Order {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for dyn Place + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn Place + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for dyn Place + '_ {}

impl Ord for Row {
    fn cmp(&self, other: &Self) -> Order {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for Row {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Row {}

impl Index {
    pub(crate) fn new(budget: &Arc<Budget>) -> Index {
        Index { by_key: BTreeSet::new(), by_tag: HashMap::new(), charge: budget.charge(0) }
    }

    /// An entry that has a row.
    pub(crate) fn insert(&mut self, entry: &Arc<Entry>) {
        self.by_key.insert(Row(Arc::clone(entry)));
        let row = entry.row.load(Ordering::Relaxed);
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
    pub(crate) fn remove(&mut self, entry: &Arc<Entry>) {
        let row = entry.row.load(Ordering::Relaxed);
        let place: (&[u8], u32) = (entry.key_bytes(), row);
        self.by_key.remove(&place as &dyn Place);
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
    fn from(&self, key: &[u8]) -> impl Iterator<Item = &Arc<Entry>> {
        let first: (&[u8], u32) = (key, 0);
        let bounds = (Bound::Included(&first as &dyn Place), Bound::<&dyn Place>::Unbounded);
        self.by_key.range::<dyn Place, _>(bounds).map(|row| &row.0)
    }

    /// All variants whose key begins with `prefix`.
    pub(crate) fn with_prefix(&self, prefix: &str) -> Vec<Arc<Entry>> {
        self.from(prefix.as_bytes())
            .take_while(|entry| entry.key_bytes().starts_with(prefix.as_bytes()))
            .cloned()
            .collect()
    }

    /// All variants of one URL: the key is the URL, or the URL and a line of vary values.
    pub(crate) fn with_url(&self, url: &str) -> Vec<Arc<Entry>> {
        let same = self.from(url.as_bytes()).take_while(|entry| entry.key_bytes() == url.as_bytes());
        let mut found: Vec<_> = same.cloned().collect();
        found.extend(self.with_prefix(&format!("{url}\n")));
        found
    }

    /// The rows of all entries with this tag.
    pub(crate) fn with_tag(&self, tag: &str) -> Option<&RoaringBitmap> {
        self.by_tag.get(tag)
    }

    /// Everything.
    pub(crate) fn all(&self) -> Vec<Arc<Entry>> {
        self.by_key.iter().map(|row| Arc::clone(&row.0)).collect()
    }
}
