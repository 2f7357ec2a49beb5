//! The distributions as they were kept, before they become percentiles: for the log of histograms.
//!
//! Not here: how such a log looks ([`crate::report::hlog`]).

use std::borrow::Cow;

use super::assemble::window_s;
use super::{Gathered, Wanted};
use crate::plan::Plan;
use crate::report::hlog::{self, Interval};
use crate::tally::{Span, Tally};

/// The log of the histograms of a run.
///
/// # Errors
/// A sentence for the person at the command line.
pub fn histogram_log(plan: &Plan, wanted: &Wanted, gathered: &Gathered) -> Result<String, String> {
    let first = plan.requests.first().map(|request| request.url.as_str());
    let label = wanted.label.as_deref().or(first).unwrap_or_default();
    hlog::log(gathered.started_unix_ms, label, &histograms(plan, gathered))
}

/// Each distribution that has anything: those of the whole run first, then those of each level.
fn histograms<'a>(plan: &Plan, gathered: &'a Gathered) -> Vec<Interval<'a>> {
    let mut whole = Tally::default();
    gathered.outcomes.iter().for_each(|outcome| whole.merge(&outcome.whole));
    let ended_ns = gathered.outcomes.iter().map(|outcome| outcome.ended_ns).max().unwrap_or(0);
    let mut all = Vec::new();
    for span in Span::ALL.into_iter().filter(|span| whole.of(*span).count() > 0) {
        let times = Cow::Owned(whole.of(span).clone());
        all.push(Interval { tag: Some(span.code()), start_s: 0.0, length_s: ended_ns as f64 / 1e9, times });
    }
    let matters = if plan.load.is_open() { Span::Response } else { Span::LastByte };
    for (number, step) in gathered.steps.iter().enumerate() {
        for span in Span::ALL.into_iter().filter(|span| step.tally.of(*span).count() > 0) {
            all.push(Interval {
                tag: (span != matters).then(|| span.code()),
                start_s: plan.load.schedule.window(number).0 as f64 / 1e9,
                length_s: window_s(plan, gathered, number),
                times: Cow::Borrowed(step.tally.of(span)),
            });
        }
    }
    all
}
