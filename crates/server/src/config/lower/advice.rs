//! What is allowed but unwise, or changes nothing: warnings, and the contradictions between sizes.

use super::Work;
use super::rule::Scope;
use super::site::Takes;
use crate::config::diag::{Code, Diagnostic};
use crate::config::tree::{Checked, Node, Value};
use crate::config::units::show_duration;
use samovar_policy::LifetimeWish;
use samovar_rules::{Normalise, Rule, Site};

/// Parts of cookie names that nearly always mean somebody is logged in.
const SESSION_WORDS: [&str; 9] =
    ["sess", "auth", "token", "login", "jwt", "csrf", "xsrf", "remember", "user"];

/// Fields whose values are nearly all different, and what to do instead.
const WIDE_FIELDS: [(&str, Code, &str, &str); 4] = [
    (
        "cookie",
        Code::ManyVariants,
        "each combination of cookies gets an answer of its own",
        "name those that matter in `vary_cookies`, those that do not in `ignore_cookies`",
    ),
    (
        "authorization",
        Code::Privacy,
        "answers for somebody's credentials are kept",
        "leave them unstored: use `never` here",
    ),
    (
        "user-agent",
        Code::ManyVariants,
        "each browser version gets an answer of its own",
        "vary by a field with few values, or not at all",
    ),
    (
        "referer",
        Code::ManyVariants,
        "each page that links here gets an answer of its own",
        "leave it out of the key",
    ),
];

/// Keys that change nothing where nothing is stored.
const STORING: [&str; 15] = [
    "max_lifetime",
    "min_bytes",
    "max_bytes",
    "only_type",
    "only_status",
    "stale_while_revalidate",
    "stale_if_error",
    "stale_if_unreachable",
    "keep",
    "vary_headers",
    "compare_headers",
    "vary_query",
    "vary_cookies",
    "set_cookie",
    "admit_after",
];

/// Warns about a rule, or about a site's own policy.
pub(super) fn rule(scope: &Scope<'_>, rule: &Rule, work: &mut Work<'_>) {
    overrides(scope, work);
    cookies(scope, rule, work);
    fields(scope, work);
    sizes(scope.own, work);
    lifetimes(scope, rule, work);
    uploads(scope, rule, work);
    if rule.wishes.lifetime == LifetimeWish::Never && scope.own.has("never") {
        for key in STORING {
            if let Some(span) = scope.own.key_span(key) {
                let hint = "leave it out, or give the rule another lifetime policy";
                work.warning(
                    Code::NoEffect,
                    &span,
                    format!("`{key}` changes nothing: the rule says `never`"),
                    hint,
                );
            }
        }
    }
}

/// The limit of the whole server holds beside every other.
fn uploads(scope: &Scope<'_>, rule: &Rule, work: &mut Work<'_>) {
    let Some(span) = scope.own.key_span("body_max_bytes") else { return };
    if let Some(all) = work.body_max_bytes
        && rule.body_max_bytes.is_none_or(|own| own > all)
    {
        let message = "bodies may be no larger than `limits.body_max_bytes` all the same";
        let hint = "raise that one, and give sites and rules smaller limits where they need less";
        work.warning(Code::NoEffect, &span, message, hint);
    }
}

fn overrides(scope: &Scope<'_>, work: &mut Work<'_>) {
    // A site has no `override`; only rules may.
    if scope.site.is_none() {
        return;
    }
    for node in scope.own.get("override").map_or(&[][..], Node::list) {
        let Some(word) = node.text() else { continue };
        let message = match word {
            "no-store" => "the rule stores answers that the origin says must not be stored",
            "private" => "the rule stores answers that the origin says are for one user",
            "no-cache" => "the rule reuses answers that the origin wants to be asked about each time",
            "vary-star" => "the rule stores answers that depend on more than the request",
            "authorization" => "the rule shares answers to requests with credentials",
            "set-cookie" => "the rule stores answers that set cookies, without the cookie",
            "protected" => "the rule shares answers that it lets only some see",
            _ => "the rule shares answers to requests with cookies",
        };
        let private = matches!(word, "private" | "authorization" | "cookie" | "no-store" | "protected");
        let hint = if private {
            "make sure that what it selects is the same for every visitor"
        } else {
            "every trace of such an answer says so"
        };
        work.warning(Code::Override, &node.span, message, hint);
    }
}

