//! Looked: the cache was asked, and it is known what follows.

use super::arrive::RequestBody;
use super::exchange::{Exchange, Route};
use super::gate::Admitted;
use super::manner::{self, Manner, manner};
use super::reply::{Reply, ReplyBody};
use super::respond::Ready;
use super::route::{Routed, wishes_for};
use super::{attempt, coding, fill, part, pass, promote};
use crate::state::Snapshot;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use samovar_cache::{Ask, Body as Stored, Decided, Entry, Joined, Step, Ticket};
use samovar_policy::{CacheStatus, RequestFacts, ReuseDecision, VaryValues, Verdict, Wanted, Wishes};
use samovar_reason::{Explain, Lookup, Store};
use samovar_trace::{Fact, Tier};
use std::sync::Arc;
use std::time::Duration;

/// The fourth step.
pub struct Looked {
    x: Box<Exchange>,
    route: Route,
    body: Option<RequestBody>,
    body_bytes: Option<u64>,
    next: Next,
}

/// What follows.
enum Next {
    /// Serve this entry; refresh it beside if there is a ticket.
    Serve(Arc<Entry>, ReuseDecision, Option<Ticket>),
    /// Wait for a fill.
    Join(Joined),
    /// Fetch, with the entry that may be confirmed.
    Fetch(Ticket, Lookup, Option<(Arc<Entry>, ReuseDecision)>),
    /// Fetch a range.
    Part(Ticket, Lookup),
    /// Ask the origin past the cache.
    Pass(Lookup),
}

/// How long a request waits for the head of a fetch it has joined; then it goes alone.
const JOIN_MAX: Duration = Duration::from_secs(65);

/// A request whose fill turned out to vary otherwise asks again this often, then it goes alone.
const ASK_AGAIN_MAX: usize = 3;

/// Asks the cache.
pub(super) fn look(Admitted(routed): Admitted) -> Looked {
    let Routed { mut x, route, body, body_bytes } = routed;
    let next = ask(&mut x, &route, false);
    Looked { x, route, body, body_bytes, next }
}

fn ask(x: &mut Exchange, route: &Route, alone: bool) -> Next {
    let snapshot = Arc::clone(&x.snapshot);
    let wishes = wishes_for(&snapshot, route, false);
    if x.has_body {
        return Next::Pass(note_pass(x, Lookup::RequestBody));
    }
    let facts = x.facts_for(route);
    let manner = match manner(&snapshot, route, &facts, &wishes) {
        Ok(manner) => manner,
        Err(reason) => return Next::Pass(note_pass(x, reason)),
    };
    // Such a request's answer may be storable or not for it alone: it neither waits nor makes others wait.
    let personal = route.relevant_cookies || x.headers.contains_key(header::AUTHORIZATION);
    let step = with_ask(&snapshot, route, &facts, &wishes, x.at, alone || personal, |ask| {
        if manner == Manner::Fills {
            return Ok(x.core.shared.cache.begin(ask));
        }
        let (found, why, _) = x.core.shared.cache.peek(ask);
        manner::of_stored(found, why, &x.headers)
            .map(|(entry, decision)| Step::ServeAndRefresh(entry, decision, None))
    });
    let step = match step {
        Ok(step) => step,
        Err(reason) => return Next::Pass(note_pass(x, reason)),
    };
    match step {
        Step::Serve(entry, decision) => {
            note_lookup(x, &decision);
            Next::Serve(entry, decision, None)
        }
        Step::ServeAndRefresh(entry, decision, ticket) => {
            note_lookup(x, &decision);
            Next::Serve(entry, decision, ticket)
        }
        Step::Join(joined) => Next::Join(joined),
        Step::Fetch(ticket, reason, base) => {
            x.note(Fact::Lookup(
                reason,
                base.as_ref().map(|b| b.1.age_ms as i64),
                base.as_ref().and_then(|(entry, _)| samovar_policy::shown_ttl_ms(&entry.freshness(), x.at)),
            ));
            if x.headers.contains_key(header::RANGE) {
                return for_range(ticket, reason, base);
            }
            if manner::goes_as_it_is(reason, &x.headers) {
                return Next::Pass(reason);
            }
            Next::Fetch(ticket, reason, base)
        }
        Step::Pass(decision) => {
            let why = manner::of_stored(None, decision.reason, &x.headers);
            Next::Pass(note_pass(x, why.err().unwrap_or(decision.reason)))
        }
    }
}

