//! The HTML report: one file, no script, nothing fetched; one run in full, or several on one plot.
//!
//! Every plot has its numbers in a table beside it. Not here: how a plot is drawn ([`super::plot`]), what is plotted
//! over time ([`curves`]) and against load ([`load`]).

mod curves;
mod load;
mod parts;

use std::fmt::Write;

use super::model::Run;
use super::plot::{self, escape};
use super::{rows, style, table, text, units};
use crate::verdict::Grade;
use parts::grid;

/// The whole page.
pub fn page(runs: &[Run]) -> String {
    let title = match runs {
        [one] => one.label.clone(),
        many => format!("{} runs side by side", many.len()),
    };
    let mut out = String::from("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    let _ = write!(
        out,
        "<title>{} · thirst</title><style>{}</style></head><body><main>",
        escape(&title),
        style::CSS
    );
    let _ = write!(out, "<h1>{}</h1>", escape(&title));
    match runs {
        [one] => single(one, &mut out),
        many => several(many, &mut out),
    }
    out.push_str("<p class=\"soft\">Percentiles are never averaged.</p></main></body></html>\n");
    out
}

fn single(run: &Run, out: &mut String) {
    asked(run, out);
    verdict(run, out);
    cards(run, out);
    let alone = std::slice::from_ref(run);
    load::figures(alone, out);
    load::table(run, out);
    times(run, out);
    curves::spectrum(alone, out);
    curves::over_time(alone, out);
    tables(run, out);
    facts(run, out);
    let _ = write!(
        out,
        "<h2>As text</h2><pre>{}</pre>",
        escape(text::report(run, true).trim_start_matches('\n'))
    );
}

fn several(runs: &[Run], out: &mut String) {
    out.push_str("<p class=\"soft\">Gain is requests per second over the first run. Single runs: differences are shown, not judged.</p>");
    let rows: Vec<Vec<String>> = table::rows(runs).into_iter().map(Vec::from).collect();
    grid(out, "All runs", &table::COLUMNS, &rows);
    if runs.iter().any(|run| run.verdict.at_least) {
        out.push_str(
            "<p class=\"soft\">“at least”: the generator was the limit, the server can do more.</p>",
        );
    }
    compare(runs, out);
    load::figures(runs, out);
    curves::spectrum(runs, out);
    curves::over_time(runs, out);
    for run in runs {
        let _ = write!(out, "<h2>{}</h2>", escape(&run.label));
        asked(run, out);
        verdict(run, out);
        load::table(run, out);
        times(run, out);
        tables(run, out);
        facts(run, out);
    }
}

fn asked(run: &Run, out: &mut String) {
    let open = run.asked.open.as_ref().map(|open| text::open_line(run, open));
    let urls = text::labelled(run);
    for line in [urls, Some(text::asked(run)), open, Some(text::measured(run))].into_iter().flatten() {
        let _ = write!(out, "<p class=\"soft\">{}</p>", escape(&line));
    }
}

fn verdict(run: &Run, out: &mut String) {
    let grade = run.verdict.grade;
    let class = match grade {
        Grade::Invalid => " invalid",
        Grade::Suspect => " suspect",
        Grade::Valid | Grade::Note => "",
    };
    let _ = write!(out, "<div class=\"verdict{class}\"><strong>{}</strong>", grade.word());
    if !run.verdict.findings.is_empty() {
        out.push_str("<ul>");
        for finding in &run.verdict.findings {
            let _ = write!(out, "<li><strong>{}</strong>: {}", finding.grade.word(), escape(&finding.text));
            if !finding.mend.is_empty() && finding.grade > Grade::Valid {
                let _ = write!(out, ". {}", escape(&finding.mend));
            }
            out.push_str("</li>");
        }
        out.push_str("</ul>");
    }
    out.push_str("</div>");
}

fn cards(run: &Run, out: &mut String) {
    let at_least = if run.verdict.at_least { "≥ " } else { "" };
    let mut cards = vec![("requests per second", format!("{at_least}{}", units::rate(run.requests_per_s)))];
    if let Some(times) = run.times() {
        cards.push(("median", units::time(times.p50)));
        cards.push(("99th percentile", units::time(times.p99)));
    }
    if let Some(lag) = &run.latency_us.send_lag {
        cards.push(("send lag, 99th percentile", units::time(lag.p99)));
    }
    cards.push(("read per second", units::bytes(run.read_bytes_per_s)));
    if let Some(ratio) = run.cache.hit_ratio {
        cards.push(("cache hits", units::percent(ratio)));
    }
    if let Some(us) = run.cpu.server_us_per_request {
        cards.push(("server CPU per request", units::time(us)));
    }
    cards.push(("failed requests", failures(run)));
    if run.errors.connects > 0 {
        cards.push(("failed connects, whole run", units::whole(run.errors.connects)));
    }
    let span = match (run.is_stepped(), &run.search) {
        (true, _) => "<dd class=\"span\">over all steps</dd>",
        (false, Some(_)) => "<dd class=\"span\">of the run that confirms it</dd>",
        (false, None) => "",
    };
    let (wide, middle) = (columns(cards.len(), 5), columns(cards.len(), 4));
    let _ = write!(out, "<dl class=\"cards wide{wide} middle{middle}\">");
    for (name, value) in cards {
        // What says itself of when it is does not say two things.
        let span = if name.contains("whole run") { "" } else { span };
        let _ = write!(out, "<div><dt>{name}</dt><dd>{}</dd>{span}</div>", escape(&value));
    }
    out.push_str("</dl>");
}

