//! Parts of answers: a range asked of something not stored is fetched and kept; what is kept is completed when the whole
//! is asked for (RFC 9111 §3.3, §3.4).
//!
//! Not here: what a 206 is good for and which parts belong together (`policy::partial`), cutting ranges out of whole
//! answers (`respond`).

use super::attempt::{self, Got, Question};
use super::exchange::{Exchange, Route};
use super::fill::{self, Job, Told};
use super::interim;
use super::reply::{Reply, ReplyBody};
use super::respond::Ready;
use super::route::wishes_for;
use super::{keep, take_in, wanted};
use crate::clock;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use samovar_cache::{Body, Entry, EntryHead, Parts, Ticket};
use samovar_origin::{Answer, AnswerBody};
use samovar_policy::{
    CacheStatus, Exchange as Times, Part, PartUse, RequestFacts, ReuseDecision, Verdict, Wanted,
};
use samovar_reason::{Explain, Lookup, Store};
use samovar_trace::{Fact, Tier};
use std::sync::Arc;
use tokio::sync::oneshot;

/// How far behind what a request wants a fill of the whole may be for it to wait, bytes: a few seconds of a slow origin.
pub(super) const AHEAD_MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Fields that make a request more than "these bytes, please": such a one goes to the origin as it is.
const CONDITIONS: [header::HeaderName; 4] =
    [header::IF_MATCH, header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE, header::IF_UNMODIFIED_SINCE];

/// Whether a request asks for a range and nothing else out of the ordinary.
pub(super) fn is_plain_range(headers: &HeaderMap) -> bool {
    headers.get_all(header::RANGE).iter().count() == 1
        && !CONDITIONS.iter().any(|name| headers.contains_key(name))
}

/// The part a request wants, as it says it: with the version it wants it of.
pub(super) fn wanted_of(headers: &HeaderMap) -> Option<String> {
    let range = headers.get(header::RANGE)?;
    let mut wanted = String::from_utf8_lossy(range.as_bytes()).into_owned();
    if let Some(version) = headers.get(header::IF_RANGE) {
        // No field's value holds one.
        wanted.push('\n');
        wanted.push_str(&String::from_utf8_lossy(version.as_bytes()));
    }
    Some(wanted)
}

/// What a stored part is to this request, given what policy says of its age.
pub(super) fn judge(entry: &Entry, facts: &RequestFacts<'_>, by_age: ReuseDecision) -> ReuseDecision {
    // What is stale is not worth asking about: parts are fetched as they are wanted.
    if by_age.verdict == Verdict::Pass {
        return by_age;
    }
    if by_age.verdict != Verdict::Serve {
        let reason = match by_age.reason {
            Lookup::StaleWhileRevalidate => Lookup::Expired,
            reason => reason,
        };
        return ReuseDecision { verdict: Verdict::Refetch, reason, ..by_age };
    }
    let missing = |verdict| ReuseDecision { verdict, reason: Lookup::PartMissing, ..by_age };
    if facts.method != http::Method::GET {
        return missing(Verdict::Pass);
    }
    match entry.body() {
        Body::Parts(parts) => match wanted(entry, parts, facts.headers) {
            // Put together, without anybody having asked for the whole yet.
            Wanted::Whole if parts.slice(0, parts.total_bytes()).is_some() => by_age,
            Wanted::Range(start, end) if parts.slice(start, end).is_some() => by_age,
            Wanted::Other => missing(Verdict::Pass),
            _ => missing(Verdict::Complete),
        },
        Body::Verbatim(verbatim) => {
            let asked = facts.headers.get(header::RANGE).map(HeaderValue::as_bytes);
            let same =
                asked == Some(verbatim.range.as_bytes()) && !facts.headers.contains_key(header::IF_RANGE);
            if same { by_age } else { missing(Verdict::Refetch) }
        }
        _ => by_age,
    }
}

fn wanted(entry: &Entry, parts: &Parts, request: &HeaderMap) -> Wanted {
    samovar_policy::wanted(request, &entry.headers(), parts.total_bytes())
}

/// The answer out of a stored part that [`judge`] found to hold what is wanted.
pub(super) fn reply(entry: &Arc<Entry>, request: &HeaderMap, decision: &ReuseDecision) -> Option<Reply> {
    let mut headers = entry.headers();
    let mut status = StatusCode::PARTIAL_CONTENT;
    let pieces: Vec<Bytes> = match entry.body() {
        Body::Parts(parts) => match wanted(entry, parts, request) {
            Wanted::Range(start, end) => {
                headers.insert(header::CONTENT_RANGE, content_range(start, end, parts.total_bytes())?);
                parts.slice(start, end)?
            }
            Wanted::Whole => {
                status = StatusCode::OK;
                parts.slice(0, parts.total_bytes())?
            }
            Wanted::Other => return None,
        },
        Body::Verbatim(verbatim) => verbatim.chunks.parts(),
        _ => return None,
    };
    let bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
    Some(Reply {
        status,
        headers,
        body: ReplyBody::Source(super::body::Source::Parts(pieces.into(), bytes)),
        tier: Tier::Memory,
        word: "hit",
        reason: decision.reason.code(),
        age_ms: Some(decision.age_ms),
        status_field: CacheStatus {
            hit: true,
            ttl_s: super::look::ttl_s(decision.ttl_ms),
            detail: Some(decision.reason.code()),
            ..CacheStatus::default()
        },
        selectable: true,
        own_fields: Vec::new(),
    })
}

