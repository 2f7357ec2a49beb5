//! The field parsers a second time, naively, from the RFCs: slow, by splitting and counting, and sharing nothing with the
//! ones they judge. Each `judge_…` panics where the two disagree. Used by `differential.rs` and by the fuzz target `fields`.
//!
//! Where the RFCs leave a choice, the naive parser says in a comment which conservative one is meant.

pub mod cache_control;
pub mod dates;
pub mod dictionary;
pub mod small;

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use samovar_policy::{
    Exchange, Now, OddAge, RequestFacts, Selected, StoreDecision, VaryFields, Wishes, storable,
};
use samovar_reason::Store;

/// 2026-11-21 00:00:00 GMT.
pub const NOW_S: i64 = 1_795_219_200;

/// Fields of one name; `None` if a line cannot be a field value at all.
fn headers(fields: &[(&str, &[Vec<u8>])]) -> Option<HeaderMap> {
    let mut map = HeaderMap::new();
    for (name, lines) in fields {
        for line in *lines {
            map.append(HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_bytes(line).ok()?);
        }
    }
    Some(map)
}

fn stored(headers: &HeaderMap) -> StoreDecision {
    let moment = Now { mono_ms: 5_000, wall_ms: NOW_S as u64 * 1000 };
    let at = Exchange { requested: moment, answered: moment };
    let none = HeaderMap::new();
    let request = RequestFacts {
        method: &Method::GET,
        headers: &none,
        relevant_cookies: false,
        has_query: false,
        any_cookies: false,
    };
    let wishes = Wishes { max_bytes: u64::MAX, odd_age: OddAge::Stale, ..Wishes::default() };
    storable(&request, StatusCode::OK, headers, &wishes, at, None)
}

fn show(lines: &[Vec<u8>]) -> Vec<String> {
    lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}

/// `Cache-Control` of an answer, beside a tag, so that only its words decide.
pub fn judge_cache_control(lines: &[Vec<u8>]) {
    let tag = [b"\"t\"".to_vec()];
    let Some(map) = headers(&[("cache-control", lines), ("etag", &tag)]) else { return };
    agree(&stored(&map), &cache_control::read(lines), &show(lines));
}

/// `CDN-Cache-Control`, with `Cache-Control: no-store` beside it: a void targeted field leaves that standing.
pub fn judge_targeted(lines: &[Vec<u8>]) {
    let (tag, general) = ([b"\"t\"".to_vec()], [b"no-store".to_vec()]);
    let fields = [("cdn-cache-control", lines), ("etag", &tag[..]), ("cache-control", &general[..])];
    let Some(map) = headers(&fields) else { return };
    let joined = lines.join(&b", "[..]);
    let expected = match dictionary::read(&joined) {
        Some(members) if !members.is_empty() => cache_control::of_dictionary(&members),
        _ => cache_control::read(&[b"no-store".to_vec()]),
    };
    agree(&stored(&map), &expected, &show(lines));
}

fn agree(got: &StoreDecision, expected: &cache_control::Said, lines: &[String]) {
    let reason = match expected {
        said if said.no_store => Some(Store::NoStore),
        said if said.private => Some(Store::Private),
        _ => None,
    };
    match (reason, got.freshness) {
        (Some(reason), freshness) => {
            assert_eq!((got.reason, freshness.is_none()), (reason, true), "{lines:?}: {expected:?}");
        }
        (None, None) => panic!("{lines:?}: refused as {}, expected {expected:?}", got.reason),
        (None, Some(f)) => {
            let said = (f.lifetime_ms, f.always_revalidate, f.must_revalidate);
            let want = (expected.lifetime_s.unwrap_or(0) * 1000, expected.no_cache, expected.must_revalidate);
            assert_eq!(said, want, "{lines:?}: {expected:?}");
            let stale = (f.stale_while_revalidate_ms, f.stale_if_error_ms);
            let silent = expected.no_cache || expected.must_revalidate;
            let of = |seconds: Option<u64>| if silent { 0 } else { seconds.unwrap_or(0) * 1000 };
            let want = (of(expected.while_revalidate_s), of(expected.if_error_s));
            assert_eq!(stale, want, "{lines:?}: {expected:?}");
        }
    }
}

