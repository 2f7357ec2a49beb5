//! Ranges: out of whole answers, out of parts, out of what is still arriving; parts kept, put together and completed, and
//! never mixed.

use samovar_tests::client::Answer;
use samovar_tests::origin::{After, Asked, Origin};
use samovar_tests::server::{Folder, Server, soon};
use std::io::Write;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Byte `at` of version `version` of the resource.
fn byte(version: u64, at: u64) -> u8 {
    b'a' + ((at * 7 + at / 26 + version * 11) % 26) as u8
}

fn bytes(version: u64, start: u64, end: u64) -> Vec<u8> {
    (start..end).map(|at| byte(version, at)).collect()
}

/// The one range of a request, fitted to `total`, end exclusive.
fn asked_range(asked: &Asked, total: u64) -> Option<(u64, u64)> {
    let (first, last) = asked.field("range")?.strip_prefix("bytes=")?.split_once('-')?;
    let (start, end) = match (first, last) {
        ("", last) => (total.saturating_sub(last.parse().ok()?), total),
        (first, "") => (first.parse().ok()?, total),
        (first, last) => (first.parse().ok()?, (last.parse::<u64>().ok()? + 1).min(total)),
    };
    (start < end).then_some((start, end))
}

/// A resource of `total` bytes that honours ranges and If-Range; its version is the number in the cell.
fn resource(total: u64, version: &Arc<AtomicU64>, fields: &'static str) -> Origin {
    let version = Arc::clone(version);
    Origin::raw(move |asked, stream| {
        let version = version.load(Ordering::SeqCst);
        let tag = format!("\"v{version}\"");
        let same = asked.field("if-range").is_none_or(|wanted| wanted == tag);
        let range = asked_range(asked, total).filter(|_| same);
        let fields = fields.replace("TAG", &tag);
        let (line, (start, end)) = match range {
            Some((start, end)) => {
                (format!("206 Partial\r\nContent-Range: bytes {start}-{}/{total}", end - 1), (start, end))
            }
            None => ("200 OK".to_owned(), (0, total)),
        };
        let head = format!("HTTP/1.1 {line}\r\n{fields}Content-Length: {}\r\n\r\n", end - start);
        // In one piece, or the second would wait for the first to be acknowledged.
        stream.write_all(&[head.as_bytes(), &bytes(version, start, end)].concat()).unwrap();
        After::Keep
    })
}

const FRESH: &str = "Cache-Control: max-age=60\r\nETag: TAG\r\n";

fn fixed() -> Arc<AtomicU64> {
    Arc::new(AtomicU64::new(1))
}

fn range(server: &Server, path: &str, wanted: &str) -> Answer {
    server.get(path, &[("Range", wanted)])
}

#[test]
fn what_was_fetched_answers_ranges_within_it() {
    let origin = resource(100, &fixed(), FRESH);
    let server = Server::before(&origin.url, &[]);
    let first = range(&server, "/r", "bytes=10-19");
    assert_eq!((first.status, first.reason().as_str()), (206, "part-stored"));
    assert_eq!(first.field("content-range"), Some("bytes 10-19/100"));
    for (wanted, start, end) in
        [("bytes=10-19", 10, 20), ("bytes=12-15", 12, 16), ("bytes=19-19", 19, 20), ("bytes=10-10", 10, 11)]
    {
        let answer = range(&server, "/r", wanted);
        assert_eq!((answer.status, answer.is_hit()), (206, true), "{wanted}: {}", answer.cache_status());
        assert_eq!(answer.body, bytes(1, start, end), "{wanted}");
        let said = format!("bytes {start}-{}/100", end - 1);
        assert_eq!(answer.field("content-range"), Some(said.as_str()));
        assert!(answer.field("age").is_some());
    }
    assert_eq!(origin.count(), 1);
    let beyond = range(&server, "/r", "bytes=15-25");
    assert_eq!((beyond.is_hit(), beyond.body.clone()), (false, bytes(1, 15, 26)));
    assert!(beyond.cache_status().contains("fwd=partial"), "{}", beyond.cache_status());
    // Both parts are one now, as they share a strong validator.
    assert!(range(&server, "/r", "bytes=10-25").is_hit());
    let shown = server.json(&["cache", "show", "/r"]);
    assert_eq!(shown[0]["parts"].to_string(), "[[10,14],[15,25]]");
    assert_eq!((shown[0]["total_bytes"].as_u64(), shown[0]["body_bytes"].as_u64()), (Some(100), Some(16)));
}

