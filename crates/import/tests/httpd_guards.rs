//! What httpd kept away is kept away by what is imported.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop at its first surprise"
)]

mod judge;

use judge::{Judge, Met};
use samovar_import::{Fate, Source};

fn main_server(inner: &str) -> Judge {
    Judge::of(Source::Apache, &format!("DocumentRoot /aw/htdocs\n{inner}\n"))
}

fn table(rows: &[(&str, &[(&str, Met)])]) {
    for (inner, paths) in rows {
        let judge = main_server(inner);
        for (path, wanted) in *paths {
            assert_eq!(judge.meets(path), *wanted, "{inner}\n{path}\n{}", judge.toml);
        }
    }
}

const AUTH: &str = "AuthType Basic\nAuthName x\nAuthUserFile /u\nRequire valid-user";

#[test]
fn a_folder_around_the_sites_folder_is_the_whole_site() {
    let section = |open: &str, inner: &str| {
        let name = open.split_whitespace().next().unwrap_or_default();
        format!("<{open}>\n{inner}\n</{name}>")
    };
    for (open, wanted) in [
        ("Directory /aw", Met::Asks),
        ("Directory /", Met::Asks),
        ("Directory \"/aw/htdocs/\"", Met::Asks),
        ("Directory \"/aw/ht*\"", Met::Closed),
        ("Directory \"/*/htdocs\"", Met::Closed),
        ("DirectoryMatch ^/aw/ht", Met::Closed),
        ("Directory ~ htdocs", Met::Closed),
        ("Directory /srv", Met::Open),
        ("Directory /aw/htdocsx", Met::Open),
        ("DirectoryMatch ^/srv/", Met::Open),
    ] {
        assert_eq!(main_server(&section(open, AUTH)).meets("/x"), wanted, "{open}");
    }
    table(&[
        (
            &section("DirectoryMatch \"/\\.git\"", "Require all denied"),
            &[("/.git/x", Met::Closed), ("/x", Met::Open)],
        ),
        (
            &section("Directory /aw/htdocs/*/in", "Require all denied"),
            &[("/a/in/x", Met::Closed), ("/x", Met::Open)],
        ),
        (
            "<Directory /aw/htdocs>\nRequire all granted\n</Directory>\n<Directory />\nRequire all denied\n</Directory>",
            &[("/x", Met::Open)],
        ),
        ("<Directory />\nRequire all denied\n</Directory>", &[("/x", Met::Closed)]),
    ]);
    // Of a virtual host's folder, said in the main server.
    let text = format!(
        "DocumentRoot /aw/htdocs\n<Directory /aw2/b>\n{AUTH}\n</Directory>\n<VirtualHost *:80>\nServerName b.example\nDocumentRoot /aw2/b\n</VirtualHost>\n"
    );
    assert_eq!(Judge::of(Source::Apache, &text).meets("/x"), Met::Asks);
    // Where the folder lies is not known.
    let unknown = format!("<Directory /srv/x>\n{AUTH}\n</Directory>\n");
    assert_eq!(Judge::of(Source::Apache, &unknown).meets("/x"), Met::Closed);
}

#[test]
fn expressions_and_wildcards_close_at_least_what_they_closed() {
    let denied = |open: &str| {
        let name = open.split_whitespace().next().unwrap_or_default();
        format!("<{open}>\nRequire all denied\n</{name}>")
    };
    table(&[
        (
            &denied("FilesMatch \"\\.(bak|env)\""),
            &[
                ("/a.bak", Met::Closed),
                ("/.env.local", Met::Closed),
                ("/a/x.bak2", Met::Closed),
                ("/a", Met::Open),
            ],
        ),
        (&denied("FilesMatch \"^secret\""), &[("/a/secret.txt", Met::Closed), ("/nosecret", Met::Open)]),
        (&denied("Files \"secret*\""), &[("/a/secret.txt", Met::Closed), ("/a", Met::Open)]),
        (
            &denied("Files a.txt"),
            &[("/b/a.txt", Met::Closed), ("/a.txt", Met::Closed), ("/xa.txt", Met::Open)],
        ),
        (&denied("FilesMatch \"^\\.ht|secret\""), &[("/secret", Met::Closed)]),
        (
            &denied("LocationMatch \"^/(a|b)/\""),
            &[("/a/x", Met::Closed), ("/b/x", Met::Closed), ("/c/x", Met::Open)],
        ),
        (
            &denied("Location ~ /in(ner)?$"),
            &[("/x/inner", Met::Closed), ("/in", Met::Closed), ("/into", Met::Open)],
        ),
        (
            &denied("Location \"/*/in\""),
            &[("/a/in", Met::Closed), ("/a/in/x", Met::Closed), ("/b", Met::Open)],
        ),
        (
            "<Directory /aw/htdocs/app>\n<FilesMatch \"\\.(bak|env)\">\nRequire all denied\n</FilesMatch>\n</Directory>",
            &[("/app/x/a.bak", Met::Closed), ("/a.bak", Met::Open)],
        ),
        // Two that meet, in every order.
        (
            "<FilesMatch \"\\.(env|php)$\">\nHeader set A b\n</FilesMatch>\n<FilesMatch \"\\.(bak|env)$\">\nRequire all denied\n</FilesMatch>\n<Location /app>\nHeader set A c\n</Location>",
            &[("/x.env", Met::Closed), ("/app/x.env", Met::Closed), ("/app/x.php", Met::Open)],
        ),
        (
            "<Location /app>\nRequire all denied\n</Location>\n<Files \"x*\">\nRequire ip 10\n</Files>",
            &[("/app/x1", Met::Closed), ("/app/a", Met::Closed)],
        ),
        (
            "<Location /a>\nRequire ip 10\n</Location>\n<Location /a/b>\nRequire all denied\n</Location>",
            &[("/a/x", Met::Some), ("/a/b/x", Met::Closed)],
        ),
    ]);
}

