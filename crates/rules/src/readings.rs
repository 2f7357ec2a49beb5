//! How else a path may be read by what answers it: file systems, scripts, servers behind us.
//!
//! A guard must hold for whatever the request may come to in the end. One spelling is compared for every rule
//! ([`compared`]); all others ([`others`]) are asked of the guards alone (`guards`). Origins differ in what they decode, cut
//! off and drop, and each does so independently of the rest, so the readings are the set of all combinations, made step by
//! step from the set before, each once, and bounded. Key and origin keep the path as it came. Not here: the spelling of paths
//! (`path`), dot segments that are refused altogether (`ambiguous`), globs (`glob`).

use crate::path::{escaped_byte, is_path_char, last_segment, push_spelled};
use std::borrow::Cow;

/// So many readings of one path are held to the guards; real paths have fewer than ten.
const READINGS_MAX: usize = 128;

/// All readings of one path together are no longer than this, bytes.
const READINGS_MAX_BYTES: usize = 128 << 10;

/// A path has more readings than are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

/// A normalised path as globs are compared with it: empty segments left out, as file systems and most servers do, and
/// without escapes of what may stand bare (RFC 3986 §2.2 keeps them apart; file systems and applications do not).
pub(crate) fn compared(path: &str) -> Cow<'_, str> {
    if !path.contains("//") && !path.contains('%') {
        return Cow::Borrowed(path);
    }
    Cow::Owned(merged(&bare(path, |byte| byte != b'/' && is_path_char(byte))))
}

/// The path with some escapes resolved, a backslash as a slash.
fn bare(path: &str, resolved: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        let escaped = escaped_byte(after.first().copied(), after.get(1).copied());
        match (byte, escaped) {
            (b'%', Some(escaped)) if resolved(escaped) => {
                out.push(if escaped == b'\\' { '/' } else { char::from(escaped) });
                rest = after.get(2..).unwrap_or_default();
            }
            _ => out.push(char::from(*byte)),
        }
    }
    out
}

/// Without empty segments.
fn merged(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for letter in path.chars() {
        if letter != '/' || !out.ends_with('/') {
            out.push(letter);
        }
    }
    out
}

/// Whether every origin reads a path as it stands, but for the case of its letters: one look at each byte.
pub(crate) fn is_plain(path: &str) -> bool {
    // Of the segment so far: whether it has a dot, which may end a script's name; and its last byte.
    let (mut dotted, mut last) = (false, b'/');
    for byte in path.bytes().skip(1) {
        match byte {
            b'%' | b';' | b':' => return false,
            b'/' if dotted || last == b'/' => return false,
            b'/' => dotted = false,
            b'.' => dotted = true,
            _ => {}
        }
        last = byte;
    }
    !(matches!(last, b'/' | b'.') || dotted && is_document(last_segment(path)))
}

/// Whether the name is one that servers give a folder's default document.
pub(crate) fn is_document(name: &str) -> bool {
    name.split_once('.').is_some_and(|(stem, extension)| {
        (stem.eq_ignore_ascii_case("index") || stem.eq_ignore_ascii_case("default"))
            && !extension.is_empty()
            && !extension.contains('.')
    })
}

/// What a normalised path may come to elsewhere, itself as it is [`compared`] left out. `documents` are the names of a
/// folder's default document.
///
/// # Errors
/// `TooMany` if there are more than are looked at: nobody knows then which guards to ask.
pub(crate) fn others(path: &str, documents: &[String]) -> Result<Vec<String>, TooMany> {
    let mut set = Readings { all: Vec::new(), bytes: 0 };
    set.add(path.to_owned())?;
    // A host, and what follows a `;`, before anything is decoded.
    set.widen("//", without_authority)?;
    set.without_params()?;
    // Decoded twice, or as often as there is something to decode.
    set.widen("%25", |path| peeled(path, false))?;
    set.widen("%25", |path| peeled(path, true))?;
    set.replace(|path| bare(path, |byte| byte != b'/' && is_path_char(byte)))?;
    set.widen("%5C", |path| bare(path, |byte| byte == b'\\'))?;
    set.widen("%2F", |path| bare(path, |byte| byte == b'/'))?;
    // The same after decoding: `%2F%2F`, `%3B`, and parameters that hold slashes.
    set.widen("//", without_authority)?;
    set.without_params()?;
    for end in ["%3F", "%23", "%00"] {
        set.widen(end, |path| up_to(path, end))?;
    }
    set.widen("", as_windows_names)?;
    set.widen("//", merged)?;
    set.replace(without_dot_segments)?;
    set.scripts()?;
    set.widen("/", without_last_slash)?;
    set.documents(documents)?;
    // That of the folders that documents stand for.
    set.widen("/", without_last_slash)?;
    let compared = compared(path);
    set.all.retain(|reading| *reading != compared);
    Ok(set.all)
}

