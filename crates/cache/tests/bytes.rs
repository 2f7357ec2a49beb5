//! What the cache says it takes against what it asks the allocator for, counted byte by byte.
//!
//! A binary of its own: the allocator counts all that the process takes.

#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "an allocator is unsafe by its signature; this one adds up and asks the system's. A test may stop at its \
              first surprise"
)]

mod common;

use bytes::Bytes;
use common::*;
use http::{HeaderMap, HeaderName, HeaderValue};
use samovar_cache::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

static TAKEN_BYTES: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator as it came; only a number is kept beside.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TAKEN_BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        TAKEN_BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Fields as a server of tiles sends them.
fn tile_fields() -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("content-type", "image/png"),
        ("content-length", "15360"),
        ("last-modified", "Tue, 04 Mar 2025 10:22:31 GMT"),
        ("etag", "\"3c00-62f8e5d1c8b40\""),
        ("date", "Sat, 21 Nov 2026 13:00:00 GMT"),
        ("cache-control", "public, max-age=86400"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers
}

/// One kind of answers, by their number.
struct Shape {
    name: &'static str,
    body_bytes: usize,
    fields: HeaderMap,
    vary: bool,
    tags: fn(u32) -> Vec<Box<str>>,
    parts: bool,
    rule: Arc<str>,
    /// How much more may be accounted than is taken, in percent: tables that have just grown are counted for all.
    slack_percent: u64,
    /// The most that is accounted beside the bytes of the body.
    most_bytes: u64,
}

fn put(cache: &Arc<Cache>, shape: &Shape, number: u32) {
    let key =
        format!("http://maps.example/tiles/{:02}/{:05}/{:05}.png?style=a", number % 20, number / 512, number);
    let mut head = head(vec![], &[]);
    head.headers = shape.fields.clone();
    // What names one representation is each one's own.
    if let Some(tag) = head.headers.get_mut(http::header::ETAG) {
        *tag = HeaderValue::try_from(format!("\"3c00-62f8e{number:08x}\"")).unwrap();
    }
    if shape.vary {
        head.vary = vec![
            (http::header::ACCEPT_ENCODING, Some(HeaderValue::from_static("gzip, br"))),
            (http::header::ACCEPT_LANGUAGE, None),
        ];
    }
    head.tags = (shape.tags)(number);
    // One for all, as a configuration has it.
    head.rule = Arc::clone(&shape.rule);
    let fetch = || match ask(cache, &key) {
        Step::Fetch(ticket, ..) => ticket,
        other => panic!("{other:?}"),
    };
    let body = vec![number as u8; shape.body_bytes];
    if shape.parts {
        for start in [0_u64, 4 * shape.body_bytes as u64] {
            let step = asked(
                &key,
                1_000,
                &|_| samovar_policy::ReuseDecision { verdict: samovar_policy::Verdict::Complete, ..SERVE },
                |ask| cache.begin(ask),
            );
            let mut sink = ticket(step).store(head.clone(), None, u64::MAX, 0);
            sink.push(Bytes::from(body.clone()));
            sink.finish_part(1 << 20, start, 0).unwrap();
        }
        return;
    }
    let mut sink = fetch().store(head, Some(body.len() as u64), u64::MAX, 0);
    // As it comes from a socket: in pieces.
    let mut body = Bytes::from(body);
    while !body.is_empty() {
        sink.push(body.split_to(body.len().min(16_000)));
    }
    sink.finish(0, 0).unwrap();
}

/// What the cache takes whatever is in it: the first table of every shard, and the fields that are watched for being
/// common. Nobody pays for it.
const FIXED_BYTES: u64 = 20 * 1024;

/// What is accounted and what is taken, bytes.
fn figures(cache: &Arc<Cache>, before: u64) -> (u64, u64) {
    (cache.stats().used_bytes, TAKEN_BYTES.load(Ordering::Relaxed) - before)
}

