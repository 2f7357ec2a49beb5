//! The operator's wishes as pure functions: sites, rules, keys, normalisers.
//!
//! From a request's head alone: which site, which rule, which key, which values it varies by, which cookies
//! matter. Not here: configuration text (`server::config` lowers it to these types), HTTP's own rules
//! (`policy`), any I/O or clock.

mod coding;
mod cookies;
mod glob;
mod hidden;
mod host;
mod key;
mod path;
mod quality;
mod query;
mod route;
mod same;
mod types;
mod unkeyed;
mod url;
mod value;
mod wild;

pub use coding::{AskOrigin, CodingWish, is_coded, pays, takes_as_it_came};
pub use cookies::{COOKIE_PRESETS, cookie_preset, relevant_cookies};
pub use hidden::hidden_rules;
pub use host::normalise_host;
pub use path::normalise_path;
pub use query::normalise_query;
pub use route::route;
pub use types::*;
pub use unkeyed::unkeyed;
pub use url::{UrlParts, parse_url, url_key};
pub use value::{normalise_by_meaning, normalise_for_origin, normalise_value};
