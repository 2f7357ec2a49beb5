//! One configuration in force: settings and the targets they name. Never changed, only replaced whole.

use super::Target;
use crate::config::{Settings, UpstreamSettings, Watched};
use crate::pipeline::{Route, wishes_for};
use crate::upstream::{Gates, Upstream};
use samovar_cache::{Cache, Scope};
use samovar_origin::{Change, Watch};
use samovar_policy::LifetimeWish;
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
    upstreams: Vec<Arc<Upstream>>,
    gates: Gates,
    /// For each site the marks of its rules, and of its own policy last: what an entry remembers of the rule it
    /// was stored under. Another mark means that the rule changed since.
    marks: Vec<Vec<Arc<str>>>,
    globs: Vec<GlobWatch>,
    /// What `https://` listeners begin connections with.
    pub tls: Option<Arc<rustls::ServerConfig>>,
}

/// A watch over files that a rule names.
struct GlobWatch {
    site: String,
    rule: String,
    watch: Watch,
}

fn rule_tag(site: &str, rule: &str) -> Box<str> {
    format!("rule:{site}/{rule}").into()
}

fn watch_glob(watched: &Watched, cache: &Arc<Cache>) -> Option<GlobWatch> {
    let cache = Arc::clone(cache);
    let tag = rule_tag(&watched.site, &watched.rule);
    let (root, glob) = (watched.root.clone(), watched.glob.clone());
    let sink = Arc::new(move |changes: Vec<Change>| {
        let touched = changes.iter().any(|change| match change {
            Change::Path(rel) => {
                let path = format!("{}/{}", root.display(), rel.trim_start_matches('/'));
                glob.is_match(&path)
            }
            Change::Rescan => true,
        });
        if touched {
            cache.purge(Scope::Made { tag: &tag, owner: &tag }, false);
        }
    });
    match Watch::new(&watched.root, sink) {
        Ok(watch) => Some(GlobWatch { site: watched.site.clone(), rule: watched.rule.clone(), watch }),
        Err(error) => {
            crate::say!(
                "samovar: cannot watch {}: {error}; rule {} looks once a second instead",
                watched.root.display(),
                watched.rule
            );
            None
        }
    }
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
        let mut upstreams: Vec<Arc<Upstream>> = Vec::new();
        let mut upstream = |wanted: &Arc<UpstreamSettings>| {
            let found = upstreams.iter().find(|u| u.settings() == wanted).cloned();
            found.unwrap_or_else(|| {
                let opened = open_upstream(wanted, previous);
                upstreams.push(Arc::clone(&opened));
                opened
            })
        };
        for wanted in &settings.targets {
            let kept = previous.and_then(|p| {
                let at = p.settings.targets.iter().position(|t| t == wanted)?;
                p.targets.get(at).cloned()
            });
            // Asked for in any case, so that what is kept stands in the list.
            match kept.as_deref() {
                Some(Target::Http(kept)) => drop(upstream(kept.settings())),
                Some(Target::FastCgi(kept)) => drop(upstream(kept.app.settings())),
                Some(Target::Files(_)) | None => {}
            }
            targets.push(match kept {
                Some(target) => target,
                None => Arc::new(Target::open(wanted, cache, &mut upstream)?),
            });
        }
        let gates = Gates::open(&settings, previous.map(|p| &p.gates));
        let marks = settings
            .sites
            .sites
            .iter()
            .map(|site| site.rules.iter().chain([&*site.otherwise]).map(|rule| mark(site, rule)).collect())
            .collect();
        let globs = settings.watches.iter().filter_map(|w| watch_glob(w, cache)).collect();
        let tls = crate::front::acceptor(&settings.certificates)?;
        Ok(Snapshot { epoch, settings, targets, upstreams, gates, marks, globs, tls })
    }

    /// A running target.
    pub fn target(&self, id: TargetId) -> Option<&Arc<Target>> {
        self.targets.get(id.0)
    }

    /// All running targets.
    pub fn targets(&self) -> &[Arc<Target>] {
        &self.targets
    }

    /// Whether the changes that end an answer's life are told: by the watch over the site's files, or over the
    /// files that the rule names.
    pub fn tells_changes(&self, route: &Route, of_files: bool) -> bool {
        let Some(site) = route.site_in(self) else { return false };
        // A rule may send its requests to an upstream though the site has files, whose changes say nothing of it.
        let elsewhere = matches!(self.target(route.target).map(|t| &**t), Some(Target::Http(_)));
        if let Some(Target::Files(files)) = self.target(site.fallback).map(|t| &**t)
            && files.is_watched()
            && !elsewhere
        {
            return true;
        }
        let rule = route.rule_in(self).map_or("", |r| &*r.id);
        !of_files && self.globs.iter().any(|g| *g.site == *site.name && g.rule == rule && g.watch.healthy())
    }

    /// The tag by which a rule's watched files end its answers, if it has any.
    pub fn rule_tag(&self, route: &Route) -> Option<Box<str>> {
        let (site, rule) = (route.site_in(self)?, route.rule_in(self)?);
        let watched = self.globs.iter().any(|g| *g.site == *site.name && *g.rule == *rule.id);
        watched.then(|| rule_tag(&site.name, &rule.id))
    }

    /// What an answer to this request may be made of, where changes end its life: the site's folder, the files
    /// that the rule names.
    pub fn owners(&self, route: &Route) -> Vec<Arc<str>> {
        let mut owners: Vec<Arc<str>> =
            self.rule_tag(route).map(|tag| Arc::from(&*tag)).into_iter().collect();
        let by_files = matches!(self.target(route.target).map(|t| &**t), Some(Target::Files(_)));
        let wishes = wishes_for(self, route, by_files);
        if wishes.lifetime == LifetimeWish::UntilChanged
            && let Some(site) = route.site_in(self)
            && let Some(Target::Files(files)) = self.target(site.fallback).map(|t| &**t)
        {
            owners.push(Arc::clone(&files.tag));
        }
        owners
    }

    /// All running upstreams, in the order sites refer to them.
    pub fn upstreams(&self) -> &[Arc<Upstream>] {
        &self.upstreams
    }

    /// The bounds of sites and rules.
    pub fn gates(&self) -> &Gates {
        &self.gates
    }

    /// Closes upstream sockets that were idle too long.
    pub fn close_idle(&self) {
        let now = std::time::Instant::now();
        self.upstreams.iter().for_each(|upstream| upstream.close_idle(now));
    }

    /// Begins what is due with upstreams: probes, names to look up. On one core, about ten times a second.
    pub fn tend(&self) {
        self.upstreams.iter().for_each(Upstream::tend);
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

/// The upstream that runs by these settings; else a new one in the place of that of the same name.
fn open_upstream(wanted: &Arc<UpstreamSettings>, previous: Option<&Snapshot>) -> Arc<Upstream> {
    let before = || previous.into_iter().flat_map(|p| &p.upstreams);
    let same = before().find(|u| u.settings() == wanted);
    same.cloned().unwrap_or_else(|| {
        let named = before().find(|u| u.settings().name == wanted.name);
        Upstream::open(wanted, named.map(Arc::as_ref))
    })
}

/// Name and contents of a rule as far as they shape what is stored under it.
fn mark(site: &Site, rule: &Rule) -> Arc<str> {
    let mut hasher = std::hash::DefaultHasher::new();
    format!("{:?} {:?} {:?} {:?}", rule.wishes, rule.vary_headers, rule.compare_headers, rule.ignore_cookies)
        .hash(&mut hasher);
    if let Some(acts) = &rule.acts {
        let told = (&acts.rewrite, &acts.request_fields, &acts.response_fields);
        let mapped = (&acts.cookie_paths, &acts.cookie_domains, acts.unshared());
        format!("{told:?} {mapped:?}").hash(&mut hasher);
    }
    // How the origin was asked shapes what it answered; what is made of it here does not.
    rule.coding.as_ref().map(|wish| (wish.asks as u8, &wish.codings)).hash(&mut hasher);
    format!("{}/{}#{:016x}", site.name, rule.id, hasher.finish()).into()
}
