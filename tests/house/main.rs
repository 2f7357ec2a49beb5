//! Tests about the house itself: what ARCHITECTURE.md and CONTRIBUTING.md promise about the code, held by reading it.
//!
//! Each module guards one promise. Not here: how the programs behave.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop at its first surprise"
)]

mod arrows;
mod files;
mod import_words;
mod licences;
mod links;
mod makefile;
mod manifests;
mod purity;
mod readme;
mod strays;
mod versions;
mod waiting;
