//! Each kind of change is told, and what does not concern the root is not.

use crate::scratch::Scratch;
use crate::{PATIENCE, Watched};
use samovar_origin::{Change, Watch};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Instant;

#[test]
fn written_created_removed_touched() {
    let s = Scratch::new("w-kinds");
    let place = s.file("sub/a.txt", "1");
    let w = Watched::new(&s);
    assert!(w.watch.healthy(), "{:?}", w.watch.trouble());
    assert_eq!(w.watch.trouble(), None);
    let mut slowest = 0;
    let mut step = |what: &str, path: &str, act: &dyn Fn()| {
        let start = Instant::now();
        act();
        let told = w.until(path);
        slowest = slowest.max(start.elapsed().as_millis());
        assert!(!told.contains(&Change::Rescan), "{what}");
        w.so_far(&s);
    };
    step("written", "/sub/a.txt", &|| fs::write(&place, "2").unwrap());
    step("created", "/sub/b c.txt", &|| drop(s.file("sub/b c.txt", "")));
    step("touched", "/sub/a.txt", &|| {
        fs::File::options().write(true).open(&place).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    });
    step("replaced, new name", "/sub/a.txt", &|| {
        fs::write(s.at("sub/.new"), "3").unwrap();
        fs::rename(s.at("sub/.new"), &place).unwrap();
    });
    step("renamed, old name", "/sub/a.txt", &|| fs::rename(&place, s.at("sub/z.txt")).unwrap());
    step("removed", "/sub/z.txt", &|| fs::remove_file(s.at("sub/z.txt")).unwrap());
    step("brought in", "/sub/in.txt", &|| {
        fs::write(s.base().join("outside/f"), "").unwrap();
        fs::rename(s.base().join("outside/f"), s.at("sub/in.txt")).unwrap();
    });
    println!("slowest of all: {slowest} ms");
}

#[test]
fn both_names_of_a_rename_are_told_at_once() {
    let s = Scratch::new("w-rename");
    s.file("old", "");
    let w = Watched::new(&s);
    fs::rename(s.at("old"), s.at("new")).unwrap();
    let told = w.so_far(&s);
    for name in ["/old", "/new"] {
        assert!(told.contains(&Change::Path(name.to_owned())), "{told:?}");
    }
}

#[test]
fn a_new_folder_is_watched_before_it_is_told() {
    let s = Scratch::new("w-newdir");
    let w = Watched::new(&s);
    for n in 0..100 {
        // Files are in it before anyone can watch it.
        let place = s.file(&format!("d{n}/e/f/x"), "1");
        w.until(&format!("/d{n}/e/f/x"));
        fs::write(place, "2").unwrap();
        let path = format!("/d{n}/e/f/x");
        w.until(&path);
    }
}

#[test]
fn folders_moved_in_out_about_and_exchanged() {
    let s = Scratch::new("w-move");
    s.file("a/deep/x", "");
    s.file("b/deep/x", "");
    fs::create_dir_all(s.base().join("outside/in/deep")).unwrap();
    fs::write(s.base().join("outside/in/deep/x"), "").unwrap();
    let w = Watched::new(&s);

    fs::rename(s.base().join("outside/in"), s.at("in")).unwrap();
    w.until("/in/deep/x");
    w.so_far(&s);
    s.file("in/deep/x", "2");
    assert_eq!(w.so_far(&s), [Change::Path("/in/deep/x".to_owned())]);

    fs::rename(s.at("in"), s.at("moved")).unwrap();
    let told = w.so_far(&s);
    assert!(
        told.contains(&Change::Path("/in".to_owned())) && told.contains(&Change::Path("/moved".to_owned()))
    );
    s.file("moved/deep/x", "3");
    assert_eq!(w.so_far(&s), [Change::Path("/moved/deep/x".to_owned())], "by its new name, and only that");

    let flags = rustix::fs::RenameFlags::EXCHANGE;
    rustix::fs::renameat_with(rustix::fs::CWD, s.at("a"), rustix::fs::CWD, s.at("b"), flags).unwrap();
    w.so_far(&s);
    for name in ["a", "b"] {
        s.file(&format!("{name}/deep/x"), "4");
        assert_eq!(w.so_far(&s), [Change::Path(format!("/{name}/deep/x"))]);
    }

    let away = s.base().join("outside/away");
    fs::rename(s.at("moved"), &away).unwrap();
    w.until("/moved/deep/x");
    w.so_far(&s);
    fs::write(away.join("deep/x"), "5").unwrap();
    assert_eq!(w.so_far(&s), [], "what was moved out is no concern");

    fs::remove_dir_all(s.at("a")).unwrap();
    w.until("/a/deep/x");
    w.so_far(&s);
    s.file("a/deep/x", "6");
    w.until("/a/deep/x");
}

