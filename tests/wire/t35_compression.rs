//! Compression at the wire: who gets what, out of what, and that no two forms of an answer are ever taken for one another.

use flate2::read::GzDecoder;
use samovar_tests::client::{Answer, Client};
use samovar_tests::origin::{After, Origin, own};
use samovar_tests::server::{Folder, Server, soon};
use serde_json::Value;
use std::io::{Read, Write};

/// A text that shrinks, of about so many bytes.
fn text(bytes: usize) -> String {
    let mut text = String::new();
    for n in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&format!(
            "<FeatureRecord><Identifier>{n}</Identifier><Status>MATCHED</Status></FeatureRecord>\n"
        ));
    }
    text
}

fn unzipped(answer: &Answer) -> String {
    let mut text = String::new();
    GzDecoder::new(&answer.body[..]).read_to_string(&mut text).unwrap();
    text
}

fn plain_of(answer: &Answer) -> String {
    match answer.field("content-encoding") {
        Some("gzip") => unzipped(answer),
        Some("br") => {
            let mut text = String::new();
            brotli_decompressor::Decompressor::new(&answer.body[..], 4096).read_to_string(&mut text).unwrap();
            text
        }
        Some("zstd") => {
            let mut text = String::new();
            let mut decoder = ruzstd::decoding::StreamingDecoder::new(&answer.body[..]).unwrap();
            decoder.read_to_string(&mut text).unwrap();
            text
        }
        None => answer.text(),
        Some(other) => panic!("{other}"),
    }
}

const XML: &[(&str, &str)] =
    &[("Cache-Control", "max-age=60"), ("Content-Type", "application/xml"), ("ETag", "\"v1\"")];

fn xml_origin() -> Origin {
    Origin::new(|asked| {
        let size = asked.target().trim_start_matches("/s").parse().unwrap_or(20_000);
        (200, own(XML), text(size).into_bytes())
    })
}

/// Asks until the form that is kept is there.
fn stored(server: &Server, path: &str, accept: &str) -> Answer {
    soon("a stored form", || {
        let answer = server.get(path, &[("Accept-Encoding", accept)]);
        (answer.field("content-encoding").is_some() && answer.field("content-length").is_some())
            .then_some(answer)
    })
}

#[test]
fn one_fetch_serves_every_browser_in_its_coding() {
    let origin = xml_origin();
    let server = Server::before(&origin.url, &[]);
    for (accept, coding) in [
        ("gzip, deflate", Some("gzip")),
        ("zstd;q=0.9, gzip;q=0.5", Some("zstd")),
        ("gzip;q=0", None),
        ("identity, gzip;q=0.1", None),
        ("deflate", None),
        ("br;q=0, zstd;q=0, *;q=0.5", Some("gzip")),
    ] {
        for _ in 0..3 {
            let answer = server.get("/s20000", &[("Accept-Encoding", accept)]);
            assert_eq!(answer.field("content-encoding"), coding, "{accept}");
            assert_eq!(plain_of(&answer), text(20_000), "{accept}");
            assert_eq!(answer.all("vary"), ["accept-encoding"], "{accept}");
        }
        if let Some(coding) = coding {
            let answer = stored(&server, "/s20000", accept);
            assert_eq!((answer.field("content-encoding"), plain_of(&answer)), (Some(coding), text(20_000)));
            assert!(answer.body.len() < 4_000, "{} bytes of {coding}", answer.body.len());
            assert_eq!(answer.field("content-length").unwrap(), answer.body.len().to_string());
        }
    }
    // Who takes all of them gets the one that is soonest made, then the one that is smallest.
    for accept in ["gzip, deflate, br, zstd", "*"] {
        assert_eq!(stored(&server, "/s20000", accept).field("content-encoding"), Some("br"), "{accept}");
    }
    let none = server.get("/s20000", &[]);
    assert_eq!((none.field("content-encoding"), none.all("vary")), (None, vec!["accept-encoding"]));
    assert_eq!(origin.count(), 1, "one answer for everybody");
    assert_eq!(origin.asked()[0].field("accept-encoding"), Some("identity"));
    let shown = server.json(&["cache", "list"]);
    let forms: Vec<&str> =
        shown[0]["forms"].as_array().unwrap().iter().map(|form| form[0].as_str().unwrap()).collect();
    assert_eq!((shown.as_array().unwrap().len(), forms), (1, vec!["br", "zstd", "gzip"]));
}

