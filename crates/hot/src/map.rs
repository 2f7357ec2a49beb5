//! One core's prepared answers, found by the raw bytes of a request.
//!
//! The key is compared in full, never by hash alone; the hash is seeded at random. A hit writes nothing that
//! another core reads, takes no lock and allocates nothing.
//!
//! Not here: which answers belong here (the server grants them), and their bodies' memory (the cache's entries
//! share and account for them; the map counts keys and heads).

use crate::head::{Framing, Head};
use crate::prepared::Prepared;
use bytes::Bytes;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use http::{HeaderMap, HeaderName};
use samovar_policy::{Claim, claimed};
use samovar_reason::Hot;
use smallvec::SmallVec;
use std::cell::Cell;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

/// Most answers under one host and target; the one asked for least recently is replaced.
const VARIANTS_MAX: usize = 16;
/// Requests with more fields go to the engine: looking them over would cost more than it saves.
const FIELDS_MAX: usize = 64;
/// How many slots an eviction looks at for the one asked for least recently.
const EVICT_SAMPLE: usize = 16;
/// How many places it passes over for that, empty ones counted, once it has found one.
const EVICT_STEPS: usize = 256;
/// How many leave with one insertion, at most.
const EVICTIONS_AT_ONCE: usize = 64;

/// Says of a Cookie value whether every cookie in it is irrelevant.
pub type CookieMatcher = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// What the cookies of a request do to an answer.
#[derive(Clone)]
pub enum CookieWish {
    /// Any Cookie field refuses.
    RefuseAny,
    /// Cookies do not matter.
    IgnoreAll,
    /// They matter unless this says otherwise.
    Matcher(CookieMatcher),
}

/// The raw value of one request field an answer depends on; `None` if the request lacked the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaryValue {
    /// The field.
    pub name: HeaderName,
    /// Its only line's value, without surrounding whitespace.
    pub value: Option<Bytes>,
}

impl VaryValue {
    /// The values of `names` in a request; `None` if one came in several lines (never hot: the engine decides
    /// what several lines mean).
    pub fn of<'n>(
        names: impl IntoIterator<Item = &'n HeaderName>,
        request: &HeaderMap,
    ) -> Option<Vec<VaryValue>> {
        let value_of = |name: &HeaderName| {
            let mut lines = request.get_all(name).iter();
            let value = lines.next().map(|v| Bytes::copy_from_slice(v.as_bytes()));
            lines.next().is_none().then(|| VaryValue { name: name.clone(), value })
        };
        names.into_iter().map(value_of).collect()
    }
}

/// The server's word that requests with these bytes get this answer.
#[derive(Clone)]
pub struct Grant {
    /// What the connection contributes to the answer: listener, TLS or not, a trusted peer. See
    /// [`crate::Accepted::listener`].
    pub listener: u32,
    /// The raw Host value; empty for requests of HTTP/1.0 without one.
    pub host: Bytes,
    /// The raw request target, in origin form.
    pub target: Bytes,
    /// Equal raw values of these fields mean the same answer.
    pub vary: Vec<VaryValue>,
    /// What cookies do.
    pub cookies: CookieWish,
    /// Request `Cache-Control` and `Pragma` do not matter if they hold nothing but `no-cache` and `max-age=0`.
    pub ignore_cache_control: bool,
    /// A HEAD for it would be answered from the same entry under the same rule.
    pub heads: bool,
    /// How many fields of the request claim another target, which then are all in `vary`; `None` if the engine drops such
    /// claims, as those of a peer that is not trusted.
    pub claims: Option<usize>,
    /// The answer.
    pub prepared: Arc<Prepared>,
}

/// How much one core's map may hold.
#[derive(Clone, Copy, Debug)]
pub struct MapBounds {
    /// Answers.
    pub entries_max: usize,
    /// Keys, heads and bookkeeping.
    pub bytes_max: usize,
    /// Answers nobody asked for so long are dropped.
    pub idle_drop_ms: u64,
}

impl Default for MapBounds {
    fn default() -> MapBounds {
        MapBounds { entries_max: 100_000, bytes_max: 64 << 20, idle_drop_ms: 120_000 }
    }
}

struct Variant {
    vary: Box<[VaryValue]>,
    cookies: CookieWish,
    ignore_cache_control: bool,
    heads: bool,
    claims: Option<usize>,
    prepared: Arc<Prepared>,
    used_ms: Cell<u64>,
    bytes: usize,
}

struct Slot {
    hash: u64,
    listener: u32,
    /// Host, then target.
    key: Box<[u8]>,
    host_len: usize,
    /// One, as a rule, and then without another place to look.
    variants: SmallVec<[Variant; 1]>,
}

