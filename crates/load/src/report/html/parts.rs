//! The parts a page is made of: a figure with its legend and its numbers, and a table.
//!
//! Not here: what stands in them.

use std::fmt::Write;

use crate::report::plot::{self, Chart, escape};

/// What is drawn of times: a statistic looks the same in every plot. Its number is its colour where a run is alone, and its
/// dashes; of several runs colours are runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statistic {
    P50 = 0,
    Average = 1,
    P95 = 2,
    P99 = 3,
}

impl Statistic {
    /// As legends have it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Statistic::P50 => "p50",
            Statistic::Average => "average",
            Statistic::P95 => "p95",
            Statistic::P99 => "p99",
        }
    }

    /// Its colour and its dashes, of run number `several` of several if there are.
    pub(super) fn look(self, several: Option<usize>) -> (usize, usize) {
        (several.unwrap_or(self as usize), self as usize)
    }
}

/// A plot under a heading, with its legend, what it shows, and its numbers to be unfolded; none if there is nothing
/// to plot.
pub(super) fn figure(out: &mut String, chart: &Chart<'_>) {
    if chart.lines.iter().all(|line| line.points.is_empty()) {
        return;
    }
    let Chart { title, about, .. } = *chart;
    let _ = write!(out, "<h2>{title}</h2><figure>{}", chart.svg());
    let _ = write!(
        out,
        "<figcaption>{}<p class=\"soft\">{about}{}</p></figcaption></figure>",
        plot::legend(chart.lines),
        match chart.shade {
            [] => "",
            [_] => " The measured window is shaded.",
            _ => " What is measured of each step is shaded.",
        }
    );
    numbers(out, title, &[chart]);
}

/// The numbers of plots, to be unfolded.
pub(super) fn numbers(out: &mut String, title: &str, charts: &[&Chart<'_>]) {
    let _ = write!(out, "<details><summary>{title} as a table</summary>");
    let mut rows = Vec::new();
    for chart in charts {
        for line in chart.lines {
            for (x, y) in &line.points {
                rows.push(vec![line.name.clone(), (chart.x.format)(*x), (chart.y.format)(*y)]);
            }
        }
    }
    grid(out, title, &["line", "at", "value"], &rows);
    out.push_str("</details>");
}

/// A table; rows that begin with a space stand under the one before.
pub(super) fn grid(out: &mut String, caption: &str, columns: &[&str], rows: &[Vec<String>]) {
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
