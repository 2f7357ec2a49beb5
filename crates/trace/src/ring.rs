//! The last records, bounded by count and by bytes, found by id or by URL; notable ones are kept longer.
//!
//! Errors and slow requests are what somebody asks about later, and thousands of ordinary requests may come until then. So a
//! part of the room is for the notable records that the others have pushed out. A plain value: the caller locks it. Not here:
//! which records are notable ([`Record::is_notable`]), what becomes of a record afterwards.

use crate::facts::{tell, weight_bytes};
use crate::types::Record;
use std::collections::VecDeque;
use std::sync::Arc;

/// The share of the room, by count and by bytes, that is for notable records alone: one in so many.
const NOTABLE_SHARE: usize = 4;

/// The last records, and of those before them the notable ones; the oldest of each dropped first.
#[derive(Debug)]
pub struct Ring {
    last: Queue,
    notable: Queue,
}

/// Records in the order in which they came, within bounds.
#[derive(Debug)]
struct Queue {
    held: VecDeque<Held>,
    bytes: usize,
    records_max: usize,
    bytes_max: usize,
}

/// What is known of a record without reading it: the oldest is in no processor's cache any more, and is not read to be
/// dropped.
#[derive(Debug)]
struct Held {
    id: u64,
    bytes: usize,
    notable: bool,
    record: Arc<Record>,
}

impl Queue {
    fn new(records_max: usize, bytes_max: usize) -> Queue {
        Queue { held: VecDeque::new(), bytes: 0, records_max, bytes_max }
    }

    /// Adds one, if it fits at all; those that no longer fit go to `dropped`.
    fn push(&mut self, held: Held, mut dropped: impl FnMut(Held)) {
        if held.bytes > self.bytes_max || self.records_max == 0 {
            return;
        }
        while self.held.len() >= self.records_max || self.bytes + held.bytes > self.bytes_max {
            let Some(oldest) = self.held.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(oldest.bytes);
            dropped(oldest);
        }
        self.bytes += held.bytes;
        self.held.push_back(held);
    }
}

impl Ring {
    /// Holds at most so many records, and about so many bytes.
    pub fn new(records_max: usize, bytes_max: usize) -> Ring {
        let (records, bytes) = (records_max / NOTABLE_SHARE, bytes_max / NOTABLE_SHARE);
        Ring {
            last: Queue::new(records_max - records, bytes_max - bytes),
            notable: Queue::new(records, bytes),
        }
    }

    /// Adds one, dropping the oldest ones that no longer fit; one that is larger than the room for all is not kept.
    pub fn push(&mut self, record: Arc<Record>, notable: bool) {
        let held = Held { id: record.id, bytes: record_bytes(&record), notable, record };
        let Ring { last, notable } = self;
        last.push(held, |oldest| {
            if oldest.notable {
                notable.push(oldest, drop);
            }
        });
    }

    /// All, newest first.
    fn newest_first(&self) -> impl Iterator<Item = &Held> {
        self.last.held.iter().rev().chain(self.notable.held.iter().rev())
    }

    /// The record with this id, if it is still held: looked for, as few are asked for of the many that are kept.
    pub fn get(&self, id: u64) -> Option<Arc<Record>> {
        self.newest_first().find(|held| held.id == id).map(|held| Arc::clone(&held.record))
    }

    /// The last `n`, newest first, of those with this reason code anywhere in them and a URL that this glob covers
    /// (`*` stands for any text).
    pub fn last(&self, n: usize, reason: Option<&str>, url: Option<&str>) -> Vec<Arc<Record>> {
        self.newest_first()
            .map(|held| &held.record)
            .filter(|record| url.is_none_or(|glob| covers(glob, &record.url)))
            .filter(|record| reason.is_none_or(|code| has_reason(record, code)))
            .take(n)
            .cloned()
            .collect()
    }

    /// The last `n` of a URL or glob, newest first.
    pub fn for_url(&self, url: &str, n: usize) -> Vec<Arc<Record>> {
        self.last(n, None, Some(url))
    }

    /// How many are held.
    pub fn len(&self) -> usize {
        self.last.held.len() + self.notable.held.len()
    }

    /// True if none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About how many bytes they take.
    pub fn bytes(&self) -> usize {
        self.last.bytes + self.notable.bytes
    }
}

