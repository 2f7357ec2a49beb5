//! A text with placeholders, `/n={rand 1 100}`, to and from the parts of a value.
//!
//! A `{` that a letter follows opens a placeholder, so that what is mistyped is refused and not sent; any other is itself,
//! so that JSON can be written as it is; `{{` is one `{` in any case, and `}` outside of a placeholder is itself.
//! Not here: how a text stands in a file (`table`, `write`).

use crate::wcat::nearest::nearest;
use crate::wcat::{Part, Value, joined};
use std::fmt::Write as _;
use std::ops::Range;

/// What is wrong with a text, and where in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub at: Range<usize>,
    pub message: String,
    pub mend: String,
}

const NAMES: [&str; 8] =
    ["rand", "server", "machine", "machines", "machine_name", "client", "clients", "file"];

/// Takes a text apart.
pub(super) fn read(text: &str) -> Result<Value, Wrong> {
    let (mut parts, mut at) = (Vec::new(), 0);
    while let Some(open) = text.get(at..).and_then(|rest| rest.find('{')).map(|skip| at + skip) {
        parts.push(Part::Text(text.get(at..open).unwrap_or_default().to_owned()));
        let rest = text.get(open + 1..).unwrap_or_default();
        let is_doubled = rest.starts_with('{');
        if is_doubled || !opens(rest) {
            parts.push(Part::Text("{".to_owned()));
            at = open + 1 + usize::from(is_doubled);
            continue;
        }
        let (part, len) = placeholder(rest).map_err(|wrong| {
            let end = rest.find('}').map_or(text.len(), |end| open + end + 2);
            Wrong { at: open..end, ..wrong }
        })?;
        parts.push(part);
        at = open + 1 + len;
    }
    parts.push(Part::Text(text.get(at..).unwrap_or_default().to_owned()));
    Ok(joined(parts))
}

/// Whether what follows a `{` makes it the beginning of a placeholder.
fn opens(rest: &str) -> bool {
    rest.trim_start().starts_with(char::is_alphabetic)
}

/// The placeholder whose `{` stands before, and its length with the `}`.
fn placeholder(rest: &str) -> Result<(Part, usize), Wrong> {
    let wrong = |message: String, mend: &str| Wrong { at: 0..0, message, mend: mend.to_owned() };
    let no_end = || wrong("this placeholder has no end".into(), "end it with `}`, or write `{{` for a brace");
    let inside = rest.trim_start();
    if let Some(name) = inside.strip_prefix("file").filter(|name| name.starts_with([' ', '\t'])) {
        let (name, after) = file_name(name.trim_start()).ok_or_else(no_end)?;
        if name.is_empty() {
            return Err(wrong("which file?".into(), "`{file body.dat}`"));
        }
        return Ok((Part::File(name), rest.len() - after.len()));
    }
    let end = inside.find('}').ok_or_else(no_end)?;
    let words: Vec<&str> = inside.get(..end).unwrap_or_default().split_whitespace().collect();
    let part = match words.as_slice() {
        ["server"] => Part::Server,
        ["machine"] => Part::ClientIndex,
        ["machines"] => Part::ClientCount,
        ["machine_name"] => Part::ClientName,
        ["client"] => Part::VirtualClientIndex,
        ["clients"] => Part::VirtualClientCount,
        ["file"] => return Err(wrong("which file?".into(), "`{file body.dat}`")),
        ["rand", low, high] => match (low.parse(), high.parse()) {
            (Ok(low), Ok(high)) if low <= high => Part::Random(low, high),
            _ => return Err(bounds()),
        },
        ["rand", ..] => return Err(bounds()),
        all => {
            let (name, is_alone) = (all.first().copied().unwrap_or_default(), all.len() == 1);
            if !is_alone && NAMES.contains(&name) {
                return Err(wrong(format!("`{name}` stands alone"), &format!("`{{{name}}}`")));
            }
            let near = nearest(name, &NAMES).map(|near| format!("did you mean `{near}`? "));
            let known = format!("there are {}; `{{{{` is a brace", NAMES.join(", "));
            let shown: String = name.chars().take(40).collect();
            return Err(wrong(
                format!("there is no placeholder `{shown}`"),
                &(near.unwrap_or_default() + &known),
            ));
        }
    };
    let after = inside.get(end + 1..).unwrap_or_default();
    Ok((part, rest.len() - after.len()))
}

fn bounds() -> Wrong {
    let mend = "`{rand 1 100}`: two whole numbers, the lower first; both can come".to_owned();
    Wrong { at: 0..0, message: "`rand` needs its two bounds".to_owned(), mend }
}

/// A file's name and what follows its `}`. In quotes, doubled inside, it may hold anything.
fn file_name(text: &str) -> Option<(String, &str)> {
    let Some(mut rest) = text.strip_prefix('\'') else {
        let (name, after) = text.split_once('}')?;
        return Some((name.trim_end().to_owned(), after));
    };
    let mut name = String::new();
    loop {
        let (piece, after) = rest.split_once('\'')?;
        name.push_str(piece);
        match after.strip_prefix('\'') {
            Some(more) => {
                name.push('\'');
                rest = more;
            }
            None => return Some((name, after.trim_start().strip_prefix('}')?)),
        }
    }
}

