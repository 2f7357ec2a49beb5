//! What people say an answer has to be: `status=200`, `body~text`, `header:x-cache~HIT`, `size>=1000`, `body=first`.
//!
//! Not here: looking for texts in bodies that come in pieces.

use std::fmt;
use std::str::FromStr;

use super::Seen;
use crate::wire::{Coding, head};

/// One thing every answer has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Its status.
    Status(Test, u64),
    /// The length of its body in bytes, as it came.
    Size(Test, u64),
    /// Its body holds a text, or does not.
    Body {
        /// The text.
        text: String,
        /// Whether it is to be there.
        has: bool,
    },
    /// Its body is that of the first answer of this URL.
    SameBody,
    /// One of its fields.
    Field {
        /// The name.
        name: String,
        /// What it is to be.
        is: Like,
        /// The text it is compared with.
        text: String,
    },
}

/// How numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// `=`
    Is,
    /// `!=`
    IsNot,
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

/// How texts are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Like {
    /// `=`
    Is,
    /// `!=`, or not there
    IsNot,
    /// `~`: it holds this
    Has,
    /// `!~`: it does not, or is not there
    HasNot,
}

/// Longest first, so that `<=` is not taken for `<`.
const MARKS: [(&str, Test); 6] = [
    ("<=", Test::AtMost),
    (">=", Test::AtLeast),
    ("!=", Test::IsNot),
    ("=", Test::Is),
    ("<", Test::Below),
    (">", Test::Above),
];

impl Test {
    fn holds(self, value: u64, wanted: u64) -> bool {
        match self {
            Test::Is => value == wanted,
            Test::IsNot => value != wanted,
            Test::Below => value < wanted,
            Test::AtMost => value <= wanted,
            Test::Above => value > wanted,
            Test::AtLeast => value >= wanted,
        }
    }
}

/// As it is typed; what is read from it is the same again.
impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = |test: &Test| MARKS.iter().find(|(_, known)| known == test).map_or("", |(mark, _)| mark);
        match self {
            Expect::Status(test, number) => write!(f, "status{}{number}", mark(test)),
            Expect::Size(test, number) => write!(f, "size{}{number}", mark(test)),
            Expect::Body { text, has } => write!(f, "body{}{text}", if *has { "~" } else { "!~" }),
            Expect::SameBody => f.write_str("body=first"),
            Expect::Field { name, is, text } => {
                let mark = match is {
                    Like::Is => "=",
                    Like::IsNot => "!=",
                    Like::Has => "~",
                    Like::HasNot => "!~",
                };
                write!(f, "header:{name}{mark}{text}")
            }
        }
    }
}

impl FromStr for Expect {
    type Err = String;

    fn from_str(text: &str) -> Result<Expect, String> {
        let wrong = || {
            format!(
                "`{text}` says nothing to expect; write status=200, status<400, size>=1000, body~text, body!~text, \
                 body=first, header:name=value or header:name~part"
            )
        };
        let (name, mark, value) = parts(text).ok_or_else(wrong)?;
        let number = |allowed: &str| {
            let test = MARKS.iter().find(|(sign, _)| *sign == mark).map(|(_, test)| *test);
            let number = value.parse().ok();
            test.zip(number).ok_or_else(|| format!("`{text}`: {allowed} is compared with a number"))
        };
        match name {
            "status" => number("the status").map(|(test, n)| Expect::Status(test, n)),
            "size" => number("the size").map(|(test, n)| Expect::Size(test, n)),
            "body" => match mark {
                "=" if value == "first" => Ok(Expect::SameBody),
                "~" | "!~" if !value.is_empty() => {
                    Ok(Expect::Body { text: value.to_owned(), has: mark == "~" })
                }
                _ => Err(wrong()),
            },
            _ => {
                let name = name.strip_prefix("header:").filter(|name| !name.is_empty()).ok_or_else(wrong)?;
                let is = match mark {
                    "=" => Like::Is,
                    "!=" => Like::IsNot,
                    "~" => Like::Has,
                    "!~" => Like::HasNot,
                    _ => return Err(wrong()),
                };
                Ok(Expect::Field { name: name.trim().to_owned(), is, text: value.to_owned() })
            }
        }
    }
}

/// Name, mark and value: the mark is the first there is.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let at = text.find(['=', '!', '<', '>', '~'])?;
    let (name, rest) = text.split_at(at);
    let mark =
        ["<=", ">=", "!=", "!~", "=", "<", ">", "~"].into_iter().find(|mark| rest.starts_with(mark))?;
    Some((name.trim(), mark, rest.get(mark.len()..)?.trim()))
}

