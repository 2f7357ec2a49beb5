//! Host names that no site names but a default site has served: a table of bounded size.
//!
//! A default site passes the client's own `Host` to its application and has it in the key. Names that are made up must not
//! fill the cache, so a name is learned only by a response that is stored, and a name that was not asked for in a while
//! gives its place up when another needs it. Values and `now` in, a verdict out. Not here: locks, which response teaches a
//! name (`server::pipeline::keep`).

use std::collections::HashMap;

/// A name that was not asked for in this time, ms, may be forgotten: ten minutes.
pub const FORGOTTEN_AFTER_MS: u64 = 600_000;

/// What is known of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostStanding {
    /// It was learned.
    Known,
    /// It was not, and there is a place for it.
    MayBeLearned,
    /// It was not, and all places are taken: its requests pass by the cache.
    NotLearned,
}

/// See the file's head.
#[derive(Debug, Default)]
pub struct LearnedHosts {
    /// When each was last asked for, monotonic ms.
    names: HashMap<Box<str>, u64>,
    /// The name asked for last, whatever became of it.
    recent: String,
}

impl LearnedHosts {
    /// What is known of the host of a request, which counts as its use.
    pub fn standing(&mut self, host: &str, places: usize, now_ms: u64) -> HostStanding {
        if self.recent != host {
            self.recent.clear();
            self.recent.push_str(host);
        }
        self.peek(host, places, now_ms, true)
    }

    /// The same for a request that is only imagined.
    pub fn foreseen(&mut self, host: &str, places: usize, now_ms: u64) -> HostStanding {
        self.peek(host, places, now_ms, false)
    }

    fn peek(&mut self, host: &str, places: usize, now_ms: u64, uses: bool) -> HostStanding {
        if let Some(used_ms) = self.names.get_mut(host) {
            if uses {
                *used_ms = now_ms;
            }
            return HostStanding::Known;
        }
        let may = self.names.len() < places || (places > 0 && self.idle(now_ms).is_some());
        if may { HostStanding::MayBeLearned } else { HostStanding::NotLearned }
    }

    /// Learns a name; `false` if there is no place for it.
    pub fn learn(&mut self, host: &str, places: usize, now_ms: u64) -> bool {
        if let Some(used_ms) = self.names.get_mut(host) {
            *used_ms = now_ms;
            return true;
        }
        while self.names.len() >= places {
            // After the bound was lowered more than one has to go.
            let Some(idle) = self.idle(now_ms) else { return false };
            self.names.remove(&idle);
        }
        self.names.insert(host.into(), now_ms);
        true
    }

    /// The name that was not asked for for longest, if that is long enough to forget it.
    fn idle(&self, now_ms: u64) -> Option<Box<str>> {
        let (name, used_ms) = self.names.iter().min_by_key(|(_, used_ms)| **used_ms)?;
        (now_ms.saturating_sub(*used_ms) >= FORGOTTEN_AFTER_MS).then(|| name.clone())
    }

    /// Whether it is learned.
    pub fn knows(&self, host: &str) -> bool {
        self.names.contains_key(host)
    }

    /// How many are learned.
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// The learned names, and the one asked for last, first.
    pub fn names(&self) -> Vec<String> {
        let others = self.names.keys().filter(|name| ***name != *self.recent).map(ToString::to_string);
        let recent = (!self.recent.is_empty()).then(|| self.recent.clone());
        recent.into_iter().chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::HostStanding::{Known, MayBeLearned, NotLearned};
    use super::*;

    #[test]
    fn a_name_is_learned_and_forgotten_unused() {
        let mut hosts = LearnedHosts::default();
        assert_eq!(hosts.standing("a", 2, 0), MayBeLearned);
        assert!(hosts.learn("a", 2, 0) && hosts.learn("b", 2, 1));
        assert_eq!((hosts.standing("a", 2, 2), hosts.standing("c", 2, 3)), (Known, NotLearned));
        assert!(!hosts.learn("c", 2, 4));
        assert_eq!(hosts.names()[0], "c", "the name asked for last");
        // `a` was asked for at 2, `b` at 1.
        let later = FORGOTTEN_AFTER_MS + 1;
        assert_eq!(hosts.foreseen("c", 2, later), MayBeLearned);
        assert!(hosts.learn("c", 2, later));
        assert_eq!((hosts.standing("a", 2, later), hosts.standing("b", 2, later)), (Known, NotLearned));
        assert_eq!(hosts.count(), 2);
    }

    #[test]
    fn without_places_nothing_is_learned_and_a_lowered_bound_is_kept() {
        let mut hosts = LearnedHosts::default();
        assert_eq!(hosts.standing("a", 0, 0), NotLearned);
        assert!(!hosts.learn("a", 0, 0));
        for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
            assert!(hosts.learn(name, 3, at as u64));
        }
        assert!(!hosts.learn("d", 1, 3));
        assert!(hosts.learn("d", 1, FORGOTTEN_AFTER_MS * 2) && hosts.count() == 1);
    }
}