#[test]
fn the_rest_is_asked_for_and_the_whole_is_stored() {
    for (first, asked) in [("bytes=0-49", "bytes=50-"), ("bytes=-50", "bytes=0-49")] {
        let origin = resource(100, &fixed(), FRESH);
        let server = Server::before(&origin.url, &[]);
        range(&server, "/r", first);
        let whole = server.get("/r", &[]);
        assert_eq!((whole.status, whole.body.clone()), (200, bytes(1, 0, 100)), "{first}");
        assert_eq!(whole.reason(), "completed");
        assert_eq!((whole.field("content-length"), whole.field("content-range")), (Some("100"), None));
        let rest = &origin.asked()[1];
        assert_eq!((rest.field("range"), rest.field("if-range")), (Some(asked), Some("\"v1\"")));
        assert!(server.get("/r", &[]).is_hit() && range(&server, "/r", "bytes=3-5").is_hit());
        assert_eq!(origin.count(), 2);
    }
    // Held at both ends: the middle is asked for.
    let origin = resource(100, &fixed(), FRESH);
    let server = Server::before(&origin.url, &[]);
    range(&server, "/r", "bytes=0-9");
    range(&server, "/r", "bytes=90-");
    assert_eq!(server.get("/r", &[]).body, bytes(1, 0, 100));
    assert_eq!(origin.asked()[2].field("range"), Some("bytes=10-89"));
    // More than one gap: the whole is asked for at once.
    range(&server, "/s", "bytes=10-19");
    assert_eq!(server.get("/s", &[]).body, bytes(1, 0, 100));
    assert_eq!(origin.asked()[4].field("range"), None);
}

#[test]
fn versions_are_never_mixed() {
    // It changes between the parts; the origin honours If-Range, or does not know it, or has no strong validator.
    for (fields, knows) in
        [(FRESH, true), (FRESH, false), ("Cache-Control: max-age=60\r\nETag: W/TAG\r\n", true)]
    {
        let version = fixed();
        let inner = resource(100, &version, fields);
        let port = inner.port;
        let origin = if knows { inner } else { without_if_range(port) };
        let server = Server::before(&origin.url, &[]);
        assert_eq!(range(&server, "/r", "bytes=0-49").body, bytes(1, 0, 50));
        version.store(2, Ordering::SeqCst);
        assert_eq!(server.get("/r", &[]).body, bytes(2, 0, 100), "{fields:?} {knows}");
        // A new part of another version replaces the old.
        assert_eq!(range(&server, "/s", "bytes=0-9").body, bytes(2, 0, 10));
        version.store(3, Ordering::SeqCst);
        assert_eq!(range(&server, "/s", "bytes=10-19").body, bytes(3, 10, 20));
        let both = range(&server, "/s", "bytes=5-14");
        assert_eq!((both.is_hit(), both.body), (false, bytes(3, 5, 15)), "{fields:?} {knows}");
    }
}

/// Passes requests on to `port` without If-Range: an origin that does not know it.
fn without_if_range(port: u16) -> Origin {
    Origin::raw(move |asked, stream| {
        let mut inner = samovar_tests::client::Client::connect(&format!("127.0.0.1:{port}"));
        let range: Vec<(&str, &str)> =
            asked.field("range").map(|value| ("Range", value)).into_iter().collect();
        let answer = inner.get(asked.target(), &range);
        let mut head = format!("{}\r\n", answer.line);
        for (name, value) in &answer.fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
        stream.write_all(&answer.body).unwrap();
        After::Keep
    })
}

