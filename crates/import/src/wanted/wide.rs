//! What a regular expression takes at most, as path globs.
//!
//! A guard must never become narrower: what a glob cannot say is taken for "anything", and whether that was needed is
//! told, so that only guards are widened. Not here: the usual kinds of expressions, which have a shorter form (`select`).

use super::PathSet;
use std::iter::Peekable;
use std::str::Chars;

/// Alternatives of one expression, written out.
const ALTERNATIVES_MAX: usize = 256;
/// Characters of a class that are written out as alternatives.
const CLASS_MAX: usize = 4;
/// Groups inside each other.
const DEPTH_MAX: usize = 32;
/// Globs of one guard, each a rule.
const GLOBS_MAX: usize = 48;
/// Signs of one glob; `samovar check` takes some more.
const GLOB_MAX_BYTES: usize = 900;
/// Beyond this many, globs that differ in the last part of a path only are written as one, in braces.
const APART_MAX: usize = 12;
/// Signs of one alternative.
const ATOMS_MAX: usize = 400;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Atom {
    /// This character.
    Char(char),
    /// This character in either case.
    Fold(char),
    /// Anything, nothing too.
    Any,
    /// The beginning.
    Start,
    /// The end.
    End,
}

type Alternative = Vec<Atom>;

/// What an expression takes at most.
#[derive(Clone, Debug)]
pub(crate) struct Wide {
    /// From the beginning to the end of what it is compared with; `None`: anything.
    all: Option<Vec<Alternative>>,
    /// Whether it takes nothing else.
    pub(crate) exact: bool,
}

impl Wide {
    /// Of an expression in the spelling of PCRE.
    pub(crate) fn of(expression: &str, ignore_case: bool) -> Wide {
        let mut reader = Reader { chars: expression.chars().peekable(), fold: ignore_case, exact: true };
        let read = reader.alternatives(0).filter(|_| reader.chars.next().is_none());
        let mut exact = reader.exact && read.is_some();
        let all = read.map(|all| all.iter().map(|one| whole(one, &mut exact)).collect::<Vec<_>>());
        let all = all.filter(|all| {
            !all.iter().any(|one| matches!(one.as_slice(), [Atom::Any] | [Atom::Char('/'), Atom::Any]))
        });
        Wide { all, exact }
    }

    /// Of a pattern with `*`, `?` and `[…]`, and all below what it names.
    pub(crate) fn of_wildcards(pattern: &str) -> Wide {
        let mut one: Alternative = Vec::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            let atom = match c {
                '*' | '?' => Atom::Any,
                '[' => {
                    let _ = chars.by_ref().find(|c| *c == ']');
                    Atom::Any
                }
                '\\' => chars.next().map_or(Atom::Any, Atom::Char),
                c => Atom::Char(c),
            };
            one.push(atom);
        }
        let one = joined(one);
        let below = one.iter().copied().chain([Atom::Char('/'), Atom::Any]).collect();
        let all = (one.len() <= ATOMS_MAX && one.as_slice() != [Atom::Any]).then(|| vec![one, below]);
        Wide { all, exact: false }
    }

    /// The paths of URLs that it takes.
    pub(crate) fn paths(&self) -> PathSet {
        self.all.as_ref().map_or(PathSet::All, |all| paths(all))
    }

    /// The paths of files, and below them, whose names it takes.
    pub(crate) fn names(&self) -> PathSet {
        let Some(all) = &self.all else { return PathSet::All };
        let mut globs = Vec::new();
        // No name has a slash.
        for one in all.iter().filter(|one| !one.contains(&Atom::Char('/'))) {
            let name: String = one.iter().map(|atom| spelt(*atom)).collect();
            globs.extend([format!("/**/{name}"), format!("/**/{name}/**")]);
        }
        bounded(globs)
    }

    /// The paths of URLs whose files lie in this folder and are taken by their whole names; `None`: none.
    pub(crate) fn below(&self, root: &str) -> Option<PathSet> {
        let Some(all) = &self.all else { return Some(PathSet::All) };
        let mut rest: Vec<Alternative> = Vec::new();
        for one in all {
            let mut at = reached(one, &[0]);
            for c in root.chars() {
                // A folder above that is taken has all below it.
                if c == '/' && at.contains(&one.len()) {
                    return Some(PathSet::All);
                }
                let next: Vec<usize> = at.iter().filter_map(|n| step(one, *n, c)).collect();
                at = reached(one, &next);
            }
            if at.contains(&one.len()) {
                return Some(PathSet::All);
            }
            rest.extend(at.iter().filter_map(|n| one.get(*n..)).map(<[Atom]>::to_vec));
        }
        rest.retain(|one| matches!(one.first(), Some(Atom::Any | Atom::Char('/'))));
        match rest.iter().any(|one| one.as_slice() == [Atom::Any]) {
            true => Some(PathSet::All),
            false if rest.is_empty() => None,
            false => Some(paths(&rest)),
        }
    }
}

