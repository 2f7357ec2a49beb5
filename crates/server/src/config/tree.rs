//! A TOML tree held against the declared keys: what comes out has the right names and types.
//!
//! Every value keeps the bytes it stands at. A value that was refused stays in the tree as `Invalid`, so that one
//! mistake does not look like several. Not here: TOML's syntax (`read.rs`), what values mean together (`lower/`).

use super::diag::{Code, Diagnostic, Notes};
use super::format::Format;
use super::kind::{Key, Kind, Table, Unset};
use super::suggest::nearest;
use super::units;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::de::{DeArray, DeTable, DeValue};

/// A place in the text, bytes.
pub(crate) type Span = Range<usize>;

/// A value that its key takes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Number(f64),
    /// A duration, ms.
    Millis(u64),
    /// A size, bytes.
    Bytes(u64),
    /// A percentage.
    Percent(u8),
    /// A text in its format.
    Text(String),
    /// One of the words of its key.
    Word(&'static str),
    /// A list, also where one value was written alone.
    List(Vec<Node>),
    /// A table.
    Table(Checked),
    /// A table with free keys, in the order of the text.
    Map(Vec<(String, Span, Node)>),
    /// It was refused, a message says why.
    Invalid,
}

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// The value.
    pub value: Value,
    /// Where it stands.
    pub span: Span,
}

/// A table all of whose keys are known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Checked {
    /// Where it begins.
    pub span: Span,
    entries: BTreeMap<&'static str, (Span, Node)>,
    title: &'static str,
    keys: Keys,
}

