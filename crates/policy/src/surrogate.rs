//! `Surrogate-Control`, what origins say to a cache of their own in front of them (W3C note "Edge Architecture
//! Specification", 2001). Origins written for other output caches send it still; RFC 9213's fields go before it.
//!
//! Not here: the content processing it can ask for, which is not announced and so never asked.

use crate::directives::{Delta, Directives, directive};
use crate::syntax::{elements, trim_ows};
use http::{HeaderMap, HeaderName};
use samovar_reason::Lifetime;

/// The field itself.
const SURROGATE_CONTROL: HeaderName = HeaderName::from_static("surrogate-control");

/// The request field that tells an origin that one stands before it (§2.1).
pub const CAPABILITY_FIELD: HeaderName = HeaderName::from_static("surrogate-capability");

/// What it says of us. The name before `=` is what a directive's target is compared with.
pub const CAPABILITY: &str = "samovar=\"Surrogate/1.0\"";

/// Our name as a target (`max-age=60;samovar`).
const TARGET: &[u8] = b"samovar";

/// What the field says; `None` if it is absent or holds nothing for us. Where a directive is said both of everyone and
/// of us by name, the latter counts (§2.2.2).
pub(crate) fn directives(headers: &HeaderMap) -> Option<Directives> {
    let (mut general, mut own) = (Said::default(), Said::default());
    let mut broken = false;
    for line in headers.get_all(SURROGATE_CONTROL) {
        let mut list = elements(line.as_bytes());
        for element in list.by_ref() {
            match addressed(element) {
                (text, None) => general.add(text),
                (text, Some(target)) if target.eq_ignore_ascii_case(TARGET) => own.add(text),
                (_, Some(_)) => {}
            }
        }
        broken |= list.broken;
    }
    let said = if own.any { own } else { general };
    said.any.then(|| Directives {
        max_age: said.max_age,
        stale_while_revalidate: said.beyond,
        no_store: said.no_store,
        malformed: broken,
        target: Some(Lifetime::TargetedSurrogate),
        ..Directives::default()
    })
}

/// Drops the field from what a client is sent if it spoke to us: it ends at the cache it is for (§2.2).
pub fn strip_surrogate_control(headers: &mut HeaderMap) {
    if headers.contains_key(SURROGATE_CONTROL) && directives(headers).is_some() {
        headers.remove(SURROGATE_CONTROL);
    }
}

/// `directive;target`.
fn addressed(element: &[u8]) -> (&[u8], Option<&[u8]>) {
    match element.iter().position(|byte| *byte == b';') {
        None => (element, None),
        Some(at) => {
            let (text, target) = element.split_at_checked(at).unwrap_or((element, &[]));
            (trim_ows(text), target.get(1..).map(trim_ows))
        }
    }
}

#[derive(Default)]
struct Said {
    any: bool,
    no_store: bool,
    max_age: Delta,
    /// How long it may be served beyond that while it is asked for anew: the second number of `max-age=60+30`.
    beyond: Delta,
}

impl Said {
    fn add(&mut self, text: &[u8]) {
        let (name, _) = directive(text);
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        // §2.2.1: `no-store-remote` is for caches far from the origin. Whether we are is not known here.
        if is("no-store") || is("no-store-remote") {
            (self.any, self.no_store) = (true, true);
        } else if is("max-age") {
            self.any = true;
            let plus = text.iter().position(|byte| *byte == b'+').unwrap_or(text.len());
            let (first, second) = text.split_at_checked(plus).unwrap_or((text, &[]));
            self.max_age.add(directive(first).1.seconds());
            if let Some(digits) = second.get(1..) {
                self.beyond.add(crate::syntax::delta_seconds(digits));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn said(lines: &[&str]) -> Option<(Delta, Delta, bool)> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(SURROGATE_CONTROL, HeaderValue::from_str(line).unwrap());
        }
        directives(&headers).map(|all| (all.max_age, all.stale_while_revalidate, all.no_store))
    }

    #[test]
    fn every_form() {
        use Delta::{Absent, Invalid, Seconds};
        for (lines, want) in [
            (&[][..], None),
            (&[""], None),
            (&["foo"], None),
            (&["content=\"ESI/1.0\""], None),
            (&["max-age=60"], Some((Seconds(60), Absent, false))),
            (&["MaX-aGe=60"], Some((Seconds(60), Absent, false))),
            (&["foo, max-age=60"], Some((Seconds(60), Absent, false))),
            (&["max-age=60+30"], Some((Seconds(60), Seconds(30), false))),
            (&["max-age=60+x"], Some((Seconds(60), Invalid, false))),
            (&["max-age=99999999999"], Some((Seconds(1 << 31), Absent, false))),
            (&["max-age=60;samovar"], Some((Seconds(60), Absent, false))),
            (&["max-age=60; Samovar"], Some((Seconds(60), Absent, false))),
            (&["max-age=60;other"], None),
            (&["max-age=60;samovar, max-age=5"], Some((Seconds(60), Absent, false))),
            (&["no-store, max-age=60;samovar"], Some((Seconds(60), Absent, false))),
            (&["no-store;samovar, max-age=60"], Some((Absent, Absent, true))),
            (&["no-store"], Some((Absent, Absent, true))),
            (&["no-store-remote"], Some((Absent, Absent, true))),
            (&["max-age=60", "no-store"], Some((Seconds(60), Absent, true))),
            (&["max-age=60, max-age=61"], Some((Invalid, Absent, false))),
            (&["max-age"], Some((Invalid, Absent, false))),
            (&["max-age =60"], Some((Invalid, Absent, false))),
            (&["max-age= 60"], Some((Invalid, Absent, false))),
            (&["max-age=-1"], Some((Invalid, Absent, false))),
        ] {
            assert_eq!(said(lines), want, "{lines:?}");
        }
    }

    #[test]
    fn an_open_quote_makes_it_stale() {
        let mut headers = HeaderMap::new();
        headers.insert(SURROGATE_CONTROL, HeaderValue::from_static("max-age=60, content=\"ESI"));
        assert!(directives(&headers).is_some_and(|all| all.malformed));
    }

    #[test]
    fn our_name_is_the_one_we_announce() {
        let (name, _) = CAPABILITY.split_once('=').unwrap();
        assert_eq!(name.as_bytes(), TARGET);
    }
}
