//! The routes of the admin API, and the OpenAPI document made of them.

use super::guard::Guard;
use super::hosts;
use super::shapes::{
    Changed, EntryShape, ExplainAsk, LimitShape, ListAsk, PurgeAsk, PurgeReceipt, Refusal, RuleAdd, RuleMove,
    RuleSet, RuleShape, ShowAsk, SiteAsk, TraceAsk, entry,
};
use super::{compression, explain, limits, metrics};
use crate::clock;
use crate::config::{self, Position};
use crate::state::{Others, Shared};
use axum::extract::{Path, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use samovar_cache::Scope;
use std::sync::Arc;
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

type App = Arc<Shared>;

/// An error: status and words.
pub struct Fail(StatusCode, String);

impl Fail {
    /// What was asked for cannot be done; in words.
    pub fn bad(message: String) -> Fail {
        Fail(StatusCode::BAD_REQUEST, message)
    }
}

impl IntoResponse for Fail {
    fn into_response(self) -> Response {
        (self.0, Json(Refusal { error: self.1 })).into_response()
    }
}

fn bad(message: impl ToString) -> Fail {
    Fail(StatusCode::BAD_REQUEST, message.to_string())
}

#[derive(OpenApi)]
#[openapi(info(
    title = "Samovar admin API",
    description = "See what is cached and why, change rules, purge."
))]
struct Document;

/// Most entries or records of one answer.
const LIST_MAX: usize = 100_000;

/// The whole admin side as one router.
pub fn router(shared: App, guard: Guard) -> Router {
    let (router, document) = OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(status))
        .routes(routes!(limit_list))
        .routes(routes!(compression_told))
        .routes(routes!(cache_list))
        .routes(routes!(cache_show))
        .routes(routes!(purge))
        .routes(routes!(trace_list))
        .routes(routes!(trace_show))
        .routes(routes!(explain_url))
        .routes(routes!(rule_list, rule_add))
        .routes(routes!(rule_set, rule_remove))
        .routes(routes!(rule_move))
        .routes(routes!(super::upstreams::upstream_list))
        .routes(routes!(super::upstreams::upstream_set))
        .routes(routes!(super::upstreams::member_set))
        .routes(routes!(reload))
        .routes(routes!(metrics_text))
        .split_for_parts();
    let document = document.to_pretty_json().unwrap_or_default();
    let serve = move || async move { ([(header::CONTENT_TYPE, "application/json")], document) };
    router
        .route("/v1/openapi.json", axum::routing::get(serve))
        .fallback(|| async {
            Fail(StatusCode::NOT_FOUND, "there is no such call; /v1/openapi.json lists them".into())
        })
        .layer(middleware::from_fn_with_state(Arc::new(guard), check))
        .with_state(shared)
}

async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    match guard.check(request.method(), request.headers()) {
        Ok(()) => as_refusal(next.run(request).await).await,
        Err(why) => Fail(StatusCode::FORBIDDEN, why.to_string()).into_response(),
    }
}

/// A body or query that axum refused by itself is answered like any other refusal.
async fn as_refusal(response: Response) -> Response {
    let media = response.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
    if !response.status().is_client_error() || !media.starts_with("text/plain") {
        return response;
    }
    let status = response.status();
    let text = axum::body::to_bytes(response.into_body(), 64 * 1024).await.unwrap_or_default();
    Fail(status, String::from_utf8_lossy(&text).into_owned()).into_response()
}

/// What runs, since when, and how it fares.
#[utoipa::path(get, path = "/v1/status", responses((status = 200, description = "Figures", body = serde_json::Value)))]
async fn status(State(app): State<App>) -> Json<serde_json::Value> {
    Json(metrics::status(&app))
}

/// Every limit in force, who says so, and how much of it is used.
#[utoipa::path(get, path = "/v1/limits", responses((status = 200, body = Vec<LimitShape>)))]
async fn limit_list(State(app): State<App>) -> Json<Vec<LimitShape>> {
    Json(limits::limits(&app).await)
}

/// What compression did: bytes before and after by media type and coding, and what it cost.
#[utoipa::path(get, path = "/v1/compression",
    responses((status = 200, description = "Figures", body = serde_json::Value)))]
async fn compression_told(State(app): State<App>) -> Json<serde_json::Value> {
    Json(compression::told(&app))
}

