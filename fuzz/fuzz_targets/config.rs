//! A configuration: any text must be accepted or refused with a report, without a panic; what is accepted must be
//! accepted again.
//!
//! What it finds goes to `corpus/config/`, which `cargo test` replays.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        match samovar::config::parse(text, "fuzz.toml") {
            Ok(loaded) => assert!(samovar::config::parse(&loaded.text, "fuzz.toml").is_ok()),
            Err(report) => assert!(!report.to_string().is_empty()),
        }
    }
});
