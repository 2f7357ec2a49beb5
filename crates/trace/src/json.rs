//! A record as JSON, version 1: what the admin API gives and `--json` prints. Keys are added, never renamed.
//!
//! Not here: log lines (`log`), what people read (`text`).

use crate::clock::civil;
use crate::facts::{Told, tell};
use crate::redact::{redact, redact_url};
use crate::types::{Record, Tier};
use serde_json::{Map, Value, json};

/// A record as JSON. Secrets are redacted here once more, whatever the record holds.
pub fn json(record: &Record) -> Value {
    json!({
        "v": 1,
        "id": format!("{:016x}", record.id),
        "at": civil(record.at_wall_ms).of_machines(),
        "at_ms": record.at_wall_ms,
        "client": &*record.client,
        "method": &*record.method,
        "url": redact_url(&record.url),
        "version": record.version,
        "status": record.status,
        "body_bytes": record.body_bytes,
        "tier": tier_word(record.tier),
        "cache": record.cache,
        "reason": record.reason,
        "first_byte_us": record.first_byte_us,
        "total_us": record.total_us,
        "referer": record.referer.as_deref().map(redact_url),
        "user_agent": record.user_agent,
        "request_fields": fields(record),
        "facts": record.facts.iter().map(|fact| fact_json(tell(fact))).collect::<Vec<_>>(),
    })
}

/// The word of a tier in JSON, logs and metrics.
pub(crate) fn tier_word(tier: Tier) -> &'static str {
    match tier {
        Tier::Hot => "hot",
        Tier::Memory => "memory",
        Tier::Origin => "origin",
        Tier::Own => "own",
    }
}

fn fields(record: &Record) -> Vec<Value> {
    record.request_fields.iter().map(|(name, value)| json!([name, redact(name, value)])).collect()
}

fn fact_json(told: Told) -> Value {
    let mut map = Map::new();
    map.insert("fact".into(), told.fact.into());
    map.insert("code".into(), told.code.into());
    map.insert("text".into(), told.text.into());
    if !told.detail.is_empty() {
        map.insert("detail".into(), told.detail.into());
    }
    if !told.mend.is_empty() {
        map.insert("mend".into(), told.mend.into());
    }
    for (name, value) in told.data {
        map.insert(name.into(), value);
    }
    Value::Object(map)
}
