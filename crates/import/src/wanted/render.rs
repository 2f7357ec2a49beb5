//! What is wanted, written as TOML that a person reads: each key with the place it came from, and at the end a line for
//! every directive that is not carried over, the worst consequence first.

use super::rules::{self, Rule};
use super::settings::Entry;
use super::{Settings, Site, Upstream, Value, Wanted};
use crate::Source;
use crate::note::{Consequence, Fate, Note, Place, shown};
use std::collections::HashSet;
use std::fmt::Write as _;

/// Columns a line may have before its comment moves above it.
const WIDE: usize = 100;

/// The whole file. `Err`: the site whose rules are too many.
pub(crate) fn toml(wanted: &Wanted, notes: &[Note], source: Source, name: &str) -> Result<String, String> {
    let mut out = String::new();
    let count = |fate| notes.iter().filter(|note| note.fate == fate).count();
    line(&mut out, &format!("# Brought along from {} by `samovar import {}`.", shown(name), source.name()));
    let [carried, left] = [Fate::Carried, Fate::LeftOut].map(count);
    let [unsafe_ones, fill] = [Fate::Unsafe, Fate::FillIn].map(count);
    line(
        &mut out,
        &format!("# {carried} directives carried over, {left} not, {unsafe_ones} unsafe, {fill} to fill in."),
    );
    line(
        &mut out,
        "# The end of this file lists what acts differently or needs you, the worst first. `samovar check --config THIS`",
    );
    line(&mut out, "# lists what remains to be done.");
    line(&mut out, "config = 1");
    for (title, settings) in [
        ("server", &wanted.server),
        ("limits", &wanted.limits),
        ("memory", &wanted.memory),
        ("compression", &wanted.compression),
        ("log", &wanted.log),
        ("hot", &wanted.hot),
    ] {
        if !settings.is_empty() {
            line(&mut out, &format!("\n[{title}]"));
            table(&mut out, settings, "");
        }
    }
    let names = unique(wanted.sites.iter().map(|site| site.name.as_str()));
    for (site, name) in wanted.sites.iter().zip(names) {
        self::site(&mut out, site, &name)?;
    }
    for upstream in &wanted.upstreams {
        self::upstream(&mut out, upstream);
    }
    remaining(&mut out, notes);
    Ok(out)
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn unique<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for name in names {
        let mut own = name.to_owned();
        let mut n = 2;
        while taken.contains(&own) {
            own = format!("{name}-{n}");
            n += 1;
        }
        taken.push(own);
    }
    taken
}

fn site(out: &mut String, site: &Site, name: &str) -> Result<(), String> {
    line(out, "");
    if let Some(place) = &site.place {
        line(out, &format!("# {}", shown(&place.to_string())));
    }
    line(out, "[[site]]");
    line(out, &format!("name = {}", Value::text(name).toml()));
    if !site.hosts.is_empty() {
        line(out, &format!("hosts = {}", Value::texts(&site.hosts).toml()));
    }
    if !site.ports.is_empty() {
        let ports = site.ports.iter().map(|port| Value::Int(u64::from(*port))).collect();
        line(out, &format!("ports = {}", Value::List(ports).toml()));
    }
    if site.default {
        line(out, "default = true");
    }
    table(out, &site.head, "");
    let (own, rules) = rules::settle(site).ok_or_else(|| name.to_owned())?;
    table(out, &own, "");
    let mut seen = HashSet::new();
    for rule in &rules {
        self::rule(out, rule, &mut seen);
    }
    Ok(())
}

/// `seen`: globs of rules before it that take whatever they match.
fn rule(out: &mut String, rule: &Rule, seen: &mut HashSet<String>) {
    let all = rule.select.extensions.is_empty();
    let Some(globs) = rule.select.path.globs(!all) else { return one_rule(out, rule, None) };
    for glob in globs {
        // What an earlier rule takes never comes to this one.
        if !seen.contains(&glob) {
            one_rule(out, rule, Some(glob.as_str()));
        }
        if all {
            seen.insert(glob);
        }
    }
}

