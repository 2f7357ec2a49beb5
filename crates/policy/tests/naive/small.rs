//! Age, Vary, If-None-Match and Range.

use super::cache_control::blank_free;

fn digits(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let fine = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    fine.then(|| text.parse().unwrap_or(u64::MAX))
}

/// An age that cannot be read exactly is not known: the largest there is. One sender's list (bare commas) counts by its
/// first member; lines joined on the way (comma and blank) are a repeated field.
pub fn age_s(lines: &[Vec<u8>]) -> u64 {
    const UNKNOWN: u64 = 1 << 31;
    match lines {
        [] => 0,
        [line] => {
            let members: Option<Vec<u64>> = blank_free(line).split(|b| *b == b',').map(digits).collect();
            members.map_or(UNKNOWN, |members| members[0].min(UNKNOWN))
        }
        _ => UNKNOWN,
    }
}

/// Names, lower case, sorted, each once; `None` for "no other request matches".
pub fn vary(lines: &[Vec<u8>]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    // More than 64 are not compared.
    if lines.iter().map(|line| super::cache_control::members(line).len()).sum::<usize>() > 64 {
        return None;
    }
    for line in lines {
        for member in super::cache_control::members(line) {
            let text = String::from_utf8(member).ok()?.to_ascii_lowercase();
            let token = text.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c));
            // What names the client is another in every request that goes out; what is ours is the same in all.
            if text == "*" || !token || text == "forwarded" || text == "x-forwarded-for" {
                return None;
            }
            let ours = "connection te transfer-encoding upgrade keep-alive surrogate-capability";
            if !ours.split(' ').any(|name| name == text) {
                names.push(text);
            }
        }
    }
    names.sort();
    names.dedup();
    Some(names)
}

/// `W/"x"` or `"x"`: what is between the quotes.
fn opaque(tag: &[u8]) -> Option<Vec<u8>> {
    let tag = tag.strip_prefix(b"W/").unwrap_or(tag);
    let inner = tag.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let allowed = |b: &u8| *b == 0x21 || (0x23..=0x7e).contains(b) || *b >= 0x80;
    inner.iter().all(allowed).then(|| inner.to_vec())
}

/// Weak comparison (RFC 9110 §13.1.2); `*` alone matches anything there is.
pub fn none_matches(lines: &[Vec<u8>], own: &[u8]) -> bool {
    let members: Vec<Vec<u8>> = lines.iter().flat_map(|line| super::cache_control::members(line)).collect();
    if members.len() == 1 && members[0] == b"*" {
        return true;
    }
    let own = opaque(&blank_free(own));
    own.is_some() && members.iter().any(|member| opaque(member) == own)
}

/// The bytes each range selects; `None` if the field does not count.
pub fn range(line: &[u8], total: u64) -> Option<Vec<Vec<u64>>> {
    let line = blank_free(line);
    let at = line.iter().position(|b| *b == b'=')?;
    if !line[..at].eq_ignore_ascii_case(b"bytes") {
        return None;
    }
    let members = super::cache_control::members(&line[at + 1..]);
    if members.is_empty() || members.len() > 16 {
        return None;
    }
    let mut sets = Vec::new();
    for member in members {
        let dash = member.iter().position(|b| *b == b'-')?;
        let (first, last) = (&member[..dash], &member[dash + 1..]);
        let chosen: Vec<u64> = if first.is_empty() {
            let count = digits(last)?;
            if total == 0 && count > 0 {
                return None; // nothing to send as a part: the whole, which is nothing
            }
            (0..total).filter(|at| total - at <= count).collect()
        } else {
            let first = digits(first)?;
            let last = if last.is_empty() { u64::MAX } else { digits(last)? };
            if first > last {
                return None;
            }
            (0..total).filter(|at| (first..=last).contains(at)).collect()
        };
        if !chosen.is_empty() {
            sets.push(chosen);
        }
    }
    let mut seen = std::collections::HashSet::new();
    // Overlapping ranges would make more of the body than it is.
    sets.iter().flatten().all(|at| seen.insert(*at)).then_some(sets)
}
