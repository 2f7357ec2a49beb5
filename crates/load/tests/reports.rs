//! The files a run writes, read back by parsers that share nothing with what wrote them: those of Python.
//!
//! Not here: the JSON and its schema (`schema.rs`), how pages look.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod common;

use std::io::Write;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{After, Scratch, Server, number, ok, output, run};
use serde_json::Value;

/// A server whose every fifth answer is an error, and that takes a millisecond.
fn server() -> Server {
    Server::start(|stream, seen| {
        thread::sleep(Duration::from_millis(1));
        let answer = match seen.number % 5 {
            4 => "HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno".to_owned(),
            _ => ok("hello", ""),
        };
        stream.write_all(answer.as_bytes()).unwrap();
        After::Keep
    })
}

/// Runs a program in Python, with arguments, and reads the JSON it prints.
fn python(program: &str, args: &[&str]) -> Value {
    let mut child = Command::new("python3")
        .args(["-"])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(program.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "python failed");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_run_that_cannot_be_made_leaves_the_reports_of_the_last() {
    let scratch = Scratch::new("reports-kept");
    let (json, html, log) = (scratch.file("run.json"), scratch.file("page.html"), scratch.file("log.xml"));
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{nobody}/");
    let (last, long) = ("the last one", "long ".repeat(100_000));
    std::fs::write(&json, last).unwrap();
    let refused = output(&["run", &url, "-n", "1", "--json", &json, "--html", &html]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(&json).unwrap(), last);
    assert!(!std::path::Path::new(&html).exists(), "an empty page is worse than none");
    std::fs::write(&log, last).unwrap();
    let scenario = scratch.file("a.ubr");
    std::fs::write(&scenario, "scenario { transaction { request { url = \"/\"; } } }").unwrap();
    let server = nobody.to_string();
    let refused = output(&["wcat.wsf", "-run", "-t", &scenario, "-s", &server, "-u", "1", "-o", &log]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), last);
    // And a report takes the whole place of a longer one.
    let server = Server::canned(ok("x", ""));
    std::fs::write(&json, long).unwrap();
    assert!(output(&["run", &server.url("/"), "-n", "1", "--json", &json, "-q"]).status.success());
    assert!(serde_json::from_slice::<Value>(&std::fs::read(&json).unwrap()).is_ok());
}

/// The stepped run all tests of files look at, and its JSON.
fn stepped(scratch: &Scratch, server: &Server, extra: &[&str]) -> Value {
    let url = server.url("/a,b");
    let mut args =
        vec![url.as_str(), "--steps", "2c,4c@500ms", "--settle", "100ms", "--label", "a, \"b\" & <c>"];
    args.extend(extra);
    let (json, _) = run(&args);
    std::fs::write(scratch.file("run.json"), json.to_string()).unwrap();
    json
}

#[test]
fn csv_is_what_the_json_says() {
    let (scratch, server) = (Scratch::new("csv"), server());
    let (csv, series) = (scratch.file("a.csv"), scratch.file("b.csv"));
    let json = stepped(&scratch, &server, &["--csv", &csv, "--csv-series", &series]);
    let read = "import csv,json,sys\nprint(json.dumps([list(csv.DictReader(open(f,newline=''))) for f in sys.argv[1:]]))";
    let files = python(read, &[&csv, &series]);
    let rows = files[0].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for (row, step) in rows.iter().zip(json["steps"].as_array().unwrap()) {
        assert_eq!(row["run"], "a, \"b\" & <c>");
        for (cell, pointer) in [
            ("level", "/level"),
            ("start_s", "/start_s"),
            ("requests", "/requests"),
            ("errors", "/errors"),
            ("requests_per_s", "/requests_per_s"),
            ("p95_us", "/last_byte/p95"),
            ("max_us", "/last_byte/max"),
            ("first_byte_p99_us", "/first_byte/p99"),
        ] {
            let value: f64 = row[cell].as_str().unwrap().parse().unwrap();
            assert!((value - number(step, pointer)).abs() < 0.001, "{cell}: {value} in {step}");
        }
        assert_eq!((&row["level_is"], &row["send_lag_p99_us"]), (&"clients".into(), &"".into()));
    }
    let sum: u64 = files[1]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["responses"].as_str().unwrap().parse::<u64>().unwrap())
        .sum();
    let points = json["series"]["points"].as_array().unwrap();
    assert_eq!(sum as f64, points.iter().map(|point| number(point, "/responses")).sum::<f64>());
}

