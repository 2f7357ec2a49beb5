//! Interim answers (1xx, RFC 9110 §15.2): passed from the origin to the client whose request made it speak.
//!
//! They are never stored, and whoever joins a fetch, or is answered from the cache, does not get them. Not here: getting
//! them between the bytes of a connection (`samovar_hot`).

use super::exchange::Exchange;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, Version};
use samovar_origin::Interim;
use samovar_trace::Fact;
use std::future::{Future, poll_fn};
use std::task::Poll;

/// Where they wait for one attempt; nowhere for a client that would not understand them (§15.2: HTTP/1.0).
pub(super) fn of(x: &Exchange) -> Option<Interim> {
    let understood = x.handle.is_some() && x.version == Version::HTTP_11;
    understood.then(Interim::default)
}

/// Waits for `done`, and passes on what comes before it.
pub(super) async fn passing<T>(
    x: &mut Exchange,
    interims: Option<Interim>,
    done: impl Future<Output = T>,
) -> T {
    let mut done = std::pin::pin!(done);
    poll_fn(|cx| {
        let result = done.as_mut().poll(cx);
        let Some(interims) = &interims else { return result };
        while let Poll::Ready((status, headers)) = interims.poll_heard(cx, result.is_pending()) {
            pass_on(x, status, &headers);
        }
        result
    })
    .await
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
