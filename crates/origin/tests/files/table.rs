//! What each kind of path comes to.

use crate::scratch::Scratch;
use crate::{ask, files, outcome, settings};
use samovar_origin::{Files, Resolved};
use std::fs;
use std::os::unix::net::UnixListener;
use std::process::Command;

fn check(files: &Files, table: &[(&str, &str)]) {
    for (path, expected) in table {
        assert_eq!(ask(files, path), *expected, "{path}");
    }
}

#[test]
fn files_folders_and_index_documents() {
    let s = Scratch::new("plain");
    for path in
        ["index.html", "a.txt", "sub/index.html", "sub/deep/b.txt", "blog/index.php", "blog/index.html"]
    {
        s.file(path, path);
    }
    s.folder("empty");
    s.folder("odd/index.html");
    s.file("sp ace.txt", "");
    s.file("ümlaut.txt", "");
    s.file("100%.txt", "");
    s.file("a+b&c.txt", "");
    s.file("back\\slash/x", "");
    let long = "n".repeat(255);
    s.file(&long, "");
    let files = files(&s);
    check(
        &files,
        &[
            ("/", "file /index.html"),
            ("/a.txt", "file /a.txt"),
            ("/a.txt/", "file-not-found"),
            ("/a.txt/more", "file-not-found"),
            ("/A.txt", "file-not-found"),
            ("/none", "file-not-found"),
            ("/none/", "file-not-found"),
            ("/sub", "redirect /sub/"),
            ("/sub/", "file /sub/index.html"),
            ("/sub//deep", "redirect /sub/deep/"),
            ("//sub", "redirect /sub/"),
            ("///sub//", "file /sub/index.html"),
            ("/back%5Cslash", "redirect /back%5Cslash/"),
            ("/back\\slash", "redirect /back%5Cslash/"),
            ("/blog/", "script /blog/index.php - .php"),
            ("/empty/", "listing"),
            ("/odd/", "listing"),
            ("/sp%20ace.txt", "file /sp ace.txt"),
            ("/%C3%BCmlaut.txt", "file /ümlaut.txt"),
            ("/100%25.txt", "file /100%.txt"),
            ("/a+b&c.txt", "file /a+b&c.txt"),
            ("/%61.txt", "file /a.txt"),
            (&format!("/{long}"), &format!("file /{long}")),
            (&format!("/{long}x"), "file-not-found"),
            (&format!("/{}", "d/".repeat(3000)), "file-not-found"),
            ("", "file /index.html"),
        ],
    );
    assert_eq!(outcome(files.resolve("/sub", Some("a=b&c"), &[], &[])), "redirect /sub/?a=b&c");
    assert_eq!(
        outcome(files.resolve("/blog/", None, &[], &["none".into(), "index.html".into()])),
        "file /blog/index.html"
    );
}

#[test]
fn without_listing_a_folder_says_which_documents_it_misses() {
    let s = Scratch::new("nolist");
    s.folder("empty");
    s.file("app/index.php", "");
    let files = Files::new(samovar_origin::FilesSettings { listing: false, ..settings(&s) }).unwrap();
    let index = ["index.php".to_owned(), "index.html".to_owned()];
    let Resolved::No(reason, detail) = files.resolve("/empty/", None, &[".php"], &index) else { panic!() };
    assert_eq!(reason, samovar_reason::Files::NoIndex);
    assert!(detail.contains("index.php, index.html") && detail.contains("listing is off"), "{detail}");
    // A document that is there but has no handler is the better hint.
    assert_eq!(outcome(files.resolve("/app/", None, &[], &index)), "no-handler");
}

