//! A fetch for the cache. It is a task of its own and belongs to the cache, not to the request that began it:
//! it goes on when its client leaves, if anyone waits or the rest is worth having.

use super::attempt::{self, Got, Problem, Question};
use super::exchange::{Exchange, Route};
use super::look::{growing_source, serve, ttl_s};
use super::reply::{Reply, ReplyBody};
use super::respond::Ready;
use super::route::wishes_for;
use super::{finish, interim, keep, part, pass, take_in, wanted};
use crate::clock;
use crate::state::Shared;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use samovar_cache::{Decided, Entry, EntryHead, FillFailure, Joined, Sink, State, Ticket};
use samovar_origin::{Answer, AnswerBody};
use samovar_policy::{CacheStatus, Exchange as Times, ReuseDecision, Verdict};
use samovar_reason::{Explain, Lookup, Store, Upstream};
use samovar_trace::{Fact, Tier};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::oneshot;

/// How long it is remembered that a key's answers cannot be stored, ms.
const NOT_STORABLE_MS: u64 = 10_000;

/// What a fill needs to outlive its request.
pub(super) struct Job {
    pub(super) shared: Arc<Shared>,
    pub(super) question: Box<Question>,
    pub(super) any_cookies: bool,
    base: Option<(Arc<Entry>, ReuseDecision)>,
    late: Rc<RefCell<Vec<Fact>>>,
    /// Stored only on the origin's own explicit word for how long it is fresh.
    pub(super) explicit_only: bool,
    /// Nobody reads it, and it is wanted all the same: it takes the place of what is served stale meanwhile.
    pub(super) background: bool,
}

/// What the request that began a fill is told when the head has decided.
pub(super) struct Told {
    pub(super) facts: Vec<Fact>,
    pub(super) outcome: Outcome,
}

impl Job {
    /// Keeps only what the origin itself gives a lifetime (RFC 9110 §9.3.3).
    pub(super) fn explicit_only(mut self) -> Job {
        self.explicit_only = true;
        self
    }

    /// What was built upon did not bear it: it is not used again.
    pub(super) fn doubt(&self, entry: &Entry) {
        self.shared.cache.doubt(entry);
    }

    /// Notes in the request's record why it could not be stored after all.
    pub(super) fn note_late(&self, reason: Store) {
        self.late.borrow_mut().push(Fact::Store(reason));
    }
}

pub(super) enum Outcome {
    /// Look at the fill: it streams, was confirmed, or may be served stale.
    Shared {
        /// Fields of the answer that are not stored and belong to this request alone.
        own_fields: Vec<(HeaderName, HeaderValue)>,
        store: Store,
    },
    /// The answer is this request's alone.
    Alone(Box<Got>),
    /// A 304 confirmed the entry, but the answer is not to be kept: this request's alone.
    Confirmed { entry: Arc<Entry>, headers: Box<HeaderMap>, own_fields: Vec<(HeaderName, HeaderValue)> },
    /// The origin failed.
    Failed(Box<Problem>),
}

/// Fetches for a request, and for all who join.
pub async fn fetch(
    mut x: Box<Exchange>,
    route: Route,
    ticket: Ticket,
    why: Lookup,
    base: Option<(Arc<Entry>, ReuseDecision)>,
) -> Ready {
    let joined = ticket.join();
    let (tell, told) = oneshot::channel();
    let mut job = job(&x, &route, base.clone());
    let interims = interim::of(&x);
    job.question.interim.clone_from(&interims);
    tokio::task::spawn_local(run(job, ticket, tell));
    let Ok(told) = interim::passing(&mut x, interims, told).await else {
        return stopping(x, route);
    };
    ready(x, route, joined, told, why, base).await
}

/// Why the answer was not stored.
fn refusal(facts: &[Fact]) -> Option<&'static str> {
    facts.iter().rev().find_map(|fact| match fact {
        Fact::Store(reason) => Some(reason.code()),
        _ => None,
    })
}

/// The fill's task was stopped with the server.
pub(super) fn stopping(x: Box<Exchange>, route: Route) -> Ready {
    let failure = FillFailure { reason: Upstream::Reset, detail: "the server is stopping".into() };
    Problem::of_fill(&failure).into_ready(x, Some(route))
}

