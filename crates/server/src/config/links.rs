//! Symbolic links among the files that lead out of their folder: `samovar check` names them, since nobody is served by them.
//!
//! The walk is bounded and opens nothing but folders, so that no tree and no FIFO holds it up. Not here: how links are
//! followed (`samovar_origin::Files`).

use super::diag::{Code, Diagnostic};
use super::lower::Named;
use std::path::{Path, PathBuf};

/// So many entries are looked at, of all folders together.
const ENTRIES_MAX: usize = 20_000;

/// So many links are named.
const SHOWN_MAX: usize = 3;

/// A warning for each folder in which links lead out of it.
pub(super) fn leading_out(folders: &[Named]) -> Vec<Diagnostic> {
    let mut left = ENTRIES_MAX;
    folders.iter().filter_map(|named| warning(named, &links_of(&named.path, &mut left))).collect()
}

fn warning(named: &Named, links: &[(PathBuf, PathBuf)]) -> Option<Diagnostic> {
    let shown = links.iter().take(SHOWN_MAX);
    let mut shown: Vec<String> =
        shown.map(|(link, to)| format!("{} leads to {}", link.display(), to.display())).collect();
    let more = links.len().checked_sub(SHOWN_MAX + 1).map(|more| format!("and {} more", more + 1));
    shown.extend(more);
    let message = match links {
        [] => return None,
        [_] => format!("a link in the folder leads out of it: {}", shown.join("; ")),
        _ => format!("links in the folder lead out of it: {}", shown.join("; ")),
    };
    let hint =
        "requests for them get an error page; move what they lead to into the folder, or mount it there";
    Some(Diagnostic::warning(Code::Unmet, named.span.clone(), message).hint(hint))
}

/// The links below a folder that lead out of it, and where to. Names that are never served are passed over.
fn links_of(root: &Path, left: &mut usize) -> Vec<(PathBuf, PathBuf)> {
    let Ok(base) = root.canonicalize() else { return Vec::new() };
    let (mut found, mut folders) = (Vec::new(), vec![base.clone()]);
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            if *left == 0 {
                return found;
            }
            *left -= 1;
            let Ok(kind) = entry.file_type() else { continue };
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_symlink()
                && let Ok(real) = entry.path().canonicalize()
                && !real.starts_with(&base)
            {
                found.push((entry.path(), real));
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_that_lead_out_are_named_and_others_are_not() {
        let base = std::env::temp_dir().join(format!("samovar-links-{}", std::process::id()));
        let root = base.join("www");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::write(base.join("outside"), "x").unwrap();
        std::fs::write(root.join("inside"), "x").unwrap();
        symlink("../inside", root.join("a/in")).unwrap();
        symlink("../nothing", root.join("a/dangling")).unwrap();
        symlink(".", root.join("a/circle")).unwrap();
        symlink("../outside", root.join(".git/hidden")).unwrap();
        let links = |left: &mut usize| links_of(&root, left);
        assert_eq!(links(&mut 100), Vec::new());
        symlink("../../../outside", root.join("a/b/out")).unwrap();
        symlink(&base, root.join("up")).unwrap();
        let found = links(&mut 100);
        let names: Vec<_> = found.iter().map(|(link, _)| link.file_name().unwrap().to_owned()).collect();
        assert_eq!(names, ["out", "up"]);
        assert!(links(&mut 1).len() <= 1, "the walk is bounded");
        let named = Named { path: root.clone(), span: 0..1, key: "files" };
        let warning = leading_out(&[named]).remove(0);
        assert!(
            warning.message.contains("out leads to") && warning.message.contains("outside"),
            "{warning:?}"
        );
        std::fs::remove_dir_all(&base).unwrap();
    }
}
