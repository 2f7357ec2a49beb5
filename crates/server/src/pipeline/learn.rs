//! What the answers to other methods teach the cache: a POST whose answer holds what a GET would get (RFC 9110 §9.3.3),
//! a HEAD that renews or doubts what is stored (RFC 9111 §4.3.5).
//!
//! Not here: what an unsafe request makes invalid (`pass`), how an answer is judged and stored (`fill`).

use super::attempt::Got;
use super::exchange::{Exchange, Route};
use super::fill;
use super::look::with_ask;
use super::respond::Ready;
use super::route::{route_as, wishes_for};
use http::{HeaderMap, Method, StatusCode, Uri};
use samovar_cache::{Ask, Entry, Step, Ticket};
use samovar_policy::{Exchange as Times, HeadSays, RequestFacts, ReuseDecision, Verdict};
use samovar_reason::{Lookup, Store};
use samovar_trace::Fact;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Where a GET of the same URL would be stored, if the answer to this POST may be its answer too.
pub(super) fn get_route(
    x: &Exchange,
    target: &Uri,
    status: StatusCode,
    headers: &HeaderMap,
) -> Option<Route> {
    if !samovar_policy::post_answers_get(&x.method, status, target, headers) {
        return None;
    }
    // What another method than POST came to says nothing of a GET.
    route_as(x, &Method::GET).ok().map(|(route, _)| route).filter(|route| !route.overrides_method)
}

/// Stores the answer to a POST as that of a GET, if it may be stored at all, and gives it to the client.
pub(super) async fn keep_for_get(
    x: Box<Exchange>,
    route: Route,
    get: Route,
    got: Box<Got>,
    times: Times,
    why: Lookup,
) -> Ready {
    // Nothing is stored under the key: the POST has just made it invalid. If something came since, it is newer.
    let Step::Fetch(ticket, _, None) = begin(&x, &get) else {
        return Ready::new(x, Some(route), super::pass::alone(got, "pass", why));
    };
    let joined = ticket.join();
    let job = fill::job(&x, &get, None).explicit_only();
    let (tell, told) = oneshot::channel();
    tokio::task::spawn_local(fill::on_head(job, ticket, tell, got, times));
    match told.await {
        Ok(mut told) => {
            // The attempt is in the record already.
            told.facts.retain(|fact| !matches!(fact, Fact::Attempt { .. } | Fact::LastUse(_)));
            fill::ready(x, route, joined, told, why, None).await
        }
        Err(_) => fill::stopping(x, route),
    }
}

/// What a HEAD is about to be compared with. The ticket is drawn before the origin is asked, so that a purge meanwhile
/// is not undone by an answer from before it.
pub(super) struct Compared {
    ticket: Ticket,
    base: Arc<Entry>,
    decision: ReuseDecision,
}

/// The stored answer to GET that this HEAD could have been answered from, were it fresh.
pub(super) fn compared(x: &Exchange, route: &Route) -> Option<Compared> {
    // What a HEAD with content says may depend on the content, which is not in the key.
    if x.method != Method::HEAD || x.has_body || route.overrides_method {
        return None;
    }
    let stored = ask(x, route, |ask| x.core.shared.cache.peek(ask).0);
    if !stored.is_some_and(|(_, decision)| matches!(decision.verdict, Verdict::Revalidate { .. })) {
        return None;
    }
    match begin(x, route) {
        Step::Fetch(ticket, _, Some((base, decision))) => Some(Compared { ticket, base, decision }),
        _ => None,
    }
}

/// Renews or doubts the stored answer by what the HEAD said; the reason, if it did.
pub(super) fn by_head(
    x: &Exchange,
    route: &Route,
    compared: Compared,
    got: &Got,
    times: Times,
) -> Option<Store> {
    let Compared { ticket, base, decision } = compared;
    if got.answer.status != StatusCode::OK || base.status() != StatusCode::OK {
        return None;
    }
    match samovar_policy::head_says(&base.headers(), &got.answer.headers, base.len_bytes()) {
        HeadSays::Same => {
            let job = fill::job(x, route, Some((Arc::clone(&base), decision)));
            let (tell, mut told) = oneshot::channel();
            fill::on_confirmed(&job, ticket, tell, Vec::new(), base, &mut head_of(got), times);
            told.try_recv().ok()?.facts.iter().rev().find_map(|fact| match fact {
                Fact::Store(store) => Some(*store),
                _ => None,
            })
        }
        HeadSays::Changed => {
            x.core.shared.cache.doubt(&base);
            Some(Store::Doubted)
        }
        HeadSays::Nothing => None,
    }
}

/// The answer without its body, which is the client's.
fn head_of(got: &Got) -> Got {
    Got {
        answer: samovar_origin::Answer {
            status: got.answer.status,
            headers: got.answer.headers.clone(),
            body: samovar_origin::AnswerBody::Empty,
            timing: got.answer.timing,
        },
        tags: got.tags.clone(),
        made_of: got.made_of.clone(),
        ours: got.ours,
        target: got.target.clone(),
        before: Vec::new(),
        session: None,
    }
}

fn begin(x: &Exchange, route: &Route) -> Step {
    ask(x, route, |ask| x.core.shared.cache.begin(ask))
}

/// Asks the cache as a GET that shares with nobody.
fn ask<T>(x: &Exchange, route: &Route, then: impl FnOnce(&Ask<'_>) -> T) -> T {
    let snapshot = Arc::clone(&x.snapshot);
    let wishes = wishes_for(&snapshot, route, false);
    let facts = RequestFacts { method: &Method::GET, ..x.facts_for(route) };
    with_ask(&snapshot, route, &facts, &wishes, x.at, true, then)
}
