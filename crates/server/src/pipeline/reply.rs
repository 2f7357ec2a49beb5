//! An answer that is ready to be shaped for its client, wherever it came from.

use super::body::Source;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use samovar_cache::Entry;
use samovar_policy::CacheStatus;
use samovar_trace::Tier;
use std::sync::Arc;

/// Where the bytes of an answer are.
pub enum ReplyBody {
    /// In a whole entry.
    Entry(Arc<Entry>),
    /// Anywhere else.
    Source(Source),
}

/// An answer before it is shaped for its client.
pub struct Reply {
    /// Status.
    pub status: StatusCode,
    /// End-to-end fields.
    pub headers: HeaderMap,
    /// The body.
    pub body: ReplyBody,
    /// Where it came from.
    pub tier: Tier,
    /// One word for logs: `hit`, `miss`, `pass`, …
    pub word: &'static str,
    /// The code of the reason that decided.
    pub reason: &'static str,
    /// Age, ms, if it came from the cache.
    pub age_ms: Option<u64>,
    /// What `Cache-Status` says.
    pub status_field: CacheStatus,
    /// A whole 200 whose conditions and ranges are ours to apply.
    pub selectable: bool,
    /// Fields for this client alone: the Set-Cookie of the answer it caused.
    pub own_fields: Vec<(HeaderName, HeaderValue)>,
}

impl Reply {
    /// An answer of our own: a page, a redirect.
    pub fn own(status: StatusCode, headers: HeaderMap, body: Bytes, reason: &'static str) -> Reply {
        Reply {
            status,
            headers,
            body: ReplyBody::Source(Source::whole(body)),
            tier: Tier::Own,
            word: if status.is_client_error() || status.is_server_error() { "error" } else { "own" },
            reason,
            age_ms: None,
            status_field: CacheStatus { detail: Some(reason), ..CacheStatus::default() },
            selectable: false,
            own_fields: Vec::new(),
        }
    }
}
