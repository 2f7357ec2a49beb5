//! From a request's head to its site, its rule and its key.
//!
//! Sites: the exact host first, then the longest wildcard, then the default site; among equals one that names the
//! listener's port, then file order. Rules: the first in file order that matches. Not here: whether the answer is
//! stored or reused (`policy`), how an index document is found (`origin::files`).

use crate::acts::Rewritten;
use crate::cookies::relevant_cookies;
use crate::guards::adds;
use crate::host::normalise_host;
use crate::key::{self, Place};
use crate::path::{extension, last_segment, normalise_path};
use crate::query::{self, too_many_variables};
use crate::readings;
use crate::template::Vars;
use crate::types::{PathGlob, RequestParts, Routed, Rule, Site, Sites, TargetId};
use http::{HeaderName, Method};
use samovar_policy::Claim;
use samovar_reason::{Explain, Lookup, Route};
use std::fmt::Write as _;
use std::sync::Arc;

/// Where a request goes and under which key.
///
/// # Errors
/// `UnknownHost` (421), or `BadTarget`, `AmbiguousPath` or `TooManyReadings` (400), with a sentence that says which part and why.
pub fn route<'s>(sites: &'s Sites, parts: &RequestParts<'_>) -> Result<Routed<'s>, (Route, String)> {
    route_with(sites, parts, &|_, _| None)
}

/// As [`route`]; rules hold for a folder, too, whose default document they match. `document` is asked only where it can make
/// a difference, with the site and the folder's normalised path, and gives the name from `index` of the document that is
/// there.
///
/// # Errors
/// As [`route`].
pub fn route_with<'s>(
    sites: &'s Sites,
    parts: &RequestParts<'_>,
    document: &Document<'s, '_>,
) -> Result<Routed<'s>, (Route, String)> {
    let scheme = settled_scheme(parts.scheme)?;
    let (site, site_reason, host) = choose_site(sites, parts, scheme)?;
    let learns_host =
        site_reason == Route::SiteByDefault && site.canonical_host.is_empty() && !parts.host.is_empty();
    let path = normalise_path(parts.path)
        .map_err(|reject| (Route::BadTarget, format!("{}: {:?}", reject.text(), parts.path)))?;
    check_query(parts.query)?;
    site.guards.check(parts.path)?;
    let compared = readings::compared(&path);
    let facts = PathFacts::of(&compared, parts.method);
    let (rule, rule_reason, beaten, document) = choose_with_document(site, &facts, document);
    let claims = Claims::of(parts, rule);
    let held = site.guards.held(
        &path,
        (parts.method, claims.method),
        rule,
        &site.rules,
        |reading, method, globs| {
            let facts = PathFacts::of(reading, method);
            first_rule(site, |at, rule| match globs {
                Some(globs) => facts.matches_by(rule, globs.get(at).and_then(Option::as_ref)),
                None => facts.matches(rule),
            })
        },
    )?;
    let rewritten = rewritten(rule, parts, scheme, &host, &path)?;
    // What runs a script is told by the path that the origin is asked for.
    let asked_path = rewritten.as_ref().map_or(path.as_str(), |rewritten| &rewritten.path);
    let target = rule.target.unwrap_or_else(|| PathFacts::of(asked_path, parts.method).target(site));
    let site_in_key =
        shares_urls(sites, site, site_reason, &host, parts.listener_port).then_some(&*site.name);
    let place = Place { scheme, host: &host, path: &path, query: parts.query, site: site_in_key };
    let key = key::build(&place, rule, &claims.target, parts.headers);
    let cookies = relevant_cookies(rule, parts.headers);
    let past_cache = match too_many_variables(&rule.vary_query, parts.query) {
        true => Some(Lookup::TooManyVariables),
        false => cookies.too_many.then_some(Lookup::TooManyCookies),
    };
    Ok(Routed {
        site,
        site_reason,
        rule,
        rule_reason,
        beaten,
        document,
        held,
        target,
        host,
        path,
        query: parts.query.map(str::to_owned),
        rewritten,
        key,
        relevant_cookies: cookies.any(),
        relevant_cookie_names: cookies.names,
        learns_host,
        overrides_method: claims.method,
        past_cache,
    })
}

/// What the request's fields and query claim in place of what the request is, as far as they came this far: only a trusted
/// proxy's claims of a target do.
struct Claims<'a> {
    method: bool,
    /// Fields that claim host, scheme, path or user, sorted by name; the response depends on them, so they are in the key.
    target: Vec<&'a HeaderName>,
}

