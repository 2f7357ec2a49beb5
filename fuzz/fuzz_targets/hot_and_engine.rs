//! The bytes of a connection: with the hot tier and without they must be answered alike, however they are cut.
//!
//! The first four bytes say where: two for the server with the hot tier, two for the other; 0 does not cut. What it finds
//! goes to `corpus/hot_and_engine/`, which `cargo test` replays.
#![no_main]

#[path = "../../crates/server/tests/hot_and_engine/rig/mod.rs"]
mod rig;

use libfuzzer_sys::fuzz_target;
use rig::Pair;

thread_local! {
    static PAIR: Pair = Pair::new();
}

fuzz_target!(|data: &[u8]| {
    PAIR.with(|pair| pair.judge_bytes(data));
});
