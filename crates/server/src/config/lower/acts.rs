//! What a rule does beside caching, from its table and its site's; with what is unwise in it or changes nothing.
//!
//! A key that a rule does not write is its site's, so that what a site protects stays protected under its rules. Not here:
//! what the values do (`rules::acts`).

use super::rule::Scope;
use super::site::Takes;
use super::{Named, Work, absolute};
use crate::config::diag::{Code, Diagnostic};
use crate::config::format_acts::{names_asker, stars_of};
use crate::config::net;
use crate::config::tree::{Checked, Node, Span, Value};
use http::{HeaderName, HeaderValue, StatusCode};
use samovar_policy::LifetimeWish;
use samovar_rules::{
    Access, Acts, Addresses, BasicAuth, FieldEdit, FieldSide, PathGlob, Rate, RateBy, Redirect, Rule, Stars,
    Statuses, Template, Var, Vars, refused_field,
};
use std::path::PathBuf;
use std::sync::Arc;

/// The keys that make a rule more than a wish for the cache.
const KEYS: [&str; 12] = [
    "allow",
    "deny",
    "rate",
    "basic_auth",
    "redirect",
    "rewrite",
    "request_fields",
    "response_fields",
    "client_fields",
    "error_pages",
    "map_cookie_path",
    "map_cookie_domain",
];

/// What the rule does; `None` if nothing.
pub(super) fn acts(scope: &Scope<'_>, glob: Option<&PathGlob>, work: &mut Work<'_>) -> Option<Arc<Acts>> {
    if KEYS.iter().all(|key| scope.node(key).is_none()) {
        return None;
    }
    let mut acts = Acts {
        access: access(scope),
        rate: scope.node("rate").and_then(Node::table).map(|table| rate(table, scope)),
        users: users(scope, work),
        shares: shares(scope.own, scope.site.is_some()),
        redirect: redirect(scope, work),
        rewrite: scope.node("rewrite").and_then(Node::text).and_then(|text| Template::new(text).ok()),
        request_fields: fields(scope, "request_fields", FieldSide::Request, work),
        response_fields: fields(scope, "response_fields", FieldSide::Response, work),
        client_fields: fields(scope, "client_fields", FieldSide::Client, work),
        error_pages: pairs(scope, "error_pages")
            .into_iter()
            .filter_map(|(of, path)| Some((Statuses::new(&of)?, path)))
            .collect(),
        cookie_paths: pairs(scope, "map_cookie_path"),
        cookie_domains: pairs(scope, "map_cookie_domain"),
        stars: None,
    };
    acts.stars = stars(scope, glob, work);
    let none = acts.access.is_none() && acts.rate.is_none() && acts.users.is_none();
    let none = none && acts.redirect.is_none() && acts.rewrite.is_none() && acts.error_pages.is_empty();
    let none = none && acts.request_fields.is_empty() && acts.response_fields.is_empty();
    let none = none
        && acts.client_fields.is_empty()
        && acts.cookie_paths.is_empty()
        && acts.cookie_domains.is_empty();
    (!none).then(|| Arc::new(acts))
}

fn addresses(scope: &Scope<'_>, key: &str) -> Addresses {
    let mut found = Addresses::default();
    for text in scope.node(key).map_or(&[][..], Node::list).iter().filter_map(Node::text) {
        match net::parse_network(text) {
            Ok(network) => found.networks.push(network),
            // The only other word that the key takes.
            Err(_) => found.unix |= text == "unix",
        }
    }
    found
}

fn access(scope: &Scope<'_>) -> Option<Access> {
    let access = Access { allow: addresses(scope, "allow"), deny: addresses(scope, "deny") };
    (!access.allow.is_empty() || !access.deny.is_empty()).then_some(access)
}

fn rate(table: &Checked, scope: &Scope<'_>) -> Rate {
    let requests = table.value("requests").as_ref().and_then(Value::amount).unwrap_or(1);
    let by = table.value("by").as_ref().and_then(Value::text).and_then(RateBy::new);
    Rate {
        requests,
        per_ms: table.value("per").as_ref().and_then(Value::amount).unwrap_or(1_000),
        burst: table.value("burst").as_ref().and_then(Value::amount).unwrap_or(requests),
        by: by.unwrap_or(RateBy::Client),
        of_site: scope.site.is_none() || scope.own.get("rate").is_none(),
    }
}

