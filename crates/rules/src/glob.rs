//! Path globs: `/admin/**`, `*.jpg`, `/img/[0-9]?/{a,b}*.png`.
//!
//! The text is first brought into the spelling of normalised paths, so that an operator may write `/straße/**`.
//! Most globs are then answered by comparing heads and tails; only the rest runs the compiled form. Not here:
//! names of cookies and query variables (`wild`), where `*` is all there is.

use crate::path::{escaped_byte, is_path_char, last_segment, push_spelled};
use crate::readings::{compared, folded};
use crate::types::PathGlob;
use globset::GlobBuilder;

/// What a glob comes down to, in the spelling of normalised paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Looks at the last segment only: the glob has no `/`.
    pub(crate) on_segment: bool,
    /// Compares without case.
    pub(crate) ignore_case: bool,
    /// The glob in the spelling of paths.
    pub(crate) spelled: String,
    /// See [`Kind`].
    pub(crate) kind: Kind,
}

/// How a glob is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Every path: `*`, `**`, `/**`.
    Any,
    /// Exactly this.
    Literal,
    /// All that begins with this, which ends in `/`: `/admin/**`.
    Under(String),
    /// All segments that end in this: `*.jpg`.
    Suffix(String),
    /// The compiled form decides, if head and tail fit.
    Mixed {
        /// What every match begins with.
        head: String,
        /// What every match ends in.
        tail: String,
    },
}

impl PathGlob {
    /// Compiles a glob. `*` and `?` stop at `/`, `**` between slashes does not; `[a-z]`, `{a,b}` and `\` for a
    /// literal next character; without any `/` the last segment is meant.
    ///
    /// # Errors
    /// What is wrong with the text, and what to write instead.
    pub fn new(text: &str) -> Result<PathGlob, String> {
        PathGlob::with_case(text, false)
    }

    /// As [`PathGlob::new`], matching without case if `ignore_case`.
    ///
    /// # Errors
    /// As [`PathGlob::new`].
    pub fn with_case(text: &str, ignore_case: bool) -> Result<PathGlob, String> {
        let mut spelled = spell(text)?;
        while spelled.contains("//") {
            // Paths are compared without empty segments.
            spelled = spelled.replace("//", "/");
        }
        check(text, &spelled)?;
        PathGlob::of_spelled(text, spelled, ignore_case)
    }

    fn of_spelled(text: &str, spelled: String, ignore_case: bool) -> Result<PathGlob, String> {
        let glob = GlobBuilder::new(&spelled)
            .literal_separator(true)
            .backslash_escape(true)
            .case_insensitive(ignore_case)
            .build()
            .map_err(|error| format!("`{text}` is not a path glob: {}", error.kind()))?
            .compile_matcher();
        let on_segment = !spelled.contains('/');
        let kind = kind_of(&spelled, on_segment);
        Ok(PathGlob { text: text.to_owned(), glob, shape: Shape { on_segment, ignore_case, spelled, kind } })
    }

    /// The same glob for paths that are [`folded`], itself if that is none.
    pub(crate) fn folded(&self) -> PathGlob {
        let spelled = folded(&self.shape.spelled);
        PathGlob::of_spelled(&self.text, spelled, true).unwrap_or_else(|_| self.clone())
    }

    /// True if the glob covers this normalised path.
    pub fn matches(&self, path: &str) -> bool {
        let path = compared(path);
        self.matches_split(&path, last_segment(&path))
    }

    /// As [`PathGlob::matches`], of a path that is [`compared`], with the last segment already at hand.
    pub(crate) fn matches_split(&self, path: &str, segment: &str) -> bool {
        let subject = if self.shape.on_segment { segment } else { path };
        match &self.shape.kind {
            Kind::Any => true,
            Kind::Literal => self.shape.same(subject, &self.shape.spelled),
            Kind::Under(head) => self.shape.begins(subject, head),
            Kind::Suffix(tail) => self.shape.ends(subject, tail),
            Kind::Mixed { head, tail } => {
                self.shape.begins(subject, head)
                    && self.shape.ends(subject, tail)
                    && self.glob.is_match(subject)
            }
        }
    }
}

/// The compiled form prints as pages of automaton; the text says it all.
impl std::fmt::Debug for PathGlob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PathGlob({:?})", self.text)
    }
}

impl Shape {
    fn same(&self, one: &str, other: &str) -> bool {
        if self.ignore_case { one.eq_ignore_ascii_case(other) } else { one == other }
    }

    pub(crate) fn begins(&self, subject: &str, head: &str) -> bool {
        subject.get(..head.len()).is_some_and(|start| self.same(start, head))
    }

    pub(crate) fn ends(&self, subject: &str, tail: &str) -> bool {
        let start = subject.len().checked_sub(tail.len());
        start.and_then(|start| subject.get(start..)).is_some_and(|end| self.same(end, tail))
    }

    /// What every match begins with.
    pub(crate) fn head(&self) -> &str {
        match &self.kind {
            Kind::Any | Kind::Suffix(_) => "",
            Kind::Literal => &self.spelled,
            Kind::Under(head) | Kind::Mixed { head, .. } => head,
        }
    }