/// A set that grows step by step.
struct Readings {
    all: Vec<String>,
    bytes: usize,
}

impl Readings {
    /// What does not begin with a slash is no path.
    fn add(&mut self, reading: String) -> Result<(), TooMany> {
        if !reading.starts_with('/') || self.all.contains(&reading) {
            return Ok(());
        }
        self.bytes += reading.len();
        if self.all.len() == READINGS_MAX || self.bytes > READINGS_MAX_BYTES {
            return Err(TooMany);
        }
        self.all.push(reading);
        Ok(())
    }

    /// Adds another reading of each that holds `sign`: an origin does this, or it does not.
    fn widen(&mut self, sign: &str, read: impl Fn(&str) -> String) -> Result<(), TooMany> {
        let found = self.all.iter().filter(|path| path.contains(sign)).map(|path| read(path));
        for reading in found.collect::<Vec<_>>() {
            self.add(reading)?;
        }
        Ok(())
    }

    /// Reads each so: all origins do, or it makes no difference to the others.
    fn replace(&mut self, read: impl Fn(&str) -> String) -> Result<(), TooMany> {
        let before = std::mem::take(&mut self.all);
        self.bytes = 0;
        before.iter().try_for_each(|path| self.add(read(path)))
    }

    /// Parameters cut off each segment (Java's servers), the last alone (RFC 2396), or with all that follows.
    fn without_params(&mut self) -> Result<(), TooMany> {
        if !self.all.iter().any(|path| path.contains(';')) {
            return Ok(());
        }
        let before = self.all.len();
        self.widen(";", |path| {
            let names = path.split('/').map(|segment| segment.split(';').next().unwrap_or(segment));
            names.collect::<Vec<_>>().join("/")
        })?;
        let all: Vec<String> = self.all.iter().take(before).cloned().collect();
        for path in all.iter().filter(|path| path.contains(';')) {
            self.add(up_to(path, ";"))?;
            let last = last_segment(path);
            let folder = path.len() - last.len();
            self.add(format!("{}{}", path.get(..folder).unwrap_or(path), up_to(last, ";")))?;
        }
        Ok(())
    }

    /// Every script that may be named on the way, the rest being handed to it (RFC 3875 §4.1.5): all that stands before a
    /// slash and ends in a name with a dot. And the rest by itself: a front controller takes it for the path.
    fn scripts(&mut self) -> Result<(), TooMany> {
        for at in 0..self.all.len() {
            let path = self.all.get(at).cloned().unwrap_or_default();
            for (script, rest) in path.match_indices('/').filter_map(|(end, _)| path.split_at_checked(end)) {
                let name = last_segment(script);
                if name.contains('.') {
                    self.add(script.to_owned())?;
                }
                if may_be_script(name) {
                    self.add(rest.to_owned())?;
                }
            }
        }
        Ok(())
    }

    /// A folder is its default document, and the other way round.
    fn documents(&mut self, documents: &[String]) -> Result<(), TooMany> {
        for at in 0..self.all.len() {
            let path = self.all.get(at).cloned().unwrap_or_default();
            if path.ends_with('/') {
                documents.iter().try_for_each(|name| self.add(format!("{path}{name}")))?;
                continue;
            }
            let name = last_segment(&path);
            if is_document(name) || documents.iter().any(|document| document == name) {
                self.add(path.get(..path.len() - name.len()).unwrap_or("/").to_owned())?;
            }
        }
        Ok(())
    }
}

/// Whether the name may be that of a script: its extension begins with a letter, which those of versions do not.
fn may_be_script(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(|extension| extension.starts_with(|first: char| first.is_ascii_alphabetic()))
}

/// All before the first `end`.
fn up_to(path: &str, end: &str) -> String {
    path.split(end).next().unwrap_or(path).to_owned()
}

