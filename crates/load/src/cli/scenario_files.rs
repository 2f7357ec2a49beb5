//! Files of scenarios, read and written for the commands that do so.
//!
//! What is there already is not replaced unless that was said. Not here: what the files say.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write, stderr, stdout};
use std::path::{Path, PathBuf};

use crate::wcat::{Gathered, Source, gather};

/// Reads files and puts them together; what is understood though it was not meant to be is said on stderr.
pub(super) fn read(files: &[PathBuf]) -> Result<Gathered, String> {
    let read = |path: &PathBuf| {
        let bytes = super::files::read(path)?;
        Ok(Source::decode(&path.display().to_string(), &bytes))
    };
    let sources: Vec<Source> = files.iter().map(read).collect::<Result<_, String>>()?;
    let gathered = gather(&sources)?;
    for warning in &gathered.warnings {
        // Nobody to tell if stderr is gone.
        let _ = write!(stderr(), "{warning}");
    }
    Ok(gathered)
}

/// Writes to stdout.
pub(super) fn print(text: &str) -> Result<(), String> {
    match stdout().write_all(text.as_bytes()).and_then(|()| stdout().flush()) {
        // A reader that went away (`| head`) is no error of ours.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(format!("cannot write: {error}")),
        _ => Ok(()),
    }
}

/// Writes files, all or, where one is there already, none.
pub(super) fn write(files: &[(PathBuf, String)], force: bool) -> Result<(), String> {
    let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
    if let Some((path, _)) = files.iter().find(|(path, _)| !force && is_there(path)) {
        return Err(there(path));
    }
    for (path, text) in files {
        // Another may have come meanwhile.
        let mut options = OpenOptions::new();
        let options = if force { options.create(true).truncate(true) } else { options.create_new(true) };
        let written = options.write(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => there(path),
            _ => format!("cannot write `{}`: {error}", path.display()),
        })?;
    }
    Ok(())
}

fn there(path: &Path) -> String {
    format!("`{}` is there already; name another file, or give --force to replace it", path.display())
}
