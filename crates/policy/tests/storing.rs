//! Which answers are stored, as tables: one row per branch of `storable`, with the reason it must give.

mod common;

use common::{Fields, at_once, date, get, heads, store, wishes, wishing};
use http::{Method, StatusCode};
use samovar_policy::{LifetimeWish, Overrides, RequestFacts, Wishes, storable};
use samovar_reason::{Lifetime, Lookup, Store};

const ETAG: (&str, &str) = ("etag", "\"e\"");

fn reason(request: Fields<'_>, answer: Fields<'_>, wishes: &Wishes) -> Store {
    let decision = store(request, answer, wishes);
    let stored = matches!(decision.reason, Store::Stored | Store::StoredStripped);
    assert_eq!(decision.freshness.is_some(), stored, "{:?} beside {:?}", decision.reason, decision.freshness);
    decision.reason
}

#[test]
fn http_alone_decides() {
    let table: &[(Fields, Fields, Store)] = &[
        (&[], &[("cache-control", "max-age=60")], Store::Stored),
        (&[], &[("cache-control", "max-age=60"), ("cache-control", "no-store")], Store::NoStore),
        (&[], &[("cache-control", "No-STORE, max-age=60")], Store::NoStore),
        (&[], &[("cache-control", "ext=\"no-store\", max-age=60")], Store::Stored),
        (&[], &[("cache-control", "max-age=60, no-store, must-understand")], Store::Stored),
        (&[], &[("cache-control", "private, max-age=60")], Store::Private),
        (&[], &[("cache-control", "private=\"x\", max-age=60")], Store::Stored),
        (&[], &[("cache-control", "private=\"content-type\", max-age=60")], Store::Private),
        (&[], &[("cache-control", "no-cache, max-age=60")], Store::NoCache),
        (&[], &[("cache-control", "no-cache"), ETAG], Store::Stored),
        (&[], &[("cache-control", "no-cache=\"x\", max-age=60")], Store::Stored),
        (&[], &[("cache-control", "max-age=60"), ("vary", "accept, *")], Store::VaryStar),
        (&[], &[("cache-control", "max-age=60"), ("vary", "accept")], Store::Stored),
        (&[], &[], Store::NoExplicitFreshness),
        (&[], &[("cache-control", "public")], Store::NoExplicitFreshness),
        (&[], &[ETAG], Store::Stored),
        (&[], &[("cache-control", "max-age=0")], Store::ZeroLifetime),
        (&[], &[("cache-control", "max-age=0"), ETAG], Store::Stored),
        (&[], &[("cache-control", "max-age=0"), ("etag", "broken")], Store::ZeroLifetime),
        (&[], &[("cache-control", "max-age=soon")], Store::OddFreshness),
        (&[], &[("cache-control", "max-age=60, max-age=600")], Store::OddFreshness),
        (&[], &[("cache-control", "max-age=60, ext=\"open")], Store::OddFreshness),
        (&[], &[("cache-control", "max-age=0, stale-while-revalidate=60")], Store::Stored),
        (&[], &[("cache-control", "max-age=0, stale-if-error=60")], Store::Stored),
        (&[], &[("cache-control", "max-age=0, must-revalidate, stale-if-error=60")], Store::ZeroLifetime),
        (&[], &[("cache-control", "max-age=60"), ("age", "60")], Store::ArrivedStale),
        (&[], &[("cache-control", "max-age=60"), ("age", "soon")], Store::OddAge),
        (&[], &[("cache-control", "max-age=60"), ("age", "60"), ("age", "1")], Store::OddAge),
        (&[], &[("cache-control", "s-maxage=x, max-age=60")], Store::OddFreshness),
        (&[], &[("cache-control", "s-maxage=0, max-age=x")], Store::ZeroLifetime),
        (&[], &[("expires", "-1")], Store::ZeroLifetime),
        (&[], &[("expires", "never")], Store::OddFreshness),
        (&[], &[("expires", "Sun, 06 Nov 1994 08:49:37 GMT")], Store::ZeroLifetime),
        (&[], &[("cache-control", "max-age=60"), ("age", "59")], Store::Stored),
        (&[], &[("expires", "0")], Store::ZeroLifetime),
        (&[("cache-control", "no-store")], &[("cache-control", "max-age=60")], Store::RequestNoStore),
        (&[("cache-control", "no-cache")], &[("cache-control", "max-age=60")], Store::Stored),
        (&[("authorization", "x")], &[("cache-control", "max-age=60")], Store::RequestAuthorization),
        (&[("authorization", "x")], &[("cache-control", "max-age=60, public")], Store::Stored),
        (&[("authorization", "x")], &[("cache-control", "max-age=60, must-revalidate")], Store::Stored),
        (&[("authorization", "x")], &[("cache-control", "s-maxage=60")], Store::Stored),
        (
            &[("authorization", "x")],
            &[("cache-control", "max-age=60, proxy-revalidate")],
            Store::RequestAuthorization,
        ),
        (&[], &[("cache-control", "max-age=60"), ("set-cookie", "a=b")], Store::SetCookie),
        (&[], &[("cache-control", "max-age=60, public"), ("set-cookie", "a=b")], Store::StoredStripped),
        (&[], &[("cache-control", "s-maxage=60"), ("set-cookie", "a=b")], Store::StoredStripped),
        (&[], &[("cdn-cache-control", "max-age=60, public"), ("set-cookie", "a=b")], Store::StoredStripped),
        (&[("cookie", "a=b")], &[("cache-control", "max-age=60")], Store::Stored),
        (&[("cookie", "a=b")], &[("cdn-cache-control", "max-age=60")], Store::Stored),
        (&[("cookie", "a=b")], &[ETAG], Store::RequestCookie),
        (&[], &[("cache-control", "no-store"), ("cdn-cache-control", "max-age=60")], Store::Stored),
        (&[], &[("cache-control", "max-age=60"), ("cdn-cache-control", "no-store")], Store::NoStore),
        (&[], &[("cache-control", "no-store"), ("cdn-cache-control", "max-age=60, &")], Store::NoStore),
        (
            &[],
            &[("expires", "Thu, 01 Jan 2099 00:00:00 GMT"), ("cdn-cache-control", "foo")],
            Store::NoExplicitFreshness,
        ),
    ];
    for (request, answer, want) in table {
        assert_eq!(reason(request, answer, &wishes()), *want, "{request:?} {answer:?}");
    }
}

