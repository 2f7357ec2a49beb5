//! Counters of Windows that files of WCAT ask for, and what answers to them here.
//!
//! `Processor(_Total)\% Processor Time` becomes the CPU of the host, `Process(w3wp)\Working Set` the memory of the
//! server that is watched, `Web Service Cache\Kernel: URI Cache Hits/sec` the hot answers of Samovar. What has no
//! equivalent says why.
//!
//! Pure. Not here: reading; of other machines than the server's nothing is read but pages.

mod table;

use std::fmt::Write;
use std::ops::Range;

use super::pattern::Pattern;
use super::select::{How, Pick};
use super::series::shown;
use super::{Counters, Row};
use crate::wcat::{Counter, Note};
use table::{LINES, Way};

/// Counters that a file of WCAT 5 names at most.
pub const FILE_MAX: usize = 50;
/// How often they were read, in seconds, if nothing else was said.
const INTERVAL_S: u64 = 10;

/// What is read for a counter of Windows.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// As the file has it.
    pub path: String,
    /// What answers to it; the first that is there counts.
    pub answers: Vec<Answer>,
    /// What differs, or if there is no answer, why.
    pub said: String,
}

/// One series that answers to a counter.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Where it is read.
    pub place: Place,
    /// The name of the series.
    pub series: String,
    /// How to take it from a page.
    pub pick: Option<Pick>,
    /// The value in the unit of the counter is so many times that of the series.
    pub scale: f64,
    /// Its unit, if another than that of the series.
    pub unit: Option<&'static str>,
}

/// Where a series is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// /proc of the host.
    Host,
    /// /proc of the server's processes.
    Process,
    /// The page of Samovar's metrics.
    Page,
}

/// A counter of Windows after the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// As the file has it.
    pub path: String,
    /// What it was; its name is that of the series.
    pub row: Option<Row>,
    /// What differs, or why there is nothing.
    pub said: String,
}

/// What to read for a counter.
pub fn read(path: &str) -> Reading {
    let (answers, said) = match taken_apart(path) {
        Err(said) => (Vec::new(), said),
        Ok(parts) => answer(&parts),
    };
    Reading { path: path.trim().to_owned(), answers, said }
}

/// What to take from a page, so that the readings find it.
pub fn picks(readings: &[Reading]) -> Vec<Pick> {
    let mut picks: Vec<Pick> = Vec::new();
    for pick in readings.iter().flat_map(|reading| &reading.answers).filter_map(|answer| answer.pick.as_ref())
    {
        if !picks.contains(pick) {
            picks.push(pick.clone());
        }
    }
    picks
}

/// What is to be said if counters are those of machines that are neither this one nor a server that is asked.
pub fn elsewhere<'h>(
    hosts: impl Iterator<Item = &'h str>,
    is_known: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let mut strangers: Vec<&str> = hosts.filter(|host| !host.is_empty() && !is_known(host)).collect();
    strangers.sort_unstable();
    strangers.dedup();
    (!strangers.is_empty()).then(|| {
        format!(
            "counters of {}: of other machines nothing is read but pages of metrics (-metrics URL); these counters are read of \
             the server's",
            strangers.join(", ")
        )
    })
}

/// The object, the instance if there is one, and the name of a counter, as they are written.
pub fn names(path: &str) -> Option<(String, String, String)> {
    let parts = taken_apart(path).ok()?;
    let as_written = |plain: &str| {
        let at = path.to_lowercase().find(plain)?;
        Some(path.get(at..at + plain.len())?.to_owned())
    };
    let written = |plain: String| as_written(&plain).unwrap_or(plain);
    Some((written(parts.object), parts.instance.map(written).unwrap_or_default(), written(parts.counter)))
}

/// What the counters were over the measured window.
pub fn rows(readings: &[Reading], counters: &Counters, window: &Range<f64>) -> Vec<Found> {
    readings.iter().map(|reading| found(reading, counters, window)).collect()
}

fn found(reading: &Reading, counters: &Counters, window: &Range<f64>) -> Found {
    let row = reading.answers.iter().find_map(|answer| {
        let row = counters.find(&answer.series)?.row(window, counters.interval_s)?;
        let unit = answer.unit.map_or(row.unit, str::to_owned);
        let scaled = |value: f64| value * answer.scale;
        Some(Row { name: row.name, unit, avg: scaled(row.avg), min: scaled(row.min), max: scaled(row.max) })
    });
    let said = if row.is_some() || reading.answers.is_empty() {
        reading.said.clone()
    } else {
        let mut places: Vec<&str> = Vec::new();
        for answer in &reading.answers {
            let place = match answer.place {
                Place::Host => "/proc of the server's host",
                Place::Process => "/proc of the server's processes",
                Place::Page => "the page of Samovar's metrics",
            };
            if !places.contains(&place) {
                places.push(place);
            }
        }
        format!("it was not read: it is in {}", places.join(", or in "))
    };
    Found { path: reading.path.clone(), row, said }
}

/// The table for the terminal; nothing without counters.
pub fn text(found: &[Found]) -> String {
    let mut out = String::new();
    for one in found {
        let _ = writeln!(out, "  {}", one.path);
        if let Some(row) = &one.row {
            let cell = |value: f64| shown(value, &row.unit);
            let (avg, min, max) = (cell(row.avg), cell(row.min), cell(row.max));
            let _ = writeln!(out, "    {avg} on average, {min} to {max}  ({})", row.name);
        }
        if !one.said.is_empty() {
            let _ = writeln!(out, "    {}", one.said);
        }
    }
    out
}

