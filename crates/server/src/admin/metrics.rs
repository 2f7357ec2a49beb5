//! Figures: for Prometheus (names begin `samovar_`) and for people.

use crate::metrics::{CoreCounters, Counter, LATENCY_BOUNDS_US};
use crate::state::{Shared, Snapshot};
use crate::upstream::MemberState;
use samovar_reason::{Explain, Gate, Reject};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A counter's value over all cores.
fn sum(app: &Shared, pick: impl Fn(&CoreCounters) -> &Counter) -> u64 {
    app.counters.iter().map(|c| pick(c).get()).sum()
}

type Pick = fn(&CoreCounters) -> &Counter;

/// Requests by what the cache did.
const BY_CACHE: [(&str, Pick); 11] = [
    ("hot", |c| &c.hot),
    ("hit", |c| &c.hit),
    ("stale", |c| &c.stale),
    ("revalidated", |c| &c.revalidated),
    ("joined", |c| &c.joined),
    ("miss", |c| &c.miss),
    ("pass", |c| &c.pass),
    ("gone", |c| &c.gone),
    ("own", |c| &c.own),
    ("error", |c| &c.error),
    ("rejected", |c| &c.rejected),
];

/// Refusals by reason, those there were none of apart.
fn rejects(app: &Shared) -> impl Iterator<Item = (&'static str, u64)> {
    let count = |why| app.counters.iter().map(|core| core.by_reject.get(why)).sum::<u64>();
    Reject::ALL.iter().map(move |why| (why.code(), count(*why))).filter(|(_, n)| *n > 0)
}

/// The same for what rules did not let in.
fn gates(app: &Shared) -> impl Iterator<Item = (&'static str, u64)> {
    let count = |why| app.counters.iter().map(|core| core.by_gate.get(why)).sum::<u64>();
    Gate::ALL.iter().map(move |why| (why.code(), count(*why))).filter(|(_, n)| *n > 0)
}

