//! Messages as a person reads them (file, line, column, the text underlined, a hint), and as JSON.
//!
//! Drawn with miette. What is drawn is a copy of the text in which control and bidirectional characters are
//! replaced byte for byte, so that a hostile file cannot speak to the terminal; very long lines are named, not
//! shown. Not here: what is wrong with a configuration.

use super::diag::{Diagnostic, Severity};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::ops::Range;

/// Messages shown at most; a person mends the first ones first.
const SHOWN_MAX: usize = 20;
/// A line longer than this is not drawn, bytes.
const LINE_MAX_BYTES: usize = 400;
/// Width that messages are wrapped to, columns.
const WIDTH: usize = 100;

/// Messages about one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The file's name as it was given.
    pub file: String,
    /// The text that the spans point into.
    pub text: String,
    /// The messages, by place.
    pub diagnostics: Vec<Diagnostic>,
}

/// A place in a text, counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Report {
    /// A report whose messages are sorted by place, errors before warnings at the same one.
    pub fn new(file: &str, text: &str, mut diagnostics: Vec<Diagnostic>) -> Report {
        diagnostics.sort_by_key(|d| (d.span.start, d.severity, d.span.end));
        diagnostics.dedup();
        Report { file: file.to_owned(), text: text.to_owned(), diagnostics }
    }

    /// How many errors it holds.
    pub fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|d| d.severity == Severity::Error).count()
    }

    /// All messages as text for a terminal; without colour when `colour` is false.
    pub fn render(&self, colour: bool) -> String {
        let mut out = String::new();
        let shown = printable(&self.text);
        for diagnostic in self.diagnostics.iter().take(SHOWN_MAX) {
            self.render_one(diagnostic, &shown, colour, &mut out);
        }
        let more = self.diagnostics.len().saturating_sub(SHOWN_MAX);
        if more > 0 {
            let _ = writeln!(out, "… and {more} more");
        }
        if !self.diagnostics.is_empty() {
            let _ = writeln!(out, "{}", self.summary());
        }
        out
    }

    /// `2 errors and 1 warning in samovar.toml`.
    pub fn summary(&self) -> String {
        let errors = self.errors();
        let warnings = self.diagnostics.len() - errors;
        let counted = match (errors, warnings) {
            (0, 0) => "no errors".to_owned(),
            (e, 0) => count(e, "error"),
            (0, w) => count(w, "warning"),
            (e, w) => format!("{} and {}", count(e, "error"), count(w, "warning")),
        };
        format!("{counted} in {}", printable(&self.file))
    }

    /// The messages for machines: `[{"severity", "code", "message", "file", "line", "column", "hint"}]`.
    pub fn to_json(&self) -> Value {
        let rows = self.diagnostics.iter().map(|d| {
            let at = place(&self.text, d.span.start);
            json!({
                "severity": severity_word(d.severity),
                "code": d.code.as_str(),
                "message": d.message,
                "file": self.file,
                "line": at.line,
                "column": at.column,
                "hint": d.hint,
            })
        });
        Value::Array(rows.collect())
    }

    fn render_one(&self, d: &Diagnostic, shown: &str, colour: bool, out: &mut String) {
        let drawn = Drawn { d, source: self.source_for(d, shown) };
        let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(WIDTH)
            .with_links(false)
            .with_context_lines(1)
            .tab_width(4);
        if handler.render_report(out, &drawn).is_err() {
            let _ = writeln!(out, "{}: {}", severity_word(d.severity), drawn);
        }
        if drawn.source.is_none() {
            let at = place(&self.text, d.span.start);
            let _ = writeln!(out, "  at {}:{}:{}", printable(&self.file), at.line, at.column);
        }
        out.push('\n');
    }

    /// The text to draw from, or `None` if it is empty or a line that would be drawn is too long.
    fn source_for(&self, d: &Diagnostic, shown: &str) -> Option<NamedSource<String>> {
        let spans = std::iter::once(&d.span).chain(d.also.iter().map(|(s, _)| s));
        for span in spans {
            if shown.trim().is_empty() || longest_line_near(shown, span.start) > LINE_MAX_BYTES {
                return None;
            }
        }
        Some(NamedSource::new(printable(&self.file), shown.to_owned()))
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.render(false).trim_end())
    }
}

impl std::error::Error for Report {}

/// The line and column of a byte.
pub fn place(text: &str, at: usize) -> Place {
    let at = floor(text, at);
    let before = text.get(..at).unwrap_or("");
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
    let column = before.get(line_start..).unwrap_or("").chars().count() + 1;
    Place { line, column }
}

fn count(n: usize, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") }
}

fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// The same number of bytes, without characters that would act on a terminal.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let acts = (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if acts { (0..c.len_utf8()).for_each(|_| out.push('?')) } else { out.push(c) }
    }
    out
}

