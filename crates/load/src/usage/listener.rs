//! Who listens at a target, when it is on this host: /proc/net for the socket, /proc/PID/fd for its holders.
//!
//! Sees only processes we may look into (our own user's, or all for root). Not here: reading their CPU.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;

use crate::sender::Address;

/// Whether the address is one of this host's own.
pub fn is_local(address: &Address) -> bool {
    match address {
        Address::Unix(_) => true,
        Address::Tcp(address) if address.ip().is_loopback() => true,
        // The kernel routes to its own addresses from the very address; nothing is sent by connecting UDP.
        Address::Tcp(address) => {
            let any: SocketAddr =
                if address.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0; 8], 0).into() };
            UdpSocket::bind(any)
                .and_then(|socket| socket.connect(address).and_then(|()| socket.local_addr()))
                .is_ok_and(|local| local.ip() == address.ip())
        }
    }
}

/// The processes that hold a listening socket for this address.
pub fn holders(address: &Address) -> Vec<u32> {
    let inodes = match address {
        Address::Tcp(address) => tcp_inodes(*address),
        Address::Unix(path) => {
            let text = fs::read_to_string("/proc/net/unix").unwrap_or_default();
            unix_inodes(&text, path)
        }
    };
    if inodes.is_empty() { Vec::new() } else { who_holds(&inodes) }
}

fn tcp_inodes(target: SocketAddr) -> BTreeSet<u64> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok())
        .flat_map(|text| listening(&text, target))
        .collect()
}

/// Inodes of listening sockets that take connections to `target`, from a table of /proc/net.
fn listening(text: &str, target: SocketAddr) -> Vec<u64> {
    text.lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
            let (ip, port) = local.split_once(':')?;
            let (ip, port) = (hex_ip(ip)?, u16::from_str_radix(port, 16).ok()?);
            let takes = ip.is_unspecified() || ip.to_canonical() == target.ip().to_canonical();
            // 0A is TCP_LISTEN.
            (*state == "0A" && port == target.port() && takes).then(|| inode.parse().ok())?
        })
        .collect()
}

/// Addresses stand as 32-bit words in the host's byte order.
fn hex_ip(text: &str) -> Option<IpAddr> {
    let word = |at: usize| u32::from_str_radix(text.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    match text.len() {
        8 => Some(IpAddr::V4(Ipv4Addr::from(word(0)?))),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let bytes: Vec<u8> = words.concat();
            Some(IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)))
        }
        _ => None,
    }
}

/// Columns: Num RefCount Protocol Flags Type St Inode Path; flag 10000 (hex) marks a listening socket.
fn unix_inodes(text: &str, path: &Path) -> BTreeSet<u64> {
    text.lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let flags = u32::from_str_radix(fields.get(3)?, 16).ok()?;
            let same = Path::new(fields.get(7)?) == path;
            (flags & 0x1_0000 != 0 && same).then(|| fields.get(6)?.parse().ok())?
        })
        .collect()
}

fn who_holds(inodes: &BTreeSet<u64>) -> Vec<u32> {
    let wanted: BTreeSet<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()))
        .filter(|pid| {
            let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
            files
                .flatten()
                .filter_map(|file| fs::read_link(file.path()).ok())
                .any(|link| link.to_str().is_some_and(|link| wanted.contains(link)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 222 1 0 100 0 0 10 0
   2: 00000000:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 333 1 0 100 0 0 10 0
   3: broken
";

    #[test]
    fn listening_sockets_only() {
        assert_eq!(listening(TABLE, "127.0.0.1:8080".parse().unwrap()), [111]);
        assert_eq!(listening(TABLE, "127.0.0.2:8080".parse().unwrap()), [0_u64; 0]);
        assert_eq!(listening(TABLE, "10.0.0.1:8081".parse().unwrap()), [333]);
        assert_eq!(listening("", "10.0.0.1:8081".parse().unwrap()), [0_u64; 0]);
    }

    #[test]
    fn unix_sockets() {
        let text = "Num RefCount Protocol Flags Type St Inode Path
0: 00000002 00000000 00010000 0001 01 777 /run/a.sock
0: 00000003 00000000 00000000 0001 03 888 /run/a.sock
0: 00000003 00000000 00000000 0001 03 999";
        assert_eq!(unix_inodes(text, Path::new("/run/a.sock")), BTreeSet::from([777]));
    }

    #[test]
    fn we_find_ourselves() {
        for bind in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"] {
            let Ok(listener) = TcpListener::bind(bind) else { continue };
            let port = listener.local_addr().unwrap().port();
            let ip = if bind.starts_with('[') { "[::1]" } else { "127.0.0.1" };
            let address = Address::Tcp(format!("{ip}:{port}").parse().unwrap());
            assert!(is_local(&address));
            assert!(holders(&address).contains(&std::process::id()), "{bind}");
        }
        assert!(!is_local(&Address::Tcp("192.0.2.1:80".parse().unwrap())));
    }
}
