//! Structured fields (RFC 8941): dictionaries are read strictly, as targeted cache control asks (RFC 9213 §2.1).
//!
//! Strict means that one wrong byte makes the whole field void. Only what the targeted fields need is kept of a
//! value: parameters and inner lists are checked and dropped.

/// A member's value, as far as cache directives tell values apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// `?1`, `?0`, or a key alone.
    Boolean(bool),
    /// `5`.
    Integer(i64),
    /// `"…"`.
    String(String),
    /// A token, a decimal, bytes or an inner list: no directive of ours takes one.
    Other,
}

/// A dictionary, as far as it is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dictionary<'w> {
    /// The wanted members, each key once, the last value winning (RFC 8941 §4.2.2).
    pub(crate) members: Vec<(&'w str, Value)>,
    /// It has no member at all.
    pub(crate) is_empty: bool,
}

/// Reads a dictionary. All of it is checked; of its members only the wanted are kept, so that the work and the memory are
/// those of the text, however many it names. `None` if it is malformed.
pub(crate) fn dictionary<'w>(text: &[u8], wanted: &[&'w str]) -> Option<Dictionary<'w>> {
    let mut input = Input { rest: text };
    let mut found = Dictionary { members: Vec::new(), is_empty: true };
    input.spaces();
    while input.peek().is_some() {
        let (key, value) = member(&mut input)?;
        found.is_empty = false;
        if let Some(name) = wanted.iter().find(|name| name.as_bytes() == key) {
            found.members.retain(|(earlier, _)| earlier != name);
            found.members.push((name, value));
        }
        input.blanks();
        if input.peek().is_none() {
            break;
        }
        input.byte(b',')?;
        input.blanks();
        input.peek()?; // a trailing comma is an error
    }
    Some(found)
}

/// A list of strings, parameters dropped (RFC 8941 §4.2.1). `None` if it is malformed or holds anything else.
pub(crate) fn strings(text: &[u8]) -> Option<Vec<String>> {
    let mut input = Input { rest: text };
    let mut all = Vec::new();
    input.spaces();
    while input.peek().is_some() {
        let Value::String(text) = item_or_inner_list(&mut input)? else { return None };
        parameters(&mut input)?;
        all.push(text);
        input.blanks();
        if input.peek().is_none() {
            break;
        }
        input.byte(b',')?;
        input.blanks();
        input.peek()?; // a trailing comma is an error
    }
    Some(all)
}

fn member<'a>(input: &mut Input<'a>) -> Option<(&'a [u8], Value)> {
    let key = key(input)?;
    let value = if input.peek() == Some(b'=') {
        input.byte(b'=')?;
        item_or_inner_list(input)?
    } else {
        Value::Boolean(true)
    };
    parameters(input)?;
    Some((key, value))
}

fn item_or_inner_list(input: &mut Input<'_>) -> Option<Value> {
    if input.peek()? != b'(' {
        return bare_item(input);
    }
    input.byte(b'(')?;
    loop {
        input.spaces();
        if input.peek()? == b')' {
            input.byte(b')')?;
            return Some(Value::Other);
        }
        bare_item(input)?;
        parameters(input)?;
        (matches!(input.peek()?, b' ' | b')')).then_some(())?;
    }
}

fn parameters(input: &mut Input<'_>) -> Option<()> {
    while input.peek() == Some(b';') {
        input.byte(b';')?;
        input.spaces();
        key(input)?;
        if input.peek() == Some(b'=') {
            input.byte(b'=')?;
            bare_item(input)?;
        }
    }
    Some(())
}

