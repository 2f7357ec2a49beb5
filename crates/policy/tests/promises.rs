//! What holds whatever comes in: no panic, no cookie kept, nothing personal shared, no prohibition lost.

#![allow(clippy::unwrap_used, reason = "a test may stop at its first surprise")]

mod common;

use common::{after, at_once, get, heads, wishes};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use proptest::prelude::*;
use samovar_policy::{
    CacheStatus, LifetimeWish, Overrides, Reload, RequestFacts, Verdict, Wishes, combined,
    conditional_fields, confirms, fwd_of, invalidated, may_look, merge_304, reuse, select, storable,
    stored_fields, vary_fields,
};

/// Every field the policy reads.
const READ: [&str; 26] = [
    "age",
    "authorization",
    "cache-control",
    "cdn-cache-control",
    "connection",
    "content-location",
    "content-type",
    "cookie",
    "date",
    "etag",
    "expires",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "last-modified",
    "location",
    "pragma",
    "range",
    "samovar-cache-control",
    "set-cookie",
    "te",
    "vary",
    "x",
];

/// Values that come near to meaning something, and any bytes at all.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let directive = prop_oneof![
        "(max-age|s-maxage|stale-while-revalidate|stale-if-error|max-stale|min-fresh)=[0-9\"x-]{0,4}",
        "(private|no-cache)(=\"[a-z, -]{0,12}\")?",
        "no-store|public|must-revalidate|proxy-revalidate|must-understand|immutable|only-if-cached|\\*|a|\"|;",
    ];
    prop_oneof![
        proptest::collection::vec(directive, 1..5).prop_map(|list| list.join(", ").into_bytes()),
        (-100_000_i64..100_000).prop_map(|s| common::date(s).into_bytes()),
        "(W/)?\"[a-c]\"(, \"[a-c]\")?".prop_map(String::into_bytes),
        "bytes=[0-9,-]{0,10}".prop_map(String::into_bytes),
        "[0-9]{0,12}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..24),
    ]
}

fn head() -> impl Strategy<Value = HeaderMap> {
    proptest::collection::vec((proptest::sample::select(&READ[..]), value()), 0..8).prop_map(|fields| {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                map.append(HeaderName::from_static(name), value);
            }
        }
        map
    })
}

fn wish() -> impl Strategy<Value = Wishes> {
    let lifetime = prop_oneof![
        Just(LifetimeWish::Respect),
        (0_u64..100_000).prop_map(LifetimeWish::WhenSilent),
        prop_oneof![0_u64..100_000, Just(u64::MAX - 1)].prop_map(LifetimeWish::For),
        Just(LifetimeWish::UntilChanged),
    ];
    let reload = prop_oneof![Just(Reload::Ignore), Just(Reload::Revalidate), Just(Reload::Bypass)];
    (lifetime, reload, proptest::option::of(any::<u64>()), proptest::option::of(any::<u64>()), any::<bool>())
        .prop_map(|(lifetime, reload, swr, sie, request_directives)| Wishes {
            lifetime,
            reload,
            stale_while_revalidate_ms: swr,
            stale_if_error_ms: sie,
            stale_if_unreachable_ms: 0,
            request_directives,
            ..wishes()
        })
}

