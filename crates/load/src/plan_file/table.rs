//! Entries of a TOML table as what they are meant to be: texts, whole numbers, times, lists. What is none is noted.
//!
//! Not here: which entries there are (`read`, `step`).

use super::{template, time};
use crate::wcat::nearest::mend;
use crate::wcat::{Note, Value};
use std::ops::{Range, RangeInclusive};
use toml::de::{DeTable, DeValue};

/// One `name = value`, or one element of a list under the name of the list.
#[derive(Clone, Debug)]
pub(super) struct Entry<'t> {
    pub name: &'t str,
    /// Where the name stands.
    pub at: Range<usize>,
    pub value: &'t DeValue<'t>,
    /// Where the value stands.
    pub span: Range<usize>,
}

/// The entries of a table, in the order of the text.
pub(super) fn entries<'t>(table: &'t DeTable<'t>) -> Vec<Entry<'t>> {
    let each = table.iter().map(|(name, value)| Entry {
        name: name.get_ref(),
        at: name.span(),
        value: value.get_ref(),
        span: value.span(),
    });
    let mut entries: Vec<Entry<'t>> = each.collect();
    entries.sort_by_key(|entry| entry.at.start);
    entries
}

/// Words that others use for the same thing.
const SYNONYMS: [(&str, &str); 38] = [
    ("servers", "server"),
    ("host", "server"),
    ("virtualclients", "clients"),
    ("users", "clients"),
    ("connections", "clients"),
    ("throttlerps", "most_per_second"),
    ("rate", "most_per_second"),
    ("rps", "most_per_second"),
    ("thinktime", "think"),
    ("think_time", "think"),
    ("warmuptime", "warmup"),
    ("cooldowntime", "cooldown"),
    ("counter", "counters"),
    ("interval", "every"),
    ("path", "paths"),
    ("transaction", "round"),
    ("scenario", "round"),
    ("settings", "run"),
    ("default", "request"),
    ("defaults", "request"),
    ("id", "name"),
    ("verb", "method"),
    ("status", "expect"),
    ("statuscode", "expect"),
    ("secure", "tls"),
    ("ssl", "tls"),
    ("https", "tls"),
    ("redirect", "redirects"),
    ("follow", "redirects"),
    ("postdata", "body"),
    ("setheader", "header"),
    ("addheader", "header"),
    ("close", "connection"),
    ("keep", "connection"),
    ("keepalive", "connection"),
    ("sleep", "pause"),
    ("delay", "pause"),
    ("branch", "goto"),
];

/// Takes entries as what they are meant to be.
pub(super) struct Reader<'t, 'n> {
    pub text: &'t str,
    pub notes: &'n mut Vec<Note>,
}

