//! Whether the numbers of a run can be trusted, and why not.
//!
//! VALID: they can. SUSPECT: read the findings first; where the generator was the limit the rate is only *at
//! least* what is shown. INVALID: they say nothing about the server. A note changes nothing.
//!
//! Pure: facts in, verdict out. The codes are a closed list of our own (the server's reasons are about caching).

mod codes;
mod instrument;

use serde::{Deserialize, Serialize};

use crate::stats::little::Waiting;
pub use codes::Code;
pub use instrument::{Instrument, Link};

/// How far the numbers can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Grade {
    /// A remark; the run is none the worse.
    Note,
    /// They can be trusted.
    #[default]
    Valid,
    /// They need a second look.
    Suspect,
    /// They say nothing about the server.
    Invalid,
}

impl Grade {
    /// The word in the reports.
    pub fn word(self) -> &'static str {
        match self {
            Grade::Note => "NOTE",
            Grade::Valid => "VALID",
            Grade::Suspect => "SUSPECT",
            Grade::Invalid => "INVALID",
        }
    }
}

/// One thing found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How bad it is.
    pub grade: Grade,
    /// The stable code, see [`Code`].
    pub code: String,
    /// What was seen, with numbers.
    pub text: String,
    /// What to do; empty where nothing should.
    pub mend: String,
}

/// The verdict on a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The worst finding.
    pub grade: Grade,
    /// The generator was the limit: the rate is at least what is shown.
    pub at_least: bool,
    /// Everything found, worst first.
    pub findings: Vec<Finding>,
}

/// What a verdict rests on.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Requests sent in the window.
    pub requests: u64,
    /// Requests the user asked for, if counted.
    pub count: Option<u64>,
    /// Whole answers.
    pub responses: u64,
    /// Failed requests.
    pub request_failures: u64,
    /// Those of them that had a whole response, and not the one they had to have.
    pub wrong_answers: u64,
    /// Those of them whose status was 400 or more, or not the one that was expected.
    pub wrong_statuses: u64,
    /// Failed connects.
    pub connect_failures: u64,
    /// Connections asked for, 0 where they are made as they are needed, and the most open at once.
    pub connections_asked: u64,
    /// See above.
    pub connections_peak: u64,
    /// Our sending threads, if the window was long enough to tell.
    pub threads: Vec<Generator>,
    /// Median time to the last byte.
    pub median_us: f64,
    /// Whether Ctrl-C ended it.
    pub interrupted: bool,
    /// Whether the server is on the same host.
    pub same_host: bool,
    /// Body bytes in a coding that is not decoded.
    pub opaque_body_bytes: u64,
    /// Of the bodies that were decoded, those that could not be, in words.
    pub broken_bodies: Option<String>,
    /// Why servers are not watched.
    pub watch_notes: Vec<String>,
    /// Requests of an open loop that were due and not sent.
    pub unsent: u64,
    /// 99th percentile of our own delay in sending, where a connection stood ready.
    pub own_lag_p99_us: f64,
    /// Answers whose body was not that of the first of their URL.
    pub changed: u64,
    /// Machines that were to send and were lost, in words.
    pub lost: Vec<String>,
    /// Whether a rule ended it before its time.
    pub ended_early: bool,
    /// Clients that always wait for an answer, and how many did on average; of several steps, where they differ most.
    pub waiting: Option<Waiting>,
    /// Steps whose own verdict is in doubt, and how many there are.
    pub steps_in_doubt: (usize, usize),
    /// What the machine and the way to the server were like.
    pub instrument: Instrument,
}

/// One of our sending threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Generator {
    /// Share of a core it used.
    pub busy: f64,
    /// Share of the window it was ready and had no core.
    pub starved: f64,
    /// How long it waited for a core each time, on average.
    pub mean_wait_us: f64,
}

/// A thread busier than this is the limit.
const FULL: f64 = 0.9;
/// A thread that hardly ever sleeps is the limit too, though it had to share its core.
const SLEEPLESS: f64 = 0.95;
/// A thread that waited for a core for more of the window than this …
const STARVED: f64 = 0.2;
/// … and each time for more than this share of the median, measured its own waiting.
const WAIT_OF_MEDIAN: f64 = 0.1;

/// Judges.
pub fn judge(facts: &Facts) -> Verdict {
    let mut findings = Vec::new();
    let mut add = |grade, code: Code, text: String| {
        findings.push(Finding { grade, code: code.code().to_owned(), text, mend: code.mend().to_owned() });
    };
    answers(facts, &mut add);
    clock(facts, &mut add);
    let at_least = generator(facts, &mut add);
    instrument::judge(facts, at_least, &mut add);
    if let (in_doubt @ 1.., of) = facts.steps_in_doubt {
        add(Grade::Suspect, Code::StepsInDoubt, format!("{in_doubt} of {of} steps are in doubt"));
    }
    notes(facts, &mut add);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.grade));
    let grade = findings.iter().map(|finding| finding.grade).max().unwrap_or_default().max(Grade::Valid);
    Verdict { grade, at_least, findings }
}

