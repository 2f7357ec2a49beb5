//! What a key is: the words with which `keys/` declares each key once.
//!
//! From a declaration come the check of a file (`tree.rs`), `samovar init`, the reference and the schema
//! (`docs/`), and the words of `samovar rule` (`edit/`). Not here: any key.

use super::format::Format;

/// The type of a key's value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number within bounds, both included.
    Int(i64, i64),
    /// A number within bounds, both included.
    Number(f64, f64),
    /// A duration, at least so many milliseconds.
    Duration(u64),
    /// A size, at least so many bytes.
    Size(u64),
    /// A percentage.
    Percent,
    /// A text.
    Text(Format),
    /// One of a closed list of words, each explained.
    Word(&'static [(&'static str, &'static str)]),
    /// One value or a list of them.
    Many(&'static Kind),
    /// One of several kinds; the first that takes the value.
    Either(&'static [Kind]),
    /// A table.
    Table(&'static Table),
    /// Tables in double brackets.
    Tables(&'static Table),
    /// A table whose keys are free.
    Map(Format, Format),
}

/// What holds where a key is not written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unset {
    /// This value, in TOML.
    Is(&'static str),
    /// What these words say.
    Absent(&'static str),
    /// It must be written.
    Required,
}

/// One key, declared once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Its name.
    pub name: &'static str,
    /// The type of its value.
    pub kind: Kind,
    /// What holds without it.
    pub default: Unset,
    /// What it does: sentences for people.
    pub text: &'static str,
    /// A value worth trying, in TOML.
    pub example: &'static str,
}

/// One table, with the keys that may stand in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    /// As it is written: `[hot]`, `[[site.rule]]`, or for inline tables the place: `handlers = [{ … }]`.
    pub title: &'static str,
    /// What it is for.
    pub text: &'static str,
    /// Its keys, in groups that tables may share.
    pub groups: &'static [&'static [Key]],
}

impl Key {
    /// A key that must be written; see [`Key::or`] and [`Key::absent`].
    pub(crate) const fn new(
        name: &'static str,
        kind: Kind,
        text: &'static str,
        example: &'static str,
    ) -> Key {
        Key { name, kind, default: Unset::Required, text, example }
    }

    /// With a default value, in TOML.
    pub(crate) const fn or(mut self, value: &'static str) -> Key {
        self.default = Unset::Is(value);
        self
    }

    /// May be left out; the words say what holds then.
    pub(crate) const fn absent(mut self, words: &'static str) -> Key {
        self.default = Unset::Absent(words);
        self
    }
}

impl Table {
    /// All keys in the order of declaration.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        let groups: &'static [&'static [Key]] = self.groups;
        groups.iter().flat_map(|g| g.iter())
    }

    /// The key of this name.
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys().find(|k| k.name == name)
    }
}

impl Kind {
    /// What it is, with an example, to be read after "wants".
    pub(crate) fn describe(&self) -> String {
        match self {
            Kind::Bool => "true or false".to_owned(),
            Kind::Int(min, max) => format!("a whole number {}", bounds(*min, *max, i64::MAX)),
            Kind::Number(min, max) => format!("a number from {min} to {max}"),
            Kind::Duration(_) => "a duration like \"10s\", \"250ms\" or \"1h30m\"".to_owned(),
            Kind::Size(_) => "a size like \"4 GiB\" or \"256 KiB\"".to_owned(),
            Kind::Percent => "a share like \"25%\"".to_owned(),
            Kind::Text(format) => format.describe().to_owned(),
            Kind::Word(words) => one_of(words),
            Kind::Many(Kind::Text(Format::Any)) => "a text or a list of texts".to_owned(),
            Kind::Many(kind) => format!("{}, or a list of such", kind.describe()),
            Kind::Either(kinds) => kinds.iter().map(Kind::describe).collect::<Vec<_>>().join(", or "),
            Kind::Table(table) => {
                let keys: Vec<_> = table.keys().map(|k| format!("`{}`", k.name)).collect();
                format!("a table with {}", keys.join(", "))
            }
            Kind::Tables(table) => format!("tables, each begun with {}", table.title),
            Kind::Map(key, value) => format!("a table from {} to {}", key.describe(), value.describe()),
        }
    }

    /// True if a value of this kind is written as a table of its own in the reference.
    pub(crate) fn table(&self) -> Option<&'static Table> {
        match self {
            Kind::Table(t) | Kind::Tables(t) => Some(t),
            Kind::Many(k) => k.table(),
            Kind::Either(kinds) => kinds.iter().find_map(Kind::table),
            _ => None,
        }
    }

    /// True if values of this TOML type may be of this kind.
    pub(crate) fn takes(&self, toml_type: &str) -> bool {
        match self {
            Kind::Bool => toml_type == "boolean",
            Kind::Int(..) => toml_type == "integer",
            Kind::Number(..) => matches!(toml_type, "integer" | "float"),
            Kind::Size(_) => matches!(toml_type, "integer" | "string"),
            Kind::Duration(_) | Kind::Percent | Kind::Text(_) | Kind::Word(_) => toml_type == "string",
            Kind::Many(kind) => toml_type == "array" || kind.takes(toml_type),
            Kind::Either(kinds) => kinds.iter().any(|k| k.takes(toml_type)),
            Kind::Table(_) | Kind::Map(..) => toml_type == "table",
            Kind::Tables(_) => toml_type == "array",
        }
    }
}

fn bounds(min: i64, max: i64, open: i64) -> String {
    if max == open { format!("of at least {min}") } else { format!("from {min} to {max}") }
}

fn one_of(words: &[(&str, &str)]) -> String {
    let quoted: Vec<_> = words.iter().map(|(w, _)| format!("\"{w}\"")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
