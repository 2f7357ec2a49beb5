//! Runs as JUnit's XML, for the pages of build servers: each rule, each kind of check, and the verdict is a test
//! case.
//!
//! In the narrowest of the shapes in use (no attributes on `testsuites`; `properties`, cases, `system-out`,
//! `system-err` in this order), so that all readers take it. Not here: judging; a rule is held against the report as
//! `--fail-if` holds it.

use super::model::Run;
use super::units;
use super::xml::write::Writer;
use crate::check::Expect;
use crate::rule::Rule;
use crate::verdict::Grade;

const VERDICT: &str = "thirst.verdict";

struct Case {
    class: &'static str,
    name: String,
    /// Of one that failed: kind, and what was seen.
    failed: Option<(&'static str, String)>,
}

/// One suite for each run.
pub fn suites(runs: &[Run]) -> String {
    let mut xml = Writer::new();
    xml.within("testsuites", &[], |xml| {
        for (id, run) in runs.iter().enumerate() {
            suite(run, id, xml);
        }
    });
    xml.end()
}

fn suite(run: &Run, id: usize, xml: &mut Writer) {
    let cases: Vec<Case> = [verdict(run)].into_iter().chain(rules(run)).chain(expectations(run)).collect();
    let failures = cases.iter().filter(|case| case.failed.is_some()).count();
    let (id, count, failures) = (id.to_string(), cases.len().to_string(), failures.to_string());
    let time = format!("{:.3}", run.elapsed_s);
    let began = timestamp(run.started_unix_ms / 1000);
    let attributes = [
        ("package", "thirst"),
        ("id", id.as_str()),
        ("name", run.label.as_str()),
        ("timestamp", began.as_str()),
        ("hostname", "localhost"),
        ("tests", count.as_str()),
        ("failures", failures.as_str()),
        ("errors", "0"),
        ("time", time.as_str()),
    ];
    xml.within("testsuite", &attributes, |xml| {
        xml.within("properties", &[], |xml| {
            for (name, value) in properties(run) {
                xml.leaf("property", &[("name", name), ("value", value.as_str())], "");
            }
        });
        for case in &cases {
            // The time of the run is said once: pages of build servers add the cases up.
            let took = if case.class == VERDICT { time.as_str() } else { "0" };
            let attributes = [("classname", case.class), ("name", case.name.as_str()), ("time", took)];
            match &case.failed {
                None => xml.leaf("testcase", &attributes, ""),
                Some((kind, why)) => xml.within("testcase", &attributes, |xml| {
                    xml.leaf("failure", &[("message", why.as_str()), ("type", kind)], why);
                }),
            }
        }
        xml.leaf("system-out", &[], &said(run));
        xml.leaf("system-err", &[], "");
    });
}

fn properties(run: &Run) -> Vec<(&'static str, String)> {
    let mut properties = vec![
        ("thirst", run.thirst.clone()),
        ("requests_per_s", format!("{:.3}", run.requests_per_s)),
        ("requests", run.requests.to_string()),
        ("errors", run.errors.requests.to_string()),
    ];
    if let Some(times) = run.times() {
        let us = [("p50_us", times.p50), ("p95_us", times.p95), ("p99_us", times.p99), ("max_us", times.max)];
        properties.extend(us.map(|(name, us)| (name, format!("{us:.3}"))));
    }
    properties
}

/// SUSPECT is a case that passed, with its reasons in the output: as with the exit code.
fn verdict(run: &Run) -> Case {
    let because = run.verdict.findings.iter().filter(|finding| finding.grade == Grade::Invalid);
    let because: Vec<&str> = because.map(|finding| finding.text.as_str()).collect();
    let failed = (run.verdict.grade == Grade::Invalid)
        .then(|| ("verdict", format!("INVALID: {}", because.join("; "))));
    Case { class: VERDICT, name: "the numbers can be trusted".to_owned(), failed }
}

fn rules(run: &Run) -> impl Iterator<Item = Case> + '_ {
    run.asked.fail_if.iter().map(|text| {
        let failed = match text.parse::<Rule>() {
            Err(why) => Some(("rule", why)),
            Ok(rule) => rule.fails(run).map(|why| ("rule", why)),
        };
        Case { class: "thirst.fail-if", name: format!("not {text}"), failed }
    })
}

