//! mod_headers, mod_deflate: what is added to responses and requests, and what is compressed.

use super::directives::Conf;
use crate::note::{Consequence, Fate};
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{Select, Value, is_ours};
use samovar_rules::{FieldSide, refused_name};

/// A directive of these modules, if it is one.
pub(crate) fn directive(conf: &mut Conf<'_, '_>, d: &Directive, name: &str, select: &Select) -> bool {
    match name {
        "header" => header(conf, d, select),
        "requestheader" => request_header(conf, d, select),
        "expiresactive" | "expiresdefault" | "expiresbytype" => {
            super::expires::directive(conf, d, name, select)
        }
        "setoutputfilter" if d.args.concat().to_ascii_uppercase().contains("DEFLATE") => {
            conf.scope(select, &d.place).set("compress", Value::Bool(true), &d.place);
            conf.carried(d, "compress = true");
        }
        "addoutputfilterbytype" | "addoutputfilter" => by_filter(conf, d, name, select),
        "deflatecompressionlevel" => match d.arg(0).parse::<u64>().ok().filter(|n| (1..=9).contains(n)) {
            Some(level) => {
                let levels = Value::table([("gzip", Value::Int(level))]);
                conf.draft.wanted.compression.set("levels", levels, &d.place);
                conf.carried(d, "[compression] levels");
            }
            None => conf.cached(d, "a level is 1 to 9; the default holds"),
        },
        _ if name.starts_with("deflate") || name.starts_with("brotli") => {
            conf.left(d, "Samovar sizes the buffers of a coding itself; `compress` and `[compression]` say what is compressed, and how well");
        }
        "filterdeclare" | "filterprovider" | "filterchain" | "setinputfilter" => {
            conf.breaks(d, "Samovar has no filters; compression is `compress` in a rule");
        }
        _ => return false,
    }
    true
}

fn header(conf: &mut Conf<'_, '_>, d: &Directive, select: &Select) {
    let mut args: Vec<&str> = d.args.iter().map(String::as_str).collect();
    if args.first().is_some_and(|a| a.eq_ignore_ascii_case("always") || a.eq_ignore_ascii_case("onsuccess")) {
        args.remove(0);
    }
    let verb = args.first().copied().unwrap_or("").to_ascii_lowercase();
    let raw = args.get(1).copied().unwrap_or("").trim_end_matches(':');
    let value = args.get(2).copied().unwrap_or("");
    if raw.eq_ignore_ascii_case("Set-Cookie") && value.contains("BALANCER_WORKER_ROUTE") {
        conf.carried(d, "sticky.set = true");
        return;
    }
    let conditional = args.iter().skip(3).any(|a| a.starts_with("env=") || a.starts_with("expr="));
    let Some(field) = spell::field_name(raw) else {
        conf.breaks(d, "this is no field name");
        return;
    };
    if conditional && verb != "unset" {
        let text = "Samovar has no conditions on requests: write a rule for the requests that it is about";
        match steers_caches(&field) {
            true => conf.cached(d, text),
            false => conf.breaks(d, text),
        }
        return;
    }
    let steers = steers_caches(&field);
    if is_ours(&field) {
        conf.left(d, format!("Samovar writes {field} itself"));
        return;
    }
    if verb == "unset" {
        conf.scope(select, &d.place).add("drop_fields", Value::text(&field), &d.place);
        match steers {
            true => conf.note_as(
                d,
                (Fate::Carried, Consequence::CachedDifferently),
                format!("drop_fields: {field} reaches nobody, but still decides what is stored; httpd stored without it"),
            ),
            false => conf.carried(d, "drop_fields"),
        }
        return;
    }
    let Some(value) = plain(value) else {
        let text =
            "its value has a variable of httpd: write it without, in response_fields or client_cache_control";
        match steers {
            true => conf.cached(d, text),
            false => conf.breaks(d, text),
        }
        return;
    };
    match verb.as_str() {
        "set" | "setifempty" if field.eq_ignore_ascii_case("Cache-Control") => {
            cache_control(conf, d, &value, select)
        }
        "set" | "setifempty" | "append" | "merge" | "add" if field.eq_ignore_ascii_case("Vary") => {
            // What an answer varies by may be added to, never taken away.
            let edit = Value::table([("append", Value::Text(field)), ("value", Value::Text(value))]);
            conf.scope(select, &d.place).add("response_fields", edit, &d.place);
            conf.carried(d, "response_fields, added to what the origin names");
        }
        "set" | "append" | "merge" | "add" => {
            let verb = if verb == "set" { "set" } else { "append" };
            if let Some(why) = refused_name(FieldSide::Response, verb, &field) {
                let text = format!("a rule cannot change {field}: {why}");
                match steers {
                    true => conf.cached(d, text),
                    false => conf.breaks(d, text),
                }
                return;
            }
            // Field lines may be joined by commas (RFC 9110 §5.3), so adding a line and appending to one are the same.
            let edit = Value::table([(verb, Value::Text(field)), ("value", Value::Text(value))]);
            conf.scope(select, &d.place).add("response_fields", edit, &d.place);
            conf.carried(
                d,
                "response_fields, before the response is stored, as mod_headers stands before mod_cache",
            );
        }
        _ if steers => conf
            .cached(d, "Samovar sets, appends and removes fields, and does not edit them: write the value"),
        _ => conf
            .breaks(d, "Samovar sets, appends and removes fields, and does not edit them: write the value"),
    }
}

