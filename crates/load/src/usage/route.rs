//! Which interface leads to an address, by the tables of routes in /proc/net.
//!
//! Pure: texts in. Rules that choose between tables are not looked at; where there are any, the main table answers. Not here:
//! opening files ([`super::link`]).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A route is in use, and does not refuse.
const UP: u32 = 0x1;
const REJECT: u32 = 0x200;

/// One way to many addresses.
struct Way<'t> {
    interface: &'t str,
    prefix_bits: u32,
    metric: u32,
}

/// The interface that leads to `ip`: `v4` is /proc/net/route, `v6` /proc/net/ipv6_route.
pub fn interface<'t>(v4: &'t str, v6: &'t str, ip: IpAddr) -> Option<&'t str> {
    let best = |ways: &mut dyn Iterator<Item = Way<'t>>| {
        // The narrowest way; of several the cheapest.
        ways.min_by_key(|way| (std::cmp::Reverse(way.prefix_bits), way.metric)).map(|way| way.interface)
    };
    match ip.to_canonical() {
        IpAddr::V4(ip) => best(&mut v4.lines().filter_map(|line| way_v4(line, ip))),
        IpAddr::V6(ip) => best(&mut v6.lines().filter_map(|line| way_v6(line, ip))),
    }
}

/// `Iface Destination Gateway Flags RefCnt Use Metric Mask …`; addresses are numbers as this machine keeps them.
fn way_v4(line: &str, ip: Ipv4Addr) -> Option<Way<'_>> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let &[interface, destination, _, flags, _, _, metric, mask, ..] = fields.as_slice() else { return None };
    let hex = |text| u32::from_str_radix(text, 16).ok();
    let (destination, flags, mask) = (hex(destination)?, hex(flags)?, hex(mask)?);
    let ip = u32::from_ne_bytes(ip.octets());
    let leads = ip & mask == destination && flags & UP != 0 && flags & REJECT == 0;
    leads.then_some(Way { interface, prefix_bits: mask.count_ones(), metric: metric.parse().ok()? })
}

/// `destination prefix source prefix gateway metric refs use flags interface`, all in hex.
fn way_v6(line: &str, ip: Ipv6Addr) -> Option<Way<'_>> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let &[destination, bits, _, _, _, metric, _, _, flags, interface] = fields.as_slice() else {
        return None;
    };
    let destination = u128::from_str_radix(destination, 16).ok()?;
    let hex = |text| u32::from_str_radix(text, 16).ok();
    let (prefix_bits, metric, flags) = (hex(bits)?, hex(metric)?, hex(flags)?);
    let mask = u128::MAX.checked_shl(128_u32.checked_sub(prefix_bits)?).unwrap_or(0);
    let leads = u128::from(ip) & mask == destination & mask && flags & UP != 0 && flags & REJECT == 0;
    leads.then_some(Way { interface, prefix_bits, metric })
}

/// The bytes per second of a link whose speed is given in megabits, as in /sys/class/net/NAME/speed; a link that is down or
/// has no speed says -1, or nothing.
pub fn bytes_per_s(speed: &str) -> Option<f64> {
    let megabits: i64 = speed.trim().parse().ok()?;
    (megabits > 0).then(|| megabits as f64 * 1e6 / 8.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V4: &str = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
eth0\t0001A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
tun0\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0
lab\t0001000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
*\t0002000A\t00000000\t0201\t0\t0\t0\t00FFFFFF\t0\t0\t0
down\t0003000A\t00000000\t0000\t0\t0\t0\t00FFFFFF\t0\t0\t0
";
    const V6: &str = "\
20010db8000000000000000000000000 20 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0
20010db8000100000000000000000000 30 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth1
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     wan
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
";

    #[test]
    fn the_narrowest_and_cheapest_way() {
        if cfg!(target_endian = "little") {
            for (ip, want) in [
                ("192.168.1.9", "eth0"),
                ("8.8.8.8", "eth0"),
                ("10.9.9.9", "tun0"),
                ("10.0.1.1", "lab"),
                ("10.0.2.1", "tun0"),
                ("10.0.3.1", "tun0"),
                ("::ffff:10.0.1.1", "lab"),
            ] {
                assert_eq!(interface(V4, V6, ip.parse().unwrap()), Some(want), "{ip}");
            }
        }
        for (ip, want) in [("2001:db8::5", "eth0"), ("2001:db8:1::5", "eth1"), ("2002::1", "wan")] {
            assert_eq!(interface(V4, V6, ip.parse().unwrap()), Some(want), "{ip}");
        }
        assert_eq!(interface("", "", "8.8.8.8".parse().unwrap()), None);
        assert_eq!(interface("", "", "2002::1".parse().unwrap()), None);
    }

    #[test]
    fn speeds() {
        assert_eq!(bytes_per_s("1000\n"), Some(125e6));
        for text in ["-1\n", "0", "", "fast"] {
            assert_eq!(bytes_per_s(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_table_is_read(text in "([a-z0-9 \t]{0,90}\n){0,4}|\\PC{0,60}", ip: u128) {
            let _ = interface(&text, &text, IpAddr::V6(ip.into()));
            let _ = interface(&text, &text, IpAddr::V4((ip as u32).into()));
        }
    }
}
