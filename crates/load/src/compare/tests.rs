//! What is said of pairs and sets whose truth is known; how often it errs under noise is in `trials`.

use proptest::prelude::*;

use super::judge::{holm, least_runs};
use super::model::{Comparison, Judgement, Overall, Row};
use super::{Pair, Side, Values, Wish, judge, judge_sets};

/// A spread of about 1 % that no pair has twice, as logarithms.
const NOISE: [f64; 10] = [0.004, -0.011, 0.013, -0.002, 0.009, -0.016, 0.006, -0.008, 0.012, -0.005];

/// Pairs taking turns in going first, with the same noise in all metrics.
fn pairs(count: usize, b: Values) -> Vec<Pair> {
    let times = |values: Values, factor: f64| Values {
        requests_per_s: values.requests_per_s.map(|value| value * factor),
        p50_us: values.p50_us.map(|value| value * factor),
        p90_us: values.p90_us.map(|value| value * factor),
        p99_us: values.p99_us.map(|value| value * factor),
        server_us_per_request: values.server_us_per_request.map(|value| value * factor),
    };
    let known = Values {
        requests_per_s: b.requests_per_s.and(Some(1000.0)),
        p50_us: b.p50_us.and(Some(1000.0)),
        p90_us: b.p90_us.and(Some(1000.0)),
        p99_us: b.p99_us.and(Some(1000.0)),
        server_us_per_request: b.server_us_per_request.and(Some(1000.0)),
    };
    let pair = |at: usize| Pair {
        first: if at.is_multiple_of(2) { Side::A } else { Side::B },
        a: times(known, 1.0 + at as f64),
        b: times(b, (1.0 + at as f64) * NOISE[at % NOISE.len()].exp()),
    };
    (0..count).map(pair).collect()
}

fn all(value: f64) -> Values {
    let value = Some(value);
    Values {
        requests_per_s: value,
        p50_us: value,
        p90_us: value,
        p99_us: value,
        server_us_per_request: value,
    }
}

fn words(comparison: &Comparison) -> Vec<&'static str> {
    let word = |row: &Row| match row.verdict {
        Judgement::Faster => "faster",
        Judgement::Slower => "slower",
        Judgement::Lower => "lower",
        Judgement::Higher => "higher",
        Judgement::Negligible { .. } => "negligible",
        Judgement::NoDifferenceSeen { .. } => "none",
        Judgement::TooFew { .. } => "few",
    };
    comparison.metrics.iter().map(word).collect()
}

#[test]
fn table() {
    let some = |rate: f64, p50: f64, cpu: f64| Values {
        requests_per_s: Some(rate),
        p50_us: Some(p50),
        server_us_per_request: Some(cpu),
        ..Values::default()
    };
    let cases: [(&str, usize, Values, &[&str], Overall); 11] = [
        ("equal", 10, all(1000.0), &["none"; 5], Overall::NoDifferenceSeen),
        ("all more", 10, all(1100.0), &["faster", "slower", "slower", "slower", "higher"], Overall::Mixed),
        ("all less", 10, all(900.0), &["slower", "faster", "faster", "faster", "lower"], Overall::Mixed),
        ("better", 10, some(1100.0, 900.0, 900.0), &["faster", "faster", "lower"], Overall::Better),
        ("worse", 10, some(900.0, 1000.0, 1100.0), &["slower", "none", "higher"], Overall::Worse),
        ("cheaper alone", 10, some(1000.0, 1000.0, 900.0), &["none", "none", "lower"], Overall::Better),
        (
            "as few as three metrics need",
            7,
            some(1100.0, 900.0, 900.0),
            &["faster", "faster", "lower"],
            Overall::Better,
        ),
        ("one fewer", 6, some(1100.0, 900.0, 900.0), &["few"; 3], Overall::TooFew),
        ("five, for five metrics", 5, all(9000.0), &["few"; 5], Overall::TooFew),
        ("one", 1, all(9000.0), &["few"; 5], Overall::TooFew),
        ("none", 0, all(9000.0), &[], Overall::TooFew),
    ];
    for (name, count, b, want, overall) in cases {
        let comparison = judge(&pairs(count, b), &Wish::default());
        assert_eq!(words(&comparison), want, "{name}");
        assert_eq!(comparison.overall.is, overall, "{name}: {}", comparison.overall.reason);
        assert_eq!((comparison.pairs, comparison.a.runs, comparison.b.runs), (Some(count), count, count));
        assert!(comparison.caveats.is_empty(), "{name}: {:?}", comparison.caveats);
    }
}

