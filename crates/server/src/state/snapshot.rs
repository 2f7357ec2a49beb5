//! One configuration in force: settings and the targets they name. Never changed, only replaced whole.

use super::Target;
use crate::config::Settings;
use samovar_cache::Cache;
use samovar_rules::{Rule, Site, TargetId};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A configuration in force.
pub struct Snapshot {
    /// Grows with each change.
    pub epoch: u64,
    /// The settings.
    pub settings: Settings,
    targets: Vec<Arc<Target>>,
    /// For each site the marks of its rules, and of its own policy last: what an entry remembers of the rule it
    /// was stored under. Another mark means that the rule changed since.
    marks: Vec<Vec<Arc<str>>>,
}

impl Snapshot {
    /// Opens what the settings name. Targets whose settings did not change are taken over with their sockets.
    ///
    /// # Errors
    /// In words, if a target cannot be opened.
    pub fn build(
        settings: Settings,
        epoch: u64,
        previous: Option<&Snapshot>,
        cache: &Arc<Cache>,
    ) -> Result<Snapshot, String> {
        let mut targets = Vec::with_capacity(settings.targets.len());
        for wanted in &settings.targets {
            let kept = previous.and_then(|p| {
                let at = p.settings.targets.iter().position(|t| t == wanted)?;
                p.targets.get(at).cloned()
            });
            targets.push(match kept {
                Some(target) => target,
                None => Arc::new(Target::open(wanted, cache)?),
            });
        }
        let marks = settings
            .sites
            .sites
            .iter()
            .map(|site| site.rules.iter().chain([&*site.otherwise]).map(|rule| mark(site, rule)).collect())
            .collect();
        Ok(Snapshot { epoch, settings, targets, marks })
    }

    /// A running target.
    pub fn target(&self, id: TargetId) -> Option<&Arc<Target>> {
        self.targets.get(id.0)
    }

    /// All running targets.
    pub fn targets(&self) -> &[Arc<Target>] {
        &self.targets
    }

    /// Closes upstream sockets that were idle too long.
    pub fn close_idle(&self) {
        let now = std::time::Instant::now();
        for target in &self.targets {
            match &**target {
                Target::Http(upstream) => upstream.close_idle(now),
                Target::FastCgi(app) => app.close_idle(now),
                Target::Files(_) => {}
            }
        }
    }

    /// The mark of a rule (`None`: the site's own policy).
    pub fn mark(&self, site: usize, rule: Option<usize>) -> Option<&Arc<str>> {
        let marks = self.marks.get(site)?;
        match rule {
            Some(at) => marks.get(at),
            None => marks.last(),
        }
    }
}

/// Name and contents of a rule as far as they shape what is stored under it.
fn mark(site: &Site, rule: &Rule) -> Arc<str> {
    let mut hasher = std::hash::DefaultHasher::new();
    format!("{:?} {:?} {:?}", rule.wishes, rule.vary_headers, rule.ignore_cookies).hash(&mut hasher);
    format!("{}/{}#{:016x}", site.name, rule.id, hasher.finish()).into()
}
