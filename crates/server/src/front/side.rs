//! What the hot tier asks of the server, on one core.

use crate::clock;
use crate::config::{ErrorDetail, Settings};
use crate::pipeline::{Connection, page, record_hot};
use crate::state::Core;
use bytes::Bytes;
use http::HeaderMap;
use samovar_hot::{ConnHandle, CoreSide, HotHit, Limits, MapBounds, status};
use samovar_reason::{Explain, Reject};
use samovar_trace::{Fact, Fields, Record, Tier};
use std::rc::Rc;
use std::sync::Arc;

/// One core's side.
pub struct Side {
    /// The core.
    pub core: Rc<Core>,
}

/// The number that a connection contributes to the hot key: its listener, and whether its peer is believed.
pub fn hot_listener(id: u32, trusted: bool) -> u32 {
    id * 2 + u32::from(trusted)
}

impl CoreSide for Side {
    fn now_ns(&self) -> u64 {
        clock::mono_us() * 1_000
    }

    fn epoch(&self) -> u64 {
        self.core.shared.epoch()
    }

    fn on_hot(&self, conn: &ConnHandle, hit: HotHit<'_>) {
        record_hot(&self.core, conn.accepted().peer, &hit);
    }

    fn on_reject(&self, conn: &ConnHandle, reject: Reject, head: &[u8]) -> Bytes {
        let id = self.core.shared.next_id();
        let status = status(reject);
        let page = page::Page {
            status,
            code: reject.code(),
            text: reject.text(),
            mend: reject.mend(),
            detail: String::new(),
        };
        let (mut headers, body) = page::render(&page, &HeaderMap::new(), id, self.tells(conn));
        headers.insert(http::header::CONNECTION, http::HeaderValue::from_static("close"));
        headers.insert(http::header::CONTENT_LENGTH, http::HeaderValue::from(body.len()));
        // Whose site it would have been nobody knows: it is said whatever sites say.
        if let Ok(value) = http::HeaderValue::try_from(format!("Samovar; detail={}", reject.code())) {
            headers.insert("cache-status", value);
        }
        let mut out = format!("HTTP/1.1 {} {}\r\n", status.as_u16(), status.canonical_reason().unwrap_or(""))
            .into_bytes();
        for (name, value) in &headers {
            out.extend_from_slice(name.as_str().as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(
            format!("date: {}\r\n\r\n", httpdate::fmt_http_date(std::time::SystemTime::now())).as_bytes(),
        );
        if !head.starts_with(b"HEAD ") {
            out.extend_from_slice(&body);
        }
        self.core.counters.reject(reject, Some(status.as_u16()));
        // Whose body was refused has a record of its own, in which this is told.
        if !head.is_empty() {
            self.keep(conn, reject, head, id, body.len() as u64);
        }
        Bytes::from(out)
    }

    fn on_dropped(&self, _conn: &ConnHandle, why: Reject) {
        self.core.counters.by_reject.add(why);
    }
}

impl Side {
    /// Whether this client is told more than an id.
    fn tells(&self, conn: &ConnHandle) -> bool {
        match self.core.shared.snapshot().settings.server.error_detail {
            ErrorDetail::Always => true,
            ErrorDetail::Never => false,
            ErrorDetail::Loopback => conn.accepted().peer.is_none_or(|p| p.ip().to_canonical().is_loopback()),
        }
    }

    fn keep(&self, conn: &ConnHandle, reject: Reject, head: &[u8], id: u64, body_bytes: u64) {
        let line = head.split(|b| *b == b'\n').next().unwrap_or(b"");
        let line = String::from_utf8_lossy(line.get(..line.len().min(256)).unwrap_or(line));
        let mut words = line.trim_end().splitn(3, ' ');
        let record = Record {
            id,
            at_wall_ms: clock::wall_ms(),
            client: conn
                .accepted()
                .peer
                .map_or_else(|| "unix:".to_string(), |a| a.ip().to_canonical().to_string())
                .into(),
            method: words.next().unwrap_or("").to_string().into(),
            url: samovar_trace::redact_url(words.next().unwrap_or("")),
            version: "HTTP/1.1",
            status: status(reject).as_u16(),
            body_bytes,
            tier: Tier::Own,
            cache: "rejected",
            reason: reject.code(),
            first_byte_us: 0,
            total_us: 0,
            referer: None,
            user_agent: None,
            facts: vec![Fact::Reject(reject)],
            request_fields: Fields::default(),
        };
        let shared = &self.core.shared;
        if shared.access_log.is_on() {
            let format = shared.snapshot().settings.log.format;
            shared.access_log.line(self.core.index, |out| crate::pipeline::line(&record, format, out));
        }
        shared.keep(self.core.index, Arc::new(record));
    }
}

/// The part of the memory that heads of requests may take.
const HEADS_SHARE: u64 = 8;

/// What all cores' connections may hold for heads of requests, bytes.
pub fn heads_max_bytes(settings: &Settings) -> u64 {
    settings.memory.size_bytes / HEADS_SHARE
}

/// The limits of connections as the layer takes them, for one of so many cores.
pub fn limits(settings: &Settings, cores: usize) -> Limits {
    let l = &settings.limits;
    let ms = |d: std::time::Duration| u64::try_from(d.as_millis()).unwrap_or(u64::MAX);
    Limits {
        line_max_bytes: l.line_max_bytes,
        head_max_bytes: l.head_max_bytes,
        // Room for a whole head, whatever the share comes to.
        heads_max_bytes: (heads_max_bytes(settings) / cores.max(1) as u64).max(2 * l.head_max_bytes as u64),
        fields_max: l.fields_max,
        body_max_bytes: l.body_max_bytes,
        head_timeout_ms: ms(l.head_timeout),
        body_timeout_ms: ms(l.body_timeout),
        idle_timeout_ms: ms(l.idle_timeout),
        send_timeout_ms: ms(l.send_timeout),
        rate_min_bytes: l.rate_min_bytes,
        requests_max: l.requests_per_connection,
        lifetime_ms: l.connection_lifetime.map(ms),
        ..Limits::default()
    }
}

/// How much a core prepares at most.
pub fn bounds(settings: &Settings) -> MapBounds {
    MapBounds {
        entries_max: settings.hot_bounds.entries_max,
        bytes_max: usize::try_from(settings.hot_bounds.heads_max_bytes).unwrap_or(usize::MAX),
        idle_drop_ms: settings.hot.idle_ms,
    }
}

/// A connection as the pipeline sees it.
pub fn connection(
    peer: Option<std::net::SocketAddr>,
    local: Option<std::net::SocketAddr>,
    listener: u32,
    port: u16,
    tls: bool,
) -> Rc<Connection> {
    let text: Arc<str> = match peer {
        Some(peer) => peer.ip().to_canonical().to_string().into(),
        None => "unix:".into(),
    };
    Rc::new(Connection { peer, local, listener, port, tls, text })
}
