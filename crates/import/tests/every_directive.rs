//! Every directive is carried over or listed, wherever it stands and whatever became of what it stands in.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop at its first surprise"
)]

use proptest::prelude::*;
use samovar_import::{Ask, File, Options, Source, import};

const NGINX: [&str; 40] = [
    "deny all;",
    "allow 10.0.0.0/8;",
    "auth_basic x;",
    "auth_basic off;",
    "auth_basic_user_file /u;",
    "auth_request /a;",
    "auth_digest x;",
    "auth_jwt x;",
    "auth_jwt_key_file /k;",
    "satisfy any;",
    "satisfy all;",
    "internal;",
    "secure_link $arg_a;",
    "return 403;",
    "return 200 x;",
    "return 301 /x;",
    "rewrite a b;",
    "root /srv;",
    "alias /srv/;",
    "index a;",
    "autoindex on;",
    "try_files $uri @app;",
    "try_files $uri =404;",
    "proxy_pass http://o.example;",
    "proxy_pass https://o.example;",
    "fastcgi_pass 127.0.0.1:9000;",
    "fastcgi_param A b;",
    "fastcgi_index index.php;",
    "uwsgi_pass 127.0.0.1:1;",
    "proxy_cache c;",
    "proxy_cache_valid 200 1m;",
    "proxy_no_cache $cookie_a;",
    "proxy_set_header A $b;",
    "proxy_read_timeout 5s;",
    "fastcgi_read_timeout 5s;",
    "add_header A b;",
    "gzip_static on;",
    "ssl_verify_client on;",
    "limit_req zone=z;",
    "unheard_of yes;",
];

const NGINX_BLOCKS: [&str; 12] = [
    "location / {",
    "location /a/ {",
    "location ^~ /b/ {",
    "location = /c {",
    "location ~ \\.php$ {",
    "location ~ ^/(x|y) {",
    "location ~* \"a{2}\" {",
    "location @app {",
    "location @other {",
    "if ($a) {",
    "limit_except GET {",
    "unheard_of {",
];

const HTTPD: [&str; 30] = [
    "Require all denied",
    "Require all granted",
    "Require ip 10",
    "Require not ip 10",
    "Require valid-user",
    "Require host x",
    "Order allow,deny",
    "Allow from all",
    "Deny from x.example",
    "Satisfy any",
    "AuthType Basic",
    "AuthType Digest",
    "AuthName x",
    "AuthUserFile /u",
    "SSLRequireSSL",
    "SSLVerifyClient require",
    "AllowOverride All",
    "Options Indexes",
    "RewriteCond a b",
    "RewriteRule a - [F]",
    "RewriteRule a b",
    "RedirectMatch 404 a",
    "Redirect /a /b",
    "ProxyPass /a http://o.example/a",
    "ProxyPass /a/b !",
    "ProxyPass /c https://o.example/",
    "Header set A b",
    "SetHandler x",
    "AddHandler cgi-script .cgi",
    "UnheardOf yes",
];

const HTTPD_BLOCKS: [&str; 22] = [
    "Location /a",
    "Location \"/a/*\"",
    "LocationMatch ^/(a|b)",
    "Directory /",
    "Directory /srv/www",
    "Directory /srv/www/a",
    "Directory /elsewhere",
    "Directory /srv/w*",
    "DirectoryMatch a",
    "Files a*",
    "Files .ht*",
    "FilesMatch \\.(a|b)",
    "IfModule x",
    "IfModule !x",
    "IfDefine x",
    "If a",
    "Limit POST",
    "RequireAll",
    "RequireAny",
    "Proxy *",
    "Proxy balancer://x",
    "UnheardOf x",
];

