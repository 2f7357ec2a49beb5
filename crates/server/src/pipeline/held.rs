//! Rules that hold beside the one that was chosen, since the path may be read as theirs: where they stand, and how it is told.
//!
//! Not here: which they are (`samovar_rules::Guards`), and what they ask (`gate`).

use samovar_reason::Route as Why;
use samovar_rules::{Held, Site};
use samovar_trace::Fact;

/// Their positions; `None` for the site's own policy.
pub(super) fn held_at(site: &Site, held: &[Held<'_>]) -> Vec<Option<usize>> {
    held.iter().map(|held| site.rules.iter().position(|rule| std::ptr::eq(rule, held.rule))).collect()
}

/// Each, and the reading by which it holds.
pub(super) fn held_facts(held: &[Held<'_>]) -> impl Iterator<Item = Fact> {
    let fact = |held: &Held<'_>| Fact::Held(Why::RuleByReading, held.rule.id.clone(), held.reading.clone());
    held.iter().map(fact)
}
