//! Files of a scenario: any bytes must be read or refused with their place, without a panic; what is read can be told.
//!
//! Files are parted by the byte 0x1e. What it finds goes to `corpus/scenario/`, which `cargo test` replays.
#![no_main]

use libfuzzer_sys::fuzz_target;
use thirst::wcat::{Source, gather, outline};

fuzz_target!(|data: &[u8]| {
    let sources: Vec<Source> = data.split(|byte| *byte == 0x1e).map(|file| Source::decode("fuzz", file)).collect();
    match gather(&sources) {
        Ok(gathered) => assert!(!outline(&gathered).is_empty()),
        Err(wrong) => assert!(!wrong.is_empty()),
    }
});
