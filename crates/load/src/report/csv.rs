//! Runs as CSV: a row for each level of load, and a row for each second.
//!
//! RFC 4180 with a header, a point for decimals, and units in the names; of what was not measured the cell is empty. Columns
//! may be added at the end, none is renamed. A run without levels has one row, as if it had one. Not here: the many rows of
//! URLs, which the JSON has.

use super::model::{Asked, Run, Step};
use super::steps;
use crate::stats::Summary;
use crate::verdict::Verdict;

/// One row for each level of each run.
pub fn steps(runs: &[Run]) -> String {
    let mut out = String::new();
    row(&mut out, COLUMNS.iter().map(|name| (*name).to_owned()));
    for run in runs {
        let knee = steps::knee(run).map(|knee| knee.step);
        let alone = [whole(run)];
        let all = if run.steps.is_empty() { alone.as_slice() } else { run.steps.as_slice() };
        for (number, step) in all.iter().enumerate() {
            row(&mut out, cells(run, step, number, knee == Some(number)));
        }
    }
    out
}

/// One row for each interval of each run, warm-up and cool-down included.
pub fn series(runs: &[Run]) -> String {
    let mut out = String::new();
    row(&mut out, SERIES.iter().map(|name| (*name).to_owned()));
    for run in runs {
        let series = &run.series;
        let is_measured = |at_s: f64| at_s + 1e-9 >= series.window_start_s && at_s < series.window_end_s;
        for point in &series.points {
            let at_s = point.at_s as f64;
            let cells = [
                run.label.clone(),
                point.at_s.to_string(),
                series.interval_s.to_string(),
                u8::from(is_measured(at_s)).to_string(),
                point.responses.to_string(),
                point.errors.to_string(),
                point.read_bytes.to_string(),
                number(point.p50_us),
                number(point.p99_us),
            ];
            row(&mut out, cells);
        }
    }
    out
}

const COLUMNS: [&str; 41] = [
    "run",
    "step",
    "level",
    "level_is",
    "start_s",
    "elapsed_s",
    "requests",
    "responses",
    "errors",
    "unsent",
    "requests_per_s",
    "read_bytes_per_s",
    "min_us",
    "avg_us",
    "p50_us",
    "p75_us",
    "p90_us",
    "p95_us",
    "p99_us",
    "p999_us",
    "max_us",
    "first_byte_avg_us",
    "first_byte_p50_us",
    "first_byte_p95_us",
    "first_byte_p99_us",
    "first_byte_max_us",
    "service_avg_us",
    "service_p50_us",
    "service_p95_us",
    "service_p99_us",
    "service_max_us",
    "send_lag_avg_us",
    "send_lag_p50_us",
    "send_lag_p95_us",
    "send_lag_p99_us",
    "send_lag_max_us",
    "server_cores",
    "generator_busy",
    "verdict",
    "at_least",
    "knee",
];

const SERIES: [&str; 9] =
    ["run", "at_s", "interval_s", "measured", "responses", "errors", "read_bytes", "p50_us", "p99_us"];

/// A run without levels as its only level.
fn whole(run: &Run) -> Step {
    let asked: &Asked = &run.asked;
    let threads = run.cpu.generator.iter().map(|thread| thread.busy - thread.spun);
    let servers = &run.cpu.servers;
    Step {
        level: asked.open.as_ref().map_or(asked.connections.into(), |open| open.rate),
        start_s: run.series.window_start_s,
        elapsed_s: run.elapsed_s,
        requests: run.requests,
        responses: run.responses,
        errors: run.errors.requests,
        unsent: run.unsent,
        requests_per_s: run.requests_per_s,
        read_bytes_per_s: run.read_bytes_per_s,
        first_byte: run.latency_us.first_byte.clone(),
        last_byte: run.latency_us.last_byte.clone(),
        response: run.latency_us.response.clone(),
        send_lag: run.latency_us.send_lag.clone(),
        server_cores: (!servers.is_empty()).then(|| servers.iter().map(|server| server.cores).sum()),
        generator_busy: threads.fold(0.0, f64::max),
        verdict: Verdict { grade: run.verdict.grade, at_least: run.verdict.at_least, findings: Vec::new() },
    }
}

