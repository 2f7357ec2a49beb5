//! What is done with a stored answer, as tables: one row per branch of `reuse` and `may_look`.

mod common;

use common::{Fields, MONO_MS, after, get, heads, wishes, wishing};
use http::Method;
use samovar_policy::{
    Freshness, LifetimeWish, Overrides, Reload, RequestFacts, ReuseDecision, Verdict, Wishes, is_unreachable,
    may_look, may_stand_in, only_if_cached, reuse,
};
use samovar_reason::{Lifetime, Lookup, Upstream};

/// Fresh for ten seconds by the origin's word, then stale for five with a refresh and for twenty if the origin fails.
fn stored() -> Freshness {
    Freshness {
        lifetime_ms: 10_000,
        source: Lifetime::MaxAge,
        initial_age_ms: 0,
        stored_mono_ms: MONO_MS,
        stale_while_revalidate_ms: 5_000,
        stale_if_error_ms: 20_000,
        stale_if_unreachable_ms: 0,
        always_revalidate: false,
        must_revalidate: false,
        shared_despite_authorization: false,
        explicit: true,
        has_validator: true,
    }
}

const ASK: Verdict = Verdict::Revalidate { stale_if_error: false };
const ASK_OR_STALE: Verdict = Verdict::Revalidate { stale_if_error: true };

fn judge(f: &Freshness, request: Fields<'_>, wishes: &Wishes, ms: u64) -> (Verdict, Lookup) {
    let request = heads(request);
    let decision = reuse(f, &get(&request), wishes, after(ms));
    (decision.verdict, decision.reason)
}

#[test]
fn by_time() {
    for (ms, want) in [
        (0, (Verdict::Serve, Lookup::Fresh)),
        (9_999, (Verdict::Serve, Lookup::Fresh)),
        (10_000, (Verdict::ServeAndRefresh, Lookup::StaleWhileRevalidate)),
        (15_000, (Verdict::ServeAndRefresh, Lookup::StaleWhileRevalidate)),
        (15_001, (ASK_OR_STALE, Lookup::Expired)),
        (30_000, (ASK_OR_STALE, Lookup::Expired)),
        (30_001, (ASK, Lookup::Expired)),
    ] {
        assert_eq!(judge(&stored(), &[], &wishes(), ms), want, "after {ms} ms");
    }
    let strict = Freshness { stale_while_revalidate_ms: 0, stale_if_error_ms: 0, ..stored() };
    assert_eq!(
        judge(&strict, &[], &wishes(), 10_000),
        (ASK, Lookup::Expired),
        "no allowance, not even for an instant"
    );
    let decision = reuse(&stored(), &get(&heads(&[])), &wishes(), after(12_000));
    assert_eq!((decision.age_ms, decision.ttl_ms), (12_000, -2_000));
}

#[test]
fn past_keep_nothing_is_asked_about() {
    let keeping = |keep_ms| Wishes { keep_ms, ..wishes() };
    for (keep_ms, ms, want) in [
        (None, 9_000_000, (ASK, Lookup::Expired)),
        (Some(25_000), 9_999, (Verdict::Serve, Lookup::Fresh)),
        (Some(25_000), 35_000, (ASK, Lookup::Expired)),
        (Some(25_000), 35_001, (Verdict::Refetch, Lookup::PastKeep)),
        (Some(0), 10_000, (Verdict::ServeAndRefresh, Lookup::StaleWhileRevalidate)),
        (Some(0), 10_001, (Verdict::Refetch, Lookup::PastKeep)),
    ] {
        assert_eq!(judge(&stored(), &[], &keeping(keep_ms), ms), want, "{keep_ms:?} after {ms} ms");
    }
}

