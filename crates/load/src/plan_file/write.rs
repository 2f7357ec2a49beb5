//! A scenario and its settings as a plan in TOML, laid out as a person would.
//!
//! What most requests have in common stands in `[request]`, and what goes without saying is not said. Not here: reading.

use super::step::{MANNERS, METHODS, Named, split};
use super::{template, time};
use crate::wcat::common::{common, own};
use crate::wcat::{
    Counter, Field, Manner, Part, Request, Scenario, Settings, Step, Transaction, Value, Version, constant,
    name_of,
};
use std::fmt::Write as _;

/// Longer than this a step's entries stand on lines of their own.
const LINE_MAX: usize = 110;

/// Writes a plan.
pub fn write(scenario: &Scenario, settings: &Settings) -> String {
    let mut out = String::new();
    let run = run(scenario, settings);
    if !run.is_empty() {
        let _ = writeln!(out, "[run]\n{run}");
    }
    for group in settings.counters.chunk_by(|a, b| (&a.host, a.interval_s) == (&b.host, b.interval_s)) {
        counters(group, &mut out);
    }
    let common = common(scenario, Request::plain());
    let entries = of_request(&common, &Request::plain());
    if !entries.is_empty() {
        out.push_str("[request]\n");
        for (name, value) in entries {
            let _ = writeln!(out, "{name} = {value}");
        }
        out.push('\n');
    }
    for (at, transaction) in scenario.transactions.iter().enumerate() {
        round(transaction, at + 1, &common, &mut out);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// The lines of `[run]`.
fn run(scenario: &Scenario, settings: &Settings) -> String {
    let mut out = String::new();
    let mut say = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = writeln!(out, "{name} = {value}");
        }
    };
    let text = |text: &str| (!text.is_empty()).then(|| quoted(text));
    let a_time = |ms: Option<u64>| ms.map(|ms| quoted(&time::write(ms)));
    say("name", text(&scenario.name));
    say("comment", text(&settings.comment));
    say("server", list(&settings.servers));
    say("machines", settings.clients.map(|n| n.to_string()));
    let steps = |(from, to, by)| format!("{{ from = {from}, to = {to}, by = {by} }}");
    say("machine_steps", settings.steps.map(steps));
    say("clients", settings.virtual_clients.map(|n| n.to_string()));
    say("bind", list(&settings.bind));
    say("warmup", a_time(scenario.warmup_ms));
    say("duration", a_time(scenario.duration_ms));
    say("cooldown", a_time(scenario.cooldown_ms));
    say("most_per_second", scenario.throttle_per_s.map(|n| n.to_string()));
    say("think", a_time(Some(settings.think_ms).filter(|ms| *ms > 0)));
    out
}

/// A text, or a list of texts; nothing of none.
fn list(texts: &[String]) -> Option<String> {
    match texts {
        [] => None,
        [one] => Some(quoted(one)),
        all => Some(format!("[{}]", all.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))),
    }
}

fn counters(group: &[Counter], out: &mut String) {
    let Some(first) = group.first() else { return };
    out.push_str("[[run.counters]]\n");
    if !first.host.is_empty() {
        let _ = writeln!(out, "host = {}", quoted(&first.host));
    }
    let paths: Vec<String> = group.iter().map(|counter| counter.path.clone()).collect();
    let _ =
        writeln!(out, "every = \"{}s\"\npaths = {}\n", first.interval_s, list(&paths).unwrap_or_default());
}

fn round(transaction: &Transaction, number: usize, common: &Request, out: &mut String) {
    out.push_str("[[round]]\n");
    if transaction.id != format!("round {number}") {
        let _ = writeln!(out, "name = {}", quoted(&transaction.id));
    }
    if transaction.weight != 1 {
        let _ = writeln!(out, "weight = {}", transaction.weight);
    }
    out.push_str("steps = [\n");
    let named = Named::new(&transaction.steps, &[]);
    for (at, step) in transaction.steps.iter().enumerate() {
        let entries = match step {
            Step::Request(request) => of_step(request, at, common),
            Step::Sleep(delay) => vec![("pause", pause(delay))],
            Step::Branch(targets) => vec![("goto", goto(targets, &transaction.steps, &named))],
            Step::Close(manner) => vec![("connection", of_manner(*manner))],
        };
        match entries.as_slice() {
            [("get", url)] => {
                let _ = writeln!(out, "  {url},");
            }
            entries => {
                let each: Vec<String> =
                    entries.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                let line = format!("  {{ {} }},", each.join(", "));
                let line = match line.chars().count() > LINE_MAX && each.len() > 1 {
                    true => format!("  {{\n    {},\n  }},", each.join(",\n    ")),
                    false => line,
                };
                let _ = writeln!(out, "{line}");
            }
        }
    }
    out.push_str("]\n\n");
}

