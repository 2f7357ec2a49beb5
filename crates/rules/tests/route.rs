//! Routing seen from outside: which site, which rule, which target, which key.

#![allow(clippy::unwrap_used, reason = "a test may stop at its first surprise")]

use http::header::{ACCEPT_LANGUAGE, COOKIE};
use http::{HeaderMap, HeaderValue, Method};
use samovar_reason::Route;
use samovar_rules::*;
use std::sync::Arc;

fn site(name: &str, hosts: &[&str], ports: &[u16]) -> Site {
    Site {
        name: name.into(),
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        ports: ports.to_vec(),
        default: false,
        canonical_host: String::new(),
        handlers: vec![(".php".into(), TargetId(7))],
        fallback: TargetId(1),
        index: vec![],
        rules: vec![],
        otherwise: Arc::new(Rule { id: "otherwise".into(), ..Rule::default() }),
        cache_status: true,
        guards: Default::default(),
    }
}

fn default_site(canonical_host: &str) -> Site {
    Site { default: true, canonical_host: canonical_host.into(), ..site("default", &[], &[]) }
}

fn parts<'a>(host: &'a str, path: &'a str, headers: &'a HeaderMap) -> RequestParts<'a> {
    RequestParts { method: &Method::GET, scheme: "http", host, listener_port: 80, path, query: None, headers }
}

fn rule(id: &str, path: &str) -> Rule {
    let path = (!path.is_empty()).then(|| PathGlob::new(path).unwrap());
    Rule { id: id.into(), path, ..Rule::default() }
}

#[test]
fn sites_by_host_wildcard_port_and_default() {
    let sites = Sites {
        sites: vec![
            site("wide", &["*.example"], &[]),
            site("gallery", &["gallery.example", "*.gallery.example"], &[]),
            site("admin", &["gallery.example"], &[8443]),
            site("six", &["[::1]"], &[]),
            site("twin", &["gallery.example", "*.example", "[::1]"], &[]),
            default_site("canonical.example"),
        ],
    };
    let none = HeaderMap::new();
    for (host, port, name, reason, seen) in [
        ("gallery.example", 80, "gallery", Route::SiteByHost, "gallery.example"),
        ("GALLERY.example.:80", 80, "gallery", Route::SiteByHost, "gallery.example"),
        ("gallery.example:8080", 80, "gallery", Route::SiteByHost, "gallery.example:8080"),
        ("gallery.example", 8443, "admin", Route::SiteByHost, "gallery.example"),
        ("a.gallery.example", 80, "gallery", Route::SiteByWildcard, "a.gallery.example"),
        ("a.b.gallery.example", 80, "gallery", Route::SiteByWildcard, "a.b.gallery.example"),
        ("xgallery.example", 80, "wide", Route::SiteByWildcard, "xgallery.example"),
        ("example", 80, "default", Route::SiteByDefault, "canonical.example"),
        (".example", 80, "", Route::BadTarget, ""),
        ("[0::1]:80", 80, "six", Route::SiteByHost, "[::1]"),
        ("made-up.test:1234", 80, "default", Route::SiteByDefault, "canonical.example"),
        ("", 80, "default", Route::SiteByDefault, "canonical.example"),
        ("a b", 80, "", Route::BadTarget, ""),
    ] {
        let parts = RequestParts { listener_port: port, ..parts(host, "/p", &none) };
        match route(&sites, &parts) {
            Ok(routed) => {
                assert_eq!((&*routed.site.name, routed.site_reason), (name, reason), "{host}");
                assert_eq!(routed.host, seen, "{host}");
                // Those that share URLs with another: on its own port; under a name that another's wildcard covers.
                let shares = matches!(name, "admin" | "default");
                let line = if shares { format!("\n@site {name}") } else { String::new() };
                assert_eq!(routed.key.as_str(), format!("http://{seen}/p{line}"), "{host}");
            }
            Err((why, _)) => assert_eq!(("", reason), (name, why), "{host}"),
        }
    }
}

#[test]
fn unknown_hosts_without_a_default_site() {
    let sites = Sites { sites: vec![site("a", &["a.example"], &[8080])] };
    let none = HeaderMap::new();
    let (why, text) = route(&sites, &parts("b.example", "/", &none)).unwrap_err();
    assert_eq!(why, Route::UnknownHost);
    assert!(text.contains("b.example"));
    // The host is right, the listener is not.
    assert_eq!(route(&sites, &parts("a.example", "/", &none)).unwrap_err().0, Route::UnknownHost);
    assert_eq!(route(&sites, &parts("", "/", &none)).unwrap_err().0, Route::UnknownHost);
}

