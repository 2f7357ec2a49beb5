//! Who goes first in each pair.
//!
//! A goes first as often as B, up to one, so that what the second always meets (a warm machine, a full disk) and
//! what changes steadily meets both alike. Which pairs these are is shuffled as a whole: ABBA repeated would be in
//! step with whatever else comes round every four runs.
//!
//! Not here: making the runs.

use super::Side;
use crate::dice::Dice;

/// For each pair who goes first and who second; the same seed gives the same order.
pub fn order(pairs: usize, seed: u64) -> Vec<(Side, Side)> {
    let mut dice = Dice::of(seed, "order", pairs as u64);
    let odd = dice.next() & 1;
    let mut order: Vec<(Side, Side)> = (0..pairs as u64)
        .map(|pair| if (pair + odd).is_multiple_of(2) { (Side::A, Side::B) } else { (Side::B, Side::A) })
        .collect();
    for last in (1..order.len()).rev() {
        let other = dice.next() % (last as u64 + 1);
        order.swap(last, usize::try_from(other).unwrap_or(last));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn a_first(order: &[(Side, Side)]) -> usize {
        order.iter().filter(|pair| pair.0 == Side::A).count()
    }

    proptest! {
        #[test]
        fn both_go_first_equally_often(pairs in 0_usize..200, seed: u64) {
            let order = order(pairs, seed);
            prop_assert_eq!(order.len(), pairs);
            prop_assert!(order.iter().all(|pair| pair.0 != pair.1));
            let a = a_first(&order);
            prop_assert!(a.abs_diff(pairs - a) <= 1);
            prop_assert_eq!(&order, &super::order(pairs, seed));
        }
    }

    /// Each of the orders that may come does come about equally often: of 4 pairs 6, and of 1 pair 2.
    #[test]
    fn no_order_is_preferred() {
        for (pairs, orders) in [(1, 2), (4, 6), (5, 20)] {
            let mut seen = std::collections::BTreeMap::new();
            let draws = orders * 500;
            for seed in 0..draws {
                let shape: Vec<bool> = order(pairs, seed).iter().map(|pair| pair.0 == Side::A).collect();
                *seen.entry(shape).or_insert(0_u64) += 1;
            }
            assert_eq!(seen.len() as u64, orders, "{pairs} pairs");
            // Five standard deviations of a count around 500.
            assert!(seen.values().all(|count| count.abs_diff(500) < 112), "{seen:?}");
        }
    }
}
