//! What tests of the cache begin with: heads, requests, verdicts.

#![allow(dead_code, reason = "each test uses its part")]

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use samovar_cache::*;
use samovar_policy::{Freshness, ReuseDecision, VaryValues, Verdict};
use samovar_reason::{Lifetime, Lookup, Store};
use std::sync::Arc;
use std::task::{Context, Waker};

pub fn cx() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

pub fn cache(size_bytes: u64) -> Arc<Cache> {
    Cache::new(Settings { size_bytes, body_max_bytes: size_bytes })
}

pub fn fresh() -> Freshness {
    Freshness {
        lifetime_ms: 10_000,
        source: Lifetime::MaxAge,
        initial_age_ms: 0,
        stored_mono_ms: 0,
        stale_while_revalidate_ms: 0,
        stale_if_error_ms: 0,
        stale_if_unreachable_ms: 0,
        always_revalidate: false,
        must_revalidate: false,
        shared_despite_authorization: false,
        explicit: true,
        has_validator: false,
    }
}

pub fn head(vary: VaryValues, tags: &[&str]) -> EntryHead {
    EntryHead {
        status: StatusCode::OK,
        headers: HeaderMap::new(),
        freshness: fresh(),
        vary,
        tags: tags.iter().map(|t| (*t).into()).collect(),
        reason: Store::Stored,
        rule: "r1".into(),
        epoch: 0,
    }
}

pub const SERVE: ReuseDecision =
    ReuseDecision { verdict: Verdict::Serve, reason: Lookup::Fresh, age_ms: 0, ttl_ms: 10_000 };

/// A request with one field that may be varied by.
pub fn ask_with(
    cache: &Arc<Cache>,
    key: &str,
    language: Option<&'static str>,
    judge: &dyn Fn(&Entry) -> ReuseDecision,
) -> Step {
    let mine = |values: &VaryValues| -> VaryValues {
        values.iter().map(|(n, _)| (n.clone(), language.map(HeaderValue::from_static))).collect()
    };
    asked(key, 1_000, judge, |ask| {
        cache.begin(&Ask { matches: &|values| mine(values) == *values, vary_of: &mine, ..*ask })
    })
}

/// A request out of the ordinary: `with` changes what it must.
pub fn asked<T>(
    key: &str,
    now_ms: u64,
    judge: &dyn Fn(&Entry) -> ReuseDecision,
    with: impl FnOnce(&Ask<'_>) -> T,
) -> T {
    with(&Ask {
        key,
        now_ms,
        matches: &|_| true,
        vary_of: &|_| vec![],
        judge,
        admit_after: 0,
        admit_period_ms: 0,
        owners: &[],
        part: None,
        alone: false,
    })
}

pub fn ask(cache: &Arc<Cache>, key: &str) -> Step {
    ask_with(cache, key, None, &|_| SERVE)
}

pub fn ticket(step: Step) -> Ticket {
    match step {
        Step::Fetch(ticket, ..) => ticket,
        other => panic!("expected to fetch, got {other:?}"),
    }
}

pub fn store(cache: &Arc<Cache>, key: &str, body: &[u8]) -> Result<Arc<Entry>, Store> {
    let mut sink = ticket(ask(cache, key)).store(head(vec![], &[]), None, u64::MAX, 0);
    sink.push(Bytes::copy_from_slice(body));
    sink.finish(0, 0)
}

pub fn body_of(entry: &Arc<Entry>) -> Vec<u8> {
    match entry.whole() {
        Some(pieces) => pieces.concat(),
        None => panic!("not whole: {:?}", entry.body()),
    }
}
