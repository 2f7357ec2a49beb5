//! Pairs or sets of runs to a comparison.
//!
//! The rule, the same for every metric and every number of runs: of the p-values of Student's t and of the ranks the
//! *larger* counts, it is corrected by Holm's method for the number of metrics, and what is left must be at most a
//! twentieth. The t is there because the ranks know nothing of sizes, the ranks because they hold under nearly any
//! noise if the order within pairs was left to chance. t alone would allow verdicts on five pairs, and errs more
//! often than it says when the noise of one run resembles that of the next. So the number of pairs from which the
//! ranks *can* say something is the least there is: 8 for four or five metrics, 7 for two or three, 6 for one. Below
//! that there is no verdict, whatever the data say.
//!
//! Not here: one metric by itself ([`super::sample`]), which runs are fit to be compared ([`super::runs`]).

use super::model::{Caveat, Comparison, Conclusion, Judgement, Overall, Row, SCHEMA, Set};
use super::sample::{Bar, CHANCE, Sample};
use super::words::{self, percent, percent_of};
use super::{Metric, Pair, Side, Values, Wish};
use crate::report::units;

/// Of fewer runs on a side, or fewer pairs, nothing is computed but means: an interval would be read as a verdict.
const RUNS_MIN: usize = 5;

/// Judges pairs: runs made in turn.
pub fn judge(pairs: &[Pair], wish: &Wish) -> Comparison {
    let columns = of_pairs(pairs);
    let count = pairs.len();
    let mut caveats = Vec::new();
    let a_first = pairs.iter().filter(|pair| pair.first == Side::A).count();
    let uneven = a_first.abs_diff(count - a_first);
    if uneven > 1 && 2 * uneven > count {
        let (who, times) = if 2 * a_first > count { ("A", a_first) } else { ("B", count - a_first) };
        let text = format!(
            "{who} went first in {times} of {count} pairs: a steady drift of the machine would look the same, \
             and so would what the second always meets; take turns in going first"
        );
        caveats.push(Caveat::new("one-order", text));
    }
    let (a, b): (Vec<Values>, Vec<Values>) = pairs.iter().map(|pair| (pair.a, pair.b)).unzip();
    caveats.extend(left_out(&a, &b));
    finish(columns, Some(count), [count; 2], caveats, wish)
}

/// Judges sets of runs that were not interleaved.
pub fn judge_sets(a: &[Values], b: &[Values], wish: &Wish) -> Comparison {
    let columns = of_sets(a, b);
    let text = "not interleaved: a drift of the machine would look the same; make the runs in pairs, A and B in turn";
    let mut caveats = vec![Caveat::new("not-interleaved", text.to_owned())];
    caveats.extend(left_out(a, b));
    finish(columns, None, [a.len(), b.len()], caveats, wish)
}

/// One metric of the runs that know it.
pub(super) struct Column {
    metric: Metric,
    a: Vec<f64>,
    b: Vec<f64>,
    paired: bool,
}

pub(super) fn of_pairs(pairs: &[Pair]) -> Vec<Column> {
    columns(true, |metric| pairs.iter().filter_map(|pair| metric.of(&pair.a).zip(metric.of(&pair.b))).unzip())
}

pub(super) fn of_sets(a: &[Values], b: &[Values]) -> Vec<Column> {
    let values = |runs: &[Values], metric: Metric| runs.iter().filter_map(|run| metric.of(run)).collect();
    columns(false, |metric| (values(a, metric), values(b, metric)))
}

/// What one side does not know at all is no metric of the comparison.
fn columns(paired: bool, values: impl Fn(Metric) -> (Vec<f64>, Vec<f64>)) -> Vec<Column> {
    let column = |metric| {
        let (a, b) = values(metric);
        (!a.is_empty() && !b.is_empty()).then_some(Column { metric, a, b, paired })
    };
    Metric::ALL.into_iter().filter_map(column).collect()
}

impl Column {
    fn runs(&self) -> usize {
        self.a.len().min(self.b.len())
    }

    fn sample(&self) -> Option<Sample> {
        let of = if self.paired { Sample::of_pairs } else { Sample::of_sets };
        (self.runs() >= RUNS_MIN).then(|| of(&self.a, &self.b))
    }
}

/// A metric weighed beside the others.
pub(super) struct Weighed {
    pub(super) metric: Metric,
    sample: Sample,
    p_adjusted: f64,
}

impl Weighed {
    /// Whether there is a difference that chance alone does not make.
    pub(super) fn differs(&self) -> bool {
        self.p_adjusted <= CHANCE
    }
}