#[test]
fn a_difference_within_the_threshold_is_negligible() {
    let pairs = pairs(40, all(1006.0));
    let said = |threshold| judge(&pairs, &Wish { threshold, ..Wish::default() });
    assert_eq!(words(&said(0.0)), ["faster", "slower", "slower", "slower", "higher"]);
    let comparison = said(0.01);
    assert_eq!((words(&comparison), comparison.overall.is), (vec!["negligible"; 5], Overall::Negligible));
}

/// The numbers of one case, worked out by hand from Student's formula.
#[test]
fn numbers() {
    let comparison = judge(&pairs(10, all(1050.0)), &Wish::default());
    let row = &comparison.metrics[0];
    // Mean of the noise 0.0002, standard deviation 0.010086, t for 9 degrees and 95 %: 2.2622.
    let (mean, reach) = (1.05_f64.ln() + 0.0002, 2.2622 * 0.010_086 / 10_f64.sqrt());
    let close = |got: f64, want: f64| assert!((got - want).abs() < 1e-5, "{got} for {want}");
    close(row.ratio, mean.exp());
    let (low, high) = row.interval_95.unwrap();
    close(low, (mean - reach).exp());
    close(high, (mean + reach).exp());
    // All ten speak with one voice.
    assert_eq!(row.p_rank, Some(2.0 / 1024.0));
    assert!(row.p_t.unwrap() < 1e-6 && row.p_adjusted == Some(5.0 * 2.0 / 1024.0));
    close(row.b / row.a, row.ratio);
    assert_eq!((row.values_a[1], row.values_a.len()), (2000.0, 10));
    // 3.2498 and 0.8834 are the quantiles for 5 % / 5 and 80 %, 8 pairs are the least.
    let seen = (4.1332 * 0.010_086 / 10_f64.sqrt() * (1.05 + 0.25 / 3.0)).exp_m1() * 100.0;
    assert!((row.could_have_seen_percent.unwrap() - seen).abs() < 0.005, "{row:?}");
    assert_eq!(row.more_runs, Some(0));
}

#[test]
fn holm_as_in_the_books() {
    let got = holm(&[0.01, 0.04, 0.03, 0.005]);
    for (got, want) in got.iter().zip([0.03, 0.06, 0.06, 0.02]) {
        assert!((got - want).abs() < 1e-12, "{got} for {want}");
    }
    assert_eq!((holm(&[]), holm(&[0.7, 0.8])), (vec![], vec![1.0, 1.0]));
}

#[test]
fn the_least_runs_are_those_from_which_the_ranks_can_speak() {
    assert_eq!([1, 2, 3, 4, 5].map(|metrics| least_runs(metrics, true)), [6, 7, 7, 8, 8]);
    assert_eq!([1, 5].map(|metrics| least_runs(metrics, false)), [5, 5]);
}

#[test]
fn caveats_of_pairs() {
    let mut pairs = pairs(10, all(1000.0));
    pairs.iter_mut().for_each(|pair| pair.first = Side::B);
    pairs[3].a.p99_us = Some(0.0);
    pairs[4].b.p99_us = None;
    pairs.iter_mut().for_each(|pair| pair.b.server_us_per_request = None);
    let comparison = judge(&pairs, &Wish::default());
    let codes: Vec<&str> = comparison.caveats.iter().map(|caveat| caveat.code.as_str()).collect();
    assert_eq!(codes, ["one-order", "left-out", "left-out"]);
    let [order, tail, cpu] = [0, 1, 2].map(|at| comparison.caveats[at].text.as_str());
    assert!(order.starts_with("B went first in 10 of 10 pairs"), "{order}");
    assert!(tail.starts_with("p99 is known of 9 of 10 runs of A and 9 of 10 of B"), "{tail}");
    assert!(cpu.starts_with("CPU/request is known of 10 of 10 runs of A and 0 of 10 of B"), "{cpu}");
    assert_eq!(comparison.metrics.iter().map(|row| row.values_a.len()).collect::<Vec<_>>(), [10, 10, 10, 8]);
    // Two of three more one way than the other is nothing yet.
    let firsts = |a: usize, b: usize| {
        let pair = |first| Pair { first, a: all(1.0), b: all(1.0) };
        let pairs = [vec![pair(Side::A); a], vec![pair(Side::B); b]].concat();
        !judge(&pairs, &Wish::default()).caveats.is_empty()
    };
    assert_eq!(
        [(1, 0), (2, 0), (2, 1), (7, 3), (8, 2), (3, 9)].map(|(a, b)| firsts(a, b)),
        [false, true, false, false, true, false]
    );
}