fn cells(run: &Run, step: &Step, at: usize, is_knee: bool) -> Vec<String> {
    let mut cells = vec![
        run.label.clone(),
        (at + 1).to_string(),
        number(step.level),
        if run.is_open() { "requests_per_s" } else { "clients" }.to_owned(),
        number(step.start_s),
        number(step.elapsed_s),
        step.requests.to_string(),
        step.responses.to_string(),
        step.errors.to_string(),
        step.unsent.to_string(),
        number(step.requests_per_s),
        number(step.read_bytes_per_s),
    ];
    let all: [fn(&Summary) -> f64; 9] =
        [|s| s.min, |s| s.avg, |s| s.p50, |s| s.p75, |s| s.p90, |s| s.p95, |s| s.p99, |s| s.p999, |s| s.max];
    let few: [fn(&Summary) -> f64; 5] = [|s| s.avg, |s| s.p50, |s| s.p95, |s| s.p99, |s| s.max];
    let mut of = |summary: Option<&Summary>, columns: &[fn(&Summary) -> f64]| {
        cells.extend(columns.iter().map(|column| summary.map_or_else(String::new, |s| number(column(s)))));
    };
    of(step.times(), &all);
    of(step.first_byte.as_ref(), &few);
    of(step.last_byte.as_ref(), &few);
    of(step.send_lag.as_ref(), &few);
    cells.extend([
        step.server_cores.map_or_else(String::new, number),
        number(step.generator_busy),
        step.verdict.grade.word().to_owned(),
        u8::from(step.verdict.at_least).to_string(),
        u8::from(is_knee).to_string(),
    ]);
    cells
}

/// As many digits as it takes, three decimals at most.
fn number(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn row(out: &mut String, cells: impl IntoIterator<Item = String>) {
    for (at, cell) in cells.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        if cell.contains([',', '"', '\n', '\r']) {
            out.push_str(&format!("\"{}\"", cell.replace('"', "\"\"")));
        } else {
            out.push_str(&cell);
        }
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::steps::tests::{FULL, stepped};
    use crate::report::table::tests::sample;

    /// Names to cells, line by line; only for labels without commas.
    fn read(text: &str) -> Vec<std::collections::BTreeMap<&str, &str>> {
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap().split(',').collect();
        lines
            .map(|line| {
                let cells: Vec<&str> = line.split(',').collect();
                assert_eq!(cells.len(), names.len(), "{line}");
                names.iter().copied().zip(cells).collect()
            })
            .collect()
    }

    #[test]
    fn a_row_for_each_level_and_one_for_a_run_without() {
        let text = steps(&[stepped("levels", &FULL), sample("plain", 436.0)]);
        let rows = read(&text);
        assert_eq!(rows.len(), FULL.len() + 1);
        assert_eq!(
            (rows[4]["step"], rows[4]["level"], rows[4]["knee"], rows[4]["requests_per_s"]),
            ("5", "21", "1", "1001")
        );
        assert_eq!(rows.iter().filter(|row| row["knee"] == "1").count(), 1);
        let plain = rows.last().unwrap();
        assert_eq!(
            (plain["run"], plain["step"], plain["level"], plain["level_is"]),
            ("plain", "1", "20", "clients")
        );
        assert_eq!((plain["max_us"], plain["server_cores"], plain["send_lag_p99_us"]), ("5000", "", ""));
        assert_eq!((plain["generator_busy"], plain["verdict"]), ("0.5", "VALID"));
    }

    #[test]
    fn a_row_for_each_second() {
        let text = series(&[sample("a", 10.0)]);
        let rows = read(&text);
        assert_eq!(
            (rows.len(), rows[1]["at_s"], rows[1]["responses"], rows[1]["p99_us"]),
            (2, "1", "200", "1900")
        );
        assert!(rows.iter().all(|row| row["measured"] == "1"));
    }

    #[test]
    fn labels_may_hold_anything() {
        let mut out = String::new();
        row(&mut out, ["a,b".to_owned(), "say \"x\"".to_owned(), "two\nlines".to_owned(), String::new()]);
        assert_eq!(out, "\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",\n");
        assert_eq!([0.0, 1.5, 1234.0004, 20.0].map(number), ["0", "1.5", "1234", "20"]);
    }
}