/// So large a share of the requests may fail without a doubt.
const FAILED: f64 = 0.01;

fn answers(facts: &Facts, add: &mut impl FnMut(Grade, Code, String)) {
    // What most of the failures are says what to do about them.
    let by_status = facts.wrong_statuses * 2 > facts.request_failures;
    if facts.responses == 0 && by_status {
        let text = format!("no request of {} had a response of the status it had to have", facts.requests);
        return add(Grade::Invalid, Code::ErrorStatus, text);
    }
    if facts.responses == 0 {
        let as_wanted = if facts.wrong_answers > 0 { " as it had to be" } else { "" };
        let text = format!("no request of {} was answered{as_wanted}", facts.requests);
        return add(Grade::Invalid, Code::NoResponses, text);
    }
    let failed = share(facts.request_failures, facts.requests);
    if failed > FAILED {
        let grade = if failed > 0.5 { Grade::Invalid } else { Grade::Suspect };
        let (code, why) = match by_status {
            true => (Code::ErrorStatus, ", most of them by their status"),
            false => (Code::ErrorRate, ""),
        };
        add(grade, code, format!("{:.1} % of the requests failed{why}", failed * 100.0));
    }
    if let Some(broken) = &facts.broken_bodies {
        add(Grade::Suspect, Code::Broken, broken.clone());
    }
    let missing = facts.count.map_or(0, |count| count.saturating_sub(facts.requests));
    if missing > 0 && !facts.interrupted && !facts.ended_early {
        add(Grade::Invalid, Code::CountMissed, format!("{missing} requests could not be sent"));
    }
    // What this machine had none left of says nothing of the server.
    let own = facts.instrument.no_ports + facts.instrument.no_files;
    let open = share(facts.connections_peak, facts.connections_asked);
    if open < 1.0 && facts.connections_asked > 0 {
        let grade = if open < 0.5 { Grade::Invalid } else { Grade::Suspect };
        let text = format!(
            "at most {} of {} connections were open",
            facts.connections_peak, facts.connections_asked
        );
        add(grade, Code::FewConnections, text);
    } else if facts.connect_failures > own {
        let text = format!("{} connects failed in the run", facts.connect_failures - own);
        add(Grade::Suspect, Code::ServerLost, text);
    }
}

/// More than this share of the requests due must have been sent.
const UNSENT: f64 = 0.02;
/// Our own delay in sending may be a tenth of the median, and is nothing to speak of below this, in microseconds.
const LAG_OF_MEDIAN: f64 = 0.1;
/// See [`LAG_OF_MEDIAN`].
const LAG_FREE_US: f64 = 200.0;

fn clock(facts: &Facts, add: &mut impl FnMut(Grade, Code, String)) {
    for lost in &facts.lost {
        add(Grade::Invalid, Code::AgentLost, lost.clone());
    }
    let due = facts.requests + facts.unsent;
    let unsent = share(facts.unsent, due);
    if unsent > UNSENT {
        let grade = if unsent > 0.5 { Grade::Invalid } else { Grade::Suspect };
        let text = format!(
            "{:.1} % of {due} requests were due and not sent, as too many were in flight: the load was less than asked for",
            unsent * 100.0
        );
        add(grade, Code::Unsent, text);
    }
    if facts.own_lag_p99_us > (facts.median_us * LAG_OF_MEDIAN).max(LAG_FREE_US) {
        let text = format!(
            "requests went out late, the 99th percentile by {:.0} µs though connections stood ready: this delay is the generator's, and is in the response times",
            facts.own_lag_p99_us
        );
        add(Grade::Suspect, Code::SendLag, text);
    }
}

fn generator(facts: &Facts, add: &mut impl FnMut(Grade, Code, String)) -> bool {
    let worst = |of: fn(&Generator) -> f64| facts.threads.iter().map(of).fold(0.0, f64::max);
    let (busy, awake) = (worst(|thread| thread.busy), worst(|thread| thread.busy + thread.starved));
    let full = busy > FULL || awake > SLEEPLESS;
    if full {
        let how = if busy > FULL { ("used", busy) } else { ("used, or waited for,", awake) };
        let text = format!(
            "a sending thread {} {:.0} % of a core: the server can do at least this much, and the latencies hold our own queue",
            how.0,
            how.1.min(1.0) * 100.0
        );
        add(Grade::Suspect, Code::GeneratorFull, text);
    }
    let hurt = |thread: &&Generator| {
        thread.starved > STARVED && thread.mean_wait_us > facts.median_us * WAIT_OF_MEDIAN
    };
    if let Some(thread) = facts.threads.iter().filter(hurt).max_by(|a, b| a.starved.total_cmp(&b.starved)) {
        let text = format!(
            "a sending thread was ready but had no core for {:.0} % of the time, {:.0} µs each time: the latencies hold this wait",
            thread.starved * 100.0,
            thread.mean_wait_us
        );
        add(Grade::Suspect, Code::GeneratorStarved, text);
    }
    full
}