#[test]
fn if_range_wants_a_strong_match() {
    let origin = resource(100, &fixed(), FRESH);
    let server = Server::before(&origin.url, &[]);
    range(&server, "/r", "bytes=0-49");
    let with = |validator: &str| server.get("/r", &[("Range", "bytes=3-5"), ("If-Range", validator)]);
    let held = with("\"v1\"");
    assert_eq!((held.status, held.is_hit(), held.body), (206, true, bytes(1, 3, 6)));
    assert_eq!(origin.count(), 1);
    for other in ["\"v2\"", "W/\"v1\"", "Sun, 06 Nov 1994 08:49:37 GMT", "nonsense"] {
        let whole = with(other);
        assert_eq!((whole.status, whole.body), (200, bytes(1, 0, 100)), "{other}");
    }
}

/// 206s that lie about themselves go to the client as they are, and nothing is cut from them.
#[test]
fn what_contradicts_itself_is_not_used() {
    for (said, body) in [
        ("bytes 4-9/10", "01234"),
        ("bytes 0-4/*", "01234"),
        ("bytes 0-4/3", "01234"),
        ("bytes 5-4/10", "01234"),
        ("bytes 0-99999999999999999999/100000000000000000000", "01234"),
        ("items 0-4/10", "01234"),
        ("", "01234"),
        ("bytes 0-4/10\r\nContent-Range: bytes 5-9/10", "01234"),
    ] {
        let origin = Origin::raw(move |asked, stream| {
            let part = asked.field("range").is_some();
            let line = if part { "206 Partial" } else { "200 OK" };
            let said =
                if said.is_empty() || !part { String::new() } else { format!("Content-Range: {said}\r\n") };
            let body = if part { body } else { "whole" };
            let head = format!(
                "HTTP/1.1 {line}\r\nCache-Control: max-age=60\r\nETag: \"1\"\r\n{said}Content-Length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(head.as_bytes()).unwrap();
            After::Keep
        });
        let server = Server::before(&origin.url, &[]);
        assert_eq!(range(&server, "/r", "bytes=-5").text(), body, "{said}");
        let again = range(&server, "/r", "bytes=-5");
        assert_eq!((again.status, again.is_hit(), again.text().as_str()), (206, true, body), "{said}");
        assert!(!range(&server, "/r", "bytes=6-8").is_hit(), "{said}");
        let whole = server.get("/r", &[]);
        assert_eq!((whole.status, whole.text().as_str()), (200, "whole"), "{said}");
        assert!(origin.asked().last().unwrap().field("range").is_none(), "{said}: asked for as a whole");
    }
    // A part that breaks off is no part.
    let origin = Origin::raw(|_, stream| {
        let head = "HTTP/1.1 206 Partial\r\nCache-Control: max-age=60\r\nContent-Range: bytes 0-9/10\r\nContent-Length: 10\r\n\r\n01234";
        stream.write_all(head.as_bytes()).unwrap();
        After::Close
    });
    let server = Server::before(&origin.url, &[]);
    assert!(!range(&server, "/r", "bytes=0-9").whole);
    assert!(!range(&server, "/r", "bytes=0-1").is_hit());
}

/// A rest that is shorter than it said breaks off one answer, not every answer: the parts are not built upon again.
#[test]
fn a_rest_that_breaks_off_is_not_asked_for_twice() {
    let origin = Origin::raw(|asked, stream| {
        let (line, body) = match asked.field("range") {
            Some("bytes=0-4") => ("206 P\r\nContent-Range: bytes 0-4/10\r\nContent-Length: 5", "01234"),
            Some(_) => (
                "206 P\r\nContent-Range: bytes 5-9/10\r\nTransfer-Encoding: chunked",
                "3\r\n567\r\n0\r\n\r\n",
            ),
            None => ("200 OK\r\nContent-Length: 10", "0123456789"),
        };
        let head = format!("HTTP/1.1 {line}\r\nCache-Control: max-age=60\r\nETag: \"1\"\r\n\r\n{body}");
        stream.write_all(head.as_bytes()).unwrap();
        After::Keep
    });
    let server = Server::before(&origin.url, &[]);
    range(&server, "/r", "bytes=0-4");
    assert!(!server.get("/r", &[]).whole);
    let again = server.get("/r", &[]);
    assert_eq!((again.whole, again.text().as_str()), (true, "0123456789"), "{}", again.cache_status());
    assert!(server.get("/r", &[]).is_hit());
}

/// What a request must not share is not shared in parts either.
#[test]
fn parts_obey_the_rules_of_the_whole() {
    for (fields, reason) in [
        ("Cache-Control: no-store\r\n", "no-store"),
        ("Cache-Control: private, max-age=60\r\n", "private"),
        ("Cache-Control: max-age=60\r\nSet-Cookie: a=b\r\n", "set-cookie"),
        ("Cache-Control: max-age=60\r\nVary: *\r\n", "vary-star"),
        ("ETag: TAG\r\n", "part-stored"), // stored, and stale at once
        ("", "no-explicit-freshness"),
    ] {
        let origin = resource(100, &fixed(), fields);
        let server = Server::before(&origin.url, &[]);
        assert_eq!(range(&server, "/r", "bytes=0-9").reason(), reason, "{fields:?}");
        let again = range(&server, "/r", "bytes=0-9");
        assert_eq!((again.is_hit(), again.body), (false, bytes(1, 0, 10)), "{fields:?}");
    }
    let origin = resource(100, &fixed(), "Cache-Control: max-age=60\r\nETag: TAG\r\nVary: X-Kind\r\n");
    let server = Server::before(&origin.url, &[]);
    let of = |kind: &str| server.get("/r", &[("Range", "bytes=0-9"), ("X-Kind", kind)]);
    of("a");
    assert!(of("a").is_hit() && !of("b").is_hit() && of("a").is_hit() && of("b").is_hit());
    server.tell(&["cache", "purge", "/r"]);
    assert!(!of("a").is_hit() && !of("b").is_hit());
}

/// Parts that are stale, doubted or purged softly are not asked about and not completed: they are fetched anew.
#[test]
fn parts_that_do_not_hold_any_more() {
    let version = fixed();
    let origin =
        resource(100, &version, "Cache-Control: max-age=60, stale-while-revalidate=60\r\nETag: TAG\r\n");
    let server = Server::before(&origin.url, &[]);
    range(&server, "/r", "bytes=0-49");
    version.store(2, Ordering::SeqCst);
    server.tell(&["cache", "purge", "/r", "--soft"]);
    assert_eq!(range(&server, "/r", "bytes=10-19").body, bytes(2, 10, 20));
    server.tell(&["cache", "purge", "/r", "--soft"]);
    version.store(3, Ordering::SeqCst);
    assert_eq!(server.get("/r", &[]).body, bytes(3, 0, 100));
    assert!(
        origin.asked().iter().all(|asked| asked.field("if-range").is_none()),
        "nothing old is built upon"
    );
    let aged = "Cache-Control: max-age=60, stale-while-revalidate=60\r\nAge: 70\r\nETag: TAG\r\n";
    let origin = resource(100, &fixed(), aged);
    let server = Server::before(&origin.url, &[]);
    range(&server, "/r", "bytes=0-49");
    let again = range(&server, "/r", "bytes=0-49");
    assert!(!again.is_hit() && again.cache_status().contains("fwd=stale"), "{}", again.cache_status());
    assert_eq!(server.get("/r", &[]).body, bytes(1, 0, 100));
}

#[test]
fn a_purge_overtakes_a_part_under_way() {
    let version = fixed();
    let slow = Arc::clone(&version);
    let origin = Origin::raw(move |asked, stream| {
        let v = slow.load(Ordering::SeqCst);
        let (start, end) = asked_range(asked, 100).unwrap();
        if asked.number == 0 {
            std::thread::sleep(Duration::from_millis(400));
        }
        let head = format!(
            "HTTP/1.1 206 P\r\nCache-Control: max-age=60\r\nETag: \"{v}\"\r\nContent-Range: bytes {start}-{}/100\r\nContent-Length: {}\r\n\r\n",
            end - 1,
            end - start
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&bytes(v, start, end)).unwrap();
        After::Keep
    });
    let server = Server::before(&origin.url, &[]);
    let mut client = server.connect();
    client.send("GET /r HTTP/1.1\r\nHost: a\r\nRange: bytes=0-9\r\n\r\n");
    soon("the request at the origin", || (origin.count() == 1).then_some(()));
    server.tell(&["cache", "purge", "--all"]);
    assert_eq!(client.answer("GET").body, bytes(1, 0, 10));
    version.store(2, Ordering::SeqCst);
    assert_eq!(range(&server, "/r", "bytes=0-9").body, bytes(2, 0, 10));
}

/// Sends 300 bytes in steps of 100, each after a permit.
fn stepwise(fields: &'static str) -> (Origin, Arc<AtomicU64>) {
    let permits = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&permits);
    let origin = Origin::raw(move |_, stream| {
        stream
            .write_all(format!("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n{fields}\r\n").as_bytes())
            .unwrap();
        for step in 0..3 {
            while seen.load(Ordering::SeqCst) <= step {
                std::thread::sleep(Duration::from_millis(2));
            }
            stream.write_all(&bytes(1, step * 100, (step + 1) * 100)).unwrap();
        }
        if fields.contains("Content-Length") { After::Keep } else { After::Close }
    });
    (origin, permits)
}

