//! The hot tier answers what the engine would have answered, whatever comes and however it is cut.
//!
//! Two whole servers in this process, one with the hot tier and one without, get the same bytes. `PROPTEST_CASES` says how
//! many connections, in tens (600), `PROPTEST_RNG_SEED` which.
//!
//! Faults planted in `crates/hot` that it was seen to catch, each within 1,200 connections: `Authorization`, `Range`, a
//! reload, any cookie, `Connection: close`, HTTP/1.0 or a body not refused; an `Age` five seconds off; one byte too many
//! taken off a pipeline; the second line of a field that the answer varies by not looked at.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod requests;
mod rig;

use requests::{Dice, some};
use rig::{Answered, Pair, shown};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn number_of(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What was answered hot, to see that the comparison meant something.
#[derive(Default)]
struct Tally {
    answers: usize,
    hot: usize,
    hot_kinds: BTreeMap<(u16, usize), usize>,
    statuses: BTreeSet<u16>,
}

impl Tally {
    fn take(&mut self, answered: &Answered) {
        for said in &answered.hot {
            self.answers += 1;
            self.statuses.insert(said.status());
            if said.hot {
                self.hot += 1;
                *self.hot_kinds.entry((said.status(), said.body.len())).or_default() += 1;
            }
        }
    }
}

/// Leaves requests out as long as the two still differ.
fn smallest(pair: &Pair, mut requests: Vec<Vec<u8>>, cuts: (u64, u64)) -> (Vec<u8>, String) {
    let differs = |requests: &[Vec<u8>]| {
        pair.begin_anew();
        pair.answers(&requests.concat(), cuts.0, cuts.1).difference()
    };
    let mut at = 0;
    while at < requests.len() {
        let mut fewer = requests.clone();
        fewer.remove(at);
        if differs(&fewer).is_some() {
            requests = fewer;
        } else {
            at += 1;
        }
    }
    let difference = differs(&requests).unwrap_or_else(|| "(not again)".into());
    (requests.concat(), difference)
}

#[test]
fn hot_and_engine_answer_alike() {
    let cases = number_of("PROPTEST_CASES").map_or(6_000, |n| n * 10);
    let seed = number_of("PROPTEST_RNG_SEED").unwrap_or(20_261_121);
    let pair = Pair::new();
    let mut tally = Tally::default();
    for case in 0..cases {
        let mut dice = Dice(seed.wrapping_mul(1_000_003).wrapping_add(case));
        let requests = some(&mut dice);
        // Once in a while as it comes; else cut, for each of the two in another way.
        let cuts = if dice.roll(8) == 0 {
            (0, 0)
        } else {
            (1 + dice.roll(1 << 30) as u64, dice.roll(1 << 30) as u64)
        };
        let answered = pair.answers(&requests.concat(), cuts.0, cuts.1);
        if let Some(difference) = answered.difference() {
            let (bytes, again) = smallest(&pair, requests, cuts);
            panic!(
                "case {case} of seed {seed}, cut by {cuts:?}: {difference}\n--- smaller ---\n{}\n{again}",
                shown(&bytes)
            );
        }
        tally.take(&answered);
        if !answered.ended_together() {
            pair.begin_anew();
        } else if case % 64 == 0 {
            pair.warm();
        }
    }
    println!(
        "{} answers, {} hot: {:?}; all: {:?}",
        tally.answers, tally.hot, tally.hot_kinds, tally.statuses
    );
    // A comparison of errors with errors would prove nothing.
    if cases >= 1_000 {
        assert!(tally.hot * 3 > tally.answers, "only {} of {} answers were hot", tally.hot, tally.answers);
        assert!(tally.hot_kinds.len() >= 20, "{:?}", tally.hot_kinds);
        let hot = |status: u16| tally.hot_kinds.keys().any(|(of, _)| *of == status);
        assert!(hot(200) && hot(206) && hot(304), "{:?}", tally.hot_kinds);
        let seen = |status: &u16| tally.statuses.contains(status);
        assert!([200, 206, 301, 304, 400, 404, 410, 416, 417, 431].iter().all(seen), "{:?}", tally.statuses);
    }
}

#[test]
fn every_connection_of_the_corpus_is_answered_alike() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/hot_and_engine");
    let pair = Pair::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        pair.judge_bytes(&std::fs::read(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen >= 20, "only {seen} connections");
}
