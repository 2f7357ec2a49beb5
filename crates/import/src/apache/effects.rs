//! What became of each directive of mod_cache, known when all was read.
//!
//! A directive counts as carried over only if a key of the new file stands for it where it held. What it changed there and
//! no longer changes is said with the consequence.

use super::cache::{Cache, DEFAULT_EXPIRE_MS, FACTOR, MAX_EXPIRE_MS};
use super::cache_words::{Given, Said};
use crate::draft::Draft;
use crate::note::{Consequence, Fate};
use crate::spell;
use crate::tree::Directive;

const CARRIED: (Fate, Consequence) = (Fate::Carried, Consequence::Nothing);
/// Carried over, with a difference.
const DIFFERS: (Fate, Consequence) = (Fate::Carried, Consequence::CachedDifferently);
const LOST: (Fate, Consequence) = (Fate::LeftOut, Consequence::CachedDifferently);
const UNSAFE: (Fate, Consequence) = (Fate::Unsafe, Consequence::LessSafe);

/// All directives of a section.
pub(super) fn directives(cache: &Cache) -> Vec<&Directive> {
    fn of<T>(said: &Said<T>) -> Option<&Directive> {
        said.as_ref().map(|given| &given.d)
    }
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
    } = cache;
    [
        of(enabled),
        of(default_expire),
        of(max_expire),
        of(factor),
        of(max_bytes),
        of(min_bytes),
        of(ignore_control),
        of(ignore_no_last_mod),
        of(ignore_query),
        of(ignored),
        of(store_private),
        of(store_no_store),
        of(stale_on_error),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Notes the directives of a section. `held`: what holds in all sections that they hold in and that are stored from.
/// `whole`: all requests are stored from.
pub(super) fn note(own: &Cache, held: &[Cache], whole: bool, draft: &mut Draft<'_>) {
    if held.is_empty() {
        for d in directives(own) {
            let text = "no CacheEnable covers it, so httpd stored nothing here. Samovar stores what HTTP allows: write \
                        `never = true` into the rule, or `cache = false` into the site, to store nothing";
            draft.note_once(&d.place, &d.shown(), LOST, text);
        }
        return;
    }
    let mut note =
        |d: &Directive, as_what, text: String| draft.note_once(&d.place, &d.shown(), as_what, text);
    for (d, as_what, text) in lifetimes(own, held) {
        note(d, as_what, text);
    }
    for (d, as_what, text) in whom(own) {
        note(d, as_what, text);
    }
    if let Some(Given { d, .. }) = &own.enabled {
        let rest = match whole {
            true => "",
            false => {
                ". Other paths are stored as HTTP allows, where httpd stored nothing: write `never = true` for them if \
                 that matters"
            }
        };
        let text =
            "stored in memory, within [memory] size; a restart empties it, as there is no disk tier yet";
        note(d, DIFFERS, format!("{text}{rest}"));
    }
    if let Some(Given { value, d }) = &own.max_bytes {
        note(d, CARRIED, format!("max_bytes = {value}"));
    }
    if let Some(Given { value, d }) = &own.min_bytes {
        match held.iter().any(Cache::sizes_agree) {
            true => note(d, CARRIED, format!("min_bytes = {value}")),
            false => note(
                d,
                LOST,
                "it is larger than CacheMaxFileSize, so httpd stored nothing here: write `never = true` to keep that"
                    .to_owned(),
            ),
        }
    }
    if let Some(Given { value: names, d }) = &own.ignored {
        let others: Vec<&str> =
            names.iter().map(String::as_str).filter(|n| !n.eq_ignore_ascii_case("Set-Cookie")).collect();
        match others.is_empty() {
            true => note(d, CARRIED, "set_cookie = \"strip\"".to_owned()),
            false => note(
                d,
                DIFFERS,
                format!(
                    "drop_fields: {} reach nobody now; httpd sent them with the first response",
                    others.join(", ")
                ),
            ),
        }
    }
    for said in [&own.store_private, &own.store_no_store].into_iter().flatten() {
        let Given { value, d } = said;
        let what = match d.is("CacheStorePrivate") {
            true => "what the origin says is for one visitor",
            false => "what the origin says must not be stored",
        };
        let text = match (value, draft.options.with_unsafe) {
            (false, _) => {
                draft.note_once(&d.place, &d.shown(), CARRIED, "Samovar does so by default");
                continue;
            }
            (true, true) => format!("it shares {what} with everybody: `override` holds (--with-unsafe)"),
            (true, false) => format!(
                "it shared {what} with everybody. `override` is written as a comment: remove the # only if nothing of it \
                 is for one visitor"
            ),
        };
        draft.note_once(&d.place, &d.shown(), UNSAFE, text);
    }
}

type Noted<'d> = Vec<(&'d Directive, (Fate, Consequence), String)>;

