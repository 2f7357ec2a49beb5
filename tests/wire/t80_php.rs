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

/// A rule for the script holds for the folder whose default document it is; the key stays the client's path.
#[test]
fn a_rule_for_the_default_document_holds_for_its_folder() {
    let rules = "[[site.rule]]\npath = \"/pictures/index.php\"\nfor = \"60s\"\n\
                 [[site.rule]]\nextension = \".html\"\nclient_cache_control = \"max-age=77\"\n\
                 [[site.rule]]\npath = \"/both/**\"\nnever = true\n\
                 [[site.rule]]\nextension = \".php\"\nfor = \"30s\"\nvary_query = { keep = [] }\n";
    let (folder, _fpm, server) = site(2, rules);
    folder.write("pictures/index.php", "<?php echo microtime(true);");
    folder.write("both/index.php", "<?php echo microtime(true);");
    folder.write("plain/index.html", "plain");
    let first = server.get("/pictures/", &[]);
    let again = server.get("/pictures/", &[]);
    assert!(again.is_hit() && again.body == first.body, "{}", again.cache_status());
    // Another key, as it is another path.
    assert_ne!(server.get("/pictures/index.php", &[]).text(), first.text());
    // By extension, with what the rule says of the key.
    let first = server.get("/?a=1", &[]);
    let again = server.get("/?b=2", &[]);
    assert!(again.is_hit() && again.body == first.body, "{}", again.cache_status());
    // The document that is there decides, not the first that might be.
    assert_eq!(server.get("/plain/", &[]).field("cache-control"), Some("max-age=77"));
    assert_eq!(server.get("/both/", &[]).reason(), "rule-never");
    let document = |path: &str| {
        let explained = server.json(&["explain", &server.url(path)]).to_string();
        let by_document = explained.contains("rule-by-document");
        (by_document, explained.contains("/pictures/index.php"), explained.contains("/plain/index.html"))
    };
    assert_eq!(document("/pictures/"), (true, true, false));
    assert_eq!(document("/plain/"), (true, false, true));
    assert_eq!(document("/pictures/index.php"), (false, true, false));
    assert!(!document("/both/").0 && !document("/none/").0);
    // Another document takes the place of the first.
    folder.write("pictures/next", "static");
    std::fs::remove_file(folder.path("pictures/index.php")).unwrap();
    std::fs::rename(folder.path("pictures/next"), folder.path("pictures/index.html")).unwrap();
    soon("the new document", || {
        let answer = server.get("/pictures/", &[]);
        (answer.text() == "static" && answer.field("cache-control") == Some("max-age=77")).then_some(())
    });
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

/// An application that sees its scripts under another path is told that one; files are still read from ours.
#[test]
fn a_handler_may_have_a_root_of_its_own() {
    let folder = Folder::new();
    folder.write("site/where.php", "<?php echo $_SERVER['SCRIPT_FILENAME'], ' ', $_SERVER['DOCUMENT_ROOT'];");
    std::os::unix::fs::symlink(folder.path("site"), folder.path("as-the-application-sees-it")).unwrap();
    let fpm = Fpm::start(&folder.0, 1);
    let text = format!(
        "config = 1\n[[site]]\ndefault = true\nfiles = \"{0}/site\"\n\
         handlers = [{{ extension = \".php\", fastcgi = \"unix:{1}\", root = \"{0}/as-the-application-sees-it\" }}]\n",
        folder.0.display(),
        fpm.socket.display(),
    );
    let (server, _file) = Server::configured(&text, &["--access-log", "off"]);
    let root = folder.path("as-the-application-sees-it");
    let want = format!("{0}/where.php {0}", root.display());
    assert_eq!(server.get("/where.php", &[]).text(), want);
}

/// Two applications of one upstream share its work; when one ends, the other goes on. Its children are told by its page.
#[test]
fn members_that_speak_fastcgi() {
    let folder = Folder::new();
    folder.write("who.php", "<?php echo ini_get('error_log') ?: getmypid();");
    let (one, two) = (Folder::new(), Folder::new());
    for side in [&one, &two] {
        side.write("who.php", "<?php echo 'unused';");
    }
    let (first, second) = (Fpm::start(&one.0, 1), Fpm::start(&two.0, 1));
    let text = format!(
        "config = 1\n[[site]]\ndefault = true\nfiles = \"{}\"\nnever = true\nhandlers = [{{ extension = \".php\", fastcgi = \"app\" }}]\n\
         [[upstream]]\nname = \"app\"\nmembers = [{{ fastcgi = \"unix:{}\", name = \"one\" }}, {{ fastcgi = \"unix:{}\", name = \"two\" }}]\n\
         probe = {{ path = \"/ping\", interval = \"100ms\", status = [\"200-599\"] }}\n",
        folder.0.display(),
        first.socket.display(),
        second.socket.display(),
    );
    let (server, _file) = Server::configured(&text, &["--access-log", "off"]);
    let pids: std::collections::HashSet<String> =
        (0..6).map(|_| server.get("/who.php", &[]).text()).collect();
    assert_eq!(pids.len(), 2, "two children of two applications: {pids:?}");
    drop(first);
    let after: std::collections::HashSet<String> = (0..6)
        .map(|_| {
            let answer = server.get("/who.php", &[]);
            assert_eq!(answer.status, 200, "{}", answer.text());
            answer.text()
        })
        .collect();
    assert_eq!(after.len(), 1, "{after:?}");
    soon("its probes say so", || {
        let all = server.json(&["upstream", "list"]);
        (all[0]["members"][0]["unusable"] == "member-down").then_some(())
    });
}

/// `samovar limits` asks php-fpm's own page how many of its children are busy.
#[test]
fn the_children_of_php_fpm_are_among_the_limits() {
    let folder = Folder::new();
    folder.write("slow.php", "<?php usleep(1500000); echo 'slow';");
    let fpm = Fpm::of(
        &folder.0,
        "[global]\nerror_log = fpm.log\ndaemonize = no\n[www]\nlisten = x\npm = static\npm.max_children = 3\npm.status_path = /status\n",
    );
    let text = format!(
        "config = 1\n[[site]]\ndefault = true\nfiles = \"{}\"\nhandlers = [{{ extension = \".php\", fastcgi = \"app\" }}]\n\
         [[upstream]]\nname = \"app\"\nfastcgi = \"unix:{}\"\nfpm_status = \"/status\"\n",
        folder.0.display(),
        fpm.socket.display()
    );
    let (server, _file) = Server::configured(&text, &["--access-log", "off"]);
    let row = || {
        let all = server.json(&["limits"]);
        let found = all.as_array().unwrap().iter().find(|l| l["name"] == "php-fpm.app.children");
        found.unwrap_or_else(|| panic!("{all}")).clone()
    };
    // The child that told it last may still be closing.
    soon("none is busy", || {
        let row = row();
        assert_eq!(row["number"], 3, "{row}");
        (row["used"] == 0).then_some(())
    });
    let mut client = server.connect();
    client.send("GET /slow.php HTTP/1.1\r\nHost: x\r\n\r\n");
    soon("one is busy", || (row()["used"] == 1).then_some(()));
}

/// The Last-Modified of an application tells when some content changed, not when the page will: as WordPress says it of a
/// feed. Files beside it are as ever.
#[test]
fn no_lifetime_is_guessed_for_php() {
    let feed = "<?php header('Last-Modified: ' . gmdate('D, d M Y H:i:s', time() - 20 * 86400) . ' GMT'); echo microtime(true);";
    for (settings, stored) in [("", false), ("heuristic_factor = 0.1\n", true), ("respect = true\n", false)] {
        let (folder, _fpm, server) = site(1, settings);
        folder.write("feed.php", feed);
        let first = server.get("/feed.php", &[]).text();
        assert_eq!(server.get("/feed.php", &[]).text() == first, stored, "{settings}");
        server.get("/style.css", &[]);
        assert!(server.get("/style.css", &[]).is_hit() || settings.starts_with("respect"), "{settings}");
    }
}
