//! `thirst run --search` through the real binary: a server whose capacity is known finds out whether it is found.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use common::{After, Scratch, Server, number, ok, output, run, thirst};
use serde_json::Value;

/// Answers one request after the other, each in a millisecond or more: never more than 1,000 a second.
fn one_at_a_time() -> Server {
    let lock = Mutex::new(());
    Server::start(move |stream, _| {
        let turn = lock.lock().unwrap();
        thread::sleep(Duration::from_millis(1));
        drop(turn);
        stream.write_all(ok("hello", "").as_bytes()).unwrap();
        After::Keep
    })
}

fn probes(json: &Value) -> Vec<(f64, String)> {
    let probes = json["search"]["probes"].as_array().unwrap();
    probes
        .iter()
        .map(|probe| (probe["rate"].as_f64().unwrap(), probe["outcome"].as_str().unwrap().to_owned()))
        .collect()
}

#[test]
fn a_known_capacity_is_found() {
    let server = one_at_a_time();
    let flags = ["-d", "1s", "--warmup", "200ms", "-R", "100", "-c", "100", "-t", "1"];
    let rules = ["--search", "p99<50ms", "--search", "errors<1%"];
    let (json, code) = run(&[&[server.url("/").as_str()], &flags[..], &rules[..]].concat());
    assert_eq!(code, 0, "{json}");
    let capacity = number(&json, "/search/capacity_per_s");
    // It cannot do more than 1,000, but a second is short enough to hide a few that wait; busy machines make it do less.
    assert!((200.0..1_100.0).contains(&capacity), "{json}");
    let (first, all) = (probes(&json)[0].clone(), probes(&json));
    assert_eq!(first, (100.0, "held".to_owned()));
    assert!(all.iter().any(|(_, outcome)| outcome == "failed"), "{all:?}");
    // The report is that of the run that confirms it, the probes are its steps.
    assert_eq!(
        (number(&json, "/asked/open/rate"), all.last().unwrap()),
        (capacity, &(capacity, "held".into()))
    );
    assert_eq!(json["search"]["rules"], serde_json::json!(["p99<50ms", "errors<1%"]));
    let mut rates: Vec<f64> = all.iter().map(|(rate, _)| *rate).collect();
    rates.sort_by(f64::total_cmp);
    let steps = json["steps"].as_array().unwrap();
    let levels: Vec<f64> = steps.iter().map(|step| step["level"].as_f64().unwrap()).collect();
    assert_eq!(levels, rates);
    for step in steps {
        let level = step["level"].as_f64().unwrap();
        let held_p99 = step["response"]["p99"].as_f64().unwrap() < 50_000.0;
        // A failure is believed when it is seen twice: a machine with other work fails one that holds the next time.
        let again = levels.iter().filter(|other| **other == level).count() > 1;
        assert!(held_p99 || again || level >= capacity, "{step}");
    }
    let result = json["search"]["result"].as_str().unwrap();
    assert!(result.starts_with("Capacity: "), "{json}");
    // Read back, it is drawn as the curve of load that it is, and its rate is not said to be that of all steps.
    let scratch = Scratch::new("search");
    let (stored, page) = (scratch.file("run.json"), scratch.file("page.html"));
    std::fs::write(&stored, json.to_string()).unwrap();
    assert!(output(&["report", &stored, "--html", &page]).status.success());
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(
        html.contains("requests per second asked for") && html.contains(&result.replace('<', "&lt;")),
        "{result}"
    );
}

#[test]
fn rules_that_never_hold_have_no_capacity() {
    let server = Server::canned(ok("hello", ""));
    let url = server.url("/");
    let args = ["run", &url, "-d", "200ms", "--warmup", "50ms", "--search", "p50<1us", "--json", "-"];
    let output = output(&args);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), &json["search"]["capacity_per_s"]), (Some(4), &Value::Null), "{text}");
    // Down to a hundredth of the first rate, each failure twice.
    let rates: Vec<f64> = probes(&json).into_iter().map(|(rate, _)| rate).collect();
    assert_eq!((rates[..4].to_vec(), rates.last()), (vec![100.0, 100.0, 50.0, 50.0], Some(&1.0)));
    assert!(
        text.contains("Search for the highest rate with p50<1us") && !text.contains("over all steps"),
        "{text}"
    );
    assert!(text.contains("No capacity: even at 1.0 requests/s not p50<1us: it is "), "{text}");
}

#[test]
fn a_server_that_dies_ends_the_search_with_what_it_could_do() {
    let server = Server::canned(ok("hello", ""));
    let url = server.url("/");
    let args =
        ["run", &url, "-d", "300ms", "--warmup", "50ms", "--search", "errors<1%", "-R", "50", "-t", "1"];
    let mut child = thirst(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let held: Vec<String> = said.by_ref().take(2).map(Result::unwrap).collect();
    assert!(held[1].contains("100/s") && held[1].contains("held"), "{held:?}");
    // No more connections are taken, and those there are belong to runs that end.
    drop(server);
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    let _ = said.count();
    let code = child.wait().unwrap().code();
    let best = ["50", "100", "200", "400"]
        .iter()
        .any(|rate| text.contains(&format!("errors<1% held at {rate} requests/s.")));
    assert!(best && text.contains("Ended early (at ") && text.contains("is the server running"), "{text}");
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn ctrl_c_ends_the_search_with_what_there_is() {
    let server = one_at_a_time();
    let url = server.url("/");
    let args = ["run", &url, "-d", "1s", "--warmup", "100ms", "--search", "p99<9s", "-R", "50"];
    let mut child = thirst(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = said.next().unwrap().unwrap();
    assert!(first.contains("50/s") && first.contains("held"), "{first}");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{text}");
    // The signal may come a probe later where others work.
    let best = ["50", "100", "200"];
    let ended =
        |rate: &&str| text.contains(&format!("Ended early (Ctrl-C): p99<9s held at {rate} requests/s."));
    assert!(best.iter().any(ended), "{text}");
}

#[test]
fn what_contradicts_a_search_is_refused() {
    for flags in [&["-n", "5"][..], &["--steps", "1k,2k@1s"], &["--until", "p99>1s"], &["--think", "1s"]] {
        let output = output(&[&["run", "http://127.0.0.1:9/", "--search", "p99<50ms"], flags].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && said.contains("cannot be used with"), "{said}");
    }
}
