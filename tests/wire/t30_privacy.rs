//! Two clients never see each other's answers.

use samovar_tests::origin::{Origin, own};
use samovar_tests::server::Server;

/// An origin that answers with the session it sees, and forgets to forbid caching.
fn careless(fields: &'static [(&'static str, &'static str)]) -> Origin {
    Origin::new(move |asked| {
        let who = asked.field("cookie").or(asked.field("authorization")).unwrap_or("nobody").to_string();
        (200, own(fields), format!("for {who}").into_bytes())
    })
}

#[test]
fn cookies_keep_sessions_apart_under_a_rule() {
    let origin = careless(&[]);
    let server = Server::before(&origin.url, &[]);
    server.tell(&["rule", "add", "path=/**", "for=60s"]);
    assert_eq!(server.get("/", &[]).text(), "for nobody");
    for _ in 0..3 {
        for session in ["sid=ann", "sid=bob"] {
            let answer = server.get("/", &[("Cookie", session)]);
            assert_eq!(answer.text(), format!("for {session}"), "{}", answer.cache_status());
            assert_eq!(answer.reason(), "request-cookie");
        }
        assert_eq!(server.get("/", &[]).text(), "for nobody");
    }
}

#[test]
fn cookies_declared_irrelevant_do_not_matter_and_others_still_do() {
    let origin = careless(&[]);
    let server = Server::before(&origin.url, &[]);
    server.tell(&["rule", "add", "path=/**", "for=60s", "ignore_cookies=[\"_ga*\"]"]);
    server.get("/", &[]);
    for _ in 0..5 {
        assert!(server.get("/", &[("Cookie", "_ga=1; _gat=2")]).is_hit());
        assert_eq!(server.get("/", &[("Cookie", "_ga=1; sid=ann")]).text(), "for _ga=1; sid=ann");
    }
}

#[test]
fn authorization_is_not_shared() {
    let origin = careless(&[("Cache-Control", "max-age=60")]);
    let server = Server::before(&origin.url, &[]);
    for who in ["Basic YQ==", "Basic Yg=="] {
        for _ in 0..2 {
            assert_eq!(server.get("/", &[("Authorization", who)]).text(), format!("for {who}"));
        }
    }
}

#[test]
fn set_cookie_reaches_only_the_one_it_was_meant_for() {
    let origin = Origin::new(|asked| {
        let cookie = format!("sid={}", asked.number);
        (
            200,
            vec![("Set-Cookie".into(), cookie), ("Cache-Control".into(), "public, max-age=60".into())],
            b"page".to_vec(),
        )
    });
    let server = Server::before(&origin.url, &[]);
    let first = server.get("/", &[]);
    assert_eq!(first.field("set-cookie"), Some("sid=0"));
    for _ in 0..10 {
        let other = server.get("/", &[]);
        assert!(other.is_hit());
        assert_eq!(other.field("set-cookie"), None);
    }
}

#[test]
fn those_who_join_a_fetch_with_their_own_cookies_go_alone() {
    let origin = Origin::new(|asked| {
        std::thread::sleep(std::time::Duration::from_millis(200));
        let who = asked.field("cookie").unwrap_or("nobody").to_string();
        (200, vec![], format!("for {who}").into_bytes())
    });
    let server = Server::before(&origin.url, &[]);
    server.tell(&["rule", "add", "path=/**", "for=60s"]);
    std::thread::scope(|scope| {
        for session in [None, Some("sid=ann"), None, Some("sid=bob"), None, Some("sid=cid")] {
            let server = &server;
            scope.spawn(move || {
                let answer = match session {
                    Some(session) => server.get("/", &[("Cookie", session)]),
                    None => server.get("/", &[]),
                };
                assert_eq!(answer.text(), format!("for {}", session.unwrap_or("nobody")));
            });
        }
    });
}

