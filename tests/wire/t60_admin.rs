//! The command line against a running server: what it tells, what it changes, what it refuses.

use samovar_tests::client::Client;
use samovar_tests::origin::Origin;
use samovar_tests::server::{Folder, Server, run, soon};

#[test]
fn explain_tells_why_in_words_and_in_json() {
    let origin = Origin::new(|asked| match asked.target() {
        "/private" => (200, vec![("Cache-Control".into(), "private".into())], b"x".to_vec()),
        _ => (200, vec![("Cache-Control".into(), "max-age=60".into())], b"y".to_vec()),
    });
    let server = Server::before(&origin.url, &[]);
    let dry = server.json(&["explain", "/page"]);
    assert_eq!((dry["reason"].as_str(), origin.count()), (Some("no-entry"), 0), "dry means dry");
    server.get("/page", &[]);
    let text = server.tell(&["explain", "/page"]);
    assert!(text.contains("would be a hit") && text.contains("max-age"), "{text}");
    let live = server.tell(&["explain", "--live", "/private"]);
    assert!(live.contains("private") && live.contains("for one user"), "{live}");
    assert!(server.tell(&["explain", "/private"]).contains("private"));
}

#[test]
fn a_request_id_leads_to_its_record() {
    let server = Server::before("http://127.0.0.1:1", &["--access-log", "stderr"]);
    let page = server.get("/x?token=hunter2", &[("Accept", "application/json"), ("Cookie", "sid=hunter2")]);
    let value: serde_json::Value = serde_json::from_slice(&page.body).unwrap();
    let id = value["id"].as_str().unwrap();
    let record = server.tell(&["trace", id]);
    assert!(record.contains("upstream-refused"), "{record}");
    let log = soon("the log line", || Some(server.said()).filter(|s| s.contains(id)));
    for text in [record, log, server.tell(&["trace", id, "--json"])] {
        assert!(!text.contains("hunter2"), "secrets are redacted: {text}");
    }
    let unknown = server.ask(&["trace", "00000000deadbeef"]);
    assert_eq!(unknown.status.code(), Some(1));
}

#[test]
fn rules_are_edited_in_the_file_and_keep_its_comments() {
    let origin = Origin::counting(&[]);
    let text = format!(
        "# my server\nconfig = 1\n\n[[site]]\nname = \"one\" # the only one\ndefault = true\norigin = \"{}\"\n\n\
         # pictures\n[[site.rule]]\nextension = \".jpg\"\nfor = \"10s\" # ten\n",
        origin.url
    );
    let (server, file) = Server::configured(&text, &[]);
    server.get("/a.jpg", &[]);
    assert!(server.get("/a.jpg", &[]).is_hit());
    server.tell(&["rule", "add", "path=/live/**", "never=true", "--at", "first"]);
    server.tell(&["rule", "set", "r2", "for=20s"]);
    let now = std::fs::read_to_string(&file).unwrap();
    for kept in ["# my server", "# the only one", "# pictures", "for = \"20s\"", "/live/**"] {
        assert!(now.contains(kept), "{kept:?} in\n{now}");
    }
    assert_eq!(server.get("/live/a.jpg", &[]).reason(), "rule-never");
    let refused = server.ask(&["rule", "add", "fro=10s"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && said.contains("`for`"), "a suggestion: {said}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), now, "a refused change changes nothing");
}

#[test]
fn a_reload_is_whole_or_not_at_all() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60")]);
    let good = format!("config = 1\n[[site]]\nname = \"one\"\ndefault = true\norigin = \"{}\"\n", origin.url);
    let (server, file) = Server::configured(&good, &[]);
    server.get("/", &[]);
    std::fs::write(&file, format!("{good}\nnonsense = [[[")).unwrap();
    let refused = server.ask(&["reload"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said.contains("samovar.toml:"), "file, line and column: {said}");
    assert!(server.get("/", &[]).is_hit(), "the server goes on, cache and all");
    std::fs::write(&file, format!("{good}[[site.rule]]\npath = \"/**\"\nnever = true\n")).unwrap();
    server.signal("HUP");
    soon("the new rule", || (server.get("/", &[]).reason() == "rule-never").then_some(()));
    assert_eq!(run(&["check", "--config", file.to_str().unwrap()]).status.code(), Some(0));
}

#[test]
fn what_init_writes_is_accepted() {
    let folder = Folder::new();
    let text = run(&["init"]);
    assert!(text.status.success());
    let file = folder.write("samovar.toml", &text.stdout);
    let checked = run(&["check", "--config", file.to_str().unwrap()]);
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stderr));
    let schema = run(&["schema"]);
    assert!(serde_json::from_slice::<serde_json::Value>(&schema.stdout).is_ok());
}

