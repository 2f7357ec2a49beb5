//! Counters as a run keeps them: what is stored as `counters` in its JSON, the averages over the measured window,
//! and the table for the terminal.
//!
//! Pure. Not here: how the points came about ([`super::keep`]), plots.

use std::fmt::Write;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::report::units;

/// All counters of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Seconds for each point: the interval of the readings, or more in a long run.
    pub interval_s: u64,
    /// The series, source by source.
    pub series: Vec<CounterSeries>,
    /// What is missing and why, and anything else to be said.
    pub notes: Vec<String>,
}

/// One counter over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CounterSeries {
    /// Its name; no other series of the run has it.
    pub name: String,
    /// `%`, `cores`, `B`, `B/s`, `/s`, `s`, `s/s`, or nothing.
    pub unit: String,
    /// Where it was read: `/proc`, or a URL.
    pub source: String,
    /// The points: the second at which its interval begins, since the start of the run, and the value. Gaps are
    /// left out.
    pub points: Vec<(u64, f64)>,
    /// The lowest and the highest value behind each point, where points are of several readings; else nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extremes: Vec<(f64, f64)>,
}

/// One counter over the measured window.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// The mean of its points.
    pub avg: f64,
    /// The lowest reading.
    pub min: f64,
    /// The highest reading.
    pub max: f64,
}

impl Counters {
    /// The series of this name.
    pub fn find(&self, name: &str) -> Option<&CounterSeries> {
        self.series.iter().find(|series| series.name == name)
    }

    /// Adds what another machine read and this one did not; of what both read, one is enough.
    pub fn merge(&mut self, other: Counters) {
        if self.interval_s != other.interval_s {
            // Points of other lengths do not fit; machines of one run have the same.
            return;
        }
        for series in other.series {
            if self.find(&series.name).is_none() {
                self.series.push(series);
            }
        }
        self.notes.extend(other.notes);
        self.notes.sort_unstable();
        self.notes.dedup();
    }

    /// Every series over the measured window, in seconds since the start of the run. What has no point there has no
    /// row.
    pub fn rows(&self, window: &Range<f64>) -> Vec<Row> {
        self.series.iter().filter_map(|series| series.row(window, self.interval_s)).collect()
    }
}

impl CounterSeries {
    /// What it was over the window: of the points whose interval lies inside, or if there are none of those it
    /// touches, since a rough answer is better than none.
    pub fn row(&self, window: &Range<f64>, interval_s: u64) -> Option<Row> {
        let ends = |second: u64| (second as f64, second.saturating_add(interval_s) as f64);
        let inside = |second: u64| ends(second).0 >= window.start && ends(second).1 <= window.end;
        let touches = |second: u64| ends(second).0 < window.end && ends(second).1 > window.start;
        self.over(inside).or_else(|| self.over(touches))
    }

    fn over(&self, takes: impl Fn(u64) -> bool) -> Option<Row> {
        let (mut sum, mut count) = (0.0, 0.0);
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        for (at, (_, value)) in self.points.iter().enumerate().filter(|(_, (second, _))| takes(*second)) {
            let (low, high) = self.extremes.get(at).copied().unwrap_or((*value, *value));
            sum += value;
            count += 1.0;
            min = min.min(low);
            max = max.max(high);
        }
        let row = || Row { name: self.name.clone(), unit: self.unit.clone(), avg: sum / count, min, max };
        (count > 0.0).then(row)
    }
}

/// A value with its unit, as people read it.
pub fn shown(value: f64, unit: &str) -> String {
    match unit {
        "%" => format!("{value:.1} %"),
        "cores" => format!("{value:.2} cores"),
        "B" => units::bytes(value),
        "B/s" => format!("{}/s", units::bytes(value)),
        "s" => units::time(value * 1e6),
        "" => number(value),
        "/s" => format!("{}/s", number(value)),
        unit => format!("{} {unit}", number(value)),
    }
}

