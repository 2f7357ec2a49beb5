//! The operator's wishes as pure functions: sites, rules, keys, normalisers.
//!
//! From a request's head alone: which site, which rule, which key, which values it varies by, which cookies
//! matter. And what a rule does beside caching: whom it lets in, where it sends a request, which fields it changes.
//! Not here: configuration text (`server::config` lowers it to these types), HTTP's own rules
//! (`policy`), any I/O or clock.

mod access;
mod acts;
mod ambiguous;
mod coding;
mod cookies;
mod fields;
mod glob;
mod guards;
mod hidden;
mod host;
mod key;
mod learned;
mod map;
mod names;
mod path;
mod quality;
mod query;
mod rate;
mod readings;
mod route;
mod same;
mod stars;
mod template;
mod turns;
mod types;
mod unkeyed;
mod url;
mod users;
mod value;
mod whom;
mod wild;

pub use access::{Access, Addresses, Network};
pub use acts::{Acts, BasicAuth, Redirect, Rewritten, Statuses};
pub use coding::{AskOrigin, CodingWish, is_coded, pays, takes_as_it_came};
pub use cookies::{
    COOKIE_PRESETS, COOKIES_MAX, RelevantCookies, cookie_preset, cookies_matter, relevant_cookies,
};
pub use fields::{FieldEdit, FieldSide, edit_answer, edit_fields, edited_names, refused_field, refused_name};
pub use guards::{Guards, Held};
pub use hidden::hidden_rules;
pub use host::normalise_host;
pub use learned::{FORGOTTEN_AFTER_MS, HostStanding, LearnedHosts};
pub use map::{AskedBy, OriginNames, map_cookie, map_location};
pub use path::normalise_path;
pub use query::{VARIABLES_MAX, normalise_query};
pub use rate::{Counted, Rate, RateBy, RateTable, network_of};
pub use route::{Document, route, route_with};
pub use stars::Stars;
pub use template::{Template, Var, Vars};
pub use turns::{Asker, Turn, TurnBounds, Turns};
pub use types::*;
pub use unkeyed::unkeyed;
pub use url::{UrlParts, parse_url, url_key};
pub use users::{Credentials, UserComplaint, Users, Worry};
pub use value::{normalise_by_meaning, normalise_for_origin, normalise_value};
