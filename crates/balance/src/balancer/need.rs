//! What holds when those in use fail: who may be set aside, who is asked all the same, and when those set aside are in use
//! again.
//!
//! Any visitor can make a member fail, with a URL that it answers badly, so being set aside proves little: such a member
//! is asked before a request is given up, and is no worse than others once all of those fail in a row.

use super::{Ask, Balancer, Candidate, Choice, Known, Nobody};
use crate::health::State;
use crate::methods;
use crate::retry::{self, Attempt};
use crate::settings::Admin;
use samovar_reason::{Elect, Unusable};

impl Balancer {
    /// Whether another member could be asked after this failure. One that is set aside or down by its probes could be if
    /// nothing came from the one that failed: an answer that the operator calls a failure is still better than none.
    pub(super) fn others(&self, now_ms: u64, tried: &[usize], attempt: Attempt) -> bool {
        let nothing_came = matches!(attempt, Attempt::Failed(..))
            && retry::is_held_against(&self.settings.retries.on, attempt);
        let mut untried = (0..self.settings.members.len()).filter(|at| !tried.contains(at));
        untried.any(|at| match self.unusable(now_ms, at, None) {
            None => true,
            Some(why) => nothing_came && in_need(why),
        })
    }

    /// Where nobody seems able: one that the operator allows is asked all the same, the least busy. Failures tell more than
    /// guesses do, and a probe that asks the wrong thing must not take a whole site down.
    pub(super) fn last_resort(
        &mut self,
        now_ms: u64,
        ask: &Ask<'_>,
        passed_over: Vec<(usize, Unusable)>,
    ) -> Result<Choice, Nobody> {
        let able = passed_over.iter().filter(|(_, why)| in_need(*why));
        let all: Vec<Candidate> = able.filter_map(|(at, _)| self.candidate(now_ms, *at, ask)).collect();
        // One that is only full is well: better to wait for it than to ask one that is not.
        let full = |c: &&Candidate| passed_over.contains(&(c.at, Unusable::Full));
        let well: Vec<Candidate> = all.iter().filter(full).copied().collect();
        let among = if well.is_empty() { &all } else { &well };
        let Some(member) = methods::least_busy(among) else { return Err(Nobody { passed_over }) };
        // In turn, or one that is dead would hide one that is not.
        self.moved(among, member);
        Ok(self.take(now_ms, member, Elect::LastResort, passed_over))
    }

    /// Whether this one may be set aside: another must remain that is asked and answers, and not too many may be aside.
    pub(super) fn may_set_aside(&self, now_ms: u64, member: usize) -> bool {
        let is_aside = |known: &Known| matches!(known.health.state(now_ms), State::Aside | State::OnTrial);
        let others = || (0..self.known.len()).filter(|at| *at != member);
        let remains = others().any(|at| self.holds(now_ms, at));
        let aside = others().filter(|at| self.known.get(*at).is_some_and(is_aside)).count() + 1;
        let allowed = (self.settings.eject.max_part * self.known.len() as f64).max(1.0);
        remains && aside as f64 <= allowed
    }

    /// Where all in use fail in a row, those that were set aside are in use again, whatever is left of their time: they
    /// failed no worse. True if there were any. Nobody is set aside then until one of them answers.
    pub(super) fn recall(&mut self, now_ms: u64) -> bool {
        if self.anyone_holds(now_ms) {
            return false;
        }
        let recalled = |known: &mut Known| known.health.recalled();
        let back: Vec<bool> = self.known.iter_mut().map(recalled).collect();
        back.iter().enumerate().filter(|(_, back)| **back).for_each(|(at, _)| self.level(at));
        back.contains(&true)
    }

    pub(super) fn anyone_holds(&self, now_ms: u64) -> bool {
        (0..self.known.len()).any(|at| self.holds(now_ms, at))
    }

    /// It is in use, and does not fail in a row.
    fn holds(&self, now_ms: u64, at: usize) -> bool {
        let (Some(member), Some(known)) = (self.settings.members.get(at), self.known.get(at)) else {
            return false;
        };
        let after = self.settings.eject.after;
        let fails = after > 0 && known.health.failures_in_a_row() >= after;
        member.admin == Admin::Enabled && known.health.state(now_ms) == State::Well && !fails
    }
}

/// Whether a member that is passed over for this may be asked where nobody else can be: all but what the operator said.
fn in_need(why: Unusable) -> bool {
    matches!(why, Unusable::Ejected | Unusable::OnTrial | Unusable::Down | Unusable::Full)
}
