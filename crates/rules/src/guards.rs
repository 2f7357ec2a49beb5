//! Which rules hold for a path beside the one that was chosen: those that guard or exclude what an origin may read it as.
//!
//! A site guards if any of its rules looks at addresses, counts requests or asks for users, and excludes if some of its rules
//! say `never` and others do not. Only such sites pay anything. There an ambiguous path is refused (`ambiguous`), and every
//! other is held to each of its readings (`readings`): each falls to a rule of its own, and the guards of all of them are
//! asked. A request that claims another method (`X-HTTP-Method-Override` and its like) is held to the guards of all methods.
//! Which rule decides everything else stays as it is: the first that matches the path itself. Not here: how guards
//! are asked (`server::pipeline::gate`).

use crate::acts::Acts;
use crate::ambiguous::ambiguous;
use crate::glob::META;
use crate::path::last_segment;
use crate::readings::{compared, folded, is_document, is_plain, others};
use crate::types::{PathGlob, Rule};
use http::Method;
use samovar_policy::LifetimeWish;
use samovar_reason::Route;

/// Stands for all methods that no rule names.
const UNNAMED_METHOD: &[u8] = b"UNNAMED";

/// What a site's rules come to as guards. Made once, when the configuration is read.
#[derive(Clone, Debug, Default)]
pub struct Guards {
    /// Ambiguous paths are refused.
    refuses: bool,
    /// By rule: whether it guards or excludes anything.
    of_rules: Vec<bool>,
    /// The same of the site's own policy.
    of_site: bool,
    /// By rule: its glob without regard to case.
    folded: Vec<Option<PathGlob>>,
    /// A glob has letters that are not lower case, so that a path in lower case may be read as one of its kind.
    folds_all: bool,
    /// Names of a folder's default document.
    documents: Vec<String>,
}

/// A rule that holds beside the one that was chosen.
#[derive(Clone, Debug)]
pub struct Held<'s> {
    /// The rule, or the site's own policy.
    pub rule: &'s Rule,
    /// What the path may be read as.
    pub reading: String,
}

impl Guards {
    /// Of a site's rules and its own policy. `refuses` says that ambiguous paths are refused.
    pub fn new(rules: &[Rule], site: &Rule, refuses: bool) -> Guards {
        let all = || rules.iter().chain([site]);
        let never = |rule: &Rule| rule.wishes.lifetime == LifetimeWish::Never;
        // Where everything is excluded, no reading leads out of it.
        let excludes = all().any(never) && !all().all(never);
        let holds = |rule: &Rule| rule.acts.as_deref().is_some_and(Acts::guards) || (excludes && never(rule));
        if !all().any(holds) {
            return Guards::default();
        }
        let globs = || rules.iter().filter_map(|rule| rule.path.as_ref());
        // What a rule names as a folder's document is taken for one. Which a folder of files has is known (`route`).
        let mut names: Vec<String> = globs().filter_map(named_document).collect();
        names.sort();
        names.dedup();
        Guards {
            refuses,
            of_rules: rules.iter().map(holds).collect(),
            of_site: holds(site),
            folded: rules.iter().map(|rule| rule.path.as_ref().map(PathGlob::folded)).collect(),
            folds_all: globs().any(|glob| folded(&glob.shape.spelled) != glob.shape.spelled),
            documents: names,
        }
    }

    /// Whether anything is guarded or excluded.
    pub fn any(&self) -> bool {
        self.of_site || self.of_rules.contains(&true)
    }

    /// Whether ambiguous paths are refused.
    pub fn refuses(&self) -> bool {
        self.any() && self.refuses
    }

    /// Whether the rule at this position, or the site's own policy, guards or excludes anything.
    pub fn holds(&self, rule: Option<usize>) -> bool {
        rule.map_or(self.of_site, |at| self.of_rules.get(at).copied().unwrap_or(false))
    }

    /// Refuses a path, as the client sent it, that origins read in different ways.
    ///
    /// # Errors
    /// `AmbiguousPath`, and what is ambiguous.
    pub(crate) fn check(&self, path: &str) -> Result<(), (Route, String)> {
        match self.refuses().then(|| ambiguous(path)).flatten() {
            Some(why) => Err((Route::AmbiguousPath, format!("{why}: {path:?}"))),
            None => Ok(()),
        }
    }