fn status() -> impl Strategy<Value = StatusCode> {
    prop_oneof![Just(200_u16), 100_u16..600].prop_map(|code| StatusCode::from_u16(code).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn nothing_panics(request in head(), answer in head(), other in head(), wishes in wish(), status in status(), later_ms: u64) {
        let req = get(&request);
        let _ = may_look(&req, &wishes);
        let decision = storable(&req, status, &answer, &wishes, at_once(), Some(5));
        if let Some(f) = decision.freshness {
            let now = samovar_policy::Now { mono_ms: later_ms, wall_ms: later_ms };
            let found = reuse(&f, &req, &wishes, now);
            let _ = CacheStatus { fwd: fwd_of(found.reason), ttl_s: Some(found.ttl_ms), ..CacheStatus::default() }.to_value();
        }
        let kept = stored_fields(&answer, &wishes);
        let _ = (merge_304(&kept, &other), confirms(&kept, &other), conditional_fields(&kept), vary_fields(&answer));
        let _ = select(&Method::GET, &request, status, &answer, 10);
        let _ = invalidated(&"http://h.example/a".parse().unwrap(), &answer);
        let _ = combined(&HeaderName::from_static("cookie"), &request);
    }

    #[test]
    fn no_cookie_is_ever_kept(answer in head(), fresh in head(), wishes in wish()) {
        let kept = stored_fields(&answer, &wishes);
        let merged = stored_fields(&merge_304(&kept, &fresh), &wishes);
        for map in [kept, merged] {
            prop_assert!(!map.contains_key("set-cookie") && !map.contains_key("age") && !map.contains_key("connection"));
        }
    }

    /// Without an override, an answer to a request whose cookies matter is stored, and a stored answer given to one, only
    /// under the origin's own lifetime.
    #[test]
    fn cookies_are_private(request in head(), answer in head(), wishes in wish(), status in status()) {
        let mut with_cookie = request.clone();
        with_cookie.insert("cookie", HeaderValue::from_static("sid=1"));
        let decision = storable(&get(&with_cookie), status, &answer, &wishes, at_once(), None);
        prop_assert!(decision.freshness.is_none_or(|f| f.explicit), "{:?}", decision);
        prop_assert!(decision.overridden.is_empty());

        let mut without = request.clone();
        without.remove("cookie");
        if let Some(f) = storable(&get(&without), status, &answer, &wishes, at_once(), None).freshness {
            let found = reuse(&f, &get(&with_cookie), &wishes, after(0));
            prop_assert!(f.explicit || found.verdict == Verdict::Pass, "{:?}", found);
        }
    }

    /// Adding a prohibition to any answer never makes it stored.
    #[test]
    fn prohibitions_only_take_away(answer in head(), wishes in wish(), status in status(), which in 0_usize..4) {
        let request = heads(&[]);
        let mut more = answer.clone();
        // Beside a targeted field Cache-Control does not count, so the prohibition goes where it does.
        for name in ["samovar-cache-control", "cdn-cache-control"] {
            more.remove(name);
        }
        let (name, value) =
            [("cache-control", "no-store"), ("cache-control", "private"), ("vary", "*"), ("set-cookie", "a=b")][which];
        let understood = more.get_all("cache-control").iter().any(|v| v.as_bytes().windows(15).any(|w| w.eq_ignore_ascii_case(b"must-understand")));
        let shared = more.get_all("cache-control").iter().any(|v| {
            let line = String::from_utf8_lossy(v.as_bytes()).to_lowercase();
            line.contains("public") || line.contains("s-maxage")
        });
        let void = (value == "no-store" && understood) || (name == "set-cookie" && shared);
        prop_assume!(!void);
        more.append(name, HeaderValue::from_static(value));
        let decision = storable(&get(&request), status, &more, &wishes, at_once(), None);
        prop_assert!(decision.freshness.is_none(), "{:?}", decision);
    }

    /// No override, no word of it.
    #[test]
    fn a_word_is_recorded_only_if_the_rule_has_it(request in head(), answer in head(), mut wishes in wish(), cookie: bool) {
        wishes.overrides = Overrides { cookie, ..Overrides::default() };
        let decision = storable(&get(&request), StatusCode::OK, &answer, &wishes, at_once(), None);
        prop_assert!(decision.overridden.iter().all(|word| cookie && *word == "cookie"));
    }

    /// What must not be served stale is not, however generous rule and client are.
    #[test]
    fn stale_is_forbidden_where_the_origin_says_so(wishes in wish(), which in 0_usize..4, later_ms in 0_u64..1 << 40) {
        let line = ["must-revalidate, max-age=1", "proxy-revalidate, max-age=1", "s-maxage=1", "no-cache, max-age=1"][which];
        let wishes = Wishes { lifetime: LifetimeWish::Respect, request_directives: true, ..wishes };
        let request = heads(&[("cache-control", "max-stale")]);
        let answer = heads(&[("cache-control", line), ("etag", "\"e\""), ("cache-control", "stale-while-revalidate=99999, stale-if-error=99999")]);
        let f = storable(&get(&request), StatusCode::OK, &answer, &wishes, at_once(), None).freshness.unwrap();
        let found = reuse(&f, &get(&request), &wishes, after(later_ms));
        let fresh = later_ms < 1000 && which != 3;
        if !fresh {
            prop_assert_eq!(found.verdict, Verdict::Revalidate { stale_if_error: false });
        }
    }

    /// Time never makes an answer fresher.
    #[test]
    fn age_and_staleness_only_grow(answer in head(), wishes in wish(), one in 0_u64..1 << 50, more in 0_u64..1 << 50) {
        let request = heads(&[]);
        let req = RequestFacts { ..get(&request) };
        if let Some(f) = storable(&req, StatusCode::OK, &answer, &wishes, at_once(), None).freshness {
            let (early, late) = (reuse(&f, &req, &wishes, after(one)), reuse(&f, &req, &wishes, after(one + more)));
            prop_assert!(early.age_ms <= late.age_ms && early.ttl_ms >= late.ttl_ms);
            prop_assert!(!(late.verdict == Verdict::Serve && early.verdict != Verdict::Serve), "{:?} {:?}", early, late);
        }
    }
}
