//! The memory that a core's connections hold for heads of requests, and who gives way when there is no more.
//!
//! What counts is what a connection keeps of its own: a head that has come in part, a large one that is being answered,
//! requests that came ahead of an answer. Within the bound nothing happens. Beyond it the head that was begun first is given
//! up, as whoever sends a head in one go is never among them; then the next. A connection can only free its memory when its
//! task runs, so what is given up counts as gone at once, and nobody reads more of a head until it is.
//!
//! Not here: how a connection ends that gave way (`layer`), what one head may have (`HeadLimits`).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Heads up to this length fit what every engine has, bytes: they are not counted while they are answered.
pub(crate) const LARGE_BYTES: usize = 8 << 10;

/// Of one core.
#[derive(Debug)]
pub(crate) struct Heads {
    max_bytes: Cell<u64>,
    bytes: Cell<u64>,
    /// Of these, of connections that gave way and have not had their turn yet.
    leaving_bytes: Cell<u64>,
    /// Unfinished heads in the order in which they were begun: the connection's place, and a number that is another for
    /// each head. Those that were finished since stay until they are passed over.
    unfinished: RefCell<VecDeque<(usize, u64)>>,
    begun: Cell<u64>,
    /// Unfinished ones now.
    open: Cell<usize>,
}

/// What one connection has of it.
#[derive(Debug, Default)]
pub(crate) struct Share {
    bytes: Cell<u64>,
    leaving_bytes: Cell<u64>,
    /// The number of its unfinished head; 0 for none.
    number: Cell<u64>,
}

impl Heads {
    pub(crate) fn new(max_bytes: u64) -> Heads {
        Heads {
            max_bytes: Cell::new(max_bytes),
            bytes: Cell::new(0),
            leaving_bytes: Cell::new(0),
            unfinished: RefCell::default(),
            begun: Cell::new(0),
            open: Cell::new(0),
        }
    }

