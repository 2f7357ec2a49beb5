//! The report for the terminal: what matters first, then WCAT's rows in WCAT's order.
//!
//! Rows WCAT had that we do not measure are left out rather than filled with zeros. Not here: colours, files.

use std::fmt::Write;

use super::model::{Run, Server};
use super::units;
use crate::counters::{Counters, windows};
use crate::stats::Summary;
use crate::verdict::{Finding, Grade};

const RULER: &str = "########################################################################";

/// The whole report.
pub fn report(run: &Run) -> String {
    let mut out = String::new();
    head(run, &mut out);
    times(run, &mut out);
    answers(run, &mut out);
    counters(run, &mut out);
    findings(&run.verdict.findings, &mut out);
    wcat(run, &mut out);
    out
}

macro_rules! line {
    ($out:expr, $($arg:tt)*) => {
        // Writing to a string cannot fail.
        { let _ = writeln!($out, $($arg)*); }
    };
}

fn head(run: &Run, out: &mut String) {
    line!(out, "");
    line!(out, "  {}", run.label);
    line!(out, "  {}", asked(run));
    line!(out, "");
    let at_least = if run.verdict.at_least { "at least " } else { "" };
    pair(out, "Requests per second", &format!("{at_least}{}", units::rate(run.requests_per_s)));
    if let Some(last) = &run.latency_us.last_byte {
        let typical = format!(
            "{} median, {} 99th percentile, {} longest",
            time(last.p50),
            time(last.p99),
            time(last.max)
        );
        pair(out, "Time to last byte", &typical);
    }
    pair(
        out,
        "Read",
        &format!("{}/s, {} in all", units::bytes(run.read_bytes_per_s), units::bytes(run.bytes.read as f64)),
    );
    let mut name = "CPU of the server";
    for server in &run.cpu.servers {
        pair(out, name, &server_line(server));
        name = "";
    }
    pair(out, "CPU of thirst", &generator_line(run));
    pair(out, "Verdict", run.verdict.grade.word());
    line!(out, "");
}

fn pair(out: &mut String, name: &str, value: &str) {
    line!(out, "  {name:<22}{value}");
}

/// One line on what was asked for.
pub(super) fn asked(run: &Run) -> String {
    let asked = &run.asked;
    let mut text = format!(
        "{}, {} loop, {}",
        asked.method,
        asked.load,
        units::many(u64::from(asked.connections), "connection")
    );
    let _ = write!(text, ", {}", units::many(u64::from(asked.threads), "thread"));
    let _ = write!(text, ", {:.1} s measured", run.elapsed_s);
    if let Some(count) = asked.count {
        let _ = write!(text, " ({} asked for)", units::many(count, "request"));
    }
    if asked.warmup_s > 0.0 {
        let _ = write!(text, ", {} s warm-up", asked.warmup_s);
    }
    if asked.cooldown_s > 0.0 {
        let _ = write!(text, ", {} s cool-down", asked.cooldown_s);
    }
    if !asked.keep_alive {
        text.push_str(", no keep-alive");
    }
    if asked.urls.len() > 1 {
        let _ = write!(text, ", {} in turn", units::many(asked.urls.len() as u64, "URL"));
    }
    text
}

fn time(us: f64) -> String {
    units::time(us)
}

fn server_line(server: &Server) -> String {
    format!(
        "{} ({}{}): {:.2} cores, {} per request, {} memory",
        server.name,
        if server.processes > 1 { format!("{} processes from ", server.processes) } else { String::new() },
        format_args!("pid {}", server.pid),
        server.cores,
        time(server.us_per_request),
        units::bytes(server.rss_bytes as f64)
    )
}

fn generator_line(run: &Run) -> String {
    let busy: Vec<String> =
        run.cpu.generator.iter().map(|thread| format!("{:.0} %", thread.busy * 100.0)).collect();
    format!("{} per request; threads busy {}", time(run.cpu.generator_us_per_request), busy.join(", "))
}

/// The rows of the table of times: name and distribution.
pub(super) fn distributions(run: &Run) -> Vec<(&'static str, &Summary)> {
    let all = &run.latency_us;
    [
        ("connect", &all.connect),
        ("first byte", &all.first_byte),
        ("  of hits", &all.hit_first_byte),
        ("  of misses", &all.miss_first_byte),
        ("last byte", &all.last_byte),
        ("  of hits", &all.hit_last_byte),
        ("  of misses", &all.miss_last_byte),
        ("until failure", &all.failed),
    ]
    .into_iter()
    .filter_map(|(name, summary)| summary.as_ref().map(|summary| (name, summary)))
    .collect()
}

