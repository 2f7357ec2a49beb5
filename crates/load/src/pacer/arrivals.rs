//! The moments at which the requests of an open loop are meant to be sent.
//!
//! Each moment is computed from the start of its stretch, never from the one before, so that no rounding adds up and no
//! delay of the sender shifts what comes after. Threads take turns with evenly spaced ones; random ones are each thread's
//! own, which together are as random.
//!
//! Not here: waiting, and what to do when a moment has passed and nobody could send.

use super::Piece;
use crate::dice::Dice;

/// How arrivals are spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// Evenly.
    #[default]
    Constant,
    /// At random, as people come who do not know of each other: exponential gaps.
    Poisson,
}

/// One thread's share of the arrivals, in order.
#[derive(Debug)]
pub struct Arrivals {
    pieces: Vec<Piece>,
    at: usize,
    /// Arrivals of this thread in the present piece so far.
    taken: u64,
    thread: u64,
    threads: u64,
    dice: Option<Dice>,
    /// Of random ones, the last, as time since the start of the piece.
    last_ns: f64,
    next_ns: Option<u64>,
}

impl Arrivals {
    /// The share of thread `thread`; the level of a piece is its requests per second, over all threads.
    pub fn new(pieces: &[Piece], spacing: Spacing, seed: u64, thread: u32, threads: u32) -> Arrivals {
        let dice = (spacing == Spacing::Poisson).then(|| Dice::of(seed, "arrivals", thread.into()));
        let mut arrivals = Arrivals {
            pieces: pieces.to_vec(),
            at: 0,
            taken: 0,
            thread: thread.into(),
            threads: threads.max(1).into(),
            dice,
            last_ns: 0.0,
            next_ns: None,
        };
        arrivals.next_ns = arrivals.find();
        arrivals
    }

    /// The next one; `None`: no more will come.
    pub fn peek(&self) -> Option<u64> {
        self.next_ns
    }

    /// Takes it.
    pub fn take(&mut self) -> Option<u64> {
        let taken = self.next_ns;
        if taken.is_some() {
            self.next_ns = self.find();
        }
        taken
    }

    fn find(&mut self) -> Option<u64> {
        loop {
            let piece = *self.pieces.get(self.at)?;
            let gap_ns = 1e9 / piece.from;
            let since_ns = match self.dice.as_mut() {
                None => (self.taken * self.threads + self.thread) as f64 * 1e9 / piece.from,
                Some(dice) => {
                    self.last_ns += dice.exponential() * gap_ns * self.threads as f64;
                    self.last_ns
                }
            };
            // A rate of nothing makes the gap endless, and endless times zero is no number: neither is inside.
            if since_ns < (piece.end_ns - piece.start_ns) as f64 && piece.from > 0.0 {
                self.taken += 1;
                return Some(piece.start_ns + since_ns as u64);
            }
            self.at += 1;
            (self.taken, self.last_ns) = (0, 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn piece(start_ns: u64, end_ns: u64, rate: f64) -> Piece {
        Piece { start_ns, end_ns, from: rate, to: rate }
    }

    fn all(pieces: &[Piece], spacing: Spacing, threads: u32) -> Vec<u64> {
        let mut moments: Vec<u64> = (0..threads)
            .flat_map(|thread| {
                let mut arrivals = Arrivals::new(pieces, spacing, 7, thread, threads);
                std::iter::from_fn(move || arrivals.take())
            })
            .collect();
        moments.sort_unstable();
        moments
    }

    #[test]
    fn constant_ones_are_even_over_threads_and_steps() {
        let second = 1_000_000_000;
        let pieces = [
            piece(0, second, 4.0),
            piece(second, second, 9.0),
            piece(second, 2 * second, 0.0),
            piece(2 * second, 3 * second, 2.0),
        ];
        let ms: Vec<u64> = all(&pieces, Spacing::Constant, 3).iter().map(|ns| ns / 1_000_000).collect();
        assert_eq!(ms, [0, 250, 500, 750, 2000, 2500]);
    }

    #[test]
    fn a_long_run_does_not_drift() {
        let moments = all(&[piece(0, 100_000_000_000, 3_000.0)], Spacing::Constant, 1);
        assert_eq!(moments.len(), 300_000);
        assert_eq!(moments[299_997], 99_999_000_000);
    }

    #[test]
    fn random_ones_have_the_rate_and_the_spread_of_a_poisson_process() {
        let moments = all(&[piece(0, 50_000_000_000, 1_000.0)], Spacing::Poisson, 4);
        // 50,000 ± 5 standard deviations.
        assert!((moments.len() as f64 - 50_000.0).abs() < 5.0 * 50_000_f64.sqrt(), "{}", moments.len());
        let gaps: Vec<f64> = moments.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // Of exponential gaps the standard deviation is the mean, and e^-1 are longer than it.
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "{}", variance.sqrt() / mean);
        let longer = gaps.iter().filter(|gap| **gap > mean).count() as f64 / gaps.len() as f64;
        assert!((longer - (-1.0_f64).exp()).abs() < 0.01, "{longer}");
        assert_ne!(moments, all(&[piece(0, 50_000_000_000, 1_000.0)], Spacing::Constant, 4));
    }

    proptest! {
        #[test]
        fn every_stretch_has_its_number(
            rates in prop::collection::vec(0_u32..500, 1..5), threads in 1_u32..5,
        ) {
            let second = 1_000_000_000_u64;
            let pieces: Vec<Piece> = (0_u64..).zip(&rates)
                .map(|(at, &rate)| piece(at * second, (at + 1) * second, f64::from(rate))).collect();
            let moments = all(&pieces, Spacing::Constant, threads);
            for (at, &rate) in (0_u64..).zip(&rates) {
                let inside = moments.iter().filter(|&&ns| ns / second == at).count();
                prop_assert_eq!(inside, rate as usize);
            }
        }
    }
}
