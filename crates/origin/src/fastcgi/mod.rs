//! One attempt at a FastCGI application, php-fpm above all.
//!
//! Own codec, because the ones there are send the whole request before they read a byte of the answer. One
//! request at a time per connection; connections stay open and go back to a shelf, unless another request may
//! be waiting for a child: php-fpm gives each connection a process for as long as it is open, so an idle
//! connection of ours could keep the last child from a request of ours. Requests that cannot be repeated get a
//! new connection. Not here: which script a path means (`files`), caching, retries beyond one dead reused
//! connection.
//!
//! A request body without a length is collected first, up to 1 MiB: CGI scripts are told the length before they
//! start. Beyond that the attempt fails with `LengthRequired`, for a 411.

mod codec;
mod exchange;
mod head;
mod lines;
mod params;
mod reply;

use crate::connect::Socket;
use crate::peer::Peer;
use crate::pool::{Opened, Permit, Pool, PoolStats};
use crate::reuse::{Carried, last_use};
use crate::upload::holding;
use crate::{Answer, Asked, AskedBody, Failure, FastCgiSettings, Reached, Timing};
use bytes::{Bytes, BytesMut};
use codec::Outward;
use exchange::{Exchange, Say};
use head::Head;
use http::Method;
use http_body_util::{BodyExt, Full};
use reply::Live;
use samovar_reason::Upstream;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The most of a body without a length that is held in memory, bytes.
const UNSIZED_MAX_BYTES: usize = 1024 * 1024;

/// How long a new connection may be silent before we suspect that no child is free for it. Much shorter, and
/// fast scripts would cost each other their connections; a connection costs a few dozen µs, so that those of
/// slower scripts do not notice.
const PATIENCE: Duration = Duration::from_millis(2);

/// Which script a request goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The script's file, absolute.
    pub script_filename: PathBuf,
    /// Its path on the site, decoded: `/sub/x.php`.
    pub script_name: String,
    /// What follows it in the request's path, decoded: `/extra`.
    pub path_info: Option<String>,
    /// The site's folder, absolute.
    pub document_root: PathBuf,
    /// More parameters; they take the place of ours.
    pub params: Arc<[(String, String)]>,
}

/// A FastCGI application, shared by all cores.
pub struct FastCgi {
    settings: FastCgiSettings,
    pool: Pool<Idle>,
    peer: Peer,
    say: Say,
    /// Requests that were sent on a new connection and heard nothing for a while: they may be waiting in the
    /// application's backlog for a child.
    starving: AtomicUsize,
}

/// A connection at rest.
struct Idle {
    socket: Socket,
    home: usize,
    opened: Opened,
}

/// One of `FastCgi::starving`.
struct Starving<'a>(&'a AtomicUsize);

impl<'a> Starving<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Starving(count)
    }
}

impl Drop for Starving<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A request ready to be sent.
struct Ready {
    /// The records up to the body.
    opening: Bytes,
    body: Option<AskedBody>,
    body_bytes: u64,
    has_content: bool,
    method: Method,
}

impl Ready {
    /// Takes the body along.
    fn on(&mut self, socket: Socket, say: &Say) -> Exchange {
        Exchange::new(socket, &self.opening, self.body.take(), self.body_bytes, Arc::clone(say))
    }
}

impl FastCgi {
    /// A pool without connections; nothing is tried yet. `stderr` receives each line of the application's
    /// error stream.
    pub fn new(settings: FastCgiSettings, stderr: Arc<dyn Fn(&str) + Send + Sync>) -> Arc<Self> {
        let pool = Pool::new(&settings.limits);
        let peer = Peer::new(settings.address.clone(), settings.limits.resolve_every);
        Arc::new(FastCgi { settings, pool, peer, say: stderr, starving: AtomicUsize::new(0) })
    }

