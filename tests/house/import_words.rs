//! What `samovar import` says of directives is plain English: a text that only this project understands helps nobody.
//!
//! Not here: whether a text is true, which the tests of the importer ask.

use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => sources(&path, found),
            false => found.push(path),
        }
    }
}

/// Phrases that tell nobody anything, or that only this project understands.
#[test]
fn no_text_is_a_riddle() {
    const RIDDLES: [&str; 14] = [
        "says nothing",
        "say nothing",
        "cannot be said",
        "cannot be spelt",
        "is wanted",
        "are wanted",
        "kept back",
        "is not there",
        "told always",
        "'s affair",
        "own to say",
        "takes no such directive",
        "said to",
        "is told it",
    ];
    let mut files = Vec::new();
    sources(&samovar_tests::root().join("crates/import/src"), &mut files);
    assert!(files.len() > 20);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code.filter(|line| line.contains('"') || line.trim_end().ends_with('\\')) {
            let riddle = RIDDLES.iter().find(|riddle| line.contains(**riddle));
            assert_eq!(riddle, None, "{}: {line}", path.display());
        }
    }
}
