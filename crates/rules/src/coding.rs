//! Compression as the operator wishes it: which codings a client gets, which answers are worth one, and how the origin is
//! asked.
//!
//! Not here: how bytes are coded (`samovar-coding`), entity tags (`policy::coding`), whether there is time for it (the
//! server's business).

use crate::quality::{best_encoding, encodings, rank};
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use samovar_policy::{Coding, forbids_transform};
use samovar_reason::Coding as Why;

/// What a rule wishes of compression. Rules that wish for nothing have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodingWish {
    /// Answers are compressed here.
    pub make: bool,
    /// In these codings, the first where the client has no wish of its own. Never empty.
    pub codings: Vec<Coding>,
    /// Their names, for comparing.
    names: Vec<String>,
    /// The same in the order for what is compressed while it is sent.
    names_on_the_fly: Vec<String>,
    /// Only these media types (`text/*`); `None` for those that are known to shrink.
    pub types: Option<Vec<String>>,
    /// Bodies below this length stay as they are, bytes.
    pub min_bytes: u64,
    /// How the origin is asked for what may be stored.
    pub asks: AskOrigin,
    /// Clients that take none of these are refused; empty for nobody.
    pub require: Vec<Coding>,
}

/// What the origin is told of the client's Accept-Encoding when the answer may be stored. What passes the cache by is
/// asked for in the client's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskOrigin {
    /// The client's own words.
    AsAsked,
    /// `identity`: one answer for everybody, compressed here, once per coding.
    Plain,
    /// The one coding that the client gets: what the origin compresses is stored as it comes, per coding.
    Coded,
    /// All of our codings that the client accepts, in our order: files choose among their siblings.
    Siblings,
}

/// What browsers show or run, and what services answer. No pictures, films or archives: they are compressed in their own
/// ways. Beside these, everything in `text/` and whatever ends in `+xml`, `+json` or `+text`.
const SHRINK: [&str; 24] = [
    "application/atom+xml",
    "application/dash+xml",
    "application/ecmascript",
    "application/graphql",
    "application/javascript",
    "application/json",
    "application/ld+json",
    "application/manifest+json",
    "application/rtf",
    "application/sql",
    "application/toml",
    "application/vnd.apple.mpegurl",
    "application/vnd.ms-fontobject",
    "application/wasm",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-protobuf",
    "application/x-yaml",
    "application/xml",
    "application/yaml",
    "font/otf",
    "font/ttf",
    "image/bmp",
    "image/x-icon",
];

/// By what a megabyte costs (`crates/coding/examples/cost.rs`).
const SOONEST: [Coding; 3] = [Coding::Zstd, Coding::Gzip, Coding::Br];

const EVENT_STREAM: &str = "text/event-stream";

impl CodingWish {
    /// A wish; an empty list of codings stands for all of them, in the order that suits: the smallest first for what is
    /// kept, the soonest made first for what is not.
    pub fn new(make: bool, codings: &[Coding], asks: AskOrigin) -> CodingWish {
        let (codings, on_the_fly) = match codings {
            [] => (&Coding::ALL[..], &SOONEST[..]),
            listed => (listed, listed),
        };
        let names = |codings: &[Coding]| codings.iter().map(|coding| coding.name().to_owned()).collect();
        CodingWish {
            make,
            names: names(codings),
            names_on_the_fly: names(on_the_fly),
            codings: codings.to_vec(),
            types: None,
            min_bytes: 1_024,
            asks,
            require: Vec::new(),
        }
    }

    /// The coding that a client gets of what is kept (RFC 9110 §12.5.3); `None` for the answer as it is.
    pub fn chosen(&self, request: &HeaderMap) -> Option<Coding> {
        CodingWish::best(&self.names, request)
    }

    /// The coding that a client gets of what is compressed while it is sent. `None` where [`CodingWish::chosen`] is.
    pub fn chosen_on_the_fly(&self, request: &HeaderMap) -> Option<Coding> {
        CodingWish::best(&self.names_on_the_fly, request)
    }

    fn best(names: &[String], request: &HeaderMap) -> Option<Coding> {
        if !request.contains_key(ACCEPT_ENCODING) {
            return None;
        }
        let name = best_encoding(names, &ACCEPT_ENCODING, request);
        Coding::of_name(name.as_bytes())
    }

