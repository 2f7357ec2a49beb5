//! Paths that origins read in different ways, and that no reader means honestly: dot segments made of anything but plain
//! dots between plain slashes, NUL, and bytes that are not UTF-8.
//!
//! RFC 3986 §5.2.4 removes `.` and `..` before anything is decoded; origins decode first, take a backslash for a slash, cut
//! parameters off at `;`, or do several of these, each in an order of its own. The form that is judged is the path as the
//! client sent it, decoded until nothing is left to decode: whatever an origin decodes, and how often, it finds no dot
//! segment that is not found here. Linear in the path's length. Not here: all other spellings, which every guard is asked
//! about (`readings`), and which sites refuse (`guards`).

use crate::path::escaped_byte;
use percent_encoding::percent_decode_str;

/// Why a path is ambiguous, for people; `None` for nearly all paths.
pub(crate) fn ambiguous(path: &str) -> Option<&'static str> {
    if !path.bytes().any(|byte| matches!(byte, b'%' | b'\\' | b';') || byte >= 0x80) {
        return None;
    }
    if percent_decode_str(path).decode_utf8().is_err() {
        return Some("it is not UTF-8 (RFC 3629 §3 forbids overlong forms)");
    }
    let decoded = fully_decoded(path);
    if decoded.iter().any(|unit| unit.byte == 0) {
        return Some("it holds a NUL byte");
    }
    if has_overlong(&decoded) {
        return Some("it holds an overlong form once it is decoded again (RFC 3629 §3)");
    }
    has_odd_dot_segment(&decoded).then_some(
        "an encoded or backward slash, an encoded dot or a `;` takes part in a dot segment (RFC 3986 §5.2.4)",
    )
}

/// A byte, and whether it came out of an escape.
#[derive(Clone, Copy)]
struct Unit {
    byte: u8,
    escaped: bool,
}

/// All escapes resolved, those that appear in the course of it, too. Each that is resolved takes two units away, so the
/// work is linear.
fn fully_decoded(path: &str) -> Vec<Unit> {
    let mut out: Vec<Unit> = Vec::with_capacity(path.len());
    for byte in path.bytes() {
        out.push(Unit { byte, escaped: false });
        while let [.., percent, high, low] = out.as_slice() {
            let escape = (percent.byte == b'%').then(|| escaped_byte(Some(high.byte), Some(low.byte)));
            let Some(byte) = escape.flatten() else { break };
            out.truncate(out.len() - 3);
            out.push(Unit { byte, escaped: true });
        }
    }
    out
}

/// Longer forms of what fits fewer bytes. Plain UTF-8 has none, so they come of decoding twice.
fn has_overlong(decoded: &[Unit]) -> bool {
    decoded.windows(2).any(|pair| match pair {
        [first, second] => matches!(
            (first.byte, second.byte),
            (0xC0 | 0xC1, 0x80..=0xBF) | (0xE0, 0x80..=0x9F) | (0xF0, 0x80..=0x8F)
        ),
        _ => false,
    })
}

fn is_slash(unit: &Unit) -> bool {
    matches!(unit.byte, b'/' | b'\\')
}

/// Whether a dot segment is made of, or bounded by, anything but plain dots and slashes.
fn has_odd_dot_segment(decoded: &[Unit]) -> bool {
    let mut before_is_odd = false;
    let mut rest = decoded;
    loop {
        let end = rest.iter().position(is_slash);
        let (segment, after) = rest.split_at(end.unwrap_or(rest.len()));
        let after_is_odd = after.first().is_some_and(|slash| slash.escaped || slash.byte == b'\\');
        if is_dots(segment) && (before_is_odd || after_is_odd || !segment.iter().all(is_plain_dot)) {
            return true;
        }
        let Some((_, next)) = after.split_first() else { return false };
        (before_is_odd, rest) = (after_is_odd, next);
    }
}

fn is_plain_dot(unit: &Unit) -> bool {
    unit.byte == b'.' && !unit.escaped
}

