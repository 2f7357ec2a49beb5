//! Whether a stored answer is reused for a request (RFC 9111 §4), stale included (RFC 5861).
//!
//! Not here: finding the stored answer and its variant (`cache`, `vary`), conditions and ranges (`select`).

use crate::age::age_ms;
use crate::asked::Asked;
use crate::forwards::ends_here;
use crate::freshness::ttl_ms;
use crate::types::{Freshness, LifetimeWish, Now, Reload, RequestFacts, ReuseDecision, Verdict, Wishes};
use http::{Method, StatusCode, header};
use samovar_reason::{Lookup, Upstream};

/// Whether the cache may be asked at all, from what the request alone says. Cookies and Authorization are not judged
/// here: whether they matter depends on the stored answer.
pub fn may_look(req: &RequestFacts<'_>, wishes: &Wishes) -> Result<(), Lookup> {
    if wishes.lifetime == LifetimeWish::Never {
        return Err(Lookup::RuleNever);
    }
    if req.method != Method::GET && req.method != Method::HEAD {
        return Err(ends_here(req.method, req.headers).unwrap_or(Lookup::MethodNotCached));
    }
    let asked = Asked::of(req.headers);
    // RFC 9111 §5.2.1.5. A stored answer could be reused, but a fetch for this request could not be shared.
    if asked.no_store {
        return Err(Lookup::RequestNoStore);
    }
    if wishes.reload == Reload::Bypass && asked.reload() {
        return Err(Lookup::RequestNoCache);
    }
    Ok(())
}

/// True if the client wants a stored answer or none: what would go to the origin gets 504 (RFC 9111 §5.2.1.7).
pub fn only_if_cached(req: &RequestFacts<'_>) -> bool {
    Asked::of(req.headers).only_if_cached
}

/// Decides what to do with a stored answer.
pub fn reuse(f: &Freshness, req: &RequestFacts<'_>, wishes: &Wishes, now: Now) -> ReuseDecision {
    let asked = Asked::of(req.headers);
    let (age_ms, ttl_ms) = (age_ms(f, now), ttl_ms(f, now));
    let (verdict, reason) = match refused(f, req, wishes, &asked) {
        Some(refusal) => refusal,
        None => by_freshness(f, wishes, &asked, age_ms, ttl_ms),
    };
    let asks_origin =
        matches!(verdict, Verdict::Revalidate { .. } | Verdict::Complete | Verdict::Refetch | Verdict::Pass);
    let (verdict, reason) = if asked.only_if_cached && asks_origin {
        (Verdict::Pass, Lookup::OnlyIfCached)
    } else {
        (verdict, reason)
    };
    ReuseDecision { verdict, reason, age_ms, ttl_ms }
}

/// What keeps this request from the answer however fresh it is.
fn refused(
    f: &Freshness,
    req: &RequestFacts<'_>,
    wishes: &Wishes,
    asked: &Asked,
) -> Option<(Verdict, Lookup)> {
    if wishes.lifetime == LifetimeWish::Never {
        return Some((Verdict::Pass, Lookup::RuleNever));
    }
    // RFC 9111 §3.5 forbids sharing the answer to such a request; we also do not answer such a request from what was
    // shared, since the origin may have another answer for it.
    let secret = req.headers.contains_key(header::AUTHORIZATION);
    if secret && !f.shared_despite_authorization && !wishes.overrides.authorization {
        return Some((Verdict::Pass, Lookup::RequestAuthorization));
    }
    if req.relevant_cookies && !f.explicit && !wishes.overrides.cookie {
        return Some((Verdict::Pass, Lookup::RequestCookie));
    }
    match wishes.reload {
        Reload::Bypass if asked.reload() => Some((Verdict::Pass, Lookup::RequestNoCache)),
        Reload::Revalidate if asked.reload() => Some((revalidate(f, 0), Lookup::RequestNoCache)),
        _ => None,
    }
}

fn by_freshness(
    f: &Freshness,
    wishes: &Wishes,
    asked: &Asked,
    age_ms: u64,
    ttl_ms: i64,
) -> (Verdict, Lookup) {
    // RFC 9111 §5.2.2.4.
    if f.always_revalidate {
        return (Verdict::Revalidate { stale_if_error: false }, Lookup::MustRevalidate);
    }
    // RFC 9111 §4.2: fresh while its lifetime is greater than its age.
    match u64::try_from(ttl_ms) {
        Ok(ttl_ms) if ttl_ms > 0 => fresh(f, wishes, asked, age_ms, ttl_ms),
        _ => stale(f, wishes, asked, ttl_ms.unsigned_abs()),
    }
}

/// RFC 9111 §5.2.1.1, §5.2.1.3: a client may want it younger, or fresh for longer.
fn fresh(f: &Freshness, wishes: &Wishes, asked: &Asked, age_ms: u64, ttl_ms: u64) -> (Verdict, Lookup) {
    let too_old = asked.max_age.ms().is_some_and(|max| age_ms > max);
    let too_short = asked.min_fresh.ms().is_some_and(|min| ttl_ms < min);
    if wishes.request_directives && (too_old || too_short) {
        return (revalidate(f, 0), Lookup::RequestFreshness);
    }
    (Verdict::Serve, Lookup::Fresh)
}

