//! A run that is made again from its own file: with its files, its load and its seed, and without its secrets.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod common;

use common::{Scratch, Server, number, ok, output};

fn json(path: &str) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_run_of_a_list_of_urls_is_made_again_though_the_list_is_gone() {
    let scratch = Scratch::new("rerun-urls");
    let server = Server::canned(ok("x", ""));
    let (list, body, first, second) =
        (scratch.file("urls"), scratch.file("body"), scratch.file("first.json"), scratch.file("second.json"));
    std::fs::write(&list, "5 /a\n1 /b\n").unwrap();
    std::fs::write(&body, b"\x00\xff%41 body").unwrap();
    let run = output(&[
        "run",
        &server.url("/"),
        "--urls",
        &list,
        "--pick",
        "weights",
        "-b",
        &format!("@{body}"),
        "-n",
        "60",
        "-c",
        "2",
        "-H",
        "Authorization: Bearer secret",
        "--seed",
        "7",
        "--json",
        &first,
    ]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let paths = server.paths.lock().unwrap().clone();
    let text = std::fs::read_to_string(&first).unwrap();
    assert!(!text.contains("secret"), "{text}");
    let bundle = &json(&first)["bundle"];
    assert!(bundle["host"]["system"].as_str().unwrap().starts_with("Linux "), "{bundle}");
    std::fs::remove_file(&list).unwrap();
    std::fs::remove_file(&body).unwrap();
    let without = output(&["rerun", &first]);
    assert_eq!(without.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&without.stderr).contains("give it anew: -H 'Authorization: …'"));
    server.paths.lock().unwrap().clear();
    let again = output(&["rerun", &first, "-H", "Authorization: Bearer secret", "--json", &second]);
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    let again = json(&second);
    assert_eq!((number(&again, "/requests"), number(&again, "/asked/connections")), (60.0, 2.0));
    assert_eq!(number(&again, "/bytes/written"), number(&json(&first), "/bytes/written"));
    // The same seed draws the same, client by client; how the clients take turns is the machine's.
    let count = |paths: &[String], wanted: &str| paths.iter().filter(|path| *path == wanted).count();
    let now = server.paths.lock().unwrap().clone();
    assert!(count(&paths, "/a") > count(&paths, "/b") && count(&now, "/a") > count(&now, "/b"));
}

#[test]
fn flags_behind_those_of_then_replace_them_and_reports_of_then_stay() {
    let scratch = Scratch::new("rerun-flags");
    let server = Server::canned(ok("x", ""));
    let (first, second, log) =
        (scratch.file("first.json"), scratch.file("second.json"), scratch.file("log.xml"));
    let then =
        ["-n", "20", "-c", "2", "--label", "then", "--no-counters", "-q", "--xml5", &log, "--json", &first];
    let run = output(&[&["run", &server.url("/")], &then[..]].concat());
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    std::fs::write(&log, "of then").unwrap();
    let now = ["-n", "30", "-c", "3", "--label", "now", "--no-counters", "-q", "--json", &second];
    let again = output(&[&["rerun", &first], &now[..]].concat());
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    let again = json(&second);
    assert_eq!((number(&again, "/requests"), number(&again, "/asked/connections")), (30.0, 3.0));
    assert_eq!(again["label"], "now");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "of then");
}

#[test]
fn a_secret_among_short_flags_is_kept_out_and_given_anew() {
    let scratch = Scratch::new("rerun-secret");
    let server = Server::canned(ok("x", ""));
    let (first, second) = (scratch.file("first.json"), scratch.file("second.json"));
    for then in [&["-kqHCookie: s3cret"][..], &["-kqH", "Cookie: s3cret"]] {
        let run = output(&[&["run", &server.url("/"), "-n", "3", "--json", &first], then].concat());
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        assert!(!std::fs::read_to_string(&first).unwrap().contains("s3cret"));
        let without = output(&["rerun", &first]);
        assert!(String::from_utf8_lossy(&without.stderr).contains("give it anew: -H 'Cookie: …'"));
        let again = output(&["rerun", &first, "-HCookie: s3cret", "--json", &second]);
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
        assert!(again.stdout.is_empty(), "the q beside the field stays");
        assert_eq!(number(&json(&second), "/bytes/written"), number(&json(&first), "/bytes/written"));
    }
}

#[test]
fn a_body_is_found_however_its_flag_was_written() {
    let scratch = Scratch::new("rerun-body");
    let server = Server::canned(ok("x", ""));
    let (body, first, second) =
        (scratch.file("body"), scratch.file("first.json"), scratch.file("second.json"));
    for flag in ["-b@", "-b=@", "--body=@"] {
        std::fs::write(&body, "hello").unwrap();
        let run =
            output(&["run", &server.url("/"), &format!("{flag}{body}"), "-n", "3", "-q", "--json", &first]);
        assert!(run.status.success(), "{flag}: {}", String::from_utf8_lossy(&run.stderr));
        std::fs::remove_file(&body).unwrap();
        let again = output(&["rerun", &first, "--json", &second]);
        assert!(again.status.success(), "{flag}: {}", String::from_utf8_lossy(&again.stderr));
        assert_eq!(
            number(&json(&second), "/bytes/written"),
            number(&json(&first), "/bytes/written"),
            "{flag}"
        );
    }
}

