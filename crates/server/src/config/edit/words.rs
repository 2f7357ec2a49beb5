//! The words of `samovar rule add` and `set`: `extension=.jpg for=10s vary_headers=Accept-Language`.
//!
//! A value is TOML, or what is meant by it without quotes: the first reading that the key takes. Several values
//! are separated by commas. A key inside a table is written with a dot: `hot.threshold=3`. Nothing after the `=`
//! removes the key.

use crate::config::diag::{Diagnostic, Notes};
use crate::config::keys::RULE;
use crate::config::kind::{Key, Kind};
use crate::config::suggest::nearest;
use crate::config::tree::check;
use toml::de::DeValue;
use toml_edit::{Array, Value};

/// What is to be changed in a rule.
#[derive(Clone, Debug, Default)]
pub struct RuleEdit {
    pub(super) changes: Vec<Change>,
}

/// One key of it.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The key, and the key inside its table if one was named.
    pub(super) path: (&'static str, Option<String>),
    /// `None` removes it.
    pub(super) value: Option<Value>,
}

impl RuleEdit {
    /// True if nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// Reads the words of a command line.
///
/// # Errors
/// What is wrong with the first word that cannot be read, and what to write.
pub fn rule_from_words(words: &[String]) -> Result<RuleEdit, String> {
    let mut edit = RuleEdit::default();
    for word in words {
        let change = change(word)?;
        if edit.changes.iter().any(|c| c.path == change.path) {
            return Err(format!("`{}` is given twice", path_text(&change.path)));
        }
        edit.changes.push(change);
    }
    Ok(edit)
}

fn path_text(path: &(&str, Option<String>)) -> String {
    match path {
        (key, None) => (*key).to_owned(),
        (key, Some(inner)) => format!("{key}.{inner}"),
    }
}

fn change(word: &str) -> Result<Change, String> {
    let Some((name, text)) = word.split_once('=') else {
        let hint = match RULE.key(word) {
            Some(key) if matches!(key.kind, Kind::Bool) => format!("{word}=true"),
            Some(key) => format!("{word}={}", key.example.trim_matches('"')),
            None => "for=10s".to_owned(),
        };
        return Err(format!("{word:?} is no setting; write key=value, for example {hint}"));
    };
    let (name, text) = (name.trim(), text.trim());
    let (outer, inner) = match name.split_once('.') {
        Some((outer, inner)) => (outer, Some(inner)),
        None => (name, None),
    };
    let key = known(RULE.key(outer), outer, &RULE)?;
    let (key, path) = match inner {
        None => (key, (key.name, None)),
        Some(inner) if matches!(key.kind, Kind::Map(..)) => return entry(key, inner, text),
        Some(inner) => {
            let Some(table) = key.kind.table().filter(|_| !matches!(key.kind, Kind::Many(_))) else {
                return Err(format!("`{outer}` has no keys inside; write {outer}=VALUE"));
            };
            let inner = known(table.key(inner), inner, table)?;
            (inner, (key.name, Some(inner.name.to_owned())))
        }
    };
    if text.is_empty() {
        return Ok(Change { path, value: None });
    }
    Ok(Change { path, value: Some(value(key, text)?) })
}

/// A pair of a table whose keys are free: `error_pages.404=/errors/404.html`.
fn entry(key: &Key, inner: &str, text: &str) -> Result<Change, String> {
    let path = (key.name, Some(inner.trim_matches('"').to_owned()));
    if text.is_empty() {
        return Ok(Change { path, value: None });
    }
    let value = match text.parse::<Value>() {
        Ok(value @ Value::String(_)) => value,
        _ => Value::from(text),
    };
    let mut pair = toml_edit::InlineTable::new();
    pair.insert(path.1.as_deref().unwrap_or_default(), value.clone());
    accepted(key, &Value::InlineTable(pair))?;
    Ok(Change { path, value: Some(value) })
}

fn known(
    found: Option<&'static Key>,
    name: &str,
    table: &'static crate::config::kind::Table,
) -> Result<&'static Key, String> {
    found.ok_or_else(|| match nearest(name, table.keys().map(|k| k.name)) {
        Some(near) => format!("`{}` has no key {name:?}; did you mean `{near}`?", table.title),
        None => {
            let all: Vec<_> = table.keys().map(|k| k.name).collect();
            format!("`{}` has no key {name:?}; there are {}", table.title, all.join(", "))
        }
    })
}

/// The first reading that the key takes: TOML, a text, a list of either.
fn value(key: &Key, text: &str) -> Result<Value, String> {
    let as_toml = text.parse::<Value>().ok();
    let as_text = Value::from(text);
    let list: Array = text
        .split(',')
        .map(str::trim)
        .map(|part| {
            part.parse::<Value>().ok().filter(|v| !v.is_datetime()).unwrap_or_else(|| Value::from(part))
        })
        .collect();
    let texts: Array = text.split(',').map(str::trim).collect();
    // Which complaint is worth showing: that about TOML if it was clearly meant, else that about the text.
    let meant_toml = text.starts_with(['[', '{', '"', '\''])
        || text.parse::<f64>().is_ok()
        || matches!(text, "true" | "false");
    let mut complaint = None;
    for (reading, shown) in [
        (as_toml, meant_toml),
        (Some(as_text), !meant_toml),
        (Some(Value::Array(list)), false),
        (Some(Value::Array(texts)), false),
    ] {
        let Some(reading) = reading else { continue };
        match accepted(key, &reading) {
            Ok(()) => return Ok(reading),
            Err(why) if shown => complaint = Some(why),
            Err(_) => {}
        }
    }
    Err(complaint.unwrap_or_else(|| format!("`{}` wants {}, not {text:?}", key.name, key.kind.describe())))
}

