//! Whole configurations of nginx, httpd and IIS: no site is lost, none is denied wholly, and what is missing comes first in
//! the report.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may stop at its first surprise"
)]

mod judge;

use judge::{Judge, Met};
use samovar_import::{Ask, Consequence, Fate, File, Note, Options, Source, import};
use toml::Value;

const WORDPRESS: &str = include_str!("../../../tests/import/wordpress.conf");
const DRUPAL: &str = include_str!("../../../tests/import/drupal.conf");
const NEXTCLOUD: &str = include_str!("../../../tests/import/nextcloud.conf");

fn meets(judge: &Judge, site: usize, table: &[(&str, Met)]) {
    for (path, wanted) in table {
        assert_eq!(judge.meets_in(site, path), *wanted, "{path}\n{}", judge.toml);
    }
}

fn note<'n>(judge: &'n Judge, directive: &str) -> &'n Note {
    let found = judge.notes.iter().find(|note| note.directive.starts_with(directive));
    found.unwrap_or_else(|| panic!("{directive}: {:#?}", judge.notes))
}

/// The extensions and addresses of the site's handlers.
fn handlers(judge: &Judge, site: usize) -> String {
    judge.policy_in(site, "/").get("handlers").map(Value::to_string).unwrap_or_default()
}

#[test]
fn wordpress_is_open_and_its_pages_are_to_fill_in() {
    let judge = Judge::of(Source::Nginx, WORDPRESS);
    meets(
        &judge,
        0,
        &[
            ("/", Met::Open),
            ("/index.php", Met::Open),
            ("/wp-admin/", Met::Open),
            ("/wp-content/a.css", Met::Open),
            ("/wp-content/uploads/a.jpg", Met::Open),
            ("/wp-content/uploads/a.php", Met::Closed),
            ("/wp-content/uploads/2026/a.PHP", Met::Closed),
            ("/.htaccess", Met::Closed),
            ("/robots.txt", Met::Open),
        ],
    );
    assert!(
        handlers(&judge, 0).contains("unix:/tmp/php-cgi.socket")
            || judge.toml.contains("unix:/tmp/php-cgi.socket")
    );
    let front = note(&judge, "try_files");
    assert_eq!((front.fate, front.consequence), (Fate::FillIn, Consequence::BreaksSite), "{front}");
    assert!(front.text.starts_with("a path that is no file gets 404"), "{front}");
    assert!(judge.toml.contains("# rewrite = \"/index.php\""), "{}", judge.toml);
}

#[test]
fn drupal_is_not_denied_wholly() {
    let judge = Judge::of(Source::Nginx, DRUPAL);
    meets(
        &judge,
        0,
        &[
            ("/", Met::Open),
            ("/index.php", Met::Open),
            ("/update.php", Met::Open),
            ("/update.php/selection", Met::Open),
            ("/core/misc/drupal.js", Met::Open),
            ("/sites/default/files/a.png", Met::Open),
            ("/.well-known/acme-challenge/x", Met::Open),
            ("/node/1", Met::Open),
            ("/core/CHANGELOG.txt", Met::Some),
            ("/sites/default/files/x.php", Met::Closed),
            ("/sites/default/private/x", Met::Closed),
            ("/vendor/a/b.php", Met::Closed),
            ("/.git/config", Met::Closed),
            ("/core/core.services.yml", Met::Closed),
            ("/core/lib/x.INC", Met::Closed),
            ("/modules/a/a.module.bak", Met::Closed),
            ("/composer.json", Met::Closed),
            ("/web.config", Met::Closed),
            ("/index.php~", Met::Closed),
            ("/index.php/node", Met::Closed),
        ],
    );
    assert!(handlers(&judge, 0).contains("unix:/var/run/php/php8.2-fpm.sock"), "{}", judge.toml);
    let sent = note(&judge, "if ($request_uri");
    assert_eq!((sent.fate, sent.consequence), (Fate::Unsafe, Consequence::BreaksSite), "{sent}");
}

#[test]
fn nextcloud_is_not_denied_wholly() {
    let judge = Judge::of(Source::Nginx, NEXTCLOUD);
    let redirect = judge.policy_in(0, "/x").get("redirect").map(Value::to_string).unwrap_or_default();
    assert!(redirect.contains("https://{host}"), "{}", judge.toml);
    meets(
        &judge,
        1,
        &[
            ("/", Met::Open),
            ("/index.php", Met::Open),
            ("/remote.php/dav/files", Met::Open),
            ("/core/js/main.js", Met::Open),
            ("/apps/files/", Met::Open),
            ("/robots.txt", Met::Open),
            ("/config/config.php", Met::Closed),
            ("/data/me/secret", Met::Closed),
            ("/data", Met::Closed),
            ("/.htaccess", Met::Closed),
            ("/occ", Met::Closed),
        ],
    );
    assert!(judge.toml.contains("127.0.0.1:9000"), "{}", judge.toml);
    // A site that only redirects needs no folder of its own.
    assert!(!judge.toml.contains("/FILL-IN"), "{}", judge.toml);
    assert_eq!(note(&judge, "add_header Cache-Control").consequence, Consequence::CachedDifferently);
}

