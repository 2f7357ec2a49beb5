//! `proxy_cache` and `fastcgi_cache`: what is kept, for how long, under which key.
//!
//! There is no disk tier yet: the memory tier stands for every zone. nginx keeps nothing by Last-Modified alone, so no
//! heuristic lifetime is taken where a cache is on.

use super::Conf;
use crate::note::Fate;
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{Settings, Value};

/// The name without which of the modules it is of.
fn bare(d: &Directive) -> Option<&str> {
    d.name.strip_prefix("proxy_").or_else(|| d.name.strip_prefix("fastcgi_"))
}

pub(super) fn settings(here: &[&Directive], out: &mut Settings, conf: &mut Conf<'_, '_>) {
    // Both modules may be spoken of around a location that uses one.
    let prefix = if here.iter().any(|d| d.name == "fastcgi_pass") { "fastcgi_" } else { "proxy_" };
    let of = |name: &str| here.iter().copied().filter(|d| bare(d) == Some(name)).collect::<Vec<_>>();
    let one = |name: &str| {
        let all = of(name);
        all.iter().copied().find(|d| d.name.starts_with(prefix)).or(all.first().copied())
    };
    let zone = one("cache");
    let off = zone.is_none_or(|d| d.arg(0) == "off");
    if let Some(d) = zone {
        if off {
            out.set("never", Value::Bool(true), &d.place);
            conf.carried(d, "never = true");
        } else {
            conf.carried(d, "kept in memory: there is no disk tier yet, [memory] size bounds it, and a restart empties it");
        }
    }
    let ignored: Vec<String> =
        of("ignore_headers").iter().flat_map(|d| d.args.iter().map(|a| a.to_ascii_lowercase())).collect();
    if !off {
        lifetime(&of("cache_valid"), &ignored, out, conf, zone);
    }
    for d in here {
        let Some(name) = bare(d) else { continue };
        match name {
            "cache_valid" if off => conf.left(d, "no cache is on here"),
            "cache_key" => key(d, out, conf),
            "ignore_headers" => ignore(d, off, out, conf),
            "no_cache" | "cache_bypass" => pass_by(d, out, conf),
            "cache_min_uses" => match d.arg(0).parse::<u64>() {
                Ok(n) if (1..=1_000_000).contains(&n) => {
                    conf.carried(d, format!("admit_after = {n}"));
                    if n > 1 && !off {
                        out.set("admit_after", Value::Int(n), &d.place);
                        out.set("admit_period", Value::duration(600_000), &d.place);
                    }
                }
                _ => conf.left(d, "this is no number"),
            },
            "cache_use_stale" => stale(d, off, out, conf),
            "cache_methods" => conf.left(d, "answers to GET are kept, and serve HEAD"),
            "cache_lock" => conf.carried(d, "requests for one answer always wait for one fetch"),
            "cache_background_update" => {
                conf.carried(d, "stale_while_revalidate refreshes in the background")
            }
            "cache_revalidate" => conf.carried(d, "what has a validator is always asked for with it"),
            "cache_lock_timeout" | "cache_lock_age" => {
                conf.left(d, "nothing to set: waiting ends when the head of the answer decides");
            }
            "cache_max_range_offset" | "cache_convert_head" | "cache_purge" => {
                conf.left(d, "ranges come out of what is kept, and `samovar cache purge` takes it out");
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
    zone: Option<&Directive>,
) {
    // Where the origin's word is passed over, the rule's replaces it.
    let replaces = ignored.iter().any(|name| name == "cache-control" || name == "expires");
    let key = if replaces { "for" } else { "when_silent" };
    let mut first: Option<(u64, &Directive)> = None;
    let mut statuses: Vec<u64> = Vec::new();
    let mut any = false;
    for &d in valid {
        let Some((time, codes)) = d.args.split_last() else { continue };
        let Some(ms) = spell::nginx_time(time) else {
            conf.left(d, "this is no time");
            continue;
        };
        let these: Vec<u64> = match codes {
            [] => vec![200, 301, 302],
            codes => {
                any |= codes.iter().any(|c| c == "any") && ms > 0;
                codes.iter().filter_map(|c| c.parse().ok()).filter(|c| (200..=599).contains(c)).collect()
            }
        };
        let of_200 = these.contains(&200) || codes.iter().any(|c| c == "any");
        if ms == 0 {
            conf.carried(d, "what no lifetime is said for is not kept");
            continue;
        }
        match first {
            None if of_200 || valid.len() == 1 => {
                first = Some((ms, d));
                statuses.extend(these);
                conf.carried(d, format!("{key} = {}", spell::duration(ms)));
            }
            Some((known, _)) if known == ms => {
                statuses.extend(these);
                conf.carried(d, format!("{key} = {}", spell::duration(ms)));
            }
            _ => conf.left(d, "a rule has one lifetime: that of status 200 is taken, these statuses live by the origin's word"),
        }
    }
    match first {
        Some((ms, d)) => {
            out.set(key, Value::duration(ms.max(1000)), &d.place);
            statuses.sort_unstable();
            statuses.dedup();
            // HTTP's own list is as good as `any`, and other statuses have no lifetime here.
            if !any && !statuses.is_empty() {
                out.set("only_status", Value::List(statuses.into_iter().map(Value::Int).collect()), &d.place);
            }
        }
        None => {
            if let Some(d) = zone {
                out.set("respect", Value::Bool(true), &d.place);
                out.set("heuristic_factor", Value::Number(0.0), &d.place).remark =
                    "nginx keeps nothing by Last-Modified alone".to_owned();
            }
        }
    }
}

fn key(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let text = d.args.join("");
    let mut names = Vec::new();
    let mut rest = text.as_str();
    while let Some((_, after)) = rest.split_once('$') {
        let after = after.strip_prefix('{').unwrap_or(after);
        let length = after.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let (name, tail) = after.split_at(length);
        names.push(name);
        rest = tail;
    }
    let has = |name: &str| names.contains(&name);
    let mut lost = Vec::new();
    let mut kept: Vec<String> = Vec::new();
    for name in &names {
        if let Some(field) =
            name.strip_prefix("http_").map(|f| f.replace('_', "-")).filter(|f| spell::field_name(f).is_some())
        {
            out.add("vary_headers", Value::Text(field), &d.place);
        } else if let Some(cookie) = name.strip_prefix("cookie_").filter(|c| !c.is_empty()) {
            out.add("vary_cookies", Value::text(cookie), &d.place);
        } else if let Some(variable) = name.strip_prefix("arg_").filter(|v| !v.is_empty()) {
            kept.push(variable.to_owned());
        } else if ![
            "scheme",
            "host",
            "http_host",
            "proxy_host",
            "server_name",
            "request_method",
            "request_uri",
            "uri",
            "args",
            "is_args",
            "query_string",
            "document_uri",
            "upstream_http_host",
            "server_port",
            "proxy_port",
        ]
        .contains(name)
        {
            lost.push(format!("${name}"));
        }
    }
    let query = has("request_uri") || has("args") || has("query_string");
    if !kept.is_empty() && !query {
        out.set("vary_query", Value::table([("keep", Value::texts(kept))]), &d.place);
    } else if !query && (has("uri") || has("document_uri")) {
        out.set("vary_query", Value::text("ignore"), &d.place).remark = "the key had no query".to_owned();
    }
    if lost.is_empty() {
        conf.carried(
            d,
            "scheme, host, path and query are the key; vary_query, vary_headers and vary_cookies change it",
        );
    } else {
        // What parted answers and no longer does would show one visitor's to another.
        let text = format!(
            "{} parted answers in nginx and does not here: use vary_headers or vary_cookies, or `never`",
            lost.join(", ")
        );
        conf.note(d, Fate::Unsafe, text);
    }
}

fn ignore(d: &Directive, off: bool, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    if off {
        conf.left(d, "no cache is on here");
        return;
    }
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
                true => "what the origin says is private is shared: `override` (--with-unsafe)",
                false => "what the origin says is private is not shared all the same: `override` is written as a comment",
            });
        }
        if has("Set-Cookie") {
            words.push("nginx gave a kept Set-Cookie to everybody; here it is kept without (set_cookie)");
        }
        if has("Vary") {
            words.push("Vary is heeded all the same");
        }
        conf.note(d, Fate::Unsafe, words.join("; "));
    } else {
        conf.carried(d, "the origin's word is passed over: for, when_silent");
    }
}

