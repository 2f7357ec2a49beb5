//! Past the cache: the origin is asked as the client asked, and its answer goes to this client alone.

use super::arrive::RequestBody;
use super::attempt::{self, Got, Question};
use super::exchange::{Exchange, Route};
use super::reply::{Reply, ReplyBody};
use super::respond::Ready;
use http::{StatusCode, Uri};
use samovar_cache::Scope;
use samovar_origin::Answer;
use samovar_policy::CacheStatus;
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
    x.note(Fact::Store(Store::Bypassed));
    let question = Question::of(&x, &route);
    match attempt::attempt(question, body, body_bytes).await {
        Ok(got) => {
            note_attempt(&mut x, &got);
            invalidate(&x, &route, &got.answer);
            let reply = alone(got, "pass", why);
            Ready::new(x, Some(route), reply)
        }
        Err(problem) => problem.into_ready(x, Some(route)),
    }
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

/// RFC 9111 §4.4: a successful unsafe request makes stored answers of its URL, and of those it names, invalid.
fn invalidate(x: &Exchange, route: &Route, answer: &Answer) {
    if !samovar_policy::invalidates(&x.method, answer.status) {
        return;
    }
    let query = route.query.as_ref().map(|q| format!("?{q}")).unwrap_or_default();
    let text = format!("{}://{}{}{query}", x.client.scheme, route.host, route.path);
    let cache = &x.core.shared.cache;
    cache.purge(Scope::Url(&key_url(&route.key)), false);
    // Another rule may make the key of a GET for the same URL.
    if let Ok(get) = samovar_rules::url_key(&x.snapshot.settings.sites, &text, &x.headers) {
        cache.purge(Scope::Url(get.key.url()), false);
    }
    if let Ok(base) = text.parse::<Uri>() {
        for url in samovar_policy::invalidated(&base, &answer.headers) {
            let headers = http::HeaderMap::new();
            if let Ok(other) = samovar_rules::url_key(&x.snapshot.settings.sites, &url, &headers) {
                cache.purge(Scope::Url(other.key.url()), false);
            }
        }
    }
}

fn key_url(key: &str) -> String {
    key.split('\n').next().unwrap_or(key).to_string()
}
