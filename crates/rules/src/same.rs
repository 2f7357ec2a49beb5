//! Values that mean the same, written alike: how the fields that an answer's `Vary` names are compared where no rule
//! says otherwise (RFC 9111 §4.1: white space, and what is known of a field's syntax and meaning).
//!
//! Only what no origin can tell apart by HTTP's rules is made alike. The order of languages with the same weight stays:
//! many origins take the first. Not here: choosing from a declared list (`quality`); credentials and cookies, which
//! are always compared exactly (`value`).

use http::HeaderName;
use http::header::{ACCEPT_CHARSET, ACCEPT_ENCODING, ACCEPT_LANGUAGE};

/// Makes a combined value comparable.
pub(crate) fn same_meaning(name: &HeaderName, value: &[u8]) -> Vec<u8> {
    let in_any_order = *name == ACCEPT_ENCODING || *name == ACCEPT_CHARSET;
    if (in_any_order || *name == ACCEPT_LANGUAGE)
        && let Some(value) = weighted(value, in_any_order)
    {
        return value;
    }
    close_up(value)
}

/// Longer lists are compared as they stand: nobody who means one sends them, and putting them in order takes its time.
const MEMBERS_MAX: usize = 64;

/// A list of words with weights (RFC 9110 §12.4.2): lower case, without blanks, the heaviest first, weights as short as
/// they can be. `None` if it is anything else, or longer than [`MEMBERS_MAX`].
fn weighted(value: &[u8], in_any_order: bool) -> Option<Vec<u8>> {
    if value.iter().filter(|byte| **byte == b',').count() >= MEMBERS_MAX {
        return None;
    }
    let mut members = Vec::new();
    for member in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
        if !member.is_empty() {
            members.push(weighted_member(member)?);
        }
    }
    if in_any_order {
        members.sort();
    }
    // Stable, so that what weighs the same keeps its order.
    members.sort_by_key(|(_, thousandths)| std::cmp::Reverse(*thousandths));
    let mut text = Vec::with_capacity(value.len());
    for (word, thousandths) in members {
        if !text.is_empty() {
            text.push(b',');
        }
        text.extend_from_slice(&word);
        if thousandths < 1000 {
            text.extend_from_slice(format!(";q=0.{thousandths:03}").as_bytes());
        }
    }
    Some(text)
}

fn weighted_member(member: &[u8]) -> Option<(Vec<u8>, u16)> {
    let mut parts = member.splitn(2, |byte| *byte == b';').map(<[u8]>::trim_ascii);
    let word = parts.next()?.to_ascii_lowercase();
    let plain = !word.is_empty() && word.iter().all(|b| b.is_ascii_alphanumeric() || b"-*_.+".contains(b));
    let weight = match parts.next() {
        None => 1000,
        Some(parameter) => {
            let (q, rest) = parameter.split_first()?;
            let value = rest.strip_prefix(b"=").filter(|_| q.eq_ignore_ascii_case(&b'q'))?;
            thousandths(value)?
        }
    };
    plain.then_some((word, weight))
}

/// RFC 9110 §12.4.2: `0` or `1` with up to three digits, not above one.
fn thousandths(text: &[u8]) -> Option<u16> {
    let (whole, fraction) = match text.split_first()? {
        (whole @ (b'0' | b'1'), []) => (*whole, &[][..]),
        (whole @ (b'0' | b'1'), [b'.', fraction @ ..]) if fraction.len() <= 3 => (*whole, fraction),
        _ => return None,
    };
    let mut sum = u16::from(whole - b'0');
    for at in 0..3 {
        let digit = fraction.get(at).copied().unwrap_or(b'0');
        sum = sum * 10 + u16::from(digit.is_ascii_digit().then(|| digit - b'0')?);
    }
    (sum <= 1000).then_some(sum)
}

