//! What is plotted against load: response time, under it throughput and CPU on the same axis, with the knee marked;
//! of several runs all on the same plots.
//!
//! Levels of clients and of requests per second are no common axis: each kind has figures of its own. Not here: how
//! the knee is found ([`crate::stats`]).

use std::fmt::Write;

use super::parts::{Statistic, grid, numbers};
use crate::report::model::{Run, Step};
use crate::report::plot::{self, Axis, Chart, Line, Scale, escape};
use crate::report::{steps, units};
use crate::stats::Summary;

/// Of times so many times apart, the short ones would lie on the ground of a linear axis.
const APART: f64 = 30.0;
/// Steps of which the last is so many times the middle one grow by factors.
const BY_FACTORS: f64 = 4.0;
/// The colour of what stands for no run.
const GREY: usize = 6;

type Pick = fn(&Summary) -> f64;

/// All figures of these runs against load; nothing if none has levels.
pub(super) fn figures(runs: &[Run], out: &mut String) {
    for open in [false, true] {
        let stepped: Vec<(usize, &Run)> =
            runs.iter().enumerate().filter(|(_, run)| run.is_open() == open && run.steps.len() > 1).collect();
        if !stepped.is_empty() {
            figure(&stepped, runs.len() > 1, open, out);
        }
    }
}

/// The table of the levels of a run, and what is to be said of them.
pub(super) fn table(run: &Run, out: &mut String) {
    if run.steps.is_empty() {
        return;
    }
    let (header, rows) = steps::table(run);
    let columns: Vec<&str> = header.iter().map(String::as_str).collect();
    out.push_str("<div class=\"tight\">");
    grid(out, "Steps", &columns, &rows);
    out.push_str("</div>");
    let found = run.search.as_ref().map(|search| search.result.clone());
    for sentence in found.into_iter().chain(steps::sentences(run)) {
        let _ = write!(out, "<p>{}</p>", escape(&sentence));
    }
}

fn figure(runs: &[(usize, &Run)], several: bool, open: bool, out: &mut String) {
    let (kind, name) = if open { ("rates", "requests per second asked for") } else { ("clients", "clients") };
    let x = Axis { name, scale: x_scale(runs), format: units::level };
    let reach: Vec<f64> = runs.iter().flat_map(|(_, run)| run.steps.iter().map(|step| step.level)).collect();
    let marks = knees(runs, several);
    let times = times(runs, several);
    let rates = rates(runs, several);
    let cpu = cpu(runs, several);
    let time = Axis { name: "time", scale: y_scale(&times), format: plot::time_mark };
    let per_s = |rate: f64| if rate == 0.0 { "0".to_owned() } else { units::rate(rate) };
    let rate = Axis { name: "answers per second", scale: Scale::Linear, format: per_s };
    let cores = Axis { name: "cores", scale: Scale::Linear, format: |cores| format!("{cores:.2}") };
    let about_times = "Response time against load, step by step.";
    let about_rates = "Throughput at the same steps: answers per second.";
    let about_cpu = "CPU at the same steps, in cores.";
    let ids = ["time", "rate", "cpu"].map(|what| format!("load-{kind}-{what}"));
    let [time_id, rate_id, cpu_id] = &ids;
    // The word stands at the first plot, its line goes through all.
    let silent: Vec<(f64, usize, String)> =
        marks.iter().map(|(at, colour, _)| (*at, *colour, String::new())).collect();
    let with = |chart| Chart { marks: &marks, reach: &reach, dots: true, ..chart };
    let small = |chart| Chart { height: 210.0, marks: &silent, ..with(chart) };
    let charts = [
        with(Chart::new(time_id, "Response time", about_times, (x, time), &times)),
        small(Chart::new(rate_id, "Throughput", about_rates, (x, rate), &rates)),
        small(Chart::new(cpu_id, "CPU", about_cpu, (x, cores), &cpu)),
    ];
    let title =
        if open { "Response time against requests per second" } else { "Response time against clients" };
    let _ = write!(out, "<h2>{title}</h2>");
    for chart in charts.iter().filter(|chart| chart.lines.iter().any(|line| !line.points.is_empty())) {
        let _ = write!(out, "<h3>{}</h3><figure>{}", chart.title, chart.svg());
        let _ = write!(out, "<figcaption>{}</figcaption></figure>", legend(runs, several, chart.lines));
    }
    let _ = write!(out, "<p class=\"soft\">{}</p>", about(open, !marks.is_empty()));
    numbers(out, title, &charts.iter().collect::<Vec<_>>());
}