/// Three digits, or all before the point.
fn number(value: f64) -> String {
    let size = value.abs();
    let sign = if value < 0.0 { "-" } else { "" };
    if size >= 99.95 {
        format!("{sign}{}", units::whole(size.round() as u64))
    } else if size == 0.0 || size >= 9.995 {
        // Whole numbers are mostly counts of something.
        if value == value.trunc() { format!("{value:.0}") } else { format!("{value:.1}") }
    } else if value == value.trunc() {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

/// The table for the terminal; nothing if there is nothing to say.
pub fn text(counters: &Counters, window: &Range<f64>) -> String {
    let mut out = String::new();
    let rows = counters.rows(window);
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(22);
    if !rows.is_empty() {
        let _ = writeln!(out, "  {:<width$}{:>16}{:>16}{:>16}", "Counters", "average", "lowest", "highest");
    }
    for row in &rows {
        let cell = |value: f64| shown(value, &row.unit);
        let (avg, min, max) = (cell(row.avg), cell(row.min), cell(row.max));
        let _ = writeln!(out, "  {:<width$}{avg:>16}{min:>16}{max:>16}", row.name);
    }
    for note in &counters.notes {
        let _ = writeln!(out, "  note     {note}");
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, unit: &str, points: &[(u64, f64)]) -> CounterSeries {
        CounterSeries {
            name: name.into(),
            unit: unit.into(),
            source: "/proc".into(),
            points: points.to_vec(),
            extremes: Vec::new(),
        }
    }

    #[test]
    fn what_several_machines_read_is_kept_once() {
        let counters = |interval_s: u64, names: &[&str], note: &str| Counters {
            interval_s,
            series: names.iter().map(|name| series(name, "", &[(0, interval_s as f64)])).collect(),
            notes: vec![note.to_owned()],
        };
        let mut mine = counters(1, &["a", "b"], "x");
        mine.merge(counters(1, &["b", "c"], "x"));
        mine.merge(counters(2, &["d"], "y"));
        let names: Vec<&str> = mine.series.iter().map(|one| one.name.as_str()).collect();
        assert_eq!((names, mine.notes.len()), (vec!["a", "b", "c"], 1));
    }

    #[test]
    fn the_window_decides() {
        let points: Vec<(u64, f64)> = (0..10).filter(|s| *s != 5).map(|s| (s, s as f64)).collect();
        let one = series("a", "", &points);
        let of = |window: Range<f64>| one.row(&window, 1).map(|row| (row.avg, row.min, row.max));
        assert_eq!(of(2.0..5.0), Some((3.0, 2.0, 4.0)));
        assert_eq!(of(1.5..5.9), Some((3.0, 2.0, 4.0)));
        assert_eq!(of(4.0..7.0), Some((5.0, 4.0, 6.0)));
        assert_eq!(of(2.2..2.9), Some((2.0, 2.0, 2.0)));
        assert_eq!(of(2.5..3.5), Some((2.5, 2.0, 3.0)));
        assert_eq!((of(5.0..6.0), of(50.0..60.0)), (None, None));
    }

    #[test]
    fn what_was_folded_keeps_its_extremes() {
        let mut folded = series("a", "", &[(0, 5.0), (2, 7.0)]);
        folded.extremes = vec![(1.0, 9.0), (6.0, 8.0)];
        let counters = Counters { interval_s: 2, series: vec![folded], notes: Vec::new() };
        let row = &counters.rows(&(0.0..4.0))[0];
        assert_eq!((row.avg, row.min, row.max), (6.0, 1.0, 9.0));
    }

    #[test]
    fn numbers_as_people_read_them() {
        for (value, unit, wanted) in [
            (63.25, "%", "63.2 %"),
            (1.5, "cores", "1.50 cores"),
            (31_200_000.0, "B", "31.2 MB"),
            (1_500.0, "B/s", "1.50 kB/s"),
            (0.25, "s", "250 ms"),
            (12.0, "", "12"),
            (12.34, "", "12.3"),
            (0.5, "/s", "0.50/s"),
            (-3.0, "", "-3"),
            (1_234_567.8, "/s", "1,234,568/s"),
            (-1_234.0, "", "-1,234"),
            (2.0, "s/s", "2 s/s"),
        ] {
            assert_eq!(shown(value, unit), wanted);
        }
    }

    #[test]
    fn a_table() {
        let counters = Counters {
            interval_s: 1,
            series: vec![series("host cpu", "%", &[(0, 50.0), (1, 100.0)]), series("gone", "", &[])],
            notes: vec!["something is missing".into()],
        };
        let table = text(&counters, &(0.0..2.0));
        let wanted = "  Counters                       average          lowest         highest
  host cpu                        75.0 %          50.0 %         100.0 %
  note     something is missing

";
        assert_eq!(table, wanted);
        assert_eq!(text(&Counters::default(), &(0.0..2.0)), "");
    }

    #[test]
    fn the_json_keeps_its_shape() {
        let counters = Counters {
            interval_s: 1,
            series: vec![series("host cpu", "%", &[(0, 50.0)])],
            notes: Vec::new(),
        };
        let text = serde_json::to_string(&counters).unwrap();
        let wanted = "{\"interval_s\":1,\"series\":[{\"name\":\"host cpu\",\"unit\":\"%\",\"source\":\"/proc\",\
                      \"points\":[[0,50.0]]}],\"notes\":[]}";
        assert_eq!(text, wanted);
        assert_eq!(serde_json::from_str::<Counters>(&text).unwrap(), counters);
    }
}
