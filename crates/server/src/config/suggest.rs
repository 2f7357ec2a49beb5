//! "Did you mean": the known word nearest to an unknown one. Pure.

/// The best of `known` if it is near enough to `word` to be worth naming.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer words can't be near anything we know, and the distance costs the product of both lengths.
    if word.chars().count() > 64 {
        return None;
    }
    let asked = word.to_ascii_lowercase().replace('-', "_");
    let bound = (asked.chars().count() / 3).max(1);
    let known: Vec<&str> = known.into_iter().collect();
    // A name cut short is no slip of the finger, but means one word only.
    let mut longer = known.iter().filter(|k| asked.len() >= 4 && k.starts_with(&asked));
    if let (Some(one), None) = (longer.next(), longer.next()) {
        return Some(one);
    }
    known
        .into_iter()
        .map(|k| (distance(&asked, &k.to_ascii_lowercase().replace('-', "_")), k))
        .filter(|(d, _)| *d <= bound)
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}

/// Edits from `a` to `b`: inserted, deleted, replaced and swapped neighbours (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut two_ago: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    let mut previous_a = None;
    for (i, ca) in a.chars().enumerate() {
        let mut row = vec![i + 1];
        let mut previous_b = None;
        for (j, cb) in b.iter().copied().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX / 2);
            let mut best =
                (at(&above, j) + usize::from(ca != cb)).min(at(&above, j + 1) + 1).min(at(&row, j) + 1);
            if j > 0 && previous_a == Some(cb) && previous_b == Some(ca) {
                best = best.min(at(&two_ago, j - 1) + 1);
            }
            row.push(best);
            previous_b = Some(cb);
        }
        previous_a = Some(ca);
        two_ago = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        let rows = [("", "", 0), ("a", "", 1), ("", "ab", 2), ("abc", "abc", 0), ("abc", "acb", 1)];
        for (a, b, d) in rows {
            assert_eq!(distance(a, b), d, "{a} {b}");
        }
        assert_eq!(distance("treshold", "threshold"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn names_what_is_near_and_nothing_else() {
        let known = ["threshold", "period", "max_bytes"];
        assert_eq!(nearest("treshold", known), Some("threshold"));
        assert_eq!(nearest("max-bytes", known), Some("max_bytes"));
        assert_eq!(nearest("peroid", known), Some("period"));
        assert_eq!(nearest("upstream", known), None);
        assert_eq!(nearest("line_max", ["line_max_bytes", "head_max_bytes"]), Some("line_max_bytes"));
        assert_eq!(nearest("head", ["head_timeout", "head_max_bytes"]), None, "two are meant alike");
        assert_eq!(nearest(&"x".repeat(100_000), known), None);
    }
}
