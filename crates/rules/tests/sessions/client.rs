//! Random requests of three sessions, two of which differ by case only.

use crate::origin::{Page, page};
use http::header::{ACCEPT_LANGUAGE, AUTHORIZATION, CACHE_CONTROL, COOKIE};
use http::{HeaderMap, HeaderValue, Method};
use proptest::prelude::*;
use proptest::sample::select;

#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) path: &'static str,
    pub(crate) query: Option<&'static str>,
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    /// Time that passes before, ms.
    pub(crate) pause_ms: u64,
    pub(crate) origin_down: bool,
    /// An answer to a request that passed is offered to the cache all the same.
    pub(crate) store_after_pass: bool,
    /// The origin speaks otherwise from now on.
    pub(crate) new_page: Option<Page>,
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    // Two of the sessions differ by case only.
    let cookies = select(vec![
        &[][..],
        &["sid=A"],
        &["sid=a"],
        &["sid=B"],
        &["sid=A; _ga=1"],
        &["_ga=1; sid=B"],
        &["_ga=1", "sid=B"],
        &["_ga=1"],
        &["lang=de; sid=A"],
        &["lang=de"],
        &["_ga=1, sid=B"],
        &["sid=A; sid=B"],
        &["  sid =A"],
    ]);
    let authorization = select(vec![None, None, None, Some("Bearer A"), Some("Bearer B")]);
    let asked = select(vec!["", "", "", "no-cache", "max-age=0", "max-stale", "no-store", "only-if-cached"]);
    let path = select(vec!["/a", "/A", "/b", "/a/../b"]);
    let query = select(vec![None, None, Some("q")]);
    let method = prop_oneof![4 => Just(Method::GET), 1 => Just(Method::HEAD)];
    let language = select(vec!["", "de"]);
    let chances = (prop::bool::weighted(0.2), any::<bool>());
    let new_page = prop::option::weighted(0.1, page());
    (path, query, method, (cookies, authorization, asked, language), 0_u64..40_000, chances, new_page)
        .prop_map(
            |(
                path,
                query,
                method,
                (cookies, authorization, asked, language),
                pause_ms,
                chances,
                new_page,
            )| {
                let mut headers = HeaderMap::new();
                for cookie in cookies {
                    headers.append(COOKIE, HeaderValue::from_static(cookie));
                }
                for (name, value) in [
                    (AUTHORIZATION, authorization.unwrap_or_default()),
                    (CACHE_CONTROL, asked),
                    (ACCEPT_LANGUAGE, language),
                ] {
                    if !value.is_empty() {
                        headers.insert(name, HeaderValue::from_static(value));
                    }
                }
                let (origin_down, store_after_pass) = chances;
                Step { path, query, method, headers, pause_ms, origin_down, store_after_pass, new_page }
            },
        )
}