#[test]
fn the_address_of_fastcgi_is_the_one_at_the_command_line() {
    for text in [WORDPRESS, DRUPAL, NEXTCLOUD, "location ~ \\.php$ { fastcgi_pass $backend; }"] {
        let file = File { name: "main.conf".into(), bytes: text.into() };
        let options = Options { fastcgi: Some("127.0.0.1:9999".to_owned()), ..Options::default() };
        let imported =
            import(Source::Nginx, &file, &options, &mut |_: &Ask<'_>| Err("none".to_owned())).unwrap();
        assert!(imported.toml.contains("fastcgi = \"127.0.0.1:9999\""), "{}", imported.toml);
        for other in ["php-cgi.socket", "php8.2-fpm.sock", "127.0.0.1:9000"] {
            let keys = imported.toml.lines().filter(|line| !line.starts_with('#'));
            assert!(keys.into_iter().all(|line| !line.contains(other)), "{}", imported.toml);
        }
    }
}

#[test]
fn front_controllers_are_to_fill_in_wherever_they_are_named() {
    for inner in [
        "location / { try_files $uri $uri/ /index.html; }",
        "location / { try_files $uri /index.php?$args; }",
        "location / { try_files $uri @php; } location @php { rewrite ^ /index.php last; }",
        "location / { try_files $uri @php; } location @php { fastcgi_pass 127.0.0.1:9000; }",
        "location / { try_files $uri @nowhere; }",
        "try_files $uri /index.php;",
        "location /app/ { try_files $uri /app/index.html; }",
    ] {
        let judge = Judge::of(Source::Nginx, &format!("server {{\nroot /srv/www;\n{inner}\n}}\n"));
        let front = note(&judge, "try_files");
        assert_eq!(
            (front.fate, front.consequence),
            (Fate::FillIn, Consequence::BreaksSite),
            "{inner}\n{front}"
        );
        assert!(front.text.starts_with("a path that is no file gets 404"), "{front}");
        assert_eq!(judge.meets("/"), Met::Open, "{inner}\n{}", judge.toml);
    }
}

/// The plain side redirects to the TLS side, whose certificate is not there: both stay, and the server does not start before
/// somebody says where the certificate lies. Else the redirect would go round in circles.
#[test]
fn a_site_without_a_certificate_is_to_fill_in() {
    let nginx = |certificate: &str| {
        format!(
            "server {{\nlisten 80;\nserver_name a.example;\nreturn 301 https://$host$request_uri;\n}}\n\
             server {{\nlisten 443 ssl;\nserver_name a.example;\n{certificate}\nlocation / {{\nproxy_pass http://o.example;\n}}\n}}\n"
        )
    };
    let httpd = "Listen 80\nListen 443\n<VirtualHost *:80>\nServerName a.example\nRedirect permanent / https://a.example/\n\
                 </VirtualHost>\n<VirtualHost *:443>\nServerName a.example\nProxyPass / http://o.example/\n</VirtualHost>\n"
        .to_owned();
    let iis = "<configuration><system.applicationHost><sites><site name=\"a\"><bindings>\n\
               <binding protocol=\"http\" bindingInformation=\"*:80:a.example\"/>\n\
               <binding protocol=\"https\" bindingInformation=\"*:443:a.example\"/>\n</bindings>\
               <application path=\"/\"><virtualDirectory path=\"/\" physicalPath=\"c:\\a\"/></application></site></sites>\
               </system.applicationHost></configuration>"
        .to_owned();
    for (source, text, sites) in [
        (Source::Nginx, nginx(""), 2),
        (Source::Nginx, nginx("ssl_certificate $ssl_server_name.crt;"), 2),
        (Source::Nginx, nginx("ssl_certificate data:$cert;"), 2),
        (Source::Apache, httpd, 2),
        (Source::Iis, iis, 1),
    ] {
        let judge = Judge::of(source, &text);
        let table: toml::Table = judge.toml.parse().unwrap();
        let all = table["site"].as_array().unwrap();
        assert_eq!(all.len(), sites, "{}", judge.toml);
        let listen = table["server"]["listen"].to_string();
        assert!(listen.contains("https://0.0.0.0:443"), "{listen}");
        let secure = all.last().unwrap();
        assert_eq!(
            secure["certificate"].as_str().map(|c| c.starts_with("/FILL-IN/")),
            Some(true),
            "{}",
            judge.toml
        );
        let filled =
            judge.notes.iter().filter(|note| note.fate == Fate::FillIn && note.text.contains("certificate"));
        assert!(filled.count() >= 1, "{:#?}", judge.notes);
    }
    // One that is named stays as it is.
    let judge = Judge::of(Source::Nginx, &nginx("ssl_certificate /a.crt;\nssl_certificate_key /a.key;"));
    assert!(!judge.toml.contains("FILL-IN"), "{}", judge.toml);
}

#[test]
fn a_site_that_is_left_out_breaks_something() {
    let two = "server {\nlisten 80;\nserver_name a.example;\nroot /a;\n}\nserver {\nlisten 80;\nserver_name a.example;\nroot /b;\n}\n";
    let judge = Judge::of(Source::Nginx, two);
    let lost = judge.notes.iter().filter(|note| note.consequence == Consequence::BreaksSite);
    let texts: Vec<&str> = lost.map(|note| note.text.as_str()).collect();
    assert!(texts.iter().any(|text| text.contains("the whole site is left out")), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("has this host already")), "{texts:?}");
}