/// The entries of the memory and hot tiers.
#[utoipa::path(get, path = "/v1/cache", params(ListAsk), responses((status = 200, body = Vec<EntryShape>)))]
async fn cache_list(State(app): State<App>, Query(ask): Query<ListAsk>) -> Json<Vec<EntryShape>> {
    let now = clock::now();
    let listed = app.cache.list(&ask.filter, ask.limit.unwrap_or(LIST_MAX).min(LIST_MAX));
    let mut entries: Vec<EntryShape> = listed.iter().map(|l| entry(&l.entry, now)).collect();
    entries.sort_by(|a, b| b.hits.cmp(&a.hits).then_with(|| a.url.cmp(&b.url)));
    Json(entries)
}

/// Every variant of one URL.
#[utoipa::path(get, path = "/v1/cache/entry", params(ShowAsk),
    responses((status = 200, body = Vec<EntryShape>), (status = 400, body = Refusal)))]
async fn cache_show(
    State(app): State<App>,
    Query(ask): Query<ShowAsk>,
) -> Result<Json<Vec<EntryShape>>, Fail> {
    let now = clock::now();
    let mut entries = Vec::new();
    for url in hosts::urls(&app, &ask.url) {
        entries.extend(app.cache.of_url(&key_url(&app, &url)?).iter().map(|e| entry(e, now)));
    }
    Ok(Json(entries))
}

fn key_url(app: &App, url: &str) -> Result<String, Fail> {
    let snapshot = app.snapshot();
    let headers = http::HeaderMap::new();
    match samovar_rules::url_key(&snapshot.settings.sites, url, &headers) {
        Ok(routed) => Ok(routed.key.url().to_string()),
        Err((why, detail)) => Err(bad(format!("{url}: {}: {detail}", samovar_reason::Explain::text(why)))),
    }
}

/// A prefix in the spelling of keys: its host as the site writes it, its path normalised.
fn key_prefix(app: &App, prefix: &str) -> Result<String, Fail> {
    if prefix.is_empty() {
        return Err(bad("an empty prefix means everything: say `all`"));
    }
    let snapshot = app.snapshot();
    let routed = samovar_rules::url_key(&snapshot.settings.sites, prefix, &http::HeaderMap::new()).map_err(
        |(why, detail)| bad(format!("{prefix}: {}: {detail}", samovar_reason::Explain::text(why))),
    )?;
    let query = routed.query.as_ref().map(|q| format!("?{q}")).unwrap_or_default();
    let scheme = if prefix.starts_with("https:") { "https" } else { "http" };
    Ok(format!("{scheme}://{}{}{query}", routed.host, routed.path))
}

/// Takes answers out; from the moment this returns they answer nothing.
#[utoipa::path(post, path = "/v1/purge", request_body = PurgeAsk,
    responses((status = 200, body = PurgeReceipt), (status = 400, body = Refusal)))]
async fn purge(State(app): State<App>, Json(ask): Json<PurgeAsk>) -> Result<Json<PurgeReceipt>, Fail> {
    let given = [ask.url.is_some(), ask.prefix.is_some(), ask.tag.is_some(), ask.all];
    if given.iter().filter(|g| **g).count() != 1 {
        return Err(bad("purge what? give exactly one of `url`, `prefix`, `tag`, `all`"));
    }
    let mut urls = Vec::new();
    for url in ask.url.iter().flat_map(|url| hosts::urls(&app, url)) {
        urls.push(key_url(&app, &url)?);
    }
    let mut prefixes = Vec::new();
    if ask.prefix.as_ref().is_some_and(String::is_empty) {
        return Err(bad("an empty prefix means everything: say `all`"));
    }
    for prefix in ask.prefix.iter().flat_map(|prefix| hosts::urls(&app, prefix)) {
        let prefix = key_prefix(&app, &prefix)?;
        // Under `ignore_case` keys are in lower case; a prefix may cover rules with and without.
        let lower = Some(prefix.to_lowercase()).filter(|lower| *lower != prefix);
        prefixes.extend([prefix].into_iter().chain(lower));
    }
    let scopes: Vec<Scope<'_>> = match &ask.tag {
        Some(tag) => vec![Scope::Tag(tag)],
        None if ask.all => vec![Scope::All],
        None => urls
            .iter()
            .map(|url| Scope::Url(url))
            .chain(prefixes.iter().map(|prefix| Scope::Prefix(prefix)))
            .collect(),
    };
    let text = match (urls.first(), prefixes.first(), &ask.tag) {
        (Some(url), ..) => format!("url {url}"),
        (_, Some(prefix), _) => format!("prefix {prefix}"),
        (_, _, Some(tag)) => format!("tag {tag}"),
        _ => "everything".to_string(),
    };
    let mut receipts = scopes.into_iter().map(|scope| app.cache.purge(scope, ask.soft));
    let Some(mut receipt) = receipts.next() else { return Err(bad("there is nothing to purge by")) };
    for more in receipts {
        receipt.sequence = more.sequence;
        receipt.entries += more.entries;
        receipt.bytes += more.bytes;
        receipt.fills += more.fills;
    }
    Ok(Json(PurgeReceipt {
        sequence: receipt.sequence,
        entries: receipt.entries,
        bytes: receipt.bytes,
        fills: receipt.fills,
        scope: text,
    }))
}

