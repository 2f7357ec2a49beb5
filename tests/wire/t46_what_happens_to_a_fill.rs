//! Fills and what overtakes them: clients that leave, purges, newer answers, errors that say nothing of the resource; and
//! those that nobody waits for.

use samovar_tests::client::Client;
use samovar_tests::origin::{After, Asked, Origin, own};
use samovar_tests::server::{Server, soon};
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// More than is fetched for nobody.
const LARGE: usize = 17 * 1024 * 1024;

/// An origin that waits for `go` before each head.
fn held(
    answer: impl Fn(&Asked) -> (&'static str, Vec<u8>) + Send + Sync + 'static,
) -> (Origin, Arc<AtomicBool>) {
    let go = Arc::new(AtomicBool::new(false));
    let wait = Arc::clone(&go);
    let origin = Origin::raw(move |asked, stream| {
        while !wait.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let (head, body) = answer(asked);
        let head = format!("HTTP/1.1 {head}Content-Length: {}\r\n\r\n", body.len());
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        After::Keep
    });
    (origin, go)
}

fn waiting(server: &Server, count: usize) -> Vec<Client> {
    let mut clients: Vec<Client> = (0..count).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET /x HTTP/1.1\r\nHost: test\r\n\r\n");
    }
    clients
}

/// Time for all requests to reach the server and to wait. What is asserted holds without it; it only makes them meet.
fn meet(origin: &Origin) {
    soon("the fetch", || (origin.count() >= 1).then_some(()));
    std::thread::sleep(Duration::from_millis(250));
}

