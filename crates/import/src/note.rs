//! What became of a directive, where it stands, and how a file is refused.
//!
//! Not here: how notes are shown on a terminal (the shell does that).

use std::fmt;
use std::sync::Arc;

/// A place in a file, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file as it was named.
    pub file: Arc<str>,
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// What became of a directive. Closed; the codes are never renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It is in the new file.
    Carried,
    /// It is not, and the note says why or what stands for it.
    LeftOut,
    /// It was unsafe, or leaving it out would be: somebody must look.
    Unsafe,
    /// It is in the new file with something to fill in.
    FillIn,
}

impl Fate {
    /// The stable code.
    pub fn code(self) -> &'static str {
        match self {
            Fate::Carried => "carried-over",
            Fate::LeftOut => "not-carried-over",
            Fate::Unsafe => "unsafe",
            Fate::FillIn => "fill-in",
        }
    }

    /// The same for people.
    pub fn words(self) -> &'static str {
        match self {
            Fate::Carried => "carried over",
            Fate::LeftOut => "not carried over",
            Fate::Unsafe => "unsafe",
            Fate::FillIn => "FILL-IN",
        }
    }
}

/// What a note means for the site, the worst first: reports are sorted by it. Closed; the codes are never renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Consequence {
    /// Pages are missing, refused or not the same until somebody acts.
    BreaksSite,
    /// Somebody may see, do or ask for more than before.
    LessSafe,
    /// Responses are kept for another time, for other requests, or not at all, or are slower.
    CachedDifferently,
    /// Nobody needs to act.
    Nothing,
}

impl Consequence {
    /// All of them, the worst first.
    pub const ALL: [Consequence; 4] = [
        Consequence::BreaksSite,
        Consequence::LessSafe,
        Consequence::CachedDifferently,
        Consequence::Nothing,
    ];

    /// The stable code.
    pub fn code(self) -> &'static str {
        match self {
            Consequence::BreaksSite => "breaks-site",
            Consequence::LessSafe => "less-safe",
            Consequence::CachedDifferently => "cached-differently",
            Consequence::Nothing => "nothing",
        }
    }

    /// The heading of its part of a report.
    pub fn heading(self) -> &'static str {
        match self {
            Consequence::BreaksSite => "What breaks the site until you act",
            Consequence::LessSafe => "What is less safe than before",
            Consequence::CachedDifferently => "What is slower, or cached differently",
            Consequence::Nothing => "Not carried over, and nothing to do",
        }
    }

    /// Of a note for which nothing worse is known.
    pub(crate) fn of(fate: Fate) -> Consequence {
        match fate {
            Fate::FillIn => Consequence::BreaksSite,
            Fate::Unsafe => Consequence::LessSafe,
            Fate::Carried | Fate::LeftOut => Consequence::Nothing,
        }
    }
}

/// One directive and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where it stands.
    pub place: Place,
    /// The directive as written, on one line, shortened if long.
    pub directive: String,
    /// What became of it.
    pub fate: Fate,
    /// What that means for the site.
    pub consequence: Consequence,
    /// As what, or why not, and what to do.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}: {}", self.place, self.directive, self.fate.words(), self.text)
    }
}

/// A file that is not read any further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Where.
    pub place: Place,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { file, line, column } = &self.place;
        write!(f, "{file}:{line}:{column}: {}\n  {}", self.what, self.hint)
    }
}

impl Note {
    /// Whether a report lists it: all that was not carried over, and what was but acts differently here.
    pub fn is_reported(&self) -> bool {
        self.fate != Fate::Carried || self.consequence != Consequence::Nothing
    }
}

/// One line of visible characters, shortened: what a file holds must not steer a terminal or end a comment.
pub(crate) fn shown(text: &str) -> String {
    visible(text, 160)
}

/// The same for an explanation, whose end says what to do.
pub(crate) fn explained(text: &str) -> String {
    visible(text, 700)
}

fn visible(text: &str, longest: usize) -> String {
    let one_line = |c: char| if c.is_control() || is_direction(c) { ' ' } else { c };
    let mut out = String::new();
    let mut last = ' ';
    for c in text.chars().map(one_line) {
        if !(c == ' ' && last == ' ') {
            out.push(c);
        }
        last = c;
        if out.len() > longest {
            out.push('…');
            break;
        }
    }
    out.trim().to_owned()
}

/// The name of a directive, for an error; anything else is not quoted: a file that is no configuration may hold secrets.
pub(crate) fn quotable(name: &str) -> &str {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let is_name = !name.is_empty() && name.len() <= 60 && name.bytes().all(plain);
    if is_name { name } else { "…" }
}

/// Characters that turn the direction of writing and so can make a line read as another.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_holds_cannot_steer_a_terminal() {
        assert_eq!(shown("a\u{1b}[2J\n b\u{202e}c"), "a [2J b c");
        assert!(shown(&"x".repeat(10_000)).len() < 200);
    }
}
