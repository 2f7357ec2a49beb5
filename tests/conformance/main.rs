//! The public HTTP cache suite (npm package `http-cache-tests`) against the built program, and what we promise of it.
//!
//! What fails must stand in `deviations.txt` with its reason, and only that; `reasons.txt` holds why things were not
//! cached; `docs/conformance.md` shows the result by topic. Not here: what the package is too old for, which wire
//! scripts of our own cover (`tests/wire`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod page;

use samovar_tests::server::Server;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// One test of the suite and what came of it.
struct Outcome {
    topic: String,
    id: String,
    kind: String,
    outcome: String,
    why: String,
    uuid: String,
    cache_status: Vec<Option<String>>,
}

impl Outcome {
    fn passed(&self) -> bool {
        self.outcome == "pass"
    }
}

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance").join(name)
}

/// The package below the build folder, as the lock file pins it; installed once.
fn installed() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(3).unwrap().join("conformance");
    let lock = std::fs::read(here("package-lock.json")).unwrap();
    // npm's own copy of the lock is written at the end of an installation.
    let done = folder.join("node_modules/.package-lock.json").exists();
    if done && std::fs::read(folder.join("package-lock.json")).ok().as_ref() == Some(&lock) {
        return folder;
    }
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["package.json", "package-lock.json"] {
        std::fs::copy(here(name), folder.join(name)).unwrap();
    }
    let npm = Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(&folder)
        .output()
        .expect("npm is installed by scripts/need.sh");
    assert!(npm.status.success(), "npm ci: {}", String::from_utf8_lossy(&npm.stderr));
    folder
}

/// The suite's origin; stopped when dropped.
struct SuiteOrigin {
    child: Child,
    address: String,
}

impl SuiteOrigin {
    fn start(folder: &Path) -> SuiteOrigin {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut child = Command::new("node")
            .args(["--no-warnings", "node_modules/http-cache-tests/server/server.mjs"])
            .current_dir(folder)
            .env("npm_config_protocol", "http")
            .env("npm_config_port", free.to_string())
            .env("npm_config_pidfile", folder.join("server.pid"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node is installed by scripts/need.sh");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().expect("the suite's origin says where it listens").unwrap();
        assert!(first.starts_with("Listening"), "{first}");
        std::thread::spawn(move || lines.for_each(drop));
        SuiteOrigin { child, address: format!("127.0.0.1:{free}") }
    }
}

impl Drop for SuiteOrigin {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(folder: &Path, server: &Server) -> Vec<Outcome> {
    let output = Command::new("node")
        .arg("--no-warnings")
        .arg(here("run.mjs"))
        .arg(folder)
        .arg(format!("http://{}", server.address))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut all = Vec::new();
    for suite in report.as_array().unwrap() {
        for test in suite["tests"].as_array().unwrap() {
            all.push(Outcome {
                topic: text(&suite["id"]),
                id: text(&test["id"]),
                kind: text(&test["kind"]),
                outcome: text(&test["outcome"]),
                why: text(&test["why"]),
                uuid: text(&test["uuid"]),
                cache_status: test["cache_status"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|v| v.as_str().map(str::to_owned))
                    .collect(),
            });
        }
    }
    all
}

/// The rows of one of our files: comments and empty lines left out, the first `columns - 1` words and the rest.
fn rows(name: &str, columns: usize) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(here(name)).unwrap();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let mut rest = line;
            let mut row = Vec::new();
            for _ in 1..columns {
                let (word, tail) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                row.push(word.to_owned());
                rest = tail.trim_start();
            }
            row.push(rest.to_owned());
            row
        })
        .collect()
}

#[test]
fn the_public_suite() {
    let folder = installed();
    let origin = SuiteOrigin::start(&folder);
    let config = std::fs::read_to_string(here("samovar.toml")).unwrap().replace("ORIGIN", &origin.address);
    let (server, _) = Server::configured(&config, &[]);
    let all = run(&folder, &server);
    let deviations = known("deviations.txt");
    let surprises = surprises(&all, &deviations, "deviations.txt");
    assert!(surprises.is_empty(), "{surprises:#?}");
    let (optimal, of) = passed(&all, "optimal");
    assert!(optimal * 100 >= of * 95, "{optimal} of {of} optimal tests");
    reasons(&all, &server);
    page::compare(&page::tables(&all, &deviations));
}

/// As Samovar comes, without a setting.
#[test]
fn the_public_suite_without_settings() {
    let folder = installed();
    let origin = SuiteOrigin::start(&folder);
    let server = Server::before(&format!("http://{}", origin.address), &[]);
    let all = run(&folder, &server);
    let mut deviations = known("deviations.txt");
    let more = known("without_settings.txt");
    let both: Vec<&String> = more.keys().filter(|id| deviations.contains_key(*id)).collect();
    assert!(both.is_empty(), "these stand in both files: {both:?}");
    deviations.extend(more.clone());
    let surprises = surprises(&all, &deviations, "without_settings.txt");
    assert!(surprises.is_empty(), "{surprises:#?}");
    page::compare(&page::tables_without_settings(&all, &more));
}

/// Tests that do not pass, and why.
fn known(name: &str) -> BTreeMap<String, String> {
    rows(name, 2).into_iter().map(|row| (row[0].clone(), row[1].clone())).collect()
}

/// How many tests of a kind passed, and how many there are.
fn passed(all: &[Outcome], kind: &str) -> (usize, usize) {
    let of = all.iter().filter(|test| test.kind == kind);
    (of.clone().filter(|test| test.passed()).count(), of.count())
}

/// What came otherwise than `deviations`, which `file` holds, have it.
fn surprises(all: &[Outcome], deviations: &BTreeMap<String, String>, file: &str) -> BTreeSet<String> {
    assert!(all.len() > 340, "the suite ran only {} tests", all.len());
    let mut surprises = BTreeSet::new();
    for test in all.iter().filter(|test| test.kind != "check") {
        match (test.passed(), deviations.contains_key(&test.id)) {
            (false, false) => {
                surprises.insert(format!("{} {}: {} ({})", test.kind, test.id, test.outcome, test.why));
            }
            (true, true) => {
                surprises.insert(format!("{} passes now: take it out of {file}", test.id));
            }
            _ => {}
        }
    }
    for id in deviations.keys().filter(|id| !all.iter().any(|test| test.id == **id)) {
        surprises.insert(format!("{id} is no test of the suite"));
    }
    surprises
}

/// The reason of each refusal, in the answer itself and by `samovar explain`.
fn reasons(all: &[Outcome], server: &Server) {
    for row in rows("reasons.txt", 4) {
        let [topic, id, request, detail] = row.as_slice() else { panic!("{row:?}") };
        let test = all.iter().find(|test| test.id == *id && test.topic == *topic).expect(id);
        let at: usize = request.parse().unwrap();
        let status = test.cache_status[at - 1].as_deref().unwrap_or_default();
        assert!(status.ends_with(&format!("detail={detail}")), "{id}, request {at}: {status}");
        // Of the last request the explanation itself must tell; of an earlier one its record, which stands below.
        let told = server.json(&["explain", &format!("/test/{}", test.uuid)]);
        let history = told["history"].as_array().unwrap();
        let facts = match history.len() - at {
            0 => &told["facts"],
            later => &history[later]["facts"],
        };
        let codes: Vec<_> =
            facts.as_array().unwrap().iter().filter_map(|fact| fact["code"].as_str()).collect();
        assert!(codes.contains(&detail.as_str()), "{id}: {detail} is not among {codes:?}");
    }
}
