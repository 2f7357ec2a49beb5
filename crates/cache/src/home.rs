//! What entries have in common: the rule that was in force, what they are charged to, the fields that many have. An entry
//! points at it.
//!
//! Not here: what a rule is (`rules`).

use crate::budget::Budget;
use crate::pairs::Pairs;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Of how many rules nothing is looked for that could be forgotten.
const KEPT: usize = 64;

/// What the entries of one rule share.
#[derive(Debug)]
pub(crate) struct Home {
    pub rule: Arc<str>,
    pub budget: Arc<Budget>,
    pub pairs: Arc<Pairs>,
}

/// The homes by their rules. Asked for when something is stored, not when it is looked up.
#[derive(Debug)]
pub(crate) struct Homes {
    budget: Arc<Budget>,
    pairs: Arc<Pairs>,
    by_rule: Mutex<HashMap<Arc<str>, Arc<Home>, foldhash::fast::RandomState>>,
}

impl Homes {
    pub(crate) fn new(budget: &Arc<Budget>) -> Homes {
        let pairs = Arc::new(Pairs::new(budget));
        Homes { budget: Arc::clone(budget), pairs, by_rule: Mutex::default() }
    }

    pub(crate) fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    pub(crate) fn of(&self, rule: &Arc<str>) -> Arc<Home> {
        // A panic under the lock leaves plain data behind.
        let mut by_rule = self.by_rule.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(home) = by_rule.get(rule) {
            return Arc::clone(home);
        }
        // Rules of configurations that are gone leave with the last entry.
        if by_rule.len() >= KEPT && by_rule.len() == by_rule.capacity() {
            by_rule.retain(|_, home| Arc::strong_count(home) > 1);
        }
        let (budget, pairs) = (Arc::clone(&self.budget), Arc::clone(&self.pairs));
        let home = Arc::new(Home { rule: Arc::clone(rule), budget, pairs });
        by_rule.insert(Arc::clone(rule), Arc::clone(&home));
        home
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_has_one_home_while_it_is_of_use() {
        let homes = Homes::new(&Budget::new(1));
        let first = homes.of(&"rule".into());
        assert!(Arc::ptr_eq(&first, &homes.of(&"rule".into())));
        for number in 0..10_000 {
            assert_eq!(*homes.of(&number.to_string().into()).rule, *number.to_string());
        }
        assert!(homes.by_rule.lock().unwrap().len() < 4 * KEPT);
        assert!(Arc::ptr_eq(&first, &homes.of(&"rule".into())));
    }
}
