//! What nginx kept away is kept away by what is imported. The verdicts are those of a running nginx.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop at its first surprise"
)]

mod judge;

use judge::{Judge, Met};
use samovar_import::{Fate, Source};

fn server(inner: &str) -> Judge {
    Judge::of(Source::Nginx, &format!("server {{\nroot /srv/www;\n{inner}\n}}\n"))
}

fn table(rows: &[(&str, &[(&str, Met)])]) {
    for (inner, paths) in rows {
        let judge = server(inner);
        for (path, wanted) in *paths {
            assert_eq!(judge.meets(path), *wanted, "{inner}\n{path}\n{}", judge.toml);
        }
    }
}

const O: &str = "proxy_pass http://o.example;";

#[test]
fn a_nested_location_takes_nothing_beyond_the_one_around_it() {
    let html = format!(
        "location / {{ {O} }} location /private/ {{ deny all; }} location /public/ {{ location ~ \\.html$ {{ {O} }} }}"
    );
    let php = "location ~ \\.php$ { fastcgi_pass 127.0.0.1:9000; } location /secret/ { location ~ \\.php$ { deny all; } }";
    let turned = "location /secret/ { location ~ \\.php$ { deny all; } } location ~ \\.php$ { fastcgi_pass 127.0.0.1:9000; }";
    let php_paths = [("/secret/a.php", Met::Closed), ("/a.php", Met::Open), ("/secretx/a.php", Met::Open)];
    table(&[
        (&html, &[("/private/x.html", Met::Closed), ("/public/x.html", Met::Open), ("/x.html", Met::Open)]),
        (php, &php_paths),
        (turned, &php_paths),
        (
            "location /a/ { location /a/b/ { deny all; location ~ \\.gif$ { allow all; } } }",
            &[("/a/b/x", Met::Closed), ("/a/b/x.gif", Met::Open), ("/a/x.gif", Met::Open)],
        ),
        (
            "location /open/ { location ~ \\.(git|svn) { deny all; } }",
            &[("/open/x/.git/config", Met::Closed), ("/open/a", Met::Open), ("/x/.git/config", Met::Open)],
        ),
    ]);
    let deep = (0..12).fold("deny all;".to_owned(), |inner, n| {
        let path: String = (0..12 - n).map(|n| format!("/p{n}")).collect();
        format!("location {path}/ {{ {inner} }}")
    });
    let path: String = (0..12).map(|n| format!("/p{n}")).collect();
    table(&[(&deep, &[(&format!("{path}/x"), Met::Closed), ("/p0/x", Met::Open)])]);
}

#[test]
fn locations_are_tried_in_the_order_of_nginx() {
    table(&[
        // The longest prefix, whatever stands before it and whatever it says of expressions.
        (
            "location ^~ /static/ { } location /static/private/ { deny all; }",
            &[("/static/private/x", Met::Closed), ("/static/x", Met::Open)],
        ),
        ("location /a/ { } location /a/b/ { deny all; }", &[("/a/b/x", Met::Closed)]),
        ("location /a/b/ { deny all; } location /a/ { }", &[("/a/b/x", Met::Closed), ("/a/x", Met::Open)]),
        (
            "location ~ \\.gif$ { deny all; } location ^~ /pub/ { }",
            &[("/pub/a.gif", Met::Open), ("/a.gif", Met::Closed)],
        ),
        ("location /pub/ { } location ~ \\.gif$ { deny all; }", &[("/pub/a.gif", Met::Closed)]),
        (
            "location = /a.gif { } location ~ \\.gif$ { deny all; }",
            &[("/a.gif", Met::Open), ("/b.gif", Met::Closed)],
        ),
        (
            "location ~ ^/x { deny all; } location ~ \\.gif$ { }",
            &[("/x.gif", Met::Closed), ("/y.gif", Met::Open)],
        ),
        (
            "deny all; location ^~ /a/ { } location ~ \\.gif$ { allow all; }",
            &[("/a/x.gif", Met::Closed), ("/x.gif", Met::Open)],
        ),
        // Behind a prefix that takes all and forbids expressions nothing is asked for.
        ("location ~ .* { allow all; } location ^~ / { deny all; }", &[("/x", Met::Closed)]),
        (
            "location ~ /\\. { location ~ .* { location ~ \\.(git|env) { deny all; } } }",
            &[("/a/.git/x", Met::Closed), ("/a/.x", Met::Open)],
        ),
        (
            "deny all; location ~ ^/a/.*\\.gif$ { allow all; }",
            &[("/a/x.GIF", Met::Closed), ("/a/x.gif", Met::Open)],
        ),
        (
            "location ~* \\.php(/|$) { location ~ secret { deny all; } }",
            &[("/x.php/secret", Met::Closed), ("/x.php/a", Met::Open)],
        ),
        // Expressions mind the case, and prefixes take what is left.
        (
            "location ~ \\.gif$ { } location /admin/ { deny all; }",
            &[("/admin/x.GIF", Met::Closed), ("/admin/x.gif", Met::Open), ("/x.GIF", Met::Open)],
        ),
        // What a site says of itself is not handed to a location that says otherwise.
        ("location / { deny all; } location /pub/ { }", &[("/x", Met::Closed), ("/pub/x", Met::Open)]),
        ("deny all; location /pub/ { allow all; }", &[("/x", Met::Closed), ("/pub/x", Met::Open)]),
    ]);
}