fn cookies(scope: &Scope<'_>, rule: &Rule, work: &mut Work<'_>) {
    let for_all = matches!(
        rule.wishes.lifetime,
        LifetimeWish::For(_) | LifetimeWish::WhenSilent(_) | LifetimeWish::UntilChanged
    );
    for node in scope.own.get("ignore_cookies").map_or(&[][..], Node::list) {
        let Some(name) = node.text() else { continue };
        let lower = name.to_ascii_lowercase();
        if name == "*" && for_all {
            let hint = "name the cookies that do not matter; `@analytics` stands for the usual ones";
            work.warning(
                Code::Privacy,
                &node.span,
                "visitors share answers whatever cookies they send",
                hint,
            );
        } else if lower == "sid" || lower.ends_with(".sid") || SESSION_WORDS.iter().any(|w| lower.contains(w))
        {
            let message = format!("\"{name}\" looks like the cookie of a session, and would be ignored");
            let hint = "ignore it only if no page differs between visitors who have it";
            work.warning(Code::Privacy, &node.span, message, hint);
        }
    }
    let strip = scope.own.get("set_cookie").filter(|n| n.value == Value::Word("strip"));
    if let (Some(node), true) = (strip, for_all) {
        let hint = "an answer that sets a cookie is often made for one visitor; make sure these are not";
        work.warning(Code::Privacy, &node.span, "answers that set cookies are stored and shared", hint);
    }
}

fn fields(scope: &Scope<'_>, work: &mut Work<'_>) {
    for node in scope.own.get("vary_headers").map_or(&[][..], Node::list) {
        let name = node.text().or_else(|| node.table().and_then(|t| t.get("name")).and_then(Node::text));
        let Some(name) = name.map(str::to_ascii_lowercase) else { continue };
        if let Some((_, code, message, hint)) = WIDE_FIELDS.iter().find(|(f, ..)| *f == name) {
            work.warning(*code, &node.span, *message, *hint);
        }
    }
}

fn sizes(own: &Checked, work: &mut Work<'_>) {
    let (Some(min), Some(max)) = (own.get("min_bytes"), own.get("max_bytes")) else { return };
    if let (Some(least), Some(most)) = (min.value.amount(), max.value.amount())
        && least > most
    {
        let d = Diagnostic::error(
            Code::Contradiction,
            max.span.clone(),
            "no body is as large as `min_bytes` and as small as `max_bytes`",
        );
        work.notes.push(d.also(min.span.clone(), "the smallest").hint("exchange the two"));
    }
}

