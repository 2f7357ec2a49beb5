//! `samovar limits`: every limit, who says so, and how much of it is used.

use samovar_tests::origin::Origin;
use samovar_tests::server::{Server, soon};
use serde_json::Value;

fn limit(all: &Value, name: &str) -> Value {
    all.as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == name)
        .unwrap_or_else(|| panic!("{name}: {all}"))
        .clone()
}

#[test]
fn each_limit_says_who_set_it() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60")]);
    let text = format!(
        "config = 1\n[limits]\nconnections_max = 77\n[memory]\nentry_max = \"1 MiB\"\n\
         [[site]]\nname = \"one\"\ndefault = true\norigin = \"{}\"\n",
        origin.url
    );
    let (server, file) = Server::configured(&text, &["--memory", "64 MiB"]);
    let mut client = server.connect();
    client.get("/a", &[]);
    let all = server.json(&["limits"]);
    let connections = limit(&all, "limits.connections_max");
    assert_eq!(connections["number"].as_u64(), Some(77));
    assert!(connections["used"].as_u64() >= Some(1), "{connections}");
    assert_eq!(connections["from"], format!("{}:3", file.display()));
    assert_eq!(limit(&all, "limits.connections_per_address")["value"], "unlimited");
    assert_eq!(limit(&all, "limits.fields_max")["from"], "default");
    let memory = limit(&all, "memory.size");
    assert_eq!((memory["number"].as_u64(), memory["from"].as_str()), (Some(64 << 20), Some("command line")));
    assert!(memory["used"].as_u64() > Some(100), "{memory}");
    assert_eq!(limit(&all, "memory.entry_max")["from"], format!("{}:5", file.display()));
    assert!(limit(&all, "log.traces_max_bytes")["used"].as_u64() > Some(0));
    let upstream: Vec<&Value> = all
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["name"].as_str().unwrap().starts_with("upstream."))
        .collect();
    // Whatever the configuration can limit is listed: the schema knows the keys.
    let schema = samovar_tests::server::run(&["schema"]);
    let schema: Value = serde_json::from_slice(&schema.stdout).unwrap();
    for table in ["limits", "memory", "hot"] {
        for key in schema["properties"][table]["properties"].as_object().unwrap().keys() {
            // These say what becomes hot, and bound nothing.
            if !["enabled", "threshold", "period"].contains(&key.as_str()) {
                limit(&all, &format!("{table}.{key}"));
            }
        }
    }
    assert_eq!(upstream.len(), 10, "{all}");
    assert_eq!(
        (upstream[0]["number"].as_u64(), upstream[0]["used"].as_u64()),
        (Some(256), Some(0)),
        "its connection lies idle"
    );
    let metrics = server.json(&["status"]);
    assert!(metrics["cache"]["limit_bytes"].as_u64() == Some(64 << 20));
    let table = server.tell(&["limits"]);
    assert!(
        table.starts_with("LIMIT ") && table.contains("unlimited") && table.contains("command line"),
        "{table}"
    );
}

/// A bound that a member has of its own is said to be its own, also where it is as large as the upstream's.
#[test]
fn a_members_own_bound_is_said_to_be_its_own() {
    let text = "config = 1\n[[site]]\ndefault = true\nupstream = \"app\"\n[[upstream]]\nname = \"app\"\n\
                max_connections = 8\nmembers = [\n  { url = \"http://127.0.0.1:1\", name = \"a\" },\n  \
                { url = \"http://127.0.0.1:2\", name = \"b\", max_connections = 8 },\n]\n";
    let (server, file) = Server::configured(text, &[]);
    let all = server.json(&["limits"]);
    assert_eq!(limit(&all, "upstream.app.a.max_connections")["from"], "as the upstream's");
    let own = limit(&all, "upstream.app.b.max_connections");
    assert_eq!(
        (own["number"].as_u64(), own["from"].clone()),
        (Some(8), format!("{}:10", file.display()).into())
    );
}

/// What follows from the size follows from the size that was given.
#[test]
fn the_largest_answer_follows_the_size_of_the_command_line() {
    let origin = Origin::new(|_| {
        (200, samovar_tests::origin::own(&[("Cache-Control", "max-age=600")]), vec![b'x'; 200_000])
    });
    let server = Server::before(&origin.url, &["--memory", "1 MiB"]);
    let all = server.json(&["limits"]);
    assert_eq!(limit(&all, "memory.entry_max")["number"].as_u64(), Some(128 << 10));
    let reason = |answer: &samovar_tests::client::Answer| (answer.is_hit(), answer.reason());
    assert!((0..2).all(|_| reason(&server.get("/large", &[])) == (false, "entry-too-large".to_string())));
}

