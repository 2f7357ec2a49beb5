//! Content codings: their names, and what becomes of an entity tag when an answer is coded here.
//!
//! A tag names one representation, and a coded answer is another than the plain one (RFC 9110 §8.8.3.3). A strong tag
//! `"v1"` becomes `W/"v1--gzip"`: weak, since equal bodies need not be coded to equal bytes for ever, so that no range is
//! ever put together across codings (If-Range compares strongly, §13.1.5); and with the coding's name, so that it can be
//! told whose it was and translated back for the origin (If-Match, If-None-Match). A weak tag says no more than that the
//! contents mean the same, which holds in every coding: it stays.
//!
//! Not here: what a client accepts (`rules`), what is worth coding (`rules`), the encoders (`coding`).

use crate::syntax::elements;
use crate::validator::{EntityTag, entity_tag};
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// A coding that Samovar makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Coding {
    /// Brotli (RFC 7932).
    Br,
    /// Zstandard (RFC 8878).
    Zstd,
    /// gzip (RFC 1952).
    Gzip,
}

impl Coding {
    /// All of them, in our own order.
    pub const ALL: [Coding; 3] = [Coding::Br, Coding::Zstd, Coding::Gzip];

    /// As in `Content-Encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Coding::Br => "br",
            Coding::Zstd => "zstd",
            Coding::Gzip => "gzip",
        }
    }

    /// As in a file's name behind the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Coding::Br => "br",
            Coding::Zstd => "zst",
            Coding::Gzip => "gz",
        }
    }

    /// By its name, in any case; `x-gzip` is `gzip` (RFC 9110 §8.4.1.3).
    pub fn of_name(name: &[u8]) -> Option<Coding> {
        let named = |coding: &Coding| name.eq_ignore_ascii_case(coding.name().as_bytes());
        let alias = name.eq_ignore_ascii_case(b"x-gzip").then_some(Coding::Gzip);
        Coding::ALL.into_iter().find(named).or(alias)
    }

    /// The place of its form among those of an entry, below [`Coding::ALL`]'s length.
    pub fn place(self) -> usize {
        self as usize
    }

    /// The value of `Content-Encoding`.
    pub fn value(self) -> HeaderValue {
        HeaderValue::from_static(self.name())
    }

    fn suffix(self) -> &'static str {
        match self {
            Coding::Br => "--br",
            Coding::Zstd => "--zstd",
            Coding::Gzip => "--gzip",
        }
    }
}

/// What is said of the bytes of a body, and does not hold once they are coded (RFC 9110 §8.8, RFC 9530), or is about
/// ranges of them.
const OF_THE_BYTES: [HeaderName; 6] = [
    header::CONTENT_LENGTH,
    header::ACCEPT_RANGES,
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("repr-digest"),
    HeaderName::from_static("digest"),
];

/// Makes the fields of a plain answer those of the coded one.
pub fn coded_fields(headers: &mut HeaderMap, coding: Coding) {
    for name in &OF_THE_BYTES {
        headers.remove(name);
    }
    let tag = entity_tag(headers).and_then(|tag| coded_tag(tag, coding));
    if let Some(tag) = tag {
        headers.insert(header::ETAG, tag);
    }
    headers.insert(header::CONTENT_ENCODING, coding.value());
}

/// The tag of the coded answer; `None` if the plain one's holds.
fn coded_tag(tag: EntityTag<'_>, coding: Coding) -> Option<HeaderValue> {
    if tag.weak {
        return None;
    }
    let text = [b"W/\"", tag.opaque, coding.suffix().as_bytes(), b"\""].concat();
    HeaderValue::from_bytes(&text).ok()
}

/// The coding that a tag of ours names, and the plain answer's tag without its quotes.
fn of_ours<'a>(tag: EntityTag<'a>) -> Option<(Coding, &'a [u8])> {
    if !tag.weak {
        return None;
    }
    let with = |coding: Coding| Some((coding, tag.opaque.strip_suffix(coding.suffix().as_bytes())?));
    Coding::ALL.into_iter().find_map(with)
}

/// What a client has of this answer, by its If-None-Match: `Some(None)` the plain one, `Some(Some(coding))` a coded one;
/// `None` nothing that could be told. The first that `accepts` takes.
pub fn coding_held(
    request: &HeaderMap,
    answer: &HeaderMap,
    accepts: impl Fn(Option<Coding>) -> bool,
) -> Option<Option<Coding>> {
    if !request.contains_key(header::IF_NONE_MATCH) {
        return None;
    }
    let own = entity_tag(answer).filter(|own| !own.weak)?;
    let lines = request.get_all(header::IF_NONE_MATCH).iter();
    let tags = lines.flat_map(|line| elements(line.as_bytes())).filter_map(EntityTag::read);
    let mut held = tags.filter_map(|tag| match of_ours(tag) {
        Some((coding, plain)) if plain == own.opaque => Some(Some(coding)),
        _ if tag.weakly_equals(own) => Some(None),
        _ => None,
    });
    held.find(|coding| accepts(*coding))
}

