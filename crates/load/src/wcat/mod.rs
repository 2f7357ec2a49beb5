//! WCAT's files, read as they are: scenarios and settings of 6.3 (`.ubr`), script, distribution and configuration of 5; and
//! lists of URLs. [`gather`] puts any of them together, with our own format ([`crate::plan_file`]); [`write`] writes them.
//!
//! Pure: text in, a [`Scenario`], [`Settings`] and notes out. What the original stopped at and can only mean one thing is
//! understood and said. Not here: opening files, sending.

pub mod command;
pub(crate) mod common;
mod five;
mod gather;
mod lex;
pub(crate) mod nearest;
mod outline;
mod scenario;
mod source;
mod tree;
mod ubr;
mod urls;
pub mod write;

#[cfg(test)]
pub(crate) mod arbitrary;
#[cfg(test)]
mod tests;

pub use five::{Config, Script, config, distribution, scenario as scenario_of, script};
pub use gather::{Gathered, gather};
pub use outline::{DURATION_MS, VIRTUAL_CLIENTS, outline};
pub use scenario::{
    Counter, Field, Manner, Part, Request, Scenario, Settings, Step, Transaction, Value, Version, constant,
};
pub(crate) use scenario::{is_method, joined, name_of};
pub use source::{Note, Severity, Source};
pub use ubr::{Ubr, read as ubr};