/// What a script of public note asks `log.xml` of 6.3 for, and one asks that of 5 for.
const XML: &str = r#"
import json, sys
import xml.etree.ElementTree as ET
six, five = ET.parse(sys.argv[1]).getroot(), ET.parse(sys.argv[2]).getroot()
def data(section, table, name):
    return six.findall(f"./section[@name='{section}']/table[@name='{table}']/item/data[@name='{name}']")[0].text
print(json.dumps({
    "root": [six.tag, five.tag],
    "virtualclients": data("header", "collection", "virtualclients"),
    "comment": data("header", "collection", "comment"),
    "tps": data("summary", "summarydata", "tps"),
    "rps": data("summary", "summarydata", "rps"),
    "terrors": data("summary", "summarydata", "terrors"),
    "p50": data("details", "histogram", "response_time_50"),
    "p95": data("details", "histogram", "response_time_95"),
    "requests": data("details", "requeststats", "requests"),
    "transactions": data("details", "transstats", "requests"),
    "errors": data("details", "transstats", "errors"),
    "http200": five.find("./Log/Statistics/Http200").text,
    "bad": five.find("./Log/Statistics/BadStatusErrors").text,
    "cpu": [c.find("Average").text for c in five.findall("./Log/Counters/Counter")
            if c.find("Object").text == "Process" and c.find("Name").text == "% Processor Time"],
}))
"#;