/// What a request for a range fetches: the whole where it only needs to be confirmed, else the range.
fn for_range(ticket: Ticket, reason: Lookup, base: Option<(Arc<Entry>, ReuseDecision)>) -> Next {
    match base {
        Some((entry, decision))
            if decision.verdict != Verdict::Complete && entry.freshness().has_validator =>
        {
            Next::Fetch(ticket, reason, Some((entry, decision)))
        }
        _ => Next::Part(ticket, reason),
    }
}

fn note_pass(x: &mut Exchange, reason: Lookup) -> Lookup {
    x.note(Fact::Lookup(reason, None, None));
    reason
}

fn note_lookup(x: &mut Exchange, decision: &ReuseDecision) {
    x.note(Fact::Lookup(decision.reason, Some(decision.age_ms as i64), Some(decision.ttl_ms)));
}

/// Builds the question for the cache out of the pure rooms' answers; `explain` asks the same.
pub(crate) fn with_ask<T>(
    snapshot: &Snapshot,
    route: &Route,
    facts: &RequestFacts<'_>,
    wishes: &Wishes,
    now: samovar_policy::Now,
    alone: bool,
    then: impl FnOnce(&Ask<'_>) -> T,
) -> T {
    let rule = route.rule_in(snapshot);
    let normalise = |name: &http::HeaderName, headers: &HeaderMap| -> Option<HeaderValue> {
        match rule {
            Some(rule) => rule.normaliser()(name, headers),
            None => samovar_rules::normalise_by_meaning(name, headers),
        }
    };
    let compared = samovar_policy::Compared::new(facts.headers, &normalise);
    let matches = |values: &VaryValues| compared.matches(values);
    let vary_of = |values: &VaryValues| compared.values(values);
    let judge = |entry: &Entry| judge(entry, snapshot, route, facts, wishes, now);
    let owners = snapshot.owners(route);
    let part = part::wanted_of(facts.headers);
    then(&Ask {
        key: &route.key,
        now_ms: now.mono_ms,
        matches: &matches,
        vary_of: &vary_of,
        judge: &judge,
        admit_after: rule.map_or(0, |r| r.admit_after),
        admit_period_ms: rule.map_or(0, |r| r.admit_period_ms),
        owners: &owners,
        part: part.as_deref(),
        alone,
    })
}

/// Policy's word on an entry, and ours: one stored under a rule that has changed since must be asked for anew.
fn judge(
    entry: &Entry,
    snapshot: &Snapshot,
    route: &Route,
    facts: &RequestFacts<'_>,
    wishes: &Wishes,
    now: samovar_policy::Now,
) -> ReuseDecision {
    let mut decision = samovar_policy::reuse(&entry.freshness(), facts, wishes, now);
    if entry.body().is_part() {
        decision = part::judge(entry, facts, decision);
    }
    let same_rule = snapshot.mark(route.site, route.rule).is_some_and(|mark| mark == entry.rule());
    if !same_rule && decision.verdict != Verdict::Pass {
        decision.verdict = match entry.body().is_part() {
            true => Verdict::Refetch,
            false => Verdict::Revalidate { stale_if_error: false },
        };
        decision.reason = Lookup::RuleChanged;
    }
    decision
}

impl Looked {
    /// The fifth step: an answer is there, its body perhaps still growing.
    pub(super) async fn fetch(self) -> Ready {
        let Looked { mut x, mut route, body, body_bytes, mut next } = self;
        let mut asked_again = 0;
        // What asks the origin is boxed: a hit must not carry its room from place to place.
        loop {
            match next {
                Next::Serve(entry, ..) if coding::unfit(&x.snapshot, &route, &x.headers, &entry) => {
                    next = Next::Pass(note_pass(&mut x, Lookup::CodingUnfit));
                }
                Next::Serve(entry, decision, ticket) => {
                    if let Some(ticket) = ticket {
                        fill::refresh_beside(&x, &route, ticket, Arc::clone(&entry));
                    }
                    return serve(x, route, entry, &decision);
                }
                Next::Pass(_) if samovar_policy::only_if_cached(&x.facts_for(&route)) => {
                    return only_if_cached(x, route);
                }
                Next::Pass(reason) => return Box::pin(pass::pass(x, route, body, body_bytes, reason)).await,
                Next::Fetch(ticket, reason, base) => {
                    return Box::pin(fill::fetch(x, route, ticket, reason, base)).await;
                }
                Next::Part(ticket, reason) => {
                    return Box::pin(part::fetch(x, route, ticket, reason)).await;
                }
                Next::Join(joined) => {
                    let decided = tokio::time::timeout(JOIN_MAX, joined.decided()).await;
                    let alone = match decided {
                        Ok(decided) => match joined_answer(x, route, decided) {
                            Ok(ready) => return ready,
                            Err(again) => {
                                let alone;
                                (x, route, alone) = *again;
                                alone
                            }
                        },
                        Err(_) => {
                            x.note(Fact::Lookup(Lookup::WaitedTooLong, None, None));
                            true
                        }
                    };
                    // Not before it reads along: a fill that nobody waits for or reads may be given up.
                    drop(joined);
                    asked_again += 1;
                    next = ask(&mut x, &route, alone || asked_again > ASK_AGAIN_MAX);
                }
            }
        }
    }
}

/// A request that asks again, and whether it goes alone.
type AskAgain = (Box<Exchange>, Route, bool);

/// What a fill came to, for one that joined it. `Err` to ask again: it varies otherwise, or goes alone.
fn joined_answer(mut x: Box<Exchange>, route: Route, decided: Decided) -> Result<Ready, Box<AskAgain>> {
    let failed = matches!(decided, Decided::Stale(_));
    match decided {
        Decided::Stream(entry) => {
            let snapshot = Arc::clone(&x.snapshot);
            let wishes = wishes_for(&snapshot, &route, false);
            let facts = x.facts_for(&route);
            let (fits, decision) = with_ask(&snapshot, &route, &facts, &wishes, x.at, false, |ask| {
                ((ask.matches)(entry.vary()), (ask.judge)(&entry))
            });
            if !fits {
                return Err(Box::new((x, route, false)));
            }
            // Shared is only what could be reused: "revalidate on every use" holds for those who joined, too
            // (RFC 9111 §4, on collapsed requests).
            if !matches!(decision.verdict, Verdict::Serve | Verdict::ServeAndRefresh) {
                return Err(Box::new((x, route, true)));
            }
            if !soon_enough(&x, &entry) {
                return Err(Box::new((x, route, true)));
            }
            let Some(source) = growing_source(&entry) else { return Err(Box::new((x, route, true))) };
            entry.meter(x.at.mono_ms, hot_period(&x, &route));
            x.note(Fact::Lookup(Lookup::Joined, Some(decision.age_ms as i64), Some(decision.ttl_ms)));
            let reply = joined_reply(&entry, &decision, source);
            Ok(Ready::new(x, Some(route), reply))
        }
        Decided::Refreshed(entry) | Decided::Stale(entry) => {
            let snapshot = Arc::clone(&x.snapshot);
            let wishes = wishes_for(&snapshot, &route, false);
            let facts = x.facts_for(&route);
            // What stands in for a failed origin must be young enough when it failed, not when this request came.
            let at = if failed { crate::clock::now() } else { x.at };
            let (fits, mut decision) = with_ask(&snapshot, &route, &facts, &wishes, at, false, |ask| {
                ((ask.matches)(entry.vary()), (ask.judge)(&entry))
            });
            let stale_allowed =
                failed && samovar_policy::may_stand_in(&entry.freshness(), &decision, at, true);
            if !fits
                || !(matches!(decision.verdict, Verdict::Serve | Verdict::ServeAndRefresh) || stale_allowed)
            {
                return Err(Box::new((x, route, true)));
            }
            // Whoever waited gets what the fill came to, though time went by meanwhile.
            decision.reason =
                if decision.ttl_ms >= 0 { Lookup::Joined } else { fill::stale_reason(&decision) };
            note_lookup(&mut x, &decision);
            Ok(serve(x, route, entry, &decision))
        }
        Decided::NotStorable(reason) => {
            x.note(Fact::Store(reason));
            Err(Box::new((x, route, true)))
        }
        Decided::Failed(failure) => {
            x.note(Fact::Lookup(Lookup::FillDied, None, None));
            let problem = attempt::Problem::of_fill(&failure);
            Ok(problem.into_ready(x, Some(route)))
        }
    }
}

/// Whether a range that is wanted of a growing body is near enough to wait for.
fn soon_enough(x: &Exchange, entry: &Entry) -> bool {
    let Stored::Growing(growing) = entry.body() else { return true };
    if !x.headers.contains_key(header::RANGE) || entry.status() != StatusCode::OK {
        return true;
    }
    let Some(total) = growing.len_bytes() else { return false };
    match samovar_policy::wanted(&x.headers, &entry.headers(), total) {
        Wanted::Range(start, _) => start <= growing.arrived_bytes() + part::AHEAD_MAX_BYTES,
        Wanted::Whole | Wanted::Other => true,
    }
}

pub(super) fn growing_source(entry: &Arc<Entry>) -> Option<super::body::Source> {
    match entry.body() {
        Stored::Growing(growing) => growing.read().map(super::body::Source::Growing),
        _ => None,
    }
}

fn joined_reply(entry: &Arc<Entry>, decision: &ReuseDecision, source: super::body::Source) -> Reply {
    Reply {
        status: entry.status(),
        headers: entry.headers(),
        body: ReplyBody::Source(source),
        tier: Tier::Origin,
        word: "joined",
        reason: Lookup::Joined.code(),
        age_ms: Some(decision.age_ms),
        status_field: CacheStatus {
            fwd: Some("uri-miss"),
            collapsed: true,
            ttl_s: ttl_s(decision.ttl_ms),
            detail: Some(Lookup::Joined.code()),
            ..CacheStatus::default()
        },
        selectable: entry.status() == StatusCode::OK,
        own_fields: Vec::new(),
    }
}

/// Remaining freshness in whole seconds; none for "until changed".
pub(super) fn ttl_s(ttl_ms: i64) -> Option<i64> {
    (ttl_ms != i64::MAX).then_some(ttl_ms.div_euclid(1_000))
}

fn hot_period(x: &Exchange, route: &Route) -> u64 {
    route.rule_in(&x.snapshot).map_or(0, |r| r.hot.period_ms)
}

/// An answer out of a whole entry.
pub(super) fn serve(
    mut x: Box<Exchange>,
    route: Route,
    entry: Arc<Entry>,
    decision: &ReuseDecision,
) -> Ready {
    let reason = decision.reason;
    let word = match reason {
        Lookup::StaleWhileRevalidate | Lookup::StaleIfError | Lookup::StaleUnreachable => "stale",
        Lookup::Revalidated => "revalidated",
        Lookup::Joined => "joined",
        _ => "hit",
    };
    if entry.body().is_part()
        && let Some(reply) = part::reply(&entry, &x.headers, decision)
    {
        x.note(Fact::Selected("range"));
        return Ready::new(x, Some(route), reply);
    }
    promote::consider(&mut x, &route, &entry, decision);
    let reply = Reply {
        status: entry.status(),
        headers: entry.headers(),
        tier: Tier::Memory,
        word,
        reason: reason.code(),
        age_ms: Some(decision.age_ms),
        status_field: CacheStatus {
            hit: word != "revalidated",
            fwd: (word == "revalidated").then_some("stale"),
            fwd_status: (word == "revalidated").then_some(304),
            collapsed: word == "joined",
            ttl_s: ttl_s(decision.ttl_ms),
            detail: Some(reason.code()),
            ..CacheStatus::default()
        },
        selectable: entry.status() == StatusCode::OK,
        own_fields: Vec::new(),
        body: ReplyBody::Entry(entry),
    };
    Ready::new(x, Some(route), reply)
}

fn only_if_cached(mut x: Box<Exchange>, route: Route) -> Ready {
    let why = Lookup::OnlyIfCached;
    x.note(Fact::Lookup(why, None, None));
    x.note(Fact::Store(Store::Bypassed));
    let page = super::page::Page {
        status: StatusCode::GATEWAY_TIMEOUT,
        code: why.code(),
        text: why.text(),
        mend: why.mend(),
        detail: String::new(),
    };
    Ready::page(x, Some(route), page)
}
