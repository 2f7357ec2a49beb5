//! Opening a socket to an upstream, TCP or unix, within a time limit.
//!
//! The system's own words end in the failure's detail, with the address that was tried, so that "refused" can
//! be told from "no route" or "no such socket". Not here: which addresses a name has (`peer`), pooling, any protocol.

use crate::{Failure, Reached};
use samovar_reason::Upstream;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A connected stream socket of either family, whose bytes are counted.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: Stream,
    to: Option<SocketAddr>,
    carried: Arc<Carried>,
}

/// A TCP socket without Nagle's delay, or a unix stream socket.
#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Bytes to and from an upstream, counted where they leave and enter.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    to: AtomicU64,
    from: AtomicU64,
}

impl Carried {
    /// To it, and from it.
    pub(crate) fn get(&self) -> (u64, u64) {
        (self.to.load(Ordering::Relaxed), self.from.load(Ordering::Relaxed))
    }

    fn sent(&self, wrote: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = wrote {
            self.to.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        wrote
    }
}

/// Connects to a unix socket, or says why not.
pub(crate) async fn connect_unix(
    path: &Path,
    limit: Duration,
    carried: &Arc<Carried>,
) -> Result<Socket, Failure> {
    let shown = format!("unix:{}", path.display());
    match tokio::time::timeout(limit, UnixStream::connect(path)).await {
        Ok(Ok(stream)) => Ok(Socket { stream: Stream::Unix(stream), to: None, carried: Arc::clone(carried) }),
        Ok(Err(error)) => Err(refused(&shown, &error, true)),
        Err(_) => Err(too_slow(&shown, limit)),
    }
}

/// The addresses of a name.
pub(crate) async fn resolve(host: &str, port: u16, limit: Duration) -> Result<Vec<SocketAddr>, Failure> {
    match tokio::time::timeout(limit, tokio::net::lookup_host((host, port))).await {
        Ok(Ok(found)) => Ok(found.collect()),
        Ok(Err(error)) => Err(not_sent(Upstream::Unresolved, format!("resolve {host}: {error}"))),
        Err(_) => Err(not_sent(Upstream::Unresolved, format!("resolve {host}: no answer within {limit:?}"))),
    }
}

/// Connects to one of the addresses, tried in turn, each with a fair share of the time that is left, so that one black
/// hole does not eat the whole limit; or says why not.
pub(crate) async fn connect_tcp(
    named: &str,
    addresses: &[SocketAddr],
    limit: Duration,
    carried: &Arc<Carried>,
) -> Result<Socket, Failure> {
    let begun = Instant::now();
    let mut last = not_sent(Upstream::Unresolved, format!("resolve {named}: the name has no address"));
    for (tried, address) in addresses.iter().enumerate() {
        let waiting = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        let share = limit.saturating_sub(begun.elapsed()) / waiting;
        let shown = shown(named, address);
        last = match tokio::time::timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Without it a small second write waits for the peer's delayed acknowledgement.
                let _ = stream.set_nodelay(true);
                let (stream, to) = (Stream::Tcp(stream), Some(*address));
                return Ok(Socket { stream, to, carried: Arc::clone(carried) });
            }
            Ok(Err(error)) => refused(&shown, &error, false),
            Err(_) => too_slow(&shown, limit),
        };
    }
    Err(last)
}

/// `127.0.0.1:9`, or `app.internal:9 (10.0.0.1:9)` where a name was resolved.
fn shown(named: &str, address: &SocketAddr) -> String {
    let address = address.to_string();
    if named == address { address } else { format!("{named} ({address})") }
}

fn refused(shown: &str, error: &io::Error, unix: bool) -> Failure {
    not_sent(reason_of(error, unix), format!("connect to {shown}: {error}"))
}

fn too_slow(shown: &str, limit: Duration) -> Failure {
    not_sent(Upstream::ConnectTimeout, format!("connect to {shown}: no answer within {limit:?}"))
}

fn not_sent(reason: Upstream, detail: String) -> Failure {
    Failure { reason, detail, reached: Reached::NotSent }
}

