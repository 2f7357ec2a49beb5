//! `thirst compare --live` through the real binary: two servers of this test, asked in turn.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{After, Scratch, Server, ok, output, thirst};
use serde_json::Value;

/// Answers after a delay.
fn slow(delay_us: u64) -> Server {
    Server::start(move |stream, _| {
        thread::sleep(Duration::from_micros(delay_us));
        stream.write_all(ok("hello", "").as_bytes()).unwrap();
        After::Keep
    })
}

/// The comparison as JSON, and what was said meanwhile.
fn compare(a: &Server, b: &Server, flags: &[&str]) -> (Value, String) {
    let (a, b) = (a.url("/"), b.url("/"));
    let args = [&["compare", "--live", &a, &b, "--json", "-"], flags].concat();
    let output = output(&args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    (serde_json::from_slice(&output.stdout).unwrap(), said)
}

fn verdict<'c>(comparison: &'c Value, metric: &str) -> &'c str {
    let rows = comparison["metrics"].as_array().unwrap();
    let row = rows.iter().find(|row| row["metric"] == metric).unwrap();
    row["verdict"]["is"].as_str().unwrap()
}

/// The same with nine digits: the last bit of a number may be lost on the way through a file.
fn rounded(value: Value) -> Value {
    match value {
        Value::Number(number) => format!("{:.9e}", number.as_f64().unwrap()).into(),
        Value::Array(all) => all.into_iter().map(rounded).collect(),
        Value::Object(all) => all.into_iter().map(|(name, value)| (name, rounded(value))).collect(),
        other => other,
    }
}

fn codes(comparison: &Value) -> BTreeSet<&str> {
    comparison["caveats"].as_array().unwrap().iter().map(|caveat| caveat["code"].as_str().unwrap()).collect()
}

#[test]
fn a_server_that_takes_longer_is_found() {
    // Thirty times as long: a machine with other work adds many milliseconds to each. How small a difference is found on a quiet
    // one is held by trials of chance (`compare/trials.rs`).
    let (a, b) = (slow(3_000), slow(100_000));
    let (comparison, said) = compare(&a, &b, &["-c", "2", "-t", "1", "-d", "300ms", "--pairs", "10"]);
    assert_eq!(verdict(&comparison, "p50_us"), "slower", "{comparison}");
    assert_eq!(verdict(&comparison, "requests_per_s"), "slower", "{comparison}");
    assert_eq!((comparison["schema"].as_str(), &comparison["pairs"]), (Some("thirst.compare/1"), &10.into()));
    assert_eq!(comparison["a"]["label"].as_str().unwrap(), a.url("/"));
    assert!(said.contains("pair  1 of 10  ") && said.contains("pair 10 of 10  "), "{said}");
    assert!(said.contains("p50: "), "the text goes where the JSON does not: {said}");
}

