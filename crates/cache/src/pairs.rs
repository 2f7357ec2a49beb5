//! Fields that many answers have in common, name and value: stored once, and two bytes in each entry that has them.
//!
//! A pair gets its number after a number of answers in a row had it, under different keys; what is each answer's own never
//! does. Entries keep numbers, so the table only grows, to a bound, and is charged like anything else. Not here: how
//! a field is packed (`fields`).

use crate::budget::{Budget, Charge};
use bytes::Bytes;
use hashbrown::HashTable;
use http::HeaderValue;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Pairs at most; with values of the length below these are 0.8 MiB.
const PAIRS_MAX: usize = 4_096;

/// The longest value that is stored once: most policies for what a page may do are shorter.
const VALUE_MAX_BYTES: usize = 128;

/// The part of the budget that they may take, as they never leave: one in so many bytes.
const BUDGET_PART: u64 = 16;

/// Pairs of a block.
const BLOCK: usize = 64;

/// Sightings before a pair gets its number.
const SIGHTINGS: u16 = 16;

/// Pairs that are watched at the same time, and how many of them are rivals for each other's places: with one alone, two
/// common pairs in the same place would keep each other out for ever.
const WATCHED: usize = 512;
const RIVALS: usize = 8;

/// What a pair costs beside its value and its place: a number and a byte of its hash in a table less than half full.
const ROW_BYTES: u64 = ((size_of::<u16>() + 1) as u64 * 16).div_ceil(7);

pub(crate) struct Pairs {
    blocks: [OnceLock<Box<[OnceLock<Pair>]>>; PAIRS_MAX / BLOCK],
    known: Mutex<Known>,
    hasher: foldhash::fast::RandomState,
}

#[derive(Debug)]
pub(crate) struct Pair {
    /// The name, by its row in `fields`.
    pub row: u8,
    pub value: HeaderValue,
}

struct Known {
    numbers: HashTable<u16>,
    watched: Box<[Watched]>,
    charge: Charge,
}

impl std::fmt::Debug for Pairs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pairs {{ known: {} }}", self.lock().numbers.len())
    }
}

/// A pair on its way in, by its hash.
#[derive(Clone, Copy, Default)]
struct Watched {
    print: u16,
    /// The key it was seen under last: one page that is fetched again and again makes nothing common.
    key: u16,
    sightings: u16,
}

/// Whether a pair was seen often enough, now that it was seen once more.
fn see(rivals: &mut [Watched], print: u16, key: u16) -> bool {
    if let Some(pair) = rivals.iter_mut().find(|pair| pair.sightings > 0 && pair.print == print) {
        if pair.key != key {
            pair.sightings = pair.sightings.saturating_add(1);
            pair.key = key;
        }
        return pair.sightings >= SIGHTINGS;
    }
    // What comes often outlives what comes once.
    if let Some(least) = rivals.iter_mut().min_by_key(|pair| pair.sightings) {
        least.sightings = least.sightings.saturating_sub(1);
        if least.sightings == 0 {
            *least = Watched { print, key, sightings: 1 };
        }
    }
    false
}

