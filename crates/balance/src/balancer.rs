//! One upstream: its members, what is known of each, and which takes the next request.
//!
//! Order of a choice: who could take it at all (the operator's word, health, room, not tried before), the lowest set
//! among them, ordinary members before standbys, the session's member if it is among them, else the method. Whoever was
//! passed over is told with the reason. `need` is what holds when those in use fail. Not here: how the methods weigh
//! (`methods`), what health is made of (`health`).

mod need;

use crate::hash::owner_of;
use crate::health::{Health, State};
use crate::methods::{self, Candidate};
use crate::retry::{self, Attempt, BodyState, Case, Purse, Verdict};
use crate::settings::{Admin, Member, Method, Settings};
use samovar_reason::{Elect, Unusable};

/// How fast the peak EWMA of latencies forgets, µs.
const LATENCY_TAU_US: f64 = 10_000_000.0;

/// What is known of a member.
#[derive(Clone, Debug)]
struct Known {
    health: Health,
    busy: usize,
    lead: i64,
    latency_us: f64,
    latency_at_ms: u64,
    /// What counts as carried before it came, or came back: others' bytes, so that it is not flooded to make up.
    bytes_base: i128,
    elected: u64,
    errors: u64,
    ejections: u64,
    retried: u64,
}

/// One upstream's balancer.
#[derive(Clone, Debug)]
pub struct Balancer {
    settings: Settings,
    known: Vec<Known>,
    purse: Purse,
}

/// A request that wants a member.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// The route its session names.
    pub route: Option<&'a str>,
    /// The hash of its key, for [`Method::Hash`].
    pub key: u64,
    /// A random number.
    pub dice: u64,
    /// Members that were asked for it already.
    pub tried: &'a [usize],
    /// Bytes that a member has carried since the start, both ways.
    pub bytes: &'a dyn Fn(usize) -> u64,
}

/// Who takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Which member.
    pub member: usize,
    /// Why.
    pub why: Elect,
    /// Requests under way on it, this one counted.
    pub busy: usize,
    /// Who could not take it. Empty, and nothing allocated, where all could.
    pub passed_over: Vec<(usize, Unusable)>,
}

/// What an answer, or a failure, changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing that is worth telling.
    Same,
    /// The member is set aside by this.
    Aside,
    /// The member is taken back by this.
    Back,
    /// With this, all in use fail in a row: those that were set aside are in use again.
    Recalled,
}

/// Nobody takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nobody {
    /// Why not, member by member.
    pub passed_over: Vec<(usize, Unusable)>,
}

/// What the operator changes of a member while it works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Its weight.
    pub weight: Option<u32>,
    /// Its set.
    pub set: Option<u32>,
    /// Whether it is a standby.
    pub standby: Option<bool>,
    /// Its route.
    pub route: Option<String>,
    /// Whether it takes work.
    pub admin: Option<Admin>,
}

/// What there is to see of a member.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberView {
    /// Its settings as they are now.
    pub member: Member,
    /// Why it is not asked; `None` if it may be.
    pub unusable: Option<Unusable>,
    /// How long it is still left alone, ms.
    pub aside_for_ms: Option<u64>,
    /// Requests it was chosen for.
    pub elected: u64,
    /// Requests under way.
    pub busy: usize,
    /// Its lead in the turns, in thousandths of a request.
    pub load: i64,
    /// Attempts that failed and were held against it.
    pub errors: u64,
    /// The last of them in a row.
    pub errors_in_a_row: u32,
    /// How often it was set aside.
    pub ejections: u64,
    /// Attempts that failed on it and were repeated elsewhere.
    pub retried: u64,
    /// How long it takes to begin an answer, µs: a peak EWMA.
    pub latency_us: f64,
}

impl Balancer {
    /// Nothing is known of any member.
    pub fn new(settings: Settings) -> Balancer {
        let known = settings.members.iter().map(|_| Known::new()).collect();
        Balancer { settings, known, purse: Purse::new() }
    }

    /// The same with other settings; what is known of members that keep their name is kept.
    pub fn with(&self, settings: Settings) -> Balancer {
        let before = |name: &str| self.settings.members.iter().position(|m| m.name == name);
        let known = settings.members.iter().map(|member| {
            let kept = before(&member.name).and_then(|at| self.known.get(at)).cloned();
            // Requests under way are told to the balancer they were chosen by.
            kept.map_or_else(Known::new, |known| Known { busy: 0, ..known })
        });
        Balancer { known: known.collect(), purse: self.purse, settings }
    }

