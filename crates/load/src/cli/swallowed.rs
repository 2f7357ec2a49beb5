//! Paths of Windows whose backslashes a shell took away: what `.\\samples\\home.ubr` was before it arrived as `.sampleshome.ubr`.
//!
//! Articles of WCAT write their paths so, and a shell of Unix reads a backslash as "the next character as it is". Only a file
//! that is not there is looked at. Not here: backslashes that arrived, in quotes ([`super::wcat`] turns them).

use std::fs;
use std::path::{Path, PathBuf};

/// Entries of folders that are looked at for one path at most.
const ENTRIES_MAX: usize = 20_000;
/// Folders below the first at most.
const DEPTH_MAX: usize = 8;

/// What to do about a path that is not there, where a shell may have taken its backslashes; nothing where it has not.
pub(super) fn hint(word: &str) -> Option<String> {
    if word.contains(['/', '\\']) || Path::new(word).exists() {
        return None;
    }
    if let Some(found) = meant(word) {
        return Some(format!(
            "a shell takes backslashes away: if {} is meant, write it with slashes, or put it in quotes",
            found.display()
        ));
    }
    looks_swallowed(word).then(|| {
        "if it was written with backslashes, the shell took them away: write slashes, or put it in quotes"
            .to_owned()
    })
}

/// `C:wcatscriptshome.ubr`, `.sampleshome.ubr`: a drive or a folder with no slash behind it.
fn looks_swallowed(word: &str) -> bool {
    let drive = word.split_once(':').is_some_and(|(drive, rest)| {
        drive.len() == 1 && drive.starts_with(|c: char| c.is_ascii_alphabetic()) && !rest.is_empty()
    });
    let dots = word.trim_start_matches('.');
    let dot = dots.len() < word.len() && word.len() - dots.len() <= 2 && dots.contains('.');
    drive || dot
}

/// The file whose path, without what stands between its parts, is this word.
fn meant(word: &str) -> Option<PathBuf> {
    let mut left = ENTRIES_MAX;
    let bases = [("..", ".."), (".", "."), ("", ".")];
    bases.into_iter().find_map(|(prefix, base)| {
        let rest = word.strip_prefix(prefix).filter(|rest| !rest.is_empty())?;
        below(Path::new(base), rest, DEPTH_MAX, &mut left)
    })
}

fn below(folder: &Path, rest: &str, depth: usize, left: &mut usize) -> Option<PathBuf> {
    for entry in fs::read_dir(folder).ok()?.flatten() {
        *left = left.checked_sub(1)?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let begins = rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        let Some(more) = rest.get(name.len()..).filter(|_| begins) else { continue };
        let path = folder.join(name);
        let found = match (more.is_empty(), path.is_dir(), depth) {
            (true, false, _) => Some(path),
            (false, true, 1..) => below(&path, more, depth - 1, left),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_as_if_a_shell_had_been_at_it() {
        for word in ["C:wcatscriptshome.ubr", ".sampleshome.ubr", "..home.ubr"] {
            assert!(looks_swallowed(word), "{word}");
        }
        for word in ["home.ubr", ".hidden", "localhost:8080", "...", "c:", "http:", "a.b.c"] {
            assert!(!looks_swallowed(word), "{word}");
        }
    }

    #[test]
    fn a_file_is_found_by_its_parts_alone() {
        let top = std::env::temp_dir().join(format!("thirst-swallowed-{}", std::process::id()));
        fs::create_dir_all(top.join("samples/Scripts")).unwrap();
        fs::create_dir_all(top.join("sam")).unwrap();
        fs::write(top.join("samples/Scripts/home.ubr"), "").unwrap();
        let find = |word: &str| below(&top, word, DEPTH_MAX, &mut ENTRIES_MAX.clone());
        assert_eq!(find("samplesscriptsHOME.ubr"), Some(top.join("samples/Scripts/home.ubr")));
        assert_eq!(find("samplesscriptshome.ubr.txt"), None);
        assert_eq!(find("samplesscripts"), None, "a folder is no file");
        fs::remove_dir_all(&top).unwrap();
    }
}
