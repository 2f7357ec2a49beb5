//! The tables of `docs/conformance.md`: what the suite gave, by topic, beside others measured with the same package.
//!
//! `SAMOVAR_WRITE_DOCS=1 cargo test -p samovar-tests --test conformance` writes them anew; otherwise they must agree.

use super::{Outcome, passed, rows};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Others under the same package (0.4.5), measured 2026-11-20 with their Debian 12 versions; settings on the page.
const OTHERS: [&str; 7] = ["httpd", "Caddy+Souin", "HAProxy", "nginx", "Squid", "Traffic Server", "Varnish"];

/// Required and optimal tests passed, by topic and in the order of [`OTHERS`].
const BY_TOPIC: [(&str, [u32; 7]); 20] = [
    ("cc-freshness", [19, 19, 18, 17, 16, 19, 19]),
    ("cc-parse", [4, 6, 6, 4, 4, 5, 4]),
    ("age-parse", [2, 2, 10, 0, 6, 6, 4]),
    ("expires", [8, 6, 6, 4, 6, 8, 7]),
    ("cc-response", [10, 7, 7, 8, 9, 9, 8]),
    ("stale", [0, 0, 0, 0, 0, 0, 0]),
    ("heuristic", [9, 7, 8, 7, 10, 10, 7]),
    ("method", [0, 0, 0, 0, 0, 0, 0]),
    ("status", [28, 12, 2, 36, 14, 36, 16]),
    ("vary", [15, 14, 8, 15, 15, 18, 14]),
    ("vary-parse", [7, 7, 7, 3, 7, 6, 1]),
    ("conditional-lm", [4, 1, 4, 3, 4, 4, 4]),
    ("conditional-inm", [10, 4, 7, 9, 8, 9, 7]),
    ("headers", [30, 29, 28, 28, 28, 27, 27]),
    ("update304", [14, 0, 0, 6, 15, 15, 17]),
    ("invalidation", [6, 8, 8, 0, 15, 6, 0]),
    ("partial", [4, 1, 0, 0, 4, 4, 4]),
    ("auth", [1, 1, 2, 0, 0, 0, 1]),
    ("other", [7, 8, 6, 3, 8, 8, 6]),
    ("surrogate-control", [1, 12, 1, 1, 2, 1, 2]),
];

/// Required and optimal tests passed, of 165 and 95.
const BY_KIND: [[u32; 2]; 7] = [[120, 59], [100, 44], [96, 32], [94, 50], [122, 49], [126, 65], [108, 40]];

type Count = (usize, usize);

/// The page's tables by their names, out of what was just measured.
pub fn tables(all: &[Outcome], deviations: &BTreeMap<String, String>) -> Vec<(&'static str, String)> {
    vec![
        ("kinds", kinds(passed(all, "required"), passed(all, "optimal"))),
        ("topics", topics(all)),
        ("deviations", deviating(all, deviations)),
        ("reasons", reasons()),
    ]
}

/// The same for the run without settings: what does not pass beside what never does.
pub fn tables_without_settings(
    all: &[Outcome],
    more: &BTreeMap<String, String>,
) -> Vec<(&'static str, String)> {
    let ((required, r), (optimal, o)) = (passed(all, "required"), passed(all, "optimal"));
    let line = format!("{required} of {r} required and {optimal} of {o} optimal tests pass.\n");
    vec![("without settings, counts", line), ("without settings", deviating(all, more))]
}

/// Compares the page with tables made now, or writes them into it.
pub fn compare(tables: &[(&'static str, String)]) {
    // Two tests write to the one page.
    static PAGE: Mutex<()> = Mutex::new(());
    let _one_at_a_time = PAGE.lock().unwrap_or_else(PoisonError::into_inner);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/conformance.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let fresh = tables.iter().fold(page.clone(), |page, (name, table)| replaced(&page, name, table));
    if std::env::var_os("SAMOVAR_WRITE_DOCS").is_some() {
        std::fs::write(&path, fresh).unwrap();
        return;
    }
    assert!(
        fresh == page,
        "docs/conformance.md is behind the suite's result; SAMOVAR_WRITE_DOCS=1 writes its tables"
    );
}

fn replaced(page: &str, name: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- {name}: made by the tests -->\n"), "<!-- end -->");
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no place for {name} on the page"));
    let (_, after) = rest.split_once(end).expect("each place on the page has an end");
    format!("{before}{begin}\n{table}\n{end}{after}")
}

fn kinds(required: Count, optimal: Count) -> String {
    let mut text = String::from("| server | required | optimal |\n|---|---:|---:|\n");
    let (r, o) = (required, optimal);
    writeln!(text, "| **Samovar** | **{}/{}** | **{}/{}** |", r.0, r.1, o.0, o.1).unwrap();
    let mut others: Vec<_> = OTHERS.iter().zip(BY_KIND).collect();
    others.sort_by_key(|(_, [required, ..])| std::cmp::Reverse(*required));
    for (name, [required, optimal]) in others {
        writeln!(text, "| {name} | {required}/165 | {optimal}/95 |").unwrap();
    }
    text
}

fn topics(all: &[Outcome]) -> String {
    let mut text = format!("| topic | tests | **Samovar** | {} |\n", OTHERS.join(" | "));
    text.push_str(&format!("|---|---:|---:|{}\n", "---:|".repeat(OTHERS.len())));
    for (topic, others) in BY_TOPIC {
        let tests = all.iter().filter(|test| test.topic == topic && test.kind != "check");
        let passed = tests.clone().filter(|test| test.passed()).count();
        let others = others.map(|n| n.to_string()).join(" | ");
        writeln!(text, "| {topic} | {} | **{passed}** | {others} |", tests.count()).unwrap();
    }
    text
}

fn deviating(all: &[Outcome], deviations: &BTreeMap<String, String>) -> String {
    let mut text = String::from("| test | kind | why not |\n|---|---|---|\n");
    for test in all.iter().filter(|test| deviations.contains_key(&test.id)) {
        writeln!(text, "| `{}` | {} | {} |", test.id, test.kind, deviations[&test.id]).unwrap();
    }
    text
}

fn reasons() -> String {
    let mut text = String::from("| topic | test | request | reason |\n|---|---|---:|---|\n");
    for row in rows("reasons.txt", 4) {
        writeln!(text, "| {} | `{}` | {} | [`{}`](reasons.md) |", row[0], row[1], row[2], row[3]).unwrap();
    }
    text
}