/// The nearest character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The longest of the line of `at` and its neighbours, bytes.
fn longest_line_near(text: &str, at: usize) -> usize {
    let at = floor(text, at);
    let (before, after) = (text.get(..at).unwrap_or(""), text.get(at..).unwrap_or(""));
    let mut back = before.rsplit('\n');
    let mut ahead = after.split('\n');
    let own = back.next().map_or(0, str::len) + ahead.next().map_or(0, str::len);
    own.max(back.next().map_or(0, str::len)).max(ahead.next().map_or(0, str::len))
}

/// A span that can be drawn: on one line, at least one character, inside the text.
fn drawable(text: &str, span: &Range<usize>) -> Range<usize> {
    let mut start = floor(text, span.start);
    // Past the end, or on a line's end, there is nothing to underline: take the character before.
    while start > 0 && matches!(text.get(start..).and_then(|t| t.chars().next()), None | Some('\n' | '\r')) {
        start = floor(text, start - 1);
        if !matches!(text.as_bytes().get(start), Some(b'\n' | b'\r')) {
            break;
        }
    }
    let rest = text.get(start..).unwrap_or("");
    let first = rest.chars().next().map_or(0, char::len_utf8);
    let line_end = start + rest.find(['\n', '\r']).unwrap_or(rest.len());
    let end = floor(text, span.end.min(line_end)).max(start + first);
    start..end
}

/// One message in the form miette asks for.
#[derive(Debug)]
struct Drawn<'a> {
    d: &'a Diagnostic,
    source: Option<NamedSource<String>>,
}

impl std::fmt::Display for Drawn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&printable(&self.d.message))
    }
}

impl std::error::Error for Drawn<'_> {}

impl miette::Diagnostic for Drawn<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        Some(Box::new(format!("{}: {}", severity_word(self.d.severity), self.d.code)))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.d.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.d.hint.as_ref().map(|h| Box::new(printable(h)) as Box<dyn std::fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.source.as_ref().map(|s| s as &dyn miette::SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let text = self.source.as_ref()?.inner();
        let first = LabeledSpan::new_primary_with_span(
            Some(printable(&self.d.label)),
            miette::SourceSpan::from(drawable(text, &self.d.span)),
        );
        let others = self.d.also.iter().map(|(span, label)| {
            LabeledSpan::new_with_span(Some(printable(label)), miette::SourceSpan::from(drawable(text, span)))
        });
        Some(Box::new(std::iter::once(first).chain(others)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::diag::Code;
    use proptest::prelude::*;

    #[test]
    fn a_message_names_file_line_and_column_and_underlines() {
        let text = "config = 1\n[hot]\ntreshold = 2\n";
        let d = Diagnostic::error(Code::UnknownKey, 17..25, "unknown key").hint("did you mean `threshold`?");
        let shown = Report::new("s.toml", text, vec![d]).render(false);
        assert!(shown.contains("s.toml:3:1"), "{shown}");
        assert!(shown.contains("treshold = 2"), "{shown}");
        assert!(shown.contains("did you mean `threshold`?"), "{shown}");
        assert!(shown.contains("1 error in s.toml"), "{shown}");
        assert!(!shown.contains('\u{1b}'), "no colour was asked for: {shown}");
    }

    #[test]
    fn colour_only_on_demand() {
        let d = Diagnostic::error(Code::Syntax, 0..1, "x");
        assert!(Report::new("s", "abc", vec![d]).render(true).contains('\u{1b}'));
    }

    #[test]
    fn a_long_line_is_named_not_shown() {
        let text = "x".repeat(5000);
        let d = Diagnostic::error(Code::Syntax, 4000..4001, "bad");
        let shown = Report::new("s.toml", &text, vec![d]).render(false);
        assert!(shown.contains("s.toml:1:4001"), "{shown}");
        assert!(shown.len() < 1000);
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        let text = "a = \"\u{1b}[2J\u{202e}\"\n";
        let d = Diagnostic::error(Code::Syntax, 5..6, "bad \u{1b}[2J");
        let shown = Report::new("s\u{7}.toml", text, vec![d]).render(false);
        assert!(
            !shown.contains('\u{1b}') && !shown.contains('\u{202e}') && !shown.contains('\u{7}'),
            "{shown}"
        );
    }

    proptest! {
        /// Any text and any spans, even ones outside it or inside a character, can be drawn.
        #[test]
        fn drawing_never_panics(text in "(\\PC|[\\r\\n\\t\\x00é漢]){0,60}", a in 0usize..90, b in 0usize..90, c in 0usize..90) {
            let d = Diagnostic::error(Code::Syntax, a..b.max(a), "m").also(c..c + 3, "there");
            let report = Report::new("f", &text, vec![d]);
            prop_assert!(report.render(false).contains('m'));
            prop_assert!(report.to_json().is_array());
        }
    }
}
