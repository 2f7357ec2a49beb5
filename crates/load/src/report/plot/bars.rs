//! Horizontal bars from zero, each with its value.
//!
//! Not here: lines over axes ([`super`]).

use std::fmt::Write;

use super::{WIDTH, escape, open};
use crate::report::style::COLOURS;

/// Draws them.
pub(in crate::report) fn bars(
    id: &str,
    title: &str,
    description: &str,
    bars: &[(String, f64, String)],
) -> String {
    const ROW: f64 = 34.0;
    const NAME: f64 = 230.0;
    const VALUE: f64 = 190.0;
    let height = ROW * bars.len() as f64 + 16.0;
    let high = bars.iter().map(|bar| bar.1).fold(0.0, f64::max);
    let mut out = String::new();
    open(&mut out, id, title, description, height);
    for (index, (name, value, label)) in bars.iter().enumerate() {
        let top = 8.0 + ROW * index as f64;
        let width = if high > 0.0 { value / high * (WIDTH - NAME - VALUE) } else { 0.0 };
        let short: String = if name.chars().count() > 34 {
            name.chars().take(33).chain(['…']).collect()
        } else {
            name.clone()
        };
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <rect class=\"f{}\" x=\"{NAME}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            NAME - 10.0,
            top + ROW / 2.0 + 4.0,
            escape(&short),
            index % COLOURS,
            top + 5.0,
            width.max(1.0),
            ROW - 10.0,
            NAME + width.max(1.0) + 8.0,
            top + ROW / 2.0 + 4.0,
            escape(label)
        );
    }
    out.push_str("</svg>");
    out
}
