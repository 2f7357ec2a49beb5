//! Cache-Control of an answer (RFC 9111 §5.2), and what a targeted field's dictionary comes to.

use super::dictionary::Value;

/// What is said, as far as these tests look.
#[derive(Clone, Debug, Default)]
pub struct Said {
    pub no_store: bool,
    pub private: bool,
    pub no_cache: bool,
    pub must_revalidate: bool,
    pub lifetime_s: Option<u64>,
    pub while_revalidate_s: Option<u64>,
    pub if_error_s: Option<u64>,
}

/// A directive and what stands behind its `=`: nothing, a text that means something, or nonsense.
type Directive = (String, Option<Result<String, ()>>, bool);

pub fn read(lines: &[Vec<u8>]) -> Said {
    let mut all = Vec::new();
    let mut broken = false;
    for line in lines {
        let text: Vec<u8> = line.clone();
        for piece in pieces(&text, &mut broken) {
            if let Some(directive) = directive(&piece) {
                all.push(directive);
            }
        }
    }
    let mut said = conclude(&all);
    if broken {
        // A quoted string without an end: what else might it have held? No lifetime is believed.
        said.lifetime_s = Some(0);
    }
    said
}

/// The members of a list.
pub fn members(line: &[u8]) -> Vec<Vec<u8>> {
    pieces(line, &mut false)
}

/// At commas, except between a quote and its closing one. From a member on in which a quote stays open, quotes hide nothing:
/// whatever stands there is seen.
fn pieces(line: &[u8], broken: &mut bool) -> Vec<Vec<u8>> {
    let mut pieces: Vec<&[u8]> = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let Some(end) = member_end(rest) else {
            *broken = true;
            pieces.extend(rest.split(|b| *b == b','));
            break;
        };
        pieces.push(&rest[..end]);
        rest = if end < rest.len() { &rest[end + 1..] } else { &[] };
    }
    pieces.into_iter().map(blank_free).filter(|piece| !piece.is_empty()).collect()
}

fn member_end(rest: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < rest.len() {
        match rest[at] {
            b',' => return Some(at),
            b'"' => at = closing(rest, at)? + 1,
            _ => at += 1,
        }
    }
    Some(at)
}

fn closing(line: &[u8], opening: usize) -> Option<usize> {
    let mut at = opening + 1;
    while at < line.len() {
        match line[at] {
            b'\\' => at += 2,
            b'"' => return Some(at),
            _ => at += 1,
        }
    }
    None
}

pub fn blank_free(text: &[u8]) -> Vec<u8> {
    let blank = |b: &&u8| **b == b' ' || **b == b'\t';
    let front: Vec<u8> = text.iter().skip_while(blank).copied().collect();
    let mut back: Vec<u8> = front.iter().rev().skip_while(blank).copied().collect();
    back.reverse();
    back
}

fn directive(piece: &[u8]) -> Option<Directive> {
    let text: String = piece.iter().map(|b| char::from(*b)).collect();
    let Some((name, value)) = text.split_once('=') else {
        return Some((text.to_ascii_lowercase(), None, false));
    };
    let spaced = name.ends_with([' ', '\t']);
    let name = name.trim_matches([' ', '\t']).to_ascii_lowercase();
    // No blanks around `=`: the name counts, its value does not.
    if spaced || value.starts_with([' ', '\t']) {
        return Some((name, Some(Err(())), false));
    }
    if value.len() >= 2 && value.starts_with('"') && value.ends_with('"') {
        let inner: Vec<char> = value.chars().skip(1).take(value.chars().count() - 2).collect();
        return Some((name, Some(unescaped(&inner)), true));
    }
    let token = !value.is_empty()
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c));
    Some((name, Some(if token { Ok(value.to_owned()) } else { Err(()) }), false))
}

fn unescaped(inner: &[char]) -> Result<String, ()> {
    let mut plain = String::new();
    let mut at = 0;
    while at < inner.len() {
        match inner[at] {
            '\\' => {
                plain.push(*inner.get(at + 1).ok_or(())?);
                at += 1;
            }
            '"' => return Err(()),
            c => plain.push(c),
        }
        at += 1;
    }
    Ok(plain)
}

fn seconds(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    // RFC 9111 §1.2.2: beyond what fits, 2^31.
    digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX).min(1 << 31))
}

/// Every occurrence says the same number, or the answer is stale: `Some(0)`.
fn one_number(all: &[Directive], wanted: &str) -> Option<u64> {
    let mut numbers: Vec<Option<u64>> = all
        .iter()
        .filter(|(name, ..)| name == wanted)
        .map(|(_, value, _)| value.as_ref().and_then(|v| v.as_ref().ok()).and_then(|v| seconds(v)))
        .collect();
    numbers.dedup();
    match numbers.as_slice() {
        [] => None,
        [Some(seconds)] => Some(*seconds),
        _ => Some(0),
    }
}

/// Fields without which an answer means something else: `private` and `no-cache` of one of them are of the whole.
const NEEDED: [&str; 11] = [
    "age",
    "cache-control",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "date",
    "expires",
    "location",
    "transfer-encoding",
    "vary",
];

/// Whether a `private` or `no-cache` is of the whole answer: any occurrence without a quoted list of field names is.
fn of_the_whole(all: &[Directive], wanted: &str) -> bool {
    all.iter().filter(|(name, ..)| name == wanted).any(|(_, value, quoted)| {
        let Some(Ok(list)) = value else { return true };
        let mut unused = false;
        let bytes: Vec<u8> = list.chars().map(|c| c as u8).collect();
        let names = pieces(&bytes, &mut unused);
        let named = |name: &Vec<u8>| {
            http::HeaderName::from_bytes(name).is_ok_and(|name| !NEEDED.contains(&name.as_str()))
        };
        !quoted || names.is_empty() || !names.iter().all(named)
    })
}

fn conclude(all: &[Directive]) -> Said {
    let is = |wanted: &str| all.iter().any(|(name, ..)| name == wanted);
    let s_maxage = one_number(all, "s-maxage");
    Said {
        // A 200 is understood, so must-understand lifts no-store (RFC 9111 §5.2.2.3).
        no_store: is("no-store") && !is("must-understand"),
        private: of_the_whole(all, "private"),
        no_cache: of_the_whole(all, "no-cache"),
        // s-maxage implies proxy-revalidate (§5.2.2.10).
        must_revalidate: is("must-revalidate") || is("proxy-revalidate") || s_maxage.is_some(),
        lifetime_s: s_maxage.or(one_number(all, "max-age")),
        while_revalidate_s: one_number(all, "stale-while-revalidate"),
        if_error_s: one_number(all, "stale-if-error"),
    }
}

/// RFC 9213 §2.1: values have types; a directive with one it does not take is there and means nothing good.
pub fn of_dictionary(members: &[(String, Value)]) -> Said {
    let all: Vec<Directive> = members
        .iter()
        .filter(|(_, value)| *value != Value::Boolean(false))
        .map(|(name, value)| match value {
            Value::Boolean(_) => (name.clone(), None, false),
            Value::Integer(n) => {
                (name.clone(), Some(u64::try_from(*n).map(|n| n.to_string()).map_err(|_| ())), false)
            }
            Value::Text(text) if ["private", "no-cache"].contains(&name.as_str()) => {
                (name.clone(), Some(Ok(text.clone())), true)
            }
            Value::Text(_) | Value::Other => (name.clone(), Some(Err(())), false),
        })
        .collect();
    conclude(&all)
}
