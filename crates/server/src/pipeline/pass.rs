//! Past the cache: the origin is asked as the client asked, and its answer goes to this client alone.

use super::arrive::RequestBody;
use super::attempt::{self, Got, Question};
use super::exchange::{Exchange, Route};
use super::reply::{Reply, ReplyBody};
use super::respond::Ready;
use super::{answered, fill, interim, keep, learn, upgrade, upload};
use crate::clock;
use crate::state::{Shared, Snapshot};
use http::{HeaderValue, Method, StatusCode, Uri};
use samovar_cache::Scope;
use samovar_origin::Answer;
use samovar_policy::{CacheStatus, Exchange as Times};
use samovar_reason::{Explain, Lookup, Store};
use samovar_trace::{Fact, Tier};
use std::sync::Arc;
use tokio::sync::oneshot;

/// Asks the origin for this client alone.
pub async fn pass(
    mut x: Box<Exchange>,
    route: Route,
    body: Option<RequestBody>,
    body_bytes: Option<u64>,
    why: Lookup,
) -> Ready {
    if let Some(why) = samovar_policy::ends_here(&x.method, &x.headers) {
        return Ready::last_recipient(x, route, why);
    }
    samovar_policy::count_down(&x.method, &mut x.headers);
    let compared = learn::compared(&x, &route);
    let mut question = Question::of(&x, &route);
    let interims = interim::of(&x);
    question.interim.clone_from(&interims);
    question.upgrade = upgrade::ask(&mut x, &route, why);
    let asks_to_upgrade = question.upgrade.is_some();
    // Of a GET past the cache nothing is learnt for which the time would matter.
    let learns = x.method != Method::GET;
    let requested = if learns { clock::now() } else { x.at };
    // Boxed: it is four kilobytes, and every room it were carried through would copy them.
    let attempt = Box::pin(answered::attempt(question, body, body_bytes));
    // What a safe method leaves behind is nothing.
    let target = if x.method.is_safe() { None } else { target(&x, &route) };
    let came = match Invalidation::of(&x, &route, &target) {
        None => interim::passing(&mut x, interims, attempt).await.map(|got| (got, None)),
        Some(invalidation) => {
            // A task of its own: what the origin does is done, whether the client stays to hear of it or not.
            let (tell, told) = oneshot::channel();
            tokio::task::spawn_local(async move {
                let came = attempt.await.map(|got| {
                    let made_invalid = invalidation.by(&got.answer);
                    (got, made_invalid)
                });
                let _gone = tell.send(came);
            });
            match interim::passing(&mut x, interims, told).await {
                Ok(came) => came,
                Err(_) => return fill::stopping(x, route),
            }
        }
    };
    match came {
        Ok((mut got, made_invalid)) => {
            let times = Times { requested, answered: if learns { clock::now() } else { requested } };
            upgrade::note_declined(&mut x, asks_to_upgrade, &got.answer);
            x.facts.extend(attempt_facts(&mut got));
            if let Some(fact) = made_invalid {
                x.note(fact);
            }
            let get =
                target.and_then(|uri| learn::get_route(&x, &uri, got.answer.status, &got.answer.headers));
            if let Some(get) = get {
                return learn::keep_for_get(x, route, get, got, times, why).await;
            }
            let learnt = compared.and_then(|compared| learn::by_head(&x, &route, compared, &got, times));
            x.note(Fact::Store(learnt.unwrap_or(not_stored(why))));
            let reply = alone(got, "pass", why);
            Ready::new(x, Some(route), reply)
        }
        Err(problem) => {
            if let Some(max_bytes) = upload::exceeded(&x) {
                return upload::refuse(x, route, max_bytes);
            }
            x.note(Fact::Store(not_stored(why)));
            problem.into_ready(x, Some(route))
        }
    }
}

/// Why nothing is stored of a response that went past the cache. Content is no part of the key, so a response that may
/// depend on it is nobody else's.
fn not_stored(why: Lookup) -> Store {
    match why {
        Lookup::RequestBody => Store::RequestBody,
        _ => Store::Bypassed,
    }
}