/// A segment that some origin takes for `.` or `..`: dots, what Windows drops behind them, and what may be cut off.
fn is_dots(segment: &[Unit]) -> bool {
    let name =
        segment.split(|unit| matches!(unit.byte, b';' | b'?' | b'#' | b':')).next().unwrap_or_default();
    name.iter().any(|unit| unit.byte == b'.')
        && name.iter().all(|unit| unit.byte == b'.' || unit.byte <= b' ' || unit.byte == 0x7f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn table() {
        for (path, refused) in [
            ("/", false),
            ("/a/../b/./c/..", false),
            ("/a/.../b", false),
            ("/.well-known/a", false),
            ("/a..b/..c/d..", false),
            ("/a%20b/%C3%A4", false),
            ("/a%2Fb", false),
            ("/a%5Cb", false),
            ("/a\\b", false),
            ("/a;b=c/d;e", false),
            ("/a%2F.b/c", false),
            ("/100%25", false),
            ("/5%25add", false),
            ("/a%2Fb/../c", false),
            ("/a;x/../b", false),
            ("/v1.0;x/..b", false),
            ("/a%2F..", true),
            ("/a%2F../b", true),
            ("/a/..%2Fb", true),
            ("/a/.%2Fb", true),
            ("/a%2f.%2fb", true),
            ("/a/..%5Cb", true),
            ("/a\\..\\b", true),
            ("/a/..\\b", true),
            ("/a/..;/b", true),
            ("/a/..;x=y/b", true),
            ("/a/.;/b", true),
            ("/a/..%3B/b", true),
            ("/a/%2e%2e/b", true),
            ("/a/.%2E/b", true),
            ("/a/%2e/b", true),
            ("/a/%252e%252e/b", true),
            ("/a/%25252e./b", true),
            ("/a%252F../b", true),
            ("/a/..%255Cb", true),
            ("/a/..%253Bx/b", true),
            ("/a/..%20/b", true),
            ("/a/..%09", true),
            ("/a/..%3Fx", true),
            ("/a/..%23", true),
            ("/a%00", true),
            ("/a%2500b", true),
            ("/a%FFb", true),
            ("/a%C0%AE%C0%AE/b", true),
            ("/a%E0%80%AFb", true),
            ("/a%25C0%25AFb", true),
            ("/a%ED%A0%80b", true),
            ("/a%2%35%325c/..%2%46", true),
        ] {
            // The last is no valid escape at first sight; what is refused as such never comes here.
            assert_eq!(ambiguous(path).is_some(), refused, "{path}");
        }
    }

    proptest! {
        /// Escaping any character once more changes nothing: who decodes once more finds the same.
        #[test]
        fn one_more_coding_hides_nothing(path in "/(\\.|/|%2F|%5C|%2E|;|a|%3B|\\\\){0,12}", at: prop::sample::Index) {
            let found = ambiguous(&path).is_some();
            let bytes = path.as_bytes();
            let at = at.index(bytes.len());
            if at > 0 && bytes[at] == b'%' {
                let coded = format!("{}%25{}", &path[..at], &path[at + 1..]);
                prop_assert_eq!(ambiguous(&coded).is_some(), found, "{}", coded);
            }
        }

        /// Whatever is let through has no dot segment in whichever way it is decoded, split and cut.
        #[test]
        fn what_is_let_through_climbs_nowhere(path in "/(\\.|\\.\\.|/|%2F|%5C|%252F|%2E|%252e|;|;x|a|%3B|\\\\|%20){0,10}") {
            if crate::normalise_path(&path).is_err() || ambiguous(&path).is_some() {
                return Ok(());
            }
            let normal = crate::normalise_path(&path).unwrap();
            let mut text = normal.into_bytes();
            for _ in 0..4 {
                for segment in text.split(|byte| matches!(byte, b'/' | b'\\')) {
                    let name = segment.split(|byte| *byte == b';').next().unwrap();
                    let name = name.trim_ascii();
                    prop_assert!(name != b"." && name != b"..", "{}", path);
                }
                text = percent_encoding::percent_decode(&text).collect();
            }
        }
    }
}
