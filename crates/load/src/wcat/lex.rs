//! The words of a WCAT 6.3 file: names, strings, numbers, marks.
//!
//! What pasting does to such files is understood and said: typographic quotes and dashes, spaces that are none. Not here:
//! which words go together (`tree`).

use super::source::Note;
use std::ops::Range;

/// One word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// `url`, `GET`, `HTTP11`, `true`.
    Name(String),
    /// `"…"`, without its quotes and escapes.
    Text(String),
    /// Digits.
    Number(u64),
    /// `<body.dat>`: what is in a file.
    File(String),
    /// One of `= ; { } ( ) , +`.
    Mark(char),
}

/// A word and where it stands.
pub(super) type Word = (Token, Range<usize>);

/// All words of a text. What is none is noted and passed over.
pub(super) fn words(text: &str, notes: &mut Vec<Note>) -> Vec<Word> {
    let mut lexer = Lexer { text, at: 0, notes };
    let mut words = Vec::new();
    while let Some(word) = lexer.next() {
        words.push(word);
    }
    words
}

struct Lexer<'t, 'n> {
    text: &'t str,
    at: usize,
    notes: &'n mut Vec<Note>,
}

/// Quotes that word processors put in the place of `"`.
const CURLY: &str = "“”„‟″〝〞＂";
/// What they put in the place of `-`.
const DASHES: &str = "‐‑‒–—―−";

impl Lexer<'_, '_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes characters as long as `more` holds; where they begin.
    fn take(&mut self, more: impl Fn(char) -> bool) -> Range<usize> {
        let from = self.at;
        let len = self.rest().find(|c| !more(c)).unwrap_or(self.rest().len());
        self.at += len;
        from..self.at
    }

    fn one(&mut self) -> Range<usize> {
        let from = self.at;
        self.at += self.peek().map_or(0, char::len_utf8);
        from..self.at
    }

    fn next(&mut self) -> Option<Word> {
        loop {
            self.take(|c| c.is_whitespace() || c == '\u{feff}' || c == '\u{200b}');
            if self.rest().starts_with("//") {
                self.take(|c| c != '\n');
                continue;
            }
            let c = self.peek()?;
            return Some(match c {
                '=' | ';' | '{' | '}' | '(' | ')' | ',' | '+' => (Token::Mark(c), self.one()),
                '"' => self.string(),
                c if CURLY.contains(c) => {
                    let span = self.at..self.at + c.len_utf8();
                    self.notes.push(Note::warning(span, "a typographic quote begins the string", "write \""));
                    self.string()
                }
                '<' => match self.file() {
                    Some(word) => word,
                    None => continue,
                },
                '0'..='9' => self.number(),
                c if c.is_alphabetic() || c == '_' => {
                    let span = self.take(|c| c.is_alphanumeric() || "_.-".contains(c));
                    (Token::Name(self.text.get(span.clone()).unwrap_or_default().to_owned()), span)
                }
                other => {
                    let span = self.one();
                    let mend = match other {
                        '#' => "comments begin with // in a .ubr file",
                        '\'' | '‘' | '’' => "strings stand in \"…\"",
                        c if DASHES.contains(c) => "a dash means nothing here; was it pasted?",
                        ':' => "an attribute is written `name = value;`",
                        _ => "take it out",
                    };
                    self.notes.push(Note::error(span, format!("`{other}` means nothing here"), mend));
                    continue;
                }
            });
        }
    }

    fn number(&mut self) -> Word {
        let span = self.take(|c| c.is_ascii_digit());
        let digits = self.text.get(span.clone()).unwrap_or_default();
        let value = digits.parse().unwrap_or_else(|_| {
            self.notes.push(Note::error(span.clone(), "the number is too large", ""));
            u64::MAX
        });
        (Token::Number(value), span)
    }

    /// A quote is the string's end; a typographic one only where the line has no other after it.
    fn string(&mut self) -> Word {
        let from = self.one().start;
        let mut value = String::new();
        loop {
            match self.peek() {
                Some('"') => {
                    self.one();
                    break;
                }
                Some(c) if CURLY.contains(c) && self.is_the_end_after(c) => {
                    let span = self.one();
                    self.notes.push(Note::warning(span, "a typographic quote ends the string", "write \""));
                    break;
                }
                Some('\\') => {
                    self.one();
                    match self.peek() {
                        Some(c @ ('"' | '\\')) => {
                            self.one();
                            value.push(c);
                        }
                        _ => value.push('\\'),
                    }
                }
                Some('\n') | None => {
                    let span = from..self.at;
                    self.notes.push(Note::error(span, "the string has no end on its line", "end it with \""));
                    break;
                }
                Some(c) => {
                    self.one();
                    value.push(c);
                }
            }
        }
        (Token::Text(value.trim_end_matches('\r').to_owned()), from..self.at)
    }

    /// Whether a typographic quote that stands here ends the string: no straight one comes on this line, and what follows
    /// could follow a string.
    fn is_the_end_after(&self, quote: char) -> bool {
        let line = self.rest().get(quote.len_utf8()..).unwrap_or_default().lines().next().unwrap_or_default();
        let next = line.trim_start().chars().next();
        !line.contains('"') && next.is_none_or(|c| ";+),}/".contains(c))
    }

    /// `<name>`.
    fn file(&mut self) -> Option<Word> {
        let line = self.rest().lines().next().unwrap_or_default();
        let Some(len) = line.find('>') else {
            let span = self.one();
            self.notes.push(Note::error(
                span,
                "`<` begins the name of a file, and no `>` ends it",
                "write <name>",
            ));
            return None;
        };
        let span = self.at..self.at + len + 1;
        self.at = span.end;
        let name = self.text.get(span.start + 1..span.end - 1).unwrap_or_default();
        Some((Token::File(name.trim().to_owned()), span))
    }
}
