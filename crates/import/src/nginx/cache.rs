//! `proxy_cache` and `fastcgi_cache`: what is stored, for how long, for which requests.
//!
//! There is no disk tier yet: the memory tier stands for every zone. nginx stores nothing by Last-Modified alone, so no
//! heuristic lifetime is taken where a cache is on. Not here: the key (`cache_key`).

use super::{Conf, cache_key};
use crate::note::{Consequence, Fate};
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{Settings, Value};

/// Carried over, with a difference.
const DIFFERS: (Fate, Consequence) = (Fate::Carried, Consequence::CachedDifferently);

/// The name without which of the modules it is of.
pub(super) fn bare(d: &Directive) -> Option<&str> {
    ["proxy_", "fastcgi_", "uwsgi_", "scgi_"].iter().find_map(|module| d.name.strip_prefix(module))
}

/// Whether a directive says what is stored, of whichever module.
pub(super) fn is_of_cache(name: &str) -> bool {
    let bare = ["proxy_", "fastcgi_", "uwsgi_", "scgi_"].iter().find_map(|module| name.strip_prefix(module));
    bare.is_some_and(|b| {
        b.starts_with("cache") || ["no_cache", "ignore_headers", "store", "buffering"].contains(&b)
    })
}

pub(super) fn settings(here: &[&Directive], out: &mut Settings, conf: &mut Conf<'_, '_>) {
    // Several modules may be spoken of around a location that uses one.
    let used = |name: &str| here.iter().any(|d| d.name == name);
    let prefix = if used("fastcgi_pass") { "fastcgi_" } else { "proxy_" };
    let of_module = |d: &&Directive| {
        let spoken = d.name.starts_with("proxy_") || d.name.starts_with("fastcgi_");
        spoken && (d.name.starts_with(prefix) || !(used("fastcgi_pass") || used("proxy_pass")))
    };
    let mine: Vec<&Directive> = here.iter().copied().filter(of_module).collect();
    let of = |name: &str| mine.iter().copied().filter(|d| bare(d) == Some(name)).collect::<Vec<_>>();
    let zone = of("cache").first().copied();
    let Some(zone) = zone.filter(|d| d.arg(0) != "off") else {
        // What says how a cache works where there is none is told of at the end, if no other place uses it.
        if let Some(d) = zone {
            out.set("never", Value::Bool(true), &d.place);
            conf.carried(d, "never = true");
        }
        return;
    };
    conf.note_as(
        zone,
        DIFFERS,
        "stored in memory, within [memory] size; a restart empties it, as there is no disk tier yet",
    );
    let ignored: Vec<String> =
        of("ignore_headers").iter().flat_map(|d| d.args.iter().map(|a| a.to_ascii_lowercase())).collect();
    lifetime(&of("cache_valid"), &ignored, out, conf, zone);
    let unused_ms = conf.unused_ms(zone.arg(0));
    for d in mine {
        let Some(name) = bare(d) else { continue };
        match name {
            "cache_key" => cache_key::key(d, out, conf),
            "ignore_headers" => ignore(d, out, conf),
            "no_cache" | "cache_bypass" => pass_by(d, out, conf),
            "cache_min_uses" => match d.arg(0).parse::<u64>() {
                Ok(1) => conf.carried(d, "Samovar does so by default"),
                Ok(n) if (2..=1_000_000).contains(&n) => {
                    out.set("admit_after", Value::Int(n), &d.place);
                    out.set("admit_period", Value::duration(unused_ms), &d.place);
                    let period = spell::duration(unused_ms);
                    conf.carried(d, format!("admit_after = {n}, admit_period = \"{period}\""));
                }
                _ => conf.cached(d, "this is no number; a response is stored at its first request"),
            },
            "cache_use_stale" => stale(d, unused_ms, out, conf),
            "cache_methods" if d.args.iter().all(|a| a == "GET" || a == "HEAD") => {
                conf.carried(d, "Samovar does so by default");
            }
            "cache_methods" => conf.cached(d, "only responses to GET are stored; they serve HEAD too"),
            "cache_lock" if d.arg(0) == "off" => {
                conf.cached(d, "requests for the same response share one fetch; that cannot be turned off");
            }
            "cache_lock" => conf.carried(d, "requests for the same response always share one fetch"),
            "cache_background_update" => {
                conf.left(d, "Samovar refreshes a stale response in the background wherever it may still be sent");
            }
            "cache_revalidate" => conf.left(d, "Samovar always revalidates a response that has a validator"),
            "cache_lock_timeout" | "cache_lock_age" => {
                conf.left(d, "waiting for a shared fetch ends when the head of the response decides");
            }
            "cache_max_range_offset" => {
                conf.cached(d, "a range is cut out of the stored response; the whole is fetched for it, however far it lies in");
            }
            "cache_convert_head" if d.arg(0) == "off" => {
                conf.cached(d, "HEAD is served from the stored response to GET; that cannot be turned off");
            }
            "cache_convert_head" => conf.left(d, "Samovar does so by default"),
            "cache_purge" => conf.cached(
                d,
                "requests remove nothing from the cache: use `samovar cache purge URL`, or the same of the admin API",
            ),
            "buffering" if d.arg(0) == "off" => {
                out.set("never", Value::Bool(true), &d.place);
                conf.carried(d, "never = true: nginx stores nothing that it does not buffer");
            }
            _ => {}
        }
    }
}

