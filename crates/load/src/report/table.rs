//! Several runs side by side: one row each, gain relative to the first.
//!
//! Differences between two single runs are shown, not judged: the run is the sample, and one is no statistic.
//! Not here: plots.

use std::fmt::Write;

use super::model::Run;
use super::{columns, units};
use crate::verdict::Grade;

/// The columns.
pub const COLUMNS: [&str; 9] =
    ["run", "req/s", "p50", "p99", "first byte", "server CPU", "per request", "MB/s", "gain"];

/// The cells of all rows.
pub fn rows(runs: &[Run]) -> Vec<[String; 9]> {
    let base = runs.first().map_or(0.0, |run| run.requests_per_s);
    let base_at_least = runs.first().is_some_and(|run| run.verdict.at_least);
    runs.iter().map(|run| row(run, base, base_at_least)).collect()
}

fn row(run: &Run, base: f64, base_at_least: bool) -> [String; 9] {
    let dash = || "-".to_owned();
    let at_least = if run.verdict.at_least { "at least " } else { "" };
    let times = run.times();
    let cpu: Vec<String> =
        run.cpu.servers.iter().map(|server| format!("{} {:.2}", server.name, server.cores)).collect();
    // When the first run was itself cut off by the generator, the ratio has no bound on either side.
    let gain = match (base > 0.0, base_at_least && run.requests_per_s > base) {
        (false, _) => dash(),
        (true, true) => format!("about {}", units::times(run.requests_per_s / base)),
        (true, false) => format!("{at_least}{}", units::times(run.requests_per_s / base)),
    };
    let mut label = run.label.clone();
    if run.verdict.grade >= Grade::Suspect {
        let _ = write!(label, " ({})", run.verdict.grade.word());
    }
    [
        label,
        format!("{at_least}{}", units::rate(run.requests_per_s)),
        times.map_or_else(dash, |summary| units::time(summary.p50)),
        times.map_or_else(dash, |summary| units::time(summary.p99)),
        run.latency_us.first_byte.as_ref().map_or_else(dash, |summary| units::time(summary.p50)),
        if cpu.is_empty() { dash() } else { cpu.join(" + ") },
        run.cpu.server_us_per_request.map_or_else(dash, units::time),
        format!("{:.1}", run.read_bytes_per_s / 1e6),
        gain,
    ]
}

