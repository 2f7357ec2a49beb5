//! httpd: mod_cache with its stores, mod_expires, mod_file_cache, and what mod_headers and variables say to caches.

use crate::Becomes::{Differs, Line, Named, Same, Warned};
use crate::{Row, known, names, table, told};
use samovar_import::{Consequence, Fate, Source};

/// Beside `CacheEnable` alone.
const PLAIN: &[Row] = &[
    ("CacheDefaultExpire 1800", Named("with an ETag but without a lifetime")),
    ("CacheMaxExpire 600", Differs("max_lifetime = \"10m\"", "Expires")),
    ("CacheMaxExpire 600", Differs("heuristic_max = \"10m\"", "Expires")),
    ("CacheMinExpire 600", Named("shorter")),
    ("CacheLastModifiedFactor 0.3", Differs("heuristic_factor = 0.3", "cookie")),
    ("CacheLastModifiedFactor 7", Named("from 0 to 1")),
    ("CacheIgnoreNoLastMod On", Warned("when_silent = \"1h\"")),
    ("CacheIgnoreNoLastMod Off", Same),
    ("CacheIgnoreCacheControl On", Line("reload = \"ignore\"")),
    ("CacheIgnoreCacheControl Off", Line("reload = \"revalidate\"")),
    ("CacheIgnoreQueryString On", Warned("all queries")),
    ("CacheIgnoreQueryString Off", Same),
    ("CacheIgnoreQueryString maybe", Named("On or Off")),
    ("CacheIgnoreHeaders Set-Cookie", Line("set_cookie = \"strip\"")),
    ("CacheIgnoreHeaders X-A", Differs("drop_fields = [\"X-A\"]", "first response")),
    ("CacheIgnoreHeaders None", Warned("Set-Cookie")),
    ("CacheIgnoreURLSessionIdentifiers sid", Named("session")),
    ("CacheIgnoreURLSessionIdentifiers None", Same),
    ("CacheStorePrivate On", Warned("for one visitor")),
    ("CacheStorePrivate Off", Same),
    ("CacheStoreNoStore On", Warned("must not be stored")),
    ("CacheStoreNoStore Off", Same),
    ("CacheStoreExpired On", Named("stale")),
    ("CacheStoreExpired Off", Same),
    ("CacheStaleOnError On", Differs("stale_if_error = \"1d\"", "no bound")),
    ("CacheStaleOnError Off", Line("stale_if_error = \"0s\"")),
    ("CacheStaleOnError Off", Line("stale_if_unreachable = \"0s\"")),
    ("CacheDisable /live", Line("never = true")),
    ("CacheDisable on", Line("never = true")),
    ("CacheEnable disk http://", Named("forward proxy")),
    ("CacheQuickHandler On", Same),
    ("CacheQuickHandler Off", Same),
    ("CacheKeyBaseURL http://a.example", Named("each host")),
    ("CacheHeader On", Same),
    ("CacheDetailHeader On", Same),
    ("CacheLock On", Same),
    ("CacheLock Off", Named("one fetch")),
    ("CacheLockMaxAge 5", Same),
    ("CacheLockPath /tmp", Same),
    ("CacheRoot /var/cache", Named("no disk tier")),
    ("CacheDirLevels 2", Same),
    ("CacheDirLength 1", Same),
    ("CacheReadSize 1", Same),
    ("CacheReadTime 1", Same),
    ("CacheMaxFileSize 1024", Line("max_bytes = \"1 KiB\"")),
    ("CacheMaxFileSize large", Named("no size")),
    ("CacheMinFileSize 1024", Line("min_bytes = \"1 KiB\"")),
    ("CacheSocache shmcb", Named("no disk tier")),
    ("CacheSocacheMaxSize 1024", Line("max_bytes = \"1 KiB\"")),
    ("CacheSocacheMaxTime 60", Named("max_lifetime")),
    ("CacheSocacheMinTime 60", Named("least time")),
    ("CacheSocacheReadSize 1", Same),
    ("CacheSocacheReadTime 1", Same),
    ("MCacheSize 102400", Line("size = \"100 MiB\"")),
    ("MCacheMaxObjectCount 9", Named("in bytes")),
    ("MCacheMaxObjectSize 1024", Line("max_bytes = \"1 KiB\"")),
    ("MCacheMinObjectSize 1024", Line("min_bytes = \"1 KiB\"")),
    ("MCacheMaxStreamingBuffer 1", Named("in bytes")),
    ("MCacheRemovalAlgorithm LRU", Named("least")),
    ("CacheFile /srv/a", Named("at once")),
    ("MMapFile /srv/a", Named("at once")),
    ("CacheNegotiatedDocs On", Same),
    ("CacheInvented On", Named("does not know")),
];