/// The file of a table's `basic_auth`.
pub(super) fn users_file(table: &Checked, base: &std::path::Path) -> Option<PathBuf> {
    Some(absolute(base, table.get("basic_auth")?.table()?.get("users")?.text()?))
}

fn users(scope: &Scope<'_>, work: &mut Work<'_>) -> Option<BasicAuth> {
    let node = scope.node("basic_auth")?;
    if node.value == Value::Bool(true) {
        let hint = "`basic_auth = { users = \"FILE\" }`; `false` is for a rule whose site asks";
        work.error(Code::MissingKey, &node.span, "`basic_auth = true` names no users", hint);
    }
    let table = node.table()?;
    let file = table.get("users")?;
    let users = absolute(&work.around.base, file.text()?);
    if !work.files.iter().any(|named: &Named| named.path == users) {
        work.files.push(Named { path: users.clone(), span: file.span.clone(), key: "users" });
    }
    let realm = table.value("realm").as_ref().and_then(Value::text).unwrap_or("Restricted").to_owned();
    // RFC 7617 §2.1: names and passwords are UTF-8.
    let challenge = HeaderValue::from_str(&format!("Basic realm=\"{realm}\", charset=\"UTF-8\"")).ok()?;
    Some(BasicAuth { challenge, realm, users, pass: table.bool("pass").unwrap_or(false) })
}

fn shares(own: &Checked, is_rule: bool) -> bool {
    is_rule && own.get("override").is_some_and(|node| node.value.texts().contains(&"protected"))
}

fn redirect(scope: &Scope<'_>, work: &mut Work<'_>) -> Option<Redirect> {
    let table = scope.node("redirect")?.table()?;
    let to = Template::new(table.get("to")?.text()?).ok()?;
    let number = table.value("status").as_ref().and_then(Value::amount).unwrap_or(302);
    if let (304..=306, Some(node)) = (number, table.get("status")) {
        let hint =
            "301 and 308 for good, 302 and 307 for now; 307 and 308 keep the method; 303 makes it a GET";
        work.error(Code::BadValue, &node.span, format!("{number} sends nobody anywhere"), hint);
    }
    let status = u16::try_from(number).ok().and_then(|n| StatusCode::from_u16(n).ok())?;
    Some(Redirect { to, status })
}

fn pairs(scope: &Scope<'_>, key: &str) -> Vec<(String, String)> {
    match scope.node(key).map(|node| &node.value) {
        Some(Value::Map(pairs)) => pairs
            .iter()
            .filter_map(|(name, _, value)| Some((name.clone(), value.text()?.to_owned())))
            .collect(),
        _ => Vec::new(),
    }
}

fn fields(scope: &Scope<'_>, key: &str, side: FieldSide, work: &mut Work<'_>) -> Vec<FieldEdit> {
    let Some(node) = scope.node(key) else { return Vec::new() };
    // What the site wrote was complained of with the site.
    let own = scope.own.get(key).is_some();
    let mut all = Vec::new();
    for node in node.list() {
        let Some(table) = node.table() else { continue };
        match field(table, &node.span) {
            Ok(edit) => {
                if let (Some(why), true) = (refused_field(side, &edit), own) {
                    let message = format!("`{key}` may not touch {}", edit.name());
                    work.error(Code::BadValue, &node.span, message, why);
                }
                all.push(edit);
            }
            Err(Some(diagnostic)) if own => work.notes.push(*diagnostic),
            Err(_) => {}
        }
    }
    all
}

