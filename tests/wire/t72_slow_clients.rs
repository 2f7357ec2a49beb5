//! Clients that take their time: those that go on slowly are served, those that only hold a place are not.

use samovar_tests::origin::{Origin, own};
use samovar_tests::server::Server;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

/// More than both ends of a connection hold between them.
const LARGE: usize = 48 << 20;

fn server(limits: &str, site: &str, origin: &Origin) -> Server {
    let text = format!(
        "config = 1\n[limits]\n{limits}\n[[site]]\nname = \"a\"\ndefault = true\norigin = \"{}\"\n{site}\n",
        origin.url
    );
    // The file is read once; only `reload` would want it again.
    Server::configured(&text, &["--workers", "1"]).0
}

fn large() -> Origin {
    Origin::new(|_| (200, own(&[("Cache-Control", "max-age=60")]), vec![b'x'; LARGE]))
}

/// A connection on which the body is about to come, and the head that came before it.
fn asked(server: &Server) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(server.url("").trim_start_matches("http://")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"GET /large HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    (stream, String::from_utf8(head).unwrap())
}

/// Reads on until `got` is the whole body, or it breaks off.
fn rest(stream: &mut TcpStream, mut got: usize) -> usize {
    let mut piece = vec![0; 1 << 20];
    while got < LARGE {
        match stream.read(&mut piece) {
            Ok(bytes @ 1..) => got += bytes,
            _ => break,
        }
    }
    got
}

#[test]
fn a_slow_reader_gets_all_of_it_and_one_that_stops_does_not() {
    let origin = large();
    for (site, reason) in [("", "fresh-hot"), ("hot = false", "fresh")] {
        let server = server("send_timeout = \"1s\"", site, &origin);
        samovar_tests::server::soon("a hit", || {
            let (mut stream, head) = asked(&server);
            rest(&mut stream, 0);
            head.contains(&format!("detail={reason}\r\n")).then_some(())
        });
        let ((mut slow, _), (mut stopped, _)) = (asked(&server), asked(&server));
        // Half a megabyte a second: the system asks for more only when a third of its megabytes is gone, later than the
        // limit.
        let (mut piece, mut got) = (vec![0; 32 << 10], 0);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(4) {
            slow.read_exact(&mut piece).unwrap();
            got += piece.len();
            std::thread::sleep(Duration::from_millis(60));
        }
        assert!(got < LARGE / 4, "it was slow: {got}");
        assert_eq!(rest(&mut slow, got), LARGE, "{reason}");
        let got = rest(&mut stopped, 0);
        assert!(got < LARGE, "{reason}: {got} of {LARGE}, though nothing was taken for four seconds");
        // It is counted under its reason; and the engine's answer as what it was, hot ones being counted as they begin.
        let status = server.json(&["status"]);
        assert_eq!(status["rejects"]["send-timeout"].as_u64(), Some(1), "{status}");
        if reason == "fresh" {
            let told = server.json(&["trace", "--reason", "send-timeout"]);
            assert_eq!(told.as_array().unwrap().len(), 1, "{told}");
            assert!(told[0]["body_bytes"].as_u64() < Some(LARGE as u64), "{told}");
        }
    }
}

