//! At the door: refusals, timeouts, limits, half-closed clients, upgrades and stopping, on a paused clock.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod common;

use bytes::Bytes;
use common::Side;
use common::rig::{answer, limits, on_local, rig, rig_with, statuses};
use http::Response;
use http_body_util::Full;
use samovar_hot::{Accepted, End, Hub, Limits, engine, serve};
use samovar_reason::{Hot, Reject};
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep};

const HOT: &str = "GET /hot HTTP/1.1\r\nHost: a\r\n\r\n";
const COLD: &str = "GET /cold HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn refusals_are_answered_behind_earlier_answers_and_close() {
    let long_line = format!("GET /{} HTTP/1.1\r\n", "x".repeat(1_000));
    let long_head = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(4_000));
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(20));
    for (request, status) in [
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: a\n\n", 400),
        ("GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
        ("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        ("GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", 417),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100001\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (&long_line, 414),
        (&long_head, 431),
        (&many, 431),
    ] {
        for before in ["", HOT, COLD, &format!("{HOT}{COLD}{HOT}")] {
            on_local(async {
                let mut rig = rig(100_000);
                rig.send(before).await;
                rig.send(request).await;
                let read = rig.read_all().await;
                let mut wanted = vec![200; before.matches("GET").count()];
                wanted.push(status);
                assert_eq!(statuses(&read), wanted, "{before:?} {request:?}");
                assert_eq!(rig.rejects().len(), 1);
                assert!(matches!(rig.end().await, End::Closed));
            });
        }
    }
}

#[test]
fn a_refused_client_that_goes_on_sending_gets_its_answer_and_is_let_go() {
    on_local(async {
        let mut rig = rig(100);
        rig.send("GET / HTTP/1.1\r\n\r\n").await;
        let (mut from, mut to) = tokio::io::split(rig.client);
        let (read, ()) = tokio::join!(
            async {
                let mut all = String::new();
                from.read_to_string(&mut all).await.unwrap();
                all
            },
            async { while to.write_all(&[b'x'; 50]).await.is_ok() {} }
        );
        assert_eq!(statuses(&read), [400]);
        rig.server.await.unwrap();
    });
}

/// Over a real socket: closing with bytes unread would reset the connection under the answer.
#[test]
fn the_answer_to_a_refused_upload_is_not_lost_to_a_reset() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let hub = Hub::new(Side::new() as _);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let client = std::thread::spawn(move || {
            use std::io::{Read, Write};
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            stream.write_all(b"POST / HTTP/1.1\r\n\r\n").unwrap();
            // The answer is here and the server has closed its side; an upload goes on for a moment all the same.
            stream.peek(&mut [0]).unwrap();
            for _ in 0..5 {
                std::thread::sleep(Duration::from_millis(2));
                stream.write_all(&[b'x'; 20_000])?;
            }
            stream.shutdown(std::net::Shutdown::Write)?;
            let mut read = String::new();
            stream.read_to_string(&mut read).map(|_| read)
        });
        let (stream, _) = listener.accept().await.unwrap();
        let layer = hub.accept(stream, Accepted { listener: 0, peer: None });
        let calls = Rc::default();
        let end = serve(layer, &engine(&hub), |request, conn| answer(request, conn, Rc::clone(&calls))).await;
        assert!(matches!(end, End::Closed));
        let read = client.join().unwrap().expect("an orderly end");
        assert_eq!(statuses(&read), [400]);
    });
}

