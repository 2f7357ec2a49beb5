//! Keys with their values, where they came from, and how those of an outer scope go together with those of an inner one.

use super::Value;
use crate::note::Place;

/// The five lifetime policies, of which a rule has one.
pub(crate) const LIFETIMES: [&str; 5] = ["respect", "when_silent", "for", "until_changed", "never"];

/// Keys whose lists grow from scope to scope; those of all others are replaced.
const GROWING: [&str; 5] = ["request_fields", "response_fields", "client_fields", "drop_fields", "override"];

/// Keys that mean nothing where nothing is stored.
const STORING: [&str; 9] = [
    "max_lifetime",
    "min_bytes",
    "max_bytes",
    "vary_headers",
    "vary_query",
    "set_cookie",
    "admit_after",
    "admit_period",
    "override",
];

/// One key.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The key.
    pub(crate) key: &'static str,
    /// Its value.
    pub(crate) value: Value,
    /// Where it came from.
    pub(crate) places: Vec<Place>,
    /// What a reader must know.
    pub(crate) remark: String,
    /// Written as a comment only: somebody must decide.
    pub(crate) off: bool,
}

/// Keys in the order they were set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings(Vec<Entry>);

impl Settings {
    /// Sets a key; what it was before is forgotten.
    pub(crate) fn set(&mut self, key: &'static str, value: Value, place: &Place) -> &mut Entry {
        self.put(Entry { key, value, places: vec![place.clone()], remark: String::new(), off: false })
    }

    /// Sets a key that no directive of its own asked for.
    pub(crate) fn set_by_itself(&mut self, key: &'static str, value: Value, remark: &str) {
        self.put(Entry { key, value, places: Vec::new(), remark: remark.to_owned(), off: false });
    }

    /// Adds to a list.
    pub(crate) fn add(&mut self, key: &'static str, value: Value, place: &Place) {
        match self.0.iter_mut().find(|entry| entry.key == key && !entry.off) {
            Some(Entry { value: Value::List(list), places, .. }) => {
                if !list.contains(&value) {
                    list.push(value);
                }
                if !places.contains(place) {
                    places.push(place.clone());
                }
            }
            _ => {
                self.set(key, Value::List(vec![value]), place);
            }
        }
    }

    fn put(&mut self, entry: Entry) -> &mut Entry {
        let lifetime = |key: &str| LIFETIMES.contains(&key);
        self.0.retain(|old| old.key != entry.key && !(lifetime(entry.key) && lifetime(old.key)));
        self.0.push(entry);
        let last = self.0.len() - 1;
        // Something was pushed a line above.
        #[allow(clippy::indexing_slicing, reason = "the last of a list that is not empty")]
        &mut self.0[last]
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|entry| entry.key == key && !entry.off).map(|entry| &entry.value)
    }

    /// Takes a key out.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Entry> {
        let at = self.0.iter().position(|entry| entry.key == key)?;
        Some(self.0.remove(at))
    }

    /// Whether nothing is set.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One key alone.
    pub(crate) fn from_entry(entry: Entry) -> Settings {
        Settings(vec![entry])
    }

    /// All of them.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// Takes over what an inner or later scope says.
    pub(crate) fn overlay(&mut self, inner: &Settings) {
        for entry in &inner.0 {
            let grows = GROWING.contains(&entry.key);
            match (&entry.value, self.0.iter_mut().find(|e| e.key == entry.key && e.off == entry.off)) {
                (Value::List(more), Some(Entry { value: Value::List(list), places, .. })) if grows => {
                    for value in more {
                        if !list.contains(value) {
                            list.push(value.clone());
                        }
                    }
                    for place in &entry.places {
                        if !places.contains(place) {
                            places.push(place.clone());
                        }
                    }
                }
                _ => {
                    self.put(entry.clone());
                }
            }
        }
    }

    /// What differs from an outer table that a rule takes its keys from.
    pub(crate) fn beyond(&self, outer: &Settings) -> Settings {
        let inherited = |entry: &Entry| {
            outer.get(entry.key) == Some(&entry.value) && !super::rules::OWN.contains(&entry.key)
        };
        Settings(self.0.iter().filter(|entry| !inherited(entry)).cloned().collect())
    }

    /// Takes out what has no effect beside the rest.
    pub(crate) fn tidy(&mut self) {
        if self.get("never") == Some(&Value::Bool(true)) || self.get("cache") == Some(&Value::Bool(false)) {
            self.0.retain(|entry| !STORING.contains(&entry.key));
        }
        if self.get("admit_after").is_none() {
            self.remove("admit_period");
        }
        // What is passed on nowhere goes where the site goes.
        if self.get("upstream") == Some(&Value::Bool(false)) {
            self.remove("upstream");
        }
    }
}