/// An error: 20 s after the lifetime of 10 s; out of reach: 40 s.
#[test]
fn standing_in_for_an_origin() {
    let f = Freshness { stale_if_unreachable_ms: 40_000, ..stored() };
    let decided = |verdict, reason| ReuseDecision { verdict, reason, age_ms: 0, ttl_ms: -1 };
    let (yes, no) = (decided(ASK_OR_STALE, Lookup::Expired), decided(ASK, Lookup::Expired));
    for (f, decision, ms, error, cut_off) in [
        (f, yes, 30_000, true, true),
        (f, yes, 30_001, false, true),
        (f, yes, 50_000, false, true),
        (f, yes, 50_001, false, false),
        (f, no, 12_000, false, true),
        (f, no, 50_001, false, false),
        // Fresh, and doubted: a soft purge, a client's wish.
        (Freshness { stale_if_error_ms: 0, ..f }, decided(ASK_OR_STALE, Lookup::Purged), 9_999, true, true),
        (Freshness { stale_if_error_ms: 0, ..f }, decided(ASK_OR_STALE, Lookup::Purged), 10_000, true, true),
        (Freshness { stale_if_error_ms: 0, ..f }, decided(ASK_OR_STALE, Lookup::Purged), 10_001, false, true),
        (f, decided(ASK, Lookup::RequestFreshness), 12_000, false, false),
        (f, decided(ASK, Lookup::RuleChanged), 12_000, false, false),
        (f, decided(Verdict::Pass, Lookup::Expired), 12_000, false, false),
        (f, decided(Verdict::Refetch, Lookup::PastKeep), 12_000, false, false),
        (Freshness { must_revalidate: true, ..f }, no, 12_000, false, false),
        (Freshness { always_revalidate: true, ..f }, no, 12_000, false, false),
        (Freshness { stale_if_unreachable_ms: 0, ..f }, no, 9_000, false, false),
        (Freshness { stale_if_unreachable_ms: 1, ..f }, no, 10_001, false, true),
    ] {
        let got = [false, true].map(|unreachable| may_stand_in(&f, &decision, after(ms), unreachable));
        assert_eq!(got, [error, cut_off], "{decision:?} after {ms} ms with {f:?}");
    }
}

#[test]
fn what_being_cut_off_means() {
    for (why, want) in [
        (Upstream::Refused, true),
        (Upstream::Reset, true),
        (Upstream::HeadTimeout, true),
        (Upstream::Unresolved, true),
        (Upstream::BadHead, false),
        (Upstream::QueueFull, false),
        (Upstream::NoMember, true),
        (Upstream::Overloaded, false),
        (Upstream::ShortBody, false),
    ] {
        assert_eq!(is_unreachable(why), want, "{why}");
    }
}

#[test]
fn a_stored_answer_or_none() {
    for (fields, want) in [
        (&[][..], false),
        (&[("cache-control", "only-if-cached")], true),
        (&[("cache-control", "max-age=0")], false),
        (&[("pragma", "only-if-cached")], false),
    ] {
        assert_eq!(only_if_cached(&get(&heads(fields))), want, "{fields:?}");
    }
}

#[test]
fn until_changed_never_ends() {
    let f = Freshness { lifetime_ms: u64::MAX, ..stored() };
    let decision =
        reuse(&f, &get(&heads(&[])), &wishes(), samovar_policy::Now { mono_ms: u64::MAX, wall_ms: 0 });
    assert_eq!((decision.verdict, decision.ttl_ms), (Verdict::Serve, i64::MAX));
}

#[test]
fn a_clock_that_stands_or_goes_back_makes_nothing_younger_than_it_arrived() {
    let f = Freshness { initial_age_ms: 4_000, ..stored() };
    let decision = reuse(&f, &get(&heads(&[])), &wishes(), samovar_policy::Now { mono_ms: 0, wall_ms: 0 });
    assert_eq!((decision.age_ms, decision.ttl_ms), (4_000, 6_000));
}

#[test]
fn what_the_answer_forbids() {
    let always = Freshness { always_revalidate: true, ..stored() };
    let strict = Freshness { must_revalidate: true, ..stored() };
    for (f, ms, want) in [
        (&always, 0, (ASK, Lookup::MustRevalidate)),
        (&always, 12_000, (ASK, Lookup::MustRevalidate)),
        (&strict, 0, (Verdict::Serve, Lookup::Fresh)),
        (&strict, 12_000, (ASK, Lookup::MustRevalidate)),
    ] {
        assert_eq!(judge(f, &[], &wishes(), ms), want);
        let generous = Wishes { request_directives: true, ..wishes() };
        assert_eq!(
            judge(f, &[("cache-control", "max-stale")], &generous, ms),
            want,
            "max-stale changes nothing"
        );
    }
}

#[test]
fn secrets_and_cookies() {
    let implicit = Freshness { explicit: false, ..stored() };
    let shared = Freshness { shared_despite_authorization: true, ..stored() };
    let over = |set: fn(&mut Overrides)| {
        let mut overrides = Overrides::default();
        set(&mut overrides);
        Wishes { overrides, ..wishes() }
    };
    let (plain, cookie, authorization) =
        (wishes(), over(|o| o.cookie = true), over(|o| o.authorization = true));
    let serve = (Verdict::Serve, Lookup::Fresh);
    let table: &[(&Freshness, Fields, &Wishes, (Verdict, Lookup))] = &[
        (&stored(), &[("cookie", "a=b")], &plain, serve),
        (&implicit, &[("cookie", "a=b")], &plain, (Verdict::Pass, Lookup::RequestCookie)),
        (&implicit, &[("cookie", "a=b")], &cookie, serve),
        (&implicit, &[], &plain, serve),
        (&stored(), &[("authorization", "x")], &plain, (Verdict::Pass, Lookup::RequestAuthorization)),
        (&stored(), &[("authorization", "x")], &authorization, serve),
        (&shared, &[("authorization", "x")], &plain, serve),
    ];
    for (f, request, wishes, want) in table {
        assert_eq!(judge(f, request, wishes, 0), *want, "{request:?}");
    }
}