/// Whether caches go by the field: what is stored, for how long, for whom, and when it is asked for again.
fn steers_caches(field: &str) -> bool {
    const STEERS: [&str; 11] = [
        "cache-control",
        "expires",
        "pragma",
        "age",
        "vary",
        "etag",
        "last-modified",
        "set-cookie",
        "surrogate-control",
        "cdn-cache-control",
        "samovar-cache-control",
    ];
    STEERS.contains(&field.to_ascii_lowercase().as_str())
}

/// A lifetime that is forced on the origin's answers.
fn cache_control(conf: &mut Conf<'_, '_>, d: &Directive, value: &str, select: &Select) {
    let lower = value.to_ascii_lowercase();
    let parts: Vec<&str> = lower.split(',').map(str::trim).collect();
    let seconds = |name: &str| {
        parts
            .iter()
            .find_map(|p| p.strip_prefix(name)?.strip_prefix('=')?.trim_matches('"').parse::<u64>().ok())
    };
    let forbids = parts
        .iter()
        .any(|p| p.starts_with("no-store") || p.starts_with("private") || p.starts_with("no-cache"));
    let lifetime = seconds("s-maxage").or(seconds("max-age"));
    let scope = conf.scope(select, &d.place);
    scope.set("client_cache_control", Value::text(value), &d.place);
    match lifetime {
        _ if forbids => {
            scope.set("never", Value::Bool(true), &d.place);
            conf.carried(d, "never = true, and clients are told it");
        }
        Some(0) => {
            scope.set("never", Value::Bool(true), &d.place);
            conf.carried(d, "never = true, and clients are told it");
        }
        Some(seconds) => {
            let ms = seconds.saturating_mul(1000).min(366 * 86_400_000);
            scope.set("for", Value::duration(ms), &d.place);
            let text = format!(
                "for = {}, and clients are told it; what the origin says is private or must not be kept still is not",
                spell::duration(ms)
            );
            conf.carried(d, text);
        }
        None => conf.carried(d, "client_cache_control"),
    }
}

