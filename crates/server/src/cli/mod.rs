//! The command line: what can be asked of `samovar`, and what each exit code means.

mod client;
mod commands;
mod compression;
mod import;
mod serve;
mod show;
mod upstreams;

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;

/// An output cache for any web application: put it in front, add a rule, see why.
///
/// Exit codes: 0 done; 1 failed, with what happened and what to do on standard error; 2 the command line itself
/// was wrong; 3 no server answers at the admin address.
#[derive(Debug, Parser)]
#[command(name = "samovar", version, long_version = crate::build_info::LONG, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a folder, an origin, or what a configuration file says.
    Serve(ServeArgs),
    /// Check a configuration file; exit code 1 if it has errors.
    Check {
        /// The file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Print what was found as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write a commented configuration to begin with.
    Init,
    /// Bring the configuration of IIS, httpd or nginx along: writes a commented file, and what became of each directive.
    Import(import::ImportArgs),
    /// Write the JSON schema of the configuration, for editors.
    Schema,
    /// Read the configuration file again, whole or not at all.
    Reload {
        #[command(flatten)]
        server: Server,
    },
    /// Why is this URL cached, or why not? Says what would happen, or with --live what did.
    Explain {
        /// The URL, or a path on the default site.
        url: String,
        /// A request field: 'Accept-Language: de'; may be repeated.
        #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
        headers: Vec<String>,
        /// The method.
        #[arg(short, long, value_name = "METHOD")]
        method: Option<String>,
        /// Really ask, and tell what happened.
        #[arg(long)]
        live: bool,
        #[command(flatten)]
        server: Server,
    },
    /// The last requests and every decision about them, or those of one request.
    Trace {
        /// A request's id, as in the log and on error pages.
        id: Option<String>,
        /// Only requests with this reason code.
        #[arg(long, value_name = "CODE", conflicts_with = "id")]
        reason: Option<String>,
        /// Only URLs like this; `*` stands for any text.
        #[arg(long, value_name = "GLOB", conflicts_with = "id")]
        url: Option<String>,
        /// At most so many.
        #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "id")]
        last: usize,
        /// Go on printing as requests come.
        #[arg(long, conflicts_with = "id")]
        follow: bool,
        #[command(flatten)]
        server: Server,
    },
    /// What is stored, and taking it out.
    Cache {
        #[command(subcommand)]
        command: CacheCommand,
    },
    /// The rules of a site: edits the configuration file, keeps its comments, takes effect at once.
    Rule {
        #[command(subcommand)]
        command: RuleCommand,
    },
    /// Servers behind this one: what each does, and taking them out of work and back.
    Upstream {
        #[command(subcommand)]
        command: upstreams::UpstreamCommand,
    },
    /// Every limit in force: its value, who says so, and how much of it is used.
    Limits {
        #[command(flatten)]
        server: Server,
    },
    /// What compression did: bytes before and after by media type and coding, and what it cost.
    Compression {
        #[command(flatten)]
        server: Server,
    },
    /// Requests, hits and memory of the running server.
    Status {
        #[command(flatten)]
        server: Server,
    },
}

