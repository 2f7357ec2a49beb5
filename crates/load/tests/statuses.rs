//! Which statuses are failures, against the real binary: 400 and above, unless they are expected.
//!
//! Not here: what else `--expect` looks at (`clients.rs`), and scenarios as such (`wcat.rs`).

#![allow(clippy::unwrap_used, reason = "a test may stop at its first surprise")]

mod common;

use std::io::Write;

use common::{After, Scratch, Server, number, ok, output, run};
use serde_json::Value;

/// Every `every`th response has this status, the others have 200.
fn sometimes(status: u16, every: u64) -> Server {
    Server::start(move |stream, seen| {
        let response = match seen.number % every {
            0 => format!("HTTP/1.1 {status} Not so\r\nContent-Length: 2\r\n\r\nno"),
            _ => ok("hello", ""),
        };
        stream.write_all(response.as_bytes()).unwrap();
        After::Keep
    })
}

fn verdict(json: &Value) -> (&str, &str) {
    let code = json.pointer("/verdict/findings/0/code").and_then(Value::as_str).unwrap_or_default();
    (json.pointer("/verdict/grade").and_then(Value::as_str).unwrap_or_default(), code)
}

#[test]
fn nothing_but_404_is_no_measurement() {
    let server = sometimes(404, 1);
    let (json, code) = run(&[&server.url("/gone"), "-n", "60", "-c", "2", "--fail-if", "errors>0"]);
    assert_eq!((verdict(&json), code), (("INVALID", "error-status"), 3), "{json}");
    let of = |name: &str| number(&json, name);
    assert_eq!((of("/responses"), of("/errors/requests"), of("/errors/kinds/status")), (0.0, 60.0, 60.0));
    assert_eq!(
        (of("/statuses/404"), of("/requests_per_s")),
        (60.0, 0.0),
        "the status is counted, the rate is not"
    );
    let said = json.pointer("/errors/samples/status").unwrap().to_string();
    assert!(said.contains("/gone: the status is 404; --expect status=404 takes it"), "{said}");
    let text = output(&["run", &server.url("/"), "-n", "60", "-c", "2"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("\n  Failed requests       60 of 60 (100.0 %): status 60\n"), "{text}");
}

#[test]
fn one_in_ten_of_503_is_seen_by_verdict_rule_and_headline() {
    let server = sometimes(503, 10);
    let flags = ["-n", "200", "-c", "1", "--fail-if", "errors>0"];
    let (json, code) = run(&[&[server.url("/").as_str()], &flags[..]].concat());
    assert_eq!((verdict(&json), code), (("SUSPECT", "error-status"), 4), "{json}");
    assert_eq!((number(&json, "/responses"), number(&json, "/errors/requests")), (180.0, 20.0));
    // The times are those of the responses that are right, and so is the series.
    assert_eq!(number(&json, "/latency_us/last_byte/count"), 180.0);
    let points = json.pointer("/series/points").and_then(Value::as_array).unwrap();
    let sum = |name: &str| points.iter().map(|point| number(point, name)).sum::<f64>();
    assert_eq!((sum("/responses"), sum("/errors")), (180.0, 20.0));
}

#[test]
fn a_status_that_is_expected_is_right() {
    let server = sometimes(404, 2);
    for (expect, errors) in [
        ("status<500", 0.0),
        ("status!=500", 0.0),
        ("status=404", 50.0),
        ("status=200", 50.0),
        // Whoever says what bodies are like does not mean error pages.
        ("size>0", 50.0),
    ] {
        let (json, _) = run(&[&server.url("/"), "-n", "100", "-c", "1", "--expect", expect]);
        assert_eq!(number(&json, "/errors/requests"), errors, "{expect}: {json}");
    }
    let (json, code) = run(&[&sometimes(404, 1).url("/"), "-n", "100", "--expect", "status=404"]);
    let bad = json.pointer("/verdict/findings").unwrap().to_string();
    assert_eq!((code, bad.contains("error-")), (0, false), "{json}");
}

#[test]
fn a_scenario_says_itself_which_status_is_right() {
    let (scratch, server) = (Scratch::new("statuses"), sometimes(404, 1));
    let address = server.address.to_string();
    let errors = |name: &str, text: &str, flags: &[&str]| {
        let path = scratch.file(name);
        std::fs::write(&path, text).unwrap();
        let (json, _) = run(&[&[path.as_str(), "-s", &address, "-n", "20", "-c", "1"], flags].concat());
        number(&json, "/errors/requests")
    };
    let ubr = |statuscode: &str| {
        format!("scenario {{ transaction {{ id = \"t\"; request {{ url = \"/\"; {statuscode} }} }} }}\n")
    };
    let meant = ["--expect", "status=404"];
    assert_eq!(errors("a.ubr", &ubr("statuscode = 404;"), &[]), 0.0);
    // WCAT expects 200 where its file names no status, and --expect takes nothing from a file.
    assert_eq!(errors("b.ubr", &ubr("statuscode = 200;"), &meant), 20.0);
    assert_eq!(errors("c.ubr", &ubr(""), &meant), 20.0);
    // A plan that names none takes what is below 400, or what the command line names.
    let plan = "[[round]]\nsteps = [\"/\"]\n";
    assert_eq!(errors("d.toml", plan, &[]), 20.0);
    assert_eq!(errors("d.toml", plan, &meant), 0.0);
}

#[test]
fn a_comparison_of_error_pages_has_to_be_meant() {
    let server = sometimes(404, 1);
    let (one, two) = (server.url("/one"), server.url("/two"));
    let compare = |flags: &[&str]| {
        let fixed = ["compare", "--live", &one, &two, "--pairs", "2", "-d", "200ms", "--no-calibrate"];
        let made = output(&[&fixed[..], flags].concat());
        (made.status.code(), String::from_utf8_lossy(&made.stderr).into_owned())
    };
    let (code, said) = compare(&[]);
    assert!(code == Some(1) && said.contains("INVALID, and the pair left out"), "{said}");
    let (code, said) = compare(&["--expect", "status=404"]);
    assert_eq!(code, Some(0), "{said}");
}
