//! Upstreams: what their members do, and changes to them while they work.
//!
//! A change holds at once; with `keep` it is written into the configuration file as well, before it is answered, and what
//! others have changed there waits for a reload. Not here: what a change does (`balance`).

use super::api::Fail;
use crate::config::{self, MemberEdit};
use crate::state::{Others, Shared};
use crate::upstream::{MemberState, Upstream, UpstreamState};
use axum::Json;
use axum::extract::{Path, State};
use samovar_balance::{Admin, Change, Method};
use samovar_reason::Explain;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// An upstream as it is now.
#[derive(Debug, Serialize, ToSchema)]
pub struct UpstreamShape {
    /// Its name.
    name: String,
    /// How a member is chosen.
    balance: &'static str,
    /// Requests at once, of all members together; absent where a single member's own bound is all.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_connections: Option<usize>,
    /// Whether a connection is used again after it carried content: `auto` or `never`.
    reuse_after_body: &'static str,
    /// Requests waiting before all members.
    waiting: usize,
    /// Its members.
    members: Vec<MemberShape>,
    /// What somebody should look at, after a change that was kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// A member as it is now.
#[derive(Debug, Serialize, ToSchema)]
pub struct MemberShape {
    /// Its name.
    name: String,
    /// Where it listens.
    address: String,
    /// What the operator says of it: `enabled`, `drain` or `disabled`.
    state: &'static str,
    /// Why it is not asked, as a code; absent if it may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    unusable: Option<&'static str>,
    /// The same in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
    /// For how long it is still left alone, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    aside_for_ms: Option<u64>,
    /// Its share.
    weight: u32,
    /// Its route.
    route: String,
    /// Its set.
    set: u32,
    /// Whether it is a standby.
    standby: bool,
    /// Requests at once.
    max_connections: usize,
    /// Requests it was chosen for.
    elected: u64,
    /// Requests under way.
    busy: usize,
    /// Its lead in the turns, in requests.
    load: f64,
    /// Bytes sent to it.
    to_bytes: u64,
    /// Bytes that came from it.
    from_bytes: u64,
    /// Attempts that failed and were held against it.
    errors: u64,
    /// The last of them in a row.
    errors_in_a_row: u32,
    /// How often it was set aside.
    ejections: u64,
    /// Attempts that failed on it and were repeated elsewhere.
    retried: u64,
    /// How long it takes to begin an answer, µs: the worst of late, forgotten little by little.
    latency_us: u64,
    /// Connections open.
    connections: usize,
    /// Of them unused.
    idle: usize,
    /// Connections made.
    connects: u64,
    /// Requests on a connection used before.
    reuses: u64,
}

/// A change to a member; what is not named stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberAsk {
    /// Its share, 1 to 1000.
    weight: Option<u32>,
    /// Its set, 0 to 1000.
    set: Option<u32>,
    /// Whether it is a standby.
    standby: Option<bool>,
    /// Its route.
    route: Option<String>,
    /// `enabled`, `drain` or `disabled`.
    state: Option<String>,
    /// Write it into the configuration file, too.
    #[serde(default)]
    keep: bool,
}

/// A change to an upstream.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpstreamAsk {
    /// How a member is chosen.
    balance: String,
    /// Write it into the configuration file, too.
    #[serde(default)]
    keep: bool,
}

/// Every upstream with its members: elected, busy, load, bytes, errors, latency.
#[utoipa::path(get, path = "/v1/upstreams", responses((status = 200, body = Vec<UpstreamShape>)))]
pub async fn upstream_list(State(app): State<Arc<Shared>>) -> Json<Vec<UpstreamShape>> {
    Json(app.snapshot().upstreams().iter().map(|u| shape(u.view(), Vec::new())).collect())
}

/// Changes how a member is chosen.
#[utoipa::path(patch, path = "/v1/upstreams/{name}", params(("name" = String, Path, description = "The upstream")),
    request_body = UpstreamAsk, responses((status = 200, body = UpstreamShape), (status = 400, body = super::shapes::Refusal)))]
pub async fn upstream_set(
    State(app): State<Arc<Shared>>,
    Path(name): Path<String>,
    Json(ask): Json<UpstreamAsk>,
) -> Result<Json<UpstreamShape>, Fail> {
    let words = || Method::WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    let found = Method::WORDS.iter().find(|(word, _)| *word == ask.balance);
    let (word, method) = found.ok_or_else(|| bad(format!("`balance` is one of {}", words())))?;
    let upstream = named(&app, &name)?;
    let write = |text: &str| config::set_balance(text, &name, word).map_err(|e| e.to_string());
    let warnings = if ask.keep { app.edit(Others::Wait, write).map_err(bad)? } else { Vec::new() };
    upstream.set_method(*method);
    let now = named(&app, &name)?;
    now.set_method(*method);
    Ok(Json(shape(now.view(), warnings)))
}

/// Changes a member; it holds at once.
#[utoipa::path(patch, path = "/v1/upstreams/{name}/members/{member}",
    params(("name" = String, Path, description = "The upstream"),
        ("member" = String, Path, description = "The member's name, its route, or its number counted from 1")),
    request_body = MemberAsk, responses((status = 200, body = UpstreamShape), (status = 400, body = super::shapes::Refusal)))]