    /// The settings as they are now.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Which member takes a request; counted at once. Each choice is to be followed by [`Balancer::released`].
    ///
    /// # Errors
    /// No member takes work at all, or all were tried.
    pub fn elect(&mut self, now_ms: u64, ask: &Ask<'_>) -> Result<Choice, Nobody> {
        if ask.tried.is_empty() {
            self.purse.earn(self.settings.retries.budget);
        }
        if let ([member], []) = (&*self.settings.members, ask.tried)
            && member.admin == Admin::Enabled
        {
            return Ok(self.take(now_ms, 0, Elect::Only, Vec::new()));
        }
        let mut passed_over = Vec::new();
        let session = self.member_of(ask.route);
        let usable = self.usable(now_ms, ask, session, &mut passed_over);
        if usable.is_empty() {
            return self.last_resort(now_ms, ask, passed_over);
        }
        let (member, why) = match session {
            Some(at) if usable.iter().any(|c| c.at == at) => (at, Elect::Sticky),
            other => {
                let (member, why) = self.by_method(ask, &usable);
                (member, if other.is_some() { Elect::StickyMoved } else { why })
            }
        };
        let trial = self.known.get(member).is_some_and(|known| known.health.state(now_ms) == State::Trial);
        Ok(self.take(now_ms, member, if trial { Elect::Trial } else { why }, passed_over))
    }

    /// The head of a member's answer came, after so many µs, or the attempt failed.
    pub fn heard(&mut self, now_ms: u64, member: usize, how: Result<u64, Attempt>) -> Heard {
        let failure = match how {
            Err(attempt) if retry::is_held_against(&self.settings.retries.on, attempt) => Some(attempt),
            _ => None,
        };
        let may = failure.is_some() && self.may_set_aside(now_ms, member);
        let eject = self.settings.eject;
        let Some(known) = self.known.get_mut(member) else { return Heard::Same };
        match (how, failure) {
            (Ok(first_byte_us), _) => {
                known.note_latency(now_ms, first_byte_us);
                let back = known.health.succeeded(now_ms);
                if back {
                    self.level(member);
                }
                if back { Heard::Back } else { Heard::Same }
            }
            (Err(_), None) => {
                known.health.nothing_learnt();
                Heard::Same
            }
            (Err(_), Some(_)) => {
                known.errors += 1;
                if known.health.failed(now_ms, &eject, may) {
                    known.ejections += 1;
                    return Heard::Aside;
                }
                if self.recall(now_ms) { Heard::Recalled } else { Heard::Same }
            }
        }
    }

    /// A request that a member was chosen for has ended, however; `unheard` if nothing was learnt of it.
    pub fn released(&mut self, member: usize, unheard: bool) {
        if let Some(known) = self.known.get_mut(member) {
            known.busy = known.busy.saturating_sub(1);
            if unheard {
                known.health.nothing_learnt();
            }
        }
    }

    /// Whether another member is asked. `tried` are the members asked so far, `idempotent` what the method says.
    pub fn verdict(
        &mut self,
        now_ms: u64,
        tried: &[usize],
        attempt: Attempt,
        idempotent: bool,
        body: BodyState,
    ) -> Verdict {
        let others = self.others(now_ms, tried, attempt);
        let tries = u32::try_from(tried.len()).unwrap_or(u32::MAX);
        let case = Case { attempt, idempotent, body, tries, others };
        let verdict = retry::verdict(&self.settings.retries, &mut self.purse, &case);
        if verdict.again
            && let Some(known) = tried.last().and_then(|at| self.known.get_mut(*at))
        {
            known.retried += 1;
        }
        verdict
    }

    /// A probe's word on a member. `Some` if it changes what is thought of it.
    pub fn probed(&mut self, now_ms: u64, member: usize, good: bool) -> Option<bool> {
        let probe = self.settings.probe?;
        let changed = self.known.get_mut(member)?.health.probed(now_ms, &probe, good);
        if changed == Some(true) {
            self.level(member);
        }
        changed
    }

