//! What php-fpm will not do on demand: lies, refusals, odd splits, dead connections, floods.

use crate::app::*;
use crate::ask::*;
use bytes::Bytes;
use http::Method;
use samovar_origin::{AnswerBody, Asked, Reached, ReuseAfterBody, UpstreamLimits};
use samovar_reason::Upstream;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(150);

fn under(app: &App, limits: UpstreamLimits) -> Under {
    Under::new(app.address.clone(), Path::new("/srv"), limits)
}

fn plain(app: &App) -> Under {
    under(app, UpstreamLimits::default())
}

fn joined(records: &[Vec<u8>]) -> Vec<u8> {
    records.concat()
}

#[tokio::test]
async fn answers_of_every_shape_arrive_whole() {
    let table = [
        (joined(&[out("A: 1\r\n\r\nbody"), end(0, 0)]), "body"),
        (joined(&[out("A: 1\r\n\r\n"), end(0, 0)]), ""),
        (
            joined(&[out("A: "), out("1\r\n"), out("\r\nbo"), err("x\n"), out("dy"), out(""), end(0, 0)]),
            "body",
        ),
        (joined(&[out("Content-Length: 4\r\n\r\nbody"), end(0, 0)]), "body"),
        (joined(&[err("warning"), out("\n\nbody"), err(""), end(0, 0)]), "\nbody"),
    ];
    for (bytes, body) in table {
        // In one piece, and byte by byte.
        for size in [usize::MAX, 1] {
            let bytes = bytes.clone();
            let app = App::scripted(move |mut stream, _| {
                while read_request(&mut stream) {
                    for piece in bytes.chunks(size.min(bytes.len())) {
                        stream.write_all(piece).unwrap();
                        if size == 1 {
                            std::thread::yield_now();
                        }
                    }
                }
            });
            let app = plain(&app);
            for round in 0..3 {
                assert_eq!(app.text("/x.php", "").await, body);
                until("the shelf", || app.fastcgi.stats().idle == 1).await;
                let stats = app.fastcgi.stats();
                assert_eq!((stats.connects, stats.reuses, stats.busy), (1, round, 0));
            }
        }
    }
}

#[tokio::test]
async fn what_is_wrong_has_its_reason() {
    let http = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec();
    let mut other = out("A: 1\r\n\r\n");
    other[3] = 2;
    let table = [
        (http, Upstream::NotFastCgi, Reached::Answered),
        (other, Upstream::NotFastCgi, Reached::Answered),
        (end(0, 2), Upstream::Overloaded, Reached::Sent),
        (end(0, 1), Upstream::NotFastCgi, Reached::Sent),
        (end(0, 3), Upstream::NotFastCgi, Reached::Sent),
        (end(0, 0), Upstream::BadHead, Reached::Answered),
        (joined(&[out("A: 1\r\n"), end(0, 0)]), Upstream::BadHead, Reached::Answered),
        (out("no head\r\n\r\n"), Upstream::BadHead, Reached::Answered),
        (out("A: 1\r\n"), Upstream::Reset, Reached::Answered),
        (Vec::new(), Upstream::Reset, Reached::Sent),
        (out(&format!("A: {}\r\n\r\n", "x".repeat(60_000))), Upstream::HeadTooLarge, Reached::Answered),
        (joined(&[out("Content-Length: 9\r\n\r\nbody"), end(0, 0)]), Upstream::ShortBody, Reached::Answered),
        (joined(&[out("Content-Length: 3\r\n\r\nbody"), end(0, 0)]), Upstream::BadFraming, Reached::Answered),
        (joined(&[out("A: 1\r\n\r\nbody"), record(9, b"")]), Upstream::NotFastCgi, Reached::Answered),
        (out("A: 1\r\n\r\nbody"), Upstream::ShortBody, Reached::Answered),
    ];
    for (bytes, reason, reached) in table {
        let app = App::answering(bytes.clone(), true);
        let limits = UpstreamLimits { head_max_bytes: 32 * 1024, ..UpstreamLimits::default() };
        let app = under(&app, limits);
        let shown = bytes[..bytes.len().min(60)].escape_ascii().to_string();
        let failure = match app.ask(get("/x.php", "")).await {
            Ok(answer) => whole(answer).await.expect_err(&shown),
            Err(failure) => failure,
        };
        assert_eq!((failure.reason, failure.reached), (reason, reached), "{shown}: {failure}");
        let stats = app.fastcgi.stats();
        assert_eq!((stats.open - stats.idle, stats.busy), (0, 0), "{shown}");
    }
}

#[tokio::test]
async fn last_words_end_in_the_detail() {
    let app = App::answering(joined(&[err("PHP message: out of memory\n"), end(255, 0)]), true);
    let app = plain(&app);
    let failure = app.ask(get("/x.php", "")).await.err().unwrap();
    let detail = "the script ended without an answer; its last words: PHP message: out of memory";
    assert_eq!(failure.detail, detail);
    assert_eq!(app.said(), "PHP message: out of memory\nthe script ended with status 255");
}