#[test]
fn what_the_client_asks() {
    let with = |reload, request_directives| Wishes { reload, request_directives, ..wishes() };
    let (ignore, obey) = (with(Reload::Ignore, false), with(Reload::Ignore, true));
    let (revalidate, bypass) = (with(Reload::Revalidate, false), with(Reload::Bypass, false));
    let serve = (Verdict::Serve, Lookup::Fresh);
    let fresher = (ASK_OR_STALE, Lookup::RequestFreshness);
    let table: &[(&str, &Wishes, u64, (Verdict, Lookup))] = &[
        ("no-cache", &ignore, 0, serve),
        ("no-cache", &revalidate, 0, (ASK_OR_STALE, Lookup::RequestNoCache)),
        ("max-age=0", &revalidate, 0, (ASK_OR_STALE, Lookup::RequestNoCache)),
        ("max-age=1", &revalidate, 0, serve),
        ("no-cache", &bypass, 0, (Verdict::Pass, Lookup::RequestNoCache)),
        ("max-age=3", &ignore, 4_000, serve),
        ("max-age=3", &obey, 3_000, serve),
        ("max-age=3", &obey, 3_001, fresher),
        ("min-fresh=6", &obey, 4_000, serve),
        ("min-fresh=6", &obey, 4_001, fresher),
        ("max-stale", &ignore, 16_000, (ASK_OR_STALE, Lookup::Expired)),
        ("max-stale", &obey, 1_000_000, (Verdict::Serve, Lookup::MaxStale)),
        ("max-stale=6", &obey, 16_000, (Verdict::Serve, Lookup::MaxStale)),
        ("max-stale=6", &obey, 16_001, (ASK_OR_STALE, Lookup::Expired)),
        ("max-stale=x", &obey, 16_000, (ASK_OR_STALE, Lookup::Expired)),
        ("max-age=3", &obey, 12_000, (ASK_OR_STALE, Lookup::Expired)),
        ("only-if-cached", &ignore, 0, serve),
        ("only-if-cached", &ignore, 12_000, (Verdict::ServeAndRefresh, Lookup::StaleWhileRevalidate)),
        ("only-if-cached", &ignore, 16_000, (Verdict::Pass, Lookup::OnlyIfCached)),
        ("only-if-cached, no-cache", &revalidate, 0, (Verdict::Pass, Lookup::OnlyIfCached)),
    ];
    for (line, wishes, ms, want) in table {
        assert_eq!(judge(&stored(), &[("cache-control", line)], wishes, *ms), *want, "{line} after {ms} ms");
    }
    let request = heads(&[("cache-control", "max-age=1, only-if-cached")]);
    assert!(only_if_cached(&get(&request)));
}

#[test]
fn before_the_cache_is_asked() {
    let never = wishing(LifetimeWish::Never);
    let bypass = Wishes { reload: Reload::Bypass, ..wishes() };
    let plain = wishes();
    for (method, fields, wishes, want) in [
        (Method::GET, vec![], &plain, Ok(())),
        (Method::HEAD, vec![], &plain, Ok(())),
        (Method::POST, vec![], &plain, Err(Lookup::MethodNotCached)),
        (Method::OPTIONS, vec![], &plain, Err(Lookup::MethodNotCached)),
        (Method::GET, vec![], &never, Err(Lookup::RuleNever)),
        (Method::GET, vec![("cache-control", "no-store")], &plain, Err(Lookup::RequestNoStore)),
        (Method::GET, vec![("cache-control", "no-cache")], &plain, Ok(())),
        (Method::GET, vec![("pragma", "no-cache")], &bypass, Err(Lookup::RequestNoCache)),
        (Method::GET, vec![("cookie", "a=b"), ("authorization", "x")], &plain, Ok(())),
    ] {
        let request = heads(&fields);
        let req = RequestFacts { method: &method, ..get(&request) };
        assert_eq!(may_look(&req, wishes), want, "{method} {fields:?}");
    }
    assert_eq!(judge(&stored(), &[], &never, 0), (Verdict::Pass, Lookup::RuleNever));
}
