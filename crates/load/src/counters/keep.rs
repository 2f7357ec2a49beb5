//! From readings to points: what only grows becomes what it grew by each second, what stands is kept as it is.
//!
//! A rate is that of the time between two readings and stands at the second of the first of them, so that the rate
//! of second 7 is of the same second as the answers of second 7; what stands was so at its second. A number that
//! fell where it can only grow has begun anew: a gap, no negative rate. Past [`POINTS_MAX`] points neighbours are
//! folded, as the series of answers does it. Not here: clocks, and what the numbers mean.

use std::collections::{HashMap, HashSet};

use super::series::{CounterSeries, Counters};
use super::{Measure, Value};

/// Points kept of a series at most.
pub const POINTS_MAX: u64 = 600;

/// When a reading was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The second it was for, of the run's clock.
    pub second: u64,
    /// When exactly, for rates.
    pub at_ns: u64,
}

/// Keeps the readings of one source.
#[derive(Debug)]
pub struct Keeper {
    step_s: u64,
    tracks: Vec<Track>,
    index: HashMap<String, usize>,
    before: Option<Moment>,
}

#[derive(Debug)]
struct Track {
    name: String,
    unit: &'static str,
    last: Option<(Moment, Measure)>,
    grown: f64,
    points: Vec<Point>,
}

/// What was read in one interval.
#[derive(Clone, Copy, Debug)]
struct Point {
    second: u64,
    sum: f64,
    count: f64,
    low: f64,
    high: f64,
}

impl Point {
    fn merge(&mut self, other: &Point) {
        self.sum += other.sum;
        self.count += other.count;
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
    }
}

impl Keeper {
    /// For readings every so many seconds.
    pub fn new(interval_s: u64) -> Keeper {
        Keeper { step_s: interval_s.max(1), tracks: Vec::new(), index: HashMap::new(), before: None }
    }

    /// One reading. A series that is not in it has a gap; one that was never seen before has begun since the
    /// reading before this one, at nothing: so the first errors of a run count too.
    pub fn take(&mut self, moment: Moment, values: Vec<Value>) {
        // A second beyond a thousand years is none of a run; without the bound folding could take long.
        let moment = Moment { second: moment.second.min(1 << 35), ..moment };
        while moment.second / self.step_s >= POINTS_MAX {
            self.fold_to(self.step_s.saturating_mul(2));
        }
        for value in values {
            let at = match self.index.get(&value.name) {
                Some(at) => *at,
                None => {
                    let born = self.before.map(|before| (before, Measure::Total(0.0)));
                    self.index.insert(value.name.clone(), self.tracks.len());
                    self.tracks.push(Track {
                        name: value.name,
                        unit: value.unit,
                        last: born,
                        grown: 0.0,
                        points: Vec::new(),
                    });
                    self.tracks.len() - 1
                }
            };
            if let Some(track) = self.tracks.get_mut(at) {
                track.take(moment, value.measure, self.step_s);
            }
        }
        self.before = Some(moment);
    }

    /// Seconds for each point.
    pub fn step_s(&self) -> u64 {
        self.step_s
    }

    /// Folds points until each is of so many seconds.
    pub fn fold_to(&mut self, step_s: u64) {
        while self.step_s < step_s {
            self.step_s = self.step_s.saturating_mul(2);
            for track in &mut self.tracks {
                track.fold(self.step_s);
            }
        }
    }

    /// The series that have points, and how much each of them has grown.
    pub fn grown(&self) -> Vec<(String, f64)> {
        let told = self.tracks.iter().filter(|track| !track.points.is_empty());
        told.map(|track| (track.name.clone(), track.grown)).collect()
    }

    /// Lets go of these series.
    pub fn leave_out(&mut self, names: &HashSet<String>) {
        self.tracks.retain(|track| !names.contains(&track.name));
        self.index = self.tracks.iter().enumerate().map(|(at, track)| (track.name.clone(), at)).collect();
    }
}

impl Track {
    fn take(&mut self, moment: Moment, measure: Measure, step_s: u64) {
        let last = self.last.replace((moment, measure));
        let point = match (measure, last) {
            (Measure::Gauge(value), _) => Some((moment.second, value)),
            (Measure::Total(now), Some((since, Measure::Total(before)))) => {
                let seconds = moment.at_ns.saturating_sub(since.at_ns) as f64 / 1e9;
                (now >= before && seconds > 0.0).then(|| {
                    self.grown += now - before;
                    (since.second, (now - before) / seconds)
                })
            }
            (Measure::Share { part, whole }, Some((since, Measure::Share { part: less, whole: least }))) => {
                let (part, whole) = (part - less, whole - least);
                (part >= 0.0 && whole > 0.0).then(|| (since.second, 100.0 * part / whole))
            }
            _ => None,
        };
        // What is no number is a gap, and JSON has no word for it.
        if let Some((second, value)) = point.filter(|(_, value)| value.is_finite()) {
            let second = second - second % step_s;
            self.add(Point { second, sum: value, count: 1.0, low: value, high: value });
        }
    }

