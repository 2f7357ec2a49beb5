//! Whose password is checked next: turns by site, with bounds for each site and for each client.
//!
//! A hash may take a second, and nobody who asks is known yet. So that a flood on one site keeps nobody of another waiting,
//! sites take turns, and one site never has all helpers; so that one client does not fill a site's queue, each has few
//! places. Who waited too long is told so instead of being checked for nobody. Pure: values and `now` in, verdicts out.
//! Not here: hashes (`users`), threads, who is still there to be told (the server).

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

/// How many there may be.
#[derive(Clone, Copy, Debug)]
pub struct TurnBounds {
    /// That wait on one site.
    pub waiting_per_site: usize,
    /// That wait or run for one client.
    pub per_client: usize,
    /// That wait in all.
    pub waiting: usize,
    /// That run for one site.
    pub running_per_site: usize,
    /// How long one may wait, µs.
    pub wait_us: u64,
}

/// For whom something is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// The site.
    pub site: Arc<str>,
    /// The client, as far as clients are told apart.
    pub client: Option<IpAddr>,
}

/// What is next.
#[derive(Debug, PartialEq, Eq)]
pub enum Turn<J> {
    /// To be done now; [`Turns::done`] ends it.
    Run(J, Asker),
    /// It has waited for too long.
    Late(J),
}

/// See the file's head. `J` is what is done.
#[derive(Debug)]
pub struct Turns<J> {
    bounds: TurnBounds,
    sites: HashMap<Arc<str>, OfSite<J>>,
    /// Sites where somebody waits, the next one first.
    order: VecDeque<Arc<str>>,
    by_client: HashMap<Option<IpAddr>, usize>,
    waiting: usize,
}

#[derive(Debug)]
struct OfSite<J> {
    queue: VecDeque<Waiting<J>>,
    running: usize,
}

#[derive(Debug)]
struct Waiting<J> {
    job: J,
    client: Option<IpAddr>,
    since_us: u64,
}

impl<J> Turns<J> {
    /// With these bounds.
    pub fn new(bounds: TurnBounds) -> Turns<J> {
        Turns { bounds, sites: HashMap::new(), order: VecDeque::new(), by_client: HashMap::new(), waiting: 0 }
    }

    /// How many wait, on the site where most do.
    pub fn most_waiting(&self) -> usize {
        self.sites.values().map(|site| site.queue.len()).max().unwrap_or(0)
    }

    /// How many run.
    pub fn running(&self) -> usize {
        self.sites.values().map(|site| site.running).sum()
    }

    /// Puts a job in line.
    ///
    /// # Errors
    /// The job, where a bound is met.
    pub fn admit(&mut self, asker: Asker, job: J, now_us: u64) -> Result<(), J> {
        let of_client = self.by_client.get(&asker.client).copied().unwrap_or(0);
        let of_site = self.sites.get(&asker.site).map_or(0, |site| site.queue.len());
        let bounds = &self.bounds;
        if of_client >= bounds.per_client
            || of_site >= bounds.waiting_per_site
            || self.waiting >= bounds.waiting
        {
            return Err(job);
        }
        let site = self
            .sites
            .entry(Arc::clone(&asker.site))
            .or_insert_with(|| OfSite { queue: VecDeque::new(), running: 0 });
        if site.queue.is_empty() {
            self.order.push_back(asker.site);
        }
        site.queue.push_back(Waiting { job, client: asker.client, since_us: now_us });
        *self.by_client.entry(asker.client).or_default() += 1;
        self.waiting += 1;
        Ok(())
    }

    /// What is next, of the site whose turn it is; `None` if nobody waits, or only on sites that have their share already.
    pub fn next(&mut self, now_us: u64) -> Option<Turn<J>> {
        for _ in 0..self.order.len() {
            let name = self.order.pop_front()?;
            let Some(site) = self.sites.get_mut(&name) else { continue };
            if site.running >= self.bounds.running_per_site {
                self.order.push_back(name);
                continue;
            }
            let Some(waiting) = site.queue.pop_front() else { continue };
            self.waiting -= 1;
            let late = now_us.saturating_sub(waiting.since_us) > self.bounds.wait_us;
            site.running += usize::from(!late);
            if !site.queue.is_empty() {
                self.order.push_back(Arc::clone(&name));
            }
            if late {
                self.leave(waiting.client);
                self.forget_if_empty(&name);
                return Some(Turn::Late(waiting.job));
            }
            return Some(Turn::Run(waiting.job, Asker { site: name, client: waiting.client }));
        }
        None
    }

    /// What ran is done.
    pub fn done(&mut self, asker: &Asker) {
        self.leave(asker.client);
        if let Some(site) = self.sites.get_mut(&asker.site) {
            site.running = site.running.saturating_sub(1);
        }
        self.forget_if_empty(&asker.site);
    }

    /// Drops what nobody waits for any more.
    pub fn drop_unwanted(&mut self, wanted: impl Fn(&J) -> bool) -> Vec<J> {
        let mut dropped = Vec::new();
        for site in self.sites.values_mut() {
            for waiting in std::mem::take(&mut site.queue) {
                match wanted(&waiting.job) {
                    true => site.queue.push_back(waiting),
                    false => dropped.push(waiting),
                }
            }
        }
        self.waiting -= dropped.len();
        let sites = &self.sites;
        self.order.retain(|name| sites.get(name).is_some_and(|site| !site.queue.is_empty()));
        self.sites.retain(|_, site| site.running > 0 || !site.queue.is_empty());
        dropped.iter().for_each(|waiting| self.leave(waiting.client));
        dropped.into_iter().map(|waiting| waiting.job).collect()
    }

