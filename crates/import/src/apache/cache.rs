//! mod_cache and its stores (mod_cache_disk, mod_disk_cache, mod_mem_cache, mod_cache_socache).
//!
//! There is no disk tier yet: the memory tier stands for every store. Directives of the server are defaults of what
//! `CacheEnable` names; those in a `<Location>` hold there.

use super::directives::Conf;
use crate::draft::Draft;
use crate::note::{Fate, Place};
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{PathSet, Scope, Select, Settings, Site, Value};

/// A value with where it was said.
type Said<T> = Option<(T, Place)>;

/// The directives of one section.
#[derive(Clone, Debug, Default)]
struct Cache {
    enabled: Said<()>,
    default_expire: Said<u64>,
    max_expire: Said<u64>,
    factor: Said<f64>,
    max_bytes: Said<u64>,
    min_bytes: Said<u64>,
    ignore_control: Said<bool>,
    ignore_no_last_mod: Said<bool>,
    ignore_query: Said<bool>,
    ignored: Said<Vec<String>>,
    store_private: Said<bool>,
    store_no_store: Said<bool>,
    stale_on_error: Said<bool>,
}

/// Those of all sections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caches {
    sections: Vec<(Select, Cache)>,
}

/// What mod_cache takes where nothing is said, ms.
const DEFAULT_EXPIRE_MS: u64 = 3_600_000;
const MAX_EXPIRE_MS: u64 = 86_400_000;

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
    fn of(&mut self, select: &Select) -> &mut Cache {
        let at = self.sections.iter().position(|(known, _)| known == select).unwrap_or_else(|| {
            self.sections.push((select.clone(), Cache::default()));
            self.sections.len() - 1
        });
        // Found or made a line above.
        #[allow(clippy::indexing_slicing, reason = "the index of an entry that was just found")]
        &mut self.sections[at].1
    }

    /// Turns what was said into settings of the site.
    pub(crate) fn settle(self, site: &mut Site, draft: &mut Draft<'_>) {
        let server =
            self.sections.iter().find(|(s, _)| s.is_all()).map(|(_, c)| c.clone()).unwrap_or_default();
        // They are the ground that all other sections stand on: first, and the wider before the narrower.
        let mut ground: Vec<Scope> = Vec::new();
        for (select, own) in &self.sections {
            // Said for a path that an outer CacheEnable takes in, or enabled by itself.
            let covered = |(s, c): &(Select, Cache)| c.enabled.is_some() && s.covers(select);
            let Some(place) = own.places().first().cloned() else { continue };
            if self.sections.iter().any(covered) {
                let settings = own.over(&server).settings(draft);
                ground.push(Scope { select: select.clone(), settings, place: Some(place) });
            }
        }
        ground.sort_by_key(|scope| scope.select.rank());
        ground.append(&mut site.scopes);
        site.scopes = ground;
        let enabled = self.sections.iter().any(|(_, c)| c.enabled.is_some());
        if let (false, Some(place)) = (enabled, server.places().first()) {
            draft.note(
                place,
                "CacheEnable",
                Fate::LeftOut,
                "there is none: HTTP's own rules hold, and these directives say nothing",
            );
        }
    }
}

