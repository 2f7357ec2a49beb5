//! What `explain` says will happen is what then happens, for every kind of request and of what is stored.

use samovar_tests::origin::{Origin, own};
use samovar_tests::server::{Folder, Server, soon};
use serde_json::Value;

/// What is stored, by how the path begins.
const STATES: [(&str, &str); 6] = [
    ("/nothing", ""),
    ("/fresh", "max-age=60"),
    ("/stale", "max-age=0"),
    ("/refreshing", "max-age=0, stale-while-revalidate=60"),
    ("/always", "no-cache"),
    ("/refused", "no-store"),
];

/// A method and one more field.
const REQUESTS: [(&str, &str, &str); 18] = [
    ("GET", "X-None", "1"),
    ("HEAD", "X-None", "1"),
    ("POST", "X-None", "1"),
    ("OPTIONS", "X-None", "1"),
    ("GET", "Range", "bytes=0-1"),
    ("GET", "Range", "bytes=0-0,2-2"),
    ("GET", "If-None-Match", "\"e\""),
    ("GET", "If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ("GET", "If-Match", "\"e\""),
    ("GET", "If-Unmodified-Since", "Sun, 06 Nov 2094 08:49:37 GMT"),
    ("GET", "Cache-Control", "only-if-cached"),
    ("POST", "Cache-Control", "only-if-cached"),
    ("HEAD", "Cache-Control", "only-if-cached"),
    ("GET", "Cache-Control", "no-store"),
    ("GET", "Cache-Control", "no-cache"),
    ("GET", "Cache-Control", "max-stale"),
    ("GET", "Authorization", "Basic x"),
    ("GET", "Cookie", "a=b"),
];