#[test]
fn what_is_not_worth_it_stays_as_it_is() {
    let origin = Origin::new(|asked| {
        let kind = match asked.target() {
            "/image" => "image/jpeg",
            _ => "text/html",
        };
        let mut fields = own(&[("Content-Type", kind), ("Cache-Control", "max-age=60")]);
        let mut body = text(5_000).into_bytes();
        match asked.target() {
            "/untouched" => fields.push(("Cache-Control".into(), "no-transform".into())),
            "/small" => body.truncate(100),
            "/noise" => {
                let mut n = 1_u64;
                body = std::iter::repeat_with(|| {
                    n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (n >> 40) as u8
                })
                .take(5_000)
                .collect();
            }
            _ => {}
        }
        (200, fields, body)
    });
    let server = Server::before(&origin.url, &[]);
    for (path, code, varies) in [
        ("/image", "type-not-compressed", false),
        ("/untouched", "no-transform", false),
        ("/small", "too-small-to-compress", false),
    ] {
        for _ in 0..3 {
            let answer = server.get(path, &[("Accept-Encoding", "gzip")]);
            assert_eq!(answer.field("content-encoding"), None, "{path}");
            assert_eq!(answer.field("vary").is_some(), varies, "{path}");
        }
        let trace = server.json(&["trace", "--url", &format!("*{path}")]).to_string();
        assert!(trace.contains(code), "{path}: {trace}");
    }
    // Tried once, and not kept.
    soon("a form that does not pay", || {
        let answer = server.get("/noise", &[("Accept-Encoding", "gzip")]);
        (answer.field("content-encoding").is_none()).then_some(())
    });
    assert!(server.json(&["trace", "--url", "*/noise"]).to_string().contains("coding-does-not-pay"));
    let page = server.json(&["compression"]);
    assert_eq!(page["forms"][0]["worthless"], 1, "{page}");
}

#[test]
fn tags_and_ranges_never_mix_forms() {
    let origin = xml_origin();
    let server = Server::before(&origin.url, &[]);
    let plain = server.get("/s30000", &[]);
    assert_eq!(plain.field("etag"), Some("\"v1\""));
    let gzip = stored(&server, "/s30000", "gzip");
    let tag = gzip.field("etag").unwrap().to_string();
    assert_eq!(tag, "W/\"v1--gzip\"");
    assert_eq!(gzip.field("accept-ranges"), None);
    let ask = |fields: &[(&str, &str)]| server.get("/s30000", fields);
    // Hot or not: each is asked often enough to be both.
    for _ in 0..4 {
        for (accept, held, status, told) in [
            ("gzip", tag.as_str(), 304, Some(tag.as_str())),
            ("gzip", "\"v1\"", 304, Some("\"v1\"")),
            ("gzip", "\"v0\", W/\"v1--gzip\"", 304, Some(tag.as_str())),
            ("br, gzip", tag.as_str(), 304, Some(tag.as_str())),
            ("br", tag.as_str(), 200, None),
            ("gzip;q=0", tag.as_str(), 200, Some("\"v1\"")),
            ("gzip", "W/\"v0--gzip\"", 200, Some(tag.as_str())),
            ("gzip", "*", 304, Some(tag.as_str())),
        ] {
            let answer = ask(&[("Accept-Encoding", accept), ("If-None-Match", held)]);
            assert_eq!(answer.status, status, "{accept} {held}");
            if let Some(told) = told {
                assert_eq!(answer.field("etag"), Some(told), "{accept} {held}");
            }
            assert_eq!(answer.field("vary"), Some("accept-encoding"), "{accept} {held}");
        }
        // A range is of the plain body, whoever asks; of a coded one there is none.
        let part = ask(&[("Accept-Encoding", "gzip"), ("Range", "bytes=10-19")]);
        assert_eq!(
            (part.status, part.field("content-encoding"), part.field("etag")),
            (206, None, Some("\"v1\""))
        );
        assert_eq!(part.text(), text(30_000)[10..20]);
        let strong = ask(&[("Accept-Encoding", "gzip"), ("Range", "bytes=10-19"), ("If-Range", "\"v1\"")]);
        assert_eq!((strong.status, strong.text()), (206, text(30_000)[10..20].to_string()));
        let coded = ask(&[("Accept-Encoding", "gzip"), ("Range", "bytes=10-19"), ("If-Range", &tag)]);
        assert_eq!(coded.status, 200);
        assert_eq!(plain_of(&coded), text(30_000), "never a part that would be put to coded bytes");
        // HEAD says what GET would.
        let head = server.connect().request("HEAD", "/s30000", &[("Accept-Encoding", "gzip")], b"");
        for name in ["content-encoding", "etag", "content-length", "vary"] {
            assert_eq!(head.field(name), gzip.field(name), "{name}");
        }
    }
    assert_eq!(origin.count(), 1);
}

