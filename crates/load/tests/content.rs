//! `thirst content`, and `thirst run --urls` asking for what it lists.

#![allow(clippy::unwrap_used, reason = "a test may stop at its first surprise")]

mod common;

use std::collections::BTreeSet;
use std::fs;

use common::{Scratch, Server, number, ok, output, run};

fn content(args: &[&str]) -> (String, String, i32) {
    let output = output(&[&["content"], args].concat());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

#[test]
fn files_are_what_was_asked_for() {
    let scratch = Scratch::new("content");
    let (dir, again, list) = (scratch.file("a"), scratch.file("b"), scratch.file("list"));
    let sets = ["12x1KB", "2x5KiB@3", "tiles:3", "jpegs:2x40x30"];
    let (said, errors, code) = content(&[&[dir.as_str()], &sets[..], &["--list", &list]].concat());
    assert_eq!((errors.as_str(), code), ("", 0));
    assert!(said.starts_with("37 files, ") && said.contains("seed 1"), "{said}");
    let list = fs::read_to_string(list).unwrap();
    let paths: BTreeSet<&str> = list.lines().collect();
    assert_eq!((list.lines().count(), paths.len()), (37, 37));
    for path in paths {
        let bytes = fs::read(format!("{dir}{path}")).unwrap();
        match path.split('/').nth(1).unwrap() {
            "12x1KB" => assert_eq!(bytes.len(), 1_000),
            "2x5KiB@3" => assert!(bytes.len() == 5 * 1024 && bytes.is_ascii()),
            _ => assert!(bytes.starts_with(&[0xFF, 0xD8]), "{path} is a JPEG"),
        }
    }
    // Other sets beside it, and how many cores wrote, make no difference; another seed does.
    assert_eq!(content(&[&again, "12x1KB", "-q"]), (String::new(), String::new(), 0));
    let read = |dir: &str| fs::read(format!("{dir}/12x1KB/07.bin")).unwrap();
    assert_eq!(read(&dir), read(&again));
    assert_eq!(content(&[&again, "12x1KB", "-q", "--force", "--seed", "2"]).2, 0);
    assert_ne!(read(&dir), read(&again));
}

#[test]
fn what_is_there_is_left_alone() {
    let scratch = Scratch::new("content-there");
    let dir = scratch.file("a");
    fs::create_dir(&dir).unwrap();
    fs::write(format!("{dir}/mine"), "x").unwrap();
    for (args, say) in [
        (vec![dir.as_str(), "1x1B"], "is not empty"),
        (vec![dir.as_str(), "tiles:1", "tiles:2", "--force"], "a second time"),
        (vec![dir.as_str(), "1xB"], "COUNTxSIZE"),
        (vec![dir.as_str()], "required"),
        (vec!["/proc/nowhere", "1x1B"], "cannot make the folder `/proc/nowhere`"),
        (vec![dir.as_str(), "1x1B", "--force", "--list", "/proc/nowhere"], "cannot write `/proc/nowhere`"),
    ] {
        let (said, errors, code) = content(&args);
        assert!(said.is_empty() && errors.contains(say) && code == 1, "{args:?}: {errors}");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "{args:?}");
    }
    // A folder of a set that cannot be made, as a file is in its place.
    fs::write(format!("{dir}/1x1B"), "x").unwrap();
    let (_, errors, code) = content(&[&dir, "1x1B", "--force"]);
    assert!(errors.contains("cannot write") && code == 1, "{errors}");
}

#[test]
fn urls_come_from_a_file() {
    let scratch = Scratch::new("urls");
    let server = Server::canned(ok("x", ""));
    let list = scratch.file("list");
    fs::write(&list, format!("# what to ask\n/a\n\n/b?c\n{}\n", server.url("/whole"))).unwrap();
    let (json, code) = run(&[&server.url("/base"), "--urls", &list, "-n", "9", "-c", "1"]);
    assert_eq!((code, number(&json, "/responses")), (0, 9.0));
    let paths = server.paths.lock().unwrap().clone();
    assert_eq!(paths[..3], ["/a", "/b?c", "/whole"]);
    let list_of_many: String = (0..500).map(|n| format!("/{n}\n")).collect();
    fs::write(&list, list_of_many).unwrap();
    for (connections, threads) in [("1", "1"), ("8", "1"), ("8", "2"), ("9", "4")] {
        let server = Server::canned(ok("x", ""));
        let args = ["--urls", &list, "-n", "500", "-c", connections, "-t", threads];
        assert_eq!(run(&[&[server.url("/").as_str()], &args[..]].concat()).1, 0);
        let asked: BTreeSet<String> = server.paths.lock().unwrap().iter().cloned().collect();
        // Where the threads' parts do not come out even, one or two URLs at their borders are asked twice.
        assert!(
            asked.len() >= 498 && (threads != "1" || asked.len() == 500),
            "{connections} {threads}: {}",
            asked.len()
        );
    }
    assert_eq!(paths.iter().filter(|path| *path == "/base").count(), 0, "it only says whose paths they are");
    fs::write(&list, "\u{feff}/marked\n").unwrap();
    assert_eq!(run(&[&server.url("/"), "--urls", &list, "-n", "1"]).1, 0);
    assert_eq!(server.paths.lock().unwrap().last().unwrap(), "/marked");
    let endless = output(&["run", &server.url("/"), "--urls", "/dev/zero", "-n", "1"]);
    assert!(String::from_utf8(endless.stderr).unwrap().contains("more than 268 MB of URLs"));
    for (text, urls, say) in [
        ("/a\nb c\n", vec![server.url("/")], "list:2: `b c` is neither a URL nor a path"),
        ("/a\n", vec![], "list:1: `/a` is a path"),
        ("# nothing\n", vec![server.url("/")], "names nothing to ask for"),
        ("/a\n", vec![server.url("/"), server.url("/")], "one URL says whose paths"),
    ] {
        fs::write(&list, text).unwrap();
        let urls = urls.iter().map(String::as_str);
        let output = output(&["run", "--urls", &list, "-n", "1"].into_iter().chain(urls).collect::<Vec<_>>());
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains(say) && output.status.code() == Some(1), "{errors}");
    }
}
