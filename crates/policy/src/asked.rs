//! Cache directives of requests (RFC 9111 §5.2.1, §5.4).
//!
//! Not here: which of them the rule honours (`reuse`).

use crate::directives::{Argument, Delta, directive};
use crate::syntax::elements;
use http::{HeaderMap, header};

/// What a request's Cache-Control asks (RFC 9111 §5.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) no_cache: bool,
    pub(crate) no_store: bool,
    pub(crate) only_if_cached: bool,
    pub(crate) max_age: Delta,
    pub(crate) min_fresh: Delta,
    /// How stale is welcome, s; `u64::MAX` for any.
    pub(crate) max_stale: Option<u64>,
}

impl Asked {
    /// Reads a request. `Pragma: no-cache` counts where no Cache-Control is (RFC 9111 §5.4).
    pub(crate) fn of(headers: &HeaderMap) -> Asked {
        let mut asked = Asked::default();
        // One look at the names costs less than lookups that find nothing, as in nearly all requests.
        if !headers.keys().any(|name| *name == header::CACHE_CONTROL || *name == header::PRAGMA) {
            return asked;
        }
        for line in headers.get_all(header::CACHE_CONTROL) {
            for element in elements(line.as_bytes()) {
                let (name, argument) = directive(element);
                asked.add(name, argument);
            }
        }
        if !headers.contains_key(header::CACHE_CONTROL) {
            let pragmas = headers.get_all(header::PRAGMA);
            asked.no_cache =
                pragmas.iter().any(|v| elements(v.as_bytes()).any(|e| e.eq_ignore_ascii_case(b"no-cache")));
        }
        asked
    }

    /// The client wants the origin asked: `no-cache`, or the `max-age=0` that browsers send on reload.
    pub(crate) fn reload(&self) -> bool {
        self.no_cache || self.max_age.ms() == Some(0)
    }

    fn add(&mut self, name: &[u8], argument: Argument<'_>) {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        if is("no-cache") {
            self.no_cache = true;
        } else if is("no-store") {
            self.no_store = true;
        } else if is("only-if-cached") {
            self.only_if_cached = true;
        } else if is("max-age") {
            self.max_age.add(argument.seconds());
        } else if is("min-fresh") {
            self.min_fresh.add(argument.seconds());
        } else if is("max-stale") {
            let bound =
                if matches!(argument, Argument::None) { u64::MAX } else { argument.seconds().unwrap_or(0) };
            self.max_stale = Some(self.max_stale.map_or(bound, |earlier| earlier.min(bound)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    fn heads(fields: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        map
    }

    #[test]
    fn requests() {
        let asked = |fields: &[(&'static str, &str)]| Asked::of(&heads(fields));
        assert!(asked(&[("pragma", "no-cache")]).reload());
        assert!(!asked(&[("pragma", "no-cache"), ("cache-control", "max-stale")]).reload());
        assert!(asked(&[("cache-control", "max-age=0")]).reload());
        assert!(!asked(&[("cache-control", "max-age=1")]).reload());
        assert!(asked(&[("cache-control", "No-Cache")]).reload());
        assert_eq!(asked(&[("cache-control", "max-stale")]).max_stale, Some(u64::MAX));
        assert_eq!(asked(&[("cache-control", "max-stale=5, max-stale")]).max_stale, Some(5));
        assert_eq!(asked(&[("cache-control", "max-stale=x")]).max_stale, Some(0));
        assert!(asked(&[("cache-control", "only-if-cached")]).only_if_cached);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(value in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                for name in [header::CACHE_CONTROL, header::PRAGMA] {
                    let _ = Asked::of(&HeaderMap::from_iter([(name, value.clone())]));
                }
            }
        }
    }
}