/// The answer for the request that began a fill, once the head has decided.
pub(super) async fn ready(
    mut x: Box<Exchange>,
    route: Route,
    joined: Joined,
    told: Told,
    why: Lookup,
    base: Option<(Arc<Entry>, ReuseDecision)>,
) -> Ready {
    x.facts.extend(told.facts);
    match told.outcome {
        Outcome::Failed(problem) => problem.into_ready(x, Some(route)),
        Outcome::Alone(got) => {
            let mut reply = pass::alone(got, "miss", why);
            // What the client wants to know is not that nothing was there, but why nothing will be.
            if let Some(code) = refusal(&x.facts) {
                reply.reason = code;
                reply.status_field.detail = Some(code);
            }
            Ready::new(x, Some(route), reply)
        }
        Outcome::Confirmed { entry, headers, own_fields } => {
            let mut reply = confirmed(&entry, x.at.mono_ms, why);
            reply.headers = *headers;
            reply.own_fields = own_fields;
            reply.status_field.stored = false;
            Ready::new(x, Some(route), reply)
        }
        Outcome::Shared { own_fields, store } => match joined.decided().await {
            Decided::Stream(entry) => match growing_source(&entry) {
                Some(source) => {
                    let reply = filled(&entry, source, why, store, own_fields);
                    Ready::new(x, Some(route), reply)
                }
                None => {
                    let failure =
                        FillFailure { reason: Upstream::ClientGone, detail: "the body is gone".into() };
                    Problem::of_fill(&failure).into_ready(x, Some(route))
                }
            },
            Decided::Refreshed(entry) => {
                let mut reply = confirmed(&entry, clock::mono_ms(), why);
                reply.status_field.stored = store == Store::Refreshed;
                reply.own_fields = own_fields;
                Ready::new(x, Some(route), reply)
            }
            Decided::Stale(entry) => {
                let mut decision = base.map_or(STALE, |(_, d)| d);
                decision.reason = stale_reason(&decision);
                let now = clock::now();
                decision.age_ms = samovar_policy::age_ms(&entry.freshness(), now);
                decision.ttl_ms = samovar_policy::ttl_ms(&entry.freshness(), now);
                x.note(Fact::Lookup(decision.reason, Some(decision.age_ms as i64), Some(decision.ttl_ms)));
                serve(x, route, entry, &decision)
            }
            Decided::NotStorable(_) | Decided::Failed(_) => {
                let failure =
                    FillFailure { reason: Upstream::Reset, detail: "the fetch was given up".into() };
                Problem::of_fill(&failure).into_ready(x, Some(route))
            }
        },
    }
}

/// Why a stale answer is sent, once the origin has failed.
pub(super) fn stale_reason(decision: &ReuseDecision) -> Lookup {
    match decision.verdict {
        Verdict::Revalidate { stale_if_error: false } => Lookup::StaleUnreachable,
        _ => Lookup::StaleIfError,
    }
}

const STALE: ReuseDecision =
    ReuseDecision { verdict: Verdict::Serve, reason: Lookup::StaleIfError, age_ms: 0, ttl_ms: -1 };

/// Refreshes a stale entry while it is being served.
pub fn refresh_beside(x: &Exchange, route: &Route, ticket: Ticket, entry: Arc<Entry>) {
    let decision = ReuseDecision { verdict: Verdict::Revalidate { stale_if_error: true }, ..STALE };
    let mut job = job(x, route, Some((entry, decision)));
    job.background = true;
    // It is in the refresh's own record that what it finds is told.
    job.late = Rc::default();
    job.question.acting = job.question.acting.take().map(|acting| acting.told_to(&job.late));
    job.question.method = Method::GET;
    let (tell, mut told) = oneshot::channel();
    let (core, at) = (Rc::clone(&x.core), clock::now());
    let late = Rc::clone(&job.late);
    let key = Fact::Key(Arc::clone(&route.key));
    tokio::task::spawn_local(async move {
        run(job, ticket, tell).await;
        let mut facts = vec![key];
        if let Ok(told) = told.try_recv() {
            facts.extend(told.facts);
            if let Outcome::Failed(problem) = told.outcome {
                facts.extend(problem.into_facts());
            }
        }
        facts.append(&mut late.borrow_mut());
        finish::record_refresh(&core, at, facts);
    });
}