#[test]
fn statuses() {
    let explicit = heads(&[("cache-control", "max-age=60")]);
    let silent = heads(&[ETAG]);
    let public = heads(&[("cache-control", "public"), ETAG]);
    let understood = heads(&[("cache-control", "max-age=60, no-store, must-understand")]);
    let plain = wishes();
    let ruled = wishing(LifetimeWish::For(1000));
    let listed = Wishes { only_status: vec![500, 206, 304], ..wishing(LifetimeWish::For(1000)) };
    let none = heads(&[]);
    use Store::{MustUnderstand, Partial, StatusNotListed, StatusNotStorable, Stored, Upgraded};
    for (status, answer, wishes, want) in [
        (200, &silent, &plain, Stored),
        (203, &silent, &plain, Stored),
        (204, &silent, &plain, Stored),
        (300, &silent, &plain, Stored),
        (301, &silent, &plain, Stored),
        (308, &silent, &plain, Stored),
        (404, &silent, &plain, Stored),
        (405, &silent, &plain, Stored),
        (410, &silent, &plain, Stored),
        (414, &silent, &plain, Stored),
        (501, &silent, &plain, Stored),
        (201, &silent, &plain, StatusNotStorable),
        (302, &silent, &plain, StatusNotStorable),
        (403, &silent, &plain, StatusNotStorable),
        (500, &silent, &plain, StatusNotStorable),
        (503, &silent, &plain, StatusNotStorable),
        (599, &silent, &plain, StatusNotStorable),
        (599, &public, &plain, Stored),
        (302, &explicit, &plain, Stored),
        (400, &explicit, &plain, Stored),
        (500, &explicit, &plain, Stored),
        (599, &explicit, &plain, Stored),
        (200, &understood, &plain, Stored),
        (599, &understood, &plain, MustUnderstand),
        (100, &explicit, &plain, StatusNotStorable),
        (101, &explicit, &plain, Upgraded),
        (103, &explicit, &plain, StatusNotStorable),
        (206, &explicit, &plain, Partial),
        (206, &explicit, &listed, Partial),
        (304, &explicit, &listed, StatusNotStorable),
        (407, &explicit, &plain, StatusNotStorable),
        (412, &explicit, &plain, StatusNotStorable),
        (416, &explicit, &plain, StatusNotStorable),
        (429, &explicit, &plain, StatusNotStorable),
        (431, &explicit, &plain, StatusNotStorable),
        (511, &explicit, &plain, StatusNotStorable),
        (404, &none, &ruled, Stored),
        (500, &none, &ruled, StatusNotStorable),
        (302, &none, &ruled, StatusNotStorable),
        (500, &none, &listed, Stored),
        (200, &none, &listed, StatusNotListed),
    ] {
        let request = heads(&[]);
        let status_code = StatusCode::from_u16(status).unwrap();
        let decision = storable(&get(&request), status_code, answer, wishes, at_once(), None);
        assert_eq!(decision.reason, want, "{status} {answer:?}");
    }
}

