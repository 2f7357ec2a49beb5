//! Every key of the configuration, declared once: name, type, default, text, example.
//!
//! Parsing, messages, `samovar init`, the reference, the schema and the words of `samovar rule` all come from
//! these tables. Not here: what a value means (`lower/`).

mod policy;
mod server;
mod site;
mod upstream;

pub(crate) use policy::{POLICY, RULE_HOT, VARY_HEADER, VARY_QUERY};
pub(crate) use server::{HOT, LIMITS, LOG, MEMORY, MEMORY_LEAST_BYTES, SERVER};
pub(crate) use site::{HANDLER, RULE, SITE};
pub(crate) use upstream::{EJECT, GATE, MEMBER, PROBE, RETRY, STICKY, UPSTREAM};

use super::kind::{Key, Kind, Table};

/// The version of the format that this program reads.
pub(crate) const VERSION: i64 = 1;

/// The names of the five lifetime policies; a rule has at most one.
pub(crate) const LIFETIMES: [&str; 5] = ["respect", "when_silent", "for", "until_changed", "never"];

/// The whole file.
pub(crate) static ROOT: Table = Table {
    title: "(top)",
    text: "What stands before the first table.",
    groups: &[&[
        Key::new("config", Kind::Int(1, i64::MAX), "The version of this format.", "1"),
        Key::new("server", Kind::Table(&SERVER), "Where the server listens and how it presents itself.", "")
            .absent("all defaults"),
        Key::new("limits", Kind::Table(&LIMITS), "What a client may ask for and how long it may take.", "")
            .absent("all defaults"),
        Key::new("memory", Kind::Table(&MEMORY), "The memory tier.", "").absent("all defaults"),
        Key::new("log", Kind::Table(&LOG), "The access log and the traces.", "").absent("all defaults"),
        Key::new("hot", Kind::Table(&HOT), "The hot tier.", "").absent("all defaults"),
        Key::new(
            "site",
            Kind::Tables(&SITE),
            "A site: the hosts it answers for and where its pages come from.",
            "",
        ),
        Key::new("upstream", Kind::Tables(&UPSTREAM), "Servers behind this one.", "").absent("none"),
    ]],
};

/// The tables of the reference, in reading order.
pub(crate) static ALL: &[&Table] = &[
    &ROOT,
    &SERVER,
    &LIMITS,
    &MEMORY,
    &LOG,
    &HOT,
    &SITE,
    &HANDLER,
    &RULE,
    &VARY_HEADER,
    &VARY_QUERY,
    &RULE_HOT,
    &GATE,
    &UPSTREAM,
    &MEMBER,
    &STICKY,
    &RETRY,
    &EJECT,
    &PROBE,
];
