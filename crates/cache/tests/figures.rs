//! What the cache tells of itself, and the edges of its periods: figures, lists, counters, budgets.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop at its first surprise"
)]

mod common;

use bytes::Bytes;
use common::*;
use samovar_cache::*;
use samovar_policy::{ReuseDecision, Verdict};
use samovar_reason::{Lookup, Store};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

fn tagged(cache: &Arc<Cache>, key: &str, tags: &[&str]) -> Arc<Entry> {
    ticket(ask(cache, key)).store(head(vec![], tags), None, u64::MAX, 0).finish(0, 0).unwrap()
}

#[test]
fn figures_count_what_happened() {
    let cache = cache(1 << 20);
    assert_eq!(cache.stats(), Stats { limit_bytes: 1 << 20, ..Stats::default() });
    let all: Vec<_> = ["a", "b", "c"].map(|key| store(&cache, key, b"xyz").unwrap()).into();
    let fetching = (ask(&cache, "d"), ask(&cache, "e"));
    cache.purge(Scope::Url("a"), false);
    cache.purge(Scope::Url("b"), true);
    drop(all);
    let stats = cache.stats();
    assert_eq!((stats.entries, stats.stored, stats.purges, stats.fills, stats.evictions), (2, 3, 2, 2, 0));
    let held: u64 = cache.list("", usize::MAX).iter().map(|listed| listed.entry.weight_bytes()).sum();
    assert_eq!(stats.used_bytes, held);
    let receipt = cache.purge(Scope::All, false);
    assert_eq!((receipt.sequence, receipt.entries, receipt.bytes, receipt.fills), (3, 2, held, 2));
    assert_eq!((cache.stats().used_bytes, cache.stats().entries), (0, 0));
    drop(fetching);
    assert_eq!(cache.stats().fills, 0);
    assert!(format!("{cache:?}").contains("Index { keys: 0, tags: 0 }"), "{cache:?}");
}

#[test]
fn lists_and_tags() {
    let cache = cache(1 << 20);
    tagged(&cache, "http://a/x", &["one", "two"]);
    tagged(&cache, "http://a/x\nlang: de", &["two", "three"]);
    let kept = tagged(&cache, "http://a/y", &["four"]);
    assert_eq!(cache.tags_of("http://a/x"), ["one", "three", "two"].map(Box::from));
    assert_eq!(cache.of_url("http://a/x").len(), 2);
    assert_eq!(cache.of_url("http://a/y").len(), 1);
    let keys = |filter, limit| cache.list(filter, limit).len();
    assert_eq!((keys("", 9), keys("/x", 9), keys("", 2), keys("/z", 9), keys("", 0)), (3, 2, 2, 0, 0));
    cache.purge(Scope::Tag("two"), false);
    assert_eq!((keys("", 9), cache.tags_of("http://a/x").len()), (1, 0));
    // What is gone leaves no trace in the indexes, though somebody still reads it.
    cache.purge(Scope::All, false);
    assert_eq!((kept.state(), cache.purge(Scope::Tag("four"), false).entries), (State::Dead, 0));
}

#[test]
fn hits_are_counted_wherever_they_were_answered() {
    let cache = cache(1 << 20);
    let entry = store(&cache, "k", b"x").unwrap();
    for _ in 0..5 {
        assert!(matches!(ask(&cache, "k"), Step::Serve(..)));
    }
    assert_eq!(entry.hits(), 5);
    entry.add_hits(64);
    assert_eq!(entry.hits(), 69);
    let copy = |bytes| entry.hot_copy(cache.budget().charge(bytes));
    assert!(!entry.is_hot());
    let (one, two) = (copy(10), copy(20));
    assert!(entry.is_hot() && Arc::ptr_eq(one.entry(), &entry));
    let before = cache.stats().used_bytes;
    drop(one);
    assert_eq!((entry.is_hot(), before - cache.stats().used_bytes), (true, 10));
    drop(two);
    assert!(!entry.is_hot());
    assert_eq!(entry.state_cell().load(Ordering::Relaxed), State::Live as u8);
    cache.purge(Scope::All, false);
    assert_eq!(entry.state_cell().load(Ordering::Relaxed), State::Dead as u8, "the same cell");
}

#[test]
fn requests_are_metered_within_their_period() {
    let cache = cache(1 << 20);
    let entry = ticket(ask(&cache, "k")).store(head(vec![], &[]), None, u64::MAX, 1_000);
    let entry = entry.finish(0, 1_000).unwrap();
    assert_eq!(entry.metered(1_000, 100), 1, "the one that fetched it");
    assert_eq!(entry.meter(1_100, 100), 2, "the last moment of the window");
    assert_eq!((entry.metered(1_100, 100), entry.metered(1_101, 100)), (2, 0));
    assert_eq!(entry.meter(1_101, 100), 1, "a new window");
    assert_eq!(entry.meter(1_150, 100), 2);
    // What replaces it begins with what it had.
    let stale = ReuseDecision { verdict: Verdict::Revalidate { stale_if_error: false }, ..SERVE };
    let Step::Fetch(ticket, _, Some((base, _))) = ask_with(&cache, "k", None, &|_| stale) else { panic!() };
    let (new, stored) = ticket.refresh(&base, head(vec![], &[]), 1_160);
    assert_eq!((stored, new.metered(1_160, 100)), (Ok(()), 2));
}

