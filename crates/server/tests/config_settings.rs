//! What a configuration comes to mean.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

use samovar::config::{AccessLog, Budget, ErrorDetail, Listen, LogFormat, Settings, TargetSettings, parse};
use samovar_origin::{Address, UpstreamLimits};
use samovar_policy::{LifetimeWish, Reload};
use samovar_rules::{HotWish, Normalise, QueryKey, Rule};
use std::path::Path;
use std::time::Duration;

fn settings(text: &str) -> Settings {
    parse(text, "/etc/samovar/samovar.toml").unwrap_or_else(|e| panic!("{e}")).settings
}

fn site(body: &str) -> Settings {
    settings(&format!("config = 1\n[[site]]\ndefault = true\n{body}\n"))
}

/// The example of the design, with one member: what people will copy.
const GALLERY: &str = r#"
config = 1
[server]
listen = ["0.0.0.0:80", "[::]:80"]
[memory]
size = "4 GiB"                        # all of it: entries, heads, indexes, buffers

[[site]]
name  = "gallery"
hosts = ["Gallery.Example.", "*.gallery.example"]
index = ["index.php", "index.html"]
handlers = [ { extension = ".php", fastcgi = "unix:/run/php/php8.2-fpm.sock" } ]
files = "/srv/gallery"                # what no handler takes

  [[site.rule]]
  path = "/admin/**"
  never = true
  [[site.rule]]
  extension  = ".php"
  for        = "30s"
  vary_query = { keep = ["Qwd", "Qif", "Qiv", "Qis"] }
  ignore_cookies = ["_ga*"]
  hot        = true

[[site]]
name  = "maps"
hosts = ["maps.example"]
upstream = "arcgis"
[[upstream]]
name    = "arcgis"
members = [ { url = "http://ags1.example:6080/base", weight = 50 } ]
"#;

#[test]
fn the_example_of_the_design() {
    let s = settings(GALLERY);
    assert_eq!(s.server.listen.len(), 2);
    assert_eq!((s.memory.size_bytes, s.memory.from), (4 << 30, Budget::Written));
    let [gallery, maps] = s.sites.sites.as_slice() else { panic!("two sites") };
    assert_eq!(gallery.hosts, ["gallery.example", "*.gallery.example"]);
    assert_eq!(gallery.canonical_host, "", "the client's own");
    assert_eq!(gallery.index, ["index.php", "index.html"]);
    let TargetSettings::Files(files) = &s.targets[gallery.fallback.0] else { panic!("files") };
    assert_eq!(files.root, Path::new("/srv/gallery"));
    assert_eq!(files.never, [Path::new("/etc/samovar/samovar.toml")]);
    let (extension, php) = &gallery.handlers[0];
    let TargetSettings::FastCgi(php) = &s.targets[php.0] else { panic!("php") };
    assert_eq!(extension, ".php");
    assert_eq!(php.upstream.places[0].address, Address::Unix("/run/php/php8.2-fpm.sock".into()));
    assert_eq!(php.root, Path::new("/srv/gallery"));
    assert_eq!(php.upstream.limits.max_connections, 64);
    let [admin, pages] = gallery.rules.as_slice() else { panic!("two rules") };
    assert_eq!((&*admin.id, admin.wishes.lifetime), ("r1", LifetimeWish::Never));
    assert_eq!((&*pages.id, pages.wishes.lifetime), ("r2", LifetimeWish::For(30_000)));
    assert_eq!(pages.extensions, [".php"]);
    assert!(matches!(&pages.vary_query, QueryKey::Keep(k) if k.len() == 4));
    assert!(pages.hot.enabled);
    let TargetSettings::Http(http) = &s.targets[maps.fallback.0] else { panic!("http") };
    assert_eq!(http.places[0].address, Address::Tcp("ags1.example".into(), 6080));
    assert_eq!(
        (http.places[0].base_path.as_str(), http.limits.clone()),
        ("/base", UpstreamLimits::default())
    );
}

