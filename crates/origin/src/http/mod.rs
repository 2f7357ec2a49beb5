//! One attempt at an HTTP/1.1 upstream: our own client, under our own pool and our own timeouts.
//!
//! hyper's client would do; but it gives every connection a task, and every exchange two channels to it, which were a
//! quarter of what a proxied answer cost. Here whoever waits for the answer moves the connection itself. What is sent is
//! written in `told` and leaves in `going`; what is believed of the answer is decided in `heard` and `decode`, pure files
//! that the tests hold to hyper's; `coming` is the answer's body. Not here: choosing an upstream, retries beyond one dead
//! reused connection, caching.

mod coming;
mod connection;
mod decode;
mod early;
mod going;
mod heard;
mod switched;
mod told;

#[cfg(test)]
mod agreement_tests;
#[cfg(test)]
mod heard_tests;

pub use switched::Switched;
pub use told::pseudonym;

use crate::peer::Peer;
use crate::pool::{Permit, Pool, PoolStats};
use crate::reuse::{Carried, last_use};
use crate::upload::holding;
use crate::{Answer, Asked, Failure, HttpSettings, Interim, Reached, Timing};
use coming::Held;
use connection::Connection;
use decode::Decoder;
use going::Going;
use heard::{Head, Heard, Listener, Wrong};
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use samovar_reason::Upstream;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// An HTTP/1.1 upstream, shared by all cores.
pub struct HttpUpstream {
    settings: HttpSettings,
    pool: Pool<Connection>,
    peer: Peer,
    upgraded: switched::Places,
}

/// Why there is no head.
enum Headless {
    /// The connection was dead before a byte was written; the request is as new.
    Unsent(Failure),
    /// The connection died without a word after the request may have been written.
    Silent(Failure),
    /// Anything else.
    Failed(Failure),
}

impl From<Failure> for Headless {
    fn from(failure: Failure) -> Self {
        Headless::Failed(failure)
    }
}

impl Headless {
    fn into_failure(self) -> Failure {
        let (Headless::Unsent(failure) | Headless::Silent(failure) | Headless::Failed(failure)) = self;
        failure
    }
}

/// Whom and what the answer is for.
struct For {
    method: Method,
    interim: Option<Interim>,
    upgrade: Option<HeaderValue>,
}

/// The head of the answer, or of a 101 that was asked for.
enum Came {
    Head(Head),
    Switched(HeaderValue, HeaderMap),
}

impl HttpUpstream {
    /// A pool without connections; nothing is tried yet.
    pub fn new(settings: HttpSettings) -> Arc<Self> {
        let pool = Pool::new(&settings.limits);
        let peer = Peer::new(settings.address.clone(), settings.limits.resolve_every);
        let upgraded = switched::Places::new(settings.limits.upgraded_max);
        Arc::new(HttpUpstream { settings, pool, peer, upgraded })
    }

    /// What it was made from.
    pub fn settings(&self) -> &HttpSettings {
        &self.settings
    }

    /// What the pool is doing.
    pub fn stats(&self) -> PoolStats {
        self.pool.stats()
    }

    /// Bytes to and from it since the start.
    pub fn carried(&self) -> (u64, u64) {
        self.peer.carried()
    }

    /// Whether it listens at a name, which may move.
    pub fn is_named(&self) -> bool {
        self.peer.is_named()
    }

    /// Looks its name up again if that was long ago. To be called about once a second.
    pub async fn look_up(&self) {
        self.peer.look_up(self.settings.limits.connect_timeout).await;
    }

    /// How many connections have changed to another protocol, or are about to.
    pub fn upgraded(&self) -> usize {
        self.upgraded.taken()
    }

    /// Closes connections idle for longer than the limit, and those the upstream has closed. To be called about once a
    /// second.
    pub fn close_idle(&self, now: Instant) {
        self.pool.close_idle(now, |connection| {
            connection.socket.seems_quiet() && self.peer.still_is(connection.socket.to())
        });
    }

