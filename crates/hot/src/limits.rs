//! The limits a connection lives under, and the pure judgement whether one of its waits is overdue.
//!
//! Not here: any timer. `Hub::sweep` asks [`overdue`] for each connection a few times a second; a timer per
//! request would cost every hit what almost none needs.

use samovar_reason::Reject;

/// What a client may send and how long it may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Longest request line, CRLF included; longer → 414. Values above 60 KiB mean 60 KiB (hyper's own bound).
    pub line_max_bytes: usize,
    /// Longest head, from the request line to the empty line; longer → 431. Values above 256 KiB mean 256 KiB.
    pub head_max_bytes: usize,
    /// Memory of a core for heads that are not whole yet, for large ones that are being answered, and for what comes ahead of
    /// an answer, bytes. Where it is used up the head that was begun first gives way.
    pub heads_max_bytes: u64,
    /// Most field lines; more → 431. Values above 256 mean 256.
    pub fields_max: usize,
    /// Largest request body, `None` for any; larger → 413.
    pub body_max_bytes: Option<u64>,
    /// From the first byte of a head to its last; then 408.
    pub head_timeout_ms: u64,
    /// Of waiting for a body that someone wants to read, with less than `rate_min_bytes` a second of it; then 408 if
    /// nothing was answered yet.
    pub body_timeout_ms: u64,
    /// Without any request; then the connection closes silently.
    pub idle_timeout_ms: u64,
    /// Of a client that takes less than `rate_min_bytes` a second of its answer; then the connection closes.
    pub send_timeout_ms: u64,
    /// Bytes a second that a client must send of a body and take of an answer, over the whole of `body_timeout_ms` or
    /// `send_timeout_ms`; less counts as nothing.
    pub rate_min_bytes: u64,
    /// How long the answer to a client that has shut down its sending side is still worked on. A client that
    /// half-closes and one that has left look the same until something is written; 0 gives up at once.
    pub half_close_ms: u64,
    /// Requests on one connection, `None` for any number; the answer to the last says `Connection: close`.
    pub requests_max: Option<u64>,
    /// How long a connection is kept, `None` for ever; then it ends with the next answer, or idle at once.
    pub lifetime_ms: Option<u64>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            line_max_bytes: 16 << 10,
            head_max_bytes: 64 << 10,
            heads_max_bytes: 64 << 20,
            fields_max: 100,
            body_max_bytes: None,
            head_timeout_ms: 15_000,
            body_timeout_ms: 30_000,
            idle_timeout_ms: 75_000,
            send_timeout_ms: 60_000,
            rate_min_bytes: 100,
            half_close_ms: 5_000,
            requests_max: None,
            lifetime_ms: None,
        }
    }
}

impl Limits {
    /// Least that a client must take while a write is refused for the time it may be.
    pub(crate) fn send_min_bytes(&self) -> u64 {
        least(self.rate_min_bytes, self.send_timeout_ms)
    }

    /// Least that must come of a body in the time that may be waited for it.
    pub(crate) fn body_min_bytes(&self) -> u64 {
        least(self.rate_min_bytes, self.body_timeout_ms)
    }
}

/// At least one byte: nothing at all is never enough.
fn least(rate_bytes: u64, within_ms: u64) -> u64 {
    (rate_bytes.saturating_mul(within_ms) / 1_000).max(1)
}

/// The pace at which a body comes: how long was waited for it, and how much came meanwhile, since it last kept up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pace {
    waited_ms: u64,
    came_bytes: u64,
}

impl Pace {
    /// After `waited_ms` more of waiting `came_bytes` came.
    pub(crate) fn came(&mut self, waited_ms: u64, came_bytes: u64, enough_bytes: u64) {
        self.waited_ms = self.waited_ms.saturating_add(waited_ms);
        self.came_bytes = self.came_bytes.saturating_add(came_bytes);
        if self.came_bytes >= enough_bytes {
            *self = Pace::default();
        }
    }

    /// How long was waited before.
    pub(crate) fn waited_ms(&self) -> u64 {
        self.waited_ms
    }
}

/// How much of a connection there may be, as a hit looks at it: figures that no connection reaches stand for no bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    requests_max: u64,
    lifetime_ms: u64,
}

impl Allowance {
    pub(crate) fn of(limits: &Limits) -> Allowance {
        Allowance {
            requests_max: limits.requests_max.unwrap_or(u64::MAX),
            lifetime_ms: limits.lifetime_ms.unwrap_or(u64::MAX),
        }
    }

    /// Whether the request after so many and so long is to be the last.
    pub(crate) fn is_used_up(&self, requests: u64, for_ms: u64) -> bool {
        requests >= self.requests_max.saturating_sub(1) || self.is_too_old(for_ms)
    }

    /// Whether there is a bound to a connection's time at all.
    pub(crate) fn has_lifetime(&self) -> bool {
        self.lifetime_ms < u64::MAX
    }

    /// Whether the connection is to end as soon as it is idle.
    pub(crate) fn is_too_old(&self, for_ms: u64) -> bool {
        for_ms >= self.lifetime_ms
    }
}

