//! Which series of a text for Prometheus are kept, and as what: what only grows becomes a rate, the rest stays as
//! it stands.
//!
//! A person names them, or `defaults` does; where that leaves places, the counters that grew most during
//! the run take them. These are known at the end only, so that up to [`CANDIDATES_MAX`] are carried along until
//! then. Not here: rates and points ([`super::keep`]).

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;

use super::defaults;
use super::pattern::Pattern;
use super::prometheus::{Sample, Text};
use super::{Measure, Value};

/// Series kept of one source at most, when a person names them.
pub const SERIES_MAX: usize = 200;
/// Series kept of one source if nobody names any.
pub const PLACES: usize = 12;
/// Counters that are watched for growing most.
pub const CANDIDATES_MAX: usize = 500;

/// One thing to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    /// What it is called, if not as it is written.
    pub title: Option<String>,
    /// The series meant.
    pub of: Vec<Pattern>,
    /// What becomes of them.
    pub how: How,
    /// Whether somebody asked for it, and should hear that it is not there.
    pub expected: bool,
}

/// What becomes of the series that match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// Each is kept.
    Each,
    /// They are added up.
    Sum,
    /// They are added up, and divided by the sum of these.
    Percent(Vec<Pattern>),
}

impl FromStr for Pick {
    type Err = String;

    fn from_str(text: &str) -> Result<Pick, String> {
        let text = text.trim();
        let (inner, how) = match text.strip_prefix("sum(").and_then(|rest| rest.strip_suffix(')')) {
            Some(inner) => (inner, How::Sum),
            None => (text, How::Each),
        };
        Ok(Pick { title: None, of: vec![inner.parse()?], how, expected: true })
    }
}

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(title) = &self.title {
            return f.write_str(title);
        }
        let list = |of: &[Pattern]| of.iter().map(Pattern::to_string).collect::<Vec<_>>().join(" + ");
        match &self.how {
            How::Each => f.write_str(&list(&self.of)),
            How::Sum => write!(f, "sum({})", list(&self.of)),
            How::Percent(over) => write!(f, "sum({}) % of sum({})", list(&self.of), list(over)),
        }
    }
}

impl Pick {
    fn means(&self, sample: &Sample<'_>) -> bool {
        any(&self.of, sample)
    }
}

fn any(patterns: &[Pattern], sample: &Sample<'_>) -> bool {
    patterns.iter().any(|pattern| pattern.matches(sample))
}

/// What is kept of one source, over all its texts.
#[derive(Debug)]
pub struct Selection {
    picks: Vec<Pick>,
    /// For each pick, whether it ever meant anything, or else names that look like its own.
    found: Vec<Result<(), Vec<String>>>,
    left_out: usize,
    stage: Stage,
}

/// How far it is decided.
#[derive(Debug)]
enum Stage {
    /// Nobody named anything, and no text has been seen.
    Open,
    /// The picks are all.
    Settled,
    /// One text has been seen: all its counters beside the picks.
    Seen(HashMap<String, f64>),
    /// These are watched beside the picks.
    Watched(HashSet<String>),
}

impl Selection {
    /// Without picks it chooses itself.
    pub fn new(picks: Vec<Pick>) -> Selection {
        let stage = if picks.iter().any(|pick| pick.expected) { Stage::Settled } else { Stage::Open };
        let found = vec![Err(Vec::new()); picks.len()];
        Selection { picks, found, left_out: 0, stage }
    }

    /// What is kept of a text.
    pub fn values(&mut self, text: &Text<'_>) -> Vec<Value> {
        if matches!(self.stage, Stage::Open) {
            let (picks, full) = defaults::picks(text);
            self.found.resize(self.picks.len() + picks.len(), Err(Vec::new()));
            self.picks.extend(picks);
            self.stage = if full { Stage::Settled } else { Stage::Seen(HashMap::new()) };
        }
        let mut taken = Taken::default();
        for (pick, found) in self.picks.iter().zip(&mut self.found) {
            if take(pick, text, &mut taken) {
                *found = Ok(());
            } else if found.as_ref().is_err_and(Vec::is_empty) && pick.expected {
                *found = Err(pick.of.first().map_or(Vec::new(), |pattern| near(pattern, text)));
            }
        }
        self.left_out = self.left_out.max(taken.left_out);
        self.watch(text, &mut taken);
        taken.values
    }

