//! Media types by a name's extension.
//!
//! The operator's own table comes first, then mime_guess's. Text is said to be UTF-8: every editor of the last
//! decade writes it, and without a charset browsers guess. Not here: looking into the file.

use http::HeaderValue;
use std::collections::HashMap;
use std::io;

/// Extension (lower case, no dot) to media type.
pub(super) struct Media {
    own: HashMap<String, HeaderValue>,
}

const UNKNOWN: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// The commonest, ready-made: no allocation for them.
const READY: [(&str, &str); 8] = [
    ("text/html", "text/html; charset=utf-8"),
    ("text/css", "text/css; charset=utf-8"),
    ("text/javascript", "text/javascript; charset=utf-8"),
    ("application/javascript", "application/javascript; charset=utf-8"),
    ("application/json", "application/json; charset=utf-8"),
    ("image/svg+xml", "image/svg+xml; charset=utf-8"),
    ("text/plain", "text/plain; charset=utf-8"),
    ("text/xml", "text/xml; charset=utf-8"),
];

impl Media {
    /// Takes the operator's table; an entry that cannot be a field's value is an error.
    pub(super) fn new(types: &[(String, String)]) -> io::Result<Media> {
        let mut own = HashMap::new();
        for (extension, media) in types {
            let value = HeaderValue::from_str(&with_charset(media)).map_err(|_| {
                let text = format!(
                    "the media type {media:?} for files named *.{extension} is not a valid field value"
                );
                io::Error::new(io::ErrorKind::InvalidInput, text)
            })?;
            own.insert(extension.trim_start_matches('.').to_ascii_lowercase(), value);
        }
        Ok(Media { own })
    }

    /// The media type of a file of this name.
    pub(super) fn of(&self, name: &[u8]) -> HeaderValue {
        let Some(extension) = extension(name) else { return UNKNOWN };
        if !self.own.is_empty()
            && let Some(own) = self.own.get(&extension.to_ascii_lowercase())
        {
            return own.clone();
        }
        let Some(media) = mime_guess::from_ext(extension).first_raw() else { return UNKNOWN };
        if let Some((_, ready)) = READY.iter().find(|(bare, _)| *bare == media) {
            return HeaderValue::from_static(ready);
        }
        if is_text(media) {
            return HeaderValue::from_str(&with_charset(media)).unwrap_or(UNKNOWN);
        }
        HeaderValue::from_static(media)
    }
}

fn extension(name: &[u8]) -> Option<&str> {
    let name = name.rsplit(|b| *b == b'/').next()?;
    let dot = name.iter().rposition(|b| *b == b'.').filter(|dot| *dot > 0)?;
    std::str::from_utf8(name.get(dot + 1..)?).ok()
}

fn is_text(media: &str) -> bool {
    let bare = media.to_ascii_lowercase();
    bare.starts_with("text/")
        || ["application/javascript", "application/json", "image/svg+xml"].contains(&bare.as_str())
}

/// With `; charset=utf-8` if it is text and has no parameter of its own.
fn with_charset(media: &str) -> String {
    if is_text(media) && !media.contains(';') { format!("{media}; charset=utf-8") } else { media.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_by_extension() {
        let own = [
            ("geo".to_owned(), "application/json".to_owned()),
            (".TXT".to_owned(), "text/plain; charset=latin1".to_owned()),
        ];
        let media = Media::new(&own).unwrap();
        for (name, expected) in [
            ("index.html", "text/html; charset=utf-8"),
            ("A.HTML", "text/html; charset=utf-8"),
            ("sub.d/app.js", "text/javascript; charset=utf-8"),
            ("m.mjs", "application/javascript; charset=utf-8"),
            ("d.json", "application/json; charset=utf-8"),
            ("i.svg", "image/svg+xml; charset=utf-8"),
            ("t.csv", "text/csv; charset=utf-8"),
            ("p.png", "image/png"),
            ("f.woff2", "font/woff2"),
            ("w.wasm", "application/wasm"),
            ("x.geo", "application/json; charset=utf-8"),
            ("n.txt", "text/plain; charset=latin1"),
            ("noext", "application/octet-stream"),
            ("folder.html/noext", "application/octet-stream"),
            ("end.", "application/octet-stream"),
            (".html", "application/octet-stream"),
            ("x.unheard-of", "application/octet-stream"),
        ] {
            assert_eq!(media.of(name.as_bytes()), expected, "{name}");
        }
        assert_eq!(media.of(b"\xff.html"), "text/html; charset=utf-8");
        assert_eq!(media.of(b"a.\xff"), "application/octet-stream");
    }

    #[test]
    fn a_type_that_is_no_field_value_is_refused() {
        let bad = [("x".to_owned(), "text/\nplain".to_owned())];
        let Err(error) = Media::new(&bad) else { panic!("taken") };
        assert!(error.to_string().contains("*.x"), "{error}");
    }
}
