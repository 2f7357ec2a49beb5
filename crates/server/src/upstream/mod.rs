//! An upstream as it runs: its members with their pools, the balancer between them, the queue before all of them.
//!
//! `ask` sends a request to one member after the other until there is an answer or a reason to stop; `under_way` holds
//! what a request occupies until its last byte; `lent` keeps a request's body for another attempt; `tend` asks members
//! whether they are well and looks their names up again; `gates` are the bounds of sites and rules. Who is chosen, and
//! whether to try again, is decided in the room `balance`. Not here: one attempt itself (`origin`), what a failure means
//! for a client (`pipeline`).

mod ask;
mod gates;
mod lent;
mod tend;
mod under_way;
mod view;

pub use self::ask::{Answered, Failed};
pub use self::gates::{Gates, Named as NamedGate, Places};
pub use self::tend::ask_fastcgi;
pub use self::view::{MemberState, UpstreamState};

use crate::clock;
use crate::config::{MemberPlace, Protocol, UpstreamSettings};
use samovar_balance::{Balancer, Change, Method};
use samovar_origin::{FastCgi, FastCgiSettings, Gate, HttpSettings, HttpUpstream, PoolStats, UpstreamLimits};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// How many connections are proposed to whoever meets the default: what one slow service was seen to be asked for at once.
const MANY_CONNECTIONS: usize = 4_000;

/// See the file's head.
pub struct Upstream {
    settings: Arc<UpstreamSettings>,
    balancer: Mutex<Balancer>,
    members: Vec<Member>,
    /// Before all members together; a single one has its own pool's.
    gate: Option<Gate>,
    dice: AtomicU64,
}

/// A member's way of being asked.
pub(crate) struct Member {
    /// Its name as it is told.
    told: Arc<str>,
    place: MemberPlace,
    server: Server,
    probing: tend::Probing,
}

/// Who is asked.
#[derive(Clone)]
pub(crate) enum Server {
    Http(Arc<HttpUpstream>),
    FastCgi(Arc<FastCgi>),
}

impl Upstream {
    /// Opens an upstream; nothing is tried yet. Of the one it takes the place of, if there is one, members that stay keep
    /// their connections and what is known of them.
    pub fn open(settings: &Arc<UpstreamSettings>, before: Option<&Upstream>) -> Arc<Upstream> {
        let balancer = match before {
            Some(before) => {
                let live = before.balancer();
                live.with(settings.balance.clone().carrying(&before.settings.balance, live.settings()))
            }
            None => Balancer::new(settings.balance.clone()),
        };
        let named = settings.balance.members.iter().zip(&settings.places);
        let members: Vec<Member> = named
            .map(|(member, place)| {
                let limits = UpstreamLimits { max_connections: member.busy_max, ..settings.limits.clone() };
                let name = match settings.places.len() {
                    1 => settings.name.clone(),
                    _ => format!("{}/{}", settings.name, member.name),
                };
                let server = Server::open(settings, &name, place, limits);
                let kept =
                    before.and_then(|before| before.members.iter().find(|m| m.server.is_like(&server)));
                Member {
                    told: name.into(),
                    place: place.clone(),
                    server: kept.map_or(server, |kept| kept.server.clone()),
                    probing: tend::Probing::default(),
                }
            })
            .collect();
        let l = &settings.limits;
        let gate = (members.len() > 1).then(|| Gate::new(l.max_connections, l.queue_max, l.queue_timeout));
        let dice = AtomicU64::new(clock::mono_us());
        Arc::new(Upstream {
            settings: Arc::clone(settings),
            balancer: Mutex::new(balancer),
            members,
            gate,
            dice,
        })
    }

    /// What it was made from; changes made while it runs are in [`Upstream::view`].
    pub fn settings(&self) -> &Arc<UpstreamSettings> {
        &self.settings
    }

    /// Closes connections that were idle too long.
    pub fn close_idle(&self, now: Instant) {
        self.members.iter().for_each(|member| member.server.close_idle(now));
    }

    /// What all its pools do together, and how many wait before them.
    pub fn stats(&self) -> PoolStats {
        let mut all = PoolStats::default();
        for stats in self.members.iter().map(|member| member.server.stats()) {
            all.open += stats.open;
            all.idle += stats.idle;
            all.busy += stats.busy;
            all.waiting += stats.waiting;
            all.refused += stats.refused;
            all.connects += stats.connects;
            all.reuses += stats.reuses;
        }
        if let Some(gate) = self.gate.as_ref().map(Gate::stats) {
            all.waiting += gate.waiting;
            all.refused += gate.full + gate.late;
        }
        all
    }

