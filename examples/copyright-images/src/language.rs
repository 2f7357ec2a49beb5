//! Accept-Language to a copyright line (RFC 9110 §12.5.4, lookup by RFC 4647 §3.4).
//!
//! Pure. Not here: drawing it.

/// A language the copyright line exists in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Language {
    German,
    Spanish,
    English,
}

impl Language {
    /// What stands on the picture.
    pub(crate) fn line(self) -> &'static str {
        match self {
            Language::German => "© Samovar – Alle Rechte vorbehalten",
            Language::Spanish => "Marca Registrada Samovar",
            Language::English => "Copyright © Samovar",
        }
    }

    /// The tag for Content-Language.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Language::German => "de",
            Language::Spanish => "es",
            Language::English => "en",
        }
    }

    /// The best of our languages for a request; English where nothing fits.
    pub(crate) fn of(accept_language: &str) -> Language {
        let mut best = (0, Language::English);
        for item in accept_language.split(',') {
            let mut parts = item.split(';');
            let tag = parts.next().unwrap_or("").trim();
            let quality = parts.find_map(|p| p.trim().strip_prefix("q=")).map_or(1000, thousandths);
            if quality > best.0
                && let Some(language) = known(tag)
            {
                best = (quality, language);
            }
        }
        best.1
    }
}

fn known(tag: &str) -> Option<Language> {
    let primary = tag.split('-').next().unwrap_or("");
    if primary.eq_ignore_ascii_case("de") {
        Some(Language::German)
    } else if primary.eq_ignore_ascii_case("es") {
        Some(Language::Spanish)
    } else if primary.eq_ignore_ascii_case("en") || primary == "*" {
        Some(Language::English)
    } else {
        None
    }
}

/// A quality value of `0` to `1` with up to three decimals; nonsense counts as 0.
fn thousandths(text: &str) -> u32 {
    match text.trim().parse::<f32>() {
        Ok(q) if (0.0..=1.0).contains(&q) => (q * 1000.0).round() as u32,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Language::{English, German, Spanish};

    #[test]
    fn the_best_language_wins() {
        let table = [
            ("", English),
            ("de", German),
            ("DE-at", German),
            ("es-ES,es;q=0.9", Spanish),
            ("fr", English),
            ("fr, de;q=0.5, es;q=0.6", Spanish),
            ("en;q=0.1, de;q=0.9", German),
            ("de;q=0, es;q=0.1", Spanish),
            ("de;q=banana", English),
            ("*, de;q=0.5", English),
            (",,;q=1,", English),
        ];
        for (field, wanted) in table {
            assert_eq!(Language::of(field), wanted, "{field:?}");
        }
    }
}