/// What is remembered holds to the last moment and no longer, for those who ask as for those who only look.
#[test]
fn what_cannot_be_stored_is_remembered_until() {
    let cache = cache(1 << 20);
    ticket(ask(&cache, "k")).not_storable(Store::SetCookie, 2_000);
    for (now_ms, known) in [(1_999, true), (2_000, false)] {
        let reason = if known { Lookup::KnownNotStorable } else { Lookup::NoEntry };
        assert_eq!(cache.known_not_storable("k", now_ms), known.then_some(Store::SetCookie));
        let (found, why, flying) = asked("k", now_ms, &|_| SERVE, |ask| cache.peek(ask));
        assert_eq!((found.is_none(), why, flying), (true, reason, false));
        let Step::Fetch(ticket, why, None) = asked("k", now_ms, &|_| SERVE, |ask| cache.begin(ask)) else {
            panic!()
        };
        assert_eq!(why, reason);
        let second = asked("k", now_ms, &|_| SERVE, |ask| cache.begin(ask));
        assert_eq!(matches!(second, Step::Join(_)), !known, "shared only if it may be storable");
        assert_eq!(asked("k", now_ms, &|_| SERVE, |ask| cache.peek(ask)).2, !known);
        drop(ticket);
    }
}

#[test]
fn whoever_only_looks_is_told_apart() {
    let cache = cache(1 << 20);
    let look = |judge: &dyn Fn(&Entry) -> ReuseDecision, fits: bool| {
        asked("k", 1_000, judge, |ask| {
            let (found, why, _) = cache.peek(&Ask { matches: &|_| fits, ..*ask });
            (found.map(|(_, decision)| decision.verdict), why)
        })
    };
    assert_eq!(look(&|_| SERVE, true), (None, Lookup::NoEntry));
    let fetching = ask(&cache, "k");
    assert_eq!(look(&|_| SERVE, true), (None, Lookup::NoEntry), "a slot without an answer");
    drop(fetching);
    let entry = store(&cache, "k", b"x").unwrap();
    assert_eq!(look(&|_| SERVE, true), (Some(Verdict::Serve), Lookup::Fresh));
    assert_eq!(look(&|_| SERVE, false), (None, Lookup::VaryMiss));
    cache.doubt(&entry);
    assert_eq!(look(&|_| SERVE, true).1, Lookup::Purged);
    let pass = ReuseDecision { verdict: Verdict::Pass, reason: Lookup::RequestNoCache, ..SERVE };
    assert_eq!(look(&|_| pass, true), (Some(Verdict::Pass), Lookup::RequestNoCache));
}

#[test]
fn those_who_wait_are_counted_until_they_leave() {
    let cache = cache(1 << 20);
    let ticket = ticket(ask(&cache, "k"));
    assert_eq!(ticket.waiting(), 0);
    let waiting: Vec<_> = (0..3).map(|_| ask(&cache, "k")).collect();
    assert_eq!(ticket.waiting(), 3);
    let own = ticket.join();
    drop(waiting);
    assert_eq!(ticket.waiting(), 1);
    let mut sink = ticket.store(head(vec![], &[]), None, u64::MAX, 0);
    assert_eq!((sink.waiting(), sink.readers(), sink.arrived_bytes()), (1, 0, 0));
    let Poll::Ready(Decided::Stream(entry)) = own.poll_decided(&mut cx()) else { panic!() };
    let Body::Growing(growing) = entry.body() else { panic!() };
    let (one, two) = (growing.read().unwrap(), growing.read().unwrap());
    drop(own);
    sink.push(Bytes::from_static(b"abc"));
    assert_eq!((sink.waiting(), sink.readers(), sink.arrived_bytes()), (0, 2, 3));
    drop((one, two));
    assert_eq!(sink.readers(), 0);
}

