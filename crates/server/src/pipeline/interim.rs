//! Interim answers (1xx, RFC 9110 §15.2): passed from the origin to the client whose request made it speak.
//!
//! They are never stored, and whoever joins a fetch, or is answered from the cache, does not get them. Not here: getting
//! them between the bytes of a connection (`samovar_hot`).

use super::exchange::Exchange;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, Version};
use samovar_origin::Interim;
use samovar_trace::Fact;
use std::future::Future;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// What the origin says before its answer.
pub(super) type Interims = UnboundedReceiver<(StatusCode, HeaderMap)>;

/// Both ends for one attempt; no sender for a client that would not understand (§15.2: HTTP/1.0).
pub(super) fn channel(x: &Exchange) -> (Option<Interim>, Interims) {
    let (sender, receiver) = unbounded_channel();
    let understood = x.handle.is_some() && x.version == Version::HTTP_11;
    (understood.then_some(sender), receiver)
}

/// Waits for `done`, and passes on what comes before it.
pub(super) async fn passing<T>(x: &mut Exchange, mut interims: Interims, done: impl Future<Output = T>) -> T {
    let mut done = std::pin::pin!(done);
    loop {
        tokio::select! {
            biased;
            Some((status, headers)) = interims.recv() => pass_on(x, status, &headers),
            result = &mut done => return result,
        }
    }
}

fn pass_on(x: &mut Exchange, status: StatusCode, headers: &HeaderMap) {
    let reason = status.canonical_reason().unwrap_or_default();
    let mut head = format!("HTTP/1.1 {} {reason}\r\n", status.as_u16()).into_bytes();
    for (name, value) in headers {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    if x.handle.as_ref().is_some_and(|client| client.send_interim(Bytes::from(head))) {
        x.note(Fact::Interim(status.as_u16()));
    }
}
