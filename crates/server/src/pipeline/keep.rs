//! What is kept of an answer to a fetch: whether it may be stored, and the head that is stored beside its body.
//!
//! Policy decides; here it is asked, with what this request, its rule and the state of the cache add. Not here: the fetch
//! (`fill`), the body (`take_in`).

use super::attempt::{Got, TAGS_MAX};
use super::exchange::Route;
use super::fill::Job;
use super::route::wishes_for;
use crate::state::Snapshot;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use samovar_cache::{EntryHead, Ticket};
use samovar_origin::Answer;
use samovar_policy::{Exchange as Times, Freshness, RequestFacts, VaryValues, Wishes};
use samovar_reason::{Lifetime, Store};
use samovar_trace::Fact;
use std::collections::HashSet;
use std::sync::Arc;

/// The verdict on storing an answer, and what the record says of it beside the verdict itself.
pub(super) fn decide(
    job: &Job,
    ticket: &Ticket,
    answer: &Answer,
    times: Times,
    announced: Option<u64>,
    got: &Got,
) -> (Vec<Fact>, samovar_policy::StoreDecision) {
    let wishes = wishes_for(&job.question.snapshot, &job.question.route, got.ours);
    let decision = judge(job, ticket, answer, &wishes, times, announced, &got.tags);
    let mut facts = Vec::new();
    let rule = job.question.route.rule_in(&job.question.snapshot);
    let acts = rule.and_then(|rule| rule.acts.as_ref());
    if decision.freshness.is_some() && acts.is_some_and(|acts| acts.protects() && acts.shares) {
        facts.push(Fact::Overridden(vec!["protected"]));
    }
    facts.extend((!decision.overridden.is_empty()).then(|| Fact::Overridden(decision.overridden.clone())));
    if let Some(freshness) = &decision.freshness {
        facts.push(Fact::Lifetime(freshness.source, samovar_policy::lifetime_given_ms(freshness)));
    }
    (facts, decision)
}

/// What is stored beside the body.
pub(super) fn entry_head(
    job: &Job,
    got: &mut Got,
    freshness: Freshness,
    reason: Store,
    times: Times,
) -> EntryHead {
    let snapshot = Arc::clone(&job.question.snapshot);
    let wishes = wishes_for(&snapshot, &job.question.route, got.ours);
    let headers = std::mem::take(&mut got.answer.headers);
    let tags = tags(got, &headers, freshness.source, &snapshot, &job.question.route);
    got.answer.headers = headers;
    EntryHead {
        status: got.answer.status,
        headers: dated(&samovar_policy::stored_fields(&got.answer.headers, &wishes), times.answered.wall_ms),
        freshness,
        vary: vary_of(job, &got.answer.headers),
        tags,
        reason,
        rule: mark(job),
        epoch: snapshot.epoch,
    }
}

/// Fields with values of their own. Those of an upstream's answer are slices of the buffer it was read into, and
/// one stored value would keep all of it alive, uncounted.
fn owned(headers: &HeaderMap) -> HeaderMap {
    let mut copy = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        if let Ok(mut own) = HeaderValue::from_bytes(value.as_bytes()) {
            own.set_sensitive(value.is_sensitive());
            copy.append(name.clone(), own);
        }
    }
    copy
}

/// What is stored without a `Date` gets the moment it came (RFC 9110 §6.6.1), or every later answer would be
/// dated anew.
pub(super) fn dated(headers: &HeaderMap, wall_ms: u64) -> HeaderMap {
    let mut headers = owned(headers);
    if !headers.contains_key(header::DATE) {
        let moment = std::time::UNIX_EPOCH + std::time::Duration::from_millis(wall_ms);
        if let Ok(value) = HeaderValue::try_from(httpdate::fmt_http_date(moment)) {
            headers.insert(header::DATE, value);
        }
    }
    headers
}

