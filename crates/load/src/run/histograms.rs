//! The distributions as they were counted, for the stored run: percentiles nobody thought of can be asked of it later.
//!
//! Not here: the log of them ([`crate::report::hlog`]).

use super::Gathered;
use super::step::window_s;
use crate::plan::Plan;
use crate::report::model::Histogram;
use crate::tally::{Span, Tally};

/// Each distribution that has anything: those that belong to no level first, then those of each level.
pub(super) fn histograms(plan: &Plan, gathered: &Gathered) -> Vec<Histogram> {
    let mut whole = Tally::default();
    gathered.outcomes.iter().for_each(|outcome| whole.merge(&outcome.whole));
    let ended_ns = gathered.outcomes.iter().map(|outcome| outcome.ended_ns).max().unwrap_or(0);
    let mut all = of(&whole, None, 0.0, ended_ns as f64 / 1e9);
    for (number, step) in gathered.steps.iter().enumerate() {
        let start_s = plan.load.schedule.window(number).0 as f64 / 1e9;
        all.extend(of(&step.tally, Some(number), start_s, window_s(plan, gathered, number)));
    }
    all
}

fn of(tally: &Tally, step: Option<usize>, start_s: f64, length_s: f64) -> Vec<Histogram> {
    let spans = Span::ALL.into_iter().filter(|span| tally.of(*span).count() > 0);
    let histogram = |span: Span| Histogram {
        times: span.code().to_owned(),
        step,
        start_s,
        length_s,
        cells_us: tally.of(span).cells(),
    };
    spans.map(histogram).collect()
}
