//! Field parsers against the naive ones of the policy's tests: any two that disagree are a finding.
#![no_main]

#[path = "../../crates/policy/tests/naive/mod.rs"]
mod naive;

libfuzzer_sys::fuzz_target!(|data: &[u8]| naive::judge_bytes(data));
