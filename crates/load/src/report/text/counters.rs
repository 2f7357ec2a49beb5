//! What was counted at the server while it was under load: the few that answer the first questions, and what was asked for.
//!
//! Not here: reading it ([`crate::counters`]).

use super::super::model::Run;
use crate::counters::{Counters, windows};

/// What was counted at the server, over the measured window; then what scenarios of Windows asked for.
pub(super) fn counters(run: &Run, out: &mut String) {
    let Some(counters) = &run.counters else { return };
    let window = run.series.window_start_s..run.series.window_end_s;
    // The whole list is in the JSON and the HTML; here is what answers the first questions, and what was asked for.
    const FEW: [&str; 4] = ["host cpu", "server cpu", "server memory", "server context switches"];
    let is_shown = |name: &str, source: &str| FEW.contains(&name) || !source.starts_with("/proc");
    let few = Counters {
        series: counters.series.iter().filter(|one| is_shown(&one.name, &one.source)).cloned().collect(),
        ..counters.clone()
    };
    if few.series.iter().any(|series| !series.points.is_empty()) {
        line!(out, "{}", crate::counters::series::text(&few, &window).trim_end());
        line!(out, "");
    }
    let readings: Vec<windows::Reading> = run.asked.counters.iter().map(|path| windows::read(path)).collect();
    if !readings.is_empty() {
        line!(out, "{}", windows::text(&windows::rows(&readings, counters, &window)).trim_end());
        line!(out, "");
    }
}
