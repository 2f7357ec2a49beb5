//! One stored answer. It never changes once stored, its state and its counters apart: a 304 or a new fetch makes
//! another entry that may share the body.
//!
//! One allocation for what changes, one for the head and a small body (see `head`, `own`): what lies beside the bytes of a
//! body is paid for a million times. Not here: how a head is packed (`head`), where entries are found (`shard`).

use crate::body::Body;
use crate::budget::Charge;
use crate::forms::{Form, Forms, Making};
use crate::head::{self, Remembered};
use crate::home::Home;
use crate::{evict, fields, index, own, rows, shard};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use samovar_policy::{Freshness, VaryValues};
use samovar_reason::Store;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Whether an entry may be used. Every hot copy points to the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// It may.
    Live = 0,
    /// Purged softly: only after the origin confirmed it, or if the origin fails.
    Soft = 1,
    /// Purged, replaced or evicted: never again.
    Dead = 2,
}

/// What is stored beside the body, as it comes and as it is looked at; an [`Entry`] keeps it packed.
#[derive(Clone, Debug)]
pub struct EntryHead {
    /// Status.
    pub status: StatusCode,
    /// Fields as they are sent, `Age`, `Cache-Status` and hop-by-hop ones apart.
    pub headers: HeaderMap,
    /// Freshness.
    pub freshness: Freshness,
    /// The request fields it varies by, and their values.
    pub vary: VaryValues,
    /// Tags (surrogate keys), for purge.
    pub tags: Vec<Box<str>>,
    /// Why it is stored.
    pub reason: Store,
    /// The rule that was in force.
    pub rule: Arc<str>,
    /// The configuration epoch it was stored under.
    pub epoch: u64,
}

/// One stored answer.
#[derive(Debug)]
pub struct Entry {
    /// Key, what is remembered, fields: see `head`. The end of a body that is its own.
    block: Box<[u8]>,
    held: Held,
    home: Arc<Home>,
    /// What most have none of.
    extra: OnceLock<Box<Extra>>,
    /// Requests in the running window (low 24 bits) and the window's start in ms (the rest).
    meter: AtomicU64,
    /// Requests answered from it in all.
    hits: AtomicU64,
    /// Hot copies on all cores.
    hot_copies: AtomicU32,
    /// Its row; `rows::NO_ROW` while it has none.
    pub(crate) row: AtomicU32,
    key_bytes: u32,
    reason: Store,
    /// See [`State`]; hot copies look here.
    state: AtomicU8,
    /// Use since it was last looked at by eviction, 0 to 3.
    pub(crate) uses: AtomicU8,
    /// The queue it is in, for `evict`.
    pub(crate) queue: AtomicU8,
}

/// The body, in as few bytes here as can be.
#[derive(Debug)]
enum Held {
    /// Its own: what lies beside the block of it.
    Own(Box<[u8]>),
    /// Any other; never [`Body::Own`].
    Other(Box<Body>),
}

/// What an entry is made with.
#[derive(Debug)]
pub(crate) enum With<'b> {
    /// A body as it is.
    Body(Body),
    /// A small one, copied.
    Bytes(&'b [&'b [u8]]),
}

/// Said of every body that is in its entry.
static OWN: Body = Body::Own;

/// What some entries have beside their fields.
#[derive(Clone, Debug, Default)]
struct Extra {
    vary: VaryValues,
    tags: Vec<Box<str>>,
    /// The body in other forms.
    forms: OnceLock<Arc<Forms>>,
}

/// What an answer varies by that varies by nothing.
static NO_VARY: VaryValues = Vec::new();

/// What every entry costs beside its block: itself with its two counts, and its rows.
const OVERHEAD_BYTES: u64 = (size_of::<Entry>() + 2 * size_of::<usize>()) as u64
    + shard::ROW_BYTES
    + evict::ROW_BYTES
    + index::ROW_BYTES;

/// What a shared value costs beside its bytes once it was handed out.
const SHARED_BYTES: usize = 24;

impl Extra {
    fn of(head: &EntryHead) -> Option<Box<Extra>> {
        if head.vary.is_empty() && head.tags.is_empty() {
            return None;
        }
        // Values of a request are slices of the buffer it was read into, which they would keep.
        let own = |value: &HeaderValue| HeaderValue::from_bytes(value.as_bytes()).ok();
        let vary =
            head.vary.iter().map(|(name, value)| (name.clone(), value.as_ref().and_then(own))).collect();
        Some(Box::new(Extra { vary, tags: head.tags.clone(), forms: OnceLock::new() }))
    }

