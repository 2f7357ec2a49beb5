//! One attempt at an HTTP/1.1 upstream: hyper's client connection, under our own pool and our own timeouts.
//!
//! hyper frames and parses; what is sent and what is believed of the answer is decided in `head`, how bodies
//! flow and when a connection may be used again in `body`, what an error means in `fail`. A connection's driver
//! task stays on the core where it was born; its sender may be used from any core. Not here: choosing an
//! upstream, retries beyond one dead reused connection, caching.

mod body;
mod fail;
mod head;

pub use head::pseudonym;

use crate::connect::{Socket, connect};
use crate::pool::{Opened, Permit, Pool, PoolStats};
use crate::upload::holding;
use crate::{Answer, AnswerBody, Asked, Failure, HttpSettings, Reached, Timing};
use body::{Arriving, Departing, Held, Upload};
use http::{Method, Request, Response};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use samovar_reason::Upstream;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// How long a connection from the shelf may take to say that it is ready. Its driver has a turn to finish at
/// most; one that needs longer is not worth waiting for.
const READY_WITHIN: Duration = Duration::from_millis(50);

/// The least hyper accepts as the bound of its buffers, bytes.
const BUFFER_MIN_BYTES: usize = 8192;

/// The bound of hyper's buffers for bodies, per connection, bytes.
const BUFFER_BYTES: usize = 128 * 1024;

/// An HTTP/1.1 upstream, shared by all cores.
pub struct HttpUpstream {
    settings: HttpSettings,
    pool: Pool<Connection>,
    builder: Builder,
}

/// One connection, its sender and its driver. Dropped: the driver is stopped and the socket closed.
struct Connection {
    sender: SendRequest<Departing>,
    driver: AbortHandle,
    /// The core on which the driver runs.
    home: usize,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// What became of a request handed to a connection.
enum Sent {
    /// A head came.
    Head(Response<Incoming>),
    /// The connection was dead before a byte was written; the request is as new.
    Unsent(Request<Departing>, Failure),
    /// The connection died without a word after the request may have been written.
    Silent(Failure),
    /// Anything else.
    Failed(Failure),
}

impl HttpUpstream {
    /// A pool without connections; nothing is tried yet.
    pub fn new(settings: HttpSettings) -> Arc<Self> {
        let pool = Pool::new(&settings.limits);
        let mut builder = Builder::new();
        builder
            .max_header_size(settings.limits.head_max_bytes)
            .max_buf_size(BUFFER_BYTES.max(settings.limits.head_max_bytes).max(BUFFER_MIN_BYTES));
        Arc::new(HttpUpstream { settings, pool, builder })
    }

    /// What it was made from.
    pub fn settings(&self) -> &HttpSettings {
        &self.settings
    }

    /// What the pool is doing.
    pub fn stats(&self) -> PoolStats {
        self.pool.stats()
    }

    /// Closes connections idle for longer than the limit. To be called about once a second.
    pub fn close_idle(&self, now: Instant) {
        self.pool.close_idle(now);
    }

    /// Sends one request and waits for the head of its answer. `core` is the serving core's number; must be
    /// called within its tokio runtime.
    pub async fn attempt(self: &Arc<Self>, core: usize, asked: Asked) -> Result<Answer, Failure> {
        let (parts, body, body_bytes) = head::request(&self.settings, asked)?;
        let body = match body {
            Some(body) => Some(holding(body, self.pool.upload().await?)),
            None => None,
        };
        let repeatable = body.is_none() && parts.method.is_idempotent();
        let upload = body.is_some().then(|| Arc::new(Upload::new()));
        let method = parts.method.clone();
        let mut request = Request::from_parts(parts, Departing::new(body, body_bytes, upload.clone()));
        let permit = self.pool.permit().await?;

        if let Some(mut connection) = self.idle(core).await {
            // The head is copied only while a second sending is possible.
            let spare = repeatable.then(|| head::copy(&request));
            let begun = Instant::now();
            match self.send(&mut connection, request, upload.as_deref()).await {
                Sent::Head(response) => {
                    let timing = Timing { connect_us: 0, first_byte_us: micros(begun), reused: true };
                    return self.answer(response, &method, timing, connection, permit, upload);
                }
                Sent::Unsent(unsent, _) => request = unsent,
                Sent::Silent(failure) => match spare {
                    Some(parts) => request = Request::from_parts(parts, Departing::new(None, None, None)),
                    None => return Err(failure),
                },
                Sent::Failed(failure) => return Err(failure),
            }
        }

        let begun = Instant::now();
        let mut connection = self.connect(core).await?;
        let connect_us = micros(begun);
        let begun = Instant::now();
        match self.send(&mut connection, request, upload.as_deref()).await {
            Sent::Head(response) => {
                let timing = Timing { connect_us, first_byte_us: micros(begun), reused: false };
                self.answer(response, &method, timing, connection, permit, upload)
            }
            Sent::Unsent(_, failure) | Sent::Silent(failure) | Sent::Failed(failure) => Err(failure),
        }
    }

