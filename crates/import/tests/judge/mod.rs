//! Who may ask for a path under a written configuration: the first rule that takes it, with what its site says.
//!
//! A judge of its own, which shares no code with the importer or the server: a fault in shared code would hide in both.

#![allow(dead_code, reason = "each test uses what it needs")]

use samovar_import::{Ask, File, Imported, Note, Options, Source, import};
use toml::{Table, Value};

/// What a request meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// Everybody may.
    Open,
    /// Nobody may.
    Closed,
    /// Some addresses may.
    Some,
    /// Whoever has a password may.
    Asks,
}

/// An import of one text.
pub fn told(source: Source, text: &str) -> Imported {
    let file = File { name: "main.conf".into(), bytes: text.into() };
    let mut read = |_: &Ask<'_>| Err("there is none".to_owned());
    import(source, &file, &Options::default(), &mut read)
        .unwrap_or_else(|refused| panic!("{text}\n{refused}"))
}

/// A written configuration.
pub struct Judge {
    sites: Vec<Table>,
    pub notes: Vec<Note>,
    pub toml: String,
}

impl Judge {
    pub fn of(source: Source, text: &str) -> Judge {
        let imported = told(source, text);
        let whole: Table = imported.toml.parse().unwrap_or_else(|why| panic!("{why}\n{}", imported.toml));
        let list = whole.get("site").and_then(Value::as_array).cloned().unwrap_or_default();
        let sites = list.iter().filter_map(|site| site.as_table().cloned()).collect();
        Judge { sites, notes: imported.notes, toml: imported.toml }
    }

    /// The policy of a path in the first site.
    pub fn policy(&self, path: &str) -> Table {
        self.policy_in(0, path)
    }

    pub fn policy_in(&self, site: usize, path: &str) -> Table {
        let site = self.sites.get(site).expect("a site");
        let rules = site.get("rule").and_then(Value::as_array).cloned().unwrap_or_default();
        let fold = site.get("ignore_case").and_then(Value::as_bool).unwrap_or(false);
        let mut policy = site.clone();
        policy.remove("rule");
        let found = rules.iter().filter_map(Value::as_table).find(|rule| takes(rule, path, fold));
        for (key, value) in found.into_iter().flatten() {
            policy.insert(key.clone(), value.clone());
        }
        policy
    }

    pub fn meets(&self, path: &str) -> Met {
        self.meets_in(0, path)
    }

    pub fn meets_in(&self, site: usize, path: &str) -> Met {
        let policy = self.policy_in(site, path);
        let list = |key: &str| texts(policy.get(key));
        let all = list("deny").contains(&"0.0.0.0/0".to_owned());
        match (list("allow").is_empty(), all, policy.get("basic_auth").is_some_and(Value::is_table)) {
            (true, true, _) => Met::Closed,
            (_, _, true) => Met::Asks,
            (true, false, _) if list("deny").is_empty() => Met::Open,
            _ => Met::Some,
        }
    }
}

fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

fn takes(rule: &Table, path: &str, fold: bool) -> bool {
    let extensions = texts(rule.get("extension"));
    let name = path.rsplit('/').next().unwrap_or(path);
    let own = name.rfind('.').and_then(|at| name.get(at..)).unwrap_or_default().to_ascii_lowercase();
    if !(extensions.is_empty() || extensions.contains(&own)) {
        return false;
    }
    let Some(glob) = rule.get("path").and_then(Value::as_str) else { return true };
    let lower = |text: &str| if fold { text.to_ascii_lowercase() } else { text.to_owned() };
    let (glob, path, name) = (lower(glob), lower(path), lower(name));
    let subject = if glob.contains('/') { &path } else { &name };
    let subject: Vec<char> = subject.chars().collect();
    branches(&glob).iter().any(|glob| matches(&glob.chars().collect::<Vec<_>>(), &subject))
}

/// `{a,b}`, which are not nested, spelt out.
fn branches(glob: &str) -> Vec<String> {
    let Some((before, rest)) = glob.split_once('{') else { return vec![glob.to_owned()] };
    let (inside, after) = rest.split_once('}').unwrap();
    inside.split(',').flat_map(|branch| branches(&format!("{before}{branch}{after}"))).collect()
}

/// `*` and `?` stop at a slash, `/**/` is any folders or none, `/**` at the end is all below.
fn matches(glob: &[char], text: &[char]) -> bool {
    let tails = |from: usize| (from..=text.len()).map(|at| text.get(at..).unwrap_or_default());
    match glob {
        [] => text.is_empty(),
        ['/', '*', '*'] => text.first() == Some(&'/'),
        ['/', '*', '*', rest @ ..] if rest.first() == Some(&'/') => {
            text.first() == Some(&'/') && tails(0).any(|tail| matches(rest, tail))
        }
        ['*', rest @ ..] => {
            let within = text.iter().take_while(|c| **c != '/').count();
            (0..=within).any(|at| matches(rest, text.get(at..).unwrap_or_default()))
        }
        ['?', rest @ ..] => {
            text.first().is_some_and(|c| *c != '/') && matches(rest, text.get(1..).unwrap_or_default())
        }
        ['[', rest @ ..] => {
            let end = rest.iter().position(|c| *c == ']').expect("a closed class");
            let (class, rest) = rest.split_at(end);
            let (Some(first), Some(tail)) = (text.first(), rest.get(1..)) else { return false };
            class.contains(first) && matches(tail, text.get(1..).unwrap_or_default())
        }
        ['\\', c, rest @ ..] | [c, rest @ ..] => {
            text.first() == Some(c) && matches(rest, text.get(1..).unwrap_or_default())
        }
    }
}