#[test]
fn a_head_that_does_not_end_is_408_and_the_clock_starts_with_its_first_byte() {
    for first in ["", HOT, COLD] {
        on_local(async {
            let mut rig = rig(100_000);
            rig.send(first).await;
            sleep(Duration::from_millis(2_500)).await;
            let start = Instant::now();
            rig.send("GET /x HTTP/1.1\r\nHo").await;
            sleep(Duration::from_millis(600)).await;
            rig.send("st").await;
            let read = rig.read_all().await;
            assert_eq!(statuses(&read).last(), Some(&408), "{first:?}");
            assert_eq!(rig.rejects(), [Reject::HeadTimeout]);
            assert!((1_000..1_200).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
        });
    }
}

#[test]
fn an_idle_connection_closes_silently_and_hot_answers_keep_it_alive() {
    for first in ["", HOT, COLD] {
        on_local(async {
            let mut rig = rig(100_000);
            rig.send(first).await;
            for _ in 0..5 {
                sleep(Duration::from_millis(2_500)).await;
                rig.send(HOT).await;
            }
            let start = Instant::now();
            let read = rig.read_all().await;
            assert!((2_900..3_300).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
            assert_eq!(statuses(&read), vec![200; 5 + usize::from(!first.is_empty())]);
            assert_eq!(*rig.side.dropped.borrow(), [Reject::IdleTimeout]);
            assert!(rig.rejects().is_empty());
        });
    }
}

#[test]
fn memory_of_connections_is_counted_until_they_end() {
    on_local(async {
        let mut rig = rig(4_000);
        let idle = rig.hub.connections_bytes();
        assert!(idle > 1_000);
        rig.send(HOT).await;
        assert!(rig.read_until("hot").await.contains("200"));
        assert_eq!(rig.hub.connections_bytes(), idle, "a hot answer leaves nothing behind");
        // Half a head is kept, and so is what the client does not take.
        rig.send("GET /hot HTTP/1.1\r\nHo").await;
        sleep(Duration::from_millis(10)).await;
        let kept = rig.hub.connections_bytes() - idle;
        assert!((21..2_000).contains(&kept), "{kept}");
        rig.send(&format!("st: a\r\n\r\n{}", "GET /hot HTTP/1.1\r\nHost: a\r\n\r\n".repeat(100))).await;
        sleep(Duration::from_millis(10)).await;
        let kept = rig.hub.connections_bytes() - idle;
        assert!(kept > 5_000, "{kept}");
        let mut answers = 0;
        while answers < 101 {
            answers += rig.read_until("hot").await.matches("HTTP/1.1 200").count();
        }
        sleep(Duration::from_millis(10)).await;
        assert_eq!(rig.hub.connections_bytes(), idle);
        // An engine, for a second.
        rig.send(COLD).await;
        rig.read_until("cold /cold").await;
        assert!(rig.hub.connections_bytes() > idle + 10_000);
        sleep(Duration::from_millis(1_500)).await;
        assert_eq!(rig.hub.connections_bytes(), idle);
        rig.send(COLD).await;
        drop(rig.client);
        assert!(matches!(rig.server.await.unwrap(), End::Closed | End::Failed(_)));
        assert_eq!(rig.hub.connections_bytes(), 0);
    });
}

#[test]
fn empty_lines_do_not_keep_a_connection_alive() {
    on_local(async {
        let mut rig = rig(100_000);
        let start = Instant::now();
        for _ in 0..5 {
            sleep(Duration::from_millis(500)).await;
            rig.send("\r\n").await;
        }
        assert_eq!(rig.read_all().await, "");
        assert!(start.elapsed().as_millis() < 3_300, "{:?}", start.elapsed());
    });
}

#[test]
fn a_body_that_stops_is_408_and_the_service_is_told() {
    for fields in ["Content-Length: 10\r\n\r\n12345", "Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n"] {
        on_local(async {
            let mut rig = rig(100_000);
            rig.send(&format!("POST /echo HTTP/1.1\r\nHost: a\r\n{fields}")).await;
            let start = Instant::now();
            let read = rig.read_all().await;
            assert_eq!(statuses(&read), [408]);
            assert!((2_000..2_300).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
            assert_eq!(rig.called(), ["/echo Some(BodyTimeout)"]);
            assert!(matches!(rig.end().await, End::Closed));
        });
    }
}

#[test]
fn pieces_of_a_body_may_take_their_time_together() {
    on_local(async {
        let mut rig = rig(100_000);
        rig.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n").await;
        for _ in 0..10 {
            sleep(Duration::from_millis(1_500)).await;
            rig.send("x").await;
        }
        rig.read_until("cold /echo").await;
        assert_eq!(rig.called(), ["/echo 10"]);
    });
}

#[test]
fn a_bad_chunked_body_is_answered_once() {
    for (body, status, reject) in [
        ("5\r\n12345\r\nx", 400, Reject::BadChunk),
        ("ffffff\r\n", 413, Reject::BodyTooLarge),
        ("5\n", 400, Reject::BadChunk),
    ] {
        for pipe in [10, 100_000] {
            on_local(async {
                let mut rig = rig(pipe);
                let head = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
                rig.send(&format!("{head}{body}")).await;
                // Long enough for the service to have answered too.
                sleep(Duration::from_millis(500)).await;
                let read = rig.read_all().await;
                assert_eq!(statuses(&read), [status], "{read}");
                assert_eq!(
                    read.matches("HTTP/1.1").count(),
                    1,
                    "the service's own answer must not follow: {read}"
                );
                assert_eq!(rig.rejects(), [reject]);
            });
        }
    }
}

#[test]
fn an_upload_that_breaks_off_is_the_services_to_know() {
    on_local(async {
        let mut rig = rig(100_000);
        rig.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345").await;
        rig.client.shutdown().await.unwrap();
        rig.read_all().await;
        assert_eq!(rig.called(), ["/echo None"]);
        assert!(rig.rejects().is_empty());
        rig.end().await;
    });
}

#[test]
fn a_head_behind_answers_that_nobody_reads_is_not_a_slow_head() {
    on_local(async {
        let mut rig = rig(150);
        rig.send("GET /lar").await;
        sleep(Duration::from_millis(100)).await;
        rig.send(&format!("ge HTTP/1.1\r\nHost: a\r\n\r\n{COLD}")).await;
        // Longer than a head may take, shorter than a write may stand still.
        sleep(Duration::from_millis(2_000)).await;
        rig.read_until("cold /cold").await;
        assert!(rig.rejects().is_empty());
    });
}

#[test]
fn an_unread_body_closes_after_the_answer_and_small_ones_do_not() {
    on_local(async {
        let mut rig = rig(100_000);
        rig.send(&format!("POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc{HOT}")).await;
        assert!(rig.read_until("hot").await.contains("cold /unread"));
        rig.send("POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 90000\r\n\r\nabc").await;
        assert_eq!(statuses(&rig.read_all().await), [200]);
        let start = Instant::now();
        assert!(matches!(rig.end().await, End::Closed));
        assert!(start.elapsed() < Duration::from_secs(3), "the client has closed");
    });
}

#[test]
fn a_client_that_does_not_read_is_let_go() {
    for request in [HOT, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n", COLD] {
        on_local(async {
            let mut rig = rig(50);
            let start = Instant::now();
            rig.send(request).await;
            sleep(Duration::from_millis(4_600)).await;
            assert_eq!(rig.hub.connections(), 0, "{request}");
            assert_eq!(*rig.side.dropped.borrow(), [Reject::SendTimeout]);
            assert!(start.elapsed() < Duration::from_secs(5));
        });
    }
}

#[test]
fn a_client_that_reads_slowly_is_not() {
    on_local(async {
        let mut rig = rig(10_000);
        rig.send("GET /large HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n").await;
        let (mut read, mut piece) = (0, [0; 10_000]);
        while read < 200_000 {
            sleep(Duration::from_millis(2_000)).await;
            read += rig.client.read(&mut piece).await.unwrap();
        }
        assert!(rig.side.dropped.borrow().is_empty());
    });
}

#[test]
fn a_half_closed_client_gets_its_answers_but_not_for_ever() {
    on_local(async {
        let mut one = rig(100_000);
        one.send(&format!("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n{COLD}{HOT}")).await;
        one.client.shutdown().await.unwrap();
        assert_eq!(statuses(&one.read_all().await), [200, 200, 200]);
        assert!(matches!(one.end().await, End::Closed));
        let mut two = rig(100_000);
        two.send("GET /very-slow HTTP/1.1\r\nHost: a\r\n\r\n").await;
        two.client.shutdown().await.unwrap();
        let start = Instant::now();
        assert_eq!(two.read_all().await, "");
        assert!((500..800).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
        assert!(two.called().is_empty(), "the service was dropped");
        let mut at_once = rig_with(1_000, Limits { half_close_ms: 0, ..limits() });
        at_once.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").await;
        at_once.client.shutdown().await.unwrap();
        assert_eq!(at_once.read_all().await, "");
    });
}

/// What the hot tier writes for each version and each `Connection` is what the engine writes, and the connection ends or goes
/// on alike (RFC 9112 §9.3).
#[test]
fn old_and_closing_requests_are_hot_and_close_as_the_engine_does() {
    for (line, connection) in [
        ("HTTP/1.0", ""),
        ("HTTP/1.0", "Connection: close\r\n"),
        ("HTTP/1.0", "Connection: Keep-Alive\r\n"),
        ("HTTP/1.0", "Connection: keep-alive, close\r\n"),
        ("HTTP/1.0", "Connection: keep-alive\r\nConnection: close\r\n"),
        ("HTTP/1.1", ""),
        ("HTTP/1.1", "Connection: close\r\n"),
        ("HTTP/1.1", "Connection: ,CLOSE ,\r\n"),
        ("HTTP/1.1", "Connection: close\r\nConnection: keep-alive\r\n"),
        ("HTTP/1.1", "Connection: keep-alive\r\n"),
    ] {
        on_local(async {
            let mut read = Vec::new();
            for path in ["/cold", "/hot", "/large"] {
                let mut rig = rig(1_000_000);
                // What came behind a last request is not looked at; else it is answered, and ends the connection.
                let last = "GET /cold HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
                rig.send(&format!("GET {path} {line}\r\nHost: a\r\n{connection}\r\n{last}")).await;
                let text = rig.read_all().await;
                assert_eq!(rig.side.hits.get(), u64::from(path != "/cold"), "{line} {connection:?} {path}");
                let first = text.split("\r\n\r\n").next().unwrap();
                let of_hop: Vec<_> = first
                    .lines()
                    .filter(|l| l.starts_with("HTTP/") || l.starts_with("connection: "))
                    .map(str::to_owned)
                    .collect();
                read.push((of_hop, text.matches("HTTP/1.").count()));
                assert!(matches!(rig.end().await, End::Closed));
            }
            assert_eq!((&read[0], &read[0]), (&read[1], &read[2]), "{line} {connection:?}");
        });
    }
}

#[test]
fn a_last_hot_response_is_whole_for_a_client_that_goes_on_sending() {
    on_local(async {
        // Less room than the answer takes, on either way.
        let mut rig = rig(1_000);
        let surplus = "GET /cold HTTP/1.1\r\nHost: a\r\n\r\n".repeat(100);
        let (mut from, mut to) = tokio::io::split(rig.client);
        let sending = spawn_local(async move {
            to.write_all(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await.unwrap();
            // The server closes only its own side: this does not fail.
            to.write_all(surplus.as_bytes()).await.unwrap();
            to
        });
        let mut all = Vec::new();
        from.read_to_end(&mut all).await.unwrap();
        assert!(String::from_utf8(all).unwrap().ends_with(&"x".repeat(200_000)));
        rig.client = from.unsplit(sending.await.unwrap());
        assert!(rig.called().is_empty());
        assert!(matches!(rig.end().await, End::Closed));
    });
}

#[test]
fn a_last_hot_response_that_nobody_reads_is_given_up() {
    on_local(async {
        let mut rig = rig(50);
        rig.send("GET /large HTTP/1.0\r\nHost: a\r\n\r\n").await;
        sleep(Duration::from_millis(4_600)).await;
        assert_eq!(rig.hub.connections(), 0);
        assert_eq!(*rig.side.dropped.borrow(), [Reject::SendTimeout]);
        // One that reads and never closes its own side is let go of, too.
        let mut rig = rig_with(1_000_000, limits());
        rig.send("GET /hot HTTP/1.0\r\nHost: a\r\n\r\n").await;
        let mut all = Vec::new();
        rig.client.read_to_end(&mut all).await.unwrap();
        assert_eq!(rig.hub.connections(), 1, "what the client may still send is read for a while");
        sleep(Duration::from_millis(2_200)).await;
        assert_eq!(rig.hub.connections(), 0);
    });
}

#[test]
fn expect_is_answered_when_the_body_is_wanted() {
    on_local(async {
        let mut rig = rig(100_000);
        rig.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n").await;
        assert_eq!(rig.read_until("\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
        rig.send("abc").await;
        rig.read_until("cold /echo").await;
        // A body that does not come after a 100 is still a 408.
        rig.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n").await;
        assert_eq!(statuses(&rig.read_all().await), [408]);
        assert_eq!(rig.called(), ["/echo 3", "/echo Some(BodyTimeout)"]);
    });
}

#[test]
fn an_upgrade_is_a_pipe_afterwards() {
    on_local(async {
        let mut rig = rig(100_000);
        rig.send(HOT).await;
        rig.read_until("hot").await;
        let fields = "Connection: upgrade\r\nUpgrade: x\r\n";
        rig.send(&format!("GET /upgrade HTTP/1.1\r\nHost: a\r\n{fields}\r\nahead")).await;
        assert!(rig.read_until("\r\n\r\n").await.starts_with("HTTP/1.1 101 "));
        let End::Upgraded(mut pipe) = rig.server.await.unwrap() else { panic!("not upgraded") };
        let mut five = [0; 5];
        pipe.read_exact(&mut five).await.unwrap();
        assert_eq!(&five, b"ahead");
        rig.client.write_all(b"later").await.unwrap();
        pipe.read_exact(&mut five).await.unwrap();
        assert_eq!(&five, b"later");
        pipe.write_all(b"back").await.unwrap();
        let mut four = [0; 4];
        rig.client.read_exact(&mut four).await.unwrap();
        assert_eq!(&four, b"back");
    });
}

#[test]
fn a_refused_upgrade_leaves_an_ordinary_connection() {
    on_local(async {
        let mut rig = rig(100_000);
        rig.send(&format!("GET /no HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n{HOT}"))
            .await;
        let read = rig.read_until("hot").await;
        assert_eq!(statuses(&read), [200, 200]);
        assert_eq!(rig.side.hits.get(), 1);
    });
}

#[test]
fn stopping_closes_idle_connections_and_finishes_answers() {
    on_local(async {
        // Never used, used hot, used cold.
        for first in ["", HOT, COLD] {
            let mut idle = rig(100_000);
            idle.send(first).await;
            sleep(Duration::from_millis(10)).await;
            idle.hub.drain();
            // A request that is on its way is served, and only then the connection ends.
            let mut late = rig(100_000);
            late.send(first).await;
            sleep(Duration::from_millis(10)).await;
            late.hub.drain();
            sleep(Duration::from_millis(10)).await;
            late.send(COLD).await;
            let read = late.read_all().await;
            assert!(read.contains("connection: close") && read.contains("cold /"), "{first}: {read}");
            // What was sent before idle connections are closed is seen, too.
            idle.send(COLD).await;
            idle.hub.close_idle();
            let read = idle.read_all().await;
            assert!(read.contains("connection: close") && read.contains("cold /"), "{first}: {read}");
            assert!(matches!(idle.end().await, End::Closed));
            let mut idle = rig(100_000);
            idle.send(first).await;
            sleep(Duration::from_millis(10)).await;
            idle.hub.close_idle();
            idle.read_all().await;
            assert!(matches!(idle.end().await, End::Closed));
        }
        let mut busy = rig(100_000);
        busy.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").await;
        sleep(Duration::from_millis(10)).await;
        busy.hub.drain();
        let read = busy.read_all().await;
        assert!(read.contains("connection: close") && read.ends_with("cold /slow"), "{read}");
        // A hot request that was on its way is answered by the engine, which says goodbye.
        let mut late = rig(100_000);
        late.send("GET /hot HTTP/1.1\r\nHo").await;
        sleep(Duration::from_millis(10)).await;
        late.hub.drain();
        sleep(Duration::from_millis(10)).await;
        late.send("st: a\r\n\r\n").await;
        let read = late.read_all().await;
        assert!(read.contains("connection: close") && read.ends_with("cold /hot"), "{read}");
    });
}

#[test]
fn the_service_learns_why_and_when() {
    on_local(async {
        let side = Side::new();
        let hub = Hub::new(Rc::clone(&side) as _);
        let (mut client, theirs) = tokio::io::duplex(1_000);
        let layer = hub.accept(theirs, Accepted { listener: 9, peer: None });
        let http = engine(&hub);
        let server = spawn_local(async move {
            serve(layer, &http, |_request, conn| async move {
                let text = format!(
                    "{:?} {} {}",
                    conn.refusal(),
                    conn.arrival_ns() / 1_000_000,
                    conn.accepted().listener
                );
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(text))))
            })
            .await
        });
        sleep(Duration::from_millis(40)).await;
        client.write_all(COLD.replace("GET", "HEAD").as_bytes()).await.unwrap();
        client.write_all(COLD.as_bytes()).await.unwrap();
        client.shutdown().await.unwrap();
        let mut read = String::new();
        client.read_to_string(&mut read).await.unwrap();
        assert!(read.ends_with(&format!("{:?} 40 9", Some(Hot::UnknownTarget))), "{read}");
        assert!(matches!(server.await.unwrap(), End::Closed));
    });
}

/// A client that never stops asking must not starve the core's other connections.
#[test]
fn an_endless_pipeline_yields() {
    on_local(async {
        let rig = rig(1 << 20);
        let (mut from, mut to) = tokio::io::split(rig.client);
        let flood = HOT.repeat(1_000);
        spawn_local(async move { while to.write_all(flood.as_bytes()).await.is_ok() {} });
        spawn_local(async move {
            let mut sink = vec![0; 1 << 20];
            while from.read(&mut sink).await.is_ok_and(|n| n > 0) {}
        });
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        assert!(rig.side.hits.get() > 1_000, "{}", rig.side.hits.get());
        rig.server.abort();
    });
}
