//! What is plotted of a run as a whole: the spectrum of its times, its rate and times second by second.
//!
//! Not here: what is plotted against load ([`super::load`]).

use super::parts::{Statistic, figure};
use crate::report::model::{Point, Run};
use crate::report::plot::{self, Axis, Chart, Line, Scale};
use crate::report::units;
use crate::stats::Summary;

const TIME: Axis = Axis { name: "", scale: Scale::Log, format: plot::time_mark };
const SHARE: Axis =
    Axis { name: "share of answers that were faster", scale: Scale::Nines, format: plot::share_mark };
const SECONDS: Axis =
    Axis { name: "seconds since the start", scale: Scale::Linear, format: |s| format!("{s:.0}") };

/// The whole distribution, the slow end stretched.
pub(super) fn spectrum(runs: &[Run], out: &mut String) {
    let mut lines = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let all = &run.latency_us;
        let whole = match run.is_open() {
            true => vec![
                ("response time", &all.response),
                ("service time", &all.last_byte),
                ("send lag", &all.send_lag),
            ],
            false => vec![("last byte", &all.last_byte), ("first byte", &all.first_byte)],
        };
        let names = if run.is_open() {
            ("service time, hits", "service time, misses")
        } else {
            ("last byte, hits", "last byte, misses")
        };
        let split = [(names.0, &all.hit_last_byte), (names.1, &all.miss_last_byte)];
        let wanted: Vec<_> = if runs.len() > 1 {
            whole.into_iter().take(1).collect()
        } else if all.hit_last_byte.is_some() && all.miss_last_byte.is_some() {
            whole.into_iter().chain(split).collect()
        } else {
            whole.into_iter().collect()
        };
        for (which, (name, summary)) in wanted.into_iter().enumerate() {
            let Some(summary) = summary else { continue };
            let (name, colour) =
                if runs.len() > 1 { (run.label.clone(), index) } else { (name.to_owned(), which) };
            lines.push(Line {
                name,
                colour,
                dash: if runs.len() > 1 { index } else { which },
                points: spectrum_points(summary),
            });
        }
    }
    let about =
        "Time against the share of answers that were at most as slow; both axes stretch the slow end.";
    figure(out, &Chart::new("spectrum", "Latency spectrum", about, (SHARE, TIME), &lines));
}

/// The longest of n values stands at the share of which it is the typical maximum, not at infinity.
fn spectrum_points(summary: &Summary) -> Vec<(f64, f64)> {
    let last = 1.0 - 0.5 / summary.count.max(1) as f64;
    // Nothing at all has no place on a logarithmic axis; what is told apart begins at a microsecond.
    summary.curve.iter().map(|(share, us)| (share.min(last), us.max(1.0))).collect()
}

/// Rate and times, second by second.
pub(super) fn over_time(runs: &[Run], out: &mut String) {
    let rates: Vec<Line> = runs
        .iter()
        .enumerate()
        .map(|(index, run)| Line {
            name: run.label.clone(),
            colour: index,
            dash: index,
            points: rate_points(run),
        })
        .collect();
    let windows = match runs {
        [run] => windows(run),
        _ => Vec::new(),
    };
    let peaks: Vec<f64> = rates
        .iter()
        .map(|line| line.points.iter().map(|p| p.1).fold(0.0, f64::max))
        .filter(|peak| *peak > 0.0)
        .collect();
    let (low, high) =
        peaks.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), peak| (low.min(*peak), high.max(*peak)));
    // Runs a hundred times apart on one linear axis would leave the slow one on the ground.
    let scale = if high > 20.0 * low { Scale::Log } else { Scale::Linear };
    let axis =
        Axis { name: "", scale, format: |rate| if rate == 0.0 { "0".to_owned() } else { units::rate(rate) } };
    let about = "Answers per second, second by second.";
    let chart = Chart::new("rate", "Requests per second over time", about, (SECONDS, axis), &rates);
    figure(out, &Chart { shade: &windows, ..chart });
    let mut lines = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        for statistic in [Statistic::P50, Statistic::P99] {
            let pick = |point: &Point| if statistic == Statistic::P50 { point.p50_us } else { point.p99_us };
            let name = statistic.name();
            let (colour, dash) = statistic.look((runs.len() > 1).then_some(index));
            let points: Vec<(f64, f64)> =
                live_points(run).filter(|p| p.responses > 0).map(|p| (p.at_s as f64, pick(p))).collect();
            let label = if runs.len() > 1 { format!("{} {name}", run.label) } else { name.to_owned() };
            lines.push(Line { name: label, colour, dash, points });
        }
    }
    let about = "Median and 99th percentile of the time to the last byte, second by second.";
    let chart = Chart::new("latency", "Latency over time", about, (SECONDS, TIME), &lines);
    figure(out, &Chart { shade: &windows, ..chart });
}

/// When it was measured: the window, or that of each step.
fn windows(run: &Run) -> Vec<(f64, f64)> {
    if !run.is_stepped() {
        return vec![(run.series.window_start_s, run.series.window_end_s)];
    }
    run.steps.iter().map(|step| (step.start_s, step.start_s + step.elapsed_s)).collect()
}

/// The points of the time in which requests were sent: what trickles in afterwards is no rate.
fn live_points(run: &Run) -> impl Iterator<Item = &Point> {
    let end = run.series.window_end_s + run.asked.cooldown_s;
    run.series.points.iter().filter(move |point| point.at_s == 0 || (point.at_s as f64) < end - 0.05)
}

fn rate_points(run: &Run) -> Vec<(f64, f64)> {
    let interval = run.series.interval_s.max(1);
    let end = run.series.window_end_s + run.asked.cooldown_s;
    let rate = |point: &Point| {
        // The last second is rarely whole; its count stands for as much of it as there was.
        let whole = (end - point.at_s as f64).clamp(1e-3, interval as f64);
        (point.at_s as f64, point.responses as f64 / whole)
    };
    live_points(run).map(rate).collect()
}