fn about(open: bool, has_knee: bool) -> String {
    let times = if open {
        "Times run from when a request was due."
    } else {
        "Times run from sending to the last byte."
    };
    let knee = if has_knee {
        " The knee is the first step that was hardly worth its load: answers per second stopped growing, and the 99th \
         percentile is more than one and a half times that of the first steps."
    } else {
        ""
    };
    format!("{times} Each point is one step, and its percentiles are its own.{knee}")
}

/// Of several runs colours are runs, and dashes what is plotted; so the legend says each once.
fn legend(runs: &[(usize, &Run)], several: bool, lines: &[Line]) -> String {
    if !several {
        return plot::legend(lines);
    }
    let line = |name: &str, colour, dash| Line { name: name.to_owned(), colour, dash, points: Vec::new() };
    let mut said: Vec<Line> = runs.iter().map(|(number, run)| line(&run.label, *number, 0)).collect();
    for (statistic, _) in OF_SEVERAL {
        let (_, dash) = statistic.look(None);
        if lines.iter().any(|line| line.dash == dash && line.name.ends_with(statistic.name())) {
            said.push(line(statistic.name(), GREY, dash));
        }
    }
    plot::legend(&said)
}

/// What is plotted of a run alone …
const ALONE: [(Statistic, Pick); 4] = [
    (Statistic::Average, |t| t.avg),
    (Statistic::P50, |t| t.p50),
    (Statistic::P95, |t| t.p95),
    (Statistic::P99, |t| t.p99),
];
/// … and of each of several.
const OF_SEVERAL: [(Statistic, Pick); 3] =
    [(Statistic::Average, |t| t.avg), (Statistic::P95, |t| t.p95), (Statistic::P99, |t| t.p99)];

fn times(runs: &[(usize, &Run)], several: bool) -> Vec<Line> {
    let picks: &[(Statistic, Pick)] = if several { &OF_SEVERAL } else { &ALONE };
    let mut lines = Vec::new();
    for (number, run) in runs {
        for (statistic, pick) in picks {
            let (colour, dash) = statistic.look(several.then_some(*number));
            let points = run.steps.iter().filter_map(|step| Some((step.level, pick(step.times()?))));
            lines.push(Line {
                name: named(run, several, statistic.name()),
                colour,
                dash,
                points: points.collect(),
            });
        }
    }
    lines
}

fn rates(runs: &[(usize, &Run)], several: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    for (number, run) in runs {
        let colour = if several { *number } else { 0 };
        let points =
            |of: &dyn Fn(&Step) -> f64| run.steps.iter().map(|step| (step.level, of(step))).collect();
        let measured: Vec<(f64, f64)> = points(&|step| step.requests_per_s);
        lines.push(Line {
            name: named(run, several, "answers per second"),
            colour,
            dash: 0,
            points: measured,
        });
        if let Some(law) = steps::law(run).filter(|_| !several) {
            let points = points(&|step| law.at(step.level));
            lines.push(Line { name: "the law fitted to it (USL)".to_owned(), colour: GREY, dash: 2, points });
        }
    }
    lines
}

fn cpu(runs: &[(usize, &Run)], several: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    for (number, run) in runs {
        let points = run.steps.iter().filter_map(|step| Some((step.level, step.server_cores?)));
        let name = named(run, several, "server");
        lines.push(Line {
            name,
            colour: if several { *number } else { 0 },
            dash: 0,
            points: points.collect(),
        });
        if !several {
            let points = run.steps.iter().map(|step| (step.level, step.generator_busy)).collect();
            lines.push(Line { name: "thirst, its busiest thread".to_owned(), colour: 1, dash: 1, points });
        }
    }
    lines
}

fn named(run: &Run, several: bool, name: &str) -> String {
    if several { format!("{} {name}", run.label) } else { name.to_owned() }
}