#[test]
fn scripts_and_what_follows_them() {
    let s = Scratch::new("scripts");
    for path in ["a.php", "sub/B.PHP", "photo.jpg", "list.inc", "run.sh", "tool.py", "x.phtml", "a.php.txt"] {
        s.file(path, "");
    }
    s.folder("dir.php");
    s.file("dir.php/c.php", "");
    s.file("dir.php/c.txt", "");
    let files = files(&s);
    check(
        &files,
        &[
            ("/a.php", "script /a.php - .php"),
            ("/a.php/", "script /a.php / .php"),
            ("/a.php/x/y", "script /a.php /x/y .php"),
            ("/a.php/x//y/", "script /a.php /x//y/ .php"),
            ("/a.php/x%2Fy%20z", "script /a.php /x/y z .php"),
            ("/a.php/.hidden", "script /a.php /.hidden .php"),
            ("/a.php/..%2f..%2fetc", "file-outside-root"),
            ("/a.php/%00", "file-not-found"),
            ("/a.php/%ff", "file-not-found"),
            ("/a.php/b.php", "script /a.php /b.php .php"),
            ("/sub/B.PHP", "script /sub/B.PHP - .php"),
            ("/none.php", "file-not-found"),
            ("/none.php/a.php", "file-not-found"),
            // The old hole: the source of a picture run as a script.
            ("/photo.jpg/x.php", "file-not-found"),
            ("/dir.php", "redirect /dir.php/"),
            ("/dir.php/", "listing"),
            ("/dir.php/c.php/i", "script /dir.php/c.php /i .php"),
            ("/dir.php/c.txt", "file /dir.php/c.txt"),
            ("/list.inc", "no-handler"),
            ("/run.sh", "no-handler"),
            ("/tool.py", "no-handler"),
            ("/x.phtml", "no-handler"),
            ("/a.php.txt", "file /a.php.txt"),
        ],
    );
    assert_eq!(outcome(files.resolve("/a.php", None, &[], &[])), "no-handler");
    assert_eq!(outcome(files.resolve("/sub/B.PHP", None, &[".py"], &[])), "no-handler");
    assert_eq!(outcome(files.resolve("/tool.py", None, &[".php", ".py"], &[])), "script /tool.py - .py");
}

#[test]
fn hidden_names_in_any_case() {
    let s = Scratch::new("hidden");
    for path in [
        ".env",
        ".git/config",
        ".well-known/acme",
        ".well-known/.secret",
        "sub/.well-known/x",
        "web.config",
        "sub/WEB.Config",
        ".HTAccess",
        "a.php~",
        "b.BAK",
        "c.orig",
        "d.swp",
        "#e#",
        "old.bak/f",
    ] {
        s.file(path, "");
    }
    let files = files(&s);
    for path in [
        "/.env",
        "/%2Eenv",
        "/%2eenv",
        "/.git/config",
        "/.git/",
        "/.git",
        "/.well-known/.secret",
        "/sub/.well-known/x",
        "/web.config",
        "/Web.Config",
        "/sub/WEB.Config",
        "/.HTAccess",
        "/.htaccess",
        "/a.php~",
        "/b.BAK",
        "/c.orig",
        "/d.swp",
        "/%23e%23",
        "/old.bak/f",
        "/.",
        "/.nothing",
    ] {
        assert_eq!(ask(&files, path), "file-hidden", "{path}");
    }
    assert_eq!(ask(&files, "/.well-known/acme"), "file /.well-known/acme");
    assert_eq!(ask(&files, "/.well-known"), "redirect /.well-known/");
}

