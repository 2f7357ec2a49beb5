//! What the server runs by: a configuration after it was understood. Plain values, no text, no places.
//!
//! Not here: how they come about (`lower/`).

use super::net::{Listen, TrustedProxies};
use super::upstreams::{FastCgiTarget, GateSettings, UpstreamSettings};
use samovar_origin::FilesSettings;
use samovar_policy::Coding;
use samovar_rules::{HotWish, Rule, Site, Sites, TargetId};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Everything.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `[server]`.
    pub server: ServerSettings,
    /// `[limits]`.
    pub limits: LimitSettings,
    /// `[memory]`.
    pub memory: MemorySettings,
    /// `[log]`.
    pub log: LogSettings,
    /// `[hot]`: what holds where neither rule nor site say otherwise (they carry their own copy).
    pub hot: HotWish,
    /// `[hot]`: how much a core prepares at most.
    pub hot_bounds: HotBounds,
    /// `[compression]`.
    pub compression: CompressionSettings,
    /// The sites with their rules.
    pub sites: Sites,
    /// What `https://` listeners show.
    pub certificates: Vec<Certificate>,
    /// What requests go to; `TargetId` is an index into it.
    pub targets: Vec<TargetSettings>,
    /// How many requests of sites and rules may ask their origin at once.
    pub gates: Vec<GateSettings>,
    /// Files whose change ends what rules stored, beyond the served files themselves.
    pub watches: Vec<Watched>,
    /// Names of sites whose `cache` is false; their rules say never.
    pub uncached_sites: Vec<String>,
    /// Names of sites whose `map_location` is false.
    pub unmapped_sites: Vec<Arc<str>>,
    pub(super) for_files: HashMap<String, Vec<Arc<Rule>>>,
}

/// How much of the hot tier one core may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotBounds {
    /// Answers.
    pub entries_max: usize,
    /// Their keys, heads and bookkeeping, bytes.
    pub heads_max_bytes: u64,
}

/// `[compression]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressionSettings {
    /// Levels for what is stored, by [`Coding::place`].
    pub levels: [u32; 3],
    /// Levels for what is compressed while it is sent, likewise.
    pub on_the_fly: [u32; 3],
    /// Threads; `None` for one for every four cores.
    pub workers: Option<usize>,
    /// How busy a core may be, in hundredths, for another answer to be compressed on the fly.
    pub yield_at_percent: u8,
    /// Answers a core compresses on the fly at once.
    pub streams_max: u64,
}

impl CompressionSettings {
    /// The level for a stored answer.
    pub fn level(&self, coding: Coding) -> u32 {
        self.levels.get(coding.place()).copied().unwrap_or(1)
    }

    /// The level on the fly.
    pub fn level_on_the_fly(&self, coding: Coding) -> u32 {
        self.on_the_fly.get(coding.place()).copied().unwrap_or(1)
    }
}

/// A site's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The site's name, for messages.
    pub site: String,
    /// Its hosts, `*.` kept.
    pub hosts: Vec<String>,
    /// It takes hosts that no site names.
    pub default: bool,
    /// The certificate's file.
    pub chain: PathBuf,
    /// The key's file; may be the same.
    pub key: PathBuf,
}

/// What a request goes to.
#[derive(Clone, Debug, PartialEq)]
pub enum TargetSettings {
    /// A folder of files.
    Files(FilesSettings),
    /// An HTTP upstream.
    Http(Arc<UpstreamSettings>),
    /// A FastCGI application.
    FastCgi(FastCgiTarget),
}

/// `[server]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// Where to listen.
    pub listen: Vec<Listen>,
    /// The admin interface; `None` if it is off.
    pub admin: Option<Listen>,
    /// Serving threads; `None` for one per core.
    pub workers: Option<usize>,
    /// Who sees what went wrong.
    pub error_detail: ErrorDetail,
    /// Peers that are believed.
    pub trusted_proxies: TrustedProxies,
    /// Peers that begin with a PROXY protocol head.
    pub proxy_protocol: TrustedProxies,
}

/// Who is told on an error page what went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorDetail {
    /// Clients on this machine.
    Loopback,
    /// Everybody.
    Always,
    /// Nobody.
    Never,
}

