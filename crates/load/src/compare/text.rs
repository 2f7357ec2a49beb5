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
        Some(pairs) => format!("{}, made in turn", units::many(pairs as u64, "pair")),
        None => "not interleaved: a drift of the machine would look the same".to_owned(),
    };
    line!(out, "  {how}\n");
    table(comparison, &mut out);
    section("What is said", &said(comparison), &mut out);
    section("What cannot be said", &not_said(comparison), &mut out);
    section("What would help", &help(comparison), &mut out);
    out
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
        let others: Vec<String> = others
            .iter()
            .map(|(more, metric)| format!("{} in {metric}", units::whole(*more as u64)))
            .collect();
        let others = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
        lines.push(format!(
            "About {} more {what}{}{each} would show a difference of {show} in {metric}{others}.",
            units::whole(*more as u64),
            if *more == 1 { "" } else { "s" }
        ));
    }
    if comparison.pairs.is_none() || comparison.overall.is == Overall::TooFew {
        lines.push(
            "Make the runs in turn, A B, B A, A B …, and give them all: thirst compare A1.json A2.json … --with B1.json \
             B2.json …"
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
