//! Limits that the system sets this process: open files, and connections that wait to be accepted.
//!
//! Read from `/proc` when asked. Not here: raising them (`front`).

use super::{LimitShape, Use, Value, shape};
use crate::front::BACKLOG;
use crate::state::Shared;
use crate::{descriptors, operator_files};
use std::path::Path;

/// All of them that can be read.
pub(super) fn limits(app: &Shared) -> Vec<LimitShape> {
    let mut rows: Vec<LimitShape> = open_files().into_iter().collect();
    let most = told("/proc/sys/net/core/somaxconn");
    let most = most.and_then(|text| text.trim().parse::<u64>().ok());
    let ours = u64::try_from(BACKLOG).unwrap_or(0);
    let max = most.map_or(ours, |most| most.min(ours));
    let from = match most {
        Some(most) if most < ours => "net.core.somaxconn".to_owned(),
        _ => "samovar's own".to_owned(),
    };
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| told(path).unwrap_or_default());
    let overflows = told("/proc/net/netstat").and_then(|text| overflows(&text));
    for address in app.addresses.get().map_or(&[][..], Vec::as_slice) {
        let port =
            address.rsplit_once(':').and_then(|(_, port)| port.trim_end_matches('/').parse::<u16>().ok());
        let Some(port) = port else { continue };
        // Each core has a queue of its own; the longest is told.
        let waiting = tables.iter().filter_map(|table| longest_queue(table, port)).max();
        let name = format!("system.backlog.{port}");
        let of = Use { used: waiting, refused: overflows, binds: waiting >= Some(max) };
        rows.push(shape(name, &Value::Count(max), of, format!("{from}; refused: by this machine in all")));
    }
    rows
}

/// A file of the system's. The table of connections is long where there are many: 150 bytes each.
fn told(path: &str) -> Option<String> {
    let bytes = operator_files::read(Path::new(path), 64 << 20).ok()?;
    String::from_utf8(bytes).ok()
}

fn open_files() -> Option<LimitShape> {
    let max = rustix::process::getrlimit(rustix::process::Resource::Nofile).current?;
    let used =
        descriptors::reserved(|| std::fs::read_dir("/proc/self/fd")).ok().map(|all| all.count() as u64);
    let from = match descriptors::kept_back() {
        0 => "ulimit -n".to_owned(),
        kept => format!("ulimit -n, less {kept} for the admin interface"),
    };
    let of = Use { used, refused: None, binds: used.is_some_and(|n| n + n / 50 >= max) };
    Some(shape("system.open_files".to_owned(), &Value::Count(max), of, from))
}

/// The longest queue of connections to be accepted of the listeners on this port: `rx_queue` of sockets in state 0A.
fn longest_queue(table: &str, port: u16) -> Option<u64> {
    let rows = table.lines().skip(1).filter_map(|line| {
        let mut words = line.split_whitespace();
        let local = words.nth(1)?;
        let state = words.nth(1)?;
        let queues = words.next()?;
        let own = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
        let waiting = u64::from_str_radix(queues.split_once(':')?.1, 16).ok()?;
        (own == port && state == "0A").then_some(waiting)
    });
    rows.max()
}

/// Connections that were refused because such a queue was full, on this machine since it was started.
fn overflows(netstat: &str) -> Option<u64> {
    let mut lines = netstat.lines().filter(|line| line.starts_with("TcpExt:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|name| name == "ListenOverflows")?;
    values.split_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_writes_is_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n   \
             0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000\n   \
             1: 0100007F:1F90 00000000:0000 0A 00000000:0000000B 00:00000000 00000000\n   \
             2: 0100007F:1F90 0100007F:9999 01 00000000:000000FF 00:00000000 00000000\n";
        assert_eq!(longest_queue(table, 8080), Some(11));
        assert_eq!(longest_queue(table, 8081), None);
        let netstat = "TcpExt: A ListenOverflows B\nTcpExt: 1 7 2\nIpExt: A\nIpExt: 1\n";
        assert_eq!(overflows(netstat), Some(7));
        assert_eq!(overflows("nonsense"), None);
    }
}
