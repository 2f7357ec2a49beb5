//! A file as its author sees it: where something stands, and what is said about it.
//!
//! Files of that time come in the encodings of that time; they are read as what they are. Not here: what the text means.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A file's name and text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// As it was named at the command line.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// How grave it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Nothing is sent.
    Error,
    /// The original would have stopped, or done something else; here it is clear what is meant.
    Warning,
}

/// Something to say about a place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// How grave it is.
    pub severity: Severity,
    /// The place, bytes of the text.
    pub span: Range<usize>,
    /// What it is.
    pub message: String,
    /// What to do.
    pub mend: String,
}

impl Note {
    /// Nothing is sent because of it.
    pub fn error(span: Range<usize>, message: impl Into<String>, mend: impl Into<String>) -> Note {
        Note { severity: Severity::Error, span, message: message.into(), mend: mend.into() }
    }

    /// It is clear what is meant.
    pub fn warning(span: Range<usize>, message: impl Into<String>, mend: impl Into<String>) -> Note {
        Note { severity: Severity::Warning, span, message: message.into(), mend: mend.into() }
    }
}

impl Source {
    /// A file's bytes: UTF-8 or UTF-16 with its mark, UTF-8 without, else the code page of western Windows (1252), whose
    /// quotes and dashes are typographic ones too.
    pub fn decode(name: &str, bytes: &[u8]) -> Source {
        let text = match bytes {
            [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
            [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
            [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
            _ => match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(_) => bytes.iter().map(|byte| windows_1252(*byte)).collect(),
            },
        };
        Source { name: name.to_owned(), text }
    }

    /// Line and column of a place, from 1; columns in characters.
    pub fn place(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }

    /// A note with its place, the line underlined, and the mend.
    pub fn render(&self, note: &Note) -> String {
        let (line, column) = self.place(note.span.start);
        let severity = match note.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let text = self.text.lines().nth(line - 1).unwrap_or_default();
        // Tabs stay tabs in what goes before the mark, so that it stands where it should.
        let indent: String =
            text.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let marked = self.text.get(note.span.clone()).unwrap_or_default().lines().next().unwrap_or_default();
        let mark = "^".repeat(marked.chars().count().max(1));
        let number = line.to_string();
        let gap = " ".repeat(number.len());
        let mut out = format!(
            "{}:{line}:{column}: {severity}: {}\n {number} | {text}\n {gap} | {indent}{mark}\n",
            self.name, note.message
        );
        if !note.mend.is_empty() {
            out.push_str(&format!(" {gap} = mend: {}\n", note.mend));
        }
        out
    }
}

fn utf16(bytes: &[u8], read: fn([u8; 2]) -> u16) -> String {
    let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| read(*pair)).collect();
    String::from_utf16_lossy(&units)
}

/// Where it differs from Latin-1.
fn windows_1252(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
        '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    let high = byte.checked_sub(0x80).and_then(|at| HIGH.get(usize::from(at)));
    high.copied().unwrap_or(char::from(byte))
}
