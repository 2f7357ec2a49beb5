//! Links between the documents lead somewhere: the file is there, the heading too.
//!
//! Links to other hosts are not followed: a test must not depend on them.

use samovar_tests::{files, root, shown};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The targets of `[text](target)` and `<img src="target">`, code left out.
fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        let pieces = line.split("](").skip(1).map(|p| p.split(')'));
        found.extend(
            pieces.filter_map(|mut p| p.next()).map(|t| t.split(" \"").next().unwrap_or(t).to_string()),
        );
        let images = line.split("src=\"").skip(1).map(|p| p.split('"'));
        found.extend(images.filter_map(|mut p| p.next()).map(String::from));
    }
    found
}

/// Lines outside fenced code, with `code` spans taken out.
fn prose(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            lines.push(line.split('`').step_by(2).collect::<Vec<_>>().join(" "));
        }
    }
    lines
}

/// The names a page's headings can be linked by, made as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        fenced ^= line.starts_with("```");
        if !fenced && line.starts_with('#') {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            found.push(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
        }
    }
    found
}

fn documents() -> Vec<PathBuf> {
    files("", "md")
}

#[test]
fn links_lead_somewhere() {
    let pages: HashMap<PathBuf, String> =
        documents().into_iter().map(|p| (p.clone(), fs::read_to_string(&p).unwrap())).collect();
    let mut trouble = Vec::new();
    for (page, text) in &pages {
        for target in targets(text).iter().filter(|t| !t.contains("://") && !t.starts_with("mailto:")) {
            if let Err(why) = resolve(page, target, &pages) {
                trouble.push(format!("{}: ({target}) {why}", shown(page)));
            }
        }
    }
    trouble.sort();
    assert!(trouble.is_empty(), "\n{}", trouble.join("\n"));
}

fn resolve(page: &Path, target: &str, pages: &HashMap<PathBuf, String>) -> Result<(), String> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = match path {
        "" => page.to_path_buf(),
        path => page
            .parent()
            .unwrap_or(page)
            .join(path)
            .canonicalize()
            .map_err(|_| "leads to no file".to_string())?,
    };
    if !file.starts_with(root().canonicalize().unwrap()) {
        return Err("leads out of the repository".into());
    }
    match pages.get(&file) {
        Some(text) if !anchor.is_empty() && !anchors(text).iter().any(|a| a == anchor) => {
            Err("leads to no heading".into())
        }
        _ => Ok(()),
    }
}

#[test]
fn the_pages_a_visitor_looks_for_exist() {
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        assert!(documents().contains(&root().join(name)), "{name}");
    }
}

#[test]
fn links_are_found_and_code_is_not() {
    let text =
        "See [a](b.md#c) and `[x](y)` ![p](img/q.svg \"t\")\n```\n[no](no.md)\n```\n<img src=\"r.svg\">";
    assert_eq!(targets(text), ["b.md#c", "img/q.svg", "r.svg"]);
    assert_eq!(anchors("# How we prove: *always*\n```\n# no\n```"), ["how-we-prove-always"]);
}
