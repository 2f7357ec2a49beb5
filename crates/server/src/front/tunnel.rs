//! A connection that has changed to another protocol (RFC 9110 §7.8): bytes both ways between client and upstream, as they
//! come, until both sides have ended, one breaks, nothing goes for too long, or the server stops.
//!
//! Each way ends by itself: who has said all may still listen. Nothing is held but what one side has sent and the other
//! does not take, 16 KiB each way; whoever sends more waits. Not here: whether there is such a connection
//! (`pipeline::upgrade`).

use crate::pipeline::Switch;
use crate::state::Core;
use samovar_hot::{Pipe, Wire};
use samovar_reason::Upgrade;
use std::future::{Future, poll_fn};
use std::io;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// The most of one read, bytes.
const PIECE_BYTES: usize = 16 << 10;
/// About what such a connection takes while nothing is held back, bytes: its task, both sockets, their buffers.
const TUNNEL_BYTES: u64 = 4 << 10;
/// How long a client whose upstream has ended may stay without a byte: nobody answers it any more.
const AFTER_UPSTREAM: Duration = Duration::from_secs(30);
/// How long both sides have, when the server stops, to take what is under way and to end.
const GOODBYE: Duration = Duration::from_secs(1);

/// Counts one while it lives.
struct Counted {
    core: Rc<Core>,
    bytes: u64,
}

impl Counted {
    fn new(core: &Rc<Core>, own_bytes: usize) -> Counted {
        let bytes = TUNNEL_BYTES + own_bytes as u64;
        core.tunnels.set(core.tunnels.get() + 1);
        core.tunnels_bytes.set(core.tunnels_bytes.get() + bytes);
        Counted { core: Rc::clone(core), bytes }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.core.tunnels.set(self.core.tunnels.get().saturating_sub(1));
        self.core.tunnels_bytes.set(self.core.tunnels_bytes.get().saturating_sub(self.bytes));
    }
}

/// Moves bytes until it is over.
pub(super) async fn run<S: Wire>(
    core: &Rc<Core>,
    mut client: Pipe<S>,
    switch: Switch,
    idle: Option<Duration>,
) {
    let Switch { mut upstream, mut finish } = switch;
    let _counted = Counted::new(core, client.own_bytes());
    let (mut up, mut down) = (Way::default(), Way::default());
    let mut stop = pin!(core.leaving.notified());
    let stopping = core.hub.get().is_some_and(|hub| hub.draining());
    let why = {
        let mut both = Both::new(&mut client, &mut *upstream, &mut up, &mut down);
        let mut timer = pin!(Timer::new(idle));
        poll_fn(|cx| {
            if stopping || stop.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Upgrade::ServerStopped);
            }
            if let Poll::Ready(why) = both.poll(cx) {
                return Poll::Ready(why);
            }
            timer.as_mut().poll(cx, both.moved, both.silence(idle)).map(|()| Upgrade::Idle)
        })
        .await
    };
    match why {
        Upgrade::UpstreamBroke => client.break_off(),
        Upgrade::ServerStopped | Upgrade::Idle => {
            // What was taken from one side is given to the other, and both hear that there is no more.
            let end = goodbye(&mut client, &mut *upstream, &mut up, &mut down);
            let _cut = tokio::time::timeout(GOODBYE, end).await;
        }
        _ => {}
    }
    finish.upgraded(why, up.bytes, down.bytes);
}