fn content_range(start: u64, end: u64, total: u64) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("bytes {start}-{}/{total}", end.checked_sub(1)?)).ok()
}

/// Fetches a range for a request, and keeps what comes.
pub(super) async fn fetch(mut x: Box<Exchange>, route: Route, ticket: Ticket, why: Lookup) -> Ready {
    let joined = ticket.join();
    let (tell, told) = oneshot::channel();
    let mut job = fill::job(&x, &route, None);
    job.question = Question::of(&x, &route).settled();
    let interims = interim::of(&x);
    job.question.interim.clone_from(&interims);
    tokio::task::spawn_local(run(job, ticket, tell));
    match interim::passing(&mut x, interims, told).await {
        Ok(told) => fill::ready(x, route, joined, told, why, None).await,
        Err(_) => fill::stopping(x, route),
    }
}

async fn run(job: Job, ticket: Ticket, tell: oneshot::Sender<Told>) {
    let requested = clock::now();
    let result = wanted::attempt(job.question.clone(), &ticket, job.background).await;
    let times = Times { requested, answered: clock::now() };
    match result {
        Ok(got) if got.answer.status == StatusCode::PARTIAL_CONTENT => {
            keep(job, ticket, tell, got, times).await;
        }
        Ok(got) if got.answer.status == StatusCode::RANGE_NOT_SATISFIABLE => {
            // Says nothing of the whole, so nothing is remembered of the key.
            ticket.not_storable(Store::StatusNotStorable, 0);
            let mut got = got;
            let mut facts = super::pass::attempt_facts(&mut got);
            facts.push(Fact::Store(Store::StatusNotStorable));
            let _gone = tell.send(Told { facts, outcome: fill::Outcome::Alone(got) });
        }
        Ok(got) => fill::on_head(job, ticket, tell, got, times).await,
        Err(problem) => fill::on_failure(&job, ticket, tell, problem),
    }
}

/// A 206 came to a request for a range.
async fn keep(job: Job, ticket: Ticket, tell: oneshot::Sender<Told>, mut got: Box<Got>, times: Times) {
    let mut announced = attempt::announced(&got.answer.body);
    let kind = samovar_policy::part_use(&got.answer.headers, announced);
    if let PartUse::Cut(part) = kind {
        // Said by the range, where the body's own length is not said.
        announced = Some(part.end - part.start);
    }
    let judged = Answer {
        // RFC 9111 §3.3: stored by the rules of the whole.
        status: StatusCode::OK,
        headers: got.answer.headers.clone(),
        body: AnswerBody::Empty,
        timing: got.answer.timing,
    };
    let job = if kind == PartUse::Verbatim { job.explicit_only() } else { job };
    let (more, decision) = keep::decide(&job, &ticket, &judged, times, announced, &got);
    let mut facts = super::pass::attempt_facts(&mut got);
    facts.extend(more);
    let Some(freshness) = decision.freshness else {
        facts.push(Fact::Store(decision.reason));
        ticket.not_storable(decision.reason, 0);
        let _gone = tell.send(Told { facts, outcome: fill::Outcome::Alone(got) });
        return;
    };
    let mut head = keep::entry_head(&job, &mut got, freshness, Store::PartStored, times);
    head.status = StatusCode::PARTIAL_CONTENT;
    let own_fields = samovar_policy::fields_of_one(&got.answer.headers);
    let range = job.question.headers.get(header::RANGE).and_then(|value| value.to_str().ok());
    let range: Box<str> = range.unwrap_or_default().into();
    let max_bytes = wishes_for(&job.question.snapshot, &job.question.route, got.ours).max_bytes;
    let mut sink = ticket.store(head, announced, max_bytes, times.answered.mono_ms);
    fill::tell_shared(tell, facts, own_fields, &sink, Store::PartStored).await;
    let came = match take_in::take_in(&job, &mut sink, got.answer.body, announced).await {
        Ok(()) => match kind {
            PartUse::Verbatim => sink.finish_verbatim(range, clock::mono_ms()),
            PartUse::Cut(part) => sink.finish_part(part.total, part.start, clock::mono_ms()),
        },
        Err(broken) => Err(broken.end(sink)),
    };
    if let Err(reason) = came {
        job.note_late(reason);
    }
}

