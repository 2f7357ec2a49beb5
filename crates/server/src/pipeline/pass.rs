//! Past the cache: the origin is asked as the client asked, and its answer goes to this client alone.

use super::arrive::RequestBody;
use super::attempt::{self, Got, Question};
use super::exchange::{Exchange, Route};
use super::reply::{Reply, ReplyBody};
use super::respond::Ready;
use super::{fill, interim, learn};
use crate::clock;
use http::{StatusCode, Uri};
use samovar_cache::Scope;
use samovar_origin::Answer;
use samovar_policy::{CacheStatus, Exchange as Times};
use samovar_reason::{Explain, Lookup, Store};
use samovar_trace::{Fact, Tier};

/// Asks the origin for this client alone.
pub async fn pass(
    mut x: Box<Exchange>,
    route: Route,
    body: Option<RequestBody>,
    body_bytes: Option<u64>,
    why: Lookup,
) -> Ready {
    let compared = learn::compared(&x, &route);
    let mut question = Question::of(&x, &route);
    let (sender, interims) = interim::channel(&x);
    question.interim = sender;
    let requested = clock::now();
    let attempt = attempt::attempt(question, body, body_bytes);
    match interim::passing(&mut x, interims, attempt).await {
        Ok(got) => {
            let times = Times { requested, answered: clock::now() };
            note_attempt(&mut x, &got);
            let target = target(&x, &route);
            invalidate(&x, &route, &target, &got.answer);
            let get =
                target.and_then(|uri| learn::get_route(&x, &uri, got.answer.status, &got.answer.headers));
            if let Some(get) = get {
                return learn::keep_for_get(x, route, get, got, times, why).await;
            }
            x.note(Fact::Store(Store::Bypassed));
            if let Some(compared) = compared {
                learn::by_head(&x, &route, compared, &got, times);
            }
            let reply = alone(got, "pass", why);
            Ready::new(x, Some(route), reply)
        }
        Err(problem) => {
            x.note(Fact::Store(Store::Bypassed));
            problem.into_ready(x, Some(route))
        }
    }
}

/// The absolute URL of the request.
fn target(x: &Exchange, route: &Route) -> Option<Uri> {
    let query = route.query.as_ref().map(|q| format!("?{q}")).unwrap_or_default();
    format!("{}://{}{}{query}", x.client.scheme, route.host, route.path).parse().ok()
}

/// Notes how an attempt went.
pub fn note_attempt(x: &mut Exchange, got: &Got) {
    x.note(attempt_fact(got));
}

/// How an attempt went.
pub fn attempt_fact(got: &Got) -> Fact {
    Fact::Attempt {
        target: got.target.clone(),
        status: got.answer.status.as_u16(),
        connect_us: got.answer.timing.connect_us,
        first_byte_us: got.answer.timing.first_byte_us,
        reused: got.answer.timing.reused,
    }
}

/// An origin's answer for one client.
pub fn alone(got: Got, word: &'static str, why: Lookup) -> Reply {
    let Got { answer, ours, .. } = got;
    let Answer { status, headers, body, .. } = answer;
    Reply {
        status,
        headers,
        body: ReplyBody::Source(attempt::source_of(body)),
        tier: Tier::Origin,
        word,
        reason: why.code(),
        age_ms: None,
        status_field: CacheStatus {
            fwd: samovar_policy::fwd_of(why),
            detail: Some(why.code()),
            ..CacheStatus::default()
        },
        selectable: ours && status == StatusCode::OK,
        own_fields: Vec::new(),
    }
}

/// RFC 9111 §4.4: a successful unsafe request makes stored answers of its URL, and of those it names, invalid; and
/// those that share a group with them, or are of a group it names (RFC 9875 §2.2.1, §3).
fn invalidate(x: &Exchange, route: &Route, target: &Option<Uri>, answer: &Answer) {
    if !samovar_policy::invalidates(&x.method, answer.status) {
        return;
    }
    let sites = &x.snapshot.settings.sites;
    let mut urls = vec![key_url(&route.key)];
    if let Some(base) = target {
        // Another rule may make the key of a GET for the same URL.
        let own = samovar_rules::url_key(sites, &base.to_string(), &x.headers);
        urls.extend(own.map(|get| get.key.url().to_string()));
        let none = http::HeaderMap::new();
        for named in samovar_policy::invalidated(base, &answer.headers) {
            let other = samovar_rules::url_key(sites, &named, &none);
            urls.extend(other.map(|other| other.key.url().to_string()));
        }
    }
    let cache = &x.core.shared.cache;
    let named = samovar_policy::invalidated_groups(&x.method, answer.status, &answer.headers);
    let mut tags: Vec<Box<str>> = named.iter().map(|name| fill::group_tag(&route.key, name)).collect();
    for url in &urls {
        tags.extend(cache.tags_of(url).into_iter().filter(|tag| tag.starts_with(fill::GROUP)));
    }
    for url in &urls {
        cache.purge(Scope::Url(url), false);
    }
    for tag in &tags {
        cache.purge(Scope::Tag(tag), false);
    }
}

fn key_url(key: &str) -> String {
    key.split('\n').next().unwrap_or(key).to_string()
}
