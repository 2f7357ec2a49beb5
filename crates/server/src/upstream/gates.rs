//! The bounds of sites and rules: how many of their requests may ask the origin at once, and the queues before them.
//!
//! Not here: the bound itself (`origin::Gate`), the upstream's own.

use crate::config::{GateSettings, Settings};
use samovar_origin::{Gate, Place};
use samovar_reason::Upstream as Reason;
use std::sync::Arc;

/// A gate, and what it was made from.
pub struct Named {
    /// What it was made from.
    pub settings: GateSettings,
    /// The gate.
    pub gate: Gate,
}

/// The gates of a configuration.
#[derive(Default)]
pub struct Gates {
    all: Vec<Arc<Named>>,
    by_site: Vec<OfSite>,
}

/// A site's own gate, and those of its rules.
type OfSite = (Option<Arc<Named>>, Vec<Option<Arc<Named>>>);

/// What a request occupies until its last byte.
#[derive(Debug, Default)]
pub struct Places {
    pub(super) site: Option<Place>,
    pub(super) rule: Option<Place>,
    pub(super) upstream: Option<Place>,
}

impl Gates {
    /// The gates of these settings; those that did not change are taken over with whoever is behind them.
    pub fn open(settings: &Settings, before: Option<&Gates>) -> Gates {
        let kept = |wanted: &GateSettings| {
            before?.all.iter().find(|named| named.settings == *wanted).map(Arc::clone)
        };
        let open = |wanted: &GateSettings| {
            kept(wanted).unwrap_or_else(|| {
                let gate = Gate::new(wanted.concurrent_max, wanted.queue_max, wanted.queue_timeout);
                Arc::new(Named { settings: wanted.clone(), gate })
            })
        };
        let all: Vec<Arc<Named>> = settings.gates.iter().map(open).collect();
        let find = |site: &str, rule: Option<&str>| {
            let same =
                |named: &&Arc<Named>| named.settings.site == site && named.settings.rule.as_deref() == rule;
            all.iter().find(same).map(Arc::clone)
        };
        let of_site = |site: &samovar_rules::Site| {
            let rules = site.rules.iter().map(|rule| find(&site.name, Some(&rule.id))).collect();
            (find(&site.name, None), rules)
        };
        let by_site =
            if all.is_empty() { Vec::new() } else { settings.sites.sites.iter().map(of_site).collect() };
        Gates { all, by_site }
    }

    /// All of them.
    pub fn all(&self) -> &[Arc<Named>] {
        &self.all
    }

    /// Waits for a place behind the gates of a rule and of its site.
    ///
    /// # Errors
    /// Which had no room, and why, in words.
    pub async fn enter(&self, site: usize, rule: Option<usize>) -> Result<Places, (Reason, String)> {
        let mut places = Places::default();
        let Some((of_site, of_rules)) = self.by_site.get(site) else { return Ok(places) };
        if let Some(named) = rule.and_then(|at| of_rules.get(at)).and_then(Option::as_ref) {
            places.rule = Some(named.enter().await?);
        }
        if let Some(named) = of_site {
            places.site = Some(named.enter().await?);
        }
        Ok(places)
    }
}

impl Named {
    /// What it bounds, for people.
    pub fn shown(&self) -> String {
        match &self.settings.rule {
            Some(rule) => format!("site.{}.rule.{rule}", self.settings.site),
            None => format!("site.{}", self.settings.site),
        }
    }

    async fn enter(&self) -> Result<Place, (Reason, String)> {
        self.gate.enter().await.map_err(|(why, detail)| (why, format!("{}.limits: {detail}", self.shown())))
    }
}
