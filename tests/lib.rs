//! What the end-to-end tests stand on: the real programs, raw sockets, origins that do as they are told.
//!
//! Nothing here links a crate that is judged: bytes go in and come out, as for anybody else. Also here: where the
//! repository is and which files it holds, for the tests about the house itself.

// Support for tests stops at its first surprise, like a test.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "support for tests: a surprise here is a failed test"
)]

pub mod client;
pub mod file_servers;
pub mod origin;
pub mod php;
pub mod raw;
pub mod real;
pub mod server;
pub mod spellings;
pub mod tiers;

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Every file below `folder` (relative to the root) with this extension, sorted; build output left out.
pub fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&root().join(folder), extension, &mut found);
    found.sort();
    found
}

/// A path as people name it: relative to the root.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn collect(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_folder = entry.file_type().is_ok_and(|t| t.is_dir());
        if is_folder && !name.starts_with('.') && !name.starts_with("target") {
            collect(&path, extension, found);
        } else if !is_folder && path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
}
