//! What is believed of an answer: framing, lengths, heads, and the reason given when it is refused.

use crate::raw::*;
use http::Method;
use samovar_origin::{AnswerBody, Reached, UpstreamLimits};
use samovar_reason::Upstream;
use std::io::Write;

#[tokio::test]
async fn whole_answers_arrive_whole() {
    // (what the origin sends, whether it closes then, status, body, announced length)
    let table: &[(&str, bool, u16, &str, Option<u64>)] = &[
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false, 200, "hello", Some(5)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, 200, "", None),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
            false,
            200,
            "hello",
            Some(5),
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello", false, 200, "hello", Some(5)),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n",
            false,
            200,
            "hello",
            None,
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", false, 200, "", None),
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end", true, 200, "until the end", None),
        ("HTTP/1.0 200 OK\r\n\r\nold", true, 200, "old", None),
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", false, 404, "no", Some(2)),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n", false, 204, "", None),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", false, 304, "", None),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            false,
            200,
            "ok",
            Some(2),
        ),
    ];
    for (bytes, close, status, body, len) in table {
        let upstream = Origin::answering(*bytes, *close).upstream(UpstreamLimits::default());
        let answer = upstream.attempt(0, get("/")).await.unwrap_or_else(|f| panic!("{bytes:?}: {f}"));
        assert_eq!(answer.status, *status, "{bytes:?}");
        match &answer.body {
            AnswerBody::Stream { len: announced, .. } => assert_eq!(announced, len, "{bytes:?}"),
            // All of it came with the head.
            AnswerBody::Bytes(all) => assert_eq!(all, body, "{bytes:?}"),
            _ => assert_eq!(*body, "", "{bytes:?}"),
        }
        assert_eq!(whole(answer).await.unwrap_or_else(|f| panic!("{bytes:?}: {f}")), *body, "{bytes:?}");
    }
}

#[tokio::test]
async fn heads_that_lie_are_refused() {
    let both =
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let table: &[(&str, Upstream)] = &[
        (both, Upstream::BadFraming),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", Upstream::BadFraming),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhello", Upstream::BadFraming),
        ("HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", Upstream::BadFraming),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello", Upstream::BadFraming),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", Upstream::BadFraming),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello", Upstream::BadFraming),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", Upstream::BadFraming),
        ("SSH-2.0-OpenSSH_9.2\r\n", Upstream::BadHead),
        ("HTTP/1.1 abc OK\r\n\r\n", Upstream::BadHead),
        ("HTTP/1.1 200 OK\r\nno colon here\r\n\r\n", Upstream::BadHead),
        ("HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n", Upstream::BadHead),
        ("HTTP/1.1 200 OK\r\nA : b\r\n\r\n", Upstream::BadHead),
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", Upstream::BadHead),
        ("<html>I speak HTTP/0.9</html>", Upstream::BadHead),
    ];
    for (bytes, reason) in table {
        let upstream = Origin::answering(*bytes, true).upstream(UpstreamLimits::default());
        let Err(failure) = upstream.attempt(0, get("/")).await else { panic!("{bytes:?} was believed") };
        assert_eq!(failure.reason, *reason, "{bytes:?}: {failure}");
        assert_eq!(failure.reached, Reached::Answered, "{bytes:?}: {failure}");
        until("the connection's end", || upstream.stats().open == 0).await;
    }
}

#[tokio::test]
async fn bodies_that_break_off_say_so() {
    let chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let table: &[(String, Upstream)] = &[
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello".to_owned(), Upstream::ShortBody),
        (format!("{chunk}5\r\nhello\r\n"), Upstream::ShortBody),
        (format!("{chunk}5\r\nhello\r\n0\r\n"), Upstream::ShortBody),
        (format!("{chunk}9\r\nhello"), Upstream::ShortBody),
        (format!("{chunk}5\r\nhello\r\nzz\r\n"), Upstream::BadFraming),
        (format!("{chunk}5\r\nhelloXX0\r\n\r\n"), Upstream::BadFraming),
        (format!("{chunk}5\r\nhello\r\nfffffffffffffffff\r\n"), Upstream::BadFraming),
    ];
    for (bytes, reason) in table {
        let upstream = Origin::answering(bytes.as_bytes(), true).upstream(UpstreamLimits::default());
        // What came with the head may be refused with it.
        let came = match upstream.attempt(0, get("/")).await {
            Ok(answer) => whole(answer).await,
            Err(failure) => Err(failure),
        };
        let Err(failure) = came else { panic!("{bytes:?} passed as whole") };
        assert_eq!(failure.reason, *reason, "{bytes:?}: {failure}");
        assert_eq!(failure.reached, Reached::Answered, "{bytes:?}");
        let stats = upstream.stats();
        assert_eq!((stats.busy, stats.idle), (0, 0), "{bytes:?}");
    }
}

