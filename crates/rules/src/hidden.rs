//! Rules that can never be chosen, since one earlier rule matches whatever they match.
//!
//! Sound, not complete: what is reported is hidden for certain; a rule hidden by several earlier ones together, or
//! by a glob too clever to compare, is not found. Not here: what is done about it (`check` warns).

use crate::glob::{Kind, Shape};
use crate::path::{extension, last_segment};
use crate::types::{PathGlob, Rule, Site};
use std::sync::Arc;

/// Pairs of a rule that can never be chosen and the first earlier rule that covers it, by id.
pub fn hidden_rules(site: &Site) -> Vec<(Arc<str>, Arc<str>)> {
    let mut found = Vec::new();
    for (at, rule) in site.rules.iter().enumerate() {
        let by = site.rules.iter().take(at).find(|earlier| covers(earlier, rule));
        if let Some(by) = by {
            found.push((Arc::clone(&rule.id), Arc::clone(&by.id)));
        }
    }
    found
}

/// True only if every request that `rule` matches is matched by `earlier`.
fn covers(earlier: &Rule, rule: &Rule) -> bool {
    covers_methods(earlier, rule) && covers_extensions(earlier, rule) && covers_path(earlier, rule)
}

fn covers_methods(earlier: &Rule, rule: &Rule) -> bool {
    let all_listed = || rule.methods.iter().all(|method| earlier.methods.contains(method));
    earlier.methods.is_empty() || (!rule.methods.is_empty() && all_listed())
}

fn covers_extensions(earlier: &Rule, rule: &Rule) -> bool {
    let listed = |extension: &str| earlier.extensions.iter().any(|one| one.eq_ignore_ascii_case(extension));
    if earlier.extensions.is_empty() {
        return true;
    }
    let by_list = !rule.extensions.is_empty() && rule.extensions.iter().all(|one| listed(one));
    by_list || rule.path.as_ref().and_then(|glob| certain_extension(&glob.shape)).is_some_and(listed)
}

/// The extension of all paths that a glob covers, if its text settles it: what follows the last dot of the tail is
/// what follows the last dot of the path.
fn certain_extension(shape: &Shape) -> Option<&str> {
    extension(last_segment(shape.tail()))
}

fn covers_path(earlier: &Rule, rule: &Rule) -> bool {
    match (&earlier.path, &rule.path) {
        (None, _) => true,
        (Some(glob), None) => glob.shape.kind == Kind::Any,
        (Some(glob), Some(other)) => covers_glob(glob, other),
    }
}

fn covers_glob(earlier: &PathGlob, rule: &PathGlob) -> bool {
    let (big, small) = (&earlier.shape, &rule.shape);
    if big.kind == Kind::Any {
        return true;
    }
    // A glob that minds the case cannot cover one that does not.
    if small.ignore_case && !big.ignore_case {
        return false;
    }
    if big.spelled == small.spelled {
        return true;
    }
    if small.kind == Kind::Literal && (big.on_segment || !small.on_segment) {
        return earlier.matches(&small.spelled);
    }
    match &big.kind {
        // Its head begins with a slash, which the head of a glob on the last segment never holds.
        Kind::Under(head) => big.begins(small.head(), head),
        // The tail holds no slash, so what ends in it has it in its last segment.
        Kind::Suffix(tail) => big.ends(small.tail(), tail),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TargetId;
    use http::Method;
    use std::sync::Arc;

    fn site(rules: Vec<Rule>) -> Site {
        Site {
            name: "s".into(),
            hosts: vec![],
            ports: vec![],
            default: true,
            canonical_host: String::new(),
            handlers: vec![],
            fallback: TargetId(0),
            index: vec![],
            rules,
            otherwise: Arc::default(),
            cache_status: true,
            guards: Default::default(),
        }
    }

    /// `GET,HEAD .php,.asp /path/**`, each part optional.
    fn rule(id: &str, text: &str) -> Rule {
        let mut rule = Rule { id: id.into(), ..Rule::default() };
        for part in text.split_whitespace() {
            if part.starts_with('.') {
                rule.extensions = part.split(',').map(str::to_owned).collect();
            } else if part.starts_with(['/', '*', '{']) {
                rule.path = Some(PathGlob::new(part).unwrap());
            } else if let Some(glob) = part.strip_prefix("i:") {
                rule.path = Some(PathGlob::with_case(glob, true).unwrap());
            } else {
                rule.methods = part.split(',').map(|one| one.parse::<Method>().unwrap()).collect();
            }
        }
        rule
    }

    #[test]
    fn table() {
        for (earlier, later, expected) in [
            ("", "", true),
            ("", "/a .php GET", true),
            ("GET", "", false),
            ("GET", "GET", true),
            ("GET,HEAD", "HEAD", true),
            ("GET", "GET,HEAD", false),
            (".php", ".php", true),
            (".php,.asp", ".asp", true),
            (".php", ".asp", false),
            (".php", "", false),
            (".php", "*.php", true),
            (".php", "*.PHP", true),
            (".php", "/a/**/*.php", true),
            (".php", "/a/b.php", true),
            (".gz", "*.tar.gz", true),
            (".php", "/a.php/b", false),
            (".php", "/a.php/*", false),
            (".php", "*php", false),
            (".php", "/a.php*", false),
            ("*.php", ".php", false),
            ("/**", "", true),
            ("*", "", true),
            ("/**", ".php", true),
            ("/a/**", "/a/b", true),
            ("/a/**", "/a/", true),
            ("/a/**", "/a", false),
            ("/a/**", "/a/b/*.jpg", true),
            ("/a/**", "/a/b/**", true),
            ("/a/b/**", "/a/**", false),
            ("/a/**", "/ab/**", false),
            ("/a/**", "/a*/b", false),
            ("/a/**", "*.jpg", false),
            ("/a/**", "b", false),
            ("*.jpg", "/a/*.jpg", true),
            ("*.jpg", "/a/b.jpg", true),
            ("*.jpg", "*-small.jpg", true),
            ("*.jpg", "/a/**", false),
            ("*-small.jpg", "*.jpg", false),
            ("/a/*", "/a/b", true),
            ("/a/*", "/a/b/c", false),
            ("/a/*", "/a/*", true),
            ("b", "/a/b", true),
            ("/a/b", "b", false),
            ("{/x,b}", "b", false),
            ("i:/A/**", "/a/b", true),
            ("/a/**", "i:/a/b", false),
            ("/a/** GET", "/a/b .php GET", true),
            ("/a/** GET", "/a/b .php", false),
        ] {
            // `b` alone is a glob on the last segment here, not a method.
            let parse = |id: &str, text: &str| match text {
                "b" => Rule { id: id.into(), path: Some(PathGlob::new("b").unwrap()), ..Rule::default() },
                other => rule(id, other),
            };
            let found = hidden_rules(&site(vec![parse("one", earlier), parse("two", later)]));
            let pair: (Arc<str>, Arc<str>) = ("two".into(), "one".into());
            assert_eq!(found.contains(&pair), expected, "{earlier:?} hides {later:?}");
        }
    }
}