/// The parts held already, if the new one is of the same representation.
fn of_the_same(entry: &Entry, new: &HeaderMap, kind: PartUse) -> Option<Arc<Parts>> {
    match (entry.body(), kind) {
        (Body::Parts(parts), PartUse::Cut(part)) => {
            let same = parts.total_bytes() == part.total
                && samovar_policy::same_representation(&entry.headers(), new);
            same.then(|| Arc::clone(parts))
        }
        _ => None,
    }
}

/// The whole is asked for and parts of it are here: the origin is asked for the rest.
pub(super) async fn complete(job: Job, ticket: Ticket, tell: oneshot::Sender<Told>, entry: Arc<Entry>) {
    let requested = clock::now();
    let mut gap = None;
    let mut question = job.question.clone();
    if let Body::Parts(parts) = entry.body() {
        let total = parts.total_bytes();
        gap = samovar_policy::missing(&parts.held(), total).map(|(start, end)| Part { start, end, total });
    }
    if let Some(part) = gap
        && let Some(range) = samovar_policy::range_field((part.start, part.end), part.total)
    {
        question.headers.insert(header::RANGE, range);
        if let Some(validator) = samovar_policy::if_range(&entry.headers()) {
            question.headers.insert(header::IF_RANGE, validator);
        }
    }
    let asked_part = question.headers.contains_key(header::RANGE);
    let mut result = wanted::attempt(question, &ticket, job.background).await;
    if let (Ok(got), Some(part)) = (&mut result, gap)
        && got.answer.status == StatusCode::PARTIAL_CONTENT
        && let Some(held) = fits(&entry, got, part)
    {
        let times = Times { requested, answered: clock::now() };
        // Without a `Date` the rest is of the moment it came; the stored one's would make it as old as what is here.
        let rest = keep::dated(&got.answer.headers, times.answered.wall_ms);
        let headers = samovar_policy::combined_fields(&entry.headers(), &rest);
        let whole =
            Answer { status: StatusCode::OK, headers, body: AnswerBody::Empty, timing: got.answer.timing };
        let (facts, decision) = keep::decide(&job, &ticket, &whole, times, Some(part.total), got);
        if let Some(freshness) = decision.freshness {
            let body = std::mem::replace(&mut got.answer.body, AnswerBody::Empty);
            got.answer.status = StatusCode::OK;
            got.answer.headers = whole.headers;
            let mut all = super::pass::attempt_facts(got);
            all.extend(facts);
            let mut head = keep::entry_head(&job, got, freshness, Store::Completed, times);
            with_tags_of(&mut head, &entry);
            let own_fields = samovar_policy::fields_of_one(&got.answer.headers);
            let wishes = wishes_for(&job.question.snapshot, &job.question.route, got.ours);
            let (min_bytes, max_bytes) = (wishes.min_bytes, wishes.max_bytes);
            let mut sink = ticket.store(head, Some(part.total), max_bytes, times.answered.mono_ms);
            fill::tell_shared(tell, all, own_fields, &sink, Store::Completed).await;
            held.slice(0, part.start).into_iter().flatten().for_each(|piece| sink.push(piece));
            let came = match take_in::take_in(&job, &mut sink, body, Some(part.end)).await {
                Ok(()) => {
                    let rest = held.slice(part.end, part.total).into_iter().flatten();
                    rest.for_each(|piece| sink.push(piece));
                    sink.finish(min_bytes, clock::mono_ms()).map(|_| ())
                }
                Err(broken) => Err(broken.end(sink)),
            };
            if came == Err(Store::Incomplete) {
                // The rest was not what it said it was. The next one asks for the whole.
                job.doubt(&entry);
            }
            if let Err(reason) = came {
                job.note_late(reason);
            }
            return;
        }
    }
    // An origin that sends the whole is taken at its word. What is no part of what is here, or cannot be kept, is of
    // no use to a client that wants the whole: it is asked for, once.
    let useless = |got: &Got| {
        matches!(
            got.answer.status,
            StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE | StatusCode::NOT_MODIFIED
        )
    };
    let mut requested = requested;
    if asked_part && result.as_ref().is_ok_and(|got| useless(got)) {
        requested = clock::now();
        result = wanted::attempt(job.question.clone(), &ticket, job.background).await;
    }
    let times = Times { requested, answered: clock::now() };
    match result {
        Ok(got) => fill::on_head(job, ticket, tell, got, times).await,
        Err(problem) => fill::on_failure(&job, ticket, tell, problem),
    }
}

/// What is put together carries the tags of all its parts, so that a purge of one of them finds it.
fn with_tags_of(head: &mut EntryHead, held: &Entry) {
    head.tags.extend(keep::tags_beside(&head.tags, held.tags()));
}

/// The parts held, if the answer is exactly what is missing of them.
fn fits(entry: &Entry, got: &Got, gap: Part) -> Option<Arc<Parts>> {
    let kind = samovar_policy::part_use(&got.answer.headers, attempt::announced(&got.answer.body));
    if kind != PartUse::Cut(gap) {
        return None;
    }
    of_the_same(entry, &got.answer.headers, kind)
}