    /// Sends one request and waits for the head of its answer. `core` is the serving core's number; must be
    /// called within its tokio runtime.
    ///
    /// # Errors
    /// Why not, and how far it got.
    pub async fn attempt(self: &Arc<Self>, core: usize, mut asked: Asked) -> Result<Answer, Failure> {
        self.attempt_of(core, &mut asked).await
    }

    /// The same, and the request is left for another attempt, but for its body.
    ///
    /// # Errors
    /// Why not, and how far it got.
    pub async fn attempt_of(self: &Arc<Self>, core: usize, asked: &mut Asked) -> Result<Answer, Failure> {
        let mut told = told::told(&self.settings, asked)?;
        let body = match told.body.take() {
            Some(body) => Some(holding(body, self.pool.upload().await?)),
            None => None,
        };
        let repeatable = body.is_none() && told.method.is_idempotent();
        let place = match told.upgrade.is_some() {
            true => Some(self.upgraded.take()?),
            false => None,
        };
        let permit = self.pool.permit().await?;
        let mut begun = Instant::now();
        let mut going = Going::new(&mut told, body, begun);
        let whose = For { method: told.method, interim: told.interim, upgrade: told.upgrade };

        if let Some(mut connection) = self.idle(core, begun) {
            match self.head(&mut connection, &mut going, &whose).await {
                Ok(head) => {
                    let now = Instant::now();
                    let timing =
                        Timing { first_byte_us: micros(begun, now), reused: true, ..Timing::default() };
                    return self.answer(
                        head,
                        (timing, now),
                        connection,
                        going,
                        &whose.method,
                        (permit, place),
                    );
                }
                Err(Headless::Unsent(_)) => {}
                Err(Headless::Silent(_)) if repeatable => {}
                Err(headless) => return Err(headless.into_failure()),
            }
            begun = Instant::now();
        }

        // Boxed, as it is large and rare.
        let mut connection = Box::pin(self.connect(core)).await?;
        let connected = Instant::now();
        going.again(connected);
        let head = self.head(&mut connection, &mut going, &whose).await.map_err(Headless::into_failure)?;
        let now = Instant::now();
        let timing = Timing {
            connect_us: micros(begun, connected),
            first_byte_us: micros(connected, now),
            ..Timing::default()
        };
        self.answer(head, (timing, now), connection, going, &whose.method, (permit, place))
    }

    /// A connection from the shelves that is alive and silent. The system itself is asked: what the reactor has not heard
    /// of yet would be taken for the beginning of this answer, and may be somebody else's. What comes after that nobody can
    /// tell from an answer.
    fn idle(&self, core: usize, now: Instant) -> Option<Connection> {
        let alive = |connection: &mut Connection| {
            connection.socket.is_quiet() && self.peer.still_is(connection.socket.to())
        };
        self.pool.take(core, now, alive)?.at_home(core)
    }

    async fn connect(&self, core: usize) -> Result<Connection, Failure> {
        let socket = self.peer.connect(self.settings.limits.connect_timeout).await?;
        Ok(Connection::new(socket, core, self.pool.opened()))
    }

    /// Sends the request as far as is needed for the answer's head to come.
    async fn head(
        &self,
        connection: &mut Connection,
        going: &mut Going,
        whose: &For,
    ) -> Result<Came, Headless> {
        let mut listener = Listener::asking(whose.upgrade.clone());
        poll_fn(|cx| self.poll_head(cx, &mut listener, connection, going, whose)).await
    }