/// What connections and records leave no room for is not called stored.
#[test]
fn a_budget_that_is_spent_on_connections_stores_nothing_and_says_so() {
    let origin = Origin::new(|asked| {
        let body = if asked.target().contains("small") { 10_000 } else { 100_000 };
        (200, samovar_tests::origin::own(&[("Cache-Control", "max-age=600")]), vec![b'x'; body])
    });
    let server = Server::before(&origin.url, &["--memory", "1 MiB", "--workers", "1"]);
    server.get("/small", &[]);
    assert!(server.get("/small", &[]).is_hit());
    let beside = || server.json(&["cache", "stats"])["beside_bytes"].as_u64().unwrap();
    let mut clients: Vec<_> = (0..480).map(|_| server.connect()).collect();
    soon("connections are counted", || (beside() > 1_050_000).then_some(()));
    for path in ["/small", "/other-small", "/large"] {
        for _ in 0..2 {
            let answer = clients[0].get(path, &[]);
            assert_eq!((answer.is_hit(), answer.reason().as_str()), (false, "budget-too-small"), "{path}");
        }
    }
    let too_little =
        samovar_tests::server::run(&["serve", "--memory", "100", "--origin", "http://127.0.0.1:1"]);
    let told = String::from_utf8_lossy(&too_little.stderr).into_owned();
    assert!(!too_little.status.success() && told.contains("at least 1 MiB"), "{told}");
    assert!(server.said().contains("1.0 MiB (command line)"), "{}", server.said());
}

/// The hot tier's bounds are configured, and what it does at them is counted.
#[test]
fn the_hot_tier_keeps_so_many_and_no_more() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=600")]);
    let text = format!(
        "config = 1\n[hot]\nentries_max = 5\nheads_max = \"1 MiB\"\n[[site]]\nname = \"one\"\ndefault = true\n\
         origin = \"{}\"\n",
        origin.url
    );
    let (server, file) = Server::configured(&text, &["--workers", "1"]);
    let mut client = server.connect();
    for n in 0..20 {
        (0..3).for_each(|_| drop(client.get(&format!("/{n}"), &[])));
    }
    let entries = soon("the hot tier is full", || {
        let all = server.json(&["limits"]);
        let entries = limit(&all, "hot.entries_max");
        (entries["used"].as_u64() == Some(5)).then_some(entries)
    });
    assert_eq!(entries["from"], format!("{}:3", file.display()));
    let all = server.json(&["limits"]);
    let heads = limit(&all, "hot.heads_max");
    assert_eq!((heads["number"].as_u64(), heads["used"].as_u64() > Some(500)), (Some(1 << 20), true));
    // Lowered, they hold for what is there, too.
    std::fs::write(&file, text.replace("entries_max = 5", "entries_max = 2").replace("1 MiB", "100 KiB"))
        .unwrap();
    server.tell(&["reload"]);
    let mut again = server.connect();
    soon("the hot tier is smaller", || {
        for n in 0..20 {
            (0..3).for_each(|_| drop(again.get(&format!("/{n}"), &[])));
        }
        let all = server.json(&["limits"]);
        (limit(&all, "hot.entries_max")["used"].as_u64() == Some(2)).then_some(())
    });
}

/// Why something is not hot can be a threshold: each is listed with where it is set, those of sites and rules by themselves.
#[test]
fn the_thresholds_of_the_hot_tier_are_listed() {
    let origin = Origin::counting(&[]);
    let text = format!(
        "config = 1\n[hot]\nperiod = \"20s\"\n[[site]]\nname = \"one\"\ndefault = true\norigin = \"{}\"\n\
         [[site.rule]]\nid = \"seldom\"\npath = \"/seldom\"\nhot = {{ threshold = 9 }}\n\
         [[site.rule]]\nid = \"never\"\npath = \"/never\"\nhot = false\n\
         [[site.rule]]\nid = \"same\"\npath = \"/same\"\nfor = \"1s\"\n",
        origin.url
    );
    let (server, file) = Server::configured(&text, &[]);
    let all = server.json(&["limits"]);
    let told = |name: &str| {
        let row = limit(&all, name);
        (row["value"].as_str().unwrap().to_owned(), row["from"].as_str().unwrap().to_owned())
    };
    let at = |line: u32| format!("{}:{line}", file.display());
    for (name, value, from) in [
        ("hot.threshold", "2", "default".to_owned()),
        ("hot.period", "20s", at(3)),
        ("hot.max_bytes", "64.0 MiB", "default".to_owned()),
        ("hot.idle", "2m", "default".to_owned()),
        ("site.one.rule.seldom.hot.threshold", "9", at(11)),
        ("site.one.rule.never.hot", "off", at(15)),
    ] {
        assert_eq!(told(name), (value.to_owned(), from), "{name}");
    }
    assert!(!all.to_string().contains("rule.same.hot"), "{all}");
}