/// The OpenMetrics text.
pub fn text(app: &Shared) -> String {
    let mut out = String::with_capacity(4096);
    let mut head = |name: &str, kind: &str, help: &str, rows: &[(String, f64)]| {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        let suffix = if kind == "counter" { "_total" } else { "" };
        for (labels, value) in rows {
            let _ = writeln!(out, "{name}{suffix}{labels} {value}");
        }
    };
    let one = |value: u64| vec![(String::new(), value as f64)];
    let rows: Vec<_> = BY_CACHE
        .iter()
        .map(|(name, pick)| (format!("{{cache=\"{name}\"}}"), sum(app, pick) as f64))
        .collect();
    head("samovar_requests", "counter", "Requests by what the cache did.", &rows);
    let rows: Vec<_> = (0..5)
        .map(|i| {
            let hot = match i {
                1 => sum(app, |c| &c.hot).saturating_sub(sum(app, |c| &c.hot_not_modified)),
                2 => sum(app, |c| &c.hot_not_modified),
                _ => 0,
            };
            let class: u64 = app.counters.iter().filter_map(|c| c.classes.get(i)).map(Counter::get).sum();
            (format!("{{class=\"{}xx\"}}", i + 1), (class + hot) as f64)
        })
        .collect();
    head("samovar_responses", "counter", "Answers by class of status.", &rows);
    let bytes = sum(app, |c| &c.sent_bytes) + sum(app, |c| &c.hot_bytes);
    head("samovar_body_bytes", "counter", "Body bytes sent.", &one(bytes));
    head(
        "samovar_responses_cut",
        "counter",
        "Answers that broke off: at the origin, or because the client took no more.",
        &one(sum(app, |c| &c.cut)),
    );
    let rows: Vec<_> = gates(app).map(|(code, n)| (format!("{{reason=\"{code}\"}}"), n as f64)).collect();
    head("samovar_gate", "counter", "Requests that a rule did not let in, by reason.", &rows);
    let rows: Vec<_> = rejects(app).map(|(code, n)| (format!("{{reason=\"{code}\"}}"), n as f64)).collect();
    head(
        "samovar_rejects",
        "counter",
        "Requests refused, and connections turned away or closed at a limit, by reason.",
        &rows,
    );
    head("samovar_connections_accepted", "counter", "Connections accepted.", &one(sum(app, |c| &c.accepted)));
    head("samovar_connections", "gauge", "Connections open.", &one(super::limits::connections(app)));
    let upgraded = sum(app, |c| &c.upgraded);
    let text = "Connections that have changed to another protocol (WebSocket).";
    head("samovar_connections_upgraded", "gauge", text, &one(upgraded));
    let most = app.snapshot().settings.limits.connections_max as u64;
    head("samovar_connections_limit", "gauge", "Connections there may be.", &one(most));
    let stats = app.cache.stats();
    head("samovar_cache_entries", "gauge", "Answers stored in memory.", &one(stats.entries));
    head(
        "samovar_cache_used_bytes",
        "gauge",
        "Bytes of the memory budget that answers and their hot copies take.",
        &one(stats.used_bytes),
    );
    head("samovar_cache_limit_bytes", "gauge", "The memory budget.", &one(stats.limit_bytes));
    let parts: Vec<_> = super::limits::memory_parts(app)
        .iter()
        .map(|(part, bytes)| (format!("{{part=\"{part}\"}}"), *bytes as f64))
        .collect();
    head("samovar_memory_bytes", "gauge", "Bytes of the memory budget that are taken, by part.", &parts);
    head(
        "samovar_hot_entries",
        "gauge",
        "Prepared answers, on all cores.",
        &one(sum(app, |c| &c.hot_entries)),
    );
    head(
        "samovar_hot_heads_bytes",
        "gauge",
        "What the keys and heads of prepared answers take, on all cores.",
        &one(sum(app, |c| &c.hot_heads_bytes)),
    );
    head(
        "samovar_hot_evictions",
        "counter",
        "Prepared answers that left for others.",
        &one(sum(app, |c| &c.hot_evictions)),
    );
    head("samovar_cache_evictions", "counter", "Answers that left for room.", &one(stats.evictions));
    head("samovar_cache_stored", "counter", "Answers stored.", &one(stats.stored));
    head("samovar_cache_purges", "counter", "Purges.", &one(stats.purges));
    head("samovar_cache_fills", "gauge", "Fetches for the cache under way.", &one(stats.fills));
    head("samovar_access_log_dropped", "counter", "Log lines lost.", &one(app.access_log.dropped()));
    let lost = "Lines to standard error lost, those of the access log apart.";
    head("samovar_notices_dropped", "counter", lost, &one(crate::stderr::dropped()));
    head("samovar_config_epoch", "gauge", "Grows with each change of the configuration.", &one(app.epoch()));
    let started = app.started_wall_ms as f64 / 1_000.0;
    head("samovar_start_time_seconds", "gauge", "When the process started.", &[(String::new(), started)]);
    upstreams(app, &mut head);
    super::compression::metrics(app, &mut head);
    histogram(app, &mut out);
    out.push_str("# EOF\n");
    out
}

