//! The directives of mod_cache, read one by one. What each does is known later (`effects`), except where it has no
//! counterpart: that is noted here, with what it changes.

use super::cache::Cache;
use super::directives::Conf;
use crate::note::{Consequence, Fate};
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{PathSet, Select, Value};

/// A value with the directive that gives it.
#[derive(Clone, Debug)]
pub(super) struct Given<T> {
    pub(super) value: T,
    pub(super) d: Directive,
}

/// What a section says, if it does.
pub(super) type Said<T> = Option<Given<T>>;

fn on(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// The switches, each with where its value is put.
fn switch_of(name: &str) -> Option<fn(&mut Cache) -> &mut Said<bool>> {
    Some(match name {
        "cacheignorecachecontrol" => |cache| &mut cache.ignore_control,
        "cacheignorenolastmod" => |cache| &mut cache.ignore_no_last_mod,
        "cacheignorequerystring" => |cache| &mut cache.ignore_query,
        "cachestoreprivate" => |cache| &mut cache.store_private,
        "cachestorenostore" => |cache| &mut cache.store_no_store,
        "cachestaleonerror" => |cache| &mut cache.stale_on_error,
        _ => return None,
    })
}

/// Those without a counterpart: what changes without them.
fn without(name: &str, off: bool, none: bool) -> Option<(Consequence, &'static str)> {
    use Consequence::{CachedDifferently as Cached, Nothing};
    Some(match name {
        "cacheminexpire" => (
            Cached,
            "a lifetime of the origin that is shorter holds as it is; `for = \"…\"` in a rule replaces it",
        ),
        "cachestoreexpired" if off => (Nothing, "Samovar does so by default"),
        "cachestoreexpired" => {
            (Cached, "a response that arrives stale is stored only if it has a validator, to be revalidated")
        }
        "cachequickhandler" if off => (Nothing, "Samovar always asks the guards before the cache"),
        "cachequickhandler" => (
            Nothing,
            "Samovar asks the guards before the cache, so that nobody is shown what they may not see",
        ),
        "cachekeybaseurl" => {
            (Cached, "each host has stored responses of its own; give hosts that show the same one site")
        }
        "cacheheader" | "cachedetailheader" => {
            (Nothing, "the field Cache-Status says it on every response (RFC 9211)")
        }
        "cacheignoreurlsessionidentifiers" if none => (Nothing, "Samovar does so by default"),
        "cacheignoreurlsessionidentifiers" => (
            Cached,
            "each session identifier in a URL has stored responses of its own; `vary_query = { drop = [\"…\"] }` leaves \
             one out that is in the query",
        ),
        "cachelock" if off => {
            (Cached, "requests for the same response share one fetch; that cannot be turned off")
        }
        "cachelock" => (Nothing, "requests for the same response always share one fetch"),
        "cachelockmaxage" | "cachelockpath" => {
            (Nothing, "waiting for a shared fetch ends when the head of the response decides")
        }
        "cacheroot" | "cachesocache" => (Cached, NO_DISK),
        "cachedirlevels"
        | "cachedirlength"
        | "cachereadsize"
        | "cachereadtime"
        | "cachesocachereadsize"
        | "cachesocachereadtime" => (Nothing, NO_DISK),
        "cachesocachemaxtime" => {
            (Cached, "it bounded every lifetime: write `max_lifetime = \"…\"` with its value")
        }
        "cachesocachemintime" => {
            (Cached, "it was the least time a response was stored: `for` replaces short lifetimes")
        }
        "mcachemaxobjectcount" | "mcachemaxstreamingbuffer" => {
            (Cached, "memory is bounded in bytes, not in responses: [memory] size and max_bytes")
        }
        "mcacheremovalalgorithm" => (Cached, "what is used least leaves memory first; that cannot be chosen"),
        "cachefile" | "mmapfile" => {
            (Cached, "httpd showed the file as it was at its start; here a change of the file shows at once")
        }
        "cachenegotiateddocs" => (Nothing, "what a response says of its variants (Vary) decides"),
        _ => return None,
    })
}

const NO_DISK: &str =
    "there is no disk tier yet; memory stands for it: [memory] size, and a restart empties it";

impl Conf<'_, '_> {
    /// A directive of the cache, if it is one.
    pub(crate) fn cache(&mut self, d: &Directive, name: &str, select: &Select) -> bool {
        if !(name.starts_with("cache") || name.starts_with("mcache") || name == "mmapfile") {
            return false;
        }
        let arg = d.arg(0);
        if let Some(slot) = switch_of(name) {
            match on(arg) {
                Some(value) => *slot(self.caches.of(select)) = Some(Given { value, d: d.clone() }),
                None => self.cached(d, "On or Off is expected; the directive is left out"),
            }
            return true;
        }
        if let Some((consequence, why)) =
            without(name, arg.eq_ignore_ascii_case("off"), arg.eq_ignore_ascii_case("none"))
        {
            self.note_as(d, (Fate::LeftOut, consequence), why);
            return true;
        }
        let number = arg.parse::<u64>().ok().filter(|n| *n < 1 << 40);
        match name {
            "cacheenable" => self.enable(d, select),
            "cachedisable" => self.disable(d, select),
            "cacheignoreheaders" => self.ignore_headers(d, select),
            "cachedefaultexpire" | "cachemaxexpire" => match spell::seconds(arg) {
                Some(value) => {
                    let given = Some(Given { value, d: d.clone() });
                    let cache = self.caches.of(select);
                    match name {
                        "cachedefaultexpire" => cache.default_expire = given,
                        _ => cache.max_expire = given,
                    }
                }
                None => self.cached(d, "this is no number of seconds; httpd's default holds"),
            },
            "cachelastmodifiedfactor" => match arg.parse::<f64>().ok().filter(|f| (0.0..=1.0).contains(f)) {
                Some(value) => self.caches.of(select).factor = Some(Given { value, d: d.clone() }),
                None => self.cached(d, "Samovar takes a part from 0 to 1; httpd's default holds, 0.1"),
            },
            "cachemaxfilesize" | "mcachemaxobjectsize" | "cachesocachemaxsize" => match number {
                Some(value) => self.caches.of(select).max_bytes = Some(Given { value, d: d.clone() }),
                None => self.cached(d, "this is no size; max_bytes bounds what is stored"),
            },
            "cacheminfilesize" | "mcacheminobjectsize" => match number {
                Some(value) => self.caches.of(select).min_bytes = Some(Given { value, d: d.clone() }),
                None => self.cached(d, "this is no size; min_bytes bounds what is stored"),
            },
            "mcachesize" => match number.filter(|kb| *kb > 0 && *kb < 1 << 34) {
                Some(kilobytes) => {
                    // It was a bound of each process; less than this is no budget for a server.
                    let bytes = (kilobytes << 10).max(16 << 20);
                    self.draft.wanted.memory.set("size", Value::size(bytes), &d.place);
                    self.carried(d, "[memory] size, for all processes together, and at least 16 MiB");
                }
                None => self.cached(d, "this is no size; [memory] size bounds what is stored"),
            },
            _ => self.cached(
                d,
                "this importer does not know the directive: look up what it changes about what is stored, and for how long",
            ),
        }
        true
    }

    fn enable(&mut self, d: &Directive, select: &Select) {
        // In a section the path is the section's.
        let path = if select.is_all() { d.arg(1) } else { "" };
        if !path.is_empty() && !path.starts_with('/') {
            self.cached(d, "Samovar is no forward proxy: only paths of this server are stored");
            return;
        }
        let select = if path.is_empty() { select.clone() } else { Select::path(PathSet::under(path)) };
        self.caches.of(&select).enabled = Some(Given { value: (), d: d.clone() });
    }

    fn disable(&mut self, d: &Directive, select: &Select) {
        let select = match d.arg(0) {
            path if path.starts_with('/') => Select::path(PathSet::under(path)),
            "" => select.clone(),
            other if other.eq_ignore_ascii_case("on") => select.clone(),
            _ => {
                self.cached(d, "Samovar is no forward proxy: only paths of this server are stored");
                return;
            }
        };
        self.scope(&select, &d.place).set("never", Value::Bool(true), &d.place);
        self.carried(d, "never = true");
    }

    fn ignore_headers(&mut self, d: &Directive, select: &Select) {
        if d.args.iter().any(|a| a.eq_ignore_ascii_case("None")) {
            self.note(
                d,
                Fate::Unsafe,
                "httpd stored Set-Cookie with the response and gave it to everybody. Samovar does not store a response that \
                 sets a cookie; `set_cookie = \"strip\"` stores it without the cookie",
            );
            return;
        }
        let names: Vec<String> = d.args.iter().filter_map(|n| spell::field_name(n)).collect();
        if names.is_empty() {
            self.cached(d, "no field is named; all fields are stored");
            return;
        }
        self.caches.of(select).ignored = Some(Given { value: names, d: d.clone() });
    }
}
