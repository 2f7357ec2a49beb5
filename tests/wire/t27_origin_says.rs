//! What origins say beside Cache-Control: targeted fields (RFC 9213), Surrogate-Control, Age, groups (RFC 9875), answers to
//! POST and HEAD that teach the cache. Much of it stands in the public suite at its source and not in the package.

use samovar_tests::origin::{Origin, own};
use samovar_tests::server::{Folder, Server};

type Fields = &'static [(&'static str, &'static str)];

/// Asks twice; the reason of the first answer, and whether the second was a hit.
fn twice(fields: Fields, args: &[&str]) -> (String, bool) {
    let origin = Origin::counting(fields);
    let server = Server::before(&origin.url, args);
    let first = server.get("/x", &[]).reason();
    (first, server.get("/x", &[]).is_hit())
}

#[test]
fn targeted_fields_go_before_cache_control() {
    const CDN: &str = "CDN-Cache-Control";
    const CC: &str = "Cache-Control";
    let table: &[(Fields, &str, bool)] = &[
        (&[(CDN, "max-age=3600")], "stored", true),
        (&[(CDN, "max-age=2147483648")], "stored", true),
        (&[(CDN, "max-age=99999999999")], "stored", true),
        (&[(CDN, "max-age=3600"), ("Age", "7200")], "arrived-stale", false),
        (&[(CC, "max-age=60"), (CDN, "max-age =100"), ("Age", "70")], "arrived-stale", false),
        (&[(CC, "max-age=60"), (CDN, "max-age= 100"), ("Age", "70")], "arrived-stale", false),
        (&[(CDN, "max-age=0")], "zero-lifetime", false),
        (&[(CDN, "foobar, max-age=3600")], "stored", true),
        (&[(CDN, "MaX-aGe=3600")], "no-explicit-freshness", false),
        (&[(CDN, "max-age=3600"), ("Expires", "0")], "stored", true),
        (&[(CDN, "max-age=3600"), ("Expires", "Sun, 06 Nov 1994 08:49:37 GMT")], "stored", true),
        (&[(CDN, "max-age=0"), ("Expires", "Fri, 01 Jan 2038 01:01:01 GMT")], "zero-lifetime", false),
        (&[(CC, "max-age=1"), (CDN, "max-age=3600"), ("Age", "5")], "stored", true),
        (&[(CC, "max-age=3600"), (CDN, "max-age=1"), ("Age", "5")], "arrived-stale", false),
        (&[(CC, "max-age=10000"), (CDN, "private")], "private", false),
        (&[(CC, "max-age=10000"), (CDN, "no-cache")], "no-cache", false),
        (&[(CC, "max-age=10000"), (CDN, "no-store")], "no-store", false),
        (&[(CC, "no-store"), (CDN, "max-age=10000")], "stored", true),
        (&[(CC, "private"), (CDN, "max-age=10000")], "stored", true),
        (&[(CC, "no-store"), (CDN, "max-age=10000, &&&&&")], "no-store", false),
        (&[(CDN, "max-age=\"10000\""), (CC, "no-store")], "odd-freshness", false),
        (&[(CC, "max-age=60"), (CDN, "")], "stored", true),
        // Ours goes before it, and Surrogate-Control after.
        (&[("Samovar-Cache-Control", "max-age=60"), (CDN, "no-store")], "stored", true),
        (&[("Samovar-Cache-Control", "no-store"), (CDN, "max-age=60")], "no-store", false),
        (&[(CDN, "no-store"), ("Surrogate-Control", "max-age=60")], "no-store", false),
        (&[(CC, "no-store"), ("Surrogate-Control", "max-age=60;samovar")], "stored", true),
        (&[(CC, "no-store"), ("Surrogate-Control", "max-age=60;other")], "no-store", false),
        (&[(CC, "max-age=60"), ("Surrogate-Control", "no-store")], "no-store", false),
    ];
    for (fields, reason, hit) in table {
        let (first, second) = twice(fields, &["--workers", "1"]);
        assert_eq!((first.as_str(), second), (*reason, *hit), "{fields:?}");
    }
}

