//! The bodies of the admin API, version 1. Keys are added, never renamed.

use samovar_cache::{Body, Entry, Form, State};
use samovar_policy::{Coding, Now};
use samovar_reason::Explain;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// One stored answer.
#[derive(Debug, Serialize, ToSchema)]
pub struct EntryShape {
    /// The URL in the key.
    pub url: String,
    /// The rest of the key: values of fields and cookies the rule varies by.
    pub key_values: Vec<String>,
    /// Request fields the answer itself varies by, with the values it was made for.
    pub vary: Vec<(String, Option<String>)>,
    /// `hot` (prepared on some core) or `memory`.
    pub tier: &'static str,
    /// `live`, `soft` (purged softly) or `dead`.
    pub state: &'static str,
    /// Status.
    pub status: u16,
    /// Body bytes that are here.
    pub body_bytes: u64,
    /// Of a partial entry: first and last byte of each part that is here.
    pub parts: Vec<[u64; 2]>,
    /// Of a partial entry: length of the whole, bytes.
    pub total_bytes: Option<u64>,
    /// What it costs in all, bytes, coded forms of the body apart.
    pub weight_bytes: u64,
    /// Coded forms of the body that are here, and their bytes.
    pub forms: Vec<(&'static str, u64)>,
    /// Age, s.
    pub age_s: u64,
    /// Remaining freshness, s; negative when stale, absent for "until it changes" and where every use is confirmed.
    pub ttl_s: Option<i64>,
    /// The origin confirms it on every use (`no-cache`).
    pub confirmed_on_use: bool,
    /// Where the lifetime comes from.
    pub lifetime: &'static str,
    /// Why it is stored.
    pub reason: &'static str,
    /// The rule in force when it was stored, as `site/rule`.
    pub rule: String,
    /// Requests answered from it (hot ones counted by samples).
    pub hits: u64,
    /// Media type.
    pub content_type: Option<String>,
    /// Tags for purge.
    pub tags: Vec<String>,
}

/// An entry as people see it.
pub fn entry(entry: &Entry, now: Now) -> EntryShape {
    // A cookie in the key is as secret as the cookie.
    let key = samovar_trace::redact_key(entry.key());
    let mut lines = key.split('\n');
    let text = |v: &http::HeaderValue| String::from_utf8_lossy(v.as_bytes()).into_owned();
    let freshness = entry.freshness();
    let ttl_ms = samovar_policy::shown_ttl_ms(&freshness, now);
    EntryShape {
        url: lines.next().unwrap_or("").to_string(),
        key_values: lines.map(str::to_string).collect(),
        vary: entry
            .vary()
            .iter()
            .map(|(name, value)| {
                let shown = |value| samovar_trace::redact(name.as_str(), &text(value)).into_owned();
                (name.to_string(), value.as_ref().map(shown))
            })
            .collect(),
        tier: if entry.is_hot() { "hot" } else { "memory" },
        state: match entry.state() {
            State::Live => "live",
            State::Soft => "soft",
            State::Dead => "dead",
        },
        status: entry.status().as_u16(),
        body_bytes: match entry.body() {
            Body::Growing(growing) => growing.arrived_bytes(),
            _ => entry.held_bytes(),
        },
        parts: match entry.body() {
            Body::Parts(parts) => parts.held().iter().map(|(start, end)| [*start, *end - 1]).collect(),
            _ => Vec::new(),
        },
        total_bytes: match entry.body() {
            Body::Parts(parts) => Some(parts.total_bytes()),
            _ => None,
        },
        weight_bytes: entry.weight_bytes(),
        forms: Coding::ALL
            .into_iter()
            .filter_map(|coding| match entry.form(coding.place()) {
                Form::Made(bytes) => Some((coding.name(), bytes.len() as u64)),
                Form::Unmade | Form::Making | Form::Worthless => None,
            })
            .collect(),
        age_s: samovar_policy::age_ms(&entry.freshness(), now) / 1_000,
        ttl_s: ttl_ms.filter(|ms| *ms != i64::MAX).map(|ms| ms.div_euclid(1_000)),
        confirmed_on_use: freshness.always_revalidate,
        lifetime: entry.freshness().source.code(),
        reason: entry.reason().code(),
        rule: entry.rule().split('#').next().unwrap_or("").to_string(),
        hits: entry.hits(),
        content_type: entry
            .field(&http::header::CONTENT_TYPE)
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
        tags: entry.tags().iter().filter(|t| !is_internal(t)).map(ToString::to_string).collect(),
    }
}

/// Tags that tie an answer to files and folders are the server's own.
fn is_internal(tag: &str) -> bool {
    ["root:", "under:", "chosen:", "file:", "rule:"].iter().any(|p| tag.starts_with(p))
}

/// What to purge; exactly one of the first four.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PurgeAsk {
    /// Every variant of this URL.
    pub url: Option<String>,
    /// Every URL that begins so.
    pub prefix: Option<String>,
    /// Every answer with this tag.
    pub tag: Option<String>,
    /// Everything.
    #[serde(default)]
    pub all: bool,
    /// Keep the answers for when the origin fails, and for revalidation.
    #[serde(default)]
    pub soft: bool,
}