    /// What is charged with the entry. What came later is charged with the forms it came with: what an entry weighs must
    /// not change while it is in a queue.
    fn bytes(&self) -> u64 {
        if self.vary.is_empty() && self.tags.is_empty() {
            return 0;
        }
        let vary = self.vary.iter().map(|(name, value)| {
            size_of::<(HeaderName, Option<HeaderValue>)>()
                + name.as_str().len()
                + value.as_ref().map_or(0, |value| value.len() + SHARED_BYTES)
        });
        let tags = self.tags.iter().map(|tag| size_of::<Box<str>>() + tag.len() + index::TAG_ID_BYTES);
        (size_of::<Extra>() + vary.sum::<usize>() + tags.sum::<usize>()) as u64
    }
}

impl Entry {
    pub(crate) fn new(
        key: &str,
        head: &EntryHead,
        with: With<'_>,
        home: Arc<Home>,
        now_ms: u64,
        requests: u32,
        answered_ms: u64,
    ) -> Entry {
        let block = head::pack(key, head, answered_ms, &home.pairs);
        Entry::charged(&block, key.len(), Extra::of(head), head.reason, with, home, pack(now_ms, requests))
    }

    /// The same head with another body, as yet unused.
    pub(crate) fn again(&self, with: With<'_>, now_ms: u64, requests: u32) -> Entry {
        let head = self.block.len() - self.behind().len();
        // The body is another one, and so are its forms.
        let extra = self.extra.get().map(|extra| Extra { forms: OnceLock::new(), ..(**extra).clone() });
        Entry::charged(
            self.block.get(..head).unwrap_or_default(),
            self.key_bytes as usize,
            extra.map(Box::new),
            self.reason,
            with,
            Arc::clone(&self.home),
            pack(now_ms, requests),
        )
    }

    fn charged(
        head: &[u8],
        key_bytes: usize,
        extra: Option<Box<Extra>>,
        reason: Store,
        with: With<'_>,
        home: Arc<Home>,
        meter: u64,
    ) -> Entry {
        let (block, held) = match with {
            With::Body(body) => (head.into(), Held::Other(Box::new(body))),
            With::Bytes(pieces) => {
                let (block, beside) = own::lay(head, pieces);
                (block, Held::Own(beside))
            }
        };
        let entry = Entry {
            block,
            held,
            home,
            extra: extra.map_or_else(OnceLock::new, OnceLock::from),
            meter: AtomicU64::new(meter),
            hits: AtomicU64::new(0),
            hot_copies: AtomicU32::new(0),
            row: AtomicU32::new(rows::NO_ROW),
            key_bytes: key_bytes as u32,
            reason,
            state: AtomicU8::new(State::Live as u8),
            uses: AtomicU8::new(0),
            queue: AtomicU8::new(0),
        };
        entry.home.budget.take(entry.own_bytes());
        entry
    }

    /// Bytes it is charged: all beside the body, and the body if it is its own.
    fn own_bytes(&self) -> u64 {
        let extra = self.extra.get().map_or(0, |extra| extra.bytes());
        let held = match &self.held {
            Held::Own(beside) => beside.len() as u64,
            Held::Other(body) => size_of::<Body>() as u64 + body.frame_bytes(),
        };
        OVERHEAD_BYTES + self.block.len() as u64 + extra + held
    }

    /// Its body.
    pub fn body(&self) -> &Body {
        match &self.held {
            Held::Own(_) => &OWN,
            Held::Other(body) => body,
        }
    }

    /// The first bytes of a body of its own, which lie beside the block.
    pub(crate) fn beside(&self) -> &[u8] {
        match &self.held {
            Held::Own(beside) => beside,
            Held::Other(_) => &[],
        }
    }

    /// The last bytes of a body of its own, which lie behind the head.
    pub(crate) fn behind(&self) -> &[u8] {
        head::after_fields(self.after_key())
    }

    /// Length of the whole body in bytes if it is known by now and all of it is or will be here.
    pub fn len_bytes(&self) -> Option<u64> {
        match &self.held {
            Held::Own(beside) => Some((beside.len() + self.behind().len()) as u64),
            Held::Other(body) => body.len_bytes(),
        }
    }

    /// Bytes that are held in memory for the body, or announced.
    pub fn held_bytes(&self) -> u64 {
        match &self.held {
            Held::Own(_) => self.len_bytes().unwrap_or(0),
            Held::Other(body) => body.held_bytes(),
        }
    }

