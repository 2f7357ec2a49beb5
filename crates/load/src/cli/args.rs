//! The flags, declared once: help and parsing come from here.
//!
//! Names are those people know from wrk, h2load and bombardier where these agree. Not here: what flags lead to.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use super::export::ExportArgs;
use super::import::ImportArgs;
use crate::content::Set;
use crate::plan::{Target, request, size};

/// The load tester beside Samovar.
#[derive(Debug, Parser)]
#[command(name = "thirst", version, about, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0    the run is VALID or SUSPECT; the report was drawn; the files were written
  1    wrong usage, a file that cannot be read or written, or no connection at all
  3    the run was made, but its verdict is INVALID
  130  Ctrl-C twice; once ends the run and reports what was measured";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Put load on one or more URLs and report what was measured
    Run(Box<RunArgs>),
    /// Draw stored runs side by side: one table, one plot
    Report(ReportArgs),
    /// Read a plan, a list of URLs, or files of WCAT 5 and 6.3, and say what they ask for, or what is wrong with them
    Check(CheckArgs),
    /// Make a plan of a list of URLs or files of WCAT
    Import(ImportArgs),
    /// Make files of WCAT, or a list of URLs, of a plan
    Export(ExportArgs),
    /// Make files to be served: by number, size and entropy, map tiles, photographs
    Content(ContentArgs),
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct RunArgs {
    /// http://host:port/path, or unix:/path/to/socket:/path; several are asked in turn
    #[arg(value_name = "URL", required_unless_present = "urls_from")]
    pub urls: Vec<Target>,

    /// What to ask, one URL or path a line, in turn; paths are asked of the server of URL, which is not asked itself then
    #[arg(long = "urls", value_name = "FILE")]
    pub urls_from: Option<PathBuf>,

    /// Connections over all threads; each sends its next request when its last answer is whole
    #[arg(short = 'c', long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub connections: u32,

    /// How long to measure: 10s, 500ms, 2m; 10s if -n does not say when to end
    #[arg(short = 'd', long, value_name = "TIME", value_parser = size::duration)]
    pub duration: Option<Duration>,

    /// Send exactly this many measured requests
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,

    /// Threads that send; half the cores if not given
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,

    /// A header field, 'Name: value'; replaces ours of the same name
    #[arg(short = 'H', long = "header", value_name = "FIELD", value_parser = request::header)]
    pub headers: Vec<(String, String)>,

    /// The method; GET, or POST when there is a body
    #[arg(short = 'm', long, value_name = "METHOD", value_parser = request::method)]
    pub method: Option<String>,

    /// The body of each request, or @FILE to read it from
    #[arg(short = 'b', long, value_name = "BODY|@FILE")]
    pub body: Option<String>,

    /// Load before the measured window
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = size::duration)]
    pub warmup: Duration,

    /// Load after the measured window
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = size::duration)]
    pub cooldown: Duration,

    /// How long a connect or an answer may take; known to 0.1 s
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = size::duration)]
    pub timeout: Duration,

    /// A new connection for each request
    #[arg(long)]
    pub no_keepalive: bool,

    /// Write the report as JSON, `-` for stdout
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    /// Write the report as an HTML page with plots
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// A name for the run in tables and plots
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,

    /// A process whose CPU to watch with all below it; who listens at a local target is found without
    #[arg(long, value_name = "[NAME=]PID", value_parser = server_pid)]
    pub server_pid: Vec<(Option<String>, u32)>,

    /// No report and no progress on the terminal; errors still
    #[arg(short = 'q', long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// Reports written by `thirst run --json`, the first being what the others are compared with
    #[arg(value_name = "RUN.json", required = true)]
    pub runs: Vec<PathBuf>,

    /// Write one HTML page with all runs on one plot
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// No table on the terminal
    #[arg(short = 'q', long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub(super) struct CheckArgs {
    /// A plan (.toml), a list of URLs, a scenario and its settings (.ubr), or a script, a distribution and a configuration
    /// (.cfg); known by what is in them
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

const CHECK_HELP: &str = "\
Nothing is sent; such files cannot be run yet. Quotes that were pasted, missing semicolons and settings that are all
commented out are understood, and said with their place; what cannot be meant, or is not there yet, is an error.

Exit codes:
  0    the files can be read
  1    one of them is wrong: file, line and column, and what to do

  thirst check home.ubr settings.ubr
  thirst check script.cfg distribution.cfg config.cfg";

#[derive(Debug, Args)]
#[command(after_help = CONTENT_HELP)]
pub(super) struct ContentArgs {
    /// The folder to write to; made if it is not there
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,

    /// COUNTxSIZE, COUNTxSIZE@BITS, tiles:LEVELS or jpegs:COUNTxWIDTHxHEIGHT; each goes into a folder of its own
    #[arg(value_name = "SET", required = true)]
    pub sets: Vec<Set>,

    /// The same seed makes the same files, on any machine
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Write the path of each file to FILE, one a line, as `thirst run --urls` reads them
    #[arg(long, value_name = "FILE")]
    pub list: Option<PathBuf>,

    /// Write into a folder that is not empty; files of the same names are replaced
    #[arg(long)]
    pub force: bool,

    /// No summary and no progress on the terminal; errors still
    #[arg(short = 'q', long)]
    pub quiet: bool,
}

const CONTENT_HELP: &str = "\
Sets:
  1000x1KB          1,000 files of 1,000 random bytes, which nothing compresses
  1000x1KiB@4.2     of 1,024 bytes with 4.2 bits of entropy each: text that compresses to little more than half
  tiles:8           a map in 8 levels, 21,845 JPEG tiles of 256 x 256 pixels: tiles/Z/X/Y.jpg
  jpegs:50x800x600  50 photographs of nothing

Units: B, KB, MB, GB (powers of 1000), KiB, MiB, GiB (powers of 1024).

Example:
  thirst content /srv/files 1000x1KB 1000x100KB 100x10MB --list /tmp/paths
  thirst run http://127.0.0.1:8080 --urls /tmp/paths";

fn server_pid(text: &str) -> Result<(Option<String>, u32), String> {
    let (name, pid) = match text.rsplit_once('=') {
        Some((name, pid)) => (Some(name.to_owned()), pid),
        None => (None, text),
    };
    let pid = pid.parse().ok().filter(|pid: &u32| *pid > 0);
    pid.map(|pid| (name, pid)).ok_or_else(|| format!("`{text}` is not a process; write 1234 or name=1234"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn flags_do_not_clash() {
        Cli::command().debug_assert();
    }

    #[test]
    fn server_pids() {
        assert_eq!(server_pid("12"), Ok((None, 12)));
        assert_eq!(server_pid("a=12"), Ok((Some("a".into()), 12)));
        for wrong in ["", "0", "-1", "a", "a=", "a=b"] {
            assert!(server_pid(wrong).is_err(), "{wrong}");
        }
    }
}
