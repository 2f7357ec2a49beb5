//! The report for the terminal: tables first, WCAT's rows if they are asked for, and the summary last, where it stands on the
//! screen when the run is over, however long the tables are.
//!
//! Not here: colours, files; what is said of levels ([`super::steps`]) and of URLs ([`super::rows`]), as HTML says it
//! too.

/// Writes a line to a string, which cannot fail.
macro_rules! line {
    ($out:expr, $($arg:tt)*) => {{
        use std::fmt::Write as _;
        let _ = writeln!($out, $($arg)*);
    }};
}

mod counters;
mod times;
mod wcat;

pub(super) use times::{COLUMNS, OPEN, cells, distributions};
pub(super) use wcat::{is_bad, server_name};

use std::fmt::Write;

use super::model::{Open, Run, Server};
use super::units::{self, time};
use super::{columns, junit, rows, steps};
use crate::stats::Summary;
use crate::tally::Failure;
use crate::verdict::{Finding, Grade};

/// The whole report, with or without WCAT's rows.
pub fn report(run: &Run, with_wcat: bool) -> String {
    let mut out = String::new();
    line!(out, "");
    levels(run, &mut out);
    times::times(run, &mut out);
    answers(run, &mut out);
    tables(run, &mut out);
    counters::counters(run, &mut out);
    if with_wcat {
        wcat::wcat(run, &mut out);
        line!(out, "");
    }
    summary(run, &mut out);
    units::printable(&out)
}

