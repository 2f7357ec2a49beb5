//! The smuggling grid: requests that two servers may read differently, through Samovar, to real origins.
//!
//! Whatever is sent, every other client gets the response to its own request, nothing wrong is stored, and what left
//! Samovar can be read in one way only. A short grid runs with every test; `make grid` runs all of it and writes
//! `docs/smuggling-grid.md`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod grid;
mod origins;
mod payloads;
mod relay;
mod strict;

use grid::Outcome;
use samovar_tests::root;
use std::fmt::Write as _;
use std::process::Command;

/// A row: the origin, its version, what came of it.
type Row = (&'static str, String, Outcome);

fn play(names: &[&'static str], short: bool, python: &str) -> Vec<Row> {
    let payloads = payloads::payloads(short);
    std::thread::scope(|scope| {
        let payloads = &payloads;
        let each = names.iter().map(|name| {
            scope.spawn(move || {
                let origin = origins::start(name, python);
                (*name, origin.version.clone(), grid::play(&origin, payloads))
            })
        });
        let all: Vec<_> = each.collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

fn judge(rows: &[Row]) {
    let mut found = String::new();
    for (name, _, outcome) in rows {
        for (what, list) in [("wrong", &outcome.wrong), ("odd", &outcome.odd)] {
            for one in list.iter().take(10) {
                let _ = writeln!(found, "{name}: {what}: {one}");
            }
            if list.len() > 10 {
                let _ = writeln!(found, "{name}: {what}: and {} more", list.len() - 10);
            }
        }
        // A grid of which nothing reaches the origin would prove nothing.
        assert!(
            outcome.left > outcome.others / 2 && outcome.refused < outcome.payloads,
            "{name}: {outcome:?}"
        );
    }
    assert!(found.is_empty(), "{found}");
}

#[test]
fn nobody_gets_anothers_response_whatever_is_sent() {
    judge(&play(&origins::PLAIN, true, "python3"));
}

/// All payloads and all origins; minutes. `make grid` brings the Python packages.
#[test]
#[ignore = "minutes, and needs packages that `make grid` brings"]
fn the_whole_grid() {
    let python = std::env::var("SAMOVAR_GRID_PYTHON");
    let python =
        python.expect("SAMOVAR_GRID_PYTHON is the interpreter that has the servers: run `make grid`");
    let rows = play(&origins::ALL, false, &python);
    let table = table(&rows);
    println!("{table}");
    judge(&rows);
    if std::env::var_os("SAMOVAR_WRITE_DOCS").is_some() {
        let path = root().join("docs/smuggling-grid.md");
        let text = std::fs::read_to_string(&path).unwrap();
        let (before, _) = text.split_once("<!-- table -->\n").expect("the page has a place for the table");
        std::fs::write(&path, format!("{before}<!-- table -->\n{table}")).unwrap();
    }
}

fn table(rows: &[Row]) -> String {
    let said = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).current_dir(root()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let mut out = format!(
        "\nRun on {}, commit {}, a {} build:\n\n| origin | version | payloads | refused here | connections | requests that left | \
         requests of others | wrong | read in two ways |\n|---|---|--:|--:|--:|--:|--:|--:|--:|\n",
        said("date", &["-u", "+%F"]),
        said("git", &["rev-parse", "--short", "HEAD"]),
        if cfg!(debug_assertions) { "debug" } else { "release" },
    );
    for (name, version, o) in rows {
        let (wrong, odd) = (o.wrong.len(), o.odd.len());
        let _ = writeln!(
            out,
            "| {name} | {version} | {} | {} | {} | {} | {} | {wrong} | {odd} |",
            o.payloads, o.refused, o.connections, o.left, o.others
        );
    }
    out
}