fn field(table: &Checked, span: &Span) -> Result<FieldEdit, Option<Box<Diagnostic>>> {
    let wrong = |code, message: &str, hint: &str| {
        Some(Box::new(Diagnostic::error(code, span.clone(), message.to_owned()).hint(hint)))
    };
    let written: Vec<&str> = ["set", "append", "remove"].into_iter().filter(|key| table.has(key)).collect();
    let [word] = written.as_slice() else {
        let hint = "`{ set = \"X-A\", value = \"…\" }`, `{ append = \"X-B\", value = \"…\" }` or `{ remove = \"X-C\" }`";
        return Err(wrong(Code::Contradiction, "a change sets, appends or removes one field", hint));
    };
    let name =
        table.get(word).and_then(Node::text).and_then(|text| HeaderName::from_bytes(text.as_bytes()).ok());
    // A name or value that cannot be used was complained of where it stands.
    let name = name.ok_or(None)?;
    let value = match table.get("value") {
        Some(node) => Some(node.text().and_then(|text| Template::new(text).ok()).ok_or(None)?),
        None => None,
    };
    match (*word, value) {
        ("remove", None) => Ok(FieldEdit::Remove(name)),
        ("remove", Some(_)) => {
            Err(wrong(Code::Contradiction, "what is removed has no `value`", "leave one of the two out"))
        }
        (_, None) => Err(wrong(Code::MissingKey, "`value` is missing", "for example `value = \"on\"`")),
        ("set", Some(value)) => Ok(FieldEdit::Set(name, value)),
        (_, Some(value)) => Ok(FieldEdit::Append(name, value)),
    }
}

/// The texts of a rule in which stars may be named, with their places.
fn texts<'s>(scope: &'s Scope<'_>) -> Vec<(&'s str, &'s Span)> {
    let mut all = Vec::new();
    all.extend(scope.node("rewrite").and_then(|node| Some((node.text()?, &node.span))));
    let to = scope.node("redirect").and_then(Node::table).and_then(|table| table.get("to"));
    all.extend(to.and_then(|node| Some((node.text()?, &node.span))));
    for key in ["request_fields", "response_fields", "client_fields"] {
        let tables = scope.node(key).map_or(&[][..], Node::list).iter().filter_map(Node::table);
        all.extend(
            tables.filter_map(|table| table.get("value")).filter_map(|node| Some((node.text()?, &node.span))),
        );
    }
    all
}

/// How stars are found, if any text names one; a star that the rule's path does not have is an error.
fn stars(scope: &Scope<'_>, glob: Option<&PathGlob>, work: &mut Work<'_>) -> Option<Stars> {
    let named = texts(scope);
    let highest = named.iter().map(|(text, _)| stars_of(text)).max().unwrap_or(0);
    if highest == 0 {
        return None;
    }
    let (stars, why) = match glob.map(Stars::of) {
        Some(Ok(stars)) => (Some(stars), String::new()),
        Some(Err(why)) => (None, why),
        None => (None, "there is no `path` with stars here".to_owned()),
    };
    let count = stars.as_ref().map_or(0, Stars::count);
    let wrong: Vec<(usize, Span)> = named
        .iter()
        .map(|(text, span)| (stars_of(text), (*span).clone()))
        .filter(|(number, _)| *number > count)
        .collect();
    for (number, span) in wrong {
        let what = match why.as_str() {
            "" => format!("the rule's `path` has {count} stars"),
            why => why.to_owned(),
        };
        let hint = "each `*` and `**` of `path` counts, from the left: {1} is the first";
        work.error(Code::Unmet, &span, format!("{{{number}}} stands for nothing: {what}"), hint);
    }
    stars
}