/// The origin knows nothing of our tags: it is asked with its own, and what it says of them is translated back.
#[test]
fn the_origin_is_asked_with_its_own_tags() {
    let origin = Origin::new(|asked| {
        let fields = own(&[("Content-Type", "text/html"), ("ETag", "\"v1\""), ("Cache-Control", "no-store")]);
        match (asked.field("if-match"), asked.field("if-none-match")) {
            (Some("\"v1\""), _) => (204, fields, Vec::new()),
            (Some(_), _) => (412, fields, Vec::new()),
            (None, Some("\"v1\"")) => (304, fields, Vec::new()),
            _ => (200, fields, text(5_000).into_bytes()),
        }
    });
    let server = Server::before(&origin.url, &[]);
    let answer = server.get("/", &[("Accept-Encoding", "gzip")]);
    assert_eq!(
        (answer.field("content-encoding"), answer.field("transfer-encoding")),
        (Some("gzip"), Some("chunked"))
    );
    assert_eq!(plain_of(&answer), text(5_000));
    let tag = answer.field("etag").unwrap();
    let again = server.get("/", &[("Accept-Encoding", "gzip"), ("If-None-Match", tag)]);
    assert_eq!((again.status, again.field("etag")), (304, Some(tag)));
    let put = server.connect().request("PUT", "/", &[("If-Match", tag)], b"new");
    assert_eq!(put.status, 204, "the lost update is prevented by the tag that the client was given");
}

#[test]
fn a_purge_takes_all_forms_and_counts_one() {
    let origin =
        Origin::new(|asked| (200, own(XML), (text(20_000) + &asked.number.to_string()).into_bytes()));
    let server = Server::before(&origin.url, &[]);
    for accept in ["gzip", "br", "zstd"] {
        stored(&server, "/", accept);
    }
    let receipt =
        server.json(&["cache", "purge", "--prefix", &server.url("/").replace(&server.address, "test")]);
    let receipt = match receipt["entries"].as_u64() {
        Some(0) | None => server.json(&["cache", "purge", "--all"]),
        Some(_) => receipt,
    };
    assert_eq!(receipt["entries"], 1, "{receipt}");
    for accept in ["gzip", "br", "zstd", ""] {
        let answer = server.get("/", &[("Accept-Encoding", accept)]);
        assert!(plain_of(&answer).ends_with("\n1"), "{accept} is of the new answer");
    }
    assert_eq!(origin.count(), 2);
}

