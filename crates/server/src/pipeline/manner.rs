//! How a request may use the cache, said once for the pipeline and for `explain`.
//!
//! Not here: what is stored and whether it may be used (`look`, `policy::reuse`).

use super::exchange::Route;
use super::part;
use crate::state::Snapshot;
use http::{HeaderMap, HeaderName, Method, header};
use samovar_cache::Entry;
use samovar_policy::{RequestFacts, ReuseDecision, Verdict, Wishes};
use samovar_reason::Lookup;
use std::sync::Arc;

/// How a request may use the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// What it fetches may be stored and shared.
    Fills,
    /// It is answered from what is there, or goes to the origin as it is: a HEAD, several ranges, a range with
    /// conditions, a request that wants nothing fetched.
    StoredOnly,
}

/// The fields that [`manner`] asks for.
const ODD: [HeaderName; 4] = [header::UPGRADE, header::IF_MATCH, header::IF_UNMODIFIED_SINCE, header::RANGE];

/// How this request may use the cache; `Err` if it goes past it, and why.
pub fn manner(
    snapshot: &Snapshot,
    route: &Route,
    facts: &RequestFacts<'_>,
    wishes: &Wishes,
) -> Result<Manner, Lookup> {
    let headers = facts.headers;
    // What the application does then, and answers, is not what the key says.
    if route.overrides_method {
        return Err(Lookup::MethodOverride);
    }
    // One look at the names costs less than four lookups that find nothing.
    let odd = headers.keys().any(|name| ODD.contains(name));
    if odd && headers.contains_key(header::UPGRADE) {
        return Err(Lookup::RequestUpgrade);
    }
    if let Some(why) = route.past_cache {
        return Err(why);
    }
    // What only some may see is nobody else's, whatever the origin says of it.
    if route.unshared_in(snapshot) {
        return Err(Lookup::Protected);
    }
    samovar_policy::may_look(facts, wishes).map_err(|why| {
        let site = route.site_in(snapshot).map_or("", |s| &*s.name);
        let uncached = &snapshot.settings.uncached_sites;
        match why {
            Lookup::RuleNever if uncached.iter().any(|name| name == site) => Lookup::NoSitePolicy,
            why => why,
        }
    })?;
    // RFC 9111 §4.3.2: these two are about what the origin has, which only the origin knows.
    if odd && (headers.contains_key(header::IF_MATCH) || headers.contains_key(header::IF_UNMODIFIED_SINCE)) {
        return Err(Lookup::RequestPrecondition);
    }
    let fills = !odd || !headers.contains_key(header::RANGE) || part::is_plain_range(headers);
    let shares = facts.method == Method::GET && fills && !samovar_policy::only_if_cached(facts);
    Ok(if shares { Manner::Fills } else { Manner::StoredOnly })
}

/// What a request that uses only what is there gets of it; `Err` if nothing, and why it goes to the origin.
pub fn of_stored(
    found: Option<(Arc<Entry>, ReuseDecision)>,
    why: Lookup,
    headers: &HeaderMap,
) -> Result<(Arc<Entry>, ReuseDecision), Lookup> {
    let why = match found {
        Some((entry, decision)) if matches!(decision.verdict, Verdict::Serve | Verdict::ServeAndRefresh) => {
            return Ok((entry, decision));
        }
        Some((_, decision)) => decision.reason,
        None => why,
    };
    Err(match why {
        Lookup::NoEntry | Lookup::VaryMiss | Lookup::Expired if headers.contains_key(header::RANGE) => {
            Lookup::RequestRange
        }
        why => why,
    })
}

/// Whether a request that is about to fetch goes to the origin as it is instead: nothing will be stored, and it asks
/// whether something changed, which then only the origin can answer with a 304.
pub fn goes_as_it_is(why: Lookup, headers: &HeaderMap) -> bool {
    why == Lookup::KnownNotStorable
        && !headers.contains_key(header::RANGE)
        && (headers.contains_key(header::IF_NONE_MATCH) || headers.contains_key(header::IF_MODIFIED_SINCE))
}