#[test]
fn those_who_wait_get_it_though_who_began_has_left() {
    let (origin, go) = held(|_| ("200 OK\r\nCache-Control: max-age=60\r\n", vec![b'x'; LARGE]));
    let server = Server::before(&origin.url, &["--workers", "1"]);
    let mut first = TcpStream::connect(&server.address).unwrap();
    first.write_all(b"GET /x HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    soon("the fetch", || (origin.count() == 1).then_some(()));
    let mut clients = waiting(&server, 3);
    meet(&origin);
    drop(first);
    std::thread::sleep(Duration::from_millis(100));
    go.store(true, Ordering::SeqCst);
    for client in &mut clients {
        let answer = client.answer("GET");
        assert_eq!((answer.status, answer.whole, answer.body.len()), (200, true, LARGE));
    }
    assert_eq!(origin.count(), 1);
}

/// A head that nobody waits for is waited for a while: whoever is next may want it, but it holds a connection meanwhile.
#[test]
fn a_head_that_nobody_waits_for_is_waited_for_so_long_and_no_longer() {
    let (origin, go) = held(|_| ("200 OK\r\nCache-Control: max-age=60\r\n", b"x".to_vec()));
    let started = |abandon_after: &str| {
        let text = format!(
            "config = 1\n[[upstream]]\nname = \"slow\"\nmax_connections = 1\nabandon_after = \"{abandon_after}\"\n\
             members = [{{ url = \"{}\" }}]\n[[site]]\nname = \"one\"\ndefault = true\nupstream = \"slow\"\n",
            origin.url
        );
        let (server, _file) = Server::configured(&text, &[]);
        let mut client = server.connect();
        client.send("GET /x HTTP/1.1\r\nHost: test\r\n\r\n");
        let before = origin.count();
        soon("the fetch", || (origin.count() > before.saturating_sub(1) && busy(&server) == 1).then_some(()));
        (server, client)
    };
    let busy_for_long = |server: &Server| {
        let until = std::time::Instant::now() + Duration::from_millis(600);
        while std::time::Instant::now() < until {
            assert_eq!(busy(server), 1);
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    // As long as somebody waits, it is not given up.
    let (server, client) = started("100ms");
    busy_for_long(&server);
    drop(client);
    soon("the connection is free", || (busy(&server) == 0).then_some(()));
    // It outlives its client, and whoever comes then joins it.
    let (server, client) = started("60s");
    drop(client);
    busy_for_long(&server);
    let asked = origin.count();
    let mut next = waiting(&server, 1);
    std::thread::sleep(Duration::from_millis(100));
    go.store(true, Ordering::SeqCst);
    assert_eq!((next[0].answer("GET").text(), origin.count()), ("x".to_string(), asked));
    // Who joined has it a moment before it is laid down; until then the next one joins, too.
    soon("it is stored", || server.get("/x", &[]).is_hit().then_some(()));
    assert_eq!(origin.count(), asked, "and nobody asked anew");
}

/// What is fetched to take the place of a stale answer is wanted though nobody waits for it.
#[test]
fn a_refresh_is_not_given_up() {
    let origin = Origin::raw(|asked, stream| {
        if asked.number > 0 {
            std::thread::sleep(Duration::from_millis(500));
        }
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=0, stale-while-revalidate=60\r\nContent-Length: 1\r\n\r\n";
        let _ = stream.write_all(format!("{head}{}", asked.number.min(9)).as_bytes());
        After::Keep
    });
    let text = format!(
        "config = 1\n[[upstream]]\nname = \"slow\"\nabandon_after = \"0s\"\nmembers = [{{ url = \"{}\" }}]\n\
         [[site]]\nname = \"one\"\ndefault = true\nupstream = \"slow\"\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &[]);
    let first = server.get("/x", &[]).text();
    soon("the refresh", || (server.get("/x", &[]).text() != first).then_some(()));
}

/// The answer is too large to be kept: what was kept before is not the answer any more, whatever becomes of the origin.
#[test]
fn what_is_too_large_ends_what_it_replaces() {
    let (dead, large) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (dies, grows) = (Arc::clone(&dead), Arc::clone(&large));
    let origin = Origin::raw(move |_, stream| {
        if dies.load(Ordering::SeqCst) {
            return After::Close;
        }
        let body = if grows.load(Ordering::SeqCst) { "x".repeat(300_000) } else { "small".to_string() };
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=0\r\nETag: \"e\"\r\nTransfer-Encoding: chunked\r\n\r\n";
        let _ = stream.write_all(format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).as_bytes());
        After::Keep
    });
    let server = Server::before(&origin.url, &["--memory", "1 MiB"]);
    assert_eq!(server.get("/x", &[]).text(), "small");
    large.store(true, Ordering::SeqCst);
    assert_eq!(server.get("/x", &[]).body.len(), 300_000);
    soon("the end of the fetch", || {
        let told = server.json(&["trace", "--reason", "entry-too-large"]);
        (!told.as_array().unwrap().is_empty()).then_some(())
    });
    dead.store(true, Ordering::SeqCst);
    assert_eq!(server.get("/x", &[]).status, 502);
}

/// Requests under way at the only upstream.
fn busy(server: &Server) -> u64 {
    let all = server.json(&["limits"]);
    let named = |row: &&serde_json::Value| row["name"].as_str().unwrap().ends_with(".max_connections");
    all.as_array().unwrap().iter().find(named).unwrap()["used"].as_u64().unwrap()
}

#[test]
fn what_is_served_stale_is_refreshed_however_large() {
    let origin = Origin::new(|asked| {
        let fields = own(&[("Cache-Control", "max-age=0, stale-while-revalidate=60")]);
        (200, fields, vec![b'a' + asked.number as u8; LARGE])
    });
    let server = Server::before(&origin.url, &[]);
    assert_eq!(server.get("/x", &[]).body[0], b'a');
    soon("the refresh", || (server.get("/x", &[]).body[0] > b'a').then_some(()));
    // And the refresh has a record of its own.
    let told = server.json(&["trace", "--reason", "stored"]).to_string();
    assert!(told.contains("\"client\":\"refresh\""), "{told}");
}

#[test]
fn a_refresh_that_fails_is_told() {
    let dead = Arc::new(AtomicBool::new(false));
    let dies = Arc::clone(&dead);
    let origin = Origin::raw(move |_, stream| {
        if dies.load(Ordering::SeqCst) {
            return After::Close;
        }
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=0, stale-while-revalidate=60\r\nContent-Length: 1\r\n\r\nx";
        stream.write_all(head.as_bytes()).unwrap();
        After::Keep
    });
    let server = Server::before(&origin.url, &[]);
    server.get("/x", &[]);
    dead.store(true, Ordering::SeqCst);
    assert_eq!(server.get("/x", &[]).reason(), "stale-while-revalidate");
    let told = soon("the record", || {
        let told = server.json(&["trace", "--reason", "upstream-reset"]).to_string();
        told.contains("\"refresh\"").then_some(told)
    });
    assert!(told.contains("http://test/x"), "{told}");
}

/// Whoever asked before the purge may have what is on its way; it is not stored, and whoever asks after it begins anew,
/// together.
#[test]
fn a_purge_does_not_scatter_those_who_wait() {
    for purge in [&["cache", "purge", "/x"][..], &["cache", "purge", "--tag", "other"]] {
        let (origin, go) = held(|asked| {
            ("200 OK\r\nCache-Control: max-age=60\r\n", format!("{}", asked.number).into_bytes())
        });
        let server = Server::before(&origin.url, &["--workers", "1"]);
        let mut before = waiting(&server, 20);
        meet(&origin);
        server.tell(purge);
        let mut after = waiting(&server, 20);
        soon("the second fetch", || (origin.count() == 2).then_some(()));
        std::thread::sleep(Duration::from_millis(200));
        go.store(true, Ordering::SeqCst);
        let answers: Vec<_> = before.iter_mut().map(|client| client.answer("GET")).collect();
        assert!(answers.iter().all(|answer| answer.text() == "0"));
        if purge.contains(&"/x") {
            let own =
                answers.iter().map(|answer| answer.cache_status()).find(|said| !said.contains("collapsed"));
            let own = own.unwrap();
            assert!(own.contains("purged-in-flight") && !own.contains("; stored"), "{own}");
        }
        let mut bodies: Vec<String> = after.iter_mut().map(|client| client.answer("GET").text()).collect();
        bodies.dedup();
        assert_eq!((bodies.len(), origin.count()), (1, 2), "{purge:?}: {bodies:?}");
        assert!(server.get("/x", &[]).is_hit());
        if purge.contains(&"/x") {
            assert_eq!(server.get("/x", &[]).text(), "1", "the newer one is stored");
        }
    }
}

/// An answer that takes its time does not take the place of one that came later.
#[test]
fn a_slow_answer_does_not_bring_back_what_was() {
    let permits = Arc::new(AtomicBool::new(false));
    let go = Arc::clone(&permits);
    let origin = Origin::raw(move |asked, stream| {
        let head = "HTTP/1.1 200 OK\r\nCache-Control: public, max-age=60\r\nContent-Length: 2\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let slow = asked.field("authorization").is_some();
        stream.write_all(if slow { b"o" } else { b"n" }).unwrap();
        while slow && !go.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        stream.write_all(b"!").unwrap();
        After::Keep
    });
    let server = Server::before(&origin.url, &[]);
    let mut slow = server.connect();
    slow.send("GET /x HTTP/1.1\r\nHost: test\r\nAuthorization: Basic x\r\n\r\n");
    soon("the slow one", || (origin.count() == 1).then_some(()));
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(server.get("/x", &[]).text(), "n!");
    permits.store(true, Ordering::SeqCst);
    assert_eq!(slow.answer("GET").text(), "o!");
    soon("its record", || (server.json(&["trace"]).as_array().unwrap().len() == 2).then_some(()));
    assert_eq!((server.get("/x", &[]).is_hit(), server.get("/x", &[]).text().as_str()), (true, "n!"));
}

/// A part that was stored while the whole arrived is no reason not to store the whole, if it is of the same version.
#[test]
fn a_part_does_not_keep_the_whole_out() {
    for (tag, stored) in [("e", true), ("newer", false)] {
        let permits = Arc::new(AtomicBool::new(false));
        let go = Arc::clone(&permits);
        let origin = Origin::raw(move |asked, stream| {
            if asked.field("range").is_some() {
                let head = format!(
                    "HTTP/1.1 206 P\r\nCache-Control: max-age=60\r\nETag: \"{tag}\"\r\nContent-Range: bytes 8-8/10\r\nContent-Length: 1\r\n\r\n8"
                );
                stream.write_all(head.as_bytes()).unwrap();
                return After::Keep;
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nCache-Control: public, max-age=60\r\nETag: \"e\"\r\nContent-Length: 10\r\n\r\n01234").unwrap();
            while !go.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            stream.write_all(b"56789").unwrap();
            After::Keep
        });
        let server = Server::before(&origin.url, &[]);
        let mut whole = server.connect();
        // Alone with its credentials, so that nobody joins it.
        whole.send("GET /x HTTP/1.1\r\nHost: test\r\nAuthorization: Basic x\r\n\r\n");
        soon("the fetch", || (origin.count() == 1).then_some(()));
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(server.get("/x", &[("Range", "bytes=8-8")]).text(), "8");
        permits.store(true, Ordering::SeqCst);
        assert_eq!(whole.answer("GET").text(), "0123456789");
        soon("its record", || (server.json(&["trace"]).as_array().unwrap().len() == 2).then_some(()));
        assert_eq!(server.get("/x", &[("Range", "bytes=0-1")]).is_hit(), stored, "{tag}");
    }
}

/// What the origin has replaced by an answer that may not be stored does not come back when the origin fails; an error of
/// the moment leaves it.
#[test]
fn what_was_replaced_does_not_stand_in() {
    for (then, comes_back) in [
        ("404 N\r\nCache-Control: no-store\r\n", false),
        ("200 OK\r\nCache-Control: no-store\r\n", false),
        ("304 N\r\nCache-Control: private\r\n", false),
        ("429 T\r\n", true),
    ] {
        let at = Arc::new(AtomicU64::new(0));
        let step = Arc::clone(&at);
        let origin = Origin::raw(move |_, stream| {
            let head = match step.load(Ordering::SeqCst) {
                0 => "200 OK\r\nCache-Control: max-age=0, stale-if-error=60\r\nETag: \"e\"\r\n",
                1 => then,
                _ => "503 S\r\n",
            };
            let end = if head.starts_with("304") { "\r\n" } else { "Content-Length: 1\r\n\r\nx" };
            stream.write_all(format!("HTTP/1.1 {head}{end}").as_bytes()).unwrap();
            After::Keep
        });
        let server = Server::before(&origin.url, &[]);
        server.get("/x", &[]);
        at.store(1, Ordering::SeqCst);
        let status = if then.starts_with("304") { "200" } else { &then[..3] };
        assert_eq!(server.get("/x", &[]).status.to_string(), status);
        at.store(2, Ordering::SeqCst);
        let last = server.get("/x", &[]);
        assert_eq!(last.reason() == "stale-if-error", comes_back, "{then}: {}", last.cache_status());
    }
}

/// RFC 5861 §4 names the errors that stale may stand in for.
#[test]
fn errors_that_stale_may_stand_in_for() {
    for (status, stands_in) in
        [(500, true), (501, false), (502, true), (503, true), (504, true), (505, false)]
    {
        let origin = Origin::new(move |asked| match asked.number {
            0 => (200, own(&[("Cache-Control", "max-age=0, stale-if-error=60")]), b"x".to_vec()),
            _ => (status, Vec::new(), b"error".to_vec()),
        });
        let server = Server::before(&origin.url, &[]);
        server.get("/x", &[]);
        assert_eq!(server.get("/x", &[]).text() == "x", stands_in, "{status}");
    }
}

/// One client's bad request must not switch off sharing for all.
#[test]
fn an_error_of_one_request_is_not_remembered_against_the_key() {
    for (provoking, status) in [("X-Bad", "400 B"), ("X-Large", "431 L")] {
        let (origin, go) = held(move |asked| match asked.field(&provoking.to_lowercase()) {
            Some(_) => (if status == "400 B" { "400 B\r\n" } else { "431 L\r\n" }, Vec::new()),
            None => ("200 OK\r\nCache-Control: max-age=60\r\n", b"x".to_vec()),
        });
        go.store(true, Ordering::SeqCst);
        let server = Server::before(&origin.url, &["--workers", "1"]);
        assert!(server.get("/x", &[(provoking, "1")]).status >= 400);
        go.store(false, Ordering::SeqCst);
        let mut clients = waiting(&server, 20);
        soon("the fetch", || (origin.count() >= 2).then_some(()));
        std::thread::sleep(Duration::from_millis(200));
        go.store(true, Ordering::SeqCst);
        assert!(clients.iter_mut().all(|client| client.answer("GET").text() == "x"));
        assert_eq!(origin.count(), 2, "{provoking}");
    }
}

/// Players ask for the same first bytes, all at once: one fetch for those who want the very same.
#[test]
fn equal_ranges_share_a_fetch() {
    let (origin, go) = held(|asked| match asked.field("range") {
        Some("bytes=0-3") => (
            "206 P\r\nCache-Control: max-age=60\r\nETag: \"e\"\r\nContent-Range: bytes 0-3/10\r\n",
            b"0123".to_vec(),
        ),
        Some("bytes=4-5") => (
            "206 P\r\nCache-Control: max-age=60\r\nETag: \"e\"\r\nContent-Range: bytes 4-5/10\r\n",
            b"45".to_vec(),
        ),
        other => panic!("{other:?}"),
    });
    let server = Server::before(&origin.url, &["--workers", "1"]);
    let mut clients: Vec<Client> = (0..20).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let range = if number < 15 { "0-3" } else { "4-5" };
        client.send(format!("GET /x HTTP/1.1\r\nHost: test\r\nRange: bytes={range}\r\n\r\n"));
    }
    soon("both fetches", || (origin.count() == 2).then_some(()));
    std::thread::sleep(Duration::from_millis(200));
    go.store(true, Ordering::SeqCst);
    for (number, client) in clients.iter_mut().enumerate() {
        let answer = client.answer("GET");
        let (body, range) = if number < 15 { ("0123", "bytes 0-3/10") } else { ("45", "bytes 4-5/10") };
        assert_eq!((answer.status, answer.text().as_str()), (206, body), "{}", answer.cache_status());
        assert_eq!(answer.field("content-range"), Some(range));
    }
    assert_eq!(origin.count(), 2);
}

/// Ranges fetched side by side are put together in whatever order they end.
#[test]
fn ranges_side_by_side_are_all_kept() {
    let (origin, go) = held(|asked| {
        let first: usize = asked.field("range").unwrap()[6..].split('-').next().unwrap().parse().unwrap();
        let body = (first..first + 100).map(|at| b'a' + (at / 100) as u8).collect();
        let range: &'static str = ["0-99", "100-199", "200-299", "300-399", "400-499"][first / 100];
        let head = format!(
            "206 P\r\nCache-Control: max-age=60\r\nETag: \"e\"\r\nContent-Range: bytes {range}/500\r\n"
        );
        (Box::leak(head.into_boxed_str()), body)
    });
    let server = Server::before(&origin.url, &["--workers", "2"]);
    let mut clients: Vec<Client> = (0..5).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let (from, to) = (number * 100, number * 100 + 99);
        client.send(format!("GET /x HTTP/1.1\r\nHost: test\r\nRange: bytes={from}-{to}\r\n\r\n"));
    }
    soon("all fetches", || (origin.count() == 5).then_some(()));
    go.store(true, Ordering::SeqCst);
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.answer("GET").body, vec![b'a' + number as u8; 100]);
    }
    let whole =
        soon("the last to be stored", || Some(server.get("/x", &[])).filter(|answer| answer.is_hit()));
    let want: Vec<u8> = (0..500).map(|at| b'a' + (at / 100) as u8).collect();
    assert_eq!((whole.status, whole.is_hit(), whole.body), (200, true, want));
    assert_eq!(origin.count(), 5);
}

