//! Which requests a scope takes: a set of paths and some extensions; whether one scope lies in another; and what a regular
//! expression of the usual kinds comes down to.

use crate::spell;

/// A set of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum PathSet {
    /// All.
    #[default]
    All,
    /// One.
    Exact(String),
    /// This and all below it; all below it, if it ends in a slash.
    Under(String),
    /// All that begins with it.
    Begins(String),
    /// Globs of our own spelling.
    Globs(Vec<String>),
}

/// Which requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Select {
    /// Their paths.
    pub(crate) path: PathSet,
    /// Their extensions; empty for any.
    pub(crate) extensions: Vec<String>,
}

impl PathSet {
    /// All below a path and itself, as a scope of httpd and IIS means it; `/` is all.
    pub(crate) fn under(path: &str) -> PathSet {
        if path.is_empty() || path == "/" { PathSet::All } else { PathSet::Under(path.to_owned()) }
    }

    /// What begins so, as a location of nginx means it.
    pub(crate) fn begins(path: &str) -> PathSet {
        match path {
            "" | "/" => PathSet::All,
            path if path.ends_with('/') => PathSet::Under(path.to_owned()),
            path => PathSet::Begins(path.to_owned()),
        }
    }

    fn covers(&self, other: &PathSet) -> bool {
        let text = match other {
            PathSet::Exact(text) | PathSet::Under(text) | PathSet::Begins(text) => text.as_str(),
            PathSet::All => return *self == PathSet::All,
            // All that a glob takes begins with what stands before its first sign.
            PathSet::Globs(globs) => {
                let begins = |glob: &String| PathSet::Begins(plain_head(glob).to_owned());
                let below = |glob: &String| self.covers(&begins(glob)) || self.covers_below(plain_head(glob));
                return *self == PathSet::All || self == other || globs.iter().all(below);
            }
        };
        match self {
            PathSet::All => true,
            PathSet::Exact(own) => matches!(other, PathSet::Exact(text) if text == own),
            PathSet::Under(own) if own.ends_with('/') => text.starts_with(own),
            PathSet::Under(own) => {
                let rest = text.strip_prefix(own.as_str());
                // Of all that begins so, some are not below it.
                rest.is_some_and(|rest| {
                    rest.starts_with('/') || (rest.is_empty() && !matches!(other, PathSet::Begins(_)))
                })
            }
            PathSet::Begins(own) => text.starts_with(own),
            PathSet::Globs(_) => self == other,
        }
    }

    /// Whether it takes all that lies below a folder, whose name ends in a slash.
    fn covers_below(&self, folder: &str) -> bool {
        matches!(self, PathSet::Under(own) if !own.ends_with('/') && folder.starts_with(&format!("{own}/")))
    }

    /// Whether some path may be taken by both; it is said rather too often.
    pub(crate) fn touches(&self, other: &PathSet) -> bool {
        let globs = |set: &PathSet| matches!(set, PathSet::Globs(_));
        globs(self) || globs(other) || self.covers(other) || other.covers(self)
    }

    /// How much of a path it names: the longer, the earlier it is tried.
    fn reach(&self) -> (usize, usize) {
        match self {
            PathSet::All => (0, 0),
            PathSet::Globs(_) => (0, 1),
            PathSet::Begins(text) => (text.len(), 1),
            PathSet::Under(text) => (text.len(), 2),
            PathSet::Exact(text) => (text.len(), 3),
        }
    }

    /// The globs that rules have as their `path`, each with a rule of its own, as `**` stands alone between slashes;
    /// `None` for any path.
    pub(crate) fn globs(&self, with_extensions: bool) -> Option<Vec<String>> {
        let spelt = |text: &String| spell::literal(text).into_iter().collect::<Vec<_>>();
        Some(match self {
            PathSet::All => return None,
            PathSet::Globs(globs) => globs.clone(),
            PathSet::Exact(text) => spelt(text),
            PathSet::Under(text) if text.ends_with('/') => {
                spelt(text).iter().map(|g| format!("{g}**")).collect()
            }
            // A folder without its slash has no extension, if it has no dot.
            PathSet::Under(text)
                if with_extensions && !text.rsplit('/').next().unwrap_or_default().contains('.') =>
            {
                spelt(text).iter().map(|g| format!("{g}/**")).collect()
            }
            PathSet::Under(text) => spelt(text).iter().flat_map(|g| [g.clone(), format!("{g}/**")]).collect(),
            PathSet::Begins(text) => {
                spelt(text).iter().flat_map(|g| [format!("{g}*"), format!("{g}*/**")]).collect()
            }
        })
    }
}

