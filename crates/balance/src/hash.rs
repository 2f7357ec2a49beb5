//! Which member a key belongs to: weighted rendezvous hashing.
//!
//! Each member draws a number from the key and its own name, and the greatest wins. When a member leaves, only its own
//! keys move; when one comes, it takes its share from all alike. No ring to keep, and weights hold exactly (D. Thaler and
//! C. Ravishankar, 1998; weights by Schindelhauer and Schomaker, 2005). Linear in the members, of which there are few.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The hash of a request's key.
pub fn hash_of(key: &[u8]) -> u64 {
    xxh3_64(key)
}

/// Which of the members, `(index, name, weight)`, a key belongs to; `None` if there are none.
pub fn owner_of<'a>(key: u64, members: impl Iterator<Item = (usize, &'a str, f64)>) -> Option<usize> {
    let drawn =
        members.map(|(at, name, weight)| (at, score(xxh3_64_with_seed(name.as_bytes(), key), weight)));
    drawn.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
}

/// `-w / ln(u)`, for u between 0 and 1 without either.
fn score(hash: u64, weight: f64) -> f64 {
    // 53 bits are what a double holds; half a step keeps it off both ends.
    let u = ((hash >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    -weight / u.ln()
}
