//! The map by tables: who gets an answer, bounds, sweep.

use super::{CookieWish, Grant, HotMap, MapBounds, VaryValue};
use crate::Limits;
use crate::head::{HeadLimits, parse, slots};
use crate::prepared::{Lifetime, Prepared};
use crate::share::Share;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, StatusCode};
use samovar_reason::Hot;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

fn prepared(key: &str, fresh_until_ms: u64) -> Arc<Prepared> {
    let life = Lifetime { state: Arc::new(AtomicU8::new(0)), epoch: 7, age_base_ms: 0, fresh_until_ms };
    Arc::new(
        Prepared::new(StatusCode::OK, &HeaderMap::new(), vec![], life, None, key.into(), Arc::new(()))
            .unwrap(),
    )
}

fn grant(target: &str, key: &str) -> Grant {
    Grant {
        listener: 1,
        host: Bytes::from_static(b"a"),
        target: Bytes::copy_from_slice(target.as_bytes()),
        vary: Vec::new(),
        cookies: CookieWish::RefuseAny,
        ignore_cache_control: false,
        heads: true,
        claims: None,
        prepared: prepared(key, 1_000),
    }
}

fn map_of(grants: impl IntoIterator<Item = Grant>) -> HotMap {
    let mut map = HotMap::new(MapBounds::default());
    for grant in grants {
        map.insert(grant, 0).unwrap();
    }
    map
}

/// The key of the answer to a request, or the refusal.
fn ask_at(map: &HotMap, request: &str, listener: u32, now_ms: u64, epoch: u64) -> Result<String, Hot> {
    let mut room = slots();
    let limits = HeadLimits::of(&Limits::default());
    let head = parse(request.as_bytes(), &mut 0, &mut room, &limits).unwrap().unwrap();
    let prepared = map.look(listener, &head, now_ms, epoch)?;
    Share::of(prepared, &head).map(|_| prepared.key().to_string())
}

fn ask(map: &HotMap, line: &str, fields: &str) -> Result<String, Hot> {
    ask_at(map, &format!("{line} HTTP/1.1\r\nHost: a\r\n{fields}\r\n"), 1, 0, 7)
}

/// Where claims of the peer are believed, a request that makes one more has another answer; else the engine drops them.
#[test]
fn claims_of_a_trusted_peer_are_told_apart() {
    let vary = vec![VaryValue {
        name: HeaderName::from_static("x-original-url"),
        value: Some(Bytes::from_static(b"/a")),
    }];
    let trusted = map_of([
        Grant { claims: Some(0), ..grant("/x", "plain") },
        Grant { claims: Some(1), vary, ..grant("/x", "a") },
    ]);
    for (fields, want) in [
        ("", Ok("plain".to_owned())),
        ("X-Original-URL: /a\r\n", Ok("a".to_owned())),
        ("X-Original-URL: /b\r\n", Err(Hot::UnknownVariant)),
        ("X-Original-URL: /a\r\nX-Scheme: https\r\n", Err(Hot::UnknownVariant)),
        ("True-Client-IP: 192.0.2.1\r\nX_Original_URL: /b\r\n", Ok("plain".to_owned())),
    ] {
        assert_eq!(ask(&trusted, "GET /x", fields), want, "{fields}");
    }
    assert_eq!(ask(&map_of([grant("/x", "x")]), "GET /x", "X-Original-URL: /b\r\n"), Ok("x".into()));
}

