//! mod_cache and its stores (mod_cache_disk, mod_disk_cache, mod_mem_cache, mod_cache_socache): what is stored, and how long.
//!
//! There is no disk tier yet: the memory tier stands for every store. A directive of a wider section holds in a narrower
//! one that does not say it again, and none holds where no `CacheEnable` covers it. So what becomes of each is known only
//! when all was read: it is noted there (`effects`). Not here: how a directive is read (`cache_words`).

use super::cache_words::{Given, Said};
use crate::draft::Draft;
use crate::note::Place;
use crate::wanted::{Scope, Select, Settings, Site, Value};

/// The directives of one section.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    pub(super) enabled: Said<()>,
    pub(super) default_expire: Said<u64>,
    pub(super) max_expire: Said<u64>,
    pub(super) factor: Said<f64>,
    pub(super) max_bytes: Said<u64>,
    pub(super) min_bytes: Said<u64>,
    pub(super) ignore_control: Said<bool>,
    pub(super) ignore_no_last_mod: Said<bool>,
    pub(super) ignore_query: Said<bool>,
    pub(super) ignored: Said<Vec<String>>,
    pub(super) store_private: Said<bool>,
    pub(super) store_no_store: Said<bool>,
    pub(super) stale_on_error: Said<bool>,
}

/// Those of all sections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caches {
    sections: Vec<(Select, Cache)>,
}

/// httpd's defaults: CacheDefaultExpire, ms.
pub(super) const DEFAULT_EXPIRE_MS: u64 = 3_600_000;
/// CacheMaxExpire, ms.
pub(super) const MAX_EXPIRE_MS: u64 = 86_400_000;
/// CacheLastModifiedFactor.
pub(super) const FACTOR: f64 = 0.1;
/// How long a stale response stands in for an error: httpd sets no bound, ms.
pub(super) const STALE_ON_ERROR_MS: u64 = 86_400_000;

/// Modules whose work is done here without loading anything.
pub(crate) fn is_module(name: &str) -> bool {
    const BUILT_IN: [&str; 21] = [
        "cache",
        "cache_disk",
        "disk_cache",
        "mem_cache",
        "cache_socache",
        "proxy",
        "proxy_http",
        "proxy_balancer",
        "proxy_fcgi",
        "lbmethod_byrequests",
        "lbmethod_bytraffic",
        "lbmethod_bybusyness",
        "headers",
        "deflate",
        "expires",
        "dir",
        "mime",
        "ssl",
        "status",
        "info",
        "authz_host",
    ];
    name.strip_suffix("_module").is_some_and(|bare| BUILT_IN.contains(&bare))
}

impl Caches {
    pub(super) fn of(&mut self, select: &Select) -> &mut Cache {
        let at = self.sections.iter().position(|(known, _)| known == select).unwrap_or_else(|| {
            self.sections.push((select.clone(), Cache::default()));
            self.sections.len() - 1
        });
        // Found or made a line above.
        #[allow(clippy::indexing_slicing, reason = "the index of an entry that was just found")]
        &mut self.sections[at].1
    }

    /// Whether anything was stored.
    pub(super) fn is_on(&self) -> bool {
        self.sections.iter().any(|(_, cache)| cache.enabled.is_some())
    }

    /// Whether responses to these requests were stored.
    pub(super) fn covers(&self, select: &Select) -> bool {
        self.sections.iter().any(|(s, cache)| cache.enabled.is_some() && s.covers(select))
    }

    /// Turns what was said into settings of the site, and, if they are to be noted, notes what became of each directive.
    pub(crate) fn settle(self, site: &mut Site, draft: &mut Draft<'_>, noted: bool) {
        // They are the ground that all other sections stand on: first, and the wider before the narrower.
        let mut ground: Vec<Scope> = Vec::new();
        for (select, own) in &self.sections {
            let Some(place) = own.first_place() else { continue };
            if self.covers(select) {
                let settings = self.folded(select).settings(draft);
                ground.push(Scope { select: select.clone(), settings, place: Some(place) });
            }
        }
        ground.sort_by_key(|scope| scope.select.rank());
        ground.append(&mut site.scopes);
        site.scopes = ground;
        for (select, own) in self.sections.iter().filter(|_| noted) {
            // Where it holds: its own section, if it is covered, and those inside of it that are.
            let inside = |(s, _): &&(Select, Cache)| select.covers(s) && self.covers(s);
            let held: Vec<Cache> = self.sections.iter().filter(inside).map(|(s, _)| self.folded(s)).collect();
            let wider = |(s, cache): &(Select, Cache)| s.is_all() && cache.enabled.is_some();
            super::effects::note(own, &held, self.sections.iter().any(wider), draft);
        }
    }

    /// What holds in a section: its own directives, else those of the sections around it, the narrower first.
    fn folded(&self, select: &Select) -> Cache {
        let mut around: Vec<&(Select, Cache)> =
            self.sections.iter().filter(|(s, _)| s.covers(select)).collect();
        around.sort_by_key(|(s, _)| s.rank());
        around.iter().fold(Cache::default(), |outer, (_, own)| own.over(&outer))
    }
}

impl Cache {
    fn first_place(&self) -> Option<Place> {
        super::effects::directives(self).first().map(|d| d.place.clone())
    }

