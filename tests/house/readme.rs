//! The commands the README shows exist, with the flags it gives them.
//!
//! Asks the programs themselves by `--help`. Whether the commands do what the README says is for the demo and the
//! end-to-end tests.

use samovar_tests::root;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Lines of the README's shell blocks that call one of the programs, comments taken off.
fn commands(text: &str) -> Vec<String> {
    let mut in_shell = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            in_shell = line == "```sh";
        } else if in_shell && (line.starts_with("samovar ") || line.starts_with("thirst ")) {
            found.push(line.split(" #").next().unwrap_or(line).trim().to_string());
        }
    }
    found
}

/// The program, its subcommands, and the flags of a command line.
fn parts(command: &str) -> (String, Vec<String>, Vec<String>) {
    let words: Vec<&str> = command.split_whitespace().collect();
    let is_name = |w: &&&str| w.chars().all(|c| c.is_ascii_lowercase());
    let named = words.iter().skip(1).take_while(is_name).map(|w| w.to_string()).collect();
    let is_flag = |w: &&&str| w.starts_with('-') && w.chars().any(|c| c.is_ascii_alphabetic());
    let flags = words.iter().filter(is_flag).map(|w| w.to_string()).collect();
    (words[0].to_string(), named, flags)
}

/// A program built beside this test: `target/debug/deps/house-…` → `target/debug/samovar`.
fn program(name: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let path = here.parent().unwrap().parent().unwrap().join(name);
    assert!(
        path.exists(),
        "{} is missing; `make test` builds it, or: cargo build --workspace --bins",
        path.display()
    );
    path
}

#[test]
fn the_commands_shown_exist() {
    let shown = commands(&fs::read_to_string(root().join("README.md")).unwrap());
    assert!(shown.len() >= 8, "{shown:?}");
    for command in shown {
        let (name, named, flags) = parts(&command);
        let output = Command::new(program(&name)).args(&named).arg("--help").output().unwrap();
        let help = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "`{command}`: {}", String::from_utf8_lossy(&output.stderr));
        assert!(help.contains(&named.join(" ")), "`{command}` shows the help of something else:\n{help}");
        for flag in flags {
            let known = help.split([' ', ',', '\n', '[', '=']).any(|w| w == flag);
            assert!(known, "`{command}`: {flag} is not in its help:\n{help}");
        }
    }
}

#[test]
fn command_lines_are_taken_apart() {
    let text = "```sh\nsamovar rule add extension=.jpg --at first  # why\nls\n```\n```text\nsamovar no\n```";
    let found = commands(text);
    assert_eq!(found, ["samovar rule add extension=.jpg --at first"]);
    let (name, named, flags) = parts(&found[0]);
    assert_eq!(
        (name.as_str(), named, flags),
        ("samovar", vec!["rule".into(), "add".into()], vec!["--at".into()])
    );
}
