//! `[compression]`, and what rules and sites say with `compress`, `precompressed` and `require_coding`.

use super::rule::Scope;
use super::site::Takes;
use super::{Work, section};
use crate::config::diag::Code;
use crate::config::keys;
use crate::config::settings::CompressionSettings;
use crate::config::tree::{Checked, Node, Value};
use samovar_policy::Coding;
use samovar_rules::{AskOrigin, CodingWish};
use std::sync::Arc;

/// `[compression]`.
pub(super) fn compression(root: &Checked) -> CompressionSettings {
    let table = section(root, "compression", &keys::COMPRESSION);
    let levels = |name: &'static str, keys: &'static crate::config::kind::Table| {
        let own = section(&table, name, keys);
        Coding::ALL.map(|coding| own.amount(coding.name()).and_then(|n| u32::try_from(n).ok()).unwrap_or(1))
    };
    CompressionSettings {
        levels: levels("levels", &keys::LEVELS),
        on_the_fly: levels("on_the_fly", &keys::ON_THE_FLY),
        workers: table.amount("workers").and_then(|n| usize::try_from(n).ok()),
        yield_at_percent: match table.value("yield_at") {
            Some(Value::Percent(percent)) => percent,
            _ => 100,
        },
        streams_max: table.amount("streams_max").unwrap_or(0),
    }
}

/// The wish of a rule, or of a site for all it has no rule for.
pub(super) fn wish(scope: &Scope<'_>, takes: Takes, work: &mut Work<'_>) -> Option<Arc<CodingWish>> {
    let site = scope.site.unwrap_or(scope.own);
    let siblings = site.bool("precompressed") == Some(true);
    if let (true, false, None, Some(node)) = (siblings, takes.files, scope.site, site.get("precompressed")) {
        let hint = "only files have siblings; take it out, or serve a folder with `files`";
        work.warning(
            Code::Unused,
            &node.span,
            "`precompressed` changes nothing: the site has no files",
            hint,
        );
    }
    let require = codings(scope.node("require_coding"));
    let (make, table) = match scope.node("compress") {
        Some(Node { value: Value::Bool(make), .. }) => (*make, None),
        Some(node) => (true, node.table()),
        None => (true, None),
    };
    let siblings = siblings && takes.files;
    if !make && !siblings && require.is_empty() {
        return None;
    }
    let word = table.and_then(|table| table.value("from_origin"));
    let asks = match word.as_ref().and_then(Value::text) {
        _ if siblings => AskOrigin::Siblings,
        _ if !make => AskOrigin::AsAsked,
        Some("coded") => AskOrigin::Coded,
        _ => AskOrigin::Plain,
    };
    let mut wish = CodingWish::new(make, &codings(table.and_then(|table| table.get("codings"))), asks);
    wish.require = require;
    if let Some(table) = table {
        let types = table.get("types").map(|node| node.value.texts());
        wish.types = types.map(|types| types.into_iter().map(str::to_ascii_lowercase).collect());
        wish.min_bytes = table.amount("min_bytes").unwrap_or(wish.min_bytes);
        unsafe_together(scope, table, siblings, work);
    }
    if make && !wish.require.is_empty() && !wish.require.iter().any(|coding| wish.codings.contains(coding)) {
        let span = scope.node("require_coding").map_or(0..0, |node| node.span.clone());
        let hint = "name one of `compress.codings` in `require_coding`, or add it there";
        let message = "clients must accept a coding that is never made here";
        work.warning(Code::Unused, &span, message, hint);
    }
    Some(Arc::new(wish))
}

/// Half effects.
fn unsafe_together(scope: &Scope<'_>, table: &Checked, siblings: bool, work: &mut Work<'_>) {
    if let (true, Some(node)) = (siblings && scope.site.is_none(), table.get("from_origin")) {
        let hint =
            "take one of them out; with `precompressed` the codings the client accepts are what counts";
        work.warning(Code::Unused, &node.span, "`from_origin` changes nothing beside `precompressed`", hint);
    }
}

fn codings(node: Option<&Node>) -> Vec<Coding> {
    let words = node.map_or(Vec::new(), |node| node.value.texts());
    let mut all: Vec<Coding> = Vec::new();
    for coding in words.into_iter().filter_map(|word| Coding::of_name(word.as_bytes())) {
        if !all.contains(&coding) {
            all.push(coding);
        }
    }
    all
}
