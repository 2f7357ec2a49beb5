//! A whole body in memory: as few pieces as can be, each of a size that allocators have.
//!
//! Allocators round up to classes an eighth to a quarter apart: a body of 15 KiB in one piece takes 16. Cut in two, the
//! first as large as a class below it, it takes hardly more than its bytes. What is larger is cut into powers of two, which
//! fill an allocator's pages: five pieces of 96 KiB leave 32 KiB of a page (mimalloc's has 512) to nobody. Not here: bodies that are still
//! arriving (`body`), and of which only parts are here (`parts`).

use crate::budget::{Budget, Paid};
use bytes::Bytes;
use std::sync::Arc;

/// A body is cut in two if that saves as much.
const SAVES_BYTES: usize = 160;

/// The largest piece.
const CUT_MAX_BYTES: usize = 256 * 1024;

/// Pieces of up to so many bytes leave little of a page unused, whatever their size.
const ANY_SIZE_BYTES: usize = 32 * 1024;

/// What a large chunk costs beside its bytes: its place, who pays for it with two counts, and what holds its bytes.
const LARGE_BYTES: usize = size_of::<Bytes>() + (size_of::<Paid>() + 2 * size_of::<usize>()) + 24;

/// A whole body in memory.
#[derive(Debug)]
pub struct Chunks {
    /// Chunks as they were merged while they came; of a body that is smaller than one, none.
    large: Option<Box<Large>>,
    /// What follows them, in two pieces or one.
    tail: [Box<[u8]>; 2],
    budget: Arc<Budget>,
}

#[derive(Debug)]
struct Large(Vec<Bytes>);

impl Chunks {
    /// A whole body out of `parts`, copied.
    pub fn new(parts: Vec<Bytes>, budget: &Arc<Budget>) -> Chunks {
        Chunks::with_large(Vec::new(), &parts, budget)
    }

    /// A whole body that begins with these chunks as they are, and are paid for; `rest` is copied.
    pub(crate) fn with_large(large: Vec<Bytes>, rest: &[Bytes], budget: &Arc<Budget>) -> Chunks {
        let mut left: usize = rest.iter().map(Bytes::len).sum();
        let mut rest = rest.iter().cloned();
        let mut current = Bytes::new();
        let mut take = |len: usize| {
            let mut piece = Vec::with_capacity(len);
            while piece.len() < len {
                if current.is_empty() {
                    let Some(next) = rest.next() else { break };
                    current = next;
                }
                let bytes = current.split_to(current.len().min(len - piece.len()));
                piece.extend_from_slice(&bytes);
            }
            piece.into_boxed_slice()
        };
        let mut large = large;
        for piece in powers_of(left) {
            large.push(Paid::shared(Bytes::from(take(piece)), budget));
            left -= piece;
        }
        let first = first_of(left);
        let tail = [take(first), take(left - first)];
        large.shrink_to_fit();
        let large = (!large.is_empty()).then(|| Box::new(Large(large)));
        let chunks = Chunks { large, tail, budget: Arc::clone(budget) };
        budget.take(chunks.tail_bytes());
        chunks
    }

    fn large(&self) -> &[Bytes] {
        self.large.as_ref().map_or(&[], |large| &large.0)
    }

    /// The body as shared slices, in order.
    pub fn parts(self: &Arc<Self>) -> Vec<Bytes> {
        self.slice(0, self.len_bytes())
    }

    /// Length, bytes.
    pub fn len_bytes(&self) -> u64 {
        let large: usize = self.large().iter().map(Bytes::len).sum();
        large as u64 + self.tail_bytes()
    }

    fn tail_bytes(&self) -> u64 {
        let [first, second] = &self.tail;
        (first.len() + second.len()) as u64
    }

    /// What it costs beside its bytes.
    pub(crate) fn frame_bytes(&self) -> u64 {
        let large = self.large.as_ref().map_or(0, |large| size_of::<Large>() + large.0.len() * LARGE_BYTES);
        (size_of::<Chunks>() + 2 * size_of::<usize>() + large) as u64
    }

    /// What it is charged to.
    pub(crate) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// The bytes `start..end` as shared slices. Each keeps its piece, and the charge for it, as long as it is held.
    pub fn slice(self: &Arc<Self>, start: u64, end: u64) -> Vec<Bytes> {
        let mut out = Vec::with_capacity(self.large().len() + 2);
        let mut at = 0u64;
        let mut push = |len: usize, bytes: &dyn Fn() -> Bytes| {
            let to_end = at + len as u64;
            let (from, to) = (start.max(at), end.min(to_end));
            if from < to {
                out.push(bytes().slice((from - at) as usize..(to - at) as usize));
            }
            at = to_end;
        };
        for large in self.large() {
            push(large.len(), &|| large.clone());
        }
        let [first, second] = &self.tail;
        push(first.len(), &|| Bytes::from_owner(First(Arc::clone(self))));
        push(second.len(), &|| Bytes::from_owner(Second(Arc::clone(self))));
        out
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        self.budget.give_back(self.tail_bytes());
    }
}

/// The pieces of the tail as owners of slices.
struct First(Arc<Chunks>);
struct Second(Arc<Chunks>);

