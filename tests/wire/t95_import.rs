//! Configurations of other servers brought along: the seeds' own fragments, by what the new file does and not by its text.

use samovar_tests::origin::Origin;
use samovar_tests::php::Fpm;
use samovar_tests::server::{Folder, Server, run};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn fragment(name: &str) -> PathBuf {
    samovar_tests::root().join("tests/import").join(name)
}

/// `samovar import ARGS`: the new file and what it said.
pub(super) fn import(args: &[&str]) -> (String, String) {
    let mut all = vec!["import"];
    all.extend_from_slice(args);
    let output = run(&all);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "samovar {all:?}: {said}");
    (String::from_utf8(output.stdout).unwrap(), said)
}

fn refused(args: &[&str]) -> String {
    let mut all = vec!["import"];
    all.extend_from_slice(args);
    let output = run(&all);
    assert_eq!(output.status.code(), Some(1), "samovar {all:?}");
    assert!(output.stdout.is_empty(), "nothing is written when nothing was imported");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `samovar check` of a text; what it said.
pub(super) fn check(text: &str) -> (Option<i32>, String) {
    let folder = Folder::new();
    let file = folder.write("samovar.toml", text);
    let output = run(&["check", "--config", file.to_str().unwrap()]);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Checked without an error, then served on a free port.
pub(super) fn serve(text: &str) -> Server {
    let (code, said) = check(text);
    assert_eq!(code, Some(0), "{said}\n{text}");
    let text: String =
        text.lines().filter(|line| !line.starts_with("listen = ")).map(|l| format!("{l}\n")).collect();
    Server::configured(&text, &["--access-log", "off"]).0
}

/// Places `name` as a `web.config` beside some pages.
fn web_config(name: &str) -> (Folder, String) {
    let folder = Folder::new();
    std::fs::copy(fragment(name), folder.path("web.config")).unwrap();
    let path = folder.path("web.config").display().to_string();
    (folder, path)
}

#[test]
fn pictures_are_kept_ten_seconds_by_language_and_the_folder_is_listed() {
    let (folder, config) = web_config("pictures.config");
    folder.write("a.jpg", "a picture");
    let (text, _) = import(&["iis", &config]);
    let server = serve(&text);
    assert!(server.get("/", &[]).text().contains("a.jpg"), "directoryBrowse");
    let ask = |language: &str| server.get("/a.jpg", &[("Accept-Language", language)]);
    ask("de");
    let again = ask("de");
    assert!(again.is_hit(), "{}", again.cache_status());
    assert!(!ask("es").is_hit(), "varyByHeaders");
    // CacheForTimePeriod keeps it although the file changes.
    folder.write("a.jpg", "another picture");
    assert_eq!(ask("de").text(), "a picture");
    let explained = server.tell(&["explain", "/a.jpg", "-H", "Accept-Language: de"]);
    assert!(explained.contains("10 s") || explained.contains("10s"), "{explained}");
    assert_eq!(server.get("/web.config", &[]).status, 403, "the configuration itself is not served");
}

#[test]
fn the_kernels_policy_makes_pictures_hot() {
    let (folder, config) = web_config("pictures-kernel.config");
    folder.write("a.jpg", "a picture");
    let (text, _) = import(&["iis", &config]);
    let server = serve(&text);
    let mut client = server.connect();
    for _ in 0..5 {
        client.get("/a.jpg", &[]);
    }
    let list = server.json(&["cache", "list", "a.jpg"]);
    // Rules for what IIS hides by itself stand before it.
    assert!(list[0]["rule"].as_str().is_some_and(|rule| rule.starts_with("main/r")), "{list}");
    let metrics = server.json(&["status"]);
    assert!(metrics["requests"]["hot"].as_u64().is_some_and(|n| n >= 1), "{metrics}");
}

#[test]
fn one_document_stands_still_for_thirty_seconds_and_its_neighbours_do_not() {
    let (folder, config) = web_config("one-document.config");
    folder.write("default.php", "<?php echo microtime(true);");
    folder.write("other.php", "<?php echo microtime(true);");
    let fpm = Fpm::start(&folder.0, 2);
    let address = format!("unix:{}", fpm.socket.display());
    let (text, said) = import(&["iis", &config, "--fastcgi", &address]);
    assert!(!said.contains("FILL-IN"), "{said}");
    let server = serve(&text);
    // frequentHitThreshold: the second request within the period is the first that is kept.
    server.get("/", &[]);
    let kept = server.get("/default.php", &[]).text();
    let kept = if server.get("/default.php", &[]).text() == kept {
        kept
    } else {
        server.get("/default.php", &[]).text()
    };
    for _ in 0..3 {
        assert_eq!(
            server.get("/default.php", &[("Cache-Control", "no-cache")]).text(),
            kept,
            "Ctrl+F5 changes nothing"
        );
    }
    let others: Vec<String> = (0..4).map(|_| server.get("/other.php", &[]).text()).collect();
    assert!(others.windows(2).all(|pair| pair[0] != pair[1]), "{others:?}");
}

#[test]
fn the_gallery_is_kept_by_its_four_variables() {
    let folder = Folder::new();
    folder.write("index.php", "<?php echo $_SERVER['QUERY_STRING'], ' ', microtime(true);");
    let fpm = Fpm::start(&folder.0, 2);
    let address = format!("unix:{}", fpm.socket.display());
    let files = folder.0.display().to_string();
    let config = fragment("qdig.applicationHost.config").display().to_string();
    let (text, _) = import(&["iis", &config, "--files", &files, "--fastcgi", &address]);
    let server = serve(&text);
    let page = |query: &str| server.get(&format!("/index.php?{query}"), &[]).text();
    page("Qwd=a&Qis=M");
    let kept = page("Qwd=a&Qis=M");
    assert_eq!(page("Qis=M&Qwd=a&noise=1"), kept, "other variables do not matter");
    assert_ne!(page("Qwd=b&Qis=M"), kept);
    assert!(server.get("/", &[]).text().starts_with(' '), "index.php stands first");
}

#[test]
fn both_variants_of_the_map_servers_are_told_whole() {
    for (name, port) in
        [("apache-windows.conf", ""), ("apache-linux.conf", ":8399"), ("apache-linux-wms.conf", ":8399")]
    {
        let path = fragment(name).display().to_string();
        let (text, said) = import(&["apache", &path]);
        let table: toml::Table = text.parse().unwrap();
        let members = table["upstream"][0]["members"].as_array().unwrap();
        let urls: Vec<&str> = members.iter().map(|m| m["url"].as_str().unwrap()).collect();
        assert_eq!(urls, [format!("http://ags1.esri.com{port}"), format!("http://ags2.esri.com{port}")]);
        assert!(
            members.iter().all(|m| m["weight"].as_integer() == Some(50)),
            "a broken line goes on: {text}"
        );
        assert_eq!(table["upstream"][0]["balance"].as_str(), Some("requests"));
        let site = &table["site"][0];
        assert_eq!(site["when_silent"].as_str(), Some("1h"), "{text}");
        for warned in [
            "CacheStorePrivate On: unsafe",
            "CacheStoreNoStore On: unsafe",
            "CacheIgnoreHeaders None: unsafe",
        ] {
            assert!(said.contains(warned), "{said}");
        }
        assert!(
            !text.lines().any(|line| line.trim_start().starts_with("override")),
            "unsafe is a comment: {text}"
        );
        assert!(said.contains("CacheRoot") && said.contains("there is no disk tier yet"), "{said}");
        // What needs nobody is at the end of the file, and one line of the report.
        assert!(text.contains("CacheDirLevels 2: not carried over: there is no disk tier yet"), "{text}");
        assert!(!said.contains("CacheDirLevels") && said.contains("and nothing to do ("), "{said}");
        assert!(said.contains("balancer-manager"), "{said}");
        let (unsafe_text, _) = import(&["apache", &path, "--with-unsafe"]);
        assert!(unsafe_text.contains("\n  override = [\"no-store\", \"private\"]"), "{unsafe_text}");
        if name.ends_with("wms.conf") {
            let rules = site["rule"].as_array().unwrap();
            let rule = rules.iter().find(|rule| rule.get("for").is_some()).unwrap();
            assert_eq!(
                (rule["for"].as_str(), rule["client_cache_control"].as_str()),
                (Some("5m"), Some("max-age=300"))
            );
        }
    }
}

/// httpd: a tenth of the time since Last-Modified, whatever CacheDefaultExpire says of responses without it.
#[test]
fn a_page_modified_a_minute_ago_is_kept_for_six_seconds() {
    let origin = Origin::new(|asked| {
        let modified = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        let fields = match asked.target() {
            "/arcgis/plain" => Vec::new(),
            _ => vec![("Last-Modified".to_owned(), httpdate::fmt_http_date(modified))],
        };
        (200, fields, b"a page".to_vec())
    });
    for name in ["apache-windows.conf", "apache-linux.conf", "apache-linux-wms.conf"] {
        let (folder, path) = match name {
            "apache-windows.conf" => before_one_at(name, "ags1.esri.com", &origin.url),
            _ => before_one(name, &origin.url),
        };
        let (text, _) = import(&["apache", &path, "--files", folder.0.to_str().unwrap()]);
        let server = serve(&text);
        let seconds = |path: &str| -> u64 {
            let status = server.get(path, &[]).cache_status();
            let (_, rest) = status.split_once("ttl=").unwrap_or_else(|| panic!("{path}: {status}"));
            rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
        };
        assert!((1..=6).contains(&seconds("/arcgis/page")), "{name}: {text}");
        assert!((3_500..=3_600).contains(&seconds("/arcgis/plain")), "CacheDefaultExpire: {name}: {text}");
    }
}

/// The fragment with one of its two servers, at this address.
fn before_one(fragment_name: &str, origin: &str) -> (Folder, String) {
    before_one_at(fragment_name, "ags1.esri.com:8399", origin)
}

fn before_one_at(fragment_name: &str, named: &str, origin: &str) -> (Folder, String) {
    let text = std::fs::read_to_string(fragment(fragment_name)).unwrap();
    let folder = Folder::new();
    let host = origin.trim_start_matches("http://");
    let mut lines: Vec<String> = text.lines().map(|line| line.replace(named, host)).collect();
    let second = lines.iter().position(|line| line.contains("BalancerMember http://ags2")).unwrap();
    lines.drain(second..second + 2);
    // Until balancing is there, an upstream with one member has no method.
    lines.retain(|line| !line.contains("ProxySet") && !line.contains("route="));
    let one = lines.iter().position(|line| line.contains("loadfactor=50")).unwrap();
    lines[one] = format!("BalancerMember http://{host} loadfactor=50 keepalive=on");
    let path = folder.write("httpd.conf", lines.join("\n")).display().to_string();
    (folder, path)
}

#[test]
fn what_the_map_server_says_nothing_about_is_kept_and_only_its_path_is_passed_on() {
    let origin = Origin::counting(&[]);
    let (folder, path) = before_one("apache-linux-wms.conf", &origin.url);
    // The fragment names no DocumentRoot.
    std::fs::create_dir(folder.path("htdocs")).unwrap();
    let (text, _) = import(&["apache", &path, "--files", folder.path("htdocs").to_str().unwrap()]);
    let server = serve(&text);
    let tile = "/arcgis/rest/services/Portland/MapServer/tile/5/7/10";
    server.get(tile, &[]);
    // CacheIgnoreCacheControl: a reload is answered from the cache.
    assert!(server.get(tile, &[("Cache-Control", "no-cache")]).is_hit());
    assert_eq!(origin.count(), 1);
    // WMS, forced to five minutes.
    let map = "/arcgis/services/Portland/MapServer/WMSServer?REQUEST=GetMap&BBOX=1,2,3,4";
    server.get(map, &[]);
    let again = server.get(map, &[]);
    assert!(again.is_hit(), "{}", again.cache_status());
    assert_eq!(again.field("cache-control"), Some("max-age=300"));
    let before = origin.count();
    assert_eq!(server.get("/manager/html", &[]).status, 404, "only /arcgis/ is passed on");
    assert_eq!(origin.count(), before);
}

#[test]
fn both_map_servers_are_elected_in_turn() {
    let (one, two) = (Origin::counting(&[]), Origin::counting(&[]));
    let folder = Folder::new();
    let text = std::fs::read_to_string(fragment("apache-linux.conf")).unwrap();
    let at = |origin: &Origin| origin.url.trim_start_matches("http://").to_owned();
    let text = text.replace("ags1.esri.com:8399", &at(&one)).replace("ags2.esri.com:8399", &at(&two));
    let path = folder.write("httpd.conf", text).display().to_string();
    let (text, _) = import(&["apache", &path, "--files", folder.0.to_str().unwrap()]);
    let server = serve(&text);
    for n in 0..10 {
        server.get(&format!("/arcgis/tile/{n}"), &[]);
    }
    assert_eq!((one.count(), two.count()), (5, 5), "byrequests, loadfactor=50 each");
}

#[test]
fn what_is_private_is_not_shared_unless_it_is_asked_for() {
    for (flags, shared) in [(&[][..], false), (&["--with-unsafe"], true)] {
        let origin = Origin::counting(&[("Cache-Control", "private, max-age=60")]);
        let (folder, path) = before_one("apache-linux.conf", &origin.url);
        let files = folder.0.display().to_string();
        let mut args = vec!["apache", path.as_str(), "--files", &files];
        args.extend_from_slice(flags);
        let (text, _) = import(&args);
        let server = serve(&text);
        server.get("/arcgis/mine", &[]);
        assert_eq!(server.get("/arcgis/mine", &[]).is_hit(), shared, "{text}");
    }
}

#[test]
fn nginx_locations_become_rules() {
    let origin = Origin::counting(&[]);
    let folder = Folder::new();
    folder.write("www/index.html", "a file");
    folder.write("www/tiles/1", "never shown");
    let text = format!(
        "events {{}}\nhttp {{\n  proxy_cache_path /tmp/x keys_zone=c:1m;\n  server {{\n    listen 8080;\n    server_name test;\n    \
         root {};\n    location /tiles/ {{\n      proxy_pass {};\n      proxy_set_header Host $host;\n      proxy_cache c;\n      \
         proxy_cache_valid 200 10m;\n      proxy_cache_key $scheme$host$uri;\n    }}\n    location /live/ {{\n      proxy_pass {};\n      \
         proxy_set_header Host $host;\n      proxy_cache off;\n    }}\n  }}\n}}\n",
        folder.path("www").display(),
        origin.url,
        origin.url
    );
    let path = folder.write("nginx.conf", text).display().to_string();
    let (text, said) = import(&["nginx", &path]);
    assert!(said.contains("proxy_cache_path") && said.contains("no disk tier"), "{said}");
    let server = serve(&text);
    assert_eq!(server.get("/", &[]).text(), "a file");
    server.get("/tiles/1", &[]);
    assert!(server.get("/tiles/1?noise=1", &[]).is_hit(), "the key had no query");
    server.get("/live/1", &[]);
    assert_eq!(server.get("/live/1", &[]).reason(), "rule-never");
    assert_eq!(origin.count(), 3);
}

#[test]
fn every_directive_of_nginx_is_told_of() {
    let path = fragment("nginx.conf").display().to_string();
    let output = run(&["import", "nginx", &path, "--json"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let lines: Vec<u64> =
        value["notes"].as_array().unwrap().iter().map(|n| n["line"].as_u64().unwrap()).collect();
    let text = std::fs::read_to_string(&path).unwrap();
    for (number, line) in (1..).zip(text.lines()) {
        let bare = line.trim();
        let silent = bare.is_empty() || bare == "}" || bare == "http {";
        assert!(silent || lines.contains(&number), "line {number} is not told of: {line}");
    }
    let table: toml::Table = value["config"].as_str().unwrap().parse().unwrap();
    assert_eq!(table["site"][0]["hosts"][0].as_str(), Some("maps.example"));
}

/// What the report tells people to write for a front controller does what nginx did.
#[test]
fn what_is_to_be_filled_in_for_a_front_controller_works() {
    let folder = Folder::new();
    folder.write("index.php", "<?php echo 'page ', $_SERVER['REQUEST_URI'], ' ', $_SERVER['QUERY_STRING'];");
    folder.write("a.css", "a file");
    let fpm = Fpm::start(&folder.0, 2);
    let text = format!(
        "server {{\nlisten 8080;\nroot {};\nlocation / {{ try_files $uri /index.php?$args; }}\n\
         location ~ \\.php$ {{ fastcgi_pass 127.0.0.1:1; }}\n}}\n",
        folder.0.display()
    );
    let path = folder.write("nginx.conf", text).display().to_string();
    let address = format!("unix:{}", fpm.socket.display());
    let (text, said) = import(&["nginx", &path, "--fastcgi", &address]);
    assert!(
        said.contains("What breaks the site") && said.contains("FILL-IN: a path that is no file gets 404"),
        "{said}"
    );
    assert_eq!(serve(&text).get("/blog/1", &[]).status, 404, "as the report says");
    let filled = format!("{text}\n[[site.rule]]\npath = \"/blog/**\"\nrewrite = \"/index.php\"\n");
    let server = serve(&filled);
    assert_eq!(server.get("/blog/1?x=2", &[]).text(), "page /blog/1?x=2 x=2");
    assert_eq!(server.get("/a.css", &[]).text(), "a file");
}

/// A redirect to TLS beside a site whose certificate was not found: nothing is served before somebody names it.
#[test]
fn a_missing_certificate_is_found_before_the_site_redirects_in_circles() {
    let folder = Folder::new();
    let text = "server { listen 80; server_name a.example; return 301 https://$host$request_uri; }\n\
                server { listen 443 ssl; server_name a.example; location / { proxy_pass http://127.0.0.1:1; } }\n";
    let path = folder.write("nginx.conf", text).display().to_string();
    let (text, said) = import(&["nginx", &path]);
    assert!(said.contains("listen 443 ssl: FILL-IN: no certificate was found"), "{said}");
    assert_eq!(text.matches("[[site]]").count(), 2, "{text}");
    let (code, wrong) = check(&text);
    assert!(code != Some(0) && wrong.contains("/FILL-IN/"), "{wrong}");
}

/// The sample of docs/import.md is what the program writes.
#[test]
fn the_page_shows_the_report_that_comes_out() {
    let page = std::fs::read_to_string(samovar_tests::root().join("docs/import.md")).unwrap();
    let block = |word: &str| {
        let (_, rest) = page.split_once(&format!("```{word}\n")).unwrap();
        rest.split_once("```").unwrap().0.to_owned()
    };
    let folder = Folder::new();
    let path = folder.write("shop.conf", block("nginx")).display().to_string();
    let (text, said) = import(&["nginx", &path]);
    assert_eq!(said.trim_end().replace(&path, "shop.conf"), block("text").trim_end());
    assert!(text.contains("FILL-IN") && text.contains("# rewrite = \"/index.php\""), "{text}");
    let json = run(&["import", "nginx", &path, "--json"]);
    let value: Value = serde_json::from_slice(&json.stdout).unwrap();
    let of =
        |code: &str| value["notes"].as_array().unwrap().iter().filter(|n| n["consequence"] == code).count();
    assert_eq!((of("breaks-site"), of("less-safe"), of("cached-differently")), (2, 1, 3), "{value}");
}

/// Whatever the seeds' and the sample's files are turned into is accepted; only folders and files that are not here are missed.
#[test]
fn what_is_written_is_accepted() {
    for (source, name) in [
        ("iis", "pictures.config"),
        ("iis", "pictures-kernel.config"),
        ("iis", "one-document.config"),
        ("iis", "qdig.applicationHost.config"),
        ("apache", "apache-linux.conf"),
        ("apache", "apache-linux-wms.conf"),
        ("apache", "apache-windows.conf"),
        ("nginx", "nginx.conf"),
        ("nginx", "wordpress.conf"),
        ("nginx", "drupal.conf"),
        ("nginx", "nextcloud.conf"),
    ] {
        let (text, _) = import(&[source, &fragment(name).display().to_string()]);
        // Certificates of others are not on this machine.
        let bare = |line: &&str| !line.starts_with("certificate");
        let text: String = text
            .lines()
            .filter(bare)
            .map(|line| line.replace("\"https://0.", "\"0.").replace("\"https://[", "\"[") + "\n")
            .collect();
        let (code, said) = check(&text);
        assert_eq!(code, Some(0), "{name}: {said}\n{text}");
    }
}

#[test]
fn broken_and_hostile_files_are_refused_with_their_place() {
    let folder = Folder::new();
    let bomb = "<?xml version=\"1.0\"?>\n<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]>\n<configuration>&b;</configuration>";
    let deep_nginx = "a { ".repeat(200_000);
    let deep_apache = "<Location /a>\n".repeat(200_000);
    let long = format!("ServerName {}", "x".repeat(10 << 20));
    let long_line = format!("ServerName {}", "x".repeat(1 << 20));
    let cases: [(&str, &str, &[u8], &str); 15] = [
        ("iis", "web.config", bomb.as_bytes(), ":2:1: the file declares a document type"),
        ("iis", "web.config", b"<configuration><system.webServer>", "the file is not XML"),
        ("iis", "web.config", b"<other/>", ":1:1: the file begins with <other>"),
        ("iis", "web.config", b"\xff\xd8\xff\xe0binary\x00\x01", ":1:1: the file is not UTF-8"),
        ("apache", "httpd.conf", b"a\n<Location /x>\nb\n", ":2:1: <Location> is never closed"),
        ("apache", "httpd.conf", b"</Location>\n", ":1:1: </Location> closes nothing"),
        ("apache", "httpd.conf", b"ServerName \"x\n", ":1:1: a quote is opened"),
        ("apache", "httpd.conf", deep_apache.as_bytes(), "24 deep"),
        ("apache", "httpd.conf", long.as_bytes(), "larger than"),
        ("apache", "httpd.conf", long_line.as_bytes(), ":1:1: the line is longer"),
        ("nginx", "nginx.conf", b"http {\n  server {\n", ":2:3: the block of `server` is never closed"),
        ("nginx", "nginx.conf", b"a b", ":1:1: `a` has no semicolon"),
        ("nginx", "nginx.conf", deep_nginx.as_bytes(), "24 deep"),
        ("nginx", "nginx.conf", long_line.as_bytes(), "longer than 16 KiB"),
        ("nginx", "nginx.conf", b"a\x00b;", "a zero character"),
    ];
    for (source, name, bytes, wanted) in cases {
        let path = folder.write(name, bytes).display().to_string();
        let said = refused(&[source, &path]);
        assert!(said.contains(wanted), "{wanted}: {}", &said[..said.len().min(500)]);
        assert!(said.contains(name), "the file is named: {said}");
    }
    assert!(refused(&["nginx", "/dev/zero"]).contains("/dev/zero"));
    assert!(refused(&["nginx", folder.0.to_str().unwrap()]).contains("it is a folder"));
    assert!(refused(&["nginx", "/nowhere/nginx.conf"]).contains("cannot read"));
}

#[test]
fn files_that_include_each_other_are_refused_with_their_place() {
    let folder = Folder::new();
    for (source, main, other) in
        [("nginx", "include b.conf;", "\n include a.conf;"), ("apache", "Include b.conf", "\nInclude a.conf")]
    {
        let path = folder.write("a.conf", main).display().to_string();
        folder.write("b.conf", other);
        let said = refused(&[source, &path]);
        assert!(said.contains("includes itself") && said.contains(".conf:"), "{said}");
    }
    // Two ways from each to the next: without a bound that is 2^40 files.
    for n in 0..40 {
        folder.write(&format!("n{n}.conf"), format!("include n{}.conf;\ninclude n{}.conf;\n", n + 1, n + 1));
    }
    let path = folder.path("n0.conf").display().to_string();
    let said = refused(&["nginx", &path]);
    assert!(said.contains("16 deep"), "{said}");
    let missing = folder.write("m.conf", "http {\n  include nothing.conf;\n}").display().to_string();
    let said = refused(&["nginx", &missing]);
    assert!(said.contains("m.conf:2:3") && said.contains("--root"), "{said}");
}

#[test]
fn includes_are_read_in_their_order_and_nothing_else_is() {
    let folder = Folder::new();
    folder.write("conf.d/20-b.conf", "server { listen 80; server_name b.example; root /srv/b; }");
    folder.write("conf.d/10-a.conf", "server { listen 80; server_name a.example; root /srv/a; }");
    folder.write("conf.d/.hidden.conf", "server { server_name hidden.example; root /srv/h; }");
    folder.write("conf.d/note.txt", "not { a configuration");
    let path = folder
        .write("nginx.conf", "http { include mime.types; include conf.d/*.conf; }")
        .display()
        .to_string();
    let (text, _) = import(&["nginx", &path]);
    let table: toml::Table = text.parse().unwrap();
    let names: Vec<&str> =
        table["site"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a.example", "b.example"]);
    let elsewhere = Folder::new();
    let moved = elsewhere.write("nginx.conf", "http { include conf.d/*.conf; }").display().to_string();
    let (text, _) = import(&["nginx", &moved, "--root", folder.0.to_str().unwrap()]);
    assert!(text.contains("a.example"), "{text}");
    assert!(!Path::new("samovar.toml").exists(), "nothing is written but standard output");
}
