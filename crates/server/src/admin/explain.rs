//! Explaining a URL: dry (what would happen, nothing is asked or counted) or live (what did happen).

use super::hosts;
use super::shapes::{ExplainAsk, entry};
use crate::clock;
use crate::pipeline::{self, Manner, Route};
use crate::state::{Job, Shared};
use http::header::{AUTHORIZATION, COOKIE, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Version};
use samovar_policy::{RequestFacts, Verdict};
use samovar_reason::{Coding, Explain, Gate, Hot, Lookup, Route as Why, Store};
use samovar_rules::{Acts, RequestParts, Routed, UrlParts, Vars};
use samovar_trace::{Fact, Fields, Record, Tier};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;

/// How long a live explanation waits for its answer.
const LIVE_MAX: Duration = Duration::from_secs(120);

/// Records of the URL that are told beside.
const HISTORY: usize = 5;

/// Explains.
///
/// # Errors
/// In words.
pub async fn explain(app: &Arc<Shared>, ask: &ExplainAsk) -> Result<Value, String> {
    let headers = fields(&ask.headers)?;
    let method = match &ask.method {
        None => Method::GET,
        Some(text) => Method::from_bytes(text.as_bytes()).map_err(|_| format!("{text:?} is no method"))?,
    };
    // A bare path is one under the host that clients used last.
    let url = hosts::urls(app, &ask.url).into_iter().next().unwrap_or_else(|| ask.url.clone());
    if ask.live { live(app, &url, method, headers).await } else { dry(app, &url, &method, headers) }
}

fn fields(list: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in list {
        let field =
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("{name:?} is no field name"))?;
        let value = HeaderValue::from_str(value)
            .map_err(|_| format!("the value of {name} holds a character it must not"))?;
        headers.append(field, value);
    }
    Ok(headers)
}

fn dry(app: &Arc<Shared>, url: &str, method: &Method, mut headers: HeaderMap) -> Result<Value, String> {
    let snapshot = app.snapshot();
    // As of a request that comes from nobody in particular.
    samovar_policy::drop_named_by_connection(&mut headers);
    let dropped = pipeline::drop_claims(&mut headers, snapshot.settings.server.trusted_proxies.trusts(None));
    let headers = &headers;
    let now = clock::now();
    let parsed = samovar_rules::parse_url(url)?;
    let routed = route(&snapshot, &parsed, method, headers)
        .map_err(|(why, detail)| format!("{}: {} ({why}): {detail}", url, why.text()))?;
    let acts = routed.rule.acts.clone();
    let (mut route, routing) = pipeline::settled(&snapshot, routed);
    if route.learns_host {
        let standing = app.host_standing(&route.host, now.mono_ms, false);
        pipeline::pass_unlearned(&mut route, standing);
    }
    let mut facts = Vec::from_iter((!dropped.is_empty()).then_some(Fact::Dropped(dropped)));
    facts.extend(routing);
    if pipeline::coding_refused(&snapshot, &route, headers).is_some() {
        facts.push(Fact::Coding(Coding::Required, None));
        return Ok(said(method, now, facts, ("error", Coding::Required.code(), Tier::Own), &route));
    }
    let acts = acts.as_deref();
    let held = route.held_in(&snapshot).filter_map(|rule| rule.acts.as_deref());
    for fact in acts.into_iter().chain(held).flat_map(pipeline::asked) {
        if !facts.contains(&fact) {
            facts.push(fact);
        }
    }
    let elsewhere = acts.and_then(|acts| redirected(acts, &parsed, &route));
    if let Some(to) = elsewhere {
        facts.push(Fact::Gate(Gate::Redirected, samovar_trace::redact_url(&to)));
        return Ok(said(method, now, facts, ("own", Gate::Redirected.code(), Tier::Own), &route));
    }
    facts.extend(pipeline::unkeyed(&app.cache, &snapshot, &route, headers));
    let wishes = pipeline::wishes_for(&snapshot, &route, false);
    let request = RequestFacts {
        method,
        headers,
        relevant_cookies: route.relevant_cookies,
        has_query: route.query.is_some(),
        any_cookies: headers.contains_key(COOKIE),
    };
    let mut variants = app.cache.of_url(key_url(&route));
    let (word, reason, tier) = match pipeline::manner(&snapshot, &route, &request, &wishes) {
        Err(why) => {
            facts.push(Fact::Lookup(why, None, None));
            let asked =
                pipeline::would_ask_to_upgrade(&snapshot, &route, method, Version::HTTP_11, headers, false);
            facts.extend(asked.map(|asked| pipeline::upgrade_fact(&asked, headers)));
            ("pass", why, Tier::Origin)
        }
        Ok(manner) => {
            let alone = route.relevant_cookies || headers.contains_key(AUTHORIZATION);
            let (found, why, flying) =
                pipeline::with_ask(&snapshot, &route, &request, &wishes, now, alone, |a| app.cache.peek(a));
            // Whoever is alone waits for nobody.
            let flying = flying && !alone;
            let age = found.as_ref().map(|f| f.1.age_ms as i64);
            let ttl =
                found.as_ref().and_then(|(entry, _)| samovar_policy::shown_ttl_ms(&entry.freshness(), now));
            let said = match manner {
                Manner::Fills if found.is_none() && pipeline::goes_as_it_is(why, headers) => {
                    ("pass", why, Tier::Origin)
                }
                Manner::Fills => {
                    let (word, tier) = found_word(found.as_ref().map(|f| f.1.verdict), flying);
                    (word, if flying && word == "joined" { Lookup::Joined } else { why }, tier)
                }
                Manner::StoredOnly => match pipeline::of_stored(found.clone(), why, headers) {
                    Ok((_, decision)) => {
                        let (word, tier) = found_word(Some(decision.verdict), false);
                        (word, decision.reason, tier)
                    }
                    Err(why) => ("pass", why, Tier::Origin),
                },
            };
            facts.push(Fact::Lookup(said.1, age, ttl));
            if let Some((entry, decision)) = &found {
                let freshness = entry.freshness();
                if !freshness.always_revalidate {
                    let given_ms = samovar_policy::lifetime_given_ms(&freshness);
                    facts.push(Fact::Lifetime(freshness.source, given_ms));
                }
                facts.extend(pipeline::foreseen(&snapshot, &route, headers, entry));
                facts.extend(hot(&snapshot, &route, entry, decision, now.mono_ms));
            }
            match &found {
                Some((entry, _))
                    if serves(said.0) && pipeline::coding_unfit(&snapshot, &route, headers, entry) =>
                {
                    facts.push(Fact::Lookup(Lookup::CodingUnfit, None, None));
                    ("pass", Lookup::CodingUnfit, Tier::Origin)
                }
                _ => said,
            }
        }
    };
    let (word, reason, tier) = match word {
        "pass" if samovar_policy::only_if_cached(&request) => {
            facts.push(Fact::Lookup(Lookup::OnlyIfCached, None, None));
            ("error", Lookup::OnlyIfCached, Tier::Own)
        }
        _ => (word, reason, tier),
    };
    let asks_files = matches!(word, "miss" | "pass");
    let no_file = if asks_files { pipeline::file_refusal(&snapshot, &route, method) } else { None };
    let (word, code, tier) = match no_file {
        Some((why, detail)) => {
            facts.push(Fact::Files(why, detail));
            ("error", why.code(), Tier::Own)
        }
        None => (word, reason.code(), tier),
    };
    if let Some(store) = app.cache.known_not_storable(&route.key, now.mono_ms) {
        facts.push(Fact::Store(store));
    }
    let history =
        app.records(HISTORY, |ring| ring.for_url(&samovar_trace::redact_url(key_url(&route)), HISTORY));
    facts.extend(before(&history, method, serves(word)));
    variants.retain(|e| e.state() != samovar_cache::State::Dead);
    let mut value = said(method, now, facts, (word, code, tier), &route);
    if let Some(map) = value.as_object_mut() {
        map.insert("variants".into(), json!(variants.iter().map(|e| entry(e, now)).collect::<Vec<_>>()));
        map.insert("history".into(), history.iter().map(|r| samovar_trace::json(r)).collect());
    }
    Ok(value)
}