fn upstreams(app: &Shared, head: &mut Head<'_>) {
    let snapshot = app.snapshot();
    let stats: Vec<_> = snapshot.upstreams().iter().map(|u| (u.settings().name.clone(), u.stats())).collect();
    let label = |name: &str| format!("{{upstream=\"{}\"}}", escaped(name));
    let rows = |pick: &dyn Fn(&samovar_origin::PoolStats) -> u64| -> Vec<(String, f64)> {
        stats.iter().map(|(name, s)| (label(name), pick(s) as f64)).collect()
    };
    head("samovar_upstream_connections_idle", "gauge", "Idle connections.", &rows(&|s| s.idle as u64));
    head("samovar_upstream_requests_busy", "gauge", "Requests under way.", &rows(&|s| s.busy as u64));
    head(
        "samovar_upstream_requests_waiting",
        "gauge",
        "Requests waiting for a connection.",
        &rows(&|s| s.waiting as u64),
    );
    head("samovar_upstream_connects", "counter", "Connections made.", &rows(&|s| s.connects));
    head("samovar_upstream_reuses", "counter", "Requests on a connection used before.", &rows(&|s| s.reuses));
    let refused = "Requests that found no connection and no room to wait, or waited too long.";
    head("samovar_upstream_refused", "counter", refused, &rows(&|s| s.refused));
    members(&snapshot, head);
    bounds(&snapshot, head);
}

type Head<'h> = dyn FnMut(&str, &str, &str, &[(String, f64)]) + 'h;

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn members(snapshot: &Snapshot, head: &mut Head<'_>) {
    let states: Vec<_> = snapshot.upstreams().iter().map(|u| u.view()).collect();
    let all: Vec<(String, &MemberState)> = states
        .iter()
        .flat_map(|state| state.members.iter().map(move |member| (&state.name, member)))
        .map(|(name, member)| {
            let (name, own) = (escaped(name), escaped(&member.view.member.name));
            (format!("{{upstream=\"{name}\",member=\"{own}\"}}"), member)
        })
        .collect();
    let rows = |pick: &dyn Fn(&MemberState) -> f64| -> Vec<(String, f64)> {
        all.iter().map(|(label, member)| (label.clone(), pick(member))).collect()
    };
    let usable = |m: &MemberState| if m.view.unusable.is_none() { 1.0 } else { 0.0 };
    head("samovar_member_usable", "gauge", "1 if it may be chosen.", &rows(&usable));
    head(
        "samovar_member_elected",
        "counter",
        "Requests it was chosen for.",
        &rows(&|m| m.view.elected as f64),
    );
    head("samovar_member_busy", "gauge", "Requests under way on it.", &rows(&|m| m.view.busy as f64));
    head("samovar_member_errors", "counter", "Attempts that failed on it.", &rows(&|m| m.view.errors as f64));
    head(
        "samovar_member_retried",
        "counter",
        "Of them repeated elsewhere.",
        &rows(&|m| m.view.retried as f64),
    );
    head(
        "samovar_member_ejections",
        "counter",
        "Times it was set aside.",
        &rows(&|m| m.view.ejections as f64),
    );
    head("samovar_member_sent_bytes", "counter", "Bytes to it.", &rows(&|m| m.to_bytes as f64));
    head("samovar_member_received_bytes", "counter", "Bytes from it.", &rows(&|m| m.from_bytes as f64));
    let latency = "Time to the beginning of an answer: the worst of late, forgotten little by little.";
    head("samovar_member_latency_seconds", "gauge", latency, &rows(&|m| m.view.latency_us / 1e6));
}

fn bounds(snapshot: &Snapshot, head: &mut Head<'_>) {
    let stats: Vec<_> = snapshot.gates().all().iter().map(|named| (named, named.gate.stats())).collect();
    let rows = |pick: &dyn Fn(&samovar_origin::GateStats) -> u64| -> Vec<(String, f64)> {
        let label = |named: &crate::upstream::NamedGate| format!("{{of=\"{}\"}}", escaped(&named.shown()));
        stats.iter().map(|(named, s)| (label(named), pick(s) as f64)).collect()
    };
    head("samovar_limit_busy", "gauge", "Requests of a site or rule under way.", &rows(&|s| s.busy as u64));
    head("samovar_limit_waiting", "gauge", "Waiting before them.", &rows(&|s| s.waiting as u64));
    head("samovar_limit_queued", "counter", "Requests that had to wait.", &rows(&|s| s.queued));
    head("samovar_limit_refused", "counter", "Refused.", &rows(&|s| s.full + s.late));
}

