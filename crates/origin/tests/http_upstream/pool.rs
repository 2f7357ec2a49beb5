//! Which connection a request goes out on: reuse, dead ones, other cores' ones, and when they are closed.

use crate::raw::*;
use http::Method;
use samovar_origin::{HttpUpstream, UpstreamLimits};
use samovar_reason::Upstream;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

async fn ok(upstream: &Arc<HttpUpstream>, core: usize) -> bool {
    let answer = upstream.attempt(core, get("/")).await.unwrap_or_else(|f| panic!("{f}"));
    let reused = answer.timing.reused;
    assert_eq!(whole(answer).await.unwrap(), "ok");
    reused
}

#[tokio::test]
async fn connections_are_used_again() {
    let origin = Origin::answering(OK, false);
    let upstream = origin.upstream(UpstreamLimits::default());
    for round in 0..50 {
        assert_eq!(ok(&upstream, 0).await, round > 0);
    }
    let stats = upstream.stats();
    assert_eq!((stats.open, stats.idle, stats.busy, stats.connects, stats.reuses), (1, 1, 0, 1, 49));
    assert_eq!(origin.accepted(), 1);
}

#[tokio::test]
async fn a_head_that_ends_the_connection_ends_it() {
    for head in ["HTTP/1.1 200 OK\r\nConnection: close\r\n", "HTTP/1.0 200 OK\r\n"] {
        let origin = Origin::answering(format!("{head}Content-Length: 2\r\n\r\nok"), false);
        let upstream = origin.upstream(UpstreamLimits::default());
        assert!(!ok(&upstream, 0).await);
        assert!(!ok(&upstream, 0).await);
        assert_eq!(origin.accepted(), 2, "{head:?}");
    }
    let kept =
        Origin::answering("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok", false);
    let upstream = kept.upstream(UpstreamLimits::default());
    assert!(!ok(&upstream, 0).await);
    assert!(ok(&upstream, 0).await);
}

/// What an upstream says out of turn is nobody's answer, even if the reactor has not heard of it yet.
#[tokio::test]
async fn what_is_said_out_of_turn_is_not_taken_for_the_next_answer() {
    let (say, said) = (mpsc::channel(), mpsc::channel());
    let heard = std::sync::Mutex::new(say.1);
    let origin = Origin::scripted(move |mut stream, number| {
        while read_head(&mut stream).is_some() {
            stream.write_all(OK).unwrap();
            if number == 0 {
                heard.lock().unwrap().recv().unwrap();
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret").unwrap();
                said.0.send(()).unwrap();
            }
        }
    });
    let upstream = origin.upstream(UpstreamLimits::default());
    assert!(!ok(&upstream, 0).await);
    assert_eq!(upstream.stats().idle, 1);
    say.0.send(()).unwrap();
    // Waits without giving the reactor a turn.
    said.1.recv().unwrap();
    assert!(!ok(&upstream, 0).await);
    assert!(ok(&upstream, 0).await);
    assert_eq!(origin.accepted(), 2);
}

/// The sweep finds what the upstream has closed.
fn gone(upstream: &HttpUpstream) -> bool {
    upstream.close_idle(Instant::now());
    upstream.stats().open == 0
}

#[tokio::test]
async fn a_connection_closed_while_idle_is_noticed() {
    let origin = Origin::scripted(|mut stream, _| {
        read_head(&mut stream);
        stream.write_all(OK).unwrap();
    });
    let upstream = origin.upstream(UpstreamLimits::default());
    for _ in 0..5 {
        assert!(!ok(&upstream, 0).await);
        until("the end", || gone(&upstream)).await;
        // A POST on the dead connection would be lost.
        let posted = with_body(ask(Method::POST, "/"), vec![Ok("x")], Some(1));
        assert_eq!(whole(upstream.attempt(0, posted).await.unwrap()).await.unwrap(), "ok");
        until("the end", || gone(&upstream)).await;
    }
}

/// Answers the first request of each connection; at the second it closes without a word.
fn treacherous() -> (Origin, Arc<AtomicUsize>) {
    let second = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&second);
    let origin = Origin::scripted(move |mut stream, _| {
        read_head(&mut stream);
        stream.write_all(OK).unwrap();
        if read_head(&mut stream).is_some() {
            seen.fetch_add(1, Ordering::SeqCst);
        }
    });
    (origin, second)
}

#[tokio::test]
async fn a_dead_reused_connection_is_replaced_once() {
    for method in [Method::GET, Method::HEAD, Method::OPTIONS, Method::PUT, Method::DELETE] {
        let (origin, second) = treacherous();
        let upstream = origin.upstream(UpstreamLimits::default());
        assert!(!ok(&upstream, 0).await);
        let answer = upstream.attempt(0, with(ask(method.clone(), "/"), "x-mark", "1")).await;
        let answer = answer.unwrap_or_else(|f| panic!("{method}: {f}"));
        assert!(!answer.timing.reused);
        assert_eq!((second.load(Ordering::SeqCst), origin.accepted()), (1, 2), "{method}");
    }
}

/// Whoever has begun to answer was reached, and is not asked a second time.
#[tokio::test]
async fn an_answer_that_has_begun_is_not_asked_for_again() {
    for begun in ["HTTP/1.1 103 Early Hints\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-"] {
        let origin = Origin::scripted(move |mut stream, _| {
            read_head(&mut stream);
            stream.write_all(OK).unwrap();
            if read_head(&mut stream).is_some() {
                stream.write_all(begun.as_bytes()).unwrap();
            }
        });
        let upstream = origin.upstream(UpstreamLimits::default());
        assert!(!ok(&upstream, 0).await);
        let failure = upstream.attempt(0, get("/")).await.err().expect("an answer that breaks off");
        assert_eq!((failure.reason, origin.accepted()), (Upstream::Reset, 1), "{begun:?}");
    }
}