/// The declaration a table was checked against, compared by its title.
#[derive(Clone, Copy, Debug)]
struct Keys(&'static Table);

impl PartialEq for Keys {
    fn eq(&self, other: &Keys) -> bool {
        self.0.title == other.0.title
    }
}

/// Checks a table against its declaration.
pub(crate) fn check_table(
    table: &DeTable<'_>,
    span: Span,
    keys: &'static Table,
    notes: &mut Notes,
) -> Checked {
    let mut entries = BTreeMap::new();
    for (name, value) in table {
        let Some(key) = keys.key(name.get_ref()) else {
            notes.push(unknown_key(name.get_ref(), name.span(), keys));
            continue;
        };
        let node = check(value.get_ref(), value.span(), &key.kind, key.name, notes);
        entries.insert(key.name, (name.span(), node));
    }
    for key in keys.keys() {
        if matches!(key.default, Unset::Required) && !entries.contains_key(key.name) {
            // The top's own keys are needed for reasons of their own; `lower` says which.
            if keys.title != "(top)" {
                notes.push(missing(key, span.clone(), keys.title));
            }
        }
    }
    Checked { span, entries, title: keys.title, keys: Keys(keys) }
}

/// Checks one value. `name` is the key it belongs to.
pub(crate) fn check(value: &DeValue<'_>, span: Span, kind: &Kind, name: &str, notes: &mut Notes) -> Node {
    let value = check_value(value, &span, kind, name, notes);
    Node { value, span }
}

fn check_value(value: &DeValue<'_>, span: &Span, kind: &Kind, name: &str, notes: &mut Notes) -> Value {
    match (kind, value) {
        (Kind::Either(kinds), _) => check_either(value, span, kinds, kind, name, notes),
        (Kind::Many(each), DeValue::Array(list)) => check_list(list, each, name, notes),
        (Kind::Many(each), _) => Value::List(vec![check(value, span.clone(), each, name, notes)]),
        (Kind::Tables(table), DeValue::Array(list)) => check_list(list, &Kind::Table(table), name, notes),
        (Kind::Tables(keys), DeValue::Table(_)) => {
            let d = Diagnostic::error(
                Code::WrongType,
                span.clone(),
                format!("`{name}` can be given several times"),
            );
            notes.push(d.hint(format!("write two brackets: `{}`", keys.title)));
            Value::Invalid
        }
        (Kind::Table(keys), DeValue::Table(table)) => {
            Value::Table(check_table(table, span.clone(), keys, notes))
        }
        (Kind::Map(key, each), DeValue::Table(table)) => check_map(table, *key, *each, name, notes),
        _ => check_scalar(value, span, kind, name, notes),
    }
}

fn check_list(list: &DeArray<'_>, each: &Kind, name: &str, notes: &mut Notes) -> Value {
    Value::List(list.iter().map(|v| check(v.get_ref(), v.span(), each, name, notes)).collect())
}

fn check_map(table: &DeTable<'_>, key: Format, each: Format, name: &str, notes: &mut Notes) -> Value {
    let mut pairs = Vec::new();
    for (k, v) in table {
        if let Err(complaint) = key.check(k.get_ref()) {
            let message = format!("the name {} {}", quoted(k.get_ref()), complaint.what);
            notes.push(Diagnostic::error(Code::BadValue, k.span(), message).maybe_hint(complaint.hint));
            continue;
        }
        pairs.push((
            k.get_ref().to_string(),
            k.span(),
            check(v.get_ref(), v.span(), &Kind::Text(each), name, notes),
        ));
    }
    pairs.sort_by_key(|(_, span, _)| span.start);
    Value::Map(pairs)
}

/// The first kind that takes the value; else the message of the one that is meant, or of all together.
fn check_either(
    value: &DeValue<'_>,
    span: &Span,
    kinds: &[Kind],
    whole: &Kind,
    name: &str,
    notes: &mut Notes,
) -> Value {
    let mut refusals = Vec::new();
    for kind in kinds.iter().filter(|k| k.takes(value.type_str())) {
        let mut own = Notes::default();
        let value = check_value(value, span, kind, name, &mut own);
        if !own.has_errors() {
            return value;
        }
        refusals.push((own, value));
    }
    let Some((mut own, value)) = refusals.pop() else {
        return wrong_type(value, span, whole, name, notes);
    };
    // The last kind is the general one (a text after a word); the others are what may stand here instead.
    let others: Vec<_> = kinds.iter().rev().skip(1).rev().map(Kind::describe).collect();
    if let (Some(d), false) = (own.all.last_mut(), refusals.is_empty()) {
        let hint = d.hint.take().map_or_else(String::new, |h| format!("{h}; "));
        d.hint = Some(format!("{hint}`{name}` also takes {}", others.join(", or ")));
    }
    notes.all.append(&mut own.all);
    value
}

fn check_scalar(value: &DeValue<'_>, span: &Span, kind: &Kind, name: &str, notes: &mut Notes) -> Value {
    match (kind, value) {
        (Kind::Bool, DeValue::Boolean(b)) => Value::Bool(*b),
        (Kind::Int(min, max), DeValue::Integer(i)) => match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(n) if (*min..=*max).contains(&n) => Value::Int(n),
            _ => bad(span, format!("{i} is out of bounds"), Some(wants(name, kind)), notes),
        },
        (Kind::Number(min, max), DeValue::Integer(_) | DeValue::Float(_)) => match number(value) {
            Some(n) if (*min..=*max).contains(&n) => Value::Number(n),
            _ => bad(span, "the number is out of bounds".to_owned(), Some(wants(name, kind)), notes),
        },
        (Kind::Size(min), DeValue::Integer(i)) => match u64::from_str_radix(i.as_str(), i.radix()) {
            Ok(n) => at_least(n, *min, span, Value::Bytes, units::show_size, notes),
            Err(_) => bad(span, format!("{i} is no size"), Some(wants(name, kind)), notes),
        },
        (_, DeValue::String(text)) => check_text(text, span, kind, name, notes),
        _ => wrong_type(value, span, kind, name, notes),
    }
}

fn check_text(text: &str, span: &Span, kind: &Kind, name: &str, notes: &mut Notes) -> Value {
    let measured = |why: String| (format!("{} {why}", quoted(text)), Some(wants(name, kind)));
    let (message, hint) = match kind {
        Kind::Duration(min) => match units::duration_ms(text) {
            Ok(ms) => return at_least(ms, *min, span, Value::Millis, units::show_duration, notes),
            Err(why) => measured(why),
        },
        Kind::Size(min) => match units::size_bytes(text) {
            Ok(n) => return at_least(n, *min, span, Value::Bytes, units::show_size, notes),
            Err(why) => measured(why),
        },
        Kind::Percent => match units::percent(text) {
            Ok(n) => return Value::Percent(n),
            Err(why) => measured(why),
        },
        Kind::Text(format) => match format.check(text) {
            Ok(()) => return Value::Text(text.to_owned()),
            Err(c) => {
                (format!("{} {}", quoted(text), c.what), Some(c.hint.unwrap_or_else(|| wants(name, kind))))
            }
        },
        Kind::Word(words) => match words.iter().find(|(w, _)| *w == text) {
            Some((word, _)) => return Value::Word(word),
            None => return unknown_word(text, span, words, name, notes),
        },
        _ => {
            let message = format!("`{name}` wants {}, not a text", kind.describe());
            notes.push(
                Diagnostic::error(Code::WrongType, span.clone(), message).maybe_hint(unquote(text, kind)),
            );
            return Value::Invalid;
        }
    };
    bad(span, message, hint, notes)
}

