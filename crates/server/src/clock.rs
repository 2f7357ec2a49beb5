//! The one place of the server that reads clocks.

use samovar_policy::Now;
use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

static START: OnceLock<Instant> = OnceLock::new();

/// Monotonic moments start here, so that no age ever has to go below zero: a cache that has run for a second
/// still tells what an answer stored with `Age: 3600` was worth.
const START_MS: u64 = 1 << 38;

/// Both clocks, now.
pub fn now() -> Now {
    Now { mono_ms: mono_ms(), wall_ms: wall_ms() }
}

/// Monotonic now, µs; comparable with [`Now::mono_ms`] times 1,000.
pub fn mono_us() -> u64 {
    let start = START.get_or_init(Instant::now);
    START_MS * 1_000 + start.elapsed().as_micros() as u64
}

/// Monotonic now, ms; as [`Now::mono_ms`].
pub fn mono_ms() -> u64 {
    mono_us() / 1_000
}

/// Milliseconds since the Unix epoch.
pub fn wall_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}
