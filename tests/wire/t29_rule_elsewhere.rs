//! A rule may send its requests to an upstream of its own, beside a site's files or another upstream.

use samovar_tests::origin::Origin;
use samovar_tests::server::{Folder, Server, run};

fn mixed(origin: &str, rules: &str) -> (Folder, String) {
    let folder = Folder::new();
    folder.write("index.html", "a file");
    folder.write("app/hidden.html", "under the rule's path");
    let text = format!(
        "config = 1\n[[site]]\nname = \"mixed\"\ndefault = true\nfiles = {:?}\n{rules}\n\
         [[upstream]]\nname = \"app\"\nmembers = [{{ url = \"{origin}\" }}]\n",
        folder.0
    );
    (folder, text)
}

#[test]
fn what_a_rule_sends_elsewhere_goes_there_and_the_rest_stays_with_the_files() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60")]);
    let rules = "[[site.rule]]\npath = \"/app/**\"\nupstream = \"app\"\n";
    let (_folder, text) = mixed(&origin.url, rules);
    let (server, _file) = Server::configured(&text, &[]);
    assert_eq!(server.get("/", &[]).text(), "a file");
    assert_eq!(origin.count(), 0);
    let first = server.get("/app/hidden.html", &[]);
    assert_ne!(first.text(), "under the rule's path");
    assert_eq!(origin.count(), 1);
    assert!(server.get("/app/hidden.html", &[]).is_hit());
    assert_eq!(server.connect().request("POST", "/app/x", &[], b"body").status, 200);
    assert_eq!(origin.count(), 2);
}

#[test]
fn cookies_matter_there_although_the_site_has_files() {
    // A file reads no cookies, an application does: the rule's requests are not those of files alone.
    let origin = Origin::counting(&[]);
    let rules = "[[site.rule]]\npath = \"/app/**\"\nupstream = \"app\"\nfor = \"60s\"\n";
    let (_folder, text) = mixed(&origin.url, rules);
    let (server, _file) = Server::configured(&text, &[]);
    for _ in 0..4 {
        server.get("/app/page", &[]);
    }
    let before = origin.count();
    for _ in 0..4 {
        let answer = server.get("/app/page", &[("Cookie", "sid=somebody")]);
        assert_eq!(answer.reason(), "request-cookie", "{}", answer.cache_status());
    }
    assert_eq!(origin.count(), before + 4);
}

#[test]
fn an_unknown_upstream_of_a_rule_and_one_without_files_to_watch_are_told() {
    for (rules, said) in [
        ("[[site.rule]]\npath = \"/app/**\"\nupstream = \"ap\"\n", "did you mean \"app\"?"),
        ("[[site.rule]]\npath = \"/a/**\"\nupstream = \"app\"\nuntil_changed = true\n", "no files to watch"),
    ] {
        let (folder, text) = mixed("http://127.0.0.1:1", rules);
        let file = folder.write("samovar.toml", text);
        let checked = run(&["check", "--config", file.to_str().unwrap()]);
        let stderr = String::from_utf8_lossy(&checked.stderr).into_owned();
        assert_eq!(checked.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
    }
}
