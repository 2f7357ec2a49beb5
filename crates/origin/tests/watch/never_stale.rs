//! The promise the watch is there for: after the last change was told, nothing stored is stale.
//!
//! A small cache stores whatever paths come to while a tree of folders, files and links is changed at random,
//! forgets what changes touch, and keeps the rule of every fill (nothing is stored that was begun before a
//! purge). At the end each stored outcome must be what the path comes to now.

use crate::scratch::Scratch;
use crate::{PATIENCE, Watched};
use proptest::prelude::*;
use samovar_origin::{Change, Files, FilesSettings, Resolved, Watch};
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Condvar, Mutex};

#[derive(Clone, Debug)]
enum Act {
    Write(String, u32),
    Folder(String),
    Rename(String, String),
    Exchange(String, String),
    Remove(String),
    Link(String, String, bool),
    /// Paths are asked for, and what they come to is stored.
    Ask,
}

#[derive(Default)]
struct Cache {
    stored: HashMap<String, String>,
    purges: u64,
    seen: Vec<Change>,
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&["a", "b", "l"][..]), 1..4).prop_map(|names| names.join("/"))
}

fn file() -> impl Strategy<Value = String> {
    (prop::option::of(path()), prop::sample::select(&["x", "y"][..]))
        .prop_map(|(folder, name)| folder.map_or(name.to_owned(), |folder| format!("{folder}/{name}")))
}

/// What a link says: relative to where it lies, with and without steps up, or absolute.
fn target() -> impl Strategy<Value = String> {
    (0_usize..3, prop_oneof![path(), file()]).prop_map(|(ups, to)| "../".repeat(ups) + &to)
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (file(), any::<u32>()).prop_map(|(path, n)| Act::Write(path, n)),
        2 => path().prop_map(Act::Folder),
        2 => (path(), path()).prop_map(|(from, to)| Act::Rename(from, to)),
        1 => (file(), file()).prop_map(|(from, to)| Act::Rename(from, to)),
        1 => (path(), path()).prop_map(|(one, other)| Act::Exchange(one, other)),
        1 => prop_oneof![path(), file()].prop_map(Act::Remove),
        2 => (path(), target(), any::<bool>()).prop_map(|(path, to, absolute)| Act::Link(path, to, absolute)),
        1 => Just(Act::Ask),
    ]
}

fn perform(s: &Scratch, act: &Act) {
    // Whatever cannot be done is left undone.
    let _ = match act {
        Act::Write(path, n) => fs::write(s.at(path), n.to_string()),
        Act::Folder(path) => fs::create_dir_all(s.at(path)),
        Act::Rename(from, to) => fs::rename(s.at(from), s.at(to)),
        Act::Exchange(one, other) => {
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            let at = rustix::fs::CWD;
            rustix::fs::renameat_with(at, s.at(one), at, s.at(other), flags).map_err(Into::into)
        }
        Act::Remove(path) => fs::remove_dir_all(s.at(path)).or_else(|_| fs::remove_file(s.at(path))),
        Act::Link(path, to, absolute) => {
            let _ = fs::remove_file(s.at(path));
            if *absolute {
                symlink(s.at(to.trim_start_matches("../")), s.at(path))
            } else {
                symlink(to, s.at(path))
            }
        }
        Act::Ask => Ok(()),
    };
}

fn outcome(files: &Files, path: &str) -> String {
    match files.resolve(path, None, &[], &["x".to_owned()]) {
        Resolved::File(open) => {
            let mut content = String::new();
            (&*open.file).read_to_string(&mut content).unwrap();
            format!("{} {content}", open.rel)
        }
        Resolved::Redirect(to) => to,
        Resolved::Listing(_) | Resolved::Script { .. } => "other".to_owned(),
        Resolved::No(reason, _) => reason.to_string(),
    }
}