#[test]
fn what_is_stored_can_be_listed_and_purged() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60"), ("Surrogate-Key", "red blue")]);
    let server = Server::before(&origin.url, &[]);
    for path in ["/a", "/a/1", "/a/2", "/b"] {
        server.get(path, &[]);
    }
    let list = server.json(&["cache", "list"]);
    assert_eq!(list.as_array().unwrap().len(), 4);
    assert_eq!(list[0]["tags"], serde_json::json!(["red", "blue"]));
    assert_eq!(server.json(&["cache", "purge", "/a"])["entries"], 1);
    assert!(!server.get("/a", &[]).is_hit());
    assert_eq!(server.json(&["cache", "purge", "--prefix", "http://test/a/"])["entries"], 2);
    assert_eq!(server.json(&["cache", "purge", "--tag", "blue"])["entries"], 2);
    let stats = server.json(&["cache", "stats"]);
    assert_eq!((stats["entries"].as_u64(), stats["used_bytes"].as_u64()), (Some(0), Some(0)), "{stats}");
}

#[test]
fn no_server_is_told_apart_and_other_sites_cannot_ask() {
    let output = run(&["status", "--admin", "127.0.0.1:1"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("samovar serve"));
    let folder = Folder::new();
    let server = Server::start(&[folder.0.to_str().unwrap()]);
    let admin = server.admin.trim_start_matches("http://").to_string();
    let ask = |host: &str| Client::connect(&admin).get("/v1/status", &[("Host", host)]).status;
    assert_eq!((ask(&admin), ask("evil.example")), (200, 403));
    let document = Client::connect(&admin).get("/v1/openapi.json", &[("Host", &admin)]);
    let document: serde_json::Value = serde_json::from_slice(&document.body).unwrap();
    assert!(document["paths"]["/v1/purge"].is_object());
    let metrics = Client::connect(&admin).get("/metrics", &[("Host", &admin)]).text();
    assert!(metrics.contains("samovar_requests_total{cache=\"hot\"} 0") && metrics.ends_with("# EOF\n"));
    assert!(
        metrics.contains("samovar_memory_bytes{part=\"answers\"} ")
            && metrics.contains("samovar_memory_bytes{part=\"connections\"} ")
            && metrics.contains("samovar_connections_limit 10000")
    );
    // Every figure is in the guide, in the same words.
    let guide = include_str!("../../docs/watching.md");
    let told =
        |begin: &str| metrics.lines().filter_map(|l| l.strip_prefix(begin)).collect::<Vec<_>>().into_iter();
    let mut figures = 0;
    for (help, kind) in told("# HELP ").zip(told("# TYPE ")) {
        let ((name, help), (_, kind)) = (help.split_once(' ').unwrap(), kind.split_once(' ').unwrap());
        let suffix = if kind == "counter" { "_total" } else { "" };
        let row = format!("| `{name}{suffix}` | {kind} | {help} |");
        assert!(guide.contains(&row), "not in docs/watching.md: {row}");
        figures += 1;
    }
    assert!(figures > 20 && guide.matches("\n| `samovar_").count() == figures, "{figures}");
    // Open to other machines, it wants a token.
    let open = run(&["serve", folder.0.to_str().unwrap(), "--listen", "127.0.0.1:0", "--admin", "0.0.0.0:0"]);
    assert_eq!(open.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&open.stderr).contains("SAMOVAR_ADMIN_TOKEN"));
}