#[test]
fn methods() {
    let (request, answer) = (heads(&[]), heads(&[("cache-control", "max-age=60")]));
    for (method, want) in [
        (Method::GET, Store::Stored),
        (Method::HEAD, Store::MethodNotStored),
        (Method::POST, Store::MethodNotStored),
        (Method::OPTIONS, Store::MethodNotStored),
    ] {
        let req = RequestFacts { method: &method, ..get(&request) };
        assert_eq!(
            storable(&req, StatusCode::OK, &answer, &wishes(), at_once(), None).reason,
            want,
            "{method}"
        );
    }
}

#[test]
fn what_a_rule_limits() {
    let answer: Fields = &[("cache-control", "max-age=60"), ("content-type", "Image/JPEG; q=1")];
    let types =
        |list: &[&str]| Wishes { only_type: list.iter().map(ToString::to_string).collect(), ..wishes() };
    for (wishes, want) in [
        (types(&["image/jpeg"]), Store::Stored),
        (types(&["text/html", "image/*"]), Store::Stored),
        (types(&["*/*"]), Store::Stored),
        (types(&["image/png"]), Store::TypeNotListed),
        (types(&["image"]), Store::TypeNotListed),
        (wishing(LifetimeWish::Never), Store::RuleNever),
    ] {
        assert_eq!(reason(&[], answer, &wishes), want, "{wishes:?}");
    }
    assert_eq!(reason(&[], &[("cache-control", "max-age=60")], &types(&["*/*"])), Store::TypeNotListed);

    let request = heads(&[]);
    let sized = Wishes { min_bytes: 10, max_bytes: 20, ..wishes() };
    for (body, want) in [
        (None, Store::Stored),
        (Some(9), Store::TooSmall),
        (Some(10), Store::Stored),
        (Some(20), Store::Stored),
        (Some(21), Store::TooLarge),
    ] {
        let decision = storable(&get(&request), StatusCode::OK, &heads(answer), &sized, at_once(), body);
        assert_eq!(decision.reason, want, "{body:?}");
    }
}