    /// The bytes `start..end` of a body that is whole and in memory, as shared slices. Each keeps the body, and its
    /// charge, as long as it is held.
    pub fn slice(self: &Arc<Self>, start: u64, end: u64) -> Option<Vec<Bytes>> {
        match self.body() {
            Body::Own => Some(own::slice(self, start, end)),
            Body::Chunks(chunks) => Some(chunks.slice(start, end)),
            Body::Growing(_) | Body::Parts(_) | Body::Verbatim(_) | Body::Extent(_) => None,
        }
    }

    /// All of a body that is whole and in memory.
    pub fn whole(self: &Arc<Self>) -> Option<Vec<Bytes>> {
        self.slice(0, self.len_bytes()?)
    }

    /// Its key.
    pub fn key(&self) -> &str {
        std::str::from_utf8(self.key_bytes()).unwrap_or_default()
    }

    /// Its key, as it is compared.
    pub(crate) fn key_bytes(&self) -> &[u8] {
        self.block.get(..self.key_bytes as usize).unwrap_or_default()
    }

    fn after_key(&self) -> &[u8] {
        self.block.get(self.key_bytes as usize..).unwrap_or_default()
    }

    fn remembered(&self) -> Remembered {
        head::remembered(self.after_key())
    }

    /// Status.
    pub fn status(&self) -> StatusCode {
        head::status(self.after_key())
    }

    /// How long it stays fresh.
    pub fn freshness(&self) -> Freshness {
        self.remembered().freshness
    }

    /// When its head came, or was confirmed, ms: what came later is newer, however long its body took.
    pub(crate) fn answered_ms(&self) -> u64 {
        self.remembered().answered_ms
    }

    /// The configuration epoch it was stored under.
    pub fn epoch(&self) -> u64 {
        self.remembered().epoch
    }

    /// Its fields as they are sent, `Age`, `Cache-Status` and hop-by-hop ones apart. They are slices of one copy.
    pub fn headers(&self) -> HeaderMap {
        fields::unpack(head::packed_fields(self.after_key()), &self.home.pairs)
    }

    /// The first value of one field.
    pub fn field(&self, name: &HeaderName) -> Option<HeaderValue> {
        fields::first(head::packed_fields(self.after_key()), &self.home.pairs, name)
    }

    /// The request fields it varies by, and their values.
    pub fn vary(&self) -> &VaryValues {
        self.extra.get().map_or(&NO_VARY, |extra| &extra.vary)
    }

    /// Its tags (surrogate keys), for purge.
    pub fn tags(&self) -> &[Box<str>] {
        self.extra.get().map_or(&[], |extra| &extra.tags)
    }

    /// The body in another form, by its number.
    pub fn form(&self, number: usize) -> Form {
        self.forms().map_or(Form::Unmade, |forms| forms.get(number))
    }

    /// Begins to make a form of a body that is whole and in memory; `None` if somebody else has, or it was made.
    pub fn make_form(&self, number: usize) -> Option<Making> {
        if !matches!(self.body(), Body::Own | Body::Chunks(_)) {
            return None;
        }
        let extra = self.extra.get_or_init(Box::default);
        let late = if extra.bytes() == 0 { size_of::<Extra>() } else { 0 };
        extra.forms.get_or_init(|| Forms::new(&self.home.budget, late)).begin(number)
    }

    /// Bytes held for forms of the body, beside [`Entry::weight_bytes`].
    pub fn forms_bytes(&self) -> u64 {
        self.forms().map_or(0, |forms| forms.held_bytes())
    }

    fn forms(&self) -> Option<&Arc<Forms>> {
        self.extra.get()?.forms.get()
    }

    /// Its body is that of `other`, and so are its forms.
    pub(crate) fn share_forms(&self, other: &Entry) {
        if let Some(forms) = other.forms() {
            // It is new, so nothing is there yet.
            let _ = self.extra.get_or_init(Box::default).forms.set(Arc::clone(forms));
        }
    }

    /// Why it is stored.
    pub fn reason(&self) -> Store {
        self.reason
    }

    /// The rule that was in force.
    pub fn rule(&self) -> &Arc<str> {
        &self.home.rule
    }

    /// All that is stored beside the body, for an entry that is made out of this one.
    pub fn head(&self) -> EntryHead {
        let Remembered { freshness, epoch, .. } = self.remembered();
        EntryHead {
            status: self.status(),
            headers: self.headers(),
            freshness,
            vary: self.vary().clone(),
            tags: self.tags().to_vec(),
            reason: self.reason,
            rule: Arc::clone(&self.home.rule),
            epoch,
        }
    }