/// The record's own size and what it holds on the heap, about.
fn record_bytes(record: &Record) -> usize {
    // The client's text is the connection's.
    let texts = record.url.len();
    let optional = [&record.referer, &record.user_agent].map(|text| text.as_ref().map_or(0, String::len));
    let facts: usize = record.facts.iter().map(|fact| size_of_val(fact) + weight_bytes(fact)).sum();
    size_of::<Record>() + texts + optional.iter().sum::<usize>() + record.request_fields.len_bytes() + facts
}

fn has_reason(record: &Record, code: &str) -> bool {
    record.reason == code || record.facts.iter().any(|fact| tell(fact).code == code)
}

/// True if a glob covers a text. Greedy with one point to come back to, so its time is bounded by the product of the
/// lengths.
fn covers(glob: &str, text: &str) -> bool {
    let (mut glob_rest, mut text_rest) = (glob.as_bytes(), text.as_bytes());
    let mut back: Option<(&[u8], &[u8])> = None;
    loop {
        match (glob_rest.split_first(), text_rest.split_first()) {
            (Some((b'*', after)), _) => {
                back = Some((after, text_rest));
                glob_rest = after;
            }
            (Some((wanted, after)), Some((found, rest))) if wanted == found => {
                (glob_rest, text_rest) = (after, rest)
            }
            (None, None) => return true,
            _ => match back {
                Some((after, [_, rest @ ..])) => {
                    back = Some((after, rest));
                    (glob_rest, text_rest) = (after, rest);
                }
                _ => return false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Fact, Fields, Tier};
    use proptest::prelude::*;
    use samovar_reason::Store;

    fn record(id: u64, url: &str, reason: &'static str) -> Arc<Record> {
        Arc::new(Record {
            id,
            at_wall_ms: 0,
            client: "127.0.0.1".into(),
            method: "GET".into(),
            url: url.into(),
            version: "HTTP/1.1",
            status: 200,
            body_bytes: 0,
            tier: Tier::Origin,
            cache: "miss",
            reason,
            first_byte_us: 0,
            total_us: 0,
            referer: None,
            user_agent: None,
            facts: vec![Fact::Store(Store::SetCookie)],
            request_fields: Fields::default(),
        })
    }

    fn ids(found: &[Arc<Record>]) -> Vec<u64> {
        found.iter().map(|record| record.id).collect()
    }

    #[test]
    fn the_last_ones_by_reason_and_url() {
        let mut ring = Ring::new(3, usize::MAX / 2);
        for (id, url, reason) in [
            (1, "http://h/a", "fresh"),
            (2, "http://h/a", "expired"),
            (3, "http://h/b", "fresh"),
            (4, "http://h/a", "fresh"),
        ] {
            ring.push(record(id, url, reason), false);
        }
        assert!(ring.get(1).is_none(), "the oldest went");
        assert_eq!(ring.get(3).unwrap().url, "http://h/b");
        assert_eq!(ids(&ring.last(9, None, None)), [4, 3, 2]);
        assert_eq!(ids(&ring.last(1, None, None)), [4]);
        assert_eq!(ids(&ring.last(9, Some("fresh"), None)), [4, 3]);
        assert_eq!(ids(&ring.last(9, Some("set-cookie"), Some("*b"))), [3], "reasons of facts count too");
        assert_eq!(ids(&ring.for_url("http://h/a", 9)), [4, 2]);
        assert_eq!(ids(&ring.for_url("http://*", 2)), [4, 3]);
        assert!(ring.for_url("h/a", 9).is_empty());
    }

    #[test]
    fn too_large_for_the_ring_is_not_kept() {
        let mut ring = Ring::new(10, 2_000);
        ring.push(record(1, "http://h/a", "fresh"), false);
        ring.push(record(2, &"x".repeat(3_000), "fresh"), true);
        assert_eq!(ids(&ring.last(9, None, None)), [1]);
        let mut none = Ring::new(0, usize::MAX);
        none.push(record(1, "http://h/a", "fresh"), true);
        assert!(none.is_empty());
        let mut one = Ring::new(1, usize::MAX);
        one.push(record(1, "http://h/a", "fresh"), true);
        one.push(record(2, "http://h/a", "fresh"), false);
        assert_eq!(ids(&one.last(9, None, None)), [2]);
    }

    #[test]
    fn an_error_outlives_thousands_of_ordinary_requests() {
        let mut ring = Ring::new(2_000, 1 << 30);
        ring.push(record(1, "http://h/missing", "not-found"), true);
        for id in 2..=6_001 {
            ring.push(record(id, "http://h/a", "fresh"), false);
        }
        assert_eq!(ring.get(1).unwrap().reason, "not-found");
        assert_eq!(ids(&ring.last(9, Some("not-found"), None)), [1]);
        assert_eq!(ids(&ring.for_url("http://h/missing", 9)), [1]);
        assert_eq!(ring.len(), 1_501);
        // Nor do errors push the last requests out.
        for id in 6_002..=9_000 {
            ring.push(record(id, "http://h/missing", "not-found"), true);
        }
        ring.push(record(9_001, "http://h/a", "fresh"), false);
        assert_eq!(ids(&ring.last(2, None, None)), [9_001, 9_000]);
        assert_eq!((ring.len(), ring.get(1).is_none()), (2_000, true));
    }

    #[test]
    fn errors_and_slow_requests_are_notable() {
        for (status, cache, first_byte_us, notable) in [
            (200, "miss", 999_999, false),
            (200, "miss", 1_000_000, true),
            (304, "hit", 0, false),
            (404, "miss", 0, true),
            (502, "error", 0, true),
            (0, "gone", 0, false),
        ] {
            let record = Record { status, cache, first_byte_us, ..Record::clone(&record(1, "u", "r")) };
            assert_eq!(record.is_notable(1_000_000), notable, "{status} {cache}");
        }
    }

    #[test]
    fn globs() {
        for (glob, text, want) in [
            ("", "", true),
            ("*", "", true),
            ("*", "a/b", true),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "abcd", false),
            ("*b*", "abc", true),
            ("a*b*c", "a-b-b-c", true),
            ("*.jpg", "/x/y.jpg", true),
            ("*.jpg", "/x/y.jpg?q", false),
            ("ab", "abc", false),
            ("abc", "ab", false),
            ("**a", "bba", true),
        ] {
            assert_eq!(covers(glob, text), want, "{glob} {text}");
        }
    }

    /// A second reading of globs, written as the definition has it.
    fn covers_by_definition(glob: &[u8], text: &[u8]) -> bool {
        match glob.split_first() {
            None => text.is_empty(),
            Some((b'*', rest)) => (0..=text.len()).any(|at| covers_by_definition(rest, &text[at..])),
            Some((byte, rest)) => text.first() == Some(byte) && covers_by_definition(rest, &text[1..]),
        }
    }

    proptest! {
        #[test]
        fn globs_agree_with_their_definition(glob in "[ab*]{0,6}", text in "[ab]{0,8}") {
            prop_assert_eq!(covers(&glob, &text), covers_by_definition(glob.as_bytes(), text.as_bytes()));
        }

        /// Beside two plain lists that drop from their fronts while they are too long or too heavy.
        #[test]
        fn holds_the_newest_within_its_bounds(
            sizes in proptest::collection::vec((1_usize..400, any::<bool>()), 0..60),
            records_max in 1_usize..20,
            bytes_max in 300_usize..6_000
        ) {
            let mut ring = Ring::new(records_max, bytes_max);
            type List = Vec<(u64, usize, bool)>;
            let (mut last, mut kept) = (List::new(), List::new());
            let too_many = |list: &[(u64, usize, bool)], records: usize, bytes: usize| {
                list.len() > records || list.iter().map(|(_, bytes, _)| bytes).sum::<usize>() > bytes
            };
            for (id, (size, notable)) in sizes.iter().enumerate() {
                let record = record(id as u64, &"x".repeat(*size), "fresh");
                let bytes = record_bytes(&record);
                ring.push(record, *notable);
                let (few, light) = (records_max / 4, bytes_max / 4);
                if bytes <= bytes_max - light {
                    last.push((id as u64, bytes, *notable));
                }
                while too_many(&last, records_max - few, bytes_max - light) {
                    let oldest = last.remove(0);
                    if oldest.2 && few > 0 && oldest.1 <= light {
                        kept.push(oldest);
                    }
                    while too_many(&kept, few, light) {
                        kept.remove(0);
                    }
                }
                let all: Vec<u64> = kept.iter().chain(&last).map(|(id, ..)| *id).collect();
                let held: Vec<u64> = ids(&ring.last(usize::MAX, None, None)).into_iter().rev().collect();
                prop_assert_eq!(&held, &all);
                let bytes: usize = kept.iter().chain(&last).map(|(_, bytes, _)| bytes).sum();
                prop_assert!(ring.bytes() == bytes && bytes <= bytes_max && ring.len() <= records_max);
                for id in 0..=id as u64 {
                    prop_assert_eq!(ring.get(id).is_some(), all.contains(&id));
                }
            }
        }
    }
}