#[test]
fn what_the_origin_compressed_is_passed_on() {
    let zipped = |body: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
        encoder.write_all(body.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let origin = Origin::new(move |asked| {
        let accept = asked.field("accept-encoding").unwrap_or("").to_string();
        let mut fields = own(XML);
        fields.push(("Vary".into(), "Accept-Encoding".into()));
        if accept.contains("gzip") || asked.target() == "/always" {
            fields.push(("Content-Encoding".into(), "gzip".into()));
            return (200, fields, zipped(&text(9_000)));
        }
        (200, fields, text(9_000).into_bytes())
    });
    // Asked plainly by default: one entry, and our own codings.
    let server = Server::before(&origin.url, &[]);
    for accept in ["gzip", "br", "gzip, deflate, br", ""] {
        assert_eq!(plain_of(&server.get("/x", &[("Accept-Encoding", accept)])), text(9_000), "{accept}");
    }
    assert_eq!(origin.count(), 1);
    // Asked for the client's coding where a rule says so: stored as it comes, per coding and not per browser.
    let config = format!(
        "config = 1\n[[site]]\ndefault = true\norigin = \"{}\"\ncompress = {{ codings = [\"gzip\", \"br\"], from_origin = \"coded\" }}\n",
        origin.url
    );
    let (server, _file) = Server::configured(&config, &[]);
    let before = origin.count();
    for accept in ["gzip", "gzip, deflate", "gzip;q=0.8, br;q=0.1", "GZIP, zstd"] {
        for _ in 0..3 {
            let answer = server.get("/x", &[("Accept-Encoding", accept)]);
            assert_eq!(
                (answer.field("content-encoding"), plain_of(&answer)),
                (Some("gzip"), text(9_000)),
                "{accept}"
            );
            assert_eq!(answer.field("etag"), Some("\"v1\""), "it is the origin's own");
        }
    }
    assert_eq!(origin.count(), before + 1);
    for accept in ["br", ""] {
        assert_eq!(plain_of(&server.get("/x", &[("Accept-Encoding", accept)])), text(9_000), "{accept}");
    }
    assert_eq!(origin.count(), before + 3, "one for each coding");
    // An origin that does not listen: whoever does not take it asks it in his own words.
    let server = Server::before(&origin.url, &[]);
    let before = origin.count();
    server.get("/always", &[("Accept-Encoding", "gzip")]);
    let hit = server.get("/always", &[("Accept-Encoding", "gzip")]);
    assert!(hit.is_hit() && hit.field("content-encoding") == Some("gzip"));
    let other = server.get("/always", &[("Accept-Encoding", "br")]);
    assert_eq!(other.reason(), "coding-unfit");
    assert_eq!(origin.asked().last().unwrap().field("accept-encoding"), Some("br"));
    assert_eq!(origin.count(), before + 2);
}

#[test]
fn a_body_that_pauses_is_seen_as_far_as_it_came() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let origin = Origin::raw(move |asked, stream| {
        let kind = if asked.target() == "/events" { "text/event-stream" } else { "text/html" };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nCache-Control: no-store\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(b"5\r\nfirst\r\n").unwrap();
        wait.lock().unwrap().recv().unwrap();
        stream.write_all(b"6\r\nsecond\r\n0\r\n\r\n").unwrap();
        After::Keep
    });
    let server = Server::before(&origin.url, &[]);
    for path in ["/page", "/events"] {
        let mut client = Client::connect(&server.address);
        client.send(format!("GET {path} HTTP/1.1\r\nHost: test\r\nAccept-Encoding: gzip\r\n\r\n"));
        let seen = client.until(|bytes| {
            let body = bytes.windows(4).position(|end| end == b"\r\n\r\n").map(|at| &bytes[at + 4..]);
            body.is_some_and(|body| first_of(path, body).ends_with("first"))
        });
        let head = String::from_utf8_lossy(&seen).to_ascii_lowercase();
        assert_eq!(head.contains("content-encoding: gzip"), path == "/page");
        go.send(()).unwrap();
    }
    let trace = server.json(&["trace", "--url", "*/events"]).to_string();
    assert!(trace.contains("event-stream"), "{trace}");
}

/// What can be read of the first chunks, decoded as far as it goes.
fn first_of(path: &str, body: &[u8]) -> String {
    let mut bytes = Vec::new();
    let mut rest = body;
    while let Some(end) = rest.windows(2).position(|end| end == b"\r\n") {
        let Ok(size) = usize::from_str_radix(&String::from_utf8_lossy(&rest[..end]), 16) else { break };
        let Some(chunk) = rest.get(end + 2..end + 2 + size) else { break };
        bytes.extend_from_slice(chunk);
        rest = rest.get(end + 4 + size..).unwrap_or_default();
    }
    if path == "/events" {
        return String::from_utf8_lossy(&bytes).into_owned();
    }
    let mut decoder = flate2::write::GzDecoder::new(Vec::new());
    let _partly = decoder.write_all(&bytes);
    let _partly = decoder.flush();
    String::from_utf8_lossy(decoder.get_ref()).into_owned()
}

#[test]
fn a_rule_can_require_a_coding() {
    let origin = xml_origin();
    let config = format!(
        "config = 1\n[[site]]\ndefault = true\norigin = \"{}\"\nrequire_coding = [\"gzip\", \"br\"]\n",
        origin.url
    );
    let (server, _file) = Server::configured(&config, &[]);
    for _ in 0..3 {
        assert_eq!(server.get("/s9000", &[("Accept-Encoding", "gzip")]).status, 200);
        for accept in ["", "zstd", "gzip;q=0, br;q=0"] {
            let answer = server.get("/s9000", &[("Accept-Encoding", accept)]);
            assert_eq!((answer.status, answer.reason()), (406, "coding-required".to_string()), "{accept}");
            assert!(answer.text().contains("gzip, br"), "{}", answer.text());
            assert!(answer.all("vary").iter().any(|vary| vary.eq_ignore_ascii_case("accept-encoding")));
        }
        assert_eq!(server.get("/s9000", &[]).status, 406);
    }
}

