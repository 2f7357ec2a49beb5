//! Output caching: `caching` with its profiles, and when a URL is asked for often enough (`serverRuntime`).
//!
//! Exactly one profile holds for a request: that of its extension, else that of `*`, of all that the path hands down. The
//! user-mode cache is our memory tier, the kernel's our hot tier, which unlike the kernel's knows variants.

use super::xml::{child, children, number, switch};
use super::{Work, path_set};
use crate::note::{Consequence, Fate, Place};
use crate::spell;
use crate::wanted::{Select, Settings, Site, Value};
use roxmltree::Node;

/// What a layer does to the profiles handed down to it.
pub(crate) struct Op {
    path: String,
    place: Place,
    what: What,
}

enum What {
    Add(String, Settings),
    Remove(String),
    Clear,
}

/// Largest size of a cache that is believed, MB: 16 TiB.
const CACHE_MAX_MB: u64 = 16 << 20;

pub(crate) fn section(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) {
    for attribute in node.attributes() {
        switches(work, node, attribute.name(), attribute.value());
    }
    for other in children(node).filter(|n| n.tag_name().name() != "profiles") {
        work.cached(other, UNKNOWN);
    }
    let Some(profiles) = child(node, "profiles") else { return };
    for profile in children(profiles) {
        let what = match profile.tag_name().name() {
            "clear" => {
                work.carried(profile, "profiles of outer paths do not hold here");
                Some(What::Clear)
            }
            name @ ("add" | "remove") => match profile.attribute("extension").and_then(profile_extension) {
                None => {
                    work.cached(
                        profile,
                        "an extension is expected, such as .jpg, or *: the profile is left out",
                    );
                    None
                }
                Some(extension) if name == "remove" => {
                    work.carried(profile, "the profile of the outer path does not hold here");
                    Some(What::Remove(extension))
                }
                Some(extension) => add(work, profile).map(|settings| What::Add(extension, settings)),
            },
            _ => {
                work.cached(profile, "this is no profile; it is left out");
                None
            }
        };
        if let Some(what) = what {
            let op = Op { path: work.path.clone(), place: work.place(profile), what };
            work.profiles.push(op);
        }
    }
}

const UNKNOWN: &str =
    "this importer does not know it: look up what it changes about what is stored, and for how long";

/// An attribute of `caching`.
fn switches(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>, name: &str, value: &str) {
    let place = work.place(node);
    match (name, switch(node, name), number(node, name)) {
        ("enabled", Some(false), _) => {
            work.carried(node, "cache = false, or never = true for one path");
            if work.is_whole() {
                work.site.head.set("cache", Value::Bool(false), &place);
            } else {
                work.here(node).set("never", Value::Bool(true), &place);
            }
        }
        ("enableKernelCache", Some(false), _) => {
            work.carried(node, "hot = false");
            work.here(node).set("hot", Value::Bool(false), &place);
        }
        ("enabled" | "enableKernelCache", Some(true), _) | ("maxCacheSize", _, Some(0)) => {
            work.carried(node, format!("{name}: Samovar does so by default"));
        }
        ("maxCacheSize", _, Some(megabytes)) if megabytes < CACHE_MAX_MB => {
            work.carried(node, format!("[memory] size = {megabytes} MiB, for everything"));
            // Less is no budget for a server: samovar check names the least.
            let size = Value::size(megabytes.max(16) << 20);
            work.draft.wanted.memory.set("size", size, &place);
        }
        ("maxResponseSize", _, Some(0)) => {
            work.cached(node, "maxResponseSize: 0 was no bound; `memory.entry_max` bounds what is stored");
        }
        ("maxResponseSize", _, Some(bytes)) if bytes < 1 << 40 => {
            work.carried(node, format!("max_bytes = {bytes}"));
            work.here(node).set("max_bytes", Value::size(bytes), &place);
        }
        ("enabled" | "enableKernelCache" | "maxCacheSize" | "maxResponseSize", ..) => {
            work.cached(node, format!("{name}: \"{value}\" cannot be read; Samovar's default holds"));
        }
        _ => work.cached(node, format!("{name}: {UNKNOWN}")),
    }
}

/// `*`, or an extension with its dot.
fn profile_extension(text: &str) -> Option<String> {
    if text.trim() == "*" { Some("*".to_owned()) } else { spell::extension(text.trim()) }
}

