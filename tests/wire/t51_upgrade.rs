//! WebSocket and its like: passed on where they may, bytes both ways, an end for each way, bounds, and nothing smuggled.

use samovar_tests::client::Client;
use samovar_tests::raw::{Upstream, connect, echo, read_exactly, read_head, read_to_end};
use samovar_tests::server::{Folder, Server, soon};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SWITCHES: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nX-Own: kept\r\n\r\n";
const ORDINARY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nordinary";

fn wants(path: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
}

/// Changes the protocol where that is asked for, and echoes; answers in HTTP otherwise.
fn echoing() -> Upstream {
    Upstream::new(|mut head, mut stream| {
        loop {
            if head.contains("\r\nupgrade: ") {
                stream.write_all(SWITCHES.as_bytes()).unwrap();
                echo(&mut stream);
                return;
            }
            stream.write_all(ORDINARY.as_bytes()).unwrap();
            head = read_head(&mut stream);
            if head.is_empty() {
                return;
            }
        }
    })
}

fn upgraded(server: &Server, path: &str) -> TcpStream {
    let mut stream = connect(&server.address);
    stream.write_all(wants(path).as_bytes()).unwrap();
    let head = read_head(&mut stream);
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    stream
}

fn before(upstream: &Upstream, more: &str) -> Server {
    let text = format!(
        "config = 1\n{}\n[[site]]\nname = \"a\"\ndefault = true\nupstream = \"u\"\n{}\n[[upstream]]\nname = \"u\"\n\
         members = [{{ url = \"{}\" }}]\n{}\n",
        part(more, "limits"),
        part(more, "site"),
        upstream.url,
        part(more, "upstream")
    );
    Server::configured(&text, &[]).0
}

/// The lines of `more` that belong to a table: `limits: …; site: …`.
fn part(more: &str, table: &str) -> String {
    let lines: Vec<&str> = more
        .split(';')
        .filter_map(|one| one.trim().strip_prefix(table)?.strip_prefix(':'))
        .map(str::trim)
        .collect();
    let head = if table == "limits" && !lines.is_empty() { "[limits]\n" } else { "" };
    format!("{head}{}", lines.join("\n"))
}

fn used(server: &Server, limit: &str) -> u64 {
    let rows = server.json(&["limits"]);
    let row = rows.as_array().unwrap().iter().find(|row| row["name"] == limit).unwrap().clone();
    row["used"].as_u64().unwrap_or_else(|| panic!("{row}"))
}

fn told(server: &Server, code: &str) -> String {
    soon(code, || {
        let all = server.json(&["trace"]).to_string();
        all.contains(code).then_some(all)
    })
}

#[test]
fn bytes_go_both_ways_after_a_101() {
    let upstream = Upstream::new(|head, mut stream| {
        stream.write_all(SWITCHES.as_bytes()).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        echo(&mut stream);
    });
    let server = before(&upstream, "");
    let mut client = connect(&server.address);
    client.write_all(wants("/chat?room=1").as_bytes()).unwrap();
    let head = read_head(&mut client).to_lowercase();
    for line in [
        "http/1.1 101 switching protocols\r\n",
        "\r\nupgrade: websocket\r\n",
        "\r\nconnection: upgrade\r\n",
        "\r\nsec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n",
        "\r\nx-own: kept\r\n",
    ] {
        assert!(head.contains(line), "{line:?} in {head}");
    }
    assert!(!head.contains("content-length") && !head.contains("transfer-encoding"), "{head}");
    let asked = read_head(&mut client);
    for line in [
        "GET /chat?room=1 HTTP/1.1\r\n",
        "\r\nconnection: upgrade\r\n",
        "\r\nupgrade: websocket\r\n",
        "\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        "\r\nsec-websocket-version: 13\r\n",
        "\r\nx-forwarded-for: 127.0.0.1\r\n",
    ] {
        assert!(asked.contains(line), "{line:?} in {asked}");
    }
    for n in 0..100 {
        let text = format!("message {n}");
        client.write_all(text.as_bytes()).unwrap();
        assert_eq!(read_exactly(&mut client, text.len()), text);
    }
    assert_eq!(
        (used(&server, "upstream.u.upgraded_max"), used(&server, "upstream.u.max_connections")),
        (1, 1)
    );
    assert!(server.tell(&["limits"]).contains("limits.upgraded_idle_timeout"));
    drop(client);
    let told = told(&server, "upgraded-client-closed");
    assert!(told.contains("upgrade-passed") && told.contains("request-upgrade"), "{told}");
    assert!(told.contains("\"status\":101"), "{told}");
    assert_eq!(server.json(&["cache", "list"]).as_array().unwrap().len(), 0);
    soon("its place", || (used(&server, "upstream.u.upgraded_max") == 0).then_some(()));
}

