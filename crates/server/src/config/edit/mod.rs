//! Rules added, set, removed and moved in a configuration's text, with its comments and its order kept.
//!
//! The text must be accepted before and after; whatever would not be is refused whole. Comments directly above a
//! rule belong to it; those set apart by a blank line stay where they are. Not here: writing the file, taking
//! effect.

mod upstream;
mod words;

pub use upstream::{MemberEdit, set_balance, set_member};
pub use words::{RuleEdit, rule_from_words};

use super::keys::LIFETIMES;
use super::render::Report;
use super::{Loaded, parse};
use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value};
use words::Change;

/// Where a rule is put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// Before all others.
    First,
    /// After all others.
    Last,
    /// Before the rule of this id.
    Before(String),
    /// After the rule of this id.
    After(String),
    /// At this place, counted from 1.
    At(usize),
}

/// Why an edit was refused.
#[derive(Clone, Debug)]
pub enum EditError {
    /// The text itself is not accepted.
    Broken(Report),
    /// No such site; the known ones.
    NoSite(String, Vec<String>),
    /// No such rule; the known ones.
    NoRule(String, Vec<String>),
    /// The rules are written as a list of inline tables.
    Inline(String),
    /// The upstream, or this member of it, is not written in the file as one.
    NoMember(String),
    /// Nothing was asked for.
    Nothing,
    /// The result would not be accepted.
    Refused(Report),
}

impl std::fmt::Display for EditError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EditError::Broken(report) => write!(f, "the configuration has errors; mend them first\n{report}"),
            EditError::NoSite(name, known) if name.is_empty() => {
                write!(f, "there are several sites; name one of {}", known.join(", "))
            }
            EditError::NoSite(name, known) => {
                write!(f, "no site is named {name:?}; there are {}", known.join(", "))
            }
            EditError::NoRule(id, known) if known.is_empty() => {
                write!(f, "there is no rule {id:?}: the site has none")
            }
            EditError::NoRule(id, known) => {
                write!(f, "there is no rule {id:?}; there are {}", known.join(", "))
            }
            EditError::Inline(site) => {
                write!(
                    f,
                    "the rules of {site} are written as one list; write each as `[[site.rule]]` to edit them here"
                )
            }
            EditError::NoMember(upstream) => {
                write!(
                    f,
                    "the upstream {upstream} has no such member in the file; write it as `[[upstream]]` with `members`"
                )
            }
            EditError::Nothing => write!(f, "nothing to change; write key=value, for example for=10s"),
            EditError::Refused(report) => {
                write!(f, "nothing was changed, since the result would not be accepted\n{report}")
            }
        }
    }
}

impl std::error::Error for EditError {}

/// A rule as `samovar rule list` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRule {
    /// The site's name.
    pub site: String,
    /// The rule's id.
    pub id: String,
    /// Its line in the text, counted from 1.
    pub line: usize,
    /// Its keys as `key = value`, in the order of the text.
    pub words: Vec<String>,
}

/// Adds a rule to a site; an empty site name means the only one.
///
/// # Errors
/// See [`EditError`].
pub fn add_rule(text: &str, site: &str, rule: &RuleEdit, at: &Position) -> Result<String, EditError> {
    if rule.is_empty() {
        return Err(EditError::Nothing);
    }
    edit(text, site, |rules, ids| {
        let at = index_of(at, ids, ids.len())?;
        let mut table = like(rules);
        rule.changes.iter().for_each(|change| apply(&mut table, change));
        indent(&mut table, rules);
        rules.insert(at.min(rules.len()), table);
        Ok(())
    })
}