/// How long.
fn lifetimes<'d>(own: &'d Cache, held: &[Cache]) -> Noted<'d> {
    let mut out: Noted<'d> = Vec::new();
    let silent = held.iter().any(Cache::keeps_silent);
    let time = |ms: u64| spell::duration(ms.max(1000));
    if let Some(Given { value: ms, d }) = &own.default_expire {
        let most = held.iter().filter_map(|cache| cache.max_expire.as_ref().map(|given| given.value)).min();
        out.push(match most.filter(|most| most < ms) {
            _ if !silent => (
                d,
                LOST,
                format!(
                    "httpd kept a response with an ETag but without a lifetime or Last-Modified this long; Samovar asks \
                     the origin about it at each request. `when_silent = \"{}\"` keeps it, and every response without a lifetime",
                    time(*ms)
                ),
            ),
            Some(most) => (
                d,
                DIFFERS,
                format!(
                    "when_silent = \"{}\", but not longer than CacheMaxExpire, {}: in httpd that did not bound it",
                    time(*ms),
                    time(most)
                ),
            ),
            None => (d, CARRIED, format!("when_silent = \"{}\"", time(*ms))),
        });
    }
    if let Some(Given { value: ms, d }) = &own.max_expire {
        let text = format!(
            "max_lifetime and heuristic_max = \"{}\": they bound a lifetime by Expires too, which httpd did not bound",
            time(*ms)
        );
        out.push((d, DIFFERS, text));
    }
    if let Some(Given { value: factor, d }) = &own.factor {
        out.push(match silent {
            true => (
                d,
                CARRIED,
                format!("heuristic_factor = {factor}, with heuristic_first: where there is Last-Modified it goes before when_silent"),
            ),
            false => (
                d,
                DIFFERS,
                format!("heuristic_factor = {factor}; not for requests with a cookie, which httpd did not look at"),
            ),
        });
    }
    if let Some(Given { value, d }) = &own.ignore_no_last_mod {
        let default = own.default_expire.as_ref().map_or(DEFAULT_EXPIRE_MS, |given| given.value);
        let most = own.max_expire.as_ref().map_or(MAX_EXPIRE_MS, |given| given.value);
        out.push(match value {
            false => (d, CARRIED, "Samovar does so by default: respect = true".to_owned()),
            true => (
                d,
                UNSAFE,
                format!(
                    "when_silent = \"{}\", and with Last-Modified {} of its age, at most {}. URLs with a query are stored \
                     too, which httpd did not do: write `respect = true` for those that differ from visitor to visitor",
                    time(default),
                    own.factor.as_ref().map_or(FACTOR, |given| given.value),
                    time(most)
                ),
            ),
        });
    }
    if let Some(Given { value, d }) = &own.stale_on_error {
        out.push(match value {
            true => (
                d,
                DIFFERS,
                "stale_if_error and stale_if_unreachable = \"1d\": httpd set no bound".to_owned(),
            ),
            false => (d, CARRIED, "stale_if_error and stale_if_unreachable = \"0s\"".to_owned()),
        });
    }
    out
}

/// For whom, and for which requests.
fn whom(own: &Cache) -> Noted<'_> {
    let mut out: Noted<'_> = Vec::new();
    if let Some(Given { value, d }) = &own.ignore_control {
        out.push(match value {
            true => (d, CARRIED, "reload = \"ignore\"".to_owned()),
            false => (d, CARRIED, "reload = \"revalidate\"".to_owned()),
        });
    }
    if let Some(Given { value, d }) = &own.ignore_query {
        out.push(match value {
            true => (
                d,
                UNSAFE,
                "vary_query = \"ignore\": all queries of a path share one response, as in httpd".to_owned(),
            ),
            false => (d, CARRIED, "Samovar does so by default".to_owned()),
        });
    }
    out
}
