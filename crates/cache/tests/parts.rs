//! Parts of answers in the cache: whose fetch a range joins, what is doubted of them, and how they are put together.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop at its first surprise"
)]

mod common;

use bytes::Bytes;
use common::*;
use http::HeaderValue;
use samovar_cache::*;
use samovar_policy::{ReuseDecision, Verdict};
use samovar_reason::{Lookup, Store};

/// A request for a range of what can be asked about asks about the whole, and those who want the whole join it. What
/// cannot, and what parts of are here already, is fetched by the range.
#[test]
fn whose_answer_a_range_asks_for() {
    let revalidate = Verdict::Revalidate { stale_if_error: false };
    for (verdict, has_validator, whole) in
        [(revalidate, true, true), (revalidate, false, false), (Verdict::Complete, true, false)]
    {
        let cache = cache(1 << 20);
        let mut stored = head(vec![], &[]);
        stored.freshness.has_validator = has_validator;
        ticket(ask(&cache, "k")).store(stored, None, u64::MAX, 0).finish(0, 0).unwrap();
        let decision = ReuseDecision { verdict, ..SERVE };
        let begin = |part| asked("k", 1_000, &|_| decision, |ask| cache.begin(&Ask { part, ..*ask }));
        let ranged = begin(Some("bytes=0-1"));
        assert!(matches!(ranged, Step::Fetch(_, _, Some(_))));
        assert!(matches!(begin(Some("bytes=0-1")), Step::Join(_)), "the very same");
        assert_eq!(matches!(begin(None), Step::Join(_)), whole, "{verdict:?} {has_validator}");
    }
}

/// Parts are not asked about: what is doubted of them is fetched anew. What goes past the cache does so all the same.
#[test]
fn a_soft_purge_of_a_part_fetches_anew() {
    let cache = cache(1 << 20);
    let mut sink = ticket(ask(&cache, "k")).store(head(vec![], &[]), None, u64::MAX, 0);
    sink.push(Bytes::from_static(b"abc"));
    sink.finish_part(10, 0, 0).unwrap();
    cache.purge(Scope::Url("k"), true);
    let begin = |verdict| ask_with(&cache, "k", None, &|_| ReuseDecision { verdict, ..SERVE });
    assert!(matches!(begin(Verdict::Pass), Step::Pass(decision) if decision.reason == Lookup::Fresh));
    for verdict in [Verdict::Serve, Verdict::ServeAndRefresh, Verdict::Complete] {
        assert!(matches!(begin(verdict), Step::Fetch(_, Lookup::Purged, None)), "{verdict:?}");
    }
}

/// Parts that were put together speak with the words of the newer one, whichever ended last, and have the tags of both.
#[test]
fn parts_put_together() {
    for (first_ms, second_ms, newer) in [(1_000, 1_100, 1), (1_100, 1_000, 0), (1_000, 1_000, 1)] {
        let cache = cache(1 << 20);
        let part = |number: usize, answered_ms| {
            let mut head = head(vec![], [&["all", "one"], &["all", "two"]][number]);
            head.headers.insert("etag", HeaderValue::from_static("\"v\""));
            head.headers.insert("x-part", HeaderValue::from(number));
            let step = asked("k", 1_000, &|_| SERVE, |ask| cache.begin(&Ask { alone: true, ..*ask }));
            let Step::Fetch(ticket, ..) = step else { panic!() };
            let mut sink = ticket.store(head, None, u64::MAX, answered_ms);
            sink.push(Bytes::from_static(b"abcde"));
            sink
        };
        let (one, two) = (part(0, first_ms), part(1, second_ms));
        one.finish_part(10, 0, 0).unwrap();
        let whole = two.finish_part(10, 5, 0).unwrap();
        assert_eq!(whole.headers()["x-part"], HeaderValue::from(newer), "{first_ms} {second_ms}");
        let mut tags = whole.tags().to_vec();
        tags.sort();
        assert_eq!(tags, ["all", "one", "two"].map(Box::from));
        let Body::Parts(parts) = whole.body() else { panic!() };
        assert_eq!(parts.slice(0, 10).unwrap().concat(), b"abcdeabcde");
        // What was answered before the newer of them is older than what they make.
        let another = |answered_ms| {
            let refetch = ReuseDecision { verdict: Verdict::Refetch, ..SERVE };
            let step = asked("k", 1_000, &|_| refetch, |ask| cache.begin(ask));
            ticket(step).store(head(vec![], &[]), None, u64::MAX, answered_ms).finish(0, 0).map(drop)
        };
        let newest = first_ms.max(second_ms);
        assert_eq!([another(newest - 1), another(newest)], [Err(Store::Overtaken), Ok(())]);
    }
}

/// Where the whole is here, a part of it is not kept; the whole of another variant is no reason.
#[test]
fn a_part_of_what_is_here_whole() {
    let name = http::HeaderName::from_static("accept-language");
    let vary = |language| vec![(name.clone(), Some(HeaderValue::from_static(language)))];
    let cache = cache(1 << 20);
    let begin = || {
        let refetch = ReuseDecision { verdict: Verdict::Refetch, ..SERVE };
        ticket(asked("k", 1_000, &|_| refetch, |ask| cache.begin(&Ask { alone: true, ..*ask })))
    };
    begin().store(head(vary("de"), &[]), None, u64::MAX, 0).finish(0, 0).unwrap();
    for (language, kept) in [("de", Err(Store::WholeStored)), ("fr", Ok(()))] {
        let mut sink = begin().store(head(vary(language), &[]), None, u64::MAX, 0);
        sink.push(Bytes::from_static(b"abc"));
        assert_eq!(sink.finish_part(10, 0, 0).map(drop), kept, "{language}");
    }
}