    /// What an inner section says, else what the outer says.
    fn over(&self, outer: &Cache) -> Cache {
        fn or<T: Clone>(own: &Said<T>, outer: &Said<T>) -> Said<T> {
            own.clone().or_else(|| outer.clone())
        }
        Cache {
            enabled: or(&self.enabled, &outer.enabled),
            default_expire: or(&self.default_expire, &outer.default_expire),
            max_expire: or(&self.max_expire, &outer.max_expire),
            factor: or(&self.factor, &outer.factor),
            max_bytes: or(&self.max_bytes, &outer.max_bytes),
            min_bytes: or(&self.min_bytes, &outer.min_bytes),
            ignore_control: or(&self.ignore_control, &outer.ignore_control),
            ignore_no_last_mod: or(&self.ignore_no_last_mod, &outer.ignore_no_last_mod),
            ignore_query: or(&self.ignore_query, &outer.ignore_query),
            ignored: or(&self.ignored, &outer.ignored),
            store_private: or(&self.store_private, &outer.store_private),
            store_no_store: or(&self.store_no_store, &outer.store_no_store),
            stale_on_error: or(&self.stale_on_error, &outer.stale_on_error),
        }
    }

    /// Whether responses without a lifetime are stored (`CacheIgnoreNoLastMod On`).
    pub(super) fn keeps_silent(&self) -> bool {
        self.ignore_no_last_mod.as_ref().is_some_and(|said| said.value)
    }

    fn settings(&self, draft: &mut Draft<'_>) -> Settings {
        let mut out = Settings::default();
        self.lifetimes(&mut out);
        if let Some(Given { value: bytes, d }) = &self.max_bytes {
            out.set("max_bytes", Value::size(*bytes), &d.place);
        }
        if let Some(Given { value: bytes, d }) = self.min_bytes.as_ref().filter(|_| self.sizes_agree()) {
            out.set("min_bytes", Value::size(*bytes), &d.place);
        }
        if let Some(Given { value: ignore, d }) = &self.ignore_control {
            out.set("reload", Value::text(if *ignore { "ignore" } else { "revalidate" }), &d.place);
        }
        if let Some(Given { value: true, d }) = &self.ignore_query {
            out.set("vary_query", Value::text("ignore"), &d.place).remark =
                "all queries of a path share one response".to_owned();
        }
        if let Some(Given { value: names, d }) = &self.ignored {
            for name in names {
                if name.eq_ignore_ascii_case("Set-Cookie") {
                    out.set("set_cookie", Value::text("strip"), &d.place);
                } else {
                    out.add("drop_fields", Value::text(name), &d.place);
                }
            }
        }
        let on = |said: &Said<bool>| said.as_ref().filter(|said| said.value).map(|said| said.d.place.clone());
        let words = [("no-store", on(&self.store_no_store)), ("private", on(&self.store_private))];
        let words: Vec<(&str, Place)> =
            words.into_iter().filter_map(|(word, at)| Some((word, at?))).collect();
        if let Some((_, first)) = words.first() {
            let value = Value::texts(words.iter().map(|(word, _)| *word));
            let off = !draft.options.with_unsafe;
            let entry = out.set("override", value, first);
            entry.places = words.iter().map(|(_, place)| place.clone()).collect();
            entry.off = off;
            entry.remark =
                "UNSAFE: shares what the origin says is for one visitor, or must not be kept".to_owned();
        }
        if let Some(Given { value: on, d }) = &self.stale_on_error {
            let ms = if *on { STALE_ON_ERROR_MS } else { 0 };
            out.set("stale_if_error", Value::duration(ms), &d.place);
            out.set("stale_if_unreachable", Value::duration(ms), &d.place);
        }
        out
    }

    /// httpd's lifetimes: the origin's own, else a part of the time since Last-Modified, else `CacheDefaultExpire`, which
    /// only `CacheIgnoreNoLastMod On` gives to every response. Its defaults are written out, as ours are others.
    fn lifetimes(&self, out: &mut Settings) {
        let Some(first) = self.first_place() else { return };
        match self.ignore_no_last_mod.as_ref().filter(|said| said.value) {
            Some(said) => {
                let ms = self.default_expire.as_ref().map_or(DEFAULT_EXPIRE_MS, |given| given.value);
                let at = self.default_expire.as_ref().map_or(&said.d.place, |given| &given.d.place);
                let entry = out.set("when_silent", Value::duration(ms.max(1000)), at);
                entry.places.push(said.d.place.clone());
                entry.places.dedup();
                out.set_by_itself(
                    "heuristic_first",
                    Value::Bool(true),
                    "as httpd does: Last-Modified before CacheDefaultExpire",
                );
            }
            None => {
                let at = self.enabled.as_ref().map_or(&first, |said| &said.d.place);
                out.set("respect", Value::Bool(true), at);
            }
        }
        match &self.factor {
            Some(Given { value, d }) => {
                out.set("heuristic_factor", Value::Number(*value), &d.place);
            }
            None => out.set_by_itself("heuristic_factor", Value::Number(FACTOR), "httpd's default"),
        }
        match &self.max_expire {
            Some(Given { value: ms, d }) => {
                out.set("heuristic_max", Value::duration(*ms), &d.place);
                out.set("max_lifetime", Value::duration((*ms).max(1000)), &d.place);
            }
            None => out.set_by_itself("heuristic_max", Value::duration(MAX_EXPIRE_MS), "httpd's default"),
        }
    }

    /// Whether a body can be as large as the least and as small as the largest.
    pub(super) fn sizes_agree(&self) -> bool {
        match (&self.min_bytes, &self.max_bytes) {
            (Some(min), Some(max)) => min.value <= max.value,
            _ => true,
        }
    }
}