    /// A connection from the shelves that is alive as far as can be known without asking it.
    async fn idle(&self, core: usize) -> Option<Connection> {
        loop {
            let mut connection = self.pool.take(core, Instant::now(), |c| !c.sender.is_closed())?;
            if connection.sender.is_ready() {
                return Some(connection);
            }
            if let Ok(Ok(())) = tokio::time::timeout(READY_WITHIN, connection.sender.ready()).await {
                return Some(connection);
            }
        }
    }

    async fn connect(&self, core: usize) -> Result<Connection, Failure> {
        let limits = &self.settings.limits;
        let socket: Socket = connect(&self.settings.address, limits.connect_timeout).await?;
        let opened = self.pool.opened();
        let (sender, driver) = self
            .builder
            .handshake::<_, Departing>(TokioIo::new(socket))
            .await
            .map_err(|error| fail::before_head(&error, Reached::NotSent))?;
        let driver = tokio::spawn(drive(driver, opened)).abort_handle();
        Ok(Connection { sender, driver, home: core })
    }

    async fn send(
        &self,
        connection: &mut Connection,
        request: Request<Departing>,
        upload: Option<&Upload>,
    ) -> Sent {
        let limit = self.settings.limits.head_timeout;
        let outcome = match within(connection.sender.try_send_request(request), upload, limit).await {
            Some(outcome) => outcome,
            None => {
                return Sent::Failed(Failure {
                    reason: Upstream::HeadTimeout,
                    detail: format!("no head within {limit:?} of the request"),
                    reached: Reached::Sent,
                });
            }
        };
        let mut refused = match outcome {
            Ok(response) => return Sent::Head(response),
            Err(refused) => refused,
        };
        if let Some(failure) = upload.and_then(Upload::failure) {
            return Sent::Failed(failure);
        }
        if let Some(request) = refused.take_message() {
            return Sent::Unsent(request, fail::before_head(refused.error(), Reached::NotSent));
        }
        let failure = fail::before_head(refused.error(), Reached::Sent);
        if failure.reason == Upstream::Reset { Sent::Silent(failure) } else { Sent::Failed(failure) }
    }

    fn answer(
        self: &Arc<Self>,
        response: Response<Incoming>,
        method: &Method,
        timing: Timing,
        connection: Connection,
        permit: Permit,
        upload: Option<Arc<Upload>>,
    ) -> Result<Answer, Failure> {
        let (mut parts, incoming) = response.into_parts();
        let reusable = head::keeps_alive(&parts);
        head::check(&mut parts, method)?;
        let held = Held { connection, permit, upstream: Arc::clone(self), upload, reusable };
        let body = if incoming.is_end_stream() {
            held.give_back();
            AnswerBody::Empty
        } else {
            let len = incoming.size_hint().exact();
            let frames = Arriving::new(incoming, held, self.settings.limits.body_timeout);
            AnswerBody::Stream { len, frames: Box::pin(frames) }
        };
        Ok(Answer { status: parts.status, headers: parts.headers, body, timing })
    }
}

/// The outcome of `sent`, or `None` if the upstream owed us a head for longer than `limit`. While the request's
/// body moves, or the client keeps us waiting for it, the upstream owes nothing yet.
async fn within<T>(sent: impl Future<Output = T>, upload: Option<&Upload>, limit: Duration) -> Option<T> {
    let mut sent = pin!(sent);
    let mut timer = pin!(tokio::time::sleep(limit));
    poll_fn(|cx| {
        if let Poll::Ready(outcome) = sent.as_mut().poll(cx) {
            return Poll::Ready(Some(outcome));
        }
        loop {
            ready!(timer.as_mut().poll(cx));
            match upload.and_then(|upload| upload.owed_from()?.checked_add(limit)) {
                Some(deadline) if deadline > Instant::now() => timer.as_mut().reset(deadline.into()),
                _ => return Poll::Ready(None),
            }
        }
    })
    .await
}

/// Moves the bytes of one connection until it ends; counted as open exactly that long. Its error reaches
/// whoever waits for the answer, so its own copy says nothing more.
async fn drive<T>(connection: impl Future<Output = hyper::Result<T>>, _opened: Opened) {
    drop(connection.await);
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}