#[test]
fn what_holds_when_nothing_is_written() {
    let s = site("origin = \"http://127.0.0.1:3000\"");
    assert_eq!(s.server.listen, [Listen::Tcp(([127, 0, 0, 1], 8080).into())]);
    assert_eq!(s.server.admin, Some(Listen::Tcp(([127, 0, 0, 1], 9900).into())));
    assert_eq!((s.server.workers, s.server.error_detail), (None, ErrorDetail::Loopback));
    assert!(
        !s.server.trusted_proxies.trusts(Some([127, 0, 0, 1].into()))
            && !s.server.trusted_proxies.trusts(None)
    );
    let l = &s.limits;
    assert_eq!((l.line_max_bytes, l.head_max_bytes, l.fields_max), (16 << 10, 64 << 10, 100));
    assert_eq!((l.body_max_bytes, l.connections_max), (Some(1 << 30), 10_000));
    assert_eq!((l.requests_per_connection, l.connection_lifetime), (None, None));
    assert_eq!(l.upgraded_idle_timeout, Some(Duration::from_secs(600)));
    assert!(
        !s.server.proxy_protocol.trusts(Some([127, 0, 0, 1].into())) && !s.server.proxy_protocol.trusts(None)
    );
    assert_eq!((l.head_timeout, l.stop_timeout), (Duration::from_secs(10), Duration::from_secs(30)));
    assert!(matches!(
        s.memory.from,
        Budget::Machine { percent: 25, .. } | Budget::ControlGroup { percent: 25, .. }
    ));
    assert_eq!(s.memory.entry_max_bytes, s.memory.size_bytes / 8);
    assert_eq!((&s.log.access, s.log.format), (&AccessLog::Stderr, LogFormat::Combined));
    assert_eq!(s.hot, HotWish::default(), "declared defaults and the type's own agree");
    let one = &s.sites.sites[0];
    assert_eq!((&*one.name, one.canonical_host.as_str(), one.cache_status), ("default", "", true));
    let w = &one.otherwise.wishes;
    assert_eq!((w.lifetime, w.heuristic_factor, w.heuristic_max_ms), (LifetimeWish::Respect, 0.1, 600_000));
    assert_eq!((w.reload, w.max_bytes, w.request_directives), (Reload::Ignore, u64::MAX, false));
    assert_eq!(one.otherwise.hot, HotWish::default());
    assert_eq!((one.otherwise.body_max_bytes, one.otherwise.upgrade_off), (None, false));
    let TargetSettings::Http(http) = &s.targets[one.fallback.0] else { panic!("http") };
    assert_eq!((http.limits.clone(), http.host.clone()), (UpstreamLimits::default(), None));
}

