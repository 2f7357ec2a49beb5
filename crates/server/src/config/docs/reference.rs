//! `docs/configuration.md`: every table, every key, every message.

use super::wrapped;
use crate::config::diag::Code;
use crate::config::keys;
use crate::config::kind::{Key, Kind, Table, Unset};

const HEAD: &str = "\
# The configuration

<!-- Written from the declared keys; change `crates/server/src/config/keys/`, then run
     `SAMOVAR_WRITE_DOCS=1 cargo test -p samovar --test config_docs`. -->

One TOML file. `samovar init` writes one with every key and its text, `samovar check --config FILE` says what is
wrong with it, `samovar reload` (or SIGHUP) takes it as a whole or not at all, and `samovar schema` prints a JSON
schema for editors.

- **Durations** are texts with units, from large to small: `\"250ms\"`, `\"10s\"`, `\"1h30m\"`, `\"1d\"`.
- **Sizes** are texts with a unit, `\"256 KiB\"` or `\"4 GiB\"` (powers of two), `\"1 MB\"` (powers of ten), or whole
  numbers of bytes.
- Where a list is wanted, one value may stand alone: `extension = \".jpg\"`.
- Relative paths begin at the folder of the file.
- A rule takes every policy key that it does not write from its site; lists are replaced, not joined.

";

/// The reference, in Markdown.
pub fn reference() -> String {
    let mut out = String::from(HEAD);
    for table in keys::ALL {
        out.push_str(&section(table));
    }
    out.push_str("## Messages\n\nWhat `samovar check` may say; `--json` carries these codes.\n\n");
    for code in Code::ALL {
        out.push_str(&format!("- `{}`: {}.\n", code.as_str(), code.text()));
    }
    out
}

fn section(table: &Table) -> String {
    let title =
        if table.title == "(top)" { "The top of the file".to_owned() } else { format!("`{}`", table.title) };
    let mut out = format!("## {title}\n\n{}\n", wrapped(table.text, "", 115));
    // Shared with others, and described once.
    let first = |keys: &[Key]| keys.first().map(|key| key.name);
    let is_policy = |group: &&&[Key]| first(group) == first(keys::POLICY);
    if table.groups.iter().any(|g| is_policy(&g)) {
        out.push_str("Beside these keys it takes those of [policies](#policies).\n\n");
    }
    table
        .groups
        .iter()
        .filter(|g| !is_policy(g))
        .flat_map(|g| g.iter())
        .for_each(|k| out.push_str(&entry(k)));
    out.push('\n');
    if table.title == keys::RULE.title {
        out.push_str("## Policies\n\n");
        let text = "What a rule wishes, and a site for all it has no rule for. At most one of `respect`, `when_silent`, \
                    `for`, `until_changed` and `never` in each.";
        out.push_str(&format!("{}\n", wrapped(text, "", 115)));
        keys::POLICY.iter().for_each(|k| out.push_str(&entry(k)));
        out.push('\n');
    }
    out
}

fn entry(key: &Key) -> String {
    let without = match key.default {
        Unset::Is(value) => format!("default `{value}`"),
        Unset::Absent(words) => format!("default: {words}"),
        Unset::Required => "must be written".to_owned(),
    };
    let example = if key.example.is_empty() {
        String::new()
    } else {
        format!(" Example: `{} = {}`", key.name, key.example)
    };
    let mut out =
        format!("- **`{}`** ({}; {without}). {}{example}\n", key.name, kind_name(&key.kind), key.text);
    for (word, text) in words_of(&key.kind) {
        out.push_str(&format!("  - `\"{word}\"`: {text}\n"));
    }
    out
}

fn words_of(kind: &Kind) -> Vec<(&'static str, &'static str)> {
    match kind {
        Kind::Word(words) => words.to_vec(),
        Kind::Many(each) => words_of(each),
        Kind::Either(kinds) => kinds.iter().flat_map(words_of).collect(),
        _ => Vec::new(),
    }
}

fn kind_name(kind: &Kind) -> String {
    match kind {
        Kind::Bool => "true or false".to_owned(),
        Kind::Int(min, i64::MAX) => format!("whole number, at least {min}"),
        Kind::Int(min, max) => format!("whole number, {min} to {max}"),
        Kind::Number(min, max) => format!("number, {min} to {max}"),
        Kind::Duration(_) => "duration".to_owned(),
        Kind::Size(_) => "size".to_owned(),
        Kind::Percent => "percentage".to_owned(),
        Kind::Text(format) => format.describe().split(" like ").next().unwrap_or("text").to_owned(),
        Kind::Word(_) => "word".to_owned(),
        Kind::Many(each) => format!("list of: {}", kind_name(each)),
        Kind::Either(kinds) => kinds.iter().map(kind_name).collect::<Vec<_>>().join(" or "),
        Kind::Table(_) => "table, see below".to_owned(),
        Kind::Tables(_) => "tables, see below".to_owned(),
        Kind::Map(..) => "table with free names".to_owned(),
    }
}
