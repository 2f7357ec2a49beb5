//! Every source file opens by saying what it is, and none outgrows its reader.

use samovar_tests::{files, root, shown};
use std::fs;

/// No file is longer; the custom is about 500.
const LINES_MAX: usize = 800;

#[test]
fn every_source_file_opens_with_what_it_is() {
    let sources = files("", "rs");
    assert!(sources.len() > 30, "only {} files found", sources.len());
    let mut trouble = Vec::new();
    for path in sources {
        let text = fs::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap_or("");
        if first.strip_prefix("//!").is_none_or(|words| words.trim().len() <= 10) {
            trouble.push(format!(
                "{} opens with {first:?}: begin with `//! What this is, why, what is not here`",
                shown(&path)
            ));
        }
    }
    assert!(trouble.is_empty(), "\n{}", trouble.join("\n"));
}

#[test]
fn no_source_file_is_longer_than_anyone_reads() {
    let mut trouble = Vec::new();
    for path in files("", "rs") {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        if lines > LINES_MAX {
            trouble
                .push(format!("{} has {lines} lines, more than {LINES_MAX}: split the room", shown(&path)));
        }
    }
    assert!(trouble.is_empty(), "\n{}", trouble.join("\n"));
}

#[test]
fn every_package_obeys_the_lints_of_the_workspace() {
    for path in files("", "toml").into_iter().filter(|p| p.ends_with("Cargo.toml")) {
        let table: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        if table.contains_key("package") && !shown(&path).starts_with("fuzz") {
            let inherits = table.get("lints").and_then(|l| l.get("workspace")).and_then(|w| w.as_bool());
            assert_eq!(inherits, Some(true), "{} needs [lints] workspace = true", shown(&path));
        }
    }
}

#[test]
fn both_licences_are_here() {
    for (name, words) in
        [("LICENSE-MIT", "Permission is hereby granted"), ("LICENSE-APACHE", "Version 2.0, January 2004")]
    {
        assert!(fs::read_to_string(root().join(name)).unwrap().contains(words), "{name}");
    }
}