impl<'a> Claims<'a> {
    fn of(parts: &RequestParts<'a>, rule: &Rule) -> Claims<'a> {
        let mut claims =
            Claims { method: parts.query.is_some_and(query::overrides_method), target: Vec::new() };
        for name in parts.headers.keys() {
            match samovar_policy::claimed(name.as_str().as_bytes()).map(|claimed| claimed.claim) {
                Some(Claim::Method) => claims.method = true,
                Some(Claim::Target) if !rule.vary_headers.iter().any(|vary| vary.name == *name) => {
                    claims.target.push(name);
                }
                // The scheme is in the key already.
                Some(Claim::Target | Claim::Scheme | Claim::Address | Claim::Rebuilt) | None => {}
            }
        }
        claims.target.sort_unstable_by(|a, b| a.as_str().cmp(b.as_str()));
        claims
    }
}

/// What the origin is asked for instead. The rule was chosen by the path as it came, and another is not chosen for this
/// one; the key stays the client's.
fn rewritten(
    rule: &Rule,
    parts: &RequestParts<'_>,
    scheme: &'static str,
    host: &str,
    path: &str,
) -> Result<Option<Rewritten>, (Route, String)> {
    let Some(acts) = rule.acts.as_ref().filter(|acts| acts.rewrite.is_some()) else { return Ok(None) };
    let vars = Vars {
        stars: acts.stars_in(path),
        path: path.to_owned(),
        query: parts.query.map(str::to_owned),
        host: host.to_owned(),
        scheme,
        ..Vars::default()
    };
    acts.rewritten(&vars).map_err(|why| (Route::BadTarget, format!("rule {}: {why}", rule.id)))
}

fn settled_scheme(scheme: &str) -> Result<&'static str, (Route, String)> {
    ["http", "https"]
        .into_iter()
        .find(|known| scheme.eq_ignore_ascii_case(known))
        .ok_or_else(|| (Route::BadTarget, format!("the scheme {scheme:?} is not served here")))
}

/// The query goes to the origin and into the key as it came: what could end a line or the target is refused.
fn check_query(query: Option<&str>) -> Result<(), (Route, String)> {
    let bad = |byte: u8| byte <= b' ' || byte == 0x7f || byte == b'#';
    if query.is_some_and(|query| query.bytes().any(bad)) {
        return Err((Route::BadTarget, "the query holds a character that a URL cannot hold".to_owned()));
    }
    Ok(())
}

/// The site, why, and the host as key and origin see it.
fn choose_site<'s>(
    sites: &'s Sites,
    parts: &RequestParts<'_>,
    scheme: &str,
) -> Result<(&'s Site, Route, String), (Route, String)> {
    // RFC 9112 §3.2: an empty host is what a client sends whose target has none.
    let mut own = None;
    if !parts.host.is_empty() {
        let (mut host, port) = normalise_host(parts.host, scheme)
            .ok_or_else(|| (Route::BadTarget, format!("{:?} is not a host", parts.host)))?;
        let named = site_of(sites, &host, parts.listener_port);
        if let Some(port) = port {
            // Writing to a String cannot fail.
            let _ = write!(host, ":{port}");
        }
        if let Some((site, reason)) = named {
            return Ok((site, reason, host));
        }
        own = Some(host);
    }
    let default = best(sites, parts.listener_port, |site| site.default.then_some(0))
        .ok_or_else(|| (Route::UnknownHost, format!("no site serves the host {:?}", parts.host)))?;
    let host = match own {
        Some(own) if default.canonical_host.is_empty() => own,
        _ => canonical_host(default).to_owned(),
    };
    Ok((default, Route::SiteByDefault, host))
}

/// Whether another site answers under the same URLs: on other ports, or because a default site stands in for unknown hosts
/// under a name that another site serves. What one stores must never answer for the other.
fn shares_urls(sites: &Sites, site: &Site, reason: Route, host: &str, listener_port: u16) -> bool {
    let by_name = || site_of(sites, host, listener_port).map(|(named, _)| named);
    !site.ports.is_empty()
        || (reason == Route::SiteByDefault && by_name().is_some_and(|named| !std::ptr::eq(named, site)))
}

/// What stands for all the hosts that no site names, or for a host that is not said.
fn canonical_host(site: &Site) -> &str {
    let named = || site.hosts.iter().map(String::as_str).find(|host| !host.starts_with("*."));
    match site.canonical_host.as_str() {
        "" => named().unwrap_or("localhost"),
        host => host,
    }
}

fn site_of<'s>(sites: &'s Sites, host: &str, listener_port: u16) -> Option<(&'s Site, Route)> {
    let exact = |site: &Site| site.hosts.iter().any(|name| name.eq_ignore_ascii_case(host)).then_some(0);
    let wildcard =
        |site: &Site| site.hosts.iter().filter(|name| wildcard_covers(name, host)).map(String::len).max();
    best(sites, listener_port, exact)
        .map(|site| (site, Route::SiteByHost))
        .or_else(|| Some((best(sites, listener_port, wildcard)?, Route::SiteByWildcard)))
}

/// `*.example` covers `a.example` and `a.b.example`, not `example`.
fn wildcard_covers(name: &str, host: &str) -> bool {
    let Some(tail) = name.strip_prefix('*').filter(|tail| tail.starts_with('.')) else { return false };
    // A host never begins with a dot, so something stands before the tail.
    let start = host.len().checked_sub(tail.len());
    start.and_then(|start| host.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(tail))
}

