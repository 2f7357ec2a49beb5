//! Counts, times, phases, bytes and reports of the real binary, judged by what the server saw.

#![allow(clippy::unwrap_used, reason = "a test may stop at its first surprise")]

mod common;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use thirst::pacer::Schedule;
use thirst::plan::{Load, Pick, Plan, Target, Wish};
use thirst::sender::{self, Address, Clock, Message, Shared, Ways};

use common::{After, Scratch, Server, number, ok, output, run, thirst};

#[test]
fn a_count_is_exact() {
    for (connections, threads, count, extra) in [
        ("1", "1", 1, None),
        ("7", "3", 100, None),
        ("10", "4", 3, None),
        ("5", "2", 60, Some("--no-keepalive")),
    ] {
        let server = Server::canned(ok("x", ""));
        let url = server.url("/");
        let count_text = count.to_string();
        let mut args = vec![url.as_str(), "-n", &count_text, "-c", connections, "-t", threads];
        args.extend(extra);
        let (json, code) = run(&args);
        assert_eq!(code, 0, "{json}");
        assert_eq!(server.seen(), count, "what the server saw");
        for field in ["/requests", "/responses", "/all_requests", "/statuses/200", "/status_classes/2xx"] {
            assert_eq!(number(&json, field), count as f64, "{field}");
        }
        if extra.is_some() {
            assert_eq!(server.connections.load(std::sync::atomic::Ordering::SeqCst), count);
        }
    }
}

#[test]
fn a_timed_run_counts_what_the_server_counted() {
    let server = Server::canned(ok("hello", ""));
    let (json, code) = run(&[&server.url("/"), "-d", "700ms", "-c", "4", "-t", "2"]);
    assert_eq!(code, 0);
    assert_eq!(number(&json, "/requests"), server.seen() as f64);
    assert_eq!(number(&json, "/responses"), server.seen() as f64);
    assert_eq!(number(&json, "/unfinished"), 0.0);
    assert!((number(&json, "/elapsed_s") - 0.7).abs() < 0.001);
    let rate = number(&json, "/requests_per_s");
    assert!((rate - server.seen() as f64 / 0.7).abs() <= 4.0 / 0.7 + 1.0, "{rate}");
    let series: f64 =
        json["series"]["points"].as_array().unwrap().iter().map(|p| p["responses"].as_f64().unwrap()).sum();
    assert_eq!(series, server.seen() as f64);
}

#[test]
fn warm_up_and_cool_down_are_not_measured() {
    let server = Server::start(|stream, _| {
        thread::sleep(Duration::from_millis(2));
        stream.write_all(ok("x", "").as_bytes()).unwrap();
        After::Keep
    });
    let (json, _) =
        run(&[&server.url("/"), "-d", "400ms", "--warmup", "400ms", "--cooldown", "400ms", "-c", "2"]);
    let (measured, all) = (number(&json, "/requests"), number(&json, "/all_requests"));
    assert!(measured > 0.0 && measured < all * 0.6, "{measured} of {all}");
    assert_eq!(number(&json, "/latency_us/last_byte/count"), measured);
    assert!(all - server.seen() as f64 <= 2.0);
}

#[test]
fn a_known_delay_is_measured_right() {
    let (firsts, lasts) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let (first_log, last_log) = (firsts.clone(), lasts.clone());
    let server = Server::start(move |stream, _| {
        let came = Instant::now();
        thread::sleep(Duration::from_millis(80));
        // Noted before the write: the client's clock starts earlier and stops later than this one.
        first_log.lock().unwrap().push(came.elapsed().as_micros() as f64);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe").unwrap();
        thread::sleep(Duration::from_millis(30));
        last_log.lock().unwrap().push(came.elapsed().as_micros() as f64);
        stream.write_all(b"llo").unwrap();
        After::Keep
    });
    let (json, _) = run(&[&server.url("/slow"), "-n", "20", "-c", "2"]);
    assert!(number(&json, "/latency_us/first_byte/min") >= 80_000.0);
    assert!(number(&json, "/latency_us/last_byte/min") >= 110_000.0);
    // The server's own clock is the oracle; between the two clocks lie the loopback and a busy scheduler.
    for (log, pointer) in [(&firsts, "/latency_us/first_byte/p50"), (&lasts, "/latency_us/last_byte/p50")] {
        let mut truth = log.lock().unwrap().clone();
        truth.sort_by(f64::total_cmp);
        // The median as thirst counts it: the tenth of twenty.
        let (seen, median) = (number(&json, pointer), truth[truth.len().div_ceil(2) - 1]);
        assert!((-200.0..25_000.0).contains(&(seen - median)), "{pointer}: {seen}, the server says {median}");
    }
}