/// The rule. Metrics of too few runs are among those that are looked at, and cannot differ.
pub(super) fn weigh(columns: &[Column]) -> Vec<Option<Weighed>> {
    let samples: Vec<Option<Sample>> = columns.iter().map(Column::sample).collect();
    let adjusted =
        holm(&samples.iter().map(|sample| sample.map_or(1.0, |sample| sample.p())).collect::<Vec<_>>());
    let all = columns.iter().zip(samples).zip(adjusted);
    all.map(|((column, sample), p_adjusted)| {
        sample.map(|sample| Weighed { metric: column.metric, sample, p_adjusted })
    })
    .collect()
}

/// Holm's correction: the smallest p counts as often as there are, the next once less, and none less than the one
/// before.
pub(super) fn holm(all: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    let p = |at: usize| all.get(at).copied().unwrap_or(1.0);
    order.sort_by(|a, b| p(*a).total_cmp(&p(*b)));
    let mut adjusted = vec![1.0; all.len()];
    let mut least = 0.0_f64;
    for (rank, at) in order.into_iter().enumerate() {
        least = least.max((p(at) * (all.len() - rank) as f64).min(1.0));
        if let Some(slot) = adjusted.get_mut(at) {
            *slot = least;
        }
    }
    adjusted
}

/// So many pairs, or runs on each side, are the least: the first at which all runs speaking with one voice are less
/// likely by chance than the rule allows for one of `metrics`.
pub(super) fn least_runs(metrics: usize, paired: bool) -> usize {
    let mut likely = 2.0_f64;
    let mut runs = 0;
    while runs < RUNS_MIN || likely * metrics as f64 > CHANCE {
        runs += 1;
        // One more pair halves it; one more run on each side divides by the growth of the central binomial.
        likely /= if paired { 2.0 } else { (4 * runs - 2) as f64 / runs as f64 };
    }
    runs
}

fn finish(
    columns: Vec<Column>,
    pairs: Option<usize>,
    [runs_a, runs_b]: [usize; 2],
    caveats: Vec<Caveat>,
    wish: &Wish,
) -> Comparison {
    let weighed = weigh(&columns);
    let family = columns.len();
    let rows = columns.into_iter().zip(weighed).map(|(column, weighed)| row(column, weighed, family, wish));
    let metrics: Vec<Row> = rows.collect();
    let overall = overall(&metrics, pairs, [runs_a, runs_b]);
    let set = |label: &str, runs| Set { label: label.to_owned(), runs };
    Comparison {
        schema: SCHEMA.to_owned(),
        thirst: env!("CARGO_PKG_VERSION").to_owned(),
        a: set("A", runs_a),
        b: set("B", runs_b),
        pairs,
        threshold_percent: wish.threshold * 100.0,
        show_percent: wish.show * 100.0,
        metrics,
        overall,
        caveats,
    }
}

fn row(column: Column, weighed: Option<Weighed>, family: usize, wish: &Wish) -> Row {
    let mean =
        |values: &[f64]| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp();
    let (a, b) = (mean(&column.a), mean(&column.b));
    let resolution = column.metric.resolution(a.min(b));
    let (runs, needed) = (column.runs(), least_runs(family, column.paired));
    // The strictest step of Holm's correction: that of a metric that differs alone.
    let bar = Bar { chance: CHANCE / family.max(1) as f64, least: needed };
    let sample = weighed.as_ref().map(|weighed| weighed.sample);
    let enough = weighed.as_ref().filter(|_| runs >= needed);
    let seen = enough.map(|weighed| percent_of(weighed.sample.detectable(bar)).max(resolution * 100.0));
    let (verdict, reason) = match enough.zip(seen) {
        Some((weighed, seen)) => said(weighed, seen, wish),
        None => {
            let what = if column.paired { "pair" } else { "run" };
            let each = if column.paired { "" } else { " on one side" };
            let reason = format!(
                "{}{each}: descriptive only; a verdict needs {needed}",
                units::many(runs as u64, what)
            );
            (Judgement::TooFew { needed }, reason)
        }
    };
    Row {
        metric: column.metric,
        ratio: words::ratio_of(sample.map_or_else(|| b.ln() - a.ln(), |sample| sample.difference)),
        a,
        b,
        interval_95: sample
            .map(|sample| sample.interval())
            .map(|(low, high)| (words::ratio_of(low), words::ratio_of(high))),
        p_t: sample.map(|sample| sample.p_t),
        p_rank: sample.map(|sample| sample.p_rank),
        p_adjusted: weighed.as_ref().map(|weighed| weighed.p_adjusted),
        could_have_seen_percent: seen,
        more_runs: sample
            // No number of runs shows what is finer than the values are.
            .filter(|_| wish.show >= resolution)
            .and_then(|sample| sample.runs_for(wish.show.ln_1p(), bar))
            .map(|all| all.saturating_sub(runs)),
        values_a: column.a,
        values_b: column.b,
        verdict,
        reason,
    }
}