/// What was asked, the few numbers that matter most, and whether they can be trusted: a screen shows all of it.
fn summary(run: &Run, out: &mut String) {
    line!(out, "  {}", run.label);
    if let Some(urls) = labelled(run) {
        line!(out, "  {urls}");
    }
    line!(out, "  {}", asked(run));
    if let Some(open) = &run.asked.open {
        line!(out, "  {}", open_line(run, open));
    }
    line!(out, "");
    let at_least = if run.verdict.at_least { "at least " } else { "" };
    let together = if run.is_stepped() { ", over all steps" } else { "" };
    pair(out, "Requests per second", &format!("{at_least}{}{together}", units::rate(run.requests_per_s)));
    if let Some(failed) = failed(run) {
        pair(out, "Failed requests", &failed);
    }
    for (name, summary) in headline(run) {
        let typical = format!(
            "{} median, {} 99th percentile, {} longest",
            time(summary.p50),
            time(summary.p99),
            time(summary.max)
        );
        pair(out, name, &typical);
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
    findings(&run.verdict.findings, out);
}

/// How many requests failed, and by what; nothing if none did.
pub(super) fn failed(run: &Run) -> Option<String> {
    let failed = run.errors.requests;
    let kinds = Failure::ALL.into_iter().filter(|kind| !kind.is_connect()).map(Failure::code);
    let seen = kinds.filter_map(|kind| run.errors.kinds.get_key_value(kind));
    let seen: Vec<String> = seen.map(|(kind, count)| format!("{kind} {}", units::whole(*count))).collect();
    let share = units::percent(failed as f64 / run.requests.max(1) as f64);
    let text = format!("{} of {} ({share})", units::whole(failed), units::whole(run.requests));
    (failed > 0).then(|| if seen.is_empty() { text } else { format!("{text}: {}", seen.join(", ")) })
}

/// The times that matter most; of an open loop what a person waits, what the server takes, and what lies between.
fn headline(run: &Run) -> Vec<(&'static str, &Summary)> {
    let all = &run.latency_us;
    let wanted = if run.is_open() {
        vec![("Response time", &all.response), ("Service time", &all.last_byte), ("Send lag", &all.send_lag)]
    } else {
        vec![("Time to last byte", &all.last_byte)]
    };
    wanted.into_iter().filter_map(|(name, summary)| summary.as_ref().map(|summary| (name, summary))).collect()
}

/// Each level of load, if there were several.
fn levels(run: &Run, out: &mut String) {
    if run.steps.is_empty() {
        return;
    }
    let (header, rows) = steps::table(run);
    columns::draw(out, &header, &rows, true);
    for sentence in steps::sentences(run) {
        line!(out, "  {sentence}");
    }
    line!(out, "");
}

/// What came of each URL or request, and of each round.
fn tables(run: &Run, out: &mut String) {
    for table in [rows::requests(run), rows::rounds(run), rows::types(run)].into_iter().flatten() {
        columns::draw(out, &table.header, &table.rows, true);
        if let Some(below) = table.below {
            line!(out, "  {below}");
        }
        line!(out, "");
    }
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
        match (run.steps.first(), run.steps.last()) {
            // What an open loop climbs is rates: they have a line of their own.
            (Some(first), Some(last)) if run.is_stepped() && asked.open.is_none() => {
                format!("{} to {} connections", units::level(first.level), units::level(last.level))
            }
            _ => units::many(u64::from(asked.connections), "connection"),
        }
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
    if let Some((from, to)) = asked.think_s {
        let range = if from < to { format!("{from} to {to} s") } else { format!("{to} s") };
        let _ = write!(text, ", pauses of {range}");
    }
    if let Some(most) = asked.most_per_s {
        let _ = write!(text, ", {} requests/s at most", units::rate(most));
    }
    if asked.urls.len() > 1 {
        let _ = write!(text, ", {}", units::many(asked.urls.len() as u64, "URL"));
    }
    text
}

/// What was asked, where the label says something else.
pub(super) fn labelled(run: &Run) -> Option<String> {
    let first = run.asked.urls.first().filter(|url| **url != run.label)?;
    let more = run.asked.urls.len() - 1;
    Some(if more > 0 { format!("{first} and {more} more") } else { first.clone() })
}

/// When, by which version, and on what a run was made.
pub(super) fn measured(run: &Run) -> String {
    let mut text = format!(
        "Measured by thirst {}, {} UTC",
        run.thirst,
        junit::timestamp(run.started_unix_ms / 1000).replace('T', " ")
    );
    if let Some(host) = run.bundle.as_ref().map(|bundle| &bundle.host) {
        let parts = [
            host.name.clone(),
            units::many(host.cores as u64, "core"),
            host.processor.clone(),
            host.system.clone(),
        ];
        let known: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let _ = write!(text, ", on {}", known.join(", "));
    }
    text
}

/// One line on an open loop: how much, how spaced, and what became of what was too much.
pub(super) fn open_line(run: &Run, open: &Open) -> String {
    let rate = match (run.steps.first(), run.steps.last()) {
        (Some(first), Some(last)) if run.is_stepped() => {
            format!("{} to {}", units::level(first.level), units::level(last.level))
        }
        _ => units::level(open.rate),
    };
    let spacing = if open.spacing == "poisson" { "at random moments (Poisson)" } else { "evenly spaced" };
    let full = if open.when_full == "drop" {
        "what is due beyond that is dropped"
    } else {
        "what is due beyond that waits"
    };
    let most = units::whole(u64::from(run.asked.connections));
    format!("{rate} requests per second, {spacing}; {most} in flight at most, {full}")
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
    if run.responses == 0 {
        return format!("threads busy {}", busy.join(", "));
    }
    format!("{} per request; threads busy {}", time(run.cpu.generator_us_per_request), busy.join(", "))
}

fn answers(run: &Run, out: &mut String) {
    let statuses: Vec<String> =
        run.statuses.iter().map(|(code, n)| format!("{code}: {}", units::whole(*n))).collect();
    if !statuses.is_empty() {
        pair(out, "Status", &statuses.join("   "));
    }
    pair(out, "Cache", &cache_line(run));
    pair(out, "Bodies", &bodies_line(run));
    for (name, value) in facts(run) {
        pair(out, name, &value);
    }
    let mut name = "Errors";
    for (kind, count) in &run.errors.kinds {
        let sample = run.errors.samples.get(kind).map_or("", String::as_str);
        pair(out, name, &format!("{kind}: {}, the first: {sample}", units::whole(*count)));
        name = "";
    }
    if run.errors.kinds.is_empty() {
        pair(out, "Errors", "none");
    }
    line!(out, "");
}

/// What only some runs have: rounds, requests not sent, answers kept, bodies that changed, an early end.
pub(super) fn facts(run: &Run) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut add = |name, n: u64, what: &str| {
        if n > 0 {
            facts.push((name, format!("{} {what}", units::whole(n))));
        }
    };
    add("Unsent", run.unsent, "requests were due and not sent, as too many were in flight");
    add("Kept", run.kept, "answers that clients had kept and did not ask for again");
    add("Changed", run.changed, "answers had another body than the first of their URL");
    add("Unfinished", run.unfinished, "requests when it was ended");
    if run.rounds_done > 0 {
        let mut text = format!("{} to their end without a failure", units::whole(run.rounds_done));
        if run.elapsed_s > 0.0 {
            let _ = write!(text, ", {}/s", units::rate(run.in_window_per_s(run.rounds_done)));
        }
        if let Some(round) = &run.latency_us.round {
            let _ = write!(text, ", {} median, {} 99th percentile", time(round.p50), time(round.p99));
        }
        facts.push(("Rounds", text));
    }
    if let Some(ended) = &run.ended {
        facts.push(("Ended early", ended.clone()));
    }
    facts
}

