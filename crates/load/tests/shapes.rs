//! The shapes of load, seen from the server: what comes by the clock, in steps, with pauses, and when it ends early.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod common;

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use common::{After, Server, number, ok, output, run};

/// A server that answers after a delay, and notes when each request came.
fn slow(delay: Duration) -> (Server, Arc<Mutex<Vec<Instant>>>) {
    let times = Arc::new(Mutex::new(Vec::new()));
    let seen = times.clone();
    let server = Server::start(move |stream, _| {
        seen.lock().unwrap().push(Instant::now());
        thread::sleep(delay);
        std::io::Write::write_all(stream, ok("x", "").as_bytes()).unwrap();
        After::Keep
    });
    (server, times)
}

#[test]
fn an_open_loop_sends_by_the_clock_whether_answers_come_or_not() {
    // Each answer takes four gaps: a closed loop of one would send a quarter.
    let (server, times) = slow(Duration::from_millis(20));
    let (json, code) = run(&[&server.url("/"), "--rate", "200", "-d", "1s"]);
    assert_eq!((code, number(&json, "/requests"), server.seen()), (0, 200.0, 200), "{json}");
    assert_eq!((json["asked"]["load"].as_str(), number(&json, "/asked/open/rate")), (Some("open"), 200.0));
    let times = times.lock().unwrap();
    let first = times[0];
    let since = |at: usize| times[at].duration_since(first).as_secs_f64() - at as f64 * 0.005;
    // The first had to connect, and others run on this machine: the most punctual is the measure of the others.
    let punctual = (0..times.len()).map(since).fold(f64::INFINITY, f64::min);
    let on_time = (0..times.len()).filter(|&at| since(at) - punctual < 0.005).count();
    assert!(on_time > 120, "{on_time} of 200 within 5 ms");
    assert!(number(&json, "/latency_us/send_lag/count") == 200.0);
}

#[test]
fn what_waits_for_a_connection_is_slow_and_not_forgotten() {
    // One connection, 50 ms an answer, 40 a second asked for: half of them wait, longer and longer.
    let (server, _) = slow(Duration::from_millis(50));
    let (json, _) = run(&[&server.url("/"), "--rate", "40", "-c", "1", "-d", "2s"]);
    let (sent, unsent) = (number(&json, "/requests"), number(&json, "/unsent"));
    assert_eq!(sent + unsent, 80.0, "{json}");
    assert!((35.0..=41.0).contains(&sent), "{sent}");
    // From the server's side every answer took 50 ms; who asked for it waited for a second in the end.
    assert!(number(&json, "/latency_us/last_byte/p90") < 90_000.0);
    assert!(number(&json, "/latency_us/response/max") > 800_000.0);
    let findings = json["verdict"]["findings"].to_string();
    assert!(findings.contains("\"unsent\""), "{json}");
    // No connection stood ready: it is the server that makes them wait, not the generator.
    assert!(!findings.contains("\"send-lag\""), "{json}");
    assert!(json["latency_us"]["own_lag"]["count"].as_u64().unwrap_or(0) <= 2, "{json}");
    // Or they are not sent at all, and those that are do not wait.
    let (json, _) = run(&[&server.url("/"), "--rate", "40", "-c", "1", "-d", "2s", "--when-full", "drop"]);
    assert_eq!(number(&json, "/requests") + number(&json, "/unsent"), 80.0);
    assert!(number(&json, "/latency_us/response/max") < 400_000.0, "{json}");
}

#[test]
fn a_count_of_an_open_loop_is_exact() {
    let (server, _) = slow(Duration::ZERO);
    let (json, code) = run(&[&server.url("/"), "--rate", "500", "-n", "120", "--poisson", "-t", "2"]);
    assert_eq!((code, number(&json, "/requests"), server.seen()), (0, 120.0, 120), "{json}");
}

#[test]
fn a_counted_open_loop_ends_with_its_last_answer() {
    let (server, _) = slow(Duration::ZERO);
    let began = Instant::now();
    let (json, _) = run(&[&server.url("/"), "--rate", "20", "-n", "60"]);
    // Three seconds of requests; sixty clients that wait for one more each would be three more.
    assert!(began.elapsed() < Duration::from_millis(4_800), "{:?}", began.elapsed());
    assert_eq!((number(&json, "/requests"), server.seen()), (60.0, 60), "{json}");
}

