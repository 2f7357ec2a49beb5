//! nginx: what proxy_cache and fastcgi_cache store, and what clients and caches behind are told.

use crate::Becomes::{Differs, Line, Named, Same, Warned};
use crate::{Row, known, names, table, told};
use samovar_import::{Consequence, Fate, Source};

/// Beside `proxy_cache z`.
const CACHE: &[Row] = &[
    ("proxy_cache_valid 200 10m;", Differs("when_silent = \"10m\"", "only_status")),
    ("proxy_cache_valid 200 10m;", Differs("only_status = [200]", "other statuses are not stored")),
    ("proxy_cache_valid 10m;", Differs("only_status = [200, 301, 302]", "other statuses")),
    ("proxy_cache_valid any 10m;", Differs("when_silent = \"10m\"", "500")),
    ("proxy_cache_valid 404 1m;", Named("that of status 200")),
    ("proxy_cache_valid 200 0;", Same),
    ("proxy_cache_valid 200 later;", Named("no time")),
    ("proxy_cache_key $scheme$host$uri;", Line("vary_query = \"ignore\"")),
    ("proxy_cache_key $host$uri$arg_id;", Line("vary_query = { keep = [\"id\"] }")),
    ("proxy_cache_key $host$request_uri$http_x_a;", Line("vary_headers = [\"x-a\"]")),
    ("proxy_cache_key $host$request_uri$cookie_a;", Line("vary_cookies = [\"a\"]")),
    ("proxy_cache_key $uri;", Differs("vary_query = \"ignore\"", "always in the key")),
    ("proxy_cache_key $host$request_uri$device;", Warned("$device")),
    ("proxy_no_cache $cookie_a;", Warned("nothing is stored")),
    ("proxy_no_cache $http_pragma;", Named("replaces the older")),
    ("proxy_cache_bypass $cookie_a;", Warned("nothing is stored")),
    ("proxy_cache_bypass $http_pragma;", Line("reload = \"bypass\"")),
    ("proxy_cache_bypass $http_authorization;", Line("vary_headers = [\"Authorization\"]")),
    ("proxy_cache_bypass 0;", Same),
    ("proxy_ignore_headers Cache-Control;", Warned("for one visitor")),
    ("proxy_ignore_headers Set-Cookie;", Warned("set_cookie")),
    ("proxy_ignore_headers Vary;", Warned("kept apart")),
    ("proxy_ignore_headers Expires;", Named("still counts")),
    ("proxy_ignore_headers X-Accel-Expires;", Same),
    ("proxy_cache_min_uses 3;", Line("admit_after = 3")),
    ("proxy_cache_min_uses 3;", Line("admit_period = \"30m\"")),
    ("proxy_cache_min_uses 1;", Same),
    ("proxy_cache_use_stale error;", Line("stale_if_unreachable = \"30m\"")),
    ("proxy_cache_use_stale http_500;", Line("stale_if_error = \"30m\"")),
    ("proxy_cache_use_stale updating;", Line("stale_while_revalidate = \"30m\"")),
    ("proxy_cache_use_stale error http_404;", Differs("stale_if_unreachable = \"30m\"", "http_404")),
    ("proxy_cache_use_stale off;", Line("stale_if_unreachable = \"0s\"")),
    ("proxy_cache_methods GET HEAD;", Same),
    ("proxy_cache_methods GET POST;", Named("only responses to GET")),
    ("proxy_cache_lock on;", Same),
    ("proxy_cache_lock off;", Named("one fetch")),
    ("proxy_cache_lock_age 5s;", Same),
    ("proxy_cache_lock_timeout 5s;", Same),
    ("proxy_cache_background_update on;", Same),
    ("proxy_cache_revalidate on;", Same),
    ("proxy_cache_max_range_offset 1m;", Named("cut out of")),
    ("proxy_cache_convert_head on;", Same),
    ("proxy_cache_convert_head off;", Named("HEAD")),
    ("proxy_cache_purge PURGE from 127.0.0.1;", Named("samovar cache purge")),
    ("proxy_cache_invented on;", Named("does not know")),
    ("proxy_buffering off;", Line("never = true")),
    ("proxy_buffering on;", Same),
    ("proxy_store on;", Named("to files")),
    ("proxy_store off;", Same),
    ("proxy_hide_header Cache-Control;", Line("drop_fields = [\"Cache-Control\"]")),
    ("expires 1h;", Line("client_cache_control = \"max-age=3600\"")),
    ("expires max;", Line("client_cache_control = \"max-age=315360000\"")),
    ("expires epoch;", Line("client_cache_control = \"no-cache\"")),
    ("expires -1;", Line("client_cache_control = \"no-cache\"")),
    ("expires off;", Same),
    ("expires modified +1h;", Named("counted from the request")),
    ("expires @15h;", Named("counted from the request")),
    ("expires $expires;", Named("counted from the request")),
    ("add_header Cache-Control public;", Line("client_cache_control = \"public\"")),
    ("add_header Cache-Control \"public$more\";", Named("variable")),
    ("add_header Expires 0;", Line("client_fields = [{ append = \"Expires\", value = \"0\" }]")),
    ("add_header Vary X-A;", Line("response_fields = [{ append = \"Vary\", value = \"X-A\" }]")),
    ("add_header ETag x;", Named("ETag")),
    ("add_header Last-Modified \"\";", Same),
    ("etag off;", Named("ETag")),
    ("etag on;", Same),
    ("if_modified_since off;", Named("If-Modified-Since")),
    ("if_modified_since exact;", Same),
    ("slice 1m;", Named("whole")),
    ("slice 0;", Same),
    ("open_file_cache max=10;", Same),
    ("open_file_cache_valid 60s;", Same),
    ("open_file_cache_min_uses 2;", Same),
    ("open_file_cache_errors on;", Same),
    ("srcache_store PUT /x;", Named("does not know")),
    ("uwsgi_cache z;", Named("uwsgi")),
    ("uwsgi_cache_valid 1h;", Named("uwsgi")),
    ("scgi_cache z;", Named("SCGI")),
    ("scgi_no_cache $a;", Named("SCGI")),
];