#[test]
fn guards_without_a_counterpart_close() {
    for guard in [
        "Require ldap-group x",
        "Require host .example.com",
        "Require valid-user",
        "AuthType Digest\nAuthUserFile /u\nRequire valid-user",
        "AuthType Basic\nAuthUserFile /u\nRequire valid-user\nRequire ip 10\nSatisfy any",
        "<RequireAny>\nRequire valid-user\nRequire ip 10\n</RequireAny>\nAuthType Basic\nAuthUserFile /u",
        "<RequireAll>\nRequire ip 10\nRequire valid-user\n</RequireAll>",
        "<If \"%{REMOTE_ADDR} != '1.2.3.4'\">\nRequire all denied\n</If>",
        "<Limit POST>\nRequire all denied\n</Limit>",
        "<LimitExcept GET>\nDeny from all\n</LimitExcept>",
        "Order Allow,Deny\nAllow from all\nDeny from .bad.example",
        "Order Allow,Deny\nAllow from all\nDeny from env=bad",
        "SSLVerifyClient require",
        "SSLRequireSSL",
        "SSLRequire %{SSL_CIPHER} eq x",
        "RewriteRule ^ - [F]",
        "RewriteRule .* - [R=403,L]",
        "SetHandler server-status",
        "SetHandler application/x-httpd-php",
        "ProxyPass https://o.example/",
    ] {
        let judge = main_server(&format!("<Location /a>\n{guard}\n</Location>\n<Location /b>\n</Location>"));
        let met = ["/a/x", "/b/x"].map(|path| judge.meets(path));
        assert_eq!(met, [Met::Closed, Met::Open], "{guard}\n{}", judge.toml);
        let listed = judge.notes.iter().any(|n| n.fate == Fate::Unsafe || n.fate == Fate::FillIn);
        assert!(listed, "{guard}: {:?}", judge.notes);
    }
    table(&[
        ("RewriteRule \\.env$ - [F]", &[("/a/.env", Met::Closed), ("/a", Met::Open)]),
        (
            "RewriteCond %{REQUEST_URI} \\.git [NC]\nRewriteRule ^ - [F]",
            &[("/x/.GIT/config", Met::Closed), ("/a", Met::Open)],
        ),
        (
            "<Directory /aw/htdocs/app>\nRewriteRule ^secret/ - [F]\n</Directory>",
            &[("/app/secret/x", Met::Closed), ("/app/x", Met::Open)],
        ),
        ("RewriteCond %{REQUEST_METHOD} ^TRACE\nRewriteRule .* - [F]", &[("/a", Met::Open)]),
        ("RedirectMatch 404 /\\.git", &[("/.git/x", Met::Closed), ("/a", Met::Open)]),
        ("Redirect gone /old", &[("/old/x", Met::Closed), ("/a", Met::Open)]),
        ("<Proxy *>\nRequire all denied\n</Proxy>", &[("/a", Met::Closed)]),
        ("<Proxy \"http://o.example/app\">\nRequire ip 10\n</Proxy>", &[("/app/a", Met::Some)]),
        (
            "<Proxy balancer://x>\nBalancerMember http://a.example\nDeny from all\n</Proxy>\nProxyPass / balancer://x/",
            &[("/a", Met::Closed)],
        ),
        ("AddHandler application/x-httpd-php .php", &[("/a.php", Met::Closed), ("/a", Met::Open)]),
        ("ScriptAlias /cgi-bin/ /usr/lib/cgi-bin/", &[("/cgi-bin/x", Met::Closed), ("/a", Met::Open)]),
        // A guard that closes is not opened by what stands further in.
        (
            "<Location />\n<If \"true\">\nRequire all denied\n</If>\n</Location>\n<Location /pub>\nRequire all granted\n</Location>",
            &[("/pub/x", Met::Closed)],
        ),
    ]);
}

