//! examples/gallery as it is shipped: what is kept, by what it varies, what ends it, and that nobody gets out of its folder.

use samovar_tests::php::Fpm;
use samovar_tests::server::{Folder, Server, program, soon};
use samovar_tests::{root, tiers};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The gallery with two pictures, on free ports.
struct Gallery {
    server: Server,
    _fpm: Fpm,
    folder: Folder,
}

impl Gallery {
    fn start() -> Gallery {
        let folder = Folder::new();
        for part in ["lib", "site", "samovar.toml", "php-fpm.conf"] {
            copy(&root().join("examples/gallery").join(part), &folder.path(part));
        }
        let pictures = folder.path("site/pictures");
        let _ = std::fs::remove_dir_all(&pictures);
        let painted = Command::new(program("copyright-images"))
            .args(["--pictures", "2", "--write"])
            .arg(pictures.join("landscapes"))
            .output()
            .unwrap();
        assert!(painted.status.success(), "{painted:?}");
        std::fs::create_dir_all(pictures.join("empty")).unwrap();
        let fpm = Fpm::of(&folder.0, &std::fs::read_to_string(folder.path("php-fpm.conf")).unwrap());
        let text = std::fs::read_to_string(folder.path("samovar.toml")).unwrap();
        let named = text.find("fastcgi = \"127").unwrap();
        let end = named + text[named..].find('\n').unwrap();
        let text = format!("{}fastcgi = \"unix:{}\"{}", &text[..named], fpm.socket.display(), &text[end..]);
        let config = folder.write("samovar.toml", text);
        let server = Server::start(&["--config", config.to_str().unwrap(), "--access-log", "off"]);
        Gallery { server, _fpm: fpm, folder }
    }

    /// Status, body, and whether it came from the cache.
    fn get(&self, path: &str) -> (u16, Vec<u8>, bool) {
        let answer = self.server.get(path, &[]);
        (answer.status, answer.body.clone(), answer.is_hit())
    }

    fn listed(&self) -> Vec<Value> {
        self.server.json(&["cache", "list"]).as_array().unwrap().clone()
    }
}

fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        std::fs::copy(from, to).unwrap();
        return;
    }
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten().filter(|e| e.file_name() != "pictures") {
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

const PAGE: &str = "/index.php?Qwd=./landscapes&Qif=sea-1.jpg&Qiv=none&Qis=M";

#[test]
fn pages_vary_by_their_four_variables_and_by_nothing_else() {
    let gallery = Gallery::start();
    let first = gallery.get(PAGE);
    assert_eq!((first.0, first.2), (200, false));
    for same in [
        "/index.php?Qwd=./landscapes&Qif=sea-1.jpg&Qiv=none&Qis=M&utm_source=x",
        "/index.php?Qis=M&Qiv=none&Qif=sea-1.jpg&Qwd=./landscapes",
    ] {
        let again = gallery.get(same);
        assert!(again == (200, first.1.clone(), true), "{same}: {} {}", again.0, again.2);
    }
    // Links of the pages lead to addresses as they are typed, so that none is kept twice.
    let link = "/thumb.php?Qif=sea-1.jpg&amp;Qis=M&amp;Qwd=./landscapes";
    assert!(String::from_utf8_lossy(&first.1).contains(link));
    // Each of the four makes another page, and none of them is answered with a page of the others.
    let mut bodies = vec![first.1];
    for other in [
        "/index.php?Qwd=.&Qiv=none&Qis=M",
        "/index.php?Qwd=./landscapes&Qif=mountains-1.jpg&Qiv=none&Qis=M",
        "/index.php?Qwd=./landscapes&Qif=sea-1.jpg&Qiv=thumbs&Qis=M",
        "/index.php?Qwd=./landscapes&Qif=sea-1.jpg&Qiv=none&Qis=L",
    ] {
        let (status, body, hit) = gallery.get(other);
        assert_eq!((status, hit), (200, false), "{other}");
        assert!(!bodies.contains(&body), "{other} is a page of before");
        assert!(gallery.get(other) == (200, body.clone(), true), "{other}");
        bodies.push(body);
    }
    assert_eq!(gallery.get("/").0, 200);
    assert!(gallery.get("/").2, "the start page has a rule of its own");
}

/// The walk's third and fourth step, and the question of its author: what is in there?
#[test]
fn what_is_in_memory_and_what_is_hot_is_listed() {
    let gallery = Gallery::start();
    for size in ["S", "M"] {
        for _ in 0..4 {
            let (status, body, _) =
                gallery.get(&format!("/thumb.php?Qwd=./landscapes&Qif=sea-1.jpg&Qis={size}"));
            assert_eq!((status, &body[..2]), (200, &[0xFF, 0xD8][..]), "a JPEG");
        }
    }
    let of = |size: &str| {
        let wanted = format!("Qis={size}&");
        gallery.listed().into_iter().find(|e| e["url"].as_str().unwrap().contains(&wanted)).unwrap()
    };
    let small = of("S")["url"].as_str().unwrap().to_string();
    assert!(small.contains("thumb.php?Qif=sea-1.jpg&Qis=S&Qwd=./landscapes"), "{small}");
    assert_ne!(of("S")["body_bytes"], of("M")["body_bytes"]);
    if tiers::wanted() != tiers::Hot::Off {
        soon("both hot", || (of("S")["tier"] == "hot" && of("M")["tier"] == "hot").then_some(()));
    }
    gallery.server.tell(&["rule", "set", "pages", "hot=false"]);
    soon("not hot", || {
        gallery.get("/thumb.php?Qwd=./landscapes&Qif=sea-1.jpg&Qis=S");
        (of("S")["tier"] == "memory").then_some(())
    });
    gallery.server.tell(&["rule", "remove", "pages"]);
    assert!((0..3).all(|_| !gallery.get(PAGE).2), "without the rule every page is made anew");
}

#[test]
fn a_new_picture_ends_the_pages_that_list_it() {
    let gallery = Gallery::start();
    let page = "/index.php?Qwd=./landscapes&Qiv=name&Qis=M";
    for round in 2..5 {
        assert!((0..2).any(|_| gallery.get(page).2));
        let name = format!("sea-{round}.jpg");
        let path = |name: &str| gallery.folder.path("site/pictures/landscapes").join(name);
        std::fs::copy(path("sea-1.jpg"), path(&name)).unwrap();
        soon("a page with it", || {
            String::from_utf8(gallery.get(page).1).unwrap().contains(&name).then_some(())
        });
    }
}

#[test]
fn letterings_vary_by_language_and_not_by_the_words_for_it() {
    let gallery = Gallery::start();
    // A small picture: what is held here is whose response is whose, and a large one takes seconds to draw where others work, too.
    let (made, list) = (gallery.folder.path("small"), gallery.folder.path("list"));
    let painted = Command::new(program("thirst"))
        .args(["content", "-q", "--list"])
        .args([&list, &made])
        .arg("jpegs:1x640x480")
        .output()
        .unwrap();
    assert!(painted.status.success(), "{painted:?}");
    let listed = std::fs::read_to_string(list).unwrap();
    let small = made.join(listed.trim().trim_start_matches('/'));
    std::fs::copy(small, gallery.folder.path("site/pictures/landscapes/small.jpg")).unwrap();
    let get = |language: &str| {
        let path = "/lettered.php?Qwd=./landscapes&Qif=small.jpg";
        let response = gallery.server.get(path, &[("Accept-Language", language)]);
        assert_eq!((response.status, &response.body[..2]), (200, &[0xFF, 0xD8][..]), "{language}: a JPEG");
        response
    };
    // Whatever ends what is stored, a watch that has only now seen all folders among it, may cost one more drawing.
    let kept = |language: &str, body: &[u8]| {
        soon("a hit", || {
            let response = get(language);
            assert!(response.body == body, "{language}: another picture than before");
            response.is_hit().then_some(())
        });
    };
    let english = get("en");
    for (language, other) in [("de-AT, en;q=0.5", "de;q=0.9,fr;q=0.1"), ("es", "en;q=0.1,es-MX")] {
        let first = get(language);
        assert!(!first.is_hit() && first.body != english.body, "{language}");
        kept(other, &first.body);
    }
    kept("fr", &english.body);
    // Three languages are three variants; words of their own for one of them would have made a fourth.
    let lettered = |entry: &Value| entry["url"].as_str().unwrap().contains("lettered.php");
    assert_eq!(gallery.listed().iter().filter(|entry| lettered(entry)).count(), 3, "{:?}", gallery.listed());
}

#[test]
fn nobody_leaves_the_folder_nor_writes_html() {
    let gallery = Gallery::start();
    gallery.folder.write("secret.jpg", "secret");
    let pictures = gallery.folder.path("site/pictures");
    std::os::unix::fs::symlink(&gallery.folder.0, pictures.join("out")).unwrap();
    std::os::unix::fs::symlink(gallery.folder.path("secret.jpg"), pictures.join("link.jpg")).unwrap();
    let table = [
        ("/index.php?Qwd=..", 404),
        ("/index.php?Qwd=./landscapes/../..", 404),
        ("/index.php?Qwd=/etc", 404),
        ("/index.php?Qwd=%2e%2e%2f", 404),
        ("/index.php?Qwd=./out", 404),
        ("/index.php?Qwd=./none", 404),
        ("/index.php?Qwd=.%00", 404),
        ("/index.php?Qwd=.%0a", 404),
        ("/index.php?Qwd[]=.", 400),
        ("/index.php?Qwd=.&Qif=link.jpg", 404),
        ("/thumb.php?Qwd=.&Qif=link.jpg", 404),
        ("/thumb.php?Qwd=.&Qif=../../secret.jpg", 404),
        ("/thumb.php?Qwd=./out&Qif=secret.jpg", 404),
        ("/thumb.php?Qwd=./landscapes&Qif=sea-1.jpg&Qis=100000", 404),
        ("/thumb.php?Qwd=./landscapes", 404),
        ("/lettered.php?Qwd=./landscapes&Qif=php://stdin", 404),
        ("/index.php?Qiv=%3Cscript%3E", 404),
        ("/index.php?Qwd=./landscapes&Qif=%22%3E%3Cscript%3E.jpg", 404),
        ("/lib/gallery.php", 404),
        ("/../lib/gallery.php", 400),
        ("/php-fpm-status", 404),
    ];
    for (path, wanted) in table {
        let answer = gallery.server.get(path, &[]);
        assert_eq!(answer.status, wanted, "{path}: {}", answer.text());
        let text = answer.text();
        assert!(
            !text.contains("<script") && !text.contains("secret") && !text.contains("Warning"),
            "{path}: {text}"
        );
    }
    // What was refused is not kept: a cache cannot be filled with it.
    assert!(gallery.listed().iter().all(|e| e["status"] == 200), "{:?}", gallery.listed());
}

/// A page lists what has the name of a picture; what is none is not opened, however large it says it is.
#[test]
fn what_only_has_the_name_of_a_picture_does_no_harm() {
    let gallery = Gallery::start();
    let huge: &[u8] = &[
        0xFF, 0xD8, 0xFF, 0xC0, 0, 17, 8, 0xFF, 0xF0, 0xFF, 0xF0, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1,
        0xFF, 0xD9,
    ];
    for (name, content) in [("huge.jpg", huge), ("text.jpg", b"<?php echo 1;"), ("none.jpg", b"")] {
        std::fs::write(gallery.folder.path("site/pictures/empty").join(name), content).unwrap();
    }
    let (status, page, _) = gallery.get("/index.php?Qwd=./empty&Qiv=name");
    let page = String::from_utf8(page).unwrap();
    assert!(status == 200 && page.contains("huge.jpg") && page.ends_with("</html>\n"), "{page}");
    for name in ["huge.jpg", "text.jpg", "none.jpg"] {
        for script in ["thumb", "lettered", "index"] {
            let path = format!("/{script}.php?Qwd=./empty&Qif={name}");
            assert_eq!(gallery.get(&path).0, 404, "{path}");
        }
    }
}