pub(super) fn job(x: &Exchange, route: &Route, base: Option<(Arc<Entry>, ReuseDecision)>) -> Job {
    Job {
        shared: Arc::clone(&x.core.shared),
        any_cookies: x.headers.contains_key(header::COOKIE),
        question: Question::of(x, route).whole(),
        base,
        late: Rc::clone(&x.late),
        explicit_only: false,
        background: false,
    }
}

async fn run(job: Job, ticket: Ticket, tell: oneshot::Sender<Told>) {
    if let Some((base, decision)) = &job.base
        && decision.verdict == Verdict::Complete
    {
        let base = Arc::clone(base);
        let job = Job { base: None, ..job };
        return part::complete(job, ticket, tell, base).await;
    }
    let requested = clock::now();
    let mut question = job.question.clone();
    if let Some((base, _)) = &job.base {
        for (name, value) in samovar_policy::conditional_fields(&base.headers()) {
            question.headers.insert(name, value);
        }
    }
    let mut result = wanted::attempt(question, &ticket, job.background).await;
    if result.as_ref().is_ok_and(|got| speaks_of_another(got, &job)) {
        // RFC 9111 §4.3.4: what it confirms is not what is stored; ask again, for the whole.
        result = wanted::attempt(job.question.clone(), &ticket, job.background).await;
    }
    if result.as_ref().is_ok_and(|got| got.answer.status == StatusCode::NOT_MODIFIED && !confirms(got, &job))
    {
        result = Err(Box::new(Problem::unasked_304("")));
    }
    let times = Times { requested, answered: clock::now() };
    match result {
        Ok(got) => on_head(job, ticket, tell, got, times).await,
        Err(problem) => on_failure(&job, ticket, tell, problem),
    }
}

/// The origin gave no answer: a stale entry if one may be used, the failure for everyone else.
pub(super) fn on_failure(job: &Job, ticket: Ticket, tell: oneshot::Sender<Told>, problem: Box<Problem>) {
    if let Some(base) = usable_stale(job, Some(problem.failure.reason)) {
        ticket.stale(base);
        let outcome = Outcome::Shared { own_fields: Vec::new(), store: Store::Bypassed };
        let _gone = tell.send(Told { facts: problem.into_facts(), outcome });
        return;
    }
    // A "no" of our own files is not a failure that others should share: each finds out for itself, quickly.
    match &problem.fact {
        Fact::Files(..) => ticket.not_storable(Store::Bypassed, 0),
        _ => ticket.fail(problem.failure.clone()),
    }
    let _gone = tell.send(Told { facts: Vec::new(), outcome: Outcome::Failed(problem) });
}

/// What is stored, if it may stand in for the origin: one that answered with an error, or gave no answer for this reason.
fn usable_stale(job: &Job, why: Option<Upstream>) -> Option<Arc<Entry>> {
    let (base, decision) = job.base.as_ref()?;
    let unreachable = why.is_some_and(samovar_policy::is_unreachable);
    let allowed = samovar_policy::may_stand_in(&base.freshness(), decision, clock::now(), unreachable);
    (allowed && base.state() != State::Dead).then(|| Arc::clone(base))
}

fn confirms(got: &Got, job: &Job) -> bool {
    job.base.as_ref().is_some_and(|(base, _)| samovar_policy::confirms(&base.headers(), &got.answer.headers))
}

fn speaks_of_another(got: &Got, job: &Job) -> bool {
    got.answer.status == StatusCode::NOT_MODIFIED && job.base.is_some() && !confirms(got, job)
}

