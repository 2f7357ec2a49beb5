//! Bytes by what the answers said their content is.
//!
//! A few types at most are told apart: a server that makes up a new one for each answer must not fill the memory. Not here:
//! how large coded bodies are when decoded ([`crate::run`] learns that from samples).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::wire::{Coding, Media};

/// Types that are told apart; further ones share [`others`].
const TYPES_MAX: usize = 64;

/// Bodies of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bodies {
    /// Answers with a body.
    pub answers: u64,
    /// Body bytes as they came, without chunk framing.
    pub bytes: u64,
    /// Of these, in a coding that samples are decoded of.
    pub coded_bytes: u64,
    /// Of these, in a coding that is not decoded.
    pub opaque_bytes: u64,
}

impl Bodies {
    fn add(&mut self, other: &Bodies) {
        self.answers += other.answers;
        self.bytes += other.bytes;
        self.coded_bytes += other.coded_bytes;
        self.opaque_bytes += other.opaque_bytes;
    }
}

/// Bodies of all types.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Types {
    rows: Vec<(Media, Bodies)>,
}

/// What types beyond [`TYPES_MAX`] are counted as.
pub fn others() -> Media {
    Media::of(b"(others)")
}

impl Types {
    /// One body; an empty one is none.
    pub fn body(&mut self, media: &Media, coding: Coding, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let mut one = Bodies { answers: 1, bytes, ..Bodies::default() };
        match coding {
            Coding::Identity => {}
            coding if coding.is_decoded() => one.coded_bytes = bytes,
            _ => one.opaque_bytes = bytes,
        }
        self.add(media, &one);
    }

    fn add(&mut self, media: &Media, bodies: &Bodies) {
        // Most runs have one type or two: looking through them is shorter than any table.
        if let Some((_, row)) = self.rows.iter_mut().find(|(known, _)| known == media) {
            return row.add(bodies);
        }
        if self.rows.len() < TYPES_MAX || *media == others() {
            return self.rows.push((*media, *bodies));
        }
        self.add(&others(), bodies);
    }

    /// All of them.
    pub fn all(&self) -> BTreeMap<Media, Bodies> {
        self.rows.iter().copied().collect()
    }

    /// All types together.
    pub fn total(&self) -> Bodies {
        let mut total = Bodies::default();
        self.rows.iter().for_each(|(_, bodies)| total.add(bodies));
        total
    }

    /// Adds what another thread saw.
    pub fn merge(&mut self, other: &Types) {
        other.rows.iter().for_each(|(media, bodies)| self.add(media, bodies));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_by_itself_and_too_many_together() {
        let (html, jpeg) = (Media::of(b"text/html"), Media::of(b"image/jpeg"));
        let (mut one, mut two) = (Types::default(), Types::default());
        one.body(&html, Coding::Gzip, 10);
        one.body(&html, Coding::Identity, 100);
        one.body(&jpeg, Coding::Identity, 0);
        two.body(&html, Coding::Other, 1_000);
        two.body(&jpeg, Coding::Identity, 7);
        one.merge(&two);
        let all = one.all();
        assert_eq!(all[&html], Bodies { answers: 3, bytes: 1_110, coded_bytes: 10, opaque_bytes: 1_000 });
        assert_eq!(all[&jpeg], Bodies { answers: 1, bytes: 7, ..Bodies::default() });
        for number in 0..1_000 {
            two.body(&Media::of(format!("made/up-{number}").as_bytes()), Coding::Identity, 1);
        }
        one.merge(&two);
        let all = one.all();
        assert_eq!(all.len(), TYPES_MAX + 1);
        assert_eq!(one.total().bytes, 1_117 + 1_007 + 1_000);
        assert_eq!(all.values().map(|bodies| bodies.bytes).sum::<u64>(), 1_117 + 1_007 + 1_000);
        assert_eq!(all[&others()].answers, 1_000 - (TYPES_MAX as u64 - 2));
    }
}