/// What a profile asks for; `None`: nothing.
fn add(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) -> Option<Settings> {
    let place = work.place(node);
    let user = node.attribute("policy").unwrap_or("DontCache");
    let kernel = node.attribute("kernelCachePolicy").unwrap_or("DontCache");
    let location = node.attribute("location").unwrap_or("Server");
    let ms = match node.attribute("duration") {
        Some(text) => match spell::time_span(text) {
            Some(ms) => ms.max(1000),
            None => {
                work.cached(
                    node,
                    format!("the duration {text} is no time like 00:00:30; the profile is left out"),
                );
                return None;
            }
        },
        None => 30_000,
    };
    let mut settings = Settings::default();
    let mut words = Vec::new();
    // The user-mode policy says what is kept; where it asks for nothing, the kernel's does.
    let policy = if user == "DontCache" { kernel } else { user };
    // Downstream is everywhere but in the server.
    let stored_here = !matches!(location, "Client" | "None" | "Downstream");
    let mut differs = Vec::new();
    match policy {
        _ if !stored_here => {
            settings.set("never", Value::Bool(true), &place);
            words.push("never".to_owned());
        }
        "CacheForTimePeriod" => {
            settings.set("for", Value::duration(ms), &place);
            words.push(format!("for = {}", spell::duration(ms)));
        }
        "CacheUntilChange" => {
            settings.set("until_changed", Value::Bool(true), &place);
            words.push("until_changed".to_owned());
        }
        "DisableCache" => {
            settings.set("never", Value::Bool(true), &place);
            words.push("never".to_owned());
        }
        "DontCache" => {
            settings.set("respect", Value::Bool(true), &place).remark =
                "the profile asks for nothing".to_owned();
            words.push("respect: the profile asks for nothing".to_owned());
        }
        other => {
            work.cached(node, format!("the policy {other} is not known; the profile is left out"));
            return None;
        }
    }
    let stores = matches!(policy, "CacheForTimePeriod" | "CacheUntilChange") && stored_here;
    match kernel {
        "CacheForTimePeriod" | "CacheUntilChange" if stores => {
            settings.set("hot", Value::Bool(true), &place);
            words.push("hot".to_owned());
        }
        "DisableCache" if stores => {
            settings.set("hot", Value::Bool(false), &place);
            words.push("hot = false".to_owned());
        }
        _ => {}
    }
    if stores {
        vary(node, &place, &mut settings, &mut words, &mut differs);
    }
    if let Some(told) = told(location, ms) {
        words.push(format!("clients are told {told}"));
        settings.set("client_cache_control", Value::Text(told), &place);
    }
    if stores && policy == "CacheUntilChange" && node.attribute("duration").is_some() {
        differs.push(
            "IIS removed what nobody asked for within `duration`; here it stays until memory is needed",
        );
    }
    let times = ["CacheForTimePeriod", "CacheUntilChange"];
    if stores && kernel != user && times.contains(&kernel) && times.contains(&user) {
        differs.push("the kernel's policy is another, and both tiers go by `policy` here");
    }
    if !["Any", "Client", "Downstream", "Server", "None", "ServerAndClient"].contains(&location) {
        differs.push("the location is not known, and taken for Server");
    }
    const KNOWN: [&str; 7] = [
        "extension",
        "policy",
        "kernelCachePolicy",
        "duration",
        "location",
        "varyByHeaders",
        "varyByQueryString",
    ];
    if node.attributes().any(|attribute| !KNOWN.contains(&attribute.name())) {
        differs.push("this importer does not know one of its attributes");
    }
    match differs.is_empty() {
        true => work.carried(node, words.join(", ")),
        false => {
            let text = format!("{}. {}", words.join(", "), differs.join("; "));
            work.note_as(node, (Fate::Carried, Consequence::CachedDifferently), text);
        }
    }
    Some(settings)
}

