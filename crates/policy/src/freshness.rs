//! How long an answer stays fresh, and on whose word (RFC 9111 §4.2.1, §4.2.2).
//!
//! Not here: how old it is (`age`), what staleness means for a request (`reuse`).

use crate::age::{age_ms, seconds};
use crate::date::{date_of, parse_http_date};
use crate::directives::{Directives, expires};
use crate::syntax::{DELTA_MAX_S, Single};
use crate::types::{Exchange, Freshness, LifetimeWish, Now, RequestFacts, Wishes};
use http::{HeaderMap, StatusCode, header};
use samovar_reason::Lifetime;

/// Remaining freshness, ms; negative when stale; `i64::MAX` for "until changed".
pub fn ttl_ms(f: &Freshness, now: Now) -> i64 {
    if f.lifetime_ms == u64::MAX {
        return i64::MAX;
    }
    let difference = i128::from(f.lifetime_ms) - i128::from(age_ms(f, now));
    i64::try_from(difference.clamp(i128::from(i64::MIN), i128::from(i64::MAX) - 1)).unwrap_or(i64::MIN)
}

/// Remaining freshness as people are told it, ms: none where the response must be confirmed on every use, for then it is
/// never reused for being fresh.
pub fn shown_ttl_ms(f: &Freshness, now: Now) -> Option<i64> {
    (!f.always_revalidate).then(|| ttl_ms(f, now))
}

/// The lifetime as whoever gave it wrote it, ms, for people: a rule's runs from the arrival of the answer, so the
/// age it arrived with is part of [`Freshness::lifetime_ms`] but not of this.
pub fn lifetime_given_ms(f: &Freshness) -> u64 {
    match f.source {
        _ if f.lifetime_ms == u64::MAX => u64::MAX,
        Lifetime::RuleFor | Lifetime::RuleSilent | Lifetime::UntilChanged => {
            f.lifetime_ms.saturating_sub(f.initial_age_ms)
        }
        _ => f.lifetime_ms,
    }
}

/// A lifetime and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    /// Counted from the origin's making of the answer; `u64::MAX` for "until changed".
    pub(crate) ms: u64,
    pub(crate) source: Lifetime,
}

impl Given {
    /// The origin's own explicit word that the answer may be reused for a while. A lifetime of zero is none: with it
    /// the operator's stale allowances alone would hand one session's page to another.
    pub(crate) fn is_explicit(self) -> bool {
        match self.source {
            Lifetime::TargetedSamovar
            | Lifetime::TargetedCdn
            | Lifetime::TargetedSurrogate
            | Lifetime::SMaxAge
            | Lifetime::MaxAge
            | Lifetime::Expires => self.ms > 0,
            Lifetime::RuleFor
            | Lifetime::RuleSilent
            | Lifetime::UntilChanged
            | Lifetime::Heuristic
            | Lifetime::None => false,
        }
    }

    /// A rule's lifetime, where the origin's word is replaced and with it what its `s-maxage` implies.
    pub(crate) fn replaces_origin(self) -> bool {
        matches!(self.source, Lifetime::RuleFor | Lifetime::UntilChanged)
    }
}

/// The answer whose lifetime is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Answer<'a> {
    pub(crate) status: StatusCode,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) directives: &'a Directives,
    pub(crate) at: Exchange,
    /// See [`crate::age::initial_age_ms`].
    pub(crate) initial_age_ms: u64,
}

/// The lifetime of an answer: the rule's where it replaces, else the origin's, else the rule's for the silent, else
/// a heuristic one, else none.
pub(crate) fn lifetime(answer: Answer<'_>, req: &RequestFacts<'_>, wishes: &Wishes) -> Given {
    let said = said(answer);
    match (wishes.lifetime, said) {
        (LifetimeWish::For(ms), _) => from_arrival(ms, Lifetime::RuleFor, answer, wishes),
        (LifetimeWish::UntilChanged, _) if follows_file(answer.status, wishes) => {
            from_arrival(u64::MAX, Lifetime::UntilChanged, answer, wishes)
        }
        (_, Some(given)) => Given { ms: capped(given.ms, wishes), source: given.source },
        (LifetimeWish::WhenSilent(ms), None) => {
            match unchanged_s(answer).filter(|_| wishes.heuristic_first) {
                // The operator gave both lifetimes, so the rule's cookies decide as for `when_silent`; a query still says that
                // the response is made for the request.
                Some(unchanged_s) if !req.has_query => part_of(unchanged_s, wishes),
                Some(_) => NO_LIFETIME,
                None => from_arrival(ms, Lifetime::RuleSilent, answer, wishes),
            }
        }
        (_, None) => heuristic(answer, req, wishes),
    }
}

