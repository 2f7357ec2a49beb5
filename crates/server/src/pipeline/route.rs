//! Routed: site, rule and key are known, and what the rule wishes for this target.

use super::arrive::{Arrived, RequestBody};
use super::coding;
use super::exchange::{Exchange, Route};
use super::held::{held_at, held_facts};
use super::page::Page;
use super::respond::Ready;
use super::upload;
use crate::state::{Snapshot, Target};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use samovar_cache::Cache;
use samovar_policy::{LifetimeWish, Wishes};
use samovar_reason::{Change, Coding, Explain, Lookup, Route as Why};
use samovar_rules::{CodingWish, HostStanding, RequestParts, Rewritten, Rule, Site, TargetId};
use samovar_trace::Fact;
use std::borrow::Cow;
use std::sync::Arc;

/// The second step.
pub struct Routed {
    pub(super) x: Box<Exchange>,
    pub(super) route: Route,
    pub(super) body: Option<RequestBody>,
    pub(super) body_bytes: Option<u64>,
}

/// Asks the rules. `Err` is an answer already: no site, a target that cannot be normalised.
pub(super) fn route(arrived: Arrived) -> Result<Routed, Box<Ready>> {
    let Arrived { mut x, body, body_bytes } = arrived;
    if x.of_the_server {
        return Err(Box::new(Ready::options(x)));
    }
    match route_as(&x, &x.method) {
        Ok((route, mut facts)) => {
            x.facts.append(&mut facts);
            if x.explains {
                let unkeyed = unkeyed(&x.core.shared.cache, &x.snapshot, &route, &x.headers);
                x.facts.extend(unkeyed);
            }
            if let Some(wish) = coding::refused(&x.snapshot, &route, &x.headers) {
                return Err(Box::new(refused(x, route, &wish)));
            }
            if x.headers.contains_key(header::IF_MATCH) && coding::wish_of(&x.snapshot, &route).is_some() {
                samovar_policy::plain_tags(&mut x.headers);
            }
            let body = match upload::within(&mut x, &route, body, body_bytes) {
                Ok(body) => body,
                Err(max_bytes) => return Err(Box::new(upload::refuse(x, route, max_bytes))),
            };
            Ok(Routed { x, route, body, body_bytes })
        }
        Err((why, detail)) => {
            let status = match why {
                Why::UnknownHost => StatusCode::MISDIRECTED_REQUEST,
                _ => StatusCode::BAD_REQUEST,
            };
            x.note(Fact::Site(why, detail.as_str().into()));
            let page = Page { status, code: why.code(), text: why.text(), mend: why.mend(), detail };
            Err(Box::new(Ready::page(x, None, page)))
        }
    }
}

/// The rule requires a coding, and the client takes none of them.
fn refused(mut x: Box<Exchange>, route: Route, wish: &CodingWish) -> Ready {
    x.note(Fact::Coding(Coding::Required, None));
    let mut ready = Ready::page(x, Some(route), coding::refusal(wish));
    let varies = HeaderMap::from_iter([(header::VARY, HeaderValue::from_static("Accept-Encoding"))]);
    ready.add_fields(varies);
    ready
}

/// Where a request goes, and by which key its answer would be stored, had it been made with `method`.
pub(super) fn route_as(x: &Exchange, method: &Method) -> Result<(Route, Vec<Fact>), (Why, String)> {
    let snapshot = &x.snapshot;
    let parts = RequestParts {
        method,
        scheme: x.client.scheme,
        host: x.asked_host(),
        listener_port: x.conn.port,
        path: x.uri.path(),
        query: x.uri.query(),
        headers: &x.headers,
    };
    let routed = samovar_rules::route_with(&snapshot.settings.sites, &parts, &|site, folder| {
        default_document(snapshot, site, folder)
    })?;
    let (mut route, facts) = settled(snapshot, routed);
    if route.learns_host {
        let standing = x.core.shared.host_standing(&route.host, x.at.mono_ms, true);
        pass_unlearned(&mut route, standing);
    }
    Ok((route, facts))
}

/// Keeps a request from the cache whose host could not be learned.
pub fn pass_unlearned(route: &mut Route, standing: HostStanding) {
    if standing == HostStanding::NotLearned {
        route.past_cache = route.past_cache.or(Some(Lookup::HostNotLearned));
    }
}

