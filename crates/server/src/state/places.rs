//! Who has a place: connections of clients counted, over all and, where that is limited, by address.
//!
//! Not here: what becomes of those that get none.

use samovar_reason::Reject;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The places of a server, on all its cores.
#[derive(Debug, Default)]
pub struct Places {
    taken: AtomicUsize,
    by_address: Mutex<HashMap<IpAddr, usize>>,
}

/// One place, given back when it is dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    counted: Option<IpAddr>,
}

impl Places {
    /// A place, if fewer than `all_max` are taken and, of those from this address, fewer than `each_max`. Those without
    /// an address count towards the whole only.
    ///
    /// # Errors
    /// Which of the two was too many.
    pub fn take(
        self: &Arc<Self>,
        address: Option<IpAddr>,
        all_max: usize,
        each_max: Option<usize>,
    ) -> Result<Place, Reject> {
        let mut place = Place { places: Arc::clone(self), counted: None };
        if self.taken.fetch_add(1, Ordering::Relaxed) >= all_max {
            return Err(Reject::TooManyConnections);
        }
        if let (Some(address), Some(each_max)) = (address, each_max) {
            place.count_for(address, each_max)?;
        }
        Ok(place)
    }

    /// How many places are taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// How many one address has at most, of those that were counted by address.
    pub fn most_of_one(&self) -> usize {
        self.lock().values().copied().max().unwrap_or(0)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.by_address.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Counts it for this address too, which was not known when it was taken.
    ///
    /// # Errors
    /// If the address has as many as it may have.
    pub fn count_for(&mut self, address: IpAddr, each_max: usize) -> Result<(), Reject> {
        let address = counted_as(address);
        let mut by_address = self.places.lock();
        let count = by_address.entry(address).or_default();
        if *count >= each_max || self.counted.is_some() {
            return Err(Reject::TooManyFromAddress);
        }
        *count += 1;
        self.counted = Some(address);
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.taken.fetch_sub(1, Ordering::Relaxed);
        let Some(address) = self.counted else { return };
        let mut by_address = self.places.lock();
        if let Some(count) = by_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                by_address.remove(&address);
            }
        }
    }
}

/// What is one address here: an IPv6 client usually has a network of 64 bits to itself.
fn counted_as(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let mut octets = address.octets();
            octets.iter_mut().skip(8).for_each(|octet| *octet = 0);
            IpAddr::from(octets)
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_and_given_back() {
        let places = Arc::new(Places::default());
        let take = |address: &str, all_max, each_max| places.take(address.parse().ok(), all_max, each_max);
        let first = take("192.0.2.1", 3, Some(2)).unwrap();
        let _second = take("::ffff:192.0.2.1", 3, Some(2)).unwrap();
        assert_eq!(take("192.0.2.1", 3, Some(2)).unwrap_err(), Reject::TooManyFromAddress);
        let third = take("2001:db8::1", 3, Some(1)).unwrap();
        assert_eq!(
            take("2001:db8::2:3", 4, Some(1)).unwrap_err(),
            Reject::TooManyFromAddress,
            "the same /64"
        );
        assert_eq!(take("192.0.2.9", 3, Some(2)).unwrap_err(), Reject::TooManyConnections);
        drop(third);
        assert!(take("2001:db8:0:1::1", 3, Some(1)).is_ok());
        drop(first);
        assert!(take("192.0.2.1", 3, Some(2)).is_ok());
        // Without an address, and without a limit of each, only the whole counts.
        let all: Vec<_> = (0..2).map(|_| places.take(None, 3, Some(1)).unwrap()).collect();
        assert_eq!(places.taken.load(Ordering::Relaxed), 3);
        drop(all);
        assert!((0..2).all(|_| take("192.0.2.1", 3, None).is_ok()));
        assert_eq!(
            (places.taken.load(Ordering::Relaxed), places.lock().len()),
            (1, 1),
            "the second is held still"
        );
    }
}
