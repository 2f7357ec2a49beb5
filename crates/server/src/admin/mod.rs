//! The admin side: its own listener, its own thread, never on a serving core.

use crate::config::Listen;
use crate::state::Shared;
use std::sync::Arc;

/// A bound admin address.
pub struct Bound {
    /// As people read it.
    pub text: String,
    socket: Socket,
}

enum Socket {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

/// Binds the admin address.
///
/// # Errors
/// In words.
pub fn bind(address: &Listen) -> Result<Bound, String> {
    let explain = |e: std::io::Error| {
        format!("admin: listen on {address}: {e}\nhint: choose another with `--admin`, or `--admin off`")
    };
    match address {
        Listen::Tcp(a) => {
            let socket = std::net::TcpListener::bind(a).map_err(explain)?;
            let text = format!("http://{}", socket.local_addr().map_err(explain)?);
            Ok(Bound { text, socket: Socket::Tcp(socket) })
        }
        Listen::Unix(path) => {
            let socket = std::os::unix::net::UnixListener::bind(path).map_err(explain)?;
            Ok(Bound { text: format!("unix:{}", path.display()), socket: Socket::Unix(socket) })
        }
    }
}

/// Starts the admin thread.
///
/// # Errors
/// In words.
pub fn start(_shared: &Arc<Shared>, bound: Bound) -> Result<(), String> {
    let _ = (bound.text, bound.socket);
    Ok(())
}
