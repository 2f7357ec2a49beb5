//! Origins that fail, lie and stall, and clients that send nonsense: a clear error, the server unharmed.

use samovar_tests::origin::{After, Origin};
use samovar_tests::server::{self, Server};
use std::io::{Read, Write};

#[test]
fn failures_have_their_status_and_reason() {
    let refused = Server::before("http://127.0.0.1:1", &[]);
    let answer = refused.get("/", &[]);
    assert_eq!((answer.status, answer.reason().as_str()), (502, "upstream-refused"));
    assert!(answer.text().contains("127.0.0.1:1"), "those on this machine see which: {}", answer.text());
    for (bytes, status, reason) in [
        ("nonsense\r\n\r\n", 502, "upstream-bad-head"),
        ("", 502, "upstream-reset"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 502, ""),
    ] {
        let origin = Origin::raw(move |_, stream| {
            let _ = stream.write_all(bytes.as_bytes());
            After::Close
        });
        let server = Server::before(&origin.url, &[]);
        let answer = server.get("/", &[]);
        assert_eq!(answer.status, status, "{bytes:?}: {}", answer.text());
        if !reason.is_empty() {
            assert_eq!(answer.reason(), reason, "{bytes:?}");
        }
        assert_eq!(server.json(&["cache", "list"]).as_array().unwrap().len(), 0);
    }
}