fn said(weighed: &Weighed, could_have_seen_percent: f64, wish: &Wish) -> (Judgement, String) {
    let (metric, difference) = (weighed.metric, weighed.sample.difference);
    let change = words::change(words::ratio_of(difference));
    if !weighed.differs() {
        let reason = format!(
            "{change}, and chance makes such a difference too; one of {} would have been seen",
            percent(could_have_seen_percent)
        );
        return (Judgement::NoDifferenceSeen { could_have_seen_percent }, reason);
    }
    if difference.abs() < wish.threshold.ln_1p() {
        let threshold_percent = wish.threshold * 100.0;
        let reason = format!(
            "{change}, which is no chance, but less than {} matters to nobody",
            percent(threshold_percent)
        );
        return (Judgement::Negligible { threshold_percent }, reason);
    }
    let verdict = match (metric, (difference > 0.0) == metric.more_is_better()) {
        (Metric::ServerUsPerRequest, true) => Judgement::Lower,
        (Metric::ServerUsPerRequest, false) => Judgement::Higher,
        (_, true) => Judgement::Faster,
        (_, false) => Judgement::Slower,
    };
    let (low, high) = weighed.sample.interval();
    let [low, high] = [low, high].map(|log| words::ratio(words::ratio_of(log)));
    (verdict, format!("{change} ({low} to {high} times A's)"))
}

fn overall(rows: &[Row], pairs: Option<usize>, [runs_a, runs_b]: [usize; 2]) -> Conclusion {
    let named = |wanted: fn(&Judgement) -> bool| -> Vec<String> {
        rows.iter().filter(|row| wanted(&row.verdict)).map(|row| row.metric.name().to_owned()).collect()
    };
    let better = named(|verdict| matches!(verdict, Judgement::Faster | Judgement::Lower));
    let worse = named(|verdict| matches!(verdict, Judgement::Slower | Judgement::Higher));
    let small = named(|verdict| matches!(verdict, Judgement::Negligible { .. }));
    let same = named(|verdict| matches!(verdict, Judgement::NoDifferenceSeen { .. }));
    let in_these = |names: &[String]| words::list(names);
    let (is, reason) = match (better.is_empty(), worse.is_empty(), small.is_empty(), same.is_empty()) {
        (false, true, ..) => {
            (Overall::Better, format!("B is better in {}, and worse in none", in_these(&better)))
        }
        (true, false, ..) => {
            (Overall::Worse, format!("B is worse in {}, and better in none", in_these(&worse)))
        }
        (false, false, ..) => {
            let reason = format!("B is better in {}, and worse in {}", in_these(&better), in_these(&worse));
            (Overall::Mixed, reason)
        }
        (true, true, false, _) => {
            (Overall::Negligible, format!("B differs in {}, by too little to matter", in_these(&small)))
        }
        (true, true, true, false) => (
            Overall::NoDifferenceSeen,
            "no difference was seen; that is not the same as there being none".to_owned(),
        ),
        (true, true, true, true) => (Overall::TooFew, too_few(rows, pairs, [runs_a, runs_b])),
    };
    Conclusion { is, reason }
}

fn too_few(rows: &[Row], pairs: Option<usize>, [runs_a, runs_b]: [usize; 2]) -> String {
    let needed = rows.iter().filter_map(|row| match row.verdict {
        Judgement::TooFew { needed } => Some(needed),
        _ => None,
    });
    match (needed.max(), pairs) {
        (None, _) => "the two sides have no metric in common".to_owned(),
        (Some(needed), Some(1)) => format!(
            "two single runs: descriptive only, the next two may differ the other way; a verdict needs {needed} pairs"
        ),
        (Some(needed), Some(pairs)) => format!("{pairs} pairs: descriptive only; a verdict needs {needed}"),
        (Some(needed), None) => {
            format!("{runs_a} and {runs_b} runs: descriptive only; a verdict needs {needed} on each side")
        }
    }
}

/// What a metric is judged without.
fn left_out(a: &[Values], b: &[Values]) -> Vec<Caveat> {
    let known = |runs: &[Values], metric: Metric| runs.iter().filter(|run| metric.of(run).is_some()).count();
    let caveat = |metric: Metric| {
        let (of_a, of_b) = (known(a, metric), known(b, metric));
        let (none, all) = (of_a + of_b == 0, of_a == a.len() && of_b == b.len());
        let text = format!(
            "{} is known of {of_a} of {} runs of A and {of_b} of {} of B; where one side does not know \
             it, it is left out",
            metric.name(),
            a.len(),
            b.len()
        );
        (!none && !all).then(|| Caveat::new("left-out", text))
    };
    Metric::ALL.into_iter().filter_map(caveat).collect()
}
