//! The cache core from outside: reuse, collapsing, variants, purge against fills, budget, admission.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test stops at its first surprise, and the race needs threads"
)]

mod common;

use bytes::Bytes;
use common::*;
use http::{HeaderName, HeaderValue};
use samovar_cache::*;
use samovar_policy::{ReuseDecision, Verdict};
use samovar_reason::{Lookup, Store, Upstream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;

#[test]
fn what_was_stored_is_served() {
    let cache = cache(1 << 20);
    store(&cache, "http://a/", b"hello").unwrap();
    match ask(&cache, "http://a/") {
        Step::Serve(entry, _) => assert_eq!(body_of(&entry), b"hello"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(ask(&cache, "http://a/x"), Step::Fetch(_, Lookup::NoEntry, None)));
}

#[test]
fn those_who_join_are_released_by_the_head_and_read_the_growing_body() {
    let cache = cache(1 << 20);
    let first = ticket(ask(&cache, "k"));
    let Step::Join(joined) = ask(&cache, "k") else { panic!("second request must join") };
    assert!(joined.poll_decided(&mut cx()).is_pending());
    let mut sink = first.store(head(vec![], &[]), Some(6), u64::MAX, 0);
    let Poll::Ready(Decided::Stream(entry)) = joined.poll_decided(&mut cx()) else {
        panic!("head must release")
    };
    let Body::Growing(growing) = entry.body() else { panic!() };
    let mut reader = growing.read().unwrap();
    assert!(reader.poll_next(&mut cx()).is_pending());
    sink.push(Bytes::from_static(b"abc"));
    assert!(matches!(reader.poll_next(&mut cx()), Poll::Ready(Some(Ok(b))) if b == "abc"));
    // A late one joins the growing object and begins at its beginning.
    let Step::Join(late) = ask(&cache, "k") else { panic!() };
    let Poll::Ready(Decided::Stream(entry)) = late.poll_decided(&mut cx()) else { panic!() };
    let Body::Growing(growing) = entry.body() else { panic!() };
    let mut late = growing.read().unwrap();
    assert!(matches!(late.poll_next(&mut cx()), Poll::Ready(Some(Ok(b))) if b == "abc"));
    sink.push(Bytes::from_static(b"def"));
    sink.finish(0, 0).unwrap();
    assert!(matches!(reader.poll_next(&mut cx()), Poll::Ready(Some(Ok(b))) if b == "def"));
    assert!(matches!(reader.poll_next(&mut cx()), Poll::Ready(None)));
    assert!(matches!(ask(&cache, "k"), Step::Serve(..)));
}

#[test]
fn a_fill_that_dies_fails_everyone_at_once_and_stores_nothing() {
    let cache = cache(1 << 20);
    let first = ticket(ask(&cache, "k"));
    let Step::Join(joined) = ask(&cache, "k") else { panic!() };
    drop(first);
    let told = |joined: &Joined| match joined.poll_decided(&mut cx()) {
        Poll::Ready(Decided::Failed(failure)) => failure.reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(told(&joined), Upstream::ClientGone);
    let second = ticket(ask(&cache, "k"));
    let joined = second.join();
    second.fail(FillFailure { reason: Upstream::HeadTimeout, detail: "x".into() });
    assert_eq!(told(&joined), Upstream::HeadTimeout, "why it failed");
    // In mid-body: readers are told, nothing is stored.
    let mut sink = ticket(ask(&cache, "k")).store(head(vec![], &[]), Some(100), u64::MAX, 0);
    let Body::Growing(growing) = sink.entry().body() else { panic!() };
    let mut reader = growing.read().unwrap();
    sink.push(Bytes::from_static(b"abc"));
    sink.fail(FillFailure { reason: Upstream::ShortBody, detail: "x".into() });
    assert!(matches!(reader.poll_next(&mut cx()), Poll::Ready(Some(Ok(_)))));
    let Poll::Ready(Some(Err(failure))) = reader.poll_next(&mut cx()) else { panic!() };
    assert_eq!(failure.reason, Upstream::ShortBody, "why it failed");
    assert!(matches!(ask(&cache, "k"), Step::Fetch(..)));
}

#[test]
fn not_storable_is_remembered_and_nobody_waits() {
    let cache = cache(1 << 20);
    ticket(ask(&cache, "k")).not_storable(Store::SetCookie, 5_000);
    let Step::Fetch(_one, Lookup::KnownNotStorable, None) = ask(&cache, "k") else { panic!() };
    let Step::Fetch(two, Lookup::KnownNotStorable, None) = ask(&cache, "k") else { panic!("must not join") };
    assert_eq!(cache.known_not_storable("k", 1_000), Some(Store::SetCookie));
    // The answer became storable: stored, and the note forgotten.
    two.store(head(vec![], &[]), None, u64::MAX, 0).finish(0, 0).unwrap();
    assert_eq!(cache.known_not_storable("k", 1_000), None);
    assert!(matches!(ask(&cache, "k"), Step::Serve(..)));
}

#[test]
fn variants_are_kept_apart() {
    let cache = cache(1 << 20);
    let name = HeaderName::from_static("accept-language");
    for language in ["de", "es"] {
        let step = ask_with(&cache, "k", Some(language), &|_| SERVE);
        let vary = vec![(name.clone(), Some(HeaderValue::from_static(language)))];
        let mut sink = ticket(step).store(head(vary, &[]), None, u64::MAX, 0);
        sink.push(Bytes::from_static(language.as_bytes()));
        sink.finish(0, 0).unwrap();
    }
    for language in ["de", "es"] {
        match ask_with(&cache, "k", Some(language), &|_| SERVE) {
            Step::Serve(entry, _) => assert_eq!(body_of(&entry), language.as_bytes()),
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(ask_with(&cache, "k", Some("fr"), &|_| SERVE), Step::Fetch(_, Lookup::VaryMiss, None)));
    assert_eq!(cache.stats().entries, 2);
}

#[test]
fn a_purge_overtakes_a_running_fill() {
    for scope in [Scope::Url("http://a/x"), Scope::Prefix("http://a/"), Scope::Tag("t"), Scope::All] {
        let cache = cache(1 << 20);
        let running = ticket(ask(&cache, "http://a/x"));
        let receipt = cache.purge(scope, false);
        assert_eq!((receipt.fills, receipt.entries), (1, 0));
        assert_eq!(running.refuses(), None, "whoever had joined gets it");
        let newer = ask(&cache, "http://a/x");
        assert!(matches!(newer, Step::Fetch(..)), "nobody joins an older fill");
        let sink = running.store(head(vec![], &["t"]), None, u64::MAX, 0);
        assert!(sink.is_overtaken());
        assert!(matches!(ask(&cache, "http://a/x"), Step::Join(_)), "the newer one");
        assert_eq!(sink.finish(0, 0).unwrap_err(), Store::PurgedInFlight);
        assert_eq!(cache.stats().entries, 0);
    }
}

/// Whose tags a fill has is known with its head: until then a purge by tag holds others back from it, from then on it
/// concerns those that have the tag.
#[test]
fn a_purge_of_a_tag_overtakes_those_that_have_it() {
    let cache = cache(1 << 20);
    let (before, with, without) =
        (ticket(ask(&cache, "a")), ticket(ask(&cache, "b")), ticket(ask(&cache, "c")));
    let early = before.join();
    let with = with.store(head(vec![], &["t", "u"]), None, u64::MAX, 0);
    let without = without.store(head(vec![], &["u"]), None, u64::MAX, 0);
    assert_eq!(cache.purge(Scope::Tag("t"), false).fills, 2, "the one that has it, and the one that may");
    assert!(matches!(ask(&cache, "a"), Step::Fetch(..)), "it may turn out to have it");
    assert!(matches!(ask(&cache, "b"), Step::Fetch(..)));
    assert!(matches!(ask(&cache, "c"), Step::Join(_)));
    let before = before.store(head(vec![], &["x"]), None, u64::MAX, 0);
    assert!(matches!(ask(&cache, "a"), Step::Join(_)), "it did not");
    assert!(matches!(early.poll_decided(&mut cx()), Poll::Ready(Decided::Stream(_))));
    assert_eq!([before.is_overtaken(), with.is_overtaken(), without.is_overtaken()], [false, true, false]);
    assert!(before.finish(0, 0).is_ok() && without.finish(0, 0).is_ok());
    assert_eq!(with.finish(0, 0).unwrap_err(), Store::PurgedInFlight);
    // More than can be remembered apart.
    for (purges, overtaken) in [(64, false), (65, true), (100, true)] {
        let many = ticket(ask(&cache, "d"));
        for n in 0..purges {
            cache.purge(Scope::Tag(&n.to_string()), false);
        }
        assert_eq!(many.store(head(vec![], &["x"]), None, u64::MAX, 0).is_overtaken(), overtaken, "{purges}");
    }
    // A refresh that turns out to have it.
    let stale = ReuseDecision { verdict: Verdict::Revalidate { stale_if_error: false }, ..SERVE };
    let Step::Fetch(ticket, _, Some((base, _))) = ask_with(&cache, "a", None, &|_| stale) else { panic!() };
    cache.purge(Scope::Tag("later"), false);
    assert_eq!(ticket.refresh(&base, head(vec![], &["later"]), 0).1, Err(Store::PurgedInFlight));
}

/// A head that varies by what a request does not match is not for that request, whatever was expected of it.
#[test]
fn who_joins_once_the_head_is_there() {
    let cache = cache(1 << 20);
    let language = HeaderName::from_static("accept-language");
    let ticket = ticket(ask_with(&cache, "k", Some("de"), &|_| SERVE));
    assert!(matches!(ask_with(&cache, "k", Some("fr"), &|_| SERVE), Step::Join(_)), "nobody knows yet");
    let vary = vec![(language, Some(HeaderValue::from_static("de")))];
    let sink = ticket.store(head(vary, &[]), None, u64::MAX, 0);
    assert!(matches!(ask_with(&cache, "k", Some("de"), &|_| SERVE), Step::Join(_)));
    assert!(matches!(ask_with(&cache, "k", Some("fr"), &|_| SERVE), Step::Fetch(..)));
    drop(sink);
}

/// Whoever feeds a body is told when nobody wants the rest.
#[test]
fn feeding_ends_with_the_last_who_wants_it() {
    let cache = cache(1 << 20);
    let mut sink = ticket(ask(&cache, "k")).store(head(vec![], &[]), None, 10, 0);
    let wanted = |sink: &Sink| {
        let mut room = std::pin::pin!(sink.room());
        match room.as_mut().poll(&mut cx()) {
            Poll::Ready(wanted) => wanted,
            Poll::Pending => panic!("it must not wait"),
        }
    };
    let Body::Growing(growing) = sink.entry().body() else { panic!() };
    let reader = growing.read().unwrap();
    assert!(wanted(&sink));
    sink.push(Bytes::from_static(b"more than may be stored"));
    assert!(wanted(&sink), "one reads it");
    drop(reader);
    assert!(!wanted(&sink), "nobody does");
}

#[test]
fn what_took_long_does_not_replace_what_is_newer() {
    let cache = cache(1 << 20);
    let alone = |now_ms| {
        let step = cache.begin(&Ask {
            key: "k",
            now_ms,
            matches: &|_| true,
            vary_of: &|_| vec![],
            judge: &|_| ReuseDecision { verdict: Verdict::Refetch, ..SERVE },
            admit_after: 0,
            admit_period_ms: 0,
            owners: &[],
            part: None,
            alone: true,
        });
        ticket(step)
    };
    let old = alone(1_000).store(head(vec![], &[]), None, u64::MAX, 1_000);
    let new = alone(1_100).store(head(vec![], &[]), None, u64::MAX, 1_100);
    let new = new.finish(0, 1_200).unwrap();
    assert_eq!(old.finish(0, 1_300).unwrap_err(), Store::Overtaken);
    assert_eq!(new.state(), State::Live);
    // Of the same moment, the one that ends last; and what varies alike is another answer.
    let same = alone(1_100).store(head(vec![], &[]), None, u64::MAX, 1_100).finish(0, 1_400).unwrap();
    let name = HeaderName::from_static("x");
    let vary = |value| vec![(name.clone(), Some(HeaderValue::from_static(value)))];
    let older = alone(900).store(head(vary("a"), &[]), None, u64::MAX, 900).finish(0, 1_500);
    assert_eq!(older.unwrap_err(), Store::Overtaken, "it varies by less now");
    let a = alone(1_600).store(head(vary("a"), &[]), None, u64::MAX, 1_600).finish(0, 1_600).unwrap();
    let b = alone(1_500).store(head(vary("b"), &[]), None, u64::MAX, 1_500).finish(0, 1_700).unwrap();
    assert_eq!([same.state(), a.state(), b.state()], [State::Dead, State::Live, State::Live]);
    // What is gone for good gives way to anything.
    cache.drop_entry(&a);
    cache.drop_entry(&b);
    cache.drop_entry(&b);
    assert_eq!((cache.stats().entries, cache.stats().used_bytes > 0), (0, true), "held here still");
    assert!(alone(100).store(head(vec![], &[]), None, u64::MAX, 100).finish(0, 1_800).is_ok());
}

/// What is arriving counts, and when all of the budget is spent on it, the rest is handed on and not kept.
#[test]
fn the_budget_bounds_what_is_arriving() {
    let cache = cache(1 << 20);
    let mut sinks: Vec<_> = (0..16)
        .map(|n| {
            let ticket = ticket(ask(&cache, &n.to_string()));
            let (joined, sink) = (ticket.join(), ticket.store(head(vec![], &[]), None, u64::MAX, 0));
            let Poll::Ready(Decided::Stream(entry)) = joined.poll_decided(&mut cx()) else { panic!() };
            let Body::Growing(growing) = entry.body() else { panic!() };
            (growing.read().unwrap(), sink)
        })
        .collect();
    for _ in 0..8 {
        for (reader, sink) in &mut sinks {
            sink.push(Bytes::from(vec![7; 32 << 10]));
            let Poll::Ready(Some(Ok(piece))) = reader.poll_next(&mut cx()) else { panic!() };
            assert_eq!(piece.len(), 32 << 10);
            assert!(cache.stats().used_bytes <= (1 << 20) + (64 << 10), "{}", cache.stats().used_bytes);
        }
    }
    let ends: Vec<_> = sinks.into_iter().map(|(_, sink)| sink.finish(0, 0).err()).collect();
    assert!(ends.contains(&None) && ends.contains(&Some(Store::BudgetTooSmall)), "{ends:?}");
}

#[test]
fn purges_find_by_url_prefix_and_tag_and_nothing_else() {
    let cache = cache(1 << 20);
    for (key, tag) in [
        ("http://a/x", "red"),
        ("http://a/x\nlang=de", "red"),
        ("http://a/xy", "blue"),
        ("http://a/x/y", "blue"),
        ("http://b/x", "red"),
    ] {
        ticket(ask(&cache, key)).store(head(vec![], &[tag]), None, u64::MAX, 0).finish(0, 0).unwrap();
    }
    assert_eq!(cache.purge(Scope::Url("http://a/x"), false).entries, 2);
    assert!(matches!(ask(&cache, "http://a/xy"), Step::Serve(..)));
    assert_eq!(cache.purge(Scope::Tag("blue"), false).entries, 2);
    assert_eq!(cache.purge(Scope::Prefix("http://b/"), false).entries, 1);
    assert_eq!(cache.stats().entries, 0);
    assert_eq!(cache.stats().used_bytes, 0);
}

#[test]
fn a_soft_purge_asks_the_origin_and_keeps_the_entry_for_its_failure() {
    let cache = cache(1 << 20);
    let entry = store(&cache, "k", b"x").unwrap();
    cache.purge(Scope::Url("k"), true);
    assert_eq!(entry.state(), State::Soft);
    let Step::Fetch(ticket, Lookup::Purged, Some((base, _))) = ask(&cache, "k") else { panic!() };
    let (renewed, stored) = ticket.refresh(&base, head(vec![], &[]), 0);
    stored.unwrap();
    assert_eq!(renewed.state(), State::Live);
    assert_eq!(entry.state(), State::Dead, "the old one is replaced");
    assert!(matches!(ask(&cache, "k"), Step::Serve(..)));
}

/// What is too small is handed on and not stored.
#[test]
fn bodies_have_a_least_size() {
    for (len, stored) in [(9, false), (10, true)] {
        let cache = cache(1 << 20);
        let mut sink = ticket(ask(&cache, "k")).store(head(vec![], &[]), None, 50, 0);
        sink.push(Bytes::from(vec![0; len]));
        assert_eq!(sink.refused(), None);
        assert_eq!(sink.finish(10, 0).err(), (!stored).then_some(Store::TooSmall));
        let mut sink = ticket(ask(&cache, "l")).store(head(vec![], &[]), None, 50, 0);
        sink.push(Bytes::from(vec![0; 51]));
        assert_eq!(sink.refused(), Some(Store::TooLarge), "known before it ends");
    }
}

#[test]
fn what_must_be_confirmed_each_time_is_not_waited_for() {
    let cache = cache(1 << 20);
    let mut always = head(vec![], &[]);
    always.freshness.always_revalidate = true;
    ticket(ask(&cache, "k")).store(always, None, u64::MAX, 0).finish(0, 0).unwrap();
    let revalidate = ReuseDecision {
        verdict: Verdict::Revalidate { stale_if_error: false },
        reason: Lookup::MustRevalidate,
        age_ms: 0,
        ttl_ms: 0,
    };
    let first = ask_with(&cache, "k", None, &|_| revalidate);
    assert!(matches!(first, Step::Fetch(_, Lookup::MustRevalidate, Some(_))));
    let second = ask_with(&cache, "k", None, &|_| revalidate);
    assert!(matches!(second, Step::Fetch(_, Lookup::MustRevalidate, Some(_))), "{second:?}");
}

#[test]
fn a_refresh_of_a_purged_entry_is_not_stored() {
    let cache = cache(1 << 20);
    let entry = store(&cache, "k", b"x").unwrap();
    let stale = ReuseDecision {
        verdict: Verdict::Revalidate { stale_if_error: false },
        reason: Lookup::Expired,
        age_ms: 0,
        ttl_ms: -1,
    };
    let Step::Fetch(ticket, Lookup::Expired, Some((base, _))) = ask_with(&cache, "k", None, &|_| stale)
    else {
        panic!()
    };
    cache.purge(Scope::Url("k"), false);
    let (_, stored) = ticket.refresh(&base, head(vec![], &[]), 0);
    assert_eq!(stored, Err(Store::PurgedInFlight));
    assert_eq!(entry.state(), State::Dead);
    assert!(matches!(ask(&cache, "k"), Step::Fetch(_, Lookup::NoEntry, None)));
}

#[test]
fn the_budget_holds_and_accounts_for_what_is_held() {
    let cache = cache(4 << 20);
    for i in 0..2_000 {
        store(&cache, &format!("http://a/{i}"), &vec![0; 10_000 + i]).unwrap();
        assert!(cache.stats().used_bytes <= 4 << 20);
    }
    let stats = cache.stats();
    assert!(stats.evictions > 1_000 && stats.entries > 200, "{stats:?}");
    cache.purge(Scope::All, false);
    assert_eq!(cache.stats().used_bytes, 0);
}

#[test]
fn a_body_beyond_the_limits_reaches_its_readers_and_is_not_stored() {
    let cache = cache(1 << 20);
    let mut sink = ticket(ask(&cache, "k")).store(head(vec![], &[]), None, 1_000, 0);
    let Body::Growing(growing) = sink.entry().body() else { panic!() };
    let mut reader = growing.read().unwrap();
    let mut got = 0;
    for _ in 0..5_000 {
        sink.push(Bytes::from(vec![0; 1_000]));
        while let Poll::Ready(Some(Ok(piece))) = reader.poll_next(&mut cx()) {
            got += piece.len();
        }
    }
    assert_eq!(sink.finish(0, 0).unwrap_err(), Store::TooLarge);
    assert!(matches!(reader.poll_next(&mut cx()), Poll::Ready(None)));
    assert_eq!(got, 5_000_000);
    assert!(matches!(ask(&cache, "k"), Step::Fetch(..)));
}

#[test]
fn a_scan_leaves_the_working_set_alone() {
    let cache = cache(1 << 20);
    for round in 0..3 {
        for i in 0..20 {
            let key = format!("http://hot/{i}");
            if round == 0 {
                store(&cache, &key, &[0; 10_000]).unwrap();
            } else {
                assert!(matches!(ask(&cache, &key), Step::Serve(..)));
            }
        }
    }
    for i in 0..5_000 {
        store(&cache, &format!("http://scan/{i}"), &[0; 10_000]).unwrap();
        if i % 100 == 0 {
            for i in 0..20 {
                let _ = ask(&cache, &format!("http://hot/{i}"));
            }
        }
    }
    let kept = (0..20).filter(|i| matches!(ask(&cache, &format!("http://hot/{i}")), Step::Serve(..))).count();
    assert!(kept >= 18, "only {kept} of 20 survived the scan");
}

#[test]
fn admission_waits_for_the_nth_request() {
    let cache = cache(1 << 20);
    let ask = || {
        cache.begin(&Ask {
            key: "k",
            now_ms: 1_000,
            matches: &|_| true,
            vary_of: &|_| vec![],
            judge: &|_| SERVE,
            admit_after: 3,
            admit_period_ms: 10_000,
            owners: &[],
            part: None,
            alone: false,
        })
    };
    for _ in 0..2 {
        let t = ticket(ask());
        assert_eq!(t.refuses(), Some(Store::AdmitAfter));
        t.not_storable(Store::AdmitAfter, 0);
    }
    assert_eq!(ticket(ask()).refuses(), None);
}

/// After a purge returned, no request sees anything fetched before it: the origin's version counts up before
/// each purge, and what any core is served afterwards must be at least that new.
#[test]
fn no_core_sees_anything_older_than_a_purge_that_returned() {
    let cache = cache(1 << 22);
    let version = Arc::new(AtomicU64::new(0));
    let purged = Arc::new(AtomicU64::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let served = Arc::new(AtomicU64::new(0));
    let mut cores = Vec::new();
    for core in 0..3usize {
        let (cache, version, purged, stop, served) =
            (cache.clone(), version.clone(), purged.clone(), stop.clone(), served.clone());
        cores.push(std::thread::spawn(move || {
            let mut i = core;
            while !stop.load(Ordering::Relaxed) {
                i += 1;
                let key = format!("http://a/{}", i % 5);
                let at_least = purged.load(Ordering::SeqCst);
                let seen = match ask(&cache, &key) {
                    Step::Serve(entry, _) => {
                        served.fetch_add(1, Ordering::Relaxed);
                        u64::from_le_bytes(body_of(&entry).try_into().unwrap())
                    }
                    Step::Fetch(ticket, ..) => {
                        let body = version.load(Ordering::SeqCst);
                        std::thread::yield_now();
                        let mut sink = ticket.store(head(vec![], &["t"]), None, u64::MAX, 0);
                        sink.push(Bytes::copy_from_slice(&body.to_le_bytes()));
                        let _ = sink.finish(0, 0);
                        continue;
                    }
                    Step::Join(joined) => match joined.poll_decided(&mut cx()) {
                        Poll::Ready(Decided::Stream(entry)) => {
                            let Body::Growing(growing) = entry.body() else { panic!() };
                            let mut reader = growing.read().unwrap();
                            match reader.poll_next(&mut cx()) {
                                Poll::Ready(Some(Ok(piece))) => {
                                    u64::from_le_bytes(piece[..].try_into().unwrap())
                                }
                                _ => continue,
                            }
                        }
                        _ => continue,
                    },
                    _ => continue,
                };
                assert!(seen >= at_least, "served version {seen} after the purge of {at_least} returned");
            }
        }));
    }
    let scopes = [Scope::Tag("t"), Scope::Prefix("http://a/"), Scope::All];
    for round in 0..400usize {
        // Let something be served between two purges, or there is nothing to be wrong about.
        let before = served.load(Ordering::Relaxed);
        for _ in 0..10_000 {
            if served.load(Ordering::Relaxed) > before {
                break;
            }
            std::thread::yield_now();
        }
        let new = version.fetch_add(1, Ordering::SeqCst) + 1;
        cache.purge(scopes[round % 3], false);
        purged.store(new, Ordering::SeqCst);
    }
    stop.store(true, Ordering::Relaxed);
    for core in cores {
        core.join().unwrap();
    }
    assert!(served.load(Ordering::Relaxed) > 100);
    cache.purge(Scope::All, false);
    let stats = cache.stats();
    assert_eq!((stats.entries, stats.fills, stats.used_bytes), (0, 0, 0), "{stats:?}");
}

#[test]
fn a_change_overtakes_only_the_fills_that_may_be_made_of_it() {
    let cache = cache(1 << 20);
    let begin = |key: &str, owners: &[Arc<str>]| {
        ticket(cache.begin(&Ask {
            key,
            now_ms: 1_000,
            matches: &|_| true,
            vary_of: &|_| vec![],
            judge: &|_| SERVE,
            admit_after: 0,
            admit_period_ms: 0,
            owners,
            part: None,
            alone: false,
        }))
    };
    let (ours, theirs, nobodys) =
        (begin("a", &["/srv".into()]), begin("b", &["/var".into()]), begin("c", &[]));
    assert_eq!(cache.purge(Scope::Made { tag: "file:/srv/x", owner: "/srv" }, false).fills, 1);
    let overtaken = |ticket: Ticket| ticket.store(head(vec![], &[]), None, u64::MAX, 1_000).is_overtaken();
    assert_eq!([ours, theirs, nobodys].map(overtaken), [true, false, false]);
}

#[test]
fn a_soft_purge_holds_for_those_who_only_look() {
    let cache = cache(1 << 20);
    store(&cache, "k", b"x").unwrap();
    cache.purge(Scope::Url("k"), true);
    let (found, why, _) = cache.peek(&Ask {
        key: "k",
        now_ms: 1_000,
        matches: &|_| true,
        vary_of: &|_| vec![],
        judge: &|_| SERVE,
        admit_after: 0,
        admit_period_ms: 0,
        owners: &[],
        part: None,
        alone: false,
    });
    assert_eq!(
        (found.unwrap().1.verdict, why),
        (Verdict::Revalidate { stale_if_error: true }, Lookup::Purged)
    );
}

#[test]
fn other_forms_of_a_body_go_on_with_what_confirms_it_and_go_with_its_entry() {
    let cache = cache(1 << 20);
    let entry = store(&cache, "k", b"plain plain plain").unwrap();
    let weight = entry.weight_bytes();
    entry.make_form(1).unwrap().done(Some(b"coded".to_vec()));
    assert_eq!(
        (entry.weight_bytes(), entry.forms_bytes()),
        (weight, 5),
        "queues count on what an entry weighs"
    );
    cache.purge(Scope::Url("k"), true);
    let Step::Fetch(ticket, ..) = ask(&cache, "k") else { panic!("a soft purge asks") };
    let (renewed, stored) = ticket.refresh(&entry, head(vec![], &[]), 0);
    assert_eq!(stored, Ok(()));
    assert!(matches!(renewed.form(1), Form::Made(bytes) if bytes == "coded"));
    assert!(matches!(renewed.form(0), Form::Unmade));
    let receipt = cache.purge(Scope::Url("k"), false);
    assert_eq!(receipt.entries, 1, "one entry, however many forms");
    drop((entry, renewed));
    assert_eq!(cache.stats().used_bytes, cache.stats().pairs_bytes, "nothing of it is left");
}
