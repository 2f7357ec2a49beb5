//! Opening a socket to an upstream, TCP or unix, within a time limit.
//!
//! The system's own words end in the failure's detail, with the address that was tried, so that "refused" can
//! be told from "no route" or "no such socket". Not here: pooling, any protocol.

use crate::{Address, Failure, Reached};
use samovar_reason::Upstream;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A connected stream socket of either family.
#[derive(Debug)]
pub(crate) enum Socket {
    /// TCP, without Nagle's delay.
    Tcp(TcpStream),
    /// A unix stream socket.
    Unix(UnixStream),
}

/// Connects, or says why not. A name is resolved anew each time; its addresses are tried in turn, each with a
/// fair share of the time that is left, so that one black hole does not eat the whole limit.
pub(crate) async fn connect(address: &Address, limit: Duration) -> Result<Socket, Failure> {
    match address {
        Address::Unix(path) => {
            let shown = format!("unix:{}", path.display());
            match tokio::time::timeout(limit, UnixStream::connect(path)).await {
                Ok(Ok(stream)) => Ok(Socket::Unix(stream)),
                Ok(Err(error)) => Err(refused(&shown, &error, true)),
                Err(_) => Err(too_slow(&shown, limit)),
            }
        }
        Address::Tcp(host, port) => connect_tcp(host, *port, limit).await,
    }
}

async fn connect_tcp(host: &str, port: u16, limit: Duration) -> Result<Socket, Failure> {
    let begun = Instant::now();
    // Brackets belong to URLs, not to the resolver.
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    let named = format!("{host}:{port}");
    let addresses: Vec<SocketAddr> =
        match tokio::time::timeout(limit, tokio::net::lookup_host((bare, port))).await {
            Ok(Ok(found)) => found.collect(),
            Ok(Err(error)) => return Err(not_sent(Upstream::Unresolved, format!("resolve {host}: {error}"))),
            Err(_) => {
                return Err(not_sent(
                    Upstream::Unresolved,
                    format!("resolve {host}: no answer within {limit:?}"),
                ));
            }
        };
    let mut last = not_sent(Upstream::Unresolved, format!("resolve {host}: the name has no address"));
    for (tried, address) in addresses.iter().enumerate() {
        let waiting = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        let share = limit.saturating_sub(begun.elapsed()) / waiting;
        let shown = shown(&named, address);
        last = match tokio::time::timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Without it a small second write waits for the peer's delayed acknowledgement.
                let _ = stream.set_nodelay(true);
                return Ok(Socket::Tcp(stream));
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
        // A listener that closes breaks off those who wait in its queue: php-fpm that restarts.
        Some(Errno::CONNRESET | Errno::PIPE) => Upstream::Reset,
        Some(Errno::TIMEDOUT) => Upstream::ConnectTimeout,
        Some(Errno::MFILE | Errno::NFILE | Errno::ADDRNOTAVAIL | Errno::NOBUFS) => Upstream::NoSockets,
        _ => Upstream::Unreachable,
    }
}

impl Socket {
    /// The peer has neither closed the connection nor said anything. Asked of the kernel, because the reactor
    /// may not have heard of it yet.
    pub(crate) fn is_quiet(&self) -> bool {
        use rustix::net::{RecvFlags, recv};
        let mut byte = [0_u8; 1];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let peeked = match self {
            Socket::Tcp(s) => recv(s, &mut byte[..], flags),
            Socket::Unix(s) => recv(s, &mut byte[..], flags),
        };
        matches!(peeked, Err(rustix::io::Errno::AGAIN))
    }

    /// As far as the reactor has heard, the peer has neither closed the connection nor said anything. Costs no call of
    /// the system unless there is something to hear.
    pub(crate) fn seems_quiet(&self) -> bool {
        let mut byte = [0_u8; 1];
        let read = match self {
            Socket::Tcp(s) => s.try_read(&mut byte),
            Socket::Unix(s) => s.try_read(&mut byte),
        };
        matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// The same socket, woken by the runtime of the calling thread.
    pub(crate) fn rehome(self) -> io::Result<Socket> {
        Ok(match self {
            Socket::Tcp(s) => Socket::Tcp(TcpStream::from_std(s.into_std()?)?),
            Socket::Unix(s) => Socket::Unix(UnixStream::from_std(s.into_std()?)?),
        })
    }

    /// Writes what the kernel takes at once.
    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => s.try_write(bytes),
            Socket::Unix(s) => s.try_write(bytes),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(s) => Pin::new(s).poll_read(cx, buf),
            Socket::Unix(s) => Pin::new(s).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(s) => Pin::new(s).poll_write(cx, buf),
            Socket::Unix(s) => Pin::new(s).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(s) => Pin::new(s).poll_write_vectored(cx, bufs),
            Socket::Unix(s) => Pin::new(s).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(s) => Pin::new(s).poll_shutdown(cx),
            Socket::Unix(s) => Pin::new(s).poll_shutdown(cx),
        }
    }
}