#[test]
fn surrogate_control_ends_here_and_our_capability_is_told() {
    let origin = Origin::counting(&[("Surrogate-Control", "max-age=60"), ("CDN-Cache-Control", "foo")]);
    let server = Server::before(&origin.url, &[]);
    let first = server.get("/x", &[("Surrogate-Capability", "evil=\"ESI/1.0\"")]);
    assert_eq!((first.field("surrogate-control"), first.field("cdn-cache-control")), (None, Some("foo")));
    assert_eq!(origin.asked()[0].field("surrogate-capability"), Some("samovar=\"Surrogate/1.0\""));
    for _ in 0..4 {
        assert_eq!(server.get("/x", &[]).field("surrogate-control"), None, "hot or not");
    }
    let other = Origin::counting(&[("Surrogate-Control", "max-age=60;else")]);
    let server = Server::before(&other.url, &[]);
    assert_eq!(server.get("/x", &[]).field("surrogate-control"), Some("max-age=60;else"), "not ours to drop");
}

/// RFC 9111 §5.1 to the letter, as the suite at its source expects it; stale on arrival by setting.
#[test]
fn odd_ages_by_setting() {
    let table: &[(&'static [&'static str], bool, bool)] = &[
        (&["abc"], false, true),
        (&["-7200"], false, true),
        (&["7200.0"], false, true),
        (&["2147483648"], false, false),
        (&["7200, 0"], false, false),
        (&["0, 7200"], false, true),
        (&["7200", "0"], false, false),
        (&["0", "7200"], false, true),
        (&["0", "0"], false, true),
        (&["0"], true, true),
    ];
    for (lines, stale, by_default) in table {
        let origin = Origin::new(move |_| {
            let mut fields = own(&[("Cache-Control", "max-age=3600")]);
            fields.extend(lines.iter().map(|line| ("Age".to_owned(), (*line).to_owned())));
            (200, fields, b"x".to_vec())
        });
        for (setting, hit) in [("", *by_default), ("odd_age = \"stale\"", *stale)] {
            let config = format!(
                "config = 1\n[[upstream]]\nname = \"o\"\nmembers = [{{ url = \"{}\" }}]\n[[site]]\nname = \"s\"\ndefault = true\nupstream = \"o\"\n{setting}\n",
                origin.url
            );
            let (server, _) = Server::configured(&config, &[]);
            server.get("/x", &[]);
            assert_eq!(server.get("/x", &[]).is_hit(), hit, "{lines:?} {setting}");
        }
    }
}