    /// What every match ends in.
    pub(crate) fn tail(&self) -> &str {
        match &self.kind {
            Kind::Any | Kind::Under(_) => "",
            Kind::Literal => &self.spelled,
            Kind::Suffix(tail) | Kind::Mixed { tail, .. } => tail,
        }
    }
}

/// What is not itself in a glob.
pub(crate) const META: [char; 8] = ['*', '?', '[', ']', '{', '}', ',', '\\'];

fn kind_of(spelled: &str, on_segment: bool) -> Kind {
    let Some(first) = spelled.find(META) else { return Kind::Literal };
    let head = spelled.get(..first).unwrap_or_default();
    let after_head = spelled.get(first..).unwrap_or_default();
    // A comma or a closing bracket outside of brackets is plain text, and the tail merely shorter than it could be.
    let tail = match spelled.rfind(META) {
        Some(last) if !spelled.contains('\\') => spelled.get(last + 1..).unwrap_or_default(),
        _ => "",
    };
    // The slash behind `**` belongs to it, and both may stand for nothing.
    let tail =
        if spelled.ends_with(&format!("**{tail}")) { tail.strip_prefix('/').unwrap_or(tail) } else { tail };
    match after_head {
        "*" | "**" if on_segment && head.is_empty() => Kind::Any,
        "**" if head == "/" => Kind::Any,
        "**" if head.ends_with('/') => Kind::Under(head.to_owned()),
        _ if on_segment && after_head.strip_prefix('*') == Some(tail) && head.is_empty() => {
            Kind::Suffix(tail.to_owned())
        }
        _ => Kind::Mixed { head: head.to_owned(), tail: tail.to_owned() },
    }
}

/// The glob's literal characters as [`crate::normalise_path`] would spell them.
fn spell(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut in_class = false;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            0..=0x1f | 0x7f => return Err("a path glob cannot hold control characters".to_owned()),
            0x80.. if in_class => {
                return Err(format!("`{text}`: only ASCII can stand in [ ]; write {{ä,ö}} instead"));
            }
            b'\\' => match bytes.next() {
                Some(next) if is_path_char(next) || META.contains(&char::from(next)) => {
                    push_escaped(&mut out, next)
                }
                Some(next) => push_spelled(&mut out, next, false),
                None => return Err(format!("`{text}` ends in a `\\` with nothing behind it")),
            },
            b'%' => {
                let escaped = escaped_byte(bytes.next(), bytes.next()).ok_or_else(|| {
                    format!("`{text}`: `%` needs two hexadecimal digits; the character itself is `%25`")
                })?;
                // As paths are compared: what may stand bare does, but for a slash.
                match escaped != b'/' && is_path_char(escaped) {
                    true if META.contains(&char::from(escaped)) => push_escaped(&mut out, escaped),
                    bare => push_spelled(&mut out, escaped, bare),
                }
            }
            _ if in_class => {
                in_class = byte != b']';
                out.push(char::from(byte));
            }
            b'[' => {
                in_class = true;
                out.push('[');
            }
            b'*' | b'?' | b']' | b'{' | b'}' => out.push(char::from(byte)),
            other => push_spelled(&mut out, other, is_path_char(other)),
        }
    }
    Ok(out)
}

/// A character that the operator wrote after `\`: brackets never stand bare in a path, the others keep their `\`.
fn push_escaped(out: &mut String, byte: u8) {
    if is_path_char(byte) {
        out.push('\\');
        out.push(char::from(byte));
    } else {
        push_spelled(out, byte, false);
    }
}