    /// The rules that hold for a normalised path beside `chosen`, each with one reading that falls to it. `choose` is the
    /// first rule of the site that matches a path as globs are compared with it and a method, by the globs given or their
    /// own. `claims_method` says that the request asks the application to take another method for its own: which one, each
    /// application decides for itself, so all are held.
    ///
    /// # Errors
    /// `TooManyReadings`.
    pub(crate) fn held<'s>(
        &self,
        path: &str,
        (method, claims_method): (&Method, bool),
        chosen: &Rule,
        rules: &'s [Rule],
        choose: impl Fn(&str, &Method, Option<&[Option<PathGlob>]>) -> &'s Rule,
    ) -> Result<Vec<Held<'s>>, (Route, String)> {
        if !self.any() {
            return Ok(Vec::new());
        }
        let has_case = path.bytes().any(|byte| byte.is_ascii_uppercase() || byte == b'%');
        let plain = is_plain(path);
        if plain && !has_case && !self.folds_all && !claims_method {
            return Ok(Vec::new());
        }
        let unnamed = Method::from_bytes(UNNAMED_METHOD).unwrap_or_default();
        let mut methods = vec![method];
        if claims_method {
            methods.extend(rules.iter().flat_map(|rule| &rule.methods).chain([&unnamed]));
            methods.sort_unstable_by(|a, b| a.as_str().cmp(b.as_str()));
            methods.dedup();
        }
        let many = || (Route::TooManyReadings, format!("of {} bytes", path.len()));
        let mut readings = match plain {
            true => Vec::new(),
            false => others(path, &self.documents).map_err(|_| many())?,
        };
        let mut found: Vec<Held<'s>> = Vec::new();
        let mut hold = |rule: &'s Rule, reading: &str| {
            let position = rules.iter().position(|one| std::ptr::eq(one, rule));
            let known = std::ptr::eq(rule, chosen) || found.iter().any(|held| std::ptr::eq(held.rule, rule));
            if !known && self.holds(position) && adds(rule, chosen) {
                found.push(Held { rule, reading: reading.to_owned() });
            }
        };
        // The path's own rule is among them: another may have been chosen by a folder's default document.
        readings.push(compared(path).into_owned());
        for reading in &readings {
            methods.iter().for_each(|method| hold(choose(reading, method, None), reading));
        }
        if has_case || self.folds_all {
            for reading in readings.iter().map(|reading| folded(reading)) {
                methods
                    .iter()
                    .for_each(|method| hold(choose(&reading, method, Some(&self.folded)), &reading));
            }
        }
        Ok(found)
    }
}

/// Whether a rule asks, or excludes, more than the chosen does by itself.
pub(crate) fn adds(rule: &Rule, chosen: &Rule) -> bool {
    let excludes = |rule: &Rule| rule.wishes.lifetime == LifetimeWish::Never;
    if excludes(rule) && !excludes(chosen) {
        return true;
    }
    let Some(acts) = rule.acts.as_deref() else { return false };
    let Some(own) = chosen.acts.as_deref() else { return acts.guards() };
    let counts = acts.rate.as_ref().is_some_and(|rate| !rate.of_site || own.rate.as_ref() != Some(rate));
    let differs = acts.access != own.access || acts.users != own.users;
    counts || (acts.protects() && differs) || (acts.unshared() && !own.unshared())
}

/// The name of a folder's default document that a glob ends in, as written.
fn named_document(glob: &PathGlob) -> Option<String> {
    let name = last_segment(&glob.shape.spelled);
    let whole = !name.contains(META);
    (whole && is_document(name)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Addresses};
    use std::sync::Arc;

    fn rule(glob: &str, closed: bool) -> Rule {
        let deny = Addresses { networks: vec![], unix: true };
        let access = Access { allow: Addresses::default(), deny };
        let acts = Acts { access: Some(access), ..Acts::default() };
        Rule {
            path: Some(PathGlob::new(glob).unwrap()),
            acts: closed.then(|| Arc::new(acts)),
            ..Rule::default()
        }
    }

    fn never(rule: Rule) -> Rule {
        let mut rule = rule;
        rule.wishes.lifetime = LifetimeWish::Never;
        rule
    }

    #[test]
    fn sites_that_guard_or_exclude() {
        let open = Rule::default();
        for (rules, site, wanted) in [
            (vec![], open.clone(), false),
            (vec![rule("/a", false)], open.clone(), false),
            (vec![rule("/a", true)], open.clone(), true),
            (vec![rule("/a", false)], rule("/", true), true),
            (vec![never(rule("/a", false))], open.clone(), true),
            (vec![rule("/a", false)], never(open.clone()), true),
            (vec![never(rule("/a", false))], never(open.clone()), false),
            (vec![never(rule("/a", true))], never(open.clone()), true),
        ] {
            let guards = Guards::new(&rules, &site, true);
            assert_eq!(guards.any(), wanted, "{rules:?}");
            assert_eq!(guards.check("/a%2F..").is_err(), wanted);
        }
        assert!(Guards::new(&[rule("/a", true)], &open, false).check("/a%2F..").is_ok());
    }

    #[test]
    fn documents_that_rules_name() {
        for (glob, wanted) in [
            ("/a/index.php", Some("index.php")),
            ("**/default.aspx", Some("default.aspx")),
            ("index.html", Some("index.html")),
            ("/**/index.cgi", Some("index.cgi")),
            ("*.php", None),
            ("*index.php", None),
            ("/a/home.php", None),
            ("/a/**", None),
        ] {
            assert_eq!(named_document(&PathGlob::new(glob).unwrap()).as_deref(), wanted, "{glob}");
        }
    }
}
