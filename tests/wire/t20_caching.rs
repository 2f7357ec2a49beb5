//! Caching by the origin's fields and by rules, told in `Cache-Status`.

use samovar_tests::origin::{Origin, own};
use samovar_tests::server::Server;

#[test]
fn the_origins_fields_decide_without_a_rule() {
    for (fields, hit, reason) in [
        (&[("Cache-Control", "max-age=60")][..], true, "fresh"),
        (&[("Cache-Control", "s-maxage=60")], true, "fresh"),
        (&[("Cache-Control", "no-store")], false, "no-store"),
        (&[("Cache-Control", "private, max-age=60")], false, "private"),
        (&[("Cache-Control", "max-age=60"), ("Set-Cookie", "a=b")], false, "set-cookie"),
        (&[("Cache-Control", "max-age=60"), ("Vary", "*")], false, "vary-star"),
        (&[], false, "no-explicit-freshness"),
    ] {
        let origin = Origin::counting(fields);
        let server = Server::before(&origin.url, &["--workers", "1"]);
        assert_eq!(server.get("/x", &[]).text(), "answer 0");
        let second = server.get("/x", &[]);
        assert_eq!(second.is_hit(), hit, "{fields:?}: {}", second.cache_status());
        assert_eq!(second.reason(), reason, "{fields:?}");
        assert_eq!(second.text(), if hit { "answer 0" } else { "answer 1" });
        assert_eq!(origin.count(), if hit { 1 } else { 2 });
    }
}

#[test]
fn a_rule_added_live_takes_effect_and_its_removal_too() {
    let origin = Origin::counting(&[("Content-Type", "image/jpeg")]);
    let server = Server::before(&origin.url, &[]);
    server.get("/a.jpg", &[]);
    server.get("/a.jpg", &[]);
    assert_eq!(origin.count(), 2);
    let said = server.tell(&["rule", "add", "extension=.jpg", "for=10s", "vary_headers=Accept-Language"]);
    assert!(said.contains("r1"), "{said}");
    let german = [("Accept-Language", "de")];
    let first = server.get("/a.jpg", &german);
    for _ in 0..20 {
        let again = server.get("/a.jpg", &german);
        assert!(again.is_hit(), "{}", again.cache_status());
        assert_eq!(again.body, first.body);
    }
    let spanish = server.get("/a.jpg", &[("Accept-Language", "es")]);
    assert_ne!(spanish.body, first.body);
    assert!(
        spanish.all("vary").iter().any(|v| v.eq_ignore_ascii_case("accept-language")),
        "{:?}",
        spanish.fields
    );
    assert_eq!(
        server.get("/a.png", &german).reason(),
        "no-explicit-freshness",
        "another extension is not touched"
    );
    let before = origin.count();
    server.tell(&["rule", "remove", "r1"]);
    assert!(!server.get("/a.jpg", &german).is_hit(), "what the rule stored is not used without it");
    assert_eq!(origin.count(), before + 1);
}

#[test]
fn stale_answers_are_revalidated_and_served_if_the_origin_fails() {
    let origin = Origin::new(|asked| {
        if asked.number >= 3 {
            return (500, vec![], b"broken".to_vec());
        }
        if asked.field("if-none-match") == Some("\"v1\"") {
            return (
                304,
                own(&[("ETag", "\"v1\""), ("Cache-Control", "max-age=0, stale-if-error=60")]),
                vec![],
            );
        }
        (200, own(&[("ETag", "\"v1\""), ("Cache-Control", "max-age=0, stale-if-error=60")]), b"body".to_vec())
    });
    let server = Server::before(&origin.url, &[]);
    assert_eq!(server.get("/", &[]).text(), "body");
    for _ in 0..2 {
        let confirmed = server.get("/", &[]);
        assert_eq!((confirmed.text().as_str(), confirmed.reason().as_str()), ("body", "revalidated"));
    }
    let stale = server.get("/", &[]);
    assert_eq!(
        (stale.status, stale.text().as_str(), stale.reason().as_str()),
        (200, "body", "stale-if-error")
    );
}

#[test]
fn a_stale_answer_may_go_out_while_it_is_refreshed() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=1, stale-while-revalidate=60")]);
    let server = Server::before(&origin.url, &["--workers", "1"]);
    server.get("/", &[]);
    let stale = samovar_tests::server::soon("the end of a second", || {
        let answer = server.get("/", &[]);
        (answer.reason() == "stale-while-revalidate").then_some(answer)
    });
    assert_eq!(stale.text(), "answer 0");
    samovar_tests::server::soon("the refreshed answer", || {
        (server.get("/", &[]).text() == "answer 1").then_some(())
    });
}