#[test]
fn a_default_site_without_canonical_host() {
    let none = HeaderMap::new();
    let mut only = default_site("");
    let host = |site: &Site, said: &str| {
        let sites = Sites { sites: vec![site.clone()] };
        let routed = route(&sites, &parts(said, "/", &none)).unwrap();
        (routed.host, routed.learns_host)
    };
    assert_eq!(host(&only, "X.example:81"), ("x.example:81".into(), true), "the client's own");
    assert_eq!(host(&only, ""), ("localhost".into(), false), "it says none");
    only.hosts = vec!["*.a.example".into(), "a.example".into()];
    assert_eq!(host(&only, "x.example"), ("x.example".into(), true));
    assert_eq!(host(&only, ""), ("a.example".into(), false));
    assert_eq!(host(&only, "b.a.example"), ("b.a.example".into(), false), "it is named");
    only.canonical_host = "www.example".into();
    assert_eq!(host(&only, "x.example"), ("www.example".into(), false));
}

#[test]
fn bad_targets_say_why() {
    let sites = Sites { sites: vec![default_site("h")] };
    let none = HeaderMap::new();
    for (path, query, scheme, part) in [
        ("/%zz", None, "http", "percent escape"),
        ("/..", None, "http", "above the root"),
        ("*", None, "http", "malformed"),
        ("/", Some("a b"), "http", "query"),
        ("/", Some("a\nb"), "http", "query"),
        ("/", Some("a#b"), "http", "query"),
        ("/", None, "ftp", "ftp"),
    ] {
        let parts = RequestParts { query, scheme, ..parts("h", path, &none) };
        let (why, text) = route(&sites, &parts).unwrap_err();
        assert_eq!(why, Route::BadTarget, "{path}");
        assert!(text.contains(part), "{path} {query:?}: {text}");
    }
}

#[test]
fn the_first_rule_that_matches() {
    let mut site = default_site("h");
    site.rules = vec![
        rule("admin", "/admin/**"),
        Rule { extensions: vec![".php".into()], methods: vec![Method::GET], ..rule("php", "") },
        rule("img", "/img/*"),
        rule("jpg", "*.jpg"),
        rule("all", "/img/**"),
    ];
    let sites = Sites { sites: vec![site] };
    let none = HeaderMap::new();
    for (method, path, chosen, beaten) in [
        (Method::GET, "/admin/x.php", "admin", &["php"][..]),
        (Method::GET, "/a.PHP", "php", &[]),
        (Method::POST, "/a.php", "otherwise", &[]),
        (Method::GET, "/a.ph%70", "php", &[]),
        (Method::GET, "/img/a.jpg", "img", &["jpg", "all"]),
        (Method::GET, "/img/x/a.jpg", "jpg", &["all"]),
        (Method::GET, "/x/../admin/", "admin", &[]),
        (Method::GET, "/", "otherwise", &[]),
    ] {
        let parts = RequestParts { method: &method, ..parts("h", path, &none) };
        let routed = route(&sites, &parts).unwrap();
        let others: Vec<&str> = routed.beaten.iter().map(|id| &***id).collect();
        assert_eq!((&*routed.rule.id, others.as_slice()), (chosen, beaten), "{path}");
        let expected = if chosen == "otherwise" { Route::NoRule } else { Route::RuleMatched };
        assert_eq!(routed.rule_reason, expected);
    }
}

#[test]
fn the_target_by_extension() {
    let sites = Sites { sites: vec![default_site("h")] };
    let none = HeaderMap::new();
    for (path, target) in
        [("/a.php", 7), ("/a.PHP", 7), ("/.php", 7), ("/a.php/b", 1), ("/a.phpx", 1), ("/", 1)]
    {
        assert_eq!(route(&sites, &parts("h", path, &none)).unwrap().target, TargetId(target), "{path}");
    }
}