/// Puts a value together again.
pub(super) fn write(value: &Value) -> String {
    let mut out = String::new();
    for (at, part) in value.iter().enumerate() {
        let is_last = at + 1 == value.len();
        // Writing to a text cannot fail.
        let _ = match part {
            Part::Text(text) => {
                escape(text, is_last, &mut out);
                Ok(())
            }
            Part::Random(low, high) => write!(out, "{{rand {low} {high}}}"),
            Part::Server => write!(out, "{{server}}"),
            Part::ClientName => write!(out, "{{machine_name}}"),
            Part::ClientCount => write!(out, "{{machines}}"),
            Part::ClientIndex => write!(out, "{{machine}}"),
            Part::VirtualClientCount => write!(out, "{{clients}}"),
            Part::VirtualClientIndex => write!(out, "{{client}}"),
            Part::File(name) if is_plain(name) => write!(out, "{{file {name}}}"),
            Part::File(name) => write!(out, "{{file '{}'}}", name.replace('\'', "''")),
        };
    }
    out
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.trim() == name && !name.contains(['{', '}', '\''])
}

/// Doubles each `{` but those that are themselves whatever comes after.
fn escape(text: &str, is_last: bool, out: &mut String) {
    for (at, c) in text.char_indices() {
        out.push(c);
        if c == '{' {
            let rest = text.get(at + 1..).unwrap_or_default();
            let is_itself = match rest.trim_start().chars().next() {
                Some(next) => next != '{' && !next.is_alphabetic(),
                None => is_last,
            };
            if !is_itself {
                out.push('{');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    #[test]
    fn what_a_text_says() {
        for (written, value) in [
            ("/a?b=c", vec![text("/a?b=c")]),
            ("", vec![]),
            ("/{rand 1 100}.jpg", vec![text("/"), Part::Random(1, 100), text(".jpg")]),
            ("{server}:{ client }", vec![Part::Server, text(":"), Part::VirtualClientIndex]),
            (
                "{file a b.dat}{file 'it''s } {.dat'}",
                vec![Part::File("a b.dat".into()), Part::File("it's } {.dat".into())],
            ),
            (r#"{"a": {"b": [1]}}"#, vec![text(r#"{"a": {"b": [1]}}"#)]),
            ("{{server}", vec![text("{server}")]),
            ("{{{server}}}", vec![text("{"), Part::Server, text("}}")]),
            ("{ \"a\": 1 }{1}{", vec![text("{ \"a\": 1 }{1}{")]),
        ] {
            assert_eq!(read(written), Ok(value), "{written}");
        }
    }

    #[test]
    fn what_is_mistyped_is_refused() {
        for (written, at, message, mend) in [
            ("a{ran 1 2}b", 1..10, "there is no placeholder `ran`", "did you mean `rand`?"),
            ("{ hello: 1}", 0..11, "there is no placeholder `hello:`", "`{{` is a brace"),
            ("{rand 2 1}", 0..10, "`rand` needs its two bounds", "the lower first"),
            ("{rand -1 1}", 0..11, "`rand` needs its two bounds", "whole numbers"),
            ("{rand}", 0..6, "`rand` needs its two bounds", "{rand 1 100}"),
            ("/{server", 1..8, "this placeholder has no end", "end it with `}`"),
            ("{server 1}", 0..10, "`server` stands alone", "`{server}`"),
            ("{file }", 0..7, "which file?", "body.dat"),
            ("{file}", 0..6, "which file?", "body.dat"),
            ("{file 'a}", 0..9, "this placeholder has no end", "end it with `}`"),
        ] {
            let wrong = read(written).unwrap_err();
            assert_eq!((wrong.at, wrong.message.as_str()), (at, message), "{written}");
            assert!(wrong.mend.contains(mend), "{written}: {}", wrong.mend);
        }
    }

    #[test]
    fn json_is_written_as_it_is() {
        let json = r#"{"a": {"b": []}, "c": { }}"#;
        assert_eq!(write(&vec![text(json)]), json);
    }

    fn part() -> impl Strategy<Value = Part> {
        prop_oneof![
            "[{} 'a\"é]{0,8}".prop_map(Part::Text),
            (0u64..9, 0u64..9).prop_map(|(low, more)| Part::Random(low, low + more)),
            Just(Part::Server),
            Just(Part::ClientName),
            Just(Part::ClientCount),
            Just(Part::ClientIndex),
            Just(Part::VirtualClientCount),
            Just(Part::VirtualClientIndex),
            "[{} 'a\"é]{1,8}".prop_map(Part::File),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(parts in proptest::collection::vec(part(), 0..6)) {
            let value = joined(parts);
            prop_assert_eq!(read(&write(&value)), Ok(value));
        }

        #[test]
        fn whatever_is_read_has_its_place(text in "[{}'a-z 0-9é]{0,30}") {
            if let Err(wrong) = read(&text) {
                prop_assert!(text.get(wrong.at.clone()).is_some_and(|shown| shown.starts_with('{')), "{wrong:?}");
            }
        }
    }
}
