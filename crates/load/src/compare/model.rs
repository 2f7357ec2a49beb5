//! A comparison with all that is said of it: the JSON, version 1, and what the text is drawn from.
//!
//! Fields may be added; none is renamed or changes its meaning without a new version. Units stand in the names,
//! ratios are B over A.
//!
//! Not here: how the values come about ([`super::judge`]) or look.

use serde::{Deserialize, Serialize};

use super::Metric;

/// The value of `schema` in every comparison of this version.
pub const SCHEMA: &str = "thirst.compare/1";

/// Two sets of runs compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of the program that compared.
    pub thirst: String,
    /// What there was.
    pub a: Set,
    /// What is compared with it.
    pub b: Set,
    /// Pairs of runs made in turn; absent if the sets were not interleaved.
    pub pairs: Option<usize>,
    /// Differences up to this, up or down, matter to nobody.
    pub threshold_percent: f64,
    /// The difference that [`Row::more_runs`] is about.
    pub show_percent: f64,
    /// The metrics both sides know.
    pub metrics: Vec<Row>,
    /// What they say together.
    pub overall: Conclusion,
    /// What speaks against believing it.
    pub caveats: Vec<Caveat>,
}

/// One side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Set {
    /// What its runs are called.
    pub label: String,
    /// How many runs it has.
    pub runs: usize,
}

/// One metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Which.
    pub metric: Metric,
    /// What each run of A that knows it says, in the order of the pairs if there are pairs.
    pub values_a: Vec<f64>,
    /// The same of B.
    pub values_b: Vec<f64>,
    /// The geometric mean of A's.
    pub a: f64,
    /// The geometric mean of B's.
    pub b: f64,
    /// B over A.
    pub ratio: f64,
    /// Where the true ratio lies, for 95 of 100 such intervals; absent where no verdict could be based on it.
    pub interval_95: Option<(f64, f64)>,
    /// How likely so large a difference is between equals, by Student's t (of pairs) or Welch's (of sets).
    pub p_t: Option<f64>,
    /// The same by the ranks: Wilcoxon's (of pairs), Mann and Whitney's (of sets).
    pub p_rank: Option<f64>,
    /// The larger of the two after Holm's correction over the metrics; the verdict rests on this one.
    pub p_adjusted: Option<f64>,
    /// A true difference of this size would be found four times of five, by the rule of the verdict.
    pub could_have_seen_percent: Option<f64>,
    /// So many more pairs, or runs on each side, would find [`Comparison::show_percent`] four times of five, if they
    /// spread like these; absent if that cannot be told.
    pub more_runs: Option<usize>,
    /// What is said.
    pub verdict: Judgement,
    /// Why, in words.
    pub reason: String,
}

/// What is said of one metric: a closed list.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Judgement {
    /// B answers more in the same time, or sooner.
    Faster,
    /// B answers less in the same time, or later.
    Slower,
    /// B needs less.
    Lower,
    /// B needs more.
    Higher,
    /// There is a difference, and it is too small to matter.
    Negligible {
        /// What would matter.
        threshold_percent: f64,
    },
    /// Chance alone makes differences like this one. It is not shown that there is none.
    NoDifferenceSeen {
        /// The same as [`Row::could_have_seen_percent`].
        could_have_seen_percent: f64,
    },
    /// No verdict, whatever the numbers look like.
    TooFew {
        /// So many pairs, or runs on each side, are the least.
        needed: usize,
    },
}

/// What the metrics say together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conclusion {
    /// In a word.
    pub is: Overall,
    /// In a sentence.
    pub reason: String,
}

/// The words for all metrics together: a closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overall {
    /// B is better in some metrics and worse in none.
    Better,
    /// B is worse in some metrics and better in none.
    Worse,
    /// B is better in some and worse in others.
    Mixed,
    /// There are differences, none large enough to matter.
    Negligible,
    /// Nothing but what chance makes.
    NoDifferenceSeen,
    /// Descriptive only.
    TooFew,
}

/// Something that speaks against believing a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caveat {
    /// A stable code: `not-interleaved`, `one-order`, `left-out`, `at-least`, `suspect`, `overlap`, `asked-apart`,
    /// `asked-within`, `paced`, `thin-tail`, `versions`, `pairs-left-out`, `ended-early`.
    pub code: String,
    /// What was seen, and what it may do.
    pub text: String,
}

impl Caveat {
    pub(crate) fn new(code: &str, text: String) -> Caveat {
        Caveat { code: code.to_owned(), text }
    }
}
