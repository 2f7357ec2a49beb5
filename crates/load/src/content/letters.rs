//! Bytes of a given entropy: drawn one by one, independently, from an alphabet that is as large as the entropy asks.
//!
//! A compressor that knows nothing but frequencies reaches that entropy and no compressor gets below it, so
//! `entropy / 8` is what is left of such a file. Not here: how many bytes, and where they go.

use crate::dice::Dice;

/// An alphabet whose letters come with the same chance, but for the last, which comes as often as it takes to meet the
/// wanted entropy exactly.
#[derive(Clone, Debug)]
pub(super) struct Alphabet {
    letters: Vec<u8>,
    /// Chance of the last letter, if that of the others is 1.
    last: f64,
}

impl Alphabet {
    /// `bits` per byte, from 0 (one letter) to 8 (all bytes alike).
    pub(super) fn new(bits: f64) -> Alphabet {
        let count = bits.clamp(0.0, 8.0).exp2().ceil().max(1.0) as usize;
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        // The entropy grows with the chance of the last letter: halving finds it to the last bit.
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if entropy(count, middle) < bits { low = middle } else { high = middle }
        }
        Alphabet { letters: order().take(count).collect(), last: high }
    }

    /// Whether a person could read it as text.
    pub(super) fn is_text(&self) -> bool {
        self.letters.iter().all(|byte| *byte == b'\n' || (b' '..=b'~').contains(byte))
    }

    /// `len` bytes.
    pub(super) fn draw(&self, len: usize, dice: &mut Dice) -> Vec<u8> {
        let total = self.letters.len() as f64 - 1.0 + self.last;
        let mut out = Vec::with_capacity(len + 1);
        while out.len() < len {
            let number = dice.next();
            for half in [number >> 32, number & 0xFFFF_FFFF] {
                let at = (half as f64 / 4_294_967_296.0 * total) as usize;
                out.push(self.letters.get(at).copied().unwrap_or(b' '));
            }
        }
        out.truncate(len);
        out
    }
}

/// Bits per letter of `count` letters, of which the last has the chance `last` where the others have 1.
fn entropy(count: usize, last: f64) -> f64 {
    let total = count as f64 - 1.0 + last;
    let of_last = if last > 0.0 { last / total * last.log2() } else { 0.0 };
    total.log2() - of_last
}

/// All bytes, those of text first.
fn order() -> impl Iterator<Item = u8> {
    let common = b" etaoinsrhldcumfpgwybvkxjqz\n";
    let rest = (b' '..=b'~').chain(0..b' ').chain(b'\x7f'..=255).filter(|byte| !common.contains(byte));
    common.iter().copied().chain(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Counted, not computed as above.
    fn measured(bytes: &[u8]) -> f64 {
        let mut counts: HashMap<u8, f64> = HashMap::new();
        bytes.iter().for_each(|byte| *counts.entry(*byte).or_default() += 1.0);
        let share = |count: &f64| count / bytes.len() as f64;
        -counts.values().map(|count| share(count) * share(count).log2()).sum::<f64>()
    }

    #[test]
    fn the_entropy_is_the_one_asked_for() {
        for bits in [0.0, 0.1, 1.0, 1.5, 2.0, 4.2, 6.0, 7.3, 7.99, 8.0] {
            let bytes = Alphabet::new(bits).draw(1 << 20, &mut Dice::of(1, "x", 0));
            assert_eq!(bytes.len(), 1 << 20);
            assert!((measured(&bytes) - bits).abs() < 0.005, "{bits}: {}", measured(&bytes));
        }
        assert_eq!(order().collect::<std::collections::HashSet<_>>().len(), 256);
        assert_eq!(order().count(), 256);
    }

    #[test]
    fn what_is_text() {
        assert_eq!(
            [0.0, 4.2, 6.5, 6.6, 8.0].map(|bits| Alphabet::new(bits).is_text()),
            [true, true, true, false, false]
        );
    }

    /// What a real compressor makes of it is between the entropy and a little more.
    #[test]
    fn a_compressor_reaches_it() {
        use std::io::Write;
        for bits in [1.0, 4.0, 6.0, 8.0] {
            let bytes = Alphabet::new(bits).draw(100_000, &mut Dice::of(7, "x", 0));
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            gzip.write_all(&bytes).unwrap();
            let left = gzip.finish().unwrap().len() as f64 / bytes.len() as f64;
            assert!(left > bits / 8.0 && left < bits / 8.0 * 1.3 + 0.01, "{bits}: {left}");
        }
    }
}
