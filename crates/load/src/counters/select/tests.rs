//! What is taken of texts, and which counters stay at the end.

use super::*;
use crate::counters::prometheus::parse;

fn selection(picks: &[&str]) -> Selection {
    Selection::new(picks.iter().map(|pick| pick.parse().unwrap()).collect())
}

fn values(selection: &mut Selection, text: &str) -> Vec<(String, &'static str, Measure)> {
    let values = selection.values(&parse(text).unwrap());
    values.into_iter().map(|value| (value.name, value.unit, value.measure)).collect()
}

const SHOP: &str = "# TYPE carts gauge
carts{shop=\"a\"} 3
carts{shop=\"b\"} 4
# TYPE sold_bytes counter
sold_bytes_total{shop=\"a\"} 10
sold_bytes_total{shop=\"b\"} 30
# TYPE wait_seconds histogram
wait_seconds_bucket{le=\"1\"} 1
wait_seconds_bucket{le=\"+Inf\"} 2
wait_seconds_sum 1.5
wait_seconds_count 2
";

#[test]
fn what_is_asked_for_is_taken() {
    let total = Measure::Total;
    let (a, b) = ("sold_bytes_total{shop=\"a\"}", "sold_bytes_total{shop=\"b\"}");
    type Wanted<'a> = Vec<(&'a str, &'a str, Measure)>;
    let cases: [(&[&str], Wanted); 6] = [
        (&["carts{shop=a}"], vec![("carts{shop=\"a\"}", "", Measure::Gauge(3.0))]),
        (&["sum(carts)"], vec![("sum(carts)", "", Measure::Gauge(7.0))]),
        (&["sold*"], vec![(a, "B/s", total(10.0)), (b, "B/s", total(30.0))]),
        (&[a, "sold*", a], vec![(a, "B/s", total(10.0)), (b, "B/s", total(30.0))]),
        (&["wait*"], vec![("wait_seconds_sum", "s/s", total(1.5)), ("wait_seconds_count", "/s", total(2.0))]),
        (&["wait*_bucket{le=1}"], vec![("wait_seconds_bucket{le=\"1\"}", "/s", total(1.0))]),
    ];
    for (picks, wanted) in cases {
        let seen = values(&mut selection(picks), SHOP);
        let seen: Wanted =
            seen.iter().map(|(name, unit, measure)| (name.as_str(), *unit, *measure)).collect();
        assert_eq!(seen, wanted, "{picks:?}");
    }
}

#[test]
fn a_share_of_totals_and_one_of_what_stands() {
    let pattern = |text: &str| vec![text.parse::<Pattern>().unwrap()];
    let share = |of: &str, over: &str| Pick {
        title: Some("share".into()),
        of: pattern(of),
        how: How::Percent(pattern(over)),
        expected: true,
    };
    let of = |of: &str, over: &str| values(&mut Selection::new(vec![share(of, over)]), SHOP);
    let measure = Measure::Share { part: 10.0, whole: 40.0 };
    assert_eq!(of("sold_bytes_total{shop=a}", "sold*"), [("share".to_owned(), "%", measure)]);
    assert_eq!(of("carts{shop=a}", "carts")[0].2, Measure::Gauge(300.0 / 7.0));
    assert_eq!(of("carts{shop=a}", "sold*"), []);
    assert_eq!(of("carts{shop=z}", "carts"), []);
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let mut asked = selection(&["sold_byte_total", "carts", "zzz", "sum(wait_seconds)"]);
    values(&mut asked, SHOP);
    let notes = asked.notes();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(notes[0].contains("`sold_byte_total`; there are sold_bytes_total"), "{notes:?}");
    assert_eq!(notes[1], "no series is `zzz`");
    assert!(notes[2].contains("`sum(wait_seconds)`; there are wait_seconds_bucket"), "{notes:?}");
    values(&mut asked, "zzz 1");
    assert_eq!(asked.notes().len(), 2, "it may come later");
}

#[test]
fn too_many_are_bounded_and_said() {
    let many: String = (0..SERIES_MAX + 5).map(|n| format!("a{{n=\"{n}\"}} 1\n")).collect();
    let mut asked = selection(&["a"]);
    assert_eq!(values(&mut asked, &many).len(), SERIES_MAX);
    assert!(asked.notes()[0].starts_with("5 series more"), "{:?}", asked.notes());
}

/// `n` counters, of which each has grown by its number for each step.
fn growing(n: usize, step: usize) -> String {
    (0..n).map(|at| format!("c{at}_total {}\n", 1_000 + at * step)).collect()
}

#[test]
fn what_grew_most_stays() {
    let mut none = selection(&[]);
    let text = |step| format!("process_cpu_seconds_total 1\n{}", growing(30, step));
    assert_eq!(values(&mut none, &text(0)).len(), 31);
    let second = values(&mut none, &format!("{}late_total 5\n", text(1)));
    assert_eq!(second.len(), 32);
    let kept: Vec<(String, f64)> = (0..30)
        .map(|at| (format!("c{at}_total"), at as f64))
        .chain([("process_cpu_seconds_total".into(), 0.0)])
        .collect();
    let gone = none.superfluous(&kept);
    let mut stays: Vec<&str> =
        kept.iter().map(|(name, _)| name.as_str()).filter(|name| !gone.contains(*name)).collect();
    stays.sort_unstable_by_key(|name| (name.len(), *name));
    let mut wanted: Vec<String> = (19..30).map(|at| format!("c{at}_total")).collect();
    wanted.push("process_cpu_seconds_total".to_owned());
    assert_eq!(stays, wanted);
    let still = [("c1_total".to_owned(), 0.0), ("c2_total".to_owned(), 1.0)];
    assert_eq!(
        none.superfluous(&still),
        HashSet::from(["c1_total".to_owned()]),
        "what did not move is left out"
    );
}

#[test]
fn of_very_many_those_that_grow_at_once_are_watched() {
    let mut none = selection(&[]);
    assert_eq!(values(&mut none, &growing(2_000, 0)).len(), 2_000);
    for step in 1..4 {
        let watched = values(&mut none, &growing(2_000, step));
        assert_eq!(watched.len(), CANDIDATES_MAX);
        assert!(
            watched.iter().all(|(name, ..)| name.len() == "c1500_total".len() && name.as_str() >= "c1500")
        );
    }
    let named = selection(&["c1_total"]).superfluous(&[("c1_total".to_owned(), 0.0)]);
    assert!(named.is_empty(), "what somebody named stays");
}
