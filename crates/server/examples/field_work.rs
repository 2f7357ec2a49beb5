//! The work that each parser and look-up makes of what a stranger sends, for `scripts/field-work.sh`, which counts it.
//!
//! Each case makes the worst text it knows of so many bytes and then reads it, between two calls of [`mark`]: there callgrind
//! writes its count down and begins anew, so that nothing else is in it. Twice the bytes must not take much more than twice the
//! work. Not here: the counting and the verdict (the script).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measurement may stop at its first surprise, and prints the names of its cases"
)]

use http::header::{
    ACCEPT_CHARSET, ACCEPT_ENCODING, ACCEPT_LANGUAGE, AUTHORIZATION, CACHE_CONTROL, CONNECTION,
    CONTENT_ENCODING, COOKIE, ETAG, HeaderName, IF_MATCH, IF_NONE_MATCH, LOCATION, RANGE, UPGRADE,
    USER_AGENT, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, Version};
use samovar::config::Settings;
use samovar_hot::head::{self, HeadLimits};
use samovar_policy::{Compared, Exchange, Now, RequestFacts, Wishes};
use samovar_rules::{AskedBy, Normalise, OriginNames, PathGlob, QueryKey, RateBy, RequestParts, Rule, Stars};
use std::hint::black_box;

/// Bytes of the smaller text, and of the larger.
const SIZES: [usize; 2] = [8 << 10, 16 << 10];

/// What a case runs once its text is made.
type Work = Box<dyn Fn()>;

