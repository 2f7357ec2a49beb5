//! Random rules without `override`.

use http::Method;
use http::header::{ACCEPT_LANGUAGE, AUTHORIZATION, COOKIE};
use proptest::prelude::*;
use proptest::sample::select;
use samovar_policy::{LifetimeWish, Reload, Wishes};
use samovar_rules::*;
use std::sync::Arc;

pub(crate) fn wishes() -> impl Strategy<Value = Wishes> {
    let lifetime = select(vec![
        LifetimeWish::Respect,
        LifetimeWish::WhenSilent(30_000),
        LifetimeWish::For(30_000),
        LifetimeWish::UntilChanged,
        LifetimeWish::Never,
    ]);
    let reload = select(vec![Reload::Ignore, Reload::Revalidate, Reload::Bypass]);
    let only_status = select(vec![vec![], vec![200, 404, 302, 500]]);
    let allowances = (prop::option::of(Just(600_000_u64)), prop::option::of(Just(600_000_u64)));
    (lifetime, reload, only_status, allowances, any::<(bool, bool, bool)>()).prop_map(
        |(lifetime, reload, only_status, (swr, sie), (set_cookie_strip, request_directives, heuristics))| {
            Wishes {
                lifetime,
                reload,
                only_status,
                stale_while_revalidate_ms: swr,
                stale_if_error_ms: sie,
                set_cookie_strip,
                request_directives,
                heuristic_factor: if heuristics { 0.1 } else { 0.0 },
                heuristic_max_ms: 86_400_000,
                max_bytes: u64::MAX,
                ..Wishes::default()
            }
        },
    )
}

pub(crate) fn rule() -> impl Strategy<Value = Rule> {
    let path = select(vec![None, None, Some("/a"), Some("/b"), Some("*")]);
    let methods = select(vec![vec![], vec![], vec![Method::GET], vec![Method::HEAD]]);
    let ignore =
        select(vec!["", "", "_ga*", "@analytics", "lang", "_ga* lang", "sid", "s*", "*", "si", "SID"]);
    let in_key = select(vec!["", "", "sid", "lang", "lang sid"]);
    let normalise = select(vec![Normalise::Exact, Normalise::Lower]);
    let field = select(vec![None, Some(COOKIE), Some(AUTHORIZATION), Some(ACCEPT_LANGUAGE)]);
    (path, methods, wishes(), ignore, in_key, field, normalise, any::<bool>()).prop_map(
        |(path, methods, wishes, ignore, in_key, field, normalise, ignore_case)| {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
            Rule {
                path: path.map(|text| PathGlob::with_case(text, ignore_case).unwrap()),
                methods,
                wishes,
                vary_headers: field.map(|name| VaryHeader { name, normalise }).into_iter().collect(),
                vary_cookies: words(in_key),
                ignore_cookies: words(ignore),
                vary_query: if ignore_case { QueryKey::Ignore } else { QueryKey::AsIs },
                ignore_case,
                ..Rule::default()
            }
        },
    )
}

/// The operator's word that the session cookie does not matter.
pub(crate) fn ignores_sessions(rule: &Rule) -> bool {
    rule.ignore_cookies.iter().any(|word| ["sid", "s*", "*"].contains(&word.as_str()))
}

pub(crate) fn site() -> impl Strategy<Value = Sites> {
    (prop::collection::vec(rule(), 0..3), rule()).prop_map(|(rules, otherwise)| one_site(rules, otherwise))
}

pub(crate) fn one_site(rules: Vec<Rule>, otherwise: Rule) -> Sites {
    let site = Site {
        name: "s".into(),
        hosts: vec![],
        ports: vec![],
        default: true,
        canonical_host: "h".into(),
        handlers: vec![],
        fallback: TargetId(0),
        index: vec![],
        rules,
        otherwise: Arc::new(Rule { path: None, methods: vec![], ..otherwise }),
        cache_status: true,
        guards: Default::default(),
    };
    Sites { sites: vec![site] }
}
