//! Random paths over a tree full of traps: nothing from outside ever comes out, and what should is found.
//!
//! The oracle resolves the decoded path with the standard library and compares device and inode.

use crate::scratch::Scratch;
use crate::{ask, files};
use proptest::prelude::*;
use samovar_origin::{Files, Resolved};
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Pieces of paths: names that exist, names that lead out, and everything that was ever used to get out.
const PIECES: [&str; 44] = [
    "sub",
    "deep",
    "a.txt",
    "b.txt",
    "c.html",
    "in",
    "out",
    "abs-in",
    "abs-out",
    "up",
    "far",
    "slash",
    "chain",
    "secret",
    "secret.txt",
    "loop",
    "outside",
    "root",
    "etc",
    "passwd",
    "..",
    "%2e%2e",
    ".%2e",
    "%2E.",
    ".",
    "%2e",
    "",
    "%2F",
    "..%2f",
    "%2e%2e%2f..",
    "%00",
    "a.txt%00",
    "..%5c",
    "..\\",
    "%252e%252e",
    "%c0%ae%c0%ae",
    "%ff",
    ".hidden",
    "%2ehidden",
    "pipe",
    "script.php",
    "%73ub",
    "sub%20",
    "x",
];

fn tree() -> Scratch {
    let s = Scratch::new("contained");
    fs::write(s.base().join("outside/secret.txt"), "OUTSIDE").unwrap();
    fs::write(s.base().join("outside/a.txt"), "OUTSIDE").unwrap();
    for path in
        ["a.txt", "sub/a.txt", "sub/b.txt", "sub/deep/c.html", "sub/deep/a.txt", ".hidden", "script.php"]
    {
        s.file(path, &format!("inside {path}"));
    }
    s.link("../outside", "out");
    s.link("../outside/secret.txt", "secret");
    s.link(s.base().join("outside"), "abs-out");
    s.link("/", "slash");
    s.link("sub", "in");
    s.link(s.at("sub"), "abs-in");
    s.link("in/b.txt", "chain");
    s.link("loop", "loop");
    s.link("..", "sub/up");
    s.link("../../../outside", "sub/deep/far");
    s.link("../..", "sub/far");
    s.link("../../outside/secret.txt", "sub/secret");
    assert!(std::process::Command::new("mkfifo").arg(s.at("pipe")).status().unwrap().success());
    s
}

/// The test's own decoder.
fn decode(segment: &str) -> Vec<u8> {
    let bytes = segment.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let hex = segment.get(at + 1..at + 3).and_then(|two| u8::from_str_radix(two, 16).ok());
        match (bytes[at], hex) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

/// The regular file a path names, if every segment is an honest name; by the standard library.
fn expected(s: &Scratch, path: &str) -> Option<(u64, u64)> {
    let mut place = s.root();
    for segment in path.split('/') {
        let name = String::from_utf8(decode(segment)).ok()?;
        if name.contains(['/', '\0']) || name.starts_with('.') {
            return None;
        }
        place.push(name);
    }
    let real: PathBuf = place.canonicalize().ok()?;
    let facts = real.metadata().ok()?;
    (real.starts_with(s.root()) && facts.is_file() && !path.ends_with('/'))
        .then(|| (facts.dev(), facts.ino()))
}

fn judge(s: &Scratch, files: &Files, path: &str) {
    let expected = expected(s, path);
    match files.resolve(path, None, &[".php"], &[]) {
        Resolved::File(open) => {
            let facts = open.file.metadata().unwrap();
            assert_eq!(Some((facts.dev(), facts.ino())), expected, "{path}");
            let mut content = String::new();
            (&*open.file).read_to_string(&mut content).unwrap();
            assert!(content.starts_with("inside"), "{path} gave {content}");
        }
        Resolved::Script { rel, .. } => {
            let place = s.root().join(rel.trim_start_matches('/')).canonicalize().unwrap();
            assert!(place.starts_with(s.root()) && place.ends_with("script.php"), "{path}");
        }
        Resolved::Redirect(to) => {
            assert!(to.starts_with('/') && !to.starts_with("//") && !to.contains('\\'), "{path} to {to}");
            assert!(expected.is_none(), "{path}");
        }
        Resolved::Listing(_) => assert!(expected.is_none(), "{path}"),
        Resolved::No(reason, _) => assert_eq!(expected, None, "{path}: {reason}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_from_outside(
        soups in prop::collection::vec(
            (prop::collection::vec(prop::sample::select(&PIECES[..]), 0..8), any::<bool>()),
            200,
        ),
    ) {
        let s = tree();
        let files = files(&s);
        for (pieces, slash) in soups {
            judge(&s, &files, &format!("/{}{}", pieces.join("/"), if slash { "/" } else { "" }));
        }
    }

    #[test]
    fn no_text_at_all_gets_out_or_panics(paths in prop::collection::vec("(/|%2[fF]|\\.|%2[eE]|%00|[a-z]{1,3}|\\PC){0,40}", 100)) {
        let s = tree();
        let files = files(&s);
        for path in paths {
            judge(&s, &files, &path);
        }
    }
}

#[test]
fn a_link_swapped_in_while_looking_leads_nowhere() {
    let s = Scratch::new("swap");
    fs::create_dir_all(s.base().join("outside/dir")).unwrap();
    fs::write(s.base().join("outside/dir/f.txt"), "OUTSIDE").unwrap();
    s.file("dir/f.txt", "inside");
    s.link("dir", "way");
    s.link(s.base().join("outside/dir"), "evil");
    let files = files(&s);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                // Exchanges a folder and a link out of the root, in one step each.
                for (a, b) in [("dir", "evil"), ("way", "evil")] {
                    let flags = rustix::fs::RenameFlags::EXCHANGE;
                    let _ =
                        rustix::fs::renameat_with(rustix::fs::CWD, s.at(a), rustix::fs::CWD, s.at(b), flags);
                }
            }
        });
        let mut served = 0;
        for _ in 0..20_000 {
            for path in ["/dir/f.txt", "/way/f.txt", "/evil/f.txt"] {
                if let Resolved::File(open) = files.resolve(path, None, &[], &[]) {
                    let mut content = String::new();
                    (&*open.file).read_to_string(&mut content).unwrap();
                    assert_eq!(content, "inside");
                    served += 1;
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(served > 0, "the race was never in the way of an honest file");
    });
    let _ = ask(&files, "/");
}
