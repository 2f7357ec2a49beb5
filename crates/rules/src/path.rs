//! One spelling per path: what the key, the rules and the origin all see.
//!
//! RFC 3986 §6.2.2 as far as it is safe for any origin: unreserved characters decoded, hexadecimal digits in
//! upper case, dot segments removed. `//` is kept, and what is reserved (`%2F`, `%00`, `%2B`, …) is never
//! decoded, since an origin may tell it from the bare character. Not here: whether a file may be served
//! (`origin::files`).

use samovar_reason::Reject;

/// RFC 3986 §2.3: characters that mean the same with and without an escape.
pub(crate) fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// RFC 3986 §3.3: `pchar` without the escape, and the slash.
pub(crate) fn is_path_char(byte: u8) -> bool {
    is_unreserved(byte) || matches!(byte, b'/' | b'!' | b'$' | b'&'..=b',' | b';' | b'=' | b':' | b'@')
}

/// The path as key, rules and origin see it. Idempotent.
///
/// Characters a URI may not hold bare (space, `"`, `|`, anything beyond ASCII) are escaped; control characters,
/// `?` and `#` cannot stand in a path and are refused.
///
/// # Errors
/// `BadEscape` for a `%` without two hexadecimal digits, `AboveRoot` for more `..` than folders,
/// `BadRequestLine` for what is no path at all.
pub fn normalise_path(path: &str) -> Result<String, Reject> {
    if path.is_empty() {
        return Ok("/".to_owned());
    }
    if !path.starts_with('/') {
        return Err(Reject::BadRequestLine);
    }
    let spelled = spell(path)?;
    if spelled.contains("/.") { without_dot_segments(&spelled) } else { Ok(spelled) }
}

/// Settles every character, leaves the segments alone.
fn spell(path: &str) -> Result<String, Reject> {
    if path.bytes().all(is_path_char) {
        return Ok(path.to_owned());
    }
    let mut out = String::with_capacity(path.len() + 16);
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let escaped = escaped_byte(bytes.next(), bytes.next()).ok_or(Reject::BadEscape)?;
                push_spelled(&mut out, escaped, is_unreserved(escaped));
            }
            b'?' | b'#' | 0..=0x1f | 0x7f => return Err(Reject::BadRequestLine),
            other => push_spelled(&mut out, other, is_path_char(other)),
        }
    }
    Ok(out)
}

/// The byte that `%` and these two digits stand for.
pub(crate) fn escaped_byte(high: Option<u8>, low: Option<u8>) -> Option<u8> {
    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

/// The byte itself where it may stand bare, its escape otherwise.
pub(crate) fn push_spelled(out: &mut String, byte: u8, bare: bool) {
    if bare {
        out.push(char::from(byte));
    } else {
        out.push('%');
        push_hex(out, byte);
    }
}

/// Two hexadecimal digits, in upper case. A whole head may have to be written so, and `write!` takes ten times as long.
pub(crate) fn push_hex(out: &mut String, byte: u8) {
    for digit in [byte >> 4, byte & 15] {
        out.push(char::from(if digit < 10 { b'0' + digit } else { b'A' + digit - 10 }));
    }
}

/// RFC 3986 §5.2.4, except that climbing above the root is an error instead of being ignored.
fn without_dot_segments(path: &str) -> Result<String, Reject> {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        match segment {
            "." => {}
            ".." => {
                kept.pop().ok_or(Reject::AboveRoot)?;
            }
            other => {
                kept.push(other);
                continue;
            }
        }
        if segments.peek().is_none() {
            kept.push("");
        }
    }
    let mut out = String::with_capacity(path.len());
    for segment in kept {
        out.push('/');
        out.push_str(segment);
    }
    Ok(out)
}

/// What follows the last slash.
pub(crate) fn last_segment(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The extension of a last segment, with its dot, in the path's own case: `.php`. A name that is nothing but an
/// extension (`.php`) has that extension: it must not slip past a handler.
pub(crate) fn extension(segment: &str) -> Option<&str> {
    let dot = segment.rfind('.')?;
    segment.get(dot..)
}

/// Lower case for `ignore_case`, escapes left in upper case as everywhere else.
pub(crate) fn push_lower_case(out: &mut String, path: &str) {
    let mut rest_of_escape = 0_u8;
    for letter in path.chars() {
        match (letter, rest_of_escape) {
            ('%', _) => rest_of_escape = 2,
            (_, 1..) => {
                rest_of_escape -= 1;
                out.push(letter);
                continue;
            }
            _ => {}
        }
        out.push(letter.to_ascii_lowercase());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_path() {
        for (given, expected) in [
            ("", "/"),
            ("/", "/"),
            ("/a/b", "/a/b"),
            ("/%61%2Db", "/a-b"),
            ("/%7euser", "/~user"),
            ("/a%2fb", "/a%2Fb"),
            ("/a%2Fb", "/a%2Fb"),
            ("/a%00", "/a%00"),
            ("/%c3%9f", "/%C3%9F"),
            ("/ß", "/%C3%9F"),
            ("/a b|c", "/a%20b%7Cc"),
            ("/%252e%252e/x", "/%252e%252e/x"),
            ("//a//b/", "//a//b/"),
            ("/a/./b", "/a/b"),
            ("/a/.", "/a/"),
            ("/a/..", "/"),
            ("/a/../b", "/b"),
            ("/a/%2e%2E/b", "/b"),
            ("/a//../b", "/a/b"),
            ("/a/...", "/a/..."),
            ("/a/..b/.c", "/a/..b/.c"),
            ("/a+b,c;d=e@f:g!$&'()*", "/a+b,c;d=e@f:g!$&'()*"),
            ("/[x]", "/%5Bx%5D"),
            ("/a\\..\\b", "/a%5C..%5Cb"),
        ] {
            assert_eq!(normalise_path(given).as_deref(), Ok(expected), "{given}");
        }
    }

    #[test]
    fn refusals() {
        for (given, expected) in [
            ("/%", Reject::BadEscape),
            ("/%4", Reject::BadEscape),
            ("/%4g", Reject::BadEscape),
            ("/%+1", Reject::BadEscape),
            ("/%%41", Reject::BadEscape),
            ("/..", Reject::AboveRoot),
            ("/a/../..", Reject::AboveRoot),
            ("/a/%2e%2e/%2e./b", Reject::AboveRoot),
            ("*", Reject::BadRequestLine),
            ("a/b", Reject::BadRequestLine),
            ("/a\nb", Reject::BadRequestLine),
            ("/a?b", Reject::BadRequestLine),
            ("/a#b", Reject::BadRequestLine),
        ] {
            assert_eq!(normalise_path(given), Err(expected), "{given}");
        }
    }

    #[test]
    fn extensions() {
        for (path, expected) in [
            ("/a/b.php", Some(".php")),
            ("/a.b/c", None),
            ("/a.tar.GZ", Some(".GZ")),
            ("/.htaccess", Some(".htaccess")),
            ("/a.", Some(".")),
            ("/a.php/", None),
        ] {
            assert_eq!(extension(last_segment(path)), expected, "{path}");
        }
    }

    #[test]
    fn lower_case_leaves_escapes() {
        let mut out = String::new();
        push_lower_case(&mut out, "/Ab%2FCD%C3%9FE");
        assert_eq!(out, "/ab%2Fcd%C3%9Fe");
    }
}