#[tokio::test]
async fn what_may_have_been_done_is_not_repeated() {
    let posts = [
        ask(Method::POST, "/"),
        with_body(ask(Method::POST, "/"), vec![Ok("x")], Some(1)),
        with_body(ask(Method::PUT, "/"), vec![Ok("x")], Some(1)),
    ];
    for asked in posts {
        let (origin, second) = treacherous();
        let upstream = origin.upstream(UpstreamLimits::default());
        assert!(!ok(&upstream, 0).await);
        let failure = upstream.attempt(0, asked).await.err().expect("a lost request");
        assert_eq!(failure.reason, Upstream::Reset, "{failure}");
        assert_eq!((second.load(Ordering::SeqCst), origin.accepted()), (1, 1));
    }
}

#[tokio::test]
async fn a_fresh_connection_that_dies_is_no_reason_to_try_again() {
    let origin = Origin::scripted(|mut stream, _| drop(read_head(&mut stream)));
    let upstream = origin.upstream(UpstreamLimits::default());
    let failure = upstream.attempt(0, get("/")).await.err().expect("a closed connection");
    assert_eq!(failure.reason, Upstream::Reset);
    assert_eq!(failure.detail, "waiting for the head: connection closed before message completed");
    assert_eq!(origin.accepted(), 1);
}

#[tokio::test]
async fn dropping_an_answer_closes_its_connection() {
    let (sender, closed) = mpsc::channel();
    let origin = Origin::scripted(move |mut stream, _| {
        read_head(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n").unwrap();
        while stream.write_all(&[b'x'; 65536]).is_ok() {}
        sender.send(()).unwrap();
    });
    let upstream = origin.upstream(UpstreamLimits::default());
    let mut answer = upstream.attempt(0, get("/")).await.unwrap();
    next(&mut answer).await.unwrap().unwrap();
    assert_eq!(upstream.stats().busy, 1);
    drop(answer);
    assert_eq!(upstream.stats().busy, 0);
    until("the close", || closed.try_recv().is_ok()).await;
    until("the connection's end", || upstream.stats().open == 0).await;
}

#[tokio::test]
async fn leaving_before_the_head_closes_the_connection() {
    let (sender, closed) = mpsc::channel();
    let origin = Origin::scripted(move |mut stream, _| {
        read_head(&mut stream);
        sender.send(sees_close(&mut stream)).unwrap();
    });
    let upstream = origin.upstream(UpstreamLimits::default());
    tokio::select! {
        _ = upstream.attempt(0, get("/")) => panic!("nothing was answered"),
        () = until("the request", || upstream.stats().busy == 1 && origin.accepted() == 1) => {}
    }
    until("the close", || closed.try_recv().is_ok_and(|closed| closed)).await;
    until("the connection's end", || upstream.stats().open == 0).await;
    assert_eq!(upstream.stats().busy, 0);
}

#[tokio::test]
async fn idle_connections_end_by_age() {
    let (sender, closed) = mpsc::channel();
    let origin = Origin::scripted(move |mut stream, number| {
        while read_head(&mut stream).is_some() {
            stream.write_all(OK).unwrap();
        }
        sender.send(number).unwrap();
    });
    let limits = UpstreamLimits { idle_timeout: Duration::from_secs(5), ..UpstreamLimits::default() };
    let upstream = origin.upstream(limits);
    assert!(!ok(&upstream, 0).await);
    upstream.close_idle(Instant::now() + Duration::from_secs(4));
    assert_eq!(upstream.stats().idle, 1);
    upstream.close_idle(Instant::now() + Duration::from_secs(6));
    assert_eq!(upstream.stats().idle, 0);
    until("the close", || closed.try_recv().is_ok()).await;
}

#[tokio::test]
async fn the_bound_holds_under_pressure_from_many_cores() {
    let now = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (inside, peak) = (Arc::clone(&now), Arc::clone(&most));
    let origin = Origin::scripted(move |mut stream, _| {
        while read_head(&mut stream).is_some() {
            peak.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(2));
            inside.fetch_sub(1, Ordering::SeqCst);
            stream.write_all(OK).unwrap();
        }
    });
    let limits = UpstreamLimits { max_connections: 3, ..UpstreamLimits::default() };
    let upstream = origin.upstream(limits);
    let done = Arc::new(tokio::sync::Barrier::new(4));
    let cores: Vec<_> = (0..4)
        .map(|core| {
            let (upstream, done) = (Arc::clone(&upstream), Arc::clone(&done));
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let local = tokio::task::LocalSet::new();
                for _ in 0..8 {
                    let upstream = Arc::clone(&upstream);
                    local.spawn_local(async move {
                        for _ in 0..10 {
                            ok(&upstream, core).await;
                        }
                    });
                }
                runtime.block_on(local);
                // A connection is woken by the runtime it was last used on, and other cores may be about to take it.
                runtime.block_on(done.wait());
            })
        })
        .collect();
    for core in cores {
        core.join().unwrap();
    }
    let stats = upstream.stats();
    assert_eq!(stats.connects + stats.reuses, 320);
    assert_eq!((stats.busy, stats.waiting), (0, 0));
    assert!(most.load(Ordering::SeqCst) <= 3);
}

#[tokio::test]
async fn a_core_without_idle_connections_takes_anothers() {
    let origin = Origin::answering(OK, false);
    let upstream = origin.upstream(UpstreamLimits::default());
    assert!(!ok(&upstream, 0).await);
    assert!(ok(&upstream, 1).await);
    assert!(ok(&upstream, 5).await);
    assert_eq!(origin.accepted(), 1);
}
