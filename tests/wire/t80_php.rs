//! PHP behind php-fpm, beside files, in one site: handlers, path info, caching until a script changes.

use samovar_tests::php::Fpm;
use samovar_tests::server::{Folder, Server, soon};

fn site(children: usize, rules: &str) -> (Folder, Fpm, Server) {
    let folder = Folder::new();
    folder.write("index.php", "<?php header('X-Was: ' . getmypid()); echo 'index ', microtime(true);");
    folder
        .write("hello.php", "<?php echo 'hello ', $_GET['n'] ?? '-', ' ', $_SERVER['PATH_INFO'] ?? 'none';");
    folder.write("echo.php", "<?php echo strlen(file_get_contents('php://input'));");
    folder.write("dies.php", "<?php header('Cache-Control: max-age=60'); echo str_repeat('x', 100000); flush(); exec('kill -9 ' . getmypid());");
    folder.write("slow.php", "<?php usleep(300000); echo 'slow';");
    folder.write("style.css", "body{}");
    let fpm = Fpm::start(&folder.0, children);
    let text = format!(
        "config = 1\n[[site]]\nname = \"php\"\ndefault = true\nindex = [\"index.php\", \"index.html\"]\n\
         handlers = [{{ extension = \".php\", fastcgi = \"unix:{}\" }}]\nfiles = \"{}\"\n{rules}",
        fpm.socket.display(),
        folder.0.display()
    );
    let (server, _file) = Server::configured(&text, &["--access-log", "off"]);
    (folder, fpm, server)
}

#[test]
fn scripts_run_beside_files() {
    let (_folder, _fpm, server) = site(2, "");
    assert!(server.get("/", &[]).text().starts_with("index "));
    assert_eq!(server.get("/hello.php?n=1", &[]).text(), "hello 1 none");
    assert_eq!(server.get("/hello.php/a/b", &[]).text(), "hello - /a/b");
    assert_eq!(server.get("/style.css", &[]).field("content-type"), Some("text/css; charset=utf-8"));
    assert_eq!(server.get("/missing.php", &[]).status, 404);
    assert_eq!(server.get("/style.css/evil.php", &[]).status, 404, "path info only where the script exists");
    assert_eq!(server.connect().request("POST", "/echo.php", &[], &vec![b'x'; 2_000_000]).text(), "2000000");
    let head = server.connect().request("HEAD", "/hello.php", &[], b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[test]
fn without_a_rule_php_is_not_cached_and_with_one_it_is() {
    let (_folder, _fpm, server) = site(2, "");
    assert_ne!(server.get("/", &[]).text(), server.get("/", &[]).text());
    server.tell(&["rule", "add", "extension=.php", "for=30s", "vary_query={ keep = [\"n\"] }"]);
    let first = server.get("/hello.php?n=1&x=1", &[]);
    assert_eq!(first.text(), "hello 1 none");
    assert!(server.get("/hello.php?x=2&n=1", &[]).is_hit());
    assert_eq!(server.get("/hello.php?n=2", &[]).text(), "hello 2 none");
}

#[test]
fn a_script_kept_until_it_changes_is_run_anew_when_it_does() {
    let rules = "[[site.rule]]\nextension = \".php\"\nuntil_changed = true\n";
    let (folder, _fpm, server) = site(2, rules);
    for round in 0..3 {
        let text = format!("version {round}");
        folder.write("next", format!("<?php echo '{text}';"));
        std::fs::rename(folder.path("next"), folder.path("hello.php")).unwrap();
        soon("the new script", || (server.get("/hello.php", &[]).text() == text).then_some(()));
        for _ in 0..5 {
            assert_eq!(server.get("/hello.php", &[]).text(), text);
        }
        soon("a hit", || server.get("/hello.php", &[]).is_hit().then_some(()));
    }
}

#[test]
fn a_script_that_dies_in_mid_body_is_not_stored() {
    let (_folder, _fpm, server) = site(2, "");
    for _ in 0..2 {
        let answer = server.get("/dies.php", &[]);
        assert!(!answer.whole || answer.status >= 500, "{}", answer.cache_status());
    }
    assert_eq!(server.json(&["cache", "list", "dies"]).as_array().unwrap().len(), 0);
    assert_eq!(server.get("/hello.php", &[]).status, 200);
}

#[test]
fn many_ask_few_children() {
    let (_folder, _fpm, server) = site(2, "");
    std::thread::scope(|scope| {
        for n in 0..12 {
            let server = &server;
            scope.spawn(move || {
                assert_eq!(server.get(&format!("/slow.php?n={n}"), &[]).text(), "slow");
            });
        }
    });
}
