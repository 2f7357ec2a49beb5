//! Where a value in force stands in the text of the configuration.
//!
//! Not here: what the value is (`settings`), and what the command line put over it (`state`).

use super::read;
use super::render::place;
use toml::de::{DeTable, DeValue};

/// The line of a key of a table, counted from 1; `None` if the text does not have it, and a default holds. Of tables
/// of which there are several, `name` says which.
pub fn line_of(text: &str, table: &str, name: Option<&str>, key: &str) -> Option<usize> {
    let tree = read::tree_of(text).ok()?;
    let found = tree.get(table)?.get_ref();
    let table = match name {
        None => found.as_table()?,
        Some(wanted) => named(found, wanted)?,
    };
    let (name, _) = table.iter().find(|(name, _)| name.get_ref() == key)?;
    Some(place(text, name.span().start).line)
}

/// The line of a key that a member of an upstream has of its own; members are counted from 0.
pub fn line_of_member(text: &str, upstream: &str, member: usize, key: &str) -> Option<usize> {
    let tree = read::tree_of(text).ok()?;
    let members = named(tree.get("upstream")?.get_ref(), upstream)?.get("members")?.get_ref();
    let table = match members.as_array() {
        Some(all) => all.get(member)?.get_ref().as_table()?,
        None => members.as_table().filter(|_| member == 0)?,
    };
    let (name, _) = table.iter().find(|(name, _)| name.get_ref() == key)?;
    Some(place(text, name.span().start).line)
}

/// Of several tables the one with this name.
fn named<'t, 'i>(tables: &'t DeValue<'i>, wanted: &str) -> Option<&'t DeTable<'i>> {
    let mut each = tables.as_array()?.iter().filter_map(|item| item.get_ref().as_table());
    each.find(|item| item.get("name").and_then(|name| name.get_ref().as_str()) == Some(wanted))
}

/// The line of a key of a site (by its name, else its first host), or of one of its rules (by its id, else its place).
pub fn line_of_rule(text: &str, site: &str, rule: Option<&str>, key: &str) -> Option<usize> {
    let tree = read::tree_of(text).ok()?;
    let tables = |found: &DeValue<'_>| -> Option<usize> { Some(found.as_array()?.len()) };
    let sites = tree.get("site")?.get_ref();
    let count = tables(sites)?;
    let said = |table: &DeTable<'_>, key: &str| -> Option<String> {
        let value = table.get(key)?.get_ref();
        let first = value.as_array().and_then(|list| list.first()).map(|item| item.get_ref());
        first.unwrap_or(value).as_str().map(str::to_owned)
    };
    let found = sites.as_array()?.iter().filter_map(|item| item.get_ref().as_table()).find(|table| {
        let named = said(table, "name").or_else(|| said(table, "hosts"));
        named.as_deref() == Some(site) || (count == 1 && named.is_none())
    })?;
    let table = match rule {
        None => found,
        Some(id) => {
            let rules = found.get("rule")?.get_ref().as_array()?;
            let named = |(at, item): (usize, &toml::Spanned<DeValue<'_>>)| {
                let own = item.get_ref().as_table().and_then(|rule| said(rule, "id"));
                own.unwrap_or_else(|| format!("r{}", at + 1)) == id
            };
            let at = rules.iter().enumerate().position(named)?;
            rules.get(at)?.get_ref().as_table()?
        }
    };
    let (name, _) = table.iter().find(|(name, _)| name.get_ref() == key)?;
    Some(place(text, name.span().start).line)
}

#[cfg(test)]
mod tests {
    use super::{line_of, line_of_member};

    #[test]
    fn a_key_of_a_member_is_its_own() {
        let text = "[[upstream]]\nname = \"a\"\nmax_connections = 8\nmembers = [\n  { url = \"x\" },\n  \
                    { url = \"y\", max_connections = 8 },\n]\n[[upstream]]\nname = \"b\"\nmembers = { max_connections = 1 }\n";
        let of = |upstream, member| line_of_member(text, upstream, member, "max_connections");
        assert_eq!([of("a", 0), of("a", 1), of("a", 2)], [None, Some(6), None]);
        assert_eq!([of("b", 0), of("b", 1), of("c", 0)], [Some(10), None, None]);
    }

    #[test]
    fn a_key_is_found_in_its_table_alone() {
        let text = "config = 1\n\n[limits]\n# many\nconnections_max = 7\n[memory]\nsize = \"1 GiB\"\n";
        assert_eq!(line_of(text, "limits", None, "connections_max"), Some(5));
        assert_eq!(line_of(text, "memory", None, "size"), Some(7));
        assert_eq!(line_of(text, "limits", None, "size"), None);
        assert_eq!(line_of(text, "log", None, "traces"), None);
        assert_eq!(line_of("= broken", "log", None, "traces"), None);
        let text = "[[upstream]]\nname = \"a\"\n[[upstream]]\nname = \"b\"\nmax_connections = 3\n";
        assert_eq!(line_of(text, "upstream", Some("b"), "max_connections"), Some(5));
        assert_eq!(line_of(text, "upstream", Some("a"), "max_connections"), None);
    }
}