/// So many in a row that rows are as full as each other, and none has one alone; `most` at most.
fn columns(cards: usize, most: usize) -> usize {
    cards.div_ceil(cards.div_ceil(most).max(1)).max(1)
}

fn failures(run: &Run) -> String {
    let failed = run.errors.requests;
    let count = units::whole(failed);
    match failed {
        0 => count,
        _ => format!("{count} ({})", units::percent(failed as f64 / run.requests.max(1) as f64)),
    }
}

fn times(run: &Run, out: &mut String) {
    let mut columns = vec!["", "count"];
    columns.extend(text::COLUMNS);
    let rows: Vec<Vec<String>> = text::distributions(run)
        .into_iter()
        .map(|(name, summary)| {
            let mut row = vec![name.to_owned(), units::whole(summary.count)];
            row.extend(text::cells(summary));
            row
        })
        .collect();
    let caption = if run.is_open() {
        format!("Times; ~ rests on fewer than ten values. {}", text::OPEN)
    } else {
        "Times; ~ rests on fewer than ten values".to_owned()
    };
    grid(out, &caption, &columns, &rows);
}

/// What came of each URL or request, and of each round.
fn tables(run: &Run, out: &mut String) {
    let tables = [
        ("Requests", rows::requests(run)),
        ("Rounds", rows::rounds(run)),
        ("Types of content", rows::types(run)),
    ];
    for (name, table) in tables.into_iter().filter_map(|(name, table)| Some((name, table?))) {
        let _ = write!(out, "<h2>{name}</h2>");
        let columns: Vec<&str> = table.header.iter().map(String::as_str).collect();
        let caption = table.below.as_deref().unwrap_or("Those that fail most first, then the slowest");
        grid(out, caption, &columns, &table.rows);
    }
}

fn facts(run: &Run, out: &mut String) {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut add = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    add("requests sent", units::whole(run.requests));
    for (status, count) in &run.statuses {
        add(&format!("status {status}"), units::whole(*count));
    }
    for (kind, count) in &run.errors.kinds {
        add(&format!("error {kind}"), units::whole(*count));
    }
    add("cache", text::cache_line(run));
    add("bodies", text::bodies_line(run));
    for (name, value) in text::facts(run) {
        add(&name.to_lowercase(), value);
    }
    add("read from the wire", units::bytes(run.bytes.read as f64));
    add("written to the wire", units::bytes(run.bytes.written as f64));
    for server in &run.cpu.servers {
        let value = format!(
            "{:.2} cores, {} per request, {}",
            server.cores,
            units::time(server.us_per_request),
            units::bytes(server.rss_bytes as f64)
        );
        add(&format!("CPU and memory of {} (pid {})", server.name, server.pid), value);
    }
    add("CPU of thirst", format!("{} per request", units::time(run.cpu.generator_us_per_request)));
    grid(out, "Answers, bytes, CPU", &["", "value"], &rows);
}

