//! Printing: JSON as it is, lists as tables.

use super::Failed;
use serde_json::Value;
use std::io::Write;
use std::process::ExitCode;

/// Prints text. A reader that has seen enough (`| head`) is no failure.
pub fn out(text: &str) -> Result<ExitCode, Failed> {
    let mut stdout = std::io::stdout().lock();
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    match write!(stdout, "{text}{newline}").and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Failed::from(format!("write: {e}"))),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Prints JSON.
pub fn json(value: &Value) -> Result<ExitCode, Failed> {
    out(&serde_json::to_string_pretty(value).unwrap_or_default())
}

/// A table: columns as wide as they must be, numbers to the right.
pub fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let columns = heads.len();
    let width = |at: usize| {
        rows.iter()
            .filter_map(|r| r.get(at))
            .map(|c| c.chars().count())
            .chain([heads.get(at).map_or(0, |h| h.len())])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let is_number = |at: usize| {
        !rows.is_empty()
            && rows
                .iter()
                .filter_map(|r| r.get(at))
                .all(|c| c.is_empty() || c.starts_with(|x: char| x.is_ascii_digit() || x == '-'))
    };
    let numbers: Vec<bool> = (0..columns).map(is_number).collect();
    let mut out = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut text = String::new();
        for (at, cell) in cells.enumerate() {
            let (width, right) =
                (widths.get(at).copied().unwrap_or(0), numbers.get(at).copied().unwrap_or(false));
            let gap = if at == 0 { "" } else { "  " };
            let padded = if right { format!("{gap}{cell:>width$}") } else { format!("{gap}{cell:<width$}") };
            text.push_str(&padded);
        }
        out.push_str(text.trim_end());
        out.push('\n');
    };
    line(&mut heads.iter().copied());
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    out
}

/// Text from a server, safe for a terminal.
pub fn safe(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Bytes for people.
pub fn bytes(n: u64) -> String {
    match n {
        0..1_024 => format!("{n} B"),
        1_024..1_048_576 => format!("{:.1} KiB", n as f64 / 1_024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", n as f64 / 1_048_576.0),
        _ => format!("{:.2} GiB", n as f64 / 1_073_741_824.0),
    }
}

#[cfg(test)]
mod tests {
    use super::{safe, table};

    #[test]
    fn columns_are_as_wide_as_they_must_be() {
        let rows = vec![vec!["a".into(), "5".into()], vec!["longer".into(), "123".into()]];
        assert_eq!(table(&["NAME", "N"], &rows), "NAME      N\na         5\nlonger  123\n");
    }

    #[test]
    fn a_terminal_is_not_told_what_to_do() {
        assert!(!safe("http://a/\u{1b}[2J").contains('\u{1b}'));
    }
}
