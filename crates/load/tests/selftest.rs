//! `thirst selftest` through the real binary, and the finding that rests on a calibration.
//!
//! These hold the instrument against a real server of known behaviour, on whatever machine they run; what is asked of it here
//! is wide enough for a busy one, and far from what an instrument that waits with its server would say.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{Server, number, ok, output, run};

/// One after the other: each wants the cores for itself.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The numbers of a row of a table, in its own units.
fn row<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let line =
        text.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_else(|| panic!("{text}"));
    line.trim_start()[name.len()..].split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

/// A time as people read it, in seconds.
fn seconds(cell: &str) -> f64 {
    let (number, unit) = cell.split_once(' ').unwrap();
    let factor = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "µs" => 1e-6,
        other => panic!("{other}"),
    };
    number.parse::<f64>().unwrap() * factor
}

#[test]
fn a_server_that_stalls_is_seen() {
    let _alone = alone();
    let output = output(&["selftest", "--stall"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let p99: Vec<f64> = row(&text, "99th percentile").into_iter().map(seconds).collect();
    // Of 2,000 requests 500 come while nothing is answered for a second: the 20th longest wait is 0.96 s.
    assert!((0.8..1.2).contains(&p99[0]), "{text}");
    // Ten connections lose one request each, of thousands.
    assert!(p99[1] < 0.1, "{text}");
    assert_eq!(row(&text, "requests")[0], "2,000", "{text}");
    let waited: Vec<f64> =
        row(&text, "waited 100 ms or more").into_iter().map(|cell| cell.parse().unwrap()).collect();
    assert!((400.0..520.0).contains(&waited[0]) && waited[1] <= 20.0, "{text}");
    assert!(text.contains("PASS  the 500 that fell into it waited 0."), "{text}");
    assert_eq!((output.status.code(), text.contains("FAIL")), (Some(0), false), "{text}");
}

#[test]
fn what_the_instrument_adds_is_told() {
    let _alone = alone();
    let output = output(&["selftest"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let reported: Vec<f64> = row(&text, "reported time").into_iter().map(seconds).collect();
    // The server waits 2 ms: less cannot be, and far more is no answer of its own.
    assert!((0.002..0.004).contains(&reported[0]), "{text}");
    assert!(reported[0] <= reported[1] && reported[1] <= reported[2], "{text}");
    assert!(text.contains("PASS  1,000 of 1,000 requests were sent and answered"), "{text}");
    // Whether it is punctual depends on who else is here; the exit code says what the lines say.
    assert_eq!(output.status.code(), Some(if text.contains("FAIL") { 5 } else { 0 }), "{text}");
}

#[test]
fn a_rate_beyond_the_generator_is_found_out_before_the_run() {
    let _alone = alone();
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return;
    }
    let server = Server::canned(ok("hello", ""));
    let asked = ["--rate", "5M", "-c", "20", "-t", "1", "-d", "5s", "--timeout", "2s"];
    let (json, _) = run(&[&[server.url("/").as_str()], &asked[..]].concat());
    let ceiling = number(&json, "/calibrated_per_s");
    assert!((1_000.0..5e6).contains(&ceiling), "{ceiling}");
    let findings = json["verdict"]["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["code"] == "generator-ceiling").unwrap();
    assert_eq!(found["grade"], "SUSPECT");
    assert!(found["text"].as_str().unwrap().starts_with("5,000,000 requests/s were asked for, "), "{found}");
    // A run of this length is not worth it, nor is one whose author says so.
    for flags in [&["-d", "1s"][..], &["-n", "50"], &["-d", "5s", "--no-calibrate"]] {
        let (json, _) = run(&[&[server.url("/").as_str()], flags].concat());
        assert!(json.get("calibrated_per_s").is_none(), "{flags:?}");
    }
}

#[test]
fn what_this_machine_has_none_left_of_is_not_the_servers_fault() {
    let server = Server::canned(ok("hello", ""));
    let run = format!(
        "ulimit -n 40; exec {} run {} -c 100 -t 1 -d 500ms --json - -q",
        env!("CARGO_BIN_EXE_thirst"),
        server.url("/")
    );
    let output = std::process::Command::new("bash").args(["-c", &run]).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = json["verdict"]["findings"].as_array().unwrap();
    let codes: Vec<&str> = findings.iter().map(|finding| finding["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"no-files") && !codes.contains(&"server-lost"), "{json}");
    let found = findings.iter().find(|finding| finding["code"] == "no-files").unwrap();
    assert!(found["mend"].as_str().unwrap().contains("ulimit -n"), "{found}");
}