/// Every path of up to three names, files and folders.
fn all_paths() -> Vec<String> {
    let mut folders = vec![String::new()];
    for depth in 0..3 {
        let longer: Vec<String> = folders
            .iter()
            .filter(|folder| folder.matches('/').count() == depth)
            .flat_map(|folder| ["a", "b", "l"].map(|name| format!("{folder}/{name}")))
            .collect();
        folders.extend(longer);
    }
    folders.iter().flat_map(|folder| ["/x", "/y", "/", ""].map(|end| format!("{folder}{end}"))).collect()
}

fn play(phases: &[Vec<Act>]) -> Result<(), TestCaseError> {
    let s = Scratch::new("w-stale");
    let files = Files::new(FilesSettings {
        root: s.root(),
        listing: false,
        follow_links: true,
        never: Vec::new(),
        types: Vec::new(),
    })
    .unwrap();
    let cache = Arc::new((Mutex::new(Cache::default()), Condvar::new()));
    let told = cache.clone();
    let sink = move |changes: Vec<Change>| {
        let mut cache = told.0.lock().unwrap();
        cache.purges += 1;
        cache.stored.retain(|path, _| !changes.iter().any(|change| change.touches(path)));
        cache.seen.extend(changes);
        told.1.notify_all();
    };
    let watch = Watch::new(&s.root(), Arc::new(sink)).unwrap();
    prop_assert!(watch.healthy());
    for path in ["x", "a/x", "a/a/x", "a/b/y", "b/a/x", "b/b/b/y"] {
        s.file(path, path);
    }
    let paths = all_paths();
    for (n, phase) in phases.iter().enumerate() {
        for act in phase {
            perform(&s, act);
            if matches!(act, Act::Ask) {
                ask_all(&files, &cache.0, &paths);
            }
        }
        let certain = settle(&s, &cache, n)?;
        let stored = cache.0.lock().unwrap().stored.clone();
        for (path, then) in stored {
            if certain {
                prop_assert_eq!(outcome(&files, &path), then, "{} is stale in phase {}", path, n);
            }
        }
        // What is stored now is only forgotten if the watches kept up with the tree.
        ask_all(&files, &cache.0, &paths);
    }
    Ok(())
}

/// Asks for everything and stores what it comes to, unless a purge came in between.
fn ask_all(files: &Files, cache: &Mutex<Cache>, paths: &[String]) {
    for path in paths {
        let begun = cache.lock().unwrap().purges;
        let outcome = outcome(files, path);
        let mut cache = cache.lock().unwrap();
        if cache.purges == begun {
            cache.stored.insert(path.clone(), outcome);
        }
    }
}

/// Waits until everything done so far was told. After a `Rescan` that is not certain: it may have swallowed
/// the sign that is waited for.
fn settle(s: &Scratch, cache: &(Mutex<Cache>, Condvar), n: usize) -> Result<bool, TestCaseError> {
    let name = format!("fence{n}");
    cache.0.lock().unwrap().seen.clear();
    fs::write(s.at(&name), "").unwrap();
    let fence = Change::Path(format!("/{name}"));
    let quiet =
        |cache: &mut Cache| !cache.seen.iter().any(|change| *change == fence || *change == Change::Rescan);
    let (cache, waited) = cache.1.wait_timeout_while(cache.0.lock().unwrap(), PATIENCE, quiet).unwrap();
    prop_assert!(!waited.timed_out());
    Ok(!cache.seen.contains(&Change::Rescan))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn nothing_stored_is_stale(phases in prop::collection::vec(prop::collection::vec(act(), 1..8), 1..10)) {
        play(&phases)?;
    }
}

#[test]
fn the_model_itself_can_tell() {
    // Without a watch the same cache would be stale: the property can fail.
    let s = Scratch::new("w-model");
    s.file("x", "1");
    let w = Watched::new(&s);
    s.file("x", "2");
    assert!(w.until("/x").iter().any(|change| change.touches("/x") && !change.touches("/y")));
}