#[test]
fn sets_are_labelled() {
    let side = |value: f64, count: usize| {
        pairs(count, all(value)).into_iter().map(|pair| pair.b).collect::<Vec<_>>()
    };
    // Runs of `pairs` grow from run to run; only sets far apart differ.
    let comparison = judge_sets(&side(1.0, 6), &side(1000.0, 5), &Wish::default());
    assert_eq!(words(&comparison), ["faster", "slower", "slower", "slower", "higher"]);
    assert_eq!((comparison.pairs, comparison.a.runs, comparison.b.runs), (None, 6, 5));
    assert_eq!(comparison.caveats[0].code, "not-interleaved");
    let comparison = judge_sets(&side(1.0, 6), &side(1000.0, 4), &Wish::default());
    assert_eq!((words(&comparison), comparison.overall.is), (vec!["few"; 5], Overall::TooFew));
    assert!(comparison.metrics.iter().all(|row| row.interval_95.is_none() && row.p_t.is_none()));
}

fn any_value() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![Just(None), any::<f64>().prop_map(Some), (1.0..1e6_f64).prop_map(Some), Just(Some(42.0))]
}

fn any_values() -> impl Strategy<Value = Values> {
    [any_value(), any_value(), any_value(), any_value(), any_value()].prop_map(
        |[rate, p50, p90, p99, cpu]| Values {
            requests_per_s: rate,
            p50_us: p50,
            p90_us: p90,
            p99_us: p99,
            server_us_per_request: cpu,
        },
    )
}

fn any_pairs(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Pair>> {
    let first = prop_oneof![Just(Side::A), Just(Side::B)];
    prop::collection::vec((first, any_values(), any_values()), count)
        .prop_map(|all| all.into_iter().map(|(first, a, b)| Pair { first, a, b }).collect())
}

proptest! {
    /// Whatever was measured, the JSON holds it: no number in it is infinite or none.
    #[test]
    fn any_values_survive_the_round_trip(pairs in any_pairs(0..14)) {
        let (a, b): (Vec<Values>, Vec<Values>) = pairs.iter().map(|pair| (pair.a, pair.b)).unzip();
        for comparison in [judge(&pairs, &Wish::default()), judge_sets(&a, &b, &Wish::default())] {
            let json = serde_json::to_string(&comparison).unwrap();
            let again: Comparison = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(again.overall, comparison.overall.clone());
            prop_assert!(!super::text(&comparison).contains("NaN"));
        }
    }

    #[test]
    fn few_pairs_have_no_verdict_whatever_they_say(pairs in any_pairs(1..5)) {
        let comparison = judge(&pairs, &Wish::default());
        prop_assert_eq!(comparison.overall.is, Overall::TooFew);
        for row in comparison.metrics {
            let few = matches!(row.verdict, Judgement::TooFew { needed: 6.. });
            prop_assert!(few && row.interval_95.is_none() && row.p_adjusted.is_none());
        }
    }

    /// Who is called A is a matter of names, and so is the unit.
    #[test]
    fn the_other_way_round_it_says_the_opposite(
        logs in prop::collection::vec((-0.1..0.1_f64, -0.1..0.1_f64), 8..30),
        shift in -0.2..0.2_f64,
        unit in prop_oneof![Just(1.0), Just(1000.0)],
    ) {
        let rate = |log: f64| Values { requests_per_s: Some(log.exp() * unit), ..Values::default() };
        let pair = |(a, b): &(f64, f64)| Pair { first: Side::A, a: rate(*a), b: rate(b + shift) };
        let there: Vec<Pair> = logs.iter().map(pair).collect();
        let back: Vec<Pair> = there.iter().map(|pair| Pair { first: Side::B, a: pair.b, b: pair.a }).collect();
        let [there, back] = [there, back].map(|pairs| judge(&pairs, &Wish::default()).metrics[0].clone());
        prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
        prop_assert!((there.p_t.unwrap() - back.p_t.unwrap()).abs() < 1e-9);
        prop_assert!((there.p_rank.unwrap() - back.p_rank.unwrap()).abs() < 1e-12);
        let mirrored = match there.verdict {
            Judgement::Faster => Judgement::Slower,
            Judgement::Slower => Judgement::Faster,
            other => other,
        };
        let kind = std::mem::discriminant::<Judgement>;
        prop_assert_eq!(kind(&mirrored), kind(&back.verdict), "{:?} and {:?}", there.verdict, back.verdict);
    }
}
