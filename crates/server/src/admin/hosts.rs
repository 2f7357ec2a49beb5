//! What a bare path means where a default site is known by its clients' own hosts: the same path under each of them.
//!
//! Not here: which hosts are learned (`rules::LearnedHosts`).

use crate::state::Shared;
use http::HeaderMap;
use samovar_reason::Route;

/// The URLs that `url` stands for, that of the host asked for last first; itself, unless it is a bare path on a default site
/// that takes its clients' hosts.
pub fn urls(app: &Shared, url: &str) -> Vec<String> {
    let written = || vec![url.to_owned()];
    if !url.trim_start().starts_with('/') {
        return written();
    }
    let snapshot = app.snapshot();
    let routed = samovar_rules::url_key(&snapshot.settings.sites, url, &HeaderMap::new());
    if !routed.is_ok_and(|to| to.site_reason == Route::SiteByDefault && to.site.canonical_host.is_empty()) {
        return written();
    }
    let names = app.learned_hosts().names();
    let under = names.iter().map(|host| format!("http://{host}{}", url.trim_start()));
    // Clients that say no host have a name of their own.
    under.chain(written()).collect()
}