    fn poll_head(
        &self,
        cx: &mut Context<'_>,
        listener: &mut Listener,
        connection: &mut Connection,
        going: &mut Going,
        whose: &For,
    ) -> Poll<Result<Came, Headless>> {
        let limits = &self.settings.limits;
        loop {
            going.poll(cx, &mut connection.socket)?;
            if going.written_bytes() == 0
                && let Some(error) = going.broken()
            {
                return Poll::Ready(Err(Headless::Unsent(reset(
                    &format!("send: {error}"),
                    Reached::NotSent,
                ))));
            }
            match listener.next(&mut connection.read, &whose.method, limits.head_max_bytes) {
                Ok(Some(Heard::Head(head))) => return Poll::Ready(Ok(Came::Head(head))),
                Ok(Some(Heard::Switched(protocol, headers))) => {
                    return Poll::Ready(Ok(Came::Switched(protocol, headers)));
                }
                Ok(Some(Heard::Interim(status, headers))) => {
                    whose.tell(status, headers);
                    continue;
                }
                Ok(None) => {}
                Err(wrong) => return Poll::Ready(Err(refused(wrong).into())),
            }
            match connection.poll_read(cx) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(silent(going, None, connection, listener))),
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => {
                    return Poll::Ready(Err(silent(going, Some(&error), connection, listener)));
                }
                Poll::Pending => {
                    // While the request's body moves, or the client keeps us waiting for it, nothing is owed yet.
                    let limit = limits.head_timeout;
                    let deadline = going.owed_from().and_then(|since| since.checked_add(limit));
                    ready!(connection.poll_deadline(cx, deadline));
                    return Poll::Ready(Err(Headless::Failed(Failure {
                        reason: Upstream::HeadTimeout,
                        detail: format!("no head within {limit:?} of the request"),
                        reached: Reached::Sent,
                    })));
                }
            }
        }
    }

    fn answer(
        self: &Arc<Self>,
        came: Came,
        (mut timing, now): (Timing, Instant),
        connection: Connection,
        going: Going,
        method: &Method,
        (permit, place): (Permit, Option<switched::Place>),
    ) -> Result<Answer, Failure> {
        let Head { status, headers, framing, keeps_alive } = match came {
            Came::Head(head) => head,
            Came::Switched(protocol, headers) => {
                let status = StatusCode::SWITCHING_PROTOCOLS;
                let body = switched::body(connection, &going, protocol, permit, place)?;
                return Ok(Answer { status, headers, body, timing });
            }
        };
        let (has_content, early) = (going.has_body(), !going.is_over());
        let bodiless = matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        let empty = || headers.get(CONTENT_LENGTH).is_some_and(|length| length == "0");
        let withheld = *method == Method::HEAD && !bodiless && !empty();
        let carried = Carried { method, has_content, status, early, withheld };
        timing.last_use = last_use(&carried, self.settings.limits.reuse_after_body).filter(|_| keeps_alive);
        let keeps_alive = keeps_alive && timing.last_use.is_none();
        let held = Held { connection, permit, upstream: Arc::clone(self), going, keeps_alive };
        let body = coming::body(held, Decoder::new(framing), now)?;
        Ok(Answer { status, headers, body, timing })
    }
}

impl For {
    /// A `100 Continue` was not asked for.
    fn tell(&self, status: StatusCode, headers: HeaderMap) {
        if let Some(interim) = self.interim.as_ref().filter(|_| status != StatusCode::CONTINUE) {
            interim.tell(status, headers);
        }
    }
}

fn refused((reason, detail): Wrong) -> Failure {
    Failure { reason, detail, reached: Reached::Answered }
}

fn silent(
    going: &Going,
    error: Option<&io::Error>,
    connection: &Connection,
    listener: &Listener,
) -> Headless {
    let how = match (error, going.broken()) {
        (Some(error), _) => error.to_string(),
        (None, Some(error)) => format!("connection closed, sending had failed: {error}"),
        (None, None) => "connection closed before message completed".to_owned(),
    };
    let failure = reset(&how, Reached::Sent);
    // An answer that has begun is not asked for a second time.
    let said = !connection.read.is_empty() || listener.has_heard();
    if said { Headless::Failed(failure) } else { Headless::Silent(failure) }
}

fn reset(how: &str, reached: Reached) -> Failure {
    Failure { reason: Upstream::Reset, detail: format!("waiting for the head: {how}"), reached }
}

fn micros(since: Instant, now: Instant) -> u64 {
    u64::try_from(now.saturating_duration_since(since).as_micros()).unwrap_or(u64::MAX)
}
