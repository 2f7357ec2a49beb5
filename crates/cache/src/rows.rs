//! The rows of all entries: a number for each, under which the indexes and the queues of eviction know it.
//!
//! Rows lie in blocks; a block nobody has a row in is given back. Not here: what the numbers are used for.

use crate::entry::Entry;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The row of what has none.
pub(crate) const NO_ROW: u32 = u32::MAX;

/// Rows of a block.
const BLOCK_ROWS: usize = 256;

/// What a row costs, with its part of the block's own place.
pub(crate) const ROW_BYTES: u64 =
    size_of::<Row>() as u64 + (2 * size_of::<Block>()).div_ceil(BLOCK_ROWS) as u64;

#[derive(Debug, Default)]
pub(crate) struct Rows {
    blocks: Vec<Block>,
    /// Blocks with a free row; the first is filled first, so that the last become empty.
    with_room: BTreeSet<u32>,
}

#[derive(Debug, Default)]
struct Block {
    /// None, or all of them.
    rows: Box<[Row]>,
    used: u32,
    /// The first free row of the block; the others follow by `after`.
    free: u32,
}

/// One row. In a queue, `before` and `after` are its neighbours.
#[derive(Debug)]
pub(crate) struct Row {
    pub entry: Option<Arc<Entry>>,
    pub before: u32,
    pub after: u32,
}

impl Block {
    fn new() -> Block {
        let row = |at| Row { entry: None, before: NO_ROW, after: at + 1 };
        Block { rows: (0..BLOCK_ROWS as u32).map(row).collect(), used: 0, free: 0 }
    }
}

impl Rows {
    /// Gives an entry a row.
    pub(crate) fn add(&mut self, entry: &Arc<Entry>) -> u32 {
        let at = self.with_room.first().copied().unwrap_or_else(|| {
            let at = self.blocks.len() as u32;
            self.blocks.push(Block::default());
            self.with_room.insert(at);
            at
        });
        let Some(block) = self.blocks.get_mut(at as usize) else { return NO_ROW };
        if block.rows.is_empty() {
            *block = Block::new();
        }
        let within = block.free;
        if let Some(row) = block.rows.get_mut(within as usize) {
            block.free = row.after;
            block.used += 1;
            *row = Row { entry: Some(Arc::clone(entry)), before: NO_ROW, after: NO_ROW };
        }
        if block.used as usize == BLOCK_ROWS {
            self.with_room.remove(&at);
        }
        let number = at * BLOCK_ROWS as u32 + within;
        entry.row.store(number, Ordering::Relaxed);
        number
    }

    /// Takes an entry's row back.
    pub(crate) fn remove(&mut self, entry: &Entry) {
        let number = entry.row.swap(NO_ROW, Ordering::Relaxed);
        let (at, within) = (number / BLOCK_ROWS as u32, number % BLOCK_ROWS as u32);
        let Some(block) = self.blocks.get_mut(at as usize) else { return };
        let Some(row) = block.rows.get_mut(within as usize) else { return };
        *row = Row { entry: None, before: NO_ROW, after: block.free };
        block.free = within;
        block.used -= 1;
        if block.used == 0 {
            *block = Block::default();
        }
        self.with_room.insert(at);
        while self.blocks.last().is_some_and(|block| block.used == 0) {
            self.blocks.pop();
            self.with_room.remove(&(self.blocks.len() as u32));
        }
        if self.blocks.len() * 4 < self.blocks.capacity() {
            self.blocks.shrink_to(self.blocks.len() * 2);
        }
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Row> {
        self.blocks.get(number as usize / BLOCK_ROWS)?.rows.get(number as usize % BLOCK_ROWS)
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut Row> {
        self.blocks.get_mut(number as usize / BLOCK_ROWS)?.rows.get_mut(number as usize % BLOCK_ROWS)
    }

    pub(crate) fn entry(&self, number: u32) -> Option<&Arc<Entry>> {
        self.get(number)?.entry.as_ref()
    }

    #[cfg(test)]
    pub(crate) fn places(&self) -> usize {
        self.blocks.iter().map(|block| block.rows.len()).sum()
    }
}
