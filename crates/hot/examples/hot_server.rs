//! The hot tier alone on one core, to be measured beside the limit program: `hot_server PORT [BODY_BYTES=1024]
//! [TARGETS=1]` serves `/` and `/1` … as hot answers to `Host: 127.0.0.1:PORT`, and whatever else through hyper.
//!
//! Not here: the server; what the engine costs is measured with `samovar` itself.

#![allow(clippy::expect_used, reason = "a measuring program with fixed inputs")]

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::Full;
use samovar_hot::{
    Accepted, ConnHandle, CookieWish, CoreSide, Grant, HotHit, Hub, Lifetime, Prepared, engine, serve, status,
};
use samovar_reason::Reject;
use std::cell::Cell;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

static EPOCH: AtomicU64 = AtomicU64::new(0);

struct Side {
    start: Instant,
    hits: Cell<u64>,
    bytes: Cell<u64>,
}

impl CoreSide for Side {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn epoch(&self) -> u64 {
        EPOCH.load(Ordering::Acquire)
    }

    fn on_hot(&self, _: &ConnHandle, hit: HotHit<'_>) {
        self.hits.set(self.hits.get() + 1);
        self.bytes.set(self.bytes.get() + hit.body_bytes);
    }

    fn on_reject(&self, _: &ConnHandle, reject: Reject, _: &[u8]) -> Bytes {
        format!("HTTP/1.1 {}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n", status(reject)).into()
    }
}

fn grant(host: &str, target: String, body: Bytes) -> Grant {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("server", "limit"),
        ("date", "Fri, 20 Nov 2026 12:00:00 GMT"),
        ("content-type", "text/plain"),
        ("cache-control", "max-age=86400"),
        ("etag", "\"0123456789\""),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let life =
        Lifetime { state: Arc::new(AtomicU8::new(0)), epoch: 0, age_base_ms: 0, fresh_until_ms: 86_400_000 };
    let prepared =
        Prepared::new(StatusCode::OK, &headers, vec![body], life, Some("Samovar"), "k".into(), Arc::new(()));
    Grant {
        listener: 0,
        host: Bytes::copy_from_slice(host.as_bytes()),
        target: target.into(),
        vary: Vec::new(),
        cookies: CookieWish::RefuseAny,
        ignore_cache_control: true,
        heads: true,
        claims: None,
        prepared: Arc::new(prepared.expect("a 200 with its whole body")),
    }
}

fn main() -> std::io::Result<()> {
    let number = |n: usize, default: usize| {
        std::env::args().nth(n).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (port, body_bytes, targets) = (number(1, 8090), number(2, 1024), number(3, 1));
    let side = Rc::new(Side { start: Instant::now(), hits: Cell::new(0), bytes: Cell::new(0) });
    let hub = Hub::new(side);
    let host = format!("127.0.0.1:{port}");
    let body = vec![b'x'; body_bytes];
    for i in 0..targets {
        let target = if i == 0 { "/".to_owned() } else { format!("/{i}") };
        hub.grant(grant(&host, target, Bytes::from(body.clone()))).expect("room for the grant");
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(&host).await?;
        let http = Rc::new(engine(&hub));
        let sweeper = Rc::clone(&hub);
        tokio::task::spawn_local(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(100)).await;
                sweeper.sweep();
            }
        });
        loop {
            let (stream, peer) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let layer = hub.accept(stream, Accepted { listener: 0, peer: Some(peer) });
            let http = Rc::clone(&http);
            tokio::task::spawn_local(async move {
                serve(layer, &http, |_, _| async {
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"cold"))))
                })
                .await
            });
        }
    })
}