/// What either side sends in one packet with its head belongs to the other protocol.
#[test]
fn bytes_sent_ahead_arrive() {
    let upstream = Upstream::new(|_, mut stream| {
        stream.write_all(format!("{SWITCHES}hello").as_bytes()).unwrap();
        echo(&mut stream);
    });
    let server = before(&upstream, "");
    for _ in 0..20 {
        let mut client = connect(&server.address);
        client.write_all(format!("{}ahead", wants("/")).as_bytes()).unwrap();
        assert!(read_head(&mut client).starts_with("HTTP/1.1 101 "));
        assert_eq!(read_exactly(&mut client, 10), "helloahead");
    }
}

#[test]
fn each_way_ends_by_itself() {
    let upstream = Upstream::new(|head, mut stream| {
        stream.write_all(SWITCHES.as_bytes()).unwrap();
        if head.starts_with("GET /client-first") {
            let all = read_to_end(&mut stream);
            stream.write_all(format!("heard {all}").as_bytes()).unwrap();
        } else {
            stream.write_all(b"all I have").unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            assert_eq!(read_to_end(&mut stream), "thanks");
        }
    });
    let server = before(&upstream, "");
    let mut client = upgraded(&server, "/client-first");
    client.write_all(b"everything").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_to_end(&mut client), "heard everything");
    told(&server, "upgraded-client-closed");
    let mut client = upgraded(&server, "/upstream-first");
    assert_eq!(read_to_end(&mut client), "all I have");
    client.write_all(b"thanks").unwrap();
    drop(client);
    told(&server, "upgraded-upstream-closed");
    soon("both upstream connections to end", || (upstream.open() == 0).then_some(()));
}

#[test]
fn anything_but_a_101_is_an_ordinary_answer() {
    let upstream = Upstream::new(|head, mut stream| {
        let answer = match head.contains("\r\nupgrade: ") {
            true => {
                "HTTP/1.1 426 Upgrade Required\r\nUpgrade: other\r\nContent-Length: 2\r\n\r\nno".to_owned()
            }
            false => ORDINARY.to_owned(),
        };
        let mut head = head;
        while !head.is_empty() {
            let answer = if head.contains("\r\nupgrade: ") { answer.as_str() } else { ORDINARY };
            stream.write_all(answer.as_bytes()).unwrap();
            head = read_head(&mut stream);
        }
    });
    let server = before(&upstream, "");
    let mut client = Client::connect(&server.address);
    client.send(wants("/no"));
    let answer = client.answer("GET");
    assert_eq!((answer.status, answer.text().as_str()), (426, "no"));
    // What a client sends ahead of a 101 that never comes is its next request, here as there.
    client.send(format!("{}GET /next HTTP/1.1\r\nHost: test\r\n\r\n", wants("/no")));
    assert_eq!((client.answer("GET").status, client.answer("GET").text().as_str()), (426, "ordinary"));
    assert_eq!(client.get("/still", &[]).text(), "ordinary");
    assert!(told(&server, "upgrade-declined").contains("upgrade-passed"));
    assert_eq!(used(&server, "upstream.u.upgraded_max"), 0);
    assert_eq!(upstream.begun(), 1, "the connection to it is as good as any");
}

/// Not passed on: the upstream sees a plain request, and the client an ordinary answer on a connection that goes on.
#[test]
fn what_is_not_passed_on() {
    let upstream = Upstream::new(|mut head, mut stream| {
        loop {
            assert!(!head.to_lowercase().contains("upgrade") && !head.contains("HTTP2-Settings"), "{head}");
            stream.write_all(ORDINARY.as_bytes()).unwrap();
            head = read_head(&mut stream);
            if head.is_empty() {
                return;
            }
        }
    });
    let server = before(&upstream, "site: [[site.rule]]; site: path = \"/off/**\"; site: upgrade = false");
    let ws = "Connection: upgrade\r\nUpgrade: websocket\r\n";
    for (line, fields, code) in [
        (
            "GET / HTTP/1.1",
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
            "upgrade-another-http",
        ),
        ("GET / HTTP/1.1", "Connection: upgrade\r\nUpgrade: TLS/1.0, HTTP/2.0\r\n", "upgrade-another-http"),
        ("GET / HTTP/1.1", "Connection: upgrade\r\nUpgrade: web socket\r\n", "upgrade-malformed"),
        ("GET / HTTP/1.1", "Upgrade: websocket\r\n", "upgrade-not-named"),
        ("GET /off/ HTTP/1.1", ws, "upgrade-off"),
        ("HEAD / HTTP/1.1", ws, "upgrade-not-get"),
        ("POST / HTTP/1.1", ws, "upgrade-not-get"),
    ] {
        let mut client = Client::connect(&server.address);
        client.send(format!("{line}\r\nHost: test\r\n{fields}\r\n"));
        assert_eq!(client.answer(line.split(' ').next().unwrap()).status, 200, "{code}");
        assert_eq!(client.get("/next", &[]).text(), "ordinary", "{code}");
        told(&server, code);
    }
    let explained = server.tell(&[
        "explain",
        &server.url("/off/x"),
        "-H",
        "Connection: upgrade",
        "-H",
        "Upgrade: websocket",
    ]);
    assert!(explained.contains("upgrade-off") || explained.contains("passes on no request"), "{explained}");
}

