//! What an origin is asked, and what it answers.

use crate::ReuseAfterBody;
use crate::http::Switched;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::combinators::BoxBody;
use samovar_reason::{Reuse, Upstream};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A request body on its way to an origin.
pub type AskedBody = BoxBody<Bytes, Failure>;

/// A request to an origin. Fields are end-to-end already: hop-by-hop ones were dropped.
#[derive(Debug)]
pub struct Asked {
    /// The method.
    pub method: Method,
    /// Normalised path.
    pub path: String,
    /// Query as it came, without `?`.
    pub query: Option<String>,
    /// Canonical host with a non-default port, as the key has it.
    pub host: String,
    /// The fields.
    pub headers: HeaderMap,
    /// The body; `None` if there is none.
    pub body: Option<AskedBody>,
    /// Its announced length, bytes; `None` with a body means chunked.
    pub body_bytes: Option<u64>,
    /// Who asked.
    pub client: Client,
    /// Who is told of interim answers, if anyone.
    pub interim: Option<Interim>,
    /// What the client asked for, path and query, where `path` and `query` were rewritten: an application's
    /// `REQUEST_URI`.
    pub client_target: Option<String>,
    /// Protocols that the upstream may change the connection to; FastCGI applications cannot.
    pub upgrade: Option<HeaderValue>,
}

/// Where interim answers (RFC 9110 §15.2) wait for whoever passes them on: status and end-to-end fields. A `100 Continue`
/// is not among them, for none was asked for. Nearly always empty, so it is less than a channel.
#[derive(Clone, Debug, Default)]
pub struct Interim(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    answers: VecDeque<(StatusCode, HeaderMap)>,
    reader: Option<Waker>,
}

impl Interim {
    /// One came.
    pub fn tell(&self, status: StatusCode, headers: HeaderMap) {
        let mut waiting = self.waiting();
        waiting.answers.push_back((status, headers));
        let reader = waiting.reader.take();
        drop(waiting);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// The next one; if there is none the reader is woken by the next, if it `waits` for it.
    pub fn poll_heard(&self, cx: &Context<'_>, waits: bool) -> Poll<(StatusCode, HeaderMap)> {
        let mut waiting = self.waiting();
        if let Some(answer) = waiting.answers.pop_front() {
            return Poll::Ready(answer);
        }
        if waits && !waiting.reader.as_ref().is_some_and(|reader| reader.will_wake(cx.waker())) {
            waiting.reader = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who asked, for `Forwarded` and FastCGI parameters.
#[derive(Clone, Debug)]
pub struct Client {
    /// The client's address after `trusted_proxies` were believed; `None` on a unix socket.
    pub remote: Option<SocketAddr>,
    /// Our own address on that connection.
    pub local: Option<SocketAddr>,
    /// `http` or `https`.
    pub scheme: &'static str,
    /// `HTTP/1.1` or `HTTP/1.0`.
    pub version: &'static str,
}

/// An origin's answer: its head, and a body that may still be arriving.
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// End-to-end fields (hop-by-hop ones dropped).
    pub headers: HeaderMap,
    /// The body.
    pub body: AnswerBody,
    /// How the attempt went.
    pub timing: Timing,
}

/// An answer's body.
pub enum AnswerBody {
    /// None.
    Empty,
    /// All there.
    Bytes(Bytes),
    /// An extent of a file.
    File {
        /// The open file.
        file: Arc<std::fs::File>,
        /// First byte.
        offset: u64,
        /// Length, bytes.
        len: u64,
    },
    /// Arriving. Ends early with a `Failure` if the origin dies.
    Stream {
        /// Announced length, bytes.
        len: Option<u64>,
        /// Data frames (and at most one trailers frame).
        frames: Pin<Box<dyn http_body::Body<Data = Bytes, Error = Failure>>>,
    },
    /// None: with this answer, a 101, the connection speaks another protocol.
    Switched(Box<Switched>),
}

/// How long the parts of an attempt took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    /// Connecting, µs; 0 if the connection was reused.
    pub connect_us: u64,
    /// From sending to the head, µs.
    pub first_byte_us: u64,
    /// The connection had been used before.
    pub reused: bool,
    /// Why the connection carries no request after this one, where that is our decision.
    pub last_use: Option<Reuse>,
}

/// How far a failed attempt got, for the retry verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// Nothing was sent.
    NotSent,
    /// Something was sent, no answer began.
    Sent,
    /// The answer had begun.
    Answered,
}

/// A failed attempt.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Why.
    pub reason: Upstream,
    /// For those who may see it: the system's own words.
    pub detail: String,
    /// How far it got.
    pub reached: Reached,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.reason, self.detail)
    }
}

impl std::error::Error for Failure {}

/// Where an upstream listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Host name or address, and port. Names are looked up now and then.
    Tcp(String, u16),
    /// A unix socket.
    Unix(PathBuf),
}

/// Limits of one upstream, for the whole process (all cores together).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamLimits {
    /// Connections at once. Default 256.
    pub max_connections: usize,
    /// Of them, those that may have changed to another protocol. Default 128.
    pub upgraded_max: usize,
    /// Requests waiting for a connection. Default 1024.
    pub queue_max: usize,
    /// How long one waits. Default 10 s.
    pub queue_timeout: Duration,
    /// Default 2 s.
    pub connect_timeout: Duration,
    /// From the request sent to the head. Default 60 s.
    pub head_timeout: Duration,
    /// Between two pieces of the body. Default 60 s.
    pub body_timeout: Duration,
    /// How much longer a fetch for the cache waits for a head that no client waits for any more. Default 10 s.
    pub abandon_after: Duration,
    /// An idle connection is closed after this. Default 55 s.
    pub idle_timeout: Duration,
    /// Largest head. Default 64 KiB.
    pub head_max_bytes: usize,
    /// A name is looked up again after this. Default 10 s.
    pub resolve_every: Duration,
    /// Whether a connection is used again after it carried content. Default: as method and status allow.
    pub reuse_after_body: ReuseAfterBody,
}

impl Default for UpstreamLimits {
    fn default() -> Self {
        UpstreamLimits {
            max_connections: 256,
            upgraded_max: 128,
            queue_max: 1024,
            queue_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(2),
            head_timeout: Duration::from_secs(60),
            body_timeout: Duration::from_secs(60),
            abandon_after: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(55),
            head_max_bytes: 64 * 1024,
            resolve_every: Duration::from_secs(10),
            reuse_after_body: ReuseAfterBody::Auto,
        }
    }
}

/// An HTTP/1.1 upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// Its name, for traces.
    pub name: String,
    /// Where it listens.
    pub address: Address,
    /// The Host it is told; `None` passes the canonical host of the site.
    pub host: Option<String>,
    /// Put before the path, without trailing slash; usually empty.
    pub base_path: String,
    /// Limits.
    pub limits: UpstreamLimits,
}

/// A FastCGI application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastCgiSettings {
    /// Its name, for traces.
    pub name: String,
    /// Where it listens.
    pub address: Address,
    /// Limits. `max_connections` defaults to 64 here: php-fpm gives each connection a process.
    pub limits: UpstreamLimits,
}

/// A folder of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesSettings {
    /// The root, absolute.
    pub root: PathBuf,
    /// Draw a listing where there is no index document.
    pub listing: bool,
    /// Follow links inside the root (never out of it). Default true.
    pub follow_links: bool,
    /// Paths that are never served although inside the root (Samovar's own configuration).
    pub never: Vec<PathBuf>,
    /// Media types by extension (lower case, no dot) before the built-in table.
    pub types: Vec<(String, String)>,
}
