//! What the tables share: heads from text, plain wishes, a moment to stand at.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test may stop at its first surprise")]

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use samovar_policy::{Exchange, LifetimeWish, Now, OddAge, RequestFacts, StoreDecision, Wishes, storable};

/// 2026-11-20 23:54:01.123 UTC.
pub(crate) const WALL_MS: u64 = 1_795_218_841_123;
/// An arbitrary monotonic moment, far from 0.
pub(crate) const MONO_MS: u64 = 5_000_000;

pub(crate) type Fields<'a> = &'a [(&'a str, &'a str)];

pub(crate) fn heads(fields: Fields<'_>) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in fields {
        map.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_bytes(value.as_bytes()).unwrap(),
        );
    }
    map
}

/// What a rule that says nothing wishes, with the defaults that the configuration gives.
pub(crate) fn wishes() -> Wishes {
    Wishes {
        heuristic_factor: 0.1,
        heuristic_max_ms: 86_400_000,
        max_bytes: u64::MAX,
        odd_age: OddAge::Stale,
        ..Wishes::default()
    }
}

pub(crate) fn wishing(lifetime: LifetimeWish) -> Wishes {
    Wishes { lifetime, ..wishes() }
}

/// So many milliseconds after the moment answers arrive.
pub(crate) fn after(ms: u64) -> Now {
    Now { mono_ms: MONO_MS + ms, wall_ms: WALL_MS + ms }
}

/// Asked and answered in the same instant.
pub(crate) fn at_once() -> Exchange {
    Exchange { requested: after(0), answered: after(0) }
}

/// The date so many seconds from the moment answers arrive.
pub(crate) fn date(offset_s: i64) -> String {
    let epoch_s = (WALL_MS / 1000).checked_add_signed(offset_s).unwrap();
    httpdate::fmt_http_date(std::time::UNIX_EPOCH + std::time::Duration::from_secs(epoch_s))
}

/// A GET with these fields. Cookies are relevant wherever there are any.
pub(crate) fn get(headers: &HeaderMap) -> RequestFacts<'_> {
    let cookies = headers.contains_key("cookie");
    RequestFacts {
        method: &Method::GET,
        headers,
        relevant_cookies: cookies,
        has_query: false,
        any_cookies: cookies,
    }
}

/// Judges a 200 that answers a GET at once.
pub(crate) fn store(request: Fields<'_>, answer: Fields<'_>, wishes: &Wishes) -> StoreDecision {
    let request = heads(request);
    storable(&get(&request), StatusCode::OK, &heads(answer), wishes, at_once(), None)
}