/// Whoever leaves has asked all the same: before there is an answer, and in the middle of it.
#[test]
fn clients_that_leave_are_told_of() {
    let origin = Origin::new(|asked| {
        if asked.target() == "/slow" {
            // For five seconds it may have ended its sending side only.
            std::thread::sleep(Duration::from_secs(8));
        }
        (
            200,
            own(&[("Cache-Control", "no-store")]),
            vec![b'x'; if asked.target() == "/large" { LARGE } else { 9 }],
        )
    });
    let server = server("", "", &origin);
    let (stream, _) = asked(&server);
    drop(stream);
    let mut early = TcpStream::connect(&server.address).unwrap();
    early.write_all(b"GET /slow HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    drop(early);
    let told = samovar_tests::server::soon("both records", || {
        let told = server.json(&["trace", "--reason", "client-gone"]);
        (told.as_array().unwrap().len() == 2).then_some(told)
    });
    let text = told.to_string();
    assert!(text.contains("/large") && text.contains("/slow") && text.contains("499"), "{text}");
    let status = server.json(&["status"])["requests"].clone();
    assert_eq!((status["gone"].as_u64(), status["error"].as_u64()), (Some(1), Some(0)), "{status}");
    assert_eq!(server.get("/fine", &[]).body.len(), 9);
}

/// Who gets no place is told so, and so is whoever runs the server.
#[test]
fn connections_that_get_no_place_are_counted_and_said() {
    let origin = Origin::counting(&[]);
    let server = server("connections_max = 2", "", &origin);
    let mut held: Vec<_> = (0..2).map(|_| server.connect()).collect();
    held.iter_mut().for_each(|client| drop(client.get("/", &[])));
    for _ in 0..3 {
        let answer = server.connect().get("/", &[]);
        assert_eq!((answer.status, answer.reason().as_str()), (503, "too-many-connections"));
    }
    let status = server.json(&["status"]);
    assert_eq!(status["rejects"]["too-many-connections"].as_u64(), Some(3), "{status}");
    let until = Instant::now() + Duration::from_secs(30);
    while !server.said().contains("3 connections turned away: there are more connections than allowed") {
        assert!(Instant::now() < until, "{}", server.said());
        std::thread::sleep(Duration::from_millis(200));
    }
    // Fewer files than connections are promised: that is said at the start.
    let few = Command::new("bash")
        .args(["-c", "ulimit -n 600 && timeout 2 \"$0\" serve --origin http://127.0.0.1:1 --listen 127.0.0.1:0 --admin off"])
        .arg(samovar_tests::server::program("samovar"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&few.stderr).into_owned();
    assert!(said.contains("only 600 files may be open at once"), "{said}");
}

#[test]
fn a_body_that_comes_in_drops_is_refused() {
    let origin = Origin::counting(&[]);
    // Three seconds, so that a machine with much else to do is not taken for a slow client.
    let server = server("body_timeout = \"3s\"\nrate_min = \"100 B\"", "", &origin);
    let upload = |each: usize, pause_ms: u64| {
        let mut client = server.connect();
        let total = 900;
        client.send(format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {total}\r\n\r\n"));
        let begun = Instant::now();
        for _ in 0..total / each {
            client.send(vec![b'x'; each]);
            std::thread::sleep(Duration::from_millis(pause_ms));
            if begun.elapsed() > Duration::from_secs(5) {
                break;
            }
        }
        client.try_answer("POST").map(|answer| (answer.status, answer.text()))
    };
    // 225 bytes a second, in pieces; and five a second, none of them late.
    assert_eq!(upload(45, 200).unwrap().0, 200);
    let refused = upload(1, 200);
    assert!(refused.is_none_or(|(status, text)| status == 408 && text.contains("body-timeout")));
    assert_eq!(origin.count(), 1, "the other never became a whole request");
}

#[test]
fn a_connection_has_its_share_of_requests_and_of_time() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60")]);
    let limited = server("requests_per_connection = 20", "", &origin);
    limited.get("/", &[]);
    let mut client = limited.connect();
    for number in 1..=20 {
        let answer = client.get("/", &[]);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.field("connection") == Some("close"), number == 20, "request {number}");
    }
    assert!(client.is_closed());
    let why = limited.json(&["explain", "/"])["history"].to_string();
    assert!(why.contains("hot-last-of-connection"), "{why}");
    // What was sent ahead is answered, however much.
    let mut client = limited.connect();
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n".repeat(1_000));
    assert!((0..1_000).all(|_| client.answer("GET").status == 200));
    assert!(client.is_closed());

    let limited = server("connection_lifetime = \"1s\"", "", &origin);
    let (mut busy, mut idle) = (limited.connect(), limited.connect());
    idle.get("/", &[]);
    let begun = Instant::now();
    while busy.try_answer_to("/").is_some_and(|answer| answer.field("connection").is_none()) {
        assert!(begun.elapsed() < Duration::from_secs(5), "the busy one goes on");
    }
    assert!(begun.elapsed() >= Duration::from_millis(900), "{:?}", begun.elapsed());
    assert!(busy.is_closed() && idle.is_closed());
}

#[test]
fn one_address_has_its_share_of_the_connections() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60")]);
    let server_of = |more: &str| server(&format!("connections_per_address = 2{more}"), "", &origin);
    let limited = server_of("");
    let (mut first, mut second) = (limited.connect(), limited.connect());
    assert_eq!((first.get("/", &[]).status, second.get("/", &[]).status), (200, 200));
    let refused = limited.connect().answer("GET");
    assert_eq!((refused.status, refused.reason().as_str()), (503, "too-many-from-address"));
    let elsewhere = |server: &Server| {
        let args =
            ["-s", "-o", "/dev/null", "-w", "%{http_code}", "--interface", "127.0.0.2", &server.url("/")];
        String::from_utf8(Command::new("curl").args(args).output().unwrap().stdout).unwrap()
    };
    assert_eq!(elsewhere(&limited), "200", "another address has its own");
    drop(first);
    samovar_tests::server::soon("room for another", || {
        limited.connect().try_answer_to("/").filter(|answer| answer.status == 200)
    });
    // Behind a proxy there are many clients.
    let trusting = server_of("\n[server]\ntrusted_proxies = [\"127.0.0.1\"]");
    let all: Vec<_> = (0..5).map(|_| trusting.connect()).collect();
    for mut client in all {
        assert_eq!(client.get("/", &[]).status, 200);
    }
}

/// A body goes to the origin as it comes, and holds a connection there. However many come slowly, half of the connections
/// stay for others.
#[test]
fn bodies_that_are_still_coming_hold_half_of_the_connections() {
    let origin = Origin::counting(&[("Cache-Control", "no-store")]);
    let text = format!(
        "config = 1\n[[upstream]]\nname = \"o\"\nmax_connections = 2\nqueue_timeout = \"60s\"\n\
         members = [{{ url = \"{}\" }}]\n[[site]]\nname = \"a\"\ndefault = true\nupstream = \"o\"\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &[]);
    let mut uploads: Vec<_> = (0..4)
        .map(|n| {
            let mut client = server.connect();
            client.send(format!("POST /{n} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nx"));
            client
        })
        .collect();
    samovar_tests::server::soon("all but one to wait", || {
        let admin = server.admin.trim_start_matches("http://");
        let metrics = samovar_tests::client::Client::connect(admin).get("/metrics", &[("Host", admin)]);
        metrics.text().contains("samovar_upstream_requests_waiting{upstream=\"o\"} 3").then_some(())
    });
    for n in 0..3 {
        assert_eq!(server.get(&format!("/get{n}"), &[]).status, 200, "others have a connection");
    }
    for upload in &mut uploads {
        upload.send("123456789");
    }
    for upload in &mut uploads {
        assert_eq!(upload.answer("POST").status, 200, "each has its turn");
    }
}
