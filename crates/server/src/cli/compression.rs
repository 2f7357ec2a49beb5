//! `samovar compression`: what was saved, and what it cost.

use super::Server;
use super::client::ask;
use super::commands::{Outcome, number, word};
use super::show::{self, bytes, safe, table};
use http::Method;
use serde_json::Value;

/// `samovar compression`.
pub fn told(server: &Server) -> Outcome {
    let value = ask(server, Method::GET, "/v1/compression", None)?;
    if server.json {
        return show::json(&value);
    }
    let list = |name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let answers: Vec<_> = list("answers")
        .iter()
        .map(|row| {
            let mut cells = vec![safe(&word(row, "type")), word(row, "coding"), word(row, "form")];
            cells.push(number(row, "answers").to_string());
            cells.extend(sizes(row));
            cells
        })
        .collect();
    let forms: Vec<_> = list("forms")
        .iter()
        .map(|row| {
            let mut cells = vec![safe(&word(row, "type")), word(row, "coding")];
            cells.push(number(row, "made").to_string());
            cells.push(number(row, "worthless").to_string());
            cells.extend(sizes(row));
            cells
        })
        .collect();
    let mut text = match answers.is_empty() {
        true => "no answer was sent compressed so far\n".to_owned(),
        false => table(&["TYPE", "CODING", "FORM", "ANSWERS", "BEFORE", "AFTER", "RATIO", "CPU"], &answers),
    };
    if !forms.is_empty() {
        text.push_str("\nmade of stored answers, once each, in the background:\n");
        text += &table(&["TYPE", "CODING", "MADE", "NOT KEPT", "BEFORE", "AFTER", "RATIO", "CPU"], &forms);
    }
    let waiting = number(&value, "waiting");
    if waiting > 0 {
        text.push_str(&format!("\n{waiting} stored answers wait to be compressed\n"));
    }
    show::out(&text)
}

/// Before, after, how many times smaller, and processor time.
fn sizes(row: &Value) -> [String; 4] {
    let (before, after) = (number(row, "before_bytes"), number(row, "after_bytes"));
    let ratio = if after == 0 { "-".to_owned() } else { format!("{:.1}", before as f64 / after as f64) };
    [bytes(before), bytes(after), ratio, format!("{:.1} ms", number(row, "cpu_us") as f64 / 1_000.0)]
}