/// Found by the property in `never_stale`: the link's going took the watches of the folder that had come.
#[test]
fn a_folder_and_a_link_exchanged() {
    let s = Scratch::new("w-exchange");
    s.file("folder/deep/x", "1");
    s.link("nowhere", "link");
    let w = Watched::new(&s);
    let flags = rustix::fs::RenameFlags::EXCHANGE;
    let at = rustix::fs::CWD;
    rustix::fs::renameat_with(at, s.at("folder"), at, s.at("link"), flags).unwrap();
    w.so_far(&s);
    s.file("link/deep/x", "2");
    assert_eq!(w.so_far(&s), [Change::Path("/link/deep/x".to_owned())]);
}

#[test]
fn changes_are_told_under_every_path_links_give_them() {
    let s = Scratch::new("w-links");
    s.file("real/sub/x", "1");
    s.file("real2/sub/x", "1");
    s.link("real", "rel");
    s.link(s.at("real"), "abs");
    s.link("../real/sub/x", "real2/file");
    s.link("rel", "twice");
    s.link("later", "dangling");
    let w = Watched::new(&s);
    s.file("real/sub/x", "2");
    let told = w.so_far(&s);
    for path in ["/real/sub/x", "/rel/sub/x", "/abs/sub/x", "/real2/file", "/twice/sub/x"] {
        assert!(told.contains(&Change::Path(path.to_owned())), "{path}: {told:?}");
    }
    // A link set anew, as deployments do.
    s.link("real2", "next");
    fs::rename(s.at("next"), s.at("rel")).unwrap();
    w.until("/twice/sub/x");
    w.so_far(&s);
    s.file("real2/sub/x", "3");
    let told = w.so_far(&s);
    assert!(told.contains(&Change::Path("/rel/sub/x".to_owned())), "{told:?}");
    s.file("real/sub/x", "4");
    let told = w.so_far(&s);
    assert!(!told.contains(&Change::Path("/rel/sub/x".to_owned())), "the link leads elsewhere now: {told:?}");
    s.file("later", "there now");
    w.until("/dangling");
}

#[test]
fn names_that_are_not_text_are_told_as_they_are_opened() {
    let s = Scratch::new("w-bytes");
    let w = Watched::new(&s);
    let place = s.root().join(OsStr::from_bytes(b"latin\xe9.txt"));
    fs::write(&place, "1").unwrap();
    let files = samovar_origin::Files::new(samovar_origin::FilesSettings {
        root: s.root(),
        listing: false,
        follow_links: true,
        never: Vec::new(),
        types: Vec::new(),
    })
    .unwrap();
    let samovar_origin::Resolved::File(open) = files.resolve("/latin%E9.txt", None, &[], &[]) else {
        panic!()
    };
    let told = w.until(&open.rel);
    assert_eq!(told, [Change::Path(open.rel)]);
}

#[test]
fn the_root_replaced_removed_and_made_anew() {
    let s = Scratch::new("w-root");
    s.file("a", "1");
    let w = Watched::new(&s);
    // Replaced in one step, as deployments do.
    fs::create_dir_all(s.base().join("next/sub")).unwrap();
    fs::rename(s.root(), s.base().join("aside")).unwrap();
    fs::rename(s.base().join("next"), s.root()).unwrap();
    w.until_rescan();
    watched_again(&w, &s);
    fs::remove_dir_all(s.root()).unwrap();
    w.until_rescan();
    s.folder("sub");
    w.until_rescan();
    watched_again(&w, &s);
}

#[test]
fn a_root_that_is_a_link_set_anew() {
    let s = Scratch::new("w-current");
    s.file("r1/a", "1");
    s.file("r2/a", "2");
    s.link("r1", "current");
    let (tell, told) = std::sync::mpsc::sync_channel(1000);
    let watch = Watch::new(&s.at("current"), Arc::new(move |changes| tell.send(changes).unwrap())).unwrap();
    assert!(watch.healthy());
    s.link("r2", "next");
    fs::rename(s.at("next"), s.at("current")).unwrap();
    while told.recv_timeout(PATIENCE).unwrap() != [Change::Rescan] {}
    s.file("r2/a", "3");
    while !told.recv_timeout(PATIENCE).unwrap().contains(&Change::Path("/a".to_owned())) {}
}

/// The new root's folders are watched, once the change of roots is over.
fn watched_again(w: &Watched, s: &Scratch) {
    // Several `Rescan` may come (the old root's end, the new one's beginning); the last is followed by paths.
    let start = Instant::now();
    for n in 0.. {
        assert!(start.elapsed() < PATIENCE, "not watched again");
        s.file("sub/x", &n.to_string());
        if w.until("/sub/x").contains(&Change::Path("/sub/x".to_owned())) {
            break;
        }
    }
    assert!(w.watch.healthy(), "{:?}", w.watch.trouble());
}