#[test]
fn hits_and_misses_are_told_apart() {
    let server = Server::start(|stream, seen| {
        let fields = match seen.number % 4 {
            0 => {
                thread::sleep(Duration::from_millis(40));
                "Cache-Status: samovar; fwd=uri-miss; stored\r\n"
            }
            1 => "Cache-Status: samovar; hit; ttl=9\r\n",
            2 => "X-Cache: HIT\r\n",
            _ => "X-Nothing: here\r\n",
        };
        stream.write_all(ok("body", fields).as_bytes()).unwrap();
        After::Keep
    });
    let (json, _) = run(&[&server.url("/"), "-n", "40", "-c", "1"]);
    assert_eq!(number(&json, "/cache/hits"), 20.0);
    assert_eq!(number(&json, "/cache/misses"), 10.0);
    assert_eq!(number(&json, "/cache/unknown"), 10.0);
    assert!((number(&json, "/cache/hit_ratio") - 2.0 / 3.0).abs() < 1e-9);
    assert_eq!(number(&json, "/latency_us/hit_last_byte/count"), 20.0);
    assert!(number(&json, "/latency_us/miss_last_byte/min") >= 40_000.0);
    assert!(number(&json, "/latency_us/hit_last_byte/p50") < 40_000.0);
}

#[test]
fn several_urls_take_turns() {
    let server = Server::canned(ok("x", ""));
    let urls: Vec<String> = ["/a", "/b", "/c"].iter().map(|path| server.url(path)).collect();
    let (json, _) = run(&[&urls[0], &urls[1], &urls[2], "-n", "90", "-c", "3", "-t", "1"]);
    assert_eq!(number(&json, "/requests"), 90.0);
    let paths = server.paths.lock().unwrap();
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    paths.iter().for_each(|path| *counts.entry(path).or_default() += 1);
    assert!(counts.values().all(|n| (25..=35).contains(n)) && counts.len() == 3, "{counts:?}");
    drop(paths);
    let server = Server::canned(ok("x", ""));
    let urls: Vec<String> = ["/a", "/b", "/c"].iter().map(|path| server.url(path)).collect();
    run(&[&urls[0], &urls[1], &urls[2], "-n", "7", "-c", "1"]);
    assert_eq!(*server.paths.lock().unwrap(), ["/a", "/b", "/c", "/a", "/b", "/c", "/a"]);
}

#[test]
fn two_servers_in_one_run() {
    let (one, two) = (Server::canned(ok("1", "")), Server::canned(ok("2", "")));
    let (json, code) = run(&[&one.url("/"), &two.url("/"), "-n", "40", "-c", "4"]);
    assert_eq!(code, 0, "{json}");
    assert_eq!(one.seen() + two.seen(), 40);
    assert!(one.seen() > 0 && two.seen() > 0);
}