impl Expect {
    /// Whether an answer is so; `was_found` says whether the text was found in its body.
    pub(super) fn judge(&self, seen: Seen<'_>, was_found: bool) -> Result<(), String> {
        match self {
            Expect::Status(test, wanted) if !test.holds(seen.status.into(), *wanted) => {
                Err(format!("the status is {}", seen.status))
            }
            Expect::Size(test, wanted) if !test.holds(seen.body_bytes, *wanted) => {
                Err(format!("the body has {} bytes", seen.body_bytes))
            }
            Expect::Body { text, .. } if seen.coding != Coding::Identity => Err(format!(
                "the body is coded, and `{text}` is not looked for in it; ask without Accept-Encoding"
            )),
            Expect::Body { text, has } if *has != was_found => {
                Err(format!("the body {} `{text}`", if *has { "has no" } else { "has" }))
            }
            Expect::Field { name, is, text } => field(seen.head, name, *is, text),
            _ => Ok(()),
        }
    }
}

fn field(head: &[u8], name: &str, is: Like, text: &str) -> Result<(), String> {
    let mut values: Vec<String> = Vec::new();
    head::fields(head, &mut |field, value| {
        if field.eq_ignore_ascii_case(name) {
            values.push(String::from_utf8_lossy(value).into_owned());
        }
    });
    let value = (!values.is_empty()).then(|| values.join(", "));
    let holds = match (is, &value) {
        (Like::Is, Some(value)) => value == text,
        (Like::Has, Some(value)) => value.contains(text),
        (Like::IsNot, Some(value)) => value != text,
        (Like::HasNot, Some(value)) => !value.contains(text),
        (Like::IsNot | Like::HasNot, None) => true,
        (Like::Is | Like::Has, None) => false,
    };
    match (holds, value) {
        (true, _) => Ok(()),
        (false, Some(value)) => Err(format!("{name} is `{value}`")),
        (false, None) => Err(format!("there is no {name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nX-Cache: HIT from a\r\nVia: 1\r\nVia: 2\r\n\r\n";

    fn judged(expect: &str, found: bool) -> Result<(), String> {
        let seen = Seen { status: 200, coding: Coding::Identity, head: HEAD, body_bytes: 1000 };
        expect.parse::<Expect>().unwrap().judge(seen, found)
    }

    #[test]
    fn table() {
        for (expect, found, right) in [
            ("status=200", false, true),
            ("status = 200", false, true),
            ("status!=200", false, false),
            ("status<400", false, true),
            ("status<200", false, false),
            ("status>=201", false, false),
            ("size>=1000", false, true),
            ("size>1000", false, false),
            ("size<=1000", false, true),
            ("body~hello", true, true),
            ("body~hello", false, false),
            ("body!~error", false, true),
            ("body!~error", true, false),
            ("body=first", false, true),
            ("header:x-cache~HIT", false, true),
            ("header:X-Cache=HIT", false, false),
            ("header:x-cache!~MISS", false, true),
            ("header:x-cache!=HIT from a", false, false),
            ("header:via=1, 2", false, true),
            ("header:age=1", false, false),
            ("header:age!=1", false, true),
        ] {
            assert_eq!(judged(expect, found).is_ok(), right, "{expect}: {:?}", judged(expect, found));
        }
    }

    #[test]
    fn what_is_written_down_is_read_again() {
        for text in [
            "status=200",
            "size<=9",
            "body~a b",
            "body!~=",
            "body=first",
            "header:x==y",
            "header:x!~ z",
            "status!=5",
        ] {
            let expect: Expect = text.parse().unwrap();
            let written = expect.to_string();
            assert_eq!(written.parse::<Expect>(), Ok(expect), "{written}");
            assert_eq!(written, text.replace("~ z", "~z"));
        }
    }

    #[test]
    fn what_is_coded_is_not_searched() {
        let seen = Seen { status: 200, coding: Coding::Gzip, head: HEAD, body_bytes: 10 };
        let error = "body~x".parse::<Expect>().unwrap().judge(seen, false).unwrap_err();
        assert!(error.contains("Accept-Encoding"), "{error}");
    }

    #[test]
    fn what_says_nothing_is_refused() {
        for text in [
            "",
            "status",
            "status~2",
            "status=ok",
            "size=1KB",
            "body",
            "body~",
            "body<3",
            "header:=x",
            "age=3",
        ] {
            assert!(text.parse::<Expect>().is_err(), "{text}");
        }
    }
}
