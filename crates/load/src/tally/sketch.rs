//! A small histogram for one second of the run: 1024 cells of 4 bytes, 3 % error, adds up exactly.
//!
//! The run's own percentiles come from HDR histograms; a plot over time needs many small ones, which must stay
//! small for a run of any length and must merge, because percentiles cannot be averaged.
//!
//! Not here: time.

use serde::{Deserialize, Serialize};

/// Cells per doubling.
const FINE: u64 = 32;
/// log2 of [`FINE`].
const FINE_BITS: u32 = 5;
/// Cells: 0..32 one by one, then 32 for each of 31 doublings, up to 2^36 microseconds (19 hours).
const CELLS: usize = 1024;
const HIGHEST_US: u64 = (1 << 36) - 1;

/// Counts by time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Few", from = "Few")]
pub struct Sketch {
    cells: Box<[u32]>,
    count: u64,
}

/// A sketch on its way from one process to another: the cells that have anything.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Few(Vec<(u16, u32)>);

impl From<Sketch> for Few {
    fn from(sketch: Sketch) -> Few {
        let cells = (0_u16..).zip(&sketch.cells).filter(|(_, count)| **count > 0);
        Few(cells.map(|(at, count)| (at, *count)).collect())
    }
}

impl From<Few> for Sketch {
    fn from(few: Few) -> Sketch {
        let mut sketch = Sketch::default();
        for (at, count) in few.0 {
            if let Some(cell) = sketch.cells.get_mut(usize::from(at)) {
                *cell = cell.saturating_add(count);
                sketch.count = sketch.count.saturating_add(u64::from(count));
            }
        }
        sketch
    }
}

impl Default for Sketch {
    fn default() -> Self {
        Sketch { cells: vec![0; CELLS].into_boxed_slice(), count: 0 }
    }
}

impl Sketch {
    /// Records one time.
    pub fn record(&mut self, time_us: u64) {
        if let Some(cell) = self.cells.get_mut(cell_of(time_us)) {
            *cell = cell.saturating_add(1);
        }
        self.count += 1;
    }

    /// Adds another.
    pub fn merge(&mut self, other: &Sketch) {
        self.cells
            .iter_mut()
            .zip(&other.cells)
            .for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
        self.count += other.count;
    }

    /// How many were recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean, to the width of the cells; zero if there is nothing.
    pub fn mean_us(&self) -> f64 {
        let sum: f64 =
            (0_u64..).zip(&self.cells).map(|(index, count)| middle_us(index) * f64::from(*count)).sum();
        if self.count == 0 { 0.0 } else { sum / self.count as f64 }
    }

    /// The middle of the cell in which the share `q` is reached; zero if there is nothing.
    pub fn quantile_us(&self, q: f64) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let rank = ((q.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, cell) in self.cells.iter().enumerate() {
            seen += u64::from(*cell);
            if seen >= rank {
                return middle_us(index as u64);
            }
        }
        HIGHEST_US as f64
    }
}

fn cell_of(time_us: u64) -> usize {
    let time_us = time_us.min(HIGHEST_US);
    let index = if time_us < FINE {
        time_us
    } else {
        let doublings = time_us.ilog2() - FINE_BITS;
        u64::from(doublings) * FINE + (time_us >> doublings)
    };
    usize::try_from(index).unwrap_or(CELLS - 1)
}

fn middle_us(index: u64) -> f64 {
    if index < 2 * FINE {
        return index as f64;
    }
    let doublings = index / FINE - 1;
    let low = (FINE + index % FINE) << doublings;
    low as f64 + ((1_u64 << doublings) as f64 - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_time_has_a_cell() {
        assert_eq!(cell_of(0), 0);
        assert_eq!(cell_of(63), 63);
        assert_eq!(cell_of(64), 64);
        assert_eq!(cell_of(HIGHEST_US), CELLS - 1);
        assert_eq!(cell_of(u64::MAX), CELLS - 1);
    }

    #[test]
    fn it_travels_without_loss() {
        let mut sketch = Sketch::default();
        (0..5_000_u64).for_each(|n| sketch.record(n * n));
        let back: Sketch = serde_json::from_str(&serde_json::to_string(&sketch).unwrap()).unwrap();
        assert_eq!(back, sketch);
    }

    proptest! {
        #[test]
        fn a_cell_is_three_percent_wide(time_us in 0_u64..HIGHEST_US) {
            let middle = middle_us(cell_of(time_us) as u64);
            prop_assert!((middle - time_us as f64).abs() <= time_us as f64 / 32.0, "{middle} for {time_us}");
        }

        #[test]
        fn percentiles_are_those_of_a_sorted_vector(
            mut times in prop::collection::vec(0_u64..10_000_000, 1..200), q in 0.0..1.0_f64, cut in 0_usize..200
        ) {
            let (mut left, mut right) = (Sketch::default(), Sketch::default());
            for (index, time) in times.iter().enumerate() {
                if index < cut { left.record(*time) } else { right.record(*time) }
            }
            left.merge(&right);
            times.sort_unstable();
            let rank = ((q * times.len() as f64).ceil() as usize).max(1);
            let want = times[rank - 1] as f64;
            prop_assert!((left.quantile_us(q) - want).abs() <= want / 32.0);
        }
    }
}
