//! examples/slow-service behind Samovar: limits that bind, say so and let go again, and answers that belong to a key.

use samovar_tests::server::{Folder, Server, program, soon};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// The service on a free port; ended when dropped.
struct Service {
    child: Child,
    url: String,
}

impl Service {
    fn start(flags: &[&str]) -> Service {
        let mut child = Command::new(program("slow-service"))
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let line = lines.find(|l| l.starts_with("listening")).expect("it never listened");
        Service { child, url: line.trim_start_matches("listening").trim().to_string() }
    }

    /// Samovar before it: the file of the example, with more keys of the upstream.
    fn behind(&self, keys: &str) -> Server {
        let text = std::fs::read_to_string(samovar_tests::root().join("examples/slow-service/samovar.toml"))
            .unwrap();
        let text = text.replace("http://127.0.0.1:8090", &self.url);
        Server::configured(&format!("{text}{keys}"), &["--access-log", "off"]).0
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn limit(server: &Server, name: &str) -> Value {
    let all = server.json(&["limits"]);
    all.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone()
}

fn used(server: &Server, name: &str) -> u64 {
    limit(server, &format!("upstream.service.{name}"))["used"].as_u64().unwrap_or(0)
}

#[test]
fn what_is_beyond_the_queue_is_refused_and_told_when_to_come_back() {
    let service = Service::start(&[]);
    let server = service.behind("max_connections = 2\nqueue_max = 1\n");
    std::thread::scope(|scope| {
        // Of three at once, two are at the service and one waits.
        let slow: Vec<_> = (0..3)
            .map(|n| {
                scope.spawn({
                    let server = &server;
                    move || server.get(&format!("/catalogue?delay=2s&items={}", n + 1), &[])
                })
            })
            .collect();
        soon("both connections and the queue in use", || {
            (used(&server, "max_connections") == 2 && used(&server, "queue_max") == 1).then_some(())
        });
        let refused = server.get("/catalogue?delay=2s&items=9", &[]);
        assert_eq!((refused.status, refused.reason().as_str()), (503, "queue-full"), "{}", refused.text());
        // Whoever meets the bound is told which line to write.
        let line =
            "the line to change is in [[upstream]] with `name = \"service\"`: `max_connections = 4000`";
        assert!(refused.text().contains(line), "{}", refused.text());
        assert!(
            refused.field("retry-after").is_some_and(|v| v.parse::<u32>().is_ok()),
            "{:?}",
            refused.fields
        );
        for answer in slow {
            assert_eq!(answer.join().unwrap().status, 200);
        }
    });
    assert_eq!(server.get("/catalogue?delay=0ms", &[]).status, 200, "it is not refused any more");
}

#[test]
fn who_waits_too_long_is_refused_and_told_so() {
    let service = Service::start(&[]);
    let server = service.behind("max_connections = 1\nqueue_timeout = \"200ms\"\n");
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| server.get("/catalogue?delay=3s", &[]).status);
        soon("the connection in use", || (used(&server, "max_connections") == 1).then_some(()));
        let refused = server.get("/catalogue?delay=1s", &[]);
        assert_eq!((refused.status, refused.reason().as_str()), (503, "queue-timeout"), "{}", refused.text());
        assert!(refused.field("retry-after").is_some(), "{:?}", refused.fields);
        assert_eq!(slow.join().unwrap(), 200);
    });
}

/// The story's mystery in small: the service refuses, not Samovar, and the answers say who it was.
#[test]
fn a_refusal_of_the_services_own_is_passed_on() {
    let service = Service::start(&["--concurrent", "1", "--queue", "0"]);
    let server = service.behind("");
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| server.get("/catalogue?delay=3s", &[]).status);
        let counters = || server.get("/counters", &[]).text();
        soon("one at work", || counters().contains("slow_service_concurrent 1\n").then_some(()));
        let refused = server.get("/catalogue?delay=1s", &[]);
        assert_eq!((refused.status, refused.field("retry-after")), (503, Some("1")));
        assert!(refused.text().starts_with("too many are waiting"), "{}", refused.text());
        assert!(refused.cache_status().contains("fwd="), "{}", refused.cache_status());
        assert_eq!(slow.join().unwrap(), 200);
    });
}

#[test]
fn many_slow_requests_at_once_are_borne() {
    let service = Service::start(&[]);
    let server = service.behind("max_connections = 1000\n");
    let folder = Folder::new();
    let report = folder.path("run.json");
    let output = Command::new(program("thirst"))
        .args(["run", &server.url("/catalogue?delay=1s&items=5"), "-n", "800", "-c", "800", "-q", "--json"])
        .arg(&report)
        .args(["--counters", &format!("{}/metrics", server.admin)])
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let run: Value = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
    assert_eq!(run["statuses"]["200"], 800, "{}", run["errors"]);
    let metrics = server.json(&["status"]);
    assert!(metrics.to_string().contains("\"error\":0"), "{metrics}");
}

#[test]
fn an_answer_belongs_to_the_key_it_was_made_for() {
    let folder = Folder::new();
    let keys = folder.write("keys.txt", "alpha 100 The first\nbeta 10 The second\n");
    let service = Service::start(&["--keys", keys.to_str().unwrap()]);
    let server = service.behind("");
    server.tell(&[
        "rule",
        "add",
        "id=catalogue",
        "path=/catalogue",
        "for=1h",
        "vary_query={ keep = [\"delay\", \"items\"] }",
        "vary_headers=[\"X-Api-Key\"]",
        "only_status=[200]",
    ]);
    let path = "/catalogue?delay=0ms&items=20";
    let get = |key: &str| server.get(path, &[("X-Api-Key", key)]);
    assert_eq!((get("alpha").status, get("alpha").is_hit()), (200, true));
    // Another key is another question, whatever is kept.
    assert_eq!((get("beta").status, get("none").status, server.get(path, &[]).status), (403, 401, 401));
    assert_eq!((get("beta").status, get("none").is_hit()), (403, false));
    let listed = server.tell(&["cache", "list"]);
    assert!(!listed.contains("alpha"), "keys are nobody's business: {listed}");
    // A key that is taken away: the service knows at once, the cache when it is told.
    std::fs::write(&keys, "beta 30 The second\n").unwrap();
    soon("the new keys", || (get("beta").status == 200).then_some(()));
    assert_eq!((get("alpha").status, get("alpha").is_hit()), (200, true));
    server.tell(&["cache", "purge", "--prefix", "/catalogue"]);
    assert_eq!((get("alpha").status, get("beta").status), (401, 200));
}