impl AsRef<[u8]> for First {
    fn as_ref(&self) -> &[u8] {
        let [first, _] = &self.0.tail;
        first
    }
}

impl AsRef<[u8]> for Second {
    fn as_ref(&self) -> &[u8] {
        let [_, second] = &self.0.tail;
        second
    }
}

/// The pieces that a body of `bytes` begins with: powers of two, the largest first, until what is left is a small part of
/// it.
fn powers_of(bytes: usize) -> impl Iterator<Item = usize> {
    let mut left = bytes;
    std::iter::from_fn(move || {
        let fills_a_power = left <= CUT_MAX_BYTES && left.next_power_of_two() - left <= SAVES_BYTES;
        if left <= (bytes / 16).clamp(ANY_SIZE_BYTES, CUT_MAX_BYTES / 2) || fills_a_power {
            return None;
        }
        let piece = CUT_MAX_BYTES.min(1 << left.ilog2());
        left -= piece;
        Some(piece)
    })
}

/// How large the first piece is of a body of `bytes`.
fn first_of(bytes: usize) -> usize {
    let (below, above) = classes(bytes);
    let (_, rest_above) = classes(bytes - below);
    if below + rest_above + SAVES_BYTES <= above { below } else { bytes }
}

/// The sizes around `bytes` that allocators have: four in every doubling (mimalloc, jemalloc), below 128 any.
pub(crate) fn classes(bytes: usize) -> (usize, usize) {
    if bytes < 128 {
        return (bytes, bytes);
    }
    let step = 1 << (bytes.ilog2() - 2);
    (bytes - bytes % step, bytes.next_multiple_of(step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_put_in_comes_out(
            pieces in proptest::collection::vec(0_usize..200_000, 0..6),
            cuts in proptest::collection::vec((0.0..1.0, 0.0..1.0), 5),
        ) {
            let budget = Budget::new(1 << 30);
            let mut all = Vec::new();
            let pieces: Vec<Bytes> = pieces.iter().enumerate().map(|(n, len)| {
                let piece: Vec<u8> = (0..*len).map(|i| (i * 7 + n) as u8).collect();
                all.extend_from_slice(&piece);
                Bytes::from(piece)
            }).collect();
            for large in 0..=pieces.len() {
                let (large, rest) = pieces.split_at(large);
                let large: Vec<_> = large
                    .iter()
                    .filter(|piece| !piece.is_empty())
                    .map(|piece| Paid::shared(piece.clone(), &budget))
                    .collect();
                let chunks = Arc::new(Chunks::with_large(large, rest, &budget));
                prop_assert_eq!(chunks.len_bytes(), all.len() as u64);
                prop_assert_eq!(budget.used_bytes(), all.len() as u64);
                prop_assert!(chunks.parts().concat() == all);
                for (a, b) in &cuts {
                    let (a, b) = ((a * all.len() as f64) as usize, (b * all.len() as f64) as usize);
                    let (from, to) = (a.min(b), a.max(b));
                    let slice = chunks.slice(from as u64, to as u64);
                    prop_assert!(slice.iter().all(|piece| !piece.is_empty()));
                    prop_assert!(slice.concat() == all[from..to]);
                }
                let held = chunks.parts();
                drop(chunks);
                prop_assert_eq!(budget.used_bytes(), all.len() as u64, "readers hold what they are given");
                drop(held);
                prop_assert_eq!(budget.used_bytes(), 0);
            }
        }
    }

    #[test]
    fn a_body_takes_hardly_more_than_its_bytes() {
        for (bytes, first) in
            [(0, 0), (1, 1), (127, 127), (1_000, 1_000), (1_024, 1_024), (15_360, 14_336), (16_384, 16_384)]
        {
            assert_eq!(first_of(bytes), first, "{bytes}");
        }
        for bytes in 1..CUT_MAX_BYTES {
            let first = first_of(bytes);
            let taken = classes(first).1 + classes(bytes - first).1;
            assert!(taken <= bytes + SAVES_BYTES + bytes / 20, "{bytes} take {taken}");
        }
    }

    /// As mimalloc has it: blocks of up to 128 KiB lie in pages of 512, larger ones in slices of 64.
    #[test]
    fn pieces_leave_little_of_a_page_unused() {
        let taken = |piece: usize| match classes(piece).1 {
            0 => 0,
            class if class <= 128 << 10 => (512 << 10) / ((512 << 10) / class),
            class => class.next_multiple_of(64 << 10),
        };
        for bytes in (ANY_SIZE_BYTES + 1..3 << 20).step_by(177) {
            let powers: Vec<usize> = powers_of(bytes).collect();
            let rest = bytes - powers.iter().sum::<usize>();
            let tail = [first_of(rest), rest - first_of(rest)];
            let all: usize = powers.iter().copied().chain(tail).map(taken).sum();
            assert!(all <= bytes + SAVES_BYTES + bytes / 40, "{bytes} take {all}: {powers:?} {tail:?}");
            assert!(powers.len() <= bytes / CUT_MAX_BYTES + 3, "{bytes}: {powers:?}");
        }
        assert_eq!(powers_of(64 << 10).count(), 0);
        assert_eq!(powers_of(102_400).collect::<Vec<_>>(), [65_536, 32_768]);
    }
}
