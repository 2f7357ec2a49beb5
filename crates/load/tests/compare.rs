//! `thirst compare`: stored runs in, a comparison out, through the real binary.
//!
//! One real run is made and its report edited, so that these tests read what `thirst run` writes today.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod common;

use common::{Scratch, Server, ok, output, run};
use serde_json::{Value, json};
use std::fs;
use std::sync::OnceLock;

/// What `thirst run` writes, from a run that nothing speaks against.
fn report() -> Value {
    static REPORT: OnceLock<Value> = OnceLock::new();
    let made = || {
        let server = Server::canned(ok("hello", ""));
        let (mut report, _) = run(&[&server.url("/"), "-n", "2000", "-c", "2", "-t", "1"]);
        // Where this test runs, anything may have disturbed it.
        report["verdict"] = json!({"grade": "VALID", "at_least": false, "findings": []});
        report["elapsed_s"] = json!(10.0);
        report
    };
    REPORT.get_or_init(made).clone()
}

/// Runs of ten seconds in a folder of their own, a minute apart.
struct Runs {
    scratch: Scratch,
    minute: u64,
}

impl Runs {
    fn new(name: &str) -> Runs {
        Runs { scratch: Scratch::new(&format!("compare-{name}")), minute: 0 }
    }

    /// Writes the next run, `factor` times as fast as others, and lets `edit` change it.
    fn add(&mut self, label: &str, factor: f64, edit: impl Fn(&mut Value)) -> String {
        self.minute += 1;
        let mut run = report();
        run["label"] = json!(label);
        run["started_unix_ms"] = json!(1_700_000_000_000_u64 + self.minute * 60_000);
        run["requests_per_s"] = json!(20_000.0 * factor);
        run["cpu"]["server_us_per_request"] = json!(30.0 / factor);
        for name in ["p50", "p90", "p99"] {
            run["latency_us"]["last_byte"][name] = json!((5000.0 / factor).round());
        }
        edit(&mut run);
        let path = self.scratch.file(&format!("{label}-{}.json", self.minute));
        fs::write(&path, run.to_string()).unwrap();
        path
    }

    /// `count` pairs, taking turns in going first, with a spread of 1 %.
    fn pairs(&mut self, count: usize, b: f64) -> (Vec<String>, Vec<String>) {
        let noise = [1.004, 0.989, 1.013, 0.998, 1.009, 0.984, 1.006, 0.992, 1.012, 0.995];
        let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
        for (pair, noise) in noise.into_iter().cycle().take(count).enumerate() {
            if pair.is_multiple_of(2) {
                of_a.push(self.add("old", 1.0, |_| {}));
                of_b.push(self.add("new", b * noise, |_| {}));
            } else {
                of_b.push(self.add("new", b * noise, |_| {}));
                of_a.push(self.add("old", 1.0, |_| {}));
            }
        }
        (of_a, of_b)
    }
}

/// What was said on stdout and stderr, and the exit code.
fn compare(a: &[String], b: &[String], flags: &[&str]) -> (String, String, i32) {
    let mut args = vec!["compare"];
    args.extend(a.iter().map(String::as_str));
    if !b.is_empty() {
        args.push("--with");
        args.extend(b.iter().map(String::as_str));
    }
    args.extend(flags);
    let output = output(&args);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

/// The comparison as JSON; nothing else may be said.
fn json_of(a: &[String], b: &[String], flags: &[&str]) -> Value {
    let flags = [&["--json", "-", "-q"], flags].concat();
    let (told, wrong, code) = compare(a, b, &flags);
    assert_eq!((wrong.as_str(), code), ("", 0));
    serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}"))
}

fn codes(comparison: &Value) -> Vec<String> {
    let caveats = comparison["caveats"].as_array().unwrap();
    caveats.iter().map(|caveat| caveat["code"].as_str().unwrap().to_owned()).collect()
}