/// One line on hits and misses.
pub(super) fn cache_line(run: &Run) -> String {
    let cache = &run.cache;
    match cache.hit_ratio {
        None => "no answer says whether it came from a cache".to_owned(),
        Some(ratio) => {
            let mut parts = vec![format!("{} hits", units::whole(cache.hits))];
            for (n, what) in [(cache.stale, "stale"), (cache.revalidated, "revalidated")] {
                if n > 0 {
                    parts.push(format!("{} {what}", units::whole(n)));
                }
            }
            parts.push(format!("{} misses", units::whole(cache.misses)));
            let mut text = format!("{}: {} hits", parts.join(", "), units::percent(ratio));
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
    // Whole answers that are not what they have to be are failures, and their bodies count all the same.
    let answers = run.whole_responses();
    let mean = if answers > 0 { bytes.bodies as f64 / answers as f64 } else { 0.0 };
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

fn findings(findings: &[Finding], out: &mut String) {
    for finding in findings {
        line!(out, "  {:<9}{}", finding.grade.word(), finding.text);
        if !finding.mend.is_empty() && finding.grade > Grade::Valid {
            line!(out, "  {:<9}{}", "", finding.mend);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::Row;
    use crate::report::table::tests::sample;

    #[test]
    fn bodies_of_wrong_answers_are_bodies() {
        let mut run = sample("a", 10.0);
        run.bytes.bodies = 10_000;
        (run.responses, run.statuses) = (80, [(200, 90), (500, 10)].into());
        assert!(bodies_line(&run).starts_with("10.0 kB, 100 B each on average"), "{}", bodies_line(&run));
    }

    #[test]
    fn the_headline_says_what_failed() {
        let mut run = sample("a", 10.0);
        assert!(!report(&run, false).contains("Failed requests"));
        (run.requests, run.errors.requests) = (10_000, 1_010);
        run.errors.kinds =
            [("status".to_owned(), 1_000), ("timeout".to_owned(), 10), ("refused".to_owned(), 3)].into();
        let text = report(&run, false);
        assert!(
            text.contains("\n  Failed requests       1,010 of 10,000 (10.1 %): timeout 10, status 1,000\n"),
            "{text}"
        );
    }

    #[test]
    fn the_summary_is_last_and_fits_a_terminal_of_36_rows() {
        let mut run = steps::tests::stepped("a name", &steps::tests::FULL);
        run.asked.urls = (0..40).map(|n| format!("http://a/{n}")).collect();
        run.rows = run.asked.urls.iter().map(|url| Row { name: url.clone(), ..Row::default() }).collect();
        run.errors.requests = 7;
        let finding = |text: &str, mend: &str| Finding {
            grade: Grade::Suspect,
            code: "x".to_owned(),
            text: text.to_owned(),
            mend: mend.to_owned(),
        };
        run.verdict.findings = (0..5).map(|_| finding("look twice", "do this")).collect();
        for with_wcat in [false, true] {
            let text = report(&run, with_wcat);
            assert_eq!(text.contains("Thirst Performance Statistics"), with_wcat);
            let lines: Vec<&str> = text.lines().collect();
            // The prompt takes one row, and what is typed before the next run another.
            let screen = lines[lines.len() - 34..].join("\n");
            for seen in ["  a name\n", "Requests per second", "Failed requests", "Verdict", "look twice"] {
                assert!(screen.contains(seen), "{seen} in {screen}");
            }
            assert!(screen.ends_with("do this") && lines.len() > 60, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_said() {
        let mut run = sample("a", 10.0);
        run.bytes.decoded = None;
        assert!(report(&run, false).contains("the decoded size is not known"));
        run.cache.hit_ratio = None;
        assert!(report(&run, false).contains("no answer says whether it came from a cache"));
        run.verdict.at_least = true;
        assert!(report(&run, false).contains("at least 10"));
    }

    #[test]
    fn an_open_loop_says_what_was_asked_and_shows_its_three_times() {
        let mut run = sample("a", 100.0);
        run.asked.load = "open".to_owned();
        run.asked.open =
            Some(Open { rate: 2_500.0, spacing: "poisson".to_owned(), when_full: "drop".to_owned() });
        run.latency_us.response = run.latency_us.last_byte.clone();
        run.latency_us.send_lag = run.latency_us.last_byte.clone();
        run.unsent = 12;
        let text = report(&run, false);
        for say in [
            "2,500 requests per second, at random moments (Poisson); 20 in flight at most, what is due beyond that is dropped",
            "\n  Response time         2.50 ms median",
            "\n  Service time          2.50 ms median",
            "\n  Send lag              2.50 ms median",
            "\n  Unsent                12 requests were due",
            "\n  service time  ",
            times::OPEN,
        ] {
            assert!(text.contains(say), "{say} in {text}");
        }
    }

    #[test]
    fn a_closed_loop_says_nothing_of_an_open_one() {
        let text = report(&sample("a", 100.0), false);
        for none in ["Service time", "Send lag", "Unsent", "Rounds", "Kept", "Ended early", "knee"] {
            assert!(!text.contains(none), "{none} in {text}");
        }
    }

    #[test]
    fn what_only_some_runs_have_is_said_where_it_is() {
        let mut run = steps::tests::stepped("a", &steps::tests::FULL);
        run.rounds_done = 50;
        run.latency_us.round = run.latency_us.last_byte.clone();
        (run.kept, run.changed, run.cache.stale, run.cache.revalidated) = (7, 8, 9, 10);
        run.ended = Some("p99>1ms held: it was 2.00 ms".to_owned());
        run.latency_us.tls = run.latency_us.last_byte.clone();
        run.latency_us.stale_last_byte = run.latency_us.last_byte.clone();
        run.asked.urls = vec!["http://a/1".to_owned(), "http://a/2".to_owned()];
        let text = report(&run, false);
        for say in [
            "\n\n  a\n  http://a/1 and 1 more\n  GET, closed loop, 1 to 31 connections, ",
            "  Rounds                50 to their end without a failure, 5.0/s, 2.50 ms median",
            "  Kept                  7 answers",
            "  Changed               8 answers",
            "  Ended early           p99>1ms held",
            "3 hits, 9 stale, 10 revalidated, 1 misses: 75.0 % hits",
            "\n  TLS  ",
            "\n    stale  ",
            "Knee at 21 clients",
            "over all steps",
        ] {
            assert!(text.contains(say), "{say} in {text}");
        }
        let knee = text.lines().find(|line| line.contains("  knee  ")).unwrap();
        assert!(knee.trim_start().starts_with("21 "), "{knee}");
    }
}