/// The site of the highest rank; among equals one that names the port, then the first.
fn best(sites: &Sites, listener_port: u16, rank: impl Fn(&Site) -> Option<usize>) -> Option<&Site> {
    let mut best: Option<(&Site, (usize, bool))> = None;
    for site in &sites.sites {
        let names_port = site.ports.contains(&listener_port);
        if !names_port && !site.ports.is_empty() {
            continue;
        }
        let Some(rank) = rank(site) else { continue };
        if best.is_none_or(|(_, found)| found < (rank, names_port)) {
            best = Some((site, (rank, names_port)));
        }
    }
    best.map(|(site, _)| site)
}

/// The name of the default document that a folder has, as one of the site's `index`.
pub type Document<'s, 'f> = dyn Fn(&'s Site, &str) -> Option<&'s str> + 'f;

/// A rule, why it holds, the later ones that match too, and the path of the default document it was chosen by.
type Chosen<'s> = (&'s Rule, Route, Vec<&'s Arc<str>>, Option<String>);

/// The first rule that matches the path or, where the path names a folder, its default document.
fn choose_with_document<'s>(
    site: &'s Site,
    facts: &PathFacts<'_>,
    document: &Document<'s, '_>,
) -> Chosen<'s> {
    let by_path = || {
        let (rule, reason, beaten) = choose_rule(site, facts);
        (rule, reason, beaten, None)
    };
    if !facts.path.ends_with('/') || site.index.is_empty() {
        return by_path();
    }
    let at = |facts: &PathFacts<'_>| site.rules.iter().position(|rule| facts.matches(rule));
    let own = at(facts);
    let path_of = |name: &str| format!("{}{name}", facts.path);
    let own_rule = own.and_then(|own| site.rules.get(own)).unwrap_or(&site.otherwise);
    // What guards the folder's own path, be it the site's, is not exchanged for less.
    let before_own = |path: &str| {
        let found = at(&PathFacts::of(path, facts.method));
        let rule = found.filter(|found| own.is_none_or(|own| *found < own)).and_then(|at| site.rules.get(at));
        rule.filter(|rule| !adds(own_rule, rule))
    };
    if !site.index.iter().any(|name| before_own(&path_of(name)).is_some()) {
        return by_path();
    }
    let Some(path) = document(site, facts.path).map(path_of) else { return by_path() };
    let Some(rule) = before_own(&path) else { return by_path() };
    let of_document = PathFacts::of(&path, facts.method);
    let matching = site.rules.iter().filter(|rule| facts.matches(rule) || of_document.matches(rule));
    let beaten = matching.filter(|other| !std::ptr::eq(*other, rule)).map(|beaten| &beaten.id).collect();
    (rule, Route::RuleByDocument, beaten, Some(path))
}

/// What rules select by.
struct PathFacts<'p> {
    path: &'p str,
    segment: &'p str,
    extension: Option<&'p str>,
    method: &'p Method,
}

impl<'p> PathFacts<'p> {
    fn of(path: &'p str, method: &'p Method) -> Self {
        let segment = last_segment(path);
        PathFacts { path, segment, extension: extension(segment), method }
    }

    fn has_extension(&self, name: &str) -> bool {
        self.extension.is_some_and(|extension| extension.eq_ignore_ascii_case(name))
    }

    fn target(&self, site: &Site) -> TargetId {
        let handler = site.handlers.iter().find(|(name, _)| self.has_extension(name));
        handler.map_or(site.fallback, |(_, target)| *target)
    }

    fn matches(&self, rule: &Rule) -> bool {
        self.matches_by(rule, rule.path.as_ref())
    }

    /// The same, by another glob than the rule's own.
    fn matches_by(&self, rule: &Rule, glob: Option<&PathGlob>) -> bool {
        (rule.methods.is_empty() || rule.methods.contains(self.method))
            && (rule.extensions.is_empty() || rule.extensions.iter().any(|name| self.has_extension(name)))
            && glob.is_none_or(|glob| glob.matches_split(self.path, self.segment))
    }
}

/// The first rule that matches, else the site's own policy.
fn first_rule(site: &Site, matches: impl Fn(usize, &Rule) -> bool) -> &Rule {
    let mut rules = site.rules.iter().enumerate();
    rules.find(|(at, rule)| matches(*at, rule)).map_or(&site.otherwise, |(_, rule)| rule)
}

/// The first rule that matches, why, and the later ones that would have.
fn choose_rule<'s>(site: &'s Site, facts: &PathFacts<'_>) -> (&'s Rule, Route, Vec<&'s Arc<str>>) {
    let mut matching = site.rules.iter().filter(|rule| facts.matches(rule));
    match matching.next() {
        Some(rule) => (rule, Route::RuleMatched, matching.map(|beaten| &beaten.id).collect()),
        None => (&site.otherwise, Route::NoRule, Vec::new()),
    }
}
