//! Keys with their values, where they came from, and how those of an outer scope go together with those of an inner one.

use super::Value;
use crate::note::Place;

/// The five lifetime policies, of which a rule has one.
pub(crate) const LIFETIMES: [&str; 5] = ["respect", "when_silent", "for", "until_changed", "never"];

/// Keys whose lists grow from scope to scope; those of all others are replaced.
const GROWING: [&str; 5] = ["request_fields", "response_fields", "client_fields", "drop_fields", "override"];

/// Keys that mean nothing where nothing is stored.
const STORING: [&str; 12] = [
    "heuristic_factor",
    "heuristic_max",
    "heuristic_first",
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
    /// It closes to everybody what could not be said: nothing that is said elsewhere opens it again.
    pub(crate) closes: bool,
    /// Said by a section that comes behind others, which do not take it back.
    pub(crate) late: bool,
}

/// Everybody.
pub(crate) fn everybody() -> Value {
    Value::texts(["0.0.0.0/0", "::/0"])
}

/// Keys in the order they were set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings(Vec<Entry>);

impl Settings {
    /// Sets a key; what it was before is forgotten.
    pub(crate) fn set(&mut self, key: &'static str, value: Value, place: &Place) -> &mut Entry {
        self.put(Entry {
            key,
            value,
            places: vec![place.clone()],
            remark: String::new(),
            off: false,
            closes: false,
            late: false,
        })
    }

    /// Sets a key that no directive of its own asked for.
    pub(crate) fn set_by_itself(&mut self, key: &'static str, value: Value, remark: &str) {
        let remark = remark.to_owned();
        self.put(Entry { key, value, places: Vec::new(), remark, off: false, closes: false, late: false });
    }

    /// Closes to everybody, and stays closed.
    pub(crate) fn close(&mut self, place: &Place, why: &str) {
        let known = self.closed().is_some();
        self.set("allow", Value::List(Vec::new()), place);
        if !known {
            let entry = self.set("deny", everybody(), place);
            entry.remark = format!("FILL-IN: closed to everybody: {why}");
            entry.closes = true;
        }
    }

    /// Denies everybody who was not allowed here; whom an outer scope allowed is not.
    pub(crate) fn deny_others(&mut self, allow: &[String], place: &Place) -> &mut Entry {
        self.set("allow", Value::texts(allow), place);
        self.set("deny", everybody(), place)
    }

    /// The same of what the source kept back by itself: nobody needs to decide anything.
    pub(crate) fn hide(&mut self, place: &Place, why: &str) {
        self.close(place, why);
        for entry in self.0.iter_mut().filter(|entry| entry.closes) {
            entry.remark = format!("closed to everybody: {why}");
        }
    }

    /// Whether it is closed whatever else is said.
    pub(crate) fn is_shut(&self) -> bool {
        self.closed().is_some()
    }

    /// Takes out all but these keys.
    pub(crate) fn only(&mut self, keys: &[&str]) {
        self.0.retain(|entry| keys.contains(&entry.key));
    }

    fn closed(&self) -> Option<usize> {
        self.0.iter().position(|entry| entry.closes)
    }

    /// Whether nobody may.
    pub(crate) fn is_closed(&self) -> bool {
        let none = |key: &str| {
            matches!(self.get(key), None | Some(Value::Bool(false)))
                || self.get(key) == Some(&Value::List(Vec::new()))
        };
        self.get("deny") == Some(&everybody()) && none("allow")
    }

    /// Whether it says who may, and keeps somebody out.
    pub(crate) fn guards(&self) -> bool {
        let some = |key: &str| matches!(self.get(key), Some(Value::List(list)) if !list.is_empty());
        some("deny") || some("allow") || matches!(self.get("basic_auth"), Some(Value::Table(_)))
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
        if let Some(at) = self.closed().filter(|_| entry.key == "deny" || entry.key == "allow") {
            let nobody = entry.key == "allow" && entry.value == Value::List(Vec::new());
            if !nobody && !entry.closes {
                // The index was found a line above.
                #[allow(clippy::indexing_slicing, reason = "a place in the list that was just found")]
                return &mut self.0[at];
            }
        }
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

    /// `client_cache_control` is told of stored responses. Where nothing is stored, the sources told it all the same.
    fn tell_of_what_is_not_stored(&mut self) {
        let never =
            self.get("never") == Some(&Value::Bool(true)) || self.get("cache") == Some(&Value::Bool(false));
        let told = |entry: &&Entry| entry.key == "client_cache_control" && !entry.off;
        let Some(Entry { value, places, .. }) = self.0.iter().find(told).filter(|_| never).cloned() else {
            return;
        };
        self.remove("client_cache_control");
        let edit = Value::table([("set", Value::text("Cache-Control")), ("value", value)]);
        match places.first() {
            Some(place) => self.add("client_fields", edit, place),
            None => self.set_by_itself("client_fields", Value::List(vec![edit]), ""),
        }
    }

    /// Takes out what has no effect beside the rest and what is outside.
    pub(crate) fn tidy(&mut self, outer: &Settings) {
        if self.get("never") == Some(&Value::Bool(true)) || self.get("cache") == Some(&Value::Bool(false)) {
            self.0.retain(|entry| !STORING.contains(&entry.key));
        }
        self.tell_of_what_is_not_stored();
        let silent = self.get("when_silent").is_some()
            || outer.get("when_silent").is_some() && !LIFETIMES.iter().any(|key| self.get(key).is_some());
        if !silent {
            self.remove("heuristic_first");
        }
        if self.get("admit_after").is_none() {
            self.remove("admit_period");
        }
        // Lists that name nobody matter only where they take something away from outside.
        for key in ["allow", "deny"] {
            let outside = outer.get(key).is_some_and(|value| *value != Value::List(Vec::new()));
            if self.get(key) == Some(&Value::List(Vec::new())) && !outside {
                self.remove(key);
            }
        }
        // What is passed on nowhere goes where the site goes.
        if self.get("upstream") == Some(&Value::Bool(false)) {
            self.remove("upstream");
        }
    }
}
