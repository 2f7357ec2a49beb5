//! TLS over a socket that is not waited for: bytes in and out of a session, as they come.
//!
//! Not here: which certificates are trusted ([`super::trust`]), and when to read or write.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::{refusal, socket};

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    connection: ClientConnection,
}

/// A socket as rustls wants it.
struct Pipe<'a>(BorrowedFd<'a>);

impl Write for Pipe<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        socket::write(self.0, bytes).map_err(io::Error::from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a session cannot go on after.
pub(super) enum Broken {
    /// The socket.
    Socket(Errno),
    /// The other side, or its certificate.
    Tls(String),
}

impl Session {
    /// Begins one with a server of this name.
    pub(super) fn begin(config: &Arc<ClientConfig>, name: ServerName<'static>) -> Result<Session, String> {
        let connection =
            ClientConnection::new(Arc::clone(config), name).map_err(|error| refusal::words(&error))?;
        Ok(Session { connection })
    }

    /// Whether the handshake is not over.
    pub(super) fn is_shaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Whether there are bytes for the socket.
    pub(super) fn wants_write(&self) -> bool {
        self.connection.wants_write()
    }

    /// Takes bytes to be sent; they are all taken.
    pub(super) fn give(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.connection.set_buffer_limit(None);
        self.connection.writer().write_all(bytes).map_err(|error| Broken::Tls(error.to_string()))
    }

    /// Writes to the socket what fits; whether all did.
    pub(super) fn push(&mut self, socket: impl AsFd) -> Result<bool, Broken> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut Pipe(socket.as_fd())) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Broken::Socket(Errno::from_io_error(&error).unwrap_or(Errno::IO))),
            }
        }
        Ok(true)
    }

    /// Takes bytes of the socket, as many as it has room for; how many it took.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> Result<usize, Broken> {
        let (before, all) = (bytes.len(), bytes);
        if let Err(error) = self.connection.read_tls(&mut bytes) {
            return Err(Broken::Tls(error.to_string()));
        }
        match self.connection.process_new_packets() {
            Ok(_) => Ok(before - bytes.len()),
            Err(error) => {
                let plain = refusal::plain(all).filter(|_| self.is_shaking());
                Err(Broken::Tls(plain.map_or_else(|| refusal::words(&error), str::to_owned)))
            }
        }
    }

    /// Plain bytes, if there are any; 0 when there are none for now.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> usize {
        self.connection.reader().read(buffer).unwrap_or(0)
    }
}