/// A 101 that nobody asked for, or to something else, would make a pipe of a connection that others share.
#[test]
fn a_101_that_is_not_what_was_asked_for_is_a_bad_answer() {
    let upstream = Upstream::new(|head, mut stream| {
        let answer = match head.split(' ').nth(1).unwrap_or_default() {
            "/other" => SWITCHES.replace("websocket", "irc"),
            "/bare" => SWITCHES.replace("Upgrade: websocket\r\n", ""),
            "/echoed" => SWITCHES.replace("Sec-WebSocket-Accept", "X-Accept"),
            _ => SWITCHES.to_owned(),
        };
        stream.write_all(answer.as_bytes()).unwrap();
        echo(&mut stream);
    });
    let server = before(&upstream, "");
    for path in ["/other", "/bare", "/echoed"] {
        let mut client = Client::connect(&server.address);
        client.send(wants(path));
        let answer = client.answer("GET");
        assert_eq!((answer.status, answer.reason().as_str()), (502, "upstream-bad-head"), "{path}");
    }
    let answer = server.get("/unasked", &[]);
    assert_eq!((answer.status, answer.reason().as_str()), (502, "upstream-bad-head"));
    soon("the upstream's connections to end", || (upstream.open() == 0).then_some(()));
    assert_eq!(used(&server, "upstream.u.max_connections"), 0);
}

#[test]
fn they_have_a_bound_of_their_own() {
    let upstream = echoing();
    let server = before(&upstream, "upstream: upgraded_max = 2");
    let (first, _second) = (upgraded(&server, "/"), upgraded(&server, "/"));
    let mut third = Client::connect(&server.address);
    third.send(wants("/"));
    let answer = third.answer("GET");
    assert_eq!((answer.status, answer.reason().as_str()), (503, "upgraded-full"));
    assert_eq!(answer.field("retry-after"), Some("1"));
    assert_eq!(third.get("/", &[]).text(), "ordinary", "other requests are served");
    assert_eq!(used(&server, "upstream.u.upgraded_max"), 2);
    drop(first);
    soon("another", || {
        let mut again = connect(&server.address);
        again.write_all(wants("/").as_bytes()).unwrap();
        read_head(&mut again).starts_with("HTTP/1.1 101 ").then_some(())
    });
}

