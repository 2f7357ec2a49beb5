//! The flags of `thirst run`, in the groups its help shows.
//!
//! Not here: what they lead to ([`super::run`], [`super::shape`]).

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::files::Files;
use crate::check::Expect;
use crate::counters::select::Pick as Series;
use crate::plan::levels::{self, Levels};
use crate::plan::{Pick, request, size};

/// What a script sees of a run.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0    the run is VALID or SUSPECT; the report was drawn; the files were written
  1    wrong usage, a file that cannot be read or written, or no connection at all
  3    the run was made, but its verdict is INVALID
  4    the run was made, and a rule of --fail-if holds, or --search found no rate at which its rules do
  130  Ctrl-C twice; once ends the run and reports what was measured";

#[derive(Clone, Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct RunArgs {
    /// http://host:port/path, https://…, or unix:/path/to/socket:/path; several are asked in turn. Or scenario files: .ubr of
    /// WCAT 6.3, .cfg of WCAT 5, plans in TOML
    #[arg(value_name = "URL|FILE", required_unless_present = "urls_from")]
    pub what: Vec<String>,

    /// For scenario files: the servers to ask instead of those they name, host or host:port
    #[arg(short = 's', long, value_name = "HOST", value_delimiter = ',')]
    pub server: Vec<String>,

    /// What to ask, one URL or path a line, in turn; paths are asked of the server of URL, which is not asked itself then
    #[arg(long = "urls", value_name = "FILE")]
    pub urls_from: Option<PathBuf>,

    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub request: RequestArgs,
    #[command(flatten)]
    pub client: ClientArgs,
    #[command(flatten)]
    pub look: LookArgs,
    #[command(flatten)]
    pub report: RunReportArgs,
}

/// How much, how long, by whom.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Load")]
pub(super) struct LoadArgs {
    /// Connections over all threads; each sends its next request when its last answer is whole. With --rate: the most
    /// requests in flight [default: 10, with --rate 1000]
    #[arg(short = 'c', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub connections: Option<u32>,

    /// How long to measure: 10s, 500ms, 2m; 10s if -n does not say when to end
    #[arg(short = 'd', long, value_name = "TIME", value_parser = size::duration)]
    pub duration: Option<Duration>,

    /// Send exactly this many measured requests
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,

    /// Threads that send; half the cores if not given
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,

    /// Send so many requests per second, whether answers come or not: 500, 2k, 90/m
    #[arg(short = 'R', long, value_name = "RATE", value_parser = levels::rate, conflicts_with_all = ["steps", "ramp"])]
    pub rate: Option<f64>,

    /// One level after the other: 1k,2k,5k@30s are requests per second, 10c,20c@30s connections
    #[arg(long, value_name = "LIST@TIME", value_parser = levels::steps, conflicts_with_all = ["ramp", "duration", "requests"])]
    pub steps: Option<Levels>,

    /// From one level to another: 1..125:+5@5m are connections, 100..2k/s:+100@30s requests per second
    #[arg(long, value_name = "A..B:+S@TIME", value_parser = levels::ramp, conflicts_with_all = ["duration", "requests"])]
    pub ramp: Option<Levels>,

    /// How long each step is held before it is measured [default: a tenth of it, 2s at
    /// least, half of it at most]
    #[arg(long, value_name = "TIME", value_parser = size::duration)]
    pub settle: Option<Duration>,

    /// Requests of --rate come at random moments, as from people who do not know of each other
    #[arg(long)]
    pub poisson: bool,

    /// What becomes of a request that is due when -c are in flight
    #[arg(long, value_name = "WHAT", default_value = "queue")]
    pub when_full: WhenFull,

    /// In a closed loop, no more requests per second than this
    #[arg(long, value_name = "RATE", value_parser = levels::rate, conflicts_with = "rate")]
    pub most: Option<f64>,

