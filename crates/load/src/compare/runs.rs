//! Stored runs to a comparison: which are fit for it, which belong together, and what their reports say against it.
//!
//! Runs are paired only if they were made in turn: as many of A as of B, and sorted by their start each two that
//! follow one another are one of each. Everything else is two sets that were not interleaved.
//!
//! Not here: reading files, the verdict ([`super::judge`]).

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Caveat, Comparison};
use super::words::list;
use super::{Pair, Side, Values, Wish, judge, judge_sets};
use crate::report::model::Run;
use crate::verdict::Grade;

/// A run and what to call it when something is wrong with it: its file.
#[derive(Clone, Debug)]
pub struct Given {
    /// The file.
    pub name: String,
    /// What is in it.
    pub run: Run,
}

/// Compares the runs of A with those of B.
///
/// # Errors
/// A sentence for the person at the command line: a run is INVALID, or there twice.
pub fn compare(a: &[Given], b: &[Given], wish: &Wish) -> Result<Comparison, String> {
    fit(a, b)?;
    let values = |runs: &[Given]| runs.iter().map(|given| values(&given.run)).collect::<Vec<_>>();
    let mut comparison = match in_turn(a, b) {
        Some(pairs) => judge(&pairs, wish),
        None => judge_sets(&values(a), &values(b), wish),
    };
    comparison.a.label = label(a);
    comparison.b.label = label(b);
    for (side, runs) in [("A", a), ("B", b)] {
        comparison.caveats.extend(grades(side, runs));
        comparison.caveats.extend(asked_within(side, runs));
    }
    comparison.caveats.extend(asked_apart(a, b));
    comparison.caveats.extend(of_all(&a.iter().chain(b).map(|given| &given.run).collect::<Vec<_>>()));
    Ok(comparison)
}

/// What a run gives to compare.
fn values(run: &Run) -> Values {
    let times = run.times();
    Values {
        requests_per_s: Some(run.requests_per_s),
        p50_us: times.map(|times| times.p50),
        p90_us: times.map(|times| times.p90),
        p99_us: times.map(|times| times.p99),
        server_us_per_request: run.cpu.server_us_per_request,
    }
}

fn fit(a: &[Given], b: &[Given]) -> Result<(), String> {
    let mut seen = BTreeMap::new();
    for Given { name, run } in a.iter().chain(b) {
        if run.verdict.grade == Grade::Invalid {
            let codes: Vec<String> = bad_codes(run).into_iter().collect();
            return Err(format!(
                "{name}: the run is INVALID ({}): its numbers say nothing about the server; make it again",
                list(&codes)
            ));
        }
        // Two runs do not begin in the same millisecond and then send and read just as much.
        let what = (run.started_unix_ms, run.label.as_str(), run.all_requests, run.bytes.read);
        if let Some(other) = seen.insert(what, name) {
            return Err(format!(
                "{name} and {other} are the same run; a copy is no second sample: give each once"
            ));
        }
    }
    Ok(())
}

fn in_turn(a: &[Given], b: &[Given]) -> Option<Vec<Pair>> {
    let starts = |side, runs: &[Given]| {
        runs.iter().map(|given| (given.run.started_unix_ms, side, values(&given.run))).collect::<Vec<_>>()
    };
    let mut all = [starts(Side::A, a), starts(Side::B, b)].concat();
    all.sort_by_key(|(start, ..)| *start);
    let pair = |two: &[(u64, Side, Values)]| match two {
        // One run each is a pair in whatever order; at the same instant nothing is in turn.
        [(at, Side::A, a), (then, Side::B, b)] if then > at => Some(Pair { first: Side::A, a: *a, b: *b }),
        [(at, Side::B, b), (then, Side::A, a)] if then > at => Some(Pair { first: Side::B, a: *a, b: *b }),
        _ => None,
    };
    if a.len() == b.len() { all.chunks(2).map(pair).collect() } else { None }
}

/// What the runs of a side are called.
fn label(runs: &[Given]) -> String {
    let labels: BTreeSet<&str> = runs.iter().map(|given| given.run.label.as_str()).collect();
    let first = runs.first().map_or("", |given| given.run.label.as_str());
    if labels.len() > 1 { format!("{first} and {} others", labels.len() - 1) } else { first.to_owned() }
}

fn bad_codes(run: &Run) -> BTreeSet<String> {
    let bad = run.verdict.findings.iter().filter(|finding| finding.grade >= Grade::Suspect);
    bad.map(|finding| finding.code.clone()).collect()
}

