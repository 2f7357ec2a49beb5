//! How much memory the cache may use: a share of the machine's, or of the control group's limit if that is less.
//!
//! `budget` decides from numbers; `look` reads `/proc` and `/sys`. A container's limit counts because beyond it
//! the kernel ends the process.

use super::settings::Budget;
use super::units;
use std::path::PathBuf;

/// What there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The machine's, bytes.
    pub machine_bytes: Option<u64>,
    /// The control group's limit, bytes.
    pub group_bytes: Option<u64>,
}

/// Where nothing could be found out.
const GUESS_BYTES: u64 = 256 << 20;
/// Below this a cache is of no use.
const LEAST_BYTES: u64 = 16 << 20;

/// The budget for a share of the memory.
pub fn budget(percent: u8, memory: Memory) -> (u64, Budget) {
    // A limit of or above the machine's memory (version 1 writes "none" as a huge number) is no limit.
    let machine = memory.machine_bytes.unwrap_or(u64::MAX);
    let (of_bytes, from): (u64, fn(u8, u64) -> Budget) = match (memory.group_bytes, memory.machine_bytes) {
        (Some(group), _) if group < machine && group < 1 << 60 => {
            (group, |percent, of_bytes| Budget::ControlGroup { percent, of_bytes })
        }
        (_, Some(machine)) => (machine, |percent, of_bytes| Budget::Machine { percent, of_bytes }),
        _ => return (GUESS_BYTES, Budget::Guessed),
    };
    let share = u128::from(of_bytes) * u128::from(percent) / 100;
    (u64::try_from(share).unwrap_or(u64::MAX).max(LEAST_BYTES), from(percent, of_bytes))
}

/// A size, or a share of what there is: what `--memory` is given.
///
/// # Errors
/// What it is not.
pub fn memory_bytes(text: &str) -> Result<u64, String> {
    match units::percent(text) {
        Ok(percent) => Ok(budget(percent, look()).0),
        Err(_) => units::size_bytes(text),
    }
}

/// The machine's memory, bytes, if it can be found out.
pub fn machine_bytes() -> Option<u64> {
    look().machine_bytes
}

/// What the system says of itself is shorter, bytes.
const FILE_MAX_BYTES: u64 = 1 << 20;

/// Reads what there is.
pub(crate) fn look() -> Memory {
    let read = |path: PathBuf| {
        let bytes = crate::operator_files::read(&path, FILE_MAX_BYTES).ok()?;
        String::from_utf8(bytes).ok()
    };
    let group = read("/proc/self/cgroup".into()).unwrap_or_default();
    Memory {
        machine_bytes: read("/proc/meminfo".into()).and_then(|t| machine_of(&t)),
        group_bytes: limit_files(&group).into_iter().filter_map(read).filter_map(|t| limit_of(&t)).min(),
    }
}

/// `MemTotal:  8025604 kB`.
fn machine_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The files that may hold a limit of ours, in both versions: the group's own and all above it. In a container the
/// group's path may not be mounted; then its root is ours.
fn limit_files(cgroup: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in cgroup.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let (base, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            c if c.split(',').any(|c| c == "memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        let mut folder = PathBuf::from(base);
        files.push(folder.join(file));
        for part in path.split('/').filter(|p| !p.is_empty() && *p != "..") {
            folder.push(part);
            files.push(folder.join(file));
        }
    }
    files
}

/// `max`, or a number of bytes.
fn limit_of(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn the_smaller_of_machine_and_group_counts() {
        let rows = [
            (Some(8 * GIB), None, 2 * GIB, Budget::Machine { percent: 25, of_bytes: 8 * GIB }),
            (Some(8 * GIB), Some(4 * GIB), GIB, Budget::ControlGroup { percent: 25, of_bytes: 4 * GIB }),
            (Some(8 * GIB), Some(16 * GIB), 2 * GIB, Budget::Machine { percent: 25, of_bytes: 8 * GIB }),
            (
                Some(8 * GIB),
                Some(0x7fff_ffff_ffff_f000),
                2 * GIB,
                Budget::Machine { percent: 25, of_bytes: 8 * GIB },
            ),
            (None, Some(4 * GIB), GIB, Budget::ControlGroup { percent: 25, of_bytes: 4 * GIB }),
            (None, Some(0x7fff_ffff_ffff_f000), GUESS_BYTES, Budget::Guessed),
            (None, None, GUESS_BYTES, Budget::Guessed),
            (Some(1 << 20), None, LEAST_BYTES, Budget::Machine { percent: 25, of_bytes: 1 << 20 }),
        ];
        for (machine_bytes, group_bytes, bytes, from) in rows {
            assert_eq!(budget(25, Memory { machine_bytes, group_bytes }), (bytes, from));
        }
        assert_eq!(budget(100, Memory { machine_bytes: Some(u64::MAX), group_bytes: None }).0, u64::MAX);
    }

    #[test]
    fn meminfo_is_read() {
        assert_eq!(machine_of("MemTotal:        8025604 kB\nMemFree: 1 kB\n"), Some(8_025_604 * 1024));
        assert_eq!(machine_of("MemTotal: lots\n"), None);
        assert_eq!(machine_of(""), None);
    }

    #[test]
    fn both_versions_of_control_groups_are_searched_upwards() {
        let shown = |t: &str| limit_files(t).iter().map(|p| p.display().to_string()).collect::<Vec<_>>();
        assert_eq!(
            shown("0::/system.slice/samovar.service\n"),
            [
                "/sys/fs/cgroup/memory.max",
                "/sys/fs/cgroup/system.slice/memory.max",
                "/sys/fs/cgroup/system.slice/samovar.service/memory.max"
            ]
        );
        assert_eq!(
            shown("5:cpu:/x\n4:memory:/docker/1\n"),
            [
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes"
            ]
        );
        assert_eq!(shown("0::/../../x\n"), ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/x/memory.max"]);
        assert!(shown("nonsense").is_empty());
    }

    #[test]
    fn limits() {
        assert_eq!(limit_of("max\n"), None);
        assert_eq!(limit_of("4294967296\n"), Some(4 * GIB));
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(look().machine_bytes.is_some_and(|b| b > 1 << 20));
    }
}
