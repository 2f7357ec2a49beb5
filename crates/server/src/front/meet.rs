//! The first moments of a connection: a place for it, for whom a proxy speaks, and a handshake, in this order.
//!
//! Not here: accepting (`worker`), what is said afterwards (`samovar_hot`, `pipeline`).

use super::proxied::{self, NoHead};
use super::tls;
use super::worker::{Door, converse, met};
use crate::state::{Place, Snapshot};
use samovar_hot::proxy::Says;
use samovar_hot::{Accepted, Wire};
use samovar_reason::{Explain, Reject};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::spawn_local;

/// One connection more than allowed: told so, and closed.
async fn turn_away<S: AsyncWrite + Unpin>(stream: S, why: Reject) {
    tell(stream, "503 Service Unavailable\r\nretry-after: 1", why).await;
}

/// An answer to a connection that has not begun.
async fn tell<S: AsyncWrite + Unpin>(mut stream: S, status: &str, why: Reject) {
    let (code, text) = (why.code(), why.text());
    let answer = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: text/plain\r\nx-content-type-options: nosniff\r\ncontent-length: {}\r\n\
         cache-status: Samovar; detail={code}\r\n\r\n{code}: {text}\n",
        code.len() + 2 + text.len() + 1
    );
    // A client that does not even take this is dropped.
    let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(answer.as_bytes())).await;
}

/// Who connected, and to which address of ours; neither on a unix socket.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) peer: Option<SocketAddr>,
    pub(super) local: Option<SocketAddr>,
}

/// The stream and its place, if there is one; else the client is told so. Who a proxy will name is counted once it has.
fn take_place<S: AsyncWrite + Unpin + 'static>(
    door: &Door,
    stream: S,
    ends: Ends,
    proxied: bool,
) -> Option<(S, Place)> {
    let snapshot = door.core.shared.snapshot();
    let limits = &snapshot.settings.limits;
    let (address, each_max) = if proxied { (None, None) } else { counted(&snapshot, ends.peer) };
    match door.core.shared.places.take(address, limits.connections_max, each_max) {
        Ok(place) => Some((stream, place)),
        Err(why) => {
            no_place(door, stream, why);
            None
        }
    }
}

/// The address that a connection counts for, and how many it may have.
fn counted(snapshot: &Snapshot, peer: Option<SocketAddr>) -> (Option<IpAddr>, Option<usize>) {
    let most = snapshot.settings.limits.connections_per_address;
    let each_max = most.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
    let address = peer.map(|peer| peer.ip().to_canonical()).filter(|ip| {
        // Behind a proxy there are many.
        each_max.is_some() && !snapshot.settings.server.trusted_proxies.trusts(Some(*ip))
    });
    (address, each_max)
}

fn no_place<S: AsyncWrite + Unpin + 'static>(door: &Door, stream: S, why: Reject) {
    // Who speaks TLS cannot be told.
    door.core.counters.reject(why, (!door.tls).then_some(503));
    if !door.tls {
        let present = Rc::clone(&door.core.present);
        spawn_local(async move {
            turn_away(stream, why).await;
            drop(present);
        });
    }
}

/// Whether this peer is to say for whom it speaks before anything else.
fn is_proxied(door: &Door, peer: Option<SocketAddr>) -> bool {
    let snapshot = door.core.shared.snapshot();
    snapshot.settings.server.proxy_protocol.trusts(peer.map(|peer| peer.ip().to_canonical()))
}

/// Reads for whom a trusted proxy speaks: the stream after that, and whose it is.
async fn introduced<S>(door: &Door, mut stream: S, ends: Ends, place: &mut Place) -> Option<(S, Ends)>
where
    S: Wire + 'static,
{
    let snapshot = door.core.shared.snapshot();
    let head = proxied::head(&mut stream, snapshot.settings.limits.head_timeout);
    let named = match door.core.unless_idle_over(head).await? {
        Ok(Says::Client { source, destination }) => Ends { peer: Some(source), local: Some(destination) },
        Ok(Says::Nobody) => return Some((stream, ends)),
        Err(NoHead::LeftAtOnce) => return None,
        Err(NoHead::Refused(why)) => {
            // Whatever speaks there does not expect an answer, and may be anybody's.
            door.core.counters.reject(why, None);
            return None;
        }
    };
    let (address, each_max) = counted(&snapshot, named.peer);
    if let (Some(address), Some(each_max)) = (address, each_max)
        && let Err(why) = place.count_for(address, each_max)
    {
        no_place(door, stream, why);
        return None;
    }
    Some((stream, named))
}

/// Begins a connection without TLS.
pub(super) fn connect<S>(door: &Door, stream: S, ends: Ends)
where
    S: Wire + 'static,
{
    let proxied = is_proxied(door, ends.peer);
    let Some((stream, mut place)) = take_place(door, stream, ends, proxied) else { return };
    let (door, present) = (door.clone(), Rc::clone(&door.core.present));
    if proxied {
        spawn_local(async move {
            if let Some((stream, ends)) = introduced(&door, stream, ends, &mut place).await {
                plain(&door, stream, ends).await;
            }
            drop((place, present));
        });
        return;
    }
    spawn_local(async move {
        plain(&door, stream, ends).await;
        drop((place, present));
    });
}

async fn plain<S>(door: &Door, stream: S, ends: Ends)
where
    S: Wire + 'static,
{
    let conn = met(door, ends.peer, ends.local);
    let layer = door.hub.accept(stream, Accepted { listener: conn.listener, peer: ends.peer });
    converse(door, layer, &conn).await;
}

/// The same, after a handshake that must come to an end as a head must.
pub(super) fn connect_tls(door: &Door, stream: TcpStream, ends: Ends) {
    let proxied = is_proxied(door, ends.peer);
    // Whoever is one too many is not worth a handshake.
    let Some((stream, mut place)) = take_place(door, stream, ends, proxied) else { return };
    let (door, present) = (door.clone(), Rc::clone(&door.core.present));
    spawn_local(async move {
        let introduced = match proxied {
            true => introduced(&door, stream, ends, &mut place).await,
            false => Some((stream, ends)),
        };
        if let Some((stream, ends)) = introduced {
            shake_hands(&door, stream, ends).await;
        }
        drop((place, present));
    });
}

async fn shake_hands(door: &Door, stream: TcpStream, ends: Ends) {
    let snapshot = door.core.shared.snapshot();
    let patience = snapshot.settings.limits.head_timeout;
    let Some(config) = snapshot.tls.clone() else {
        // The last certificate was taken out of the file; the listener is closed at the next start.
        door.core.counters.reject(Reject::TlsHandshake, None);
        return;
    };
    drop(snapshot);
    let handshake = tokio::time::timeout(patience, tls::accept(config, stream));
    let Some(shaken) = door.core.unless_idle_over(handshake).await else { return };
    match shaken {
        Ok(Ok(stream)) => plain(door, stream, ends).await,
        Ok(Err(tls::Failed::PlainHttp(stream))) => {
            door.core.counters.reject(Reject::PlainHttp, Some(400));
            tell(stream, "400 Bad Request", Reject::PlainHttp).await;
        }
        Ok(Err(tls::Failed::Handshake)) | Err(_) => {
            door.core.counters.reject(Reject::TlsHandshake, None);
        }
    }
}