/// Without a cache.
const NONE: &[Row] = &[
    ("proxy_cache z;", Differs("respect = true", "restart empties it")),
    ("proxy_cache off;", Line("never = true")),
    ("proxy_cache_valid 1h;", Same),
    ("proxy_cache_bypass $cookie_a;", Same),
];

/// Beside `fastcgi_cache z`.
const FASTCGI: &[Row] = &[
    ("fastcgi_cache_valid 200 10m;", Differs("when_silent = \"10m\"", "only_status")),
    ("fastcgi_cache_key $host$uri;", Line("vary_query = \"ignore\"")),
    ("fastcgi_no_cache $cookie_a;", Warned("nothing is stored")),
    ("fastcgi_ignore_headers Cache-Control;", Warned("for one visitor")),
    ("fastcgi_cache_use_stale http_500;", Line("stale_if_error = \"30m\"")),
    ("fastcgi_buffering off;", Line("never = true")),
    ("fastcgi_hide_header Set-Cookie;", Line("drop_fields = [\"Set-Cookie\"]")),
    ("fastcgi_store on;", Named("to files")),
    ("proxy_cache_valid 200 10m;", Same),
];

/// The manual's directives of ngx_http_proxy_module, without the module's prefix.
const MANUAL: [&str; 21] = [
    "cache",
    "cache_background_update",
    "cache_bypass",
    "cache_convert_head",
    "cache_key",
    "cache_lock",
    "cache_lock_age",
    "cache_lock_timeout",
    "cache_max_range_offset",
    "cache_methods",
    "cache_min_uses",
    "cache_purge",
    "cache_revalidate",
    "cache_use_stale",
    "cache_valid",
    "no_cache",
    "ignore_headers",
    "store",
    "buffering",
    "hide_header",
    "cache_path",
];

const HTTP: &str =
    "http {\nproxy_cache_path /x keys_zone=z:1m inactive=30m;\nserver {\nlisten 80;\nroot /srv/www;\n";

#[test]
fn each_directive_has_its_effect_or_is_named() {
    let location = |cache: &str| {
        format!("{HTTP}location /a/ {{\nproxy_pass http://o.example;\n{cache}\n@\n}}\n}}\n}}\n")
    };
    table(Source::Nginx, &location("proxy_cache z;"), CACHE);
    table(Source::Nginx, &location(""), NONE);
    let script = "location ~ \\.php$ {\nfastcgi_pass 127.0.0.1:9000;\nfastcgi_cache z;\n@\n}\n}\n}\n";
    table(Source::Nginx, &format!("{HTTP}{script}"), FASTCGI);
    // Handed down to a location that has a cache.
    let rows: Vec<Row> = CACHE.iter().filter(|row| row.0.starts_with("proxy_cache_")).copied().collect();
    let inner = "location /a/ {\nproxy_pass http://o.example;\nproxy_cache z;\n}\nlocation /b/ {\nproxy_pass http://o.example;\n}\n}\n}\n";
    table(Source::Nginx, &format!("{HTTP}@\n{inner}"), &rows);
}

#[test]
fn the_list_is_whole() {
    let mut rows = names(&[CACHE, NONE, FASTCGI]);
    rows.insert("proxy_cache_path".to_owned());
    for name in MANUAL {
        assert!(rows.contains(&format!("proxy_{name}")), "proxy_{name} has no row");
    }
    let read = known(include_str!("../../src/nginx/cache.rs"), &["cache_", "no_cache", "ignore_headers"]);
    for name in read.iter().filter(|name| *name != "cache_control") {
        assert!(rows.contains(&format!("proxy_{name}")), "the importer knows {name}, which has no row");
    }
}

#[test]
fn where_nginx_stored_nothing_the_report_says_that_samovar_does() {
    let listed = |inner: &str| {
        let all = told(Source::Nginx, &format!("{HTTP}{inner}\n}}\n}}\n")).notes;
        all.iter()
            .any(|n| n.consequence == Consequence::CachedDifferently && n.text.contains("no cache was on"))
    };
    assert!(listed("location / {\nproxy_pass http://o.example;\n}"));
    assert!(listed("location /a/ {\nproxy_pass http://o.example;\n}"));
    assert!(listed("location ~ \\.php$ {\nfastcgi_pass 127.0.0.1:9000;\n}"));
    assert!(!listed("location / {\nproxy_pass http://o.example;\nproxy_cache z;\n}"));
    assert!(!listed("location / {\nproxy_pass http://o.example;\nproxy_cache off;\n}"));
    assert!(!listed("location /old/ {\nreturn 301 /new/;\n}"));
}

#[test]
fn a_zone_on_disk_is_named() {
    let imported = told(Source::Nginx, &format!("{HTTP}}}\n}}\n"));
    let note = imported.notes.iter().find(|note| note.directive.starts_with("proxy_cache_path")).unwrap();
    assert_eq!((note.fate, note.consequence), (Fate::LeftOut, Consequence::CachedDifferently));
    assert!(note.text.contains("not after 30m"), "{note}");
}