#[test]
fn answers_vary_by_the_fields_the_origin_names() {
    let origin = Origin::new(|asked| {
        let language = asked.field("accept-language").unwrap_or("none").to_string();
        (200, own(&[("Cache-Control", "max-age=60"), ("Vary", "Accept-Language")]), language.into_bytes())
    });
    let server = Server::before(&origin.url, &[]);
    for _ in 0..3 {
        for language in ["de", "es", "fr"] {
            assert_eq!(server.get("/", &[("Accept-Language", language)]).text(), language);
        }
        assert_eq!(server.get("/", &[]).text(), "none");
    }
    assert_eq!(origin.count(), 4);
}

#[test]
fn an_unsafe_request_invalidates() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60")]);
    let server = Server::before(&origin.url, &[]);
    server.get("/x", &[]);
    assert!(server.get("/x", &[]).is_hit());
    server.connect().request("POST", "/x", &[], b"change");
    assert!(!server.get("/x", &[]).is_hit());
}

#[test]
fn the_query_is_in_the_key_as_the_rule_says() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60")]);
    let server = Server::before(&origin.url, &[]);
    server.tell(&["rule", "add", "path=/q/**", "respect=true", "vary_query={ keep = [\"a\"] }"]);
    let first = server.get("/q/x?a=1&utm=9", &[]);
    assert!(server.get("/q/x?utm=8&a=1", &[]).is_hit());
    assert_ne!(server.get("/q/x?a=2", &[]).body, first.body);
    assert!(!server.get("/other?a=1", &[]).is_hit());
    assert!(!server.get("/other?a=1&b", &[]).is_hit());
}

#[test]
fn only_if_cached_asks_nobody() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60")]);
    let server = Server::before(&origin.url, &[]);
    let only = [("Cache-Control", "only-if-cached")];
    assert_eq!(server.get("/", &only).status, 504);
    assert_eq!(origin.count(), 0);
    server.get("/", &[]);
    assert_eq!(server.get("/", &only).status, 200);
}

#[test]
fn large_and_chunked_answers_are_stored_whole() {
    use std::io::Write;
    let origin = Origin::raw(|_, stream| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n")
            .and_then(|()| {
                for i in 0..500u32 {
                    stream.write_all(b"800\r\n")?;
                    stream.write_all(&vec![i as u8; 2048])?;
                    stream.write_all(b"\r\n")?;
                }
                stream.write_all(b"0\r\n\r\n")
            })
            .map_or(samovar_tests::origin::After::Close, |()| samovar_tests::origin::After::Keep)
    });
    let server = Server::before(&origin.url, &[]);
    let expected: Vec<u8> = (0..500u32).flat_map(|i| vec![i as u8; 2048]).collect();
    for _ in 0..3 {
        let answer = server.get("/", &[]);
        assert!(answer.whole && answer.body == expected);
    }
    assert_eq!(origin.count(), 1);
}

#[test]
fn a_site_without_cache_says_so() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60")]);
    let text = format!(
        "config = 1\n[[site]]\nname = \"a\"\ndefault = true\ncache = false\norigin = \"{}\"\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &[]);
    for _ in 0..2 {
        assert_eq!(server.get("/", &[]).reason(), "no-site-policy");
    }
}

#[test]
fn an_upstreams_answer_is_kept_until_a_listed_file_changes() {
    let folder = samovar_tests::server::Folder::new();
    folder.write("data/prices.csv", "1");
    folder.write("data/other.txt", "1");
    let origin = Origin::counting(&[]);
    let text = format!(
        "config = 1\n[[site]]\nname = \"a\"\ndefault = true\norigin = \"{}\"\n\
         [[site.rule]]\npath = \"/**\"\nuntil_changed = true\nglobs = [\"{}/data/*.csv\"]\n",
        origin.url,
        folder.0.display()
    );
    let (server, _file) = Server::configured(&text, &[]);
    assert_eq!(server.get("/", &[]).text(), "answer 0");
    for _ in 0..5 {
        assert!(server.get("/", &[]).is_hit());
    }
    folder.write("data/other.txt", "2");
    folder.write("data/prices.csv", "2");
    samovar_tests::server::soon("a new answer", || (server.get("/", &[]).text() == "answer 1").then_some(()));
    assert!(server.get("/", &[]).is_hit());
}