    fn leave(&mut self, client: Option<IpAddr>) {
        if let Some(left) = self.by_client.get_mut(&client) {
            *left -= 1;
            if *left == 0 {
                self.by_client.remove(&client);
            }
        }
    }

    fn forget_if_empty(&mut self, name: &Arc<str>) {
        if self.sites.get(name).is_some_and(|site| site.running == 0 && site.queue.is_empty()) {
            self.sites.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOUNDS: TurnBounds =
        TurnBounds { waiting_per_site: 4, per_client: 2, waiting: 10, running_per_site: 1, wait_us: 100 };

    fn asker(site: &str, client: u8) -> Asker {
        Asker { site: site.into(), client: Some([10, 0, 0, client].into()) }
    }

    #[test]
    fn a_flood_on_one_site_keeps_nobody_of_another_waiting() {
        let mut turns = Turns::new(BOUNDS);
        for client in 0..4 {
            assert_eq!(turns.admit(asker("a", client), client, 0), Ok(()));
        }
        assert_eq!(turns.admit(asker("a", 9), 9, 0), Err(9), "its queue is full");
        assert_eq!(turns.next(0), Some(Turn::Run(0, asker("a", 0))));
        assert_eq!(turns.next(0), None, "it has its share of the helpers");
        assert_eq!(turns.admit(asker("b", 9), 20, 0), Ok(()));
        assert_eq!(turns.next(0), Some(Turn::Run(20, asker("b", 9))), "the other site has its own");
        turns.done(&asker("b", 9));
        turns.done(&asker("a", 0));
        assert_eq!(turns.admit(asker("b", 9), 21, 0), Ok(()));
        // One of each in turn.
        assert_eq!(turns.next(0), Some(Turn::Run(1, asker("a", 1))));
        assert_eq!(turns.next(0), Some(Turn::Run(21, asker("b", 9))));
    }

    #[test]
    fn a_client_has_few_places_running_ones_included() {
        let mut turns = Turns::new(BOUNDS);
        assert_eq!(turns.admit(asker("a", 1), 1, 0), Ok(()));
        assert_eq!(turns.next(0), Some(Turn::Run(1, asker("a", 1))));
        assert_eq!(turns.admit(asker("b", 1), 2, 0), Ok(()));
        assert_eq!(turns.admit(asker("c", 1), 3, 0), Err(3));
        turns.done(&asker("a", 1));
        assert_eq!(turns.admit(asker("c", 1), 3, 0), Ok(()));
    }

    #[test]
    fn who_left_gives_the_place_back_and_who_waited_too_long_is_told() {
        let mut turns = Turns::new(BOUNDS);
        for client in 0..4 {
            assert_eq!(turns.admit(asker("a", client), client, 0), Ok(()));
        }
        assert_eq!(turns.drop_unwanted(|job| *job == 2), [0, 1, 3]);
        assert_eq!(turns.admit(asker("a", 0), 4, 50), Ok(()));
        assert_eq!(turns.next(101), Some(Turn::Late(2)));
        assert_eq!(turns.next(101), Some(Turn::Run(4, asker("a", 0))));
        turns.done(&asker("a", 0));
        assert_eq!((turns.next(101), turns.running(), turns.most_waiting()), (None, 0, 0));
        assert!(turns.sites.is_empty() && turns.by_client.is_empty() && turns.order.is_empty());
    }

    proptest! {
        /// Whatever happens, no bound is exceeded, nothing is lost, and in the end nothing is left.
        #[test]
        fn the_bounds_hold(steps in prop::collection::vec((0..4_u8, 0..3_u8, 0..5_u8), 0..200)) {
            let mut turns = Turns::new(BOUNDS);
            let (mut running, mut waiting, mut number) = (Vec::new(), std::collections::BTreeSet::new(), 0);
            for (at, (what, site, client)) in (0_u64..).zip(steps) {
                match what {
                    0 | 1 => {
                        number += 1;
                        if turns.admit(asker(["a", "b", "c"][usize::from(site)], client), number, at).is_ok() {
                            waiting.insert(number);
                        }
                    }
                    2 => match turns.next(at) {
                        Some(Turn::Run(job, who)) => {
                            prop_assert!(waiting.remove(&job));
                            running.push(who);
                        }
                        Some(Turn::Late(job)) => prop_assert!(waiting.remove(&job)),
                        None => prop_assert!(waiting.is_empty() || !running.is_empty()),
                    },
                    _ => {
                        if let Some(who) = running.pop() {
                            turns.done(&who);
                        }
                    }
                }
                prop_assert!(turns.most_waiting() <= BOUNDS.waiting_per_site);
                prop_assert_eq!((turns.waiting, turns.running()), (waiting.len(), running.len()));
                for name in ["a", "b", "c"] {
                    let of_site = running.iter().filter(|who| &*who.site == name).count();
                    prop_assert!(of_site <= BOUNDS.running_per_site);
                }
                prop_assert!(turns.by_client.values().all(|n| *n <= BOUNDS.per_client));
            }
            running.iter().for_each(|who| turns.done(who));
            turns.drop_unwanted(|_| false);
            prop_assert!(turns.sites.is_empty() && turns.by_client.is_empty() && turns.order.is_empty());
        }
    }
}
