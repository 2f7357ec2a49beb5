//! Purging: what may not answer any more is marked first, and then taken out.
//!
//! A purge holds from the moment it returns, for what is stored and for what is on its way. Not here: where entries are
//! found (`index`), what a mark means (`entry`).

use super::{Cache, lock};
use crate::entry::{Entry, State};
use crate::fill::Fill;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What to purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Every variant of one URL.
    Url(&'a str),
    /// Every key that begins so.
    Prefix(&'a str),
    /// Every entry with this tag. Any running fill may turn out to carry it.
    Tag(&'a str),
    /// Every entry with this tag, and the running fills whose answers may be made of `owner`.
    Made {
        /// The tag.
        tag: &'a str,
        /// One of the fill's [`Ask::owners`].
        owner: &'a str,
    },
    /// Everything.
    All,
}

/// What a purge did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Its number; grows by one with each purge.
    pub sequence: u64,
    /// Entries marked.
    pub entries: u64,
    /// Their weight, bytes.
    pub bytes: u64,
    /// Running fills that will not be stored, or will not if they turn out to carry the tag.
    pub fills: u64,
}

impl Cache {
    /// Marks what `scope` names and returns: from now on it answers nothing, whichever core asks. Running fills that
    /// match are not stored, and nobody joins them any more; by tag, those whose tags are not known yet are not joined
    /// until they are.
    pub fn purge(&self, scope: Scope<'_>, soft: bool) -> Receipt {
        self.purging.fetch_add(1, Ordering::AcqRel);
        let receipt = self.purge_now(scope, soft);
        self.purging.fetch_sub(1, Ordering::AcqRel);
        receipt
    }

    fn purge_now(&self, scope: Scope<'_>, soft: bool) -> Receipt {
        let mut receipt = Receipt {
            sequence: self.purges.fetch_add(1, Ordering::AcqRel) + 1,
            entries: 0,
            bytes: 0,
            fills: 0,
        };
        // Fills first: one that commits before this pass is in the index by the time the index is asked.
        for shard in &self.shards {
            for fill in lock(shard).flying().filter(|f| in_scope(f, scope)) {
                match scope {
                    Scope::Tag(tag) => fill.purge_tag(tag),
                    _ => fill.doomed.store(true, Ordering::Release),
                }
                receipt.fills += u64::from(fill.may_be_purged());
            }
        }
        let found = {
            let known = lock(&self.known);
            match scope {
                Scope::Url(url) => known.index.with_url(url, known.queues.rows()),
                Scope::Prefix(prefix) => known.index.with_prefix(prefix, known.queues.rows()),
                Scope::Tag(tag) | Scope::Made { tag, .. } => known.with_tag(tag),
                Scope::All => known.index.all(known.queues.rows()),
            }
        };
        for entry in &found {
            entry.mark(if soft { State::Soft } else { State::Dead });
            receipt.entries += 1;
            receipt.bytes += entry.weight_bytes();
        }
        if !soft {
            for entry in &found {
                self.take_out(entry);
            }
        }
        receipt
    }

    /// The tags of all that is stored for a URL.
    pub fn tags_of(&self, url: &str) -> Vec<Box<str>> {
        let mut tags: Vec<Box<str>> =
            self.of_url(url).iter().flat_map(|entry| entry.tags().to_vec()).collect();
        tags.sort_unstable();
        tags.dedup();
        tags
    }

    /// Marks one entry as a soft purge would: something was learnt that speaks against it.
    pub fn doubt(&self, entry: &Entry) {
        entry.mark(State::Soft);
    }

    /// Drops one entry for good: the origin has given a newer answer that is not stored in its place.
    pub fn drop_entry(&self, entry: &Arc<Entry>) {
        entry.mark(State::Dead);
        self.take_out(entry);
    }
}

fn in_scope(fill: &Fill, scope: Scope<'_>) -> bool {
    let key = &fill.key;
    match scope {
        Scope::Url(url) => {
            key.strip_prefix(url).is_some_and(|rest| rest.is_empty() || rest.starts_with('\n'))
        }
        Scope::Prefix(prefix) => key.starts_with(prefix),
        Scope::Made { owner, .. } => fill.owners.iter().any(|o| **o == *owner),
        // Its tags come with its head; until it is stored nobody can tell.
        Scope::Tag(_) | Scope::All => true,
    }
}
