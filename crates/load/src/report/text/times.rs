//! The table of times: which distributions a run has, and their percentiles.
//!
//! HTML draws the same cells. Not here: the levels of a stepped run.

use std::fmt::Write;

use crate::report::model::Run;
use crate::report::units::{self, time};
use crate::stats::Summary;

/// The rows of the table of times: name and distribution.
pub(in crate::report) fn distributions(run: &Run) -> Vec<(&'static str, &Summary)> {
    let all = &run.latency_us;
    // Of an open loop, what a person waits comes first; what lies between the two is how late it was sent.
    let (whole, lag) = if run.is_open() { ("service time", "send lag") } else { ("last byte", "send lag") };
    [
        ("connect", &all.connect),
        ("TLS", &all.tls),
        ("response time", &all.response),
        (lag, &all.send_lag),
        ("  our own", &all.own_lag),
        ("first byte", &all.first_byte),
        ("  of hits", &all.hit_first_byte),
        ("  of misses", &all.miss_first_byte),
        ("  stale", &all.stale_first_byte),
        ("  revalidated", &all.revalidated_first_byte),
        (whole, &all.last_byte),
        ("  of hits", &all.hit_last_byte),
        ("  of misses", &all.miss_last_byte),
        ("  stale", &all.stale_last_byte),
        ("  revalidated", &all.revalidated_last_byte),
        ("round", &all.round),
        ("until failure", &all.failed),
    ]
    .into_iter()
    .filter_map(|(name, summary)| summary.as_ref().map(|summary| (name, summary)))
    .collect()
}

/// The names of the columns.
pub(in crate::report) const COLUMNS: [&str; 9] =
    ["min", "avg", "p50", "p75", "p90", "p95", "p99", "p99.9", "max"];

/// The columns of one row; what rests on too few values carries a mark.
pub(in crate::report) fn cells(summary: &Summary) -> [String; 9] {
    let mark = |q: f64, us: f64| if summary.is_thin(q) { format!("~{}", time(us)) } else { time(us) };
    [
        time(summary.min),
        time(summary.avg),
        time(summary.p50),
        time(summary.p75),
        mark(0.9, summary.p90),
        mark(0.95, summary.p95),
        mark(0.99, summary.p99),
        mark(0.999, summary.p999),
        time(summary.max),
    ]
}

/// What the names of an open loop's rows mean.
pub(in crate::report) const OPEN: &str = "response time: from when it was due; service time and first byte: from when it was sent; send lag: between";

pub(super) fn times(run: &Run, out: &mut String) {
    let rows = distributions(run);
    if rows.is_empty() {
        return;
    }
    let _ = write!(out, "  {:<14}{:>11}", "Times", "count");
    for column in COLUMNS {
        let _ = write!(out, "{column:>9}");
    }
    line!(out, "");
    let mut thin = false;
    for (name, summary) in rows {
        let _ = write!(out, "  {name:<14}{:>11}", units::whole(summary.count));
        for cell in cells(summary) {
            thin |= cell.starts_with('~');
            let _ = write!(out, "{cell:>9}");
        }
        line!(out, "");
    }
    if thin {
        line!(out, "  ~ fewer than ten values lie above it: little more than chance");
    }
    if run.is_open() {
        line!(out, "  {OPEN}");
    }
    line!(out, "");
}
