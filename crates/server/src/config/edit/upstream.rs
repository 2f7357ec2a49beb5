//! Changes to the members of an upstream, in a configuration's text.
//!
//! Not here: taking effect while the server runs (the running upstream is told as well), writing the file.

use super::{EditError, document, lift_comments, put_comments, replace};
use crate::config::{Loaded, TargetSettings, parse};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

/// What of a member is written: keys and values; `None` for a key that is left as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberEdit {
    /// Its share.
    pub weight: Option<u32>,
    /// Its set.
    pub set: Option<u32>,
    /// Whether it is a standby.
    pub standby: Option<bool>,
    /// Its route.
    pub route: Option<String>,
    /// `enabled`, `drain` or `disabled`.
    pub state: Option<&'static str>,
}

/// Writes keys of a member. It is found by its name, as its place in this text need not be its place in the one in force.
///
/// # Errors
/// See [`EditError`].
pub fn set_member(text: &str, upstream: &str, member: &str, edit: &MemberEdit) -> Result<String, EditError> {
    in_upstream(text, upstream, |loaded, table| {
        let missing = || EditError::NoMember(upstream.to_owned());
        let member = place_of(loaded, upstream, member).ok_or_else(missing)?;
        let members = table.get_mut("members").ok_or_else(missing)?;
        let found: Option<&mut dyn TableLike> = match members {
            Item::ArrayOfTables(tables) => tables.get_mut(member).map(|t| t as &mut dyn TableLike),
            Item::Value(Value::Array(list)) => {
                list.get_mut(member).and_then(Value::as_inline_table_mut).map(|t| t as &mut dyn TableLike)
            }
            Item::Value(Value::InlineTable(one)) if member == 0 => Some(one),
            _ => None,
        };
        let found = found.ok_or_else(missing)?;
        let pairs = [
            ("weight", edit.weight.map(|n| Value::from(i64::from(n)))),
            ("set", edit.set.map(|n| Value::from(i64::from(n)))),
            ("standby", edit.standby.map(Value::from)),
            ("route", edit.route.as_deref().map(Value::from)),
            ("state", edit.state.map(Value::from)),
        ];
        for (key, value) in pairs {
            let Some(value) = value else { continue };
            match found.get_mut(key) {
                Some(item) => replace(item, value),
                None => drop(found.insert(key, Item::Value(value))),
            }
        }
        // A key added behind the last leaves its blank before the comma; no comment can stand in such a table.
        if let Item::Value(Value::Array(list)) = members
            && let Some(table) = list.get_mut(member).and_then(Value::as_inline_table_mut)
        {
            table.fmt();
        }
        Ok(())
    })
}

/// Writes how a member is chosen.
///
/// # Errors
/// See [`EditError`].
pub fn set_balance(text: &str, upstream: &str, word: &'static str) -> Result<String, EditError> {
    in_upstream(text, upstream, |_, table| {
        match table.get_mut("balance") {
            Some(item) => replace(item, Value::from(word)),
            None => drop(table.insert("balance", Item::Value(Value::from(word)))),
        }
        Ok(())
    })
}

/// Which member of the text has this name, counted from 0.
fn place_of(loaded: &Loaded, upstream: &str, member: &str) -> Option<usize> {
    let upstreams = loaded.settings.targets.iter().filter_map(|target| match target {
        TargetSettings::Files(_) => None,
        TargetSettings::Http(upstream) => Some(upstream),
        TargetSettings::FastCgi(app) => Some(&app.upstream),
    });
    let found = upstreams.into_iter().find(|settings| settings.name == upstream)?;
    found.balance.members.iter().position(|one| one.name == member)
}

fn in_upstream(
    text: &str,
    upstream: &str,
    change: impl FnOnce(&Loaded, &mut Table) -> Result<(), EditError>,
) -> Result<String, EditError> {
    let windows = text.contains("\r\n");
    let text = if windows { text.replace("\r\n", "\n") } else { text.to_owned() };
    let loaded: Loaded = parse(&text, "(configuration)").map_err(EditError::Broken)?;
    let mut doc: DocumentMut = document(&text)?;
    let detached = lift_comments(doc.as_table_mut());
    let tables = doc.get_mut("upstream").and_then(Item::as_array_of_tables_mut);
    let named = |table: &&mut Table| table.get("name").and_then(Item::as_str) == Some(upstream);
    let found = tables.and_then(|tables| tables.iter_mut().find(named));
    change(&loaded, found.ok_or_else(|| EditError::NoMember(upstream.to_owned()))?)?;
    let written = put_comments(doc, detached);
    let result = if windows { written.replace('\n', "\r\n") } else { written };
    parse(&result, "(configuration after the change)").map_err(EditError::Refused)?;
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "config = 1\n[[site]]\ndefault = true\nupstream = \"maps\"\n\n";

    #[test]
    fn members_in_one_list_keep_their_comments() {
        let text = format!(
            "{HEAD}# the maps\n[[upstream]]\nname = \"maps\"\nmembers = [\n  {{ url = \"http://a\", name = \"a\", weight = 1 }}, # old\n  {{ url = \"http://b\", name = \"b\" }},\n]\n"
        );
        let edit = MemberEdit { weight: Some(5), state: Some("drain"), ..MemberEdit::default() };
        let after = set_member(&text, "maps", "a", &edit).unwrap();
        assert_eq!(after, text.replace("weight = 1 }", "weight = 5, state = \"drain\" }"));
        let edit = MemberEdit { set: Some(1), standby: Some(true), ..MemberEdit::default() };
        let after = set_member(&text, "maps", "b", &edit).unwrap();
        assert!(after.contains("{ url = \"http://b\", name = \"b\", set = 1, standby = true }"), "{after}");
        let after = set_balance(&text, "maps", "latency").unwrap();
        assert!(after.contains("balance = \"latency\""), "{after}");
    }

    #[test]
    fn members_in_tables_of_their_own() {
        let text = format!(
            "{HEAD}[[upstream]]\nname = \"maps\"\n[[upstream.members]]\nurl = \"http://a\"\n[[upstream.members]]\nurl = \"http://b\"\nname = \"b\"\n"
        );
        let edit = MemberEdit { route: Some("w2".into()), weight: Some(2), ..MemberEdit::default() };
        let after = set_member(&text, "maps", "b", &edit).unwrap();
        assert!(after.ends_with("url = \"http://b\"\nname = \"b\"\nweight = 2\nroute = \"w2\"\n"), "{after}");
    }

    #[test]
    fn what_is_not_there_is_said() {
        let text = format!(
            "{HEAD}[[upstream]]\nname = \"maps\"\nmembers = {{ url = \"http://a\", name = \"a\" }}\n"
        );
        let edit = MemberEdit { weight: Some(2), ..MemberEdit::default() };
        assert!(set_member(&text, "maps", "a", &edit).is_ok());
        assert!(matches!(set_member(&text, "maps", "b", &edit), Err(EditError::NoMember(_))));
        assert!(matches!(set_member(&text, "other", "a", &edit), Err(EditError::NoMember(_))));
    }
}