/// Warns of what is unwise or changes nothing.
pub(super) fn advice(scope: &Scope<'_>, rule: &Rule, takes: Takes, work: &mut Work<'_>) {
    let own = scope.own;
    let Some(acts) = rule.acts.as_deref() else { return };
    overrides(scope, acts, work);
    if let Some(redirect) = &acts.redirect {
        circle(scope, rule, redirect, work);
        for key in ["rewrite", "request_fields", "response_fields", "map_cookie_path", "map_cookie_domain"] {
            no_effect(own, key, "the rule's `redirect` answers before the origin is asked", work);
        }
    }
    let hot = own.get("hot").filter(|node| node.value == Value::Bool(true));
    if let (Some(node), true) = (hot, acts.gates() || acts.client_fields_differ()) {
        let why = match acts.gates() {
            true => "the rule looks at each request, which the hot tier cannot",
            false => "`client_fields` differ from request to request",
        };
        let hint = "leave it out, or take what each request is asked into a rule of its own";
        work.warning(Code::NoEffect, &node.span, format!("nothing becomes hot: {why}"), hint);
    }
    let stores = rule.wishes.lifetime != LifetimeWish::Never && !acts.unshared() && acts.redirect.is_none();
    let asker_named = |node: &&Node| {
        let value = node.table().and_then(|table| table.get("value")).and_then(Node::text);
        value.and_then(|text| Template::new(text).ok()).is_some_and(|template| names_asker(&template))
    };
    if stores {
        for node in own.get("response_fields").map_or(&[][..], Node::list).iter().filter(asker_named) {
            let hint = "`client_fields` are written for each client; or use `never` here";
            let message = "who asks would be stored with the answer, and shown to everybody who gets it";
            work.error(Code::Contradiction, &node.span, message, hint);
        }
        for node in own.get("request_fields").map_or(&[][..], Node::list).iter().filter(asker_named) {
            let hint =
                "the origin can say `private` or `no-store` for what depends on it; or use `never` here";
            let message = "the origin is told who asks, and its answer may be stored for others";
            work.warning(Code::Privacy, &node.span, message, hint);
        }
    }
    for key in ["request_fields", "response_fields", "client_fields"] {
        let nodes = own.get(key).map_or(&[][..], Node::list).iter();
        for node in nodes.filter_map(|node| node.table()?.get("value")) {
            let template = node.text().and_then(|text| Template::new(text).ok());
            let user = template.as_ref().is_some_and(|t| t.vars().any(|var| var == Var::User));
            if user && acts.users.is_none() {
                let hint = "add `basic_auth`, or leave it out";
                work.warning(Code::NoEffect, &node.span, "{user} is nobody without `basic_auth`", hint);
            }
        }
    }
    told_to_caches(own, work);
    if !takes.http && !takes.handlers {
        for key in ["map_cookie_path", "map_cookie_domain"] {
            no_effect(own, key, "files set no cookies", work);
        }
    }
}

fn overrides(scope: &Scope<'_>, acts: &Acts, work: &mut Work<'_>) {
    if acts.protects() || scope.site.is_none() {
        return;
    }
    for node in scope.own.get("override").map_or(&[][..], Node::list) {
        if node.text() == Some("protected") {
            let hint = "leave it out, or add `allow`, `deny` or `basic_auth`";
            work.warning(Code::NoEffect, &node.span, "the rule protects nothing", hint);
        }
    }
}

/// A redirect to what the rule itself selects.
fn circle(scope: &Scope<'_>, rule: &Rule, redirect: &Redirect, work: &mut Work<'_>) {
    let sample = Vars { stars: vec!["x".to_owned(); 99], path: "/x".to_owned(), ..Vars::default() };
    let Some(to) = redirect.location(&sample).and_then(|to| to.to_str().ok().map(str::to_owned)) else {
        return;
    };
    let path = to.split(['?', '#']).next().unwrap_or(&to);
    let takes = rule.path.as_ref().is_none_or(|glob| glob.matches(path)) && rule.extensions.is_empty();
    if let (true, true, Some(span)) = (path.starts_with('/'), takes, scope.own.key_span("redirect")) {
        let hint = "let `path` leave out what it leads to";
        work.warning(
            Code::Contradiction,
            &span,
            format!("clients go in circles: the rule takes {path} too"),
            hint,
        );
    }
}

fn no_effect(own: &Checked, key: &str, why: &str, work: &mut Work<'_>) {
    if let Some(span) = own.key_span(key) {
        work.warning(Code::NoEffect, &span, format!("`{key}` changes nothing: {why}"), "leave it out");
    }
}

/// Caches behind us believe what an answer says, whoever it was for.
fn told_to_caches(own: &Checked, work: &mut Work<'_>) {
    for node in own.get("client_fields").map_or(&[][..], Node::list) {
        let Some(table) = node.table() else { continue };
        let name = ["set", "append"].into_iter().find_map(|key| table.get(key)).and_then(Node::text);
        let value = table.get("value").and_then(Node::text).unwrap_or("").to_ascii_lowercase();
        let closed = ["no-store", "private", "no-cache"].iter().any(|word| value.contains(word));
        if name.is_some_and(|name| name.eq_ignore_ascii_case("cache-control")) && !closed {
            let hint = "`client_cache_control` says it only of what is shared here";
            let message = "caches behind this one are told so of every answer, one client's own too";
            work.warning(Code::Privacy, &node.span, message, hint);
        }
    }
}
