//! What the interfaces to the servers carried in the measured windows, and what this host had to send again.
//!
//! Read from /proc and /sys at both ends of each window. Shell. Not here: whether it was too much ([`crate::verdict`]), the
//! tables of routes ([`super::route`]).

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::route;
use crate::counters::proc;
use crate::verdict::Link;

/// What passed in all measured windows together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// How long they were.
    pub seconds: f64,
    /// TCP segments this host sent.
    pub segments: u64,
    /// Of these, sent again.
    pub segments_again: u64,
    /// The interfaces of known speed that lead to servers.
    pub links: Vec<Passed>,
}

/// What passed one interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Passed {
    /// Its name.
    pub name: String,
    /// Bytes per second it can carry each way.
    pub limit_bytes_per_s: f64,
    /// Bytes that came.
    pub received_bytes: u64,
    /// Bytes that went.
    pub sent_bytes: u64,
}

impl Carried {
    /// Adds what another machine saw in the same windows.
    pub fn merge(&mut self, other: Carried) {
        self.seconds = self.seconds.max(other.seconds);
        self.segments += other.segments;
        self.segments_again += other.segments_again;
        self.links.extend(other.links);
    }

    /// The interfaces as they are judged.
    pub fn links(&self) -> Vec<Link> {
        let per_s = |bytes: u64| if self.seconds > 0.0 { bytes as f64 / self.seconds } else { 0.0 };
        let link = |passed: &Passed| Link {
            name: passed.name.clone(),
            // Each direction has the whole speed for itself.
            bytes_per_s: per_s(passed.received_bytes.max(passed.sent_bytes)),
            limit_bytes_per_s: passed.limit_bytes_per_s,
        };
        self.links.iter().map(link).collect()
    }
}

/// Looks at both ends of each window.
#[derive(Debug, Default)]
pub struct Watch {
    carried: Carried,
    /// When the present window began, and how things stood then.
    since: Option<(u64, Standing)>,
}

/// How the counters stand.
#[derive(Clone, Debug, Default)]
struct Standing {
    segments: u64,
    segments_again: u64,
    /// Received and sent, of each link.
    bytes: Vec<(u64, u64)>,
}

impl Watch {
    /// Finds the interfaces that lead to these hosts; those of unknown speed, among them all virtual ones, are left out.
    pub fn new(hosts: &[IpAddr]) -> Watch {
        let (v4, v6) = (text("/proc/net/route"), text("/proc/net/ipv6_route"));
        let mut links: Vec<Passed> = Vec::new();
        for name in hosts.iter().filter_map(|ip| route::interface(&v4, &v6, *ip)) {
            let of = Path::new("/sys/class/net").join(name);
            let speed = fs::read_to_string(of.join("speed")).ok();
            // Interfaces without a device behind them name a speed that nothing holds them to.
            let limit =
                speed.filter(|_| of.join("device").exists()).and_then(|speed| route::bytes_per_s(&speed));
            if let Some(limit_bytes_per_s) = limit
                && !links.iter().any(|link| link.name == name)
            {
                links.push(Passed { name: name.to_owned(), limit_bytes_per_s, ..Passed::default() });
            }
        }
        Watch { carried: Carried { links, ..Carried::default() }, since: None }
    }

    /// A window ends here, if one was open, and another begins if `measured`.
    pub fn pass(&mut self, now_ns: u64, measured: bool) {
        if self.since.is_none() && !measured {
            return;
        }
        let here = self.standing();
        if let Some((since_ns, before)) = self.since.take() {
            let carried = &mut self.carried;
            carried.seconds += now_ns.saturating_sub(since_ns) as f64 / 1e9;
            carried.segments += here.segments.saturating_sub(before.segments);
            carried.segments_again += here.segments_again.saturating_sub(before.segments_again);
            for ((link, then), now) in carried.links.iter_mut().zip(&before.bytes).zip(&here.bytes) {
                link.received_bytes += now.0.saturating_sub(then.0);
                link.sent_bytes += now.1.saturating_sub(then.1);
            }
        }
        self.since = measured.then_some((now_ns, here));
    }

    /// What was seen, all in all.
    pub fn carried(self) -> Carried {
        self.carried
    }

    fn standing(&self) -> Standing {
        let snmp = text("/proc/net/snmp");
        let tcp = |field| proc::snmp(&snmp, "Tcp", field).unwrap_or(0);
        let dev = if self.carried.links.is_empty() { String::new() } else { text("/proc/net/dev") };
        Standing {
            segments: tcp("OutSegs"),
            segments_again: tcp("RetransSegs"),
            bytes: self.carried.links.iter().map(|link| proc::bytes_of(&dev, &link.name)).collect(),
        }
    }
}

/// A file of the kernel; one that is not there says nothing.
fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn only_what_passes_in_windows_counts() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut there = listener.accept().unwrap().0;
        let mut send = |times: usize| {
            for _ in 0..times {
                here.write_all(b"x").unwrap();
                there.read_exact(&mut [0]).unwrap();
            }
        };
        let mut watch = Watch::new(&[]);
        watch.pass(0, false);
        send(200);
        watch.pass(1_000_000_000, true);
        assert_eq!(watch.carried, Carried::default());
        send(200);
        watch.pass(3_000_000_000, true);
        watch.pass(4_000_000_000, false);
        let carried = watch.carried();
        // Others use this host, too: no fewer than ours.
        assert!(carried.seconds == 3.0 && carried.segments >= 200, "{carried:?}");
        assert!(carried.segments_again <= carried.segments);
    }

    #[test]
    fn the_busier_direction_counts() {
        let passed = |received_bytes, sent_bytes| Passed {
            name: "eth0".to_owned(),
            limit_bytes_per_s: 125e6,
            received_bytes,
            sent_bytes,
        };
        let mut carried = Carried { seconds: 2.0, links: vec![passed(500, 30)], ..Carried::default() };
        carried.merge(Carried { seconds: 2.0, links: vec![passed(7, 90)], segments: 5, segments_again: 1 });
        let rates: Vec<f64> = carried.links().iter().map(|link| link.bytes_per_s).collect();
        assert_eq!((rates, carried.segments, carried.segments_again), (vec![250.0, 45.0], 5, 1));
        assert_eq!(Carried::default().links(), []);
    }
}
