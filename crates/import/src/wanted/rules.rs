//! Scopes that overlap become rules of which the first that matches holds.
//!
//! In httpd and IIS all scopes that match hold together; a rule of Samovar holds alone. So for every scope, and wherever a
//! scope of paths meets one of extensions, a rule is made of all that hold there, and the narrower stand first.

use super::{Overlap, PathSet, Scope, Select, Settings, Site};
use crate::note::Place;

/// Keys that a rule does not take from its site.
pub(crate) const OWN: [&str; 4] = ["override", "upstream", "rewrite", "redirect"];

/// More rules than that nobody has written.
pub(crate) const RULES_MAX: usize = 500;

/// A rule.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// Which requests.
    pub(crate) select: Select,
    /// What holds for them.
    pub(crate) settings: Settings,
    /// Where the scope was declared.
    pub(crate) place: Option<Place>,
}

/// The site's own policy, and its rules. `None`: too many.
pub(crate) fn settle(site: &Site) -> Option<(Settings, Vec<Rule>)> {
    let mut own = Settings::default();
    let mut rules = match site.overlap {
        Overlap::First => first(&site.scopes, &mut own),
        Overlap::All => {
            // What is closed whatever else is said of it comes first, and meets nothing.
            let is_shut = |scope: &&Scope| scope.settings.is_shut() && !scope.select.is_all();
            let (shut, others): (Vec<&Scope>, Vec<&Scope>) = site.scopes.iter().partition(is_shut);
            let others: Vec<Scope> = others.into_iter().cloned().collect();
            let mut rules: Vec<Rule> = shut.into_iter().map(closed).collect();
            rules.extend(all(&others, &site.passes, &mut own)?);
            rules
        }
    };
    if rules.len() > RULES_MAX {
        return None;
    }
    // What a site cannot say is said by a last rule that takes all.
    let mut last = Settings::default();
    for key in OWN {
        while let Some(entry) = own.remove(key) {
            last.overlay(&Settings::from_entry(entry));
        }
    }
    for rule in &mut rules {
        rule.settings.tidy(&own);
        rule.settings = rule.settings.beyond(&own);
    }
    own.tidy(&Settings::default());
    if !last.is_empty() {
        rules.push(Rule { select: Select::default(), settings: last, place: None });
    }
    let needed: Vec<bool> = (0..rules.len()).map(|at| is_needed(&rules, at)).collect();
    let mut keep = needed.into_iter();
    rules.retain(|_| keep.next().unwrap_or(true));
    Some((own, rules))
}

/// A rule that closes, and says nothing else.
fn closed(scope: &Scope) -> Rule {
    let mut settings = scope.settings.clone();
    settings.only(&["allow", "deny"]);
    Rule { select: scope.select.clone(), settings, place: scope.place.clone() }
}

/// A rule that says nothing is needed only where it shields from a later one.
fn is_needed(rules: &[Rule], at: usize) -> bool {
    let Some(rule) = rules.get(at) else { return true };
    let later = rules.get(at + 1..).unwrap_or_default();
    let meets = |l: &Rule| l.select.path.touches(&rule.select.path) && !l.settings.is_empty();
    !rule.settings.is_empty() || later.iter().any(meets)
}

fn first(scopes: &[Scope], own: &mut Settings) -> Vec<Rule> {
    let mut rules = Vec::new();
    for scope in scopes {
        if scope.select.is_all() {
            own.overlay(&scope.settings);
        } else {
            let Scope { select, settings, place } = scope.clone();
            rules.push(Rule { select, settings, place });
        }
    }
    rules
}

fn all(scopes: &[Scope], passes: &[Scope], own: &mut Settings) -> Option<Vec<Rule>> {
    let mut selects: Vec<(Select, Option<Place>)> = vec![(Select::default(), None)];
    let add = |select: Select, place: Option<Place>, selects: &mut Vec<(Select, Option<Place>)>| {
        if !selects.iter().any(|(known, _)| *known == select) {
            selects.push((select, place));
        }
    };
    for scope in scopes.iter().chain(passes) {
        add(scope.select.clone(), scope.place.clone(), &mut selects);
    }
    // What two take together may meet a third.
    let mut at = 0;
    while let Some((select, _)) = selects.get(at).cloned() {
        for scope in scopes.iter().chain(passes) {
            if let Some(met) = select.meet(&scope.select) {
                add(met, scope.place.clone(), &mut selects);
            }
        }
        if selects.len() > RULES_MAX {
            return None;
        }
        at += 1;
    }
    // Stable: of equals the later in the source holds, as there.
    selects.reverse();
    let mut rules = Vec::new();
    for (select, place) in selects {
        let mut settings = Settings::default();
        for scope in scopes.iter().filter(|scope| scope.select.covers(&select)) {
            settings.overlay(&scope.settings);
        }
        if let Some(pass) = passes.iter().find(|pass| pass.select.covers(&select)) {
            settings.overlay(&pass.settings);
        }
        let meets = |scope: &Scope| {
            let guards = scope.settings.guards() && scope.select.path.touches(&select.path);
            guards && !scope.select.covers(&select)
        };
        let found = scopes.iter().find(|scope| meets(scope)).and_then(|scope| scope.place.clone());
        if let (PathSet::Globs(_), true, Some(met)) = (&select.path, settings.guards(), &found) {
            settings.close(
                place.as_ref().unwrap_or(met),
                "several guards meet here, and which one holds cannot be written",
            );
        }
        if select.is_all() {
            *own = settings;
        } else {
            rules.push(Rule { select, settings, place });
        }
    }
    // Whether globs meet other scopes is not known: those that guard come before all, the others behind all.
    let order = |rule: &Rule| match (&rule.select.path, rule.settings.guards()) {
        (PathSet::Globs(_), true) => 2,
        (PathSet::Globs(_), false) => 0,
        _ => 1,
    };
    rules.sort_by_key(|rule| std::cmp::Reverse((order(rule), rule.select.rank())));
    Some(rules)
}