/// A file of counters of WCAT 5: one on each line, `#` before what is none.
pub fn file(text: &str, notes: &mut Vec<Note>) -> Vec<Counter> {
    let mut counters = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begin = at + line.len() - line.trim_start().len();
        at += line.len();
        let path = line.trim().trim_start_matches('\u{feff}');
        // Names of counters may begin with #, lines of them do not.
        if path.is_empty() || path.starts_with('#') {
            continue;
        }
        let span = begin..begin + line.trim().len();
        if counters.len() == FILE_MAX {
            let mend = "take out those you do not need; each series costs room in the report";
            notes.push(Note::warning(
                span,
                format!("there are more than {FILE_MAX} counters: from here on they are left out"),
                mend,
            ));
            return counters;
        }
        match taken_apart(path) {
            Ok(parts) => counters.push(Counter {
                host: parts.host.unwrap_or_default().to_owned(),
                interval_s: INTERVAL_S,
                path: path.to_owned(),
            }),
            Err(why) => notes.push(Note::warning(span, why, "Object(instance)\\Counter")),
        }
    }
    counters
}

#[derive(Debug, PartialEq, Eq)]
struct Parts<'p> {
    host: Option<&'p str>,
    object: String,
    instance: Option<String>,
    counter: String,
}

/// `[\\host\]Object[(instance)]\Counter`, each backslash once or, as strings of programs have it, twice.
fn taken_apart(path: &str) -> Result<Parts<'_>, String> {
    let path = path.trim().trim_matches('"').trim();
    let wrong = || format!("`{path}` is no counter: Object(instance)\\Counter");
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let mut rest = path.trim_start_matches('\\');
    let mut host = None;
    if path.starts_with("\\\\") {
        // A host only if an object and a counter follow.
        if let Some((first, after)) = rest.split_once('\\') {
            let after = after.trim_start_matches('\\');
            if !first.contains('(') && after.contains('\\') {
                (host, rest) = (Some(first), after);
            }
        }
    }
    let (object, instance, counter) = match rest.split_once(")\\") {
        Some((before, counter)) => {
            let (object, instance) = before.split_once('(').ok_or_else(wrong)?;
            (object, Some(plain(instance)), counter)
        }
        None => {
            let (object, counter) = rest.split_once('\\').ok_or_else(wrong)?;
            (object, None, counter)
        }
    };
    let (object, counter) = (plain(object), plain(counter.trim_start_matches('\\')));
    if object.is_empty() || counter.is_empty() {
        return Err(wrong());
    }
    Ok(Parts { host, object, instance, counter })
}

/// What answers to it, and what is to be said.
fn answer(parts: &Parts<'_>) -> (Vec<Answer>, String) {
    let object = match parts.object.as_str() {
        // These carry versions, or tell of each worker what the other tells of all.
        object if object.starts_with("asp.net") => "asp.net",
        object if object.starts_with("w3svc_w3wp") => "web service cache",
        "tcpv6" => "tcpv4",
        "processor information" => "processor",
        object => object,
    };
    let of_object = || LINES.iter().filter(|line| line.0 == object);
    let Some((.., ways, said)) = of_object().find(|line| line.1 == parts.counter) else {
        let mut known: Vec<&str> = of_object().filter(|line| !line.2.is_empty()).map(|line| line.1).collect();
        if known.is_empty() {
            known = LINES.iter().map(|line| line.0).collect();
            known.dedup();
            return (
                Vec::new(),
                format!("no equivalent of this object is known, but of {}", known.join(", ")),
            );
        }
        return (
            Vec::new(),
            format!("no equivalent is known; of this object there are {}", known.join(", ")),
        );
    };
    match (object, parts.instance.as_deref()) {
        ("processor", Some(one)) if !matches!(one, "_total" | "*" | "_total,_total" | "0,_total") => {
            return (
                Vec::new(),
                "single processors are not read, all together are: Processor(_Total)".to_owned(),
            );
        }
        ("process", Some(all @ ("_total" | "idle" | "system"))) => {
            return (Vec::new(), format!("`{all}` is no server: Processor(_Total) has what the host does"));
        }
        _ => {}
    }
    (ways.iter().filter_map(one_way).collect(), (*said).to_owned())
}

fn one_way(way: &Way) -> Option<Answer> {
    let of = |patterns: &[&str]| -> Option<Vec<Pattern>> {
        patterns.iter().map(|text| text.parse().ok()).collect()
    };
    let page = |of: Vec<Pattern>, how: How| {
        let pick = Pick { title: None, of, how, expected: false };
        Answer { place: Place::Page, series: pick.to_string(), pick: Some(pick), scale: 1.0, unit: None }
    };
    Some(match way {
        Way::Host(series, scale, unit) => Answer {
            place: Place::Host,
            series: (*series).to_owned(),
            pick: None,
            scale: *scale,
            unit: Some(unit),
        },
        Way::Process(series, scale, unit) => Answer {
            place: Place::Process,
            series: (*series).to_owned(),
            pick: None,
            scale: *scale,
            unit: Some(unit),
        },
        Way::Page(patterns) => page(of(patterns)?, How::Sum),
        Way::Percent(part, whole) => page(of(part)?, How::Percent(of(whole)?)),
    })
}

#[cfg(test)]
mod tests;