#[test]
fn expressions_close_at_least_what_they_closed() {
    table(&[
        (
            "location ~ \\.(git|svn|env) { deny all; }",
            &[
                ("/.git/config", Met::Closed),
                ("/.env.local", Met::Closed),
                ("/a/b.svn", Met::Closed),
                ("/a", Met::Open),
            ],
        ),
        (
            "location ~* ^/admin { deny all; }",
            &[
                ("/ADMIN/x", Met::Closed),
                ("/admin", Met::Closed),
                ("/Adminx", Met::Closed),
                ("/x", Met::Open),
            ],
        ),
        (
            "location ~ ^/(private|secret)/ { deny all; }",
            &[("/private/a/b", Met::Closed), ("/secret/", Met::Closed), ("/a", Met::Open)],
        ),
        (
            "location ~ /\\. { deny all; }",
            &[("/.a", Met::Closed), ("/x/.a/b", Met::Closed), ("/a.b", Met::Open)],
        ),
        (
            "location ~ \\.php(/|$) { deny all; }",
            &[("/a.php", Met::Closed), ("/a.php/x", Met::Closed), ("/a", Met::Open)],
        ),
        ("location ~ ^/x\\d+/ { auth_basic x; auth_basic_user_file /u; }", &[("/x12/a", Met::Closed)]),
        ("location ~ \"(?<n>\\p{L})\" { deny all; }", &[("/a", Met::Closed)]),
        (
            "location ~ ^/(a|b)/ { auth_basic x; auth_basic_user_file /u; }",
            &[("/a/x", Met::Asks), ("/b/x", Met::Asks)],
        ),
    ]);
}

#[test]
fn guards_without_a_counterpart_close() {
    for guard in [
        "auth_request /auth;",
        "auth_jwt \"x\";",
        "secure_link $arg_md5;",
        "secure_link_secret x;",
        "internal;",
        "auth_digest x;",
        "limit_except GET { deny all; }",
        "access_by_lua_block { ngx.exit(403) }",
        "access_by_lua_file /x.lua;",
        "if ($arg_key = '') { return 403; }",
        "if ($cookie_in = '') { return 302 /login; }",
        "satisfy any; allow 10.0.0.0/8; deny all; auth_basic x; auth_basic_user_file /u;",
        "deny 10.0.0.1; allow 10.0.0.0/8; deny all;",
        "auth_basic x;",
        "return 403;",
        "return 200 hello;",
        "uwsgi_pass 127.0.0.1:1;",
        "proxy_pass https://o.example;",
        "proxy_pass http://$name;",
        "stub_status; allow 127.0.0.1; deny all;",
    ] {
        let judge = server(&format!("location / {{ {O} }} location /a/ {{ {guard} }} location /b/ {{ }}"));
        let met = ["/a/x", "/b/x"].map(|path| judge.meets(path));
        assert_eq!(met, [Met::Closed, Met::Open], "{guard}\n{}", judge.toml);
        // Of a whole server.
        if !guard.contains("stub_status") {
            let judge = server(guard);
            assert_eq!(judge.meets("/x"), Met::Closed, "{guard}\n{}", judge.toml);
        }
    }
    let judge = server("ssl_verify_client on; location /a/ { }");
    assert_eq!(["/x", "/a/x"].map(|path| judge.meets(path)), [Met::Closed, Met::Closed], "{}", judge.toml);
    let judge = server("if ($bad) { return 403; } location /a/ { }");
    assert_eq!(["/x", "/a/x"].map(|path| judge.meets(path)), [Met::Closed, Met::Closed], "{}", judge.toml);
    // To another scheme or host is no guard.
    let judge = server("if ($scheme = http) { return 301 https://$host$request_uri; }");
    assert_eq!(judge.meets("/x"), Met::Open);
}