    /// In a closed loop, what each connection waits before its next request: 500ms, 1s..3s
    #[arg(long, value_name = "TIME", value_parser = levels::pause, conflicts_with = "rate")]
    pub think: Option<(Duration, Duration)>,

    /// Load before the measured window [default: none, or what the scenario says]
    #[arg(long, value_name = "TIME", value_parser = size::duration)]
    pub warmup: Option<Duration>,

    /// Load after the measured window [default: none, or what the scenario says]
    #[arg(long, value_name = "TIME", value_parser = size::duration)]
    pub cooldown: Option<Duration>,

    /// End early when this holds for a step, or for the last 5 seconds: 'p99>200ms', 'errors>1%'; may be repeated
    #[arg(long, value_name = "RULE")]
    pub until: Vec<crate::rule::Rule>,

    /// How exact moments are met: precise stays awake for them, cheap rounds them up to half a millisecond
    #[arg(long, value_name = "HOW", default_value = "precise")]
    pub pacing: Pacing,

    /// What chance depends on: the same seed asks the same
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Do not find out first, in a third of a second, how fast the generator is; runs of 5 seconds or more do
    #[arg(long)]
    pub no_calibrate: bool,
}

/// What is asked.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Request")]
pub(super) struct RequestArgs {
    /// A header field, 'Name: value'; replaces ours of the same name
    #[arg(short = 'H', long = "header", value_name = "FIELD", value_parser = request::header)]
    pub headers: Vec<(String, String)>,

    /// The method; GET, or POST when there is a body
    #[arg(short = 'm', long, value_name = "METHOD", value_parser = request::method)]
    pub method: Option<String>,

    /// The body of each request, or @FILE to read it from
    #[arg(short = 'b', long, value_name = "BODY|@FILE")]
    pub body: Option<String>,

    /// Take answers in gzip, br or zstd, and decode samples of them
    #[arg(long)]
    pub compressed: bool,

    /// Which of several URLs is next: turn (all connections together), each (each connection by itself, from the first on),
    /// random, zipf or zipf:S (the first most often), weights (those of --urls, `3 /path`) [default: turn, with --cookies each]
    #[arg(long, value_name = "HOW", value_parser = pick)]
    pub pick: Option<Pick>,

    /// How long a connect or an answer may take; known to 0.1 s
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = size::duration)]
    pub timeout: Duration,
}

/// How clients behave.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Client")]
pub(super) struct ClientArgs {
    /// A new connection for each request
    #[arg(long)]
    pub no_keepalive: bool,

    /// Each connection keeps cookies of its own
    #[arg(long)]
    pub cookies: bool,

    /// Follow redirects, within the servers named; each is a request of its own
    #[arg(short = 'L', long)]
    pub follow: bool,

    /// Each connection keeps answers as a browser does: what is fresh is not asked for, the rest with If-None-Match
    #[arg(long)]
    pub browser_cache: bool,

    /// Believe every certificate
    #[arg(short = 'k', long)]
    pub insecure: bool,

    /// Believe the certificates of this file, and no others
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub cacert: Option<PathBuf>,

    /// Connect from these addresses of this machine, in turn
    #[arg(long, value_name = "IP", value_delimiter = ',')]
    pub source_ip: Vec<IpAddr>,

    /// Where a name is, instead of asking the system: HOST=ADDRESS; may be repeated
    #[arg(long, value_name = "HOST=IP", value_parser = known)]
    pub resolve: Vec<(String, IpAddr)>,

    /// Spread connections over all addresses of a server, instead of the first that works
    #[arg(long)]
    pub all_addresses: bool,
}

/// What answers are looked at for.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Checks")]
pub(super) struct LookArgs {
    /// What every answer has to be; where no status is named, one below 400: status=404, size>=1000, body~text, body!~error, body=first, header:x-cache~HIT
    #[arg(long, value_name = "CHECK")]
    pub expect: Vec<Expect>,

