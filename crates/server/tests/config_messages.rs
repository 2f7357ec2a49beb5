//! What is said about a configuration, where, and with which hint.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

use samovar::config::{Report, Severity, load, parse};

fn report(text: &str) -> Report {
    match parse(text, "s.toml") {
        Ok(loaded) => loaded.warnings(),
        Err(report) => report,
    }
}

/// Whether a message of this severity and code stands at this place, holding these words (in message or hint).
fn says(report: &Report, severity: Severity, code: &str, at: &str, words: &str) -> bool {
    let rows = report.to_json();
    let rows = rows.as_array().unwrap();
    report.diagnostics.iter().zip(rows).any(|(d, row)| {
        d.severity == severity
            && d.code.as_str() == code
            && format!("{}:{}", row["line"], row["column"]) == at
            && format!("{} | {}", d.message, d.hint.as_deref().unwrap_or("")).contains(words)
    })
}

fn expect(text: &str, severity: Severity, code: &str, at: &str, words: &str) {
    let report = report(text);
    assert!(
        says(&report, severity, code, at, words),
        "wanted {code} at {at} with {words:?} of\n{text}\ngot\n{report}"
    );
    assert_eq!(report.errors() > 0, severity == Severity::Error, "{text}\n{report}");
    let drawn = report.render(false);
    assert!(drawn.contains(&format!("s.toml:{at}")), "{drawn}");
}

/// Errors of a file, by what stands on the third line.
#[test]
fn errors_in_the_tables_of_the_server() {
    let rows = [
        ("[server]\nlisten = \"8080\"", "bad-value", "3:10", "127.0.0.1:8080"),
        ("[server]\nlisten = [\"[::]:80\", \"[::]:80\"]", "duplicate", "3:22", "listed twice"),
        ("[server]\nlisten = []", "bad-value", "3:10", "nowhere"),
        ("[server]\nadmin = \"9900\"", "bad-value", "3:9", "also takes \"off\""),
        ("[server]\nworkers = 0", "bad-value", "3:11", "from 1 to 1024"),
        ("[server]\nworkers = 99999999999999999999", "bad-value", "3:11", "out of bounds"),
        ("[server]\nerror_detail = \"allways\"", "unknown-word", "3:16", "did you mean \"always\"?"),
        ("[server]\ntrusted_proxies = \"10.0.0.1/8\"", "bad-value", "3:19", "10.0.0.0/8"),
        ("[server]\nlissten = \"x\"", "unknown-key", "3:1", "did you mean `listen`?"),
        ("[servers]\nlisten = \"x\"", "unknown-key", "2:2", "did you mean `server`?"),
        ("[limits]\nhead_timeout = 10", "wrong-type", "3:16", "head_timeout = \"10s\""),
        ("[limits]\nhead_timeout = \"soon\"", "bad-value", "3:16", "does not begin with a number"),
        ("[limits]\nidle_timeout = \"0s\"", "bad-value", "3:16", "at least 10ms"),
        ("[limits]\nfields_max = \"7\"", "wrong-type", "3:14", "without quotes: 7"),
        ("[limits]\nbody_max_bytes = \"none\"", "bad-value", "3:18", "\"unlimited\""),
        ("[limits]\nline_max = 3", "unknown-key", "3:1", "`line_max_bytes`"),
        ("[memory]\nsize = \"4 G\"", "bad-value", "3:8", "unknown unit `G`"),
        ("[memory]\nsize = \"101%\"", "bad-value", "3:8", "share like"),
        ("[memory]\nsize = true", "wrong-type", "3:8", "not true or false"),
        ("[hot]\ntreshold = 3", "unknown-key", "3:1", "did you mean `threshold`?"),
        ("[hot]\nmembers = 3", "unknown-key", "3:1", "did you mean `members` in `[[upstream]]`?"),
        ("[server]\nformat = \"json\"", "unknown-key", "3:1", "did you mean `format` in `[log]`?"),
        ("[server]\naccess_log = \"off\"", "unknown-key", "3:1", "did you mean `access` in `[log]`?"),
        ("[server]\nlog_format = \"json\"", "unknown-key", "3:1", "did you mean `format` in `[log]`?"),
        ("[limits]\nmemory_size = \"1 GiB\"", "unknown-key", "3:1", "did you mean `size` in `[memory]`?"),
        (
            "[server]\nhead_timout = \"1s\"",
            "unknown-key",
            "3:1",
            "did you mean `head_timeout` in `[limits]`?",
        ),
        ("[hot]\nenabled = \"true\"", "wrong-type", "3:11", "without quotes: true"),
        ("[log]\nformat = \"xml\"", "unknown-word", "3:10", "\"json\""),
    ];
    for (body, code, at, words) in rows {
        let text = format!("config = 1\n{body}\n[[site]]\ndefault = true\norigin = \"http://a\"\n");
        expect(&text, Severity::Error, code, at, words);
    }
    let size = "config = 1\n[memory]\nsize = \"2 MiB\"\nentry_max = \"3 MiB\"\n[[site]]\ndefault = true\norigin = \"http://a\"";
    expect(size, Severity::Error, "contradiction", "4:13", "larger than the whole");
}

