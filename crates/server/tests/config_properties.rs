//! Whatever a configuration's text is, reading it ends: with settings, or with messages that can be drawn.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

use proptest::prelude::*;
use samovar::config::{
    Position, add_rule, init_text, list_rules, load, move_rule, parse, remove_rule, rule_from_words,
};

/// A file that uses most of the language.
const FULL: &str = r#"
config = 1
[server]
listen = ["127.0.0.1:8080", "unix:/run/s.sock"]
[limits]
head_timeout = "1m30s"
[memory]
size = "25%"
[hot]
threshold = 3
[[site]]
name = "a"
hosts = ["a.example", "*.a.example"]
handlers = [{ extension = [".php"], fastcgi = "php", params = { A = "b" } }]
files = "/srv/a"
types = { ".x" = "text/x" }
  [[site.rule]]
  id = "one"
  path = "/a/{b,c}/**"
  method = ["GET"]
  for = "10s"
  vary_headers = ["Accept", { name = "Accept-Language", languages = ["de", "en"] }]
  vary_query = { keep = ["a*"] }
  hot = { threshold = 2, max_bytes = 1_000 }
  [[site.rule]]
  until_changed = true
  globs = ["/srv/**/*.json"]
[[site]]
default = true
upstream = "u"
[[upstream]]
name = "u"
members = [{ url = "http://127.0.0.1:3000", weight = 2 }]
[[upstream]]
name = "php"
fastcgi = "127.0.0.1:9000"
"#;

/// Reads and, where there is something to say, draws it; what is accepted can be listed and edited.
fn survives(text: &str) {
    match parse(text, "s.toml") {
        Ok(loaded) => {
            let _ = loaded.warnings().render(true);
            let rules = list_rules(&loaded.text, "").expect("what was accepted can be listed");
            assert_eq!(rules.len(), loaded.settings.sites.sites.iter().map(|s| s.rules.len()).sum::<usize>());
        }
        Err(report) => {
            assert!(report.errors() > 0, "refused without an error: {text:?}");
            assert!(!report.render(false).is_empty() && report.to_json().is_array());
        }
    }
}

#[test]
fn the_full_file_is_accepted() {
    let loaded = parse(FULL, "s.toml").unwrap_or_else(|e| panic!("{e}"));
    assert!(loaded.warnings.is_empty(), "{}", loaded.warnings());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_in_a_file(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let path = std::env::temp_dir().join(format!("samovar-config-{}-{:?}", std::process::id(), std::thread::current().id()));
        std::fs::write(&path, &bytes).unwrap();
        let result = load(&path);
        std::fs::remove_file(&path).unwrap();
        if let Err(report) = result {
            prop_assert!(report.errors() > 0);
            prop_assert!(!report.render(true).is_empty());
        }
    }

    /// Text made of what configurations are made of.
    #[test]
    fn any_tokens(tokens in proptest::collection::vec(
        prop_oneof![
            Just("[[site]]\n"), Just("[[site.rule]]\n"), Just("[hot]\n"), Just("[site]\n"), Just("rule = "), Just("["), Just("]"),
            Just("{"), Just("}"), Just(" = "), Just("\n"), Just("\"10s\""), Just("'a'"), Just("for"), Just("path"), Just("1"),
            Just("-1"), Just("1.5"), Just("true"), Just("2020-01-01"), Just("\"\"\""), Just(","), Just("."), Just("hosts"), Just("#"),
            Just("config = 1\n"), Just("default = true\n"), Just("origin = \"http://a\"\n"), Just("\\u0000"), Just("é"), Just("\r"),
        ], 0..40)) {
        survives(&tokens.concat());
    }

    /// A good file with something cut out, doubled, or put in.
    #[test]
    fn a_file_with_a_slip(
        first in any::<bool>(), at in any::<prop::sample::Index>(), len in 0usize..30, to in any::<prop::sample::Index>(),
        junk in "(\\PC|\\n|\"|=|\\[|\\]){0,6}", kind in 0..4,
    ) {
        let text: Vec<char> = if first { FULL.to_owned() } else { init_text().replace("#[", "[") }.chars().collect();
        let at = at.index(text.len());
        let end = (at + len).min(text.len());
        let piece: String = text[at..end].iter().collect();
        let (before, after): (String, String) = (text[..at].iter().collect(), text[end..].iter().collect());
        let changed = match kind {
            0 => format!("{before}{after}"),
            1 => format!("{before}{junk}{after}"),
            2 => format!("{before}{piece}{piece}{after}"),
            _ => {
                let mut rest: Vec<char> = format!("{before}{after}").chars().collect();
                let to = to.index(rest.len() + 1);
                rest.splice(to..to, piece.chars());
                rest.into_iter().collect()
            }
        };
        survives(&changed);
    }

    /// Words of a command line never panic, and what they add can be taken away again without a trace.
    #[test]
    fn edits_are_undone_exactly(
        words in proptest::collection::vec("(for|path|hot|vary_query|hot\\.idle|extension|id)=(\\PC{0,12}|10s|true|\\.jpg|/a/\\*\\*)", 1..3),
        first in any::<bool>(),
    ) {
        let Ok(rule) = rule_from_words(&words) else { return Ok(()) };
        let at = if first { Position::First } else { Position::Last };
        let Ok(text) = add_rule(FULL, "a", &rule, &at) else { return Ok(()) };
        let listed = list_rules(&text, "a").unwrap();
        let before = list_rules(FULL, "a").unwrap();
        prop_assert_eq!(listed.len(), before.len() + 1);
        let new = if first { &listed[0] } else { &listed[listed.len() - 1] };
        let removed = remove_rule(&text, "a", &new.id).unwrap();
        prop_assert_eq!(&removed, FULL);
        let there = move_rule(&text, "a", &new.id, &Position::At(2)).unwrap();
        let moved = list_rules(&there, "a").unwrap();
        prop_assert_eq!(&moved[1].words, &new.words);
    }
}
