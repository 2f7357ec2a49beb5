//! Files and folders this user may not read. Root may read everything, so the questions are asked by a child
//! that runs as nobody.

use crate::scratch::Scratch;
use crate::{ask, files};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Set for the child: the folder it is to look at.
const FOLDER: &str = "SAMOVAR_TEST_FOLDER";

#[test]
fn what_may_not_be_read_is_told_as_such() {
    let s = Scratch::new("modes");
    for path in ["open/a.txt", "closed.txt", "closed/b.txt", "pass/c.txt", "pass/index.html", "closed.php"] {
        s.file(path, "x");
    }
    let mode = |path: &str, mode: u32| fs::set_permissions(s.at(path), Permissions::from_mode(mode)).unwrap();
    mode("closed.txt", 0o200);
    mode("closed.php", 0o200);
    mode("closed", 0o600);
    // May be passed through, not listed.
    mode("pass", 0o711);
    fs::set_permissions(s.base(), Permissions::from_mode(0o755)).unwrap();
    let me = std::env::current_exe().unwrap();
    // The build's folder may be closed to nobody.
    let copy = s.base().join("asks");
    fs::copy(&me, &copy).unwrap();
    fs::set_permissions(&copy, Permissions::from_mode(0o755)).unwrap();
    let mut child = Command::new(&copy);
    child.args(["--exact", "unreadable::asked_as_nobody", "--ignored", "--nocapture"]).env(FOLDER, s.root());
    if rustix::process::geteuid().is_root() {
        child.uid(65_534).gid(65_534);
    }
    let done = child.current_dir("/").output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && text.contains("asked 7"),
        "{text}{}",
        String::from_utf8_lossy(&done.stderr)
    );
    mode("closed", 0o700);
}

#[test]
#[ignore = "the child of the test above"]
fn asked_as_nobody() {
    let Ok(root) = std::env::var(FOLDER) else { return };
    let files = samovar_origin::Files::new(samovar_origin::FilesSettings {
        root: root.into(),
        listing: true,
        follow_links: true,
        never: Vec::new(),
        types: Vec::new(),
    })
    .unwrap();
    let table = [
        ("/open/a.txt", "file /open/a.txt"),
        ("/closed.txt", "file-unreadable"),
        ("/closed/b.txt", "file-unreadable"),
        ("/pass", "redirect /pass/"),
        ("/pass/c.txt", "file /pass/c.txt"),
        ("/pass/", "file /pass/index.html"),
        // Whether the application may read it is the application's business.
        ("/closed.php", "script /closed.php - .php"),
    ];
    for (path, expected) in table {
        assert_eq!(ask(&files, path), expected, "{path}");
    }
    println!("asked {}", table.len());
}

#[test]
fn a_root_user_is_not_refused_here() {
    // Keeps the child's table honest: the same tree without the modes has none of the refusals.
    let s = Scratch::new("nomodes");
    s.file("closed.txt", "x");
    assert_eq!(ask(&files(&s), "/closed.txt"), "file /closed.txt");
}
