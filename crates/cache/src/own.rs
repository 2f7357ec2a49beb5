//! The bytes of a small body, in its entry: the last of them at the end of the entry's block, what comes before in one
//! piece beside it, where that saves room.
//!
//! A frame of their own for such bytes (two counts, pieces, what they are charged to) cost 64 bytes and two allocations
//! an entry, and a hit a line of the processor's cache for each. The price: an entry that a 304 makes has a copy of them,
//! which is a microsecond beside what asking the origin took. Not here: larger bodies (`chunks`), which are shared.

use crate::chunks::classes;
use crate::entry::Entry;
use bytes::Bytes;
use std::sync::Arc;

/// Larger bodies are not copied, and their frame is next to nothing beside them.
pub(crate) const OWN_MAX_BYTES: u64 = 32 * 1024;

/// A body has a place of its own if that saves as much, and is cut in two if that does.
const BESIDE_SAVES_BYTES: usize = 64;
const CUT_SAVES_BYTES: usize = 192;

/// Lays `pieces` out behind `head`: the block, and the piece beside it.
pub(crate) fn lay(head: &[u8], pieces: &[&[u8]]) -> (Box<[u8]>, Box<[u8]>) {
    let body_bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
    let beside = beside_of(head.len(), body_bytes);
    let mut first = Vec::with_capacity(beside);
    let mut block = Vec::with_capacity(head.len() + body_bytes - beside);
    block.extend_from_slice(head);
    for piece in pieces {
        let (to_first, to_block) = piece.split_at(piece.len().min(beside - first.len()));
        first.extend_from_slice(to_first);
        block.extend_from_slice(to_block);
    }
    (block.into_boxed_slice(), first.into_boxed_slice())
}

/// How many bytes of a body go beside the block: none, all, or as many as an allocator has a size for.
fn beside_of(head_bytes: usize, body_bytes: usize) -> usize {
    let (class, _) = classes(body_bytes);
    // What a body takes in two places, and a body in two pieces, which a hit sends one after the other.
    let ways = [(0, 0), (body_bytes, BESIDE_SAVES_BYTES), (class, CUT_SAVES_BYTES)];
    let taken = |(beside, saves): &(usize, usize)| {
        classes(*beside).1 + classes(head_bytes + body_bytes - beside).1 + saves
    };
    ways.into_iter().min_by_key(taken).map_or(0, |(beside, _)| beside)
}

/// The bytes `start..end` of an entry's own body, as slices that keep the entry, and its charge.
pub(crate) fn slice(entry: &Arc<Entry>, start: u64, end: u64) -> Vec<Bytes> {
    let beside = entry.beside().len() as u64;
    let mut out = Vec::with_capacity(2);
    if start < end.min(beside) {
        let whole = Bytes::from_owner(Beside(Arc::clone(entry)));
        out.push(whole.slice(start as usize..end.min(beside) as usize));
    }
    let (start, end) = (start.saturating_sub(beside), end.saturating_sub(beside));
    let end = end.min(entry.behind().len() as u64);
    if start < end {
        let whole = Bytes::from_owner(Behind(Arc::clone(entry)));
        out.push(whole.slice(start as usize..end as usize));
    }
    out
}

/// The two pieces as owners of slices.
struct Beside(Arc<Entry>);
struct Behind(Arc<Entry>);

impl AsRef<[u8]> for Beside {
    fn as_ref(&self) -> &[u8] {
        self.0.beside()
    }
}

impl AsRef<[u8]> for Behind {
    fn as_ref(&self) -> &[u8] {
        self.0.behind()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_and_its_head_take_hardly_more_than_their_bytes() {
        assert_eq!([300, 700, 1_000, 14_000].map(|body| beside_of(120, body)), [0, 0, 1_000, 0]);
        for head in [60, 120, 180, 250, 1_000] {
            for (body, beside) in [(0, 0), (1, 0), (16_384, 16_384), (15_360, 14_336)] {
                // All in one where it just fits.
                let beside = if head == 1_000 && body == 15_360 { 0 } else { beside };
                assert_eq!(beside_of(head, body), beside, "{body} bytes behind {head}");
            }
            for body in 0..=OWN_MAX_BYTES as usize {
                let beside = beside_of(head, body);
                let taken = classes(beside).1 + classes(head + body - beside).1;
                let exact = head + body;
                assert!(taken <= exact + CUT_SAVES_BYTES + exact / 20, "{body} behind {head} take {taken}");
            }
        }
    }

    #[test]
    fn what_is_laid_out_is_all_there() {
        let body: Vec<u8> = (0..20_000).map(|n| (n * 7 % 251) as u8).collect();
        for len in [0, 1, 700, 4_000, 14_336, 15_360, 20_000] {
            for cuts in [[0, 0], [1, 1], [len / 2, len], [len / 3, len - len / 3]] {
                let whole = &body[..len];
                let (from, to) = (cuts[0].min(len), cuts[1].min(len).max(cuts[0].min(len)));
                let (block, first) = lay(b"head", &[&whole[..from], &whole[from..to], &whole[to..]]);
                assert_eq!(first.len(), beside_of(4, len));
                assert_eq!([&first[..], &block[4..]].concat(), whole);
                assert_eq!(block[..4], *b"head");
            }
        }
    }
}