#[test]
fn lifetimes_and_their_sources() {
    let later = date(100);
    let now = date(0);
    let modified = date(-1000);
    let targeted = "cdn-cache-control";
    let own = "samovar-cache-control";
    let (respect, silent) = (wishes(), wishing(LifetimeWish::WhenSilent(7_000)));
    let first = Wishes { heuristic_first: true, ..silent.clone() };
    let (ruled, watched) = (wishing(LifetimeWish::For(7_000)), wishing(LifetimeWish::UntilChanged));
    let table: &[(&Wishes, Fields, Lifetime, u64)] = &[
        (&respect, &[("cache-control", "max-age=60")], Lifetime::MaxAge, 60_000),
        (&respect, &[("cache-control", "max-age=60, s-maxage=30")], Lifetime::SMaxAge, 30_000),
        (&respect, &[("cache-control", "max-age=60, s-maxage=x")], Lifetime::SMaxAge, 0),
        (&respect, &[("cache-control", "max-age=60"), ("expires", &later)], Lifetime::MaxAge, 60_000),
        (&respect, &[("expires", &later), ("date", &now)], Lifetime::Expires, 100_000),
        (&respect, &[("expires", &later)], Lifetime::Expires, 100_000),
        (&respect, &[("expires", &later), ("date", "foo")], Lifetime::Expires, 100_000),
        (&respect, &[("expires", &later), ("expires", &later)], Lifetime::Expires, 100_000),
        (&respect, &[("expires", &later), ("expires", &now)], Lifetime::Expires, 0),
        (&respect, &[("expires", &now), ("date", &later)], Lifetime::Expires, 0),
        (&respect, &[("expires", "Sun 21 Nov 2286 04:46:39 GMT")], Lifetime::Expires, 0),
        (&respect, &[("last-modified", &modified), ("date", &now)], Lifetime::Heuristic, 100_000),
        (&respect, &[("last-modified", &later), ("date", &now)], Lifetime::None, 0),
        (&respect, &[("cache-control", "max-age=0"), ("last-modified", &modified)], Lifetime::MaxAge, 0),
        (&respect, &[], Lifetime::None, 0),
        (&respect, &[(targeted, "max-age=5"), ("cache-control", "max-age=60")], Lifetime::TargetedCdn, 5_000),
        (&respect, &[(targeted, "max-age=5"), (own, "max-age=6")], Lifetime::TargetedSamovar, 6_000),
        (
            &respect,
            &[(targeted, "max-age=5"), (own, "s-maxage=4, max-age=6")],
            Lifetime::TargetedSamovar,
            4_000,
        ),
        (&respect, &[(targeted, "foo"), ("cache-control", "max-age=60")], Lifetime::None, 0),
        (&silent, &[("cache-control", "max-age=60")], Lifetime::MaxAge, 60_000),
        (&silent, &[("cache-control", "max-age=x")], Lifetime::MaxAge, 0),
        (&silent, &[("expires", "0")], Lifetime::Expires, 0),
        (&silent, &[("last-modified", &modified)], Lifetime::RuleSilent, 7_000),
        (&silent, &[("cache-control", "must-revalidate")], Lifetime::RuleSilent, 7_000),
        // httpd: CacheIgnoreNoLastMod beside CacheLastModifiedFactor.
        (&first, &[("last-modified", &modified)], Lifetime::Heuristic, 100_000),
        (&first, &[("last-modified", &later)], Lifetime::RuleSilent, 7_000),
        (&first, &[], Lifetime::RuleSilent, 7_000),
        (&first, &[("last-modified", &modified), ("cache-control", "max-age=60")], Lifetime::MaxAge, 60_000),
        (
            &ruled,
            &[("cache-control", "max-age=60, s-maxage=30"), ("expires", &later)],
            Lifetime::RuleFor,
            7_000,
        ),
        (&ruled, &[("cache-control", "max-age=0")], Lifetime::RuleFor, 7_000),
        (&watched, &[("cache-control", "max-age=60")], Lifetime::UntilChanged, u64::MAX),
    ];
    for (wishes, answer, source, ms) in table {
        let answer: Vec<_> = answer.iter().copied().chain([ETAG]).collect();
        let freshness = store(&[], &answer, wishes).freshness.unwrap();
        assert_eq!(
            (freshness.source, freshness.lifetime_ms),
            (*source, *ms),
            "{answer:?} {:?}",
            wishes.lifetime
        );
    }
}

#[test]
fn until_changed_is_about_files_that_are_there() {
    let request = heads(&[]);
    let watched = wishing(LifetimeWish::UntilChanged);
    let gone = storable(&get(&request), StatusCode::NOT_FOUND, &heads(&[]), &watched, at_once(), None);
    assert_eq!(gone.reason, Store::NoExplicitFreshness);
    let listed = Wishes { only_status: vec![404], ..watched };
    let gone = storable(&get(&request), StatusCode::NOT_FOUND, &heads(&[]), &listed, at_once(), None);
    assert_eq!(gone.freshness.unwrap().lifetime_ms, u64::MAX);
}