/// Connections and traces are within the budget: as they grow, answers leave.
#[test]
fn connections_take_their_part_of_the_budget() {
    let origin = Origin::new(|_| {
        (200, samovar_tests::origin::own(&[("Cache-Control", "max-age=600")]), vec![b'x'; 10_000])
    });
    let text = format!(
        "config = 1\n[limits]\nconnections_per_address = 1000\n[memory]\nsize = \"4 MiB\"\n[log]\naccess = \"off\"\n\
         [[site]]\nname = \"one\"\ndefault = true\norigin = \"{}\"\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &["--workers", "2"]);
    let mut client = server.connect();
    for n in 0..600 {
        client.get(&format!("/{n}"), &[]);
    }
    let whole = 4 << 20;
    let figures = || {
        let all = server.json(&["limits"]);
        let stats = server.json(&["cache", "stats"]);
        let number = |name: &str| stats[name].as_u64().unwrap();
        assert_eq!(limit(&all, "log.traces_max_bytes")["number"].as_u64(), Some(whole / 8));
        (limit(&all, "memory.size")["used"].as_u64().unwrap(), number("used_bytes"), number("beside_bytes"))
    };
    let (_, full, beside) = figures();
    assert!(full > whole / 2 && beside < whole / 4, "{full} {beside}");
    // 500 that wait, and cost more than a megabyte.
    let mut idle: Vec<_> = (0..500).map(|_| server.connect()).collect();
    let (used, stored) = soon("answers left for connections", || {
        let (used, stored, beside) = figures();
        // The two are asked one after the other: the first may still be of the moment before answers left.
        let is_within = stored + beside <= whole && used <= whole + (64 << 10);
        (beside > 1 << 20 && is_within).then_some((used, stored))
    });
    assert!(stored < full, "{used} {stored} {full}");
    let all = server.json(&["limits"]);
    assert_eq!(limit(&all, "limits.connections_per_address")["used"].as_u64(), Some(501));
    assert_eq!(limit(&all, "log.traces_max_bytes")["from"], "an eighth of memory.size at most");
    let told = server.tell(&["cache", "stats"]);
    assert!(told.contains("for connections and traces"), "{told}");
    // They are served as ever, and what they took is free again once they are gone.
    assert_eq!(idle[499].get("/7", &[]).status, 200);
    drop(idle);
    soon("connections are gone", || (figures().2 < 1 << 20).then_some(()));
}

#[test]
fn what_is_not_said_is_derived() {
    let server = Server::before("http://127.0.0.1:1", &[]);
    let all = server.json(&["limits"]);
    let from = limit(&all, "memory.size")["from"].as_str().unwrap().to_owned();
    assert!(from.starts_with("25 % of the "), "{from}");
    assert_eq!(limit(&all, "memory.entry_max")["from"], "an eighth of memory.size");
}

#[test]
fn rates_are_among_the_limits() {
    let origin = Origin::counting(&[]);
    let text = format!(
        "config = 1\n[[site]]\nname = \"one\"\ndefault = true\norigin = \"{}\"\nrate = {{ requests = 10, per = \"1s\" }}\n\
         [[site.rule]]\npath = \"/a/**\"\nfor = \"1s\"\n[[site.rule]]\nid = \"slow\"\npath = \"/b/**\"\n\
         rate = {{ requests = 1, per = \"1m\", by = \"header:X-Key\" }}\n",
        origin.url
    );
    let (server, file) = Server::configured(&text, &[]);
    let all = server.json(&["limits"]);
    let site = limit(&all, "site.one.rate");
    assert_eq!(site["value"], "10 per 1s, by client");
    assert_eq!(site["from"], format!("{}:6", file.display()));
    assert!(
        limit(&all, "site.one.rule.slow.rate")["value"].as_str().unwrap().starts_with("1 per 1m, by header:")
    );
    // A rule without a rate of its own has the site's.
    assert_eq!(
        all.as_array().unwrap().iter().filter(|row| row["name"].as_str().unwrap().ends_with(".rate")).count(),
        2
    );
}