/// The same beside `CacheIgnoreNoLastMod On`, where httpd stores what says no lifetime.
const SILENT: &[Row] = &[
    ("CacheDefaultExpire 1800", Line("when_silent = \"30m\"")),
    ("CacheLastModifiedFactor 0.3", Line("heuristic_factor = 0.3")),
    ("CacheMaxExpire 7200", Differs("heuristic_max = \"2h\"", "Expires")),
];

/// Beside a size that no response can have.
const SIZES: &[Row] = &[("CacheMinFileSize 4096", Named("larger than CacheMaxFileSize"))];

/// Without `CacheEnable` httpd stores nothing.
const OFF: &[Row] = &[
    ("CacheDefaultExpire 1800", Named("no CacheEnable")),
    ("CacheLastModifiedFactor 0.3", Named("no CacheEnable")),
    ("CacheMaxExpire 600", Named("no CacheEnable")),
    ("CacheStorePrivate On", Named("no CacheEnable")),
    ("CacheEnable disk /maps", Differs("respect = true", "Other paths")),
    ("CacheEnable disk /", Differs("respect = true", "restart empties it")),
];

/// Lifetimes that are written into responses, and fields that caches go by.
const FIELDS: &[Row] = &[
    ("ExpiresDefault \"access plus 1 hour\"", Line("client_cache_control = \"max-age=3600\"")),
    ("ExpiresDefault \"access plus 1 hour\"", Line("when_silent = \"1h\"")),
    ("ExpiresDefault \"modification plus 1 hour\"", Named("counted from the request")),
    ("ExpiresByType image/png A60", Line("client_cache_control = \"max-age=60\"")),
    ("ExpiresByType image/png A60", Line("when_silent = \"1m\"")),
    ("ExpiresByType model/x A60", Named("extension")),
    ("Header set Cache-Control \"max-age=60\"", Line("for = \"1m\"")),
    ("Header set Cache-Control \"private, max-age=60\"", Line("never = true")),
    ("Header append Cache-Control public", Named("Cache-Control")),
    ("Header set Cache-Control max-age=60 env=x", Named("conditions")),
    ("Header unset Cache-Control", Differs("drop_fields = [\"Cache-Control\"]", "still decides")),
    ("Header unset Set-Cookie", Differs("drop_fields = [\"Set-Cookie\"]", "still decides")),
    ("Header set Expires 0", Named("Expires")),
    (
        "Header append Vary User-Agent",
        Line("response_fields = [{ append = \"Vary\", value = \"User-Agent\" }]"),
    ),
    ("Header edit Cache-Control a b", Named("edit")),
    ("Header set ETag x", Named("ETag")),
    ("FileETag None", Named("ETag")),
    ("SetEnv no-cache 1", Line("never = true")),
    ("SetEnvIf Cookie sid no-cache", Warned("passed by the cache")),
    ("BrowserMatch Mozilla no-cache", Warned("passed by the cache")),
    ("RequestHeader unset Cache-Control", Named("reload")),
];

/// The manual's directives: mod_cache, mod_cache_disk, mod_cache_socache, mod_mem_cache, mod_file_cache, mod_negotiation.
const MANUAL: [&str; 46] = [
    "cachedefaultexpire",
    "cachedetailheader",
    "cachedisable",
    "cacheenable",
    "cacheheader",
    "cacheignorecachecontrol",
    "cacheignoreheaders",
    "cacheignorenolastmod",
    "cacheignorequerystring",
    "cacheignoreurlsessionidentifiers",
    "cachekeybaseurl",
    "cachelastmodifiedfactor",
    "cachelock",
    "cachelockmaxage",
    "cachelockpath",
    "cachemaxexpire",
    "cacheminexpire",
    "cachequickhandler",
    "cachestaleonerror",
    "cachestoreexpired",
    "cachestorenostore",
    "cachestoreprivate",
    "cachedirlength",
    "cachedirlevels",
    "cachemaxfilesize",
    "cacheminfilesize",
    "cachereadsize",
    "cachereadtime",
    "cacheroot",
    "cachesocache",
    "cachesocachemaxsize",
    "cachesocachemaxtime",
    "cachesocachemintime",
    "cachesocachereadsize",
    "cachesocachereadtime",
    "mcachemaxobjectcount",
    "mcachemaxobjectsize",
    "mcachemaxstreamingbuffer",
    "mcacheminobjectsize",
    "mcacheremovalalgorithm",
    "mcachesize",
    "cachefile",
    "mmapfile",
    "cachenegotiateddocs",
    "expiresdefault",
    "expiresbytype",
];