/// Where in it one may stand, since `Any` may be nothing.
fn reached(one: &[Atom], from: &[usize]) -> Vec<usize> {
    let mut all: Vec<usize> = Vec::new();
    for &start in from {
        let mut n = start;
        loop {
            if !all.contains(&n) {
                all.push(n);
            }
            if one.get(n) != Some(&Atom::Any) {
                break;
            }
            n += 1;
        }
    }
    all
}

/// Where one stands behind a character.
fn step(one: &[Atom], at: usize, c: char) -> Option<usize> {
    match one.get(at)? {
        Atom::Any => Some(at),
        Atom::Char(own) => (*own == c).then_some(at + 1),
        Atom::Fold(own) => own.eq_ignore_ascii_case(&c).then_some(at + 1),
        Atom::Start | Atom::End => None,
    }
}

/// From the beginning to the end: what is not anchored has anything around it.
fn whole(one: &[Atom], exact: &mut bool) -> Alternative {
    let start = one.iter().rposition(|atom| *atom == Atom::Start);
    let end = one.iter().position(|atom| *atom == Atom::End);
    let odd = start.is_some_and(|n| n > 0) || end.is_some_and(|n| n + 1 < one.len());
    *exact &= !odd;
    // What stands before a beginning or behind an end takes nothing; without it more is taken, not less.
    let from = start.map_or(0, |n| n + 1);
    let to = end.filter(|n| *n >= from).unwrap_or(one.len());
    let inside = one.get(from..to).unwrap_or_default().iter().copied();
    let mut out = Vec::new();
    out.extend(start.is_none().then_some(Atom::Any));
    out.extend(inside.filter(|atom| *atom != Atom::Start && *atom != Atom::End));
    out.extend(end.is_none().then_some(Atom::Any));
    joined(out)
}

fn joined(mut one: Alternative) -> Alternative {
    one.dedup_by(|a, b| *a == Atom::Any && *b == Atom::Any);
    one
}

/// A sign as a glob spells it; anything within a name.
fn spelt(atom: Atom) -> String {
    let hex = |c: char| c.to_string().bytes().map(|b| format!("%{b:02X}")).collect::<String>();
    match atom {
        Atom::Char(c @ ('*' | ',')) => format!("\\{c}"),
        Atom::Char(c) if c.is_ascii_alphanumeric() || "/-._~!$&'()+;=:@".contains(c) => c.to_string(),
        Atom::Char(c) => hex(c),
        Atom::Fold(c) => format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase()),
        Atom::Any => "*".to_owned(),
        Atom::Start | Atom::End => String::new(),
    }
}

