//! What makes a server wait stands in one place each: the opening of an operator's files, and writes to standard error.
//!
//! A plain open of a named pipe waits for ever, as does a write to a pipe that nobody reads. `operator_files` and `stderr`
//! in `crates/server` know how not to; this test holds that nothing goes past them.

use samovar_tests::{files, shown};
use std::fs;

/// Words that open or write, and the file that may.
const ONLY_IN: [(&str, &[&str]); 9] = [
    ("fs::read(", &["operator_files.rs"]),
    ("fs::read_to_string(", &["operator_files.rs"]),
    ("File::open", &["operator_files.rs"]),
    ("File::create", &["operator_files.rs"]),
    ("OpenOptions::new", &["operator_files.rs"]),
    ("fs::write(", &["operator_files.rs"]),
    ("fs::copy(", &["operator_files.rs"]),
    ("eprint", &[]),
    ("println!", &[]),
];

#[test]
fn nothing_waits_for_a_pipe() {
    let mut trouble = Vec::new();
    let mut seen = 0;
    for folder in ["crates/server/src", "crates/origin/src", "crates/hot/src"] {
        for path in files(folder, "rs") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap();
            // By custom the tests are the last thing in a file.
            let code = text.split("#[cfg(test)]\n").next().unwrap_or("");
            if name.ends_with("_tests.rs") || name == "tests.rs" {
                continue;
            }
            for (n, line) in code.lines().enumerate() {
                // What the system says of itself is no operator's file.
                let line = line.split("//").next().unwrap_or("");
                if line.contains("\"/proc/") {
                    continue;
                }
                for (word, allowed) in ONLY_IN.iter().filter(|(word, _)| line.contains(word)) {
                    seen += 1;
                    if !allowed.contains(&name.as_str()) {
                        let instead =
                            "`crate::operator_files` opens without waiting, `crate::say!` writes so";
                        trouble.push(format!("{}:{} says `{word}`: {instead}", shown(&path), n + 1));
                    }
                }
            }
        }
    }
    assert!(seen > 0, "the words are looked for");
    assert!(trouble.is_empty(), "\n{}", trouble.join("\n"));
}