/// What a purge did.
#[derive(Debug, Serialize, ToSchema)]
pub struct PurgeReceipt {
    /// Its number; grows by one with each purge.
    pub sequence: u64,
    /// Answers that may not be used any more.
    pub entries: u64,
    /// Their weight, bytes.
    pub bytes: u64,
    /// Fetches under way whose answers will not be stored; by tag, if they turn out to have it.
    pub fills: u64,
    /// What was meant, as it was understood.
    pub scope: String,
}

/// Which entries to list.
#[derive(Debug, Deserialize, IntoParams)]
pub struct ListAsk {
    /// Only URLs that contain this.
    #[serde(default)]
    pub filter: String,
    /// At most so many.
    pub limit: Option<usize>,
}

/// Which URL to show.
#[derive(Debug, Deserialize, IntoParams)]
pub struct ShowAsk {
    /// The URL.
    pub url: String,
}

/// Which records to list.
#[derive(Debug, Deserialize, IntoParams)]
pub struct TraceAsk {
    /// Only records with this reason code.
    pub reason: Option<String>,
    /// Only URLs like this (`*` for any text).
    pub url: Option<String>,
    /// At most so many.
    pub limit: Option<usize>,
    /// Only records after this id.
    pub after: Option<String>,
}

/// What to explain.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainAsk {
    /// The URL, or a path on the default site.
    pub url: String,
    /// Method; GET if not given.
    pub method: Option<String>,
    /// Request fields.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// Really ask, and tell what happened; otherwise only say what would.
    #[serde(default)]
    pub live: bool,
}

/// A new rule.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleAdd {
    /// The site; may be left out if there is only one.
    #[serde(default)]
    pub site: String,
    /// `key=value` words, as on the command line.
    pub words: Vec<String>,
    /// `first`, `last` (default), `before ID`, `after ID`, or a number counted from 1.
    pub at: Option<String>,
}

/// Changes of a rule.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleSet {
    /// The site; may be left out if there is only one.
    #[serde(default)]
    pub site: String,
    /// `key=value` words; `key=` takes a key away.
    pub words: Vec<String>,
}

/// Where a rule goes.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleMove {
    /// The site; may be left out if there is only one.
    #[serde(default)]
    pub site: String,
    /// `first`, `last`, `before ID`, `after ID`, or a number counted from 1.
    pub to: String,
}

/// A site's name.
#[derive(Debug, Deserialize, IntoParams)]
pub struct SiteAsk {
    /// The site; may be left out if there is only one.
    #[serde(default)]
    pub site: String,
}

/// One rule.
#[derive(Debug, Serialize, ToSchema)]
pub struct RuleShape {
    /// The site's name.
    pub site: String,
    /// The rule's id.
    pub id: String,
    /// Its line in the configuration file; none if there is no file.
    pub line: Option<usize>,
    /// Its keys, as `key = value`.
    pub words: Vec<String>,
}

/// What a change came to.
#[derive(Debug, Serialize, ToSchema)]
pub struct Changed {
    /// What somebody should look at.
    pub warnings: Vec<String>,
    /// The epoch in force now.
    pub epoch: u64,
    /// Whether the change is in a file, too; else it is gone when the server stops.
    pub kept: bool,
    /// The rules in force now.
    pub rules: Vec<RuleShape>,
}

/// One limit.
#[derive(Debug, Serialize, ToSchema)]
pub struct LimitShape {
    /// Its key in the configuration.
    pub name: String,
    /// What it is, for people.
    pub value: String,
    /// The same as a number, of bytes or of things; none for a time, and where there is no bound.
    pub number: Option<u64>,
    /// How much of it is used, where that is counted.
    pub used: Option<u64>,
    /// How many were refused by it since the start, where that is counted.
    pub refused: Option<u64>,
    /// It is reached: this is what holds requests up now.
    pub binds: bool,
    /// Who says so: `default`, a file and line, `command line`, or what it is derived from.
    pub from: String,
}

/// A refusal.
#[derive(Debug, Serialize, ToSchema)]
pub struct Refusal {
    /// What happened and what to do.
    pub error: String,
}