fn of_step(request: &Request, at: usize, common: &Request) -> Vec<(&'static str, String)> {
    let url = quoted(&template::write(&request.url));
    let method = METHODS.iter().find(|method| method.to_ascii_uppercase() == request.verb);
    let mut entries = match method {
        Some(method) => vec![(*method, url)],
        None => vec![("method", quoted(&request.verb)), ("url", url)],
    };
    if request.id != name_of(&request.url, at) {
        entries.push(("name", quoted(&request.id)));
    }
    entries.extend(of_request(request, common));
    entries.extend(request.body.as_ref().map(|body| ("body", quoted(&template::write(body)))));
    entries
}

/// What a request says beside what goes without saying.
fn of_request(request: &Request, common: &Request) -> Vec<(&'static str, String)> {
    let mut entries = Vec::new();
    let mut say = |name, is_said: bool, value: String| {
        if is_said {
            entries.push((name, value));
        }
    };
    let version = match request.version {
        Version::Http10 => "\"1.0\"",
        Version::Http11 => "\"1.1\"",
    };
    say("version", request.version != common.version, version.to_owned());
    let status = request.status.map_or("\"any\"".to_owned(), |status| status.to_string());
    say("expect", request.status != common.status, status);
    if let Some(server) = &request.server {
        say("server", request.server != common.server, quoted(&template::write(server)));
    }
    if let Some(port) = request.port {
        say("port", request.port != common.port, port.to_string());
    }
    say("tls", request.secure != common.secure, request.secure.to_string());
    say("cookies", request.cookies != common.cookies, request.cookies.to_string());
    say("redirects", request.redirect != common.redirect, request.redirect.to_string());
    say("connection", request.close != common.close, of_manner(request.close));
    let own = own(&request.fields, &common.fields).unwrap_or_default();
    let fields: Vec<String> = own.iter().map(field).collect();
    say("header", !own.is_empty(), format!("[{}]", fields.join(", ")));
    entries
}

fn of_manner(manner: Manner) -> String {
    let word = MANNERS.iter().find(|(_, known)| *known == manner).map_or("keep", |(word, _)| *word);
    format!("\"{word}\"")
}

/// In one line where that says the same.
fn field(field: &Field) -> String {
    let (name, value) = (template::write(&field.name), template::write(&field.value));
    let line = match value.is_empty() {
        true => format!("{name}:"),
        false => format!("{name}: {value}"),
    };
    let read = template::read(&line).ok().and_then(|line| split(&line));
    match (read == Some((field.name.clone(), field.value.clone())), field.replaces) {
        (true, true) => quoted(&line),
        (true, false) => format!("{{ add = {} }}", quoted(&line)),
        (false, replaces) => {
            let add = if replaces { "" } else { ", add = true" };
            format!("{{ name = {}, value = {}{add} }}", quoted(&name), quoted(&value))
        }
    }
}

fn pause(delay: &Value) -> String {
    match delay.as_slice() {
        [Part::Random(low, high)] => {
            format!("[{}, {}]", quoted(&time::write(*low)), quoted(&time::write(*high)))
        }
        _ => {
            let ms = constant(delay).and_then(|text| text.trim().parse().ok()).unwrap_or_default();
            quoted(&time::write(ms))
        }
    }
}

/// Steps by their names where these are theirs alone, else by number.
fn goto(targets: &[(usize, u64)], steps: &[Step], named: &Named<'_>) -> String {
    let name_of = |at: usize| match steps.get(at) {
        Some(Step::Request(request)) => Some(request.id.as_str()).filter(|name| named.is_one(name)),
        _ => None,
    };
    let one = |at: usize| name_of(at).map_or_else(|| (at + 1).to_string(), quoted);
    if let [(at, 1)] = targets {
        return one(*at);
    }
    let is_told_once = |at: usize| targets.iter().filter(|(other, _)| *other == at).count() == 1;
    if !targets.is_empty() && targets.iter().all(|(at, _)| name_of(*at).is_some() && is_told_once(*at)) {
        let each = targets
            .iter()
            .map(|(at, weight)| format!("{} = {weight}", key(name_of(*at).unwrap_or_default())));
        return format!("{{ {} }}", each.collect::<Vec<_>>().join(", "));
    }
    let each = targets.iter().map(|(at, weight)| format!("{{ to = {}, weight = {weight} }}", one(*at)));
    format!("[{}]", each.collect::<Vec<_>>().join(", "))
}

/// A name as a key of TOML.
fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// A text as TOML, as it is where that is possible.
fn quoted(text: &str) -> String {
    let has = |c: char| text.contains(c);
    if (has('"') || has('\\')) && !text.contains(|c: char| c == '\'' || (c.is_control() && c != '\t')) {
        return format!("'{text}'");
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