#[test]
fn malformed_requests_are_refused_and_the_server_goes_on() {
    let origin = Origin::counting(&[]);
    let server = Server::before(&origin.url, &[]);
    let long_line = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(100_000));
    let long_field = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "a".repeat(200_000));
    let many = format!("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", "X: y\r\n".repeat(500));
    for (request, status) in [
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: x\n\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nBad Name: y\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n", 400),
        ("GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
        ("\u{16}\u{3}\u{1}nonsense\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\nhello", 400),
        (
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n", 417),
        ("CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", 501),
        (&long_line, 414),
        (&long_field, 431),
        (&many, 431),
        ("GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET /../../x HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ] {
        let mut client = server.connect();
        client.send(request);
        let answer = client.answer("GET");
        let shown = &request[..request.len().min(60)];
        assert_eq!(answer.status, status, "{shown:?}: {}", answer.text());
        assert!(answer.cache_status().starts_with("Samovar; "), "{shown:?}: {}", answer.cache_status());
    }
    assert_eq!(server.get("/fine", &[]).status, 200);
    let status = server.json(&["status"]);
    let rejected = status["requests"]["rejected"].as_u64().unwrap();
    assert!(rejected >= 15, "{rejected}");
    // And each under its reason.
    let by_reason = status["rejects"].as_object().unwrap();
    assert_eq!(by_reason.values().map(|n| n.as_u64().unwrap()).sum::<u64>(), rejected, "{status}");
    assert_eq!((by_reason["uri-too-long"].as_u64(), by_reason["bad-chunk"].as_u64()), (Some(1), Some(1)));
    assert!(server.tell(&["status"]).contains("  uri-too-long"));
}

/// What came before an answer broke off reaches the client, head and all, in however few packets it came.
#[test]
fn an_answer_that_breaks_off_at_once_has_a_head_and_what_came() {
    let origin = Origin::raw(|asked, stream| {
        let framing = match asked.target().contains("chunked") {
            true => "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            false => "Content-Length: 100\r\n\r\nhello",
        };
        let lifetime = if asked.target().contains("kept") { "max-age=60" } else { "no-store" };
        let answer = format!("HTTP/1.1 200 OK\r\nCache-Control: {lifetime}\r\n{framing}");
        let _ = stream.write_all(answer.as_bytes());
        After::Close
    });
    let server = Server::before(&origin.url, &[]);
    for n in 0..30 {
        for kind in ["length-kept", "length-passed", "chunked-kept", "chunked-passed"] {
            let mut client = server.connect();
            client.send(format!("GET /{kind}-{n} HTTP/1.1\r\nHost: test\r\n\r\n"));
            let answer = client.try_answer("GET").unwrap_or_else(|| panic!("{kind} {n}: no head"));
            assert_eq!(
                (answer.status, answer.text().as_str(), answer.whole),
                (200, "hello", false),
                "{kind} {n}"
            );
        }
    }
    let told = server.json(&["trace", "--reason", "upstream-short-body"]);
    assert!(!told.as_array().unwrap().is_empty(), "{told}");
}

/// A client of HTTP/1.0 knows no chunks: where no length is said either, only a break tells it that the answer is not whole.
#[test]
fn a_client_of_http_1_0_sees_the_break() {
    let origin = Origin::raw(|asked, stream| {
        let end = if asked.target() == "/whole" { "0\r\n\r\n" } else { "" };
        let answer = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n{end}");
        let _ = stream.write_all(answer.as_bytes());
        After::Close
    });
    let server = Server::before(&origin.url, &[]);
    let read = |path: &str| {
        let mut stream = std::net::TcpStream::connect(&server.address).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: test\r\n\r\n").as_bytes()).unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).map(|_| String::from_utf8(got).unwrap())
    };
    assert!(read("/whole").unwrap().ends_with("\r\n\r\nhello"));
    for _ in 0..20 {
        assert_eq!(read("/cut").unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    }
}

/// A body that is refused is one request: counted, logged and traced once, by what was asked.
#[test]
fn a_refused_body_is_one_request() {
    let origin = Origin::counting(&[]);
    let server = Server::before(&origin.url, &[]);
    let mut client = server.connect();
    client.send("POST /up HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n");
    assert_eq!(client.answer("POST").status, 400);
    let told = server::soon("its record", || {
        let told = server.json(&["trace", "--last", "10"]);
        (!told.as_array().unwrap().is_empty()).then_some(told)
    });
    assert_eq!(told.as_array().unwrap().len(), 1, "{told}");
    let record = told[0].to_string();
    assert!(record.contains("/up") && record.contains("POST") && record.contains("bad-chunk"), "{record}");
    let status = server.json(&["status"])["requests"].clone();
    let count = |name: &str| status[name].as_u64().unwrap();
    assert_eq!((count("rejected"), count("error"), count("gone"), count("pass")), (1, 0, 0, 0), "{status}");
    // Of a HEAD only the head is answered.
    let mut head = server.connect();
    head.send("HEAD / HTTP/1.1\r\n\r\n");
    assert_eq!(head.answer("HEAD").status, 400);
    assert!(head.rest().is_empty());
    let admin = server.admin.trim_start_matches("http://").to_string();
    let metrics = samovar_tests::client::Client::connect(&admin).get("/metrics", &[("Host", &admin)]).text();
    assert!(metrics.contains("samovar_responses_total{class=\"4xx\"} 2"), "{metrics}");
}

#[test]
fn uploads_reach_the_origin_whole_in_either_framing() {
    let origin = Origin::new(|asked| (200, vec![], format!("{}", asked.body.len()).into_bytes()));
    let server = Server::before(&origin.url, &[]);
    let mut client = server.connect();
    assert_eq!(client.request("POST", "/", &[], &vec![1; 3_000_000]).text(), "3000000");
    client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n");
    assert_eq!(client.answer("POST").text(), "7");
    // Of a GET, too: it is unusual, and nobody's to drop.
    client.send("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    assert_eq!(client.answer("GET").text(), "3");
    client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    assert_eq!(client.one("POST").unwrap().status, 100);
    client.send("hi");
    assert_eq!(client.answer("POST").text(), "2");
    assert_eq!(client.get("/", &[]).text(), "0", "the connection is in step");
}

#[test]
fn hop_by_hop_fields_end_here_and_the_chain_is_told() {
    let origin = Origin::counting(&[]);
    let server = Server::before(&origin.url, &[]);
    server.get(
        "/",
        &[
            ("Connection", "keep-alive, X-Hop"),
            ("X-Hop", "1"),
            ("Keep-Alive", "5"),
            ("Proxy", "evil"),
            ("X-Forwarded-For", "6.6.6.6"),
            ("Forwarded", "for=6.6.6.6"),
            ("X-End", "kept"),
        ],
    );
    let asked = &origin.asked()[0];
    for name in ["x-hop", "keep-alive", "proxy"] {
        assert_eq!(asked.field(name), None, "{name}");
    }
    assert_eq!(asked.field("x-end"), Some("kept"));
    assert!(asked.field("via").unwrap().contains("samovar"), "{:?}", asked.fields);
    assert!(asked.field("forwarded").unwrap().contains("127.0.0.1"), "{:?}", asked.fields);
    assert!(
        !format!("{:?}", asked.fields).contains("6.6.6.6"),
        "nobody vouches for that: {:?}",
        asked.fields
    );
}

#[test]
fn a_pipeline_is_answered_in_order() {
    let origin = Origin::new(|asked| {
        if asked.target().contains("slow") {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        (200, vec![("Cache-Control".into(), "max-age=60".into())], asked.target().as_bytes().to_vec())
    });
    let server = Server::before(&origin.url, &[]);
    for _ in 0..4 {
        let mut client = server.connect();
        let paths = ["/a", "/slow-b", "/c", "/a", "/slow-b", "/c", "/a"];
        for path in paths {
            client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
        }
        for path in paths {
            assert_eq!(client.answer("GET").text(), path);
        }
    }
}

#[test]
fn http_1_0_is_spoken() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60")]);
    let server = Server::before(&origin.url, &[]);
    for _ in 0..4 {
        let mut client = server.connect();
        client.send("GET / HTTP/1.0\r\n\r\n");
        assert_eq!(client.answer("GET").text(), "answer 0");
        assert!(client.is_closed());
    }
    let mut client = server.connect();
    client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(client.answer("GET").text(), "answer 0");
    client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(client.answer("GET").text(), "answer 0");
}

#[test]
fn one_connection_more_than_allowed_is_told_so() {
    let origin = Origin::counting(&[]);
    let text = format!(
        "config = 1\n[limits]\nconnections_max = 2\n[[site]]\nname = \"a\"\ndefault = true\norigin = \"{}\"\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &[]);
    let mut first = server.connect();
    let mut second = server.connect();
    assert_eq!((first.get("/", &[]).status, second.get("/", &[]).status), (200, 200));
    let mut third = server.connect();
    let answer = third.answer("GET");
    assert_eq!((answer.status, answer.reason().as_str()), (503, "too-many-connections"));
    drop(second);
    samovar_tests::server::soon("room for another", || {
        server.connect().try_answer_to("/").filter(|a| a.status == 200)
    });
}

#[test]
fn slow_heads_and_bodies_have_their_time() {
    let origin = Origin::counting(&[]);
    let text = format!(
        "config = 1\n[limits]\nhead_timeout = \"300ms\"\nbody_timeout = \"300ms\"\nidle_timeout = \"400ms\"\n\
         [[site]]\nname = \"a\"\ndefault = true\norigin = \"{}\"\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &[]);
    let mut slow = server.connect();
    slow.send("GET / HTTP/1.1\r\nHost: x\r\n");
    let answer = slow.answer("GET");
    assert_eq!((answer.status, answer.reason().as_str()), (408, "head-timeout"), "{}", answer.text());
    assert!(answer.text().contains("head-timeout"), "{}", answer.text());
    let mut upload = server.connect();
    upload.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    assert!(upload.try_answer("POST").is_none_or(|a| a.status == 408 || a.status == 400));
    assert!(server.connect().is_closed(), "an idle connection is closed silently");
    assert_eq!(server.get("/", &[]).status, 200);
}

/// Under steady load at least 99 of 100 requests find a connection to the upstream that was used before.
#[test]
fn connections_to_an_upstream_are_used_again() {
    let origin = Origin::counting(&[("Cache-Control", "no-store")]);
    let server = Server::before(&origin.url, &["--workers", "2"]);
    std::thread::scope(|scope| {
        for client in 0..8 {
            let server = &server;
            scope.spawn(move || {
                let mut connection = server.connect();
                for turn in 0..250 {
                    assert_eq!(connection.get(&format!("/{client}/{turn}"), &[]).status, 200);
                }
            });
        }
    });
    let admin = server.admin.trim_start_matches("http://");
    let metrics = samovar_tests::client::Client::connect(admin).get("/metrics", &[("Host", admin)]).text();
    let count = |name: &str| -> u64 {
        let line = metrics
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{name}: {metrics}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let (connects, reuses) =
        (count("samovar_upstream_connects_total"), count("samovar_upstream_reuses_total"));
    assert_eq!((origin.count(), connects + reuses), (2_000, 2_000), "each request is one or the other");
    assert!(connects <= 16, "{connects} connections for 8 clients on two cores");
    assert!(reuses * 100 >= 2_000 * 99, "{reuses} of 2,000");
}
