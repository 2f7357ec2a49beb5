//! All rates of a report are of one window, and one quantity has one rate, whatever it is written as.
//!
//! Not here: how the rows look (`report/text/wcat.rs`).

#![allow(clippy::unwrap_used, reason = "a test may stop at its first surprise")]

mod common;

use std::io::Write;
use std::thread;
use std::time::Duration;

use common::{After, Scratch, Server, number, ok, output};

/// The number in the brackets of a row, per second.
fn per_s(text: &str, name: &str) -> f64 {
    let row = text.lines().find(|line| line.starts_with(name) && line.contains("/Sec)")).unwrap();
    let aside = row.rsplit('(').next().unwrap();
    aside.trim_end_matches("/Sec)").trim_end_matches(" KB").trim().parse().unwrap()
}

/// What stands between `<data name="NAME">` and the next tag.
fn data(xml: &str, name: &str) -> f64 {
    let rest = xml.split(&format!("<data name=\"{name}\">")).nth(1).unwrap();
    rest.split('<').next().unwrap().parse().unwrap()
}

#[test]
fn a_report_has_one_window_and_one_rate() {
    let scratch = Scratch::new("rates");
    // Slow enough that what is under way when the window ends is a share of the whole that shows.
    let server = Server::start(|stream, _| {
        thread::sleep(Duration::from_millis(60));
        stream.write_all(ok("hello", "Connection: close\r\n").as_bytes()).unwrap();
        After::Close
    });
    let scenario = scratch.file("home.ubr");
    let text = "scenario { name = \"n\"; default { version = HTTP11; close = graceful; }\n\
                transaction { id = \"t\"; request { url = \"/iisstart.htm\"; statuscode = 200; } } }";
    std::fs::write(&scenario, text).unwrap();
    let (report, log, address) =
        (scratch.file("run.json"), scratch.file("log.xml"), server.address.to_string());
    // Nothing is under way when the window begins, and something when it ends; what follows it makes connections, too.
    let times = ["-v", "8", "-w", "0", "-u", "1", "-n", "2"];
    let files = ["-json", &report, "-o", &log];
    let fixed = ["wcat.wsf", "-run", "-t", &scenario, "-s", &address];
    let made = output(&[&fixed[..], &times, &files].concat());
    let text = String::from_utf8(made.stdout).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    let xml = std::fs::read_to_string(&log).unwrap();
    let (rate, elapsed) = (number(&json, "/requests_per_s"), number(&json, "/elapsed_s"));
    assert!(number(&json, "/responses") / elapsed > rate, "some came after the window: {json}");
    for row in ["Total Requests", "Total Responses", "Total 200 OK", "Status 200"] {
        assert_eq!(per_s(&text, row), (rate + 1e-6).floor(), "{row} of {text}");
    }
    assert_eq!((data(&xml, "rps"), data(&xml, "rate")), (data(&xml, "tps"), data(&xml, "rps")), "{xml}");
    let read = number(&json, "/read_bytes_per_s") / 1024.0;
    assert_eq!(per_s(&text, "Total Bytes Read"), read.floor());
    // A connection for each request: as many begun in the window as requests sent in it, but for those under way.
    let begun = number(&json, "/connections/window/attempts");
    assert!((begun - number(&json, "/requests")).abs() <= 8.0, "{begun} connects: {json}");
    assert!(number(&json, "/connections/attempts") > begun * 1.2, "the whole run has more: {json}");
    assert_eq!(per_s(&text, "Total Connection Attempts"), (begun / elapsed + 1e-6).floor(), "{text}");
    for name in ["attempts", "made", "socket_reads", "socket_writes"] {
        let whole = number(&json, &format!("/connections/{name}"));
        let part = number(&json, &format!("/connections/window/{name}"));
        assert!(part > 0.0 && part < whole, "{name}: {part} of {whole}");
    }
    assert!(text.contains(&format!("\nServer                      :{address:>15}      ()\n")), "{text}");
}