#[test]
fn what_a_request_becomes() {
    let mut site = default_site("h");
    site.rules = vec![Rule {
        vary_headers: vec![VaryHeader {
            name: ACCEPT_LANGUAGE,
            normalise: Normalise::Languages(vec!["en".into(), "de".into()]),
        }],
        vary_query: QueryKey::Drop(vec!["utm_*".into()]),
        ignore_cookies: vec!["@analytics".into()],
        ..rule("r1", "")
    }];
    let sites = Sites { sites: vec![site] };
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_static("de-AT, en;q=0.5"));
    headers.insert(COOKIE, HeaderValue::from_static("_ga=1; sid=secret"));
    let parts = RequestParts { query: Some("b&utm_x=1&a"), ..parts("h", "/%7ea/./b", &headers) };
    let routed = route(&sites, &parts).unwrap();
    assert_eq!(routed.path, "/~a/b");
    assert_eq!(routed.query.as_deref(), Some("b&utm_x=1&a"));
    assert_eq!(routed.key.as_str(), "http://h/~a/b?b&a\naccept-language: de");
    assert!(routed.relevant_cookies);
    assert_eq!(routed.relevant_cookie_names, ["sid"]);
}

/// A default site may stand in for unknown hosts under a name that another site serves: they share no key.
#[test]
fn a_canonical_host_that_is_another_sites_own() {
    let sites = Sites { sites: vec![site("own", &["h"], &[]), default_site("h")] };
    let none = HeaderMap::new();
    let key = |host: &str| route(&sites, &parts(host, "/p", &none)).unwrap().key.as_str().to_owned();
    assert_eq!((key("h").as_str(), key("x").as_str()), ("http://h/p", "http://h/p\n@site default"));
}

#[test]
fn urls_that_people_type() {
    let sites = Sites {
        sites: vec![site("a", &["a.example"], &[]), site("b", &["b.example"], &[8443]), default_site("h")],
    };
    let none = HeaderMap::new();
    for (url, key) in [
        ("/x?y", "http://h/x?y"),
        ("http://A.example:80/%61#frag", "http://a.example/a"),
        ("https://a.example", "https://a.example/"),
        ("https://b.example:8443/", "https://b.example:8443/\n@site b"),
        ("http://nobody.example/", "http://h/"),
        ("http://a.example/ä b?c d", "http://a.example/%C3%A4%20b?c%20d"),
    ] {
        assert_eq!(url_key(&sites, url, &none).unwrap().key.as_str(), key, "{url}");
    }
    let strict = Sites { sites: sites.sites[..2].to_vec() };
    // The port that clients see may not be the listener's.
    assert_eq!(&*url_key(&strict, "https://b.example/", &none).unwrap().site.name, "b");
    for (url, why) in [
        ("/x", Route::UnknownHost),
        ("http://c.example/", Route::UnknownHost),
        ("c.example/x", Route::BadTarget),
        ("http://a.example/%", Route::BadTarget),
        ("http://straße.example/", Route::BadTarget),
    ] {
        assert_eq!(url_key(&strict, url, &none).unwrap_err().0, why, "{url}");
    }
}

