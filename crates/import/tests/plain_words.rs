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