#[test]
fn guards_that_can_be_said_are() {
    table(&[
        ("location /a/ { allow 10.0.0.0/8; deny all; }", &[("/a/x", Met::Some), ("/x", Met::Open)]),
        ("location /a/ { auth_basic x; auth_basic_user_file /u; }", &[("/a/x", Met::Asks)]),
        (
            "auth_basic x; auth_basic_user_file /u; location /a/ { auth_basic off; }",
            &[("/a/x", Met::Open), ("/x", Met::Asks)],
        ),
        (
            "allow 10.0.0.0/8; deny all; location /a/ { deny all; }",
            &[("/a/x", Met::Closed), ("/x", Met::Some)],
        ),
    ]);
}

#[test]
fn guards_of_a_named_location_hold() {
    let named = |guard: &str, front: &str| {
        server(&format!("location / {{ {front} try_files $uri @app; }}\nlocation @app {{\n{guard}\n{O}\n}}"))
    };
    assert_eq!(named("auth_basic x; auth_basic_user_file /u;", "").meets("/x"), Met::Asks);
    assert_eq!(named("allow 10.0.0.0/8; deny all;", "").meets("/x"), Met::Some);
    assert_eq!(named("auth_request /a;", "").meets("/x"), Met::Closed);
    assert_eq!(
        named("allow 10.0.0.0/8; deny all;", "auth_basic x; auth_basic_user_file /u;").meets("/x"),
        Met::Closed
    );
    assert_eq!(named("", "auth_basic x; auth_basic_user_file /u;").meets("/x"), Met::Asks);
    assert!(named("", "").policy("/x").get("upstream").is_some());
    // One that nothing names is told of, guards and all.
    let judge = server("location @lonely {\ndeny all;\n}");
    assert!(
        judge.notes.iter().any(|note| note.directive == "deny all" && note.fate == Fate::Unsafe),
        "{:?}",
        judge.notes
    );
}

#[test]
fn scripts_run_only_where_nginx_ran_them() {
    let php = "location ~ \\.php$ { fastcgi_pass 127.0.0.1:9000; }";
    table(&[
        (
            &format!("{php} location ^~ /uploads/ {{ }}"),
            &[("/uploads/x.php", Met::Closed), ("/uploads/x.gif", Met::Open), ("/x.php", Met::Open)],
        ),
        (&format!("location ~ ^/up/ {{ }} {php}"), &[("/up/x.php", Met::Closed), ("/x.php", Met::Open)]),
        (&format!("{php} location /up/ {{ }}"), &[("/up/x.php", Met::Open)]),
        // No handler takes these: they would be shown as they are.
        (
            "location /app/ { location ~ \\.php$ { fastcgi_pass 127.0.0.1:9000; } }",
            &[("/app/x.php", Met::Closed), ("/app/x", Met::Open)],
        ),
    ]);
}

#[test]
fn requests_that_passed_by_the_cache_are_shown_nobody_elses_answer() {
    let with = |line: &str| server(&format!("proxy_cache c; {line} location / {{ {O} }}")).policy("/x");
    for line in [
        "proxy_no_cache $cookie_session; proxy_cache_bypass $cookie_session;",
        "proxy_cache_bypass $cookie_session;",
        "proxy_no_cache $http_cookie;",
        "proxy_no_cache $skip;",
        "proxy_cache_valid 200 1m; proxy_no_cache $arg_preview;",
    ] {
        assert_eq!(with(line).get("never").and_then(toml::Value::as_bool), Some(true), "{line}");
    }
    let kept = with("proxy_no_cache $http_authorization; proxy_cache_valid 200 1m;");
    assert_eq!(kept.get("never"), None);
    assert!(kept.get("vary_headers").is_some_and(|list| list.to_string().contains("Authorization")));
    // What one location keeps is not kept in another.
    let judge = server(&format!(
        "location / {{ {O} proxy_cache c; proxy_ignore_headers Set-Cookie Expires; proxy_cache_valid 1m; }} location /api/ {{ {O} }}"
    ));
    assert_eq!(
        judge.policy("/api/x").get("never").and_then(toml::Value::as_bool),
        Some(true),
        "{}",
        judge.toml
    );
}

#[test]
fn a_clients_own_field_does_not_pass_for_what_nginx_set() {
    let edits = |value: &str| {
        let judge = server(&format!("location / {{ {O} proxy_set_header X-User {value}; }}"));
        judge.policy("/x").get("request_fields").map(ToString::to_string).unwrap_or_default()
    };
    assert_eq!(edits("$remote_user"), "[{ set = \"X-User\", value = \"{user}\" }]");
    assert_eq!(edits("\"ip ${remote_addr}\""), "[{ set = \"X-User\", value = \"ip {client}\" }]");
    assert_eq!(edits("\"a{b}\""), "[{ set = \"X-User\", value = \"a{{b}}\" }]");
    assert_eq!(edits("$ssl_client_s_dn"), "[{ remove = \"X-User\" }]");
    assert_eq!(edits("\"\""), "[{ remove = \"X-User\" }]");
}