/// What the rules said, freed from the configuration it was read from, and its facts.
pub fn settled(snapshot: &Snapshot, routed: samovar_rules::Routed<'_>) -> (Route, Vec<Fact>) {
    // The position of a reference in the list it points into.
    let sites = &snapshot.settings.sites.sites;
    let site = sites.iter().position(|s| std::ptr::eq(s, routed.site)).unwrap_or_default();
    let rule = routed.site.rules.iter().position(|r| std::ptr::eq(r, routed.rule));
    let mut facts = vec![
        Fact::Site(routed.site_reason, routed.site.name.clone()),
        Fact::Rule(
            routed.rule_reason,
            routed.rule.id.clone(),
            routed.beaten.into_iter().map(Arc::clone).collect(),
        ),
        Fact::Key(Arc::clone(&routed.key.0)),
    ];
    facts.extend(routed.document.map(Fact::Document));
    facts.extend(held_facts(&routed.held));
    let rewritten = routed.rewritten.map(Arc::new);
    if let Some(to) = &rewritten {
        facts.push(rewritten_fact(to));
    }
    let asked_path = rewritten.as_ref().map_or(&routed.path, |to| &to.path);
    let relevant_cookies =
        routed.relevant_cookies && !is_of_files_alone(snapshot, routed.site, routed.target, asked_path);
    let past_cache = past_cache(routed.past_cache, relevant_cookies);
    if relevant_cookies {
        facts.push(Fact::Cookies(routed.relevant_cookie_names));
    }
    let route = Route {
        site,
        rule,
        held: held_at(routed.site, &routed.held),
        target: routed.target,
        host: routed.host,
        path: routed.path,
        query: routed.query,
        rewritten,
        key: routed.key.0,
        relevant_cookies,
        learns_host: routed.learns_host,
        overrides_method: routed.overrides_method,
        past_cache,
    };
    (route, facts)
}

/// Inputs of the request that reach the origin and that no stored response is told apart by, for `explain`.
pub fn unkeyed(cache: &Cache, snapshot: &Snapshot, route: &Route, headers: &HeaderMap) -> Option<Fact> {
    let rule = route.rule_in(snapshot)?;
    let parts = RequestParts {
        method: &Method::GET,
        scheme: "http",
        host: &route.host,
        listener_port: 0,
        path: &route.path,
        query: route.query.as_deref(),
        headers,
    };
    let url = route.key.split('\n').next().unwrap_or_default();
    let mut varied = Vec::new();
    for entry in cache.of_url(url).iter().filter(|entry| entry.key() == &*route.key) {
        varied.extend(entry.vary().iter().map(|(name, _)| name.clone()));
    }
    let unkeyed = samovar_rules::unkeyed(rule, &parts, &varied);
    (!unkeyed.is_empty()).then_some(Fact::Unkeyed(unkeyed))
}

/// The default document of a folder of the site's files, by its name in `index`: a few system calls, as for a file.
pub fn default_document<'s>(snapshot: &Snapshot, site: &'s Site, folder: &str) -> Option<&'s str> {
    let Target::Files(target) = &**snapshot.target(site.fallback)? else { return None };
    let at = target.files.default_document(folder, &site.index)?;
    site.index.get(at).map(String::as_str)
}

/// Why a request goes past the cache for what it has too many of; cookies that no file reads do not count.
fn past_cache(why: Option<Lookup>, relevant_cookies: bool) -> Option<Lookup> {
    why.filter(|why| relevant_cookies || *why != Lookup::TooManyCookies)
}

/// What the origin is asked for instead, told.
fn rewritten_fact(to: &Rewritten) -> Fact {
    let query = to.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
    Fact::Change(Change::Rewritten, samovar_trace::redact_url(&format!("{}{query}", to.path)))
}

/// Whether nothing but a file can answer: no script is named in the path, nor can one be a folder's index. A file
/// does not read cookies, so they do not matter.
pub fn is_of_files_alone(snapshot: &Snapshot, site: &Site, target: TargetId, path: &str) -> bool {
    // A rule may send a request elsewhere though the site has files.
    let elsewhere = matches!(snapshot.target(target).map(|t| &**t), Some(Target::Http(_)));
    let files = matches!(snapshot.target(site.fallback).map(|t| &**t), Some(Target::Files(_)));
    let scripted = !site.handlers.is_empty()
        && (path.ends_with('/')
            || site.handlers.iter().any(|(extension, _)| path.to_ascii_lowercase().contains(extension)));
    files && !elsewhere && !scripted
}

/// How often files that cannot be watched are looked at, ms.
const UNWATCHED_MS: u64 = 1_000;

/// What the rule wishes: for files if the answer is made of one, else for whatever the route goes to. "Until it
/// changes" holds only where changes are told.
pub fn wishes_for<'s>(snapshot: &'s Snapshot, route: &Route, of_files: bool) -> Cow<'s, Wishes> {
    let (Some(site), Some(rule)) = (route.site_in(snapshot), route.rule_in(snapshot)) else {
        return Cow::Owned(Wishes { lifetime: LifetimeWish::Never, ..Wishes::default() });
    };
    let excluded = |rule: &Rule| rule.wishes.lifetime == LifetimeWish::Never;
    if route.held_in(snapshot).any(excluded) {
        return Cow::Owned(Wishes { lifetime: LifetimeWish::Never, ..rule.wishes.clone() });
    }
    let rule = if of_files { snapshot.settings.rule_for(site, rule, site.fallback) } else { rule };
    if rule.wishes.lifetime != LifetimeWish::UntilChanged || snapshot.tells_changes(route, of_files) {
        return Cow::Borrowed(&rule.wishes);
    }
    let mut wishes = rule.wishes.clone();
    wishes.lifetime = LifetimeWish::For(UNWATCHED_MS);
    Cow::Owned(wishes)
}