fn at_least(
    n: u64,
    min: u64,
    span: &Span,
    make: fn(u64) -> Value,
    show: fn(u64) -> String,
    notes: &mut Notes,
) -> Value {
    if n >= min {
        return make(n);
    }
    let what =
        if n == 0 { "zero makes no sense here".to_owned() } else { format!("{} is too small", show(n)) };
    bad(span, what, Some(format!("at least {}", show(min))), notes)
}

fn unknown_word(text: &str, span: &Span, words: &[(&str, &str)], name: &str, notes: &mut Notes) -> Value {
    let d = Diagnostic::error(
        Code::UnknownWord,
        span.clone(),
        format!("`{name}` knows no word {}", quoted(text)),
    );
    let known: Vec<_> = words.iter().map(|(w, t)| format!("\"{w}\" ({t})")).collect();
    let meant = nearest(text, words.iter().map(|(w, _)| *w)).map(|w| format!("did you mean \"{w}\"? "));
    notes.push(d.hint(format!("{}it knows {}", meant.unwrap_or_default(), known.join(", "))));
    Value::Invalid
}

fn bad(span: &Span, message: String, hint: Option<String>, notes: &mut Notes) -> Value {
    notes.push(Diagnostic::error(Code::BadValue, span.clone(), message).maybe_hint(hint));
    Value::Invalid
}

fn wrong_type(value: &DeValue<'_>, span: &Span, kind: &Kind, name: &str, notes: &mut Notes) -> Value {
    let found = match value.type_str() {
        "integer" => "a whole number",
        "float" => "a number with a fraction",
        "boolean" => "true or false",
        "datetime" => "a date",
        "array" => "a list",
        "table" => "a table",
        _ => "a text",
    };
    let message = format!("`{name}` wants {}, not {found}", kind.describe());
    let hint = match (kind, value) {
        (Kind::Duration(_), DeValue::Integer(i)) => Some(format!("with a unit: `{name} = \"{i}s\"`")),
        (Kind::Text(_) | Kind::Word(_), DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_)) => {
            Some("put it in quotes".to_owned())
        }
        _ => None,
    };
    notes.push(Diagnostic::error(Code::WrongType, span.clone(), message).maybe_hint(hint));
    Value::Invalid
}

/// `"true"` where `true` is meant.
fn unquote(text: &str, kind: &Kind) -> Option<String> {
    let fits = match kind {
        Kind::Bool => matches!(text, "true" | "false"),
        Kind::Int(..) => text.parse::<i64>().is_ok(),
        Kind::Number(..) => text.parse::<f64>().is_ok(),
        _ => false,
    };
    fits.then(|| format!("without quotes: {text}"))
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(i) => i64::from_str_radix(i.as_str(), i.radix()).ok().map(|n| n as f64),
        DeValue::Float(f) => f.as_str().parse().ok(),
        _ => None,
    }
}

fn wants(name: &str, kind: &Kind) -> String {
    format!("`{name}` wants {}", kind.describe())
}

/// The text in quotes, cut where it is long.
fn quoted(text: &str) -> String {
    let mut cut: String = text.chars().take(60).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    format!("{cut:?}")
}

fn unknown_key(name: &str, span: Span, table: &'static Table) -> Diagnostic {
    let place =
        if table.title == "(top)" { "at the top".to_owned() } else { format!("in `{}`", table.title) };
    let d = Diagnostic::error(Code::UnknownKey, span, format!("unknown key {} {place}", quoted(name)));
    let near = nearest(name, table.keys().map(|k| k.name)).map(|known| format!("did you mean `{known}`?"));
    let elsewhere = elsewhere(name, table, near.is_none());
    match (near, elsewhere) {
        (Some(near), Some(other)) => d.hint(format!("{near} Or {other}?")),
        (Some(near), None) => d.hint(near),
        (None, Some(other)) => d.hint(format!("did you mean {other}?")),
        (None, None) => {
            let known: Vec<_> = table.keys().map(|k| k.name).collect();
            d.hint(format!("known here: {}", known.join(", ")))
        }
    }
}

