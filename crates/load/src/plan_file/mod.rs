//! The native plan: a TOML file that people write by hand, and that can say all that a scenario and its settings can.
//!
//! Pure: text in, a scenario, settings and notes out; and back. Reading what was written gives the same, but for the places
//! in the file. docs/thirst-plans.md explains it to its users. Not here: other formats (`wcat`), opening files, sending.

mod read;
mod step;
mod table;
mod template;
mod time;
mod write;

#[cfg(test)]
mod tests;

use crate::wcat::{Scenario, Settings};

pub use read::read;
pub use write::write;

/// What a plan says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanFile {
    /// What is done. Without transactions it only says how long and how much of another file's scenario.
    pub scenario: Scenario,
    /// By how many, and where.
    pub settings: Settings,
}
