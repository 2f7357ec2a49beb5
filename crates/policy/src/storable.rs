//! Whether an answer is stored, and what is remembered of its freshness (RFC 9111 §3).
//!
//! Not here: which fields are kept (`stored`), whether the body arrives whole (`origin`, `cache`), admission and
//! budget (`cache`).

use crate::LifetimeWish;
use crate::age::{age_is_unknown, initial_age_ms, seconds};
use crate::asked::Asked;
use crate::directives::Directives;
use crate::freshness::{Answer, Given, expires_is_odd, is_heuristic_status, lifetime, said};
use crate::syntax::trim_ows;
use crate::types::{Exchange, Freshness, RequestFacts, StoreDecision, Wishes};
use crate::validator::has_validator;
use crate::vary::{VaryFields, vary_fields};
use http::{HeaderMap, Method, StatusCode, header};
use samovar_reason::{Lifetime, Store};

/// Decides. `body_bytes` is the announced length, if known.
pub fn storable(
    req: &RequestFacts<'_>,
    status: StatusCode,
    headers: &HeaderMap,
    wishes: &Wishes,
    at: Exchange,
    body_bytes: Option<u64>,
) -> StoreDecision {
    let directives = Directives::of(headers);
    let initial_age_ms = initial_age_ms(headers, at, wishes.odd_age);
    let answer = Answer { status, headers, directives: &directives, at, initial_age_ms };
    let case = Case { req, wishes, answer, given: lifetime(answer, req, wishes) };
    let mut overridden = Vec::new();
    match case.decide(body_bytes, &mut overridden) {
        Ok(reason) => StoreDecision { freshness: Some(case.freshness()), reason, overridden },
        Err(reason) => StoreDecision { freshness: None, reason, overridden },
    }
}

/// All that one decision rests on.
struct Case<'a> {
    req: &'a RequestFacts<'a>,
    wishes: &'a Wishes,
    answer: Answer<'a>,
    given: Given,
}