/// RFC 9111 §4.2.4, RFC 5861: what is stale is served only where that is allowed and nothing forbids it.
fn stale(f: &Freshness, wishes: &Wishes, asked: &Asked, staleness_ms: u64) -> (Verdict, Lookup) {
    if wishes.keep_ms.is_some_and(|keep_ms| staleness_ms > keep_ms) {
        return (Verdict::Refetch, Lookup::PastKeep);
    }
    if f.must_revalidate {
        return (Verdict::Revalidate { stale_if_error: false }, Lookup::MustRevalidate);
    }
    let wants_fresh =
        wishes.request_directives && (asked.max_age.is_present() || asked.min_fresh.is_present());
    if staleness_ms <= f.stale_while_revalidate_ms && f.stale_while_revalidate_ms > 0 && !wants_fresh {
        return (Verdict::ServeAndRefresh, Lookup::StaleWhileRevalidate);
    }
    // RFC 9111 §5.2.1.2.
    let accepted_ms = asked.max_stale.filter(|_| wishes.request_directives && !wants_fresh);
    if accepted_ms.is_some_and(|seconds| staleness_ms <= seconds.saturating_mul(1000)) {
        return (Verdict::Serve, Lookup::MaxStale);
    }
    (revalidate(f, staleness_ms), Lookup::Expired)
}

/// True if the answer about which `decision` was made may be served now that the origin turned out to be out of reach.
/// A cache that is cut off may serve stale (RFC 9111 §4.2.4), unless that was forbidden; for how long is the operator's
/// word.
fn may_serve_unreachable(f: &Freshness, decision: &ReuseDecision) -> bool {
    let asked_for_age = !matches!(decision.reason, Lookup::RuleChanged | Lookup::RequestFreshness);
    let allowed = !f.must_revalidate && !f.always_revalidate && f.stale_if_unreachable_ms > 0;
    let staleness_ms = decision.ttl_ms.min(0).unsigned_abs();
    matches!(decision.verdict, Verdict::Revalidate { .. })
        && asked_for_age
        && allowed
        && staleness_ms <= f.stale_if_unreachable_ms
}

/// True if the answer about which `decision` was made may stand in for an origin that has failed `now`: what was allowed
/// when the origin was asked must be so still when it fails, which may be much later (RFC 5861 §4). `unreachable` says
/// that no answer came at all, see [`is_unreachable`].
pub fn may_stand_in(f: &Freshness, decision: &ReuseDecision, now: Now, unreachable: bool) -> bool {
    let now_decision = ReuseDecision { ttl_ms: ttl_ms(f, now), ..*decision };
    let staleness_ms = now_decision.ttl_ms.min(0).unsigned_abs();
    let on_error = matches!(decision.verdict, Verdict::Revalidate { stale_if_error: true });
    (on_error && (staleness_ms == 0 || staleness_ms <= f.stale_if_error_ms))
        || (unreachable && may_serve_unreachable(f, &now_decision))
}

/// Whether an origin's answer is the kind of error that a stale answer may stand in for (RFC 5861 §4).
pub fn is_failure(status: StatusCode) -> bool {
    matches!(status.as_u16(), 500 | 502 | 503 | 504)
}

/// Whether an origin's answer says what the resource is from now on, so that an older stored answer has had its day; an
/// error may be of the moment, and what is wrong with one request says nothing of the resource.
pub fn is_of_the_resource(status: StatusCode) -> bool {
    status.is_success() || status.is_redirection() || matches!(status.as_u16(), 404 | 405 | 410 | 451)
}

/// Whether a failed attempt means that the cache is cut off from its origin (RFC 9111 §4.2.4), in the sense that no
/// answer came at all. An origin that answers nonsense, and a limit of our own, are no such thing.
pub fn is_unreachable(why: Upstream) -> bool {
    match why {
        Upstream::Refused
        | Upstream::Unreachable
        | Upstream::Unresolved
        | Upstream::SocketMissing
        | Upstream::SocketDenied
        | Upstream::ConnectTimeout
        | Upstream::HeadTimeout
        | Upstream::NoMember
        | Upstream::Reset => true,
        Upstream::BodyTimeout
        | Upstream::QueueFull
        | Upstream::QueueTimeout
        | Upstream::UpgradedFull
        | Upstream::BadHead
        | Upstream::BadFraming
        | Upstream::ShortBody
        | Upstream::HeadTooLarge
        | Upstream::ClientGone
        | Upstream::NotFastCgi
        | Upstream::Overloaded
        | Upstream::LoopDetected
        | Upstream::NoSockets
        | Upstream::Unsendable
        | Upstream::LengthRequired => false,
    }
}

/// Asks the origin; RFC 5861 §4 says for how long the stored answer may stand in for a failing one.
fn revalidate(f: &Freshness, staleness_ms: u64) -> Verdict {
    let allowed = !f.must_revalidate && !f.always_revalidate && f.stale_if_error_ms > 0;
    Verdict::Revalidate { stale_if_error: allowed && staleness_ms <= f.stale_if_error_ms }
}
