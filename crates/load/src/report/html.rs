//! The HTML report: one file, no script, nothing fetched; one run in full, or several on one plot.
//!
//! Every plot has its numbers in a table beside it. Not here: how a plot is drawn ([`super::plot`]).

use std::fmt::Write;

use super::model::{Point, Run};
use super::plot::{self, Axis, Line, Scale, escape};
use super::{style, table, text, units};
use crate::stats::Summary;
use crate::verdict::Grade;

const TIME: Axis = Axis { name: "", scale: Scale::Log, format: plot::time_mark };
const SHARE: Axis =
    Axis { name: "share of answers that were faster", scale: Scale::Nines, format: plot::share_mark };
const SECONDS: Axis =
    Axis { name: "seconds since the start", scale: Scale::Linear, format: |s| format!("{s:.0}") };

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
    let version = env!("CARGO_PKG_VERSION");
    let _ = write!(
        out,
        "<p class=\"soft\">Measured by thirst {version}. Percentiles are never averaged.</p></main></body></html>"
    );
    out.push('\n');
    out
}

fn single(run: &Run, out: &mut String) {
    let _ = write!(out, "<p class=\"soft\">{}</p>", escape(&text::asked(run)));
    verdict(run, out);
    cards(run, out);
    times(run, out);
    plots(std::slice::from_ref(run), out);
    facts(run, out);
    let _ = write!(out, "<h2>As text</h2><pre>{}</pre>", escape(text::report(run).trim_start_matches('\n')));
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
    plots(runs, out);
    for run in runs {
        let _ =
            write!(out, "<h2>{}</h2><p class=\"soft\">{}</p>", escape(&run.label), escape(&text::asked(run)));
        verdict(run, out);
        times(run, out);
        facts(run, out);
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
    if let Some(last) = &run.latency_us.last_byte {
        cards.push(("median", units::time(last.p50)));
        cards.push(("99th percentile", units::time(last.p99)));
    }
    cards.push(("read per second", units::bytes(run.read_bytes_per_s)));
    if let Some(ratio) = run.cache.hit_ratio {
        cards.push(("cache hits", units::percent(ratio)));
    }
    if let Some(us) = run.cpu.server_us_per_request {
        cards.push(("server CPU per request", units::time(us)));
    }
    cards.push(("errors", units::whole(run.errors.requests + run.errors.connects)));
    out.push_str("<dl class=\"cards\">");
    for (name, value) in cards {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(&value));
    }
    out.push_str("</dl>");
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
    grid(out, "Times; ~ rests on fewer than ten values", &columns, &rows);
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

fn plots(runs: &[Run], out: &mut String) {
    spectrum(runs, out);
    over_time(runs, out);
}

fn spectrum(runs: &[Run], out: &mut String) {
    let mut lines = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let all = &run.latency_us;
        let whole = [("last byte", &all.last_byte), ("first byte", &all.first_byte)];
        let split = [("last byte, hits", &all.hit_last_byte), ("last byte, misses", &all.miss_last_byte)];
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
    figure(out, "spectrum", "Latency spectrum", about, (SHARE, TIME), &lines, None);
}

/// The longest of n values stands at the share of which it is the typical maximum, not at infinity.
fn spectrum_points(summary: &Summary) -> Vec<(f64, f64)> {
    let last = 1.0 - 0.5 / summary.count.max(1) as f64;
    summary.curve.iter().map(|(share, us)| (share.min(last), *us)).collect()
}

fn over_time(runs: &[Run], out: &mut String) {
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
    let window = match runs {
        [run] => Some((run.series.window_start_s, run.series.window_end_s)),
        _ => None,
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
    figure(out, "rate", "Requests per second over time", about, (SECONDS, axis), &rates, window);
    let mut lines = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        for (dash, name, pick) in [(0, "p50", (|p| p.p50_us) as fn(&Point) -> f64), (1, "p99", |p| p.p99_us)]
        {
            let points: Vec<(f64, f64)> =
                live_points(run).filter(|p| p.responses > 0).map(|p| (p.at_s as f64, pick(p))).collect();
            let label = if runs.len() > 1 { format!("{} {name}", run.label) } else { name.to_owned() };
            lines.push(Line { name: label, colour: if runs.len() > 1 { index } else { dash }, dash, points });
        }
    }
    let about = "Median and 99th percentile of the time to the last byte, second by second.";
    figure(out, "latency", "Latency over time", about, (SECONDS, TIME), &lines, window);
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

fn figure(
    out: &mut String,
    id: &str,
    title: &str,
    about: &str,
    axes: (Axis, Axis),
    lines: &[Line],
    shade: Option<(f64, f64)>,
) {
    if lines.iter().all(|line| line.points.is_empty()) {
        return;
    }
    let _ = write!(out, "<h2>{title}</h2><figure>{}", plot::lines(id, title, about, axes, lines, shade));
    let _ = write!(
        out,
        "<figcaption>{}<p class=\"soft\">{about}{}</p></figcaption></figure>",
        plot::legend(lines),
        if shade.is_some() { " The measured window is shaded." } else { "" }
    );
    let _ = write!(out, "<details><summary>{title} as a table</summary>");
    let mut rows = Vec::new();
    for line in lines {
        for (x, y) in &line.points {
            rows.push(vec![line.name.clone(), (axes.0.format)(*x), (axes.1.format)(*y)]);
        }
    }
    grid(out, title, &["line", "at", "value"], &rows);
    out.push_str("</details>");
}

fn grid(out: &mut String, caption: &str, columns: &[&str], rows: &[Vec<String>]) {
    let _ = write!(out, "<div class=\"scroll\"><table><caption>{}</caption><thead><tr>", escape(caption));
    for column in columns {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(column));
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let _ = match index {
                0 if cell.starts_with(' ') => {
                    write!(out, "<th scope=\"row\" class=\"indent\">{}</th>", escape(cell.trim()))
                }
                0 => write!(out, "<th scope=\"row\">{}</th>", escape(cell)),
                _ => write!(out, "<td>{}</td>", escape(cell)),
            };
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