/// Refuses globs that compile but cannot mean what they seem to.
fn check(text: &str, spelled: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("a path glob cannot be empty; leave `path` out to match every path".to_owned());
    }
    if spelled.contains('/') && !["/", "**/", "{"].iter().any(|start| spelled.starts_with(start)) {
        return Err(format!(
            "`{text}` can never match, since paths begin with `/`; write `/{text}` or `**/{text}`"
        ));
    }
    if spelled.starts_with("**/") && spelled.ends_with("**/") {
        return Err(format!("`{text}` is ambiguous; write `/**` for every path"));
    }
    let parts = spelled.split(['/', '{', ',', '}']);
    let wrong_stars = parts.clone().any(|part| part.contains("**") && part != "**");
    if wrong_stars {
        return Err(format!("`{text}`: `**` must stand alone between slashes, as in `/img/**/*.jpg`"));
    }
    if parts.clone().any(|part| part == "." || part == "..") {
        return Err(format!(
            "`{text}` can never match, since `.` and `..` are settled before paths are compared"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalise_path;
    use proptest::prelude::*;

    #[test]
    fn table() {
        for (text, path, expected) in [
            ("/admin/**", "/admin/", true),
            ("/admin/**", "/admin/a/b", true),
            ("/admin/**", "/admin", false),
            ("/admin/**", "/adminx/", false),
            ("/admin/*", "/admin/a", true),
            ("/admin/*", "/admin/a/b", false),
            ("/admin*", "/admin", true),
            ("*.jpg", "/a/b.jpg", true),
            ("*.jpg", "/b.jpg", true),
            ("*.jpg", "/.jpg", true),
            ("*.jpg", "/b.JPG", false),
            ("*.jpg", "/b.jpg/c", false),
            ("index.*", "/a/index.html", true),
            ("index.html", "/a/index.html", true),
            ("index.html", "/a/xindex.html", false),
            ("*", "/", true),
            ("*", "/a/b", true),
            ("**", "/a/b", true),
            ("/**", "/", true),
            ("/*", "/a", true),
            ("/*", "/a/b", false),
            ("/", "/", true),
            ("/", "/a", false),
            ("/a/**/b", "/a/b", true),
            ("/a/**/b", "/a/x/y/b", true),
            ("/a/**/b", "/a/xb", false),
            ("**/b.gif", "/b.gif", true),
            ("**/b.gif", "/x/y/b.gif", true),
            ("**//b", "/b", true),
            ("**/x/*.gif", "/a/x/b.gif", true),
            ("/[0-9]?.png", "/7x.png", true),
            ("/[!0-9].png", "/7.png", false),
            ("/{a,b}/*", "/b/c", true),
            ("/{a,b}/*", "/c/c", false),
            ("{/a,/b}/c", "/b/c", true),
            ("{/admin,/admin/**}", "/admin", true),
            ("{/admin,/admin/**}", "/admin/", true),
            ("{/admin,/admin/**}", "/admin/a/b", true),
            ("{/admin,/admin/**}", "/adminx", false),
            ("/team%40home/*", "/team@home/x", true),
            ("/100%2A", "/100*", true),
            ("/100%2A", "/100x", false),
            ("/a,b", "/a,b", true),
            ("/straße/**", "/stra%C3%9Fe/x", true),
            ("/{ä,ö}", "/%C3%B6", true),
            ("/a b", "/a%20b", true),
            ("/%61%2f", "/a%2F", true),
            ("/a\\*b", "/a*b", true),
            ("/a\\*b", "/axb", false),
            ("/a\\[b", "/a%5Bb", true),
            ("/a\\bc", "/abc", true),
            ("/a?c", "/a/c", false),
        ] {
            assert_eq!(PathGlob::new(text).unwrap().matches(path), expected, "{text} {path}");
        }
    }

    #[test]
    fn without_case() {
        for (text, path, expected) in [
            ("/Admin/**", "/aDMIN/x", true),
            ("*.jpg", "/a.JPG", true),
            ("/A", "/a", true),
            ("/A*z", "/abZ", true),
            ("/A*z", "/bbZ", false),
        ] {
            assert_eq!(PathGlob::with_case(text, true).unwrap().matches(path), expected, "{text} {path}");
        }
    }

    #[test]
    fn errors_say_what_to_do() {
        for (text, part) in [
            ("", "leave `path` out"),
            ("img/*.jpg", "write `/img/*.jpg` or `**/img/*.jpg`"),
            ("/img/**.jpg", "must stand alone between slashes"),
            ("**/", "ambiguous"),
            ("/a/../b", "can never match"),
            ("/a%2", "two hexadecimal digits"),
            ("/[ä]", "only ASCII"),
            ("/[a", "not a path glob"),
            ("/{a", "not a path glob"),
            ("/a\\", "nothing behind it"),
            ("/a\nb", "control characters"),
        ] {
            let message = PathGlob::new(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    proptest! {
        /// The short cuts answer as the compiled form alone does.
        #[test]
        fn short_cuts_agree_with_the_compiled_form(
            text in "(/|\\*\\*/)?([ab.]|\\*|\\?|\\{a,b\\}|\\[ab\\]|,|\\\\a|/\\*\\*/|/){0,5}(/\\*\\*)?",
            path in "(/[ab.,]{0,3}){1,4}",
            ignore_case: bool,
        ) {
            if let (Ok(glob), Ok(path)) = (PathGlob::with_case(&text, ignore_case), normalise_path(&path)) {
                let path = compared(&path);
                let subject = if glob.shape.on_segment { last_segment(&path) } else { &path };
                prop_assert_eq!(glob.matches(&path), glob.glob.is_match(subject), "{:?} {}", glob, path);
            }
        }

        #[test]
        fn any_text_is_a_glob_or_an_error(text in "\\PC{0,20}") {
            let _ = PathGlob::new(&text);
        }

        /// A glob without wildcards covers the path it spells, and nothing that is spelled otherwise.
        #[test]
        fn plain_text_covers_itself(path in "(/[a-zéß |%]{0,3}){1,3}", other in "(/[a-z]{0,3}){1,3}") {
            if let (Ok(glob), Ok(path), Ok(other)) = (PathGlob::new(&path), normalise_path(&path), normalise_path(&other)) {
                prop_assert!(glob.matches(&path));
                prop_assert_eq!(glob.matches(&other), compared(&path) == compared(&other));
            }
        }
    }
}
