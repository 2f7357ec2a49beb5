//! The admin side: its own listener, its own thread, never on a serving core.
//!
//! `api` lists the routes and writes the OpenAPI document, `guard` decides who may ask, `shapes` are the bodies,
//! `explain` tries a request dry, `metrics` speaks Prometheus. Not here: the commands that ask it (`cli`).

mod api;
mod compression;
mod explain;
mod guard;
mod hosts;
mod limits;
mod metrics;
mod shapes;
mod upstreams;

use crate::config::Listen;
use crate::state::Shared;
use crate::{descriptors, front};
use axum::serve::Listener;
use guard::Guard;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::watch;

/// How long the listener rests when it cannot accept.
const REST: Duration = Duration::from_millis(50);

/// The environment variable that holds the admin token.
pub const TOKEN_VARIABLE: &str = "SAMOVAR_ADMIN_TOKEN";

/// A bound admin address.
pub struct Bound {
    /// As people read it.
    pub text: String,
    socket: Socket,
    guard: Guard,
    path: Option<std::path::PathBuf>,
}

enum Socket {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

/// Binds the admin address. Beyond loopback and unix sockets a token is demanded.
///
/// # Errors
/// In words.
pub fn bind(address: &Listen) -> Result<Bound, String> {
    let token = std::env::var(TOKEN_VARIABLE).ok().filter(|t| !t.is_empty());
    let explain = |e: std::io::Error| {
        format!(
            "admin: listen on {address}: {e}\nhint: choose another address with `--admin`, or turn it off with `--admin off`"
        )
    };
    match address {
        Listen::Tls(_) => Err(format!(
            "admin: {address}: the admin interface has no TLS of its own\n\
             hint: listen on a loopback address and reach it by `ssh -L 9900:127.0.0.1:9900 HOST`"
        )),
        Listen::Tcp(a) => {
            if !a.ip().is_loopback() && token.is_none() {
                return Err(format!(
                    "admin: {a} can be reached from other machines, so a token is needed\n\
                     hint: set {TOKEN_VARIABLE} to a long random word, or listen on 127.0.0.1 or unix:/PATH"
                ));
            }
            let socket = front::once_free(|| std::net::TcpListener::bind(a)).map_err(explain)?;
            let local = socket.local_addr().map_err(explain)?;
            let guard = Guard::tcp(local, token);
            Ok(Bound { text: format!("http://{local}"), socket: Socket::Tcp(socket), guard, path: None })
        }
        Listen::Unix(path) => {
            if !front::is_listened_at(path) {
                // Left over by a server that did not end in peace; a live one is not touched.
                let is_socket = std::fs::symlink_metadata(path)
                    .is_ok_and(|m| std::os::unix::fs::FileTypeExt::is_socket(&m.file_type()));
                if is_socket {
                    let _ = std::fs::remove_file(path);
                }
            }
            let socket = std::os::unix::net::UnixListener::bind(path).map_err(explain)?;
            let _ = std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600));
            let text = format!("unix:{}", path.display());
            Ok(Bound {
                text,
                socket: Socket::Unix(socket),
                guard: Guard::unix(token),
                path: Some(path.clone()),
            })
        }
    }
}

/// A running admin side.
pub struct Running {
    path: Option<std::path::PathBuf>,
    stop: watch::Sender<bool>,
}

impl Running {
    /// Gives the address up at once, so that another process can take it. A request that has come is still answered, unless
    /// the process ends before.
    pub fn stop(self) {
        if let Some(path) = self.path {
            let _ = std::fs::remove_file(path);
        }
        let _ended = self.stop.send(true);
    }
}

/// A listener that accepts also when connections have taken all descriptors.
struct Reserved<L>(L);

impl Listener for Reserved<tokio::net::TcpListener> {
    type Io = tokio::net::TcpStream;
    type Addr = std::net::SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        accept(|cx| self.0.poll_accept(cx)).await
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

impl Listener for Reserved<tokio::net::UnixListener> {
    type Io = tokio::net::UnixStream;
    type Addr = tokio::net::unix::SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        accept(|cx| self.0.poll_accept(cx)).await
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

async fn accept<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<std::io::Result<T>>) -> T {
    loop {
        let accepted = poll_fn(|cx| {
            match descriptors::reserved(|| match poll(cx) {
                Poll::Ready(accepted) => accepted.map(Poll::Ready),
                Poll::Pending => Ok(Poll::Pending),
            }) {
                Ok(Poll::Ready(accepted)) => Poll::Ready(Ok(accepted)),
                Ok(Poll::Pending) => Poll::Pending,
                Err(error) => Poll::Ready(Err(error)),
            }
        });
        match accepted.await {
            Ok(accepted) => return accepted,
            // The client left, or those kept back are in use, too.
            Err(_) => tokio::time::sleep(REST).await,
        }
    }
}

/// Starts the admin thread.
///
/// # Errors
/// In words.
pub fn start(shared: &Arc<Shared>, bound: Bound) -> Result<Running, String> {
    let Bound { socket, guard, path, .. } = bound;
    let router = api::router(Arc::clone(shared), guard);
    let (stop, mut stopping) = watch::channel(false);
    let stopped = async move {
        // An error means that nobody can stop it any more, which is a stop as well.
        let _ = stopping.wait_for(|stop| *stop).await;
    };
    let serve = move || {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                crate::say!("samovar: the admin side cannot start: {error}");
                return;
            }
        };
        let result = runtime.block_on(async move {
            match socket {
                Socket::Tcp(socket) => {
                    socket.set_nonblocking(true)?;
                    let listener = Reserved(tokio::net::TcpListener::from_std(socket)?);
                    axum::serve(listener, router).with_graceful_shutdown(stopped).await
                }
                Socket::Unix(socket) => {
                    socket.set_nonblocking(true)?;
                    let listener = Reserved(tokio::net::UnixListener::from_std(socket)?);
                    axum::serve(listener, router).with_graceful_shutdown(stopped).await
                }
            }
        });
        if let Err(error) = result {
            crate::say!("samovar: the admin side stopped: {error}");
        }
    };
    std::thread::Builder::new()
        .name("admin".into())
        .spawn(serve)
        .map_err(|e| format!("start the admin thread: {e}"))?;
    Ok(Running { path, stop })
}
