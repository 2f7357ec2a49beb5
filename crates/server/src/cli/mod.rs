//! The command line: what can be asked of `samovar`, and what each exit code means.

mod serve;

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;

/// An output cache for any web application: put it in front, add a rule, see why.
#[derive(Debug, Parser)]
#[command(name = "samovar", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a folder, an origin, or what a configuration file says.
    Serve(ServeArgs),
}

/// `samovar serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// A folder of files to serve.
    #[arg(value_name = "DIR", conflicts_with_all = ["origin", "config"])]
    dir: Option<PathBuf>,
    /// An HTTP origin to put the cache in front of: http://127.0.0.1:3000
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    origin: Option<String>,
    /// A configuration file; `samovar init` writes one to begin with.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where to listen: ADDRESS:PORT, [IPV6]:PORT or unix:/PATH; may be repeated, port 0 picks one.
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<String>,
    /// Where the admin interface listens, or `off`.
    #[arg(long, value_name = "ADDRESS")]
    admin: Option<String>,
    /// Serving threads; one per core if not given.
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// The memory budget: `4 GiB`, `512MiB`.
    #[arg(long, value_name = "SIZE")]
    memory: Option<String>,
    /// Where the access log goes: `stderr`, `off`, or a file.
    #[arg(long, value_name = "WHERE")]
    access_log: Option<String>,
    /// What a line of the access log looks like.
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<Format>,
    /// Draw listings of folders without an index document.
    #[arg(long, requires = "dir")]
    listing: bool,
    /// When ready, write {"listen":[…],"admin":"…","pid":N} to this file.
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Apache's combined, with more at the end.
    Combined,
    /// One JSON object per line.
    Json,
}

/// Runs the command line.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Serve(args) => serve::serve(args),
    };
    match result {
        Ok(code) => code,
        Err(message) => {
            eprintln!("samovar: {message}");
            ExitCode::FAILURE
        }
    }
}