/// Changes keys of a rule. A lifetime policy takes the place of the one there was.
///
/// # Errors
/// See [`EditError`].
pub fn set_rule(text: &str, site: &str, id: &str, changes: &RuleEdit) -> Result<String, EditError> {
    if changes.is_empty() {
        return Err(EditError::Nothing);
    }
    edit(text, site, |rules, ids| {
        let at = rule_index(id, ids)?;
        let lead = key_lead(rules);
        let Some(table) = rules.get_mut(at) else {
            return Err(EditError::NoRule(id.to_owned(), ids.to_vec()));
        };
        for change in &changes.changes {
            let policy = LIFETIMES.contains(&change.path.0) && change.value.is_some();
            for other in LIFETIMES.iter().filter(|l| policy && **l != change.path.0) {
                table.remove(other);
            }
            let new = !table.contains_key(change.path.0);
            apply(table, change);
            if let (true, Some(mut key)) = (new, table.key_mut(change.path.0)) {
                key.leaf_decor_mut().set_prefix(lead.clone());
            }
        }
        Ok(())
    })
}

/// Removes a rule with the comments directly above it.
///
/// # Errors
/// See [`EditError`].
pub fn remove_rule(text: &str, site: &str, id: &str) -> Result<String, EditError> {
    edit(text, site, |rules, ids| {
        rules.remove(rule_index(id, ids)?);
        Ok(())
    })
}

/// Moves a rule to another place of its site.
///
/// # Errors
/// See [`EditError`].
pub fn move_rule(text: &str, site: &str, id: &str, to: &Position) -> Result<String, EditError> {
    edit(text, site, |rules, ids| {
        let from = rule_index(id, ids)?;
        // The place is meant as it will be seen afterwards, so it is looked up without the rule itself.
        let others: Vec<String> = ids.iter().filter(|i| i.as_str() != id).cloned().collect();
        let same = matches!(to, Position::Before(other) | Position::After(other) if other == id);
        let to = if same { from } else { index_of(to, &others, others.len())? };
        let mut table = rules.remove(from);
        forget_positions(&mut table);
        rules.insert(to.min(rules.len()), table);
        Ok(())
    })
}

/// The rules of a site as they are written, or of all sites if the name is empty.
///
/// # Errors
/// See [`EditError`].
pub fn list_rules(text: &str, site: &str) -> Result<Vec<ListedRule>, EditError> {
    let loaded = parse(text, "(configuration)").map_err(EditError::Broken)?;
    if !site.is_empty() {
        site_index(&loaded, site)?;
    }
    let doc: DocumentMut = document(text)?;
    let mut listed = Vec::new();
    for (at, of) in
        loaded.settings.sites.sites.iter().enumerate().filter(|(_, s)| site.is_empty() || *s.name == *site)
    {
        for (i, rule) in of.rules.iter().enumerate() {
            listed.push(ListedRule {
                site: of.name.to_string(),
                id: rule.id.to_string(),
                line: loaded.rule_line(&of.name, &rule.id).unwrap_or(0),
                words: words_of(&doc, at, i),
            });
        }
    }
    Ok(listed)
}

/// Both ways of writing lists of tables are read here.
fn words_of(doc: &DocumentMut, site: usize, rule: usize) -> Vec<String> {
    fn nth(item: &Item, at: usize) -> Option<&dyn toml_edit::TableLike> {
        match item {
            Item::ArrayOfTables(a) => a.get(at).map(|t| t as _),
            Item::Value(Value::Array(a)) => a.get(at).and_then(Value::as_inline_table).map(|t| t as _),
            _ => None,
        }
    }
    let found =
        doc.get("site").and_then(|s| nth(s, site)).and_then(|s| s.get("rule")).and_then(|r| nth(r, rule));
    let Some(table) = found else { return Vec::new() };
    let shown = |item: &Item| match item.clone().into_value() {
        Ok(mut value) => {
            value.decor_mut().clear();
            value.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
        }
        Err(_) => String::new(),
    };
    table.iter().map(|(key, item)| format!("{key} = {}", shown(item))).collect()
}

type Edit<'a> = &'a mut ArrayOfTables;

