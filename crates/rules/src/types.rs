//! The values that rules are made of. Built by the configuration, read by everything.

use crate::acts::{Acts, Rewritten};
use crate::coding::CodingWish;
use crate::guards::{Guards, Held};
use http::{HeaderMap, HeaderName, Method};
use samovar_policy::Wishes;
use samovar_reason::{Lookup, Route};
use std::sync::Arc;

/// Index into the snapshot's list of targets (files, FastCGI, HTTP upstream).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TargetId(pub usize);

/// All sites, in file order.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    /// The sites.
    pub sites: Vec<Site>,
}

/// One site.
#[derive(Clone, Debug)]
pub struct Site {
    /// Its name, unique.
    pub name: Arc<str>,
    /// Hosts, lower case without port: `gallery.example`, `*.gallery.example`. Empty on a default site.
    pub hosts: Vec<String>,
    /// Listener ports it is limited to; empty for all.
    pub ports: Vec<u16>,
    /// Takes hosts that no site names.
    pub default: bool,
    /// The host written into keys (and towards origins) when the default site takes an unknown host; empty to take the
    /// client's own, which must be learned first, so that
    /// made-up hosts cannot fill the cache.
    pub canonical_host: String,
    /// Handlers by script extension (with the dot, lower case), beside the fallback.
    pub handlers: Vec<(String, TargetId)>,
    /// What takes the rest: files or an upstream.
    pub fallback: TargetId,
    /// Index documents for folders.
    pub index: Vec<String>,
    /// Rules in file order.
    pub rules: Vec<Rule>,
    /// What holds where no rule matches.
    pub otherwise: Arc<Rule>,
    /// Send `Cache-Status`.
    pub cache_status: bool,
    /// What its rules guard and exclude; made of them.
    pub guards: Guards,
}

/// One rule: what it selects, and what it wishes.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// Stable id, unique in the site: `r1`… in file order unless named.
    pub id: Arc<str>,
    /// Path glob (`/admin/**`, `*.jpg`), matched against the normalised path; `None` for any.
    pub path: Option<PathGlob>,
    /// Extensions with the dot, lower case; empty for any.
    pub extensions: Vec<String>,
    /// Methods; empty for any.
    pub methods: Vec<Method>,
    /// Where its requests go instead of the site's handlers and fallback.
    pub target: Option<TargetId>,
    /// What policy is told.
    pub wishes: Wishes,
    /// Request fields in the key.
    pub vary_headers: Vec<VaryHeader>,
    /// How fields that are not in the key are compared where an answer's own `Vary` names them.
    pub compare_headers: Vec<VaryHeader>,
    /// Request cookies in the key, by name.
    pub vary_cookies: Vec<String>,
    /// The query in the key.
    pub vary_query: QueryKey,
    /// Cookies that do not matter: names, `_ga*` globs, `*` for all.
    pub ignore_cookies: Vec<String>,
    /// Path in the key lower-cased.
    pub ignore_case: bool,
    /// Hot tier.
    pub hot: HotWish,
    /// Stored from the n-th request within `admit_period_ms` on; 0 and 1 for the first.
    pub admit_after: u32,
    /// See `admit_after`; ms.
    pub admit_period_ms: u64,
    /// What it does beside caching; `None` for most rules, which pay nothing for it.
    pub acts: Option<Arc<Acts>>,
    /// Compression; `None` where nothing is to be done about codings.
    pub coding: Option<Arc<CodingWish>>,
    /// Largest request body, bytes; `None` for no bound of its own.
    pub body_max_bytes: Option<u64>,
    /// Requests for another protocol are not passed on.
    pub upgrade_off: bool,
}

/// The hot tier's settings of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotWish {
    /// Answers may become hot.
    pub enabled: bool,
    /// Requests within the period, the filling one counted.
    pub threshold: u32,
    /// ms.
    pub period_ms: u64,
    /// Largest body, bytes.
    pub max_bytes: u64,
    /// Dropped after this long without a request, ms.
    pub idle_ms: u64,
}