#[test]
fn unknown_hosts_cannot_fill_the_cache_nor_mix() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60")]);
    let text = format!(
        "config = 1\n[[site]]\nname = \"a\"\nhosts = [\"a.example\"]\norigin = \"{0}\"\n\
         [[site]]\nname = \"b\"\nhosts = [\"*.b.example\"]\norigin = \"{0}\"\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &[]);
    let ask = |host: &str| server.get("/", &[("Host", host)]);
    assert_eq!(ask("a.example").text(), "answer 0");
    assert!(ask("A.EXAMPLE.").is_hit(), "spelling does not matter");
    assert_eq!(ask("x.b.example").text(), "answer 1");
    assert_eq!(ask("evil.example").status, 421);
    assert_eq!(ask("b.example").status, 421);
    assert_eq!(origin.count(), 2);
}

#[test]
fn files_do_not_read_cookies() {
    let folder = samovar_tests::server::Folder::new();
    folder.write("a.css", "body{}");
    let server = Server::start(&[folder.0.to_str().unwrap()]);
    server.get("/a.css", &[("Cookie", "sid=ann")]);
    for session in ["sid=ann", "sid=bob"] {
        assert!(server.get("/a.css", &[("Cookie", session)]).is_hit());
    }
}

#[test]
fn negotiation_is_settled_before_the_origin_is_asked() {
    let origin = Origin::new(|asked| {
        let language = asked.field("accept-language").unwrap_or("none").to_string();
        (200, vec![], language.into_bytes())
    });
    let server = Server::before(&origin.url, &[]);
    let rule = "vary_headers=[{ name = \"Accept-Language\", languages = [\"en\", \"de\"] }]";
    server.tell(&["rule", "add", "path=/**", "for=60s", rule]);
    assert_eq!(server.get("/", &[("Accept-Language", "fr, de;q=0.5")]).text(), "de");
    let other = server.get("/", &[("Accept-Language", "de-AT")]);
    assert!(other.is_hit() && other.text() == "de");
    assert_eq!(server.get("/", &[("Accept-Language", "fr")]).text(), "en");
}

#[test]
fn a_cookie_in_the_key_keeps_answers_apart_and_is_not_shown() {
    let origin = careless(&[]);
    let server = Server::before(&origin.url, &[]);
    server.tell(&["rule", "add", "path=/**", "for=60s", "vary_cookies=[\"lang\"]"]);
    for _ in 0..4 {
        for language in ["lang=hunter2", "lang=other"] {
            assert_eq!(server.get("/", &[("Cookie", language)]).text(), format!("for {language}"));
        }
    }
    assert!(server.get("/", &[("Cookie", "lang=hunter2")]).is_hit());
    for command in [&["cache", "list"][..], &["trace"], &["cache", "list", "--json"], &["trace", "--json"]] {
        let text = server.tell(command);
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn what_caches_downstream_are_told_holds_only_for_what_is_shared() {
    let origin = Origin::new(|asked| match asked.target() {
        "/private" => (200, own(&[("Cache-Control", "private, no-store")]), b"x".to_vec()),
        "/cookie" => {
            (200, own(&[("Set-Cookie", "sid=1"), ("Cache-Control", "public, max-age=60")]), b"x".to_vec())
        }
        _ => (200, own(&[("Cache-Control", "max-age=60")]), b"x".to_vec()),
    });
    let server = Server::before(&origin.url, &[]);
    server.tell(&["rule", "add", "path=/**", "for=60s", "client_cache_control=\"public, max-age=3600\""]);
    let told = |path: &str, fields: &[(&str, &str)]| {
        server.get(path, fields).field("cache-control").map(str::to_string)
    };
    let public = Some("public, max-age=3600".to_string());
    for _ in 0..3 {
        assert_eq!(told("/shared", &[]), public);
        assert_ne!(told("/private", &[]), public);
        assert_ne!(told("/shared", &[("Cookie", "sid=ann")]), public);
    }
    assert_ne!(told("/cookie", &[]), public, "the answer that sets a cookie is one client's own");
    assert_eq!(told("/cookie", &[]), public, "the same without the cookie is everyone's");
}
