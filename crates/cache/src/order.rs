//! Rows in the order of their keys, four bytes each, in blocks that are split and joined.
//!
//! A tree of pointers took three times as much. The keys stay where they are, in the entries: whoever asks says of
//! a row whether it comes before what is looked for. Not here: what is looked for (`index`).

/// Rows of a block at most. A block is searched by halves, and moved by 2 KiB at most when a row comes in between.
const FULL: usize = 512;

/// What a row costs: its number in a block that has just grown, and its part of the block's own place.
pub(crate) const ROW_BYTES: u64 =
    2 * size_of::<u32>() as u64 + (2 * size_of::<Vec<u32>>()).div_ceil(FULL / 2) as u64;

/// Sorted; no block is empty.
#[derive(Debug, Default)]
pub(crate) struct Order {
    blocks: Vec<Vec<u32>>,
}

impl Order {
    /// Where the first row is that is not before what is looked for: its block, and its place there.
    fn find(&self, is_before: &impl Fn(u32) -> bool) -> (usize, usize) {
        let begins_before = |block: &Vec<u32>| block.first().is_some_and(|row| is_before(*row));
        let at = self.blocks.partition_point(begins_before).saturating_sub(1);
        (at, self.blocks.get(at).map_or(0, |block| block.partition_point(|row| is_before(*row))))
    }

    /// Puts a row behind those that are before it.
    pub(crate) fn insert(&mut self, row: u32, is_before: impl Fn(u32) -> bool) {
        let (at, within) = self.find(&is_before);
        let Some(block) = self.blocks.get_mut(at) else { return self.blocks.push(vec![row]) };
        if block.len() < FULL {
            return block.insert(within, row);
        }
        // Keys that come in their order, or the other way round, leave full blocks behind.
        if within == 0 {
            return self.blocks.insert(at, vec![row]);
        }
        if within == FULL {
            return match self.blocks.get_mut(at + 1) {
                Some(next) if next.len() < FULL => next.insert(0, row),
                _ => self.blocks.insert(at + 1, vec![row]),
            };
        }
        let mut upper = block.split_off(FULL / 2);
        match within.checked_sub(FULL / 2) {
            Some(within) => upper.insert(within, row),
            None => block.insert(within, row),
        }
        self.blocks.insert(at + 1, upper);
    }

    /// Takes out a row that is in, behind those that are before it.
    pub(crate) fn remove(&mut self, row: u32, is_before: impl Fn(u32) -> bool) {
        let (mut at, mut within) = self.find(&is_before);
        if self.blocks.get(at).is_some_and(|block| within == block.len()) {
            (at, within) = (at + 1, 0);
        }
        let Some(block) = self.blocks.get_mut(at).filter(|block| block.get(within) == Some(&row)) else {
            return;
        };
        block.remove(within);
        if block.len() * 2 < block.capacity() {
            block.shrink_to(block.len() + block.len() / 4);
        }
        if block.is_empty() {
            self.blocks.remove(at);
        } else if !self.join(at) && at > 0 {
            self.join(at - 1);
        }
        if self.blocks.len() * 4 < self.blocks.capacity() {
            self.blocks.shrink_to(self.blocks.len() * 2);
        }
    }

    /// Two blocks that have become small are one.
    fn join(&mut self, at: usize) -> bool {
        let len = |at: usize| self.blocks.get(at).map(Vec::len);
        let (Some(lower), Some(upper)) = (len(at), len(at + 1)) else { return false };
        if lower + upper > FULL / 2 {
            return false;
        }
        let upper = self.blocks.remove(at + 1);
        if let Some(lower) = self.blocks.get_mut(at) {
            lower.extend_from_slice(&upper);
        }
        true
    }

    /// The rows from the first on that is not before what is looked for.
    pub(crate) fn from(&self, is_before: impl Fn(u32) -> bool) -> impl Iterator<Item = u32> {
        let (at, within) = self.find(&is_before);
        self.blocks.get(at..).unwrap_or_default().iter().flatten().copied().skip(within)
    }

    pub(crate) fn len(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    impl Order {
        fn check(&self, rows: &BTreeSet<u32>) {
            assert!(self.from(|_| false).eq(rows.iter().copied()));
            assert!(self.blocks.iter().all(|block| !block.is_empty() && block.len() <= FULL));
        }

        fn taken_bytes(&self) -> u64 {
            let blocks: usize = self.blocks.iter().map(|block| block.capacity() * size_of::<u32>()).sum();
            (blocks + self.blocks.capacity() * size_of::<Vec<u32>>()) as u64
        }
    }

    proptest! {
        /// Against a set; what has a lower number comes first.
        #[test]
        fn as_a_set_would(seed in any::<u64>(), steps in 0_usize..6_000, bound in 1_u64..5_000) {
            let (mut order, mut set, mut dice) = (Order::default(), BTreeSet::new(), seed | 1);
            for step in 0..steps {
                dice ^= dice << 13;
                dice ^= dice >> 7;
                dice ^= dice << 17;
                let row = (dice % bound) as u32;
                // Rather more come than go, and later the other way round.
                let comes = if step < steps / 2 { dice >> 40 & 7 > 1 } else { dice >> 40 & 7 > 5 };
                if comes && set.insert(row) {
                    order.insert(row, |other| other < row);
                } else if !comes {
                    set.remove(&row);
                    order.remove(row, |other| other < row);
                }
                if step % 500 == 0 {
                    order.check(&set);
                }
                prop_assert!(order.from(|other| other < row).next() == set.range(row..).next().copied());
            }
            order.check(&set);
            prop_assert_eq!(order.len(), set.len());
            for row in set {
                order.remove(row, |other| other < row);
            }
            prop_assert_eq!(order.taken_bytes(), 0);
        }
    }

    /// In whatever order keys come, a row takes no more than is said of it.
    #[test]
    fn what_a_row_takes() {
        let all = 100_000_u32;
        let orders: [fn(u32) -> u32; 4] =
            [|n| n, |n| 100_000 - n, |n| n.wrapping_mul(7_919) % 100_003, |n| n % 20 * 10_000 + n / 20];
        for (number, place) in orders.into_iter().enumerate() {
            let mut order = Order::default();
            for n in 0..all {
                let row = place(n);
                order.insert(row, |other| other < row);
            }
            let most = u64::from(all) * ROW_BYTES;
            assert!(order.taken_bytes() <= most, "{} of {most} in order {number}", order.taken_bytes());
        }
    }
}