/// Runs one change on the rules of a site, between two checks of the whole text.
fn edit(
    text: &str,
    site: &str,
    change: impl FnOnce(Edit<'_>, &[String]) -> Result<(), EditError>,
) -> Result<String, EditError> {
    let windows = text.contains("\r\n");
    let text = if windows { text.replace("\r\n", "\n") } else { text.to_owned() };
    let loaded = parse(&text, "(configuration)").map_err(EditError::Broken)?;
    let at = site_index(&loaded, site)?;
    let Some(found) = loaded.settings.sites.sites.get(at) else {
        return Err(EditError::NoSite(site.to_owned(), Vec::new()));
    };
    let ids: Vec<String> = found.rules.iter().map(|r| r.id.to_string()).collect();
    let mut doc = document(&text)?;
    let detached = lift_comments(doc.as_table_mut());
    let inline = || EditError::Inline(found.name.to_string());
    let sites = doc.get_mut("site").and_then(Item::as_array_of_tables_mut).ok_or_else(inline)?;
    let table = sites.get_mut(at).ok_or_else(inline)?;
    let rules = table.entry("rule").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    if rules.as_array().is_some_and(toml_edit::Array::is_empty) {
        *rules = Item::ArrayOfTables(ArrayOfTables::new());
    }
    change(rules.as_array_of_tables_mut().ok_or_else(inline)?, &ids)?;
    let written = put_comments(doc, detached);
    let result = if windows { written.replace('\n', "\r\n") } else { written };
    parse(&result, "(configuration after the change)").map_err(EditError::Refused)?;
    Ok(result)
}

fn document(text: &str) -> Result<DocumentMut, EditError> {
    text.parse().map_err(|e: toml_edit::TomlError| {
        let d =
            super::Diagnostic::error(super::Code::Syntax, e.span().unwrap_or(0..0), e.message().to_owned());
        EditError::Broken(Report::new("(configuration)", text, vec![d]))
    })
}

fn site_index(loaded: &Loaded, site: &str) -> Result<usize, EditError> {
    let sites = &loaded.settings.sites.sites;
    let found = match (site, sites.len()) {
        ("", 1) => Some(0),
        _ => sites.iter().position(|s| *s.name == *site),
    };
    found
        .ok_or_else(|| EditError::NoSite(site.to_owned(), sites.iter().map(|s| s.name.to_string()).collect()))
}

fn rule_index(id: &str, ids: &[String]) -> Result<usize, EditError> {
    ids.iter().position(|i| i == id).ok_or_else(|| EditError::NoRule(id.to_owned(), ids.to_vec()))
}

fn index_of(at: &Position, ids: &[String], count: usize) -> Result<usize, EditError> {
    match at {
        Position::First => Ok(0),
        Position::Last => Ok(count),
        Position::Before(id) => rule_index(id, ids),
        Position::After(id) => rule_index(id, ids).map(|i| i + 1),
        Position::At(n) => Ok(n.saturating_sub(1).min(count)),
    }
}

/// Puts one change into a rule's table.
fn apply(table: &mut Table, change: &Change) {
    match ((change.path.0, change.path.1.as_deref()), &change.value) {
        ((key, None), None) => drop(table.remove(key)),
        ((key, None), Some(value)) => replace(table.entry(key).or_insert(Item::None), value.clone()),
        ((key, Some(inner)), value) => {
            let item = table.entry(key).or_insert(Item::None);
            if !item.is_table_like() {
                *item = Item::Value(Value::InlineTable(InlineTable::new()));
            }
            let Some(inside) = item.as_table_like_mut() else { return };
            match value {
                Some(value) => replace(inside.entry(inner).or_insert(Item::None), value.clone()),
                None => drop(inside.remove(inner)),
            }
            if inside.is_empty() {
                table.remove(key);
            }
        }
    }
}

/// A new value in the old one's place, with the comment behind it.
fn replace(item: &mut Item, mut value: Value) {
    if let Some(old) = item.as_value() {
        *value.decor_mut() = old.decor().clone();
    } else {
        value.decor_mut().clear();
    }
    *item = Item::Value(value);
}

/// An empty rule that begins as its sisters do.
fn like(rules: &ArrayOfTables) -> Table {
    let mut table = Table::new();
    let sister = rules.iter().last().and_then(|t| t.decor().prefix()).and_then(|p| p.as_str());
    table.decor_mut().set_prefix(format!("\n{}", last_line(sister.unwrap_or(""))));
    table
}

/// Gives all keys of a new rule the lead that keys of its sisters have.
fn indent(table: &mut Table, rules: &ArrayOfTables) {
    let lead = key_lead(rules);
    let names: Vec<String> = table.iter().map(|(k, _)| k.to_owned()).collect();
    for name in names {
        if let Some(mut key) = table.key_mut(&name) {
            key.leaf_decor_mut().set_prefix(lead.clone());
        }
    }
}

/// The white space before the keys of the last rule.
fn key_lead(rules: &ArrayOfTables) -> String {
    let last = rules.iter().last();
    let key = last.and_then(|t| t.iter().next().and_then(|(name, _)| t.key(name)));
    let prefix = key.and_then(|k| k.leaf_decor().prefix()).and_then(|p| p.as_str());
    last_line(prefix.unwrap_or("")).to_owned()
}

/// What stands after the last line feed, if it is white space only.
fn last_line(prefix: &str) -> &str {
    let line = prefix.rsplit('\n').next().unwrap_or("");
    if line.trim().is_empty() { line } else { "" }
}

/// Without positions a table is written where it stands in its list.
fn forget_positions(table: &mut Table) {
    each_table(table, &mut |t| t.set_position(None));
}

fn each_table(table: &mut Table, visit: &mut dyn FnMut(&mut Table)) {
    visit(table);
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(t) => each_table(t, visit),
            Item::ArrayOfTables(a) => a.iter_mut().for_each(|t| each_table(t, visit)),
            _ => {}
        }
    }
}