impl Select {
    /// All that is below a path.
    pub(crate) fn path(path: PathSet) -> Select {
        Select { path, extensions: Vec::new() }
    }

    /// Some extensions, whatever the path.
    pub(crate) fn extensions(extensions: Vec<String>) -> Select {
        Select { path: PathSet::All, extensions }
    }

    /// Whether it takes everything.
    pub(crate) fn is_all(&self) -> bool {
        self.path == PathSet::All && self.extensions.is_empty()
    }

    /// Whether all that the other takes, it takes too.
    pub(crate) fn covers(&self, other: &Select) -> bool {
        let extensions = self.extensions.is_empty()
            || (!other.extensions.is_empty() && other.extensions.iter().all(|e| self.extensions.contains(e)));
        extensions && self.path.covers(&other.path)
    }

    /// What both take, if neither lies in the other and that can be said.
    pub(crate) fn meet(&self, other: &Select) -> Option<Select> {
        if self.covers(other) || other.covers(self) {
            return None;
        }
        self.both(other)
    }

    /// What both take, if that is something and can be said.
    pub(crate) fn both(&self, other: &Select) -> Option<Select> {
        let path = match () {
            () if self.path.covers(&other.path) => other.path.clone(),
            () if other.path.covers(&self.path) => self.path.clone(),
            () => return None,
        };
        let extensions: Vec<String> = match (self.extensions.as_slice(), other.extensions.as_slice()) {
            ([], list) | (list, []) => list.to_vec(),
            (one, two) => one.iter().filter(|e| two.contains(e)).cloned().collect(),
        };
        let none = extensions.is_empty() && !(self.extensions.is_empty() && other.extensions.is_empty());
        (!none).then_some(Select { path, extensions })
    }

    /// The order in which rules are tried: the narrower first.
    pub(crate) fn rank(&self) -> impl Ord + use<> {
        (self.path.reach(), !self.extensions.is_empty())
    }
}

/// What a regular expression over paths comes down to: extensions (`\.(gif|jpe?g)$`), what begins so (`^/app/`), both,
/// or one path (`^/x$`).
pub(crate) fn regex(text: &str) -> Option<Select> {
    let (anchored, mut rest) = match text.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut path = PathSet::All;
    if anchored && rest.starts_with("/") {
        let (literal, after) = literal_head(rest);
        if after == "$" {
            return Some(Select::path(PathSet::Exact(literal)));
        }
        path = PathSet::begins(&literal);
        rest = after;
        if matches!(rest, "" | ".*" | ".*$" | "(.*)" | "(.*)$" | ".+" | "(.+)$") {
            return Some(Select::path(path));
        }
    }
    // The rest is "anything, then an extension at the end".
    let mut inner = rest;
    loop {
        let before = inner;
        for sign in ["(.*", "(.+", "([^/]+", ".*", ".+", "[^/]+"] {
            inner = inner.strip_prefix(sign).unwrap_or(inner);
        }
        if inner == before {
            break;
        }
    }
    let inner = inner.strip_prefix("\\.")?;
    // Without an end it takes more than an extension.
    let tails = ["(/|$)", "(?:/|$)", "($|/)", "(?:$|/)", "(/.*)?$", "$", "$)"];
    let inner = tails.iter().find_map(|tail| inner.strip_suffix(tail))?;
    let inner = inner.strip_suffix(')').filter(|i| !i.contains('(')).unwrap_or(inner);
    let list = match inner.strip_prefix("(?:").or_else(|| inner.strip_prefix('(')) {
        Some(list) => list.strip_suffix(')').unwrap_or(list),
        None => inner,
    };
    let mut extensions = Vec::new();
    for word in list.split('|') {
        for spelt in optional_letters(word)? {
            extensions.push(spell::extension(&spelt)?);
        }
    }
    extensions.dedup();
    (!extensions.is_empty() && extensions.len() <= 100).then_some(Select { path, extensions })
}

/// The alternatives of an expression that stand in no group.
pub(crate) fn alternatives(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let (mut depth, mut class, mut escaped, mut from) = (0_usize, false, false, 0);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            '(' if !class => depth += 1,
            ')' if !class => depth = depth.saturating_sub(1),
            '|' if !class && depth == 0 => {
                all.push(text.get(from..at).unwrap_or_default());
                from = at + 1;
            }
            _ => {}
        }
    }
    all.push(text.get(from..).unwrap_or_default());
    all
}