/// Its name, and how it is made for so many bytes.
type Case = (&'static str, Box<dyn Fn(usize) -> Work>);

fn main() {
    let lists =
        [of_heads(), of_cookies_and_queries(), of_paths(), of_requests(), of_responses(), of_records()];
    for (name, make) in lists.into_iter().flatten() {
        for bytes in SIZES {
            let work = make(bytes);
            println!("{name} {bytes}");
            mark(bytes);
            work();
            mark(bytes);
        }
    }
}

/// Where the script has callgrind write down what it has counted.
#[inline(never)]
fn mark(bytes: usize) {
    black_box(bytes);
}

fn case(name: &'static str, make: impl Fn(usize) -> Work + 'static) -> Case {
    (name, Box::new(make))
}

fn work<T>(run: impl Fn() -> T + 'static) -> Work {
    Box::new(move || drop(black_box(run())))
}

/// Parts numbered from 0, put together until they have so many bytes.
fn parts(bytes: usize, separator: &str, part: impl Fn(usize) -> String) -> String {
    let mut text = part(0);
    for at in 1.. {
        let next = part(at);
        if text.len() + separator.len() + next.len() > bytes {
            break;
        }
        text.push_str(separator);
        text.push_str(&next);
    }
    text
}

fn same(bytes: usize, separator: &str, part: &str) -> String {
    parts(bytes, separator, |_| part.to_owned())
}

fn fields(lines: &[(HeaderName, &str)]) -> HeaderMap {
    lines.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
}

fn one(name: HeaderName, value: &str) -> HeaderMap {
    fields(&[(name, value)])
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// A site with these rules, in the configuration's own words.
fn settings(rules: &str) -> Settings {
    let text = format!(
        "config = 1\n[[site]]\nname = \"a\"\nhosts = [\"a.example\"]\norigin = \"http://127.0.0.1:1\"\n{rules}"
    );
    samovar::config::parse(&text, "/field-work.toml").unwrap_or_else(|report| panic!("{report}")).settings
}

fn routed(rules: &str, path: String, query: Option<String>, headers: HeaderMap) -> Work {
    let settings = settings(rules);
    work(move || {
        let parts = RequestParts {
            method: &Method::GET,
            scheme: "http",
            host: "a.example",
            listener_port: 80,
            path: &path,
            query: query.as_deref(),
            headers: &headers,
        };
        samovar_rules::route(&settings.sites, &parts).is_ok()
    })
}

fn routed_fields(rule: &str, headers: HeaderMap) -> Work {
    routed(&format!("[[site.rule]]\nfor = \"1h\"\n{rule}\n"), "/x".into(), None, headers)
}

fn by_meaning(name: HeaderName, value: String) -> Work {
    let headers = one(name.clone(), &value);
    work(move || samovar_rules::normalise_by_meaning(&name, &headers))
}

fn by_rule(rule: Rule, name: HeaderName, value: String) -> Work {
    let headers = one(name.clone(), &value);
    work(move || rule.normaliser()(&name, &headers))
}

fn chosen(how: Normalise, name: HeaderName, value: String) -> Work {
    let vary_headers = vec![samovar_rules::VaryHeader { name: name.clone(), normalise: how }];
    by_rule(Rule { vary_headers, ..Rule::default() }, name, value)
}

fn query(how: QueryKey, text: String) -> Work {
    work(move || samovar_rules::normalise_query(&how, Some(&text)).is_some())
}

const NOW: Now = Now { mono_ms: 1_000_000, wall_ms: 1_767_225_600_000 };

fn facts(headers: &HeaderMap) -> RequestFacts<'_> {
    RequestFacts {
        method: &Method::GET,
        headers,
        relevant_cookies: false,
        has_query: false,
        any_cookies: false,
    }
}

/// What is judged and kept of a response with this one field.
fn response(name: HeaderName, value: String) -> Work {
    let headers = one(name, &value);
    work(move || {
        let (request, wishes) = (HeaderMap::new(), Wishes::default());
        let at = Exchange { requested: NOW, answered: NOW };
        let kept = samovar_policy::stored_fields(&headers, &wishes);
        let own = samovar_policy::fields_of_one(&headers);
        (samovar_policy::storable(&facts(&request), StatusCode::OK, &headers, &wishes, at, None), kept, own)
    })
}

/// What a condition or a range selects.
fn selected(name: HeaderName, value: String) -> Work {
    let (request, answer) = (one(name, &value), one(ETAG, "\"t\""));
    work(move || {
        let held = samovar_policy::coding_held(&request, &answer, |_| false);
        let wanted = samovar_policy::wanted(&request, &answer, 1 << 20);
        let what = samovar_policy::select(&Method::GET, &request, StatusCode::OK, &answer, 1 << 20);
        (held, wanted, what)
    })
}

/// A head as it comes, in pieces.
fn parsed(head: String, piece: usize) -> Work {
    let limits =
        samovar_hot::Limits { line_max_bytes: 64 << 10, fields_max: 256, ..samovar_hot::Limits::default() };
    let limits = HeadLimits::of(&limits);
    work(move || {
        let (mut scanned, mut end) = (0, 0);
        while end < head.len() {
            end = (end + piece).min(head.len());
            let mut slots = head::slots();
            black_box(head::parse(&head.as_bytes()[..end], &mut scanned, &mut slots, &limits).is_ok());
        }
    })
}

fn request_head(bytes: usize, lines: usize) -> String {
    let value = "v".repeat((bytes / lines).saturating_sub(10));
    let fields: String = (0..lines).map(|at| format!("x-{at}: {value}\r\n")).collect();
    format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n")
}

fn of_heads() -> Vec<Case> {
    let with = |field: &str| format!("GET / HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n");
    vec![
        case("head/whole", |n| parsed(request_head(n, 90), usize::MAX / 2)),
        case("head/in-pieces", |n| parsed(request_head(n, 90), 512)),
        case("head/one-long-field", |n| parsed(request_head(n, 1), 512)),
        case("head/long-line", |n| {
            parsed(format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "p".repeat(n)), 512)
        }),
        case("head/connection", move |n| {
            parsed(with(&format!("Connection: {}", same(n, ",", "a"))), usize::MAX / 2)
        }),
        case("head/cache-control", move |n| {
            parsed(with(&format!("Cache-Control: {}", same(n, ",", "no-cache"))), usize::MAX / 2)
        }),
        case("connection", |n| {
            let headers = one(CONNECTION, &parts(n, ",", |at| format!("x{at}")));
            work(move || samovar_policy::names_too_many(&headers))
        }),
        case("upgrade", |n| {
            let list = parts(n, ",", |at| format!("p{at}"));
            let headers = fields(&[(CONNECTION, "upgrade"), (UPGRADE, &list)]);
            work(move || {
                samovar_policy::upgrade_to_ask_for(&Method::GET, Version::HTTP_11, &headers, false, true)
            })
        }),
        case("proxy-head/fields", |n| {
            // No head is longer than 4 KiB: here it is half of that, and all of it.
            let len = n / 4 - 16;
            let mut head = b"\r\n\r\n\0\r\nQUIT\n\x20\x00".to_vec();
            head.extend(u16::try_from(len).unwrap().to_be_bytes());
            head.extend([4, 0, 0].repeat(len / 3));
            head.resize(16 + len, 0);
            work(move || samovar_hot::proxy::read(&head).is_ok())
        }),
    ]
}

