//! `thirst null-server`, not in the help: the server of known behaviour as a program, for benches.
//!
//! Not here: what it does ([`crate::null_server`]).

use std::io::{Write, stdout};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clap::Args;

use crate::null_server::{Manner, NullServer, Stall};
use crate::plan::size;

#[derive(Debug, Args)]
pub(super) struct NullServerArgs {
    /// Where to listen
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,

    /// How long after its request an answer goes out
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = size::duration)]
    pub delay: Duration,

    /// How long the bodies of answers are
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub body: u32,

    /// How long after the first request it stops answering, with --stall-for
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = size::duration)]
    pub stall_after: Duration,

    /// How long it does not answer
    #[arg(long, value_name = "TIME", value_parser = size::duration)]
    pub stall_for: Option<Duration>,
}

/// Serves until it is told to end; the first line says where.
pub(super) fn serve(args: &NullServerArgs, stop: &AtomicBool) -> Result<(), String> {
    let stall = args.stall_for.map(|lasts| Stall { after: args.stall_after, lasts });
    let manner = Manner { body_bytes: args.body as usize, delay: args.delay, stall };
    let refused = |error| format!("cannot serve at {}: {error}", args.listen);
    let server = NullServer::listen(args.listen, manner).map_err(refused)?;
    writeln!(stdout(), "{}", server.url())
        .map_err(|error| format!("cannot say where it listens: {error}"))?;
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(50));
    }
    server.stop().map(|_| ()).map_err(refused)
}
