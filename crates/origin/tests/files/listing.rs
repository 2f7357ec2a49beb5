//! The listing of a folder, as a browser gets it.

use crate::answers::run;
use crate::scratch::Scratch;
use crate::{files, settings};
use http_body_util::BodyExt;
use samovar_origin::{Answer, AnswerBody, Files, FilesSettings, Resolved};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime};

fn list(files: &Files, path: &str, query: Option<&str>) -> Answer {
    match files.resolve(path, query, &[".php"], &[]) {
        Resolved::Listing(answer) => answer,
        other => panic!("{path}: {}", crate::outcome(other)),
    }
}

fn page(answer: Answer) -> String {
    let AnswerBody::Stream { len: None, frames } = answer.body else { panic!("not a stream") };
    let bytes = run(async { frames.collect().await.unwrap().to_bytes() });
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The links of the table's rows, in order.
fn names(page: &str) -> Vec<String> {
    let rows = page.split("<tr><td class=\"name").skip(1);
    rows.map(|row| row.split("href=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()).collect()
}

#[test]
fn names_are_escaped_and_hidden_ones_left_out() {
    let s = Scratch::new("listed");
    for name in [
        "d/a.txt",
        "d/<script>alert(1)<",
        "d/a&b\"'.txt",
        "d/javascript:alert(1)",
        "d/ümlaut",
        "d/a b#c?d%e",
        "d/x.php",
        "d/folder/inner",
        "d/new\nline",
        "d/.env",
        "d/web.config",
        "d/lib.inc",
        "d/old.bak",
        "d/draft~",
        "d/samovar.toml",
    ] {
        s.file(name, "12345");
    }
    fs::write(s.at("d").join(OsStr::from_bytes(b"latin\xe9")), "").unwrap();
    fs::write(s.base().join("outside/secret"), "").unwrap();
    s.link("../../outside/secret", "d/out");
    s.link("a.txt", "d/inlink");
    s.link("nowhere", "d/dangling");
    assert!(std::process::Command::new("mkfifo").arg(s.at("d/pipe")).status().unwrap().success());
    let files = Files::new(FilesSettings { never: vec![s.at("d/samovar.toml")], ..settings(&s) }).unwrap();
    let page = page(list(&files, "/d/", None));
    let expected = [
        "../",
        "folder/",
        "%3Cscript%3Ealert%281%29%3C",
        "a%20b%23c%3Fd%25e",
        "a%26b%22%27.txt",
        "a.txt",
        "inlink",
        "javascript%3Aalert%281%29",
        "latin%E9",
        "new%0Aline",
        "x.php",
        "%C3%BCmlaut",
    ];
    assert_eq!(names(&page), expected);
    assert!(page.contains("&lt;script&gt;alert(1)&lt;") && page.contains("a&amp;b&quot;&#39;.txt"));
    assert!(page.contains("new\u{fffd}line") && page.contains("latin\u{fffd}"));
    assert!(!page.contains("<script") && !page.contains("onclick"), "no JavaScript");
    // Every link listed finds something.
    for name in &expected[1..] {
        let path = format!("/d/{name}");
        let outcome = crate::ask(&files, &path);
        assert!(
            outcome.starts_with("file /") || outcome.starts_with("script ") || outcome == "listing",
            "{path}: {outcome}"
        );
    }
}

#[test]
fn sorted_by_links() {
    let s = Scratch::new("sorted");
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_750_000_000);
    for (name, len, age) in [("b", 10, 1), ("A", 3000, 3), ("c", 200, 2)] {
        let place = s.file(name, &"x".repeat(len));
        let file = File::options().write(true).open(place).unwrap();
        file.set_modified(start - Duration::from_secs(age * 86_400)).unwrap();
    }
    s.folder("zz");
    let files = files(&s);
    for (query, expected) in [
        (None, ["zz/", "A", "b", "c"]),
        (Some("sort=name&order=desc"), ["zz/", "c", "b", "A"]),
        (Some("sort=size&order=asc"), ["zz/", "b", "c", "A"]),
        (Some("sort=size&order=desc"), ["zz/", "A", "c", "b"]),
        (Some("sort=time"), ["zz/", "A", "c", "b"]),
        (Some("x=1&sort=time&order=desc"), ["zz/", "b", "c", "A"]),
        (Some("sort=<script>&order=%00&&=&"), ["zz/", "A", "b", "c"]),
    ] {
        let page = page(list(&files, "/", query));
        assert_eq!(names(&page), expected, "{query:?}");
        assert!(!page.contains("../"), "the root has no parent");
        assert!(!page.contains("<script"));
    }
    let page = page(list(&files, "/", Some("sort=size&order=asc")));
    assert!(page.contains("href=\"?sort=size&amp;order=desc\">Size ↑"), "the same column the other way");
    assert!(page.contains("href=\"?sort=name&amp;order=asc\">Name<"));
    assert!(page.contains("2.9 KiB") && page.contains("title=\"3000 bytes\""));
    assert!(
        page.contains("2025-06-12 15:06") && page.contains("datetime=\"2025-06-12T15:06:40Z\""),
        "{page}"
    );
    assert!(page.contains("1 folder, 3 files, 3.1 KiB"));
}

#[test]
fn the_head_needs_no_page() {
    let s = Scratch::new("listhead");
    s.folder("d/e");
    let files = files(&s);
    let answer = list(&files, "/d/", None);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(answer.headers["cache-control"], "no-cache");
    assert!(answer.headers.contains_key("last-modified"));
    let tag = answer.headers["etag"].clone();
    assert!(tag.to_str().unwrap().starts_with("W/\""));
    assert_eq!(list(&files, "/d/", None).headers["etag"], tag);
    assert_ne!(list(&files, "/d/", Some("sort=size")).headers["etag"], tag, "another page");
    s.file("d/new", "");
    assert_ne!(list(&files, "/d/", None).headers["etag"], tag);
    // Gone between head and page: an error or an empty page, never a panic.
    let answer = list(&files, "/d/", None);
    fs::remove_dir_all(s.at("d")).unwrap();
    let AnswerBody::Stream { frames, .. } = answer.body else { panic!() };
    if let Ok(page) = run(async { frames.collect().await }) {
        assert_eq!(names(std::str::from_utf8(&page.to_bytes()).unwrap()), ["../"]);
    }
}

#[test]
fn a_huge_folder_is_bounded_and_says_so() {
    let s = Scratch::new("huge");
    for n in 0..5_100 {
        File::create(s.at(&format!("f{n}"))).unwrap();
    }
    let page = page(list(&files(&s), "/", None));
    assert_eq!(names(&page).len(), 5_000);
    assert!(page.contains("This folder holds more than a listing shows"));
    assert!(page.len() < 2 * 1024 * 1024, "{} bytes", page.len());
}
