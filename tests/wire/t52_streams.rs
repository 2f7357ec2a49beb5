//! Answers that go on: events reach the client as they are said, whichever way they come; an end on one side is an end on
//! the other; and nothing piles up between an upstream that is fast and a client that is not.

use samovar_tests::php::Fpm;
use samovar_tests::raw::{Upstream, connect, read_exactly, read_head, read_to_end};
use samovar_tests::server::{Folder, Server, soon};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// An upstream that says what it is told to, when it is told: `fields` of its head, then each text as it comes.
fn told_to(fields: &'static str) -> (Upstream, Sender<&'static str>) {
    let (say, said) = channel::<&'static str>();
    let said: Arc<Mutex<Receiver<&'static str>>> = Arc::new(Mutex::new(said));
    let upstream = Upstream::new(move |head, mut stream| {
        let chunked = fields.contains("chunked");
        stream.write_all(format!("HTTP/1.1 200 OK\r\n{fields}\r\n").as_bytes()).unwrap();
        let said = said.lock().unwrap();
        if head.starts_with("HEAD") {
            return;
        }
        while let Ok(text) = said.recv() {
            let piece = if chunked { format!("{:x}\r\n{text}\r\n", text.len()) } else { text.to_owned() };
            if text == "end" {
                let _ = stream.write_all(if chunked { b"0\r\n\r\n" } else { b"" });
                return;
            }
            if stream.write_all(piece.as_bytes()).is_err() {
                return;
            }
        }
    });
    (upstream, say)
}

fn ask(server: &Server, path: &str, version: &str) -> TcpStream {
    let mut stream = connect(&server.address);
    stream.write_all(format!("GET {path} HTTP/{version}\r\nHost: test\r\n\r\n").as_bytes()).unwrap();
    stream
}

/// The piece as a client of this version sees it.
fn framed(text: &str, chunked: bool) -> String {
    if chunked { format!("{:X}\r\n{text}\r\n", text.len()) } else { text.to_owned() }
}

const EVENTS: [&str; 3] = ["data: one\n\n", "data: two\n\n", ": a comment, for the connection's sake\n\n"];

/// Each event is there before the next is said: were one held back, this would wait for ever.
#[test]
fn each_event_comes_as_it_is_said() {
    for fields in [
        "Content-Type: text/event-stream\r\nCache-Control: no-store\r\nTransfer-Encoding: chunked\r\n",
        "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n",
        "Content-Type: text/event-stream; charset=utf-8\r\nCache-Control: max-age=60\r\nConnection: close\r\n",
        "Content-Type: application/x-ndjson\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n",
    ] {
        for version in ["1.1", "1.0"] {
            let (upstream, say) = told_to(fields);
            let server = Server::before(&upstream.url, &[]);
            let mut client = ask(&server, "/events", version);
            let head = read_head(&mut client);
            assert!(head.contains(" 200 OK\r\n"), "{head}");
            for text in EVENTS {
                say.send(text).unwrap();
                let piece = framed(text, version == "1.1");
                assert_eq!(
                    read_exactly(&mut client, piece.len()).to_lowercase(),
                    piece.to_lowercase(),
                    "{fields}"
                );
            }
            say.send("end").unwrap();
            drop(client);
        }
    }
}

/// Who asks while another's stream is under way gets one of its own from now on, not the beginning of the other's; and what
/// is not an event stream, and may be stored, is joined while it grows.
#[test]
fn a_stream_of_events_is_not_shared() {
    let upstream = Upstream::new(|head, mut stream| {
        let kind = if head.starts_with("GET /events") { "text/event-stream" } else { "text/plain" };
        let answer =
            format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nCache-Control: max-age=60\r\n\r\nfirst");
        stream.write_all(answer.as_bytes()).unwrap();
        let _until_it_is_closed = read_to_end(&mut stream);
    });
    let rule = "[[site.rule]]\npath = \"/**\"\nfor = \"60s\"\n";
    let text =
        format!("config = 1\n[[site]]\nname = \"a\"\ndefault = true\norigin = \"{}\"\n{rule}", upstream.url);
    let (server, _file) = Server::configured(&text, &[]);
    for (path, connections) in [("/events", 3), ("/text", 4)] {
        let clients: Vec<TcpStream> = (0..3)
            .map(|_| {
                let mut client = ask(&server, path, "1.1");
                assert!(read_head(&mut client).starts_with("HTTP/1.1 200 "));
                assert_eq!(read_exactly(&mut client, 10), "5\r\nfirst\r\n");
                client
            })
            .collect();
        assert_eq!(upstream.begun(), connections, "{path}");
        drop(clients);
    }
    let told = server.json(&["trace"]).to_string();
    assert!(!told.is_empty());
    soon("its reason", || server.json(&["trace"]).to_string().contains("\"event-stream\"").then_some(()));
}

#[test]
fn a_client_that_leaves_ends_the_stream() {
    let upstream = Upstream::new(|_, mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n").unwrap();
        // Says nothing more, so only the close can tell.
        let _until_it_is_closed = read_to_end(&mut stream);
    });
    let server = Server::before(&upstream.url, &[]);
    let begun = Instant::now();
    let clients: Vec<TcpStream> = (0..4)
        .map(|_| {
            let mut client = ask(&server, "/events", "1.1");
            read_head(&mut client);
            client
        })
        .collect();
    assert_eq!(upstream.open(), 4);
    drop(clients);
    soon("the upstream's connections to end", || (upstream.open() == 0).then_some(()));
    assert!(begun.elapsed() < Duration::from_secs(10));
    soon("their records", || server.json(&["trace"]).to_string().contains("client-gone").then_some(()));
}

