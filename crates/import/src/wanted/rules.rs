//! Scopes that overlap become rules of which the first that matches holds.
//!
//! In httpd and IIS all scopes that match hold together; a rule of Samovar holds alone. So for every scope, and wherever a
//! scope of paths meets one of extensions, a rule is made of all that hold there, and the narrower stand first.

use super::{Overlap, Scope, Select, Settings, Site};
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
        Overlap::All => all(&site.scopes, &mut own)?,
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
        rule.settings.tidy();
        rule.settings = rule.settings.beyond(&own);
    }
    own.tidy();
    if !last.is_empty() {
        rules.push(Rule { select: Select::default(), settings: last, place: None });
    }
    let needed: Vec<bool> = (0..rules.len()).map(|at| is_needed(&rules, at)).collect();
    let mut keep = needed.into_iter();
    rules.retain(|_| keep.next().unwrap_or(true));
    Some((own, rules))
}

/// A rule that says nothing is needed only where it shields from a later one.
fn is_needed(rules: &[Rule], at: usize) -> bool {
    let Some(rule) = rules.get(at) else { return true };
    let later = rules.get(at + 1..).unwrap_or_default();
    !rule.settings.is_empty() || later.iter().any(|l| l.select.covers(&rule.select) && !l.settings.is_empty())
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

fn all(scopes: &[Scope], own: &mut Settings) -> Option<Vec<Rule>> {
    let mut selects: Vec<(Select, Option<Place>)> = Vec::new();
    let add = |select: Select, place: Option<Place>, selects: &mut Vec<(Select, Option<Place>)>| {
        if !selects.iter().any(|(known, _)| *known == select) {
            selects.push((select, place));
        }
    };
    for scope in scopes {
        add(scope.select.clone(), scope.place.clone(), &mut selects);
    }
    for (at, a) in scopes.iter().enumerate() {
        for b in scopes.iter().skip(at + 1) {
            if let Some(met) = a.select.meet(&b.select) {
                add(met, b.place.clone(), &mut selects);
            }
            if selects.len() > RULES_MAX {
                return None;
            }
        }
    }
    // Stable: of equals the later in the source holds, as there.
    selects.reverse();
    selects.sort_by_key(|(select, _)| std::cmp::Reverse(select.rank()));
    let mut rules = Vec::new();
    for (select, place) in selects {
        let mut settings = Settings::default();
        for scope in scopes.iter().filter(|scope| scope.select.covers(&select)) {
            settings.overlay(&scope.settings);
        }
        if select.is_all() {
            *own = settings;
        } else {
            rules.push(Rule { select, settings, place });
        }
    }
    Some(rules)
}