#[test]
fn errors_in_sites() {
    let rows = [
        ("", "no-site", "1:1", "nothing to serve"),
        ("[site]\ndefault = true\n", "wrong-type", "2:1", "[[site]]"),
        ("[[site]]\norigin = \"http://a\"", "missing-key", "2:1", "default = true"),
        ("[[site]]\ndefault = true", "missing-key", "2:1", "nothing to serve"),
        (
            "[[site]]\ndefault = true\nfiles = \"/a\"\norigin = \"http://a\"",
            "contradiction",
            "5:10",
            "both `files` and `origin`",
        ),
        ("[[site]]\ndefault = true\norigin = \"https://a\"", "bad-value", "4:10", "TLS"),
        ("[[site]]\ndefault = true\nupstream = \"x\"", "unknown-upstream", "4:12", "[[upstream]]"),
        ("[[site]]\nhosts = \"a:80\"\norigin = \"http://a\"", "bad-value", "3:9", "`ports`"),
        ("[[site]]\nhosts = \"a.*\"\norigin = \"http://a\"", "bad-value", "3:9", "in front"),
        ("[[site]]\nhosts = [\"a\", \"A.\"]\norigin = \"http://a\"", "duplicate", "3:15", "listed twice"),
        (
            "[[site]]\ndefault = true\norigin = \"http://a\"\n[[site]]\nname = \"b\"\ndefault = true\norigin = \"http://a\"",
            "duplicate",
            "7:11",
            "two default sites",
        ),
        (
            "[[site]]\nhosts = \"a\"\norigin = \"http://a\"\n[[site]]\nname = \"b\"\nhosts = \"a\"\norigin = \"http://a\"",
            "duplicate",
            "7:9",
            "two sites, \"a\" and \"b\"",
        ),
        (
            "[[site]]\nname = \"x\"\nhosts = \"a\"\norigin = \"http://a\"\n[[site]]\nname = \"x\"\nhosts = \"b\"\norigin = \"http://a\"",
            "duplicate",
            "7:8",
            "named \"x\"",
        ),
        (
            "[[site]]\ndefault = true\norigin = \"http://a\"\nhandlers = { extension = \".php\", fastcgi = \"unix:/a\" }",
            "unmet",
            "5:12",
            "files",
        ),
        (
            "[[site]]\ndefault = true\nfiles = \"/a\"\nhandlers = { extension = \".php\" }",
            "missing-key",
            "5:12",
            "fastcgi",
        ),
        (
            "[[site]]\ndefault = true\nfiles = \"/a\"\nhandlers = { extension = \".php\", fastcgi = \"nine\" }",
            "unknown-upstream",
            "5:44",
            "nine",
        ),
        (
            "[[site]]\ndefault = true\norigin = \"http://a\"\noverride = \"private\"",
            "unknown-key",
            "5:1",
            "[[site.rule]]",
        ),
        (
            "[[site]]\ndefault = true\nfiles = \"/a\"\ntypes = { \"a/b\" = \"text/x\" }",
            "bad-value",
            "5:11",
            "extension",
        ),
        (
            "[[site]]\ndefault = true\nupstream = \"u\"\n[[upstream]]\nname = \"u\"",
            "missing-key",
            "5:1",
            "no address",
        ),
        (
            "[[site]]\ndefault = true\nupstream = \"u\"\n[[upstream]]\nname = \"u\"\nfastcgi = \"unix:/a\"",
            "contradiction",
            "4:12",
            "handlers",
        ),
        (
            "[[site]]\ndefault = true\nupstream = \"u\"\n[[upstream]]\nname = \"u\"\nmembers = { url = \"http://a\" }\n[[upstream]]\nname = \"u\"\nmembers = { url = \"http://b\" }",
            "duplicate",
            "9:8",
            "two upstreams",
        ),
    ];
    for (body, code, at, words) in rows {
        expect(&format!("config = 1\n{body}\n"), Severity::Error, code, at, words);
    }
}

