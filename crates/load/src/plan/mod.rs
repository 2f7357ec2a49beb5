//! What to send: servers, request bytes built once, who asks what, and how much load there is when.
//!
//! Pure: names are not resolved and nothing is opened here. URLs, lists of them, plans in TOML and scenario files of WCAT all
//! become a [`Plan`]; the sender knows nothing else.

pub mod levels;
pub mod request;
pub mod scenario;
pub mod script;
pub mod size;
pub mod target;

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::path::PathBuf;

pub use request::{Request, Right, Wish};
pub use script::{Next, Pick, Round, Rounds, Script, Step, Walk};
pub use target::{Place, Target};

use crate::check::Checks;
use crate::pacer::{Schedule, Spacing, share};

/// A server to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// As it is shown: `host:port` or the path of a socket.
    pub name: String,
    /// Where it listens.
    pub place: Place,
    /// Whether TLS is spoken there.
    pub secure: bool,
}

/// What some of the clients have in common: they stay with one server, and ask these.
#[derive(Clone, Debug, Default)]
pub struct Home {
    /// The name of the server, as scenarios ask for it.
    pub server: String,
    /// The requests, as indexes into [`Plan::requests`], in the order of the command line; empty where rounds say what comes.
    pub requests: Vec<usize>,
    /// The running sums by which they are drawn, if they are.
    pub sums: Vec<f64>,
}

/// All a run needs to know before it starts.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The servers, each once.
    pub origins: Vec<Origin>,
    /// Where clients stay; one at least.
    pub homes: Vec<Home>,
    /// The requests, one per URL or step.
    pub requests: Vec<Request>,
    /// What clients ask for next.
    pub script: Script,
    /// The rows of the table of results.
    pub rows: Vec<String>,
    /// How much, how long, by whom.
    pub load: Load,
    /// How clients behave, and what they look at.
    pub manners: Manners,
}

/// How clients behave, and what they look at.
#[derive(Clone, Debug, Default)]
pub struct Manners {
    /// What answers have to be.
    pub checks: Checks,
    /// Whether clients keep answers as browsers do.
    pub keeps: bool,
    /// Whose certificates are believed.
    pub trust: Trust,
    /// Addresses of names, before the system is asked.
    pub known: Vec<(String, IpAddr)>,
}

/// Whom to trust.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Whom the system trusts.
    #[default]
    System,
    /// The certificates of this file.
    File(PathBuf),
    /// Everyone: the load is real, and nobody knows with whom.
    Everyone,
}

/// The size and shape of the load.
#[derive(Clone, Debug)]
pub struct Load {
    /// Clients over all threads, each with one connection at a time: in a closed loop at the highest level, in an open one
    /// the most requests in flight.
    pub clients: u32,
    /// Threads that send.
    pub threads: u32,
    /// Measured requests to send, if counted.
    pub count: Option<u64>,
    /// The phases, and the level in each.
    pub schedule: Schedule,
    /// What levels are numbers of, and what it means that answers are late.
    pub shape: Shape,
    /// How long a connect or an answer may take.
    pub timeout_ns: u64,
    /// Between two rounds of a client pass as many nanoseconds, from and to.
    pub think_ns: (u64, u64),
    /// Requests a second at most, over all clients of a closed loop.
    pub most_per_s: Option<f64>,
    /// Where clients connect from, in turn.
    pub sources: Vec<IpAddr>,
    /// Clients take all addresses of a server in turn, instead of the first that works.
    pub spread: bool,
    /// Whether waits are as exact as the machine allows, at the price of CPU.
    pub precise: bool,
    /// What chance depends on.
    pub seed: u64,
}

/// Who decides when a request is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Its client: when its last answer is whole.
    Closed,
    /// The clock.
    Open {
        /// How moments are spaced.
        spacing: Spacing,
        /// What happens when all clients are busy.
        full: Full,
    },
}

/// What becomes of a request that is due when as many are in flight as may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Full {
    /// It waits; its time runs from when it was due.
    #[default]
    Queue,
    /// It is not sent, and counted.
    Drop,
}

impl Load {
    /// A closed loop of so many clients.
    pub fn closed(clients: u32, threads: u32, count: Option<u64>, schedule: Schedule) -> Load {
        Load {
            clients,
            threads,
            count,
            schedule,
            shape: Shape::Closed,
            timeout_ns: 30_000_000_000,
            think_ns: (0, 0),
            most_per_s: None,
            sources: Vec::new(),
            spread: false,
            precise: true,
            seed: 1,
        }
    }

    /// Whether requests are sent by the clock.
    pub fn is_open(&self) -> bool {
        matches!(self.shape, Shape::Open { .. })
    }

    /// As many clients and threads as there can be work for.
    fn fitted(mut self) -> Load {
        let useful =
            self.count.map_or(self.clients, |n| self.clients.min(u32::try_from(n).unwrap_or(u32::MAX)));
        self.clients = useful.max(1);
        self.threads = self.threads.clamp(1, self.clients);
        self
    }
}

