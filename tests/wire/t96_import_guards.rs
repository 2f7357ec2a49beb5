//! Configurations brought along are never less safe than they were: what guarded goes on guarding, or closes.

use super::t95_import::{check, import, serve};
use samovar_tests::origin::Origin;
use samovar_tests::server::Folder;

/// What httpd and nginx kept away is kept away.
#[test]
fn guards_go_on_guarding() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=600")]);
    let folder = Folder::new();
    folder.write("www/index.html", "a file");
    folder.write("www/staff/page.html", "staff only");
    folder.write("www/inner/page.html", "for the inside");
    // {SHA} of "pass".
    let users = folder.write("users", "me:{SHA}nU4eI71bcnBGqeO0t9tXvY1u5oQ=\n").display().to_string();
    let text = format!(
        "events {{}}\nhttp {{\n  limit_req_zone $binary_remote_addr zone=z:1m rate=1r/m;\n  server {{\n    listen 8080;\n    server_name test;\n    \
         root {0};\n    location /inner/ {{ allow 10.0.0.0/8; deny all; }}\n    location /own/ {{ allow 127.0.0.0/8; deny all; return 301 /; }}\n    \
         location /staff/ {{ auth_basic \"staff\"; auth_basic_user_file {users}; }}\n    \
         location /api/ {{ proxy_pass {1}; proxy_set_header Host $host; limit_req zone=z burst=2 nodelay; }}\n    \
         location = /old {{ return 301 https://new.example/here; }}\n  }}\n}}\n",
        folder.path("www").display(),
        origin.url
    );
    let path = folder.write("nginx.conf", text).display().to_string();
    let (text, _) = import(&["nginx", &path]);
    let server = serve(&text);
    assert_eq!(server.get("/", &[]).text(), "a file");
    let inner = server.get("/inner/page.html", &[]);
    assert_eq!((inner.status, inner.reason().as_str()), (403, "address-denied"), "{}", inner.text());
    let asked = server.get("/staff/page.html", &[]);
    assert_eq!(asked.status, 401);
    assert_eq!(asked.field("www-authenticate"), Some("Basic realm=\"staff\", charset=\"UTF-8\""));
    let wrong = server.get("/staff/page.html", &[("Authorization", "Basic bWU6d3Jvbmc=")]);
    assert_eq!(wrong.status, 401);
    let right = [("Authorization", "Basic bWU6cGFzcw==")];
    for _ in 0..3 {
        let answer = server.get("/staff/page.html", &right);
        assert_eq!(
            (answer.text().as_str(), answer.is_hit()),
            ("staff only", false),
            "{}",
            answer.cache_status()
        );
    }
    assert_eq!(server.get("/staff/page.html", &[]).status, 401, "nothing of it was kept for others");
    let statuses: Vec<u16> = (0..4).map(|_| server.get("/api/x", &[]).status).collect();
    assert_eq!(statuses, [200, 200, 200, 429], "one, and a burst of two");
    let moved = server.get("/old", &[]);
    assert_eq!((moved.status, moved.field("location")), (301, Some("https://new.example/here")));
}

#[test]
fn guards_that_cannot_be_said_close_their_paths() {
    let folder = Folder::new();
    let cases = [
        (
            "iis",
            "web.config",
            "<configuration><system.webServer><security><authentication><anonymousAuthentication enabled=\"false\"/><windowsAuthentication enabled=\"true\"/></authentication></security></system.webServer></configuration>",
        ),
        (
            "apache",
            "httpd.conf",
            "<Location /admin>\nOrder Deny,Allow\nDeny from all\nAllow from .example.com\n</Location>\n",
        ),
        ("apache", "httpd.conf", "<Location /admin>\nRequire ldap-group x\n</Location>\n"),
        ("nginx", "nginx.conf", "location /admin/ { auth_request /auth; }"),
        ("nginx", "nginx.conf", "location /admin/ { deny 10.0.0.1; allow 10.0.0.0/8; deny all; }"),
    ];
    for (source, name, text) in cases {
        let path = folder.write(name, text).display().to_string();
        let (toml, said) = import(&[source, &path]);
        assert!(toml.contains("deny = [\"0.0.0.0/0\", \"::/0\"]"), "{text}: {toml}");
        assert!(!toml.lines().any(|l| l.trim_start().starts_with("allow = ")), "{text}: {toml}");
        assert!(said.contains("unsafe") || said.contains("to fill in"), "{said}");
    }
}

