//! Fields, compression, errors, lifetimes told to clients: what a location changes on the way.
//!
//! A request field that nginx set and that cannot be said is taken out of the request: the client's own must not pass for it.

use super::Conf;
use crate::note::Fate;
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{Settings, Value, is_ours};
use samovar_rules::{FieldSide, refused_name};

/// Fields, compression, errors, lifetimes told to clients.
pub(super) fn fields(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let place = &d.place;
    match d.name.as_str() {
        "add_header" => add_header(d, out, conf),
        "proxy_set_header" => set_header(d, out, conf),
        "proxy_hide_header" | "fastcgi_hide_header" => {
            match spell::field_name(d.arg(0)).filter(|f| !is_ours(f)) {
                Some(field) => {
                    out.add("drop_fields", Value::Text(field), place);
                    conf.carried(d, "drop_fields");
                }
                None => conf.left(d, "Samovar writes this field itself"),
            }
        }
        "expires" => expires(d, out, conf),
        "gzip" | "brotli" => {
            let on = d.arg(0) == "on";
            if !matches!(out.get("compress"), Some(Value::Table(_))) || !on {
                out.set("compress", Value::Bool(on), place);
            }
            conf.carried(d, format!("compress = {on}"));
        }
        "gzip_types" | "brotli_types" | "gzip_min_length" | "brotli_min_length" => compress(d, out, conf),
        "gzip_comp_level" | "brotli_comp_level" => {
            match d.arg(0).parse::<u64>().ok().filter(|n| (1..=11).contains(n)) {
                Some(level) => {
                    let (coding, most) = if d.name.starts_with("gzip") { ("gzip", 9) } else { ("br", 11) };
                    let levels = Value::table([(coding, Value::Int(level.min(most)))]);
                    conf.draft.wanted.compression.set("levels", levels, place);
                    conf.carried(d, "[compression] levels");
                }
                None => conf.cached(d, "this is no level; the default holds"),
            }
        }
        "error_page" => error_page(d, out, conf),
        _ => {}
    }
}

fn add_header(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let (name, value) = (d.arg(0), d.arg(1));
    let Some(field) = spell::field_name(name) else {
        conf.breaks(d, "this is no field name");
        return;
    };
    const STEERS: [&str; 6] = ["cache-control", "expires", "pragma", "vary", "etag", "last-modified"];
    let steers = STEERS.contains(&field.to_ascii_lowercase().as_str());
    if value.contains("$upstream_cache_status") {
        conf.carried(d, "the field Cache-Status says it on every response (RFC 9211)");
    } else if is_ours(&field) {
        conf.left(d, format!("Samovar writes {field} itself"));
    } else if value.contains('$') {
        let text = "its value has a variable of nginx: write it without";
        match steers {
            true => conf.cached(d, format!("{text}, as client_cache_control or client_fields of the rule")),
            false => conf.breaks(d, format!("{text}, as client_fields of the rule")),
        }
    } else if let Some(value) = spell::field_value(value) {
        if field.eq_ignore_ascii_case("Vary") {
            let edit = Value::table([("append", Value::Text(field)), ("value", Value::Text(value))]);
            out.add("response_fields", edit, &d.place);
            conf.carried(d, "response_fields, before the cache");
        } else if let Some(why) = refused_name(FieldSide::Client, "append", &field)
            .filter(|_| !field.eq_ignore_ascii_case("Cache-Control"))
        {
            let text = format!("a rule cannot change {field}: {why}");
            match steers {
                true => conf.cached(d, text),
                false => conf.breaks(d, text),
            }
        } else if field.eq_ignore_ascii_case("Cache-Control") {
            tell_caches(&value, d, out);
            conf.carried(d, "client_cache_control, in place of the origin's Cache-Control");
        } else {
            let edit = Value::table([("append", Value::Text(field)), ("value", Value::Text(value))]);
            out.add("client_fields", edit, &d.place);
            conf.carried(d, "client_fields, after the cache");
        }
    } else {
        conf.left(d, "an empty value adds nothing, in nginx either");
    }
}

fn set_header(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let (name, value) = (d.arg(0), d.arg(1));
    let lower = name.to_ascii_lowercase();
    match lower.as_str() {
        "host" => return conf.carried(d, "the host of the request, or `host` of the upstream"),
        "x-forwarded-for" | "x-forwarded-proto" | "x-forwarded-host" | "forwarded" | "via"
            if value.contains('$') =>
        {
            return conf.carried(d, "Samovar always sends it");
        }
        "connection" | "upgrade" => {
            return conf.carried(d, "Samovar keeps connections open and passes upgrades on");
        }
        "accept-encoding" if value.is_empty() => {
            return conf.left(d, "`compress` decides which codings the origin is asked for");
        }
        _ => {}
    }
    let Some(field) = spell::field_name(name).filter(|f| !is_ours(f)) else {
        conf.left(d, "Samovar sets this field itself, or it is no field name");
        return;
    };
    if let Some(why) = refused_name(FieldSide::Request, "set", &field) {
        match crate::spell::is_about_tls(&field) && !value.is_empty() {
            true => conf.breaks(d, crate::spell::TLS_IN_FRONT),
            false => conf.left(d, format!("Samovar sets the field itself: {why}")),
        }
        return;
    }
    match (value, template(value).and_then(|text| spell::field_value(&text))) {
        (_, Some(value)) => {
            let edit = Value::table([("set", Value::Text(field)), ("value", Value::Text(value))]);
            out.add("request_fields", edit, &d.place);
            conf.carried(d, "request_fields");
        }
        (value, None) => {
            out.add("request_fields", Value::table([("remove", Value::Text(field))]), &d.place);
            if value.is_empty() {
                conf.carried(d, "request_fields");
            } else {
                conf.note(d, Fate::Unsafe, "its value cannot be written here: the field is removed from the request, so that the client's own cannot pass for it");
            }
        }
    }
}