fn histogram(app: &Shared, out: &mut String) {
    let name = "samovar_first_byte_seconds";
    let _ = writeln!(
        out,
        "# HELP {name} From a request's head to its answer's, hot answers apart.\n# TYPE {name} histogram"
    );
    let mut below = 0;
    for (i, bound) in LATENCY_BOUNDS_US
        .iter()
        .map(|us| format!("{}", *us as f64 / 1e6))
        .chain(["+Inf".to_string()])
        .enumerate()
    {
        below += app.counters.iter().filter_map(|c| c.first_byte.get(i)).map(Counter::get).sum::<u64>();
        let _ = writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {below}");
    }
    let total = sum(app, |c| &c.first_byte_sum_us) as f64 / 1e6;
    let _ = writeln!(out, "{name}_sum {total}\n{name}_count {below}");
}

/// What the cache was good for.
#[derive(Debug, PartialEq)]
struct Saved {
    /// Of the requests that the cache or the origin answered, the part for which nobody had to wait for the origin; `None`
    /// before the first.
    hit_ratio: Option<f64>,
    /// Requests that the origin would have been asked as well. Stale responses are not counted: each may have cost a refresh.
    origin_requests: u64,
}

/// Of requests by what the cache did.
fn saved(count: &dyn Fn(&str) -> u64) -> Saved {
    let fresh = count("hot") + count("hit");
    let hits = fresh + count("stale");
    let all = hits + count("revalidated") + count("joined") + count("miss") + count("pass");
    Saved { hit_ratio: (all > 0).then(|| hits as f64 / all as f64), origin_requests: fresh + count("joined") }
}

/// The same for people and tools, in one object.
pub fn status(app: &Shared) -> Value {
    let stats = app.cache.stats();
    let snapshot = app.snapshot();
    let requests: serde_json::Map<String, Value> =
        BY_CACHE.iter().map(|(name, pick)| ((*name).to_string(), sum(app, pick).into())).collect();
    let saved = saved(&|name| requests.get(name).and_then(Value::as_u64).unwrap_or(0));
    json!({
        "v": 1,
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "started_ms": app.started_wall_ms,
        "listen": app.addresses.get().cloned().unwrap_or_default(),
        "workers": app.counters.len(),
        "epoch": app.epoch(),
        "sites": snapshot.settings.sites.sites.iter().map(|s| s.name.to_string()).collect::<Vec<_>>(),
        "requests": requests,
        "hit_ratio": saved.hit_ratio,
        "origin_requests_saved": saved.origin_requests,
        "rejects": rejects(app).map(|(code, n)| (code.to_string(), n.into())).collect::<serde_json::Map<_, Value>>(),
        "cache": {
            "entries": stats.entries, "used_bytes": stats.used_bytes,
            "beside_bytes": stats.beside_bytes, "limit_bytes": stats.limit_bytes,
            "evictions": stats.evictions, "stored": stats.stored, "purges": stats.purges, "fills": stats.fills,
        },
        "dropped_lines": { "access_log": app.access_log.dropped(), "notices": crate::stderr::dropped() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_cache_was_good_for() {
        let of = |counts: &[(&str, u64)]| {
            saved(&|name| counts.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n))
        };
        assert_eq!(of(&[]), Saved { hit_ratio: None, origin_requests: 0 });
        assert_eq!(of(&[("own", 5), ("error", 5), ("gone", 1), ("rejected", 1)]).hit_ratio, None);
        let all = of(&[
            ("hot", 40),
            ("hit", 10),
            ("stale", 10),
            ("revalidated", 5),
            ("joined", 15),
            ("miss", 10),
            ("pass", 10),
        ]);
        assert_eq!(all, Saved { hit_ratio: Some(0.6), origin_requests: 65 });
        assert_eq!(of(&[("pass", 3)]), Saved { hit_ratio: Some(0.0), origin_requests: 0 });
    }
}