/// The columns of the table of times; what rests on too few values carries a mark.
pub(super) fn cells(summary: &Summary) -> [String; 8] {
    let mark = |q: f64, us: f64| if summary.is_thin(q) { format!("~{}", time(us)) } else { time(us) };
    [
        time(summary.min),
        time(summary.avg),
        time(summary.p50),
        time(summary.p75),
        mark(0.9, summary.p90),
        mark(0.99, summary.p99),
        mark(0.999, summary.p999),
        time(summary.max),
    ]
}

/// The names of these columns.
pub(super) const COLUMNS: [&str; 8] = ["min", "avg", "p50", "p75", "p90", "p99", "p99.9", "max"];

fn times(run: &Run, out: &mut String) {
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
    line!(out, "");
}

fn answers(run: &Run, out: &mut String) {
    let statuses: Vec<String> =
        run.statuses.iter().map(|(code, n)| format!("{code}: {}", units::whole(*n))).collect();
    if !statuses.is_empty() {
        pair(out, "Status", &statuses.join("   "));
    }
    pair(out, "Cache", &cache_line(run));
    pair(out, "Bodies", &bodies_line(run));
    let mut name = "Errors";
    for (kind, count) in &run.errors.kinds {
        let sample = run.errors.samples.get(kind).map_or("", String::as_str);
        pair(out, name, &format!("{kind}: {}, the first: {sample}", units::whole(*count)));
        name = "";
    }
    if run.errors.kinds.is_empty() {
        pair(out, "Errors", "none");
    }
    if run.unfinished > 0 {
        pair(out, "Unfinished", &format!("{} requests when it was ended", units::whole(run.unfinished)));
    }
    line!(out, "");
}

/// One line on hits and misses.
pub(super) fn cache_line(run: &Run) -> String {
    let cache = &run.cache;
    match cache.hit_ratio {
        None => "no answer says whether it came from a cache".to_owned(),
        Some(ratio) => {
            let mut text = format!(
                "{} hits, {} misses: {} hits",
                units::whole(cache.hits),
                units::whole(cache.misses),
                units::percent(ratio)
            );
            if cache.unknown > 0 {
                let _ = write!(text, "; {} answers say nothing", units::whole(cache.unknown));
            }
            text
        }
    }
}

/// One line on bodies and what compression saved.
pub(super) fn bodies_line(run: &Run) -> String {
    let bytes = &run.bytes;
    let mean = if run.responses > 0 { bytes.bodies as f64 / run.responses as f64 } else { 0.0 };
    let mut text = format!("{}, {} each on average", units::bytes(bytes.bodies as f64), units::bytes(mean));
    match bytes.decoded {
        Some(decoded) if bytes.gzip_bodies > 0 => {
            let ratio = decoded as f64 / bytes.bodies.max(1) as f64;
            let _ = write!(
                text,
                "; decoded {} ({}, from {} samples)",
                units::bytes(decoded as f64),
                units::times(ratio),
                units::whole(bytes.decoded_samples)
            );
        }
        None => text.push_str("; encoded, the decoded size is not known"),
        Some(_) => {}
    }
    text
}