    fn add(&mut self, point: Point) {
        match self.points.last_mut() {
            Some(last) if last.second >= point.second => last.merge(&point),
            _ => self.points.push(point),
        }
    }

    fn fold(&mut self, step_s: u64) {
        for mut point in std::mem::take(&mut self.points) {
            point.second -= point.second % step_s;
            self.add(point);
        }
    }

    fn series(mut self, source: &str) -> CounterSeries {
        // Numbers near the largest there are add up to none.
        self.points.retain(|point| point.sum.is_finite());
        let folded = self.points.iter().any(|point| point.low < point.high);
        let extremes = |point: &Point| (tidy(point.low), tidy(point.high));
        CounterSeries {
            name: self.name,
            unit: self.unit.to_owned(),
            source: source.to_owned(),
            extremes: if folded { self.points.iter().map(extremes).collect() } else { Vec::new() },
            points: self.points.iter().map(|point| (point.second, tidy(point.sum / point.count))).collect(),
        }
    }
}

/// Seven digits say more than any counter knows; whole numbers stay as they are.
fn tidy(value: f64) -> f64 {
    if value == value.trunc() {
        return value;
    }
    let digits = 6 - value.abs().log10().floor() as i32;
    let scale = 10_f64.powi(digits.clamp(-300, 300));
    let rounded = (value * scale).round() / scale;
    if rounded.is_finite() { rounded } else { value }
}