impl Default for HotWish {
    fn default() -> Self {
        HotWish { enabled: true, threshold: 2, period_ms: 10_000, max_bytes: 64 << 20, idle_ms: 120_000 }
    }
}

/// A compiled path glob. `text` is what the operator wrote.
#[derive(Clone)]
pub struct PathGlob {
    /// As written.
    pub text: String,
    /// Compiled; `*` does not cross `/`, `**` does; a glob without `/` matches the last segment.
    pub glob: globset::GlobMatcher,
    /// What can be answered without the compiled form.
    pub(crate) shape: crate::glob::Shape,
}

/// A request field in the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaryHeader {
    /// The field.
    pub name: HeaderName,
    /// How its value is normalised before it enters the key.
    pub normalise: Normalise,
}

/// How a field's value is made comparable.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Normalise {
    /// Lines joined, outer white space trimmed.
    #[default]
    Exact,
    /// Accept-Language to the best of a declared list (RFC 4647 lookup with q-values); the first is the default.
    Languages(Vec<String>),
    /// Accept-Encoding to the best of a declared list (`br`, `gzip`, `zstd`, `identity`), server's order breaks ties.
    Encodings(Vec<String>),
    /// Lower-cased.
    Lower,
}

/// The query in the key.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum QueryKey {
    /// As it came.
    #[default]
    AsIs,
    /// All variables, sorted by name (stable).
    Sorted,
    /// Only these variables (globs allowed), sorted by name.
    Keep(Vec<String>),
    /// All but these (globs allowed), order kept.
    Drop(Vec<String>),
    /// None.
    Ignore,
}

/// What routing reads of a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestParts<'a> {
    /// The method.
    pub method: &'a Method,
    /// `http` or `https`.
    pub scheme: &'a str,
    /// The Host field or the authority of an absolute target, as it came.
    pub host: &'a str,
    /// Port of the listener; 0 for a unix socket.
    pub listener_port: u16,
    /// The path of the target, as it came.
    pub path: &'a str,
    /// The query of the target, as it came; `Some("")` for a bare `?`.
    pub query: Option<&'a str>,
    /// The fields.
    pub headers: &'a HeaderMap,
}

/// The key of a stored answer: `http://host/path?query`, then one `\n`-led line per vary value. Version 1.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub Arc<str>);

impl Key {
    /// The whole text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The URL part.
    pub fn url(&self) -> &str {
        self.0.split('\n').next().unwrap_or("")
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// Where a request goes and under which key.
#[derive(Clone, Debug)]
pub struct Routed<'s> {
    /// The site.
    pub site: &'s Site,
    /// Why this site.
    pub site_reason: Route,
    /// The rule, `site.otherwise` if none matched.
    pub rule: &'s Rule,
    /// Why this rule.
    pub rule_reason: Route,
    /// Ids of later rules that would have matched too.
    pub beaten: Vec<&'s Arc<str>>,
    /// The path of the folder's default document, if the rule was chosen by it.
    pub document: Option<String>,
    /// Rules whose guards hold beside its own, since the path may be read as theirs.
    pub held: Vec<Held<'s>>,
    /// What the request goes to by extension alone (files may still resolve an index document to a handler).
    pub target: TargetId,
    /// Host in canonical spelling, with a non-default port: what the key and the origin see.
    pub host: String,
    /// Normalised path, what the origin receives unless it is rewritten.
    pub path: String,
    /// Query, what the origin receives unless it is rewritten (as it came).
    pub query: Option<String>,
    /// What the origin is asked for instead, if the rule rewrites.
    pub rewritten: Option<Rewritten>,
    /// The key.
    pub key: Key,
    /// The request carries cookies that may matter (not ignored, not in the key).
    pub relevant_cookies: bool,
    /// The names of those cookies, for the trace (never their values).
    pub relevant_cookie_names: Vec<String>,
    /// The host is the client's own and no site names it: it must be learned before more is stored under it.
    pub learns_host: bool,
    /// A field or a variable of the query asks the application to take another method for the request's, which no key
    /// holds.
    pub overrides_method: bool,
    /// It has more parts than are told apart, so it goes past the cache: which.
    pub past_cache: Option<Lookup>,
}
