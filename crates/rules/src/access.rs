//! Who may ask, by address: a rule's `allow` and `deny`.
//!
//! The narrowest network that holds the address decides; between equals `deny` does. An address in none of them may
//! ask only if there is no `allow`. So `allow = ["10.0.0.0/8"]` alone shuts all others out. Not here: whose address it
//! is (`trusted_proxies`).

use std::net::IpAddr;

/// A network of addresses: `10.0.0.0/8`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The address; bits beyond the prefix are zero.
    pub address: IpAddr,
    /// Length of the prefix, bits.
    pub prefix: u8,
}

impl Network {
    /// True if the address lies in it. IPv4 written as IPv6 (`::ffff:10.0.0.1`) counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(net), IpAddr::V4(a)) => {
                same_prefix(net.to_bits().into(), a.to_bits().into(), 32, self.prefix)
            }
            (IpAddr::V6(net), IpAddr::V6(a)) => same_prefix(net.to_bits(), a.to_bits(), 128, self.prefix),
            _ => false,
        }
    }
}

fn same_prefix(a: u128, b: u128, bits: u32, prefix: u8) -> bool {
    (a ^ b).checked_shr(bits - u32::from(prefix)).unwrap_or(0) == 0
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Addresses; and those that come over a unix socket, who have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// By network.
    pub networks: Vec<Network>,
    /// Over a unix socket.
    pub unix: bool,
}

impl Addresses {
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.networks.is_empty() && !self.unix
    }

    /// How narrow the narrowest network is that holds the client.
    fn narrowest(&self, client: Option<IpAddr>) -> Option<u8> {
        match client {
            None => self.unix.then_some(u8::MAX),
            Some(ip) => self.networks.iter().filter(|net| net.contains(ip)).map(|net| net.prefix).max(),
        }
    }
}

impl std::fmt::Display for Addresses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut all: Vec<String> = self.networks.iter().map(Network::to_string).collect();
        all.extend(self.unix.then(|| "unix".to_owned()));
        f.write_str(&all.join(", "))
    }
}

/// A rule's `allow` and `deny`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// These may ask; if any is named, all others may not.
    pub allow: Addresses,
    /// These may not.
    pub deny: Addresses,
}

impl Access {
    /// Whether a client may ask; `None` is one on a unix socket.
    pub fn lets_in(&self, client: Option<IpAddr>) -> bool {
        match (self.allow.narrowest(client), self.deny.narrowest(client)) {
            (Some(allowed), Some(denied)) => allowed > denied,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => self.allow.is_empty(),
        }
    }
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [("allow", &self.allow), ("deny", &self.deny)];
        let told =
            parts.iter().filter(|(_, list)| !list.is_empty()).map(|(word, list)| format!("{word} {list}"));
        f.write_str(&told.collect::<Vec<_>>().join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Addresses {
        let mut out = Addresses::default();
        for word in text.split_whitespace() {
            match word.split_once('/') {
                Some((address, prefix)) => out
                    .networks
                    .push(Network { address: address.parse().unwrap(), prefix: prefix.parse().unwrap() }),
                None => out.unix = true,
            }
        }
        out
    }

    #[test]
    fn table() {
        for (allow, deny, client, want) in [
            ("", "", "1.1.1.1", true),
            ("", "", "unix", true),
            ("10.0.0.0/8", "", "10.1.1.1", true),
            ("10.0.0.0/8", "", "::ffff:10.1.1.1", true),
            ("10.0.0.0/8", "", "11.1.1.1", false),
            ("10.0.0.0/8", "", "::1", false),
            ("10.0.0.0/8", "", "unix", false),
            ("10.0.0.0/8 unix", "", "unix", true),
            ("", "10.0.0.0/8", "10.1.1.1", false),
            ("", "10.0.0.0/8", "11.1.1.1", true),
            ("", "unix", "unix", false),
            ("unix", "unix", "unix", false),
            ("10.0.0.0/8", "0.0.0.0/0", "10.1.1.1", true),
            ("10.0.0.0/8", "0.0.0.0/0", "11.1.1.1", false),
            ("10.0.0.0/8", "10.5.0.0/16", "10.5.1.1", false),
            ("10.0.0.0/8", "10.5.0.0/16", "10.6.1.1", true),
            ("10.0.0.0/8", "10.0.0.0/8", "10.1.1.1", false),
            ("10.5.0.0/16", "10.0.0.0/8", "9.1.1.1", false),
            ("2001:db8::/32", "", "2001:db8::1", true),
            ("0.0.0.0/0", "", "8.8.8.8", true),
            ("0.0.0.0/0", "", "::1", false),
            ("::/0", "", "::1", true),
        ] {
            let access = Access { allow: list(allow), deny: list(deny) };
            assert_eq!(access.lets_in(client.parse().ok()), want, "allow {allow} deny {deny}: {client}");
        }
        let access = Access { allow: list("10.0.0.0/8 unix"), deny: list("0.0.0.0/0") };
        assert_eq!(access.to_string(), "allow 10.0.0.0/8, unix; deny 0.0.0.0/0");
    }
}
