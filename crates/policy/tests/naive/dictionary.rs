//! Structured fields, read strictly (RFC 8941 §4.2): dictionaries and lists of strings.

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Boolean(bool),
    Integer(i64),
    Text(String),
    Other,
}

/// What is left to read.
type Rest<'a> = &'a [u8];

pub fn read(text: &[u8]) -> Option<Vec<(String, Value)>> {
    let mut rest = skip(text, b" ");
    let mut members: Vec<(String, Value)> = Vec::new();
    while !rest.is_empty() {
        let (key, after) = key(rest)?;
        let (value, after) = match after.first() {
            Some(b'=') => value(&after[1..])?,
            _ => (Value::Boolean(true), after),
        };
        let after = parameters(after)?;
        members.retain(|(name, _)| *name != key);
        members.push((key, value));
        rest = separator(after)?;
    }
    Some(members)
}

/// A list of strings; empty if it is anything else. Names longer than 256 bytes are left out.
pub fn strings(text: &[u8]) -> Vec<String> {
    let all = || {
        let mut rest = skip(text, b" ");
        let mut names = Vec::new();
        while !rest.is_empty() {
            let (value, after) = value(rest)?;
            let Value::Text(name) = value else { return None };
            names.push(name);
            rest = separator(parameters(after)?)?;
        }
        Some(names)
    };
    all().unwrap_or_default().into_iter().filter(|name: &String| name.len() <= 256).take(512).collect()
}

fn skip<'a>(text: Rest<'a>, what: &[u8]) -> Rest<'a> {
    let n = text.iter().take_while(|b| what.contains(b)).count();
    &text[n..]
}

/// Blanks, a comma, blanks, and something after it; or the end.
fn separator(rest: Rest<'_>) -> Option<Rest<'_>> {
    let rest = skip(rest, b" \t");
    if rest.is_empty() {
        return Some(rest);
    }
    let rest = skip(rest.strip_prefix(b",")?, b" \t");
    (!rest.is_empty()).then_some(rest)
}

fn key(rest: Rest<'_>) -> Option<(String, Rest<'_>)> {
    let first = *rest.first()?;
    if !(first.is_ascii_lowercase() || first == b'*') {
        return None;
    }
    let n = rest
        .iter()
        .take_while(|b| {
            b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-' | b'.' | b'*')
        })
        .count();
    Some((String::from_utf8_lossy(&rest[..n]).into_owned(), &rest[n..]))
}

fn parameters(mut rest: Rest<'_>) -> Option<Rest<'_>> {
    while let Some(after) = rest.strip_prefix(b";") {
        let (_, after) = key(skip(after, b" "))?;
        rest = match after.strip_prefix(b"=") {
            Some(after) => item(after)?.1,
            None => after,
        };
    }
    Some(rest)
}

fn value(rest: Rest<'_>) -> Option<(Value, Rest<'_>)> {
    let Some(mut inner) = rest.strip_prefix(b"(") else { return item(rest) };
    loop {
        inner = skip(inner, b" ");
        if let Some(after) = inner.strip_prefix(b")") {
            return Some((Value::Other, after));
        }
        let after = parameters(item(inner)?.1)?;
        if !matches!(after.first(), Some(b' ' | b')')) {
            return None;
        }
        inner = after;
    }
}

fn item(rest: Rest<'_>) -> Option<(Value, Rest<'_>)> {
    match *rest.first()? {
        b'?' => match rest.get(1)? {
            b'0' => Some((Value::Boolean(false), &rest[2..])),
            b'1' => Some((Value::Boolean(true), &rest[2..])),
            _ => None,
        },
        b'"' => text(&rest[1..]),
        b':' => {
            let end = rest[1..].iter().position(|b| *b == b':')? + 1;
            let allowed = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
            rest[1..end].iter().all(allowed).then_some((Value::Other, &rest[end + 1..]))
        }
        b'-' | b'0'..=b'9' => number(rest),
        first if first.is_ascii_alphabetic() || first == b'*' => {
            let allowed = |b: &&u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(b);
            let n = rest.iter().take_while(allowed).count();
            Some((Value::Other, &rest[n..]))
        }
        _ => None,
    }
}

fn text(rest: Rest<'_>) -> Option<(Value, Rest<'_>)> {
    let mut plain = String::new();
    let mut at = 0;
    loop {
        match *rest.get(at)? {
            b'"' => return Some((Value::Text(plain), &rest[at + 1..])),
            b'\\' => {
                let escaped = *rest.get(at + 1)?;
                if escaped != b'"' && escaped != b'\\' {
                    return None;
                }
                plain.push(char::from(escaped));
                at += 2;
            }
            byte @ 0x20..=0x7e => {
                plain.push(char::from(byte));
                at += 1;
            }
            _ => return None,
        }
    }
}

fn number(rest: Rest<'_>) -> Option<(Value, Rest<'_>)> {
    let (sign, digits) = match rest.strip_prefix(b"-") {
        Some(after) => (-1, after),
        None => (1, rest),
    };
    let whole = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    if whole == 0 {
        return None;
    }
    if digits.get(whole) == Some(&b'.') {
        let part = digits[whole + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        let sound = whole <= 12 && (1..=3).contains(&part);
        return sound.then_some((Value::Other, &digits[whole + 1 + part..]));
    }
    if whole > 15 {
        return None;
    }
    let n: i64 = std::str::from_utf8(&digits[..whole]).ok()?.parse().ok()?;
    Some((Value::Integer(sign * n), &digits[whole..]))
}