/// The absolute URL of the request.
fn target(x: &Exchange, route: &Route) -> Option<Uri> {
    let query = route.query.as_ref().map(|q| format!("?{q}")).unwrap_or_default();
    format!("{}://{}{}{query}", x.client.scheme, route.host, route.path).parse().ok()
}

/// How the attempt went, and those before it.
pub fn attempt_facts(got: &mut Got) -> Vec<Fact> {
    let mut facts = std::mem::take(&mut got.before);
    facts.push(Fact::Attempt {
        target: Arc::clone(&got.target),
        status: got.answer.status.as_u16(),
        connect_us: got.answer.timing.connect_us,
        first_byte_us: got.answer.timing.first_byte_us,
        reused: got.answer.timing.reused,
    });
    facts.extend(got.answer.timing.last_use.map(Fact::LastUse));
    facts
}

/// An origin's answer for one client.
pub fn alone(got: Box<Got>, word: &'static str, why: Lookup) -> Reply {
    let Got { answer, ours, session, .. } = *got;
    let Answer { status, mut headers, body, .. } = answer;
    if session.is_some() {
        // A cache behind us that kept the cookie would send everybody to one member (RFC 6265 §7).
        headers.append(http::header::CACHE_CONTROL, HeaderValue::from_static("private"));
    }
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
        own_fields: session.map(|cookie| (http::header::SET_COOKIE, cookie)).into_iter().collect(),
    }
}

/// What an unsafe request will make invalid once it succeeds.
struct Invalidation {
    snapshot: Arc<Snapshot>,
    shared: Arc<Shared>,
    method: Method,
    target: Option<Uri>,
    key: Arc<str>,
    urls: Vec<String>,
}

impl Invalidation {
    /// `None` for a safe method.
    fn of(x: &Exchange, route: &Route, target: &Option<Uri>) -> Option<Invalidation> {
        if !samovar_policy::invalidates(&x.method, StatusCode::OK) {
            return None;
        }
        let mut urls = vec![key_url(&route.key)];
        if let Some(base) = target {
            // Another rule may make the key of a GET for the same URL.
            let own = samovar_rules::url_key(&x.snapshot.settings.sites, &base.to_string(), &x.headers);
            urls.extend(own.map(|get| get.key.url().to_string()));
        }
        Some(Invalidation {
            snapshot: Arc::clone(&x.snapshot),
            shared: Arc::clone(&x.core.shared),
            method: x.method.clone(),
            target: target.clone(),
            key: Arc::clone(&route.key),
            urls,
        })
    }

    /// RFC 9111 §4.4: a successful unsafe request makes stored answers of its URL, and of those it names, invalid; and
    /// those that share a group with them, or are of a group it names (RFC 9875 §2.2.1, §3).
    fn by(mut self, answer: &Answer) -> Option<Fact> {
        if !samovar_policy::invalidates(&self.method, answer.status) {
            return None;
        }
        let none = http::HeaderMap::new();
        for named in self.target.iter().flat_map(|base| samovar_policy::invalidated(base, &answer.headers)) {
            let other = samovar_rules::url_key(&self.snapshot.settings.sites, &named, &none);
            self.urls.extend(other.map(|other| other.key.url().to_string()));
        }
        self.urls.sort_unstable();
        self.urls.dedup();
        let cache = &self.shared.cache;
        let named = samovar_policy::invalidated_groups(&self.method, answer.status, &answer.headers);
        let mut tags: Vec<Box<str>> = named.iter().map(|name| keep::group_tag(&self.key, name)).collect();
        for url in &self.urls {
            tags.extend(cache.tags_of(url).into_iter().filter(|tag| tag.starts_with(keep::GROUP)));
        }
        let urls = self.urls.iter().map(|url| cache.purge(Scope::Url(url), false).entries);
        let count = urls.sum::<u64>()
            + tags.iter().map(|tag| cache.purge(Scope::Tag(tag), false).entries).sum::<u64>();
        let mut what: Vec<String> = self.urls.iter().map(|url| samovar_trace::redact_url(url)).collect();
        what.extend(tags.iter().map(|tag| tag.replacen(':', " ", 1)));
        (count > 0).then_some(Fact::Invalidated(count, what))
    }
}

fn key_url(key: &str) -> String {
    key.split('\n').next().unwrap_or(key).to_string()
}
