//! What the pages say is there is there: every code of the verdict, every flag of a run, every exit code has its line.
//!
//! Not here: whether the commands on the pages work (people follow them), and the schema ([`schema.rs`]).

#![allow(clippy::unwrap_used, reason = "a test may stop at its first surprise")]

mod common;

use common::output;
use thirst::tally::Failure;
use thirst::verdict::Code;

fn page(name: &str) -> String {
    let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// The rows of tables whose first cell names something in backticks, and these names.
fn named(page: &str) -> Vec<String> {
    let first_cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    first_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn every_code_of_the_verdict_is_explained() {
    let named = named(&page("thirst.md"));
    let missing: Vec<&str> =
        Code::ALL.iter().map(|code| code.code()).filter(|c| !named.iter().any(|n| n == c)).collect();
    assert!(Code::ALL.len() > 20 && missing.is_empty(), "{missing:?}");
}

#[test]
fn every_kind_of_failure_is_named() {
    let page = page("thirst.md");
    let missing: Vec<&str> = Failure::ALL
        .into_iter()
        .map(|f| f.code())
        .filter(|code| !page.contains(&format!("`{code}`")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_summary_that_is_shown_is_the_one_that_is_drawn() {
    let stored = format!("{}/../../docs/img/gain/1-no-rule.json", env!("CARGO_MANIFEST_DIR"));
    let text = String::from_utf8(output(&["report", &stored]).stdout).unwrap();
    let (_, summary) = text.rsplit_once("\n\n  no rule\n").unwrap();
    let block = format!("```text\n  no rule\n{}\n```\n", summary.trim_end());
    assert!(page("thirst.md").contains(&block), "docs/thirst.md shows another summary than:\n{block}");
}

#[test]
fn every_flag_of_a_run_is_in_the_tables() {
    let help = String::from_utf8(output(&["run", "--help"]).stdout).unwrap();
    let flags: Vec<&str> = help
        .lines()
        .filter(|line| line.trim_start().starts_with('-'))
        .filter_map(|line| line.split([' ', ',', '=']).find(|word| word.starts_with("--")))
        .collect();
    let named = named(&page("thirst.md"));
    let is_named = |flag: &str| named.iter().any(|name| name.split([' ', ',']).any(|word| word == flag));
    // These have a letter, by which the page knows them.
    let by_letter = [
        ("--connections", "-c"),
        ("--threads", "-t"),
        ("--duration", "-d"),
        ("--requests", "-n"),
        ("--header", "-H"),
        ("--method", "-m"),
        ("--body", "-b"),
        ("--follow", "-L"),
        ("--insecure", "-k"),
        ("--quiet", "-q"),
    ];
    let missing: Vec<&&str> = flags
        .iter()
        .filter(|flag| **flag != "--help" && !is_named(flag))
        .filter(|flag| !by_letter.iter().any(|(long, letter)| long == *flag && is_named(letter)))
        .collect();
    assert!(flags.len() > 40 && missing.is_empty(), "{missing:?} of {}", flags.len());
}
