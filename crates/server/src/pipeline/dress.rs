//! `client_fields`: the last change of an answer's fields, after the cache, for whoever gets it.
//!
//! Done by the engine for each answer, and once for the bytes that are prepared for the hot tier; only what is the same for
//! all who ask for a URL may become hot (`promote`). Not here: `request_fields`, `response_fields` (`answered`).

use super::exchange::{Exchange, Route};
use super::vars::vars;
use http::HeaderMap;
use samovar_reason::Change;
use samovar_rules::{Acts, edit_fields, edited_names};
use samovar_trace::Fact;
use std::sync::Arc;

/// Changes the fields of an answer on its way to the client.
pub(super) fn dress(x: &mut Exchange, route: Option<&Route>, headers: &mut HeaderMap) {
    let acts = route.and_then(|route| Some((route, route.rule_in(&x.snapshot)?.acts.as_ref()?)));
    let Some((route, acts)) = acts.filter(|(_, acts)| !acts.client_fields.is_empty()) else { return };
    let acts = Arc::clone(acts);
    apply(x, route, &acts, headers);
    x.note(Fact::Change(Change::ClientFields, edited_names(&acts.client_fields)));
}

/// The same without a word, for bytes that are prepared.
pub(super) fn apply(x: &Exchange, route: &Route, acts: &Acts, headers: &mut HeaderMap) {
    if !acts.client_fields.is_empty() {
        edit_fields(&acts.client_fields, &vars(x, route, acts), headers);
    }
}