#[test]
fn each_refusal_has_its_reason() {
    let map = map_of([Grant { heads: false, ..grant("/x", "x") }]);
    assert_eq!(ask(&map, "GET /x", ""), Ok("x".into()));
    assert_eq!(ask(&map_of([grant("/x", "x")]), "HEAD /x", ""), Ok("x".into()));
    assert_eq!(ask(&map, "GET /x", "Connection: Keep-Alive\r\nContent-Length: 0\r\n"), Ok("x".into()));
    let rows = [
        ("HEAD /x", "", Hot::MethodNotHot),
        ("OPTIONS /x", "", Hot::MethodNotHot),
        ("get /x", "", Hot::MethodNotHot),
        ("GET /x", "Connection: keep-alive, x\r\n", Hot::ConnectionOptions),
        ("GET /x", "Connection: close, \u{e9}\r\n", Hot::ConnectionOptions),
        ("GET /x", "Connection: x\r\nConnection: close\r\n", Hot::ConnectionOptions),
        ("GET /x", "Connection: Upgrade\r\n", Hot::HasUpgrade),
        ("GET /x", "Upgrade: h2c\r\n", Hot::HasUpgrade),
        ("GET /x", "Content-Length: 1\r\n", Hot::HasBody),
        ("GET /x", "Transfer-Encoding: chunked\r\n", Hot::HasBody),
        ("GET /x", "Expect: 100-continue\r\n", Hot::HasExpect),
        ("GET /x", "X-HTTP-Method-Override: HEAD\r\n", Hot::HasMethodOverride),
        ("GET /x", "x_method_override: HEAD\r\n", Hot::HasMethodOverride),
        ("HEAD /x", "X-HTTP-Method: GET\r\n", Hot::HasMethodOverride),
        ("GET /x", "Authorization: x\r\n", Hot::HasAuthorization),
        ("GET /x", "Proxy-Authorization: x\r\n", Hot::HasAuthorization),
        ("GET /x", "Range: bytes=0-1\r\n", Hot::HasRange),
        ("GET /x", "If-None-Match: x\r\n", Hot::HasCondition),
        ("GET /x", "If-None-Match: \"x\"\r\nIf-None-Match: \"y\"\r\n", Hot::HasCondition),
        ("GET /x", "Range: bytes=0-\r\nRange: bytes=0-\r\n", Hot::HasCondition),
        ("GET /x", "If-Match: x\r\n", Hot::HasCondition),
        ("GET /x", "If-Range: x\r\n", Hot::HasCondition),
        ("GET /x", "If-Modified-Since: x\r\n", Hot::HasCondition),
        ("GET /x", "If-Unmodified-Since: x\r\n", Hot::HasCondition),
        ("GET /x", "Cache-Control: no-cache\r\n", Hot::HasCacheControl),
        ("GET /x", "Pragma: no-cache\r\n", Hot::HasCacheControl),
        ("GET /x", "Cookie: a=b\r\n", Hot::HasCookie),
        ("GET http://a/x", "", Hot::TargetForm),
        ("GET /y", "", Hot::UnknownTarget),
        ("GET /xx", "", Hot::UnknownTarget),
        ("GET /", "", Hot::UnknownTarget),
    ];
    for (line, fields, why) in rows {
        assert_eq!(ask(&map, line, fields), Err(why), "{line} {fields}");
    }
    let many = "X: y\r\n".repeat(64);
    assert_eq!(ask(&map, "GET /x", &many), Err(Hot::TooManyFields));
    for fields in ["close", "Keep-Alive, Close", "", ",", "keep-alive\r\nConnection: close"] {
        assert_eq!(ask(&map, "GET /x", &format!("Connection: {fields}\r\n")), Ok("x".into()), "{fields}");
    }
    assert_eq!(ask_at(&map, "GET /x HTTP/1.0\r\nHost: a\r\n\r\n", 1, 0, 7), Ok("x".into()));
    // A request without a host is not one with an empty host, which the engine refuses.
    assert_eq!(ask_at(&map, "GET /x HTTP/1.0\r\n\r\n", 1, 0, 7), Err(Hot::UnknownTarget));
    let hostless = map_of([Grant { host: Bytes::new(), ..grant("/x", "x") }]);
    assert_eq!(ask_at(&hostless, "GET /x HTTP/1.0\r\n\r\n", 1, 0, 7), Ok("x".into()));
    assert_eq!(ask_at(&hostless, "GET /x HTTP/1.1\r\nHost:\r\n\r\n", 1, 0, 7), Err(Hot::UnknownTarget));
    assert_eq!(ask_at(&hostless, "GET /x HTTP/1.0\r\nHost: a\r\n\r\n", 1, 0, 7), Err(Hot::UnknownTarget));
    let get = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(ask_at(&map, get, 2, 0, 7), Err(Hot::UnknownTarget), "another listener");
    assert_eq!(ask_at(&map, get, 1, 1_000, 7), Err(Hot::Expired));
    assert_eq!(ask_at(&map, get, 1, 0, 8), Err(Hot::OldEpoch));
    // The boundary between host and target is part of the key.
    assert_eq!(ask_at(&map, "GET x HTTP/1.1\r\nHost: a/\r\n\r\n", 1, 0, 7), Err(Hot::TargetForm));
    let shifted = map_of([Grant {
        host: Bytes::from_static(b"a/"),
        target: Bytes::from_static(b"/x"),
        ..grant("", "k")
    }]);
    assert_eq!(ask_at(&shifted, "GET //x HTTP/1.1\r\nHost: a\r\n\r\n", 1, 0, 7), Err(Hot::UnknownTarget));
}

