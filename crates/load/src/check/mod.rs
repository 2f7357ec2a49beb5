//! Whether an answer is what it has to be: a server that is fast and wrong is not fast.
//!
//! What has to be is said with `--expect` ([`expect`]); besides, the body of each answer is compared with the first of its
//! URL, status and coding ([`First`]): its length and its beginning always, the whole of it in one answer of
//! [`WHOLE_EVERY`], or always where that is asked for. Reading all of a large body again would cost more than receiving it
//! ever did. Pure: heads and pieces of bodies in, a sentence out. Not here: counting.

pub mod expect;

pub use expect::{Expect, Test};

use crate::wire::Coding;
use memchr::memmem;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Variants of one URL that are remembered at most; answers of more of them are not compared.
const VARIANTS_MAX: usize = 16;

/// Of bodies so much is always looked at, bytes.
const BEGINNING_BYTES: usize = 16 * 1024;
/// One answer in so many is looked at as a whole.
pub const WHOLE_EVERY: u64 = 16;

/// What answers are looked at for.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// What every answer has to be.
    pub expect: Vec<Expect>,
    /// Whether an answer of another body than the first of its URL is a failure, and not only counted.
    pub same: bool,
    needles: Vec<Vec<u8>>,
}

impl Checks {
    /// Of these.
    pub fn new(expect: Vec<Expect>) -> Checks {
        let same = expect.contains(&Expect::SameBody);
        let needles = expect.iter().filter_map(|expect| match expect {
            Expect::Body { text, .. } => Some(text.clone().into_bytes()),
            _ => None,
        });
        Checks { needles: needles.collect(), expect, same }
    }

    /// Whether the fields of heads are needed.
    pub fn needs_head(&self) -> bool {
        self.expect.iter().any(|expect| matches!(expect, Expect::Field { .. }))
    }
}

/// What is seen of one answer while it comes.
#[derive(Default)]
pub struct Probe {
    /// Boxed: its state is half a kilobyte and more. Made ready only when a body comes in several pieces.
    hash: Option<Box<Xxh3>>,
    hashing: bool,
    /// The only piece so far, if it is short.
    held: Vec<u8>,
    /// Bytes still to be looked at.
    left: usize,
    whole: bool,
    /// Which of the texts were found.
    found: Vec<bool>,
    /// The end of the last piece: a text may stand across two.
    tail: Vec<u8>,
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Probe").field("found", &self.found).finish_non_exhaustive()
    }
}

/// An answer, for checking.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Its status.
    pub status: u16,
    /// How its body is coded.
    pub coding: Coding,
    /// Its head, if it was kept.
    pub head: &'a [u8],
    /// Length of its body.
    pub body_bytes: u64,
}

impl Probe {
    /// Makes ready for the next answer, the client's `number`th.
    pub fn begin(&mut self, checks: &Checks, number: u64) {
        self.whole = checks.same || number.is_multiple_of(WHOLE_EVERY);
        self.left = if self.whole { usize::MAX } else { BEGINNING_BYTES };
        self.hashing = false;
        self.held.clear();
        if !checks.needles.is_empty() {
            self.found.clear();
            self.found.resize(checks.needles.len(), false);
            self.tail.clear();
        }
    }

    /// Looks at a piece of the body.
    pub fn feed(&mut self, checks: &Checks, piece: &[u8]) {
        if self.left > 0 {
            let looked_at = piece.get(..self.left.min(piece.len())).unwrap_or_default();
            self.left -= looked_at.len();
            self.add(looked_at);
        }
        if !checks.needles.is_empty() {
            self.search(checks, piece);
        }
    }

    /// Most bodies are one short piece: held, they are hashed at once in the end, which costs a third.
    fn add(&mut self, piece: &[u8]) {
        if !self.hashing && self.held.is_empty() && piece.len() <= BEGINNING_BYTES {
            self.held.extend_from_slice(piece);
            return;
        }
        let hash = self.hash.get_or_insert_with(Box::default);
        if !self.hashing {
            self.hashing = true;
            hash.reset();
            hash.update(&self.held);
        }
        hash.update(piece);
    }

    fn search(&mut self, checks: &Checks, piece: &[u8]) {
        let Some(longest) = checks.needles.iter().map(Vec::len).max() else { return };
        // The end of what came before with the beginning of this: no more than a text needs to stand across both.
        let mut seam = std::mem::take(&mut self.tail);
        seam.extend_from_slice(piece.get(..longest.min(piece.len())).unwrap_or_default());
        for (needle, found) in checks.needles.iter().zip(&mut self.found) {
            *found = *found || memmem::find(piece, needle).is_some() || memmem::find(&seam, needle).is_some();
        }
        let keep = longest.saturating_sub(1);
        if piece.len() < keep {
            seam.drain(..seam.len().saturating_sub(keep));
            self.tail = seam;
        } else {
            seam.clear();
            seam.extend_from_slice(piece.get(piece.len() - keep..).unwrap_or_default());
            self.tail = seam;
        }
    }