impl Case<'_> {
    /// The checks in order: what is known from the request, the status, the origin's prohibitions, privacy, lifetime,
    /// size. The first that refuses is the reason.
    fn decide(&self, body_bytes: Option<u64>, overridden: &mut Vec<&'static str>) -> Result<Store, Store> {
        self.request()?;
        self.status()?;
        self.media_type()?;
        self.prohibitions(overridden)?;
        self.authorization(overridden)?;
        let reason = self.set_cookie(overridden)?;
        self.freshness_known()?;
        self.request_cookie(overridden)?;
        self.usable(overridden)?;
        self.size(body_bytes)?;
        Ok(reason)
    }

    fn request(&self) -> Result<(), Store> {
        if self.wishes.lifetime == LifetimeWish::Never {
            return Err(Store::RuleNever);
        }
        // RFC 9111 §3: the method must be understood and its answers cacheable. What answers a HEAD has no body that
        // a GET could be given.
        if self.req.method != Method::GET {
            return Err(Store::MethodNotStored);
        }
        // RFC 9111 §5.2.1.5.
        if Asked::of(self.req.headers).no_store {
            return Err(Store::RequestNoStore);
        }
        Ok(())
    }

    fn status(&self) -> Result<(), Store> {
        let status = self.answer.status;
        if status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Store::Upgraded);
        }
        if status == StatusCode::PARTIAL_CONTENT {
            return Err(Store::Partial);
        }
        if is_never_stored(status) {
            return Err(Store::StatusNotStorable);
        }
        let listed = &self.wishes.only_status;
        if !listed.is_empty() && !listed.contains(&status.as_u16()) {
            return Err(Store::StatusNotListed);
        }
        Ok(())
    }

    fn media_type(&self) -> Result<(), Store> {
        let wanted = &self.wishes.only_type;
        let value =
            self.answer.headers.get(header::CONTENT_TYPE).map(|value| value.as_bytes()).unwrap_or_default();
        // WHATWG HTML §9.2: it goes on for as long as somebody listens, and tells each listener what is new from now on.
        if type_matches("text/event-stream", value) {
            return Err(Store::EventStream);
        }
        if wanted.is_empty() || wanted.iter().any(|pattern| type_matches(pattern, value)) {
            return Ok(());
        }
        Err(Store::TypeNotListed)
    }

    /// What the origin forbids: `no-store`, `private`, `Vary: *` (RFC 9111 §3, §4.1).
    fn prohibitions(&self, overridden: &mut Vec<&'static str>) -> Result<(), Store> {
        let (directives, overrides) = (self.answer.directives, self.wishes.overrides);
        // RFC 9111 §5.2.2.3: a cache that understands the status ignores the no-store that stands beside
        // must-understand; one that does not understand it stores nothing.
        if directives.must_understand && !is_understood(self.answer.status) {
            return Err(Store::MustUnderstand);
        }
        let no_store = directives.no_store && !directives.must_understand;
        refuse(no_store, overrides.no_store, Store::NoStore, "no-store", overridden)?;
        refuse(directives.private.is_whole(), overrides.private, Store::Private, "private", overridden)?;
        let vary = vary_fields(self.answer.headers);
        if vary == VaryFields::TooMany {
            return Err(Store::TooManyVaryFields);
        }
        let star = vary == VaryFields::Star;
        refuse(star, overrides.vary_star, Store::VaryStar, "vary-star", overridden)
    }

    /// RFC 9111 §3.5.
    fn authorization(&self, overridden: &mut Vec<&'static str>) -> Result<(), Store> {
        let asked = self.req.headers.contains_key(header::AUTHORIZATION);
        let secret = asked && !shared_despite_authorization(self.answer.directives);
        let allowed = self.wishes.overrides.authorization;
        refuse(secret, allowed, Store::RequestAuthorization, "authorization", overridden)
    }

    /// An answer that sets a cookie was made for one client, unless the origin says that it is for all, or the
    /// operator does; the cookie itself is never kept.
    fn set_cookie(&self, overridden: &mut Vec<&'static str>) -> Result<Store, Store> {
        let headers = self.answer.headers;
        if !headers.contains_key(header::SET_COOKIE) && !headers.contains_key("set-cookie2") {
            return Ok(Store::Stored);
        }
        let directives = self.answer.directives;
        let origin_shares = directives.public || directives.s_maxage.ms().is_some_and(|ms| ms > 0);
        let kept = origin_shares || self.wishes.set_cookie_strip;
        refuse(!kept, self.wishes.overrides.set_cookie, Store::SetCookie, "set-cookie", overridden)?;
        Ok(Store::StoredStripped)
    }

    /// RFC 9111 §3, last item: explicit freshness, `public`, or a status that is stored by itself. A rule's lifetime
    /// does not make an error page storable; `only_status` does.
    fn freshness_known(&self) -> Result<(), Store> {
        let listed = self.wishes.only_status.contains(&self.answer.status.as_u16());
        let explicit = said(self.answer).is_some();
        let allowed =
            explicit || self.answer.directives.public || listed || is_heuristic_status(self.answer.status);
        if !allowed {
            return Err(Store::StatusNotStorable);
        }
        Ok(())
    }

    /// A lifetime that is not the origin's word says nothing of whom the answer is for.
    fn request_cookie(&self, overridden: &mut Vec<&'static str>) -> Result<(), Store> {
        let personal = self.req.relevant_cookies && !self.given.is_explicit();
        refuse(personal, self.wishes.overrides.cookie, Store::RequestCookie, "cookie", overridden)
    }

    /// Something must come of storing it: it is fresh, or can be revalidated, or the origin allows it stale.
    fn usable(&self, overridden: &mut Vec<&'static str>) -> Result<(), Store> {
        if self.has_validator() {
            let _ = refuse(
                self.no_cache(),
                self.wishes.overrides.no_cache,
                Store::NoCache,
                "no-cache",
                overridden,
            );
            return Ok(());
        }
        refuse(self.no_cache(), self.wishes.overrides.no_cache, Store::NoCache, "no-cache", overridden)?;
        if self.given.ms > self.answer.initial_age_ms || self.origin_allows_stale() {
            return Ok(());
        }
        Err(self.why_stale())
    }

    /// Why it is stale on arrival.
    fn why_stale(&self) -> Store {
        let answer = self.answer;
        let by_expires = self.given.source == Lifetime::Expires;
        if answer.directives.lifetime_is_odd() || (by_expires && expires_is_odd(answer)) {
            Store::OddFreshness
        } else if self.given.source == Lifetime::None {
            Store::NoExplicitFreshness
        } else if self.given.ms == 0 {
            Store::ZeroLifetime
        } else if age_is_unknown(answer.headers, self.wishes.odd_age) {
            Store::OddAge
        } else {
            Store::ArrivedStale
        }
    }

    fn size(&self, body_bytes: Option<u64>) -> Result<(), Store> {
        match body_bytes {
            Some(bytes) if bytes > self.wishes.max_bytes => Err(Store::TooLarge),
            Some(bytes) if bytes < self.wishes.min_bytes => Err(Store::TooSmall),
            _ => Ok(()),
        }
    }

    fn freshness(&self) -> Freshness {
        let (stale_while_revalidate_ms, stale_if_error_ms) = self.stale_allowances();
        let may_be_stale = !self.must_revalidate() && !self.asks_always();
        Freshness {
            lifetime_ms: self.given.ms,
            source: self.given.source,
            initial_age_ms: self.answer.initial_age_ms,
            stored_mono_ms: self.answer.at.answered.mono_ms,
            stale_while_revalidate_ms,
            stale_if_error_ms,
            stale_if_unreachable_ms: if may_be_stale { self.wishes.stale_if_unreachable_ms } else { 0 },
            always_revalidate: self.asks_always(),
            must_revalidate: self.must_revalidate(),
            shared_despite_authorization: shared_despite_authorization(self.answer.directives),
            explicit: self.given.is_explicit(),
            has_validator: self.has_validator(),
        }
    }

    /// RFC 5861 §3 and §4: the origin's word, else the operator's; none where staleness is forbidden (RFC 9111
    /// §4.2.4). The operator's refresh allowance needs a lifetime that can end.
    fn stale_allowances(&self) -> (u64, u64) {
        if self.must_revalidate() || self.asks_always() {
            return (0, 0);
        }
        let directives = self.answer.directives;
        let wished_swr =
            self.wishes.stale_while_revalidate_ms.filter(|_| self.given.source != Lifetime::None);
        let swr = directives.stale_while_revalidate.ms().or(wished_swr);
        let sie = directives.stale_if_error.ms().or(self.wishes.stale_if_error_ms);
        (swr.unwrap_or(0), sie.unwrap_or(0))
    }

    /// RFC 9111 §5.2.2.2, §5.2.2.8; §5.2.2.10: s-maxage implies proxy-revalidate, unless a rule's lifetime stands in
    /// its place.
    fn must_revalidate(&self) -> bool {
        let directives = self.answer.directives;
        let s_maxage = directives.s_maxage.is_present() && !self.given.replaces_origin();
        directives.must_revalidate || directives.proxy_revalidate || s_maxage
    }

    fn origin_allows_stale(&self) -> bool {
        let directives = self.answer.directives;
        let said = directives
            .stale_while_revalidate
            .ms()
            .unwrap_or(0)
            .max(directives.stale_if_error.ms().unwrap_or(0));
        let staleness_ms = self.answer.initial_age_ms.saturating_sub(self.given.ms);
        said > staleness_ms && !self.must_revalidate()
    }

    /// RFC 9111 §5.2.2.4.
    fn asks_always(&self) -> bool {
        self.no_cache() && !self.wishes.overrides.no_cache
    }

    fn no_cache(&self) -> bool {
        self.answer.directives.no_cache.is_whole()
    }

    fn has_validator(&self) -> bool {
        has_validator(self.answer.headers, seconds(self.answer.at.answered.wall_ms))
    }
}