    /// Whether a client takes an answer in this coding; `None`: as it is.
    pub fn takes(&self, request: &HeaderMap, coding: Option<Coding>) -> bool {
        takes(request, coding.map_or("identity", Coding::name))
    }

    /// Whether a client would rather have this coding than the answer as it is.
    pub fn gets(&self, request: &HeaderMap, coding: Coding) -> bool {
        encodings(&self.names, &ACCEPT_ENCODING, request).contains(&coding.name())
    }

    /// Whether the rule refuses this client, as it accepts none of what is required.
    pub fn refuses(&self, request: &HeaderMap) -> bool {
        !self.require.is_empty() && !self.require.iter().any(|coding| takes(request, coding.name()))
    }

    /// Whether an answer may be compressed; `Err` why not. `len_bytes`: of its body, if that is known.
    ///
    /// # Errors
    /// The reason.
    pub fn worth(&self, status: StatusCode, headers: &HeaderMap, len_bytes: Option<u64>) -> Result<(), Why> {
        if !self.make {
            return Err(Why::Off);
        }
        if matches!(status.as_u16(), 100..=199 | 204 | 205 | 206 | 304 | 416) {
            return Err(Why::StatusNotCoded);
        }
        if is_coded(headers) {
            return Err(Why::ByOrigin);
        }
        self.wants_type(headers)?;
        if len_bytes.is_some_and(|bytes| bytes < self.min_bytes) {
            return Err(Why::TooSmall);
        }
        if headers.contains_key(CONTENT_RANGE) {
            return Err(Why::RangeNotCoded);
        }
        if forbids_transform(headers) {
            return Err(Why::NoTransform);
        }
        Ok(())
    }

    fn wants_type(&self, headers: &HeaderMap) -> Result<(), Why> {
        let Some(essence) = essence(headers) else { return Err(Why::TypeNotListed) };
        let is = |listed: &str| essence.eq_ignore_ascii_case(listed);
        let wanted = match &self.types {
            None if is(EVENT_STREAM) => return Err(Why::EventStream),
            None => begins(essence, "text/") || ends(essence) || SHRINK.iter().any(|known| is(known)),
            Some(list) => {
                let of_kind = |range: &str| range.strip_suffix('*').is_some_and(|kind| begins(essence, kind));
                if is(EVENT_STREAM) && !list.iter().any(|listed| listed.eq_ignore_ascii_case(EVENT_STREAM)) {
                    return Err(Why::EventStream);
                }
                list.iter().any(|listed| is(listed) || of_kind(listed))
            }
        };
        if wanted { Ok(()) } else { Err(Why::TypeNotListed) }
    }

    /// The Accept-Encoding that the origin is sent for what may be stored, and that a stored answer which varies by it is
    /// compared by; `None` for the client's own.
    pub fn asked_of_origin(&self, request: &HeaderMap) -> Option<HeaderValue> {
        let plain = HeaderValue::from_static("identity");
        match self.asks {
            AskOrigin::AsAsked => None,
            AskOrigin::Plain => Some(plain),
            AskOrigin::Coded => Some(self.chosen(request).map_or(plain, Coding::value)),
            AskOrigin::Siblings => {
                let wanted = encodings(&self.names, &ACCEPT_ENCODING, request);
                Some(if wanted.is_empty() {
                    plain
                } else {
                    HeaderValue::try_from(wanted.join(", ")).unwrap_or(plain)
                })
            }
        }
    }
}

/// Whether the body is compressed already.
pub fn is_coded(headers: &HeaderMap) -> bool {
    let identity =
        |value: &HeaderValue| value.is_empty() || value.as_bytes().eq_ignore_ascii_case(b"identity");
    headers.get_all(CONTENT_ENCODING).iter().any(|value| !identity(value))
}

/// Codings that are registered (RFC 9110 §8.4.1, RFC 7932, RFC 8878), with the names of old.
const REGISTERED: [&str; 7] = ["gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress"];

/// A response that was coded more often than this is taken by nobody; each coding is looked for in the request anew.
const CODINGS_MAX: usize = 8;

