//! How often a client may ask: one generic cell rate (ITU-T I.371, GCRA: a leaky bucket that is one number) per client
//! and rule, in a table of fixed size.
//!
//! Values and `now` in, a verdict out. The number is the moment at which the client will have paid for all it asked; a
//! moment that has passed says nothing any more, so such places are free. Where none is free the client who owes least
//! loses its place, which is nearly as it would have been forgotten. Not here: whom a request is counted for (`whom`), locks.

use crate::whom::address;
use http::HeaderMap;
use http::header::{COOKIE, HeaderName};
use std::net::{IpAddr, Ipv6Addr};

/// By what requests are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateBy {
    /// The client's address; of IPv6 the first 64 bits, as one client has all of them.
    Client,
    /// A request field's value; requests without it, or with several, are counted together.
    Header(HeaderName),
    /// A query variable's value, likewise.
    Query(String),
    /// A cookie's value, likewise.
    Cookie(String),
    /// All together.
    All,
}

/// A rule's `rate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    /// So many requests…
    pub requests: u64,
    /// …in this time, ms.
    pub per_ms: u64,
    /// At once, after a pause.
    pub burst: u64,
    /// Counted by.
    pub by: RateBy,
    /// It is the site's: one count under all rules that have no rate of their own.
    pub of_site: bool,
}

impl RateBy {
    /// Reads `client`, `all`, `header:NAME`, `query:NAME` or `cookie:NAME`.
    pub fn new(text: &str) -> Option<RateBy> {
        match text.split_once(':') {
            None if text == "client" => Some(RateBy::Client),
            None if text == "all" => Some(RateBy::All),
            Some(("header", name)) => HeaderName::from_bytes(name.as_bytes()).ok().map(RateBy::Header),
            Some(("query", name)) if !name.is_empty() => Some(RateBy::Query(name.to_owned())),
            Some(("cookie", name)) if !name.is_empty() => Some(RateBy::Cookie(name.to_owned())),
            _ => None,
        }
    }

    /// What a request is told apart by where nothing is counted: the first of several, as it was written.
    pub fn value(&self, client: Option<IpAddr>, query: Option<&str>, headers: &HeaderMap) -> Vec<u8> {
        match self {
            RateBy::Client => address(client),
            RateBy::Header(name) => {
                let lines: Vec<&[u8]> = headers.get_all(name).iter().map(|v| v.as_bytes()).collect();
                lines.join(&b'\n')
            }
            RateBy::Query(name) => query
                .into_iter()
                .flat_map(|query| query.split('&'))
                .filter_map(|pair| pair.split_once('='))
                .find(|(found, _)| found == name)
                .map_or(Vec::new(), |(_, value)| value.as_bytes().to_vec()),
            RateBy::Cookie(name) => headers
                .get_all(COOKIE)
                .iter()
                .flat_map(|line| line.as_bytes().split(|byte| *byte == b';'))
                .map(<[u8]>::trim_ascii)
                .find_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
                .map_or(Vec::new(), <[u8]>::to_vec),
            RateBy::All => Vec::new(),
        }
    }
}

impl std::fmt::Display for RateBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RateBy::Client => f.write_str("client"),
            RateBy::Header(name) => write!(f, "header:{name}"),
            RateBy::Query(name) => write!(f, "query:{name}"),
            RateBy::Cookie(name) => write!(f, "cookie:{name}"),
            RateBy::All => f.write_str("all"),
        }
    }
}

/// The part of an IPv6 address that tells clients apart.
pub fn network_of(ip: Ipv6Addr) -> Ipv6Addr {
    Ipv6Addr::from_bits(ip.to_bits() & (u128::MAX << 64))
}

/// What came of counting a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// It may come in; so many more could come at once.
    Within(u64),
    /// It came too soon; ms until one may come.
    TooMany(u64),
}

/// Places for one number of the hash; a power of two that fits a cache line or two.
const WAYS: usize = 8;

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Hash of whom it is for.
    whom: u64,
    /// When all of it is paid, ns; 0 for nobody.
    paid_ns: u64,
}

/// Who asked how often of late.
#[derive(Debug)]
pub struct RateTable {
    places: Box<[[Place; WAYS]]>,
}

impl RateTable {
    /// For so many clients at once; rounded up, and never more than that.
    pub fn new(clients: usize) -> RateTable {
        let rows = clients.div_ceil(WAYS).next_power_of_two().max(1);
        RateTable { places: vec![[Place::default(); WAYS]; rows].into() }
    }

    /// Memory it takes, bytes.
    pub fn bytes(&self) -> usize {
        std::mem::size_of_val(&*self.places)
    }

