//! A core's listeners: accepting while the server runs, and at its stop whatever the kernel holds.
//!
//! The kernel completes connections by itself and keeps them until they are accepted; closing a listener resets those. So at
//! a stop they are accepted first, in plain calls, as the runtime may not have heard of them yet. Not here: what becomes of a
//! connection (`meet`), binding (`accept`).

use super::accept::BACKLOG;
use super::meet::{Ends, connect, connect_tls};
use super::worker::{Door, Mine};
use crate::descriptors;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;

/// How often a listener says that it cannot accept.
const SAY_AGAIN: Duration = Duration::from_secs(60);

/// How long a listener rests when it cannot accept.
const REST: Duration = Duration::from_millis(50);

/// How long a listener goes on at a stop: the last packet of a handshake, for which its client does not wait, may be on its
/// way. As long as a packet takes halfway round the world.
const HANDSHAKES: Duration = Duration::from_millis(100);

/// Connections accepted at the end at most, should more come than go: what one listener's kernel queue holds, twice.
const LAST_MAX: i32 = 2 * BACKLOG;

/// Accepts until the stop, and then what is there.
pub(super) async fn listen(door: Door, mine: Mine, mut stopping: watch::Receiver<bool>) {
    let stop = async {
        // An error means that the sender is gone, which is a stop as well.
        let _ = stopping.wait_for(|stop| *stop).await;
        tokio::time::sleep(HANDSHAKES).await;
    };
    let ended = match mine.socket.set_nonblocking(true) {
        Ok(()) if mine.unix => unix(&door, mine, stop).await,
        Ok(()) => tcp(&door, mine, stop).await,
        Err(error) => Err(error),
    };
    if let Err(error) = ended {
        crate::say!("samovar: listener {}: {error}", door.id);
    }
}

async fn tcp(door: &Door, mine: Mine, stop: impl Future<Output = ()>) -> io::Result<()> {
    let listener = TcpListener::from_std(mine.socket.into())?;
    let mut trouble = Trouble::default();
    let accept = async {
        loop {
            match poll_fn(|cx| descriptors::usual_only(|| listener.poll_accept(cx))).await {
                Ok((stream, peer)) => begin(door, stream, peer),
                Err(error) => trouble.rest(&error).await,
            }
        }
    };
    tokio::select! {
        () = accept => {}
        () = stop => {}
    }
    let listener = listener.into_std()?;
    last(
        || listener.accept(),
        |(stream, peer)| {
            stream.set_nonblocking(true)?;
            begin(door, TcpStream::from_std(stream)?, peer);
            Ok(())
        },
    )
    .await
}

fn begin(door: &Door, stream: TcpStream, peer: SocketAddr) {
    // Responses leave whole; waiting for more to send would only delay them.
    let _ = stream.set_nodelay(true);
    let ends = Ends { peer: Some(peer), local: stream.local_addr().ok() };
    match door.tls {
        true => connect_tls(door, stream, ends),
        false => connect(door, stream, ends),
    }
}

async fn unix(door: &Door, mine: Mine, stop: impl Future<Output = ()>) -> io::Result<()> {
    let nobody = Ends { peer: None, local: None };
    let listener = UnixListener::from_std(mine.socket.into())?;
    let mut trouble = Trouble::default();
    let accept = async {
        loop {
            match poll_fn(|cx| descriptors::usual_only(|| listener.poll_accept(cx))).await {
                Ok((stream, _)) => connect(door, stream, nobody),
                Err(error) => trouble.rest(&error).await,
            }
        }
    };
    tokio::select! {
        () = accept => {}
        () = stop => {}
    }
    let listener = listener.into_std()?;
    last(
        || listener.accept(),
        |(stream, _)| {
            stream.set_nonblocking(true)?;
            connect(door, UnixStream::from_std(stream)?, nobody);
            Ok(())
        },
    )
    .await
}

/// Begins the connections that the kernel holds, until it holds none.
async fn last<T>(
    accept: impl Fn() -> io::Result<T>,
    mut begin: impl FnMut(T) -> io::Result<()>,
) -> io::Result<()> {
    for n in 1..=LAST_MAX {
        match descriptors::usual_only(&accept) {
            Ok(accepted) => begin(accepted)?,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if descriptors::none_left(&error) => tokio::time::sleep(REST).await,
            // This one's client has left.
            Err(_) => {}
        }
        if n % 64 == 0 {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

/// A listener that cannot accept.
#[derive(Default)]
struct Trouble {
    said: Option<tokio::time::Instant>,
}

impl Trouble {
    /// Out of file descriptors, most likely: wait for some to come back instead of spinning. Those who wait meanwhile are
    /// in the system's queue. Said once a minute, as it may go on for long.
    async fn rest(&mut self, error: &io::Error) {
        use std::io::ErrorKind;
        if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) {
            return;
        }
        let now = tokio::time::Instant::now();
        if self.said.is_none_or(|then| now.duration_since(then) >= SAY_AGAIN) {
            self.said = Some(now);
            crate::say!(
                "samovar: accept: {error}\nhint: new connections wait until others end; raise the limit of open files \
                 (`ulimit -n`, LimitNOFILE=), or lower `limits.connections_max` or `limits.idle_timeout`"
            );
        }
        tokio::time::sleep(REST).await;
    }
}