/// Whether the client takes the coding that the answer came in. Of a name that nobody has registered nothing can be told:
/// whatever the origin means by it, it means for everyone whom it was not told of.
pub fn takes_as_it_came(request: &HeaderMap, answer: &HeaderMap) -> bool {
    let lines = answer.get_all(CONTENT_ENCODING).iter();
    let codings = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    let mut at_most = codings.take(CODINGS_MAX + 1).enumerate();
    at_most.all(|(at, coding)| {
        let name = std::str::from_utf8(coding).unwrap_or_default();
        at < CODINGS_MAX
            && (!REGISTERED.iter().any(|known| name.eq_ignore_ascii_case(known)) || takes(request, name))
    })
}

fn takes(request: &HeaderMap, name: &str) -> bool {
    rank(name, &ACCEPT_ENCODING, request) > 0
}

/// A media type without its parameters.
fn essence(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    Some(text.split(';').next().unwrap_or(text).trim())
}

fn begins(essence: &str, with: &str) -> bool {
    essence.get(..with.len()).is_some_and(|head| head.eq_ignore_ascii_case(with))
}

fn ends(essence: &str) -> bool {
    let suffix = essence.rsplit_once('+').map_or("", |(_, suffix)| suffix);
    ["xml", "json", "text"].iter().any(|known| suffix.eq_ignore_ascii_case(known))
}