    /// Counts a request at `now_us`, monotonic. `whom` is a hash, keyed so that nobody outside can choose it, of the
    /// rule and of whom it is counted for.
    pub fn count(&mut self, whom: u64, rate: &Rate, now_us: u64) -> Counted {
        let now_ns = now_us.saturating_mul(1_000);
        let each_ns = (rate.per_ms.saturating_mul(1_000_000) / rate.requests.max(1)).max(1);
        let ahead_ns = each_ns.saturating_mul(rate.burst.max(1) - 1);
        let rows = self.places.len();
        // The low bits choose the row, all of them tell those in it apart.
        let row = usize::try_from(whom % rows as u64).unwrap_or(0);
        let Some(row) = self.places.get_mut(row) else { return Counted::Within(0) };
        let found = row.iter().position(|place| place.whom == whom && place.paid_ns != 0);
        // Nobody's, or the one whose debt ends first.
        let least = || row.iter().enumerate().min_by_key(|(_, place)| place.paid_ns).map_or(0, |(at, _)| at);
        let at = found.unwrap_or_else(least);
        let Some(place) = row.get_mut(at) else { return Counted::Within(0) };
        let paid_ns = if found.is_some() { place.paid_ns.max(now_ns) } else { now_ns };
        let owed_ns = paid_ns - now_ns;
        if owed_ns > ahead_ns {
            return Counted::TooMany((owed_ns - ahead_ns).div_ceil(1_000_000));
        }
        *place = Place { whom, paid_ns: paid_ns.saturating_add(each_ns) };
        Counted::Within((ahead_ns - owed_ns) / each_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    fn rate(requests: u64, per_ms: u64, burst: u64) -> Rate {
        Rate { requests, per_ms, burst, by: RateBy::Client, of_site: false }
    }

    const SECOND: u64 = 1_000_000;

    #[test]
    fn a_burst_and_then_the_rate() {
        let mut table = RateTable::new(64);
        let rate = rate(10, 1_000, 20);
        for left in (0..20).rev() {
            assert_eq!(table.count(1, &rate, SECOND), Counted::Within(left));
        }
        assert_eq!(table.count(1, &rate, SECOND), Counted::TooMany(100));
        assert_eq!(table.count(2, &rate, SECOND), Counted::Within(19), "each for itself");
        assert_eq!(table.count(1, &rate, SECOND + 99_999), Counted::TooMany(1));
        assert_eq!(table.count(1, &rate, SECOND + 100_000), Counted::Within(0));
        assert_eq!(table.count(1, &rate, SECOND + 100_000), Counted::TooMany(100));
        assert_eq!(table.count(1, &rate, 60 * SECOND), Counted::Within(19), "all is paid in time");
    }

    #[test]
    fn huge_numbers_do_no_harm() {
        let mut table = RateTable::new(1);
        let odd = rate(u64::MAX, u64::MAX, u64::MAX);
        assert!(matches!(table.count(1, &odd, u64::MAX), Counted::Within(_)));
        let never = rate(0, 0, 0);
        assert!(matches!(table.count(1, &never, 0), Counted::Within(_) | Counted::TooMany(_)));
    }

    #[test]
    fn a_flood_of_strangers_does_not_free_the_one_who_owes() {
        let mut table = RateTable::new(64);
        let rate = rate(1, 60_000, 10);
        while table.count(7, &rate, SECOND) != Counted::TooMany(60_000) {}
        for stranger in 1_000..1_000_000_u64 {
            table.count(stranger, &rate, SECOND);
        }
        assert!(matches!(table.count(7, &rate, SECOND), Counted::TooMany(_)));
        assert_eq!(table.bytes(), 64 * 16);
    }

    #[test]
    fn what_tells_requests_apart() {
        let mut headers = HeaderMap::new();
        headers.insert("x-api-key", HeaderValue::from_static("k1"));
        headers.append(COOKIE, HeaderValue::from_static("a=1; sid=s2"));
        for (by, client, query, want) in [
            ("header:X-Api-Key", None, None, &b"k1"[..]),
            ("header:X-None", None, None, b""),
            ("query:key", None, Some("a=1&key=k3"), b"k3"),
            ("query:key", None, Some("keys=1"), b""),
            ("cookie:sid", None, None, b"s2"),
            ("cookie:si", None, None, b""),
            ("client", Some("1.2.3.4".parse().unwrap()), None, &[1, 2, 3, 4]),
            ("all", None, None, b""),
        ] {
            let by = RateBy::new(by).unwrap();
            assert_eq!(by.value(client, query, &headers), want, "{by}");
        }
        for bad in ["", "ip", "header:", "header:a b", "query:", "cookie:", "all:x"] {
            assert_eq!(RateBy::new(bad), None, "{bad}");
        }
    }

    proptest! {
        /// However requests come, no more are let in within any time than the rate and one burst.
        #[test]
        fn never_more_than_promised(
            (requests, per_ms, burst) in (1..50_u64, 1..5_000_u64, 1..50_u64),
            gaps in prop::collection::vec(0..200_000_u64, 1..200),
        ) {
            let rate = rate(requests, per_ms, burst);
            let mut table = RateTable::new(8);
            let mut now_us = SECOND;
            let mut let_in = Vec::new();
            for gap in gaps {
                now_us += gap;
                match table.count(3, &rate, now_us) {
                    Counted::Within(_) => let_in.push(now_us),
                    Counted::TooMany(ms) => {
                        // And whoever waits as told gets in.
                        prop_assert!(ms > 0);
                        let mut later = RateTable { places: table.places.clone() };
                        prop_assert!(matches!(later.count(3, &rate, now_us + ms * 1_000), Counted::Within(_)));
                    }
                }
            }
            for (at, first) in let_in.iter().enumerate() {
                for (to, last) in let_in.iter().enumerate().skip(at) {
                    let n = (to - at + 1) as u128;
                    let within = u128::from(last - first) * u128::from(requests) / (u128::from(per_ms) * 1_000);
                    prop_assert!(n <= u128::from(burst) + within + 1, "{n} in {} us", last - first);
                }
            }
        }
    }
}