#[test]
fn what_is_sent() {
    let server = Server::start(|stream, seen| {
        let text = seen.text();
        let fine = text.starts_with("PUT /p?q=1 HTTP/1.1\r\n")
            && text.contains("\r\nhost: example.org\r\n")
            && !text.contains("\r\nHost: ")
            && text.contains("\r\nX-A: b\r\n")
            && text.contains("\r\nContent-Length: 9\r\n")
            && text.ends_with("\r\n\r\nsome body");
        let status = if fine { "200 OK" } else { "400 Bad" };
        stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes()).unwrap();
        After::Keep
    });
    let url = server.url("/p?q=1");
    let (json, _) =
        run(&[&url, "-n", "3", "-m", "PUT", "-b", "some body", "-H", "host: example.org", "-H", "X-A: b"]);
    let good = json["statuses"].as_object().unwrap();
    assert_eq!(good.len(), 1, "{json}");
    assert_eq!(number(&json, "/statuses/200"), 3.0);
}

#[test]
fn a_large_body_is_sent_whole_and_a_large_answer_read_whole() {
    let scratch = Scratch::new("large");
    let file = scratch.file("body");
    std::fs::write(&file, vec![b'p'; 6_000_000]).unwrap();
    let server = Server::start(|stream, seen| {
        assert!(seen.bytes.len() > 6_000_000);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n").unwrap();
        stream.write_all(&vec![b'g'; 5_000_000]).unwrap();
        After::Keep
    });
    let (json, _) = run(&[&server.url("/"), "-n", "6", "-c", "2", "-b", &format!("@{file}")]);
    assert_eq!(number(&json, "/responses"), 6.0, "{json}");
    assert_eq!(number(&json, "/bytes/bodies"), 30_000_000.0);
    assert!(number(&json, "/bytes/written") > 36_000_000.0);
}

#[test]
fn a_refusal_before_the_body_is_sent_is_an_answer() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    thread::spawn(move || {
        for stream in server.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 200];
            let _ = stream.read(&mut head);
            let _ =
                stream.write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = stream.shutdown(std::net::Shutdown::Write);
            // Takes the rest, so that no reset overtakes the answer.
            let mut rest = vec![0; 1 << 16];
            while stream.read(&mut rest).is_ok_and(|n| n > 0) {}
        }
    });
    let scratch = Scratch::new("refusal");
    let file = scratch.file("body");
    std::fs::write(&file, vec![b'p'; 8_000_000]).unwrap();
    let (json, _) = run(&[
        &format!("http://{address}/"),
        "-n",
        "4",
        "-c",
        "1",
        "-b",
        &format!("@{file}"),
        "--timeout",
        "5s",
    ]);
    assert_eq!(number(&json, "/statuses/413"), 4.0, "{json}");
}

#[test]
fn gzip_is_decoded_by_sample() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&[b'z'; 50_000]).unwrap();
    let body = encoder.finish().unwrap();
    let length = body.len();
    let server = Server::start(move |stream, seen| {
        if seen.text().contains("Accept-Encoding: gzip\r\n") {
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(&body).unwrap();
            stream.write_all(b"\r\n0\r\n\r\n").unwrap();
        } else {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nContent-Length: 4\r\n\r\nabcd")
                .unwrap();
        }
        After::Keep
    });
    let (json, _) = run(&[&server.url("/"), "-n", "10", "-c", "2", "-H", "Accept-Encoding: gzip"]);
    assert_eq!(number(&json, "/bytes/bodies"), 10.0 * length as f64);
    assert_eq!(number(&json, "/bytes/decoded"), 500_000.0);
    assert!(!json["verdict"]["findings"].to_string().contains("bodies-broken"), "{json}");
    let (json, _) = run(&[&server.url("/"), "-n", "10", "-H", "Accept-Encoding: deflate"]);
    assert_eq!(json["bytes"]["decoded"], serde_json::Value::Null);
    assert!(json["verdict"]["findings"].to_string().contains("encoded-only"), "{json}");
}

