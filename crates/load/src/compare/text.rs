//! A comparison for the terminal: the table, then what is said, what cannot be said, and what would help.
//!
//! Not here: colours, files.

use std::fmt::Write;

use super::Metric;
use super::model::{Comparison, Judgement, Overall, Row};
use super::words::{self, list, percent};
use crate::report::units;

const COLUMNS: [&str; 7] = ["", "A", "B", "B / A", "95 % interval", "could have seen", "verdict"];

macro_rules! line {
    ($out:expr, $($arg:tt)*) => {
        // Writing to a string cannot fail.
        { let _ = writeln!($out, $($arg)*); }
    };
}

/// The whole text.
pub fn text(comparison: &Comparison) -> String {
    let mut out = String::new();
    line!(out, "");
    for (name, set) in [("A", &comparison.a), ("B", &comparison.b)] {
        // Labels that nobody gave say nothing twice.
        let label = if set.label == name { String::new() } else { format!("{}, ", set.label) };
        line!(out, "  {name}  {label}{}", units::many(set.runs as u64, "run"));
    }
    let how = match comparison.pairs {
        Some(1) => "two single runs: descriptive only".to_owned(),
        Some(pairs) => format!("{}, made in turn", units::many(pairs as u64, "pair")),
        None => "not interleaved: a drift of the machine would look the same".to_owned(),
    };
    line!(out, "  {how}\n");
    table(comparison, &mut out);
    section("What is said", &said(comparison), &mut out);
    section("What cannot be said", &not_said(comparison), &mut out);
    section("What would help", &help(comparison), &mut out);
    units::printable(&out)
}

fn table(comparison: &Comparison, out: &mut String) {
    let header = COLUMNS.map(str::to_owned);
    let rows: Vec<[String; 7]> = comparison.metrics.iter().map(cells).collect();
    let mut widths = [0; 7];
    for row in std::iter::once(&header).chain(&rows) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let last = COLUMNS.len() - 1;
    let mut draw = |row: &[String; 7]| {
        let mut line = String::new();
        for (index, (cell, width)) in row.iter().zip(widths).enumerate() {
            let pad = " ".repeat(width - cell.chars().count());
            // Words stand left, numbers right.
            let _ = if index == 0 || index == last {
                write!(line, "  {cell}{pad}")
            } else {
                write!(line, "  {pad}{cell}")
            };
        }
        line!(out, "{}", line.trim_end());
    };
    draw(&header);
    draw(&widths.map(|width| "─".repeat(width)));
    rows.iter().for_each(&mut draw);
}

fn cells(row: &Row) -> [String; 7] {
    let value =
        |value: f64| if row.metric == Metric::RequestsPerS { units::rate(value) } else { units::time(value) };
    let dash = || "-".to_owned();
    [
        row.metric.name().to_owned(),
        value(row.a),
        value(row.b),
        words::ratio(row.ratio),
        row.interval_95
            .map_or_else(dash, |(low, high)| format!("{} to {}", words::ratio(low), words::ratio(high))),
        row.could_have_seen_percent.map_or_else(dash, percent),
        verdict(row.verdict).to_owned(),
    ]
}

fn verdict(verdict: Judgement) -> &'static str {
    match verdict {
        Judgement::Faster => "faster",
        Judgement::Slower => "slower",
        Judgement::Lower => "lower",
        Judgement::Higher => "higher",
        Judgement::Negligible { .. } => "negligible",
        Judgement::NoDifferenceSeen { .. } => "no difference seen",
        Judgement::TooFew { .. } => "descriptive only",
    }
}

/// The conclusion, and each metric that has a verdict of its own.
fn said(comparison: &Comparison) -> Vec<String> {
    let mut lines = vec![format!("{}.", capital(&comparison.overall.reason))];
    if comparison.overall.is != Overall::TooFew {
        let told = comparison.metrics.iter();
        lines.extend(told.map(|row| format!("{}: {}.", row.metric.name(), row.reason)));
    }
    lines
}

fn not_said(comparison: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    let unseen: Vec<&Row> = comparison
        .metrics
        .iter()
        .filter(|row| matches!(row.verdict, Judgement::NoDifferenceSeen { .. }))
        .collect();
    if !unseen.is_empty() {
        let names: Vec<String> = unseen.iter().map(|row| row.metric.name().to_owned()).collect();
        lines.push(format!(
            "That A and B are equal in {}: smaller differences than the table names may be there.",
            list(&names)
        ));
    }
    if unseen.iter().any(|row| row.interval_95.is_some_and(|(low, high)| low > 1.0 || high < 1.0)) {
        let count = comparison.metrics.len();
        lines.push(format!(
            "An interval may leave out 1 and yet no difference be seen: of {count} metrics looked at, one does so by \
             chance now and then, and both tests must agree."
        ));
    }
    lines.extend(comparison.caveats.iter().map(|caveat| format!("{}.", capital(&caveat.text))));
    lines
}