#[tokio::test]
async fn an_announced_length_that_came_is_a_whole_answer() {
    // The application dies after the last announced byte: nothing is missing.
    let app = App::scripted(|mut stream, _| {
        read_request(&mut stream);
        stream.write_all(&out("Content-Length: 8\r\n\r\nhalf")).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        stream.write_all(&out("half")).unwrap();
    });
    assert_eq!(plain(&app).text("/x.php", "").await, "halfhalf");
}

#[tokio::test]
async fn an_application_that_answers_before_it_reads_is_heard() {
    const BYTES: usize = 8 * 1024 * 1024;
    // Fills the socket with its answer while its input fills the other direction: whoever insists on one
    // direction first hangs here.
    let app = App::scripted(|mut stream, _| {
        assert!(read_params(&mut stream));
        stream.write_all(&out("A: 1\r\n\r\n")).unwrap();
        for _ in 0..BYTES / 32768 {
            stream.write_all(&record(6, &[b'o'; 32768])).unwrap();
        }
        let mut input = 0;
        while let Some((5, content)) = read_record(&mut stream) {
            input += content.len();
            if content.is_empty() {
                break;
            }
        }
        assert_eq!(input, BYTES);
        stream.write_all(&end(0, 0)).unwrap();
        read_record(&mut stream);
    });
    let app = plain(&app);
    let answer = app.ask(post("/x.php", "", vec![b'i'; BYTES], true)).await.unwrap();
    let body =
        tokio::time::timeout(Duration::from_secs(20), bytes_of(answer)).await.expect("a deadlock").unwrap();
    assert_eq!(body.len(), BYTES);
    assert_eq!(
        app.fastcgi.stats().idle,
        0,
        "a response before the end of the content is the connection's last"
    );
}

/// Where an application may have left content unread it may have lost its place among the records.
#[tokio::test]
async fn after_content_a_connection_goes_on_only_where_it_was_read() {
    for (method, status, after_body, goes_on) in [
        (Method::POST, 200, ReuseAfterBody::Auto, true),
        (Method::PUT, 303, ReuseAfterBody::Auto, true),
        (Method::POST, 404, ReuseAfterBody::Auto, false),
        (Method::POST, 302, ReuseAfterBody::Auto, false),
        (Method::GET, 200, ReuseAfterBody::Auto, false),
        (Method::DELETE, 200, ReuseAfterBody::Auto, false),
        (Method::POST, 200, ReuseAfterBody::Never, false),
    ] {
        let app = App::scripted(move |mut stream, _| {
            while read_request(&mut stream) {
                let head = format!("Status: {status}\r\n\r\nbody");
                stream.write_all(&joined(&[out(&head), end(0, 0)])).unwrap();
            }
        });
        let app = under(&app, UpstreamLimits { reuse_after_body: after_body, ..UpstreamLimits::default() });
        let asked = Asked { method: method.clone(), ..post("/x.php", "", b"content".to_vec(), true) };
        let answer = app.ask(asked).await.unwrap();
        assert_eq!(answer.timing.last_use.is_none(), goes_on, "{method} {status}");
        assert_eq!(whole(answer).await.unwrap(), "body");
        until("the permit is free", || app.fastcgi.stats().busy == 0).await;
        let stats = app.fastcgi.stats();
        assert_eq!(
            (stats.open, stats.idle),
            (usize::from(goes_on), usize::from(goes_on)),
            "{method} {status}"
        );
    }
}

#[tokio::test]
async fn input_that_is_not_wanted_does_not_spoil_the_answer() {
    let app = App::scripted(|mut stream, number| {
        assert!(read_params(&mut stream));
        stream.write_all(&joined(&[out("Status: 413\r\n\r\nmuch"), end(0, 0)])).unwrap();
        if number > 0 {
            // Some also close at once, with input unread: a reset.
            return;
        }
        while read_record(&mut stream).is_some() {}
    });
    let app = plain(&app);
    for _ in 0..2 {
        let (client, asked) = slow_post("/x.php", "", 1 << 30);
        client.send(Bytes::from(vec![0; 10])).unwrap();
        let answer = app.ask(asked).await.unwrap();
        assert_eq!(answer.status, 413);
        assert_eq!(whole(answer).await.unwrap(), "much");
        assert_eq!(app.fastcgi.stats().idle, 0, "a connection in mid-upload was kept");
    }
}