    /// The operator changes a member.
    pub fn change(&mut self, now_ms: u64, member: usize, change: &Change) {
        let Some(settings) = self.settings.members.get_mut(member) else { return };
        let was = settings.admin;
        settings.weight = change.weight.unwrap_or(settings.weight).max(1);
        settings.set = change.set.unwrap_or(settings.set);
        settings.standby = change.standby.unwrap_or(settings.standby);
        settings.admin = change.admin.unwrap_or(settings.admin);
        if let Some(route) = &change.route {
            settings.route.clone_from(route);
        }
        if change.admin == Some(Admin::Enabled) {
            if let Some(known) = self.known.get_mut(member) {
                known.health.forgive(if was == Admin::Enabled { 0 } else { now_ms });
            }
            self.level(member);
        }
    }

    /// The operator changes the method.
    pub fn set_method(&mut self, method: Method) {
        self.settings.method = method;
    }

    /// What there is to see.
    pub fn view(&self, now_ms: u64) -> Vec<MemberView> {
        let views = self.settings.members.iter().zip(&self.known).enumerate();
        let view = |(at, (member, known)): (usize, (&Member, &Known))| MemberView {
            member: member.clone(),
            unusable: self.unusable(now_ms, at, None),
            aside_for_ms: known.health.aside_for_ms(now_ms),
            elected: known.elected,
            busy: known.busy,
            load: known.lead,
            errors: known.errors,
            errors_in_a_row: known.health.failures_in_a_row(),
            ejections: known.ejections,
            retried: known.retried,
            latency_us: known.latency_us,
        };
        views.map(view).collect()
    }

    /// Why a member cannot take a request; sets and standbys are seen to elsewhere.
    fn unusable(&self, now_ms: u64, at: usize, session: Option<usize>) -> Option<Unusable> {
        let (Some(member), Some(known)) = (self.settings.members.get(at), self.known.get(at)) else {
            return Some(Unusable::Disabled);
        };
        match (member.admin, known.health.state(now_ms)) {
            (Admin::Disabled, _) => Some(Unusable::Disabled),
            (Admin::Drain, _) if session != Some(at) => Some(Unusable::Draining),
            (_, State::Down) => Some(Unusable::Down),
            (_, State::Aside) => Some(Unusable::Ejected),
            (_, State::OnTrial) => Some(Unusable::OnTrial),
            (_, State::Well | State::Trial) if known.busy >= member.busy_max => Some(Unusable::Full),
            (_, State::Well | State::Trial) => None,
        }
    }

    /// Those of the lowest set that can, ordinary ones before standbys.
    fn usable(
        &self,
        now_ms: u64,
        ask: &Ask<'_>,
        session: Option<usize>,
        passed_over: &mut Vec<(usize, Unusable)>,
    ) -> Vec<Candidate> {
        let mut best: Option<(u32, bool)> = None;
        let mut able: Vec<usize> = Vec::with_capacity(self.settings.members.len());
        for (at, member) in self.settings.members.iter().enumerate() {
            let why = if ask.tried.contains(&at) {
                Some(Unusable::Tried)
            } else {
                self.unusable(now_ms, at, session)
            };
            match why {
                Some(why) => passed_over.push((at, why)),
                None => {
                    able.push(at);
                    let rank = (member.set, member.standby);
                    best = Some(best.map_or(rank, |best| best.min(rank)));
                }
            }
        }
        let Some((set, standby)) = best else { return Vec::new() };
        // Where all fail, one that waits for its turn is as good as any.
        let all_fail = !self.anyone_holds(now_ms);
        let mut usable = Vec::with_capacity(able.len());
        for at in able {
            let Some(member) = self.settings.members.get(at) else { continue };
            let first_choice = all_fail || session == Some(at);
            if member.set != set && !first_choice {
                passed_over.push((at, Unusable::LaterSet));
            } else if member.standby != standby && !first_choice {
                passed_over.push((at, Unusable::Standby));
            } else {
                usable.extend(self.candidate(now_ms, at, ask));
            }
        }
        usable
    }

    fn candidate(&self, now_ms: u64, at: usize, ask: &Ask<'_>) -> Option<Candidate> {
        let (member, known) = (self.settings.members.get(at)?, self.known.get(at)?);
        let part = known.health.part_of_weight(now_ms, self.settings.slow_start_ms);
        let bytes = match self.settings.method {
            Method::Traffic => i128::from((ask.bytes)(at)) + known.bytes_base,
            _ => 0,
        };
        Some(Candidate {
            at,
            weight: (u64::from(member.weight) * part).max(1),
            busy: known.busy,
            bytes: u64::try_from(bytes).unwrap_or(0),
            latency_us: known.latency_now(now_ms),
            lead: known.lead,
        })
    }