fn help(comparison: &Comparison) -> Vec<String> {
    let what = if comparison.pairs.is_some() { "pair" } else { "run" };
    let each = if comparison.pairs.is_some() { "" } else { " on each side" };
    let show = percent(comparison.show_percent);
    let open =
        |row: &&Row| matches!(row.verdict, Judgement::NoDifferenceSeen { .. } | Judgement::TooFew { .. });
    let wanted: Vec<(usize, &str)> = comparison
        .metrics
        .iter()
        .filter(open)
        .filter_map(|row| row.more_runs.filter(|more| *more > 0).map(|more| (more, row.metric.name())))
        .collect();
    let mut lines = Vec::new();
    if let [(more, metric), others @ ..] = wanted.as_slice() {
        let others: Vec<String> =
            others.iter().map(|(more, metric)| format!("{} in {metric}", about(*more))).collect();
        let others = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
        lines.push(format!(
            "About {} more {what}{}{each} would show a difference of {show} in {metric}{others}.",
            about(*more),
            if *more == 1 { "" } else { "s" }
        ));
    }
    if comparison.pairs.is_none_or(|pairs| pairs == 1) {
        lines.push(
            "Make the runs in turn, A B, B A, A B …, and give them all: thirst compare A1.json A2.json … \
             --with B1.json B2.json …"
                .to_owned(),
        );
    }
    lines
}

/// A paragraph with a heading, its lines broken where they get long; nothing of nothing.
fn section(heading: &str, lines: &[String], out: &mut String) {
    const WIDTH: usize = 100;
    if lines.is_empty() {
        return;
    }
    line!(out, "\n  {heading}");
    for text in lines {
        let mut line = String::from("    -");
        for word in text.split(' ') {
            if line.chars().count() + 1 + word.chars().count() > WIDTH {
                line!(out, "{line}");
                line = String::from("     ");
            }
            let _ = write!(line, " {word}");
        }
        line!(out, "{line}");
    }
}

/// An estimate has two digits.
fn about(number: usize) -> String {
    let mut step = 1;
    while number / step >= 100 {
        step *= 10;
    }
    units::whole((number.div_ceil(step) * step) as u64)
}

/// `p99` is a name and stays as it is.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter();
    let rest = letters.as_str();
    if rest.starts_with(|c: char| c.is_ascii_digit()) {
        text.to_owned()
    } else {
        first.flat_map(char::to_uppercase).collect::<String>() + rest
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Pair, Side, Values, Wish, judge, judge_sets};
    use super::*;

    /// Ten pairs: the rate of B is a tenth higher, its p50 the same with some noise, its p99 0.3 % lower.
    fn pairs(count: usize) -> Vec<Pair> {
        let pair = |at: usize| {
            let noise = [0.99, 1.012, 1.003, 0.985, 1.001][at % 5];
            let first = if at.is_multiple_of(2) { Side::A } else { Side::B };
            let a = Values {
                requests_per_s: Some(1e4),
                p50_us: Some(800.0),
                p99_us: Some(2e4),
                ..Values::default()
            };
            let b = Values {
                requests_per_s: Some(1.1e4 * noise),
                p50_us: Some(800.0 * noise),
                p99_us: Some(1.994e4 - at as f64),
                ..Values::default()
            };
            Pair { first, a, b }
        };
        (0..count).map(pair).collect()
    }

    #[test]
    fn the_whole_text() {
        let mut comparison = judge(&pairs(10), &Wish::default());
        comparison.a.label = "without".to_owned();
        comparison.caveats.push(super::super::Caveat::new("overlap", "some runs overlap".to_owned()));
        let want = "
  A  without, 10 runs
  B  10 runs
  10 pairs, made in turn

                    A        B  B / A   95 % interval  could have seen  verdict
  ──────────  ───────  ───────  ─────  ──────────────  ───────────────  ──────────────────
  requests/s   10,000   10,980  1.098  1.090 to 1.106            1.4 %  faster
  p50          800 µs   799 µs  0.998  0.991 to 1.005            1.4 %  no difference seen
  p99         20.0 ms  19.9 ms  0.997  0.997 to 0.997            0.1 %  negligible

  What is said
    - B is better in requests/s, and worse in none.
    - requests/s: 9.8 % more (1.090 to 1.106 times A's).
    - p50: 0.2 % less, and chance makes such a difference too; one of 1.4 % would have been seen.
    - p99: 0.3 % less, which is no chance, but less than 1 % matters to nobody.

  What cannot be said
    - That A and B are equal in p50: smaller differences than the table names may be there.
    - Some runs overlap.
";
        assert_eq!(text(&comparison), want);
    }

    #[test]
    fn what_would_help() {
        let told = |comparison: &Comparison| help(comparison).join("\n");
        let finer = Wish { show: 0.005, ..Wish::default() };
        assert_eq!(told(&judge(&pairs(10), &Wish::default())), "");
        let more = told(&judge(&pairs(10), &finer));
        assert!(
            more.starts_with("About ")
                && more.ends_with(" more pairs would show a difference of 0.5 % in p50."),
            "{more}"
        );
        let (a, b): (Vec<Values>, Vec<Values>) = pairs(10).iter().map(|pair| (pair.a, pair.b)).unzip();
        let apart = told(&judge_sets(&a, &b, &finer));
        assert!(
            apart.contains(" more runs on each side would show") && apart.contains("Make the runs in turn"),
            "{apart}"
        );
        assert!(told(&judge(&pairs(1), &finer)).starts_with("Make the runs in turn"));
        assert_eq!(
            [0, 7, 99, 101, 1234, 9900, 9901].map(about),
            ["0", "7", "99", "110", "1,300", "9,900", "10,000"]
        );
    }

    #[test]
    fn no_line_is_longer_than_a_page() {
        let mut comparison = judge(&pairs(10), &Wish::default());
        comparison.caveats.push(super::super::Caveat::new("suspect", "word and word ".repeat(40)));
        let text = text(&comparison);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains(&format!("Word and word{}", " word and word".repeat(39))), "{text}");
        assert_eq!([capital("p99 of"), capital("some"), capital("")], ["p99 of", "Some", ""]);
    }
}