#[test]
fn paths_that_lead_out_and_links() {
    let s = Scratch::new("links");
    fs::write(s.base().join("outside/secret.txt"), "OUTSIDE").unwrap();
    s.file("sub/b.txt", "b");
    s.file("a.txt", "a");
    s.folder(".data");
    s.file(".data/v1.txt", "1");
    s.link("../outside", "out");
    s.link("../outside/secret.txt", "secret");
    s.link(s.base().join("outside"), "abs-out");
    s.link("/", "slash");
    s.link("/proc/self/root", "magic");
    s.link("/proc/self/cwd", "cwd");
    s.link("sub", "in");
    s.link(s.at("sub"), "abs-in");
    s.link("../root/sub", "round");
    s.link("in/b.txt", "chain");
    s.link("loop", "loop");
    s.link("nowhere", "dangling");
    s.link(".data/v1.txt", "current.txt");
    s.link("..", "sub/up");
    s.link("../..", "sub/far");
    let files = files(&s);
    check(
        &files,
        &[
            ("/../outside/secret.txt", "file-outside-root"),
            ("/%2e%2e/outside/secret.txt", "file-outside-root"),
            ("/sub/../a.txt", "file-outside-root"),
            ("/..%2foutside%2fsecret.txt", "file-not-found"),
            ("/sub%2Fb.txt", "file-not-found"),
            ("/a.txt%00", "file-not-found"),
            ("/a.txt%00.html", "file-not-found"),
            ("/out/secret.txt", "file-outside-root"),
            ("/out", "file-outside-root"),
            ("/out/", "file-outside-root"),
            ("/secret", "file-outside-root"),
            ("/abs-out/secret.txt", "file-outside-root"),
            ("/slash/etc/passwd", "file-outside-root"),
            ("/magic/etc/passwd", "file-outside-root"),
            ("/cwd/Cargo.toml", "file-outside-root"),
            ("/sub/far/outside/secret.txt", "file-outside-root"),
            ("/in/b.txt", "file /in/b.txt"),
            ("/in", "redirect /in/"),
            ("/in/", "listing"),
            ("/abs-in/b.txt", "file /abs-in/b.txt"),
            // It leaves and comes back: its real place is inside.
            ("/round/b.txt", "file /round/b.txt"),
            ("/chain", "file /chain"),
            ("/sub/up/a.txt", "file /sub/up/a.txt"),
            ("/loop", "file-not-found"),
            ("/loop/x", "file-not-found"),
            ("/dangling", "file-not-found"),
            ("/current.txt", "file /current.txt"),
        ],
    );
    let strict = Files::new(samovar_origin::FilesSettings { follow_links: false, ..settings(&s) }).unwrap();
    for path in ["/in/b.txt", "/chain", "/abs-in/b.txt", "/out/secret.txt", "/secret", "/loop"] {
        assert_eq!(ask(&strict, path), "file-link-refused", "{path}");
    }
    assert_eq!(ask(&strict, "/sub/b.txt"), "file /sub/b.txt");
}

#[test]
fn what_is_never_served_is_found_behind_links_too() {
    let s = Scratch::new("never");
    s.file("samovar.toml", "");
    s.file("state/db", "");
    s.file("statement", "");
    s.link("samovar.toml", "config.txt");
    s.link("state", "s");
    let never = vec![s.at("samovar.toml"), s.at("state"), s.base().join("outside")];
    let files = Files::new(samovar_origin::FilesSettings { never, ..settings(&s) }).unwrap();
    for path in
        ["/samovar.toml", "//samovar.toml", "/state/db", "/state/", "/state", "/config.txt", "/s/db", "/s/"]
    {
        assert_eq!(ask(&files, path), "file-hidden", "{path}");
    }
    assert_eq!(ask(&files, "/statement"), "file /statement");
}

#[test]
fn neither_file_nor_folder() {
    let s = Scratch::new("odd");
    let made = Command::new("mkfifo").arg(s.at("pipe")).status().unwrap();
    assert!(made.success());
    let _socket = UnixListener::bind(s.at("socket")).unwrap();
    let files = files(&s);
    // A FIFO without a writer would hang whoever opens it carelessly.
    assert_eq!(ask(&files, "/pipe"), "not-a-file");
    assert_eq!(ask(&files, "/socket"), "not-a-file");
    assert_eq!(ask(&files, "/pipe/"), "file-not-found");
    let made = Command::new("mknod")
        .arg(s.at("null"))
        .args(["c", "1", "3"])
        .stderr(std::process::Stdio::null())
        .status();
    if made.is_ok_and(|status| status.success()) {
        // Opening may be refused (a file system without devices) or not.
        assert!(["not-a-file", "file-unreadable"].contains(&ask(&files, "/null").as_str()));
    } else {
        eprintln!("not checked: device nodes (this user may not make one)");
    }
}

