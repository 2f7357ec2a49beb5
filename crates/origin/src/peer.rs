//! Where an upstream listens, as it is known now: the addresses of its name, looked up again now and then.
//!
//! A name is looked up when it is first needed and again after `resolve_every`; if that fails, the addresses known before
//! go on being used, for a resolver that is ill should not take a site down. Connections to addresses that the name has no
//! more are not used again. Not here: opening sockets (`connect`), pooling.

use crate::connect::{Carried, Socket, connect_tcp, connect_unix, resolve};
use crate::{Address, Failure};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// See the file's head.
pub(crate) struct Peer {
    address: Address,
    /// The address itself, where it is no name.
    literal: Option<SocketAddr>,
    resolve_every: Duration,
    known: Mutex<Known>,
    /// Which of several addresses is tried first; each connection begins with the next.
    turn: AtomicUsize,
    carried: Arc<Carried>,
}

#[derive(Default)]
struct Known {
    addresses: Arc<[SocketAddr]>,
    at: Option<Instant>,
}

impl Peer {
    pub(crate) fn new(address: Address, resolve_every: Duration) -> Peer {
        let literal = match &address {
            Address::Tcp(host, port) => bare(host).parse::<IpAddr>().ok().map(|ip| (ip, *port).into()),
            Address::Unix(_) => None,
        };
        let (known, turn) = (Mutex::default(), AtomicUsize::new(0));
        Peer { address, literal, resolve_every, known, turn, carried: Arc::default() }
    }

    /// Whether it listens at a name, which may move.
    pub(crate) fn is_named(&self) -> bool {
        matches!(self.address, Address::Tcp(..)) && self.literal.is_none()
    }

    /// Bytes to and from it since the start.
    pub(crate) fn carried(&self) -> (u64, u64) {
        self.carried.get()
    }

    /// Connects within the limit, or says why not.
    pub(crate) async fn connect(&self, limit: Duration) -> Result<Socket, Failure> {
        let (host, port) = match &self.address {
            Address::Unix(path) => return connect_unix(path, limit, &self.carried).await,
            Address::Tcp(host, port) => (host, *port),
        };
        let named = format!("{host}:{port}");
        if let Some(address) = self.literal {
            return connect_tcp(&named, &[address], limit, &self.carried).await;
        }
        let begun = Instant::now();
        let known = self.addresses(host, port, limit).await?;
        let mut addresses = known.to_vec();
        let count = addresses.len();
        addresses.rotate_left(self.turn.fetch_add(1, Ordering::Relaxed).checked_rem(count).unwrap_or(0));
        connect_tcp(&named, &addresses, limit.saturating_sub(begun.elapsed()), &self.carried).await
    }

    /// Looks the name up again if that was long ago.
    pub(crate) async fn look_up(&self, limit: Duration) {
        if let (Address::Tcp(host, port), None) = (&self.address, self.literal)
            // Of one that nobody has asked for yet nothing needs to be known.
            && self.known().at.is_some()
        {
            let _still_known = self.addresses(host, *port, limit).await;
        }
    }

    /// Whether a connection to this address may still be used.
    pub(crate) fn still_is(&self, to: Option<SocketAddr>) -> bool {
        match to {
            Some(to) if self.literal.is_none() => self.known().addresses.contains(&to),
            _ => true,
        }
    }

    async fn addresses(&self, host: &str, port: u16, limit: Duration) -> Result<Arc<[SocketAddr]>, Failure> {
        let before = {
            let known = self.known();
            if known.at.is_some_and(|at| at.elapsed() < self.resolve_every) {
                return Ok(Arc::clone(&known.addresses));
            }
            Arc::clone(&known.addresses)
        };
        match resolve(bare(host), port, limit).await {
            Ok(found) if !found.is_empty() || before.is_empty() => {
                let mut known = self.known();
                *known = Known { addresses: found.into(), at: Some(Instant::now()) };
                Ok(Arc::clone(&known.addresses))
            }
            Err(failure) if before.is_empty() => Err(failure),
            _ => {
                self.known().at = Some(Instant::now());
                Ok(before)
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Brackets belong to URLs, not to the resolver.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(host: &str, resolve_every: Duration, known: &[&str]) -> Peer {
        let peer = Peer::new(Address::Tcp(host.to_owned(), 80), resolve_every);
        let addresses = known.iter().map(|a| a.parse().unwrap()).collect();
        *peer.known() = Known { addresses, at: Some(Instant::now()) };
        peer
    }

    fn at(address: &str) -> Option<SocketAddr> {
        Some(address.parse().unwrap())
    }

    #[test]
    fn connections_to_addresses_that_a_name_has_no_more_are_not_used() {
        let peer = named("app.internal", Duration::from_secs(10), &["10.0.0.1:80", "10.0.0.2:80"]);
        assert!(peer.is_named() && peer.still_is(at("10.0.0.2:80")));
        peer.known().addresses = ["10.0.0.1:80".parse().unwrap()].into();
        assert!(peer.still_is(at("10.0.0.1:80")) && !peer.still_is(at("10.0.0.2:80")));
        // An address is no name, and stays what it is.
        let literal = Peer::new(Address::Tcp("[::1]".to_owned(), 80), Duration::from_secs(10));
        assert!(!literal.is_named() && literal.still_is(at("10.0.0.9:80")));
    }

    #[tokio::test]
    async fn a_name_is_looked_up_again_and_what_was_known_outlives_a_resolver_that_fails() {
        let limit = Duration::from_secs(5);
        // It has moved since: what is known now is what the system says.
        let moved = named("localhost", Duration::ZERO, &["10.0.0.1:80"]);
        moved.look_up(limit).await;
        assert!(
            moved.known().addresses.iter().all(|a| a.ip().is_loopback()),
            "{:?}",
            moved.known().addresses
        );
        // Until it is time, nobody is asked.
        let young = named("localhost", Duration::from_secs(3600), &["10.0.0.1:80"]);
        young.look_up(limit).await;
        assert!(young.still_is(at("10.0.0.1:80")));
        let failing = named("no-such-name.invalid", Duration::ZERO, &["10.0.0.1:80"]);
        failing.look_up(limit).await;
        assert!(failing.still_is(at("10.0.0.1:80")));
    }
}
