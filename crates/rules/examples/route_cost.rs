//! What routing costs, ns per call: `cargo run --release -p samovar-rules --example route_cost`.
//!
//! A measurement, not a test: it runs once per engine request, and its bar is 1,500 ns.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a measurement reads the clock and prints what it saw"
)]

use http::header::{ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, COOKIE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use samovar_rules::*;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const ROUNDS: u32 = 500;
const CALLS: u32 = 1_000;

fn main() {
    let browser = headers(&[
        (HOST, "gallery.example"),
        (USER_AGENT, "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"),
        (ACCEPT, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
        (ACCEPT_LANGUAGE, "de-AT,de;q=0.8,en-US;q=0.5,en;q=0.3"),
        (ACCEPT_ENCODING, "gzip, deflate, br, zstd"),
        (COOKIE, "_ga=GA1.2.1234567890.1700000000; _gid=GA1.2.987654321.1700000000; _gat=1; lang=de"),
    ]);
    let plain = headers(&[(HOST, "gallery.example"), (USER_AGENT, "thirst")]);
    let (bare, ten, hundred) = (sites(0), sites(10), sites(100));
    for (name, sites, path, query, headers) in [
        ("no rule, plain request", &bare, "/img/0001.jpg", None, &plain),
        ("10 rules, the last matches, plain", &ten, "/img/0001.jpg", None, &plain),
        ("10 rules, browser, language in the key", &ten, "/img/0001.jpg", None, &browser),
        (
            "… and a query of five variables",
            &ten,
            "/img/0001.jpg",
            Some("b=2&utm_source=x&a=1&d=4&c=3"),
            &browser,
        ),
        ("… and a path to be spelled anew", &ten, "/x/../img/%7Euser/./0001.jpg", Some("b=2&a=1"), &browser),
        ("100 rules, browser", &hundred, "/img/0001.jpg", None, &browser),
    ] {
        let parts = RequestParts {
            method: &Method::GET,
            scheme: "http",
            host: "gallery.example",
            listener_port: 80,
            path,
            query,
            headers,
        };
        println!("{:7.0} ns  {name}", best_ns(sites, &parts));
    }
}

/// The best of many short rounds: what disturbs a round only adds.
fn best_ns(sites: &Sites, parts: &RequestParts<'_>) -> f64 {
    let round = || {
        let began = Instant::now();
        for _ in 0..CALLS {
            let _ = black_box(route(black_box(sites), black_box(parts)));
        }
        began.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn headers(lines: &[(HeaderName, &'static str)]) -> HeaderMap {
    lines.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
}

/// A site with so many rules, of which only the last matches pictures.
fn sites(rules: usize) -> Sites {
    let mut all: Vec<Rule> = (1..rules)
        .map(|at| {
            let text = match at % 4 {
                0 => format!("/admin{at}/**"),
                1 => format!("*.type{at}"),
                2 => format!("/app{at}/*/edit"),
                _ => format!("/page{at}.html"),
            };
            Rule { id: format!("r{at}").into(), path: PathGlob::new(&text).ok(), ..Rule::default() }
        })
        .collect();
    if rules > 0 {
        all.push(Rule {
            id: "pictures".into(),
            extensions: vec![".png".into(), ".jpg".into()],
            vary_headers: vec![VaryHeader {
                name: ACCEPT_LANGUAGE,
                normalise: Normalise::Languages(vec!["en".into(), "de".into(), "es".into()]),
            }],
            vary_query: QueryKey::Drop(vec!["utm_*".into()]),
            ignore_cookies: vec!["@analytics".into(), "lang".into()],
            ..Rule::default()
        });
    }
    let site = |name: &str, host: &str, rules: Vec<Rule>| Site {
        name: name.into(),
        hosts: vec![host.into()],
        ports: vec![],
        default: false,
        canonical_host: String::new(),
        handlers: vec![(".php".into(), TargetId(1))],
        fallback: TargetId(0),
        index: vec![],
        rules,
        otherwise: Arc::default(),
        cache_status: true,
        guards: Default::default(),
    };
    Sites {
        sites: vec![
            site("maps", "maps.example", vec![]),
            site("wide", "*.wide.example", vec![]),
            site("gallery", "gallery.example", all),
        ],
    }
}