    fn by_method(&mut self, ask: &Ask<'_>, usable: &[Candidate]) -> (usize, Elect) {
        let (chosen, why) = match self.settings.method {
            Method::Requests => (methods::in_turn(usable), Elect::ByRequests),
            Method::Traffic => (methods::least_traffic(usable), Elect::ByTraffic),
            Method::Busyness => (methods::least_busy(usable), Elect::ByBusyness),
            Method::Latency => (methods::shorter_wait_of_two(usable, ask.dice), Elect::ByLatency),
            Method::TwoChoices => (methods::less_busy_of_two(usable, ask.dice), Elect::ByTwoChoices),
            Method::Hash => (self.owner(ask.key, usable), Elect::ByHash),
        };
        let chosen = chosen.or(usable.first().map(|c| c.at)).unwrap_or(0);
        if matches!(self.settings.method, Method::Requests | Method::Traffic | Method::Busyness) {
            self.moved(usable, chosen);
        }
        (chosen, why)
    }

    /// One of them has had its turn.
    fn moved(&mut self, among: &[Candidate], chosen: usize) {
        for (at, by) in methods::turn(among, chosen) {
            if let Some(known) = self.known.get_mut(at) {
                known.lead = known.lead.saturating_add(by);
            }
        }
    }

    fn owner(&self, key: u64, usable: &[Candidate]) -> Option<usize> {
        let named = usable.iter().filter_map(|c| {
            let member = self.settings.members.get(c.at)?;
            Some((c.at, member.name.as_str(), c.weight as f64))
        });
        owner_of(key, named)
    }

    fn take(
        &mut self,
        now_ms: u64,
        member: usize,
        why: Elect,
        passed_over: Vec<(usize, Unusable)>,
    ) -> Choice {
        let mut busy = 0;
        if let Some(known) = self.known.get_mut(member) {
            known.busy += 1;
            known.elected += 1;
            busy = known.busy;
            if known.health.state(now_ms) == State::Trial {
                known.health.try_it();
            }
        }
        Choice { member, why, busy, passed_over }
    }

    fn member_of(&self, route: Option<&str>) -> Option<usize> {
        let route = route.filter(|route| !route.is_empty())?;
        self.settings.members.iter().position(|m| m.route == route)
    }

    /// One that comes back begins where the others are, instead of making up for what it missed.
    fn level(&mut self, member: usize) {
        if let Some(known) = self.known.get_mut(member) {
            known.lead = 0;
            known.latency_us = 0.0;
        }
    }

    /// One that came, or came back, has carried as much for its weight as the one that carried least, from now on.
    pub fn level_bytes(&mut self, member: usize, bytes: &dyn Fn(usize) -> u64) {
        let weight = |at: usize| self.settings.members.get(at).map_or(1, |m| i128::from(m.weight.max(1)));
        let carried = |at: usize, known: &Known| i128::from(bytes(at)) + known.bytes_base;
        let others = self.known.iter().enumerate().filter(|(at, _)| *at != member);
        let least = others.map(|(at, known)| carried(at, known) / weight(at)).min();
        let base = least.map(|least| least * weight(member) - i128::from(bytes(member)));
        if let (Some(base), Some(known)) = (base, self.known.get_mut(member)) {
            known.bytes_base = known.bytes_base.max(base);
        }
    }
}

impl Known {
    fn new() -> Known {
        Known {
            health: Health::new(),
            busy: 0,
            lead: 0,
            latency_us: 0.0,
            latency_at_ms: 0,
            bytes_base: 0,
            elected: 0,
            errors: 0,
            ejections: 0,
            retried: 0,
        }
    }

    /// Peak EWMA: a worse time counts at once, better ones little by little.
    fn note_latency(&mut self, now_ms: u64, us: u64) {
        let us = us as f64;
        self.latency_us = us.max(self.latency_us * self.kept(now_ms) + us * (1.0 - self.kept(now_ms)));
        self.latency_at_ms = now_ms;
    }

    /// What is held against it today: bad times are forgotten though it is not asked, or it never would be again.
    fn latency_now(&self, now_ms: u64) -> f64 {
        self.latency_us * self.kept(now_ms)
    }

    fn kept(&self, now_ms: u64) -> f64 {
        (-(now_ms.saturating_sub(self.latency_at_ms) as f64) * 1000.0 / LATENCY_TAU_US).exp()
    }
}