/// What was counted at the server, over the measured window; then what scenarios of Windows asked for.
fn counters(run: &Run, out: &mut String) {
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

fn findings(findings: &[Finding], out: &mut String) {
    for finding in findings {
        line!(out, "  {:<9}{}", finding.grade.word(), finding.text);
        if !finding.mend.is_empty() && finding.grade > Grade::Valid {
            line!(out, "  {:<9}{}", "", finding.mend);
        }
    }
    if !findings.is_empty() {
        line!(out, "");
    }
}

fn wcat(run: &Run, out: &mut String) {
    line!(out, "{RULER}");
    line!(out, "Thirst Performance Statistics_______________________________");
    let asked = &run.asked;
    row(out, "Server", &server_name(run), "()");
    row(out, "#Transactions", &asked.urls.len().to_string(), "(HTTP/1.1)");
    row(
        out,
        "Total Async Sockets",
        &asked.connections.to_string(),
        &format!("({})", units::many(asked.threads.into(), "Pool Thread")),
    );
    let seconds = run.elapsed_s.round() as u64;
    let clock = format!("({} Hrs,{} Mins,{} Secs)", seconds / 3600, seconds / 60 % 60, seconds % 60);
    row(out, "Total Elapsed Time", &format!("{seconds} Secs"), &clock);
    row(out, "Current Connections", &run.connections.open_at_end.to_string(), "");
    let per_s = |n: f64| if run.elapsed_s > 0.0 { (n / run.elapsed_s) as u64 } else { 0 };
    let mut count =
        |name: &str, n: u64| row(out, name, &n.to_string(), &format!("({:>5}/Sec)", per_s(n as f64)));
    count("Total Connection Attempts", run.connections.attempts);
    count("Total Connect Errors", run.errors.connects);
    count("Total Success Connections", run.connections.made);
    let mut bytes = |name: &str, n: u64| {
        row(out, name, &n.to_string(), &format!("({:>5} KB/Sec)", per_s(n as f64 / 1024.0)))
    };
    bytes("Total Bytes", run.bytes.read + run.bytes.written);
    bytes("Total Bytes Written", run.bytes.written);
    bytes("Total Bytes Read", run.bytes.read);
    let kind = |codes: &[&str]| codes.iter().filter_map(|code| run.errors.kinds.get(*code)).sum::<u64>();
    let status = |wanted: &dyn Fn(u16) -> bool| {
        run.statuses.iter().filter(|(s, _)| wanted(**s)).map(|(_, n)| n).sum::<u64>()
    };
    let redirect = |s: u16| (300..309).contains(&s) && s != 304;
    let named = move |s: u16| (200..300).contains(&s) || redirect(s) || [304, 404, 500].contains(&s);
    let mut count =
        |name: &str, n: u64| row(out, name, &n.to_string(), &format!("({:>5}/Sec)", per_s(n as f64)));
    count("Total Requests", run.requests);
    count("Total Responses", run.responses);
    count("Total Socket Reads", run.connections.socket_reads);
    count("Total Socket Writes", run.connections.socket_writes);
    count("Total Parse Errors", kind(&["parse", "excess"]));
    count("Total Socket Errors", kind(&["reset", "closed", "short-body"]));
    count("Total I/O Errors", kind(&["other"]));
    count("Total Time Outs", kind(&["timeout"]));
    count("Total 200 OK", status(&|s| s == 200));
    count("Total 2XX Other", status(&|s| (201..300).contains(&s)));
    count("Total 30X Redirect", status(&redirect));
    count("Total 304 Not Modified", status(&|s| s == 304));
    count("Total 404 Not Found", status(&|s| s == 404));
    count("Total 500 Server Error", status(&|s| s == 500));
    count("Total Bad Status", status(&|s| !named(s)));
    let latencies = &run.latency_us;
    wcat_times(out, "Connect Time", &latencies.connect);
    wcat_times(out, "Resp Time (1st Byte)", &latencies.first_byte);
    wcat_times(out, "Response Time (Last)", &latencies.last_byte);
    line!(out, "{RULER}");
}

fn server_name(run: &Run) -> String {
    let url = run.asked.urls.first().map_or("", String::as_str);
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?']).next().filter(|name| !name.is_empty()).unwrap_or(rest).to_owned()
}

fn row(out: &mut String, name: &str, value: &str, aside: &str) {
    let text = format!("{name:<28}:{value:>15}      {aside}");
    line!(out, "{}", text.trim_end());
}

fn wcat_times(out: &mut String, name: &str, summary: &Option<Summary>) {
    let Some(summary) = summary else { return };
    for (which, us) in [("Min.", summary.min), ("Avg.", summary.avg), ("Max.", summary.max)] {
        let ms = us / 1e3;
        let text = if ms < 100.0 { format!("{ms:.3} MS") } else { format!("{ms:.0} MS") };
        row(out, &format!("{which} {name}"), &text, "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::table::tests::sample;

    #[test]
    fn the_rows_stand_in_wcats_columns() {
        let text = report(&sample("a", 436.0));
        let row = text.lines().find(|line| line.starts_with("Total Requests")).unwrap();
        assert_eq!(row, "Total Requests              :           4360      (  436/Sec)");
        assert!(text.contains("\nServer                      :         a:8080      ()\n"), "{text}");
        assert!(text.contains("Avg. Response Time (Last)   :       2.501 MS"), "{text}");
        let colons: Vec<usize> = text
            .lines()
            .skip_while(|l| !l.starts_with("Server "))
            .take_while(|l| !l.starts_with("####"))
            .map(|l| l.find(':').unwrap())
            .collect();
        assert!(colons.len() > 25 && colons.iter().all(|at| *at == 28 || *at == 0), "{colons:?}");
    }

    #[test]
    fn what_is_not_known_is_said() {
        let mut run = sample("a", 10.0);
        run.bytes.decoded = None;
        assert!(report(&run).contains("the decoded size is not known"));
        run.cache.hit_ratio = None;
        assert!(report(&run).contains("no answer says whether it came from a cache"));
        run.verdict.at_least = true;
        assert!(report(&run).contains("at least 10"));
    }
}