impl Cache {
    /// Where it was said.
    fn places(&self) -> Vec<Place> {
        let Cache {
            enabled,
            default_expire,
            max_expire,
            factor,
            max_bytes,
            min_bytes,
            ignore_control,
            ignore_no_last_mod,
            ignore_query,
            ignored,
            store_private,
            store_no_store,
            stale_on_error,
        } = self;
        let place = |said: Option<&Place>| said.cloned();
        [
            place(enabled.as_ref().map(|s| &s.1)),
            place(default_expire.as_ref().map(|s| &s.1)),
            place(max_expire.as_ref().map(|s| &s.1)),
            place(factor.as_ref().map(|s| &s.1)),
            place(max_bytes.as_ref().map(|s| &s.1)),
            place(min_bytes.as_ref().map(|s| &s.1)),
            place(ignore_control.as_ref().map(|s| &s.1)),
            place(ignore_no_last_mod.as_ref().map(|s| &s.1)),
            place(ignore_query.as_ref().map(|s| &s.1)),
            place(ignored.as_ref().map(|s| &s.1)),
            place(store_private.as_ref().map(|s| &s.1)),
            place(store_no_store.as_ref().map(|s| &s.1)),
            place(stale_on_error.as_ref().map(|s| &s.1)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// What an inner section says, else what the server says.
    fn over(&self, server: &Cache) -> Cache {
        Cache {
            enabled: self.enabled.clone(),
            default_expire: self.default_expire.clone().or(server.default_expire.clone()),
            max_expire: self.max_expire.clone().or(server.max_expire.clone()),
            factor: self.factor.clone().or(server.factor.clone()),
            max_bytes: self.max_bytes.clone().or(server.max_bytes.clone()),
            min_bytes: self.min_bytes.clone().or(server.min_bytes.clone()),
            ignore_control: self.ignore_control.clone().or(server.ignore_control.clone()),
            ignore_no_last_mod: self.ignore_no_last_mod.clone().or(server.ignore_no_last_mod.clone()),
            ignore_query: self.ignore_query.clone().or(server.ignore_query.clone()),
            ignored: self.ignored.clone().or(server.ignored.clone()),
            store_private: self.store_private.clone().or(server.store_private.clone()),
            store_no_store: self.store_no_store.clone().or(server.store_no_store.clone()),
            stale_on_error: self.stale_on_error.clone().or(server.stale_on_error.clone()),
        }
    }

    fn settings(&self, draft: &mut Draft<'_>) -> Settings {
        let mut out = Settings::default();
        let enabled = self.enabled.as_ref().map(|(_, place)| place.clone());
        let mut max = self.max_expire.as_ref().map(|(ms, _)| *ms);
        if let Some((true, place)) = &self.ignore_no_last_mod {
            let (ms, at) = self.default_expire.clone().unwrap_or((DEFAULT_EXPIRE_MS, place.clone()));
            let entry = out.set("when_silent", Value::duration(ms.max(1000)), &at);
            entry.places.push(place.clone());
            // CacheMaxExpire does not bound the default there.
            max = max.map(|max| max.max(ms));
        } else if let Some(place) = enabled.as_ref().or(self.places().first()) {
            out.set("respect", Value::Bool(true), place);
            if let Some((factor, at)) = &self.factor {
                out.set("heuristic_factor", Value::Number(*factor), at);
            }
            let longest = self.max_expire.clone().unwrap_or((MAX_EXPIRE_MS, place.clone()));
            out.set("heuristic_max", Value::duration(longest.0), &longest.1);
        }
        if let (Some(ms), Some((_, at))) = (max, &self.max_expire) {
            out.set("max_lifetime", Value::duration(ms.max(1000)), at);
        }
        if let Some((bytes, at)) = &self.max_bytes {
            out.set("max_bytes", Value::size(*bytes), at);
        }
        if let Some((bytes, at)) = &self.min_bytes {
            let sizes_agree = self.max_bytes.as_ref().is_none_or(|(max, _)| max >= bytes);
            if sizes_agree {
                out.set("min_bytes", Value::size(*bytes), at);
            }
        }
        if let Some((ignore, at)) = &self.ignore_control {
            out.set("reload", Value::text(if *ignore { "ignore" } else { "revalidate" }), at);
        }
        if let Some((true, at)) = &self.ignore_query {
            out.set("vary_query", Value::text("ignore"), at).remark =
                "all queries of a path are one answer".to_owned();
        }
        if let Some((names, at)) = &self.ignored {
            for name in names {
                if name.eq_ignore_ascii_case("Set-Cookie") {
                    out.set("set_cookie", Value::text("strip"), at);
                } else {
                    out.add("drop_fields", Value::text(name), at);
                }
            }
        }
        let on = |said: &Said<bool>| said.clone().filter(|(on, _)| *on).map(|(_, place)| place);
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
        if let Some((on, at)) = &self.stale_on_error {
            let ms = if *on { 86_400_000 } else { 0 };
            out.set("stale_if_error", Value::duration(ms), at);
        }
        out
    }
}

fn on(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

impl Conf<'_, '_> {
    /// A directive of the cache, if it is one.
    pub(crate) fn cache(&mut self, d: &Directive, name: &str, select: &Select) -> bool {
        if !(name.starts_with("cache") || name.starts_with("mcache")) {
            return false;
        }
        let place = d.place.clone();
        let arg = d.arg(0);
        let number = arg.parse::<u64>().ok().filter(|n| *n < 1 << 40);
        let switch = on(arg);
        match name {
            "cacheenable" => self.enable(d, select),
            "cachedisable" => self.disable(d, select),
            "cachedefaultexpire" | "cachemaxexpire" => match spell::seconds(arg) {
                Some(ms) if name == "cachedefaultexpire" => {
                    self.caches.of(select).default_expire = Some((ms, place));
                    self.carried(d, "when_silent, where CacheIgnoreNoLastMod is On; else silent answers are kept by Last-Modified only");
                }
                Some(ms) => {
                    self.caches.of(select).max_expire = Some((ms, place));
                    self.carried(d, "max_lifetime; it bounds Expires too, which httpd let stand");
                }
                None => self.left(d, "this is no number of seconds"),
            },
            "cachelastmodifiedfactor" => match arg.parse::<f64>().ok().filter(|f| (0.0..=1.0).contains(f)) {
                Some(factor) => {
                    self.caches.of(select).factor = Some((factor, place));
                    self.carried(d, "heuristic_factor; no part of it where CacheIgnoreNoLastMod is On, as when_silent comes first");
                }
                None => self.left(d, "Samovar takes a part from 0 to 1"),
            },
            "cachemaxfilesize" | "mcachemaxobjectsize" | "cachesocachemaxsize" => match number {
                Some(bytes) => {
                    self.caches.of(select).max_bytes = Some((bytes, place));
                    self.carried(d, format!("max_bytes = {bytes}"));
                }
                None => self.left(d, "this is no size"),
            },
            "cacheminfilesize" | "mcacheminobjectsize" => match number {
                Some(bytes) => {
                    self.caches.of(select).min_bytes = Some((bytes, place));
                    self.carried(d, format!("min_bytes = {bytes}"));
                }
                None => self.left(d, "this is no size"),
            },
            "mcachesize" => match number.filter(|kb| *kb > 0 && *kb < 1 << 34) {
                Some(kilobytes) => {
                    // It was a bound of each process; less than this is no budget for a server.
                    let bytes = (kilobytes << 10).max(16 << 20);
                    self.draft.wanted.memory.set("size", Value::size(bytes), &place);
                    self.carried(d, "[memory] size, for all processes together, and at least 16 MiB");
                }
                None => self.left(d, "this is no size"),
            },
            "cacheignorecachecontrol" => {
                self.switch(d, switch, |v| self_set(v, &place, |c, s| c.ignore_control = s), select, "reload")
            }
            "cacheignorenolastmod" => {
                self.switch(
                    d,
                    switch,
                    |v| self_set(v, &place, |c, s| c.ignore_no_last_mod = s),
                    select,
                    "when_silent",
                );
                if switch == Some(true) {
                    let text = "httpd kept no silent answer to a URL with a query; when_silent keeps those too: give such paths \
                                `respect = true` if they differ from visitor to visitor";
                    self.note(d, Fate::Unsafe, text);
                }
            }
            "cacheignorequerystring" => {
                self.switch(
                    d,
                    switch,
                    |v| self_set(v, &place, |c, s| c.ignore_query = s),
                    select,
                    "vary_query",
                );
                if switch == Some(true) {
                    self.note(
                        d,
                        Fate::Unsafe,
                        "all queries of a path share one answer: vary_query = \"ignore\"",
                    );
                }
            }
            "cachestoreprivate" | "cachestorenostore" => {
                let private = name == "cachestoreprivate";
                if switch == Some(true) {
                    let cache = self.caches.of(select);
                    let said = if private { &mut cache.store_private } else { &mut cache.store_no_store };
                    *said = Some((true, place));
                    let what = if private {
                        "what the origin says is for one visitor"
                    } else {
                        "what the origin says must not be kept"
                    };
                    let how = match self.draft.options.with_unsafe {
                        true => "it holds: `override` in the rule (--with-unsafe)",
                        false => {
                            "`override` is written as a comment: take the sign away if nothing of it is anybody's own"
                        }
                    };
                    self.note(d, Fate::Unsafe, format!("it shares {what} with everybody; {how}"));
                } else {
                    self.carried(d, "the default");
                }
            }
            "cachestoreexpired" => {
                self.left(d, "an answer that is stale on arrival is kept where it has a validator")
            }
            "cacheignoreheaders" => self.ignore_headers(d, select),
            "cachestaleonerror" => self.switch(
                d,
                switch,
                |v| self_set(v, &place, |c, s| c.stale_on_error = s),
                select,
                "stale_if_error",
            ),
            "cachelock" => self.carried(d, "requests for one answer always wait for one fetch"),
            "cachequickhandler" | "cachekeybaseurl" => {
                self.left(d, "the cache is asked after rules and guards, with the host of the request")
            }
            "cacheheader" | "cachedetailheader" => {
                self.carried(d, "Cache-Status says it on every answer (RFC 9211)")
            }
            "cacheminexpire" => self.left(d, "no floor under lifetimes: `for` replaces what the origin says"),
            "cacheignoreurlsessionidentifiers" => {
                self.left(d, "`vary_query = { drop = [\"…\"] }` takes variables out of the key, if they are in the query");
            }
            "cacheroot"
            | "cachedirlevels"
            | "cachedirlength"
            | "cachereadsize"
            | "cachereadtime"
            | "cachesocache"
            | "cachesocachemaxtime"
            | "cachesocachemintime"
            | "cachesocachereadsize"
            | "cachesocachereadtime" => {
                self.left(d, "there is no disk tier yet; memory stands for it: [memory] size");
            }
            "mcachemaxobjectcount" | "mcacheremovalalgorithm" | "mcachemaxstreamingbuffer" => {
                self.left(d, "memory is bounded in bytes, and what is used least leaves first");
            }
            "cachelockmaxage" | "cachelockpath" => {
                self.left(d, "nothing to set: waiting ends when the head of the answer decides")
            }
            "cachefile" | "mmapfile" => self.left(d, "files are kept until they change"),
            _ => self.left(d, "this importer does not know the directive"),
        }
        true
    }

    fn switch(
        &mut self,
        d: &Directive,
        value: Option<bool>,
        set: impl FnOnce(bool) -> Box<dyn FnOnce(&mut Cache)>,
        select: &Select,
        key: &str,
    ) {
        match value {
            Some(value) => {
                set(value)(self.caches.of(select));
                self.carried(d, key);
            }
            None => self.left(d, "On or Off is wanted"),
        }
    }

    fn enable(&mut self, d: &Directive, select: &Select) {
        // In a section the path is the section's.
        let path = if select.is_all() { d.arg(1) } else { "" };
        if !path.is_empty() && !path.starts_with('/') {
            self.left(d, "only paths of this server are kept; a forward proxy Samovar is not");
            return;
        }
        let select = if path.is_empty() { select.clone() } else { Select::path(PathSet::under(path)) };
        self.caches.of(&select).enabled = Some(((), d.place.clone()));
        let text = match d.arg(0) {
            "disk" => {
                "kept in memory: there is no disk tier yet, [memory] size bounds it, and a restart empties it"
            }
            _ => "kept in memory: [memory] size",
        };
        self.carried(d, text);
    }

    fn disable(&mut self, d: &Directive, select: &Select) {
        let select = match d.arg(0) {
            path if path.starts_with('/') => Select::path(PathSet::under(path)),
            _ => select.clone(),
        };
        self.scope(&select, &d.place).set("never", Value::Bool(true), &d.place);
        self.carried(d, "never = true");
    }

    fn ignore_headers(&mut self, d: &Directive, select: &Select) {
        if d.args.iter().any(|a| a.eq_ignore_ascii_case("None")) {
            self.note(
                d,
                Fate::Unsafe,
                "httpd kept Set-Cookie with the answer and gave it to everybody; here an answer that sets a cookie is not kept, \
                 or without it (set_cookie = \"strip\")",
            );
            return;
        }
        let names: Vec<String> = d.args.iter().filter_map(|n| spell::field_name(n)).collect();
        self.caches.of(select).ignored = Some((names, d.place.clone()));
        self.carried(
            d,
            "set_cookie = \"strip\" for Set-Cookie, drop_fields for others, which leave what is sent too",
        );
    }
}

/// A setter of one switch.
fn self_set(value: bool, place: &Place, set: fn(&mut Cache, Said<bool>)) -> Box<dyn FnOnce(&mut Cache)> {
    let place = place.clone();
    Box::new(move |cache| set(cache, Some((value, place))))
}