/// Nothing more is read that would be passed on; what is left goes out, then the ends, then the others' ends are waited
/// for, so that no unread byte turns an end into a reset.
async fn goodbye<C, U>(client: &mut C, upstream: &mut U, up: &mut Way, down: &mut Way)
where
    C: AsyncRead + AsyncWrite + Unpin,
    U: AsyncRead + AsyncWrite + Unpin,
{
    let (client_ended, upstream_ended) = (up.eof, down.eof);
    (up.eof, down.eof) = (true, true);
    poll_fn(|cx| {
        let done = [up.poll(cx, client, upstream), down.poll(cx, upstream, client)];
        if done.iter().all(Poll::is_ready) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    tokio::join!(drain(client, client_ended), drain(upstream, upstream_ended));
}

async fn drain<R: AsyncRead + Unpin>(from: &mut R, ended: bool) {
    if !ended {
        let _end = tokio::io::copy(from, &mut tokio::io::sink()).await;
    }
}

/// The time without a byte. It is looked at when it could be over, not with every byte.
struct Timer {
    sleep: Pin<Box<tokio::time::Sleep>>,
}

impl Timer {
    fn new(idle: Option<Duration>) -> Timer {
        Timer { sleep: Box::pin(tokio::time::sleep(idle.unwrap_or(AFTER_UPSTREAM))) }
    }

    fn poll(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        moved: Instant,
        limit: Option<Duration>,
    ) -> Poll<()> {
        let Some(limit) = limit else { return Poll::Pending };
        let due = moved.checked_add(limit);
        let Some(due) = due else { return Poll::Pending };
        if due < self.sleep.deadline() {
            self.sleep.as_mut().reset(due);
        }
        while self.sleep.as_mut().poll(cx).is_ready() {
            if Instant::now() >= due {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(due);
        }
        Poll::Pending
    }
}

/// Both ways.
struct Both<'a, C, U> {
    client: &'a mut C,
    upstream: &'a mut U,
    up: &'a mut Way,
    down: &'a mut Way,
    moved: Instant,
    seen_bytes: u64,
    ended: Option<Upgrade>,
}

impl<'a, C, U> Both<'a, C, U>
where
    C: AsyncRead + AsyncWrite + Unpin,
    U: AsyncRead + AsyncWrite + Unpin,
{
    fn new(client: &'a mut C, upstream: &'a mut U, up: &'a mut Way, down: &'a mut Way) -> Both<'a, C, U> {
        Both { client, upstream, up, down, moved: Instant::now(), seen_bytes: 0, ended: None }
    }

    /// For how long nothing may go either way, as things are.
    fn silence(&self, idle: Option<Duration>) -> Option<Duration> {
        if self.down.eof { Some(idle.map_or(AFTER_UPSTREAM, |idle| idle.min(AFTER_UPSTREAM))) } else { idle }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Upgrade> {
        let up = self.up.poll(cx, self.client, self.upstream);
        let down = self.down.poll(cx, self.upstream, self.client);
        let bytes = self.up.bytes + self.down.bytes;
        if bytes != std::mem::replace(&mut self.seen_bytes, bytes) {
            self.moved = Instant::now();
        }
        if self.ended.is_none() && (self.up.eof || self.down.eof) {
            // The other side has its time from now on.
            self.moved = Instant::now();
            self.ended = Some(if self.up.eof { Upgrade::ClientClosed } else { Upgrade::UpstreamClosed });
        }
        match (up, down) {
            (Poll::Ready(Err(Broken::Source)), _) | (_, Poll::Ready(Err(Broken::Sink))) => {
                Poll::Ready(Upgrade::ClientBroke)
            }
            (Poll::Ready(Err(Broken::Sink)), _) | (_, Poll::Ready(Err(Broken::Source))) => {
                Poll::Ready(Upgrade::UpstreamBroke)
            }
            (Poll::Ready(Ok(())), Poll::Ready(Ok(()))) => {
                Poll::Ready(self.ended.unwrap_or(Upgrade::UpstreamClosed))
            }
            _ => Poll::Pending,
        }
    }
}

/// Which end of a way broke.
enum Broken {
    Source,
    Sink,
}

/// One way.
#[derive(Default)]
struct Way {
    /// Read and not yet taken by the other side; empty nearly always.
    left: Vec<u8>,
    at: usize,
    eof: bool,
    shut: bool,
    bytes: u64,
}

impl Way {
    /// Moves what can be moved now. Ready when this way has ended.
    fn poll<R, W>(&mut self, cx: &mut Context<'_>, from: &mut R, to: &mut W) -> Poll<Result<(), Broken>>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        if self.shut {
            return Poll::Ready(Ok(()));
        }
        loop {
            while self.at < self.left.len() {
                let rest = self.left.get(self.at..).unwrap_or_default();
                match ready!(Pin::new(&mut *to).poll_write(cx, rest)) {
                    Ok(bytes) if bytes > 0 => self.at += bytes,
                    _ => return Poll::Ready(Err(Broken::Sink)),
                }
            }
            (self.left, self.at) = (Vec::new(), 0);
            if self.eof {
                // TLS says goodbye here; a side that is gone already hears it no more.
                ready!(Pin::new(&mut *to).poll_flush(cx)).map_err(|_| Broken::Sink)?;
                let shut = ready!(Pin::new(&mut *to).poll_shutdown(cx));
                self.shut = true;
                return Poll::Ready(shut.or_else(gone_is_fine).map_err(|_| Broken::Sink));
            }
            let mut room = [MaybeUninit::uninit(); PIECE_BYTES];
            let mut buf = ReadBuf::uninit(&mut room);
            match Pin::new(&mut *from).poll_read(cx, &mut buf) {
                // What was written may still be held: by TLS.
                Poll::Pending => {
                    ready!(Pin::new(&mut *to).poll_flush(cx)).map_err(|_| Broken::Sink)?;
                    return Poll::Pending;
                }
                Poll::Ready(Err(_)) => return Poll::Ready(Err(Broken::Source)),
                Poll::Ready(Ok(())) => {}
            }
            let piece = buf.filled();
            self.eof = piece.is_empty();
            self.bytes += piece.len() as u64;
            let written = match Pin::new(&mut *to).poll_write(cx, piece) {
                _ if piece.is_empty() => 0,
                Poll::Pending => 0,
                Poll::Ready(Ok(bytes)) if bytes > 0 => bytes,
                Poll::Ready(_) => return Poll::Ready(Err(Broken::Sink)),
            };
            self.left = piece.get(written..).unwrap_or_default().to_vec();
        }
    }
}

/// The other side has closed both ways before we said that there is no more.
fn gone_is_fine(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::NotConnected | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Ok(()),
        _ => Err(error),
    }
}
