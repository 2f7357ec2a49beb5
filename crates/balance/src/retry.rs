//! Whether a failed attempt is repeated at another member.
//!
//! What may be repeated at all follows from how far the attempt got and from the method (RFC 9110 §9.2.2); what shall be
//! is the operator's (`retry`), within a budget, so that a struggling upstream is not asked twice as much because it
//! struggles. What was never sent costs no member anything and is not counted. Not here: choosing the other member.

use crate::settings::{Failures, Retries};
use samovar_reason::{Retry, Upstream};

/// How far an attempt got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// Nothing was sent.
    NotSent,
    /// Something was sent, no answer began.
    Sent,
    /// The answer had begun.
    Answered,
}

/// What is left of the request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyState {
    /// There is none, or none of it was taken yet.
    Whole,
    /// Part of it was taken, and is kept nowhere.
    Taken,
}

/// How an attempt ended that did not end well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It failed.
    Failed(Upstream, Reached),
    /// It brought an answer with this status.
    Status(u16),
}

/// Whether another member is asked, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// It is.
    pub again: bool,
    /// Why.
    pub why: Retry,
}

/// Requests that may be repeated at once however few there were, so that the death of a member under load costs nobody
/// anything: what is under way on it at that moment is repeated.
const BUDGET_MAX: f64 = 200.0;

/// What may still be repeated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purse {
    left: f64,
}

impl Purse {
    pub(crate) fn new() -> Purse {
        Purse { left: BUDGET_MAX }
    }

    /// A request came.
    pub(crate) fn earn(&mut self, budget: f64) {
        self.left = (self.left + budget.max(0.0)).min(BUDGET_MAX);
    }

    fn spend(&mut self) -> bool {
        let can = self.left >= 1.0;
        if can {
            self.left -= 1.0;
        }
        can
    }
}

/// True if the failure is one the operator lists.
pub(crate) fn is_listed(on: &Failures, attempt: Attempt) -> bool {
    match attempt {
        Attempt::Status(status) => on.status.contains(&status),
        // Our own queue is full, or the client has gone: no member is to blame.
        Attempt::Failed(why, _) => match why {
            Upstream::ClientGone
            | Upstream::LoopDetected
            | Upstream::Unsendable
            | Upstream::LengthRequired
            | Upstream::NoSockets
            | Upstream::NoMember => false,
            Upstream::Refused
            | Upstream::Unreachable
            | Upstream::Unresolved
            | Upstream::SocketMissing
            | Upstream::SocketDenied
            | Upstream::ConnectTimeout
            | Upstream::Overloaded
            | Upstream::QueueFull
            | Upstream::QueueTimeout => on.connect,
            Upstream::HeadTimeout | Upstream::BodyTimeout => on.timeout,
            Upstream::Reset
            | Upstream::BadHead
            | Upstream::BadFraming
            | Upstream::ShortBody
            | Upstream::HeadTooLarge
            | Upstream::NotFastCgi => on.reset,
        },
    }
}

/// True if the failure is the member's own, and counts against its health.
pub(crate) fn is_held_against(on: &Failures, attempt: Attempt) -> bool {
    match attempt {
        Attempt::Status(_) => is_listed(on, attempt),
        Attempt::Failed(why, _) => !matches!(
            why,
            Upstream::ClientGone
                | Upstream::LoopDetected
                | Upstream::Unsendable
                | Upstream::LengthRequired
                | Upstream::NoSockets
                | Upstream::NoMember
                | Upstream::QueueFull
                | Upstream::QueueTimeout
        ),
    }
}

/// What a verdict rests on besides the budget.
pub(crate) struct Case {
    pub(crate) attempt: Attempt,
    /// The method may be repeated (RFC 9110 §9.2.2).
    pub(crate) idempotent: bool,
    pub(crate) body: BodyState,
    /// Attempts so far.
    pub(crate) tries: u32,
    /// Another member could be asked.
    pub(crate) others: bool,
}

pub(crate) fn verdict(retries: &Retries, purse: &mut Purse, case: &Case) -> Verdict {
    let no = |why| Verdict { again: false, why };
    if !is_listed(&retries.on, case.attempt) {
        return no(Retry::NotListed);
    }
    let sent = !matches!(case.attempt, Attempt::Failed(_, Reached::NotSent));
    if sent && !case.idempotent {
        return no(Retry::NotRepeatable);
    }
    if case.body == BodyState::Taken {
        return no(Retry::BodyGone);
    }
    if case.tries >= retries.tries {
        return no(Retry::Spent);
    }
    if !case.others {
        return no(Retry::NobodyElse);
    }
    if sent && !purse.spend() {
        return no(Retry::Budget);
    }
    Verdict { again: true, why: Retry::Again }
}