/// Comments set apart from the table below them by a blank line, with that table's place.
type Detached = Vec<(isize, String)>;

/// Takes such comments off their tables, so that they outlive them.
fn lift_comments(root: &mut Table) -> Detached {
    let mut detached = Vec::new();
    each_table(root, &mut |table| {
        let Some(position) = table.position() else { return };
        let Some(prefix) = table.decor().prefix().and_then(|p| p.as_str()).map(str::to_owned) else { return };
        let Some(at) = last_blank_line(&prefix) else { return };
        let (apart, own) = prefix.split_at(at);
        if apart.contains('#') {
            table.decor_mut().set_prefix(own.to_owned());
            detached.push((position, apart.to_owned()));
        }
    });
    detached
}

/// Where the last blank line begins.
fn last_blank_line(prefix: &str) -> Option<usize> {
    let mut at = 0;
    let mut found = None;
    for line in prefix.split_inclusive('\n') {
        if line.ends_with('\n') && line.trim().is_empty() {
            found = Some(at);
        }
        at += line.len();
    }
    found
}

/// Puts the comments back: to their table, else to the one that now follows, else to the end.
fn put_comments(mut doc: DocumentMut, mut detached: Detached) -> String {
    let mut places: Vec<isize> = Vec::new();
    each_table(doc.as_table_mut(), &mut |t| places.extend(t.position()));
    detached.sort_by_key(|(position, _)| *position);
    let mut last = String::new();
    for (position, comments) in detached.into_iter().rev() {
        match places.iter().copied().filter(|p| *p >= position).min() {
            Some(place) => each_table(doc.as_table_mut(), &mut |t| {
                if t.position() == Some(place) {
                    let own = t.decor().prefix().and_then(|p| p.as_str()).unwrap_or("").to_owned();
                    t.decor_mut().set_prefix(format!("{comments}{own}"));
                }
            }),
            None => last = format!("{comments}{last}"),
        }
    }
    if !last.is_empty() {
        let end = doc.trailing().as_str().unwrap_or("").to_owned();
        doc.set_trailing(format!("{last}{end}"));
    }
    doc.to_string()
}

#[cfg(test)]
mod tests;