    /// What it was made from.
    pub fn settings(&self) -> &FastCgiSettings {
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

    /// Closes connections idle for longer than the limit, and those the application has closed. To be called about once
    /// a second.
    pub fn close_idle(&self, now: Instant) {
        self.pool.close_idle(now, |idle| idle.socket.seems_quiet() && self.peer.still_is(idle.socket.to()));
    }

    /// Sends one request and waits for the head of its answer. `core` is the serving core's number; must be
    /// called within its tokio runtime.
    ///
    /// # Errors
    /// Why not, and how far it got.
    pub async fn attempt(
        self: &Arc<Self>,
        core: usize,
        mut asked: Asked,
        script: Script,
    ) -> Result<Answer, Failure> {
        self.attempt_of(core, &mut asked, &script).await
    }

    /// The same, and the request is left for another attempt, but for its body.
    ///
    /// # Errors
    /// Why not, and how far it got.
    pub async fn attempt_of(
        self: &Arc<Self>,
        core: usize,
        asked: &mut Asked,
        script: &Script,
    ) -> Result<Answer, Failure> {
        let mut request = self.prepare(asked, script).await?;
        if let Some(body) = request.body.take() {
            request.body = Some(holding(body, self.pool.upload().await?));
        }
        let permit = self.pool.permit().await?;

        let repeatable = request.body.is_none() && request.method.is_idempotent();
        if !repeatable {
            // A child may end with its last answer (`pm.max_requests`) at the very moment the next request is
            // sent to it. What cannot be sent again therefore goes to a new one, which needs a free child.
            self.free_a_child(core);
        } else if let Some(idle) = self.idle(core) {
            let begun = Instant::now();
            let mut exchange = request.on(idle.socket, &self.say);
            match self.head(&mut exchange).await {
                Ok(head) => {
                    let timing = Timing { first_byte_us: micros(begun), reused: true, ..Timing::default() };
                    let live = self.live(exchange, idle.opened, permit, core);
                    return self.answer(live, head, &request, timing);
                }
                Err(failure) if failure.reason != Upstream::Reset || exchange.heard() => return Err(failure),
                Err(_) => {}
            }
        }

        let begun = Instant::now();
        let socket = self.peer.connect(self.settings.limits.connect_timeout).await?;
        let opened = self.pool.opened();
        let connect_us = micros(begun);
        let begun = Instant::now();
        let mut exchange = request.on(socket, &self.say);
        let head = self.head_from_new(core, &mut exchange).await?;
        let timing = Timing { connect_us, first_byte_us: micros(begun), ..Timing::default() };
        self.answer(self.live(exchange, opened, permit, core), head, &request, timing)
    }

    /// Records have lengths of their own, but an application that leaves its input unread may lose its place among them.
    fn answer(
        &self,
        mut live: Live,
        head: Head,
        request: &Ready,
        mut timing: Timing,
    ) -> Result<Answer, Failure> {
        let early = !live.exchange.input_is_over();
        let Ready { method, has_content, .. } = request;
        // Where a response ends is said by a record of its own.
        let withheld = false;
        let carried = Carried { method, has_content: *has_content, status: head.status, early, withheld };
        timing.last_use = last_use(&carried, self.settings.limits.reuse_after_body);
        live.stays = timing.last_use.is_none();
        reply::answer(live, head, method, timing)
    }

    async fn prepare(&self, asked: &mut Asked, script: &Script) -> Result<Ready, Failure> {
        let Asked { method, path, query, host, headers, body, body_bytes, client, client_target, .. } = asked;
        let (body, bytes) = match (body.take(), *body_bytes) {
            (None, _) => (None, None),
            (Some(_), Some(0)) => (None, Some(0)),
            (Some(body), Some(bytes)) => (Some(body), Some(bytes)),
            (Some(body), None) => collected(body).await?,
        };
        let pairs = params::pairs(&params::Told {
            script,
            method,
            path,
            query: query.as_deref(),
            client_target: client_target.as_deref(),
            host,
            headers,
            client,
            body_bytes: bytes,
        });
        let mut opening = BytesMut::with_capacity(pairs.len() + 64);
        codec::begin(&mut opening);
        codec::stream(&mut opening, Outward::Params, &pairs);
        codec::end_of_stream(&mut opening, Outward::Params);
        Ok(Ready {
            opening: opening.freeze(),
            has_content: body.is_some(),
            body,
            body_bytes: bytes.unwrap_or(0),
            method: method.clone(),
        })
    }

    async fn head(&self, exchange: &mut Exchange) -> Result<Head, Failure> {
        let limits = &self.settings.limits;
        exchange.set_limit(limits.head_timeout, false);
        reply::head(exchange, limits.head_max_bytes).await
    }

    fn live(self: &Arc<Self>, mut exchange: Exchange, opened: Opened, permit: Permit, core: usize) -> Live {
        exchange.set_limit(self.settings.limits.body_timeout, true);
        Live { exchange, opened, permit, upstream: Arc::clone(self), core, stays: true }
    }

    /// A connection from the shelves that the application has neither closed nor said anything on, as the system knows it.
    fn idle(&self, core: usize) -> Option<Idle> {
        let idle = self.pool.take(core, Instant::now(), |idle| {
            idle.socket.is_quiet() && self.peer.still_is(idle.socket.to())
        })?;
        if idle.home == core {
            return Some(idle);
        }
        // Moved for good, so that this core's own reactor wakes us from now on.
        let socket = idle.socket.rehome().ok()?;
        Some(Idle { socket, home: core, opened: idle.opened })
    }

    /// As `head`, on a new connection: after a moment of silence no child may be free to accept it, because
    /// our own idle connections occupy them.
    async fn head_from_new(&self, core: usize, exchange: &mut Exchange) -> Result<Head, Failure> {
        let mut head = pin!(self.head(exchange));
        if let Ok(head) = tokio::time::timeout(PATIENCE, head.as_mut()).await {
            return head;
        }
        // Counted before a shelf is cleared: see `park`.
        let _starving = Starving::new(&self.starving);
        self.free_a_child(core);
        head.await
    }

    /// Puts a connection on the shelf, unless some request may be waiting for the child it occupies.
    ///
    /// A starving request counts itself before it looks for an idle connection to close, and we look at that
    /// count after we have filled the shelf: so either it finds this connection, or we see it.
    fn park(&self, core: usize, socket: Socket, opened: Opened) {
        self.pool.park(core, Instant::now(), Idle { socket, home: core, opened });
        if self.starving.load(Ordering::SeqCst) > 0 {
            self.free_a_child(core);
        }
    }

    /// Closes one idle connection; those the application has closed already free no one.
    fn free_a_child(&self, core: usize) {
        while self.pool.give_up_one(core).is_some_and(|idle| !idle.socket.is_quiet()) {}
    }
}

/// A body without a length, in memory.
async fn collected(mut body: AskedBody) -> Result<(Option<AskedBody>, Option<u64>), Failure> {
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame?.into_data() else { continue };
        if all.len() + piece.len() > UNSIZED_MAX_BYTES {
            return Err(Failure {
                reason: Upstream::LengthRequired,
                detail: format!("more than {UNSIZED_MAX_BYTES} bytes without a Content-Length"),
                reached: Reached::NotSent,
            });
        }
        all.extend_from_slice(&piece);
    }
    let bytes = all.len() as u64;
    let whole = Full::new(all.freeze()).map_err(|never| match never {});
    Ok((Some(whole.boxed()), Some(bytes)))
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}
