//! A seeded simulation of the cache core.
//!
//! Clients, fills and the operator take turns at the real `Cache`, judged by the real `policy`, under a virtual clock; a
//! scheduler interleaves them at every step, as several cores would. Origins answer, stall, die, break off, change, and
//! say who may be given what. An oracle that shares no code with what it judges keeps the truth about every answer and
//! checks each one given: the right key, variant and session, nothing stale beyond its allowance, nothing that was purged
//! before the request began, byte for byte what the origin made; at most one fill per key and variant; every request
//! ended exactly once; nobody parked for ever; at rest, the bytes accounted are the bytes held.
//!
//! `SAMOVAR_SIM_SEED=n` replays one seed, `SAMOVAR_SIM_STEPS=n` goes on for longer.
//!
//! What it was seen to catch, planted by hand: a purge that overtakes no fills, or stores what it overtook; a fill joined
//! after its purge; a variant given whatever it varies by; a soft purge that does not hold; a fill that nobody may join; a
//! reader, the writer or those who wait not woken; a body that goes on for ever after its task was stopped; a reader let
//! into a body whose beginning is gone; an entry charged half; a stale answer in place of an error however late the error
//! came (that one was in the server, and not planted).
//!
//! Not here: threads (`tests/core.rs` has a race), sockets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test stops at its first surprise, and says how it went"
)]

mod client;
mod counters;
mod dice;
mod fill;
mod oracle;
mod origin;
mod part;
mod world;

use counters::Counters;
use world::World;

/// Steps of one seed between two accounts, and accounts per seed.
const ROUND: u64 = 5_000;
const ROUNDS: u64 = 20;

/// Steps in all, unless told otherwise.
const STEPS: u64 = 7_500_000;

/// What one run of all seeds is worth: each kind of event at least this often.
const ENOUGH: u64 = 1_000;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// One world from its beginning to its end; the steps it took.
fn live(seed: u64, rounds: u64, all: &mut Counters) -> u64 {
    let mut world = World::new(seed);
    let mut evictions = 0;
    for _ in 0..rounds {
        for _ in 0..ROUND {
            world.step_once(false);
        }
        world.drain();
        evictions = world.cache.stats().evictions;
    }
    world.counters.evicted += evictions;
    let cache = std::sync::Arc::clone(&world.cache);
    cache.purge(samovar_cache::Scope::All, false);
    // Fields that many had stay known.
    let used = cache.stats().used_bytes - cache.stats().pairs_bytes;
    if used != 0 {
        world.fail(&format!("{used} bytes are accounted for nothing"));
    }
    all.add(&world.counters);
    world.step
}

#[test]
fn nothing_is_given_that_may_not_be() {
    let mut all = Counters::default();
    if let Some(seed) = number("SAMOVAR_SIM_SEED") {
        live(seed, ROUNDS, &mut all);
        return;
    }
    let wanted = number("SAMOVAR_SIM_STEPS").unwrap_or(STEPS);
    let (mut steps, mut seed) = (0, 1);
    // Worlds differ by their seed: of each kind there must be some.
    let rounds = if wanted < STEPS / 4 { ROUNDS / 5 } else { ROUNDS };
    while steps < wanted {
        steps += live(seed, rounds, &mut all);
        seed += 1;
    }
    println!("{steps} steps of {} worlds", seed - 1);
    for (what, count) in all.all() {
        println!("{count:>9}  {what}");
    }
    // A shorter run, asked for, meets less; but something of everything.
    let enough = if wanted < STEPS { ENOUGH * wanted / STEPS / 8 } else { ENOUGH };
    let rare: Vec<_> = all.all().into_iter().filter(|(_, count)| *count < enough).collect();
    assert!(rare.is_empty(), "too rare to prove anything: {rare:?}");
}
