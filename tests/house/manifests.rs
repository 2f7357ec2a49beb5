//! The Cargo manifests as data: which package uses which.
//!
//! Not here: what is allowed (`arrows` reads that from ARCHITECTURE.md).

use samovar_tests::{files, shown};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// What one manifest says.
pub(crate) struct Manifest {
    /// The folder it lies in, relative to the root.
    pub(crate) folder: String,
    /// Names of packages it is built from.
    pub(crate) uses: BTreeSet<String>,
    /// Names of packages only its tests are built from.
    pub(crate) tests_use: BTreeSet<String>,
}

/// Every package of the workspace by name. `fuzz` is a workspace of its own and left out.
pub(crate) fn manifests() -> BTreeMap<String, Manifest> {
    let mut found = BTreeMap::new();
    for path in files("", "toml").into_iter().filter(|p| p.ends_with("Cargo.toml")) {
        let text = fs::read_to_string(&path).unwrap();
        let table: toml::Table = text.parse().unwrap_or_else(|e| panic!("{}: {e}", shown(&path)));
        let folder = shown(path.parent().unwrap());
        let Some(name) = table.get("package").and_then(|p| p.get("name")).and_then(|n| n.as_str()) else {
            continue;
        };
        if folder.starts_with("fuzz") {
            continue;
        }
        let mut uses = names(&table, "dependencies");
        uses.extend(names(&table, "build-dependencies"));
        for target in table.get("target").and_then(|t| t.as_table()).into_iter().flat_map(|t| t.values()) {
            uses.extend(target.as_table().map(|t| names(t, "dependencies")).unwrap_or_default());
        }
        let tests_use = names(&table, "dev-dependencies");
        found.insert(name.to_string(), Manifest { folder, uses, tests_use });
    }
    found
}

/// Package names in one dependency section; `x = { package = "y" }` is y.
fn names(table: &toml::Table, section: &str) -> BTreeSet<String> {
    let entries = table.get(section).and_then(|s| s.as_table()).into_iter().flatten();
    entries
        .map(|(key, value)| value.get("package").and_then(|p| p.as_str()).unwrap_or(key).to_string())
        .collect()
}

#[test]
fn the_workspace_was_found() {
    let all = manifests();
    for name in ["samovar-reason", "samovar", "thirst", "samovar-tests", "copyright-images"] {
        assert!(all.contains_key(name), "{name} is missing from {:?}", all.keys());
    }
    assert!(all["samovar-policy"].uses.contains("samovar-reason"));
}