/// nginx gives each user an answer of their own; so does what is imported, whatever lifetime the origin gives.
#[test]
fn whoever_passed_by_the_cache_is_not_given_anothers_page() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60")]);
    let folder = Folder::new();
    let text = format!(
        "events {{}}\nhttp {{\n  server {{\n    listen 8080;\n    location / {{ proxy_pass {}; proxy_cache c; \
         proxy_no_cache $cookie_session; proxy_cache_bypass $cookie_session; }}\n  }}\n}}\n",
        origin.url
    );
    let path = folder.write("nginx.conf", text).display().to_string();
    let (text, said) = import(&["nginx", &path]);
    assert!(said.contains("proxy_no_cache $cookie_session: unsafe"), "{said}");
    let server = serve(&text);
    server.get("/mine", &[("Cookie", "session=one")]);
    assert!(!server.get("/mine", &[("Cookie", "session=two")]).is_hit());
    assert_eq!(origin.count(), 2);
}

/// Globs that stand for expressions and for cases are those that the server knows.
#[test]
fn what_was_an_expression_is_refused_by_the_server_too() {
    let folder = Folder::new();
    for name in
        ["www/.git/config", "www/private/a", "www/ADMIN/x", "www/pub/a.html", "www/in/a.html", "www/x.bak2"]
    {
        folder.write(name, "a file");
    }
    let text = format!(
        "server {{\n  listen 8080;\n  root {};\n  location ~ \\.(git|bak) {{ deny all; }}\n  location ~* ^/admin {{ deny all; }}\n  \
         location ~ ^/(private|secret)/ {{ deny all; }}\n  location /in/ {{ deny all; }}\n  \
         location /pub/ {{ location ~ \\.html$ {{ expires 1h; }} }}\n}}\n",
        folder.path("www").display()
    );
    let path = folder.write("nginx.conf", text).display().to_string();
    let server = serve(&import(&["nginx", &path]).0);
    for (path, wanted) in [
        ("/.git/config", 403),
        ("/private/a", 403),
        ("/ADMIN/x", 403),
        ("/in/a.html", 403),
        ("/x.bak2", 403),
        ("/pub/a.html", 200),
    ] {
        assert_eq!(server.get(path, &[]).status, wanted, "{path}");
    }
}

#[test]
fn what_iis_hides_by_itself_is_not_served() {
    let folder = Folder::new();
    for name in [
        "App_Data/users.mdf",
        "bin/app.dll",
        "app_code/x.txt",
        "global.asax",
        "secret/x.txt",
        "v1.0/x.txt",
        "a.txt",
    ] {
        folder.write(name, "a file");
    }
    let guard = "<system.webServer><security><authentication><anonymousAuthentication enabled=\"false\"/></authentication></security></system.webServer>";
    let text = format!(
        "<configuration><location path=\"Secret\">{guard}</location><location path=\"v1.0\">{guard}</location></configuration>"
    );
    let path = folder.write("web.config", text).display().to_string();
    let server = serve(&import(&["iis", &path]).0);
    for path in [
        "/App_Data/users.mdf",
        "/bin/app.dll",
        "/app_code/x.txt",
        "/global.asax",
        "/secret/x.txt",
        "/v1.0/x.txt",
    ] {
        assert_eq!(server.get(path, &[]).status, 403, "{path}");
    }
    assert_eq!(server.get("/a.txt", &[]).status, 200);
}