impl Plan {
    /// URLs asked for by clients that each stay with one server. `wish` is what all requests have in common, `weights` how
    /// often each is asked for where that is how they are picked.
    ///
    /// # Errors
    /// A sentence for the person at the command line.
    pub fn of_urls(
        targets: &[Target],
        weights: &[f64],
        pick: Pick,
        wish: &Wish,
        load: Load,
    ) -> Result<Plan, String> {
        let mut origins: Vec<Origin> = Vec::new();
        let mut homes: Vec<Home> = Vec::new();
        let mut requests = Vec::with_capacity(targets.len());
        for (index, target) in targets.iter().enumerate() {
            let mut request = request::build(target, wish)?;
            let origin = intern(&mut origins, &target.place, target.secure);
            request.origins = vec![origin];
            request.row = index;
            requests.push(request);
            if homes.len() < origins.len() {
                homes.push(Home { server: target.authority.clone(), ..Home::default() });
            }
            if let Some(home) = homes.get_mut(origin) {
                home.requests.push(index);
            }
        }
        for home in &mut homes {
            let of_home = home.requests.iter().map(|index| weights.get(*index).copied().unwrap_or(1.0));
            home.sums = script::sums(pick, &of_home.collect::<Vec<f64>>());
            if home.sums.last().is_some_and(|sum| *sum <= 0.0) {
                return Err(format!("no URL of {} has a weight above 0", home.server));
            }
        }
        if (load.clients as usize) < origins.len() {
            return Err(format!(
                "{} connections cannot reach {} different servers: raise -c to {} at least",
                load.clients,
                origins.len(),
                origins.len()
            ));
        }
        let rows = requests.iter().map(|request| request.url.clone()).collect();
        let script = Script::Requests(pick);
        let manners = Manners::default();
        let plan = Plan { origins, homes, requests, script, rows, load: load.fitted(), manners };
        Ok(plan.with_other_schemes())
    }

    /// Where redirects are followed, they may lead from `http` to `https` of the same host, or back.
    fn with_other_schemes(mut self) -> Plan {
        if self.requests.iter().any(|request| request.follow) {
            for origin in self.origins.clone() {
                if let Place::Tcp { host, .. } = origin.place {
                    intern(&mut self.origins, &Place::Tcp { host: host.clone(), port: 80 }, false);
                    intern(&mut self.origins, &Place::Tcp { host, port: 443 }, true);
                }
            }
        }
        self
    }

    /// Whether any client has to remember anything from one answer to the next.
    pub fn has_memory(&self) -> bool {
        self.manners.keeps || self.requests.iter().any(|request| request.cookies)
    }

    /// Whether the fields of heads are looked at beyond what every answer is counted by.
    pub fn needs_heads(&self) -> bool {
        self.has_memory() || self.manners.checks.needs_head() || self.requests.iter().any(|r| r.follow)
    }

    /// The origins that requests are meant for; those behind them are only led to.
    pub fn origins_meant(&self) -> Vec<usize> {
        let mut meant: Vec<usize> = self.requests.iter().flat_map(|r| r.origins.iter().copied()).collect();
        meant.sort_unstable();
        meant.dedup();
        meant
    }

    /// Where client number `index`, counted thread by thread, stays.
    pub fn home_of(&self, index: usize) -> usize {
        index % self.homes.len().max(1)
    }

    /// The origin that a request of a client of this home goes to.
    pub fn origin_of(&self, request: &Request, home: usize) -> usize {
        let own = request.origins.get(home % request.origins.len().max(1));
        own.copied().unwrap_or(0)
    }

    /// Where thread `thread` begins in the requests of a home, which its clients send in turn together: each thread has its
    /// part of a long list, so that as many requests as there are URLs ask for each of them once.
    pub fn first_of(&self, thread: u32, home: usize) -> usize {
        let requests = self.homes.get(home).map_or(0, |home| home.requests.len());
        let before = self.clients_of(thread).start as u128;
        usize::try_from(requests as u128 * before / u128::from(self.load.clients.max(1))).unwrap_or(0)
    }

    /// The numbers of the clients of thread `thread`, counted thread by thread.
    pub fn clients_of(&self, thread: u32) -> std::ops::Range<usize> {
        let load = &self.load;
        let of =
            |t: u32| usize::try_from(share(load.clients.into(), load.threads.into(), t.into())).unwrap_or(0);
        let start: usize = (0..thread).map(of).sum();
        start..start + of(thread)
    }

    /// The rank of the client at `place` of thread `thread`: where only some take part, those of low rank do, and each thread
    /// has as many of them.
    pub fn rank_of(&self, thread: u32, place: usize) -> u32 {
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        place.saturating_mul(self.load.threads).saturating_add(thread)
    }

    /// How many measured requests thread `thread` may send: in proportion to its clients.
    pub fn budget_of(&self, thread: u32) -> Option<u64> {
        let total = self.load.count?;
        let range = self.clients_of(thread);
        let upto =
            |clients: usize| u128::from(total) * clients as u128 / u128::from(self.load.clients.max(1));
        u64::try_from(upto(range.end) - upto(range.start)).ok()
    }
}

/// The number of this origin, which is added if it is new.
fn intern(origins: &mut Vec<Origin>, place: &Place, secure: bool) -> usize {
    let known = origins.iter().position(|origin| origin.place == *place && origin.secure == secure);
    known.unwrap_or_else(|| {
        origins.push(Origin { name: place.to_string(), place: place.clone(), secure });
        origins.len() - 1
    })
}
