//! Stale answers: when they may be given, for how long, and why (RFC 9111 §4.2.4, RFC 5861).
//!
//! Staleness comes from `Age`, so that nobody waits for a clock.

use samovar_tests::origin::{After, Origin};
use samovar_tests::server::Server;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// What the origin does from its second request on.
const FINE: u8 = 0;
const ERROR: u8 = 1;
const HANG_UP: u8 = 2;
const NONSENSE: u8 = 3;

/// An origin whose first answer has these fields, and what it does later.
fn failing(fields: &'static str) -> (Origin, Arc<AtomicU8>) {
    let mood = Arc::new(AtomicU8::new(FINE));
    let seen = Arc::clone(&mood);
    let origin = Origin::raw(move |asked, stream| {
        let body = format!("answer {}", asked.number);
        let answer = match seen.load(Ordering::SeqCst) {
            FINE => format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len()),
            ERROR => "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy".to_owned(),
            NONSENSE => "this is no HTTP\r\n\r\n".to_owned(),
            _ => return After::Close,
        };
        stream.write_all(answer.as_bytes()).unwrap();
        After::Keep
    });
    (origin, mood)
}

fn site(origin: &Origin, settings: &str) -> Server {
    let config = format!(
        "config = 1\n[[upstream]]\nname = \"o\"\nmembers = [{{ url = \"{}\" }}]\n[[site]]\nname = \"s\"\ndefault = true\nupstream = \"o\"\n{settings}\n",
        origin.url
    );
    Server::configured(&config, &[]).0
}

/// Stored: a lifetime of 60 s, 70 s old, and a tag.
const OLD: &str = "Cache-Control: max-age=60\r\nAge: 70\r\nETag: \"1\"\r\n";

#[test]
fn an_origin_out_of_reach_is_stood_in_for() {
    for (fields, settings, mood, status, reason) in [
        (OLD, "", HANG_UP, 200, "stale-unreachable"),
        (OLD, "", ERROR, 503, "status-not-storable"),
        (OLD, "", NONSENSE, 502, "upstream-bad-head"),
        (OLD, "stale_if_unreachable = \"0s\"", HANG_UP, 502, "upstream-reset"),
        (OLD, "stale_if_unreachable = \"5s\"", HANG_UP, 502, "upstream-reset"),
        (OLD, "stale_if_unreachable = \"60s\"", HANG_UP, 200, "stale-unreachable"),
        (OLD, "stale_if_error = \"60s\"", ERROR, 200, "stale-if-error"),
        (OLD, "stale_if_error = \"60s\"", NONSENSE, 200, "stale-if-error"),
        (OLD, "stale_if_error = \"5s\"", ERROR, 503, "status-not-storable"),
        (OLD, "keep = \"5s\"", HANG_UP, 502, "upstream-reset"),
        ("Cache-Control: max-age=60, stale-if-error=60\r\nAge: 70\r\n", "", ERROR, 200, "stale-if-error"),
        (
            "Cache-Control: max-age=60, stale-if-error=5\r\nAge: 70\r\nETag: \"1\"\r\n",
            "",
            ERROR,
            503,
            "status-not-storable",
        ),
        (
            "Cache-Control: max-age=60, must-revalidate\r\nAge: 70\r\nETag: \"1\"\r\n",
            "",
            HANG_UP,
            502,
            "upstream-reset",
        ),
        (
            "Cache-Control: max-age=60, proxy-revalidate\r\nAge: 70\r\nETag: \"1\"\r\n",
            "",
            HANG_UP,
            502,
            "upstream-reset",
        ),
        ("Cache-Control: s-maxage=60\r\nAge: 70\r\nETag: \"1\"\r\n", "", HANG_UP, 502, "upstream-reset"),
        (
            "Cache-Control: s-maxage=60\r\nAge: 70\r\nETag: \"1\"\r\n",
            "stale_if_error = \"60s\"",
            ERROR,
            503,
            "status-not-storable",
        ),
        ("Cache-Control: no-cache, max-age=60\r\nETag: \"1\"\r\n", "", HANG_UP, 502, "upstream-reset"),
    ] {
        let (origin, now) = failing(fields);
        let server = site(&origin, settings);
        assert_eq!(server.get("/x", &[]).text(), "answer 0");
        now.store(mood, Ordering::SeqCst);
        let answer = server.get("/x", &[]);
        assert_eq!(
            (answer.status, answer.reason().as_str()),
            (status, reason),
            "{fields:?} {settings:?} {mood}"
        );
        if status == 200 {
            assert_eq!(answer.text(), "answer 0");
            assert!(answer.field("age").unwrap().parse::<u32>().unwrap() >= 70);
        }
    }
}