/// The origin's explicit word (RFC 9111 §4.2.1): s-maxage, else max-age, else Expires − Date. What is there but
/// makes no sense is no silence: it means stale.
pub(crate) fn said(answer: Answer<'_>) -> Option<Given> {
    let directives = answer.directives;
    let given = |ms: u64, plain: Lifetime| Given { ms, source: directives.target.unwrap_or(plain) };
    let said = if let Some(ms) = directives.s_maxage.ms() {
        Some(given(ms, Lifetime::SMaxAge))
    } else if let Some(ms) = directives.max_age.ms() {
        Some(given(ms, Lifetime::MaxAge))
    } else if directives.target.is_some() {
        None // RFC 9213 §2.2: Expires is not looked at beside a targeted field
    } else {
        expires_ms(answer).map(|ms| given(ms, Lifetime::Expires))
    };
    if directives.malformed {
        return Some(Given { ms: 0, source: said.map_or(Lifetime::None, |given| given.source) });
    }
    said
}

/// `Expires − Date`, ms; an invalid or contradictory Expires is in the past (RFC 9111 §5.3). Where Date is missing
/// or invalid the moment of receipt stands for it (RFC 9110 §6.6.1).
fn expires_ms(answer: Answer<'_>) -> Option<u64> {
    let received_s = seconds(answer.at.answered.wall_ms);
    let text = match expires(answer.headers) {
        Single::Absent => return None,
        Single::Conflict => return Some(0),
        Single::One(text) => text,
    };
    let Some(expires_s) = parse_http_date(text, received_s) else { return Some(0) };
    let date_s = date_of(answer.headers, &header::DATE, received_s).unwrap_or(received_s);
    Some(u64::try_from(expires_s.saturating_sub(date_s)).unwrap_or(0).min(DELTA_MAX_S).saturating_mul(1000))
}

/// Whether Expires is there and says nothing that can be read. `0` and `-1` are no dates, but everyone means "already
/// expired" by them.
pub(crate) fn expires_is_odd(answer: Answer<'_>) -> bool {
    match expires(answer.headers) {
        Single::Absent | Single::One(b"0" | b"-1") => false,
        Single::Conflict => true,
        Single::One(text) => parse_http_date(text, seconds(answer.at.answered.wall_ms)).is_none(),
    }
}

/// A part of the time since Last-Modified (RFC 9111 §4.2.2), for plain pages only: a query or a cookie says that the
/// answer is made for the asker.
fn heuristic(answer: Answer<'_>, req: &RequestFacts<'_>, wishes: &Wishes) -> Given {
    let allowed = is_heuristic_status(answer.status) || answer.directives.public;
    if req.has_query || req.any_cookies || !allowed {
        return NO_LIFETIME;
    }
    unchanged_s(answer).map_or(NO_LIFETIME, |unchanged_s| part_of(unchanged_s, wishes))
}

/// No lifetime: stale on arrival.
const NO_LIFETIME: Given = Given { ms: 0, source: Lifetime::None };

/// How long before its Date the response was last changed, s; `None` if it does not say so, or says a later moment.
fn unchanged_s(answer: Answer<'_>) -> Option<u64> {
    let received_s = seconds(answer.at.answered.wall_ms);
    let date_s = date_of(answer.headers, &header::DATE, received_s).unwrap_or(received_s);
    let modified_s = date_of(answer.headers, &header::LAST_MODIFIED, received_s)?;
    u64::try_from(date_s.saturating_sub(modified_s)).ok().filter(|s| *s > 0)
}

/// The rule's part of that time.
fn part_of(unchanged_s: u64, wishes: &Wishes) -> Given {
    let ms = scaled(unchanged_s, wishes.heuristic_factor).min(wishes.heuristic_max_ms);
    if ms == 0 { NO_LIFETIME } else { Given { ms: capped(ms, wishes), source: Lifetime::Heuristic } }
}

/// `seconds × factor` in ms; 0 for a factor that is no positive number.
fn scaled(seconds: u64, factor: f64) -> u64 {
    if !(factor.is_finite() && factor > 0.0) {
        return 0;
    }
    // `as` saturates, and a lifetime of such size is capped by the caller.
    (seconds as f64 * factor * 1000.0) as u64
}

/// The operator's lifetimes run from the moment the answer arrived: a page that takes two seconds to make would
/// else never be kept for one, and an origin's slow clock would undo the rule.
fn from_arrival(ms: u64, source: Lifetime, answer: Answer<'_>, wishes: &Wishes) -> Given {
    let ms = capped(ms, wishes);
    // `u64::MAX` means "until changed", so a merely huge sum stays below it.
    let sum = || ms.saturating_add(answer.initial_age_ms).min(u64::MAX - 1);
    Given { ms: if ms == u64::MAX { u64::MAX } else { sum() }, source }
}

fn capped(ms: u64, wishes: &Wishes) -> u64 {
    wishes.lifetime_max_ms.map_or(ms, |max| ms.min(max))
}

/// "Until changed" holds for what a file gave: a 404 or a redirect has no file that could change.
fn follows_file(status: StatusCode, wishes: &Wishes) -> bool {
    status == StatusCode::OK || wishes.only_status.contains(&status.as_u16())
}

/// Statuses that may be stored without a word about it (RFC 9110 §15.1; 206 is not stored here).
pub(crate) fn is_heuristic_status(status: StatusCode) -> bool {
    matches!(status.as_u16(), 200 | 203 | 204 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501)
}
