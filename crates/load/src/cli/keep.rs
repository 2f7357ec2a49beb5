//! Keeping what it takes to make a run again: its words, its files, and on what it ran.
//!
//! Not here: what is kept, and what is kept out ([`crate::report::bundle`]); making it again ([`super::rerun`]).

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use crate::report::bundle::{self, Bundle, FILES_MAX_BYTES, Host};

/// What it takes to make the run of this command line again.
pub(super) fn bundle(files: &[PathBuf]) -> Bundle {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let mut kept = Bundle { words: bundle::without_secrets(&words), host: host(), ..Bundle::default() };
    let mut left = FILES_MAX_BYTES;
    for path in files {
        let name = path.display().to_string();
        // It was read a moment ago; if it is gone by now, the run cannot be made again without it.
        let mut bytes = Vec::new();
        let read = fs::File::open(path).and_then(|file| file.take(left as u64 + 1).read_to_end(&mut bytes));
        match read {
            Ok(_) if bytes.len() <= left => {
                left -= bytes.len();
                kept.files.insert(name, bundle::to_text(&bytes));
            }
            _ => kept.too_large.push(name),
        }
    }
    kept
}

/// On what we run.
pub(super) fn host() -> Host {
    let names = rustix::system::uname();
    let line = |path: &str, key: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let found = text
            .lines()
            .find_map(|line| Some(line.strip_prefix(key)?.trim_start_matches([' ', '\t', ':']).to_owned()));
        found.unwrap_or_default()
    };
    let memory_kib: u64 =
        line("/proc/meminfo", "MemTotal").split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    Host {
        name: names.nodename().to_string_lossy().into_owned(),
        system: format!("{} {}", names.sysname().to_string_lossy(), names.release().to_string_lossy()),
        processor: line("/proc/cpuinfo", "model name"),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
        memory_bytes: memory_kib * 1024,
    }
}
