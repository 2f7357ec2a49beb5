//! Properties of routing and of keys, over random sites, rules and requests.

#![allow(clippy::unwrap_used, reason = "a test may stop at its first surprise")]

use http::header::{ACCEPT_ENCODING, ACCEPT_LANGUAGE, COOKIE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use proptest::prelude::*;
use samovar_rules::*;
use std::sync::Arc;

fn words(alphabet: &'static str) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(alphabet, 0..3)
}

fn query_key() -> impl Strategy<Value = QueryKey> {
    prop_oneof![
        Just(QueryKey::AsIs),
        Just(QueryKey::Sorted),
        Just(QueryKey::Ignore),
        words("[ab*]{1,2}").prop_map(QueryKey::Keep),
        words("[ab*]{1,2}").prop_map(QueryKey::Drop),
    ]
}

fn vary_header() -> impl Strategy<Value = VaryHeader> {
    let name = prop::sample::select(vec![ACCEPT_LANGUAGE, ACCEPT_ENCODING, USER_AGENT, COOKIE]);
    let normalise = prop_oneof![
        Just(Normalise::Exact),
        Just(Normalise::Lower),
        Just(Normalise::Languages(vec!["en".into(), "de".into()])),
        Just(Normalise::Encodings(vec!["br".into(), "gzip".into()])),
    ];
    (name, normalise).prop_map(|(name, normalise)| VaryHeader { name, normalise })
}

/// No field twice: that would mean nothing, and the configuration refuses it.
fn vary_headers() -> impl Strategy<Value = Vec<VaryHeader>> {
    prop::collection::vec(vary_header(), 0..3).prop_map(|mut fields| {
        fields.sort_by(|one, other| one.name.as_str().cmp(other.name.as_str()));
        fields.dedup_by(|one, other| one.name == other.name);
        fields
    })
}

fn glob() -> impl Strategy<Value = Option<PathGlob>> {
    let text = "(/|\\*\\*/)?([ab]|\\*|\\?|\\{a,b\\}|/\\*\\*/|/){0,4}(/\\*\\*|\\.a|\\.b)?";
    (any::<bool>(), text).prop_map(|(ignore_case, text)| PathGlob::with_case(&text, ignore_case).ok())
}

fn rule() -> impl Strategy<Value = Rule> {
    let methods = prop::sample::subsequence(vec![Method::GET, Method::HEAD], 0..=2);
    (
        glob(),
        words("\\.[ab]"),
        methods,
        vary_headers(),
        words("[ab]"),
        query_key(),
        words("[ab*]{1,2}"),
        any::<bool>(),
    )
        .prop_map(
            |(
                path,
                extensions,
                methods,
                vary_headers,
                vary_cookies,
                vary_query,
                ignore_cookies,
                ignore_case,
            )| {
                Rule {
                    path,
                    extensions,
                    methods,
                    vary_headers,
                    vary_cookies,
                    vary_query,
                    ignore_cookies,
                    ignore_case,
                    ..Rule::default()
                }
            },
        )
}

fn sites() -> impl Strategy<Value = Sites> {
    let hosts = prop::sample::subsequence(vec!["a.x", "b.x", "*.x", "*.b.x"], 0..=4);
    let site = (hosts, any::<bool>(), prop::collection::vec(rule(), 0..4)).prop_map(
        |(hosts, default, mut rules)| {
            for (at, rule) in rules.iter_mut().enumerate() {
                rule.id = format!("r{at}").into();
            }
            Site {
                name: "s".into(),
                hosts: hosts.into_iter().map(str::to_owned).collect(),
                ports: vec![],
                default,
                canonical_host: "canonical.x".into(),
                handlers: vec![],
                fallback: TargetId(0),
                index: vec![],
                rules,
                otherwise: Arc::default(),
                cache_status: true,
                guards: Default::default(),
            }
        },
    );
    prop::collection::vec(site, 1..3).prop_map(|sites| Sites { sites })
}

#[derive(Clone, Debug)]
struct Request {
    method: Method,
    host: String,
    path: String,
    query: Option<String>,
    headers: HeaderMap,
}

impl Request {
    fn parts(&self) -> RequestParts<'_> {
        RequestParts {
            method: &self.method,
            scheme: "http",
            host: &self.host,
            listener_port: 80,
            path: &self.path,
            query: self.query.as_deref(),
            headers: &self.headers,
        }
    }
}

fn headers() -> impl Strategy<Value = HeaderMap> {
    let name = prop::sample::select(vec![ACCEPT_LANGUAGE, ACCEPT_ENCODING, USER_AGENT, COOKIE]);
    // Few values, so that equal keys come up; the last one would end a line if it were not escaped.
    let value = prop::sample::select(vec![
        "",
        "a=1",
        "a=1; b=2",
        "b=2;a=1",
        "A=1",
        "de",
        "en, de",
        "gzip",
        "br;q=0",
        "x\\x0Auser-agent: y",
        "\\",
        "1\\ncookie a: 1",
    ]);
    prop::collection::vec((name, value), 0..4).prop_map(|lines| {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers
    })
}

