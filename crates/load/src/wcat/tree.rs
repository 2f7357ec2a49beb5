//! The grammar of WCAT 6.3 files: blocks, and in them attributes and blocks. What the names mean is not known here.
//!
//! A missing semicolon or bracket is understood where only one thing can be meant.

use super::lex::{Token, Word, words};
use super::source::Note;
use std::ops::Range;

/// `name { … }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub name: String,
    /// Of the name.
    pub span: Range<usize>,
    pub items: Vec<Item>,
}

/// What a block holds, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Attribute(Attribute),
    Block(Block),
}

/// `name = value;`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attribute {
    pub name: String,
    /// Of the name.
    pub span: Range<usize>,
    pub value: Value,
    /// Of the value.
    pub value_span: Range<usize>,
}

/// Parts put together with `+`.
pub(super) type Value = Vec<Part>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Number(u64),
    /// `GET`, `true`.
    Name(String),
    /// `rand("1", "10")`.
    Call(String, Vec<Value>, Range<usize>),
    /// `<body.dat>`.
    File(String, Range<usize>),
}

/// How deep blocks may lie in each other: more than any file needs, and less than the stack bears.
const DEPTH_MAX: usize = 32;

/// The blocks of a file.
pub(super) fn blocks(text: &str, notes: &mut Vec<Note>) -> Vec<Block> {
    let words = words(text, notes);
    let mut parser = Parser { words: &words, at: 0, end: text.len(), notes };
    let mut blocks = Vec::new();
    while parser.at < words.len() {
        match parser.item(0) {
            Some(Item::Block(block)) => blocks.push(block),
            Some(Item::Attribute(attribute)) => parser.notes.push(Note::error(
                attribute.span,
                format!("`{}` stands outside of every block", attribute.name),
                "put it into `scenario { … }` or `settings { … }`",
            )),
            None => parser.at += 1,
        }
    }
    blocks
}

struct Parser<'w, 'n> {
    words: &'w [Word],
    at: usize,
    end: usize,
    notes: &'n mut Vec<Note>,
}

impl Parser<'_, '_> {
    fn token(&self) -> Option<&Token> {
        self.words.get(self.at).map(|(token, _)| token)
    }

    /// Where the next word stands, or the end of the file.
    fn span(&self) -> Range<usize> {
        self.words.get(self.at).map_or(self.end..self.end, |(_, span)| span.clone())
    }

    fn before(&self) -> usize {
        self.at.checked_sub(1).and_then(|at| self.words.get(at)).map_or(0, |(_, span)| span.end)
    }

    fn takes(&mut self, mark: char) -> bool {
        let here = self.token() == Some(&Token::Mark(mark));
        self.at += usize::from(here);
        here
    }

    fn item(&mut self, depth: usize) -> Option<Item> {
        let (name, span) = match self.words.get(self.at) {
            Some((Token::Name(name), span)) => (name.to_ascii_lowercase(), span.clone()),
            // `; ;` and `};` are harmless.
            Some((Token::Mark(';'), _)) => return None,
            _ => {
                let message = "a block or an attribute begins with its name";
                self.notes.push(Note::error(self.span(), message, "write `name = value;` or `name { … }`"));
                return None;
            }
        };
        self.at += 1;
        if self.takes('{') {
            return Some(Item::Block(self.block(name, span, depth)));
        }
        if !self.takes('=') {
            let message = format!("after `{name}` comes `=` or `{{`");
            self.notes.push(Note::error(self.span(), message, "write `name = value;` or `name { … }`"));
            return None;
        }
        let begin = self.span().start;
        let value = self.value(depth)?;
        let value_span = begin..self.before();
        if !self.takes(';') {
            let at = value_span.end;
            self.notes.push(Note::warning(at..at, "the semicolon is missing", "end the attribute with `;`"));
        }
        Some(Item::Attribute(Attribute { name, span, value, value_span }))
    }

    fn block(&mut self, name: String, span: Range<usize>, depth: usize) -> Block {
        let mut items = Vec::new();
        if depth >= DEPTH_MAX {
            self.notes.push(Note::error(span.clone(), "blocks lie too deep in each other", ""));
            self.at = self.words.len();
        }
        loop {
            if self.takes('}') {
                break;
            }
            if self.token().is_none() {
                let message = format!("the block `{name}` has no end");
                self.notes.push(Note::error(
                    span.clone(),
                    message,
                    "a `}` is missing at the end of the file",
                ));
                break;
            }
            match self.item(depth + 1) {
                Some(item) => items.push(item),
                None => self.at += usize::from(self.token() != Some(&Token::Mark('}'))),
            }
        }
        self.takes(';');
        Block { name, span, items }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        let mut parts = vec![self.part(depth)?];
        while self.takes('+') {
            parts.push(self.part(depth)?);
        }
        Some(parts)
    }

    fn part(&mut self, depth: usize) -> Option<Part> {
        let (token, span) = match self.words.get(self.at) {
            Some((token, span)) => (token.clone(), span.clone()),
            None => (Token::Mark(';'), self.end..self.end),
        };
        let part = match token {
            Token::Text(text) => Part::Text(text),
            Token::Number(number) => Part::Number(number),
            Token::File(name) => Part::File(name, span),
            Token::Name(name) => {
                self.at += 1;
                if !self.takes('(') {
                    return Some(Part::Name(name));
                }
                return self.call(name, span, depth);
            }
            Token::Mark(mark) => {
                let message = format!("a value is missing before `{mark}`");
                self.notes.push(Note::error(
                    span,
                    message,
                    "a value is a \"string\", a number, a name or a call",
                ));
                return None;
            }
        };
        self.at += 1;
        Some(part)
    }

    fn call(&mut self, name: String, span: Range<usize>, depth: usize) -> Option<Part> {
        let mut given = Vec::new();
        if depth >= DEPTH_MAX {
            self.notes.push(Note::error(span, "calls lie too deep in each other", ""));
            self.at = self.words.len();
            return None;
        }
        if !self.takes(')') {
            loop {
                given.push(self.value(depth + 1)?);
                if self.takes(')') {
                    break;
                }
                if !self.takes(',') {
                    let message = format!("the call of `{name}` has no end");
                    self.notes.push(Note::error(self.span(), message, "end it with `)`"));
                    return None;
                }
            }
        }
        Some(Part::Call(name.to_ascii_lowercase(), given, span))
    }
}