#[test]
fn what_is_said_is_what_happens() {
    let origin = Origin::new(|asked| {
        let control = STATES.iter().find(|(path, _)| asked.target().starts_with(path)).unwrap().1;
        let mut fields = own(&[("ETag", "\"e\"")]);
        if !control.is_empty() {
            fields.extend(own(&[("Cache-Control", control)]));
        }
        match asked.field("if-none-match") {
            Some("\"e\"") => (304, fields, Vec::new()),
            _ => (200, fields, b"abcdef".to_vec()),
        }
    });
    let server = Server::before(&origin.url, &["--workers", "1"]);
    let mut wrong = Vec::new();
    for (state, control) in STATES {
        for (number, (method, name, value)) in REQUESTS.into_iter().enumerate() {
            let path = format!("{state}/{number}");
            if !control.is_empty() {
                server.get(&path, &[]);
            }
            let field = format!("{name}: {value}");
            let said = server.json(&["explain", &path, "-m", method, "-H", &field]);
            let id = server.json(&["trace"])[0]["id"].clone();
            server.connect().request(method, &path, &[(name, value)], b"");
            let record = soon("the record", || {
                let all = server.json(&["trace"]);
                let newest =
                    all.as_array().unwrap().iter().find(|record| record["client"] != "refresh").cloned();
                newest.filter(|record| record["id"] != id)
            });
            // What the origin then says is not foretold: that it was asked is.
            let happened = match record["cache"].as_str().unwrap() {
                "revalidated" => "miss",
                word => word,
            };
            let lookups = record["facts"].as_array().unwrap().iter().filter(|fact| fact["fact"] == "lookup");
            let why: Vec<_> = lookups.filter_map(|fact| fact["code"].as_str()).collect();
            let same_why =
                why.contains(&said["reason"].as_str().unwrap()) || record["reason"] == said["reason"];
            if said["cache"] != happened || !same_why {
                wrong.push(format!(
                    "{state} {method} {field}: said {} {}, was {happened} {} {why:?}",
                    said["cache"], said["reason"], record["reason"]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What `explain` says of a request, and what its record says once it was made: the word, the reason, and the codes of the
/// facts of some kinds.
fn both(server: &Server, method: &str, path: &str, field: (&str, &str), kinds: &[&str]) -> (Value, Value) {
    let told = |record: &Value| {
        let facts = record["facts"].as_array().unwrap().iter();
        let codes = facts.filter(|fact| kinds.iter().any(|kind| fact["fact"] == *kind));
        let codes: Vec<&Value> = codes.map(|fact| &fact["code"]).collect();
        serde_json::json!([record["cache"], record["reason"], codes])
    };
    let said =
        told(&server.json(&["explain", path, "-m", method, "-H", &format!("{}: {}", field.0, field.1)]));
    let last = server.json(&["trace"])[0]["id"].clone();
    server.connect().request(method, path, &[field], b"");
    let record = soon("the record", || {
        let newest = server.json(&["trace"])[0].clone();
        (newest["id"] != last).then_some(newest)
    });
    (said, told(&record))
}

#[test]
fn a_file_that_is_not_there_is_no_miss() {
    let folder = Folder::new();
    folder.write("x.txt", "x");
    folder.write("empty/.keep", "");
    let server = Server::start(&[folder.0.to_str().unwrap()]);
    for (method, path, reason) in [
        ("GET", "/missing", "file-not-found"),
        ("HEAD", "/missing", "file-not-found"),
        ("POST", "/x.txt", "file-method"),
        ("DELETE", "/missing", "file-method"),
        ("GET", "/empty/", "no-index"),
        ("GET", "/.keep", "file-hidden"),
    ] {
        let (said, was) = both(&server, method, path, ("X-None", "1"), &["files", "lookup"]);
        assert_eq!((&said, &said[1]), (&was, &Value::from(reason)), "{method} {path}");
    }
    // A file reads no cookies.
    let said = server.tell(&["explain", "/x.txt", "-H", "Cookie: sid=1"]);
    assert!(said.contains("no-entry") && !said.contains("may matter"), "{said}");
}

#[test]
fn what_a_client_does_not_accept_is_foretold() {
    let origin = Origin::new(|_| {
        let fields =
            own(&[("Cache-Control", "max-age=60"), ("Content-Encoding", "gzip"), ("Vary", "X-None")]);
        (200, fields, vec![0x1f, 0x8b, 8, 0, 0])
    });
    let server = Server::before(&origin.url, &[]);
    server.get("/", &[("Accept-Encoding", "gzip")]);
    let (said, was) = both(&server, "GET", "/", ("Accept-Encoding", "br"), &["lookup"]);
    assert_eq!(said, was);
    assert_eq!(said[1], "coding-unfit");
    let text = format!(
        "config = 1\n[[site]]\ndefault = true\norigin = \"{}\"\nrequire_coding = [\"br\"]\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &[]);
    let (said, was) = both(&server, "GET", "/", ("Accept-Encoding", "gzip"), &["lookup", "coding"]);
    assert_eq!(said, was);
    assert_eq!(said[1], "coding-required");
}

/// What must be confirmed on every use is fresh for no time.
#[test]
fn no_remaining_time_is_shown_for_what_is_always_confirmed() {
    let origin = Origin::new(|_| {
        (200, own(&[("Cache-Control", "no-cache, max-age=60"), ("ETag", "\"e\"")]), b"x".to_vec())
    });
    let server = Server::before(&origin.url, &[]);
    server.get("/", &[]);
    server.get("/", &[]);
    for what in [server.json(&["explain", "/"]), server.json(&["trace"])[0].clone()] {
        let facts = what["facts"].as_array().unwrap();
        let lookup = facts.iter().find(|fact| fact["fact"] == "lookup").unwrap();
        assert_eq!((&lookup["code"], &lookup["ttl_ms"]), (&Value::from("must-revalidate"), &Value::Null));
    }
    let listed = server.json(&["cache", "list"])[0].clone();
    assert_eq!((&listed["ttl_s"], &listed["confirmed_on_use"]), (&Value::Null, &Value::from(true)));
    assert!(server.tell(&["cache", "list"]).contains("asked each time"));
}

/// What went wrong is asked for later than what went well.
#[test]
fn errors_and_slow_requests_are_remembered_longer() {
    let origin = Origin::new(|asked| match asked.target() {
        "/missing" => (404, own(&[]), Vec::new()),
        "/slow" => {
            std::thread::sleep(std::time::Duration::from_millis(60));
            (200, own(&[]), Vec::new())
        }
        _ => (200, own(&[("Cache-Control", "max-age=60")]), b"ordinary".to_vec()),
    });
    let text = format!(
        "config = 1\n[hot]\nenabled = false\n[log]\naccess = \"off\"\ntraces = 100\nslow = \"50ms\"\n\
         [[site]]\nname = \"one\"\ndefault = true\norigin = \"{}\"\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &["--workers", "1"]);
    let mut client = server.connect();
    for path in ["/missing", "/slow"] {
        client.get(path, &[]);
    }
    for _ in 0..300 {
        assert_eq!(client.get("/ordinary", &[]).text(), "ordinary");
    }
    let found = |path: &str| {
        let records = server.json(&["trace", "--url", &format!("*{path}"), "--last", "5"]);
        records.as_array().unwrap().len()
    };
    assert_eq!((found("/missing"), found("/slow")), (1, 1));
    // They are not there because all are.
    assert!(server.json(&["trace", "--last", "1000"]).as_array().unwrap().len() <= 100);
    let status = server.json(&["status"]);
    let ratio = status["hit_ratio"].as_f64().unwrap();
    // Of 302 requests all but three came from memory.
    assert!((ratio - 299.0 / 302.0).abs() < 1e-9, "{status}");
    assert_eq!(status["origin_requests_saved"].as_u64(), Some(299), "{status}");
    let text = String::from_utf8(server.ask(&["status"]).stdout).unwrap();
    assert!(text.contains("hit ratio 99.0 %, 299 requests to origins saved"), "{text}");
}