    /// Adds the counters that are watched for growing most.
    fn watch(&mut self, text: &Text<'_>, taken: &mut Taken) {
        if matches!(self.stage, Stage::Open | Stage::Settled) {
            return;
        }
        let mut counters: Vec<(String, f64, &Sample<'_>)> = Vec::new();
        for sample in text.samples.iter().filter(|sample| defaults::may_rank(sample)) {
            let series = sample.series();
            if !self.picks.iter().any(|pick| pick.means(sample)) && taken.names.insert(series.clone()) {
                counters.push((series, sample.value, sample));
            }
        }
        let stage = std::mem::replace(&mut self.stage, Stage::Settled);
        self.stage = match stage {
            Stage::Seen(first) if first.is_empty() => {
                Stage::Seen(counters.iter().map(|(name, value, _)| (name.clone(), *value)).collect())
            }
            Stage::Seen(first) => {
                let grown = |name: &str, value: f64| value - first.get(name).copied().unwrap_or(0.0);
                counters.sort_by(|a, b| grown(&b.0, b.1).total_cmp(&grown(&a.0, a.1)));
                counters.truncate(CANDIDATES_MAX);
                Stage::Watched(counters.iter().map(|(name, ..)| name.clone()).collect())
            }
            Stage::Watched(mut names) => {
                counters.retain(|(name, ..)| {
                    names.contains(name) || names.len() < CANDIDATES_MAX && names.insert(name.clone())
                });
                Stage::Watched(names)
            }
            other => other,
        };
        taken.values.extend(counters.into_iter().map(|(name, value, sample)| Value {
            name,
            unit: unit(sample.name, true),
            measure: Measure::Total(value),
        }));
    }

    /// Of the series that were kept, with how much each has grown: those that go, as others grew more.
    pub fn superfluous(&self, kept: &[(String, f64)]) -> HashSet<String> {
        let watched = match &self.stage {
            Stage::Seen(first) => first.keys().collect::<HashSet<_>>(),
            Stage::Watched(names) => names.iter().collect(),
            Stage::Open | Stage::Settled => return HashSet::new(),
        };
        let (mut ranked, picked): (Vec<_>, Vec<_>) =
            kept.iter().partition(|(name, _)| watched.contains(name));
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let places = PLACES.saturating_sub(picked.len());
        // What did not move took no part in the run.
        let stays = ranked.iter().take(places).take_while(|(_, grown)| *grown > 0.0).count();
        ranked.into_iter().skip(stays).map(|(name, _)| name.clone()).collect()
    }

    /// What to say at the end.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (pick, found) in self.picks.iter().zip(&self.found).filter(|(pick, _)| pick.expected) {
            match found.as_ref().map_err(Vec::as_slice) {
                Ok(()) => {}
                Err([]) => notes.push(format!("no series is `{pick}`")),
                Err(near) => notes.push(format!("no series is `{pick}`; there are {}", near.join(", "))),
            }
        }
        if self.left_out > 0 {
            notes.push(format!(
                "{} series more match what was asked for than the {SERIES_MAX} that are kept; \
                 name labels, or sum(…)",
                self.left_out
            ));
        }
        notes
    }
}

/// What has been taken of one text.
#[derive(Default)]
struct Taken {
    values: Vec<Value>,
    names: HashSet<String>,
    left_out: usize,
}

