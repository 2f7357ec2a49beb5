//! The operator's wishes as pure functions: sites, rules, keys, normalisers.
//!
//! From a request's head alone: which site, which rule, which key, which values it varies by, which cookies
//! matter. Not here: configuration text (`server::config` lowers it to these types), HTTP's own rules
//! (`policy`), any I/O or clock.

mod types;

pub use types::*;
