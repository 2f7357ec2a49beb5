//! mod_headers, mod_expires, mod_deflate: what is added to answers and requests, and what is compressed.

use super::directives::Conf;
use crate::note::Fate;
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{Select, Value, is_ours};
use samovar_rules::{FieldSide, refused_name};

/// A directive of these modules, if it is one.
pub(crate) fn directive(conf: &mut Conf<'_, '_>, d: &Directive, name: &str, select: &Select) -> bool {
    match name {
        "header" => header(conf, d, select),
        "requestheader" => request_header(conf, d, select),
        "expiresactive" => {
            conf.expires = d.arg(0).eq_ignore_ascii_case("on");
            conf.carried(d, "client_cache_control");
        }
        "expiresdefault" => expires(conf, d, d.args.join(" ").as_str(), select),
        "expiresbytype" => by_type(conf, d, select),
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
            None => conf.left(d, "a level is 1 to 9"),
        },
        _ if name.starts_with("deflate") || name.starts_with("brotli") => {
            conf.left(d, "how much memory a coding takes is Samovar's affair: `compress`, `[compression]`");
        }
        "filterdeclare" | "filterprovider" | "filterchain" | "setinputfilter" => {
            conf.left(d, "Samovar has no filters: `compress` says what is compressed");
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
        conf.left(d, "this is no field name");
        return;
    };
    if conditional && verb != "unset" {
        conf.left(d, "conditions on requests have no counterpart: give it a rule of its own");
        return;
    }
    if is_ours(&field) {
        conf.left(d, format!("{field} is Samovar's own to say"));
        return;
    }
    if verb == "unset" {
        conf.scope(select, &d.place).add("drop_fields", Value::Text(field), &d.place);
        conf.carried(d, "drop_fields");
        return;
    }
    let Some(value) = plain(value) else {
        conf.left(d, "values with variables have no counterpart here");
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
                conf.left(d, format!("{field} is not a rule's to change: {why}"));
                return;
            }
            // Field lines may be joined by commas (RFC 9110 §5.3), so adding a line and appending to one are the same.
            let edit = Value::table([(verb, Value::Text(field)), ("value", Value::Text(value))]);
            conf.scope(select, &d.place).add("response_fields", edit, &d.place);
            conf.carried(
                d,
                "response_fields, before the answer is kept, as mod_headers stands before mod_cache",
            );
        }
        _ => conf.left(d, "fields can be set, appended to and removed"),
    }
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
        conf.left(d, format!("Samovar sees to it: {why}"));
        return;
    }
    match (verb.as_str(), field, plain(d.arg(2))) {
        _ if conditional => {
            conf.left(d, "conditions on requests have no counterpart: give it a rule of its own")
        }
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
                false => conf.note(d, Fate::Unsafe, "its value has no counterpart: the field is taken out of the request, so that the client's own does not pass for it"),
            }
        }
        _ => {
            conf.left(d, "fields can be set, appended to and removed, with values that are the same for all")
        }
    }
}

/// A value without variables; `%%` is a percent sign.
fn plain(value: &str) -> Option<String> {
    let bare = value.replace("%%", "\u{1}");
    let clean = !bare.contains('%') && !bare.starts_with("expr=") && !bare.contains(['{', '}']);
    clean.then(|| spell::field_value(&bare.replace('\u{1}', "%")))?
}

/// `access plus 1 month 2 days`, `A3600`: seconds from the request on.
fn expires_seconds(text: &str) -> Option<u64> {
    let text = text.trim().trim_matches('"');
    if let Some(seconds) = text.strip_prefix('A').and_then(|t| t.parse::<u64>().ok()) {
        return Some(seconds);
    }
    let mut words = text.split_whitespace();
    if !matches!(words.next()?, "access" | "now") {
        return None;
    }
    let mut total: u64 = 0;
    let mut words = words.filter(|w| *w != "plus");
    while let Some(number) = words.next() {
        let number: u64 = number.parse().ok()?;
        let unit = words.next()?.trim_end_matches('s');
        let size = match unit {
            "second" => 1,
            "minute" => 60,
            "hour" => 3600,
            "day" => 86_400,
            "week" => 7 * 86_400,
            "month" => 30 * 86_400,
            "year" => 365 * 86_400,
            _ => return None,
        };
        total = total.checked_add(number.checked_mul(size)?)?;
    }
    Some(total)
}

fn expires(conf: &mut Conf<'_, '_>, d: &Directive, text: &str, select: &Select) {
    match expires_seconds(text) {
        Some(seconds) => {
            let told = Value::Text(format!("max-age={seconds}"));
            conf.scope(select, &d.place).set("client_cache_control", told, &d.place);
            conf.carried(d, format!("client_cache_control = \"max-age={seconds}\""));
        }
        None => conf.left(d, "a lifetime is counted from the request: \"access plus 1 hour\""),
    }
}

/// Extensions whose files have these types by the built-in table.
const TYPES: [(&str, &[&str]); 12] = [
    ("image/jpeg", &[".jpg", ".jpeg"]),
    ("image/jpg", &[".jpg", ".jpeg"]),
    ("image/png", &[".png"]),
    ("image/gif", &[".gif"]),
    ("image/webp", &[".webp"]),
    ("image/svg+xml", &[".svg"]),
    ("image/x-icon", &[".ico"]),
    ("text/css", &[".css"]),
    ("text/html", &[".html", ".htm"]),
    ("text/javascript", &[".js"]),
    ("application/javascript", &[".js"]),
    ("application/pdf", &[".pdf"]),
];

fn by_type(conf: &mut Conf<'_, '_>, d: &Directive, select: &Select) {
    let media = d.arg(0).to_ascii_lowercase();
    let known = TYPES.iter().find(|(name, _)| *name == media);
    let rest = d.args.iter().skip(1).map(String::as_str).collect::<Vec<_>>().join(" ");
    let extensions: Option<Vec<String>> =
        known.map(|(_, list)| list.iter().map(|e| (*e).to_owned()).collect());
    let inner = extensions.and_then(|list| super::sections::within(select, Select::extensions(list)));
    match inner {
        Some(inner) => expires(conf, d, &rest, &inner),
        None => conf.left(
            d,
            "rules select by extension: write `extension = [\"…\"]`, `client_cache_control = \"max-age=…\"`",
        ),
    }
}

fn by_filter(conf: &mut Conf<'_, '_>, d: &Directive, name: &str, select: &Select) {
    if !d.arg(0).to_ascii_uppercase().split(';').any(|f| f == "DEFLATE" || f == "BROTLI_COMPRESS") {
        conf.left(d, "Samovar has no filters");
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
            None => conf.left(d, "extensions are wanted"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_of_mod_expires() {
        assert_eq!(expires_seconds("access plus 1 hour"), Some(3600));
        assert_eq!(expires_seconds("now plus 1 day 2 hours"), Some(93_600));
        assert_eq!(expires_seconds("A3600"), Some(3600));
        assert_eq!((expires_seconds("modification plus 1 day"), expires_seconds("x")), (None, None));
    }
}