#[test]
fn steps_of_rates_keep_their_connections_and_are_measured_apart() {
    let (server, _) = slow(Duration::from_millis(1));
    let (json, code) =
        run(&[&server.url("/"), "--steps", "50,100,200@1s", "--settle", "500ms", "-c", "20", "-t", "2"]);
    assert_eq!(code, 0, "{json}");
    let steps = json["steps"].as_array().unwrap();
    let of = |name: &str| steps.iter().map(|s| s[name].as_f64().unwrap()).collect::<Vec<f64>>();
    assert_eq!((of("level"), of("requests")), (vec![50.0, 100.0, 200.0], vec![25.0, 50.0, 100.0]), "{json}");
    assert_eq!(of("start_s"), [0.5, 1.5, 2.5]);
    assert_eq!(number(&json, "/requests"), 175.0);
    assert_eq!((number(&json, "/all_requests"), server.seen()), (350.0, 350));
    assert!(server.connections.load(std::sync::atomic::Ordering::SeqCst) <= 20);
}

#[test]
fn a_ramp_of_connections_adds_them_step_by_step() {
    let (server, times) = slow(Duration::from_millis(20));
    let (json, code) = run(&[&server.url("/"), "--ramp", "1..5:+2@800ms", "-t", "2"]);
    assert_eq!(code, 0, "{json}");
    let steps = json["steps"].as_array().unwrap();
    let levels: Vec<f64> = steps.iter().map(|step| step["level"].as_f64().unwrap()).collect();
    assert_eq!(levels, [1.0, 3.0, 5.0]);
    // So many connections with 20 ms an answer are so many requests in the half of the step that is measured.
    for step in steps {
        let per_connection = step["requests"].as_f64().unwrap() / step["level"].as_f64().unwrap();
        assert!((12.0..=21.0).contains(&per_connection), "{step}");
    }
    assert_eq!(number(&json, "/connections/made"), 5.0, "kept across steps: {json}");
    let first = times.lock().unwrap()[0];
    let early = times
        .lock()
        .unwrap()
        .iter()
        .filter(|at| at.duration_since(first) < Duration::from_millis(780))
        .count();
    assert!(early <= 40, "one connection alone in the first step, not {early} requests");
}

#[test]
fn thinking_clients_pause_and_a_throttle_holds() {
    let (server, _) = slow(Duration::ZERO);
    let (json, _) = run(&[&server.url("/"), "-c", "4", "--think", "90ms..110ms", "-d", "1s"]);
    // Ten rounds of each at most.
    assert!((25.0..=44.0).contains(&number(&json, "/requests")), "{json}");
    let (json, _) = run(&[&server.url("/"), "-c", "8", "--most", "50", "-d", "2s", "-t", "2"]);
    assert!((95.0..=102.0).contains(&number(&json, "/requests")), "{json}");
    assert_eq!(json["verdict"]["grade"], "VALID", "{json}");
}

#[test]
fn a_rule_ends_the_run() {
    let (server, _) = slow(Duration::from_millis(30));
    let began = Instant::now();
    let (json, code) = run(&[&server.url("/"), "-d", "60s", "--until", "p50>10ms"]);
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
    assert_eq!(code, 0);
    assert!(json["ended"].as_str().unwrap().starts_with("p50>10ms held: it was "), "{json}");
    assert!((4.0..12.0).contains(&number(&json, "/elapsed_s")), "{json}");
    // The rate is that of the time there was.
    let rate = number(&json, "/requests_per_s");
    assert!((250.0..=334.0).contains(&rate), "{rate}");
}

#[test]
fn a_rule_fails_the_build() {
    let (server, _) = slow(Duration::from_millis(20));
    let url = server.url("/");
    let fails = output(&["run", &url, "-n", "20", "--fail-if", "p50>10ms", "--fail-if", "errors>0"]);
    assert_eq!(fails.status.code(), Some(4));
    let said = String::from_utf8_lossy(&fails.stderr).into_owned();
    assert!(said.contains("p50>10ms holds: it is 2") && !said.contains("errors"), "{said}");
    let holds = output(&["run", &url, "-n", "20", "--fail-if", "p50>900ms"]);
    assert_eq!(holds.status.code(), Some(0));
}
