//! What is remembered of keys without an entry: that their answers cannot be stored, and how often they were
//! asked for. Bounded by two generations: when the younger is full the older is forgotten, so made-up URLs cost
//! a fixed amount.

use samovar_reason::Store;
use std::collections::HashMap;

/// Notes per generation and shard.
const GENERATION_MAX: usize = 2048;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Note {
    /// Answers could not be stored, until this moment; ms.
    pub not_storable: Option<(u64, Store)>,
    /// Requests in the running window.
    pub asked: u32,
    /// Start of the window, ms.
    pub asked_since_ms: u64,
}

/// By the hash of the key: two keys that collide share a note, which costs a little collapsing and nothing else.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    young: HashMap<u64, Note, foldhash::fast::RandomState>,
    old: HashMap<u64, Note, foldhash::fast::RandomState>,
}

impl Notes {
    pub(crate) fn get(&self, hash: u64) -> Option<Note> {
        self.young.get(&hash).or_else(|| self.old.get(&hash)).copied()
    }

    pub(crate) fn set(&mut self, hash: u64, note: Note) {
        if self.young.len() >= GENERATION_MAX && !self.young.contains_key(&hash) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(hash, note);
    }

    /// Forgets that a key's answers could not be stored.
    pub(crate) fn storable(&mut self, hash: u64) {
        if let Some(mut note) = self.get(hash)
            && note.not_storable.take().is_some()
        {
            self.set(hash, note);
        }
    }

    /// Counts a request; how many came within `period_ms`, this one included.
    pub(crate) fn ask(&mut self, hash: u64, now_ms: u64, period_ms: u64) -> u32 {
        let mut note = self.get(hash).unwrap_or_default();
        if now_ms.saturating_sub(note.asked_since_ms) > period_ms {
            note.asked = 0;
            note.asked_since_ms = now_ms;
        }
        note.asked = note.asked.saturating_add(1);
        self.set(hash, note);
        note.asked
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_keys_cost_a_fixed_amount() {
        let mut notes = Notes::default();
        for hash in 0..100_000 {
            notes.set(hash, Note { not_storable: Some((1, Store::SetCookie)), ..Note::default() });
        }
        assert!(notes.len() <= 2 * GENERATION_MAX);
        assert!(notes.get(99_999).is_some());
        assert!(notes.get(0).is_none());
    }

    #[test]
    fn asking_counts_within_the_period_only() {
        let mut notes = Notes::default();
        assert_eq!(notes.ask(1, 10_000, 100), 1);
        assert_eq!(notes.ask(1, 10_050, 100), 2);
        assert_eq!(notes.ask(1, 10_101, 100), 1);
    }

    /// A generation takes as many as it may; what is known already takes no further place.
    #[test]
    fn generations() {
        let mut notes = Notes::default();
        let full = GENERATION_MAX as u64;
        (0..full).for_each(|hash| notes.set(hash, Note::default()));
        assert_eq!((notes.young.len(), notes.old.len()), (GENERATION_MAX, 0));
        notes.set(7, Note { asked: 3, ..Note::default() });
        assert_eq!((notes.young.len(), notes.old.len()), (GENERATION_MAX, 0));
        notes.set(full, Note::default());
        assert_eq!((notes.young.len(), notes.old.len()), (1, GENERATION_MAX));
        assert_eq!(notes.get(7).map(|note| note.asked), Some(3), "still known");
    }
}
