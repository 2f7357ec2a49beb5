//! A name that was mistyped, and the one that is meant.
//!
//! Not here: which names there are.

/// What to say of `name`, where only these are known.
pub(crate) fn mend(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it has: {}", known.join(", ")),
    }
}

/// The known name that is at most two letters away.
pub(crate) fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let distance = |other: &str| {
        let mut row: Vec<usize> = (0..=other.chars().count()).collect();
        for (i, a) in name.chars().enumerate() {
            let mut corner = i;
            let mut left = i + 1;
            for (cell, b) in row.iter_mut().skip(1).zip(other.chars()) {
                let next = (corner + usize::from(a != b)).min(*cell + 1).min(left + 1);
                corner = *cell;
                *cell = next;
                left = next;
            }
            if let Some(first) = row.first_mut() {
                *first = i + 1;
            }
        }
        row.last().copied().unwrap_or(usize::MAX)
    };
    known.iter().map(|other| (distance(other), *other)).filter(|(d, _)| *d <= 2).min().map(|(_, other)| other)
}