/// A rule holds for a folder whose default document it matches, in the order of the file; the document is asked for only
/// where it can make a difference.
#[test]
fn rules_hold_for_the_default_document_of_a_folder() {
    let by_extension =
        |id: &str, extension: &str| Rule { extensions: vec![extension.into()], ..rule(id, "") };
    let never = |rule: Rule| {
        let wishes =
            samovar_policy::Wishes { lifetime: samovar_policy::LifetimeWish::Never, ..Default::default() };
        Rule { wishes, ..rule }
    };
    let php = || by_extension("php", ".php");
    let folder = || rule("folder", "/pictures/");
    // Rules, path, which index document is there; the rule, why, whether the document was asked for.
    type Row = (Vec<Rule>, &'static str, Option<usize>, &'static str, Route, bool);
    let rows: [Row; 11] = [
        (vec![php()], "/pictures/", Some(0), "php", Route::RuleByDocument, true),
        (vec![php()], "/pictures/", Some(1), "otherwise", Route::NoRule, true),
        (vec![php()], "/pictures/", None, "otherwise", Route::NoRule, true),
        (vec![php()], "/pictures", Some(0), "otherwise", Route::NoRule, false),
        (vec![php()], "/pictures/index.php", Some(0), "php", Route::RuleMatched, false),
        (vec![folder(), php()], "/pictures/", Some(0), "folder", Route::RuleMatched, false),
        (vec![php(), folder()], "/pictures/", Some(0), "php", Route::RuleByDocument, true),
        (vec![php(), never(folder())], "/pictures/", Some(0), "folder", Route::RuleMatched, false),
        (
            vec![rule("one", "/pictures/index.html")],
            "/pictures/",
            Some(1),
            "one",
            Route::RuleByDocument,
            true,
        ),
        (vec![rule("one", "/pictures/index.html")], "/others/", Some(1), "otherwise", Route::NoRule, false),
        (vec![rule("all", "/**"), php()], "/pictures/", Some(0), "all", Route::RuleMatched, false),
    ];
    // A site that lets in only some keeps its guard where the document's rule has none, and loses nothing to one that has it.
    let deny = Addresses { networks: vec![], unix: true };
    let access = Access { allow: Addresses::default(), deny };
    let closed = |rule: Rule| Rule {
        acts: Some(Arc::new(Acts { access: Some(access.clone()), ..Acts::default() })),
        ..rule
    };
    for (rule, id) in [(php(), "otherwise"), (closed(php()), "php")] {
        let index = vec!["index.php".to_owned()];
        let otherwise = Arc::new(closed(Rule { id: "otherwise".into(), ..Rule::default() }));
        let site = Site { index, rules: vec![rule], otherwise, ..site("s", &["s.example"], &[]) };
        let sites = Sites { sites: vec![site] };
        let headers = HeaderMap::new();
        let routed =
            route_with(&sites, &parts("s.example", "/staff/", &headers), &|_, _| Some("index.php")).unwrap();
        assert_eq!(&*routed.rule.id, id);
    }
    let none = HeaderMap::new();
    for (rules, path, there, id, reason, wanted) in rows {
        let index = vec!["index.php".to_owned(), "index.html".to_owned()];
        let sites = Sites { sites: vec![Site { index, rules, ..site("s", &["s.example"], &[]) }] };
        let asked = std::cell::Cell::new(false);
        let routed = route_with(&sites, &parts("s.example", path, &none), &|site, folder| {
            asked.set(true);
            assert_eq!(folder, path);
            site.index.get(there?).map(String::as_str)
        })
        .unwrap();
        let what = format!("{path} {there:?} {id}");
        assert_eq!((&*routed.rule.id, routed.rule_reason, asked.get()), (id, reason, wanted), "{what}");
        assert_eq!(routed.document.is_some(), reason == Route::RuleByDocument, "{what}");
        assert_eq!(routed.key.as_str(), format!("http://s.example{path}"), "{what}");
    }
}

/// A rule for some methods guards against requests that only claim one of them, however the claim is made.
#[test]
fn a_claimed_method_is_held_to_the_guards_of_every_method() {
    let deny = Addresses { networks: vec![], unix: true };
    let acts = Acts { access: Some(Access { allow: Addresses::default(), deny }), ..Acts::default() };
    let closed = |id: &str, path: &str, methods: &[Method]| Rule {
        acts: Some(Arc::new(acts.clone())),
        methods: methods.to_vec(),
        ..rule(id, path)
    };
    let open = |path: &str, methods: &[Method]| Rule { methods: methods.to_vec(), ..rule("open", path) };
    let limited = vec![closed("delete", "/items/**", &[Method::DELETE, Method::PUT])];
    let except = vec![open("/items/**", &[Method::GET, Method::POST]), closed("others", "/items/**", &[])];
    for (rules, method, claim, query, held) in [
        (&limited, Method::POST, None, None, &[][..]),
        (&limited, Method::DELETE, Some("x-http-method-override"), None, &[]),
        (&limited, Method::POST, Some("x-http-method-override"), None, &["delete"]),
        (&limited, Method::GET, Some("x-method-override"), None, &["delete"]),
        (&limited, Method::POST, None, Some("_method=DELETE"), &["delete"]),
        (&except, Method::POST, None, Some("a=b"), &[]),
        (&except, Method::POST, Some("x-http-method"), None, &["others"]),
    ] {
        let guards = Guards::new(rules, &Rule::default(), true);
        let site = Site { rules: rules.clone(), guards, ..default_site("a") };
        let sites = Sites { sites: vec![site] };
        let mut headers = HeaderMap::new();
        if let Some(name) = claim {
            headers.insert(name, "DELETE".parse().unwrap());
        }
        let parts = RequestParts { method: &method, query, ..parts("a", "/items/1", &headers) };
        let routed = route(&sites, &parts).unwrap();
        let ids: Vec<&str> = routed.held.iter().map(|held| &*held.rule.id).collect();
        assert_eq!(ids, held, "{method} {claim:?} {query:?}");
    }
}