fn key<'a>(input: &mut Input<'a>) -> Option<&'a [u8]> {
    matches!(input.peek()?, b'a'..=b'z' | b'*').then_some(())?;
    Some(input.take_while(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-.*".contains(&b)))
}

fn bare_item(input: &mut Input<'_>) -> Option<Value> {
    match input.peek()? {
        b'-' | b'0'..=b'9' => number(input),
        b'"' => string(input),
        b'?' => boolean(input),
        b':' => bytes(input),
        b'*' | b'a'..=b'z' | b'A'..=b'Z' => {
            input.take_while(|b| crate::syntax::is_tchar(b) || b == b':' || b == b'/');
            Some(Value::Other)
        }
        _ => None,
    }
}

/// At most 15 digits for an integer, 12 and 3 for a decimal (RFC 8941 §4.2.4).
fn number(input: &mut Input<'_>) -> Option<Value> {
    let sign = if input.peek()? == b'-' {
        input.byte(b'-')?;
        -1
    } else {
        1
    };
    let whole = input.take_while(|b| b.is_ascii_digit());
    if whole.is_empty() {
        return None;
    }
    if input.peek() == Some(b'.') {
        input.byte(b'.')?;
        let part = input.take_while(|b| b.is_ascii_digit());
        return (whole.len() <= 12 && (1..=3).contains(&part.len())).then_some(Value::Other);
    }
    if whole.len() > 15 {
        return None;
    }
    let size = whole.iter().fold(0_i64, |n, b| n * 10 + i64::from(b - b'0'));
    Some(Value::Integer(sign * size))
}

fn string(input: &mut Input<'_>) -> Option<Value> {
    input.byte(b'"')?;
    let mut text = String::new();
    loop {
        match input.next()? {
            b'"' => return Some(Value::String(text)),
            b'\\' => match input.next()? {
                escaped @ (b'"' | b'\\') => text.push(char::from(escaped)),
                _ => return None,
            },
            plain @ b' '..=b'~' => text.push(char::from(plain)),
            _ => return None,
        }
    }
}

fn boolean(input: &mut Input<'_>) -> Option<Value> {
    input.byte(b'?')?;
    match input.next()? {
        b'1' => Some(Value::Boolean(true)),
        b'0' => Some(Value::Boolean(false)),
        _ => None,
    }
}

fn bytes(input: &mut Input<'_>) -> Option<Value> {
    input.byte(b':')?;
    input.take_while(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
    input.byte(b':')?;
    Some(Value::Other)
}

/// Reads a text from left to right.
struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn byte(&mut self, wanted: u8) -> Option<()> {
        (self.next()? == wanted).then_some(())
    }

    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'a [u8] {
        let count = self.rest.iter().take_while(|b| wanted(**b)).count();
        let (taken, rest) = self.rest.split_at_checked(count).unwrap_or((self.rest, &[]));
        self.rest = rest;
        taken
    }

    fn spaces(&mut self) {
        self.take_while(|b| b == b' ');
    }

    fn blanks(&mut self) {
        self.take_while(|b| b == b' ' || b == b'\t');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Option<Vec<(String, Value)>> {
        let found = dictionary(text.as_bytes(), &["max-age", "no-store", "a", "b", "c", "z", "*x"])?;
        Some(found.members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    #[test]
    fn what_is_not_wanted_is_checked_and_not_kept() {
        for (text, want, is_empty) in [
            ("b=1, a=2, c", Some(vec![("a", Value::Integer(2))]), false),
            ("b, c", Some(vec![]), false),
            ("", Some(vec![]), true),
            ("b=1, a=2, c=", None, false),
        ] {
            let read = dictionary(text.as_bytes(), &["a"]);
            assert_eq!(read, want.map(|members| Dictionary { members, is_empty }), "{text}");
        }
    }

    #[test]
    fn dictionaries() {
        let int = |key: &str, n| (key.to_owned(), Value::Integer(n));
        let yes = |key: &str| (key.to_owned(), Value::Boolean(true));
        for (text, want) in [
            ("", vec![]),
            ("  ", vec![]),
            ("max-age=60", vec![int("max-age", 60)]),
            ("  max-age=60  ", vec![int("max-age", 60)]),
            ("max-age=60,\tno-store", vec![int("max-age", 60), yes("no-store")]),
            ("max-age=1, max-age=2", vec![int("max-age", 2)]),
            ("a;x=1;y, b=-5; z=\"q\"", vec![yes("a"), int("b", -5)]),
            ("a=?0", vec![("a".into(), Value::Boolean(false))]),
            (r#"a="x\"y""#, vec![("a".into(), Value::String("x\"y".into()))]),
            ("a=(1 \"x\";p tok)", vec![("a".into(), Value::Other)]),
            ("a=()", vec![("a".into(), Value::Other)]),
            ("a=tok/x, b=1.5, c=:aGk=:", ["a", "b", "c"].map(|k| (k.into(), Value::Other)).to_vec()),
            ("*x=1", vec![int("*x", 1)]),
        ] {
            assert_eq!(read(text), Some(want), "{text}");
        }
    }

    #[test]
    fn one_wrong_byte_voids_the_field() {
        for text in [
            "max-age =60",
            "max-age= 60",
            "MaX-aGe=60",
            "max-age=60,",
            "max-age=60 no-store",
            ",max-age=60",
            "max-age=60, &&&&&",
            "max-age=",
            "a=1234567890123456",
            "a=1.2345",
            "a=1.",
            "a=-",
            "a=?2",
            "a=\"open",
            "a=\"bad\\x\"",
            "a=\"caf\u{e9}\"",
            "a=(1 2",
            "a=(1,2)",
            "a=:x",
            "a;=1",
            "a;B=1",
            "1a=1",
            "\ta=1",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn booleans() {
        for (text, want) in
            [("a=?1", Some(true)), ("a=?0", Some(false)), ("a=?2", None), ("a=?", None), ("a", Some(true))]
        {
            let read = read(text).map(|members| members[0].1.clone());
            assert_eq!(read, want.map(Value::Boolean), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = dictionary(&text, &["a"]);
        }

        #[test]
        fn a_well_formed_dictionary_is_read_as_written(
            members in proptest::collection::btree_map("[a-z*][a-z0-9_.*-]{0,6}", -999_999_999_999_999_i64..=999_999_999_999_999, 1..6)
        ) {
            let text: Vec<String> = members.iter().map(|(k, v)| format!("{k}={v}")).collect();
            let wanted: Vec<&str> = members.keys().map(String::as_str).collect();
            let want: Vec<_> = members.iter().map(|(k, v)| (k.as_str(), Value::Integer(*v))).collect();
            let read = dictionary(text.join(", ").as_bytes(), &wanted);
            prop_assert_eq!(read, Some(Dictionary { members: want, is_empty: false }));
        }
    }
}