#[test]
fn ranges_out_of_what_is_still_arriving() {
    let (origin, permits) = stepwise("Content-Length: 300\r\n");
    let server = Server::before(&origin.url, &[]);
    let mut first = server.connect();
    first.send("GET /r HTTP/1.1\r\nHost: a\r\n\r\n");
    permits.store(1, Ordering::SeqCst);
    soon("the fetch", || (origin.count() == 1).then_some(()));
    let ask = |wanted: &str| {
        let mut client = server.connect();
        client.send(format!("GET /r HTTP/1.1\r\nHost: a\r\nRange: bytes={wanted}\r\n\r\n"));
        client
    };
    let early = ask("10-19").answer("GET");
    assert_eq!((early.status, early.reason().as_str()), (206, "joined"));
    assert_eq!(early.body, bytes(1, 10, 20));
    let (mut across, mut late, mut whole) = (ask("90-210"), ask("-10"), server.connect());
    whole.send("GET /r HTTP/1.1\r\nHost: a\r\n\r\n");
    permits.store(3, Ordering::SeqCst);
    let answer = across.answer("GET");
    assert_eq!((answer.status, answer.field("content-range")), (206, Some("bytes 90-210/300")));
    assert_eq!(answer.body, bytes(1, 90, 211));
    assert_eq!(late.answer("GET").body, bytes(1, 290, 300));
    assert_eq!(whole.answer("GET").body, bytes(1, 0, 300), "a late joiner gets all of it");
    assert_eq!(first.answer("GET").body, bytes(1, 0, 300));
    assert_eq!(origin.count(), 1, "one fetch for all");
}

