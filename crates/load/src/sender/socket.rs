//! Names to addresses, and the few calls on sockets a load test makes.
//!
//! Not here: what is done with the bytes.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::sockopt::{set_tcp_nodelay, socket_error};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};

use crate::plan::{Origin, Place};
use crate::tally::Failure;

/// An address to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// TCP.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => path.display().fmt(f),
        }
    }
}

/// All addresses of a server: those that are known before, or else those the system gives, in its order.
///
/// # Errors
/// A sentence for the person at the command line.
pub fn resolve(origin: &Origin, known: &[(String, IpAddr)]) -> Result<Vec<Address>, String> {
    match &origin.place {
        Place::Unix(path) => Ok(vec![Address::Unix(path.clone())]),
        Place::Tcp { host, port } if known.iter().any(|(name, _)| name.eq_ignore_ascii_case(host)) => {
            let here = known.iter().filter(|(name, _)| name.eq_ignore_ascii_case(host));
            Ok(here.map(|(_, address)| Address::Tcp(SocketAddr::new(*address, *port))).collect())
        }
        Place::Tcp { host, port } => {
            let found = (host.as_str(), *port).to_socket_addrs().map_err(|error| {
                format!("cannot find the address of `{host}`: {error}; is the name right?")
            })?;
            let mut addresses: Vec<Address> = Vec::new();
            for address in found.map(Address::Tcp) {
                if !addresses.contains(&address) {
                    addresses.push(address);
                }
            }
            if addresses.is_empty() { Err(format!("`{host}` has no address")) } else { Ok(addresses) }
        }
    }
}

/// Begins to connect, from `source` if one is given; the socket becomes writable when it is decided.
pub(super) fn connect(address: &Address, source: Option<IpAddr>) -> Result<OwnedFd, Errno> {
    let family = match address {
        Address::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
        Address::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
        Address::Unix(_) => AddressFamily::UNIX,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
    let begun = match address {
        Address::Tcp(address) => {
            set_tcp_nodelay(&socket, true)?;
            if let Some(source) = source {
                net::bind(&socket, &SocketAddr::new(source, 0))?;
            }
            net::connect(&socket, address)
        }
        Address::Unix(path) => net::connect(&socket, &SocketAddrUnix::new(path)?),
    };
    match begun {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

/// Ends a connection by a reset, so that its port is free at once.
pub(super) fn reset(socket: &OwnedFd) {
    // If it is refused, the connection ends as others do.
    let _ = rustix::net::sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO));
}

/// What became of a connect.
pub(super) fn connect_result(socket: &OwnedFd) -> Result<(), Errno> {
    socket_error(socket)?
}

/// Reads what is there.
pub(super) fn read(socket: impl AsFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    net::recv(socket, buffer, RecvFlags::empty()).map(|(read, _)| read)
}

/// Writes what fits.
pub(super) fn write(socket: impl AsFd, bytes: &[u8]) -> Result<usize, Errno> {
    net::send(socket, bytes, SendFlags::NOSIGNAL)
}

/// Which failure a refused connect is.
pub(super) fn connect_failure(error: Errno) -> Failure {
    match error {
        Errno::CONNREFUSED => Failure::Refused,
        Errno::TIMEDOUT => Failure::ConnectTimeout,
        Errno::ADDRNOTAVAIL => Failure::NoPorts,
        Errno::MFILE | Errno::NFILE => Failure::NoFiles,
        _ => Failure::Connect,
    }
}

/// Which failure an error of an open socket is.
pub(super) fn io_failure(error: Errno) -> Failure {
    match error {
        Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED => Failure::Reset,
        _ => Failure::Other,
    }
}

/// The text of an error as the system words it.
pub(super) fn text(error: Errno) -> String {
    io::Error::from(error).to_string()
}