/// By what stands in the rule, from line 6 on.
fn rule(body: &str) -> String {
    format!("config = 1\n[[site]]\ndefault = true\norigin = \"http://a\"\n[[site.rule]]\n{body}\n")
}

#[test]
fn errors_in_rules() {
    let rows = [
        ("for = \"10s\"\nnever = true", "contradiction", "7:1", "`for` and `never`"),
        ("respect = true\nwhen_silent = \"1h\"", "contradiction", "7:1", "one lifetime policy"),
        ("until_changed = true", "unmet", "6:17", "globs"),
        (
            "for = \"10s\"\nresponse_fields = [{ set = \"X-Ip\", value = \"{client}\" }]",
            "contradiction",
            "7:20",
            "shown to everybody",
        ),
        ("path = \"/a[\"", "bad-value", "6:8", "is not a path glob"),
        ("path = \"a/b\"", "bad-value", "6:8", "\"/a/b\""),
        ("path = \"/a?b=c\"", "bad-value", "6:8", "vary_query"),
        ("extension = \"*.jpg\"", "bad-value", "6:13", "\".jpg\""),
        ("method = \"get\"", "bad-value", "6:10", "GET"),
        ("vary_headers = [\"Accept Language\"]", "bad-value", "6:17", "not a field name"),
        ("vary_headers = [{ languages = \"de\" }]", "missing-key", "6:17", "`name`"),
        (
            "vary_headers = { name = \"A\", languages = \"de\", lower = true }",
            "contradiction",
            "6:56",
            "one way",
        ),
        ("vary_headers = { name = \"A\", encodings = \"bz\" }", "unknown-word", "6:42", "\"br\""),
        ("vary_query = \"all\"", "unknown-word", "6:14", "\"as-is\""),
        ("vary_query = { keep = \"a\", drop = \"b\" }", "contradiction", "6:14", "`keep` and `drop`"),
        ("vary_query = {}", "missing-key", "6:14", "says nothing"),
        ("vary_query = { kep = \"a\" }", "unknown-key", "6:16", "`keep`"),
        ("override = [\"privat\"]", "unknown-word", "6:13", "did you mean \"private\"?"),
        ("drop_fields = \"X:\"", "bad-value", "6:15", "\"X\""),
        ("only_status = 99", "bad-value", "6:15", "from 200 to 599"),
        ("only_type = \"html\"", "bad-value", "6:13", "text/html"),
        ("min_bytes = 2\nmax_bytes = 1", "contradiction", "7:13", "exchange"),
        ("heuristic_factor = 1.5", "bad-value", "6:20", "from 0 to 1"),
        ("heuristic_factor = nan", "bad-value", "6:20", "from 0 to 1"),
        ("id = \"r7\"", "bad-value", "6:6", "gives itself"),
        ("ignore_cookies = \"@all\"", "bad-value", "6:18", "@analytics"),
        ("reload = \"always\"", "unknown-word", "6:10", "\"bypass\""),
        ("for = \"0s\"", "bad-value", "6:7", "zero"),
        ("client_cache_control = \"é\"", "bad-value", "6:24", "ASCII"),
    ];
    for (body, code, at, words) in rows {
        expect(&rule(body), Severity::Error, code, at, words);
    }
    let twice = rule("id = \"a\"\nfor = \"1s\"\n[[site.rule]]\nid = \"a\"\nfor = \"1s\"");
    expect(&twice, Severity::Error, "duplicate", "9:6", "id \"a\"");
}