/// Puts the series of all sources together; `parts` are the name of a source, what was kept of it, and what is to
/// be said.
pub fn gather(parts: Vec<(String, Keeper, Vec<String>)>) -> Counters {
    let interval_s = parts.iter().map(|(_, keeper, _)| keeper.step_s).max().unwrap_or(1);
    let mut counters = Counters { interval_s, ..Counters::default() };
    for (source, mut keeper, notes) in parts {
        keeper.fold_to(interval_s);
        counters.notes.extend(notes);
        for track in keeper.tracks.into_iter().filter(|track| !track.points.is_empty()) {
            let mut series = track.series(&source);
            // Two servers may write the same names.
            if counters.find(&series.name).is_some() {
                series.name = format!("{} ({source})", series.name);
            }
            counters.series.push(series);
        }
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn at(second: u64) -> Moment {
        Moment { second, at_ns: second * 1_000_000_000 }
    }

    fn value(name: &str, measure: Measure) -> Vec<Value> {
        vec![Value { name: name.to_owned(), unit: "/s", measure }]
    }

    fn points(keeper: Keeper, name: &str) -> Vec<(u64, f64)> {
        let counters = gather(vec![("x".into(), keeper, Vec::new())]);
        counters.find(name).map_or(Vec::new(), |series| series.points.clone())
    }

    #[test]
    fn totals_become_rates_at_the_second_they_are_of() {
        let mut keeper = Keeper::new(1);
        for (second, total) in [(0, 100.0), (1, 150.0), (2, 150.0), (3, 7.0), (4, 9.0), (7, 15.0)] {
            keeper.take(at(second), value("a", Measure::Total(total)));
        }
        keeper.take(Moment { second: 7, at_ns: 7_500_000_000 }, value("a", Measure::Total(20.0)));
        // Second 2 saw a new beginning; 4 to 7 was one reading, told at its start.
        assert_eq!(keeper.grown(), [("a".to_owned(), 63.0)]);
        assert_eq!(points(keeper, "a"), [(0, 50.0), (1, 0.0), (3, 2.0), (4, 2.0), (7, 10.0)]);
    }

    #[test]
    fn shares_and_gauges() {
        let mut keeper = Keeper::new(1);
        for (second, part, whole) in
            [(0, 5.0, 10.0), (1, 6.0, 14.0), (2, 6.0, 14.0), (3, 5.0, 20.0), (4, 8.0, 26.0)]
        {
            keeper.take(at(second), value("a", Measure::Share { part, whole }));
            keeper.take(at(second), value("b", Measure::Gauge(if second == 2 { f64::NAN } else { part })));
        }
        assert_eq!(points(keeper, "a"), [(0, 25.0), (3, 50.0)]);
        let mut keeper = Keeper::new(1);
        for (second, gauge) in [(0, 5.0), (1, f64::NAN), (2, f64::INFINITY), (3, -2.5)] {
            keeper.take(at(second), value("b", Measure::Gauge(gauge)));
        }
        assert_eq!(points(keeper, "b"), [(0, 5.0), (3, -2.5)]);
    }

    #[test]
    fn what_appears_later_began_at_nothing_and_what_comes_back_did_not() {
        let mut keeper = Keeper::new(1);
        let both = |a: f64, b: Option<f64>| {
            let mut values = value("a", Measure::Total(a));
            values.extend(b.into_iter().flat_map(|b| value("b", Measure::Total(b))));
            values
        };
        for (second, b) in [(0, None), (1, None), (2, Some(40.0)), (3, None), (4, Some(60.0))] {
            keeper.take(at(second), both(1.0, b));
        }
        assert_eq!(points(keeper, "b"), [(1, 40.0), (2, 10.0)]);
        let mut fresh = Keeper::new(1);
        fresh.take(at(0), value("b", Measure::Total(1e9)));
        assert!(fresh.grown().is_empty(), "what was there before the run is none of it");
    }

    #[test]
    fn series_of_two_servers_stay_apart() {
        let kept = |interval_s: u64| {
            let mut keeper = Keeper::new(interval_s);
            keeper.take(at(0), value("a", Measure::Gauge(1.0)));
            keeper.take(at(1), value("a", Measure::Gauge(3.0)));
            keeper
        };
        let mut long = kept(1);
        long.take(at(1_199), value("a", Measure::Gauge(1.0)));
        let parts =
            vec![("one".to_owned(), kept(1), vec!["n".to_owned()]), ("two".to_owned(), long, Vec::new())];
        let counters = gather(parts);
        assert_eq!((counters.interval_s, counters.notes.len()), (2, 1));
        let names: Vec<&str> = counters.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["a", "a (two)"]);
        assert_eq!(counters.series[0].points, [(0, 2.0)]);
        assert_eq!(counters.series[0].extremes, [(1.0, 3.0)]);
        assert_eq!(counters.series[1].points, [(0, 2.0), (1_198, 1.0)]);
    }

    #[test]
    fn numbers_too_large_to_add_up_are_a_gap() {
        let mut keeper = Keeper::new(1);
        for second in [0, 0, 1] {
            keeper.take(at(second), value("a", Measure::Gauge(f64::MAX)));
        }
        assert_eq!(points(keeper, "a"), [(1, f64::MAX)]);
    }

    #[test]
    fn seven_digits() {
        for (value, wanted) in
            [(0.0, 0.0), (123_456_789.0, 123_456_789.0), (1.0 / 3.0, 0.333_333_3), (1e-320, 0.0)]
        {
            assert_eq!(tidy(value), wanted);
        }
        assert_eq!(tidy(1_234_567.891), 1_234_568.0);
        assert_eq!(tidy(-1_234.567_891), -1_234.568);
    }

    proptest! {
        /// The oracle keeps everything and looks it up.
        #[test]
        fn a_run_of_any_length_keeps_its_sums(steps in vec((1_u64..40, 0_u32..1000), 1..200)) {
            let mut keeper = Keeper::new(1);
            let (mut second, mut total) = (0, 0.0);
            keeper.take(at(0), value("a", Measure::Total(0.0)));
            let mut rates: Vec<(u64, f64)> = Vec::new();
            for (step, added) in steps {
                rates.push((second, f64::from(added) / step as f64));
                second += step;
                total += f64::from(added);
                keeper.take(at(second), value("a", Measure::Total(total)));
            }
            let step_s = keeper.step_s();
            prop_assert!(second / step_s < POINTS_MAX && (step_s == 1 || second / (step_s / 2) >= POINTS_MAX));
            prop_assert_eq!(keeper.grown(), vec![("a".to_owned(), total)]);
            let mut wanted: Vec<(u64, f64)> = Vec::new();
            for slot in 0..=second / step_s {
                let inside: Vec<f64> = rates.iter().filter(|(s, _)| s / step_s == slot).map(|(_, r)| *r).collect();
                if !inside.is_empty() {
                    wanted.push((slot * step_s, inside.iter().sum::<f64>() / inside.len() as f64));
                }
            }
            let seen = points(keeper, "a");
            prop_assert_eq!(seen.len(), wanted.len());
            for (seen, wanted) in seen.iter().zip(&wanted) {
                let near = (seen.1 - wanted.1).abs() <= wanted.1 * 1e-6;
                prop_assert!(seen.0 == wanted.0 && near, "{seen:?} {wanted:?}");
            }
        }

        #[test]
        fn any_readings_leave_points_that_json_can_hold(
            all in vec((any::<u64>(), any::<u64>(), any::<f64>(), any::<f64>(), 0..3), 0..20)
        ) {
            let mut keeper = Keeper::new(1);
            for (second, at_ns, one, two, kind) in all {
                let measure = match kind {
                    0 => Measure::Gauge(one),
                    1 => Measure::Total(one),
                    _ => Measure::Share { part: one, whole: two },
                };
                keeper.take(Moment { second, at_ns }, value("a", measure));
            }
            let counters = gather(vec![("x".into(), keeper, Vec::new())]);
            let text = serde_json::to_string(&counters).unwrap();
            let back: Counters = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(back.series.len(), counters.series.len());
        }
    }
}