/// The last records, newest first.
#[utoipa::path(get, path = "/v1/trace", params(TraceAsk), responses((status = 200, body = Vec<serde_json::Value>)))]
async fn trace_list(
    State(app): State<App>,
    Query(ask): Query<TraceAsk>,
) -> Result<Json<Vec<serde_json::Value>>, Fail> {
    let limit = ask.limit.unwrap_or(20).min(LIST_MAX);
    let after = ask.after.as_deref().map(parse_id).transpose()?;
    let mut records = app.records(limit, |ring| ring.last(limit, ask.reason.as_deref(), ask.url.as_deref()));
    records.retain(|r| after.is_none_or(|id| r.id > id));
    Ok(Json(records.iter().map(|r| samovar_trace::json(r)).collect()))
}

fn parse_id(text: &str) -> Result<u64, Fail> {
    u64::from_str_radix(text, 16).map_err(|_| bad(format!("{text:?} is no request id: 16 hex digits")))
}

/// One request's record.
#[utoipa::path(get, path = "/v1/trace/{id}", params(("id" = String, Path, description = "16 hex digits")),
    responses((status = 200, body = serde_json::Value), (status = 404, body = Refusal)))]
async fn trace_show(State(app): State<App>, Path(id): Path<String>) -> Result<Json<serde_json::Value>, Fail> {
    let number = parse_id(&id)?;
    match app.record(number) {
        Some(record) => Ok(Json(samovar_trace::json(&record))),
        None => Err(Fail(
            StatusCode::NOT_FOUND,
            format!(
                "no record of request {id}: it never was, or it was long ago (raise `[log] traces` to keep more)"
            ),
        )),
    }
}

/// What would happen to a request, or (live) what did.
#[utoipa::path(post, path = "/v1/explain", request_body = ExplainAsk,
    responses((status = 200, body = serde_json::Value), (status = 400, body = Refusal)))]
async fn explain_url(
    State(app): State<App>,
    Json(ask): Json<ExplainAsk>,
) -> Result<Json<serde_json::Value>, Fail> {
    explain::explain(&app, &ask).await.map(Json).map_err(bad)
}

/// The rules of a site.
#[utoipa::path(get, path = "/v1/rules", params(SiteAsk),
    responses((status = 200, body = Vec<RuleShape>), (status = 400, body = Refusal)))]
async fn rule_list(State(app): State<App>, Query(ask): Query<SiteAsk>) -> Result<Json<Vec<RuleShape>>, Fail> {
    rules(&app, &ask.site).map(Json)
}

fn rules(app: &App, site: &str) -> Result<Vec<RuleShape>, Fail> {
    let (text, file) = (app.text(), app.file().is_some());
    let listed = config::list_rules(&text, site).map_err(bad)?;
    Ok(listed
        .into_iter()
        .map(|r| RuleShape { site: r.site, id: r.id, line: file.then_some(r.line), words: r.words })
        .collect())
}

/// Adds a rule, in the file and in force.
#[utoipa::path(post, path = "/v1/rules", request_body = RuleAdd,
    responses((status = 200, body = Changed), (status = 400, body = Refusal)))]