#[tokio::test]
async fn memory_stays_bounded_behind_a_fast_application() {
    let written = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&written);
    let app = App::scripted(move |mut stream, _| {
        read_request(&mut stream);
        stream.write_all(&out("A: 1\r\n\r\n")).unwrap();
        let piece = record(6, &[b'x'; 65_000]);
        while stream.write_all(&piece).is_ok() {
            counter.fetch_add(65_000, Ordering::Relaxed);
        }
    });
    let app = plain(&app);
    let mut answer = app.ask(get("/x.php", "")).await.unwrap();
    let mut read = 0_u64;
    for _ in 0..10 {
        read += next(&mut answer).await.unwrap().unwrap().len() as u64;
        // A slow reader: the application must come to a stop with what the kernel's buffers hold.
        let mut before = u64::MAX;
        while before != written.load(Ordering::Relaxed) {
            before = written.load(Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }
    let ahead = written.load(Ordering::Relaxed) - read;
    let AnswerBody::Stream { frames, .. } = &mut answer.body else { panic!("a stream") };
    // Nothing of it is ours: pieces that were received lie in one read's buffer.
    assert!(frames.size_hint().exact().is_none());
    assert!(ahead < 16 * 1024 * 1024, "{ahead} bytes were taken in advance");
}

#[tokio::test]
async fn leaving_sends_an_abort_and_closes() {
    let (sender, seen) = mpsc::channel();
    let app = App::scripted(move |mut stream, _| {
        read_request(&mut stream);
        stream.write_all(&out("A: 1\r\n\r\nsome")).unwrap();
        sender.send((read_record(&mut stream), read_record(&mut stream))).unwrap();
    });
    let app = plain(&app);
    let mut answer = app.ask(get("/x.php", "")).await.unwrap();
    assert_eq!(next(&mut answer).await.unwrap().unwrap(), "some");
    drop(answer);
    let (abort, after) = seen.recv_timeout(Duration::from_secs(10)).unwrap();
    assert_eq!((abort, after), (Some((2, Vec::new())), None));
    assert_eq!((app.fastcgi.stats().open, app.fastcgi.stats().busy), (0, 0));
}

#[tokio::test]
async fn a_reader_who_counts_keeps_the_connection() {
    // The end record comes late; one who stops at the announced length must not cost the connection.
    let app = App::scripted(|mut stream, _| {
        while read_request(&mut stream) {
            stream.write_all(&out("Content-Length: 4\r\n\r\nbody")).unwrap();
            std::thread::sleep(Duration::from_millis(30));
            stream.write_all(&end(0, 0)).unwrap();
        }
    });
    let upstream = plain(&app);
    for _ in 0..3 {
        let mut answer = upstream.ask(get("/x.php", "")).await.unwrap();
        assert_eq!(next(&mut answer).await.unwrap().unwrap(), "body");
        drop(answer);
        assert_eq!(upstream.fastcgi.stats().busy, 1, "the application is still busy with it");
        until("the shelf", || upstream.fastcgi.stats().idle == 1).await;
        assert_eq!(upstream.fastcgi.stats().busy, 0);
    }
    assert_eq!(app.accepted(), 1);
}

#[tokio::test]
async fn a_head_request_keeps_the_connection_too() {
    let long = format!("Content-Length: 60000\r\n\r\n{}", "x".repeat(60_000));
    let app = App::answering(joined(&[out(&long), end(0, 0)]), false);
    let upstream = plain(&app);
    for _ in 0..3 {
        let answer = upstream.ask(Asked { method: Method::HEAD, ..get("/x.php", "") }).await.unwrap();
        assert!(matches!(answer.body, AnswerBody::Empty));
        assert_eq!(answer.headers["content-length"], "60000");
        until("the shelf", || upstream.fastcgi.stats().idle == 1).await;
    }
    assert_eq!(app.accepted(), 1);
}

/// Answers the first request of each connection; at the second it closes without a word.
fn treacherous() -> (App, Arc<AtomicUsize>) {
    let second = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&second);
    let app = App::scripted(move |mut stream, _| {
        read_request(&mut stream);
        stream.write_all(&joined(&[out("A: 1\r\n\r\nok"), end(0, 0)])).unwrap();
        if read_request(&mut stream) {
            seen.fetch_add(1, Ordering::SeqCst);
        }
    });
    (app, second)
}

#[tokio::test]
async fn a_dead_reused_connection_is_replaced_once() {
    let (app, second) = treacherous();
    let upstream = plain(&app);
    assert_eq!(upstream.text("/x.php", "").await, "ok");
    assert_eq!(upstream.text("/x.php", "").await, "ok");
    assert_eq!((second.load(Ordering::SeqCst), app.accepted()), (1, 2));

    // What could not be repeated takes no such risk: it gets a new connection, and the old one's place.
    for asked in [post("/x.php", "", "x", true), Asked { method: Method::POST, ..get("/x.php", "") }] {
        let answer = upstream.ask(asked).await.unwrap();
        assert!(!answer.timing.reused);
        assert_eq!(whole(answer).await.unwrap(), "ok");
        assert_eq!(upstream.fastcgi.stats().open, 1);
    }
    assert_eq!((second.load(Ordering::SeqCst), app.accepted()), (1, 4));
}

