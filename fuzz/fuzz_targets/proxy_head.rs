//! The head of the PROXY protocol: any bytes, whole and in the steps that are asked for, must be judged the same, without a
//! panic and without a byte too many.
//!
//! What it finds goes to `corpus/proxy_head/`, which `cargo test` replays.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| samovar_hot::proxy::judge_bytes(data));
