//! When a request may be sent. Pure: time comes in as nanoseconds since the start of the run.
//!
//! [`Schedule`] says which phase a moment belongs to and how much load there is then, [`Arrivals`] when the requests of an
//! open loop are meant to go, [`Pacer`] whether another may go at all. In a closed loop a client sends when its last answer
//! is whole; in an open loop requests arrive whether answers do or not.
//!
//! Not here: timers, sockets, connections.

mod arrivals;
mod permit;
mod schedule;

pub use arrivals::{Arrivals, Spacing};
pub use permit::{Pacer, Permit, Start};
pub use schedule::{Phase, Piece, Schedule, Step};

/// Shares `total` among `shares` as evenly as whole numbers allow: the share number `index`.
pub fn share(total: u64, shares: u64, index: u64) -> u64 {
    match total.checked_div(shares) {
        None => 0,
        Some(even) => even + u64::from(index < total % shares),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_add_up_and_differ_by_one_at_most(total in 0_u64..1_000_000, shares in 1_u64..200) {
            let all: Vec<u64> = (0..shares).map(|index| share(total, shares, index)).collect();
            prop_assert_eq!(all.iter().sum::<u64>(), total);
            prop_assert!(all.iter().max().unwrap() - all.iter().min().unwrap() <= 1);
        }
    }
}