fn lifetime(
    valid: &[&Directive],
    ignored: &[String],
    out: &mut Settings,
    conf: &mut Conf<'_, '_>,
    zone: &Directive,
) {
    // Where the origin's Cache-Control is passed over, the rule's lifetime replaces it.
    let replaces = ignored.iter().any(|name| name == "cache-control");
    let key = if replaces { "for" } else { "when_silent" };
    let mut first: Option<(u64, &Directive)> = None;
    let mut statuses: Vec<u64> = Vec::new();
    let mut any = false;
    // A rule has one lifetime: that of status 200.
    let of_200 = |codes: &[String]| codes.is_empty() || codes.iter().any(|c| c == "200" || c == "any");
    for &d in valid {
        let Some((time, codes)) = d.args.split_last() else { continue };
        let Some(ms) = spell::nginx_time(time) else {
            conf.cached(
                d,
                "this is no time; these statuses are not stored unless the origin gives them a lifetime",
            );
            continue;
        };
        if ms == 0 {
            conf.left(d, "Samovar does so by default: what has no lifetime is not stored");
            continue;
        }
        let lasts = spell::duration(ms);
        match first {
            None if of_200(codes) => first = Some((ms, d)),
            Some((known, _)) if known == ms => {}
            _ => {
                let text = format!(
                    "a rule has one lifetime, that of status 200: responses with these statuses are not stored for {lasts}"
                );
                conf.cached(d, text);
                continue;
            }
        }
        any |= codes.iter().any(|c| c == "any");
        match codes {
            [] => statuses.extend([200, 301, 302]),
            codes => {
                statuses.extend(
                    codes.iter().filter_map(|c| c.parse::<u64>().ok()).filter(|c| (200..=599).contains(c)),
                );
            }
        }
        let text = match any {
            true => format!(
                "{key} = \"{lasts}\"; a status that HTTP does not let caches store, such as 500, is not stored"
            ),
            false => format!(
                "{key} = \"{lasts}\" and only_status: other statuses are not stored, even if the origin gives them a lifetime"
            ),
        };
        conf.note_as(d, DIFFERS, text);
    }
    match first {
        Some((ms, d)) => {
            out.set(key, Value::duration(ms.max(1000)), &d.place);
            statuses.sort_unstable();
            statuses.dedup();
            if !any && !statuses.is_empty() {
                out.set("only_status", Value::List(statuses.into_iter().map(Value::Int).collect()), &d.place);
            }
        }
        None if replaces => {
            out.set("never", Value::Bool(true), &zone.place).remark =
                "no lifetime is left: the origin's is passed over".to_owned();
        }
        None => {
            out.set("respect", Value::Bool(true), &zone.place);
            out.set("heuristic_factor", Value::Number(0.0), &zone.place).remark =
                "nginx keeps nothing by Last-Modified alone".to_owned();
        }
    }
}

fn ignore(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let has = |name: &str| d.args.iter().any(|a| a.eq_ignore_ascii_case(name));
    if has("Cache-Control") {
        let dangerous = Value::texts(["no-store", "private", "no-cache"]);
        let hold = conf.draft.options.with_unsafe;
        let entry = out.set("override", dangerous, &d.place);
        entry.off = !hold;
        entry.remark =
            "UNSAFE: shares what the origin says is for one visitor, or must not be kept".to_owned();
    }
    if has("Set-Cookie") {
        out.set("set_cookie", Value::text("strip"), &d.place);
    }
    if has("Set-Cookie") || has("Cache-Control") || has("Vary") {
        let mut words = Vec::new();
        if has("Cache-Control") {
            words.push(match conf.draft.options.with_unsafe {
                true => "what the origin says is for one visitor is shared: `override` (--with-unsafe)",
                false => {
                    "nginx shared what the origin says is for one visitor. It is not shared here: `override` is written as a \
                     comment, remove the # only if nothing of it is for one visitor"
                }
            });
        }
        if has("Set-Cookie") {
            words.push("nginx gave a stored Set-Cookie to everybody; here it is stored without (set_cookie = \"strip\")");
        }
        if has("Vary") {
            words.push("Vary still holds: responses that differ by a field are kept apart");
        }
        conf.note(d, Fate::Unsafe, words.join("; "));
    } else if has("Expires") {
        conf.cached(d, "the origin's Expires still counts; `for` in place of `when_silent` replaces every lifetime of the origin");
    } else {
        conf.left(d, "Samovar does not go by these fields");
    }
}