/// A length is known if it was announced, or once all is there.
#[test]
fn the_length_of_what_arrives() {
    for announced in [None, Some(3)] {
        let cache = cache(1 << 20);
        let ticket = ticket(ask(&cache, "k"));
        let joined = ticket.join();
        let mut sink = ticket.store(head(vec![], &[]), announced, u64::MAX, 0);
        let Poll::Ready(Decided::Stream(entry)) = joined.poll_decided(&mut cx()) else { panic!() };
        let Body::Growing(growing) = entry.body() else { panic!() };
        let reader = growing.read().unwrap();
        sink.push(Bytes::from_static(b"abc"));
        assert_eq!((reader.len_bytes(), entry.len_bytes()), (announced, announced));
        let whole = sink.finish(0, 0).unwrap();
        assert_eq!((reader.len_bytes(), whole.len_bytes()), (Some(3), Some(3)));
        assert_eq!((whole.body().is_part(), whole.held_bytes()), (false, 3));
    }
}

#[test]
fn a_body_may_take_half_of_the_budget() {
    for (size_bytes, body_max_bytes, want) in [(1_000, 10_000, 500), (1_000, 100, 100), (0, 100, 0)] {
        let cache = Cache::new(Settings { size_bytes, body_max_bytes });
        assert_eq!(cache.body_max_bytes(), want);
    }
    let cache = cache(1 << 20);
    let limit_to = |bytes: usize| {
        let mut sink = ticket(ask(&cache, "k")).store(head(vec![], &[]), None, 1_000, 0);
        sink.push(Bytes::from(vec![0; bytes]));
        let stored = sink.finish(0, 0);
        cache.purge(Scope::All, false);
        stored.map(|_| ())
    };
    assert_eq!((limit_to(1_000), limit_to(1_001)), (Ok(()), Err(Store::TooLarge)));
    cache.resize(Settings { size_bytes: 1_500, body_max_bytes: 1 << 20 });
    assert_eq!((limit_to(750), limit_to(751)), (Ok(()), Err(Store::EntryTooLarge)));
    assert_eq!(cache.stats().limit_bytes, 1_500);
}

/// A smaller budget holds at once, and takes no more out than it must.
#[test]
fn a_smaller_budget_holds_at_once() {
    let cache = cache(1 << 20);
    for number in 0..100 {
        store(&cache, &format!("k{number:02}"), &[7; 1_000]).unwrap();
    }
    let (before, each) = (cache.stats(), cache.list("", 1)[0].entry.weight_bytes());
    assert_eq!(before.used_bytes, each * 100);
    cache.resize(Settings { size_bytes: each * 60 + 1, body_max_bytes: 1 << 20 });
    let stats = cache.stats();
    assert_eq!((stats.entries, stats.evictions, stats.used_bytes), (60, 40, each * 60));
    cache.resize(Settings { size_bytes: each * 60, body_max_bytes: 1 << 20 });
    assert_eq!(cache.stats().entries, 60, "it holds exactly");
    let charge = cache.budget().charge(77);
    assert_eq!((charge.bytes(), cache.budget().excess_bytes()), (77, 77));
}

/// Bytes that somebody still reads are not made up for by evicting all the rest.
#[test]
fn what_is_still_read_does_not_empty_the_cache() {
    let cache = cache(1 << 20);
    let read = store(&cache, "read", &[7; 50_000]).unwrap();
    for number in 0..50 {
        store(&cache, &format!("k{number:02}"), &[7; 1_000]).unwrap();
    }
    let size_bytes = cache.stats().used_bytes - 10_000;
    cache.resize(Settings { size_bytes, body_max_bytes: size_bytes });
    assert_eq!((read.state(), cache.stats().entries), (State::Dead, 50), "one made room enough");
    assert!(cache.stats().used_bytes > size_bytes, "once it is let go");
    drop(read);
    assert!(cache.stats().used_bytes <= size_bytes);
}

/// From the n-th request within the period on.
#[test]
fn admission_counts_requests() {
    let cache = cache(1 << 20);
    let ask_for = |now_ms, after| {
        asked("k", now_ms, &|_| SERVE, |ask| {
            ticket(cache.begin(&Ask { admit_after: after, admit_period_ms: 100, ..*ask })).refuses()
        })
    };
    assert_eq!(
        [0, 50, 100].map(|at| ask_for(at, 3)),
        [Some(Store::AdmitAfter), Some(Store::AdmitAfter), None]
    );
    assert_eq!(ask_for(201, 2), Some(Store::AdmitAfter), "a new window");
    assert_eq!([ask_for(201, 1), ask_for(201, 0)], [None, None]);
    // What is asked about has been admitted.
    let mut sink = ticket(ask(&cache, "k")).store(head(vec![], &[]), None, u64::MAX, 0);
    sink.push(Bytes::from_static(b"x"));
    sink.finish(0, 0).unwrap();
    let stale = ReuseDecision { verdict: Verdict::Revalidate { stale_if_error: false }, ..SERVE };
    let step = asked("k", 1_000, &|_| stale, |ask| {
        cache.begin(&Ask { admit_after: 9, admit_period_ms: 100, ..*ask })
    });
    assert_eq!(ticket(step).refuses(), None);
}