/// Without a length nobody knows whether the range exists: such a request goes its own way.
#[test]
fn a_growing_body_of_unknown_length_gives_no_ranges() {
    let (origin, permits) = stepwise("");
    let server = Server::before(&origin.url, &[]);
    let mut first = server.connect();
    first.send("GET /r HTTP/1.1\r\nHost: a\r\n\r\n");
    permits.store(1, Ordering::SeqCst);
    soon("the fetch", || (origin.count() == 1).then_some(()));
    let mut ranged = server.connect();
    ranged.send("GET /r HTTP/1.1\r\nHost: a\r\nRange: bytes=0-9\r\n\r\n");
    soon("its own fetch", || (origin.count() == 2).then_some(()));
    permits.store(3, Ordering::SeqCst);
    assert_eq!(first.answer("GET").body, bytes(1, 0, 300));
    assert_eq!(ranged.answer("GET").body, bytes(1, 0, 300), "the origin ignores ranges");
}

/// An origin that ignores ranges: its 200 is stored, and the client gets its range.
#[test]
fn a_whole_answer_to_a_range() {
    let origin = Origin::raw(|_, stream| {
        stream
            .write_all(
                b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\n0123456789",
            )
            .unwrap();
        After::Keep
    });
    let server = Server::before(&origin.url, &[]);
    let answer = range(&server, "/r", "bytes=2-4");
    assert_eq!((answer.status, answer.text().as_str()), (206, "234"));
    assert!(server.get("/r", &[]).is_hit() && range(&server, "/r", "bytes=-1").is_hit());
    assert_eq!(range(&server, "/r", "bytes=10-").status, 416);
}

