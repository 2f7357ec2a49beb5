//! Promotion: a whole, fresh answer that was asked for often enough is prepared for the hot tier of this core.
//!
//! The grant names everything the engine's answer depended on, by raw bytes: equal bytes, equal answer. Not
//! here: recognising requests (`samovar_hot`).

use super::coding;
use super::dress;
use super::exchange::{Exchange, Route};
use super::respond::add_vary;
use super::route::{is_of_files_alone, route_as};
use crate::compress::Row;
use crate::state::Snapshot;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, header};
use samovar_cache::{Body, Entry, HotCopy};
use samovar_hot::{CookieWish, Grant, Lifetime, Prepared, StateCell, VaryValue};
use samovar_policy::{Claim, ReuseDecision, Verdict, claimed};
use samovar_reason::Hot;
use samovar_rules::{CodingWish, Rule};
use samovar_trace::Fact;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

/// What a hot copy costs beside its head: its struct and its slot in the core's map.
const HOT_OVERHEAD_BYTES: u64 = 512;

/// What a prepared answer holds on to: its entry, whose state it looks at.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) hot: HotCopy,
    /// Where coded answers are counted, and how many bytes the plain body has.
    pub(super) coded: Option<(Arc<Row>, u64)>,
}

impl StateCell for Copy {
    fn cell(&self) -> &AtomicU8 {
        self.hot.entry().state_cell()
    }
}

/// Counts the request and, if it is time, makes its answer hot on this core. What came of it is noted.
pub(super) fn consider(x: &mut Exchange, route: &Route, entry: &Arc<Entry>, decision: &ReuseDecision) {
    let snapshot = Arc::clone(&x.snapshot);
    let Some(rule) = route.rule_in(&snapshot) else { return };
    if !rule.hot.enabled {
        x.note(Fact::Hot(Hot::RuleOff));
        return;
    }
    if let Some(why) = kept_out(rule, route.gated_in(&snapshot)) {
        x.note(Fact::Hot(why));
        return;
    }
    // It may be hot already: then it is the connection that is at its end, and nothing is to be prepared.
    if let Some(why @ (Hot::Draining | Hot::LastOfConnection)) = x.not_hot {
        x.note(Fact::Hot(why));
        return;
    }
    if x.method != Method::GET {
        return;
    }
    let asked = entry.meter(x.at.mono_ms, rule.hot.period_ms);
    let outcome = if asked < rule.hot.threshold {
        x.note(Fact::HotProgress(asked, rule.hot.threshold));
        Err(Hot::NotHotYet)
    } else {
        grant(x, route, &snapshot, rule, entry, decision)
    };
    x.note(Fact::Hot(outcome.err().unwrap_or(Hot::Promoted)));
}

/// Why no answer of a rule is hot: it looks at each request, or what it tells clients differs between them.
fn kept_out(rule: &Rule, gated: bool) -> Option<Hot> {
    if gated {
        return Some(Hot::Gated);
    }
    let acts = rule.acts.as_ref()?;
    acts.client_fields_differ().then_some(Hot::ClientFields)
}

/// Why an entry could not be hot whatever asked for it, for `explain`. `gated` says that each request is looked at.
pub fn barred(rule: &Rule, gated: bool, entry: &Entry, decision: &ReuseDecision) -> Option<Hot> {
    if !rule.hot.enabled {
        return Some(Hot::RuleOff);
    }
    if let Some(why) = kept_out(rule, gated) {
        return Some(why);
    }
    if decision.verdict != Verdict::Serve {
        return Some(Hot::Expired);
    }
    if entry.status() != http::StatusCode::OK {
        return Some(Hot::StatusNotHot);
    }
    match entry.body() {
        Body::Own | Body::Chunks(_) if entry.len_bytes() <= Some(rule.hot.max_bytes) => None,
        Body::Growing(_) => Some(Hot::Incomplete),
        Body::Parts(_) | Body::Verbatim(_) => Some(Hot::Incomplete),
        Body::Own | Body::Chunks(_) | Body::Extent(_) => Some(Hot::TooLarge),
    }
}