#[test]
fn a_reload_is_ignored_only_where_granted_and_only_if_it_is_nothing_else() {
    let map = map_of([Grant { ignore_cache_control: true, ..grant("/x", "x") }]);
    for fields in [
        "Cache-Control: no-cache\r\n",
        "Cache-Control: max-age=0\r\nPragma: no-cache\r\n",
        "cache-control: No-Cache, max-age=0\r\n",
    ] {
        assert_eq!(ask(&map, "GET /x", fields), Ok("x".into()), "{fields}");
    }
    for fields in ["no-store", "max-age=10", "only-if-cached", "no-cache, min-fresh=1", "max-stale"] {
        let fields = format!("Cache-Control: {fields}\r\n");
        assert_eq!(ask(&map, "GET /x", &fields), Err(Hot::HasCacheControl), "{fields}");
    }
}

#[test]
fn cookies_by_wish() {
    let only_a = |value: &[u8]| value.starts_with(b"a=");
    for (wish, irrelevant, relevant) in [
        (CookieWish::RefuseAny, Err(Hot::HasCookie), Err(Hot::HasCookie)),
        (CookieWish::IgnoreAll, Ok("x".to_owned()), Ok("x".to_owned())),
        (CookieWish::Matcher(Arc::new(only_a)), Ok("x".to_owned()), Err(Hot::HasCookie)),
    ] {
        let map = map_of([Grant { cookies: wish, ..grant("/x", "x") }]);
        assert_eq!(ask(&map, "GET /x", "Cookie: a=1\r\n"), irrelevant);
        assert_eq!(ask(&map, "GET /x", "Cookie: b=1\r\n"), relevant);
        let two = ask(&map, "GET /x", "Cookie: b=1\r\nCookie: a=1\r\n");
        assert_eq!(two, relevant, "the last line must not hide the first");
    }
}

#[test]
fn variants_by_raw_values() {
    let lang = |value: Option<&'static str>, key: &str| Grant {
        vary: vec![VaryValue {
            name: HeaderName::from_static("accept-language"),
            value: value.map(|v| Bytes::from_static(v.as_bytes())),
        }],
        ..grant("/x", key)
    };
    let mut map = map_of([lang(Some("de"), "german"), lang(None, "none")]);
    assert_eq!(ask(&map, "GET /x", "Accept-Language: de\r\n"), Ok("german".into()));
    assert_eq!(ask(&map, "GET /x", ""), Ok("none".into()));
    assert_eq!(ask(&map, "GET /x", "Accept-Language: DE\r\n"), Err(Hot::UnknownVariant));
    let twice = "Accept-Language: de\r\nAccept-Language: de\r\n";
    assert_eq!(ask(&map, "GET /x", twice), Err(Hot::UnknownVariant));
    // A second grant for the same values replaces the first.
    map.insert(lang(Some("de"), "newer"), 0).unwrap();
    assert_eq!(ask(&map, "GET /x", "Accept-Language: de\r\n"), Ok("newer".into()));
    assert_eq!(map.entries(), 2);
    // The 17th variant replaces the one asked for least recently.
    ask_at(&map, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n", 1, 5, 7).unwrap();
    for i in 0..15 {
        let name: &'static str = Box::leak(format!("l{i}").into_boxed_str());
        map.insert(lang(Some(name), name), 6).unwrap();
    }
    assert_eq!(map.entries(), 16);
    assert_eq!(ask(&map, "GET /x", "Accept-Language: de\r\n"), Err(Hot::UnknownVariant));
    assert_eq!(ask(&map, "GET /x", ""), Ok("none".into()));
}

#[test]
fn the_values_of_a_request() {
    let name = HeaderName::from_static("accept");
    let mut headers = HeaderMap::new();
    let of = |headers: &HeaderMap| VaryValue::of([&name], headers);
    assert_eq!(of(&headers).unwrap()[0].value, None);
    headers.append("accept", "x".parse().unwrap());
    assert_eq!(of(&headers).unwrap()[0].value.as_deref(), Some(&b"x"[..]));
    headers.append("accept", "y".parse().unwrap());
    assert_eq!(of(&headers), None);
}