#[test]
fn scripts_that_read_wcats_xml_read_ours() {
    let (scratch, server) = (Scratch::new("xml"), server());
    let (six, five) = (scratch.file("log.xml"), scratch.file("five.xml"));
    let json = stepped(&scratch, &server, &["--xml", &six, "--xml5", &five]);
    let seen = python(XML, &[&six, &five]);
    let text = |name: &str| seen[name].as_str().unwrap().to_owned();
    let value = |name: &str| text(name).parse::<f64>().unwrap();
    assert_eq!(seen["root"].to_string(), r#"["report","Webcat"]"#);
    assert_eq!((text("virtualclients"), text("comment")), ("4".to_owned(), "a, \"b\" & <c>".to_owned()));
    assert!((value("rps") - number(&json, "/requests_per_s")).abs() < 0.001 && value("tps") == value("rps"));
    assert!((value("p50") - number(&json, "/latency_us/last_byte/p50") / 1e3).abs() < 0.001);
    assert!((value("p95") - number(&json, "/latency_us/last_byte/p95") / 1e3).abs() < 0.001);
    for name in ["requests", "transactions"] {
        assert_eq!(value(name), number(&json, "/requests"));
    }
    // One in five has a status of 503, and fails by it.
    let failed = number(&json, "/errors/requests");
    assert_eq!((value("errors"), value("terrors"), value("bad")), (failed, failed, failed));
    assert_eq!(value("http200"), number(&json, "/statuses/200"));
    assert_eq!(value("bad"), number(&json, "/statuses/503"));
    assert_eq!(seen["cpu"].as_array().unwrap().len(), json["cpu"]["servers"].as_array().unwrap().len());
}

/// The shape of JUnit's XML that the strictest schema in use has, written down apart from what writes it.
const JUNIT: &str = r#"
import json, re, sys
import xml.etree.ElementTree as ET
root = ET.parse(sys.argv[1]).getroot()
assert root.tag == "testsuites" and not root.attrib, root.attrib
cases = []
for number, suite in enumerate(root):
    assert suite.tag == "testsuite"
    assert set(suite.attrib) == {"package", "id", "name", "timestamp", "hostname", "tests", "failures", "errors", "time"}
    assert suite.get("id") == str(number) and suite.get("name")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp"))
    tags = [child.tag for child in suite]
    own = [tag for tag in tags if tag == "testcase"]
    assert tags == ["properties"] + own + ["system-out", "system-err"], tags
    assert all(set(p.attrib) == {"name", "value"} and p.get("name") for p in suite.find("properties"))
    failed = 0
    for case in suite.findall("testcase"):
        assert set(case.attrib) == {"name", "classname", "time"} and float(case.get("time")) >= 0
        assert len(case) <= 1 and all(f.tag == "failure" and f.get("type") and f.get("message") for f in case)
        failed += len(case)
        cases.append([case.get("classname"), case.get("name"), case[0].get("message") if len(case) else None])
    assert int(suite.get("tests")) == len(own) and int(suite.get("failures")) == failed
    float(suite.get("time")); int(suite.get("errors"))
print(json.dumps(cases))
"#;

#[test]
fn rules_and_checks_are_cases_for_build_servers() {
    let (scratch, server) = (Scratch::new("junit"), server());
    let junit = scratch.file("junit.xml");
    let flags = [
        "--fail-if",
        "errors>1%",
        "--fail-if",
        "p50>9s",
        "--expect",
        "status=200",
        "--expect",
        "body=first",
        "--junit",
        &junit,
    ];
    stepped(&scratch, &server, &flags);
    let cases = python(JUNIT, &[&junit]);
    let cases: Vec<(String, String, Option<String>)> = serde_json::from_value(cases).unwrap();
    let names: Vec<(&str, &str, bool)> =
        cases.iter().map(|(class, name, failed)| (class.as_str(), name.as_str(), failed.is_some())).collect();
    assert_eq!(
        names,
        [
            ("thirst.verdict", "the numbers can be trusted", false),
            ("thirst.fail-if", "not errors>1%", true),
            ("thirst.fail-if", "not p50>9s", false),
            ("thirst.expect", "status=200", true),
            ("thirst.expect", "body=first", false),
        ]
    );
    // A stored run says the same again.
    let again = scratch.file("again.xml");
    let stored = output(&["report", &scratch.file("run.json"), "--junit", &again, "-q"]);
    assert_eq!(stored.status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(&again).unwrap(), std::fs::read_to_string(&junit).unwrap());
}

/// A reader of HdrHistogram's log, version 2, from its description: base 64, zlib, then counts in ZigZag LEB128,
/// negative ones being runs of zeros.
const HLOG: &str = r##"
import base64, json, struct, sys, zlib
seen = []
for line in open(sys.argv[1]):
    if line.startswith("#") or line.startswith('"StartTimestamp"'):
        continue
    parts = line.strip().split(",")
    tag = parts.pop(0)[4:] if parts[0].startswith("Tag=") else None
    start, length, high, payload = float(parts[0]), float(parts[1]), float(parts[2]), parts[3]
    raw = base64.b64decode(payload)
    cookie, size = struct.unpack(">ii", raw[:8])
    assert cookie == 0x1c849314, hex(cookie)
    raw = zlib.decompress(raw[8:8 + size])
    cookie, size, offset, digits, low, most, ratio = struct.unpack(">iiiiqqd", raw[:40])
    assert cookie == 0x1c849313 and digits == 3 and low == 1 and ratio == 1.0
    body, at, index, counts = raw[40:40 + size], 0, 0, {}
    while at < len(body):
        value, shift = 0, 0
        while True:
            byte = body[at]; at += 1
            if shift == 56: value |= byte << shift; break
            value |= (byte & 127) << shift; shift += 7
            if byte < 128: break
        value = (value >> 1) ^ -(value & 1)
        if value < 0: index -= value
        else:
            if value: counts[index] = value
            index += 1
    def highest(index):
        bucket, sub = (index >> 10) - 1, (index & 1023) + 1024
        if bucket < 0: bucket, sub = 0, sub - 1024
        return (sub << bucket) + (1 << bucket) - 1
    total, so_far, p = sum(counts.values()), 0, {}
    for index in sorted(counts):
        so_far += counts[index]
        for q in (50, 99, 100):
            if q not in p and so_far * 100 >= q * total: p[q] = highest(index)
    seen.append({"tag": tag, "start": start, "length": length, "max_ms": high, "count": total, "p50": p[50], "p99": p[99], "top": p[100]})
print(json.dumps(seen))
"##;

#[test]
fn histograms_are_read_by_who_knows_the_format() {
    let (scratch, server) = (Scratch::new("hlog"), server());
    let hlog = scratch.file("run.hlog");
    let json = stepped(&scratch, &server, &["--hlog", &hlog]);
    let seen = python(HLOG, &[&hlog]);
    let lines = seen.as_array().unwrap();
    let main: Vec<&Value> = lines.iter().filter(|line| line["tag"].is_null()).collect();
    assert_eq!(main.len(), 2, "one for each step");
    for (line, step) in main.iter().zip(json["steps"].as_array().unwrap()) {
        let times = &step["last_byte"];
        assert_eq!(number(line, "/count"), number(times, "/count"));
        assert!((number(line, "/start") - number(step, "/start_s")).abs() < 0.001);
        // Three digits: half a thousandth at most, and a microsecond of rounding.
        for (ours, theirs) in [("/p50", "/p50"), ("/p99", "/p99"), ("/top", "/max")] {
            let (ours, theirs) = (number(line, ours), number(times, theirs));
            assert!((ours - theirs).abs() <= theirs * 0.001 + 1.0, "{ours} and {theirs}");
        }
        assert!(
            (number(line, "/max_ms") - number(times, "/max") / 1e3).abs()
                <= number(times, "/max") / 1e6 + 0.001
        );
    }
    let connect = lines.iter().find(|line| line["tag"] == "connect").unwrap();
    assert_eq!(number(connect, "/count"), number(&json, "/latency_us/connect/count"));
    assert!(lines.iter().any(|line| line["tag"] == "first-byte"));
}

#[test]
fn stored_runs_are_written_as_anything_the_run_itself_is() {
    let (scratch, server) = (Scratch::new("stored"), server());
    let [csv, xml, xml5, html, hlog] =
        ["a.csv", "a.xml", "b.xml", "a.html", "a.hlog"].map(|name| scratch.file(name));
    let flags = ["--csv", &csv, "--xml", &xml, "--xml5", &xml5, "--html", &html, "--hlog", &hlog];
    stepped(&scratch, &server, &flags);
    let stored = scratch.file("run.json");
    let first: Vec<String> =
        [&csv, &xml, &xml5, &html, &hlog].map(|file| std::fs::read_to_string(file).unwrap()).into();
    let mut args = vec!["report", &stored, "-q"];
    args.extend(flags);
    assert_eq!(output(&args).status.code(), Some(0));
    for (file, first) in [&csv, &xml, &xml5, &html, &hlog].into_iter().zip(first) {
        assert_eq!(std::fs::read_to_string(file).unwrap(), first, "{file}");
    }
    // As a thirst before this one stored it.
    let old = scratch.file("old.json");
    let mut stored_then: Value = serde_json::from_str(&std::fs::read_to_string(&stored).unwrap()).unwrap();
    assert!(stored_then.as_object_mut().unwrap().remove("histograms").is_some());
    std::fs::write(&old, stored_then.to_string()).unwrap();
    for (args, say) in [
        (vec!["report", &old, "--hlog", &hlog], "it has no histograms"),
        (vec!["report", &stored, &stored, "--hlog", &hlog], "--hlog is of one run"),
        (vec!["report", &stored, &stored, "--xml", &xml], "--xml is of one run"),
        (vec!["report", &stored, &stored, "--xml5", &xml], "--xml5 is of one run"),
        (vec!["report", &stored, "--csv", "/no/such/folder/x"], "cannot write `/no/such/folder/x`"),
    ] {
        let output = output(&args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(said.contains(say), "{said}");
    }
    let both = output(&["report", &stored, &stored, "--csv", &csv, "-q"]);
    assert_eq!(both.status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(&csv).unwrap().lines().count(), 1 + 4);
}

#[test]
fn where_no_line_can_move_there_is_one_every_ten_seconds() {
    let server = Server::start(|stream, _| {
        thread::sleep(Duration::from_millis(1));
        stream.write_all(ok("hello", "").as_bytes()).unwrap();
        After::Keep
    });
    let url = server.url("/");
    let said = |args: &[&str]| {
        let mut all = vec!["run", &url, "-c", "1"];
        all.extend(args);
        String::from_utf8(output(&all).stderr).unwrap()
    };
    let long = said(&["-d", "11s"]);
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!(lines.len(), 1, "{long}");
    assert!(lines[0].starts_with("    10 s  measuring  ") && lines[0].contains(" req/s  p50 "), "{long}");
    assert!(lines[0].contains("  p99 ") && lines[0].ends_with("errors 0"), "{long}");
    assert_eq!(said(&["-d", "500ms"]), "", "a short run says nothing between");
}

#[test]
fn connects_are_counted_as_they_come() {
    // Each connection carries one request: as many connects as requests, and never more in flight than clients.
    let server = server();
    let (json, _) = run(&[&server.url("/"), "-n", "40", "-c", "4", "--no-keepalive"]);
    let of = |name: &str| number(&json, &format!("/connections/connects/{name}"));
    assert_eq!(of("asynchronous"), number(&json, "/connections/attempts"));
    assert_eq!((of("in_flight_at_end"), of("failed_in_a_row"), of("given_up")), (0.0, 0.0, 0.0), "{json}");
    assert!((1.0..=4.0).contains(&of("in_flight_peak")), "{json}");
}

#[test]
fn a_server_that_goes_leaves_connects_that_fail_one_after_the_other() {
    let server = server();
    let url = server.url("/");
    let run = thread::spawn(move || run(&[&url, "-d", "1500ms", "-c", "2", "--no-keepalive"]));
    while server.seen() < 20 {
        thread::yield_now();
    }
    drop(server);
    let (json, _) = run.join().unwrap();
    let failed = number(&json, "/errors/connects");
    // The first failure of each of the two follows a connection; all others follow a failure.
    assert!(failed > 4.0, "{json}");
    assert_eq!(number(&json, "/connections/connects/failed_in_a_row"), failed - 2.0, "{json}");
}

#[test]
fn connects_that_nobody_decides_are_given_up() {
    use rustix::net::{AddressFamily, SocketType, accept, bind, getsockname, listen, recv, send, socket};
    // Room for two that wait to be accepted, and one is: the rest knock in vain.
    let listener = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&listener, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    listen(&listener, 1).unwrap();
    let address = SocketAddr::try_from(getsockname(&listener).unwrap()).unwrap();
    let serving = thread::spawn(move || {
        let one = accept(&listener).unwrap();
        let mut buffer = [0_u8; 4096];
        while matches!(recv(&one, &mut buffer[..], rustix::net::RecvFlags::empty()), Ok((n, _)) if n > 0) {
            let _ = send(&one, ok("x", "").as_bytes(), rustix::net::SendFlags::NOSIGNAL);
        }
        listener
    });
    let (json, _) = run(&[&format!("http://{address}/"), "-d", "2s", "-c", "8", "--timeout", "400ms"]);
    drop(serving.join().unwrap());
    let given_up = number(&json, "/connections/connects/given_up");
    assert!(given_up > 0.0, "{json}");
    assert_eq!(given_up, number(&json, "/errors/kinds/connect-timeout"), "{json}");
    let (begun, made) =
        (number(&json, "/connections/connects/asynchronous"), number(&json, "/connections/made"));
    let left = number(&json, "/connections/connects/in_flight_at_end");
    assert_eq!(begun, made + given_up + left, "each is made, given up, or undecided to the end: {json}");
    assert!((5.0..=8.0).contains(&number(&json, "/connections/connects/in_flight_peak")), "{json}");
}

#[test]
fn clients_that_wait_are_as_many_as_there_are() {
    // A thousand turns of each: rate times time is their number, and nothing is hidden.
    let server = server();
    let (json, _) = run(&[&server.url("/"), "-d", "2s", "-c", "3", "--expect", "status<600"]);
    assert!(!json["verdict"]["findings"].to_string().contains("hidden-time"), "{json}");
    let waiting = number(&json, "/requests_per_s") * number(&json, "/latency_us/last_byte/avg") / 1e6;
    assert!((waiting - 3.0).abs() < 0.3, "{waiting}");
}