/// Requests that nginx kept away from the cache. Rules cannot tell requests by their cookies, and what an origin gives a
/// lifetime is shared whatever cookies came: so nothing is stored.
fn pass_by(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let is = |names: &[&str]| d.args.iter().any(|a| names.contains(&a.as_str()));
    let reloads = ["$http_pragma", "$http_cache_control"];
    let wishes = ["$http_pragma", "$http_cache_control", "$http_authorization", "0", ""];
    if d.args.iter().all(|a| wishes.contains(&a.as_str())) {
        let mut words = Vec::new();
        if is(&["$http_authorization"]) {
            out.add("vary_headers", Value::text("Authorization"), &d.place);
            words.push("vary_headers: Authorization");
        }
        if is(&reloads) && bare(d) == Some("cache_bypass") {
            out.set("reload", Value::text("bypass"), &d.place);
            words.push("reload = \"bypass\"");
        }
        match (words.is_empty(), is(&reloads) && bare(d) == Some("no_cache")) {
            (false, _) => conf.carried(d, words.join(", ")),
            (true, true) => conf.cached(d, "the response to a reload is stored, and replaces the older one"),
            (true, false) => conf.left(d, "no request passes by the cache, in nginx either"),
        }
        return;
    }
    let entry = out.set("never", Value::Bool(true), &d.place);
    entry.remark = "some requests passed by the cache, and no rule can tell which".to_owned();
    let text = "some requests passed by the cache, and a rule cannot tell which: nothing is stored here (never = true). Where \
                responses differ by one cookie only, replace it by a lifetime and `vary_cookies`";
    conf.note_as(d, (Fate::Unsafe, Consequence::CachedDifferently), text);
}

/// `unused_ms`: nginx bounds it by how long an unused response is stored (`inactive` of the zone).
fn stale(d: &Directive, unused_ms: u64, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let has = |name: &str| d.args.iter().any(|a| a == name);
    let ms = Value::duration(unused_ms);
    if has("off") {
        out.set("stale_if_unreachable", Value::duration(0), &d.place);
        conf.carried(d, "stale_if_unreachable = \"0s\"");
        return;
    }
    if d.args.iter().any(|a| a.starts_with("http_5")) {
        out.set("stale_if_error", ms.clone(), &d.place);
    }
    if has("updating") {
        out.set("stale_while_revalidate", ms.clone(), &d.place);
    }
    if has("error") || has("timeout") {
        out.set("stale_if_unreachable", ms, &d.place);
    }
    let lost: Vec<&str> = d
        .args
        .iter()
        .map(String::as_str)
        .filter(|a| a.starts_with("http_4") || *a == "invalid_header")
        .collect();
    let time = spell::duration(unused_ms);
    let text = format!("stale_if_error, stale_while_revalidate, stale_if_unreachable = \"{time}\"");
    match lost.is_empty() {
        true => conf.carried(d, text),
        false => {
            conf.note_as(d, DIFFERS, format!("{text}; no stale response is sent for {}", lost.join(", ")))
        }
    }
}

/// What a directive of the cache means that no location with a cache takes up.
pub(super) fn unused(d: &Directive) -> Option<(Consequence, &'static str)> {
    if d.name.starts_with("uwsgi_") || d.name.starts_with("scgi_") {
        let text = "Samovar does not speak uwsgi and SCGI: nothing of them is stored, and their locations are closed";
        return is_of_cache(&d.name).then_some((Consequence::CachedDifferently, text));
    }
    match bare(d)? {
        "buffering" => {
            Some((Consequence::Nothing, "Samovar passes bodies on as they come, in both directions"))
        }
        "store" if d.arg(0) == "off" => Some((Consequence::Nothing, "Samovar writes no responses to files")),
        "store" => Some((
            Consequence::CachedDifferently,
            "Samovar writes no responses to files: give the rule a lifetime, and they are stored in memory",
        )),
        _ if !is_of_cache(&d.name) => None,
        "cache"
        | "cache_key"
        | "cache_valid"
        | "no_cache"
        | "cache_bypass"
        | "ignore_headers"
        | "cache_min_uses"
        | "cache_use_stale"
        | "cache_methods"
        | "cache_lock"
        | "cache_background_update"
        | "cache_revalidate"
        | "cache_lock_timeout"
        | "cache_lock_age"
        | "cache_max_range_offset"
        | "cache_convert_head"
        | "cache_purge" => Some((
            Consequence::Nothing,
            "no location that it is for has a cache on, so nginx did nothing with it",
        )),
        _ => Some((
            Consequence::CachedDifferently,
            "this importer does not know the directive: look up what it changes about what is stored, and for how long",
        )),
    }
}
