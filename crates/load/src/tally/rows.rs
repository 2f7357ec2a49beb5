//! What came of each request of the plan, or each round: a row for each, as far as there is room.
//!
//! A list of a million URLs has no table anyone reads: those beyond [`ROWS_MAX`] share the last row. Not here: names.

use serde::{Deserialize, Serialize};

use super::sketch::Sketch;

/// Rows at most; one costs about 4 KiB a thread.
pub const ROWS_MAX: usize = 500;

/// One row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Row {
    /// Answers, right ones.
    pub answers: u64,
    /// Failures, wrong answers among them.
    pub failures: u64,
    /// Body bytes of the answers.
    pub body_bytes: u64,
    /// Times to the last byte of the answers; of a round, from its first request to its last answer.
    pub times: Sketch,
}

/// The rows of one thread, or of all.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Rows {
    rows: Vec<Row>,
}

impl Rows {
    /// As many, or fewer if there are too many.
    pub fn new(count: usize) -> Rows {
        Rows { rows: vec![Row::default(); count.min(ROWS_MAX)] }
    }

    /// The row of this number.
    pub fn row(&mut self, number: usize) -> Option<&mut Row> {
        let last = self.rows.len().checked_sub(1)?;
        self.rows.get_mut(number.min(last))
    }

    /// All of them.
    pub fn all(&self) -> &[Row] {
        &self.rows
    }

    /// Adds what another thread saw.
    pub fn merge(&mut self, other: &Rows) {
        if self.rows.len() < other.rows.len() {
            self.rows.resize(other.rows.len(), Row::default());
        }
        for (mine, theirs) in self.rows.iter_mut().zip(&other.rows) {
            mine.answers += theirs.answers;
            mine.failures += theirs.failures;
            mine.body_bytes += theirs.body_bytes;
            mine.times.merge(&theirs.times);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_last_row_is_not_lost() {
        let (mut one, mut two) = (Rows::new(ROWS_MAX + 100), Rows::new(ROWS_MAX + 100));
        for number in 0..ROWS_MAX + 100 {
            one.row(number).unwrap().answers += 1;
            two.row(number).unwrap().failures += 2;
        }
        one.merge(&two);
        assert_eq!(one.all().len(), ROWS_MAX);
        assert_eq!((one.all()[0].answers, one.all()[0].failures), (1, 2));
        assert_eq!((one.all()[ROWS_MAX - 1].answers, one.all()[ROWS_MAX - 1].failures), (101, 202));
        assert!(Rows::new(0).row(3).is_none());
    }
}