/// Where a name is known that is not known in `table`: the same key in another table, one that the table's name was put
/// before or behind (`access_log` for `access` in `[log]`), or else, where `guess`, one that is nearly the same.
fn elsewhere(name: &str, table: &'static Table, guess: bool) -> Option<String> {
    const SHOWN: usize = 3;
    let others = || super::keys::ALL.iter().filter(|other| !std::ptr::eq(**other, table));
    let shown = |(other, key): (&Table, &str)| match other.title {
        "(top)" => format!("`{key}` at the top"),
        title => format!("`{key}` in `{title}`"),
    };
    let same = || others().filter(|other| other.key(name).is_some()).map(|other| (*other, name));
    let split = || {
        others().filter_map(|other| {
            let of = other.title.trim_matches(['[', ']']);
            let rest = name.strip_prefix(of).and_then(|rest| rest.strip_prefix(['_', '.']));
            let rest = rest.or_else(|| name.strip_suffix(of).and_then(|rest| rest.strip_suffix('_')));
            Some((*other, rest.and_then(|rest| other.key(rest))?.name))
        })
    };
    let like = || others().filter_map(|other| Some((*other, nearest(name, other.keys().map(|k| k.name))?)));
    let found: Vec<(&Table, &str)> = same().chain(split()).take(SHOWN).collect();
    let found = if found.is_empty() && guess { like().take(1).collect() } else { found };
    (!found.is_empty()).then(|| found.into_iter().map(shown).collect::<Vec<_>>().join(" or "))
}

fn missing(key: &Key, span: Span, title: &str) -> Diagnostic {
    let message = format!("`{}` is missing in `{title}`", key.name);
    Diagnostic::error(Code::MissingKey, span, message)
        .hint(format!("for example `{} = {}`", key.name, key.example))
}

impl Checked {
    /// A table with nothing in it: all defaults.
    pub(crate) fn empty(keys: &'static Table) -> Checked {
        Checked { span: 0..0, entries: BTreeMap::new(), title: keys.title, keys: Keys(keys) }
    }

    /// The node of a key that was written.
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        debug_assert!(self.keys.0.key(name).is_some(), "{name} is not declared in {}", self.title);
        self.entries.get(name).map(|(_, node)| node)
    }

    /// Where the key was written.
    pub(crate) fn key_span(&self, name: &str) -> Option<Span> {
        self.entries.get(name).map(|(span, _)| span.clone())
    }

    /// True if the key was written, even wrongly.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The default of a key as it is declared.
    pub(crate) fn declared(&self, name: &str) -> Option<Value> {
        let key = self.keys.0.key(name)?;
        let Unset::Is(text) = key.default else { return None };
        let parsed = DeValue::parse(text).ok()?;
        Some(check_value(parsed.get_ref(), &(0..0), &key.kind, name, &mut Notes::default()))
    }

    /// The value of a key: as written, else its default.
    pub(crate) fn value(&self, name: &str) -> Option<Value> {
        match self.get(name) {
            Some(node) if node.value != Value::Invalid => Some(node.value.clone()),
            _ => self.declared(name),
        }
    }
}

impl Node {
    /// The parts of a list.
    pub(crate) fn list(&self) -> &[Node] {
        match &self.value {
            Value::List(l) => l,
            _ => &[],
        }
    }

    /// A text or a word.
    pub(crate) fn text(&self) -> Option<&str> {
        self.value.text()
    }

    /// A table.
    pub(crate) fn table(&self) -> Option<&Checked> {
        match &self.value {
            Value::Table(t) => Some(t),
            _ => None,
        }
    }
}

impl Value {
    /// A text or a word.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Value::Text(t) => Some(t),
            Value::Word(w) => Some(w),
            _ => None,
        }
    }

    /// The texts of a list.
    pub(crate) fn texts(&self) -> Vec<&str> {
        match self {
            Value::List(l) => l.iter().filter_map(Node::text).collect(),
            _ => Vec::new(),
        }
    }

    /// A whole number, a duration in ms or a size in bytes.
    pub(crate) fn amount(&self) -> Option<u64> {
        match self {
            Value::Int(n) => u64::try_from(*n).ok(),
            Value::Millis(n) | Value::Bytes(n) => Some(*n),
            _ => None,
        }
    }

    /// `true` or `false`.
    pub(crate) fn bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }
}