pub async fn member_set(
    State(app): State<Arc<Shared>>,
    Path((name, member)): Path<(String, String)>,
    Json(ask): Json<MemberAsk>,
) -> Result<Json<UpstreamShape>, Fail> {
    let upstream = named(&app, &name)?;
    let (at, change) = (position(&upstream, &name, &member)?, change_of(&ask)?);
    if change == Change::default() {
        return Err(bad("nothing to change: give `weight`, `set`, `standby`, `route` or `state`".to_owned()));
    }
    let taken = |route: &String| {
        let members = upstream.view().members;
        let mut others = members.iter().enumerate().filter(|(other, _)| *other != at);
        others.any(|(_, m)| !route.is_empty() && m.view.member.route == *route)
    };
    if let Some(route) = change.route.as_ref().filter(|route| taken(route)) {
        return Err(bad(format!("another member of {name} has the route {route:?}")));
    }
    let mut warnings = Vec::new();
    if ask.keep {
        let edit = MemberEdit {
            weight: change.weight,
            set: change.set,
            standby: change.standby,
            route: change.route.clone(),
            state: change.admin.map(Admin::word),
        };
        let called =
            upstream.view().members.into_iter().nth(at).map_or(member.clone(), |m| m.view.member.name);
        let write = |text: &str| config::set_member(text, &name, &called, &edit).map_err(|e| e.to_string());
        warnings = app.edit(Others::Wait, write).map_err(bad)?;
    }
    // Where the file was written another has taken its place, which began with what the old one knew.
    let now = named(&app, &name)?;
    let at = position(&now, &name, &member)?;
    now.change(at, &change);
    Ok(Json(shape(now.view(), warnings)))
}

fn change_of(ask: &MemberAsk) -> Result<Change, Fail> {
    let admin = match ask.state.as_deref() {
        None => None,
        Some(word) => match Admin::WORDS.iter().find(|(known, _)| *known == word) {
            Some((_, admin)) => Some(*admin),
            None => {
                return Err(bad(format!("{word:?} is no state: `enabled`, `drain` or `disabled`")));
            }
        },
    };
    if ask.weight.is_some_and(|n| !(1..=1000).contains(&n)) {
        return Err(bad("`weight` is a whole number from 1 to 1000".to_owned()));
    }
    if ask.set.is_some_and(|n| n > 1000) {
        return Err(bad("`set` is a whole number from 0 to 1000".to_owned()));
    }
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if ask.route.as_ref().is_some_and(|route| route.is_empty() || !route.chars().all(token)) {
        return Err(bad("`route` must be able to stand in a cookie: letters, digits, dashes".to_owned()));
    }
    let (weight, set, standby, route) = (ask.weight, ask.set, ask.standby, ask.route.clone());
    Ok(Change { weight, set, standby, route, admin })
}

fn bad(message: String) -> Fail {
    Fail::bad(message)
}

fn named(app: &Shared, name: &str) -> Result<Arc<Upstream>, Fail> {
    let snapshot = app.snapshot();
    let found = snapshot.upstreams().iter().find(|u| u.settings().name == name);
    found.cloned().ok_or_else(|| {
        let known: Vec<&str> = snapshot.upstreams().iter().map(|u| u.settings().name.as_str()).collect();
        bad(match known.is_empty() {
            true => "there are no upstreams".to_owned(),
            false => format!("no upstream is named {name:?}; there are {}", known.join(", ")),
        })
    })
}

fn position(upstream: &Upstream, name: &str, member: &str) -> Result<usize, Fail> {
    upstream.member_named(member).ok_or_else(|| {
        let known: Vec<String> = upstream.view().members.into_iter().map(|m| m.view.member.name).collect();
        bad(format!("{name} has no member {member:?}; it has {}", known.join(", ")))
    })
}

fn shape(state: UpstreamState, warnings: Vec<String>) -> UpstreamShape {
    UpstreamShape {
        name: state.name,
        balance: state.method.word(),
        max_connections: state.gate.map(|gate| gate.max),
        reuse_after_body: state.reuse_after_body.word(),
        waiting: state.gate.map_or(0, |gate| gate.waiting)
            + state.members.iter().map(|m| m.pool.waiting).sum::<usize>(),
        members: state.members.into_iter().map(member).collect(),
        warnings,
    }
}

fn member(state: MemberState) -> MemberShape {
    let MemberState { view, address, pool, to_bytes, from_bytes } = state;
    let settings = view.member;
    MemberShape {
        name: settings.name,
        address,
        state: settings.admin.word(),
        unusable: view.unusable.map(Explain::code),
        why: view.unusable.map(Explain::text),
        aside_for_ms: view.aside_for_ms,
        weight: settings.weight,
        route: settings.route,
        set: settings.set,
        standby: settings.standby,
        max_connections: settings.busy_max,
        elected: view.elected,
        busy: view.busy,
        load: view.load as f64 / 1_000.0,
        to_bytes,
        from_bytes,
        errors: view.errors,
        errors_in_a_row: view.errors_in_a_row,
        ejections: view.ejections,
        retried: view.retried,
        latency_us: view.latency_us as u64,
        connections: pool.open,
        idle: pool.idle,
        connects: pool.connects,
        reuses: pool.reuses,
    }
}
