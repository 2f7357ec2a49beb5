//! Whether all rules held at a rate, and whose fault it is if not.
//!
//! A rate that was asked for and not kept up with is not one the server can do, whatever its times were. Where the rules
//! hold, a generator that was disturbed does not matter: its own delay is in the times. Pure. Not here: what is tried next.

use super::Outcome;
use crate::report::model::Run;
use crate::rule::Rule;
use crate::verdict::Code;

/// So much of what was due may be missing.
const MISSING: f64 = 0.02;
/// So much of what was sent may not have been answered in as long a time.
const BEHIND: f64 = 0.05;
/// A generator that is as late as this share of the slowest times made them itself.
const OWN_LAG: f64 = 0.5;
/// Findings by which the generator, its machine or the network was the limit.
const OWN_LIMITS: [Code; 5] =
    [Code::GeneratorFull, Code::GeneratorCeiling, Code::NoPorts, Code::NoFiles, Code::NetworkFull];

/// What was seen at a rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What came of it.
    pub outcome: Outcome,
    /// Why it is not [`Outcome::Held`], in words.
    pub why: String,
}

/// Holds a run against the rules.
pub fn outcome(rules: &[Rule], run: &Run) -> Seen {
    let Some(why) = broken(rules, run).or_else(|| behind(run)) else {
        return Seen { outcome: Outcome::Held, why: String::new() };
    };
    match own_limit(run) {
        None => Seen { outcome: Outcome::Failed, why },
        Some(own) => Seen { outcome: Outcome::Limited, why: format!("{why}; but {own}") },
    }
}

fn broken(rules: &[Rule], run: &Run) -> Option<String> {
    let rule = rules.iter().find(|rule| !rule.holds(run))?;
    Some(match rule.value(run) {
        Some(value) => format!("not {rule}: it is {}", rule.shown(value)),
        None => format!("not {rule}: nothing was answered"),
    })
}

fn behind(run: &Run) -> Option<String> {
    let due = (run.requests + run.unsent) as f64;
    let missing = run.unsent as f64 / due.max(1.0);
    if missing > MISSING {
        return Some(format!(
            "{:.0} % of the requests due were not sent, as too many were in flight",
            missing * 100.0
        ));
    }
    let sent = run.requests.saturating_sub(run.errors.requests) as f64;
    let answered = run.requests_per_s * run.elapsed_s;
    (answered < sent * (1.0 - BEHIND)).then(|| {
        format!(
            "answers fell behind: {:.0} of {sent:.0} came in the time in which they were asked for",
            answered
        )
    })
}

/// What the generator did to the numbers.
fn own_limit(run: &Run) -> Option<String> {
    let limits = |code: &str| OWN_LIMITS.iter().any(|limit| limit.code() == code);
    if let Some(finding) = run.verdict.findings.iter().find(|finding| limits(&finding.code)) {
        return Some(finding.text.clone());
    }
    let own_us = run.latency_us.own_lag.as_ref()?.p99;
    let late = run.verdict.findings.iter().any(|finding| finding.code == Code::SendLag.code());
    let all_us = run.times()?.p99;
    (late && own_us > all_us * OWN_LAG)
        .then(|| format!("the generator sent late by {}", crate::report::units::time(own_us)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Summary;
    use crate::tally::Latency;
    use crate::verdict::{Finding, Grade};

    fn rules(texts: &[&str]) -> Vec<Rule> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn found(run: &mut Run, code: Code) {
        run.verdict.findings.push(Finding {
            grade: Grade::Suspect,
            code: code.code().to_owned(),
            text: format!("{} was found", code.code()),
            mend: String::new(),
        });
    }

    /// 436 requests a second for 10 s, p99 of some milliseconds.
    fn run() -> Run {
        let mut times = Latency::default();
        (0..4360_u64).for_each(|at| times.record(2_000_000 + at * 1_000));
        let mut run =
            Run { requests: 4360, responses: 4360, elapsed_s: 10.0, requests_per_s: 436.0, ..Run::default() };
        run.latency_us.response = Summary::of(&times);
        run
    }

    #[test]
    fn table() {
        type Change = fn(&mut Run);
        let cases: &[(&str, &[&str], Change, Outcome, &str)] = &[
            ("all well", &["p99<1s", "errors<1%"], |_| {}, Outcome::Held, ""),
            ("a rule", &["p99<1s", "p50<1us"], |_| {}, Outcome::Failed, "not p50<1us: it is "),
            (
                "nothing answered",
                &["p99<1s"],
                |run| run.latency_us.response = None,
                Outcome::Failed,
                "not p99<1s: nothing was answered",
            ),
            (
                "not sent",
                &["p99<1s"],
                |run| run.unsent = run.requests / 20,
                Outcome::Failed,
                "5 % of the requests due were not sent",
            ),
            ("hardly any", &["p99<1s"], |run| run.unsent = run.requests / 60, Outcome::Held, ""),
            (
                "behind",
                &["p99<1s"],
                |run| run.requests_per_s *= 0.9,
                Outcome::Failed,
                "answers fell behind: 3924 of 4360",
            ),
            (
                "errors that a rule allows are no backlog",
                &["errors<20%"],
                |run| {
                    run.errors.requests = 436;
                    run.requests_per_s *= 0.9
                },
                Outcome::Held,
                "",
            ),
            (
                "the generator",
                &["p50<1us"],
                |run| found(run, Code::GeneratorFull),
                Outcome::Limited,
                "; but generator-full was found",
            ),
            (
                "a full generator does not matter",
                &["p99<1s"],
                |run| found(run, Code::GeneratorFull),
                Outcome::Held,
                "",
            ),
            (
                "late, and little beside the times",
                &["p50<1us"],
                |run| late(run, 0.4),
                Outcome::Failed,
                "not p50",
            ),
            ("late, and that is all", &["p50<1us"], |run| late(run, 0.6), Outcome::Limited, "sent late by"),
        ];
        for (name, texts, change, wanted, why) in cases {
            let mut run = run();
            change(&mut run);
            let seen = outcome(&rules(texts), &run);
            assert_eq!(seen.outcome, *wanted, "{name}: {seen:?}");
            assert!(
                seen.why.contains(why) && seen.why.is_empty() == (*wanted == Outcome::Held),
                "{name}: {seen:?}"
            );
        }
    }

    fn late(run: &mut Run, share: f64) {
        found(run, Code::SendLag);
        let times = run.times().unwrap();
        let own = Summary { p99: times.p99 * share, ..times.clone() };
        run.latency_us.own_lag = Some(own);
    }
}
