//! A record as people read it: a heading, then one fact a line.
//!
//! Rendered from the JSON, so that the command line prints the same text for a record that came over the admin API.
//! Whatever came from outside is escaped: a terminal must not be told what to do by a URL.

use crate::clock::micros;
use crate::json::json;
use crate::types::Record;
use serde_json::Value;
use std::fmt::Write as _;

/// What `samovar explain` and `samovar trace ID` print.
pub fn text(record: &Record) -> String {
    text_of_json(&json(record))
}

/// The same from JSON; what is missing or of another type is left out.
pub fn text_of_json(value: &Value) -> String {
    let mut out = String::new();
    heading(value, &mut out);
    let facts: Vec<Row> = list(value, "facts").iter().map(Row::of).collect();
    let width =
        |column: fn(&Row) -> &str| facts.iter().map(|row| column(row).chars().count()).max().unwrap_or(0);
    let widths = (width(|row| &row.fact), width(|row| &row.code));
    for row in &facts {
        row.write(widths, &mut out);
    }
    out
}

/// Two lines: what was asked and came of it; when, by whom and how fast.
fn heading(value: &Value, out: &mut String) {
    let word = |name: &str| shown(value, name);
    let status = match number(value, "status") {
        0 => "client left".to_owned(),
        status => status.to_string(),
    };
    push(
        out,
        format_args!("{} {} → {status}, {} ({})", word("method"), word("url"), word("cache"), word("reason")),
    );
    push(out, format_args!(", {} from {}\n", bytes(number(value, "body_bytes")), word("tier")));
    push(out, format_args!("id {} at {} from {}", word("id"), word("at"), word("client")));
    let (first, total) = (number(value, "first_byte_us"), number(value, "total_us"));
    push(out, format_args!(", first byte after {}, done after {}\n", micros(first), micros(total)));
}

/// One fact, ready to be laid out.
struct Row {
    fact: String,
    code: String,
    says: String,
    mend: String,
}

impl Row {
    fn of(fact: &Value) -> Row {
        let (kind, code, detail) = (shown(fact, "fact"), shown(fact, "code"), shown(fact, "detail"));
        let mut says = shown(fact, "text");
        if !detail.is_empty() {
            push(&mut says, format_args!(" ({detail})"));
        }
        // Where there is no reason the kind stands for the code; once is enough.
        let code = if code == kind { String::new() } else { code };
        Row { fact: kind, code, says, mend: shown(fact, "mend") }
    }

    fn write(&self, (fact_width, code_width): (usize, usize), out: &mut String) {
        let Row { fact, code, says, mend } = self;
        let dash = if code.is_empty() { " " } else { "—" };
        push(out, format_args!("  {fact:fact_width$}  {code:code_width$} {dash} {says}\n"));
        if !mend.is_empty() {
            push(out, format_args!("  {:fact_width$}  {:code_width$} → {mend}\n", "", ""));
        }
    }
}

/// A text member, safe to print; empty if it is none.
fn shown(value: &Value, name: &str) -> String {
    escape(value.get(name).and_then(Value::as_str).unwrap_or_default())
}

fn number(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or(0)
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Control characters, and those that turn the direction of text, as `\u{…}`.
fn escape(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hidden(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// `1 byte`, `1,234 bytes`.
fn bytes(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if count == 1 { "1 byte".into() } else { format!("{grouped} bytes") }
}

fn push(out: &mut String, args: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(args);
}