#[test]
fn the_log_is_reopened_and_both_forms_are_whole() {
    let folder = Folder::new();
    folder.write("index.html", "hi");
    let log = folder.path("access.log");
    let server = Server::start(&[
        folder.0.to_str().unwrap(),
        "--access-log",
        log.to_str().unwrap(),
        "--log-format",
        "json",
    ]);
    let lines = |path: &std::path::Path| std::fs::read_to_string(path).unwrap_or_default().lines().count();
    for _ in 0..10 {
        server.get("/", &[]);
    }
    soon("ten lines", || (lines(&log) == 10).then_some(()));
    let text = std::fs::read_to_string(&log).unwrap();
    // Cores hand in their lines on their own, so the order of two moments is not the order of two lines.
    let all: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(all.iter().all(|l| l["status"] == 200));
    assert_eq!(all.iter().filter(|l| l["reason"] == "no-entry").count(), 1, "{text}");
    let moved = folder.path("access.log.1");
    std::fs::rename(&log, &moved).unwrap();
    server.signal("USR1");
    soon("the new file", || log.exists().then_some(()));
    server.get("/", &[]);
    soon("a line in it", || (lines(&log) == 1).then_some(()));
    assert_eq!(lines(&moved), 10);
}

#[test]
fn purges_reach_what_a_rule_spells_otherwise_and_soft_ones_hold_for_all_methods() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60"), ("ETag", "\"x\"")]);
    let server = Server::before(&origin.url, &[]);
    server.tell(&["rule", "add", "path=/Case/**", "ignore_case=true", "respect=true"]);
    server.get("/Case/Pics/A", &[]);
    assert!(server.get("/Case/pics/a", &[]).is_hit());
    assert_eq!(server.json(&["cache", "purge", "--prefix", "http://test/Case/Pics/"])["entries"], 1);
    for path in ["/soft", "/soft2"] {
        server.get(path, &[]);
        server.tell(&["cache", "purge", path, "--soft"]);
    }
    assert!(!server.get("/soft2", &[("Range", "bytes=0-1")]).is_hit());
    let head = server.connect().request("HEAD", "/soft", &[], b"");
    assert!(!head.is_hit(), "{}", head.cache_status());
    // The HEAD repeated the stored tag, which confirms it (RFC 9111 §4.3.5).
    assert!(server.get("/soft", &[("Range", "bytes=0-1")]).is_hit());
}

#[test]
fn signals_are_taken_from_the_first_moment() {
    let folder = Folder::new();
    for name in ["HUP", "USR1", "HUP", "USR1"] {
        let server = Server::start(&[folder.0.to_str().unwrap()]);
        server.signal(name);
        assert_eq!(server.get("/", &[]).status, 403, "still there after {name}");
    }
}

#[test]
fn a_log_that_cannot_be_written_is_said() {
    let folder = Folder::new();
    let server = Server::start(&[folder.0.to_str().unwrap(), "--access-log", "/dev/full"]);
    server.get("/", &[]);
    soon("the complaint", || server.said().contains("cannot be written").then_some(()));
}

#[test]
fn every_refusal_of_the_admin_side_is_json() {
    let folder = Folder::new();
    let server = Server::start(&[folder.0.to_str().unwrap()]);
    let admin = server.admin.trim_start_matches("http://").to_string();
    let json = ("Content-Type", "application/json");
    for (fields, body, status) in [
        (&[json][..], &b"{nonsense"[..], 400),
        (&[json], b"{\"unknown\": 1}", 422),
        (&[], b"{}", 415),
        (&[json], b"{}", 400),
    ] {
        let mut all = vec![("Host", admin.as_str())];
        all.extend_from_slice(fields);
        let answer = Client::connect(&admin).request("POST", "/v1/purge", &all, body);
        let said: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(answer.status, status, "{said}");
        assert!(said["error"].as_str().is_some_and(|e| !e.is_empty()), "{said}");
    }
}