/// Whether a coded form is worth keeping: it must save a tenth at least.
pub fn pays(plain_bytes: u64, coded_bytes: u64) -> bool {
    coded_bytes <= plain_bytes - plain_bytes / 10
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

    fn asks(accept: &str) -> HeaderMap {
        map(&[("accept-encoding", accept)])
    }

    fn wish() -> CodingWish {
        CodingWish::new(true, &[], AskOrigin::Plain)
    }

    #[test]
    fn what_a_client_gets() {
        for (accept, chosen) in [
            ("gzip, deflate, br, zstd", Some(Coding::Br)),
            ("gzip, deflate", Some(Coding::Gzip)),
            ("zstd, gzip", Some(Coding::Zstd)),
            ("gzip;q=1, br;q=0.5", Some(Coding::Gzip)),
            ("gzip;q=0", None),
            ("*;q=0", None),
            ("*", Some(Coding::Br)),
            ("br;q=0, *;q=0.1", Some(Coding::Zstd)),
            ("identity, gzip;q=0.5", None),
            ("identity;q=0", None),
            ("", None),
            ("x-gzip", Some(Coding::Gzip)),
            ("deflate", None),
        ] {
            assert_eq!(wish().chosen(&asks(accept)), chosen, "{accept}");
        }
        assert_eq!(wish().chosen(&HeaderMap::new()), None);
        assert_eq!(wish().chosen_on_the_fly(&asks("gzip, br, zstd")), Some(Coding::Zstd));
        assert_eq!(wish().chosen_on_the_fly(&asks("gzip, br")), Some(Coding::Gzip));
        assert_eq!(
            wish().chosen_on_the_fly(&asks("gzip;q=0.5, br")),
            Some(Coding::Br),
            "the client's wish is first"
        );
        let listed = CodingWish::new(true, &[Coding::Br, Coding::Zstd], AskOrigin::Plain);
        assert_eq!(listed.chosen_on_the_fly(&asks("br, zstd")), Some(Coding::Br), "as the operator says");
        let only = CodingWish::new(true, &[Coding::Gzip], AskOrigin::Plain);
        assert_eq!(only.chosen(&asks("br, gzip;q=0.1")), Some(Coding::Gzip));
    }

    #[test]
    fn what_is_refused() {
        let mut wish = wish();
        assert!(!wish.refuses(&HeaderMap::new()));
        wish.require = vec![Coding::Gzip];
        for (accept, refused) in
            [("gzip", false), ("br", true), ("*", false), ("gzip;q=0, *", true), ("", true)]
        {
            assert_eq!(wish.refuses(&asks(accept)), refused, "{accept}");
        }
        assert!(wish.refuses(&HeaderMap::new()));
    }

    #[test]
    fn what_is_worth_it() {
        let wish = wish();
        let html: &[(&'static str, &str)] = &[("content-type", "Text/HTML; charset=utf-8")];
        let with = |more: (&'static str, &str)| map(&[html[0], more]);
        for (headers, len, want) in [
            (map(html), Some(2_000), Ok(())),
            (map(html), None, Ok(())),
            (map(html), Some(1_023), Err(Why::TooSmall)),
            (map(&[]), None, Err(Why::TypeNotListed)),
            (map(&[("content-type", "image/jpeg")]), None, Err(Why::TypeNotListed)),
            (map(&[("content-type", "image/svg+xml")]), None, Ok(())),
            (map(&[("content-type", "application/vnd.api+JSON")]), None, Ok(())),
            (map(&[("content-type", "text/event-stream")]), None, Err(Why::EventStream)),
            (with(("content-encoding", "gzip")), None, Err(Why::ByOrigin)),
            (with(("content-encoding", "identity")), None, Ok(())),
            (with(("cache-control", "public, no-transform")), None, Err(Why::NoTransform)),
            (with(("content-range", "bytes 0-1/9")), None, Err(Why::RangeNotCoded)),
        ] {
            assert_eq!(wish.worth(StatusCode::OK, &headers, len), want, "{headers:?}");
        }
        assert_eq!(wish.worth(StatusCode::NOT_FOUND, &map(html), None), Ok(()));
        assert_eq!(wish.worth(StatusCode::PARTIAL_CONTENT, &map(html), None), Err(Why::StatusNotCoded));
        let off = CodingWish::new(false, &[], AskOrigin::AsAsked);
        assert_eq!(off.worth(StatusCode::OK, &map(html), None), Err(Why::Off));
        let mut listed = wish.clone();
        listed.types = Some(vec!["image/*".into(), "text/event-stream".into()]);
        for (of, want) in
            [("image/bmp", Ok(())), ("text/html", Err(Why::TypeNotListed)), ("text/event-stream", Ok(()))]
        {
            assert_eq!(listed.worth(StatusCode::OK, &map(&[("content-type", of)]), None), want);
        }
        listed.types = Some(vec!["text/*".into()]);
        let events = map(&[("content-type", "text/event-stream")]);
        assert_eq!(
            listed.worth(StatusCode::OK, &events, None),
            Err(Why::EventStream),
            "only if named in full"
        );
    }

    #[test]
    fn what_the_origin_is_asked() {
        for (how, accept, sent) in [
            (AskOrigin::AsAsked, "gzip, br", None),
            (AskOrigin::Plain, "gzip, br", Some("identity")),
            (AskOrigin::Coded, "gzip, br", Some("br")),
            (AskOrigin::Coded, "deflate", Some("identity")),
            (AskOrigin::Siblings, "deflate, gzip, br", Some("br, gzip")),
            (AskOrigin::Siblings, "br;q=0.2, gzip", Some("br, gzip")),
            (AskOrigin::Siblings, "gzip;q=0", Some("identity")),
            (AskOrigin::Siblings, "identity, gzip;q=0.5", Some("identity")),
        ] {
            let wish = CodingWish::new(true, &[], how);
            let value = wish.asked_of_origin(&asks(accept));
            assert_eq!(value.as_ref().map(|v| v.to_str().unwrap()), sent, "{how:?} {accept}");
            // What went through once comes out of a second time unchanged.
            if let Some(value) = value {
                assert_eq!(wish.asked_of_origin(&asks(value.to_str().unwrap())), Some(value));
            }
        }
    }

    #[test]
    fn as_it_came() {
        let coded = |with| map(&[("content-encoding", with)]);
        assert!(takes_as_it_came(&asks("gzip"), &coded("gzip")));
        assert!(takes_as_it_came(&asks("*"), &coded("compress")));
        assert!(!takes_as_it_came(&asks("br"), &coded("gzip")));
        assert!(!takes_as_it_came(&HeaderMap::new(), &coded("gzip")));
        assert!(takes_as_it_came(&HeaderMap::new(), &coded("identity")));
        assert!(takes_as_it_came(&asks("gzip"), &coded("of-its-own")));
        assert!(!takes_as_it_came(&asks("gzip"), &coded("of-its-own, BR")));
        assert!(takes_as_it_came(&HeaderMap::new(), &HeaderMap::new()));
    }

    #[test]
    fn a_tenth_must_be_saved() {
        assert!(pays(1_000, 900) && !pays(1_000, 901) && !pays(0, 1));
    }
}