/// Where the knees are, each in the colour of its run.
fn knees(runs: &[(usize, &Run)], several: bool) -> Vec<(f64, usize, String)> {
    let knee = |(number, run): &(usize, &Run)| {
        let step = run.steps.get(steps::knee(run)?.step)?;
        let at = units::level(step.level);
        let short: String = run.label.chars().take(24).collect();
        let text = if several { format!("knee at {at}, {short}") } else { format!("knee at {at}") };
        Some((step.level, if several { *number } else { 3 }, text))
    };
    runs.iter().filter_map(knee).collect()
}

fn x_scale(runs: &[(usize, &Run)]) -> Scale {
    let by_factors = runs.iter().any(|(_, run)| {
        let mut levels: Vec<f64> = run.steps.iter().map(|step| step.level).collect();
        levels.sort_by(f64::total_cmp);
        let middle = levels.get(levels.len() / 2).copied().unwrap_or(0.0);
        levels.last().is_some_and(|last| *last > middle * BY_FACTORS)
    });
    if by_factors { Scale::Log } else { Scale::Linear }
}

fn y_scale(lines: &[Line]) -> Scale {
    let (low, high) = lines
        .iter()
        .flat_map(|line| line.points.iter().map(|point| point.1))
        .filter(|value| *value > 0.0)
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    if high > low * APART { Scale::Log } else { Scale::Linear }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::Open;
    use crate::report::steps::tests::{FULL, stepped};
    use crate::report::table::tests::sample;

    fn drawn(runs: &[Run]) -> String {
        let mut out = String::new();
        figures(runs, &mut out);
        out
    }

    #[test]
    fn three_plots_on_one_axis_with_the_knee_on_each() {
        let page = drawn(&[stepped("a", &FULL)]);
        assert_eq!(page.matches("<svg viewBox=\"0 0 900").count(), 3, "{page}");
        assert_eq!(page.matches(">knee at 21</text>").count(), 1);
        let places: Vec<&str> = page.split("class=\"mark").skip(1).map(|rest| &rest[..20]).collect();
        assert!(places.len() == 3 && places.iter().all(|place| *place == places[0]), "{places:?}");
        for name in
            ["average", "p50", "p95", "p99", "answers per second", "server", "thirst, its busiest thread"]
        {
            assert!(page.contains(&format!("</svg>{name}</li>")), "{name}");
        }
        // A dot for each step of each line, or of the law.
        assert!(page.matches("<circle").count() >= FULL.len() * 7);
    }

    #[test]
    fn runs_lie_over_each_other_in_colours_of_their_own() {
        let mut faster = FULL;
        faster.iter_mut().for_each(|step| step.1 *= 2.0);
        let runs = [stepped("etags", &FULL), sample("plain", 10.0), stepped("cached", &faster)];
        let page = drawn(&runs);
        assert_eq!(page.matches("<svg viewBox=\"0 0 900").count(), 3);
        for name in ["etags", "cached", "average", "p95", "p99"] {
            assert!(page.contains(&format!("</svg>{name}</li>")), "{name} in {page}");
        }
        assert!(!page.contains("plain") && page.contains(">knee at 21, etags</text>"));
        assert!(page.contains("class=\"line s2 d1\"") && !page.contains("class=\"line s1"));
    }

    #[test]
    fn rates_and_clients_are_no_common_axis() {
        let mut open = stepped("open", &FULL);
        open.asked.open = Some(Open::default());
        let page = drawn(&[stepped("closed", &FULL), open]);
        assert_eq!(page.matches("<svg viewBox=\"0 0 900").count(), 6);
        assert!(page.contains("against clients") && page.contains("against requests per second"));
        assert_eq!(drawn(&[sample("plain", 10.0)]), "");
    }

    #[test]
    fn axes_suit_what_lies_on_them() {
        let scale = |levels: &[f64]| {
            let run = stepped("a", &levels.iter().map(|level| (*level, 1.0, 1_u64)).collect::<Vec<_>>());
            x_scale(&[(0, &run)])
        };
        assert_eq!(scale(&[1.0, 6.0, 11.0, 16.0, 126.0]), Scale::Log);
        assert_eq!(scale(&(0..26).map(|n| f64::from(n) * 5.0 + 1.0).collect::<Vec<_>>()), Scale::Linear);
        assert_eq!(scale(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]), Scale::Log);
        assert_eq!(scale(&[1_000.0, 2_000.0, 5_000.0]), Scale::Linear);
    }
}