/// Where the server is found.
#[derive(Debug, Args)]
pub struct Server {
    /// The server's admin address; its token, if it wants one, comes from SAMOVAR_ADMIN_TOKEN.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9900")]
    admin: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum CacheCommand {
    /// The stored answers, most used first.
    List {
        /// Only URLs that contain this.
        #[arg(default_value = "")]
        filter: String,
        /// At most so many.
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
        #[command(flatten)]
        server: Server,
    },
    /// Every variant of one URL.
    Show {
        /// The URL, or a path on the default site.
        url: String,
        #[command(flatten)]
        server: Server,
    },
    /// Take answers out; from the moment this returns they answer nothing.
    #[command(group(clap::ArgGroup::new("what").required(true).args(["url", "prefix", "tag", "all"])))]
    Purge {
        /// A URL (all its variants), or a path on the default site.
        url: Option<String>,
        /// Every URL that begins so.
        #[arg(long)]
        prefix: Option<String>,
        /// Every answer with this tag (Surrogate-Key, Cache-Tag, xkey).
        #[arg(long)]
        tag: Option<String>,
        /// Everything.
        #[arg(long)]
        all: bool,
        /// Keep the answers for revalidation and for when the origin fails.
        #[arg(long)]
        soft: bool,
        #[command(flatten)]
        server: Server,
    },
    /// How full the memory tier is.
    Stats {
        #[command(flatten)]
        server: Server,
    },
}

#[derive(Debug, Subcommand)]
enum RuleCommand {
    /// The rules in file order: the first that matches counts.
    List {
        /// The site; may be left out if there is only one.
        #[arg(long, default_value = "")]
        site: String,
        #[command(flatten)]
        server: Server,
    },
    /// Add a rule: `samovar rule add extension=.jpg for=10s vary_headers=Accept-Language`.
    Add {
        /// The rule's keys as KEY=VALUE; docs/configuration.md lists them.
        #[arg(required = true, value_name = "KEY=VALUE")]
        words: Vec<String>,
        /// `first`, `last`, `before ID`, `after ID`, or a number counted from 1.
        #[arg(long, value_name = "PLACE", default_value = "last")]
        at: String,
        /// The site; may be left out if there is only one.
        #[arg(long, default_value = "")]
        site: String,
        #[command(flatten)]
        server: Server,
    },
    /// Change keys of a rule; `KEY=` takes a key away.
    Set {
        /// The rule.
        id: String,
        /// Its keys as KEY=VALUE.
        #[arg(required = true, value_name = "KEY=VALUE")]
        words: Vec<String>,
        /// The site; may be left out if there is only one.
        #[arg(long, default_value = "")]
        site: String,
        #[command(flatten)]
        server: Server,
    },
    /// Remove a rule.
    Remove {
        /// The rule.
        id: String,
        /// The site; may be left out if there is only one.
        #[arg(long, default_value = "")]
        site: String,
        #[command(flatten)]
        server: Server,
    },
    /// Move a rule.
    Move {
        /// The rule.
        id: String,
        /// `first`, `last`, `before ID`, `after ID`, or a number counted from 1.
        to: String,
        /// The site; may be left out if there is only one.
        #[arg(long, default_value = "")]
        site: String,
        #[command(flatten)]
        server: Server,
    },
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

/// What went wrong, and the exit code it means.
#[derive(Debug)]
pub struct Failed {
    code: u8,
    message: String,
}

impl Failed {
    /// No server answers.
    fn no_server(message: String) -> Failed {
        Failed { code: 3, message }
    }
}

impl From<String> for Failed {
    fn from(message: String) -> Failed {
        Failed { code: 1, message }
    }
}

/// Runs the command line.
pub fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Serve(args) => serve::serve(args).map_err(Failed::from),
        Command::Check { config, json } => commands::check(&config, json),
        Command::Init => show::out(&crate::config::init_text()),
        Command::Import(args) => import::run(&args),
        Command::Schema => show::json(&crate::config::schema()),
        Command::Reload { server } => commands::reload(&server),
        Command::Explain { url, headers, method, live, server } => {
            commands::explain(&server, url, &headers, method, live)
        }
        Command::Trace { id: Some(id), server, .. } => commands::trace_one(&server, &id),
        Command::Trace { reason, url, last, follow, server, .. } => {
            commands::trace(&server, reason.as_deref(), url.as_deref(), last, follow)
        }
        Command::Cache { command } => match command {
            CacheCommand::List { filter, limit, server } => commands::cache_list(&server, &filter, limit),
            CacheCommand::Show { url, server } => commands::cache_show(&server, &url),
            CacheCommand::Purge { url, prefix, tag, all, soft, server } => {
                let ask =
                    serde_json::json!({ "url": url, "prefix": prefix, "tag": tag, "all": all, "soft": soft });
                commands::purge(&server, &ask)
            }
            CacheCommand::Stats { server } => commands::stats(&server),
        },
        Command::Rule { command } => match command {
            RuleCommand::List { site, server } => commands::rule_list(&server, &site),
            RuleCommand::Add { words, at, site, server } => commands::rule_add(&server, &site, words, at),
            RuleCommand::Set { id, words, site, server } => commands::rule_set(&server, &site, &id, words),
            RuleCommand::Remove { id, site, server } => commands::rule_remove(&server, &site, &id),
            RuleCommand::Move { id, to, site, server } => commands::rule_move(&server, &site, &id, to),
        },
        Command::Upstream { command } => upstreams::run(command),
        Command::Limits { server } => commands::limits(&server),
        Command::Compression { server } => compression::told(&server),
        Command::Status { server } => commands::status(&server),
    };
    let code = match result {
        Ok(code) => code,
        Err(failed) => {
            crate::say!("samovar: {}", failed.message);
            ExitCode::from(failed.code)
        }
    };
    crate::stderr::flush(crate::stderr::FLUSH_AT_END);
    code
}