    /// Exit with 4 if this holds in the end: 'p99>50ms', 'errors>0', 'rate<1000', 'hits<90%'; may be repeated
    #[arg(long, value_name = "RULE")]
    pub fail_if: Vec<crate::rule::Rule>,

    /// Find the highest rate at which this holds: 'p99<50ms', 'errors<1%'; may be repeated. Begins at --rate, or 100 a second,
    /// with probes of a quarter of -d
    #[arg(long, value_name = "RULE", help_heading = "Load", conflicts_with_all = ["requests", "steps", "ramp", "until", "think", "most"])]
    pub search: Vec<crate::rule::Rule>,

    /// A page of metrics in Prometheus' format to read each second: http://…, unix:/socket:/metrics; may be repeated
    #[arg(long, value_name = "URL")]
    pub counters: Vec<String>,

    /// What to take from it: NAME, NAME{label="x"}, samovar_*; the usual dozen if not given
    #[arg(long, value_name = "NAME", requires = "counters")]
    pub counter: Vec<Series>,

    /// Do not look at the server and this host each second; the server's CPU over the whole window is read all the same
    #[arg(long, conflicts_with = "counters")]
    pub no_counters: bool,

    /// A process whose CPU to watch with all below it; who listens at a local target is found without
    #[arg(long, value_name = "[NAME=]PID", value_parser = server_pid)]
    pub server_pid: Vec<(Option<String>, u32)>,
}

/// What is told.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Report")]
pub(super) struct RunReportArgs {
    /// Write the report as JSON, `-` for stdout
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    #[command(flatten)]
    pub files: Files,

    /// A name for the run in tables and plots
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,

    /// With WCAT's rows, in WCAT's order
    #[arg(long)]
    pub wcat: bool,

    /// No report and no progress on the terminal; errors still
    #[arg(short = 'q', long)]
    pub quiet: bool,
}

/// See [`LoadArgs::when_full`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum WhenFull {
    /// It waits, and its time runs
    Queue,
    /// It is not sent, and counted
    Drop,
}

/// See [`LoadArgs::pacing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Pacing {
    /// To tens of microseconds, for a core
    Precise,
    /// To half a millisecond
    Cheap,
}

fn pick(text: &str) -> Result<Pick, String> {
    let wrong = || format!("`{text}` is none of turn, each, random, zipf, zipf:S, weights");
    match text {
        "turn" => Ok(Pick::InTurn),
        "each" => Ok(Pick::Each),
        "random" => Ok(Pick::Random),
        "zipf" => Ok(Pick::Zipf(1.0)),
        "weights" => Ok(Pick::Weighted),
        _ => {
            let exponent: f64 = text.strip_prefix("zipf:").and_then(|s| s.parse().ok()).ok_or_else(wrong)?;
            if (0.0..=10.0).contains(&exponent) { Ok(Pick::Zipf(exponent)) } else { Err(wrong()) }
        }
    }
}

fn known(text: &str) -> Result<(String, IpAddr), String> {
    let parts = text.split_once('=').filter(|(host, _)| !host.is_empty());
    let found = parts.and_then(|(host, address)| Some((host.to_owned(), address.parse().ok()?)));
    found.ok_or_else(|| format!("`{text}` says nothing of where a name is; write www.example.org=127.0.0.1"))
}

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

    #[test]
    fn server_pids() {
        assert_eq!(server_pid("12"), Ok((None, 12)));
        assert_eq!(server_pid("a=12"), Ok((Some("a".into()), 12)));
        for wrong in ["", "0", "-1", "a", "a=", "a=b"] {
            assert!(server_pid(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn picks() {
        assert_eq!(pick("zipf:0.8"), Ok(Pick::Zipf(0.8)));
        for wrong in ["", "zipf:", "zipf:x", "zipf:-1", "zipf:99", "zipf:nan", "inturn"] {
            assert!(pick(wrong).is_err(), "{wrong}");
        }
    }
}