#[test]
fn compression_is_told_of_each_type_of_content() {
    let pages = |letter: u8, length: usize| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&vec![letter; length]).unwrap();
        encoder.finish().unwrap()
    };
    let (html, css) = (pages(b'h', 40_000), pages(b'c', 3_000));
    let lengths = (html.len() as f64, css.len() as f64);
    let server = Server::start(move |stream, seen| {
        let (of, coding, body) = match seen.path().as_str() {
            "/page" => ("text/html; charset=utf-8", "Content-Encoding: gzip\r\n", html.as_slice()),
            "/style" => ("Text/CSS", "Content-Encoding: gzip\r\n", css.as_slice()),
            _ => ("image/png", "", &[7_u8; 500][..]),
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {of}\r\n{coding}Content-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        After::Keep
    });
    // The image comes first: what is decoded must not hang on which answer a client sees first.
    let urls = ["/logo", "/style", "/page"].map(|path| server.url(path));
    let output = output(&["run", &urls[0], &urls[1], &urls[2], "-n", "30", "-c", "1", "--json", "-"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let types = json["bytes"]["types"].as_array().unwrap();
    let of = |name: &str| types.iter().find(|one| one["type"] == name).unwrap_or_else(|| panic!("{json}"));
    assert_eq!(types.len(), 3, "{json}");
    for (name, bodies, coded, decoded) in [
        ("text/html", 10.0 * lengths.0, 10.0 * lengths.0, 400_000.0),
        ("text/css", 10.0 * lengths.1, 10.0 * lengths.1, 30_000.0),
        ("image/png", 5_000.0, 0.0, 5_000.0),
    ] {
        let one = of(name);
        assert_eq!((number(one, "/answers"), number(one, "/bodies")), (10.0, bodies), "{one}");
        assert_eq!((number(one, "/coded"), number(one, "/decoded")), (coded, decoded), "{one}");
    }
    assert_eq!(number(&json, "/bytes/decoded"), 435_000.0);
    let text = String::from_utf8(output.stderr).unwrap();
    let row = text.lines().find(|line| line.trim_start().starts_with("text/html")).unwrap();
    assert!(row.contains("400 kB") && row.ends_with("100 %"), "{text}");
}

#[test]
fn bodies_that_do_not_decode_are_suspect() {
    let server = Server::canned(ok("no gzip at all", "Content-Encoding: gzip\r\n"));
    let (json, _) = run(&[&server.url("/"), "-n", "10", "--compressed"]);
    assert_eq!(json["verdict"]["grade"], "SUSPECT", "{json}");
    assert_eq!(json["verdict"]["findings"][0]["code"], "bodies-broken", "{json}");
}

#[test]
fn flags_that_cannot_do_what_they_say_are_refused_before_anything_is_sent() {
    let server = Server::canned(ok("x", ""));
    let url = server.url("/");
    for (flags, says) in [
        (["-H", "Content-Length: 5"], "it follows from the body"),
        (["-H", "transfer-encoding: chunked"], "it follows from the body"),
        (["--cacert", "/etc/hostname"], "--cacert is of https://"),
        (["--source-ip", "192.0.2.7"], "cannot connect from 192.0.2.7"),
    ] {
        let output = output(&["run", &url, "-n", "1", flags[0], flags[1]]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{flags:?}: {said}");
        assert!(said.contains(says), "{flags:?}: {said}");
    }
    assert_eq!(server.seen(), 0);
}

#[test]
fn a_gate_that_cannot_be_told_is_closed() {
    let server = Server::canned(ok("x", ""));
    let output = output(&["run", &server.url("/"), "-n", "5", "-q", "--fail-if", "hits<90%"]);
    assert_eq!(output.status.code(), Some(4));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("hits<90% cannot be told: no answer says whether it came from a cache"), "{said}");
}

#[test]
fn files_without_end_do_not_fill_the_memory() {
    let zero = "/dev/zero";
    for args in [
        &["report", zero][..],
        &["compare", zero, zero],
        &["rerun", zero],
        &["check", zero],
        &["import", zero],
        &["run", "http://127.0.0.1:9/", "-b", "@/dev/zero"],
        &["run", "https://127.0.0.1:9/", "--cacert", zero],
    ] {
        let output = output(args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(
            said.contains("it is larger than ") || said.contains("are at most 64 MiB"),
            "{args:?}: {said}"
        );
    }
}

#[test]
fn the_server_is_found_by_its_port() {
    let server = Server::canned(ok("x", ""));
    let (json, _) = run(&[&server.url("/"), "-d", "500ms"]);
    assert_eq!(number(&json, "/cpu/servers/0/pid"), f64::from(std::process::id()), "{json}");
    assert_eq!(json["cpu"]["servers"][0]["found"], true);
    assert!(number(&json, "/cpu/servers/0/rss_bytes") > 100_000.0);
    assert_eq!(json["asked"]["same_host"], true);
    let named = format!("handler={}", std::process::id());
    let (json, _) = run(&[&server.url("/"), "-d", "200ms", "--server-pid", &named]);
    assert_eq!(json["cpu"]["servers"].as_array().unwrap().len(), 1, "not counted twice");
    assert_eq!(json["cpu"]["servers"][0]["name"], "handler");
}

#[test]
fn a_unix_socket_works_too() {
    let scratch = Scratch::new("unix");
    let path = scratch.file("s.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut buffer = [0; 4096];
            while stream.read(&mut buffer).is_ok_and(|n| n > 0) {
                assert!(buffer.starts_with(b"GET /a?b HTTP/1.1\r\nHost: localhost\r\n"));
                stream.write_all(ok("x", "").as_bytes()).unwrap();
            }
        }
    });
    let (json, code) = run(&[&format!("unix:{path}:/a?b"), "-n", "10", "-c", "1"]);
    assert_eq!((code, number(&json, "/responses")), (0, 10.0), "{json}");
}

#[test]
fn a_name_with_two_addresses_finds_the_one_that_listens() {
    let server = Server::canned(ok("x", ""));
    let (_held, port) = common::refusing_port();
    let dead = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let target: Target = server.url("/").parse().unwrap();
    let load = Load::closed(2, 1, Some(10), Schedule::plain(2.0, 0, None, 0));
    let plan = Plan::of_urls(&[target], &[], Pick::InTurn, &Wish::default(), load).unwrap();
    let ways =
        Ways { addresses: vec![vec![Address::Tcp(dead), Address::Tcp(server.address)]], ..Ways::default() };
    let (out, inbox) = std::sync::mpsc::channel();
    let outcome = sender::work(&plan, &ways, 0, Clock::start(), &Shared::default(), out).unwrap();
    let mut seen = outcome.whole;
    inbox.iter().for_each(|message| {
        if let Message::Step(0, tally) = message {
            seen.merge(&tally);
        }
    });
    assert_eq!((seen.counts.responses, server.seen()), (10, 10));
    assert_eq!(seen.connect_failures(), 0, "an address that is passed over is no failure");
    assert_eq!(seen.counts.connect_attempts, 4);
}

#[test]
fn ctrl_c_ends_the_run_with_its_report() {
    let server = Server::start(|stream, seen| {
        if seen.number >= 10 {
            thread::sleep(Duration::from_secs(5));
        }
        let _ = stream.write_all(ok("x", "").as_bytes());
        After::Keep
    });
    let mut child = thirst(&["run", &server.url("/"), "-d", "60s", "-c", "2", "--json", "-", "--quiet"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let patience = Instant::now();
    while server.seen() < 12 && patience.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["interrupted"], true);
    assert_eq!(number(&json, "/requests"), 12.0);
    assert_eq!(number(&json, "/responses") + number(&json, "/unfinished"), 12.0);
    assert_eq!(number(&json, "/unfinished"), 2.0);
}

#[test]
fn text_html_and_the_report_of_several_runs() {
    let scratch = Scratch::new("report");
    let server = Server::canned(ok("x", "Age: 3\r\n"));
    let mut files = Vec::new();
    for label in ["first", "second <b>"] {
        let (json, html) = (scratch.file(&format!("{}.json", files.len())), scratch.file("one.html"));
        let output = output(&[
            "run",
            &server.url("/"),
            "-n",
            "2000",
            "--label",
            label,
            "--json",
            &json,
            "--html",
            &html,
            "--wcat",
        ]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success());
        assert!(
            text.contains("Thirst Performance Statistics")
                && text.contains("Total Requests              :           2000"),
            "{text}"
        );
        assert!(text.contains("2,000 hits, 0 misses"), "{text}");
        let page = std::fs::read_to_string(&html).unwrap();
        assert!(page.contains("<svg") && !page.contains("second <b>") && !page.contains("<script"));
        files.push(json);
    }
    let html = scratch.file("all.html");
    let output = output(&["report", &files[0], &files[1], "--html", &html]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("first") && text.contains("1.00 ×"), "{text}");
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.contains("2 runs side by side") && page.contains("second &lt;b&gt;"));
}

#[test]
fn wrong_usage_says_what_to_do() {
    let scratch = Scratch::new("usage");
    let missing = scratch.file("missing/out.json");
    for (args, say) in [
        (vec!["run", "http://h/", "--poisson"], "with --rate"),
        (vec!["run", "http://h/", "--rate", "5", "--think", "1s"], "cannot be used with"),
        (vec!["run", "http://h/", "--steps", "1k@3s", "--settle", "3s"], "--settle leaves nothing"),
        (vec!["run", "http://h/", "--settle", "3s"], "a plain run has --warmup"),
        (vec!["run", "http://h/", "--ramp", "9..1:+1@3s"], "a ramp goes upwards"),
        (vec!["run", "http://h/", "--until", "p99>5"], "say the unit: 5ms"),
        (vec!["run", "http://h/", "--expect", "speed=9"], "says nothing to expect"),
        (vec!["run", "http://h/", "--pick", "weights"], "--urls FILE"),
        (vec!["run", "localhost:80"], "did you mean http://localhost:80"),
        (vec!["run"], "required"),
        (vec!["run", "http://h/", "-c", "0"], "0"),
        (vec!["run", "http://h/", "-n", "0"], "0"),
        (vec!["run", "http://h/", "-d", "soon"], "is not a duration"),
        (vec!["run", "http://h/", "-H", "nope"], "is not a header"),
        (vec!["run", "http://h/", "-b", "@/nonexistent"], "the body: cannot read"),
        (vec!["run", "http://h/", "-n", "5", "--cooldown", "1s"], "--cooldown needs -d"),
        (vec!["run", "http://127.0.0.1:1/", "--json", &missing], "cannot write"),
        (vec!["run", "http://name.invalid/"], "cannot find the address"),
        (vec!["report", "/nonexistent.json"], "cannot read"),
        (vec!["frob"], "frob"),
    ] {
        let output = output(&args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {stderr}");
        assert!(stderr.contains(say), "{args:?}: {stderr}");
    }
    for args in [vec!["--help"], vec!["run", "--help"], vec!["--version"]] {
        assert_eq!(output(&args).status.code(), Some(0), "{args:?}");
    }
}

/// The resident size of a process, in KiB.
fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

#[test]
fn memory_does_not_grow_with_requests() {
    let server = Server::canned(ok(&"x".repeat(1000), "Cache-Status: s; hit\r\n"));
    let url = server.url("/");
    let mut child = thirst(&["run", &url, "-d", "60s", "-c", "8", "-t", "1", "-q"]).spawn().unwrap();
    let resident_after = |requests: u64| {
        let patience = Instant::now();
        while server.seen() < requests && patience.elapsed() < Duration::from_secs(50) {
            thread::sleep(Duration::from_millis(2));
        }
        assert!(server.seen() >= requests, "{} of {requests}", server.seen());
        resident_kib(child.id())
    };
    let (few, many) = (resident_after(2_000), resident_after(12_000));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(few > 1_000, "{few} KiB");
    // Histograms touch a page for each range of times seen: a few tens of KiB, whatever the count.
    assert!(many < few + 400, "{few} KiB after two thousand, {many} KiB after twelve thousand");
}