/// Few spellings of few things, so that different requests often get equal keys.
fn request() -> impl Strategy<Value = Request> {
    (
        prop::sample::select(vec![Method::GET, Method::HEAD]),
        prop::sample::select(vec!["a.x", "A.x.", "a.x:80", "b.x", "b.x:81", "c.b.x", "q", ""]),
        "(/(a|A|%61|b|%2f|%2F|\\.|\\.\\.|a\\.a|a\\.B|é|)){1,3}",
        prop::option::of("((a|%61|b|ab|\\+|%20)(=[12])?&?){0,3}"),
        headers(),
    )
        .prop_map(|(method, host, path, query, headers)| Request {
            method,
            host: host.into(),
            path,
            query,
            headers,
        })
}

/// What an origin could see of the chosen variables: decoded names with their values, in an order that does not
/// matter between names. Written without the crate's own parser; the generator has no broken escapes.
fn chosen(how: &QueryKey, query: Option<&str>) -> Vec<(String, String)> {
    let star = |pattern: &str, name: &str| match pattern {
        "*" | "**" => true,
        "a*" | "b*" => name.starts_with(&pattern[..1]),
        "*a" | "*b" => name.ends_with(&pattern[1..]),
        plain => plain == name,
    };
    let listed = |list: &[String], name: &str| list.iter().any(|pattern| star(pattern, name));
    let mut found: Vec<(String, String)> = query
        .unwrap_or_default()
        .split('&')
        .filter(|text| !text.is_empty())
        .map(|text| {
            let (name, value) = text.split_once('=').map_or((text, "none"), |(name, value)| (name, value));
            (name.replace("%61", "a").replace("%20", " ").replace('+', " "), value.to_owned())
        })
        .filter(|(name, _)| match how {
            QueryKey::AsIs | QueryKey::Sorted => true,
            QueryKey::Ignore => false,
            QueryKey::Keep(list) => listed(list, name),
            QueryKey::Drop(list) => !listed(list, name),
        })
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

fn text(line: &HeaderValue) -> &str {
    line.to_str().unwrap_or_default()
}

/// All lines of a field, told apart from none.
fn lines(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let found: Vec<&str> = headers.get_all(name).iter().map(|line| text(line).trim()).collect();
    (!found.is_empty()).then(|| found.join(", ").trim().to_owned())
}

fn cookie_values(headers: &HeaderMap, name: &str) -> Vec<String> {
    let all = headers.get_all(COOKIE).iter().flat_map(|line| text(line).split(';'));
    all.filter_map(|pair| pair.trim().split_once('='))
        .filter(|pair| pair.0 == name)
        .map(|pair| pair.1.to_owned())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Two requests under one key are one request to the origin in all that the key speaks of.
    #[test]
    fn equal_keys_mean_equal_requests(sites in sites(), one in request(), other in request(), same_place: bool) {
        let mut other = other;
        if same_place {
            // Otherwise equal keys would be rare.
            other.host.clone_from(&one.host);
            other.path.clone_from(&one.path);
            other.method = one.method.clone();
        }
        let (Ok(first), Ok(second)) = (route(&sites, &one.parts()), route(&sites, &other.parts())) else {
            return Ok(());
        };
        if first.key != second.key {
            return Ok(());
        }
        prop_assert!(std::ptr::eq(first.site, second.site), "one site's answers must not be another's");
        if !std::ptr::eq(first.rule, second.rule) {
            return Ok(());
        }
        let rule = first.rule;
        prop_assert_eq!(&first.host, &second.host);
        if rule.ignore_case {
            prop_assert!(first.path.eq_ignore_ascii_case(&second.path));
        } else {
            prop_assert_eq!(&first.path, &second.path);
        }
        let (first, second) =
            (chosen(&rule.vary_query, one.query.as_deref()), chosen(&rule.vary_query, other.query.as_deref()));
        prop_assert_eq!(first, second);
        for vary in &rule.vary_headers {
            let (first, second) = (lines(&one.headers, &vary.name), lines(&other.headers, &vary.name));
            match vary.normalise {
                _ if vary.name == COOKIE => prop_assert_eq!(first, second),
                Normalise::Exact => prop_assert_eq!(first, second),
                Normalise::Lower => prop_assert_eq!(
                    first.map(|value| value.to_ascii_lowercase()),
                    second.map(|value| value.to_ascii_lowercase())
                ),
                _ => {}
            }
        }
        for name in &rule.vary_cookies {
            prop_assert_eq!(cookie_values(&one.headers, name), cookie_values(&other.headers, name));
        }
    }

    /// And the other way round: what differs only in spelling has one key.
    #[test]
    fn what_was_routed_routes_to_the_same(sites in sites(), request in request()) {
        let Ok(first) = route(&sites, &request.parts()) else { return Ok(()) };
        let mut headers = request.headers.clone();
        normalise_for_origin(first.rule, &mut headers);
        let again = Request { path: first.path.clone(), host: first.host.clone(), headers, ..request.clone() };
        let second = route(&sites, &again.parts()).unwrap();
        prop_assert_eq!(&first.path, &second.path);
        prop_assert_eq!(&first.host, &second.host);
        // The canonical host may belong to another site.
        if std::ptr::eq(first.rule, second.rule) {
            prop_assert_eq!(&first.key, &second.key);
        }
    }

    #[test]
    fn the_key_begins_with_the_place(sites in sites(), request in request()) {
        let Ok(routed) = route(&sites, &request.parts()) else { return Ok(()) };
        let url = routed.key.url().to_owned();
        let path = url.strip_prefix(&format!("http://{}", routed.host)).unwrap();
        let path = path.split('?').next().unwrap();
        prop_assert!(path.starts_with('/'));
        prop_assert!(path.eq_ignore_ascii_case(&routed.path));
        prop_assert!(["a.x", "b.x", "b.x:81", "c.b.x", "canonical.x"].contains(&routed.host.as_str()));
        // One line per field, one per value of a cookie, and one that says that a cookie is absent.
        let cookies = routed.rule.vary_cookies.iter().map(|name| cookie_values(&request.headers, name).len().max(1));
        let lines = 1 + usize::from(routed.key.as_str().contains("\n@site ")) + routed.rule.vary_headers.len() + cookies.sum::<usize>();
        prop_assert_eq!(routed.key.as_str().split('\n').count(), lines);
    }

    /// `hidden_rules` may miss some, but never slanders one that is chosen.
    #[test]
    fn a_hidden_rule_is_never_chosen(
        rules in prop::collection::vec(rule(), 2..5),
        requests in prop::collection::vec(request(), 16),
    ) {
        let mut site = Site {
            name: "s".into(),
            hosts: vec![],
            ports: vec![],
            default: true,
            canonical_host: "h".into(),
            handlers: vec![],
            fallback: TargetId(0),
            index: vec![],
            rules,
            otherwise: Arc::default(),
            cache_status: true,
            guards: Default::default(),
        };
        for (at, rule) in site.rules.iter_mut().enumerate() {
            rule.id = format!("r{at}").into();
        }
        let hidden = hidden_rules(&site);
        let sites = Sites { sites: vec![site] };
        for request in requests {
            if let Ok(routed) = route(&sites, &request.parts()) {
                prop_assert!(hidden.iter().all(|(id, _)| *id != routed.rule.id), "{:?} {:?}", routed.rule, request);
                for (id, by) in &hidden {
                    if routed.beaten.contains(&id) {
                        prop_assert!(routed.rule.id == *by || routed.beaten.contains(&by));
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_panics(
        sites in sites(),
        host in "\\PC{0,20}|[a-z.:\\[\\]0-9]{0,12}",
        path in "\\PC{0,20}|/[%0-9a-f./\\x00-\\x20]{0,12}",
        query in prop::option::of("\\PC{0,20}|[%&=+a-f0-9]{0,20}"),
        url in "\\PC{0,30}|https?://[a-z\\[\\]:?#/@%]{0,20}",
        line in prop::collection::vec(prop_oneof![0x20_u8..=0x7e, 0x80_u8..=0xff, Just(b'\t')], 0..40),
    ) {
        let mut headers = HeaderMap::new();
        for name in [ACCEPT_LANGUAGE, ACCEPT_ENCODING, USER_AGENT, COOKIE] {
            headers.insert(name, HeaderValue::from_bytes(&line).unwrap());
        }
        let request = Request { method: Method::GET, host, path, query, headers };
        if let Ok(routed) = route(&sites, &request.parts()) {
            let _ = (unkeyed(routed.rule, &request.parts(), &[]), routed.key.redacted());
            prop_assert!(routed.key.as_str().bytes().all(|byte| byte == b'\n' || byte > b'\x1f'));
            prop_assert!(routed.path.is_ascii());
        }
        let _ = url_key(&sites, &url, &request.headers);
        for other in ["http", "https", "gopher"] {
            if let Some((name, port)) = normalise_host(&request.host, other) {
                let again = port.map_or(name.clone(), |port| format!("{name}:{port}"));
                prop_assert_eq!(normalise_host(&again, other), Some((name, port)));
            }
        }
        if let Ok(path) = normalise_path(&request.path) {
            prop_assert_eq!(normalise_path(&path), Ok(path));
        }
    }
}
