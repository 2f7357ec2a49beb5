//! One budget in bytes for all that the cache holds and for what the process needs beside it, and the charges against it.
//!
//! A charge belongs to the buffer it pays for and ends when the last holder drops it, so "accounted" never runs
//! ahead of or behind "held". Not here: choosing what leaves when the budget is exceeded (`evict`, `core`).

use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The budget of the process.
#[derive(Debug)]
pub struct Budget {
    limit_bytes: AtomicU64,
    used_bytes: AtomicU64,
    /// Of these, for hot copies.
    hot_bytes: AtomicU64,
    /// Beside these: connections and records, as their holders have last counted them.
    beside_bytes: AtomicU64,
}

impl Budget {
    /// A budget of `limit_bytes`.
    pub fn new(limit_bytes: u64) -> Arc<Budget> {
        Arc::new(Budget {
            limit_bytes: AtomicU64::new(limit_bytes),
            used_bytes: AtomicU64::new(0),
            hot_bytes: AtomicU64::new(0),
            beside_bytes: AtomicU64::new(0),
        })
    }

    /// The limit, bytes.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes.load(Ordering::Relaxed)
    }

    /// Changes the limit; what exceeds it leaves at the next insertion.
    pub fn set_limit_bytes(&self, bytes: u64) {
        self.limit_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Charged now for what the cache holds, bytes.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// Charged now for hot copies, bytes.
    pub fn hot_bytes(&self) -> u64 {
        self.hot_bytes.load(Ordering::Relaxed)
    }

    /// A hot copy comes, or goes.
    pub(crate) fn hot(&self, bytes: u64, comes: bool) {
        match comes {
            true => self.hot_bytes.fetch_add(bytes, Ordering::Relaxed),
            false => self.hot_bytes.fetch_sub(bytes, Ordering::Relaxed),
        };
    }

    /// Held beside what the cache holds, as far as it is counted, bytes.
    pub fn beside_bytes(&self) -> u64 {
        self.beside_bytes.load(Ordering::Relaxed)
    }

    /// How much is charged beyond the limit, bytes.
    pub fn excess_bytes(&self) -> u64 {
        self.used_bytes().saturating_add(self.beside_bytes()).saturating_sub(self.limit_bytes())
    }

    /// A holder of memory that is not the cache's, and is counted now and then.
    pub fn beside(self: &Arc<Self>) -> Beside {
        Beside { budget: Arc::clone(self), bytes: 0 }
    }

    /// Charges `bytes`; the charge ends when the returned value is dropped.
    pub fn charge(self: &Arc<Self>, bytes: u64) -> Charge {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        Charge { budget: Arc::clone(self), bytes }
    }

    /// Charges `bytes` to a holder that knows by itself what it has to give back.
    pub(crate) fn take(&self, bytes: u64) {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Ends what [`Budget::take`] began.
    pub(crate) fn give_back(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Bytes charged to a budget until dropped.
#[derive(Debug)]
pub struct Charge {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Charge {
    /// The bytes charged.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The budget it is charged to.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Changes the charge to `bytes`.
    pub fn resize(&mut self, bytes: u64) {
        if bytes >= self.bytes {
            self.budget.used_bytes.fetch_add(bytes - self.bytes, Ordering::Relaxed);
        } else {
            self.budget.used_bytes.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.used_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// What one holder has beside the cache; see [`Budget::beside`]. It counts as nothing once dropped.
#[derive(Debug)]
pub struct Beside {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Beside {
    /// So many bytes are held now.
    pub fn set(&mut self, bytes: u64) {
        match bytes >= self.bytes {
            true => self.budget.beside_bytes.fetch_add(bytes - self.bytes, Ordering::Relaxed),
            false => self.budget.beside_bytes.fetch_sub(self.bytes - bytes, Ordering::Relaxed),
        };
        self.bytes = bytes;
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// Bytes that are charged until the last who reads them lets go, the entry they were stored for or not.
pub(crate) struct Paid {
    bytes: Bytes,
    budget: Arc<Budget>,
}

impl Paid {
    /// As bytes like any other.
    pub(crate) fn shared(bytes: Bytes, budget: &Arc<Budget>) -> Bytes {
        budget.take(bytes.len() as u64);
        Bytes::from_owner(Paid { bytes, budget: Arc::clone(budget) })
    }
}

impl AsRef<[u8]> for Paid {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Paid {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::Budget;

    #[test]
    fn a_charge_ends_with_its_holder() {
        let budget = Budget::new(100);
        let mut a = budget.charge(60);
        let b = budget.charge(70);
        assert_eq!((budget.used_bytes(), budget.excess_bytes()), (130, 30));
        a.resize(10);
        assert_eq!(budget.used_bytes(), 80);
        drop(b);
        drop(a);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn what_is_held_beside_counts_within_the_limit() {
        let budget = Budget::new(100);
        let (mut one, mut other) = (budget.beside(), budget.beside());
        let _charge = budget.charge(60);
        one.set(30);
        other.set(25);
        assert_eq!((budget.beside_bytes(), budget.used_bytes(), budget.excess_bytes()), (55, 60, 15));
        one.set(5);
        assert_eq!((budget.beside_bytes(), budget.excess_bytes()), (30, 0));
        drop(other);
        assert_eq!(budget.beside_bytes(), 5);
    }
}
