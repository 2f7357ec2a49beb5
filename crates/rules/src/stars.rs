//! What the stars of a path glob stand for in a path: `{1}`, `{2}`… of rewrites and redirects.
//!
//! The glob itself says whether a path matches; this only says where. It is the same regular expression with groups
//! put around what the stars came to, so the two agree; time is linear in the path. Not here: what a glob means (`glob`).

use crate::path::last_segment;
use crate::types::PathGlob;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;

/// A path glob that can be asked what its stars stand for.
#[derive(Clone)]
pub struct Stars {
    regex: Regex,
    on_segment: bool,
    count: usize,
}

impl std::fmt::Debug for Stars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stars({})", self.count)
    }
}

/// What one of the library's tokens comes to in its regular expression, and the same with a group around what varies.
const TOKENS: [(&str, &str); 4] =
    [("(?:/?|.*/)", "(?:/?|(.*)/)"), ("(?:/|/.*/)", "(?:/|/(.*)/)"), ("/.*", "/(.*)"), ("[^/]*", "([^/]*)")];

impl Stars {
    /// Of this glob.
    ///
    /// # Errors
    /// In words, if it is too large to be compiled with groups.
    pub fn of(glob: &PathGlob) -> Result<Stars, String> {
        let grouped = with_groups(glob.glob.glob().regex());
        let regex = Regex::builder()
            .syntax(syntax::Config::new().utf8(false).dot_matches_new_line(true))
            .configure(Regex::config().utf8_empty(false).nfa_size_limit(Some(10 * (1 << 20))))
            .build(&grouped)
            .map_err(|error| format!("`{}` cannot be asked for its stars: {error}", glob.text))?;
        let count = regex.captures_len().saturating_sub(1);
        Ok(Stars { regex, on_segment: glob.shape.on_segment, count })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// What they stand for; empty texts for those in a branch of `{a,b}` that was not taken.
    pub fn in_path(&self, path: &str) -> Vec<String> {
        let subject = if self.on_segment { last_segment(path) } else { path };
        let mut captures = self.regex.create_captures();
        self.regex.captures(subject, &mut captures);
        let text = |n: usize| captures.get_group(n).and_then(|span| subject.get(span.range()));
        (1..=self.count).map(|n| text(n).unwrap_or("").to_owned()).collect()
    }
}

fn with_groups(regex: &str) -> String {
    let mut out = String::with_capacity(regex.len() + 16);
    let mut rest = regex;
    'text: while let Some(first) = rest.chars().next() {
        for (token, grouped) in TOKENS {
            if let Some(after) = rest.strip_prefix(token) {
                out.push_str(grouped);
                rest = after;
                continue 'text;
            }
        }
        let taken = match first {
            // An escaped character, of which none is a token.
            '\\' => first.len_utf8() + rest.chars().nth(1).map_or(0, char::len_utf8),
            '[' => class_len(rest),
            _ => first.len_utf8(),
        };
        let (taken, after) = rest.split_at_checked(taken).unwrap_or((rest, ""));
        out.push_str(taken);
        rest = after;
    }
    out
}

/// The bytes of a class, from its bracket to the one that ends it.
fn class_len(text: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ']' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn table() {
        for (glob, path, want) in [
            ("/a/*", "/a/b", &["b"][..]),
            ("/a/*/c/*", "/a/b/c/d", &["b", "d"]),
            ("/a/**", "/a/b/c", &["b/c"]),
            ("/a/**/z", "/a/b/c/z", &["b/c"]),
            ("/a/**/z", "/a/z", &[""]),
            ("**/z", "/b/z", &["/b"]),
            ("*.jpg", "/a/b.jpg", &["b"]),
            ("/img-*-*.png", "/img-a-b-c.png", &["a-b", "c"]),
            ("/{a,b}/*", "/b/x", &["x"]),
            ("/{a*,b}/*", "/b/x", &["", "x"]),
            ("/[0-9]?/*", "/12/x", &["x"]),
            ("/[!/]*", "/abc", &["bc"]),
            ("/a\\*b*", "/a*bc", &["c"]),
            ("/a.b", "/a.b", &[]),
            ("/straße/*", "/stra%C3%9Fe/x", &["x"]),
        ] {
            let glob = PathGlob::new(glob).unwrap();
            assert!(glob.matches(path), "{glob:?} {path}");
            let stars = Stars::of(&glob).unwrap();
            assert_eq!(stars.in_path(path), want, "{glob:?}");
        }
        let any_case = PathGlob::with_case("/A/*", true).unwrap();
        assert_eq!(Stars::of(&any_case).unwrap().in_path("/a/B"), ["B"]);
    }

    proptest! {
        /// Putting the stars back into the glob gives the path again, where it is made of stars and plain text alone.
        #[test]
        fn agree_with_the_glob(
            glob in "/([ab.*-]|\\*){0,6}(/([ab*.]){0,4}){0,2}(/\\*\\*)?",
            path in "/[ab.-]{0,8}(/[ab.]{0,4}){0,3}",
        ) {
            let Ok(glob) = PathGlob::new(&glob) else { return Ok(()) };
            let Ok(path) = crate::normalise_path(&path) else { return Ok(()) };
            let path = crate::readings::compared(&path).into_owned();
            let stars = Stars::of(&glob).unwrap();
            prop_assert_eq!(stars.regex.is_match(&path), glob.matches(&path), "{:?} {}", &glob, &path);
            let plain = !glob.text.contains("**") && !glob.text.contains("//");
            if plain && glob.matches(&path) {
                let mut found = stars.in_path(&path).into_iter();
                let back: String = glob.text.split('*').enumerate()
                    .map(|(at, text)| if at == 0 { text.to_owned() } else { format!("{}{text}", found.next().unwrap()) })
                    .collect();
                prop_assert_eq!(back, path);
            }
        }
    }
}