pub(super) fn judge(
    job: &Job,
    ticket: &Ticket,
    answer: &Answer,
    wishes: &Wishes,
    times: Times,
    announced: Option<u64>,
    tags: &[Box<str>],
) -> samovar_policy::StoreDecision {
    let refused = |reason| samovar_policy::StoreDecision { freshness: None, reason, overridden: Vec::new() };
    if let Some(reason) = ticket.refuses() {
        return refused(reason);
    }
    if job.shared.epoch() != job.question.snapshot.epoch {
        return refused(Store::ConfigChanged);
    }
    if job.question.route.unshared_in(&job.question.snapshot) {
        return refused(Store::Protected);
    }
    if tags.len() > TAGS_MAX {
        return refused(Store::TooManyTags);
    }
    let facts = request_facts(job);
    let decision = samovar_policy::storable(&facts, answer.status, &answer.headers, wishes, times, announced);
    let no_room = job.shared.cache.refuses(announced.unwrap_or(0));
    if job.explicit_only && decision.freshness.is_some_and(|f| !f.explicit) {
        return refused(Store::MethodNotStored);
    }
    if let (true, Some(reason)) = (decision.freshness.is_some(), no_room) {
        return refused(reason);
    }
    if decision.freshness.is_some() && !learned(job, answer.status, times) {
        return refused(Store::HostNotLearned);
    }
    decision
}

/// Whether the host of the request is a site's own or is learned: now, where the response is a storable 2xx. Redirects and
/// errors say nothing of whether the application serves the host.
fn learned(job: &Job, status: StatusCode, times: Times) -> bool {
    let route = &job.question.route;
    let now_ms = times.answered.mono_ms;
    !route.learns_host
        || job.shared.knows_host(&route.host)
        || (status.is_success() && job.shared.learn_host(&route.host, now_ms))
}

pub(super) fn request_facts(job: &Job) -> RequestFacts<'_> {
    RequestFacts {
        method: &Method::GET,
        headers: &job.question.headers,
        relevant_cookies: job.question.route.relevant_cookies,
        has_query: job.question.route.query.is_some(),
        any_cookies: job.any_cookies,
    }
}

/// Whether a refusal says something of the key, so that it is worth remembering, or of this request alone.
pub(super) fn is_of_the_key(reason: Store, status: StatusCode) -> bool {
    let of_the_request = matches!(
        reason,
        Store::RequestCookie
            | Store::RequestAuthorization
            | Store::RequestNoStore
            | Store::AdmitAfter
            | Store::ConfigChanged
            | Store::HostNotLearned
    );
    !of_the_request && samovar_policy::is_of_the_resource(status)
}

/// What the tags of groups begin with.
pub(super) const GROUP: &str = "group:";

/// A group of answers as a tag; groups hold within one URI origin (RFC 9875 §2.1), which a key begins with.
pub(super) fn group_tag(key: &str, name: &str) -> Box<str> {
    let origin = key.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    format!("{GROUP}{origin} {name}").into()
}

/// The origin's own tags; and where a change ends the answer's life, those of what it was made of.
pub(super) fn tags(
    got: &mut Got,
    headers: &HeaderMap,
    source: Lifetime,
    snapshot: &Snapshot,
    route: &Route,
) -> Vec<Box<str>> {
    let mut tags = std::mem::take(&mut got.tags);
    let groups = samovar_policy::groups(headers);
    tags.extend(groups.iter().map(|name| group_tag(&route.key, name)));
    if source == Lifetime::UntilChanged {
        tags.append(&mut got.made_of);
    }
    tags.extend(snapshot.rule_tag(route));
    tags
}

/// Those of `more` that are not among `tags`.
pub(super) fn tags_beside(tags: &[Box<str>], more: &[Box<str>]) -> Vec<Box<str>> {
    let known: HashSet<&str> = tags.iter().map(|tag| &**tag).collect();
    more.iter().filter(|tag| !known.contains(&***tag)).cloned().collect()
}

pub(super) fn mark(job: &Job) -> Arc<str> {
    let route = &job.question.route;
    job.question.snapshot.mark(route.site, route.rule).cloned().unwrap_or_else(|| Arc::from(""))
}

pub(super) fn vary_of(job: &Job, answer: &HeaderMap) -> VaryValues {
    let names = samovar_policy::vary_named(answer);
    let rule = job.question.route.rule_in(&job.question.snapshot);
    let normalise = |name: &HeaderName, headers: &HeaderMap| match rule {
        Some(rule) => rule.normaliser()(name, headers),
        None => samovar_rules::normalise_by_meaning(name, headers),
    };
    samovar_policy::vary_values(&names, &job.question.headers, &normalise)
}
