//! Upstreams that do everything wrong, one after the other before one server: each has its status and its reason, nothing
//! wrong is stored, and the pool is as clean afterwards as it was before. `docs/upstream-errors.md` is this table in words.

use samovar_tests::client::Client;
use samovar_tests::raw::{Upstream, read_head, read_to_end};
use samovar_tests::server::{Server, soon};
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

const GOOD: &str = "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 4\r\n\r\ngood";

/// What an upstream does with a request, by its path.
struct Way {
    path: &'static str,
    does: fn(&mut TcpStream),
    status: u16,
    reason: &'static str,
}

const fn way(path: &'static str, does: fn(&mut TcpStream), status: u16, reason: &'static str) -> Way {
    Way { path, does, status, reason }
}

fn say(stream: &mut TcpStream, bytes: impl AsRef<[u8]>) {
    let _closed = stream.write_all(bytes.as_ref());
}

/// Says something for as long as anybody listens.
fn go_on(stream: &mut TcpStream, piece: &[u8], pause: Duration) {
    while stream.write_all(piece).is_ok() {
        std::thread::sleep(pause);
    }
}

/// Waits until the other side has had enough.
fn hang(stream: &mut TcpStream) {
    read_to_end(stream);
}

const CACHED: &str = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n";

/// Those that give no answer at all.
static NO_ANSWER: &[Way] = &[
    way("/close-at-once", |_| {}, 502, "upstream-reset"),
    way("/hang-before-head", hang, 504, "upstream-head-timeout"),
    way(
        "/hang-in-status-line",
        |s| {
            say(s, "HTTP/1.1 20");
            hang(s);
        },
        504,
        "upstream-head-timeout",
    ),
    way(
        "/hang-in-head",
        |s| {
            say(s, format!("{CACHED}X: "));
            hang(s);
        },
        504,
        "upstream-head-timeout",
    ),
    way(
        "/drip-in-head",
        |s| {
            say(s, CACHED);
            go_on(s, b"a", Duration::from_millis(50));
        },
        504,
        "upstream-head-timeout",
    ),
    way("/close-in-status-line", |s| say(s, "HTTP/1.1 20"), 502, "upstream-reset"),
    way("/close-in-head", |s| say(s, CACHED), 502, "upstream-reset"),
    way("/garbage", |s| say(s, [0x16, 3, 3, 0, 2, 2, 40, 0, 255, 13, 10, 13, 10]), 502, "upstream-bad-head"),
    way(
        "/another-protocol",
        |s| {
            say(s, "SSH-2.0-OpenSSH_9.2\r\n");
            hang(s);
        },
        502,
        "upstream-bad-head",
    ),
    way("/http-0.9", |s| say(s, "<html>hello</html>"), 502, "upstream-bad-head"),
    way("/http-2", |s| say(s, "HTTP/2.0 200 OK\r\n\r\n"), 502, "upstream-bad-head"),
    way("/status-99", |s| say(s, "HTTP/1.1 099 x\r\n\r\n"), 502, "upstream-bad-head"),
    way("/status-word", |s| say(s, "HTTP/1.1 okay\r\n\r\n"), 502, "upstream-bad-head"),
    way("/no-colon", |s| say(s, format!("{CACHED}no colon\r\n\r\n")), 502, "upstream-bad-head"),
    way(
        "/space-before-colon",
        |s| say(s, format!("{CACHED}Content-Length : 5\r\n\r\nhello")),
        502,
        "upstream-bad-head",
    ),
    way("/folded", |s| say(s, format!("{CACHED}A: b\r\n c\r\n\r\n")), 502, "upstream-bad-head"),
    way(
        "/nul",
        |s| say(s, format!("{CACHED}A: b\0c\r\nContent-Length: 0\r\n\r\n")),
        502,
        "upstream-bad-head",
    ),
    way(
        "/bare-return",
        |s| say(s, format!("{CACHED}A: b\rX: c\r\nContent-Length: 0\r\n\r\n")),
        502,
        "upstream-bad-head",
    ),
    way(
        "/too-many-fields",
        |s| say(s, format!("{CACHED}{}\r\n", "A: b\r\n".repeat(101))),
        502,
        "upstream-head-too-large",
    ),
    way(
        "/too-long-a-head",
        |s| say(s, format!("{CACHED}A: {}\r\n\r\n", "b".repeat(9_000))),
        502,
        "upstream-head-too-large",
    ),
    way(
        "/endless-line",
        |s| {
            say(s, "HTTP/1.1 200 ");
            go_on(s, &[b'x'; 4_000], Duration::ZERO);
        },
        502,
        "upstream-head-too-large",
    ),
    way(
        "/endless-fields",
        |s| {
            say(s, CACHED);
            go_on(s, b"A: b\r\n", Duration::ZERO);
        },
        502,
        "upstream-head-too-large",
    ),
    way(
        "/two-lengths",
        |s| say(s, format!("{CACHED}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello")),
        502,
        "upstream-bad-framing",
    ),
    way(
        "/a-list-of-lengths",
        |s| say(s, format!("{CACHED}Content-Length: 5, 6\r\n\r\nhello")),
        502,
        "upstream-bad-framing",
    ),
    way(
        "/negative",
        |s| say(s, format!("{CACHED}Content-Length: -5\r\n\r\nhello")),
        502,
        "upstream-bad-framing",
    ),
    way(
        "/hexadecimal",
        |s| say(s, format!("{CACHED}Content-Length: 0x5\r\n\r\nhello")),
        502,
        "upstream-bad-framing",
    ),
    way(
        "/too-large-a-number",
        |s| say(s, format!("{CACHED}Content-Length: 99999999999999999999\r\n\r\n")),
        502,
        "upstream-bad-framing",
    ),
    way(
        "/length-and-chunks",
        |s| {
            say(
                s,
                format!(
                    "{CACHED}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
                ),
            )
        },
        502,
        "upstream-bad-framing",
    ),
    way(
        "/gzip-as-transfer",
        |s| say(s, format!("{CACHED}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")),
        502,
        "upstream-bad-framing",
    ),
    way(
        "/chunks-in-1.0",
        |s| say(s, "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        502,
        "upstream-bad-framing",
    ),
    way(
        "/unasked-101",
        |s| {
            say(s, "HTTP/1.1 101 x\r\nUpgrade: x\r\n\r\n");
            hang(s);
        },
        502,
        "upstream-bad-head",
    ),
    way(
        "/endless-1xx",
        |s| go_on(s, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(100).as_bytes(), Duration::ZERO),
        502,
        "upstream-head-too-large",
    ),
    way(
        "/slow-endless-1xx",
        |s| go_on(s, b"HTTP/1.1 102 Processing\r\n\r\n", Duration::from_millis(50)),
        504,
        "upstream-head-timeout",
    ),
    way(
        "/1xx-and-close",
        |s| say(s, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
        502,
        "upstream-reset",
    ),
    way(
        "/unasked-304",
        |s| say(s, "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\n\r\n"),
        502,
        "upstream-bad-head",
    ),
];

/// Those that begin well: the client has the head, and then a body that is seen to be not whole.
static BROKEN_BODY: &[Way] = &[
    way(
        "/close-in-body",
        |s| say(s, format!("{CACHED}Content-Length: 10\r\n\r\nhello")),
        200,
        "upstream-short-body",
    ),
    way(
        "/close-in-chunk",
        |s| say(s, format!("{CACHED}Transfer-Encoding: chunked\r\n\r\n9\r\nhello")),
        200,
        "upstream-short-body",
    ),
    way(
        "/close-after-chunk",
        |s| say(s, format!("{CACHED}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")),
        200,
        "upstream-short-body",
    ),
    way(
        "/close-before-last-line",
        |s| say(s, format!("{CACHED}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n")),
        200,
        "upstream-short-body",
    ),
    way(
        "/hang-in-body",
        |s| {
            say(s, format!("{CACHED}Content-Length: 10\r\n\r\nhello"));
            hang(s);
        },
        200,
        "upstream-body-timeout",
    ),
    way(
        "/hang-in-chunks",
        |s| {
            say(s, format!("{CACHED}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"));
            hang(s);
        },
        200,
        "upstream-body-timeout",
    ),
    way(
        "/bad-chunk-later",
        |s| {
            say(s, format!("{CACHED}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"));
            std::thread::sleep(Duration::from_millis(100));
            say(s, "zz\r\n");
        },
        200,
        "upstream-bad-framing",
    ),
    way(
        "/huge-chunk-later",
        |s| {
            say(s, format!("{CACHED}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"));
            std::thread::sleep(Duration::from_millis(100));
            say(s, "fffffffffffffffff\r\n");
        },
        200,
        "upstream-bad-framing",
    ),
    way(
        "/chunk-without-line-end",
        |s| {
            say(s, format!("{CACHED}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"));
            std::thread::sleep(Duration::from_millis(100));
            say(s, "5\r\nhelloXX0\r\n\r\n");
        },
        200,
        "upstream-bad-framing",
    ),
];

fn server(upstream: &Upstream) -> Server {
    let text = format!(
        "config = 1\n[[site]]\nname = \"a\"\ndefault = true\nupstream = \"u\"\n[[upstream]]\nname = \"u\"\n\
         members = [{{ url = \"{}\" }}]\nhead_timeout = \"600ms\"\nbody_timeout = \"600ms\"\nhead_max_bytes = 8192\n\
         max_connections = 4\n",
        upstream.url
    );
    Server::configured(&text, &[]).0
}

/// Each way by its path; anything else is good, for as long as the connection lasts.
fn upstream() -> Upstream {
    Upstream::new(|mut head, mut stream| {
        while !head.is_empty() {
            let path = head.split([' ', '?']).nth(1).unwrap_or_default();
            if let Some(way) = NO_ANSWER.iter().chain(BROKEN_BODY).find(|way| way.path == path) {
                return (way.does)(&mut stream);
            }
            say(&mut stream, GOOD);
            head = read_head(&mut stream);
        }
    })
}

fn busy(server: &Server) -> u64 {
    let admin = server.admin.trim_start_matches("http://");
    let metrics = Client::connect(admin).get("/metrics", &[("Host", admin)]).text();
    let line = metrics.lines().find(|line| line.starts_with("samovar_upstream_requests_busy")).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

fn is_clean(server: &Server) {
    soon("a clean pool", || (busy(server) == 0).then_some(()));
    assert_eq!(server.json(&["cache", "list"]).as_array().unwrap().len(), 0, "nothing wrong is stored");
    for n in 0..4 {
        let good = server.get(&format!("/good-{n}"), &[]);
        assert_eq!((good.status, good.text().as_str()), (200, "good"));
    }
}

#[test]
fn no_answer_is_a_clear_error() {
    let upstream = upstream();
    let server = server(&upstream);
    // Through the cache, and past it.
    for (method, fields) in
        [("GET", &[][..]), ("GET", &[("Cookie", "a=b"), ("Authorization", "Basic x")]), ("PUT", &[])]
    {
        std::thread::scope(|scope| {
            for ways in NO_ANSWER.chunks(NO_ANSWER.len().div_ceil(4)) {
                let server = &server;
                scope.spawn(move || {
                    for Way { path, status, reason, .. } in ways {
                        let begun = Instant::now();
                        let mut client = server.connect();
                        let answer = client.request(method, path, fields, b"");
                        if *path == "/unasked-304" && (method, fields.len()) != ("GET", 0) {
                            // Whoever passes a request on cannot know that it is not an answer.
                            continue;
                        }
                        assert_eq!(
                            (answer.status, answer.reason().as_str()),
                            (*status, *reason),
                            "{method} {path}: {}",
                            answer.text()
                        );
                        assert!(
                            answer.text().contains(reason),
                            "those on this machine are told: {}",
                            answer.text()
                        );
                        assert_eq!(answer.field("cache-control"), Some("no-store"), "{path}");
                        assert!(begun.elapsed() < Duration::from_secs(5), "{path}: {:?}", begun.elapsed());
                        // The client's own connection is none the worse.
                        assert_eq!(client.get("/good", &[]).text(), "good", "after {path}");
                    }
                });
            }
        });
        is_clean(&server);
    }
}

#[test]
fn a_body_that_breaks_off_is_seen_to() {
    let upstream = upstream();
    let server = server(&upstream);
    for fields in [&[][..], &[("Authorization", "Basic x")]] {
        for Way { path, status, reason, .. } in BROKEN_BODY {
            for _ in 0..2 {
                let mut client = server.connect();
                let answer = client.get(path, fields);
                assert_eq!((answer.status, answer.text().as_str()), (*status, "hello"), "{path}");
                assert!(!answer.whole && client.is_closed(), "{path} passed as whole");
            }
            soon(reason, || {
                let told = server.json(&["trace", "--reason", reason]).to_string();
                told.contains(&format!("{path}\"")).then_some(())
            });
        }
        is_clean(&server);
    }
}

/// What an upstream says beyond its answer is nobody's answer: not the next client's, not a stored one's.
#[test]
fn a_smuggled_second_answer_reaches_nobody() {
    const EVIL: &str = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 4\r\n\r\nevil";
    let upstream = Upstream::new(|mut head, mut stream| {
        while !head.is_empty() {
            let path = head.split(' ').nth(1).unwrap_or_default();
            let first = match path {
                "/longer" => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                "/empty" => "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                "/chunked" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                "/trailers" => {
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n"
                }
                "/204" => "HTTP/1.1 204 No Content\r\n\r\n",
                "/304" => "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n",
                "/head" => "HTTP/1.1 200 OK\r\nContent-Length: 70\r\n\r\n",
                "/later" => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                _ => {
                    say(&mut stream, GOOD);
                    head = read_head(&mut stream);
                    continue;
                }
            };
            if path == "/later" {
                say(&mut stream, first);
                std::thread::sleep(Duration::from_millis(30));
                say(&mut stream, EVIL);
            } else {
                say(&mut stream, format!("{first}{EVIL}"));
            }
            head = read_head(&mut stream);
        }
    });
    let server = server(&upstream);
    for path in ["/longer", "/empty", "/chunked", "/trailers", "/204", "/304", "/head", "/later"] {
        for round in 0..5 {
            let method = if path == "/head" { "HEAD" } else { "GET" };
            let fields: &[(&str, &str)] =
                if path == "/304" { &[("If-None-Match", "\"a\""), ("Cookie", "a=b")] } else { &[] };
            let mut client = server.connect();
            client.request(method, path, fields, b"");
            if path == "/later" {
                std::thread::sleep(Duration::from_millis(60));
            }
            for n in 0..3 {
                let next = client.get(&format!("/good-{round}-{n}"), &[]);
                assert_eq!((next.status, next.text().as_str()), (200, "good"), "after {path}");
            }
        }
    }
    let listed = server.json(&["cache", "list"]).to_string();
    assert!(!listed.contains("good"), "{listed}");
    soon("a clean pool", || (busy(&server) == 0).then_some(()));
}

#[test]
fn what_cannot_be_reached_says_how() {
    let folder = samovar_tests::server::Folder::new();
    let file = folder.write("no-socket", "x");
    for (url, reason) in [
        ("http://127.0.0.1:1".to_owned(), "upstream-refused"),
        ("http://nowhere.invalid".to_owned(), "upstream-unresolved"),
        (format!("unix:{}", folder.path("missing.sock").display()), "upstream-socket-missing"),
        (format!("unix:{}", file.display()), "upstream-refused"),
    ] {
        let server = Server::before(&url, &[]);
        for path in ["/", "/again"] {
            let answer = server.get(path, &[]);
            assert_eq!((answer.status, answer.reason().as_str()), (502, reason), "{url}: {}", answer.text());
        }
        assert_eq!(busy(&server), 0);
    }
}

/// All who wait for one fetch learn of its failure at once, and none of them waits for another.
#[test]
fn many_who_wait_for_one_bad_answer_are_all_told() {
    let upstream = upstream();
    let server = server(&upstream);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                let answer = server.get("/hang-before-head", &[]);
                assert_eq!((answer.status, answer.reason().as_str()), (504, "upstream-head-timeout"));
            });
        }
    });
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    is_clean(&server);
}