    /// Its state now.
    pub fn state(&self) -> State {
        match self.state.load(Ordering::Acquire) {
            0 => State::Live,
            1 => State::Soft,
            _ => State::Dead,
        }
    }

    /// The state's cell, for hot copies.
    pub fn state_cell(&self) -> &AtomicU8 {
        &self.state
    }

    /// Marks it; a state never goes back.
    pub(crate) fn mark(&self, state: State) {
        self.state.fetch_max(state as u8, Ordering::AcqRel);
    }

    /// Counts a use for eviction and a hit for people.
    pub(crate) fn touch(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
        if self.uses.load(Ordering::Relaxed) < 3 {
            self.uses.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Requests answered from it.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Adds hits that were answered elsewhere (the hot tier).
    pub fn add_hits(&self, n: u64) {
        self.hits.fetch_add(n, Ordering::Relaxed);
        self.uses.store(3, Ordering::Relaxed);
    }

    /// Counts one request and returns how many came within `period_ms`, this one and the filling one included.
    pub fn meter(&self, now_ms: u64, period_ms: u64) -> u32 {
        let mut seen = 0;
        // The closure always returns Some, so the result carries nothing.
        let _ = self.meter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |packed| {
            let (ago_ms, count) = unpack(packed, now_ms);
            if ago_ms > period_ms {
                seen = 1;
                return Some(pack(now_ms, 1));
            }
            seen = count.saturating_add(1);
            Some(pack(now_ms.wrapping_sub(ago_ms), seen))
        });
        seen
    }

    /// Requests in the running window, without counting one.
    pub fn metered(&self, now_ms: u64, period_ms: u64) -> u32 {
        let (ago_ms, count) = unpack(self.meter.load(Ordering::Relaxed), now_ms);
        if ago_ms > period_ms { 0 } else { count }
    }

    /// True while some core has it prepared.
    pub fn is_hot(&self) -> bool {
        self.hot_copies.load(Ordering::Relaxed) > 0
    }

    /// A handle for a prepared copy: it keeps the body charged, pays for the copy's own head, and is counted.
    pub fn hot_copy(self: &Arc<Self>, charge: Charge) -> HotCopy {
        self.hot_copies.fetch_add(1, Ordering::Relaxed);
        self.home.budget.hot(charge.bytes(), true);
        HotCopy { entry: Arc::clone(self), charge }
    }

    /// What it costs, bytes.
    pub fn weight_bytes(&self) -> u64 {
        let others = match &self.held {
            Held::Own(_) => 0,
            Held::Other(body) => body.held_bytes(),
        };
        self.own_bytes() + others
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.home.budget.give_back(self.own_bytes());
    }
}

/// What a prepared copy holds on to; see [`Entry::hot_copy`].
#[derive(Debug)]
pub struct HotCopy {
    entry: Arc<Entry>,
    charge: Charge,
}

impl HotCopy {
    /// The entry it was made of.
    pub fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }
}

impl Drop for HotCopy {
    fn drop(&mut self) {
        self.entry.hot_copies.fetch_sub(1, Ordering::Relaxed);
        self.entry.home.budget.hot(self.charge.bytes(), false);
    }
}

const COUNT_BITS: u32 = 24;
const COUNT_MAX: u32 = (1 << COUNT_BITS) - 1;

/// The start keeps its low 40 bits: windows are compared modulo 34 years.
const START_MASK: u64 = u64::MAX >> COUNT_BITS;

fn pack(start_ms: u64, count: u32) -> u64 {
    (start_ms << COUNT_BITS) | u64::from(count.min(COUNT_MAX))
}

/// How long ago the window began, and the count.
fn unpack(packed: u64, now_ms: u64) -> (u64, u32) {
    let start = packed >> COUNT_BITS;
    ((now_ms.wrapping_sub(start)) & START_MASK, (packed & u64::from(COUNT_MAX)) as u32)
}

#[cfg(test)]
mod tests {
    use super::{COUNT_MAX, START_MASK, pack, unpack};

    #[test]
    fn a_window_is_read_back_at_any_moment_of_the_clock() {
        for start in [0, 1, 5_000, START_MASK - 10, START_MASK, START_MASK + 7, 1 << 41, u64::MAX / 2] {
            for count in [0, 1, 77, COUNT_MAX] {
                assert_eq!(unpack(pack(start, count), start + 123), (123, count), "start {start}");
            }
        }
        assert_eq!(unpack(pack(9, u32::MAX), 9), (0, COUNT_MAX), "the count stops, it does not wrap");
    }
}