fn verdicts(comparison: &Value) -> Vec<&str> {
    comparison["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["verdict"]["is"].as_str().unwrap())
        .collect()
}

/// One line of text, without its line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn pairs_made_in_turn_are_judged() {
    let mut runs = Runs::new("pairs");
    let (a, b) = runs.pairs(10, 1.05);
    let (told, wrong, code) = compare(&a, &b, &[]);
    assert_eq!((wrong.as_str(), code), ("", 0));
    for words in [
        "A old, 10 runs B new, 10 runs 10 pairs, made in turn",
        "requests/s 20,000 21,003 1.050",
        "faster",
        "B is better in requests/s, p50, p90, p99 and CPU/request, and worse in none.",
    ] {
        assert!(flat(&told).contains(words), "{words}\nis not in\n{told}");
    }
    let comparison = json_of(&a, &b, &[]);
    assert_eq!(comparison["schema"], "thirst.compare/1");
    assert_eq!((&comparison["pairs"], &comparison["a"]["label"]), (&json!(10), &json!("old")));
    assert_eq!(verdicts(&comparison), ["faster", "faster", "faster", "faster", "lower"]);
    assert_eq!(codes(&comparison), [""; 0]);
    // The order of the files is nobody's business: the runs say when they were made.
    let (mut back_a, mut back_b) = (a.clone(), b.clone());
    back_a.reverse();
    back_b.rotate_left(3);
    assert_eq!(json_of(&back_a, &back_b, &[]), comparison);
    // A higher threshold calls the same difference negligible.
    let lenient = json_of(&a, &b, &["--threshold", "6%"]);
    assert_eq!(verdicts(&lenient), ["negligible"; 5]);
    assert_eq!(
        (&lenient["threshold_percent"], &lenient["overall"]["is"]),
        (&json!(6.0), &json!("negligible"))
    );
}

#[test]
fn two_single_runs_are_described_and_not_judged() {
    let mut runs = Runs::new("two");
    let two = [runs.add("old", 1.0, |_| {}), runs.add("new", 3.0, |_| {})];
    let (told, wrong, code) = compare(&two, &[], &[]);
    assert_eq!((wrong.as_str(), code), ("", 0));
    assert!(told.contains("two single runs: descriptive only") && told.contains("3.000"), "{told}");
    assert!(flat(&told).contains("the next two may differ the other way; a verdict needs 8 pairs"), "{told}");
    let comparison = json_of(&two[..1], &two[1..], &[]);
    assert_eq!(
        (verdicts(&comparison), &comparison["overall"]["is"]),
        (vec!["too_few"; 5], &json!("too_few"))
    );
    assert!(comparison["metrics"][0]["interval_95"].is_null());
}

#[test]
fn few_pairs_have_no_verdict() {
    let mut runs = Runs::new("few");
    let (a, b) = runs.pairs(7, 3.0);
    let comparison = json_of(&a, &b, &[]);
    assert_eq!((verdicts(&comparison), &comparison["pairs"]), (vec!["too_few"; 5], &json!(7)));
    assert_eq!(comparison["metrics"][0]["verdict"]["needed"], 8);
}