#[test]
fn silence_on_both_ways_ends_it_and_traffic_on_one_does_not() {
    let upstream = Upstream::new(|head, mut stream| {
        stream.write_all(SWITCHES.as_bytes()).unwrap();
        if head.starts_with("GET /talks") {
            for _ in 0..8 {
                std::thread::sleep(Duration::from_millis(150));
                stream.write_all(b".").unwrap();
            }
        }
        assert_eq!(read_to_end(&mut stream), "", "both sides hear the end");
    });
    let server = before(&upstream, "limits: upgraded_idle_timeout = \"500ms\"");
    let begun = Instant::now();
    let mut client = upgraded(&server, "/talks");
    assert_eq!(read_to_end(&mut client), "........");
    assert!(begun.elapsed() >= Duration::from_millis(1_600), "{:?}", begun.elapsed());
    drop(client);
    told(&server, "upgraded-idle");
    let begun = Instant::now();
    assert_eq!(read_to_end(&mut upgraded(&server, "/silent")), "");
    assert!((400..5_000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    soon("the upstream to hear of it", || (upstream.open() == 0).then_some(()));
}

/// What is under way arrives, both sides hear an end and no reset, and the server does not wait for ever.
#[test]
fn a_stopping_server_ends_them_cleanly() {
    let upstream = echoing();
    let mut server = before(&upstream, "");
    let mut clients: Vec<TcpStream> = (0..5).map(|_| upgraded(&server, "/")).collect();
    for client in &mut clients {
        client.write_all(b"last words").unwrap();
        assert_eq!(read_exactly(client, 10), "last words");
    }
    let begun = Instant::now();
    server.signal("TERM");
    for client in &mut clients {
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).expect("an end, not a break");
        assert!(rest.is_empty());
    }
    drop(clients);
    assert_eq!(server.wait(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(!server.said().contains("were still busy"), "{}", server.said());
    soon("the upstream to hear of it", || (upstream.open() == 0).then_some(()));
}

/// Both ways at once, more than any buffer holds, and a reader that is slower than the writer.
#[test]
fn much_goes_both_ways_at_once_and_little_is_held() {
    const BYTES: usize = 32 << 20;
    let upstream = echoing();
    let server = before(&upstream, "");
    let client = upgraded(&server, "/");
    let mut out = client.try_clone().unwrap();
    let pattern = |n: usize| (n * 31 + n / 255) as u8;
    let writer = std::thread::spawn(move || {
        let all: Vec<u8> = (0..BYTES).map(pattern).collect();
        out.write_all(&all).unwrap();
        out.shutdown(Shutdown::Write).unwrap();
    });
    // Nobody reads for a while: everything is full, and stands still.
    std::thread::sleep(Duration::from_millis(700));
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let resident_kib: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.trim().parse().ok())
        .unwrap();
    assert!(resident_kib < 100 << 10, "{resident_kib} KiB");
    let mut all = Vec::new();
    (&client).read_to_end(&mut all).unwrap();
    assert_eq!(all.len(), BYTES);
    assert!(all.iter().enumerate().all(|(n, byte)| *byte == pattern(n)), "in order and unchanged");
    writer.join().unwrap();
}

/// An upstream that breaks off is not a good end: the client sees a break.
#[test]
fn a_break_is_passed_on_as_one() {
    let upstream = Upstream::new(|head, mut stream| {
        stream.write_all(SWITCHES.as_bytes()).unwrap();
        if head.starts_with("GET /stays") {
            return echo(&mut stream);
        }
        assert_eq!(read_exactly(&mut stream, 4), "stop");
        // Closed with something unread the system sends a reset.
        let _ahead = stream.read(&mut [0; 1]);
    });
    let server = before(&upstream, "");
    let mut client = upgraded(&server, "/");
    client.write_all(b"stop, and much that nobody reads").unwrap();
    let broken = client.read_to_end(&mut Vec::new());
    assert_eq!(broken.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    told(&server, "upgraded-upstream-broke");
    // And a client that is gone frees the upstream.
    drop(upgraded(&server, "/stays"));
    soon("the upstream's connections to end", || (upstream.open() == 0).then_some(()));
}

/// The same above TLS, through a client that knows nothing of either.
#[test]
fn under_tls() {
    let upstream = echoing();
    let folder = Folder::new();
    for name in ["a.pem", "a.key"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/server/tests/tls").join(name);
        folder.write(name, std::fs::read(path).unwrap());
    }
    let text = format!(
        "config = 1\n[server]\nlisten = [\"https://127.0.0.1:443\"]\n[[site]]\nname = \"a\"\ndefault = true\n\
         origin = \"{}\"\ncertificate = \"a.pem\"\ncertificate_key = \"a.key\"\n",
        upstream.url
    );
    let config = folder.write("samovar.toml", text);
    let server =
        Server::start_with(&["--config", config.to_str().unwrap()], &["--listen", "https://127.0.0.1:0"]);
    let address = server.listen[0].trim_start_matches("https://");
    let mut client = Command::new("openssl")
        .args(["s_client", "-quiet", "-nocommands", "-connect", address])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut to, mut from) = (client.stdin.take().unwrap(), client.stdout.take().unwrap());
    to.write_all(wants("/").as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        from.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&head));
    for n in 0..50 {
        let text = format!("{n} {}", "x".repeat(n * 997));
        to.write_all(text.as_bytes()).unwrap();
        let mut back = vec![0; text.len()];
        from.read_exact(&mut back).unwrap();
        assert_eq!(String::from_utf8(back).unwrap(), text);
    }
    drop(to);
    let _ = client.kill();
    let _ = client.wait();
    soon("the upstream's connection to end", || (upstream.open() == 0).then_some(()));
}
