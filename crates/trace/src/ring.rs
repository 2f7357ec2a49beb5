//! The last records, bounded by count and by bytes, found by id or by URL.
//!
//! A plain value: the caller locks it. Not here: what becomes of a record afterwards.

use crate::facts::{tell, weight_bytes};
use crate::types::Record;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The last records, the oldest dropped first.
#[derive(Debug)]
pub struct Ring {
    records: VecDeque<Arc<Record>>,
    by_id: HashMap<u64, Arc<Record>>,
    bytes: usize,
    records_max: usize,
    bytes_max: usize,
}

impl Ring {
    /// Holds at most so many records, and about so many bytes.
    pub fn new(records_max: usize, bytes_max: usize) -> Ring {
        Ring { records: VecDeque::new(), by_id: HashMap::new(), bytes: 0, records_max, bytes_max }
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
        self.by_id.insert(record.id, Arc::clone(&record));
        self.records.push_back(record);
    }

    /// The record with this id, if it is still held.
    pub fn get(&self, id: u64) -> Option<Arc<Record>> {
        self.by_id.get(&id).cloned()
    }

    /// The last `n`, newest first, of those with this reason code anywhere in them and a URL that this glob covers
    /// (`*` stands for any text).
    pub fn last(&self, n: usize, reason: Option<&str>, url: Option<&str>) -> Vec<Arc<Record>> {
        self.records
            .iter()
            .rev()
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
        let Some(oldest) = self.records.pop_front() else { return false };
        self.bytes = self.bytes.saturating_sub(record_bytes(&oldest));
        // An id that came twice belongs to the newer record.
        if self.by_id.get(&oldest.id).is_some_and(|held| Arc::ptr_eq(held, &oldest)) {
            self.by_id.remove(&oldest.id);
        }
        true
    }
}

/// The record's own size and what it holds on the heap, about.
fn record_bytes(record: &Record) -> usize {
    let texts = [&record.client, &record.method, &record.url].map(String::len).iter().sum::<usize>();
    let optional = [&record.referer, &record.user_agent].map(|text| text.as_ref().map_or(0, String::len));
    let fields: usize = record.request_fields.iter().map(|(name, value)| name.len() + value.len() + 48).sum();
    let facts: usize = record.facts.iter().map(|fact| size_of_val(fact) + weight_bytes(fact)).sum();
    size_of::<Record>() + texts + optional.iter().sum::<usize>() + fields + facts
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