/// Without blanks around commas, except inside quoted strings (RFC 9110 §5.6.1); otherwise as it is.
fn close_up(value: &[u8]) -> Vec<u8> {
    let mut text: Vec<u8> = Vec::with_capacity(value.len());
    let (mut quoted, mut escaped, mut after_comma) = (false, false, true);
    for &byte in value {
        let blank = byte == b' ' || byte == b'\t';
        if !quoted && blank && after_comma {
            continue;
        }
        if !quoted && byte == b',' {
            let kept = text.iter().rposition(|b| *b != b' ' && *b != b'\t').map_or(0, |last| last + 1);
            text.truncate(kept);
        }
        text.push(byte);
        after_comma = !quoted && byte == b',';
        if !escaped && byte == b'"' {
            quoted = !quoted;
        }
        escaped = quoted && !escaped && byte == b'\\';
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::{ACCEPT, USER_AGENT};
    use proptest::prelude::*;

    fn same(name: &HeaderName, value: &str) -> String {
        String::from_utf8(same_meaning(name, value.as_bytes())).unwrap()
    }

    #[test]
    fn alike() {
        for (name, a, b) in [
            (&ACCEPT_LANGUAGE, "en, de", "eN,  De"),
            (&ACCEPT_LANGUAGE, "en, de", "en,de,"),
            (&ACCEPT_LANGUAGE, "de;q=0.5, en", "en, de;q=0.50"),
            (&ACCEPT_LANGUAGE, "de;q=1.000", "de"),
            (&ACCEPT_LANGUAGE, "de ; Q=1", "de"),
            (&ACCEPT_ENCODING, "gzip, br", "br,gzip"),
            (&ACCEPT_ENCODING, "gzip;q=1.0, br;q=0.8", "br;q=0.800,GZIP"),
            (&USER_AGENT, "a , b", "a,b"),
            (&ACCEPT, "text/html, */*", "text/html,*/*"),
        ] {
            assert_eq!(same(name, a), same(name, b), "{a} / {b}");
        }
    }

    #[test]
    fn not_alike() {
        for (name, a, b) in [
            (&ACCEPT_LANGUAGE, "en, de", "de, en"),
            (&ACCEPT_LANGUAGE, "en, de;q=0.5", "en, de;q=0.6"),
            (&ACCEPT_LANGUAGE, "en, de;q=0", "en"),
            (&ACCEPT_LANGUAGE, "en;q=x", "en"),
            (&ACCEPT_LANGUAGE, "en;q=1.001", "en"),
            (&ACCEPT_LANGUAGE, "en;level=1", "en"),
            (&ACCEPT_LANGUAGE, "*", ""),
            (&ACCEPT_ENCODING, "gzip;q=0", "gzip"),
            (&ACCEPT_ENCODING, "gzip, gzip", "gzip"),
            (&USER_AGENT, "A", "a"),
            (&USER_AGENT, "a b", "ab"),
            (&USER_AGENT, "\"a, b\"", "\"a,b\""),
            (&USER_AGENT, r#""a\", b""#, r#""a\",b""#),
            (&USER_AGENT, "b, a", "a, b"),
        ] {
            assert_ne!(same(name, a), same(name, b), "{a} / {b}");
        }
    }

    proptest! {
        #[test]
        fn idempotent_and_without_panic(value in prop_oneof![
            "[ -~\t]{0,40}",
            "((de|en-US|gzip|\\*)( ?; ?[qQ]=[01](\\.[0-9]{0,4})?)?[ ,]{0,3}){0,5}",
        ]) {
            for name in [ACCEPT_LANGUAGE, ACCEPT_ENCODING, USER_AGENT] {
                let once = same_meaning(&name, value.as_bytes());
                prop_assert_eq!(same_meaning(&name, &once), once);
            }
        }

        /// Nothing but blanks, case, order and weights changes: the letters of both are the same.
        #[test]
        fn nothing_is_lost(value in "[a-z ,\"]{0,30}") {
            let letters = |text: &[u8]| {
                let mut kept: Vec<u8> = text.iter().copied().filter(u8::is_ascii_lowercase).collect();
                kept.sort_unstable();
                kept
            };
            for name in [ACCEPT_LANGUAGE, ACCEPT_ENCODING, USER_AGENT] {
                prop_assert_eq!(letters(&same_meaning(&name, value.as_bytes())), letters(value.as_bytes()));
            }
        }
    }
}
