//! A generator that stands still says so: it is stopped in the middle of a run, as a machine that is overloaded stops it.
//!
//! What is asked for here comes from the signal alone; nothing of the instrument judges it. Not here: servers that stand still
//! (`selftest.rs`).

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at its first surprise")]

mod common;

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{Scratch, Server, number, ok};
use serde_json::Value;

/// A run of which the process is stopped for 300 ms, so many times, each when the server has seen it at work; its report.
fn stopped(name: &str, times: u64, flags: &[&str]) -> Value {
    let scratch = Scratch::new(name);
    let file = scratch.file("run.json");
    let server = Server::canned(ok("x", ""));
    let mut child = Command::new(env!("CARGO_BIN_EXE_thirst"))
        .args(["run", &server.url("/"), "-t", "1", "-d", "2s", "--no-counters", "-q", "--json", &file])
        .args(flags)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
    };
    for time in 1..=times {
        while server.seen() < time * 200 {
            thread::sleep(Duration::from_millis(1));
        }
        signal("-STOP");
        thread::sleep(Duration::from_millis(300));
        signal("-CONT");
    }
    assert!(child.wait().unwrap().code().is_some());
    serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap()
}

fn codes(run: &Value) -> Vec<String> {
    let findings = run["verdict"]["findings"].as_array().unwrap();
    findings
        .iter()
        .filter(|finding| finding["grade"] == "SUSPECT")
        .map(|finding| finding["code"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn in_an_open_loop_requests_go_out_late_and_it_is_said_whose_fault_it_is() {
    // The first time connections have to be made for what is late; the second time they stand ready, and all of the delay is ours.
    let run = stopped("pause-open", 2, &["-R", "400", "-c", "2000"]);
    let codes = codes(&run);
    assert!(codes.contains(&"send-lag".to_owned()), "{}", run["verdict"]);
    assert!(codes.contains(&"loop-gap".to_owned()), "{}", run["verdict"]);
    // 240 of 800 requests fell into the two: the 90th percentile shows it.
    assert!(number(&run, "/latency_us/own_lag/p99") > 100_000.0);
    assert!(number(&run, "/latency_us/response/p90") > 100_000.0);
}

#[test]
fn in_a_closed_loop_the_gap_is_found_though_hardly_a_request_fell_into_it() {
    let run = stopped("pause-closed", 1, &["-c", "2", "--think", "5ms"]);
    assert!(codes(&run).contains(&"loop-gap".to_owned()), "{}", run["verdict"]);
    let longest = run["cpu"]["generator"][0]["longest_turn_us"].as_f64().unwrap();
    assert!((150_000.0..2_000_000.0).contains(&longest), "{longest}");
}