#[test]
fn every_value_arrives_where_it_belongs() {
    let s = settings(
        r#"
config = 1
[server]
listen = "unix:/run/s.sock"
admin = "off"
workers = 3
error_detail = "never"
trusted_proxies = ["10.0.0.0/8", "unix"]
proxy_protocol = ["192.0.2.1"]
[limits]
upgraded_idle_timeout = "unlimited"
body_max_bytes = "unlimited"
idle_timeout = "1m30s"
[memory]
size = "64 MiB"
entry_max = 1000
[log]
access = "log/access.log"
format = "json"
traces = 7
[hot]
enabled = false
threshold = 9
[[site]]
name = "a"
hosts = ["a.example"]
ports = [8080, 8443]
upstream = "u"
cache_status = false
for = "5s"
reload = "bypass"
hot = { threshold = 4 }
  [[site.rule]]
  id = "all"
  method = "GET"
  heuristic_factor = 1
  max_lifetime = "2s"
  min_bytes = 1
  max_bytes = "2 KiB"
  only_type = ["Image/*"]
  only_status = 404
  drop_fields = "X-Powered-By"
  client_cache_control = "no-store"
  stale_while_revalidate = "3s"
  stale_if_error = "4s"
  vary_headers = ["Accept", { name = "Accept-Language", languages = ["de", "en"] },
                  { name = "Accept-Encoding", encodings = ["br", "gzip"] }, { name = "X-Kind", lower = true }]
  vary_query = { drop = "utm_*" }
  vary_cookies = "theme"
  ignore_cookies = "@analytics"
  ignore_case = true
  admit_after = 2
  admit_period = "1h"
  set_cookie = "strip"
  override = ["no-cache", "vary-star"]
[[upstream]]
name = "u"
members = { url = "unix:/run/app.sock" }
host = "App.Internal"
max_connections = 5
head_timeout = "7s"
"#,
    );
    assert_eq!(
        (&s.server.admin, s.server.workers, s.server.error_detail),
        (&None, Some(3), ErrorDetail::Never)
    );
    assert!(
        s.server.trusted_proxies.trusts(None) && s.server.trusted_proxies.trusts(Some([10, 2, 3, 4].into()))
    );
    assert!(
        s.server.proxy_protocol.trusts(Some([192, 0, 2, 1].into())) && !s.server.proxy_protocol.trusts(None)
    );
    assert_eq!(s.limits.upgraded_idle_timeout, None);
    assert_eq!((s.limits.body_max_bytes, s.limits.idle_timeout), (None, Duration::from_secs(90)));
    assert_eq!(s.memory.entry_max_bytes, 1000);
    assert_eq!(s.log.access, AccessLog::File("/etc/samovar/log/access.log".into()));
    assert_eq!((s.log.format, s.log.traces), (LogFormat::Json, 7));
    assert_eq!((s.hot.enabled, s.hot.threshold, s.hot.period_ms), (false, 9, 10_000));
    let site = &s.sites.sites[0];
    assert_eq!((site.ports.as_slice(), site.cache_status), (&[8080, 8443][..], false));
    let rule = &site.rules[0];
    let w = &rule.wishes;
    assert_eq!((w.lifetime, w.reload), (LifetimeWish::For(5_000), Reload::Bypass), "from the site");
    assert_eq!((rule.hot.threshold, rule.hot.enabled), (4, true), "from the site's table, which turns it on");
    assert_eq!((w.lifetime_max_ms, w.min_bytes, w.max_bytes), (Some(2_000), 1, 2048));
    assert_eq!((w.only_type.as_slice(), w.only_status.as_slice()), (&["image/*".to_owned()][..], &[404][..]));
    assert_eq!((w.drop_fields.len(), w.heuristic_factor), (1, 1.0));
    assert_eq!((w.stale_while_revalidate_ms, w.stale_if_error_ms), (Some(3_000), Some(4_000)));
    assert_eq!(w.client_cache_control.as_ref().unwrap(), "no-store");
    assert!(w.set_cookie_strip && w.overrides.no_cache && w.overrides.vary_star && !w.overrides.cookie);
    let how: Vec<_> = rule.vary_headers.iter().map(|v| v.normalise.clone()).collect();
    let list = |l: &[&str]| l.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        how,
        [
            Normalise::Exact,
            Normalise::Languages(list(&["de", "en"])),
            Normalise::Encodings(list(&["br", "gzip"])),
            Normalise::Lower
        ]
    );
    assert_eq!(rule.vary_query, QueryKey::Drop(list(&["utm_*"])));
    assert_eq!((&rule.vary_cookies, &rule.ignore_cookies), (&list(&["theme"]), &list(&["@analytics"])));
    assert_eq!((rule.ignore_case, rule.admit_after, rule.admit_period_ms), (true, 2, 3_600_000));
    let TargetSettings::Http(http) = &s.targets[site.fallback.0] else { panic!("http") };
    assert_eq!(http.places[0].address, Address::Unix("/run/app.sock".into()));
    assert_eq!((http.host.as_deref(), http.limits.max_connections), (Some("app.internal"), 5));
    assert_eq!(http.limits.head_timeout, Duration::from_secs(7));
}

