//! A request head: any bytes, whole and byte by byte, must be judged the same and without a panic.
//!
//! What it finds goes to `corpus/request_head/`, which `cargo test` replays.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| samovar_hot::head::judge_bytes(data));