#[test]
fn guards_that_can_be_said_are() {
    table(&[
        ("<Location /a>\nRequire ip 10.1\n</Location>", &[("/a/x", Met::Some), ("/b", Met::Open)]),
        (
            "<Location /a>\nOrder Deny,Allow\nDeny from all\nAllow from 10\n</Location>",
            &[("/a/x", Met::Some)],
        ),
        (
            "<Location /a>\n<RequireAll>\nRequire all granted\nRequire not ip 10\n</RequireAll>\n</Location>",
            &[("/a/x", Met::Some), ("/b", Met::Open)],
        ),
        (&format!("<Location /a>\n{AUTH}\n</Location>"), &[("/a/x", Met::Asks)]),
        // What is granted further in stays closed: safe, and to be opened by hand.
        (
            "<Location />\nRequire all denied\n</Location>\n<Location /pub>\nRequire all granted\n</Location>",
            &[("/x", Met::Closed), ("/pub/x", Met::Closed)],
        ),
    ]);
    let judge = main_server(
        "<Location /a>\n<RequireAll>\nRequire all granted\nRequire not ip 10\n</RequireAll>\n</Location>",
    );
    assert!(
        judge.policy("/a/x").get("deny").is_some_and(|d| d.to_string().contains("10.0.0.0/8")),
        "{}",
        judge.toml
    );
}

#[test]
fn of_those_who_pass_on_the_first_holds() {
    let upstream = |text: &str, path: &str| {
        main_server(text).policy(path).get("upstream").map(ToString::to_string).unwrap_or_default()
    };
    let not = "ProxyPass /app/private !\nProxyPass /app http://o.example/app";
    assert_eq!(
        (upstream(not, "/app/private/x"), upstream(not, "/app/x")),
        (String::new(), "\"o.example\"".to_owned())
    );
    let guarded = format!("<Location /app/private>\nHeader set A b\n</Location>\n{not}");
    assert_eq!(upstream(&guarded, "/app/private/x"), "");
    let whole = "ProxyPass /private !\nProxyPass / http://o.example/";
    assert_eq!(
        (upstream(whole, "/private/x"), upstream(whole, "/x")),
        (String::new(), "\"o.example\"".to_owned())
    );
    let two = "ProxyPass /a/b http://b.example/a/b\nProxyPass /a http://a.example/a";
    assert_eq!(
        (upstream(two, "/a/b/x"), upstream(two, "/a/x")),
        ("\"b.example\"".to_owned(), "\"a.example\"".to_owned())
    );
    let moved = "<Location /a>\nRequire ip 10\n</Location>\nProxyPass /a http://a.example/in";
    let judge = main_server(moved);
    assert_eq!(judge.meets("/a/x"), Met::Some, "{}", judge.toml);
    assert_eq!(judge.policy("/a/x").get("rewrite").and_then(toml::Value::as_str), Some("/in/{1}"));
}

#[test]
fn what_is_taken_as_not_met_is_told_of_with_its_guards() {
    let judge = main_server(
        "<IfModule !mod_x.c>\n<Location /a>\nRequire all denied\n</Location>\n</IfModule>\n<IfDefine X>\nTimeout 5\n</IfDefine>",
    );
    let of =
        |line: u32| judge.notes.iter().filter(|n| n.place.line == line).map(|n| n.fate).collect::<Vec<_>>();
    assert_eq!((of(2), of(4)), (vec![Fate::Unsafe], vec![Fate::Unsafe]));
    assert_eq!((of(7), of(8)), (vec![Fate::LeftOut], vec![Fate::LeftOut]));
    let override_all = main_server("<Directory /aw/htdocs>\nAllowOverride All\n</Directory>");
    assert!(override_all.notes.iter().any(|n| n.fate == Fate::Unsafe && n.text.contains(".htaccess")));
}

#[test]
fn a_clients_own_field_does_not_pass_for_what_httpd_set() {
    let edits = |value: &str| {
        let judge = main_server(&format!("RequestHeader set X-User {value}"));
        judge.policy("/x").get("request_fields").map(ToString::to_string).unwrap_or_default()
    };
    assert_eq!(edits("%{REMOTE_USER}s"), "[{ set = \"X-User\", value = \"{user}\" }]");
    assert_eq!(edits("%{SSL_CLIENT_S_DN}s"), "[{ remove = \"X-User\" }]");
}

#[test]
fn what_a_path_is_denied_no_folder_of_a_host_grants() {
    let text = "DocumentRoot /aw\n<Location />\nRequire all denied\n</Location>\n<VirtualHost *:80>\nServerName b.example\n\
                <Directory /aw>\nRequire all granted\n</Directory>\n</VirtualHost>\n";
    assert_eq!(Judge::of(Source::Apache, text).meets("/x"), Met::Closed);
    let turned = text.replace("Location", "Directory");
    assert_eq!(Judge::of(Source::Apache, &turned).meets("/x"), Met::Open);
}