impl Taken {
    fn add(&mut self, name: String, unit: &'static str, measure: Measure) {
        if self.names.contains(&name) {
            return;
        }
        if self.values.len() >= SERIES_MAX {
            self.left_out += 1;
            return;
        }
        self.names.insert(name.clone());
        self.values.push(Value { name, unit, measure });
    }
}

/// Takes what a pick means; whether there was any.
fn take(pick: &Pick, text: &Text<'_>, taken: &mut Taken) -> bool {
    let mut found = false;
    if pick.how == How::Each {
        for sample in text.samples.iter().filter(|sample| pick.means(sample) && !is_aside(pick, sample)) {
            found = true;
            let name = match &pick.title {
                Some(title) => title.clone(),
                None => sample.series(),
            };
            taken.add(name, unit(sample.name, sample.grows()), measure(sample.value, sample.grows()));
        }
        return found;
    }
    let Some(sum) = sum(&pick.of, text) else { return false };
    let (unit, measure) = match &pick.how {
        How::Percent(over) => {
            let Some(whole) = self::sum(over, text).filter(|whole| whole.grows == sum.grows) else {
                return false;
            };
            let measure = match sum.grows {
                true => Measure::Share { part: sum.value, whole: whole.value },
                false => Measure::Gauge(100.0 * sum.value / whole.value),
            };
            ("%", measure)
        }
        _ => (unit(sum.name, sum.grows), measure(sum.value, sum.grows)),
    };
    taken.add(pick.to_string(), unit, measure);
    true
}

/// What a pattern for many names should not bring: the ten or so buckets of each histogram, and times of beginning.
fn is_aside(pick: &Pick, sample: &Sample<'_>) -> bool {
    ["_bucket", "_created"].iter().any(|suffix| {
        sample.name.ends_with(suffix)
            && pick.of.iter().all(|pattern| pattern.is_open() && !pattern.name().ends_with(suffix))
    })
}

fn measure(value: f64, grows: bool) -> Measure {
    if grows { Measure::Total(value) } else { Measure::Gauge(value) }
}

struct Sum<'t> {
    name: &'t str,
    grows: bool,
    value: f64,
}

/// Adds up what matches. What only grows and what does not have no sum: those like the first count.
fn sum<'t>(patterns: &[Pattern], text: &Text<'t>) -> Option<Sum<'t>> {
    let mut sum: Option<Sum<'t>> = None;
    for sample in text.samples.iter().filter(|sample| sample.value.is_finite() && any(patterns, sample)) {
        let sum = sum.get_or_insert(Sum { name: sample.name, grows: sample.grows(), value: 0.0 });
        if sum.grows == sample.grows() {
            sum.value += sample.value;
        }
    }
    sum
}

/// What the points are in, by what names say by custom.
fn unit(name: &str, grows: bool) -> &'static str {
    let stem = name.strip_suffix("_total").unwrap_or(name);
    let stem = stem.strip_suffix("_sum").unwrap_or(stem);
    match (stem, grows) {
        (stem, true) if stem.ends_with("cpu_seconds") => "cores",
        (stem, true) if stem.ends_with("_bytes") => "B/s",
        (stem, true) if stem.ends_with("_seconds") => "s/s",
        (_, true) => "/s",
        (stem, false) if stem.ends_with("_bytes") => "B",
        (stem, false) if stem.ends_with("_seconds") => "s",
        (_, false) => "",
    }
}

/// Up to three names that begin as the pattern does.
fn near(pattern: &Pattern, text: &Text<'_>) -> Vec<String> {
    let wanted = pattern.name().split(['*', '?']).next().unwrap_or_default();
    let alike = |name: &str| wanted.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let mut names: Vec<&str> = text.samples.iter().map(|sample| sample.name).collect();
    names.sort_unstable();
    names.dedup();
    // Stable: of those that are equally alike, the first by name.
    names.sort_by_key(|name| std::cmp::Reverse(alike(name)));
    names.into_iter().take(3).filter(|name| alike(name) >= 3).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
