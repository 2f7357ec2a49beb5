//! What an import says of a directive is true, in plain English, and tells what to do.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may stop at its first surprise"
)]

use samovar_import::{Ask, Consequence, Fate, File, Note, Options, Source, import};

fn notes(source: Source, text: &str) -> Vec<Note> {
    let file = File { name: "main.conf".into(), bytes: text.into() };
    let mut read = |_: &Ask<'_>| Err("there is none".to_owned());
    import(source, &file, &Options::default(), &mut read).unwrap_or_else(|why| panic!("{text}\n{why}")).notes
}

/// The note of the one directive on line 1.
fn first(text: &str) -> Note {
    let all = notes(Source::Nginx, text);
    all.into_iter().find(|note| note.place.line == 1).unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn a_directive_is_out_of_place_only_where_nginx_does_not_take_it() {
    let http = "\nevents {}\nhttp { server { listen 80; root /srv/www; } }\n";
    for main in [
        "error_log /var/log/nginx/error.log;",
        "user www-data;",
        "worker_rlimit_nofile 8192;",
        "env TZ;",
        "thread_pool a threads=2;",
        "pcre_jit on;",
        "events { worker_connections 768; }",
        "error_log stderr warn;",
    ] {
        let note = first(&format!("{main}{http}"));
        assert_eq!((note.fate, note.consequence), (Fate::LeftOut, Consequence::Nothing), "{note}");
        assert!(!note.text.contains("outside") && !note.text.contains("does not know"), "{note}");
    }
    for outside in
        ["proxy_pass http://o.example;", "root /srv;", "gzip_vary on;", "location / { }", "add_header A b;"]
    {
        let note = first(&format!("{outside}{http}"));
        assert!(note.text.contains("inside of `http`"), "{note}");
        assert_eq!(note.consequence, Consequence::BreaksSite, "{note}");
    }
    let note = first(&format!("invented on;{http}"));
    assert!(note.text.contains("does not know"), "{note}");
    // What nginx includes in `http` may say so of all its servers.
    let fragment =
        "add_header A b;\nserver { listen 80; root /srv/a; }\nserver { listen 81; root /srv/b; }\n";
    let note = first(fragment);
    assert_eq!(note.fate, Fate::Carried, "{note}");
    let file = File { name: "main.conf".into(), bytes: fragment.into() };
    let imported =
        import(Source::Nginx, &file, &Options::default(), &mut |_: &Ask<'_>| Err("none".to_owned())).unwrap();
    assert_eq!(imported.toml.matches("\nclient_fields = ").count(), 2, "{}", imported.toml);
}

/// What stands in every packaged configuration needs nobody.
#[test]
fn what_distributions_ship_is_not_reported_as_broken() {
    let nginx = "user www-data;\nworker_processes auto;\npid /run/nginx.pid;\nerror_log /var/log/nginx/error.log;\n\
                 include /etc/nginx/modules-enabled/*.conf;\nevents {\nworker_connections 768;\n}\nhttp {\nsendfile on;\n\
                 tcp_nopush on;\ntypes_hash_max_size 2048;\ninclude /etc/nginx/mime.types;\ndefault_type application/octet-stream;\n\
                 ssl_protocols TLSv1.2 TLSv1.3;\nssl_prefer_server_ciphers on;\naccess_log /var/log/nginx/access.log;\ngzip on;\n\
                 server {\nlisten 80 default_server;\nroot /var/www/html;\nindex index.html;\nserver_name _;\n\
                 location / {\ntry_files $uri $uri/ =404;\n}\n}\n}\n";
    let httpd = "DocumentRoot /var/www/html\nListen 80\n<IfModule ssl_module>\nListen 443\n</IfModule>\n\
                 <Directory /usr/share>\nAllowOverride None\nRequire all granted\n</Directory>\n\
                 <Directory /var/www/>\nOptions FollowSymLinks\nAllowOverride None\nRequire all granted\n</Directory>\n\
                 <IfDefine ENABLE_USR_LIB_CGI_BIN>\nScriptAlias /cgi-bin/ /usr/lib/cgi-bin/\n<Directory /usr/lib/cgi-bin>\n\
                 Require all granted\n</Directory>\n</IfDefine>\n";
    for (source, text) in [(Source::Nginx, nginx), (Source::Apache, httpd)] {
        let mut read = |_: &Ask<'_>| Ok(Vec::new());
        let file = File { name: "main.conf".into(), bytes: text.into() };
        let all = import(source, &file, &Options::default(), &mut read).unwrap().notes;
        let loud: Vec<&Note> =
            all.iter().filter(|note| note.consequence < Consequence::CachedDifferently).collect();
        assert!(loud.is_empty(), "{loud:#?}");
    }
    // A guard that is left out is still unsafe.
    let all =
        notes(Source::Apache, "<IfDefine X>\n<Location /a>\nRequire valid-user\n</Location>\n</IfDefine>\n");
    assert!(all.iter().any(|n| n.directive == "Require valid-user" && n.fate == Fate::Unsafe), "{all:#?}");
    assert!(all.iter().any(|n| n.directive.starts_with("IfDefine") && n.fate == Fate::Unsafe), "{all:#?}");
}

#[test]
fn each_directive_has_the_reason_of_its_own_kind() {
    let of = |inner: &str| {
        let text = format!(
            "server {{ listen 80; location / {{ proxy_pass http://o.example; proxy_cache z;\n{inner}\n}} }}"
        );
        notes(Source::Nginx, &text).into_iter().find(|note| note.place.line == 2).unwrap().text
    };
    for (inner, words) in [
        ("proxy_cache_purge PURGE;", "samovar cache purge"),
        ("proxy_cache_max_range_offset 1m;", "range"),
        ("proxy_cache_convert_head off;", "HEAD"),
        ("sub_filter a b;", "bodies"),
        ("limit_rate 1m;", "slow"),
        ("resolver 127.0.0.1;", "resolve_every"),
    ] {
        assert!(of(inner).contains(words), "{inner}: {}", of(inner));
    }
}