fn compare(runs: &[Run], out: &mut String) {
    let bars: Vec<(String, f64, String)> = runs
        .iter()
        .map(|run| {
            let at_least = if run.verdict.at_least { "at least " } else { "" };
            (run.label.clone(), run.requests_per_s, format!("{at_least}{}", units::rate(run.requests_per_s)))
        })
        .collect();
    out.push_str("<h2>Requests per second</h2><figure>");
    out.push_str(&plot::bars(
        "bars",
        "Requests per second",
        "One bar for each run, from zero; the values stand in the table above.",
        &bars,
    ));
    out.push_str("</figure>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::bundle::{Bundle, Host};
    use crate::report::steps::tests::{FULL, stepped};
    use crate::report::table::tests::sample;

    #[test]
    fn one_file_that_fetches_nothing() {
        let mut run = sample("http://a/<script>alert(1)</script>", 100.0);
        run.verdict.at_least = true;
        for runs in [vec![run.clone()], vec![run.clone(), sample("b", 10_000.0)], vec![]] {
            let page = page(&runs);
            for banned in ["<script", "<link", "src=", "@import", "url(", "<img", "<iframe"] {
                assert!(!page.contains(banned), "{banned}");
            }
            assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
            assert_eq!(page.matches("<table").count(), page.matches("</table>").count());
            assert_eq!(page.matches("role=\"img\"").count(), page.matches("<desc").count());
            assert!(!page.contains("NaN"));
        }
        let page = page(&[run]);
        assert!(page.contains("Latency spectrum") && page.contains("prefers-color-scheme: dark"));
        assert!(page.contains("≥ 100"));
    }

    #[test]
    fn no_tile_stands_alone() {
        for cards in 1..12_usize {
            for most in [4, 5] {
                let columns = columns(cards, most);
                let last = cards - (cards - 1) / columns * columns;
                assert!(
                    (1..=most).contains(&columns) && (cards <= most || last > 1),
                    "{cards}, {most} at most: {columns}"
                );
                assert!(style::CSS.contains(&format!(".wide{columns} ")), "{columns}");
                assert!(columns > 4 || style::CSS.contains(&format!(".middle{columns} ")), "{columns}");
            }
        }
        let mut run = sample("a", 100.0);
        run.cpu.server_us_per_request = Some(200.0);
        assert!(page(&[run]).contains("<dl class=\"cards wide4 middle4\">"), "seven of them: four and three");
    }

    #[test]
    fn tiles_say_what_they_are_of() {
        let tiles = |run: &Run| {
            let page = page(std::slice::from_ref(run));
            let cards = page.split("<dl class=\"cards").nth(1).unwrap().split("</dl>").next().unwrap();
            (cards.matches("<dt>").count(), cards.matches(">over all steps<").count(), cards.to_owned())
        };
        let mut run = stepped("a", &FULL);
        (run.requests, run.errors.requests, run.errors.connects) = (10_000, 1_010, 3);
        let (all, stepped, text) = tiles(&run);
        assert_eq!(stepped, all - 1, "connects are of the whole run: {text}");
        assert!(text.contains("<dt>failed requests</dt><dd>1,010 (10.1 %)</dd>"), "{text}");
        assert!(text.contains("<dt>failed connects, whole run</dt><dd>3</dd></div>"), "{text}");
        assert_eq!(tiles(&sample("a", 10.0)).1, 0);
    }

    #[test]
    fn a_statistic_has_one_look_in_all_plots() {
        for runs in [vec![stepped("a", &FULL)], vec![stepped("a", &FULL), stepped("b", &FULL)]] {
            let page = page(&runs);
            let legends = page.split("<li>").skip(1).filter_map(|item| {
                let (drawn, name) = item.split("</li>").next()?.rsplit_once("</svg>")?;
                Some((name.rsplit(' ').next()?.to_owned(), drawn.split("class=\"").last()?.to_owned()))
            });
            let mut looks: std::collections::BTreeMap<String, Vec<String>> =
                std::collections::BTreeMap::new();
            for (name, look) in legends.filter(|(name, _)| name.starts_with('p') || name == "average") {
                // Of several runs colours are runs: what is left is the dash.
                let look = look.split('"').next().unwrap_or_default();
                let look =
                    if runs.len() > 1 { look.split(' ').next_back().unwrap_or_default() } else { look };
                looks.entry(name).or_default().push(look.to_owned());
            }
            assert!(looks.values().any(|of| of.len() > 1), "{looks:?}");
            assert!(looks.values().all(|of| of.iter().all(|look| *look == of[0])), "{looks:?}");
        }
    }

    #[test]
    fn a_page_says_what_was_measured_when_and_by_whom() {
        let mut run = sample("a label", 100.0);
        run.asked.urls = vec!["http://a/x".to_owned(), "http://a/y".to_owned()];
        (run.thirst, run.started_unix_ms) = ("0.0.9".to_owned(), 951_782_399_000);
        let host = Host { name: "box".to_owned(), cores: 2, system: "Linux 6".to_owned(), ..Host::default() };
        run.bundle = Some(Bundle { host, ..Bundle::default() });
        for runs in [vec![run.clone()], vec![run.clone(), sample("b", 1.0)]] {
            let page = page(&runs);
            assert!(page.contains("http://a/x and 1 more<"), "{page}");
            // The version that measured, which may not be the one that draws.
            let measured = "Measured by thirst 0.0.9, 2000-02-28 23:59:59 UTC, on box, 2 cores, Linux 6<";
            assert!(page.contains(measured), "{page}");
        }
    }
}
