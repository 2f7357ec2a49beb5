//! Addresses, rates, users, redirects, rewrites, fields and error pages in a configuration: what they come to mean, and what
//! is said of those that are wrong, unwise or change nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop at its first surprise"
)]

use samovar::config::{Report, Settings, Severity, parse};
use samovar_rules::{Acts, RateBy};

/// A site's own keys, and those of one rule, which begin in line 6.
fn text(site: &str, rule: &str) -> String {
    format!("config = 1\n[[site]]\ndefault = true\norigin = \"http://a\"; {site}\n[[site.rule]]\n{rule}\n")
        .replace("; ", "\n")
}

fn settings(site: &str, rule: &str) -> Settings {
    parse(&text(site, rule), "/etc/samovar/samovar.toml").unwrap_or_else(|e| panic!("{e}")).settings
}

fn acts(settings: &Settings) -> (Option<&Acts>, Option<&Acts>) {
    let site = &settings.sites.sites[0];
    (site.otherwise.acts.as_deref(), site.rules[0].acts.as_deref())
}

#[test]
fn a_rule_that_does_nothing_else_pays_for_nothing() {
    let plain = settings("", "for = \"1s\"");
    assert!(matches!(acts(&plain), (None, None)));
    let off = settings("", "allow = []\nrate = false\nerror_pages = {}\nbasic_auth = false\nrewrite = false");
    assert!(acts(&off).1.is_none());
}

#[test]
fn what_a_site_protects_stays_protected_under_its_rules_unless_they_say_otherwise() {
    let site =
        "allow = [\"10.0.0.0/8\", \"unix\"]; rate = { requests = 5 }; basic_auth = { users = \"users\" }";
    let inherited = settings(site, "path = \"/a\"");
    let (of_site, of_rule) = acts(&inherited);
    for acts in [of_site.unwrap(), of_rule.unwrap()] {
        assert!(acts.unshared() && acts.gates());
        let access = acts.access.as_ref().unwrap();
        assert!(access.lets_in(None) && !access.lets_in(Some([11, 0, 0, 1].into())));
        let rate = acts.rate.as_ref().unwrap();
        assert_eq!((rate.requests, rate.per_ms, rate.burst, &rate.by), (5, 1_000, 5, &RateBy::Client));
        let users = acts.users.as_ref().unwrap();
        assert_eq!(users.users.to_str(), Some("/etc/samovar/users"));
        assert_eq!(users.challenge, "Basic realm=\"Restricted\", charset=\"UTF-8\"");
        assert!(!users.pass);
    }
    let open = settings(site, "allow = []\nrate = false\nbasic_auth = false");
    assert!(acts(&open).1.is_none() && acts(&open).0.is_some());
    let shared = settings(site, "override = \"protected\"");
    assert!(!acts(&shared).1.unwrap().unshared() && acts(&shared).0.unwrap().unshared());
}

#[test]
fn values_arrive() {
    let all = settings(
        "",
        "path = \"/a/*/**\"\nrate = { requests = 3, per = \"1m\", burst = 9, by = \"cookie:sid\" }\n\
         redirect = { to = \"/b/{2}/{1}\", status = 307 }\nerror_pages = { \"404\" = \"/e4\", \"5xx\" = \"/e5\" }\n\
         map_cookie_path = { \"/app\" = \"/\" }\nmap_cookie_domain = { \"i.example\" = \"o.example\" }",
    );
    let acts = acts(&all).1.unwrap();
    let rate = acts.rate.as_ref().unwrap();
    assert_eq!((rate.per_ms, rate.burst, rate.by.to_string().as_str()), (60_000, 9, "cookie:sid"));
    assert_eq!(acts.redirect.as_ref().unwrap().status, 307);
    assert_eq!(acts.stars_in("/a/x/y/z"), ["x", "y/z"]);
    assert_eq!(acts.error_page(503.try_into().unwrap()), Some("/e5"));
    assert_eq!(acts.cookie_paths, [("/app".to_owned(), "/".to_owned())]);
    assert!(all.unmapped_sites.is_empty());
    assert_eq!(settings("map_location = false", "never = true").unmapped_sites.len(), 1);
}

fn report(text: &str) -> Report {
    match parse(text, "s.toml") {
        Ok(loaded) => loaded.warnings(),
        Err(report) => report,
    }
}

fn said(body: &str) -> (Report, String) {
    let report = report(&text("", body));
    let all: Vec<String> = report
        .diagnostics
        .iter()
        .map(|d| format!("{} {} | {}", d.code, d.message, d.hint.as_deref().unwrap_or("")))
        .collect();
    (report, all.join("\n"))
}