fn accepted(key: &Key, value: &Value) -> Result<(), String> {
    let text = value.to_string();
    let parsed = DeValue::parse(text.trim()).map_err(|e| e.message().to_owned())?;
    let mut notes = Notes::default();
    check(parsed.get_ref(), 0..0, &key.kind, key.name, &mut notes);
    match notes.all.first() {
        None => Ok(()),
        Some(Diagnostic { message, hint: Some(hint), .. }) => Err(format!("{message}; {hint}")),
        Some(d) => Err(d.message.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toml(word: &str) -> String {
        let edit = rule_from_words(&[word.to_owned()]).unwrap();
        let change = &edit.changes[0];
        let value = change.value.as_ref().map_or("(removed)".to_owned(), |v| v.to_string().trim().to_owned());
        format!("{} = {value}", path_text(&change.path))
    }

    #[test]
    fn bare_words_become_toml() {
        let rows = [
            ("extension=.jpg", "extension = \".jpg\""),
            ("extension=.jpg,.png", "extension = [\".jpg\", \".png\"]"),
            ("extension=[\".jpg\"]", "extension = [\".jpg\"]"),
            ("for=10s", "for = \"10s\""),
            ("for=\"10s\"", "for = \"10s\""),
            ("never=true", "never = true"),
            ("vary_headers=Accept-Language", "vary_headers = \"Accept-Language\""),
            ("vary_headers={name=\"A\",lower=true}", "vary_headers = {name=\"A\",lower=true}"),
            ("vary_query=sorted", "vary_query = \"sorted\""),
            ("vary_query.keep=id,size", "vary_query.keep = [\"id\", \"size\"]"),
            ("hot=false", "hot = false"),
            ("hot.threshold=3", "hot.threshold = 3"),
            ("rate.requests=10", "rate.requests = 10"),
            ("rate={requests=10,per=\"1m\"}", "rate = {requests=10,per=\"1m\"}"),
            ("allow=10.0.0.0/8,::1", "allow = [\"10.0.0.0/8\", \"::1\"]"),
            ("rewrite=/new/{1}", "rewrite = \"/new/{1}\""),
            ("redirect.to=https://{host}{path}", "redirect.to = \"https://{host}{path}\""),
            ("redirect.status=301", "redirect.status = 301"),
            ("basic_auth=false", "basic_auth = false"),
            ("error_pages.404=/errors/404.html", "error_pages.404 = \"/errors/404.html\""),
            ("map_cookie_path./app=/", "map_cookie_path./app = \"/\""),
            ("error_pages.404=", "error_pages.404 = (removed)"),
            ("client_fields={set=\"X-A\",value=\"1\"}", "client_fields = {set=\"X-A\",value=\"1\"}"),
            ("only_status=200,404", "only_status = [200, 404]"),
            ("max_bytes=1 MiB", "max_bytes = \"1 MiB\""),
            ("max_bytes=1024", "max_bytes = 1024"),
            ("path=/a/b=c/**", "path = \"/a/b=c/**\""),
            ("method=GET,HEAD", "method = [\"GET\", \"HEAD\"]"),
            ("ignore_cookies=_ga*, _gid", "ignore_cookies = [\"_ga*\", \"_gid\"]"),
            ("id=123", "id = \"123\""),
            ("for=", "for = (removed)"),
        ];
        for (word, want) in rows {
            assert_eq!(toml(word), want, "{word}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_explained() {
        let rows = [
            ("exension=.jpg", "did you mean `extension`"),
            ("colour=red", "there are id, path"),
            ("for", "for=10s"),
            ("never", "never=true"),
            ("for=10", "\"10s\""),
            ("for=soon", "does not begin with a number"),
            ("vary_query=all", "\"as-is\""),
            ("hot.treshold=3", "did you mean `threshold`"),
            ("for.x=1", "has no keys inside"),
            ("path=/a[", "is not a path glob"),
            ("error_pages.200=/x", "status of an error"),
            ("error_pages.404=x", "slash"),
            ("rewrite=new", "slash"),
            ("allow=10.0.0.0/33", "10.0.0.0/8"),
            ("request_fields=X-A", "a table with"),
            ("hot={a", "hot"),
        ];
        for (word, want) in rows {
            let said = rule_from_words(&[word.to_owned()]).unwrap_err();
            assert!(said.contains(want), "{word}: {said}");
        }
        let twice = rule_from_words(&["for=1s".into(), "for=2s".into()]).unwrap_err();
        assert!(twice.contains("twice"));
    }
}
