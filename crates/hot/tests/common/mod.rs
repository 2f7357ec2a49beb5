//! What the tests of the layer share: a core side that keeps what it is told, and grants.

#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod rig;
pub(crate) mod wire;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use samovar_hot::{ConnHandle, CookieWish, CoreSide, Grant, HotHit, Lifetime, Prepared, VaryValue, status};
use samovar_reason::{Explain, Reject};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

/// Keeps what it is told.
#[derive(Default)]
pub(crate) struct Side {
    pub(crate) hits: Cell<u64>,
    pub(crate) rejects: RefCell<Vec<Reject>>,
    pub(crate) dropped: RefCell<Vec<Reject>>,
    pub(crate) epoch: Cell<u64>,
    start: Start,
}

struct Start(tokio::time::Instant);

impl Default for Start {
    fn default() -> Start {
        Start(tokio::time::Instant::now())
    }
}

impl Side {
    pub(crate) fn new() -> Rc<Side> {
        Rc::new(Side::default())
    }
}

impl CoreSide for Side {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.start.0.elapsed().as_nanos()).unwrap()
    }

    fn epoch(&self) -> u64 {
        self.epoch.get()
    }

    fn on_hot(&self, _: &ConnHandle, _: HotHit<'_>) {
        self.hits.set(self.hits.get() + 1);
    }

    fn on_reject(&self, _: &ConnHandle, reject: Reject, _: &[u8]) -> Bytes {
        self.rejects.borrow_mut().push(reject);
        reject_answer(reject)
    }

    fn on_dropped(&self, _: &ConnHandle, why: Reject) {
        self.dropped.borrow_mut().push(why);
    }
}

/// The whole answer to a refusal.
pub(crate) fn reject_answer(reject: Reject) -> Bytes {
    let (code, body) = (status(reject), reject.code());
    format!("HTTP/1.1 {code}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into()
}

/// An answer that lasts.
pub(crate) fn prepared(body: &str, state: &Arc<AtomicU8>) -> Arc<Prepared> {
    let chunks = body.as_bytes().chunks(10_000).map(Bytes::copy_from_slice).collect();
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("text/plain"));
    let life = Lifetime { state: state.clone(), epoch: 0, age_base_ms: 0, fresh_until_ms: u64::MAX };
    Arc::new(
        Prepared::new(StatusCode::OK, &headers, chunks, life, Some("S"), "k".into(), Arc::new(())).unwrap(),
    )
}

/// A grant for `host` and `target` without conditions.
pub(crate) fn grant(host: &str, target: &str, prepared: Arc<Prepared>) -> Grant {
    Grant {
        listener: 0,
        host: Bytes::copy_from_slice(host.as_bytes()),
        target: Bytes::copy_from_slice(target.as_bytes()),
        vary: Vec::<VaryValue>::new(),
        cookies: CookieWish::RefuseAny,
        ignore_cache_control: false,
        heads: true,
        claims: None,
        prepared,
    }
}