/// A date in one of three forms.
pub fn judge_date(text: &[u8]) {
    let got = samovar_policy::parse_http_date(text, NOW_S);
    assert_eq!(got, dates::read(text, NOW_S), "{:?}", String::from_utf8_lossy(text));
}

/// `Expires` beside a `Date`.
pub fn judge_expires(lines: &[Vec<u8>]) {
    let (tag, date) = ([b"\"t\"".to_vec()], [b"Sat, 21 Nov 2026 00:00:00 GMT".to_vec()]);
    let Some(map) = headers(&[("expires", lines), ("etag", &tag), ("date", &date)]) else { return };
    let got = stored(&map).freshness.map(|f| f.lifetime_ms);
    assert_eq!(got, Some(dates::expires_s(lines, NOW_S) * 1000), "{:?}", show(lines));
}

/// `Age` of an answer that lives 100,000 s.
pub fn judge_age(lines: &[Vec<u8>]) {
    let (tag, control) = ([b"\"t\"".to_vec()], [b"max-age=100000".to_vec()]);
    let Some(map) = headers(&[("age", lines), ("etag", &tag), ("cache-control", &control)]) else { return };
    let got = stored(&map).freshness.map(|f| f.initial_age_ms / 1000);
    assert_eq!(got, Some(small::age_s(lines)), "{:?}", show(lines));
}

/// `Vary`.
pub fn judge_vary(lines: &[Vec<u8>]) {
    let Some(map) = headers(&[("vary", lines)]) else { return };
    let got = match samovar_policy::vary_fields(&map) {
        VaryFields::None => Some(Vec::new()),
        VaryFields::Star | VaryFields::TooMany => None,
        VaryFields::Fields(names) => Some(names.iter().map(|name| name.as_str().to_owned()).collect()),
    };
    assert_eq!(got, small::vary(lines), "{:?}", show(lines));
}

/// `If-None-Match` against an answer with this tag.
pub fn judge_none_match(lines: &[Vec<u8>], own: &[u8]) {
    let Some(request) = headers(&[("if-none-match", lines)]) else { return };
    let Some(answer) = headers(&[("etag", &[own.to_vec()])]) else { return };
    let got = samovar_policy::select(&Method::GET, &request, StatusCode::OK, &answer, 10);
    let want = if small::none_matches(lines, own) { Selected::NotModified } else { Selected::Whole };
    assert_eq!(got, want, "{:?} against {:?}", show(lines), String::from_utf8_lossy(own));
}

/// `Range` of a body of `total` bytes.
pub fn judge_range(line: &[u8], total: u64) {
    let Some(request) = headers(&[("range", &[line.to_vec()])]) else { return };
    let got = samovar_policy::select(&Method::GET, &request, StatusCode::OK, &HeaderMap::new(), total);
    let got: Option<Vec<Vec<u64>>> = match got {
        Selected::Whole => None,
        Selected::Unsatisfiable => Some(Vec::new()),
        Selected::Range { start, end } => Some(vec![(start..end).collect()]),
        Selected::Ranges(list) => Some(list.into_iter().map(|(start, end)| (start..end).collect()).collect()),
        other => panic!("{other:?}"),
    };
    assert_eq!(got, small::range(line, total), "{:?} of {total}", String::from_utf8_lossy(line));
}

/// `Cache-Groups`.
pub fn judge_groups(lines: &[Vec<u8>]) {
    let Some(map) = headers(&[("cache-groups", lines)]) else { return };
    let got = samovar_policy::groups(&map);
    assert_eq!(got, dictionary::strings(&lines.join(&b", "[..])), "{:?}", show(lines));
}

/// A fuzzer's bytes: the first chooses the field, the others are its lines, ended by line feeds.
pub fn judge_bytes(data: &[u8]) {
    let Some((choice, rest)) = data.split_first() else { return };
    let lines: Vec<Vec<u8>> = rest.split(|b| *b == b'\n').take(4).map(<[u8]>::to_vec).collect();
    match choice % 9 {
        0 => judge_cache_control(&lines),
        1 => judge_targeted(&lines),
        2 => judge_groups(&lines),
        3 => judge_date(rest),
        4 => judge_expires(&lines),
        5 => judge_age(&lines),
        6 => judge_vary(&lines),
        7 => judge_none_match(&lines, b"\"a\""),
        _ => judge_range(rest, u64::from(choice / 9)),
    }
}
