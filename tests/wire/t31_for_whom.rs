//! For whom an answer is: keys, variants, tags and cookies where somebody says one thing and does another.

use samovar_tests::client::Client;
use samovar_tests::origin::{Origin, own};
use samovar_tests::server::{Folder, Server, soon};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An origin that says what it was asked for, varying by nothing.
fn speaks(field: &'static str) -> Origin {
    Origin::new(move |asked| {
        let body = format!("for {}", asked.field(field).unwrap_or("nobody"));
        (200, own(&[("Cache-Control", "max-age=60")]), body.into_bytes())
    })
}

/// A field that `Connection` names does not reach the origin, so no key may be made of it: or one client would store, under
/// the key of all who send the field, what was made for those who do not.
#[test]
fn a_field_named_by_connection_is_in_no_key() {
    for (vary, field, value) in [
        ("vary_headers=[\"X-A\"]", "X-A", "1"),
        (
            "vary_headers=[{ name = \"Accept-Language\", languages = [\"en\", \"de\"] }]",
            "Accept-Language",
            "de",
        ),
    ] {
        let origin = speaks(if field == "X-A" { "x-a" } else { "accept-language" });
        let server = Server::before(&origin.url, &[]);
        server.tell(&["rule", "add", "path=/**", "for=60s", vary]);
        let connection = format!("close, {field}");
        let sly = server.get("/", &[("Connection", &connection), (field, value)]);
        assert!(!sly.text().ends_with(value), "{}", sly.text());
        let honest = server.get("/", &[(field, value)]);
        assert_eq!(
            (honest.text(), honest.is_hit()),
            (format!("for {value}"), false),
            "{}",
            honest.cache_status()
        );
    }
}

/// What an origin names in `Connection` that speaks of the answer stays: dropping it would make the answer another.
#[test]
fn an_origin_cannot_take_back_what_an_answer_is() {
    let fields = &[
        ("Cache-Control", "max-age=60"),
        ("Connection", "Vary, Set-Cookie, CDN-Cache-Control, Surrogate-Control, Cache-Tag, X-Gone"),
        ("Cache-Tag", "kept"),
        ("X-Gone", "1"),
    ];
    for (name, value, reason) in [
        ("Set-Cookie", "a=b", "set-cookie"),
        ("Vary", "*", "vary-star"),
        ("CDN-Cache-Control", "private", "private"),
        ("Surrogate-Control", "no-store", "no-store"),
        ("X-Kept", "1", "stored"),
    ] {
        let origin = Origin::new(move |_| {
            let mut all = own(fields);
            all.push((name.into(), value.into()));
            (200, all, b"x".to_vec())
        });
        let server = Server::before(&origin.url, &[]);
        let answer = server.get("/", &[]);
        assert_eq!((answer.reason().as_str(), answer.field("x-gone")), (reason, None));
        if name == "X-Kept" {
            assert_eq!(server.json(&["cache", "purge", "--tag", "kept"])["entries"], 1);
        } else if name != "Surrogate-Control" {
            assert_eq!(answer.field(&name.to_lowercase()), Some(value));
        }
    }
}

/// Fields that name the client are written anew for the origin: what varies by them is for nobody else.
#[test]
fn what_varies_by_the_clients_address_is_not_shared() {
    for field in ["X-Forwarded-For", "Accept, Forwarded"] {
        let origin = Origin::new(move |_| {
            (200, own(&[("Cache-Control", "max-age=60"), ("Vary", field)]), b"x".to_vec())
        });
        let server = Server::before(&origin.url, &[]);
        for _ in 0..2 {
            let answer = server.get("/", &[]);
            assert!(!answer.is_hit());
        }
        assert!(server.tell(&["explain", "/"]).contains("vary-star"));
    }
    // A rule that overrides it overrides no more than that.
    let origin = Origin::new(|asked| {
        let fields = own(&[("Cache-Control", "max-age=60"), ("Vary", "X-A, X-Forwarded-For, *")]);
        (200, fields, asked.field("x-a").unwrap_or("none").as_bytes().to_vec())
    });
    let server = Server::before(&origin.url, &[]);
    server.tell(&["rule", "add", "path=/**", "override=[\"vary-star\"]"]);
    for _ in 0..2 {
        for value in ["1", "2"] {
            assert_eq!(server.get("/", &[("X-A", value)]).text(), value);
        }
    }
    assert!(server.get("/", &[("X-A", "1")]).is_hit());
}

