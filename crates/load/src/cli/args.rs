//! The flags, declared once: help and parsing come from here.
//!
//! Names are those people know from wrk, h2load and bombardier where these agree. Not here: what flags lead to.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::compare_args::CompareArgs;
use super::export::ExportArgs;
use super::files::Files;
use super::import::ImportArgs;
use super::null_server::NullServerArgs;
use super::run_args::{EXIT_CODES, RunArgs};
use super::selftest::SelftestArgs;
use crate::content::Set;

/// The load tester beside Samovar.
#[derive(Debug, Parser)]
#[command(name = "thirst", version, long_version = crate::build_info::LONG, about, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Put load on one or more URLs and report what was measured
    Run(Box<RunArgs>),
    /// Draw a stored run again, or several side by side: one table, one plot
    Report(ReportArgs),
    /// Read a plan, a list of URLs, or files of WCAT 5 and 6.3, and say what they ask for, or what is wrong with them
    Check(CheckArgs),
    /// Make a plan of a list of URLs or files of WCAT
    Import(ImportArgs),
    /// Make files of WCAT, or a list of URLs, of a plan
    Export(ExportArgs),
    /// Compare two sets of runs, stored or made now: how they differ, how surely, and what could not have been seen
    Compare(Box<CompareArgs>),
    /// Make a stored run again, as it was made
    Rerun(RerunArgs),
    /// WCAT's controller: runs scenario files with the clients that call it
    Wcctl(Words),
    /// WCAT's client: does what a controller says
    Wcclient(Words),
    /// WCAT's script: runs scenario files, clients and all
    #[command(name = "wcat.wsf", visible_alias = "wcat")]
    WcatWsf(Words),
    /// Make links of WCAT's names to this program, so that its command lines work as they are written
    Link(LinkArgs),
    /// Make files to be served: by number, size and entropy, map tiles, photographs
    Content(ContentArgs),
    /// Hold this instrument against a server of known behaviour, on this machine, now
    Selftest(SelftestArgs),
    #[command(hide = true)]
    NullServer(NullServerArgs),
}

/// Words that are read by another grammar.
#[derive(Debug, Args)]
pub(super) struct Words {
    /// WCAT's own flags; -? lists them
    #[arg(value_name = "FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct LinkArgs {
    /// The folder, best one of those in PATH; links that are there already are replaced, other files are left alone
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

/// Makes a stored run again, as it was made.
#[derive(Debug, Args)]
pub(super) struct RerunArgs {
    /// A report written by --json
    #[arg(value_name = "RUN.json")]
    pub run: PathBuf,

    /// Flags that come behind those of then: --json FILE, -d 30s, -H 'Authorization: …'
    #[arg(value_name = "FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub more: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = REPORT_HELP)]
pub(super) struct ReportArgs {
    /// Reports written by `thirst run --json`, the first being what the others are compared with
    #[arg(value_name = "RUN.json", required = true)]
    pub runs: Vec<PathBuf>,

    #[command(flatten)]
    pub files: Files,

    /// With WCAT's rows, of one run
    #[arg(long)]
    pub wcat: bool,

    /// No table on the terminal
    #[arg(short = 'q', long)]
    pub quiet: bool,
}

const REPORT_HELP: &str = "\
  thirst report first.json second.json --html both.html --csv both.csv
  thirst report run.json --xml log.xml --hlog run.hlog";

#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub(super) struct CheckArgs {
    /// A plan (.toml), a list of URLs, a scenario and its settings (.ubr), or a script, a distribution and a configuration
    /// (.cfg); known by what is in them
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

const CHECK_HELP: &str = "\
Nothing is sent; `thirst run` sends. Quotes that were pasted, missing semicolons and settings that are
all commented out are understood, and said with their place; what cannot be meant is an error.

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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn flags_do_not_clash() {
        Cli::command().debug_assert();
    }
}
