//! A connection from accept to close: the idle loop, hyper on demand, the end.
//!
//! Not here: accepting, TLS, and the service.

use crate::hub::{AnswerGuard, ConnHandle, Hub};
use crate::layer::{Layer, Next};
use crate::wire::Wire;
use bytes::{Buf, Bytes};
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderValue};
use http::{Request, Response, StatusCode, Version};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How a connection ended.
pub enum End<S> {
    /// In good order, on either side's word.
    Closed,
    /// Not in good order: the client left or broke the protocol, or the service failed.
    Failed(hyper::Error),
    /// Another protocol goes on over it.
    Upgraded(Pipe<S>),
}

/// hyper's builder as the layer needs it.
///
/// Keep-alive on; `pipeline_flush` off and `half_close` off, on which the layer's safety rests; no
/// `header_read_timeout`, which would run through hot traffic that hyper does not see and kill it; field and
/// buffer bounds no tighter than the layer's, so that hyper never refuses what the layer let through. hyper adds
/// `Date` where an answer has none.
pub fn engine(hub: &Hub) -> Builder {
    let limits = hub.head_limits.get();
    let mut http = Builder::new();
    http.keep_alive(true)
        .pipeline_flush(false)
        .half_close(false)
        .header_read_timeout(None)
        .max_headers(hub.engine_fields())
        .max_buf_size((limits.head_max_bytes + (8 << 10)).max(256 << 10));
    http
}

/// Runs a connection to its end. `service` is called for cold requests, one at a time.
pub async fn serve<S, F, Fut, B, E>(mut layer: Layer<S>, http: &Builder, service: F) -> End<S>
where
    S: Wire,
    F: Fn(Request<Incoming>, ConnHandle) -> Fut,
    Fut: Future<Output = Result<Response<B>, E>>,
    B: Body + Unpin + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let handle = layer.handle();
    let served = loop {
        if poll_fn(|cx| layer.poll_until_cold(cx)).await == Next::Closed {
            return End::Closed;
        }
        let service = service_fn(|request: Request<Incoming>| {
            let conn = handle.clone();
            let chunks_known = request.version() == Version::HTTP_11;
            let answer = service(request, handle.clone());
            async move { answer.await.map(|response| guard(response, conn, chunks_known)) }
        });
        handle.0.has_engine(true);
        // Boxed, so that connections which only meet hot requests do not carry its size in their tasks.
        let served = Box::pin(http.serve_connection(&mut layer, service)).await;
        if !layer.shed_engine() || served.is_err() {
            break served;
        }
    };
    if served.is_ok() && layer.upgraded() {
        let (io, ahead) = layer.into_parts();
        return End::Upgraded(Pipe { io, ahead });
    }
    if served.as_ref().is_err_and(hyper::Error::is_user) {
        layer.break_off();
    }
    poll_fn(|cx| layer.poll_finish(cx)).await;
    match served {
        Ok(()) => End::Closed,
        Err(_) if handle.rejected().is_some() => End::Closed,
        Err(error) => End::Failed(error),
    }
}

/// Lets the layer see the end of the answer.
fn guard<B>(mut response: Response<B>, conn: ConnHandle, chunks_known: bool) -> Response<Guarded<B>> {
    conn.0.answering.set(true);
    conn.0.until_close.set(!chunks_known && !response.headers().contains_key(CONTENT_LENGTH));
    if conn.ends() && response.status() != StatusCode::SWITCHING_PROTOCOLS {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response.map(|body| Guarded { body, _guard: AnswerGuard(conn.0) })
}

/// A body whose drop the layer notices.
struct Guarded<B> {
    body: B,
    _guard: AnswerGuard,
}

impl<B: Body + Unpin> Body for Guarded<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The stream of an upgraded connection, beginning with what the client sent ahead.
pub struct Pipe<S> {
    io: S,
    ahead: Bytes,
}

impl<S: Wire> Pipe<S> {
    /// What was sent is not to be taken for whole; see [`Wire::break_off`].
    pub fn break_off(&mut self) {
        self.io.break_off(true);
    }

    /// Memory that the stream takes beside what every connection takes, bytes.
    pub fn own_bytes(&self) -> usize {
        self.io.own_bytes() + self.ahead.len()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Pipe<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            return Pin::new(&mut self.io).poll_read(cx, buf);
        }
        let n = self.ahead.len().min(buf.remaining());
        buf.put_slice(self.ahead.get(..n).unwrap_or_default());
        self.ahead.advance(n);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Pipe<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
