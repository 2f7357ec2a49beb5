//! HTTP caching as pure functions: RFC 9111, 5861, 9213, 9211 and the conditional and range parts of RFC 9110; and where
//! a chunked body ends (RFC 9112), which both its readers must see alike; and what becomes of `Upgrade`.
//!
//! Each takes values and `now` and returns a verdict with its reason. Nothing here reads a clock, a socket or a
//! file, and nothing logs. Not here: which rule applies (`rules`), where entries live (`cache`), in which order
//! a request's life runs (`server::pipeline`).
//!
//! One file per question. What the answers share sits below them: `syntax` (lists, tokens, numbers), `sfv`
//! (structured fields), `date`, `validator` (entity tags), `directives` and `asked` (Cache-Control).
//! Wherever a field is broken, repeated or contradicts itself, the choice that reuses less is taken.

mod age;
mod asked;
mod certain;
mod chunked;
mod claims;
mod coding;
mod date;
mod directives;
mod forwards;
mod freshness;
mod groups;
mod hop;
mod invalidate;
mod merge;
mod partial;
mod range;
mod reuse;
mod select;
mod sfv;
mod status;
mod storable;
mod stored;
mod surrogate;
mod syntax;
mod types;
mod upgrade;
mod validator;
mod vary;

pub use age::age_ms;
pub use certain::{RawAsked, RawValidators, certainly, raw_validators};
pub use chunked::{BadChunk, ChunkRun, Chunked};
pub use claims::{Claim, Claimed, claimed, overrides_method, poses_as_another};
pub use coding::{Coding, coded_fields, coding_held, forbids_transform, plain_tags};
pub use date::{HTTP_DATE_BYTES, parse_http_date, write_http_date};
pub use forwards::{count_down, ends_here};
pub use freshness::{lifetime_given_ms, shown_ttl_ms, ttl_ms};
pub use groups::{groups, invalidated_groups};
pub use hop::{CONNECTION_MAX, drop_named_by_connection, names_too_many, strip_hop_by_hop};
pub use invalidate::{invalidated, invalidates, post_answers_get};
pub use merge::{HeadSays, conditional_fields, confirms, head_says, merge_304};
pub use partial::{
    Part, PartUse, Wanted, combined_fields, content_range, if_range, missing, of_the_whole, part_use,
    range_field, same_representation, wanted,
};
pub use reuse::{
    is_failure, is_of_the_resource, is_unreachable, may_look, may_stand_in, only_if_cached, reuse,
};
pub use select::{asks_for_304, select};
pub use status::fwd_of;
pub use storable::storable;
pub use stored::{fields_of_one, stored_fields};
pub use surrogate::{CAPABILITY, CAPABILITY_FIELD, strip_surrogate_control};
pub use types::*;
pub use upgrade::{upgrade_to_ask_for, upgraded_to};
pub use vary::{
    Compared, VARY_MAX, VaryFields, combined, vary_fields, vary_matches, vary_named, vary_values,
};
