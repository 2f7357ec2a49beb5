//! The way a body comes into the cache, and what becomes of it at its end: stored whole, as a part among others, for one
//! question only, or not at all.
//!
//! Dropped before its end it has failed for everyone who reads it. Not here: who waits for it (`fill`), its bytes (`body`).

use crate::body::{Body, Growing, Verbatim};
use crate::chunks::Chunks;
use crate::core::Cache;
use crate::entry::{Entry, EntryHead, With};
use crate::fill::{Fill, FillFailure, abandoned};
use crate::own::OWN_MAX_BYTES;
use crate::parts::Parts;
use bytes::Bytes;
use samovar_policy::of_the_whole;
use samovar_reason::Store;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

/// The way a body comes in. Dropped before `finish`, the body has failed for everyone who reads it.
#[derive(Debug)]
pub struct Sink {
    cache: Arc<Cache>,
    fill: Arc<Fill>,
    growing: Arc<Growing>,
    entry: Arc<Entry>,
    max_bytes: u64,
    refused: Option<Store>,
    open: bool,
}

impl Sink {
    pub(crate) fn new(
        cache: Arc<Cache>,
        fill: Arc<Fill>,
        growing: Arc<Growing>,
        entry: Arc<Entry>,
        max_bytes: u64,
    ) -> Sink {
        Sink { cache, fill, growing, entry, max_bytes, refused: None, open: true }
    }

    /// The entry that is growing.
    pub fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// Whether a purge overtook it: it will not be stored.
    pub fn is_overtaken(&self) -> bool {
        self.fill.doomed.load(Ordering::Acquire)
    }

    /// Why it will not be stored, if that is known by now: its readers go on, and what they have read is dropped.
    pub fn refused(&self) -> Option<Store> {
        self.refused
    }

    /// Takes a piece in. Beyond the largest size stored it is still handed to its readers, and kept no longer; so it is
    /// when the budget is spent on what is arriving, and nothing that is stored could make room.
    pub fn push(&mut self, piece: Bytes) {
        self.growing.push(piece);
        let arrived = self.growing.arrived_bytes();
        let there_is_room = self.cache.make_room();
        if self.refused.is_some() {
            return;
        }
        if arrived > self.max_bytes {
            self.refuse(Store::TooLarge);
        } else if let Some(reason) = self.cache.refuses(arrived) {
            self.refuse(reason);
        } else if !there_is_room {
            self.refuse(Store::BudgetTooSmall);
        }
    }

    /// Gives up storing; readers go on.
    fn refuse(&mut self, reason: Store) {
        self.refused = Some(reason);
        self.cache.forget_fill(&self.fill);
        self.growing.overflow();
    }

    /// Ready when more may come: `false` once it will not be stored and nobody reads it.
    pub fn poll_room(&self, cx: &mut Context<'_>) -> Poll<bool> {
        self.growing.poll_room(cx)
    }

    /// Waits until more may come; `false` if the rest is of no use to anyone.
    pub async fn room(&self) -> bool {
        std::future::poll_fn(|cx| self.poll_room(cx)).await
    }

    /// Requests reading along.
    pub fn readers(&self) -> usize {
        self.growing.readers()
    }

    /// Requests that wait for it and have not begun to read yet.
    pub fn waiting(&self) -> usize {
        self.fill.waiting()
    }

    /// Bytes that came.
    pub fn arrived_bytes(&self) -> u64 {
        self.growing.arrived_bytes()
    }

    /// The body is whole: it is stored, unless it grew too large, stayed too small, or a purge came.
    pub fn finish(self, min_bytes: u64, now_ms: u64) -> Result<Arc<Entry>, Store> {
        self.end(min_bytes, |sink| {
            let entry = sink.whole(now_ms);
            sink.cache.commit(&sink.fill, &entry).map(|()| entry)
        })
    }

    /// The body is the answer to this `range`, good for no other.
    pub fn finish_verbatim(self, range: Box<str>, now_ms: u64) -> Result<Arc<Entry>, Store> {
        self.end(0, |sink| {
            let body = Body::Verbatim(Box::new(Verbatim { range, chunks: sink.chunks() }));
            let entry = sink.entry_with(With::Body(body), now_ms);
            sink.cache.commit(&sink.fill, &entry).map(|()| entry)
        })
    }