#[test]
fn warnings_in_rules() {
    let rows = [
        ("for = \"1s\"\noverride = [\"cookie\", \"no-cache\"]", "override", "7:13", "same for every visitor"),
        ("for = \"1s\"\noverride = [\"cookie\", \"no-cache\"]", "override", "7:23", "asked about each time"),
        ("for = \"1s\"\nignore_cookies = \"*\"", "privacy", "7:18", "whatever cookies"),
        ("for = \"1s\"\nignore_cookies = [\"PHPSESSID\"]", "privacy", "7:19", "session"),
        ("for = \"1s\"\nignore_cookies = [\"connect.sid\"]", "privacy", "7:19", "session"),
        ("for = \"1s\"\nset_cookie = \"strip\"", "privacy", "7:14", "one visitor"),
        ("vary_headers = [\"User-Agent\"]", "many-variants", "6:17", "browser"),
        ("vary_headers = [{ name = \"Cookie\" }]", "many-variants", "6:17", "vary_cookies"),
        ("vary_headers = \"Authorization\"", "privacy", "6:16", "credentials"),
        ("never = true\nmax_bytes = 1", "no-effect", "7:1", "never"),
        ("for = \"1h\"\nmax_lifetime = \"1s\"", "no-effect", "7:16", "1s, not 1h"),
        ("for = \"1h\"\nheuristic_first = true", "no-effect", "7:1", "when_silent"),
        ("for = \"1h\"\nglobs = \"/a/*\"", "no-effect", "7:1", "until_changed"),
        ("for = \"1h\"\nadmit_period = \"1m\"", "no-effect", "7:1", "admit_after"),
        ("for = \"1h\"\nmethod = \"POST\"", "no-effect", "7:1", "GET and HEAD"),
        (
            "path = \"/a/**\"\n[[site.rule]]\npath = \"/a/b/**\"\nfor = \"1s\"",
            "hidden-rule",
            "7:1",
            "move r2 before r1",
        ),
    ];
    for (body, code, at, words) in rows {
        expect(&rule(body), Severity::Warning, code, at, words);
    }
    let quiet = rule(
        "for = \"1h\"\nignore_cookies = [\"_ga*\", \"theme\"]\nvary_headers = \"Accept-Language\"\nmethod = [\"GET\"]",
    );
    assert!(report(&quiet).diagnostics.is_empty(), "{}", report(&quiet));
}

#[test]
fn warnings_elsewhere() {
    let site = "[[site]]\ndefault = true\norigin = \"http://a\"";
    let rows = [
        (format!("[server]\nadmin = \"0.0.0.0:9900\"\n{site}"), "exposure", "3:9", "SAMOVAR_ADMIN_TOKEN"),
        (format!("[server]\nerror_detail = \"always\"\n{site}"), "exposure", "3:16", "everybody"),
        (format!("[server]\ntrusted_proxies = [\"::/0\"]\n{site}"), "exposure", "3:20", "claim any address"),
        (format!("{site}\nlisting = true"), "no-effect", "5:1", "files"),
        (
            format!("[server]\nlisten = [\"0.0.0.0:80\"]\n{site}\nbasic_auth = {{ users = \"/etc/hosts\" }}"),
            "privacy",
            "3:10",
            "can be read",
        ),
        (format!("[server]\nproxy_protocol = [\"0.0.0.0/0\"]\n{site}"), "exposure", "3:19", "claim any address"),
        (
            format!("[server]\nlisten = [\"127.0.0.1:80\"]\nproxy_protocol = [\"unix\"]\n{site}"),
            "no-effect",
            "4:19",
            "no listener is a unix socket",
        ),
        (
            format!("[limits]\nbody_max_bytes = 10\n{site}\nbody_max_bytes = 11"),
            "no-effect",
            "7:1",
            "limits.body_max_bytes",
        ),
        (
            "[[site]]\ndefault = true\nfiles = \"/tmp\"\nupgrade = true".to_owned(),
            "no-effect",
            "5:1",
            "cannot change the protocol",
        ),
        (
            "[[site]]\ndefault = true\nupstream = \"u\"\n[[upstream]]\nname = \"u\"\nmax_connections = 5\nupgraded_max = 5\n\
             members = { url = \"http://a\" }"
                .to_owned(),
            "no-effect",
            "8:1",
            "raise `max_connections`",
        ),
        (
            "[[site]]\nhosts = \"a\"\norigin = \"http://a\"\ncanonical_host = \"b\"".to_owned(),
            "no-effect",
            "5:1",
            "default sites",
        ),
        (
            "[[site]]\ndefault = true\norigin = \"http://a\"\nambiguous_paths = \"refuse\"".to_owned(),
            "no-effect",
            "5:19",
            "leave it out",
        ),
        (
            "[[site]]\ndefault = true\norigin = \"http://a\"\nambiguous_paths = \"pass\"\nallow = [\"10.0.0.0/8\"]".to_owned(),
            "exposure",
            "5:19",
            "guard them there",
        ),
        (
            format!("{site}\n[[upstream]]\nname = \"u\"\nmembers = {{ url = \"http://a\" }}"),
            "unused",
            "6:8",
            "nothing refers",
        ),
    ];
    for (body, code, at, words) in rows {
        expect(&format!("config = 1\n{body}\n"), Severity::Warning, code, at, words);
    }
}

