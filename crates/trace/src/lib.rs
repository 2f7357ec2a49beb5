//! One record per request: what was decided and why, rendered for people, for tools and for logs.
//!
//! Not here: deciding anything, reading clocks, writing files.

mod types;

pub use types::*;
