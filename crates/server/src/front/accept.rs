//! Listening sockets: bound once each, accepted from by every core.

use crate::config::{Listen, Settings, TargetSettings};
use crate::descriptors;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Connections the kernel keeps for us until they are accepted; it caps the figure itself.
pub const BACKLOG: i32 = 4096;

/// One bound address, as sockets for each core.
pub struct Listener {
    /// What it is called in keys of the hot tier.
    pub id: u32,
    /// The port; 0 for a unix socket.
    pub port: u16,
    /// Whether it speaks TLS.
    pub tls: bool,
    /// As people read it: `http://127.0.0.1:8080`.
    pub text: String,
    /// The unix socket's path, to remove at the end.
    pub path: Option<std::path::PathBuf>,
    sockets: Vec<Socket>,
}

impl Listener {
    /// The socket of a core.
    pub fn take(&mut self) -> Option<Socket> {
        self.sockets.pop()
    }
}

/// Binds `wanted` for `cores` cores.
///
/// # Errors
/// In words, with what to do.
pub fn bind(wanted: &Listen, id: u32, cores: usize) -> Result<Listener, String> {
    match wanted {
        Listen::Tcp(address) => bind_tcp(*address, false, id, cores),
        Listen::Tls(address) => bind_tcp(*address, true, id, cores),
        Listen::Unix(path) => bind_unix(path, id, cores),
    }
}

fn bind_tcp(wanted: SocketAddr, tls: bool, id: u32, cores: usize) -> Result<Listener, String> {
    let explain = |e: std::io::Error| {
        let hint = match e.kind() {
            std::io::ErrorKind::AddrInUse => {
                "another program listens there; stop it, or choose another port (0 picks a free one)"
            }
            std::io::ErrorKind::PermissionDenied => {
                "ports below 1024 need CAP_NET_BIND_SERVICE (setcap, or AmbientCapabilities= in a systemd unit)"
            }
            std::io::ErrorKind::AddrNotAvailable => "no interface of this machine has that address",
            _ => "check the address",
        };
        format!("listen on {wanted}: {e}\nhint: {hint}")
    };
    // A probe without SO_REUSEPORT: with it, a second server of the same user would silently share the port.
    let probe = once_free(|| tcp_socket(wanted, false)).map_err(explain)?;
    let address = probe.local_addr().map_err(explain)?.as_socket().unwrap_or(wanted);
    drop(probe);
    let mut sockets = Vec::with_capacity(cores);
    for _ in 0..cores {
        let socket = tcp_socket(address, true).map_err(explain)?;
        socket.listen(BACKLOG).map_err(explain)?;
        sockets.push(socket);
    }
    let scheme = if tls { "https" } else { "http" };
    Ok(Listener { id, port: address.port(), tls, text: format!("{scheme}://{address}"), path: None, sockets })
}

/// How long an address may still be in use: a process that was told to stop gives its own up within this time.
const IN_USE: Duration = Duration::from_millis(400);

/// Binds, and tries again for a moment if the address is in use.
///
/// # Errors
/// As `bind` says in the end.
pub fn once_free<T>(bind: impl Fn() -> std::io::Result<T>) -> std::io::Result<T> {
    let until = Instant::now() + IN_USE;
    loop {
        match bind() {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(20));
            }
            done => return done,
        }
    }
}

fn tcp_socket(address: SocketAddr, share: bool) -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        // "[::]" means IPv6 only, so that it can stand beside "0.0.0.0".
        socket.set_only_v6(true)?;
    }
    if share {
        socket.set_reuse_port(true)?;
    }
    socket.bind(&SockAddr::from(address))?;
    Ok(socket)
}

fn bind_unix(path: &Path, id: u32, cores: usize) -> Result<Listener, String> {
    let explain = |e: std::io::Error| {
        format!(
            "listen on unix:{}: {e}\nhint: is the folder there and writable, and nothing else in the way?",
            path.display()
        )
    };
    remove_stale(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None).map_err(explain)?;
    socket.bind(&SockAddr::unix(path).map_err(explain)?).map_err(explain)?;
    socket.listen(BACKLOG).map_err(explain)?;
    let mut sockets = Vec::with_capacity(cores);
    for _ in 1..cores {
        sockets.push(socket.try_clone().map_err(explain)?);
    }
    sockets.push(socket);
    Ok(Listener {
        id,
        port: 0,
        tls: false,
        text: format!("unix:{}", path.display()),
        path: Some(path.to_path_buf()),
        sockets,
    })
}

/// Whether a process listens at a unix socket. Asked without waiting: one that does not accept holds up nobody.
pub fn is_listened_at(path: &Path) -> bool {
    let connected = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)
        .and_then(|socket| socket.connect(&SockAddr::unix(path)?));
    match connected {
        Ok(()) => true,
        // Its queue is full (unix(7), connect(2)).
        Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
    }
}

/// A socket file that nobody listens on any more is in the way; anything else is not ours to remove.
fn remove_stale(path: &Path) -> Result<(), String> {
    let Ok(meta) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !meta.file_type().is_socket() {
        return Err(format!(
            "listen on unix:{}: there is a file of that name, and it is no socket\nhint: choose another path",
            path.display()
        ));
    }
    if is_listened_at(path) {
        return Err(format!(
            "listen on unix:{}: another program listens there\nhint: stop it, or choose another path",
            path.display()
        ));
    }
    std::fs::remove_file(path).map_err(|e| format!("remove the stale socket {}: {e}", path.display()))
}

/// Files that are open beside the connections of clients and to upstreams: listeners, logs, responses out of files, and what
/// is kept back.
const FILES_BESIDE: u64 = 256;

/// What to say if fewer files may be open than these settings promise connections.
pub fn too_few_files(settings: &Settings) -> Option<String> {
    let limits = settings.targets.iter().map(|target| match target {
        TargetSettings::Http(upstream) => upstream.limits.max_connections,
        TargetSettings::FastCgi(app) => app.upstream.limits.max_connections,
        TargetSettings::Files(_) => 0,
    });
    let wanted = FILES_BESIDE + (limits.sum::<usize>() + settings.limits.connections_max) as u64;
    let there = descriptors::limit()?;
    (there < wanted).then(|| {
        format!(
            "only {there} files may be open at once, and `limits.connections_max` with what upstreams and files need comes to \
             {wanted}; raise it with `ulimit -n` or LimitNOFILE=, or lower `connections_max`"
        )
    })
}