#[test]
fn a_lifetime_that_nobody_wrote_depends_on_the_target() {
    let plain = site("files = \"/srv\"");
    assert_eq!(plain.sites.sites[0].otherwise.wishes.lifetime, LifetimeWish::UntilChanged);

    // Files beside scripts: until the target is known, the careful one holds, also for rules.
    let mixed = site(
        "files = \"/srv\"\nhandlers = { extension = \".php\", fastcgi = \"127.0.0.1:9000\" }\n\
         [[site.rule]]\nid = \"x\"\npath = \"/x/**\"\noverride = \"no-cache\"\n[[site.rule]]\nid = \"y\"\nwhen_silent = \"1s\"",
    );
    let s = &mixed.sites.sites[0];
    let (files, php) = (s.fallback, s.handlers[0].1);
    let life = |rule: &Rule, target| mixed.rule_for(s, rule, target).wishes.lifetime;
    assert_eq!(s.otherwise.wishes.lifetime, LifetimeWish::Respect);
    assert_eq!(life(&s.otherwise, php), LifetimeWish::Respect);
    assert_eq!(life(&s.otherwise, files), LifetimeWish::UntilChanged);
    assert_eq!(life(&s.rules[0], php), LifetimeWish::Respect);
    assert_eq!(life(&s.rules[0], files), LifetimeWish::UntilChanged);
    let variant = mixed.rule_for(s, &s.rules[0], files);
    assert!(variant.path.is_some() && variant.wishes.overrides.no_cache, "all else is the same");
    assert_eq!(life(&s.rules[1], files), LifetimeWish::WhenSilent(1_000), "what was written holds for all");
    assert_eq!(s.index, ["index.php", "index.html", "index.htm"]);
}

#[test]
fn rules_take_what_they_do_not_write_from_their_site() {
    let s = site(
        "origin = \"http://a\"\nfor = \"1m\"\nignore_cookies = \"theme\"\nhot = false\n[[site.rule]]\npath = \"/a\"\n\
         [[site.rule]]\npath = \"/b\"\nrespect = true\nignore_cookies = []\nhot = true\n[[site.rule]]\nnever = true",
    );
    let rules = &s.sites.sites[0].rules;
    assert_eq!((rules[0].wishes.lifetime, rules[0].hot.enabled), (LifetimeWish::For(60_000), false));
    assert_eq!(rules[0].ignore_cookies, ["theme"]);
    assert_eq!((rules[1].wishes.lifetime, rules[1].hot.enabled), (LifetimeWish::Respect, true));
    assert!(rules[1].ignore_cookies.is_empty());
    assert_eq!(rules[2].wishes.lifetime, LifetimeWish::Never);
    assert_eq!(rules.iter().map(|r| r.id.to_string()).collect::<Vec<_>>(), ["r1", "r2", "r3"]);
}

#[test]
fn a_site_can_be_kept_out_of_the_cache() {
    let s = site("origin = \"http://a\"\ncache = false\nfor = \"1m\"\n[[site.rule]]\nfor = \"1s\"");
    let one = &s.sites.sites[0];
    assert_eq!(s.uncached_sites, ["default"]);
    assert!(
        one.rules.iter().chain([one.otherwise.as_ref()]).all(|r| r.wishes.lifetime == LifetimeWish::Never)
    );

    // Files beside scripts have rules of their own; off is off for them too.
    let s = site(
        "cache = false\nfiles = \"/srv\"\nhandlers = { extension = \".php\", fastcgi = \"127.0.0.1:9000\" }\n\
         [[site.rule]]\npath = \"/a\"",
    );
    let one = &s.sites.sites[0];
    for rule in one.rules.iter().chain([one.otherwise.as_ref()]) {
        assert_eq!(s.rule_for(one, rule, one.fallback).wishes.lifetime, LifetimeWish::Never);
    }
}