#[tokio::test]
async fn a_connection_closed_while_idle_is_noticed() {
    let (sender, closed) = mpsc::channel();
    let app = App::scripted(move |mut stream, _| {
        read_request(&mut stream);
        stream.write_all(&joined(&[out("A: 1\r\n\r\nok"), end(0, 0)])).unwrap();
        drop(stream);
        sender.send(()).unwrap();
    });
    let upstream = plain(&app);
    for _ in 0..5 {
        let answer = upstream.ask(get("/x.php", "")).await.unwrap();
        assert!(!answer.timing.reused);
        assert_eq!(whole(answer).await.unwrap(), "ok");
        closed.recv_timeout(Duration::from_secs(10)).unwrap();
        assert_eq!(upstream.fastcgi.stats().reuses, 0, "a dead connection was taken for a live one");
    }
}

#[tokio::test]
async fn each_silence_has_its_limit() {
    let limits = UpstreamLimits { head_timeout: SHORT, body_timeout: SHORT, ..UpstreamLimits::default() };
    let (sender, aborted) = mpsc::channel();
    let mute = App::scripted(move |mut stream, _| {
        read_request(&mut stream);
        sender.send(read_record(&mut stream)).unwrap();
    });
    let app = under(&mute, limits.clone());
    let failure = app.ask(get("/x.php", "")).await.err().unwrap();
    assert_eq!((failure.reason, failure.reached), (Upstream::HeadTimeout, Reached::Sent), "{failure}");
    assert_eq!(aborted.recv_timeout(Duration::from_secs(10)).unwrap(), Some((2, Vec::new())));

    let half = App::scripted(|mut stream, _| {
        read_request(&mut stream);
        stream.write_all(&out("A: 1\r\n\r\nhalf")).unwrap();
        read_record(&mut stream);
    });
    let app = under(&half, limits.clone());
    let failure = whole(app.ask(get("/x.php", "")).await.unwrap()).await.unwrap_err();
    assert_eq!((failure.reason, failure.reached), (Upstream::BodyTimeout, Reached::Answered), "{failure}");

    // A slow client is not a slow application.
    let app = under(&App::answering(joined(&[out("A: 1\r\n\r\nok"), end(0, 0)]), false), limits);
    let (client, asked) = slow_post("/x.php", "", 6);
    let begun = Instant::now();
    let (answer, ()) = tokio::join!(app.ask(asked), async {
        for _ in 0..6 {
            tokio::time::sleep(SHORT / 2).await;
            client.send(Bytes::from_static(b"x")).unwrap();
        }
    });
    assert_eq!(whole(answer.unwrap()).await.unwrap(), "ok");
    assert!(begun.elapsed() > SHORT * 2);
}

#[tokio::test]
async fn a_client_that_breaks_its_word_is_named() {
    let app = App::scripted(|mut stream, _| while read_record(&mut stream).is_some() {});
    let app = plain(&app);
    let (client, asked) = slow_post("/x.php", "", 5);
    client.send(Bytes::from_static(b"hel")).unwrap();
    drop(client);
    let failure = app.ask(asked).await.err().unwrap();
    assert_eq!(failure.reason, Upstream::ClientGone);
    assert_eq!(failure.detail, "the client's body ended 2 bytes early");
    assert_eq!(app.fastcgi.stats().open, 0);
}

#[tokio::test]
async fn a_shelf_is_emptied_for_those_in_the_backlog() {
    // One child, as php-fpm has it: a connection occupies it for as long as it is open.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            while read_request(&mut stream) {
                std::thread::sleep(Duration::from_millis(2));
                if stream.write_all(&joined(&[out("A: 1\r\n\r\nok"), end(0, 0)])).is_err() {
                    break;
                }
            }
        }
    });
    let address = samovar_origin::Address::Tcp("127.0.0.1".to_owned(), port);
    let limits = UpstreamLimits { head_timeout: Duration::from_secs(10), ..UpstreamLimits::default() };
    let upstream = Under::new(address, Path::new("/srv"), limits);
    let local = tokio::task::LocalSet::new();
    for core in 0..30 {
        let (fastcgi, script) = (Arc::clone(&upstream.fastcgi), upstream.script("/x.php"));
        local.spawn_local(async move {
            for _ in 0..3 {
                let answer = fastcgi.attempt(core % 2, get("/x.php", ""), script.clone()).await;
                assert_eq!(whole(answer.unwrap_or_else(|f| panic!("{f}"))).await.unwrap(), "ok");
            }
        });
    }
    local.await;
}
