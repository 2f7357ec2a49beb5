//! What is written from the declared keys agrees with itself and with what is committed.
//!
//! `SAMOVAR_WRITE_DOCS=1 cargo test -p samovar --test config_docs` writes `docs/configuration.md` anew.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

use samovar::config::{init_text, parse, reference, schema};
use serde_json::Value;

#[test]
fn the_reference_is_the_committed_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let fresh = reference();
    if std::env::var_os("SAMOVAR_WRITE_DOCS").is_some() {
        std::fs::write(path, &fresh).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == fresh,
        "docs/configuration.md is not what the keys say; run `SAMOVAR_WRITE_DOCS=1 cargo test -p samovar --test config_docs`"
    );
}

#[test]
fn the_first_file_is_accepted_without_a_word() {
    let loaded = parse(&init_text(), "samovar.toml").unwrap_or_else(|e| panic!("{e}"));
    assert!(loaded.warnings.is_empty(), "{}", loaded.warnings());
    assert!(init_text().lines().all(|l| l.chars().count() <= 110), "lines a person can read");
}

/// Each key of the first file, switched on alone, is accepted, or refused only for what it needs beside it.
#[test]
fn every_line_of_the_first_file_can_be_switched_on() {
    let text = init_text();
    let lines: Vec<&str> = text.lines().collect();
    let mut tried = 0;
    for (at, line) in lines.iter().enumerate() {
        let bare = line.trim_start();
        if !bare.starts_with('#') || bare.starts_with("# ") || bare.starts_with("#[") || bare == "#" {
            continue;
        }
        // A key of a sample table needs its header, and a sample upstream its name and address.
        let header =
            (0..at).rev().find(|i| lines[*i].trim_start().starts_with("#[") || lines[*i].starts_with('['));
        let on: Vec<String> = lines
            .iter()
            .enumerate()
            .map(|(i, l)| {
                let needed = Some(i) == header && l.trim_start().starts_with("#[");
                if i == at || needed { l.replacen('#', "", 1) } else { (*l).to_owned() }
            })
            .collect();
        tried += 1;
        if let Err(report) = parse(&on.join("\n"), "samovar.toml") {
            let codes: Vec<_> = report.diagnostics.iter().map(|d| d.code.as_str()).collect();
            let fine = [
                "contradiction",
                "missing-key",
                "unmet",
                "unknown-upstream",
                "no-effect",
                "unused",
                "privacy",
            ];
            assert!(codes.iter().all(|c| fine.contains(c)), "{line}\n{report}");
        }
    }
    assert!(tried > 80, "only {tried} keys were found");
}

/// What the schema says of each place is what the parser does.
#[test]
fn the_schema_knows_the_keys_that_the_parser_knows() {
    let schema = schema();
    assert_eq!(schema["properties"]["config"]["type"], "integer");
    let site = &schema["properties"]["site"]["items"]["properties"];
    let rule = &site["rule"]["items"]["properties"];
    assert_eq!(schema["properties"]["hot"]["properties"]["threshold"]["default"], 2);
    assert!(rule["override"].is_object() && site.get("override").is_none(), "only rules override");
    assert!(rule["for"].is_object() && site["for"].is_object(), "policy stands in both");
    let upstream = &schema["properties"]["upstream"]["items"];
    assert_eq!(upstream["required"], serde_json::json!(["name"]));
    for table in [&schema, &schema["properties"]["hot"], upstream] {
        assert_eq!(table["additionalProperties"], Value::Bool(false));
    }
    // A key the schema has not is one the parser refuses, and the other way round.
    let known = |name: &str| {
        let text =
            format!("config = 1\n[hot]\n{name} = \"x\"\n[[site]]\ndefault = true\norigin = \"http://a\"\n");
        match parse(&text, "s") {
            Ok(_) => true,
            Err(report) => report.diagnostics.iter().all(|d| d.code.as_str() != "unknown-key"),
        }
    };
    for name in ["enabled", "threshold", "period", "max_bytes", "idle", "entries", "size"] {
        assert_eq!(schema["properties"]["hot"]["properties"].get(name).is_some(), known(name), "{name}");
    }
}

#[test]
fn the_reference_names_every_setting_that_reasons_send_people_to() {
    let text = reference();
    for key in [
        "line_max_bytes",
        "head_max_bytes",
        "fields_max",
        "body_max_bytes",
        "head_timeout",
        "body_timeout",
        "send_timeout",
        "connections_max",
        "requests_per_connection",
        "connection_lifetime",
        "hosts",
        "default",
        "vary_headers",
        "never",
        "cache",
        "ignore_cookies",
        "vary_cookies",
        "override",
        "reload",
        "threshold",
        "hot",
        "max_bytes",
        "connect_timeout",
        "max_connections",
        "listing",
        "handlers",
        "files",
        "for",
        "when_silent",
        "set_cookie",
        "only_status",
        "only_type",
        "min_bytes",
        "size",
        "admit_after",
    ] {
        assert!(text.contains(&format!("**`{key}`**")), "{key}");
    }
}
