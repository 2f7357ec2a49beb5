//! What the server knows of an upstream: its members, how they share the work, how they are watched. Plain values.
//!
//! Not here: how they come about (`lower/upstream.rs`), how a member is chosen (the room `balance`).

use samovar_balance::Sticky;
use samovar_origin::{Address, UpstreamLimits};
use samovar_rules::RateBy;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// An upstream: the servers that share some work. Its limits hold for the process, whichever sites refer to it.
#[derive(Clone, Debug, PartialEq)]
pub struct UpstreamSettings {
    /// Its name.
    pub name: String,
    /// Which protocol its members speak.
    pub protocol: Protocol,
    /// Where they listen; as many, and in the same order, as `balance` has members.
    pub places: Vec<Place>,
    /// The Host that HTTP members are told; `None` passes the canonical host of the site.
    pub host: Option<String>,
    /// Limits of all members together, and of each attempt.
    pub limits: UpstreamLimits,
    /// How a member is chosen.
    pub balance: samovar_balance::Settings,
    /// What of a request belongs to a member, where that is the method.
    pub hash_by: HashBy,
    /// How sessions stay on their member.
    pub sticky: Option<Sticky>,
    /// How members are asked whether they are well.
    pub probe: Option<ProbeSettings>,
    /// Where php-fpm tells of its children.
    pub fpm_status: Option<String>,
}

/// The protocol of an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http,
    /// FastCGI.
    FastCgi,
}

/// Where a member listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its address.
    pub address: Address,
    /// Put before the path, without trailing slash; usually empty.
    pub base_path: String,
}

/// What of a request is hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HashBy {
    /// Path and query.
    Url,
    /// The path.
    Path,
    /// The client, or what it says of itself: as requests are counted by.
    Part(RateBy),
}

/// How members are asked whether they are well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeSettings {
    /// What is asked for.
    pub path: String,
    /// The Host it is asked with; `None` for the upstream's own, else the member's address.
    pub host: Option<String>,
    /// How often.
    pub interval: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Statuses that say it is well, first and last.
    pub statuses: Vec<(u16, u16)>,
}

/// A FastCGI application of a site: an upstream, and what the site's scripts need.
#[derive(Clone, Debug, PartialEq)]
pub struct FastCgiTarget {
    /// The upstream.
    pub upstream: Arc<UpstreamSettings>,
    /// The folder of the scripts as the application sees it, absolute.
    pub root: PathBuf,
    /// More parameters.
    pub params: Arc<[(String, String)]>,
}

/// Requests of a site or a rule that may ask the origin at once, and the queue before them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateSettings {
    /// The site's name.
    pub site: String,
    /// The rule's id; `None` for the whole site.
    pub rule: Option<String>,
    /// At once.
    pub concurrent_max: usize,
    /// In the queue.
    pub queue_max: usize,
    /// How long one waits there.
    pub queue_timeout: Duration,
}

impl HashBy {
    /// Reads `url`, `path`, `client`, `header:NAME`, `cookie:NAME` or `query:NAME`.
    ///
    /// # Errors
    /// What to write instead.
    pub fn parse(text: &str) -> Result<HashBy, String> {
        match text {
            "url" => Ok(HashBy::Url),
            "path" => Ok(HashBy::Path),
            _ => RateBy::new(text).filter(|by| *by != RateBy::All).map(HashBy::Part).ok_or_else(|| {
                match text.split_once(':') {
                    Some(("header", name)) if !name.is_empty() => format!("{name:?} is no field name"),
                    _ => "write \"url\", \"path\", \"client\", \"header:NAME\", \"cookie:NAME\" or \"query:NAME\""
                        .to_owned(),
                }
            }),
        }
    }
}

impl UpstreamSettings {
    /// An upstream of one member, that nobody has declared.
    pub fn of_one(
        name: String,
        protocol: Protocol,
        place: Place,
        limits: UpstreamLimits,
    ) -> UpstreamSettings {
        let member = samovar_balance::Member {
            name: name.clone(),
            weight: 1,
            route: String::new(),
            set: 0,
            standby: false,
            admin: samovar_balance::Admin::Enabled,
            busy_max: limits.max_connections,
        };
        UpstreamSettings {
            name,
            protocol,
            places: vec![place],
            host: None,
            limits,
            balance: samovar_balance::Settings::of_one(member),
            hash_by: HashBy::Url,
            sticky: None,
            probe: None,
            fpm_status: None,
        }
    }
}
