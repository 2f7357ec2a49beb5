//! The allocator: mimalloc, without the detour that its crate takes.
//!
//! `mimalloc::MiMalloc` asks for every block by alignment. For what fits no small size class exactly, mimalloc then
//! takes a larger block and looks for a place in it, and frees such blocks the long way. Rust asks for no more than 16
//! bytes nearly always, which mimalloc gives anyway. Of an answer of
//! the engine some 1,000 instructions went this way (callgrind, mimalloc 3).
//! Not here: what memory is used for.
#![allow(unsafe_code)]

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc, mi_zalloc_aligned,
};
use std::alloc::{GlobalAlloc, Layout};

/// See the file's head.
pub struct Allocator;

/// What every block is aligned to that is at least as large: `MI_MAX_ALIGN_SIZE` of mimalloc, which is
/// `alignof(max_align_t)` where this runs, and what C's `malloc` promises.
const ALIGNED_ANYWAY_BYTES: usize = 16;

/// Whether a block of `size` bytes is aligned well enough without a word. Smaller ones than their alignment are not: C
/// promises only what an object of the block's size could need.
fn is_aligned_anyway(size: usize, align: usize) -> bool {
    align <= ALIGNED_ANYWAY_BYTES && align <= size
}

// SAFETY: mimalloc is an allocator: a block is nobody else's until it is freed, `realloc` keeps the bytes up to the smaller
// size, null means there is no memory, and nothing unwinds. Each function passes size and alignment on as they came; where
// the alignment is left out, `is_aligned_anyway` holds, under which mimalloc gives it. The pointers that come back in are
// those that went out, and `mi_free` and `mi_realloc` take pointers of either kind of call.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_aligned_anyway(layout.size(), layout.align()) {
            // SAFETY: no preconditions.
            unsafe { mi_malloc(layout.size()).cast() }
        } else {
            // SAFETY: the alignment is a power of two, as every Layout's.
            unsafe { mi_malloc_aligned(layout.size(), layout.align()).cast() }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_aligned_anyway(layout.size(), layout.align()) {
            // SAFETY: no preconditions.
            unsafe { mi_zalloc(layout.size()).cast() }
        } else {
            // SAFETY: the alignment is a power of two, as every Layout's.
            unsafe { mi_zalloc_aligned(layout.size(), layout.align()).cast() }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the caller's promise: it came from here and is freed once.
        unsafe { mi_free(block.cast()) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_aligned_anyway(size, layout.align()) {
            // SAFETY: the caller's promise: the block came from here.
            unsafe { mi_realloc(block.cast(), size).cast() }
        } else {
            // SAFETY: the same, and the alignment is a power of two.
            unsafe { mi_realloc_aligned(block.cast(), size, layout.align()).cast() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Allocator, GlobalAlloc, Layout};

    /// Every size up to some pages with every alignment up to one: aligned, its own, and kept when it grows and shrinks.
    #[test]
    fn blocks_are_aligned_and_keep_their_bytes() {
        let mut held = Vec::new();
        for align in (0..=12).map(|bits| 1_usize << bits) {
            for size in (1..=64).chain((64..9_000).step_by(37)) {
                let layout = Layout::from_size_align(size, align).unwrap();
                // SAFETY: sizes above zero; every block is freed once with its layout, and written within its bounds.
                unsafe {
                    let block =
                        if size % 2 == 0 { Allocator.alloc(layout) } else { Allocator.alloc_zeroed(layout) };
                    assert!(!block.is_null() && block.addr() % align == 0, "{size} aligned to {align}");
                    if size % 2 == 1 {
                        assert!((0..size).all(|at| *block.add(at) == 0));
                    }
                    block.write_bytes(size as u8, size);
                    let other = if size % 3 == 0 { size * 2 } else { size.div_ceil(2) };
                    let moved = Allocator.realloc(block, layout, other);
                    assert!(!moved.is_null() && moved.addr() % align == 0, "{size} to {other}, {align}");
                    assert!((0..size.min(other)).all(|at| *moved.add(at) == size as u8));
                    moved.write_bytes(size as u8, other);
                    held.push((moved, Layout::from_size_align(other, align).unwrap(), size as u8));
                }
            }
        }
        for (block, layout, byte) in held {
            // SAFETY: as above.
            unsafe {
                assert!((0..layout.size()).all(|at| *block.add(at) == byte), "nobody else wrote into it");
                Allocator.dealloc(block, layout);
            }
        }
    }
}
