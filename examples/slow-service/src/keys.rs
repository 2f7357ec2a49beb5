//! Who may ask, and for how much: the text of a file of API keys.
//!
//! A line each: the key, how many items it may ask for at once, a name. `#` begins a comment. Pure: text in, keys or
//! what is wrong with which line out. Not here: files (`keyring`).

use std::collections::HashMap;

/// Keys and what they allow.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys(HashMap<String, u32>);

impl Keys {
    /// How many items a key may ask for; `None` if there is no such key.
    pub(crate) fn items_max(&self, key: &str) -> Option<u32> {
        self.0.get(key).copied()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Reads the text of a file. A line that is wrong makes the whole text wrong: half a file is not who may ask.
pub(crate) fn parse(text: &str) -> Result<Keys, String> {
    let mut keys = HashMap::new();
    for (n, line) in text.lines().enumerate().map(|(n, line)| (n + 1, line.trim())) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut words = line.split_whitespace();
        let (Some(key), Some(items), Some(_name)) = (words.next(), words.next(), words.next()) else {
            return Err(format!("line {n}: a line is `KEY ITEMS_MAX NAME`"));
        };
        let items = items.parse().map_err(|_| format!("line {n}: `{items}` is no number of items"))?;
        if keys.insert(key.to_string(), items).is_some() {
            return Err(format!("line {n}: this key was there already"));
        }
    }
    // A last line without its end may be the half of one that is still being written.
    if !text.is_empty() && !text.ends_with('\n') {
        return Err("the last line has no end".into());
    }
    Ok(Keys(keys))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_are_read() {
        let keys = parse("# who\n\nalpha 100 The first\n  beta\t5 Second # really\n").unwrap();
        assert_eq!((keys.len(), keys.items_max("alpha"), keys.items_max("beta")), (2, Some(100), Some(5)));
        assert_eq!((keys.items_max("#"), keys.items_max("")), (None, None));
        assert_eq!(parse("").unwrap().len(), 0);
        for (wrong, place) in [
            ("alpha\n", "line 1"),
            ("# x\nalpha many x\n", "line 2"),
            ("alpha 1 x\nalpha 2 y\n", "line 2"),
            ("alpha 1 x\nbeta 2 ye", "the last line"),
        ] {
            assert!(parse(wrong).unwrap_err().starts_with(place), "{wrong:?}");
        }
    }

    proptest! {
        /// Whatever part of a file has been written, it is refused or has whole keys only.
        #[test]
        fn half_a_file_gives_no_half_a_key(cut in 0usize..40) {
            let text = "alpha 100 The first\nbeta 5 The second\n";
            if let Ok(keys) = parse(text.get(..cut.min(text.len())).unwrap()) {
                prop_assert!(matches!(keys.items_max("alpha"), None | Some(100)));
                prop_assert!(matches!(keys.items_max("beta"), None | Some(5)));
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,200}") {
            let _ = parse(&text);
        }
    }
}