/// A value with nginx's variables as one with ours; `None`: one of them has no counterpart, or there is nothing.
fn template(value: &str) -> Option<String> {
    const KNOWN: [(&str, &str); 7] = [
        ("remote_user", "{user}"),
        ("remote_addr", "{client}"),
        ("realip_remote_addr", "{client}"),
        ("host", "{host}"),
        ("http_host", "{host}"),
        ("scheme", "{scheme}"),
        ("request_id", "{id}"),
    ];
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(&before.replace('{', "{{").replace('}', "}}"));
        let (braced, after) = match after.strip_prefix('{') {
            Some(after) => (true, after),
            None => (false, after),
        };
        let length = after.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let (name, tail) = after.split_at(length);
        rest = if braced { tail.strip_prefix('}')? } else { tail };
        out.push_str(KNOWN.iter().find(|(known, _)| *known == name)?.1);
    }
    out.push_str(&rest.replace('{', "{{").replace('}', "}}"));
    (!out.is_empty()).then_some(out)
}

fn expires(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let told = match d.arg(0) {
        "off" => {
            conf.carried(d, "Samovar does so by default");
            return;
        }
        "max" => Some("max-age=315360000".to_owned()),
        "epoch" => Some("no-cache".to_owned()),
        text if text.starts_with('-') => Some("no-cache".to_owned()),
        text => spell::nginx_time(text).map(|ms| format!("max-age={}", ms / 1000)),
    };
    match told.filter(|_| d.args.len() == 1) {
        Some(told) => {
            conf.carried(d, format!("client_cache_control = \"{told}\""));
            tell_caches(&told, d, out);
        }
        None => conf.cached(
            d,
            "a lifetime counted from the request is expected, such as 1h: clients are told what the origin says. Write \
             `client_cache_control = \"max-age=…\"` into the rule",
        ),
    }
}

/// `expires` and `add_header Cache-Control` beside each other say both.
fn tell_caches(said: &str, d: &Directive, out: &mut Settings) {
    let all = match out.get("client_cache_control") {
        Some(Value::Text(known)) if known != said => format!("{known}, {said}"),
        _ => said.to_owned(),
    };
    out.set("client_cache_control", Value::Text(all), &d.place);
}

fn compress(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    if out.get("compress") == Some(&Value::Bool(false)) {
        conf.left(d, "compression is off here, in nginx too");
        return;
    }
    let mut pairs = match out.get("compress") {
        Some(Value::Table(pairs)) => pairs.clone(),
        _ => Vec::new(),
    };
    if d.name.ends_with("types") {
        let mut types: Vec<String> = match d.args.iter().any(|t| t == "*") {
            true => vec!["text/*".to_owned(), "application/*".to_owned()],
            // nginx always has text/html among them.
            false => std::iter::once("text/html".to_owned())
                .chain(d.args.iter().filter_map(|t| spell::media_type(t)))
                .collect(),
        };
        types.retain(|t| !t.contains(';'));
        let mut seen = std::collections::HashSet::new();
        types.retain(|t| seen.insert(t.clone()));
        pairs.retain(|(key, _)| key != "types");
        pairs.push(("types".to_owned(), Value::texts(types)));
        conf.carried(d, "compress.types");
    } else if let Some(bytes) = spell::nginx_size(d.arg(0)) {
        pairs.retain(|(key, _)| key != "min_bytes");
        pairs.push(("min_bytes".to_owned(), Value::size(bytes)));
        conf.carried(d, "compress.min_bytes");
    } else {
        conf.cached(d, "this is no size; the default of compress.min_bytes holds");
        return;
    }
    out.set("compress", Value::Table(pairs), &d.place);
}

fn error_page(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let path = d.args.last().map_or("", String::as_str);
    let statuses: Vec<u16> =
        d.args.iter().filter_map(|s| s.parse().ok()).filter(|n| (400..=599).contains(n)).collect();
    let changes = d.args.iter().any(|a| a.starts_with('='));
    if !path.starts_with('/') || path.contains('$') || statuses.is_empty() || changes {
        let text = "`error_pages` shows a page of the same site and keeps the status: visitors get Samovar's own error page";
        conf.breaks(d, text);
        return;
    }
    let mut pages = match out.get("error_pages") {
        Some(Value::Table(pages)) => pages.clone(),
        _ => Vec::new(),
    };
    for status in statuses.iter().map(u16::to_string) {
        pages.retain(|(known, _)| *known != status);
        pages.push((status, Value::text(path)));
    }
    out.set("error_pages", Value::Table(pages), &d.place);
    conf.carried(d, "error_pages");
}
