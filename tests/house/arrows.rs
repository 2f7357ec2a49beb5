//! The table "Allowed arrows" in ARCHITECTURE.md says what the manifests say, both ways.
//!
//! A room that wants to use another must first be given the arrow there, where everybody sees it.

use crate::manifests::manifests;
use samovar_tests::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// One row: a package and what it may use.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) package: String,
    /// `pure`, `shell`, `mixed`, `leaf`, `tests`.
    pub(crate) floor: String,
    pub(crate) may_use: BTreeSet<String>,
}

/// The rows of the table, top to bottom.
pub(crate) fn allowed() -> Vec<Row> {
    rows(&fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap())
}

/// Packages that must stay free of clocks, sockets, files, threads.
pub(crate) fn pure() -> Vec<String> {
    let rows = allowed().into_iter();
    rows.filter(|r| matches!(r.floor.as_str(), "pure" | "leaf")).map(|r| r.package).collect()
}

fn rows(text: &str) -> Vec<Row> {
    let section = text.lines().skip_while(|l| *l != "## Allowed arrows").skip(1);
    let table = section.take_while(|l| !l.starts_with("## ")).filter(|l| l.starts_with("| `"));
    table
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(String::from).collect::<Vec<_>>();
            let package = names(cells[1]).into_iter().next().unwrap();
            Row { package, floor: cells[2].to_string(), may_use: names(cells[3]).into_iter().collect() }
        })
        .collect()
}

#[test]
fn the_table_is_read_as_written() {
    let text = "## Allowed arrows\n\n| package | floor | may use |\n|---|---|---|\n| `a` | pure | – |\n\
                | `b` | shell | `a`, `c` |\n\n## Next\n| `d` | pure | – |\n";
    let names = |list: &[&str]| list.iter().map(|s| s.to_string()).collect();
    let wanted = [
        Row { package: "a".into(), floor: "pure".into(), may_use: names(&[]) },
        Row { package: "b".into(), floor: "shell".into(), may_use: names(&["a", "c"]) },
    ];
    assert_eq!(rows(text), wanted);
}

#[test]
fn the_table_and_the_manifests_agree() {
    let manifests = manifests();
    let ours: BTreeSet<&String> = manifests.keys().collect();
    let allowed: BTreeMap<String, Row> = allowed().into_iter().map(|r| (r.package.clone(), r)).collect();
    assert_eq!(
        allowed.keys().collect::<BTreeSet<_>>(),
        ours,
        "packages in the table (left) and on disk (right)"
    );

    let mut trouble = Vec::new();
    for (name, manifest) in &manifests {
        let may_use = &allowed[name].may_use;
        for used in manifest.uses.iter().chain(&manifest.tests_use).filter(|u| ours.contains(u)) {
            if used != name && !may_use.contains(used) {
                trouble.push(format!(
                    "{name} uses {used}: remove it from {}/Cargo.toml, or add the arrow",
                    manifest.folder
                ));
            }
        }
        for unused in may_use.iter().filter(|u| !manifest.uses.contains(*u)) {
            trouble
                .push(format!("{name} may use {unused} and does not: remove the arrow from ARCHITECTURE.md"));
        }
    }
    assert!(trouble.is_empty(), "\n{}", trouble.join("\n"));
}

#[test]
fn arrows_point_up_the_table() {
    let mut above = BTreeSet::new();
    for row in allowed() {
        for used in &row.may_use {
            assert!(
                above.contains(used),
                "{} uses {used}, which must stand above it in the table",
                row.package
            );
        }
        above.insert(row.package);
    }
}

#[test]
fn a_pure_room_rests_on_pure_rooms_and_on_no_runtime() {
    let pure: BTreeSet<String> = pure().into_iter().collect();
    assert!(pure.len() >= 5, "{pure:?}");
    let shells =
        ["tokio", "hyper", "hyper-util", "rustix", "socket2", "mio", "notify", "log", "tracing", "rand"];
    let manifests = manifests();
    for name in &pure {
        for used in &manifests[name].uses {
            assert!(
                !manifests.contains_key(used) || pure.contains(used),
                "{name} is pure and uses {used}, which is not"
            );
            assert!(!shells.contains(&used.as_str()), "{name} is pure and uses {used}");
        }
    }
}

#[test]
fn the_load_tester_and_the_server_share_nothing() {
    // An instrument must not share code with what it measures (design: thirst ← none).
    let rows = allowed();
    assert!(rows.iter().find(|r| r.package == "thirst").unwrap().may_use.is_empty());
    assert!(rows.iter().all(|r| !r.may_use.contains("thirst")));
}
