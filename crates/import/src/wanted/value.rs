//! A value of the new file, and how it is spelt in TOML.

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(u64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// An inline table.
    Table(Vec<(String, Value)>),
}

impl Value {
    /// A text.
    pub(crate) fn text(text: impl Into<String>) -> Value {
        Value::Text(text.into())
    }

    /// A list of texts.
    pub(crate) fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Value {
        Value::List(texts.into_iter().map(Value::text).collect())
    }

    /// A duration of so many milliseconds.
    pub(crate) fn duration(ms: u64) -> Value {
        Value::Text(crate::spell::duration(ms))
    }

    /// A size of so many bytes.
    pub(crate) fn size(bytes: u64) -> Value {
        Value::Text(crate::spell::size(bytes))
    }

    /// A table.
    pub(crate) fn table<'k>(pairs: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
        Value::Table(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// Its texts, of a list or alone.
    pub(crate) fn as_texts(&self) -> Vec<&str> {
        match self {
            Value::Text(text) => vec![text],
            Value::List(list) => list.iter().flat_map(Value::as_texts).collect(),
            _ => Vec::new(),
        }
    }

    /// As TOML, on one line.
    pub(crate) fn toml(&self) -> String {
        match self {
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            // `{:?}` always has a point or an exponent, as a TOML float must.
            Value::Number(value) if value.is_finite() => format!("{value:?}"),
            Value::Number(_) => "0.0".to_owned(),
            Value::Text(text) => quoted(text),
            Value::List(list) => format!("[{}]", list.iter().map(Value::toml).collect::<Vec<_>>().join(", ")),
            Value::Table(pairs) => {
                let pair =
                    |(key, value): &(String, Value)| format!("{} = {}", bare_or_quoted(key), value.toml());
                format!("{{ {} }}", pairs.iter().map(pair).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

fn bare_or_quoted(key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { key.to_owned() } else { quoted(key) }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
