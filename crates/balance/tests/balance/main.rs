//! What the balancer promises, by simulation: shares, health, sessions, retries. Nothing here looks inside.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests stop at their first surprise, like the tests"
)]

mod health;
mod retries;
mod sessions;
mod shares;

use samovar_balance::{
    Admin, Ask, Attempt, Balancer, Choice, Eject, Failures, Heard, Member, Method, Probe, Reached, Retries,
    Settings,
};
use samovar_reason::Upstream;

fn member(name: &str, weight: u32) -> Member {
    Member {
        name: name.to_owned(),
        weight,
        route: format!("r{name}"),
        set: 0,
        standby: false,
        admin: Admin::Enabled,
        busy_max: usize::MAX,
    }
}

fn settings(method: Method, members: Vec<Member>) -> Settings {
    Settings {
        method,
        members,
        slow_start_ms: 0,
        eject: Eject { after: 3, for_ms: 10_000, max_part: 0.5 },
        probe: Some(Probe { rise: 2, fall: 3 }),
        retries: Retries {
            tries: 3,
            budget: 0.2,
            on: Failures { connect: true, reset: true, timeout: false, status: vec![503] },
        },
    }
}

fn balancer(method: Method, weights: &[u32]) -> Balancer {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    Balancer::new(settings(method, weights.iter().zip(names).map(|(w, n)| member(n, *w)).collect()))
}

fn ask<'a>() -> Ask<'a> {
    Ask { route: None, key: 0, dice: 0, tried: &[], bytes: &|_| 0 }
}

fn elect(b: &mut Balancer, now_ms: u64) -> Choice {
    b.elect(now_ms, &ask()).expect("somebody")
}

/// A request that goes well at once.
fn good(b: &mut Balancer, now_ms: u64) -> usize {
    let choice = elect(b, now_ms);
    b.heard(now_ms, choice.member, Ok(1_000));
    b.released(choice.member, false);
    choice.member
}

const RESET: Attempt = Attempt::Failed(Upstream::Reset, Reached::Sent);
const REFUSED: Attempt = Attempt::Failed(Upstream::Refused, Reached::NotSent);

/// A request that fails; true if its member is set aside by this.
fn bad(b: &mut Balancer, now_ms: u64, member: usize) -> bool {
    let aside = b.heard(now_ms, member, Err(RESET));
    b.released(member, false);
    aside == Heard::Aside
}