    /// What to write where as many requests are under way as may be.
    pub fn line_to_change(&self) -> String {
        let (name, most) = (&self.settings.name, self.settings.limits.max_connections);
        let wanted = match self.settings.protocol {
            Protocol::Http => format!(
                "`max_connections = {}`, if it bears that many requests at once",
                MANY_CONNECTIONS.max(2 * most)
            ),
            Protocol::FastCgi => "`max_connections`, as many as the application has processes".to_owned(),
        };
        format!("the line to change is in [[upstream]] with `name = \"{name}\"`: {wanted} (now {most})")
    }

    /// How many connections have changed to another protocol, over all members; `None` where none can.
    pub fn upgraded(&self) -> Option<usize> {
        let each = self.members.iter().filter_map(|member| match &member.server {
            Server::Http(upstream) => Some(upstream.upgraded()),
            Server::FastCgi(_) => None,
        });
        (self.settings.protocol == Protocol::Http).then(|| each.sum())
    }

    /// Which member has this name, or route, or position counted from 1.
    pub fn member_named(&self, name: &str) -> Option<usize> {
        let balancer = self.balancer();
        let members = &balancer.settings().members;
        let by_place =
            || name.parse::<usize>().ok().filter(|n| (1..=members.len()).contains(n)).map(|n| n - 1);
        members
            .iter()
            .position(|m| m.name == name)
            .or_else(|| members.iter().position(|m| !m.route.is_empty() && m.route == name))
            .or_else(by_place)
    }

    /// The operator changes a member.
    pub fn change(&self, member: usize, change: &Change) {
        let now_ms = clock::mono_ms();
        let mut balancer = self.balancer();
        balancer.change(now_ms, member, change);
        if change.admin.is_some() {
            balancer.level_bytes(member, &|at| self.carried(at));
        }
    }

    /// The operator changes how a member is chosen.
    pub fn set_method(&self, method: Method) {
        self.balancer().set_method(method);
    }

    fn balancer(&self) -> MutexGuard<'_, Balancer> {
        self.balancer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes to and from a member.
    fn carried(&self, member: usize) -> u64 {
        let (to, from) = self.members.get(member).map_or((0, 0), |m| m.server.carried());
        to.saturating_add(from)
    }

    /// A member's name as it is told.
    fn target(&self, member: usize) -> Arc<str> {
        let member = self.members.get(member);
        member.map_or_else(|| self.settings.name.as_str().into(), |member| Arc::clone(&member.told))
    }
}

impl Server {
    fn open(settings: &UpstreamSettings, name: &str, place: &MemberPlace, limits: UpstreamLimits) -> Server {
        match settings.protocol {
            Protocol::Http => Server::Http(HttpUpstream::new(HttpSettings {
                name: name.to_owned(),
                address: place.address.clone(),
                host: settings.host.clone(),
                base_path: place.base_path.clone(),
                limits,
            })),
            Protocol::FastCgi => {
                let told = name.to_owned();
                let stderr = Arc::new(move |line: &str| crate::say!("samovar: {told}: {line}"));
                let address = place.address.clone();
                Server::FastCgi(FastCgi::new(
                    FastCgiSettings { name: name.to_owned(), address, limits },
                    stderr,
                ))
            }
        }
    }

    /// Made from the same settings.
    fn is_like(&self, other: &Server) -> bool {
        match (self, other) {
            (Server::Http(a), Server::Http(b)) => a.settings() == b.settings(),
            (Server::FastCgi(a), Server::FastCgi(b)) => a.settings() == b.settings(),
            _ => false,
        }
    }

    fn stats(&self) -> PoolStats {
        match self {
            Server::Http(upstream) => upstream.stats(),
            Server::FastCgi(app) => app.stats(),
        }
    }

    fn carried(&self) -> (u64, u64) {
        match self {
            Server::Http(upstream) => upstream.carried(),
            Server::FastCgi(app) => app.carried(),
        }
    }

    /// Whether it listens at a name, which may move.
    fn is_named(&self) -> bool {
        match self {
            Server::Http(upstream) => upstream.is_named(),
            Server::FastCgi(app) => app.is_named(),
        }
    }

    fn close_idle(&self, now: Instant) {
        match self {
            Server::Http(upstream) => upstream.close_idle(now),
            Server::FastCgi(app) => app.close_idle(now),
        }
    }
}
