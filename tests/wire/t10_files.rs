//! Files: what is served, what is not, and that a change is seen.

use samovar_tests::client::Client;
use samovar_tests::server::{Folder, Server, run, soon};

fn site() -> (Folder, Server) {
    let folder = Folder::new();
    folder.write("index.html", "<h1>hello</h1>");
    folder.write("sub/page.html", "page");
    folder.write(".secret", "no");
    folder.write("web.config", "no");
    folder.write("script.php", "<?php secret();");
    folder.write("big.bin", (0..300_000u32).map(|i| (i % 251) as u8).collect::<Vec<_>>());
    let server = Server::start(&[folder.0.to_str().unwrap(), "--access-log", "off"]);
    (folder, server)
}

#[test]
fn index_types_and_validators() {
    let (_folder, server) = site();
    let answer = server.get("/", &[]);
    assert_eq!((answer.status, answer.text().as_str()), (200, "<h1>hello</h1>"));
    assert_eq!(answer.field("content-type"), Some("text/html; charset=utf-8"));
    let etag = answer.field("etag").unwrap().to_string();
    let again = server.get("/", &[("If-None-Match", &etag)]);
    assert_eq!((again.status, again.body.len()), (304, 0));
    let modified = answer.field("last-modified").unwrap().to_string();
    assert_eq!(server.get("/", &[("If-Modified-Since", &modified)]).status, 304);
    assert_eq!(server.get("/sub", &[]).field("location"), Some("/sub/"));
}

#[test]
fn what_is_never_served() {
    let (_folder, server) = site();
    for path in [
        "/.secret",
        "/web.config",
        "/WEB.CONFIG",
        "/script.php",
        "/%2esecret",
        "/../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/nope",
    ] {
        let answer = server.get(path, &[]);
        assert!(matches!(answer.status, 400 | 403 | 404), "{path}: {}", answer.status);
        assert!(!answer.text().contains("secret()"), "{path}");
    }
    assert_eq!(server.get("/script.php", &[]).reason(), "no-handler");
    assert_eq!(server.get("/sub/", &[]).reason(), "no-index");
    assert!(
        server.get("/sub/", &[]).text().contains("listing"),
        "those on this machine are told which setting is missing"
    );
}

#[test]
fn ranges_of_files_and_of_stored_answers() {
    let (_folder, server) = site();
    let whole: Vec<u8> = (0..300_000u32).map(|i| (i % 251) as u8).collect();
    // Not stored yet, then stored, then hot or not: the same bytes.
    for round in 0..3 {
        let part = server.get("/big.bin", &[("Range", "bytes=1000-1999")]);
        assert_eq!((part.status, &part.body[..]), (206, &whole[1000..2000]), "round {round}");
        assert_eq!(part.field("content-range"), Some("bytes 1000-1999/300000"));
        let tail = server.get("/big.bin", &[("Range", "bytes=-5")]);
        assert_eq!(&tail.body[..], &whole[299_995..]);
        assert_eq!(server.get("/big.bin", &[("Range", "bytes=300000-")]).status, 416);
        assert_eq!(server.get("/big.bin", &[]).body, whole);
    }
}

#[test]
fn head_is_the_same_without_a_body() {
    let (_folder, server) = site();
    for _ in 0..3 {
        let mut client = server.connect();
        let head = client.request("HEAD", "/", &[], b"");
        assert_eq!(head.field("content-length"), Some("14"));
        // The connection is in step: the next answer is read right.
        assert_eq!(client.get("/sub/page.html", &[]).text(), "page");
        client.get("/", &[]);
    }
}

#[test]
fn a_change_is_seen_in_every_tier() {
    let (folder, server) = site();
    for round in 0..5 {
        let text = format!("version {round}");
        folder.write("next", &text);
        std::fs::rename(folder.path("next"), folder.path("index.html")).unwrap();
        soon("the new version", || (server.get("/", &[]).text() == text).then_some(()));
        // Warm it up on every core.
        for _ in 0..10 {
            assert_eq!(server.get("/", &[]).text(), text);
        }
    }
    std::fs::remove_file(folder.path("index.html")).unwrap();
    soon("its absence", || (server.get("/", &[]).status == 403).then_some(()));
}

