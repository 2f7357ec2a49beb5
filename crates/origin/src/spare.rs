//! The buffer that the last exchange of this core read into.
//!
//! It is in the processor's cache, where a new one is not: an allocator that hands out blocks in turn gives a cold one to each
//! answer. Most often whatever was made of it is gone when the next answer comes, and it is used from its beginning; else it
//! is left to that, and another is made when room is asked for. One for each core, and never more.

use bytes::BytesMut;
use std::cell::Cell;

thread_local! {
    static SPARE: Cell<Option<BytesMut>> = const { Cell::new(None) };
}

/// The buffer, or one without room.
pub(crate) fn take() -> BytesMut {
    // Of a thread that ends there is none any more.
    SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default()
}

/// What was read into is needed no more; what it still holds is forgotten.
pub(crate) fn give(mut buffer: BytesMut) {
    buffer.clear();
    let _gone = SPARE.try_with(|spare| spare.set(Some(buffer)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_same_one_unless_somebody_still_reads_it() {
        let mut first = take();
        first.reserve(1024);
        first.extend_from_slice(b"one");
        let at = first.as_ptr();
        let piece = first.split_to(3).freeze();
        give(first);
        let mut held = take();
        held.reserve(1024);
        assert_ne!(held.as_ptr(), at, "somebody reads it");
        assert_eq!(&piece[..], b"one");
        drop(piece);
        let at = held.as_ptr();
        held.extend_from_slice(b"left over");
        drop(held.split_to(4));
        give(held);
        let mut again = take();
        again.reserve(1024);
        assert!(again.as_ptr() == at && again.is_empty());
        assert_eq!(take().capacity(), 0);
    }
}