/// Failures are counted by kind, not by expectation: those of one kind are one case.
fn expectations(run: &Run) -> Vec<Case> {
    let (same, other): (Vec<_>, Vec<_>) =
        run.asked.expect.iter().partition(|text| text.parse() == Ok(Expect::SameBody));
    let count = |kind: &str| run.errors.kinds.get(kind).copied().unwrap_or(0);
    let list = |texts: &[&String]| texts.iter().map(|text| text.as_str()).collect::<Vec<_>>().join(", ");
    let kinds = [
        ("check", (!other.is_empty()).then(|| list(&other))),
        ("changed", (!same.is_empty()).then(|| list(&same))),
        ("status", (count("status") > 0).then(|| "the status of each answer".to_owned())),
        ("redirect", (count("redirect") > 0).then(|| "redirects lead somewhere".to_owned())),
    ];
    let case = |(kind, name): (&'static str, Option<String>)| {
        let sample = run.errors.samples.get(kind).map_or("", String::as_str);
        let wrong = units::many(count(kind), "answer");
        let failed = (count(kind) > 0).then(|| (kind, format!("{wrong} not so, the first: {sample}")));
        name.map(|name| Case { class: "thirst.expect", name, failed })
    };
    kinds.into_iter().filter_map(case).collect()
}

fn said(run: &Run) -> String {
    let findings = run.verdict.findings.iter();
    let lines = findings.map(|finding| format!("{} {}", finding.grade.word(), finding.text));
    lines.collect::<Vec<_>>().join("\n")
}

/// `2026-11-21T22:58:00`, UTC and without saying so: the schema allows no zone.
pub(super) fn timestamp(unix_s: u64) -> String {
    let (days, second) = (unix_s / 86_400, unix_s % 86_400);
    // Days since 0000-03-01, in eras of 400 years: each begins in March, so that the leap day is the last of its
    // year.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    let year = year + era * 400;
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::table::tests::sample;
    use crate::verdict::Finding;

    #[test]
    fn moments() {
        for (unix_s, text) in [
            (0, "1970-01-01T00:00:00"),
            (951_782_399, "2000-02-28T23:59:59"),
            (951_782_400, "2000-02-29T00:00:00"),
            (951_868_800, "2000-03-01T00:00:00"),
            (1_709_164_800, "2024-02-29T00:00:00"),
            (1_735_689_599, "2024-12-31T23:59:59"),
            (4_107_542_400, "2100-03-01T00:00:00"),
        ] {
            assert_eq!(timestamp(unix_s), text);
        }
    }

    #[test]
    fn rules_checks_and_the_verdict_are_cases() {
        let mut run = sample("a <b>", 436.0);
        run.asked.fail_if = vec!["p99>1ms".to_owned(), "errors>0".to_owned(), "nonsense".to_owned()];
        run.asked.expect = vec!["status=200".to_owned(), "body=first".to_owned(), "body~x".to_owned()];
        run.errors.kinds.insert("check".to_owned(), 7);
        run.errors.samples.insert("check".to_owned(), "the status is 404".to_owned());
        run.verdict.grade = Grade::Suspect;
        run.verdict.findings = vec![Finding {
            grade: Grade::Suspect,
            code: "x".to_owned(),
            text: "look twice".to_owned(),
            mend: String::new(),
        }];
        let xml = suites(&[run.clone()]);
        for part in [
            "tests=\"6\" failures=\"3\" errors=\"0\" time=\"10.000\"",
            "name=\"a &lt;b&gt;\"",
            "<testcase classname=\"thirst.verdict\" name=\"the numbers can be trusted\" time=\"10.000\"/>",
            "<failure message=\"p99&gt;1ms holds: it is 4.95 ms\" type=\"rule\">",
            "<testcase classname=\"thirst.fail-if\" name=\"not errors&gt;0\" time=\"0\"/>",
            "name=\"status=200, body~x\"",
            "7 answers not so, the first: the status is 404",
            "<testcase classname=\"thirst.expect\" name=\"body=first\" time=\"0\"/>",
            "<system-out>SUSPECT look twice</system-out>",
        ] {
            assert!(xml.contains(part), "{part} in {xml}");
        }
        run.verdict.grade = Grade::Invalid;
        run.verdict.findings[0].grade = Grade::Invalid;
        assert!(suites(&[run]).contains("message=\"INVALID: look twice\""));
        assert!(suites(&[sample("a", 1.0)]).contains("tests=\"1\" failures=\"0\""));
    }
}