fn lifetimes(scope: &Scope<'_>, rule: &Rule, work: &mut Work<'_>) {
    let own = scope.own;
    if let (LifetimeWish::For(ms) | LifetimeWish::WhenSilent(ms), Some(max)) =
        (rule.wishes.lifetime, rule.wishes.lifetime_max_ms)
        && ms > max
        && let Some(node) = own.get("max_lifetime").or(own.get("for")).or(own.get("when_silent"))
    {
        let message = format!(
            "answers live {}, not {}: `max_lifetime` is shorter",
            show_duration(max),
            show_duration(ms)
        );
        work.warning(Code::NoEffect, &node.span, message, "raise `max_lifetime`, or shorten the lifetime");
    }
    let silent = matches!(rule.wishes.lifetime, LifetimeWish::WhenSilent(_));
    if let (Some(span), true, false) = (own.key_span("heuristic_first"), rule.wishes.heuristic_first, silent)
    {
        let message = "`heuristic_first` holds only beside `when_silent`";
        work.warning(Code::NoEffect, &span, message, "add `when_silent`, or take it out");
    }
    let watched = rule.wishes.lifetime == LifetimeWish::UntilChanged;
    if let (Some(span), false) = (own.key_span("globs"), watched) {
        work.warning(
            Code::NoEffect,
            &span,
            "`globs` are watched only with `until_changed`",
            "add `until_changed = true`",
        );
    }
    if let (Some(span), true) = (own.key_span("admit_period"), rule.admit_after <= 1) {
        work.warning(
            Code::NoEffect,
            &span,
            "`admit_period` changes nothing without `admit_after`",
            "add `admit_after = 2`",
        );
    }
    let stores = rule.methods.is_empty()
        || rule.methods.iter().any(|m| m == http::Method::GET || m == http::Method::HEAD);
    let wishes = !matches!(rule.wishes.lifetime, LifetimeWish::Respect | LifetimeWish::Never);
    if let (false, true, Some(span)) = (stores, wishes, own.key_span("method")) {
        work.warning(Code::NoEffect, &span, "only answers to GET and HEAD are stored", "add \"GET\"");
    }
}

/// Warns about keys of a site that change nothing.
pub(super) fn site(table: &Checked, site: &Site, takes: Takes, work: &mut Work<'_>) {
    if let (Some(span), false) = (table.key_span("upgrade"), takes.http) {
        let message =
            "`upgrade` is for HTTP upstreams: files and FastCGI applications cannot change the protocol";
        work.warning(Code::NoEffect, &span, message, "leave it out");
    }
    if !takes.files {
        for key in ["listing", "follow_links", "types", "index"] {
            if let (Some(span), false) = (table.key_span(key), table.has("files")) {
                work.warning(
                    Code::NoEffect,
                    &span,
                    format!("`{key}` is for files, and this site has none"),
                    "leave it out",
                );
            }
        }
    }
    if let (Some(span), false) = (table.key_span("map_location"), takes.http) {
        let message = "`map_location` is for upstreams, and this site has none";
        work.warning(Code::NoEffect, &span, message, "leave it out");
    }
    if let (Some(span), false) = (table.key_span("canonical_host"), site.default) {
        work.warning(
            Code::NoEffect,
            &span,
            "`canonical_host` is for default sites",
            "add `default = true`, or leave it out",
        );
    }
    ambiguous_paths(table, site, work);
    languages(site, table, work);
}

/// What is passed on is still held to every guard that it may be read as, but nobody knows all ways of reading.
fn ambiguous_paths(table: &Checked, site: &Site, work: &mut Work<'_>) {
    let Some(node) = table.get("ambiguous_paths") else { return };
    if !site.guards.any() {
        let message = "`ambiguous_paths` changes nothing: no rule of the site lets in only some, counts, or says `never`";
        work.warning(Code::NoEffect, &node.span, message, "leave it out");
    } else if node.text() == Some("pass") {
        let message = "paths that the origin may read as another rule's are sent on";
        let hint = "leave it out, unless the origin needs such paths; then guard them there, too";
        work.warning(Code::Exposure, &node.span, message, hint);
    }
}

/// A declared language twice is a slip that changes nothing.
fn languages(site: &Site, table: &Checked, work: &mut Work<'_>) {
    for rule in site.rules.iter().chain(std::iter::once(site.otherwise.as_ref())) {
        for header in &rule.vary_headers {
            if let Normalise::Languages(list) = &header.normalise
                && let Some(twice) = list
                    .iter()
                    .enumerate()
                    .find(|(i, l)| list.iter().take(*i).any(|e| e.eq_ignore_ascii_case(l)))
            {
                let message = format!("the language \"{}\" is listed twice in rule {}", twice.1, rule.id);
                work.warning(Code::NoEffect, &table.span, message, "keep one");
            }
        }
    }
}
