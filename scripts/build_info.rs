//! What the programs say of how they were built, found out by their build scripts.
//!
//! Works without git, too (a source archive): then `SAMOVAR_COMMIT` says which commit it is (`HASH DATE`), or nothing does.
//! Debug builds do not look: each commit would compile the program anew. Not here: how it is printed (`build_info` of each
//! program).

use std::path::Path;
use std::process::Command;

/// Sets `BUILD_COMMIT`, `BUILD_PROFILE`, `BUILD_TARGET`, `BUILD_COMPILER` and `BUILD_LIBRARIES` for the program, the more
/// important libraries of which are `libraries`.
pub fn record(libraries: &[&str]) {
    let root = Path::new("../..");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../scripts/build_info.rs");
    println!("cargo::rerun-if-changed=../../Cargo.lock");
    println!("cargo::rerun-if-env-changed=SAMOVAR_COMMIT");
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    let commit = match var("SAMOVAR_COMMIT") {
        said if !said.trim().is_empty() => described(&said, false),
        _ if var("PROFILE") == "debug" => "not recorded in debug builds".to_owned(),
        _ => of_git(root).unwrap_or_else(|| "unknown (built without git)".to_owned()),
    };
    // target/[TRIPLE/]PROFILE/build/PACKAGE-HASH/out: `PROFILE` itself names only what a profile inherits from.
    let out = var("OUT_DIR");
    let profile = Path::new(&out).ancestors().nth(3).and_then(Path::file_name);
    let profile = profile.map_or(var("PROFILE"), |name| name.to_string_lossy().into_owned());
    let compiler = run(Command::new(var("RUSTC")).arg("--version")).unwrap_or_else(|| "rustc".to_owned());
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
    for (name, value) in [
        ("COMMIT", commit),
        ("PROFILE", profile),
        ("TARGET", var("TARGET")),
        ("COMPILER", compiler),
        ("LIBRARIES", versions(&lock, libraries)),
    ] {
        println!("cargo::rustc-env=BUILD_{name}={}", value.replace(['\n', '\r'], " "));
    }
}

/// The commit that is checked out, if this file is one of its own: an archive may lie within somebody else's repository.
fn of_git(root: &Path) -> Option<String> {
    let git =
        |words: &[&str]| run(Command::new("git").args(["--no-optional-locks", "-C"]).arg(root).args(words));
    git(&["ls-files", "--error-unmatch", "scripts/build_info.rs"])?;
    for place in ["HEAD", "index"] {
        let path = git(&["rev-parse", "--path-format=absolute", "--git-path", place])?;
        println!("cargo::rerun-if-changed={path}");
    }
    // What HEAD names, where it names a branch.
    if let Some(branch) = git(&["symbolic-ref", "-q", "HEAD"])
        && let Some(path) = git(&["rev-parse", "--path-format=absolute", "--git-path", &branch])
        && Path::new(&path).exists()
    {
        println!("cargo::rerun-if-changed={path}");
    }
    println!("cargo::rerun-if-changed={}", root.join("crates").display());
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no", "--", "crates", "Cargo.toml", "Cargo.lock"]);
    let said = git(&["log", "-1", "--format=%H %cs"])?;
    Some(described(&said, changed.is_some_and(|changed| !changed.is_empty())))
}

/// `HASH DATE` in words.
fn described(said: &str, changed: bool) -> String {
    let (hash, date) = said.trim().split_once(' ').unwrap_or((said.trim(), ""));
    let date = if date.is_empty() { String::new() } else { format!(" of {date}") };
    let changed = if changed { ", with changes that are not committed" } else { "" };
    format!("{hash}{date}{changed}")
}

/// Names and versions, as the lock file has them.
fn versions(lock: &str, names: &[&str]) -> String {
    let version_of = |name: &&str| {
        let at = lock.find(&format!("name = \"{name}\"\nversion = \""))?;
        let version = lock.get(at..)?.split('"').nth(3)?;
        Some(format!("{name} {version}"))
    };
    let found: Vec<String> = names.iter().filter_map(version_of).collect();
    if found.is_empty() { "unknown".to_owned() } else { found.join(", ") }
}

/// What a command prints, if it succeeds.
fn run(command: &mut Command) -> Option<String> {
    let out = command.output().ok().filter(|out| out.status.success())?;
    Some(String::from_utf8(out.stdout).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_in_words() {
        assert_eq!(described("abc 2026-11-22\n", false), "abc of 2026-11-22");
        assert_eq!(described("abc", true), "abc, with changes that are not committed");
    }

    #[test]
    fn versions_out_of_the_lock_file() {
        let lock = "[[package]]\nname = \"zstd-sys\"\nversion = \"2.1\"\n\n[[package]]\nname = \"zstd\"\nversion = \"0.14.3\"\n";
        assert_eq!(versions(lock, &["zstd", "none", "zstd-sys"]), "zstd 0.14.3, zstd-sys 2.1");
        assert_eq!(versions("", &["zstd"]), "unknown");
    }

    /// An archive that was unpacked, perhaps within somebody else's repository, is no commit of theirs.
    #[test]
    fn without_git_no_commit_is_made_up() {
        let folder = std::env::temp_dir().join(format!("samovar-archive-{}", std::process::id()));
        let archive = folder.join("archive/scripts");
        std::fs::create_dir_all(&archive).unwrap();
        std::fs::write(archive.join("build_info.rs"), "").unwrap();
        assert_eq!(of_git(&folder.join("archive")), None);
        if run(Command::new("git").arg("-C").arg(&folder).args(["init", "-q"])).is_some() {
            assert_eq!(of_git(&folder.join("archive")), None);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