#[test]
fn runs_that_were_not_made_in_turn_are_labelled() {
    let mut runs = Runs::new("apart");
    let spread = [1.0, 1.01, 0.99, 1.004, 0.997];
    let a: Vec<String> = spread.iter().map(|factor| runs.add("old", *factor, |_| {})).collect();
    let b: Vec<String> = spread.iter().map(|factor| runs.add("new", 1.2 * factor, |_| {})).collect();
    let comparison = json_of(&a, &b, &[]);
    assert_eq!((verdicts(&comparison)[0], &comparison["pairs"]), ("faster", &Value::Null));
    assert_eq!(codes(&comparison), ["not-interleaved"]);
    let (told, _, _) = compare(&a, &b, &[]);
    assert!(
        flat(&told).contains(
            "A old, 5 runs B new, 5 runs not interleaved: a drift of the machine would look the same"
        )
    );
    // One fewer on either side, and it describes only.
    assert_eq!(verdicts(&json_of(&a[1..], &b, &[])), ["too_few"; 5]);
    assert_eq!(verdicts(&json_of(&a, &b[1..], &[])), ["too_few"; 5]);
    // As many of each, in turn but for the middle: A B B A is two pairs, A A B B is none.
    let mut runs = Runs::new("blocks");
    let mut add = |label: &str| runs.add(label, 1.0, |_| {});
    let four = [add("old"), add("old"), add("new"), add("new")];
    assert_eq!(json_of(&four[..2], &four[2..], &[])["pairs"], Value::Null);
    let four = [add("old"), add("new"), add("new"), add("old")];
    let (outer, inner) = ([four[0].clone(), four[3].clone()], &four[1..3]);
    assert_eq!(json_of(&outer, inner, &[])["pairs"], 2);
    // At the same instant nothing is in turn.
    let mut at_once = |label: &str| runs.add(label, 1.0, |run| run["started_unix_ms"] = json!(1));
    let (old, new) = (at_once("old"), at_once("new"));
    let comparison = json_of(&[old], &[new], &[]);
    assert_eq!(
        (&comparison["pairs"], codes(&comparison)),
        (&Value::Null, vec!["not-interleaved".into(), "overlap".into()])
    );
}