fn notes(facts: &Facts, add: &mut impl FnMut(Grade, Code, String)) {
    if (1..1000).contains(&facts.responses) {
        let text = format!("{} answers: the 99th percentile needs 1000 to mean something", facts.responses);
        add(Grade::Note, Code::FewSamples, text);
    }
    if facts.interrupted {
        add(Grade::Note, Code::Interrupted, "ended by Ctrl-C".to_owned());
    }
    if facts.same_host {
        add(
            Grade::Note,
            Code::SameHost,
            "the server is on this host and shares its cores with the generator".to_owned(),
        );
    }
    if facts.opaque_body_bytes > 0 {
        let text = "some bodies came in a coding that is not decoded: sizes are those of the encoded bytes"
            .to_owned();
        add(Grade::Note, Code::Encoded, text);
    }
    if facts.changed > 0 {
        let text = format!(
            "{} answers had another body than the first of their URL: pages that change, or a mix-up (--expect body=first makes them errors)",
            facts.changed
        );
        add(Grade::Note, Code::Changed, text);
    }
    if let Some(waiting) = facts.waiting.filter(|waiting| waiting.off().is_some()) {
        let why = match waiting.off() {
            Some(off) if off > 0.0 => {
                "their other time is in none of the times, and the load was less than it looks"
            }
            _ => "the window was too short, or too restless, for its rate and its times to belong together",
        };
        let text = format!(
            "{:.1} of {} clients waited for an answer on average (rate times mean time): {why}",
            waiting.seen, waiting.clients
        );
        add(Grade::Note, Code::HiddenTime, text);
    }
    for note in &facts.watch_notes {
        add(Grade::Note, Code::Watch, note.clone());
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Facts {
        Facts {
            requests: 10_000,
            responses: 10_000,
            connections_asked: 10,
            connections_peak: 10,
            threads: vec![
                Generator { busy: 0.5, starved: 0.01, mean_wait_us: 5.0 },
                Generator { busy: 0.4, ..Generator::default() },
            ],
            median_us: 1_000.0,
            ..Facts::default()
        }
    }

    #[test]
    fn answers_that_all_were_wrong_are_not_called_none() {
        let text =
            |wrong_answers| judge(&Facts { responses: 0, wrong_answers, ..good() }).findings[0].text.clone();
        assert_eq!(text(0), "no request of 10000 was answered");
        assert_eq!(text(3), "no request of 10000 was answered as it had to be");
    }

    #[test]
    fn failures_are_named_by_what_most_of_them_are() {
        let found = |request_failures, wrong_statuses, responses| {
            let facts = Facts { request_failures, wrong_statuses, responses, ..good() };
            let verdict = judge(&facts);
            let first = verdict.findings.first().map(|finding| finding.code.clone()).unwrap_or_default();
            (verdict.grade, first)
        };
        for (failures, statuses, responses, grade, code) in [
            (10_000, 10_000, 0, Grade::Invalid, "error-status"),
            (1_000, 1_000, 9_000, Grade::Suspect, "error-status"),
            (1_000, 400, 9_000, Grade::Suspect, "error-rate"),
            (6_000, 6_000, 4_000, Grade::Invalid, "error-status"),
            (90, 90, 9_910, Grade::Valid, ""),
            // None that was asked has come back yet but these.
            (20, 20, 0, Grade::Invalid, "error-status"),
            (20, 5, 0, Grade::Invalid, "no-responses"),
        ] {
            assert_eq!(
                found(failures, statuses, responses),
                (grade, code.to_owned()),
                "{failures} {statuses}"
            );
        }
    }

    #[test]
    fn table() {
        type Change = fn(&mut Facts);
        let cases: &[(&str, Change, Grade, Option<Code>, bool)] = &[
            ("all well", |_| {}, Grade::Valid, None, false),
            ("same host is a note", |f| f.same_host = true, Grade::Valid, Some(Code::SameHost), false),
            ("no answers", |f| f.responses = 0, Grade::Invalid, Some(Code::NoResponses), false),
            (
                "no requests",
                |f| {
                    f.responses = 0;
                    f.requests = 0
                },
                Grade::Invalid,
                Some(Code::NoResponses),
                false,
            ),
            ("1 % errors", |f| f.request_failures = 100, Grade::Valid, None, false),
            ("2 % errors", |f| f.request_failures = 200, Grade::Suspect, Some(Code::ErrorRate), false),
            ("60 % errors", |f| f.request_failures = 6_000, Grade::Invalid, Some(Code::ErrorRate), false),
            ("9 of 10 open", |f| f.connections_peak = 9, Grade::Suspect, Some(Code::FewConnections), false),
            ("4 of 10 open", |f| f.connections_peak = 4, Grade::Invalid, Some(Code::FewConnections), false),
            ("server went", |f| f.connect_failures = 3, Grade::Suspect, Some(Code::ServerLost), false),
            (
                "the server is not to blame",
                |f| {
                    f.connect_failures = 3;
                    f.instrument.no_ports = 3
                },
                Grade::Suspect,
                Some(Code::NoPorts),
                false,
            ),
            ("full", |f| f.threads[1].busy = 0.95, Grade::Suspect, Some(Code::GeneratorFull), true),
            (
                "sleepless",
                |f| f.threads[1] = Generator { busy: 0.5, starved: 0.48, mean_wait_us: 9.0 },
                Grade::Suspect,
                Some(Code::GeneratorFull),
                true,
            ),
            (
                "short waits",
                |f| f.threads[0] = Generator { busy: 0.1, starved: 0.3, mean_wait_us: 90.0 },
                Grade::Valid,
                None,
                false,
            ),
            (
                "starved",
                |f| f.threads[0] = Generator { busy: 0.1, starved: 0.3, mean_wait_us: 110.0 },
                Grade::Suspect,
                Some(Code::GeneratorStarved),
                false,
            ),
            ("2 % unsent", |f| f.unsent = 200, Grade::Valid, None, false),
            ("3 % unsent", |f| f.unsent = 310, Grade::Suspect, Some(Code::Unsent), false),
            ("most unsent", |f| f.unsent = 10_001, Grade::Invalid, Some(Code::Unsent), false),
            ("late, and nothing to speak of", |f| f.own_lag_p99_us = 199.0, Grade::Valid, None, false),
            ("late", |f| f.own_lag_p99_us = 201.0, Grade::Suspect, Some(Code::SendLag), false),
            (
                "late beside long answers",
                |f| {
                    f.median_us = 9_000.0;
                    f.own_lag_p99_us = 800.0
                },
                Grade::Valid,
                None,
                false,
            ),
            (
                "bodies that do not decode",
                |f| f.broken_bodies = Some("2 of 2".to_owned()),
                Grade::Suspect,
                Some(Code::Broken),
                false,
            ),
            ("changed", |f| f.changed = 5, Grade::Valid, Some(Code::Changed), false),
            (
                "clients that do something else",
                |f| f.waiting = Some(Waiting { clients: 10.0, seen: 8.9 }),
                Grade::Valid,
                Some(Code::HiddenTime),
                false,
            ),
            (
                "clients that wait",
                |f| f.waiting = Some(Waiting { clients: 10.0, seen: 9.1 }),
                Grade::Valid,
                None,
                false,
            ),
            (
                "a machine was lost",
                |f| f.lost.push("b: reset".to_owned()),
                Grade::Invalid,
                Some(Code::AgentLost),
                false,
            ),
            ("count missed", |f| f.count = Some(10_001), Grade::Invalid, Some(Code::CountMissed), false),
            ("count met", |f| f.count = Some(10_000), Grade::Valid, None, false),
            (
                "ctrl-c",
                |f| {
                    f.count = Some(20_000);
                    f.interrupted = true
                },
                Grade::Valid,
                Some(Code::Interrupted),
                false,
            ),
            (
                "few",
                |f| {
                    f.requests = 50;
                    f.responses = 50
                },
                Grade::Valid,
                Some(Code::FewSamples),
                false,
            ),
        ];
        for (name, change, grade, code, at_least) in cases {
            let mut facts = good();
            change(&mut facts);
            let verdict = judge(&facts);
            assert_eq!((verdict.grade, verdict.at_least), (*grade, *at_least), "{name}: {verdict:?}");
            assert_eq!(verdict.findings.first().map(|f| f.code.as_str()), code.map(Code::code), "{name}");
        }
    }

    #[test]
    fn worst_first() {
        let facts = Facts { same_host: true, connections_peak: 4, request_failures: 200, ..good() };
        let grades: Vec<Grade> = judge(&facts).findings.iter().map(|f| f.grade).collect();
        assert_eq!(grades, [Grade::Invalid, Grade::Suspect, Grade::Note]);
    }

    #[test]
    fn codes_are_unique() {
        let mut codes: Vec<_> = Code::ALL.iter().map(|code| code.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Code::ALL.len());
    }
}
