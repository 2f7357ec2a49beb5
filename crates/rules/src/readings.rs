//! How else a path may be read by what answers it: file systems, scripts, servers behind us.
//!
//! A rule that lets in only some must hold for whatever the request may come to in the end. One spelling is compared for
//! every rule ([`compared`]); the others ([`others`]) are asked only of rules that protect, and only where the rule of the
//! path itself does not. Key and origin keep the path as it came. Not here: the spelling of paths (`path`), globs (`glob`).

use crate::path::{escaped_byte, is_path_char, normalise_path};
use std::borrow::Cow;

/// Of a path with many dots so many scripts are thought of; each would have to lie in the folder before it.
const SCRIPTS_MAX: usize = 32;

/// A normalised path as globs are compared with it: empty segments left out, as file systems and most servers do, and
/// without escapes of what may stand bare (RFC 3986 §2.2 keeps them apart; file systems and applications do not).
pub(crate) fn compared(path: &str) -> Cow<'_, str> {
    if !path.contains("//") && !path.contains('%') {
        return Cow::Borrowed(path);
    }
    Cow::Owned(bare(path, |byte| byte != b'/' && is_path_char(byte)))
}

/// The path with some escapes resolved, and no empty segments.
fn bare(path: &str, resolved: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'/' if out.ends_with('/') => {}
            b'%' => {
                let escaped = escaped_byte(after.first().copied(), after.get(1).copied());
                match escaped.filter(|byte| resolved(*byte)) {
                    Some(b'/' | b'\\') if out.ends_with('/') => rest = after.get(2..).unwrap_or_default(),
                    Some(byte) => {
                        out.push(if byte == b'\\' { '/' } else { char::from(byte) });
                        rest = after.get(2..).unwrap_or_default();
                    }
                    None => out.push('%'),
                }
            }
            other => out.push(char::from(*other)),
        }
    }
    out
}

/// What a compared path may come to elsewhere: with `%2F` and `%5C` read as slashes and what follows a `;` left out of each
/// segment, as some servers do; and every script that may be named on the way, the rest being handed to it (RFC 3875
/// §4.1.5).
pub(crate) fn others(path: &str) -> Vec<String> {
    let mut all = Vec::new();
    if path.contains([';', '%']) {
        let slashed = bare(path, |byte| matches!(byte, b'/' | b'\\'));
        let segments = slashed.split('/').map(|segment| segment.split(';').next().unwrap_or(segment));
        let plain = segments.collect::<Vec<_>>().join("/");
        // Above the root it names nothing.
        if let Ok(other) = normalise_path(&plain).map(|other| compared(&other).into_owned())
            && other != path
        {
            all.push(other);
        }
    }
    let scripts: Vec<String> = std::iter::once(path)
        .chain(all.iter().map(String::as_str))
        .flat_map(|path| scripts(path).map(str::to_owned))
        .collect();
    all.extend(scripts);
    all
}

/// All that stands before a slash and ends in a name with a dot.
fn scripts(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/')
        .filter_map(|(at, _)| path.get(..at))
        .filter(|before| before.rsplit('/').next().is_some_and(|name| name.contains('.')))
        .take(SCRIPTS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
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
            ("/a.php/", &["/a.php"]),
            ("/a.php/x.y/z", &["/a.php", "/a.php/x.y"]),
            ("/v1.0/a.php/x", &["/v1.0", "/v1.0/a.php"]),
            ("/secret;v=1/x;y", &["/secret/x"]),
            ("/secret%2Fx", &["/secret/x"]),
            ("/secret%5Cx", &["/secret/x"]),
            ("/a%2F..%2Fsecret/x", &["/secret/x", "/a%2F..%2Fsecret"]),
            ("/a%2F%2Fb", &["/a/b"]),
            ("/%2F..%2F..", &[]),
            ("/a.php%2Fx", &["/a.php/x", "/a.php"]),
            ("/a%20b", &[]),
        ] {
            assert_eq!(others(path), wanted, "{path}");
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
    }
}