/// Nobody asked whether something changed.
#[test]
fn an_unasked_304_is_no_answer_to_a_range_either() {
    let origin = Origin::new(|_| (304, own(&[("ETag", "\"e\"")]), Vec::new()));
    let server = Server::before(&origin.url, &[]);
    for fields in [&[][..], &[("Range", "bytes=0-1")]] {
        assert_eq!(server.get("/x", fields).status, 502, "{fields:?}");
    }
}

/// A field that is ours in every request makes no variants.
#[test]
fn what_we_say_ourselves_makes_no_variants() {
    let origin = Origin::new(|_| {
        (
            200,
            own(&[("Cache-Control", "max-age=60"), ("Vary", "Surrogate-Capability, Connection")]),
            b"x".to_vec(),
        )
    });
    let server = Server::before(&origin.url, &[]);
    server.get("/x", &[]);
    assert!(server.get("/x", &[]).is_hit() && server.get("/x", &[("Connection", "close")]).is_hit());
}

/// Whoever reads along is told in its own record that it broke off, and why.
#[test]
fn those_who_read_along_are_told_why_it_broke_off() {
    let go = Arc::new(AtomicBool::new(false));
    let wait = Arc::clone(&go);
    let origin = Origin::raw(move |_, stream| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 100\r\n\r\nxxx")
            .unwrap();
        while !wait.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        After::Close
    });
    let server = Server::before(&origin.url, &["--workers", "1"]);
    let mut clients = waiting(&server, 5);
    meet(&origin);
    go.store(true, Ordering::SeqCst);
    for client in &mut clients {
        assert!(!client.answer("GET").whole);
    }
    let told = soon("five records", || {
        let told = server.json(&["trace", "--reason", "upstream-short-body"]);
        (told.as_array().unwrap().len() == 5).then_some(told)
    });
    assert!(told.to_string().contains("joined"), "{told}");
    let explained = server.tell(&["explain", "/x"]);
    assert!(explained.contains("when it was last asked for"), "{explained}");
    assert!(!explained.contains("the answer is stored"), "{explained}");
}