#[test]
fn httpds_exceptions_and_folders_are_kept() {
    let origin = Origin::counting(&[]);
    let folder = Folder::new();
    folder.write("htdocs/app/private/x", "a file");
    let users = folder.write("users", "me:{SHA}nU4eI71bcnBGqeO0t9tXvY1u5oQ=\n").display().to_string();
    let text = format!(
        "DocumentRoot {0}/htdocs\nProxyPass /app/private !\nProxyPass /app {1}/app\n<Directory {0}>\nAuthType Basic\nAuthUserFile {users}\nRequire valid-user\n</Directory>\n",
        folder.0.display(),
        origin.url
    );
    let path = folder.write("httpd.conf", text).display().to_string();
    let server = serve(&import(&["apache", &path]).0);
    assert_eq!(server.get("/app/private/x", &[]).status, 401);
    let right = [("Authorization", "Basic bWU6cGFzcw==")];
    assert_eq!(server.get("/app/private/x", &right).text(), "a file");
    assert_eq!(origin.count(), 0);
    server.get("/app/x", &right);
    assert_eq!(origin.count(), 1);
}

/// Fields that a rule may not touch are told of, and the rest is a file that `check` takes.
#[test]
fn fields_that_are_ours_to_write_are_left_out_and_told() {
    let folder = Folder::new();
    let httpd = folder.write(
        "httpd.conf",
        "ProxyPass / http://127.0.0.1:1/\n\
         RequestHeader set X-Forwarded-Proto \"https\"\nRequestHeader set X-Forwarded-Port \"443\"\n\
         RequestHeader unset Proxy early\nRequestHeader unset If-Modified-Since\nRequestHeader set X-Own 1\n\
         Header set Vary \"Accept-Encoding\"\nHeader set ETag \"x\"\nHeader set Expires 0\nHeader set X-Out 2\n\
         Include conf.d/*.conf\n",
    );
    let nginx = folder.write(
        "nginx.conf",
        "events {}\nhttp { include sites/*.conf; server { listen 80; location / { proxy_pass http://127.0.0.1:1;\n\
         proxy_set_header X-Forwarded-Proto https;\nproxy_set_header X-Real-IP $remote_addr;\nproxy_set_header If-None-Match \"\";\n\
         proxy_set_header X-Own 1;\nadd_header Vary Accept-Encoding;\nadd_header ETag x;\nadd_header X-Out 2;\n\
         expires 30d; add_header Cache-Control \"public, immutable\"; } location /old/ { return 301 https://new.example$request_uri; } } }\n",
    );
    for (kind, file, told) in [
        (
            "apache",
            &httpd,
            &[
                "X-Forwarded-Proto",
                "X-Forwarded-Port",
                "Proxy",
                "If-Modified-Since",
                "ETag",
                "Expires",
                "conf.d/*.conf",
            ][..],
        ),
        ("nginx", &nginx, &["X-Forwarded-Proto", "If-None-Match", "ETag", "sites/*.conf"]),
    ] {
        let (text, said) = import(&[kind, file.to_str().unwrap()]);
        let (code, wrong) = check(&text);
        assert_eq!(code, Some(0), "{kind}: {wrong}\n{text}");
        for name in told {
            let listed = |line: &str| {
                line.starts_with("# ") && line.contains(name) && line.contains("not carried over")
            };
            assert!(text.lines().any(listed), "{kind}: {name} of\n{text}");
        }
        // Whoever wrote that TLS ends in front must say whom to believe; and files that are missing may be sites.
        let breaks = said.split("What is").next().unwrap_or_default();
        assert!(breaks.contains("X-Forwarded-Proto") && breaks.contains("trusted_proxies"), "{kind}: {said}");
        assert!(breaks.contains(told[told.len() - 1]), "{kind}: {said}");
        assert!(
            text.contains("X-Own") && text.contains("X-Out") && text.contains("append = \"Vary\""),
            "{text}"
        );
    }
    let (text, _) = import(&["nginx", nginx.to_str().unwrap()]);
    assert!(text.contains("client_cache_control = \"max-age=2592000, public, immutable\""), "{text}");
    let server = serve(&import(&["nginx", nginx.to_str().unwrap()]).0);
    let location = |path| server.get(path, &[]).field("location").map(str::to_owned);
    assert_eq!(location("/old/a?b=c&d=e").as_deref(), Some("https://new.example/old/a?b=c&d=e"));
    assert_eq!(location("/old/a").as_deref(), Some("https://new.example/old/a"));
}