impl<'t> Reader<'t, '_> {
    pub fn error(&mut self, span: &Range<usize>, message: impl Into<String>, mend: impl Into<String>) {
        self.notes.push(Note::error(span.clone(), message, mend));
    }

    /// An entry that `of`, which has these, has not.
    pub fn unknown(&mut self, entry: &Entry<'_>, of: &str, known: &[&str]) {
        let wanted = entry.name.to_ascii_lowercase();
        let synonym = SYNONYMS.iter().find(|(other, name)| *other == wanted && known.contains(name));
        let mend = match synonym {
            Some((_, name)) => format!("here it is called `{name}`"),
            None => mend(entry.name, known),
        };
        self.error(&entry.at, format!("{of} has no `{}`", cut(entry.name)), mend);
    }

    /// A value of the wrong kind.
    pub fn wrong(&mut self, entry: &Entry<'_>, want: &str, mend: impl Into<String>) {
        let found = match entry.value.type_str() {
            "integer" => "a whole number",
            "float" => "a number with a fraction",
            "boolean" => "true or false",
            "datetime" => "a date",
            "array" => "a list",
            "table" => "a table",
            _ => "a text",
        };
        self.error(&entry.span, format!("`{}` is {want}, not {found}", entry.name), mend);
    }

    pub fn text(&mut self, entry: &Entry<'t>) -> Option<&'t str> {
        if let DeValue::String(text) = entry.value {
            return Some(text);
        }
        let mend = match entry.value {
            DeValue::Array(_) | DeValue::Table(_) => format!("`{} = \"…\"`", entry.name),
            _ => "put it in quotes".to_owned(),
        };
        self.wrong(entry, "a text", mend);
        None
    }

    /// A text with placeholders.
    pub fn value(&mut self, entry: &Entry<'t>) -> Option<Value> {
        let text = self.text(entry)?;
        self.template(text, &entry.span)
    }

    /// What a text that stands at `span` says with its placeholders.
    pub fn template(&mut self, text: &str, span: &Range<usize>) -> Option<Value> {
        match template::read(text) {
            Ok(value) => Some(value),
            Err(wrong) => {
                let inside = span.start + 1..span.end.saturating_sub(1);
                // Where the text stands as it is, without escapes, the place in it is known.
                let span = match self.text.get(inside.clone()) {
                    Some(raw) if raw == text => inside.start + wrong.at.start..inside.start + wrong.at.end,
                    _ => span.clone(),
                };
                self.error(&span, wrong.message, wrong.mend);
                None
            }
        }
    }

    /// A text, or a list of them.
    pub fn texts(&mut self, entry: &Entry<'t>) -> Vec<String> {
        self.each(entry).iter().filter_map(|each| self.text(each)).map(str::to_owned).collect()
    }

    /// The elements of a list, or the value that stands alone.
    pub fn each(&mut self, entry: &Entry<'t>) -> Vec<Entry<'t>> {
        let DeValue::Array(list) = entry.value else { return vec![entry.clone()] };
        let each = list.iter().map(|element| Entry {
            value: element.get_ref(),
            span: element.span(),
            ..entry.clone()
        });
        each.collect()
    }

    pub fn table(&mut self, entry: &Entry<'t>, mend: &str) -> Option<Vec<Entry<'t>>> {
        match entry.value {
            DeValue::Table(table) => Some(entries(table)),
            _ => {
                self.wrong(entry, "a table", mend);
                None
            }
        }
    }

    pub fn number(&mut self, entry: &Entry<'_>, range: RangeInclusive<u64>) -> Option<u64> {
        let DeValue::Integer(digits) = entry.value else {
            let mend = match entry.value {
                DeValue::String(text) if text.parse::<u64>().is_ok() => "take the quotes off",
                _ => "write it in digits",
            };
            self.wrong(entry, "a whole number", mend);
            return None;
        };
        let number = u64::from_str_radix(digits.as_str(), digits.radix()).ok();
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let mend = match (*range.start(), *range.end()) {
                (0, u64::MAX) => "a number from 0".to_owned(),
                (low, u64::MAX) => format!("a number from {low}"),
                (low, high) => format!("a number from {low} to {high}"),
            };
            self.error(&entry.span, format!("`{}` cannot be {digits}", entry.name), mend);
        }
        number
    }

    pub fn truth(&mut self, entry: &Entry<'_>) -> Option<bool> {
        if let DeValue::Boolean(is) = entry.value {
            return Some(*is);
        }
        self.wrong(entry, "true or false", "write true or false, without quotes");
        None
    }

    /// A time, ms.
    pub fn time(&mut self, entry: &Entry<'t>) -> Option<u64> {
        self.time_by(entry, time::read, "")
    }

    /// A time, in whole seconds.
    pub fn seconds(&mut self, entry: &Entry<'t>) -> Option<u64> {
        self.time_by(entry, time::read_seconds, "whole seconds, ")
    }

    fn time_by(&mut self, entry: &Entry<'t>, read: fn(&str) -> Option<u64>, which: &str) -> Option<u64> {
        if let DeValue::Integer(number) = entry.value {
            let mend = format!("say of what: \"{number}s\" or \"{number}ms\"");
            self.wrong(entry, "a time", mend);
            return None;
        }
        let text = self.text(entry)?;
        let time = read(text);
        if time.is_none() {
            let mend = format!("{which}like \"500ms\", \"30s\", \"1.5m\" or \"2h\"");
            self.error(&entry.span, format!("`{}` is no time", cut(text)), mend);
        }
        time
    }

    /// One of these words.
    pub fn word<T: Copy>(&mut self, entry: &Entry<'t>, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(entry)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meant)| *meant);
        if found.is_none() {
            let known: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            let message = format!("`{}` cannot be `{}`", entry.name, cut(text));
            self.error(&entry.span, message, known.join(" or "));
        }
        found
    }
}

/// As much of a text as belongs into a message.
pub(super) fn cut(text: &str) -> String {
    let mut cut: String =
        text.chars().take(60).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(60).is_some() {
        cut.push('…');
    }
    cut
}
