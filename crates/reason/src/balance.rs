//! Why a member of an upstream was chosen, why others were not, and whether another one is asked after a failure.

use crate::reasons;

reasons! {
    /// Why this member was chosen.
    Elect, "elect" {
        Only = "only-member", "it is the only member", "";
        ByRequests = "by-requests", "it was its turn by the members' weights", "";
        ByTraffic = "by-traffic", "it had carried the fewest bytes for its weight", "";
        ByBusyness = "by-busyness", "it had the fewest requests under way for its weight", "";
        ByLatency = "by-latency", "of two drawn by lot it promised the shorter wait", "";
        ByTwoChoices = "by-two-choices", "of two drawn by lot it had fewer requests under way", "";
        ByHash = "by-hash", "the request's key belongs to it", "";
        Sticky = "sticky-route", "the client's session is on it", "";
        StickyMoved = "sticky-moved", "the client's session was on another member that cannot be used, and moves here", "enable that member, or leave it: what it kept of the session is lost";
        Trial = "trial", "it had been set aside after failures, and this request tries whether it is well again", "";
        LastResort = "last-resort", "no member seems well, so one is tried all the same", "look at `samovar upstream list`: the members' own errors stand there";
    }
}

reasons! {
    /// Why a member was passed over.
    Unusable, "member" {
        Disabled = "member-disabled", "it is disabled", "`samovar upstream enable`";
        Draining = "member-draining", "it takes only the sessions that are on it already", "`samovar upstream enable`";
        Ejected = "member-ejected", "it failed several times in a row and is left alone for a while", "look at its own log; `eject` says how long";
        OnTrial = "member-on-trial", "one request is trying whether it is well again", "";
        Down = "member-down", "its probes fail", "look at what `probe` asks it";
        Full = "member-full", "it has as many requests under way as it may", "raise its `max_connections`";
        Tried = "member-tried", "it was asked for this request already", "";
        Standby = "member-standby", "it takes work only when the others cannot", "";
        LaterSet = "member-later-set", "it is of a later set, and an earlier one can take the request", "";
    }
}

reasons! {
    /// Whether another member is asked after a failed attempt.
    Retry, "retry" {
        Again = "retry-elsewhere", "another member is asked", "";
        NotListed = "retry-not-listed", "this kind of failure is not tried again", "add it to `retry = { on = […] }`";
        NotRepeatable = "retry-not-repeatable", "the member may have begun to act on the request, and its method may not be repeated (RFC 9110 §9.2.2)", "";
        BodyGone = "retry-body-gone", "part of the request's body has been sent already and is kept nowhere", "";
        Spent = "retry-tries-spent", "the request was tried as often as it may be", "raise `retry = { tries = … }`";
        Budget = "retry-budget-spent", "too large a part of recent requests were tried again already", "raise `retry = { budget = … }`, or see why so many fail";
        NobodyElse = "retry-nobody-else", "there is no other member that could be asked", "add members";
    }
}