#[test]
fn bounds_in_entries_and_bytes() {
    let mut map = HotMap::new(MapBounds { entries_max: 10, ..MapBounds::default() });
    for i in 0..100 {
        map.insert(grant(&format!("/{i}"), "k"), i).unwrap();
        assert!(map.entries() <= 10);
        assert_eq!(ask(&map, &format!("GET /{i}"), ""), Ok("k".into()), "the newest stays");
    }
    let one = map.bytes() / 10;
    let mut map = HotMap::new(MapBounds { bytes_max: one * 5, ..MapBounds::default() });
    for i in 0..100 {
        map.insert(grant(&format!("/{i}"), "k"), i).unwrap();
        assert!(map.bytes() <= one * 5);
    }
    assert!(map.entries() >= 4);
    // Lowered, they hold with the next rounds of upkeep.
    map.set_bounds(MapBounds { entries_max: 2, ..MapBounds::default() });
    map.sweep(100, 7, 1);
    map.sweep(100, 7, 100);
    assert_eq!(map.entries(), 2);
    map.set_bounds(MapBounds { entries_max: 0, ..MapBounds::default() });
    map.sweep(100, 7, 100);
    assert_eq!((map.entries(), map.bytes()), (0, 0));
    // And where there were many, the few that stay lie together again: what follows does not pass over empty places.
    let mut map = HotMap::new(MapBounds::default());
    for i in 0..5_000 {
        map.insert(grant(&format!("/{i}"), "k"), i % 900).unwrap();
    }
    map.set_bounds(MapBounds { entries_max: 100, ..MapBounds::default() });
    map.insert(grant("/new", "k"), 900).unwrap();
    assert!((4_000..5_000).contains(&map.entries()), "not all at once: {}", map.entries());
    for _ in 0..30 {
        map.sweep(900, 7, 256);
    }
    assert_eq!((map.entries(), map.slots.len() < 2_000), (100, true), "{}", map.slots.len());
    let mut alive: Vec<String> =
        map.list().map(|listed| String::from_utf8_lossy(listed.target).into_owned()).collect();
    for target in &alive {
        assert_eq!(ask(&map, &format!("GET {target}"), ""), Ok("k".into()));
    }
    alive.dedup();
    assert_eq!(alive.len(), 100);
    let mut map = HotMap::new(MapBounds { bytes_max: 10, ..MapBounds::default() });
    assert_eq!(map.insert(grant("/", "k"), 0), Err(Hot::TooLarge));
    assert_eq!((map.entries(), map.bytes()), (0, 0));
}

#[test]
fn the_sweep_drops_what_is_dead_stale_old_or_idle() {
    let dead = grant("/dead", "k");
    let state = Arc::clone(&dead.prepared.life().state);
    let fresh = Grant { prepared: prepared("k", u64::MAX), ..grant("/fresh", "k") };
    let mut map = map_of([dead, grant("/stale", "k"), fresh.clone()]);
    state.cell().store(1, Ordering::Release);
    map.sweep(999, 7, 100);
    assert_eq!(map.entries(), 2);
    map.sweep(1_000, 7, 100);
    assert_eq!(map.entries(), 1);
    ask_at(&map, "GET /fresh HTTP/1.1\r\nHost: a\r\n\r\n", 1, 50_000, 7).unwrap();
    map.sweep(169_999, 7, 100);
    assert_eq!(map.entries(), 1);
    map.sweep(170_000, 7, 100);
    assert_eq!((map.entries(), map.bytes()), (0, 0), "idle for 120 s");
    map.insert(fresh, 0).unwrap();
    map.sweep(1, 8, 100);
    assert_eq!((map.entries(), map.bytes()), (0, 0), "another epoch");
    assert_eq!(map.insert(Grant { prepared: prepared("k", 5), ..grant("/x", "k") }, 5), Err(Hot::Expired));
}

#[test]
fn listing_tells_host_from_target() {
    let map = map_of([grant("/x", "k")]);
    let all: Vec<_> = map.list().map(|l| (l.host.to_vec(), l.target.to_vec())).collect();
    assert_eq!(all, [(b"a".to_vec(), b"/x".to_vec())]);
}