fn of_cookies_and_queries() -> Vec<Case> {
    let cookie = |at: usize| format!("c{at}=1");
    let var = |at: usize| format!("v{at}=1");
    let keep = || QueryKey::Keep(words("a b c d e f g h page_size"));
    vec![
        case("cookies/names", move |n| routed_fields("", one(COOKIE, &parts(n, "; ", cookie)))),
        case("cookies/commas", move |n| routed_fields("", one(COOKIE, &parts(n, ",", cookie)))),
        case("cookies/ignored", |n| {
            let rule = "ignore_cookies = [\"@analytics\", \"a*b*c\"]";
            routed_fields(rule, one(COOKIE, &parts(n, "; ", |at| format!("_g{at}=1"))))
        }),
        case("cookies/in-the-key", |n| {
            let rule = "ignore_cookies = [\"*\"]\nvary_cookies = [\"lang\", \"c\"]";
            routed_fields(rule, one(COOKIE, &same(n, "; ", "c=\\")))
        }),
        case("cookies/compared", move |n| {
            let rule = Rule { ignore_cookies: words("@analytics a*"), ..Rule::default() };
            by_rule(rule, COOKIE, parts(n, "; ", cookie))
        }),
        case("cookies/matter", move |n| {
            let rule = Rule { ignore_cookies: words("@analytics c*"), ..Rule::default() };
            let headers = one(COOKIE, &parts(n, "; ", cookie));
            work(move || samovar_rules::cookies_matter(&rule, &headers))
        }),
        case("query/sorted", move |n| query(QueryKey::Sorted, parts(n, "&", var))),
        case("query/sorted-most", |n| {
            // As many as are told apart, in so many bytes.
            let value = "x".repeat((n / 999).saturating_sub(6));
            query(QueryKey::Sorted, parts(n, "&", |at| format!("{}={value}", 1_500 - at)))
        }),
        case("query/keep", move |n| query(keep(), parts(n, "&", var))),
        case("query/keep-long", move |n| {
            query(keep(), parts(n, "&", |at| format!("{at}[{}", "+%61".repeat(30))))
        }),
        case("query/semicolons", move |n| query(keep(), parts(n, ";", var))),
        case("query/drop", |n| {
            let how = QueryKey::Drop(words("utm_* gclid fbclid a*b*c"));
            query(how, parts(n, "&", |at| format!("utm_{at}=1")))
        }),
        case("query/routed", move |n| {
            let rule = "[[site.rule]]\nfor = \"1h\"\nvary_query = { keep = [\"v1\"] }\n";
            routed(rule, "/x".into(), Some(parts(n, "&", var)), HeaderMap::new())
        }),
        case("rate/query", |n| {
            let (by, text) = (RateBy::Query("api_key".into()), parts(n, "&", |at| format!("a+{at}=1")));
            work(move || by.whom(None, Some(&text), &HeaderMap::new()))
        }),
        case("rate/cookie", |n| {
            let headers = one(COOKIE, &parts(n, ",", |at| format!("%61{at}=1")));
            let by = RateBy::Cookie("key".into());
            work(move || by.whom(None, None, &headers))
        }),
    ]
}

fn of_paths() -> Vec<Case> {
    const GUARDED: &str = "[[site.rule]]\npath = \"/staff/**\"\nallow = [\"10.0.0.0/8\"]\n\
        [[site.rule]]\npath = \"/a/**/b*c?d/**/*.x\"\nnever = true\n";
    let asked = |rules: &'static str, n: usize, part: fn(usize) -> String| {
        routed(rules, format!("/{}", parts(n - 1, "/", part)), None, HeaderMap::new())
    };
    vec![
        case("path/plain", move |n| asked("", n, |at| format!("p{at}"))),
        case("path/escapes", move |n| asked("", n, |_| "%C3%a4%7e".into())),
        case("path/bytes-to-escape", move |n| asked("", n, |_| "\"|".into())),
        case("path/dot-segments", move |n| asked("", n, |at| if at % 2 == 0 { "a" } else { ".." }.into())),
        case("path/guarded", move |n| asked(GUARDED, n, |at| format!("p{at}"))),
        case("path/guarded-slashes", move |n| asked(GUARDED, n, |at| format!("p{at}%2Fy%5Cz"))),
        case("path/guarded-parameters", move |n| asked(GUARDED, n, |at| format!("p{at};x%2Fy"))),
        case("path/guarded-scripts", move |n| asked(GUARDED, n, |at| format!("p{at}.php"))),
        case("path/glob", |n| {
            let glob = PathGlob::new("/**/a*a*a*a?[bc]*/{x,y}*z/**").unwrap();
            let path = format!("/{}", same(n - 1, "/", "aaaaaaaa"));
            work(move || glob.matches(&path))
        }),
        case("path/stars", |n| {
            let stars = Stars::of(&PathGlob::new("/**/a*a*/**/*a*").unwrap()).unwrap();
            let path = format!("/{}", same(n - 1, "/", "aaaa"));
            work(move || stars.in_path(&path))
        }),
        case("path/rewritten", |n| {
            let rule = "[[site.rule]]\npath = \"/a/**\"\nrewrite = \"/x?one={1}&two={path}\"\n";
            routed(rule, format!("/a/{}", "&=".repeat(n / 2)), None, HeaderMap::new())
        }),
    ]
}