/// What the verdicts of a side's runs say against it.
fn grades(side: &str, runs: &[Given]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let at_least = runs.iter().filter(|given| given.run.verdict.at_least).count();
    if at_least > 0 {
        let text = format!(
            "thirst was the limit in {at_least} of {} runs of {side}: {side} can do more than is shown, its times \
             hold thirst's own queue, and the ratios are no measure of the servers",
            runs.len()
        );
        caveats.push(Caveat::new("at-least", text));
    }
    let suspects: Vec<&Run> =
        runs.iter().map(|given| &given.run).filter(|run| run.verdict.grade == Grade::Suspect).collect();
    if !suspects.is_empty() {
        let codes: BTreeSet<String> = suspects.iter().flat_map(|run| bad_codes(run)).collect();
        let codes: Vec<String> = codes.into_iter().collect();
        let text = format!("SUSPECT: {} of {} runs of {side} ({})", suspects.len(), runs.len(), list(&codes));
        caveats.push(Caveat::new("suspect", text));
    }
    caveats
}

/// Everything that was asked of a run, by name.
fn asked(run: &Run) -> BTreeMap<String, String> {
    let value = serde_json::to_value(&run.asked).unwrap_or_default();
    let fields = value.as_object().into_iter().flatten();
    fields.map(|(name, value)| (name.clone(), value.to_string())).collect()
}

/// The fields of what was asked that have more than one value, with the values.
fn differing(runs: &[&Run], leave_out: &[&str]) -> Vec<String> {
    let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for run in runs {
        for (name, value) in asked(run) {
            let values = fields.entry(name).or_default();
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    let several =
        fields.into_iter().filter(|(name, values)| values.len() > 1 && !leave_out.contains(&name.as_str()));
    several
        .map(|(name, values)| {
            // Long lists, of URLs say, are named and not shown.
            let shown = values.join(", ");
            if shown.chars().count() > 60 { name } else { format!("{name} ({shown})") }
        })
        .collect()
}

fn asked_within(side: &str, runs: &[Given]) -> Option<Caveat> {
    let runs: Vec<&Run> = runs.iter().map(|given| &given.run).collect();
    let fields = differing(&runs, &[]);
    let text = format!(
        "the runs of {side} were not all asked the same: {}; their spread is not noise alone",
        list(&fields)
    );
    (!fields.is_empty()).then(|| Caveat::new("asked-within", text))
}

/// The URLs are what is compared; anything else that differs makes a difference of its own.
fn asked_apart(a: &[Given], b: &[Given]) -> Option<Caveat> {
    let (a, b) = (a.first()?, b.first()?);
    let fields = differing(&[&a.run, &b.run], &["urls"]);
    let text = format!("A and B were asked differently: {}", list(&fields));
    (!fields.is_empty()).then(|| Caveat::new("asked-apart", text))
}

/// What speaks against the runs whichever side they are on.
fn of_all(runs: &[&Run]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let mut spans: Vec<(f64, f64)> = runs.iter().map(|run| span_ms(run)).collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    if spans.windows(2).any(|two| matches!(two, [(_, end), (start, _)] if start < end)) {
        let text = "some runs overlap in time: they shared the machine and disturbed one another".to_owned();
        caveats.push(Caveat::new("overlap", text));
    }
    if runs.iter().any(|run| run.asked.load != "closed") {
        let text =
            "the load was paced: the rate was asked for and not found, the times are what can be compared";
        caveats.push(Caveat::new("paced", text.to_owned()));
    }
    let thin = |run: &&&Run| run.latency_us.last_byte.as_ref().is_some_and(|times| times.is_thin(0.99));
    let count = runs.iter().filter(thin).count();
    if count > 0 {
        let text = format!(
            "p99 of {count} of {} runs has fewer than ten answers above it: it is little more than chance; \
             measure longer",
            runs.len()
        );
        caveats.push(Caveat::new("thin-tail", text));
    }
    let versions: BTreeSet<String> = runs.iter().map(|run| run.thirst.clone()).collect();
    if versions.len() > 1 {
        let versions: Vec<String> = versions.into_iter().collect();
        let text = format!("the runs were measured by different versions of thirst: {}", list(&versions));
        caveats.push(Caveat::new("versions", text));
    }
    caveats
}

/// When a run put load on its server.
fn span_ms(run: &Run) -> (f64, f64) {
    let start = run.started_unix_ms as f64;
    (start, start + (run.asked.warmup_s + run.elapsed_s + run.asked.cooldown_s) * 1e3)
}