#[test]
fn two_of_a_kind_are_not_flagged() {
    let (a, b) = (slow(3_000), slow(3_000));
    let kept = Scratch::new("live-kept");
    let directory = kept.file("runs");
    // Machines that run tests are noisy, and one comparison in twenty may err; by a fifth it does not.
    let flags =
        ["-c", "2", "-t", "1", "-d", "300ms", "--pairs", "8", "--threshold", "20%", "--save", &directory];
    let (comparison, _) = compare(&a, &b, &flags);
    for metric in ["p50_us", "requests_per_s"] {
        assert!(["no_difference_seen", "negligible"].contains(&verdict(&comparison, metric)), "{comparison}");
    }
    // What was kept is what was compared, and gives the same again.
    let files = |letter: char| (1..=8).map(move |number| format!("{letter}-{number:02}.json"));
    let listed: BTreeSet<String> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(listed, files('a').chain(files('b')).collect());
    let path = |name: String| format!("{directory}/{name}");
    let mut again: Vec<String> = vec!["compare".into()];
    again.extend(files('a').map(path));
    again.push("--with".into());
    again.extend(files('b').map(path));
    again.extend(["--threshold", "20%", "--json", "-", "-q"].map(String::from));
    let again = output(&again.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(rounded(serde_json::from_slice(&again.stdout).unwrap()), rounded(comparison));
    // Both went first equally often.
    let started = |name: String| {
        let run: Value = serde_json::from_str(&std::fs::read_to_string(path(name)).unwrap()).unwrap();
        run["started_unix_ms"].as_u64().unwrap()
    };
    let a_first = files('a').zip(files('b')).filter(|(a, b)| started(a.clone()) < started(b.clone())).count();
    assert_eq!(a_first, 4);
}

#[test]
fn a_pair_with_a_run_that_says_nothing_is_left_out() {
    let a = slow(0);
    // The second run of B sees a server that closes instead of answering.
    let b = Server::start(|stream, seen| {
        if (20..40).contains(&seen.number) {
            return After::Close;
        }
        stream.write_all(ok("hello", "").as_bytes()).unwrap();
        After::Keep
    });
    let scratch = Scratch::new("live-left-out");
    let directory = scratch.file("runs");
    let (comparison, said) = compare(&a, &b, &["-n", "20", "-c", "1", "--pairs", "3", "--save", &directory]);
    assert_eq!(comparison["pairs"], 2, "{comparison}");
    assert!(codes(&comparison).contains("pairs-left-out"), "{comparison}");
    assert!(said.contains("INVALID, and the pair left out: no request of 20 was answered"), "{said}");
    let kept = std::fs::read_dir(&directory).unwrap().count();
    assert!(std::fs::exists(format!("{directory}/left-out-b-02.json")).unwrap(), "{kept} files");
    // And where all are, there is nothing to compare.
    let none = Server::start(|_, _| After::Close);
    let output = output(&["compare", "--live", &a.url("/"), &none.url("/"), "-n", "20", "--pairs", "2"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.ends_with("thirst: no pair of runs is left to be compared: in each a run was INVALID\n"),
        "{said}"
    );
}

#[test]
fn ctrl_c_ends_after_the_present_run_and_compares_what_there_is() {
    let server = slow(0);
    let url = server.url("/");
    let args = ["compare", "--live", &url, &url, "-d", "300ms", "--pairs", "50"];
    let mut child = thirst(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    for line in lines.by_ref() {
        if line.unwrap().contains("pair  3 of 50") {
            break;
        }
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let mut told = String::new();
    child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{rest:?}");
    // The run that was going on, and no more; where others work, the signal may come before it begins, or a pair later.
    assert!(rest.len() <= 4, "{rest:?}");
    // Five runs were told of before.
    let pairs = (5 + rest.len()) / 2;
    assert!(told.contains(&format!("Ended after {pairs} of 50 pairs: Ctrl-C.")), "{told}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let url = "http://127.0.0.1:9/";
    let scratch = Scratch::new("live-refused");
    std::fs::write(scratch.file("old.json"), "{}").unwrap();
    let full = scratch.0.display().to_string();
    for (args, words) in [
        (&["--live", url][..], "2"),
        (&["--live", url, url, "a.json"], "cannot be used with"),
        (&["--live", url, url, "--with", "a.json"], "cannot be used with"),
        (&["a.json", "b.json", "--pairs", "3"], "cannot be used with"),
        (&["a.json", "b.json", "-c", "3"], "cannot be used with"),
        (&["a.json", "b.json", "-H", "a: b"], "cannot be used with"),
        (&["a.json", "b.json", "-k"], "cannot be used with"),
        (&["--live", url, url, "--steps", "1k,2k@1s"], "one level of load"),
        (&["--live", url, url, "--until", "errors>1%"], "one level of load"),
        (&["--live", url, url, "--save", &full], "is not empty"),
        (&["--live", url, url, "--pairs", "0"], "--pairs"),
        (&["--live", url, url, "-d", "1s"], "cannot connect"),
    ] {
        let output = output(&[&["compare"], args].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
    }
}
