//! What a request carries through its life: who asked what, when, under which configuration, and every decision
//! so far. Steps own it and hand it on.

use super::finish;
use super::upload::{Taken, TooLong};
use crate::state::{Core, Snapshot};
use http::{HeaderMap, Method, Uri, Version};
use samovar_hot::ConnHandle;
use samovar_origin::Client;
use samovar_policy::{Now, RequestFacts};
use samovar_reason::{Hot, Lookup};
use samovar_rules::{Rewritten, Rule, Site, TargetId};
use samovar_trace::Fact;
use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

/// What is known of a connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The peer; `None` on a unix socket.
    pub peer: Option<SocketAddr>,
    /// Our end.
    pub local: Option<SocketAddr>,
    /// Which listener it came in by, as the hot tier knows it.
    pub listener: u32,
    /// The port of that listener; 0 for a unix socket.
    pub port: u16,
    /// Whether it came in under TLS.
    pub tls: bool,
    /// The peer in text, for logs.
    pub text: Arc<str>,
}

impl Connection {
    /// True for loopback addresses and unix sockets: those who may see error detail by default.
    pub fn is_local(&self) -> bool {
        self.peer.is_none_or(|p| p.ip().to_canonical().is_loopback())
    }

    /// The peer's address without a port.
    pub fn ip(&self) -> Option<IpAddr> {
        self.peer.map(|p| p.ip().to_canonical())
    }
}

/// A request's head and history.
pub struct Exchange {
    /// The core it runs on.
    pub core: Rc<Core>,
    /// The configuration it is answered under, from arrival to end.
    pub snapshot: Arc<Snapshot>,
    /// The connection.
    pub conn: Rc<Connection>,
    /// Method.
    pub method: Method,
    /// Target as it came.
    pub uri: Uri,
    /// Protocol version.
    pub version: Version,
    /// Fields as they came.
    pub headers: HeaderMap,
    /// It is about the server itself (`OPTIONS *`).
    pub of_the_server: bool,
    /// Whether a body follows.
    pub has_body: bool,
    /// The client's connection, for interim answers; `None` for a request that nobody waits for.
    pub handle: Option<ConnHandle>,
    /// When the head was complete.
    pub at: Now,
    /// The same, monotonic µs.
    pub at_us: u64,
    /// Its id.
    pub id: u64,
    /// Why the hot tier stood aside.
    pub not_hot: Option<Hot>,
    /// Who asked, after trusted proxies were believed.
    pub client: Client,
    /// Who signed in, if the rule asks for that.
    pub user: Option<Box<str>>,
    /// Every decision so far.
    pub facts: Vec<Fact>,
    /// Decisions that fall after the head was sent: a fill that could not be stored after all.
    pub late: Rc<RefCell<Vec<Fact>>>,
    /// It is made for `explain`, whose record names what is not in the key.
    pub explains: bool,
    /// No answer has begun yet.
    pub open: bool,
    /// Whether its content has been taken to its end; `None` if it has none.
    pub(super) content_taken: Option<Taken>,
    /// Whether a body without a length has exceeded what its rule allows, bytes.
    pub(super) body_too_long: Option<(TooLong, u64)>,
}

impl Drop for Exchange {
    /// Whoever leaves before there is an answer has asked all the same.
    fn drop(&mut self) {
        if self.open {
            finish::client_gone(self);
        }
    }
}

impl Exchange {
    /// Remembers a decision.
    pub fn note(&mut self, fact: Fact) {
        self.facts.push(fact);
    }

    /// What policy must know of it.
    pub fn facts_for<'a>(&'a self, route: &Route) -> RequestFacts<'a> {
        RequestFacts {
            method: &self.method,
            headers: &self.headers,
            relevant_cookies: route.relevant_cookies,
            has_query: route.query.is_some(),
            any_cookies: self.headers.contains_key(http::header::COOKIE),
        }
    }

    /// `HTTP/1.1` or `HTTP/1.0`.
    pub fn version_text(&self) -> &'static str {
        if self.version == Version::HTTP_10 { "HTTP/1.0" } else { "HTTP/1.1" }
    }
}

/// Where a request goes, owned: the rules' answer, freed from the configuration it was read from.
#[derive(Clone, Debug)]
pub struct Route {
    /// Position of the site.
    pub site: usize,
    /// Position of the rule; `None` for the site's own policy.
    pub rule: Option<usize>,
    /// Positions of the rules that hold beside it, since the path may be read as theirs; `None` for the site's own policy.
    pub held: Vec<Option<usize>>,
    /// Where it goes by its extension alone.
    pub target: TargetId,
    /// Canonical host.
    pub host: String,
    /// Normalised path.
    pub path: String,
    /// Query as it came.
    pub query: Option<String>,
    /// What the origin is asked for instead of path and query, if the rule rewrites.
    pub rewritten: Option<Arc<Rewritten>>,
    /// The key.
    pub key: Arc<str>,
    /// It carries cookies that may matter.
    pub relevant_cookies: bool,
    /// The host is the client's own, which no site names.
    pub learns_host: bool,
    /// The application may take another method for its own.
    pub overrides_method: bool,
    /// It goes past the cache, whatever the rule wishes: why.
    pub past_cache: Option<Lookup>,
}

impl Route {
    /// The path that the origin is asked for.
    pub fn asked_path(&self) -> &str {
        self.rewritten.as_ref().map_or(&self.path, |rewritten| &rewritten.path)
    }

    /// The same as the origin is asked; the key stays the client's.
    pub fn towards_origin(&self) -> Route {
        let mut route = self.clone();
        if let Some(rewritten) = &self.rewritten {
            route.path.clone_from(&rewritten.path);
            route.query.clone_from(&rewritten.query);
        }
        route
    }

    /// The site, in the snapshot it was routed by.
    pub fn site_in<'s>(&self, snapshot: &'s Snapshot) -> Option<&'s Site> {
        snapshot.settings.sites.sites.get(self.site)
    }

    /// The rule in force.
    pub fn rule_in<'s>(&self, snapshot: &'s Snapshot) -> Option<&'s Rule> {
        self.rule_at(self.rule, snapshot)
    }

    fn rule_at<'s>(&self, at: Option<usize>, snapshot: &'s Snapshot) -> Option<&'s Rule> {
        let site = self.site_in(snapshot)?;
        match at {
            Some(at) => site.rules.get(at),
            None => Some(&site.otherwise),
        }
    }

    /// The rules that hold beside it.
    pub fn held_in<'s>(&self, snapshot: &'s Snapshot) -> impl Iterator<Item = &'s Rule> {
        self.held.iter().filter_map(|at| self.rule_at(*at, snapshot))
    }

    /// Whether nothing of it may be in shared caching: the rule lets in only some; or another does that holds beside it, and
    /// then nobody has said that all whom both let in may see the same.
    pub fn unshared_in(&self, snapshot: &Snapshot) -> bool {
        let unshared = |rule: &Rule| rule.acts.as_ref().is_some_and(|acts| acts.unshared());
        let protects = |rule: &Rule| rule.acts.as_ref().is_some_and(|acts| acts.protects());
        self.rule_in(snapshot).is_some_and(unshared) || self.held_in(snapshot).any(protects)
    }

    /// Whether each request is looked at, by the rule or by one that holds beside it.
    pub fn gated_in(&self, snapshot: &Snapshot) -> bool {
        let gates = |rule: &Rule| rule.acts.as_ref().is_some_and(|acts| acts.gates());
        self.rule_in(snapshot).is_some_and(gates) || self.held_in(snapshot).any(gates)
    }
}