#[test]
fn versions() {
    expect(
        "[[site]]\ndefault = true\norigin = \"http://a\"\n",
        Severity::Error,
        "version",
        "1:1",
        "config = 1",
    );
    let newer = "config = 2\n[[site]]\ndefault = true\norigin = \"http://a\"\n";
    expect(newer, Severity::Error, "version", "1:10", "version 2");
}

#[test]
fn all_errors_are_said_at_once() {
    let text = "config = 1\n[hot]\nfoo = 1\nidle = 3\n[[site]]\ndefault = true\nupstream = \"x\"\n[[site.rule]]\nfor = 1\nmethod = \"get\"\n";
    let found = report(text);
    assert_eq!(found.errors(), 5, "{found}");
    let lines: Vec<u64> =
        found.to_json().as_array().unwrap().iter().map(|r| r["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [3, 4, 7, 9, 10], "in the order of the text");
}

/// One mistake is one message: what follows from it is not said.
#[test]
fn one_mistake_is_said_once() {
    let rows = [
        rule("for = 10"),
        rule("vary_query = 3"),
        "config = 1\n[[site]]\ndefault = true\nfiles = 3\nhandlers = { extension = \".php\", fastcgi = \"unix:/a\" }\n".to_owned(),
        "config = 1\n[[site]]\nhosts = 3\norigin = \"http://a\"\n".to_owned(),
        "config = 1\nsite = 3\n".to_owned(),
        "config = \"1\"\n[[site]]\ndefault = true\norigin = \"http://a\"\n".to_owned(),
        "config = 1\n[[site]]\ndefault = true\nupstream = \"u\"\n[[upstream]]\nname = \"u\"\nmembers = 3\n".to_owned(),
        "config = 1\n[[site]]\ndefault = true\nupstream = 3\n".to_owned(),
    ];
    for text in rows {
        let found = report(&text);
        assert_eq!(found.diagnostics.len(), 1, "{text}\n{found}");
    }
}

#[test]
fn a_whole_message() {
    let text = rule("for = \"10s\"\nnever = true");
    let want = "\
error: contradiction

  × `for` and `never` cannot hold at once
   ╭─[s.toml:7:1]
 5 │ [[site.rule]]
 6 │ for = \"10s\"
   · ─┬─
   ·  ╰── the first
 7 │ never = true
   · ──┬──
   ·   ╰── here
   ╰────
  help: a rule has one lifetime policy: `respect`, `when_silent`, `for`, `until_changed` or
        `never`

1 error in s.toml
";
    assert_eq!(report(&text).render(false), want);
}

#[test]
fn files_that_cannot_be_read() {
    let dir = std::env::temp_dir().join(format!("samovar-config-messages-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("s.toml");
    let said = |p: &std::path::Path| load(p).unwrap_err().render(false);
    let gone = said(&path);
    let folder = said(&dir);
    std::fs::write(&path, "config = 1\n[[site]]\ndefault = true\nfiles = \"gone\"\n").unwrap();
    let missing = load(&path).unwrap();
    std::fs::create_dir(dir.join("gone")).unwrap();
    let there = load(&path).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(gone.contains("cannot be read") && gone.contains("samovar init"), "{gone}");
    assert!(folder.contains("samovar serve DIR"), "{folder}");
    let warned = missing.warnings().render(false);
    assert!(warned.contains("missing-file") && warned.contains("s.toml:4:9"), "{warned}");
    assert!(there.warnings.is_empty());
}

#[test]
fn two_sites_may_share_a_host_on_other_ports() {
    let text = "config = 1\n[[site]]\nname = \"x\"\nhosts = \"a\"\nports = 80\norigin = \"http://a\"\n\
                [[site]]\nname = \"y\"\nhosts = \"a\"\nports = 81\norigin = \"http://a\"\n";
    assert!(report(text).diagnostics.is_empty(), "{}", report(text));
}

/// What is wrong with an upstream of two members; the row's own text stands behind them.
#[test]
fn errors_in_how_members_share() {
    let head = "config = 1\n[[site]]\ndefault = true\nupstream = \"u\"\n[[upstream]]\n";
    let two = "members = [{ url = \"http://a\" }, { url = \"http://b\" }]\nname = \"u\"\n";
    for (text, code, words) in [
        ("balance = \"fair\"", "unknown-word", "requests"),
        ("balance = \"hash\"\nhash_by = \"header\"", "bad-value", "header:NAME"),
        ("balance = \"hash\"\nhash_by = \"header:a b\"", "bad-value", "no field name"),
        ("sticky = { set = true }", "missing-key", "name the cookie"),
        ("sticky = { query = \"sid\", set = true }", "missing-key", "no cookie"),
        // It would be taken for a pattern where cookies are ignored for the cache.
        ("sticky = { cookie = \"a*\", set = true }", "bad-value", "wildcard"),
        ("sticky = { cookie = \"A\", separator = \";\" }", "bad-value", "one character"),
        ("retry = { on = [\"5xx\"] }", "bad-value", "connect"),
        ("retry = { tries = 0 }", "bad-value", "from 1"),
        ("eject = { max_part = 2 }", "bad-value", "from 0 to 1"),
        ("probe = { interval = \"1s\" }", "missing-key", "path"),
        ("probe = { path = \"health\" }", "bad-value", "slash"),
        ("probe = { path = \"/\", status = [\"399-200\"] }", "bad-value", "range"),
        ("resolve_every = \"0s\"", "bad-value", "at least"),
    ] {
        let all = report(&format!("{head}{two}{text}"));
        let hit = all.diagnostics.iter().any(|d| {
            let said = format!("{} | {}", d.message, d.hint.as_deref().unwrap_or(""));
            d.severity == Severity::Error && d.code.as_str() == code && said.contains(words)
        });
        assert!(hit, "wanted {code} with {words:?} of {text}\ngot\n{all}");
    }
    for (members, code, words) in [
        ("[]", "missing-key", "no member"),
        ("[{ weight = 2 }]", "missing-key", "no address"),
        ("[{ url = \"http://a\", fastcgi = \"a:1\" }]", "contradiction", "not both"),
        ("[{ url = \"http://a\" }, { fastcgi = \"a:1\" }]", "contradiction", "all HTTP or all FastCGI"),
        ("[{ url = \"http://a\" }, { url = \"http://a\" }]", "duplicate", "the name \"a\""),
        (
            "[{ url = \"http://a\", route = \"x\" }, { url = \"http://b\", route = \"x\" }]",
            "duplicate",
            "the route \"x\"",
        ),
        ("[{ url = \"http://a\", weight = 0 }]", "bad-value", "from 1"),
        ("[{ url = \"http://a\", state = \"off\" }]", "unknown-word", "disabled"),
    ] {
        let all = report(&format!("{head}name = \"u\"\nmembers = {members}"));
        let hit = all.diagnostics.iter().any(|d| {
            let said = format!("{} | {}", d.message, d.hint.as_deref().unwrap_or(""));
            d.severity == Severity::Error && d.code.as_str() == code && said.contains(words)
        });
        assert!(hit, "wanted {code} with {words:?} of {members}\ngot\n{all}");
    }
}

/// What does nothing is said.
#[test]
fn warnings_about_how_members_share() {
    let head = "config = 1\n[[site]]\ndefault = true\nupstream = \"u\"\n[[upstream]]\nname = \"u\"\n";
    let two = "members = [{ url = \"http://a\" }, { url = \"http://b\", route = \"x\" }]\n";
    let one = "members = [{ url = \"http://a\" }]\n";
    for (text, words) in [
        (format!("{two}hash_by = \"path\""), "`hash_by` is for"),
        (two.to_owned(), "`route` is for sessions"),
        (format!("{one}balance = \"latency\""), "only one member"),
        (format!("{one}sticky = {{ cookie = \"A\" }}"), "only one member"),
        (format!("{one}fpm_status = \"/status\""), "for FastCGI"),
    ] {
        let all = report(&format!("{head}{text}"));
        assert_eq!(all.errors(), 0, "{text}\n{all}");
        assert!(
            all.diagnostics.iter().any(|d| d.message.contains(words)),
            "wanted {words:?} of {text}\ngot\n{all}"
        );
    }
}