    pub(crate) fn set_max_bytes(&self, bytes: u64) {
        self.max_bytes.set(bytes);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Whether so many more would be too many, but for what is about to go.
    pub(crate) fn is_beyond(&self, more_bytes: u64) -> bool {
        self.bytes.get().saturating_sub(self.leaving_bytes.get()).saturating_add(more_bytes)
            > self.max_bytes.get()
    }

    /// Whether nobody should read on: what was given up is not gone yet.
    pub(crate) fn is_waiting(&self) -> bool {
        self.leaving_bytes.get() > 0 && self.bytes.get() > self.max_bytes.get()
    }

    /// Whether even twice the bound is used up, by heads that came while others were giving way.
    pub(crate) fn is_flooded(&self) -> bool {
        self.bytes.get() > self.max_bytes.get().saturating_mul(2)
    }

    /// Whether there is little left for what may as well wait in the socket.
    pub(crate) fn is_half_full(&self) -> bool {
        self.bytes.get() > self.max_bytes.get() / 2
    }

    /// A connection at this place holds so much from now on; `unfinished`: of a head that is not whole yet.
    pub(crate) fn hold(&self, share: &Share, place: usize, bytes: u64, unfinished: bool) {
        let before = share.bytes.replace(bytes);
        self.bytes.set((self.bytes.get() + bytes).saturating_sub(before));
        if bytes == 0 {
            let leaving = share.leaving_bytes.replace(0);
            self.leaving_bytes.set(self.leaving_bytes.get().saturating_sub(leaving));
        }
        match (unfinished && bytes > 0, share.number.get()) {
            (true, 0) if share.leaving_bytes.get() == 0 => {
                self.begun.set(self.begun.get() + 1);
                share.number.set(self.begun.get());
                self.open.set(self.open.get() + 1);
                self.unfinished.borrow_mut().push_back((place, self.begun.get()));
            }
            (false, 1..) => self.close(share),
            _ => {}
        }
    }

    fn close(&self, share: &Share) {
        share.number.set(0);
        self.open.set(self.open.get().saturating_sub(1));
    }

    /// The head that was begun first, if its connection has not finished it since: it counts as gone. `share_of` finds what the
    /// connection at a place has.
    pub(crate) fn give_up_first<T>(
        &self,
        share_of: impl Fn(usize) -> Option<T>,
        of: impl Fn(&T) -> &Share,
    ) -> Option<T> {
        loop {
            let (place, number) = self.unfinished.borrow_mut().pop_front()?;
            let Some(found) = share_of(place).filter(|found| of(found).number.get() == number) else {
                continue;
            };
            let share = of(&found);
            self.close(share);
            share.leaving_bytes.set(share.bytes.get());
            self.leaving_bytes.set(self.leaving_bytes.get() + share.bytes.get());
            return Some(found);
        }
    }

    /// Drops what is passed over, once it is most of the list. `is_open` as above.
    pub(crate) fn tidy(&self, is_open: impl Fn(usize, u64) -> bool) {
        let mut unfinished = self.unfinished.borrow_mut();
        if unfinished.len() > 64 + 2 * self.open.get() {
            unfinished.retain(|(place, number)| is_open(*place, *number));
        }
    }
}

impl Share {
    /// Whether it has this unfinished head.
    pub(crate) fn is(&self, number: u64) -> bool {
        self.number.get() == number
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    /// Connections by their places.
    struct Rig {
        heads: Heads,
        shares: Vec<Rc<Share>>,
    }

    impl Rig {
        fn new(max_bytes: u64, places: usize) -> Rig {
            Rig { heads: Heads::new(max_bytes), shares: (0..places).map(|_| Rc::default()).collect() }
        }

        fn hold(&self, place: usize, bytes: u64, unfinished: bool) {
            self.heads.hold(&self.shares[place], place, bytes, unfinished);
        }

        /// The place of the connection that gives way.
        fn first(&self) -> Option<usize> {
            let found = self.heads.give_up_first(|place| self.shares.get(place).cloned(), |share| share)?;
            self.shares.iter().position(|share| Rc::ptr_eq(share, &found))
        }

        fn tidy(&self) {
            self.heads.tidy(|place, number| self.shares[place].is(number));
        }
    }

    #[test]
    fn the_first_begun_gives_way_and_counts_as_gone() {
        let rig = Rig::new(100, 3);
        for place in [1, 0, 2] {
            rig.hold(place, 40, true);
        }
        // To grow is not to begin anew.
        rig.hold(1, 45, true);
        assert!(rig.heads.is_beyond(0) && !rig.heads.is_waiting() && rig.heads.is_half_full());
        assert_eq!(rig.first(), Some(1));
        assert!(!rig.heads.is_beyond(20) && rig.heads.is_beyond(21) && rig.heads.is_waiting());
        // It still holds it until its turn; what it reads meanwhile does not make it a new one.
        rig.hold(1, 50, true);
        rig.hold(1, 0, false);
        assert_eq!((rig.heads.bytes(), rig.heads.is_waiting()), (80, false));
        assert_eq!((rig.first(), rig.first(), rig.first()), (Some(0), Some(2), None));
    }

    #[test]
    fn whoever_finished_or_left_does_not_give_way() {
        let rig = Rig::new(10, 3);
        rig.hold(0, 5, true);
        rig.hold(1, 5, true);
        rig.hold(2, 5, true);
        // Finished and being answered; gone, and another came to its place.
        rig.hold(0, 5, false);
        rig.hold(1, 0, false);
        rig.hold(1, 5, true);
        assert_eq!((rig.first(), rig.first(), rig.first()), (Some(2), Some(1), None));
        rig.hold(0, 25, false);
        assert!(rig.heads.is_flooded() && rig.first().is_none());
    }

    #[test]
    fn the_list_is_no_longer_than_what_is_open() {
        let rig = Rig::new(10, 2);
        for _ in 0..10_000 {
            rig.hold(0, 5, true);
            rig.hold(0, 0, false);
            rig.tidy();
            assert!(rig.heads.unfinished.borrow().len() <= 65);
        }
        assert_eq!(rig.heads.bytes(), 0);
    }
}
