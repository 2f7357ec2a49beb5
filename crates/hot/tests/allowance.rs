//! How much of a connection there may be: after so many requests or so long it ends, announced where an answer is still to
//! come, and never with a request unanswered that has come already.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod common;

use common::rig::{Rig, limits, rig_with};
use common::wire::answers;
use samovar_hot::Limits;
use std::time::Duration;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep};

fn local(test: impl Future<Output = ()>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(LocalSet::new().run_until(test));
}

fn of_requests(most: u64) -> Rig {
    rig_with(1 << 20, Limits { requests_max: Some(most), ..limits() })
}

fn asked(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")
}

/// All that is answered until the connection ends: whether each announces the end.
async fn all_of(rig: &mut Rig) -> Vec<bool> {
    let all = rig.read_all().await;
    answers(all.as_bytes(), &[]).iter().map(|a| a.field("connection") == Some("close")).collect()
}

#[test]
fn the_last_request_is_told_so_whoever_answers() {
    for (paths, hits) in [(["/hot", "/cold", "/hot"], 1), (["/cold", "/hot", "/cold"], 1), (["/hot"; 3], 2)] {
        local(async {
            let mut rig = of_requests(3);
            let mut all = String::new();
            for path in paths {
                rig.send(&asked(path)).await;
                all += &rig.read_until(&path[1..]).await;
            }
            assert_eq!(rig.read_all().await, "", "nothing after the last");
            let closes: Vec<bool> =
                answers(all.as_bytes(), &[]).iter().map(|a| a.field("connection") == Some("close")).collect();
            assert_eq!(closes, [false, false, true], "{all}");
            // The engine has answered the last, as only it can say so.
            assert_eq!(rig.side.hits.get(), hits);
            rig.end().await;
        });
    }
}

#[test]
fn a_single_request() {
    local(async {
        let mut rig = of_requests(1);
        rig.send(&asked("/hot")).await;
        assert_eq!(all_of(&mut rig).await, [true]);
    });
}

#[test]
fn what_was_sent_ahead_is_answered() {
    for path in ["/hot", "/cold", "/slow"] {
        for sent in [3, 4, 50, 700] {
            local(async {
                let mut rig = of_requests(3);
                rig.send(&asked(path).repeat(sent)).await;
                let closes = all_of(&mut rig).await;
                assert_eq!(closes.len(), sent, "{path}");
                assert_eq!(closes.iter().position(|&close| close), Some(sent - 1), "{path}");
                rig.end().await;
            });
        }
    }
}

#[test]
fn a_body_is_taken_before_the_end_is_judged() {
    local(async {
        let mut rig = of_requests(1);
        let upload = "POST /cold HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
        rig.send(&upload.repeat(2)).await;
        assert_eq!(all_of(&mut rig).await, [false, true]);
    });
}

#[test]
fn half_a_request_behind_the_last_is_waited_for() {
    local(async {
        let mut rig = of_requests(1);
        rig.send(&(asked("/hot") + "GET /co")).await;
        let first = rig.read_until("hot").await;
        assert!(!first.contains("connection: close"), "{first}");
        rig.send("ld HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert_eq!(all_of(&mut rig).await, [true]);
    });
}

fn of_time(most_ms: u64) -> Rig {
    rig_with(1 << 20, Limits { lifetime_ms: Some(most_ms), idle_timeout_ms: 60_000, ..limits() })
}

#[test]
fn a_busy_connection_ends_with_an_answer_after_its_time() {
    local(async {
        let mut rig = of_time(1_000);
        for _ in 0..4 {
            rig.send(&asked("/hot")).await;
            assert!(!rig.read_until("hot").await.contains("connection: close"));
            sleep(Duration::from_millis(240)).await;
        }
        rig.send(&asked("/slow")).await;
        // Its time ends while the answer is being made: what was not announced ends idle, a moment later.
        let answer = rig.read_until("cold /slow").await;
        assert!(!answer.contains("connection: close"), "{answer}");
        assert_eq!(rig.read_all().await, "");
    });
    local(async {
        let mut rig = of_time(1_000);
        rig.send("GET /hot HTTP/1.1\r\n").await;
        sleep(Duration::from_millis(990)).await;
        rig.send("X: y\r\n").await;
        sleep(Duration::from_millis(20)).await;
        rig.send("Host: a\r\n\r\n").await;
        assert_eq!(all_of(&mut rig).await, [true], "the head came when the time was over");
    });
}

#[test]
fn an_idle_connection_ends_with_its_time() {
    local(async {
        let begun = Instant::now();
        let mut rig = of_time(1_500);
        rig.send(&asked("/hot")).await;
        assert!(!rig.read_until("hot").await.contains("connection: close"));
        assert_eq!(rig.read_all().await, "");
        let after = begun.elapsed().as_millis();
        assert!((1_500..1_800).contains(&after), "{after} ms");
        assert!(rig.side.dropped.borrow().is_empty(), "that is no refusal");
        rig.end().await;
    });
}

/// A connection without a request for a while has no engine, and goes on with a new one.
#[test]
fn an_idle_connection_lets_go_of_its_engine_and_goes_on() {
    local(async {
        let mut rig = rig_with(1 << 20, Limits { idle_timeout_ms: 60_000, ..limits() });
        for pause_ms in [0, 5_000, 900, 1_100, 20_000, 0] {
            for path in ["/cold", "/hot", "/cold"] {
                rig.send(&asked(path)).await;
                let answer = rig.read_until(&path[1..]).await;
                assert!(answer.starts_with("HTTP/1.1 200") && !answer.contains("connection"), "{answer}");
            }
            sleep(Duration::from_millis(pause_ms)).await;
        }
        // What comes just then, and in pieces, is not lost.
        for at_ms in 980..1_300 {
            sleep(Duration::from_millis(at_ms)).await;
            rig.send("GET /cold HT").await;
            sleep(Duration::from_millis(at_ms % 7)).await;
            rig.send("TP/1.1\r\nHost: a\r\n\r\n").await;
            rig.read_until("cold /cold").await;
        }
        assert_eq!(rig.called.borrow().len(), 332);
        let end = rig.end().await;
        assert!(matches!(end, samovar_hot::End::Closed));
    });
}
