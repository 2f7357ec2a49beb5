//! Nothing lies about: the root holds what is listed here, no file is a note from one person to another, and every page is
//! linked from another.
//!
//! What git ignores is not looked at. Not here: whether links lead somewhere (`links`).

use samovar_tests::{files, root, shown};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// All that the root of the tree holds, build output left out.
const ROOT: [&str; 22] = [
    ".ci",
    ".gitattributes",
    ".github",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "Makefile",
    "README.md",
    "bench",
    "clippy.toml",
    "crates",
    "docs",
    "examples",
    "fuzz",
    "rustfmt.toml",
    "scripts",
    "tests",
];

/// Prose outside the root, docs/ and the results of measurements stands only in a README beside what it is about.
fn is_in_place(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let in_root = !path.contains('/') && ROOT.contains(&path);
    in_root || path.starts_with("docs/") || path.starts_with("bench/runs/") || name == "README.md"
}

/// Names of what editors, merges and people leave behind.
fn is_left_behind(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let words: Vec<&str> = stem.split(['-', '_', ' ']).collect();
    let ends = [".orig", ".rej", ".bak", ".swp", ".tmp", ".log", "~", ".patch", ".diff"];
    let is_prose = name.ends_with(".md") || name.ends_with(".txt") || !name.contains('.');
    let for_somebody = ["note", "notes", "todo", "todos", "scratch", "draft", "owner", "wip", "handover"];
    ends.iter().any(|end| name.ends_with(end))
        || name == ".DS_Store"
        || (is_prose && words.iter().any(|word| for_somebody.contains(word)))
}

/// The files of the tree: those that git knows; in an archive, all of the root's.
fn tracked() -> Vec<String> {
    let git = Command::new("git").arg("-C").arg(root()).args(["ls-files", "-z"]).output();
    let listed = git.ok().filter(|out| out.status.success()).map(|out| out.stdout).unwrap_or_default();
    let listed: Vec<String> =
        String::from_utf8(listed).unwrap().split('\0').filter(|p| !p.is_empty()).map(String::from).collect();
    // Deleted and not yet committed is gone.
    let there: Vec<String> = listed.into_iter().filter(|path| root().join(path).exists()).collect();
    if there.iter().any(|path| path == "Cargo.toml") {
        return there;
    }
    let entries = fs::read_dir(root()).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut all: Vec<String> = names.filter(|name| !name.starts_with("target") && name != ".git").collect();
    all.extend(["md", "txt"].iter().flat_map(|end| files("", end)).map(|path| shown(&path)));
    all
}

#[test]
fn nothing_lies_about() {
    let tracked = tracked();
    assert!(tracked.len() > 20, "{tracked:?}");
    let tops: BTreeSet<&str> = tracked.iter().filter_map(|path| path.split('/').next()).collect();
    let strangers: Vec<&str> = tops.into_iter().filter(|name| !ROOT.contains(name)).collect();
    assert!(
        strangers.is_empty(),
        "not of the root (or to be listed in tests/house/strays.rs): {strangers:?}"
    );
    let left: Vec<&String> = tracked
        .iter()
        .filter(|path| is_left_behind(path) || (path.ends_with(".md") && !is_in_place(path)))
        .collect();
    assert!(left.is_empty(), "notes and leftovers do not stay in the tree: {left:?}");
}

#[test]
fn what_lies_about_is_told_from_what_belongs() {
    for path in [
        "ALSO-FROM-THE-OWNER.md",
        "docs/notes-on-import.md",
        "crates/hot/TODO",
        "x/y.rs.orig",
        "crates/hot/src/map.rs~",
        "docs/run.log",
    ] {
        assert!(is_left_behind(path), "{path}");
    }
    for path in
        ["crates/import/src/note.rs", "docs/caching.md", "LICENSE-MIT", "tests/conformance/reasons.txt"]
    {
        assert!(!is_left_behind(path), "{path}");
    }
    assert!(is_in_place("examples/gallery/README.md") && is_in_place("README.md"));
    assert!(!is_in_place("IDEAS.md") && !is_in_place("crates/hot/design.md"));
}

/// A page that nothing leads to is found by nobody, or is nobody's business.
#[test]
fn every_page_is_linked() {
    let pages = files("", "md");
    let texts: Vec<(String, String)> =
        pages.iter().map(|path| (shown(path), fs::read_to_string(path).unwrap())).collect();
    // A folder of pages may be linked as a whole.
    let whole = ["docs/decisions/"];
    let orphans: Vec<&String> = texts
        .iter()
        .map(|(path, _)| path)
        .filter(|path| path.starts_with("docs/") && !whole.iter().any(|folder| path.starts_with(folder)))
        .filter(|path| {
            let name = path.rsplit('/').next().unwrap_or_default();
            !texts.iter().any(|(other, text)| other != *path && text.contains(name))
        })
        .collect();
    assert!(orphans.is_empty(), "no page links to {orphans:?}");
}

/// What docs/mutants.md says of a fault is of a function that is in that file.
#[test]
fn faults_are_listed_where_they_are() {
    let text = fs::read_to_string(root().join("docs/mutants.md")).unwrap();
    let mut seen = 0;
    for entry in text.split('`').skip(1).step_by(2).filter(|code| code.starts_with("crates/")) {
        let (file, what) = entry.split_once(": replace ").unwrap_or_else(|| panic!("{entry}"));
        let source = fs::read_to_string(root().join(file)).unwrap_or_else(|e| panic!("{entry}: {e}"));
        // `… in Type::function`, or `Type::function -> Type with …`.
        let named = what
            .rsplit_once(" in ")
            .map(|(_, name)| name)
            .or(what.split(" -> ").next().filter(|_| what.contains(" -> ")));
        let function = named.and_then(|name| name.rsplit("::").next()).map(str::trim);
        if let Some(function) = function {
            assert!(source.contains(&format!("fn {function}")), "{file} has no {function}: {entry}");
        }
        seen += 1;
    }
    assert!(seen > 5, "only {seen} faults found");
}