/// `[limits]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitSettings {
    /// Longest request line.
    pub line_max_bytes: usize,
    /// Largest request head.
    pub head_max_bytes: usize,
    /// Fields of a request.
    pub fields_max: usize,
    /// Largest request body; `None` for no bound.
    pub body_max_bytes: Option<u64>,
    /// For a request's head.
    pub head_timeout: Duration,
    /// Between two pieces of a request's body.
    pub body_timeout: Duration,
    /// Until the next request.
    pub idle_timeout: Duration,
    /// Without progress of an answer.
    pub send_timeout: Duration,
    /// Bytes a second that a client must send or take at least.
    pub rate_min_bytes: u64,
    /// Hosts that no site names and that are served from the cache.
    pub learned_hosts: usize,
    /// Connections of clients.
    pub connections_max: usize,
    /// Connections from one address; `None` for no bound.
    pub connections_per_address: Option<u64>,
    /// Requests on one connection; `None` for no bound.
    pub requests_per_connection: Option<u64>,
    /// How long a connection is kept; `None` for no bound.
    pub connection_lifetime: Option<Duration>,
    /// Without a byte either way after the protocol changed; `None` for no bound.
    pub upgraded_idle_timeout: Option<Duration>,
    /// For requests under way when the server stops.
    pub stop_timeout: Duration,
    /// How long connections without a request stay open at a stop.
    pub stop_grace: Duration,
}

/// `[memory]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySettings {
    /// The budget.
    pub size_bytes: u64,
    /// Where the budget comes from.
    pub from: Budget,
    /// Largest answer stored.
    pub entry_max_bytes: u64,
    /// Whether it was not said, and follows from the size.
    pub entry_max_follows: bool,
}

/// Where the memory budget comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// A size was written.
    Written,
    /// `--memory` says so.
    CommandLine,
    /// A share of the machine's memory.
    Machine {
        /// The share.
        percent: u8,
        /// The machine's memory.
        of_bytes: u64,
    },
    /// A share of the control group's limit.
    ControlGroup {
        /// The share.
        percent: u8,
        /// The limit.
        of_bytes: u64,
    },
    /// The memory could not be found out.
    Guessed,
}

/// `[log]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// Where the access log goes.
    pub access: AccessLog,
    /// What a line looks like.
    pub format: LogFormat,
    /// Requests remembered.
    pub traces: usize,
    /// Requests whose response begins so late are remembered longer, µs.
    pub slow_us: u64,
    /// Memory for them as configured; see [`Settings::traces_bytes`].
    pub traces_max_bytes: usize,
}

/// Where the access log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessLog {
    /// Nowhere.
    Off,
    /// Standard error.
    Stderr,
    /// A file, absolute.
    File(PathBuf),
}

/// What a line of the access log looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Apache's combined, with more at the end.
    Combined,
    /// One object per line.
    Json,
}

/// Files whose change ends what a rule stored.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The site's name.
    pub site: String,
    /// The rule's id; `default` for the site's own policy.
    pub rule: String,
    /// The folder to watch: what stands before the first wildcard, absolute.
    pub root: PathBuf,
    /// Compared with absolute paths.
    pub glob: globset::GlobMatcher,
}

impl Settings {
    /// Whether there is a certificate to show where TLS is listened for, whoever said so: file and command line may each
    /// be right alone.
    ///
    /// # Errors
    /// In words.
    pub fn can_speak_tls(&self) -> Result<(), String> {
        match self.server.listen.iter().find(|listen| matches!(listen, Listen::Tls(_))) {
            Some(listen) if self.certificates.is_empty() => Err(format!(
                "listen on {listen}: no site has a certificate to show there\nhint: add `certificate = \"…\"` and \
                 `certificate_key = \"…\"` to a site in a configuration file, or listen on `http://`"
            )),
            _ => Ok(()),
        }
    }

    /// Memory for the records of requests: they are within the budget, and must leave most of it to answers.
    pub fn traces_bytes(&self) -> usize {
        let share = usize::try_from(self.memory.size_bytes / 8).unwrap_or(usize::MAX);
        self.log.traces_max_bytes.min(share)
    }

    /// The rule with what holds for the target that really takes the request.
    ///
    /// A rule without a lifetime policy means `until_changed` for files and `respect` for all else. Where a site
    /// has both, the target is known only after routing (an index document may be a script), so `Routed::rule`
    /// carries the careful one, `respect`; ask here once the target is known.
    pub fn rule_for<'a>(&'a self, site: &Site, rule: &'a Rule, target: TargetId) -> &'a Rule {
        if self.for_files.is_empty() || !matches!(self.targets.get(target.0), Some(TargetSettings::Files(_)))
        {
            return rule;
        }
        let of_site = self.for_files.get(&*site.name);
        of_site.and_then(|rules| rules.iter().find(|r| r.id == rule.id)).map_or(rule, Arc::as_ref)
    }
}