/// The table for the terminal.
pub fn text(runs: &[Run]) -> String {
    let rows: Vec<Vec<String>> = rows(runs).into_iter().map(Vec::from).collect();
    let mut out = String::new();
    columns::draw(&mut out, &COLUMNS.map(str::to_owned), &rows, true);
    out.push_str("\n  Times: last byte (p50, p99) and first byte (median). Server CPU in cores. Gain: req/s over the first run.\n");
    if runs.iter().any(Run::is_open) {
        out.push_str("  Times of open loops run from when a request was meant to be sent.\n");
    }
    let limited = runs.iter().any(|run| run.verdict.at_least);
    if limited {
        out.push_str("  \"at least\": the generator was the limit, the server can do more.\n");
    }
    units::printable(&out)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::report::model::{Run, SCHEMA, Server, read};
    use crate::stats::Summary;
    use crate::tally::Latency;

    pub(in crate::report) fn sample(label: &str, requests_per_s: f64) -> Run {
        let mut latency = Latency::default();
        (1..=4_000_u64).for_each(|i| latency.record(i * 1_250));
        let summary = Summary::of(&latency);
        let text = format!(
            r#"{{"schema":"{SCHEMA}","thirst":"0","label":"{label}","started_unix_ms":0,
            "asked":{{"urls":["http://{label}:8080/x"],"method":"GET","load":"closed","connections":20,"threads":1,"count":null,
                     "warmup_s":0.0,"duration_s":10.0,"cooldown_s":0.0,"timeout_s":30.0,"keep_alive":true,"same_host":false}},
            "verdict":{{"grade":"VALID","at_least":false,"findings":[]}},"requests":{n},"responses":{n},"unfinished":0,
            "interrupted":false,"all_requests":{n},"elapsed_s":10.0,"requests_per_s":{requests_per_s},
            "read_bytes_per_s":5000000.0,"statuses":{{"200":{n}}},"status_classes":{{"2xx":{n}}},
            "errors":{{"requests":0,"connects":0,"unmeasured":0,"kinds":{{}},"samples":{{}}}},"latency_us":{{}},
            "bytes":{{"read":50000000,"written":1,"heads":1,"bodies":1000,"decoded":1000,"gzip_bodies":0,"opaque_bodies":0,"decoded_samples":0}},
            "cache":{{"hits":3,"misses":1,"unknown":0,"hit_ratio":0.75,"hit_body_bytes":1}},
            "connections":{{"attempts":20,"made":20,"peak":20,"open_at_end":20,"socket_reads":1,"socket_writes":1}},
            "cpu":{{"generator":[{{"busy":0.5,"starved":null,"longest_turn_us":1.0}}],"generator_us_per_request":5.0,"servers":[],"server_us_per_request":null}},
            "series":{{"interval_s":1,"window_start_s":0.0,"window_end_s":10.0,"points":[
               {{"at_s":0,"responses":100,"errors":0,"read_bytes":1,"p50_us":100.0,"p99_us":900.0}},
               {{"at_s":1,"responses":200,"errors":1,"read_bytes":1,"p50_us":110.0,"p99_us":1900.0}}]}}}}"#,
            n = (requests_per_s * 10.0) as u64
        );
        let mut run = read(&text, "sample").unwrap();
        run.latency_us.last_byte = summary.clone();
        run.latency_us.first_byte = summary;
        run
    }

    #[test]
    fn gains_are_relative_to_the_first() {
        let mut runs = vec![sample("without", 14.0), sample("memory", 434.0), sample("hot", 180_000.0)];
        runs[2].verdict.at_least = true;
        runs[2].verdict.grade = Grade::Suspect;
        runs[1].cpu.servers = vec![
            Server { name: "samovar".into(), cores: 0.5, ..Server::default() },
            Server { name: "images".into(), cores: 1.234, ..Server::default() },
        ];
        let rows = rows(&runs);
        assert_eq!(
            rows.iter().map(|row| row[8].as_str()).collect::<Vec<_>>(),
            ["1.00 ×", "31.0 ×", "at least 12,857 ×"]
        );
        assert_eq!(rows[1][5], "samovar 0.50 + images 1.23");
        assert_eq!(rows[2][0], "hot (SUSPECT)");
        assert_eq!(rows[2][1], "at least 180,000");
        let text = text(&runs);
        assert!(text.contains("the generator was the limit"));
        let widths: Vec<usize> = text.lines().skip(1).take(1).map(|line| line.chars().count()).collect();
        assert!(text.lines().take(5).all(|line| line.chars().count() <= widths[0]), "{text}");
    }

    #[test]
    fn a_first_run_that_was_cut_off_bounds_nothing() {
        let mut runs = vec![sample("a", 100.0), sample("b", 200.0)];
        runs[0].verdict.at_least = true;
        assert_eq!(rows(&runs)[1][8], "about 2.00 ×");
        assert!(rows(&[]).is_empty());
        runs[0].requests_per_s = 0.0;
        assert_eq!(rows(&runs)[1][8], "-");
    }

    #[test]
    fn stored_runs_survive_the_round_trip_and_others_are_refused() {
        let run = sample("a", 5.0);
        let text = serde_json::to_string(&run).unwrap();
        let again = read(&text, "f").unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), text);
        for (text, say) in [
            ("", "not JSON"),
            ("{}", "not a report of thirst"),
            (r#"{"schema":"thirst.run/9"}"#, "thirst.run/9"),
            (r#"{"schema":"thirst.run/1"}"#, "damaged"),
        ] {
            let error = read(text, "f.json").unwrap_err();
            assert!(error.contains(say) && error.starts_with("f.json"), "{error}");
        }
    }
}
