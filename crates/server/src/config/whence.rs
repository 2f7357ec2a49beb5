//! Where a value in force stands in the text of the configuration.
//!
//! Not here: what the value is (`settings`), and what the command line put over it (`state`).

use super::read;
use super::render::place;

/// The line of a key of a table, counted from 1; `None` if the text does not have it, and a default holds. Of tables
/// of which there are several, `name` says which.
pub fn line_of(text: &str, table: &str, name: Option<&str>, key: &str) -> Option<usize> {
    let tree = read::tree_of(text).ok()?;
    let found = tree.get(table)?.get_ref();
    let table = match name {
        None => found.as_table()?,
        Some(wanted) => found
            .as_array()?
            .iter()
            .filter_map(|item| item.get_ref().as_table())
            .find(|item| item.get("name").and_then(|name| name.get_ref().as_str()) == Some(wanted))?,
    };
    let (name, _) = table.iter().find(|(name, _)| name.get_ref() == key)?;
    Some(place(text, name.span().start).line)
}

#[cfg(test)]
mod tests {
    use super::line_of;

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
