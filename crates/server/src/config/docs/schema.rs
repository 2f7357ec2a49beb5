//! A JSON schema (draft 2020-12) for editors that check TOML while one types.

use crate::config::keys;
use crate::config::kind::{Kind, Table, Unset};
use serde_json::{Map, Value, json};

const DURATION: &str = "^ *([0-9]+d *)?([0-9]+h *)?([0-9]+m *)?([0-9]+s *)?([0-9]+ms *)?$";
const SIZE: &str = "^ *[0-9]+ *([bB]|[kKmMgGtT][iI]?[bB])? *$";

/// The schema.
pub fn schema() -> Value {
    let mut top = table(&keys::ROOT);
    if let Some(top) = top.as_object_mut() {
        top.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        top.insert("title".to_owned(), json!("Samovar's configuration"));
    }
    top
}

fn table(table: &Table) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in table.keys() {
        let mut of_key = kind(&key.kind);
        if let Some(object) = of_key.as_object_mut() {
            object.insert("description".to_owned(), json!(key.text));
            if let Unset::Is(text) = key.default {
                object.insert("default".to_owned(), value(text));
            }
        }
        if matches!(key.default, Unset::Required) {
            required.push(key.name);
        }
        properties.insert(key.name.to_owned(), of_key);
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn kind(of: &Kind) -> Value {
    match of {
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Int(min, i64::MAX) => json!({ "type": "integer", "minimum": min }),
        Kind::Int(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Number(min, max) => json!({ "type": "number", "minimum": min, "maximum": max }),
        Kind::Duration(_) => json!({ "type": "string", "pattern": DURATION }),
        Kind::Size(min) => json!({ "anyOf": [
            { "type": "string", "pattern": SIZE },
            { "type": "integer", "minimum": min },
        ] }),
        Kind::Percent => json!({ "type": "string", "pattern": "^ *[0-9]{1,3} *%$" }),
        Kind::Text(format) => json!({ "type": "string", "minLength": 1, "title": format.describe() }),
        Kind::Word(words) => {
            let words: Vec<_> = words.iter().map(|(w, _)| *w).collect();
            json!({ "type": "string", "enum": words })
        }
        Kind::Many(each) => {
            let each = kind(each);
            json!({ "anyOf": [each, { "type": "array", "items": each }] })
        }
        Kind::Either(kinds) => json!({ "anyOf": kinds.iter().map(kind).collect::<Vec<_>>() }),
        Kind::Table(t) => table(t),
        Kind::Tables(t) => json!({ "type": "array", "items": table(t) }),
        Kind::Map(_, format) => json!({
            "type": "object",
            "additionalProperties": { "type": "string", "minLength": 1, "title": format.describe() },
        }),
    }
}

/// A default as JSON.
fn value(text: &str) -> Value {
    let wrapped = format!("v = {text}");
    let parsed: Result<toml::Table, _> = wrapped.parse();
    parsed.ok().and_then(|t| serde_json::to_value(t.get("v")?).ok()).unwrap_or(Value::Null)
}
