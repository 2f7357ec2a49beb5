//! The process table, from /proc/PID/stat.
//!
//! Not here: which processes matter.

use std::fs;

use rustix::param::{clock_ticks_per_second, page_size};

/// One process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// Its short name.
    pub name: String,
    /// CPU of all its threads and of its children that have ended, in microseconds.
    pub cpu_us: u64,
    /// Resident memory, in bytes.
    pub rss_bytes: u64,
}

/// All processes we may see.
pub fn table() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()))
        .filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).ok())
        .filter_map(|text| parse(&text, clock_ticks_per_second(), page_size() as u64))
        .collect()
}

/// Reads a line of proc_pid_stat(5). The name is in parentheses and may hold anything, parentheses too.
fn parse(text: &str, ticks_per_s: u64, page_bytes: u64) -> Option<Process> {
    let (pid, rest) = text.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // Field 3 of the manual (state) is the first here.
    let number = |field: usize| fields.get(field - 3).and_then(|text| text.parse::<u64>().ok());
    let ticks = number(14)? + number(15)? + number(16)? + number(17)?;
    Some(Process {
        pid: pid.parse().ok()?,
        parent: u32::try_from(number(4)?).ok()?,
        name: name.to_owned(),
        cpu_us: ticks.saturating_mul(1_000_000) / ticks_per_s.max(1),
        rss_bytes: number(24).unwrap_or(0).saturating_mul(page_bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_nasty_name() {
        let line = "42 (a) b (c) S 7 42 42 0 -1 4194304 1 2 3 4 150 50 25 75 20 0 8 0 100 1000 256 18446744073709551615 1";
        let process = parse(line, 100, 4096).unwrap();
        assert_eq!(
            process,
            Process { pid: 42, parent: 7, name: "a) b (c".into(), cpu_us: 3_000_000, rss_bytes: 256 * 4096 }
        );
        for broken in ["", "42", "42 (a", "42 (a) S", "x (a) S 7 1 1 0 0 0 0 0 0 0 1 1 1 1"] {
            assert_eq!(parse(broken, 100, 4096), None, "{broken}");
        }
    }

    #[test]
    fn we_are_in_the_table() {
        assert!(table().iter().any(|process| process.pid == std::process::id()));
    }
}
