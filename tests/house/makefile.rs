//! The Makefile, the scripts and the pages that mention them agree.

use samovar_tests::{files, root, shown};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// Targets with their one-line help: `name: ## what`.
fn targets() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("Makefile")).unwrap();
    let lines = text.lines().filter(|l| l.contains(": ##") || l.contains(" ## "));
    lines
        .filter_map(|l| l.split(':').next())
        .filter(|n| !n.contains([' ', '\t', '@']))
        .map(String::from)
        .collect()
}

#[test]
fn the_promised_targets_are_there() {
    let targets = targets();
    for name in ["help", "demo", "test", "test-all", "lint", "bench", "fuzz", "clean"] {
        assert!(targets.contains(name), "{name} is not among {targets:?}");
    }
}

#[test]
fn help_lists_every_target() {
    let output =
        Command::new("make").args(["-s", "--no-print-directory", "help"]).current_dir(root()).output();
    // Without make nobody reads its help.
    let Ok(output) = output else { return };
    let shown = String::from_utf8_lossy(&output.stdout);
    for name in targets() {
        assert!(shown.contains(&format!("make {name}")), "`make help` does not mention {name}:\n{shown}");
    }
}

#[test]
fn pages_name_only_targets_that_exist() {
    let targets = targets();
    for page in files("", "md") {
        let text = fs::read_to_string(&page).unwrap();
        for mention in text.split("`make ").skip(1).filter_map(|t| t.split('`').next()) {
            let name = mention.split_whitespace().next().unwrap_or("");
            assert!(
                targets.contains(name),
                "{} mentions `make {mention}`, which the Makefile lacks",
                shown(&page)
            );
        }
    }
}

#[test]
fn scripts_parse() {
    let mut scripts = files("scripts", "sh");
    scripts.push(root().join(".ci/run"));
    assert!(scripts.len() > 2, "{scripts:?}");
    for script in scripts {
        let output = Command::new("bash").arg("-n").arg(&script).output().unwrap();
        assert!(output.status.success(), "{}: {}", shown(&script), String::from_utf8_lossy(&output.stderr));
    }
}