#[test]
fn heuristics_are_for_plain_pages() {
    let (request, cookies) = (heads(&[]), heads(&[("cookie", "ignored=1")]));
    let modified = date(-1000);
    let answer = heads(&[("last-modified", &modified)]);
    let source = |req: &RequestFacts<'_>, wishes: &Wishes| {
        storable(req, StatusCode::OK, &answer, wishes, at_once(), None).freshness.map(|f| f.source)
    };
    let plain = get(&request);
    assert_eq!(source(&plain, &wishes()), Some(Lifetime::Heuristic));
    assert_eq!(source(&RequestFacts { has_query: true, ..plain }, &wishes()), Some(Lifetime::None));
    let irrelevant = RequestFacts { relevant_cookies: false, ..get(&cookies) };
    assert_eq!(source(&irrelevant, &wishes()), Some(Lifetime::None));
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(
            source(&plain, &Wishes { heuristic_factor: factor, ..wishes() }),
            Some(Lifetime::None),
            "{factor}"
        );
    }
    // Beside `when_silent` the rule says which cookies matter, and a query still keeps it out.
    let first = Wishes { heuristic_first: true, ..wishing(LifetimeWish::WhenSilent(7_000)) };
    assert_eq!(source(&irrelevant, &first), Some(Lifetime::Heuristic));
    assert_eq!(source(&RequestFacts { has_query: true, ..plain }, &first), Some(Lifetime::None));
    let short = Wishes { heuristic_max_ms: 500, ..wishes() };
    let freshness = storable(&plain, StatusCode::OK, &answer, &short, at_once(), None).freshness.unwrap();
    assert_eq!(freshness.lifetime_ms, 500);
}

#[test]
fn a_rules_lifetime_runs_from_arrival() {
    // A page that takes three seconds to make, from an origin whose clock is an hour behind, kept for one second.
    let request = heads(&[]);
    let old = date(-3600);
    let at = samovar_policy::Exchange { requested: common::after(0), answered: common::after(3000) };
    let answer = heads(&[("date", &old)]);
    let ruled = wishing(LifetimeWish::For(1000));
    let f = storable(&get(&request), StatusCode::OK, &answer, &ruled, at, None).freshness.unwrap();
    assert_eq!(f.initial_age_ms, 3_603_000);
    assert_eq!(samovar_policy::ttl_ms(&f, common::after(3000)), 1000);
    assert_eq!(samovar_policy::lifetime_given_ms(&f), 1000);
}

#[test]
fn upper_bounds() {
    for lifetime in [LifetimeWish::Respect, LifetimeWish::For(60_000), LifetimeWish::UntilChanged] {
        let capped = Wishes { lifetime_max_ms: Some(5_000), ..wishing(lifetime) };
        let f = store(&[], &[("cache-control", "max-age=60")], &capped).freshness.unwrap();
        assert_eq!(f.lifetime_ms, 5_000, "{lifetime:?}");
    }
}

#[test]
fn overrides_are_needed_and_recorded() {
    let ruled = wishing(LifetimeWish::For(60_000));
    let one = |set: fn(&mut Overrides)| {
        let mut overrides = Overrides::default();
        set(&mut overrides);
        Wishes { overrides, ..ruled.clone() }
    };
    type Row<'a> = (Fields<'a>, Fields<'a>, Store, fn(&mut Overrides), &'static str);
    let table: &[Row] = &[
        (&[], &[("cache-control", "no-store")], Store::NoStore, |o| o.no_store = true, "no-store"),
        (&[], &[("cache-control", "private")], Store::Private, |o| o.private = true, "private"),
        (&[], &[("cache-control", "no-cache")], Store::NoCache, |o| o.no_cache = true, "no-cache"),
        (&[], &[("vary", "*")], Store::VaryStar, |o| o.vary_star = true, "vary-star"),
        (
            &[("authorization", "x")],
            &[],
            Store::RequestAuthorization,
            |o| o.authorization = true,
            "authorization",
        ),
        (&[("cookie", "a=b")], &[], Store::RequestCookie, |o| o.cookie = true, "cookie"),
        (&[], &[("set-cookie", "a=b")], Store::SetCookie, |o| o.set_cookie = true, "set-cookie"),
    ];
    for (request, answer, refused, set, word) in table {
        let without = store(request, answer, &ruled);
        assert_eq!((without.reason, without.overridden), (*refused, vec![]), "{word}");
        let with = store(request, answer, &one(*set));
        assert!(with.freshness.is_some(), "{word}: {:?}", with.reason);
        assert_eq!(with.overridden, [*word]);
        let idle = store(&[], &[], &one(*set));
        assert_eq!((idle.reason, idle.overridden), (Store::Stored, vec![]), "{word} without need");
    }
}