fn of_every_shape() {
    let plain = |name, body_bytes, slack_percent| Shape {
        name,
        body_bytes,
        fields: tile_fields(),
        vary: false,
        tags: |_| vec![],
        parts: false,
        rule: "rule".into(),
        slack_percent,
        // 260 of them measured without the place for other forms of the body.
        most_bytes: 270,
    };
    let many: HeaderMap = (0..30)
        .map(|n| {
            let name = HeaderName::from_bytes(format!("x-field-number-{n}").as_bytes()).unwrap();
            (name, HeaderValue::from_str(&"value ".repeat(n)).unwrap())
        })
        .collect();
    let shapes = [
        plain("empty", 0, 12),
        plain("tiny", 100, 12),
        plain("tile", 15_360, 1),
        plain("odd", 13_001, 1),
        Shape { most_bytes: 850, ..plain("large", 700_000, 1) },
        Shape { fields: HeaderMap::new(), ..plain("no fields", 100, 25) },
        Shape { fields: many, most_bytes: 3_460, ..plain("many fields", 100, 5) },
        Shape { vary: true, most_bytes: 560, ..plain("vary", 100, 15) },
        Shape {
            most_bytes: 830,
            tags: |n| vec![format!("layer-{}", n % 7).into(), "maps".into()],
            ..plain("shared tags", 100, 12)
        },
        Shape { most_bytes: 830, tags: |n| vec![format!("tile-{n}").into()], ..plain("own tags", 100, 30) },
        Shape { parts: true, most_bytes: 540, ..plain("parts", 2_000, 5) },
    ];
    for shape in shapes {
        // A power of two of rows, and the same after everything has grown.
        for entries in [14_000_u32, 16_384, 30_000] {
            let entries = if shape.body_bytes > 100_000 { entries / 100 } else { entries };
            let cache = cache(1 << 40);
            let before = TAKEN_BYTES.load(Ordering::Relaxed);
            (0..entries).for_each(|number| put(&cache, &shape, number));
            let (accounted, taken) = figures(&cache, before);
            let bodies = entries as u64 * shape.body_bytes as u64 * if shape.parts { 2 } else { 1 };
            let each = |bytes: u64| (bytes - bodies) / u64::from(entries);
            let shown = format!(
                "{}, {entries} entries: {} bytes accounted beside the body, {} taken",
                shape.name,
                each(accounted),
                each(taken)
            );
            assert!(taken <= accounted + FIXED_BYTES, "{shown}");
            assert!(accounted <= taken + taken * shape.slack_percent / 100, "{shown}");
            assert!(each(accounted) <= shape.most_bytes, "{shown}");
            cache.purge(Scope::All, false);
            let (accounted, taken) = figures(&cache, before);
            // Fields that many had stay known.
            let pairs = cache.stats().pairs_bytes;
            assert!(accounted == pairs && pairs < 40_000, "{}: {accounted} accounted, {pairs}", shape.name);
            assert!(taken <= pairs + FIXED_BYTES, "{}: {taken} bytes are left of nothing", shape.name);
        }
    }
}

/// Full, with as much that left behind it as is remembered.
fn when_full() {
    let limit_bytes = 16 << 20;
    let cache = cache(limit_bytes);
    let shape = Shape {
        name: "full",
        body_bytes: 500,
        fields: tile_fields(),
        vary: false,
        tags: |n| vec![format!("layer-{}", n % 300).into()],
        parts: false,
        rule: "rule".into(),
        slack_percent: 0,
        most_bytes: 0,
    };
    let before = TAKEN_BYTES.load(Ordering::Relaxed);
    for number in 0..80_000 {
        put(&cache, &shape, number);
        if number % 1_000 == 999 {
            let (accounted, taken) = figures(&cache, before);
            assert!(accounted <= limit_bytes, "{number}: {accounted} bytes accounted");
            assert!(taken <= accounted + FIXED_BYTES, "{number}: {taken} bytes taken, {accounted} accounted");
        }
    }
    assert!(cache.stats().evictions > 40_000);
}

/// One after the other: what is counted is the whole process.
#[test]
fn what_is_accounted_is_what_is_taken() {
    of_every_shape();
    when_full();
}