/// Two sites under the same names, each on its own port: neither answers, nor renews, from what the other stored.
#[test]
fn sites_that_differ_by_port_share_nothing() {
    let named = |name: &'static str| {
        Origin::new(move |asked| {
            let fields = own(&[("Cache-Control", "max-age=60"), ("ETag", "\"same\"")]);
            match asked.field("if-none-match") {
                Some("\"same\"") => (304, fields, Vec::new()),
                _ => (200, fields, name.as_bytes().to_vec()),
            }
        })
    };
    let (a, b) = (named("site a"), named("site b"));
    // Ports that are free now; nobody else in this run takes what another has.
    let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (one, two) = (free(), free());
    let sites = [("a", one, &a.url), ("b", two, &b.url)].map(|(name, port, url)| {
        format!(
            "[[upstream]]\nname = \"{name}\"\nmembers = [{{ url = \"{url}\" }}]\n\
             [[site]]\nname = \"{name}\"\ndefault = true\nports = [{port}]\nupstream = \"{name}\"\n"
        )
    });
    let text = format!("config = 1\n{}", sites.concat());
    let folder = Folder::new();
    let config = folder.write("samovar.toml", text);
    let listen = [one, two].map(|port| format!("127.0.0.1:{port}"));
    let _server = Server::start_with(
        &["--config", config.to_str().unwrap()],
        &["--listen", &listen[0], "--listen", &listen[1]],
    );
    for _ in 0..3 {
        for (port, name) in [(one, "site a"), (two, "site b")] {
            let answer = Client::connect(&format!("127.0.0.1:{port}")).get("/", &[]);
            assert_eq!(answer.text(), name, "{}", answer.cache_status());
        }
    }
    assert_eq!((a.count(), b.count()), (1, 1));
}

/// A 304 may be the first to say by what the answer varies.
#[test]
fn a_304_with_a_new_vary_is_for_its_like() {
    let origin = Origin::new(|asked| {
        let who = format!("for {}", asked.field("x-a").unwrap_or("nobody"));
        match asked.field("if-none-match") {
            Some(_) => {
                (304, own(&[("ETag", "\"e\""), ("Cache-Control", "max-age=60"), ("Vary", "X-A")]), Vec::new())
            }
            None => (200, own(&[("ETag", "\"e\""), ("Cache-Control", "max-age=0")]), who.into_bytes()),
        }
    });
    let server = Server::before(&origin.url, &[]);
    for _ in 0..2 {
        assert_eq!(server.get("/", &[("X-A", "1")]).text(), "for 1");
    }
    assert!(server.get("/", &[("X-A", "1")]).is_hit());
    let other = server.get("/", &[("X-A", "2")]);
    assert!(!other.is_hit(), "{}", other.cache_status());
}

/// A 304 that repeats one kind of tag, or none, takes away no other; with a rule, which has a tag of its own, as without.
#[test]
fn a_304_takes_no_tags_away() {
    for rule in [None, Some("path=/**")] {
        for repeated in [None, Some(("Cache-Groups", "\"g\"")), Some(("Surrogate-Key", "k"))] {
            let origin = Origin::new(move |asked| {
                let mut fields = own(&[("ETag", "\"e\""), ("Cache-Control", "max-age=0, must-revalidate")]);
                if asked.line.starts_with("POST") {
                    fields = own(&[("Cache-Group-Invalidation", "\"g\"")]);
                    return (200, fields, Vec::new());
                }
                if asked.field("if-none-match").is_some() {
                    fields = own(&[("ETag", "\"e\""), ("Cache-Control", "max-age=60")]);
                    fields.extend(own(repeated.as_slice()));
                    return (304, fields, Vec::new());
                }
                fields.extend(own(&[("Cache-Groups", "\"g\""), ("Surrogate-Key", "k")]));
                (200, fields, b"x".to_vec())
            });
            let server = Server::before(&origin.url, &[]);
            if let Some(rule) = rule {
                server.tell(&["rule", "add", rule]);
            }
            let case = format!("{rule:?} {repeated:?}");
            for purge in ["tag", "group"] {
                server.get("/", &[]);
                assert_eq!(server.get("/", &[]).reason(), "revalidated", "{case}");
                assert!(server.get("/", &[]).is_hit(), "{case}");
                match purge {
                    "tag" => {
                        assert_eq!(server.json(&["cache", "purge", "--tag", "k"])["entries"], 1, "{case}")
                    }
                    _ => assert_eq!(server.connect().request("POST", "/other", &[], b"x").status, 200),
                }
                assert!(!server.get("/", &[]).is_hit(), "{case}: gone by its {purge}");
                server.tell(&["cache", "purge", "--all"]);
            }
        }
    }
}

/// A cookie that comes with a 304 is for whoever asked: it arrives there and nowhere else.
#[test]
fn a_cookie_on_a_304_reaches_the_one_who_asked() {
    for (lifetime, stored) in [("max-age=60", true), ("private", false)] {
        let asked = Arc::new(AtomicU64::new(0));
        let origin = Origin::new(move |request| {
            let number = asked.fetch_add(1, Ordering::SeqCst);
            match request.field("if-none-match") {
                Some(_) => {
                    let cookie = format!("sid={number}");
                    let mut fields = own(&[("ETag", "\"e\""), ("Cache-Control", lifetime)]);
                    fields.push(("Set-Cookie".into(), cookie));
                    (304, fields, Vec::new())
                }
                None => (200, own(&[("ETag", "\"e\""), ("Cache-Control", "max-age=0")]), b"x".to_vec()),
            }
        });
        let server = Server::before(&origin.url, &[]);
        server.get("/", &[]);
        let renewed = server.get("/", &[]);
        assert_eq!((renewed.status, renewed.text().as_str()), (200, "x"));
        assert_eq!(renewed.field("set-cookie"), Some("sid=1"));
        let said = renewed.cache_status();
        assert_eq!(said.contains("; stored"), stored, "{said}");
        let next = server.get("/", &[]);
        assert_eq!((next.is_hit(), next.field("set-cookie") == Some("sid=1")), (stored, false));
    }
}

