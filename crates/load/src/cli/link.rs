//! `thirst link`: WCAT's names as links to this program.
//!
//! Not here: what they do ([`super::wcat`]).

use std::fs;
use std::io::{Write, stdout};
use std::os::unix::fs::symlink;

use super::args::LinkArgs;

/// As articles write them: a folder here tells `Wcat.wsf` from `wcat.wsf`. Where one does not, the second is the first again.
const NAMES: [&str; 5] = ["wcctl", "wcclient", "wcclient.exe", "wcat.wsf", "Wcat.wsf"];

pub(super) fn link(args: &LinkArgs) -> Result<(), String> {
    let shown = args.dir.display();
    let program =
        std::env::current_exe().map_err(|error| format!("cannot tell where this program is: {error}"))?;
    fs::create_dir_all(&args.dir).map_err(|error| format!("cannot make `{shown}`: {error}"))?;
    for name in NAMES {
        let path = args.dir.join(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => {
                fs::remove_file(&path)
                    .map_err(|error| format!("cannot replace `{}`: {error}", path.display()))?;
            }
            Ok(_) => return Err(format!("`{}` is there and no link; it is left alone", path.display())),
            Err(_) => {}
        }
        symlink(&program, &path).map_err(|error| format!("cannot make `{}`: {error}", path.display()))?;
        // Nobody to tell if stdout is gone.
        let _ = writeln!(stdout(), "{} -> {}", path.display(), program.display());
    }
    Ok(())
}
