//! The record of one request.

use std::borrow::Cow;
use std::sync::Arc;

use samovar_reason::{
    Change, Coding, Elect, Files, Gate, Hot, Lifetime, Lookup, Reject, Retry, Reuse, Route, Store, Unusable,
    Upgrade, Upstream,
};

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// Prepared bytes below the HTTP engine.
    Hot,
    /// The memory tier.
    Memory,
    /// The origin.
    Origin,
    /// Samovar itself (errors, redirects, admin).
    Own,
}

/// One decision or observation in a request's life.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// Which site, and why.
    Site(Route, Arc<str>),
    /// Which rule, and why; the ids of later rules that matched too.
    Rule(Route, Arc<str>, Vec<Arc<str>>),
    /// The default document of the folder that the path names, where the rule was chosen by it.
    Document(String),
    /// A rule that holds beside it, why, and what the path may be read as.
    Held(Route, Arc<str>, String),
    /// The key.
    Key(Arc<str>),
    /// Request inputs that reach the origin but are not in the key.
    Unkeyed(Vec<String>),
    /// Names of cookies that kept the request out of the cache.
    Cookies(Vec<String>),
    /// What the lookup said; age and remaining freshness in ms if something was stored.
    Lookup(Lookup, Option<i64>, Option<i64>),
    /// What the store decision said.
    Store(Store),
    /// The lifetime given, ms (`u64::MAX` until changed), and its source.
    Lifetime(Lifetime, u64),
    /// Words of `override` that made a difference.
    Overridden(Vec<&'static str>),
    /// Hot tier.
    Hot(Hot),
    /// How many requests of the threshold have come (`hits`, `threshold`).
    HotProgress(u32, u32),
    /// An upstream attempt failed; target and detail.
    Upstream(Upstream, String),
    /// A member of an upstream was chosen, and why.
    Elected(Elect, Box<Elected>),
    /// An attempt failed, and whether another member was asked; who, and how.
    Retry(Retry, String),
    /// An attempt was made and answered.
    Attempt {
        /// Which target.
        target: Arc<str>,
        /// Its status.
        status: u16,
        /// How long connecting took, µs; 0 on a kept connection.
        connect_us: u64,
        /// From sending to the first byte of the answer, µs.
        first_byte_us: u64,
        /// The connection had served before.
        reused: bool,
    },
    /// Why the connection of that attempt carries no other request.
    LastUse(Reuse),
    /// Files said no; detail for those who may see it.
    Files(Files, String),
    /// Request fields that did not go on, by name: they claim another target or client than the request has, and whoever
    /// sent them is no trusted proxy.
    Dropped(Vec<String>),
    /// Refused at the door.
    Reject(Reject),
    /// What the client's conditions or ranges selected: `not-modified`, `range`, …
    Selected(&'static str),
    /// This request made stored answers of these URLs and groups invalid; how many there were.
    Invalidated(u64, Vec<String>),
    /// Whether it went out compressed, and in which coding.
    Coding(Coding, Option<&'static str>),
    /// What was found when the same was last asked for.
    Before(Box<Fact>),
    /// What the rule's gate said of the client: its address, its rate, its credentials; or where it was sent.
    Gate(Gate, String),
    /// What the rule changed of the request or the answer: which fields, which path.
    Change(Change, String),
    /// An interim answer of the origin's was passed on, with this status.
    Interim(u16),
    /// What became of a request for another protocol, or how it ended; the protocol, or the bytes each way.
    Upgrade(Upgrade, String),
}

/// A choice among the members of an upstream.
#[derive(Clone, Debug, PartialEq)]
pub struct Elected {
    /// The upstream.
    pub upstream: String,
    /// The member chosen.
    pub member: String,
    /// Requests under way on it, this one counted.
    pub busy: usize,
    /// Members that could not take it, and why.
    pub passed_over: Vec<(String, Unusable)>,
}

/// The record of one request.
#[derive(Clone, Debug)]
pub struct Record {
    /// Unique in the process: 16 hex digits.
    pub id: u64,
    /// Arrival, ms since the Unix epoch.
    pub at_wall_ms: u64,
    /// Client address (`unix:` for a socket).
    pub client: Arc<str>,
    /// Method.
    pub method: Cow<'static, str>,
    /// Absolute URL as routed (host canonical), or the raw target if it could not be routed.
    pub url: String,
    /// `HTTP/1.1`.
    pub version: &'static str,
    /// Status sent; 0 if the client left first.
    pub status: u16,
    /// Body bytes sent.
    pub body_bytes: u64,
    /// Where the answer came from.
    pub tier: Tier,
    /// `hit`, `miss`, `pass`, `stale`, `revalidated`, `joined`, `hot`, `error`: one word for logs.
    pub cache: &'static str,
    /// The code of the reason that decided: what `Cache-Status` carries as `detail`.
    pub reason: &'static str,
    /// From arrival of the head to the first byte of the answer, µs.
    pub first_byte_us: u64,
    /// From arrival of the head to the last byte, µs.
    pub total_us: u64,
    /// Referer and User-Agent, for the combined log (`None` if absent).
    pub referer: Option<String>,
    /// See `referer`.
    pub user_agent: Option<String>,
    /// All facts in order.
    pub facts: Vec<Fact>,
    /// Request field names and values, credentials and cookies redacted.
    pub request_fields: Fields,
}

impl Record {
    /// Whether somebody may ask for it long after: an error, or a response that began later than `slow_us`.
    pub fn is_notable(&self, slow_us: u64) -> bool {
        self.status >= 400 || self.first_byte_us >= slow_us
    }
}

/// Names and values in one piece of memory: records are many, and short-lived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(String);

impl Fields {
    /// For about so many bytes of names and values.
    pub fn with_capacity(bytes: usize) -> Fields {
        Fields(String::with_capacity(bytes))
    }

    /// Adds one, its value as it may be shown. Line ends, which no field can have, are left out.
    pub fn push(&mut self, name: &str, value: &str) {
        for (text, end) in [(name, '\0'), (value, '\n')] {
            match text.bytes().any(|byte| byte == 0 || byte == b'\n') {
                true => self.0.extend(text.split(['\0', '\n'])),
                false => self.0.push_str(text),
            }
            self.0.push(end);
        }
    }

    /// Names and values, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.lines().filter_map(|line| line.split_once('\0'))
    }

    /// Bytes it takes.
    pub fn len_bytes(&self) -> usize {
        self.0.capacity()
    }
}

impl<'t> FromIterator<(&'t str, &'t str)> for Fields {
    fn from_iter<I: IntoIterator<Item = (&'t str, &'t str)>>(fields: I) -> Fields {
        let mut all = Fields::default();
        fields.into_iter().for_each(|(name, value)| all.push(name, value));
        all
    }
}
