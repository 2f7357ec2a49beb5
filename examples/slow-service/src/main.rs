//! slow-service: a web service that makes everybody wait, to learn on it which limit binds.
//!
//! `GET /catalogue?delay=20ms&items=50` answers with XML after the delay, as services do that wait for another one.
//! It works on `--concurrent` requests at once, lets `--queue` wait and refuses the rest; `/counters` says how it
//! stands. It caches nothing and says nothing about caching. Not here: anything of Samovar; the example would run behind
//! any proxy, or bare.

mod ask;
mod catalogue;
mod counters;
mod gate;
mod keyring;
mod keys;
mod serve;

use ask::duration;
use clap::Parser;
use gate::Gate;
use keyring::Keyring;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};

/// Answers slowly, with XML, to as many requests at once as it is told to bear.
#[derive(Parser)]
#[command(name = "slow-service", version)]
struct Flags {
    /// Where to listen; port 0 takes any free port and prints it
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Requests worked on at once; its threads, if it had some
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    concurrent: u32,
    /// Requests that may wait for a turn; those beyond are refused with 503
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    queue: u32,
    /// The longest delay a client may ask for: 500ms, 2s
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    delay_max: Duration,
    /// Who may ask: a file with a line `KEY ITEMS_MAX NAME` each, read again when it changes; without it everybody may
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
}

fn main() -> ExitCode {
    let flags = Flags::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = match runtime {
        // Waiting is all this service does; one thread waits for thousands.
        Ok(runtime) => runtime.block_on(run(flags)),
        Err(e) => Err(format!("cannot start: {e}")),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            eprintln!("slow-service: {trouble}");
            ExitCode::FAILURE
        }
    }
}

async fn run(flags: Flags) -> Result<(), String> {
    let listener = listen(flags.listen).map_err(|e| {
        format!("cannot listen on {}: {e}; choose another with --listen, port 0 for any", flags.listen)
    })?;
    let address = listener.local_addr().map_err(|e| format!("cannot tell the address: {e}"))?;
    let files = more_files();
    let keyring = match &flags.keys {
        Some(path) => Some(Keyring::open(path)?),
        None => None,
    };
    println!("bears      {} at once, {} waiting, {files} open files", flags.concurrent, flags.queue);
    if let Some(keyring) = &keyring {
        println!("keys       {} from {}", keyring.now().len(), keyring.path().display());
        tokio::spawn(Arc::clone(keyring).follow());
    }
    println!("listening  http://{address}");
    let gate = Gate::new(flags.concurrent, flags.queue);
    serve::serve(&listener, serve::Service { gate, keyring, delay_max: flags.delay_max }).await;
    Ok(())
}

/// Thousands who come at once wait in the system's queue, as far as the system has one of this length.
fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(4096)
}

/// A connection is an open file, and many systems hand out 1,024 unless they are asked for more. How many there are now.
fn more_files() -> String {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let now = match setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    now.map_or_else(|| "unlimited".to_string(), |n| n.to_string())
}