fn grant(
    x: &Exchange,
    route: &Route,
    snapshot: &Snapshot,
    rule: &Rule,
    entry: &Arc<Entry>,
    decision: &ReuseDecision,
) -> Result<(), Hot> {
    if let Some(why) = barred(rule, route.gated_in(snapshot), entry, decision) {
        return Err(why);
    }
    let target = match (x.uri.authority(), x.uri.path_and_query()) {
        (None, Some(target)) if x.uri.path().starts_with('/') => target.as_str(),
        _ => return Err(Hot::TargetForm),
    };
    refuse_by_fields(x)?;
    // HTTP/1.0 may lack it.
    let host = x.headers.get(header::HOST).map_or(&b""[..], |host| host.as_bytes());
    let site = route.site_in(snapshot).ok_or(Hot::NotStored)?;
    let vary = VaryValue::of(names(x, snapshot, rule, entry).iter(), &x.headers).ok_or(Hot::TooManyFields)?;
    let mut headers: HeaderMap = entry.headers();
    let prepares = match &rule.coding {
        Some(wish) => coding::prepare(x, wish, entry, &mut headers).ok_or(Hot::CodingPending)?,
        None => coding::Prepares { body: entry.whole().ok_or(Hot::Incomplete)?, row: None, one_form: false },
    };
    let (is_coded, one_form) = (prepares.row.is_some(), prepares.one_form);
    samovar_policy::strip_surrogate_control(&mut headers);
    add_vary(&mut headers, rule.vary_headers.iter().map(|v| &v.name));
    if let Some(value) = &rule.wishes.client_cache_control {
        headers.insert(header::CACHE_CONTROL, value.clone());
        headers.remove(header::EXPIRES);
    }
    if let Some(acts) = &rule.acts {
        dress::apply(x, route, acts, &mut headers);
    }
    let head_bytes = headers.iter().map(|(n, v)| (n.as_str().len() + v.len() + 4) as u64).sum::<u64>()
        + (target.len() + entry.key().len()) as u64;
    let charge = x.core.shared.cache.budget().charge(head_bytes + HOT_OVERHEAD_BYTES);
    let copy = Arc::new(Copy { hot: entry.hot_copy(charge), coded: prepares.row });
    let now_ms = x.at.mono_ms;
    let life = Lifetime {
        state: Arc::clone(&copy) as Arc<dyn StateCell>,
        epoch: snapshot.epoch,
        age_base_ms: decision.age_ms as i64 - now_ms as i64,
        fresh_until_ms: if decision.ttl_ms == i64::MAX {
            u64::MAX
        } else {
            now_ms.saturating_add_signed(decision.ttl_ms)
        },
    };
    let name = site.cache_status.then_some("Samovar");
    let mut prepared =
        Prepared::new(entry.status(), &headers, prepares.body, life, name, entry.key().into(), copy)?;
    if one_form {
        prepared = prepared.one_form_of_several(is_coded);
    }
    let grant = Grant {
        listener: x.conn.listener,
        host: Bytes::copy_from_slice(host),
        target: Bytes::copy_from_slice(target.as_bytes()),
        vary,
        cookies: if is_of_files_alone(snapshot, site, route.target, route.asked_path()) {
            CookieWish::IgnoreAll
        } else {
            cookies(rule)
        },
        ignore_cache_control: rule.wishes.reload == samovar_policy::Reload::Ignore
            && !rule.wishes.request_directives,
        heads: heads_alike(x, route),
        claims: trusted(x, snapshot).then(|| claims_of_target(x).count()),
        prepared: Arc::new(prepared),
    };
    x.core.hub.get().ok_or(Hot::NotStored)?.grant(grant)
}

/// Whether a HEAD of the same target would come to the same entry under the same rule: rules may choose by method.
fn heads_alike(x: &Exchange, route: &Route) -> bool {
    route_as(x, &Method::HEAD).is_ok_and(|(head, _)| {
        (head.site, head.rule, &head.held, &head.key, head.relevant_cookies)
            == (route.site, route.rule, &route.held, &route.key, route.relevant_cookies)
    })
}

/// Requests whose own answer was shaped by something the hot tier does not look at.
fn refuse_by_fields(x: &Exchange) -> Result<(), Hot> {
    let rows: [(HeaderName, Hot); 5] = [
        (header::AUTHORIZATION, Hot::HasAuthorization),
        (header::IF_MATCH, Hot::HasCondition),
        (header::IF_UNMODIFIED_SINCE, Hot::HasCondition),
        (header::IF_RANGE, Hot::HasCondition),
        (header::EXPECT, Hot::HasExpect),
    ];
    match rows.into_iter().find(|(name, _)| x.headers.contains_key(name)) {
        Some((_, why)) => Err(why),
        None => Ok(()),
    }
}

/// The request fields that the answer depends on: those in the key, those the answer varies by, and from a
/// trusted proxy those that say how and for what it was asked.
fn names(x: &Exchange, snapshot: &Snapshot, rule: &Rule, entry: &Entry) -> Vec<HeaderName> {
    let mut names: Vec<HeaderName> = rule.vary_headers.iter().map(|v| v.name.clone()).collect();
    names.extend(entry.vary().iter().map(|(name, _)| name.clone()));
    if !rule.vary_cookies.is_empty() {
        names.push(header::COOKIE);
    }
    if rule.coding.as_ref().is_some_and(|wish| depends_on_codings(wish, entry)) {
        names.push(header::ACCEPT_ENCODING);
    }
    if trusted(x, snapshot) {
        names.push(HeaderName::from_static("x-forwarded-proto"));
        names.extend(claims_of_target(x).cloned());
    }
    names.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    names.dedup();
    names
}

/// Whether claims of the peer are believed.
fn trusted(x: &Exchange, snapshot: &Snapshot) -> bool {
    snapshot.settings.server.trusted_proxies.trusts(x.conn.ip())
}

/// The fields by which a trusted proxy claims another target; they are in the key.
fn claims_of_target(x: &Exchange) -> impl Iterator<Item = &HeaderName> {
    let claims = |name: &str| claimed(name.as_bytes()).is_some_and(|it| it.claim == Claim::Target);
    x.headers.keys().filter(move |name| claims(name.as_str()))
}

/// Whether another Accept-Encoding would get another answer: another form, the origin's own word, or a refusal.
fn depends_on_codings(wish: &CodingWish, entry: &Entry) -> bool {
    let headers = entry.headers();
    !wish.require.is_empty()
        || samovar_rules::is_coded(&headers)
        || wish.worth(entry.status(), &headers, entry.len_bytes()).is_ok()
}

/// What cookies do to a hot answer: nothing where the rule ignores all or has them in the key (then equal raw
/// bytes are asked for); else each must be one that the rule ignores.
fn cookies(rule: &Rule) -> CookieWish {
    if rule.ignore_cookies.iter().any(|p| p == "*") || !rule.vary_cookies.is_empty() {
        return CookieWish::IgnoreAll;
    }
    if rule.ignore_cookies.is_empty() {
        return CookieWish::RefuseAny;
    }
    let rule = rule.clone();
    CookieWish::Matcher(Arc::new(move |value: &[u8]| {
        let mut headers = HeaderMap::new();
        match http::HeaderValue::from_bytes(value) {
            Ok(value) => headers.insert(header::COOKIE, value),
            Err(_) => return false,
        };
        !samovar_rules::cookies_matter(&rule, &headers)
    }))
}