/// One answer of the map, for listings.
#[derive(Debug)]
pub struct Listed<'m> {
    /// The raw Host value.
    pub host: &'m [u8],
    /// The raw request target.
    pub target: &'m [u8],
    /// The request fields it depends on.
    pub vary: &'m [VaryValue],
    /// The answer.
    pub prepared: &'m Arc<Prepared>,
    /// When it was last asked for, monotonic.
    pub used_ms: u64,
}

/// One core's prepared answers.
pub struct HotMap {
    index: HashTable<usize>,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    seed: RandomState,
    bounds: MapBounds,
    entries: usize,
    bytes: usize,
    evictions: u64,
    cursor: usize,
}

impl HotMap {
    /// An empty map.
    pub fn new(bounds: MapBounds) -> HotMap {
        HotMap {
            index: HashTable::new(),
            slots: Vec::new(),
            free: Vec::new(),
            seed: RandomState::default(),
            bounds,
            entries: 0,
            bytes: 0,
            evictions: 0,
            cursor: 0,
        }
    }

    /// Answers held.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// Bytes of keys, heads and bookkeeping.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Answers that left for others so far.
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    /// Changes the bounds; takes effect with the next insertion and sweeps.
    pub fn set_bounds(&mut self, bounds: MapBounds) {
        self.bounds = bounds;
    }

