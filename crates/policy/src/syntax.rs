//! The small grammar that HTTP fields share: lists, tokens, quoted strings, seconds (RFC 9110 §5.6, RFC 9111 §1.2.2).
//!
//! Works on bytes, since a field value may hold any. Not here: what a field means.

use http::{HeaderMap, HeaderName};
use std::borrow::Cow;

/// The largest delta-seconds kept: RFC 9111 §1.2.2 asks that overflow counts as this (68 years).
pub(crate) const DELTA_MAX_S: u64 = 1 << 31;

/// A byte that a token may hold (RFC 9110 §5.6.2).
pub(crate) fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Without optional white space at both ends (RFC 9110 §5.6.3).
pub(crate) fn trim_ows(text: &[u8]) -> &[u8] {
    let blank = |b: &u8| *b == b' ' || *b == b'\t';
    let start = text.iter().position(|b| !blank(b)).unwrap_or(text.len());
    let end = text.iter().rposition(|b| !blank(b)).map_or(start, |last| last + 1);
    text.get(start..end).unwrap_or_default()
}

/// Digits only, held at [`DELTA_MAX_S`]; `None` for anything else, the empty text included (RFC 9111 §1.2.2).
pub(crate) fn delta_seconds(text: &[u8]) -> Option<u64> {
    saturating_digits(text).map(|n| n.min(DELTA_MAX_S))
}

/// Digits only, held at `u64::MAX`.
pub(crate) fn saturating_digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(text.iter().fold(0_u64, |n, digit| n.saturating_mul(10).saturating_add(u64::from(digit - b'0'))))
}

/// The content of a quoted string, escapes resolved; `None` if it is not exactly one (RFC 9110 §5.6.4).
pub(crate) fn unquote(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    let inner = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if !inner.contains(&b'\\') {
        return (!inner.contains(&b'"')).then_some(Cow::Borrowed(inner));
    }
    let mut plain = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => plain.push(*bytes.next()?),
            b'"' => return None,
            other => plain.push(*other),
        }
    }
    Some(Cow::Owned(plain))
}

/// The elements of a comma-separated list, trimmed, empty ones left out; commas inside quotes do not separate
/// (RFC 9110 §5.6.1). A quote that never closes is taken as an ordinary byte, so that what it would have hidden
/// is still seen, and `broken` says so.
pub(crate) struct Elements<'a> {
    rest: &'a [u8],
    /// A quoted string did not end.
    pub(crate) broken: bool,
}

/// See [`Elements`].
pub(crate) fn elements(line: &[u8]) -> Elements<'_> {
    Elements { rest: line, broken: false }
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while !self.rest.is_empty() {
            let end = self.comma();
            let (element, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, &[]));
            self.rest = rest.get(1..).unwrap_or_default();
            let element = trim_ows(element);
            if !element.is_empty() {
                return Some(element);
            }
        }
        None
    }
}

impl Elements<'_> {
    /// Where the next separating comma is, or the end.
    fn comma(&mut self) -> usize {
        if !self.broken {
            match quoted_comma(self.rest) {
                Some(end) => return end,
                None => self.broken = true,
            }
        }
        self.rest.iter().position(|b| *b == b',').unwrap_or(self.rest.len())
    }
}

/// The first comma outside quotes, or the length; `None` if a quote stays open.
fn quoted_comma(text: &[u8]) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => return Some(at),
            _ => {}
        }
    }
    (!quoted).then_some(text.len())
}

/// What a field that may come once says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Single<'a> {
    /// It is not there.
    Absent,
    /// It came once, or several times with the same bytes.
    One(&'a [u8]),
    /// It came several times and contradicts itself.
    Conflict,
}

/// Reads a field that may come once.
pub(crate) fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Single<'a> {
    let mut lines = headers.get_all(name).iter().map(|value| trim_ows(value.as_bytes()));
    match lines.next() {
        None => Single::Absent,
        Some(first) if lines.all(|line| line == first) => Single::One(first),
        Some(_) => Single::Conflict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(text: &str) -> (Vec<&str>, bool) {
        let mut all = elements(text.as_bytes());
        let found: Vec<&str> = all.by_ref().map(|e| std::str::from_utf8(e).unwrap()).collect();
        (found, all.broken)
    }

    #[test]
    fn lists() {
        for (text, want, broken) in [
            ("", vec![], false),
            (" , ,", vec![], false),
            ("a,b", vec!["a", "b"], false),
            (" a , b\t", vec!["a", "b"], false),
            (r#"a="x,y", b"#, vec![r#"a="x,y""#, "b"], false),
            (r#"a="x\",y", b"#, vec![r#"a="x\",y""#, "b"], false),
            (r#"a="x, no-store"#, vec![r#"a="x"#, "no-store"], true),
            (r#"a, b="c\", d""#, vec!["a", r#"b="c\", d""#], false),
            (r#"a, b="c\", d"#, vec!["a", r#"b="c\""#, "d"], true),
        ] {
            assert_eq!(list(text), (want, broken), "{text}");
        }
    }

    #[test]
    fn seconds() {
        for (text, want) in [
            ("0", Some(0)),
            ("003600", Some(3600)),
            ("2147483647", Some(2_147_483_647)),
            ("2147483649", Some(DELTA_MAX_S)),
            ("99999999999999999999999999", Some(DELTA_MAX_S)),
            ("", None),
            ("-1", None),
            ("+1", None),
            ("1.0", None),
            ("1 ", None),
            ("a1", None),
            ("1a", None),
        ] {
            assert_eq!(delta_seconds(text.as_bytes()), want, "{text}");
        }
    }

    #[test]
    fn quoted_strings() {
        for (text, want) in [
            (r#""""#, Some("")),
            (r#""a, b""#, Some("a, b")),
            (r#""a\"b""#, Some("a\"b")),
            (r#""a\\""#, Some("a\\")),
            (r#"""#, None),
            (r#""a"#, None),
            (r#"a"#, None),
            (r#""a"b""#, None),
            (r#""a\""#, None),
        ] {
            assert_eq!(unquote(text.as_bytes()).as_deref(), want.map(str::as_bytes), "{text}");
        }
    }

    proptest! {
        #[test]
        fn splitting_keeps_every_byte_but_commas_and_blanks(line in proptest::collection::vec(any::<u8>(), 0..60)) {
            let kept: usize = elements(&line).map(|e| e.iter().filter(|b| !b", \t".contains(b)).count()).sum();
            prop_assert_eq!(kept, line.iter().filter(|b| !b", \t".contains(b)).count());
        }
    }
}