    /// What the body hashes to, as far as it is looked at, and whether that is all of it.
    pub fn digest(&self) -> (u64, bool) {
        let digest = match self.hash.as_ref().filter(|_| self.hashing) {
            Some(hash) => hash.digest(),
            None => xxh3_64(&self.held),
        };
        (digest, self.whole)
    }

    /// Whether the answer is what `checks` say.
    ///
    /// # Errors
    /// What it is not, in words.
    pub fn judge(&self, checks: &Checks, seen: Seen<'_>) -> Result<(), String> {
        let mut found = self.found.iter();
        for expect in &checks.expect {
            let was_found = match expect {
                Expect::Body { .. } => found.next().copied().unwrap_or(false),
                _ => false,
            };
            expect.judge(seen, was_found)?;
        }
        Ok(())
    }
}

/// What the first answers of all requests were.
#[derive(Debug, Default)]
pub struct First {
    by_request: Vec<Vec<Known>>,
}

/// A first answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    status: u16,
    coding: Coding,
    body_bytes: u64,
    /// The hash of its beginning, and of the whole, each if it was seen.
    beginning: Option<u64>,
    whole: Option<u64>,
}

impl First {
    /// Remembers the first body of a request, status and coding; whether this one is as that was.
    pub fn is_same(&mut self, request: usize, seen: Seen<'_>, (digest, whole): (u64, bool)) -> bool {
        if self.by_request.len() <= request {
            self.by_request.resize_with(request + 1, Vec::new);
        }
        let Some(known) = self.by_request.get_mut(request) else { return true };
        let is = |known: &&mut Known| known.status == seen.status && known.coding == seen.coding;
        match known.iter_mut().find(is) {
            Some(first) => {
                let before = if whole { &mut first.whole } else { &mut first.beginning };
                first.body_bytes == seen.body_bytes && *before.get_or_insert(digest) == digest
            }
            None => {
                if known.len() < VARIANTS_MAX {
                    let (beginning, whole) = if whole { (None, Some(digest)) } else { (Some(digest), None) };
                    let (status, coding, body_bytes) = (seen.status, seen.coding, seen.body_bytes);
                    known.push(Known { status, coding, body_bytes, beginning, whole });
                }
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seen(status: u16) -> Seen<'static> {
        Seen { status, coding: Coding::Identity, head: b"", body_bytes: 0 }
    }

    #[test]
    fn the_first_body_is_the_measure_of_its_variant() {
        let mut first = First::default();
        let mut same = |request, seen, digest, whole| first.is_same(request, seen, (digest, whole));
        assert!(same(1, seen(200), 10, false));
        assert!(same(1, seen(404), 11, false));
        assert!(same(1, Seen { coding: Coding::Gzip, ..seen(200) }, 12, false));
        assert!(same(2, seen(200), 13, false));
        assert!(same(1, seen(200), 10, false));
        assert!(!same(1, seen(200), 11, false));
        assert!(!same(1, seen(404), 10, false));
        // The whole has a hash of its own, and another length is another body.
        assert!(same(1, seen(200), 99, true));
        assert!(!same(1, seen(200), 98, true));
        assert!(!same(1, Seen { body_bytes: 1, ..seen(200) }, 10, false));
    }

    #[test]
    fn of_a_large_body_the_end_is_looked_at_now_and_then() {
        let checks = Checks::default();
        let digest = |number: u64, last: u8| {
            let mut body = vec![7; 3 * BEGINNING_BYTES];
            *body.last_mut().unwrap() = last;
            let mut probe = Probe::default();
            probe.begin(&checks, number);
            body.chunks(5_000).for_each(|piece| probe.feed(&checks, piece));
            probe.digest()
        };
        assert_eq!(digest(1, 0), digest(2, 9));
        assert_ne!(digest(WHOLE_EVERY, 0), digest(WHOLE_EVERY, 9));
    }

    proptest! {
        /// However a body is cut, what is found in it is what stands in it, and it hashes to the same.
        #[test]
        fn cuts_change_nothing(
            body in "[ab]{0,60}", needles in prop::collection::vec("[ab]{1,6}", 1..3),
            cuts in prop::collection::vec(0_usize..60, 0..8),
        ) {
            let expect: Vec<Expect> =
                needles.iter().map(|text| Expect::Body { text: text.clone(), has: true }).collect();
            let checks = Checks::new(expect);
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|at| *at < body.len()).collect();
            cuts.extend([0, body.len()]);
            cuts.sort_unstable();
            let mut probe = Probe::default();
            probe.begin(&checks, 0);
            cuts.windows(2).for_each(|pair| probe.feed(&checks, &body.as_bytes()[pair[0]..pair[1]]));
            let wants = needles.iter().all(|needle| body.contains(needle.as_str()));
            prop_assert_eq!(probe.judge(&checks, seen(200)).is_ok(), wants);
            let mut whole = Probe::default();
            whole.begin(&checks, 0);
            whole.feed(&checks, body.as_bytes());
            prop_assert_eq!(probe.digest(), whole.digest());
        }
    }
}
