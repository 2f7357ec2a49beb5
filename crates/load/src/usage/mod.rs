//! CPU and memory of server processes, read from /proc.
//!
//! A server is a tree of processes: the one named and all below it, so that nginx's workers and php-fpm's pool
//! count. Children that have ended count through their parent's `cutime`. Not here: the CPU of our own threads
//! ([`crate::sender::meter`]).

pub mod link;
pub mod listener;
pub mod process;
mod route;

use process::Process;
use serde::{Deserialize, Serialize};

/// A server to watch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// How it is shown.
    pub name: String,
    /// The top of its tree.
    pub pid: u32,
    /// Whether it was found by its port, not named by the user.
    pub found: bool,
}

/// What a tree of processes had used at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// CPU since its start, in microseconds; ticks of 10 ms.
    pub cpu_us: u64,
    /// Resident memory, in bytes; pages shared between processes count in each.
    pub rss_bytes: u64,
    /// Living processes.
    pub processes: u32,
}

/// Reads every root once.
pub fn read(roots: &[Root]) -> Vec<Reading> {
    if roots.is_empty() {
        return Vec::new();
    }
    let table = process::table();
    roots.iter().map(|root| sum(root.pid, &table)).collect()
}

/// Adds up the tree below `pid`, itself included; our own process never counts.
fn sum(pid: u32, table: &[Process]) -> Reading {
    let own = std::process::id();
    let mut inside = vec![pid];
    let mut reading = Reading::default();
    let mut next = 0;
    while let Some(&pid) = inside.get(next) {
        next += 1;
        for process in table {
            if process.pid == pid {
                reading.cpu_us += process.cpu_us;
                reading.rss_bytes += process.rss_bytes;
                reading.processes += 1;
            }
            if process.parent == pid && process.pid != own && !inside.contains(&process.pid) {
                inside.push(process.pid);
            }
        }
    }
    reading
}

/// Completes the list of servers: those the user named, then those found listening at the targets.
pub fn roots(named: &[(Option<String>, u32)], found: Vec<u32>) -> (Vec<Root>, Vec<String>) {
    let table = process::table();
    let mut roots = Vec::new();
    let mut notes = Vec::new();
    for (name, pid) in named {
        match table.iter().find(|process| process.pid == *pid) {
            Some(process) => {
                let name = name.clone().unwrap_or_else(|| process.name.clone());
                roots.push(Root { name, pid: *pid, found: false });
            }
            None => notes.push(format!("no process {pid}: its CPU is not in this report")),
        }
    }
    let named_trees: Vec<u32> = roots.iter().map(|root| root.pid).collect();
    for pid in found {
        if !ancestors(pid, &table).iter().any(|above| named_trees.contains(above)) {
            let name =
                table.iter().find(|process| process.pid == pid).map_or_else(String::new, |p| p.name.clone());
            roots.push(Root { name, pid, found: true });
        }
    }
    (roots, notes)
}

/// `pid`, its parent, and so on up.
fn ancestors(pid: u32, table: &[Process]) -> Vec<u32> {
    let mut line = vec![pid];
    let mut at = pid;
    while let Some(process) = table.iter().find(|process| process.pid == at) {
        if process.parent == 0 || line.contains(&process.parent) {
            break;
        }
        at = process.parent;
        line.push(at);
    }
    line
}

/// Of the processes that hold a listening socket, those whose parent does not: the masters.
pub fn tops(holders: &[u32]) -> Vec<u32> {
    let table = process::table();
    let parent =
        |pid: u32| table.iter().find(|process| process.pid == pid).map_or(0, |process| process.parent);
    holders.iter().copied().filter(|pid| !holders.contains(&parent(*pid))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, cpu_us: u64) -> Process {
        Process { pid, parent, name: format!("p{pid}"), cpu_us, rss_bytes: 1 }
    }

    #[test]
    fn a_tree_is_one_server() {
        let table = [
            process(1, 0, 9),
            process(10, 1, 100),
            process(11, 10, 20),
            process(12, 11, 3),
            process(20, 1, 50),
        ];
        assert_eq!(sum(10, &table), Reading { cpu_us: 123, rss_bytes: 3, processes: 3 });
        assert_eq!(sum(12, &table).cpu_us, 3);
        assert_eq!(sum(99, &table), Reading::default());
        assert_eq!(ancestors(12, &table), [12, 11, 10, 1]);
    }

    #[test]
    fn we_see_our_own_cpu_grow() {
        let root = Root { name: "self".to_owned(), pid: std::process::id(), found: false };
        let before = read(std::slice::from_ref(&root));
        let start = std::time::Instant::now();
        let mut sum = 0_u64;
        while start.elapsed().as_millis() < 120 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let after = read(&[root]);
        assert!(after[0].cpu_us >= before[0].cpu_us, "{before:?} {after:?}");
        assert!(after[0].cpu_us > 0 && after[0].rss_bytes > 1_000_000 && after[0].processes >= 1);
    }
}