fn vary(
    node: Node<'_, '_>,
    place: &Place,
    settings: &mut Settings,
    words: &mut Vec<String>,
    differs: &mut Vec<&str>,
) {
    // Both signs are in use between names.
    let list = |name| {
        let text = node.attribute(name).unwrap_or("");
        text.split([',', ';']).map(str::trim).filter(|t| !t.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let named = list("varyByHeaders");
    let headers: Vec<String> = named.iter().filter_map(|n| spell::field_name(n)).collect();
    if headers.len() < named.len() {
        // What differs by a field that cannot be named must not be shared.
        settings.set("never", Value::Bool(true), place);
        differs.push("a name in varyByHeaders is no field name, so nothing is stored: write the right one");
        return;
    }
    if !headers.is_empty() {
        words.push(format!("vary_headers {}", headers.join(", ")));
        settings.set("vary_headers", Value::texts(headers), place);
    }
    let query = list("varyByQueryString");
    let ok = |n: &String| !n.contains(['&', '=', '?', '#']) && !n.contains(char::is_whitespace);
    if !query.is_empty() && !query.iter().any(|n| n == "*") && query.iter().all(ok) {
        words.push(format!("vary_query {}", query.join(", ")));
        settings.set("vary_query", Value::table([("keep", Value::texts(query))]), place);
    } else if !query.is_empty() && !query.iter().any(|n| n == "*") {
        differs
            .push("a name in varyByQueryString cannot be written; each whole query has responses of its own");
    }
}

/// What clients and caches on the way are told.
fn told(location: &str, ms: u64) -> Option<String> {
    let seconds = ms / 1000;
    match location {
        "Any" | "Downstream" => Some(format!("public, max-age={seconds}")),
        "Client" | "ServerAndClient" => Some(format!("private, max-age={seconds}")),
        "None" => Some("no-cache".to_owned()),
        _ => None,
    }
}

pub(crate) fn server_runtime(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) {
    let place = work.place(node);
    let threshold = number(node, "frequentHitThreshold").filter(|n| (1..=1_000_000).contains(n));
    let period = node.attribute("frequentHitTimePeriod").and_then(spell::time_span).map(|ms| ms.max(1000));
    for (name, read) in
        [("frequentHitThreshold", threshold.is_some()), ("frequentHitTimePeriod", period.is_some())]
    {
        if node.attribute(name).is_some() && !read {
            work.cached(
                node,
                format!("{name} cannot be read; IIS's default is written if the other one is there"),
            );
        }
    }
    if threshold.is_some() || period.is_some() {
        // IIS's defaults for the other one.
        let (threshold, period) = (threshold.unwrap_or(2), period.unwrap_or(10_000));
        let here = work.here(node);
        here.set("admit_after", Value::Int(threshold), &place);
        if threshold > 1 {
            here.set("admit_period", Value::duration(period), &place);
        }
        let whole = work.is_whole();
        if whole {
            let hot = &mut work.draft.wanted.hot;
            hot.set("threshold", Value::Int(threshold), &place);
            hot.set("period", Value::duration(period), &place);
        }
        let text = format!("kept and hot from request {threshold} within {} on", spell::duration(period));
        work.carried(node, text);
    }
    for (name, why) in [
        ("enabled", "the server runtime is always on"),
        ("authenticatedUserOverride", "Samovar takes no identity of Windows"),
        ("appConcurrentRequestLimit", "limits = { concurrent_max = … } bounds requests at once"),
        ("uploadReadAheadSize", "Samovar passes bodies on as they come"),
        ("maxRequestEntityAllowed", "the largest body is `[limits] body_max_bytes`"),
        ("enableNagling", "Samovar sends responses at once"),
        ("alternateHostName", "the host of the request decides"),
    ] {
        if node.attribute(name).is_some() {
            work.left(node, format!("{name}: {why}"));
        }
    }
}

/// Profiles to scopes: what each path has after all that is handed down to it.
pub(crate) fn settle(site: &mut Site, ops: &[Op]) {
    let mut paths: Vec<&str> = ops.iter().map(|op| op.path.as_str()).collect();
    paths.dedup();
    for path in paths {
        let covers =
            |outer: &str| outer.is_empty() || path == outer || path.starts_with(&format!("{outer}/"));
        let mut held: Vec<(&str, Option<&Settings>, &Place)> = Vec::new();
        for op in ops.iter().filter(|op| covers(&op.path)) {
            match &op.what {
                What::Clear => held.iter_mut().for_each(|(_, settings, _)| *settings = None),
                What::Remove(extension) => {
                    held.iter_mut().filter(|h| h.0 == extension).for_each(|h| h.1 = None);
                }
                What::Add(extension, settings) => {
                    held.retain(|h| h.0 != extension);
                    held.push((extension, Some(settings), &op.place));
                }
            }
        }
        let others: Vec<&Settings> = ops
            .iter()
            .filter_map(|op| match &op.what {
                What::Add(_, settings) => Some(settings),
                _ => None,
            })
            .collect();
        for (extension, settings, place) in held {
            let extensions = if extension == "*" { Vec::new() } else { vec![extension.to_owned()] };
            let scope = site.scope(&Select { path: path_set(path), extensions }, place);
            let mut own = Settings::default();
            // One profile holds alone: what others say must not shine through.
            for (key, plain) in [
                ("vary_headers", Value::List(Vec::new())),
                ("vary_query", Value::text("as-is")),
                ("hot", Value::Bool(true)),
            ] {
                let asked = settings.and_then(|s| s.get(key)).is_some();
                if !asked && others.len() > 1 && others.iter().any(|s| s.get(key).is_some()) {
                    own.set_by_itself(key, plain, "");
                }
            }
            match settings {
                Some(settings) => own.overlay(settings),
                None => {
                    own.set("respect", Value::Bool(true), place).remark =
                        "the profile is taken away here".to_owned();
                }
            }
            scope.overlay(&own);
        }
    }
}