fn request_header(conf: &mut Conf<'_, '_>, d: &Directive, select: &Select) {
    let verb = d.arg(0).to_ascii_lowercase();
    let field = spell::field_name(d.arg(1).trim_end_matches(':')).filter(|f| !is_ours(f));
    let conditional = d.args.iter().skip(3).any(|a| a.starts_with("env=") || a.starts_with("expr="));
    let change = if verb == "unset" { "remove" } else { "set" };
    if let Some(why) = field.as_deref().and_then(|field| refused_name(FieldSide::Request, change, field)) {
        match ["cache-control", "pragma"]
            .contains(&field.as_deref().unwrap_or("").to_ascii_lowercase().as_str())
        {
            true => conf.cached(d, "the cache decides what a client's reload does: `reload` of a rule"),
            false if field.as_deref().is_some_and(spell::is_about_tls) && change == "set" => {
                conf.breaks(d, spell::TLS_IN_FRONT);
            }
            false => conf.left(d, format!("Samovar sets the field itself: {why}")),
        }
        return;
    }
    match (verb.as_str(), field, plain(d.arg(2))) {
        _ if conditional => conf.breaks(
            d,
            "Samovar has no conditions on requests: write a rule for the requests that it is about",
        ),
        ("unset", Some(field), _) => {
            let edit = Value::table([("remove", Value::Text(field))]);
            conf.scope(select, &d.place).add("request_fields", edit, &d.place);
            conf.carried(d, "request_fields");
        }
        (verb @ ("set" | "append" | "add" | "merge"), Some(field), Some(value)) => {
            let verb = if verb == "set" { "set" } else { "append" };
            let edit = Value::table([(verb, Value::Text(field)), ("value", Value::Text(value))]);
            conf.scope(select, &d.place).add("request_fields", edit, &d.place);
            conf.carried(d, "request_fields");
        }
        ("set" | "append" | "add" | "merge" | "setifempty", Some(field), None) => {
            // The client's own must not pass for it.
            let user = ["%{REMOTE_USER}s", "%{REMOTE_USER}e", "expr=%{REMOTE_USER}"].contains(&d.arg(2));
            let edit = match user {
                true => Value::table([("set", Value::Text(field)), ("value", Value::text("{user}"))]),
                false => Value::table([("remove", Value::Text(field))]),
            };
            conf.scope(select, &d.place).add("request_fields", edit, &d.place);
            match user {
                true => conf.carried(d, "request_fields"),
                false => conf.note(d, Fate::Unsafe, "its value cannot be written here: the field is removed from the request, so that the client's own cannot pass for it"),
            }
        }
        _ => conf
            .breaks(d, "Samovar sets, appends and removes fields, and does not edit them: write the value"),
    }
}

/// A value without variables; `%%` is a percent sign.
fn plain(value: &str) -> Option<String> {
    let bare = value.replace("%%", "\u{1}");
    let clean = !bare.contains('%') && !bare.starts_with("expr=") && !bare.contains(['{', '}']);
    clean.then(|| spell::field_value(&bare.replace('\u{1}', "%")))?
}

fn by_filter(conf: &mut Conf<'_, '_>, d: &Directive, name: &str, select: &Select) {
    if !d.arg(0).to_ascii_uppercase().split(';').any(|f| f == "DEFLATE" || f == "BROTLI_COMPRESS") {
        conf.breaks(d, "Samovar has no filters: bodies are passed on unchanged");
        return;
    }
    if name == "addoutputfilter" {
        let extensions: Vec<String> = d.args.iter().skip(1).filter_map(|e| spell::extension(e)).collect();
        let inner = super::sections::within(select, Select::extensions(extensions.clone()));
        match inner.filter(|_| !extensions.is_empty()) {
            Some(inner) => {
                conf.scope(&inner, &d.place).set("compress", Value::Bool(true), &d.place);
                conf.carried(d, "compress = true");
            }
            None => conf.cached(d, "no extension is named: write `compress = true` into a rule"),
        }
        return;
    }
    let mut types: Vec<String> = match conf.scope(select, &d.place).get("compress") {
        Some(Value::Table(pairs)) => pairs
            .iter()
            .filter(|(k, _)| k == "types")
            .flat_map(|(_, v)| v.as_texts())
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    };
    let bad = d.args.iter().skip(1).filter(|t| spell::media_type(t).is_none()).count();
    for media in d.args.iter().skip(1).filter_map(|t| spell::media_type(t)) {
        if !types.contains(&media) && !media.contains(';') {
            types.push(media);
        }
    }
    let fate = if bad == 0 { Fate::Carried } else { Fate::LeftOut };
    conf.note(d, fate, "compress.types");
    if !types.is_empty() {
        let compress = Value::table([("types", Value::texts(types))]);
        conf.scope(select, &d.place).set("compress", compress, &d.place);
    }
}