/// Whether [`regex`] takes all that the expression takes: not what lies behind a script's name.
pub(crate) fn is_whole(text: &str, select: &Select) -> bool {
    select.extensions.is_empty() || !text.contains("/|$") && !text.contains("$|/") && !text.contains("(/.*)?")
}

/// What stands before the first sign of a glob.
fn plain_head(glob: &str) -> &str {
    glob.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default()
}

/// The plain characters that a regular expression begins with.
fn literal_head(text: &str) -> (String, &str) {
    let mut literal = String::new();
    let mut rest = text;
    loop {
        let mut chars = rest.chars();
        let (c, after) = match chars.next() {
            Some('\\') => match chars.next() {
                Some(c) if !c.is_ascii_alphanumeric() => (c, chars.as_str()),
                _ => break,
            },
            Some(c) if !".*+?()[]{}|^$".contains(c) => (c, chars.as_str()),
            _ => break,
        };
        // What follows may say how often this character comes; a dot before an extension belongs to the extension.
        let dot = c == '.' && rest.starts_with('\\') && !after.contains('/');
        if after.starts_with(['*', '+', '?', '{']) || (dot && after.ends_with(['$', ')'])) {
            break;
        }
        literal.push(c);
        rest = after;
    }
    (literal, rest)
}

/// `jpe?g` is `jpg` and `jpeg`; anything else that is no letter is not understood.
fn optional_letters(word: &str) -> Option<Vec<String>> {
    let mut spelt = vec![String::new()];
    let mut chars = word.chars().peekable();
    while let Some(c) = chars.next() {
        if !(c.is_ascii_alphanumeric() || c == '_' || c == '-') || spelt.len() > 16 {
            return None;
        }
        let with = spelt.iter().map(|text| format!("{text}{c}"));
        spelt = if chars.next_if_eq(&'?').is_some() {
            with.chain(spelt.clone()).collect()
        } else {
            with.collect()
        };
    }
    Some(spelt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_of_the_usual_kinds() {
        let extensions = |list: &[&str]| list.iter().map(|e| (*e).to_owned()).collect::<Vec<_>>();
        let of = |list: &[&str]| Some(Select::extensions(extensions(list)));
        assert_eq!(regex(r"\.php$"), of(&[".php"]));
        assert_eq!(regex(r"\.php(/|$)"), of(&[".php"]));
        assert_eq!(regex(r"\.php(?:$|/)"), of(&[".php"]));
        assert_eq!(alternatives(r"\.php$|^/(a|b)[|]\|c"), [r"\.php$", r"^/(a|b)[|]\|c"]);
        assert_eq!(regex(r"\.(gif|jpe?g|png)$"), of(&[".gif", ".jpeg", ".jpg", ".png"]));
        assert_eq!(regex(r"[^/]+\.php(/|$)"), of(&[".php"]));
        assert_eq!(regex(r"^/(.*\.php)$").map(|s| s.extensions), Some(extensions(&[".php"])));
        assert_eq!(regex(r"^/app/"), Some(Select::path(PathSet::Under("/app/".into()))));
        assert_eq!(regex(r"^/x$"), Some(Select::path(PathSet::Exact("/x".into()))));
        let both = Select { path: PathSet::Under("/img/".into()), extensions: extensions(&[".jpg"]) };
        assert_eq!(regex(r"^/img/.*\.jpg$"), Some(both));
        for none in [r"^/(a|b)/", r"\.(?!php)", "x", "", r"\d+", r"(?i)\.gif$", r"\.(git|svn)", r"\.bak"] {
            assert_eq!(regex(none), None, "{none}");
        }
    }

    #[test]
    fn scopes_lie_in_each_other() {
        let under = |p: &str| Select::path(PathSet::under(p));
        assert!(under("/").covers(&under("/a")) && under("/a").covers(&under("/a/b")));
        assert!(!under("/a").covers(&under("/ab")) && !under("/a").covers(&under("/")));
        let jpg = Select::extensions(vec![".jpg".into()]);
        let met = under("/a").meet(&jpg).unwrap_or_default();
        assert_eq!((met.path, met.extensions), (PathSet::Under("/a".into()), vec![".jpg".to_owned()]));
    }

    #[test]
    fn globs_of_paths() {
        let globs = |set: PathSet| set.globs(false).unwrap_or_default();
        assert_eq!(globs(PathSet::under("/arcgis/")), ["/arcgis/**"]);
        assert_eq!(globs(PathSet::under("/a/b")), ["/a/b", "/a/b/**"]);
        assert_eq!(globs(PathSet::begins("/a")), ["/a*", "/a*/**"]);
        assert_eq!(PathSet::All.globs(false), None);
    }
}