#[test]
fn a_post_that_says_it_is_what_a_get_would_get() {
    let table: &[(Fields, bool)] = &[
        (&[("Cache-Control", "max-age=60"), ("Content-Location", "/form?a=1")], true),
        (&[("Cache-Control", "max-age=60"), ("Content-Location", "/other")], false),
        (&[("Cache-Control", "max-age=60"), ("Content-Location", "http://else.example/form?a=1")], false),
        (&[("Cache-Control", "max-age=60")], false),
        (&[("Content-Location", "/form?a=1"), ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")], false),
        (&[("Cache-Control", "no-store"), ("Content-Location", "/form?a=1")], false),
        (&[("Cache-Control", "max-age=60, private"), ("Content-Location", "/form?a=1")], false),
    ];
    for (fields, kept) in table {
        let origin = Origin::counting(fields);
        let server = Server::before(&origin.url, &[]);
        let posted = server.connect().request("POST", "/form?a=1", &[], b"x=1");
        assert_eq!((posted.status, posted.text().as_str()), (200, "answer 0"));
        let got = server.get("/form?a=1", &[]);
        assert_eq!(got.is_hit(), *kept, "{fields:?}: {}", got.cache_status());
        assert_eq!(got.text(), if *kept { "answer 0" } else { "answer 1" });
        // A POST is never answered from what is stored (RFC 9110 §9.3.3).
        let again = server.connect().request("POST", "/form?a=1", &[], b"x=1");
        assert!(!again.is_hit() && again.text() != got.text());
    }
}

/// A rule gives GET a lifetime; it says nothing of what a POST did.
#[test]
fn a_rules_lifetime_keeps_no_post() {
    let origin = Origin::counting(&[("Content-Location", "/form")]);
    let server = Server::before(&origin.url, &[]);
    server.tell(&["rule", "add", "path=/**", "for=1m"]);
    server.connect().request("POST", "/form", &[], b"x=1");
    assert!(!server.get("/form", &[]).is_hit());
    assert!(server.get("/form", &[]).is_hit(), "the rule holds for GET");
}

/// Stale at once, with a tag; HEADs say what `says` gives them.
fn stale_with_tag(says: Fields) -> (Origin, Server) {
    let origin = Origin::new(move |asked| {
        let fields = if asked.line.starts_with("HEAD") {
            own(says)
        } else if asked.field("if-none-match").is_some() {
            return (304, own(&[("Cache-Control", "max-age=0")]), vec![]);
        } else {
            own(&[("Cache-Control", "max-age=0"), ("ETag", "\"1\""), ("X-Seen", "GET")])
        };
        (200, fields, b"body!".to_vec())
    });
    let server = Server::before(&origin.url, &[]);
    server.get("/x", &[]);
    let head = server.connect().request("HEAD", "/x", &[], b"");
    assert_eq!((head.status, head.is_hit()), (200, false));
    (origin, server)
}

#[test]
fn a_head_renews_what_it_confirms() {
    let (origin, server) =
        stale_with_tag(&[("Cache-Control", "max-age=60"), ("ETag", "\"1\""), ("X-Seen", "HEAD")]);
    let got = server.get("/x", &[]);
    assert!(got.is_hit(), "{}", got.cache_status());
    assert_eq!((got.text().as_str(), got.field("x-seen")), ("body!", Some("HEAD")));
    assert_eq!(origin.count(), 2);
}

#[test]
fn a_head_without_evidence_renews_nothing() {
    for says in
        [&[("Cache-Control", "max-age=60")][..], &[("Cache-Control", "max-age=60"), ("ETag", "\"2\"")]]
    {
        let (_, server) = stale_with_tag(says);
        assert!(!server.get("/x", &[]).is_hit(), "{says:?}");
    }
}

#[test]
fn a_purge_while_a_head_is_under_way_is_not_undone() {
    let origin = Origin::new(|asked| {
        if asked.line.starts_with("HEAD") {
            std::thread::sleep(std::time::Duration::from_millis(400));
        }
        let lifetime = if asked.line.starts_with("HEAD") { "max-age=60" } else { "max-age=0" };
        (
            200,
            own(&[("Cache-Control", lifetime), ("ETag", "\"1\"")]),
            format!("{}", asked.number).into_bytes(),
        )
    });
    let server = Server::before(&origin.url, &[]);
    assert_eq!(server.get("/x", &[]).text(), "0");
    let mut client = server.connect();
    client.send("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n");
    samovar_tests::server::soon("the HEAD at the origin", || (origin.count() == 2).then_some(()));
    server.tell(&["cache", "purge", "/x"]);
    assert_eq!(client.answer("HEAD").status, 200);
    assert_eq!(server.get("/x", &[]).text(), "2");
}

#[test]
fn groups_end_together() {
    let origin = Origin::new(|asked| {
        let fields: Fields = match (asked.line.split(' ').next(), asked.target()) {
            (Some("POST"), "/act") => &[("Cache-Group-Invalidation", "\"news\", \"else\"")],
            (Some("POST"), "/fails") => {
                return (500, own(&[("Cache-Group-Invalidation", "\"news\"")]), vec![]);
            }
            (Some("POST"), "/broken") => &[("Cache-Group-Invalidation", "news")],
            (Some("GET"), "/get") => {
                &[("Cache-Group-Invalidation", "\"news\""), ("Cache-Control", "max-age=60")]
            }
            (_, "/a" | "/b") => &[("Cache-Control", "max-age=60"), ("Cache-Groups", "\"news\", \"all\"")],
            (_, "/c") => &[("Cache-Control", "max-age=60"), ("Cache-Groups", "\"all\"")],
            _ => &[("Cache-Control", "max-age=60")],
        };
        (200, own(fields), format!("{}", asked.number).into_bytes())
    });
    let server = Server::before(&origin.url, &[]);
    let hits = || ["/a", "/b", "/c", "/d"].map(|path| server.get(path, &[]).is_hit());
    hits();
    assert_eq!(hits(), [true; 4]);
    for (method, path) in [("POST", "/fails"), ("POST", "/broken"), ("GET", "/get")] {
        server.connect().request(method, path, &[], b"");
        assert_eq!(hits(), [true; 4], "{method} {path} invalidates nothing");
    }
    server.connect().request("POST", "/act", &[], b"");
    assert_eq!(hits(), [false, false, true, true], "the group named");
    assert_eq!(hits(), [true; 4]);
    // What is invalidated takes those along that share a group with it (RFC 9875 §2.2.1).
    server.connect().request("POST", "/c", &[], b"");
    assert_eq!(hits(), [false, false, false, true]);
}

/// Groups hold within one origin (RFC 9875 §2.1).
#[test]
fn a_group_of_another_host_is_another_group() {
    let origin = Origin::new(|asked| {
        let fields: Fields = if asked.line.starts_with("POST") {
            &[("Cache-Group-Invalidation", "\"g\"")]
        } else {
            &[("Cache-Control", "max-age=60"), ("Cache-Groups", "\"g\"")]
        };
        (200, own(fields), b"x".to_vec())
    });
    let folder = Folder::new();
    let config = format!(
        "config = 1\n[[upstream]]\nname = \"o\"\nmembers = [{{ url = \"{}\" }}]\n[[site]]\nname = \"s\"\nhosts = [\"a.test\", \"b.test\"]\nupstream = \"o\"\n",
        origin.url
    );
    drop(folder);
    let (server, _) = Server::configured(&config, &[]);
    let ask = |method: &str, host: &str| {
        let mut client = server.connect();
        client.send(format!("{method} /x HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n"));
        client.answer(method).is_hit()
    };
    ask("GET", "a.test");
    ask("GET", "b.test");
    assert!(ask("GET", "a.test") && ask("GET", "b.test"));
    ask("POST", "a.test");
    assert!(!ask("GET", "a.test"));
    assert!(ask("GET", "b.test"));
}

/// RFC 9111 §5.2.2.4, §5.2.2.7: fields that are named go to whoever the answer was made for, and to nobody else.
#[test]
fn named_fields_are_for_the_first_client() {
    for control in ["max-age=60, private=\"X-Own\"", "max-age=60, no-cache=\"x-own\""] {
        let origin = Origin::new(move |_| {
            (200, own(&[("Cache-Control", control), ("X-Own", "1"), ("X-All", "1")]), b"x".to_vec())
        });
        let server = Server::before(&origin.url, &[]);
        let fields = |answer: &samovar_tests::client::Answer| {
            (answer.field("x-own").is_some(), answer.field("x-all").is_some())
        };
        assert_eq!(fields(&server.get("/x", &[])), (true, true), "{control}");
        let second = server.get("/x", &[]);
        assert!(second.is_hit(), "{}", second.cache_status());
        assert_eq!(fields(&second), (false, true), "{control}");
    }
}

#[test]
fn what_a_rule_drops_still_decides_what_is_stored_and_for_whom() {
    let table: &[(Fields, &str)] = &[
        (&[("Cache-Control", "private")], "private"),
        (&[("Cache-Control", "no-store")], "no-store"),
        (&[("Set-Cookie", "session=1")], "set-cookie"),
        (&[("Vary", "*")], "vary-star"),
    ];
    for (fields, reason) in table {
        let origin = Origin::counting(fields);
        let text = format!(
            "config = 1\n[[site]]\nname = \"a\"\ndefault = true\norigin = \"{}\"\nwhen_silent = \"1h\"\n\
             drop_fields = [\"Cache-Control\", \"Set-Cookie\", \"Vary\"]\n[[site.rule]]\npath = \"/pass\"\nnever = true\n",
            origin.url
        );
        let server = Server::configured(&text, &["--access-log", "off"]).0;
        let first = server.get("/x", &[]);
        assert_eq!((first.reason().as_str(), server.get("/x", &[]).is_hit()), (*reason, false), "{fields:?}");
        for path in ["/x", "/pass"] {
            let seen = server.get(path, &[]);
            assert_eq!(seen.field(fields[0].0), None, "{path} {fields:?}");
        }
    }
}

/// Ten minutes at most, whatever a tenth of the time since Last-Modified is; an operator may say otherwise.
#[test]
fn a_heuristic_lifetime_is_short() {
    let origin = Origin::counting(&[("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")]);
    for (setting, seconds) in [("", 600), ("heuristic_max = \"1h\"", 3_600)] {
        let text = format!("config = 1\n[[site]]\ndefault = true\norigin = \"{}\"\n{setting}\n", origin.url);
        let (server, _file) = Server::configured(&text, &[]);
        server.get("/feed/", &[]);
        let ttl = server.json(&["cache", "list"])[0]["ttl_s"].as_i64().unwrap();
        // It was stored a moment ago.
        assert!((seconds - 60..=seconds).contains(&ttl), "{setting}: {ttl}");
    }
}
