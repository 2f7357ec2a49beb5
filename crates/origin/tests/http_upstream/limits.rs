//! Time limits, refused connections, the queue: each with its own reason.

use crate::raw::*;
use bytes::Bytes;
use http::Method;
use samovar_origin::{Address, HttpSettings, HttpUpstream, Reached, UpstreamLimits};
use samovar_reason::Upstream;
use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(150);

fn at(address: Address, limits: UpstreamLimits) -> Arc<HttpUpstream> {
    HttpUpstream::new(HttpSettings {
        name: "test".to_owned(),
        address,
        host: None,
        base_path: String::new(),
        limits,
    })
}

async fn failure(upstream: &Arc<HttpUpstream>) -> samovar_origin::Failure {
    upstream.attempt(0, get("/")).await.err().expect("an attempt that fails")
}

#[tokio::test]
async fn each_way_not_to_connect_has_its_reason() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let folder = std::env::temp_dir().join(format!("samovar-connect-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let stale = folder.join("stale.sock");
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    let tcp = |host: &str, port| Address::Tcp(host.to_owned(), port);
    let refused = format!("connect to 127.0.0.1:{free}: Connection refused (os error 111)");
    let missing = format!("connect to unix:{}: No such file", folder.join("none.sock").display());
    let table = [
        (tcp("127.0.0.1", free), Upstream::Refused, refused.as_str()),
        (tcp("name.invalid", 80), Upstream::Unresolved, "resolve name.invalid: "),
        (Address::Unix(folder.join("none.sock")), Upstream::SocketMissing, missing.as_str()),
        (Address::Unix(stale), Upstream::Refused, "connect to unix:"),
    ];
    for (address, reason, detail) in table {
        let failure = failure(&at(address.clone(), UpstreamLimits::default())).await;
        assert_eq!(failure.reason, reason, "{address:?}: {failure}");
        assert!(failure.detail.starts_with(detail), "{address:?}: {failure}");
        assert_eq!(failure.reached, Reached::NotSent);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_full_backlog_is_a_connect_timeout() {
    // A backlog of one, never accepted: the kernel drops further handshakes.
    let socket =
        rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &"127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap()).unwrap();
    rustix::net::listen(&socket, 0).unwrap();
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    let _fill: Vec<_> =
        (0..4).map(|_| std::net::TcpStream::connect_timeout(&address, Duration::from_millis(100))).collect();
    let limits = UpstreamLimits { connect_timeout: SHORT, ..UpstreamLimits::default() };
    let failure = failure(&at(Address::Tcp("127.0.0.1".to_owned(), address.port()), limits)).await;
    assert_eq!(failure.reason, Upstream::ConnectTimeout, "{failure}");
    assert_eq!(failure.detail, format!("connect to {address}: no answer within 150ms"));
}

#[tokio::test]
async fn a_slow_head_and_a_slow_body_are_told_apart() {
    let limits = UpstreamLimits { head_timeout: SHORT, body_timeout: SHORT, ..UpstreamLimits::default() };
    let mute = Origin::scripted(|mut stream, _| while !sees_close(&mut stream) {});
    let dripping = Origin::scripted(|mut stream, _| {
        // Interim answers do not buy more time.
        read_head(&mut stream);
        while stream.write_all(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 ").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
            if stream.write_all(b"102 Wait\r\n\r\n").is_err() {
                return;
            }
        }
    });
    for origin in [mute, dripping] {
        let upstream = origin.upstream(limits.clone());
        let failure = failure(&upstream).await;
        assert_eq!((failure.reason, failure.reached), (Upstream::HeadTimeout, Reached::Sent), "{failure}");
        until("the connection's end", || upstream.stats().open == 0).await;
    }
    let half = Origin::scripted(|mut stream, _| {
        read_head(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello").unwrap();
        sees_close(&mut stream);
    });
    let upstream = half.upstream(limits);
    let failure = whole(upstream.attempt(0, get("/")).await.unwrap()).await.unwrap_err();
    assert_eq!((failure.reason, failure.reached), (Upstream::BodyTimeout, Reached::Answered));
    assert_eq!(failure.detail, "nothing for 150ms after 5 bytes of the body");
    until("the connection's end", || upstream.stats().open == 0).await;
}

#[tokio::test]
async fn interim_answers_without_end_are_refused() {
    let origin = Origin::scripted(|mut stream, _| {
        read_head(&mut stream);
        let many = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n".repeat(100);
        while stream.write_all(&many).is_ok() {}
    });
    let upstream = origin.upstream(UpstreamLimits::default());
    let failure = failure(&upstream).await;
    assert_eq!((failure.reason, failure.reached), (Upstream::HeadTooLarge, Reached::Answered), "{failure}");
    until("the connection's end", || upstream.stats().open == 0).await;
}

#[tokio::test]
async fn a_slow_upload_is_not_a_slow_head() {
    let origin = Origin::scripted(|mut stream, _| {
        read_head(&mut stream);
        read_exactly(&mut stream, 8);
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    });
    let limits = UpstreamLimits { head_timeout: SHORT, ..UpstreamLimits::default() };
    let upstream = origin.upstream(limits);
    let (sender, body) = channel_body();
    let mut asked = ask(Method::POST, "/");
    asked.body = Some(body);
    asked.body_bytes = Some(8);
    let begun = Instant::now();
    let sending = async {
        for _ in 0..8 {
            tokio::time::sleep(SHORT / 2).await;
            sender.send(Bytes::from_static(b"x")).unwrap();
        }
    };
    let (answer, ()) = tokio::join!(upstream.attempt(0, asked), sending);
    assert_eq!(answer.unwrap().status, 204);
    assert!(begun.elapsed() > SHORT * 2);
}

#[tokio::test]
async fn the_queue_is_bounded_in_length_and_time() {
    let limits = UpstreamLimits {
        max_connections: 1,
        queue_max: 2,
        queue_timeout: SHORT,
        ..UpstreamLimits::default()
    };
    let body = "ok".repeat(500_000);
    let origin =
        Origin::answering(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()), false);
    let upstream = origin.upstream(limits);
    // The permit belongs to the answer until its body was read.
    let held = upstream.attempt(0, get("/")).await.unwrap();
    assert_eq!(upstream.stats().busy, 1);
    let all = tokio::join!(
        upstream.attempt(0, get("/")),
        upstream.attempt(1, get("/")),
        upstream.attempt(2, get("/")),
        async { upstream.stats().waiting }
    );
    let reasons = [all.0, all.1, all.2].map(|result| result.err().map(|failure| failure.reason));
    assert_eq!(
        reasons,
        [Some(Upstream::QueueTimeout), Some(Upstream::QueueTimeout), Some(Upstream::QueueFull)]
    );
    assert_eq!(all.3, 2);
    assert_eq!(upstream.stats().waiting, 0);

    // A freed permit goes to the one who waits, and with it the connection.
    let (next, ()) = tokio::join!(upstream.attempt(0, get("/")), async {
        tokio::task::yield_now().await;
        assert_eq!(whole(held).await.unwrap(), body);
    });
    assert!(next.unwrap().timing.reused);
    assert_eq!(origin.accepted(), 1);

    // One who leaves the queue leaves no trace in it.
    let held = upstream.attempt(0, get("/")).await.unwrap();
    tokio::select! {
        biased;
        _ = upstream.attempt(0, get("/")) => panic!("no permit was free"),
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(upstream.stats().waiting, 0);
    drop(held);
    assert_eq!(upstream.stats().busy, 0);
}
