//! Chance that is the same for the same seed on every machine: SplitMix64 (Steele, Lea and Flood, 2014).
//!
//! Not here: what is drawn.

/// A stream of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// The stream of one thing of a seed: neither what else is drawn nor in which order changes it.
    pub(crate) fn of(seed: u64, what: &str, index: u64) -> Dice {
        let named = what.bytes().fold(mix(seed), |sum, byte| mix(sum ^ u64::from(byte)));
        Dice(mix(named ^ index))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }
}

/// Turns a number into one that shows nothing of it.
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published sequence of seed 0.
    #[test]
    fn is_splitmix64() {
        let mut dice = Dice(0);
        assert_eq!([dice.next(), dice.next()], [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4]);
    }

    #[test]
    fn streams_are_their_own() {
        let first = |seed, what, index| Dice::of(seed, what, index).next();
        let all = [first(1, "a", 0), first(2, "a", 0), first(1, "b", 0), first(1, "a", 1), first(1, "aa", 0)];
        assert!((1..all.len()).all(|at| !all[..at].contains(&all[at])), "{all:x?}");
        assert_eq!(first(1, "a", 0), all[0]);
    }
}
