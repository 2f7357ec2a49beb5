//! Who left probation lately: half a machine word of a hash each, in buckets of a cache line, first in first out.
//!
//! As many are remembered as there are entries, give or take: a bucket forgets its own oldest, so that there is no order
//! of them all to keep, which cost ten bytes more a ghost. What is taken for another (one in some two thousand that come)
//! passes probation once too early. Not here: what follows from having been here (`evict`).

/// Fingerprints of a bucket.
const BUCKET: usize = 32;

/// Ghosts there is room for however few entries there are.
const GHOSTS_MIN: usize = 64;

/// What an entry costs here: the buckets are doubled when there are more entries than ghosts have room.
pub(crate) const ROW_BYTES: u64 = 2 * size_of::<u16>() as u64;

/// Nobody's fingerprint.
const NONE: u16 = 0;

#[derive(Default)]
pub(crate) struct Ghosts {
    /// A power of two of them, or none yet.
    buckets: Vec<Bucket>,
}

/// The youngest first.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Bucket([u16; BUCKET]);

impl std::fmt::Debug for Ghosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ghosts {{ buckets: {} }}", self.buckets.len())
    }
}

impl Ghosts {
    /// Something with this hash left probation, and so many are in.
    pub(crate) fn remember(&mut self, hash: u64, entries: usize) {
        self.fit(entries);
        let (at, print) = self.place(hash);
        let Some(Bucket(prints)) = self.buckets.get_mut(at) else { return };
        // The same again is one, and the youngest.
        let from = prints.iter().position(|other| *other == print).unwrap_or(BUCKET - 1);
        prints.copy_within(..from, 1);
        prints[0] = print;
    }

    /// Whether something with this hash left lately; it is no ghost from here on.
    pub(crate) fn take(&mut self, hash: u64) -> bool {
        let (at, print) = self.place(hash);
        let Some(Bucket(prints)) = self.buckets.get_mut(at) else { return false };
        let Some(from) = prints.iter().position(|other| *other == print) else { return false };
        prints.copy_within(from + 1.., from);
        prints[BUCKET - 1] = NONE;
        true
    }

    /// Makes room for as many ghosts as there are entries.
    pub(crate) fn fit(&mut self, entries: usize) {
        let wanted = entries.max(GHOSTS_MIN).div_ceil(BUCKET).next_power_of_two();
        if self.buckets.is_empty() {
            return self.buckets.resize(wanted, Bucket([NONE; BUCKET]));
        }
        while self.buckets.len() < wanted {
            // Whoever was in one is in both it became: which, its fingerprint does not say.
            let len = self.buckets.len();
            self.buckets.reserve_exact(len);
            self.buckets.extend_from_within(..);
        }
        // Not at once: what comes and goes would have it done over and over.
        if self.buckets.len() > 2 * wanted {
            self.buckets.truncate(wanted);
            self.buckets.shrink_to_fit();
        }
    }

    /// Bucket and fingerprint.
    fn place(&self, hash: u64) -> (usize, u16) {
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed >> 32) as usize & self.buckets.len().wrapping_sub(1), ((mixed >> 16) as u16).max(NONE + 1))
    }

    #[cfg(test)]
    pub(crate) fn room(&self) -> usize {
        self.buckets.len() * BUCKET
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of those that left, the latest are remembered, about as many as there are entries.
    #[test]
    fn how_many_are_remembered() {
        for entries in [0_usize, 64, 1_000, 4_096, 30_000] {
            let mut ghosts = Ghosts::default();
            let room = entries.max(GHOSTS_MIN) as u64;
            for hash in 0..4 * room {
                ghosts.remember(hash, entries);
                // The same again is one.
                ghosts.remember(hash, entries);
            }
            let slots = ghosts.room() as u64;
            assert!((room..room * 2 + 64).contains(&slots), "{slots} for {entries}");
            assert!(
                ghosts.buckets.len() * size_of::<Bucket>() <= entries.max(GHOSTS_MIN) * ROW_BYTES as usize
            );
            let known = |ghosts: &mut Ghosts, hashes: std::ops::Range<u64>| {
                hashes.filter(|hash| ghosts.take(*hash)).count() as u64
            };
            let last = 4 * room;
            let young = known(&mut ghosts, last - room / 2..last);
            assert!(young * 100 >= room / 2 * 93, "{young} of the latest {}", room / 2);
            let old = known(&mut ghosts, 0..last - 2 * slots.min(2 * room));
            assert!(old <= slots / 100 + 1, "{old} of {last} too long ago");
            assert_eq!(known(&mut ghosts, last - room / 2..last) * 100 / room, 0, "once");
        }
    }

    #[test]
    fn it_grows_and_shrinks_with_the_entries() {
        let mut ghosts = Ghosts::default();
        assert!(!ghosts.take(1));
        (0..64).for_each(|hash| ghosts.remember(hash, 0));
        ghosts.fit(100_000);
        assert_eq!(ghosts.room(), 131_072);
        assert!((50..64).all(|hash| ghosts.take(hash)), "those who were known are");
        (0..100_000).for_each(|hash| ghosts.remember(hash, 100_000));
        for (entries, room) in [(60_000, 131_072), (32_769, 131_072), (32_768, 32_768), (0, 64), (65, 128)] {
            ghosts.fit(entries);
            assert_eq!(ghosts.room(), room, "{entries}");
        }
    }
}
