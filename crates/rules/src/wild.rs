//! Names with `*` for any run of bytes: cookies and query variables.
//!
//! Not here: path globs (`glob`), where `*` stops at a slash.

/// True if the pattern covers the whole name. Bounded by the product of the lengths.
pub(crate) fn wild_match(pattern: &[u8], name: &[u8]) -> bool {
    // Most names are told from most patterns by their first byte.
    let begins_alike = matches!(pattern.first(), None | Some(b'*')) || pattern.first() == name.first();
    begins_alike && rest_matches(pattern, name).unwrap_or(false)
}

fn rest_matches(pattern: &[u8], name: &[u8]) -> Option<bool> {
    let mut parts = pattern.split(|byte| *byte == b'*');
    let mut rest = name.strip_prefix(parts.next()?)?;
    let Some(last) = parts.next_back() else { return Some(rest.is_empty()) };
    rest = rest.strip_suffix(last)?;
    // Taking the earliest place for each part leaves the most for those after it.
    for part in parts.filter(|part| !part.is_empty()) {
        let at = rest.windows(part.len()).position(|window| window == part)?;
        rest = rest.get(at + part.len()..)?;
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn table() {
        for (pattern, name, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a", "", false),
            ("", "", true),
            ("*", "", true),
            ("*", "anything", true),
            ("_ga*", "_ga", true),
            ("_ga*", "_ga_X1", true),
            ("_ga*", "x_ga", false),
            ("*id", "sid", true),
            ("a*a", "a", false),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("**", "x", true),
            ("a*bc*c", "abc", false),
        ] {
            assert_eq!(wild_match(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }

    /// By trying every way to spend a star.
    fn oracle(pattern: &[u8], name: &[u8]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some((b'*', rest)) => (0..=name.len()).any(|taken| oracle(rest, &name[taken..])),
            Some((first, rest)) => name.first() == Some(first) && oracle(rest, &name[1..]),
        }
    }

    proptest! {
        #[test]
        fn agrees_with_trying_everything(pattern in "[ab*]{0,6}", name in "[ab]{0,8}") {
            prop_assert_eq!(
                wild_match(pattern.as_bytes(), name.as_bytes()),
                oracle(pattern.as_bytes(), name.as_bytes())
            );
        }
    }
}