#[test]
fn siblings_of_files_are_sent_if_they_are_not_older() {
    let folder = Folder::new();
    let file = folder.write("x.css", text(5_000));
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(past).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(9));
    encoder.write_all(text(5_000).as_bytes()).unwrap();
    let zipped = encoder.finish().unwrap();
    folder.write("x.css.gz", &zipped);
    let config = format!(
        "config = 1\n[[site]]\ndefault = true\nfiles = \"{}\"\nprecompressed = true\ncompress = false\n",
        folder.0.display()
    );
    let (server, _config) = Server::configured(&config, &[]);
    for accept in ["gzip", "br, gzip", "gzip, deflate, br, zstd"] {
        for _ in 0..3 {
            let answer = server.get("/x.css", &[("Accept-Encoding", accept)]);
            assert_eq!((answer.field("content-encoding"), &answer.body), (Some("gzip"), &zipped), "{accept}");
            assert_eq!(answer.field("content-type"), Some("text/css; charset=utf-8"), "{accept}");
            assert_eq!(answer.all("vary").len(), 1);
        }
        let part = server.get("/x.css", &[("Accept-Encoding", accept), ("Range", "bytes=5-9")]);
        assert_eq!((part.status, &part.body[..]), (206, &zipped[5..10]), "of the bytes that its tag names");
    }
    for accept in ["", "br", "gzip;q=0"] {
        let answer = server.get("/x.css", &[("Accept-Encoding", accept)]);
        assert_eq!((answer.field("content-encoding"), answer.text()), (None, text(5_000)), "{accept}");
        assert!(answer.field("vary").is_some());
    }
    // The file changes: what was compressed before is not its content any more.
    std::fs::write(&file, text(6_000)).unwrap();
    soon("the new file", || {
        let answer = server.get("/x.css", &[("Accept-Encoding", "gzip")]);
        (answer.field("content-encoding").is_none() && answer.text() == text(6_000)).then_some(())
    });
}

#[test]
fn what_was_saved_is_counted_by_type() {
    let origin = xml_origin();
    let server = Server::before(&origin.url, &[]);
    stored(&server, "/s50000", "gzip");
    server.get("/s50000", &[("Accept-Encoding", "gzip")]);
    let told = server.json(&["compression"]);
    let row = |form: &str| -> Value {
        let rows = told["answers"].as_array().unwrap();
        rows.iter().find(|row| row["form"] == form).cloned().unwrap_or_default()
    };
    assert_eq!(
        (row("stored")["type"].as_str(), row("stored")["coding"].as_str()),
        (Some("application/xml"), Some("gzip"))
    );
    let (before, after) =
        (row("stored")["before_bytes"].as_u64().unwrap(), row("stored")["after_bytes"].as_u64().unwrap());
    assert_eq!(before, row("stored")["answers"].as_u64().unwrap() * text(50_000).len() as u64);
    assert!(after * 8 <= before, "{told}");
    assert!(row("on-the-fly")["answers"].as_u64().unwrap() >= 1, "{told}");
    assert_eq!(told["forms"][0]["made"], 1, "{told}");
    let shown = server.tell(&["compression"]);
    assert!(shown.contains("application/xml") && shown.contains("in the background"), "{shown}");
    let explained = server.tell(&[
        "explain",
        &server.url("/s50000").replace(&server.address, "test"),
        "-H",
        "Accept-Encoding: gzip",
    ]);
    assert!(explained.contains("coded-stored") || explained.contains("kept beside"), "{explained}");
}

/// With nothing left over for it, answers go out as they are and say why.
#[test]
fn compressing_gives_way() {
    let origin = Origin::new(|_| {
        (200, own(&[("Content-Type", "text/html"), ("Cache-Control", "no-store")]), text(9_000).into_bytes())
    });
    let config = format!(
        "config = 1\n[compression]\nstreams_max = 0\n[[site]]\ndefault = true\norigin = \"{}\"\n",
        origin.url
    );
    let (server, _file) = Server::configured(&config, &[]);
    let answer = server.get("/", &[("Accept-Encoding", "gzip")]);
    assert_eq!((answer.field("content-encoding"), answer.field("vary")), (None, Some("accept-encoding")));
    assert_eq!(answer.text(), text(9_000));
    assert!(server.json(&["trace", "--last", "1"]).to_string().contains("compress-busy"));
}