fn paths(all: &[Alternative]) -> PathSet {
    let mut globs: Vec<String> = Vec::new();
    for one in all {
        let mut rest = one.as_slice();
        // Every path begins with a slash, which `Any` takes unless the next sign does.
        let mut own: Vec<String> = match rest {
            [Atom::Any, Atom::Char('/'), ..] => vec![String::new(), "/**/*".to_owned()],
            [Atom::Any, ..] => vec!["/**/*".to_owned()],
            [Atom::Char('/'), ..] => vec![String::new()],
            _ => continue,
        };
        if let [Atom::Any, tail @ ..] = rest {
            rest = tail;
        }
        for (at, atom) in rest.iter().enumerate() {
            let last = at + 1 == rest.len();
            own = match atom {
                // `**` stands alone between slashes.
                Atom::Any if last => own.iter().flat_map(|o| [format!("{o}*"), format!("{o}*/**")]).collect(),
                Atom::Any => own.iter().flat_map(|o| [format!("{o}*"), format!("{o}*/**/*")]).collect(),
                atom => own.iter().map(|o| format!("{o}{}", spelt(*atom))).collect(),
            };
            if own.len() > GLOBS_MAX {
                return PathSet::All;
            }
        }
        globs.extend(own);
    }
    bounded(globs)
}

fn bounded(mut globs: Vec<String>) -> PathSet {
    let mut seen = std::collections::HashSet::new();
    globs.retain(|glob| seen.insert(glob.clone()));
    // Dots are settled before paths are compared: such a glob takes nothing, and would be refused.
    globs.retain(|glob| !glob.split('/').any(|part| part == "." || part == ".."));
    if globs.len() > APART_MAX {
        globs = together(globs);
    }
    let long = globs.iter().any(|glob| glob.len() > GLOB_MAX_BYTES);
    if globs.len() > GLOBS_MAX || long { PathSet::All } else { PathSet::Globs(globs) }
}

/// Globs that differ in the last part of a path only, in braces: `/**/{a,b}`.
fn together(globs: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for glob in globs {
        let (folder, name) = glob.split_at(glob.rfind('/').map_or(0, |at| at + 1));
        // Two stars stand alone, and what braces mean by its signs cannot stand in them.
        if name == "**" || name.is_empty() || name.contains(['{', '}', ',']) {
            out.push(glob);
            continue;
        }
        let room = |(known, names): &&mut (String, Vec<String>)| {
            let bytes: usize = names.iter().map(|n| n.len() + 1).sum();
            known == folder && known.len() + bytes + name.len() + 2 <= GLOB_MAX_BYTES
        };
        match groups.iter_mut().find(room) {
            Some((_, names)) => names.push(name.to_owned()),
            None => groups.push((folder.to_owned(), vec![name.to_owned()])),
        }
    }
    out.extend(groups.into_iter().map(|(folder, names)| match names.as_slice() {
        [one] => format!("{folder}{one}"),
        many => format!("{folder}{{{}}}", many.join(",")),
    }));
    out
}

/// An expression being read. `None` of its methods: it cannot be followed.
struct Reader<'t> {
    chars: Peekable<Chars<'t>>,
    fold: bool,
    exact: bool,
}