pub(super) async fn on_head(
    job: Job,
    ticket: Ticket,
    tell: oneshot::Sender<Told>,
    mut got: Box<Got>,
    times: Times,
) {
    let mut facts = pass::attempt_facts(&mut got);
    if let Some((base, _)) = &job.base {
        let confirmed = got.answer.status == StatusCode::NOT_MODIFIED || same_file(base, &got);
        if confirmed {
            return on_confirmed(&job, ticket, tell, facts, Arc::clone(base), &mut got, times);
        }
        // RFC 5861 §4: an error of the origin may be answered by what it said before.
        if samovar_policy::is_failure(got.answer.status)
            && let Some(stale) = usable_stale(&job, None)
        {
            ticket.stale(stale);
            let outcome = Outcome::Shared { own_fields: Vec::new(), store: Store::Bypassed };
            let _gone = tell.send(Told { facts, outcome });
            return;
        }
    }
    let snapshot = Arc::clone(&job.question.snapshot);
    let wishes = wishes_for(&snapshot, &job.question.route, got.ours);
    let announced = attempt::announced(&got.answer.body);
    let (more, decision) = keep::decide(&job, &ticket, &got.answer, times, announced, &got);
    facts.extend(more);
    let Some(freshness) = decision.freshness else {
        facts.push(Fact::Store(decision.reason));
        let of_the_key = keep::is_of_the_key(decision.reason, got.answer.status);
        let until_ms = if of_the_key { times.answered.mono_ms + NOT_STORABLE_MS } else { 0 };
        if of_the_key && let Some((base, _)) = &job.base {
            // What is stored is not the answer any more, and must not come back when the origin fails.
            job.shared.cache.drop_entry(base);
        }
        ticket.not_storable(decision.reason, until_ms);
        let _gone = tell.send(Told { facts, outcome: Outcome::Alone(got) });
        return;
    };
    let head = keep::entry_head(&job, &mut got, freshness, decision.reason, times);
    let own_fields = samovar_policy::fields_of_one(&got.answer.headers);
    let (min_bytes, max_bytes) = (wishes.min_bytes, wishes.max_bytes);
    let mut sink = ticket.store(head, announced, max_bytes, times.answered.mono_ms);
    tell_shared(tell, facts, own_fields, &sink, decision.reason).await;
    let came = match take_in::take_in(&job, &mut sink, got.answer.body, announced).await {
        Ok(()) => sink.finish(min_bytes, clock::mono_ms()).map(|_| ()),
        Err(broken) => Err(broken.end(sink)),
    };
    if let Err(reason) = came {
        job.note_late(reason);
        if let (
            Some((base, _)),
            Store::TooLarge | Store::EntryTooLarge | Store::TooSmall | Store::BudgetTooSmall,
        ) = (&job.base, reason)
        {
            // It came whole, and is the answer now, though it cannot be kept.
            job.shared.cache.drop_entry(base);
        }
    }
}

/// Tells the request that began a fill that it streams. Whoever began it reads along from its first byte: the answer is
/// told before a byte is taken in.
pub(super) async fn tell_shared(
    tell: oneshot::Sender<Told>,
    mut facts: Vec<Fact>,
    own_fields: Vec<(HeaderName, HeaderValue)>,
    sink: &Sink,
    store: Store,
) {
    let store = if sink.is_overtaken() { Store::PurgedInFlight } else { store };
    facts.push(Fact::Store(store));
    let outcome = Outcome::Shared { own_fields, store };
    if tell.send(Told { facts, outcome }).is_ok() {
        // Lets the request begin to read, so that "nobody reads" cannot be true by accident of order.
        tokio::task::yield_now().await;
    }
}

/// Our own files know without a transfer that nothing changed: the validator is the same.
fn same_file(base: &Entry, got: &Got) -> bool {
    let tag = got.answer.headers.get(header::ETAG);
    got.ours
        && got.answer.status == StatusCode::OK
        && tag.is_some()
        && tag == base.headers().get(header::ETAG)
}