/// A dry explanation as it is told.
fn said(
    method: &Method,
    now: samovar_policy::Now,
    facts: Vec<Fact>,
    (word, reason, tier): (&'static str, &'static str, Tier),
    route: &Route,
) -> Value {
    let record = Record {
        id: 0,
        at_wall_ms: now.wall_ms,
        client: "explain".into(),
        method: method.to_string().into(),
        url: key_url(route).to_string(),
        version: "HTTP/1.1",
        status: 0,
        body_bytes: 0,
        tier,
        cache: word,
        reason,
        first_byte_us: 0,
        total_us: 0,
        referer: None,
        user_agent: None,
        facts,
        request_fields: Fields::default(),
    };
    let mut value = samovar_trace::json(&record);
    if let Some(map) = value.as_object_mut() {
        map.insert("live".into(), false.into());
        map.insert("variants".into(), json!([]));
        map.insert("history".into(), json!([]));
    }
    value
}

/// The URL that the key begins with.
fn key_url(route: &Route) -> &str {
    route.key.split('\n').next().unwrap_or_default()
}

/// Whether the word means that what is stored is sent.
fn serves(word: &str) -> bool {
    matches!(word, "hit" | "stale")
}

/// Where the rule would send a client.
fn redirected(acts: &Acts, parsed: &UrlParts, route: &Route) -> Option<String> {
    let vars = Vars {
        stars: acts.stars_in(&route.path),
        path: route.path.clone(),
        query: route.query.clone(),
        host: route.host.clone(),
        scheme: parsed.scheme,
        ..Vars::default()
    };
    Some(acts.redirect.as_ref()?.location(&vars)?.to_str().ok()?.to_owned())
}