/// A 304 without a `Date`, as php-fpm sends it, is of the moment it came (RFC 9110 §6.6.1): what it confirms is fresh again.
#[test]
fn a_304_without_a_date_makes_fresh_again() {
    let fields = [("ETag", "\"a\""), ("Cache-Control", "max-age=2")];
    let origin = Origin::new(move |asked| match asked.field("if-none-match") {
        None => (200, own(&fields), b"page".to_vec()),
        Some(_) => (304, own(&fields), vec![]),
    });
    let server = Server::before(&origin.url, &[]);
    server.get("/", &[]);
    assert!(server.get("/", &[]).is_hit());
    std::thread::sleep(std::time::Duration::from_millis(3_100));
    assert!(!server.get("/", &[]).is_hit());
    assert_eq!(origin.count(), 2);
    assert!(server.get("/", &[]).is_hit(), "fresh for two seconds more");
    assert_eq!(origin.count(), 2);
}

#[test]
fn a_304_that_speaks_of_another_answer_is_not_believed() {
    let origin = Origin::new(|asked| match (asked.number, asked.field("if-none-match")) {
        (0, _) => (
            200,
            own(&[
                ("ETag", "\"a\""),
                ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
                ("Cache-Control", "max-age=0"),
            ]),
            b"old".to_vec(),
        ),
        (_, Some(_)) => (304, own(&[("ETag", "\"other\"")]), vec![]),
        (_, None) => (200, own(&[("ETag", "\"b\""), ("Cache-Control", "max-age=60")]), b"new".to_vec()),
    });
    let server = Server::before(&origin.url, &[]);
    assert_eq!(server.get("/", &[]).text(), "old");
    let answer = server.get("/", &[]);
    assert_eq!((answer.status, answer.text().as_str()), (200, "new"));
    // Asked about the tag alone, "not modified" can be an answer to nothing else; the stored tag stays.
    let compressing = Origin::new(|asked| match asked.field("if-none-match") {
        None => (200, own(&[("ETag", "\"a-gzip\""), ("Cache-Control", "max-age=0")]), b"page".to_vec()),
        Some(_) => (304, own(&[("ETag", "\"a\"")]), vec![]),
    });
    let server = Server::before(&compressing.url, &[]);
    server.get("/", &[]);
    let answer = server.get("/", &[]);
    assert_eq!((answer.text().as_str(), answer.field("etag")), ("page", Some("\"a-gzip\"")));
    assert_eq!(compressing.count(), 2, "confirmed, not fetched again");
    let unasked = Origin::new(|_| (304, vec![], vec![]));
    let server = Server::before(&unasked.url, &[]);
    assert_eq!(server.get("/", &[]).status, 502);
}

#[test]
fn an_unsafe_request_invalidates_whatever_rule_made_the_key() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60")]);
    let server = Server::before(&origin.url, &[]);
    server.tell(&[
        "rule",
        "add",
        "path=/m/**",
        "method=[\"GET\",\"HEAD\"]",
        "vary_query=ignore",
        "respect=true",
    ]);
    server.get("/m/a?x=1", &[]);
    assert!(server.get("/m/a?x=2", &[]).is_hit());
    server.connect().request("POST", "/m/a?x=1", &[], b"change");
    assert!(!server.get("/m/a?x=1", &[]).is_hit());
    assert_eq!(server.json(&["explain", "-m", "POST", "/m/a?x=1"])["reason"], "method-not-cached");
    assert!(server.tell(&["explain", "-m", "POST", "/m/a?x=1"]).contains("no-rule"));
}

#[test]
fn the_remaining_lifetime_counts_the_age_it_came_with() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60"), ("Age", "50")]);
    let server = Server::before(&origin.url, &[]);
    let first = server.get("/", &[]);
    assert!(
        first.cache_status().contains("ttl=10") || first.cache_status().contains("ttl=9"),
        "{}",
        first.cache_status()
    );
    assert_eq!(first.field("age"), Some("50"));
}

/// What `SAMOVAR_TEST_HOT` asks for is so: else the scripts under it would prove nothing.
#[test]
fn the_hot_tier_is_as_the_environment_wants_it() {
    use samovar_tests::tiers::{Hot, wanted};
    let origin = Origin::counting(&[("Cache-Control", "max-age=60")]);
    let server = Server::before(&origin.url, &["--workers", "1"]);
    let mut client = server.connect();
    let of_three: Vec<bool> =
        (0..3).map(|_| client.get("/", &[]).cache_status().ends_with("fresh-hot")).collect();
    let expected = match wanted() {
        // The second request makes it hot, or the first already, if its answer is whole when it ends.
        Hot::AsWritten | Hot::Eager => [false, false, true],
        Hot::Off => [false; 3],
    };
    assert_eq!(of_three, expected);
}
