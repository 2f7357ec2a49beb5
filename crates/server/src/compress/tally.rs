//! Bytes before and after, by media type and coding.
//!
//! Answers are counted by the core that sends them, on lines of its own; a prepared answer holds its line. Coded forms are
//! counted by the threads that make them.

use crate::metrics::Counter;
use http::{HeaderMap, header};
use samovar_policy::Coding;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Media types that are told apart; the rest is counted as one.
const TYPES_MAX: usize = 64;

/// How the rest is called.
const OTHERS: &str = "other";

/// What was sent of one media type in one coding by one core.
#[derive(Debug)]
pub struct Row {
    /// The media type, without parameters.
    pub media: Box<str>,
    /// The coding.
    pub coding: Coding,
    /// Made once and kept, or while it was sent.
    pub kept: Kept,
    /// Answers.
    pub answers: Counter,
    /// Bytes they would have had as they are.
    pub before_bytes: Counter,
    /// Bytes they had.
    pub after_bytes: Counter,
    /// Processor time for those made while they were sent, µs.
    pub cpu_us: Counter,
}

/// Whether a coded body was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kept {
    /// Made once, in the background.
    Stored,
    /// Made while it was sent.
    OnTheFly,
}

impl Row {
    /// One answer more.
    pub fn add(&self, before_bytes: u64, after_bytes: u64) {
        self.answers.add(1);
        self.before_bytes.add(before_bytes);
        self.after_bytes.add(after_bytes);
    }
}

/// One core's rows.
#[derive(Debug, Default)]
pub struct Tally {
    rows: Mutex<Vec<Arc<Row>>>,
}

impl Tally {
    /// The line of answers like this one. Only this core counts on it.
    pub fn row(&self, headers: &HeaderMap, coding: Coding, kept: Kept) -> Arc<Row> {
        let media = media_of(headers);
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let find = |rows: &[Arc<Row>], media: &str| {
            let same = |row: &&Arc<Row>| {
                row.coding == coding && row.kept == kept && row.media.eq_ignore_ascii_case(media)
            };
            rows.iter().find(same).cloned()
        };
        if let Some(row) = find(&rows, media) {
            return row;
        }
        let media = if rows.len() < TYPES_MAX * 6 { media } else { OTHERS };
        if let Some(row) = find(&rows, media) {
            return row;
        }
        let row = Arc::new(Row {
            media: media.to_ascii_lowercase().into(),
            coding,
            kept,
            answers: Counter::default(),
            before_bytes: Counter::default(),
            after_bytes: Counter::default(),
            cpu_us: Counter::default(),
        });
        rows.push(Arc::clone(&row));
        row
    }

    /// All rows.
    pub fn rows(&self) -> Vec<Arc<Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The media type of an answer, in at most so many bytes as are sensible.
pub(super) fn media_of(headers: &HeaderMap) -> &str {
    let text = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or(OTHERS);
    let media = text.split(';').next().unwrap_or(text).trim();
    if media.len() <= 80 { media } else { OTHERS }
}

/// What came of the forms of one media type in one coding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormsMade {
    /// Kept.
    pub made: u64,
    /// Not worth keeping.
    pub worthless: u64,
    /// Bytes of the bodies.
    pub before_bytes: u64,
    /// Bytes of their forms, those that were not kept left out.
    pub after_bytes: u64,
    /// Processor time, µs.
    pub cpu_us: u64,
}

/// See [`FormsMade`], by media type and coding.
#[derive(Debug, Default)]
pub(super) struct AllForms(Mutex<BTreeMap<(Box<str>, Coding), FormsMade>>);

impl AllForms {
    pub(super) fn add(&self, media: &str, coding: Coding, before: u64, after: Option<u64>, cpu_us: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let media = media.to_ascii_lowercase();
        let known = all.keys().any(|(other, _)| **other == *media) || all.len() < TYPES_MAX * 3;
        let sum = all.entry((if known { media.into() } else { OTHERS.into() }, coding)).or_default();
        sum.cpu_us += cpu_us;
        match after {
            Some(after) => {
                sum.made += 1;
                sum.before_bytes += before;
                sum.after_bytes += after;
            }
            None => sum.worthless += 1,
        }
    }

    pub(super) fn list(&self) -> Vec<(Box<str>, Coding, FormsMade)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|((media, coding), sum)| (media.clone(), *coding, *sum)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn of(media: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_str(media).unwrap())])
    }

    #[test]
    fn one_line_for_each_type_and_coding_and_no_end_of_them() {
        let tally = Tally::default();
        tally.row(&of("text/html; charset=utf-8"), Coding::Br, Kept::Stored).add(100, 20);
        tally.row(&of("Text/HTML"), Coding::Br, Kept::Stored).add(100, 30);
        tally.row(&of("text/html"), Coding::Gzip, Kept::Stored).add(1, 1);
        let row = &tally.rows()[0];
        assert_eq!((row.answers.get(), row.before_bytes.get(), row.after_bytes.get()), (2, 200, 50));
        assert_eq!(tally.rows().len(), 2);
        for n in 0..2_000 {
            tally.row(&of(&format!("x/{n}")), Coding::Br, Kept::OnTheFly).add(1, 1);
        }
        let rows = tally.rows();
        assert!(rows.len() <= TYPES_MAX * 6 + 6, "{}", rows.len());
        assert_eq!(rows.iter().map(|row| row.answers.get()).sum::<u64>(), 2_003);
    }
}