#[test]
fn set_cookie_stripped_by_wish() {
    let strip = Wishes { set_cookie_strip: true, ..wishing(LifetimeWish::For(1000)) };
    let decision = store(&[], &[("set-cookie", "a=b")], &strip);
    assert_eq!((decision.reason, decision.overridden), (Store::StoredStripped, vec![]));
}

#[test]
fn what_is_remembered() {
    let of = |answer: Fields, wishes: &Wishes| {
        let answer: Vec<_> = answer.iter().copied().chain([ETAG]).collect();
        store(&[], &answer, wishes).freshness.unwrap()
    };
    let plain = of(&[("cache-control", "max-age=1, stale-while-revalidate=2, stale-if-error=3")], &wishes());
    assert!(plain.has_validator && plain.explicit && !plain.must_revalidate && !plain.always_revalidate);
    assert_eq!((plain.stale_while_revalidate_ms, plain.stale_if_error_ms), (2_000, 3_000));

    let wished = Wishes { stale_while_revalidate_ms: Some(4), stale_if_error_ms: Some(5), ..wishes() };
    let f = of(&[("cache-control", "max-age=1")], &wished);
    assert_eq!((f.stale_while_revalidate_ms, f.stale_if_error_ms), (4, 5));
    let f = of(&[("cache-control", "max-age=1, stale-while-revalidate=0, stale-if-error=x")], &wished);
    assert_eq!((f.stale_while_revalidate_ms, f.stale_if_error_ms), (0, 0), "the origin's word goes first");

    let f = of(&[], &wished);
    assert_eq!(
        (f.stale_while_revalidate_ms, f.stale_if_error_ms),
        (0, 5),
        "what was never fresh is not served unasked"
    );

    for forbidding in ["must-revalidate, max-age=1", "proxy-revalidate, max-age=1", "s-maxage=1", "no-cache"]
    {
        let line = format!("{forbidding}, stale-while-revalidate=9, stale-if-error=9");
        let f = of(&[("cache-control", &line)], &wished);
        assert_eq!((f.stale_while_revalidate_ms, f.stale_if_error_ms), (0, 0), "{forbidding}");
        assert!(f.must_revalidate || f.always_revalidate, "{forbidding}");
    }
    // A rule's lifetime stands in the place of s-maxage, and of what s-maxage implies.
    let f = of(&[("cache-control", "s-maxage=1")], &Wishes { lifetime: LifetimeWish::For(1), ..wished });
    assert!(!f.must_revalidate && !f.explicit && f.stale_while_revalidate_ms == 4);
}

/// A lifetime of zero is no consent: the answer may be kept to be asked about, and cookies matter for it.
#[test]
fn no_time_at_all_is_not_explicit() {
    for (control, explicit) in [("max-age=0", false), ("s-maxage=0", false), ("max-age=1", true)] {
        let kept = common::store(&[], &[("cache-control", control), ("etag", "\"e\"")], &wishes());
        assert_eq!(kept.freshness.unwrap().explicit, explicit, "{control}");
    }
}

/// "Until changed" is said as such, however old the answer was when it came, and no other lifetime is taken for it.
#[test]
fn until_changed_is_a_lifetime_of_its_own() {
    let aged = &[("age", "10"), ("etag", "\"e\"")];
    let f = common::store(&[], aged, &wishing(LifetimeWish::UntilChanged)).freshness.unwrap();
    assert_eq!((f.lifetime_ms, samovar_policy::lifetime_given_ms(&f)), (u64::MAX, u64::MAX));
    let f = common::store(&[], aged, &wishing(LifetimeWish::For(u64::MAX - 5))).freshness.unwrap();
    assert_eq!(f.lifetime_ms, u64::MAX - 1);
    assert!(samovar_policy::ttl_ms(&f, common::after(0)) < i64::MAX);
}

#[test]
fn out_of_reach_by_the_operators_word() {
    let wished = Wishes { stale_if_unreachable_ms: 5_000, ..wishes() };
    let trusting =
        Wishes { overrides: Overrides { no_cache: true, ..Overrides::default() }, ..wished.clone() };
    for (control, wishes, want) in [
        ("max-age=60", &wished, 5_000),
        ("max-age=60, must-revalidate", &wished, 0),
        ("max-age=60, proxy-revalidate", &wished, 0),
        ("s-maxage=60", &wished, 0),
        ("no-cache", &wished, 0),
        ("no-cache", &trusting, 5_000),
        ("no-cache, must-revalidate", &trusting, 0),
    ] {
        let kept = common::store(&[], &[("cache-control", control), ("etag", "\"e\"")], wishes);
        assert_eq!(kept.freshness.unwrap().stale_if_unreachable_ms, want, "{control}");
    }
}

