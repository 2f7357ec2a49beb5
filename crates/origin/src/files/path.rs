//! A URL's path as segments of bytes, and what no segment may hold.
//!
//! The path arrives normalised (dot segments removed, RFC 3986 §6.2.2) but is not trusted to be: a `..` that
//! is still here, plain or encoded, is refused. Not here: which names are hidden, and the file system.

use super::No;
use percent_encoding::percent_decode_str;
use samovar_reason::Files as Reason;
use std::borrow::Cow;

/// The longest name Linux file systems take, bytes (`NAME_MAX`).
const NAME_MAX_BYTES: usize = 255;

/// The longest path the kernel takes, bytes (`PATH_MAX` less its NUL).
const PATH_MAX_BYTES: usize = 4095;

/// One segment, as it came and decoded.
pub(super) struct Segment<'a> {
    /// Percent-encoded, for a redirect.
    pub(super) raw: &'a str,
    /// Decoded.
    pub(super) bytes: Cow<'a, [u8]>,
}

/// A path taken apart. Empty segments are kept: `PATH_INFO` may mean them; files skip them.
pub(super) struct Target<'a> {
    /// The segments between the slashes.
    pub(super) segments: Vec<Segment<'a>>,
    /// The path ends with a slash, so a folder is meant.
    pub(super) folder: bool,
}

impl<'a> Target<'a> {
    /// Takes `/a/b%20c/` apart.
    pub(super) fn parse(path: &'a str) -> Target<'a> {
        let inner = path.strip_prefix('/').unwrap_or(path);
        let (inner, folder) = match inner.strip_suffix('/') {
            Some(rest) => (rest, true),
            None => (inner, inner.is_empty()),
        };
        let split = |raw| Segment { raw, bytes: Cow::from(percent_decode_str(raw)) };
        let segments = if inner.is_empty() { Vec::new() } else { inner.split('/').map(split).collect() };
        Target { segments, folder }
    }

    /// Everything after segment `at`, decoded, as CGI's `PATH_INFO` (RFC 3875 §4.1.5); `None` if nothing.
    ///
    /// An encoded slash is let through here, as it names no file; `..` and NUL are not.
    pub(super) fn path_info(&self, at: usize) -> Result<Option<String>, No> {
        let rest = self.segments.get(at + 1..).unwrap_or_default();
        if rest.is_empty() && !self.folder {
            return Ok(None);
        }
        let mut info = Vec::new();
        for segment in rest {
            info.push(b'/');
            info.extend_from_slice(&segment.bytes);
        }
        if self.folder {
            info.push(b'/');
        }
        if info.contains(&0) {
            return Err(No(Reason::NotFound, "the path holds a NUL byte".to_owned()));
        }
        if info.split(|b| *b == b'/').any(|name| name == b"..") {
            return Err(No(Reason::OutsideRoot, "the path after the script holds `..`".to_owned()));
        }
        let text = String::from_utf8(info);
        text.map(Some).map_err(|_| No(Reason::NotFound, "the path after the script is not UTF-8".to_owned()))
    }

    /// The folder this path should have named: slash at the end, no doubled slashes (`//host/` would be an
    /// address), no backslash (browsers read it as a slash).
    pub(super) fn with_slash(&self) -> String {
        let mut to = String::from("/");
        for segment in self.segments.iter().filter(|s| !s.raw.is_empty()) {
            to.push_str(&segment.raw.replace('\\', "%5C"));
            to.push('/');
        }
        to
    }
}

/// Appends a decoded segment to the path `rel` (relative, no leading slash), or says why it names no file.
pub(super) fn push(rel: &mut Vec<u8>, name: &[u8]) -> Result<(), No> {
    let no = |detail: &str| Err(No(Reason::NotFound, detail.to_owned()));
    if name == b".." {
        return Err(No(Reason::OutsideRoot, "the path holds `..`".to_owned()));
    }
    if name.contains(&b'/') {
        return no("the path holds an encoded slash, which is no part of a file's name");
    }
    if name.contains(&0) {
        return no("the path holds a NUL byte");
    }
    if name.len() > NAME_MAX_BYTES || rel.len() + name.len() + 1 > PATH_MAX_BYTES {
        return no("the name is longer than a file system takes");
    }
    if !rel.is_empty() {
        rel.push(b'/');
    }
    rel.extend_from_slice(name);
    Ok(())
}