impl Reader<'_> {
    fn alternatives(&mut self, depth: usize) -> Option<Vec<Alternative>> {
        if depth > DEPTH_MAX {
            return None;
        }
        let mut all = Vec::new();
        loop {
            all.extend(self.sequence(depth)?);
            if all.len() > ALTERNATIVES_MAX {
                return None;
            }
            if self.chars.next_if_eq(&'|').is_none() {
                return Some(all);
            }
        }
    }

    fn sequence(&mut self, depth: usize) -> Option<Vec<Alternative>> {
        let mut all: Vec<Alternative> = vec![Vec::new()];
        while let Some(&next) = self.chars.peek() {
            if next == '|' || next == ')' {
                break;
            }
            let dot = next == '.';
            let mut item = self.item(depth)?;
            match self.chars.peek().copied() {
                Some('?') => {
                    self.chars.next();
                    self.exact &= !dot;
                    item.push(Vec::new());
                }
                Some('*' | '+') => {
                    let star = self.chars.next() == Some('*');
                    self.exact &= dot && star;
                    item = vec![vec![Atom::Any]];
                }
                Some('{') if self.counted() => {
                    self.exact = false;
                    item = vec![vec![Atom::Any]];
                }
                _ => self.exact &= !dot,
            }
            // Whether it takes as much or as little as it can.
            if item.iter().any(Vec::is_empty) || item == [[Atom::Any]] {
                let _ = self.chars.next_if(|c| *c == '?' || *c == '+');
            }
            if all.len() * item.len() > ALTERNATIVES_MAX {
                return None;
            }
            all = all.iter().flat_map(|a| item.iter().map(|b| [a.as_slice(), b].concat())).collect();
            if all.iter().any(|one| one.len() > ATOMS_MAX) {
                return None;
            }
        }
        Some(all)
    }

    /// Takes `{2,3}`; a brace that counts nothing is a character.
    fn counted(&mut self) -> bool {
        let ahead: String = self.chars.clone().skip(1).take_while(|c| *c != '}').take(12).collect();
        let counts = ahead.starts_with(|c: char| c.is_ascii_digit() || c == ',')
            && ahead.chars().all(|c| c.is_ascii_digit() || c == ',');
        if counts {
            let _ = self.chars.by_ref().find(|c| *c == '}');
        }
        counts
    }

    fn item(&mut self, depth: usize) -> Option<Vec<Alternative>> {
        let nothing = vec![Vec::new()];
        Some(match self.chars.next()? {
            '(' => return self.group(depth),
            '[' => return self.class(),
            '.' => vec![vec![Atom::Any]],
            '^' => vec![vec![Atom::Start]],
            '$' => vec![vec![Atom::End]],
            '\\' => match self.chars.next()? {
                'A' => vec![vec![Atom::Start]],
                'z' | 'Z' => vec![vec![Atom::End]],
                'd' | 'D' | 'w' | 'W' | 's' | 'S' | 'h' | 'H' | 'N' | 'n' | 'r' | 't' | '0'..='9' => {
                    self.exact = false;
                    vec![vec![Atom::Any]]
                }
                'b' | 'B' => {
                    self.exact = false;
                    nothing
                }
                c if c.is_ascii_alphanumeric() => return None,
                c => vec![vec![self.char(c)]],
            },
            c => vec![vec![self.char(c)]],
        })
    }

    fn char(&mut self, c: char) -> Atom {
        match self.fold {
            true if c.is_ascii_alphabetic() => Atom::Fold(c),
            // Cases of other letters are not known here.
            true if !c.is_ascii() => {
                self.exact = false;
                Atom::Any
            }
            _ => Atom::Char(c),
        }
    }

    fn group(&mut self, depth: usize) -> Option<Vec<Alternative>> {
        let mut looks = false;
        match self.chars.peek() {
            Some('*') => return None,
            Some('?') => {
                self.chars.next();
                match self.chars.next()? {
                    ':' | '>' | '|' => {}
                    '=' | '!' => looks = true,
                    'P' if self.chars.peek() == Some(&'<') => {
                        self.chars.find(|c| *c == '>')?;
                    }
                    '<' if matches!(self.chars.peek(), Some('=' | '!')) => {
                        self.chars.next();
                        looks = true;
                    }
                    '<' => {
                        self.chars.find(|c| *c == '>')?;
                    }
                    'i' => {
                        // To the end rather than to the end of the group: that takes more.
                        self.fold = true;
                        if self.chars.next_if_eq(&')').is_some() {
                            return Some(vec![Vec::new()]);
                        }
                        self.chars.next_if_eq(&':')?;
                    }
                    _ => return None,
                }
            }
            _ => {}
        }
        let inner = self.alternatives(depth + 1)?;
        self.chars.next_if_eq(&')')?;
        if looks {
            // What is only looked at forbids, and without it more is taken.
            self.exact = false;
            return Some(vec![Vec::new()]);
        }
        Some(inner)
    }

    /// `[.]` is a character; other classes are anything.
    fn class(&mut self) -> Option<Vec<Alternative>> {
        let mut inside: Vec<char> = Vec::new();
        loop {
            let c = self.chars.next()?;
            match c {
                ']' if !inside.is_empty() && inside != ['^'] => break,
                '\\' => inside.extend([c, self.chars.next()?]),
                '[' if self.chars.peek() == Some(&':') => {
                    self.chars.find(|c| *c == ']')?;
                    inside.extend([':', ':']);
                }
                c => inside.push(c),
            }
        }
        match inside.as_slice() {
            ['\\', c] if !c.is_ascii_alphanumeric() => Some(vec![vec![self.char(*c)]]),
            // A few characters are as many alternatives.
            some if some.len() <= CLASS_MAX && some.iter().all(char::is_ascii_alphanumeric) => {
                Some(some.iter().map(|c| vec![self.char(*c)]).collect())
            }
            [c] if *c != '^' => Some(vec![vec![self.char(*c)]]),
            _ => {
                self.exact = false;
                Some(vec![vec![Atom::Any]])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(expression: &str) -> Vec<String> {
        Wide::of(expression, false).paths().globs(false).unwrap_or_default()
    }

    #[test]
    fn expressions_as_globs() {
        for (expression, wanted, exact) in [
            (r"\.(git|svn)", &["/**/*.git*", "/**/*.git*/**", "/**/*.svn*", "/**/*.svn*/**"][..], true),
            (r"^/(a|b)/", &["/a/*", "/a/*/**", "/b/*", "/b/*/**"], true),
            (r"^/x$", &["/x"], true),
            (r"/\.", &["/.*", "/.*/**", "/**/*/.*", "/**/*/.*/**"], true),
            (r"^/a.*b$", &["/a*b", "/a*/**/*b"], true),
            (r"^/a[0-9]+$", &["/a*", "/a*/**"], false),
            (r"^/(?!pub)x$", &["/x"], false),
            (r"[.]env$", &["/**/*.env"], true),
            (r"\.php(/|$)", &["/**/*.php/*", "/**/*.php/*/**", "/**/*.php"], true),
            (r"(?i)^/ab", &["/[aA][bB]*", "/[aA][bB]*/**"], true),
        ] {
            assert_eq!(globs(expression), wanted, "{expression}");
            assert_eq!(Wide::of(expression, false).exact, exact, "{expression}");
        }
        // What cannot be followed is everything.
        for everything in [".*", "", r"\p{L}", "(", r"(?x)a", &"(a|b)".repeat(20), "^", r"[a-z]"] {
            assert_eq!(Wide::of(everything, false).paths(), PathSet::All, "{everything}");
        }
    }

    #[test]
    fn names_and_folders() {
        let names = |e: &str| Wide::of(e, false).names();
        let list = |l: &[&str]| PathSet::Globs(l.iter().map(|s| (*s).to_owned()).collect());
        assert_eq!(names(r"\.(bak)"), list(&["/**/*.bak*", "/**/*.bak*/**"]));
        assert_eq!(names(r"^secret"), list(&["/**/secret*", "/**/secret*/**"]));
        let below = |e: &str, root: &str| Wide::of(e, false).below(root);
        assert_eq!(below(r"^/www/site/in", "/www/site"), Some(list(&["/in*", "/in*/**"])));
        assert_eq!(below(r"^/www/si", "/www/site"), Some(PathSet::All));
        assert_eq!(below(r"^/www$", "/www/site"), Some(PathSet::All));
        assert_eq!(below(r"^/srv/", "/www/site"), None);
        assert_eq!(below(r"\.git$", "/www/site"), Some(list(&["/**/*.git"])));
        assert_eq!(Wide::of_wildcards("/www/si*").below("/www/site"), Some(PathSet::All));
        assert_eq!(
            Wide::of_wildcards("/www/*/in").below("/www/site"),
            Some(list(&["/in", "/**/*/in", "/in/*", "/in/*/**", "/**/*/in/*", "/**/*/in/*/**"]))
        );
    }
}
