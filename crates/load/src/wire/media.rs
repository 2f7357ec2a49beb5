//! What an answer says its content is: the type of `Content-Type` without its parameters (RFC 9110 §8.3.1).
//!
//! A small value that is copied with the head it came in, so that counting by type allocates nothing. Pure. Not here: what is
//! counted by it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Letters that are told apart; nearly all registered types are shorter.
const LONGEST: usize = 47;

/// A media type, in small letters; of a longer one its beginning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Media {
    letters: [u8; LONGEST],
    length: u8,
}

impl Default for Media {
    fn default() -> Self {
        Media { letters: [0; LONGEST], length: 0 }
    }
}

impl Media {
    /// The type in the value of a field.
    pub fn of(value: &[u8]) -> Media {
        let mut media = Media::default();
        let named = value.split(|byte| matches!(byte, b';' | b',')).next().unwrap_or_default().trim_ascii();
        for (letter, byte) in media.letters.iter_mut().zip(named) {
            // A name of a type has no other letters; what a server makes up must not reach a terminal.
            *letter = if byte.is_ascii_graphic() { byte.to_ascii_lowercase() } else { b'?' };
            media.length += 1;
        }
        media
    }

    /// The type as a text; empty if the answer did not say.
    pub fn text(&self) -> &str {
        let letters = self.letters.get(..usize::from(self.length)).unwrap_or_default();
        std::str::from_utf8(letters).unwrap_or_default()
    }
}

impl fmt::Debug for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

impl Serialize for Media {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

impl<'de> Deserialize<'de> for Media {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Media, D::Error> {
        Ok(Media::of(String::deserialize(deserializer)?.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_case_make_no_other_type() {
        for (value, want) in [
            ("text/html", "text/html"),
            (" Text/HTML ; charset=utf-8", "text/html"),
            ("image/svg+xml;charset=x", "image/svg+xml"),
            ("", ""),
            (";charset=utf-8", ""),
            ("text/html, text/plain", "text/html"),
            ("te\u{1b}[2J xt", "te?[2j?xt"),
            (
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                "application/vnd.openxmlformats-officedocument.w",
            ),
        ] {
            let media = Media::of(value.as_bytes());
            assert_eq!(media.text(), want, "{value}");
            let stored = serde_json::to_string(&media).unwrap();
            assert_eq!(serde_json::from_str::<Media>(&stored).unwrap(), media);
        }
    }
}