fn of_requests() -> Vec<Case> {
    let language = |at: usize| format!("de-a{};q=0.{}", at % 90, at % 10);
    let languages = || Normalise::Languages(words("en de fr"));
    vec![
        case("accept-language/meaning", move |n| by_meaning(ACCEPT_LANGUAGE, parts(n, ",", language))),
        case("accept-charset/meaning", |n| by_meaning(ACCEPT_CHARSET, parts(n, ",", |at| format!("c{at}")))),
        case("user-agent/meaning", |n| by_meaning(USER_AGENT, parts(n, " , ", |at| format!("a{at}")))),
        case("user-agent/blanks", |n| by_meaning(USER_AGENT, format!("a{},b", " ".repeat(n)))),
        case("user-agent/quotes", |n| by_meaning(USER_AGENT, same(n, "", "\"\\\" ,"))),
        case("accept-language/chosen", move |n| {
            chosen(languages(), ACCEPT_LANGUAGE, parts(n, ",", language))
        }),
        case("accept-language/one-long", move |n| chosen(languages(), ACCEPT_LANGUAGE, same(n, "-", "a1"))),
        case("accept-language/64-long", move |n| {
            let tag = same(n / 64, "-", "a1");
            chosen(languages(), ACCEPT_LANGUAGE, same(n, ",", &tag))
        }),
        case("accept-encoding/chosen", |n| {
            chosen(Normalise::Encodings(words("br gzip")), ACCEPT_ENCODING, same(n, ",", "gzip;q=x"))
        }),
        case("accept-encoding/many-codings", |n| {
            let request = one(ACCEPT_ENCODING, &same(n, ",", "x;q=y"));
            let answer = one(CONTENT_ENCODING, &same(n, ",", "gzip"));
            work(move || samovar_rules::takes_as_it_came(&request, &answer))
        }),
        case("key/bytes-to-escape", |n| {
            let mut headers = HeaderMap::new();
            headers.insert(USER_AGENT, HeaderValue::from_bytes(&vec![0xff; n]).unwrap());
            routed_fields("vary_headers = [\"user-agent\"]", headers)
        }),
        case("vary/64-variants", |n| {
            let value = |last: usize| parts(n, ",", |at| format!("l{at}")) + &last.to_string();
            let own = |last: usize| {
                let headers = one(ACCEPT_LANGUAGE, &value(last));
                samovar_policy::vary_values(
                    &[ACCEPT_LANGUAGE],
                    &headers,
                    &samovar_rules::normalise_by_meaning,
                )
            };
            let stored: Vec<_> = (10..74).map(own).collect();
            let request = one(ACCEPT_LANGUAGE, &value(99));
            work(move || {
                let compared = Compared::new(&request, &samovar_rules::normalise_by_meaning);
                assert!(!stored.iter().any(|values| compared.matches(values)));
            })
        }),
        case("cache-control/asked", |n| {
            let request = one(CACHE_CONTROL, &parts(n, ",", |at| format!("max-stale={at}")));
            work(move || samovar_policy::only_if_cached(&facts(&request)))
        }),
        case("if-none-match", |n| selected(IF_NONE_MATCH, parts(n, ",", |at| format!("\"{at}\"")))),
        case("if-none-match/open-quotes", |n| selected(IF_NONE_MATCH, same(n, ",", "\\\"\\"))),
        case("if-none-match/ours", |n| {
            let request = one(IF_NONE_MATCH, &parts(n, ",", |at| format!("W/\"{at}--gzip\"")));
            work(move || samovar_policy::plain_tags(&mut request.clone()))
        }),
        case("if-match", |n| selected(IF_MATCH, parts(n, ",", |at| format!("\"{at}\"")))),
        case("range", |n| selected(RANGE, format!("bytes={}", parts(n, ",", |at| format!("{at}-{at}"))))),
        case("range/blanks", |n| selected(RANGE, format!("bytes={}0-1", " ,".repeat(n / 2)))),
        case("authorization", |n| {
            let request = one(AUTHORIZATION, &format!("Basic {}", "YTph".repeat(n / 4)));
            work(move || request.get(AUTHORIZATION).and_then(samovar_rules::Credentials::of))
        }),
    ]
}