/// One decoding more: `%2541` as `%41`; or as many as there are.
fn peeled(path: &str, all: bool) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once("%25") {
        out.push_str(before);
        let mut inner = after;
        while let (true, Some(deeper)) = (all, inner.strip_prefix("25")) {
            inner = deeper;
        }
        let mut digits = inner.bytes();
        match escaped_byte(digits.next(), digits.next()) {
            Some(byte) => {
                push_spelled(&mut out, byte, is_path_char(byte) && byte != b'/');
                rest = inner.get(2..).unwrap_or_default();
            }
            None => {
                out.push_str("%25");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// As a reference to another host (RFC 3986 §4.2), which parsers of URLs make of a path that begins with two slashes.
fn without_authority(path: &str) -> String {
    if !path.starts_with("//") {
        return path.to_owned();
    }
    let authority = path.trim_start_matches('/');
    authority.find('/').and_then(|end| authority.get(end..)).unwrap_or("/").to_owned()
}

/// As Windows opens it: without dots and white space at the end of a name, and without the name of a stream.
fn as_windows_names(path: &str) -> String {
    let names = path.split('/').map(|segment| {
        if matches!(segment, "." | "..") {
            return segment;
        }
        let mut name = segment.split(':').next().unwrap_or(segment);
        loop {
            let control = name.len().checked_sub(3).and_then(|at| name.get(at..)).filter(|end| is_space(end));
            match name.strip_suffix('.').or_else(|| name.strip_suffix(control?)) {
                Some(shorter) => name = shorter,
                None => return name,
            }
        }
    });
    names.collect::<Vec<_>>().join("/")
}

/// The escape of a space or a control character.
fn is_space(escape: &str) -> bool {
    let Some(digits) = escape.strip_prefix('%') else { return false };
    u8::from_str_radix(digits, 16).is_ok_and(|byte| byte <= b' ' || byte == 0x7f)
}

/// RFC 3986 §5.2.4, which stops at the root. There are none but where ambiguous paths are passed on.
fn without_dot_segments(path: &str) -> String {
    if !path.contains("/.") {
        return path.to_owned();
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut is_folder = false;
    for segment in path.split('/').skip(1) {
        is_folder = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            other => kept.push(other),
        }
    }
    if is_folder || kept.is_empty() {
        kept.push("");
    }
    kept.iter().flat_map(|segment| ["/", segment]).collect()
}

fn without_last_slash(path: &str) -> String {
    path.strip_suffix('/').unwrap_or(path).to_owned()
}

/// Lower case, of letters beyond ASCII, too: as file systems compare that do not mind the case. Of a path or a glob in the
/// spelling of paths.
pub(crate) fn folded(spelled: &str) -> String {
    let mut out = String::with_capacity(spelled.len());
    let mut rest = spelled;
    while let Some(letter) = rest.chars().next() {
        let foreign = foreign_bytes(rest);
        if foreign.is_empty() {
            // An escape of something else keeps its digits.
            let len = if letter == '%' { 3.min(rest.len()) } else { letter.len_utf8() };
            let (this, after) = rest.split_at_checked(len).unwrap_or((rest, ""));
            match letter {
                '%' => out.push_str(this),
                _ => out.push(letter.to_ascii_lowercase()),
            }
            rest = after;
            continue;
        }
        rest = rest.get(foreign.len() * 3..).unwrap_or_default();
        match std::str::from_utf8(&foreign) {
            // The long s and the sign of the kelvin are letters of ASCII in another case.
            Ok(text) => text.chars().flat_map(char::to_lowercase).for_each(|letter| match letter {
                'ſ' => out.push('s'),
                letter if letter.is_ascii() => out.push(letter),
                letter => {
                    let mut bytes = [0; 4];
                    letter
                        .encode_utf8(&mut bytes)
                        .bytes()
                        .for_each(|byte| push_spelled(&mut out, byte, false));
                }
            }),
            Err(_) => foreign.iter().for_each(|byte| push_spelled(&mut out, *byte, false)),
        }
    }
    out
}

/// The bytes beyond ASCII that the text begins with, each an escape.
fn foreign_bytes(text: &str) -> Vec<u8> {
    let mut found = Vec::new();
    for escape in text.as_bytes().chunks_exact(3) {
        match escape {
            [b'%', high, low] => match escaped_byte(Some(*high), Some(*low)) {
                Some(byte @ 0x80..) => found.push(byte),
                _ => break,
            },
            _ => break,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalise_path;
    use proptest::prelude::*;

    #[test]
    fn one_spelling() {
        for (path, wanted) in [
            ("/a/b", "/a/b"),
            ("//a///b//", "/a/b/"),
            ("/team%40home/%26x%2Cy", "/team@home/&x,y"),
            ("/a%2Fb", "/a%2Fb"),
            ("/a%5Cb%20c", "/a%5Cb%20c"),
            ("/%C3%9F", "/%C3%9F"),
            ("/100%25", "/100%25"),
        ] {
            assert_eq!(compared(path), wanted, "{path}");
        }
    }

    #[test]
    fn other_readings() {
        for (path, wanted) in [
            ("/a/b", &[][..]),
            ("/a.php", &[]),
            ("/a.php/", &["/", "/a.php", "/a.php/index.php", "/index.php"]),
            ("/a.php/x.y/z", &["/a.php", "/a.php/x.y", "/x.y/z", "/z"]),
            ("/v1.0/a.php/x", &["/v1.0", "/v1.0/a.php", "/x"]),
            ("/v1.0/x", &["/v1.0"]),
            ("/front.php/s/x", &["/front.php", "/s/x"]),
            ("/s;v=1/x;y", &["/s/x", "/s", "/s;v=1/x"]),
            ("/s;v=1%2Fx", &["/s", "/s;v=1/x", "/s/x"]),
            ("/s%3Bv", &["/s"]),
            ("/s%2Fx", &["/s/x"]),
            ("/s%5Cx", &["/s/x"]),
            ("/s%2Fx%5Cy", &["/s%2Fx/y", "/s/x%5Cy", "/s/x/y"]),
            ("/s%252Fx", &["/s%2Fx", "/s/x"]),
            ("/s%25252Fx", &["/s%252Fx", "/s%2Fx", "/s/x"]),
            ("/%2573", &["/s"]),
            ("/a%2F%2Fb", &["/a//b", "/a/b"]),
            ("/a//b", &["/a//b"]),
            ("//a/s", &["//a/s", "/s"]),
            ("///a/s", &["///a/s", "/s"]),
            ("/%2Fa/s", &["//a/s", "/a/s", "/s"]),
            ("/a.php%2Fx", &["/a.php/x", "/a.php", "/x"]),
            ("/a%20b", &[]),
            ("/a%20", &["/a"]),
            ("/a.", &["/a"]),
            ("/a. ../b", &[]),
            ("/a::$DATA", &["/a"]),
            ("/a%3Fb", &["/a"]),
            ("/a/", &["/a", "/a/index.php"]),
            ("/a/index.html", &["/a/", "/a"]),
            ("/", &["/index.php"]),
        ] {
            let Ok(path) = normalise_path(path) else { panic!("{path}") };
            let mut found = others(&path, &["index.php".to_owned()]).unwrap();
            let mut wanted: Vec<String> = wanted.iter().map(|text| (*text).to_owned()).collect();
            if path == "/a.%20../b" {
                wanted.push("/a/b".to_owned());
                wanted.push("/a.%20..".to_owned());
            }
            found.sort();
            wanted.sort();
            assert_eq!(found, wanted, "{path}");
        }
    }

    /// Where dot segments are passed on, they are read like everything else.
    #[test]
    fn dot_segments_in_all_orders() {
        for (path, wanted) in [
            ("/a%2F..%2Fs/x", "/s/x"),
            ("/s%2F..;%2F../x", "/x"),
            ("/a/..%5Cs", "/s"),
            ("/a/b%2F..", "/a/"),
            ("/%2F..%2F..", "/"),
            ("/a/%252e%252e/s", "/s"),
        ] {
            let path = normalise_path(path).unwrap();
            let found = others(&path, &[]).unwrap();
            assert!(found.iter().any(|reading| reading == wanted), "{path}: {found:?}");
        }
    }

    #[test]
    fn too_many() {
        assert_eq!(others(&format!("/{}", "a.b/".repeat(200)), &[]), Err(TooMany));
        assert_eq!(others(&format!("/{}%2F{}", "a".repeat(100_000), "b".repeat(30_000)), &[]), Err(TooMany));
        assert!(others(&format!("/{}%2F;x:.", "a".repeat(4_000)), &[]).is_ok());
    }

    #[test]
    fn without_case() {
        for (path, wanted) in [
            ("/Staff/%2FX", "/staff/%2Fx"),
            ("/%C3%84/%C3%A4", "/%C3%A4/%C3%A4"),
            ("/%E2%84%AA%C5%BF", "/ks"),
            ("/%FF%C3", "/%FF%C3"),
            ("/{A,%C3%84}*", "/{a,%C3%A4}*"),
            ("/a%2", "/a%2"),
        ] {
            assert_eq!(folded(path), wanted, "{path}");
        }
    }

    proptest! {
        /// However a path is written, what is compared is one spelling of it.
        #[test]
        fn comparing_twice_changes_nothing(path in "/[a./;%25@F-]{0,16}") {
            if let Ok(path) = normalise_path(&path) {
                let once = compared(&path).into_owned();
                prop_assert_eq!(compared(&once), once.as_str());
                prop_assert!(!once.contains("//"));
            }
        }

        /// The one look misses no reading.
        #[test]
        fn plain_paths_have_no_other_reading(path in "/([a-z.~-]|/|%2F|%5C|%25|;|:|index\\.html|%20){0,12}") {
            if let Ok(path) = normalise_path(&path)
                && is_plain(&path)
            {
                prop_assert_eq!(others(&path, &["index.html".to_owned()]), Ok(Vec::new()));
            }
        }

        /// Bounded in number and bytes, and no reading twice.
        #[test]
        fn readings_are_bounded(path in "/([aB.]|/|%2F|%5C|%25|;|:|%3B|%3F|%20|%252F){0,40}") {
            if let Ok(path) = normalise_path(&path)
                && let Ok(found) = others(&path, &["index.html".to_owned()])
            {
                prop_assert!(found.len() <= READINGS_MAX);
                let distinct: std::collections::HashSet<_> = found.iter().collect();
                prop_assert_eq!(distinct.len(), found.len());
            }
        }
    }
}
