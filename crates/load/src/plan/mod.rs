//! What to send: targets, request bytes built once, and which connection asks what.
//!
//! Pure: names are not resolved and nothing is opened here. Scenario files, logs and HAR files become a [`Plan`]
//! too when they come; the sender knows nothing else.

pub mod request;
pub mod size;
pub mod target;

pub use request::{Request, Wish};
pub use target::{Place, Target};

use crate::pacer::{Schedule, share};

/// A server to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// As it is shown: `host:port` or the path of a socket.
    pub name: String,
    /// Where it listens.
    pub place: Place,
    /// The requests that go there, as indexes into [`Plan::requests`], in the order of the command line.
    pub requests: Vec<usize>,
}

/// All a run needs to know before it starts.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The servers, each once.
    pub origins: Vec<Origin>,
    /// The requests, one per URL.
    pub requests: Vec<Request>,
    /// Connections over all threads.
    pub connections: u32,
    /// Threads that send.
    pub threads: u32,
    /// Measured requests to send, if counted.
    pub count: Option<u64>,
    /// The phases.
    pub schedule: Schedule,
    /// How long a connect or an answer may take.
    pub timeout_ns: u64,
    /// Whether connections carry more than one request.
    pub keep_alive: bool,
}

impl Plan {
    /// Groups the targets by server. `wish` is what all requests have in common.
    ///
    /// # Errors
    /// A sentence for the person at the command line.
    pub fn new(targets: &[Target], wish: &Wish, load: Load) -> Result<Plan, String> {
        let mut origins: Vec<Origin> = Vec::new();
        let mut requests = Vec::with_capacity(targets.len());
        for (index, target) in targets.iter().enumerate() {
            requests.push(request::build(target, wish)?);
            match origins.iter_mut().find(|origin| origin.place == target.place) {
                Some(origin) => origin.requests.push(index),
                None => origins.push(Origin {
                    name: target.place.to_string(),
                    place: target.place.clone(),
                    requests: vec![index],
                }),
            }
        }
        if (load.connections as usize) < origins.len() {
            return Err(format!(
                "{} connections cannot reach {} different servers: raise -c to {} at least",
                load.connections,
                origins.len(),
                origins.len()
            ));
        }
        // More connections than requests would never be used.
        let useful = load
            .count
            .map_or(load.connections, |n| load.connections.min(u32::try_from(n).unwrap_or(u32::MAX)));
        let connections = useful.max(1);
        Ok(Plan {
            origins,
            requests,
            connections,
            threads: load.threads.clamp(1, connections),
            count: load.count,
            schedule: load.schedule,
            timeout_ns: load.timeout_ns,
            keep_alive: wish.keep_alive,
        })
    }

    /// The server, as an index into [`Plan::origins`], that connection number `index` of the whole run stays with.
    pub fn origin_of(&self, index: usize) -> usize {
        index % self.origins.len().max(1)
    }

    /// Where thread `thread` begins in the requests of an origin, which its connections send in turn together: each
    /// thread has its part of a long list, so that as many requests as there are URLs ask for each of them once.
    pub fn first_of(&self, thread: u32, origin: usize) -> usize {
        let requests = self.origins.get(origin).map_or(0, |o| o.requests.len());
        let before = self.connections_of(thread).start as u128;
        usize::try_from(requests as u128 * before / u128::from(self.connections.max(1))).unwrap_or(0)
    }

    /// The numbers of the connections that thread `thread` holds.
    pub fn connections_of(&self, thread: u32) -> std::ops::Range<usize> {
        let of = |t: u32| {
            usize::try_from(share(self.connections.into(), self.threads.into(), t.into())).unwrap_or(0)
        };
        let start: usize = (0..thread).map(of).sum();
        start..start + of(thread)
    }

    /// How many measured requests thread `thread` may send: in proportion to its connections.
    pub fn budget_of(&self, thread: u32) -> Option<u64> {
        let total = self.count?;
        let range = self.connections_of(thread);
        let upto = |connections: usize| {
            u128::from(total) * connections as u128 / u128::from(self.connections.max(1))
        };
        u64::try_from(upto(range.end) - upto(range.start)).ok()
    }
}

/// The size and shape of the load.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// See [`Plan::connections`].
    pub connections: u32,
    /// See [`Plan::threads`].
    pub threads: u32,
    /// See [`Plan::count`].
    pub count: Option<u64>,
    /// See [`Plan::schedule`].
    pub schedule: Schedule,
    /// See [`Plan::timeout_ns`].
    pub timeout_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plan(urls: &[&str], connections: u32, threads: u32, count: Option<u64>) -> Result<Plan, String> {
        let targets: Vec<Target> = urls.iter().map(|url| url.parse().unwrap()).collect();
        let schedule = Schedule { warmup_ns: 0, measure_ns: None, cooldown_ns: 0 };
        Plan::new(&targets, &Wish::default(), Load { connections, threads, count, schedule, timeout_ns: 1 })
    }

    #[test]
    fn each_thread_starts_at_another_url() {
        let plan = plan(&["http://a/1", "http://a/2", "http://a/3", "http://a/4", "http://b/5"], 8, 2, None)
            .unwrap();
        let origins: Vec<usize> = (0..8).map(|index| plan.origin_of(index)).collect();
        assert_eq!(origins, [0, 1, 0, 1, 0, 1, 0, 1]);
        assert_eq!([0, 1].map(|thread| plan.first_of(thread, 0)), [0, 2]);
        assert_eq!([0, 1].map(|thread| plan.first_of(thread, 1)), [0, 0]);
    }

    #[test]
    fn too_few_connections_for_the_servers() {
        let error = plan(&["http://a/", "http://b/", "http://c/"], 2, 1, None).unwrap_err();
        assert!(error.contains("raise -c to 3"), "{error}");
    }

    #[test]
    fn no_connection_without_work() {
        let plan = plan(&["http://a/"], 10, 4, Some(3)).unwrap();
        assert_eq!((plan.connections, plan.threads), (3, 3));
    }

    proptest! {
        #[test]
        fn threads_share_connections_and_count(
            connections in 1_u32..500, threads in 1_u32..64, count in 1_u64..100_000
        ) {
            let plan = plan(&["http://a/"], connections, threads, Some(count)).unwrap();
            let mut next = 0;
            let mut sum = 0;
            for thread in 0..plan.threads {
                let range = plan.connections_of(thread);
                prop_assert_eq!(range.start, next);
                prop_assert!(!range.is_empty());
                next = range.end;
                let budget = plan.budget_of(thread).unwrap();
                prop_assert!(budget >= range.len() as u64 || u64::from(plan.connections) > count);
                sum += budget;
            }
            prop_assert_eq!(next, plan.connections as usize);
            prop_assert_eq!(sum, count);
        }
    }
}