/// After so long without a request a connection lets go of its engine, which holds some 20 KB; the next one costs it a
/// microsecond.
pub(crate) const SHED_MS: u64 = 1_000;

/// How long a closing connection reads on, so that its last answer is not lost to a reset (RFC 9112 §9.6).
pub(crate) const LINGER_MS: u64 = 2_000;

/// What a connection waits for from its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Nothing: the service works, or the service does not want more of the body.
    Nothing,
    /// The first byte of the next request.
    Idle,
    /// The rest of a head.
    Head,
    /// The next piece of a body.
    Body,
    /// Nothing more will come, an answer is still being made.
    HalfClosed,
    /// The client's end of a connection that we have closed.
    Linger,
}

/// Why a wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overdue {
    /// A limit a person can raise.
    Limit(Reject),
    /// The time for an answer to a half-closed client is over.
    HalfClosed,
    /// We have read on long enough.
    Linger,
}

/// Whether a connection has waited too long, for reading (`wait` since `since_ms`) or for writing
/// (`blocked_since_ms`, 0 if no write is blocked).
pub(crate) fn overdue(
    wait: Wait,
    since_ms: u64,
    blocked_since_ms: u64,
    now_ms: u64,
    limits: &Limits,
) -> Option<Overdue> {
    if blocked_since_ms != 0 && now_ms.saturating_sub(blocked_since_ms) >= limits.send_timeout_ms {
        return Some(Overdue::Limit(Reject::SendTimeout));
    }
    let (allowed_ms, outcome) = match wait {
        Wait::Nothing => return None,
        // A write in progress is judged by its own limit.
        Wait::Idle if blocked_since_ms != 0 => return None,
        Wait::Idle => (limits.idle_timeout_ms, Overdue::Limit(Reject::IdleTimeout)),
        Wait::Head => (limits.head_timeout_ms, Overdue::Limit(Reject::HeadTimeout)),
        Wait::Body => (limits.body_timeout_ms, Overdue::Limit(Reject::BodyTimeout)),
        Wait::HalfClosed => (limits.half_close_ms, Overdue::HalfClosed),
        Wait::Linger => (LINGER_MS, Overdue::Linger),
    };
    (now_ms.saturating_sub(since_ms) >= allowed_ms).then_some(outcome)
}

#[cfg(test)]
mod tests {
    use super::{Limits, Overdue, Pace, Wait, overdue};
    use samovar_reason::Reject;

    #[test]
    fn each_wait_has_its_own_limit() {
        let l = Limits {
            head_timeout_ms: 10,
            body_timeout_ms: 20,
            idle_timeout_ms: 30,
            send_timeout_ms: 40,
            half_close_ms: 50,
            ..Limits::default()
        };
        let rows = [
            (Wait::Head, 10, Overdue::Limit(Reject::HeadTimeout)),
            (Wait::Body, 20, Overdue::Limit(Reject::BodyTimeout)),
            (Wait::Idle, 30, Overdue::Limit(Reject::IdleTimeout)),
            (Wait::HalfClosed, 50, Overdue::HalfClosed),
        ];
        for (wait, allowed, outcome) in rows {
            assert_eq!(overdue(wait, 1_000, 0, 1_000 + allowed - 1, &l), None, "{wait:?}");
            assert_eq!(overdue(wait, 1_000, 0, 1_000 + allowed, &l), Some(outcome), "{wait:?}");
        }
        assert_eq!(overdue(Wait::Nothing, 0, 0, u64::MAX, &l), None);
    }

    /// What comes in drops is not enough, however regularly it comes; who waits for us loses nothing by it.
    #[test]
    fn a_pace_is_kept_over_the_whole_time() {
        let l =
            Limits { body_timeout_ms: 30_000, send_timeout_ms: 1, rate_min_bytes: 100, ..Limits::default() };
        assert_eq!((l.body_min_bytes(), l.send_min_bytes()), (3_000, 1));
        let mut pace = Pace::default();
        for second in 1..=20 {
            pace.came(1_000, 99, l.body_min_bytes());
            assert_eq!(pace.waited_ms(), second * 1_000);
        }
        pace.came(1_000, 1_020, l.body_min_bytes());
        assert_eq!(pace, Pace::default(), "3,000 bytes within the time: it begins anew");
        pace.came(0, 10, l.body_min_bytes());
        assert_eq!(pace.waited_ms(), 0, "what was not waited for");
        pace.came(u64::MAX, 1, u64::MAX);
        pace.came(u64::MAX, u64::MAX, u64::MAX);
        assert_eq!(pace, Pace::default());
    }

    #[test]
    fn a_blocked_write_is_judged_by_its_own_limit() {
        let l = Limits { send_timeout_ms: 40, idle_timeout_ms: 5, ..Limits::default() };
        assert_eq!(overdue(Wait::Idle, 0, 100, 139, &l), None);
        assert_eq!(overdue(Wait::Idle, 0, 100, 140, &l), Some(Overdue::Limit(Reject::SendTimeout)));
        assert_eq!(overdue(Wait::Nothing, 0, 100, 140, &l), Some(Overdue::Limit(Reject::SendTimeout)));
    }
}