#[test]
fn what_speaks_against_the_runs_is_said() {
    let mut runs = Runs::new("caveats");
    let (mut a, b) = runs.pairs(9, 1.0);
    type Edit = fn(&mut Value);
    let cases: [(&str, Edit, &str); 8] = [
        (
            "at-least",
            |run| {
                run["verdict"] = json!({"grade": "SUSPECT", "at_least": true, "findings": [
                    {"grade": "SUSPECT", "code": "generator-full", "text": "", "mend": ""},
                    {"grade": "NOTE", "code": "same-host", "text": "", "mend": ""}]});
            },
            "thirst was the limit in 1 of 10 runs of A",
        ),
        (
            "suspect",
            |run| {
                run["verdict"] = json!({"grade": "SUSPECT", "at_least": false, "findings": [
                    {"grade": "SUSPECT", "code": "error-rate", "text": "", "mend": ""},
                    {"grade": "NOTE", "code": "same-host", "text": "", "mend": ""}]});
            },
            "SUSPECT: 1 of 10 runs of A (error-rate)",
        ),
        (
            "asked-within",
            |run| run["asked"]["connections"] = json!(77),
            "the runs of A were not all asked the same: connections (2, 77)",
        ),
        ("overlap", |run| run["elapsed_s"] = json!(61.0), "some runs overlap in time"),
        ("paced", |run| run["asked"]["load"] = json!("open"), "the load was paced"),
        (
            "thin-tail",
            |run| run["latency_us"]["last_byte"]["count"] = json!(999),
            "p99 of 1 of 20 runs has fewer than ten answers above it",
        ),
        ("versions", |run| run["thirst"] = json!("0.0.9"), "different versions of thirst: 0.0.9 and"),
        (
            "left-out",
            |run| run["cpu"]["server_us_per_request"] = Value::Null,
            "CPU/request is known of 9 of 10 runs of A and 10 of 10 of B",
        ),
    ];
    let last = runs.minute;
    for (code, edit, words) in cases {
        runs.minute = last;
        let mut b = b.clone();
        let tenth = runs.add("old", 1.0, edit);
        a.push(tenth.clone());
        b.push(runs.add("new", 1.0, |_| {}));
        let comparison = json_of(&a, &b, &[]);
        let all = codes(&comparison);
        assert!(all.iter().any(|found| found == code), "{code} is not in {all:?}");
        let text = comparison["caveats"].to_string();
        assert!(text.contains(words) && !text.contains("same-host"), "{code}: {words}\nis not in\n{text}");
        let expected = match code {
            // A run that was the limit is SUSPECT too, and a paced one was asked otherwise.
            "at-least" | "paced" => 2,
            _ => 1,
        };
        assert_eq!(all.len(), expected, "{code}: {all:?}");
        let (told, _, _) = compare(&a, &b, &[]);
        assert!(flat(&told).to_lowercase().contains(&words.to_lowercase()), "{code}: {told}");
        a.pop();
        fs::remove_file(tenth).unwrap();
    }
    // Between the sides only the URLs may differ.
    let mut runs = Runs::new("asked");
    let old = runs.add("old", 1.0, |_| {});
    let same = runs.add("new", 1.0, |run| run["asked"]["urls"] = json!(["http://other/"]));
    let other = runs.add("new", 1.0, |run| run["asked"]["connections"] = json!(8));
    assert_eq!(codes(&json_of(std::slice::from_ref(&old), &[same], &[])), [""; 0]);
    let comparison = json_of(&[old], &[other], &[]);
    assert_eq!(comparison["caveats"][0]["text"], "A and B were asked differently: connections (2, 8)");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let mut runs = Runs::new("refused");
    let (mut a, mut b) = runs.pairs(2, 1.0);
    let copy = runs.scratch.file("copy.json");
    fs::copy(&a[0], &copy).unwrap();
    let invalid = runs.add("bad", 1.0, |run| {
        run["verdict"] = json!({"grade": "INVALID", "at_least": false, "findings": [
            {"grade": "INVALID", "code": "no-responses", "text": "", "mend": ""}]});
    });
    let noise = runs.scratch.file("noise.json");
    fs::write(&noise, "{\"schema\":\"thirst.compare/1\"}").unwrap();
    let gone = runs.scratch.file("gone.json");
    for (name, words) in [
        (copy, "are the same run; a copy is no second sample"),
        (invalid, "the run is INVALID (no-responses): its numbers say nothing about the server"),
        (noise, "this thirst reads `thirst.run/1`"),
        (gone, "cannot read"),
    ] {
        for side in [0, 1] {
            let sides = [&mut a, &mut b];
            sides.into_iter().nth(side).unwrap().push(name.clone());
            let (told, wrong, code) = compare(&a, &b, &[]);
            assert_eq!((told.as_str(), code), ("", 1));
            assert!(
                wrong.starts_with("thirst: ") && wrong.contains(words) && wrong.contains(&name),
                "{wrong}"
            );
            if side == 0 {
                a.pop()
            } else {
                b.pop()
            };
        }
    }
    for (args, words) in
        [(&a[..1], "1 report and no --with"), (&[&a[..], &b[..1]].concat()[..], "3 reports and no --with")]
    {
        let (told, wrong, code) = compare(args, &[], &[]);
        assert_eq!((told.as_str(), code), ("", 1));
        assert!(wrong.contains(words), "{wrong}");
    }
    for flags in [&["--threshold", "2"][..], &["--threshold", "200%"], &["--with"]] {
        let (told, wrong, code) = compare(&a[..1], &[], flags);
        assert_eq!((told.as_str(), code), ("", 1), "{flags:?}");
        assert!(wrong.contains(flags[0]), "{wrong}");
    }
}

#[test]
fn where_the_text_and_the_json_go() {
    let mut runs = Runs::new("outputs");
    let two = [runs.add("old", 1.0, |_| {}), runs.add("new", 1.0, |_| {})];
    let file = runs.scratch.file("comparison.json");
    let (told, wrong, code) = compare(&two, &[], &["--json", &file]);
    assert_eq!((wrong.as_str(), code), ("", 0));
    assert!(told.contains("descriptive only"));
    let stored: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let (told, wrong, code) = compare(&two, &[], &["--json", "-"]);
    assert_eq!(code, 0);
    assert!(wrong.contains("descriptive only"), "{wrong}");
    assert_eq!(serde_json::from_str::<Value>(&told).unwrap(), stored);
    let (told, wrong, code) = compare(&two, &[], &["-q"]);
    assert_eq!((told.as_str(), wrong.as_str(), code), ("", "", 0));
    let (_, wrong, code) = compare(&two, &[], &["--json", &runs.scratch.file("no/such/folder")]);
    assert!(code == 1 && wrong.contains("cannot write"), "{wrong}");
}