async fn rule_add(State(app): State<App>, Json(ask): Json<RuleAdd>) -> Result<Json<Changed>, Fail> {
    let at = position(ask.at.as_deref().unwrap_or("last"))?;
    if ask.words.iter().all(|word| word.ends_with('=')) {
        return Err(bad(
            "a rule of no keys would match everything and wish nothing; give at least one KEY=VALUE",
        ));
    }
    let edit = config::rule_from_words(&ask.words).map_err(bad)?;
    change(&app, &ask.site, |text| config::add_rule(text, &ask.site, &edit, &at).map_err(|e| e.to_string()))
}

/// Changes a rule, in the file and in force.
#[utoipa::path(patch, path = "/v1/rules/{id}", params(("id" = String, Path, description = "The rule")),
    request_body = RuleSet, responses((status = 200, body = Changed), (status = 400, body = Refusal)))]
async fn rule_set(
    State(app): State<App>,
    Path(id): Path<String>,
    Json(ask): Json<RuleSet>,
) -> Result<Json<Changed>, Fail> {
    let edit = config::rule_from_words(&ask.words).map_err(bad)?;
    change(&app, &ask.site, |text| config::set_rule(text, &ask.site, &id, &edit).map_err(|e| e.to_string()))
}

/// Removes a rule, from the file and from force.
#[utoipa::path(delete, path = "/v1/rules/{id}", params(("id" = String, Path, description = "The rule"), SiteAsk),
    responses((status = 200, body = Changed), (status = 400, body = Refusal)))]
async fn rule_remove(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(ask): Query<SiteAsk>,
) -> Result<Json<Changed>, Fail> {
    change(&app, &ask.site, |text| config::remove_rule(text, &ask.site, &id).map_err(|e| e.to_string()))
}

/// Moves a rule: the first that matches is the one that counts.
#[utoipa::path(post, path = "/v1/rules/{id}/move", params(("id" = String, Path, description = "The rule")),
    request_body = RuleMove, responses((status = 200, body = Changed), (status = 400, body = Refusal)))]
async fn rule_move(
    State(app): State<App>,
    Path(id): Path<String>,
    Json(ask): Json<RuleMove>,
) -> Result<Json<Changed>, Fail> {
    let to = position(&ask.to)?;
    change(&app, &ask.site, |text| config::move_rule(text, &ask.site, &id, &to).map_err(|e| e.to_string()))
}

fn change(
    app: &App,
    site: &str,
    edit: impl Fn(&str) -> Result<String, String>,
) -> Result<Json<Changed>, Fail> {
    // Rules are named by their place if by nothing else, so the answer lists those of the whole file.
    let warnings = app.edit(Others::Taken, edit).map_err(bad)?;
    let kept = app.file().is_some();
    Ok(Json(Changed { warnings, epoch: app.epoch(), kept, rules: rules(app, site)? }))
}

fn position(text: &str) -> Result<Position, Fail> {
    let mut words = text.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some("first"), None, None) => Ok(Position::First),
        (Some("last"), None, None) => Ok(Position::Last),
        (Some("before"), Some(id), None) => Ok(Position::Before(id.to_string())),
        (Some("after"), Some(id), None) => Ok(Position::After(id.to_string())),
        (Some(number), None, None) => match number.parse() {
            Ok(at) if at > 0 => Ok(Position::At(at)),
            _ => Err(bad(format!(
                "{text:?} is no place: `first`, `last`, `before ID`, `after ID`, or a number from 1"
            ))),
        },
        _ => Err(bad(format!(
            "{text:?} is no place: `first`, `last`, `before ID`, `after ID`, or a number from 1"
        ))),
    }
}

/// Reads the configuration file again; whole or not at all.
#[utoipa::path(post, path = "/v1/reload", responses((status = 200, body = Changed), (status = 400, body = Refusal)))]
async fn reload(State(app): State<App>) -> Result<Json<Changed>, Fail> {
    let warnings = app.reload().map_err(bad)?;
    // Several sites have several lists; the answer tells of the change, not of all of them.
    let rules = rules(&app, "").unwrap_or_default();
    Ok(Json(Changed { warnings, epoch: app.epoch(), kept: app.file().is_some(), rules }))
}

/// Prometheus.
#[utoipa::path(get, path = "/metrics", responses((status = 200, description = "OpenMetrics text", body = String)))]
async fn metrics_text(State(app): State<App>) -> Response {
    (
        [(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")],
        metrics::text(&app),
    )
        .into_response()
}
