//! Whether a member is well: what its answers say (failures in a row set it aside), and what its probes say.
//!
//! A member set aside is left alone for a while; then one request at a time tries it. If that goes well it is taken back,
//! with less than its share at first (`slow_start`); if not, it is left alone for longer. Not here: how many may be set
//! aside at once (`balancer`), who sends the probes.

use crate::settings::{Eject, Probe};

/// What failures came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passive {
    Well,
    /// Left alone until then, ms.
    Aside(u64),
    /// One request may try it; whether one is doing so.
    Trial(bool),
}

/// The health of one member.
#[derive(Clone, Debug)]
pub(crate) struct Health {
    passive: Passive,
    failures_in_a_row: u32,
    /// How often in a row it was set aside; each time longer.
    aside_in_a_row: u32,
    /// What its probes say; well until they say otherwise.
    probed_down: bool,
    probes_in_a_row: u32,
    /// Since when it takes its full share again, for the slow start, ms; 0 for always.
    back_since_ms: u64,
}

/// Whether it may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Well,
    /// It would be a trial.
    Trial,
    OnTrial,
    Aside,
    Down,
}

/// How much longer each time, as a power of two at most.
const LONGER_MAX: u32 = 4;

impl Health {
    pub(crate) fn new() -> Health {
        Health {
            passive: Passive::Well,
            failures_in_a_row: 0,
            aside_in_a_row: 0,
            probed_down: false,
            probes_in_a_row: 0,
            back_since_ms: 0,
        }
    }

    pub(crate) fn state(&self, now_ms: u64) -> State {
        match self.passive {
            _ if self.probed_down => State::Down,
            Passive::Well => State::Well,
            Passive::Aside(until) if now_ms < until => State::Aside,
            Passive::Aside(_) | Passive::Trial(false) => State::Trial,
            Passive::Trial(true) => State::OnTrial,
        }
    }

    /// A request goes to it as a trial.
    pub(crate) fn try_it(&mut self) {
        if self.passive != Passive::Well {
            self.passive = Passive::Trial(true);
        }
    }

    /// Nothing was learnt of a request: its client left.
    pub(crate) fn nothing_learnt(&mut self) {
        if self.passive == Passive::Trial(true) {
            self.passive = Passive::Trial(false);
        }
    }

    /// It answered. True if it is taken back by this.
    pub(crate) fn succeeded(&mut self, now_ms: u64) -> bool {
        self.failures_in_a_row = 0;
        if self.passive == Passive::Well {
            return false;
        }
        self.passive = Passive::Well;
        self.aside_in_a_row = 0;
        self.back_since_ms = now_ms;
        true
    }

    /// It failed. True if it is set aside by this; `may` says whether another one may be.
    pub(crate) fn failed(&mut self, now_ms: u64, eject: &Eject, may: bool) -> bool {
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        let on_trial = matches!(self.passive, Passive::Trial(_));
        let enough = eject.after > 0 && self.failures_in_a_row >= eject.after;
        match self.passive {
            // What was under way when it was set aside says nothing new.
            Passive::Aside(until) if now_ms < until => return false,
            _ if !may => {
                // It is the last, or too many are aside: it stays in use.
                self.passive = Passive::Well;
                return false;
            }
            _ if !on_trial && !enough && self.passive == Passive::Well => return false,
            _ => {}
        }
        let longer = 1_u64 << self.aside_in_a_row.min(LONGER_MAX);
        self.aside_in_a_row = self.aside_in_a_row.saturating_add(1);
        self.passive = Passive::Aside(now_ms.saturating_add(eject.for_ms.saturating_mul(longer)));
        true
    }

    /// It is in use again though nothing was learnt of it. True if it was not; one that is being tried is left to that.
    pub(crate) fn recalled(&mut self) -> bool {
        let was_aside = matches!(self.passive, Passive::Aside(_) | Passive::Trial(false));
        if was_aside {
            self.passive = Passive::Well;
        }
        was_aside
    }

    /// A probe's word. `Some(true)` if it is well by this and was not, `Some(false)` the other way round.
    pub(crate) fn probed(&mut self, now_ms: u64, probe: &Probe, good: bool) -> Option<bool> {
        if good != self.probed_down {
            // It says what is thought already.
            self.probes_in_a_row = 0;
            return None;
        }
        self.probes_in_a_row = self.probes_in_a_row.saturating_add(1);
        let needed = if good { probe.rise } else { probe.fall };
        if self.probes_in_a_row < needed.max(1) {
            return None;
        }
        self.probes_in_a_row = 0;
        self.probed_down = !good;
        if good {
            self.back_since_ms = now_ms;
            // What made requests fail is mended, as far as anyone can tell.
            self.passive = Passive::Well;
            self.failures_in_a_row = 0;
            self.aside_in_a_row = 0;
        }
        Some(good)
    }

    /// The operator enables it: what was held against it is forgotten.
    pub(crate) fn forgive(&mut self, now_ms: u64) {
        *self = Health { back_since_ms: now_ms, probed_down: self.probed_down, ..Health::new() };
    }

    /// How long it is still left alone, ms.
    pub(crate) fn aside_for_ms(&self, now_ms: u64) -> Option<u64> {
        match self.passive {
            Passive::Aside(until) if now_ms < until => Some(until - now_ms),
            _ => None,
        }
    }

    pub(crate) fn failures_in_a_row(&self) -> u32 {
        self.failures_in_a_row
    }

    /// Which part of its weight it gets, per mille: a tenth at first, then ever more.
    pub(crate) fn part_of_weight(&self, now_ms: u64, slow_start_ms: u64) -> u64 {
        const FULL: u64 = 1000;
        let since = now_ms.saturating_sub(self.back_since_ms);
        if slow_start_ms == 0 || self.back_since_ms == 0 || since >= slow_start_ms {
            return FULL;
        }
        (FULL * since / slow_start_ms).max(FULL / 10)
    }
}