/// A tree of lines: leaves and blocks.
fn lines(
    leaves: &'static [&'static str],
    blocks: &'static [&'static str],
    close: fn(&str) -> String,
) -> impl Strategy<Value = Vec<String>> {
    let leaf = proptest::sample::select(leaves).prop_map(|line| vec![line.to_owned()]);
    let tree = leaf.prop_recursive(6, 60, 6, move |inner| {
        (proptest::sample::select(blocks), proptest::collection::vec(inner, 0..6)).prop_map(
            move |(open, inner)| {
                let mut all = vec![open.to_owned()];
                all.extend(inner.concat());
                all.push(close(open));
                all
            },
        )
    });
    proptest::collection::vec(tree, 0..8).prop_map(|all| all.concat())
}

/// The lines of directives of which nothing is said.
fn untold(source: Source, text: &str) -> Vec<String> {
    let file = File { name: "main.conf".into(), bytes: text.into() };
    let mut read = |_: &Ask<'_>| Err("there is none".to_owned());
    let Ok(imported) = import(source, &file, &Options::default(), &mut read) else { return Vec::new() };
    assert!(imported.toml.parse::<toml::Table>().is_ok(), "{}", imported.toml);
    let told = |number: u32| imported.notes.iter().any(|note| note.place.line == number);
    let silent = |line: &str| line.is_empty() || line == "}" || line == "http {" || line.starts_with("</");
    (1u32..)
        .zip(text.lines())
        .filter(|(n, line)| !silent(line) && !told(*n))
        .map(|(_, line)| line.to_owned())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn of_nginx_is_told_of(inner in lines(&NGINX, &NGINX_BLOCKS, |_| "}".to_owned())) {
        let text = format!("http {{\nserver {{\n{}\n}}\n}}\n", inner.join("\n"));
        prop_assert_eq!(untold(Source::Nginx, &text), Vec::<String>::new(), "{}", text);
    }

    #[test]
    fn of_httpd_is_told_of(
        inner in lines(&HTTPD, &HTTPD_BLOCKS, |open| format!("</{open}").split(' ').next().unwrap_or_default().to_owned() + ">"),
        host in any::<bool>(),
    ) {
        let inner: Vec<String> = inner.iter().map(|l| match HTTPD_BLOCKS.contains(&l.as_str()) {
            true => format!("<{l}>"),
            false => l.clone(),
        }).collect();
        let inner = inner.join("\n");
        let text = match host {
            true => format!("DocumentRoot /srv/www\n<VirtualHost *:80>\nServerName a.example\n{inner}\n</VirtualHost>\n"),
            false => format!("DocumentRoot /srv/www\n{inner}\n"),
        };
        prop_assert_eq!(untold(Source::Apache, &text), Vec::<String>::new(), "{}", text);
    }
}

#[test]
fn what_stands_where_it_says_nothing_is_told_of() {
    for text in [
        "stream {\nserver {\nlisten 1;\n}\n}",
        "events {\nworker_connections 5;\n}",
        "server {\nlisten 80;\n}\nupstream lonely {\nserver a.example;\nkeepalive 5;\n}",
        "server {\nreturn 301 /x;\nlocation /a/ {\ndeny all;\n}\n}",
    ] {
        assert_eq!(untold(Source::Nginx, text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_file_that_is_no_configuration_is_not_quoted() {
    let secret = "root:$y$j9T$secretsecret:19000:0:99999:7:::\nbin:*:19000::::::\n";
    for source in [Source::Apache, Source::Nginx, Source::Iis] {
        let included = File { name: "/etc/shadow".into(), bytes: secret.into() };
        let mut read = |_: &Ask<'_>| Ok(vec![included.clone()]);
        let text = match source {
            Source::Iis => secret,
            Source::Apache => "Include /etc/shadow\n",
            Source::Nginx => "http {\ninclude /etc/shadow;\n}",
        };
        let file = File { name: "main.conf".into(), bytes: text.into() };
        let refused =
            import(source, &file, &Options::default(), &mut read).expect_err("no configuration").to_string();
        assert!(!refused.contains("secret") && !refused.contains("root"), "{refused}");
        assert!(refused.contains(":1:1:"), "{refused}");
    }
}