#[test]
fn equal_targets_are_one() {
    let s = settings(
        "config = 1\n[[site]]\nhosts = \"a.example\"\nupstream = \"u\"\n[[site]]\nhosts = \"b.example\"\nupstream = \"u\"\n\
         [[site]]\nhosts = \"c.example\"\norigin = \"http://u\"\n[[upstream]]\nname = \"u\"\nmembers = { url = \"http://u\" }",
    );
    let ids: Vec<_> = s.sites.sites.iter().map(|s| s.fallback.0).collect();
    assert_eq!(ids[0], ids[1]);
    assert_eq!(ids.len(), 3);
}

#[test]
fn globs_are_watched_from_the_folder_before_the_first_wildcard() {
    let s = site(
        "origin = \"http://a\"\n[[site.rule]]\nuntil_changed = true\n\
         globs = [\"/srv/my data/**/*.json\", \"local/*.txt\", \"/srv/one.db\", \"../up/x\"]",
    );
    let seen: Vec<_> =
        s.watches.iter().map(|w| (w.root.to_str().unwrap(), w.site.as_str(), w.rule.as_str())).collect();
    assert_eq!(
        seen,
        [
            ("/srv/my data", "default", "r1"),
            ("/etc/samovar/local", "default", "r1"),
            ("/srv", "default", "r1"),
            ("/etc/up", "default", "r1")
        ]
    );
    assert!(
        s.watches[0].glob.is_match("/srv/my data/a/b.json")
            && s.watches[0].glob.is_match("/srv/my data/b.json")
    );
    assert!(s.watches[1].glob.is_match("/etc/samovar/local/a.txt"));
    assert!(!s.watches[1].glob.is_match("/etc/samovar/local/b/a.txt"));
    assert!(s.watches[2].glob.is_match("/srv/one.db"));
}

#[test]
fn a_rule_without_regard_to_case_matches_so() {
    let s =
        site("origin = \"http://a\"\n[[site.rule]]\npath = \"/Admin/**\"\nignore_case = true\nnever = true");
    assert!(s.sites.sites[0].rules[0].path.as_ref().unwrap().matches("/aDMIN/x"));
}

#[test]
fn the_text_may_come_from_windows() {
    let windows = format!("\u{feff}{}", GALLERY.replace('\n', "\r\n"));
    let loaded = parse(&windows, "s.toml").unwrap();
    assert_eq!(loaded.settings.sites.sites.len(), 2);
    assert_eq!(loaded.rule_line("gallery", "r2"), Some(18));
}

#[test]
fn uploads_and_upgrades_by_site_and_rule() {
    let text = "upstream = \"u\"\nbody_max_bytes = \"1 KiB\"\nupgrade = false\n[[site.rule]]\npath = \"/a\"\nupgrade = true\n\
                [[site.rule]]\npath = \"/b\"\nbody_max_bytes = \"unlimited\"\n[[upstream]]\nname = \"u\"\n\
                max_connections = 9\nmembers = { url = \"http://a\" }\n";
    let s = site(text);
    let one = &s.sites.sites[0];
    let of = |rule: &samovar_rules::Rule| (rule.body_max_bytes, rule.upgrade_off);
    assert_eq!(of(&one.otherwise), (Some(1024), true));
    assert_eq!((of(&one.rules[0]), of(&one.rules[1])), ((Some(1024), false), (None, true)));
    let TargetSettings::Http(http) = &s.targets[one.fallback.0] else { panic!("http") };
    assert_eq!(http.limits.upgraded_max, 5, "half of them, and one at least");
    let s = site(&text.replace("max_connections", "upgraded_max = 3\nmax_connections"));
    let TargetSettings::Http(http) = &s.targets[0] else { panic!("http") };
    assert_eq!(http.limits.upgraded_max, 3);
}