/// Requests that nginx kept away from the cache. Rules cannot tell requests by their cookies, and what an origin gives a
/// lifetime is shared whatever cookies came: so nothing is kept.
fn pass_by(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let wishes = ["$http_pragma", "$http_cache_control", "$http_authorization", "0", ""];
    if d.args.iter().all(|a| wishes.contains(&a.as_str())) {
        if d.args.iter().any(|a| a == "$http_authorization") {
            out.add("vary_headers", Value::text("Authorization"), &d.place);
        }
        conf.carried(d, "credentials have answers of their own (vary_headers); `reload` is about Pragma and Cache-Control");
        return;
    }
    let entry = out.set("never", Value::Bool(true), &d.place);
    entry.remark = "some requests passed by the cache, and no rule can tell them".to_owned();
    let text = "requests that it kept out of the cache cannot be told by a rule: nothing is kept here (`never`); where answers \
                differ by one cookie only, `vary_cookies` in its place keeps them apart";
    conf.note(d, Fate::Unsafe, text);
}

fn stale(d: &Directive, off: bool, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    if off {
        conf.left(d, "no cache is on here");
        return;
    }
    // nginx bounds it by how long an unused answer is kept: ten minutes unless said.
    let has = |name: &str| d.args.iter().any(|a| a == name);
    let ms = Value::duration(600_000);
    if has("off") {
        out.set("stale_if_unreachable", Value::duration(0), &d.place);
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
    conf.carried(d, "stale_if_error, stale_while_revalidate, stale_if_unreachable: ten minutes");
}