#[test]
fn methods_and_options() {
    let (_folder, server) = site();
    let answer = server.connect().request("POST", "/", &[], b"x");
    assert_eq!((answer.status, answer.field("allow")), (405, Some("GET, HEAD, OPTIONS")));
    assert_eq!(server.connect().request("OPTIONS", "*", &[], b"").status, 204);
}

#[test]
fn listings_are_off_until_asked_for() {
    let folder = Folder::new();
    folder.write("a <b>.txt", "x");
    let server = Server::start(&[folder.0.to_str().unwrap(), "--listing"]);
    let answer = server.get("/", &[]);
    assert_eq!(answer.status, 200);
    assert!(answer.text().contains("a &lt;b&gt;.txt"), "{}", answer.text());
}

#[test]
fn listeners_of_every_kind() {
    let folder = Folder::new();
    folder.write("index.html", "hi");
    let socket = folder.path("socket");
    let unix = format!("unix:{}", socket.display());
    let server = Server::start_with(
        &[folder.0.to_str().unwrap()],
        &["--listen", "127.0.0.1:0", "--listen", "[::1]:0", "--listen", &unix],
    );
    assert_eq!(server.listen.len(), 3);
    for address in &server.listen[..2] {
        assert_eq!(Client::connect(address.trim_start_matches("http://")).get("/", &[]).text(), "hi");
    }
    let curl = std::process::Command::new("curl")
        .args(["-s", "--unix-socket", socket.to_str().unwrap(), "http://x/"])
        .output()
        .unwrap();
    assert_eq!(curl.stdout, b"hi");
    // A port in use is an error with a way out, and no second server steals connections.
    let taken = run(&["serve", folder.0.to_str().unwrap(), "--listen", &server.address, "--admin", "off"]);
    let said = String::from_utf8_lossy(&taken.stderr).into_owned();
    assert_eq!(taken.status.code(), Some(1));
    assert!(said.contains("in use") && said.contains("hint:"), "{said}");
}

#[test]
fn what_cannot_be_served_is_said() {
    for (args, word) in [
        (&["serve", "/no/such/folder"][..], "does not exist"),
        (&["serve", "/etc/hostname"], "not a folder"),
        (&["serve", "--origin", "https://x"], "https"),
        (&["serve", "--origin", "nonsense://x"], "cannot be used"),
        (&["serve"], "hint:"),
        (&["serve", "/tmp", "--listen", "nonsense"], "nonsense"),
        (&["serve", "--config", "/no/such.toml"], "samovar init"),
    ] {
        let output = run(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains(word), "{args:?} should mention {word:?}: {said}");
    }
}

#[test]
fn a_graceful_stop_lets_a_request_finish() {
    let origin = samovar_tests::origin::Origin::new(|_| {
        std::thread::sleep(std::time::Duration::from_millis(600));
        (200, vec![], b"finished".to_vec())
    });
    let mut server = Server::before(&origin.url, &[]);
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    soon("the request at the origin", || (origin.count() == 1).then_some(()));
    let mut idle = server.connect();
    assert_eq!(idle.request("OPTIONS", "*", &[], b"").status, 204);
    server.signal("TERM");
    assert_eq!(client.answer("GET").text(), "finished");
    assert!(idle.is_closed());
    assert_eq!(server.wait(), Some(0), "{}", server.said());
}

#[test]
fn a_folder_without_its_slash_is_redirected_with_its_query() {
    let (_folder, server) = site();
    let answer = server.get("/sub?a=1&b=2", &[]);
    assert_eq!((answer.status, answer.field("location")), (301, Some("/sub/?a=1&b=2")));
}