#[test]
fn a_run_by_wcats_commands_is_made_again() {
    let scratch = Scratch::new("rerun-wcat");
    let server = Server::canned(ok("x", ""));
    std::fs::create_dir(scratch.file("sub")).unwrap();
    let (scenario, body, first, second) = (
        scratch.file("a.ubr"),
        scratch.file("sub/body.txt"),
        scratch.file("first.json"),
        scratch.file("second.json"),
    );
    let text = "scenario { duration = 1; transaction { request { url = \"/p\"; verb = POST; postdata = <sub\\body.txt>; } } }";
    std::fs::write(&scenario, text).unwrap();
    std::fs::write(&body, "hello").unwrap();
    let address = server.address.to_string();
    let script = output(&["wcat.wsf", "-run", "-t", &scenario, "-s", &address, "-v", "3", "-json", &first]);
    assert!(script.status.success(), "{}", String::from_utf8_lossy(&script.stderr));
    let direct = output(&["run", &scenario, "-s", &address, "-c", "3", "-d", "300ms", "--json", &second]);
    assert!(direct.status.success(), "{}", String::from_utf8_lossy(&direct.stderr));
    std::fs::remove_file(&scenario).unwrap();
    std::fs::remove_file(&body).unwrap();
    for (stored, flag) in [(&first, "-json"), (&second, "--json")] {
        let third = scratch.file("third.json");
        let again = output(&["rerun", stored, flag, &third]);
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
        let again = json(&third);
        assert!(number(&again, "/responses") > 0.0);
        assert_eq!(number(&again, "/asked/connections"), 3.0);
    }
}

#[test]
fn what_is_said_again_takes_the_place_of_what_was_said() {
    let scratch = Scratch::new("rerun-flags");
    let server = Server::canned(ok("x", ""));
    let (first, second, log) =
        (scratch.file("first.json"), scratch.file("second.json"), scratch.file("log.xml"));
    let run = output(&[
        "run",
        &server.url("/"),
        "-d",
        "300ms",
        "-c",
        "2",
        "--label",
        "then",
        "-q",
        "--xml5",
        &log,
        "--json",
        &first,
    ]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    std::fs::remove_file(&log).unwrap();
    let again = output(&["rerun", &first, "-d", "200ms", "-c", "3", "--label", "now", "--json", &second]);
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    let now = json(&second);
    assert_eq!((number(&now, "/asked/duration_s"), number(&now, "/asked/connections")), (0.2, 3.0));
    assert_eq!(now["label"], "now");
    assert!(!again.stdout.is_empty(), "who wanted no report then may want one now");
    assert!(
        !std::path::Path::new(&log).exists(),
        "where the reports of then went is no place for those of now"
    );
}

#[test]
fn a_run_by_wcats_commands_takes_wcats_flags() {
    let scratch = Scratch::new("rerun-wcat-flags");
    let server = Server::canned(ok("x", ""));
    let (scenario, first, second) =
        (scratch.file("a.ubr"), scratch.file("first.json"), scratch.file("second.json"));
    std::fs::write(&scenario, "scenario { transaction { request { url = \"/p\"; } } }").unwrap();
    let address = server.address.to_string();
    let run = ["wcat.wsf", "-run", "-t", &scenario, "-s", &address, "-u", "1", "-v", "3", "-json", &first];
    assert!(output(&run).status.success());
    let page = Server::canned(ok("samovar_requests_total 7\n", "Content-Type: text/plain\r\n"));
    let metrics = page.url("/metrics");
    let again = ["rerun", &first, "-u", "2", "-v", "5", "-k", "now", "-metrics", &metrics, "-json", &second];
    let again = output(&again);
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    let now = json(&second);
    assert_eq!((number(&now, "/asked/duration_s"), number(&now, "/asked/connections")), (2.0, 5.0));
    assert_eq!(now["label"], "now");
    let series = now["counters"]["series"].as_array().unwrap();
    assert!(series.iter().any(|one| one["source"] == metrics.as_str()), "{}", now["counters"]);
    let other = output(&["rerun", &first, "-t", &scenario]);
    assert_eq!(other.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&other.stderr).contains("the files of then"));
}

#[test]
fn what_cannot_be_made_again_says_so() {
    let scratch = Scratch::new("rerun-no");
    let file = scratch.file("x.json");
    std::fs::write(&file, "{}").unwrap();
    let run = output(&["rerun", &file]);
    assert_eq!(run.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&run.stderr).contains("not a report of thirst"));
    assert_eq!(output(&["rerun", &scratch.file("none.json")]).status.code(), Some(1));
}