/// `body_timeout` is the longest pause, not the longest stream: comments sent within it keep a stream alive for ever.
#[test]
fn a_stream_lives_as_long_as_it_speaks() {
    let (upstream, say) = told_to("Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n");
    let text = format!(
        "config = 1\n[limits]\nbody_timeout = \"500ms\"\nsend_timeout = \"500ms\"\nidle_timeout = \"500ms\"\n\
         [[site]]\nname = \"a\"\ndefault = true\nupstream = \"u\"\n[[upstream]]\nname = \"u\"\n\
         members = [{{ url = \"{}\" }}]\nbody_timeout = \"1s\"\n",
        upstream.url
    );
    let (server, _file) = Server::configured(&text, &[]);
    let mut client = ask(&server, "/events", "1.1");
    read_head(&mut client);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3) {
        say.send(": on\n\n").unwrap();
        assert_eq!(read_exactly(&mut client, 11), "6\r\n: on\n\n\r\n");
        std::thread::sleep(Duration::from_millis(300));
    }
    // Then it is silent, and is ended for it: without the last chunk, so that the client can tell.
    let silent = Instant::now();
    assert_eq!(read_to_end(&mut client), "");
    assert!(silent.elapsed() < Duration::from_secs(4), "{:?}", silent.elapsed());
    soon("its reason", || {
        server.json(&["trace"]).to_string().contains("upstream-body-timeout").then_some(())
    });
    drop(say);
}

/// An upstream without end, a client that reads nothing: what is between them is bounded, and the upstream waits.
#[test]
fn a_slow_client_holds_the_upstream_back() {
    for (field, path) in
        [("Cache-Control: no-store\r\n", "/passed"), ("Content-Type: text/event-stream\r\n", "/events")]
    {
        let sent = Arc::new(Mutex::new(0_u64));
        let count = Arc::clone(&sent);
        let upstream = Upstream::new(move |_, mut stream| {
            stream.write_all(format!("HTTP/1.1 200 OK\r\n{field}\r\n").as_bytes()).unwrap();
            let piece = vec![b'x'; 1 << 20];
            while stream.write_all(&piece).is_ok() {
                *count.lock().unwrap() += 1;
                if *count.lock().unwrap() > 2_000 {
                    return;
                }
            }
        });
        let server = Server::before(&upstream.url, &[]);
        let mut client = ask(&server, path, "1.1");
        read_head(&mut client);
        // Until it stands still.
        let mut before = 0;
        soon("the upstream to wait", || {
            std::thread::sleep(Duration::from_millis(400));
            let now = *sent.lock().unwrap();
            (std::mem::replace(&mut before, now) == now).then_some(())
        });
        assert!(before < 200, "{before} MiB were taken for a client that reads nothing");
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!(kib < 100 << 10, "{path}: {kib} KiB");
        // And it goes on when it is read.
        let mut some = vec![0; 32 << 20];
        client.read_exact(&mut some).unwrap();
        drop(client);
        soon("the upstream's connection to end", || (upstream.open() == 0).then_some(()));
    }
}

/// A real PHP, with `flush()`.
#[test]
fn php_that_flushes_is_heard_at_once() {
    let folder = Folder::new();
    folder.write(
        "events.php",
        "<?php header('Content-Type: text/event-stream'); while (ob_get_level()) ob_end_flush();\n\
         $go = __DIR__ . '/go-'; for ($i = 1; $i <= 3; $i++) { echo \"data: $i\\n\\n\"; flush();\n\
         for ($n = 0; $n < 2000 && !file_exists($go . $i); $n++) { usleep(5000); clearstatcache(); } }",
    );
    folder.write(
        "endless.php",
        "<?php header('Content-Type: text/event-stream'); while (ob_get_level()) ob_end_flush();\n\
         register_shutdown_function(fn() => touch(__DIR__ . '/over'));\n\
         while (true) { echo \": on\\n\\n\"; flush(); usleep(50000); }",
    );
    let fpm = Fpm::start(&folder.0, 2);
    std::fs::set_permissions(&folder.0, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let text = format!(
        "config = 1\n[[site]]\nname = \"php\"\ndefault = true\n\
         handlers = [{{ extension = \".php\", fastcgi = \"unix:{}\" }}]\nfiles = \"{}\"\n",
        fpm.socket.display(),
        folder.0.display()
    );
    let (server, _file) = Server::configured(&text, &[]);
    let mut client = ask(&server, "/events.php", "1.1");
    assert!(read_head(&mut client).contains("text/event-stream"));
    for n in 1..=3 {
        let piece = framed(&format!("data: {n}\n\n"), true);
        assert_eq!(read_exactly(&mut client, piece.len()), piece);
        folder.write(&format!("go-{n}"), "");
    }
    assert_eq!(read_exactly(&mut client, 5), "0\r\n\r\n");
    // A client that leaves ends the script, as soon as it says something more.
    let mut client = ask(&server, "/endless.php", "1.1");
    read_head(&mut client);
    drop(client);
    soon("the script's end", || folder.path("over").exists().then_some(()));
}