fn one_rule(out: &mut String, rule: &Rule, glob: Option<&str>) {
    line(out, "");
    if let Some(place) = &rule.place {
        line(out, &format!("  # {}", shown(&place.to_string())));
    }
    // What only waits for somebody's decision is no rule yet.
    if rule.select.is_all() && rule.settings.entries().iter().all(|entry| entry.off) {
        line(out, "  # [[site.rule]]");
        table(out, &rule.settings, "  ");
        return;
    }
    line(out, "  [[site.rule]]");
    if let Some(glob) = glob {
        line(out, &format!("  path = {}", Value::text(glob).toml()));
    }
    match rule.select.extensions.as_slice() {
        [] => {}
        [one] => line(out, &format!("  extension = {}", Value::text(one).toml())),
        many => line(out, &format!("  extension = {}", Value::texts(many).toml())),
    }
    table(out, &rule.settings, "  ");
}

fn upstream(out: &mut String, upstream: &Upstream) {
    line(out, "");
    if let Some(place) = &upstream.place {
        line(out, &format!("# {}", shown(&place.to_string())));
    }
    line(out, "[[upstream]]");
    line(out, &format!("name = {}", Value::text(&upstream.name).toml()));
    if !upstream.members.is_empty() {
        line(out, "members = [");
        for (member, place) in &upstream.members {
            let member = Value::Table(member.clone()).toml();
            line(out, &format!("  {member}, # {}", shown(&place.to_string())));
        }
        line(out, "]");
    }
    table(out, &upstream.settings, "");
}

fn table(out: &mut String, settings: &Settings, indent: &str) {
    for entry in settings.entries() {
        self::entry(out, entry, indent);
    }
}

fn entry(out: &mut String, entry: &Entry, indent: &str) {
    let off = if entry.off { "# " } else { "" };
    let text = format!("{indent}{off}{} = {}", entry.key, entry.value.toml());
    let from = places(&entry.places);
    let comment = match (from.is_empty(), entry.remark.is_empty()) {
        (true, true) => String::new(),
        (false, true) => from,
        (true, false) => shown(&entry.remark),
        (false, false) => format!("{from}: {}", shown(&entry.remark)),
    };
    if comment.is_empty() {
        line(out, &text);
    } else if text.chars().count() + comment.chars().count() < WIDE {
        line(out, &format!("{text}  # {comment}"));
    } else {
        line(out, &format!("{indent}# {comment}"));
        line(out, &text);
    }
}

/// `httpd.conf:12, 14, other.conf:3`.
fn places(places: &[Place]) -> String {
    const MOST: usize = 6;
    let mut out = String::new();
    let mut file = "";
    for place in places.iter().take(MOST) {
        if !out.is_empty() {
            out.push_str(", ");
        }
        // Writing to a String cannot fail.
        let _ = match *place.file == *file {
            true => write!(out, "{}", place.line),
            false => write!(out, "{}", shown(&place.to_string())),
        };
        file = &place.file;
    }
    if places.len() > MOST {
        out.push_str(", …");
    }
    out
}

/// The lines at the end.
fn remaining(out: &mut String, notes: &[Note]) {
    for consequence in Consequence::ALL {
        let of_it = |note: &&Note| note.consequence == consequence && note.is_reported();
        let mut listed = notes.iter().filter(of_it).peekable();
        if listed.peek().is_some() {
            line(out, &format!("\n# {}", consequence.heading()));
        }
        for note in listed {
            let Note { place, directive, fate, text, .. } = note;
            line(out, &format!("# {}: {directive}: {}: {text}", shown(&place.to_string()), fate.words()));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Ask, File, Options, Source, import};

    /// A cache that is on for a path that is passed on as well: one rule, not a second one that nothing comes to.
    #[test]
    fn no_rule_is_written_that_an_earlier_one_hides() {
        let text = "DocumentRoot www\nProxyPass /maps/ http://o.example/maps/\nCacheEnable disk /maps\n\
                    CacheDefaultExpire 300\nCacheIgnoreNoLastMod On\n";
        let file = File { name: "httpd.conf".into(), bytes: text.into() };
        let mut read = |_: &Ask<'_>| Err("there is none".to_owned());
        let toml = import(Source::Apache, &file, &Options::default(), &mut read).unwrap().toml;
        let paths: Vec<&str> = toml.lines().filter(|line| line.trim().starts_with("path = ")).collect();
        assert_eq!(paths, ["  path = \"/maps/**\"", "  path = \"/maps\""], "{toml}");
    }
}