#[test]
fn the_root_may_be_replaced_and_come_back() {
    let s = Scratch::new("root");
    s.file("a.txt", "old");
    let files = files(&s);
    assert_eq!(ask(&files, "/a.txt"), "file /a.txt");
    fs::rename(s.root(), s.base().join("aside")).unwrap();
    assert_eq!(ask(&files, "/a.txt"), "root-gone");
    assert!(files.version("/a.txt").is_none());
    fs::write(s.root(), "a file now").unwrap();
    assert_eq!(ask(&files, "/a.txt"), "root-gone");
    fs::remove_file(s.root()).unwrap();
    s.file("b.txt", "new");
    assert_eq!(ask(&files, "/a.txt"), "file-not-found");
    assert_eq!(ask(&files, "/b.txt"), "file /b.txt");
    fs::remove_dir_all(s.root()).unwrap();
    assert_eq!(ask(&files, "/b.txt"), "root-gone");
    s.file("b.txt", "newer");
    assert_eq!(ask(&files, "/b.txt"), "file /b.txt");
}

#[test]
fn a_missing_root_is_told_with_its_name_and_served_as_soon_as_it_is_there() {
    let s = Scratch::new("noroot");
    let never = vec![s.at("www/users")];
    let missing = samovar_origin::FilesSettings { root: s.at("www"), never, ..settings(&s) };
    let files = Files::new(missing).unwrap();
    let Resolved::No(why, detail) = files.resolve("/a.txt", None, &[], &[]) else { panic!("served") };
    assert_eq!(why.to_string(), "root-gone");
    assert!(detail.contains("www"), "{detail}");
    // It comes as a link, as releases are put in their place; what is never served lies elsewhere by then.
    fs::create_dir(s.at("release")).unwrap();
    fs::write(s.at("release/a.txt"), "a").unwrap();
    fs::write(s.at("release/users"), "u").unwrap();
    std::os::unix::fs::symlink("users", s.at("release/link")).unwrap();
    std::os::unix::fs::symlink(s.at("release"), s.at("www")).unwrap();
    assert_eq!(ask(&files, "/a.txt"), "file /a.txt");
    assert_eq!(ask(&files, "/users"), "file-hidden");
    assert_eq!(ask(&files, "/link"), "file-hidden", "nor by the place where it really lies");
}

/// Whatever the server was started with, and under whatever name.
#[test]
fn keys_and_configurations_of_ours_are_never_served() {
    let s = Scratch::new("secrets");
    let key = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n";
    let chain = format!("-----BEGIN CERTIFICATE-----\n{}-----END CERTIFICATE-----\n", "QUJD\n".repeat(2_000));
    s.file("samovar.toml", "");
    s.file("sites/SAMOVAR.toml", "");
    s.file("prod.toml", "# ours\nconfig = 1\n[[site]]\n");
    s.file("key.pem", key);
    s.file("notes", key);
    s.file("both.pem", &format!("{chain}{key}"));
    s.file("id_rsa", "");
    s.file("store.p12", "");
    s.file("account.json", "{\"private_key\": \"-----BEGIN PRIVATE KEY-----\\nMIIE\"}");
    s.file("chain.pem", &chain);
    s.file("how-to.html", &format!("<pre>\n{key}</pre>"));
    s.file("how-to.txt", "write -----BEGIN PRIVATE KEY----- first");
    s.file("Cargo.toml", "[package]\nname = \"a\"\n");
    let files = files(&s);
    for path in ["samovar.toml", "sites/SAMOVAR.toml", "prod.toml", "key.pem", "notes", "both.pem", "id_rsa"]
    {
        assert_eq!(ask(&files, &format!("/{path}")), "file-hidden", "{path}");
    }
    for path in ["store.p12", "account.json"] {
        assert_eq!(ask(&files, &format!("/{path}")), "file-hidden", "{path}");
    }
    for path in ["chain.pem", "how-to.html", "how-to.txt", "Cargo.toml"] {
        assert_eq!(ask(&files, &format!("/{path}")), format!("file /{path}"));
    }
}