#[tokio::test]
async fn a_reset_in_mid_body_is_a_short_body() {
    let origin = Origin::scripted(|mut stream, _| {
        read_head(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello").unwrap();
        let socket = rustix::net::sockopt::set_socket_linger(&stream, Some(std::time::Duration::ZERO));
        socket.unwrap();
    });
    let upstream = origin.upstream(UpstreamLimits::default());
    // The reset may overtake the head; either way it must not pass as a whole answer.
    match upstream.attempt(0, get("/")).await {
        Ok(answer) => assert_eq!(whole(answer).await.unwrap_err().reason, Upstream::ShortBody),
        Err(failure) => assert_eq!(failure.reason, Upstream::Reset),
    }
}

#[tokio::test]
async fn bytes_after_the_announced_length_are_not_the_next_answer() {
    let lie =
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsmugg";
    let origin = Origin::answering(lie, false);
    let upstream = origin.upstream(UpstreamLimits::default());
    for round in 0..20 {
        let answer = upstream.attempt(0, get("/")).await.unwrap();
        assert_eq!(whole(answer).await.unwrap(), "ok", "round {round}");
    }
    assert_eq!(origin.accepted(), 20, "a connection that said too much was used again");
}

#[tokio::test]
async fn heads_without_a_body_keep_their_fields() {
    // What is announced and must not come might come all the same; where nothing is announced the connection goes on.
    for (length, goes_on) in [("1234", false), ("0", true)] {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nETag: \"x\"\r\n\r\n");
        let origin = Origin::answering(head, false);
        let upstream = origin.upstream(UpstreamLimits::default());
        for round in 0..3 {
            let answer = upstream.attempt(0, ask(Method::HEAD, "/")).await.unwrap();
            assert!(matches!(answer.body, AnswerBody::Empty));
            assert_eq!(answer.headers["content-length"], length);
            assert_eq!(answer.headers["etag"], "\"x\"");
            assert_eq!(answer.timing.reused, goes_on && round > 0);
        }
        assert_eq!(origin.accepted(), if goes_on { 1 } else { 3 });
    }
}

#[tokio::test]
async fn hop_by_hop_fields_end_here() {
    let origin = Origin::answering(
        "HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Private\r\nKeep-Alive: timeout=5\r\nX-Private: 1\r\n\
         Proxy-Connection: keep-alive\r\nTE: trailers\r\nX-Kept: 1\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\
         Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        false,
    );
    let answer = origin.upstream(UpstreamLimits::default()).attempt(0, get("/")).await.unwrap();
    let mut names: Vec<_> = answer.headers.keys().map(|n| n.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["set-cookie", "x-kept"]);
    assert_eq!(answer.headers.get_all("set-cookie").iter().count(), 2);
}

#[tokio::test]
async fn trailers_end_here() {
    let origin = Origin::answering(
        "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 7\r\n\r\n",
        false,
    );
    let upstream = origin.upstream(UpstreamLimits::default());
    let mut answer = upstream.attempt(0, get("/")).await.unwrap();
    assert_eq!(next(&mut answer).await.unwrap().unwrap().into_data().unwrap(), "hello");
    assert!(answer.headers.is_empty());
    assert!(next(&mut answer).await.is_none());
    let answer = upstream.attempt(0, get("/")).await.unwrap();
    assert!(answer.timing.reused);
}

#[tokio::test]
async fn a_head_beyond_the_limit_is_refused() {
    let limits = UpstreamLimits { head_max_bytes: 4096, ..UpstreamLimits::default() };
    let head = |bytes: usize| {
        format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: {}\r\n\r\nok", "a".repeat(bytes)).into_bytes()
    };
    let endless = Origin::scripted(|mut stream, _| {
        read_head(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream
            .write_all(b"X: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n")
            .is_ok()
        {}
    });
    let ok = Origin::answering(head(3000), false).upstream(limits.clone());
    assert_eq!(whole(ok.attempt(0, get("/")).await.unwrap()).await.unwrap(), "ok");
    for origin in [Origin::answering(head(5000), false), endless] {
        let upstream = origin.upstream(limits.clone());
        let failure = upstream.attempt(0, get("/")).await.err().expect("a head beyond the limit");
        assert_eq!(failure.reason, Upstream::HeadTooLarge, "{failure}");
        until("the connection's end", || upstream.stats().open == 0).await;
    }
}
