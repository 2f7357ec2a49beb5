//! A table in plain text: the first column to the left, the others to the right, each as wide as it has to be.
//!
//! Not here: what stands in it.

use std::fmt::Write;

/// Draws a header and its rows, each with two spaces before it.
pub(super) fn draw(out: &mut String, header: &[String], rows: &[Vec<String>], ruled: bool) {
    let mut widths = vec![0; header.len()];
    for row in std::iter::once(header).chain(rows.iter().map(Vec::as_slice)) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
    line(out, header, &widths);
    if ruled {
        line(out, &rule, &widths);
    }
    rows.iter().for_each(|row| line(out, row, &widths));
}

fn line(out: &mut String, row: &[String], widths: &[usize]) {
    let mut line = String::from("  ");
    for (index, (cell, width)) in row.iter().zip(widths).enumerate() {
        let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
        // Writing to a string cannot fail.
        let _ = if index == 0 { write!(line, "{cell}{pad}") } else { write!(line, "  {pad}{cell}") };
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let mut out = String::new();
        draw(&mut out, &words(&["a", "µs"]), &[words(&["long name", "5"]), words(&["b", "1,234"])], true);
        assert_eq!(out, "  a             µs\n  ─────────  ─────\n  long name      5\n  b          1,234\n");
    }
}
