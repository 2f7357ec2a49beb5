//! What `explain` says will happen is what then happens, for every kind of request and of what is stored.

use samovar_tests::origin::{Origin, own};
use samovar_tests::server::{Server, soon};

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