    /// The body is a part of `total` bytes, beginning at `start`: it is stored together with what is here of the same
    /// representation. `Err` if it reaches beyond the whole, too.
    pub fn finish_part(self, total: u64, start: u64, now_ms: u64) -> Result<Arc<Entry>, Store> {
        self.end(0, |sink| {
            let chunks = sink.chunks();
            let mut own = sink.entry.head();
            // From here on it is a part among others.
            of_the_whole(&mut own.headers);
            sink.cache.commit_part(&sink.fill, total, &own, |here| {
                let held = here.and_then(|entry| match entry.body() {
                    Body::Parts(parts) => Some(parts),
                    _ => None,
                });
                let parts = match held {
                    Some(held) => held.with(start, chunks),
                    None => Parts::new(total, start, chunks),
                };
                let body = Body::Parts(Arc::new(parts.ok_or(Store::Incomplete)?));
                let (head, answered_ms) = match here {
                    Some(here) => together(here, &own, sink.entry.answered_ms()),
                    None => (own.clone(), sink.entry.answered_ms()),
                };
                Ok(sink.entry_of(&head, body, now_ms, answered_ms))
            })
        })
    }

    /// What came, with the head it came with.
    fn entry_with(&self, with: With<'_>, now_ms: u64) -> Arc<Entry> {
        let requests = self.entry.metered(now_ms, u64::MAX).max(1);
        Arc::new(self.entry.again(with, now_ms, requests))
    }

    /// All that came, as it is stored.
    fn whole(&self, now_ms: u64) -> Arc<Entry> {
        if self.growing.arrived_bytes() > OWN_MAX_BYTES {
            return self.entry_with(With::Body(Body::Chunks(self.chunks())), now_ms);
        }
        let (pieces, _) = self.growing.pieces();
        let pieces: Vec<&[u8]> = pieces.iter().map(|piece| &piece[..]).collect();
        let entry = self.entry_with(With::Bytes(&pieces), now_ms);
        self.growing.settle(entry.whole().unwrap_or_default());
        entry
    }

    fn chunks(&self) -> Arc<Chunks> {
        self.growing.to_chunks()
    }

    fn entry_of(&self, head: &EntryHead, body: Body, now_ms: u64, answered_ms: u64) -> Arc<Entry> {
        let requests = self.entry.metered(now_ms, u64::MAX).max(1);
        let home = self.cache.home(&head.rule);
        let with = With::Body(body);
        Arc::new(Entry::new(&self.fill.key, head, with, home, now_ms, requests, answered_ms))
    }

    fn end(
        mut self,
        min_bytes: u64,
        store: impl FnOnce(&Sink) -> Result<Arc<Entry>, Store>,
    ) -> Result<Arc<Entry>, Store> {
        self.open = false;
        let result = match self.refused {
            Some(reason) => Err(reason),
            None if self.growing.arrived_bytes() < min_bytes => Err(Store::TooSmall),
            None => store(&self),
        };
        if result.is_err() {
            self.cache.forget_fill(&self.fill);
        }
        self.growing.end(Ok(()));
        self.cache.make_room();
        result
    }

    /// The body failed: nothing is stored, readers are told.
    pub fn fail(mut self, failure: FillFailure) {
        self.open = false;
        self.cache.forget_fill(&self.fill);
        self.growing.end(Err(failure));
    }
}

/// The head of what is put together: the newer one's fields (RFC 9110 §15.3.7.3), the tags of both, and when it was said.
fn together(here: &Arc<Entry>, own: &EntryHead, answered_ms: u64) -> (EntryHead, u64) {
    let mut head = if here.answered_ms() > answered_ms { here.head() } else { own.clone() };
    for tag in own.tags.iter().chain(here.tags()) {
        if !head.tags.contains(tag) {
            head.tags.push(tag.clone());
        }
    }
    (head, here.answered_ms().max(answered_ms))
}

impl Drop for Sink {
    fn drop(&mut self) {
        if self.open {
            self.cache.forget_fill(&self.fill);
            self.growing.end(Err(abandoned()));
        }
    }
}