    /// Every answer held.
    pub fn list(&self) -> impl Iterator<Item = Listed<'_>> {
        self.slots.iter().flatten().flat_map(|slot| {
            let (host, target) = slot.key.split_at_checked(slot.host_len).unwrap_or_default();
            slot.variants.iter().map(move |v| Listed {
                host,
                target,
                vary: &v.vary,
                prepared: &v.prepared,
                used_ms: v.used_ms.get(),
            })
        })
    }

    /// The answer to a request, or why there is none here.
    pub fn look(
        &self,
        listener: u32,
        head: &Head<'_, '_>,
        now_ms: u64,
        epoch: u64,
    ) -> Result<&Arc<Prepared>, Hot> {
        may_be_hot(head)?;
        // No `Host` is not an empty one, which the engine refuses.
        let host = match head.host() {
            Some(b"") => return Err(Hot::UnknownTarget),
            host => host.unwrap_or_default(),
        };
        let slot = self.find(listener, host, head.target.as_bytes()).ok_or(Hot::UnknownTarget)?;
        let mut why = Hot::UnknownVariant;
        for variant in &slot.variants {
            match variant.answers(head).and_then(|()| variant.prepared.check(now_ms, epoch)) {
                Ok(()) => {
                    variant.used_ms.set(now_ms);
                    return Ok(&variant.prepared);
                }
                // What says most about this request: a variant that matched but may not be sent.
                Err(Hot::UnknownVariant) => {}
                Err(other) => why = other,
            }
        }
        Err(why)
    }

    fn hash(&self, listener: u32, host: &[u8], target: &[u8]) -> u64 {
        let mut hasher = self.seed.build_hasher();
        hasher.write_u32(listener);
        hasher.write(host);
        hasher.write(target);
        hasher.finish()
    }

    fn find(&self, listener: u32, host: &[u8], target: &[u8]) -> Option<&Slot> {
        let hash = self.hash(listener, host, target);
        let same = |&at: &usize| self.slot(at).is_some_and(|slot| slot.is(listener, host, target));
        self.index.find(hash, same).and_then(|&at| self.slot(at))
    }

    fn slot(&self, at: usize) -> Option<&Slot> {
        self.slots.get(at).and_then(Option::as_ref)
    }

    /// Takes a grant in, in place of one with the same key and request fields. `Err` if it is dead already or
    /// alone exceeds the bounds.
    pub fn insert(&mut self, grant: Grant, now_ms: u64) -> Result<(), Hot> {
        grant.prepared.check(now_ms, grant.prepared.life().epoch)?;
        let variant = Variant::new(&grant, now_ms);
        if variant.bytes + slot_bytes(grant.host.len() + grant.target.len()) > self.bounds.bytes_max
            || self.bounds.entries_max == 0
        {
            return Err(Hot::TooLarge);
        }
        let at = self.slot_for(&grant);
        let Some(slot) = self.slots.get_mut(at).and_then(Option::as_mut) else { return Err(Hot::NotStored) };
        let same = slot.variants.iter().position(|v| v.vary == variant.vary);
        let oldest = (slot.variants.len() >= VARIANTS_MAX).then(|| slot.least_recent()).flatten();
        if let Some(old) = same.or(oldest) {
            let old = slot.variants.swap_remove(old);
            self.entries -= 1;
            self.bytes -= old.bytes;
        }
        self.entries += 1;
        self.bytes += variant.bytes;
        slot.variants.push(variant);
        // After bounds were lowered the rest is up to the sweep.
        for _ in 0..EVICTIONS_AT_ONCE {
            if self.is_within_bounds() || !self.evict_one(at) {
                break;
            }
        }
        Ok(())
    }

    /// The slot of a grant's key, made if there is none.
    fn slot_for(&mut self, grant: &Grant) -> usize {
        let (host, target) = (&grant.host[..], &grant.target[..]);
        let hash = self.hash(grant.listener, host, target);
        let slots = &self.slots;
        let same = |&at: &usize| {
            slots.get(at).and_then(Option::as_ref).is_some_and(|s| s.is(grant.listener, host, target))
        };
        if let Some(&at) = self.index.find(hash, same) {
            return at;
        }
        let key: Box<[u8]> = [host, target].concat().into();
        self.bytes += slot_bytes(key.len());
        let slot =
            Slot { hash, listener: grant.listener, key, host_len: host.len(), variants: SmallVec::new() };
        let at = self.free.pop().unwrap_or(self.slots.len());
        match self.slots.get_mut(at) {
            Some(place) => *place = Some(slot),
            None => self.slots.push(Some(slot)),
        }
        let slots = &self.slots;
        let rehash = |&at: &usize| slots.get(at).and_then(Option::as_ref).map_or(0, |s| s.hash);
        self.index.insert_unique(hash, at, rehash);
        at
    }

    /// Drops the least recently asked for of a few answers, but never the newest of `keep`; `false` if there is
    /// no other.
    fn evict_one(&mut self, keep: usize) -> bool {
        let len = self.slots.len();
        let mut worst: Option<(u64, usize)> = None;
        let mut looked = 0;
        let mut steps = 0;
        for step in 0..len {
            let at = (self.cursor + step) % len;
            let Some(slot) = self.slot(at) else { continue };
            if at == keep && slot.variants.len() == 1 {
                continue;
            }
            let used = slot.least_recent().and_then(|v| slot.variants.get(v)).map_or(0, |v| v.used_ms.get());
            if worst.is_none_or(|(least, _)| used < least) {
                worst = Some((used, at));
            }
            looked += 1;
            steps = step + 1;
            // Where places are empty it is content with fewer.
            if looked == EVICT_SAMPLE || steps >= EVICT_STEPS {
                break;
            }
        }
        self.cursor = (self.cursor + steps) % len.max(1);
        let Some((_, at)) = worst else { return false };
        if let Some(slot) = self.slots.get_mut(at).and_then(Option::as_mut)
            && let Some(oldest) = slot.least_recent()
        {
            self.bytes -= slot.variants.swap_remove(oldest).bytes;
            self.entries -= 1;
            self.evictions += 1;
        }
        self.drop_if_empty(at);
        true
    }

    /// Looks at the next `slots_max` slots and drops answers that are dead, stale, of an older configuration, or
    /// idle. Call it a few times a second; one call takes a few microseconds per hundred slots.
    pub fn sweep(&mut self, now_ms: u64, epoch: u64, slots_max: usize) {
        for _ in 0..slots_max.min(self.slots.len()) {
            let at = self.cursor % self.slots.len();
            self.cursor = at + 1;
            let Some(slot) = self.slots.get_mut(at).and_then(Option::as_mut) else { continue };
            let idle_drop_ms = self.bounds.idle_drop_ms;
            let (mut entries, mut bytes) = (0, 0);
            slot.variants.retain(|v| {
                let keep = v.prepared.check(now_ms, epoch).is_ok()
                    && now_ms.saturating_sub(v.used_ms.get()) < idle_drop_ms;
                if !keep {
                    entries += 1;
                    bytes += v.bytes;
                }
                keep
            });
            self.entries -= entries;
            self.bytes -= bytes;
            self.drop_if_empty(at);
        }
        // Bounds that were lowered hold though nothing comes.
        for _ in 0..4 * slots_max {
            if self.is_within_bounds() || !self.evict_one(usize::MAX) {
                break;
            }
        }
        if self.slots.len() > 4 * (self.slots.len() - self.free.len()) + 1_024 {
            self.move_together();
        }
    }

    fn is_within_bounds(&self) -> bool {
        self.entries <= self.bounds.entries_max && self.bytes <= self.bounds.bytes_max
    }

    /// Gives up places that are empty: looking for what may leave passes over them one by one.
    fn move_together(&mut self) {
        self.slots.retain(Option::is_some);
        self.slots.shrink_to_fit();
        self.free = Vec::new();
        self.cursor = 0;
        self.index = HashTable::with_capacity(self.slots.len());
        let slots = &self.slots;
        let hash_of = |at: usize| slots.get(at).and_then(Option::as_ref).map_or(0, |slot| slot.hash);
        for at in 0..slots.len() {
            self.index.insert_unique(hash_of(at), at, |&at| hash_of(at));
        }
    }

    fn drop_if_empty(&mut self, at: usize) {
        let Some(slot) = self.slot(at) else { return };
        if !slot.variants.is_empty() {
            return;
        }
        let (hash, bytes) = (slot.hash, slot_bytes(slot.key.len()));
        if let Ok(found) = self.index.find_entry(hash, |&other| other == at) {
            found.remove();
        }
        if let Some(place) = self.slots.get_mut(at) {
            *place = None;
        }
        self.free.push(at);
        self.bytes -= bytes;
    }
}