const SERVER: &str = "DocumentRoot /srv/www\nProxyPass /maps http://o.example/maps\n";

#[test]
fn each_directive_has_its_effect_or_is_named() {
    table(Source::Apache, &format!("{SERVER}CacheEnable disk /\n@\n"), PLAIN);
    table(Source::Apache, &format!("{SERVER}CacheEnable disk /\nCacheIgnoreNoLastMod On\n@\n"), SILENT);
    table(Source::Apache, &format!("{SERVER}CacheEnable disk /\nCacheMaxFileSize 1024\n@\n"), SIZES);
    table(Source::Apache, &format!("{SERVER}@\n"), OFF);
    table(Source::Apache, &format!("{SERVER}CacheEnable disk /\nExpiresActive On\n@\n"), FIELDS);
    // In a virtual host, and said by the main server for it.
    let host = "<VirtualHost *:80>\nServerName a.example\nCacheEnable disk /\n";
    table(Source::Apache, &format!("{SERVER}{host}@\n</VirtualHost>\n"), PLAIN);
    table(Source::Apache, &format!("{SERVER}@\n{host}CacheIgnoreNoLastMod On\n</VirtualHost>\n"), SILENT);
}

#[test]
fn the_list_is_whole() {
    let rows = names(&[PLAIN, SILENT, SIZES, OFF, FIELDS]);
    for name in MANUAL {
        assert!(rows.contains(name), "{name} has no row");
    }
    let read = known(include_str!("../../src/apache/cache_words.rs"), &["cache", "mcache", "mmap"]);
    for name in read.iter().filter(|name| !["cache", "mcache"].contains(&name.as_str())) {
        assert!(rows.contains(name), "the importer knows {name}, which has no row");
    }
}

#[test]
fn what_httpd_does_by_itself_is_written_where_samovar_does_otherwise() {
    let toml = |more: &str| told(Source::Apache, &format!("{SERVER}CacheEnable disk /\n{more}")).toml;
    for line in ["heuristic_factor = 0.1  # httpd's default", "heuristic_max = \"1d\"  # httpd's default"] {
        assert!(toml("").contains(line), "{}", toml(""));
        assert!(toml("CacheIgnoreNoLastMod On\n").contains(line), "{}", toml("CacheIgnoreNoLastMod On\n"));
    }
    assert!(toml("CacheIgnoreNoLastMod On\n").contains("heuristic_first = true"));
    assert!(!toml("").contains("heuristic_first"));
}

#[test]
fn a_directive_holds_where_its_section_and_a_cache_do() {
    let text = "DocumentRoot /srv/www\nProxyPass /maps http://o.example/maps\nCacheEnable disk /maps/tiles\n\
                <Location /maps>\nCacheMaxExpire 60\n</Location>\n<Location /other>\nCacheMaxExpire 30\n</Location>\n";
    let imported = told(Source::Apache, text);
    assert!(imported.toml.contains("max_lifetime = \"1m\""), "{}", imported.toml);
    let note = |words: &str| imported.notes.iter().find(|n| n.directive.contains(words)).unwrap();
    assert_eq!(note("CacheMaxExpire 60").fate, Fate::Carried);
    assert_eq!(note("CacheMaxExpire 30").fate, Fate::LeftOut);
    assert_eq!(note("CacheMaxExpire 30").consequence, Consequence::CachedDifferently);
}

#[test]
fn where_httpd_stored_nothing_the_report_says_that_samovar_does() {
    let listed = |text: &str| {
        let all = told(Source::Apache, text).notes;
        all.iter()
            .any(|n| n.consequence == Consequence::CachedDifferently && n.text.contains("no cache was on"))
    };
    assert!(listed(SERVER));
    assert!(!listed(&format!("{SERVER}CacheEnable disk /\n")));
    assert!(!listed("DocumentRoot /srv/www\n"));
}

#[test]
fn expiry_holds_only_where_it_is_on() {
    let of = |inner: &str| told(Source::Apache, &format!("{SERVER}{inner}")).toml;
    assert!(!of("ExpiresDefault A60\n").contains("client_cache_control"), "off by default");
    assert!(!of("ExpiresActive Off\nExpiresDefault A60\n").contains("client_cache_control"));
    let inside = of("ExpiresDefault A60\n<Location /img>\nExpiresActive On\n</Location>\n");
    let rule = inside.split("path = \"/img\"").nth(1).unwrap_or_default();
    assert!(rule.contains("client_cache_control = \"max-age=60\""), "{inside}");
    assert!(!inside.contains("when_silent"), "no cache is on: {inside}");
}