#[test]
fn while_it_is_refreshed_once_for_all() {
    let (origin, _) = failing("Cache-Control: max-age=60, stale-while-revalidate=60\r\nAge: 70\r\n");
    let server = site(&origin, "");
    server.get("/x", &[]);
    let stale = server.get("/x", &[]);
    assert_eq!((stale.reason().as_str(), stale.text().as_str()), ("stale-while-revalidate", "answer 0"));
    samovar_tests::server::soon("the refresh", || (server.get("/x", &[]).text() != "answer 0").then_some(()));
    // The window is over: nothing stale any more.
    let (origin, _) =
        failing("Cache-Control: max-age=60, stale-while-revalidate=5\r\nAge: 70\r\nETag: \"1\"\r\n");
    let server = site(&origin, "");
    server.get("/x", &[]);
    let late = server.get("/x", &[]);
    assert_eq!((late.is_hit(), late.text().as_str()), (false, "answer 1"));
}

/// What is allowed is allowed when the origin fails, not when it was asked: it may take its time to fail.
#[test]
fn an_error_that_comes_late_finds_an_older_answer() {
    for (allowed, status) in [("11s", 502), ("60s", 200)] {
        let origin = Origin::raw(|asked, stream| {
            if asked.number == 0 {
                stream
                    .write_all(format!("HTTP/1.1 200 OK\r\n{OLD}Content-Length: 3\r\n\r\nold").as_bytes())
                    .unwrap();
                return After::Keep;
            }
            std::thread::sleep(std::time::Duration::from_millis(2_500));
            After::Close
        });
        let server = site(&origin, &format!("stale_if_error = \"{allowed}\"\nstale_if_unreachable = \"0s\""));
        server.get("/x", &[]);
        assert_eq!(server.get("/x", &[]).status, status, "{allowed}");
    }
}

/// Past `keep` nothing is asked conditionally any more.
#[test]
fn keep_bounds_what_is_asked_about() {
    for (settings, conditional) in [("", true), ("keep = \"60s\"", true), ("keep = \"5s\"", false)] {
        let (origin, _) = failing(OLD);
        let server = site(&origin, settings);
        server.get("/x", &[]);
        server.get("/x", &[]);
        assert_eq!(origin.asked()[1].field("if-none-match").is_some(), conditional, "{settings}");
    }
}

/// All who wait for one refresh that fails are told, or given the stale answer, together.
#[test]
fn waiters_share_the_outcome() {
    let mood = Arc::new(AtomicU8::new(FINE));
    let seen = Arc::clone(&mood);
    let origin = Origin::raw(move |_, stream| {
        if seen.load(Ordering::SeqCst) == FINE {
            stream
                .write_all(format!("HTTP/1.1 200 OK\r\n{OLD}Content-Length: 3\r\n\r\nold").as_bytes())
                .unwrap();
            return After::Keep;
        }
        std::thread::sleep(std::time::Duration::from_millis(300));
        After::Close
    });
    let server = site(&origin, "");
    server.get("/x", &[]);
    mood.store(HANG_UP, Ordering::SeqCst);
    let before = origin.count();
    let mut clients: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET /x HTTP/1.1\r\nHost: test\r\n\r\n");
    }
    for client in &mut clients {
        let answer = client.answer("GET");
        assert_eq!((answer.status, answer.reason().as_str()), (200, "stale-unreachable"));
    }
    // The pool may have tried a connection that was dead already a second time.
    assert!(origin.count() - before <= 2, "{} fetches for 20 requests", origin.count() - before);
}
