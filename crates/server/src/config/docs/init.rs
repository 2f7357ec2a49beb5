//! The file that `samovar init` writes: complete, commented, and accepted as it stands.
//!
//! Prose begins with `# `; a key that could be switched on begins with `#` directly, so that taking away one
//! character is all it needs.

use super::wrapped;
use crate::config::keys::{self, HOT, LIMITS, LOG, MEMORY, RULE, SERVER, SITE, UPSTREAM};
use crate::config::kind::{Key, Table, Unset};

const WIDTH: usize = 100;

const HEAD: &str = "\
# Samovar's configuration.
#
# Lines that begin with `#` directly before a key show what it would be; take the `#` away to set it.
# `samovar check --config FILE` says what is wrong, `samovar reload` takes the file as a whole or not at all.
# Durations: \"250ms\", \"10s\", \"1h30m\", \"1d\". Sizes: \"256 KiB\", \"4 GiB\".
# Every key: docs/configuration.md.
";

const SITE_NOW: &str = "\
# A site: the hosts it answers for and where its pages come from.
[[site]]
default = true
origin = \"http://127.0.0.1:3000\"
";

/// The text of a new configuration file.
pub fn init_text() -> String {
    let mut out = String::from(HEAD);
    out.push_str(&format!("\nconfig = {}\n", keys::VERSION));
    for table in [&SERVER, &LIMITS, &MEMORY, &LOG, &HOT] {
        out.push('\n');
        out.push_str(&wrapped(table.text, "# ", WIDTH));
        out.push_str(&format!("{}\n", table.title));
        table.keys().for_each(|k| out.push_str(&off(k, "")));
    }
    out.push('\n');
    out.push_str(SITE_NOW);
    for key in SITE.groups.iter().take(1).flat_map(|g| g.iter()) {
        if !matches!(key.name, "default" | "origin" | "rule") {
            out.push_str(&off(key, ""));
        }
    }
    out.push_str(&sample(&RULE, &["extension", "for"], "  "));
    out.push_str(&sample(&UPSTREAM, &["name", "members"], ""));
    out
}

/// A whole table, switched off; the chosen keys first.
fn sample(table: &Table, first: &[&str], indent: &str) -> String {
    let mut out = String::from("\n");
    out.push_str(&wrapped(table.text, &format!("{indent}# "), WIDTH));
    out.push_str(&format!("{indent}#{}\n", table.title));
    let chosen = first.iter().filter_map(|n| table.key(n));
    let rest = table.keys().filter(|k| !first.contains(&k.name));
    chosen.chain(rest).for_each(|k| out.push_str(&off(k, indent)));
    out
}

/// A key, switched off, with what it does.
fn off(key: &Key, indent: &str) -> String {
    let value = match key.default {
        Unset::Is(value) if !matches!(value, "[]" | "{}" | "false" | "0") => value,
        _ => key.example,
    };
    let without = match key.default {
        Unset::Is(default) if default != value => format!(" Without it: {default}."),
        Unset::Absent(words) => format!(" Without it: {words}."),
        _ => String::new(),
    };
    let prose = wrapped(&format!("{}{without}", key.text), &format!("{indent}# "), WIDTH);
    format!("{prose}{indent}#{} = {value}\n", key.name)
}
