//! Opens the files of /proc for [`super::proc`]: shell.
//!
//! A reading takes about 15 µs for each process of the host, to know who is below whom, and as much for each thread
//! of the server. Not here: what the files say.

use std::collections::BTreeMap;
use std::fs;

use rustix::param::{clock_ticks_per_second, page_size};

use super::Value;
use super::proc::{self, HostTexts, Switches, Tree};
use crate::usage::process;

/// Threads whose context switches are read at most: more would cost the run too much.
const THREADS_MAX: u64 = 1_024;

/// Reads the host.
///
/// # Errors
/// If /proc says nothing of it.
pub fn host() -> Result<Vec<Value>, String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (stat, meminfo) = (read("/proc/stat"), read("/proc/meminfo"));
    let (dev, snmp) = (read("/proc/net/dev"), read("/proc/net/snmp"));
    let values = proc::host(HostTexts { stat: &stat, meminfo: &meminfo, dev: &dev, snmp: &snmp });
    if values.is_empty() { Err("/proc says nothing of this host".to_owned()) } else { Ok(values) }
}

/// Reads the processes of one server, time after time.
#[derive(Debug)]
pub struct Watch {
    pids: Vec<u32>,
    number: usize,
    switches: Switches,
}

impl Watch {
    /// Of these processes and all below them; the number tells several servers apart, from 1.
    pub fn new(pids: Vec<u32>, number: usize) -> Watch {
        Watch { pids, number, switches: Switches::default() }
    }

    /// Reads them once.
    ///
    /// # Errors
    /// If there is none of them.
    pub fn read(&mut self) -> Result<Vec<Value>, String> {
        let mut tree = Tree { files: Some(0), ..Tree::default() };
        let mut threads = BTreeMap::new();
        let mut any = false;
        for pid in proc::tree(&self.pids, &process::table(), std::process::id()) {
            let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
            let Some(used) = proc::used(&stat, clock_ticks_per_second(), page_size() as u64) else {
                continue;
            };
            any = true;
            tree.add(used);
            tree.files = tree.files.zip(open_files(pid)).map(|(sum, more)| sum.saturating_add(more));
            if tree.used.threads <= THREADS_MAX {
                threads.extend(of_threads(pid));
            }
        }
        if !any {
            let pids: Vec<String> = self.pids.iter().map(u32::to_string).collect();
            return Err(format!("there is no process {}", pids.join(" or ")));
        }
        if tree.used.threads <= THREADS_MAX {
            tree.switches = Some(self.switches.take(threads));
        }
        Ok(tree.values(self.number))
    }
}

fn of_threads(pid: u32) -> Vec<(u32, (u64, u64))> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let thread = entry.file_name().to_str()?.parse().ok()?;
            Some((thread, proc::switches(&fs::read_to_string(entry.path().join("status")).ok()?)?))
        })
        .collect()
}

/// New kernels say the number as the size of the folder; with ten thousand connections counting would take
/// milliseconds.
fn open_files(pid: u32) -> Option<u64> {
    let folder = format!("/proc/{pid}/fd");
    match fs::metadata(&folder).ok()?.len() {
        0 => Some(fs::read_dir(folder).ok()?.count() as u64),
        files => Some(files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Measure;
    use std::fs::File;

    fn find(values: &[Value], name: &str) -> Measure {
        values.iter().find(|value| value.name == name).unwrap_or_else(|| panic!("{name}: {values:?}")).measure
    }

    #[test]
    fn this_host_says_all_that_is_asked() {
        let values = host().unwrap();
        assert_eq!(values.len(), 16, "{values:?}");
        let Measure::Share { part, whole } = find(&values, "host cpu") else { panic!() };
        assert!(part > 0.0 && part < whole);
    }

    #[test]
    fn this_process_is_seen_with_its_threads_and_files() {
        let mut watch = Watch::new(vec![std::process::id()], 1);
        let before = watch.read().unwrap();
        let files: Vec<File> = (0..50).map(|_| File::open("/proc/self/stat").unwrap()).collect();
        let wait = std::sync::Barrier::new(2);
        let after = std::thread::scope(|scope| {
            scope.spawn(|| wait.wait());
            // Other tests run beside this one; what it did itself is seen at least.
            let after = watch.read().unwrap();
            wait.wait();
            after
        });
        drop(files);
        let Measure::Gauge(open) = find(&after, "server open files") else { panic!() };
        assert!(open >= 53.0, "{open}");
        let Measure::Gauge(threads) = find(&after, "server threads") else { panic!() };
        assert!(threads >= 2.0, "{threads}");
        let Measure::Gauge(bytes) = find(&before, "server memory") else { panic!() };
        assert!(bytes > 1e6, "{bytes}");
        let Measure::Total(switched) = find(&after, "server switches voluntary") else { panic!() };
        assert!(switched >= 0.0 && find(&before, "server switches voluntary") == Measure::Total(0.0));
    }

    #[test]
    fn nobody_there() {
        assert_eq!(
            Watch::new(vec![u32::MAX], 1).read().unwrap_err(),
            format!("there is no process {}", u32::MAX)
        );
    }
}