/// What came of the last request like this one: the best word on why nothing is stored, or on how it came to be.
fn before(history: &[Arc<Record>], method: &Method, serves: bool) -> Vec<Fact> {
    let Some(last) = history.iter().find(|record| record.method == method.as_str()) else {
        return Vec::new();
    };
    let latest = |kind: fn(&Fact) -> bool| last.facts.iter().rev().find(|fact| kind(fact)).cloned();
    let plain = |fact: &Fact| {
        matches!(
            fact,
            Fact::Lookup(Lookup::Fresh | Lookup::FreshHot | Lookup::NoEntry, ..) | Fact::Store(Store::Stored) if serves
        )
    };
    let found = [
        latest(|fact| matches!(fact, Fact::Lookup(..))),
        latest(|fact| matches!(fact, Fact::Store(_))),
        latest(|fact| matches!(fact, Fact::Upstream(..))),
    ];
    let told = found.into_iter().flatten().filter(|fact| !plain(fact));
    told.map(|fact| Fact::Before(Box::new(fact))).collect()
}

/// Where a request of this method would go. Which listener it would come in by is not known: the URL's own port
/// is tried first, then those that sites name.
fn route<'s>(
    snapshot: &'s crate::state::Snapshot,
    parsed: &UrlParts,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Routed<'s>, (Why, String)> {
    let sites = &snapshot.settings.sites;
    let own = parsed.host.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    let own = own.unwrap_or(if parsed.scheme == "https" { 443 } else { 80 });
    let on_port = |listener_port| {
        let parts = RequestParts {
            method,
            scheme: parsed.scheme,
            host: &parsed.host,
            listener_port,
            path: &parsed.path,
            query: parsed.query.as_deref(),
            headers,
        };
        samovar_rules::route_with(sites, &parts, &|site, folder| {
            pipeline::default_document(snapshot, site, folder)
        })
    };
    let first = on_port(own);
    if !matches!(first, Err((Why::UnknownHost, _))) {
        return first;
    }
    sites.sites.iter().flat_map(|site| &site.ports).find_map(|port| on_port(*port).ok()).map_or(first, Ok)
}

fn found_word(verdict: Option<Verdict>, flying: bool) -> (&'static str, Tier) {
    match verdict {
        Some(Verdict::Serve) => ("hit", Tier::Memory),
        Some(Verdict::ServeAndRefresh) => ("stale", Tier::Memory),
        Some(Verdict::Pass) => ("pass", Tier::Origin),
        _ if flying => ("joined", Tier::Origin),
        Some(Verdict::Revalidate { .. } | Verdict::Complete | Verdict::Refetch) | None => {
            ("miss", Tier::Origin)
        }
    }
}

fn hot(
    snapshot: &crate::state::Snapshot,
    route: &Route,
    entry: &samovar_cache::Entry,
    decision: &samovar_policy::ReuseDecision,
    now_ms: u64,
) -> Vec<Fact> {
    let Some(rule) = route.rule_in(snapshot) else { return Vec::new() };
    if let Some(why) = pipeline::barred(rule, route.gated_in(snapshot), entry, decision) {
        return vec![Fact::Hot(why)];
    }
    if entry.is_hot() {
        return vec![Fact::Hot(Hot::Promoted)];
    }
    let asked = entry.metered(now_ms, rule.hot.period_ms);
    if asked >= rule.hot.threshold {
        // The next request prepares it.
        return Vec::new();
    }
    vec![Fact::HotProgress(asked, rule.hot.threshold), Fact::Hot(Hot::NotHotYet)]
}

/// Hands the request to a core and waits for its record.
async fn live(app: &Arc<Shared>, url: &str, method: Method, mut headers: HeaderMap) -> Result<Value, String> {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let parsed = samovar_rules::parse_url(url)?;
    if !headers.contains_key(http::header::HOST)
        && let Ok(host) = HeaderValue::from_str(&parsed.host)
    {
        headers.insert(http::header::HOST, host);
    }
    let query = parsed.query.as_ref().map(|q| format!("?{q}")).unwrap_or_default();
    let mut request = http::Request::builder()
        .method(method)
        .uri(format!("{}{query}", parsed.path))
        .body(())
        .map_err(|e| format!("{url}: {e}"))?;
    *request.headers_mut() = headers;
    let (done, over) = oneshot::channel();
    let id = app.next_id();
    let tls = parsed.scheme == "https";
    let port = parsed.host.rsplit_once(':').and_then(|(_, p)| p.parse().ok());
    let port = port.unwrap_or(if tls { 443 } else { 80 });
    let doors = app.doors.get().ok_or("the server is starting")?;
    let turn = TURN.fetch_add(1, Ordering::Relaxed) % doors.len().max(1);
    let door = doors.get(turn).ok_or("the server has no cores")?;
    door.send(Job { request, port, tls, id, done }).map_err(|_| "the server is stopping")?;
    match tokio::time::timeout(LIVE_MAX, over).await {
        Err(_) => return Err(format!("no answer within {} s", LIVE_MAX.as_secs())),
        Ok(Err(_)) => return Err("the server is stopping".into()),
        Ok(Ok(_)) => {}
    }
    let record = app.record(id).ok_or("the record was already pushed out by others")?;
    let mut value = samovar_trace::json(&record);
    if let Some(map) = value.as_object_mut() {
        map.insert("live".into(), true.into());
    }
    Ok(value)
}