/// Random ranges, wholes, changes and purges against one resource: every answer is the bytes of one version, and of one
/// that was current no longer ago than the lifetime allows (here: any the resource has had).
#[test]
fn whatever_is_asked_in_whatever_order() {
    let mut seed = 0x5eed_u64;
    let mut roll = move |n: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % n
    };
    for round in 0..12 {
        let version = fixed();
        let origin = resource(40, &version, FRESH);
        let server = Server::before(&origin.url, &["--workers", "2"]);
        let mut hits = 0;
        for step in 0..120 {
            let newest = version.load(Ordering::SeqCst);
            let answer = match roll(20) {
                0 => {
                    version.fetch_add(1, Ordering::SeqCst);
                    server.tell(&["cache", "purge", "/r"]);
                    continue;
                }
                1..=2 => server.get("/r", &[]),
                _ => {
                    let start = roll(40);
                    let end = start + roll(40 - start);
                    let wanted = match roll(3) {
                        0 => format!("bytes={start}-"),
                        1 => format!("bytes=-{}", start + 1),
                        _ => format!("bytes={start}-{end}"),
                    };
                    range(&server, "/r", &wanted)
                }
            };
            let (start, end) = match answer.field("content-range") {
                Some(said) => {
                    let (first, last) = said
                        .strip_prefix("bytes ")
                        .unwrap()
                        .split_once('/')
                        .unwrap()
                        .0
                        .split_once('-')
                        .unwrap();
                    (first.parse().unwrap(), last.parse::<u64>().unwrap() + 1)
                }
                None => (0, 40),
            };
            hits += u32::from(answer.is_hit());
            assert_eq!(
                answer.body,
                bytes(newest, start, end),
                "round {round}, step {step}: {}",
                answer.cache_status()
            );
        }
        assert!(hits > 20, "only {hits} hits: the round proves little");
    }
}

#[test]
fn curl_resumes_and_cuts() {
    let origin = resource(100_000, &fixed(), FRESH);
    let server = Server::before(&origin.url, &[]);
    let folder = Folder::new();
    let file = folder.write("got", bytes(1, 0, 40_000));
    let curl = |args: &[&str]| {
        let output =
            Command::new("curl").args(["-sS", "--fail"]).args(args).arg(server.url("/r")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    curl(&["-C", "-", "-o", file.to_str().unwrap()]);
    assert_eq!(std::fs::read(&file).unwrap(), bytes(1, 0, 100_000));
    assert_eq!(curl(&["-r", "50000-50009"]), bytes(1, 50_000, 50_010));
    assert_eq!(origin.count(), 1, "the second range lies in the first");
    assert_eq!(curl(&[]), bytes(1, 0, 100_000));
    assert_eq!(origin.asked()[1].field("range"), Some("bytes=0-39999"));
}