fn reason_of(error: &io::Error, unix: bool) -> Upstream {
    use rustix::io::Errno;
    let number = error.raw_os_error().map(Errno::from_raw_os_error);
    match number {
        Some(Errno::CONNREFUSED) => Upstream::Refused,
        Some(Errno::NOENT | Errno::NOTDIR) if unix => Upstream::SocketMissing,
        Some(Errno::ACCESS | Errno::PERM) if unix => Upstream::SocketDenied,
        // A full backlog of a unix socket answers at once instead of waiting.
        Some(Errno::AGAIN) if unix => Upstream::Overloaded,
        Some(Errno::TIMEDOUT) => Upstream::ConnectTimeout,
        Some(Errno::MFILE | Errno::NFILE | Errno::ADDRNOTAVAIL | Errno::NOBUFS) => Upstream::NoSockets,
        _ => Upstream::Unreachable,
    }
}

impl Socket {
    /// The address it is connected to; `None` for a unix socket.
    pub(crate) fn to(&self) -> Option<SocketAddr> {
        self.to
    }

    /// The peer has neither closed the connection nor said anything. Asked of the kernel, because the reactor
    /// may not have heard of it yet.
    pub(crate) fn is_quiet(&self) -> bool {
        use rustix::net::{RecvFlags, recv};
        let mut byte = [0_u8; 1];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let peeked = match &self.stream {
            Stream::Tcp(s) => recv(s, &mut byte[..], flags),
            Stream::Unix(s) => recv(s, &mut byte[..], flags),
        };
        matches!(peeked, Err(rustix::io::Errno::AGAIN))
    }

    /// As far as the reactor has heard, the peer has neither closed the connection nor said anything. Costs no call of
    /// the system unless there is something to hear.
    pub(crate) fn seems_quiet(&self) -> bool {
        let mut byte = [0_u8; 1];
        let read = match &self.stream {
            Stream::Tcp(s) => s.try_read(&mut byte),
            Stream::Unix(s) => s.try_read(&mut byte),
        };
        matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// The same socket, woken by the runtime of the calling thread.
    pub(crate) fn rehome(self) -> io::Result<Socket> {
        let stream = match self.stream {
            Stream::Tcp(s) => Stream::Tcp(TcpStream::from_std(s.into_std()?)?),
            Stream::Unix(s) => Stream::Unix(UnixStream::from_std(s.into_std()?)?),
        };
        Ok(Socket { stream, to: self.to, carried: self.carried })
    }

    /// Writes what the kernel takes at once.
    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let wrote = match &self.stream {
            Stream::Tcp(s) => s.try_write(bytes),
            Stream::Unix(s) => s.try_write(bytes),
        }?;
        self.carried.to.fetch_add(wrote as u64, Ordering::Relaxed);
        Ok(wrote)
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let socket = self.get_mut();
        let before = buf.filled().len();
        let read = match &mut socket.stream {
            Stream::Tcp(s) => Pin::new(s).poll_read(cx, buf),
            Stream::Unix(s) => Pin::new(s).poll_read(cx, buf),
        };
        let came = buf.filled().len() - before;
        if came > 0 {
            socket.carried.from.fetch_add(came as u64, Ordering::Relaxed);
        }
        read
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let socket = self.get_mut();
        let wrote = match &mut socket.stream {
            Stream::Tcp(s) => Pin::new(s).poll_write(cx, buf),
            Stream::Unix(s) => Pin::new(s).poll_write(cx, buf),
        };
        socket.carried.sent(wrote)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let socket = self.get_mut();
        let wrote = match &mut socket.stream {
            Stream::Tcp(s) => Pin::new(s).poll_write_vectored(cx, bufs),
            Stream::Unix(s) => Pin::new(s).poll_write_vectored(cx, bufs),
        };
        socket.carried.sent(wrote)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Tcp(s) => Pin::new(s).poll_shutdown(cx),
            Stream::Unix(s) => Pin::new(s).poll_shutdown(cx),
        }
    }
}
