//! Parts from origins that say one thing and send another, or change their mind from part to part: nothing wrong is put
//! together, and nobody is told that it is whole.

use samovar_tests::client::Answer;
use samovar_tests::origin::{After, Asked, Origin};
use samovar_tests::server::{Server, soon};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const WHOLE: &[u8] = b"0123456789ABCDEFGHIJ";

/// What an origin sends for one range: fields, and the bytes of a chunked body.
type Said = (&'static str, &'static [u8]);

/// Answers each range of the list as it says, and everything else with the whole.
fn origin<const N: usize>(said: [(&'static str, Said); N]) -> Origin {
    Origin::raw(move |asked: &Asked, stream| {
        let range = asked.field("range").unwrap_or_default();
        let answer = match said.iter().find(|(wanted, _)| *wanted == range) {
            Some((_, (fields, body))) => {
                let mut out =
                    format!("HTTP/1.1 206 P\r\n{fields}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
                out.extend(format!("{:x}\r\n", body.len()).as_bytes());
                out.extend([body, &b"\r\n0\r\n\r\n"[..]].concat());
                out
            }
            None => {
                let mut out =
                    b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nETag: \"e\"\r\nContent-Length: 20\r\n\r\n".to_vec();
                out.extend(WHOLE);
                out
            }
        };
        stream.write_all(&answer).unwrap();
        After::Keep
    })
}

macro_rules! part {
    ($range:literal, $more:literal) => {
        concat!("Cache-Control: max-age=60\r\nETag: \"e\"\r\nContent-Range: bytes ", $range, "/20\r\n", $more)
    };
}

fn range(server: &Server, wanted: &str) -> Answer {
    server.get("/r", &[("Range", wanted)])
}

/// Asks until it is stored: a chunked body may be read before its end has come.
fn stored(server: &Server, wanted: &str) {
    soon("the part to be stored", || range(server, wanted).is_hit().then_some(()));
}

/// A rest without a `Date` is of the moment it came, and so is what it makes whole (RFC 9110 §6.6.1).
#[test]
fn a_rest_without_a_date_is_as_young_as_it_is() {
    let date = std::process::Command::new("date")
        .args(["-u", "-d", "40 seconds ago", "+%a, %d %b %Y %T GMT"])
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    let date = String::from_utf8(date.stdout).unwrap().trim().to_string();
    let origin = Origin::raw(move |asked, stream| {
        let (range, date, body) = match asked.field("range") {
            Some("bytes=0-3") => ("0-3", format!("Date: {date}\r\n"), &WHOLE[..4]),
            _ => ("4-19", String::new(), &WHOLE[4..]),
        };
        let answer = format!(
            "HTTP/1.1 206 P\r\nCache-Control: max-age=60\r\nETag: \"e\"\r\n{date}Content-Range: bytes {range}/20\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[answer.as_bytes(), body].concat()).unwrap();
        After::Keep
    });
    let server = Server::before(&origin.url, &[]);
    stored(&server, "bytes=0-3");
    let age = |answer: &Answer| answer.field("age").map_or(0, |age| age.parse::<u64>().unwrap());
    assert!(age(&range(&server, "bytes=0-3")) >= 40);
    let whole = server.get("/r", &[]);
    assert_eq!((whole.body.as_slice(), age(&whole) < 20), (WHOLE, true), "{:?}", whole.field("age"));
    let kept = soon("the whole to be stored", || Some(server.get("/r", &[])).filter(Answer::is_hit));
    assert!(age(&kept) < 20, "{:?}", kept.field("age"));
    assert_eq!(origin.count(), 2);
}

/// The rest is longer, or shorter, than its range. Whoever reads along was told the length of the whole, so the
/// connection ends before it; the next one gets the whole from the origin.
#[test]
fn a_rest_of_another_length_is_not_built_in() {
    for rest in [&b"456789XXXXXXXXXX"[..], b"456"] {
        let origin = origin([
            ("bytes=0-3", (part!("0-3", ""), b"0123")),
            ("bytes=10-", (part!("10-19", ""), b"ABCDEFGHIJ")),
            ("bytes=4-9", (part!("4-9", ""), rest)),
        ]);
        let server = Server::before(&origin.url, &[]);
        stored(&server, "bytes=0-3");
        stored(&server, "bytes=10-");
        let mut client = server.connect();
        client.send("GET /r HTTP/1.1\r\nHost: test\r\n\r\n");
        let came = client.rest();
        let text = String::from_utf8_lossy(&came);
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("ontent-") && head.contains(" 20"), "{head}");
        assert!(body.len() < 20 && "0123456789".starts_with(body), "{body}");
        let next = server.get("/r", &[]);
        assert_eq!((next.status, next.body.as_slice()), (200, WHOLE));
    }
}

/// A part is as long as its range says, or the connection ends.
#[test]
fn a_part_of_another_length_is_not_kept() {
    for body in [&b"0123456"[..], b"01"] {
        let origin = origin([("bytes=0-3", (part!("0-3", ""), body))]);
        let server = Server::before(&origin.url, &[]);
        for count in 1..3 {
            let mut client = server.connect();
            client.send("GET /r HTTP/1.1\r\nHost: test\r\nRange: bytes=0-3\r\n\r\n");
            let came = client.rest();
            let text = String::from_utf8_lossy(&came);
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.contains("206") && body.len() < 4 && "0123".starts_with(body), "{text}");
            assert_eq!(origin.count(), count, "not kept");
        }
    }
}

/// The part that completes the whole sets a cookie: the whole is not shared, and the cookie arrives.
#[test]
fn a_rest_with_a_cookie_is_for_one_client() {
    let origin = origin([
        ("bytes=0-9", (part!("0-9", ""), b"0123456789")),
        ("bytes=10-", (part!("10-19", "Set-Cookie: who=me\r\n"), b"ABCDEFGHIJ")),
    ]);
    let server = Server::before(&origin.url, &[]);
    stored(&server, "bytes=0-9");
    let whole = server.get("/r", &[]);
    assert_eq!((whole.status, whole.body.as_slice()), (200, WHOLE));
    let asked: Vec<_> = origin.asked().iter().map(|asked| asked.field("range").map(str::to_owned)).collect();
    let want = [Some("bytes=0-9".into()), Some("bytes=10-".into()), None];
    assert_eq!(asked, want, "what may not be shared is no use: the whole is asked for");
    assert!(server.get("/r", &[]).is_hit());
}

/// What is put together is found by the tags of each of its parts.
#[test]
fn a_purge_by_the_tag_of_one_part_finds_the_whole() {
    let origin = origin([
        ("bytes=0-3", (part!("0-3", "Surrogate-Key: first\r\n"), b"0123")),
        ("bytes=4-9", (part!("4-9", ""), b"456789")),
        ("bytes=10-", (part!("10-19", "Surrogate-Key: last\r\n"), b"ABCDEFGHIJ")),
    ]);
    let server = Server::before(&origin.url, &[]);
    stored(&server, "bytes=0-3");
    stored(&server, "bytes=4-9");
    assert!(range(&server, "bytes=2-6").is_hit());
    assert_eq!(server.json(&["cache", "purge", "--tag", "first"])["entries"], 1);
    assert!(!range(&server, "bytes=0-3").is_hit());
    stored(&server, "bytes=0-3");
    stored(&server, "bytes=4-9");
    assert_eq!(server.get("/r", &[]).body, b"0123456789ABCDEFGHIJ");
    for tag in ["first", "last"] {
        let tags = server.json(&["cache", "show", "/r"]).to_string();
        assert!(tags.contains(tag), "{tags}");
    }
}

/// A part that varies is not put together with one that does not: the whole would be for requests one of them is not for.
#[test]
fn parts_that_vary_differently_are_kept_apart() {
    let origin = origin([
        ("bytes=0-3", (part!("0-3", "Vary: X-Kind\r\n"), b"0123")),
        ("bytes=4-9", (part!("4-9", ""), b"456789")),
    ]);
    let server = Server::before(&origin.url, &[]);
    stored(&server, "bytes=0-3");
    assert_eq!(range(&server, "bytes=4-9").status, 206);
    let other = server.get("/r", &[("Range", "bytes=0-3"), ("X-Kind", "other")]);
    assert!(!other.is_hit(), "{}", other.cache_status());
}

/// Bytes that do not exist say nothing of the whole: it is fetched once for all who ask together, as ever.
#[test]
fn a_range_beyond_the_end_is_not_remembered() {
    let asked = Arc::new(AtomicU64::new(0));
    let origin = Origin::raw(move |request, stream| {
        let answer = match request.field("range") {
            Some(_) => "HTTP/1.1 416 R\r\nContent-Range: bytes */20\r\nContent-Length: 0\r\n\r\n",
            None if asked.fetch_add(1, Ordering::SeqCst) == 0 => {
                "HTTP/1.1 404 N\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nno"
            }
            None => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhm",
        };
        stream.write_all(answer.as_bytes()).unwrap();
        After::Keep
    });
    // The host is the site's own: one that no site names would have to be learned by a 2xx first.
    let text =
        format!("config = 1\n[[site]]\nhosts = [\"test\"]\ndefault = true\norigin = \"{}\"\n", origin.url);
    let (server, _file) = Server::configured(&text, &[]);
    let beyond = range(&server, "bytes=99-");
    assert_eq!((beyond.status, beyond.reason().as_str()), (416, "status-not-storable"));
    let told = server.tell(&["explain", "http://test/r"]);
    assert!(!told.contains("known-not-storable"), "{told}");
    assert_eq!(server.get("/r", &[]).status, 404);
    assert!(server.get("/r", &[]).is_hit());
}
