//! What rules count and remember of those who ask, for the whole process: rates, and which passwords were right.
//!
//! Made when the first rule needs it; survives reloads. The numbers are `rules::RateTable`'s, the passwords
//! `users`'s; here are the locks. Not here: what follows for a request (`pipeline::gate`).

use super::users::Doorkeeper;
use samovar_rules::{Counted, Rate, RateTable};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Tables that are locked apart, so that cores seldom wait for each other.
const SHARDS: usize = 16;

/// Clients that are counted at once, in all: a mebibyte.
const CLIENTS: usize = 65_536;

/// See the file's head.
#[derive(Default)]
pub struct Gates {
    rates: OnceLock<Rates>,
    /// Who may come in by name and password.
    pub doorkeeper: Doorkeeper,
}

struct Rates {
    hash: RandomState,
    shards: Vec<Mutex<RateTable>>,
}

impl Gates {
    /// Counts a request of `whom` under a site's rule, or under the site. Under another rate it is counted anew.
    pub fn count(&self, site: &str, rule: Option<&str>, rate: &Rate, whom: &[u8], now_us: u64) -> Counted {
        let rates = self.rates.get_or_init(|| Rates {
            hash: RandomState::new(),
            shards: (0..SHARDS).map(|_| Mutex::new(RateTable::new(CLIENTS / SHARDS))).collect(),
        });
        let whom = rates.hash.hash_one((site, rule, rate.requests, rate.per_ms, rate.burst, whom));
        // The table chooses its row by the low bits.
        let shard = usize::try_from(whom >> 56).unwrap_or(0) % SHARDS;
        match rates.shards.get(shard) {
            Some(shard) => shard.lock().unwrap_or_else(PoisonError::into_inner).count(whom, rate, now_us),
            None => Counted::Within(0),
        }
    }
}