#[test]
fn errors() {
    for (body, want) in [
        ("allow = \"10.0.0.1/8\"", "10.0.0.0/8"),
        ("rate = {}", "`requests` is missing"),
        ("rate = { requests = 1, by = \"ip\" }", "header:NAME"),
        ("basic_auth = true", "names no users"),
        ("basic_auth = { realm = \"x\" }", "`users` is missing"),
        ("basic_auth = { users = \"u\", realm = \"a\\\"b\" }", "quote"),
        ("rewrite = \"new\"", "begins with a slash"),
        ("rewrite = \"/new/{client}\"", "names who asks"),
        ("rewrite = \"/new/{1}\"", "{1} stands for nothing: there is no `path`"),
        ("path = \"/a/*\"\nrewrite = \"/new/{2}\"", "the rule's `path` has 1 stars"),
        ("redirect = { to = \"/x\", status = 305 }", "305 sends nobody anywhere"),
        ("redirect = { to = \"https://{path}.example\" }", "the client choose"),
        ("redirect = {}", "`to` is missing"),
        ("error_pages = { \"200\" = \"/x\" }", "status of an error"),
        ("error_pages = { \"404\" = \"x\" }", "begins with a slash"),
        ("request_fields = [{ set = \"X-A\" }]", "`value` is missing"),
        ("request_fields = [{ remove = \"X-A\", value = \"x\" }]", "has no `value`"),
        ("request_fields = [{ set = \"X-A\", append = \"X-B\", value = \"x\" }]", "one field"),
        ("request_fields = [{ value = \"x\" }]", "one field"),
        ("request_fields = [{ set = \"Host\", value = \"x\" }]", "may not touch host | the origin's is said"),
        ("response_fields = [{ set = \"Cache-Control\", value = \"x\" }]", "`override`"),
        ("response_fields = [{ remove = \"Set-Cookie\" }]", "`set_cookie`"),
        ("client_fields = [{ set = \"Content-Length\", value = \"1\" }]", "frames the message"),
        ("client_fields = [{ set = \"Age\", value = \"1\" }]", "counted"),
        ("client_fields = [{ set = \"X-A\", value = \"{ip}\" }]", "{client}"),
        ("client_fields = [{ set = \"X A\", value = \"x\" }]", "not a field name"),
    ] {
        let (report, said) = said(body);
        assert!(report.errors() > 0 && said.contains(want), "{body}: {said}");
        assert!(report.render(false).contains("s.toml:"), "{body}");
        assert!(
            report.diagnostics.iter().filter(|d| d.severity == Severity::Error).count() == 1,
            "{body}: {said}"
        );
    }
}

#[test]
fn warnings() {
    for (body, want) in [
        (
            "basic_auth = { users = \"u\" }\noverride = \"protected\"",
            "override the rule shares answers that it lets only some see",
        ),
        ("override = \"protected\"\nrate = { requests = 1 }", "no-effect the rule protects nothing"),
        (
            "path = \"/a\"\nredirect = { to = \"/b\" }\nrewrite = \"/c\"",
            "no-effect `rewrite` changes nothing",
        ),
        ("path = \"/a/**\"\nredirect = { to = \"/a/{1}\" }", "circles"),
        ("rate = { requests = 1 }\nhot = true", "no-effect nothing becomes hot"),
        (
            "client_fields = [{ set = \"X-A\", value = \"{id}\" }]\nhot = true",
            "no-effect nothing becomes hot",
        ),
        (
            "for = \"1m\"\nrequest_fields = [{ set = \"X-A\", value = \"{client}\" }]",
            "privacy the origin is told who asks",
        ),
        ("client_fields = [{ set = \"X-A\", value = \"{user}\" }]", "no-effect {user} is nobody"),
        ("client_fields = [{ set = \"Cache-Control\", value = \"max-age=9\" }]", "privacy caches behind"),
    ] {
        let (report, said) = said(body);
        assert!(report.errors() == 0 && said.contains(want), "{body}: {said}");
    }
    for quiet in [
        "allow = \"10.0.0.0/8\"",
        "never = true\nrequest_fields = [{ set = \"X-A\", value = \"{client}\" }]",
        "path = \"/a/**\"\nredirect = { to = \"/b/{1}\" }",
        "redirect = { to = \"https://{host}{path}\" }",
        "client_fields = [{ set = \"Cache-Control\", value = \"no-store\" }]",
        "basic_auth = { users = \"u\" }\nclient_fields = [{ set = \"X-A\", value = \"{user}\" }]",
    ] {
        assert_eq!(said(quiet).1, "", "{quiet}");
    }
    let files = "config = 1\n[[site]]\ndefault = true\nfiles = \"/\"\nmap_location = true\nmap_cookie_path = { \"/a\" = \"/\" }\n";
    let all = format!("{}", report(files));
    assert!(all.contains("`map_location` is for upstreams") && all.contains("files set no cookies"), "{all}");
}

#[test]
fn users_that_cannot_get_in_are_told_with_their_line() {
    let folder = std::env::temp_dir().join(format!("samovar-acts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let config = folder.join("s.toml");
    std::fs::write(&config, text("basic_auth = { users = \"users\" }", "path = \"/a\"")).unwrap();
    let told = || format!("{}", samovar::config::load(&config).unwrap().warnings());
    let gone = told();
    assert!(gone.contains("cannot be read") && gone.contains("htpasswd -B -c"), "{gone}");
    std::fs::write(folder.join("users"), "ann:plain\n").unwrap();
    let broken = told();
    assert!(broken.contains("users:1 \"ann\" cannot sign in with any password"), "{broken}");
    assert!(broken.contains("names no user who can get in"), "{broken}");
    std::fs::write(folder.join("users"), "ann:{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNE=\n").unwrap();
    let fine = told();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(!fine.contains("users"), "{fine}");
}