/// Refuses where `forbidden`, unless the rule overrides it; then the word is noted.
fn refuse(
    forbidden: bool,
    overridden_by_rule: bool,
    reason: Store,
    word: &'static str,
    overridden: &mut Vec<&'static str>,
) -> Result<(), Store> {
    match (forbidden, overridden_by_rule) {
        (false, _) => Ok(()),
        (true, false) => Err(reason),
        (true, true) => {
            overridden.push(word);
            Ok(())
        }
    }
}

/// RFC 9111 §3.5: the directives that allow sharing the answer to a request with Authorization.
fn shared_despite_authorization(directives: &Directives) -> bool {
    directives.public || directives.must_revalidate || directives.s_maxage.is_present()
}

/// Statuses no word makes storable: not final (RFC 9110 §15.2); 304, which is about another answer; those that speak of
/// this one request's conditions, range, expectation or proxy credentials, none of which are in the key; those of
/// RFC 6585, which forbids it.
fn is_never_stored(status: StatusCode) -> bool {
    // Beyond 599 a status has no class (RFC 9110 §15): whoever reads it must take it for an error.
    status.is_informational()
        || status.as_u16() >= 600
        || matches!(status.as_u16(), 304 | 407 | 412 | 416 | 417 | 426 | 428 | 429 | 431 | 511)
}

/// Statuses whose caching requirements are known and kept (RFC 9111 §5.2.2.3).
fn is_understood(status: StatusCode) -> bool {
    matches!(status.as_u16(), 200..=205 | 300..=303 | 307 | 308 | 400..=406 | 408..=411 | 413..=415 | 421 | 422 | 451 | 500..=505)
}

/// `image/png` or `image/*` or `*/*` against the media type of a Content-Type, parameters aside.
fn type_matches(pattern: &str, content_type: &[u8]) -> bool {
    let essence = trim_ows(content_type.split(|b| *b == b';').next().unwrap_or_default());
    let pattern = pattern.trim().as_bytes();
    match pattern.strip_suffix(b"*") {
        Some(b"*/") => essence.contains(&b'/'),
        Some(prefix) => essence.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix)),
        None => essence.eq_ignore_ascii_case(pattern),
    }
}