/// Translates the tags that were made here back into the origin's own, in a request that goes to it.
pub fn plain_tags(request: &mut HeaderMap) {
    for name in [header::IF_MATCH, header::IF_NONE_MATCH] {
        let ours = |line: &HeaderValue| elements(line.as_bytes()).any(|member| read_ours(member).is_some());
        if !request.get_all(&name).iter().any(ours) {
            continue;
        }
        let mut text = Vec::new();
        for member in request.get_all(&name).iter().flat_map(|line| elements(line.as_bytes())) {
            if !text.is_empty() {
                text.extend_from_slice(b", ");
            }
            match read_ours(member) {
                Some((_, plain)) => text.extend([b"\"", plain, b"\""].concat()),
                None => text.extend_from_slice(member),
            }
        }
        if let Ok(value) = HeaderValue::from_bytes(&text) {
            request.insert(name, value);
        }
    }
}

fn read_ours(member: &[u8]) -> Option<(Coding, &[u8])> {
    of_ours(EntityTag::read(member)?)
}

/// Whether the answer says that nobody on the way may change its form (RFC 9111 §5.2.2.6).
pub fn forbids_transform(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::CACHE_CONTROL)
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
        .any(|directive| directive.trim_ascii().eq_ignore_ascii_case(b"no-transform"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(fields: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        map
    }

    #[test]
    fn a_strong_tag_becomes_weak_and_names_its_coding() {
        for (plain, coded) in
            [("\"v1\"", Some("W/\"v1--br\"")), ("W/\"v1\"", Some("W/\"v1\"")), ("v1", Some("v1"))]
        {
            let mut headers =
                map(&[("etag", plain), ("content-length", "9"), ("accept-ranges", "bytes"), ("digest", "x")]);
            coded_fields(&mut headers, Coding::Br);
            assert_eq!(headers.get("etag").map(|v| v.to_str().unwrap()), coded);
            assert_eq!(headers.len(), 2, "{headers:?}");
            assert_eq!(headers["content-encoding"], "br");
        }
    }

    #[test]
    fn what_a_client_holds() {
        let any = |_: Option<Coding>| true;
        for (asked, own, held) in [
            ("W/\"v1--gzip\"", "\"v1\"", Some(Some(Coding::Gzip))),
            ("\"v1\"", "\"v1\"", Some(None)),
            ("W/\"v1\"", "\"v1\"", Some(None)),
            ("\"v2\", W/\"v1--br\"", "\"v1\"", Some(Some(Coding::Br))),
            ("W/\"v2--br\"", "\"v1\"", None),
            ("\"v1--br\"", "\"v1\"", None),
            ("W/\"v1\"", "W/\"v1\"", None),
            ("*", "\"v1\"", None),
            ("W/\"v1--gzip--br\"", "\"v1--gzip\"", Some(Some(Coding::Br))),
        ] {
            let (request, answer) = (map(&[("if-none-match", asked)]), map(&[("etag", own)]));
            assert_eq!(coding_held(&request, &answer, any), held, "{asked} of {own}");
        }
        let (request, answer) =
            (map(&[("if-none-match", "W/\"v1--br\", \"v1\"")]), map(&[("etag", "\"v1\"")]));
        assert_eq!(coding_held(&request, &answer, |c| c.is_none()), Some(None), "br is not accepted");
        assert_eq!(coding_held(&map(&[]), &answer, any), None);
    }

    #[test]
    fn the_origin_sees_its_own_tags() {
        for (asked, sent) in [
            ("W/\"v1--gzip\"", "\"v1\""),
            ("\"a\",  W/\"v1--zstd\", W/\"b\"", "\"a\", \"v1\", W/\"b\""),
            ("\"a--gzip\"", "\"a--gzip\""),
            ("*", "*"),
            ("nonsense", "nonsense"),
        ] {
            for name in ["if-match", "if-none-match"] {
                let mut request = map(&[(name, asked)]);
                plain_tags(&mut request);
                assert_eq!(request[name], sent, "{asked}");
            }
        }
        let mut range = map(&[("if-range", "W/\"v1--gzip\"")]);
        plain_tags(&mut range);
        assert_eq!(range["if-range"], "W/\"v1--gzip\"", "a range is of one form alone");
    }

    #[test]
    fn names() {
        for coding in Coding::ALL {
            assert_eq!(Coding::of_name(coding.name().to_ascii_uppercase().as_bytes()), Some(coding));
            assert_eq!(Coding::ALL[coding.place()], coding);
        }
        assert_eq!(Coding::of_name(b"x-gzip"), Some(Coding::Gzip));
        assert_eq!(Coding::of_name(b"deflate"), None);
    }

    #[test]
    fn no_transform_wherever_it_stands() {
        assert!(forbids_transform(&map(&[
            ("cache-control", "max-age=5"),
            ("cache-control", "public, No-Transform")
        ])));
        assert!(!forbids_transform(&map(&[("cache-control", "max-age=5, no-transformation")])));
    }
}
