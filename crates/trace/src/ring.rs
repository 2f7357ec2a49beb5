//! The last records, bounded by count and by bytes, found by id or by URL.
//!
//! A plain value: the caller locks it. Not here: what becomes of a record afterwards.

use crate::facts::{tell, weight_bytes};
use crate::types::Record;
use std::collections::VecDeque;
use std::sync::Arc;

/// The last records, the oldest dropped first.
#[derive(Debug)]
pub struct Ring {
    /// With what each weighs, bytes: the oldest is in no processor's cache any more, and is not read to be dropped.
    records: VecDeque<(u64, usize, Arc<Record>)>,
    bytes: usize,
    records_max: usize,
    bytes_max: usize,
}

impl Ring {
    /// Holds at most so many records, and about so many bytes.
    pub fn new(records_max: usize, bytes_max: usize) -> Ring {
        Ring { records: VecDeque::new(), bytes: 0, records_max, bytes_max }
    }

    /// Adds one, dropping the oldest ones that no longer fit; one that is larger than the whole ring is not kept.
    pub fn push(&mut self, record: Arc<Record>) {
        let weight = record_bytes(&record);
        if weight > self.bytes_max || self.records_max == 0 {
            return;
        }
        while self.records.len() >= self.records_max || self.bytes + weight > self.bytes_max {
            if !self.drop_oldest() {
                break;
            }
        }
        self.bytes += weight;
        self.records.push_back((record.id, weight, record));
    }

    /// The record with this id, if it is still held: looked for, as few are asked for of the many that are kept.
    pub fn get(&self, id: u64) -> Option<Arc<Record>> {
        self.records.iter().rev().find(|(found, ..)| *found == id).map(|(.., record)| Arc::clone(record))
    }

    /// The last `n`, newest first, of those with this reason code anywhere in them and a URL that this glob covers
    /// (`*` stands for any text).
    pub fn last(&self, n: usize, reason: Option<&str>, url: Option<&str>) -> Vec<Arc<Record>> {
        self.records
            .iter()
            .rev()
            .map(|(.., record)| record)
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
        self.records.len()
    }

    /// True if none is.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// About how many bytes they take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn drop_oldest(&mut self) -> bool {
        let Some((_, weight, _)) = self.records.pop_front() else { return false };
        self.bytes = self.bytes.saturating_sub(weight);
        true
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
        let mut ring = Ring::new(3, usize::MAX);
        for (id, url, reason) in [
            (1, "http://h/a", "fresh"),
            (2, "http://h/a", "expired"),
            (3, "http://h/b", "fresh"),
            (4, "http://h/a", "fresh"),
        ] {
            ring.push(record(id, url, reason));
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
        ring.push(record(1, "http://h/a", "fresh"));
        ring.push(record(2, &"x".repeat(3_000), "fresh"));
        assert_eq!(ids(&ring.last(9, None, None)), [1]);
        let mut none = Ring::new(0, usize::MAX);
        none.push(record(1, "http://h/a", "fresh"));
        assert!(none.is_empty());
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

        /// Beside a plain list that drops from its front while it is too long or too heavy.
        #[test]
        fn holds_the_newest_within_its_bounds(
            sizes in proptest::collection::vec(1_usize..400, 0..40), records_max in 1_usize..8, bytes_max in 300_usize..3_000
        ) {
            let mut ring = Ring::new(records_max, bytes_max);
            let mut list: Vec<(u64, usize)> = Vec::new();
            for (id, size) in sizes.iter().enumerate() {
                let record = record(id as u64, &"x".repeat(*size), "fresh");
                let bytes = record_bytes(&record);
                ring.push(record);
                if bytes <= bytes_max {
                    list.push((id as u64, bytes));
                }
                while list.len() > records_max || list.iter().map(|(_, bytes)| bytes).sum::<usize>() > bytes_max {
                    list.remove(0);
                }
                let held: Vec<u64> = ids(&ring.last(usize::MAX, None, None)).into_iter().rev().collect();
                prop_assert_eq!(held, list.iter().map(|(id, _)| *id).collect::<Vec<_>>());
                prop_assert_eq!(ring.bytes(), list.iter().map(|(_, bytes)| bytes).sum::<usize>());
                for id in 0..=id as u64 {
                    prop_assert_eq!(ring.get(id).is_some(), list.iter().any(|(held, _)| *held == id));
                }
            }
        }
    }
}
