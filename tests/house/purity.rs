//! Pure rooms read no clock, open no socket or file, start no thread, print nothing.
//!
//! Clippy's bans hold it while building (each pure crate carries the same `clippy.toml`, since the nearest one wins
//! and is not merged with the root's); this test holds that the bans are there, and the text besides.

use crate::arrows::pure;
use crate::manifests::manifests;
use samovar_tests::{files, root, shown};
use std::fs;

/// Words a pure room has no business with, and what to do instead.
const BANNED: [(&str, &str); 19] = [
    ("Instant::now", "take `now` as an argument"),
    ("SystemTime::now", "take `now` as an argument"),
    (".elapsed()", "take `now` as an argument"),
    ("TcpStream", "leave sockets to `origin`, `hot`, `server`"),
    ("TcpListener", "leave sockets to `origin`, `hot`, `server`"),
    ("UdpSocket", "leave sockets to `origin`, `hot`, `server`"),
    ("UnixStream", "leave sockets to `origin`, `hot`, `server`"),
    ("ToSocketAddrs", "leave names to `origin`"),
    ("fs::", "take the contents as an argument"),
    ("File::", "take the contents as an argument"),
    ("std::io::std", "return what is to be written"),
    ("std::thread", "let the caller decide which thread"),
    ("thread::spawn", "let the caller decide which thread"),
    ("std::process", "leave processes to the programs"),
    ("std::env", "take the setting as an argument"),
    ("println!", "return a reason; `trace` renders it"),
    ("eprint", "return a reason; `trace` renders it"),
    ("print!", "return a reason; `trace` renders it"),
    ("dbg!", "return a reason; `trace` renders it"),
];

/// The first banned word on a line of code, comments left out.
fn banned_on(line: &str) -> Option<(&'static str, &'static str)> {
    // An open file may be held as a value, for the shell that opened it; only doing something with it is banned.
    let code = line.split("//").next().unwrap_or("").replace("std::fs::File>", "");
    BANNED.into_iter().find(|(word, _)| names(&code, word))
}

/// True if `word` stands in `code` as a whole: `prefs::` does not name `fs::`.
fn names(code: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !(word.starts_with(joins) && before.is_some_and(joins))
    })
}

#[test]
fn pure_rooms_name_nothing_of_the_world() {
    let manifests = manifests();
    let mut trouble = Vec::new();
    for package in pure() {
        for path in files(&format!("{}/src", manifests[&package].folder), "rs") {
            let text = fs::read_to_string(&path).unwrap();
            // By custom the tests are the last thing in a file; they may use threads to race.
            let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or("");
            for (n, line) in code.lines().enumerate() {
                if let Some((word, instead)) = banned_on(line) {
                    trouble.push(format!("{}:{}: `{word}` in a pure room: {instead}", shown(&path), n + 1));
                }
            }
        }
    }
    assert!(trouble.is_empty(), "\n{}", trouble.join("\n"));
}

#[test]
fn the_scan_finds_what_it_should() {
    assert!(banned_on("let t = std::time::Instant::now();").is_some());
    assert!(banned_on("    eprintln!(\"x\");").is_some());
    assert!(banned_on("// Instant::now is banned here").is_none());
    assert!(banned_on("let x = prefs::entry();").is_none());
    assert!(banned_on("use std::net::IpAddr;").is_none());
    assert!(banned_on("file: Arc<std::fs::File>,").is_none());
    assert!(banned_on("let f = std::fs::File::open(p)?;").is_some());
    assert!(banned_on("use std::fs::{self, File};").is_some());
}

#[test]
fn all_pure_rooms_carry_the_same_bans() {
    let manifests = manifests();
    let mut first: Option<(String, String)> = None;
    for package in pure() {
        let path = root().join(&manifests[&package].folder).join("clippy.toml");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| {
            panic!("{} is pure and needs a clippy.toml like the other pure rooms have: {e}", package)
        });
        let (owner, wanted) = first.get_or_insert_with(|| (package.clone(), text.clone()));
        assert!(&text == wanted, "clippy.toml of {package} differs from {owner}'s");
    }
    let (_, text) = first.expect("no pure room at all");
    assert!(text.contains("std::time::Instant::now"));
    // Not merged: what the root's file allows must be repeated.
    for line in
        fs::read_to_string(root().join("clippy.toml")).unwrap().lines().filter(|l| l.contains("in-tests"))
    {
        assert!(text.lines().any(|l| l == line), "{line} is missing from the pure rooms' clippy.toml");
    }
}

#[test]
fn every_ban_names_its_replacement() {
    let manifests = manifests();
    for package in pure() {
        let text = fs::read_to_string(root().join(&manifests[&package].folder).join("clippy.toml")).unwrap();
        let table: toml::Table = text.parse().unwrap();
        for section in ["disallowed-methods", "disallowed-macros", "disallowed-types"] {
            let bans = table.get(section).and_then(|s| s.as_array()).expect(section);
            for ban in bans {
                assert!(ban.get("reason").is_some(), "{section}: {ban} without a reason");
            }
        }
    }
}