impl Pairs {
    pub(crate) fn new(budget: &Arc<Budget>) -> Pairs {
        Pairs {
            blocks: [const { OnceLock::new() }; PAIRS_MAX / BLOCK],
            known: Mutex::new(Known {
                numbers: HashTable::new(),
                watched: vec![Watched::default(); WATCHED].into_boxed_slice(),
                charge: budget.charge(0),
            }),
            hasher: foldhash::fast::RandomState::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // A panic under the lock leaves plain data behind.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hash(&self, row: u8, value: &[u8]) -> u64 {
        self.hasher.hash_one((row, value))
    }

    /// The pair of a number. Takes no lock.
    pub(crate) fn get(&self, number: u16) -> Option<&Pair> {
        let number = usize::from(number);
        self.blocks.get(number / BLOCK)?.get()?.get(number % BLOCK)?.get()
    }

    /// The number of a pair that is in, or comes in now. An answer with this `key` has it.
    pub(crate) fn number_of(&self, row: u8, value: &HeaderValue, key: &str) -> Option<u16> {
        let text = value.as_bytes();
        if text.len() > VALUE_MAX_BYTES {
            return None;
        }
        let hash = self.hash(row, text);
        let is_it =
            |number: &u16| self.get(*number).is_some_and(|pair| pair.row == row && pair.value == value);
        let mut known = self.lock();
        if let Some(number) = known.numbers.find(hash, is_it) {
            return Some(*number);
        }
        let number = known.numbers.len();
        let at = hash as usize % (WATCHED / RIVALS) * RIVALS;
        let rivals = known.watched.get_mut(at..at + RIVALS)?;
        if number >= PAIRS_MAX || !see(rivals, (hash >> 16) as u16, self.hasher.hash_one(key) as u16) {
            return None;
        }
        let block = self.blocks.get(number / BLOCK)?;
        let of_block = if block.get().is_none() { BLOCK * size_of::<OnceLock<Pair>>() } else { 0 };
        let charged = known.charge.bytes() + ROW_BYTES + (text.len() + of_block) as u64;
        if charged > known.charge.budget().limit_bytes() / BUDGET_PART {
            return None;
        }
        let block = block.get_or_init(|| (0..BLOCK).map(|_| OnceLock::new()).collect());
        // Leaked: a hit takes a copy of the value, and were it counted, all cores would write to that count with every
        // hit. A process has one cache, which lives as long as it does, and the table is bounded.
        let leaked: &'static [u8] = Box::leak(text.into());
        let value = HeaderValue::from_maybe_shared(Bytes::from_static(leaked)).ok()?;
        block.get(number % BLOCK)?.set(Pair { row, value }).ok()?;
        let number = number as u16;
        let hash_of =
            |number: &u16| self.get(*number).map_or(0, |pair| self.hash(pair.row, pair.value.as_bytes()));
        known.numbers.insert_unique(hash, number, hash_of);
        known.charge.resize(charged);
        Some(number)
    }

    /// What they are charged.
    pub(crate) fn bytes(&self) -> u64 {
        self.lock().charge.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs() -> Pairs {
        Pairs::new(&Budget::new(1 << 30))
    }

    #[test]
    fn what_many_have_gets_a_number() {
        let pairs = pairs();
        let common = HeaderValue::from_static("max-age=60");
        let mut first = None;
        for key in 0..200 {
            let key = key.to_string();
            let number = pairs.number_of(5, &common, &key);
            first = first.or(number.map(|_| key.parse::<u16>().unwrap()));
            // What is each one's own.
            assert_eq!(pairs.number_of(3, &HeaderValue::try_from(format!("\"{key}\"")).unwrap(), &key), None);
        }
        assert!(first.is_some_and(|key| (SIGHTINGS - 1..SIGHTINGS + 20).contains(&key)), "{first:?}");
        let number = pairs.number_of(5, &common, "any").unwrap();
        let pair = pairs.get(number).unwrap();
        assert_eq!((pair.row, &pair.value), (5, &common));
        assert_eq!(pairs.number_of(6, &common, "any"), None, "another name");
        assert!(pairs.get(number + 1).is_none() && pairs.get(u16::MAX).is_none());
    }

    /// However the hashes fall: as many as an answer has fields come in, and do not keep each other out.
    #[test]
    fn common_pairs_do_not_keep_each_other_out() {
        for _ in 0..200 {
            let pairs = pairs();
            let values: Vec<_> =
                (0..12).map(|n| HeaderValue::try_from(format!("common {n}")).unwrap()).collect();
            for key in 0..100 {
                let key = key.to_string();
                for value in &values {
                    pairs.number_of(5, value, &key);
                }
                pairs.number_of(3, &HeaderValue::try_from(format!("\"{key}\"")).unwrap(), &key);
            }
            assert!(values.iter().all(|value| pairs.number_of(5, value, "any").is_some()));
        }
    }

    /// They never leave, so a small budget is not spent on them.
    #[test]
    fn they_take_a_small_part_of_the_budget() {
        let limit_bytes = 128 << 10;
        let pairs = Pairs::new(&Budget::new(limit_bytes));
        for value in 0..1_000 {
            let value = HeaderValue::try_from(format!("value {value:04}")).unwrap();
            for key in 0..50 {
                pairs.number_of(1, &value, &key.to_string());
            }
        }
        let part = limit_bytes / BUDGET_PART;
        assert!((part / 2..=part).contains(&pairs.bytes()), "{}", pairs.bytes());
        assert!(pairs.get(0).is_some() && pairs.get(999).is_none());
    }

    #[test]
    fn one_key_makes_nothing_common() {
        let pairs = pairs();
        let value = HeaderValue::from_static("\"tag\"");
        assert!((0..1_000).all(|_| pairs.number_of(3, &value, "/page").is_none()));
        let long = HeaderValue::try_from("x".repeat(VALUE_MAX_BYTES + 1)).unwrap();
        assert!((0..1_000).all(|key| pairs.number_of(3, &long, &key.to_string()).is_none()));
        assert_eq!(pairs.bytes(), 0);
    }

    #[test]
    fn the_table_is_bounded_and_charged() {
        let pairs = pairs();
        let mut numbers = std::collections::HashSet::new();
        for value in 0..PAIRS_MAX + 100 {
            let value = HeaderValue::try_from(format!("value {value:04}")).unwrap();
            let seen = (0..100).filter_map(|key| pairs.number_of(1, &value, &format!("{key}")));
            numbers.extend(seen);
        }
        assert_eq!(numbers.len(), PAIRS_MAX);
        assert!(numbers.iter().all(|number| pairs.get(*number).is_some()));
        let each = size_of::<OnceLock<Pair>>() as u64 + ROW_BYTES + 10;
        assert_eq!(pairs.bytes(), each * PAIRS_MAX as u64);
        assert!(pairs.bytes() + (PAIRS_MAX * (VALUE_MAX_BYTES - 10)) as u64 <= 800 << 10);
    }
}