/// What the client makes a condition of is the origin's to judge: what it has now is not known here.
#[test]
fn if_match_is_for_the_origin() {
    let origin = Origin::new(|asked| {
        let fields = own(&[("ETag", "\"new\""), ("Cache-Control", "max-age=60")]);
        match asked.field("if-match") {
            Some(tag) if tag != "\"new\"" => (412, fields, Vec::new()),
            _ if asked.number == 0 => {
                (200, own(&[("ETag", "\"old\""), ("Cache-Control", "max-age=60")]), b"old".to_vec())
            }
            _ => (200, fields, b"new".to_vec()),
        }
    });
    let server = Server::before(&origin.url, &[]);
    server.get("/", &[]);
    assert!(server.get("/", &[]).is_hit());
    for (tag, status) in [("\"old\"", 412), ("\"new\"", 200)] {
        let answer = server.get("/", &[("If-Match", tag)]);
        assert_eq!((answer.status, answer.reason().as_str()), (status, "request-precondition"));
        assert!(answer.cache_status().contains("fwd=request"), "{}", answer.cache_status());
        let told = server.tell(&["explain", "/", "-H", &format!("If-Match: {tag}")]);
        assert!(told.contains("would be a pass (request-precondition)"), "{told}");
    }
    server.get("/", &[("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")]);
    assert!(origin.asked().last().unwrap().field("if-unmodified-since").is_some());
}

/// Of what cannot be stored, only the origin can say that it has not changed.
#[test]
fn what_cannot_be_stored_is_asked_about_as_the_client_asks() {
    let origin = Origin::new(|asked| {
        let fields = own(&[("ETag", "\"e\""), ("Cache-Control", "no-store")]);
        match asked.field("if-none-match") {
            Some("\"e\"") => (304, fields, Vec::new()),
            _ => (200, fields, b"x".to_vec()),
        }
    });
    let server = Server::before(&origin.url, &[]);
    assert_eq!(server.get("/", &[]).status, 200);
    let again = server.get("/", &[("If-None-Match", "\"e\"")]);
    assert_eq!((again.status, again.reason().as_str()), (304, "known-not-storable"));
}

/// A client that resets the connection while an unsafe request is under way: the origin does it all the same, and what it
/// has changed is not served.
#[test]
fn an_unsafe_request_is_heard_to_its_end() {
    let origin = Origin::new(|asked| {
        if asked.line.starts_with("POST") {
            std::thread::sleep(std::time::Duration::from_millis(150));
            return (200, Vec::new(), Vec::new());
        }
        (200, own(&[("Cache-Control", "max-age=60")]), format!("{}", asked.number).into_bytes())
    });
    let server = Server::before(&origin.url, &[]);
    server.get("/", &[]);
    assert!(server.get("/", &[]).is_hit());
    let mut rude = TcpStream::connect(&server.address).unwrap();
    // An answer unread at the end makes the end a reset.
    rude.write_all(
        b"GET / HTTP/1.1\r\nHost: test\r\n\r\nPOST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\n\r\nx",
    )
    .unwrap();
    let mut first = [0; 1];
    rude.read_exact(&mut first).unwrap();
    soon("the POST at the origin", || (origin.count() == 2).then_some(()));
    drop(rude);
    soon("the answer to be gone", || (!server.get("/", &[]).is_hit()).then_some(()));
}

/// What a request made invalid is told, and what a HEAD taught.
#[test]
fn what_was_learnt_is_told() {
    let origin = Origin::new(|asked| {
        let tag = if asked.number >= 5 { "\"two\"" } else { "\"one\"" };
        (200, own(&[("Cache-Control", "max-age=0"), ("ETag", tag)]), b"x".to_vec())
    });
    let server = Server::before(&origin.url, &[]);
    let live = |method| server.tell(&["explain", "/", "-m", method, "--live"]);
    assert!(!live("POST").contains("invalidated"), "nothing is stored");
    server.get("/", &[]);
    let told = live("POST");
    assert!(told.contains("1 stored answer is not valid any more"), "{told}");
    server.get("/", &[]);
    let told = live("HEAD");
    assert!(told.contains("store   refreshed") || told.contains("refreshed"), "{told}");
    let told = live("HEAD");
    assert!(told.contains("doubted"), "{told}");
}