impl Slot {
    fn is(&self, listener: u32, host: &[u8], target: &[u8]) -> bool {
        self.listener == listener
            && self.host_len == host.len()
            && self.key.len() == host.len() + target.len()
            && self.key.starts_with(host)
            && self.key.ends_with(target)
    }

    fn least_recent(&self) -> Option<usize> {
        self.variants.iter().enumerate().min_by_key(|(_, v)| v.used_ms.get()).map(|(at, _)| at)
    }
}

impl Variant {
    fn new(grant: &Grant, now_ms: u64) -> Variant {
        let values: usize = grant.vary.iter().map(|v| v.value.as_ref().map_or(0, Bytes::len)).sum();
        Variant {
            vary: grant.vary.clone().into(),
            cookies: grant.cookies.clone(),
            ignore_cache_control: grant.ignore_cache_control,
            heads: grant.heads,
            claims: grant.claims,
            bytes: size_of::<Variant>()
                + grant.vary.len() * size_of::<VaryValue>()
                + values
                + grant.prepared.head_bytes(),
            prepared: Arc::clone(&grant.prepared),
            used_ms: Cell::new(now_ms),
        }
    }

    /// Whether the request's own fields allow this answer.
    fn answers(&self, head: &Head<'_, '_>) -> Result<(), Hot> {
        if !self.vary.iter().all(|wanted| wanted.is_in(head)) {
            return Err(Hot::UnknownVariant);
        }
        if self.claims.is_some_and(|count| count != claims_of_target(head)) {
            return Err(Hot::UnknownVariant);
        }
        if !self.heads && head.method != "GET" {
            return Err(Hot::MethodNotHot);
        }
        if head.seen.reload && !self.ignore_cache_control {
            return Err(Hot::HasCacheControl);
        }
        match (&self.cookies, head.seen.cookie.value(&head.fields)) {
            (_, None) | (CookieWish::IgnoreAll, _) => Ok(()),
            (CookieWish::Matcher(all_irrelevant), Some(cookies)) if head.seen.cookie_lines == 1 => {
                if all_irrelevant(cookies) {
                    Ok(())
                } else {
                    Err(Hot::HasCookie)
                }
            }
            _ => Err(Hot::HasCookie),
        }
    }
}

impl VaryValue {
    /// Whether the head has exactly this value, in one line, or lacks the field where that is what is wanted.
    fn is_in(&self, head: &Head<'_, '_>) -> bool {
        let name = self.name.as_str().as_bytes();
        let mut lines = head.fields.iter().filter(|(found, _)| found.eq_ignore_ascii_case(name));
        let value = lines.next().map(|(_, value)| value);
        value == self.value.as_deref() && (value.is_none() || lines.next().is_none())
    }
}

/// How many fields claim another target, as far as the engine takes them for that: it drops those by another name.
fn claims_of_target(head: &Head<'_, '_>) -> usize {
    let names = head.fields.iter().filter_map(|(name, _)| claimed(name));
    names.filter(|claimed| claimed.claim == Claim::Target && !claimed.alias).count()
}

/// What every hot request must be, whatever is granted.
fn may_be_hot(head: &Head<'_, '_>) -> Result<(), Hot> {
    let seen = &head.seen;
    let refusals = [
        (head.method != "GET" && head.method != "HEAD", Hot::MethodNotHot),
        (seen.upgrade, Hot::HasUpgrade),
        (seen.method_override, Hot::HasMethodOverride),
        (seen.odd_connection, Hot::ConnectionOptions),
        (head.framing != Framing::None, Hot::HasBody),
        (seen.expect, Hot::HasExpect),
        (seen.authorization, Hot::HasAuthorization),
        (seen.condition, Hot::HasCondition),
        (seen.directives, Hot::HasCacheControl),
        (!head.target.starts_with('/'), Hot::TargetForm),
        (head.fields.len() > FIELDS_MAX, Hot::TooManyFields),
    ];
    match refusals.iter().find(|(refused, _)| *refused) {
        None => Ok(()),
        Some((_, why)) => Err(*why),
    }
}

/// Bookkeeping of one key: the slot without room for an answer, its key, its index entry.
fn slot_bytes(key_len: usize) -> usize {
    size_of::<Option<Slot>>() - size_of::<Variant>() + key_len + 16
}

#[cfg(test)]
mod tests;
