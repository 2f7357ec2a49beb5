//! What a connection's stream must be able to do: be read and written, and say how much of what it took is still on the
//! way.
//!
//! The last is how a slow client is told from one that has stopped: the system takes megabytes at once and asks for more
//! only when a third of them is gone, which at ten kilobytes a second takes longer than any patience.
//! Not here: what follows from it (`limits`).

use rustix::fd::AsFd;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::{TcpStream, UnixStream};

/// A stream below a [`crate::Layer`].
pub trait Wire: AsyncRead + AsyncWrite + Unpin {
    /// Bytes that were written and that the peer has not taken yet; `None` if nobody can tell.
    fn unsent_bytes(&self) -> Option<u64> {
        None
    }

    /// What was sent is not to be taken for whole: nothing is said at the end that vouches for it. With `reset` the peer is
    /// to see the connection break.
    fn break_off(&mut self, _reset: bool) {}

    /// Memory it takes beside what every connection takes, bytes.
    fn own_bytes(&self) -> usize {
        0
    }
}

impl Wire for TcpStream {
    fn break_off(&mut self, reset: bool) {
        if reset {
            // Closed like this, what waits to be sent is dropped and the peer gets a reset (socket(7), `SO_LINGER`).
            let _ = rustix::net::sockopt::set_socket_linger(self, Some(std::time::Duration::ZERO));
        }
    }

    fn unsent_bytes(&self) -> Option<u64> {
        queued_bytes(self)
    }
}

impl Wire for UnixStream {
    fn unsent_bytes(&self) -> Option<u64> {
        queued_bytes(self)
    }
}

/// In memory; for tests.
impl Wire for DuplexStream {}

/// What is in a socket's sending queue: for TCP, what the peer has not acknowledged (tcp(7), `SIOCOUTQ`).
#[allow(unsafe_code, reason = "the system is asked by ioctl, for which there is no safe call")]
fn queued_bytes(socket: &impl AsFd) -> Option<u64> {
    /// `SIOCOUTQ`, which Linux defines as `TIOCOUTQ`: 0x5411 on most architectures, 0x7472 on MIPS, 0x40047473 on POWER
    /// and SPARC has its own.
    const SIOCOUTQ: rustix::ioctl::Opcode = 0x5411;
    if !cfg!(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "x86"
    )) {
        return None;
    }
    // SAFETY: on these architectures the number is SIOCOUTQ, which writes one C int to where its argument points and reads
    // nothing (tcp(7), unix(7)); `Getter` brings room for exactly that type.
    let getter = unsafe { rustix::ioctl::Getter::<SIOCOUTQ, std::ffi::c_int>::new() };
    // SAFETY: as above; a descriptor of another kind answers with an error.
    let queued = unsafe { rustix::ioctl::ioctl(socket, getter) }.ok()?;
    u64::try_from(queued).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn what_the_peer_has_not_taken() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut ours = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut theirs, _) = listener.accept().await.unwrap();
        assert_eq!(ours.unsent_bytes(), Some(0));
        // More than both ends hold: what is left over waits here.
        let mut written = 0;
        while let Ok(Ok(bytes)) =
            tokio::time::timeout(std::time::Duration::from_millis(200), ours.write(&[7; 1 << 16])).await
        {
            written += bytes as u64;
        }
        let full = ours.unsent_bytes().unwrap();
        assert!(full > 0 && full <= written, "{full} of {written}");
        let mut all = vec![0; usize::try_from(written).unwrap()];
        theirs.read_exact(&mut all).await.unwrap();
        while ours.unsent_bytes() != Some(0) {
            tokio::task::yield_now().await;
        }
        let (ours, _theirs) = UnixStream::pair().unwrap();
        assert_eq!(ours.unsent_bytes(), Some(0));
        ours.try_write(b"abc").unwrap();
        assert!(ours.unsent_bytes().unwrap() > 0);
    }
}