pub(super) fn on_confirmed(
    job: &Job,
    ticket: Ticket,
    tell: oneshot::Sender<Told>,
    mut facts: Vec<Fact>,
    base: Arc<Entry>,
    got: &mut Got,
    times: Times,
) {
    let snapshot = Arc::clone(&job.question.snapshot);
    let wishes = wishes_for(&snapshot, &job.question.route, got.ours);
    // Without a `Date` it is of the moment it came; the stored one's would make it as old as what it confirms.
    let confirming = keep::dated(&got.answer.headers, times.answered.wall_ms);
    let headers = samovar_policy::merge_304(&base.headers(), &confirming);
    let merged =
        Answer { status: base.status(), headers, body: AnswerBody::Empty, timing: got.answer.timing };
    let decision = keep::judge(job, &ticket, &merged, &wishes, times, base.len_bytes(), &got.tags);
    facts.push(Fact::Lookup(Lookup::Revalidated, None, None));
    let Some(freshness) = decision.freshness else {
        facts.push(Fact::Store(decision.reason));
        if keep::is_of_the_key(decision.reason, merged.status) {
            // From now on it is not to be kept, and so not to be given to anyone else.
            job.shared.cache.drop_entry(&base);
        }
        ticket.not_storable(decision.reason, 0);
        let own_fields = samovar_policy::fields_of_one(&got.answer.headers);
        let outcome = Outcome::Confirmed { entry: base, headers: Box::new(merged.headers), own_fields };
        let _gone = tell.send(Told { facts, outcome });
        return;
    };
    // A 304 need not repeat what was said: groups are read from the merged head, and tags are kept where it has none.
    let silent = got.tags.is_empty();
    let mut tags = keep::tags(got, &merged.headers, freshness.source, &snapshot, &job.question.route);
    if silent {
        let mut kept = keep::tags_beside(&tags, base.tags());
        kept.retain(|tag| !tag.starts_with(keep::GROUP));
        tags.append(&mut kept);
    }
    let head = EntryHead {
        status: base.status(),
        headers: keep::dated(
            &samovar_policy::stored_fields(&merged.headers, &wishes),
            times.answered.wall_ms,
        ),
        freshness,
        // What it varies by may be said only now; this request is the one that both answers are for.
        vary: keep::vary_of(job, &merged.headers),
        tags,
        reason: Store::Refreshed,
        rule: keep::mark(job),
        epoch: snapshot.epoch,
    };
    let (_, stored) = ticket.refresh(&base, head, times.answered.mono_ms);
    let store = stored.err().unwrap_or(Store::Refreshed);
    facts.push(Fact::Store(store));
    facts.push(Fact::Lifetime(freshness.source, samovar_policy::lifetime_given_ms(&freshness)));
    let own_fields = samovar_policy::fields_of_one(&got.answer.headers);
    let outcome = Outcome::Shared { own_fields, store };
    let _gone = tell.send(Told { facts, outcome });
}

fn filled(
    entry: &Arc<Entry>,
    source: super::body::Source,
    why: Lookup,
    store: Store,
    own_fields: Vec<(HeaderName, HeaderValue)>,
) -> Reply {
    Reply {
        status: entry.status(),
        headers: entry.headers(),
        body: ReplyBody::Source(source),
        tier: Tier::Origin,
        word: "miss",
        reason: why.code(),
        // What the origin itself had it from (RFC 9111 §5.1).
        age_ms: Some(entry.freshness().initial_age_ms).filter(|ms| *ms >= 1_000),
        status_field: CacheStatus {
            fwd: samovar_policy::fwd_of(why),
            stored: store != Store::PurgedInFlight,
            ttl_s: ttl_s(samovar_policy::ttl_ms(&entry.freshness(), clock::now())),
            detail: Some(store.code()),
            ..CacheStatus::default()
        },
        selectable: entry.status() == StatusCode::OK,
        own_fields,
    }
}

/// An answer out of an entry that the origin has just confirmed.
fn confirmed(entry: &Arc<Entry>, now_ms: u64, why: Lookup) -> Reply {
    let now = samovar_policy::Now { mono_ms: now_ms, wall_ms: 0 };
    let ttl_ms = samovar_policy::ttl_ms(&entry.freshness(), now);
    Reply {
        status: entry.status(),
        headers: entry.headers(),
        body: ReplyBody::Entry(Arc::clone(entry)),
        tier: Tier::Memory,
        word: "revalidated",
        reason: Lookup::Revalidated.code(),
        age_ms: Some(samovar_policy::age_ms(&entry.freshness(), now)),
        status_field: CacheStatus {
            // It was asked for because it was stale, or because the request wanted that (RFC 9211 §2.2).
            fwd: samovar_policy::fwd_of(why).filter(|word| *word == "request").or(Some("stale")),
            fwd_status: Some(304),
            stored: true,
            ttl_s: ttl_s(ttl_ms),
            detail: Some(Lookup::Revalidated.code()),
            ..CacheStatus::default()
        },
        selectable: entry.status() == StatusCode::OK,
        own_fields: Vec::new(),
    }
}