/// A shared lifetime of zero shares nothing.
#[test]
fn a_cookie_beside_no_lifetime_is_refused() {
    for (control, want) in [("s-maxage=0", Store::SetCookie), ("s-maxage=1", Store::StoredStripped)] {
        let answer = [("cache-control", control), ("etag", "\"e\""), ("set-cookie", "a=b")];
        assert_eq!(common::store(&[], &answer, &wishes()).reason, want, "{control}");
    }
}

#[test]
fn what_belongs_to_one_client() {
    let answer = common::heads(&[
        ("cache-control", "max-age=60, no-cache=\"x-a\", private=\"x-b\""),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("set-cookie2", "c=3"),
        ("x-a", "1"),
        ("x-b", "1"),
        ("x-c", "1"),
    ]);
    let own = samovar_policy::fields_of_one(&answer);
    let named: Vec<(&str, &str)> = own.iter().map(|(n, v)| (n.as_str(), v.to_str().unwrap())).collect();
    let want =
        [("set-cookie", "a=1"), ("set-cookie", "b=2"), ("set-cookie2", "c=3"), ("x-a", "1"), ("x-b", "1")];
    assert_eq!(named, want);
}

#[test]
fn surrogate_control_decides_alone_and_ends_here() {
    let past = "Sun, 06 Nov 1994 08:49:37 GMT";
    let answer = [("surrogate-control", "max-age=60"), ("cache-control", "no-store"), ("expires", past)];
    let kept = common::store(&[], &answer, &wishes()).freshness.unwrap();
    assert_eq!((kept.source, kept.lifetime_ms, kept.explicit), (Lifetime::TargetedSurrogate, 60_000, true));
    // It says nothing of a lifetime, and Expires is not looked at beside it (RFC 9213 §2.2, as for its heirs).
    let answer =
        [("surrogate-control", "no-store;other, max-age=x"), ("expires", "Fri, 01 Jan 2038 01:01:01 GMT")];
    assert_eq!(common::store(&[], &answer, &wishes()).reason, Store::OddFreshness);
    for (value, stays) in [("max-age=60", false), ("max-age=60;other", true), ("foo", true)] {
        let mut headers = common::heads(&[("surrogate-control", value), ("x", "1")]);
        samovar_policy::strip_surrogate_control(&mut headers);
        assert_eq!(
            (headers.contains_key("surrogate-control"), headers.len()),
            (stays, 1 + usize::from(stays))
        );
    }
}

#[test]
fn why_requests_go_forward() {
    for reason in Lookup::ALL {
        let want = match reason {
            Lookup::Fresh
            | Lookup::FreshHot
            | Lookup::StaleWhileRevalidate
            | Lookup::MaxStale
            | Lookup::MaxForwards
            | Lookup::TraceMethod
            | Lookup::OnlyIfCached => None,
            Lookup::VaryMiss | Lookup::CodingUnfit => Some("vary-miss"),
            Lookup::NoEntry | Lookup::Purged => Some("uri-miss"),
            Lookup::MethodNotCached | Lookup::MethodOverride => Some("method"),
            Lookup::PartMissing => Some("partial"),
            _ => samovar_policy::fwd_of(*reason)
                .filter(|word| ["stale", "miss", "bypass", "request"].contains(word)),
        };
        let got = samovar_policy::fwd_of(*reason);
        assert_eq!(got, want, "{reason}");
        assert_eq!(got.is_none(), want.is_none());
    }
    assert_eq!(samovar_policy::fwd_of(Lookup::Expired), Some("stale"));
    assert_eq!(samovar_policy::fwd_of(Lookup::RequestCookie), Some("bypass"));
    assert_eq!(samovar_policy::fwd_of(Lookup::RequestNoCache), Some("request"));
    assert_eq!(samovar_policy::fwd_of(Lookup::KnownNotStorable), Some("miss"));
}