fn of_responses() -> Vec<Case> {
    const CDN: HeaderName = HeaderName::from_static("cdn-cache-control");
    const SURROGATE: HeaderName = HeaderName::from_static("surrogate-control");
    const GROUPS: HeaderName = HeaderName::from_static("cache-groups");
    let name = |at: usize| format!("x{at}");
    vec![
        case("cache-control", |n| response(CACHE_CONTROL, parts(n, ",", |at| format!("max-age={at}")))),
        case("cache-control/private", move |n| {
            response(CACHE_CONTROL, format!("private=\"{}\"", parts(n, ",", name)))
        }),
        case("cache-control/private-often", |n| {
            response(CACHE_CONTROL, parts(n, ",", |at| format!("no-cache=\"x{at}\"")))
        }),
        case("cache-control/transform", move |n| {
            let headers = one(CACHE_CONTROL, &parts(n, ",", name));
            work(move || samovar_policy::forbids_transform(&headers))
        }),
        case("cdn-cache-control", move |n| response(CDN, parts(n, ",", name))),
        case("cdn-cache-control/known", |n| response(CDN, parts(n, ",", |at| format!("max-age={at}")))),
        case("cdn-cache-control/deep", |n| response(CDN, same(n, ",", "a=(1;a;b 2)"))),
        case("surrogate-control", |n| {
            response(SURROGATE, parts(n, ",", |at| format!("max-age={at}+1;samovar")))
        }),
        case("vary", move |n| response(VARY, parts(n, ",", name))),
        case("cache-groups", |n| {
            let headers = one(GROUPS, &parts(n, ", ", |at| format!("\"g{at}\"")));
            work(move || samovar_policy::groups(&headers))
        }),
        case("location/dots", |n| {
            let base = Uri::from_static("http://a.example/x/");
            let headers = one(LOCATION, &same(n, "/", "a/.."));
            work(move || samovar_policy::invalidated(&base, &headers))
        }),
        case("location/mapped", |n| {
            let names = OriginNames { authorities: words("app:8080 b c"), base_path: "/base".into() };
            let value = format!("http://app:8080/base/{}", "x".repeat(n));
            let asked = AskedBy { scheme: "http", host: "a.example" };
            work(move || samovar_rules::map_location(&value, &names, asked))
        }),
        case("set-cookie/mapped", |n| {
            let value = parts(n, ";", |at| format!("path=/in/{at}"));
            let pairs = vec![("/in".to_owned(), "/".to_owned())];
            work(move || samovar_rules::map_cookie(&value, &pairs, &pairs))
        }),
        case("chunks/of-one-byte", |n| {
            let body = "1\r\nx\r\n".repeat(n / 6) + "0\r\n\r\n";
            work(move || {
                let mut chunked = samovar_policy::Chunked::of_answer();
                let mut rest = body.as_bytes();
                while !chunked.is_done() {
                    rest = &rest[chunked.advance(rest).unwrap()..];
                }
            })
        }),
    ]
}

fn of_records() -> Vec<Case> {
    let cookies = |n: usize| parts(n, "; ", |at| format!("c{at}=1"));
    vec![
        case("redact/cookie", move |n| {
            let value = cookies(n);
            work(move || samovar_trace::redact("cookie", &value).len())
        }),
        case("redact/set-cookie", move |n| {
            let value = cookies(n);
            work(move || samovar_trace::redact("set-cookie", &value).len())
        }),
        case("redact/url", |n| {
            let value = format!("http://a@b/?{}", parts(n, "&", |at| format!("%74oken{at}=1")));
            work(move || samovar_trace::redact_url(&value))
        }),
        case("redact/key", |n| {
            let lines = parts(n, "\n", |at| format!("x-{at}: http://a?token=1"));
            let key = format!("http://a/?x=1\n{lines}");
            work(move || samovar_trace::redact_key(&key))
        }),
    ]
}
